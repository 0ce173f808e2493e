/* SPDX-License-Identifier: Apache-2.0
 * graph.h - what waits for what: one rank's steps as host nodes and device operations joined by max-plus links.
 *
 * Every instant is the latest of what it waits for:  t(v) = max over links u -> v of t(u) + weight.  Nodes lie in the order
 * in which they began, and every link points forward in that order, so one sweep over the nodes is a replay (replay.h).
 */
#ifndef HU_GRAPH_GRAPH_H
#define HU_GRAPH_GRAPH_H

#include "analyze/ask.h"

/* What a piece of time is: of a host node, of a device operation, or of a link.  The critical path consists of these. */
#define HU_CLASSES(C)                                                                   \
    C(DATA, "data_loader", "host: data loader")                                         \
    C(IO, "io", "host: files, checkpoints or network")                                  \
    C(LOCK, "lock", "host: lock waits")                                                 \
    C(SLEEP, "sleep", "host: sleep")                                                    \
    C(WAIT, "wait", "host: waits for another thread or process")                        \
    C(GC, "python_gc", "host: Python garbage collection")                               \
    C(HOST_COMM, "host_communication", "host: collectives")                             \
    C(OPERATOR, "operator", "host: operators")                                          \
    C(PYTHON, "python", "host: Python")                                                 \
    C(UNRECORDED, "unrecorded", "host: unrecorded")                                     \
    C(LAUNCH_CALL, "launch_call", "host: launch calls")                                 \
    C(SYNC_CALL, "sync_call", "host: sync calls, without the wait")                     \
    C(ALLOC_CALL, "memory_call", "host: device memory allocation")                      \
    C(COMPILE_CALL, "module_load", "host: loading or compiling GPU code")               \
    C(OTHER_CALL, "other_call", "host: other runtime calls")                            \
    C(COMPUTE, "compute", "GPU: compute")                                               \
    C(COMM, "communication", "GPU: communication")                                      \
    C(COPY, "copy", "GPU: memcpy and memset")                                           \
    C(LAUNCH, "launch_latency", "launch latency: launch to kernel start")               \
    C(GAP, "gap", "gap between two GPU operations of a stream")                         \
    C(EVENT, "event", "event wait between streams")                                     \
    C(RETURN, "return", "sync latency: end of the GPU work to return of the sync call") \
    C(HANDOFF, "handoff", "handoff between threads")                                    \
    C(INFERRED, "inferred", "wait inferred from timestamps")                            \
    C(FROZEN, "frozen", "unexplained delay")

typedef enum {
#define C(id, key, words) HU_CLASS_##id,
    HU_CLASSES(C)
#undef C
        HU_CLASS_COUNT
} hu_class;

#define HU_CLASS_BIT(id) (1u << HU_CLASS_##id)

/* In what a node lies, over and above its class. */
enum {
    HU_IN_DATA = 1,
    HU_IN_IO = 2,
    HU_IN_GC = 4,
    HU_IN_RECOMPUTE = 8, /* forward work that runs again in backward */
    HU_IN_FOCUS = 16,    /* an operator that the user asked about */
    HU_IN_COMPILE = 64,  /* code is compiled (Dynamo, Inductor, Triton), algorithms are tried, communicators are made */
    HU_IN_START = 128, /* a job starts or ends (MPI_Init, MPI_Finalize): nothing can hide that, and no rank is late for it */
    HU_IN_STALL = 32,  /* a pause that nothing explains, not one of every step */
};

/* Calls by what they do, for what calibration measures apart. */
/* clang-format off */
typedef enum {
    HU_CALL_NONE, HU_CALL_KERNEL, HU_CALL_GRAPH, HU_CALL_COPY, HU_CALL_SET, HU_CALL_SYNC, HU_CALL_ALLOC, HU_CALL_OTHER,
    HU_CALL_KINDS
} hu_call_kind;
/* clang-format on */

