# SPDX-License-Identifier: Apache-2.0
"""docs/report.schema.json describes `report --json` exactly: every field, and none that is not printed."""
import json
import pickle
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests import pftrace
from tests.caching_allocator import busy
from tests.program import OWN, ROOT, report, skip_loudly, traces

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA = json.loads((ROOT / "docs/report.schema.json").read_text())
DEFS = SCHEMA["$defs"]


def sampled() -> bytes:
    """A trace of one operator and one CPU sample."""
    outsiders = "3\t65534\t1000\t2000\tworker\tstatically linked\n"
    return (pftrace.packet((126, pftrace.message((1, pftrace.message((1, "holdup.outsiders"), (3, outsiders))))))
            + pftrace.packet(pftrace.thread(2, 1, 1), flags=pftrace.CLEARED)
            + pftrace.packet(pftrace.event(pftrace.BEGIN, 2, "f", "cpu_op"), ts=10, flags=pftrace.NEEDS)
            + pftrace.packet(pftrace.event(pftrace.END, 2), ts=20, flags=pftrace.NEEDS)
            + pftrace.packet((59, pftrace.message((12, pftrace.message((1, pftrace.message((1, 1000), (4, 1))))))),
                             (12, pftrace.message((5, pftrace.message((1, 1), (2, "main"))),
                                                  (17, pftrace.message((1, 1), (2, "/bin/program"))),
                                                  (19, pftrace.message((1, 1), (7, 1))),
                                                  (6, pftrace.message((1, 1), (2, 1), (3, 1), (4, 16))),
                                                  (7, pftrace.message((1, 1), (2, 1))))),
                             (66, pftrace.message((2, 1), (3, 1), (4, 1), (5, 2))), ts=15, flags=pftrace.NEEDS))


