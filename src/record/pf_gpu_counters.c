/* SPDX-License-Identifier: Apache-2.0
 * pf_gpu_counters.c - a row for each GPU, with a counter track for each quantity that had a value.
 *
 * A value is written when it changes, and once a second while it stays: a reader sees where nothing was sampled.
 * Energy counts from the first sample of the file.  Samples just before and behind what is recorded belong to it: what a
 * step took lies between two of them.
 */
#include "record/pf_gpu_counters.h"

#include <stdio.h>
#include <string.h>

enum { AGAIN_NS = 1000000000, BESIDE_NS = 1000000000, LINE_BYTES = 1024, NAME_BYTES = 320 };

static const struct {
    const char *words, *unit;
    double      factor;
} quantities[] = {
#define Q(id, words, unit, factor) {words, unit, factor},
    HU_GPU_QUANTITIES(Q)
#undef Q
};

typedef struct {
    uint64_t track; /* 0: not declared */
    int64_t  last, last_ns;
} counter;

typedef struct {
    uint64_t track;
    char     label[HU_GPU_LABEL_BYTES];
    int64_t  first_energy;
    bool     has_energy;
    counter  of[HU_GPU_QUANTITY_COUNT];
} device;

typedef struct {
    hu_pf                   *p;
    hu_pf_sequence          *s;
    const hu_pf_gpu_options *o;
    const hu_pf_gpu_choice  *choice;
    device                  *devices; /* by place in hu_gpus_seen */
} work;

