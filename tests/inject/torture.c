/* SPDX-License-Identifier: Apache-2.0
 * torture.c - what programs do that wrappers do not like; each way says what it saw, the same with and without us.
 *
 *     torture WAY [N]
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int   n;
static char *self;

static void check(int is_true, const char *what)
{
    if (!is_true) {
        fprintf(stderr, "%s: errno %d\n", what, errno);
        _exit(9);
    }
}

static void say(const char *what, long value)
{
    char      text[100];
    const int bytes = snprintf(text, sizeof text, "%s %ld\n", what, value);

    check(write(STDOUT_FILENO, text, (size_t)bytes) == bytes, "write");
}

static void storm(void)
{
    long sum = 0;

    for (int i = 0; i < n; i++) {
        const pid_t pid = fork();
        int         status;

        check(pid >= 0, "fork");
        if (pid == 0) {
            usleep(100);
            _exit(i % 100);
        }
        if (i % 2 == 0 || i == n - 1)
            while (waitpid(-1, &status, i == n - 1 ? 0 : WNOHANG) > 0)
                sum += WEXITSTATUS(status);
    }
    say("storm", sum);
}

/* Each image is started by another member of the family, some with an environment of their own. */
static void chain(void)
{
    char  left[12];
    char *words[] = {self, "chain", left, NULL}, *clean[] = {"ONLY=this", NULL}, *none[] = {NULL};
    char *preloads[] = {"LD_PRELOAD=", "ONLY=that", NULL};
    int   fd;

    usleep(2000);
    say("image", n);
    if (n == 0)
        return;
    snprintf(left, sizeof left, "%d", n - 1);
    check(execl("/nowhere", "x", (char *)NULL) == -1 && errno == ENOENT, "execl of nothing");
    switch (n % 10) {
    case 0:
        execve(self, words, clean);
        break;
    case 1:
        execl(self, self, "chain", left, (char *)NULL);
        break;
    case 2:
        execle(self, self, "chain", left, (char *)NULL, clean);
        break;
    case 3:
        execlp(self, self, "chain", left, (char *)NULL);
        break;
    case 4:
        execv(self, words);
        break;
    case 5:
        execvp(self, words);
        break;
    case 6:
        execvpe(self, words, preloads);
        break;
    case 7:
        fd = open(self, O_RDONLY | O_CLOEXEC);
        fexecve(fd, words, none);
        break;
    case 8:
        clearenv();
        execv(self, words);
        break;
#ifdef __GLIBC__
    case 9:
        execveat(AT_FDCWD, self, words, clean, 0);
        break;
#else
    case 9:
        execve(self, words, clean);
        break;
#endif
    }
    check(0, "exec");
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long            shared;

static void *count_up(void *unused)
{
    usleep(3000);
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&mutex);
        shared++;
        pthread_mutex_unlock(&mutex);
    }
    usleep(3000);
    return unused;
}

static void threads(void)
{
    pthread_attr_t small;
    pthread_t     *all = calloc((size_t)n, sizeof *all);

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (int i = 0; i < n; i++)
        check(pthread_create(&all[i], &small, count_up, NULL) == 0, "pthread_create");
    for (int i = 0; i < n; i++)
        check(pthread_join(all[i], NULL) == 0, "pthread_join");
    free(all);
    say("shared", shared);
}

static volatile sig_atomic_t ticks;
static int                   null;

static void on_alarm(int signal)
{
    const int saved = errno;

    (void)signal;
    ticks++;
    if (write(null, "x", 1) != 1)
        _exit(8);
    errno = saved;
}

static void start_alarms(long us, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, us}, {0, us}};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

static void alarms(void)
{
    char byte;
    int  fds[2];
    long bytes = 0;

    null = open("/dev/null", O_WRONLY);
    check(pipe(fds) == 0, "pipe");
    start_alarms(1000, on_alarm);
    while (ticks < n) {
        errno = 4242;
        check(write(fds[1], "y", 1) == 1, "write to pipe");
        check(read(fds[0], &byte, 1) == 1 && byte == 'y', "read from pipe");
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        check(errno == 4242, "errno");
        usleep(200);
        bytes++;
    }
    start_alarms(0, on_alarm);
    say("alarms", bytes > 0);
}

static sigjmp_buf out;

static void jump_out(int signal)
{
    (void)signal;
    siglongjmp(out, 1);
}

__attribute__((noinline)) static void sleep_deeper(int depth)
{
    char room[512];

    memset(room, depth, sizeof room);
    if (depth == 0)
        usleep(1500);
    else
        sleep_deeper(depth - 1);
    __asm__ volatile("" : : "r"(room) : "memory");
}

/* Out of a read that would never return, N times; and after each a sleep, further down the stack. */
static void jumps(void)
{
    int           fds[2];
    char          byte;
    volatile long jumped = 0;

    check(pipe(fds) == 0, "pipe");
    while (jumped < n) {
        if (sigsetjmp(out, 1) == 0) {
            start_alarms(2000, jump_out);
            check(read(fds[0], &byte, 1) < 0, "read returned");
        } else {
            start_alarms(0, jump_out);
            jumped++;
            sleep_deeper(20);
        }
    }
    say("jumps", jumped);
}

static void cleanup(void *unused)
{
    (void)unused;
    usleep(2000);
}

