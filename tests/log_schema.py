# SPDX-License-Identifier: Apache-2.0
"""What `holdup report LOG --json` answers has all members of docs/step-log.schema.json, and no others."""
import json
from typing import Any

from tests.program import ROOT

try:
    import jsonschema
except ImportError:
    jsonschema = None

VALIDATOR = jsonschema and jsonschema.Draft202012Validator(json.loads((ROOT / "docs/step-log.schema.json").read_text()))


def validate(told: dict[str, Any]) -> None:
    """Nothing, where there is no jsonschema: test_step_log says so."""
    if VALIDATOR:
        VALIDATOR.validate(told)
