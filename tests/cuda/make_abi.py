# SPDX-License-Identifier: Apache-2.0
"""Writes abi.h: what the stand-in needs of CUPTI's interface, from tables of facts (name, offset, size), in our own words.

    python3 -m tests.cuda.make_abi ../shared/oracle/gpu-abi tests/cuda/abi.h

For machines on which the vendor's headers cannot be fetched.  One version; tests/test_cuda_abi.py compares all others."""
from __future__ import annotations

import pathlib
import re
import sys

CUDA, VERSION, API = "13.0", 13000, 130001
STRUCTS = ("Kernel10", "Memcpy6", "MemcpyPtoP4", "Memset4", "API", "Synchronization2", "Overhead3", "GraphTrace2", "CudaEvent2", "Memory4", "Stream",
           "Context3", "Device5", "ExternalCorrelation", "")
TEXTS = ("name", "source")
ADDRESSES = ("overheadData", "pAccessPolicyWindow", "reserved0")
RUNTIME = {"cudaSetDevice_v3020": 16, "cudaGetDevice_v3020": 17, "cudaMalloc_v3020": 20, "cudaFree_v3020": 22, "cudaHostAlloc_v3020": 27,
           "cudaMemcpy_v3020": 31,
           "cudaMemcpyAsync_v3020": 41, "cudaMemsetAsync_v3020": 51, "cudaStreamSynchronize_v3020": 131, "cudaEventCreateWithFlags_v3020": 134,
           "cudaEventRecord_v3020": 135, "cudaEventSynchronize_v3020": 137, "cudaEventQuery_v3020": 138, "cudaStreamWaitEvent_v3020": 147, "cudaMemcpyPeerAsync_v4000": 161,
           "cudaDeviceReset_v3020": 164,
           "cudaDeviceSynchronize_v3020": 165, "cudaProfilerStart_v4000": 171, "cudaProfilerStop_v4000": 172, "cudaStreamCreateWithFlags_v5000": 198,
           "cudaLaunchKernel_v7000": 211, "cudaGraphLaunch_v10000": 311}
RESULTS = ("SUCCESS", "ERROR_INVALID_PARAMETER", "ERROR_INVALID_OPERATION", "ERROR_MAX_LIMIT_REACHED", "ERROR_NOT_COMPATIBLE",
           "ERROR_NOT_INITIALIZED",
           "ERROR_INVALID_KIND", "ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", "ERROR_UNKNOWN")
DRIVER = {"cuInit": 1, "cuModuleUnload": 22, "cuLaunchKernel": 307}
HEAD = f"""/* SPDX-License-Identifier: Apache-2.0
 * abi.h - the records of CUPTI {CUDA} on x86-64, from tables of facts by tests/cuda/make_abi.py, not by hand.
 *
 * A stand-in library that is compiled with it (-DOWN_ABI) answers as version {API}.  Bytes that no field has are called gap.
 */
#ifndef STANDIN_ABI_H
#define STANDIN_ABI_H

#include <stddef.h>
#include <stdint.h>

#define CUDA_VERSION {VERSION}
#define CUPTI_API_VERSION {API}
#define CUPTIAPI

typedef struct CUctx_st    *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct subscriber  *CUpti_SubscriberHandle;
typedef uint32_t            CUptiResult;
typedef uint32_t            CUpti_ActivityKind;
typedef uint32_t            CUpti_ActivityAttribute;
typedef uint32_t            CUpti_ActivityThreadIdType;
typedef uint32_t            CUpti_ExternalCorrelationKind;
typedef uint32_t            CUpti_CallbackDomain;
typedef uint32_t            CUpti_CallbackId;
typedef void (*CUpti_CallbackFunc)(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data);
typedef uint64_t (*CUpti_TimestampCallbackFunc)(void);
typedef void (*CUpti_BuffersCallbackRequestFunc)(uint8_t **buffer, size_t *size, size_t *records);
typedef void (*CUpti_BuffersCallbackCompleteFunc)(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* what a callback of a call gets: site 0 is entry, 1 is exit */
typedef struct {{
    uint32_t    callbackSite;
    const char *functionName;
    const void *functionParams;
    void       *functionReturnValue;
    const char *symbolName;
    CUcontext   context;
    uint32_t    contextUid;
    uint64_t   *correlationData;
    uint32_t    correlationId;
}} CUpti_CallbackData;

/* what a callback about a context, stream or module gets */
typedef struct {{
    CUcontext context;
    union {{
        CUstream stream;
    }} resourceHandle;
    void *resourceDescriptor;
}} CUpti_ResourceData;
"""


def struct(name: str, rows: list[tuple[str, int, int]], size: int) -> str:
    """Fields in order; of a union the first member."""
    lines, at = [], 0
    for n, (field, offset, width) in enumerate(rows):
        if offset > at:
            lines.append(f"    uint8_t gap{n}[{offset - at}];")
        kind = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}.get(width)
        if width == 8 and field in TEXTS:
            lines.append(f"    const char *{field};")
        elif width == 8 and field in ADDRESSES:
            lines.append(f"    void *{field};")
        elif kind:
            lines.append(f"    {kind} {field};")
        else:
            lines.append(f"    uint8_t {field}[{width}];")
        at = offset + width
    if size > at:
        lines.append(f"    uint8_t gap[{size - at}];")
    text = "\n".join(lines)
    return (f"/* {size} bytes */\ntypedef struct {{\n{text}\n}} __attribute__((packed, aligned(8))) {name};\n"
            f"_Static_assert(sizeof({name}) == {size}, \"{name}\");\n")


def number(cuda: str) -> tuple[int, ...]:
    return tuple(int(n) for n in cuda.split("."))


def facts(folder: pathlib.Path) -> dict[str, tuple[int, list[tuple[str, int, int]]]]:
    """The outermost fields of each struct of this version."""
    found: dict[str, tuple[int, list[tuple[str, int, int]]]] = {}
    for line in (folder / "cupti_layouts_compact.tsv").read_text().splitlines()[1:]:
        name, size, field, offset, width, first, last = line.split("\t")
        if not number(first) <= number(CUDA) <= number(last) or not re.fullmatch(r"\w+", field):
            continue
        rows = found.setdefault(name, (int(size), []))[1]
        if not rows or int(offset) >= rows[-1][1] + rows[-1][2]:
            rows.append((field, int(offset), int(width)))
    return found


def main(folder: pathlib.Path, out: pathlib.Path) -> None:
    known = facts(folder)
    parts = [HEAD]
    for short in STRUCTS:
        size, rows = known["CUpti_Activity" + short]
        parts.append(struct("CUpti_Activity" + short, rows, size))
    numbers = [line.split("\t") for line in (folder / "cupti_enums_compact.tsv").read_text().splitlines()[1:]]
    parts.append("enum {\n" + "".join(f"    {name} = {value},\n" for kind, name, value, first, last in numbers
                                      if kind == "CUptiResult" and name[6:] in RESULTS and number(first) <= number(CUDA) <= number(last)) + "};\n")
    parts.append("enum {\n" + "".join(f"    CUPTI_RUNTIME_TRACE_CBID_{name} = {value},\n" for name, value in RUNTIME.items()) +
                 "".join(f"    CUPTI_DRIVER_TRACE_CBID_{name} = {value},\n" for name, value in DRIVER.items()) + "};\n")
    out.write_text("\n".join(parts) + "\n#endif\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
