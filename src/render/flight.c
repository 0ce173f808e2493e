/* SPDX-License-Identifier: Apache-2.0
 * flight.c - the sentence: who, in what, and what that rank did instead. */
#include "render/flight.h"

#include "advise/say.h"

enum { NAMED_RANGES = 8 };

const char *hu_flight_trust_word(hu_flight_trust trust)
{
    static const char *const words[] = {[HU_FLIGHT_SURE] = "high", [HU_FLIGHT_LIKELY] = "medium", [HU_FLIGHT_GUESS] = "low"};

    return words[trust];
}

size_t hu_flight_user_frame(const hu_flight_stack *stack)
{
    static const hu_str libraries[] = {
        {"/torch/", 7}, {"site-packages/", 14}, {"dist-packages/", 14}, {"lib/python3", 11}, {"<frozen", 7}};

    for (size_t i = 0; i < stack->n; i++) {
        bool is_library = !hu_str_ends(stack->at[i].file, HU_STR(".py"));

        for (size_t k = 0; k < HU_COUNT(libraries); k++)
            is_library |= hu_str_has(stack->at[i].file, libraries[k]);
        if (!is_library)
            return i;
    }
    return 0;
}

/* " (reduce_gradients, job.py:35)", or nothing where no stack was recorded. */
static void say_where(hu_out *out, const hu_flight_entry *e)
{
    const hu_flight_frame *f;

    if (!e || !e->stack)
        return;
    f = &e->stack->at[hu_flight_user_frame(e->stack)];
    hu_out_printf(out, " (%.*s, %.*s:%lld)", HU_FMT(f->function), HU_FMT(hu_str_base_name(f->file)), (long long)f->line);
}

/* "all_reduce #7"; of sends and receives the number counts another thing. */
static void say_call(hu_out *out, const hu_flight_entry *e)
{
    hu_out_str(out, e->operation);
    if (!e->is_p2p)
        hu_out_printf(out, " #%lld", (long long)e->sequence);
}

void hu_flight_say_group(hu_out *out, hu_str name, hu_str about)
{
    if (hu_str_equal(about, HU_STR("default_pg")))
        hu_out_text(out, "the default group");
    else if (about.n && !hu_str_equal(about, HU_STR("undefined")))
        hu_out_printf(out, "group %.*s (%.*s)", HU_FMT(name), HU_FMT(about));
    else
        hu_out_printf(out, "group %.*s", HU_FMT(name));
}

static void say_group(const hu_flight_report *r, hu_out *out)
{
    hu_flight_say_group(out, r->answer->group, r->answer->about);
}

/* Ascending numbers as "0, 2\u20135 and 9". */
static void say_numbers(hu_out *out, const int64_t *ranks, size_t n)
{
    size_t ranges = 0;

    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && ranks[end] == ranks[end - 1] + 1;)
            end++;
        end = end - i == 2 ? i + 1 : end; /* two are listed */
        if (ranges == NAMED_RANGES) {
            hu_out_printf(out, " and %zu more", n - i);
            return;
        }
        hu_out_printf(out, "%s%lld", ranges++ == 0 ? "" : end == n ? " and " : ", ", (long long)ranks[i]);
        if (end > i + 1)
            hu_out_printf(out, "\xe2\x80\x93%lld", (long long)ranks[end - 1]);
    }
}

void hu_flight_say_ranks(hu_out *out, const int64_t *ranks, size_t n, bool is_first)
{
    hu_out_text(out, is_first ? (n == 1 ? "Rank " : "Ranks ") : n == 1 ? "rank " : "ranks ");
    say_numbers(out, ranks, n);
}

typedef struct {
    int64_t *at;
    size_t   n;
} rank_list;

static rank_list with_room(const hu_flight_report *r)
{
    return (rank_list){hu_arena_calloc(r->scratch, r->answer->n_places + 1, sizeof(int64_t)), 0};
}

static rank_list of_role(const hu_flight_report *r, hu_flight_role role)
{
    rank_list l = with_room(r);

    for (size_t i = 0; l.at && i < r->answer->n_places; i++)
        if (r->answer->places[i].role == role)
            l.at[l.n++] = r->answer->places[i].rank;
    return l;
}

