# SPDX-License-Identifier: Apache-2.0
"""The exam of `holdup doctor`: for each check what is wrong on a node and what only looks like it.

A row changes one thing of a healthy node (nodes.py).  Verdicts are those of an engineer who reads the file; most were written down
before the check was seen to answer, some were lowered because its reason was good.  Two where either is right.  A row without verdicts
is the right twin of what is wrong: nothing may be said of it.  Each check has one on which it looks and says "ok".
"""
from __future__ import annotations

import dataclasses
from typing import Any

from tests.doctor.nodes import (EXT4, FUSE, GIB, GPU, LUSTRE, OVERLAY, PAIRS, SITE, TMPFS, XFS, Link, aer, card_place, config_space, filesystem, gpu_place, meminfo, mountinfo, pressure,
                                vmstat)


@dataclasses.dataclass(frozen=True)
class Case:
    check: str
    name: str
    base: str
    changes: dict[str, Any]
    verdicts: tuple[str, ...] = ()
    says: str = ""  # a word of the evidence or of its subject
    options: tuple[str, ...] = ()


F, W, N = ("failure",), ("warning",), ("note",)
WN = ("warning", "note")
FW = ("failure", "warning")
CASES: list[Case] = []


def wrong(check: str, name: str, verdicts: tuple[str, ...], changes: dict[str, Any], base: str = "h100", says: str = "", options: tuple[str, ...] = ()) -> None:
    CASES.append(Case(check, name, base, changes, verdicts, says, options))


def right(check: str, name: str, changes: dict[str, Any], base: str = "h100", options: tuple[str, ...] = ()) -> None:
    CASES.append(Case(check, name, base, changes, (), "", options))


GROUP = "sys/fs/cgroup/user.slice/user-1000.slice/session-4.scope"
CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"


def each_cpu(name: str, content: Any) -> dict[str, Any]:
    return {f"{CPU}/{name.replace('cpufreq/', f'cpufreq/policy{i}/')}": content for i in range(32)}


# -- CPUs ---------------------------------------------------------------------------------------------------------------------------------------------------
wrong("cpu-quota", "four CPUs of 32", WN, {f"{GROUP}/cpu.max": "400000 100000"}, says="4.0")
wrong("cpu-quota", "the quota of a group above", WN, {"sys/fs/cgroup/user.slice/cpu.max": "200000 100000"})
wrong("cpu-quota", "a container's", WN, {"sys/fs/cgroup/cpu.max": "800000 100000"}, base="docker")
wrong("cpu-quota", "throttled in a third of the periods", W,
      {f"{GROUP}/cpu.max": "3200000 100000", f"{GROUP}/cpu.stat": "usage_usec 90000000\nnr_periods 9000\nnr_throttled 3000\nthrottled_usec 500000000"}, says="3000")
wrong("cpu-quota", "cgroup v1", WN, {"proc/self/cgroup": "4:cpu,cpuacct:/job",
      "proc/self/mountinfo": mountinfo(**{"/sys/fs/cgroup": "25 24 0:23 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct"}),
                                    "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": 200000, "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": 100000,
                                    "sys/fs/cgroup/cpu,cpuacct/job/cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0"})
right("cpu-quota", "as much as there is", {f"{GROUP}/cpu.max": "3200000 100000"})
right("cpu-quota", "throttled twice", {f"{GROUP}/cpu.max": "3200000 100000", f"{GROUP}/cpu.stat": "usage_usec 9\nnr_periods 90000\nnr_throttled 2\nthrottled_usec 1000"})
right("cpu-quota", "cgroup v1 without one", {"proc/self/cgroup": "4:cpu,cpuacct:/job",
      "proc/self/mountinfo": mountinfo(**{"/sys/fs/cgroup": "25 24 0:23 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct"}),
                                             "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": -1, "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": 100000})
wrong("cpu-threads", "each rank has threads for all CPUs", W, {"variable:OMP_NUM_THREADS": "32"}, base="slurm", says="32")
wrong("cpu-threads", "torchrun with 16 threads each", W, {"variable:OMP_NUM_THREADS": "16", "variable:LOCAL_WORLD_SIZE": "8", "variable:WORLD_SIZE": "8", "variable:RANK": "0"}, says="16")
right("cpu-threads", "a thread for each rank", {"variable:OMP_NUM_THREADS": "1"}, base="slurm")
right("cpu-threads", "one rank with all CPUs", {"variable:OMP_NUM_THREADS": "32"})
SLURM_GPU = {"variable:SLURM_STEP_GPUS": "0", "variable:CUDA_VISIBLE_DEVICES": "0"}
wrong("cpu-affinity", "the other socket", W, {"fact:cpus.allowed": "16-19", **SLURM_GPU}, base="slurm", says="16-19")
wrong("cpu-affinity", "eight GPUs are visible, the rank's is not known", ("not checked", "warning"), {"fact:cpus.allowed": "16-19"}, base="slurm")
right("cpu-affinity", "a rank of the other socket", {"fact:cpus.allowed": "16-19", "variable:SLURM_STEP_GPUS": "4", "variable:CUDA_VISIBLE_DEVICES": "0"}, base="slurm")
right("cpu-affinity", "its GPU by UUID", {"fact:cpus.allowed": "16-19", "variable:CUDA_VISIBLE_DEVICES": "GPU-00000005-1111-2222-3333-444444444444"}, base="slurm")
right("cpu-affinity", "all CPUs", {"fact:cpus.allowed": "0-31"}, base="slurm")
wrong("numa-balancing", "on", W, {"proc/sys/kernel/numa_balancing": 1}, says="1")
right("numa-balancing", "a kernel without it", {"proc/sys/kernel/numa_balancing": None})
right("numa-balancing", "on with one node", {"proc/sys/kernel/numa_balancing": 1, f"{NODE}/online": 0, f"{NODE}/has_memory": 0, f"{NODE}/possible": 0, f"{NODE}/node1/": None})
wrong("cpu-governor", "powersave of acpi-cpufreq", W, {**each_cpu("cpufreq/scaling_governor", "powersave"), **each_cpu("cpufreq/scaling_driver", "acpi-cpufreq"),
                                                       **each_cpu("cpufreq/energy_performance_preference", None)}, says="powersave")
