# SPDX-License-Identifier: Apache-2.0
"""`holdup doctor --bundle`: what checks read, without what is nobody's business."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tarfile
import tempfile
import unittest
from typing import Any

from tests.monitor_trees import Tree
from tests.program import run

S = "s3cr3tHUSH"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzIjoiczNjcjN0SFVTSCJ9.s3cr3tHUSHsignature"
NAMES = ("kimberly", "node17", "corp.example", "nfs-head3", "10.9.8.7", "master22")
VARIABLES = {
    "HF_TOKEN": f"hf_{S}", "WANDB_API_KEY": S, "AWS_SECRET_ACCESS_KEY": S, "MY_APP_CONFIG": S, "NCCL_AUTH_TOKEN": S, "https_proxy": f"http://kimberly:{S}@10.9.8.7:3128",
    "NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "8", "HOME": "/home/kimberly", "USER": "kimberly", "MASTER_ADDR": "master22.corp.example", "LD_PRELOAD": "",
    "CUDA_URL": f"https://kimberly:{S}@h/x", "SSH_CONNECTION": "10.9.8.7 22", "PATH": "/home/kimberly/bin:/usr/bin", "SLURM_JOB_NODELIST": "node[17-20]",
}


def plant(root: pathlib.Path, **more: str) -> Tree:
    """A node of which each file and variable that is read holds something that must not leave it."""
    tree = Tree(root)
    tree.put_all(".", {
        "holdup/facts": "hostname node17.corp.example\ntime 2026-11-24T02:00:00Z\nlimit.memlock 65536 65536\ncwd /home/kimberly/run",
        "holdup/environment": "\n".join(f"{k}={v}" for k, v in {**VARIABLES, **more}.items()),
        "proc/cmdline": f"BOOT_IMAGE=/vmlinuz root=/dev/sda1 iommu=pt token={S} ip=dhcp hostname=node17",
        "proc/self/mountinfo": "36 1 0:40 / /data rw,noatime shared:1 - nfs4 nfs-head3.corp.example:/export/kimberly rw,vers=4.2,clientaddr=10.9.8.7,addr=10.9.8.7\n"
                               f"37 1 0:41 / /win rw - cifs //nfs-head3/kimberly rw,username=kimberly,password={S}\n"
                               "38 1 0:42 / /dev/shm rw - tmpfs tmpfs rw,size=67108864k",
        "proc/sys/kernel/osrelease": "6.8.0-node17", "proc/meminfo": "MemTotal: 65536000 kB\nSwapTotal: 0 kB", "proc/cpuinfo": "model name : AMD EPYC\nmicrocode : 0x1",
        "proc/self/status": "Name:\tholdup\nSigQ:\t1/2\nCapEff:\t0000000000000000", "etc/os-release": 'PRETTY_NAME="Debian 12"', "sys/class/infiniband/mlx5_0/fw_ver": "28.39.3560",
            "sys/class/infiniband/mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)",
        "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 24 00:00:00 UTC 2024",
        "proc/driver/nvidia/params": f'RegistryDwords: "token={S}"\nRmProfilingAdminOnly: 1', "sys/devices/system/cpu/online": "0-7",
        "proc/driver/nvidia/gpus/0000:17:00.0/information": "Model: NVIDIA H100 80GB HBM3\nVideo BIOS: 96.00.74.00.01\nGPU UUID: GPU-1",
    })
    tree.link("sys/class/net/eth0", "../../devices/pci0000:00/0000:00:05.0/net/eth0")
    tree.put_all("sys/devices/pci0000:00/0000:00:05.0/net/eth0", {"speed": 100000, "mtu": 9000, "operstate": "up"})
    tree.link("sys/devices/pci0000:00/0000:00:05.0/net/eth0/device", "../..")
    return tree


def findings(*arguments: Any, **options: Any) -> list[tuple[Any, ...]]:
    """What a report says, without its words; a bundle has other names."""
    status, out, err = run("doctor", "--json", *arguments, **options)
    assert status in (0, 1), f"exit {status}: {err}"
    report = json.loads(out)
    return [(c["id"], c["verdict"], a["verdict"], (a["subject"] or "").replace("kimberly", "user")) for c in report["checks"] for a in c["answers"]] + sorted(report["values"])


def everything(folder: pathlib.Path) -> bytes:
    """Names, targets of links and contents, all in one."""
    parts = []
    for path in folder.rglob("*"):
        parts.append(str(path.relative_to(folder)).encode())
        parts.append(os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b"")
    return b"\n".join(parts)


class Bundle(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="holdup-bundle-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.root = self.folder / "root"

    def bundle(self, name: str, *arguments: Any, **options: Any) -> pathlib.Path:
        path = self.folder / name
        status, _, err = run("doctor", "--bundle", path, *arguments, **options)
        self.assertIn(status, (0, 1), err)
        self.assertIn("look through it before you send it", err)
        return path

    def test_of_this_machine_it_gives_the_same_findings(self) -> None:
        for scope in ([], ["--job"]):
            path = self.bundle(f"here{len(scope)}", *scope)
            self.assertEqual(findings("--root", path, *scope), findings(*scope))

    def test_of_a_captured_one_too(self) -> None:
        plant(self.root)
        path = self.bundle("again", "--root", self.root, "--job")
        self.assertEqual(findings("--root", path, "--job"), findings("--root", self.root, "--job"))
        self.assertEqual(os.readlink(path / "sys/class/net/eth0"), "../../devices/pci0000:00/0000:00:05.0/net/eth0")

    def test_no_secret_and_no_name(self) -> None:
        plant(self.root)
        found = everything(self.bundle("quiet", "--root", self.root, "--job"))
        for word in (S, JWT, "SSH_CONNECTION", "MY_APP_CONFIG", "NODELIST", *NAMES):
            self.assertNotIn(word.encode(), found)
        self.assertIn(b"SigQ:\t1/2", found)  # no signature
        for word in ("NCCL_DEBUG=INFO", "OMP_NUM_THREADS=8", "HOME=/home/user", "vers=4.2", "server:/export/user", "iommu=pt", "https_proxy=http://proxy:3128"):
            self.assertIn(word.encode(), found)

    def test_secrets_of_the_environment(self) -> None:
        found = everything(self.bundle("live", "--job", env=VARIABLES))
        for word in (S, "kimberly", "10.9.8.7", "master22", "SSH_CONNECTION"):
            self.assertNotIn(word.encode(), found)

    def test_names_stay_where_they_are_asked_for_and_secrets_do_not(self) -> None:
        plant(self.root)
        found = everything(self.bundle("loud", "--root", self.root, "--job", "--keep-names"))
        for word in ("kimberly", "node17.corp.example", "nfs-head3", "master22"):
            self.assertIn(word.encode(), found)
        for word in (S, "SSH_CONNECTION", "MY_APP_CONFIG"):
            self.assertNotIn(word.encode(), found)

    def test_the_archive_is_the_folder(self) -> None:
        plant(self.root)
        deep = "sys/bus/pci/devices/0000:99:00.0"
        target = "../../../devices/" + "/".join(f"pci0000:{i:02x}" for i in range(14)) + "/0000:99:00.0"
        self.assertGreater(len(target), 100)
        (self.root / deep).parent.mkdir(parents=True)
        (self.root / deep).symlink_to(target)
        Tree(self.root).put_all(f"sys/{target[9:]}", {"class": "0x030200", "vendor": "0x10de", "device": "0x2330", "current_link_width": 16, "max_link_speed": "32.0 GT/s PCIe"})
        folder, archive = self.bundle("node", "--root", self.root), self.bundle("node.tar.gz", "--root", self.root)
        with tarfile.open(archive) as tar:
            names = tar.getnames()
            tar.extractall(self.folder / "out", **({"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}))
        self.assertEqual(names[0], "node/holdup/doctor.json")
        self.assertTrue(any(len(n) > 100 for n in names))
        self.assertEqual(subprocess.run(["diff", "-r", "--no-dereference", folder, self.folder / "out/node"], capture_output=True, text=True, check=False).stdout, "")
        self.assertEqual(sorted(n[5:] for n in names), sorted(str(p.relative_to(folder)) for p in folder.rglob("*")))
        status, out, _ = run("doctor", "--compare", "--json", folder, archive)
        self.assertEqual((status, json.loads(out)["differences"]), (0, []))
        if tar_of_system := subprocess.run(["tar", "tzf", archive], capture_output=True, text=True, check=False).stdout:
            self.assertEqual(sorted(line.rstrip("/") for line in tar_of_system.splitlines()), sorted(names))

    def test_it_does_not_overwrite(self) -> None:
        (self.folder / "there").mkdir()
        for name in ("there", "no/such/folder.tar.gz"):
            status, out, err = run("doctor", "--bundle", self.folder / name)
            self.assertEqual((status, out), (2 if name == "there" else 3, b""))
            self.assertIn(name, err)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["there"])
        self.assertEqual(run("doctor", "--keep-names")[0], 2)

    def test_its_size_has_a_limit(self) -> None:
        plant(self.root)
        big = os.urandom(3 << 20).hex()[: 4 << 20]
        for name in ("proc/meminfo", "proc/cpuinfo", "etc/os-release", "proc/driver/nvidia/params", "proc/self/mountinfo", "proc/sys/kernel/osrelease"):
            path = self.root / name
            path.write_text(path.read_text() + big)
        path = self.bundle("large", "--root", self.root)
        self.assertLess(sum(p.stat().st_size for p in path.rglob("*") if p.is_file() and not p.is_symlink()), (16 << 20) + 65536)
        left_out = (path / "holdup/left_out").read_text().split()
        self.assertTrue(left_out)
        self.assertFalse(any((path / name).exists() for name in left_out))

    def test_a_hostile_tree_writes_nothing_outside(self) -> None:
        plant(self.root)
        outside = self.folder / "outside"
        outside.mkdir()
        for name, target in (("etc/os-release", "../../../../../../" + str(outside)[1:] + "/x"), ("proc/cmdline", str(outside) + "/y"), ("proc/cpuinfo", "cpuinfo"),
                             ("sys/class/infiniband/evil", str(outside)), ("sys/class/net/a", "b"), ("sys/class/net/b", "a"), ("proc/meminfo", "/proc/self/../../../../etc/passwd")):
            (self.root / name).unlink(missing_ok=True)
            (self.root / name).symlink_to(target)
        os.mkfifo(self.root / "proc/sys/vm/fifo" if (self.root / "proc/sys/vm").is_dir() else self.root / "proc/fifo")
        (self.root / "sys/class/net/ e\nvil").mkdir()
        (self.root / "proc/sys/kernel/numa_balancing").mkdir()
        path = self.bundle("safe", "--root", self.root)
        self.assertEqual(list(outside.iterdir()), [])
        self.assertNotIn(b"root:x:0", everything(path))
        self.assertEqual(findings("--root", path), findings("--root", self.root))


if __name__ == "__main__":
    unittest.main()
