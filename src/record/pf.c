/* SPDX-License-Identifier: Apache-2.0
 * pf.c - packets of one sequence: state, interned names, events.
 *
 * Time stamps are distances from the beginning of the file on a clock of the sequence (id 64), which takes 5 bytes
 * instead of 8; a snapshot at each declaration of state ties it to CLOCK_BOOTTIME.
 */
#include "record/pf.h"

#include "protocol/format_payload.h"
#include "protocol/mpi_calls.h"
#include "protocol/nccl_events.h"
#include "protocol/os_calls.h"
#include "record/payload.h"

enum { CLEAR_BYTES = 8 << 20 };

enum { AS_NAME, AS_ARG, AS_TEXT };

static const char *const words[] = {
#define W(id, text) text,
    HU_PF_WORDS(W)
#undef W
};

static const char *const nccl_keys[] = {"",
#define F(id, key, type) key,
                                        HU_NCCL_FIELDS(F)
#undef F
};

_Static_assert(HU_COUNT(words) <= HU_PF_NCCL_KEYS - HU_PF_OWN, "words have numbers of their own");
_Static_assert(HU_COUNT(nccl_keys) <= HU_PF_OS_CALL_NAMES - HU_PF_NCCL_KEYS, "keys, too");

static const char *const categories[] = {
#define C(id, text) text,
    HU_PF_CATEGORIES(C)
#undef C
};

static const char *const os_names[] = {
#define C(name, class) #name,
    HU_OS_CALLS(C)
#undef C
};

static const char *const mpi_names[] = {
#define M(name, fortran, arguments, class, what) "MPI_" #name,
    HU_MPI_CALLS(M)
#undef M
};

_Static_assert(HU_COUNT(mpi_names) <= HU_PF_OWN_MOST - (HU_PF_MPI_NAMES - HU_PF_OWN), "they have numbers of their own");

hu_str hu_pf_iid_text(const hu_pf *p, uint32_t iid)
{
    if (iid < HU_PF_OWN)
        return p->readable && iid < p->n_ids && p->readable[iid].p ? p->readable[iid] : hu_ring_text(p->ring, iid);
    if (iid >= HU_PF_SITES)
        return iid - HU_PF_SITES < p->sites.names.n ? p->sites.names.at[iid - HU_PF_SITES] : HU_STR("");
    if (iid >= HU_PF_NCCL_KEYS && iid < HU_PF_OS_CALL_NAMES)
        return iid - HU_PF_NCCL_KEYS < HU_COUNT(nccl_keys) ? hu_str_of(nccl_keys[iid - HU_PF_NCCL_KEYS]) : HU_STR("");
    if (iid < HU_PF_NCCL_KEYS)
        return iid - HU_PF_OWN < HU_COUNT(words) ? hu_str_of(words[iid - HU_PF_OWN]) : HU_STR("");
    if (iid >= HU_PF_MPI_NAMES)
        return iid - HU_PF_MPI_NAMES < HU_COUNT(mpi_names) ? hu_str_of(mpi_names[iid - HU_PF_MPI_NAMES]) : HU_STR("");
    return iid - HU_PF_OS_CALL_NAMES < HU_COUNT(os_names) ? hu_str_of(os_names[iid - HU_PF_OS_CALL_NAMES]) : HU_STR("");
}

int64_t hu_pf_ns(hu_pf *p, uint64_t ticks)
{
    return hu_clock_map_ns(p->clock, ticks);
}

/* packets */

size_t hu_pf_open(hu_pf *p, const hu_pf_sequence *s)
{
    const size_t open = hu_pb_write_open(&p->w, HU_PT_TRACE_PACKET);

    if (s)
        hu_pb_write_uint(&p->w, HU_PT_PACKET_SEQUENCE, s->id);
    return open;
}

void hu_pf_close(hu_pf *p, hu_pf_sequence *s, size_t open)
{
    hu_pb_write_close(&p->w, open);
    if (p->w.no_memory)
        return;
    hu_out_write(p->out, p->w.at, p->w.n);
    if (s)
        s->written += p->w.n;
    hu_pbw_clear(&p->w);
}

