/* SPDX-License-Identifier: Apache-2.0
 * live.c - each instant of a step is laid upon the innermost cause that is open on the thread that marks the steps.
 *
 * Ranges are kept for each thread, since any of them may be the next to mark a step; the tally is the process's, and written
 * for one thread at a time, the last that began a step.
 *
 * gloo: PyTorch calls the threads that run its collectives HU_THREAD_OF_GLOO.  They wait for work without a limit of time
 * and for their peers with one (ProcessGroupGloo.cpp, UnboundBuffer), so that one is idle while it is inside of
 * pthread_cond_wait.  The thread of the steps waits for a condition, too, until the collective is over: what it waits while
 * one runs, or one began, is communication.  Whether one runs is only known behind the wait: it may have been asked for a
 * moment before, and its thread not be awake yet.
 */
#include "inject/live.h"

#include <errno.h>
#include <string.h>

#include "holdup_annotate.h"
#include "inject/process.h"
#include "inject/sys.h"
#include "base/banned.h"

enum { LEVELS = 32, NAMES = 16 };

/* Of a level: the range has a cause of its own. */
enum { OWN = 0x80, CAUSE = 0x7f };

/* Of a thread. */
typedef struct {
    uint32_t depth;          /* ranges that are open; what lies deeper than LEVELS is in the last of these */
    uint8_t  levels[LEVELS]; /* cause + 1 of each, or of what is around it */
    uint32_t waits;          /* cause + 1 of the call that it waits in */
    uint32_t calls;          /* that it is inside of */
    uint32_t is_counted;     /* it runs collectives of gloo, and is in gloo_threads */
    uint32_t is_idle;        /* ... and in gloo_idle */
    uint32_t gloo_taken, was_busy;
    uint64_t since; /* ticks: that it waits for a condition */
} thread_causes;

static __thread thread_causes mine __attribute__((tls_model("initial-exec")));
static thread_causes         *owner; /* whose steps they are; NULL: nobody's yet */

static uint64_t limits[HU_LIVE_LIMITS]; /* in ticks; the last is 0 until they are known */

static const struct {
    const char *begins;
    uint32_t    cause;
} known[] = {
    {"enumerate(DataLoader)#", HU_LIVE_DATA + 1}, /* torch/utils/data/dataloader.py */
    {"Optimizer.step#", HU_LIVE_OPTIMIZER + 1},   /* torch/optim/optimizer.py */
    {"DistributedDataParallel.forward", HU_LIVE_FORWARD + 1},
};

static uint32_t named[NAMES]; /* ids of such texts | cause << 24; 0: free */

static bool tells; /* this process: its tally is used */

bool hu_live_tells(void)
{
    return __atomic_load_n(&tells, __ATOMIC_RELAXED);
}

static bool is_mine(void)
{
    return __atomic_load_n(&owner, __ATOMIC_RELAXED) == &mine;
}

/* the tally */

static __attribute__((cold, noinline)) bool attach(void)
{
    const int      saved_errno = errno;
    const uint64_t signals = hu_signals_block();
    bool           is_there;

    hu_thread.inside++;
    is_there = hu_process_attach();
    hu_thread.inside--;
    hu_signals_restore(signals);
    errno = saved_errno;
    return is_there;
}

/* NULL: this process has none.  What only waits makes none. */
static hu_live_tally *tally(bool makes)
{
    if (__builtin_expect(!hu_the_process.head, 0) && !(makes && attach()))
        return NULL;
    return &hu_the_process.head->live;
}

static bool take(hu_live_tally *t)
{
    if (__atomic_fetch_or(&t->version, 1, __ATOMIC_ACQUIRE) & 1)
        return false;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return true;
}

static void give(hu_live_tally *t)
{
    __atomic_store_n(&t->version, t->version + 1, __ATOMIC_RELEASE);
}

static void set_bits(uint32_t *word, uint32_t bits)
{
    if (__builtin_expect((__atomic_load_n(word, __ATOMIC_RELAXED) & bits) != bits, 0))
        __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
}

/* Field 22 of /proc/self/stat: the name in front of it may hold anything, and ends with the last parenthesis. */
static __attribute__((cold, noinline)) uint64_t beginning(void)
{
    char        text[1024];
    const int   fd = hu_sys_open("/proc/self/stat", O_RDONLY);
    const long  n = fd < 0 ? -1 : hu_sys_read(fd, text, sizeof text - 1);
    const char *at;
    uint64_t    ticks = 0;

    if (fd >= 0)
        hu_sys_close(fd);
    text[n > 0 ? n : 0] = '\0';
    at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    for (; at && *at >= '0' && *at <= '9'; at++)
        ticks = 10 * ticks + (uint64_t)(*at - '0');
    return ticks;
}

static void use(hu_live_tally *t)
{
    if (__builtin_expect(t->is_used, 1))
        return;
    t->began = beginning();
    hu_process_read_place(t);
    __atomic_store_n(&t->is_used, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&tells, true, __ATOMIC_RELAXED);
}

