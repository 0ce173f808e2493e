/* SPDX-License-Identifier: Apache-2.0
 * beside.c - each file by itself, then against the traces: the same GPU, kernels, job and time, as far as both say. */
#include "job/beside.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "across/roster.h"
#include "advise/say.h"
#include "ingest/ncu.h"
#include "ingest/node_order.h"
#include "job/fitting.h"

/* Nanoseconds since 1970 that are some time of this century, and no time since a machine started. */
static const int64_t LEAST_WALL_NS = INT64_C(1000000000000000000);
/* A dump is written minutes after a hang; what is a day apart is of another run. */
static const int64_t LONG_AFTER_NS = INT64_C(86400000000000);

static int read_counters(const char *path, const hu_limits *limits, hu_arena *arena, hu_counters *out, hu_error *err)
{
    const hu_input_options how = {.limits = *limits};
    hu_input              *in = hu_input_open(path, &how, err);
    int                    rc;

    if (!in)
        return err->code;
    rc = hu_ncu_read(in, arena, out, err);
    hu_input_close(in);
    return rc;
}

int hu_counters_read(const hu_inputs *inputs, const hu_limits *limits, hu_arena *arena, hu_counters *out, hu_error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < inputs->n; i++)
        rc = read_counters(inputs->at[i], limits, arena, out, err);
    return rc;
}

/* Of a file that breaks nothing of what came before it is lost. */
static int add_counters(const hu_inputs *files, const hu_limits *limits, hu_arena *arena, hu_beside *out,
                        hu_unread_list *unread, hu_error *err)
{
    out->counter_ends = hu_arena_calloc(arena, files->n + 1, sizeof *out->counter_ends);
    if (!out->counter_ends)
        return hu_fail_memory(err);
    for (size_t i = 0; i < files->n; i++) {
        const size_t before = out->counters.kernels.n;
        hu_error     why = {0};

        if (read_counters(files->at[i], limits, arena, &out->counters, &why) < 0) {
            out->counters.kernels.n = before;
            if (why.code == HU_ENOMEM || hu_unread_add_error(unread, arena, files->at[i], &why, err) < 0)
                return hu_fail_memory(err);
        }
        out->counter_ends[i] = out->counters.kernels.n;
    }
    return hu_kernel_group_all(&out->counters, arena, &out->groups, err);
}

/* A reader of dumps that refuses all of them says why once; each of them is unread. */
static int add_dumps(const hu_inputs *files, const hu_limits *limits, hu_arena *arena, hu_beside *out,
                     hu_unread_list *unread, hu_error *err)
{
    hu_error why = {0};

    if (hu_dumps_read(files, limits, arena, &out->dumps, &why) == 0 &&
        hu_flight_measure(out->dumps.at, out->dumps.n, arena, &out->flight, &why) == 0) {
        out->hangs = out->flight.cause != HU_FLIGHT_NOTHING;
        for (size_t i = 0; i < out->dumps.unread.n; i++)
            if (hu_unread_add(unread, arena, out->dumps.unread.at[i].file, out->dumps.unread.at[i].error, err) < 0)
                return err->code;
        return 0;
    }
    hu_dumps_free(&out->dumps);
    why.file[0] = '\0';
    for (size_t i = 0; why.code != HU_ENOMEM && i < files->n; i++)
        if (hu_unread_add_error(unread, arena, files->at[i], &why, err) < 0)
            return err->code;
    return why.code == HU_ENOMEM ? hu_fail_memory(err) : 0;
}

/* Logs of several nodes, or pieces of one, are one log. */
static int add_node(const hu_inputs *files, const hu_limits *limits, hu_arena *arena, hu_beside *out, hu_unread_list *unread,
                    hu_error *err)
{
    static const char alone[] = "processes of nvidia-smi pmon are reported alone: holdup report FILE";

    out->node.arena = arena;
    for (size_t i = 0; i < files->n; i++) {
        const size_t processes = out->node.processes.n;
        hu_error     why = {0};

        if (hu_node_log_read_path(&out->node, files->at[i], limits, &why) < 0 &&
            (why.code == HU_ENOMEM ? hu_fail_memory(err) : hu_unread_add_error(unread, arena, files->at[i], &why, err)) < 0)
            return err->code;
        if (out->node.processes.n > processes && out->node.files.at[out->node.files.n - 1].n == 0 &&
            hu_unread_add(unread, arena, hu_str_of(files->at[i]), HU_STR(alone), err) < 0)
            return err->code;
    }
    return hu_node_order(&out->node) ? 0 : hu_fail_memory(err);
}