wrong("cpu-governor", "intel_pstate saves power", WN, {**each_cpu("cpufreq/scaling_governor", "powersave"), **each_cpu("cpufreq/energy_performance_preference", "power")})
wrong("cpu-governor", "no turbo", WN, {f"{CPU}/intel_pstate/no_turbo": 1}, says="no_turbo")
wrong("cpu-governor", "frequency is capped", WN, each_cpu("cpufreq/scaling_max_freq", 1200000))
right("cpu-governor", "intel_pstate's powersave that prefers performance", each_cpu("cpufreq/scaling_governor", "powersave"))
wrong("cpu-governor", "schedutil", ("ok", "note"), {**each_cpu("cpufreq/scaling_governor", "schedutil"), **each_cpu("cpufreq/scaling_driver", "intel_cpufreq"),
      **each_cpu("cpufreq/energy_performance_preference", None)})
right("cpu-governor", "a virtual machine", {f"{CPU}/intel_pstate/": None, f"{CPU}/cpufreq/": None, **{f"{CPU}/cpu{i}/cpufreq": None for i in range(32)}})
DEEP = {"name": "C10", "latency": 890, "disable": 0, "desc": "MWAIT 0x60", "usage": 1000000, "time": 90000000}
wrong("cpu-idle", "a state that takes 890 us to leave", WN, {f"{CPU}/cpu{i}/cpuidle/state3/{k}": v for i in range(32) for k, v in DEEP.items()}, says="890")
right("cpu-idle", "it is switched off", {f"{CPU}/cpu{i}/cpuidle/state3/{k}": v for i in range(32) for k, v in {**DEEP, "disable": 1}.items()})
wrong("cpu-steal", "a tenth of the time", W, {"proc/stat": "cpu  8000000 0 1000000 10000000 0 0 0 2000000 0 0\ncpu0 8000000 0 1000000 10000000 0 0 0 2000000 0 0\nbtime 1790000000"})
right("cpu-steal", "a thousandth", {"proc/stat": "cpu  8000000 0 1000000 10000000 0 0 0 20000 0 0\ncpu0 8000000 0 1000000 10000000 0 0 0 20000 0 0\nbtime 1790000000"})
wrong("pressure", "memory", W, {"proc/pressure/memory": pressure(40, 30)}, says="memory")
wrong("pressure", "CPUs", WN, {"proc/pressure/cpu": pressure(80)}, says="cpu")
wrong("pressure", "storage", WN, {"proc/pressure/io": pressure(70, 60)}, says="io")
right("pressure", "a little", {"proc/pressure/cpu": pressure(3), "proc/pressure/io": pressure(2, 1), "proc/pressure/memory": pressure(0.1)})
wrong("pressure", "a kernel without it", ("not checked",), {"proc/pressure/": None})
wrong("kernel", "IBRS on each entry into the kernel", N, {f"{CPU}/vulnerabilities/retbleed": "Mitigation: IBRS"}, says="retbleed")
right("kernel", "enhanced IBRS", {f"{CPU}/vulnerabilities/retbleed": "Mitigation: Enhanced IBRS"})

# -- memory -------------------------------------------------------------------------------------------------------------------------------------------------
wrong("shm", "Docker's 64 MiB", FW, {"fact:filesystem:/dev/shm": filesystem(TMPFS, 64 << 20, 1.0)}, base="docker", says="64")
wrong("shm", "64 MiB outside of a container", FW, {"fact:filesystem:/dev/shm": filesystem(TMPFS, 64 << 20, 1.0)})
wrong("shm", "full", FW, {"fact:filesystem:/dev/shm": filesystem(TMPFS, 1007 * GIB, 0.00001)})
right("shm", "64 GiB", {"fact:filesystem:/dev/shm": filesystem(TMPFS, 64 * GIB, 0.95)}, base="docker")
STEP = "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0"
wrong("memory-cgroup", "95 % of the limit by processes", W, {f"{STEP}/memory.current": 1900 * 10**9, f"{STEP}/memory.stat": "anon 1890000000000\nfile 1000\ninactive_file 0\nactive_file 0"},
      base="slurm")
wrong("memory-cgroup", "a process was killed", WN, {f"{STEP}/memory.events": "low 0\nhigh 0\nmax 500\noom 3\noom_kill 3"}, base="slurm", says="killed")
right("memory-cgroup", "95 % of the limit by files that were read", {f"{STEP}/memory.current": 1900 * 10**9,
      f"{STEP}/memory.stat": "anon 40000000000\nfile 1860000000000\ninactive_file 1850000000000\nactive_file 0"}, base="slurm")
wrong("memory-free", "two of a hundred", W, {"proc/meminfo": meminfo(MemFree=20000000, MemAvailable=42000000, AnonPages=2000000000, Cached=1000000)})
right("memory-free", "files that were read fill it", {"proc/meminfo": meminfo(MemFree=8000000, Cached=1900000000)})
wrong("memory-ecc", "an uncorrected error", FW, {"sys/devices/system/edac/mc/mc0/ue_count": 1, "sys/devices/system/edac/mc/mc0/ce_count": 0, "sys/devices/system/edac/mc/mc0/mc_name": "i10nm"})
wrong("memory-ecc", "hundreds of thousands corrected", WN, {"sys/devices/system/edac/mc/mc1/ue_count": 0, "sys/devices/system/edac/mc/mc1/ce_count": 300000,
      "sys/devices/system/edac/mc/mc1/mc_name": "i10nm"})
