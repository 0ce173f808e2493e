# SPDX-License-Identifier: Apache-2.0
"""`holdup doctor` on drivers, GPUs, links, variables and libraries: captured nodes that are well but for one thing, and a libnvidia-ml that does what a file says."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
from typing import Any

from tests.cuda import driver
from tests.program import EXE, ROOT, skip_loudly, torch_or_skip

TOPICS = ("driver", "gpu", "links", "environment", "libraries")
VERSION = "NVRM version: NVIDIA UNIX {} Kernel Module{}  {}  Release Build  (dvs)\nGCC version:  gcc version 12.3.0\n"
DRIVER = "580.95.05"
SITE = "home/kim/venv/lib/python3.12/site-packages"
BUS = ("0000:3b:00.0", "0000:5d:00.0")
# of an H100 that is well, as gpu_facts.h says: NVML's own units
GPU = {"error": 0, "name": "NVIDIA H100 80GB HBM3", "capability": 90, "mig": 0, "memory": 85520809984, "bar": 137438953472, "use": 0, "recovery": 0, "ecc": 1, "ecc_next": 1,
       "corrected": 3, "uncorrected": 0, "rows_pending": 0, "rows_failed": 0, "reasons": 1, "celsius": 32, "margin": 55, "power_limit": 700000, "power_default": 700000,
       "limited_power": 10**12, "limited_thermal": 10**9, "limited_software": 0, "limited_hardware": 0, "limited_brake": 0, "clock": 345, "clock_most": 1980, "chosen_clock": 1980,
       "default_clock": 1980, "persistence": 1, "compute_mode": 0, "generation": 1, "generation_most": 5, "width": 16, "width_most": 16, "replays": 0, "links": 18,
       "links_active": 18, "link_down": -1, "link_flit": 0, "link_data": 0, "link_replays": 0, "link_recoveries": 0, "fabric": 3, "fabric_code": 0, "fabric_health": 1}
PORT = "sys/devices/pci0000:37/0000:37:01.0/0000:38:00.0/0000:39:0{}.0"
BARE = "processor : 0\nvendor_id : GenuineIntel\nflags : fpu sse avx512f\n"
GUEST = "processor : 0\nvendor_id : GenuineIntel\nflags : fpu sse hypervisor avx512f\n"


def config(redirects: bool, acs_at: int = 0x150) -> bytes:
    """A port's configuration space: AER at 0x100, then access control services."""
    space = bytearray(4096)
    space[0x100:0x104] = (1 | 2 << 16 | acs_at << 20).to_bytes(4, "little")
    space[acs_at:acs_at + 8] = (0x000d | 1 << 16).to_bytes(4, "little") + (0x1f).to_bytes(2, "little") + (0x1d if redirects else 0).to_bytes(2, "little")
    return bytes(space)


