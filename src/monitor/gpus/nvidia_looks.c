/* SPDX-License-Identifier: Apache-2.0
 * nvidia_looks.c - what is asked of a GPU in each group, and the rows that the answers become, in base units. */
#include <stdio.h>
#include <string.h>

#include "monitor/gpus/nvidia.h"

/* Of smaller units, so many are one: a division gives the nearest number, 253 / 1e9, a product with 1e-9 another one. */
static const double mega = 1e6, kibi = 1024, milli = 1e3, nano = 1e9, percent = 100;

enum { SILENCES_MOST = 3 };

bool hu_nv_is_lost(hu_nvidia *s, hu_nv_gpu *g, hu_nvml_class class, int code)
{
    if (class != HU_NVML_LOST)
        return false;
    if (hu_nvml_is_driver_gone(code)) {
        s->is_driver_gone = true;
        s->code = code;
    }
    g->is_up = false;
    g->code = code;
    return true;
}

static bool ask(hu_nvidia *s, hu_nv_gpu *g, hu_nvml_question which, int64_t a[HU_NVML_ANSWERS])
{
    int code = 0;
    hu_nvml_class class;

    if (!g->is_up)
        return false;
    class = hu_nvml_ask(s->nvml, &g->d, which, a, &code);
    return !hu_nv_is_lost(s, g, class, code) && class == HU_NVML_OK;
}

static void put(hu_readings *out, const hu_nv_gpu *g, hu_metric m, double value)
{
    hu_put(out, m, value, g->number_text, g->d.uuid);
}

/* A row of a metric that parts of GPUs have too. */
static void put_whole(hu_readings *out, const hu_nv_gpu *g, hu_metric m, double value)
{
    hu_put(out, m, value, g->number_text, g->d.uuid, "");
}

static void put_kind(hu_readings *out, const hu_nv_gpu *g, hu_metric m, double value, const char *kind)
{
    hu_put(out, m, value, g->number_text, g->d.uuid, kind);
}

/* ---- fast -------------------------------------------------------------------------------------------------------- */

static void put_reasons(hu_readings *out, const hu_nv_gpu *g, uint64_t bits)
{
    static const struct {
        uint32_t    bit;
        const char *words;
    } known[] = {
#define R(id, bit, limits, words) {bit, words},
        HU_GPU_REASONS(R)
#undef R
    };
    char number[32];

    for (size_t i = 0; i < HU_GPU_REASON_COUNT; i++) {
        put_kind(out, g, HU_METRIC_GPU_CLOCK_REASON, (bits & known[i].bit) != 0, known[i].words);
        bits &= ~(uint64_t)known[i].bit;
    }
    for (; bits; bits &= bits - 1) { /* newer than we know: its number, while it holds */
        snprintf(number, sizeof number, "0x%llx", (unsigned long long)(bits & -bits));
        put_kind(out, g, HU_METRIC_GPU_CLOCK_REASON, 1, number);
    }
}

void hu_nv_put_gpm(hu_readings *out, const hu_nvml_gpm *m, const char *number, const char *uuid, const char *gi)
{
    static const hu_metric metric[HU_NVML_GPM_COUNT] = {
        [HU_GPM_GRAPHICS] = HU_METRIC_GPU_GRAPHICS_ACTIVE,   [HU_GPM_SM] = HU_METRIC_GPU_SM_ACTIVE,
        [HU_GPM_OCCUPANCY] = HU_METRIC_GPU_SM_OCCUPANCY,     [HU_GPM_TENSOR] = HU_METRIC_GPU_TENSOR_ACTIVE,
        [HU_GPM_DRAM] = HU_METRIC_GPU_DRAM_ACTIVE,           [HU_GPM_FP64] = HU_METRIC_GPU_FP64_ACTIVE,
        [HU_GPM_FP32] = HU_METRIC_GPU_FP32_ACTIVE,           [HU_GPM_FP16] = HU_METRIC_GPU_FP16_ACTIVE,
        [HU_GPM_PCIE_SENT] = HU_METRIC_GPU_PCIE_TX_RATE,     [HU_GPM_PCIE_RECEIVED] = HU_METRIC_GPU_PCIE_RX_RATE,
        [HU_GPM_NVLINK_SENT] = HU_METRIC_GPU_NVLINK_TX_RATE, [HU_GPM_NVLINK_RECEIVED] = HU_METRIC_GPU_NVLINK_RX_RATE,
    };

    for (unsigned i = 0; i < HU_NVML_GPM_COUNT; i++)
        if (m->has >> i & 1)
            hu_put(out, metric[i], m->value[i], number, uuid, gi);
}

