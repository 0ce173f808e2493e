/* SPDX-License-Identifier: Apache-2.0
 * test_jobs.c - whom a GPU works for, part by part: names of GPUs, an answer of a kubelet, what is known of a job, idle time. */
#include "monitor/jobs/allocations.h"
#include "monitor/jobs/job_cgroup.h"
#include "monitor/jobs/job_ledger.h"
#include "monitor/jobs/pod_names.h"
#include "monitor/jobs/pod_resources.h"
#include "testing.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void assert_str(hu_str s, const char *text)
{
    if (!hu_str_equal(s, hu_str_of(text)))
        fail_msg("\"%.*s\" is not \"%s\"", HU_FMT(s), text);
}

static void test_groups(void **state)
{
    hu_job_group g;

    (void)state;
    g = hu_job_group_of(
        HU_STR("12:pids:/\n9:devices:/slurm/uid_1001/job_42/step_batch/task_0\n0::/system.slice/slurmd.service\n"));
    assert_str(g.job_id, "42");
    assert_str(g.step_id, "batch");
    assert_int_equal(g.uid, 1001);
    g = hu_job_group_of(HU_STR("0::/kubepods/burstable/pod11111111-2222-3333-4444-555555555555/" HEX));
    assert_str(g.pod_uid, "11111111-2222-3333-4444-555555555555");
    assert_str(g.container_id, HEX);
    assert_int_equal(g.job_id.n, 0);
    /* a container in a pod's container: the kubelet knows the outer one */
    g = hu_job_group_of(HU_STR("0::/kubepods/pod11111111222233334444555555555555/" HEX "/docker/fff3456789abcdef" HEX));
    assert_str(g.container_id, HEX);
    /* what looks like one and is none */
    g = hu_job_group_of(HU_STR("0::/pod11111111-2222-3333-4444-555555555555/job_42/step_1\n0::/docker/" HEX
                               "0\n0::/slurm/job_x\nno colon\n::\n"));
    assert_int_equal(g.pod_uid.n + g.job_id.n + g.step_id.n + g.container_id.n, 0);
    g = hu_job_group_of(HU_STR(""));
    assert_int_equal(g.uid, -1);
}

static void test_names_of_plugins(void **state)
{
    static const struct {
        const char   *resource, *id;
        bool          is_gpu;
        hu_gpu_naming by;
        int           number, gi;
        const char   *text;
    } rows[] = {
        {"nvidia.com/gpu", "GPU-aa-bb", true, HU_GPU_BY_UUID, 0, -1, "GPU-aa-bb"},
        {"nvidia.com/gpu.shared", "GPU-aa-bb::12", true, HU_GPU_BY_UUID, 0, -1, "GPU-aa-bb"},
        {"nvidia.com/mig-1g.5gb", "MIG-cc", true, HU_GPU_BY_UUID, 0, -1, "MIG-cc"},
        {"nvidia.com/gpu", "nvidia7", true, HU_GPU_BY_MINOR, 7, -1, ""},
        {"nvidia.com/gpu", "nvidia7/gi3", true, HU_GPU_BY_MINOR, 7, 3, ""},
        {"nvidia.com/gpu", "nvidia7/vgpu3", true, HU_GPU_BY_MINOR, 7, -1, ""},
        {"amd.com/gpu", "0000:3b:00.0", true, HU_GPU_BY_BUS, 0, -1, "0000:3b:00.0"},
        {"nvidia.com/gpu", "nvidia", false, 0, 0, -1, NULL},
        {"nvidia.com/gpu", "nvidia7/gi", false, 0, 0, -1, NULL},
        {"nvidia.com/gpu", "nvidia128", false, 0, 0, -1, NULL},
        {"example.com/nic", "nvidia7", false, 0, 0, -1, NULL},
        {"example.com/nic", "0000:3b:00.0", false, 0, 0, -1, NULL},
        {"nvidia.com/gpu", "", false, 0, 0, -1, NULL},
    };

    (void)state;
    for (size_t i = 0; i < HU_COUNT(rows); i++) {
        hu_gpu_name name;

        assert_int_equal(hu_gpu_name_of_plugin(hu_str_of(rows[i].resource), hu_str_of(rows[i].id), &name), rows[i].is_gpu);
        if (!rows[i].is_gpu)
            continue;
        assert_int_equal(name.by, rows[i].by);
        assert_int_equal(name.number, rows[i].number);
        assert_int_equal(name.gi, rows[i].gi);
        assert_string_equal(name.text, rows[i].text);
    }
}