int hu_beside_read(const hu_sorted_inputs *inputs, const hu_limits *limits, hu_arena *arena, hu_beside *out,
                   hu_unread_list *unread, hu_error *err)
{
    const hu_inputs *counters = &inputs->of[HU_INPUT_COUNTERS], *dumps = &inputs->of[HU_INPUT_DUMP],
                    *ras = &inputs->of[HU_INPUT_RAS], *node = &inputs->of[HU_INPUT_NODE], *logs = &inputs->of[HU_INPUT_LOG],
                    *sums = &inputs->of[HU_INPUT_SUMS];
    static const char alone[] = "results are reported alone: holdup report FILE";
    static const char alone_profile[] = "profiles of stacks are reported alone: holdup report FILE";
    const hu_inputs  *results = &inputs->of[HU_INPUT_RESULTS], *stacks = &inputs->of[HU_INPUT_PROFILE];
    int               rc = 0;

    *out = (hu_beside){.counter_files = counters,
                       .dump_files = dumps,
                       .ras_files = ras,
                       .node_files = node,
                       .log_files = logs,
                       .sums_files = sums,
                       .left = inputs->of[HU_INPUT_RANK].left};
    for (size_t i = 0; rc == 0 && i < results->n; i++)
        rc = hu_unread_add(unread, arena, hu_str_of(results->at[i]), HU_STR(alone), err);
    for (size_t i = 0; rc == 0 && i < stacks->n; i++)
        rc = hu_unread_add(unread, arena, hu_str_of(stacks->at[i]), HU_STR(alone_profile), err);
    if (rc == 0 && counters->n)
        rc = add_counters(counters, limits, arena, out, unread, err);
    if (rc == 0 && dumps->n)
        rc = add_dumps(dumps, limits, arena, out, unread, err);
    if (rc == 0 && ras->n)
        rc = hu_ras_files_read(ras, limits, arena, &out->ras, unread, err);
    if (rc == 0 && node->n)
        rc = add_node(node, limits, arena, out, unread, err);
    if (rc == 0 && logs->n)
        rc = hu_beside_logs_read(logs, &inputs->logs, limits, arena, out, unread, err);
    if (rc == 0 && sums->n)
        rc = hu_beside_sums_read(sums, limits, arena, out, unread, err);
    if (rc == 0 && out->ras.n)
        hu_ras_measure(out->ras.at, out->ras.n, &out->ras_says);
    out->ras_hangs = out->ras.n && out->ras_says.cause != HU_RAS_CAUSE_NOTHING && out->ras_says.cause != HU_RAS_CAUSE_RUNS &&
                     (out->ras_says.cause != HU_RAS_CAUSE_BEHIND || out->ras.n > 1);
    return rc;
}

const hu_inputs *hu_beside_files(const hu_beside *b, hu_input_kind kind)
{
    static const hu_inputs none;
    const hu_inputs *const of[HU_INPUT_KINDS] = {
        [HU_INPUT_COUNTERS] = b->counter_files, [HU_INPUT_DUMP] = b->dump_files, [HU_INPUT_RAS] = b->ras_files,
        [HU_INPUT_LOG] = b->log_files,          [HU_INPUT_SUMS] = b->sums_files, [HU_INPUT_NODE] = b->node_files};

    return of[kind] ? of[kind] : &none;
}

void hu_beside_free(hu_beside *beside)
{
    hu_dumps_free(&beside->dumps);
    hu_ras_files_free(&beside->ras);
}

/* --- does it fit? --- */

void hu_fit_doubt(hu_fitting *f, hu_str file, const char *format, ...)
{
    char    text[600];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (f->rc == 0)
        f->rc = hu_unread_add(&f->b->doubts, f->arena, file, hu_str_of(text), f->err);
}

