# SPDX-License-Identifier: Apache-2.0
"""Logs of programs that print throughput and no time, and progress bars: answers in what they print, and no step that nobody timed.

Forms are written after the sources: torchtitan components/metrics.py; torchtune training/metric_logging.py (DiskLogger); fairseq logging/progress_bar.py (json, simple); MosaicML composer
loggers/console_logger.py and callbacks/speed_monitor.py; OLMo olmo/train.py (log_metrics_to_console); levanter with tqdm_loggable; transformers trainer_utils.py (speed_metrics);
open_clip open_clip_train/train.py; verl utils/logger (concat_dict_to_str); vLLM v1/metrics/loggers.py;
SGLang managers/scheduler_metrics_mixin.py; tqdm std.py (format_meter); Keras utils/progbar.py."""
import json
import re
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.log_schema import validate
from tests.program import run

E = "\x1b"


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "train.log"

    def of(self, text: str) -> dict[str, Any]:
        self.path.write_bytes(text.encode())
        status, out, err = run("report", self.path, "--json")
        self.assertEqual(status, 0, err)
        told = json.loads(out)
        validate(told)
        return told

    def said(self) -> str:
        return " ".join(run("report", self.path)[1].decode().split())

    def hints(self, told: dict[str, Any]) -> dict[str, str]:
        return {h["id"]: h["words"] for h in told["hints"]}


def titan(step: int, tps: int) -> str:
    return (f"[rank0]:[titan] 2025-05-01 12:00:{step % 60:02},123 - root - INFO - {E}[31mstep: {step:2}  {E}[32mloss:  7.1234  {E}[38;2;180;60;0mgrad_norm:  1.2345  "
            f"{E}[38;2;54;234;195mmemory: 35.43GiB(37.30%)  {E}[34mtps: {tps:,}  {E}[36mtflops: 285.20  {E}[35mmfu: 28.84%{E}[39m\n")


def composer(step: int, rate: float) -> str:
    return (f"[batch={step}/2000]:\n\t Train time/epoch: 0\n\t Train time/batch: {step - 1}\n\t Train throughput/batches_per_sec: {rate / 1e6:.4f}\n"
            f"\t Train throughput/device/batches_per_sec: {rate / 8e6:.4f}\n"
            f"\t Train throughput/device/tokens_per_sec: {rate / 8:.4f}\n\t Train throughput/tokens_per_sec: {rate:.4f}\n\t Train loss/train/total: 11.2345\n")


def olmo(step: int, rate: int) -> str:
    return (f"2024-05-01T12:00:00.123\tnode1:0\tolmo.train:816\tINFO\t[step={step}/739328,epoch=0]\n    optim/total_grad_norm=11.23\n    train/CrossEntropyLoss=11.20\n"
            f"    throughput/total_tokens={step * 4194304:,}\n    throughput/device/tokens_per_second={rate:,}\n    throughput/device/batches_per_second=0.0250\n")


def fairseq_json(step: int, wps: float) -> str:
    return (f'2022-01-01 12:00:00 | INFO | train_inner | {{"epoch": 1, "update": 0.123, "loss": "12.3", "ppl": "5100", "wps": "{wps:.1f}", "ups": "2.5", "wpb": "26172.8", "bsz": "812.3", '
            f'"num_updates": "{step}", "lr": "1e-05", "gnorm": "3.1", "train_wall": "40", "gb_free": "20.1", "wall": "{step // 2}"}}\n')


def fairseq_simple(step: int, wps: float) -> str:
    return (f"2022-01-01 12:00:00 | INFO | train_inner | epoch 001:    {step} / 12345 loss=12.3, ppl=5100, wps={wps:.1f}, ups=2.5, wpb=26172.8, bsz=812.3, num_updates={step}, lr=1e-05, "
            f"gnorm=3.1, train_wall=40, gb_free=20.1, wall={step // 2}\n")


def torchtune(step: int, rate: float) -> str:
    return f"Step {step} | loss:1.2345 lr:2e-05 tokens_per_second_per_gpu:{rate:.2f} peak_memory_active:12.3 peak_memory_alloc:12.3 peak_memory_reserved:14.1 \n"


