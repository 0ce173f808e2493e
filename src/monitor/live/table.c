/* SPDX-License-Identifier: Apache-2.0
 * table.c - who may speak for which process, what it said last, and who died. */
#include "monitor/live/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "monitor/live/jobs.h"

enum { BUCKETS = 1024 };

static const int64_t SILENCE_NS = 3 * HU_LIVE_PERIOD_MS * INT64_C(1000000);  /* periods without a word */
static const int64_t FAREWELL_NS = 2 * HU_LIVE_PERIOD_MS * INT64_C(1000000); /* in which a goodbye may still come */
static const int64_t REMEMBER_NS = 300 * INT64_C(1000000000);

struct hu_live_table {
    bool            no_users;
    hu_live_ask    *ask;
    void           *context;
    uint64_t        told[HU_LIVE_VERDICT_COUNT];
    size_t          n;
    hu_live_row    *row[HU_LIVE_PROCESSES];
    hu_live_row    *bucket[BUCKETS];
    hu_live_member *members; /* room of put for as many as there ever were */
    size_t          room;
    hu_live_job    *jobs; /* a list */
};

hu_live_table *hu_live_table_new(bool no_users, hu_live_ask *ask, void *context)
{
    hu_live_table *t = calloc(1, sizeof *t);

    if (t) {
        t->no_users = no_users;
        t->ask = ask;
        t->context = context;
    }
    return t;
}

static hu_live_row **bucket_of(hu_live_table *t, uint32_t sender, uint32_t claimed, uint64_t began)
{
    return &t->bucket[hu_hash_u64(((uint64_t)sender << 32 | claimed) ^ began * UINT64_C(0x9e3779b97f4a7c15)) % BUCKETS];
}

static hu_live_row *find(hu_live_table *t, const hu_live_sender *sender, const hu_live_datagram *d)
{
    hu_live_row *r = *bucket_of(t, sender->pid, d->pid, d->began);

    while (r && !(r->sender == sender->pid && r->last.pid == d->pid && r->last.began == d->began))
        r = r->next;
    return r;
}

static void forget(hu_live_table *t, size_t i)
{
    hu_live_row  *r = t->row[i];
    hu_live_row **at = bucket_of(t, r->sender, r->last.pid, r->last.began);

    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    r->job->n_rows--;
    free(r);
    t->row[i] = t->row[--t->n];
}

static size_t index_of(const hu_live_table *t, const hu_live_row *r)
{
    size_t i = 0;

    while (t->row[i] != r)
        i++;
    return i;
}

void hu_live_table_free(hu_live_table *t)
{
    if (!t)
        return;
    while (t->n)
        forget(t, t->n - 1);
    for (hu_live_job *j = t->jobs, *next; j; j = next) {
        next = j->next;
        free(j);
    }
    free(t->members);
    free(t);
}

/* ---- what is said ------------------------------------------------------------------------------------------------ */

static void keep(hu_live_row *r, const hu_live_datagram *d, int64_t now_ns)
{
    r->last = *d;
    r->heard_ns = now_ns;
    if (d->step_number >= 0)
        r->number = d->step_number;
    r->has_stepped |= d->steps > 0 || d->step_since_ns > 0;
    hu_live_history_add(&r->history, d);
}

bool hu_live_table_take(hu_live_table *t, const hu_live_sender *sender, const hu_live_datagram *d, int64_t now_ns,
                        hu_live_verdict *out)
{
    hu_live_row *r = find(t, sender, d);
    bool         is_silent, is_old, falls;

    *out = HU_LIVE_TAKEN;
    if (!r)
        return d->is_over != 0; /* of a process that never had anything to tell */
    is_silent = now_ns - r->heard_ns >= SILENCE_NS;
    is_old = d->sequence <= r->last.sequence;
    falls = hu_live_message_falls(&r->last, d);
    if (sender->uid != r->uid && sender->uid != 0) {
        *out = HU_LIVE_FOREIGN;
    } else if (d->is_over && !is_old) {
        forget(t, index_of(t, r));
    } else if (r->is_lost) {
        *out = HU_LIVE_PROCESS;
    } else if (is_silent && (is_old || falls)) { /* another program in the same process */
        memset(&r->history, 0, sizeof r->history);
        keep(r, d, now_ns);
    } else if (is_old || falls) {
        *out = is_old ? HU_LIVE_OLD : HU_LIVE_FALLING;
    } else {
        keep(r, d, now_ns);
    }
    return true;
}

static size_t count_of_user(const hu_live_table *t, int64_t uid)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        n += t->row[i]->uid == uid;
    return n;
}

/* Those that died make room for those that live. */
static bool make_room(hu_live_table *t, int64_t uid)
{
    const bool is_user_full = count_of_user(t, uid) >= HU_LIVE_OF_USER;

    if (t->n < HU_LIVE_PROCESSES && !is_user_full)
        return true;
    for (size_t i = 0; i < t->n; i++)
        if (t->row[i]->is_lost && (!is_user_full || t->row[i]->uid == uid)) {
            forget(t, i);
            return true;
        }
    return false;
}

/* False: another one tells of the process. */
static bool take_over(hu_live_table *t, const hu_live_who *who, const hu_live_datagram *d, int64_t now_ns)
{
    for (size_t i = 0; i < t->n; i++) {
        const hu_live_row *r = t->row[i];

        if (r->pid != who->pid || r->last.began != d->began)
            continue;
        if (now_ns - r->heard_ns < SILENCE_NS)
            return false;
        forget(t, i);
        break;
    }
    return true;
}

