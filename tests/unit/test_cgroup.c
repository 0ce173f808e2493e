/* SPDX-License-Identifier: Apache-2.0
 * test_cgroup.c - where the limit of a control group is found: versions 1 and 2, containers, groups above. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/thread.h"
#include "testing.h"

typedef struct {
    char root[64];
} tree;

static void put(const tree *t, const char *name, const char *text)
{
    char  path[512];
    FILE *file;

    snprintf(path, sizeof path, "%s%s", t->root, name);
    for (char *at = path + strlen(t->root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static tree make(const char *groups, const char *mounts)
{
    tree t = {"/tmp/holdup-cgroup-XXXXXX"};

    assert_non_null(mkdtemp(t.root));
    put(&t, "/proc/self/cgroup", groups);
    put(&t, "/proc/self/mountinfo", mounts);
    return t;
}

static hu_cpu_quota end(const tree *t)
{
    const hu_cpu_quota q = hu_cgroup_read(t->root);
    char               command[128];

    snprintf(command, sizeof command, "rm -rf %s", t->root);
    assert_int_equal(system(command), 0);
    return q;
}

#define V2 "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"

static void test_version_2(void **state)
{
    const tree   t = make("0::/job/step\n", "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n" V2);
    hu_cpu_quota q;

    (void)state;
    put(&t, "/sys/fs/cgroup/job/step/cpu.max", "150000 100000\n");
    put(&t, "/sys/fs/cgroup/job/step/cpu.stat",
        "usage_usec 12\nnr_periods 40\nnr_throttled 30\nthrottled_usec 2500\nnr_bursts 0\n");
    put(&t, "/sys/fs/cgroup/job/cpu.max", "max 100000\n");
    q = end(&t);
    assert_int_equal(q.limit_milli, 1500);
    assert_int_equal(q.periods, 40);
    assert_int_equal(q.throttled, 30);
    assert_int_equal(q.throttled_ns, 2500000);
}

/* The one that allows least counts, and its counts are told. */
static void test_group_above(void **state)
{
    const tree   t = make("0::/job/step\n", V2);
    hu_cpu_quota q;

    (void)state;
    put(&t, "/sys/fs/cgroup/job/step/cpu.max", "400000 100000\n");
    put(&t, "/sys/fs/cgroup/job/step/cpu.stat", "nr_periods 1\nnr_throttled 0\nthrottled_usec 0\n");
    put(&t, "/sys/fs/cgroup/job/cpu.max", "25000 50000\n");
    put(&t, "/sys/fs/cgroup/job/cpu.stat", "nr_periods 7\nnr_throttled 6\nthrottled_usec 1\n");
    q = end(&t);
    assert_int_equal(q.limit_milli, 500);
    assert_int_equal(q.periods, 7);
    assert_int_equal(q.throttled, 6);
}

static void test_version_1(void **state)
{
    const tree   t = make("12:cpuset:/x\n9:cpu,cpuacct:/job\n0::/user\n",
                          "30 24 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
                            "31 24 0:27 / /sys/fs/cgroup/cpu\\040one rw - cgroup cgroup rw,cpu,cpuacct\n" V2);
    hu_cpu_quota q;

    (void)state;
    put(&t, "/sys/fs/cgroup/cpu one/job/cpu.cfs_quota_us", "50000\n");
    put(&t, "/sys/fs/cgroup/cpu one/job/cpu.cfs_period_us", "100000\n");
    put(&t, "/sys/fs/cgroup/cpu one/job/cpu.stat", "nr_periods 12\nnr_throttled 8\nthrottled_time 170030925\n");
    put(&t, "/sys/fs/cgroup/cpu one/cpu.cfs_quota_us", "-1\n");
    put(&t, "/sys/fs/cgroup/cpu one/cpu.cfs_period_us", "100000\n");
    q = end(&t);
    assert_int_equal(q.limit_milli, 500);
    assert_int_equal(q.periods, 12);
    assert_int_equal(q.throttled, 8);
    assert_int_equal(q.throttled_ns, 170030925);
}