static void write_clock(hu_pf *p, uint32_t id, uint64_t time)
{
    const size_t clock = hu_pb_write_open(&p->w, HU_PT_SNAPSHOT_CLOCK);

    hu_pb_write_uint(&p->w, HU_PT_CLOCK_ID, id);
    hu_pb_write_uint(&p->w, HU_PT_CLOCK_TIME, time);
    hu_pb_write_close(&p->w, clock);
}

/* From here on nothing that was declared before counts. */
void hu_pf_declare(hu_pf *p, hu_pf_sequence *s)
{
    const size_t packet = hu_pf_open(p, s);
    size_t       nest, inner;

    hu_pb_write_uint(&p->w, HU_PT_PACKET_FLAGS, HU_PT_FLAG_CLEARED);
    if (!s->is_begun)
        hu_pb_write_uint(&p->w, HU_PT_PACKET_FIRST, 1);
    nest = hu_pb_write_open(&p->w, HU_PT_PACKET_DEFAULTS);
    inner = hu_pb_write_open(&p->w, HU_PT_DEFAULTS_EVENT);
    hu_pb_write_uint(&p->w, HU_PT_EVENT_TRACK, s->track);
    hu_pb_write_close(&p->w, inner);
    hu_pb_write_uint(&p->w, HU_PT_DEFAULTS_CLOCK, HU_PT_FIRST_OWN_CLOCK);
    hu_pb_write_close(&p->w, nest);
    nest = hu_pb_write_open(&p->w, HU_PT_PACKET_CLOCK_SNAPSHOT);
    write_clock(p, HU_PT_BOOTTIME, (uint64_t)p->base_ns);
    write_clock(p, HU_PT_FIRST_OWN_CLOCK, 0);
    hu_pb_write_close(&p->w, nest);
    hu_pf_close(p, s, packet);
    s->is_begun = true;
    s->generation = ++p->generation;
    s->written = 0;
}

void hu_pf_begin_sequence(hu_pf *p, uint64_t track, hu_pf_sequence *out)
{
    *out = (hu_pf_sequence){.id = ++p->last_sequence, .track = track};
    hu_pf_declare(p, out);
}

void hu_pf_row(hu_pf *p, hu_pf_sequence *s, uint64_t track, uint64_t parent, hu_str name, bool merges)
{
    const size_t packet = hu_pf_open(p, s), open = hu_pb_write_open(&p->w, HU_PT_PACKET_TRACK);

    hu_pb_write_uint(&p->w, HU_PT_TRACK_UUID, track);
    hu_pb_write_uint(&p->w, HU_PT_TRACK_PARENT, parent);
    hu_pb_write_str(&p->w, HU_PT_TRACK_NAME, name);
    hu_pb_write_uint(&p->w, HU_PT_TRACK_MERGE, merges ? HU_PT_MERGE_BY_NAME : HU_PT_MERGE_NONE);
    hu_pb_write_close(&p->w, open);
    hu_pf_close(p, s, packet);
}

/* interning */

static bool set_stamp(uint32_t *stamp, const hu_pf_sequence *s)
{
    const bool now = *stamp != s->generation;

    *stamp = s->generation;
    return now;
}

static bool is_new(hu_pf *p, const hu_pf_sequence *s, int use, uint32_t iid)
{
    if (iid >= HU_PF_SITES) {
        while (p->site_stamps.n <= iid - HU_PF_SITES)
            if (!hu_vec_push(p->scratch, &p->site_stamps, 0))
                return true;
        return set_stamp(&p->site_stamps.at[iid - HU_PF_SITES], s);
    }
    return set_stamp(&p->stamps[use][iid < HU_PF_OWN ? iid : p->n_ids + (iid - HU_PF_OWN)], s);
}

