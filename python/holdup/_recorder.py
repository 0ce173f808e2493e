# SPDX-License-Identifier: Apache-2.0
"""The recorder that `holdup run` puts into the process: finds it and calls it (include/holdup_annotate.h says what it offers).

Calls keep the GIL: they take some ten nanoseconds and never wait, so giving it up would cost more than they do.
"""
from __future__ import annotations

import ctypes

SYMBOL = "holdup_annotate_v1"
VERSION = 1
MOST_NAMES = 65535              # what a recorder has room for; texts beyond are passed as they are

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64
_function = ctypes.PYFUNCTYPE


class Api(ctypes.Structure):
    """holdup_annotate_api."""

    _fields_ = [
        ("size", _u32),
        ("version", _u32),
        ("listening", ctypes.POINTER(_u32)),
        ("name", _function(_u32, ctypes.c_char_p)),
        ("push", _function(None, _u32)),
        ("push_text", _function(None, ctypes.c_char_p)),
        ("pop", _function(None)),
        ("mark", _function(None, _u32)),
        ("step", _function(None, ctypes.c_int64)),
        ("step_end", _function(None)),
        ("counter", _function(None, _u32, ctypes.c_double)),
        ("start", _function(_u64, _u32)),
        ("end", _function(None, _u64)),
        ("phase_push", _function(None, _u32)),
        ("count", _function(None, _u32, _u64)),
    ]


LEAST = Api.count.offset         # bytes that every recorder has


def encode(text: str) -> bytes:
    """What a C string can hold of a text: UTF-8, up to the first NUL; halves of surrogate pairs become question marks."""
    return str(text).encode("utf-8", "replace").split(b"\0", 1)[0]


class Recorder:
    """The functions of the table, with texts as Python has them."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.word = _u32.from_address(ctypes.addressof(api.listening.contents))        # its value is 0 while nobody listens
        self._ids: dict[str, int] = {}
        self._push, self._push_text = api.push, api.push_text
        self._mark, self._counter, self._start, self._name = api.mark, api.counter, api.start, api.name
        self.pop, self.step, self.step_end = api.pop, api.step, api.step_end
        self.end, self.phase_push = api.end, api.phase_push
        self.count = api.count if api.size > LEAST else None

    def _id(self, text: str) -> int:
        known = self._ids.get(text)
        if known is None:
            known = self._name(encode(text))
            if known and len(self._ids) < MOST_NAMES:
                self._ids[text] = known
        return known

    def push(self, text: str) -> None:
        known = self._ids.get(text) or self._id(text)
        if known:
            self._push(known)
        else:
            self._push_text(encode(text))

    def mark(self, text: str) -> None:
        self._mark(self._id(text))

    def counter(self, text: str, value: float) -> None:
        self._counter(self._id(text), value)

    def start(self, text: str) -> int:
        """A handle for `end`; 0: not recorded."""
        return self._start(self._id(text))


def find() -> Recorder | None:
    """The recorder of this process, or None."""
    try:
        get = ctypes.CDLL(None)[SYMBOL]
    except (OSError, AttributeError):
        return None
    get.restype = ctypes.POINTER(Api)
    table = get()
    if not table or table.contents.version != VERSION or table.contents.size < LEAST:
        return None
    return Recorder(table.contents)