/* A rank that was started again is not lost any more. */
static void replace_lost(hu_live_table *t, const hu_live_job *job, int32_t rank)
{
    for (size_t i = t->n; i-- > 0;)
        if (t->row[i]->is_lost && t->row[i]->job == job && t->row[i]->last.rank == rank)
            forget(t, i);
}

hu_live_verdict hu_live_table_add(hu_live_table *t, const hu_live_sender *sender, const hu_live_who *who,
                                  const hu_live_datagram *d, int64_t now_ns)
{
    hu_live_row **bucket = bucket_of(t, sender->pid, d->pid, d->began);
    hu_live_job  *job;
    hu_live_row  *r;

    if (!take_over(t, who, d, now_ns))
        return HU_LIVE_OTHER;
    if (!make_room(t, who->uid))
        return HU_LIVE_FULL;
    job = hu_live_job_find(&t->jobs, who, t->no_users);
    r = job ? calloc(1, sizeof *r) : NULL;
    if (!r)
        return HU_LIVE_FULL;
    replace_lost(t, job, d->rank);
    r->sender = sender->pid;
    r->pid = who->pid;
    r->uid = who->uid;
    r->job = job;
    r->number = -1;
    job->n_rows++;
    job->lived_ns = now_ns;
    r->next = *bucket;
    *bucket = r;
    t->row[t->n++] = r;
    keep(r, d, now_ns);
    return HU_LIVE_TAKEN;
}

void hu_live_table_count(hu_live_table *t, hu_live_verdict verdict)
{
    t->told[verdict]++;
}

/* ---- who lives --------------------------------------------------------------------------------------------------- */

/* Does somebody else speak for the rank?  A helper of it, such as a data loader's worker, may die unmourned. */
static bool is_helper(const hu_live_table *t, const hu_live_row *r)
{
    for (size_t i = 0; !r->has_stepped && i < t->n; i++) {
        const hu_live_row *o = t->row[i];

        if (o != r && o->job == r->job && o->last.rank == r->last.rank && !o->is_lost &&
            (o->has_stepped || o->last.began <= r->last.began))
            return true;
    }
    return false;
}

/* Who has just spoken for itself lives: /proc is asked about the others alone.  A goodbye may come after the end. */
static hu_live_state state_of(const hu_live_table *t, const hu_live_row *r, int64_t now_ns)
{
    const bool    has_spoken = now_ns - r->heard_ns < FAREWELL_NS;
    hu_live_state state;

    if (r->is_lost)
        return HU_LIVE_GONE;
    if (has_spoken && r->sender == r->pid)
        return HU_LIVE_RUNS;
    state = t->ask(t->context, r->pid, r->last.began);
    return state == HU_LIVE_GONE && has_spoken ? HU_LIVE_RUNS : state;
}

/* A debugger stops a process for moments, and whoever started it may go on speaking for it. */
static bool has_stopped(hu_live_row *r, hu_live_state state, int64_t now_ns)
{
    if (state != HU_LIVE_STOPPED)
        r->stopped_ns = 0;
    else if (r->stopped_ns == 0)
        r->stopped_ns = now_ns;
    return state == HU_LIVE_STOPPED && (r->is_silent || now_ns - r->stopped_ns > SILENCE_NS);
}

void hu_live_table_look(hu_live_table *t, int64_t now_ns)
{
    for (size_t i = t->n; i-- > 0;) {
        hu_live_row        *r = t->row[i];
        const hu_live_state state = state_of(t, r, now_ns);

        r->is_silent = now_ns - r->heard_ns > SILENCE_NS;
        r->is_stopped = has_stopped(r, state, now_ns);
        if (state != HU_LIVE_GONE) {
            r->job->lived_ns = now_ns;
        } else if (!r->is_lost && is_helper(t, r)) {
            forget(t, i);
        } else if (!r->is_lost) {
            r->is_lost = true;
            r->job->lost++;
        }
    }
    for (size_t i = t->n; i-- > 0;)
        if (t->row[i]->is_lost && now_ns - t->row[i]->job->lived_ns > REMEMBER_NS)
            forget(t, i);
    hu_live_jobs_tidy(&t->jobs);
}

void hu_live_table_put(hu_live_table *t, int64_t now_ns, int64_t real_ns, hu_job_waits *waits, hu_readings *out)
{
    static const struct {
        const char *result, *reason;
    } words[HU_LIVE_VERDICT_COUNT] = {
#define V(id, result, reason) {result, reason},
        HU_LIVE_VERDICTS(V)
#undef V
    };

    if (t->n > t->room) {
        hu_live_member *more = realloc(t->members, t->n * sizeof *more);

        if (!more) {
            out->is_full = true;
            return;
        }
        t->members = more;
        t->room = t->n;
    }
    hu_live_jobs_put(t->row, t->n, t->members, t->no_users, now_ns, real_ns, waits, out);
    for (int v = 0; v < HU_LIVE_VERDICT_COUNT; v++)
        if (t->told[v] || v == HU_LIVE_TAKEN)
            hu_put(out, HU_METRIC_LIVE_DATAGRAMS, (double)t->told[v], words[v].result, words[v].reason);
}
