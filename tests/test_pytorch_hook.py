# SPDX-License-Identifier: Apache-2.0
"""`holdup run --pytorch`: operators, steps and links against torch.profiler's of the same seeded program; and that it breaks nothing.

What needs no real torch runs with a stand-in (tests/torch_stand_in.py) and the Python of these tests.
"""
from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import textwrap
import unittest
from typing import Any

from tests.program import EXE, ROOT, skip_loudly, torch_or_skip
from tests.recorder import LIBRARY, Recorded, environment, holdup, once, rows
from tests.rings import Process, make_session, read_session
from tests.torch_stand_in import make

load_tests = once
FAKE = ROOT / "tests/inject/nvtx_fake.py"
SHAPES = "[[2, 3], [], [3, 4]]"


class Case(Recorded):
    def steps(self, trace: pathlib.Path | None = None) -> list[dict[str, Any]]:
        return rows(trace or self.trace, "select name, start_ns, end_ns from slice where name like 'ProfilerStep#%' order by start_ns")

    def numbers(self, trace: pathlib.Path | None = None) -> list[int]:
        return [int(r["name"].partition("#")[2]) for r in self.steps(trace)]


class Texts(Case):
    """What libtorch's observer pushes, taken apart."""

    def push(self, *texts: str, doors: str = "nvtx user pytorch") -> Process:
        session = make_session(self.folder / "session", doors)
        done = subprocess.run([sys.executable, FAKE, LIBRARY, "texts"], input="\n".join(texts).encode(), capture_output=True, timeout=60, check=False,
                              env=environment(HOLDUP_SESSION=str(session), LD_PRELOAD=str(LIBRARY), NVTX_INJECTION64_PATH=str(LIBRARY)))
        self.assertEqual(done.returncode, 0, done.stderr)
        return max(read_session(session), key=lambda p: len(p.records))

    def operators(self, process: Process) -> list[tuple[str, int, str]]:
        return [(r.text, r.a if r.a < 1 << 63 else -1, process.strings.get(r.b, "")) for r in process.of("torch")]

    def test_names_sequence_numbers_and_shapes(self) -> None:
        process = self.push("aten::mm, seq = 3", f"aten::addmm, seq = 1234567890123, op_id = 7, sizes = {SHAPES}", "aten::empty, op_id = 8, sizes = [[]]",
                            "AddmmBackward0, seq = 3, op_id = 9, sizes = [[8, 1]], input_op_ids = [(7,0), (8,0)]", "my, op, op_id = 1")
        self.assertEqual(self.operators(process), [("aten::mm", 3, ""), ("aten::addmm", 1234567890123, SHAPES), ("aten::empty", -1, "[[]]"),
                                                   ("AddmmBackward0", 3, "[[8, 1]]"), ("my, op", -1, "")])
        self.assertEqual((len(process.of("begin")), len(process.of("end"))), (0, 5))

    def test_what_only_looks_like_one_is_a_range(self) -> None:
        texts = ["forward", "a, b", "x, seq = ", "x, seq = -1", "x, seq = 1 and more", "x, sizes = [[1]", "x, sizes = 1", "aten::empty", "x, op_id = y", ", "]
        process = self.push(*texts)
        self.assertEqual([r.text for r in process.of("begin")], texts)
        self.assertEqual(self.operators(process), [])

    def test_without_the_option_texts_stay_whole(self) -> None:
        process = self.push("aten::mm, seq = 3, op_id = 1", doors="nvtx user")
        self.assertEqual([r.text for r in process.of("begin")], ["aten::mm, seq = 3, op_id = 1"])

    def test_a_hundred_thousand_operators_need_one_text(self) -> None:
        """Whole texts would fill a table of 65,535."""
        process = self.push(*(f"aten::mm, seq = {n}, op_id = {n + 1}, sizes = {SHAPES}" for n in range(100000)))
        self.assertEqual(sum(process.lost), 0)
        self.assertEqual([r.a for r in process.of("torch")], list(range(100000)))
        self.assertEqual(len({r.b for r in process.of("torch")} | {r.id for r in process.of("torch")}), 2)


    def test_links_between_threads(self) -> None:
        """Numbers are of a thread: those of a layer that is computed again are no other layer's."""
        done = holdup("run", "--pytorch", "--trace", "none", "--no-report", "-o", self.trace, "--", sys.executable, FAKE, LIBRARY, "autograd", env=environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        found = rows(self.trace, "select o.name, o.sequence, f.name as forward from op o left join op f on f.id = o.forward where o.name not like 'autograd%' order by o.start_ns")
        self.assertEqual([(r["name"], r["sequence"], r["forward"]) for r in found],
                         [("aten::mm", 0, None), ("aten::sum", 1, None), ("aten::mul", 2, None), ("aten::empty", None, None), ("MulBackward0", 2, "aten::mul"),
                          ("aten::relu", None, None), ("ReluBackward0", None, None), ("MmBackward0", 0, "aten::mm")])


class StandIn(Case):
    """With a torch that is none."""

    def setUp(self) -> None:
        super().setUp()
        self.path = make(self.folder / "packages")

    def run_it(self, *python: Any, options: str = "--pytorch", path: str | None = None, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        return holdup("run", *options.split(), "--trace", "none", "--no-report", "-f", "-o", self.trace, "--", sys.executable, *python,
                      env=environment(PYTHONPATH=path if path is not None else str(self.path), **(env or {})))

    LOOP = """
        import torch
        class Net(torch.nn.Module):
            def forward(self, x): return x
        net, sgd = Net(), torch.optim.SGD()
    """

    def loop(self, rest: str, **more: Any) -> subprocess.CompletedProcess:
        done = self.run_it(self.script(textwrap.dedent(self.LOOP) + textwrap.dedent(rest)), **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_batches_make_steps(self) -> None:
        done = self.loop("""
            for epoch in range(2):
                for x in torch.utils.data.DataLoader([1, 2, 3]):
                    net(x); sgd.step()
        """)
        self.assertEqual(done.stdout, "on plain 2\noff\n")
        self.assertIn("PyTorch 2.99.0+stand.in: 6 steps, 0 operators a step", done.stderr)
        self.assertEqual(self.numbers(), [0, 1, 2, 3, 4, 5])

    def test_micro_batches_evaluation_and_leftovers_make_none(self) -> None:
        self.loop("""
            train, test = torch.utils.data.DataLoader([1] * 7), torch.utils.data.DataLoader([2, 3])
            for x in test: net(x)
            for epoch in range(2):
                for n, x in enumerate(train):
                    net(x)
                    if n % 3 == 2: sgd.step()
                for x in test: net(x)
                with torch.no_grad():
                    for x in test: net(x)
        """)
        self.assertEqual(self.numbers(), [0, 1, 2, 3])
        loads = rows(self.trace, "select start_ns from slice where name like 'enumerate%' order by start_ns")
        inside = [sum(s["start_ns"] <= r["start_ns"] < s["end_ns"] for r in loads) for s in self.steps()]
        self.assertEqual(inside, [3, 3, 3, 3], "and each has its three batches, without those of the evaluation")

    def test_two_optimizers_are_one_step(self) -> None:
        self.loop("""
            other = torch.optim.SGD()
            for n in range(5):
                net(n); sgd.step(); net(n); other.step()
        """)
        self.assertEqual(self.numbers(), [0, 1, 2, 3, 4])

    def test_a_batch_ahead(self) -> None:
        """As accelerate and Lightning fetch: the loader is empty before the last step."""
        self.loop("""
            it = iter(torch.utils.data.DataLoader([1, 2, 3]))
            x = next(it)
            while x is not None:
                ahead = next(it, None); net(x); sgd.step(); x = ahead
            net(0)
        """)
        self.assertEqual(self.numbers(), [0, 1, 2])

    def test_steps_of_the_program_count_alone(self) -> None:
        for marks, names in (("holdup.step(100 + n)", [100, 101, 102]), ("pass", [0, 1, 2])):
            done = self.loop(f"""
                import holdup
                for n, x in enumerate(torch.utils.data.DataLoader([1, 2, 3])):
                    {marks}
                    net(x); sgd.step()
                holdup.step_end()
            """)
            self.assertEqual(self.numbers(), names)
            self.assertEqual("steps of the program's own" in done.stderr, marks != "pass")
        for name, steps in (("train step", []), ("TrainStep_", []), ("filter", [0, 1, 2]), ("layer", [0, 1, 2])):
            self.loop(f"""
                for n, x in enumerate(torch.utils.data.DataLoader([1, 2, 3])):
                    with torch.autograd.profiler.record_function(f"{name} {{n}}"):
                        net(x); sgd.step()
            """)
            self.assertEqual(self.numbers(), steps, f"{name}: numbered steps in ranges are steps, too")

    def test_passes_of_serving_engines(self) -> None:
        """Their ranges, as vLLM, SGLang and TensorRT-LLM write them: the hook finds no steps, and the report names the phases of theirs."""
        for prefill, decode, mixed in (
                ("execute_context_1({n})_generation_0(0)", "execute_context_0(0)_generation_8({n})", "execute_context_1(64)_generation_8({n})"),
                ("step[EXTEND bs=1 toks={n}]", "step[DECODE bs={n}]", "step[MIXED bs={n}]"),
                ("[Executor] _forward_step {n}: 1 ctx reqs, 0 gen reqs", "[Executor] _forward_step {n}: 0 ctx reqs, 8 gen reqs", "[Executor] _forward_step {n}: 1 ctx reqs, 8 gen reqs")):
            done = self.loop(f"""
                import time
                torch.is_grad_enabled = lambda: False
                for n, name in enumerate([{prefill!r}] * 4 + [{decode!r}] * 12 + [{mixed!r}] * 5):
                    with torch.autograd.profiler.record_function(name.replace("{{n}}", str(n))):
                        net(n); time.sleep(0.002)
            """)
            self.assertEqual(self.numbers(), [], done.stderr)
            report = json.loads(holdup("report", self.trace, "--json").stdout)["ranks"][0]
            self.assertEqual([report["steps"][k] for k in ("source", "count", "prefill_steps", "decode_steps", "mixed_steps")], ["annotation", 21, 4, 12, 5], prefill)
            self.assertGreater(report["steps"]["decode_mean_ns"], 2e6)

    def test_part_of_the_steps(self) -> None:
        text = """
            for x in torch.utils.data.DataLoader(list(range(6))):
                print("batch", x); net(x); sgd.step()
        """
        done = self.loop(text, options="--pytorch --steps 2..3")
        self.assertEqual(self.numbers(), [2, 3])
        self.assertEqual(done.stdout.splitlines(), ["batch 0", "batch 1", "on plain 2", "batch 2", "batch 3", "off", "batch 4", "batch 5"])
        self.assertIn("2 steps", done.stderr)
        done = self.loop(text, options="--pytorch --start-later")
        self.assertNotIn("on", done.stdout, "armed: the observer is off")

    def test_another_profiler_comes_first(self) -> None:
        done = self.loop("""
            for n in range(4):
                net(n); sgd.step()
                if n == 1:
                    with torch.autograd.profiler.profile():
                        print("theirs")
        """)
        self.assertEqual(done.stdout, "on plain 2\noff\non plain 0\ntheirs\noff\non plain 2\noff\n")
        self.assertIn("while another profiler of the program was active (1 time)", done.stderr)
        self.assertEqual(self.numbers(), [0, 1, 2, 3])

    def test_checkpoints_memory_and_modules(self) -> None:
        self.loop("""
            torch.cuda.initialized = True
            net.inner = Net()
            Net.forward = lambda self, x: self.inner(x) if hasattr(self, "inner") else x
            for x in torch.utils.data.DataLoader([1, 2]):
                net(x); sgd.step()
            torch.save("weights", "file")
        """, options="--pytorch=modules,shapes")
        names = [r["name"] for r in rows(self.trace, "select name from slice where kind = 'user_annotation' order by start_ns, id")]
        step = ["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "nn.Module: Net", "nn.Module: inner (Net)", "Optimizer.step#SGD.step"]
        self.assertEqual([n for n in names if "#" not in n or "Optimizer" in n or "enumerate" in n], step * 2 + [step[0], "checkpoint"])
        depth = rows(self.trace, "select p.name as name from slice s join slice p on p.id = s.parent where s.name = 'nn.Module: inner (Net)'")
        self.assertEqual([r["name"] for r in depth], ["nn.Module: Net"] * 2)
        values = rows(self.trace, "select name, max(value) as most, count(*) as n from counter group by name order by name")
        self.assertEqual([(r["name"], r["most"], r["n"]) for r in values],
                         [("PyTorch: GPU memory allocated", 1000, 3), ("PyTorch: GPU memory reserved", 2000, 3)])

    def test_why_operators_are_missing(self) -> None:
        for version, why in (("cuda = hip = None\n", "built without CUDA"), ("cuda = '1'\nhip = '6.4'\n", "built for ROCm")):
            make(self.path, version=version)
            done = self.loop("for x in torch.utils.data.DataLoader([1, 2]): net(x); sgd.step()")
            self.assertIn("PyTorch's operators were not recorded: this PyTorch is " + why, done.stderr)
            self.assertIn("2 steps", done.stderr)
            self.assertEqual(done.stdout, "")
        make(self.path, **{"_C___profiler": "class ProfilerState: NVTX = 1\n"})
        self.assertIn("no observer that the hook knows", self.loop("print('runs')").stderr)

    def test_a_torch_that_it_does_not_know_runs_on(self) -> None:
        make(self.path, optim__optimizer="hooks = []\n")
        done = self.loop("for x in torch.utils.data.DataLoader([1, 2]): net(x); sgd.step()\nprint('runs')")
        self.assertEqual(done.stdout, "runs\n")
        self.assertIn("PyTorch's operators were not recorded: PyTorch 2.0 or later is needed", done.stderr)
        make(self.path, utils__data__dataloader="class DataLoader: pass\n")
        done = self.run_it("-c", "import torch; print('runs')")
        self.assertEqual(done.stdout, "runs\n")
        self.assertIn("PyTorch's operators were not recorded: AttributeError", done.stderr)

    def test_workers_are_left_alone(self) -> None:
        done = self.loop("""
            import os
            if os.fork() == 0:
                torch.utils.data._utils.worker._worker_loop()
                for x in torch.utils.data.DataLoader([1, 2]): net(x); sgd.step()
                os._exit(0)
            os.wait()
        """)
        self.assertEqual(done.stdout.count("working"), 1)
        self.assertEqual(self.numbers(), [])

    def test_a_failing_import_fails_as_without_us(self) -> None:
        for version in ("raise RuntimeError('no driver')\n", "import not_there\n", "1 / 0\n", "raise SystemExit(7)\n", "syntax error\n"):
            make(self.path, version=version)
            alone = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, text=True, timeout=60, check=False,
                                   env=environment(PYTHONPATH=str(self.path)))
            done = self.run_it("-c", "import torch", options="--pytorch -q")
            self.assertNotEqual(alone.returncode, 0)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (alone.returncode, alone.stdout, alone.stderr))

    def test_a_program_without_torch_is_untouched(self) -> None:
        text = """
            import json, os, sys
            hooks = [type(f).__module__ for f in sys.meta_path if type(f).__module__ != "sitecustomize"]
            state = [[p for p in sys.path if p != os.environ.get("PACKAGE")], sorted(sys.modules), [str(h) for h in hooks if "importlib" not in str(h)]]
            try:
                import sitecustomize
                state.append(sitecustomize.__file__)
            except ImportError as error:
                state.append([type(error).__name__, str(error)])
            print(json.dumps(state))
        """
        path = self.script(text)
        package = str((pathlib.Path(EXE).parent / "../python").resolve())
        for elsewhere in ("", "own"):
            if elsewhere:
                (self.folder / elsewhere).mkdir()
                (self.folder / elsewhere / "sitecustomize.py").write_text("import sys\nsys.flag = 'mine'\nprint(__name__, __file__)\n")
            where = str(self.folder / elsewhere) if elsewhere else ""
            env = {"PACKAGE": package}
            alone = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60, check=False, env=environment(PYTHONPATH=where, **env))
            done = self.run_it(path, options="--pytorch", path=where, env=env)
            self.assertEqual((done.stdout, done.returncode), (alone.stdout, 0), done.stderr)
            self.assertIn("--pytorch: torch was not imported", done.stderr)

    def test_an_error_of_the_next_sitecustomize_is_said_as_ever(self) -> None:
        (self.folder / "own").mkdir()
        (self.folder / "own/sitecustomize.py").write_text("raise ValueError('mine')\n")
        (self.folder / "own/usercustomize.py").write_text("print('user')\n")
        where = str(self.folder / "own")
        alone = subprocess.run([sys.executable, "-c", ""], capture_output=True, text=True, timeout=60, check=False, env=environment(PYTHONPATH=where))
        done = self.run_it("-c", "", options="--pytorch -q", path=where)
        self.assertIn("ValueError: mine", alone.stderr)
        self.assertEqual((done.stdout, done.stderr, done.returncode), (alone.stdout, alone.stderr, alone.returncode))

    def test_a_python_that_does_not_load_it_is_said(self) -> None:
        for option in ("-I", "-E", "-S", "-sIB"):
            self.assertIn("--pytorch: the hook was not loaded: Python was started with -I, -E or -S", self.run_it(option, "-c", "1").stderr)
        done = holdup("run", "--pytorch", "--trace", "none", "--no-report", "-f", "-o", self.trace, "--", "/bin/true", env=environment())
        self.assertIn("--pytorch: no Python was started", done.stderr)

    def test_children_have_it_too_and_the_session_goes(self) -> None:
        child = self.script(textwrap.dedent(self.LOOP) + "for x in torch.utils.data.DataLoader([1, 2, 3]): net(x); sgd.step()\n", "child.py")
        done = self.run_it("-c", f"import os, subprocess, sys; print(os.environ['HOLDUP_SESSION'], flush=True); sys.exit(subprocess.call([sys.executable, {str(child)!r}]))")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3 steps", done.stderr)
        self.assertFalse(pathlib.Path(done.stdout.splitlines()[0]).exists(), "byte code and all")

    def test_the_option(self) -> None:
        for words, message in (("--pytorch=shape", '--pytorch needs shapes, modules, stacks or none, not "shape"'), ("--pytorch=none", "")):
            done = self.run_it("-c", "import torch", options=words)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stdout, "")
        self.assertEqual(self.run_it("-c", "import torch", options="--pytorch=autograd-shapes-nvtx").stdout, "on shapes 2\noff\n", "nsys' word")
        done = holdup("run", "--require", "pytorch", "--pytorch", "--no-report", "-f", "-o", self.trace, "--", sys.executable, "-c", "1", env=environment())
        self.assertEqual(done.returncode, 123)
        self.assertIn("--require pytorch: nothing of this kind was recorded", done.stderr)


