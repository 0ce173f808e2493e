# SPDX-License-Identifier: Apache-2.0
"""Healthy nodes as captured trees: a server with eight H100 and InfiniBand, a CPU server, a Docker container, a job of SLURM.

What files hold is from the kernel's documentation (Documentation/ABI/{stable,testing}, admin-guide/cgroup-v2, admin-guide/sysctl,
filesystems/proc, accounting/psi, PCI/pcieaer-howto), from NVIDIA's driver README (/proc/driver/nvidia) and from NVML's header; what
should be in them, from monitoring guides of HPC sites and vendors.  Nothing here is taken from the checks.
"""
from __future__ import annotations

import dataclasses
import os
import pathlib
import struct
from typing import Any


@dataclasses.dataclass(frozen=True)
class Link:
    """A symbolic link; an absolute one is below the root."""

    target: str


FOLDER = object()  # an empty folder
Content = Any  # str (a newline is added), bytes, int, Link, FOLDER, or None: it is not there


@dataclasses.dataclass
class Node:
    """Paths below the root, facts of system calls, variables of the job."""

    files: dict[str, Content] = dataclasses.field(default_factory=dict)
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    variables: dict[str, str] = dataclasses.field(default_factory=dict)
    denied: list[str] = dataclasses.field(default_factory=list)

    def put(self, folder: str, files: dict[str, Content]) -> None:
        self.files.update({f"{folder}/{name}" if folder else name: content for name, content in files.items()})

    def own_files(self) -> dict[str, Content]:
        """What stands for system calls and the environment."""
        lines = [f"{key} {value}" for key, values in self.facts.items() for value in (values if isinstance(values, list) else [values]) if value is not None]
        found = {"holdup/facts": "\n".join(lines), "holdup/environment": "\n".join(f"{k}={v}" for k, v in self.variables.items() if v is not None)}
        return {**found, "holdup/denied": "\n".join(self.denied)} if self.denied else found

    def write(self, root: pathlib.Path) -> None:
        for name, content in {**self.files, **self.own_files()}.items():
            write(root / name, content)


def write(path: pathlib.Path, content: Content) -> None:
    """Puts one file in the place of what is there."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    if content is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if content is FOLDER:
        path.mkdir(exist_ok=True)
    elif isinstance(content, Link):
        path.symlink_to(content.target)
    else:
        path.write_bytes(content if isinstance(content, bytes) else f"{content}\n".encode())


def cpus(node: Node, sockets: int = 2, each: int = 16) -> None:
    """CPUs without SMT, one NUMA node per socket, governor performance; menu's idle states of an Intel server."""
    count = sockets * each
    top = "sys/devices/system/cpu"
    node.put(top, {"online": f"0-{count - 1}", "possible": f"0-{count - 1}", "present": f"0-{count - 1}", "smt/control": "off", "smt/active": 0,
                   "intel_pstate/no_turbo": 0, "intel_pstate/status": "active", "cpuidle/current_driver": "intel_idle", "cpuidle/current_governor": "menu"})
    for cpu in range(count):
        node.put(f"{top}/cpu{cpu}", {
            "topology/physical_package_id": cpu // each, "topology/core_id": cpu % each, "topology/thread_siblings_list": cpu, "topology/core_cpus_list": cpu,
            "cpufreq": Link(f"../cpufreq/policy{cpu}")})
        node.put(f"{top}/cpufreq/policy{cpu}", {
            "scaling_governor": "performance", "scaling_driver": "intel_pstate", "scaling_cur_freq": 3500000, "scaling_max_freq": 3800000, "cpuinfo_max_freq": 3800000,
            "scaling_min_freq": 800000, "cpuinfo_min_freq": 800000, "energy_performance_preference": "performance", "scaling_available_governors": "performance powersave",
            "affected_cpus": cpu, "related_cpus": cpu})
        for state, (name, latency) in enumerate((("POLL", 0), ("C1", 1), ("C1E", 2))):
            node.put(f"{top}/cpu{cpu}/cpuidle/state{state}", {"name": name, "latency": latency, "disable": 0, "desc": name, "usage": 10, "time": 1000})
    for name in ("gather_data_sampling", "l1tf", "mds", "meltdown", "mmio_stale_data", "retbleed", "spec_rstack_overflow", "srbds", "tsx_async_abort"):
        node.files[f"{top}/vulnerabilities/{name}"] = "Not affected"
    node.put(f"{top}/vulnerabilities", {
        "spectre_v1": "Mitigation: usercopy/swapgs barriers and __user pointer sanitization",
        "spectre_v2": "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; RSB filling; PBRSB-eIBRS: SW sequence; BHI: BHI_DIS_S",
        "spec_store_bypass": "Mitigation: Speculative Store Bypass disabled via prctl"})
    node.put("sys/devices/system/node", {"online": "0" if sockets == 1 else f"0-{sockets - 1}", "has_memory": f"0-{sockets - 1}", "possible": f"0-{sockets - 1}"})
    for i in range(sockets):
        node.put(f"sys/devices/system/node/node{i}", {
            "cpulist": f"{i * each}-{i * each + each - 1}", "distance": " ".join("10" if k == i else "21" for k in range(sockets)),
            "meminfo": f"Node {i} MemTotal:       1056000000 kB\nNode {i} MemFree:        1000000000 kB\nNode {i} MemUsed:          56000000 kB"})
    node.put("sys/devices/system/clocksource/clocksource0", {"current_clocksource": "tsc", "available_clocksource": "tsc hpet acpi_pm"})
    node.files["proc/cpuinfo"] = "\n".join(
        f"processor\t: {cpu}\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Platinum 8480C\nmicrocode\t: 0x2b000603\ncpu MHz\t\t: 3500.000\n"
        f"physical id\t: {cpu // each}\ncpu cores\t: {each}\nflags\t\t: fpu tsc constant_tsc nonstop_tsc avx512f\n" for cpu in range(count))
    busy = "\n".join(f"cpu{cpu} 100000 0 50000 8000000 100 0 10 0 0 0" for cpu in range(count))
    node.files["proc/stat"] = f"cpu  {100000 * count} 0 {50000 * count} {8000000 * count} {100 * count} 0 {10 * count} 0 0 0\n{busy}\nintr 1\nctxt 2\nbtime 1790000000\nprocesses 5000"
    node.facts["cpus.allowed"] = f"0-{count - 1}"


