/* SPDX-License-Identifier: Apache-2.0
 * driver.c - loads a profiler as NCCL does, and tells it what NCCL would tell.
 *
 *     driver walk V            every kind of event of version V, every field with a value of its own
 *     driver many N            N events, newest version
 *     driver leak N            N events that nobody stops, then many that are
 *     driver closed V          the same calls after dlclose, and after finalize
 *     driver forked            events that a fork comes between
 *     driver stale             handles that name nothing: stopped twice, never given, of other processes
 *     driver mask              prints the mask at each line of stdin, a call before and after
 *     driver steps             prints the mask in each of four steps, a call in each
 *     driver ranks FILE RANK RANKS CALLS LATE VERSION     collectives of processes that meet in FILE; rank LATE sleeps before each
 *     driver halves            two processes of two communicators of two: both are rank 0 of theirs
 *     driver comms             two communicators: one per thread's device, and one of the job
 *     driver layout            where the declarations below have each field: version, name, offset, bytes
 *     driver cost N            nanoseconds of an event, by hand
 *
 * The declarations are own ones, written from the public layout (tests/test_nccl.py compares offsets with the facts).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "holdup_annotate.h"

/* What all versions say of network proxies. */
struct proxy_op {
    int32_t pid;
    uint8_t channel;
    int32_t peer, steps, chunk, is_send;
};
struct net {
    int64_t id;
    void   *data;
};

struct event1 {
    uint8_t type;
    void   *parent;
    int32_t rank;
    union {
        struct {
            const char *name;
            uint64_t    hash, seq;
            uint8_t     func;
            const void *send;
            void       *recv;
            uint64_t    count;
            int32_t     root;
            uint8_t     datatype;
            int32_t     op;
            uint64_t    traffic;
            uint8_t     channels, warps, algo, proto;
            int32_t     collnet, nvls;
        } coll;
        struct {
            const char *name;
            uint64_t    hash;
            uint8_t     func;
            void       *buff;
            uint8_t     datatype;
            uint64_t    count;
            int32_t     peer;
        } p2p;
        struct proxy_op op;
        int32_t         step;
    };
};
struct event2 {
    uint8_t type;
    void   *parent;
    int32_t rank;
    union {
        struct {
            const char *name;
            uint64_t    hash, seq;
            const char *func;
            const void *send;
            void       *recv;
            uint64_t    count;
            int32_t     root;
            const char *datatype;
            uint64_t    traffic;
            uint8_t     channels, warps;
            const char *algo, *proto;
        } coll;
        struct {
            const char *name;
            uint64_t    hash;
            const char *func;
            void       *buff;
            const char *datatype;
            uint64_t    count;
            int32_t     peer;
        } p2p;
        struct proxy_op op;
        int32_t         step;
    };
};
struct event3 {
    uint8_t type;
    void   *parent;
    int32_t rank;
    union {
        struct {
            const char *name;
            uint64_t    hash, seq;
            const char *func;
            const void *send;
            void       *recv;
            uint64_t    count;
            int32_t     root;
            const char *datatype;
            uint8_t     channels, warps;
            const char *algo, *proto;
        } coll;
        struct {
            const char *name;
            uint64_t    hash;
            const char *func;
            void       *buff;
            const char *datatype;
            uint64_t    count;
            int32_t     peer;
        } p2p;
        struct proxy_op op;
        int32_t         step;
        uint8_t         channel;
        struct net      net;
    };
};
struct event4 {
    uint8_t type;
    void   *parent;
    int32_t rank;
    union {
        struct {
            uint64_t    seq;
            const char *func;
            const void *send;
            void       *recv;
            uint64_t    count;
            int32_t     root;
            const char *datatype;
            uint8_t     channels, warps;
            const char *algo, *proto;
        } coll;
        struct {
            const char *func;
            void       *buff;
            const char *datatype;
            uint64_t    count;
            int32_t     peer;
            uint8_t     channels;
        } p2p;
        struct proxy_op op;
        int32_t         step;
        struct {
            uint8_t  channel;
            uint64_t timer;
        } kernel;
        struct net net;
    };
};
struct event6 { /* version 5 has all but the copies */
    uint64_t type;
    void    *parent;
    int32_t  rank;
    union {
        struct {
            uint8_t captured;
            int32_t depth;
        } group_api;
        struct {
            const char *func;
            uint64_t    count;
            const char *datatype;
            int32_t     root;
            void       *stream;
            uint8_t     captured;
        } coll_api;
        struct {
            const char *func;
            uint64_t    count;
            const char *datatype;
            void       *stream;
            uint8_t     captured;
        } p2p_api;
        struct {
            void *stream;
        } launch;
        struct {
            uint64_t    seq;
            const char *func;
            const void *send;
            void       *recv;
            uint64_t    count;
            int32_t     root;
            const char *datatype;
            uint8_t     channels, warps;
            const char *algo, *proto;
            void       *group;
        } coll;
        struct {
            const char *func;
            void       *buff;
            const char *datatype;
            uint64_t    count;
            int32_t     peer;
            uint8_t     channels;
            void       *group;
        } p2p;
        struct proxy_op op;
        int32_t         step;
        struct {
            uint8_t  channel;
            uint64_t timer;
        } kernel;
        struct net net;
        struct {
            uint64_t    seq;
            const char *func;
            const void *send;
            void       *recv;
            uint64_t    count;
            int32_t     root;
            const char *datatype;
            const char *strategy;
            uint8_t     intra;
            uint32_t    batch, batches, ce_seq;
            void       *stream;
        } ce;
        struct {
            uint8_t is_complete;
            int32_t ranks;
        } sync;
        struct {
            uint32_t ops;
            uint64_t bytes;
            uint8_t  intra;
        } batch;
    };
};
union arguments {
    struct {
        uint64_t bytes;
        int32_t  steps;
    } op;
    uint64_t bytes, timer;
    int32_t  appended;
    void    *data;
};