/* GPU 0 with node 3, whole; GPU 1 with node 0, divided into instances 1 and 2. */
static void test_whom_a_name_means(void **state)
{
    static hu_board_state board = {
        .n = 4,
        .gpu = {{.uuid = "GPU-a", .bus = "0000:1b:00.0", .index = 0, .minor = 3, .gi = -1},
                {.uuid = "GPU-b", .index = 1, .minor = 0, .gi = -1, .is_divided = true},
                {.uuid = "MIG-1", .parent = "GPU-b", .index = 1, .minor = -1, .gi = 1},
                {.uuid = "MIG-2", .parent = "GPU-b", .index = 1, .minor = -1, .gi = 2}},
    };
    static const struct {
        hu_gpu_name name;
        const char *rows; /* 1: it means that row */
    } asked[] = {
        {{HU_GPU_BY_INDEX, 0, -1, ""}, "1000"},     {{HU_GPU_BY_INDEX, 1, -1, ""}, "0011"},
        {{HU_GPU_BY_INDEX, 1, 2, ""}, "0001"},      {{HU_GPU_BY_MINOR, 3, -1, ""}, "1000"},
        {{HU_GPU_BY_MINOR, 0, -1, ""}, "0000"},     {{HU_GPU_BY_MINOR, 0, 1, ""}, "0010"},
        {{HU_GPU_BY_UUID, 0, -1, "MIG-2"}, "0001"}, {{HU_GPU_BY_UUID, 0, -1, "GPU-b"}, "0011"},
        {{HU_GPU_BY_UUID, 0, -1, "gpu-A"}, "1000"}, {{HU_GPU_BY_BUS, 0, -1, "0000:1B:00.0"}, "1000"},
        {{HU_GPU_BY_BUS, 0, -1, ""}, "0000"},       {{HU_GPU_BY_INDEX, 0, 1, ""}, "0000"},
    };

    (void)state;
    for (size_t i = 0; i < HU_COUNT(asked); i++)
        for (size_t row = 0; row < board.n; row++)
            if (hu_gpu_is_named(&asked[i].name, &board, row) != (asked[i].rows[row] == '1'))
                fail_msg("name %zu, row %zu", i, row);
}

static void test_owners(void **state)
{
    hu_owner a = {.scheduler = "slurm", .job_id = "42", .rank = "0", .world = "8"},
             b = {.scheduler = "slurm", .job_id = "42", .rank = "1"};
    hu_owner c = {.scheduler = "none", .user = "ada"}, d = {.scheduler = "none", .user = "bob"};
    char     small[4];

    (void)state;
    assert_true(hu_owner_same(&a, &b));
    assert_false(hu_owner_same(&c, &d));
    HU_OWNER_SET(b.user, HU_STR("ada"));
    hu_owner_add(&a, &b);
    assert_string_equal(a.user, "ada");
    assert_true((unsigned char)a.rank[0] < ' ');
    hu_owner_add(&a, &b);
    assert_true((unsigned char)a.rank[0] < ' ');
    hu_owner_hide(&a);
    assert_string_equal(a.user, "");
    hu_owner_text(small, sizeof small, HU_STR("abcd"));
    assert_string_equal(small, "");
    hu_owner_text(small, sizeof small, HU_STR("a\x7f"));
    assert_string_equal(small, "");
    hu_owner_text(small, sizeof small, HU_STR("abc"));
    assert_string_equal(small, "abc");
}

