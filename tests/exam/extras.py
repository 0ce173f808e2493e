# SPDX-License-Identifier: Apache-2.0
"""What slows a training step on the host: each function is a cause, sized by a knob (ns or a count; 0: absent)."""

from typing import TYPE_CHECKING, Any

from tests.exam.model import element, shapes
from tests.exam.sim import Process, Sleep

if TYPE_CHECKING:
    from tests.exam.train import Trainer

FRAMES = {
    "numpy": "numpy/lib/function_base.py(1357): diff",
    "tokenizer": "transformers/tokenization_utils_base.py(2868): __call__",
    "python": "train.py(88): build_mask",
}


def before_step(trainer: "Trainer", step: int) -> Process:
    """Between the steps' mark and the loader."""
    job, main = trainer.job, trainer.main
    main.at_site("before_step")
    if job.knob("host_block"):
        yield from host_block(trainer, int(job.knob("host_block")), str(job.knob("host_block_kind", "normal")))
    if job.knob("profiled") and job.knob("buffers") and (step - trainer.captured) % 2 == 0:
        yield from buffers(trainer, int(job.knob("buffers")))
    if job.knob("profiled") and step == trainer.captured:
        yield from cold_start(trainer, int(job.knob("cold_start")), str(job.knob("cold_kind", "launch")))
    if job.knob("profiled") and step == trainer.captured + 1:
        yield from compiling(trainer, int(job.knob("compile")))
        yield from capturing(trainer, int(job.knob("capture")))


def host_block(trainer: "Trainer", ns: int, kind: str) -> Process:
    """One long piece of host work: an operator on the CPU, or Python that only stacks show."""
    main = trainer.main
    if kind in FRAMES:
        yield from trainer.host.python(main, FRAMES[kind], ns)
        return
    name = {"normal": "aten::normal_", "sort": "aten::sort", "gather": "aten::index_select"}[kind]
    main.open(name, **shapes([[4096, 4096], [], [], []], ["float", "Scalar", "Scalar", ""]))
    yield ns
    main.close()


