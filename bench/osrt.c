/* SPDX-License-Identifier: Apache-2.0
 * osrt.c - what the OS runtime door adds to a call: the C library's function beside ours, in one process.
 *
 *     HOLDUP_SESSION=DIR LD_PRELOAD=libholdup-inject.so osrt CONTROL     lines of: case, variant, median ns, ns added
 *     osrt loop ROUNDS                           median ns of one write, by plain calls through the PLT, 1,000 in a round
 *
 * Variants take turns in every round, and what is added is the median of the rounds' differences: a busy machine
 * disturbs neighbours alike.  wait is sem_wait of a semaphore that is up: a timed call that is no system call, and so the
 * measure of what timing costs.  A second thread exists, so that locks are those of programs with threads.  CONTROL is the session's file, by which the gate is opened and closed from here.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "protocol/format.h"

enum { ROUNDS = 401, CALLS = 1000 };

typedef enum { PLAIN, PAUSED, OPEN, RECORDED, VARIANTS } variant;

static const char *const variant_names[VARIANTS] = {"plain", "paused", "open", "recorded"};

static struct {
    ssize_t (*write)(int, const void *, size_t);
    ssize_t (*read)(int, void *, size_t);
    int (*lock)(pthread_mutex_t *);
    int (*unlock)(pthread_mutex_t *);
    int (*byte)(FILE *);
    int (*wait)(sem_t *, const struct timespec *);
    int (*take)(sem_t *);
    int (*post)(sem_t *);
} volatile now, theirs, ours;

static int             null, zero;
static FILE           *stream;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t           semaphore;

static const struct timespec never = {INT32_MAX, 0};
static hu_control           *control;

static double ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#define CASE(name, call)                  \
    static void name(void)                \
    {                                     \
        char byte = 0;                    \
                                          \
        for (int i = 0; i < CALLS; i++) { \
            call;                         \
        }                                 \
        (void)byte;                       \
    }

CASE(case_write, if (now.write(null, &byte, 1) != 1) abort())
CASE(case_read, if (now.read(zero, &byte, 1) != 1) abort())
CASE(case_mutex, now.lock(&mutex); now.unlock(&mutex))
CASE(case_wait, now.wait(&semaphore, &never))
CASE(case_semaphore, now.post(&semaphore); now.take(&semaphore))
CASE(case_byte, if (now.byte(stream) == EOF) abort())
CASE(case_gettid, syscall(SYS_gettid))
#if defined(__x86_64__)
CASE(case_clock, byte ^= (char)__builtin_ia32_rdtsc())
#else
CASE(case_clock, byte ^= (char)(int)ns())
#endif

static const struct {
    const char *name;
    void (*go)(void);
    int is_ours;
} cases[] = {
    {"clock", case_clock, 0}, {"gettid", case_gettid, 0}, {"wait", case_wait, 1},           {"write", case_write, 1},
    {"read", case_read, 1},   {"mutex", case_mutex, 1},   {"semaphore", case_semaphore, 1}, {"fgetc", case_byte, 1},
};

enum { CASES = sizeof cases / sizeof *cases };

static double took[CASES][VARIANTS][ROUNDS];

static void choose(variant v)
{
    if (v == PLAIN)
        now = theirs;
    else
        now = ours;
    if (control) {
        control->mask = v == PAUSED || v == PLAIN ? 0 : HU_DOOR_OSRT;
        control->os_threshold = v == RECORDED ? 0 : UINT64_MAX;
    }
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *of)
{
    qsort(of, ROUNDS, sizeof *of, by_size);
    return of[ROUNDS / 2];
}

static void find(void)
{
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

    if (!libc)
        exit(1);
#define FIND(member, name)                                   \
    *(void **)(uintptr_t)&theirs.member = dlsym(libc, name); \
    *(void **)(uintptr_t)&ours.member = dlsym(RTLD_DEFAULT, name)
    FIND(write, "write");
    FIND(read, "read");
    FIND(lock, "pthread_mutex_lock");
    FIND(unlock, "pthread_mutex_unlock");
    FIND(byte, "fgetc");
    FIND(wait, "sem_timedwait");
    FIND(take, "sem_wait");
    FIND(post, "sem_post");
}

static void *idle(void *unused)
{
    pause();
    return unused;
}

static int loop(long rounds)
{
    const int fd = open("/dev/null", O_WRONLY);
    double   *each = calloc((size_t)rounds, sizeof *each);

    for (long r = 0; r < rounds; r++) {
        const double start = ns();

        for (int i = 0; i < CALLS; i++)
            if (write(fd, "x", 1) != 1)
                return 1;
        each[r] = (ns() - start) / CALLS;
    }
    qsort(each, (size_t)rounds, sizeof *each, by_size);
    printf("%.2f\n", each[rounds / 2]);
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t second;
    int       fd;

    if (argc == 3 && strcmp(argv[1], "loop") == 0)
        return loop(atol(argv[2]));
    if (argc != 2 || (fd = open(argv[1], O_RDWR)) < 0)
        return 2;
    control = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (control == MAP_FAILED)
        return 1;
    null = open("/dev/null", O_WRONLY);
    zero = open("/dev/zero", O_RDONLY);
    stream = fopen("/dev/zero", "r");
    find();
    if (pthread_create(&second, NULL, idle, NULL) != 0)
        return 1;
    for (int round = 0; round < ROUNDS; round++)
        for (int c = 0; c < CASES; c++)
            for (int v = 0; v < (cases[c].is_ours ? VARIANTS : 1); v++) {
                double start;

                sem_init(&semaphore, 0, CALLS);
                choose((variant)((v + round) % (cases[c].is_ours ? VARIANTS : 1)));
                start = ns();
                cases[c].go();
                took[c][(v + round) % (cases[c].is_ours ? VARIANTS : 1)][round] = (ns() - start) / CALLS;
            }
    for (int c = 0; c < CASES; c++)
        for (int v = 0; v < (cases[c].is_ours ? VARIANTS : 1); v++) {
            double added[ROUNDS], all[ROUNDS];

            for (int round = 0; round < ROUNDS; round++) {
                all[round] = took[c][v][round];
                added[round] = all[round] - took[c][PLAIN][round];
            }
            printf("%s %s %.2f %.2f\n", cases[c].name, variant_names[v], median(all), median(added));
        }
    return 0;
}
