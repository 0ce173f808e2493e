/* SPDX-License-Identifier: Apache-2.0
 * device.c - a stand-in for libcuda: a device with streams, in real time.
 *
 * Work has a planned length.  It begins after its launch has arrived, after the work before it on its stream, and after the events
 * and ranks that it waits for; so all instants are computed, and are exact.  What cannot be known yet (another rank has not come)
 * stays in the queue.  A thread reports what is over, and each call that waits sleeps until its instant.
 *
 *     STANDIN_DEVICES=0        cuInit answers 100; else how many boards there are.  CUDA_VISIBLE_DEVICES says which of them are devices:
 *                              their numbers, or a word for each part of board 0 (MIG-...)
 *     STANDIN_UUID=record      records of devices have no UUID; none: nor does the driver tell them
 *     STANDIN_HIDDEN=1         there are records of boards that are no devices, with the number that nvidia-smi has
 *     STANDIN_INIT=803         cuInit answers this, after it has called the injected library
 *     STANDIN_WORLD=file       memory that ranks share, of RANK and WORLD_SIZE
 *     STANDIN_LATENCY=12700    ns from launch to begin; STANDIN_GAP=1000 between kernels, STANDIN_LAUNCH=6700 for the call itself
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "device.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BOARDS = 8, STREAMS = 64, EVENTS = 4096, QUEUE = 1022, MEETINGS = 4096, RANKS = 64, NEVER = -1 };

typedef struct {
    standin_op op;
    int64_t    arrives, length, meeting; /* meeting: its number, or NEVER */
    int        waits_for, makes;         /* events */
    uint64_t   waits_turn;               /* which recording of the event */
    bool       placed;                   /* its instants are known */
} work;

typedef struct {
    work     queue[QUEUE + 2];
    uint64_t added, placed, reported; /* counts: of the work that was ever added */
    int64_t  ends;                    /* of the last work that is placed */
    int      priority;
    bool     used;
} stream;

typedef struct {
    uint64_t turn, done_turn; /* recorded so often, placed so often */
    int64_t  at;
    int      on;
} event;

/* memory of all ranks: when each has come to each meeting, 0: not yet */
typedef struct {
    _Atomic int64_t came[MEETINGS][RANKS];
} world;

static pthread_mutex_t         lock = PTHREAD_MUTEX_INITIALIZER;
static stream                  streams[STREAMS];
static event                   events[EVENTS];
static int                     n_streams, n_events;
static world                  *meeting_place;
static int                     rank, ranks = 1;
static int64_t                 meetings;
static const standin_profiler *profiler;
static bool                    is_up, is_forked, has_thread;
static int                     board_of[BOARDS], n_devices; /* by the number of the device */
static int                     current;                     /* device: of all threads */
static int64_t                 latency, gap, launch_cost;
static __thread bool           inside_init;

int64_t standin_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

const standin_profiler *standin_profiler_now(void)
{
    return profiler;
}

static int64_t setting(const char *name, int64_t otherwise)
{
    const char *value = getenv(name);

    return value ? atoll(value) : otherwise;
}

void standin_say(const char *text)
{
    char        line[200];
    const char *path = getenv("STANDIN_LOG");
    const int   file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    const int   n = snprintf(line, sizeof line, "%d %s\n", (int)getpid(), text);

    if (file < 0)
        return;
    if (write(file, line, (size_t)n) < 0)
        abort();
    close(file);
}

void standin_sleep_until(int64_t at)
{
    const int64_t   early = 40000; /* a sleep ends late, a spin does not */
    struct timespec t = {(at - early) / 1000000000, (at - early) % 1000000000};

    if (at - standin_now() > 2 * early)
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    while (standin_now() < at)
        continue;
}

/* Past the C library, where a recorder would take it for a sleep of the program's. */
static void nap(int64_t ns)
{
    const struct timespec t = {ns / 1000000000, ns % 1000000000};

    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
}

