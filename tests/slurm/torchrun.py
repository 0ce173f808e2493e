#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for PYTHON in examples/slurm where there is no torch: python -m torch.distributed.run, as far as that job uses it.

Starts the ranks of this node with the variables that torchrun gives them, and exits with 1 if one of them fails.
"""
import argparse
import os
import subprocess
import sys


def main() -> int:
    """One process for each rank of this node."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-m", dest="module", required=True, choices=["torch.distributed.run"])
    parser.add_argument("--nnodes", type=int, required=True)
    parser.add_argument("--nproc-per-node", type=int, required=True)
    parser.add_argument("--master-addr", required=True)
    parser.add_argument("--master-port", type=int, required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    node, local = int(os.environ["PET_NODE_RANK"]), options.nproc_per_node
    ranks = [subprocess.Popen([sys.executable, *options.command], env={
        **os.environ, "RANK": str(node * local + k), "LOCAL_RANK": str(k), "GROUP_RANK": str(node), "LOCAL_WORLD_SIZE": str(local),
        "WORLD_SIZE": str(local * options.nnodes), "MASTER_ADDR": options.master_addr}) for k in range(local)]
    return int(any([rank.wait() for rank in ranks]))


if __name__ == "__main__":
    sys.exit(main())
