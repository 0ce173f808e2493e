# SPDX-License-Identifier: Apache-2.0
"""What monitors wrote, without a trace: numbers of real files against those that xml.etree, csv, json and regular expressions read."""
import csv
import io
import json
import re
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from tests import monitor_texts as texts
from tests.program import SHARED, run, skip_loudly

MIB = 1 << 20
SMI = SHARED / "traces/smi"
CAPTURES = SMI / "utkuozdemir-captures"
H200 = CAPTURES / "linux-x86_64__nvidia-h200__590.48.01.txt"
RTX = CAPTURES / "linux-x86_64__nvidia-geforce-rtx-4080-super__595.71.05.txt"


def number(text: str) -> float | None:
    found = re.match(r"[-0-9.]+", text.strip())
    return float(found[0]) if found and found[0] not in "-." else None


def sections(path: Path) -> dict[str, str]:
    """Output of each command of a capture, by what its heading says."""
    parts = re.split(r"^#{80}\n# (.*)\n(?:# \$ .*\n)?#{80}\n", path.read_text(), flags=re.M)
    return {name.split(" (")[0]: body for name, body in zip(parts[1::2], parts[2::2])}


class Alone(unittest.TestCase):
    def setUp(self) -> None:
        keep = tempfile.TemporaryDirectory(prefix="holdup-test-")
        self.addCleanup(keep.cleanup)
        self.folder = Path(keep.name)

    def put(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def real(self, path: Path) -> Path:
        if not path.exists():
            skip_loudly(f"{path} is not there")
            self.skipTest("no such file")
        return path

    def told(self, *paths: Path) -> dict[str, Any]:
        status, out, err = run("report", *paths, "--json")
        self.assertEqual(status, 0, err)
        self.assertTrue(out.endswith(b"}\n") and not out.endswith(b"\n\n"))
        return json.loads(out)

    def text(self, *paths: Path) -> str:
        status, out, err = run("report", *paths)
        self.assertEqual(status, 0, err)
        return re.sub(r"\s+", " ", out.decode())

    def check(self, gpu: dict[str, Any], **expected: float | None) -> None:
        """Means of one sample."""
        for key, value in expected.items():
            have = gpu[key]["mean"] if isinstance(gpu[key], dict) else gpu[key]
            if value is None:
                self.assertIsNone(have, key)
            else:
                self.assertAlmostEqual(have, value, 3, key)

    # ---- processes ------------------------------------------------------------------------------------------------

    PMON = ("#Date       Time        gpu         pid   type     fb   ccpm     sm    mem    enc    dec    command\n"
            "#YYYYMMDD   HH:MM:SS      Idx          #    C/G     MB     MB      %      %      %      %    name\n")

    @staticmethod
    def rows(text: str, sm: int, fb: int | None) -> dict[tuple[int, int], list[tuple[float | None, float | None]]]:
        """sm and fb of each process, by columns of words."""
        found: dict[tuple[int, int], list[tuple[float | None, float | None]]] = {}
        for line in text.splitlines():
            words = line.split()
            at = 2 if len(words) > 1 and re.fullmatch(r"\d\d:\d\d:\d\d", words[1]) else 0
            if len(words) > at + 2 and words[at + 1].isdigit() and not line.startswith("#"):
                found.setdefault((int(words[at]), int(words[at + 1])), []).append((number(words[at + sm]), None if fb is None else number(words[at + fb])))
        return found

    def test_pmon(self) -> None:
        text = self.PMON
        for i in range(20):
            if i == 10:
                text += self.PMON
            text += f" 20260102   03:04:{i:02}          0      4711     C  {1000 + 50 * i}      0     {80 + i % 3}     10      -      -    python train.py\n"
            text += f" 20260102   03:04:{i:02}          1      4712     C   2000      0      {'-' if i % 2 else 5}      1      -      -    python\n"
            text += f" 20260102   03:04:{i:02}          2         -     -      -      -      -      -      -      -    -\n"
        path = self.put("pmon.txt", text)
        told = self.told(path)
        seen = self.rows(text, 5, 3)
        self.assertEqual([(p["gpu"], p["pid"], p["command"]) for p in told["processes"]], [(0, 4711, "python train.py"), (1, 4712, "python")])
        for p in told["processes"]:
            values = seen[p["gpu"], p["pid"]]
            busy, memory = [v[0] for v in values if v[0] is not None], [v[1] * MIB for v in values if v[1] is not None]
            self.assertEqual((p["looks"], p["seconds"], p["busy_pct"]["samples"]), (len(values), 19, len(busy)))
            self.check(p, busy_pct=sum(busy) / len(busy))
            self.assertEqual([p["memory_bytes"][k] for k in ("first", "last", "max", "min")], [memory[0], memory[-1], max(memory), min(memory)])
        self.assertEqual((told["gpus"], told["lines_left_out"], told["verdict"]), ([], 0, "cannot_tell"))
        said = self.text(path)
        self.assertIn("the busiest, process 4711 (python train.py), keeps GPU 0 busy for 81 % of the time", said)
        self.assertIn("of 10 it has no value", said)

    def test_one_sample_beside_a_file_of_many(self) -> None:
        """It is no share of the samples, and each GPU names its file."""
        heading = "timestamp, index, clocks.sm [MHz], clocks.max.sm [MHz], clocks_event_reasons.active\n"
        row = lambda s, gpu, mhz, why: f"2026/03/04 11:00:{s:02}.000, {gpu}, {mhz} MHz, 1980 MHz, 0x{why:016x}\n"
        one = self.put("one.csv", heading + row(0, 0, 1200, 0x20))
        many = self.put("many.csv", heading + "".join(row(s, 0, 1500, 4 if s % 2 else 0) for s in range(10)))
        self.assertTrue(self.told(one, many)["words"].startswith("In the only sample GPU 0 of "))
        said = " ".join(self.text(one, many).split())
        self.assertRegex(said, r"one\.csv is throttled by heat \(of software\); its clock is 1,200 of 1,980 MHz; for how long, one sample cannot tell; "
                         r"also throttled: GPU 0 of \S*many\.csv \(50 %, power\)")
        self.assertRegex(said, r"GPU 0 \(not named\) in \S*one\.csv, 1 sample .* GPU 0 \(not named\) in \S*many\.csv, 10 samples")

    def test_pmon_is_told_alone(self) -> None:
        path = self.put("pmon.txt", self.PMON + " 20260102   03:04:05          0      4711     C   1000      0     80     10      -      -    python\n")
        trace = self.put("rank0.json", json.dumps({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 5, "args": {"device": 0, "stream": 7}}]}))
        self.assertIn("reported alone", json.dumps(json.loads(run("report", trace, path, "--json")[1])["unread"]))

    def test_real_pmon(self) -> None:
        for capture, command, pid in ((H200, "gpu_burn", 10309), (RTX, "ffmpeg", 5022)):
            text = sections(self.real(capture))
            seen: dict[tuple[int, int], list[tuple[float | None, float | None]]] = {}
            for name, body in text.items():
                if name.endswith(":: pmon"):
                    for key, values in self.rows(body, 3, None).items():
                        seen.setdefault(key, []).extend(values)
            told = self.told(capture)["processes"]
            self.assertEqual({(p["gpu"], p["pid"]): p["looks"] for p in told}, {key: len(values) for key, values in seen.items()})
            one = next(p for p in told if p["pid"] == pid)
            busy = [v[0] for v in seen[0, pid] if v[0] is not None]
            self.assertEqual((one["command"], one["busy_pct"]["max"]), (command, max(busy)))
            self.check(one, busy_pct=sum(busy) / len(busy))

    # ---- real files -----------------------------------------------------------------------------------------------

    def test_real_xml(self) -> None:
        path = self.real(SMI / "telegraf-xml/a100-sxm4-v12.xml")
        told = self.told(path)
        root = ElementTree.fromstring(path.read_text())
        self.assertEqual(len(told["gpus"]), len(root.findall("gpu")))
        for have, gpu in zip(told["gpus"], root.findall("gpu")):
            def value(place: str) -> float | None:
                return number(gpu.findtext(place, ""))
            self.assertEqual((have["uuid"], have["name"], have["pci_bus"], have["driver"]),
                             (gpu.findtext("uuid"), gpu.findtext("product_name"), gpu.findtext("pci/pci_bus_id"), root.findtext("driver_version")))
            self.assertEqual(have["is_mig"], gpu.findtext("mig_mode/current_mig") == "Enabled")
            self.check(have, watts=value("gpu_power_readings/power_draw"), limit_watts=value("gpu_power_readings/current_power_limit"), celsius=value("temperature/gpu_temp"),
                       slowdown_celsius=value("temperature/gpu_temp_slow_threshold"), sm_mhz=value("clocks/sm_clock"), max_sm_mhz=value("max_clocks/sm_clock"),
                       memory_mhz=value("clocks/mem_clock"), memory_bytes=(value("fb_memory_usage/used") or 0) * MIB, total_memory_bytes=(value("fb_memory_usage/total") or 0) * MIB,
                       busy_pct=value("utilization/gpu_util"), pcie_lanes=value("pci/pci_gpu_link_info/link_widths/current_link_width"))
            active = [e.tag for e in gpu.find("clocks_event_reasons") if e.text == "Active"]   # type: ignore[union-attr]
            self.assertEqual((active, have["reasons"]["lowered"]), ([], 0))
        self.assertEqual(self.text(path).split(". ")[0], "Cannot tell: the file holds one sample of the GPU")

    def test_real_query(self) -> None:
        for path in (self.real(H200), self.real(RTX)):
            parts = sections(path)
            both = self.put("both.txt", parts["idle :: query"] + parts["load :: query"])
            told = self.told(both)
            (gpu,) = told["gpus"]
            for key, block, name, factor in (("watts", "GPU Power Readings", "Average Power Draw", 1), ("sm_mhz", "Clocks", "SM", 1), ("busy_pct", "Utilization", "GPU", 1),
                                             ("memory_bytes", "FB Memory Usage", "Used", MIB), ("celsius", "Temperature", "GPU Current Temp", 1)):
                values = [float(v) * factor for v in re.findall(rf"^    {block} *\n(?:        .*\n)*?        {name} +: ([0-9.]+)", both.read_text(), re.M)]
                self.assertEqual(len(values), 2, key)
                self.assertEqual((gpu[key]["samples"], gpu[key]["min"], gpu[key]["max"]), (2, min(values), max(values)), key)
            self.assertEqual(gpu["name"], re.search(r"Product Name +: (.*)", both.read_text())[1])   # type: ignore[index]
            self.assertEqual((gpu["pcie_lanes"], told["verdict"], gpu["reasons"]["samples"]), (16, "none", 2))
            stamps = re.findall(r"Timestamp +: \w+ \w+ +\d+ (\d+):(\d+):(\d+)", both.read_text())
            seconds = [int(h) * 3600 + int(m) * 60 + int(s) for h, m, s in stamps]
            self.assertEqual(told["seconds"], seconds[1] - seconds[0])

    def test_real_dmon(self) -> None:
        for path in (self.real(H200), self.real(RTX)):
            for part in ("idle :: dmon", "load :: dmon"):
                body = sections(path)[part]
                (gpu,) = self.told(self.put("dmon.txt", body))["gpus"]
                names = re.search(r"^# (gpu.*)", body, re.M)[1].split()   # type: ignore[index]
                rows = [dict(zip(names, line.split())) for line in body.splitlines() if re.match(r" +\d", line)]
                for key, name in (("watts", "pwr"), ("busy_pct", "sm"), ("memory_busy_pct", "mem"), ("sm_mhz", "pclk"), ("memory_mhz", "mclk"), ("celsius", "gtemp")):
                    values = [float(row[name]) for row in rows]
                    self.assertEqual((gpu[key]["samples"], gpu[key]["min"], gpu[key]["max"]), (len(rows), min(values), max(values)), key)
                    self.assertAlmostEqual(gpu[key]["mean"], sum(values) / len(values), 1, key)
            self.assertIn("have no time of day: they cannot be aligned with a trace", self.text(self.put("dmon.txt", body)))

    def test_real_csv(self) -> None:
        """Every column that nvidia-smi has."""
        for path in (self.real(H200), self.real(RTX)):
            body = sections(path)["load :: query-gpu"].strip()
            heading, row = csv.reader(io.StringIO(body), skipinitialspace=True)
            by_name = {name.split(" [")[0]: cell for name, cell in zip(heading, row)}
            (gpu,) = self.told(self.put("all.csv", body + "\n"))["gpus"]
            self.check(gpu, watts=number(by_name["power.draw"]), limit_watts=number(by_name["enforced.power.limit"]), sm_mhz=number(by_name["clocks.current.sm"]),
                       max_sm_mhz=number(by_name["clocks.max.sm"]), memory_bytes=number(by_name["memory.used"]) * MIB, busy_pct=number(by_name["utilization.gpu"]),   # type: ignore[operator]
                       celsius=number(by_name["temperature.gpu"]), pcie_lanes=number(by_name["pcie.link.width.current"]))
            self.assertEqual(gpu["uuid"], by_name["uuid"])
            self.assertEqual(gpu["counters"]["power_cap_s"]["last"], (number(by_name["clocks_event_reasons_counters.sw_power_cap"]) or 0) / 1e6)

    def test_a_real_capture(self) -> None:
        """Many commands in one file: -q, CSV and dmon, idle and under load, and the topology; the other sections are none of our concern."""
        for path in (self.real(H200), self.real(RTX)):
            told = self.told(path)
            (gpu,) = told["gpus"]
            dmon = [line for line in path.read_text().splitlines() if re.match(r" +0 +\d+ +\d+ +[-\d]+( +\d+){8} *$", line)]
            self.assertEqual((gpu["watts"]["samples"], told["lines_left_out"], len(dmon)), (2 + 2 + len(dmon), 0, 10))
            self.assertEqual(told["topologies"], [{"gpus": 1, "devices": ["GPU0"], "links": [["X"]]}])

    def test_a_real_scrape(self) -> None:
        path = self.real(SHARED / "traces/dcgm/nvidia-aicr-h100/dcgm-exporter-h100x8.prom")
        told = self.told(path)
        self.assertEqual([gpu["number"] for gpu in told["gpus"]], list(range(8)))
        found = re.findall(r'^(\w+)\{gpu="(\d)",UUID="([^"]+)".*\} ([0-9.]+)$', path.read_text(), re.M)
        self.assertEqual(len(found), 30)
        keys = {"DCGM_FI_DEV_GPU_TEMP": "celsius", "DCGM_FI_DEV_POWER_USAGE": "watts", "DCGM_FI_DEV_GPU_UTIL": "busy_pct", "DCGM_FI_DEV_MEM_COPY_UTIL": "memory_busy_pct"}
        for name, gpu, uuid, value in found:
            have = told["gpus"][int(gpu)]
            self.assertEqual((have["uuid"], have["host"], have["driver"]), (uuid, "gpu-node-1", "580.105.08"))
            self.check(have, **{keys[name]: float(value)})
        self.assertEqual(told["verdict"], "cannot_tell")
        status, _, err = run("report", path.with_name("accelerator-metrics.md"))
        self.assertEqual(status, 3)
        self.assertIn("put their lines alone into a file", err)

    def test_a_real_rocm_smi(self) -> None:
        path = self.real(SMI / "telegraf-xml/mi100_rocm602.json")
        told = self.told(path)
        cards = {key: card for key, card in json.loads(path.read_text()).items() if key.startswith("card")}
        self.assertEqual(len(told["gpus"]), len(cards))
        for have in told["gpus"]:
            card = cards[f"card{have['number']}"]
            self.assertEqual((have["uuid"], have["name"], have["pci_bus"]), (card["Unique ID"], card["Card series"], card["PCI Bus"]))
            self.check(have, watts=float(card["Average Graphics Package Power (W)"]), limit_watts=float(card["Max Graphics Package Power (W)"]), busy_pct=float(card["GPU use (%)"]),
                       celsius=float(card["Temperature (Sensor edge) (C)"]), memory_bytes=float(card["VRAM Total Used Memory (B)"]),
                       total_memory_bytes=float(card["VRAM Total Memory (B)"]), sm_mhz=float(re.search(r"\d+", card["sclk clock speed:"])[0]))   # type: ignore[index]

    # ---- facts that are known, in every format --------------------------------------------------------------------

    def test_every_format_has_the_same_numbers(self) -> None:
        """`looks` and means of monitor_texts.py, as far as a format has them."""
        for name in ("dmon", "dmon-dates", "dmon-csv", "scrapes", "scrapes-old", "dcgmi", "amd-json", "amd-csv", "rocm-csv", "rocm-table", "rocm-table-6", "rocm-lines", "amd-text",
                     "csv", "csv-plain"):
            with self.subTest(name):
                told = self.told(self.put(name, texts.ALL[name]))
                self.assertEqual((told["looks"], [gpu["number"] for gpu in told["gpus"]], told["lines_left_out"]), (texts.LOOKS, [0, 1], 0))
                for i, gpu in enumerate(told["gpus"]):
                    for key, values in (("busy_pct", texts.BUSY[i]), ("sm_mhz", texts.MHZ[i]), ("watts", texts.WATTS[i])):
                        part = 0.25 if name == "dcgmi" and key == "watts" else 0
                        self.assertEqual((gpu[key]["samples"], gpu[key]["min"], gpu[key]["max"]), (texts.LOOKS, min(values) + part, max(values) + part), key)
                        self.assertAlmostEqual(gpu[key]["mean"], sum(values) / texts.LOOKS + part, 1, key)
                if name.startswith(("dmon", "scrapes", "amd-json", "amd-text")):
                    self.assertEqual(told["gpus"][0]["counters"]["pcie_replays"], {"first": 1, "last": 4})
                self.assertEqual(told["seconds"], None if name in ("dmon", "scrapes", "scrapes-old", "dcgmi", "amd-json", "amd-text", "rocm-csv", "rocm-table", "rocm-table-6", "rocm-lines",
                                                                   "csv-plain") else texts.LOOKS - 1)

    def test_text_of_amd(self) -> None:
        """What the tables have beside what all formats have; and a log that says "GPU: 0" stays text."""
        for name, memory, total, cap, heat, clock in (("rocm-table", None, None, 750, 60, 350), ("rocm-table-6", None, None, 750, 60, 350), ("rocm-lines", 1 << 30, 34342961152, None, 60, 1200),
                                                      ("amd-text", 1 << 30, 196592 * MIB, None, 60, 900)):
            with self.subTest(name):
                gpu = self.told(self.put(name, texts.ALL[name]))["gpus"][0]
                self.assertEqual((gpu["memory_bytes"] and gpu["memory_bytes"]["max"], gpu["total_memory_bytes"], gpu["limit_watts"], gpu["celsius"]["max"], gpu["memory_mhz"]["mean"]),
                                     (memory, total, cap, heat, clock))
        self.assertEqual(self.told(self.put("a", texts.ALL["amd-text"]))["gpus"][0]["max_sm_mhz"], 2100)
        self.assertEqual(self.told(self.put("a", texts.ALL["rocm-lines"]))["gpus"][1]["pci_bus"], "0000:41:00.0")
        none = texts.rocm_look("Concise Info", "Device  Node  IDs              Temp    Power  Partitions          SCLK  MCLK  Fan  Perf     PwrCap       VRAM%  GPU%\n"
                               "0       2     0x745e,   49070  N/A     N/A    N/A, N/A, 0         None  None  0%   unknown  Unsupported  0%     7%\n")
        gpu = self.told(self.put("none", none))["gpus"][0]
        self.assertEqual((gpu["busy_pct"]["mean"], gpu["sm_mhz"], gpu["watts"], gpu["limit_watts"]), (7, None, None, None))
        for text in ("GPU: 0\nstarted\n", "GPU: 0\n    loss: 3.0\n", "GPU: x\n    USAGE:\n"):
            status, _, err = run("report", self.put("log.txt", text))
            self.assertEqual(status, 3, err)
            self.assertIn("this is text", err)

    def test_the_first_line_names_what_holds_up(self) -> None:
        for name, after in (("csv", "1,110 of 1,980 MHz"), ("csv-plain", "1,110 of 1,980 MHz"), ("dmon", "1,110 MHz")):
            first = self.text(self.put(name, texts.ALL[name]))
            how = "12 % of the time, by the driver's counter" if name.startswith("dmon") else f"40 % of the samples; its clock fell to {after}"   # pviol 30 in two of five
            self.assertTrue(first.startswith(f"GPU 0 was throttled by power (its power limit) for {how}. "), first)
        told = self.told(self.put("smi.csv", texts.csv()))
        self.assertEqual((told["verdict"], [f["id"] for f in told["findings"]]), ("throttled", ["throttled"]))
        self.assertEqual(told["gpus"][0]["reasons"], {"samples": 5, "lowered": 2, "lowered_sm_mhz": {"samples": 2, "mean": 1155, "min": 1110, "max": 1200},
                                                      "by_reason": {"software power cap": 2}})
        self.assertIn("time under the software power cap 2.00 s", self.text(self.put("smi.csv", texts.csv())), "the driver's counter")
        self.assertIn("GPU 0 had 3 PCIe replays while it was sampled", self.text(self.put("dmon", texts.dmon())))

    def test_counters_where_no_sample_has_reasons(self) -> None:
        """0.5 s more of the power cap with each second."""
        log = re.sub(r" 0x0{15}[04],", " [N/A],", texts.csv())
        told = self.told(self.put("c.csv", log))
        self.assertEqual((told["verdict"], told["gpus"][0]["reasons"]), ("throttled", None))
        self.assertEqual(told["words"], "GPU 0 was throttled by power (its power limit) for 50 % of the time, by the driver's counter.")

    def test_nothing_and_unknown(self) -> None:
        well = re.sub(r" 1[12][10]0 MHz", " 1980 MHz", re.sub(r"0x0000000000000004", "0x0000000000000001", texts.csv()))
        self.assertTrue(self.text(self.put("well.csv", well)).startswith("Nothing in these samples holds the GPUs up. "))
        idle = re.sub(r"\b9\d %", "12 %", well)
        self.assertTrue(self.text(self.put("idle.csv", idle)).startswith("Nothing in these samples holds the GPUs up; they were busy for 12 % of the time, and what they waited for"))
        self.assertTrue(self.text(self.put("a.txt", texts.dcgmi())).startswith("GPU 0 ran at 1,650 MHz while it was busy, 1,980 MHz at best; why, these samples do not say"))
        steady = re.sub(r"\b(1110|1200)\b", "1980", texts.dcgmi())
        self.assertTrue(self.text(self.put("a.txt", steady)).startswith("Cannot tell: these samples have clocks, but neither the highest ones nor what lowers them"))
        once = "".join(texts.csv().splitlines(True)[:3])
        told = self.told(self.put("once.csv", once))
        self.assertTrue(told["words"].startswith("In the only sample GPU 0 is throttled by power (its power limit); its clock is 1,110 of 1,980 MHz"), told["words"])
        self.assertEqual(self.told(self.put("once.csv", once.replace("0004", "0000")))["words"], "Cannot tell: the file holds one sample of each GPU.")

    def test_slow_without_a_reason(self) -> None:
        """The highest clock alone is no measure: its peers are."""
        slow = re.sub(r"0x0000000000000004", "0x0000000000000000", texts.csv()).replace(" 1980 MHz, 1980 MHz", " 1200 MHz, 1980 MHz")
        told = self.told(self.put("slow.csv", slow))
        self.assertEqual(told["verdict"], "none")
        self.assertRegex(told["words"], r"; whether GPU 0, at 1,182 of 1,980 MHz, has its clocks locked they do not say")
        bare = self.told(self.put("bare.csv", re.sub(r" 0x0{16}, \d+ us", " [N/A], [N/A]", slow)))
        self.assertTrue(bare["words"].startswith("Cannot tell: these samples have clocks and the highest ones, which work need not reach, but not what lowers them"), bare["words"])
        peers = re.sub(r"(250, 1, \d+ %), \d+ MHz", r"\1, 1900 MHz", slow)
        self.assertRegex(self.told(self.put("peers.csv", peers))["words"], r"^GPU 0 ran at 1,182 of 1,980 MHz while it was busy, others at 1,900 MHz, and no sample names a reason")

    def test_at_its_power_limit(self) -> None:
        rows = "".join(f"2026/11/18 18:26:{s:02}.1, 0, 99 %, {1350 + s} MHz, 1755 MHz, 309.8 W, 310.00 W\n" for s in range(9))
        told = self.told(self.put("cap.csv", "timestamp, index, utilization.gpu [%], clocks.sm [MHz], clocks.max.sm [MHz], power.draw [W], power.limit [W]\n" + rows))
        self.assertEqual(told["words"], "GPU 0 ran at 1,354 of 1,755 MHz while it was busy, and at its power limit throughout (310 of 310 W).")

    def test_a_lost_gpu(self) -> None:
        """What the driver says instead of values, in a row or behind the rows."""
        heading = "timestamp, index, uuid, utilization.gpu [%], clocks.sm [MHz], clocks_event_reasons.active\n"
        well = "2026/11/18 18:26:{0:02}.1, {1}, GPU-{1}, 99 %, 1980 MHz, 0x0000000000000000\n"
        for words in ("GPU requires reset", "GPU is lost", "Unknown Error"):
            rows = "".join(well.format(s, 0) + (well.format(s, 1) if s < 4 else f"2026/11/18 18:26:{s:02}.1, 1, GPU-1, [{words}], [{words}], [{words}]\n") for s in range(9))
            told = self.told(self.put("lost.csv", heading + rows))
            self.assertEqual((told["verdict"], told["lines_left_out"]), ("lost", 0))
            self.assertRegex(told["words"], rf"^GPU 1 stopped answering at \d\d:26:04 UTC: {words}\.$")
        told = self.told(self.put("behind.csv", heading + "".join(well.format(s, 0) for s in range(9)) +
                                  "Unable to determine the device handle for GPU0000:07:00.0: GPU is lost.  Reboot the system to recover this GPU\n"))
        self.assertRegex(told["words"], r"^GPU 0000:07:00\.0 did not answer at \d\d:26:08 UTC: GPU is lost\.")
        told = self.told(self.put("fewer.csv", heading + "".join(well.format(s, 0) + (well.format(s, 1) if s < 4 else "") for s in range(9))))
        self.assertEqual(told["verdict"], "fewer_samples")
        self.assertRegex(told["words"], r"^GPU 1 has 4 samples where others have 9; its last one is at \d\d:26:03 UTC\.$")

    def test_all_troubles_fit_the_terminal(self) -> None:
        """A lost GPU, and one that is slower than the others: the second sentence is wrapped as the first is."""
        heading = "timestamp, index, name, uuid, utilization.gpu [%], clocks.sm [MHz]\n"
        rows = "".join(f"2026/11/18 18:26:{s:02}.1, {i}, NVIDIA H100 80GB HBM3, GPU-{i}, 99 %, {1200 if i == 2 else 1980} MHz\n" for s in range(9) for i in range(4 if s < 4 else 3))
        path = self.put("two.csv", heading + rows)
        self.assertEqual(len(self.told(path)["findings"]), 2)
        lines = run("report", path)[1].decode().splitlines()
        self.assertLessEqual(max(map(len, lines)), 80, lines)

    def test_which_gpu(self) -> None:
        """A bus identifies it; the mark of a file that Windows saved does no harm; of several files without hosts each is named."""
        rows = "".join(f"2026/11/18 18:26:{s:02}.1, 00000000:{bus}:00.0, 99 %, {mhz} MHz\n" for s in range(5) for bus, mhz in (("07", 1980), ("0F", 1200)))
        told = self.told(self.put("bus.csv", "\ufefftimestamp, pci.bus_id, utilization.gpu [%], clocks.sm [MHz]\n" + rows))
        self.assertEqual([(gpu["pci_bus"], gpu["samples"]) for gpu in told["gpus"]], [("00000000:07:00.0", 5), ("00000000:0F:00.0", 5)])
        self.assertTrue(told["has_times"])
        self.assertRegex(told["words"], r"^GPU 00000000:0F:00\.0 ran at 1,200 MHz while it was busy, others at 1,980 MHz")
        one = texts.csv()
        files = self.put("a.csv", re.sub(r"0x0{15}4", "0x0000000000000000", one)), self.put("b.csv", one)
        self.assertIn(f"GPU 0 of {files[1]} was throttled", self.told(*files)["words"])

    def test_time_of_violations(self) -> None:
        """Their unit is what HELP says; without it no share is told.  Nothing says that no clock was lowered."""
        def scrapes(unit: str, by: int) -> str:
            text = "# HELP DCGM_FI_DEV_POWER_VIOLATION Throttling duration{}.\nDCGM_FI_DEV_SM_CLOCK{{gpu=\"0\",UUID=\"GPU-a\"}} 1980\nDCGM_FI_DEV_POWER_VIOLATION{{gpu=\"0\",UUID=\"GPU-a\"}} {}\n"
            return "".join(f"Wed Nov 18 06:26:{look:02} PM UTC 2026\n" + text.format(unit, 5000 + by * look) for look in range(5))
        for unit, by, said in ((" (in us)", 250_000, "25 %"), (" (in ns)", 250_000_000, "25 %")):
            told = self.told(self.put("v.prom", scrapes(unit, by)))
            self.assertEqual(told["words"], f"GPU 0 was throttled by power (its power limit) for {said} of the time, by the driver's counter.")
            self.assertEqual(told["seconds"], 4)
        for unit, by in ((" (in us)", 1000), ("", 1000)):
            told = self.told(self.put("v.prom", scrapes(unit, by)))
            self.assertEqual((told["findings"], told["gpus"][0]["reasons"]), ([], None))
            self.assertNotIn("no clock lowered", self.text(self.put("v.prom", scrapes(unit, by))))
        self.assertIn("its time of violations rose, in a unit that the file does not say", self.text(self.put("v.prom", scrapes("", 1000))))
        few = texts.dmon().replace("  30  0  ", "  1  0  ")
        few = self.put("few.txt", re.sub(r"\b30\b(?=  +0  +70000)", "1", few))
        self.assertNotIn("throttled", self.told(few)["words"], "1 % of two looks of five")

    def test_a_clock_that_did_not_fall(self) -> None:
        flat = re.sub(r" 1[12][10]0 MHz", " 1980 MHz", texts.csv())
        self.assertTrue(self.text(self.put("flat.csv", flat)).startswith("GPU 0 was throttled by power (its power limit) for 40 % of the samples. "))

    def test_hosts_and_parts(self) -> None:
        """Hostname before the scraped address; the clock of a GPU that MIG divides is that of each part."""
        labels = {"__name__": "DCGM_FI_DEV_SM_CLOCK", "Hostname": "n1", "UUID": "GPU-a", "gpu": "0", "instance": "10.0.0.1:9400"}
        for order in (list(labels), list(reversed(labels))):
            answer = {"data": {"resultType": "matrix", "result": [{"metric": {key: labels[key] for key in order}, "values": [[texts.START + i, "1980"] for i in range(5)]}]}}
            self.assertEqual(self.told(self.put("p.json", json.dumps({"status": "success", **answer})))["gpus"][0]["host"], "n1")
        part = 'DCGM_FI_DEV_SM_CLOCK{{gpu="0",UUID="GPU-a",GPU_I_ID="{}"}} 1410\n'
        (gpu,) = self.told(self.put("mig.prom", "".join(part.format(i) for _ in range(4) for i in (1, 2))))["gpus"]
        self.assertEqual((gpu["is_mig"], gpu["samples"], gpu["sm_mhz"]["mean"]), (True, 4, 1410))

    def test_info_counts_rows(self) -> None:
        status, out, err = run("info", self.put("a.csv", texts.csv()), "--json")
        self.assertEqual((status, json.loads(out)["samples"]), (0, len(texts.csv().splitlines()) - 1), err)

    def test_rows_that_name_no_gpu(self) -> None:
        """They are of the only GPU, unless they come in groups."""
        heading = "timestamp, utilization.gpu [%], power.draw [W]\n"
        rows = [f"2026/11/18 18:26:{s:02}.{{}}, 95 %, 300 W\n" for s in range(9)]
        (gpu,) = self.told(self.put("one.csv", heading + "".join(row.format(100) for row in rows)))["gpus"]
        self.assertEqual((gpu["number"], gpu["samples"]), (0, 9))
        for second in (100, 101):
            status, _, err = run("report", self.put("two.csv", heading + "".join(row.format(ms) for row in rows for ms in (100, second))))
            self.assertEqual(status, 3)
            self.assertIn("add index to --query-gpu", err)

    def test_what_to_do(self) -> None:
        """UTF-16, a heading that is left out, GPUs of AMD."""
        wide = self.folder / "wide.csv"
        wide.write_bytes(texts.csv().replace("2026", "2026").encode("utf-16"))
        bare = self.put("bare.csv", "".join(f"2026/11/18 18:26:{s:02}.100, 0, 98, 1755, 690.12\n" for s in range(5)))
        for path, said in ((wide, "UTF-16; save it as UTF-8"), (bare, "without a heading")):
            status, _, err = run("report", path)
            self.assertEqual(status, 3)
            self.assertIn(said, err)
        amd = self.told(self.put("amd.csv", re.sub(r"\b(1110|1200|1980)\b", "1300", texts.amd_csv())))["words"]
        self.assertEqual(amd, "Cannot tell: these samples do not have what lowers the clocks of AMD's GPUs.")
        one_idle = re.sub(r"\b(1110|1200)\b", "1300", re.sub(r"\b1980\b", "1300", texts.amd_csv())).replace(",1,90,", ",1,0,")
        self.assertRegex(self.told(self.put("idle.csv", re.sub(r"^(\d+,1),9\d,", r"\1,0,", one_idle, flags=re.M)))["words"], r"^Cannot tell: these samples do not have what lowers")

    def test_ecc_errors_alone(self) -> None:
        scrape = '# TYPE DCGM_FI_DEV_ECC_DBE_VOL_TOTAL counter\nDCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu="0",UUID="GPU-a"} '
        told = self.told(self.put("ecc.prom", "".join(f"{scrape}{n}\n" for n in (0, 0, 3))))
        self.assertEqual((told["words"], told["looks"]), ("GPU 0 counts 3 uncorrected ECC errors since its driver was loaded.", 3))

    def test_query_and_xml(self) -> None:
        told = self.told(self.put("q.txt", "$ nvidia-smi -q -l 1\n" + texts.query()))
        self.assertEqual([f["id"] for f in told["findings"]], ["ecc", "throttled", "pcie_lanes", "link_errors", "rows_pending"])
        self.assertEqual(told["words"], "GPU 0 counts 2 uncorrected ECC errors since its driver was loaded.")
        self.assertTrue(told["findings"][1]["words"].startswith("GPU 0 was throttled by heat (of hardware)"), "the slowdown that it causes is said beside it")
        (gpu,) = told["gpus"]
        self.assertEqual((gpu["reasons"]["by_reason"], gpu["pcie_lanes"], gpu["max_pcie_lanes"], told["seconds"]),
                         ({"hardware slowdown": 3, "hardware thermal slowdown": 3}, 8, 16, 2))
        self.assertEqual(gpu["counters"]["pcie_replays"], {"first": 9, "last": 11})
        told = self.told(self.put("x.xml", texts.xml()))
        (gpu,) = told["gpus"]
        self.assertEqual((gpu["busy_pct"], gpu["reasons"]["by_reason"]["hardware thermal slowdown"], gpu["memory_bytes"], told["seconds"]),
                         ({"samples": 3, "mean": 90, "min": 90, "max": 90}, 3, None, 2), "memory of a MIG device is not the GPU's")
        self.assertTrue(told["words"].startswith("GPU 0 was throttled by heat (of hardware) for 100 % of the samples; its clock fell to 705 of 1,410 MHz"), told["words"])
        cut = self.told(self.put("cut.xml", texts.xml()[:-300]))
        self.assertEqual(cut["looks"], 2, "a loop that was stopped")

    def test_topology(self) -> None:
        told = self.told(self.put("topo.txt", texts.TOPOLOGY))
        self.assertEqual((told["verdict"], told["topologies"][0]["devices"], told["topologies"][0]["links"][3]),
                         ("topology", ["GPU0", "GPU1", "GPU2", "GPU3", "NIC0"], ["SYS", "SYS", "NV4", "X", "NODE"]))
        self.assertEqual(told["words"], "GPUs 0-1 and 2-3 talk over SYS (PCIe and the link between processors); within them the links are NV4; "
                                        "GPUs 0-1 reach every network card over SYS only.")
        whole = texts.TOPOLOGY.replace("SYS", "NV4")
        self.assertEqual(self.told(self.put("topo.txt", whole))["words"], "All 4 GPUs of the topology are linked by NV4.")
        self.assertIn("LINKS GPUs 0-1 and 2-3 talk over SYS", self.text(self.put("both.txt", texts.csv() + "\n$ nvidia-smi topo -m\n" + texts.TOPOLOGY)))

    def test_errors_of_a_scrape(self) -> None:
        """XID is a gauge: the third look brings one, the others repeat it; what was there at first is of before."""
        told = self.told(self.put("a.prom", "".join(map(texts.scrape, range(5)))))
        self.assertEqual([(gpu["xids"], gpu["last_xid"]) for gpu in told["gpus"]], [(1, 31), (0, None)])
        self.assertTrue(told["words"].startswith("GPU 0 reported XID 31 ("), told["words"])
        told = self.told(self.put("a.prom", "".join(map(texts.scrape, range(2, 5)))))
        self.assertEqual((told["gpus"][0]["xids"], told["gpus"][0]["xid_before"]), (0, 31))
        for form in ("# 179500000{}\n{}", "Wed Nov 18 18:26:4{} UTC 2026\n{}"):
            told = self.told(self.put("t.prom", "".join(form.format(look, texts.scrape(look, help_lines=False)) for look in range(5))))
            self.assertEqual((told["looks"], told["seconds"]), (5, 4))
        told = self.told(self.put("ms.prom", "".join(texts.scrape(look, stamp=f" {texts.START + look}500") for look in range(5))))
        self.assertEqual((told["looks"], told["seconds"]), (5, 4))

    # ---- beside a trace -------------------------------------------------------------------------------------------

    def test_beside_a_trace(self) -> None:
        """Those with times lie beside a trace of then (local times are read in this machine's zone); of the others it is said that they cannot."""
        def trace(base: int) -> Path:
            events = [{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1, "dur": 4e6, "args": {"device": 0, "stream": 7}}]
            return self.put("t.json", json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": base * 10**9, "traceEvents": events}))

        local = int(time.mktime((2026, 11, 18, 18, 26, 40, 0, 0, -1)))
        query = int(time.mktime((2026, 7, 3, 22, 11, 8, 0, 0, -1)))
        for name, base, gpus in (("dmon-dates", local, 2), ("amd-csv", texts.START, 2), ("query", query, 1), ("xml", query, 1)):
            status, out, err = run("report", trace(base), "--with", self.put(name, texts.ALL[name]), "--json", "-q")
            self.assertEqual(status, 0, err)
            self.assertEqual(len(json.loads(out)["ranks"][0]["gpus"]["gpus"]), gpus, name)
        for name, said in (("dmon", "cannot be aligned"), ("scrapes", "cannot be aligned"), ("topology", "holds a topology and no samples")):
            status, out, err = run("report", trace(local), "--with", self.put(name, texts.ALL[name]), "--json", "-q")
            told = json.loads(out)
            self.assertIn(said, told["doubts"][0]["doubt"])
            self.assertEqual(told["ranks"][0]["gpus"]["gpus"], [])

    # ---- what is none, or broken ----------------------------------------------------------------------------------

    def test_bad_files(self) -> None:
        for name, text, said in (("cut.xml", texts.XML.format(second=9)[:-80], "ends before </nvidia_smi_log>"), ("cut.json", texts.amd_json()[:-40], "ends early"),
                                 ("none.csv", "timestamp, index, utilization.gpu [%]\n2026/11/18 18:26:40.250, 0, [N/A]\n", "no sample of a GPU")):
            status, _, err = run("report", self.put(name, text))
            self.assertEqual(status, 3, name)
            self.assertIn(said, err)
        status, _, err = run("report", self.put("a.csv", texts.csv()), "--view", "gpus")
        self.assertEqual(status, 2)
        self.assertIn("--view is not for samples of a monitor alone", err)
        told = self.told(self.put("b.csv", texts.csv().replace("1, 94 %", "garbage", 1)))
        self.assertEqual((told["looks"], told["lines_left_out"]), (5, 1))

    def test_a_log_of_a_job_stays_one(self) -> None:
        """nvidia-smi among other lines makes no monitor's file of it."""
        steps = "".join(f" iteration {i:8}/ 1000 | elapsed time per iteration (ms): 500.0 |\n" for i in range(1, 30))
        status, out, err = run("report", self.put("train.log", "starting\n" + texts.dmon() + steps), "--json")
        self.assertEqual(status, 0, err)
        self.assertEqual(json.loads(out)["kind"], "step_log")

    def test_several_files_are_one(self) -> None:
        """A topology beside samples, and two looks without times that are not the same."""
        told = self.told(self.put("a.txt", texts.dmon()), self.put("t.txt", texts.TOPOLOGY))
        self.assertEqual((len(told["gpus"]), len(told["topologies"])), (2, 1))
        told = self.told(self.put("a.prom", texts.scrape(0)), self.put("b.prom", texts.scrape(1)))
        self.assertEqual([gpu["watts"]["samples"] for gpu in told["gpus"]], [2, 2])


if __name__ == "__main__":
    unittest.main()
