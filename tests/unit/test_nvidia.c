/* SPDX-License-Identifier: Apache-2.0
 * What the source of NVIDIA's GPUs tells other samplers, and what it costs in memory.  Its first argument: the stand-in. */
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include "monitor/gpus/nvidia.h"
#include "testing.h"

extern const hu_source hu_source_nvidia;

static const char *library;
static char        folder[] = "/tmp/holdup-nvidia-XXXXXX", scenario[64];

typedef struct {
    hu_source_options options;
    void             *state;
    hu_readings       out;
    hu_board_state   *board;
} scene;

/* A new file each time: the stand-in sees that it is another one. */
static void play(const char *text)
{
    char  path[80];
    FILE *f;

    snprintf(path, sizeof path, "%s.new", scenario);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(rename(path, scenario), 0);
}

static void look(scene *s, hu_sample_group group)
{
    hu_readings_clear(&s->out);
    assert_true(hu_source_nvidia.sample(s->state, group, &s->out));
}

/* A turn as the sampler makes it; the next one is far enough from it for performance counters. */
static void turn(scene *s)
{
    look(s, HU_SAMPLE_SLOW);
    look(s, HU_SAMPLE_MEDIUM);
    look(s, HU_SAMPLE_FAST);
    nanosleep(&(struct timespec){.tv_nsec = 110000000}, NULL);
    assert_true(hu_gpu_board_read(s->options.board, s->board));
}

static void begin(scene *s, const char *text)
{
    play(text);
    *s = (scene){.options = {.root = folder, .library = library, .period_ns = 1000000, .board = hu_gpu_board_new()},
                 .board = calloc(1, sizeof *s->board)};
    assert_non_null(s->options.board);
    assert_non_null(s->board);
    assert_true(hu_source_nvidia.open(&s->options, &s->state, &s->out));
}

static void end(scene *s)
{
    hu_source_nvidia.close(s->state);
    hu_readings_free(&s->out);
    hu_gpu_board_free(s->options.board);
    free(s->board);
}

static const hu_board_gpu *row_of(const scene *s, const char *uuid)
{
    for (uint32_t i = 0; i < s->board->n; i++)
        if (strcmp(s->board->gpu[i].uuid, uuid) == 0)
            return &s->board->gpu[i];
    fail_msg("no row %s", uuid);
    return NULL;
}

static double busy_of(const hu_board_gpu *g, uint32_t pid)
{
    for (uint32_t i = 0; i < g->n_pids; i++)
        if (g->pid[i] == pid)
            return g->pid_busy[i];
    return -2;
}

static void test_board(void **state)
{
    scene               s;
    const hu_board_gpu *g;

    (void)state;
    begin(&s, "gpus 2\nprocesses 0 2 500\nused 500 30\nused 777 60\nused 501 140\n");
    turn(&s);
    assert_int_equal(s.board->n, 2);
    assert_true(s.board->at_ns > 0);
    g = row_of(&s, "GPU-0");
    assert_string_equal(g->bus, "0000:1a:00.0");
    assert_string_equal(g->parent, "");
    assert_int_equal(g->index, 0);
    assert_int_equal(g->minor, 5);
    assert_int_equal(g->gi, -1);
    assert_int_equal(g->ci, -1);
    assert_int_equal(g->vendor, HU_VENDOR_NVIDIA);
    assert_false(g->is_divided);
    assert_float_equal(g->busy, 0.9, 1e-9); /* utilization: there are no performance counters */
    assert_int_equal(g->n_pids, 3);         /* one came after the list: it used the GPU */
    assert_float_equal(busy_of(g, 500), 0.3, 1e-9);
    assert_float_equal(busy_of(g, 777), 0.6, 1e-9);
    assert_float_equal(busy_of(g, 501), 0, 1e-9); /* 140 % is garbage */
    assert_int_equal(row_of(&s, "GPU-1")->n_pids, 0);

    play("gpus 2\nprocesses 0 2 500\ncode nvmlDeviceGetProcessesUtilizationInfo 3\n");
    turn(&s);
    g = row_of(&s, "GPU-0");
    assert_int_equal(g->n_pids, 2);
    assert_float_equal(busy_of(g, 500), -1, 1e-9); /* not known, which is not nothing */

    /* another vendor's source writes beside it */
    hu_gpu_board_write_vendor(s.options.board, HU_VENDOR_AMD,
                              &(const hu_board_gpu){.uuid = "other", .vendor = HU_VENDOR_AMD, .busy = 0.25}, 1, 1);
    play("gpus 2\nprocesses 0 2 500\ncode nvmlDeviceGetPowerUsage 15 0\n");
    turn(&s);
    g = row_of(&s, "GPU-0");
    assert_float_equal(g->busy, -1, 1e-9);
    assert_int_equal(g->n_pids, 0);
    assert_float_equal(row_of(&s, "GPU-1")->busy, 0.9, 1e-9);
    assert_int_equal(s.board->n, 3);
    assert_float_equal(row_of(&s, "other")->busy, 0.25, 1e-9);
    hu_source_nvidia.close(s.state);
    assert_true(hu_gpu_board_read(s.options.board, s.board));
    assert_int_equal(s.board->n, 1);
    assert_float_equal(row_of(&s, "other")->busy, 0.25, 1e-9);
    assert_true(hu_source_nvidia.open(&s.options, &s.state, &s.out));
    end(&s);
}

