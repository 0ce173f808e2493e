# SPDX-License-Identifier: Apache-2.0
"""What `holdup run --pytorch` does in a process that has imported torch: operators, steps, checkpoints, memory.

Operators come from libtorch's own observer, which pushes each as an NVTX range; the recorder takes its text apart
(src/inject/pytorch.c).  It belongs to the thread that imported torch, and to autograd's threads.  Everything is looked for
before it is used, and nothing in here may raise into the program: what fails is switched off, and said at the end.

A step is what lies between two batches of a DataLoader, if an optimizer stepped in between; without a DataLoader, between two
steps of the optimizer that stepped first.  So micro-batches make no steps, nor does a second optimizer, nor an evaluation.
"""
import atexit
import ctypes
import functools
import os
import sys
import threading
import weakref

VERSION = 1
NONE, FAILED, ON = 0, 1, 2                              # hu_torch_state
WANTS_SHAPES, WANTS_MODULES, WANTS_ALWAYS, WANTS_STACKS = 1, 2, 4, 8    # hu_pytorch_api.wants
CHECKPOINT = 7                                          # HOLDUP_PHASE_CHECKPOINT
LIVE = 1 << 29                                          # HU_DOOR_LIVE: a monitor wants steps and phases, nothing is recorded
MOST_LINES = 100000                                     # of code that are remembered: a program may make code for ever
MOST_CALLS_BEFORE_STEP = 5000                           # of modules: who calls more without a gradient does not train

_u32, _u64, _i64, _text, _function = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64, ctypes.c_char_p, ctypes.PYFUNCTYPE


class Marks(ctypes.Structure):
    """holdup_annotate_api."""

    _fields_ = [("size", _u32), ("version", _u32), ("listening", ctypes.POINTER(_u32)), ("name", _function(_u32, _text)),
                ("push", _function(None, _u32)), ("push_text", _function(None, _text)), ("pop", _function(None)),
                ("mark", _function(None, _u32)), ("step", _function(None, _i64)), ("step_end", _function(None)),
                ("counter", _function(None, _u32, ctypes.c_double)), ("start", _function(_u64, _u32)),
                ("end", _function(None, _u64)), ("phase_push", _function(None, _u32))]


class Door(ctypes.Structure):
    """hu_pytorch_api."""

    _fields_ = [("size", _u32), ("version", _u32), ("wants", _u32), ("is_open", _function(_u32)), ("observe", _function(None, _u32)),
                ("step", _function(None, _i64)), ("step_end", _function(None, _u32)), ("say", _function(None, _u32, _text, _text)),
                ("made_way", _function(None)), ("line", ctypes.POINTER(_u32)), ("marks", ctypes.POINTER(Marks))]


def usable(found):
    """What a pointer to a table of the recorder points to, or None."""
    return found.contents if found and found.contents.version == VERSION and found.contents.size >= ctypes.sizeof(found.contents) else None


def find_door():
    try:
        get = ctypes.CDLL(None)["holdup_pytorch_v1"]
    except (OSError, AttributeError):
        return None
    get.restype = ctypes.POINTER(Door)
    return usable(get())


class Hook:
    """What is switched on and off in this process."""

    def __init__(self, torch, door, marks):
        self.torch, self.door, self.marks = torch, door, marks
        self.thread, self.pid = threading.get_ident(), os.getpid()
        self.word = _u32.from_address(ctypes.addressof(marks.listening.contents))
        self.names = {}
        self.is_on = self.is_away = self.is_worker = False
        self.why = ""
        self.is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None) or (lambda: False)
        self.counters = None

    def say(self):
        self.pid = os.getpid()
        self.door.say(ON, str(self.torch.__version__).encode("utf-8", "replace"), self.why.encode("utf-8", "replace"))

    def name(self, text):
        known = self.names.get(text)
        if known is None:
            known = self.marks.name(text.encode("utf-8", "replace").split(b"\0", 1)[0])
            if known and len(self.names) < 10000:
                self.names[text] = known
        return known

    def fail(self, error):
        """Once something in here went wrong, operators are left alone."""
        self.turn(False)
        self.why = self.why or f"the hook failed: {type(error).__name__}: {error}"[:150]
        self.say()

    # operators

    def prepare(self):
        """Why operators cannot be recorded; "": they can."""
        torch = self.torch
        try:
            from torch._C import _autograd, _profiler
            self.enable, self.disable = _autograd._enable_profiler, _autograd._disable_profiler
            self.is_taken = getattr(_autograd, "_profiler_enabled", None) or torch.autograd._profiler_enabled
            self.config = _profiler.ProfilerConfig(_profiler.ProfilerState.NVTX, bool(self.door.wants & WANTS_SHAPES), False, False,
                                                   False, False, _profiler._ExperimentalConfig())
            scopes = _profiler.RecordScope
            self.scopes = {scopes.FUNCTION, scopes.BACKWARD_FUNCTION}
        except (ImportError, AttributeError, TypeError) as error:
            return f"this PyTorch has no observer that the hook knows ({error})"[:150]
        if getattr(torch.version, "hip", None):
            return "this PyTorch is built for ROCm, whose ranges are not NVTX"
        if not getattr(torch.version, "cuda", None):
            return "this PyTorch is built without CUDA, and so without NVTX"
        return ""

    def turn(self, on):
        """Switches the observer, in the one thread that it belongs to."""
        if on == self.is_on or self.why or threading.get_ident() != self.thread:
            return
        if not on:
            self.is_on = False
            self.door.observe(0)
            self.disable()
        elif not self.is_taken():
            try:
                self.enable(self.config, set(), self.scopes)
            except (RuntimeError, TypeError) as error:
                self.why = str(error).splitlines()[0][:150] or "the observer cannot be switched on"
                self.say()
                return
            self.is_on = True
            self.door.observe(1)

    def look(self):
        """Is anybody listening now?"""
        wanted = bool(self.word.value & ~LIVE) if self.door.wants & WANTS_ALWAYS else bool(self.door.is_open())
        self.turn(wanted and not self.is_away and not self.is_worker)


