# SPDX-License-Identifier: Apache-2.0
"""Folders that stand for /proc and /sys of machines that are not at hand.

Files and units are those of the kernel's documentation: Documentation/gpu/amdgpu, Documentation/ABI/testing/sysfs-driver-intel-{i915,xe}-hwmon,
Documentation/ABI/stable/sysfs-class-infiniband, Documentation/admin-guide/cgroup-v{1,2}, and the names that SLURM and the kubelet give groups.
"""
from __future__ import annotations

import os
import pathlib
import struct

POD = "1b2c3d4e-0011-2233-4455-66778899aabb"
OTHER_POD = "9f8e7d6c-1111-2222-3333-444455556666"


class Tree:
    def __init__(self, root: pathlib.Path) -> None:
        self.root = root

    def put(self, name: str, content: str | bytes | int) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else f"{content}\n".encode())

    def put_all(self, folder: str, files: dict[str, str | bytes | int]) -> None:
        for name, content in files.items():
            self.put(f"{folder}/{name}", content)

    def link(self, name: str, target: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def card(self, number: int, bus: str, vendor: str, device: str, driver: str | None, kind: str = "0x038000") -> str:
        """A GPU on the PCI bus, as card N of its driver (None: it has none); its folder."""
        folder = f"sys/devices/pci0000:00/{bus}"
        self.put_all(folder, {"vendor": vendor, "device": device, "class": kind})
        self.link(f"sys/bus/pci/devices/{bus}", f"../../../devices/pci0000:00/{bus}")
        if driver:
            self.link(f"{folder}/driver", f"../../../bus/pci/drivers/{driver}")
            self.link(f"sys/class/drm/card{number}/device", f"../../../devices/pci0000:00/{bus}")
        return folder


def gpu_metrics_1_8() -> bytes:
    """The firmware's table of an MI300X at 750 W, 93 % busy; the rest of the 3872 bytes is not filled (ones)."""
    table = bytearray(b"\xff" * 3872)
    struct.pack_into("<HBB6H", table, 0, len(table), 1, 8, 71, 64, 50, 750, 93, 40)
    struct.pack_into("<Q", table, 24, 1000 << 16)  # 1000 J
    struct.pack_into("<6I", table, 40, 5000, 0, 10, 20, 30, 40)
    struct.pack_into("<2H", table, 68, 16, 320)
    return bytes(table)


def amd(tree: Tree) -> None:
    """Two MI300X, one of them with a process of KFD's, beside a card that has another vendor's driver and a connector."""
    for number, bus, unique, busy in ((1, "0000:05:00.0", "8a2f31c06d11e7b4", 93), (0, "0000:85:00.0", "77aa31c06d11e7b4", 0)):
        folder = tree.card(number, bus, "0x1002", "0x74a1", "amdgpu", "0x120000")
        tree.put_all(folder, {
            "unique_id": unique, "product_name": "AMD Instinct MI300X", "gpu_busy_percent": busy, "mem_busy_percent": 40,
            "mem_info_vram_total": 206141652992, "mem_info_vram_used": 283258880, "gpu_metrics": gpu_metrics_1_8(), "pcie_replay_count": 3,
            "power/runtime_status": "active", "ras/umc_err_count": "ue: 0\nce: 12", "ras/gfx_err_count": "ue: 1\nce: 0", "ras/features": "x",
            "pp_dpm_sclk": "0: 132Mhz\n1: 2100Mhz *", "pp_dpm_mclk": "0: 900Mhz\n1: 1300Mhz *",
            "hwmon/hwmon4/name": "amdgpu", "hwmon/hwmon4/power1_input": 750000000, "hwmon/hwmon4/power1_cap": 750000000,
            "hwmon/hwmon4/temp2_label": "junction", "hwmon/hwmon4/temp2_input": 71000,
            "hwmon/hwmon4/temp3_label": "mem", "hwmon/hwmon4/temp3_input": 64000})
    tree.put("sys/class/drm/card1-DP-1/status", "disconnected")
    tree.put("sys/module/amdgpu/version", "6.12.12")
    tree.put_all("sys/class/kfd/kfd/topology/nodes", {
        "0/gpu_id": 0, "0/properties": "cpu_cores_count 96",
        "1/gpu_id": 51545, "1/properties": "simd_count 1216\nlocation_id 1280\ndomain 0",
        "2/gpu_id": 57300, "2/properties": "location_id 34048\ndomain 0"})
    tree.put_all("sys/class/kfd/kfd/proc", {"4242/vram_51545": 2815950848, "4242/vram_57300": 0, "4243/vram_51545": 0,
                                            "4243/queues/0/gpuid": 51545, "4244/vram_51545": 0})


def intel(tree: Tree) -> None:
    """A discrete one by i915, with a client that is open twice."""
    folder = tree.card(0, "0000:03:00.0", "0x8086", "0x56c0", "i915")
    tree.put_all(folder, {"hwmon/hwmon1/name": "i915_gt0", "hwmon/hwmon1/energy1_input": 1, "hwmon/hwmon3/name": "i915_gt1", "hwmon/hwmon3/energy1_input": 2})
    tree.put_all(folder, {"hwmon/hwmon2/name": "i915", "hwmon/hwmon2/energy1_input": 123456789, "hwmon/hwmon2/power1_max": 150000000,
                          "hwmon/hwmon2/power1_rated_max": 160000000})
    tree.put_all("sys/class/drm/card0", {"gt/gt0/rps_act_freq_mhz": 2050, "gt/gt0/throttle_reason_status": 1, "gt/gt0/throttle_reason_pl1": 1,
                                         "gt/gt0/throttle_reason_thermal": 0, "lmem_total_bytes": 14 << 30, "lmem_avail_bytes": 10 << 30})
    for fd in (4, 9):
        tree.put(f"proc/77/fdinfo/{fd}", "pos:\t0\ndrm-driver:\ti915\ndrm-client-id:\t7\ndrm-pdev:\t0000:03:00.0\ndrm-engine-render:\t9288864723 ns")
        tree.link(f"proc/77/fd/{fd}", "/dev/dri/renderD128")
    tree.link("proc/77/fd/0", "/dev/null")


def infiniband(tree: Tree) -> None:
    """A port of InfiniBand, one of RoCE that is down, one of EFA."""
    tree.put_all("sys/devices/pci0000:16/0000:17:00.0/infiniband/mlx5_0", {
        "fw_ver": "28.39.1002", "board_id": "MT_0000000838", "ports/1/state": "4: ACTIVE", "ports/1/rate": "400 Gb/sec (4X NDR)",
        "ports/1/link_layer": "InfiniBand", "ports/1/counters/port_rcv_data": 1000, "ports/1/counters/port_xmit_data": 2000,
        "ports/1/counters/port_xmit_wait": 77, "ports/1/counters/link_downed": 2, "ports/1/counters/symbol_error": 0,
        "ports/1/counters/port_rcv_errors": "N/A (no PMA)", "ports/1/hw_counters/out_of_sequence": 5, "ports/1/hw_counters/lifespan": 10})
    tree.link("sys/devices/pci0000:16/0000:17:00.0/infiniband/mlx5_0/device", "../../../0000:17:00.0")
    tree.put_all("sys/devices/pci0000:16/0000:18:00.0/infiniband/mlx5_1", {
        "ports/1/state": "1: DOWN", "ports/1/rate": "2.5 Gb/sec (1X SDR)", "ports/1/link_layer": "Ethernet",
        "ports/1/hw_counters/np_cnp_sent": 9, "ports/1/hw_counters/rp_cnp_handled": 8})
    tree.put("sys/devices/pci0000:16/0000:18:00.0/net/ens2f0/mtu", 9000)
    tree.link("sys/devices/pci0000:16/0000:18:00.0/infiniband/mlx5_1/device", "../../../0000:18:00.0")
    tree.put_all("sys/devices/pci0000:16/0000:19:00.0/infiniband/rdmap0", {
        "ports/1/state": "4: ACTIVE", "ports/1/link_layer": "Unspecified", "ports/1/hw_counters/rx_bytes": 4096, "ports/1/hw_counters/tx_bytes": 8192,
        "ports/1/hw_counters/retrans_pkts": 6})
    for slot, name in ((17, "mlx5_0"), (18, "mlx5_1"), (19, "rdmap0")):
        tree.link(f"sys/class/infiniband/{name}", f"../../devices/pci0000:16/0000:{slot}:00.0/infiniband/{name}")


def _group_v2(tree: Tree, folder: str, quota: str, throttled: int, **more: str | int) -> None:
    tree.put_all(folder, {"cpu.max": quota, "cpu.stat": f"usage_usec 5000000\nuser_usec 1\nnr_periods 40\nnr_throttled {throttled}\nthrottled_usec 2500000",
                          "memory.current": 1000, "memory.max": 2000, "memory.events": "low 0\nhigh 3\nmax 4\noom 5\noom_kill 6\noom_group_kill 0",
                          "pids.current": 12, "pids.max": "max", **more})


def cgroup_v2(tree: Tree) -> None:
    """A job of SLURM, pods with either driver of the kubelet, and groups that are none of these."""
    base = "sys/fs/cgroup"
    tree.put(f"{base}/cgroup.controllers", "cpuset cpu io memory pids")
    _group_v2(tree, f"{base}/system.slice/slurmstepd.scope/job_4711", "max 100000", 0, **{"pids.max": 500})
    _group_v2(tree, f"{base}/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0", "max 100000", 99)
    _group_v2(tree, f"{base}/system.slice/slurmstepd.scope/system", "max 100000", 99)
    pod = f"{base}/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD.replace('-', '_')}.slice"
    _group_v2(tree, pod, "400000 100000", 7)
    _group_v2(tree, f"{pod}/cri-containerd-{'ab' * 32}.scope", "200000 100000", 30)
    _group_v2(tree, f"{base}/kubepods/besteffort/pod{OTHER_POD}", "max 100000", 0, **{"memory.max": "max"})
    _group_v2(tree, f"{base}/user.slice/job_12", "max 100000", 0)


def cgroup_v1(tree: Tree) -> None:
    base = "sys/fs/cgroup"
    job, pod = "slurm/uid_1000/job_55", f"kubepods/pod{POD}"
    for group in (job, pod):
        tree.put_all(f"{base}/cpu/{group}", {"cpu.cfs_quota_us": 150000, "cpu.cfs_period_us": 100000, "cpuacct.usage": 7000000000,
                                             "cpu.stat": "nr_periods 10\nnr_throttled 4\nthrottled_time 3000000000"})
        tree.put_all(f"{base}/memory/{group}", {"memory.usage_in_bytes": 11, "memory.limit_in_bytes": 9223372036854771712, "memory.failcnt": 2,
                                                "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1"})
        tree.put_all(f"{base}/pids/{group}", {"pids.current": 3, "pids.max": 1000})
    tree.put_all(f"{base}/cpu", {"cpu.cfs_quota_us": -1, "cpu.cfs_period_us": 100000})


def nfs(tree: Tree) -> None:
    """An export that is mounted twice, one whose counters are of another version, and a disk, as Linux writes them (fs/nfs/super.c)."""
    def export(device: str, point: str) -> str:
        return f"""device {device} mounted on {point} with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2
\tage:\t100
\tevents:\t1 2 3
\tbytes:\t1000 2000 3000 4000 5000 6000 7 8
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 832 0 1 0 11 6428 6428 0 12154 0 24 26 5726
\tper-op statistics
\t        NULL: 0 0 0 0 0 0 0 0
\t        READ: 100 103 0 207912 600 6 79386 2500 0
\t       WRITE: 10 10 0 0 0 0 0 500 0
\t     GETATTR: 7 7 0 0 0 0 0 750 0
"""

    tree.put("proc/self/mountstats", "device /dev/sda1 mounted on / with fstype ext4\n" + export("server:/export/data", "/data")
             + export("server:/export/data", "/again") + "device other:/x mounted on /x with fstype nfs statvers=9.9\n\tsomething:\t1 2 3\n")


def mounts(tree: Tree) -> None:
    """Local file systems, a server's, and a local one that only a way through the server's leads to."""
    tree.put("proc/diskstats", "   8       0 sda 10 1 2048 1500 20 2 4096 2500 0 700 4000\n   8       1 sda1 1 1 1 1 1 1 1 1 0 1 1\n 253       0 dm-0 9 9 9 9 9 9 9 9 9 9 9")
    tree.put("sys/block/sda/device/model", "x")
    tree.put("sys/block/dm-0/dm/name", "x")
    tree.put("proc/1/mountinfo", "\n".join((
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
        "23 22 0:20 / /dev rw - devtmpfs udev rw",
        "24 23 0:21 / /dev/shm rw - tmpfs tmpfs rw",
        "30 22 0:50 / /data rw - nfs4 server:/export rw,vers=4.2",
        "31 30 8:17 / /data/scratch rw - xfs /dev/sdb1 rw",
        "32 22 8:33 / /my\\040disk ro,noatime - ext4 /dev/sdc1 rw",
        "33 22 0:60 / /home rw - autofs systemd-1 rw",
        "34 33 8:49 / /home/me rw - ext4 /dev/sdd1 rw",
        "35 22 0:61 / /fuse rw - fuse.sshfs me@host: rw",
        "40 22 0:70 / /var/lib/kubelet/pods/x/volumes/secret rw - tmpfs tmpfs rw",
        "36 22 8:1 /var /again rw - ext4 /dev/sda1 rw",
        "37 99 8:65 / /lost rw - ext4 /dev/sde1 rw",
        "38 39 8:66 / /circle rw - ext4 /dev/sdf1 rw",
        "39 38 8:67 / /round rw - ext4 /dev/sdg1 rw",
        "torn line",
    )))
    for folder in ("dev/shm", "data/scratch", "my disk", "home/me", "fuse", "again", "lost", "circle", "round", "var/lib/kubelet/pods/x/volumes/secret"):
        os.makedirs(tree.root / folder, exist_ok=True)