class Rates(Case):
    def test_each(self) -> None:
        """Median, unit and whose it is; never a time of a step."""
        for form, rate, of, mean, steps in ((titan, 5760, "gpu", False, None), (torchtune, 1250.25, "gpu", False, None), (composer, 478_208.0, "job", True, 0.4782), (olmo, 12_345, "gpu", True, 0.025),
                                            (fairseq_json, 65_432.1, "job", False, 2.5), (fairseq_simple, 65_432.1, "job", False, 2.5)):
            with self.subTest(form=form.__name__):
                told = self.of("some words at the start\n" + "".join(form(10 * i, type(rate)(rate * (1 + (i % 5 - 2) / 1000))) for i in range(1, 60)))
                self.assertIsNone(told["step"])
                rates = told["rates"]
                self.assertEqual((rates["unit"], rates["of"], rates["is_running_mean"], rates["count"]), ("tokens", of, mean, 59))
                self.assertAlmostEqual(rates["median_per_s"] / rate, 1, places=3)
                self.assertLess(rates["p10_per_s"], rates["p90_per_s"])
                if steps is None:
                    self.assertIsNone(rates["steps_per_s"])
                else:
                    self.assertAlmostEqual(rates["steps_per_s"] / steps, 1, places=2)
                self.assertEqual(told["hints"], [])
                said = self.said()
                self.assertIn("RATE ", said)
                self.assertIn("the log prints no time of a step", said)
                self.assertNotIn("STEP ", said)

    def test_throughput_that_falls(self) -> None:
        noise = [((i * 7919) % 101 - 50) / 50 for i in range(300)]
        told = self.of("".join(titan(10 * i + 10, round((5760 if i < 180 else 4320) + 40 * noise[i])) for i in range(300)))
        change = told["rates"]["change"]
        self.assertLessEqual(abs(change["iteration"] - 1810), 20)
        self.assertAlmostEqual(change["after_per_s"] / change["before_per_s"], 0.75, places=2)
        self.assertRegex(self.hints(told)["slower_since"], r"^From step 18\d\d on, the log tells 43\d\d tokens/s instead of 57\d\d, 25 % less: ")
        self.assertRegex(self.said(), r"57\d\d tokens/s for each GPU, typically, and from step 18\d\d on 43\d\d")

    def test_lines_that_are_low(self) -> None:
        told = self.of("".join(titan(10 * i, 2000 if i % 20 == 0 else 5760) for i in range(1, 101)))
        self.assertEqual(told["rates"]["low"], 5)
        self.assertIn("5 of 100 lines tell less than two thirds of the typical rate, every 200 steps", self.hints(told)["slow_steps"])
        self.assertIn("the least, at step 200 (line 20), is 2000 tokens/s", self.hints(told)["slow_steps"])

    def test_two_of_them(self) -> None:
        """Rates of two logs are compared, if both are of one GPU, or of all."""
        other = self.path.with_name("other.log")
        for form, rates, name in ((titan, (5000, 6000), "tokens/s"), (fairseq_json, (50_000.0, 60_000.0), "tokens/s")):
            for path, rate in ((self.path, rates[0]), (other, rates[1])):
                path.write_text("".join(form(10 * i, rate) for i in range(1, 40)))
            changes = {c["name"]: c for c in json.loads(run("diff", self.path, other, "--json")[1])["changes"]}
            self.assertEqual((changes[name]["unit"], changes[name]["a"], changes[name]["b"], changes[name]["diff_pct"]), ("per_second", *rates, 20))
        self.path.write_text("".join(titan(10 * i, 5000) for i in range(1, 40)))
        told = json.loads(run("diff", self.path, other, "--json")[1])
        self.assertEqual((told["changes"], told["notes"]), ([], ["throughput is not compared: that of A is of one GPU"]))

    def test_every_rank_prints(self) -> None:
        """One line of a step, with the least of the rates; in any order."""
        told = self.of("".join(titan(10 * i, 5760 - 10 * r) for i in range(1, 60) for r in (3, 0, 1, 2)))
        self.assertEqual((told["rates"]["count"], told["rates"]["median_per_s"], told["rates"]["max_per_s"]), (59, 5730, 5730))
        noise = [((i * 7919) % 101 - 50) / 50 for i in range(300)]
        told = self.of("".join(titan(10 * i + 10, round((5760 if i < 180 else 4320) + 40 * noise[i]) - r) for i in range(300) for r in range(8)))
        self.assertIn("slower_since", self.hints(told))

    def test_a_warm_up(self) -> None:
        told = self.of("".join(titan(i, 100 if i == 1 else 5760) for i in range(1, 40)))
        self.assertEqual((told["rates"]["warmup_per_s"], told["rates"]["median_per_s"], told["rates"]["min_per_s"]), (100, 5760, 5760))

    def test_the_end_of_a_trainer(self) -> None:
        for quote in ("", "'"):
            told = self.of("".join("{'loss': 2.1, 'grad_norm': 1.2, 'learning_rate': 2e-05, 'epoch': 0.02}\n" for _ in range(20)) +
                           f"{{'train_runtime': {quote}520.4{quote}, 'train_samples_per_second': {quote}7.7{quote}, 'train_steps_per_second': {quote}0.961{quote}, "
                           f"'train_loss': {quote}1.9{quote}, 'epoch': {quote}3.0{quote}}}\n")
            self.assertEqual((told["rates"]["steps_per_s"], told["rates"]["samples_per_s"], told["rates"]["is_of_whole_run"], told["step"]), (0.961, 7.7, True, None))
            self.assertIn("0.96 steps/s over the whole run, evaluations and checkpoints included: 1.04 s for a step on average", self.said())

    def test_levanter(self) -> None:
        line = "2024-05-01T12:00:00 - 0 - tqdm_loggable.tqdm_logging - tqdm_logging.py:145 - INFO :: Progress on:train {n}/10.0kit rate:{r} remaining:20:00 elapsed:{e} postfix:loss=9.1\n"
        told = self.of("".join(line.format(n=f"{10 * i}it" if i < 100 else f"{i / 100:.2f}kit", r="1.25s/it", e="02:00") for i in range(1, 200)))
        self.assertEqual((told["rates"]["unit"], told["rates"]["median_per_s"], told["rates"]["is_running_mean"], told["rates"]["count"]), ("steps", 0.8, True, 199))
        self.assertIn("0.80 steps/s, typically", self.said())

    def test_a_time_is_better(self) -> None:
        """Where lines have both, the time counts."""
        told = self.of("".join(f"step: {i}  loss: 7.1  step_time: 0.5s  tps: 5,765\n" for i in range(1, 30)))
        self.assertEqual((told["step"]["median_ns"], told["step"]["tokens_per_s"]), (500_000_000, 5765))
        self.assertNotIn("RATE", self.said())

    def test_no_rates(self) -> None:
        for line in ("https://example.org/tps: 5\n", "step 5: validation at tps: 5,000\n", "throughput of the link: 5 GB/s\n", "max tps is 5000 at step 3\n"):
            self.path.write_text(line)
            self.assertEqual(run("report", self.path)[0], 3, line)

    def test_hostile(self) -> None:
        body = "".join(titan(i, 5760) for i in range(1, 40))
        for what in ("step: 9 tps: 1e308\n", "step: 9 tps: 0.0000000000000000000000001\n", "step: 99999999999999999999 tps: 5\n", "[batch=]\n throughput/tokens_per_sec: 1\n",
                     "[batch=99999999999999999999/1]:\n throughput/tokens_per_sec: 1\n",
                     "Progress on:train kit rate:s/it\n", "Avg generation throughput: tokens/s\n", "tps: \n"):
            with self.subTest(what=what):
                told = self.of(body + what)
                self.assertAlmostEqual(told["rates"]["median_per_s"], 5760)


