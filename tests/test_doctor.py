# SPDX-License-Identifier: Apache-2.0
"""The frame of `holdup doctor`: what it prints, its exit status, captured trees that lie, looks that hang or crash."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile
import unittest
from typing import Any

from tests.program import EXE, NOBODY, ROOT, SANITIZED, for_nobody, run, skip_loudly

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA = json.loads((ROOT / "docs/doctor.schema.json").read_text())
MEMINFO = "MemTotal: 1000000 kB\nMemFree: 900000 kB\nMemAvailable: 900000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n"
SHM_OF_DOCKER = "filesystem:/dev/shm 1021994 4096 16384 16384 16384 1000 999 0"


class Tree(unittest.TestCase):
    """A test with a captured tree of its own."""

    def setUp(self) -> None:
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="holdup-doctor-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def put(self, path: str, text: str | bytes = "") -> pathlib.Path:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def link(self, path: str, target: str) -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(target)

    def ask(self, *arguments: Any, status: int = 0, **options: Any) -> dict[str, Any]:
        got, out, err = run("doctor", "--root", self.root, "--json", *arguments, **options)
        self.assertEqual(got, status, err)
        return json.loads(out)

    def only(self, check: str, *arguments: Any, **options: Any) -> list[dict[str, Any]]:
        """What one check answers."""
        checks = self.ask("--only", check, *arguments, **options)["checks"]
        self.assertEqual([c["id"] for c in checks], [check])
        return checks[0]["answers"]


class Faces(Tree):
    def test_text_has_evidence_why_and_fix(self) -> None:
        self.put("holdup/facts", SHM_OF_DOCKER)
        self.put("proc/meminfo", MEMINFO)
        status, out, err = run("doctor", "--root", self.root, "--only", "shm", "--only", "memory-free")
        self.assertEqual((status, err), (0, ""))
        text = out.decode()
        self.assertRegex(text, r"WARN  Shared memory in /dev/shm  \[shm\]\n      /dev/shm has 64 MiB, of which 64 MiB are free\n      fix: .*--shm-size=16g")
        self.assertIn("      why: Workers of a DataLoader", text)
        self.assertNotIn("memory-free", text)
        self.assertTrue(text.endswith("\n0 failures, 1 warning, 0 notes, 1 ok, 0 not checked\n"), text)

    def test_all_shows_what_is_well_and_what_was_not_seen(self) -> None:
        self.put("proc/meminfo", MEMINFO)
        out = run("doctor", "--root", self.root, "--all", "--only", "memory-free", "--only", "shm", "--only", "memory-ecc")[1].decode()
        self.assertIn("ok    Free memory  [memory-free]\n      /proc/meminfo: 878 MiB of 976 MiB available\n", out)
        self.assertIn("?     Shared memory in /dev/shm  [shm]\n      /dev/shm: size not known\n", out)
        self.assertIn("–     Errors of the host's memory  [memory-ecc]\n", out)
        self.assertIn("1 ok, 1 not checked: /dev/shm: size not known\n", out)

    def test_worst_come_first(self) -> None:
        self.put("holdup/facts", SHM_OF_DOCKER + "\nfilesystem:/tmp ef53 4096 1000000 100 100 1000 900 0\nclock.state 5\nclock.status 64\n")
        status, out, _ = run("doctor", "--root", self.root)
        self.assertEqual(status, 1)
        faces = re.findall(r"^(FAIL|WARN|note)  .*\[(.*)\]$", out.decode(), re.M)
        self.assertEqual([f for f, _ in faces], sorted((f for f, _ in faces), key=["FAIL", "WARN", "note"].index))
        self.assertIn(("FAIL", "space"), faces)
        self.assertIn(("WARN", "shm"), faces)
        self.assertIn(("note", "clock-sync"), faces)

    def test_lines_fit_a_terminal(self) -> None:
        out = run("doctor", "--root", self.root, "--all", env={"COLUMNS": "80"})[1].decode()
        self.assertEqual([line for line in out.splitlines() if len(line) > 80 and " " in line.strip()], [])
        listed = run("doctor", "--list", env={"COLUMNS": "80"})[1].decode()
        self.assertEqual([line for line in listed.splitlines() if len(line) > 80], [])

    def test_json_is_as_its_schema_says(self) -> None:
        if jsonschema is None:
            skip_loudly("python3-jsonschema is not present")
            self.skipTest("no jsonschema")
        validator = jsonschema.validators.validator_for(SCHEMA)
        validator.check_schema(SCHEMA)
        self.put("holdup/facts", SHM_OF_DOCKER + "\nhostname node17\ntime 2026-11-24T02:15:00Z\n")
        here = json.loads(run("doctor", "--json", "--job")[1])
        for document in (here, self.ask(), self.ask("--job", status=1), self.ask("--prolog")):
            self.assertEqual([f"{e.json_path}: {e.message[:200]}" for e in validator(SCHEMA).iter_errors(document)], [])
            self.assertEqual(sum(document["counts"].values()), len(document["checks"]))
        self.assertIsNone(here["root"])
        self.assertEqual((self.ask()["host"], self.ask()["time"], self.ask()["root"]), ("node17", "2026-11-24T02:15:00Z", str(self.root)))

    def test_the_same_tree_gives_the_same_bytes(self) -> None:
        self.put("proc/meminfo", MEMINFO)
        self.assertEqual(run("doctor", "--root", self.root, "--json")[1], run("doctor", "--root", self.root, "--json")[1])

    def test_an_empty_tree_is_never_ok(self) -> None:
        document = self.ask("--job")
        ok = {c["id"] for c in document["checks"] if c["verdict"] == "ok"}
        self.assertLessEqual(ok, {"ptrace"})  # without Yama's file there is no Yama
        self.assertEqual(document["counts"]["failures"] + document["counts"]["warnings"], 0)
        for check in document["checks"]:
            for answer in check["answers"]:
                self.assertTrue(answer["evidence"], check["id"])


class Options(Tree):
    def test_status_says_whether_a_check_failed(self) -> None:
        self.put("holdup/facts", SHM_OF_DOCKER)
        self.assertEqual(run("doctor", "--root", self.root)[0], 0)
        self.assertEqual(run("doctor", "--root", self.root, "--strict")[0], 1)
        self.assertEqual(run("doctor", "--root", self.root, "--job")[0], 1)
        self.assertEqual(run("doctor", "--root", self.root, "--job", "--skip", "shm")[0], 0)

    def test_only_and_skip_take_checks_and_topics(self) -> None:
        listed = json.loads(run("doctor", "--list", "--json")[1])
        memory = [c["id"] for c in listed if c["topic"] == "memory"]
        self.assertGreater(len(memory), 5)
        self.assertEqual([c["id"] for c in self.ask("--only", "memory")["checks"]], memory)
        self.assertEqual([c["id"] for c in self.ask("--only", "memory", "--skip", "shm")["checks"]], [m for m in memory if m != "shm"])
        self.assertNotIn("memory", {c["topic"] for c in self.ask("--skip", "memory")["checks"]})
        self.assertEqual([c["id"] for c in self.ask("--only", "cpu-threads")["checks"]], ["cpu-threads"])  # of --job, but named

    def test_what_is_asked_when(self) -> None:
        listed = json.loads(run("doctor", "--list", "--json")[1])
        for option, words in (((), {"node"}), (("--job",), {"node", "job"}), (("--prolog",), {"prolog"})):
            want = [c["id"] for c in listed if words & set(c["when"])]
            self.assertEqual([c["id"] for c in self.ask(*option)["checks"]], want)

    def test_rows_are_whole(self) -> None:
        listed = json.loads(run("doctor", "--list", "--json")[1])
        ids = [c["id"] for c in listed]
        self.assertEqual(len(ids), len(set(ids)))
        for c in listed:
            self.assertRegex(c["id"], r"^[a-z0-9-]+$")
            self.assertTrue(c["title"] and not c["title"].endswith("."), c)
            self.assertTrue(c["why"].endswith(".") or c["why"].endswith('"'), c)
            self.assertTrue(c["when"], c)
            self.assertFalse((c["fix"] or "").endswith("."), c)

    def test_wrong_usage(self) -> None:
        for arguments, words in ((("--only", "shn"), 'there is no check "shn"; did you mean shm?'), (("--skip", "xyzzyxyzzy"), "--list shows all"),
                                 (("--job", "--prolog"), "--prolog"), (("--root", self.root / "none"), "--root needs a folder")):
            status, out, err = run("doctor", *arguments)
            self.assertIn(status, (2, 3), arguments)
            self.assertEqual(out, b"")
            self.assertIn(words, err)
        self.assertEqual(run("doctor", "--root", self.root / "none")[0], 3)
        self.assertEqual(run("doctor", "--root", self.put("file"))[0], 3)

    def test_paths_are_looked_at(self) -> None:
        self.put("holdup/facts", "filesystem:/data 6969 4096 1000000 900000 900000 0 0 0\nfilesystem:/job/out ef53 4096 100 0 0 10 5 0\ncwd /job\n")
        answers = self.only("filesystem", "--path", "/data", "--path", "out")
        self.assertEqual([(a["subject"], a["verdict"]) for a in answers[:2]], [("/data (--path)", "note"), ("/job/out (--path)", "ok")])
        self.assertIn("NFS", answers[0]["evidence"])
        answers = self.only("space", "--path", "out", status=1)
        self.assertEqual((answers[0]["subject"], answers[0]["verdict"]), ("/job/out (--path)", "failure"))

    def test_prolog_is_quiet_unless_a_check_fails(self) -> None:
        self.put("holdup/facts", "filesystem:/ ef53 4096 1000000 900000 900000 10 5 0")
        self.assertEqual(run("doctor", "--root", self.root, "--prolog"), (0, b"", ""))
        self.put("holdup/facts", "filesystem:/ ef53 4096 1000000 9 9 10 5 0")
        status, out, _ = run("doctor", "--root", self.root, "--prolog")
        self.assertEqual(status, 1)
        self.assertTrue(out.decode().startswith("FAIL  Room for files  [space]\n"), out)
        self.assertNotIn("not checked", out.decode())

    def test_prolog_writes_nothing_and_uses_no_network(self) -> None:
        if not shutil.which("strace") or SANITIZED:
            skip_loudly("no strace, or under sanitizers: what --prolog writes is not looked at")
            self.skipTest("no strace")
        log = self.root / "log"
        done = subprocess.run(["strace", "-f", "-o", log, "-e", "trace=open,openat,creat,mkdir,unlink,rename,connect,socket,sendto,bind", EXE, "doctor",
                               "--prolog"], capture_output=True, check=False, timeout=60)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        lines = log.read_text()
        self.assertIn("/dev/null", lines)
        opened = [line for line in lines.splitlines() if re.search(r"O_WRONLY|O_RDWR|O_CREAT|creat\(|mkdir\(|unlink\(|rename\(", line)]
        self.assertEqual([line for line in opened if '"/dev/null"' not in line], [])
        self.assertEqual(re.findall(r"connect\(|bind\(|socket\(", lines), [])


class Hostile(Tree):
    """Whoever made a captured tree may want to be read about what lies outside, or to stop the reader."""

    def read_meminfo(self, **options: Any) -> dict[str, Any]:
        answers = self.only("memory-free", **options)
        self.assertEqual(len(answers), 1)
        return answers[0]

    def test_a_plain_file_is_read(self) -> None:
        self.put("proc/meminfo", MEMINFO)
        self.assertEqual(self.read_meminfo()["verdict"], "ok")

    def test_links_stay_inside(self) -> None:
        outside = pathlib.Path(tempfile.mkdtemp(prefix="holdup-outside-"))
        self.addCleanup(shutil.rmtree, outside)
        (outside / "meminfo").write_text(MEMINFO)
        for target in (f"{outside}/meminfo", f"../../../../../../../../../..{outside}/meminfo"):
            (self.root / "proc").mkdir(exist_ok=True)
            self.link("proc/meminfo", target)
            answer = self.read_meminfo()
            self.assertEqual((answer["verdict"], answer["evidence"]), ("not checked", "there is no /proc/meminfo"), target)
            (self.root / "proc/meminfo").unlink()
        self.put(f"{outside}/meminfo", MEMINFO)  # what the same link means inside
        self.link("proc/meminfo", f"{outside}/meminfo")
        self.assertEqual(self.read_meminfo()["verdict"], "ok")

    def test_folders_that_are_links_stay_inside(self) -> None:
        outside = pathlib.Path(tempfile.mkdtemp(prefix="holdup-outside-"))
        self.addCleanup(shutil.rmtree, outside)
        (outside / "meminfo").write_text(MEMINFO)
        self.link("proc", str(outside))
        self.assertEqual(self.read_meminfo()["verdict"], "not checked")
        (self.root / "proc").unlink()
        self.put("a/b/meminfo", MEMINFO)
        self.link("proc", "a/../a/./b")
        self.assertEqual(self.read_meminfo()["verdict"], "ok")

    def test_loops_and_long_chains_end(self) -> None:
        self.link("proc/meminfo", "other")
        self.link("proc/other", "meminfo")
        self.assertEqual(self.read_meminfo()["evidence"], "/proc/meminfo cannot be read")
        (self.root / "proc/meminfo").unlink()
        self.link("proc/meminfo", "0/" * 1500 + "x")
        self.assertEqual(self.read_meminfo()["verdict"], "not checked")
        (self.root / "proc/meminfo").unlink()
        for i in range(60):
            self.link(f"proc/{i}", str(i + 1))
        self.put("proc/60", MEMINFO)
        self.link("proc/meminfo", "0")
        self.assertEqual(self.read_meminfo()["evidence"], "/proc/meminfo cannot be read")
        self.link("proc/near", "40")
        (self.root / "proc/meminfo").unlink()
        self.link("proc/meminfo", "near")
        self.assertEqual(self.read_meminfo()["verdict"], "ok")

    def test_only_regular_files_are_opened(self) -> None:
        (self.root / "proc").mkdir()
        os.mkfifo(self.root / "proc/meminfo")
        self.assertEqual(self.read_meminfo()["evidence"], "/proc/meminfo cannot be read")
        (self.root / "proc/meminfo").unlink()
        (self.root / "proc/meminfo").mkdir()
        self.assertEqual(self.read_meminfo()["evidence"], "/proc/meminfo cannot be read")

    def test_devices_are_not_opened(self) -> None:
        (self.root / "proc").mkdir()
        try:
            os.mknod(self.root / "proc/meminfo", stat.S_IFCHR | 0o666, os.makedev(1, 5))
        except PermissionError:
            skip_loudly("only root can make a device")
            self.skipTest("no device")
        self.assertEqual(self.read_meminfo()["evidence"], "/proc/meminfo cannot be read")

    def test_huge_files_are_read_to_a_limit(self) -> None:
        file = self.put("proc/meminfo", MEMINFO)
        with file.open("r+b") as f:
            f.truncate(1 << 40)
        self.assertEqual(self.read_meminfo()["verdict"], "ok")

    def test_folders_with_many_names_end(self) -> None:
        for i in range(5000):
            self.put(f"sys/devices/system/edac/mc/mc{i}")
        self.assertEqual([a["verdict"] for a in self.only("memory-ecc")], ["does not apply"])

    def test_files_that_may_not_be_read_are_said_so(self) -> None:
        folder = for_nobody(self, EXE)
        self.put("proc/meminfo", MEMINFO).chmod(0)
        self.root.chmod(0o755)
        done = subprocess.run([*NOBODY, folder / pathlib.Path(EXE).name, "doctor", "--root", self.root, "--json", "--only", "memory-free"],
                              capture_output=True, check=True, timeout=60, cwd="/")
        self.assertEqual(json.loads(done.stdout)["checks"][0]["answers"][0]["evidence"], "needs root: /proc/meminfo")

    def test_files_that_could_not_be_captured_are_said_so(self) -> None:
        self.put("proc/meminfo", MEMINFO)
        self.put("holdup/denied", "/proc/other\n/proc/meminfo\n")
        self.assertEqual(self.read_meminfo()["evidence"], "needs root: /proc/meminfo")
        self.put("holdup/denied", "/proc/meminfo2\n/x/proc/meminfo\n")
        self.assertEqual(self.read_meminfo()["verdict"], "ok")

    def test_nothing_in_a_file_steers_the_terminal(self) -> None:
        self.put("sys/devices/system/clocksource/clocksource0/current_clocksource", b"\x1b[2J\x07evil\xff\xfe\x00tail")
        status, out, _ = run("doctor", "--root", self.root, "--only", "clocksource")
        self.assertEqual(status, 0)
        self.assertIn(b"evil", out)
        self.assertNotRegex(out, rb"[\x00-\x09\x0b-\x1f\x7f]")
        out.decode()
        self.assertIn("evil", self.only("clocksource")[0]["evidence"])

    def test_garbage_in_numbers_is_no_crash(self) -> None:
        for text in ("", "-", "-1", "9" * 400, "0x", "1e9", "\0", "[", "]", "0-", "-5", "5-1", "0-99999999999", ",,,", "a,b", "0-2147483647"):
            self.put("holdup/facts", "\n".join(f"{key} {text}" for key in (
                "cpus.allowed", "limit.nofile", "limit.memlock", "limit.nproc", "clock.state", "clock.status", "clock.max_error_us", "user.id",
                "filesystem:/dev/shm", "filesystem:/tmp", "filesystem:/", "uname.release", "cwd", "hostname", "time")))
            for path in ("proc/meminfo", "proc/stat", "proc/self/status", "proc/self/mountinfo", "proc/self/cgroup", "proc/net/route", "proc/uptime",
                         "proc/pressure/cpu", "proc/sys/kernel/numa_balancing", "proc/sys/vm/max_map_count", "proc/sys/vm/overcommit_memory",
                         "sys/devices/system/node/has_memory", "sys/devices/system/cpu/online", "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
                         "sys/class/infiniband/mlx5_0/ports/1/state", "sys/class/infiniband/mlx5_0/ports/1/rate", "sys/class/net/eth0/speed",
                         "sys/class/net/eth0/device/x", "sys/class/net/eth0/operstate", "sys/kernel/mm/transparent_hugepage/enabled",
                         "sys/bus/pci/devices/0000:17:00.0/class", "sys/devices/system/edac/mc/mc0/ue_count"):
                self.put(path, f"MemTotal: {text}\n{text}")
            got, out, err = run("doctor", "--root", self.root, "--json", "--job")
            self.assertIn(got, (0, 1), err)
            for check in json.loads(out)["checks"]:
                for answer in check["answers"]:
                    self.assertNotRegex(answer["evidence"], "crashed|said nothing|ended early", check["id"])

    def test_numbers_at_the_limits_of_their_type_are_no_crash(self) -> None:
        for most in (2**63 - 1, -(2**63), 2**64 - 1, 2**62, 2**53 + 1):
            places = ("/", "/tmp", "/dev/shm")
            self.put("holdup/facts", "\n".join([f"filesystem:{p} ef53 {block} {most} {most} {most} {most} {most} {most}" for p in places for block in (4096, most)]
                                               + [f"limit.{x} {most} {most}" for x in ("memlock", "nofile", "nproc")]
                                               + [f"{x} {most}" for x in ("clock.state", "clock.status", "clock.max_error_us", "user.id")]
                                               + [f"cpus.allowed 0-{most}"]))
            self.put("holdup/environment", f"OMP_NUM_THREADS={most}\nLOCAL_WORLD_SIZE={most}\nSLURM_NNODES={most}\nMASTER_PORT={most}\nMASTER_ADDR=x\n")
            self.put("proc/stat", "cpu" + f" {most}" * 8)
            self.put("proc/meminfo", "".join(f"{x}: {most} kB\n" for x in ("MemTotal", "MemAvailable", "SwapTotal", "SwapFree", "HugePages_Total",
                                                                           "HugePages_Free", "Hugepagesize", "CommitLimit", "Committed_AS")))
            self.put("proc/sys/vm/overcommit_memory", "2")
            self.put("proc/self/mountinfo", "30 22 0:27 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n")
            self.put("proc/self/cgroup", "0::/\n")
            self.put("proc/uptime", f"{most}.5")
            for name in ("memory.max", "memory.current", "memory.stat", "memory.events", "cpu.max", "cpu.stat"):
                self.put(f"sys/fs/cgroup/{name}", f"{most} {most}\ninactive_file {most}\noom_kill {most}\nnr_periods {most}\nnr_throttled {most}\n")
            for name in ("link_downed", "symbol_error", "port_rcv_errors"):
                self.put(f"sys/class/infiniband/x/ports/1/counters/{name}", f"{most}")
            self.put("sys/class/infiniband/x/ports/1/state", "4: ACTIVE")
            self.put("sys/class/infiniband/x/ports/1/rate", f"{most} Gb/sec")
            self.put("sys/class/net/eth0/device/x")
            for name in ("speed", "mtu", "statistics/rx_packets", "statistics/rx_crc_errors"):
                self.put(f"sys/class/net/eth0/{name}", f"{most}")
            self.put("sys/class/net/eth0/operstate", "up")
            got, out, err = run("doctor", "--root", self.root, "--json", "--job")
            self.assertIn(got, (0, 1), err)
            for check in json.loads(out)["checks"]:
                for answer in check["answers"]:
                    self.assertNotRegex(answer["evidence"], "crashed|said nothing|ended early", f"{check['id']} of {most}")


class RightTwins(Tree):
    """What looks wrong on healthy nodes."""

    def verdicts(self, check: str, *arguments: Any) -> list[str]:
        return [a["verdict"] for a in self.only(check, *arguments)]

    def test_shm_of_a_small_machine_is_half_of_its_memory(self) -> None:
        self.put("holdup/facts", "filesystem:/dev/shm 1021994 4096 131072 131072 131072 1000 999 0")
        self.assertEqual(self.verdicts("shm"), ["warning"])
        self.put("proc/meminfo", "MemTotal: 1048576 kB\n")
        self.assertEqual(self.verdicts("shm"), ["ok"])

    def test_shm_without_a_size_is_no_small_one(self) -> None:
        self.put("holdup/facts", "filesystem:/dev/shm 1021994 4096 0 0 0 0 0 0")
        self.assertEqual(self.verdicts("shm"), ["ok"])

    def test_root_of_a_container_may_be_small(self) -> None:
        for magic in ("794c7630", "1021994"):
            self.put("holdup/facts", f"filesystem:/ {magic} 4096 16384 16000 16000 1000 999 0")
            self.assertEqual([a["verdict"] for a in self.only("space", status=0) if a["subject"] == "/ (root)"], ["ok", "ok"])
            self.put("holdup/facts", f"filesystem:/ {magic} 4096 16384 10 10 1000 999 0")
            self.assertIn("failure", [a["verdict"] for a in self.only("space", status=1)])

    def test_chronyd_may_keep_what_it_knows_from_the_kernel(self) -> None:
        self.put("holdup/facts", "clock.state 5\nclock.status 64\nclock.max_error_us 16000000\n")
        self.put("holdup/environment", "SLURM_NNODES=2\n")
        self.assertEqual(self.verdicts("clock-sync", "--job"), ["warning"])
        self.put("run/chrony/chronyd.pid", "77\n")
        self.assertEqual(self.verdicts("clock-sync", "--job"), ["note"])

    def test_a_full_page_cache_is_no_full_cgroup(self) -> None:
        self.put("proc/self/mountinfo", "30 22 0:27 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n")
        self.put("proc/self/cgroup", "0::/job\n")
        self.put("sys/fs/cgroup/job/memory.max", "1000000000\n")
        self.put("sys/fs/cgroup/job/memory.current", "999000000\n")
        self.put("sys/fs/cgroup/job/memory.stat", "anon 100000000\ninactive_file 800000000\n")
        self.assertEqual(self.verdicts("memory-cgroup"), ["ok"])
        self.put("sys/fs/cgroup/job/memory.stat", "anon 900000000\ninactive_file 1000\n")
        self.assertEqual(self.verdicts("memory-cgroup"), ["warning"])

    def test_a_cgroup_is_found_however_it_is_mounted(self) -> None:
        mounts = {"proc/self/mountinfo": "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n32 31 0:29 {} /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
                  "proc/self/cgroup": "5:cpu:{}\n0::/\n"}
        for root, path, below in (("/", "/a/b", "a/b/"), ("/docker/x", "/docker/x", ""), ("/docker/x", "/docker/x/y", "y/"), ("/", "/../..", "")):
            shutil.rmtree(self.root)
            self.put("proc/self/mountinfo", mounts["proc/self/mountinfo"].format(root))
            self.put("proc/self/cgroup", mounts["proc/self/cgroup"].format(path))
            self.put(f"sys/fs/cgroup/cpu/{below}cpu.cfs_quota_us", "200000")
            self.put(f"sys/fs/cgroup/cpu/{below}cpu.cfs_period_us", "100000")
            self.put("holdup/facts", "cpus.allowed 0-7")
            answer = self.only("cpu-quota")[0]
            self.assertIn(f"/sys/fs/cgroup/cpu/{below}cpu.cfs_quota_us allows 2.0 CPUs", answer["evidence"], (root, path))

    def test_a_port_that_nobody_cabled_is_no_broken_one(self) -> None:
        def port(device: str, board: str, state: str, layer: str = "InfiniBand", rate: str = "400 Gb/sec (4X NDR)", number: int = 1) -> None:
            folder = f"sys/class/infiniband/{device}"
            self.put(f"{folder}/board_id", board)
            for name, text in (("state", state), ("phys_state", "5: LinkUp" if "ACTIVE" in state else "2: Polling"), ("link_layer", layer), ("rate", rate)):
                self.put(f"{folder}/ports/{number}/{name}", text + "\n")

        for i in range(4):
            port(f"mlx5_{i}", "MT_1", "4: ACTIVE")
        port("mlx5_9", "MT_2", "1: DOWN", "Ethernet", "10 Gb/sec")  # a card on board, for something else
        port("mlx5_8", "MT_3", "4: ACTIVE")
        port("mlx5_8", "MT_3", "1: DOWN", number=2)  # its second port
        self.assertNotIn("failure", self.verdicts("ib-port"))
        self.assertNotIn("warning", self.verdicts("ib-port"))
        port("mlx5_2", "MT_1", "1: DOWN")  # one of four that are the same
        found = [(a["subject"], a["verdict"]) for a in self.only("ib-port", status=1) if a["verdict"] == "failure"]
        self.assertEqual(found, [("mlx5_2 port 1", "failure")])
        port("mlx5_2", "MT_1", "4: ACTIVE", rate="200 Gb/sec (2X NDR)")
        self.assertEqual([a["subject"] for a in self.only("ib-port") if a["verdict"] == "warning"], ["mlx5_2 port 1"])

    def test_which_gpu_is_ours_has_to_be_known(self) -> None:
        for i, node in enumerate((0, 1)):
            folder = f"sys/bus/pci/devices/0000:{i + 1}7:00.0"
            for name, text in (("class", "0x030200"), ("vendor", "0x10de"), ("numa_node", str(node))):
                self.put(f"{folder}/{name}", text)
            self.put(f"sys/devices/system/node/node{node}/cpulist", f"{8 * i}-{8 * i + 7}")
            self.put(f"proc/driver/nvidia/gpus/0000:{i + 1}7:00.0/information", f"GPU UUID: \t GPU-{i}\nDevice Minor: \t {i}\n")
        self.put("holdup/facts", "cpus.allowed 0-7")
        for variables, verdict in (("", "not checked"), ("CUDA_VISIBLE_DEVICES=1", "not checked"), ("CUDA_VISIBLE_DEVICES=GPU-1", "warning"),
                                   ("CUDA_VISIBLE_DEVICES=GPU-0", "ok"), ("CUDA_VISIBLE_DEVICES=0\nSLURM_STEP_GPUS=1", "warning"), ("SLURM_JOB_GPUS=0", "ok")):
            self.put("holdup/environment", variables)
            self.assertEqual(self.verdicts("cpu-affinity", "--job"), [verdict], variables)
        self.put("holdup/facts", "cpus.allowed 0-15")
        self.assertEqual(self.verdicts("cpu-affinity", "--job"), ["note"])  # near, and far as well

    def test_bound_ranks_do_not_share_their_cpus(self) -> None:
        self.put("sys/devices/system/cpu/online", "0-15")
        self.put("holdup/environment", "LOCAL_WORLD_SIZE=4\nOMP_NUM_THREADS=4\n")
        for cpus, verdict in (("0-15", "ok"), ("0-3", "ok"), ("0-1", "warning")):
            self.put("holdup/facts", f"cpus.allowed {cpus}")
            self.assertEqual(self.verdicts("cpu-threads", "--job"), [verdict], cpus)
        self.put("holdup/environment", "LOCAL_WORLD_SIZE=4\nOMP_NUM_THREADS=16\n")
        self.put("holdup/facts", "cpus.allowed 0-15")
        self.assertEqual(self.verdicts("cpu-threads", "--job"), ["warning"])


HANG = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

static void tell_descriptors(void)
{
    const char *where = getenv("DESCRIPTORS");
    FILE *f = where ? fopen(where, "w") : NULL;

    for (int fd = 0; f && fd < 256; fd++) {
        char link[64], target[256];
        ssize_t n;

        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        n = readlink(link, target, sizeof target - 1);
        if (n > 0 && fd != fileno(f)) {
            target[n] = 0;
            fprintf(f, "%d %s\n", fd, target);
        }
    }
    if (f)
        fclose(f);
}

int statfs64(const char *path, struct statfs64 *s)
{
    memset(s, 0, sizeof *s);
    s->f_type = 0xef53;
    s->f_bsize = 4096;
    s->f_blocks = s->f_bavail = s->f_bfree = 1 << 30;
    if (strcmp(path, "/hangs") == 0) {
        tell_descriptors();
        for (;;)
            pause();
    }
    if (strcmp(path, "/crashes") == 0)
        raise(SIGSEGV);
    if (strcmp(path, "/ends") == 0)
        _exit(0);
    return 0;
}
"""


