/* SPDX-License-Identifier: Apache-2.0
 * outside.c - waits that no library inside of a program can see: linked statically, or by system calls of its own.
 *
 *     outside sleep|short|pipe|futex|lock FILE|own|mixed|hidden|idle THREADS
 *
 * Ends with 1 when a wait was disturbed: woken early, or interrupted.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MILLISECOND = 1000000 };

static volatile unsigned sink;
static unsigned          word;

static void compute(int ms)
{
    struct timespec begin, now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (unsigned i = 0; i < 20000; i++)
            sink += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / MILLISECOND < ms);
}

static long raw(long number, long a, long b, long c, long d)
{
#if defined __x86_64__
    long          result;
    register long fourth __asm__("r10") = d;

    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
    return result;
#elif defined __aarch64__
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;

    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
#endif
}

static int nap(long ns, int by_itself)
{
    struct timespec time = {ns / 1000000000, ns % 1000000000};

    return (by_itself ? raw(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&time, 0) : nanosleep(&time, NULL)) != 0;
}

static int naps(int n, int work_ms, long ns, int by_itself)
{
    int bad = 0;

    for (int i = 0; i < n; i++) {
        compute(work_ms);
        bad |= nap(ns, by_itself == 2 ? i & 1 : by_itself);
    }
    return bad;
}

static int from_child(void)
{
    int  ends[2], n = 0;
    char byte;

    if (pipe(ends) < 0)
        return 1;
    if (fork() == 0) {
        for (int i = 0; i < 15; i++) {
            nap(20 * MILLISECOND, 0);
            if (write(ends[1], "x", 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    close(ends[1]);
    while (read(ends[0], &byte, 1) == 1)
        n++;
    wait(NULL);
    return n != 15;
}

static void *wake(void *unused)
{
    (void)unused;
    nap(300 * MILLISECOND, 0);
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    raw(SYS_futex, (long)&word, FUTEX_WAKE_PRIVATE, 1, 0);
    return NULL;
}

static int on_futex(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, wake, NULL) != 0)
        return 1;
    while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE))
        raw(SYS_futex, (long)&word, FUTEX_WAIT_PRIVATE, 0, 0);
    printf("%p\n", (void *)&word);
    return pthread_join(thread, NULL);
}

static int on_lock(const char *file)
{
    const int fd = open(file, O_CREAT | O_RDWR, 0600);

    if (fd < 0)
        return 1;
    if (fork() == 0) {
        const int other = open(file, O_RDWR);

        if (flock(other, LOCK_EX) < 0)
            _exit(1);
        nap(300 * MILLISECOND, 0);
        _exit(0);
    }
    nap(50 * MILLISECOND, 0);
    return flock(fd, LOCK_EX) < 0 || wait(NULL) < 0;
}

static void *rest(void *unused)
{
    nap(2000L * MILLISECOND, 0);
    return unused;
}

static int idle(int threads)
{
    pthread_t thread;

    for (int i = 1; i < threads; i++)
        if (pthread_create(&thread, NULL, rest, NULL) != 0)
            return 1;
    rest(NULL);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "sleep") == 0)
        return naps(12, 5, 25 * MILLISECOND, 0);
    if (strcmp(what, "short") == 0)
        return naps(500, 0, 1500000, 0);
    if (strcmp(what, "pipe") == 0)
        return from_child();
    if (strcmp(what, "futex") == 0)
        return on_futex();
    if (strcmp(what, "lock") == 0)
        return on_lock(argv[2]);
    if (strcmp(what, "own") == 0)
        return naps(12, 5, 25 * MILLISECOND, 1);
    if (strcmp(what, "mixed") == 0)
        return naps(24, 2, 60 * MILLISECOND, 2); // long: who looks may itself wait for a CPU
    if (strcmp(what, "hidden") == 0)
        return prctl(PR_SET_DUMPABLE, 0) < 0 || naps(12, 5, 25 * MILLISECOND, 0);
    if (strcmp(what, "idle") == 0)
        return idle(atoi(argv[2]));
    return 2;
}