/* The path is that of the host, the mount begins at the container's group; and one that leads out of the mount. */
static void test_container(void **state)
{
    static const char *const paths[] = {"9:cpu:/docker/abc\n", "9:cpu:/../other\n", "9:cpu:/elsewhere\n"};

    (void)state;
    for (size_t i = 0; i < HU_COUNT(paths); i++) {
        const tree t = make(paths[i], "31 24 0:27 /docker/abc /cg rw - cgroup cgroup rw,cpu\n");

        put(&t, "/cg/cpu.cfs_quota_us", "200000\n");
        put(&t, "/cg/cpu.cfs_period_us", "100000\n");
        assert_int_equal(end(&t).limit_milli, 2000);
    }
}

static void test_none(void **state)
{
    static const char *const limits[] = {"max 100000\n", "", "\n", "-1 100000\n", "100 0\n", "99999999999999999999 1\n",
                                         "x y z\n"};
    tree                     t;

    (void)state;
    for (size_t i = 0; i < HU_COUNT(limits); i++) {
        t = make("0::/\n", V2);
        put(&t, "/sys/fs/cgroup/cpu.max", limits[i]);
        assert_int_equal(end(&t).limit_milli, 0);
    }
    t = make("", "");
    assert_int_equal(end(&t).limit_milli, 0);
    t = make("0::/\n", "24 1 8:1 / / rw\n\n \\\n");
    assert_int_equal(end(&t).limit_milli, 0);
    assert_int_equal(hu_cgroup_read("/nowhere").limit_milli, 0);
}

static void test_between(void **state)
{
    const hu_cpu_quota before = {500, 10, 3, 4000}, after = {500, 30, 13, 9000}, other = {600, 30, 13, 9000};
    const hu_cpu_quota during = hu_cgroup_between(&before, &after);

    (void)state;
    assert_int_equal(during.periods, 20);
    assert_int_equal(during.throttled, 10);
    assert_int_equal(during.throttled_ns, 5000);
    assert_int_equal(hu_cgroup_between(&before, &other).limit_milli, 0);
    assert_int_equal(hu_cgroup_between(&after, &before).limit_milli, 0);
}

/* How many threads to start in a group of that limit; the tree is removed. */
static int threads_of(const char *limit)
{
    const tree t = make("0::/job\n", V2);
    int        n;

    put(&t, "/sys/fs/cgroup/job/cpu.max", limit);
    n = hu_thread_count_in(t.root);
    end(&t);
    return n;
}

/* Parts of a processor count as a whole one; nobody starts more threads than there are processors. */
static void test_threads(void **state)
{
    int all;

    (void)state;
    unsetenv("HOLDUP_THREADS");
    all = hu_thread_count_in("/nowhere");
    assert_true(all >= 1 && all <= HU_THREADS_MOST);
    assert_int_equal(threads_of("max 100000\n"), all);
    assert_int_equal(threads_of("50000 100000\n"), 1);
    assert_int_equal(threads_of("100000 100000\n"), 1);
    assert_int_equal(threads_of("150000 100000\n"), all < 2 ? all : 2);
    assert_int_equal(threads_of("99900000 100000\n"), all < 999 ? all : HU_THREADS_MOST);
    setenv("HOLDUP_THREADS", "7", 1);
    assert_int_equal(threads_of("50000 100000\n"), 7);
    setenv("HOLDUP_THREADS", "257", 1);
    assert_int_equal(hu_thread_count_in("/nowhere"), all);
    unsetenv("HOLDUP_THREADS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_2), cmocka_unit_test(test_group_above), cmocka_unit_test(test_version_1),
        cmocka_unit_test(test_container), cmocka_unit_test(test_none),        cmocka_unit_test(test_between),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