def cold_start(trainer: "Trainer", ns: int, kind: str) -> Process:
    """The first captured step loads modules: calls that take milliseconds once."""
    if not ns:
        return
    main = trainer.main
    calls = 4 if kind == "launch" else 3
    for place in range(calls):
        main.at_site("cold", place)
        part = element(trainer.device, 6000, "aten::fill_", "FillFunctor", 2)
        main.open("aten::fill_", **part.args)
        yield 4000
        if kind == "launch":
            yield from main.launch(part.kernel, 4000, trainer.compute, cost=ns // calls)
        else:
            yield from main.call("cuLibraryLoadData" if kind == "library" else "cuModuleLoadData", ns // calls)
            yield from main.launch(part.kernel, 4000, trainer.compute)
        main.close()


def buffers(trainer: "Trainer", ns: int) -> Process:
    """A launch in which CUPTI asks for a buffer; Kineto records that as overhead."""
    main = trainer.main
    main.at_site("buffers")
    part = element(trainer.device, 5000, "aten::zero_", "FillFunctor", 2)
    main.open("aten::zero_", **part.args)
    yield 4000
    main.open("Activity Buffer Request", "overhead")
    yield from main.launch(part.kernel, 3000, trainer.compute, cost=ns)
    main.close()
    main.close()


def compiling(trainer: "Trainer", ns: int) -> Process:
    """torch.compile meets a new shape inside of the capture."""
    if not ns:
        return
    main = trainer.main
    main.open("_compile.compile_inner (dynamo_timed)", "user_annotation")
    main.open("torch/_dynamo/convert_frame.py(716): compile_inner", "python_function")
    yield ns // 3
    main.open("compile_fx.<locals>.fw_compiler_base (dynamo_timed)", "user_annotation")
    main.open("torch/_inductor/compile_fx.py(1550): fw_compiler_base", "python_function")
    yield ns - ns // 3
    for _ in range(4):
        main.close()


def capturing(trainer: "Trainer", ns: int) -> Process:
    """A CUDA graph is captured inside of the window: launches without kernels."""
    if not ns:
        return
    main, host = trainer.main, trainer.host
    yield from main.sync()
    yield from main.call("cudaStreamBeginCapture", 20000)
    spent = trainer.sim.now
    place = 0
    while trainer.sim.now < spent + int(0.7 * ns):
        part = trainer.layers[place % len(trainer.layers)][place % 2]
        main.at_site("capture", place)
        yield host.cost("fwd_between", part.op, "capture", place)
        main.open(part.op, **part.args)
        yield host.cost("fwd_op_before", part.op, "capture", place)
        yield from main.call("cudaLaunchKernel", main.cost("launch_call"))
        main.close()
        place += 1
    yield from main.call("cudaStreamEndCapture", 60000)
    yield from main.call("cudaGraphInstantiate", int(0.3 * ns))


def after_forward(trainer: "Trainer", step: int) -> Process:
    """Between forward and backward: the unrecorded, numbers that are read."""
    job, main, host = trainer.job, trainer.main, trainer.host
    if job.knob("unrecorded"):
        yield int(job.knob("unrecorded") * trainer.sim.draws.between(0.9, 1.1, "unrecorded", step))
    every = int(job.knob("gc_every", 1))
    if job.knob("gc") and step % every == 0:
        yield from host.python(main, "Python GC", int(job.knob("gc") * every * trainer.sim.draws.between(0.8, 1.2, "gc", step)))


def in_forward(trainer: "Trainer", step: int) -> Process:
    """Chains of elementwise kernels; numbers that the host reads while the device has work."""
    job, main, host = trainer.job, trainer.main, trainer.host
    length, count = int(job.knob("chain")), int(job.knob("chain_count", 6))
    if length:
        names = [
            ("aten::mul", "BinaryFunctor"),
            ("aten::add", "CUDAFunctor_add"),
            ("aten::sigmoid", "SigmoidFunctor"),
            ("aten::mul", "BinaryFunctor"),
        ]
        total = length * count
        fused = bool(job.knob("chain_fused"))
        for place in range(1 if fused else count):
            op, functor = names[place % len(names)]
            part = element(trainer.device, int(total / count), op, functor, 2 if "sigmoid" in op else 3)
            yield from host.between(main, "fwd_between", op, "chain", place)
            yield from host.operator(main, part, trainer.compute, "fwd", "chain", place)
    if job.knob("graphed") and job.knob("tiny"):
        yield from main.launch_graph([("add", 2200)] * int(job.knob("tiny")), trainer.compute)
    for place in range(0 if job.knob("graphed") else int(job.knob("tiny"))):
        part = element(trainer.device, 2200, "aten::add_", "CUDAFunctor_add", 3)
        yield from host.between(main, "fwd_between", "aten::add_", "tiny", place)
        yield from host.operator(main, part, trainer.compute, "fwd", "tiny", place)
    items = int(job.knob("items"))
    every = int(job.knob("items_every", 1))
    for place in range(items if step % every == 0 else 0):
        yield from host.item(main, trainer.compute, "items", place, old=bool(job.knob("old_item")))
        yield host.cost("fwd_between", "items", place) + int(job.knob("item_python"))


def after_backward(trainer: "Trainer", step: int) -> Process:
    """Between backward and the optimizer."""
    job = trainer.job
    if job.knob("allocs"):
        yield from churn(trainer, int(job.knob("allocs")))


def churn(trainer: "Trainer", count: int) -> Process:
    """empty_cache(): cudaFree waits for the device; the next allocations call cudaMalloc."""
    main = trainer.main
    main.at_site("churn")
    for place in range(count):
        yield from main.sync(None, "cudaFree")
        yield int(60000 * trainer.sim.draws.between(0.6, 1.8, "free", place))
    for place in range(count):
        main.open("aten::empty", **shapes([[]], [""]))
        yield 4000
        yield from main.call("cudaMalloc", int(180000 * trainer.sim.draws.between(0.6, 2.2, "malloc", place)))
        main.close()


def after_step(trainer: "Trainer", step: int) -> Process:
    """At the end of a step: the loss, the log, a checkpoint, a validation pass."""
    job, main, host = trainer.job, trainer.main, trainer.host
    if job.knob("loss_item"):
        yield from host.item(main, trainer.compute, "loss", old=bool(job.knob("old_item")))
    if job.knob("device_sync"):
        main.at_site("device_sync")
        yield from main.sync()
    if job.knob("log"):
        yield from logging(trainer, int(job.knob("log")))
    every = int(job.knob("checkpoint_every", 4))
    if job.knob("checkpoint") and step % every == every - 1:
        yield from checkpoint(trainer, int(job.knob("checkpoint")) * every, str(job.knob("checkpoint_kind", "save")))
    every = int(job.knob("validate_every", 3))
    if job.knob("validate") and step % every == every - 1:
        yield from validation(trainer, int(job.knob("validate")))
    yield host.cost("fwd_between", "end_of_step") + int(20000 * job.host)


def logging(trainer: "Trainer", ns: int) -> Process:
    """A write to a pipe whose reader is slow."""
    main = trainer.main
    frames = [
        "logging/__init__.py(1465): info",
        "logging/__init__.py(1086): flush",
        "<built-in method write of _io.TextIOWrapper object at 0x7f1c5c3b5a40>",
    ]
    for frame in frames:
        main.open(frame, "python_function")
        yield 2000
    yield Sleep(ns)
    for _ in frames:
        main.close()


def checkpoint(trainer: "Trainer", ns: int, kind: str) -> Process:
    """A checkpoint: parameters come to the host, then a file is written."""
    main = trainer.main
    frames: list[tuple[str, str]] = [("torch/serialization.py(849): save", "python_function")]
    if kind == "annotated":
        frames.insert(0, ("save_checkpoint", "user_annotation"))
    for name, cat in frames:
        main.open(name, cat)
    for place in range(6):
        main.at_site("checkpoint", place)
        main.open("aten::to")
        main.open("aten::copy_", **shapes([[1 << 20]] * 2, ["float", "float"]))
        yield 6000
        yield from main.copy("DtoH (Device -> Pageable)", 1 << 22, int((1 << 22) / 8.0), trainer.compute, True)
        yield from main.sync([trainer.compute])
        main.close()
        main.close()
    main.open("<built-in method write of _io.BufferedWriter object at 0x7f1c5c3b5b80>", "python_function")
    yield Sleep(ns)
    main.close()
    for _ in frames:
        main.close()


def validation(trainer: "Trainer", batches: int) -> Process:
    """Forward passes that nothing labels."""
    host, main = trainer.host, trainer.main
    for batch in range(batches):
        for index, layer in enumerate(trainer.layers):
            for number, part in enumerate(layer):
                yield from host.between(main, "fwd_between", part.op, index, number, "validate", batch)
                yield from host.operator(main, part, trainer.compute, "fwd", index, number, "validate", batch)
        yield from host.item(main, trainer.compute, "validate", batch)


def optimizer_loop(trainer: "Trainer", step: int, total: int) -> Process:
    """An optimizer that visits one parameter after the other: six small kernels each."""
    host, main = trainer.host, trainer.main
    names: list[tuple[str, str]] = [
        ("aten::mul_", "BinaryFunctor"),
        ("aten::add_", "CUDAFunctor_add"),
        ("aten::lerp_", "LerpFunctor"),
        ("aten::addcmul_", "AddcmulFunctor"),
        ("aten::sqrt", "SqrtFunctor"),
        ("aten::addcdiv_", "AddcdivFunctor"),
    ]
    parameters = 4 * trainer.job.layers
    if trainer.job.knob("graphed"):
        yield from main.launch_graph(
            [(n, max(1800, total // (parameters * 6))) for n, _ in names for _ in range(parameters)], trainer.compute
        )
        return
    for parameter in range(parameters):
        for op, functor in names:
            part = element(trainer.device, max(1800, total // (parameters * len(names))), op, functor, 3, True)
            yield from host.between(main, "fwd_between", op, "loop", parameter)
            yield from host.operator(main, part, trainer.compute, "fwd", "loop", parameter)


_: Any = None
