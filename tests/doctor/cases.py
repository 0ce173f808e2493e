# SPDX-License-Identifier: Apache-2.0
"""The exam of `holdup doctor`: for each check what is wrong on a node and what only looks like it.

A row changes one thing of a healthy node (nodes.py).  Verdicts are those of an engineer who reads the file, written down before the
check was seen to answer; two where either is right.  A row without verdicts is a decoy: nothing may be said of it.
"""
from __future__ import annotations

import dataclasses
from typing import Any

from tests.doctor.nodes import EXT4, FUSE, GIB, LUSTRE, NFS, OVERLAY, TMPFS, XFS, Link, aer, card_place, config_space, filesystem, gpu_place, meminfo, mountinfo, pressure, vmstat


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
CASES: list[Case] = []


def wrong(check: str, name: str, verdicts: tuple[str, ...], changes: dict[str, Any], base: str = "h100", says: str = "", options: tuple[str, ...] = ()) -> None:
    CASES.append(Case(check, name, base, changes, verdicts, says, options))


def right(check: str, name: str, changes: dict[str, Any], base: str = "h100", options: tuple[str, ...] = ()) -> None:
    CASES.append(Case(check, name, base, changes, (), "", options))


GROUP = "sys/fs/cgroup/user.slice/user-1000.slice/session-4.scope"
CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"


def each_cpu(name: str, content: Any) -> dict[str, Any]:
    return {f"{CPU}/cpu{i}/{name}": content for i in range(32)}


# -- CPUs ---------------------------------------------------------------------------------------------------------------------------------------------------
wrong("cpu-quota", "four CPUs of 32", W, {f"{GROUP}/cpu.max": "400000 100000"}, says="400000")
wrong("cpu-quota", "the quota of a group above", W, {"sys/fs/cgroup/user.slice/cpu.max": "200000 100000"})
wrong("cpu-quota", "a container's", W, {"sys/fs/cgroup/cpu.max": "800000 100000"}, base="docker")
wrong("cpu-quota", "throttled in a third of the periods", W,
      {f"{GROUP}/cpu.max": "3200000 100000", f"{GROUP}/cpu.stat": "usage_usec 90000000\nnr_periods 9000\nnr_throttled 3000\nthrottled_usec 500000000"}, says="3000")
wrong("cpu-quota", "cgroup v1", W, {"proc/self/cgroup": "4:cpu,cpuacct:/job", "proc/self/mountinfo": mountinfo(**{"/sys/fs/cgroup": "25 24 0:23 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct"}),
                                    "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": 200000, "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": 100000,
                                    "sys/fs/cgroup/cpu,cpuacct/job/cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0"})
right("cpu-quota", "as much as there is", {f"{GROUP}/cpu.max": "3200000 100000"})
right("cpu-quota", "throttled twice", {f"{GROUP}/cpu.max": "3200000 100000", f"{GROUP}/cpu.stat": "usage_usec 9\nnr_periods 90000\nnr_throttled 2\nthrottled_usec 1000"})
right("cpu-quota", "cgroup v1 without one", {"proc/self/cgroup": "4:cpu,cpuacct:/job", "proc/self/mountinfo": mountinfo(**{"/sys/fs/cgroup": "25 24 0:23 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct"}),
                                             "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": -1, "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": 100000})
wrong("cpu-threads", "each rank has threads for all CPUs", W, {"variable:OMP_NUM_THREADS": "32"}, base="slurm", says="32")
wrong("cpu-threads", "torchrun with 16 threads each", W, {"variable:OMP_NUM_THREADS": "16", "variable:LOCAL_WORLD_SIZE": "8", "variable:WORLD_SIZE": "8", "variable:RANK": "0"}, says="16")
right("cpu-threads", "a thread for each rank", {"variable:OMP_NUM_THREADS": "1"}, base="slurm")
right("cpu-threads", "one rank with all CPUs", {"variable:OMP_NUM_THREADS": "32"})
wrong("cpu-affinity", "the other socket", W, {"fact:cpus.allowed": "16-19"}, base="slurm")
right("cpu-affinity", "a rank of the other socket", {"fact:cpus.allowed": "16-19", "variable:LOCAL_RANK": "4", "variable:SLURM_LOCALID": "4", "variable:RANK": "4", "variable:SLURM_PROCID": "4"}, base="slurm")
right("cpu-affinity", "its GPU is the only visible one", {"fact:cpus.allowed": "16-19", "variable:CUDA_VISIBLE_DEVICES": "5"}, base="slurm")
right("cpu-affinity", "all CPUs", {"fact:cpus.allowed": "0-31"}, base="slurm")
wrong("numa-balancing", "on", W, {"proc/sys/kernel/numa_balancing": 1}, says="1")
right("numa-balancing", "on with one node", {"proc/sys/kernel/numa_balancing": 1, f"{NODE}/online": 0, f"{NODE}/has_memory": 0, f"{NODE}/possible": 0, f"{NODE}/node1/": None})
wrong("cpu-governor", "powersave of acpi-cpufreq", W, {**each_cpu("cpufreq/scaling_governor", "powersave"), **each_cpu("cpufreq/scaling_driver", "acpi-cpufreq"),
                                                       **each_cpu("cpufreq/energy_performance_preference", None)}, says="powersave")
