# SPDX-License-Identifier: Apache-2.0
"""Found first by each Python below `holdup run --pytorch`: waits for torch, and makes way for the sitecustomize behind it.

A program that never imports torch notices one finder on sys.meta_path and nothing else.
"""
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))


class Loader:
    """torch's own loader, and after it the hook."""

    def __init__(self, finder, loader):
        self._finder, self._loader = finder, loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._finder.found(module)


class Finder:
    """Looks for torch alone; all else is found as if this were not here."""

    def __init__(self):
        self.is_asking = False

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self.is_asking:
            return None
        self.is_asking = True
        try:
            spec = sys.modules["_frozen_importlib"]._find_spec(name, path, target)
        finally:
            self.is_asking = False
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = Loader(self, spec.loader)
        return spec

    def found(self, module):
        try:
            sys.meta_path.remove(self)
            path = os.path.join(FOLDER, "holdup_torch.py")
            with open(path, encoding="utf-8") as file:
                names = {"__name__": "holdup_torch", "__file__": path}
                exec(compile(file.read(), path, "exec"), names)
            names["start"](module)
        except Exception:               # noqa: BLE001  whatever it is, the program did not ask for it
            pass


# an error of `import torch` shows the frames that it would without us: Python leaves out those of importlib
for function in (Loader.exec_module, Loader.create_module, Finder.find_spec):
    function.__code__ = function.__code__.replace(co_filename="<frozen importlib._bootstrap>")

sys.meta_path.insert(0, Finder())
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != FOLDER]
sys.path_importer_cache.pop(FOLDER, None)
del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402,F401  the next one; where there is none, the error that Python expects