class TooOld(Exception):
    """Of a PyTorch that lacks what steps are found by."""


def safely(hook, function):
    """`function` for a hook of torch: it raises nothing."""
    def call(*arguments):
        try:
            if not hook.is_worker:
                function(*arguments)
        except Exception as error:      # noqa: BLE001
            hook.is_worker = True       # nothing of the hook is called any more
            try:
                hook.fail(error)
            except Exception:           # noqa: BLE001
                pass
    return call


class Steps:
    """Where steps begin and end."""

    def __init__(self, hook):
        self.hook = hook
        self.count = 0                  # that have ended
        self.is_open = self.has_stepped = self.is_dry = False
        self.is_due = False             # a step ends as soon as the optimizer has
        self.source = self.last_source = None       # of the first and the last batch in it
        self.training = set()           # sources of batches that an optimizer followed
        self.fetched = 0                # batches since the leader's last step
        self.leader = None              # the first optimizer that stepped
        self.before_first = None        # a hook of modules until the first step begins

    def is_elsewhere(self):
        return threading.get_ident() != self.hook.thread or self.hook.is_compiling()

    def end(self):
        """The open step ends; without an optimizer in it, it was none."""
        if not self.is_open:
            return
        self.hook.door.step_end(0 if self.has_stepped else 1)
        self.count += self.has_stepped
        self.is_open = self.has_stepped = self.is_dry = self.is_due = False

    def begin(self, source):
        hook = self.hook
        if self.is_open and self.has_stepped:
            self.count += 1             # the recorder ends it at the same instant
        elif self.is_open:
            self.end()
        if self.before_first is not None:
            self.before_first.remove()
            self.before_first = None
        if os.getpid() != hook.pid:
            hook.say()
        hook.door.step(self.count)
        self.is_open, self.has_stepped, self.is_dry, self.is_due, self.source = True, False, False, False, source
        hook.look()
        if hook.counters is not None:
            hook.counters()

    def fetch(self, iterator):
        """A DataLoader is asked for a batch."""
        if self.is_elsewhere() or not self.hook.torch.is_grad_enabled():
            return
        source = id(getattr(iterator, "_dataset", iterator))
        self.fetched += 1
        if (not self.is_open or self.has_stepped or self.is_dry or
                (source != self.source and source in self.training and self.source not in self.training)):
            self.begin(source)
        self.last_source = source

    def exhausted(self, iterator):
        if not self.is_elsewhere() and id(getattr(iterator, "_dataset", iterator)) == self.source:
            self.is_dry = True

    def module(self, *_):
        """A module is called before any step began."""
        self.calls_left -= 1
        if self.before_first is None or self.is_elsewhere():
            return
        if self.hook.torch.is_grad_enabled():
            self.begin(None)
        elif self.calls_left <= 0:
            self.before_first.remove()
            self.before_first = None

    calls_left = MOST_CALLS_BEFORE_STEP

    def optimizer(self, optimizer, *_):
        """An optimizer has stepped."""
        if self.is_elsewhere():
            return
        self.training.add(self.last_source)
        leader = self.leader() if self.leader is not None else None
        if leader is None:
            self.leader, leader = weakref.ref(optimizer), optimizer
        if self.is_open and (optimizer is leader or self.source is not None):
            self.has_stepped = True     # without batches, the leader's step alone makes one
        if optimizer is leader:
            self.is_due = self.fetched == 0 or self.is_dry
            self.fetched = 0

    def over(self):
        """The range around an optimizer's step has ended."""
        if not self.is_due or self.is_elsewhere():
            return
        if self.is_dry:
            self.end()
        else:
            self.begin(None)

    def exit(self):
        if os.getpid() == self.hook.pid:
            self.end()
            self.hook.turn(False)


