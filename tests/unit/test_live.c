/* SPDX-License-Identifier: Apache-2.0
 * test_live.c - what the monitor makes of what jobs tell: shares of steps, who speaks for whom, and histograms as text. */
#include <math.h>

#include "monitor/live/message.h"
#include "monitor/live/shares.h"
#include "monitor/live/table.h"
#include "monitor/serve/exposition.h"
#include "monitor/serve/jsonl.h"
#include "testing.h"

#define MS INT64_C(1000000)
#define S  (1000 * MS)

static const int64_t start_ns = INT64_C(1795473876) * S;

/* ---- a process that makes steps ------------------------------------------------------------------------------------ */

static hu_live_datagram process(uint32_t pid, int32_t rank, int32_t world)
{
    hu_live_datagram d = {.magic = HU_LIVE_MAGIC,
                          .version = HU_LIVE_VERSION,
                          .bytes = sizeof d,
                          .pid = pid,
                          .measured = (1u << HU_LIVE_CAUSE_COUNT) - 1,
                          .began = 1000 + pid,
                          .sequence = 1,
                          .sent_ns = start_ns,
                          .rank = rank,
                          .local_rank = rank,
                          .world_size = world,
                          .local_size = world,
                          .job_id = "mine",
                          .name = "train.py",
                          .step_number = -1};

    return d;
}

/* A step that ends now, and is the next datagram. */
static void step(hu_live_datagram *d, int64_t ns, hu_live_cause cause, int64_t cause_ns)
{
    d->steps++;
    d->step_ns += (uint64_t)ns;
    d->cause_ns[cause] += (uint64_t)cause_ns;
    d->histogram[HU_LIVE_LIMITS]++;
    d->sent_ns += ns;
    d->last_step_ns = d->sent_ns;
    d->sequence++;
}

static void near(double got, double wanted)
{
    if (fabs(got - wanted) > 1e-9)
        fail_msg("%.17g is not %.17g", got, wanted);
}

/* ---- windows --------------------------------------------------------------------------------------------------------- */

static void window_holds_the_last_five_seconds(void **state)
{
    hu_live_history  h = {0};
    hu_live_datagram d = process(1, 0, 1);
    hu_live_window   w;

    (void)state;
    for (int i = 0; i < 40; i++) { /* twenty seconds of data, then as much of forward */
        step(&d, S, i < 20 ? HU_LIVE_DATA : HU_LIVE_FORWARD, S);
        hu_live_history_add(&h, &d);
    }
    w = hu_live_window_of(&h, &d, d.sent_ns);
    assert_true(w.is_known && !w.is_late);
    assert_int_equal(w.step_ns, 5 * S);
    assert_int_equal(w.cause_ns[HU_LIVE_FORWARD], 5 * S);
    assert_int_equal(w.cause_ns[HU_LIVE_DATA], 0);
    assert_int_equal(w.usual_ns, S);
}

static void window_holds_a_whole_long_step(void **state)
{
    hu_live_history  h = {0};
    hu_live_datagram d = process(1, 0, 1);
    hu_live_window   w;

    (void)state;
    for (int i = 0; i < 3; i++) {
        step(&d, 60 * S, HU_LIVE_DATA, 15 * S);
        hu_live_history_add(&h, &d);
    }
    /* in the middle of the next one, which is no longer than usual: it does not count yet */
    d.step_since_ns = d.sent_ns;
    d.sent_ns += 100 * S;
    d.now = HU_LIVE_COMMUNICATION + 1;
    d.now_since_ns = d.step_since_ns;
    hu_live_history_add(&h, &d);
    w = hu_live_window_of(&h, &d, d.sent_ns);
    assert_false(w.is_late);
    assert_int_equal(w.step_ns, 60 * S);
    assert_int_equal(w.cause_ns[HU_LIVE_DATA], 15 * S);
    assert_int_equal(w.usual_ns, 60 * S);
    /* longer than twice the usual one: it counts with what is open, also while no datagram comes */
    w = hu_live_window_of(&h, &d, d.sent_ns + 21 * S);
    assert_true(w.is_late);
    assert_int_equal(w.step_ns, 121 * S);
    assert_int_equal(w.cause_ns[HU_LIVE_COMMUNICATION], 121 * S);
}