SEEDED = """
import json, sys, torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(7)
torch.set_num_threads(1)
"""

PLAIN = SEEDED + """
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 1))
sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
loader = DataLoader(TensorDataset(torch.randn(40, 8), torch.randn(40, 1)), batch_size=8)
def work():
    for x, y in loader:
        sgd.zero_grad()
        torch.nn.functional.mse_loss(net(x), y).backward()
        sgd.step()
    return 5
"""

ACCUMULATION = PLAIN.replace("for x, y in loader:", "for n, (x, y) in enumerate(DataLoader(loader.dataset, batch_size=5)):").replace(
    "        sgd.zero_grad()\n", "").replace("        sgd.step()\n", "        if n % 4 == 3:\n            sgd.step(); sgd.zero_grad()\n").replace("return 5", "return 2")

NETWORKS = SEEDED + """
made, judge = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
first, second = torch.optim.Adam(judge.parameters()), torch.optim.Adam(made.parameters())
class Double(torch.autograd.Function):
    @staticmethod
    def forward(context, x): return x * 2
    @staticmethod
    def backward(context, grad): return grad * 2
def work():
    for _ in range(4):
        first.zero_grad(); judge(made(torch.randn(2, 4)).detach()).sum().backward(); first.step()
        second.zero_grad(); x = torch.utils.checkpoint.checkpoint(made, torch.randn(2, 4, requires_grad=True), use_reentrant=False)
        judge(Double.apply(x)).sum().backward(); second.step()
    return 4
"""