static bool is_in(uint32_t pid, const uint32_t *pids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

static size_t count_in(const hu_gpu_seen *d, const uint32_t *pids, size_t n)
{
    size_t found = 0;

    for (size_t i = 0; i < d->pids.n; i++)
        found += is_in(d->pids.at[i], pids, n);
    return found;
}

/* "GPU-" and 32 digits with dashes between them, as nvidia-smi prints it.  False: it is none, as that of a part (MIG-). */
static bool read_uuid(const char *text, uint8_t out[HU_GPU_UUID_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    size_t            n = 0;

    if (strncmp(text, "GPU-", 4) != 0)
        return false;
    for (text += 4; *text; text++) {
        const char *digit = strchr(digits, *text | ('A' ^ 'a'));

        if (*text == '-')
            continue;
        if (!digit || n == (size_t)2 * HU_GPU_UUID_BYTES)
            return false;
        out[n / 2] = (uint8_t)(n % 2 ? out[n / 2] << 4 | (digit - digits) : digit - digits);
        n++;
    }
    return n == (size_t)2 * HU_GPU_UUID_BYTES;
}

/* The place of the GPU that a process worked on; gpus->n: it was not sampled, or which it is is not known. */
static size_t find_used(const hu_gpus_seen *gpus, const hu_pf_gpu_used *used)
{
    size_t  found = gpus->n;
    uint8_t uuid[HU_GPU_UUID_BYTES];

    for (size_t i = 0; i < gpus->n; i++)
        if (read_uuid(gpus->at[i].about.uuid, uuid) && memcmp(uuid, used->uuid, sizeof uuid) == 0)
            found = i;
    return found;
}

/* Joins what was worked on to what was sampled.  True: all of it was found. */
static bool join_used(const hu_pf_gpu_options *o, hu_pf_gpu_choice *c)
{
    bool is_all = o->n_used > 0, is_odd = false;

    for (size_t k = 0; k < o->n_used; k++) {
        const size_t i = find_used(o->gpus, &o->used[k]);

        is_all = is_all && i < o->gpus->n;
        if (i == o->gpus->n)
            continue;
        is_odd = is_odd || (c->number[i] != HU_PF_NO_NUMBER && c->number[i] != (int32_t)o->used[k].number);
        c->number[i] = (int32_t)o->used[k].number;
        c->is_ours[i] = true;
    }
    for (size_t k = 0; k < o->n_used; k++) /* one number of two GPUs: also of one that was not found */
        for (size_t i = k + 1; i < o->n_used; i++)
            is_odd = is_odd || (o->used[i].number == o->used[k].number &&
                                memcmp(o->used[i].uuid, o->used[k].uuid, sizeof o->used[i].uuid) != 0);
    for (size_t i = 0; is_odd && i < o->gpus->n; i++)
        c->number[i] = HU_PF_NO_NUMBER;
    return is_all;
}

hu_pf_gpu_choice hu_pf_gpus_choose(const hu_pf_gpu_options *o)
{
    hu_pf_gpu_choice c = {0};

    for (size_t i = 0; i < HU_GPU_MOST; i++)
        c.number[i] = HU_PF_NO_NUMBER;
    for (size_t i = 0; i < o->gpus->n; i++)
        c.by_process = c.by_process || count_in(&o->gpus->at[i], o->known, o->n_known) > 0;
    c.is_known = join_used(o, &c);
    if (c.is_known)
        return c;
    c.is_known = c.by_process;
    for (size_t i = 0; i < o->gpus->n; i++)
        c.is_ours[i] = c.is_ours[i] || !c.by_process || count_in(&o->gpus->at[i], o->own, o->n_own) > 0;
    return c;
}

/* A text as a field of a line. */
static const char *field(const char *text, char *out, size_t room)
{
    size_t n = 0;

    for (; text[n] && n + 1 < room; n++)
        out[n] = text[n] == '\t' || text[n] == '\n' ? ' ' : text[n];
    out[n] = '\0';
    return out;
}

hu_str hu_pf_gpus_lines(const hu_pf *p, const hu_pf_gpu_options *o, const hu_pf_gpu_choice *c, hu_arena *arena)
{
    char  *text = hu_arena_alloc(arena, o->gpus->n * LINE_BYTES + 1);
    size_t n = 0;

    for (size_t i = 0; text && i < o->gpus->n; i++) {
        const hu_gpu_seen       *d = &o->gpus->at[i];
        const hu_gpu_row_device *a = &d->about;
        const size_t             known = count_in(d, o->known, o->n_known);
        const int64_t            problem_ns = d->problem_ns > p->base_ns ? d->problem_ns - p->base_ns : 0;
        char                     name[96], uuid[96], bus[32], driver[96], problem[96];

        if (c->is_ours[i])
            n += (size_t)snprintf(
                text + n, LINE_BYTES, "%u\t%d\t%lld\t%u\t%u\t%u\t%u\t%llu\t%lld\t%u\t%lld\t%s\t%s\t%s\t%s\t%s\t%d\n",
                a->row.device, c->is_known, c->by_process ? (long long)(d->pids.n - known) : -1LL, a->is_mig, a->most_sm_mhz,
                a->most_memory_mhz, a->power_limit_mw, (unsigned long long)a->memory_bytes, (long long)o->gpus->period_ns,
                d->has, (long long)problem_ns, field(a->uuid, uuid, sizeof uuid), field(a->bus, bus, sizeof bus),
                field(a->driver, driver, sizeof driver), field(a->name, name, sizeof name),
                field(d->problem, problem, sizeof problem), c->number[i]);
    }
    return text ? (hu_str){text, n} : HU_STR("");
}

static void declare_device(work *w, device *d, const hu_gpu_seen *seen, int32_t number)
{
    char   name[NAME_BYTES];
    int    n;
    size_t packet, open;

    hu_gpu_label(number, seen->about.row.device, d->label);
    n = snprintf(name, sizeof name, "%s %s%s%s%s", d->label, seen->about.name, seen->about.uuid[0] ? " (" : "",
                 seen->about.uuid, seen->about.uuid[0] ? ")" : "");
    d->track = ++w->p->last_uuid;
    packet = hu_pf_open(w->p, w->s);
    open = hu_pb_write_open(&w->p->w, HU_PT_PACKET_TRACK);
    hu_pb_write_uint(&w->p->w, HU_PT_TRACK_UUID, d->track);
    hu_pb_write_str(&w->p->w, HU_PT_TRACK_NAME, (hu_str){name, (size_t)n});
    hu_pb_write_close(&w->p->w, open);
    hu_pf_close(w->p, w->s, packet);
}

static void declare_counter(work *w, const device *d, counter *c, unsigned quantity)
{
    char      name[NAME_BYTES];
    const int n = snprintf(name, sizeof name, "%s %s (%s)", d->label, quantities[quantity].words, quantities[quantity].unit);
    size_t    packet, open, inner;

    c->track = ++w->p->last_uuid;
    packet = hu_pf_open(w->p, w->s);
    open = hu_pb_write_open(&w->p->w, HU_PT_PACKET_TRACK);
    hu_pb_write_uint(&w->p->w, HU_PT_TRACK_UUID, c->track);
    hu_pb_write_uint(&w->p->w, HU_PT_TRACK_PARENT, d->track);
    hu_pb_write_str(&w->p->w, HU_PT_TRACK_NAME, (hu_str){name, (size_t)n});
    inner = hu_pb_write_open(&w->p->w, HU_PT_TRACK_COUNTER);
    hu_pb_write_str(&w->p->w, HU_PT_COUNTER_UNIT_NAME, hu_str_of(quantities[quantity].unit));
    hu_pb_write_close(&w->p->w, inner);
    hu_pb_write_close(&w->p->w, open);
    hu_pf_close(w->p, w->s, packet);
}

static void put_value(work *w, device *d, unsigned quantity, const hu_gpu_row_sample *sample)
{
    counter    *c = &d->of[quantity];
    int64_t     value = sample->value[quantity];
    hu_pf_event e = {.type = HU_PT_TYPE_COUNTER, .category = HU_PF_OF_NONE, .ns = sample->ns, .text = HU_STR("")};

    if (quantity == HU_GAUGE_ENERGY) {
        if (!d->has_energy || value < d->first_energy) /* it begins anew when the driver is loaded anew */
            d->first_energy = value;
        d->has_energy = true;
        value -= d->first_energy;
    }
    if (c->track && c->last == value && sample->ns - c->last_ns < AGAIN_NS && quantity != HU_GAUGE_XID)
        return;
    if (!c->track)
        declare_counter(w, d, c, quantity);
    c->last = value;
    c->last_ns = sample->ns;
    e.track = c->track;
    e.counter = (double)value * quantities[quantity].factor;
    hu_pf_write(w->p, w->s, &e);
}

static bool take(void *context, const hu_gpu_row_sample *sample)
{
    work         *w = context;
    const int64_t ns = hu_pf_monotonic_ns(w->p, sample->ns);
    size_t        at = 0;

    if (ns < w->o->first_ns - BESIDE_NS || (w->o->end_ns && ns >= w->o->end_ns + BESIDE_NS) || sample->ns < w->p->base_ns)
        return true;
    while (at < w->o->gpus->n && w->o->gpus->at[at].about.row.device != sample->row.device)
        at++;
    if (at == w->o->gpus->n || !w->choice->is_ours[at])
        return true;
    if (!w->devices[at].track)
        declare_device(w, &w->devices[at], &w->o->gpus->at[at], w->choice->number[at]);
    for (unsigned q = 0; q < HU_GPU_QUANTITY_COUNT; q++)
        if (sample->has >> q & 1)
            put_value(w, &w->devices[at], q, sample);
    return !w->p->w.no_memory;
}

bool hu_pf_gpus_write(hu_pf *p, hu_pf_sequence *s, const hu_pf_gpu_options *options, const hu_pf_gpu_choice *choice)
{
    work w = {.p = p, .s = s, .o = options, .choice = choice};

    if (options->gpus->n == 0)
        return true;
    w.devices = hu_arena_calloc(p->arena, options->gpus->n, sizeof *w.devices);
    if (!w.devices)
        return false;
    hu_gpus_each(options->session, take, &w);
    return !p->w.no_memory;
}
