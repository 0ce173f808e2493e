/* SPDX-License-Identifier: Apache-2.0
 * nvml_values.c - one function for each question; a missing function is FUNCTION_NOT_FOUND. */
#include "gpu/nvml_values.h"

#include "gpu/nvml_calls.h"

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0, CORRECTED = 0, UNCORRECTED = 1, SINCE_LOAD = 0, OF_LIFE = 1 };
enum { ROWS_MOST = 1 << 20, RETIRED_MOST = 1 << 20, LINK_MOST = 64 };

typedef int64_t answers[HU_NVML_ANSWERS];

/* A call that fills one unsigned number, of which no bit is 0 where a driver does not know it. */
static int one(int (*call)(void *device, unsigned *out), void *device, int64_t *answer)
{
    unsigned  value = 0;
    const int rc = call ? call(device, &value) : FUNCTION_NOT_FOUND;

    *answer = value;
    return rc == SUCCESS && value == UINT32_MAX ? UNKNOWN : rc;
}

static int get_use(hu_nvml *n, void *device, answers a)
{
    rates     r = {0};
    const int rc = n->use ? n->use(device, &r) : FUNCTION_NOT_FOUND;

    a[0] = r.gpu;
    a[1] = r.memory;
    return rc == SUCCESS && (r.gpu > MOST_PERCENT || r.memory > MOST_PERCENT) ? UNKNOWN : rc;
}

static int percent(int (*call)(void *device, unsigned *percent, unsigned *us), void *device, int64_t *answer)
{
    unsigned  value = 0, us = 0;
    const int rc = call ? call(device, &value, &us) : FUNCTION_NOT_FOUND;

    *answer = value;
    return rc == SUCCESS && value > MOST_PERCENT ? UNKNOWN : rc;
}

static int get_encoder(hu_nvml *n, void *device, answers a)
{
    return percent(n->encoder, device, a);
}

static int get_decoder(hu_nvml *n, void *device, answers a)
{
    return percent(n->decoder, device, a);
}

static int clock_of(int (*call)(void *device, unsigned which, unsigned *mhz), void *device, unsigned which, int64_t *answer)
{
    unsigned  mhz = 0;
    const int rc = call ? call(device, which, &mhz) : FUNCTION_NOT_FOUND;

    *answer = mhz;
    return rc == SUCCESS && mhz == UINT32_MAX ? UNKNOWN : rc;
}

static int get_sm_clock(hu_nvml *n, void *device, answers a)
{
    return clock_of(n->clock, device, CLOCK_SM, a);
}

static int get_memory_clock(hu_nvml *n, void *device, answers a)
{
    return clock_of(n->clock, device, CLOCK_MEMORY, a);
}

static int get_power(hu_nvml *n, void *device, answers a)
{
    return one(n->power, device, a);
}

static int get_reasons(hu_nvml *n, void *device, answers a)
{
    wide      bits = 0;
    const int rc = n->reasons ? n->reasons(device, &bits) : FUNCTION_NOT_FOUND;

    a[0] = (int64_t)bits;
    return rc == SUCCESS && bits > UINT32_MAX ? UNKNOWN : rc;
}

static int get_memory(hu_nvml *n, void *device, answers a)
{
    memory_2 two = {.version = VERSION_OF(memory_2, 2)};
    memory_1 one = {0};
    int      rc = n->memory_v2 ? n->memory_v2(device, &two) : FUNCTION_NOT_FOUND;

    a[3] = (int64_t)two.reserved;
    if (hu_nvml_class_of(rc) == HU_NVML_NEVER) {
        rc = n->memory_v1 ? n->memory_v1(device, &one) : FUNCTION_NOT_FOUND;
        two = (memory_2){.used = one.used, .total = one.total, .free = one.free};
        a[3] = -1;
    }
    a[0] = (int64_t)two.used;
    a[1] = (int64_t)two.total;
    a[2] = (int64_t)two.free;
    if (rc == SUCCESS && (two.total > INT64_MAX || two.used > two.total || two.free > two.total || two.reserved > two.total))
        return UNKNOWN;
    return rc;
}