right("memory-ecc", "none", {"sys/devices/system/edac/mc/mc0/ue_count": 0, "sys/devices/system/edac/mc/mc0/ce_count": 0, "sys/devices/system/edac/mc/mc0/mc_name": "i10nm"})
SWAP = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/nvme0n1p3                          partition\t67108860\t{}\t-2"
wrong("swap", "in use, and read back all the time", WN, {"proc/meminfo": meminfo(SwapTotal=67108860, SwapFree=20000000, SwapCached=1000000), "proc/swaps": SWAP.format(47108860),
                                                         "proc/vmstat": vmstat(pswpin=900000000, pswpout=900000000)})
right("swap", "there and not used", {"proc/meminfo": meminfo(SwapTotal=67108860, SwapFree=67108860), "proc/swaps": SWAP.format(0)})
right("swap", "some idle pages of a daemon", {"proc/meminfo": meminfo(SwapTotal=67108860, SwapFree=67100000), "proc/swaps": SWAP.format(8860), "proc/vmstat": vmstat(pswpin=20, pswpout=3000)})
wrong("overcommit", "strict", WN, {"proc/sys/vm/overcommit_memory": 2}, says="2")
right("overcommit", "always", {"proc/sys/vm/overcommit_memory": 1})
wrong("map-count", "lower than the kernel's default", WN, {"proc/sys/vm/max_map_count": 16384}, says="16384")
right("map-count", "the kernel's default", {"proc/sys/vm/max_map_count": 65530})
wrong("huge-pages", "never", N, {"sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]"}, says="never")
wrong("huge-pages", "each fault may stall", N, {"sys/kernel/mm/transparent_hugepage/defrag": "[always] defer defer+madvise madvise never",
      "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never"})