TRANSFORMERS = SEEDED + """
import os, tempfile
os.environ["HF_HUB_OFFLINE"] = "1"
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
net = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0))
data = [{"input_ids": torch.randint(0, 50, (8,)), "labels": torch.randint(0, 50, (8,))} for _ in range(12)]
folder = tempfile.TemporaryDirectory()
trainer = Trainer(model=net, train_dataset=data, eval_dataset=data[:4], args=TrainingArguments(
    output_dir=folder.name, per_device_train_batch_size=2, gradient_accumulation_steps=2, num_train_epochs=2, report_to=[], use_cpu=True,
    save_strategy="no", eval_strategy="epoch", disable_tqdm=True, seed=7))
def work():
    trainer.train()
    return trainer.state.global_step
"""

LIGHTNING = SEEDED + """
import tempfile, warnings
warnings.simplefilter("ignore")
import lightning
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, index): return self.layer(batch[0]).sum()
    def validation_step(self, batch, index): self.layer(batch[0])
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), lr=0.1)
make = lambda n: DataLoader(TensorDataset(torch.randn(n, 4)), batch_size=2)
folder = tempfile.TemporaryDirectory()
trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder.name,
                            limit_val_batches=1, accumulate_grad_batches=2, enable_checkpointing=False)
model, train, test = Model(), make(12), make(6)
def work():
    trainer.fit(model, train, test)
    return trainer.global_step
"""

