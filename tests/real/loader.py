# SPDX-License-Identifier: Apache-2.0
"""A small training on the CPU whose samples take 5 ms each to make, in the main process."""
import time

import torch


class Slow(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, i: int) -> torch.Tensor:
        time.sleep(0.005)
        return torch.full((8,), float(i))


model = torch.nn.Linear(8, 1)
for batch in torch.utils.data.DataLoader(Slow(), batch_size=8):
    model(batch).sum().backward()
print("done")
