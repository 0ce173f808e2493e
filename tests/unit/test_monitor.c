/* SPDX-License-Identifier: Apache-2.0
 * test_monitor.c - what the monitor makes of readings: text in two formats, DCGM's names, lines of JSON; and what it makes of
 * requests. */
#include <sys/socket.h>
#include <unistd.h>

#include "monitor/serve/dcgm_names.h"
#include "monitor/serve/exposition.h"
#include "monitor/serve/http_pages.h"
#include "monitor/serve/jsonl.h"
#include "monitor/serve/negotiate.h"
#include "monitor/serve/visitors.h"
#include "testing.h"

static char *text_of(const hu_readings *r, hu_text_format format, hu_text_names names, bool is_guest)
{
    const hu_text_how how = {.format = format, .names = names, .is_guest = is_guest};
    hu_text          *t = hu_text_of(&(hu_held){r, "test"}, 1, &how);
    char             *text;

    assert_non_null(t);
    text = strdup(t->text);
    hu_text_drop(t);
    return text;
}

static void expect(const hu_readings *r, hu_text_format format, const char *expected)
{
    char *text = text_of(r, format, HU_NAMES_OWN, false);

    assert_string_equal(text, expected);
    free(text);
}

/* ---- the rows ---------------------------------------------------------------------------------------------------- */

static bool ends(const char *s, const char *with)
{
    return hu_str_ends(hu_str_of(s), hu_str_of(with));
}