static uint32_t now(void)
{
    if (mine.waits)
        return mine.waits;
    return mine.depth ? mine.levels[(mine.depth < LEVELS ? mine.depth : LEVELS) - 1] & CAUSE : HU_LIVE_NOTHING;
}

/* What has passed since the last time is of what was open then. */
static void lay(hu_live_tally *t, uint32_t cause, uint64_t ticks)
{
    if (t->is_in_step && cause && ticks > t->counted)
        t->open_ticks[cause - 1] += ticks - t->counted;
    if (ticks > t->counted)
        t->counted = ticks;
}

static void turn(hu_live_tally *t, uint32_t to, uint64_t ticks)
{
    lay(t, t->now, ticks);
    if (t->now == to)
        return;
    t->now = to;
    t->now_since = ticks;
}

/* After a change of `mine`. */
static void changed(hu_live_tally *t)
{
    if (!is_mine() || t->now == now() || !take(t))
        return;
    turn(t, now(), hu_ticks());
    give(t);
}

/* steps */

static void learn_limits(void)
{
    static const uint64_t us[] = {
#define U(limit) limit,
        HU_LIVE_LIMITS_US(U)
#undef U
    };

    for (size_t i = 0; i < HU_LIVE_LIMITS; i++)
        limits[i] = (uint64_t)((double)us[i] * 1e-6 * hu_the_control->ticks_per_second);
}

static void finish(hu_live_tally *t, uint64_t ticks)
{
    const uint64_t took = ticks > t->step_since ? ticks - t->step_since : 0;
    size_t         limit = 0;

    while (limit < HU_LIVE_LIMITS && took > limits[limit])
        limit++;
    t->histogram[limit]++;
    t->steps++;
    t->step_ticks += took;
    t->last_step = ticks;
    for (size_t i = 0; i < HU_LIVE_CAUSE_COUNT; i++)
        t->cause_ticks[i] += t->open_ticks[i];
}

static void close_step(hu_live_tally *t, uint64_t ticks, bool is_none)
{
    lay(t, t->now, ticks);
    if (t->is_in_step && !is_none)
        finish(t, ticks);
    t->is_in_step = 0;
    memset(t->open_ticks, 0, sizeof t->open_ticks);
}

void hu_live_step(int64_t number)
{
    hu_live_tally *const t = tally(true);
    uint64_t             ticks;

    if (!t)
        return;
    use(t);
    if (__builtin_expect(limits[HU_LIVE_LIMITS - 1] == 0, 0))
        learn_limits();
    if (!take(t))
        return;
    ticks = hu_ticks();
    close_step(t, ticks, false);
    if (!is_mine()) {
        hu_ring_hear_end(); /* the next thread may have the same memory */
        __atomic_store_n(&owner, &mine, __ATOMIC_RELAXED);
    }
    turn(t, now(), ticks);
    t->is_in_step = 1;
    t->step_number = number;
    t->step_since = ticks;
    give(t);
}

void hu_live_step_end(bool is_none)
{
    hu_live_tally *const t = tally(false);

    if (!t || !t->is_in_step || !take(t))
        return;
    close_step(t, hu_ticks(), is_none);
    give(t);
}

/* ranges */

void hu_live_measures(uint32_t causes)
{
    hu_live_tally *const t = tally(true);

    if (t)
        set_bits(&t->measured, causes);
}

void hu_live_hides(uint32_t causes)
{
    hu_live_tally *const t = tally(false);

    if (t)
        set_bits(&t->hidden, causes);
}

void hu_live_shows(uint32_t causes)
{
    hu_live_tally *const t = tally(false);

    if (t)
        __atomic_fetch_and(&t->hidden, ~causes, __ATOMIC_RELAXED);
}

void hu_live_push(uint32_t cause)
{
    hu_live_tally *t;

    if (mine.depth < LEVELS) {
        const uint32_t around = mine.depth ? mine.levels[mine.depth - 1] & CAUSE : HU_LIVE_NOTHING;

        mine.levels[mine.depth] = (uint8_t)(cause ? cause | OWN : around);
    }
    __atomic_signal_fence(__ATOMIC_RELEASE);
    mine.depth++;
    if (!cause)
        return;
    t = tally(true);
    if (!t)
        return;
    if (is_mine() || !__atomic_load_n(&owner, __ATOMIC_RELAXED))
        set_bits(&t->measured, 1u << (cause - 1));
    changed(t);
}

void hu_live_pop(void)
{
    uint8_t        level;
    hu_live_tally *t;

    if (mine.depth == 0)
        return; /* of a range that began unseen */
    level = mine.depth <= LEVELS ? mine.levels[mine.depth - 1] : 0;
    mine.depth--;
    if (!(level & OWN) || !(t = tally(false)))
        return;
    if (level == (OWN | (HU_LIVE_CHECKPOINT + 1)))
        __atomic_fetch_add(&t->checkpoints, 1, __ATOMIC_RELAXED);
    changed(t);
}