/* "Tesla V100-SXM2-16GB" and "V100-SXM2-16GB" are one; profilers differ in the maker's name only. */
static bool is_same_device(hu_str a, hu_str b)
{
    const hu_str maker = HU_STR("NVIDIA ");

    if (hu_str_starts(a, maker))
        a = (hu_str){a.p + maker.n, a.n - maker.n};
    if (hu_str_starts(b, maker))
        b = (hu_str){b.p + maker.n, b.n - maker.n};
    return a.n == 0 || b.n == 0 || hu_str_has(a, b) || hu_str_has(b, a);
}

/* Limits of another GPU are no limits of this job: what a step would save is not said. */
static void mark_foreign(const hu_beside *b, const hu_digest *d, hu_measured *m)
{
    for (size_t g = 0; g < m->n; g++) {
        m->at[g].is_foreign = !is_same_device(b->counters.kernels.at[m->groups.at[g].shown].device, d->device);
        if (m->at[g].is_foreign)
            m->at[g].saved_ns = m->at[g].slower = (double)NAN;
    }
}

static bool doubt_device(hu_fitting *f, hu_str file, size_t from, size_t to, const hu_digest *d)
{
    const hu_measured *m = &f->b->measured;
    hu_str             other = HU_STR("");

    for (size_t g = 0; g < m->n; g++) {
        const size_t at = m->groups.at[g].shown;

        if (at >= from && at < to && m->at[g].is_foreign)
            other = f->b->counters.kernels.at[at].device;
    }
    if (other.n)
        hu_fit_doubt(f, file, "measured on %.*s, and the trace is of %.*s: durations and limits are not those of this job",
                     HU_FMT(other), HU_FMT(d->device));
    return other.n > 0;
}

static void doubt_kernels(hu_fitting *f, hu_str file, size_t from, size_t to)
{
    const hu_measured *m = &f->b->measured;
    size_t             n = 0, matched = 0, shapes = 0;

    for (size_t g = 0; g < m->n; g++) {
        if (m->groups.at[g].shown < from || m->groups.at[g].shown >= to)
            continue;
        n++;
        matched += m->at[g].match >= HU_MEASURED_FUNCTION;
        shapes += m->at[g].match == HU_MEASURED_OTHER_SHAPE;
    }
    if (n == 0 || matched)
        return;
    if (m->shapes->n == 0)
        hu_fit_doubt(f, file,
                     "the trace does not say how its kernels were launched, so that none of these can be found in it");
    else if (shapes)
        hu_fit_doubt(
            f, file,
            "its kernels have names of the trace's and never their grid and block: another size of problem; profile the "
            "same batch");
    else
        hu_fit_doubt(f, file, "none of its kernels is in the trace: is it of another program, or of another version?");
}

static void fit_counters(hu_fitting *f, const hu_digest *d)
{
    for (size_t i = 0, from = 0; i < f->b->counter_files->n; from = f->b->counter_ends[i++]) {
        const hu_str file = hu_str_of(f->b->counter_files->at[i]);

        if (!doubt_device(f, file, from, f->b->counter_ends[i], d))
            doubt_kernels(f, file, from, f->b->counter_ends[i]);
    }
}

bool hu_fit_wall(const hu_job *job, int64_t *from, int64_t *to)
{
    bool has = false;

    for (size_t i = 0; i < job->n; i++) {
        const hu_digest *d = job->digests[i];
        int64_t          a, b;

        if (d->steps.n == 0 || __builtin_add_overflow(d->info.base_ns, d->steps.at[0].host_start_ns, &a) ||
            __builtin_add_overflow(d->info.base_ns, d->steps.at[d->steps.n - 1].end_ns, &b) || a < LEAST_WALL_NS)
            continue;
        *from = !has || a < *from ? a : *from;
        *to = !has || b > *to ? b : *to;
        has = true;
    }
    return has;
}

hu_said hu_fit_say_apart(int64_t ns)
{
    static const struct {
        const char *word;
        int64_t     ns;
    } units[] = {{"days", INT64_C(86400000000000)}, {"hours", INT64_C(3600000000000)}, {"minutes", INT64_C(60000000000)}};
    hu_said s;

    for (size_t i = 0; i < HU_COUNT(units); i++)
        if (ns >= 2 * units[i].ns) {
            snprintf(s.t, sizeof s.t, "%lld %s", (long long)(ns / units[i].ns), units[i].word);
            return s;
        }
    return hu_say_time((double)ns);
}