DDP = SEEDED + """

import torch.distributed as dist
dist.init_process_group("gloo")
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)))
sgd = torch.optim.SGD(net.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(20, 8)), batch_size=4)
def work():
    for x, in loader:
        sgd.zero_grad(); net(x).sum().backward(); sgd.step()
    return 5
"""

FSDP = SEEDED + """
import os
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
dist.init_process_group("gloo")
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8)) for _ in range(2))
    def forward(self, x):
        for layer in self.layers: x = layer(x)
        return x
net, mesh = Net(), init_device_mesh("cpu", (dist.get_world_size(),))
for module in (*net.layers, net): fully_shard(module, mesh=mesh)
sgd = torch.optim.SGD(net.parameters(), lr=0.1)
def work():
    for _ in range(5):
        sgd.zero_grad(); net(torch.randn(4, 8)).sum().backward(); sgd.step()
    return 5
"""
# a mesh that lives until the interpreter ends makes PyTorch 2.15 abort in one run of three, recorded or not
# ("terminate called without an active exception"): both ranks drop it first
LAST = """
import gc
net = sgd = module = mesh = None
gc.collect()
dist.destroy_process_group()
"""

# `measured` is a range in both traces: what is compared begins and ends with it
TAIL = """
out = sys.argv[1].replace("RANK", os.environ.get("RANK", "0")) if len(sys.argv) > 1 else ""
if out:
    with torch.profiler.profile(record_shapes=True) as profiler:
        with torch.autograd.profiler.record_function("measured"):
            steps = work()
    profiler.export_chrome_trace(out)
else:
    with torch.autograd.profiler.record_function("measured"):
        steps = work()
print(json.dumps({"steps": steps}))
"""