/* Blamed or not; of those with a call only, where `has_entry`. */
static rank_list of_blame(const hu_flight_report *r, bool is_culprit, bool has_entry)
{
    rank_list l = with_room(r);

    for (size_t i = 0; l.at && i < r->answer->n_places; i++)
        if (r->answer->places[i].is_culprit == is_culprit && (!has_entry || r->answer->places[i].entry))
            l.at[l.n++] = r->answer->places[i].rank;
    return l;
}

static const hu_flight_place *first_culprit(const hu_flight_answer *a)
{
    for (size_t i = 0; i < a->n_places; i++)
        if (a->places[i].is_culprit)
            return &a->places[i];
    return NULL;
}

static void say_ranks(hu_out *out, rank_list l, bool is_first)
{
    hu_flight_say_ranks(out, l.at, l.n, is_first);
}

static const char *verb(rank_list l, const char *one, const char *many)
{
    return l.n == 1 ? one : many;
}

/* "; its last call was all_gather #6 (...), which ended" */
static void say_last(const hu_flight_report *r, hu_out *out)
{
    const hu_flight_place *p = first_culprit(r->answer);

    if (!p->last) {
        hu_out_printf(out, "; rank %lld called nothing at all", (long long)p->rank);
        return;
    }
    if (r->answer->n_culprits == 1)
        hu_out_text(out, "; its last call was ");
    else
        hu_out_printf(out, "; the last call of rank %lld was ", (long long)p->rank);
    say_call(out, p->last);
    if (!hu_str_equal(p->last->group, r->answer->group)) {
        hu_out_text(out, " of ");
        hu_flight_say_group(out, p->last->group, p->last->about);
    }
    say_where(out, p->last);
    hu_out_text(out, ", which ended");
}

/* Who waits for whom when ranks wait outside of what is recorded. */
static void say_unrecorded(const hu_flight_report *r, hu_out *out)
{
    const hu_flight_place *p = first_culprit(r->answer);

    if (r->answer->n_culprits > 1 && !p->dump->has_events)
        hu_out_text(out,
                    "; one may wait for another in a send or receive, which this backend does not record: compare stacks");
}

static void say_missing(const hu_flight_report *r, hu_out *out)
{
    const rank_list culprits = of_blame(r, true, false), waiting = of_role(r, HU_FLIGHT_WAITS);

    say_ranks(out, culprits, true);
    hu_out_text(out, " never entered ");
    say_call(out, r->answer->expected);
    hu_out_text(out, " of ");
    say_group(r, out);
    hu_out_text(out, ", in which ");
    say_ranks(out, waiting, false);
    hu_out_text(out, verb(waiting, " waits", " wait"));
    say_where(out, r->answer->expected);
    say_last(r, out);
    say_unrecorded(r, out);
}

static void say_no_dump(const hu_flight_report *r, hu_out *out)
{
    const rank_list waiting = of_role(r, HU_FLIGHT_WAITS), unseen = of_role(r, HU_FLIGHT_UNSEEN);

    if (waiting.n == 0) {
        hu_out_text(out, "Every recorded call has ended, and there is no dump from ");
        hu_flight_say_ranks(out, r->answer->unseen, r->answer->n_unseen, false);
        hu_out_printf(out, ": %s may be dead", r->answer->n_unseen == 1 ? "it" : "they");
        if (r->answer->expected) {
            hu_out_text(out, "; the last call of the others in ");
            say_group(r, out);
            hu_out_text(out, " was ");
            say_call(out, r->answer->expected);
            say_where(out, r->answer->expected);
        }
        return;
    }
    say_ranks(out, waiting, true);
    hu_out_text(out, verb(waiting, " waits in ", " wait in "));
    say_call(out, r->answer->expected);
    hu_out_text(out, " of ");
    say_group(r, out);
    say_where(out, r->answer->expected);
    hu_out_text(out, " for ");
    say_ranks(out, unseen, false);
    hu_out_printf(out, ", from which there is no dump: %s may be dead", verb(unseen, "it", "they"));
}