static void doubt_time(hu_fitting *f, hu_str file, const char *what, int64_t first_ns, int64_t last_ns)
{
    int64_t from, to;

    if (last_ns < LEAST_WALL_NS || !hu_fit_wall(f->job, &from, &to))
        return;
    if (last_ns < from)
        hu_fit_doubt(f, file, "%s %s before the trace begins: it is of another run, or of an earlier part of this one", what,
                     hu_fit_say_apart(from - last_ns).t);
    else if (first_ns - to > LONG_AFTER_NS)
        hu_fit_doubt(f, file, "it begins %s after the trace ends: is it of another run?", hu_fit_say_apart(first_ns - to).t);
}

/* Ranks of the group of all; 0 unknown. */
static size_t world_of(const hu_flight_dump *d)
{
    for (size_t i = 0; i < d->groups.n; i++)
        if (hu_str_equal(d->groups.at[i].about, HU_STR("default_pg")))
            return d->groups.at[i].n;
    return 0;
}

/* Ranks of the largest communicator that an answer names; 0 unknown. */
static int64_t ranks_of(const hu_ras_status *s)
{
    int64_t most = 0;

    for (size_t i = 0; i < s->comms.n; i++)
        most = s->comms.at[i].size > most ? s->comms.at[i].size : most;
    return most;
}

/* A communicator has no more ranks than its job. */
static void fit_ras(hu_fitting *f, const hu_ras_files *files)
{
    const int64_t world = f->job->roster.world_size;

    for (size_t i = 0; i < files->n && world > 0; i++)
        if (ranks_of(&files->at[i]) > world)
            hu_fit_doubt(f, files->at[i].file, "has a communicator of %lld ranks, and the traces are of a job of %lld",
                         (long long)ranks_of(&files->at[i]), (long long)world);
}

static void fit_dump(hu_fitting *f, const hu_flight_dump *d)
{
    const int64_t world = f->job->roster.world_size;
    int64_t       first = 0, last = 0;

    if (world > 0 && d->rank >= world)
        hu_fit_doubt(f, d->file, "is of rank %lld, and the traces are of a job of %lld", (long long)d->rank,
                     (long long)world);
    else if (world > 0 && world_of(d) && (int64_t)world_of(d) != world)
        hu_fit_doubt(f, d->file, "is of a job of %zu ranks, and the traces are of one of %lld", world_of(d),
                     (long long)world);
    for (size_t i = 0; i < d->entries.n; i++) {
        const int64_t at = d->entries.at[i].created_ns;

        first = at && (!first || at < first) ? at : first;
        last = at > last ? at : last;
    }
    doubt_time(f, d->file, "its last call is", first, last);
}

/* The trace whose memory a snapshot may show: of its rank, by its name, or the only one. */
static const hu_digest *owner_of(hu_fitting *f, const hu_rank *snapshot)
{
    const int64_t rank = hu_roster_rank_of_name(snapshot->digest->info.file, f->job->n_snapshots);

    if (f->job->n == 1 && rank < 0)
        return f->job->digests[0];
    for (size_t i = 0; i < f->job->n; i++)
        if (rank >= 0 && f->job->digests[i]->info.rank == rank)
            return f->job->digests[i];
    if (rank >= 0 && f->job->digests[0]->info.rank >= 0)
        hu_fit_doubt(f, snapshot->digest->info.file, "is of rank %lld by its name, and no trace of that rank was given",
                     (long long)rank);
    return NULL;
}

static void fit_snapshot(hu_fitting *f, const hu_rank *snapshot)
{
    const hu_digest      *d = owner_of(f, snapshot), *s = snapshot->digest;
    const hu_memory_pool *p = &s->memory.at[0];
    bool                  has_device = false;

    doubt_time(f, s->info.file, "it ends", p->allocated.start_ns, p->peak_ns);
    if (!d || d->gpu_time.n_slices == 0)
        return;
    for (size_t i = 0; i < s->memory.n; i++)
        has_device |= s->memory.at[i].device == d->device_id || s->memory.at[i].device < 0;
    if (!has_device && d->device_id >= 0)
        hu_fit_doubt(f, s->info.file, "is of %.*s, and the trace of device %lld: is it of another rank?", HU_FMT(p->name),
                     (long long)d->device_id);
    for (size_t i = 0; i < d->n_devices; i++)
        if (d->devices[i].id == d->device_id && d->devices[i].memory_bytes > 0 &&
            p->reserved_bytes > d->devices[i].memory_bytes)
            hu_fit_doubt(f, s->info.file, "reserves more memory than the trace's GPU has (%.*s): it is of another GPU",
                         HU_FMT(d->device));
}

