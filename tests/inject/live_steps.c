/* SPDX-License-Identifier: Apache-2.0
 * live_steps.c - steps with phases, and a log of each marker with the clock before and behind it: LOG STEPS [ACTION ...]
 *
 *     more N       N more steps          await FILE    until there is such a file
 *     exec N       this program again, with N steps and a log of its own (LOG.exec)
 *     fork N       a child makes N steps (LOG.fork) and ends; waits for it
 *     hang         inside of a step, in a checkpoint, until it is killed
 *     exit N       now
 *     storm N      N steps at once, which the log does not have, beside a timer whose handler marks a step in every tenth
 *                  tick, and beside a thread with phases of its own
 */
#include <holdup_annotate.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static FILE   *log_file;
static int64_t number;

static long long now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void nap_us(long us)
{
    nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

#define LOGGED(name, ...)                                           \
    do {                                                            \
        const long long before = now();                             \
        __VA_ARGS__;                                                \
        fprintf(log_file, "%s %lld %lld\n", (name), before, now()); \
    } while (0)

static void one_step(void)
{
    LOGGED("step", holdup_step_number(number++));
    LOGGED("push data-loading", holdup_phase_push(HOLDUP_PHASE_DATA));
    nap_us(800);
    LOGGED("pop", holdup_phase_pop());
    LOGGED("push copies", holdup_phase_push(HOLDUP_PHASE_TRANSFER));
    nap_us(100);
    LOGGED("pop", holdup_phase_pop());
    LOGGED("push forward", holdup_phase_push(HOLDUP_PHASE_FORWARD));
    nap_us(500);
    LOGGED("push", holdup_range_push("attention")); /* no cause of its own */
    nap_us(number % 5 * 2000);
    LOGGED("push checkpoint", holdup_phase_push(HOLDUP_PHASE_CHECKPOINT));
    nap_us(300);
    LOGGED("pop", holdup_phase_pop());
    LOGGED("pop", holdup_range_pop());
    LOGGED("pop", holdup_phase_pop());
    nap_us(400);
    holdup_count(HOLDUP_SAMPLES, 8);
    holdup_count(HOLDUP_TOKENS, 1000);
}

static void steps(int n)
{
    for (int i = 0; i < n; i++)
        one_step();
    LOGGED("end", holdup_step_end());
    fflush(log_file);
}

static volatile bool is_over;

static void on_tick(int signal)
{
    static unsigned ticks;

    (void)signal;
    if (++ticks % 10 == 0)
        holdup_step();
    holdup_phase_push(HOLDUP_PHASE_CHECKPOINT);
    holdup_phase_pop();
}

static void *other(void *unused)
{
    (void)unused;
    while (!is_over) {
        holdup_phase_push(HOLDUP_PHASE_BACKWARD);
        holdup_count(HOLDUP_SAMPLES, 1);
        holdup_phase_pop();
    }
    return NULL;
}

static void storm(long n)
{
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    pthread_t              thread;
    sigset_t               alarm;

    signal(SIGALRM, on_tick);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL); /* the handler runs on the thread that makes the steps */
    holdup_step();
    if (pthread_create(&thread, NULL, other, NULL) != 0)
        exit(6);
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (long i = 0; i < n; i++) {
        holdup_step();
        holdup_phase_push(HOLDUP_PHASE_FORWARD);
        holdup_phase_pop();
    }
    setitimer(ITIMER_REAL, &never, NULL);
    is_over = true;
    pthread_join(thread, NULL);
    holdup_step_end();
}

static void open_log(const char *path, const char *suffix)
{
    char text[4096];

    snprintf(text, sizeof text, "%s%s", path, suffix);
    log_file = fopen(text, "w");
    if (!log_file)
        exit(9);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    open_log(argv[1], "");
    steps(atoi(argv[2]));
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "hang") == 0) {
            holdup_step_number(number);
            holdup_phase_push(HOLDUP_PHASE_CHECKPOINT);
            for (;;)
                pause();
        }
        if (i + 1 == argc)
            return 2;
        if (strcmp(argv[i], "more") == 0)
            steps(atoi(argv[i + 1]));
        if (strcmp(argv[i], "storm") == 0)
            storm(atol(argv[i + 1]));
        if (strcmp(argv[i], "await") == 0)
            while (access(argv[i + 1], F_OK) < 0)
                nap_us(10000);
        if (strcmp(argv[i], "exec") == 0) {
            char path[4096];

            snprintf(path, sizeof path, "%s.exec", argv[1]);
            execl("/proc/self/exe", argv[0], path, argv[i + 1], (char *)NULL);
            return 8;
        }
        if (strcmp(argv[i], "fork") == 0) {
            const pid_t child = fork();

            if (child == 0) {
                open_log(argv[1], ".fork");
                number = 0;
                steps(atoi(argv[i + 1]));
                return 0;
            }
            fprintf(log_file, "child %d 0\n", (int)child);
            if (waitpid(child, NULL, 0) != child)
                return 7;
        }
        if (strcmp(argv[i], "exit") == 0)
            exit(atoi(argv[i + 1]));
        i++;
    }
    return 0;
}