@unittest.skipIf(SANITIZED, "a library that is loaded before the sanitizers'")
class Lost(unittest.TestCase):
    """A look that does not return, or dies, costs its check and no other one."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-doctor-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "hang.c").write_text(HANG)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", cls.folder / "hang.so", cls.folder / "hang.c"], check=True)

    def ask(self, path: str, *arguments: str) -> dict[str, dict[str, Any]]:
        env = {"LD_PRELOAD": str(self.folder / "hang.so"), "DESCRIPTORS": str(self.folder / "descriptors")}
        status, out, err = run("doctor", "--json", "--path", path, *arguments, env=env)
        self.assertEqual((status, err), (0, ""))
        return {c["id"]: c for c in json.loads(out)["checks"]}

    def test_one_that_hangs_is_not_checked_and_named(self) -> None:
        checks = self.ask("/hangs", "--only", "filesystem", "--only", "clock")
        answers = checks["filesystem"]["answers"]
        self.assertEqual([a["verdict"] for a in answers], ["not checked"])
        self.assertRegex(answers[0]["evidence"], r"^took longer than [0-9.]+ s: statfs /hangs$")
        self.assertEqual(set(checks), {"filesystem", "clocksource", "clock-sync"})
        for check in ("clocksource", "clock-sync"):
            self.assertEqual([a["evidence"] for a in checks[check]["answers"] if "longer" in a["evidence"]], [], check)
        held = (self.folder / "descriptors").read_text().splitlines()
        self.assertEqual(held[:3], ["0 /dev/null", "1 /dev/null", "2 /dev/null"])
        self.assertRegex(held[3], r"^3 socket:")
        self.assertEqual(held[4:], [], "a descriptor of the caller that it kept")

    def test_prolog_gives_up_and_fails_nothing(self) -> None:
        checks = self.ask("/hangs", "--prolog")
        self.assertRegex(checks["space"]["answers"][0]["evidence"], r"^(took longer than [0-9.]+ s(: statfs /hangs)?|no time was left)$")
        self.assertEqual(checks["ib-port"]["answers"][0]["evidence"], "no time was left")

    def test_one_that_crashes_is_not_checked(self) -> None:
        checks = self.ask("/crashes", "--only", "storage")
        self.assertEqual(checks["filesystem"]["answers"][0]["evidence"], "the look crashed (signal 11)")
        self.assertEqual(checks["space"]["answers"][0]["evidence"], "the look crashed (signal 11)")
        self.assertNotEqual(checks["disk-queue"]["verdict"], "failure")

    def test_one_that_ends_early_is_not_checked(self) -> None:
        checks = self.ask("/ends", "--only", "filesystem", "--only", "swap")
        self.assertEqual([a["evidence"] for a in checks["filesystem"]["answers"]], ["the look ended early"])
        self.assertNotEqual(checks["swap"]["verdict"], "not checked")


class Here(unittest.TestCase):
    """This machine, whatever it is."""

    def test_it_runs_as_anybody_and_changes_nothing(self) -> None:
        folder = for_nobody(self, EXE)
        done = subprocess.run([*NOBODY, folder / pathlib.Path(EXE).name, "doctor", "--json", "--job"], capture_output=True, check=False, timeout=120, cwd="/")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertEqual(done.stderr, b"")
        for check in json.loads(done.stdout)["checks"]:
            for answer in check["answers"]:
                self.assertNotRegex(answer["evidence"], "crashed|said nothing|ended early", check["id"])

    def test_it_may_be_started_without_descriptors(self) -> None:
        whole = [c["id"] for c in json.loads(run("doctor", "--json")[1])["checks"]]
        for closed in ("<&-", "2>&-", "<&- 2>&-"):
            done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", EXE, "doctor", "--json"], capture_output=True, check=False, timeout=120)
            checks = json.loads(done.stdout)["checks"]
            self.assertEqual([c["id"] for c in checks], whole, closed)
            self.assertEqual([a["evidence"] for c in checks for a in c["answers"] if re.search("crashed|ended early|no process", a["evidence"])], [], closed)
        done = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", EXE, "doctor", "--prolog"], check=False, timeout=120)
        self.assertIn(done.returncode, (0, 1))

    def test_limits_of_a_process_are_judged_with_job_only(self) -> None:
        for option, verdict in (((), "note"), (("--job",), "warning")):
            done = subprocess.run(["sh", "-c", 'ulimit -n 200 && exec "$@"', "sh", EXE, "doctor", "--json", "--only", "open-files", *option], capture_output=True,
                                  check=True, timeout=60)
            answer = json.loads(done.stdout)["checks"][0]["answers"][0]
            self.assertEqual(answer["verdict"], verdict)
            self.assertIn("ulimit -Sn is 200", answer["evidence"])

    def test_magic_numbers_are_those_of_the_kernel(self) -> None:
        header = pathlib.Path("/usr/include/linux/magic.h")
        if not header.exists():
            skip_loudly("no linux/magic.h")
            self.skipTest("no header")
        names = {"NFS": "NFS_SUPER_MAGIC", "CIFS": "CIFS_SUPER_MAGIC", "SMB": "SMB2_SUPER_MAGIC", "9p": "V9FS_MAGIC", "Ceph": "CEPH_SUPER_MAGIC",
                 "FUSE": "FUSE_SUPER_MAGIC", "overlay": "OVERLAYFS_SUPER_MAGIC", "tmpfs": "TMPFS_MAGIC", "ramfs": "RAMFS_MAGIC", "ext4": "EXT4_SUPER_MAGIC",
                 "XFS": "XFS_SUPER_MAGIC", "Btrfs": "BTRFS_SUPER_MAGIC", "F2FS": "F2FS_SUPER_MAGIC"}
        defined = dict(re.findall(r"#define\s+(\w+)\s+\(?(?:__u32\))?(0x[0-9A-Fa-f]+)", header.read_text()))
        ours = dict((name, int(value, 16)) for value, name in re.findall(r'\{(0x[0-9a-f]+), "([^"]+)",', (ROOT / "src/doctor/check_storage.c").read_text()))
        found = {name: int(defined[words], 16) for name, words in names.items() if words in defined}
        self.assertGreater(len(found), 8)
        self.assertEqual({name: ours[name] for name in found}, found)


if __name__ == "__main__":
    unittest.main()