MEMINFO = {"MemTotal": 2112000000, "MemFree": 2000000000, "MemAvailable": 2050000000, "Buffers": 100000, "Cached": 50000000, "SwapCached": 0, "Active": 20000000,
           "Inactive": 30000000, "Unevictable": 0, "Mlocked": 0, "SwapTotal": 0, "SwapFree": 0, "Dirty": 100, "Writeback": 0, "AnonPages": 4000000, "Shmem": 10000,
           "CommitLimit": 1056000000, "Committed_AS": 9000000, "AnonHugePages": 0, "HugePages_Total": 0, "HugePages_Free": 0, "HugePages_Rsvd": 0, "HugePages_Surp": 0,
           "Hugepagesize": 2048, "Hugetlb": 0}


def meminfo(**changed: int) -> str:
    """/proc/meminfo with other numbers, in KiB."""
    return "\n".join(f"{name + ':':<16}{value:>12}" + ("" if name.startswith("HugePages_") else " kB") for name, value in {**MEMINFO, **changed}.items())


VMSTAT = {"nr_free_pages": 500000000, "pswpin": 0, "pswpout": 0, "pgfault": 1000000, "pgmajfault": 1000, "allocstall_normal": 0, "compact_stall": 0, "oom_kill": 0,
          "numa_hit": 1000000, "numa_miss": 0, "numa_foreign": 0, "thp_fault_alloc": 10, "thp_fault_fallback": 0}


def vmstat(**changed: int) -> str:
    return "\n".join(f"{name} {value}" for name, value in {**VMSTAT, **changed}.items())


def pressure(some: float = 0, full: float = 0) -> str:
    """A file of /proc/pressure (Documentation/accounting/psi.rst)."""
    return "\n".join(f"{name} avg10={value:.2f} avg60={value:.2f} avg300={value:.2f} total={int(value * 1e6)}" for name, value in (("some", some), ("full", full)))


def filesystem(magic: int, size: int, free: float = 0.6, inodes: int = 10**8, free_inodes: float = 0.9, flags: int = 0x1000) -> str:
    """The fact of statfs(2): `size` in bytes."""
    blocks = size // 4096
    return f"{magic:x} 4096 {blocks} {int(blocks * free)} {int(blocks * free)} {inodes} {int(inodes * free_inodes)} {flags}"


EXT4, XFS, TMPFS, NFS, LUSTRE, OVERLAY, FUSE, GPFS = 0xef53, 0x58465342, 0x01021994, 0x6969, 0x0bd00bd0, 0x794c7630, 0x65735546, 0x47504653
GIB = 1 << 30
MOUNTS = {
    "/": "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw",
    "/proc": "23 22 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:2 - proc proc rw",
    "/sys": "24 22 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:3 - sysfs sysfs rw",
    "/sys/fs/cgroup": "25 24 0:23 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot",
    "/dev": "26 22 0:5 / /dev rw,nosuid,relatime shared:5 - devtmpfs udev rw,size=1056000000k,mode=755",
    "/dev/shm": "27 26 0:24 / /dev/shm rw,nosuid,nodev shared:6 - tmpfs tmpfs rw,inode64",
    "/scratch": "28 22 259:5 / /scratch rw,noatime shared:7 - xfs /dev/nvme1n1p1 rw,attr2,inode64,noquota",
    "/home": "29 22 0:40 / /home rw,relatime shared:8 - nfs4 filer:/export/home rw,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=tcp,nconnect=8,addr=192.0.2.9",
}


def mountinfo(**changed: str | None) -> str:
    """/proc/self/mountinfo with the line of a mount point replaced or left out."""
    return "\n".join(line for line in {**MOUNTS, **changed}.values() if line)


