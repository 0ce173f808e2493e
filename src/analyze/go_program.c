/* SPDX-License-Identifier: Apache-2.0
 * go_program.c - goroutines wait in Go's own scheduler, which no system call shows.
 *
 * Its threads are no actors of the program: a thread without a goroutine to run waits in futex or epoll_pwait, whatever the
 * goroutines wait for, one of them (sysmon) sleeps again and again, and the main goroutine goes from thread to thread.  What
 * is known is when no thread ran, and for which function of the program the kernel was entered.
 */
#include "analyze/go_program.h"

#include <math.h>

#include "base/map.h"
#include "base/number.h"

typedef struct {
    int64_t samples, called, all; /* inside the kernel for it; of these in a call that has a name; and anywhere */
    hu_str  call;
} for_caller;

bool hu_go_program_is(const hu_ask *ask, int64_t pid)
{
    size_t             n;
    const hu_metadata *rows = hu_trace_metadata(ask->trace, &n);

    for (size_t i = 0; i < n; i++) {
        int64_t value;

        if (hu_str_equal(hu_trace_text(ask->trace, rows[i].key), HU_STR("holdup.go_process")) &&
            hu_parse_i64(hu_trace_text(ask->trace, rows[i].value), &value) && value == pid)
            return true;
    }
    return false;
}

static bool is_of(const hu_ask *ask, uint32_t track, int64_t pid)
{
    const hu_track *t = &ask->tracks[track];

    return t->type == HU_TRACK_HOST && !t->pid_is_text && !t->tid_is_text && t->pid == pid;
}

/* The life of the process without the time in which a thread of it ran, or could have. */
static bool measure_nobody(const hu_thread_asker *x, int64_t pid, double *out_ns)
{
    const hu_ask *ask = x->ask;
    hu_intervals  busy = {0}, lives = {0};

    *out_ns = (double)NAN;
    if (x->source != HU_STATES_SWITCHES)
        return true;
    for (uint32_t t = 0; t < ask->n_tracks; t++) {
        const hu_track *track = &ask->tracks[t];

        for (uint32_t k = 0; is_of(ask, t, pid) && k < track->n_stretches; k++) {
            const hu_stretch *s = &x->stretches[track->first_stretch + k];

            if (!hu_intervals_add(ask->scratch, &lives, s->start_ns, s->end_ns) ||
                (s->state != HU_THREAD_WAITING && !hu_intervals_add(ask->scratch, &busy, s->start_ns, s->end_ns)))
                return false;
        }
    }
    if (!hu_intervals_unite(ask->scratch, &busy) || !hu_intervals_unite(ask->scratch, &lives))
        return false;
    *out_ns = (double)(hu_intervals_length(&lives) - hu_intervals_common(&lives, &busy));
    return true;
}

/* A function of package main, or of a module that is named by where it lies: example.org/name. */
static bool is_of_program(hu_str function)
{
    for (size_t i = 0; i < function.n; i++) {
        if (function.p[i] == '/')
            return false;
        if (function.p[i] != '.')
            continue;
        if (i == 4 && memcmp(function.p, "main", 4) == 0)
            return true;
        return memchr(function.p + i, '/', function.n - i) != NULL;
    }
    return false;
}

/* "syscall.write": the call that entered the kernel. */
static hu_str call_of(hu_str function)
{
    static const char package[] = "syscall.";
    const size_t      n = sizeof package - 1;

    if (function.n <= n || memcmp(function.p, package, n) != 0 || function.p[n] < 'a' || function.p[n] > 'z')
        return HU_STR("");
    return (hu_str){function.p + n, function.n - n};
}

static bool measure_kernel(const hu_ask *ask, int64_t pid, hu_go_program *out)
{
    size_t               n;
    const hu_cpu_sample *samples = hu_trace_cpu_samples(ask->trace, &n);
    HU_VEC(for_caller) callers = {0};
    HU_VEC(uint32_t) names = {0};
    hu_map place_of;

    if (!hu_map_init(&place_of, ask->scratch, 16))
        return false;
    for (size_t i = 0; i < n; i++) {
        hu_str call = HU_STR("");

        if (!is_of(ask, samples[i].track, pid) || !hu_select_in(ask->scope, samples[i].time_ns))
            continue;
        out->samples++;
        out->kernel_samples += samples[i].is_kernel;
        for (uint32_t at = samples[i].stack; at;) {
            const hu_cpu_stack *stack = hu_trace_cpu_stack(ask->trace, at);
            const hu_str        name = hu_trace_text(ask->trace, stack->function);
            uint32_t           *place;

            call = call.n ? call : call_of(name);
            at = stack->caller;
            if (!is_of_program(name))
                continue;
            place = hu_map_put(&place_of, stack->function);
            if (!place)
                return false;
            if (*place == HU_MAP_NONE) {
                if (!hu_vec_push(ask->scratch, &callers, ((for_caller){0})) ||
                    !hu_vec_push(ask->scratch, &names, stack->function))
                    return false;
                *place = (uint32_t)callers.n - 1;
            }
            callers.at[*place].all++;
            if (samples[i].is_kernel) {
                callers.at[*place].samples++;
                callers.at[*place].called += call.n > 0;
                callers.at[*place].call = call.n ? call : callers.at[*place].call;
            }
            break;
        }
    }
    out->caller = out->call = HU_STR("");
    for (size_t i = 0; i < callers.n; i++)
        if (callers.at[i].samples > out->caller_samples) {
            out->caller_samples = callers.at[i].samples;
            out->call_samples = callers.at[i].called;
            out->caller_all = callers.at[i].all;
            out->caller = hu_trace_text(ask->trace, names.at[i]);
            out->call = callers.at[i].call.n ? callers.at[i].call : HU_STR("");
        }
    return true;
}

bool hu_go_program_measure(const hu_thread_asker *asker, int64_t pid, hu_go_program *out)
{
    *out = (hu_go_program){.caller = HU_STR(""), .call = HU_STR(""), .nobody_ns = (double)NAN};
    out->is_go = hu_go_program_is(asker->ask, pid);
    return !out->is_go || (measure_nobody(asker, pid, &out->nobody_ns) && measure_kernel(asker->ask, pid, out));
}