/* Did the driver say anything at all?  After some looks in which it did not, the GPU is as good as lost. */
static void judge(hu_nv_gpu *g, unsigned answers, unsigned errors, int code)
{
    g->is_silent = answers == 0 && errors > 0;
    g->silences = g->is_silent ? g->silences + 1 : 0;
    g->code = g->is_silent ? code : 0;
    if (g->silences >= SILENCES_MOST)
        g->is_up = false;
}

void hu_nv_look_fast(hu_nvidia *s, hu_nv_gpu *g, int64_t now_ns)
{
    static const hu_nvml_question asked[] = {HU_NVML_ASK_USE,    HU_NVML_ASK_SM_CLOCK, HU_NVML_ASK_MEMORY_CLOCK,
                                             HU_NVML_ASK_POWER,  HU_NVML_ASK_REASONS,  HU_NVML_ASK_ENCODER,
                                             HU_NVML_ASK_DECODER};
    int64_t                       a[HU_NVML_ANSWERS];
    unsigned                      answers = 0, errors = 0;
    int                           code = 0, last = 0;
    hu_nvml_class class;

    hu_readings_clear(&g->fast);
    g->busy = -1;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        class = hu_nvml_ask(s->nvml, &g->d, asked[i], a, &code);
        if (hu_nv_is_lost(s, g, class, code))
            return;
        errors += class == HU_NVML_LATER;
        last = class == HU_NVML_LATER ? code : last;
        if (class != HU_NVML_OK)
            continue;
        answers++;
        switch (asked[i]) {
        case HU_NVML_ASK_USE:
            g->busy = (double)a[0] / percent;
            put_whole(&g->fast, g, HU_METRIC_GPU_BUSY, g->busy);
            put_whole(&g->fast, g, HU_METRIC_GPU_MEMORY_BUSY, (double)a[1] / percent);
            break;
        case HU_NVML_ASK_SM_CLOCK:
            put(&g->fast, g, HU_METRIC_GPU_SM_CLOCK, (double)a[0] * mega);
            break;
        case HU_NVML_ASK_MEMORY_CLOCK:
            put(&g->fast, g, HU_METRIC_GPU_MEMORY_CLOCK, (double)a[0] * mega);
            break;
        case HU_NVML_ASK_POWER:
            put(&g->fast, g, HU_METRIC_GPU_POWER, (double)a[0] / milli);
            break;
        case HU_NVML_ASK_ENCODER:
            put(&g->fast, g, HU_METRIC_GPU_ENCODER, (double)a[0] / percent);
            break;
        case HU_NVML_ASK_DECODER:
            put(&g->fast, g, HU_METRIC_GPU_DECODER, (double)a[0] / percent);
            break;
        default:
            put_reasons(&g->fast, g, (uint64_t)a[0]);
        }
    }
    judge(g, answers, errors, last);
    if (!g->is_up || g->is_silent)
        return;
    class = hu_nvml_gpm_look(s->nvml, &g->d, -1, &g->gpm, now_ns, &code);
    if (hu_nv_is_lost(s, g, class, code))
        return;
    hu_nv_put_gpm(&g->fast, &g->gpm, g->number_text, g->d.uuid, "");
    if (g->gpm.has >> HU_GPM_SM & 1)
        g->busy = g->gpm.value[HU_GPM_SM];
    hu_nv_parts_fast(s, g, now_ns);
}

/* ---- medium ------------------------------------------------------------------------------------------------------ */

void hu_nv_put_memory(hu_readings *out, const int64_t a[HU_NVML_ANSWERS], const char *number, const char *uuid,
                      const char *gi)
{
    hu_put(out, HU_METRIC_GPU_MEMORY_USED, (double)a[0], number, uuid, gi);
    hu_put(out, HU_METRIC_GPU_MEMORY_TOTAL, (double)a[1], number, uuid, gi);
    hu_put(out, HU_METRIC_GPU_MEMORY_FREE, (double)a[2], number, uuid, gi);
    if (a[3] >= 0)
        hu_put(out, HU_METRIC_GPU_MEMORY_RESERVED, (double)a[3], number, uuid, gi);
}

enum { HOTTEST_C = 200 };

static void put_medium_fields(hu_nvidia *s, hu_nv_gpu *g)
{
    static const struct {
        hu_nvml_field field;
        hu_metric     metric;
        double        unit, per; /* a value is so many units, and so many of it are one */
        const char   *kind;
        bool          must_be_wide; /* a counter of bytes of 32 bits wraps between two looks */
    } asked[] = {
        {HU_FIELD_MEMORY_TEMPERATURE, HU_METRIC_GPU_MEMORY_TEMPERATURE, 1, 1, NULL, false},
        {HU_FIELD_POWER_INSTANT, HU_METRIC_GPU_POWER_INSTANT, 1, milli, NULL, false},
        {HU_FIELD_NVLINK_SENT, HU_METRIC_GPU_NVLINK_TX, kibi, 1, NULL, true},
        {HU_FIELD_NVLINK_RECEIVED, HU_METRIC_GPU_NVLINK_RX, kibi, 1, NULL, true},
        {HU_FIELD_PCIE_SENT, HU_METRIC_GPU_PCIE_TX, 1, 1, NULL, true},
        {HU_FIELD_PCIE_RECEIVED, HU_METRIC_GPU_PCIE_RX, 1, 1, NULL, true},
        {HU_FIELD_NVLINK_FLIT_ERRORS, HU_METRIC_GPU_NVLINK_ERRORS, 1, 1, "crc_flit", false},
        {HU_FIELD_NVLINK_DATA_ERRORS, HU_METRIC_GPU_NVLINK_ERRORS, 1, 1, "crc_data", false},
        {HU_FIELD_NVLINK_REPLAYS, HU_METRIC_GPU_NVLINK_ERRORS, 1, 1, "replay", false},
        {HU_FIELD_NVLINK_RECOVERIES, HU_METRIC_GPU_NVLINK_ERRORS, 1, 1, "recovery", false},
    };
    enum { N = sizeof asked / sizeof *asked };
    hu_nvml_field       which[N];
    hu_nvml_field_value v[N];
    hu_nvml_class class;
    double sent, received;
    int    code;

    for (size_t i = 0; i < N; i++)
        which[i] = asked[i].field;
    class = hu_nvml_get_fields(s->nvml, &g->d, which, N, v, &code);
    if (hu_nv_is_lost(s, g, class, code))
        return;
    for (size_t i = 0; i < N; i++) {
        if (!v[i].has || v[i].value < 0 || (asked[i].must_be_wide && !v[i].is_wide))
            continue;
        if (asked[i].field == HU_FIELD_MEMORY_TEMPERATURE && v[i].value > HOTTEST_C)
            continue;
        if (asked[i].kind)
            put_kind(&g->medium, g, asked[i].metric, v[i].value * asked[i].unit / asked[i].per, asked[i].kind);
        else
            put(&g->medium, g, asked[i].metric, v[i].value * asked[i].unit / asked[i].per);
    }
    if (!(g->d.denied_fields >> HU_FIELD_NVLINK_SENT & 1)) /* one counter or the other, never by turns */
        return;
    class = hu_nvml_get_links(s->nvml, &g->d, &g->links, &sent, &received, &code);
    if (hu_nv_is_lost(s, g, class, code) || class != HU_NVML_OK)
        return;
    put(&g->medium, g, HU_METRIC_GPU_NVLINK_TX, sent);
    put(&g->medium, g, HU_METRIC_GPU_NVLINK_RX, received);
}