static int get_temperature(hu_nvml *n, void *device, answers a)
{
    temperature_1 v = {.version = VERSION_OF(temperature_1, 1), .sensor = SENSOR_GPU};
    unsigned      old = 0;
    int           rc = n->temperature_v ? n->temperature_v(device, &v) : FUNCTION_NOT_FOUND;

    a[0] = v.celsius;
    if (hu_nvml_class_of(rc) == HU_NVML_NEVER) {
        rc = n->temperature ? n->temperature(device, SENSOR_GPU, &old) : FUNCTION_NOT_FOUND;
        a[0] = old;
    }
    return rc == SUCCESS && (a[0] > MOST_CELSIUS || a[0] < -MOST_CELSIUS) ? UNKNOWN : rc;
}

static int get_margin(hu_nvml *n, void *device, answers a)
{
    margin_1  v = {.version = VERSION_OF(margin_1, 1)};
    const int rc = n->margin ? n->margin(device, &v) : FUNCTION_NOT_FOUND;

    a[0] = v.celsius;
    return rc == SUCCESS && (a[0] > MOST_CELSIUS || a[0] < -MOST_CELSIUS) ? UNKNOWN : rc;
}

static int get_energy(hu_nvml *n, void *device, answers a)
{
    wide      mj = 0;
    const int rc = n->energy ? n->energy(device, &mj) : FUNCTION_NOT_FOUND;

    a[0] = (int64_t)mj;
    return rc == SUCCESS && mj > INT64_MAX ? UNKNOWN : rc;
}

static int get_most_clocks(hu_nvml *n, void *device, answers a)
{
    const int rc = clock_of(n->most_clock, device, CLOCK_SM, &a[0]);

    return rc == SUCCESS ? clock_of(n->most_clock, device, CLOCK_MEMORY, &a[1]) : rc;
}

static int get_power_limit(hu_nvml *n, void *device, answers a)
{
    return one(n->power_limit, device, a);
}

static int get_power_default(hu_nvml *n, void *device, answers a)
{
    return one(n->power_default, device, a);
}

static int get_power_range(hu_nvml *n, void *device, answers a)
{
    unsigned  least = 0, most = 0;
    const int rc = n->power_range ? n->power_range(device, &least, &most) : FUNCTION_NOT_FOUND;

    a[0] = least;
    a[1] = most;
    return rc;
}

static int errors(const hu_nvml *n, void *device, unsigned since, answers a)
{
    wide corrected = 0, uncorrected = 0;
    int  rc = n->ecc ? n->ecc(device, CORRECTED, since, &corrected) : FUNCTION_NOT_FOUND;

    if (rc == SUCCESS)
        rc = n->ecc(device, UNCORRECTED, since, &uncorrected);
    a[0] = (int64_t)corrected;
    a[1] = (int64_t)uncorrected;
    return rc == SUCCESS && (corrected > INT64_MAX || uncorrected > INT64_MAX) ? UNKNOWN : rc;
}

static int get_ecc(hu_nvml *n, void *device, answers a)
{
    return errors(n, device, SINCE_LOAD, a);
}

static int get_ecc_life(hu_nvml *n, void *device, answers a)
{
    return errors(n, device, OF_LIFE, a);
}

static int get_rows(hu_nvml *n, void *device, answers a)
{
    unsigned  v[HU_NVML_ANSWERS] = {0};
    const int rc = n->rows ? n->rows(device, &v[0], &v[1], &v[2], &v[3]) : FUNCTION_NOT_FOUND;

    for (int i = 0; i < HU_NVML_ANSWERS; i++)
        a[i] = v[i];
    return rc == SUCCESS && (v[0] > ROWS_MOST || v[1] > ROWS_MOST || v[2] > 1 || v[3] > 1) ? UNKNOWN : rc;
}

/* Only how many: the buffer that is too small on purpose makes it say so. */
static int get_pages(hu_nvml *n, void *device, answers a)
{
    for (unsigned cause = 0; cause < 2; cause++) {
        unsigned count = 0;
        int      rc = n->pages ? n->pages(device, cause, &count, NULL) : FUNCTION_NOT_FOUND;

        if (rc != SUCCESS && rc != TOO_SMALL)
            return rc;
        if (count > RETIRED_MOST)
            return UNKNOWN;
        a[cause] = count;
    }
    return SUCCESS;
}

