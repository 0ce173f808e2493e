/* SPDX-License-Identifier: Apache-2.0
 * wakes.c - one thread waits 50 ms for an object, another one wakes it: wakes KIND
 *
 * Main waits in waits_for, the other thread wakes it in wakes_it; both calls are followed by something, so that no jump
 * takes their place.  Objects are static, and named after their kind.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t    the_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t   the_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t the_spin;
static pthread_cond_t     the_cond = PTHREAD_COND_INITIALIZER;
static sem_t              the_sem;
static pthread_barrier_t  the_barrier;
static int                the_futex;
static mtx_t              the_mtx;
static cnd_t              the_cnd;
static int                the_eventfd;
static volatile int       has_lock, is_ready;
static const char        *kind;

static int is(const char *name)
{
    return strcmp(kind, name) == 0;
}

static void pause_ms(long ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

static struct timespec in_ms(clockid_t clock, long ms)
{
    struct timespec t;

    clock_gettime(clock, &t);
    t.tv_sec += (t.tv_nsec + ms * 1000000) / 1000000000;
    t.tv_nsec = (t.tv_nsec + ms * 1000000) % 1000000000;
    return t;
}

static void take_first(void)
{
    if (is("mutex") || is("timedlock") || is("condition") || is("broadcast") || is("timedwait"))
        pthread_mutex_lock(&the_mutex);
    if (is("read") || is("write"))
        pthread_rwlock_wrlock(&the_rwlock);
    if (is("readers"))
        pthread_rwlock_rdlock(&the_rwlock);
    if (is("spin"))
        pthread_spin_lock(&the_spin);
    if (is("mtx"))
        mtx_lock(&the_mtx);
}

__attribute__((noinline)) static int wakes_it(void)
{
    int rc = 0;

    if (is("mutex") || is("timedlock"))
        rc += pthread_mutex_unlock(&the_mutex);
    if (is("read") || is("write") || is("readers"))
        rc += pthread_rwlock_unlock(&the_rwlock);
    if (is("spin"))
        rc += pthread_spin_unlock(&the_spin);
    if (is("mtx"))
        rc += mtx_unlock(&the_mtx);
    if (is("condition") || is("timedwait"))
        rc += pthread_cond_signal(&the_cond);
    if (is("broadcast"))
        rc += pthread_cond_broadcast(&the_cond);
    if (is("cnd"))
        rc += cnd_signal(&the_cnd);
    if (is("semaphore") || is("sem_timedwait"))
        rc += sem_post(&the_sem);
    if (is("barrier"))
        rc += pthread_barrier_wait(&the_barrier) > 0;
    if (is("futex"))
        rc += syscall(SYS_futex, &the_futex, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) < 0;
    if (is("eventfd"))
        rc += eventfd_write(the_eventfd, 1);
    if (is("write8"))
        rc += write(the_eventfd, &(uint64_t){1}, 8) != 8;
    return rc;
}

__attribute__((noinline)) static int waits_for(void)
{
    struct timespec far = in_ms(CLOCK_REALTIME, 10000);
    uint64_t        count;
    int             rc = 0;

    if (is("mutex"))
        rc += pthread_mutex_lock(&the_mutex);
    if (is("timedlock"))
        rc += pthread_mutex_timedlock(&the_mutex, &far);
    if (is("read"))
        rc += pthread_rwlock_rdlock(&the_rwlock);
    if (is("write") || is("readers"))
        rc += pthread_rwlock_wrlock(&the_rwlock);
    if (is("spin"))
        rc += pthread_spin_lock(&the_spin);
    if (is("mtx"))
        rc += mtx_lock(&the_mtx);
    while ((is("condition") || is("broadcast")) && !is_ready)
        rc += pthread_cond_wait(&the_cond, &the_mutex);
    while (is("timedwait") && !is_ready)
        rc += pthread_cond_timedwait(&the_cond, &the_mutex, &far);
    while (is("cnd") && !is_ready)
        rc += cnd_wait(&the_cnd, &the_mtx);
    if (is("semaphore"))
        rc += sem_wait(&the_sem);
    if (is("sem_timedwait"))
        rc += sem_timedwait(&the_sem, &far);
    if (is("barrier"))
        rc += pthread_barrier_wait(&the_barrier) > 0;
    if (is("futex"))
        rc += syscall(SYS_futex, &the_futex, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) < 0 && errno != EAGAIN;
    if (is("eventfd") || is("write8"))
        rc += read(the_eventfd, &count, sizeof count) != sizeof count;
    return rc;
}

static void *other(void *unused)
{
    const int is_condition = is("condition") || is("broadcast") || is("timedwait");

    if (!is_condition && !is("cnd"))
        take_first();
    has_lock = 1;
    pause_ms(50);
    if (is_condition)
        pthread_mutex_lock(&the_mutex);
    if (is("cnd"))
        mtx_lock(&the_mtx);
    is_ready = the_futex = 1;
    if (wakes_it() != 0)
        abort();
    if (is_condition)
        pthread_mutex_unlock(&the_mutex);
    if (is("cnd"))
        mtx_unlock(&the_mtx);
    return unused;
}

static void one_pair(void)
{
    const int is_condition = is("condition") || is("broadcast") || is("timedwait");
    pthread_t thread;

    if (is_condition)
        pthread_mutex_lock(&the_mutex);
    if (is("cnd"))
        mtx_lock(&the_mtx);
    pthread_create(&thread, NULL, other, NULL);
    while (!has_lock)
        ;
    if (waits_for() != 0)
        abort();
    if (is_condition)
        pthread_mutex_unlock(&the_mutex);
    if (is("cnd"))
        mtx_unlock(&the_mtx);
    pthread_join(thread, NULL);
}

/* What wakes, and nobody waits. */
static void all_of_nothing(void)
{
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&the_mutex);
        pthread_mutex_unlock(&the_mutex);
        pthread_rwlock_wrlock(&the_rwlock);
        pthread_rwlock_unlock(&the_rwlock);
        pthread_rwlock_rdlock(&the_rwlock);
        pthread_rwlock_unlock(&the_rwlock);
        pthread_spin_lock(&the_spin);
        pthread_spin_unlock(&the_spin);
        pthread_cond_signal(&the_cond);
        pthread_cond_broadcast(&the_cond);
        sem_post(&the_sem);
        sem_wait(&the_sem);
        syscall(SYS_futex, &the_futex, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

/* Waits that end by their time leave nobody counted. */
static void timed_out(void)
{
    for (int i = 0; i < 50; i++) {
        struct timespec soon = in_ms(CLOCK_REALTIME, 1);

        pthread_mutex_lock(&the_mutex);
        pthread_cond_timedwait(&the_cond, &the_mutex, &soon);
        pthread_mutex_unlock(&the_mutex);
        sem_timedwait(&the_sem, &soon);
    }
    all_of_nothing();
}

static void *for_ever(void *unused)
{
    pthread_mutex_lock(&the_mutex);
    pthread_cleanup_push((void (*)(void *))pthread_mutex_unlock, &the_mutex);
    for (;;)
        pthread_cond_wait(&the_cond, &the_mutex);
    pthread_cleanup_pop(0);
    return unused;
}

static void cancelled(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, for_ever, NULL);
    pause_ms(20);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    all_of_nothing();
}