/* A piece of one host thread: a call, or the time between two of them that is of one class. */
typedef struct {
    int64_t  start_ns, seen_ns; /* as observed */
    int64_t  cost_ns;           /* what it takes when it does not wait */
    uint32_t lane;              /* host thread */
    uint32_t slice;             /* the call, or the innermost slice at its start; HU_NONE */
    uint32_t ops, n_ops;        /* the device operations that it launches: rows of `op` */
    uint32_t waits, n_waits;    /* its end waits for these: rows of `link` */
    uint32_t after;             /* its begin waits for this one: a row of `link`; HU_NONE */
    uint32_t merged;            /* it stands for several short ones of one kind: a row of `merged`; HU_NONE */
    uint8_t class, in, call;    /* hu_class, HU_IN_*, hu_call_kind */
} hu_node;

/* Short nodes on which nothing depended, in one (merge.c); each of them was shorter than 50 us. */
typedef struct {
    int64_t  run_ns, ready_ns; /* that their thread ran in them, and waited for a CPU */
    int64_t  preempted_ns;     /* of that, right behind running */
    int64_t  left_ns;          /* what hu_edit_small_slice_ns says of all of them; -1: they are no such calls */
    int64_t  calls, bytes;     /* of these */
    uint32_t n;
} hu_merged;

/* One piece of device work. */
typedef struct {
    int64_t  start_ns, cost_ns; /* as observed */
    int64_t  frozen_ns;         /* delay before its start that nothing explains */
    uint32_t slice, node, stream;
    uint32_t before;            /* the operation before it on its stream; HU_NONE */
    uint32_t deps, n_deps;      /* its start waits for these: rows of `link` */
    uint32_t full;              /* its launch returns only when this one has ended (full queue); HU_NONE */
    int32_t  launch_ns, gap_ns; /* weights of the links from its launch and from `before` */
    uint8_t class;
    bool    has_launch; /* it waits for its launch; not so inside of a graph */
    bool    in_graph;   /* one of several that one call launched, but not the first */
    int16_t step;       /* index of the window's step that launched it; -1 before */
} hu_op;

typedef struct {
    uint32_t from; /* a row of `op` or of `node` */
    int32_t  weight_ns;
    uint8_t  at; /* HU_AT_* */
    uint8_t class;
} hu_link;

enum { HU_AT_OP_END, HU_AT_OP_START, HU_AT_NODE_END };

/* A step of the window.  Which of its two ends counts is chosen over the whole window (replay.h). */
typedef struct {
    uint32_t mark;                /* the node that begins where the host's step ends; n_nodes: none */
    int64_t  host_end_ns, end_ns; /* as observed: by the host's mark, and that which counts */
} hu_mark;

/* What was measured in the trace, in ns. */
typedef struct {
    int64_t launch_ns[HU_CALL_KINDS]; /* from the start of a call to that of its work on an idle stream */
    int64_t gap_ns;                   /* back to back on one stream */
    int64_t most_gap_ns;              /* what it is at most: gap_ns where it was seen */
    bool    is_gap_seen;              /* else all work waited for its launch, or was alone, and gap_ns is a usual one */
    int64_t event_ns;                 /* from the end of work on one stream to that which waits on another */
    int64_t call_ns[HU_CALL_KINDS];   /* a call that does not wait: median */
    int64_t queue;                    /* operations of one stream that can be outstanding; 0: no limit seen */
    int64_t ops, local;               /* operations of known launch; how many start within 2 us of the model */
    int64_t inferred, frozen, unlaunched, event_links, wait_links;
    int64_t loader_waits;      /* for workers of the data loader, too few or too irregular to tell their pace */
    bool    has_loader_thread; /* a thread of the program makes the batches, at its own pace (loaders.c) */
    int64_t loader_threads;    /* how many such; 0: unknown */
    bool    loaders_wait;      /* for most of their time, for files, a network or a sleep: more of them need no CPU */
} hu_calibration;