void hu_live_name(const char *text, uint32_t id)
{
    for (size_t k = 0; id && k < sizeof known / sizeof *known; k++) {
        if (strncmp(text, known[k].begins, strlen(known[k].begins)) != 0)
            continue;
        for (size_t i = 0; i < NAMES; i++) {
            uint32_t       none = 0;
            const uint32_t it = id | known[k].cause << 24;

            if (named[i] == it ||
                __atomic_compare_exchange_n(&named[i], &none, it, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                return;
        }
    }
}

uint32_t hu_live_named(uint32_t id)
{
    for (size_t i = 0; i < NAMES && named[i]; i++)
        if ((named[i] & 0xffffff) == id)
            return named[i] >> 24;
    return HU_LIVE_NOTHING;
}

_Static_assert(HU_STRINGS_MAX <= 0xffffff, "an id leaves room for its cause");

uint64_t hu_live_count(uint32_t what, uint64_t n)
{
    hu_live_tally *const t = tally(true);

    if (!t)
        return 0;
    use(t);
    return __atomic_add_fetch(what == HOLDUP_TOKENS ? &t->tokens : &t->samples, n, __ATOMIC_RELAXED);
}

/* waits */

void hu_live_enter(hu_live_cause cause)
{
    hu_live_tally *const t = tally(false);

    if (!t || !is_mine() || mine.calls++ > 0)
        return;
    set_bits(&t->measured, 1u << cause);
    mine.waits = cause + 1;
    changed(t);
}

void hu_live_leave(void)
{
    hu_live_tally *t;

    if (mine.calls == 0 || --mine.calls > 0)
        return;
    mine.waits = HU_LIVE_NOTHING;
    t = tally(false);
    if (t)
        changed(t);
}

static bool is_busy(const hu_live_tally *t)
{
    return __atomic_load_n(&t->gloo_threads, __ATOMIC_RELAXED) > __atomic_load_n(&t->gloo_idle, __ATOMIC_RELAXED);
}

/* A thread of gloo waits for the next collective. */
static bool gloo_rests(hu_live_tally *t)
{
    if (!mine.is_counted) {
        mine.is_counted = 1;
        hu_ring_hear_end();
        __atomic_fetch_add(&t->gloo_threads, 1, __ATOMIC_RELAXED);
        set_bits(&t->measured, 1u << HU_LIVE_COMMUNICATION);
    }
    mine.is_idle = 1;
    __atomic_fetch_add(&t->gloo_idle, 1, __ATOMIC_RELAXED);
    return true;
}

/* These are no collectives: the range says what the thread waits for. */
static bool is_other(uint32_t cause)
{
    return cause == HU_LIVE_DATA + 1 || cause == HU_LIVE_TRANSFER + 1 || cause == HU_LIVE_CHECKPOINT + 1 ||
           cause == HU_LIVE_DEVICE + 1;
}

bool hu_live_waits(uint32_t row)
{
    hu_live_tally *const t = tally(false);

    if (!t)
        return false;
    if (hu_thread.tells_signals)
        return row == HU_OS_CALL_pthread_cond_wait && gloo_rests(t);
    if (!is_mine() || !t->gloo_threads || mine.waits || is_other(now()))
        return false;
    mine.gloo_taken = __atomic_load_n(&t->gloo_taken, __ATOMIC_RELAXED);
    mine.was_busy = is_busy(t);
    mine.since = hu_ticks();
    __atomic_store_n(&t->waits_since, mine.since, __ATOMIC_RELAXED);
    return true;
}

void hu_live_waited(void)
{
    hu_live_tally *const t = tally(false);
    uint64_t             ticks;

    if (!t)
        return;
    if (mine.is_idle) {
        mine.is_idle = 0;
        __atomic_fetch_add(&t->gloo_taken, 1, __ATOMIC_RELAXED);
        __atomic_fetch_sub(&t->gloo_idle, 1, __ATOMIC_RELAXED);
        return;
    }
    __atomic_store_n(&t->waits_since, 0, __ATOMIC_RELAXED);
    if (!mine.was_busy && mine.gloo_taken == __atomic_load_n(&t->gloo_taken, __ATOMIC_RELAXED))
        return;
    ticks = hu_ticks();
    if (!is_mine() || !take(t))
        return;
    lay(t, t->now, mine.since);
    lay(t, HU_LIVE_COMMUNICATION + 1, ticks);
    give(t);
}

void hu_live_thread_ends(void)
{
    hu_live_tally *const t = tally(false);

    if (is_mine())
        __atomic_store_n(&owner, NULL, __ATOMIC_RELAXED);
    if (!mine.is_counted || !t)
        return;
    mine.is_counted = 0;
    __atomic_fetch_sub(&t->gloo_threads, 1, __ATOMIC_RELAXED);
}

/* In the child no thread of gloo is left, and the tally is another one; its thread is inside of the same ranges. */
void hu_live_forked(void)
{
    mine.is_counted = mine.is_idle = mine.waits = mine.calls = 0;
    owner = NULL;
    tells = false;
}