static void a_short_hang_counts_beside_steps(void **state)
{
    hu_live_history  h = {0};
    hu_live_datagram d = process(1, 0, 1);
    hu_live_window   w;

    (void)state;
    for (int i = 0; i < 20; i++) {
        step(&d, S, HU_LIVE_DATA, S);
        hu_live_history_add(&h, &d);
    }
    d.step_since_ns = d.now_since_ns = d.sent_ns;
    d.now = HU_LIVE_CHECKPOINT + 1;
    w = hu_live_window_of(&h, &d, d.sent_ns + 2 * S);
    assert_false(w.is_late);
    w = hu_live_window_of(&h, &d, d.sent_ns + 3 * S); /* two seconds of steps, three of a checkpoint */
    assert_true(w.is_late);
    assert_int_equal(w.step_ns, 5 * S);
    assert_int_equal(w.cause_ns[HU_LIVE_CHECKPOINT], 3 * S);
    w = hu_live_window_of(&h, &d, d.sent_ns + 6 * S);
    assert_int_equal(w.step_ns, 6 * S);
    assert_int_equal(w.cause_ns[HU_LIVE_CHECKPOINT], 6 * S);
}

/* Of short steps each datagram is old when it is looked at: the step that ran then is not late for that. */
static void a_datagram_of_before_makes_no_step_late(void **state)
{
    hu_live_history  h = {0};
    hu_live_datagram d = process(1, 0, 1);
    hu_live_window   w;

    (void)state;
    for (int i = 0; i < 50; i++) {
        step(&d, 100 * MS, HU_LIVE_DATA, 100 * MS);
        d.step_since_ns = d.now_since_ns = d.sent_ns;
        d.now = HU_LIVE_CHECKPOINT + 1;
        if (i % 5 == 4)
            hu_live_history_add(&h, &d);
    }
    for (int64_t later_ns = 0; later_ns <= 1500 * MS; later_ns += 100 * MS) {
        w = hu_live_window_of(&h, &d, d.sent_ns + later_ns);
        assert_false(w.is_late);
        assert_int_equal(w.cause_ns[HU_LIVE_CHECKPOINT], 0);
        assert_int_equal(w.cause_ns[HU_LIVE_DATA], w.step_ns);
    }
    assert_true(hu_live_window_of(&h, &d, d.sent_ns + 1600 * MS).is_late);
    d.sent_ns += 300 * MS; /* it says so itself */
    assert_true(hu_live_window_of(&h, &d, d.sent_ns).is_late);
}

/* Datagrams come in the middle of steps; what runs is not in the totals. */
static void what_runs_does_not_move_a_window(void **state)
{
    hu_live_history  h = {0};
    hu_live_datagram d = process(1, 0, 1);
    hu_live_window   w;

    (void)state;
    d.steps = 100; /* the monitor was started late */
    d.step_ns = 100 * (uint64_t)S;
    for (int i = 0; i < 8; i++) { /* every half second; a step ends 200 ms before each other one */
        if (i % 2 == 0) {
            d.steps++;
            d.step_ns += (uint64_t)S;
            d.cause_ns[HU_LIVE_FORWARD] += (uint64_t)(850 * MS);
            d.cause_ns[HU_LIVE_DATA] += (uint64_t)(150 * MS);
            d.step_since_ns = d.sent_ns - 200 * MS;
        }
        d.now = HU_LIVE_DATA + (uint32_t)(i % 2) + 1;
        d.now_since_ns = d.sent_ns - 50 * MS;
        hu_live_history_add(&h, &d);
        d.sent_ns += 500 * MS;
    }
    w = hu_live_window_of(&h, &d, d.sent_ns);
    assert_int_equal(w.step_ns, 3 * S);
    assert_int_equal(w.cause_ns[HU_LIVE_DATA], 450 * MS);
    assert_int_equal(w.cause_ns[HU_LIVE_FORWARD], 2550 * MS);
    /* of a late step what is open counts, and what was open before is nobody's */
    d.now_since_ns = d.step_since_ns + 2 * S;
    w = hu_live_window_of(&h, &d, d.step_since_ns + 10 * S);
    assert_true(w.is_late);
    assert_int_equal(w.step_ns, 10 * S);
    assert_int_equal(w.cause_ns[d.now - 1], 8 * S);
    d.now = 0;
    w = hu_live_window_of(&h, &d, d.step_since_ns + 10 * S);
    for (int i = 0; i < HU_LIVE_CAUSE_COUNT; i++)
        assert_int_equal(w.cause_ns[i], 0);
}

static void nothing_is_known_before_a_whole_step(void **state)
{
    hu_live_history  h = {0};
    hu_live_datagram d = process(1, 0, 1);

    (void)state;
    hu_live_history_add(&h, &d);
    d.step_since_ns = d.sent_ns;
    d.sent_ns += 100 * S;
    hu_live_history_add(&h, &d);
    assert_false(hu_live_window_of(&h, &d, d.sent_ns).is_known);
    /* of an old process only the sums of hours are known: not what is now */
    memset(&h, 0, sizeof h);
    d.steps = 5000;
    d.step_ns = 5000 * (uint64_t)S;
    hu_live_history_add(&h, &d);
    assert_false(hu_live_window_of(&h, &d, d.sent_ns).is_known);
    /* of a young one they are of now */
    memset(&h, 0, sizeof h);
    d = process(1, 0, 1);
    step(&d, 3 * S, HU_LIVE_DATA, S);
    hu_live_history_add(&h, &d);
    assert_int_equal(hu_live_window_of(&h, &d, d.sent_ns).step_ns, 3 * S);
}

