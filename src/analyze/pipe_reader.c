/* SPDX-License-Identifier: Apache-2.0
 * pipe_reader.c - a writer to a full pipe waits until somebody reads: who reads at the ends of its waits is the reader.
 *
 * Which descriptors are the two ends of one pipe is not recorded, and a chain of programs has several pipes.  A read makes
 * room and returns at once, so the reader's reads end where the writer's waits do, again and again.
 */
#include "analyze/pipe_reader.h"

#include "analyze/host_calls.h"
#include "analyze/wakes.h"
#include "base/map.h"

enum { FEWEST_WAITS = 3, LEAST_WAIT_NS = 50000, NEAR_NS = 1000000 };

static const double MATCHED = 0.7; /* of the waits, that a reader must end */
static const double CLEARLY = 0.5; /* of that, that another process may match at most */
static const double MOSTLY = 0.5;  /* of the samples, for one function to be told */

static bool is_one_of(hu_str name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hu_str_equal(name, hu_str_of(names[i])))
            return true;
    return false;
}

static bool is_write(hu_str name)
{
    static const char *const names[] = {"write",  "writev", "fwrite", "fputs",   "fputc",  "fprintf", "fflush",
                                        "fclose", "send",   "sendto", "sendmsg", "splice", "sendfile"};

    return is_one_of(name, names, HU_COUNT(names));
}

static bool is_read(hu_str name)
{
    static const char *const names[] = {"read",  "readv",  "fread", "fgets",    "getline", "getdelim",
                                        "fgetc", "fscanf", "recv",  "recvfrom", "recvmsg", "splice"};

    return is_one_of(name, names, HU_COUNT(names));
}

static bool is_on_pipe(const hu_ask *ask, const uint8_t *inner, uint32_t i)
{
    return ask->s.kind[i] == HU_KIND_OS_CALL && !inner[i] && hu_host_calls_class(ask, i) == HU_HOST_PIPE;
}

/* When a thread waits in writes to pipes: in calls, and where the scheduler's states are known, only while it sleeps. */
static bool find_waits(const hu_thread_asker *x, uint32_t track, hu_interval window, hu_intervals *out)
{
    const hu_ask   *ask = x->ask;
    const hu_track *t = &ask->tracks[track];
    hu_intervals    calls = {0}, sleeps = {0};
    size_t          kept = 0;

    *out = (hu_intervals){0};
    for (uint32_t k = 0; k < t->count; k++) {
        const uint32_t i = ask->order[t->first + k];
        const int64_t  end = hu_ask_end(ask, i) < window.end_ns ? hu_ask_end(ask, i) : window.end_ns;

        if (ask->s.dur_ns[i] >= LEAST_WAIT_NS && ask->s.start_ns[i] >= window.start_ns && end > ask->s.start_ns[i] &&
            is_on_pipe(ask, x->inner, i) && is_write(hu_ask_name(ask, i)) &&
            !hu_intervals_add(ask->scratch, &calls, ask->s.start_ns[i], end))
            return false;
    }
    if (!hu_intervals_unite(ask->scratch, &calls) || x->source != HU_STATES_SWITCHES || !t->n_stretches) {
        *out = calls;
        return !hu_arena_lacked(ask->scratch);
    }
    for (uint32_t k = 0; calls.n && k < t->n_stretches; k++) {
        const hu_stretch *s = &x->stretches[t->first_stretch + k];

        if (s->state == HU_THREAD_WAITING && !hu_intervals_add(ask->scratch, &sleeps, s->start_ns, s->end_ns))
            return false;
    }
    if (!hu_intervals_unite(ask->scratch, &sleeps) || !hu_intervals_intersect(ask->scratch, &calls, &sleeps, out))
        return false;
    for (size_t i = 0; i < out->n; i++)
        if (out->at[i].end_ns - out->at[i].start_ns >= LEAST_WAIT_NS)
            out->at[kept++] = out->at[i];
    out->n = kept;
    return true;
}

/* Does a thread sleep at a time, as far as the scheduler tells?  `*at`: where its stretches were left, times only grow. */
static bool sleeps_at(const hu_thread_asker *x, const hu_track *t, int64_t time_ns, uint32_t *at)
{
    const hu_stretch *s = &x->stretches[t->first_stretch];

    while (*at < t->n_stretches && s[*at].end_ns <= time_ns)
        ++*at;
    return *at < t->n_stretches && s[*at].start_ns <= time_ns && s[*at].state == HU_THREAD_WAITING;
}

