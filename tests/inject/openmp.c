/* SPDX-License-Identifier: Apache-2.0
 * openmp.c - parallel regions of each kind, for an OpenMP runtime with OMPT.  It prints what it counted, and its seconds.
 *
 * Threads sleep instead of computing: how long that takes does not depend on who else has the CPUs. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, PIECES = 16 };

static void __attribute__((noinline)) nap(int us)
{
    usleep((useconds_t)us);
}

/* The first quarter of the pieces takes three times as long: all of it is the first thread's, if pieces are dealt in turn. */
static void __attribute__((noinline)) solve_static(void)
{
#pragma omp parallel for schedule(static) num_threads(THREADS)
    for (int i = 0; i < PIECES; i++)
        nap(i < PIECES / THREADS ? 60000 : 20000);
}

static void __attribute__((noinline)) solve_dynamic(void)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(THREADS)
    for (int i = 0; i < PIECES; i++)
        nap(i < PIECES / THREADS ? 60000 : 20000);
}

static void __attribute__((noinline)) solve_even(void)
{
#pragma omp parallel for schedule(static) num_threads(THREADS)
    for (int i = 0; i < PIECES; i++)
        nap(50000);
}

static void loop(void (*solve)(void), int n)
{
    for (int i = 0; i < n; i++) {
        solve();
        nap(2000);
    }
}

static void nested(void)
{
    omp_set_max_active_levels(2);
    for (int i = 0; i < 5; i++) {
#pragma omp parallel num_threads(2)
        {
#pragma omp parallel num_threads(2)
            nap(500);
        }
    }
}

static void tasks(void)
{
#pragma omp parallel num_threads(3)
#pragma omp          single
    for (int i = 0; i < 12; i++) {
#pragma omp task
        nap(4000);
    }
}

static long fibonacci(int n)
{
    long a, b;

    if (n < 2)
        return n;
#pragma omp task shared(a)
    a = fibonacci(n - 1);
#pragma omp task shared(b)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static void tiny_tasks(void)
{
    long found = 0;

#pragma omp parallel num_threads(3)
#pragma omp          single
    found = fibonacci(20);
    printf("%ld\n", found);
}

static void critical(void)
{
#pragma omp parallel num_threads(3)
    for (int i = 0; i < 4; i++) {
#pragma omp critical
        nap(10000);
    }
}

static void barriers(void)
{
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 6; i++) {
        nap(omp_get_thread_num() == i % 2 ? 3000 : 500);
#pragma omp barrier
    }
}

static void many(int n, int threads)
{
    long sum = 0;

    for (int i = 0; i < n; i++) {
#pragma omp parallel num_threads(threads) reduction(+ : sum)
        sum++;
    }
    printf("%ld\n", sum);
}

static void forks(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp single
        {
            const pid_t child = fork();
            int         status = 0;

            if (child == 0)
                _exit(3);
            waitpid(child, &status, 0);
            printf("%d\n", WEXITSTATUS(status));
        }
        nap(2000);
    }
}

static void child_works(void)
{
    const pid_t child = fork();
    int         status = 0;

    if (child == 0) {
#pragma omp parallel num_threads(2)
        nap(3000);
        exit(4);
    }
    waitpid(child, &status, 0);
#pragma omp parallel num_threads(2)
    nap(3000);
    printf("%d\n", WEXITSTATUS(status));
}

static void leaves(void)
{
#pragma omp parallel num_threads(2)
    {
        nap(1000);
        if (omp_get_thread_num() == 1)
            exit(5);
        nap(1000000);
    }
}

int main(int argc, char **argv)
{
    const char  *what = argc > 1 ? argv[1] : "";
    const int    n = argc > 2 ? atoi(argv[2]) : 1;
    const double start = omp_get_wtime();

    if (strcmp(what, "static") == 0)
        loop(solve_static, n);
    else if (strcmp(what, "dynamic") == 0)
        loop(solve_dynamic, n);
    else if (strcmp(what, "even") == 0)
        loop(solve_even, n);
    else if (strcmp(what, "nested") == 0)
        nested();
    else if (strcmp(what, "tasks") == 0)
        tasks();
    else if (strcmp(what, "tiny-tasks") == 0)
        tiny_tasks();
    else if (strcmp(what, "critical") == 0)
        critical();
    else if (strcmp(what, "barriers") == 0)
        barriers();
    else if (strcmp(what, "many") == 0)
        many(n, argc > 3 ? atoi(argv[3]) : 1);
    else if (strcmp(what, "forks") == 0)
        forks();
    else if (strcmp(what, "child") == 0)
        child_works();
    else if (strcmp(what, "leaves") == 0)
        leaves();
    printf("seconds %.6f\n", omp_get_wtime() - start);
    return 0;
}