static void test_parts(void **state)
{
    scene               s;
    const hu_board_gpu *g;

    (void)state;
    begin(&s, "gpus 2\nprocesses 1 1 70\ngpm -1 2 50\ngpm 3 2 12\npart 1 3 0 MIG-a 1g.10gb\npart 1 3 1 MIG-b 1g.10gb\n"
              "part 1 5 0 MIG-c 2g.20gb\n");
    turn(&s);
    turn(&s);
    assert_int_equal(s.board->n, 5);
    assert_float_equal(row_of(&s, "GPU-0")->busy, 0.5, 1e-9); /* SMs, not utilization */
    g = row_of(&s, "GPU-1");
    assert_true(g->is_divided);
    assert_int_equal(g->n_pids, 0); /* they are its parts' */
    for (int i = 0; i < 2; i++) {
        g = row_of(&s, i ? "MIG-b" : "MIG-a");
        assert_string_equal(g->parent, "GPU-1");
        assert_string_equal(g->bus, "0000:1b:00.0");
        assert_int_equal(g->index, 1);
        assert_int_equal(g->gi, 3);
        assert_int_equal(g->ci, i);
        assert_float_equal(g->busy, 0.12, 1e-9); /* of the instance */
        assert_int_equal(g->n_pids, 1);
        assert_int_equal(g->pid[0], 70);
    }
    assert_float_equal(row_of(&s, "MIG-c")->busy, -1, 1e-9); /* no counters, and no utilization */
    end(&s);
}

static size_t bytes_in_use(void)
{
#if __GLIBC_PREREQ(2, 33)
    return mallinfo2().uordblks;
#else
    return (unsigned)mallinfo().uordblks;
#endif
}

/* A sampler runs for months: after the first turns no look takes more memory. */
static void test_memory(void **state)
{
    scene  s;
    size_t before;

    (void)state;
    begin(&s,
          "gpus 8\ngpm -1 2 50\nfield 82 50\nprocesses 0 100 1000\nused 1000 30\npart 7 3 0 MIG-a 1g.10gb\nxid 0 31 3\n");
    for (int i = 0; i < 3; i++)
        turn(&s);
    before = bytes_in_use();
    for (int i = 0; i < 300; i++)
        for (int g = HU_SAMPLE_SLOW; g >= HU_SAMPLE_FAST; g--)
            look(&s, (hu_sample_group)g);
    assert_int_equal(bytes_in_use(), before);
    end(&s);
}

static void test_addresses(void **state)
{
    static const struct {
        const char *nvml, *sysfs;
    } pairs[] = {{"00000000:3B:00.0", "0000:3b:00.0"},
                 {"0000000A:C1:00.0", "000a:c1:00.0"},
                 {"00010000:01:00.0", "10000:01:00.0"},
                 {"0000:3B:00.0", "0000:3b:00.0"},
                 {"", ""}};
    char out[HU_NV_BUS_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        hu_nv_bus_address(pairs[i].nvml, out);
        assert_string_equal(out, pairs[i].sysfs);
    }
}

/* ---- whatever happens, in any order ------------------------------------------------------------------------------ */

