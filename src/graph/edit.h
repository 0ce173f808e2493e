/* SPDX-License-Identifier: Apache-2.0
 * edit.h - what could be different: each edit changes costs of a graph, and says so in one row that a person can read. */
#ifndef HU_GRAPH_EDIT_H
#define HU_GRAPH_EDIT_H

#include "graph/accumulation.h"
#include "graph/children.h"
#include "graph/drift.h"
#include "graph/host_work.h"
#include "graph/joined.h"
#include "graph/page_faults.h"
#include "graph/replay.h"
#include "graph/train_parts.h"
#include "graph/waited_children.h"

/* id, word on the command line, shape of its argument, what it means */
#define HU_EDITS(E)                                                                                 \
    E(DATA, "data", FACTOR, "data loader N times faster; =0: instant; =workers: overlapped")        \
    E(SYNC, "sync", OFF, "no waiting in sync calls")                                                \
    E(COPY, "copy", OFF, "instant copies to the GPU; =async: pinned, ahead of time")                \
    E(LAUNCH, "launch", FACTOR, "what launching costs the host, N times less; =graph: one launch")  \
    E(HOST, "host", FACTOR, "all host work N times faster")                                         \
    E(KERNEL, "kernel", GLOB, "kernels that match GLOB N times faster; =0: instant")                \
    E(OP, "op", GLOB, "operators that match GLOB, and their kernels, N times faster")               \
    E(COMM, "comm", FACTOR, "communication N times faster; =0: instant; =overlap: overlapped")      \
    E(BUCKET, "bucket", FACTOR, "N small messages merged into one; =0: all of a step")              \
    E(ALLOC, "alloc", OFF, "no calls that allocate or free device memory")                          \
    E(IO, "io", FACTOR, "no checkpoints, no waiting for files or the network")                      \
    E(SMALL_CALLS, "small-calls", OFF, "many small reads and writes of files go through a buffer")  \
    E(PAGE_FAULTS, "page-faults", OFF, "memory is kept and used again, not given back")             \
    E(PROCESSES, "processes", OFF, "no child processes that live for milliseconds")                 \
    E(LOCK, "lock", FACTOR, "no waiting for locks")                                                 \
    E(SLEEP, "sleep", FACTOR, "no sleeping")                                                        \
    E(THREADS, "threads", OFF, "threads that main joins compute evenly; one alone: half as long")   \
    E(TEAMS, "teams", OFF, "OpenMP threads of a team have equal work in each region")               \
    E(CHILD, "child", FACTOR, "child processes compute N times faster; =0: not at all")             \
    E(LOOKS, "looks", OFF, "a parent that looks for a child now and then waits for it")             \
    E(CHILDREN, "children", OFF, "child processes use the CPUs evenly; one alone: half as long")    \
    E(CPU, "cpu", OFF, "runnable threads get a CPU at once")                                        \
    E(GC, "gc", FACTOR, "no Python garbage collection")                                             \
    E(TENSOR, "tensor", OFF, "matmuls without tensor cores use them")                               \
    E(FUSE, "fuse", OFF, "consecutive elementwise kernels are fused")                               \
    E(RECOMPUTE, "recompute", FACTOR, "activations are kept, not recomputed")                       \
    E(CONTENTION, "contention", OFF, "kernels that overlap communication are not slowed down")      \
    E(CLOCK, "clock", OFF, "kernels run as fast as in the first steps")                             \
    E(COMPILE, "compile", OFF, "no loading or compiling of GPU code")                               \
    E(PROFILER, "profiler", OFF, "no profiler overhead")                                            \
    E(WORK, "work", GLOB, "long host work of this name N times faster; =0: gone")                   \
    E(UNRECORDED, "unrecorded", FACTOR, "long host time of which nothing was recorded")             \
    E(CAPTURE, "capture", OFF, "no capturing into CUDA graphs")                                     \
    E(BLOCKING, "blocking", OFF, "launches return before their kernel has ended")                   \
    E(PIN, "pin", OFF, "no calls that allocate, register or free pinned host memory")               \
    E(CASTS, "casts", OFF, "no copying or converting of tensors on the CPU")                        \
    E(OPTIMIZER, "optimizer", OFF, "no loop over parameters in optimizers on the CPU")              \
    E(VALIDATION, "validation", OFF, "no forward passes without a backward pass")                   \
    E(ACCUMULATE, "accumulate", OFF, "gradients reduced once in each step of the optimizer")        \
    E(STRAGGLER, "straggler", RANK, "all ranks: N matches the median of the others; =0: the worst") \
    E(BALANCE, "balance", OFF, "all ranks: the work before collectives is balanced")                \
    E(HICCUPS, "hiccups", OFF, "all ranks: nobody is late, all take the median before collectives") \
    E(NETWORK, "network", OFF, "all ranks: instant collectives once the last rank arrives")         \
    E(BANDWIDTH, "bandwidth", FACTOR, "all ranks: links N times as fast, same latency")             \
    E(LATENCY, "latency", FACTOR, "all ranks: latency of collectives divided by N")

typedef enum {
#define E(id, word, shape, about) HU_EDIT_##id,
    HU_EDITS(E)
#undef E
        HU_EDIT_KINDS
} hu_edit_kind;

/* How far: as if it cost nothing, or as the fix that people apply would; or with all that there may be only for its sake
   (of syncs: what the host does with the number; of reads and writes: what it does around them; of other edits as if it
   cost nothing). */