/* What the edit of one finding did to the costs of this rank (effect.h), for replays of several ranks. */
typedef struct {
    uint64_t cause;   /* whoever found it says of what: the same number on all ranks */
    double   scatter; /* points by which its gain differs between the steps of this rank */
    hu_str   changes;
    uint8_t  edit;    /* hu_edit_kind */
    bool     is_told; /* this rank has words for it, and not only the time */
} hu_effect;

typedef struct {
    const hu_ask  *ask;
    hu_node       *node;
    hu_op         *op;
    hu_link       *link;
    size_t         n_nodes, n_ops, n_links;
    hu_merged     *merged; /* NULL in a copy */
    uint32_t       n_lanes, n_streams, main_lane;
    hu_mark       *mark; /* mark[0] ends what comes before the window; n_marks = steps + 1 */
    size_t         n_marks;
    int64_t        from_ns;   /* when the window begins */
    int64_t        shrunk_ns; /* by how much the GPU caught up with the host in the window, as observed */
    double         step_ns;   /* mean length of a step in the window, as observed */
    hu_calibration calibration;
    hu_effect     *effect; /* none unless they were asked for (hu_simulation.keeps_effects) */
    size_t         n_effects;
    double         covered;  /* share of the capture that the window is, where there are no steps; else 1 */
    bool           is_whole; /* no steps: the window is the capture, or its beginning */
    bool           is_first; /* the step before the window is not in the trace (hu_step) */
} hu_graph;

typedef struct {
    size_t max_slices; /* of more, short host calls are merged, or the window is cut; 0: HU_GRAPH_SLICES */
    hu_str focus;      /* glob of operators that get HU_IN_FOCUS; "" none */
    int    threads;    /* to check and to price on (simulation.h); 0 is 1 */
} hu_graph_options;

enum { HU_GRAPH_SLICES = 80000 };

/*
 * Builds the graph over the steps that count.  ask->steps must be known.  Everything lives in the arena of `ask`.
 * Returns 0, HU_ENOMEM, or HU_EUSAGE when the trace holds nothing that could be replayed.
 */
int hu_graph_build(const hu_ask *ask, const hu_graph_options *options, hu_graph *out, hu_error *err);

/*
 * The last operation that a node launched itself, a row of `ops`; HU_NONE when it launched none.  Work whose launch is not
 * known stands among the operations of a node too, and may be of any stream.
 */
static inline uint32_t hu_graph_own_op(const hu_op *ops, const hu_node *n)
{
    for (uint32_t i = n->ops + n->n_ops; i-- > n->ops;)
        if (ops[i].has_launch || ops[i].in_graph)
            return i;
    return HU_NONE;
}

/* The track of the main lane: lanes are the host's tracks in their order (lanes.c).  HU_NONE: the graph has no trace. */
uint32_t hu_graph_main_track(const hu_graph *g);

/* Is it what is left of a sleep when a child process has ended that its thread looks for between sleeps (looks.c)? */
bool hu_graph_is_look(const hu_graph *g, size_t node);

/* How many pieces of host time a node is. */
static inline uint32_t hu_graph_pieces(const hu_graph *g, const hu_node *n)
{
    return n->merged == HU_NONE || !g->merged ? 1 : g->merged[n->merged].n;
}

/* What a node takes, for rules about the length of one piece: those that were merged are all too short to be asked about. */
static inline int64_t hu_graph_piece_ns(const hu_node *n)
{
    return n->merged == HU_NONE ? n->cost_ns : 0;
}

/*
 * Do all numbers of rows lie in the graph, and does each thing wait only for what a sweep over the nodes computes before it
 * (replay.c)?  True of each graph that was built; what came from another process is asked.
 */
bool hu_graph_is_sound(const hu_graph *g);

/* A copy that outlives the trace: without `ask`, so that it can be replayed, but not be edited by name.  NULL: no memory. */
hu_graph *hu_graph_copy(const hu_graph *g, hu_arena *arena);

const char *hu_class_key(hu_class c);
const char *hu_class_words(hu_class c);

#endif
