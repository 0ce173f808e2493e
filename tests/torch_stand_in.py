# SPDX-License-Identifier: Apache-2.0
"""A package `torch` that has only what the hook of --pytorch looks for, and prints when its observer is switched on and off."""
from __future__ import annotations

import pathlib
import textwrap

FILES = {
    "__init__.py": """
        __version__ = "2.99.0+stand.in"
        from . import _C, autograd, cuda, nn, optim, serialization, utils, version
        from .serialization import save
        from .autograd import is_grad_enabled, no_grad
    """,
    "version.py": "cuda = '13.2'\nhip = None\n",
    "serialization.py": "def save(what, where):\n    print('saved', what)\n",
    "cuda/__init__.py": "initialized = False\ndef is_initialized(): return initialized\ndef current_device(): return 0\n",
    "_C/__init__.py": """
        from . import _autograd, _profiler
        def _cuda_memoryStats(device):
            return {k: {"all": {"current": v}} for k, v in (("allocated_bytes", 1000), ("reserved_bytes", 2000))}
    """,
    "_C/_profiler.py": """
        class ProfilerState: NVTX = "nvtx"
        class RecordScope: FUNCTION, BACKWARD_FUNCTION = "function", "backward"
        class _ExperimentalConfig: pass
        class ProfilerConfig:
            def __init__(self, state, shapes, memory, stack, flops, modules, experimental): self.shapes = shapes
    """,
    "_C/_autograd.py": """
        is_on = False
        def _profiler_enabled(): return is_on
        def _enable_profiler(config, activities, scopes=()):
            global is_on
            if is_on: raise RuntimeError("Profiler is already enabled on this thread.")
            is_on = True
            print("on", "shapes" if getattr(config, "shapes", False) else "plain", len(scopes))
        def _disable_profiler():
            global is_on
            if not is_on: raise RuntimeError("Can't disable a profiler that is not running.")
            is_on = False
            print("off")
    """,
    "autograd/__init__.py": """
        from . import profiler
        grad = [True]
        def is_grad_enabled(): return grad[-1]
        class no_grad:
            def __enter__(self): grad.append(False)
            def __exit__(self, *_): grad.pop()
    """,
    "autograd/profiler.py": """
        from .._C._autograd import _disable_profiler, _enable_profiler
        class record_function:
            def __init__(self, name): self.name = name
            def __enter__(self): return self
            def __exit__(self, exc_type, exc_value, traceback): pass
        class profile:
            def __enter__(self): _enable_profiler("theirs", set())
            def __exit__(self, *_): _disable_profiler()
    """,
    "nn/__init__.py": """
        from .modules import module
        class Module:
            def named_modules(self, prefix=""):
                yield prefix, self
                for name, inner in vars(self).items():
                    if isinstance(inner, Module): yield from inner.named_modules(prefix + "." + name if prefix else name)
            def __call__(self, *inputs):
                for hook in list(module.before.values()): hook(self, inputs)
                result = None
                try:
                    result = self.forward(*inputs)
                finally:
                    for hook in list(module.behind.values()): hook(self, inputs, result)
                return result
    """,
    "nn/modules/__init__.py": "from . import module\n",
    "nn/modules/module.py": """
        before, behind = {}, {}
        class Handle:
            def __init__(self, hooks, hook):
                self.hooks, self.hook = hooks, hook
                hooks[id(self)] = hook
            def remove(self): self.hooks.pop(id(self))
        def register_module_forward_pre_hook(hook): return Handle(before, hook)
        def register_module_forward_hook(hook, *, always_call=False): return Handle(behind, hook)
    """,
    "optim/__init__.py": """
        from . import optimizer
        class SGD:
            def step(self):
                from ..autograd import profiler
                with profiler.record_function("Optimizer.step#SGD.step"):
                    for hook in optimizer.hooks: hook(self, (), {})
    """,
    "optim/optimizer.py": "hooks = []\ndef register_optimizer_step_post_hook(hook): hooks.append(hook)\n",
    "utils/__init__.py": "from . import data\n",
    "utils/data/__init__.py": """
        from . import _utils, dataloader
        from .dataloader import DataLoader
    """,
    "utils/data/_utils/__init__.py": "from . import worker\n",
    "utils/data/_utils/worker.py": "def _worker_loop(): print('working')\n",
    "utils/data/dataloader.py": """
        from ...autograd import profiler
        class _BaseDataLoaderIter:
            def __init__(self, dataset): self._dataset, self.at = dataset, iter(dataset)
            def __iter__(self): return self
            def __next__(self):
                with profiler.record_function("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
                    return next(self.at)
        class DataLoader:
            def __init__(self, dataset): self.dataset = dataset
            def __iter__(self): return _BaseDataLoaderIter(self.dataset)
    """,
}


def make(folder: pathlib.Path, **other: str) -> pathlib.Path:
    """Writes the package below `folder`, which it returns: for PYTHONPATH.  `other`: files by name, with __ for / and without .py."""
    files = FILES | {name.replace("__", "/") + ".py": text for name, text in other.items()}
    for name, text in files.items():
        path = folder / "torch" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder
