/* SPDX-License-Identifier: Apache-2.0
 * test_collectives.c - what is made of the times of collectives: medians, lines, machines, and who is the odd one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"

#include "doctor/collectives.h"

static void test_sizes(void **state)
{
    static const int64_t all[] = {1000, 3000, 10000, 30000, 100000, 300000, 1000000, 3000000, 10000000, 30000000, 100000000};
    int64_t              sizes[HU_SIZES_MOST];

    (void)state;
    assert_int_equal(hu_collectives_sizes(1000, 100000000, sizes), HU_COUNT(all));
    assert_memory_equal(sizes, all, sizeof all);
    assert_int_equal(hu_collectives_sizes(64, 64, sizes), 1);
    assert_int_equal(hu_collectives_sizes(500, 2000, sizes), 3); /* 500 1500 2000 */
    assert_int_equal(sizes[2], 2000);
    assert_true(hu_collectives_sizes(4, 1000000000, sizes) < HU_SIZES_MOST);
}

static void test_medians(void **state)
{
    double    few[] = {30, 10, 20}, many[100], n;
    hu_timing t = {0};

    (void)state;
    hu_timing_of(few, 3, &t);
    assert_true(t.median_ns == 20 && t.low_ns == 10 && t.high_ns == 30 && isnan(t.p95_ns));
    for (int i = 0; i < 100; i++)
        many[i] = 100 - i;
    hu_timing_of(many, 100, &t);
    /* binomial(100, 1/2): the 40th and the 61st enclose the median in 96.5 % of all cases, the next ones in 94.3 */
    assert_true(t.median_ns == 50.5 && t.low_ns == 40 && t.high_ns == 61);
    assert_true(t.p95_ns > 95 && t.p95_ns < 96);
    n = hu_timing_alg_gbps(&(hu_timing){.bytes = 5000, .samples = 1, .median_ns = 1000});
    assert_true(n == 5);
    hu_timing_of(NULL, 0, &t);
    assert_true(isnan(t.median_ns) && isnan(hu_timing_alg_gbps(&t)));
}

/* Samples of 4 us + bytes / 8 GB/s, within 1 %. */
static void test_a_line_and_its_intervals(void **state)
{
    hu_arena      *arena = hu_arena_new();
    hu_collectives c = {.is_crowded = false};
    hu_series      s = {.kind = HU_COMM_ALL_REDUCE, .a = -1, .factor = 1.5};

    (void)state;
    for (int64_t bytes = 1000; bytes <= 100000000; bytes *= 10) {
        hu_timing   *t = &s.at[s.n++];
        const double ns = 4000 + (double)bytes * 1.5 / 8;

        t->bytes = bytes;
        t->sample_ns = hu_arena_alloc(arena, 50 * sizeof(double));
        for (int i = 0; i < 50; i++)
            t->sample_ns[i] = ns * (1 + 0.01 * ((i * 37 % 50) / 25.0 - 1));
        hu_timing_of(t->sample_ns, 50, t);
    }
    assert_true(hu_series_fit(&s, arena));
    assert_int_equal(s.fit.n, 1);
    assert_true(s.alpha_low <= 4050 && s.alpha_high >= 3950 && s.alpha_high - s.alpha_low < 200);
    assert_true(s.beta_low <= 8.1 && s.beta_high >= 7.9 && s.beta_high - s.beta_low < 0.4);
    assert_true(hu_series_has_line(&c, &s));
    c.is_crowded = true;
    assert_false(hu_series_has_line(&c, &s));
    c.is_crowded = false;
    s.fit.error = 0.2;
    assert_false(hu_series_has_line(&c, &s));
    hu_arena_free(arena);
}

enum { MACHINES = 5 };

typedef struct {
    hu_arena      *arena;
    hu_rank_place  places[MACHINES];
    hu_pair        pairs[MACHINES * MACHINES];
    hu_collectives c;
} cluster;

/* Five machines of one rank each; all pairs take 100 ns. */
static void make_cluster(cluster *k)
{
    *k = (cluster){.arena = hu_arena_new()};
    k->c = (hu_collectives){
        .size = MACHINES, .places = k->places, .pairs = k->pairs, .pairs_are_all = true, .pairs_are_machines = true};
    for (int i = 0; i < MACHINES; i++) {
        snprintf(k->places[i].host, sizeof k->places[i].host, "node%d", i);
        snprintf(k->places[i].machine, sizeof k->places[i].machine, "boot-%d", i);
        k->places[i].cpus[0] = 0xff;
        for (int b = i + 1; b < MACHINES; b++)
            k->pairs[k->c.n_pairs++] = (hu_pair){.a = i, .b = b, .latency_ns = 10, .ns = 100};
    }
    assert_true(hu_collectives_group(&k->c, k->arena));
    assert_int_equal(k->c.n_machines, MACHINES);
    assert_int_equal(k->c.machines[0].second, -1);
}

static void slow(cluster *k, int a, int b, double factor)
{
    for (size_t i = 0; i < k->c.n_pairs; i++)
        if (k->pairs[i].a == a && (b < 0 || k->pairs[i].b == b))
            k->pairs[i].ns *= factor;
        else if (b < 0 && k->pairs[i].b == a)
            k->pairs[i].ns *= factor;
}

static size_t count_odd(const cluster *k)
{
    size_t n = 0;

    for (size_t i = 0; i < k->c.n_pairs; i++)
        n += k->pairs[i].is_odd;
    return n;
}

static void test_the_odd_one(void **state)
{
    static const struct {
        int    a, b;
        double factor;
        int    rank; /* found */
        size_t pairs;
    } cases[] = {
        {0, -1, 1.0, -1, 0},         {2, -1, 1.3, -1, 0}, {2, -1, 1.6, 2, MACHINES - 1},
        {4, -1, 9, 4, MACHINES - 1}, {1, 3, 1.9, -1, 0},  {1, 3, 2.1, -1, 1},
    };

    (void)state;
    for (size_t i = 0; i < HU_COUNT(cases); i++) {
        cluster k;

        make_cluster(&k);
        slow(&k, cases[i].a, cases[i].b, cases[i].factor);
        hu_collectives_judge(&k.c);
        assert_true(k.c.is_judged);
        assert_int_equal(k.c.odd_rank, cases[i].rank);
        assert_int_equal(count_odd(&k), cases[i].pairs);
        hu_arena_free(k.arena);
    }
}

/* Two switches: {0, 1, 2} and {3, 4}; what crosses them takes three times as long, and nobody is to blame. */
static void test_groups_have_no_odd_one(void **state)
{
    cluster k;

    (void)state;
    make_cluster(&k);
    for (size_t i = 0; i < k.c.n_pairs; i++)
        if ((k.pairs[i].a < 3) != (k.pairs[i].b < 3))
            k.pairs[i].ns *= 3;
    hu_collectives_judge(&k.c);
    assert_int_equal(k.c.odd_rank, -1);
    assert_int_equal(count_odd(&k), 0);
    k.c.pairs_are_machines = false; /* nor have the ranks of one machine */
    slow(&k, 2, -1, 9);
    hu_collectives_judge(&k.c);
    assert_false(k.c.is_judged);
    assert_int_equal(count_odd(&k), 0);
    hu_arena_free(k.arena);
}

/* The slow machine's rank had no processor: that is no fault of a link. */
static void test_no_judgement_where_a_rank_waited_for_a_processor(void **state)
{
    float   shares[MACHINES] = {0.01F, 0.04F, 0, 0.02F, 0};
    cluster k;

    (void)state;
    make_cluster(&k);
    k.c.queued_shares = shares;
    slow(&k, 2, -1, 9);
    hu_collectives_judge(&k.c);
    hu_collectives_doubt(&k.c);
    assert_true(k.c.is_judged && k.c.odd_rank == 2 && k.c.disturbed_rank == -1);
    shares[2] = 0.3F;
    shares[3] = 0.1F;
    hu_collectives_doubt(&k.c);
    assert_int_equal(k.c.disturbed_rank, 2);
    assert_true(!k.c.is_judged && k.c.odd_rank == -1);
    assert_int_equal(count_odd(&k), 0);
    hu_arena_free(k.arena);
}