/* When all ranks have come to a meeting; NEVER while one is missing. */
static int64_t all_came(int64_t meeting, int64_t mine)
{
    int64_t last = mine;

    if (!meeting_place || ranks < 2)
        return mine;
    meeting_place->came[meeting % MEETINGS][rank] = mine;
    for (int r = 0; r < ranks; r++) {
        const int64_t theirs = meeting_place->came[meeting % MEETINGS][r];

        if (theirs == 0)
            return NEVER;
        last = theirs > last ? theirs : last;
    }
    return last;
}

/* Gives the next work of a stream its instants, if they can be known.  The lock is held. */
static bool place(int s)
{
    stream       *q = &streams[s];
    work         *w;
    int64_t       begin, together;
    const int64_t now = standin_now();

    if (q->placed == q->added)
        return false;
    w = &q->queue[q->placed % (QUEUE + 2)];
    begin = w->arrives > q->ends + gap ? w->arrives : q->ends + gap;
    if (w->waits_for >= 0) {
        const event *e = &events[w->waits_for];

        if (e->done_turn < w->waits_turn)
            return false;
        begin = e->at > begin ? e->at : begin;
    }
    if (w->op.kind == 0) { /* an event or a wait takes no time of its own */
        begin = w->waits_for >= 0 ? begin : q->ends;
        q->ends = begin > q->ends ? begin : q->ends;
    } else if (w->meeting != NEVER) {
        if (begin > now) /* a rank says when it came, not when it is going to */
            return false;
        together = all_came(w->meeting, begin);
        if (together == NEVER)
            return false;
        q->ends = together + w->length;
    } else {
        q->ends = begin + w->length;
    }
    w->op.start = begin;
    w->op.end = q->ends;
    w->placed = true;
    if (w->makes >= 0) {
        events[w->makes].at = q->ends > w->arrives ? q->ends : w->arrives;
        events[w->makes].done_turn++;
    }
    q->placed++;
    return true;
}

/* The lock is held. */
static void place_all(void)
{
    bool more = true;

    while (more) {
        more = false;
        for (int s = 0; s < n_streams; s++)
            while (place(s))
                more = true;
    }
}

/* Takes up to `room` works that are over. */
static int take_over(standin_op *out, int room)
{
    const int64_t now = standin_now();
    int           n = 0;

    pthread_mutex_lock(&lock);
    place_all();
    for (int s = 0; s < n_streams; s++) {
        stream *q = &streams[s];

        while (n < room && q->reported < q->placed && q->queue[q->reported % (QUEUE + 2)].op.end <= now) {
            const work *w = &q->queue[q->reported++ % (QUEUE + 2)];

            if (w->op.kind)
                out[n++] = w->op;
        }
    }
    pthread_mutex_unlock(&lock);
    return n;
}

static void report(void)
{
    standin_op over[64];
    int        n;

    while ((n = take_over(over, 64)) > 0)
        for (int i = 0; i < n && profiler; i++)
            profiler->took(&over[i]);
}

static void *reporter(void *none)
{
    for (;;) {
        report();
        nap(1000000);
    }
    return none;
}

/* Waits until the work that was added so far is over. */
void standin_drain(int s)
{
    const uint64_t upto = streams[s].added;

    for (;;) {
        int64_t at = NEVER;

        pthread_mutex_lock(&lock);
        place_all();
        if (streams[s].placed >= upto)
            at = upto ? streams[s].queue[(upto - 1) % (QUEUE + 2)].op.end : 0;
        pthread_mutex_unlock(&lock);
        if (at != NEVER) {
            standin_sleep_until(at);
            break;
        }
        nap(50000);
    }
    report();
}

bool standin_is_over(int s)
{
    bool is;

    pthread_mutex_lock(&lock);
    place_all();
    is = streams[s].placed == streams[s].added && streams[s].ends <= standin_now();
    pthread_mutex_unlock(&lock);
    return is;
}

static void add(int s, const work *new)
{
    stream *q = &streams[s];

    for (;;) {
        uint64_t in_flight;

        report();
        pthread_mutex_lock(&lock);
        in_flight = q->added - q->reported;
        if (in_flight < QUEUE)
            break;
        pthread_mutex_unlock(&lock);
        nap(20000);
    }
    q->queue[q->added % (QUEUE + 2)] = *new;
    q->added++;
    if (!has_thread) {
        pthread_t thread;

        has_thread = true;
        pthread_create(&thread, NULL, reporter, NULL);
    }
    pthread_mutex_unlock(&lock);
}

