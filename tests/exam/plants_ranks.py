# SPDX-License-Identifier: Apache-2.0
"""What is planted in jobs of several ranks, what names it, and what takes it away.

A plant turns knobs by a size; its cure turns them back. The size is sought until the cure gains what the case asks for, and the
gain is measured on two runs with the same random numbers. `accepts` are ids of findings that send a reader to the cause; `says`
are words in a finding's statement or fix that do, whatever its id is.
"""
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tests.exam.draws import Draws
from tests.exam.team import Shape

Turn = Callable[[Shape, float, int], Shape]

ASK_ALL = r"one rank (alone )?cannot|cannot (tell|be told|say|separate)|(all|other) ranks|traces of (all|every)|not decided|rank\S* (is|are) missing|missing rank"
LARGER = r"(larger|bigger|fewer|coalesc|fewer and larger).{0,50}(bucket|collective|message|all-?reduce)|(raise|increase|larger) .{0,20}bucket|bucketx|bucket_cap_mb *=? *(5|1\d)\d"
COMMUNICATION = ("exposed-communication", "poor-overlap", "comm-latency", "comm-bandwidth")


@dataclass(frozen=True)
class Plant:
    """One cause. first: the size that the search starts from; limit: no size beyond it makes sense.

    ranked: the answer should name the victim's rank.
    """

    name: str
    kinds: tuple[str, ...]
    accepts: tuple[str, ...]
    turn: Turn
    cure: Callable[[Shape], Shape]
    first: float
    says: str = ""
    limit: float = 1e12
    ranked: bool = False
    base: dict[str, object] = field(default_factory=dict)


def off(*names: str) -> Callable[[Shape], Shape]:
    """The cure that turns knobs back."""
    return lambda shape: replace(shape, knobs={k: v for k, v in shape.knobs.items() if k not in names})


def knob(name: str, one: bool = False) -> Turn:
    """Turns a knob to the size, for the victim alone if `one`."""
    return lambda shape, size, victim: shape.turned(**{name: {victim: size} if one else size})


def slower(name: str) -> Turn:
    """A factor of the victim: 1 + size."""
    return lambda shape, size, victim: shape.turned(**{name: {victim: 1.0 + size}})


def imbalance(shape: Shape, size: float, victim: int) -> Shape:
    """Half of the ranks have more work, half less, as much in all."""
    size = min(size, 0.7)
    return shape.turned(work={r: 1.0 + size if (r + victim) % 2 == 0 else 1.0 - size for r in range(shape.ranks)})


def experts(shape: Shape, size: float, victim: int) -> Shape:
    """One rank's experts are popular; the others have so much less."""
    rest = min(size / (shape.ranks - 1), 0.6)
    return shape.turned(experts={r: 1.0 + rest * (shape.ranks - 1) if r == victim else 1.0 - rest for r in range(shape.ranks)})


def stage(shape: Shape, size: float, victim: int) -> Shape:
    """One stage has more layers, the others so many fewer."""
    rest = min(size / (shape.ranks - 1), 0.6)
    return shape.turned(stage={r: 1.0 + rest * (shape.ranks - 1) if r == victim else 1.0 - rest for r in range(shape.ranks)})


