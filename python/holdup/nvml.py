# SPDX-License-Identifier: Apache-2.0
"""NVIDIA GPUs through libnvidia-ml, by ctypes.  What a GPU or a driver does not offer is absent, never a number.

Names, struct layouts and units: NVIDIA's NVML API reference.  Not safe across fork(): whoever forks opens it again.
"""
from __future__ import annotations

import ctypes
import os
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
# where containers and old installations keep it, when the linker does not know
PLACES = ("", "/usr/lib/x86_64-linux-gnu/", "/usr/lib/aarch64-linux-gnu/", "/usr/lib64/", "/usr/local/nvidia/lib64/", "/usr/lib/wsl/lib/")
MOST_GPUS = 1024

_TEMPERATURE_GPU, _CLOCK_SM, _CLOCK_MEMORY = 0, 1, 2
_MEMORY_V2 = 40 | 2 << 24

# bits of nvmlDeviceGetCurrentClocksEventReasons that mean: slower than it could be
THROTTLES = ((0x4, "power cap"), (0x8, "hardware slowdown"), (0x20, "software thermal"), (0x40, "hardware thermal"),
             (0x80, "power brake"))


class Unavailable(RuntimeError):
    """There is no NVML here; the text says why."""


class _Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class _MemoryV2(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("total", ctypes.c_ulonglong), ("reserved", ctypes.c_ulonglong),
                ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Nvml:
    """The library, opened.  Not for several threads at once."""

    def __init__(self) -> None:
        self._library = self._load()
        self.pid = os.getpid()
        rc = self._call("nvmlInit_v2")
        if rc:
            raise Unavailable(f"NVML does not start: {self._words(rc)}")
        count = ctypes.c_uint(0)
        rc = self._call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        if rc:
            raise Unavailable(f"NVML does not count GPUs: {self._words(rc)}")
        self.gpus: list[tuple[int, Any]] = []           # (index, handle); one that cannot be opened is left out
        for index in range(min(count.value, MOST_GPUS)):
            handle = ctypes.c_void_p()
            if self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle)) == 0:
                self.gpus.append((index, handle))

    @staticmethod
    def _load() -> ctypes.CDLL:
        for place in PLACES:
            try:
                return ctypes.CDLL(place + LIBRARY)
            except OSError:
                continue
        raise Unavailable(f"no {LIBRARY}: no NVIDIA driver here, or not in this container")

    def _call(self, name: str, *arguments: Any) -> int:
        function = getattr(self._library, name, None)
        return 13 if function is None else function(*arguments)         # NVML_ERROR_FUNCTION_NOT_FOUND

    def _words(self, code: int) -> str:
        function = getattr(self._library, "nvmlErrorString", None)
        if function is None:
            return f"error {code}"
        function.restype = ctypes.c_char_p
        return (function(code) or b"").decode(errors="replace") or f"error {code}"

    def _text(self, name: str, handle: Any) -> str | None:
        buffer = ctypes.create_string_buffer(96)
        return buffer.value.decode(errors="replace") if self._call(name, handle, buffer, ctypes.c_uint(96)) == 0 else None

    def _unsigned(self, name: str, handle: Any, *before: int, kind: Any = ctypes.c_uint) -> int | None:
        value = kind(0)
        rc = self._call(name, handle, *(ctypes.c_uint(b) for b in before), ctypes.byref(value))
        return value.value if rc == 0 else None

    def names(self) -> dict[int, dict[str, str]]:
        """Index to name and uuid."""
        found = {}
        for index, handle in self.gpus:
            texts = {"name": self._text("nvmlDeviceGetName", handle), "uuid": self._text("nvmlDeviceGetUUID", handle)}
            found[index] = {k: v for k, v in texts.items() if v is not None}
        return found

    def _memory(self, handle: Any) -> tuple[int, int] | None:
        """(used, total) bytes; used as nvidia-smi shows it, without what the driver keeps for itself."""
        v2 = _MemoryV2(version=_MEMORY_V2)
        if self._call("nvmlDeviceGetMemoryInfo_v2", handle, ctypes.byref(v2)) == 0:
            return v2.used, v2.total
        v1 = _Memory()
        return (v1.used, v1.total) if self._call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(v1)) == 0 else None

    def sample(self, index: int, handle: Any) -> dict[str, Any]:
        """One GPU now: gpu_util_pct and memory_util_pct (share of the driver's last sampling period, 1/6 to 1 s, in which a
        kernel ran or memory was read or written), memory_used_gb, memory_total_gb (10^9), power_w, temperature_c, sm_clock_mhz,
        energy_j since the driver was loaded, throttle reasons."""
        found: dict[str, Any] = {"gpu_id": index}
        use = _Utilization()
        if self._call("nvmlDeviceGetUtilizationRates", handle, ctypes.byref(use)) == 0 and use.gpu <= 100 and use.memory <= 100:
            found["gpu_util_pct"], found["memory_util_pct"] = use.gpu, use.memory
        memory = self._memory(handle)
        if memory is not None:
            found["memory_used_gb"], found["memory_total_gb"] = memory[0] / 1e9, memory[1] / 1e9
        power = self._unsigned("nvmlDeviceGetPowerUsage", handle)
        if power is not None:
            found["power_w"] = power / 1000
        temperature = self._unsigned("nvmlDeviceGetTemperature", handle, _TEMPERATURE_GPU)
        if temperature is not None:
            found["temperature_c"] = temperature
        clock = self._unsigned("nvmlDeviceGetClockInfo", handle, _CLOCK_SM)
        if clock is not None:
            found["sm_clock_mhz"] = clock
        energy = self._unsigned("nvmlDeviceGetTotalEnergyConsumption", handle, kind=ctypes.c_ulonglong)
        if energy is not None:
            found["energy_j"] = energy / 1000
        reasons = self._unsigned("nvmlDeviceGetCurrentClocksEventReasons", handle, kind=ctypes.c_ulonglong)
        if reasons is None:
            reasons = self._unsigned("nvmlDeviceGetCurrentClocksThrottleReasons", handle, kind=ctypes.c_ulonglong)
        if reasons is not None:
            found["throttled"] = [words for bit, words in THROTTLES if reasons & bit]
        return found

    def samples(self) -> list[dict[str, Any]]:
        return [self.sample(index, handle) for index, handle in self.gpus]

    def close(self) -> None:
        """Once; not in a child of a fork."""
        if self.pid == os.getpid():
            self._call("nvmlShutdown")