static void add_user(hu_nv_users *u, uint32_t pid)
{
    for (uint32_t i = 0; i < u->n; i++)
        if (u->pid[i] == pid)
            return;
    if (u->n < HU_BOARD_PIDS) {
        u->memory[u->n] = HU_NVML_NO_BYTES;
        u->pid[u->n++] = pid;
    }
}

/* A process that used the GPU, and came after the last list, is added to it. */
static void look_at_uses(hu_nvidia *s, hu_nv_gpu *g)
{
    hu_nv_users *u = &g->users;
    size_t       n = 0;
    int          code;
    hu_nvml_class class;

    u->has_uses = false;
    u->n_uses = 0;
    if (g->d.is_mig)
        return;
    class = hu_nvml_uses(s->nvml, &g->d, &s->buffer, &u->uses_since_us, u->use, HU_BOARD_PIDS, &n, &code);
    if (hu_nv_is_lost(s, g, class, code))
        return;
    u->has_uses = class == HU_NVML_OK || code == HU_NVML_NOT_FOUND; /* nobody used it */
    u->n_uses = (uint32_t)n;
    for (size_t i = 0; i < n; i++)
        if (u->use[i].busy > 0)
            add_user(u, u->use[i].pid);
}

void hu_nv_look_medium(hu_nvidia *s, hu_nv_gpu *g)
{
    int64_t a[HU_NVML_ANSWERS];

    hu_readings_clear(&g->medium);
    g->has_medium = true;
    if (ask(s, g, HU_NVML_ASK_MEMORY, a))
        hu_nv_put_memory(&g->medium, a, g->number_text, g->d.uuid, "");
    if (ask(s, g, HU_NVML_ASK_TEMPERATURE, a))
        put(&g->medium, g, HU_METRIC_GPU_TEMPERATURE, (double)a[0]);
    if (ask(s, g, HU_NVML_ASK_MARGIN, a))
        put(&g->medium, g, HU_METRIC_GPU_TEMPERATURE_MARGIN, (double)a[0]);
    g->joules = 0;
    if (ask(s, g, HU_NVML_ASK_ENERGY, a)) {
        g->joules = (double)a[0] / milli;
        put(&g->medium, g, HU_METRIC_GPU_ENERGY, g->joules);
    }
    if (g->is_up)
        put_medium_fields(s, g);
    if (g->is_up)
        look_at_uses(s, g);
    if (g->is_up)
        hu_nv_parts_medium(s, g);
}

/* ---- slow -------------------------------------------------------------------------------------------------------- */

static void put_slow_fields(hu_nvidia *s, hu_nv_gpu *g)
{
    enum { NONE = -1, ANY_THERMAL = HU_GPU_REASON_COUNT };
    static const struct {
        hu_nvml_field field;
        int           reason; /* of time that the clocks were held down */
    } asked[] = {
        {HU_FIELD_LIMITED_POWER, HU_GPU_REASON_POWER_CAP},
        {HU_FIELD_LIMITED_THERMAL, ANY_THERMAL},
        {HU_FIELD_LIMITED_SYNC_BOOST, HU_GPU_REASON_SYNC_BOOST},
        {HU_FIELD_LIMITED_BOARD, HU_GPU_REASON_BOARD_LIMIT},
        {HU_FIELD_LIMITED_RELIABILITY, HU_GPU_REASON_RELIABILITY},
        {HU_FIELD_LIMITED_SOFTWARE_THERMAL_575, HU_GPU_REASON_THERMAL},
        {HU_FIELD_LIMITED_HARDWARE_THERMAL_575, HU_GPU_REASON_HARDWARE_THERMAL},
        {HU_FIELD_LIMITED_POWER_BRAKE_575, HU_GPU_REASON_POWER_BRAKE},
        {HU_FIELD_LIMITED_SOFTWARE_THERMAL, HU_GPU_REASON_THERMAL},
        {HU_FIELD_LIMITED_HARDWARE_THERMAL, HU_GPU_REASON_HARDWARE_THERMAL},
        {HU_FIELD_LIMITED_POWER_BRAKE, HU_GPU_REASON_POWER_BRAKE},
        {HU_FIELD_RECOVERY_ACTION, NONE},
    };
    static const char *const words[] = {
#define R(id, bit, limits, words) words,
        HU_GPU_REASONS(R)
#undef R
            "thermal limit",
    };
    enum { N = sizeof asked / sizeof *asked };
    hu_nvml_field       which[N];
    hu_nvml_field_value v[N];
    hu_nvml_class class;
    int code;

    for (size_t i = 0; i < N; i++)
        which[i] = asked[i].field;
    class = hu_nvml_get_fields(s->nvml, &g->d, which, N, v, &code);
    if (hu_nv_is_lost(s, g, class, code))
        return;
    for (size_t i = 0; i < N; i++) {
        if (!v[i].has || v[i].value < 0)
            continue;
        if (asked[i].reason != NONE)
            put_kind(&g->slow, g, HU_METRIC_GPU_THROTTLE, v[i].value / nano, words[asked[i].reason]);
        else
            put(&g->slow, g, HU_METRIC_GPU_RECOVERY, v[i].value);
    }
}

