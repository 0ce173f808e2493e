# SPDX-License-Identifier: Apache-2.0
"""What `holdup monitor` costs: latency of scrapes, memory, CPU; beside prometheus-node-exporter in the same minutes, as ratios; then with a thousand idle
guests; then sampling a hundred times as often; and eight GPUs of a stand-in, once a second.

    python3 bench/monitor.py build/holdup [--scrapes 1000000] [--idle 60] [--soak 120] [--only beside,crowd,soak,gpus,many]
"""
from __future__ import annotations

import argparse
import contextlib
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from tests.monitor import scene, standin  # noqa: E402  pylint: disable=wrong-import-position

GPUS = 8


def tree(pid: int) -> list[int]:
    """A process and those that it started."""
    found = [pid]
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):
            for child in (task / "children").read_text().split():
                found += tree(int(child))
    return found


def name_of(pid: int) -> str:
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


def cpu_s(pid: int) -> float:
    """By the scheduler's own count: ticks of 10 ms are more than an idle exporter uses in a minute."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def memory_mb(pid: int) -> tuple[float, float, float]:
    """Resident; of that what is the process' own; and that with its part of what it shares."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = {key: int(re.search(rf"^{key}:\s+(\d+)", text, re.M)[1]) / 1024 for key in ("Rss", "Pss", "Private_Dirty", "Private_Clean")}
    return found["Rss"], found["Private_Dirty"] + found["Private_Clean"], found["Pss"]


def show(what: str, pid: int) -> None:
    share = 0.0
    for each in tree(pid):
        rss, own, part = memory_mb(each)
        share += part
        print(f"  {what}, {name_of(each)}: {rss:.1f} MB resident, {own:.1f} MB of its own")
    print(f"  {what}, all of its processes, with what they share counted once: {share:.1f} MB")


class Exporter:
    def __init__(self, name: str, command: list[str], port: int, environment: dict[str, str] | None = None) -> None:
        self.name, self.port = name, port
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        for _ in range(500):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            time.sleep(0.02)
        raise SystemExit(f"{name} does not listen on port {port}")

    def connect(self) -> socket.socket:
        s = socket.create_connection(("127.0.0.1", self.port), 30)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def stop(self) -> float:
        began = time.monotonic()
        self.process.terminate()
        self.process.wait()
        return time.monotonic() - began


def scrape(s: socket.socket) -> int:
    """One request over a connection that stays; bytes of its body."""
    s.sendall(b"GET /metrics HTTP/1.1\r\nHost: node\r\n\r\n")
    data = s.recv(1 << 20)
    while b"\r\n\r\n" not in data:
        data += s.recv(1 << 20)
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    if not length:  # in chunks, which end with an empty one
        while not body.endswith(b"0\r\n\r\n"):
            body += s.recv(1 << 20)
        return len(body)
    while len(body) < int(length[1]):
        body += s.recv(1 << 20)
    return len(body)


def measure(exporter: Exporter, scrapes: int) -> list[float]:
    """Milliseconds of each scrape, sorted."""
    with exporter.connect() as s:
        times = []
        for _ in range(scrapes):
            began = time.perf_counter()
            scrape(s)
            times.append((time.perf_counter() - began) * 1e3)
    return sorted(times)


def latency(name: str, times: list[float]) -> tuple[float, float]:
    p50, p99 = statistics.median(times), times[min(len(times) - 1, int(len(times) * 0.99))]
    print(f"  {name}: p50 {p50:.3f} ms, p99 {p99:.3f} ms of {len(times)} scrapes")
    return p50, p99


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def monitor(exe: str, *more: str) -> Exporter:
    port = free_port()
    return Exporter("holdup monitor", [exe, "monitor", "--listen", f"127.0.0.1:{port}", *more], port)


def beside(exe: str, rounds: int, seconds: float) -> None:
    """Both exporters, in turns."""
    other_exe, port = shutil.which("prometheus-node-exporter"), free_port()
    ours = monitor(exe)
    other = Exporter("node_exporter", [other_exe, f"--web.listen-address=127.0.0.1:{port}"], port) if other_exe else None
    both = [e for e in (ours, other) if e]
    times: dict[str, list[float]] = {e.name: [] for e in both}
    print("a scrape")
    for _ in range(rounds):
        for e in both:
            times[e.name] += measure(e, 200)
    cost = {e.name: latency(e.name, sorted(times[e.name])) for e in both}
    print(f"idle, {seconds:.0f} s, with a scrape each 15 s")
    before = {e.name: {p: cpu_s(p) for p in tree(e.process.pid)} for e in both}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for e in both:
            with e.connect() as s:
                scrape(s)
        time.sleep(min(15.0, max(0.0, end - time.monotonic())))
    shares = {}
    for e in both:
        each = {name_of(p): (cpu_s(p) - at) / seconds * 100 for p, at in before[e.name].items()}
        shares[e.name] = sum(each.values())
        print(f"  {e.name}: {shares[e.name]:.3f} % of a core ({', '.join(f'{k} {v:.3f}' for k, v in each.items())})")
        show(e.name, e.process.pid)
    if other:
        print(f"ratios, ours to node_exporter's: p50 {cost[ours.name][0] / cost[other.name][0]:.3f}, p99 {cost[ours.name][1] / cost[other.name][1]:.3f}, "
              f"memory {sum(memory_mb(p)[2] for p in tree(ours.process.pid)) / memory_mb(other.process.pid)[2]:.2f}, "
              f"CPU {shares[ours.name] / shares[other.name] if shares[other.name] else float('nan'):.2f}")
        other.stop()
    print(f"SIGTERM to end: {ours.stop() * 1e3:.0f} ms")