/* Work of a length; it occupies the host for the cost of a launch. */
void standin_add(int s, const standin_op *op, int64_t length, bool with_others)
{
    const int64_t now = standin_now();
    work          w = {
                 .op = *op, .arrives = now + launch_cost + latency, .length = length, .meeting = NEVER, .waits_for = -1, .makes = -1};

    w.op.device = (uint32_t)current;
    w.op.context = 1 + (uint32_t)current;
    w.op.stream = standin_stream_id(s);
    w.op.queued = now;
    w.op.submitted = now + launch_cost;
    if (with_others)
        w.meeting = meetings++;
    if (profiler)
        profiler->launched(&w.op);
    add(s, &w);
    while (standin_now() < now + launch_cost)
        continue;
}

/* A part of a graph: no launch of its own. */
void standin_add_node(int s, const standin_op *op, int64_t length)
{
    work w = {
        .op = *op, .arrives = standin_now() + latency, .length = length, .meeting = NEVER, .waits_for = -1, .makes = -1};

    w.op.device = (uint32_t)current;
    w.op.context = 1 + (uint32_t)current;
    w.op.stream = standin_stream_id(s);
    if (profiler && w.op.kind == OP_KERNEL)
        profiler->launched(&w.op);
    add(s, &w);
}

int standin_event_new(void)
{
    int e;

    pthread_mutex_lock(&lock);
    e = n_events < EVENTS ? n_events++ : NEVER;
    pthread_mutex_unlock(&lock);
    return e;
}

void standin_event_record(int e, int s)
{
    work w = {.arrives = standin_now(), .meeting = NEVER, .waits_for = -1, .makes = e};

    pthread_mutex_lock(&lock);
    events[e].turn++;
    events[e].on = s;
    pthread_mutex_unlock(&lock);
    add(s, &w);
}

void standin_event_wait(int e, int s)
{
    work w = {.arrives = standin_now(), .meeting = NEVER, .waits_for = e, .makes = -1};

    pthread_mutex_lock(&lock);
    w.waits_turn = events[e].turn;
    pthread_mutex_unlock(&lock);
    add(s, &w);
}

bool standin_event_is_over(int e)
{
    bool is;

    pthread_mutex_lock(&lock);
    place_all();
    is = events[e].done_turn >= events[e].turn && events[e].at <= standin_now();
    pthread_mutex_unlock(&lock);
    return is;
}

void standin_event_drain(int e)
{
    for (;;) {
        int64_t at = NEVER;

        pthread_mutex_lock(&lock);
        place_all();
        if (events[e].done_turn >= events[e].turn)
            at = events[e].at;
        pthread_mutex_unlock(&lock);
        if (at != NEVER) {
            standin_sleep_until(at);
            break;
        }
        nap(50000);
    }
    report();
}

int standin_event_stream(int e)
{
    return events[e].on;
}

/* One number for each recording of an event. */
uint64_t standin_event_sync_id(int e)
{
    uint64_t turn;

    pthread_mutex_lock(&lock);
    turn = events[e].turn;
    pthread_mutex_unlock(&lock);
    return turn ? turn * EVENTS + (uint64_t)e : 0;
}

/* As the real one numbers them: the default stream is 7. */
uint32_t standin_stream_id(int s)
{
    return s == 0 ? 7 : 12 + (uint32_t)s;
}

int standin_stream_new(int priority)
{
    int s;

    pthread_mutex_lock(&lock);
    s = n_streams < STREAMS ? n_streams++ : 0;
    streams[s].used = true;
    streams[s].priority = priority;
    pthread_mutex_unlock(&lock);
    return s;
}

int standin_streams(void)
{
    return n_streams;
}

int standin_rank(void)
{
    return rank;
}

/* for the profiler */

static int boards(void)
{
    const int64_t n = setting("STANDIN_DEVICES", 1);

    return n < BOARDS ? (int)n : BOARDS;
}