def system(node: Node) -> None:
    """What each Linux has, at rest."""
    node.put("proc", {
        "meminfo": meminfo(), "vmstat": vmstat(), "swaps": "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority", "loadavg": "0.10 0.12 0.09 1/900 12345", "uptime": "864000.00 27000000.00",
        "cmdline": "BOOT_IMAGE=/boot/vmlinuz-6.8.0-45-generic root=/dev/nvme0n1p2 ro iommu=pt intel_iommu=on quiet", "version": "Linux version 6.8.0-45-generic",
        "filesystems": "nodev\tsysfs\n\text4\n\txfs", "modules": "ext4 1000 1 - Live 0x0\nnvme 50000 4 - Live 0x0", "mounts": "",
        "pressure/cpu": pressure(), "pressure/memory": pressure(), "pressure/io": pressure(), "partitions": "major minor  #blocks  name",
        "self/mountinfo": mountinfo(), "self/cgroup": "0::/user.slice/user-1000.slice/session-4.scope", "self/maps": "",
        "self/status": "Name:\tholdup\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-31\nMems_allowed_list:\t0-1\nSeccomp:\t0",
        "self/limits": "Limit                     Soft Limit           Hard Limit           Units     \nMax locked memory         unlimited            unlimited            bytes     \n"
                       "Max open files            1048576              1048576              files     "})
    node.put("proc/sys", {
        "kernel/osrelease": "6.8.0-45-generic", "kernel/ostype": "Linux", "kernel/hostname": "gpu17", "kernel/numa_balancing": 0, "kernel/perf_event_paranoid": 2, "kernel/kptr_restrict": 1,
        "kernel/yama/ptrace_scope": 1, "kernel/pid_max": 4194304, "kernel/threads-max": 16000000, "kernel/tainted": 4096, "kernel/unprivileged_userns_clone": 1,
        "vm/swappiness": 10, "vm/overcommit_memory": 0, "vm/overcommit_ratio": 50, "vm/max_map_count": 262144, "vm/zone_reclaim_mode": 0, "vm/nr_hugepages": 0, "vm/min_free_kbytes": 1000000,
        "vm/dirty_ratio": 20, "vm/dirty_background_ratio": 10, "fs/file-max": 9223372036854775807, "fs/nr_open": 1048576, "fs/inotify/max_user_watches": 1048576,
        "net/core/rmem_max": 67108864, "net/core/wmem_max": 67108864, "net/core/netdev_max_backlog": 250000, "net/ipv4/tcp_rmem": "4096 131072 67108864"})
    node.put("sys/kernel/mm/transparent_hugepage", {"enabled": "always [madvise] never", "defrag": "always defer defer+madvise [madvise] never"})
    group = "sys/fs/cgroup/user.slice/user-1000.slice/session-4.scope"
    node.put("sys/fs/cgroup", {"cgroup.controllers": "cpuset cpu io memory hugetlb pids rdma misc", "cpu.stat": "usage_usec 1\nuser_usec 1\nsystem_usec 0"})
    for folder in ("sys/fs/cgroup/user.slice", "sys/fs/cgroup/user.slice/user-1000.slice", group):
        node.put(folder, {"cgroup.controllers": "cpu io memory pids", "cpu.max": "max 100000", "memory.max": "max", "memory.high": "max", "memory.swap.max": "max",
                          "memory.current": 5000000000, "memory.stat": "anon 4000000000\nfile 900000000\ninactive_file 800000000\nactive_file 100000000\nshmem 0",
                          "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0", "memory.pressure": pressure(), "pids.max": "max", "pids.current": 20,
                          "cpu.stat": "usage_usec 1000000\nuser_usec 900000\nsystem_usec 100000\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\nnr_bursts 0\nburst_usec 0"})
    node.put("sys/class/dmi/id", {"bios_vendor": "American Megatrends International, LLC.", "bios_version": "2.1.5", "bios_date": "05/20/2025", "product_name": "PowerEdge XE9680",
                                  "sys_vendor": "Dell Inc.", "board_name": "0ABCDE", "chassis_type": 23})
    node.put("etc", {"os-release": 'NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04.1 LTS"', "hostname": "gpu17", "hosts": "127.0.0.1 localhost\n192.0.2.17 gpu17",
                     "passwd": "root:x:0:0::/root:/bin/bash\nkim:x:1000:1000::/home/kim:/bin/bash", "ld.so.conf": "include /etc/ld.so.conf.d/*.conf"})
    for name, rotational in (("nvme0n1", 0), ("nvme1n1", 0)):
        number = name[4]
        folder = f"sys/devices/pci0000:00/0000:00:1{number}.0/0000:0{number}:00.0/nvme/nvme{number}/{name}"
        node.put(folder, {"queue/rotational": rotational, "queue/scheduler": "[none] mq-deadline kyber", "queue/read_ahead_kb": 128, "queue/nr_requests": 1023, "dev": f"259:{number}",
            "size": 7501476528,
                          f"{name}p{'2' if number == '0' else '1'}/dev": f"259:{2 if number == '0' else 5}", f"{name}p{'2' if number == '0' else '1'}/partition": 1})
        node.files[f"sys/block/{name}"] = Link(f"../devices/pci0000:00/0000:00:1{number}.0/0000:0{number}:00.0/nvme/nvme{number}/{name}")
        for device in (f"259:{number}", f"259:{2 if number == '0' else 5}"):
            part = "" if device == f"259:{number}" else f"/{name}p{'2' if number == '0' else '1'}"
            node.files[f"sys/dev/block/{device}"] = Link(f"../../devices/pci0000:00/0000:00:1{number}.0/0000:0{number}:00.0/nvme/nvme{number}/{name}{part}")
    node.facts.update({
        "hostname": "gpu17", "time": "2026-11-24T02:00:00Z", "uname.release": "6.8.0-45-generic", "uname.machine": "x86_64", "user.id": 1000, "cwd": "/scratch/run",
        "limit.memlock": "unlimited unlimited", "limit.nofile": "1048576 1048576", "limit.nproc": "unlimited unlimited", "limit.core": "0 unlimited", "limit.stack": "8388608 unlimited",
        "limit.as": "unlimited unlimited", "clock.state": 0, "clock.status": 8193, "clock.max_error_us": 1600})
    for path, fact in (("/", filesystem(EXT4, 1000 * GIB)), ("/tmp", filesystem(EXT4, 1000 * GIB)), ("/var/tmp", filesystem(EXT4, 1000 * GIB)), ("/scratch", filesystem(XFS, 7000 * GIB)),
                       ("/scratch/run", filesystem(XFS, 7000 * GIB)), ("/home/kim", filesystem(NFS, 90000 * GIB)), ("/home", filesystem(NFS, 90000 * GIB)),
                       ("/home/kim/.cache", filesystem(NFS, 90000 * GIB)), ("/var/log", filesystem(EXT4, 1000 * GIB)), ("/var", filesystem(EXT4, 1000 * GIB)), ("/run", filesystem(TMPFS,
                           200 * GIB, 0.99)),
                       ("/dev/shm", filesystem(TMPFS, 1007 * GIB, 0.999))):
        node.facts[f"filesystem:{path}"] = fact
    for path in ("/", "/tmp", "/scratch", "/scratch/run", "/home", "/home/kim", "/dev/shm"):
        node.files.setdefault(f"{path[1:]}/.exists" if len(path) > 1 else ".exists", "")
    node.variables.update({"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/home/kim", "USER": "kim", "LANG": "C.UTF-8"})
    interface(node, "eth0", "0000:00:1c.0/0000:04:00.0", speed=25000)
    node.put("sys/devices/virtual/net/lo", {"operstate": "unknown", "mtu": 65536, "type": 772, "flags": "0x9", "carrier": 1})
    node.files["sys/class/net/lo"] = Link("../../devices/virtual/net/lo")
    node.files["proc/net/route"] = ("Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
                                    "eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\neth0\t000200C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0")
    node.files["proc/net/ipv6_route"] = ""
    node.files["proc/net/dev"] = "Inter-|   Receive\n face |bytes\n  eth0: 1000000 1000 0 0 0 0 0 0 1000000 1000 0 0 0 0 0 0\n    lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"