static void test_crowded_machines(void **state)
{
    /* CPUs of each of the ranks, in hexadecimal; all on one machine */
    static const struct {
        uint64_t cpus[MACHINES];
        double   limit;
        bool     is_crowded;
        int      n_cpus;
    } cases[] = {
        {{0xff, 0xff, 0xff, 0xff, 0xff}, 0, false, 8}, {{0x3, 0x3, 0x3, 0x3, 0x3}, 0, true, 2},
        {{0x1, 0x2, 0x4, 0x8, 0x10}, 0, false, 5},     {{0x1, 0x1, 0xfc, 0xfc, 0xfc}, 0, true, 7},
        {{0xff, 0xff, 0xff, 0xff, 0xff}, 4, true, 4},
    };

    (void)state;
    for (size_t i = 0; i < HU_COUNT(cases); i++) {
        cluster k;

        make_cluster(&k);
        for (int r = 0; r < MACHINES; r++) {
            snprintf(k.places[r].machine, sizeof k.places[r].machine, "boot");
            k.places[r].cpus[0] = cases[i].cpus[r];
            k.places[r].cpu_limit = cases[i].limit;
        }
        assert_true(hu_collectives_group(&k.c, k.arena));
        assert_int_equal(k.c.n_machines, 1);
        assert_int_equal(k.c.machines[0].n, MACHINES);
        assert_int_equal(k.c.machines[0].cpus, cases[i].n_cpus);
        assert_int_equal(k.c.is_crowded, cases[i].is_crowded);
        hu_arena_free(k.arena);
    }
}

/* Ranks dealt out to machines in turn, as mpirun --map-by node does: 0, 2 and 4 on one. */
static void test_ranks_dealt_out_in_turn(void **state)
{
    cluster k;

    (void)state;
    make_cluster(&k);
    for (int r = 0; r < MACHINES; r++)
        snprintf(k.places[r].machine, sizeof k.places[r].machine, "boot-%d", r % 2);
    assert_true(hu_collectives_group(&k.c, k.arena));
    assert_int_equal(k.c.n_machines, 2);
    assert_int_equal(k.c.machines[0].n, 3);
    assert_int_equal(k.c.machines[0].second, 2);
    assert_int_equal(k.c.machines[1].first, 1);
    assert_int_equal(k.c.machines[1].second, 3);
    hu_arena_free(k.arena);
}

static void put(const char *root, const char *path, const char *text)
{
    char  whole[512];
    FILE *f;

    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(whole, 0755);
        *slash = '/';
    }
    f = fopen(whole, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_links_of_a_machine(void **state)
{
    char          root[] = "/tmp/holdup-links-XXXXXX", command[128];
    hu_link_found links[HU_LINKS_OF_PLACE];

    (void)state;
    assert_non_null(mkdtemp(root));
    hu_collectives_links(root, links);
    assert_true(!links[0].name[0] && !links[1].name[0]);
    put(root, "/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
    put(root, "/sys/class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
    put(root, "/sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
    put(root, "/sys/class/infiniband/mlx5_1/ports/1/rate", "400 Gb/sec (4X NDR)\n");
    put(root, "/sys/class/net/lo/operstate", "unknown\n");
    put(root, "/sys/class/net/docker0/operstate", "up\n"); /* no device */
    put(root, "/sys/class/net/docker0/speed", "10000\n");
    put(root, "/sys/class/net/eth0/device/vendor", "0x15b3\n");
    put(root, "/sys/class/net/eth0/operstate", "up\n");
    put(root, "/sys/class/net/eth0/speed", "2500\n");
    put(root, "/sys/class/net/eth1/device/vendor", "0x1af4\n"); /* virtio knows none */
    put(root, "/sys/class/net/eth1/operstate", "up\n");
    put(root, "/sys/class/net/eth1/speed", "-1\n");
    hu_collectives_links(root, links);
    assert_string_equal(links[0].name, "mlx5_0 port 1");
    assert_true(links[0].gbps == 100);
    assert_string_equal(links[1].name, "eth0");
    assert_true(links[1].gbps == 2.5);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_medians),
        cmocka_unit_test(test_a_line_and_its_intervals),
        cmocka_unit_test(test_the_odd_one),
        cmocka_unit_test(test_groups_have_no_odd_one),
        cmocka_unit_test(test_no_judgement_where_a_rank_waited_for_a_processor),
        cmocka_unit_test(test_crowded_machines),
        cmocka_unit_test(test_ranks_dealt_out_in_turn),
        cmocka_unit_test(test_links_of_a_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