/* What promtool and OpenMetrics ask of names, of every row there is. */
static void rows_are_named_as_both_formats_want(void **state)
{
    (void)state;
    for (size_t i = 0; i < HU_METRIC_COUNT; i++) {
        const hu_metric_row *row = &hu_metric_rows[i];
        char                 family[128], unit[64];

        print_message("%s\n", row->name);
        snprintf(family, sizeof family, "%s", row->name);
        assert_int_equal(ends(row->name, "_total"), row->type == HU_METRIC_COUNTER);
        assert_int_equal(ends(row->name, "_info"), row->type == HU_METRIC_INFO);
        if (row->type == HU_METRIC_COUNTER)
            family[strlen(family) - strlen("_total")] = '\0';
        if (row->unit[0]) {
            snprintf(unit, sizeof unit, "_%s", row->unit);
            assert_true(ends(family, unit));
        }
        assert_int_equal(strspn(row->name, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(row->name));
        assert_true(row->help[0] && ends(row->help, ".") && !strchr(row->help, '\n'));
        assert_true(hu_metric_labels((hu_metric)i) <= HU_METRIC_LABELS_MOST);
        for (size_t k = 0; k < hu_metric_labels((hu_metric)i); k++) {
            size_t      n;
            const char *key = hu_metric_label((hu_metric)i, k, &n);

            assert_true(n > 0 && strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_") >= n);
            /* what Prometheus gives to a target itself */
            assert_false((n == 3 && !memcmp(key, "job", 3)) || (n == 8 && !memcmp(key, "instance", 8)));
        }
        assert_int_equal(hu_metric_find(row->name, strlen(row->name)), i);
    }
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void text_is_sorted_escaped_and_has_no_twins(void **state)
{
    hu_readings r = {0};

    (void)state;
    hu_put(&r, HU_METRIC_CPU_SECONDS, 0.1 + 0.2, "b\\\"\n\t\x01");
    hu_put(&r, HU_METRIC_CPU_SECONDS, 3, "a10");
    hu_put(&r, HU_METRIC_CPU_SECONDS, 1, "a2");
    hu_put(&r, HU_METRIC_CPU_SECONDS, 2, "a2");
    hu_put(&r, HU_METRIC_CPU_SECONDS, -1, "gone: a counter below zero");
    hu_put(&r, HU_METRIC_CPU_SECONDS, 1e300 * 1e300, "gone: infinite");
    hu_put(&r, HU_METRIC_CPU_SECONDS, 4, "");
    hu_put(&r, HU_METRIC_CPU_SECONDS, 5,
           "\xff\xc0\x80"
           "é");
    hu_put_plain(&r, HU_METRIC_CPUS, 2);
    hu_put_problem(&r, "x", "y", NULL);
    expect(&r, HU_TEXT_PROMETHEUS,
           "# HELP holdup_host_cpu_seconds_total CPU time of all processors, by what they did.\n"
           "# TYPE holdup_host_cpu_seconds_total counter\n"
           "holdup_host_cpu_seconds_total 4\n"
           "holdup_host_cpu_seconds_total{mode=\"a2\"} 1\n"
           "holdup_host_cpu_seconds_total{mode=\"a10\"} 3\n"
           "holdup_host_cpu_seconds_total{mode=\"b\\\\\\\"\\n\t\x01\"} 0.30000000000000004\n"
           "holdup_host_cpu_seconds_total{mode=\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
           "é\"} 5\n"
           "# HELP holdup_host_cpus Processors that are online.\n"
           "# TYPE holdup_host_cpus gauge\n"
           "holdup_host_cpus 2\n"
           "# HELP holdup_monitor_problem 1: why something is not sampled, served or written, and what to do about it.\n"
           "# TYPE holdup_monitor_problem gauge\n"
           "holdup_monitor_problem{source=\"x\",what=\"y\"} 1\n");
    hu_readings_free(&r);
}

static void openmetrics_has_units_and_an_end(void **state)
{
    hu_readings r = {0};

    (void)state;
    hu_put(&r, HU_METRIC_CPU_SECONDS, 1.5, "user");
    hu_put(&r, HU_METRIC_BUILD_INFO, 1, "1\"2");
    hu_put_plain(&r, HU_METRIC_START_TIME, 1795473876.125);
    hu_put_problem(&r, "x", "\\", "\n");
    expect(&r, HU_TEXT_OPENMETRICS,
           "# HELP holdup_host_cpu_seconds CPU time of all processors, by what they did.\n"
           "# TYPE holdup_host_cpu_seconds counter\n"
           "# UNIT holdup_host_cpu_seconds seconds\n"
           "holdup_host_cpu_seconds_total{mode=\"user\"} 1.5\n"
           "# HELP holdup_build Version of holdup.\n"
           "# TYPE holdup_build info\n"
           "holdup_build_info{version=\"1\\\"2\"} 1\n"
           "# HELP holdup_monitor_problem 1: why something is not sampled, served or written, and what to do about it.\n"
           "# TYPE holdup_monitor_problem gauge\n"
           "holdup_monitor_problem{source=\"x\",what=\"\\\\\",fix=\"\\n\"} 1\n"
           "# HELP process_start_time_seconds Unix time when the monitor started.\n"
           "# TYPE process_start_time_seconds gauge\n"
           "# UNIT process_start_time_seconds seconds\n"
           "process_start_time_seconds 1795473876.125\n"
           "# EOF\n");
    hu_readings_clear(&r);
    expect(&r, HU_TEXT_OPENMETRICS, "# EOF\n");
    expect(&r, HU_TEXT_PROMETHEUS, "");
    hu_readings_free(&r);
}

static void a_guest_has_no_process(void **state)
{
    hu_readings r = {0};
    char       *text;

    (void)state;
    hu_put_plain(&r, HU_METRIC_START_TIME, 1);
    hu_put_plain(&r, HU_METRIC_CPUS, 1);
    text = text_of(&r, HU_TEXT_PROMETHEUS, HU_NAMES_OWN, true);
    assert_null(strstr(text, "process_"));
    assert_non_null(strstr(text, "\nholdup_host_cpus 1\n"));
    free(text);
    hu_readings_free(&r);
}

/* ---- DCGM's names ------------------------------------------------------------------------------------------------ */

/* A row whose metric is not there would be left out without a word. */
static void every_dcgm_name_has_a_metric(void **state)
{
    const bool has_source = hu_metric_find("holdup_gpu_memory_clock_hertz", 29) != HU_METRIC_COUNT; /* of NVIDIA's GPUs */
    size_t     missing = 0;

    (void)state;
    for (const hu_dcgm_name *d = hu_dcgm_names; d->name; d++) {
        assert_true(strncmp(d->name, "DCGM_FI_", 8) == 0 && d->factor > 0 && d->help[0]);
        if (hu_metric_find(d->own, strlen(d->own)) == HU_METRIC_COUNT) {
            print_message("%s: there is no %s\n", d->name, d->own);
            missing++;
        }
    }
    assert_int_equal(missing, has_source ? 0 : 17);
}

/* Labels as in a page of dcgm-exporter 4 on eight H100; units as it exports them. */
static void dcgm_names_have_its_labels_and_units(void **state)
{
    hu_readings r = {0};
    char       *text, host[256] = "", expected[1024];

    (void)state;
    gethostname(host, sizeof host - 1);
    hu_put(&r, HU_METRIC_GPU_INFO, 1, "5", "GPU-39e2", "", "", "", "nvidia", "NVIDIA H100 80GB HBM3", "0000:a8:00.0", "5",
           "580.105.08", "");
    hu_put(&r, HU_METRIC_GPU_INFO, 1, "6", "MIG-1", "7", "0", "GPU-parent", "nvidia", "NVIDIA A100", "0000:b9:00.0", "6",
           "1", "1g.5gb");
    hu_put(&r, HU_METRIC_GPU_INFO, 1, "0", "amd-1", "", "", "", "amd", "MI300", "0000:01:00.0", "0", "6", "");
    hu_put(&r, HU_METRIC_GPU_BUSY, 0.29, "5", "GPU-39e2", "");
    hu_put(&r, HU_METRIC_GPU_BUSY, 1, "0", "amd-1", "");
    hu_put(&r, HU_METRIC_GPU_MEMORY_USED, 3.0 * (1 << 20), "6", "MIG-1", "7");
    hu_put(&r, HU_METRIC_GPU_SM_CLOCK, 1980e6, "5", "GPU-39e2");
    hu_put(&r, HU_METRIC_GPU_ENERGY, 1234567.891, "5", "GPU-39e2");
    hu_put(&r, HU_METRIC_GPU_POWER, 113.611, "9", "GPU-unknown");
    text = text_of(&r, HU_TEXT_PROMETHEUS, HU_NAMES_DCGM, false);
    assert_null(strstr(text, "holdup_gpu_power_watts"));
    assert_non_null(strstr(text, "# TYPE holdup_gpu_utilization_ratio gauge\n"
                                 "holdup_gpu_utilization_ratio{gpu=\"0\",uuid=\"amd-1\"} 1\n#")); /* has no other name */
    assert_null(strstr(text, "amd-1\",pci"));
    snprintf(expected, sizeof expected,
             "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %%).\n# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
             "DCGM_FI_DEV_GPU_UTIL{gpu=\"5\",UUID=\"GPU-39e2\",pci_bus_id=\"00000000:A8:00.0\",device=\"nvidia5\","
             "modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"%s\",DCGM_FI_DRIVER_VERSION=\"580.105.08\"} 29\n",
             host);
    assert_non_null(strstr(text, expected));
    snprintf(
        expected, sizeof expected,
        "DCGM_FI_DEV_FB_USED{gpu=\"6\",UUID=\"GPU-parent\",pci_bus_id=\"00000000:B9:00.0\",device=\"nvidia6\","
        "modelName=\"NVIDIA A100\",GPU_I_PROFILE=\"1g.5gb\",GPU_I_ID=\"7\",Hostname=\"%s\",DCGM_FI_DRIVER_VERSION=\"1\"} 3\n",
        host);
    assert_non_null(strstr(text, expected));
    assert_non_null(strstr(text, "DCGM_FI_DRIVER_VERSION=\"580.105.08\"} 1980\n"));
    assert_non_null(strstr(text, "# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\n"));
    assert_non_null(strstr(text, "} 1234567891\n"));
    snprintf(expected, sizeof expected, "DCGM_FI_DEV_POWER_USAGE{gpu=\"9\",UUID=\"GPU-unknown\",Hostname=\"%s\"} 113.611\n",
             host);
    assert_non_null(strstr(text, expected));
    free(text);

    text = text_of(&r, HU_TEXT_OPENMETRICS, HU_NAMES_BOTH, false);
    assert_non_null(strstr(text, "# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION unknown\n"));
    assert_non_null(strstr(text, "holdup_gpu_power_watts{"));
    assert_non_null(strstr(text, "\n# EOF\n"));
    free(text);
    text = text_of(&r, HU_TEXT_PROMETHEUS, HU_NAMES_OWN, false);
    assert_null(strstr(text, "DCGM_FI_DEV"));
    free(text);
    hu_readings_free(&r);
}

/* ---- lines of JSON ----------------------------------------------------------------------------------------------- */

static void a_look_is_a_line(void **state)
{
    hu_readings r = {.head = {.at_ns = 1795473876000000123, .group = HU_SAMPLE_MEDIUM}};
    hu_text    *t = hu_text_empty();

    (void)state;
    hu_jsonl_put(t, &(hu_held){&r, "a"}, "h");
    hu_put(&r, HU_METRIC_CPU_SECONDS, 0.1,
           "x\"\\\n\x01"
           "é");
    hu_put_problem(&r, "s", "", "f");
    hu_jsonl_put(t, &(hu_held){&r, "b"}, "h");
    assert_string_equal(
        t->text,
        "{\"time\":1795473876.000000123,\"host\":\"h\",\"source\":\"a\",\"group\":\"medium\",\"metrics\":[]}\n"
        "{\"time\":1795473876.000000123,\"host\":\"h\",\"source\":\"b\",\"group\":\"medium\",\"metrics\":["
        "{\"name\":\"holdup_host_cpu_seconds_total\",\"labels\":{\"mode\":\"x\\\"\\\\\\u000a\\u0001é\"},\"value\":0.1},"
        "{\"name\":\"holdup_monitor_problem\",\"labels\":{\"source\":\"s\",\"fix\":\"f\"},\"value\":1}]}\n");
    hu_text_drop(t);
    hu_readings_free(&r);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void formats_are_negotiated(void **state)
{
    static const struct {
        const char *accept;
        bool        is_open;
        /* clang-format off */
    } rows[] = {
        {NULL, false}, {"", false}, {"*/*", false}, {"text/html", false}, {"application/openmetrics-text", true},
        {"application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;q=0.75,"
         "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", true},
        {"application/openmetrics-text; version=1.0.0; charset=utf-8", true}, {"APPLICATION/OPENMETRICS-TEXT", true},
        {"application/openmetrics-text;version=0.0.1", false}, {"application/openmetrics-text;q=0", false},
        {"application/openmetrics-text;q=0.000", false}, {"application/openmetrics-text;q=0.001", true},
        {"application/openmetrics-text;q=0.3,text/plain;q=0.4", false}, {"text/*;q=0.4 , application/openmetrics-text ; q=0.5", true},
        {"application/openmetrics-text;q=2", false}, {"application/openmetrics-text;q=x", false},
        {"application/openmetrics-text;q=0.1234", false}, {"application/openmetrics-textual", false}, {",,;;q=,", false},
    };
    static const struct {
        const char *accept;
        bool        is_packed;
    } packing[] = {
        {NULL, false}, {"", false}, {"gzip", true}, {"deflate, GZIP ;q=0.5", true}, {"gzip;q=0", false}, {"*", false},
        {"x-gzip", true}, {"gzipped", false}, {"identity", false},
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < HU_COUNT(rows); i++)
        if ((hu_negotiate_format(rows[i].accept) == HU_TEXT_OPENMETRICS) != rows[i].is_open)
            fail_msg("Accept: %s", rows[i].accept);
    for (size_t i = 0; i < HU_COUNT(packing); i++)
        if (hu_negotiate_gzip(packing[i].accept) != packing[i].is_packed)
            fail_msg("Accept-Encoding: %s", packing[i].accept);
}

#define SECONDS(n) ((n)*INT64_C(1000000000))

static void places_are_lent_for_a_time(void **state)
{
    hu_visitors v;
    hu_visitor *silent, *asks, *idle;
    int         ends_of[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_of), 0);
    hu_visitors_init(&v);
    assert_true(hu_visitors_sweep(&v, 0) == INT64_MAX);
    silent = hu_visitors_enter(&v, ends_of[0], &v, SECONDS(1));
    asks = hu_visitors_enter(&v, ends_of[0] + 1000, &v, SECONDS(1));
    idle = hu_visitors_enter(&v, ends_of[0] + 2000, &v, SECONDS(1));
    assert_ptr_equal(hu_visitors_house(&v, ends_of[0]), silent);
    assert_null(hu_visitors_house(&v, ends_of[0]));
    hu_visitors_house(&v, ends_of[0] + 1000);
    hu_visitors_house(&v, ends_of[0] + 2000);
    hu_visitors_ask(&v, asks, SECONDS(2), SECONDS(20));
    hu_visitors_ask(&v, idle, SECONDS(2), SECONDS(20));
    hu_visitors_answered(&v, idle, SECONDS(3));
    assert_false(hu_visitors_cut_slowest(&v, SECONDS(3) - 1)); /* it has had less than a second */
    assert_true(hu_visitors_sweep(&v, SECONDS(10)) == SECONDS(11));
    assert_true(hu_visitors_sweep(&v, SECONDS(11)) == SECONDS(22));
    assert_int_equal(silent->state, HU_VISITOR_SENT_AWAY);
    hu_visitors_ask(&v, silent, SECONDS(11), SECONDS(20)); /* too late */
    assert_int_equal(silent->state, HU_VISITOR_SENT_AWAY);
    assert_int_equal(hu_visitors_clear(&v, &v), 1);
    assert_int_equal(idle->state, HU_VISITOR_SENT_AWAY);
    assert_true(hu_visitors_sweep(&v, SECONDS(22)) == INT64_MAX);
    assert_int_equal(asks->state, HU_VISITOR_SENT_AWAY);
    assert_false(hu_visitors_cut_slowest(&v, SECONDS(30)));
    hu_visitors_leave(&v, asks);
    assert_int_equal(asks->state, HU_VISITOR_NONE);
    asks = hu_visitors_enter(&v, ends_of[0] + 3000, &v, SECONDS(30));
    hu_visitors_house(&v, ends_of[0] + 3000);
    hu_visitors_ask(&v, asks, SECONDS(30), SECONDS(20));
    assert_true(hu_visitors_cut_slowest(&v, SECONDS(31)));
    assert_int_equal(asks->state, HU_VISITOR_SENT_AWAY);
    hu_visitors_leave(&v, NULL);
    hu_visitors_free(&v);
    close(ends_of[0]);
    close(ends_of[1]);
}

static void the_idlest_makes_room(void **state)
{
    hu_visitors v;
    hu_visitor *all[HU_VISITORS_ROOM];
    size_t      away = 0;

    (void)state;
    hu_visitors_init(&v);
    for (int i = 0; i < HU_VISITORS_ROOM; i++) { /* sockets that are none */
        assert_true(hu_visitors_have_room(&v));
        all[i] = hu_visitors_enter(&v, 100000 + i, &v, SECONDS(1) + i);
        assert_ptr_equal(hu_visitors_house(&v, 100000 + i), all[i]);
    }
    assert_false(hu_visitors_have_room(&v));
    assert_null(hu_visitors_enter(&v, 1, &v, SECONDS(1)));
    hu_visitors_ask(&v, all[0], SECONDS(1), SECONDS(30));
    hu_visitors_sweep(&v, SECONDS(1) + 1000); /* nobody goes in the first moment */
    for (int i = 0; i < HU_VISITORS_ROOM; i++)
        assert_int_not_equal(all[i]->state, HU_VISITOR_SENT_AWAY);
    hu_visitors_sweep(&v, SECONDS(2));
    for (int i = 0; i < HU_VISITORS_ROOM; i++) {
        away += all[i]->state == HU_VISITOR_SENT_AWAY;
        assert_int_equal(all[i]->state == HU_VISITOR_SENT_AWAY, i > 0 && i <= HU_VISITORS_ROOM - HU_VISITORS_MOST);
    }
    assert_int_equal(away, HU_VISITORS_ROOM - HU_VISITORS_MOST);
    hu_visitors_free(&v);
}

/* Samplers run from the first moment; what they sent is known when the keeper has had a turn. */
static void it_is_ready_when_all_was_asked(void **state)
{
    const hu_source_options how = {.root = "", .period_ns = SECONDS(1), .board = hu_gpu_board_new()};
    hu_keeper              *k = hu_keeper_start(&how, NULL);
    hu_pages               *pages = k ? hu_pages_new(k, HU_NAMES_OWN) : NULL;
    int                     turns = 0;

    (void)state;
    assert_non_null(pages);
    assert_int_equal(hu_pages_get(pages, "/-/ready", NULL, NULL).status, 503);
    assert_int_equal(hu_pages_get(pages, "/-/healthy", NULL, NULL).status, 200);
    while (turns++ < 60 && hu_pages_get(pages, "/-/ready", NULL, NULL).status != 200)
        hu_keeper_turn(k, 1000, NULL);
    assert_int_equal(hu_pages_get(pages, "/-/ready", NULL, NULL).status, 200);
    hu_pages_free(pages);
    hu_keeper_stop(k);
    hu_gpu_board_free(how.board);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_named_as_both_formats_want),
        cmocka_unit_test(text_is_sorted_escaped_and_has_no_twins),
        cmocka_unit_test(openmetrics_has_units_and_an_end),
        cmocka_unit_test(a_guest_has_no_process),
        cmocka_unit_test(every_dcgm_name_has_a_metric),
        cmocka_unit_test(dcgm_names_have_its_labels_and_units),
        cmocka_unit_test(a_look_is_a_line),
        cmocka_unit_test(formats_are_negotiated),
        cmocka_unit_test(places_are_lent_for_a_time),
        cmocka_unit_test(the_idlest_makes_room),
        cmocka_unit_test(it_is_ready_when_all_was_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
