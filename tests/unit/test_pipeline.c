/* SPDX-License-Identifier: Apache-2.0
 * test_pipeline.c - a job of two stages and two microbatches that fits on a page, and tables that cannot be read.
 *
 * Forward 10 ms, backward 20 ms, transfers and clipping 1 ms, optimizer 5 ms; the last backward pass of stage 0 takes 30:
 *
 *     stage 0   F0 0-10  F1 10-20                     B0 42-62          B1 72-102  clip 102-103  optimizer 103-108
 *     stage 1            F0 11-21  B0 21-41  F1 41-51  B1 51-71         clip  71-103 optimizer 103-108
 *
 * The ideal backward pass is the mean, 22.5 ms.  Then stage 1 is done at 76 and its last gradient arrives at 77, the last
 * pass of stage 0 ends at 99.5, the step at 105.5.  With stage 0 alone as it was: 77 + 30 + 6 = 113.  With stage 0 alone
 * ideal: stage 1 is done at 71, and 72 + 22.5 + 6 = 100.5.
 */
#include <math.h>

#include "advise/slowdown.h"
#include "ingest/operation_rows.h"
#include "testing.h"

static const double MS = 1e6;

#define HEAD "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n"

static const char job[] = HEAD "0,0,0,7,forward-compute,0,10,0,0,0,0\n"
                               "0,0,0,7,forward-compute,10,10,1,0,1,0\n"
                               "0,0,0,7,forward-send,10,1,0,,,\n"
                               "0,0,0,7,forward-send,20,2,1,,,\n"
                               "0,0,0,7,backward-recv,10,32,0,,,\n"
                               "0,0,0,7,backward-recv,62,10,1,,,\n"
                               "0,0,0,7,backward-compute,42,20,0,0,0,0\n"
                               "0,0,0,7,backward-compute,72,30,1,0,1,0\n"
                               "0,0,0,7,optimizer-clip-main-grad,102,1,0,,,\n"
                               "0,0,0,7,optimizer,103,5,0,,,\n"
                               "0,1,4,7,forward-recv,0,11,0,,,\n"
                               "0,1,4,7,forward-recv,21,1,1,,,\n"
                               "0,1,4,7,forward-compute,11,10,0,0,0,1\n"
                               "0,1,4,7,forward-compute,41,10,1,0,1,1\n"
                               "0,1,4,7,backward-compute,21,20,0,0,0,1\n"
                               "0,1,4,7,backward-compute,51,20,1,0,1,1\n"
                               "0,1,4,7,backward-send,41,1,0,,,\n"
                               "0,1,4,7,backward-send,71,1,1,,,\n"
                               "0,1,4,7,optimizer-clip-main-grad,71,32,0,,,\n"
                               "0,1,4,7,optimizer,103,5,0,,,\n";

/* Of a text whose times are in ms. */
static int read_text(const char *text, hu_arena *arena, hu_operations *table, hu_error *err)
{
    const hu_input_options options = plain_options();
    hu_input              *in = hu_input_open_memory(hu_str_of(text), "table", &options, err);
    int                    rc;

    assert_non_null(in);
    *table = (hu_operations){0};
    rc = hu_operation_rows_read(in, 6, arena, table, err);
    hu_input_close(in);
    if (rc == 0)
        hu_operations_sort(table);
    return rc;
}

static void near(double value, double expected)
{
    if (fabs(value - expected) > 1)
        fail_msg("%.1f is not %.1f", value, expected);
}

static const hu_slowdown_part *part_of(const hu_slowdown_parts *parts, uint32_t id)
{
    for (size_t i = 0; i < parts->n; i++)
        if (parts->at[i].id == id)
            return &parts->at[i];
    fail_msg("no part %u", id);
    return NULL;
}

static void a_job_worked_out_by_hand(void **state)
{
    hu_arena     *arena = hu_arena_new();
    hu_operations table;
    hu_pipeline   p;
    hu_slowdown   s;
    hu_error      err = {0};

    (void)state;
    assert_int_equal(read_text(job, arena, &table, &err), 0);
    assert_int_equal(table.n, 20);
    assert_int_equal(hu_pipeline_build(&table, arena, &p, &err), 0);
    assert_int_equal(p.n_workers, 2);
    assert_int_equal(p.workers[1].rank, 4);
    assert_int_equal(p.n_model_chunks, 2);
    assert_false(p.has_dp);
    assert_int_equal(p.steps[0].unpaired, 0);
    assert_int_equal(p.steps[0].n_groups, 20 - 5); /* four transfers and clipping */
    assert_int_equal(hu_slowdown_measure(&p, 1, arena, &s, &err), 0);
    near(s.measured_ns, 108 * MS);
    near(s.original_ns, 108 * MS);
    near(s.replayed_ns, 108 * MS);
    near(s.ideal_ns, 105.5 * MS);
    near(s.kind_ideal_ns[HU_OPERATION_BACKWARD], 22.5 * MS);
    near(s.kind_ideal_ns[HU_OPERATION_BACKWARD_RECV], 1 * MS); /* waiting is no transfer */
    near(part_of(&s.stages, 0)->alone_ns, 113 * MS);
    near(part_of(&s.stages, 0)->fixed_ns, 100.5 * MS);
    near(1e9 * part_of(&s.stages, 0)->explained, 1e9 * 7.5 / 2.5);
    near(1e9 * s.last_stage_share, 1e9 * part_of(&s.stages, 1)->explained);
    assert_int_equal(s.workers.at[0].id, 0);
    hu_arena_free(arena);
}