static void intern(hu_pf *p, size_t *open, uint32_t field, uint32_t iid, hu_str text)
{
    size_t entry;

    if (!*open)
        *open = hu_pb_write_open(&p->w, HU_PT_PACKET_INTERNED);
    entry = hu_pb_write_open(&p->w, field);
    hu_pb_write_uint(&p->w, HU_PT_ENTRY_IID, iid);
    hu_pb_write_str(&p->w, HU_PT_ENTRY_TEXT, text);
    hu_pb_write_close(&p->w, entry);
}

/* What the event refers to and the reader does not know yet. */
static void write_interned(hu_pf *p, const hu_pf_sequence *s, const hu_pf_event *e)
{
    size_t open = 0;

    if (e->category != HU_PF_OF_NONE && p->category_stamp[e->category] != s->generation) {
        p->category_stamp[e->category] = s->generation;
        intern(p, &open, HU_PT_INTERNED_CATEGORY, (uint32_t)e->category + 1, hu_str_of(categories[e->category]));
    }
    if (e->name && is_new(p, s, AS_NAME, e->name))
        intern(p, &open, HU_PT_INTERNED_EVENT_NAME, e->name, hu_pf_iid_text(p, e->name));
    for (size_t i = 0; i < e->n_notes; i++) {
        const hu_pf_note *n = &p->notes[i];

        if (n->name && is_new(p, s, AS_ARG, n->name))
            intern(p, &open, HU_PT_INTERNED_NOTE_NAME, n->name, hu_pf_iid_text(p, n->name));
        if (n->type == HU_PF_TEXT_ID && is_new(p, s, AS_TEXT, (uint32_t)n->whole))
            intern(p, &open, HU_PT_INTERNED_TEXT, (uint32_t)n->whole, hu_pf_iid_text(p, (uint32_t)n->whole));
    }
    if (open)
        hu_pb_write_close(&p->w, open);
}

/* events */

static void write_note(hu_pf *p, const hu_pf_note *n)
{
    const size_t open = hu_pb_write_open(&p->w, HU_PT_EVENT_NOTE);

    if (n->name)
        hu_pb_write_uint(&p->w, HU_PT_NOTE_NAME_IID, n->name);
    else
        hu_pb_write_str(&p->w, HU_PT_NOTE_NAME, n->name_text);
    switch (n->type) {
    case HU_PF_INT:
        hu_pb_write_int(&p->w, HU_PT_NOTE_INT, n->whole);
        break;
    case HU_PF_UINT:
        hu_pb_write_uint(&p->w, HU_PT_NOTE_UINT, (uint64_t)n->whole);
        break;
    case HU_PF_DOUBLE:
        hu_pb_write_double(&p->w, HU_PT_NOTE_DOUBLE, n->real);
        break;
    case HU_PF_BOOL:
        hu_pb_write_uint(&p->w, HU_PT_NOTE_BOOL, n->whole != 0);
        break;
    case HU_PF_POINTER:
        hu_pb_write_uint(&p->w, HU_PT_NOTE_POINTER, (uint64_t)n->whole);
        break;
    case HU_PF_TEXT_ID:
        hu_pb_write_uint(&p->w, HU_PT_NOTE_TEXT_IID, (uint64_t)n->whole);
        break;
    case HU_PF_TEXT:
        hu_pb_write_str(&p->w, HU_PT_NOTE_TEXT, n->text);
        break;
    }
    hu_pb_write_close(&p->w, open);
}

static void write_event(hu_pf *p, const hu_pf_event *e)
{
    const size_t open = hu_pb_write_open(&p->w, HU_PT_PACKET_EVENT);

    hu_pb_write_uint(&p->w, HU_PT_EVENT_TYPE, e->type);
    if (e->category != HU_PF_OF_NONE)
        hu_pb_write_uint(&p->w, HU_PT_EVENT_CATEGORY_IID, (uint64_t)e->category + 1);
    if (e->name)
        hu_pb_write_uint(&p->w, HU_PT_EVENT_NAME_IID, e->name);
    else if (e->text.n)
        hu_pb_write_str(&p->w, HU_PT_EVENT_NAME, e->text);
    if (e->track)
        hu_pb_write_uint(&p->w, HU_PT_EVENT_TRACK, e->track);
    for (size_t i = 0; i < e->n_notes; i++)
        write_note(p, &p->notes[i]);
    if (e->type == HU_PT_TYPE_COUNTER)
        hu_pb_write_double(&p->w, HU_PT_EVENT_COUNTER_DOUBLE, e->counter);
    if (e->flow)
        hu_pb_write_fixed64(&p->w, HU_PT_EVENT_FLOW, e->flow);
    if (e->flow_end)
        hu_pb_write_fixed64(&p->w, HU_PT_EVENT_FLOW_END, e->flow_end);
    hu_pb_write_close(&p->w, open);
}

