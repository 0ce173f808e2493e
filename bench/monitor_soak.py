# SPDX-License-Identifier: Apache-2.0
"""`holdup monitor` for some minutes at a hundred times its usual rate, over GPUs that fail all the time: does it grow, and is anything stale?

    python3 bench/monitor_soak.py --holdup build/holdup --minutes 5

The stand-in of libnvidia-ml (tests/monitor) answers the time as energy, so that a scrape tells how old each number is.  A GPU is lost and comes
back, calls fail, the driver goes away, a GPU is divided and made whole, XIDs come; in the last fifth calls hang too, and samplers are killed.
Memory is the resident memory of each process, from the end of the first minute on.  Ends with 1 if a process grew by more than 1 MB, or a number
was older than a scrape may show it."""
from __future__ import annotations

import argparse
import collections
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from tests.monitor import exposition, run, scene, standin  # noqa: E402  pylint: disable=wrong-import-position

PERIOD_S = 0.01
MOST_GROWTH_KB = 1024
# two periods, or what the keeper grants besides a period, and what a look of this machine may take
MOST_AGE_S = 1.0
GPUS = 8
FLAPS = ("", "fail * 15 gpu=1 every=900 for=300", "fail * 16 gpu=2 every=700 for=350", "fail nvmlDeviceGetPowerUsage 21 every=50 for=20",
         "fail * 9 every=2000 for=200", "fail nvmlDeviceGetFieldValues 999 gpu=3 every=100 for=50", "fail nvmlDeviceGetUUID 15 gpu=4 every=500 for=100")


def resident_kb(pid: int) -> int:
    try:
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))[1])
    except (OSError, TypeError):
        return 0


def cpu_s(found: list[exposition.Series]) -> float:
    return sum(s.value for s in found if s.name == "holdup_monitor_cpu_seconds_total")


class Soak:
    def __init__(self, holdup: str, folder: pathlib.Path, seed: int) -> None:
        self.folder, self.random = folder, random.Random(seed)
        self.header = standin.header("13.5")
        self.scenario = scene.scenario(folder / "scenario", "13.5", self.header, GPUS)
        for gpu in range(GPUS):
            self.scenario.set(gpu, "nvmlDeviceGetTotalEnergyConsumption", "ms")
            self.scenario.set(gpu, "nvmlDeviceGetPciInfo.busId", f"00000000:{0x10 + gpu:02X}:00.0")
        self.scenario.write()
        library = standin.build("13.5", folder / "libnvidia-ml.so.1")
        with (folder / "says").open("wb") as says:
            # pylint: disable-next=consider-using-with
            self.process = subprocess.Popen([holdup, "monitor", "--listen", "127.0.0.1:0", "--period", str(PERIOD_S), "--nvml", library], stderr=says,
                                            stdout=subprocess.DEVNULL,
                                            env={"HOLDUP_TEST_NVML": str(folder / "scenario"), "HOLDUP_TEST_NVML_LOG": str(folder / "log"), "PATH": "/usr/bin:/bin"})
        while not (found := re.search(rb"http://[^/]*:(\d+)/", (folder / "says").read_bytes())):
            if self.process.poll() is not None:
                raise SystemExit((folder / "says").read_text(encoding="utf-8"))
            time.sleep(0.05)
        self.port = int(found[1])
        self.ages: list[float] = []
        self.scrapes = self.series = self.xids = self.kills = self.hangs = 0
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.peak: dict[str, int] = {}

    def disturb(self, is_end: bool) -> None:
        """Another way to fail; the scenario is read again at the next call."""
        s = self.scenario
        s.rules = [rule for rule in self.random.sample(FLAPS, 2) if rule]
        s.set(5, "nvmlDeviceGetMigMode.currentMode", self.random.randrange(2))
        s.set(6, "compute.many", self.random.randrange(200))
        s.set(6, "compute.first", 3_000_000)
        s.events = s.events[-20:]
        self.xids += 3
        s.events += [f"event {self.xids + n} {self.random.randrange(GPUS)} 8 {self.random.choice((31, 43, 79, 94))}" for n in range(3)]
        if is_end and self.random.random() < 0.3:
            self.hangs += 1
            s.rules.append("hang nvmlDeviceGetPowerUsage")
        s.write()
        sampler = run.children(self.process.pid).get("holdup-gpu")
        if is_end and sampler and self.random.random() < 0.3:
            self.kills += 1
            subprocess.run(["kill", "-KILL", str(sampler)], check=False)

    def look(self) -> list[exposition.Series]:
        before = time.time()
        found = exposition.scrape(self.port)
        self.scrapes += 1
        self.series = len(found)
        self.ages += [before - s.value for s in found if s.name == "holdup_gpu_energy_joules_total"]
        return found

    def weigh(self, is_settled: bool) -> None:
        for name, pid in {"holdup": self.process.pid, **run.children(self.process.pid)}.items():
            kb = resident_kb(pid)
            self.peak[name] = max(self.peak.get(name, 0), kb)
            self.last[name] = kb
            if is_settled:
                self.first.setdefault(name, kb)

    def run(self, seconds: float) -> list[exposition.Series]:
        start = time.monotonic()
        next_s = 0.0
        found: list[exposition.Series] = []
        while (now := time.monotonic() - start) < seconds:
            if now >= next_s:
                self.disturb(now > 0.8 * seconds)
                next_s = now + 2.5
            found = self.look()
            self.weigh(now > min(60, seconds / 3))
            time.sleep(0.05)
        return found


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--holdup", default="build/holdup")
    arguments.add_argument("--minutes", type=float, default=5)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdup-soak-") as name:
        soak = Soak(options.holdup, pathlib.Path(name), options.seed)
        try:
            found = soak.run(60 * options.minutes)
        finally:
            run.stop(soak.process)
        wrong = collections.Counter(re.sub(r"\d+ us", "... us", line) for line in (pathlib.Path(name) / "log").read_text(encoding="utf-8").splitlines()
                                    if line.startswith("wrong"))
    restarts = exposition.value(found, "holdup_monitor_restarts_total", process="gpu")
    grown = {process: soak.last[process] - kb for process, kb in soak.first.items()}
    stale = sum(age > MOST_AGE_S for age in soak.ages)
    ages = sorted(soak.ages)
    print(f"{soak.scrapes} scrapes of up to {soak.series} series in {options.minutes:g} min at a period of {PERIOD_S} s, {GPUS} GPUs, one failing in some way")
    print(f"age of {len(ages)} numbers: median {ages[len(ages) // 2] * 1000:.0f} ms, 99 % {ages[int(len(ages) * 0.99)] * 1000:.0f} ms, "
          f"greatest {ages[-1] * 1000:.0f} ms; {stale} older than {MOST_AGE_S * 1000:.0f} ms")
    for process in sorted(soak.peak):
        print(f"{process:12} {soak.first.get(process, 0):6} kB after a minute, {soak.last[process]:6} at the end, {soak.peak[process]:6} at most")
    print(f"{soak.hangs} hangs, {soak.kills} kills, {restarts:.0f} restarts of the gpu sampler; {cpu_s(found):.1f} s of CPU in all")
    for line, times in sorted(wrong.items()):
        print(f"{times} times {line}")
    return 1 if stale or any(kb > MOST_GROWTH_KB for kb in grown.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