/* The order of rows and what separates fields cannot matter. */
static void rows_in_another_order_are_the_same(void **state)
{
    hu_arena     *arena = hu_arena_new();
    hu_operations one, other;
    hu_error      err = {0};
    char          turned[sizeof job + 8], *to = turned;
    const char   *end = job + sizeof job - 1;

    (void)state;
    to += snprintf(to, sizeof turned, "%s",
                   "dp_rank\tstage\trank\tstep\toptype\tstart_ts\tduration\tseq_id\tmc\tmb_id\tgmc\r\n");
    while (end > job + sizeof HEAD - 1) {
        const char *line = end - 1;

        while (line[-1] != '\n')
            line--;
        for (const char *p = line; p < end; p++)
            *to++ = *p == ',' ? '\t' : *p;
        end = line;
    }
    *to = '\0';
    assert_int_equal(read_text(job, arena, &one, &err), 0);
    assert_int_equal(read_text(turned, arena, &other, &err), 0);
    assert_int_equal(one.n, other.n);
    for (size_t i = 0; i < one.n; i++) {
        one.at[i].line = other.at[i].line = 0;
        assert_memory_equal(&one.at[i], &other.at[i], sizeof one.at[i]);
    }
    hu_arena_free(arena);
}

static const struct {
    const char *text;
    int         code;
    const char *words;
} bad[] = {
    {"", HU_EEMPTY, "is empty"},
    {"\n", HU_EFORMAT, "no column dp_rank"},
    {"dp_rank,stage,step,optype,start_ts\n", HU_EFORMAT, "no column duration"},
    {"dp_rank,dp_rank,stage,step,optype,start_ts,duration\n", HU_EFORMAT, "two columns"},
    {"\"dp_rank,stage\n", HU_EFORMAT, "unclosed quote"},
    {"PAR1\x15\x04", HU_EFORMAT, "Parquet"},
    {HEAD, HU_EEMPTY, "no rows"},
    {HEAD "0,0,0,7,tea-break,0,10,0,0,0,0\n", HU_EEMPTY, "tea-break"},
    {HEAD "0,0,0,7,gc,0,10,0,0,0\n0,0,0,7,gc,0,10,0,0,0,0\n", HU_EFORMAT, "line 2: fewer fields"},
    {HEAD "0,0,0,7,gc,0,10,0,0,0,0,0\n", HU_EFORMAT, "line 2: more fields"},
    {HEAD "\n0,0,0,7,gc,0,10,0,0,0,\"0\n", HU_EFORMAT, "line 3: unclosed quote"},
    {HEAD "0,0,0,7,gc,0,\"10\"x,0,0,0,0\n", HU_EFORMAT, "line 2: unclosed quote"},
    {HEAD "x,0,0,7,gc,0,10,0,0,0,0\n", HU_EFORMAT, "line 2: dp_rank \"x\""},
    {HEAD "-1,0,0,7,gc,0,10,0,0,0,0\n", HU_EFORMAT, "at least 0"},
    {HEAD "99999,0,0,7,gc,0,10,0,0,0,0\n", HU_ELIMIT, "dp_rank 99999"},
    {HEAD "0,999,0,7,gc,0,10,0,0,0,0\n", HU_ELIMIT, "stage 999"},
    {HEAD "0,0,0,1.5,gc,0,10,0,0,0,0\n", HU_EFORMAT, "step \"1.5\""},
    {HEAD "0,0,0,,gc,0,10,0,0,0,0\n", HU_EFORMAT, "step \"\""},
    {HEAD "0,0,0,7,gc,soon,10,0,0,0,0\n", HU_EFORMAT, "start_ts \"soon\""},
    {HEAD "0,0,0,7,gc,0,nan,0,0,0,0\n", HU_EFORMAT, "duration \"nan\""},
    {HEAD "0,0,0,7,gc,0,-1,0,0,0,0\n", HU_EFORMAT, "ends before"},
    {HEAD "0,0,0,7,gc,9e15,1,0,0,0,0\n", HU_EFORMAT, "start_ts"},
    {HEAD "0,0,0,7,gc,3e12,1,0,0,0,0\n", HU_EFORMAT, "73 years"},
    {HEAD "0,0,0,7,gc,0,10,x,0,0,0\n", HU_EFORMAT, "seq_id \"x\""},
    {HEAD "0,0,0,7,gc,0,10,0,4096,0,0\n", HU_EFORMAT, "mc \"4096\""},
};