def wrap(place, name, make):
    """Replaces place.name, if there is one."""
    original = getattr(place, name, None)
    if original is not None:
        setattr(place, name, functools.wraps(original)(make(original)))


def wrap_ranges(hook, steps):
    """record_function: the program's ranges, and those around optimizers and data loaders."""
    word, push, pop = hook.word, hook.marks.push, hook.marks.pop
    over = safely(hook, steps.over)

    def make_enter(original):
        def __enter__(self):
            known = 0
            if word.value and not hook.is_worker:
                known = hook.names.get(self.name) or (hook.name(self.name) if isinstance(self.name, str) else 0)
            self._holdup = known
            if known:
                push(known)
            return original(self)
        return __enter__

    def make_exit(original):
        def __exit__(self, exc_type, exc_value, traceback):
            try:
                return original(self, exc_type, exc_value, traceback)
            finally:
                if getattr(self, "_holdup", 0):
                    self._holdup = 0
                    pop()
                if steps.is_due and str(self.name).startswith("Optimizer.step#"):
                    over()
        return __exit__

    record = hook.torch.autograd.profiler.record_function
    wrap(record, "__enter__", make_enter)
    wrap(record, "__exit__", make_exit)


def wrap_profilers(hook):
    """Where another profiler begins in this thread, the observer makes way, and comes back behind it."""
    def leave():
        if threading.get_ident() == hook.thread and not hook.is_away:
            hook.is_away = True
            if hook.is_on:
                hook.door.made_way()
            hook.turn(False)

    def come_back():
        if threading.get_ident() == hook.thread:
            hook.is_away = False
            hook.look()

    leave, come_back = safely(hook, leave), safely(hook, come_back)

    def before(original):
        def call(*arguments, **named):
            leave()
            return original(*arguments, **named)
        return call

    def after(original):
        def call(*arguments, **named):
            try:
                return original(*arguments, **named)
            finally:
                come_back()
        return call

    profiler = hook.torch.autograd.profiler
    for name in ("_prepare_profiler", "_enable_profiler"):
        wrap(profiler, name, before)
    wrap(profiler, "_disable_profiler", after)
    try:
        from torch.autograd import profiler_legacy
        wrap(profiler_legacy, "_enable_profiler_legacy", before)
        wrap(profiler_legacy, "_disable_profiler_legacy", after)
    except ImportError:
        pass


def wrap_loaders(hook, steps):
    """Batches, and the processes that make them: these are left alone."""
    from torch.utils.data import dataloader
    from torch.utils.data._utils import worker
    fetch, exhausted = safely(hook, steps.fetch), safely(hook, steps.exhausted)

    def make_next(original):
        def __next__(self):
            fetch(self)
            try:
                return original(self)
            except StopIteration:
                exhausted(self)
                raise
        return __next__

    def make_loop(original):
        def loop(*arguments, **named):
            safely(hook, functools.partial(hook.turn, False))()
            hook.is_worker = True
            return original(*arguments, **named)
        return loop

    wrap(dataloader._BaseDataLoaderIter, "__next__", make_next)
    wrap(worker, "_worker_loop", make_loop)


def wrap_checkpoints(hook):
    def make(original):
        def save(*arguments, **named):
            if not hook.word.value or hook.is_worker:
                return original(*arguments, **named)
            hook.marks.phase_push(CHECKPOINT)
            try:
                return original(*arguments, **named)
            finally:
                hook.marks.pop()
        return save

    wrap(hook.torch.serialization, "save", make)
    hook.torch.save = hook.torch.serialization.save


def count_memory(hook):
    """Counters of PyTorch's allocator at each step; only where the program has initialised CUDA itself."""
    cuda = hook.torch.cuda
    read = getattr(hook.torch._C, "_cuda_memoryStats", None)
    counters = [("PyTorch: GPU memory allocated", "allocated_bytes"), ("PyTorch: GPU memory reserved", "reserved_bytes")]

    def count():
        if not hook.word.value & ~LIVE or not cuda.is_initialized():
            return
        stats = read(cuda.current_device())
        for name, key in counters:
            hook.marks.counter(hook.name(name), float(stats[key]["all"]["current"]))

    hook.counters = safely(hook, count) if read is not None else None