static void causes_are_no_more_than_steps(void **state)
{
    hu_live_history  h = {0};
    hu_live_datagram d = process(1, 0, 1);
    hu_live_window   w;

    (void)state;
    step(&d, S, HU_LIVE_DATA, S);
    hu_live_history_add(&h, &d);
    step(&d, S, HU_LIVE_DATA, 3 * S);
    hu_live_history_add(&h, &d);
    w = hu_live_window_of(&h, &d, d.sent_ns);
    assert_int_equal(w.step_ns, w.cause_ns[HU_LIVE_DATA]);
    /* numbers that no process has */
    d.step_since_ns = 1;
    d.sent_ns = HU_LIVE_MOST_TIME;
    d.steps++;
    hu_live_history_add(&h, &d);
    w = hu_live_window_of(&h, &d, HU_LIVE_MOST_TIME);
    assert_true(w.step_ns >= 0);
}

static void who_sends_often_has_the_same_window(void **state)
{
    hu_live_history  h = {0};
    hu_live_datagram d = process(1, 0, 1);

    (void)state;
    for (int i = 0; i < 1000; i++) {
        step(&d, 10 * MS, HU_LIVE_DATA, MS);
        hu_live_history_add(&h, &d);
        assert_true(h.n <= HU_LIVE_POINTS);
    }
    assert_in_range(hu_live_window_of(&h, &d, d.sent_ns).step_ns, 4 * S, 5 * S);
}

/* ---- a job ----------------------------------------------------------------------------------------------------------- */

static hu_live_member member(int32_t rank, int32_t world, int64_t communication_ns, int64_t data_ns, int64_t forward_ns)
{
    hu_live_member m = {.window = {.is_known = true, .step_ns = 10 * S, .usual_ns = S},
                        .measured = (1u << HU_LIVE_CAUSE_COUNT) - 1,
                        .rank = rank,
                        .world = world};

    m.window.cause_ns[HU_LIVE_COMMUNICATION] = communication_ns;
    m.window.cause_ns[HU_LIVE_DATA] = data_ns;
    m.window.cause_ns[HU_LIVE_FORWARD] = forward_ns;
    return m;
}

static void is_whole_one(const hu_live_shares *s)
{
    double sum = 0;

    assert_true(s->is_known);
    for (int k = 0; k < HU_HOLDUP_COUNT; k++)
        sum += s->share[k] > 0 ? s->share[k] : 0;
    near(sum, 1);
}

static void ranks_that_wait_longer_wait_for_a_late_one(void **state)
{
    /* rank 2 computes 8 s of 10 and waits 1; the others wait 5 */
    hu_live_member m[] = {member(0, 4, 5 * S, S, 4 * S), member(1, 4, 5 * S, S, 4 * S), member(2, 4, S, S, 8 * S),
                          member(3, 4, 5 * S, S, 4 * S)};
    hu_live_shares s = hu_live_shares_of(m, 4);

    (void)state;
    is_whole_one(&s);
    near(s.share[HU_HOLDUP_STRAGGLER], (4 + 4 + 0 + 4) / 40.0);
    near(s.share[HU_HOLDUP_COMMUNICATION], 4 / 40.0);
    near(s.share[HU_HOLDUP_HOST], 20 / 40.0);
    near(s.share[HU_HOLDUP_DATA], 4 / 40.0);
    near(s.share[HU_HOLDUP_OTHER], 0);
    /* a rank of another node may be the one that waits least: nobody can tell */
    m[0].world = m[1].world = m[2].world = m[3].world = 8;
    s = hu_live_shares_of(m, 4);
    is_whole_one(&s);
    assert_true(s.share[HU_HOLDUP_STRAGGLER] < 0);
    near(s.share[HU_HOLDUP_COMMUNICATION], 16 / 40.0);
    /* twice the same rank, and one that is not known: the same */
    for (int i = 0; i < 4; i++)
        m[i].world = 4;
    m[3].rank = 2;
    assert_true(hu_live_shares_of(m, 4).share[HU_HOLDUP_STRAGGLER] < 0);
    m[3].rank = -1;
    assert_true(hu_live_shares_of(m, 4).share[HU_HOLDUP_STRAGGLER] < 0);
}