static void a_wrong_table_names_line_cause_and_remedy(void **state)
{
    (void)state;
    for (size_t i = 0; i < HU_COUNT(bad); i++) {
        hu_arena     *arena = hu_arena_new();
        hu_operations table;
        hu_error      err = {0};
        const int     rc = read_text(bad[i].text, arena, &table, &err);

        if (rc != bad[i].code || !strstr(err.text, bad[i].words))
            fail_msg("%s: %d %s", bad[i].text, rc, err.text);
        if (!strstr(err.text, "; "))
            fail_msg("no remedy: %s", err.text);
        hu_arena_free(arena);
    }
}

static void what_is_cut_is_said_and_kept(void **state)
{
    hu_arena     *arena = hu_arena_new();
    hu_operations table;
    hu_error      err = {0};

    (void)state;
    assert_int_equal(read_text(HEAD "0,0,0,7,gc,0,10,0,0,0,0\n0,0,0,7,opti", arena, &table, &err), 0);
    assert_int_equal(table.n, 1);
    assert_true(table.is_cut);
    assert_int_equal(read_text(HEAD "0,0,0,7,gc,0,10,0,0,0,0\n\n0,0,0,7,x,0,1,0,0,0,0\n0,0,0,7.0,gc,-0.5,10,nan,-1,,", arena,
                               &table, &err),
                     0);
    assert_int_equal(table.n, 2);
    assert_false(table.is_cut);
    assert_int_equal(table.unknown_rows, 1);
    assert_int_equal(table.at[0].start_ns, -500000);
    assert_int_equal(table.at[0].sequence, -1);
    hu_arena_free(arena);
}

/* Without a row, or with one twice, the step is no step. */
static void a_step_with_holes_is_left_out(void **state)
{
    static const struct {
        const char *row, *why;
    } holes[] = {
        {"0,1,4,7,forward-compute,41,10,1,0,1,1\n", "1 forward and 2 backward"},
        {"0,0,0,7,backward-compute,72,30,1,0,1,0\n", "2 forward and 1 backward"},
    };
    (void)state;
    for (size_t i = 0; i < HU_COUNT(holes); i++) {
        hu_arena     *arena = hu_arena_new();
        hu_operations table;
        hu_pipeline   p;
        hu_error      err = {0};
        char          text[sizeof job];
        const char   *at = strstr(job, holes[i].row);

        assert_non_null(at);
        snprintf(text, sizeof text, "%.*s%s", (int)(at - job), job, at + strlen(holes[i].row));
        assert_int_equal(read_text(text, arena, &table, &err), 0);
        assert_int_equal(hu_pipeline_build(&table, arena, &p, &err), HU_EEMPTY);
        assert_non_null(strstr(err.text, holes[i].why));
        hu_arena_free(arena);
    }
}

/* One end of a transfer alone stays as it was, and is counted. */
static void a_transfer_without_its_other_end_is_frozen(void **state)
{
    static const char row[] = "0,0,0,7,forward-send,20,2,1,,,\n";
    hu_arena         *arena = hu_arena_new();
    hu_operations     table;
    hu_pipeline       p;
    hu_slowdown       s;
    hu_error          err = {0};
    char              text[sizeof job];
    const char       *at = strstr(job, row);

    (void)state;
    snprintf(text, sizeof text, "%.*s%s", (int)(at - job), job, at + strlen(row));
    assert_int_equal(read_text(text, arena, &table, &err), 0);
    assert_int_equal(hu_pipeline_build(&table, arena, &p, &err), 0);
    assert_int_equal(p.steps[0].unpaired, 1);
    assert_int_equal(hu_slowdown_measure(&p, 1, arena, &s, &err), 0);
    near(s.original_ns, 108 * MS);
    hu_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_worked_out_by_hand),
        cmocka_unit_test(rows_in_another_order_are_the_same),
        cmocka_unit_test(a_wrong_table_names_line_cause_and_remedy),
        cmocka_unit_test(what_is_cut_is_said_and_kept),
        cmocka_unit_test(a_step_with_holes_is_left_out),
        cmocka_unit_test(a_transfer_without_its_other_end_is_frozen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