/*
 * How many of the waits end where a read of this thread does.  Whom a read wakes may take its CPU, so that the read ends
 * later; but it is no sleeping thread that made room.
 */
static int64_t match(const hu_thread_asker *x, uint32_t track, const hu_intervals *waits)
{
    const hu_ask   *ask = x->ask;
    const hu_track *t = &ask->tracks[track];
    const bool      has_states = x->source == HU_STATES_SWITCHES && t->n_stretches;
    int64_t         n = 0;
    uint32_t        first = 0, state = 0;

    for (size_t w = 0; w < waits->n; w++) {
        const int64_t end = waits->at[w].end_ns;
        const bool    is_awake = has_states && !sleeps_at(x, t, end, &state);

        while (first < t->count && hu_ask_end(ask, ask->order[t->first + first]) < end - NEAR_NS)
            first++;
        for (uint32_t k = first; k < t->count; k++) {
            const uint32_t i = ask->order[t->first + k];

            if (ask->s.start_ns[i] > end + NEAR_NS / 10)
                break;
            if (is_on_pipe(ask, x->inner, i) && is_read(hu_ask_name(ask, i)) && hu_ask_end(ask, i) >= end - NEAR_NS &&
                (is_awake || hu_ask_end(ask, i) <= end + NEAR_NS)) {
                n++;
                break;
            }
        }
    }
    return n;
}

static void find_reader(const hu_thread_asker *x, const hu_intervals *waits, hu_pipe_reader *out)
{
    const hu_ask   *ask = x->ask;
    const hu_track *writer = &ask->tracks[out->writer];
    int64_t         second = 0;

    for (uint32_t t = 0; t < ask->n_tracks; t++) {
        const hu_track *track = &ask->tracks[t];
        int64_t         n;

        if (track->type != HU_TRACK_HOST || track->pid_is_text || track->pid == writer->pid || !track->count)
            continue;
        n = match(x, t, waits);
        if (n > out->matched) {
            second = out->reader != HU_NONE && ask->tracks[out->reader].pid != track->pid ? out->matched : second;
            out->matched = n;
            out->reader = t;
        } else if (out->reader != HU_NONE && track->pid != ask->tracks[out->reader].pid && n > second) {
            second = n;
        }
    }
    if ((double)out->matched < MATCHED * (double)waits->n || (double)second > CLEARLY * (double)out->matched) {
        out->reader = HU_NONE;
        out->matched = 0;
    }
}

typedef struct {
    uint32_t name, caller;
    int64_t  ns;
} doing;

/* The call of a class in which a thread spends most of some times, and its caller; or of all write calls on pipes. */
static bool find_call(const hu_thread_asker *x, uint32_t track, unsigned class, bool is_writing, const hu_intervals *in,
                      doing *most)
{
    const hu_ask   *ask = x->ask;
    const hu_track *t = &ask->tracks[track];
    HU_VEC(doing) list = {0};
    hu_map places;

    *most = (doing){0};
    if (!hu_map_init(&places, ask->scratch, 16))
        return false;
    for (uint32_t k = 0; k < t->count; k++) {
        const uint32_t        i = ask->order[t->first + k];
        hu_interval           call = {ask->s.start_ns[i], hu_ask_end(ask, i)};
        const hu_wait_detail *d;
        uint32_t             *place, caller;
        int64_t               ns;

        if (ask->s.kind[i] != HU_KIND_OS_CALL || x->inner[i] || (unsigned)hu_host_calls_class(ask, i) != class ||
            (is_writing && !is_write(hu_ask_name(ask, i))))
            continue;
        ns = hu_intervals_common(in, &(hu_intervals){.at = &call, .n = 1, .cap = 1});
        if (ns <= 0)
            continue;
        d = hu_wakes_detail(ask, i);
        caller = d ? d->caller : 0;
        place = hu_map_put(&places, (uint64_t)ask->s.name[i] << 32 | caller);
        if (!place)
            return false;
        if (*place == HU_MAP_NONE) {
            *place = (uint32_t)list.n;
            if (!hu_vec_push(ask->scratch, &list, ((doing){.name = ask->s.name[i], .caller = caller})))
                return false;
        }
        list.at[*place].ns += ns;
    }
    for (size_t i = 0; i < list.n; i++)
        *most = list.at[i].ns > most->ns ? list.at[i] : *most;
    return true;
}

