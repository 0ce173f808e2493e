# SPDX-License-Identifier: Apache-2.0
"""Six requests to a small network under torch.profiler without a schedule: a trace that has no ProfilerStep."""
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function


def main() -> None:
    """Writes the trace to the path on the command line."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256), nn.Softmax(dim=-1)).eval()
    request = torch.randn(64, 256)
    with torch.inference_mode(), profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(6):
            with record_function("request"):
                model(request)
    profiler.export_chrome_trace(sys.argv[1])


if __name__ == "__main__":
    main()