def every_table() -> dict:
    """A report in which no table is empty and no value is absent that could be there."""
    events = [
        '{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%d","pid":1,"tid":1,"ts":%d,"dur":90}' % (n, 100 * n) for n in range(3)
    ] + [
        '{"ph":"X","cat":"cpu_op","name":"aten::relu","pid":1,"tid":1,"ts":1,"dur":50,"args":{"Input Dims":[[2,2]],"Input type":["float"]}}',
        '{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":1,"tid":1,"ts":20,"dur":1,"args":{"correlation":7}}',
        '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":2,"dur":1,"args":{"correlation":5}}',
        '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":10,"dur":5,"args":{"correlation":5,"device":0,"stream":7,'
        '"grid":[4,1,1],"block":[64,1,1],"registers per thread":32,"shared memory":0,"est. achieved occupancy %":50}}',
        '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":18,"dur":2,"args":{"correlation":5,"device":0,"stream":7}}',
        '{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":30,"dur":2,"args":{"bytes":4000,"stream":7,"correlation":7,"memory bandwidth (GB/s)":2.0}}',
        '{"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":4,"args":{"Addr":1,"Bytes":8,"Device Type":0,"Device Id":-1}}',
        '{"ph":"X","cat":"os_call","name":"read","pid":1,"tid":1,"ts":92,"dur":2,"args":{"class":"file_read","bytes":5,"path":"/x"}}',
        '{"ph":"X","cat":"os_call","name":"read","pid":1,"tid":2,"ts":92,"dur":2,"args":{"class":"file_read"}}',
        '{"ph":"X","cat":"cpu_op","name":"x","pid":1,"tid":1,"ts":60,"dur":-5}',
        '{"ph":"X","cat":"overhead","name":"Buffer Flush","pid":-1,"tid":0,"ts":60,"dur":1}',
        '{"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":1,"tid":1,"ts":62,"dur":1,"args":{"correlation":6}}',
        '{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":8,"ts":63,"dur":1,"args":{"device":0,"stream":8,'
        '"Collective name":"allreduce","dtype":"Float","In msg nelems":4,"Out msg nelems":4,"Group size":2}}',
        '{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":8,"ts":150,"dur":1,"args":{"device":0,"stream":8,"correlation":90,'
        '"Collective name":"allreduce","dtype":"Float","In msg nelems":4096,"Out msg nelems":4096,"Group size":2}}',
        '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":110.5,"dur":0.4,"args":{"correlation":90}}',
        '{"ph":"X","cat":"cpu_op","name":"XBackward0","pid":1,"tid":1,"ts":110,"dur":70,"args":{"Sequence number":1,"Fwd thread id":1}}',
        '{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":111,"dur":60,"args":{"Sequence number":2,"Fwd thread id":0}}',
    ] + [
        '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%d,"dur":%d,"args":{"correlation":%d}},'
        '{"ph":"X","cat":"kernel","name":"k%d","pid":0,"tid":7,"ts":%d,"dur":2,"args":{"device":0,"stream":7,"correlation":%d}}'
        % (112 + n, 1 if n < 2 else 52, 20 + n, n, 170 + 3 * n, 20 + n) for n in range(3)
    ]
    text = ('{"holdup.gpus":"0\\t1\\t0\\t0\\t1\\t1\\t1\\t1\\t1\\t1\\t0\\tu\\tb\\td\\tn\\t\\n","holdup.rapl":"read\\t5\\npackage-0\\n",'
            '"deviceProperties":[{"id":0,"name":"G","totalGlobalMem":1,"numSms":2}],"distributedInfo":{"rank":0,"world_size":2},'
            '"traceEvents":[' + ",".join(events) + "]}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.json"
        path.write_text(text)
        whole = report(path, "--merge")
        for tool in ("hta", "tracelens"):
            whole["ranks"][0][tool] = report(path, "--compat", tool)["ranks"][0][tool]
        path = Path(folder) / "t.pftrace"
        path.write_bytes(sampled())
        samples = report(path, "--merge")
        for view in ("cpu_samples", "outside"):
            whole["ranks"][0][view] = samples["ranks"][0][view]
            whole["merged"][view] = samples["merged"][view]
        path = Path(folder) / "t.pickle"
        path.write_bytes(pickle.dumps(busy(1, 100, [{"name": "f", "filename": "/x/m.py", "line": 1}])[0].snapshot(external_annotations=[
            {"stage": "END", "name": "Optimizer.step#A", "device": 0, "time_us": t} for t in (500, 900)])))
        other = Path(folder) / "u.pickle"
        other.write_bytes(pickle.dumps(busy(2, 100, [])[0].snapshot()))
        snapshot = report(other, path, "--merge")
        snapshot["ranks"].reverse()
        for where, other in ((whole["ranks"][0], snapshot["ranks"][0]), (whole["merged"], snapshot["merged"])):
            where["memory"] = other["memory"]
        path = Path(folder) / "serving.json"
        path.write_text(text.replace("ProfilerStep#", "execute_context_0(0)_generation_"))
        whole["ranks"][0]["serving"] = report(path)["ranks"][0]["serving"]
        return whole


def printed(value: object, schema: dict, path: str = "") -> list[str]:
    """Keys of the schema that an object at `path` should have and has not, and the reverse; lists by their first row."""
    if "$ref" in schema:
        schema = DEFS[schema["$ref"].rsplit("/", 1)[1]]
    wrong = []
    if isinstance(value, dict) and "properties" in schema:
        wrong += [f"{path}/{k}: in the schema only" for k in schema.get("required", []) if k not in value]
        wrong += [f"{path}/{k}: not in the schema" for k in value if k not in schema["properties"]]
        for key in value.keys() & schema["properties"].keys():
            wrong += printed(value[key], schema["properties"][key], f"{path}/{key}")
    elif isinstance(value, list):
        # what happens over time, lines through this rank's sizes and the segments of its allocator are each rank's own
        if not value and "$ref" in schema["items"] and not (path.startswith("/merged/") and path.endswith(("/series", "/fits", "/segments", "/runs", "/memory/steps"))):
            wrong.append(f"{path}: empty, so nothing was checked")
        for row in value[:1]:
            wrong += printed(row, schema["items"], f"{path}[0]")
    return wrong


def described(schema: object, path: str = "") -> list[str]:
    """Places of the schema that lack a description, a list of required keys, or leave room for unknown ones."""
    wrong = []
    if isinstance(schema, dict):
        for name, child in {**schema.get("properties", {}), **schema.get("$defs", {})}.items():
            if "$ref" not in child and not child.get("description"):
                wrong.append(f"{path}/{name}: no description")
            wrong += described(child, f"{path}/{name}")
        if "properties" in schema and (schema.get("additionalProperties") is not False or "required" not in schema):
            wrong.append(f"{path}: is not closed")
        if "items" in schema:
            wrong += described(schema["items"], f"{path}[]")
    return wrong


def thinned(value: Any) -> Any:
    """The rows of a table are alike: the first and the last of them stand for all."""
    if isinstance(value, dict):
        return {key: thinned(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [thinned(inner) for inner in (value if len(value) < 8 else value[:4] + value[-3:])]
    return value


class Schema(unittest.TestCase):
    def validator(self):
        if jsonschema is None:
            skip_loudly("python3-jsonschema is not present")
            self.skipTest("no jsonschema")
        cls = jsonschema.validators.validator_for(SCHEMA)
        cls.check_schema(SCHEMA)
        return cls(SCHEMA)

    def check(self, value: dict) -> None:
        self.assertEqual([f"{e.json_path}: {e.message[:200]}" for e in self.validator().iter_errors(value)], [])

    def test_every_report_is_valid(self) -> None:
        self.validator()
        for path in traces():
            with self.subTest(trace=path.name):
                self.check(report(path) if path in OWN else thinned(report(path)))

    def test_options_keep_reports_valid(self) -> None:
        for arguments in (["--group-by", "shapes"], ["--top", "3"], ["--sort", "calls"], ["--steps", "0..9999"]):
            with self.subTest(arguments=arguments):
                self.check(report(OWN[0], *arguments))
        self.check(report(ROOT / "examples/training/traces/slow_loader"))

    def test_odd_traces_give_valid_reports(self) -> None:
        rows = {
            "one mark": '[{"ph":"X","cat":"cpu_op","name":"x","pid":1,"tid":1,"ts":1,"dur":0}]',
            "only names": '[{"ph":"M","name":"process_name","pid":1,"args":{"name":"p"}}]',
            "extreme times": '[{"ph":"X","cat":"kernel","name":"k","pid":1,"tid":1,"ts":-4000000000000000,"dur":1},'
                             '{"ph":"X","cat":"kernel","name":"k","pid":1,"tid":1,"ts":4000000000000000,"dur":1}]',
            "odd numbers": '[{"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoH (Device -> Pinned)","pid":0,"tid":7,"ts":5,"dur":0,'
                           '"args":{"bytes":1e300}},{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":9,"dur":1,'
                           '"args":{"est. achieved occupancy %":-1e300,"grid":[0,0,0],"block":[99999,1,1]}}]',
            "cut": '{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":9,"dur":1},{"ph":',
            "odd phase": '[{"ph":"X","cat":"cpu_op","name":"x","pid":1,"tid":1,"ts":1,"dur":1},{"ph":"\x01"},{"ph":"\x80"}]',
            "odd device": '{"deviceProperties":[{"id":-7,"totalGlobalMem":-1,"numSms":-2}],"distributedInfo":{"rank":-5,"world_size":-9},'
                          '"traceEvents":[{"ph":"X","cat":"cpu_op","name":"x","pid":1,"tid":1,"ts":1,"dur":1}]}',
        }
        with tempfile.TemporaryDirectory() as folder:
            for name, text in rows.items():
                path = Path(folder) / "t.json"
                path.write_bytes(text.encode("latin-1"))
                with self.subTest(trace=name):
                    self.check(report(path))

    def test_every_key_of_the_schema_is_printed(self) -> None:
        self.assertEqual(printed(every_table(), SCHEMA), [])
        self.check(every_table())

    def test_every_field_is_described_and_every_object_is_closed(self) -> None:
        self.assertEqual(described(SCHEMA), [])

    def test_enumerations_are_those_of_the_program(self) -> None:
        # the X-macros are the only place that lists them; the schema must follow
        quality = (ROOT / "src/trace/quality.h").read_text()
        reasons = [line.split("R(")[1].split(",")[0] for line in quality.splitlines() if line.startswith("    R(")]
        self.assertEqual(DEFS["reason"]["properties"]["id"]["enum"], reasons)
        kinds = (ROOT / "src/trace/kinds.h").read_text()
        names = [line.split('"')[1] for line in kinds.splitlines() if line.startswith("    K(")]
        self.assertEqual(list(DEFS["quality"]["properties"]["by_kind"]["properties"]), names)
        health = (ROOT / "src/analyze/health.h").read_text()
        keys = [line.split('"')[1] for line in health.splitlines() if line.startswith("    M(")]
        self.assertEqual(DEFS["quality"]["properties"]["not_captured"]["items"]["enum"], keys)


if __name__ == "__main__":
    unittest.main()