/* Why no rank's time shows in a monitor's log.  One that holds it for some is right for them. */
static void fit_node(hu_fitting *f)
{
    static const char *const words[] = {
        [HU_NODE_NONE] = "was read after the traces, since several processes read them; report without mpirun",
        [HU_NODE_OWN] = "the trace holds samples of its own already, which the report shows",
        [HU_NODE_NO_CLOCK] = "the trace does not say when it was taken, so that no sample can be laid beside it",
        [HU_NODE_NO_TIMES] = "has no times of day and cannot be aligned; `holdup report FILE` tells what it says alone",
        [HU_NODE_APART] = "none of its samples lies in the time of the trace",
        [HU_NODE_WHICH] = "is of several nodes, and the trace does not name its own; give the log of its node alone",
    };
    hu_node_fit fit = f->job->ranks[0].node;
    bool        is_added = false;

    for (size_t i = 0; i < f->job->n; i++) {
        is_added |= f->job->ranks[i].node == HU_NODE_ADDED;
        fit = f->job->ranks[i].node == HU_NODE_APART ? HU_NODE_APART : fit;
    }
    for (size_t i = 0; i < f->b->node.files.n; i++) {
        const hu_node_file *file = &f->b->node.files.at[i];
        const size_t        before = f->b->doubts.n;
        const hu_node_fit   own = file->last_ns == 0 ? HU_NODE_NO_TIMES : fit;

        if (file->bad_lines)
            hu_fit_doubt(f, file->file,
                         "%lld of its lines are no samples and were left out, the first at byte %lld: was a disk full?",
                         (long long)file->bad_lines, (long long)file->bad_offset);
        if (file->n == 0 || (is_added && own != HU_NODE_NO_TIMES)) /* a topology; a piece of what fits */
            continue;
        if (own == HU_NODE_APART || own == HU_NODE_WHICH)
            doubt_time(f, file->file, "its last sample is", file->first_ns, file->last_ns);
        if ((own != HU_NODE_APART && own != HU_NODE_WHICH) || f->b->doubts.n == (file->bad_lines ? before + 1 : before))
            hu_fit_doubt(f, file->file, "%s", words[own]);
    }
}

static int measure(const hu_beside *b, const hu_digest *d, hu_arena *arena, hu_measured *out, hu_error *err)
{
    const int rc = hu_measured_join(&b->counters, &b->groups, &d->kernel_shapes, hu_digest_step_count(d),
                                    d->steps.duration.mean, arena, out, err);

    if (rc == 0)
        mark_foreign(b, d, out);
    return rc;
}

/* Each rank has kernels and findings of its own. */
static int revise(hu_beside *b, const hu_job *job, size_t shown, hu_arena *arena, hu_error *err)
{
    int rc = 0;

    b->revised = hu_arena_calloc(arena, job->n + 1, sizeof *b->revised);
    if (!b->revised)
        return hu_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < job->n; i++) {
        hu_arena   *scratch = i == shown || !job->findings[i] ? NULL : hu_arena_new();
        hu_measured other = {0};
        hu_profile  profile = {&b->counters, i == shown ? &b->measured : &other};

        if (!job->findings[i])
            continue;
        if (i != shown)
            rc = scratch ? measure(b, job->digests[i], scratch, &other, err) : hu_fail_memory(err);
        if (rc == 0)
            rc = hu_findings_revise(job->findings[i], job->digests[i], &profile, &b->revised[b->n_revised].of, err);
        hu_arena_free(scratch);
        if (rc == 0 && b->revised[b->n_revised].of.n)
            b->revised[b->n_revised++].rank = i;
    }
    return rc;
}

const hu_revisions *hu_beside_revised(const hu_beside *b, size_t rank)
{
    for (size_t i = 0; i < b->n_revised; i++)
        if (b->revised[i].rank == rank)
            return &b->revised[i].of;
    return NULL;
}