static void what_is_not_recorded_is_absent_and_not_zero(void **state)
{
    hu_live_member m[] = {member(0, 2, 5 * S, S, 4 * S), member(1, 2, 5 * S, S, 4 * S)};
    hu_live_shares s;

    (void)state;
    m[1].measured &= ~(1u << HU_LIVE_COMMUNICATION); /* one that does not see it is enough */
    s = hu_live_shares_of(m, 2);
    is_whole_one(&s);
    assert_true(s.share[HU_HOLDUP_COMMUNICATION] < 0 && s.share[HU_HOLDUP_STRAGGLER] < 0);
    near(s.share[HU_HOLDUP_OTHER], .5);
    near(s.share[HU_HOLDUP_CHECKPOINT], 0); /* recorded, and there was none */
    m[0].measured = m[1].measured = 0;
    s = hu_live_shares_of(m, 2);
    near(s.share[HU_HOLDUP_OTHER], 1);
    for (int k = 0; k < HU_HOLDUP_OTHER; k++)
        assert_true(s.share[k] < 0);
    m[0].window.is_known = m[1].window.is_known = false;
    assert_false(hu_live_shares_of(m, 2).is_known);
    assert_false(hu_live_shares_of(m, 0).is_known);
}

static void what_a_job_waits_at_most(void **state)
{
    /* the one that waits most may have the GPU that draws most; 5 + 1 of its 10 s */
    hu_live_member m[] = {member(0, 2, 5 * S, S, 4 * S), member(1, 2, S, S, 7 * S)};

    (void)state;
    near(hu_live_waits_most(m, 2), .6);
    m[1].measured &= ~(1u << HU_LIVE_COMMUNICATION); /* what nothing is known of may be that: 2 s, and 1 of other */
    near(hu_live_waits_most(&m[1], 1), .3);
    m[1].world = 1; /* with whom should it communicate */
    near(hu_live_waits_most(&m[1], 1), .2);
    m[1].measured = 0;
    near(hu_live_waits_most(&m[1], 1), .3);
    m[1].window.is_known = false;
    assert_true(hu_live_waits_most(m, 2) < 0);
    assert_true(hu_live_waits_most(m, 0) < 0);
}

/* ---- datagrams --------------------------------------------------------------------------------------------------------- */

static hu_live_verdict read_changed(size_t at, const void *bytes, size_t n)
{
    const hu_live_datagram d = process(7, 0, 1);
    unsigned char          raw[sizeof d];
    hu_live_datagram       out;

    memcpy(raw, &d, sizeof d);
    memcpy(raw + at, bytes, n);
    return hu_live_message_read(raw, sizeof raw, &out);
}

#define CHANGED(member, type, ...) read_changed(offsetof(hu_live_datagram, member), &(type){__VA_ARGS__}, sizeof(type))

static void nothing_is_believed_that_cannot_be(void **state)
{
    char             unfinished[HU_LIVE_NAME_BYTES];
    hu_live_datagram d = process(7, 0, 1), out;
    unsigned char    longer[sizeof d + 8] = {0};

    (void)state;
    memset(unfinished, 'x', sizeof unfinished);
    assert_int_equal(hu_live_message_read(&d, sizeof d, &out), HU_LIVE_TAKEN);
    assert_int_equal(hu_live_message_read(&d, sizeof d - 1, &out), HU_LIVE_MALFORMED);
    assert_int_equal(CHANGED(magic, uint32_t, 1), HU_LIVE_MALFORMED);
    assert_int_equal(CHANGED(version, uint16_t, 0), HU_LIVE_MALFORMED);
    assert_int_equal(CHANGED(bytes, uint16_t, 8), HU_LIVE_MALFORMED);
    assert_int_equal(CHANGED(pid, uint32_t, 0), HU_LIVE_MALFORMED);
    assert_int_equal(CHANGED(pid, uint32_t, 1u << 31), HU_LIVE_MALFORMED);
    assert_int_equal(CHANGED(measured, uint32_t, 1u << 16), HU_LIVE_MALFORMED);
    assert_int_equal(CHANGED(rank, int32_t, 1), HU_LIVE_MALFORMED);
    assert_int_equal(CHANGED(rank, int32_t, -2), HU_LIVE_MALFORMED);
    assert_int_equal(CHANGED(world_size, int32_t, 0), HU_LIVE_MALFORMED);
    assert_int_equal(CHANGED(steps, uint64_t, UINT64_MAX), HU_LIVE_MALFORMED);
    assert_int_equal(CHANGED(step_since_ns, int64_t, -1), HU_LIVE_MALFORMED);
    assert_int_equal(CHANGED(sent_ns, int64_t, INT64_MAX), HU_LIVE_MALFORMED);
    assert_int_equal(CHANGED(step_number, int64_t, -2), HU_LIVE_MALFORMED);
    assert_int_equal(CHANGED(now, uint32_t, HU_LIVE_CAUSES_ROOM + 1), HU_LIVE_MALFORMED);
    assert_int_equal(CHANGED(is_over, uint32_t, 2), HU_LIVE_MALFORMED);
    assert_int_equal(CHANGED(cause_ns[HU_LIVE_CAUSES_ROOM - 1], uint64_t, UINT64_MAX), HU_LIVE_MALFORMED);
    assert_int_equal(CHANGED(histogram[HU_LIVE_LIMITS], uint64_t, UINT64_MAX), HU_LIVE_MALFORMED);
    assert_int_equal(read_changed(offsetof(hu_live_datagram, name), unfinished, sizeof unfinished), HU_LIVE_TEXT);
    assert_int_equal(read_changed(offsetof(hu_live_datagram, name), "\xff", 1), HU_LIVE_TEXT);
    assert_int_equal(read_changed(offsetof(hu_live_datagram, job_id), "a\nb", 4), HU_LIVE_TEXT);
    assert_int_equal(read_changed(offsetof(hu_live_datagram, step_id), "\x1b[2J", 5), HU_LIVE_TEXT);
    assert_int_equal(read_changed(offsetof(hu_live_datagram, name), "\xc2\x9b", 3), HU_LIVE_TEXT); /* CSI of eight bits */
    assert_int_equal(read_changed(offsetof(hu_live_datagram, name), "é", 3), HU_LIVE_TAKEN);
    /* of a later version: the head is read */
    d.version = 2;
    d.bytes = sizeof longer;
    memcpy(longer, &d, sizeof d);
    assert_int_equal(hu_live_message_read(longer, sizeof longer, &out), HU_LIVE_TAKEN);
    assert_int_equal(hu_live_message_read(longer, sizeof d, &out), HU_LIVE_MALFORMED);
    longer[offsetof(hu_live_datagram, version)] = 1;
    assert_int_equal(hu_live_message_read(longer, sizeof longer, &out), HU_LIVE_MALFORMED);
}