static bool is_word(const char *name, const char *word)
{
    const char *value = getenv(name);

    return value && strcmp(value, word) == 0;
}

static void find_devices(void)
{
    const char *at = getenv("CUDA_VISIBLE_DEVICES");

    for (int b = 0; !at && b < boards(); b++)
        board_of[n_devices++] = b;
    for (; at && *at && n_devices < BOARDS; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
        board_of[n_devices++] = strncmp(at, "MIG-", 4) == 0 ? 0 : atoi(at);
}

static int devices(void)
{
    return is_up && !is_forked && setting("STANDIN_INIT", 0) == 0 ? n_devices : 0;
}

int standin_device_set(int device)
{
    if (device < 0 || device >= n_devices)
        return 101;
    current = device;
    return 0;
}

int standin_devices(void)
{
    return n_devices;
}

/* As the stand-in of NVML has them (tests/nvml/standin.c). */
static void uuid_of(int board, uint8_t out[16])
{
    static const uint8_t rest[12] = {0x11, 0x11, 0x22, 0x22, 0x33, 0x33, 0x44, 0x44, 0x44, 0x44, 0x44, 0x44};
    const uint32_t       first = 0xabc0 + (uint32_t)board;

    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(first >> (24 - 8 * i));
    memcpy(out + 4, rest, sizeof rest);
}

static void describe_device(standin_op *op, int device)
{
    op->device = (uint32_t)device;
    if (!getenv("STANDIN_UUID"))
        uuid_of(board_of[device], op->uuid);
}

/* A board that is no device. */
static bool describe_hidden(standin_op *op, int board)
{
    for (int d = 0; d < n_devices; d++)
        if (board_of[d] == board)
            return false;
    op->device = (uint32_t)board;
    op->is_hidden = 1;
    uuid_of(board, op->uuid);
    return true;
}

static int in_init(void)
{
    return inside_init;
}

static uint32_t describe(standin_op *op)
{
    const int devices_end = 1 + n_devices, hidden_end = devices_end + (setting("STANDIN_HIDDEN", 0) ? boards() : 0);
    const int n = (int)op->value;

    if (n < hidden_end)
        op->kind = OP_DEVICE;
    else if (n == hidden_end)
        op->kind = OP_CONTEXT;
    else if (n <= hidden_end + n_streams)
        op->kind = OP_STREAM;
    else
        return 0;
    op->context = 1 + (uint32_t)current;
    op->device = (uint32_t)current;
    op->stream = op->kind == OP_STREAM ? standin_stream_id(n - hidden_end - 1) : 0;
    if (n < devices_end)
        describe_device(op, n - 1);
    else if (n < hidden_end && !describe_hidden(op, n - devices_end))
        op->kind = 0;
    return 1;
}

__attribute__((visibility("default"))) const standin_device *standin_attach(const standin_profiler *with)
{
    static const standin_device self = {report, devices, in_init, describe};

    profiler = with;
    return &self;
}

static void in_child(void)
{
    is_forked = true;
    profiler = NULL;
}

/* the driver's interface */

/* Loads the library that the environment names, as the real one does: once, inside the first cuInit. */
static void inject(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void       *library;
    int (*initialize)(void);

    if (!path || !*path)
        return;
    library = dlopen(path, RTLD_NOW);
    if (!library) {
        standin_say("the injected library cannot be loaded");
        return;
    }
    initialize = (int (*)(void))(uintptr_t)dlsym(library, "InitializeInjection");
    if (!initialize) {
        standin_say("the injected library has no InitializeInjection");
        return;
    }
    standin_say("InitializeInjection");
    if (initialize() == 0)
        standin_say("InitializeInjection answered 0");
}

__attribute__((visibility("default"))) int cuInit(unsigned flags)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    const int              code = (int)setting("STANDIN_INIT", setting("STANDIN_DEVICES", 1) ? 0 : 100);

    (void)flags;
    if (inside_init) {
        standin_say("MISUSE cuInit inside of cuInit: the real one never returns");
        return 3;
    }
    if (is_forked)
        return 3;
    pthread_mutex_lock(&once);
    if (!is_up) {
        const char *file = getenv("STANDIN_WORLD");
        const int   world_file = file ? open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;

        latency = setting("STANDIN_LATENCY", 12700);
        gap = setting("STANDIN_GAP", 1000);
        launch_cost = setting("STANDIN_LAUNCH", 6700);
        rank = (int)setting("RANK", 0);
        ranks = (int)setting("WORLD_SIZE", 1);
        if (world_file >= 0 && ranks <= RANKS && ftruncate(world_file, sizeof(world)) == 0) {
            meeting_place = mmap(NULL, sizeof(world), PROT_READ | PROT_WRITE, MAP_SHARED, world_file, 0);
            if (meeting_place == MAP_FAILED)
                abort();
        }
        n_streams = 1;
        streams[0].used = true;
        find_devices();
        is_up = true;
        pthread_atfork(NULL, NULL, in_child);
        inside_init = true;
        inject();
        inside_init = false;
        if (code == 0 && profiler) {
            standin_op context = {.kind = OP_CONTEXT, .context = 1};

            for (int d = 0; d < n_devices; d++) {
                standin_op device = {.kind = OP_DEVICE};

                describe_device(&device, d);
                profiler->took(&device);
            }
            profiler->took(&context);
            profiler->resource(1, (void *)(uintptr_t)1, NULL, NULL);
        }
    }
    pthread_mutex_unlock(&once);
    return code;
}