def mark_modules(hook):
    """A range for each call of an nn.Module (--pytorch=modules)."""
    from torch.nn.modules import module as modules
    paths = weakref.WeakKeyDictionary()
    opened = threading.local()

    def before(module, _):
        if not hook.word.value & ~LIVE or hook.is_worker or hook.is_compiling():
            return
        stack = opened.__dict__.setdefault("stack", [])
        if not stack:
            for path, inner in module.named_modules():
                paths.setdefault(inner, path)
        path, kind = paths.get(module, ""), type(module).__name__
        hook.marks.push(hook.name(f"nn.Module: {path} ({kind})" if path else f"nn.Module: {kind}"))
        stack.append(id(module))

    def after(module, *_):
        stack = opened.__dict__.get("stack")
        if stack and id(module) in stack and not hook.is_compiling():
            while stack:                # what raised in between has no end of its own
                hook.marks.pop()
                if stack.pop() == id(module):
                    break

    modules.register_module_forward_hook(safely(hook, after), always_call=True)
    modules.register_module_forward_pre_hook(safely(hook, before))


def say_lines(hook):
    """The line of the program's code that calls PyTorch (--pytorch=stacks): the innermost frame outside of torch.

    A mode sees each call of PyTorch from Python, in the thread that imported it.  It lies below all others and stays; where the
    program compiles (torch.compile, torch.export), which would look into it, it goes.
    """
    torch = hook.torch
    from torch.overrides import TorchFunctionMode
    inside = (os.path.dirname(os.path.abspath(torch.__file__)) + os.sep, __file__, "<frozen ", "<eval_with_key>")   # this file: it wraps some
    line = _u32.from_address(ctypes.addressof(hook.door.line.contents))
    here, packages = os.getcwd() + os.sep, os.sep + "site-packages" + os.sep
    is_inside, lines, frame_at = {}, {}, sys._getframe

    def find():
        frame = frame_at(2)
        while frame is not None:
            code = frame.f_code
            known = is_inside.get(code)
            if known is None:
                if len(is_inside) > MOST_LINES:
                    is_inside.clear()
                known = is_inside[code] = code.co_filename.startswith(inside)
            if not known:
                key = code, frame.f_lasti
                found = lines.get(key)
                if found is None:
                    path = code.co_filename.rpartition(packages)[2]
                    found = hook.name(f"{path[len(here):] if path.startswith(here) else path}({frame.f_lineno}): {code.co_name}")
                    if len(lines) < MOST_LINES:
                        lines[key] = found
                return found
            frame = frame.f_back
        return 0

    class Lines(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if not hook.is_on:
                return func(*args, **(kwargs or {}))
            before = line.value
            try:
                line.value = find()
            except Exception:           # noqa: BLE001
                pass
            try:
                return func(*args, **(kwargs or {}))
            finally:
                line.value = before

    mode = Lines()
    mode.__enter__()

    def leave():
        """Takes the mode from the bottom of the stack; those above it come back in their order."""
        above = []
        pop, push, count = torch._C._pop_torch_function_stack, torch._C._push_on_torch_function_stack, torch._C._len_torch_function_stack
        while count():
            other = pop()
            if other is mode:
                break
            above.append(other)
        for other in reversed(above):
            push(other)
        if not hook.why:
            hook.why = "lines of code were recorded until the program compiled (torch.compile, torch.export)"
            hook.say()
            hook.why = ""

    leave, has_left = safely(hook, leave), []

    def make(original):
        def compile(*arguments, **named):
            if not has_left and threading.get_ident() == hook.thread:
                has_left.append(True)
                leave()
            return original(*arguments, **named)
        return compile

    wrap(torch, "compile", make)
    wrap(sys.modules.get("torch.export"), "export", make)


def start(torch):
    """Called once, when torch has been imported."""
    door = find_door()
    marks = usable(door.marks) if door is not None else None
    if marks is None:
        return
    hook = Hook(torch, door, marks)
    steps = Steps(hook)
    try:
        hook.why = hook.prepare()
        hook.say()
        wrap_ranges(hook, steps)
        wrap_profilers(hook)
        wrap_loaders(hook, steps)
        wrap_checkpoints(hook)
        count_memory(hook)
        if door.wants & WANTS_MODULES:
            mark_modules(hook)
        if door.wants & WANTS_STACKS and door.line and not hook.why:
            say_lines(hook)
        from torch.nn.modules import module as modules
        from torch.optim import optimizer
        behind_step = getattr(optimizer, "register_optimizer_step_post_hook", None)
        if behind_step is None:
            raise TooOld("PyTorch 2.0 or later is needed, which says when an optimizer has stepped")
        behind_step(safely(hook, steps.optimizer))
        steps.before_first = modules.register_module_forward_pre_hook(safely(hook, steps.module))
        atexit.register(safely(hook, steps.exit))
        hook.look()
    except Exception as error:          # noqa: BLE001
        hook.is_worker = True
        hook.turn(False)
        why = str(error) if isinstance(error, TooOld) else f"{type(error).__name__}: {error}"
        door.say(FAILED, str(getattr(torch, "__version__", "?")).encode(), why[:150].encode("utf-8", "replace"))