/* ---- the table --------------------------------------------------------------------------------------------------------- */

typedef struct {
    uint32_t dead, stopped; /* pids */
} world;

static hu_live_state ask(void *context, uint32_t pid, uint64_t began)
{
    const world *w = context;

    assert_int_equal(began, 1000 + pid);
    return pid == w->dead ? HU_LIVE_GONE : pid == w->stopped ? HU_LIVE_STOPPED : HU_LIVE_RUNS;
}

static hu_live_verdict tell(hu_live_table *t, uint32_t sender, int64_t uid, const hu_live_datagram *d, int64_t now_ns)
{
    const hu_live_sender from = {.pid = sender, .uid = uid};
    hu_live_who          who = {.pid = d->pid, .uid = 1000, .group = 5};
    hu_live_verdict      verdict;

    snprintf(who.owner.scheduler, sizeof who.owner.scheduler, "none");
    snprintf(who.owner.job_id, sizeof who.owner.job_id, "%s", d->job_id);
    snprintf(who.owner.user, sizeof who.owner.user, "ada");
    if (!hu_live_table_take(t, &from, d, now_ns, &verdict))
        verdict = hu_live_table_add(t, &from, &who, d, now_ns);
    hu_live_table_count(t, verdict);
    return verdict;
}

/* The value of a series, whose labels are given as in the text; NaN: there is none. */
static double series(hu_live_table *t, int64_t now_ns, const char *name)
{
    const hu_text_how how = {.format = HU_TEXT_PROMETHEUS};
    hu_readings       r = {0};
    hu_text          *text;
    char              line[512];
    const char       *at;
    double            value = NAN;

    hu_live_table_put(t, now_ns, start_ns + now_ns, NULL, &r);
    text = hu_text_of(&(hu_held){&r, "live"}, 1, &how);
    assert_non_null(text);
    snprintf(line, sizeof line, "\n%s ", name);
    at = strstr(text->text, line);
    if (at)
        value = strtod(at + strlen(line), NULL);
    hu_text_drop(text);
    hu_readings_free(&r);
    return value;
}

#define JOB      "scheduler=\"none\",job_id=\"mine\",user=\"ada\""
#define UP(rank) "holdup_job_rank_up{" JOB ",rank=\"" rank "\"}"

