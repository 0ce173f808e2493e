# SPDX-License-Identifier: Apache-2.0
"""The NCCL door: a driver that does what NCCL does with a profiler, for each version of the interface (tests/nccl/driver.c)."""
from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
from typing import Any

from tests.pf_events import Event, read
from tests.program import EXE, ROOT, SHARED, skip_loudly
from tests.recorder import LIBRARY, Recorded, environment, holdup, once, rows
from tests.rings import DOORS, make_session, read_session

load_tests = once
FACTS = SHARED / "oracle/gpu-abi/nccl_profiler_layouts.tsv"
VERSIONS = range(1, 7)
GROUP, COLL, P2P, OP, STEP, CTRL, KERNEL, NET, GROUP_API, COLL_API, P2P_API, LAUNCH, CE_COLL, CE_SYNC, CE_BATCH = (1 << i for i in range(15))
CALLS = GROUP_API | COLL_API | P2P_API | LAUNCH | COLL | P2P
DEFAULT = {1: COLL | P2P, 2: COLL | P2P, 3: COLL | P2P, 4: COLL | P2P, 5: CALLS, 6: CALLS | CE_COLL}
ALL = {1: 63, 2: 63, 3: 255, 4: 255, 5: 4095, 6: 32767}
SENTINEL = {1: GROUP, 2: GROUP, 3: GROUP, 4: GROUP, 5: GROUP_API, 6: GROUP_API}
COLLECTIVE = {"Collective name": "ncclAllReduce", "dtype": "Float", "In msg nelems": 1048576, "Out msg nelems": 1048576, "Process Group Name": "nccl 0xfeedface12345678",
              "Process Group Description": "world (0xfeedface12345678)", "comm_rank": 3, "Seq": 41, "count": 1048576, "datatype": "ncclFloat32", "root": 5, "channels": 24,
              "warps": 16, "algorithm": "RING", "protocol": "SIMPLE", "send_buffer": 0x7001000, "recv_buffer": 0x7002000, "seq": 41}
SEND = {"Collective name": "ncclSend", "dtype": "BFloat16", "In msg nelems": 2048, "count": 2048, "datatype": "ncclBfloat16", "peer": 4, "buffer": 0x7003000}
PROXY = {"channel": 17, "peer": 6, "steps": 23, "chunk_bytes": 65536, "is_send": 1}
COPIES = {"Collective name": "ncclAllGather", "dtype": "Char", "In msg nelems": 4096, "Out msg nelems": 32768, "Seq": 43, "seq": 43, "send_buffer": 0x7004000,
          "recv_buffer": 0x7005000, "count": 4096, "root": 0, "datatype": "ncclInt8", "sync_strategy": "unicast", "intra_batch_sync": 1, "batch_size": 37, "batches": 3,
          "ce_seq": 53, "cuda_stream": 0x5003, "recorded": "call"}
driver: pathlib.Path
tools: tempfile.TemporaryDirectory


def compile_driver(out: pathlib.Path, *flags: str) -> pathlib.Path:
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", *flags, "-o", out, ROOT / "tests/nccl/driver.c", "-lpthread", "-ldl"], check=True, capture_output=True)
    return out


def setUpModule() -> None:
    global driver, tools  # pylint: disable=global-statement
    tools = tempfile.TemporaryDirectory()
    if LIBRARY.exists():
        driver = compile_driver(pathlib.Path(tools.name) / "driver")


def tearDownModule() -> None:
    tools.cleanup()


