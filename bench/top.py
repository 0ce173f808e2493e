# SPDX-License-Identifier: Apache-2.0
"""What `holdup top` costs on a terminal of 200x60 at 1 s: with many processes of this node, and with the 64 GPUs of another; beside top and htop where they are.

    python3 bench/top.py build/holdup [--seconds 20] [--processes 1000]
"""
from __future__ import annotations

import argparse
import contextlib
import fcntl
import http.server
import os
import pathlib
import pty
import shutil
import struct
import subprocess
import sys
import termios
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from monitor import cpu_s, name_of, tree  # noqa: E402


def gpus(n: int) -> bytes:
    """A monitor's text of n GPUs with a job each, some ten series to a GPU."""
    out = []
    for i in range(n):
        one = f'gpu="{i}",uuid="GPU-{i:08}"'
        out += [f'holdup_gpu_info{{{one},model="NVIDIA H100 80GB HBM3"}} 1', f"holdup_gpu_up{{{one}}} 1", f"holdup_gpu_utilization_ratio{{{one}}} 0.93",
                f"holdup_gpu_sm_active_ratio{{{one}}} 0.41", f"holdup_gpu_memory_used_bytes{{{one}}} 7e10", f"holdup_gpu_memory_total_bytes{{{one}}} 8e10",
                f"holdup_gpu_power_watts{{{one}}} 612", f"holdup_gpu_temperature_celsius{{{one}}} 71", f"holdup_gpu_sm_clock_hertz{{{one}}} 1.98e9",
                f'holdup_job_info{{{one},scheduler="slurm",job_id="{48000 + i}",user="ada"}} 1']
        out += [f'holdup_gpu_clock_event_reason{{{one},reason="r{k}"}} 0' for k in range(11)]
        out += [f"holdup_gpu_something_else_{k}{{{one}}} {k}" for k in range(60)]
    return ("\n".join(out) + "\n").encode()


class Terminal:
    """A program on a terminal that somebody reads."""

    def __init__(self, command: list[str]) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 60, 200, 0, 0))
            os.execvp(command[0], command)
        self.bytes = 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        with contextlib.suppress(OSError):
            while got := os.read(self.fd, 65536):
                self.bytes += len(got)

    def close(self) -> None:
        os.kill(self.pid, 15)
        os.waitpid(self.pid, 0)


def measure(what: str, command: list[str], seconds: float) -> None:
    terminal = Terminal(command)
    time.sleep(5)       # its beginning: names of processes and users are asked once
    before = {pid: cpu_s(pid) for pid in tree(terminal.pid)}
    written, start = terminal.bytes, time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - start
    own = cpu_s(terminal.pid) - before[terminal.pid]
    others = {name_of(pid): cpu_s(pid) - used for pid, used in before.items() if pid != terminal.pid}
    words = "".join(f", {name} {100 * used / took:.2f} %" for name, used in others.items())
    print(f"  {what}: {100 * own / took:.2f} % of a core{words}; {(terminal.bytes - written) / took / 1000:.1f} kB/s to the terminal")
    terminal.close()


def serve(text: bytes) -> http.server.ThreadingHTTPServer:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("holdup")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--processes", type=int, default=1000)
    o = parser.parse_args()
    holdup = str(pathlib.Path(o.holdup).resolve())
    sleepers = [subprocess.Popen(["sleep", "100000"]) for _ in range(o.processes)]
    n = sum(name.isdigit() for name in os.listdir("/proc"))
    try:
        print(f"{n} processes, every 1 s:")
        measure("holdup top, overview", [holdup, "top"], o.seconds)
        measure("holdup top, processes", [holdup, "top", "--page", "processes"], o.seconds)
        measure("holdup top --demo, GPUs", [holdup, "top", "--demo", "--page", "gpus"], o.seconds)
        for name, words in (("top", ["-d", "1"]), ("htop", ["-d", "10"])):
            if shutil.which(name):
                measure(name, [name, *words], o.seconds)
            else:
                print(f"  {name} is not installed")
    finally:
        for process in sleepers:
            process.kill()
        for process in sleepers:
            process.wait()
    text = gpus(64)
    server = serve(text)
    print(f"64 GPUs of another node, {len(text) / 1000:.0f} kB a look:")
    measure("holdup top HOST:PORT", [holdup, "top", f"127.0.0.1:{server.server_port}"], o.seconds)


if __name__ == "__main__":
    main()