/* What the jobs sampler reads of it: by the number that it has of the job, too. */
static void who_counts_energy_is_told_what_waits(void **state)
{
    static hu_job_waits waits;
    static hu_job_wait  found[HU_JOB_WAITS];
    world               w = {0};
    hu_live_table      *t = hu_live_table_new(false, ask, &w);
    hu_live_datagram    a = process(10, 0, 2), b = process(11, 1, 2);
    hu_owner            owner = {.scheduler = "none", .job_id = "mine", .account = "not told"};
    hu_readings         r = {0};
    uint32_t            n;

    (void)state;
    a.measured = b.measured = (1u << HU_LIVE_CAUSE_COUNT) - 1;
    step(&a, S, HU_LIVE_DATA, S / 4);
    step(&b, S, HU_LIVE_COMMUNICATION, S / 2);
    tell(t, 9, 1000, &a, S);
    tell(t, 9, 1000, &b, S);
    hu_live_table_put(t, S, start_ns + S, &waits, &r);
    assert_true(hu_job_waits_read(&waits, 0, found, &n));
    assert_int_equal(n, 1);
    assert_true(found[0].job == hu_owner_hash(&owner));
    near(found[0].share, .5);
    assert_false(hu_job_waits_read(&waits, S, found, &n)); /* of an old look nothing is known */
    hu_job_waits_begin(&waits, 2 * S);
    hu_job_waits_put(&waits, 7, .2); /* two steps of one job */
    hu_job_waits_put(&waits, 7, .1);
    assert_false(hu_job_waits_read(&waits, S, found, &n)); /* it is being written */
    hu_job_waits_end(&waits);
    assert_true(hu_job_waits_read(&waits, S, found, &n));
    assert_int_equal(n, 1);
    near(found[0].share, .2);
    hu_readings_free(&r);
    hu_live_table_free(t);
}

static void ranks_are_up_stopped_lost_and_gone(void **state)
{
    world            w = {0};
    hu_live_table   *t = hu_live_table_new(false, ask, &w);
    hu_live_datagram a = process(10, 0, 2), b = process(11, 1, 2);

    (void)state;
    step(&a, S, HU_LIVE_DATA, S);
    step(&b, S, HU_LIVE_DATA, S);
    assert_int_equal(tell(t, 9, 1000, &a, S), HU_LIVE_TAKEN);
    assert_int_equal(tell(t, 9, 1000, &b, S), HU_LIVE_TAKEN);
    hu_live_table_look(t, S);
    near(series(t, S, UP("0")), 1);
    near(series(t, S, "holdup_job_ranks{" JOB "}"), 2);
    near(series(t, S, "holdup_job_ranks_lost_total{" JOB "}"), 0);
    /* silent, but alive and not stopped: nobody knows */
    hu_live_table_look(t, 3 * S);
    assert_true(isnan(series(t, 3 * S, UP("0"))));
    near(series(t, 3 * S, "holdup_job_ranks{" JOB "}"), 0);
    w.stopped = 11;
    hu_live_table_look(t, 3 * S);
    near(series(t, 3 * S, UP("1")), 0);
    near(series(t, 3 * S, "holdup_job_ranks_lost_total{" JOB "}"), 0);
    /* its supervisor goes on speaking for it: stopped for a moment, then for longer */
    for (int64_t now_ns = 3 * S; now_ns <= 7 * S; now_ns += 500 * MS) {
        b.sequence++;
        tell(t, 9, 1000, &b, now_ns);
        hu_live_table_look(t, now_ns);
        near(series(t, now_ns, UP("1")), now_ns <= 3 * S + 1500 * MS);
    }
    w.stopped = 0;
    hu_live_table_look(t, 7 * S);
    near(series(t, 7 * S, UP("1")), 1);
    /* it died, and a moment later nobody has said goodbye for it */
    w = (world){.dead = 11};
    a.sequence++, b.sequence++;
    tell(t, 9, 1000, &a, 8 * S);
    tell(t, 9, 1000, &b, 8 * S);
    hu_live_table_look(t, 8 * S + 100 * MS);
    near(series(t, 8 * S + 100 * MS, UP("1")), 1);
    hu_live_table_look(t, 9 * S);
    near(series(t, 9 * S, UP("1")), 0);
    near(series(t, 9 * S, UP("0")), 1);
    near(series(t, 9 * S, "holdup_job_ranks_lost_total{" JOB "}"), 1);
    assert_true(isnan(series(t, 9 * S, "holdup_job_step_duration_seconds_count{" JOB ",rank=\"1\"}")));
    near(series(t, 9 * S, "holdup_job_step_duration_seconds_count{" JOB ",rank=\"0\"}"), 1);
    /* it is started again */
    b = process(12, 1, 2);
    tell(t, 9, 1000, &b, 10 * S);
    a.sequence++;
    tell(t, 9, 1000, &a, 10 * S);
    hu_live_table_look(t, 10 * S);
    near(series(t, 10 * S, UP("1")), 1);
    near(series(t, 10 * S, "holdup_job_ranks_lost_total{" JOB "}"), 1);
    /* one says goodbye and the other is killed: that is known for five minutes */
    a.sequence++;
    a.is_over = 1;
    assert_int_equal(tell(t, 9, 1000, &a, 11 * S), HU_LIVE_TAKEN);
    assert_true(isnan(series(t, 11 * S, UP("0"))));
    w.dead = 12;
    hu_live_table_look(t, 13 * S);
    near(series(t, 13 * S, UP("1")), 0);
    near(series(t, 13 * S, "holdup_job_ranks_lost_total{" JOB "}"), 2);
    hu_live_table_look(t, 294 * S);
    near(series(t, 294 * S, UP("1")), 0);
    hu_live_table_look(t, 314 * S);
    assert_true(isnan(series(t, 314 * S, UP("1"))));
    assert_true(isnan(series(t, 314 * S, "holdup_job_ranks{" JOB "}")));
    hu_live_table_free(t);
}