class Servers(Case):
    VLLM = ("(APIServer pid=158) INFO 09-02 13:08:{i:02} [loggers.py:123] Engine 000: Avg prompt throughput: 12.0 tokens/s, Avg generation throughput: {r:.1f} tokens/s, Running: {n} reqs, "
            "Waiting: {w} reqs, GPU KV cache usage: {c:.1f}%, Prefix cache hit rate: 53.7%\n")
    SGLANG = "[2026-03-14 04:59:{i:02} TP0] Decode batch, #running-req: {n}, #token: 2326796, token usage: {c:.2f}, cuda graph: True, gen throughput (token/s): {r:.2f}, #queue-req: {w}, \n"

    def test_what_limits_it(self) -> None:
        for form, scale in ((self.VLLM, 100), (self.SGLANG, 1)):
            for waiting, cache, name, words in ((7, 0.98, "kv_cache_full", "Typically 20 requests run and 7 wait, and the KV cache is 98 % full: it limits how many run at once."),
                                                (7, 0.35, "batch_limit", "Typically 20 requests run and 7 wait, while the KV cache is only 35 % full"),
                                                (0, 0.35, "server_has_room", "Typically 20 requests run and none waits: the rate is that of the requests that come")):
                with self.subTest(form=form[:20], name=name):
                    told = self.of("".join(form.format(i=i, r=0 if i < 5 else 600 + i, n=20, w=waiting, c=cache * scale) for i in range(60)))
                    rates = told["rates"]
                    self.assertEqual((rates["of"], rates["count"], rates["median_per_s"], rates["running"], rates["waiting"], rates["cache_share"]), ("server", 55, 632, 20, waiting, cache))
                    self.assertEqual(list(self.hints(told)), [name])
                    self.assertTrue(self.hints(told)[name].startswith(words), self.hints(told))
                    self.assertIn("632 tokens/s generated, typically", self.said())


