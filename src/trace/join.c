/* SPDX-License-Identifier: Apache-2.0
 * join.c - appends a piece of a trace to the whole: each id of the piece becomes one of the whole.
 *
 * Pieces come in the order of the file, and each table is walked in its own order, so texts, tracks and rows get the
 * numbers that they would have got had the file been read in one go.  Rows that were found equal in one piece may be
 * found equal to a row of the whole, too: which of several equal rows a slice points to has no meaning.
 */
#include <assert.h>

#include "trace/builder_state.h"

/* For each id of the piece, the one of the whole. */
typedef struct {
    uint32_t *texts, *tracks;
    uint32_t *collectives, *geometries, *waits; /* by row */
    uint32_t *details[HU_KIND_COUNT];           /* by row; NULL: no slice of that kind has any */
} numbers;

/* A row that another one stores as 1 + row, 0 none. */
static uint32_t number_of(const uint32_t *list, uint32_t one_based)
{
    return one_based ? list[one_based - 1] : 0;
}

static hu_builder_id id_of(const numbers *m, hu_builder_id id)
{
    return id.is_text ? (hu_builder_id){m->texts[id.value], true} : id;
}

/* All lists of numbers lie in one block of the piece, which is used again. */
static bool make_lists(hu_builder *piece, numbers *m)
{
    const hu_trace *t = piece->trace;
    uint32_t       *at;
    const struct {
        uint32_t **list;
        size_t     n;
    } lists[] = {
        {&m->texts, t->strings.entries.n},
        {&m->tracks, t->tracks.n},
        {&m->collectives, t->collectives.n},
        {&m->geometries, t->geometries.n},
        {&m->waits, t->waits.n},
        {&m->details[HU_KIND_CPU_OP], t->ops.n},
        {&m->details[HU_KIND_KERNEL], t->kernels.n},
        {&m->details[HU_KIND_MEMCPY], t->copies.n},
        {&m->details[HU_KIND_RUNTIME], t->calls.n},
        {&m->details[HU_KIND_SYNC], t->syncs.n},
        {&m->details[HU_KIND_PYTHON], t->pythons.n},
        {&m->details[HU_KIND_OS_CALL], t->os_calls.n},
        {&m->details[HU_KIND_OPENMP], t->omps.n},
        {&m->details[HU_KIND_MPI], t->mpi_calls.n},
    };
    size_t total = 0;

    for (size_t i = 0; i < HU_COUNT(lists); i++)
        total += lists[i].n;
    piece->numbers.n = 0;
    if (!hu_vec_reserve(piece->scratch, &piece->numbers, total))
        return false;
    at = piece->numbers.at;
    for (size_t i = 0; i < HU_COUNT(lists); i++) {
        *lists[i].list = at;
        at += lists[i].n;
    }
    m->details[HU_KIND_USER] = m->details[HU_KIND_OTHER] = m->details[HU_KIND_CPU_OP];
    m->details[HU_KIND_COLLECTIVE] = m->details[HU_KIND_KERNEL];
    m->details[HU_KIND_MEMSET] = m->details[HU_KIND_MEMCPY];
    m->details[HU_KIND_DRIVER] = m->details[HU_KIND_RUNTIME];
    return true;
}

static void join_texts(hu_builder *whole, const hu_trace *from, const numbers *m)
{
    if (!hu_intern_add_all(&whole->trace->strings, &from->strings, m->texts))
        hu_builder_no_memory(whole);
    else if (whole->trace->strings.bytes > (uint64_t)whole->limits.string_bytes)
        hu_builder_fail_texts(whole);
}

static void join_tracks(hu_builder *whole, const hu_trace *from, const numbers *m)
{
    for (size_t i = 0; i < from->tracks.n; i++) {
        hu_track track = from->tracks.at[i];

        if (track.pid_is_text)
            track.pid = m->texts[track.pid];
        if (track.tid_is_text)
            track.tid = m->texts[track.tid];
        track.name = m->texts[track.name];
        m->tracks[i] = hu_builder_find_track(whole, &track);
    }
}