class Case(Recorded):
    def record(self, *command: Any, options: tuple = (), env: dict[str, str] | None = None, doors: str = "nccl") -> tuple[subprocess.CompletedProcess, pathlib.Path | None]:
        """One process, whatever rank it says that it is."""
        done = holdup("run", "--no-report", "--trace", doors, *options, "-o", self.folder / "trace", "--", *command, env=env)
        made = sorted(self.folder.glob("trace*.pftrace"))
        return done, made[-1] if made else None

    def events(self, *command: Any, **more: Any) -> list[Event]:
        done, trace = self.record(*command, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        assert trace is not None
        return read(trace, rows=True)

    def has(self, event: Event, notes: dict[str, Any]) -> None:
        self.assertEqual({k: event.notes.get(k) for k in notes}, notes, event.name)


def named(events: list[Event], name: str) -> list[Event]:
    return [e for e in events if e.name == name]


class Walk(Case):
    """Every kind of event of every version, each field with a value of its own."""

    def test_the_driver_follows_the_public_layout(self) -> None:
        if not FACTS.exists():
            skip_loudly(f"{FACTS} is not present")
            self.skipTest("no facts")
        facts = {}
        for line in FACTS.read_text().splitlines()[1:]:
            api, struct, _size, field, offset, size = line.split("\t")
            if struct.startswith("ncclProfilerEventDescr"):
                facts[int(api[1:]), field] = int(offset), int(size)
        done = subprocess.run([driver, "layout"], check=True, capture_output=True, text=True)
        said = [(int(v), name, (int(at), int(size))) for v, name, at, size in (line.split("\t") for line in done.stdout.splitlines())]
        self.assertGreater(len(said), 150)
        for version, name, place in said:
            self.assertEqual(place, facts[version, name], f"v{version} {name}")
            if version == 6 and not name.startswith("ce"):
                self.assertEqual(place, facts[5, name], f"v5 {name}")
        told = {(v, n) for v, n, _ in said}
        members = {k for k in facts if k[0] != 5 and ("." in k[1] or k[1] in ("type", "parentObj", "rank"))}
        self.assertEqual(members - told, set(), "the driver fills every field there is")

    def test_all_events_of_all_versions(self) -> None:
        for version in VERSIONS:
            with self.subTest(version=version):
                for old in self.folder.glob("trace*"):
                    old.unlink()
                events = self.events(driver, "walk", version, options=("--nccl-events", "all"))
                self.walked(version, events)

    def walked(self, version: int, events: list[Event]) -> None:
        reduces = named(events, "ncclAllReduce")
        spans = [e for e in reduces if e.notes.get("recorded") == "span"]
        self.assertEqual(len(reduces), 1 if version < 5 else 2, "the operation, and from version 5 on its call")
        self.assertEqual(len(spans), 1, "its kernels or its proxies tell when it ran")
        late = version > 3
        missing = {"root", "count", "datatype"} if version > 4 else set()
        for event in reduces:
            self.has(event, {k: v for k, v in COLLECTIVE.items() if event not in spans or k not in missing})
            self.assertEqual(event.notes.get("Group size"), 8 if late else None)
        if version < 3:
            self.has(reduces[0], {"traffic_bytes": 4444444})
        if version == 1:
            self.has(reduces[0], {"op": 2, "collnet": 1, "nvls": 0})
        sends = named(events, "ncclSend")
        self.assertEqual(len(sends), 1)
        self.has(sends[0], {**SEND, "recorded": "call"})
        if late:
            self.has(sends[0], {"channels": 7, "Dst Rank": 4})
        self.proxies(version, events, spans[0])
        if version >= 3:
            self.kernels(version, events, spans[0])
        if version >= 5:
            self.calls(events)
        if version >= 6:
            self.copies(events)
        self.assertEqual(len(named(events, "nccl group")), {5: 2, 6: 2}.get(version, 1))

    def proxies(self, version: int, events: list[Event], coll: Event) -> None:
        (op,), (step,), (ctrl,) = (named(events, f"nccl {kind}") for kind in ("proxyop", "proxystep", "proxyctrl"))
        self.has(op, {**PROXY, "parent": coll.notes["event"]})
        self.assertGreater(op.notes["pid"], 0)
        self.has(step, {"step": 29, "parent": op.notes["event"]})
        (moved,) = named(events, "sent" if version <= 3 else "in progress")
        self.has(moved, {"event": op.notes["event"], "state": 2 if version <= 3 else 19, **({"transferred_bytes": 777001, "steps": 19} if version <= 3 else {})})
        (waits,) = named(events, "sends")
        self.has(waits, {"event": step.notes["event"], "state": 9, **({"transferred_bytes": 777002} if version > 3 else {})})
        (appended,) = named(events, "has appended")
        self.has(appended, {"event": ctrl.notes["event"], "state": 18, "appended_ops": 31})

    def kernels(self, version: int, events: list[Event], coll: Event) -> None:
        (kernel,), (net,) = (named(events, f"nccl {kind}") for kind in ("kernelch", "netplugin"))
        self.has(kernel, {"channel": 11, "parent": coll.notes["event"], **({"device_ticks": 987654321} if version > 3 else {})})
        self.assertEqual((coll.start, coll.end), (kernel.start, kernel.end), "a collective lasts as long as its kernels")
        (stopped,) = named(events, "kernel stop")
        self.has(stopped, {"event": kernel.notes["event"], "state": 22, **({"device_ticks": 987654399} if version > 3 else {})})
        self.has(net, {"net_id": 65537, "net_data": 0xabc123})
        (update,) = named(events, "network update")
        self.has(update, {"event": net.notes["event"], **({"net_data": 0xabc456} if version > 3 else {})})

    def calls(self, events: list[Event]) -> None:
        groups, launches = named(events, "ncclGroup"), named(events, "nccl kernel launch")
        self.assertEqual([g.notes["group_depth"] for g in groups], [1, 2])
        self.has(groups[0], {"graph_captured": 0, "Collective name": "ncclAllReduce", "Seq": 41, "In msg nelems": 1048576})
        self.has(groups[1], {"Collective name": "ncclSendRecv", "In msg nelems": 2048, "Out msg nelems": 2048})
        self.assertNotIn("recorded", groups[0].notes, "what is in it counts, not the group")
        self.has(launches[0], {"cuda_stream": 0x5001, "parent": groups[0].notes["event"]})
        call = next(e for e in named(events, "ncclAllReduce") if "recorded" not in e.notes)
        self.has(call, {"cuda_stream": 0x5001, "graph_captured": 0, "parent": groups[0].notes["event"]})
        self.assertTrue(groups[0].start <= call.start <= call.end <= launches[0].start <= launches[0].end <= groups[0].end)
        for word in ("group start ends", "group end starts"):
            self.has(named(events, word)[0], {"event": groups[0].notes["event"]})
        (receive,) = named(events, "ncclRecv")
        self.has(receive, {"Src Rank": 4, "peer": 4})

    def copies(self, events: list[Event]) -> None:
        (gather,), (sync,), (batch,) = named(events, "ncclAllGather"), named(events, "nccl cesync"), named(events, "nccl cebatch")
        self.has(gather, COPIES)
        self.has(sync, {"is_complete": 1, "ranks": 8, "parent": gather.notes["event"]})
        self.has(batch, {"ops": 59, "total_bytes": 6161616, "intra_batch_sync": 1})
        self.assertEqual([len(named(events, w)) for w in ("copies start", "copies done")], [1, 1])


class Masks(Case):
    def test_what_is_asked_for(self) -> None:
        """NCCL gets the mask, and what it tells beyond is not recorded."""
        for version in VERSIONS:
            for option, expected in (((), DEFAULT), (("--nccl-events", "all"), ALL), (("--nccl-events", "coll,kernelch"), None)):
                with self.subTest(version=version, option=option):
                    for old in self.folder.glob("trace*"):
                        old.unlink()
                    done, trace = self.record(driver, "walk", version, options=option)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    mask = expected[version] if expected else (COLL | KERNEL) & ALL[version]
                    self.assertEqual(done.stdout, f"version {version} mask {mask}\n")
                    kinds = {e.name for e in read(trace, rows=True)}
                    self.assertEqual({k for k in kinds if k.startswith("nccl proxy")}, {"nccl proxyop", "nccl proxystep", "nccl proxyctrl"} if mask & OP else set())
                    self.assertEqual("nccl kernelch" in kinds, bool(mask & KERNEL))
                    self.assertEqual("ncclSend" in kinds, bool(mask & P2P))
                    self.assertIn("ncclAllReduce", kinds)

    def test_it_follows_start_and_stop(self) -> None:
        name = f"nccl{os.getpid()}"
        process = subprocess.Popen([EXE, "run", "--no-report", "--trace", "nccl", "--start-later", "--session-new", name, "-o", str(self.folder / "trace"), "--", driver, "mask"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment())
        assert process.stdin and process.stdout

        def after_a_call() -> int:
            process.stdin.write("\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        try:
            said = [int(process.stdout.readline()), after_a_call()]
            for command in ("start", "stop", "start"):
                self.assertEqual(holdup(command, name).returncode, 0)
                said += [after_a_call(), after_a_call()]
            process.stdin.close()
            self.assertEqual(process.wait(60), 0)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        paused, recording = SENTINEL[6], DEFAULT[6]
        self.assertEqual(said, [paused, paused, recording, recording, paused, paused, recording, recording])
        (trace,) = self.folder.glob("trace*.pftrace")
        calls = [e for e in read(trace) if e.name == "ncclAllReduce"]
        self.assertEqual(len(calls), 4, "two calls of each time that it recorded")

    def test_it_follows_steps_at_once(self) -> None:
        done, trace = self.record(driver, "steps", options=("--steps", "1..2"), doors="nccl,user")
        self.assertEqual([int(x) for x in done.stdout.split()], [SENTINEL[6], DEFAULT[6], DEFAULT[6], SENTINEL[6]], done.stderr)
        self.assertEqual([e.notes["seq"] for e in named(read(trace), "ncclAllReduce")], [1, 2])

    def test_parts_need_what_they_are_parts_of(self) -> None:
        done, _ = self.record(driver, "walk", 6, options=("--nccl-events", "kernelch"))
        self.assertEqual(done.stdout, f"version 6 mask {KERNEL | COLL | P2P}\n")

    def test_a_wrong_word(self) -> None:
        done, _ = self.record("true", options=("--nccl-events", "kernels"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("kernelch", done.stderr)


class Safety(Case):
    def test_calls_after_the_end(self) -> None:
        """finalize, dlclose, and then all of it again: NCCL's threads may be late."""
        for version in VERSIONS:
            with self.subTest(version=version):
                for old in self.folder.glob("trace*"):
                    old.unlink()
                events = self.events(driver, "closed", version, options=("--nccl-events", "all"))
                self.assertEqual(len(named(events, "nccl proxyop")), 2)

    def test_loaded_by_nccl_alone_it_stays(self) -> None:
        """Without LD_PRELOAD the last dlclose would unload it."""
        session = make_session(self.folder / "session", "nccl")
        done = subprocess.run([driver, "closed", "6"], env=environment(NCCL_PROFILER_PLUGIN=str(LIBRARY), HOLDUP_SESSION=str(session)), capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        (process,) = read_session(session)
        self.assertEqual(process.doors & DOORS["nccl"], DOORS["nccl"])
        reduces = [r for r in process.of("nccl") if r.text == "AllReduce" and r.aux == 1]
        self.assertEqual(len(reduces), 2, "before and after")

    def test_handles_that_name_nothing(self) -> None:
        events = self.events(driver, "stale")
        self.assertEqual([e.name for e in events if e.category == "user_annotation"], ["ncclAllReduce"])

    def test_without_a_session_it_asks_for_nothing(self) -> None:
        done = subprocess.run([driver, "walk", "6"], env=environment(NCCL_PROFILER_PLUGIN=str(LIBRARY)), capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "version 6 mask 0\n")

    def test_a_fork_between_start_and_stop(self) -> None:
        events = self.events(driver, "forked")
        (ours,), (childs,) = named(events, "ncclAllReduce"), named(events, "ncclBroadcast")
        self.assertNotEqual(ours.pid, childs.pid)
        self.assertEqual(ours.notes["count"], 11)

    def test_events_that_nobody_stops(self) -> None:
        """Of an aborted communicator, say: what comes long after them finds room, and they are counted as lost."""
        done, trace = self.record(driver, "leak", 10000)
        self.assertEqual(done.returncode, 0, done.stderr)
        events = read(trace, rows=True)
        self.assertGreater(len(named(events, "ncclAllReduce")), 20000)
        self.assertEqual(len(named(events, "ncclBroadcast")), 1, "the last one")
        self.assertRegex(done.stderr, r"\d+ MORE WERE LOST")

    def test_a_million_events(self) -> None:
        """Each is in the trace, or counted as lost."""
        done, trace = self.record(driver, "many", 1000000)
        self.assertEqual(done.returncode, 0, done.stderr)
        (counted,) = rows(trace, "select count(*) as n from slice where name = 'ncclAllReduce'")
        lost = re.search(r"([\d,]+) MORE WERE LOST", done.stderr)
        self.assertEqual(int(counted["n"]) + (int(lost[1].replace(",", "")) if lost else 0), 1000000)

    def test_with_the_address_sanitizer(self) -> None:
        sanitized = compile_driver(self.folder / "sanitized", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
        for mode in (("walk", 6), ("walk", 1), ("closed", 4), ("stale",), ("forked",), ("many", 20000)):
            with self.subTest(mode=mode):
                for old in self.folder.glob("trace*"):
                    old.unlink()
                done, _ = self.record(sanitized, *mode, options=("--nccl-events", "all"))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn("Sanitizer", done.stderr)


class Choice(Case):
    """Whose profiler NCCL gets."""

    def said(self, *options: str, env: dict[str, str] | None = None, command: tuple = ()) -> tuple[str, str]:
        done = holdup("run", "--no-report", *options, "-o", self.folder / "trace", "--force", "--",
                      *command, "sh", "-c", 'echo "${NCCL_PROFILER_PLUGIN-unset}"', env=environment(**(env or {})))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip(), done.stderr

    def test_ours_where_nccl_is_traced(self) -> None:
        self.assertEqual(self.said()[0], str(LIBRARY), "NCCL is of the default set")
        self.assertEqual(self.said("--trace", "osrt,nvtx")[0], "unset", "only where it was asked for")
        self.assertEqual(self.said("--trace", "nccl")[0], str(LIBRARY))
        self.assertEqual(self.said("--trace", "nccl", command=("env", "-i", "PATH=/usr/bin:/bin"))[0], str(LIBRARY), "it is followed through a cleared environment")

    def test_what_the_user_has_set_stays(self) -> None:
        for value in ("none", "/opt/other.so"):
            plugin, notes = self.said("--trace", "nccl", env={"NCCL_PROFILER_PLUGIN": value})
            self.assertEqual(plugin, value)
            self.assertIn(f"NCCL_PROFILER_PLUGIN={value} stays as it is", notes)
        plugin, notes = self.said("--trace", "nccl", env={"NCCL_PROFILER_PLUGIN": str(LIBRARY)})
        self.assertEqual(plugin, str(LIBRARY))
        self.assertNotIn("stays as it is", notes)


class Ranks(Case):
    def rank(self, trace: pathlib.Path) -> tuple:
        about = json.loads(holdup("info", "--json", trace).stdout)["files"][0]
        return about.get("rank"), about.get("world_size")

    def test_a_communicator_tells_the_rank(self) -> None:
        done, trace = self.record(driver, "stale")
        self.assertEqual(trace.name, "trace-rank3.pftrace", done.stderr)

    def test_the_environment_is_believed_and_the_conflict_told(self) -> None:
        for rank in (0, 1):
            done, trace = self.record(driver, "stale", env=environment(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="8"))
            self.assertIn(f"rank{rank}", trace.name)
            if rank == 0:  # the others are quiet
                self.assertIn("NCCL calls it rank 3 of 8", done.stderr)
                self.assertIn("says rank 0 of 8", done.stderr)
            self.assertIn(f"NCCL calls this process rank 3, its environment rank {rank}", " ".join(holdup("report", trace).stdout.split()))

    def test_they_agree(self) -> None:
        done, trace = self.record(driver, "stale", env=environment(RANK="3", LOCAL_RANK="3", WORLD_SIZE="8"))
        self.assertNotIn("NCCL calls it", done.stderr + holdup("report", trace).stdout)

    def test_several_ranks_in_one_process(self) -> None:
        """One thread for each GPU: the process is none of its ranks."""
        _, trace = self.record(driver, "comms")
        self.assertEqual(trace.name, "trace.pftrace")

    def test_ranks_of_parts_of_a_job_are_none(self) -> None:
        """Two processes that are both rank 0, each of its own communicator."""
        _, trace = self.record(driver, "halves")
        self.assertEqual(trace.name, "trace.pftrace")
        self.assertEqual(len({e.pid for e in named(read(trace), "ncclAllReduce")}), 2)

    def job(self, events: str, n: int = 8, late: int = 5, version: int = 6) -> list[pathlib.Path]:
        folder = self.folder / f"{events}{version}"
        folder.mkdir()
        running = [subprocess.Popen([EXE, "run", "-q", "--no-report", "--trace", "nccl,osrt", "--nccl-events", events, "-o", folder / "job", "--",
                                     driver, "ranks", folder / "meet", str(rank), str(n), "12", str(late), str(version)],
                                    env=environment(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(n)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                   for rank in range(n)]
        for process in running:
            error = process.communicate(timeout=300)[1]
            self.assertEqual(process.returncode, 0, error)
        return sorted(folder.glob("*.pftrace"))

    def test_a_late_rank_by_what_kernels_say(self) -> None:
        """Eight processes that really wait for each other; rank 5 sleeps before each collective."""
        traces = self.job("default,kernelch")
        self.assertEqual(len(traces), 8)
        text = holdup("report", *traces).stdout
        self.assertIn("12 collectives matched", text)
        self.assertIn("for rank 5 (host: sleep", text)
        report = json.loads(holdup("report", "--json", *traces).stdout)
        self.assertIsNone(report["collectives"]["called"])
        calls = [(c["name"], c["bytes"], c["group_size"], c["calls"]) for c in report["ranks"][0]["communication"]["collectives"]]
        self.assertEqual(sorted(calls), [("ncclAllGather", 8 * 4 << 20, 8, 4), ("ncclAllReduce", 4 << 20, 8, 8)])
        for form in ("perfetto", "chrome"):
            copy = self.folder / f"copy.{'pftrace' if form == 'perfetto' else 'json'}"
            self.assertEqual(holdup("export", "--format", form, "-o", copy, traces[0]).returncode, 0)
            again = json.loads(holdup("report", "--json", copy).stdout)["ranks"][0]["communication"]["collectives"]
            self.assertEqual(sorted((c["name"], c["bytes"], c["group_size"], c["calls"]) for c in again), sorted(calls), form)

    def test_a_late_rank_where_only_calls_are_known(self) -> None:
        """What took how long is not claimed: who calls last is."""
        traces = self.job("default")
        text = " ".join(holdup("report", *traces).stdout.split())
        self.assertIn("12 collectives matched", text)
        self.assertRegex(text, r"rank 5 calls last in \d+ of 12 collectives")
        self.assertIn("record with --nccl-events default,kernelch", text)
        self.assertNotIn("A rank waits", text)
        report = json.loads(holdup("report", "--json", *traces).stdout)
        for row in report["ranks"][0]["communication"]["collectives"]:
            self.assertGreater(row["bytes"], 0)
            self.assertIsNone(row["alg_gbps"], "nothing is known of its time")
        self.assertEqual(report["ranks"][0]["communication"]["total_ns"], 0, "it is not known")
        called = report["collectives"]["called"]
        self.assertEqual({k: called[k] for k in ("matched", "compared", "last_rank")}, {"matched": 12, "compared": 12, "last_rank": 5})


class Numbers(Case):
    """NCCL counts each kind of collective of a communicator by itself."""

    def recorded(self, rank: int, first: int, earlier_us: int = 0, **more: Any) -> pathlib.Path:
        """Like calls, all alike but for their numbers; the trace begins with the `first` round."""
        path = self.folder / f"rank{rank}.json"
        events = []
        for n in range(first, 12):
            for i, name in enumerate(("AllReduce", "AllReduce", "AllGather")):
                events.append({"ph": "X", "pid": 1, "tid": 1, "ts": 10000 * n + 1000 * i + 100 * rank - earlier_us, "dur": 1, "name": f"nccl{name}", "cat": "user_annotation",
                               "args": {"Collective name": f"nccl{name}", "dtype": "Float", "In msg nelems": 8, "Out msg nelems": 8, "Process Group Name": "nccl 0x1",
                                        "Group size": 2, "Seq": 2 * n + i if i < 2 else n, "recorded": "call"}})
        path.write_text(json.dumps({"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events, **more}))
        return path

    def test_a_later_beginning_shifts_nothing(self) -> None:
        for host, called in (({"host_name": "a"}, {"matched": 21, "compared": 21, "last_rank": 1, "last": 21, "late_ns": 100000}),
                             ({}, {"matched": 21, "compared": 0, "last_rank": None, "last": 0, "late_ns": None})):  # clocks of two hosts, perhaps
            report = json.loads(holdup("report", "--json", self.recorded(0, 0, **host), self.recorded(1, 5, **host)).stdout)
            self.assertEqual((report["collectives"]["matched"], report["collectives"]["unmatched"]), (21, 15))
            self.assertEqual(report["collectives"]["called"], called)

    def test_numbers_are_believed_before_times(self) -> None:
        """Rank 1 began to be recorded later, and is ahead by as much: laid side by side by order, its calls would be another round's."""
        report = json.loads(holdup("report", "--json", self.recorded(0, 0, host_name="a"), self.recorded(1, 5, 50000, host_name="a")).stdout)
        self.assertEqual(report["collectives"]["called"], {"matched": 21, "compared": 21, "last_rank": 0, "last": 21, "late_ns": 49900000})


class Readers(Case):
    """The same words as `holdup run` writes, with kernels of a GPU beside them."""

    def report(self, *events: dict[str, Any]) -> list[tuple]:
        path = self.folder / "trace.json"
        path.write_text(json.dumps({"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, **e} for e in events]}))
        done = holdup("report", "--json", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return sorted((r["name"], r["bytes"], r["group"], r["calls"]) for r in json.loads(done.stdout)["ranks"][0]["communication"]["collectives"])

    def launch(self, ts: int, correlation: int = 1, name: str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL") -> list[dict[str, Any]]:
        return [{"ts": ts, "dur": 2, "name": "cudaLaunchKernelExC", "cat": "cuda_runtime", "args": {"correlation": correlation}},
                {"ts": ts + 50, "dur": 400, "name": name, "cat": "kernel", "pid": 0, "tid": 7, "args": {"correlation": correlation, "device": 0, "stream": 7}}]

    @staticmethod
    def say(ts: int, dur: int, name: str, **args: Any) -> dict[str, Any]:
        return {"ts": ts, "dur": dur, "name": name, "cat": "user_annotation", "args": args}

    CALL = {"Collective name": "ncclAllReduce", "dtype": "Float", "In msg nelems": 1000, "Out msg nelems": 1000, "Process Group Name": "nccl 0x1", "Group size": 4, "Seq": 9}
    NVTX = {"NCCL communicator ID": 1, "Message size [bytes]": 4000}

    def test_a_kernel_is_what_its_group_says_and_counts_once(self) -> None:
        plugin = [self.say(102, 20, "ncclGroup", **self.CALL), self.say(103, 1, "ncclAllReduce", **self.CALL, recorded="call"), *self.launch(110)]
        self.assertEqual(self.report(*plugin), [("ncclAllReduce", 4000, "nccl 0x1", 1)])
        self.assertEqual(self.report(self.say(100, 30, "ncclAllReduce", **self.NVTX), *plugin), [("ncclAllReduce", 4000, "nccl 0x1", 1)], "NVTX says it again")
        self.assertEqual(self.report(self.say(90, 50, "nccl:all_reduce"), *plugin), [("ncclAllReduce", 4000, "nccl 0x1", 1)], "and so does PyTorch")

    def test_without_kernels_it_counts_once_too(self) -> None:
        call = self.say(103, 1, "ncclAllReduce", **self.CALL, recorded="call")
        group = self.say(102, 20, "ncclGroup", **self.CALL)
        for around in ([], [self.say(100, 30, "ncclAllReduce", **self.NVTX)], [self.say(90, 50, "nccl:all_reduce")]):
            self.assertEqual(self.report(*around, group, call), [("ncclAllReduce", 4000, "nccl 0x1", 1)])

    def test_ranges_of_nccl_where_there_is_no_plugin(self) -> None:
        """As in exports of Nsight Systems (tests/test_nsight.py), by the names of NCCL's fields."""
        big = 0xFEEDFACE12345678
        self.assertEqual(self.report(self.say(1, 2, "ncclCommInitRank", **{"NCCL communicator ID": big, "No. of ranks": 4, "Rank": 1}),
                                     self.say(100, 30, "ncclAllReduce", **{"NCCL communicator ID": big, "Message size [bytes]": 4000}), *self.launch(110),
                                     self.say(1000, 10, "ncclGroupStart"), self.say(1020, 5, "ncclAllGather", **{"NCCL communicator ID": big, "Message size [bytes]": 1000}),
                                     self.say(1030, 30, "ncclGroupEnd"), *self.launch(1040, 2, "ncclDevKernel_AllGather_RING_LL")),
                         [("ncclAllGather", 4000, "nccl 0xfeedface12345678", 1), ("ncclAllReduce", 4000, "nccl 0xfeedface12345678", 1)])


if __name__ == "__main__":
    unittest.main()
