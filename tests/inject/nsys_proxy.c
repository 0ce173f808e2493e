/* SPDX-License-Identifier: Apache-2.0
 * nsys_proxy.c - takes NVTX as the library that Nsight Systems preloads does: while it is loaded, for the tool in TOOL. */
#include <stdlib.h>

__attribute__((constructor)) static void load(void)
{
    setenv("NVTX_INJECTION64_PATH", getenv("TOOL"), 1);
}
