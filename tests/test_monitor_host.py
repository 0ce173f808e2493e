# SPDX-License-Identifier: Apache-2.0
"""What the monitor says of the node: against Prometheus's node_exporter and Python's own reading of /proc in the same moment, and over trees that
stand for machines with GPUs of AMD and Intel, InfiniBand and job groups; broken files."""
from __future__ import annotations

import contextlib
import json
import math
import os
import pathlib
import random
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from tests import exposition, monitor_trees
from tests.monitor_trees import OTHER_POD, POD, Tree
from tests.program import EXE, NOBODY, for_nobody, skip_loudly
from tests.recorder import holdup

NODE_EXPORTER = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
TICK = 1 / os.sysconf("SC_CLK_TCK")


def once(*words: str) -> exposition.Series:
    done = holdup("monitor", "--once", *words)
    assert done.returncode == 0, done.stderr
    series = exposition.read(done.stdout)
    assert all(map(math.isfinite, series.values())), done.stdout
    return series


def problems(series: exposition.Series) -> dict[str, str]:
    return {dict(labels)["source"]: dict(labels)["what"] for labels in series.named("holdup_monitor_problem")}


class InTree(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory(prefix="holdup-tree-")
        self.addCleanup(holder.cleanup)
        self.tree = Tree(pathlib.Path(holder.name))

    def look(self) -> exposition.Series:
        return once("--root", str(self.tree.root))


class AgainstNodeExporter(unittest.TestCase):
    """Counters only grow, so ours lies between two readings of theirs."""

    @classmethod
    def setUpClass(cls) -> None:
        if not NODE_EXPORTER:
            skip_loudly("prometheus-node-exporter is not installed (scripts/setup test)")
            raise unittest.SkipTest("no node_exporter")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{s.getsockname()[1]}"
        cls.process = subprocess.Popen([NODE_EXPORTER, f"--web.listen-address={address}", "--collector.vmstat.fields=^(oom_kill|pswp|pgmajfault)"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(cls.process.wait)
        cls.addClassCleanup(cls.process.terminate)
        cls.url = f"http://{address}/metrics"
        for _ in range(300):
            with contextlib.suppress(urllib.error.URLError):
                cls.theirs()
                break
            time.sleep(0.1)
        cls.before = cls.theirs()
        cls.ours = once()
        cls.after = cls.theirs()

    @classmethod
    def theirs(cls) -> exposition.Series:
        with urllib.request.urlopen(cls.url, timeout=60) as answer:
            return exposition.read(answer.read().decode())

    def between(self, ours: float | None, before: float | None, after: float | None, what: str, margin: float = 0) -> None:
        if before is None or after is None:
            self.skipTest(f"node_exporter has no {what} here")
        self.assertIsNotNone(ours, what)
        self.assertGreaterEqual(ours, before - margin - abs(before) * 1e-12, what)
        self.assertLessEqual(ours, after + margin + abs(after) * 1e-12, what)

    def same_counters(self, pairs: dict[str, str], **labels: str) -> None:
        for ours, theirs in pairs.items():
            self.between(self.ours.get_one(f"holdup_host_{ours}", **labels), self.before.get_one(f"node_{theirs}", **labels),
                         self.after.get_one(f"node_{theirs}", **labels), f"{ours} {labels}")

    def test_cpu(self) -> None:
        def total(series: exposition.Series, mode: str) -> float:
            return sum(v for labels, v in series.named("node_cpu_seconds_total").items() if dict(labels)["mode"] == mode)

        cpus = os.cpu_count() or 1
        for mode in ("user", "nice", "system", "idle", "irq", "softirq", "steal"):
            # the kernel rounds each processor down on its own, and the sum once; idle time may go back a tick
            self.between(self.ours.get_one("holdup_host_cpu_seconds_total", mode=mode), total(self.before, mode), total(self.after, mode), mode,
                         margin=(cpus + 2) * TICK)
        self.same_counters({"context_switches_total": "context_switches_total", "boot_time_seconds": "boot_time_seconds"})
        self.assertEqual(self.ours.get_one("holdup_host_cpus"), len({dict(k)["cpu"] for k in self.before.named("node_cpu_seconds_total")}))

    def test_memory(self) -> None:
        self.same_counters({"memory_total_bytes": "memory_MemTotal_bytes", "swap_total_bytes": "memory_SwapTotal_bytes",
                            "oom_kills_total": "vmstat_oom_kill", "major_page_faults_total": "vmstat_pgmajfault"})
        page = os.sysconf("SC_PAGESIZE")
        for ours, theirs in (("swapped_in_bytes_total", "pswpin"), ("swapped_out_bytes_total", "pswpout")):
            self.between(self.ours.get_one(f"holdup_host_{ours}"), (self.before.get_one(f"node_vmstat_{theirs}") or 0) * page,
                         (self.after.get_one(f"node_vmstat_{theirs}") or 0) * page, ours)
        huge = (self.before.get_one("node_memory_HugePages_Total") or 0) * (self.before.get_one("node_memory_Hugepagesize_bytes") or 0)
        self.assertEqual(self.ours.get_one("holdup_host_hugepages_total_bytes"), huge)

    def test_pressure(self) -> None:
        for resource in ("cpu", "io", "memory"):
            pairs = [("waiting", "some")] + ([("stalled", "full")] if resource != "cpu" else [])
            for word, _ in pairs:
                name = f"node_pressure_{resource}_{word}_seconds_total"
                self.between(self.ours.get_one(f"holdup_host_pressure_{word}_seconds_total", resource=resource), self.before.get_one(name),
                             self.after.get_one(name), name)

    def test_disks(self) -> None:
        devices = {dict(labels)["device"] for labels in self.ours.named("holdup_host_disk_read_bytes_total")}
        for device in devices:
            self.same_counters({f"disk_{w}": f"disk_{w}" for w in (
                "read_bytes_total", "written_bytes_total", "reads_completed_total", "writes_completed_total", "read_time_seconds_total",
                "write_time_seconds_total", "io_time_seconds_total")}, device=device)
        self.assertTrue(devices <= {p.name for p in pathlib.Path("/sys/block").iterdir()})

    def test_filesystems(self) -> None:
        ours = self.ours.named("holdup_host_filesystem_size_bytes")
        theirs = self.before.named("node_filesystem_size_bytes")
        both = ours.keys() & theirs.keys()
        if theirs and not both:
            self.fail(f"none of {theirs} is among {ours}")
        for labels in both:
            for what in ("size_bytes", "files", "readonly"):
                self.assertEqual(self.ours.get_one(f"holdup_host_filesystem_{what}", **dict(labels)),
                                 self.before.get_one(f"node_filesystem_{what}", **dict(labels)), (what, labels))

    def test_network(self) -> None:
        devices = {dict(labels)["device"] for labels in self.ours.named("holdup_host_network_receive_bytes_total")}
        self.assertNotIn("lo", devices)
        for device in devices:
            self.same_counters({f"network_{w}": f"network_{w}" for w in (
                "receive_bytes_total", "transmit_bytes_total", "receive_errs_total", "transmit_errs_total", "transmit_drop_total")}, device=device)
        self.same_counters({"tcp_sent_segments_total": "netstat_Tcp_OutSegs", "tcp_retransmitted_segments_total": "netstat_Tcp_RetransSegs"})

    def test_clock(self) -> None:
        status = {self.before.get_one("node_timex_sync_status"), self.after.get_one("node_timex_sync_status")}
        if len(status) == 1:  # nobody set it in between
            self.assertIn(self.ours.get_one("holdup_host_clock_synchronized"), status)
        error = self.ours.get_one("holdup_host_clock_max_error_seconds")
        self.assertIsNotNone(error)
        if status == {0}:  # it only grows, up to 16 s
            self.between(error, self.before.get_one("node_timex_maxerror_seconds"), self.after.get_one("node_timex_maxerror_seconds"), "maxerror")


class AgainstProc(unittest.TestCase):
    """Python reads the same files before and after."""

    def numbers(self) -> dict[str, float]:
        out = {}
        stat = {line.split()[0]: line.split()[1:] for line in pathlib.Path("/proc/stat").read_text().splitlines()}
        for mode, ticks in zip(("user", "nice", "system"), stat["cpu"]):
            out[f'cpu_seconds_total,{mode}'] = int(ticks) * TICK
        out["context_switches_total"] = int(stat["ctxt"][0])
        for line in pathlib.Path("/proc/vmstat").read_text().splitlines():
            key, value = line.split()
            if key == "pgmajfault":
                out["major_page_faults_total"] = int(value)
        net = next(p for p in (pathlib.Path("/proc/1/net/dev"), pathlib.Path("/proc/net/dev")) if os.access(p, os.R_OK))
        for line in net.read_text().splitlines()[2:]:
            device, rest = line.split(":")
            out[f"network_receive_bytes_total,{device.strip()}"] = int(rest.split()[0])
            out[f"network_transmit_bytes_total,{device.strip()}"] = int(rest.split()[8])
        for line in pathlib.Path("/proc/diskstats").read_text().splitlines():
            words = line.split()
            out[f"disk_read_bytes_total,{words[2]}"] = int(words[5]) * 512
            out[f"disk_written_bytes_total,{words[2]}"] = int(words[9]) * 512
        return out

    def test_counters(self) -> None:
        before = self.numbers()
        series = once()
        after = self.numbers()
        checked = 0
        for (name, labels), value in series.items():
            key = ",".join([name.removeprefix("holdup_host_"), *(v for _, v in labels)])
            if key in before:
                self.assertLessEqual(before[key] - 1e-6, value, key)
                self.assertGreaterEqual(after[key] + 1e-6, value, key)
                checked += 1
        self.assertGreaterEqual(checked, 5, before)

    def test_no_gpu_of_others(self) -> None:
        """This machine has none, unless its bus shows one."""
        vendors = [p.read_text().strip() for p in pathlib.Path("/sys/bus/pci/devices").glob("*/vendor")]
        for vendor, name in (("0x1002", "amd"), ("0x8086", "intel")):
            if vendor not in vendors:
                self.assertIsNone(once().get_one("holdup_gpus_expected", vendor=name))


class Amd(InTree):
    def test_all(self) -> None:
        monitor_trees.amd(self.tree)
        s = self.look()
        first = {"gpu": "0", "uuid": "GPU-8a2f31c06d11e7b4"}
        second = {"gpu": "1", "uuid": "GPU-77aa31c06d11e7b4"}
        self.assertEqual(s.get_one("holdup_gpu_info", **first, vendor="amd", model="AMD Instinct MI300X", pci_bus_id="0000:05:00.0", minor="1",
                                   driver="amdgpu 6.12.12"), 1)
        expected = {"up": 1, "utilization_ratio": 0.93, "memory_busy_ratio": 0.4, "memory_used_bytes": 283258880, "memory_total_bytes": 206141652992,
                    "power_watts": 750, "power_limit_watts": 750, "energy_joules_total": 1000, "sm_clock_hertz": 2.1e9, "memory_clock_hertz": 1.3e9,
                    "sm_clock_max_hertz": 2.1e9, "memory_clock_max_hertz": 1.3e9,
                    "hotspot_temperature_celsius": 71, "memory_temperature_celsius": 64, "pcie_link_width": 16, "pcie_link_generation": 5,
                    "pcie_replays_total": 3, "processes": 2}
        for name, value in expected.items():
            self.assertEqual(s.get_one(f"holdup_gpu_{name}", **first), value, name)
        self.assertEqual(s.get_one("holdup_gpu_utilization_ratio", **second), 0)
        self.assertEqual(s.get_one("holdup_gpu_processes", **second), 0)
        self.assertEqual(s.get_one("holdup_gpu_block_errors_total", **first, block="umc", type="corrected"), 12)
        self.assertEqual(s.get_one("holdup_gpu_block_errors_total", **first, block="gfx", type="uncorrected"), 1)
        self.assertEqual(s.get_one("holdup_gpu_throttle_seconds_total", **first, reason="software power cap"), 0)
        self.assertIsNone(s.get_one("holdup_gpu_temperature_celsius", **first))  # no sensor at its edge
        self.assertEqual(s.get_one("holdup_gpus_expected", vendor="amd"), 2)

    def test_no_driver(self) -> None:
        self.tree.card(0, "0000:05:00.0", "0x1002", "0x74a1", None, "0x120000")
        self.tree.card(0, "0000:06:00.0", "0x1002", "0xab38", None, "0x040300")  # its sound
        self.tree.card(0, "0000:07:00.0", "0x8086", "0x56c0", None)
        self.tree.card(0, "0000:08:00.0", "0x8086", "0x0b00", None, "0x120000")  # an accelerator of Intel's that is no GPU
        given = self.tree.card(0, "0000:09:00.0", "0x1002", "0x74a1", None, "0x120000")  # a virtual machine has it
        self.tree.link(f"{given}/driver", "../../../bus/pci/drivers/vfio-pci")
        part = self.tree.card(0, "0000:0a:02.1", "0x1002", "0x74b5", None, "0x120000")  # a part that one could have
        self.tree.put(f"{part}/physfn/vendor", "0x1002")
        s = self.look()
        self.assertEqual(s.get_one("holdup_gpus_expected", vendor="amd"), 1)
        self.assertEqual(s.get_one("holdup_gpus_expected", vendor="intel"), 1)
        self.assertEqual(s.named("holdup_gpu_up"), {})
        self.assertIn("no driver shows them", problems(s)["amd"])
        self.assertIn("no driver shows them", problems(s)["intel"])

    def test_unknown_table(self) -> None:
        """A revision that is not known, or one with another size than it had when it was released, says nothing."""
        monitor_trees.amd(self.tree)
        for table in (b"", b"\xff" * 3872, monitor_trees.gpu_metrics_1_8()[:-8], b"\x20\x0f\x01\x09" + b"\x01" * 3868):
            self.tree.put("sys/devices/pci0000:00/0000:05:00.0/gpu_metrics", table)
            s = self.look()
            self.assertIsNone(s.get_one("holdup_gpu_energy_joules_total", gpu="0", uuid="GPU-8a2f31c06d11e7b4"))
            self.assertEqual(s.get_one("holdup_gpu_power_watts", gpu="0", uuid="GPU-8a2f31c06d11e7b4"), 750)


class Intel(InTree):
    def test_all(self) -> None:
        monitor_trees.intel(self.tree)
        s = self.look()
        gpu = {"gpu": "0", "uuid": "0000:03:00.0"}
        for name, value in {"up": 1, "sm_clock_hertz": 2.05e9, "energy_joules_total": 123.456789, "memory_total_bytes": 14 << 30,
                            "memory_used_bytes": 4 << 30, "power_limit_watts": 150, "power_limit_default_watts": 160, "processes": 1}.items():
            self.assertEqual(s.get_one(f"holdup_gpu_{name}", **gpu), value, name)
        self.assertEqual(s.get_one("holdup_gpu_info", **gpu, vendor="intel", model="Intel GPU 0x56c0", pci_bus_id="0000:03:00.0", minor="0",
                                   driver="i915"), 1)
        self.assertEqual(s.get_one("holdup_gpu_clock_event_reason", **gpu, reason="software power cap"), 1)
        self.assertEqual(s.get_one("holdup_gpu_clock_event_reason", **gpu, reason="software thermal slowdown"), 0)
        self.assertIsNone(s.get_one("holdup_gpu_utilization_ratio", **gpu))  # one reading makes no share


class InfiniBand(InTree):
    def test_ports(self) -> None:
        monitor_trees.infiniband(self.tree)
        s = self.look()
        name = "holdup_host_infiniband_{}".format
        ib, roce, efa = ({"device": d, "port": "1"} for d in ("mlx5_0", "mlx5_1", "rdmap0"))
        self.assertEqual(s.get_one(name("up"), **ib), 1)
        self.assertEqual(s.get_one(name("up"), **roce), 0)
        self.assertEqual(s.get_one(name("rate_bytes"), **ib), 50e9)
        self.assertEqual(s.get_one(name("rate_bytes"), **roce), 2.5e9 / 8)
        self.assertEqual(s.get_one(name("received_bytes_total"), **ib), 4000)
        self.assertEqual(s.get_one(name("transmitted_bytes_total"), **ib), 8000)
        self.assertEqual(s.get_one(name("received_bytes_total"), **efa), 4096)
        self.assertIsNone(s.get_one(name("received_bytes_total"), **roce))
        self.assertEqual(s.get_one(name("transmit_wait_total"), **ib), 77)
        self.assertEqual(s.get_one(name("errors_total"), **ib, error="link_downed"), 2)
        self.assertEqual(s.get_one(name("errors_total"), **ib, error="symbol_error"), 0)
        self.assertIsNone(s.get_one(name("errors_total"), **ib, error="port_rcv_errors"))  # "N/A" is not zero
        self.assertEqual(s.get_one(name("events_total"), **ib, event="out_of_sequence"), 5)
        self.assertIsNone(s.get_one(name("events_total"), **ib, event="lifespan"))
        self.assertEqual(s.get_one(name("events_total"), **roce, event="np_cnp_sent"), 9)
        self.assertEqual(s.get_one(name("info"), **ib, link_layer="InfiniBand", board="MT_0000000838", firmware="28.39.1002",
                                   pci_bus_id="0000:17:00.0"), 1)
        self.assertEqual(s.get_one(name("info"), **roce, link_layer="Ethernet", pci_bus_id="0000:18:00.0", netdev="ens2f0"), 1)


class Groups(InTree):
    def values(self, s: exposition.Series, **labels: str) -> dict[str, float]:
        key = tuple(sorted(labels.items()))
        return {n.removeprefix("holdup_host_cgroup_"): v for (n, k), v in s.items() if n.startswith("holdup_host_cgroup_") and k == key}

    def test_version_2(self) -> None:
        monitor_trees.cgroup_v2(self.tree)
        s = self.look()
        self.assertEqual(self.values(s, scheduler="slurm", job_id="4711"), {
            "cpu_seconds_total": 5, "cpu_periods_total": 40, "cpu_throttled_periods_total": 0, "cpu_throttled_seconds_total": 2.5,
            "memory_usage_bytes": 1000, "memory_limit_bytes": 2000, "memory_limit_hits_total": 4, "memory_high_total": 3, "oom_kills_total": 6,
            "pids": 12, "pids_limit": 500})
        # what its container was throttled is added: the kernel does not
        self.assertEqual(self.values(s, scheduler="kubernetes", job_id=POD, pod_uid=POD), {
            "cpu_limit_cpus": 4, "cpu_seconds_total": 5, "cpu_periods_total": 80, "cpu_throttled_periods_total": 37, "cpu_throttled_seconds_total": 5,
            "memory_usage_bytes": 1000, "memory_limit_bytes": 2000, "memory_limit_hits_total": 4, "memory_high_total": 3, "oom_kills_total": 6,
            "pids": 12})
        self.assertNotIn("memory_limit_bytes", self.values(s, scheduler="kubernetes", job_id=OTHER_POD, pod_uid=OTHER_POD))
        groups = {labels for (name, labels) in s if name.startswith("holdup_host_cgroup_")}
        self.assertEqual(len(groups), 3, groups)

    def test_version_1(self) -> None:
        monitor_trees.cgroup_v1(self.tree)
        s = self.look()
        expected = {"cpu_limit_cpus": 1.5, "cpu_seconds_total": 7, "cpu_periods_total": 10, "cpu_throttled_periods_total": 4,
                    "cpu_throttled_seconds_total": 3, "memory_usage_bytes": 11, "memory_limit_hits_total": 2, "oom_kills_total": 1, "pids": 3,
                    "pids_limit": 1000}
        self.assertEqual(self.values(s, scheduler="slurm", job_id="55"), expected)
        self.assertEqual(self.values(s, scheduler="kubernetes", job_id=POD, pod_uid=POD), expected)
        self.assertEqual(self.values(s), {})  # our own has no limit

    def test_container(self) -> None:
        """In a container the root is our own group, and shown where it limits something."""
        self.tree.put_all("sys/fs/cgroup", {"cgroup.controllers": "cpu memory", "cpu.max": "250000 100000", "memory.max": "max",
                                            "cpu.stat": "usage_usec 1\nnr_periods 4\nnr_throttled 2\nthrottled_usec 1000000"})
        self.assertEqual(self.values(self.look()), {"cpu_limit_cpus": 2.5, "cpu_seconds_total": 1e-6, "cpu_periods_total": 4,
                                                    "cpu_throttled_periods_total": 2, "cpu_throttled_seconds_total": 1})
        self.tree.put("sys/fs/cgroup/cpu.max", "max 100000")
        self.assertEqual(self.values(self.look()), {})

    def test_too_many(self) -> None:
        for job in range(140):
            self.tree.put(f"sys/fs/cgroup/system.slice/slurmstepd.scope/job_{job}/pids.current", 1)
        self.tree.put("sys/fs/cgroup/cgroup.controllers", "pids")
        s = self.look()
        self.assertEqual(len(s.named("holdup_host_cgroup_pids")), 128)
        self.assertIn("more than 128", problems(s)["cgroup_limits"])


class Disks(InTree):
    def test_only_local_ones_are_asked(self) -> None:
        monitor_trees.mounts(self.tree)
        s = self.look()
        points = {dict(labels)["mountpoint"] for labels in s.named("holdup_host_filesystem_size_bytes")}
        self.assertEqual(points, {"/", "/dev/shm", "/my disk", "/lost"})
        self.assertEqual(s.get_one("holdup_host_filesystem_readonly", device="/dev/sdc1", mountpoint="/my disk", fstype="ext4"), 1)
        self.assertEqual({dict(k)["device"] for k in s.named("holdup_host_disk_read_bytes_total")}, {"sda"})
        self.assertEqual(s.get_one("holdup_host_disk_read_bytes_total", device="sda"), 2048 * 512)
        self.assertEqual(s.get_one("holdup_host_disk_write_time_seconds_total", device="sda"), 2.5)
        self.assertAlmostEqual(s.get_one("holdup_host_disk_io_time_seconds_total", device="sda"), 0.7)

    def test_nfs(self) -> None:
        monitor_trees.nfs(self.tree)
        s = self.look()
        data = {"device": "server:/export/data", "mountpoint": "/data"}
        for name, value in {"read_bytes_total": 5000, "write_bytes_total": 6000, "retransmissions_total": 3}.items():
            self.assertEqual(s.get_one(f"holdup_host_nfs_{name}", **data), value, name)
        for operation, calls, seconds in (("read", 100, 2.5), ("write", 10, 0.5), ("other", 7, 0.75)):
            self.assertEqual(s.get_one("holdup_host_nfs_operations_total", **data, operation=operation), calls)
            self.assertEqual(s.get_one("holdup_host_nfs_operation_seconds_total", **data, operation=operation), seconds)
        self.assertEqual(len(s.named("holdup_host_nfs_read_bytes_total")), 1)  # the same export again, and one of a version that is not known

    def test_servers_are_not_touched(self) -> None:
        """No call names what lies on a server, or behind one."""
        if not shutil.which("strace"):
            skip_loudly("strace is not installed (scripts/setup test)")
            self.skipTest("no strace")
        monitor_trees.mounts(self.tree)
        log = self.tree.root / "calls"
        done = subprocess.run(["strace", "-f", "-qq", "-e", "trace=file,%statfs", "-o", log, EXE, "monitor",
                               "--once", "--root", self.tree.root], capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0 and "ptrace" in done.stderr.lower():
            skip_loudly("strace may not trace here")
            self.skipTest("no ptrace")
        self.assertEqual(done.returncode, 0, done.stderr)
        calls = log.read_text()
        self.assertIn(f'"{self.tree.root}/dev/shm"', calls)
        for point in ("data", "home", "fuse", "circle", "round"):
            self.assertNotIn(f"{self.tree.root}/{point}", calls)


class Small(InTree):
    def test_nothing_there(self) -> None:
        s = self.look()
        self.assertEqual({n for n, _ in s if n.startswith(("holdup_host_", "holdup_gpu"))} - {
            "holdup_host_clock_synchronized", "holdup_host_clock_max_error_seconds", "holdup_host_clock_offset_seconds"}, set())

    def test_processors(self) -> None:
        """Clocks are a mean over processors; a package's count stands on each of its processors and counts once."""
        self.tree.put("proc/stat", "cpu  100 0 50 850\ncpu0 1 2\ncpu1 1 2\ncpu2 1 2\nintr " + "9 " * 20000 + "\nctxt 42\nprocs_running x\nprocs_blocked 3")
        self.tree.put("proc/loadavg", "0.5 12 nonsense 1/2 3")
        for cpu, package, count in ((0, 0, 5), (1, 1, 7), (2, 0, 5)):
            self.tree.put_all(f"sys/devices/system/cpu/cpu{cpu}", {"cpufreq/scaling_cur_freq": 2500000, "cpufreq/cpuinfo_max_freq": 4000000,
                                                                   "topology/physical_package_id": package, "thermal_throttle/package_throttle_count": count})
        s = self.look()
        self.assertEqual(s.get_one("holdup_host_cpu_frequency_hertz"), 2.5e9)
        self.assertEqual(s.get_one("holdup_host_cpu_frequency_max_hertz"), 4e9)
        self.assertEqual(s.named("holdup_host_cpu_package_throttles_total"), {(("package", "0"),): 5, (("package", "1"),): 7})
        self.assertEqual(s.get_one("holdup_host_cpus"), 3)
        self.assertEqual(s.get_one("holdup_host_context_switches_total"), 42)  # behind a line of 40,000 bytes
        self.assertEqual(s.get_one("holdup_host_procs_blocked"), 3)
        self.assertIsNone(s.get_one("holdup_host_procs_running"))
        self.assertEqual({dict(k)["mode"]: v * os.sysconf("SC_CLK_TCK") for k, v in s.named("holdup_host_cpu_seconds_total").items()},
                         {"user": 100, "nice": 0, "system": 50, "idle": 850})  # columns that an old kernel lacks are absent, not zero
        self.assertEqual([s.get_one(f"holdup_host_load{n}") for n in (1, 5, 15)], [0.5, 12, None])

    def test_pressure(self) -> None:
        self.tree.put("proc/pressure/cpu", "some avg10=1.00 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0.00 total=x")
        self.tree.put("proc/pressure/irq", "full avg10=0.00 avg60=0.00 avg300=0.00 total=250000")
        s = self.look()
        self.assertEqual(s.named("holdup_host_pressure_waiting_seconds_total"), {(("resource", "cpu"),): 1.5})
        self.assertEqual(s.named("holdup_host_pressure_stalled_seconds_total"), {(("resource", "irq"),): 0.25})

    def test_temperatures(self) -> None:
        self.tree.put_all("sys/class/hwmon/hwmon0", {"name": "coretemp", "temp1_label": "Package id 0", "temp1_input": 67000,
                                                     "temp2_label": "Core 0", "temp2_input": 65000})
        self.tree.put_all("sys/class/hwmon/hwmon1", {"name": "nvme", "temp1_label": "Package", "temp1_input": 1})
        self.assertEqual(self.look().named("holdup_host_cpu_temperature_celsius"), {(("chip", "hwmon0"), ("sensor", "Package id 0")): 67})

    def test_meminfo(self) -> None:
        self.tree.put("proc/meminfo", "MemTotal: 100 kB\nMemFree: 7\nDirty: x kB\nHugePages_Total: 3\nHugePages_Free: 1\nHugepagesize: 2048 kB")
        self.tree.put("proc/vmstat", "pswpin 3\npswpout 5\noom_kill 2\npgmajfault 9\npswpin_x 7")
        s = self.look()
        page = os.sysconf("SC_PAGESIZE")
        for name, value in {"swapped_in_bytes": 3 * page, "swapped_out_bytes": 5 * page, "oom_kills": 2, "major_page_faults": 9}.items():
            self.assertEqual(s.get_one(f"holdup_host_{name}_total"), value, name)
        self.assertEqual(s.get_one("holdup_host_memory_total_bytes"), 102400)
        self.assertIsNone(s.get_one("holdup_host_memory_free_bytes"))  # without a unit it is not known what it is
        self.assertIsNone(s.get_one("holdup_host_memory_dirty_bytes"))
        self.assertEqual(s.get_one("holdup_host_hugepages_total_bytes"), 3 << 21)
        self.assertEqual(s.get_one("holdup_host_hugepages_free_bytes"), 1 << 21)

    def test_interfaces_of_a_container(self) -> None:
        """None has a device there: all but the loopback are shown."""
        self.tree.put("proc/net/dev", "Inter-|   Receive  |  Transmit\n face |bytes\n    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
                      "  eth0: 10 1 2 3 0 0 0 0 20 1 4 5 0 0 0 0\n broken: 1 2 3")
        s = self.look()
        self.assertEqual(s.named("holdup_host_network_receive_bytes_total"), {(("device", "eth0"),): 10})
        for name, value in {"receive_errs": 2, "receive_drop": 3, "transmit_bytes": 20, "transmit_errs": 4, "transmit_drop": 5}.items():
            self.assertEqual(s.named(f"holdup_host_network_{name}_total"), {(("device", "eth0"),): value}, name)
        self.tree.put("proc/1/net/dev", "h\nh\n  eth0: 11 1 2 3 0 0 0 0 20 1 4 5 0 0 0 0\n  eth1: 7 1 2 3 0 0 0 0 20 1 4 5 0 0 0 0")
        self.tree.put("sys/class/net/eth1/device/vendor", "0x15b3")
        self.tree.put_all("sys/class/net/eth1", {"operstate": "up", "speed": 200000})
        s = self.look()
        self.assertEqual(s.named("holdup_host_network_receive_bytes_total"), {(("device", "eth1"),): 7})
        self.assertEqual(s.get_one("holdup_host_network_speed_bytes", device="eth1"), 25e9)


class Nobody(InTree):
    """Without rights, what needs them is absent, and said; all else is as it is for root."""

    def look(self, root: pathlib.Path | None = None) -> exposition.Series:
        program = for_nobody(self, EXE) / pathlib.Path(EXE).name
        self.tree.root.chmod(0o755)
        done = subprocess.run([*NOBODY, program, "monitor", "--once", *(("--root", root) if root else ())], capture_output=True, text=True, check=False,
                              timeout=120, env={k: v for k, v in os.environ.items() if k != "TMPDIR"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return exposition.read(done.stdout)

    def test_energy(self) -> None:
        self.tree.put_all("sys/class/powercap/intel-rapl:0", {"name": "package-0", "max_energy_range_uj": 1000, "energy_uj": 1})
        s = once("--root", str(self.tree.root))
        self.assertEqual(s.get_one("holdup_host_energy_joules_total", zone="package-0"), 1e-6)
        (self.tree.root / "sys/class/powercap/intel-rapl:0/energy_uj").chmod(0o400)
        s = self.look(self.tree.root)
        self.assertEqual(s.named("holdup_host_energy_joules_total"), {})
        self.assertIn("only root may read it", problems(s)["host_power"])

    def test_unreadable_is_no_permission(self) -> None:
        """A counter that cannot be read for another reason names no right."""
        self.tree.put_all("sys/class/powercap/intel-rapl:0", {"name": "package-0", "max_energy_range_uj": 1000, "energy_uj/x": 1})
        s = once("--root", str(self.tree.root))
        self.assertEqual(s.named("holdup_host_energy_joules_total"), {})
        self.assertEqual(problems(s).keys() - {"nvidia"}, set())

    def test_clients_of_others(self) -> None:
        monitor_trees.intel(self.tree)
        gpu = {"gpu": "0", "uuid": "0000:03:00.0"}
        self.assertEqual(self.look(self.tree.root).get_one("holdup_gpu_processes", **gpu), 1)
        (self.tree.root / "proc/77/fd").chmod(0o500)
        s = self.look(self.tree.root)
        self.assertEqual(s.get_one("holdup_gpu_up", **gpu), 1)
        self.assertIsNone(s.get_one("holdup_gpu_processes", **gpu))
        self.assertIn("processes of other users cannot be seen", problems(s)["intel"])

    def test_this_machine(self) -> None:
        ours = {name for name, _ in once() if name.startswith("holdup_host_")} - {"holdup_host_energy_joules_total"}
        self.assertEqual({name for name, _ in self.look() if name.startswith("holdup_host_")}, ours)


class Hostile(InTree):
    """Each file of a full tree in turn is something else: the program ends well, and what it prints can be read."""

    def broken(self, path: pathlib.Path, how: int, dice: random.Random) -> None:
        content = path.read_bytes()
        path.unlink()
        if how == 0:
            path.write_bytes(dice.randbytes(5000))
        elif how == 1:
            path.write_bytes(content[: len(content) // 2] + b"9" * 40000)
        elif how == 2:
            path.mkdir()
        elif how == 3:
            path.symlink_to(path.name)
        elif how == 4:
            os.mkfifo(path)
        elif how == 5:
            path.write_bytes(content.replace(b"1", b"-1").replace(b" ", b"\n") * 50)

    def test_files(self) -> None:
        dice = random.Random(20261123)
        for seed in range(12):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory(prefix="holdup-tree-") as folder:
                tree = Tree(pathlib.Path(folder))
                for fill in (monitor_trees.amd, monitor_trees.intel, monitor_trees.infiniband, monitor_trees.cgroup_v2, monitor_trees.mounts):
                    if fill is not monitor_trees.intel or seed % 2:  # both have a card0
                        if fill is not monitor_trees.amd or not seed % 2:
                            fill(tree)
                for name in ("stat", "meminfo", "vmstat", "loadavg", "net/dev", "net/snmp", "pressure/cpu"):
                    tree.put(f"proc/{name}", pathlib.Path(f"/proc/{name}").read_bytes())
                files = sorted(p for p in tree.root.rglob("*") if p.is_file() and not p.is_symlink())
                for path in files:
                    if path.exists() and dice.random() < 0.4:
                        self.broken(path, dice.randrange(6), dice)
                once("--root", folder)

    def test_names(self) -> None:
        """Names of devices and mounts are anybody's; they stay one label."""
        name = 'a"b\\c\nd'
        self.tree.put_all(f"sys/class/infiniband/{name}/ports/1", {"state": "4: ACTIVE"})
        self.tree.put("sys/class/infiniband/\udcff/ports/1/state".encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape"), "4: ACTIVE")
        s = self.look()
        self.assertEqual(s.get_one("holdup_host_infiniband_up", device=name, port="1"), 1)
        self.assertEqual(len(s.named("holdup_host_infiniband_up")), 2)


class Cost(unittest.TestCase):
    def test_no_file_stays_open(self) -> None:
        """A look opens and closes what it reads: after thirty of each kind a sampler has as many descriptors as after the first."""
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        monitor = subprocess.Popen([EXE, "monitor", "--listen", f"127.0.0.1:{port}", "--period", "0.1"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(monitor.wait)
        self.addCleanup(monitor.terminate)

        def children() -> dict[str, int]:
            out = {}
            for task in pathlib.Path(f"/proc/{monitor.pid}/task").glob("*/children"):
                for child in task.read_text().split():
                    with contextlib.suppress(OSError):
                        out[(pathlib.Path("/proc") / child / "comm").read_text().strip()] = len(os.listdir(f"/proc/{child}/fd"))
            return out

        def least() -> dict[str, int]:
            """A look that is under way has files open; the fewest of many readings, over some looks, is between them."""
            seen = []
            for _ in range(200):
                seen.append(children())
                time.sleep(0.01)
            return {name: min(one[name] for one in seen if name in one) for name in seen[0]}

        def looks() -> float:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
                series = exposition.read(answer.read().decode())
            return series.get_one("holdup_monitor_cpu_seconds_total", process="host") or 0

        for _ in range(600):
            with contextlib.suppress(OSError):
                if looks() > 0 and all(name.startswith("holdup-") for name in children()):     # each has its own name by now
                    break
            time.sleep(0.1)
        first, cpu = least(), looks()
        for _ in range(600):
            if looks() > cpu * 3:
                break
            time.sleep(0.1)
        self.assertGreater(looks(), cpu)
        self.assertEqual(least(), first, json.dumps(first))


if __name__ == "__main__":
    unittest.main()