void hu_pf_write(hu_pf *p, hu_pf_sequence *s, hu_pf_event *e)
{
    size_t packet;

    if (s->written >= CLEAR_BYTES)
        hu_pf_declare(p, s);
    if (e->ns < p->base_ns) {
        p->tally.early++;
        e->ns = p->base_ns;
    }
    packet = hu_pf_open(p, s);
    hu_pb_write_uint(&p->w, HU_PT_PACKET_TIMESTAMP, (uint64_t)(e->ns - p->base_ns));
    hu_pb_write_uint(&p->w, HU_PT_PACKET_FLAGS, HU_PT_FLAG_NEEDS_STATE);
    write_interned(p, s, e);
    write_event(p, e);
    hu_pf_close(p, s, packet);
    p->tally.events += e->type != HU_PT_TYPE_END;
}

hu_pf_note *hu_pf_add(hu_pf *p, hu_pf_event *e, uint32_t name, hu_pf_value type)
{
    hu_pf_note *n = &p->notes[e->n_notes < HU_PF_NOTES_MOST ? e->n_notes++ : HU_PF_NOTES_MOST - 1];

    *n = (hu_pf_note){.name = name, .type = type, .text = HU_STR("")};
    return n;
}

static bool is_text(const hu_pf *p, uint64_t id)
{
    return id > 0 && id < p->n_ids && hu_ring_text(p->ring, (uint32_t)id).p;
}

/* The class of what a descriptor really was takes the place of the call's own. */
static bool add_class(hu_pf *p, hu_pf_event *e, const hu_record *more)
{
    if (more->aux != HU_MORE_TEXT || e->category != HU_PF_OF_OS_CALL || e->n_notes == 0 || !is_text(p, more->a) ||
        !hu_str_equal(hu_ring_text(p->ring, more->id), HU_STR("class")))
        return false;
    p->notes[0] = (hu_pf_note){.name = HU_PF_OWN + HU_PF_CLASS, .type = HU_PF_TEXT_ID, .whole = (int64_t)more->a};
    return true;
}

static void add_more(hu_pf *p, hu_pf_event *e, const hu_record *m)
{
    static const hu_pf_value types[] = {
        [HU_MORE_INT] = HU_PF_INT,      [HU_MORE_UINT] = HU_PF_UINT,   [HU_MORE_DOUBLE] = HU_PF_DOUBLE,
        [HU_MORE_TEXT] = HU_PF_TEXT_ID, [HU_MORE_HEX] = HU_PF_POINTER, [HU_MORE_ADDRESS] = HU_PF_POINTER,
    };
    hu_pf_note *n;

    if (m->aux >= HU_COUNT(types) || add_class(p, e, m))
        return;
    n = hu_pf_add(p, e, is_text(p, m->id) ? m->id : HU_PF_OWN + HU_PF_VALUE, types[m->aux]);
    n->whole = (int64_t)m->a;
    memcpy(&n->real, &m->a, sizeof n->real);
    if (n->type == HU_PF_TEXT_ID && !is_text(p, m->a))
        n->whole = HU_PF_OWN + HU_PF_UNNAMED;
}

/* structured values of NVTX: their names and texts live as long as the call, so they are copied */

static bool get_text(void *context, uint32_t id, hu_str *text)
{
    const hu_pf *p = context;

    *text = hu_ring_text(p->ring, id);
    return is_text(p, id);
}

