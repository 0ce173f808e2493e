/* SPDX-License-Identifier: Apache-2.0
 * test_monitor_sources.c - what sources say of trees that stand for /proc and /sys: what changes between looks, what GPUs of
 * AMD and Intel say, and files that are broken. */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "monitor/gpus/amd_metrics.h"
#include "monitor/gpus/drm_clients.h"
#include "monitor/files.h"
#include "monitor/source.h"
#include "testing.h"

extern const hu_source hu_source_amd, hu_source_cgroup_limits, hu_source_host_cpu, hu_source_host_disk,
    hu_source_host_memory, hu_source_host_network, hu_source_host_power, hu_source_host_pressure, hu_source_infiniband,
    hu_source_intel;

typedef struct {
    char root[64];
} tree;

static tree make(void)
{
    tree t = {"/tmp/holdup-sources-XXXXXX"};

    assert_non_null(mkdtemp(t.root));
    return t;
}

static void end(const tree *t)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", t->root);
    assert_int_equal(system(command), 0);
}

static void make_folders(const tree *t, char *path)
{
    for (char *at = path + strlen(t->root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
}

static void put_bytes(const tree *t, const char *name, const void *bytes, size_t n)
{
    char  path[512];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", t->root, name);
    make_folders(t, path);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

static void put(const tree *t, const char *name, const char *text)
{
    put_bytes(t, name, text, strlen(text));
}

static void link_to(const tree *t, const char *name, const char *target)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", t->root, name);
    make_folders(t, path);
    assert_int_equal(symlink(target, path), 0);
}

static void *open_source(const hu_source *source, const tree *t, hu_gpu_board *board)
{
    /* it outlives the source */
    static hu_source_options options;
    hu_readings              out = {0};
    void                    *state = NULL;

    options = (hu_source_options){.root = t->root, .period_ns = 1000000000, .board = board};
    assert_true(source->open(&options, &state, &out));
    hu_readings_free(&out);
    return state;
}

/* The value of a metric with these label values, "," between; NaN: there is none.  Twice the same is an error. */
static double value_of(const hu_readings *r, hu_metric metric, const char *labels)
{
    double     found = NAN;
    hu_reading one;
    size_t     at = 0;

    while (hu_readings_next(r, &at, &one)) {
        char text[512] = "";

        for (size_t i = 0; i < one.n; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? "," : "", one.label[i]);
        if (one.metric != metric || strcmp(text, labels) != 0)
            continue;
        assert_true(isnan(found));
        found = one.value;
    }
    return found;
}

static double look(const hu_source *source, void *state, hu_sample_group group, hu_metric metric, const char *labels)
{
    hu_readings out = {0};
    double      value;

    assert_true(source->sample(state, group, &out));
    value = value_of(&out, metric, labels);
    hu_readings_free(&out);
    return value;
}

/* Lines longer than the buffer are cut, those behind them are whole. */
static void test_lines(void **state)
{
    const tree t = make();
    char      *text = malloc(30001);
    const int  root = hu_files_root(t.root);
    hu_lines   lines;
    hu_str     line;

    (void)state;
    memset(text, 'x', 30000);
    memcpy(text, "first\n\n", 7);
    memcpy(text + 29990, "\nlast one", 9);
    text[29999] = '\0';
    put(&t, "f", text);
    free(text);
    assert_true(hu_lines_open(&lines, root, "f"));
    assert_true(hu_lines_next(&lines, &line) && hu_str_equal(line, HU_STR("first")));
    assert_true(hu_lines_next(&lines, &line) && line.n == 0);
    assert_true(hu_lines_next(&lines, &line));
    assert_in_range(line.n, 8000, 8192);
    assert_true(hu_lines_next(&lines, &line) && hu_str_equal(line, HU_STR("last one")));
    assert_false(hu_lines_next(&lines, &line));
    assert_false(hu_lines_next(&lines, &line));
    assert_false(hu_lines_open(&lines, root, "none"));
    close(root);
    end(&t);
}

/* A counter of RAPL goes on where it wraps; who may not read it is told so, and by no number. */
static void test_energy(void **state)
{
    const tree t = make();
    void      *s;

    (void)state;
    put(&t, "sys/class/powercap/intel-rapl:0/name", "package-0\n");
    put(&t, "sys/class/powercap/intel-rapl:0/max_energy_range_uj", "1000000000\n");
    put(&t, "sys/class/powercap/intel-rapl:0/energy_uj", "900000000\n");
    put(&t, "sys/class/powercap/intel-rapl:0:0/name", "dram\n");
    put(&t, "sys/class/powercap/intel-rapl:0:0/max_energy_range_uj", "500000000\n");
    put(&t, "sys/class/powercap/intel-rapl:0:0/energy_uj", "1500000\n");
    put(&t, "sys/class/powercap/intel-rapl-mmio:0/name", "package-0\n");
    put(&t, "sys/class/powercap/intel-rapl-mmio:0/max_energy_range_uj", "1\n");
    s = open_source(&hu_source_host_power, &t, NULL);
    assert_true(look(&hu_source_host_power, s, HU_SAMPLE_MEDIUM, HU_METRIC_CPU_ENERGY, "package-0") == 900);
    put(&t, "sys/class/powercap/intel-rapl:0/energy_uj", "100000000\n");
    assert_true(look(&hu_source_host_power, s, HU_SAMPLE_MEDIUM, HU_METRIC_CPU_ENERGY, "package-0") == 1100);
    assert_true(look(&hu_source_host_power, s, HU_SAMPLE_MEDIUM, HU_METRIC_CPU_ENERGY, "package-0/dram") == 1.5);
    put(&t, "sys/class/powercap/intel-rapl:0/energy_uj", "nonsense\n");
    assert_true(isnan(look(&hu_source_host_power, s, HU_SAMPLE_MEDIUM, HU_METRIC_CPU_ENERGY, "package-0")));
    hu_source_host_power.close(s);
    end(&t);
}

/* The declarations of the kernel's header, as far as fields are read from them; what is between is bytes. */
struct v1_3 {
    uint16_t size;
    uint8_t  format, content;
    uint16_t edge, hotspot, mem, vrgfx, vrsoc, vrmem, gfx, umc, mm, power;
    uint64_t energy, clock;
    uint16_t average[7], current[7];
    uint32_t throttle_status;
    uint16_t fan, pcie_width, pcie_speed, padding;
    uint32_t gfx_acc, mem_acc;
    uint16_t hbm[4];
    uint64_t firmware;
    uint16_t voltage[3], padding1;
    uint64_t indep_throttle_status;
};

struct v1_4 {
    uint16_t size;
    uint8_t  format, content;
    uint16_t hotspot, mem, vrsoc, power, gfx, umc, vcn[4];
    uint64_t energy, clock;
    uint32_t throttle_status, lock;
    uint16_t pcie_width, pcie_speed, xgmi_width, xgmi_speed;
    uint32_t gfx_acc, mem_acc;
    uint64_t bandwidth_acc, bandwidth_inst, recovery, replay, replay_rover, xgmi_read[8], xgmi_write[8], firmware;
    uint16_t gfxclk[8], socclk[4], vclk[4], dclk[4], uclk, padding;
};

struct v1_5 {
    uint16_t size;
    uint8_t  format, content;
    uint16_t hotspot, mem, vrsoc, power, gfx, umc, vcn[4], jpeg[32];
    uint64_t energy, clock;
    uint32_t throttle_status, lock;
    uint16_t pcie_width, pcie_speed, xgmi_width, xgmi_speed;
    uint32_t gfx_acc, mem_acc;
    uint64_t bandwidth_acc, bandwidth_inst, recovery, replay, replay_rover;
    uint32_t nak_sent, nak_received;
    uint64_t xgmi_read[8], xgmi_write[8], firmware;
    uint16_t gfxclk[8], socclk[4], vclk[4], dclk[4], uclk, padding;
};

struct xcp {
    uint32_t inst[8];
    uint16_t jpeg[32], vcn[4];
    uint64_t acc[8];
};

struct v1_6 {
    uint16_t   size;
    uint8_t    format, content;
    uint16_t   hotspot, mem, vrsoc, power, gfx, umc;
    uint64_t   energy, clock;
    uint32_t   ticks, residency[5], lock;
    uint16_t   pcie_width, pcie_speed, xgmi_width, xgmi_speed;
    uint32_t   gfx_acc, mem_acc;
    uint64_t   bandwidth_acc, bandwidth_inst, recovery, replay, replay_rover;
    uint32_t   nak_sent, nak_received;
    uint64_t   xgmi_read[8], xgmi_write[8], firmware;
    uint16_t   gfxclk[8], socclk[4], vclk[4], dclk[4], uclk, partitions;
    struct xcp xcp[8];
    uint32_t   other_end;
};

struct xcp_1_1 {
    uint32_t inst[8];
    uint16_t jpeg[32], vcn[4];
    uint64_t acc[8], below_limit[8];
};

struct xcp_1_2 {
    uint32_t inst[8];
    uint16_t jpeg[40], vcn[4];
    uint64_t acc[8], below_ppt[8], below_thm[8], low[8], below_total[8];
};

#define V1_7_HEAD                                                           \
    uint16_t size;                                                          \
    uint8_t  format, content;                                               \
    uint16_t hotspot, mem, vrsoc, power, gfx, umc;                          \
    uint64_t max_bandwidth, energy, clock;                                  \
    uint32_t ticks, residency[5], lock;                                     \
    uint16_t pcie_width, pcie_speed, xgmi_width, xgmi_speed;                \
    uint32_t gfx_acc, mem_acc;                                              \
    uint64_t bandwidth_acc, bandwidth_inst, recovery, replay, replay_rover; \
    uint32_t nak_sent, nak_received;                                        \
    uint64_t xgmi_read[8], xgmi_write[8];                                   \
    uint16_t xgmi_status[8], padding;                                       \
    uint64_t firmware;                                                      \
    uint16_t gfxclk[8], socclk[4], vclk[4], dclk[4], uclk, partitions

struct v1_7 {
    V1_7_HEAD;
    struct xcp_1_1 xcp[8];
    uint32_t       other_end;
};

struct v1_8 {
    V1_7_HEAD;
    struct xcp_1_2 xcp[8];
    uint32_t       other_end;
};

struct v2_2 {
    uint16_t size;
    uint8_t  format, content;
    uint16_t temperatures[12], gfx, mm;
    uint64_t clock;
    uint16_t powers[12], averages[6], currents[6], core[8], l3[2];
    uint32_t throttle_status;
    uint16_t fan, padding[3];
    uint64_t indep_throttle_status;
};

struct v2_4 {
    struct v2_2 v2_2;
    uint16_t    averages[12], voltage[6];
};

#define HEAD(v, major, minor) \
    (memset(&(v), 0xff, sizeof(v)), (v).size = sizeof(v), (v).format = (major), (v).content = (minor))

#define FILL(v, minor)                                                                                                     \
    (HEAD(v, 1, minor), (v).hotspot = 71, (v).mem = 64, (v).power = 750, (v).gfx = 93, (v).umc = 40, (v).energy = 1 << 20, \
     (v).pcie_width = 16, (v).pcie_speed = 320, (v).replay = 7)

static void check_full(const void *table, size_t n)
{
    hu_amd_metrics m;

    assert_true(hu_amd_metrics_decode(table, n, &m));
    assert_true(m.hotspot == 71 && m.memory == 64 && m.watts == 750 && m.busy == 0.93 && m.memory_busy == 0.4);
    assert_true(m.joules == 16 && m.pcie_lanes == 16 && m.pcie_transfers == 32e9 && m.pcie_replays == 7);
    assert_false(hu_amd_metrics_decode(table, n - 1, &m)); /* cut */
}

static void test_amd_tables(void **state)
{
    struct v1_3    a;
    struct v1_4    b;
    struct v1_5    c;
    struct v1_6    d;
    struct v1_7    e;
    struct v1_8    f;
    struct v2_2    g;
    struct v2_4    h;
    hu_amd_metrics m;

    (void)state;
    FILL(b, 4);
    check_full(&b, sizeof b);
    FILL(c, 5);
    check_full(&c, sizeof c);
    FILL(d, 6);
    d.ticks = 1000;
    for (int i = 0; i < 5; i++)
        d.residency[i] = (uint32_t)i * 10;
    check_full(&d, sizeof d);
    assert_true(hu_amd_metrics_decode((const void *)&d, sizeof d, &m) && m.has_residency && m.ticks == 1000);
    assert_true(m.residency[HU_AMD_PROCHOT] == 0 && m.residency[HU_AMD_MEMORY_THERMAL] == 40 && !m.has_throttled);
    FILL(e, 7);
    e.ticks = 5;
    check_full(&e, sizeof e);
    assert_true(hu_amd_metrics_decode((const void *)&e, sizeof e, &m) && m.ticks == 5);
    FILL(f, 8);
    f.ticks = 6;
    check_full(&f, sizeof f);
    assert_true(hu_amd_metrics_decode((const void *)&f, sizeof f, &m) && m.ticks == 6);
    HEAD(a, 1, 3); /* units of energy and activity are not told */
    a.energy = a.power = a.gfx = 1;
    a.pcie_width = 8;
    a.pcie_speed = 160;
    a.indep_throttle_status = UINT64_C(1) << 36 | 1;
    assert_true(hu_amd_metrics_decode((const void *)&a, sizeof a, &m));
    assert_true(isnan(m.joules) && isnan(m.watts) && isnan(m.busy) && m.pcie_lanes == 8 && m.pcie_transfers == 16e9);
    assert_true(m.has_throttled && m.throttled == (HU_AMD_BY_POWER | HU_AMD_BY_TEMPERATURE));
    a.size = offsetof(struct v1_3, voltage); /* 1.2 and 1.1 end earlier */
    a.content = 2;
    assert_true(hu_amd_metrics_decode((const void *)&a, sizeof a, &m) && m.pcie_lanes == 8 && !m.has_throttled);
    a.size = offsetof(struct v1_3, firmware);
    a.content = 1;
    assert_true(hu_amd_metrics_decode((const void *)&a, sizeof a, &m) && m.pcie_lanes == 8);
    HEAD(h.v2_2, 2, 3);
    h.v2_2.indep_throttle_status = UINT64_C(1) << 32;
    h.v2_2.size = offsetof(struct v2_4, voltage);
    assert_true(hu_amd_metrics_decode((const void *)&h, sizeof h, &m) && m.throttled == HU_AMD_BY_TEMPERATURE);
    h.v2_2.content = 4;
    h.v2_2.size = sizeof h;
    assert_true(hu_amd_metrics_decode((const void *)&h, sizeof h, &m) && m.throttled == HU_AMD_BY_TEMPERATURE);
    HEAD(g, 2, 2);
    g.indep_throttle_status = UINT64_C(1) << 16;
    assert_true(hu_amd_metrics_decode((const void *)&g, sizeof g, &m) && m.throttled == HU_AMD_BY_CURRENT);
    HEAD(g, 2, 2); /* what the chip lacks is full of ones */
    assert_true(hu_amd_metrics_decode((const void *)&g, sizeof g, &m) && !m.has_throttled && isnan(m.pcie_lanes));
    g.content = 9; /* not known */
    assert_false(hu_amd_metrics_decode((const void *)&g, sizeof g, &m));
    FILL(b, 4);
    b.size -= 8; /* another layout under the same revision */
    assert_false(hu_amd_metrics_decode((const void *)&b, sizeof b, &m));
    FILL(b, 4);
    b.gfx = 101;
    assert_true(hu_amd_metrics_decode((const void *)&b, sizeof b, &m) && isnan(m.busy));
    assert_false(hu_amd_metrics_decode((const void *)"", 0, &m));
}

static void make_card(const tree *t, const char *card, const char *bus, const char *vendor, const char *driver)
{
    char path[256], target[256];

    snprintf(path, sizeof path, "sys/devices/pci0000:00/%s/vendor", bus);
    put(t, path, vendor);
    snprintf(path, sizeof path, "sys/devices/pci0000:00/%s/device", bus);
    put(t, path, "0x74a1\n");
    snprintf(path, sizeof path, "sys/devices/pci0000:00/%s/class", bus);
    put(t, path, "0x038000\n");
    snprintf(path, sizeof path, "sys/devices/pci0000:00/%s/driver", bus);
    snprintf(target, sizeof target, "../../../bus/pci/drivers/%s", driver);
    link_to(t, path, target);
    snprintf(path, sizeof path, "sys/class/drm/%s/device", card);
    snprintf(target, sizeof target, "../../../devices/pci0000:00/%s", bus);
    link_to(t, path, target);
    snprintf(path, sizeof path, "sys/bus/pci/devices/%s", bus);
    link_to(t, path, target);
}

#define AMD_0      "sys/devices/pci0000:00/0000:05:00.0/"
#define AMD_LABELS "0,GPU-8a2f31c06d11e7b4"

/* The share of the ticks in which a limit held the clocks down, times what passed on our clock. */
static void test_amd_throttling(void **state)
{
    const tree  t = make();
    hu_readings out = {0};
    struct v1_6 d;
    void       *s;
    double      power, thermal;

    (void)state;
    make_card(&t, "card1", "0000:05:00.0", "0x1002\n", "amdgpu");
    put(&t, AMD_0 "unique_id", "8a2f31c06d11e7b4\n");
    FILL(d, 6);
    d.ticks = 0xffffff00; /* wraps before the next look */
    memset(d.residency, 0, sizeof d.residency);
    put_bytes(&t, AMD_0 "gpu_metrics", &d, sizeof d);
    put(&t, AMD_0 "gpu_busy_percent", "50\n");
    s = open_source(&hu_source_amd, &t, NULL);
    assert_true(hu_source_amd.sample(s, HU_SAMPLE_FAST, &out));
    assert_true(look(&hu_source_amd, s, HU_SAMPLE_MEDIUM, HU_METRIC_GPU_THROTTLE, AMD_LABELS ",software power cap") == 0);
    assert_true(look(&hu_source_amd, s, HU_SAMPLE_MEDIUM, HU_METRIC_GPU_ENERGY, AMD_LABELS) == 16);
    d.ticks = 0x100; /* 512 later */
    d.residency[HU_AMD_POWER] = 512;
    d.residency[HU_AMD_THERMAL] = 128;
    d.residency[HU_AMD_PROCHOT] = 513; /* more than passed: begun anew */
    put_bytes(&t, AMD_0 "gpu_metrics", &d, sizeof d);
    usleep(1000);
    hu_readings_clear(&out);
    assert_true(hu_source_amd.sample(s, HU_SAMPLE_MEDIUM, &out));
    power = value_of(&out, HU_METRIC_GPU_THROTTLE, AMD_LABELS ",software power cap");
    thermal = value_of(&out, HU_METRIC_GPU_THROTTLE, AMD_LABELS ",software thermal slowdown");
    assert_true(power > 0 && fabs(power / thermal - 4) < 1e-9);
    assert_true(value_of(&out, HU_METRIC_GPU_THROTTLE, AMD_LABELS ",hardware thermal slowdown") == 0);
    assert_true(value_of(&out, HU_METRIC_GPU_PCIE_GENERATION, AMD_LABELS) == 5);
    hu_readings_free(&out);
    hu_source_amd.close(s);
    end(&t);
}

/* A GPU that answers nothing is down and has no other series; one that sleeps is up, and is not asked. */
static void test_amd_lost(void **state)
{
    const tree    t = make();
    hu_gpu_board *board = hu_gpu_board_new();
    hu_readings   out = {0};
    void         *s;

    (void)state;
    make_card(&t, "card1", "0000:05:00.0", "0x1002\n", "amdgpu");
    make_card(&t, "card0", "0000:85:00.0", "0x1002\n", "amdgpu");
    put(&t, AMD_0 "gpu_busy_percent", "50\n");
    put(&t, AMD_0 "unique_id", "8a2f31c06d11e7b4\n");
    put(&t, "sys/devices/pci0000:00/0000:85:00.0/gpu_busy_percent", "20\n");
    put(&t, "sys/devices/pci0000:00/0000:85:00.0/power/runtime_status", "suspended\n");
    s = open_source(&hu_source_amd, &t, board);
    assert_true(hu_source_amd.sample(s, HU_SAMPLE_FAST, &out));
    assert_true(value_of(&out, HU_METRIC_GPU_UP, AMD_LABELS) == 1);
    assert_true(value_of(&out, HU_METRIC_GPU_BUSY, AMD_LABELS ",") == 0.5);
    assert_true(value_of(&out, HU_METRIC_GPU_UP, "1,0000:85:00.0") == 1);
    assert_true(isnan(value_of(&out, HU_METRIC_GPU_BUSY, "1,0000:85:00.0,")));
    assert_int_equal(board->state.n, 2);
    assert_true(board->state.gpu[0].busy == 0.5 && board->state.gpu[1].busy == -1);
    assert_string_equal(board->state.gpu[0].bus, "0000:05:00.0");
    put_bytes(&t, AMD_0 "config", "\xff\xff\xff\xff\xff\xff", 6); /* off the bus, and the driver has not noticed */
    hu_readings_clear(&out);
    assert_true(hu_source_amd.sample(s, HU_SAMPLE_FAST, &out));
    assert_true(value_of(&out, HU_METRIC_GPU_UP, AMD_LABELS) == 0);
    put_bytes(&t, AMD_0 "config", "\x02\x10\xa1\x74\xff\xff", 6);
    hu_readings_clear(&out);
    assert_true(hu_source_amd.sample(s, HU_SAMPLE_FAST, &out));
    assert_true(value_of(&out, HU_METRIC_GPU_UP, AMD_LABELS) == 1);
    put(&t, AMD_0 "gpu_busy_percent", "");
    hu_readings_clear(&out);
    assert_true(hu_source_amd.sample(s, HU_SAMPLE_FAST, &out));
    assert_true(value_of(&out, HU_METRIC_GPU_UP, AMD_LABELS) == 0);
    assert_int_equal(out.head.n, 2); /* that, and the other one */
    hu_readings_clear(&out);
    assert_true(hu_source_amd.sample(s, HU_SAMPLE_MEDIUM, &out));
    assert_true(isnan(value_of(&out, HU_METRIC_GPU_PROCESSES, AMD_LABELS ",")));
    assert_int_equal(board->state.n, 1);
    hu_readings_free(&out);
    hu_source_amd.close(s);
    assert_int_equal(board->state.n, 0);
    hu_gpu_board_free(board);
    end(&t);
}

#define INTEL_0 "sys/devices/pci0000:00/0000:03:00.0/"

static void put_client(const tree *t, const char *pid, const char *fd, unsigned id, unsigned rcs, unsigned ccs,
                       unsigned total)
{
    char path[128], text[512];

    snprintf(path, sizeof path, "proc/%s/fdinfo/%s", pid, fd);
    snprintf(text, sizeof text,
             "pos:\t0\ndrm-driver:\txe\ndrm-client-id:\t%u\ndrm-pdev:\t0000:03:00.0\ndrm-resident-vram0:\t16 MiB\n"
             "drm-cycles-rcs:\t%u\ndrm-total-cycles-rcs:\t%u\ndrm-cycles-ccs:\t%u\ndrm-total-cycles-ccs:\t%u\n"
             "drm-engine-capacity-ccs:\t4\ndrm-cycles-bcs:\t%u\ndrm-total-cycles-bcs:\t%u\n",
             id, rcs, total, ccs, total, total, total);
    put(t, path, text);
    snprintf(path, sizeof path, "%s/proc/%s/fd/%s", t->root, pid, fd);
    if (access(path, F_OK) != 0 && readlink(path, text, sizeof text) < 0) {
        snprintf(path, sizeof path, "proc/%s/fd/%s", pid, fd);
        link_to(t, path, "/dev/dri/renderD128");
    }
}

/* How busy it is: the sum over clients, each once however often it is open; copies are no kernels. */
static void test_intel_busy(void **state)
{
    const tree    t = make();
    hu_gpu_board *board = hu_gpu_board_new();
    hu_readings   out = {0};
    void         *s;

    (void)state;
    make_card(&t, "card0", "0000:03:00.0", "0x8086\n", "xe");
    put(&t, INTEL_0 "tile0/gt0/freq0/act_freq", "1300\n");
    put(&t, INTEL_0 "tile1/gt0/freq0/act_freq", "1550\n");
    put(&t, INTEL_0 "tile0/gt0/freq0/rp0_freq", "1600\n");
    put(&t, INTEL_0 "tile0/gt0/freq0/throttle/reason_pl1", "0\n");
    put(&t, INTEL_0 "tile0/gt0/freq0/throttle/reason_pl4", "0\n");
    put(&t, INTEL_0 "tile1/gt0/freq0/throttle/reason_pl1", "1\n");
    put(&t, INTEL_0 "tile1/gt0/freq0/throttle/status", "1\n");
    put(&t, INTEL_0 "tile0/physical_vram_size_bytes", "0x1000000000\n");
    put_client(&t, "100", "5", 7, 1000, 0, 10000);
    put_client(&t, "100", "6", 7, 1000, 0, 10000); /* the same again */
    put_client(&t, "200", "3", 9, 0, 0, 10000);
    put(&t, "proc/300/fd/../comm", "x"); /* has nothing open */
    s = open_source(&hu_source_intel, &t, board);
    assert_true(isnan(look(&hu_source_intel, s, HU_SAMPLE_MEDIUM, HU_METRIC_GPU_BUSY, "0,0000:03:00.0,")));
    put_client(&t, "100", "5", 7, 3500, 0, 20000);
    put_client(&t, "100", "6", 7, 3500, 0, 20000);
    put_client(&t, "200", "3", 9, 1500, 6000, 20000);
    assert_true(hu_source_intel.sample(s, HU_SAMPLE_MEDIUM, &out));
    /* rcs: 2500 and 1500 of 10000 cycles; ccs: 6000, which is more; bcs: all of them */
    assert_true(fabs(value_of(&out, HU_METRIC_GPU_BUSY, "0,0000:03:00.0,") - 0.6) < 1e-12);
    assert_true(value_of(&out, HU_METRIC_GPU_PROCESSES, "0,0000:03:00.0,") == 2);
    assert_true(value_of(&out, HU_METRIC_GPU_MEMORY_USED, "0,0000:03:00.0,") == 32 << 20);
    assert_true(value_of(&out, HU_METRIC_GPU_MEMORY_TOTAL, "0,0000:03:00.0,") == 0x1p36);
    hu_readings_clear(&out);
    assert_true(hu_source_intel.sample(s, HU_SAMPLE_FAST, &out));
    assert_true(value_of(&out, HU_METRIC_GPU_SM_CLOCK, "0,0000:03:00.0") == 1.55e9);
    assert_true(value_of(&out, HU_METRIC_GPU_CLOCK_REASON, "0,0000:03:00.0,software power cap") == 1);
    assert_true(value_of(&out, HU_METRIC_GPU_CLOCK_REASON, "0,0000:03:00.0,pl4") == 0);
    assert_true(isnan(value_of(&out, HU_METRIC_GPU_CLOCK_REASON, "0,0000:03:00.0,status")));
    assert_true(value_of(&out, HU_METRIC_GPU_SM_CLOCK_MAX, "0,0000:03:00.0") == 1.6e9);
    assert_int_equal(board->state.n, 1);
    assert_int_equal(board->state.gpu[0].n_pids, 2);
    assert_true(fabs(board->state.gpu[0].busy - 0.6) < 1e-12);
    assert_true(fabs(board->state.gpu[0].pid_busy[0] - 0.25) < 1e-12 && fabs(board->state.gpu[0].pid_busy[1] - 0.6) < 1e-12);
    hu_readings_free(&out);
    hu_source_intel.close(s);
    hu_gpu_board_free(board);
    end(&t);
}

/* In a container the other processes are not seen: then nothing says how busy the GPU is. */
static void test_intel_elsewhere(void **state)
{
    const tree  t = make();
    hu_readings out = {0};
    void       *s;

    (void)state;
    make_card(&t, "card0", "0000:03:00.0", "0x8086\n", "xe");
    link_to(&t, "proc/self/ns/pid", "pid:[4026532999]");
    put_client(&t, "100", "5", 7, 0, 0, 10000);
    s = open_source(&hu_source_intel, &t, NULL);
    look(&hu_source_intel, s, HU_SAMPLE_MEDIUM, HU_METRIC_GPU_BUSY, "");
    put_client(&t, "100", "5", 7, 1000, 0, 20000);
    assert_true(hu_source_intel.sample(s, HU_SAMPLE_MEDIUM, &out));
    assert_true(isnan(value_of(&out, HU_METRIC_GPU_BUSY, "0,0000:03:00.0,")));
    assert_true(isnan(value_of(&out, HU_METRIC_GPU_PROCESSES, "0,0000:03:00.0,")));
    hu_readings_clear(&out);
    assert_true(hu_source_intel.sample(s, HU_SAMPLE_SLOW, &out));
    assert_true(
        value_of(&out, HU_METRIC_PROBLEM,
                 "intel,processes of other users cannot be seen, so how busy Intel's GPUs are is not known,run the monitor "
                 "as root (CAP_SYS_PTRACE) in the node's own PID namespace") == 1);
    hu_readings_free(&out);
    hu_source_intel.close(s);
    end(&t);
}

/* Texts of the kernel's documentation, and what they must not be taken for. */
static void test_fdinfo(void **state)
{
    hu_drm_fdinfo f;

    (void)state;
    assert_true(
        hu_drm_fdinfo_parse(HU_STR("pos:\t0\nflags:\t0100002\nmnt_id:\t21\ndrm-driver: i915\ndrm-pdev:   0000:00:02.0\n"
                                   "drm-client-id:      7\ndrm-engine-render:  9288864723 ns\n"
                                   "drm-engine-copy:    2035071108 ns\ndrm-engine-capacity-video:   2\n"),
                            &f));
    assert_string_equal(f.driver, "i915");
    assert_string_equal(f.bus, "0000:00:02.0");
    assert_true(f.has_id && f.id == 7 && f.n == 2 && f.engine[0].ns == 9288864723 && !f.has_vram);
    assert_true(hu_drm_fdinfo_parse(HU_STR("drm-driver:\tamdgpu\ndrm-pdev:\t0000:AB:00.0\ndrm-memory-vram:\t2048 KiB\n"
                                           "drm-resident-vram:\t1 MiB\n"),
                                    &f));
    assert_true(f.has_vram && f.vram == 1 << 20 && !f.has_id);
    assert_string_equal(f.bus, "0000:ab:00.0");
    assert_true(hu_drm_fdinfo_parse(HU_STR("drm-driver:\tamdgpu\ndrm-memory-vram:\t2048 KiB\n"), &f) && f.vram == 2 << 20);
    assert_true(hu_drm_fdinfo_parse(HU_STR("drm-driver:x\ndrm-engine-:1 ns\ndrm-engine-gfx: 99999999999999999999 ns\n"
                                           "drm-resident-vram: 18446744073709551615 KiB\n"),
                                    &f));
    assert_true(f.n == 0 && !f.has_vram);
    assert_false(hu_drm_fdinfo_parse(HU_STR("pos:\t0\nflags:\t02\n"), &f));
    assert_false(hu_drm_fdinfo_parse(HU_STR(""), &f));
}

static void test_board(void **state)
{
    hu_gpu_board         *b = hu_gpu_board_new();
    static hu_board_gpu   rows[HU_BOARD_GPUS];
    static hu_board_state read;

    (void)state;
    for (size_t i = 0; i < HU_BOARD_GPUS; i++)
        snprintf(rows[i].uuid, sizeof rows[i].uuid, "%zu", i);
    for (size_t i = 0; i < HU_BOARD_GPUS; i++)
        rows[i].vendor = HU_VENDOR_NVIDIA;
    hu_gpu_board_write_vendor(b, HU_VENDOR_NVIDIA, rows, 3, 5);
    for (size_t i = 0; i < HU_BOARD_GPUS; i++)
        rows[i].vendor = HU_VENDOR_AMD;
    hu_gpu_board_write_vendor(b, HU_VENDOR_AMD, rows + 10, 2, 6);
    for (size_t i = 0; i < HU_BOARD_GPUS; i++)
        rows[i].vendor = HU_VENDOR_NVIDIA;
    hu_gpu_board_write_vendor(b, HU_VENDOR_NVIDIA, rows + 1, 1, 7);
    assert_true(hu_gpu_board_read(b, &read));
    assert_int_equal(read.n, 3);
    assert_int_equal(read.at_ns, 7);
    assert_string_equal(read.gpu[0].uuid, "10");
    assert_string_equal(read.gpu[2].uuid, "1");
    hu_gpu_board_write_vendor(b, HU_VENDOR_NVIDIA, rows, HU_BOARD_GPUS, 8); /* two too many */
    assert_true(hu_gpu_board_read(b, &read));
    assert_int_equal(read.n, HU_BOARD_GPUS);
    hu_gpu_board_write_vendor(b, HU_VENDOR_NVIDIA, NULL, 0, 9);
    assert_true(hu_gpu_board_read(b, &read));
    assert_int_equal(read.n, 2);
    hu_gpu_board_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),           cmocka_unit_test(test_energy),   cmocka_unit_test(test_amd_tables),
        cmocka_unit_test(test_amd_throttling),  cmocka_unit_test(test_amd_lost), cmocka_unit_test(test_intel_busy),
        cmocka_unit_test(test_intel_elsewhere), cmocka_unit_test(test_fdinfo),   cmocka_unit_test(test_board),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