wrong("cpu-governor", "intel_pstate saves power", WN, {**each_cpu("cpufreq/scaling_governor", "powersave"), **each_cpu("cpufreq/energy_performance_preference", "power")})
wrong("cpu-governor", "no turbo", WN, {f"{CPU}/intel_pstate/no_turbo": 1}, says="no_turbo")
wrong("cpu-governor", "frequency is capped", WN, each_cpu("cpufreq/scaling_max_freq", 1200000))
right("cpu-governor", "intel_pstate's powersave that prefers performance", each_cpu("cpufreq/scaling_governor", "powersave"))
right("cpu-governor", "schedutil", {**each_cpu("cpufreq/scaling_governor", "schedutil"), **each_cpu("cpufreq/scaling_driver", "intel_cpufreq"), **each_cpu("cpufreq/energy_performance_preference", None)})
right("cpu-governor", "a virtual machine", {f"{CPU}/intel_pstate/": None, **{f"{CPU}/cpu{i}/cpufreq/": None for i in range(32)}})
DEEP = {"name": "C10", "latency": 890, "disable": 0, "desc": "MWAIT 0x60", "usage": 1000000, "time": 90000000}
wrong("cpu-idle", "a state that takes 890 us to leave", WN, {f"{CPU}/cpu{i}/cpuidle/state3/{k}": v for i in range(32) for k, v in DEEP.items()}, says="890")
right("cpu-idle", "it is switched off", {f"{CPU}/cpu{i}/cpuidle/state3/{k}": v for i in range(32) for k, v in {**DEEP, "disable": 1}.items()})
wrong("cpu-steal", "a tenth of the time", W, {"proc/stat": "cpu  8000000 0 1000000 10000000 0 0 0 2000000 0 0\ncpu0 8000000 0 1000000 10000000 0 0 0 2000000 0 0\nbtime 1790000000"})
right("cpu-steal", "a thousandth", {"proc/stat": "cpu  8000000 0 1000000 10000000 0 0 0 20000 0 0\ncpu0 8000000 0 1000000 10000000 0 0 0 20000 0 0\nbtime 1790000000"})
wrong("pressure", "memory", W, {"proc/pressure/memory": pressure(40, 30)}, says="memory")
wrong("pressure", "CPUs", WN, {"proc/pressure/cpu": pressure(80)}, says="cpu")
wrong("pressure", "storage", WN, {"proc/pressure/io": pressure(70, 60)}, says="io")
right("pressure", "a little", {"proc/pressure/cpu": pressure(3), "proc/pressure/io": pressure(2, 1), "proc/pressure/memory": pressure(0.1)})
right("pressure", "a kernel without it", {"proc/pressure/": None})
wrong("kernel", "IBRS on each entry into the kernel", N, {f"{CPU}/vulnerabilities/retbleed": "Mitigation: IBRS"}, says="retbleed")
right("kernel", "enhanced IBRS", {f"{CPU}/vulnerabilities/retbleed": "Mitigation: Enhanced IBRS"})