static sigjmp_buf away;

static void jump(int number)
{
    siglongjmp(away, number);
}

static void jumped(void)
{
    const struct sigaction action = {.sa_handler = jump};

    sigaction(SIGALRM, &action, NULL);
    if (sigsetjmp(away, 1) == 0) {
        ualarm(20000, 0);
        sem_wait(&the_sem);
    }
    all_of_nothing();
}

/* A thread waits while the process forks: in the child nobody does. */
static void forked(void)
{
    pthread_t thread;
    pid_t     child;

    pthread_create(&thread, NULL, for_ever, NULL);
    pause_ms(20);
    child = fork();
    if (child == 0) {
        for (int i = 0; i < 1000; i++) {
            pthread_cond_signal(&the_cond);
            sem_post(&the_sem);
        }
        kind = "mutex";
        one_pair();
        exit(0);
    }
    waitpid(child, NULL, 0);
}

static long counter;

static void *hammer(void *unused)
{
    for (int i = 0; i < 20000; i++) {
        pthread_mutex_lock(&the_mutex);
        for (volatile int k = 0; k < 200; k++)
            ;
        if (i % 100 == 0)
            sched_yield(); /* so that they meet, however few processors there are */
        counter++;
        pthread_mutex_unlock(&the_mutex);
    }
    return unused;
}

static void hammered(void)
{
    pthread_t threads[8];

    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, hammer, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", counter);
}

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

static volatile int have_one; /* locks; no call may sleep before the one that never returns */

__attribute__((noinline)) static int locks_both(pthread_mutex_t *one, pthread_mutex_t *two)
{
    int rc = pthread_mutex_lock(one);

    __atomic_fetch_add(&have_one, 1, __ATOMIC_SEQ_CST);
    while (have_one < 2)
        ;
    rc += pthread_mutex_lock(two);
    return rc;
}

static void *backwards(void *unused)
{
    if (locks_both(&second, &first) != 0)
        abort();
    return unused;
}

static void deadlocked(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, backwards, NULL);
    if (fork() == 0) {
        pause_ms(1000);
        kill(getppid(), SIGKILL);
        _exit(0);
    }
    if (locks_both(&first, &second) != 0)
        abort();
}

int main(int argc, char **argv)
{
    kind = argc > 1 ? argv[1] : "none";
    pthread_spin_init(&the_spin, PTHREAD_PROCESS_PRIVATE);
    sem_init(&the_sem, 0, 0);
    pthread_barrier_init(&the_barrier, NULL, 2);
    mtx_init(&the_mtx, mtx_plain);
    cnd_init(&the_cnd);
    the_eventfd = eventfd(0, 0);
    if (is("none"))
        all_of_nothing();
    else if (is("timed_out"))
        timed_out();
    else if (is("cancelled"))
        cancelled();
    else if (is("jumped"))
        jumped();
    else if (is("forked"))
        forked();
    else if (is("hammered"))
        hammered();
    else if (is("deadlocked"))
        deadlocked();
    else
        one_pair();
    return 0;
}