static void put_fabric(hu_readings *out, const hu_nv_gpu *g, const int64_t a[HU_NVML_ANSWERS])
{
    put(out, g, HU_METRIC_GPU_FABRIC_STATE, (double)a[0]);
    if (a[0] != HU_FABRIC_COMPLETED)
        return; /* its code means nothing before */
    if (a[1] != 0 || a[2] == HU_FABRIC_UNHEALTHY || a[2] == HU_FABRIC_LIMITED)
        put(out, g, HU_METRIC_GPU_FABRIC_HEALTHY, 0);
    else if (a[2] == HU_FABRIC_HEALTHY)
        put(out, g, HU_METRIC_GPU_FABRIC_HEALTHY, 1);
}

static void put_memory_errors(hu_nvidia *s, hu_nv_gpu *g)
{
    int64_t a[HU_NVML_ANSWERS];

    if (ask(s, g, HU_NVML_ASK_ECC, a)) {
        put_kind(&g->slow, g, HU_METRIC_GPU_ECC, (double)a[0], "corrected");
        put_kind(&g->slow, g, HU_METRIC_GPU_ECC, (double)a[1], "uncorrected");
    }
    if (ask(s, g, HU_NVML_ASK_ECC_LIFE, a)) {
        put_kind(&g->slow, g, HU_METRIC_GPU_ECC_LIFE, (double)a[0], "corrected");
        put_kind(&g->slow, g, HU_METRIC_GPU_ECC_LIFE, (double)a[1], "uncorrected");
    }
    if (ask(s, g, HU_NVML_ASK_ROWS, a)) {
        put_kind(&g->slow, g, HU_METRIC_GPU_REMAPPED_ROWS, (double)a[0], "corrected");
        put_kind(&g->slow, g, HU_METRIC_GPU_REMAPPED_ROWS, (double)a[1], "uncorrected");
        put(&g->slow, g, HU_METRIC_GPU_ROW_PENDING, (double)a[2]);
        put(&g->slow, g, HU_METRIC_GPU_ROW_FAILED, (double)a[3]);
    }
    if (ask(s, g, HU_NVML_ASK_PAGES, a)) {
        put_kind(&g->slow, g, HU_METRIC_GPU_RETIRED_PAGES, (double)a[0], "single_bit");
        put_kind(&g->slow, g, HU_METRIC_GPU_RETIRED_PAGES, (double)a[1], "double_bit");
    }
    if (ask(s, g, HU_NVML_ASK_PAGES_PENDING, a))
        put(&g->slow, g, HU_METRIC_GPU_PAGES_PENDING, (double)a[0]);
}

