# SPDX-License-Identifier: Apache-2.0
"""An NVTX client without NVIDIA's headers: plays the part of the program's tables, as the public interface says.

usage: nvtx_fake.py LIBRARY MODE
"""
from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading

FUNCTION = ctypes.CFUNCTYPE(None)
SIZES = {1: 16, 2: 9, 3: 15, 4: 7, 5: 16, 6: 7}
slots: dict[int, ctypes.Array] = {m: (ctypes.c_void_p * n)() for m, n in SIZES.items()}
tables = {m: (ctypes.c_void_p * n)(*[ctypes.addressof(slots[m]) + 8 * i for i in range(n)]) for m, n in SIZES.items()}


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))
def get_module(module: int, table: object, size: object) -> int:
    table[0] = ctypes.addressof(tables[module])     # type: ignore[index]
    size[0] = SIZES[module]     # type: ignore[index]
    return 1


class Callbacks(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("get_module", ctypes.c_void_p)]


callbacks = Callbacks(16, ctypes.cast(get_module, ctypes.c_void_p).value)


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
def get_table(which: int) -> int | None:
    return ctypes.addressof(callbacks) if which == 1 else None


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
def no_table(which: int) -> None:
    return None


def call(module: int, ident: int, result: object, *types: object) -> object:
    return ctypes.CFUNCTYPE(result, *types)(slots[module][ident])       # type: ignore[arg-type]


def main() -> None:
    library = ctypes.CDLL(sys.argv[1])
    mode = sys.argv[2]
    text, handle = ctypes.c_char_p, ctypes.c_void_p
    if mode == "init":
        print("no table", library.InitializeInjectionNvtx2(no_table), "null", library.InitializeInjectionNvtx2(None))
    print("init", library.InitializeInjectionNvtx2(get_table))
    if mode == "twice":         # once for each shared object that uses NVTX
        print("init", library.InitializeInjectionNvtx2(get_table))
    if not slots[1][9]:
        print("no handler")
        return
    push, pop = call(1, 9, ctypes.c_int, text), call(1, 11, ctypes.c_int)
    if mode in ("init", "twice"):
        push(b"range")
        print("pop", pop())
        call(4, 3, None, handle, text)(0x7f00, b"a stream")
        call(2, 1, None, ctypes.c_int, text)(1, b"a device")
    if mode == "names":         # of threads: this one, another one; by id and as resources
        for tid in (threading.get_native_id(), 1):
            call(1, 14, None, ctypes.c_uint32, text)(tid, b"narrow --token s3cr3t")
            call(1, 15, None, ctypes.c_uint32, ctypes.c_wchar_p)(tid, "wide --token s3cr3t")
            for kind, name in ((1, b"narrow"), (2, b"w\0\0\0i\0\0\0d\0\0\0e\0\0\0")):
                secret = b" token=s3cr3t\0" if kind == 1 else " token=s3cr3t\0".encode("utf-32-le")
                for thread in (1 << 16 | 3, 1 << 16 | 4):
                    message = ctypes.create_string_buffer(name + secret)
                    resource = struct.pack("<HHiQixxxxQ", 0, 32, thread, tid, kind, ctypes.addressof(message))
                    call(5, 6, handle, handle, ctypes.c_char_p)(None, resource)
    if mode == "threads":
        def work(n: int) -> None:
            domain = call(5, 12, handle, text)(b"domain %d" % (n % 3))
            for i in range(200):
                event = struct.pack("<HHIiIiiQixxxxQ", 3, 48, 0, 1, 0xff000000 + n, 2, 0, i, 1, ctypes.cast(names[n], ctypes.c_void_p).value)
                call(5, 4, ctypes.c_int, handle, ctypes.c_char_p)(domain, event)
                call(5, 5, ctypes.c_int, handle)(domain)
        names = [ctypes.create_string_buffer(b"work %d" % n) for n in range(8)]
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    if mode == "wrong":         # handles, sizes and types that nobody gave away
        for bad in (0xdeadbeefcafe, 2**64 - 1, 70000, 65535):
            call(5, 5, ctypes.c_int, handle)(bad)
            call(1, 7, None, ctypes.c_uint64)(bad)
            event = struct.pack("<HHIiIiiQixxxxQ", 3, 48, 5, 7, 1, -9, 3, 0x10, 3, bad)
            call(5, 4, ctypes.c_int, handle, ctypes.c_char_p)(bad, event)
            call(5, 8, None, handle, ctypes.c_uint32, text)(bad, 5, b"category")
        for size in range(48):
            event = struct.pack("<HHIiIiiQixxxxQ", 3, size, 0, 0, 0, 0, 0, 0, 1, 0x10)
            call(1, 1, None, ctypes.c_char_p)(event)
        push(b"x" * 10000)
        push(None)
        for n in range(5000):
            call(1, 12, None, ctypes.c_uint32, text)(n, b"category")
        pop()
        pop()
        print("alive")
    if mode == "texts":         # the lines of standard input, one inside of the other
        lines = sys.stdin.buffer.read().splitlines()
        for line in lines:
            push(line)
        for _ in lines:
            pop()
    if mode == "autograd":      # forward here, backward in a thread of the engine, which computes a layer again under its own numbers
        class Door(ctypes.Structure):
            _fields_ = [("size", ctypes.c_uint32), ("version", ctypes.c_uint32), ("wants", ctypes.c_uint32), ("is_open", ctypes.c_void_p),
                        ("observe", ctypes.CFUNCTYPE(None, ctypes.c_uint32))]
        library.holdup_pytorch_v1.restype = ctypes.POINTER(Door)
        library.holdup_pytorch_v1().contents.observe(1)

        def pushes(*texts: str) -> None:
            for one in texts:
                push(one.encode())
            for _ in texts:
                pop()

        def backward() -> None:
            pushes("autograd::engine::evaluate_function: MulBackward0", "MulBackward0, seq = 2")
            pushes("aten::relu, seq = 1")
            pushes("autograd::engine::evaluate_function: ReluBackward0", "ReluBackward0, seq = 1")
            pushes("autograd::engine::evaluate_function: MmBackward0", "MmBackward0, seq = 0")
        for n, name in enumerate(("aten::mm", "aten::sum", "aten::mul")):
            pushes(f"{name}, seq = {n}")
        pushes("aten::empty")
        engine = threading.Thread(target=backward)
        engine.start()
        engine.join()
    if mode == "fork":
        push(b"parent")
        registered = call(5, 10, handle, handle, text)(None, b"known before the fork")
        if os.fork() == 0:
            event = struct.pack("<HHIiIiiQixxxxQ", 3, 48, 0, 0, 0, 0, 0, 0, 3, registered)
            call(5, 1, None, handle, ctypes.c_char_p)(None, event)
            os._exit(0)
        os.wait()
        pop()


main()