def interface(node: Node, name: str, place: str, speed: int = 25000, mtu: int = 1500, kind: int = 1, domain: str = "pci0000:00") -> None:
    """A network interface with its card (Documentation/ABI/testing/sysfs-class-net, sysfs-class-net-statistics)."""
    folder = f"sys/devices/{domain}/{place}/net/{name}"
    node.put(folder, {"operstate": "up", "carrier": 1, "speed": speed, "duplex": "full", "mtu": mtu, "type": kind, "flags": "0x1003", "address": "02:00:00:00:00:01", "carrier_changes": 2,
                      "carrier_down_count": 1, "tx_queue_len": 1000})
    for counter in ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets"):
        node.files[f"{folder}/statistics/{counter}"] = 10**9
    for counter in ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped", "rx_crc_errors", "rx_missed_errors", "rx_fifo_errors", "rx_over_errors", "tx_carrier_errors", "collisions"):
        node.files[f"{folder}/statistics/{counter}"] = 0
    node.files[f"{folder}/device"] = Link("../../../" + place.rsplit("/", 1)[-1])
    node.files[f"sys/class/net/{name}"] = Link(f"../../devices/{domain}/{place}/net/{name}")
    node.put(f"sys/devices/{domain}/{place}", {"vendor": "0x15b3", "device": "0x1015", "class": "0x020000", "numa_node": 0})