right("huge-pages", "always, without stalls", {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never"})
wrong("huge-pages-reserved", "half of the memory, unused", WN, {"proc/meminfo": meminfo(HugePages_Total=500000, HugePages_Free=500000, Hugetlb=1024000000, MemAvailable=1000000000),
      "proc/sys/vm/nr_hugepages": 500000})
right("huge-pages-reserved", "in use", {"proc/meminfo": meminfo(HugePages_Total=5000, HugePages_Free=0, Hugetlb=10240000), "proc/sys/vm/nr_hugepages": 5000})

# -- storage ------------------------------------------------------------------------------------------------------------------------------------------------
wrong("filesystem", "the job runs on NFS", WN, {"fact:cwd": "/home/kim", "home/kim/.exists": ""}, says="NFS")
wrong("filesystem", "temporary files on NFS", WN, {"variable:TMPDIR": "/home/kim"}, says="/home/kim")
wrong("filesystem", "data on sshfs", WN, {"proc/self/mountinfo": mountinfo(**{"/data": "90 22 0:77 / /data rw - fuse.sshfs kim@filer:/data rw,user_id=1000"}),
      "fact:filesystem:/data": filesystem(FUSE, 1000 * GIB),
                                          "data/.exists": ""}, options=("--path", "/data"), says="/data")
wrong("filesystem", "data in a container's layer", WN, {"fact:cwd": "/work", "fact:filesystem:/work": filesystem(OVERLAY, 1000 * GIB), "work/.exists": ""}, base="docker", says="overlay")
wrong("filesystem", "Lustre", N, {"proc/self/mountinfo": mountinfo(**{"/scratch": "28 22 0:55 / /scratch rw,noatime - lustre 192.0.2.1@o2ib:/scratch rw,flock,lazystatfs"}),
                               "fact:filesystem:/scratch": filesystem(LUSTRE, 10**6 * GIB), "fact:filesystem:/scratch/run": filesystem(LUSTRE, 10**6 * GIB)}, says="Lustre")
wrong("filesystem", "temporary files in memory", N, {"proc/self/mountinfo": mountinfo(**{"/tmp": "91 22 0:78 / /tmp rw,nosuid,nodev - tmpfs tmpfs rw,size=1000000000k"}),
      "fact:filesystem:/tmp": filesystem(TMPFS, 1000 * GIB, 0.99)}, says="tmpfs")
wrong("space", "no room where the job runs", F, {"fact:filesystem:/scratch/run": filesystem(XFS, 7000 * GIB, 0.0), "fact:filesystem:/scratch": filesystem(XFS, 7000 * GIB, 0.0)}, says="/scratch")
wrong("space", "no inodes", F, {"fact:filesystem:/scratch/run": filesystem(EXT4, 7000 * GIB, free_inodes=0.0), "fact:filesystem:/scratch": filesystem(EXT4, 7000 * GIB, free_inodes=0.0)}, says="inode")
wrong("space", "/tmp is full", FW, {"fact:filesystem:/tmp": filesystem(EXT4, 100 * GIB, 0.0)}, says="/tmp")
wrong("filesystem", "temporary files on a read-only disk", FW, {"fact:filesystem:/tmp": filesystem(EXT4, 100 * GIB, flags=0x1001)}, says="/tmp")
right("filesystem", "temporary files on a disk of the node", {"variable:TMPDIR": "/scratch/run"})
right("space", "data that are read-only", {"fact:filesystem:/scratch/run": filesystem(XFS, 7000 * GIB, flags=0x1001), "fact:filesystem:/scratch": filesystem(XFS, 7000 * GIB, flags=0x1001)})
right("space", "a tenth of 7 TB", {"fact:filesystem:/scratch/run": filesystem(XFS, 7000 * GIB, 0.1), "fact:filesystem:/scratch": filesystem(XFS, 7000 * GIB, 0.1)})
right("space", "a file system that does not count inodes", {"fact:filesystem:/scratch/run": filesystem(XFS, 7000 * GIB, inodes=0), "fact:filesystem:/scratch": filesystem(XFS, 7000 * GIB, inodes=0)})
SDB = "sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sdb"
DISK = {"proc/self/mountinfo": mountinfo(**{"/scratch": "28 22 8:17 / /scratch rw,noatime shared:7 - xfs /dev/sdb1 rw"}), f"{SDB}/sdb1/dev": "8:17", f"{SDB}/sdb1/partition": 1, f"{SDB}/dev": "8:16",
        f"{SDB}/queue/scheduler": "[mq-deadline] none", f"{SDB}/queue/read_ahead_kb": 128, f"{SDB}/queue/nr_requests": 64, "sys/block/sdb": Link("../" + SDB[4:]),
        "sys/dev/block/8:17": Link("../../" + SDB[4:] + "/sdb1"), "sys/dev/block/8:16": Link("../../" + SDB[4:]), "sys/class/block/sdb1": Link("../../" + SDB[4:] + "/sdb1")}
wrong("disk-queue", "a disk that turns", N, {**DISK, f"{SDB}/queue/rotational": 1}, says="rotational")
right("disk-queue", "an SSD of SATA", {**DISK, f"{SDB}/queue/rotational": 0})

# -- network ------------------------------------------------------------------------------------------------------------------------------------------------
ETH = "sys/devices/pci0000:00/0000:00:1c.0/0000:04:00.0/net/eth0"
wrong("interfaces", "100 Mb/s", WN, {f"{ETH}/speed": 100}, says="100")
wrong("interfaces", "half duplex", W, {f"{ETH}/duplex": "half"}, says="half")
wrong("interfaces", "a bad cable", W, {f"{ETH}/statistics/rx_errors": 5000000, f"{ETH}/statistics/rx_crc_errors": 5000000, f"{ETH}/statistics/rx_packets": 900000000}, says="eth0")
right("interfaces", "a few errors of long ago", {f"{ETH}/statistics/rx_errors": 3, f"{ETH}/statistics/rx_dropped": 40})
right("interfaces", "a port without a cable", {f"sys/devices/pci0000:00/0000:00:1c.0/0000:04:00.1/net/eth9/{k}": v for k, v in
                                               {"operstate": "down", "carrier": 0, "speed": -1, "mtu": 1500, "type": 1, "flags": "0x1002", "duplex": "unknown"}.items()}
      | {"sys/devices/pci0000:00/0000:00:1c.0/0000:04:00.1/net/eth9/device": Link("../../../0000:04:00.1"), "sys/class/net/eth9": Link("../../devices/pci0000:00/0000:00:1c.0/0000:04:00.1/net/eth9")})
wrong("default-route", "the slow interface of two, and no InfiniBand", WN, {f"{ETH}/speed": 1000}, base="ethernet", says="eth0")
right("default-route", "the fast one is chosen", {f"{ETH}/speed": 1000, "variable:NCCL_SOCKET_IFNAME": "eth1", "variable:GLOO_SOCKET_IFNAME": "eth1"}, base="ethernet")
right("default-route", "InfiniBand carries the data", {f"{ETH}/speed": 1000})
wrong("rendezvous", "nobody knows the first rank's name", F, {"variable:MASTER_ADDR": "gpu99", "fact:address:gpu99": "error: Name or service not known"}, base="slurm", says="gpu99")
wrong("rendezvous", "localhost with two nodes", FW, {"variable:MASTER_ADDR": "localhost", "fact:address:localhost": "127.0.0.1"}, base="slurm")
right("rendezvous", "localhost with one node", {"variable:MASTER_ADDR": "localhost", "fact:address:localhost": "127.0.0.1", "variable:SLURM_NNODES": "1", "variable:SLURM_JOB_NUM_NODES": "1",
                                                "variable:WORLD_SIZE": "8", "variable:SLURM_NTASKS": "8", "variable:SLURM_STEP_NUM_TASKS": "8", "variable:SLURM_TASKS_PER_NODE": "8",
                                                "variable:SLURM_STEP_TASKS_PER_NODE": "8", "variable:SLURM_JOB_NODELIST": "gpu17"}, base="slurm")
wrong("node-name", "its own name is the loopback", WN, {"fact:address:gpu17": "127.0.1.1", "variable:MASTER_ADDR": "gpu18"}, base="slurm", says="127.0.1.1")
right("node-name", "both, the outer one first", {"fact:address:gpu17": "192.0.2.17 2001:db8::17", "variable:MASTER_ADDR": "gpu18"}, base="slurm")


def port(i: int, name: str, content: Any) -> dict[str, Any]:
    return {f"sys/devices/{card_place(i)}/infiniband/mlx5_{i}/ports/1/{name}": content}


wrong("ib-port", "a cable is out", F, {**port(3, "state", "1: DOWN"), **port(3, "phys_state", "2: Polling")}, says="mlx5_3")
wrong("ib-port", "no subnet manager", F, port(0, "state", "2: INIT"), says="mlx5_0")
wrong("ib-port", "half the lanes", W, port(5, "rate", "200 Gb/sec (2X NDR)"), says="mlx5_5")
right("ib-port", "all cards are of the slower kind", {k: v for i in range(8) for k, v in port(i, "rate", "200 Gb/sec (4X HDR)").items()})
wrong("ib-errors", "symbols", W, port(2, "counters/symbol_error", 4000000), says="mlx5_2")
wrong("ib-errors", "the link fell down often", W, port(2, "counters/link_downed", 200), says="link_downed")
right("ib-errors", "once, as at the start", port(2, "counters/link_downed", 1))
right("ib-errors", "others were busy", port(2, "counters/port_xmit_wait", 9 * 10**9))
wrong("roce", "small packets", WN, {f"sys/devices/{card_place(i)}/net/ib{i}/mtu": 1500 for i in range(8)}, base="roce", says="1500")
wrong("roce", "only version 1", WN, {k: v for i in range(8) for n in (2, 3) for k, v in port(i, f"gid_attrs/types/{n}", None).items()}, base="roce", says="v2")
right("roce", "jumbo packets", {f"sys/devices/{card_place(i)}/net/ib{i}/mtu": 4200 for i in range(8)}, base="roce")
VERSION = "NVRM version: NVIDIA UNIX {} Kernel Module{}  {}  Wed Feb 26 02:00:00 UTC 2025"
CLOSED = {"proc/driver/nvidia/version": VERSION.format("x86_64", "", "570.124.06")}
NO_PEERMEM = {"sys/module/nvidia_peermem/": None, "proc/modules": "nvidia 10000000 200 - Live 0x0\nnvidia_uvm 1 4 - Live 0x0\nmlx5_core 1 1 - Live 0x0\nib_core 1 1 - Live 0x0"}
wrong("gpudirect-rdma", "closed modules without nvidia_peermem", W, {**CLOSED, **NO_PEERMEM})
right("gpudirect-rdma", "open modules use dma-buf", NO_PEERMEM)
right("gpudirect-rdma", "closed modules with nvidia_peermem", CLOSED)

# -- clock and rights ---------------------------------------------------------------------------------------------------------------------------------------
SOURCE = "sys/devices/system/clocksource/clocksource0/current_clocksource"
wrong("clocksource", "hpet", W, {SOURCE: "hpet"}, says="hpet")
wrong("clocksource", "acpi_pm", W, {SOURCE: "acpi_pm"}, says="acpi_pm")
right("clocksource", "kvm-clock", {SOURCE: "kvm-clock"})
wrong("clock-sync", "not synchronised", WN, {"fact:clock.state": 5, "fact:clock.status": 64, "fact:clock.max_error_us": 16000000}, says="64")
right("clock-sync", "the next second is a leap second", {"fact:clock.state": 1})
wrong("open-files", "1,024 in a job", W, {"fact:limit.nofile": "1024 1024"}, says="1024", options=("--job",))
wrong("open-files", "1,024 in a shell, which is no job", N, {"fact:limit.nofile": "1024 1024"}, says="1024")
right("open-files", "65,536", {"fact:limit.nofile": "65536 65536"})
wrong("processes", "512", WN, {"fact:limit.nproc": "512 512"}, says="512")
right("processes", "what Linux gives on a large node", {"fact:limit.nproc": "8250000 8250000"})
wrong("memlock", "64 KiB with InfiniBand", F, {"fact:limit.memlock": "65536 65536"}, says="64 KiB", options=("--job",))
wrong("memlock", "8 MiB in a container", F, {"fact:limit.memlock": "8388608 8388608"}, base="docker", options=("--job",))
wrong("memlock", "64 KiB in a shell, which is no job", N, {"fact:limit.memlock": "65536 65536"})
right("memlock", "8 MiB without InfiniBand", {"fact:limit.memlock": "8388608 8388608"}, base="cpu")
right("memlock", "64 GiB", {"fact:limit.memlock": "68719476736 68719476736"})
wrong("perf", "nobody may", N, {"proc/sys/kernel/perf_event_paranoid": 4}, says="4")
right("perf", "as the kernel comes", {"proc/sys/kernel/perf_event_paranoid": 2})
wrong("ptrace", "nobody may", N, {"proc/sys/kernel/yama/ptrace_scope": 3}, says="3")
right("ptrace", "children only", {"proc/sys/kernel/yama/ptrace_scope": 1})
wrong("gpu-counters", "administrators only", N, {"proc/driver/nvidia/params": "RmProfilingAdminOnly: 1"}, says="RmProfilingAdminOnly")
right("gpu-counters", "users, too, and another parameter is 1", {"proc/driver/nvidia/params": "RmLogonRC: 1\nRmProfilingAdminOnly: 0\nEnableResizableBar: 1"})



# -- driver -------------------------------------------------------------------------------------------------------------------------------------------------
def gpus(i: int | None = None, **numbers: Any) -> dict[str, Any]:
    """Other answers of NVML for one GPU, or for all."""
    return {f"fact:gpu.{k}.{name}": value for k in (range(8) if i is None else (i,)) for name, value in numbers.items()}


NO_NVML = {f"fact:{name}": None for name in ("nvml", "nvml.driver", "nvml.cuda")} | {f"fact:gpu.{i}.{name}": None for i in range(8) for name in (*GPU, "bus", "name", "uuid", "minor", "peer")}
NO_DRIVER = {**NO_NVML, "proc/driver/nvidia/": None, **{f"sys/module/{m}/": None for m in ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_peermem")},
             **{f"sys/devices/{gpu_place(i)}/driver": None for i in range(8)}, "proc/modules": "mlx5_core 1 1 - Live 0x0\nib_core 1 1 - Live 0x0",
             **{f"fact:device:/dev/{n}": "absent" for n in ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", *(f"nvidia{i}" for i in range(8)))}}
wrong("gpu-driver", "no driver", F, NO_DRIVER)
wrong("gpu-driver", "nouveau", F, {**NO_DRIVER, "sys/module/nouveau/refcnt": 1, **{f"sys/devices/{gpu_place(i)}/driver": Link("../../../../../../bus/pci/drivers/nouveau") for i in range(8)}},
      says="nouveau")
right("gpu-driver", "given to virtual machines", {**NO_DRIVER, **{f"sys/devices/{gpu_place(i)}/driver": Link("../../../../../../bus/pci/drivers/vfio-pci") for i in range(8)}})
right("gpu-driver", "one of eight is given to a virtual machine", {f"sys/devices/{gpu_place(7)}/driver": Link("../../../../../../bus/pci/drivers/vfio-pci")})
wrong("driver-libraries", "updated and not restarted", F, {**NO_NVML, "fact:nvml": 18, "usr/lib/x86_64-linux-gnu/libcuda.so.1": Link("libcuda.so.580.65.06"),
      "usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06": "",
                                                           "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1": Link("libnvidia-ml.so.580.65.06"), "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.580.65.06": ""})


def build(version: str, cuda: str | None) -> dict[str, Any]:
    """Another PyTorch, with CUDA's runtime of its version."""
    major = (cuda or "12").split(".")[0]
    package = f"nvidia_cuda_runtime_cu12-{cuda}.90" if major == "12" else f"nvidia_cuda_runtime-{cuda}.48"
    other = {f"{SITE}/nvidia_cuda_runtime_cu12-12.8.57.dist-info/": None, **({f"{SITE}/{package}.dist-info/METADATA": "Name: x"} if cuda else {})}
    return {f"{SITE}/torch/version.py": f"__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = {cuda!r}\nhip: Optional[str] = None", f"{SITE}/torch-2.7.0+cu128.dist-info/": None,
            f"{SITE}/torch-{version}.dist-info/METADATA": f"Name: torch\nVersion: {version}", **other}


def driver(version: str, cuda: int) -> dict[str, Any]:
    """Another driver, with its libraries."""
    lib = "usr/lib/x86_64-linux-gnu"
    return {"proc/driver/nvidia/version": VERSION.format("x86_64", "", version), "sys/module/nvidia/version": version, "fact:nvml.driver": version, "fact:nvml.cuda": cuda,
            **{k: v for n in ("libcuda.so", "libnvidia-ml.so") for k, v in {f"{lib}/{n}.1": Link(f"{n}.{version}"), f"{lib}/{n}.{version}": ""}.items()}}


wrong("cuda-driver", "PyTorch for CUDA 13 on a driver of CUDA 12.8", F, build("2.9.0+cu130", "13.0"), says="13.0")
wrong("cuda-driver", "PyTorch for CUDA 12 on a driver of CUDA 11.4", F, driver("470.256.02", 11040), says="12.8")
wrong("cuda-driver", "a newer minor version, which runs", ("ok", "note"), build("2.8.0+cu129", "12.9"))
right("cuda-driver", "an older one", build("2.5.1+cu121", "12.1"))
right("cuda-driver", "an older one of CUDA 11", build("2.1.0+cu118", "11.8"))
right("cuda-driver", "a new driver", driver("580.95.05", 13000))
right("driver-libraries", "updated and restarted", driver("580.95.05", 13000))
wrong("gpu-devices", "the container's group lost them", FW, {f"fact:device:/dev/nvidia{i}": f"c 195:{i} 666 0:0 --" for i in range(8)}, base="docker", says="/dev/nvidia")
wrong("gpu-devices", "closed to users", FW, {"fact:device:/dev/nvidiactl": "c 195:255 600 0:0 --"}, says="nvidiactl")
wrong("gpu-devices", "no nvidia-uvm, which the first program makes", N, {"fact:device:/dev/nvidia-uvm": "absent"}, says="nvidia-uvm")
wrong("gpu-devices", "no nvidia-uvm in a container", ("failure", "warning", "note"), {"fact:device:/dev/nvidia-uvm": "absent"}, base="docker", says="nvidia-uvm")
right("gpu-devices", "closed to all but a group that the user is in", {f"fact:device:/dev/nvidia{i}": f"c 195:{i} 660 0:44 rw" for i in range(8)})

# -- GPUs ---------------------------------------------------------------------------------------------------------------------------------------------------
LOST = {f"fact:gpu.7.{name}": None for name in (*GPU, "bus", "name", "uuid", "minor", "peer")}
wrong("gpu-count", "one is missing", F, LOST, says="0000:db:00.0")
wrong("gpu-count", "one is lost", F, {**LOST, "fact:gpu.7.error": 15})
right("gpu-count", "a container has four of eight", {
    **{f"fact:gpu.{i}.{name}": None for i in range(4, 8) for name in (*GPU, "bus", "name", "uuid", "minor", "peer")}, **{f"fact:device:/dev/nvidia{i}": "absent" for i in range(4, 8)},
    **{f"dev/nvidia{i}": None for i in range(4, 8)}, **{f"proc/driver/nvidia/gpus/0000:{PAIRS[i][2]:02x}:00.0/": None for i in range(4, 8)}}, base="docker")
wrong("gpu-recovery", "it asks for a reset", F, gpus(2, recovery=1), says="2")
wrong("gpu-recovery", "it asks for a reboot", F, gpus(2, recovery=2), says="2")
right("gpu-recovery", "one does not say, as those of before", gpus(2, recovery=None))
LOG = "6,902,1200000,-;nvidia-uvm: Loaded the UVM driver\n3,950,863900000000,-;NVRM: Xid (PCI:0000:3b:00): {}"  # 100 seconds ago
OFF_THE_BUS = {"dev/kmsg": LOG.format("79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")}
wrong("gpu-xid", "off the bus", F, {**OFF_THE_BUS, **gpus(1, recovery=2)}, says="79")
wrong("gpu-xid", "off the bus, says the log alone", F, {**OFF_THE_BUS, **NO_NVML}, says="79")
wrong("gpu-xid", "off the bus and in use again", W, OFF_THE_BUS, says="79")
wrong("gpu-xid", "a double bit error", FW,
      {"dev/kmsg": LOG.format("48, pid=4711, name=python, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 2")}, says="48")
wrong("gpu-xid", "a program read where it may not", WN, {"dev/kmsg": LOG.format("31, pid=4711, name=python, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS")}, says="31")
wrong("gpu-xid", "off the bus nine days ago, and there again", N, {"dev/kmsg": LOG.replace("863900", "86400").format("79, pid=0, name=x, GPU has fallen off the bus.")}, says="79")
wrong("gpu-xid", "the log is closed to users", ("not checked",), {"denied": ["/dev/kmsg"]})
right("gpu-xid", "the driver says other things", {"dev/kmsg": "6,901,1100000,-;NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.124.06\n"
                                                  "4,950,863900000000,-;NVRM: GPU at PCI:0000:3b:00: GPU-00000001-1111-2222-3333-444444444444"})
wrong("gpu-ecc", "uncorrectable errors", FW, gpus(4, uncorrected=2), says="2")
wrong("gpu-ecc", "switched off", WN, gpus(4, ecc=0, ecc_next=0), says="4")
right("gpu-ecc", "corrected errors", gpus(4, corrected=3))
right("gpu-ecc", "a card that has none", gpus(ecc=None, ecc_next=None, corrected=None, uncorrected=None))
wrong("gpu-rows", "a row waits for a reset", W, gpus(1, rows_pending=1), says="1")
wrong("gpu-rows", "no spare row", F, gpus(1, rows_failed=1), says="1")
wrong("gpu-rows", "a page waits for a reset", W, gpus(1, pages_pending=1), says="1")
right("gpu-rows", "cards that have pages instead of rows, and none waits", gpus(rows_pending=None, rows_failed=None, pages_pending=0))
wrong("gpu-throttle", "too hot", W, gpus(6, reasons=0x48, use=99, clock=900, celsius=90), says="6")
wrong("gpu-throttle", "the power supply says brake", W, gpus(6, reasons=0x88, use=99, clock=300), says="6")
right("gpu-throttle", "idle", gpus(6, reasons=1))
wrong("gpu-throttle", "at its power limit, under load", ("ok", "note"), gpus(reasons=4, use=99, clock=1700, power=700000))
wrong("gpu-temperature", "two degrees are left", W, gpus(5, margin=2, celsius=85), says="5")
right("gpu-temperature", "20 are left", gpus(5, margin=20, celsius=67))
wrong("gpu-power-limit", "500 of 700 W", W, gpus(3, power_limit=500000), says="500")
right("gpu-power-limit", "more than by default", gpus(power_limit=700000, power_default=650000))
wrong("gpu-clocks", "held at 1200 MHz", W, gpus(3, chosen_clock=1200), says="1200")
right("gpu-clocks", "above the default", gpus(chosen_clock=1980, default_clock=1755))
wrong("gpu-persistence", "off", W, gpus(persistence=0))
right("gpu-persistence", "on without nvidia-persistenced", {"run/nvidia-persistenced/": None})
wrong("gpu-bar", "256 MiB", N, gpus(bar=268435456), says="256")
right("gpu-bar", "16 GiB of a card that has 15", gpus(memory=16106127360, bar=17179869184))
wrong("gpu-mode", "no program may use it", FW, gpus(2, compute_mode=2), says="2")
wrong("gpu-mode", "one program may use it", WN, gpus(2, compute_mode=3), says="2")
wrong("gpu-mode", "divided, with no parts", ("failure", "warning", "note"), gpus(2, mig=1, parts=0), says="2")
wrong("gpu-mode", "divided into seven", N, gpus(2, mig=1, parts=7), says="2")
right("gpu-mode", "a folder for MPS in which no server is", {"variable:CUDA_MPS_PIPE_DIRECTORY": "/tmp/mps", "tmp/mps/log": ""})
PROCESS = {"comm": "python", "cmdline": b"python\0train.py\0", "status": "Name:\tpython\nUid:\t1001\t1001\t1001\t1001", "stat": "5555 (python) R 1 5555 5555 0 -1",
      "cgroup": "0::/user.slice/user-1001.slice"}
wrong("gpu-processes", "somebody computes on one", WN, {**gpus(2, pid=5555, use=90), **{f"proc/5555/{k}": v for k, v in PROCESS.items()}}, says="5555")
right("gpu-processes", "a program that uses none", {f"proc/5555/{k}": v for k, v in PROCESS.items()})
wrong("gpu-profilers", "DCGM", WN, {f"proc/777/{k}": v for k, v in {**PROCESS, "comm": "nv-hostengine", "cmdline": b"/usr/bin/nv-hostengine\0",
      "stat": "777 (nv-hostengine) S 1 777 777 0 -1"}.items()}, says="777")
right("gpu-profilers", "a program", {f"proc/5555/{k}": v for k, v in PROCESS.items()})

# -- links --------------------------------------------------------------------------------------------------------------------------------------------------
wrong("pcie-link", "half of the lanes", W, {**gpus(4, width=8), f"sys/devices/{gpu_place(4)}/current_link_width": 8}, says="8")
wrong("pcie-link", "generation 3 under load", W, {**gpus(4, generation=3, use=95, reasons=0, clock=1980), f"sys/devices/{gpu_place(4)}/current_link_speed": "8.0 GT/s PCIe"}, says="3")
right("pcie-link", "generation 1 while idle", {**gpus(generation=1), **{f"sys/devices/{gpu_place(i)}/current_link_speed": "2.5 GT/s PCIe" for i in range(8)}})
wrong("pcie-errors", "fatal", FW, {f"sys/devices/{gpu_place(0)}/aer_dev_fatal": aer("fatal", DLP=1)})
wrong("pcie-errors", "a bad riser", WN, {f"sys/devices/{gpu_place(0)}/aer_dev_correctable": aer("correctable", BadTLP=500000, RxErr=700000)})
wrong("pcie-errors", "replays", WN, gpus(0, replays=900000), says="900000")
right("pcie-errors", "three that were corrected", {f"sys/devices/{gpu_place(0)}/aer_dev_correctable": aer("correctable", BadTLP=3)})


def switches(content: bytes) -> dict[str, Any]:
    """Other registers of the ports below the switches."""
    return {f"sys/devices/{place.rsplit('/', 1)[0]}/config": content for i in range(8) for place in (gpu_place(i), card_place(i))}


wrong("pcie-acs", "traffic between peers is sent up", W, switches(config_space(0x1d)))
wrong("pcie-acs", "the rest of the registers is for root", ("not checked",), {f"sys/devices/{top}/config": config_space(0x1d)[:64] for i in range(8) for top in
                                                                              ("/".join(gpu_place(i).split("/")[:n]) for n in (2, 3, 4))} | switches(config_space(0x1d)[:64]))
right("pcie-acs", "only sources are checked", switches(config_space(0x01)))
DMA = {f"sys/kernel/iommu_groups/{bus}/type": "DMA-FQ" for pair in PAIRS for bus in pair[2:4]}
wrong("iommu", "each transfer is translated", W, {**DMA, "proc/cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/nvme0n1p2 intel_iommu=on"})
right("iommu", "switched off", {f"sys/devices/{gpu_place(i)}/iommu_group": None for i in range(8)} | {"proc/cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/nvme0n1p2 intel_iommu=off"})
wrong("peer-access", "the chipset cannot", W, {"fact:gpu.0.peer": [f"{k} {1 if k == 1 else 0}" for k in range(1, 8)], "fact:gpu.1.peer": [f"{k} {1 if k == 0 else 0}" for k in range(8) if k != 1]})
right("peer-access", "one GPU says nothing of it, all others can", {"fact:gpu.0.peer": None})
wrong("nvlink", "one of 18 is down", F, gpus(3, links_active=17, link_down=4), says="4")
wrong("nvlink", "errors", WN, gpus(3, link_recoveries=5000, link_replays=900000), says="3")
right("nvlink", "cards without it", gpus(links=None, links_active=None, link_down=None, fabric=0))
right("nvlink", "a few packets that were sent again", gpus(3, link_replays=12))
wrong("nvswitch", "the fabric manager is not ready", F, gpus(fabric=2))
wrong("nvswitch", "the fabric has an error", F, gpus(2, fabric=3, fabric_code=999), says="2")
right("nvswitch", "no fabric", gpus(fabric=0))
right("nvswitch", "a driver that says nothing of its health", gpus(fabric_health=None))
wrong("gpu-nic", "cards on one socket only", WN, {k: None for i in range(4) for k in (f"sys/class/infiniband/mlx5_{i}", f"sys/class/net/ib{i}", f"sys/bus/pci/devices/0000:{PAIRS[i][3]:02x}:00.0")})
right("gpu-nic", "a card for two GPUs", {k: None for i in range(0, 8, 2) for k in
                                         (f"sys/class/infiniband/mlx5_{i}", f"sys/class/net/ib{i}", f"sys/bus/pci/devices/0000:{PAIRS[i][3]:02x}:00.0")})

# -- variables and libraries --------------------------------------------------------------------------------------------------------------------------------
for name, value in (("NCCL_P2P_DISABLE", "1"), ("NCCL_IB_DISABLE", "1"), ("NCCL_SHM_DISABLE", "1"), ("NCCL_ALGO", "Ring"), ("NCCL_PROTO", "Simple"), ("NCCL_DEBUG", "TRACE"),
                    ("NCCL_NET_GDR_LEVEL", "LOC")):
    wrong("nccl-settings", f"{name}={value}", WN, {f"variable:{name}": value}, says=name)
wrong("nccl-settings", "an interface that there is not", FW, {"variable:NCCL_SOCKET_IFNAME": "eth7"}, says="eth7")
wrong("nccl-settings", "a card that there is not", FW, {"variable:NCCL_IB_HCA": "mlx4_0"}, says="mlx4_0")
wrong("nccl-settings", "a file for all", WN, {"etc/nccl.conf": "NCCL_P2P_DISABLE=1"}, says="nccl.conf")
wrong("nccl-settings", "a file of the user", WN, {"home/kim/.nccl.conf": "# old\nNCCL_IB_DISABLE=1"}, says="nccl.conf")
for name, value in (("NCCL_DEBUG", "WARN"), ("NCCL_DEBUG", "VERSION"), ("NCCL_SOCKET_IFNAME", "eth0"), ("NCCL_SOCKET_IFNAME", "ib"), ("NCCL_SOCKET_IFNAME", "^lo,docker"), ("NCCL_SOCKET_IFNAME",
      "=ib0"),
                    ("NCCL_IB_HCA", "mlx5"), ("NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1"), ("NCCL_IB_HCA", "^mlx5_9"), ("NCCL_P2P_DISABLE", "0"), ("NCCL_IB_DISABLE", "0")):
    right("nccl-settings", f"{name}={value}", {f"variable:{name}": value})
for name, value, verdicts in (("CUDA_LAUNCH_BLOCKING", "1", FW), ("TORCH_DISTRIBUTED_DEBUG", "DETAIL", WN), ("PYTORCH_NO_CUDA_MEMORY_CACHING", "1", FW), ("NVIDIA_TF32_OVERRIDE", "0", WN),
                              ("PYTHONMALLOC", "debug", WN), ("LD_PRELOAD", "/usr/lib/x86_64-linux-gnu/libasan.so.8", FW), ("TORCH_NCCL_BLOCKING_WAIT", "1", WN),
                              ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", WN), ("CUDA_MODULE_LOADING", "EAGER", WN)):
    wrong("debug-variables", f"{name}={value}", verdicts, {f"variable:{name}": value}, says=name)
for name, value in (("CUDA_LAUNCH_BLOCKING", "0"), ("TORCH_DISTRIBUTED_DEBUG", "OFF"), ("LD_PRELOAD", "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"), ("CUDA_MODULE_LOADING", "LAZY"),
                    ("PYTHONMALLOC", "malloc"), ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")):
    right("debug-variables", f"{name}={value}", {f"variable:{name}": value})
wrong("proxy", "it would be asked for the first rank", WN, {"variable:http_proxy": "http://kim:s3cr3tHUSH@proxy.example:3128"}, base="slurm", says="http_proxy")
right("proxy", "it is not", {"variable:http_proxy": "http://proxy.example:3128", "variable:no_proxy": "localhost,gpu17,gpu18"}, base="slurm")
wrong("torch-build", "a GPU that is newer than the build", FW, {**build("2.5.1+cu124", "12.4"), **gpus(capability=120, name="NVIDIA RTX PRO 6000 Blackwell Server Edition")}, says="12.0")
wrong("torch-build", "a build for CPUs", FW, {**build("2.7.0+cpu", None)}, says="cpu")
right("torch-build", "Blackwell with a build for it", gpus(capability=120))
wrong("library-copies", "LD_LIBRARY_PATH has an older NCCL", WN, {"variable:LD_LIBRARY_PATH": "/opt/nccl/lib", "opt/nccl/lib/libnccl.so.2": Link("libnccl.so.2.18.5"),
      "opt/nccl/lib/libnccl.so.2.18.5": ""}, says="nccl")
right("library-copies", "LD_LIBRARY_PATH has other things", {"variable:LD_LIBRARY_PATH": "/opt/mpi/lib", "opt/mpi/lib/libmpi.so.40": ""})

# Checks that judge nothing by themselves, and who examines them.
ELSEWHERE = {"node-values": "tests/test_doctor_compare.py"}
