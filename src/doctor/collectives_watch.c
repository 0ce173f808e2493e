/* SPDX-License-Identifier: Apache-2.0
 * collectives_watch.c - a call of MPI that waits for a rank that hangs never returns, and spins; so a thread looks on.
 *
 * When a call takes longer than the patience of the user, each rank's thread looks at the processes of its own machine.
 * Who sees one that is stopped says so; when nobody has after a while, one rank says where it waits.  Then it leaves,
 * and the launcher ends the others, as it does when a rank dies.  It calls nothing of MPI, which another thread is
 * inside of.
 */
#include "doctor/collectives_watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/codes.h"
#include "base/units.h"
#include "doctor/collectives_run.h"

enum { LOOKS_PER_S = 10, LONGEST_WORD = 96 };

static const double TURN_S = 0.3, GRACE_S = 3; /* between two ranks that see the same; before who sees nothing speaks */

static struct {
    pthread_t             thread;
    pthread_mutex_t       lock; /* of the words and what belongs to them */
    pthread_cond_t        end;
    bool                  is_running, is_over;
    int                   rank, size;
    const hu_rank_place  *places;
    double                patience_s, more_s;
    char                  what[LONGEST_WORD]; /* "": may wait */
    atomic_ulong          ticks;
    struct sigaction      before;
    char                  last_words[2 * LONGEST_WORD + 64];
    volatile sig_atomic_t n_last;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .end = PTHREAD_COND_INITIALIZER};

static void say_and_leave(const hu_error *err)
{
    fprintf(stderr, "holdup: %s\n", err->text);
    _exit(hu_error_exit_status(err->code));
}

/* The state letter of /proc/PID/stat: behind the last bracket, since the name may hold any.  0: cannot be told, or gone:
   then the launcher knows. */
static char state_of(int64_t pid)
{
    char        path[64], text[512];
    const char *bracket;
    FILE       *f;
    size_t      n;

    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    f = fopen(path, "re");
    if (!f)
        return '\0';
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    bracket = strrchr(text, ')');
    return bracket && strlen(bracket) > 2 ? bracket[2] : '\0';
}

static const char *words_of_state(char state)
{
    switch (state) {
    case 'T':
        return "is stopped by a signal (kill -CONT lets it go on)";
    case 't':
        return "is stopped by a debugger";
    case 'D':
        return "waits for a disk or a file server";
    default:
        return NULL;
    }
}

/* The first rank of this machine whose process cannot answer; -1: none. */
static int find_stuck(char *state)
{
    const hu_rank_place *mine = &watch.places[watch.rank];

    for (int r = 0; r < watch.size; r++)
        if (strcmp(watch.places[r].machine, mine->machine) == 0 && strcmp(watch.places[r].host, mine->host) == 0 &&
            words_of_state(*state = state_of(watch.places[r].pid)))
            return r;
    return -1;
}

/* How many ranks of this machine speak before this one. */
static int turn(void)
{
    const hu_rank_place *mine = &watch.places[watch.rank];
    int                  n = 0;

    for (int r = 0; r < watch.rank; r++)
        n += strcmp(watch.places[r].machine, mine->machine) == 0;
    return n;
}

static void accuse(double waited_s, bool may_see_nothing)
{
    char     state = 0;
    int      r = find_stuck(&state);
    hu_error err;

    if (r < 0 && !may_see_nothing)
        return;
    if (r >= 0) {
        hu_fail(&err, HU_EIO, NULL, HU_NO_OFFSET, "rank %d on %.64s (PID %lld) %s: nothing for %.0f s in %s (--timeout)", r,
                watch.places[r].host, (long long)watch.places[r].pid, words_of_state(state), waited_s, watch.what);
    } else {
        hu_fail(
            &err, HU_EIO, NULL, HU_NO_OFFSET,
            "rank %d on %.64s (PID %lld) waits in %s for %.0f s (--timeout), and no rank on its machine is stopped: look at "
            "the ranks of other machines and at the network between them",
            watch.rank, watch.places[watch.rank].host, (long long)watch.places[watch.rank].pid, watch.what, waited_s);
    }
    say_and_leave(&err);
}

static void *look_on(void *unused)
{
    unsigned long seen = 0;
    double        since = hu_measuring_clock();

    (void)unused;
    pthread_mutex_lock(&watch.lock);
    while (!watch.is_over) {
        const unsigned long ticks = atomic_load_explicit(&watch.ticks, memory_order_relaxed);
        const double    now = hu_measuring_clock(), late = now - since - watch.patience_s - watch.more_s - TURN_S * turn();
        struct timespec next;

        if (ticks != seen || !watch.what[0]) {
            seen = ticks;
            since = now;
        } else if (late > 0) {
            accuse(now - since, late > GRACE_S + TURN_S * watch.rank);
        }
        clock_gettime(CLOCK_REALTIME, &next);
        next.tv_nsec += 1000000000 / LOOKS_PER_S;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&watch.end, &watch.lock, &next);
    }
    pthread_mutex_unlock(&watch.lock);
    return NULL;
}

/* The launcher ends the others when a rank dies; the first of them that lives says what was going on. */
static void on_term(int signal)
{
    bool is_first = true;

    for (int r = 0; r < watch.rank && is_first; r++)
        is_first = strcmp(watch.places[r].host, watch.places[watch.rank].host) == 0 &&
                   kill((pid_t)watch.places[r].pid, 0) < 0;
    if (is_first && write(STDERR_FILENO, watch.last_words, (size_t)watch.n_last) < 0)
        _exit(128 + signal);
    _exit(128 + signal);
}

void hu_watch_begin(int rank, int size, const hu_rank_place *places, double patience_s)
{
    struct sigaction act = {.sa_handler = on_term};

    watch.rank = rank;
    watch.size = size;
    watch.places = places;
    watch.patience_s = patience_s;
    watch.is_over = false;
    hu_watch_step("the start", 0, 0);
    watch.is_running = pthread_create(&watch.thread, NULL, look_on, NULL) == 0; /* without it a hang is only not explained */
    sigaction(SIGTERM, &act, &watch.before);
}

void hu_watch_step(const char *what, int64_t bytes, double more_s)
{
    char size[HU_UNIT_BYTES];
    int  n;

    pthread_mutex_lock(&watch.lock);
    watch.what[0] = '\0';
    watch.more_s = more_s;
    hu_units_bytes(size, (double)bytes);
    if (what)
        snprintf(watch.what, sizeof watch.what, bytes ? "%s, %s" : "%s", what, size);
    n = snprintf(
        watch.last_words, sizeof watch.last_words,
        "holdup: rank %d was ended by SIGTERM in %s: the launcher sends it when a rank died or a limit was reached\n",
        watch.rank, what ? watch.what : "its wait for others");
    watch.n_last = n < (int)sizeof watch.last_words ? n : (int)sizeof watch.last_words - 1;
    pthread_mutex_unlock(&watch.lock);
    hu_watch_tick();
}

void hu_watch_tick(void)
{
    /* one thread counts; an atomic addition would be seen in the times of short calls */
    atomic_store_explicit(&watch.ticks, atomic_load_explicit(&watch.ticks, memory_order_relaxed) + 1, memory_order_relaxed);
}

void hu_watch_end(void)
{
    pthread_mutex_lock(&watch.lock);
    watch.is_over = true;
    pthread_cond_signal(&watch.end);
    pthread_mutex_unlock(&watch.lock);
    if (watch.is_running)
        pthread_join(watch.thread, NULL);
    watch.is_running = false;
    sigaction(SIGTERM, &watch.before, NULL);
}