enum {
    GROUP = 1,
    COLL = 2,
    P2P = 4,
    OP = 8,
    STEP = 16,
    CTRL = 32,
    KERNEL = 64,
    NET = 128,
    GROUP_API = 256,
    COLL_API = 512,
    P2P_API = 1024,
    LAUNCH = 2048,
    CE_COLL = 4096,
    CE_SYNC = 8192,
    CE_BATCH = 16384
};

typedef int begin_1(void **, int *);
typedef int begin_4(void **, int *, const char *, uint64_t, int, int, int, void *);
typedef int begin_5(void **, uint64_t, int *, const char *, int, int, int, void *);

struct profiler {
    const char *name;
    void       *begin;
    int (*start)(void *, void **, const void *);
    int (*stop)(void *);
    int (*state)(void *, int, const void *);
    int (*end)(void *);
};

static struct profiler *prof;
static void            *library, *context;
static int              version, mask, rank_here = 3, ranks_here = 8;
static void (*on_launch)(void); /* of job.c: launches the kernel of a call */

static void check(int is_ok, const char *what)
{
    if (!is_ok) {
        fprintf(stderr, "driver: %s\n", what);
        exit(1);
    }
}

static void load(int wanted)
{
    char name[32];

    library = dlopen(getenv("NCCL_PROFILER_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
    check(library != NULL, "no plugin");
    for (version = wanted ? wanted : 6; version > 0; version--) {
        snprintf(name, sizeof name, "ncclProfiler_v%d", version);
        prof = dlsym(library, name);
        if (prof)
            break;
    }
    check(prof != NULL && (!wanted || version == wanted), "no such version");
}

static void begin_comm(uint64_t hash, const char *name, int nodes, int ranks, int rank)
{
    int rc;

    if (version <= 3)
        rc = ((begin_1 *)prof->begin)(&context, &mask);
    else if (version == 4)
        rc = ((begin_4 *)prof->begin)(&context, &mask, name, hash, nodes, ranks, rank, NULL);
    else
        rc = ((begin_5 *)prof->begin)(&context, hash, &mask, name, nodes, ranks, rank, NULL);
    check(rc == 0 && context != NULL, "init");
}

/* As NCCL: an event's handle is stopped where there is one. */
static void *start(const void *event)
{
    void *handle = (void *)0x5a5a;

    check(prof->start(context, &handle, event) == 0, "start");
    check(handle != (void *)0x5a5a, "a handle is set, or NULL");
    return handle;
}

static void stop(void *handle)
{
    if (handle)
        check(prof->stop(handle) == 0, "stop");
}

static void state(void *handle, int which, const void *arguments)
{
    if (handle)
        check(prof->state(handle, which, arguments) == 0, "state");
}

#define HEAD(e, what, above) ((e).type = (what), (e).parent = (above), (e).rank = rank_here)
#define EVENT(n, e, what, above) \
    struct event##n e;           \
    memset(&e, 0xee, sizeof e);  \
    HEAD(e, what, above)
#define ADDRESS(n) ((void *)(uintptr_t)(n))

static void proxies(void *parent)
{
    union arguments a;
    void           *op, *step, *ctrl;

#define FILL(n)                                                             \
    {                                                                       \
        EVENT(n, e, OP, parent);                                            \
        e.op = (struct proxy_op){getpid(), 17, 6, 23, 65536, 1};            \
        op = start(&e);                                                     \
        memset(&a, 0, sizeof a);                                            \
        a.op.bytes = 777001;                                                \
        a.op.steps = 19;                                                    \
        state(op, version <= 3 ? 2 : 19, version <= 3 ? (void *)&a : NULL); \
        HEAD(e, STEP, op);                                                  \
        e.step = 29;                                                        \
        step = start(&e);                                                   \
        a.bytes = 777002;                                                   \
        state(step, 9, version <= 3 ? NULL : (void *)&a);                   \
        stop(step);                                                         \
        stop(op);                                                           \
        HEAD(e, CTRL, NULL);                                                \
        ctrl = start(&e);                                                   \
        memset(&a, 0, sizeof a);                                            \
        a.appended = 31;                                                    \
        state(ctrl, 18, &a);                                                \
        stop(ctrl);                                                         \
    }
    if (version == 1)
        FILL(1) else if (version == 2) FILL(2) else if (version == 3) FILL(3) else if (version == 4) FILL(4) else FILL(6)
#undef FILL
}

static void kernel_and_net(void *parent)
{
    union arguments a = {.timer = 987654399};
    void           *kernel, *net;

    if (version < 3)
        return;
#define FILL(n, members)                                     \
    {                                                        \
        EVENT(n, e, KERNEL, parent);                         \
        members;                                             \
        kernel = start(&e);                                  \
        state(kernel, 22, version >= 4 ? (void *)&a : NULL); \
        stop(kernel);                                        \
        HEAD(e, NET, parent);                                \
        e.net = (struct net){65537, ADDRESS(0xabc123)};      \
        net = start(&e);                                     \
        a.data = ADDRESS(0xabc456);                          \
        state(net, 21, version >= 4 ? (void *)&a : NULL);    \
        stop(net);                                           \
    }
    if (version == 3)
        FILL(3, e.channel = 11)
    else if (version == 4)
        FILL(4, (e.kernel.channel = 11, e.kernel.timer = 987654321))
    else
        FILL(6, (e.kernel.channel = 11, e.kernel.timer = 987654321))
#undef FILL
}

static const char *temporary(const char *text) /* NCCL's texts need not outlive a call */
{
    static char room[16][64];
    static int  at;

    at = (at + 1) % 16;
    snprintf(room[at], sizeof room[at], "%s", text);
    return room[at];
}

static void walk_early(void)
{
    void *group = NULL, *coll = NULL, *p2p = NULL;

#define GROUP_OF(n)               \
    {                             \
        EVENT(n, e, GROUP, NULL); \
        group = start(&e);        \
    }
    if (version == 1)
        GROUP_OF(1) else if (version == 2) GROUP_OF(2) else if (version == 3) GROUP_OF(3) else GROUP_OF(4) if (version == 1)
        {
            EVENT(1, e, COLL, group);
            e.coll.name = temporary("world");
            e.coll.hash = 0xfeedface12345678;
            e.coll.seq = 41;
            e.coll.func = 4;
            e.coll.send = ADDRESS(0x7001000);
            e.coll.recv = ADDRESS(0x7002000);
            e.coll.count = 1048576;
            e.coll.root = 5;
            e.coll.datatype = 7;
            e.coll.op = 2;
            e.coll.traffic = 4444444;
            e.coll.channels = 24;
            e.coll.warps = 16;
            e.coll.algo = 1;
            e.coll.proto = 2;
            e.coll.collnet = 1;
            e.coll.nvls = 0;
            coll = start(&e);
            HEAD(e, P2P, group);
            e.p2p.name = temporary("world");
            e.p2p.hash = 0xfeedface12345678;
            e.p2p.func = 6;
            e.p2p.buff = ADDRESS(0x7003000);
            e.p2p.datatype = 9;
            e.p2p.count = 2048;
            e.p2p.peer = 4;
            p2p = start(&e);
        }
#define COLL_OF(n, more)                            \
    {                                               \
        EVENT(n, e, COLL, group);                   \
        more;                                       \
        e.coll.seq = 41;                            \
        e.coll.func = temporary("AllReduce");       \
        e.coll.send = ADDRESS(0x7001000);           \
        e.coll.recv = ADDRESS(0x7002000);           \
        e.coll.count = 1048576;                     \
        e.coll.root = 5;                            \
        e.coll.datatype = temporary("ncclFloat32"); \
        e.coll.channels = 24;                       \
        e.coll.warps = 16;                          \
        e.coll.algo = temporary("RING");            \
        e.coll.proto = temporary("SIMPLE");         \
        coll = start(&e);                           \
    }
#define P2P_OF(n, more)                             \
    {                                               \
        EVENT(n, e, P2P, group);                    \
        more;                                       \
        e.p2p.func = temporary("Send");             \
        e.p2p.buff = ADDRESS(0x7003000);            \
        e.p2p.datatype = temporary("ncclBfloat16"); \
        e.p2p.count = 2048;                         \
        e.p2p.peer = 4;                             \
        p2p = start(&e);                            \
    }
    if (version == 2) {
        COLL_OF(2, (e.coll.name = temporary("world"), e.coll.hash = 0xfeedface12345678, e.coll.traffic = 4444444))
        P2P_OF(2, (e.p2p.name = temporary("world"), e.p2p.hash = 0xfeedface12345678))
    } else if (version == 3) {
        COLL_OF(3, (e.coll.name = temporary("world"), e.coll.hash = 0xfeedface12345678))
        P2P_OF(3, (e.p2p.name = temporary("world"), e.p2p.hash = 0xfeedface12345678))
    } else if (version == 4) {
        COLL_OF(4, (void)0)
        P2P_OF(4, (e.p2p.channels = 7))
    }
    stop(coll);
    stop(p2p);
    stop(group);
    proxies(coll);
    kernel_and_net(coll);
}

/* One call of a group of its own, as version 5 and 6 tell it. */
static void *call(const char *func, uint64_t seq, int is_captured, void **coll_of_call)
{
    void *group, *call_, *launch, *task, *coll;
    EVENT(6, e, GROUP_API, NULL);

    e.group_api.captured = (uint8_t)is_captured;
    e.group_api.depth = 1;
    group = start(&e);
    state(group, 23, NULL);
    HEAD(e, COLL_API, group);
    e.coll_api.func = temporary(func);
    e.coll_api.count = 1048576;
    e.coll_api.datatype = temporary("ncclFloat32");
    e.coll_api.root = 5;
    e.coll_api.stream = ADDRESS(0x5001);
    e.coll_api.captured = (uint8_t)is_captured;
    call_ = start(&e);
    stop(call_);
    state(group, 24, NULL);
    HEAD(e, LAUNCH, group);
    e.launch.stream = ADDRESS(0x5001);
    launch = start(&e);
    if (on_launch)
        on_launch();
    stop(launch);
    HEAD(e, GROUP, NULL);
    task = start(&e);
    memset(&e, 0xee, sizeof e);
    HEAD(e, COLL, call_);
    e.coll.seq = seq;
    e.coll.func = temporary(func);
    e.coll.send = ADDRESS(0x7001000);
    e.coll.recv = ADDRESS(0x7002000);
    e.coll.count = 1048576;
    e.coll.root = 5;
    e.coll.datatype = temporary("ncclFloat32");
    e.coll.channels = 24;
    e.coll.warps = 16;
    e.coll.algo = temporary("RING");
    e.coll.proto = temporary("SIMPLE");
    e.coll.group = task;
    coll = start(&e);
    stop(coll);
    stop(task);
    stop(group);
    if (coll_of_call)
        *coll_of_call = coll;
    return call_;
}

static void walk_late(void)
{
    void                    *coll, *group, *sends[2], *task, *p2p, *ce, *part;
    static const char *const messages[] = {"Send", "Recv"};

    call("AllReduce", 41, 0, &coll);
    proxies(coll);
    kernel_and_net(coll);
    {
        EVENT(6, e, GROUP_API, NULL);
        e.group_api.captured = 0;
        e.group_api.depth = 2;
        group = start(&e);
        for (int i = 0; i < 2; i++) {
            HEAD(e, P2P_API, group);
            e.p2p_api.func = temporary(messages[i]);
            e.p2p_api.count = 2048;
            e.p2p_api.datatype = temporary("ncclBfloat16");
            e.p2p_api.stream = ADDRESS(0x5002);
            e.p2p_api.captured = 0;
            sends[i] = start(&e);
            stop(sends[i]);
        }
        HEAD(e, GROUP, NULL);
        task = start(&e);
        for (int i = 0; i < 2; i++) {
            HEAD(e, P2P, sends[i]);
            e.p2p.func = temporary(messages[i]);
            e.p2p.buff = ADDRESS(0x7003000);
            e.p2p.datatype = temporary("ncclBfloat16");
            e.p2p.count = 2048;
            e.p2p.peer = 4;
            e.p2p.channels = 7;
            e.p2p.group = task;
            p2p = start(&e);
            stop(p2p);
        }
        stop(task);
        stop(group);
    }
    if (version < 6)
        return;
    {
        EVENT(6, e, CE_COLL, NULL);
        e.ce.seq = 43;
        e.ce.func = temporary("AllGather");
        e.ce.send = ADDRESS(0x7004000);
        e.ce.recv = ADDRESS(0x7005000);
        e.ce.count = 4096;
        e.ce.root = 0;
        e.ce.datatype = temporary("ncclInt8");
        e.ce.strategy = temporary("unicast");
        e.ce.intra = 1;
        e.ce.batch = 37;
        e.ce.batches = 3;
        e.ce.ce_seq = 53;
        e.ce.stream = ADDRESS(0x5003);
        ce = start(&e);
        state(ce, 25, NULL);
        HEAD(e, CE_SYNC, ce);
        e.sync.is_complete = 1;
        e.sync.ranks = 8;
        part = start(&e);
        stop(part);
        HEAD(e, CE_BATCH, ce);
        e.batch.ops = 59;
        e.batch.bytes = 6161616;
        e.batch.intra = 1;
        part = start(&e);
        stop(part);
        state(ce, 26, NULL);
        stop(ce);
    }
}

static void walk(void)
{
    if (version <= 4)
        walk_early();
    else
        walk_late();
}

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void many(long n)
{
    for (long i = 0; i < n; i++) {
        EVENT(6, e, COLL_API, NULL);
        e.coll_api.func = "AllReduce";
        e.coll_api.count = (uint64_t)i;
        e.coll_api.datatype = "ncclFloat32";
        e.coll_api.root = 0;
        e.coll_api.stream = NULL;
        e.coll_api.captured = 0;
        stop(start(&e));
    }
}

static void nothing_happens(void)
{
    EVENT(6, e, COLL_API, NULL);
    static const uintptr_t handles[] = {1, 4096, 0x5a5a, UINTPTR_MAX, UINT64_C(1) << 48, UINT64_C(0x7fff12345678)};
    void                  *twice;

    e.coll_api.func = "AllReduce";
    e.coll_api.count = 1;
    e.coll_api.datatype = "ncclFloat32";
    e.coll_api.root = 0;
    e.coll_api.stream = NULL;
    e.coll_api.captured = 0;
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++) {
        check(prof->stop(ADDRESS(handles[i])) == 0, "stop of nothing");
        check(prof->state(ADDRESS(handles[i]), 19, NULL) == 0, "state of nothing");
    }
    check(prof->stop(NULL) == 0 && prof->end(NULL) == 0 && prof->end(ADDRESS(123456)) == 0, "nothing at all");
    twice = start(&e);
    stop(twice);
    stop(twice);
    HEAD(e, 3, NULL); /* two bits */
    check(start(&e) == NULL, "two kinds");
    HEAD(e, UINT64_C(1) << 40, NULL);
    check(start(&e) == NULL, "a kind to come");
    HEAD(e, 0, NULL);
    check(start(&e) == NULL, "no kind");
}

/* The meeting place of processes: each waits until all have come. */
struct meeting {
    pthread_barrier_t barrier;
    int               is_ready;
};

static void ranks(const char *file, int rank, int n, int calls, int late)
{
    const int       fd = open(file, O_RDWR | O_CREAT, 0600);
    struct meeting *m;
    char            name[] = "world";

    check(fd >= 0 && ftruncate(fd, sizeof *m) == 0, "file");
    m = mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(m != MAP_FAILED, "map");
    if (rank == 0) {
        pthread_barrierattr_t shared;

        pthread_barrierattr_init(&shared);
        pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
        pthread_barrier_init(&m->barrier, &shared, (unsigned)n);
        __atomic_store_n(&m->is_ready, 1, __ATOMIC_RELEASE);
    }
    while (!__atomic_load_n(&m->is_ready, __ATOMIC_ACQUIRE))
        usleep(1000);
    rank_here = rank;
    ranks_here = n;
    begin_comm(0xc0ffee, name, 1, n, rank);
    pthread_barrier_wait(&m->barrier);
    for (int i = 0; i < calls; i++) {
        static const char *const functions[] = {"AllReduce", "AllGather"};
        void                    *coll, *kernel;

        if (rank == late)
            usleep(150000);
        call(functions[i % 3 == 2], (uint64_t)(i % 3 == 2 ? i / 3 : i - i / 3), 0, &coll);
        {
            EVENT(6, e, KERNEL, coll);
            e.kernel.channel = 0;
            e.kernel.timer = 1;
            kernel = start(&e);
            pthread_barrier_wait(&m->barrier); /* the collective */
            usleep(2000);
            stop(kernel);
        }
    }
    check(prof->end(context) == 0, "end");
}

static int forked(void)
{
    EVENT(6, e, COLL_API, NULL);
    void *before, *after;
    int   status;
    pid_t child;

    e.coll_api.func = "AllReduce";
    e.coll_api.count = 11;
    e.coll_api.datatype = "ncclFloat32";
    e.coll_api.root = 0;
    e.coll_api.stream = NULL;
    e.coll_api.captured = 0;
    before = start(&e);
    child = fork();
    if (child == 0) {
        stop(before); /* the parent's */
        e.coll_api.func = "Broadcast";
        after = start(&e);
        check(after != before, "a number of its own");
        stop(after);
        check(prof->end(context) == 0, "end");
        exit(0);
    }
    check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "child");
    stop(before);
    return 0;
}