/* The function that half of the reader's samples are in while the writer waits. */
static bool find_function(const hu_ask *ask, uint32_t track, const hu_intervals *in, hu_str *out)
{
    size_t               n, at = 0;
    const hu_cpu_sample *samples = hu_trace_cpu_samples(ask->trace, &n);
    uint32_t            *count = hu_arena_calloc(ask->scratch, hu_trace_string_count(ask->trace) + 1, sizeof *count);
    uint32_t             all = 0, most = 0;

    if (!count)
        return false;
    for (size_t i = 0; i < n; i++) {
        const uint32_t function = samples[i].track == track && samples[i].stack
                                      ? hu_trace_cpu_stack(ask->trace, samples[i].stack)->function
                                      : 0;

        for (; at < in->n && in->at[at].end_ns <= samples[i].time_ns; at++)
            ;
        if (!function || at == in->n || samples[i].time_ns < in->at[at].start_ns)
            continue;
        all++;
        count[function]++;
        most = count[function] > count[most] ? function : most;
    }
    if (most && (double)count[most] >= MOSTLY * (double)all)
        *out = hu_trace_text(ask->trace, most);
    return true;
}

static bool find_doing(const hu_thread_asker *x, const hu_intervals *waits, hu_pipe_reader *out)
{
    hu_thread_states s;
    doing            most;

    if (!hu_thread_states_measure(x, out->reader, waits, &s))
        return false;
    out->computes = true;
    out->doing_ns = hu_thread_states_sum(&s, HU_THREAD_RUNNING);
    for (unsigned in = 0; in < HU_WITHIN_COUNT; in++)
        if (in != HU_HOST_PIPE && s.ns[HU_THREAD_WAITING][in] > out->doing_ns) {
            out->computes = false;
            out->class = in < HU_HOST_CLASS_COUNT ? in : HU_HOST_CLASS_COUNT;
            out->doing_ns = s.ns[HU_THREAD_WAITING][in];
        }
    if (out->computes)
        return find_function(x->ask, out->reader, waits, &out->doing);
    if (!find_call(x, out->reader, out->class, false, waits, &most))
        return false;
    out->doing = hu_trace_text(x->ask->trace, most.name);
    out->doing_caller = hu_trace_text(x->ask->trace, most.caller);
    return true;
}

bool hu_pipe_reader_find(const hu_ask *ask, hu_interval window, hu_pipe_reader *out)
{
    hu_thread_asker asker;
    hu_intervals    best = {0};
    doing           most;

    *out = (hu_pipe_reader){.writer = HU_NONE,
                            .reader = HU_NONE,
                            .class = HU_HOST_CLASS_COUNT,
                            .call = HU_STR(""),
                            .caller = HU_STR(""),
                            .doing = HU_STR(""),
                            .doing_caller = HU_STR("")};
    if (!hu_thread_states_prepare(ask, &asker))
        return false;
    for (uint32_t t = 0; t < ask->n_tracks; t++) {
        hu_intervals waits;

        if (ask->tracks[t].type != HU_TRACK_HOST || !ask->tracks[t].count)
            continue;
        if (!find_waits(&asker, t, window, &waits))
            return false;
        if (waits.n >= FEWEST_WAITS && hu_intervals_length(&waits) > out->waited_ns) {
            out->writer = t;
            out->waited_ns = hu_intervals_length(&waits);
            out->waits = (int64_t)waits.n;
            best = waits;
        }
    }
    if (out->writer == HU_NONE)
        return true;
    if (!find_call(&asker, out->writer, HU_HOST_PIPE, true, &best, &most))
        return false;
    out->call = hu_trace_text(ask->trace, most.name);
    out->caller = hu_trace_text(ask->trace, most.caller);
    find_reader(&asker, &best, out);
    return out->reader == HU_NONE || find_doing(&asker, &best, out);
}