/* 0 or 1, and nothing else. */
static int flag(int (*call)(void *device, unsigned *out), void *device, int64_t *answer)
{
    const int rc = one(call, device, answer);

    return rc == SUCCESS && *answer > 1 ? UNKNOWN : rc;
}

static int get_pages_pending(hu_nvml *n, void *device, answers a)
{
    return flag(n->pages_pending, device, a);
}

static int get_persistence(hu_nvml *n, void *device, answers a)
{
    return flag(n->persistence, device, a);
}

static int link_value(int (*call)(void *device, unsigned *out), void *device, int64_t *answer)
{
    const int rc = one(call, device, answer);

    return rc == SUCCESS && *answer > LINK_MOST ? UNKNOWN : rc;
}

static int get_pcie_generation(hu_nvml *n, void *device, answers a)
{
    return link_value(n->pcie_generation, device, a);
}

static int get_pcie_generation_most(hu_nvml *n, void *device, answers a)
{
    return link_value(n->pcie_most_generation, device, a);
}

static int get_pcie_width(hu_nvml *n, void *device, answers a)
{
    return link_value(n->pcie_width, device, a);
}

static int get_pcie_width_most(hu_nvml *n, void *device, answers a)
{
    return link_value(n->pcie_most_width, device, a);
}

static int get_pcie_replays(hu_nvml *n, void *device, answers a)
{
    return one(n->pcie_replays, device, a);
}

static int get_mig(hu_nvml *n, void *device, answers a)
{
    unsigned  now = 0, next = 0;
    const int rc = n->mig ? n->mig(device, &now, &next) : FUNCTION_NOT_FOUND;

    a[0] = now;
    return rc == SUCCESS && now > 1 ? UNKNOWN : rc;
}

static int get_fabric(hu_nvml *n, void *device, answers a)
{
    fabric_3 three = {.version = VERSION_OF(fabric_3, 3)};
    fabric_2 two = {.version = VERSION_OF(fabric_2, 2)};
    fabric_1 one = {0};
    int      rc = n->fabric ? n->fabric(device, &three) : FUNCTION_NOT_FOUND;

    if (rc == ARGUMENT_VERSION) {
        rc = n->fabric(device, &two);
        three = (fabric_3){.state = two.state, .status = two.status};
    } else if (rc == FUNCTION_NOT_FOUND && n->fabric_v1) {
        rc = n->fabric_v1(device, &one);
        three = (fabric_3){.state = one.state, .status = one.status};
    }
    a[0] = three.state;
    a[1] = three.status;
    a[2] = three.summary;
    if (rc == SUCCESS && three.state == HU_FABRIC_NOT_SUPPORTED)
        return NOT_SUPPORTED;
    return rc == SUCCESS && (three.state > HU_FABRIC_COMPLETED || three.summary > HU_FABRIC_LIMITED) ? UNKNOWN : rc;
}

