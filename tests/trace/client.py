# SPDX-License-Identifier: Apache-2.0
"""Plays a PyTorch process that asks a daemon for requests: the datagrams and times of libkineto, and what it cannot be made to do.

client.py BEHAVIOUR...   (KINETO_IPC_SOCKET_DIR as for PyTorch; `eager` writes when it asked and was answered to the file ANSWERS); prints each request that it gets as a line of JSON."""
from __future__ import annotations

import json
import os
import pathlib
import socket
import struct
import sys
import time

PERIOD_S, EAGER_S = 0.2, 0.002
LARGE = 600_000     # events: a file that takes a while to be read
EVENT = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1000.5, "dur": 10.0}
STEP = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 1000.0, "dur": 20.0}


def header(kind: bytes, payload: bytes) -> bytes:
    return struct.pack("=Q32s", len(payload), kind) + payload


def question(bits: int, pids: list[int], job: int = 0) -> bytes:
    return header(b"req", struct.pack("=iiq", bits, len(pids), job) + struct.pack(f"={len(pids)}i", *pids))


class Client:
    def __init__(self) -> None:
        folder = os.environ.get("KINETO_IPC_SOCKET_DIR")
        name = f"dynoconfigclient{os.getpid()}-{time.time_ns()}"
        self.daemon = f"{folder}/dynolog" if folder else "\0dynolog\0"
        self.own = f"{folder}/{name}" if folder else f"\0{name}\0"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.own)
        self.socket.settimeout(0.1)     # libkineto waits 90 ms

    def send(self, datagram: bytes) -> bool:
        try:
            self.socket.sendto(datagram, self.daemon)
        except OSError:
            return False
        return True

    def ask(self, bits: int) -> str:
        """The request, "" for none."""
        self.is_answered = False
        if not self.send(question(bits, [os.getpid(), os.getppid()], int(os.environ.get("SLURM_JOB_ID", "0")))):
            return ""
        try:
            answer, sender = self.socket.recvfrom(65536)
        except TimeoutError:
            return ""
        if not os.fsdecode(sender).startswith(os.environ.get("KINETO_IPC_SOCKET_DIR", "\0")):
            os.abort()      # as libkineto does: an exception that nobody catches
        self.is_answered = True
        length, kind = struct.unpack("=Q32s", answer[:40])
        assert kind.rstrip(b"\0") == b"req" and length == len(answer) - 40, answer
        return answer[40:].decode()

    def close(self) -> None:
        self.socket.close()
        if not self.own.startswith("\0"):
            os.unlink(self.own)


def write(config: dict[str, str], behaviour: set[str]) -> None:
    path = pathlib.Path(config["ACTIVITIES_LOG_FILE"].removesuffix(".json") + f"_{os.getpid()}.json")
    events = [] if "empty" in behaviour else [EVENT] if "nosteps" in behaviour else [STEP, EVENT]
    if "large" in behaviour:
        events += [{**EVENT, "ts": 1000.0 + 20 * i} for i in range(1, LARGE)]
    text = json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 0, "traceEvents": events})
    if "elsewhere" in behaviour:
        path = pathlib.Path(f"/tmp/libkineto_activities_{os.getpid()}.json")
    if "cut" in behaviour:
        text = text[: len(text) // 2]
    if "nofile" not in behaviour:
        path.write_text(text)


def main() -> None:
    behaviour = set(sys.argv[1:])
    client = Client()
    done_s = float("inf")
    config: dict[str, str] = {}
    answers = open(os.environ.get("ANSWERS", os.devnull), "w")
    print("ready", flush=True)
    if "garbage" in behaviour:
        while not client.send(b""):     # until a daemon is there
            time.sleep(0.01)
        for datagram in (b"x", b"\xff" * 39, b"\xff" * 4000, bytes(100_000), header(b"req", b""), header(b"ctxt", bytes(16)), header(b"\xff" * 32, bytes(20)),
                         header(b"req", struct.pack("=iiq", 2, 2**31 - 1, 0)), header(b"req", struct.pack("=iiq", 2, -1, 0)), struct.pack("=Q32s", 2**64 - 1, b"req") + bytes(20),
                         question(2, [1]), question(2, [os.getppid()]), question(2, list(range(1, 200))), header(b"text", b"a" * 100)):
            client.send(datagram)
    try:
        while True:
            busy = "busy" in behaviour or (config and done_s - 0.3 < time.time() < done_s)
            asked = time.monotonic()
            text = client.ask(0 if busy else 2)
            if "eager" in behaviour and client.is_answered:
                answers.write(f"{asked} {time.monotonic()}\n")
                answers.flush()
            if text:
                config = dict(line.split("=", 1) for line in text.splitlines())
                print(json.dumps(config), flush=True)
                start = int(config.get("PROFILE_START_TIME", "0")) / 1000 or time.time() + int(config["ACTIVITIES_WARMUP_PERIOD_SECS"])
                done_s = start + int(config["ACTIVITIES_DURATION_MSECS"]) / 1000
                if "dies" in behaviour:
                    return
            if time.time() > done_s:
                write(config, behaviour)
                done_s, config = float("inf"), {}
            time.sleep(EAGER_S if "eager" in behaviour else PERIOD_S)
    finally:
        client.close()


if __name__ == "__main__":
    main()