static void test_names_of_logs(void **state)
{
    hu_owner o = {.scheduler = "kubernetes"};

    (void)state;
    assert_true(hu_pod_names_of(HU_STR("train-0_team-a_main-" HEX ".log"), HU_STR(HEX), &o));
    assert_string_equal(o.k8s_pod, "train-0");
    assert_string_equal(o.k8s_namespace, "team-a");
    assert_string_equal(o.k8s_container, "main");
    assert_false(hu_pod_names_of(HU_STR("train-0_team-a_ma_in-" HEX ".log"), HU_STR(HEX), &o));
    assert_false(hu_pod_names_of(HU_STR("train-0_team-a_main" HEX ".log"), HU_STR(HEX), &o));
    assert_false(hu_pod_names_of(HU_STR(HEX ".log"), HU_STR(HEX), &o));
    assert_false(hu_pod_names_of(HU_STR("train-0_team-a_main-" HEX ".log"), HU_STR(""), &o));
}

/* A pod p in n with the device GPU-a of nvidia.com/gpu; then the same, cut in each place. */
static void test_answers(void **state)
{
    static const char   message[] = "\x0a\x28"
                                    "\x0a\x01p"
                                    "\x12\x01n"
                                    "\x1a\x20"
                                    "\x0a\x01"
                                    "c"
                                    "\x12\x1b"
                                    "\x0a\x0envidia.com/gpu"
                                    "\x12\x05GPU-a"
                                    "\x1a\x02\x08\x01";
    static const size_t lengths[] = {1, 3, 6, 9, 11, 14, 16, 32, 39};
    char                damaged[sizeof message - 1];
    hu_pod_resources    r = {0};

    (void)state;
    assert_int_equal(sizeof message - 1, 42);
    assert_true(hu_pod_resources_decode((hu_str){message, sizeof message - 1}, &r));
    assert_int_equal(r.list.n, 1);
    assert_string_equal(r.list.at[0].gpu.text, "GPU-a");
    assert_string_equal(r.list.at[0].owner.job_id, "n/p");
    assert_string_equal(r.list.at[0].owner.k8s_container, "c");
    for (size_t n = 1; n < sizeof message - 1; n++) {
        assert_false(hu_pod_resources_decode((hu_str){message, n}, &r));
        assert_int_equal(r.list.n, 0);
    }
    /* each length inside of it says more than there is */
    for (size_t i = 0; i < HU_COUNT(lengths); i++) {
        memcpy(damaged, message, sizeof damaged);
        damaged[lengths[i]] = 0x7f;
        assert_false(hu_pod_resources_decode((hu_str){damaged, sizeof damaged}, &r));
    }
    assert_true(hu_pod_resources_decode(HU_STR(""), &r));
    hu_pod_resources_free(&r);
}

static void test_ledger(void **state)
{
    static hu_job_ledger l;
    const int64_t        second = 1000000000;
    hu_ledger_row       *row = hu_ledger_find(&l, "GPU-a", 1, 5 * second), *other;

    (void)state;
    row->idle_ns = 7;
    assert_ptr_equal(hu_ledger_find(&l, "GPU-a", 1, 6 * second), row);
    other = hu_ledger_find(&l, "GPU-b", 1, 6 * second);
    assert_ptr_not_equal(other, row);
    assert_ptr_not_equal(hu_ledger_find(&l, "GPU-a", 2, 6 * second), row);
    assert_int_equal(hu_ledger_find(&l, "GPU-a", 1, 605 * second)->idle_ns, 7);
    row->seen_ns = 5 * second;
    assert_int_equal(hu_ledger_find(&l, "GPU-a", 1, 606 * second)->idle_ns, 0);
    for (uint64_t job = 3; job < HU_LEDGER_ROWS + 8; job++)
        hu_ledger_find(&l, "GPU-a", job, 606 * second);
    assert_null(hu_ledger_find(&l, "GPU-z", 1, 606 * second));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups), cmocka_unit_test(test_names_of_plugins), cmocka_unit_test(test_whom_a_name_means),
        cmocka_unit_test(test_owners), cmocka_unit_test(test_names_of_logs),    cmocka_unit_test(test_answers),
        cmocka_unit_test(test_ledger),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