static void *to_be_cancelled(void *way)
{
    pthread_cond_t  never = PTHREAD_COND_INITIALIZER;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int             fds[2];
    char            byte;

    pthread_cleanup_push(cleanup, NULL);
    if (way) {
        check(pipe(fds) == 0, "pipe");
        check(read(fds[0], &byte, 1) == 1, "read");
    } else {
        pthread_mutex_lock(&lock);
        pthread_cond_wait(&never, &lock);
    }
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancels(void)
{
    long cancelled = 0;

    for (int i = 0; i < n; i++) {
        pthread_t thread;
        void     *result;

        check(pthread_create(&thread, NULL, to_be_cancelled, i % 2 ? &n : NULL) == 0, "pthread_create");
        usleep(3000);
        check(pthread_cancel(thread) == 0, "pthread_cancel");
        check(pthread_join(thread, &result) == 0, "pthread_join");
        cancelled += result == PTHREAD_CANCELED;
    }
    say("cancelled", cancelled);
}

#ifndef __GLIBC__
static void closefrom(int first)
{
    for (int fd = first; fd < 1024; fd++)
        close(fd);
}

#define close_range(first, last, flags) closefrom(first)
#endif

static void closes(void)
{
    const struct timespec t = {0, 1000};

    for (int i = 3; i < 40; i++)
        dup2(1, i);
    closefrom(3);
    for (int i = 0; i < n; i++)
        nanosleep(&t, NULL);
    close_range(3, ~0u, 0);
    for (int i = 0; i < n; i++)
        nanosleep(&t, NULL);
    say("closed", open("/dev/null", O_RDONLY));
}

static void demon(void)
{
    char name[64];
    int  fd;

    snprintf(name, sizeof name, "%s.done", self);
    check(daemon(1, 1) == 0, "daemon");
    usleep(20000);
    fd = creat(name, 0644);
    check(write(fd, "done\n", 5) == 5, "write");
    close(fd);
}

static void vforks(void)
{
    char *clean[] = {"ONLY=this", NULL}, left[12];
    char *words[] = {self, "nap", left, NULL};
    long  sum = 0;

    snprintf(left, sizeof left, "%d", 1);
    for (int i = 0; i < n; i++) {
        const pid_t pid = vfork();
        int         status;

        if (pid == 0) {
            if (i % 2)
                _exit(3);
            execve(self, words, clean);
            _exit(4);
        }
        check(waitpid(pid, &status, 0) == pid, "waitpid");
        sum += WEXITSTATUS(status);
    }
    say("vforks", sum);
}

static void nap(void)
{
    usleep(3000);
}

static void hang(void)
{
    int  fds[2];
    char byte;

    check(pipe(fds) == 0, "pipe");
    say("hangs", 1);
    check(read(fds[0], &byte, 1) == 1, "read");
}

static void *named(void *unused)
{
    pthread_setname_np(pthread_self(), "a-worker");
    usleep(2000);
    return unused;
}

static void names(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, named, NULL);
    pthread_join(thread, NULL);
    say("named", 1);
}

/* Loads and unloads a library whose constructor and destructor call everything. */
static void libraries(void)
{
    const char *path = getenv("TORTURE_LIBRARY");
    long        loaded = 0;

    for (int i = 0; i < n; i++) {
        void *library = dlopen(path, RTLD_NOW);

        check(library != NULL, "dlopen");
        check(dlclose(library) == 0, "dlclose");
        loaded++;
    }
    say("loaded", loaded);
}

/* Children of one thread while others are inside of calls, and of the slow path of a recorder. */
static void *busy(void *unused)
{
    char name[64];

    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "/nowhere/%d-%lx", i, (unsigned long)pthread_self());
        check(access(name, R_OK) != 0, "access");
    }
    return unused;
}

static void forks(void)
{
    pthread_t all[8];
    long      sum = 0;

    for (int i = 0; i < 8; i++)
        pthread_create(&all[i], NULL, busy, NULL);
    for (int i = 0; i < n; i++) {
        const pid_t pid = fork();
        int         status;

        if (pid == 0) {
            usleep(2000);
            access("/nowhere/child", R_OK);
            _exit(3);
        }
        check(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3, "child");
        sum++;
    }
    for (int i = 0; i < 8; i++)
        pthread_join(all[i], NULL);
    say("forks", sum);
}

static void end_exit(void)
{
    usleep(2000);
    _exit(7);
}
static void end_Exit(void)
{
    usleep(2000);
    _Exit(8);
}
static void end_quick(void)
{
    usleep(2000);
    quick_exit(9);
}
static void end_abort(void)
{
    usleep(2000);
    abort();
}
static void end_kill(void)
{
    usleep(2000);
    kill(getpid(), SIGKILL);
}
static void end_well(void)
{
    usleep(2000);
    exit(6);
}

static const struct {
    const char *name;
    void (*go)(void);
} ways[] = {
    {"storm", storm},     {"chain", chain},          {"threads", threads},     {"alarms", alarms}, {"jumps", jumps},
    {"cancels", cancels}, {"closes", closes},        {"demon", demon},         {"vforks", vforks}, {"nap", nap},
    {"hang", hang},       {"names", names},          {"libraries", libraries}, {"forks", forks},   {"_exit", end_exit},
    {"_Exit", end_Exit},  {"quick_exit", end_quick}, {"abort", end_abort},     {"kill", end_kill}, {"exit", end_well},
};

int main(int argc, char **argv)
{
    self = argv[0];
    n = argc > 2 ? atoi(argv[2]) : 1;
    for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
        if (strcmp(argv[1], ways[i].name) == 0) {
            ways[i].go();
            return 0;
        }
    return 2;
}