class Timers(Case):
    def test_verl(self) -> None:
        told = self.of("".join(f"(TaskRunner pid=1234) step:{i} - global_seqlen/min:123.0 - critic/values/mean:1.0 - val-core/gsm8k/acc:0.3 - timing_s/gen:12.5 - timing_s/old_log_prob:3.25 - "
                               f"timing_s/update_actor:20.0 - timing_s/step:40.0 - timing_per_token_ms/gen:0.1 - perf/throughput:1234.5 - training/global_step:{i}\n" for i in range(1, 40)))
        self.assertEqual((told["step"]["count"], told["step"]["median_ns"]), (39, 40_000_000_000))
        self.assertEqual({p["name"]: (p["median_ns"], p["share"]) for p in told["parts"]}, {"gen": (12_500_000_000, 0.3125), "old_log_prob": (3_250_000_000, 0.08125),
                                                            "update_actor": (20_000_000_000, 0.5)})

    def test_open_clip(self) -> None:
        """It counts samples; steps are those by its batch."""
        told = self.of("".join(f"2023-01-01,12:00:00 | INFO | Train Epoch: 0 [{i * 409600:8}/10000000 ({i}%)] Data (t): 0.100 "
                               f"Batch (t): {60 if i == 17 else 0.4:.3f}, {4096 / (60 if i == 17 else 0.4):#g}/s, "
                               f"1280.0/s/gpu LR: 0.000005 Logit Scale: 14.286 Contrastive_loss: 8.3 (8.3)\n" for i in range(1, 40)))
        self.assertEqual((told["step"]["count"], told["step"]["median_ns"], told["step"]["slow"]), (39, 400_000_000, 1))
        self.assertEqual([(p["name"], p["median_ns"]) for p in told["parts"]], [("data", 100_000_000)])
        self.assertIn("the slowest, step 1700 (line 17), took 60.0 s", self.hints(told)["slow_steps"])

    def test_nemo_in_a_bar(self) -> None:
        told = self.of("\r".join(f"Epoch 0: :   1%|          | {i}/1000 [00:10<10:00, v_num=1, reduced_train_loss=9.1, "
                                 f"global_step={i - 1}.0, consumed_samples=256.0, train_step_timing in s=1.020]" for i in range(1, 100)))
        self.assertEqual((told["step"]["count"], told["step"]["median_ns"], told["step"]["is_by_progress_bar"]), (99, 1_020_000_000, False))


def clock(seconds: float) -> str:
    s = int(seconds)
    return f"{s // 3600}:{s // 60 % 60:02}:{s % 60:02}" if s >= 3600 else f"{s // 60:02}:{s % 60:02}"