def micro(shape: Shape, size: float, victim: int) -> Shape:
    """Too few micro-batches: the larger the size, the fewer."""
    return shape.turned(micro=max(shape.ranks // 2, int(round(12 / (1.0 + size)))))


def tiny(shape: Shape, size: float, victim: int) -> Shape:
    """A bucket for every tensor, on a network with latency."""
    return replace(shape, alpha=size, cover=0.15).turned(buckets="tiny", pieces=12)


def huge(shape: Shape, size: float, victim: int) -> Shape:
    """One bucket behind backward."""
    return replace(shape, cover=size).turned(buckets="huge")


def accumulate(shape: Shape, size: float, victim: int) -> Shape:
    """Four micro-batches, all reduced; what one of them can hide is a quarter of a backward pass."""
    return replace(shape, cover=size, ratio=4.0 * shape.ratio).turned(micro=4, sync_all=1)


def quarter(shape: Shape, size: float, victim: int) -> Shape:
    """Every collective at a quarter of its bandwidth."""
    return replace(shape, cover=size).turned(slow=4.0)


def serial(shape: Shape, size: float, victim: int) -> Shape:
    """No prefetch: each gather begins when the layer before is done."""
    return replace(shape, cover=size).turned(serial=1)


def items(shape: Shape, size: float, victim: int) -> Shape:
    """.item() behind each layer of a job whose host is not much faster than its device."""
    return replace(shape, ratio=max(1.02, 1.6 / (0.5 + size))).turned(item=shape.layers)


def host_bound(shape: Shape, size: float, victim: int) -> Shape:
    """All hosts slower than their devices."""
    return replace(shape, ratio=2.0).turned(host_all=1.0 + size)


def host_ahead(shape: Shape) -> Shape:
    """As with CUDA graphs: the host is never waited for."""
    return shape.turned(host_all=0.05)


def again(shape: Shape, size: float, victim: int) -> Shape:
    """Layers that run forward twice."""
    return shape.turned(recompute=max(1, min(shape.layers, int(round(size)))))


RANK = ("straggler",)
COMM = ("exposed-communication", "comm-bandwidth")
HIDDEN = {"cover": 0.75, "alpha": 9000.0}
PLANTS = [
    Plant("late loader of one rank", ("ddp", "fsdp", "tp", "ep"), (*RANK, "data-loading"), knob("loader", True), off("loader"), 2e6, ranked=True),
    Plant("slow clock of one rank", ("ddp", "tp", "ep", "fsdp"), (*RANK, "throttling"), slower("clock"), off("clock"), 0.1, r"rank \d+.{0,80}(clock|slower)", ranked=True),
    Plant("slow host of one rank", ("ddp", "tp"), RANK, slower("host_rank"), off("host_rank"), 1.0, ranked=True),
    Plant("pause of one rank", ("fsdp", "ddp"), RANK, knob("late", True), off("late"), 2e6, ranked=True),
    Plant("hiccups", ("ddp", "tp", "fsdp"), (*RANK, "python-gc"), knob("hiccup"), off("hiccup"), 1e6, "hiccup|different ranks|another rank", base={"sync": True}),
    Plant("imbalance", ("ddp", "fsdp", "tp"), RANK, imbalance, off("work"), 0.1, "imbalanc|balance the"),
    Plant("uneven batches", ("ddp", "tp"), RANK, knob("uneven"), off("uneven"), 0.1, "imbalanc|uneven|length", limit=0.8),
    Plant("popular experts", ("ep",), RANK, experts, off("experts"), 0.2, "imbalanc|expert", ranked=True),
    Plant("bandwidth", ("ddp", "fsdp", "tp", "ep"), COMM, knob("slow"), off("slow"), 4.0),
    Plant("slow link", ("ddp", "tp", "ep"), COMM, quarter, off("slow"), 0.3),
    Plant("tiny buckets", ("ddp",), ("comm-latency",), tiny, off("buckets", "pieces"), 30000.0, LARGER),
    Plant("one huge bucket", ("ddp",), ("poor-overlap", "exposed-communication"), huge, off("buckets"), 0.4, "overlap|smaller bucket"),
    Plant("no no_sync()", ("ddp",), (), accumulate, off("sync_all"), 0.3, r"no_sync|accumulat"),
    Plant("no prefetch", ("fsdp",), ("poor-overlap", "exposed-communication"), serial, off("serial"), 0.3, "prefetch"),
    Plant("imbalanced stage", ("pp",), RANK, stage, off("stage"), 0.3, r"stage.{0,60}(longer|slow|imbalanc|balanc|work)|imbalanc", ranked=True),
    Plant("too few micro-batches", ("pp",), ("pipeline-bubble",), micro, lambda s: s.turned(micro=12), 1.0, "more micro-?batches"),
    Plant("late peer", ("pp",), RANK, knob("slow_peer", True), off("slow_peer"), 3e5, r"(rank|stage) \d+.{0,60}(late|later|longer|host|slow)|late (sender|peer)", ranked=True),
    Plant("slow sends", ("pp",), COMM, knob("slow"), off("slow"), 6.0, r"\bsends?\b|message", base={"cover": 0.3}),
    Plant("loader of all ranks", ("ddp", "fsdp", "pp", "tp"), ("data-loading",), knob("loader_all"), off("loader_all"), 3e6),
    Plant(".item() on all ranks", ("ddp", "tp"), ("host-sync",), items, off("item"), 1.0, r"\.item\(\)"),
    Plant("launch-bound on all ranks", ("ddp", "tp", "fsdp"), ("launch-bound",), host_bound, host_ahead, 0.5),
    Plant("recompute on all ranks", ("ddp", "fsdp"), ("recompute",), again, off("recompute"), 2.0),
    Plant("loader beside hidden communication", ("ddp",), ("data-loading",), knob("loader_all"), off("loader_all"), 3e6, base=HIDDEN),
    Plant("late rank beside hidden communication", ("ddp",), (*RANK, "throttling"), slower("clock"), off("clock"), 0.15, ranked=True, base=HIDDEN),
]


@dataclass(frozen=True)
class Case:
    """A plant in a job, at a magnitude, seen in some way; no plant: a null.

    view: "all" ranks; "victim", "other": one rank's file alone; "no victim", "no other": that file is missing; "bare": records
    and kernels of collectives say nothing about them.
    """

    number: int
    plant: Plant | None
    kind: str
    want: float = 0.0
    view: str = "all"
    fixed: tuple[tuple[str, object], ...] = ()
    exam: int = 1

    @property
    def name(self) -> str:
        """As the board shows it."""
        return f"{self.plant.name if self.plant else 'nothing'}, {self.kind}" + (f", {self.view}" if self.view != "all" else "")

    @property
    def seed(self) -> int:
        """Of its random numbers."""
        return 1000003 * self.exam + 37 * self.number

    def blind(self) -> bool:
        """Whether the files that are given may not show the cause, so that saying so, or nothing, is right."""
        return self.view in ("other", "no victim", "bare") or self.view == "victim" and self.plant is not None and "clock" in self.plant.name


def base_shape(case: Case, seed: int) -> Shape:
    """The job that a case plants something in: its size, its device against its host, its network, by the seed."""
    draws = Draws(seed)
    kind = case.kind
    ranks = [2, 4, 4, 8][draws.whole(0, 3, "ranks")]
    shape = Shape(seed, kind, ranks, layers=draws.whole(3, 5, "layers"), ratio=draws.between(1.5, 3.2, "ratio"), host=draws.between(0.3, 0.5, "host"),
                  cover=draws.between(0.15, 0.4, "cover"), alpha=draws.between(9000, 24000, "alpha"), beta=draws.between(25, 150, "beta"),
                  sync=draws.unit("sync") < 0.35, queue=[256, 512, 1022][draws.whole(0, 2, "queue")],
                  knobs={"own_stream": draws.whole(0, 1, "stream"), "contention": draws.between(0.0, 0.04, "contention")})
    if kind == "tp":
        shape = replace(shape, cover=draws.between(0.02, 0.05, "cover"), alpha=6000.0)
    elif kind == "ep":
        shape = replace(shape, cover=draws.between(0.08, 0.15, "cover"), ranks=max(4, ranks))
    elif kind == "pp":
        shape = replace(shape, ranks=[2, 4, 4][draws.whole(0, 2, "ranks")], layers=1, cover=draws.between(0.03, 0.08, "cover"), ratio=shape.ratio * 9,
                        alpha=8000.0, knobs={**shape.knobs, "micro": 12})
    plan: dict[str, object] = {**(case.plant.base if case.plant else {}), **dict(case.fixed)}
    knobs = plan.pop("knobs", {})
    return replace(shape, **plan, knobs={**shape.knobs, **knobs})  # type: ignore[arg-type, dict-item]


def cases(seed: int = 1) -> list[Case]:
    """The exam of this seed: each cause at three magnitudes, in its first kind of job at 10 % and in others; views; nulls."""
    out: list[Case] = []

    def add(plant: Plant | None, kind: str, want: float = 0.0, view: str = "all", **fixed: object) -> None:
        out.append(Case(len(out), plant, kind, want, view, tuple(fixed.items()), seed))

    named = {plant.name: plant for plant in PLANTS}
    for plant in PLANTS:
        for place, want in enumerate((3.0, 10.0, 30.0)):
            add(plant, plant.kinds[place % len(plant.kinds)], want)
        for kind in plant.kinds[1:]:
            add(plant, kind, 20.0)
    for view in ("victim", "other", "no victim", "no other", "bare"):
        add(named["late loader of one rank"], "ddp", 20.0, view)
        add(named["slow clock of one rank"], "ddp", 15.0, view)
    for view in ("other", "bare"):
        add(named["bandwidth"], "ddp", 20.0, view)
        add(named["late peer"], "pp", 20.0, view)
        add(named["hiccups"], "tp", 15.0, view)
    add(named["late loader of one rank"], "ddp", 20.0, ranks=16, layers=3)
    add(named["bandwidth"], "fsdp", 20.0, ranks=16, layers=3)
    for kind in ("ddp", "fsdp", "tp", "pp", "ep"):
        add(None, kind)
        add(None, kind, ratio=27.0 if kind == "pp" else 4.0, sync=False)
    add(None, "ddp", cover=0.8, alpha=9000.0, ratio=4.0, sync=False)
    add(None, "ddp", sync=True, ranks=8)
    add(None, "ddp", ranks=16, layers=3)
    add(None, "ddp", view="bare")
    add(None, "ddp", view="other")
    add(None, "ddp", knobs={"micro": 4}, ratio=9.0, sync=False)
    return out
