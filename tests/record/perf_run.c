/* SPDX-License-Identifier: Apache-2.0
 * perf_run.c - runs a command under the CPU recorder alone, and says what was recorded.
 *
 *     perf_run SESSION [--hz=N] [--off] [--refuse=ERRNO] [--max-bytes=N] [--pid=N] [--kill] -- COMMAND ...
 *     perf_run SESSION                                            reads what is there
 *     perf_run . --exec --refuse=ERRNO -- COMMAND ...             becomes a command that is refused perf_event_open
 *
 * Writes SESSION/trace.pftrace and prints JSON.  --refuse makes perf_event_open fail, as seccomp does in a container.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/perf.h"
#include "record/perf_packets.h"
#include "record/perf_read.h"

static const char *option(int argc, char **argv, const char *name)
{
    const size_t n = strlen(name);

    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], name, n) == 0)
            return argv[i][n] == '=' ? argv[i] + n + 1 : argv[i] + n;
    return NULL;
}

static void refuse(int problem)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)problem),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
        perror("seccomp");
        exit(125);
    }
}

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void print_text(hu_str s)
{
    putchar('"');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"' || s.p[i] == '\\')
            putchar('\\');
        putchar((unsigned char)s.p[i] < 0x20 ? '?' : s.p[i]);
    }
    putchar('"');
}

static int run(int argc, char **argv, char **command)
{
    const char     *session = argv[1], *hz = option(argc, argv, "--hz"), *most = option(argc, argv, "--max-bytes");
    hu_perf_options options = {.hz = hz ? (unsigned)strtoul(hz, NULL, 10) : HU_PERF_DEFAULT_HZ,
                               .max_bytes = most ? strtoull(most, NULL, 10) : 0};
    hu_error        why = {0};
    hu_perf        *perf = NULL;
    int             gate[2], status = 0, rc = 0;
    pid_t           child;
    struct rusage   used;

    if (option(argc, argv, "--refuse"))
        refuse((int)strtol(option(argc, argv, "--refuse"), NULL, 10));
    if (pipe(gate) < 0)
        return 125;
    child = fork();
    if (child == 0) {
        char go;

        close(gate[1]);
        if (read(gate[0], &go, 1) == 1) {
            close(gate[0]);
            execvp(command[0], command);
        }
        _exit(127);
    }
    close(gate[0]);
    if (!option(argc, argv, "--off"))
        perf = hu_perf_start(&options, child, session, &why);
    if (why.code)
        fprintf(stderr, "%s\n", why.text);
    if (write(gate[1], "g", 1) != 1)
        return 125;
    close(gate[1]);
    while (waitpid(child, &status, WNOHANG) == 0) {
        const struct timespec pause = {0, 5000000};

        nanosleep(&pause, NULL);
        hu_perf_round(perf, true);
    }
    if (option(argc, argv, "--kill"))
        raise(SIGKILL);
    if (perf) {
        hu_perf_totals t;

        hu_perf_round(perf, true);
        t = hu_perf_so_far(perf);
        fprintf(stderr, "pages %u, cpus %u, user only %d, bytes %llu, lost %llu, cut %llu\n", t.pages, t.n_cpus,
                t.is_user_only, (unsigned long long)t.bytes, (unsigned long long)t.lost, (unsigned long long)t.cut);
    }
    rc = hu_perf_stop(perf);
    getrusage(RUSAGE_CHILDREN, &used);
    fprintf(stderr, "stop %d, child cpu %.6f\n", rc,
            (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
                1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void print_files(const hu_perf_files *f)
{
    static const char *const states[] = {"runnable_ns", "running_ns", "sleeping_ns", "dead_ns", "lost_ns", "alive_ns"};

    printf("{\"files\": %u, \"lost\": %llu, \"cut\": %llu, \"malformed\": %llu, \"is_estimate\": %d, \"user_only\": %d, "
           "\"period_ns\": %llu,\n \"samples\": %zu, \"changes\": %zu, \"threads\": [",
           f->n_files, (unsigned long long)f->lost, (unsigned long long)f->cut, (unsigned long long)f->malformed,
           f->is_estimate, f->is_user_only, (unsigned long long)f->period_ns, f->samples.n, f->changes.n);
    for (size_t i = 0; i < f->threads.n; i++) {
        const hu_perf_thread *t = &f->threads.at[i];

        printf(
            "%s\n  {\"pid\": %u, \"tid\": %u, \"samples\": %llu, \"switches\": %llu, \"first_ns\": %lld, \"last_ns\": %lld, ",
            i ? "," : "", t->pid, t->tid, (unsigned long long)t->samples, (unsigned long long)t->switches,
            (long long)t->first_ns, (long long)t->last_ns);
        for (int k = 0; k < HU_TASK_STATES; k++)
            printf("\"%s\": %lld, ", states[k], (long long)t->in_ns[k]);
        printf("\"name\": ");
        print_text(hu_perf_text(f, t->name));
        printf("}");
    }
    printf("]}\n");
}

/* The clocks as they are now, so that the packets' clock is known to the trace. */
static void put_clocks(hu_pbw *w, hu_out *out)
{
    static const clockid_t clocks[][2] = {{1, CLOCK_REALTIME}, {3, CLOCK_MONOTONIC}, {6, CLOCK_BOOTTIME}};
    size_t                 packet, snapshot;

    hu_pbw_clear(w);
    packet = hu_pb_write_open(w, 1);
    hu_pb_write_uint(w, 10, 1);
    snapshot = hu_pb_write_open(w, 6);
    for (size_t i = 0; i < 3; i++) {
        const size_t clock = hu_pb_write_open(w, 1);

        hu_pb_write_uint(w, 1, (uint64_t)clocks[i][0]);
        hu_pb_write_uint(w, 2, (uint64_t)now_ns(clocks[i][1]));
        hu_pb_write_close(w, clock);
    }
    hu_pb_write_close(w, snapshot);
    hu_pb_write_close(w, packet);
    hu_out_write(out, w->at, w->n);
}