/* A scenario of random faults; its first line says how many GPUs there are. */
static void play_random(unsigned *seed)
{
    static const char *const calls[] = {"nvmlInit_v2",
                                        "nvmlDeviceGetCount_v2",
                                        "nvmlDeviceGetHandleByIndex_v2",
                                        "nvmlDeviceGetPowerUsage",
                                        "nvmlDeviceGetUUID",
                                        "nvmlGpmSampleGet",
                                        "nvmlGpmSampleAlloc",
                                        "nvmlGpmMetricsGet",
                                        "field",
                                        "nvmlDeviceGetMigDeviceHandleByIndex",
                                        "nvmlDeviceGetGpuInstanceId",
                                        "nvmlDeviceGetTotalEccErrors",
                                        "nvmlDeviceGetComputeRunningProcesses_v3",
                                        "nvmlEventSetWait_v2"};
    static const int         codes[] = {1, 2, 3, 4, 6, 7, 9, 10, 11, 13, 15, 16, 17, 18, 21, 25, 27, 28, 999};
    char                     text[4096];
    int                      n = snprintf(text, sizeof text, "gpus %d\n", rand_r(seed) % 9);

    for (int i = rand_r(seed) % 4; i > 0; i--)
        n += snprintf(text + n, sizeof text - (size_t)n, "code %s %d %d\n", calls[rand_r(seed) % (int)HU_COUNT(calls)],
                      codes[rand_r(seed) % (int)HU_COUNT(codes)], rand_r(seed) % 9 - 1);
    for (int i = rand_r(seed) % 6; i > 0; i--)
        n += snprintf(text + n, sizeof text - (size_t)n, "part %d %d %d MIG-%d 1g.10gb\n", rand_r(seed) % 8,
                      rand_r(seed) % 4, rand_r(seed) % 3, rand_r(seed) % 20);
    n += snprintf(text + n, sizeof text - (size_t)n, "processes %d %d 5\nxid %d %d %d\nlink 3 1 2\n", rand_r(seed) % 8,
                  rand_r(seed) % 200, rand_r(seed) % 8, rand_r(seed) % 400, rand_r(seed) % 5);
    if (rand_r(seed) % 2)
        snprintf(text + n, sizeof text - (size_t)n, "gpm -1 2 50\ngpm 3 2 20\n");
    play(text);
}

/* A GPU that is down has nothing but that and its errors; one that is up is described; all rows can be read. */
static void check_rows(const hu_readings *out)
{
    char       up[HU_GPU_MOST] = {0}; /* by number: 0 no such GPU, 1 down, 2 up */
    hu_reading r;
    size_t     rows = 0;

    for (size_t at = 0; hu_readings_next(out, &at, &r); rows++)
        if (r.metric == HU_METRIC_GPU_UP) {
            assert_int_equal(up[atoi(r.label[0])], 0);
            up[atoi(r.label[0])] = r.value > 0 ? 2 : 1;
        }
    assert_int_equal(rows, out->head.n);
    for (size_t at = 0; hu_readings_next(out, &at, &r);)
        if (r.metric != HU_METRIC_GPU_XID && r.metric != HU_METRIC_GPU_XID_LAST && r.metric != HU_METRIC_GPU_UP &&
            r.metric != HU_METRIC_PROBLEM && r.metric != HU_METRIC_GPUS_EXPECTED)
            assert_int_equal(up[atoi(r.label[0])], 2);
}

static void test_storm(void **state)
{
    enum { LOOKS = 3000, LOOKS_OF_A_SCENE = 3, PAUSE = 8 };
    unsigned seed = 1;
    size_t   rows = 0;
    scene    s;

    (void)state;
    begin(&s, "gpus 8\n");
    for (int i = 0; i < LOOKS; i++) {
        if (rand_r(&seed) % LOOKS_OF_A_SCENE == 0)
            play_random(&seed);
        look(&s, (hu_sample_group)(rand_r(&seed) % HU_SAMPLE_GROUPS));
        check_rows(&s.out);
        rows += s.out.head.n;
        if (rand_r(&seed) % PAUSE == 0) /* so that what is lost is asked again */
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    assert_true(rows > 10 * LOOKS);
    end(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_board), cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_memory), cmocka_unit_test(test_addresses),
                                       cmocka_unit_test(test_storm)};
    int                     rc;

    if (argc != 2 || !mkdtemp(folder))
        return 2;
    library = argv[1];
    snprintf(scenario, sizeof scenario, "%s/scenario", folder);
    setenv("NVML_SCENARIO", scenario, 1);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(scenario);
    rmdir(folder);
    return rc;
}