def flat(shapes: str | None) -> list[str]:
    """Shapes in the order of the inputs.  NVTX has those of a list of tensors one behind the other."""
    return re.findall(r"\[[0-9, ]*\]", shapes or "")


class Real(Case):
    """Against torch.profiler, which traces the same program, run apart."""

    def setUp(self) -> None:
        super().setUp()
        self.torch = torch_or_skip(self)

    def env(self, **more: str) -> dict[str, str]:
        return environment(CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1", TRANSFORMERS_VERBOSITY="error", **more)

    def needs(self, package: str) -> None:
        if subprocess.run([self.torch, "-c", f"import {package}"], capture_output=True, check=False, timeout=300).returncode != 0:
            skip_loudly(f"{self.torch} has no {package}")
            self.skipTest(f"no {package}")

    def record(self, path: pathlib.Path, *launcher: Any, options: str = "--pytorch=shapes", arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
        done = holdup("run", "--trace", "none", *options.split(), "--no-report", "-f", "-o", self.trace, "--", self.torch, *launcher, path, *arguments, env=self.env(), timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return done

    def profile(self, path: pathlib.Path, out: pathlib.Path, *launcher: Any) -> None:
        done = subprocess.run([self.torch, *map(str, launcher), path, out], capture_output=True, text=True, env=self.env(), check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)

    def operators(self, trace: pathlib.Path) -> list[tuple]:
        """Inside of `measured`, on its thread: name, shapes, number of the operator around it, number of the forward operator."""
        found = rows(trace, """select o.id, o.name, o.parent, o.shapes, o.sequence, o.forward, o.is_annotation from op o, (select * from op where name = 'measured') m
                               where o.tid = m.tid and o.start_ns >= m.start_ns and o.end_ns <= m.end_ns order by o.start_ns, o.id""")
        kept = [r for r in found if not r["is_annotation"]]
        number = {r["id"]: n for n, r in enumerate(kept)}
        self.assertGreater(len(kept), 50)
        return [(r["name"], flat(r["shapes"]), number.get(r["parent"]), number.get(r["forward"])) for r in kept]

    def annotations(self, trace: pathlib.Path) -> list[str]:
        found = rows(trace, """select o.name from op o, (select * from op where name = 'measured') m where o.is_annotation and o.tid = m.tid
                               and o.start_ns >= m.start_ns and o.end_ns <= m.end_ns order by o.start_ns, o.id""")
        return [r["name"] for r in found if not r["name"].startswith("ProfilerStep#") and not re.match(r"[a-z]+:[a-z_]+$", r["name"])]

    def assert_same(self, ours: pathlib.Path, theirs: pathlib.Path) -> None:
        a, b = self.operators(ours), self.operators(theirs)
        for n, what in enumerate(("names", "shapes", "operators around them", "forward operators")):
            differ = [(i, x[n], y[n]) for i, (x, y) in enumerate(zip(a, b)) if x[n] != y[n]]
            self.assertEqual(differ[:5], [], what)
        self.assertEqual(len(a), len(b))
        self.assertTrue(any(o[3] is not None for o in a), "some are linked")
        self.assertEqual(self.annotations(ours), self.annotations(theirs))

    def compare(self, text: str, options: str = "--pytorch=shapes") -> None:
        path = self.script("import os\n" + text + TAIL)
        done = self.record(path, options=options)
        steps = json.loads(done.stdout.splitlines()[-1])["steps"]
        self.profile(path, self.folder / "profiler.json")
        self.assert_same(self.trace, self.folder / "profiler.json")
        self.assertEqual(self.numbers(), list(range(steps)))
        self.assertRegex(done.stderr, rf"PyTorch 2\.[0-9.]+\S*: {steps} steps, [0-9,]+ operators a step")

    def test_a_plain_loop(self) -> None:
        self.compare(PLAIN)

    def test_a_plain_loop_with_lines_of_code(self) -> None:
        self.compare(PLAIN, "--pytorch=shapes,stacks")
        number = 1 + (self.folder / "train.py").read_text().splitlines().index("    for x, y in loader:")
        loads = rows(self.trace, "select distinct stack from op where name in ('aten::stack', 'aten::select')")
        self.assertEqual([r["stack"].rpartition("/")[2] for r in loads], [f"train.py({number}): work"], "no frame of torch, and none of the hook")

    def test_gradient_accumulation(self) -> None:
        self.compare(ACCUMULATION)

    def test_two_networks_checkpoints_and_a_function_in_python(self) -> None:
        self.compare(NETWORKS)

    def test_trainer_of_transformers(self) -> None:
        self.needs("transformers, accelerate")
        self.compare(TRANSFORMERS)

    def test_trainer_of_lightning(self) -> None:
        self.needs("lightning")
        self.compare(LIGHTNING)

    def two_ranks(self, text: str, options: str = "--pytorch=shapes") -> list[pathlib.Path]:
        path = self.script("import os\n" + text + TAIL + LAST)
        launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
        done = self.record(path, *launcher, options=options)
        self.profile(path, self.folder / "profilerRANK.json", *launcher)
        made = sorted(self.folder.glob("run*rank*.pftrace"))
        self.assertEqual(len(made), 2)
        for rank in (0, 1):
            self.assertEqual(self.numbers(made[rank]), [0, 1, 2, 3, 4])
            self.assert_same(made[rank], self.folder / f"profiler{rank}.json")
        self.assertIn("5 steps", done.stderr)
        return made

    def test_two_ranks(self) -> None:
        self.two_ranks(DDP)

    def test_two_ranks_of_fsdp(self) -> None:
        """Names of modules are in FSDP's own ranges; none of these is a step."""
        if subprocess.run([self.torch, "-c", "from torch.distributed.fsdp import fully_shard"], capture_output=True, check=False, timeout=300).returncode != 0:
            skip_loudly(f"{self.torch} has no FSDP2")
            self.skipTest("no FSDP2")
        trace = self.two_ranks(FSDP)[0]
        count = {r["name"]: r["n"] for r in rows(trace, "select name, count(*) as n from op where is_annotation and name like 'FSDP::%' group by name")}
        for name in ("FSDP::pre_forward (layers.0)", "FSDP::pre_backward (layers.1)", "FSDP::post_backward_reduce (layers.0)"):
            self.assertEqual(count[name], 5, count)
        self.record(self.folder / "train.py", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", options="--pytorch --trace osrt")
        trace = next(self.folder.glob("run*rank0.pftrace"))
        report = json.loads(holdup("report", trace, "--json").stdout)["ranks"][0]
        self.assertEqual((report["steps"]["count"], report["steps"]["source"]), (5, "ProfilerStep"))
        self.assertIn("FSDP", report["parallelism"]["summary"])
        phases = {p["phase"]: p for p in report["phases"]}
        self.assertGreater(phases["forward"]["all_gather_ns"], 0)
        self.assertEqual(phases["forward"]["reduce_scatter_ns"], 0)
        self.assertGreater(phases["backward"]["reduce_scatter_ns"], 0)

    def test_without_shapes_operators_have_sequence_numbers(self) -> None:
        path = self.script("import os\n" + PLAIN + TAIL)
        self.record(path, options="--pytorch")
        self.profile(path, self.folder / "profiler.json")
        a, b = self.operators(self.trace), self.operators(self.folder / "profiler.json")
        self.assertEqual([(o[0], o[2], o[3]) for o in a], [(o[0], o[2], o[3]) for o in b])
        self.assertEqual({tuple(o[1]) for o in a}, {()})

    def test_part_of_the_steps(self) -> None:
        self.record(self.script("import os\n" + PLAIN + TAIL), options="--pytorch --steps 1..2")
        self.assertEqual(self.numbers(), [1, 2])
        steps = self.steps()
        count = rows(self.trace, f"select count(*) as n, sum(start_ns between {steps[0]['start_ns']} and {steps[-1]['end_ns']}) as inside from op where not is_annotation")[0]
        self.assertGreater(count["inside"], 100)
        self.assertEqual(count["n"], count["inside"])

    def test_a_profiler_of_the_program_is_not_disturbed(self) -> None:
        path = self.script("import os\n" + PLAIN + TAIL)
        theirs = self.folder / "inside.json"
        done = self.record(path, arguments=(str(theirs),))
        self.profile(path, self.folder / "profiler.json")
        self.assert_same(theirs, self.folder / "profiler.json")
        self.assertIn("while another profiler of the program was active (1 time)", done.stderr)
        self.assertEqual(self.numbers(), [0, 1, 2, 3, 4])

    def test_workers_record_no_operators(self) -> None:
        path = self.script("""
            import sys, torch
            class Data(torch.utils.data.Dataset):
                def __len__(self): return 16
                def __getitem__(self, n): return torch.full((4,), float(n)).erfinv()
            if __name__ == "__main__":
                net = torch.nn.Linear(4, 1)
                sgd = torch.optim.SGD(net.parameters(), lr=0.1)
                for x in torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=2, multiprocessing_context=sys.argv[1]):
                    net(x).sum().backward(); sgd.step()
        """)
        for how in ("fork", "spawn"):
            done = self.record(path, arguments=(how,))
            self.assertIn(": 4 steps,", done.stderr)
            self.assertEqual(rows(self.trace, "select count(*) as n from slice where name = 'aten::erfinv'")[0]["n"], 0)

    LINES = """
        import sys, torch
        torch.manual_seed(7)
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(8, 8)
            def forward(self, x):
                y = self.layer(x)
                return (y * 2).sum()
        net = Net()
        sgd = torch.optim.SGD(net.parameters(), lr=0.1)
        if "compile" in sys.argv:
            twice = torch.compile(lambda x: x * 2, backend="eager", fullgraph=True)
            with torch.device("cpu"):
                assert twice(torch.ones(2)).tolist() == [2, 2]
        for n in range(3):
            sgd.zero_grad()
            with torch.device("cpu"):
                loss = net(torch.randn(2, 8))
            loss.backward()
            sgd.step()
            print(loss.item())
        assert torch._C._len_torch_function_stack() == ("compile" not in sys.argv and "alone" not in sys.argv)
    """

    def test_lines_of_code(self) -> None:
        """The innermost frame outside of torch; what the program computes is the same."""
        path = self.script(self.LINES)
        line = {text.strip(): n for n, text in enumerate(path.read_text().splitlines(), 1)}
        alone = subprocess.run([self.torch, path, "alone"], capture_output=True, text=True, env=self.env(), check=True, timeout=300).stdout
        self.assertEqual(self.record(path, options="--pytorch=stacks").stdout, alone)
        found = rows(self.trace, """select o.name, o.stack, f.stack as forward, count(*) as n from op o left join op f on f.id = o.forward
                                    where not o.is_annotation and o.step is not null group by 1, 2, 3""")

        def said(name: str) -> set[tuple]:
            return {(r["stack"].rpartition("/")[2], r["forward"] and r["forward"].rpartition("/")[2]) for r in found if r["name"] == name and r["stack"]}

        forward, backward = f"train.py({line['y = self.layer(x)']}): forward", f"train.py({line['loss.backward()']}): <module>"
        self.assertEqual(said("aten::linear"), {(forward, None)})
        self.assertEqual(said("AddmmBackward0"), {(backward, forward)}, "its forward operator says where it comes from")
        self.assertIn((f"train.py({line['return (y * 2).sum()']}): forward", None), said("aten::mul"))
        self.assertEqual(said("aten::add_"), {(f"train.py({line['sgd.step()']}): <module>", None)})
        self.assertEqual(said("aten::randn"), {(f"train.py({line['loss = net(torch.randn(2, 8))']}): <module>", None)})
        self.assertEqual([r["name"] for r in found if not r["stack"]], [])
        report = holdup("report", self.trace, "--view", "ops", "--group-by", "stack", env=environment(COLUMNS="200")).stdout
        self.assertRegex(report, rf"aten::linear +\S*train\.py\({line['y = self.layer(x)']}\): forward")
        self.assertNotIn("not captured: Python stacks", holdup("report", self.trace, "--view", "health").stdout)

    def test_lines_of_code_end_where_the_program_compiles(self) -> None:
        path = self.script(self.LINES)
        if subprocess.run([self.torch, path, "alone", "compile"], capture_output=True, check=False, timeout=300, env=self.env()).returncode != 0:
            skip_loudly(f"{self.torch} cannot compile")
            self.skipTest("no torch.compile")
        done = self.record(path, options="--pytorch=stacks", arguments=("compile",))
        self.assertIn("--pytorch=stacks: lines of code were recorded until the program compiled (torch.compile, torch.export)", done.stderr)
        self.assertNotIn("operators were not recorded", done.stderr)
        self.assertEqual(rows(self.trace, "select count(*) as n from op where step is not null and stack is not null")[0]["n"], 0)
        self.assertEqual(self.numbers(), [0, 1, 2])

    def test_scripts_and_pickles_of_what_is_wrapped(self) -> None:
        path = self.script("""
            import pickle, torch
            @torch.jit.script
            def f(x):
                with torch.autograd.profiler.record_function("inside"):
                    return x + 1
            print(f(torch.zeros(1)).item())
            for function in (torch.save, torch.utils.data._utils.worker._worker_loop):
                assert pickle.loads(pickle.dumps(function)) is function
            with torch.autograd.profiler.record_function("again") as r:
                pass
            try:
                with torch.autograd.profiler.record_function("raises"):
                    raise KeyError("mine")
            except KeyError as error:
                print(error)
        """)
        self.assertEqual(self.record(path).stdout, "1.0\n'mine'\n")
        names = [r["name"] for r in rows(self.trace, "select name from op where is_annotation order by start_ns")]
        self.assertEqual([n for n in names if n in ("again", "raises")], ["again", "raises"])


if __name__ == "__main__":
    unittest.main()