static void nobody_speaks_for_others(void **state)
{
    world            w = {0};
    hu_live_table   *t = hu_live_table_new(false, ask, &w);
    hu_live_datagram d = process(10, 0, 1), old;

    (void)state;
    step(&d, S, HU_LIVE_DATA, S);
    assert_int_equal(tell(t, 10, 1000, &d, S), HU_LIVE_TAKEN);
    old = d;
    assert_int_equal(tell(t, 10, 1000, &old, S), HU_LIVE_OLD);
    d.sequence++;
    assert_int_equal(tell(t, 10, 1001, &d, S), HU_LIVE_FOREIGN);
    assert_int_equal(tell(t, 10, 0, &d, S), HU_LIVE_TAKEN); /* root may */
    d.sequence++;
    d.steps--;
    assert_int_equal(tell(t, 10, 1000, &d, S), HU_LIVE_FALLING);
    d.steps++;
    assert_int_equal(tell(t, 77, 1000, &d, S), HU_LIVE_OTHER); /* two of them would count twice */
    near(series(t, S, "holdup_job_step_duration_seconds_count{" JOB ",rank=\"0\"}"), 1);
    /* another program in the same process begins anew, once the first is silent */
    d = process(10, 0, 1);
    d.sequence = 1;
    assert_int_equal(tell(t, 10, 1000, &d, 2 * S), HU_LIVE_OLD);
    assert_int_equal(tell(t, 10, 1000, &d, 3 * S), HU_LIVE_TAKEN);
    near(series(t, 3 * S, "holdup_job_step_duration_seconds_count{" JOB ",rank=\"0\"}"), 0);
    /* another sender, once the first is silent */
    step(&d, S, HU_LIVE_DATA, S);
    assert_int_equal(tell(t, 77, 1000, &d, 5 * S), HU_LIVE_TAKEN);
    near(series(t, 5 * S, "holdup_job_step_duration_seconds_count{" JOB ",rank=\"0\"}"), 1);
    near(series(t, 5 * S, "holdup_monitor_live_datagrams_total{result=\"refused\",reason=\"process of another user\"}"), 1);
    hu_live_table_free(t);
}

static void helpers_of_a_rank_say_nothing(void **state)
{
    world            w = {0};
    hu_live_table   *t = hu_live_table_new(false, ask, &w);
    hu_live_datagram a = process(10, 0, 1), helper = process(11, 0, 1), twin = process(12, 0, 1);

    (void)state;
    tell(t, 10, 1000, &helper, S); /* a data loader's worker tells first */
    step(&a, S, HU_LIVE_DATA, S);
    tell(t, 10, 1000, &a, S);
    near(series(t, S, UP("0")), 1);
    near(series(t, S, "holdup_job_ranks{" JOB "}"), 1);
    near(series(t, S, "holdup_job_step_duration_seconds_count{" JOB ",rank=\"0\"}"), 1);
    w.dead = 11;
    hu_live_table_look(t, 10 * S);
    near(series(t, 10 * S, "holdup_job_ranks_lost_total{" JOB "}"), 0);
    /* two that make steps are told apart */
    step(&twin, S, HU_LIVE_DATA, S);
    a.sequence++;
    tell(t, 10, 1000, &a, 10 * S);
    tell(t, 10, 1000, &twin, 10 * S);
    near(series(t, 10 * S, "holdup_job_rank_up{" JOB ",rank=\"0\",pid=\"10\"}"), 1);
    near(series(t, 10 * S, "holdup_job_rank_up{" JOB ",rank=\"0\",pid=\"12\"}"), 1);
    hu_live_table_free(t);
}

static void two_users_are_never_of_one_job(void **state)
{
    world                w = {0};
    hu_live_table       *t = hu_live_table_new(true, ask, &w); /* without users even names do not tell them apart */
    const hu_live_sender from = {.pid = 50, .uid = 2000};
    hu_live_datagram     a = process(10, 0, 1), b = process(11, 0, 1);
    hu_live_who          who = {.pid = 11, .uid = 2000, .group = 44, .owner = {.scheduler = "none", .job_id = "mine"}};

    (void)state;
    tell(t, 10, 1000, &a, S);
    assert_int_equal(hu_live_table_add(t, &from, &who, &b, S), HU_LIVE_TAKEN);
    near(series(t, S, "holdup_job_ranks{scheduler=\"none\",job_id=\"mine\"}"), 1);
    near(series(t, S, "holdup_job_ranks{scheduler=\"none\",job_id=\"pid-44\"}"), 1);
    hu_live_table_free(t);
}

