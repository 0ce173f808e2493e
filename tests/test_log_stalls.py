# SPDX-License-Identifier: Apache-2.0
"""Processes that wait for one another in vain: who, how long, and what to look at.

The forms are those of PyTorch: ProcessGroupNCCL.cpp (heartbeatMonitor, broadcastUniqueNCCLID), ProcessGroupGloo.cpp (monitoredBarrier), ProcessGroupWrapper.cpp, TCPStore.cpp,
socket.cpp, distributed_c10d.py (_store_based_barrier), elastic/rendezvous/api.py; and of gloo: transport/tcp/unbound_buffer.cc."""
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.log_schema import validate
from tests.program import run

STUCK = ("[rank{r}]:[E205 18:11:06.380750231 ProcessGroupNCCL.cpp:1346] [PG ID 12 PG GUID 99(EXPERT_MODEL_PARALLEL_GROUP) Rank {g}] First PG on this rank that detected no heartbeat of its watchdog.\n"
         "[rank{r}]:[F205 18:11:06.375750231 ProcessGroupNCCL.cpp:1870] [PG ID 12 PG GUID 99(EXPERT_MODEL_PARALLEL_GROUP) Rank {g}] ProcessGroupNCCL's watchdog got stuck "
         "for 480 seconds without making "
         "progress in monitoring enqueued collectives. This typically indicates a NCCL/CUDA API (e.g., CudaEventDestroy) hang blocking the watchdog.\n")
STUCK_OLD = ("[rank{r}]:[F ProcessGroupNCCL.cpp:1169] [PG 0 Rank {r}] [PG 0 Rank {r}] ProcessGroupNCCL's watchdog got stuck for 600 seconds "
             "without making progress in monitoring enqueued collectives. \n")
ID = ("[rank{r}]: torch.distributed.DistBackendError: [{r}] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0:1', but store->get('0:1') "
      "got error: "
      "wait timeout after 600000ms, keys: /default_pg/0//cuda//0:1\n")
CONNECT = ("[rank{r}]:[E728 15:01:59.561275187 socket.cpp:1028] [c10d] The client socket has timed out after {wait} while trying to connect to (10.129.30.85, 29501).\n"
           "[rank{r}]:[W728 15:01:59.5 TCPStore.cpp:340] [c10d] TCP client failed to connect/validate to host 10.129.30.85:29501 - retrying (try=0, timeout=600000ms, delay=33924ms): "
           "The client socket has timed out after {wait} while trying to connect to (10.129.30.85, 29501).\n")
NOWHERE = ("[rank{r}]: torch.distributed.DistNetworkError: The client socket has failed to connect to any network address of (job-master-0, 23456). The client socket has failed to connect to "
           "job-master-0:23456 (errno: 113 - No route to host).\n")
CLIENTS = "[rank0]: torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 7/8 clients joined.\n"
BARRIER = "RuntimeError: Timed out initializing process group in store based barrier on rank {r}, for key: store_based_barrier_key:1 (world_size=4, num_workers_joined={n}, timeout=0:30:00)\n"
ELASTIC = ("Traceback (most recent call last):\n  File \"dynamic_rendezvous.py\", line 679, in run\n    raise {e}()\ntorch.distributed.elastic.rendezvous.api.{e}{more}\n")
MONITORED = "RuntimeError: [Rank 0]: Ranks 1, 5, 6 failed to pass monitoredBarrier in 30000 ms\n"
GLOO = "[rank{r}]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 1800000ms for recv operation to complete\n"
WRAPPER = ("[rank0]: RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[20, 10]), "
           "but Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=7, OpType=REDUCE).\n")
STEP = "step {i} | loss 2.1 | step_time 500 ms\n"