def many(exe: str, scrapes: int) -> None:
    print(f"{scrapes} scrapes over one connection")
    e = monitor(exe)
    before = cpu_s(e.process.pid)
    measure(e, 1000)
    show("after 1000", e.process.pid)
    times = measure(e, scrapes)
    latency(e.name, times)
    show(f"after {scrapes}", e.process.pid)
    print(f"  {(cpu_s(e.process.pid) - before) / scrapes * 1e6:.1f} us of CPU a scrape")
    e.stop()


def crowd(exe: str) -> None:
    print("1000 idle guests, a fifth of whom said half of a request")
    e = monitor(exe)
    guests, times = [], []
    for i in range(1000):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(("127.0.0.1", e.port))
        guests.append(s)
        if i % 5 == 0:
            with contextlib.suppress(OSError):
                s.send(b"GET /metrics HTT")
        if i % 20 == 19:
            began = time.perf_counter()
            with e.connect() as mine:
                scrape(mine)
            times.append((time.perf_counter() - began) * 1e3)
    latency("meanwhile, each on a connection of its own", sorted(times))
    print(f"  the slowest: {max(times):.1f} ms")
    show("with them", e.process.pid)
    for s in guests:
        s.close()
    e.stop()


def soak(exe: str, seconds: float) -> None:
    print(f"{seconds:.0f} s with --period 0.01, a scrape each 0.1 s")
    e = monitor(exe, "--period", "0.01")
    time.sleep(min(10.0, seconds / 4))
    first = {p: memory_mb(p)[0] for p in tree(e.process.pid)}
    began = {p: cpu_s(p) for p in first}
    end = time.monotonic() + seconds
    with e.connect() as s:
        while time.monotonic() < end:
            scrape(s)
            time.sleep(0.1)
    for p, mb in first.items():
        print(f"  {name_of(p)}: {mb:.2f} MB, then {memory_mb(p)[0]:.2f} MB; {(cpu_s(p) - began[p]) / seconds * 100:.2f} % of a core")
    e.stop()


def gpus(exe: str, seconds: float) -> None:
    """The stand-in's own work counts as the monitor's: a driver's calls cost time, too."""
    print(f"{GPUS} GPUs of a stand-in of libnvidia-ml once a second, {seconds:.0f} s, a scrape each 15 s")
    with tempfile.TemporaryDirectory(prefix="holdup-bench-") as name:
        folder = pathlib.Path(name)
        scene.scenario(folder / "scenario", "13.5", standin.header("13.5"), GPUS)
        library, port = standin.build("13.5", folder / "libnvidia-ml.so.1"), free_port()
        e = Exporter("holdup monitor", [exe, "monitor", "--listen", f"127.0.0.1:{port}", "--nvml", str(library)], port,
                     {"HOLDUP_TEST_NVML": str(folder / "scenario"), "PATH": "/usr/bin:/bin"})
        time.sleep(5)
        before = {p: cpu_s(p) for p in tree(e.process.pid)}
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with e.connect() as s:
                size = scrape(s)
            time.sleep(min(15.0, max(0.0, end - time.monotonic())))
        print("  " + ", ".join(f"{name_of(p)} {(cpu_s(p) - at) / seconds * 100:.3f} %" for p, at in before.items()) + f" of a core; a page of {size} bytes")
        latency(e.name, measure(e, 2000))
        show("with them", e.process.pid)
        e.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("holdup")
    parser.add_argument("--scrapes", type=int, default=1000000)
    parser.add_argument("--idle", type=float, default=60)
    parser.add_argument("--soak", type=float, default=120)
    parser.add_argument("--only", default="beside,crowd,soak,gpus,many")
    options = parser.parse_args()
    parts = {"beside": lambda: beside(options.holdup, 10, options.idle), "crowd": lambda: crowd(options.holdup), "soak": lambda: soak(options.holdup, options.soak),
             "gpus": lambda: gpus(options.holdup, options.idle), "many": lambda: many(options.holdup, options.scrapes)}
    for part in options.only.split(","):
        parts[part]()
        sys.stdout.flush()


if __name__ == "__main__":
    main()