/* What one passed: "[9, 4] of Float" */
static void say_passed(hu_out *out, const hu_flight_entry *e, const hu_flight_entry *other, hu_flight_cause cause)
{
    const int side = e->elements[0] == other->elements[0] && hu_str_equal(e->types[0], other->types[0]) ? 1 : 0;

    hu_out_str(out, e->sizes[side]);
    if (cause == HU_FLIGHT_TYPES)
        hu_out_printf(out, " of %.*s", HU_FMT(e->types[side]));
}

static void say_difference(const hu_flight_report *r, hu_out *out)
{
    const hu_flight_answer *a = r->answer;
    const hu_flight_place  *odd = first_culprit(a);
    const bool              is_operation = a->cause == HU_FLIGHT_OPERATION;
    const char             *did = is_operation ? " called " : " passed ";
    const rank_list         culprits = of_blame(r, true, true), others = of_blame(r, false, true);

    if (is_operation)
        hu_out_printf(out, "In collective #%lld", (long long)a->expected->sequence);
    else {
        hu_out_text(out, "In ");
        say_call(out, a->expected);
    }
    hu_out_text(out, " of ");
    say_group(r, out);
    hu_out_text(out, ", ");
    if (culprits.n == 1)
        say_ranks(out, culprits, false);
    else
        hu_out_printf(out, "rank %lld", (long long)odd->rank);
    hu_out_text(out, did);
    if (is_operation)
        hu_out_str(out, odd->entry->operation);
    else
        say_passed(out, odd->entry, a->expected, a->cause);
    say_where(out, odd->entry);
    hu_out_text(out, " where ");
    say_ranks(out, others, false);
    hu_out_text(out, did);
    if (is_operation)
        hu_out_str(out, a->expected->operation);
    else
        say_passed(out, a->expected, odd->entry, a->cause);
    if (is_operation ||
        (a->expected->stack && odd->entry->stack && a->expected->stack->at[0].line != odd->entry->stack->at[0].line))
        say_where(out, a->expected);
    if (culprits.n > 1) {
        hu_out_text(out, "; of the others, ");
        hu_flight_say_ranks(out, culprits.at + 1, culprits.n - 1, false);
        hu_out_text(out, culprits.n == 2 ? " differs, too" : " differ, too");
    }
    if (a->skipped)
        hu_out_printf(out, "; earlier, that call came right after %.*s, so %s seems to have skipped it",
                      HU_FMT(a->skipped->operation), culprits.n == 1 ? "it" : "that rank");
    if (!a->has_majority)
        hu_out_text(out, "; it is unclear which of them is right");
}

static void say_order(const hu_flight_report *r, hu_out *out)
{
    const hu_flight_place *p = first_culprit(r->answer);
    const rank_list        waiting = of_role(r, HU_FLIGHT_WAITS);

    say_ranks(out, waiting, true);
    hu_out_text(out, verb(waiting, " waits in ", " wait in "));
    say_call(out, r->answer->expected);
    hu_out_text(out, " of ");
    say_group(r, out);
    say_where(out, r->answer->expected);
    hu_out_printf(out, " for rank %lld, which waits in ", (long long)p->rank);
    say_call(out, p->last);
    hu_out_text(out, " of ");
    hu_flight_say_group(out, p->last->group, p->last->about);
    say_where(out, p->last);
    if (r->answer->is_cycle)
        hu_out_text(out, ": they entered the two groups in different order, so each waits for the other");
}