static int (*const asks[])(hu_nvml *n, void *device, answers a) = {
    [HU_NVML_ASK_USE] = get_use,
    [HU_NVML_ASK_ENCODER] = get_encoder,
    [HU_NVML_ASK_DECODER] = get_decoder,
    [HU_NVML_ASK_SM_CLOCK] = get_sm_clock,
    [HU_NVML_ASK_MEMORY_CLOCK] = get_memory_clock,
    [HU_NVML_ASK_POWER] = get_power,
    [HU_NVML_ASK_REASONS] = get_reasons,
    [HU_NVML_ASK_MEMORY] = get_memory,
    [HU_NVML_ASK_TEMPERATURE] = get_temperature,
    [HU_NVML_ASK_MARGIN] = get_margin,
    [HU_NVML_ASK_ENERGY] = get_energy,
    [HU_NVML_ASK_MOST_CLOCKS] = get_most_clocks,
    [HU_NVML_ASK_POWER_LIMIT] = get_power_limit,
    [HU_NVML_ASK_POWER_DEFAULT] = get_power_default,
    [HU_NVML_ASK_POWER_RANGE] = get_power_range,
    [HU_NVML_ASK_ECC] = get_ecc,
    [HU_NVML_ASK_ECC_LIFE] = get_ecc_life,
    [HU_NVML_ASK_ROWS] = get_rows,
    [HU_NVML_ASK_PAGES] = get_pages,
    [HU_NVML_ASK_PAGES_PENDING] = get_pages_pending,
    [HU_NVML_ASK_PERSISTENCE] = get_persistence,
    [HU_NVML_ASK_PCIE_GENERATION] = get_pcie_generation,
    [HU_NVML_ASK_PCIE_GENERATION_MOST] = get_pcie_generation_most,
    [HU_NVML_ASK_PCIE_WIDTH] = get_pcie_width,
    [HU_NVML_ASK_PCIE_WIDTH_MOST] = get_pcie_width_most,
    [HU_NVML_ASK_PCIE_REPLAYS] = get_pcie_replays,
    [HU_NVML_ASK_MIG] = get_mig,
    [HU_NVML_ASK_FABRIC] = get_fabric,
};
_Static_assert(sizeof asks / sizeof *asks == HU_NVML_QUESTION_COUNT && HU_NVML_QUESTION_COUNT <= 64,
               "one for each question");

hu_nvml_class hu_nvml_ask(hu_nvml *n, hu_nvml_device *d, hu_nvml_question which, int64_t answer[HU_NVML_ANSWERS], int *code)
{
    hu_nvml_class class;

    if (d->denied >> which & 1)
        return HU_NVML_NEVER;
    for (int i = 0; i < HU_NVML_ANSWERS; i++)
        answer[i] = 0;
    *code = asks[which](n, d->handle, answer);
    class = hu_nvml_class_of(*code);
    if (class == HU_NVML_NEVER)
        d->denied |= UINT64_C(1) << which;
    return class;
}

/* Where each quantity of a recording is among the answers. */
static const struct {
    hu_nvml_question which;
    int              answer; /* -1: it comes as an event */
} quantity[HU_GPU_QUANTITY_COUNT] = {
    [HU_GAUGE_BUSY] = {HU_NVML_ASK_USE, 0},          [HU_GAUGE_MEMORY_BUSY] = {HU_NVML_ASK_USE, 1},
    [HU_GAUGE_SM_CLOCK] = {HU_NVML_ASK_SM_CLOCK, 0}, [HU_GAUGE_MEMORY_CLOCK] = {HU_NVML_ASK_MEMORY_CLOCK, 0},
    [HU_GAUGE_POWER] = {HU_NVML_ASK_POWER, 0},       [HU_GAUGE_ENERGY] = {HU_NVML_ASK_ENERGY, 0},
    [HU_GAUGE_MEMORY] = {HU_NVML_ASK_MEMORY, 0},     [HU_GAUGE_TEMPERATURE] = {HU_NVML_ASK_TEMPERATURE, 0},
    [HU_GAUGE_REASONS] = {HU_NVML_ASK_REASONS, 0},   [HU_GAUGE_XID] = {HU_NVML_QUESTION_COUNT, -1},
};

hu_nvml_class hu_nvml_look(hu_nvml *n, hu_nvml_device *d, hu_nvml_values *out, int *code)
{
    int64_t a[HU_NVML_ANSWERS];
    hu_nvml_class class = HU_NVML_NEVER;
    int rc = SUCCESS;

    *out = (hu_nvml_values){0};
    *code = SUCCESS;
    for (unsigned q = 0; q < HU_GPU_QUANTITY_COUNT; q++) {
        if (quantity[q].answer < 0)
            continue;
        if (quantity[q].answer == 0) { /* further answers of the same question follow it */
            class = hu_nvml_ask(n, d, quantity[q].which, a, &rc);
            if (class == HU_NVML_LATER || class == HU_NVML_LOST)
                *code = rc;
            if (class == HU_NVML_LOST)
                return class;
        }
        if (class == HU_NVML_OK) {
            out->has |= 1u << q;
            out->value[q] = a[quantity[q].answer];
        }
    }
    return HU_NVML_OK;
}