static void tables_are_bounded(void **state)
{
    world            w = {0};
    hu_live_table   *t = hu_live_table_new(false, ask, &w);
    hu_live_datagram d;

    (void)state;
    for (uint32_t i = 0; i < HU_LIVE_OF_USER; i++) {
        d = process(100 + i, (int32_t)i, -1);
        step(&d, S, HU_LIVE_DATA, S);
        assert_int_equal(tell(t, 9, 1000, &d, S), HU_LIVE_TAKEN);
    }
    d = process(5000, 5000, -1);
    assert_int_equal(tell(t, 9, 1000, &d, S), HU_LIVE_FULL);
    w.dead = 100; /* one that died makes room */
    hu_live_table_look(t, 3 * S);
    assert_int_equal(tell(t, 9, 1000, &d, 3 * S), HU_LIVE_TAKEN);
    hu_live_table_free(t);
}

/* ---- histograms -------------------------------------------------------------------------------------------------------- */

static void histograms_are_added_up(void **state)
{
    static const char *const labels[] = {"none", "1", "", "", "", ""};
    const hu_text_how        how = {.format = HU_TEXT_OPENMETRICS};
    uint64_t                 counts[HU_LIVE_LIMITS + 1] = {[0] = 1, [12] = 2, [HU_LIVE_LIMITS] = 4};
    hu_readings              r = {0}, cut;
    hu_text                 *t, *lines = hu_text_empty();
    hu_reading               row;
    size_t                   at = 0;

    (void)state;
    hu_readings_put_histogram(&r, HU_METRIC_LIVE_STEPS, 5000.5, counts, labels, 6);
    t = hu_text_of(&(hu_held){&r, "live"}, 1, &how);
    assert_non_null(strstr(t->text, "# TYPE holdup_job_step_duration_seconds histogram\n"));
    assert_non_null(strstr(t->text, "_bucket{scheduler=\"none\",job_id=\"1\",le=\"0.0001\"} 1\n"));
    assert_non_null(strstr(t->text, "_bucket{scheduler=\"none\",job_id=\"1\",le=\"0.5\"} 1\n"));
    assert_non_null(strstr(t->text, "_bucket{scheduler=\"none\",job_id=\"1\",le=\"1.0\"} 3\n"));
    assert_non_null(strstr(t->text, "_bucket{scheduler=\"none\",job_id=\"1\",le=\"1000.0\"} 3\n"));
    assert_non_null(strstr(t->text, "_bucket{scheduler=\"none\",job_id=\"1\",le=\"+Inf\"} 7\n"));
    assert_non_null(strstr(t->text, "_sum{scheduler=\"none\",job_id=\"1\"} 5000.5\n"));
    assert_non_null(strstr(t->text, "_count{scheduler=\"none\",job_id=\"1\"} 7\n"));
    hu_text_drop(t);
    hu_jsonl_put(lines, &(hu_held){&r, "live"}, "n");
    assert_non_null(strstr(lines->text, "{\"name\":\"holdup_job_step_duration_seconds_sum\",\"labels\":"));
    assert_non_null(
        strstr(lines->text, "\"value\":5000.5},{\"name\":\"holdup_job_step_duration_seconds_count\",\"labels\":"));
    hu_text_drop(lines);
    /* rows of one who was killed while it wrote */
    for (cut = r; cut.head.bytes-- > 0; at = 0)
        assert_false(hu_readings_next(&cut, &at, &row));
    hu_readings_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(window_holds_the_last_five_seconds),
        cmocka_unit_test(window_holds_a_whole_long_step),
        cmocka_unit_test(a_short_hang_counts_beside_steps),
        cmocka_unit_test(a_datagram_of_before_makes_no_step_late),
        cmocka_unit_test(what_runs_does_not_move_a_window),
        cmocka_unit_test(nothing_is_known_before_a_whole_step),
        cmocka_unit_test(causes_are_no_more_than_steps),
        cmocka_unit_test(who_sends_often_has_the_same_window),
        cmocka_unit_test(ranks_that_wait_longer_wait_for_a_late_one),
        cmocka_unit_test(what_is_not_recorded_is_absent_and_not_zero),
        cmocka_unit_test(what_a_job_waits_at_most),
        cmocka_unit_test(nothing_is_believed_that_cannot_be),
        cmocka_unit_test(who_counts_energy_is_told_what_waits),
        cmocka_unit_test(ranks_are_up_stopped_lost_and_gone),
        cmocka_unit_test(nobody_speaks_for_others),
        cmocka_unit_test(helpers_of_a_rank_say_nothing),
        cmocka_unit_test(two_users_are_never_of_one_job),
        cmocka_unit_test(tables_are_bounded),
        cmocka_unit_test(histograms_are_added_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