static void say_entered(const hu_flight_report *r, hu_out *out)
{
    const hu_flight_answer *a = r->answer;
    const rank_list         waiting = of_role(r, HU_FLIGHT_WAITS), culprits = of_blame(r, true, false);

    hu_out_printf(out, "All %zu ranks %s", a->n_places, a->knows_members ? "entered " : "that are known entered ");
    say_call(out, a->expected);
    hu_out_text(out, " of ");
    say_group(r, out);
    say_where(out, a->expected);
    if (a->cause == HU_FLIGHT_NOT_STARTED) {
        hu_out_text(out, ", but the device of ");
        say_ranks(out, culprits, false);
        hu_out_text(out, " has not begun it: it is still at earlier work, or that hangs");
        return;
    }
    if (waiting.n == a->n_places) {
        hu_out_text(out, " and it ended on none: no rank is missing");
    } else {
        hu_out_text(out, " and it has not ended on ");
        say_ranks(out, waiting, false);
    }
    if (a->last_rank >= 0)
        hu_out_printf(out, "; rank %lld entered last, %s after the one before, by the clocks of their machines",
                      (long long)a->last_rank, hu_say_time((double)a->late_ns).t);
    if (waiting.n < a->n_places && hu_str_has(a->expected->operation, HU_STR("broadcast")))
        hu_out_text(out, "; check that all pass the same root, which is not recorded");
    else
        hu_out_text(out, "; look at the network between them");
}

static void say_lost(const hu_flight_report *r, hu_out *out)
{
    const rank_list waiting = of_role(r, HU_FLIGHT_WAITS), lost = of_role(r, HU_FLIGHT_FORGOTTEN);

    say_ranks(out, waiting, true);
    hu_out_text(out, verb(waiting, " waits in ", " wait in "));
    say_call(out, r->answer->expected);
    hu_out_text(out, " of ");
    say_group(r, out);
    say_where(out, r->answer->expected);
    hu_out_printf(out, "; the dump%s of ", lost.n == 1 ? "" : "s");
    say_ranks(out, lost, false);
    hu_out_printf(out, " no longer hold%s that number, so it is unclear who is missing: raise TORCH_FR_BUFFER_SIZE",
                  lost.n == 1 ? "s" : "");
}

static void say_messages(const hu_flight_report *r, hu_out *out)
{
    const rank_list        waiting = of_role(r, HU_FLIGHT_WAITS);
    const hu_flight_place *p = first_culprit(r->answer);

    if (p) {
        hu_out_printf(out, "Rank %lld waits in ", (long long)r->answer->waiting_rank);
        say_call(out, r->answer->expected);
        hu_out_text(out, " of ");
        say_group(r, out);
        say_where(out, r->answer->expected);
        hu_out_printf(out, " for rank %lld, which never called its side of it", (long long)p->rank);
        if (!p->entry) {
            say_last(r, out);
            return;
        }
        hu_out_text(out, " and waits in ");
        say_call(out, p->entry);
        say_where(out, p->entry);
        hu_out_text(out, r->answer->is_cycle ? ": they wait for each other in a circle" : "");
        return;
    }
    hu_out_printf(out, "No collective waits, but %s ", waiting.n == 1 ? "rank" : "ranks");
    say_numbers(out, waiting.at, waiting.n);
    hu_out_text(out, verb(waiting, " waits in ", " wait in sends or receives, the first in "));
    say_call(out, r->answer->expected);
    hu_out_text(out, " of ");
    say_group(r, out);
    say_where(out, r->answer->expected);
    hu_out_text(out, "; it is unclear whether the peers called their side of it");
}

static void say_nothing(const hu_flight_report *r, hu_out *out)
{
    const rank_list behind = of_blame(r, true, false);

    hu_out_text(out, "Every recorded call has ended: no rank waits in a collective");
    if (behind.n == 0) {
        hu_out_text(out, "; if the job hangs, it hangs elsewhere (making a group, loading data, a lock), which stacks show");
        return;
    }
    hu_out_text(out, ", but ");
    say_ranks(out, behind, false);
    hu_out_text(out, " never entered ");
    say_call(out, r->answer->expected);
    hu_out_text(out, " of ");
    say_group(r, out);
    say_where(out, r->answer->expected);
    hu_out_printf(out, ": either it failed on the others without %s, or %s was written earlier",
                  behind.n == 1 ? "it" : "them", behind.n == 1 ? "its dump" : "their dumps");
}