typedef struct {
    hu_pf       *p;
    hu_pf_event *e;
} payload;

static hu_str keep(hu_pf *p, hu_str text)
{
    const size_t n = text.n < sizeof p->payload - p->payload_n ? text.n : sizeof p->payload - p->payload_n;
    char        *at = p->payload + p->payload_n;

    memcpy(at, text.p, n);
    p->payload_n += n;
    return (hu_str){at, n};
}

static void take_value(void *context, const hu_payload_value *v)
{
    static const hu_pf_value types[] = {
        [HU_VALUE_INT] = HU_PF_INT,         [HU_VALUE_UINT] = HU_PF_UINT, [HU_VALUE_DOUBLE] = HU_PF_DOUBLE,
        [HU_VALUE_ADDRESS] = HU_PF_POINTER, [HU_VALUE_TEXT] = HU_PF_TEXT,
    };
    const payload *to = context;
    hu_pf_note    *n = hu_pf_add(to->p, to->e, 0, types[v->kind]);

    n->name_text = v->name.n ? keep(to->p, v->name) : HU_STR("value");
    n->whole = v->kind == HU_VALUE_INT ? v->i : (int64_t)v->u;
    n->real = v->d;
    if (v->kind == HU_VALUE_TEXT)
        n->text = keep(to->p, v->text);
}

/* A schema and the bytes behind it; returns how many MOREs that took. */
static uint32_t add_payload(hu_pf *p, hu_pf_event *e, const hu_record *more, uint32_t n_more)
{
    char     bytes[HU_PAYLOAD_BYTES_MAX];
    size_t   n = 0;
    uint32_t i = 1;

    for (; i < n_more && more[i].aux == HU_MORE_BYTES; i++) {
        const size_t part = more[i].id < 16 ? more[i].id : 16;

        if (n + part > sizeof bytes)
            continue;
        memcpy(bytes + n, &more[i].a, part); /* a and b are neighbours */
        n += part;
    }
    if (more->a <= UINT32_MAX)
        hu_payload_decode(&(hu_payload_strings){get_text, p}, (uint32_t)more->a, (hu_str){bytes, n}, take_value,
                          &(payload){p, e});
    return i;
}

void hu_pf_add_more(hu_pf *p, hu_pf_event *e, const hu_ring_event *from)
{
    p->payload_n = 0;
    for (uint32_t i = 0; i < from->n_more;) {
        if (from->more[i].aux == HU_MORE_SCHEMA)
            i += add_payload(p, e, &from->more[i], from->n_more - i);
        else
            add_more(p, e, &from->more[i++]);
    }
}

void hu_pf_add_text(hu_pf *p, hu_pf_event *e, hu_pf_word name, uint64_t id)
{
    if (is_text(p, id))
        hu_pf_add(p, e, HU_PF_OWN + name, HU_PF_TEXT_ID)->whole = (int64_t)id;
}

/* Domain, colour, category, and what else the caller gave. */
void hu_pf_add_range(hu_pf *p, hu_pf_event *e, const hu_ring_event *from, char color[8])
{
    static const char hex[] = "0123456789abcdef";
    const uint32_t    argb = (uint32_t)from->record->a;

    hu_pf_add_text(p, e, HU_PF_DOMAIN, from->record->aux);
    if (argb) {
        color[0] = '#';
        for (int i = 0; i < 6; i++)
            color[1 + i] = hex[argb >> (20 - 4 * i) & 15];
        hu_pf_add(p, e, HU_PF_OWN + HU_PF_COLOR, HU_PF_TEXT)->text = (hu_str){color, 7};
    }
    hu_pf_add_text(p, e, HU_PF_CATEGORY, from->record->a >> 32);
    if (from->record->type == HU_RECORD_PHASE)
        hu_pf_add(p, e, HU_PF_OWN + HU_PF_PHASE, HU_PF_BOOL)->whole = 1;
    hu_pf_add_more(p, e, from);
}