size_t hu_beside_say_kernels(const hu_beside *b, char *text, size_t room)
{
    const hu_profile profile = {&b->counters, &b->measured};
    char             bounds[256];

    text[0] = '\0';
    if (b->measured.matched_ns <= 0 || !hu_say_measured_bounds(&profile, bounds, sizeof bounds))
        return 0;
    return (size_t)snprintf(text, room, " Nsight Compute measured %s of its kernel time: %s.",
                            hu_say_pct(hu_amount_pct((double)b->measured.matched_ns, (double)b->measured.all_ns)).t, bounds);
}

/* "rank 1", "ranks 1, 5", "100 ranks" */
static size_t say_ranks(const int64_t *ranks, size_t n, char *text, size_t room)
{
    size_t at = (size_t)snprintf(text, room, n == 1 ? "rank " : "ranks ");

    if (n > 8)
        return (size_t)snprintf(text, room, "%zu ranks", n);
    for (size_t i = 0; i < n && at < room; i++)
        at += (size_t)snprintf(text + at, room - at, "%s%lld", i ? ", " : "", (long long)ranks[i]);
    return at;
}

static bool is_in(int64_t rank, const int64_t *ranks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ranks[i] == rank)
            return true;
    return false;
}

size_t hu_beside_say_agreement(const hu_beside *b, char *text, size_t room)
{
    enum { MOST = 1024 };
    const hu_ras_answer *r = &b->ras_says;
    int64_t              ras[MOST];
    char                 a[128], c[128];
    int64_t              dumps[MOST];
    size_t               n = 0, n_dumps = 0, both = 0;

    text[0] = '\0';
    if (b->ras.n == 0 || b->dumps.n == 0 || !b->hangs || !r->is_accused || !r->comm || world_of(&b->dumps.at[0]) == 0 ||
        r->comm->size != (int64_t)world_of(&b->dumps.at[0]))
        return 0;
    for (size_t i = 0; i < r->odd->members.n && n < MOST; i++)
        if (r->odd->members.at[i].rank >= 0)
            ras[n++] = r->odd->members.at[i].rank;
    for (size_t i = 0; i < b->flight.n_places && n_dumps < MOST; i++)
        if (b->flight.places[i].is_culprit)
            dumps[n_dumps++] = b->flight.places[i].rank;
    for (size_t i = 0; i < n; i++)
        both += is_in(ras[i], dumps, n_dumps);
    if (n == 0 || n_dumps == 0)
        return 0;
    say_ranks(dumps, n_dumps, a, sizeof a);
    say_ranks(ras, n, c, sizeof c);
    if (both == n && n == n_dumps)
        return (size_t)snprintf(text, room, "The dumps and RAS both name %s.", a);
    return (size_t)snprintf(text, room, "The dumps name %s, and RAS %s: %s.", a, c,
                            both ? "what both name is the surer"
                                 : "they contradict each other, or are of different moments");
}

int hu_beside_join(hu_beside *beside, const hu_job *job, size_t shown, hu_arena *arena, hu_error *err)
{
    const hu_digest *d = job->digests[shown];
    hu_fitting       f = {.b = beside, .job = job, .arena = arena, .err = err};

    if (beside->counters.kernels.n) {
        f.rc = measure(beside, d, arena, &beside->measured, err);
        if (f.rc == 0)
            fit_counters(&f, d);
        if (f.rc == 0)
            f.rc = revise(beside, job, shown, arena, err);
    }
    for (size_t i = 0; i < beside->dumps.n; i++)
        fit_dump(&f, &beside->dumps.at[i]);
    if (beside->ras.n)
        fit_ras(&f, &beside->ras);
    if (hu_node_log_has_any(&beside->node))
        fit_node(&f);
    else if (beside->node.topologies.n)
        hu_fit_doubt(
            &f, hu_str_of(beside->node_files->at[0]),
            "holds a topology and no samples, which stand beside no trace; `holdup report FILE` tells what it says");
    for (size_t i = 0; i < job->n_snapshots; i++)
        fit_snapshot(&f, &job->snapshots[i]);
    for (size_t i = 0; i < beside->n_logs; i++)
        hu_fit_log(&f, &beside->logs[i], d);
    hu_fit_evidence(beside, job->findings[shown]);
    return f.rc;
}
