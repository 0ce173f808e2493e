# SPDX-License-Identifier: Apache-2.0
"""GPUs and the host while a part of a program runs, sampled by a thread of its own."""
from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Sequence

from . import host
from ._series import Series
from .summary import Summary

if TYPE_CHECKING:
    from . import nvml

_MEAN_AND_MOST = ("gpu_util_pct", "memory_util_pct", "memory_used_gb", "power_w", "temperature_c", "sm_clock_mhz")


class GPUMonitor:
    """Samples all GPUs (NVML) and the host (/proc) every `interval_sec`.

        with holdup.GPUMonitor() as monitor:
            train()
        print(monitor.get_summary())

    interval_sec   seconds between samples, 0.05 or more.  NVML's own periods are 0.17 to 1 s, so shorter ones tell nothing
                   new about utilisation
    devices        indices as nvidia-smi counts them; None: all

    Per GPU: mean and largest gpu_util_pct (share of time in which some kernel ran; not how much of the GPU it used),
    memory_used_gb, power_w, temperature_c, sm_clock_mhz; energy_j spent meanwhile; throttled: share of samples by reason, in
    percent.  Of the host: process_cpu_pct (100 is one core), host_cpu_pct (100 is all cores), memory in GB (10^9).
    Where there is no NVML, `why_no_gpu` says why and the host's figures stay.  NVML is only called by the thread that samples,
    so a driver that hangs does not hang the program.
    """

    def __init__(self, interval_sec: float = 0.5, devices: Sequence[int] | None = None) -> None:
        if not interval_sec >= 0.05:
            raise ValueError("GPUMonitor: interval_sec is 0.05 or more")
        self.interval_sec = interval_sec
        self.devices = None if devices is None else set(devices)
        self.why_no_gpu: str | None = None
        self._lock = threading.Lock()           # of the figures
        self._control = threading.Lock()        # of the thread
        self._stop = threading.Event()
        self._has_sampled = threading.Event()
        self._thread: threading.Thread | None = None
        self._file: Any = None
        self._clear()

    def _clear(self) -> None:
        self._gpus: dict[int, dict[str, Series]] = {}
        self._throttled: dict[int, dict[str, int]] = {}
        self._energy: dict[int, tuple[float, float]] = {}
        self._names: dict[int, dict[str, str]] = {}
        self._totals: dict[int, float] = {}
        self._host: dict[str, Series] = {}
        self._newest: list[dict[str, Any]] = []
        self._newest_host: dict[str, float] = {}
        self._samples = 0
        self._began = self._ended = time.monotonic()

    def start(self) -> "GPUMonitor":
        """Begins anew; nothing happens when it runs already."""
        with self._control:
            if self._thread is None or not self._thread.is_alive():
                self._clear()
                self._stop.clear()
                self._has_sampled.clear()
                self._thread = threading.Thread(target=self._run, name="holdup-gpu-monitor", daemon=True)
                self._thread.start()
        return self

    def stop(self) -> None:
        """Takes a last sample and ends the thread; waits for a driver that hangs for five seconds at most."""
        with self._control:
            self._stop.set()
            if self._thread is not None:
                self._thread.join(timeout=5)
                self._thread = None

    def __enter__(self) -> "GPUMonitor":
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def _run(self) -> None:
        driver = self._driver()
        cpu = host.Cpu()
        is_last = False
        while True:
            self._sample(driver, cpu)
            self._has_sampled.set()
            if is_last:
                break
            is_last = self._stop.wait(self.interval_sec)
        if driver is not None:
            driver.close()

    def _driver(self) -> nvml.Nvml | None:
        try:
            from . import nvml                      # loads ctypes, which not every Python has
        except ImportError as problem:
            self.why_no_gpu = f"this Python cannot call NVML: {problem}"
            return None
        try:
            driver = nvml.Nvml()
            names = driver.names()
        except nvml.Unavailable as problem:
            self.why_no_gpu = str(problem)
            return None
        self.why_no_gpu = None if driver.gpus else "NVML finds no GPU"
        with self._lock:
            self._names = names
        return driver

    def _sample(self, driver: nvml.Nvml | None, cpu: host.Cpu) -> None:
        gpus = driver.samples() if driver is not None else []
        gpus = [g for g in gpus if self.devices is None or g["gpu_id"] in self.devices]
        figures = host.sample(cpu)
        with self._lock:
            self._samples += 1
            self._ended = time.monotonic()
            self._newest, self._newest_host = gpus, figures
            for gpu in gpus:
                self._count(gpu)
            for name, value in figures.items():
                self._host.setdefault(name, Series()).add(value)
            if self._file is not None:
                self._write(gpus, figures)

    def _count(self, gpu: dict[str, Any]) -> None:
        index = gpu["gpu_id"]
        series = self._gpus.setdefault(index, {})
        for name in _MEAN_AND_MOST:
            if name in gpu:
                series.setdefault(name, Series()).add(gpu[name])
        if "memory_total_gb" in gpu:
            self._totals[index] = gpu["memory_total_gb"]
        if "energy_j" in gpu:
            first = self._energy.get(index, (gpu["energy_j"], 0.0))[0]
            self._energy[index] = (first, gpu["energy_j"])
        for reason in gpu.get("throttled", ()):
            counts = self._throttled.setdefault(index, {})
            counts[reason] = counts.get(reason, 0) + 1

    def _write(self, gpus: list[dict[str, Any]], figures: dict[str, float]) -> None:
        import json

        now = time.time()
        try:
            for row in gpus or [figures]:
                self._file.write(json.dumps({**row, "timestamp": now}) + "\n")
            self._file.flush()
        except (OSError, ValueError) as problem:
            self.why_no_log = str(problem)
            self._file = None

    why_no_log: str | None = None       # why a log ended before its time

    def get_metrics(self) -> list[dict[str, Any]]:
        """The newest sample of each GPU; starts the monitor if it does not run, and then waits for the first sample."""
        self.start()
        self._has_sampled.wait(timeout=5)
        with self._lock:
            return [dict(gpu) for gpu in self._newest]

    def start_logging(self, interval_sec: float | None = None, output_file: str = "gpu_metrics.jsonl") -> None:
        """Every sample becomes a line of JSON for each GPU (of the host, where there is none); starts the monitor."""
        if interval_sec is not None:
            self.interval_sec = max(interval_sec, 0.05)
        file = open(output_file, "w", encoding="utf-8")         # pylint: disable=consider-using-with
        with self._lock:
            self._file = file
        self.start()

    def stop_logging(self) -> None:
        """Ends the log, and the monitor."""
        self.stop()
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            file.close()

    def get_summary(self) -> Summary:
        """Of all samples so far; see the class for names and units."""
        with self._lock:
            found = Summary("GPUs and host", samples=self._samples, seconds=max(self._ended - self._began, 0.0))
            if not self._gpus:
                found["statement"] = f"no GPU figures: {self.why_no_gpu or 'nothing was sampled yet'}"
            rows = {}
            for index, series in sorted(self._gpus.items()):
                row: dict[str, Any] = dict(self._names.get(index, {}))
                for name, values in series.items():
                    row[f"avg_{name}"], row[f"max_{name}"] = values.mean, values.most
                if index in self._totals:
                    row["memory_total_gb"] = self._totals[index]
                if index in self._energy and self._energy[index][1]:
                    row["energy_j"] = self._energy[index][1] - self._energy[index][0]
                if index in self._throttled:
                    row["throttled_pct"] = {k: 100 * v / self._samples for k, v in sorted(self._throttled[index].items())}
                rows[index] = row
            if rows:
                found["gpus"] = rows
            found["host"] = {f"{kind}_{name}": value for name, values in self._host.items()
                             for kind, value in (("avg", values.mean), ("max", values.most)) if name != "host_memory_total_gb" or kind == "max"}
            return found