class Node(unittest.TestCase):
    """A node with two H100 behind one PCIe switch, a card of InfiniBand, and a user's environment of PyTorch; all is well."""

    def setUp(self) -> None:
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="holdup-doctor-gpu-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.facts: dict[str, Any] = {"nvml": 0, "nvml.driver": DRIVER, "nvml.cuda": 13000, "user.id": 1000}
        self.gpus = [dict(GPU, bus=bus, minor=i, peer=f"{1 - i} 0") for i, bus in enumerate(BUS)]
        self.variables = {"PATH": "/home/kim/venv/bin:/usr/bin", "HOME": "/home/kim", "VIRTUAL_ENV": "/home/kim/venv"}
        for name in ("nvidiactl", "nvidia-uvm", "nvidia0", "nvidia1"):
            self.facts[f"device:/dev/{name}"] = "c 195:0 666 0:0 rw"
        self.put("proc/driver/nvidia/version", VERSION.format("Open", " for x86_64", DRIVER))
        self.put("proc/cpuinfo", BARE)
        self.put("proc/uptime", "864000.00 100.00\n")
        self.put("proc/cmdline", "root=/dev/sda1 iommu=pt\n")
        self.put("proc/self/cgroup", "0::/user.slice/session-1.scope\n")
        self.put("dev/kmsg")
        self.put("sys/class/net/eth0/mtu", "1500")
        self.put("sys/class/net/lo/mtu", "65536")
        for name in ("libcuda.so", "libnvidia-ml.so"):
            self.put(f"usr/lib/x86_64-linux-gnu/{name}.{DRIVER}")
            self.link(f"usr/lib/x86_64-linux-gnu/{name}.1", f"{name}.{DRIVER}")
        for i, bus in enumerate(BUS):
            self.device(f"{PORT.format(i)}/{bus}", "0x10de", "0x030200", "nvidia")
            self.put(f"{PORT.format(i)}/config", config(False))
            self.put(f"proc/driver/nvidia/gpus/{bus}/information", f"Model: \t\t NVIDIA H100\nDevice Minor: \t {i}\n")
            self.link(f"{PORT.format(i)}/{bus}/iommu_group", "../../../../../../kernel/iommu_groups/7")
        self.put(f"{PORT.format(0)}/max_link_width", "16")
        self.put("sys/kernel/iommu_groups/7/type", "identity")
        self.device("sys/devices/pci0000:37/0000:37:01.0/0000:38:00.0/0000:39:02.0/0000:60:00.0", "0x15b3", "0x020700", "mlx5_core")
        self.put("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE")
        self.link("sys/class/infiniband/mlx5_0/device", "../../../devices/pci0000:37/0000:37:01.0/0000:38:00.0/0000:39:02.0/0000:60:00.0")
        self.torch("2.9.0+cu130", "'13.0'")

    def put(self, path: str, text: str | bytes = "") -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)

    def link(self, path: str, target: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        file.symlink_to(target)

    def device(self, place: str, vendor: str, kind: str, bound: str | None) -> None:
        for name, text in (("vendor", vendor), ("class", kind), ("numa_node", "0"), ("current_link_width", "16"), ("max_link_width", "16"),
                           ("aer_dev_fatal", "Undefined 0\nTOTAL_ERR_FATAL 0"), ("aer_dev_nonfatal", "TOTAL_ERR_NONFATAL 0"), ("aer_dev_correctable", "RxErr 0\nTOTAL_ERR_COR 0")):
            self.put(f"{place}/{name}", text)
        parts = place.removeprefix("sys/").split("/")
        for i in range(3, len(parts) + 1):     # with the bridges above it
            self.link(f"sys/bus/pci/devices/{parts[i - 1]}", f"../../../{'/'.join(parts[:i])}")
        if bound:
            self.link(f"{place}/driver", f"../../../../../../bus/pci/drivers/{bound}")

    def torch(self, version: str, cuda: str, hip: str = "None") -> None:
        self.put("home/kim/venv/bin/python3")
        self.put("home/kim/venv/pyvenv.cfg")
        self.put(f"{SITE}/torch/version.py", f"__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = {cuda}\nhip: Optional[str] = {hip}\n")
        for package in ("nvidia_nccl_cu13-2.27.7", "nvidia_cudnn_cu13-9.13.0.50"):
            self.put(f"{SITE}/{package}.dist-info/METADATA")

    def driver_of(self, version: str, cuda: int | None) -> None:
        """Another driver, and the CUDA that NVML says it has."""
        self.put("proc/driver/nvidia/version", VERSION.format("x86_64", "", version))
        self.facts.update({"nvml.driver": version, "nvml.cuda": cuda if cuda else -1})
        for name in ("libcuda.so", "libnvidia-ml.so"):
            self.link(f"usr/lib/x86_64-linux-gnu/{name}.1", f"{name}.{version}")

    def without_driver(self) -> None:
        shutil.rmtree(self.root / "proc/driver")
        self.facts = {}
        self.gpus = []
        for i, bus in enumerate(BUS):
            (self.root / PORT.format(i) / bus / "driver").unlink()

    def ask(self, *arguments: str) -> dict[str, Any]:
        lines = [f"{k} {v}" for k, v in self.facts.items()] + [f"gpu.{i}.{k} {v}" for i, gpu in enumerate(self.gpus) for k, v in gpu.items() if v is not None]
        self.put("holdup/facts", "\n".join(lines) + "\n")
        self.put("holdup/environment", "".join(f"{k}={v}\n" for k, v in self.variables.items()))
        done = subprocess.run([EXE, "doctor", "--root", self.root, "--json", *(arguments or [x for t in TOPICS for x in ("--only", t)])], capture_output=True, check=False, cwd=ROOT)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def answers(self, check: str) -> list[tuple[str, str | None, str]]:
        found, = self.ask("--only", check)["checks"]
        return [(a["verdict"], a["subject"], a["evidence"]) for a in found["answers"]]

    def one(self, check: str) -> tuple[str, str]:
        """Its only answer: verdict, evidence."""
        (verdict, _, text), = self.answers(check)
        return verdict, text

    def bad(self) -> dict[str, str]:
        """Checks of these topics that found something."""
        return {c["id"]: c["verdict"] for c in self.ask()["checks"] if c["verdict"] in ("note", "warning", "failure")}


class Well(Node):
    def test_no_finding_and_no_doubt(self) -> None:
        found = self.ask()
        self.assertEqual({c["id"]: c["answers"] for c in found["checks"] if c["verdict"] not in ("ok", "does not apply")}, {})
        self.assertEqual([c["id"] for c in found["checks"] if c["verdict"] == "does not apply"], ["proxy"])

    def test_values_to_compare(self) -> None:
        values = self.ask()["values"]
        for key, value in {"driver.version": DRIVER, "driver.cuda": "13.0", "cuda.runtime": "13.0", "torch.version": "2.9.0+cu130", "nccl.version": "2.27.7",
                           "gpus": "2", "gpu.1.name": GPU["name"], "gpu.0.power_limit_w": "700", "gpu.0.ecc": "on", "gpu.1.nvlinks": "18", "gpu.0.pcie_width": "16",
                           "gpu.0.max_mhz": "1980"}.items():
            self.assertEqual(values.get(key), value, key)

    def test_a_node_without_gpus(self) -> None:
        shutil.rmtree(self.root)
        self.facts, self.gpus, self.variables = {}, [], {"PATH": "/usr/bin"}
        found = self.ask()
        self.assertEqual({c["verdict"] for c in found["checks"]}, {"not checked", "does not apply", "ok"})
        self.assertEqual({a["evidence"] for c in found["checks"] for a in c["answers"] if a["verdict"] == "not checked"}, {"no NVIDIA driver", "no GPU with a driver"})
        self.assertEqual({c["verdict"] for c in found["checks"] if c["id"].startswith("gpu-") and c["id"] not in ("gpu-driver", "gpu-nic")}, {"not checked"})
        self.assertEqual({c["id"] for c in found["checks"] if c["verdict"] == "ok"}, {"nccl-settings", "debug-variables"})

    def test_given_to_a_virtual_machine(self) -> None:
        self.without_driver()
        for i, bus in enumerate(BUS):
            self.link(f"{PORT.format(i)}/{bus}/driver", "../../../../../../bus/pci/drivers/vfio-pci")
        self.assertEqual({c["verdict"] for c in self.ask()["checks"]}, {"not checked", "does not apply", "ok"})

    def test_hostile_facts(self) -> None:
        """Numbers, names and counts that no driver says: no crash, and nothing is made of them."""
        self.facts.update({"gpu.99999999999.error": 0, "gpu.-1.error": 1, "gpu.63.error": 0, "gpu..x": 1, "gpu.": 2, "gpu.0": 3, "nvml.driver ": "x" * 9000})
        self.gpus[0].update({"peer": "64 0", "pid": "9" * 40, "capability": "1e9", "width": "-5", "name": "\x1b[31m" + "N" * 500, "fabric": 2**62})
        self.assertTrue(self.ask()["checks"])
        text = subprocess.run([EXE, "doctor", "--root", self.root, "--all"], capture_output=True, check=False, cwd=ROOT).stdout
        self.assertNotIn(b"\x1b", text)


class Cuda(Node):
    """The runtime of the job and the driver of the node."""

    def judge(self, driver_version: str, cuda: int | None, torch: str) -> tuple[str, str]:
        self.driver_of(driver_version, cuda)
        self.torch(f"2.9.0+cu{torch.replace('.', '')}", f"'{torch}'")
        return self.one("cuda-driver")

    def test_what_goes_together(self) -> None:
        """NVIDIA, CUDA Compatibility: as new, or the same major version on its oldest branch or later."""
        for version, cuda, torch, verdict in (
                ("580.95.05", 13000, "13.0", "ok"), ("580.95.05", 13000, "12.8", "ok"), ("570.26", 12080, "12.8", "ok"), ("525.60.13", 12000, "11.8", "ok"),
                ("580.95.05", 13000, "13.2", "note"), ("525.60.13", 12000, "12.8", "note"), ("450.80.02", 11000, "11.8", "note"),
                ("570.26", 12080, "13.0", "failure"), ("520.61.05", 11080, "12.1", "failure"), ("470.256.02", 11040, "12.4", "failure")):
            for told in (cuda, None):     # by NVML, or by the table of branches
                with self.subTest(version, torch=torch, told=told):
                    found, text = self.judge(version, told, torch)
                    self.assertEqual(found, verdict, text)
                    self.assertIn(f"CUDA {torch}", text)

    def test_failure_says_what_to_do(self) -> None:
        self.driver_of("550.54.15", 12040)
        self.torch("2.9.0+cu130", "'13.0'")
        answer, = self.ask("--only", "cuda-driver")["checks"][0]["answers"]
        self.assertEqual(answer["evidence"], "PyTorch 2.9.0+cu130 needs CUDA 13.0 (/home/kim/venv/lib/python3.12/site-packages/torch/version.py), driver 550.54.15 supports 12.4: "
                                             "no GPU work can start (error 35 or 803)")
        self.assertEqual(answer["fix"], "update the driver to 580 or later, or install a build for CUDA 12.x")

    def test_a_branch_that_is_newer_than_the_table(self) -> None:
        self.assertEqual(self.judge("999.10", None, "13.2")[0], "ok")
        self.assertEqual(self.judge("999.10", None, "14.1")[0], "not checked")
        self.assertEqual(self.judge("999.10", 15000, "14.1")[0], "ok")
        self.assertEqual(self.judge("390.1", None, "12.1")[0], "not checked")

    def test_forward_compatibility(self) -> None:
        self.put("usr/local/cuda/compat/libcuda.so.580.65.06")
        self.link("usr/local/cuda/compat/libcuda.so.1", "libcuda.so.580.65.06")
        self.judge("550.54.15", 12040, "13.0")
        answer, = self.ask("--only", "cuda-driver")["checks"][0]["answers"]
        self.assertEqual((answer["verdict"], answer["fix"]), ("failure", "put /usr/local/cuda/compat in front of LD_LIBRARY_PATH, or update the driver"))
        self.variables["LD_LIBRARY_PATH"] = "/usr/local/cuda/compat/:/opt/x"
        verdict, text = self.one("cuda-driver")
        self.assertEqual(verdict, "note", text)
        self.assertIn("by libcuda of 580.65.06", text)
        for gpu in self.gpus:
            gpu["name"] = "NVIDIA GeForce RTX 4090"
        verdict, text = self.one("cuda-driver")
        self.assertEqual(verdict, "failure")
        self.assertIn("804", text)

    def test_compatibility_package_that_is_older_than_the_driver(self) -> None:
        self.link("usr/local/cuda/compat/libcuda.so.1", "libcuda.so.535.54.03")
        self.variables["LD_LIBRARY_PATH"] = "/usr/local/cuda/compat"
        verdict, text = self.one("cuda-driver")
        self.assertEqual(verdict, "warning")
        self.assertIn("803", text)

    def test_where_the_runtime_is_looked_for(self) -> None:
        (self.root / SITE / "torch/version.py").unlink()
        self.driver_of("550.54.15", 12040)
        self.assertEqual(self.one("cuda-driver"), ("not checked", "no CUDA runtime found"))
        self.put("usr/local/cuda/version.json", '{\n  "cuda" : {\n    "name" : "CUDA SDK",\n    "version" : "13.0.1"\n  },\n  "cuda_cccl" : {"version" : "12.1"}\n}')
        verdict, text = self.one("cuda-driver")     # a toolkit may be there for other programs
        self.assertEqual(verdict, "warning")
        self.assertIn("the CUDA toolkit needs CUDA 13.0 (/usr/local/cuda/version.json)", text)
        self.put(f"{SITE}/nvidia_cuda_runtime_cu12-12.4.127.dist-info/METADATA")     # JAX's
        self.assertEqual(self.one("cuda-driver")[0], "ok")
        self.put("opt/site/torch/version.py", "__version__ = \"2.1.0\"\ncuda = '11.8'\n")     # of old builds, and PYTHONPATH comes first
        self.variables["PYTHONPATH"] = "/opt/site"
        self.assertIn("PyTorch 2.1.0 needs CUDA 11.8 (/opt/site/torch/version.py)", self.one("cuda-driver")[1])

    def test_builds_without_cuda(self) -> None:
        self.torch("2.9.0+cpu", "None")
        self.assertEqual(self.one("torch-build")[0], "warning")
        self.assertEqual(self.one("cuda-driver")[0], "not checked")
        self.torch("2.9.0+rocm6.4", "None", "'6.4.43484'")
        self.assertEqual(self.one("torch-build")[0], "warning")
        self.assertIn("AMD", self.one("torch-build")[1])

    def test_architectures(self) -> None:
        """What each toolkit makes code for: release notes of CUDA 11.0, 11.8, 12.8, 13.0."""
        for capability, torch, verdict in ((120, "12.4", "failure"), (120, "12.8", "ok"), (100, "12.6", "failure"), (103, "12.8", "ok"), (90, "11.7", "failure"), (90, "11.8", "ok"),
                                           (86, "11.0", "ok"), (80, "10.2", "failure"), (70, "13.0", "failure"), (75, "13.0", "ok"), (70, "12.9", "ok"), (61, "13.0", "failure")):
            with self.subTest(capability, torch=torch):
                self.gpus[1]["capability"] = capability
                self.torch(f"2.9.0+cu{torch.replace('.', '')}", f"'{torch}'")
                self.gpus[0]["capability"] = 75
                self.assertEqual([v for v, _, _ in self.answers("torch-build")], [verdict])
        self.torch("2.4.0a0+3bcc3cddb5.nv24.07", "'12.5'")     # builds of others may carry PTX, which a newer GPU compiles
        self.gpus[1]["capability"] = 120
        self.assertEqual(self.one("torch-build")[0], "warning")
        self.gpus[1]["capability"] = self.gpus[0]["capability"] = None
        self.assertEqual(self.one("torch-build")[0], "not checked")


class Driver(Node):
    def test_none_is_loaded(self) -> None:
        self.without_driver()
        self.put("proc/sys/kernel/osrelease", "6.8.0-45-generic\n")
        found = self.ask()
        verdicts = {c["id"]: c["verdict"] for c in found["checks"]}
        self.assertEqual(verdicts.pop("gpu-driver"), "failure")
        self.assertEqual({v for k, v in verdicts.items() if v not in ("not checked", "does not apply", "ok")}, set())
        self.assertEqual(self.answers("gpu-ecc"), [("not checked", None, "no NVIDIA driver")])
        for _, subject, text in self.answers("gpu-driver"):
            self.assertEqual(text, f"/sys/bus/pci/devices/{subject} has no driver; no nvidia.ko for this kernel in /lib/modules")

    def fix(self) -> str:
        return self.ask("--only", "gpu-driver")["checks"][0]["answers"][0]["fix"]

    def test_why_it_is_not(self) -> None:
        self.without_driver()
        self.put("proc/sys/kernel/osrelease", "6.8.0-45-generic\n")
        self.put("lib/modules/6.8.0-44-generic/updates/dkms/nvidia.ko")
        self.assertIn("dkms autoinstall", self.fix())     # it is there for another kernel only
        self.put("lib/modules/6.8.0-45-generic/updates/dkms/nvidia.ko.zst")
        self.assertIn("modprobe nvidia", self.fix())
        self.put("sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", b"\x06\0\0\0\0")
        self.assertIn("modprobe nvidia", self.fix())
        self.put("sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", b"\x06\0\0\0\x01")
        self.assertIn("sign /lib/modules/6.8.0-45-generic/updates/dkms/nvidia.ko.zst", self.fix())
        for i, bus in enumerate(BUS):
            self.link(f"{PORT.format(i)}/{bus}/driver", "../../../../../../bus/pci/drivers/nouveau")
        self.assertIn("nouveau", self.fix())
        self.assertEqual(self.answers("gpu-driver")[0][2], f"/sys/bus/pci/devices/{BUS[0]}/driver is nouveau, not nvidia")
        self.put(f"{PORT.format(0)}/{BUS[0]}/class", "0x030000")     # it may be there for a screen
        self.assertEqual([v for v, _, _ in self.answers("gpu-driver")], ["warning", "failure"])

    def test_other_vendors(self) -> None:
        self.without_driver()
        for i, bus in enumerate(BUS):
            self.put(f"{PORT.format(i)}/{bus}/vendor", "0x1002")
            self.put(f"{PORT.format(i)}/{bus}/class", "0x120000")
        self.assertEqual([v for v, _, _ in self.answers("gpu-driver")], ["failure", "failure"])
        for i, bus in enumerate(BUS):
            self.link(f"{PORT.format(i)}/{bus}/driver", "../../../../../../bus/pci/drivers/amdgpu")
        self.assertEqual([v for v, _, _ in self.answers("gpu-driver")], ["ok", "ok"])
        self.facts = {"device:/dev/kfd": "c 236:0 660 0:110 --"}
        (verdict, subject, text), = self.answers("gpu-devices")
        self.assertEqual((verdict, subject), ("failure", "/dev/kfd"))
        self.assertIn("660 0:110", text)
        self.facts = {"device:/dev/kfd": "c 236:0 660 0:110 rw"}
        self.assertEqual(self.one("gpu-devices")[0], "ok")
        self.put(f"{PORT.format(0)}/{BUS[0]}/drm/renderD129/dev", "226:129")
        self.facts["device:/dev/dri/renderD129"] = "c 226:129 660 0:110 --"
        self.assertEqual([(v, s) for v, s, _ in self.answers("gpu-devices")], [("failure", "/dev/dri/renderD129")])
        for i, bus in enumerate(BUS):     # pictures only: the graphics of a CPU
            self.put(f"{PORT.format(i)}/{bus}/vendor", "0x8086")
            self.put(f"{PORT.format(i)}/{bus}/class", "0x030000")
            (self.root / PORT.format(i) / bus / "driver").unlink()
        self.assertEqual(self.one("gpu-driver")[0], "does not apply")

    def test_module_and_library(self) -> None:
        self.link("usr/lib/x86_64-linux-gnu/libcuda.so.1", "libcuda.so.580.105.08")
        self.facts["nvml"], self.gpus = 18, []
        self.assertEqual(self.one("driver-libraries"), ("failure", f"the kernel's module is {DRIVER} (/proc/driver/nvidia/version), "
                                                                   "/usr/lib/x86_64-linux-gnu/libcuda.so.1 is 580.105.08"))
        self.assertEqual(self.answers("gpu-ecc"), [("not checked", None, "NVML does not start: library and driver are of different versions")])
        self.link("usr/lib/x86_64-linux-gnu/libcuda.so.1", f"libcuda.so.{DRIVER}")
        self.assertEqual(self.one("driver-libraries")[0], "failure")     # NVML says so, wherever its library is
        self.facts = {}
        self.assertEqual(self.one("driver-libraries")[0], "ok")
        self.facts = {"nvml": -1}
        self.assertEqual(self.one("driver-libraries")[0], "warning")
        self.facts = {"nvml": -3}
        self.assertEqual(self.answers("gpu-recovery"), [("not checked", None, "the NVIDIA driver does not answer")])

    def test_device_files(self) -> None:
        self.facts["device:/dev/nvidia1"] = "c 195:1 660 0:44 --"
        self.assertEqual(self.answers("gpu-devices"), [("failure", "/dev/nvidia1", "this user may not read and write it: c 195:1 660 0:44 --")])
        self.facts["device:/dev/nvidia1"] = "c 195:1 666 0:0 rw"
        self.facts["device:/dev/nvidia-uvm"] = "absent"
        self.assertEqual(self.one("gpu-devices")[0], "note")     # the first CUDA program makes it
        self.put(".dockerenv")
        self.assertEqual(self.one("gpu-devices")[0], "failure")
        self.facts["device:/dev/nvidia-uvm"] = "c 510:0 666 0:0 rw"
        (self.root / ".dockerenv").unlink()
        self.facts["device:/dev/nvidiactl"], self.facts["nvml"] = "absent", 9
        self.assertEqual(self.one("gpu-devices")[0], "failure")
        self.facts = {"nvml": 0}
        self.assertEqual(self.one("gpu-devices")[0], "not checked")

    def test_container_without_a_gpu(self) -> None:
        """Of a node that has some: nobody asked for one, until a variable says so."""
        self.put(".dockerenv")
        self.facts, self.gpus = {"nvml": -1, **{f"device:/dev/{n}": "absent" for n in ("nvidiactl", "nvidia-uvm", "nvidia0", "nvidia1")}}, []
        self.assertEqual(self.bad(), {"driver-libraries": "note", "gpu-devices": "note"})
        self.variables["NVIDIA_VISIBLE_DEVICES"] = "all"
        self.assertEqual(self.bad()["gpu-devices"], "failure")

    def test_nvml_does_not_start(self) -> None:
        """As nvidia-smi fails: that is one failure, and the other checks are not checked."""
        for code, words in ((999, "unknown error"), (17, "blocked by the operating system or a control group"), (9, "driver not loaded")):
            self.facts["nvml"], self.gpus = code, []
            self.assertEqual(self.bad(), {"gpu-count": "failure"})
            self.assertIn(words, self.one("gpu-count")[1])
            self.assertEqual({c["verdict"] for c in self.ask("--only", "gpu")["checks"]}, {"failure", "not checked", "ok"})


class Gpus(Node):
    def test_one_thing_wrong_is_one_finding(self) -> None:
        """Each number of GPU 1 that is not well: its check alone finds it, as bad as it is, and says which GPU."""
        for check, verdict, change in (
                ("gpu-count", "failure", {"error": 15}), ("gpu-recovery", "failure", {"recovery": 1}), ("gpu-ecc", "warning", {"uncorrected": 2}),
                ("gpu-ecc", "failure", {"uncorrected": 2, "recovery": None}), ("gpu-ecc", "note", {"ecc": 0, "uncorrected": None}), ("gpu-rows", "warning", {"rows_pending": 1}),
                ("gpu-rows", "warning", {"pages_pending": 1}), ("gpu-rows", "failure", {"rows_failed": 1}), ("gpu-throttle", "warning", {"reasons": 0x40}),
                ("gpu-throttle", "warning", {"reasons": 0x84}), ("gpu-throttle", "note", {"limited_hardware": 5 * 10**12}), ("gpu-throttle", "warning", {"limited_software": 10**14}),
                ("gpu-temperature", "warning", {"margin": 2}), ("gpu-power-limit", "warning", {"power_limit": 500000}), ("gpu-clocks", "warning", {"chosen_clock": 1200}),
                ("gpu-bar", "note", {"bar": 268435456}), ("gpu-mode", "failure", {"compute_mode": 2}), ("gpu-mode", "note", {"compute_mode": 3}),
                ("gpu-mode", "failure", {"mig": 1, "parts": 0}), ("gpu-mode", "note", {"mig": 1, "parts": 7}), ("gpu-processes", "note", {"pid": 4711}),
                ("pcie-link", "warning", {"width": 8}), ("pcie-link", "warning", {"use": 90, "generation": 3}), ("pcie-errors", "note", {"replays": 4000}),
                ("nvlink", "failure", {"links_active": 17, "link_down": 5}), ("nvlink", "note", {"link_recoveries": 2}), ("nvswitch", "failure", {"fabric": 2}),
                ("nvswitch", "failure", {"fabric_code": 999}), ("nvswitch", "failure", {"fabric_health": 2}), ("nvswitch", "warning", {"fabric_health": 3})):
            with self.subTest(check, **change):
                self.gpus[1] = dict(GPU, bus=BUS[1], minor=1, peer="0 0", **{k: v for k, v in change.items() if k not in GPU})
                self.gpus[1].update(change)
                self.assertEqual(self.bad(), {check: verdict})
                self.assertEqual([s for _, s, _ in self.answers(check)], ["GPU 1"])

    def test_what_is_normal(self) -> None:
        """Nothing that a GPU does when it is idle, held by its power limit, without NVLink, without ECC to say of, or lower than the default by no one's doing."""
        for change in ({"reasons": 0x1}, {"reasons": 0x4}, {"reasons": 0x2}, {"generation": 1, "use": 0}, {"links": 18, "links_active": 0, "link_down": 0}, {"links": None, "links_active": None},
                       {"fabric": 0, "fabric_code": None, "fabric_health": None}, {"ecc": None, "uncorrected": None}, {"power_limit": 800000}, {"margin": None}, {"margin": 5},
                       {"limited_power": 10**15}, {"replays": 4}, {"rows_pending": None, "rows_failed": None}, {"chosen_clock": None}, {"persistence": None}, {"mig": None}):
            with self.subTest(**change):
                self.gpus = [dict(gpu, **change) for gpu in self.gpus]
                self.assertEqual(self.bad(), {})

    def test_persistence(self) -> None:
        for gpu in self.gpus:
            gpu["persistence"] = 0
        self.assertEqual(self.one("gpu-persistence"), ("warning", "persistence mode is off on 2 of 2 GPUs"))

    def test_processes_have_names(self) -> None:
        self.gpus[0]["pid"] = 4711
        self.put("proc/4711/comm", "python\n")
        self.assertEqual(self.answers("gpu-processes"), [("note", "GPU 0", "1 process: 4711 (python)")])

    def test_profilers(self) -> None:
        self.put("proc/812/comm", "nv-hostengine\n")
        verdict, text = self.one("gpu-profilers")
        self.assertEqual(verdict, "note")
        self.assertIn("process 812 is nv-hostengine (DCGM", text)

    def test_one_that_the_driver_does_not_show(self) -> None:
        self.gpus.pop()
        self.assertEqual(self.answers("gpu-count"), [("failure", BUS[1], f"NVML does not show /sys/bus/pci/devices/{BUS[1]}, which has NVIDIA's driver")])
        for change in ({"cgroup": "0::/system.slice/slurmstepd.scope/job_4711/step_0"}, {"SLURM_PROCID": "0"}, {"fact": "absent"}):     # what this process is not given is not lost
            with self.subTest(**change):
                self.put("proc/self/cgroup", change.get("cgroup", "0::/"))
                self.variables.pop("SLURM_PROCID", None)
                if "SLURM_PROCID" in change:
                    self.variables["SLURM_PROCID"] = "0"
                self.facts["device:/dev/nvidia1"] = change.get("fact", "c 195:1 666 0:0 rw")
                self.assertEqual(self.one("gpu-count")[0], "ok")
        self.put("proc/self/cgroup", "0::/system.slice/slurmd.service\n")
        self.variables.pop("SLURM_PROCID", None)
        self.variables["SLURM_JOB_ID"] = "4711"     # SLURM's prolog: it sees all
        self.facts["device:/dev/nvidia1"] = "c 195:1 666 0:0 rw"
        self.assertEqual(self.one("gpu-count")[0], "failure")

    def test_prolog_finds_what_stops_jobs(self) -> None:
        prolog = {c["id"] for c in self.ask("--prolog")["checks"]}
        self.assertLessEqual({"gpu-driver", "driver-libraries", "gpu-count", "gpu-recovery", "gpu-ecc", "gpu-rows", "nvlink", "nvswitch"}, prolog)
        self.gpus[1]["recovery"] = 2
        done = subprocess.run([EXE, "doctor", "--root", self.root, "--prolog"], capture_output=True, text=True, check=False, cwd=ROOT)
        self.assertEqual(done.returncode, 0)     # the facts are not written yet
        self.ask()
        done = subprocess.run([EXE, "doctor", "--root", self.root, "--prolog"], capture_output=True, text=True, check=False, cwd=ROOT)
        self.assertEqual(done.returncode, 1)
        self.assertIn("gpu-recovery", done.stdout)
        self.assertIn("reboot the node", done.stdout)


class Links(Node):
    def test_width_without_nvml(self) -> None:
        self.facts, self.gpus = {"nvml": 9}, []
        place = f"{PORT.format(0)}/{BUS[0]}"
        self.assertEqual(self.one("pcie-link")[0], "ok")
        self.put(f"{place}/current_link_width", "8")
        self.assertEqual(self.answers("pcie-link"), [("warning", BUS[0], f"/sys/bus/pci/devices/{BUS[0]}/current_link_width is 8, it could be 16")])
        self.put(f"{PORT.format(0)}/max_link_width", "8")     # the slot has no more
        self.assertEqual(self.one("pcie-link")[0], "ok")

    def test_errors(self) -> None:
        place = f"{PORT.format(1)}/{BUS[1]}"
        for name, text, verdict in (("aer_dev_fatal", "DLP 2\nTOTAL_ERR_FATAL 2", "warning"), ("aer_dev_nonfatal", "TOTAL_ERR_NONFATAL 1", "note"),
                                    ("aer_dev_correctable", "BadTLP 900\nTOTAL_ERR_COR 900", "note")):
            with self.subTest(name):
                self.put(f"{place}/{name}", text)
                self.assertEqual([(v, s) for v, s, _ in self.answers("pcie-errors")], [(verdict, BUS[1])])
                self.put(f"{place}/{name}", "TOTAL_ERR_X 0")

    def test_acs(self) -> None:
        self.put(f"{PORT.format(1)}/config", config(True))
        verdict, text = self.one("pcie-acs")
        self.assertEqual(verdict, "warning")
        self.assertIn("1 port of PCIe switches above GPUs sends", text)
        self.assertIn("0000:39:01.0", text)
        self.put("sys/devices/pci0000:37/0000:37:01.0/config", config(True))     # the CPU's own port is no switch
        self.put(f"{PORT.format(1)}/config", config(False))
        self.assertEqual(self.one("pcie-acs")[0], "ok")
        self.put(f"{PORT.format(1)}/config", config(True)[:64])     # what a user may read
        self.assertEqual(self.one("pcie-acs"), ("not checked", "needs root: /sys/bus/pci/devices/*/config"))
        self.put(f"{PORT.format(1)}/config", config(True))
        self.put("proc/cpuinfo", GUEST)
        self.assertEqual(self.one("pcie-acs")[0], "does not apply")

    def test_hostile_config(self) -> None:
        """Lists of capabilities that go round, or out of the file."""
        loop = bytearray(4096)
        loop[0x100:0x104] = (1 | 2 << 16 | 0x100 << 20).to_bytes(4, "little")
        for space in (bytes(loop), b"\xff" * 4096, config(True)[:0x152], bytes(257)):
            self.put(f"{PORT.format(1)}/config", space)
            self.assertEqual(self.one("pcie-acs")[0], "ok")

    def test_iommu(self) -> None:
        self.put("sys/kernel/iommu_groups/7/type", "DMA-FQ")
        verdict, text = self.one("iommu")
        self.assertEqual(verdict, "warning")
        self.assertIn("/sys/kernel/iommu_groups/7/type is DMA-FQ", text)
        (self.root / "sys/kernel/iommu_groups/7/type").unlink()
        self.assertEqual(self.one("iommu"), ("not checked", "cannot read /sys/kernel/iommu_groups/*/type"))
        self.put("proc/cpuinfo", GUEST)
        self.assertEqual(self.one("iommu")[0], "does not apply")
        self.put("proc/cpuinfo", "processor : 0\nCPU implementer : 0x41\n")     # Arm's SMMU translates by design
        self.assertEqual(self.one("iommu")[0], "does not apply")

    def test_peers(self) -> None:
        for status, verdict in ((0, "ok"), (1, "warning"), (2, "note"), (3, "warning"), (4, "warning"), (5, "note")):
            for i, gpu in enumerate(self.gpus):
                gpu["peer"] = f"{1 - i} {status}"
            self.assertEqual(self.one("peer-access")[0], verdict, status)
        for gpu in self.gpus:
            gpu["peer"] = None
        self.assertEqual(self.one("peer-access")[0], "does not apply")

    def test_fabric_of_a_single_gpu(self) -> None:
        """A machine that was given one GPU of a board: nobody's fault, perhaps."""
        self.gpus = [dict(self.gpus[0], fabric=2, peer=None)]
        self.assertEqual(self.one("nvswitch")[0], "warning")

    def test_card_of_the_other_socket(self) -> None:
        self.put(f"{PORT.format(1)}/{BUS[1]}/numa_node", "1")
        self.assertEqual(self.one("gpu-nic"), ("note", f"1 of 2 GPUs have no InfiniBand or RoCE device on their NUMA node: {BUS[1]} is on NUMA node 1"))
        self.assertEqual(self.ask()["values"]["pci.0.nic"], "mlx5_0")


class Environment(Node):
    def judge(self, check: str, **variables: str) -> list[str]:
        was, self.variables = self.variables, {**self.variables, **variables}
        found = self.answers(check)
        self.variables = was
        return [v for v, _, _ in found]

    def test_nccl(self) -> None:
        for name, value, verdict in (
                ("NCCL_P2P_DISABLE", "1", "warning"), ("NCCL_P2P_DISABLE", "0", "ok"), ("NCCL_SHM_DISABLE", "1", "warning"), ("NCCL_IB_DISABLE", "1", "warning"), ("NCCL_IB_DISABLE", "0", "ok"),
                ("NCCL_ALGO", "Ring", "note"), ("NCCL_DEBUG", "INFO", "note"), ("NCCL_DEBUG", "WARN", "ok"), ("NCCL_NVLS_ENABLE", "0", "note"), ("NCCL_NVLS_ENABLE", "1", "ok"),
                ("NCCL_SOCKET_IFNAME", "eth", "ok"), ("NCCL_SOCKET_IFNAME", "=eth0", "ok"), ("NCCL_SOCKET_IFNAME", "=eth", "failure"), ("NCCL_SOCKET_IFNAME", "ib0", "failure"),
                ("NCCL_SOCKET_IFNAME", "ib,eth", "ok"), ("NCCL_SOCKET_IFNAME", "^docker", "ok"), ("NCCL_SOCKET_IFNAME", "^eth", "warning"), ("NCCL_SOCKET_IFNAME", "lo", "warning"),
                ("NCCL_IB_HCA", "mlx5", "ok"), ("NCCL_IB_HCA", "=mlx5_0:1", "ok"), ("NCCL_IB_HCA", "mlx4_0", "warning"), ("NCCL_IB_HCA", "^mlx5_0", "warning"),
                ("GLOO_SOCKET_IFNAME", "eth0", "ok"), ("GLOO_SOCKET_IFNAME", "eth1", "failure")):
            with self.subTest(name, value=value):
                self.assertEqual(self.judge("nccl-settings", **{name: value}), [verdict])
        shutil.rmtree(self.root / "sys/class/infiniband")     # nothing is lost without it
        self.assertEqual(self.judge("nccl-settings", NCCL_IB_DISABLE="1"), ["ok"])
        self.assertEqual(self.judge("nccl-settings", NCCL_IB_HCA="mlx5"), ["ok"])

    def test_files_of_nccl(self) -> None:
        self.put("etc/nccl.conf", "# of 2023\nNCCL_P2P_DISABLE=1\n NCCL_ALGO=Tree # why\nNCCL_DEBUG\nOTHER=1\n")
        found = self.answers("nccl-settings")
        self.assertEqual([(v, s) for v, s, _ in found], [("warning", "NCCL_P2P_DISABLE"), ("note", "NCCL_ALGO")])
        self.assertIn("NCCL_P2P_DISABLE=1 (/etc/nccl.conf)", found[0][2])
        self.assertIn("NCCL_ALGO=Tree (/etc/nccl.conf)", found[1][2])
        self.put("home/kim/.nccl.conf", "NCCL_P2P_DISABLE=0\nNCCL_SHM_DISABLE=1")     # the user's holds
        self.assertEqual([s for _, s, _ in self.answers("nccl-settings")], ["NCCL_SHM_DISABLE", "NCCL_ALGO"])
        self.assertEqual(self.judge("nccl-settings", NCCL_SHM_DISABLE="0", NCCL_ALGO=""), ["ok"])     # the environment's does
        self.put("opt/nccl.conf", "NCCL_P2P_DISABLE=1")
        self.assertEqual(self.judge("nccl-settings", NCCL_CONF_FILE="/opt/nccl.conf", NCCL_ALGO=""), ["warning"])

    def test_a_tree_without_variables(self) -> None:
        self.ask()
        (self.root / "holdup/environment").unlink()
        done = subprocess.run([EXE, "doctor", "--root", self.root, "--json", "--only", "environment"], capture_output=True, check=False, cwd=ROOT)
        self.assertEqual({c["verdict"] for c in json.loads(done.stdout)["checks"]}, {"not checked"})

    def test_variables_for_debugging(self) -> None:
        for name, value, verdict in (("CUDA_LAUNCH_BLOCKING", "1", "warning"), ("CUDA_LAUNCH_BLOCKING", "0", "ok"), ("TORCH_DISTRIBUTED_DEBUG", "DETAIL", "warning"),
                                     ("TORCH_DISTRIBUTED_DEBUG", "INFO", "ok"), ("PYTORCH_NO_CUDA_MEMORY_CACHING", "1", "warning"), ("CUDA_DEVICE_MAX_CONNECTIONS", "1", "note"),
                                     ("CUDA_DEVICE_MAX_CONNECTIONS", "8", "ok"), ("PYTHONMALLOC", "debug", "warning"), ("NVIDIA_TF32_OVERRIDE", "0", "note"),
                                     ("LD_PRELOAD", "/usr/lib/libasan.so.8", "warning"), ("LD_PRELOAD", "/usr/lib/libjemalloc.so.2", "ok"), ("CUDA_MODULE_LOADING", "LAZY", "ok"),
                                     ("CUDA_VISIBLE_DEVICES", "0,1", "ok"), ("CUDA_VISIBLE_DEVICES", "2", "warning"), ("CUDA_VISIBLE_DEVICES", "", "warning"),
                                     ("CUDA_VISIBLE_DEVICES", "-1", "warning"), ("CUDA_VISIBLE_DEVICES", "GPU-0a1b", "ok")):
            with self.subTest(name, value=value):
                self.assertEqual(self.judge("debug-variables", **{name: value}), [verdict])

    def test_proxy_without_its_password(self) -> None:
        self.variables.update({"https_proxy": "http://kim:s3cret-pw@proxy.site:3128", "MASTER_ADDR": "node17.site"})
        verdict, text = self.one("proxy")
        self.assertEqual(verdict, "note")
        self.assertIn("proxy.site:3128", text)
        whole = subprocess.run([EXE, "doctor", "--root", self.root, "--all", "--json"], capture_output=True, text=True, check=False, cwd=ROOT).stdout
        self.assertNotIn("s3cret-pw", whole)
        for exception, verdict in ((".site", "ok"), ("site", "ok"), ("localhost,node17.site", "ok"), ("*", "ok"), ("node18.site", "note"), ("ode17.site", "note"), ("", "note")):
            self.assertEqual(self.judge("proxy", no_proxy=exception), [verdict], exception)
        self.assertEqual(self.judge("proxy", MASTER_ADDR="127.0.0.1"), ["ok"])

    def test_secrets_in_settings(self) -> None:
        self.variables.update({"NCCL_ALGO": "Ring --token=abcdefghijklmnop1234", "LD_PRELOAD": "/home/kim/?token=abcdefghijklmnop1234/libasan.so"})
        self.assertNotIn("abcdefghijklmnop1234", json.dumps(self.ask()))


class Libraries(Node):
    def test_copies(self) -> None:
        self.put("opt/nccl/lib/libnccl.so.2.18.5")
        self.link("opt/nccl/lib/libnccl.so.2", "libnccl.so.2.18.5")
        self.assertEqual(self.one("library-copies")[0], "ok")
        self.variables["LD_LIBRARY_PATH"] = "/opt/other::/opt/nccl/lib"
        verdict, text = self.one("library-copies")
        self.assertEqual(verdict, "note")
        self.assertIn("2.27.7", text)
        self.assertIn("2.18.5 in /opt/nccl/lib", text)
        self.link("opt/nccl/lib/libnccl.so.2", "libnccl.so.2.27.7")
        self.assertEqual(self.one("library-copies")[0], "ok")
        self.link("opt/nccl/lib/libnccl.so.2", "libnccl.so.2.27.75")
        self.assertEqual(self.one("library-copies")[0], "note")

    def test_stub(self) -> None:
        self.put("usr/local/cuda/lib64/stubs/libcuda.so")
        self.variables["LD_LIBRARY_PATH"] = "/usr/local/cuda/lib64/stubs"
        self.assertEqual(self.one("library-copies")[0], "ok")     # a program asks for libcuda.so.1
        self.link("usr/local/cuda/lib64/stubs/libcuda.so.1", "libcuda.so")
        self.assertEqual([(v, s) for v, s, _ in self.answers("library-copies")], [("failure", "libcuda.so.1")])


class Nvml(unittest.TestCase):
    """The same from a library, on this machine: a child asks it."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-doctor-nvml-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.library = cls.folder / "libnvidia-ml.so.1"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", cls.library, ROOT / "tests/monitor/nvml_standin.c"], check=True)

    def ask(self, scene: str, *checks: str, library: pathlib.Path | None = None) -> dict[str, list[tuple[str, str | None, str]]]:
        (self.folder / "scene").write_text(scene)
        environment = {"PATH": os.environ["PATH"], "HOLDUP_NVML": str(library or self.library), "NVML_SCENARIO": str(self.folder / "scene")}
        done = subprocess.run([EXE, "doctor", "--json", *(x for c in checks for x in ("--only", c))], capture_output=True, check=False, cwd=ROOT, env=environment, timeout=300)
        return {c["id"]: [(a["verdict"], a["subject"], a["evidence"]) for a in c["answers"]] for c in json.loads(done.stdout)["checks"]}

    def test_numbers_come_as_they_are(self) -> None:
        found = self.ask("gpus 2\nsetup 1\nfield 230 2 1 1\nvalue nvmlDeviceGetNvLinkState 16 0 1\nvalue nvmlDeviceGetP2PStatus 4\nvalue nvmlDeviceGetEccMode 0 0 0\n"
                         "value nvmlDeviceGetComputeMode 2 0 1\nvalue nvmlDeviceGetApplicationsClock 1500 0 0\nvalue nvmlDeviceGetBAR1MemoryInfo 268435456 0 0\n"
                         "value nvmlDeviceGetPersistenceMode 0\nprocesses 1 2 4000001\n", "gpu", "links")
        for check, answers in {
                "gpu-count": [("ok", None, "2 GPUs: Stand-in 80GB")],
                "gpu-recovery": [("failure", "GPU 1", "the driver asks for recovery action 2")],
                "gpu-ecc": [("note", "GPU 0", "ECC is off: errors in memory change results and nobody knows"),
                            ("failure", "GPU 1", "2 uncorrectable ECC errors since the driver was loaded")],
                "gpu-power-limit": [("warning", f"GPU {i}", "its power limit is 650 W, by default 700 W") for i in range(2)],
                "gpu-clocks": [("warning", "GPU 0", "its application clock is 1500 MHz, by default 1980 MHz")],
                "gpu-persistence": [("warning", None, "persistence mode is off on 2 of 2 GPUs")],
                "gpu-bar": [("note", "GPU 0", "the host can map 256 MiB of its 76294 MiB of memory at once (BAR1)")],
                "gpu-mode": [("failure", "GPU 1", "its compute mode is PROHIBITED: no CUDA program can use it")],
                "gpu-processes": [("note", "GPU 1", "2 processes: 4000001, 4000002")],
                "pcie-link": [("warning", f"GPU {i}", "PCIe runs with 8 of 16 lanes") for i in range(2)],
                "nvlink": [("failure", "GPU 1", "16 of 18 NVLinks are up, link 16 is not; another GPU of this node has 18 up")],
                "peer-access": [("warning", None, "1 of 1 pairs of GPUs cannot read each other's memory: GPU 0 and 1, a setting of the driver forbids it")],
                "nvswitch": [("ok", None, "all 2 GPUs have joined the NVSwitch fabric")]}.items():
            with self.subTest(check):
                self.assertEqual(found[check], answers)

    def test_lost_gpu(self) -> None:
        found = self.ask("gpus 3\ncode nvmlDeviceGetHandleByIndex_v2 15 1\n", "gpu-count", "gpu-persistence")
        self.assertEqual(found["gpu-count"], [("failure", "GPU 1", "NVML cannot ask it: GPU is lost")])
        self.assertEqual(found["gpu-persistence"], [("ok", None, "persistence mode is on (2 GPUs)")])

    def test_driver_that_hangs(self) -> None:
        """Nobody waits for it for ever, and nothing is said of what it did not answer."""
        found = self.ask("gpus 2\nhang nvmlDeviceGetName\n", "gpu", "driver")
        others = ("gpu-xid", "gpu-driver", "gpu-devices")     # these know without it
        self.assertEqual({tuple(a) for k, v in found.items() for a in v if k not in others}, {("not checked", None, "the NVIDIA driver does not answer")})

    def test_a_real_pytorch(self) -> None:
        """What is read of its files is what it says of itself."""
        python = torch_or_skip(self)
        said = json.loads(subprocess.run([python, "-c", "import importlib.metadata as m, json, torch; v = lambda n: next((d.version for d in m.distributions() "
                                          "if d.metadata['Name'].startswith(n)), None); print(json.dumps([torch.__version__, torch.version.cuda, v('nvidia-nccl'), v('nvidia-cudnn')]))"],
                                         check=True, capture_output=True).stdout)
        (self.folder / "scene").write_text("driver 535.1\nvalue nvmlSystemGetCudaDriverVersion_v2 12020\n")
        environment = {"PATH": f"{pathlib.Path(python).parent}:/usr/bin:/bin", "HOLDUP_NVML": str(self.library), "NVML_SCENARIO": str(self.folder / "scene")}
        done = subprocess.run([EXE, "doctor", "--json", "--only", "cuda-driver", "--only", "libraries"], capture_output=True, check=False, cwd=ROOT, env=environment)
        found = json.loads(done.stdout)
        values = found["values"]
        self.assertEqual([values.get(k) for k in ("torch.version", "nccl.version", "cudnn.version")], [said[0], *said[2:]])
        answer, = found["checks"][0]["answers"]
        if said[1] and not said[1].startswith("12."):     # not a build for CPUs, and newer than the driver of the scene
            self.assertEqual(values["cuda.runtime"], said[1])
            self.assertEqual(answer["verdict"], "failure")
            self.assertIn(f"PyTorch {said[0]} needs CUDA {said[1]}", answer["evidence"])

    def test_library_that_crashes(self) -> None:
        source = self.folder / "crash.c"
        source.write_text("int nvmlInit_v2(void) { __builtin_trap(); }\nint nvmlDeviceGetCount_v2(unsigned *n) { return *n = 0; }\n"
                          "int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = 0; return (int)i; }\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.folder / "crash.so", source], check=True)
        found = self.ask("", "gpu-ecc", "gpu-rows", library=self.folder / "crash.so")
        self.assertEqual(found, {check: [("not checked", None, "NVML does not start: unknown error")] for check in ("gpu-ecc", "gpu-rows")})

    def test_no_driver(self) -> None:
        """Without one, the vendor's own library is not even started: as root it makes a device file."""
        if pathlib.Path("/proc/driver/nvidia/version").exists():
            skip_loudly("this machine has an NVIDIA driver: what its library does without one is not tested")
            raise unittest.SkipTest("there is a driver")
        tested = 0
        for branch in driver.SUITES:
            folder = driver.fetch(branch, "libnvidia-ml.so.1")
            if not folder:
                continue
            tested += 1
            with self.subTest(branch), driver.no_node_left():
                was = driver.NODE.exists()
                done = subprocess.run([EXE, "doctor", "--json", "--only", "driver", "--only", "gpu"], capture_output=True, check=False, cwd=ROOT, timeout=120,
                                      env={"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(folder)})
                self.assertEqual(done.returncode, 0, done.stderr)
                answers = {a["evidence"] for c in json.loads(done.stdout)["checks"] for a in c["answers"] if c["id"] != "gpu-driver" and a["verdict"] == "not checked"}
                self.assertEqual(answers, {"no NVIDIA driver"})
                self.assertEqual({c["verdict"] for c in json.loads(done.stdout)["checks"]}, {"not checked", "does not apply"})
                self.assertEqual(driver.NODE.exists(), was, "a device file was left behind")
            with self.subTest(branch, asked=True), driver.no_node_left():
                found = self.ask("", "gpu-ecc", library=folder / "libnvidia-ml.so.1")
                self.assertEqual(found, {"gpu-ecc": [("not checked", None, "NVML does not start: driver not loaded")]})
        if not tested:
            raise unittest.SkipTest("no libnvidia-ml")


if __name__ == "__main__":
    unittest.main()