static void put_limits(hu_nvidia *s, hu_nv_gpu *g)
{
    int64_t a[HU_NVML_ANSWERS];

    if (ask(s, g, HU_NVML_ASK_MOST_CLOCKS, a)) {
        put(&g->slow, g, HU_METRIC_GPU_SM_CLOCK_MAX, (double)a[0] * mega);
        put(&g->slow, g, HU_METRIC_GPU_MEMORY_CLOCK_MAX, (double)a[1] * mega);
    }
    if (ask(s, g, HU_NVML_ASK_POWER_LIMIT, a))
        put(&g->slow, g, HU_METRIC_GPU_POWER_LIMIT, (double)a[0] / milli);
    if (ask(s, g, HU_NVML_ASK_POWER_DEFAULT, a))
        put(&g->slow, g, HU_METRIC_GPU_POWER_DEFAULT, (double)a[0] / milli);
    if (ask(s, g, HU_NVML_ASK_POWER_RANGE, a)) {
        put(&g->slow, g, HU_METRIC_GPU_POWER_MIN, (double)a[0] / milli);
        put(&g->slow, g, HU_METRIC_GPU_POWER_MAX, (double)a[1] / milli);
    }
    if (ask(s, g, HU_NVML_ASK_PCIE_GENERATION, a))
        put(&g->slow, g, HU_METRIC_GPU_PCIE_GENERATION, (double)a[0]);
    if (ask(s, g, HU_NVML_ASK_PCIE_GENERATION_MOST, a))
        put(&g->slow, g, HU_METRIC_GPU_PCIE_GENERATION_MAX, (double)a[0]);
    if (ask(s, g, HU_NVML_ASK_PCIE_WIDTH, a))
        put(&g->slow, g, HU_METRIC_GPU_PCIE_WIDTH, (double)a[0]);
    if (ask(s, g, HU_NVML_ASK_PCIE_WIDTH_MOST, a))
        put(&g->slow, g, HU_METRIC_GPU_PCIE_WIDTH_MAX, (double)a[0]);
    if (ask(s, g, HU_NVML_ASK_PCIE_REPLAYS, a))
        put(&g->slow, g, HU_METRIC_GPU_PCIE_REPLAYS, (double)a[0]);
    if (ask(s, g, HU_NVML_ASK_PERSISTENCE, a))
        put(&g->slow, g, HU_METRIC_GPU_PERSISTENCE, (double)a[0]);
    if (ask(s, g, HU_NVML_ASK_FABRIC, a))
        put_fabric(&g->slow, g, a);
}

/* The processes of a divided GPU are those of its parts. */
static void look_at_processes(hu_nvidia *s, hu_nv_gpu *g)
{
    size_t n = 0;
    int    code;
    hu_nvml_class class;

    g->users.n = 0;
    if (g->d.is_mig)
        return;
    class = hu_nvml_list(s->nvml, &g->d, &s->buffer, g->users.pid, g->users.memory, HU_BOARD_PIDS, &n, &code);
    if (hu_nv_is_lost(s, g, class, code) || class != HU_NVML_OK)
        return;
    g->users.n = n < HU_BOARD_PIDS ? (uint32_t)n : HU_BOARD_PIDS;
    put_whole(&g->slow, g, HU_METRIC_GPU_PROCESSES, (double)n);
}

static void put_info(hu_nvidia *s, const hu_nv_gpu *g, hu_readings *out)
{
    char minor[HU_NV_NUMBER_TEXT] = "";

    if (g->d.minor >= 0)
        snprintf(minor, sizeof minor, "%d", g->d.minor);
    hu_put(out, HU_METRIC_GPU_INFO, 1, g->number_text, g->d.uuid, "", "", "", "nvidia", g->d.name, g->bus, minor, s->driver,
           "");
}

void hu_nv_look_slow(hu_nvidia *s, hu_nv_gpu *g)
{
    int64_t a[HU_NVML_ANSWERS];

    hu_readings_clear(&g->slow);
    g->has_slow = true;
    put_info(s, g, &g->slow);
    if (ask(s, g, HU_NVML_ASK_MIG, a)) {
        if (g->d.is_mig != (a[0] == 1)) { /* what a divided GPU has not, a whole one has */
            g->d.denied = g->d.denied_fields = 0;
            g->gpm.is_denied = g->links.is_denied = false;
        }
        g->d.is_mig = a[0] == 1;
        put(&g->slow, g, HU_METRIC_GPU_MIG_MODE, g->d.is_mig);
    }
    put_limits(s, g);
    put_memory_errors(s, g);
    if (g->is_up)
        put_slow_fields(s, g);
    if (g->is_up)
        look_at_processes(s, g);
    if (g->is_up)
        hu_nv_parts_slow(s, g);
}