static int convert(int argc, char **argv)
{
    const char             *pid = option(argc, argv, "--pid");
    const uint32_t          only = pid ? (uint32_t)strtoul(pid, NULL, 10) : 0;
    hu_perf_packets_options options = {.sequence = 7, .pids = pid ? &only : NULL, .n_pids = 1};
    hu_arena               *arena = hu_arena_new();
    hu_symbols             *symbols = hu_symbols_new(arena);
    hu_perf_files           files;
    hu_error                err = {0};
    hu_pbw                  w;
    hu_out                 *out;
    char                    path[4096];

    snprintf(path, sizeof path, "%s/trace.pftrace", argv[1]);
    out = hu_out_open_file(path, &err);
    if (!out || hu_perf_read(argv[1], arena, &files, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 125;
    }
    hu_pbw_init(&w, arena);
    put_clocks(&w, out);
    if (hu_perf_packets_write(&files, symbols, &options, &w, out, &err) < 0 || hu_out_close(out, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 125;
    }
    print_files(&files);
    hu_symbols_free(symbols);
    hu_arena_free(arena);
    return 0;
}

int main(int argc, char **argv)
{
    char **command = NULL;
    int    rc = 0, converted;

    if (argc < 2)
        return 125;
    for (int i = 2; i < argc && !command; i++)
        if (strcmp(argv[i], "--") == 0)
            command = argv + i + 1;
    if (command && command[0] && option(argc, argv, "--exec")) {
        refuse((int)strtol(option(argc, argv, "--refuse"), NULL, 10));
        execvp(command[0], command);
        return 127;
    }
    if (command && command[0])
        rc = run(argc, argv, command);
    converted = convert(argc, argv);
    return converted ? converted : rc;
}