class Stalls(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def of(self, *texts: str) -> tuple[dict[str, Any], dict[str, str]]:
        paths = []
        for i, text in enumerate(texts):
            paths.append(self.folder / f"{i}.log")
            paths[-1].write_text(text)
        status, out, err = run("report", *paths, "--json")
        self.assertEqual(status, 0, err)
        told = json.loads(out)
        validate(told)
        return told, {h["id"]: h["words"] for h in told["hints"]}

    def test_each(self) -> None:
        """Alone in a file, behind steps, and said twice by some."""
        for text, name, ranks, waited, words in (
                ("".join(STUCK.format(r=r, g=r % 4) for r in (4, 5, 6, 7)), "watchdog_stuck", [4, 5, 6, 7], 480_000,
                 "Ranks 4–7: the watchdog of PyTorch's NCCL made no progress for 480 s (line {two})."),
                (STUCK_OLD.format(r=3), "watchdog_stuck", [3], 600_000, "Rank 3: the watchdog of PyTorch's NCCL made no progress for 600 s (line {one})."),
                ("".join(ID.format(r=r) for r in (1, 2, 3)), "communicator_timeout", [1, 2, 3], 600_000,
                 "Ranks 1–3 waited for the first rank of their group to create an NCCL communicator (key 0:1), and gave up after 600 s (line {one})."),
                (CONNECT.format(r=2, wait="600000ms"), "store_unreachable", [2], 600_000, "Rank 2 could not connect to PyTorch's store at 10.129.30.85:29501 after 600 s (line {one})."),
                (CONNECT.format(r=2, wait="20min"), "store_unreachable", [2], 1_200_000, "Rank 2 could not connect"),
                (NOWHERE.format(r=9), "store_unreachable", [9], None, "Rank 9 could not connect to PyTorch's store at job-master-0:23456 (line {one})."),
                (CLIENTS, "processes_missing", [0], 1_801_000, "The start timed out after 1801 s: 7 of 8 processes joined PyTorch's store (line {one})."),
                (BARRIER.format(r=1, n=2), "processes_missing", [], None, "The start timed out: 2 of 4 processes joined PyTorch's store (line {one})."),
                (BARRIER.format(r=1, n=31), "processes_missing", [], None, "The start timed out (line {one}): PyTorch's store counts 31 processes of 4, so it has entries of another run."),
                (ELASTIC.format(e="RendezvousTimeoutError", more=""), "rendezvous_failed", [], None,
                 "torchrun's rendezvous failed with RendezvousTimeoutError (line {four}): fewer nodes came than --nnodes asks for."),
                (ELASTIC.format(e="RendezvousConnectionError", more=": The connection to the C10d store has failed."), "rendezvous_failed", [], None,
                 "torchrun's rendezvous failed with RendezvousConnectionError (line {four}): this node does not reach the endpoint"),
                (MONITORED, "barrier_timeout", [1, 5, 6], 30_000, "Ranks 1, 5 and 6 did not reach a monitored_barrier, and rank 0 gave up after 30.0 s (line {one})."),
                ("".join(GLOO.format(r=r) for r in (0, 2)), "gloo_timeout", [0, 2], 1_800_000, "Ranks 0 and 2 waited in a collective of gloo and gave up after 1800 s (line {one})"),
                (WRAPPER, "collectives_differ", [0], None, 'Ranks called different collectives (line {one}): "Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE')):
            for before in (0, 20):
                with self.subTest(name=name, text=text[:60], before=before):
                    told, hints = self.of("".join(STEP.format(i=i) for i in range(before)) + text)
                    self.assertEqual(list(hints), [name])
                    self.assertTrue(hints[name].startswith(words.format(one=before + 1, two=before + 2, four=before + 4)), hints[name])
                    self.assertEqual((sorted(told["stalls"][0]["ranks"]), told["stalls"][0]["waited_ms"]), (ranks, waited))

    def test_files_of_ranks(self) -> None:
        told, hints = self.of(*("".join(STEP.format(i=i) for i in range(9)) + GLOO.format(r=r) for r in (5, 1, 2)))
        self.assertEqual(len(told["stalls"]), 3)
        self.assertTrue(hints["gloo_timeout"].startswith("Ranks 1, 2 and 5 waited"), hints)

    def test_a_start_that_worked_in_the_end(self) -> None:
        """A retry that was answered: steps stand behind it."""
        told, hints = self.of(CONNECT.format(r=2, wait="600000ms") + "".join(STEP.format(i=i) for i in range(9)))
        self.assertEqual((told["stalls"][0]["is_over"], hints), (True, {}))
        self.assertIn("watchdog_stuck", self.of(STUCK.format(r=2, g=2) + "".join(STEP.format(i=i) for i in range(9)))[1])

    def test_a_mere_mention(self) -> None:
        for text in ("INFO raise TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC where a watchdog got lost\n", "    raise RendezvousTimeoutError()\n", "# The client socket is opened here\n",
                     "except RendezvousTimeoutError as e:\n",
                     "Timed out after 3 attempts of reading\n", "Timed out waiting for the queue\n", "Timed out after 5 seconds waiting for clients.\n"):
            with self.subTest(text=text):
                told, hints = self.of(text + "".join(STEP.format(i=i) for i in range(9)))
                self.assertEqual((told["stalls"], hints), ([], {}))

    def test_beside_a_timeout_of_a_collective(self) -> None:
        """The collective that timed out says more, so it comes first."""
        wait = ("[rank1]:[E304 12:10:00.1 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, "
                "NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n")
        _, hints = self.of(STUCK.format(r=1, g=1) + wait)
        self.assertEqual(list(hints), ["collective_timeout", "watchdog_stuck"])

    def test_hostile(self) -> None:
        step = "".join(STEP.format(i=i) for i in range(9))
        for text in (STUCK.format(r=10**30, g=1), STUCK.format(r=1, g=1).replace("480 seconds", "9" * 40 + " seconds"), CONNECT.format(r=1, wait="1" * 30 + "ms").replace("(10", "("),
                     CLIENTS.replace("7/8", "7/"), CLIENTS.replace("7/8", "/8"), MONITORED.replace("1, 5, 6", ", ,,"), ID.format(r=1).replace("'", ""), WRAPPER.replace(". Rank 0",
                                                            ". " + "\x1b[31m\u202e" * 200)):
            with self.subTest(text=text[:80]):
                status, out, err = run("report", "-", stdin=(step + text).encode())
                self.assertEqual(status, 0, err)
                self.assertLessEqual(max(map(len, out.decode().splitlines())), 80)


if __name__ == "__main__":
    unittest.main()