ERRORS = {"correctable": ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF", "TOTAL_ERR_COR"),
          "nonfatal": ("Undefined", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt", "RxOF", "MalfTLP", "ECRC", "UnsupReq", "TOTAL_ERR_NONFATAL"),
          "fatal": ("Undefined", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt", "RxOF", "MalfTLP", "ECRC", "UnsupReq", "TOTAL_ERR_FATAL")}


def aer(kind: str, **counts: int) -> str:
    """A file aer_dev_KIND (Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats)."""
    return "\n".join(f"{name} {sum(counts.values()) if name.startswith('TOTAL') else counts.get(name, 0)}" for name in ERRORS[kind])


ROOT_PORT, UPSTREAM, DOWNSTREAM, ENDPOINT = 4, 5, 6, 0


def config_space(acs_control: int | None, is_bridge: bool = True, kind: int = DOWNSTREAM) -> bytes:
    """4,096 bytes; PCI Express (0x10) with the port's type at 0x40; extended: AER (1) at 0x100, Access Control Services (13), whose control has offset 6."""
    space = bytearray(4096)
    space[0x06] = 0x10
    space[0x34] = 0x40
    struct.pack_into("<BBH", space, 0x40, 0x10, 0, 2 | kind << 4)
    space[0x0e] = 1 if is_bridge else 0
    struct.pack_into("<I", space, 0x100, 0x0001 | 2 << 16 | (0x148 << 20 if acs_control is not None else 0))
    if acs_control is not None:
        struct.pack_into("<IHH", space, 0x148, 0x000d | 1 << 16, 0x001f, acs_control)
    return bytes(space)


def pci(node: Node, place: str, vendor: str, device: str, kind: str, numa: int, driver: str | None = None, width: int = 16, speed: str = "32.0 GT/s PCIe",
        acs: int | None = None, port: int = ENDPOINT) -> None:
    """A device of the bus below /sys/devices/PLACE, with its link and its counts of errors."""
    folder, address = f"sys/devices/{place}", place.rsplit("/", 1)[-1]
    node.put(folder, {"vendor": vendor, "device": device, "class": kind, "numa_node": numa, "current_link_speed": speed, "max_link_speed": speed, "current_link_width": width,
                      "max_link_width": width, "enable": 1, "config": config_space(acs, kind.startswith("0x0604"), port), "local_cpulist": "0-15" if numa == 0 else "16-31",
                      "revision": "0xa1", "subsystem_vendor": vendor, "subsystem_device": "0x16c1", "power/runtime_status": "active", "d3cold_allowed": 0})
    node.put(folder, {f"aer_dev_{name}": aer(name) for name in ERRORS})
    node.files[f"sys/bus/pci/devices/{address}"] = Link(f"../../../devices/{place}")
    group = int(address[5:7], 16)
    node.files[f"{folder}/iommu_group"] = Link("../" * place.count("/") + f"../../kernel/iommu_groups/{group}")
    node.files[f"sys/kernel/iommu_groups/{group}/type"] = "identity"
    node.files[f"sys/kernel/iommu_groups/{group}/devices/{address}"] = Link(f"../../../../devices/{place}")
    if driver:
        node.files[f"{folder}/driver"] = Link("../" * place.count("/") + f"../../bus/pci/drivers/{driver}")
        node.files[f"sys/bus/pci/drivers/{driver}/{address}"] = Link(f"../../../../devices/{place}")


# Eight pairs of a GPU and a card of InfiniBand, each behind a switch of its own: (domain, switch's bus, GPU's bus, card's bus, NUMA node).
PAIRS = [("15", 0x16, 0x19, 0x1a, 0), ("37", 0x38, 0x3b, 0x3c, 0), ("48", 0x49, 0x4c, 0x4d, 0), ("59", 0x5a, 0x5d, 0x5e, 0),
         ("97", 0x98, 0x9b, 0x9c, 1), ("b7", 0xb8, 0xbb, 0xbc, 1), ("c7", 0xc8, 0xcb, 0xcc, 1), ("d7", 0xd8, 0xdb, 0xdc, 1)]
DRIVER = "570.124.06"


def gpu_place(i: int) -> str:
    domain, switch, gpu, _, _ = PAIRS[i]
    return f"pci0000:{domain}/0000:{domain}:01.0/0000:{switch:02x}:00.0/0000:{switch + 1:02x}:00.0/0000:{gpu:02x}:00.0"


def card_place(i: int) -> str:
    domain, switch, _, card, _ = PAIRS[i]
    return f"pci0000:{domain}/0000:{domain}:01.0/0000:{switch:02x}:00.0/0000:{switch + 1:02x}:01.0/0000:{card:02x}:00.0"


# NVML's numbers of an idle GPU that is well: mW, MHz, bytes, degrees; fabric 3 is completed.
GPU = {"error": 0, "capability": 90, "mig": 0, "memory": 85520809984, "bar": 137438953472, "use": 0, "recovery": 0, "ecc": 1, "ecc_next": 1, "corrected": 0, "uncorrected": 0,
       "rows_pending": 0, "rows_failed": 0, "reasons": 1, "celsius": 32, "margin": 55, "power_limit": 700000, "power_default": 700000, "limited_power": 0, "limited_thermal": 0,
       "limited_software": 0, "limited_hardware": 0, "limited_brake": 0, "clock": 345, "clock_most": 1980, "chosen_clock": 1980, "default_clock": 1980, "persistence": 1, "compute_mode": 0,
       "generation": 5, "generation_most": 5, "width": 16, "width_most": 16, "replays": 0, "links": 18, "links_active": 18, "link_down": -1, "link_flit": 0, "link_data": 0,
       "link_replays": 0, "link_recoveries": 0, "fabric": 3, "fabric_code": 0, "fabric_health": 1}


def nvidia(node: Node) -> None:
    """Eight H100 SXM with driver 570 (open modules), its libraries and device files."""
    node.put("proc/driver/nvidia", {
        "version": f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {DRIVER}  Release Build  (dvs-builder@U16)  Wed Feb 26 02:00:00 UTC 2025\nGCC version:  gcc version 13.2.0",
        "params": "ResmanDebugLevel: 4294967295\nRmLogonRC: 1\nModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\nEnablePCIeGen3: 0\nEnableStreamMemOPs: 0\n"
                  "RmProfilingAdminOnly: 0\nPreserveVideoMemoryAllocations: 0\nEnableGpuFirmware: 18\nEnableResizableBar: 0\nRegistryDwords: \"\""})
    for name, used in (("nvidia", 200), ("nvidia_uvm", 4), ("nvidia_modeset", 0), ("nvidia_peermem", 0)):
        node.files[f"sys/module/{name}/refcnt"] = used
        node.files[f"sys/module/{name}/initstate"] = "live"
        node.files["proc/modules"] += f"\n{name} 10000000 {used} - Live 0x0"
    node.files["sys/module/nvidia/version"] = DRIVER
    node.files["lib/modules/6.8.0-45-generic/modules.dep"] = "updates/dkms/nvidia.ko:"
    lib = "usr/lib/x86_64-linux-gnu"
    for library in ("libcuda.so", "libnvidia-ml.so", "libnvidia-ptxjitcompiler.so"):
        node.files[f"{lib}/{library}.{DRIVER}"] = ""
        node.files[f"{lib}/{library}.1"] = Link(f"{library}.{DRIVER}")
    node.put("run", {"nvidia-persistenced/socket": "", "nvidia-fabricmanager/fm.pid": 900, "nvidia-persistenced/nvidia-persistenced.pid": 899})
    node.put("proc/900", {"comm": "nv-fabricmanage", "cmdline": b"/usr/bin/nv-fabricmanager\0-c\0/usr/share/nvidia/nvswitch/fabricmanager.cfg\0", "status": "Name:\tnv-fabricmanage\nUid:\t0\t0\t0\t0",
                          "stat": "900 (nv-fabricmanage) S 1 900 900 0 -1", "cgroup": "0::/system.slice/nvidia-fabricmanager.service"})
    node.put("proc/899", {"comm": "nvidia-persiste", "cmdline": b"/usr/bin/nvidia-persistenced\0", "status": "Name:\tnvidia-persiste\nUid:\t110\t110\t110\t110",
                          "stat": "899 (nvidia-persiste) S 1 899 899 0 -1", "cgroup": "0::/system.slice/nvidia-persistenced.service"})
    for path, number in (("nvidiactl", "195:255"), ("nvidia-uvm", "505:0"), ("nvidia-uvm-tools", "505:1"), ("nvidia-modeset", "195:254"),
                         *((f"nvidia{i}", f"195:{i}") for i in range(8))):
        node.facts[f"device:/dev/{path}"] = f"c {number} 666 0:0 rw"
        node.files[f"dev/{path}"] = ""
    node.files["dev/kmsg"] = ("6,900,1000000,-;nvidia-nvlink: Nvlink Core is being initialized, major device number 510\n"
                              f"4,901,1100000,-;NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {DRIVER}  Release Build\n6,902,1200000,-;nvidia-uvm: Loaded the UVM driver")
    node.facts.update({"nvml": 0, "nvml.driver": DRIVER, "nvml.cuda": 12080})
    for i, (domain, switch, gpu, card, numa) in enumerate(PAIRS):
        top = f"pci0000:{domain}/0000:{domain}:01.0"
        pci(node, top, "0x8086", "0x352a", "0x060400", numa, "pcieport", acs=0, port=ROOT_PORT)
        pci(node, f"{top}/0000:{switch:02x}:00.0", "0x1000", "0xc030", "0x060400", numa, "pcieport", acs=None, port=UPSTREAM)
        for port in (0, 1):
            pci(node, f"{top}/0000:{switch:02x}:00.0/0000:{switch + 1:02x}:0{port}.0", "0x1000", "0xc030", "0x060400", numa, "pcieport", acs=0, port=DOWNSTREAM)
        pci(node, gpu_place(i), "0x10de", "0x2330", "0x030200", numa, "nvidia")
        node.put(f"proc/driver/nvidia/gpus/0000:{gpu:02x}:00.0", {
            "information": f"Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t {200 + i}\nGPU UUID: \t GPU-0000000{i}-1111-2222-3333-444444444444\nVideo BIOS: \t 96.00.89.00.01\n"
                           f"Bus Type: \t PCIe\nDMA Size: \t 52 bits\nDMA Mask: \t 0xfffffffffffff\n"
                           f"Bus Location: \t 0000:{gpu:02x}:00.0\nDevice Minor: \t {i}\nGPU Firmware: \t {DRIVER}\nGPU Excluded:\t No",
            "power": "Runtime D3 status:          Disabled by default"})
        node.facts.update({f"gpu.{i}.bus": f"0000:{gpu:02x}:00.0", f"gpu.{i}.name": "NVIDIA H100 80GB HBM3", f"gpu.{i}.uuid": f"GPU-0000000{i}-1111-2222-3333-444444444444", f"gpu.{i}.minor": i})
        node.facts.update({f"gpu.{i}.{name}": value for name, value in GPU.items()})
        node.facts[f"gpu.{i}.peer"] = [f"{k} 0" for k in range(8) if k != i]


COUNTERS = ("symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors", "port_xmit_discards",
            "port_xmit_constraint_errors", "port_rcv_constraint_errors", "local_link_integrity_errors", "excessive_buffer_overrun_errors", "VL15_dropped", "port_xmit_wait")
HARDWARE = ("out_of_sequence", "out_of_buffer", "local_ack_timeout_err", "packet_seq_err", "np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_roce_packets", "rnr_nak_retry_err",
            "implied_nak_seq_err", "rx_icrc_encapsulated", "roce_adp_retrans")


def infiniband(node: Node) -> None:
    """A ConnectX-7 at 400 Gb/s beside each GPU (Documentation/ABI/stable/sysfs-class-infiniband)."""
    for name in ("mlx5_core", "mlx5_ib", "ib_core", "ib_uverbs", "ib_umad", "ib_ipoib", "rdma_cm"):
        node.files[f"sys/module/{name}/refcnt"] = 1
        node.files["proc/modules"] += f"\n{name} 1000000 1 - Live 0x0"
    node.files["sys/module/mlx5_core/version"] = "24.10-1.1.4"
    for i, (_, _, _, card, numa) in enumerate(PAIRS):
        pci(node, card_place(i), "0x15b3", "0x1021", "0x020700", numa, "mlx5_core")
        folder = f"sys/devices/{card_place(i)}/infiniband/mlx5_{i}"
        node.put(folder, {"fw_ver": "28.43.2026", "hca_type": "MT4129", "board_id": "MT_0000000838", "node_type": "1: CA", "node_guid": f"a088:c203:00aa:000{i}", "hw_rev": 0,
                          "ports/1/state": "4: ACTIVE", "ports/1/phys_state": "5: LinkUp", "ports/1/rate": "400 Gb/sec (4X NDR)", "ports/1/link_layer": "InfiniBand", "ports/1/lid": f"0x{i + 1:x}",
                          "ports/1/sm_lid": "0x1", "ports/1/cap_mask": "0xa751e848", "ports/1/gids/0": f"fe80:0000:0000:0000:a088:c203:00aa:000{i}", "ports/1/gid_attrs/types/0": "IB/RoCE v1",
                          "device": Link(f"../../../0000:{card:02x}:00.0")})
        node.put(f"{folder}/ports/1/counters", {name: 0 for name in COUNTERS} | {"port_xmit_data": 10**12, "port_rcv_data": 10**12})
        node.put(f"{folder}/ports/1/hw_counters", {name: 0 for name in HARDWARE})
        node.files[f"sys/class/infiniband/mlx5_{i}"] = Link(f"../../devices/{card_place(i)}/infiniband/mlx5_{i}")
        interface(node, f"ib{i}", card_place(i).split("/", 1)[1], speed=400000, mtu=4092, kind=32, domain=card_place(i).split("/", 1)[0])
        node.put(f"sys/devices/{card_place(i)}", {"vendor": "0x15b3", "device": "0x1021", "class": "0x020700", "numa_node": numa})
    node.files["dev/infiniband/uverbs0"] = ""


SITE = "home/kim/venv/lib/python3.12/site-packages"


def torch(node: Node, version: str = "2.7.0+cu128", cuda: str | None = "12.8", runtime: str = "12.8.57", nccl: str = "2.26.2") -> None:
    """An environment of Python as pip makes one."""
    node.files["home/kim/venv/pyvenv.cfg"] = "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.12.3"
    node.files["home/kim/venv/bin/python"] = Link("/usr/bin/python3.12")
    node.files["home/kim/venv/bin/python3"] = Link("python")
    node.files["usr/bin/python3.12"] = ""
    node.put(SITE, {"torch/version.py": f"__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = {cuda!r}\ngit_version = '134179474539648ba7dee1317959529fbd0e7f89'\n"
                                        "hip: Optional[str] = None",
                    f"torch-{version}.dist-info/METADATA": f"Name: torch\nVersion: {version}", "torch/lib/libtorch_cuda.so": "", "torch/lib/libtorch.so": "",
                    f"nvidia_cuda_runtime_cu12-{runtime}.dist-info/METADATA": f"Name: nvidia-cuda-runtime-cu12\nVersion: {runtime}", "nvidia/cuda_runtime/lib/libcudart.so.12": "",
                    f"nvidia_nccl_cu12-{nccl}.dist-info/METADATA": f"Name: nvidia-nccl-cu12\nVersion: {nccl}", "nvidia/nccl/lib/libnccl.so.2": "",
                    "nvidia_cudnn_cu12-9.7.1.26.dist-info/METADATA": "Name: nvidia-cudnn-cu12\nVersion: 9.7.1.26", "nvidia/cudnn/lib/libcudnn.so.9": "",
                    "numpy-2.1.0.dist-info/METADATA": "Name: numpy"})
    node.variables.update({"VIRTUAL_ENV": "/home/kim/venv", "PATH": "/home/kim/venv/bin:/usr/local/bin:/usr/bin:/bin"})


def ready(node: Node) -> Node:
    """Without entries that stand for a folder of another one."""
    for name in [name for name, content in node.files.items() if content is None]:
        del node.files[name]
    return node


def h100() -> Node:
    """Bare metal: two sockets, eight H100 SXM5, eight ConnectX-7; a user's shell with an environment of PyTorch."""
    node = Node()
    cpus(node)
    system(node)
    nvidia(node)
    infiniband(node)
    torch(node)
    return ready(node)


def cpu() -> Node:
    """Bare metal without GPUs and InfiniBand."""
    node = Node()
    cpus(node)
    system(node)
    return ready(node)


def docker() -> Node:
    """docker run --gpus all --ipc=host --ulimit memlock=-1 --ulimit nofile=1048576 on the first one, with its own cgroup and without a quota; root inside."""
    node = h100()
    node.files = {name: content for name, content in node.files.items() if not name.startswith(("sys/fs/cgroup/", "proc/900/", "proc/899/"))}
    node.files["proc/self/cgroup"] = "0::/"
    node.put("sys/fs/cgroup", {"cgroup.controllers": "cpuset cpu io memory pids", "cpu.max": "max 100000", "memory.max": "max", "memory.high": "max", "memory.current": 5000000000,
                               "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0", "cpu.stat": "usage_usec 1\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0",
                               "memory.stat": "anon 4000000000\nfile 100000000\ninactive_file 90000000"})
    node.put("", {".dockerenv": ""})
    node.files["proc/self/mountinfo"] = "\n".join((
        "500 400 0:90 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A,upperdir=/var/lib/docker/overlay2/x/diff,workdir=/var/lib/docker/overlay2/x/work",
        "501 500 0:91 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw", "502 500 0:92 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs ro",
        "503 502 0:23 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate", "504 500 0:93 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755",
        "505 504 0:24 / /dev/shm rw,nosuid,nodev - tmpfs tmpfs rw,inode64", "506 500 259:5 /data /scratch rw,noatime - xfs /dev/nvme1n1p1 rw,attr2,inode64,noquota"))
    for path in ("/", "/tmp", "/var/tmp", "/home/kim", "/home", "/home/kim/.cache", "/var", "/var/log"):
        node.facts[f"filesystem:{path}"] = filesystem(OVERLAY, 1000 * GIB)
    node.facts["user.id"] = 0
    node.variables["container"] = "docker"
    return node


def slurm() -> Node:
    """A rank of a job of two nodes and 16 ranks: srun with four CPUs for each of eight ranks here, bound to the socket of its GPU, in a cgroup of its step."""
    node = h100()
    step = "system.slice/slurmstepd.scope/job_4711/step_0/user/task_0"
    node.files["proc/self/cgroup"] = f"0::/{step}"
    parts = step.split("/")
    for i in range(1, len(parts) + 1):
        node.put("sys/fs/cgroup/" + "/".join(parts[:i]), {
            "cgroup.controllers": "cpuset cpu io memory pids", "cpu.max": "max 100000", "memory.max": 2 * 10**12 if i >= 3 else "max", "memory.high": "max", "memory.current": 50 * 10**9,
            "memory.stat": "anon 40000000000\nfile 9000000000\ninactive_file 8000000000", "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0",
            "cpu.stat": "usage_usec 1\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0", "cpuset.cpus.effective": "0-31" if i < 5 else "0-3"})
    node.facts["cpus.allowed"] = "0-3"
    node.variables.update({
        "SLURM_JOB_ID": "4711", "SLURM_NTASKS": "16", "SLURM_NNODES": "2", "SLURM_JOB_NUM_NODES": "2", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0", "SLURM_TASKS_PER_NODE": "8(x2)",
        "SLURM_STEP_ID": "0", "SLURM_STEP_TASKS_PER_NODE": "8(x2)", "SLURM_NTASKS_PER_NODE": "8", "SLURM_CPUS_PER_TASK": "4", "SLURM_CPUS_ON_NODE": "32", "SLURM_JOB_NODELIST": "gpu[17-18]",
        "SLURM_GPUS_ON_NODE": "8", "SLURM_STEP_NUM_TASKS": "16", "RANK": "0", "WORLD_SIZE": "16", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "8", "MASTER_ADDR": "gpu17", "MASTER_PORT": "29500",
        "CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7", "OMP_NUM_THREADS": "4"})
    node.facts["address:gpu17"] = "192.0.2.17"
    node.facts["address:gpu18"] = "192.0.2.18"
    return node


def ethernet() -> Node:
    """The GPUs without InfiniBand: two interfaces, 25 and 100 Gb/s, the default route on the first."""
    node = Node()
    cpus(node)
    system(node)
    nvidia(node)
    torch(node)
    interface(node, "eth1", "0000:00:1d.0/0000:05:00.0", speed=100000, mtu=9000)
    return ready(node)


def roce() -> Node:
    """The first one with Ethernet at 400 Gb/s in the place of InfiniBand: RoCE version 2, packets of 9,000 bytes."""
    node = h100()
    for i in range(8):
        port = f"sys/devices/{card_place(i)}/infiniband/mlx5_{i}/ports/1"
        node.put(port, {"link_layer": "Ethernet", "lid": "0x0", "sm_lid": "0x0"})
        for k, kind in enumerate(("IB/RoCE v1", "IB/RoCE v1", "RoCE v2", "RoCE v2")):
            node.put(port, {f"gids/{k}": f"0000:0000:0000:0000:0000:ffff:c000:02{i:02x}", f"gid_attrs/types/{k}": kind, f"gid_attrs/ndevs/{k}": f"ib{i}"})
        node.put(f"sys/devices/{card_place(i)}/net/ib{i}", {"type": 1, "mtu": 9000})
    return node


BASES = {"h100": h100, "cpu": cpu, "docker": docker, "slurm": slurm, "ethernet": ethernet, "roce": roce}


class Root:
    """A node on disk that is changed and changed back."""

    def __init__(self, folder: pathlib.Path, node: Node) -> None:
        self.folder, self.node = folder, node
        node.write(folder)

    def change(self, changes: dict[str, Content]) -> None:
        """PATH, "fact:KEY" or "variable:NAME" -> what it is instead, None: it is not there; "denied" -> paths that cannot be read."""
        changed = Node(facts=dict(self.node.facts), variables=dict(self.node.variables), denied=list(changes.get("denied", ())))
        for name, content in changes.items():
            kind, _, key = name.partition(":") if name.startswith(("fact:", "variable:")) else (name, "", "")
            if kind == "fact":
                changed.facts[key] = content
            elif kind == "variable":
                changed.variables[key] = content
            elif name.endswith("/") and content is None:
                for path in [p for p in self.node.files if p.startswith(name)]:
                    write(self.folder / path, None)
                self._prune(self.folder / name)
            elif name != "denied":
                write(self.folder / name, content)
        for name, content in changed.own_files().items():
            write(self.folder / name, content)

    def _prune(self, folder: pathlib.Path) -> None:
        for path, _, _ in os.walk(folder, topdown=False):
            if not os.listdir(path):
                os.rmdir(path)

    def restore(self, changes: dict[str, Content]) -> None:
        for name in changes:
            if name.endswith("/"):
                for path in [p for p in self.node.files if p.startswith(name)]:
                    write(self.folder / path, self.node.files[path])
            elif not name.startswith(("fact:", "variable:")) and name != "denied":
                write(self.folder / name, self.node.files.get(name))
        write(self.folder / "holdup/denied", None)
        for name, content in self.node.own_files().items():
            write(self.folder / name, content)