/* Operators, kernels and calls, with the rows that they point to. */
static void join_work(hu_builder *whole, const hu_trace *from, const numbers *m)
{
    for (size_t i = 0; i < from->collectives.n; i++) {
        hu_collective_detail row = from->collectives.at[i];
        uint32_t *const      texts[] = {
                 &row.name, &row.dtype, &row.in_split, &row.out_split, &row.group, &row.group_description, &row.group_ranks};

        for (size_t k = 0; k < HU_COUNT(texts); k++)
            *texts[k] = m->texts[*texts[k]];
        m->collectives[i] = hu_builder_collective_detail(whole, &row);
    }
    for (size_t i = 0; i < from->ops.n; i++) {
        hu_op_detail row = from->ops.at[i];

        row.dims = m->texts[row.dims];
        row.types = m->texts[row.types];
        row.strides = m->texts[row.strides];
        row.concrete = m->texts[row.concrete];
        if (row.extra) {
            hu_op_extra extra = from->op_extras.at[row.extra - 1];

            extra.stack = m->texts[extra.stack];
            extra.module = m->texts[extra.module];
            extra.backend = m->texts[extra.backend];
            extra.file = m->texts[extra.file];
            extra.collective = number_of(m->collectives, extra.collective);
            row.extra = hu_builder_op_extra(whole, &extra);
        }
        m->details[HU_KIND_CPU_OP][i] = hu_builder_op_detail(whole, &row);
    }
    for (size_t i = 0; i < from->kernels.n; i++) {
        hu_kernel_detail row = from->kernels.at[i];

        row.collective = number_of(m->collectives, row.collective);
        m->details[HU_KIND_KERNEL][i] = hu_builder_kernel_detail(whole, &row);
    }
    for (size_t i = 0; i < from->geometries.n; i++)
        m->geometries[i] = hu_builder_geometry(whole, &from->geometries.at[i]);
    for (size_t i = 0; i < from->calls.n; i++) {
        hu_call_detail row = from->calls.at[i];

        row.geometry = number_of(m->geometries, row.geometry);
        m->details[HU_KIND_RUNTIME][i] = hu_builder_call_detail(whole, &row);
    }
    for (size_t i = 0; i < from->copies.n; i++)
        m->details[HU_KIND_MEMCPY][i] = hu_builder_copy_detail(whole, &from->copies.at[i]);
    for (size_t i = 0; i < from->syncs.n; i++)
        m->details[HU_KIND_SYNC][i] = hu_builder_sync_detail(whole, &from->syncs.at[i]);
    for (size_t i = 0; i < from->pythons.n; i++)
        m->details[HU_KIND_PYTHON][i] = hu_builder_python_detail(whole, &from->pythons.at[i]);
}

/* Of recorded programs: calls of the operating system, OpenMP and MPI. */
static void join_host(hu_builder *whole, const hu_trace *from, const numbers *m)
{
    for (size_t i = 0; i < from->waits.n; i++) {
        hu_wait_detail row = from->waits.at[i];

        row.object = m->texts[row.object];
        row.mutex = m->texts[row.mutex];
        row.name = m->texts[row.name];
        row.caller = m->texts[row.caller];
        m->waits[i] = hu_builder_wait_detail(whole, &row);
    }
    for (size_t i = 0; i < from->os_calls.n; i++) {
        hu_os_detail row = from->os_calls.at[i];

        row.path = m->texts[row.path];
        row.wait = number_of(m->waits, row.wait);
        m->details[HU_KIND_OS_CALL][i] = hu_builder_os_detail(whole, &row);
    }
    for (size_t i = 0; i < from->omps.n; i++) {
        hu_omp_detail row = from->omps.at[i];

        row.caller = m->texts[row.caller];
        row.place = m->texts[row.place];
        row.line = m->texts[row.line];
        row.worksharing = m->texts[row.worksharing];
        m->details[HU_KIND_OPENMP][i] = hu_builder_omp_detail(whole, &row);
    }
    for (size_t i = 0; i < from->mpi_calls.n; i++) {
        hu_mpi_detail row = from->mpi_calls.at[i];

        row.comm = m->texts[row.comm];
        m->details[HU_KIND_MPI][i] = hu_builder_mpi_detail(whole, &row);
    }
}

/* What is no slice. */
static void join_events(hu_builder *whole, const hu_builder *piece, const numbers *m)
{
    const hu_trace *from = piece->trace;

    for (size_t i = 0; i < from->memory.n; i++) {
        hu_memory_event row = from->memory.at[i];

        row.track = m->tracks[row.track];
        hu_builder_memory(whole, &row);
    }
    whole->n_marked += piece->n_marked;
    for (size_t i = 0; i < from->flows.n; i++) {
        hu_flow row = from->flows.at[i];

        row.track = m->tracks[row.track];
        hu_builder_flow(whole, &row);
    }
    for (size_t i = 0; i < from->launches.n; i++) {
        hu_flow row = from->launches.at[i];

        row.track = m->tracks[row.track];
        row.name = m->texts[row.name];
        hu_builder_flow(whole, &row);
    }
    for (size_t i = 0; i < from->samples.n; i++)
        hu_builder_sample(whole, m->tracks[from->samples.at[i].track], from->samples.at[i].time_ns,
                          from->samples.at[i].value);
    for (size_t i = 0; i < from->stretches.n; i++) {
        hu_stretch row = from->stretches.at[i];

        row.track = m->tracks[row.track];
        hu_builder_stretch(whole, &row);
    }
    for (size_t i = 0; i < from->wakes.n; i++) {
        hu_wakeup row = from->wakes.at[i];

        row.track = m->tracks[row.track];
        row.object = m->texts[row.object];
        row.name = m->texts[row.name];
        row.caller = m->texts[row.caller];
        hu_builder_wake(whole, &row);
    }
    for (size_t i = 0; i < piece->thread_names.n; i++) {
        const hu_pending_name *p = &piece->thread_names.at[i];

        hu_builder_name_thread(whole, id_of(m, p->pid), id_of(m, p->tid), m->texts[p->name]);
    }
    for (size_t i = 0; i < piece->process_names.n; i++)
        hu_builder_name_process(whole, id_of(m, piece->process_names.at[i].pid), m->texts[piece->process_names.at[i].name]);
}

