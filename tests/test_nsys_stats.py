# SPDX-License-Identifier: Apache-2.0
"""Sums that nsys stats printed, read as an input: every form and year tells the same, what sums cannot tell is not said, broken ones say so."""
import json
import os
import sqlite3
import subprocess
import tempfile
import unittest
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.nsys_text import Row, Table, console, table
from tests.program import OWN, SHARED, report, run, skip_loudly
from tests.test_nsys import NSYS, REAL

KERNELS = Table("cuda_gpu_kern_sum", [
    Row("ampere_sgemm_128x64_tn", [4_000_000, 5_000_000, 6_500_000]),
    Row('void at::native::elementwise_kernel<(int)128, "odd", a | b, ||>(int, T3)', [1_000_000] * 1500),
    Row("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", [2_000_000, 3_000_000]),
    Row("void multi_tensor_apply_kernel<" + "at::native::TensorListMetadata<(int)4>, " * 4 + "float>(T1, T2)", [70_000])])
COPIES = Table("cuda_gpu_mem_time_sum", [Row("[CUDA memcpy Host-to-Device]", [8_000_000, 2_000_000]), Row("[CUDA memset]", [1_000])])
SIZES = Table("cuda_gpu_mem_size_sum", [Row("[CUDA memcpy Host-to-Device]", [40_000_000, 10_000_000]), Row("[CUDA memset]", [4_000_000])])
CALLS = Table("cuda_api_sum", [Row("cudaLaunchKernel", [7_000] * 1506), Row("cudaMemcpyAsync", [900_000, 800_000]),
                               Row("cudaDeviceSynchronize", [30_000_000]), Row("cudaMalloc", [50_000] * 3), Row("cudaGetDevice", [100, 120])])
OS_CALLS = Table("osrt_sum", [Row("poll", [100_000_000] * 4), Row("read", [3_000, 5_000]), Row("cuserid", [9])])
RANGES = Table("nvtx_sum", [Row("loader:next, batch", [4_000_000, 9_000_000], "PushPop"), Row("Caf\u00e9", [2_000_000], "StartEnd")])
MPI = Table("mpi_event_sum", [Row("MPI_Allreduce", [5_000, 7_000]), Row("MPI_Barrier", [900])])
OPENMP = Table("openmp_sum", [Row("Parallel", [9_000]), Row("Barrier", [500])])
ALL = [OS_CALLS, CALLS, KERNELS, COPIES, SIZES]