__attribute__((visibility("default"))) int cuDriverGetVersion(int *version)
{
    *version = (int)setting("STANDIN_DRIVER", 13000);
    return 0;
}

__attribute__((visibility("default"))) int cuDeviceGetCount(int *count)
{
    if (inside_init) {
        standin_say("MISUSE cuDeviceGetCount inside of cuInit: the real one is not ready");
        return 3;
    }
    *count = devices();
    return is_up ? 0 : 3;
}

__attribute__((visibility("default"))) int cuDeviceGet(int *device, int number)
{
    *device = number + 100; /* it need not be the number */
    return number < n_devices ? 0 : 101;
}

__attribute__((visibility("default"))) int cuDeviceGetUuid(uint8_t uuid[16], int device)
{
    if (is_word("STANDIN_UUID", "none"))
        return 801;
    uuid_of(board_of[device - 100], uuid);
    return 0;
}

/* Of a part of a board, where it is divided. */
__attribute__((visibility("default"))) int cuDeviceGetUuid_v2(uint8_t uuid[16], int device)
{
    memset(uuid, 0x77, 16);
    return device >= 100 ? 0 : 101;
}

/* Tells the profiler that a module goes; its kernels' names become other text a while later. */
__attribute__((visibility("default"))) int cuModuleUnload(void *module)
{
    if (profiler)
        profiler->resource(7, (void *)(uintptr_t)1, NULL, module);
    return 0;
}

__attribute__((visibility("default"))) int cuLaunchKernel(const void *function, unsigned gx, unsigned gy, unsigned gz,
                                                          unsigned bx, unsigned by, unsigned bz, unsigned shared, void *s,
                                                          void **arguments, void **extra)
{
    const standin_kernel *k = function;
    const int64_t         start = standin_now();
    standin_op            op = {.kind = OP_KERNEL,
                                .name = k->name,
                                .grid = {(int)gx, (int)gy, (int)gz},
                                .block = {(int)bx, (int)by, (int)bz},
                                .registers = k->registers,
                                .static_shared = k->static_shared,
                                .dynamic_shared = shared};

    (void)arguments;
    (void)extra;
    if (profiler)
        op.correlation = profiler->call_begins(CB_DRIVER, 307, "cuLaunchKernel", k->name);
    standin_add((int)(intptr_t)s, &op, k->length, k->with_others);
    if (profiler)
        profiler->call_ends(CB_DRIVER, 307, "cuLaunchKernel", op.correlation, start, 0);
    return 0;
}

__attribute__((destructor)) static void leave(void)
{
    if (!is_forked)
        standin_say("libcuda is gone");
}