# -- memory -------------------------------------------------------------------------------------------------------------------------------------------------
wrong("shm", "Docker's 64 MiB", F, {"fact:filesystem:/dev/shm": filesystem(TMPFS, 64 << 20, 1.0)}, base="docker", says="64")
wrong("shm", "64 MiB outside of a container", F, {"fact:filesystem:/dev/shm": filesystem(TMPFS, 64 << 20, 1.0)})
wrong("shm", "full", ("failure", "warning"), {"fact:filesystem:/dev/shm": filesystem(TMPFS, 1007 * GIB, 0.00001)})
right("shm", "64 GiB", {"fact:filesystem:/dev/shm": filesystem(TMPFS, 64 * GIB, 0.95)}, base="docker")
STEP = "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0"
wrong("memory-cgroup", "95 % of the limit by processes", W, {f"{STEP}/memory.current": 1900 * 10**9, f"{STEP}/memory.stat": "anon 1890000000000\nfile 1000\ninactive_file 0\nactive_file 0"}, base="slurm")
wrong("memory-cgroup", "a process was killed", WN, {f"{STEP}/memory.events": "low 0\nhigh 0\nmax 500\noom 3\noom_kill 3"}, base="slurm", says="oom_kill")
right("memory-cgroup", "95 % of the limit by files that were read", {f"{STEP}/memory.current": 1900 * 10**9, f"{STEP}/memory.stat": "anon 40000000000\nfile 1860000000000\ninactive_file 1850000000000\nactive_file 0"}, base="slurm")
wrong("memory-free", "two of a hundred", W, {"proc/meminfo": meminfo(MemFree=20000000, MemAvailable=42000000, AnonPages=2000000000, Cached=1000000)})
right("memory-free", "files that were read fill it", {"proc/meminfo": meminfo(MemFree=8000000, Cached=1900000000)})
wrong("memory-ecc", "an uncorrected error", ("failure", "warning"), {"sys/devices/system/edac/mc/mc0/ue_count": 1, "sys/devices/system/edac/mc/mc0/ce_count": 0, "sys/devices/system/edac/mc/mc0/mc_name": "i10nm"})
wrong("memory-ecc", "hundreds of thousands corrected", WN, {"sys/devices/system/edac/mc/mc1/ue_count": 0, "sys/devices/system/edac/mc/mc1/ce_count": 300000, "sys/devices/system/edac/mc/mc1/mc_name": "i10nm"})
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
wrong("huge-pages", "each fault may stall", N, {"sys/kernel/mm/transparent_hugepage/defrag": "[always] defer defer+madvise madvise never", "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never"})
right("huge-pages", "always, without stalls", {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never"})
wrong("huge-pages-reserved", "half of the memory, unused", WN, {"proc/meminfo": meminfo(HugePages_Total=500000, HugePages_Free=500000, Hugetlb=1024000000, MemAvailable=1000000000), "proc/sys/vm/nr_hugepages": 500000})
right("huge-pages-reserved", "in use", {"proc/meminfo": meminfo(HugePages_Total=5000, HugePages_Free=0, Hugetlb=10240000), "proc/sys/vm/nr_hugepages": 5000})

# -- storage ------------------------------------------------------------------------------------------------------------------------------------------------
wrong("filesystem", "the job runs on NFS", WN, {"fact:cwd": "/home/kim", "home/kim/.exists": ""}, says="nfs")
wrong("filesystem", "temporary files on NFS", WN, {"variable:TMPDIR": "/home/kim"}, says="/home/kim")
wrong("filesystem", "data on sshfs", WN, {"proc/self/mountinfo": mountinfo(**{"/data": "90 22 0:77 / /data rw - fuse.sshfs kim@filer:/data rw,user_id=1000"}), "fact:filesystem:/data": filesystem(FUSE, 1000 * GIB),
                                          "data/.exists": ""}, options=("--path", "/data"), says="/data")
wrong("filesystem", "data in a container's layer", WN, {"fact:cwd": "/work", "fact:filesystem:/work": filesystem(OVERLAY, 1000 * GIB), "work/.exists": ""}, base="docker", says="overlay")
right("filesystem", "Lustre", {"proc/self/mountinfo": mountinfo(**{"/scratch": "28 22 0:55 / /scratch rw,noatime - lustre 192.0.2.1@o2ib:/scratch rw,flock,lazystatfs"}),
                               "fact:filesystem:/scratch": filesystem(LUSTRE, 10**6 * GIB), "fact:filesystem:/scratch/run": filesystem(LUSTRE, 10**6 * GIB)})
right("filesystem", "temporary files in memory", {"proc/self/mountinfo": mountinfo(**{"/tmp": "91 22 0:78 / /tmp rw,nosuid,nodev - tmpfs tmpfs rw,size=1000000000k"}), "fact:filesystem:/tmp": filesystem(TMPFS, 1000 * GIB, 0.99)})
wrong("space", "no room where the job runs", F, {"fact:filesystem:/scratch/run": filesystem(XFS, 7000 * GIB, 0.0), "fact:filesystem:/scratch": filesystem(XFS, 7000 * GIB, 0.0)}, says="/scratch")
wrong("space", "no inodes", F, {"fact:filesystem:/scratch/run": filesystem(EXT4, 7000 * GIB, free_inodes=0.0), "fact:filesystem:/scratch": filesystem(EXT4, 7000 * GIB, free_inodes=0.0)}, says="inode")
wrong("space", "/tmp is full", ("failure", "warning"), {"fact:filesystem:/tmp": filesystem(EXT4, 100 * GIB, 0.0)}, says="/tmp")
wrong("space", "read-only", ("failure", "warning"), {"fact:filesystem:/scratch/run": filesystem(XFS, 7000 * GIB, flags=0x1001), "fact:filesystem:/scratch": filesystem(XFS, 7000 * GIB, flags=0x1001)}, says="/scratch")
right("space", "a tenth of 7 TB", {"fact:filesystem:/scratch/run": filesystem(XFS, 7000 * GIB, 0.1), "fact:filesystem:/scratch": filesystem(XFS, 7000 * GIB, 0.1)})
right("space", "a file system that does not count inodes", {"fact:filesystem:/scratch/run": filesystem(XFS, 7000 * GIB, inodes=0), "fact:filesystem:/scratch": filesystem(XFS, 7000 * GIB, inodes=0)})
DISK = "sys/devices/pci0000:00/0000:00:11.0/0000:01:00.0/nvme/nvme1/nvme1n1"
wrong("disk-queue", "a disk that turns", N, {f"{DISK}/queue/rotational": 1}, says="rotational")

# -- network ------------------------------------------------------------------------------------------------------------------------------------------------
ETH = "sys/devices/pci0000:00/0000:00:1c.0/0000:04:00.0/net/eth0"
wrong("interfaces", "100 Mb/s", W, {f"{ETH}/speed": 100}, says="100")
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
wrong("rendezvous", "localhost with two nodes", ("failure", "warning"), {"variable:MASTER_ADDR": "localhost", "fact:address:localhost": "127.0.0.1"}, base="slurm")
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
wrong("ib-errors", "symbols", W, port(2, "counters/symbol_error", 4000000), says="mlx5_2")
wrong("ib-errors", "the link fell down often", W, port(2, "counters/link_downed", 200), says="link_downed")
right("ib-errors", "once, as at the start", port(2, "counters/link_downed", 1))
right("ib-errors", "others were busy", port(2, "counters/port_xmit_wait", 9 * 10**9))
wrong("roce", "small packets", WN, {f"sys/devices/{card_place(i)}/net/ib{i}/mtu": 1500 for i in range(8)}, base="roce", says="1500")
wrong("roce", "only version 1", WN, {k: v for i in range(8) for n in (2, 3) for k, v in port(i, f"gid_attrs/types/{n}", None).items()}, base="roce", says="v1")
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
wrong("open-files", "1,024", W, {"fact:limit.nofile": "1024 1024"}, says="1024")
right("open-files", "65,536", {"fact:limit.nofile": "65536 65536"})
wrong("processes", "512", WN, {"fact:limit.nproc": "512 512"}, says="512")
right("processes", "what Linux gives on a large node", {"fact:limit.nproc": "8250000 8250000"})
wrong("memlock", "64 KiB with InfiniBand", F, {"fact:limit.memlock": "65536 65536"}, says="65536")
wrong("memlock", "8 MiB in a container", F, {"fact:limit.memlock": "8388608 8388608"}, base="docker")
right("memlock", "8 MiB without InfiniBand", {"fact:limit.memlock": "8388608 8388608"}, base="cpu")
right("memlock", "64 GiB", {"fact:limit.memlock": "68719476736 68719476736"})
wrong("perf", "nobody may", N, {"proc/sys/kernel/perf_event_paranoid": 4}, says="4")
wrong("ptrace", "nobody may", N, {"proc/sys/kernel/yama/ptrace_scope": 3}, says="3")
wrong("gpu-counters", "administrators only", N, {"proc/driver/nvidia/params": "RmProfilingAdminOnly: 1"}, says="RmProfilingAdminOnly")

# Checks that judge nothing by themselves, and who examines them.
ELSEWHERE = {"node-values": "tests/test_doctor_compare.py"}
