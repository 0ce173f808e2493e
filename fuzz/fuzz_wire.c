/* SPDX-License-Identifier: Apache-2.0
 * fuzz_wire.c - packed results from a process that is out of its mind: refused, or as good as any others.
 *
 * A small trace is packed once.  The input says how that is spoilt: its first byte chooses digest, findings or graph, and
 * whether the rest replaces what comes behind the head, or is a list of changes (place, place, value).  So the corpus stays of use
 * when a struct gets a new field.  What is accepted must come out the same when it is packed and read again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "advise/findings_wire.h"
#include "analyze/digest_wire.h"
#include "graph/graph_wire.h"
#include "ingest/open.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { HEAD_BYTES = 16, MOST_BYTES = 1 << 20 };

/* clang-format off */
#define X(cat, name, pid, tid, ts, dur, args) \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":" ts ",\"dur\":" dur ",\"args\":{" args "}},"
/* clang-format on */

#define STEP(n, a, b, c, d, e, corr)                                                                                \
    X("user_annotation", "ProfilerStep#" n, "1", "1", a, "90", "")                                                  \
    X("cpu_op", "aten::mm", "1", "1", b, "20", "\"Input Dims\":[[8,8],[8,8]],\"Input type\":[\"float\",\"float\"]") \
    X("cuda_runtime", "cudaLaunchKernel", "1", "1", c, "5", "\"correlation\":" corr)                                \
    X("kernel", "sgemm", "0", "7", d, "30", "\"device\":0,\"stream\":7,\"correlation\":" corr)                      \
    X("cuda_runtime", "cudaStreamSynchronize", "1", "1", e, "9", "")

/* clang-format off */
static const char trace_text[] =
    "{\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H100 80GB HBM3\",\"numSms\":132}],\"distributedInfo\":{\"backend\":"
    "\"nccl\",\"rank\":1,\"world_size\":2},\"traceEvents\":["
    STEP("1", "100", "101", "105", "112", "150", "1") STEP("2", "200", "201", "205", "212", "250", "2")
    STEP("3", "300", "301", "305", "312", "350", "3") STEP("4", "400", "401", "405", "412", "450", "4")
    X("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", "0", "7", "445", "2", "\"bytes\":4096")
    X("kernel", "ncclDevKernel_AllReduce_Sum", "0", "8", "446", "3", "\"stream\":8,\"Collective name\":\"allreduce\"")
    "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":402,\"args\":{\"Addr\":1,\"Bytes\":64,\"Device Type\":1,\"Device Id\":0}}]}";
/* clang-format on */

typedef struct {
    hu_str digest, findings, graph;
} packed;

static packed make(hu_arena *arena)
{
    const hu_input_options options = {.limits = hu_limits_default()};
    hu_error               err = {0}, why = {0};
    hu_input              *in = hu_input_open_memory(HU_STR(trace_text), "fuzz", &options, &err);
    hu_builder            *b = in ? hu_open_input(in, &options, &err) : NULL;
    hu_trace              *t = b ? hu_builder_freeze(b, &err) : NULL;
    hu_digest             *d = t ? hu_digest_measure(t, &(hu_digest_options){.compat = HU_COMPAT_HTA}, &err) : NULL;
    hu_simulation         *s = t ? hu_simulation_new(t, NULL, NULL, &why) : NULL;
    hu_findings           *f = d ? hu_findings_measure(s, &why, d, &err) : NULL;
    packed                 p;

    if (!f || !s || hu_digest_pack(d, arena, &p.digest, &err) < 0 || hu_findings_pack(f, arena, &p.findings, &err) < 0 ||
        hu_graph_pack(&s->graph, arena, &p.graph, &err) < 0) {
        fprintf(stderr, "fuzz_wire: %s%s\n", err.text, why.text);
        abort();
    }
    hu_findings_free(f);
    hu_simulation_free(s);
    hu_digest_free(d);
    hu_trace_free(t);
    return p;
}

/* The good bytes as the input wants them. */
static hu_str spoil(hu_str good, const uint8_t *data, size_t n, bool replaces, char *out)
{
    if (replaces) {
        memcpy(out, good.p, HEAD_BYTES);
        memcpy(out + HEAD_BYTES, data, n);
        return (hu_str){out, HEAD_BYTES + n};
    }
    memcpy(out, good.p, good.n);
    for (size_t i = 0; i + 3 <= n; i += 3)
        out[HEAD_BYTES + (size_t)(data[i] | data[i + 1] << 8) % (good.n - HEAD_BYTES)] = (char)data[i + 2];
    return (hu_str){out, good.n};
}

static void check(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_wire: %s\n", what);
    abort();
}

static void read_digest(hu_str bytes, hu_arena *arena)
{
    hu_error   err = {0};
    hu_digest *d = hu_digest_unpack(bytes, &err), *e;
    hu_str     once, again;

    check(d || (err.code < 0 && err.text[0]), "a failure without words");
    if (!d)
        return;
    check(hu_digest_pack(d, arena, &once, &err) == 0, "what was accepted cannot be packed");
    e = hu_digest_unpack(once, &err);
    check(e && hu_digest_pack(e, arena, &again, &err) == 0 && hu_str_equal(once, again), "other bytes the second time");
    hu_digest_free(e);
    hu_digest_free(d);
}

static void read_findings(hu_str bytes, hu_arena *arena)
{
    hu_error     err = {0};
    hu_findings *f = hu_findings_unpack(bytes, &err), *e;
    hu_str       once, again;

    check(f || (err.code < 0 && err.text[0]), "a failure without words");
    if (!f)
        return;
    check(hu_findings_pack(f, arena, &once, &err) == 0, "what was accepted cannot be packed");
    e = hu_findings_unpack(once, &err);
    check(e && hu_findings_pack(e, arena, &again, &err) == 0 && hu_str_equal(once, again), "other bytes the second time");
    hu_findings_free(e);
    hu_findings_free(f);
}

static void read_graph(hu_str bytes, hu_arena *arena)
{
    hu_error  err = {0};
    hu_graph *g = hu_graph_unpack(bytes, arena, &err), *h;
    hu_str    once, again;

    check(g || (err.code < 0 && err.text[0]), "a failure without words");
    if (!g)
        return;
    check(hu_graph_pack(g, arena, &once, &err) == 0, "what was accepted cannot be packed");
    h = hu_graph_unpack(once, arena, &err);
    check(h && hu_graph_pack(h, arena, &again, &err) == 0 && hu_str_equal(once, again), "other bytes the second time");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static packed    good;
    static hu_arena *forever; /* of `good`: once for all inputs */
    hu_arena        *arena;
    char            *spoilt;
    hu_str           bytes;

    if (!forever) {
        forever = hu_arena_new();
        good = make(forever);
    }
    if (n < 1 || n > MOST_BYTES)
        return 0;
    arena = hu_arena_new();
    bytes = data[0] & 1 ? good.findings : data[0] & 4 ? good.graph : good.digest;
    spoilt = malloc(HEAD_BYTES + n + bytes.n);
    bytes = spoil(bytes, data + 1, n - 1, data[0] & 2, spoilt);
    if (data[0] & 1)
        read_findings(bytes, arena);
    else if (data[0] & 4)
        read_graph(bytes, arena);
    else
        read_digest(bytes, arena);
    free(spoilt);
    hu_arena_free(arena);
    return 0;
}