/* The dumps of some ranks end before calls that the others ended and that need all ranks. */
static void say_moments(const hu_flight_report *r, hu_out *out)
{
    const rank_list old = of_role(r, HU_FLIGHT_EARLIER), done = of_role(r, HU_FLIGHT_DONE);

    hu_out_printf(out, "The dump%s of ", old.n == 1 ? "" : "s");
    say_ranks(out, old, false);
    hu_out_printf(out, " %s written before the others went on: ", old.n == 1 ? "was" : "were");
    say_ranks(out, done, false);
    hu_out_text(out, " ended ");
    say_call(out, r->answer->expected);
    hu_out_text(out, " of ");
    say_group(r, out);
    say_where(out, r->answer->expected);
    hu_out_printf(out, ", which needs all ranks, and %s not reached it", old.n == 1 ? "that dump has" : "those dumps have");
    if (r->answer->trust == HU_FLIGHT_SURE)
        hu_out_text(out, "; the job ran in between, so dump all ranks at the same time");
    else
        hu_out_text(out, "; either the job ran in between, so dump all ranks at the same time, or that call failed");
}

/* A wait that is no longer than the pauses of a job that runs. */
static void say_young(const hu_flight_report *r, hu_out *out)
{
    const hu_flight_answer *a = r->answer;
    const rank_list         waiting = of_role(r, HU_FLIGHT_WAITS), absent = of_role(r, HU_FLIGHT_ABSENT);

    hu_out_text(out, "Nothing shows a hang yet: ");
    say_ranks(out, waiting, false);
    hu_out_text(out, " had waited in ");
    say_call(out, a->expected);
    hu_out_text(out, " of ");
    say_group(r, out);
    say_where(out, a->expected);
    hu_out_printf(out, " for %s at most when the dumps were written", hu_say_time((double)a->waited_ns).t);
    if (a->pause_ns > a->waited_ns)
        hu_out_printf(out, ", and the job had paused for %s between two calls before", hu_say_time((double)a->pause_ns).t);
    if (absent.n && !a->expected->is_p2p) {
        hu_out_text(out, "; ");
        say_ranks(out, absent, false);
        hu_out_text(out, " had not entered it");
    }
    hu_out_text(out, ". Dump again: whoever still waits in the same call hangs");
}

static void say_stale(const hu_flight_report *r, hu_out *out)
{
    const rank_list old = of_blame(r, true, false);

    hu_out_printf(out, "The dump%s of ", old.n == 1 ? "" : "s");
    say_ranks(out, old, false);
    hu_out_printf(out, " ended before the others began, so %s of an earlier run; pass the dumps of one run",
                  old.n == 1 ? "it is" : "they are");
}

static void say(const hu_flight_report *r, hu_out *out)
{
    switch (r->answer->cause) {
    case HU_FLIGHT_MISSING:
        say_missing(r, out);
        break;
    case HU_FLIGHT_NO_DUMP:
        say_no_dump(r, out);
        break;
    case HU_FLIGHT_OPERATION:
    case HU_FLIGHT_SIZES:
    case HU_FLIGHT_TYPES:
        say_difference(r, out);
        break;
    case HU_FLIGHT_ORDER:
        say_order(r, out);
        break;
    case HU_FLIGHT_NOT_STARTED:
    case HU_FLIGHT_ALL_ENTERED:
        say_entered(r, out);
        break;
    case HU_FLIGHT_POINT_TO_POINT:
        say_messages(r, out);
        break;
    case HU_FLIGHT_STALE:
        say_stale(r, out);
        break;
    case HU_FLIGHT_EMPTY:
        hu_out_text(out,
                    "These dumps hold no calls, so they say nothing: TORCH_FR_BUFFER_SIZE was 0 when the job began, or this "
                    "PyTorch does not record this backend (gloo is recorded since 2.8)");
        break;
    case HU_FLIGHT_LOST:
        say_lost(r, out);
        break;
    case HU_FLIGHT_MOMENTS:
        say_moments(r, out);
        break;
    case HU_FLIGHT_YOUNG:
        say_young(r, out);
        break;
    default:
        say_nothing(r, out);
    }
    hu_out_text(out, ".");
}

hu_str hu_flight_sentence(const hu_flight_report *r)
{
    hu_out *out = hu_out_open_memory(r->scratch);
    hu_str  text = HU_STR("");

    if (!out)
        return text;
    say(r, out);
    return hu_out_take(out, &text, NULL) < 0 ? HU_STR("") : text;
}