def plain(told: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on the form, the year or how the tables were named."""
    out: dict[str, Any] = {"gpu": told["where"]["gpu"], "host": told["where"]["calls"]}
    for key, rows in told["what"].items():
        out[key] = rows and [(r["name"][:60], r.get("group"), r["count"], r["total_ns"], r["min_ns"], r["max_ns"]) for r in rows]
    return out


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def ask(self, *texts: str, name: str = "sums.txt") -> dict[str, Any]:
        files = []
        for i, text in enumerate(texts):
            files.append(self.folder / (f"{i}_{name}" if i else name))
            files[-1].write_text(text)
        status, out, err = run("report", *files, "--json")
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def says(self, text: str, *options: object) -> str:
        file = self.folder / "said.txt"
        file.write_text(text)
        status, out, err = run("report", file, *options)
        self.assertEqual(status, 0, err)
        return " ".join(out.decode().split())

    def refused(self, text: str, status: int = 3, *options: object) -> str:
        file = self.folder / "broken.csv"
        file.write_text(text)
        got, _, err = run("report", file, *options)
        self.assertEqual(got, status, err)
        return err


class Forms(Case):
    def test_what_is_told(self) -> None:
        told = self.ask(console(ALL, ["nvtx_sum"]))
        self.assertEqual(told["kind"], "nsys-stats")
        gpu, calls, what = told["where"]["gpu"], told["where"]["calls"], told["what"]
        self.assertEqual(gpu, {"compute": {"total_ns": 1_515_570_000, "count": 1504}, "communication": {"total_ns": 5_000_000, "count": 2},
                               "copies": {"total_ns": 10_000_000, "count": 2}, "memsets": {"total_ns": 1_000, "count": 1}})
        self.assertEqual({k: (v["total_ns"], v["count"]) for k, v in calls.items()},
                         {"waits": (30_000_000, 1), "launches": (1506 * 7_000, 1506), "graph_launches": (0, 0), "async_copies": (1_700_000, 2),
                          "memory": (150_000, 3), "others": (220, 2)})
        self.assertEqual([r["name"] for r in what["kernels"]][0], KERNELS.rows[1].name)
        self.assertEqual([r["is_communication"] for r in what["kernels"]], [False, False, True, False])
        self.assertEqual(what["copies"][0]["bytes"], 50_000_000)
        self.assertEqual((what["ranges"], what["mpi"]), ([], None))  # none in the report; no word of it
        self.assertEqual((what["kernels"][1]["median_ns"], what["kernels"][1]["mean_ns"]), (5_000_000, 5_166_666.7))
        self.assertEqual((told["why"], told["next"], told["is_cut"]), (None, "holdup report run.sqlite", False))
        self.assertIn("Cannot tell from sums", told["why_not"])
        self.assertIn("1 name short", told["doubts"])

    def test_every_form_and_year(self) -> None:
        want = plain(self.ask(console(ALL)))
        for form in ("column", "table", "csv", "tsv"):
            for year in (2019, 2020, 2021, 2022, 2024):
                for grouped in (False, True):
                    with self.subTest(form=form, year=year, grouped=grouped):
                        told = self.ask(console(ALL, form=form, year=year, grouped=grouped))
                        got = plain(told)
                        self.assertEqual(got, want)
                        for a, b in zip(told["what"]["copies"], (50e6, 4e6)):
                            self.assertLess(abs(a["bytes"] - b), 600)  # KiB and MB are printed with three digits
                        self.assertEqual(told["next"] == "holdup report run.sqlite", year >= 2021)

    def test_units(self) -> None:
        for unit in ("us", "ms", "sec"):
            for form in ("column", "csv"):
                told = self.ask(console(ALL, form=form, unit=unit))
                self.assertAlmostEqual(told["where"]["gpu"]["compute"]["total_ns"] / 1_515_570_000, 1, places=3)
                self.assertEqual(told["where"]["gpu"]["compute"]["count"], 1504)
        self.refused(table(KERNELS, "csv").replace("(ns)", "(fortnights)"))

    def test_without_a_word_of_nsys(self) -> None:
        """Tables alone, as nsys stats -q prints them: columns and names tell what they are."""
        want = plain(self.ask(console(ALL + [RANGES, MPI])))
        for form in ("column", "table", "csv", "tsv"):
            told = self.ask("\n".join(table(t, form) for t in ALL + [RANGES, MPI, OPENMP]))
            self.assertEqual(plain(told), want)
            self.assertEqual([t["kind"] for t in told["tables"]], ["os_calls", "calls", "kernels", "copies", "copy_sizes", "ranges", "mpi", "other"])

    def test_files_of_one_run(self) -> None:
        """-o BASE writes a file for each report; the key in the name counts more than guesses by names."""
        want = plain(self.ask(console(ALL)))
        files = []
        for t in ALL:
            files.append(self.folder / f"base_{t.report}.csv")
            files[-1].write_text(table(t, "csv"))
        status, out, err = run("report", *files, "--json")
        self.assertEqual(status, 0, err)
        self.assertEqual(plain(json.loads(out)), want)
        odd = self.folder / "base_gpukernsum_base.csv"
        odd.write_text(table(KERNELS._replace(rows=[Row("MPI_kernel", [5]), Row("MPI_other", [4])]), "csv"))
        self.assertEqual([r["name"] for r in report(odd)["what"]["kernels"]], ["MPI_kernel", "MPI_other"])

    def test_mixed(self) -> None:
        rows = [r._replace(group="CUDA_KERNEL") for r in KERNELS.rows] + [r._replace(group="MEMORY_OPER") for r in COPIES.rows]
        calls = [r._replace(group="CUDA_API") for r in CALLS.rows]
        want = plain(self.ask(console([CALLS, KERNELS, COPIES])))
        for form in ("column", "table", "csv"):
            got = plain(self.ask(console([Table("cuda_api_gpu_sum", rows + calls)], form=form)))
            self.assertEqual(got, want)
        told = self.ask(console([KERNELS, Table("cuda_gpu_sum", rows)]))  # each counts once
        self.assertEqual(told["where"]["gpu"], want["gpu"])

    def test_within_other_output(self) -> None:
        """nsys profile --stats=true prints behind the program; a copy may have lines left out."""
        text = "epoch 1, loss 0.5\nTime (%) is money,  Total nonsense\n[1, 2]\n" + console([CALLS, KERNELS], year=2022) + "bye\n"
        told = self.ask(text)
        self.assertEqual((told["where"]["gpu"]["compute"]["count"], told["next"]), (1504, "holdup report run.sqlite"))
        drawn = "[2/8] [=====50%     ] run.sqlite[2/8] [=====100%] run.sqlite[2/8] [=====100%] run.sqlite"
        self.assertEqual(self.ask(text.replace("[2/8] [========================100%] run.sqlite", drawn))["next"], "holdup report run.sqlite")
        lines = console([KERNELS]).splitlines()
        cut = [line for line in lines if "elementwise" not in line]
        told = self.ask("\n".join(cut))
        self.assertRegex(told["doubts"], r"Rows of kernels that the table leaves out take 99 % of their time")
        told = self.ask("\n".join(x if "elementwise" not in x else "      ......" for x in lines))
        self.assertTrue(told["is_cut"])
        self.assertEqual(len(told["what"]["kernels"]), 3)


class Honest(Case):
    def test_graphs(self) -> None:
        """What runs in a graph that is traced as a whole is no kernel: its time is unknown, and no hint is made of the rest."""
        calls = Table("cuda_api_sum", CALLS.rows[2:] + [Row("cudaGraphLaunch_v10000", [90_000] * 10), Row("cudaLaunchKernel", [9_000_000] * 40)])
        few = Table("cuda_gpu_kern_sum", [Row("k", [1_000] * 40)])
        told = self.ask(console([calls, few]))
        self.assertTrue(told["lacks_graphs"])
        self.assertEqual(told["hints"], [])
        self.assertIn("cudaGraphLaunch", [r["name"] for r in told["what"]["calls"]])
        said = self.says(console([calls, few]))
        self.assertIn("outside of CUDA graphs, whose work is unknown", said)
        self.assertIn("--cuda-graph-trace=node", said)
        self.assertFalse(self.ask(console([calls, KERNELS]))["lacks_graphs"])  # more kernels than launches: nodes were traced
        self.assertIn("unknown: its work ran in CUDA graphs", self.says(console([calls], ["cuda_gpu_kern_sum"])))
        self.assertIn("GPU: unknown, no table of it", self.says(console([calls])))

    def test_hints(self) -> None:
        told = self.ask(console(ALL))
        self.assertEqual(told["hints"], [])
        slow = Table("cuda_gpu_kern_sum", [Row("k", [1_000] * 1506)])
        self.assertIn("1,506 launches of typically 7.00", self.ask(console([CALLS, slow]))["hints"][0])
        sgemm = Table("cuda_gpu_kern_sum", [Row("ampere_sgemm_128x64_tn", [900_000]), Row("k", [100_000])])
        self.assertIn("without tensor cores take 90 %", self.ask(console([sgemm]))["hints"][0])
        frees = Table("cuda_api_sum", [Row("cudaFree", [1_000_000] * 200), Row("cudaLaunchKernel", [1_000] * 5)])
        self.assertIn("200 calls that allocate", self.ask(console([frees]))["hints"][0])

    def test_what_no_table_tells(self) -> None:
        told = self.ask(console([CALLS]))
        self.assertEqual(told["where"]["gpu"], dict.fromkeys(("compute", "communication", "copies", "memsets")))
        self.assertIn("GPU: unknown, no table of it", self.says(console([CALLS])))
        said = self.says(console([KERNELS]))
        self.assertIn("copies: not in these tables", said)
        self.assertNotIn("no copies", said)
        self.assertIn("no copies", self.says(console([KERNELS], ["cuda_gpu_mem_time_sum"])))
        self.assertIn("nsys export --type sqlite", self.says(table(KERNELS, "csv")))

    def test_calls_that_stand_twice(self) -> None:
        twice = Table("cuda_api_sum", [*CALLS.rows, Row("cudaMemcpyAsync", [890_000, 790_000])])
        text = console([twice])
        told = self.ask(text)
        self.assertEqual(told["where"]["calls"]["async_copies"], {"total_ns": 1_700_000, "count": 2})
        self.assertIn("1 call of CUDA stood in the table twice", told["doubts"])
        self.assertNotIn("twice", self.ask(console([CALLS]))["doubts"])
        apart = Table("cuda_api_sum", [*CALLS.rows, Row("cudaMemcpyAsync", [90_000, 790_000])])  # two versions of a call, as often by chance
        told = self.ask(console([apart]))
        self.assertEqual((told["where"]["calls"]["async_copies"]["count"], told["doubts"]), (4, ""))

    def test_two_runs(self) -> None:
        told = self.ask(console([KERNELS]), console([Table("cuda_gpu_kern_sum", [Row("other", [7])])]))
        self.assertEqual(told["where"]["gpu"]["compute"]["count"], 1504)
        self.assertIn("1 more table of a report that another one told", told["doubts"])

    def test_command_lines(self) -> None:
        """A file from elsewhere decides no command: a name with marks of a shell is not repeated."""
        for name in ("run;reboot.sqlite", "$(reboot).sqlite", "a b.sqlite", "\033[31mrun.sqlite", "-rf.sqlite"):
            told = self.ask(console([KERNELS], sqlite=name))
            self.assertNotIn(name.split(".")[0], told["next"])
            self.assertNotIn("\033", self.says(console([KERNELS], sqlite=name)))


class Broken(Case):
    def test_refused(self) -> None:
        self.assertIn("without a row", self.refused(table(KERNELS, "csv").splitlines()[0] + "\n"))
        self.refused("Time (%),Total Time (ns),Name\n1,2,k\n")
        self.refused("Time (%),Total Time (ns),Total Time (ns),Instances,Name\n1,2,2,1,k\n")
        self.refused("Time (%)  Total Time (ns)  Instances  Name\n1  2  1  k\n")  # no dashes: prose may look like that
        self.refused(table(KERNELS, "csv").replace("(ns)", "(fortnights)"))
        self.assertIn("raise --limit events", self.refused(console(ALL), 3, "--limit", "events=3"))
        self.assertIn("--html is not for sums", self.refused(console(ALL), 2, "--html", self.folder / "x.html"))

    def test_next_to_a_trace(self) -> None:
        """They stand beside its answer, and are the same as alone."""
        file = self.folder / "sums.txt"
        file.write_text(console(ALL))
        status, out, _ = run("report", OWN[0], file, "--json")
        self.assertEqual(status, 0)
        told = json.loads(out)
        self.assertEqual((told["unread"], [s["file"] for s in told["sums"]]), ([], [str(file)]))
        self.assertEqual(told["sums"][0]["sums"], json.loads(run("report", file, "--json")[1]))

    def test_cut_anywhere(self) -> None:
        """Each beginning of a file is read as far as it goes, without a wrong number, or refused."""
        for form in ("column", "csv", "table"):
            text = console([COPIES, KERNELS], form=form)
            whole = {r["name"]: r for r in self.ask(text)["what"]["kernels"]}
            for n in [*range(200, len(text) - 160, 97), *range(len(text) - 160, len(text), 3)]:
                file = self.folder / "cut.txt"
                file.write_text(text[:n])
                status, out, err = run("report", file, "--json")
                self.assertIn(status, (0, 3), err)
                if status:
                    continue
                for row in json.loads(out)["what"]["kernels"] or []:
                    like = [r for name, r in whole.items() if name.startswith(row["name"])]
                    self.assertTrue(like, row)
                    self.assertIn(row["total_ns"], [r["total_ns"] for r in like])
                    self.assertIn(row["count"], [r["count"] for r in like])

    def test_strict(self) -> None:
        file = self.folder / "cut.csv"
        file.write_text(table(KERNELS, "csv")[:-60])
        self.assertEqual(run("report", file)[0], 0)
        self.assertEqual(run("report", file, "--strict")[0], 4)

    def test_numbers(self) -> None:
        """Commas that part no thousands, and what is no number, are no rows."""
        head = "Time (%),Total Time (ns),Instances,Avg (ns),Name\n"
        told = self.ask(head + '60.0,"1,234,567",3,411522.3,a\n', name="n.csv")
        self.assertEqual(told["what"]["kernels"][0]["total_ns"], 1_234_567)
        for bad in ('"1,23,4"', '"12,34"', "nan", "inf", "1e300", "-5", "x", ""):
            self.refused(head + f"60.0,{bad},3,4,a\n")


class Real(Case):
    def test_shared(self) -> None:
        """What nsys 2024 printed: the sums that sqlite3 finds in the same table's lines."""
        files = sorted((SHARED / "traces/nsys-stats").glob("*/*.txt"))
        if not files:
            skip_loudly("real output of nsys stats is not present")
            raise unittest.SkipTest("no samples")
        for file in files:
            told = report(file)
            rows = {k: 0 for k in ("osrt_sum", "cuda_api_sum", "cuda_gpu_kern_sum")}
            total = dict(rows)
            key = ""
            for line in file.read_text().splitlines():
                words = line.split()
                if line.startswith(" ** "):
                    key = line.split("(")[-1].rstrip("):")
                elif key in rows and len(words) > 8 and words[0].replace(".", "").isdigit():
                    rows[key] += 1
                    total[key] += int(words[1])
            what = told["what"]
            self.assertEqual([len(what[k]) for k in ("os_calls", "calls", "kernels")], list(rows.values()), file.name)
            self.assertEqual([sum(r["total_ns"] for r in what[k]) for k in ("os_calls", "calls", "kernels")], list(total.values()), file.name)
            self.assertRegex(told["next"], r"^holdup report result\S*\.sqlite$")

    @unittest.skipUnless(NSYS, "")
    def test_nsys_itself(self) -> None:
        """Each form that the real nsys prints tells the sums that stand in the export."""
        for path in REAL:
            if path.name != "result.sqlite":
                continue
            mine = self.folder / path.name
            mine.write_bytes(path.read_bytes())
            with closing(sqlite3.connect(path)) as db:
                want = db.execute("SELECT count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()
            for form in ("column", "table", "csv", "tsv"):
                done = subprocess.run([str(NSYS), "stats", "-f", form, str(mine)], capture_output=True, text=True, check=False, cwd=self.folder,
                                      env={**os.environ, "HOME": str(self.folder)})
                told = self.ask(done.stdout)
                gpu = told["where"]["gpu"]
                self.assertEqual(tuple(gpu["compute"][k] + gpu["communication"][k] for k in ("count", "total_ns")), want)
                self.assertEqual(told["next"], f"holdup report {mine}")


if not NSYS:
    skip_loudly("nsys itself is not here: HOLDUP_NSYS names it (tests/test_nsys.py)")
