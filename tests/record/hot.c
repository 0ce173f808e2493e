/* SPDX-License-Identifier: Apache-2.0
 * hot.c - a program that spins, sleeps or has many threads, for tests of the CPU recorder.
 *
 *     hot spin SECONDS [say] in hot_function, called by caller_function; prints what the process took of the CPU, in ns
 *     hot sleep SECONDS
 *     hot threads N          each spins for 20 ms
 *     hot forks N            children that spin for 20 ms, one after the other
 *     hot add N              calls hot_function N times: 2 million additions each
 *     hot switch N           two threads that wake each other N times
 *     hot reset SECONDS      gives all signals their default, and spins
 *     hot own SECONDS        handles all signals itself, spins, and prints how many came
 *     hot jit                spins in code that lies in no file; prints its address
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

static double cpu_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

__attribute__((noinline)) void hot_function(void);
__attribute__((noinline)) void caller_function(double seconds);

__attribute__((noinline)) void hot_function(void)
{
    for (uint64_t i = 0; i < 2000000; i++)
        sink += i * i;
}

__attribute__((noinline)) void caller_function(double seconds)
{
    const double end = cpu_now() + seconds;

    while (cpu_now() < end)
        hot_function();
}

static void print_cpu(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    printf("%lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
}

static void *thread_main(void *unused)
{
    caller_function(0.02);
    return unused;
}

static int threads(int n)
{
    pthread_t *all = calloc((size_t)n, sizeof *all);

    for (int i = 0; all && i < n; i++)
        if (pthread_create(&all[i], NULL, thread_main, NULL))
            return 1;
    for (int i = 0; all && i < n; i++)
        pthread_join(all[i], NULL);
    free(all);
    return all ? 0 : 1;
}

static int forks(int n)
{
    for (int i = 0; i < n; i++) {
        const pid_t child = fork();

        if (child == 0) {
            caller_function(0.02);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return 0;
}

static int ends[2][2];

static void *answer(void *count)
{
    char c;

    for (int i = 0; i < *(int *)count; i++)
        if (read(ends[0][0], &c, 1) != 1 || write(ends[1][1], "b", 1) != 1)
            break;
    return NULL;
}

static int switches(int n)
{
    pthread_t other;
    char      c;

    if (pipe(ends[0]) < 0 || pipe(ends[1]) < 0 || pthread_create(&other, NULL, answer, &n))
        return 1;
    for (int i = 0; i < n; i++)
        if (write(ends[0][1], "a", 1) != 1 || read(ends[1][0], &c, 1) != 1)
            return 1;
    pthread_join(other, NULL);
    return 0;
}

static volatile int signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

static int handle_all(void (*handler)(int), double seconds)
{
    for (int i = 1; i <= SIGRTMAX; i++) {
        struct sigaction action;

        memset(&action, 0, sizeof action);
        action.sa_handler = handler;
        if (i % 2)
            sigaction(i, &action, NULL);
        else
            signal(i, handler);
    }
    caller_function(seconds);
    errno = 0;
    for (int i = 0; i < 1000 && errno == 0; i++)
        usleep(10);
    printf("%d %d\n", signals, errno);
    return 0;
}

#if defined(__x86_64__)
/* mov ecx, imm32; dec ecx; jnz; ret */
static const unsigned char loop_code[] = {0xb9, 0, 0, 0, 0x40, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
#endif

static int jit(void)
{
#if defined(__x86_64__)
    void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*function)(void);
    char  path[64];
    FILE *map;

    if (code == MAP_FAILED)
        return 1;
    memcpy(code, loop_code, sizeof loop_code);
    memcpy(&function, &code, sizeof code);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    map = fopen(path, "w");
    if (!map)
        return 1;
    fprintf(map, "%llx %zx jitted::loop\n", (unsigned long long)(uintptr_t)code, sizeof loop_code);
    fclose(map);
    function();
    printf("%d\n", (int)getpid());
    return 0;
#else
    return 77;
#endif
}

int main(int argc, char **argv)
{
    const char  *what = argc > 1 ? argv[1] : "spin";
    const double number = argc > 2 ? strtod(argv[2], NULL) : 1;

    if (strcmp(what, "spin") == 0) {
        caller_function(number);
        if (argc > 3)
            print_cpu();
    } else if (strcmp(what, "sleep") == 0)
        usleep((useconds_t)(number * 1e6));
    else if (strcmp(what, "threads") == 0)
        return threads((int)number);
    else if (strcmp(what, "forks") == 0)
        return forks((int)number);
    else if (strcmp(what, "add") == 0)
        for (int i = 0; i < (int)number; i++)
            hot_function();
    else if (strcmp(what, "switch") == 0)
        return switches((int)number);
    else if (strcmp(what, "reset") == 0)
        return handle_all(SIG_DFL, number);
    else if (strcmp(what, "own") == 0)
        return handle_all(count_signal, number);
    else if (strcmp(what, "jit") == 0)
        return jit();
    return 0;
}