static bool has_any(const uint32_t *column, size_t n)
{
    uint32_t any = 0;

    for (size_t i = 0; i < n; i++)
        any |= column[i];
    return any != 0;
}

/* Pages of zeros that nobody wrote cost no memory. */
static void join_ids(uint32_t *to, const uint32_t *from, size_t n)
{
    if (has_any(from, n))
        memcpy(to, from, n * sizeof *to);
}

/* Numbers of ids beyond 32 bits are those of the piece; which comes first is as hu_builder_add has it. */
static void number_wide_ids(hu_builder *whole, const hu_builder *piece, size_t from, size_t n)
{
    const hu_trace *t = whole->trace;

    for (size_t i = from; i < from + n; i++) {
        uint32_t *const ids[] = {&t->correlation[i], &t->external[i]};

        for (size_t k = 0; k < HU_COUNT(ids); k++)
            if (*ids[k] >= HU_FIRST_WIDE_ID)
                *ids[k] = hu_builder_number_wide(whole, piece->wide.at[*ids[k] - HU_FIRST_WIDE_ID]);
    }
}

static void join_slices(hu_builder *whole, const hu_builder *piece, const numbers *m)
{
    const hu_trace *from = piece->trace;
    hu_trace       *to = whole->trace;
    const size_t    n = from->n, at = to->n;

    if (n == 0 || !hu_builder_make_room(whole, n))
        return;
    memcpy(to->start_ns + at, from->start_ns, n * sizeof *to->start_ns);
    memcpy(to->dur_ns + at, from->dur_ns, n * sizeof *to->dur_ns);
    memcpy(to->kind + at, from->kind, n * sizeof *to->kind);
    join_ids(to->correlation + at, from->correlation, n);
    join_ids(to->external + at, from->external, n);
    for (size_t i = 0; i < n; i++) {
        const uint32_t row = from->detail[i];

        to->track[at + i] = m->tracks[from->track[i]];
        to->name[at + i] = m->texts[from->name[i]];
        to->detail[at + i] = row == HU_NONE ? HU_NONE : m->details[from->kind[i]][row];
    }
    if (piece->wide.n)
        number_wide_ids(whole, piece, at, n);
    to->n = at + n;
}

void hu_builder_join(hu_builder *whole, hu_builder *piece)
{
    const hu_trace *from = piece->trace;
    hu_trace_info  *info = &whole->trace->info;
    numbers         m = {0};

    assert(piece->open.n == 0 && from->managed.n + from->segments.n + from->blocks.n + from->memory_actions.n == 0);
    assert(from->memory_marks.n + from->cpu_samples.n + from->devices.n + from->metadata.n + piece->processes.n == 0);
    if (hu_builder_failed(whole))
        return;
    if (hu_builder_failed(piece)) {
        whole->error = piece->error;
        return;
    }
    if (!make_lists(piece, &m)) {
        hu_builder_no_memory(whole);
        return;
    }
    join_texts(whole, from, &m);
    if (hu_builder_failed(whole))
        return;
    join_tracks(whole, from, &m);
    join_work(whole, from, &m);
    join_host(whole, from, &m);
    if (hu_builder_failed(whole))
        return;
    join_slices(whole, piece, &m);
    join_events(whole, piece, &m);
    hu_quality_join(&whole->trace->quality, &from->quality);
    info->out_of_memory += from->info.out_of_memory;
    if (info->state_source == HU_STATES_NONE)
        info->state_source = from->info.state_source;
}

/* Only what the importer of pieces may fill: hu_builder_join has the list. */
bool hu_builder_clear(hu_builder *piece)
{
    hu_trace *t = piece->trace;

    piece->error.code = 0;
    if (!hu_intern_clear(&t->strings))
        return false;
    if (t->n) {
        memset(t->correlation, 0, t->n * sizeof *t->correlation);
        memset(t->external, 0, t->n * sizeof *t->external);
    }
    t->n = t->tracks.n = 0;
    t->ops.n = t->op_extras.n = t->kernels.n = t->copies.n = t->calls.n = t->geometries.n = t->collectives.n = 0;
    t->syncs.n = t->pythons.n = t->os_calls.n = t->omps.n = t->waits.n = t->mpi_calls.n = 0;
    t->memory.n = t->flows.n = t->launches.n = t->samples.n = t->stretches.n = t->wakes.n = 0;
    t->quality = (hu_quality){0};
    t->info.out_of_memory = 0;
    t->info.state_source = HU_STATES_NONE;
    memset(piece->track_slots, 0, (piece->track_mask + 1) * sizeof *piece->track_slots);
    piece->last_track = HU_NONE;
    piece->n_marked = 0;
    hu_map_clear(&piece->wide_ids);
    piece->wide.n = piece->thread_names.n = piece->process_names.n = 0;
    for (size_t i = 0; i < HU_SEEN_TABLES; i++)
        memset(piece->seen[i], 0, HU_SEEN_SLOTS * sizeof *piece->seen[i]);
    return true;
}