typedef enum { HU_EDIT_FREE, HU_EDIT_REALISTIC, HU_EDIT_WITH_USES } hu_edit_flavour;

typedef struct {
    hu_edit_kind    kind;
    hu_edit_flavour flavour;
    double          factor; /* > 1 is faster; INFINITY: no time at all */
    hu_str          glob;   /* of edits with a name (hu_edit_has_name), borrowed from the text */
    int64_t         rank;   /* of HU_EDIT_STRAGGLER; -1: the one that is worth most */
} hu_edit;

enum {
    HU_USUAL_TENSOR_FACTOR = 8, /* tensor cores over vector units, where a device's peaks are not known */
    HU_EDIT_GRAPH_NODE_NS = 700 /* host time of one kernel inside of a graph that is launched as one */
};

/* What edits need to know of a graph, found once. */
typedef struct hu_edit_facts hu_edit_facts;

/* Reads "data=0", "kernel:*gemm*x1.5", "comm=overlap", "launch/4" …  Returns 0, or HU_EUSAGE with the words that exist. */
int hu_edit_parse(const char *text, hu_edit *out, hu_error *err);

/* Facts live in `arena`; `tensor_factor` is how much faster tensor cores are than what is used now, 0 unknown.
   NULL when there is no memory. */
hu_edit_facts *hu_edit_facts_new(const hu_graph *g, double tensor_factor, hu_arena *arena);

/* The same facts with rooms of their own for edits to work in, so that threads can make edits at once.  Lives in `arena`, no
   longer than those that it comes from.  NULL when there is no memory. */
hu_edit_facts *hu_edit_facts_fork(const hu_edit_facts *facts, hu_arena *arena);

/* Does it need all ranks of a job?  It changes nothing in one alone (graph/joint_price.h). */
bool hu_edit_is_joint(hu_edit_kind kind);

/* Reductions of gradients that are not needed. */
const hu_accumulation *hu_edit_accumulation(const hu_edit_facts *facts);

/* Changes *c.  Returns how many nodes and operations it touched. */
size_t hu_edit_apply(const hu_edit_facts *facts, const hu_edit *edit, hu_costs *c);

/* Is it of something by name, so that `glob` says which? */
bool hu_edit_has_name(hu_edit_kind kind);

/* Time of the main thread in operators that only copy or convert, where no device works: ns of a node. */
int64_t hu_edit_casts_ns(const hu_edit_facts *facts, size_t node);

/* Time of a node in an optimizer's loop over parameters, and in forward passes without backward; and how many operators. */
int64_t               hu_edit_optimizer_ns(const hu_edit_facts *facts, size_t node);
int64_t               hu_edit_validation_ns(const hu_edit_facts *facts, size_t node);
const hu_train_parts *hu_edit_train_parts(const hu_edit_facts *facts);

/* Of a node in a collective of the host, what can be communication: the rest is waiting for other ranks; ns. */
int64_t hu_edit_message_ns(const hu_edit_facts *facts, size_t node);

/* Short child processes. */
const hu_children *hu_edit_children(const hu_edit_facts *facts);

/* Memory that the main thread touches anew. */
const hu_page_faults *hu_edit_page_faults(const hu_edit_facts *facts);

/* Are there host nodes in any of these (HU_IN_*), or of any of the classes? */
bool hu_edit_has_nodes(const hu_edit_facts *facts, uint8_t in, unsigned classes);

/* Does a host node read or write so little, so fast, that the call costs more than what it moves?  Then the time that is
   left of it with a buffer; else -1. */
int64_t hu_edit_small_call_ns(const hu_edit_facts *facts, size_t node);

/* That a node's thread lost its CPU in it and waited for one: ns that are no part of what it does. */
int64_t hu_edit_lost_cpu_ns(const hu_edit_facts *facts, size_t node);

/* May a call of this name be such a one? */
bool hu_edit_is_small_name(hu_str name);

/* The same of a recorded call of such a name, which takes `took_ns` where nobody else has the CPU. */
int64_t hu_edit_small_slice_ns(const hu_ask *ask, uint32_t slice, int64_t took_ns);

/* What host threads do between launches. */
const hu_host_work *hu_edit_host_work(const hu_edit_facts *facts);

/* Threads that the main thread waits for until they have ended. */
const hu_joined *hu_edit_joined(const hu_edit_facts *facts);

/* Child processes that compute. */
const hu_waited_children *hu_edit_waited_children(const hu_edit_facts *facts);

/* How much slower kernels are in the last steps than the same ones in the first. */
const hu_drift *hu_edit_drift(const hu_edit_facts *facts);

/* Does a collective send so little that its latency is what it costs? */
bool hu_edit_is_small_message(const hu_graph *g, uint32_t op);

/* Does the data loader wait for most of its time, in calls that were recorded?  Then its workers need no CPUs. */
bool hu_edit_loader_waits(const hu_graph *g);

enum {
    HU_EDIT_LOADERS = 4
}; /* workers or threads that a loader usually gets, where it needs no CPUs for them, or has them */

/* How many threads that make batches the usual fix leaves: of known ones, else 0. */
int64_t hu_edit_loader_threads(const hu_graph *g);

/* "data", "kernel" …; and the sentence for --list-edits. */
const char *hu_edit_word(hu_edit_kind kind);
const char *hu_edit_about(hu_edit_kind kind);
/* "data=0", "kernel:GLOBxN": how it is written. */
const char *hu_edit_shape(hu_edit_kind kind);

#endif