def tqdm(i: int, total: int, elapsed: float, mean: float, name: str = "") -> str:
    rate = f"{mean:5.2f}s/it" if mean > 1 else f"{1 / mean:5.2f}it/s"
    return f"{name}{100 * i // total:3}%|{'█' * 3}▏      | {i}/{total} [{clock(elapsed)}<{clock(total * mean - elapsed)}, {rate}, loss=1.2]"


class Bars(Case):
    def test_steps_by_the_elapsed_time(self) -> None:
        """Smoothed rates are no steps: of 5 s of every 100th step the printed rate shows something else."""
        elapsed, parts, smooth = 0.0, [], 0.5
        for i in range(1, 1001):
            last = 5.0 if i % 100 == 0 else 0.5
            elapsed += last
            smooth = 0.3 * last + 0.7 * smooth
            parts.append(tqdm(i, 1000, elapsed, smooth))
        for join in ("\r", "\n", "\x1b[A\r"):
            told = self.of(join.join(parts) + "\n")
            step = told["step"]
            self.assertTrue(step["is_by_progress_bar"])
            self.assertAlmostEqual(step["total_ns"] / 1e9, elapsed - 0.5, delta=1)           # the first step is the anchor
            self.assertEqual(step["steps"], 999)
            self.assertAlmostEqual(step["median_ns"] / 1e9, 0.5, delta=0.12)
        self.assertIn("by a progress bar's elapsed time", self.said())

    def test_a_level_that_changes(self) -> None:
        elapsed, parts = 0.0, []
        for i in range(1, 2001):
            elapsed += 1.0 if i <= 1200 else 1.5
            parts.append(tqdm(i, 2000, elapsed, elapsed / i))
        told = self.of("\r".join(parts))
        self.assertAlmostEqual(told["step"]["change"]["iteration"], 1200, delta=40)
        self.assertAlmostEqual(told["step"]["change"]["after_ns"] / told["step"]["change"]["before_ns"], 1.5, delta=0.08)
        self.assertIn("slower_since", self.hints(told))

    def test_the_bar_of_training(self) -> None:
        """Beside those of loading, tokenizing and evaluating; a dictionary stands between."""
        text = "".join(tqdm(i, 4, 30 * i, 30, "Loading checkpoint shards: ") + "\r" for i in range(1,
                                                            5)) + "".join(f"Map: {i:3}%|██   | {i * 100}/10000 [{clock(i * 20)}<00:10, 5.00 examples/s]\r" for i in range(1, 101))
        elapsed = 0.0
        for i in range(1, 301):
            elapsed += 2.0
            text += tqdm(i, 300, elapsed, 2.0) + "\r"
            if i % 100 == 0:
                text += "\n{'loss': 2.1, 'grad_norm': 1.2, 'learning_rate': 2e-05, 'epoch': 0.5}\n" + "".join(tqdm(k, 20, 3 * k, 3.0) + "\r" for k in range(1, 21)) + "\n"
                elapsed += 60
        step = self.of(text)["step"]
        self.assertEqual((step["steps"], round(step["median_ns"] / 1e8)), (299, 20))
        self.assertEqual(step["slow"], 2)           # evaluations are in the elapsed time of training's bar

    def test_epochs(self) -> None:
        """Each has a bar of its own; numbers go on, and short ones count by the mean that they print at their end."""
        told = self.of("".join("".join(tqdm(i, 100, 1.5 * i, 1.5, f"Epoch {e}: ") + "\r" for i in range(1, 101)) + "\n" + "".join(tqdm(i, 50, i, 1.0,
                                                            "Validation DataLoader 0: ") + "\r" for i in range(1, 51)) + "\n" for e in range(5)))
        self.assertEqual((told["step"]["restarts"], round(told["step"]["median_ns"] / 1e8)), (0, 15))
        self.assertTrue(5 * 93 <= told["step"]["steps"] <= 5 * 99, "what is left of a bar, less than 10 s, is not taken")
        told = self.of("".join("".join(tqdm(i, 100, 0.04 * i, 0.04, f"Epoch {e}: ") + "\r" for i in range(1, 101)) + "\n" for e in range(5)))
        self.assertEqual((told["step"]["steps"], told["step"]["steps_per_line"], told["step"]["median_ns"]), (500, 100, 40_000_000))

    def test_a_run_that_goes_on(self) -> None:
        """From a checkpoint: the first number is no number of steps that took that time."""
        told = self.of("\r".join(tqdm(i, 2000, 2.0 * (i - 1500), 2.0) for i in range(1501, 1700)))
        self.assertEqual((told["step"]["steps"], round(told["step"]["median_ns"] / 1e8)), (198, 20))

    def test_long_ones(self) -> None:
        told = self.of("\r".join(tqdm(i, 3000, 40.0 * i, 40.0) for i in range(1, 2500)))            # more than a day
        self.assertEqual((told["step"]["count"], told["step"]["median_ns"]), (2498, 40_000_000_000))
        days = self.of("\r".join(f"  1%|█  | {i}/3000 [{i * 40 // 86400} day, {i * 40 // 3600 % 24}:{i * 40 // 60 % 60:02}:{i * 40 % 60:02}<1 day, 2:00:00, 40.00s/it]" for i in range(2161, 2500)))
        self.assertEqual((days["step"]["count"], days["step"]["median_ns"]), (338, 40_000_000_000))

    def test_names_of_recipes(self) -> None:
        for name in ("\x1b[34mTraining Epoch: 1/3, step {i}/200 completed (loss: 1.{i:03}): ", "1|{i}|Loss: 1.2{i:03}: "):
            told = self.of("\r".join(tqdm(i, 200, 2.0 * i, 2.0, name.format(i=i)) for i in range(1, 200)))
            self.assertEqual((told["step"]["steps"], told["step"]["median_ns"]), (198, 2_000_000_000))

    def test_keras(self) -> None:
        """35ms/step is the mean since the epoch began: each epoch counts once."""
        for form in (f"{E}[1m{{n:3}}/100{E}[0m {E}[32m━━━━━{E}[0m{E}[37m━━━━━{E}[0m {E}[1m3s{E}[0m {{ms}}ms/step - accuracy: 0.1234 - loss: 2.3025" + "\b" * 9,
                     "{n:3}/100 [=====>....] - 3s {ms}ms/step - loss: 2.3025",
                     "{n:3}/100 - 3s - {ms}ms/step - accuracy: 0.1234 - loss: 2.3025"):
            with self.subTest(form=form):
                told = self.of("".join(f"Epoch {e}/4\n" + "\r".join(form.format(n=n, ms=35 + e + (100 - n) // 10) for n in range(1, 101)) + "\n" for e in range(1, 5)))
                self.assertEqual((told["step"]["count"], told["step"]["steps"], told["step"]["min_ns"], told["step"]["max_ns"]), (4, 400, 36_000_000, 39_000_000))

    def test_the_mean_when_a_bar_closes(self) -> None:
        """tqdm prints the last number with its smoothed rate, and with the mean when it closes, after whatever came between."""
        body = "\r".join(tqdm(i, 32, 0.2 * i, 0.08) for i in range(1, 32)) + "\r" + tqdm(32, 32, 7.6, 1 / 13.06)
        for between in ("\r", "\n{'train_loss': '4.324', 'epoch': '2'}\n\r"):
            step = self.of(body + between + tqdm(32, 32, 7.6, 7.6 / 32) + "\n")["step"]
            self.assertEqual((step["count"], step["steps"]), (1, 32))
            self.assertAlmostEqual(step["median_ns"] / 1e9, 7.6 / 32, delta=0.001)
        self.path.write_text(body + "\n")                  # killed before: 76.6 ms is the last steps' rate, and 7 s are no 32 of it
        self.assertEqual(run("report", self.path)[0], 3)

    def test_a_bar_that_prints_means(self) -> None:
        """Lightning: the first line of the last number is of training, the next ones have validation's time in them."""
        text = "".join("\r".join(tqdm(i, 64, 0.1 * i, 0.1, f"Epoch {e}: ") for i in range(1, 65)) + "\r" + "\r".join(tqdm(i, 9, 0.3 * i, 0.3, "Validation: ") for i in range(1, 10))
                       + "\r" + tqdm(64, 64, 9.1, 9.1 / 64, f"Epoch {e}: ") + "\n" for e in range(3))
        step = self.of(text)["step"]
        self.assertEqual((step["count"], step["steps"]), (3, 192))
        self.assertAlmostEqual(step["median_ns"] / 1e9, 0.1, delta=0.001)

    def test_bars_of_rich(self) -> None:
        """Lightning's, as it is printed into a file: the last line of the last epoch alone."""
        bar = "Epoch {e}/3  ━━━━━━━━━━━━━━━━ {n}/640 0:{m:02}:{s:02} • 0:00:00 {r}it/s train_loss: 0.044\n                       val_loss: 0.060\n"
        step = self.of(bar.format(e=3, n=640, m=1, s=4, r="9.95"))["step"]
        self.assertEqual((step["count"], step["steps"], step["median_ns"]), (1, 640, 100_000_000))         # 64 s
        step = self.of(bar.format(e=3, n=640, m=0, s=3, r="200.00"))["step"]
        self.assertEqual((step["steps"], step["median_ns"]), (640, 5_000_000))
        for other in (bar.format(e=3, n=640, m=1, s=4, r="99.50"), "Downloading ━━━━━━━━━━ 64/64 0:00:30 • 0:00:00 2.10it/s\n",
                      "a ━━ 1/2 • it/s\n", "━ • \n", "━ 5/5 0:00:30 • 1 2.0MB/s\n"):
            self.path.write_text(other)
            self.assertEqual(run("report", self.path)[0], 3, other)

    def test_keras_with_validation(self) -> None:
        """Of a bar the mean before validation; of verbose=2 each line is an epoch."""
        bar = "".join(f"{n}/26 ━━━━━ 1s {ms}ms/step - loss: 0.1\r" for n, ms in ((1, 30), (25, 121), (26, 123)))
        told = self.of("".join(f"Epoch {e}/2\n{bar}26/26 ━━━━━ 4s 147ms/step - loss: 0.1 - val_loss: 0.2\n" for e in (1, 2)))["step"]
        self.assertEqual((told["count"], told["steps"], told["min_ns"], told["max_ns"]), (2, 52, 123_000_000, 123_000_000))
        lines = self.of("".join(f"Epoch {e}/3\n26/26 - 4s - {ms}ms/step - loss: 0.2 - val_loss: 0.1\n" for e, ms in ((1, 137), (2, 121), (3, 157))))["step"]
        self.assertEqual((lines["count"], lines["steps"], lines["median_ns"], lines["max_ns"]), (3, 78, 137_000_000, 157_000_000))
        self.assertIn("in which evaluation and saving may be", self.said())

    def test_what_is_no_bar_of_steps(self) -> None:
        for text in ("".join(f"model.safetensors: {i}%|██  | {i}M/100M [{clock(i)}<00:10, 1.00MB/s]\r" for i in range(1, 100)), "".join(tqdm(i, 50, 30 * i, 30,
                                                            "Evaluating: ") + "\r" for i in range(1, 50)),
                     "10/12 of them took 35ms/step maybe\n"):
            self.path.write_text(text)
            status, out, err = run("report", self.path)
            self.assertEqual(status, 3, out)

    def test_hostile(self) -> None:
        body = "\r".join(tqdm(i, 300, 2.0 * i, 2.0) for i in range(1, 300))
        for what in ("%|", "%||", "%|| 9/", "%|| 9/9 [", "%|| 99999999999999999999/99999999999999999999 [00:10<, 1it/s]", "%|| 5/9 [99999999999999999999:00<0, 1it/s]",
                     "%|| 5/9 [1:2:3:4:5:6:7:8:9<0, 1it/s]", "%|| 5/9 [::<:, 1it/s]",
                     "5/9 ms/step", "5/9 - /step", "5/9 - 1e999ms/step", "9/5 - 3s - 3ms/step"):
            with self.subTest(what=what):
                self.assertEqual(self.of(body + "\r" + what + "\r" + what)["step"]["steps"], 298)
        many = "".join(tqdm(5, 100 + i, 30, 2.0, f"bar{chr(97 + i % 26)}: ") + "\r" + tqdm(50, 100 + i, 90, 2.0, f"bar{chr(97 + i % 26)}: ") + "\r" for i in range(500))
        self.assertLessEqual(self.of(many)["step"]["count"], 32 * 4)


if __name__ == "__main__":
    unittest.main()