/* clang-format off */
static void print_layout(void)
{
#define ROW(v, member, name) printf("%d\t%s\t%zu\t%zu\n", v, name, offsetof(struct event##v, member), sizeof(((struct event##v *)0)->member));
    ROW(1, type, "type")
    ROW(1, parent, "parentObj")
    ROW(1, rank, "rank")
    ROW(1, coll.name, "coll.name")
    ROW(1, coll.hash, "coll.commHash")
    ROW(1, coll.seq, "coll.seqNumber")
    ROW(1, coll.func, "coll.func")
    ROW(1, coll.send, "coll.sendBuff")
    ROW(1, coll.recv, "coll.recvBuff")
    ROW(1, coll.count, "coll.count")
    ROW(1, coll.root, "coll.root")
    ROW(1, coll.datatype, "coll.datatype")
    ROW(1, coll.op, "coll.op")
    ROW(1, coll.traffic, "coll.trafficBytes")
    ROW(1, coll.channels, "coll.nMaxChannels")
    ROW(1, coll.warps, "coll.nWarps")
    ROW(1, coll.algo, "coll.algo")
    ROW(1, coll.proto, "coll.proto")
    ROW(1, coll.collnet, "coll.isCollnet")
    ROW(1, coll.nvls, "coll.isNvls")
    ROW(1, p2p.name, "p2p.name")
    ROW(1, p2p.hash, "p2p.commHash")
    ROW(1, p2p.func, "p2p.func")
    ROW(1, p2p.buff, "p2p.buff")
    ROW(1, p2p.datatype, "p2p.datatype")
    ROW(1, p2p.count, "p2p.count")
    ROW(1, p2p.peer, "p2p.peer")
    ROW(1, op.pid, "proxyOp.pid")
    ROW(1, op.channel, "proxyOp.channelId")
    ROW(1, op.peer, "proxyOp.peer")
    ROW(1, op.steps, "proxyOp.nSteps")
    ROW(1, op.chunk, "proxyOp.chunkSize")
    ROW(1, op.is_send, "proxyOp.isSend")
    ROW(1, step, "proxyStep.step")
    ROW(2, type, "type")
    ROW(2, parent, "parentObj")
    ROW(2, rank, "rank")
    ROW(2, coll.name, "coll.name")
    ROW(2, coll.hash, "coll.commHash")
    ROW(2, coll.seq, "coll.seqNumber")
    ROW(2, coll.func, "coll.func")
    ROW(2, coll.send, "coll.sendBuff")
    ROW(2, coll.recv, "coll.recvBuff")
    ROW(2, coll.count, "coll.count")
    ROW(2, coll.root, "coll.root")
    ROW(2, coll.datatype, "coll.datatype")
    ROW(2, coll.traffic, "coll.trafficBytes")
    ROW(2, coll.channels, "coll.nMaxChannels")
    ROW(2, coll.warps, "coll.nWarps")
    ROW(2, coll.algo, "coll.algo")
    ROW(2, coll.proto, "coll.proto")
    ROW(2, p2p.name, "p2p.name")
    ROW(2, p2p.hash, "p2p.commHash")
    ROW(2, p2p.func, "p2p.func")
    ROW(2, p2p.buff, "p2p.buff")
    ROW(2, p2p.datatype, "p2p.datatype")
    ROW(2, p2p.count, "p2p.count")
    ROW(2, p2p.peer, "p2p.peer")
    ROW(2, op.pid, "proxyOp.pid")
    ROW(2, op.channel, "proxyOp.channelId")
    ROW(2, op.peer, "proxyOp.peer")
    ROW(2, op.steps, "proxyOp.nSteps")
    ROW(2, op.chunk, "proxyOp.chunkSize")
    ROW(2, op.is_send, "proxyOp.isSend")
    ROW(2, step, "proxyStep.step")
    ROW(3, type, "type")
    ROW(3, parent, "parentObj")
    ROW(3, rank, "rank")
    ROW(3, coll.name, "coll.name")
    ROW(3, coll.hash, "coll.commHash")
    ROW(3, coll.seq, "coll.seqNumber")
    ROW(3, coll.func, "coll.func")
    ROW(3, coll.send, "coll.sendBuff")
    ROW(3, coll.recv, "coll.recvBuff")
    ROW(3, coll.count, "coll.count")
    ROW(3, coll.root, "coll.root")
    ROW(3, coll.datatype, "coll.datatype")
    ROW(3, coll.channels, "coll.nMaxChannels")
    ROW(3, coll.warps, "coll.nWarps")
    ROW(3, coll.algo, "coll.algo")
    ROW(3, coll.proto, "coll.proto")
    ROW(3, p2p.name, "p2p.name")
    ROW(3, p2p.hash, "p2p.commHash")
    ROW(3, p2p.func, "p2p.func")
    ROW(3, p2p.buff, "p2p.buff")
    ROW(3, p2p.datatype, "p2p.datatype")
    ROW(3, p2p.count, "p2p.count")
    ROW(3, p2p.peer, "p2p.peer")
    ROW(3, op.pid, "proxyOp.pid")
    ROW(3, op.channel, "proxyOp.channelId")
    ROW(3, op.peer, "proxyOp.peer")
    ROW(3, op.steps, "proxyOp.nSteps")
    ROW(3, op.chunk, "proxyOp.chunkSize")
    ROW(3, op.is_send, "proxyOp.isSend")
    ROW(3, step, "proxyStep.step")
    ROW(3, channel, "kernelCh.channelId")
    ROW(3, net.id, "netPlugin.id")
    ROW(3, net.data, "netPlugin.data")
    ROW(4, type, "type")
    ROW(4, parent, "parentObj")
    ROW(4, rank, "rank")
    ROW(4, coll.seq, "coll.seqNumber")
    ROW(4, coll.func, "coll.func")
    ROW(4, coll.send, "coll.sendBuff")
    ROW(4, coll.recv, "coll.recvBuff")
    ROW(4, coll.count, "coll.count")
    ROW(4, coll.root, "coll.root")
    ROW(4, coll.datatype, "coll.datatype")
    ROW(4, coll.channels, "coll.nChannels")
    ROW(4, coll.warps, "coll.nWarps")
    ROW(4, coll.algo, "coll.algo")
    ROW(4, coll.proto, "coll.proto")
    ROW(4, p2p.func, "p2p.func")
    ROW(4, p2p.buff, "p2p.buff")
    ROW(4, p2p.datatype, "p2p.datatype")
    ROW(4, p2p.count, "p2p.count")
    ROW(4, p2p.peer, "p2p.peer")
    ROW(4, p2p.channels, "p2p.nChannels")
    ROW(4, op.pid, "proxyOp.pid")
    ROW(4, op.channel, "proxyOp.channelId")
    ROW(4, op.peer, "proxyOp.peer")
    ROW(4, op.steps, "proxyOp.nSteps")
    ROW(4, op.chunk, "proxyOp.chunkSize")
    ROW(4, op.is_send, "proxyOp.isSend")
    ROW(4, step, "proxyStep.step")
    ROW(4, kernel.channel, "kernelCh.channelId")
    ROW(4, kernel.timer, "kernelCh.pTimer")
    ROW(4, net.id, "netPlugin.id")
    ROW(4, net.data, "netPlugin.data")
    ROW(6, type, "type")
    ROW(6, parent, "parentObj")
    ROW(6, rank, "rank")
    ROW(6, coll.seq, "coll.seqNumber")
    ROW(6, coll.func, "coll.func")
    ROW(6, coll.send, "coll.sendBuff")
    ROW(6, coll.recv, "coll.recvBuff")
    ROW(6, coll.count, "coll.count")
    ROW(6, coll.root, "coll.root")
    ROW(6, coll.datatype, "coll.datatype")
    ROW(6, coll.channels, "coll.nChannels")
    ROW(6, coll.warps, "coll.nWarps")
    ROW(6, coll.algo, "coll.algo")
    ROW(6, coll.proto, "coll.proto")
    ROW(6, coll.group, "coll.parentGroup")
    ROW(6, p2p.func, "p2p.func")
    ROW(6, p2p.buff, "p2p.buff")
    ROW(6, p2p.datatype, "p2p.datatype")
    ROW(6, p2p.count, "p2p.count")
    ROW(6, p2p.peer, "p2p.peer")
    ROW(6, p2p.channels, "p2p.nChannels")
    ROW(6, p2p.group, "p2p.parentGroup")
    ROW(6, op.pid, "proxyOp.pid")
    ROW(6, op.channel, "proxyOp.channelId")
    ROW(6, op.peer, "proxyOp.peer")
    ROW(6, op.steps, "proxyOp.nSteps")
    ROW(6, op.chunk, "proxyOp.chunkSize")
    ROW(6, op.is_send, "proxyOp.isSend")
    ROW(6, step, "proxyStep.step")
    ROW(6, kernel.channel, "kernelCh.channelId")
    ROW(6, kernel.timer, "kernelCh.pTimer")
    ROW(6, net.id, "netPlugin.id")
    ROW(6, net.data, "netPlugin.data")
    ROW(6, group_api.captured, "groupApi.graphCaptured")
    ROW(6, group_api.depth, "groupApi.groupDepth")
    ROW(6, coll_api.func, "collApi.func")
    ROW(6, coll_api.count, "collApi.count")
    ROW(6, coll_api.datatype, "collApi.datatype")
    ROW(6, coll_api.root, "collApi.root")
    ROW(6, coll_api.stream, "collApi.stream")
    ROW(6, coll_api.captured, "collApi.graphCaptured")
    ROW(6, p2p_api.func, "p2pApi.func")
    ROW(6, p2p_api.count, "p2pApi.count")
    ROW(6, p2p_api.datatype, "p2pApi.datatype")
    ROW(6, p2p_api.stream, "p2pApi.stream")
    ROW(6, p2p_api.captured, "p2pApi.graphCaptured")
    ROW(6, launch.stream, "kernelLaunch.stream")
    ROW(6, ce.seq, "ceColl.seqNumber")
    ROW(6, ce.func, "ceColl.func")
    ROW(6, ce.send, "ceColl.sendBuff")
    ROW(6, ce.recv, "ceColl.recvBuff")
    ROW(6, ce.count, "ceColl.count")
    ROW(6, ce.root, "ceColl.root")
    ROW(6, ce.datatype, "ceColl.datatype")
    ROW(6, ce.strategy, "ceColl.syncStrategy")
    ROW(6, ce.intra, "ceColl.intraBatchSync")
    ROW(6, ce.batch, "ceColl.batchSize")
    ROW(6, ce.batches, "ceColl.numBatches")
    ROW(6, ce.ce_seq, "ceColl.ceSeqNum")
    ROW(6, ce.stream, "ceColl.stream")
    ROW(6, sync.is_complete, "ceCollSync.isComplete")
    ROW(6, sync.ranks, "ceCollSync.nRanks")
    ROW(6, batch.ops, "ceCollBatch.numOps")
    ROW(6, batch.bytes, "ceCollBatch.totalBytes")
    ROW(6, batch.intra, "ceCollBatch.useIntraSync")
#undef ROW
}
/* clang-format on */

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    const long  number = argc > 2 ? atol(argv[2]) : 0;

    if (strcmp(mode, "layout") == 0) {
        print_layout();
        return 0;
    }
    if (strcmp(mode, "ranks") == 0) {
        load(argc > 7 ? atoi(argv[7]) : 0);
        ranks(argv[2], atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), atoi(argv[6]));
        return 0;
    }
    if (strcmp(mode, "halves") == 0) {
        const pid_t child = fork();
        int         status;

        load(0);
        begin_comm(child ? 0x11 : 0x22, "half", 1, 2, 0);
        many(3);
        return child && (waitpid(child, &status, 0) != child || status != 0);
    }
    load(strcmp(mode, "walk") == 0 || strcmp(mode, "closed") == 0 ? (int)number : 0);
    begin_comm(0xfeedface12345678, "world", 2, ranks_here, rank_here);
    if (strcmp(mode, "walk") == 0) {
        printf("version %d mask %d\n", version, mask);
        walk();
    } else if (strcmp(mode, "many") == 0) {
        many(number);
    } else if (strcmp(mode, "leak") == 0) {
        EVENT(6, e, COLL_API, NULL);
        e.coll_api.func = "Broadcast";
        e.coll_api.count = 1;
        e.coll_api.datatype = "ncclFloat32";
        e.coll_api.root = 0;
        e.coll_api.stream = NULL;
        e.coll_api.captured = 0;
        for (long i = 0; i < number; i++)
            (void)start(&e);
        many(50000);
        stop(start(&e));
    } else if (strcmp(mode, "closed") == 0) {
        walk();
        check(prof->end(context) == 0, "end");
        check(dlclose(library) == 0, "dlclose");
        walk();
        nothing_happens();
    } else if (strcmp(mode, "forked") == 0) {
        return forked();
    } else if (strcmp(mode, "stale") == 0) {
        nothing_happens();
    } else if (strcmp(mode, "mask") == 0) {
        char line[64];

        printf("%d\n", mask);
        fflush(stdout);
        while (fgets(line, sizeof line, stdin)) {
            call("AllReduce", 1, 0, NULL);
            printf("%d\n", mask);
            fflush(stdout);
        }
    } else if (strcmp(mode, "steps") == 0) {
        for (int i = 0; i < 4; i++) {
            holdup_step();
            printf("%d\n", mask);
            call("AllReduce", (uint64_t)i, 0, NULL);
        }
    } else if (strcmp(mode, "comms") == 0) {
        begin_comm(0xbeef, "pair", 1, 2, 1);
        begin_comm(0xfeedface12345678, "world", 2, ranks_here, rank_here + 1);
    } else if (strcmp(mode, "cost") == 0) {
        double least = 1e9;

        for (int round = 0; round < 100; round++) {
            const double from = cpu_seconds();
            double       one;

            many(number);
            one = 1e9 * (cpu_seconds() - from) / (double)number;
            least = one < least ? one : least;
            usleep(2000); /* the rings are emptied meanwhile */
        }
        printf("%.1f\n", least);
        return 0;
    } else {
        fprintf(stderr, "driver: what?\n");
        return 2;
    }
    if (strcmp(mode, "closed") != 0)
        check(prof->end(context) == 0, "end");
    return 0;
}
