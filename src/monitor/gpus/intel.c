/* SPDX-License-Identifier: Apache-2.0
 * intel.c - a source: Intel's GPUs, by the files of the drivers i915 and xe.
 *
 * Neither driver has a file that says how busy a GPU is: that is summed over its clients (drm_clients.h), and so it is told
 * only where the clients of the whole machine can be seen.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/number.h"
#include "monitor/gpus/drm.h"
#include "monitor/gpus/drm_clients.h"
#include "monitor/files.h"
#include "monitor/source.h"

enum { VENDOR = 0x8086, TEXT_ROOM = 96, NUMBER_ROOM = 16, TILES_MOST = 8, GTS_MOST = 4, REASONS_MOST = 24, PLACES = 2 };

static const char *const drivers[] = {"i915", "xe", NULL};

typedef struct {
    hu_drm_card *card;
    char         number[NUMBER_ROOM], model[TEXT_ROOM];
    bool         is_lost;
    uint32_t     engines[PLACES]; /* which of them are there: a bit for each */
    double       joules;          /* of the last fast look; NaN: none */
    int64_t      joules_ns;
    hu_board_gpu row;
} gpu;

typedef struct {
    int             root;
    hu_gpu_board   *board;
    hu_drm_clients *clients;
    int             readings; /* of clients: two make a difference */
    size_t          n, expected;
    hu_drm_card     cards[HU_DRM_CARDS_MOST];
    gpu             at[HU_DRM_CARDS_MOST];
    hu_board_gpu    rows[HU_DRM_CARDS_MOST];
} intel;

/* Files of a graphics engine: its clock in MHz, the highest one, and where the reasons are why it is lower. */
static const struct {
    const char *clock, *most, *reasons;
    bool        has_tiles;
} places[PLACES] = {
    {"act_freq", "rp0_freq", "throttle", true},           /* xe: device/tileN/gtN/freq0 */
    {"rps_act_freq_mhz", "rps_RP0_freq_mhz", ".", false}, /* i915: gt/gtN */
};

/* The n-th one; -1: there is none. */
static int engine_folder(const gpu *g, size_t place, int n)
{
    char name[64];

    if (places[place].has_tiles)
        snprintf(name, sizeof name, "device/tile%d/gt%d/freq0", n / GTS_MOST, n % GTS_MOST);
    else
        snprintf(name, sizeof name, "gt/gt%d", n);
    return hu_files_folder(g->card->card, name);
}

/* There is no number of the chip's own in these files: its address stands for it. */
static void describe(gpu *g, size_t i)
{
    hu_format_u64(g->number, i);
    snprintf(g->model, sizeof g->model, "Intel GPU 0x%04x", g->card->id);
    g->joules = NAN;
    for (size_t place = 0; place < PLACES; place++)
        for (int n = 0; n < TILES_MOST * GTS_MOST; n++) {
            const int folder = engine_folder(g, place, n);

            if (folder < 0)
                continue;
            g->engines[place] |= UINT32_C(1) << n;
            close(folder);
        }
    g->row = (hu_board_gpu){
        .index = (int32_t)i, .minor = g->card->number, .gi = -1, .ci = -1, .vendor = HU_VENDOR_INTEL, .busy = -1};
    snprintf(g->row.uuid, sizeof g->row.uuid, "%s", g->card->bus);
    snprintf(g->row.bus, sizeof g->row.bus, "%s", g->card->bus);
}

static void intel_close(void *state)
{
    intel *h = state;

    for (size_t i = 0; i < h->n; i++)
        hu_drm_card_close(&h->cards[i]);
    if (h->board)
        hu_gpu_board_write_vendor(h->board, HU_VENDOR_INTEL, NULL, 0, hu_gpu_board_now());
    hu_drm_clients_free(h->clients);
    close(h->root);
    free(h);
}

static bool intel_open(const hu_source_options *options, void **state, hu_readings *out)
{
    const int root = hu_files_root(options->root);
    intel    *h = root >= 0 ? calloc(1, sizeof *h) : NULL;

    if (!h) {
        if (root >= 0)
            close(root);
        return false;
    }
    h->root = root;
    h->board = options->board;
    h->expected = hu_pci_gpus(root, VENDOR);
    h->n = hu_drm_cards(root, VENDOR, drivers, h->cards, HU_DRM_CARDS_MOST);
    h->clients = h->n ? hu_drm_clients_new(root, drivers) : NULL;
    for (size_t i = 0; i < h->n; i++)
        h->at[i].card = &h->cards[i];
    if (!h->clients) {
        if (h->expected) {
            hu_put(out, HU_METRIC_GPUS_EXPECTED, (double)h->expected, "intel");
            hu_put_problem(out, "intel", "there are Intel GPUs on the PCI bus, and no driver shows them",
                           "load the driver: modprobe xe, or modprobe i915");
        }
        intel_close(h);
        return false;
    }
    for (size_t i = 0; i < h->n; i++)
        describe(&h->at[i], i);
    hu_drm_clients_find(h->clients);
    *state = h;
    return true;
}

/* "reason_pl1" of xe, "throttle_reason_pl1" of i915: NVIDIA's words for it (base/gpu_counters.h), or the driver's own. */
static const char *reason_of(const char *file)
{
    static const struct {
        const char *name, *words;
    } known[] = {{"pl1", "software power cap"},
                 {"pl2", "software power cap"},
                 {"thermal", "software thermal slowdown"},
                 {"prochot", "hardware thermal slowdown"}};
    const char *name = strncmp(file, "throttle_", 9) == 0 ? file + 9 : file;

    if (strncmp(name, "reason_", 7) != 0 || strcmp(name + 7, "status") == 0)
        return NULL;
    name += 7;
    for (size_t i = 0; i < HU_COUNT(known); i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].words;
    return name;
}

typedef struct {
    char name[32];
    bool is_on;
} reason;

/* What any of the engines says of it. */
static void take_reasons(int folder, const char *below, reason *reasons, size_t *n)
{
    hu_names    names;
    const char *file, *name;

    if (!hu_names_open(&names, folder, below))
        return;
    while ((file = hu_names_next(&names)) != NULL) {
        uint64_t value;
        size_t   i = 0;

        if ((name = reason_of(file)) == NULL || strlen(name) >= sizeof reasons->name ||
            !hu_files_number(names.fd, file, &value))
            continue;
        while (i < *n && strcmp(reasons[i].name, name) != 0)
            i++;
        if (i == REASONS_MOST)
            continue;
        if (i == *n) {
            snprintf(reasons[i].name, sizeof reasons[i].name, "%s", name);
            reasons[i].is_on = false;
            ++*n;
        }
        reasons[i].is_on |= value != 0;
    }
    hu_names_close(&names);
}

/* The highest clock of all engines: 0 is one that sleeps. */
static void put_engines(const gpu *g, hu_readings *out)
{
    reason   reasons[REASONS_MOST];
    size_t   n = 0;
    double   clock = NAN, most = NAN;
    uint64_t mhz;

    for (size_t place = 0; place < PLACES; place++)
        for (int i = 0; i < TILES_MOST * GTS_MOST; i++) {
            const int folder = g->engines[place] >> i & 1 ? engine_folder(g, place, i) : -1;

            if (folder < 0)
                continue;
            if (hu_files_number(folder, places[place].clock, &mhz))
                clock = fmax(clock, (double)mhz * 1e6); /* fmax ignores a NaN */
            if (hu_files_number(folder, places[place].most, &mhz))
                most = fmax(most, (double)mhz * 1e6);
            take_reasons(folder, places[place].reasons, reasons, &n);
            close(folder);
        }
    if (isnan(clock) && hu_files_number(g->card->card, "gt_act_freq_mhz", &mhz)) /* i915 before Linux 6.0 */
        clock = (double)mhz * 1e6;
    hu_put(out, HU_METRIC_GPU_SM_CLOCK, clock, g->number, g->row.uuid);
    hu_put(out, HU_METRIC_GPU_SM_CLOCK_MAX, most, g->number, g->row.uuid);
    for (size_t i = 0; i < n; i++)
        hu_put(out, HU_METRIC_GPU_CLOCK_REASON, reasons[i].is_on, g->number, g->row.uuid, reasons[i].name);
}

/* Power is what was used since the last look. */
static void put_energy(gpu *g, hu_readings *out)
{
    const int64_t at_ns = hu_gpu_board_now();
    double        microjoules;

    if (!hu_drm_sensor_read(g->card, "energy", 1, "input", &microjoules)) {
        g->joules = NAN;
        return;
    }
    if (microjoules / 1e6 >= g->joules && at_ns > g->joules_ns) /* false without a last look */
        hu_put(out, HU_METRIC_GPU_POWER, (microjoules / 1e6 - g->joules) / ((double)(at_ns - g->joules_ns) / 1e9), g->number,
               g->row.uuid);
    g->joules = microjoules / 1e6;
    g->joules_ns = at_ns;
    g->row.joules = g->joules;
    hu_put(out, HU_METRIC_GPU_ENERGY, g->joules, g->number, g->row.uuid);
}

static void sample_fast(gpu *g, hu_readings *out)
{
    g->is_lost = hu_drm_card_gone(g->card);
    hu_put(out, HU_METRIC_GPU_UP, !g->is_lost, g->number, g->row.uuid);
    if (g->is_lost || hu_drm_card_sleeps(g->card)) {
        g->joules = NAN;
        g->row.joules = 0;
        g->row.busy = -1;
        return;
    }
    put_energy(g, out);
    put_engines(g, out);
}

/* All tiles together; integrated GPUs have none of their own. */
static bool read_total(const gpu *g, double *out)
{
    uint64_t bytes;
    double   sum = 0;

    if (hu_files_number(g->card->card, "lmem_total_bytes", &bytes)) { /* i915 of Intel's own packages */
        *out = (double)bytes;
        return true;
    }
    for (int i = 0; i < TILES_MOST; i++) {
        char name[64];

        snprintf(name, sizeof name, "device/tile%d/physical_vram_size_bytes", i);
        if (hu_files_number(g->card->card, name, &bytes))
            sum += (double)bytes;
    }
    *out = sum;
    return sum > 0;
}

static void put_memory(const gpu *g, double clients, hu_readings *out)
{
    double   total;
    uint64_t available;

    if (!read_total(g, &total))
        return;
    hu_put(out, HU_METRIC_GPU_MEMORY_TOTAL, total, g->number, g->row.uuid, "");
    if (hu_files_number(g->card->card, "lmem_avail_bytes", &available) && (double)available <= total)
        hu_put(out, HU_METRIC_GPU_MEMORY_USED, total - (double)available, g->number, g->row.uuid, "");
    else
        hu_put(out, HU_METRIC_GPU_MEMORY_USED, clients, g->number, g->row.uuid, "");
}

static void put_temperatures(const gpu *g, hu_readings *out)
{
    const int package = hu_drm_sensor(g->card, "temp", "pkg"), memory = hu_drm_sensor(g->card, "temp", "vram");
    double    milli;

    if (hu_drm_sensor_read(g->card, "temp", package, "input", &milli))
        hu_put(out, HU_METRIC_GPU_TEMPERATURE, milli / 1e3, g->number, g->row.uuid);
    if (hu_drm_sensor_read(g->card, "temp", memory, "input", &milli))
        hu_put(out, HU_METRIC_GPU_MEMORY_TEMPERATURE, milli / 1e3, g->number, g->row.uuid);
}

static void sample_medium(const intel *h, gpu *g, hu_readings *out)
{
    const bool is_complete = hu_drm_clients_complete(h->clients);
    double     vram, busy;

    g->row.n_pids = 0;
    g->row.busy = -1;
    busy = hu_drm_clients_sum(h->clients, g->card->bus, &g->row, &vram);
    if (g->is_lost)
        return;
    if (is_complete)
        hu_put(out, HU_METRIC_GPU_PROCESSES, g->row.n_pids, g->number, g->row.uuid, "");
    if (g->row.n_pids == 0 && h->readings > 1)
        busy = 0; /* nobody has it open */
    if (is_complete && !isnan(busy)) {
        hu_put(out, HU_METRIC_GPU_BUSY, busy, g->number, g->row.uuid, "");
        g->row.busy = busy;
    }
    if (hu_drm_card_sleeps(g->card))
        return;
    put_memory(g, is_complete ? vram : NAN, out);
    put_temperatures(g, out);
}

static void sample_slow(const gpu *g, hu_readings *out)
{
    char   minor[HU_NUMBER_BYTES];
    double value;

    hu_format_i64(minor, g->card->number);
    hu_put(out, HU_METRIC_GPU_INFO, 1, g->number, g->row.uuid, "", "", "", "intel", g->model, g->card->bus, minor,
           g->card->driver, "");
    if (g->is_lost || hu_drm_card_sleeps(g->card))
        return;
    if (hu_drm_sensor_read(g->card, "power", 1, "max", &value) && value > 0) /* 0: no limit */
        hu_put(out, HU_METRIC_GPU_POWER_LIMIT, value / 1e6, g->number, g->row.uuid);
    if (hu_drm_sensor_read(g->card, "power", 1, "rated_max", &value) && value > 0)
        hu_put(out, HU_METRIC_GPU_POWER_DEFAULT, value / 1e6, g->number, g->row.uuid);
}

static void write_board(intel *h)
{
    uint32_t n = 0;

    if (!h->board)
        return;
    for (size_t i = 0; i < h->n; i++)
        if (!h->at[i].is_lost)
            h->rows[n++] = h->at[i].row;
    hu_gpu_board_write_vendor(h->board, HU_VENDOR_INTEL, h->rows, n, hu_gpu_board_now());
}

static bool intel_sample(void *state, hu_sample_group group, hu_readings *out)
{
    intel *h = state;

    if (group == HU_SAMPLE_SLOW) {
        if (hu_drm_cards_changed(h->root, VENDOR, drivers, h->cards, h->n))
            return false;
        hu_put(out, HU_METRIC_GPUS_EXPECTED, (double)h->expected, "intel");
        hu_drm_clients_find(h->clients);
        if (!hu_drm_clients_complete(h->clients))
            hu_put_problem(out, "intel",
                           "processes of other users cannot be seen, so how busy Intel's GPUs are is not known",
                           "run the monitor as root (CAP_SYS_PTRACE) in the node's own PID namespace");
    }
    if (group == HU_SAMPLE_MEDIUM) {
        hu_drm_clients_read(h->clients, hu_gpu_board_now());
        h->readings++;
    }
    for (size_t i = 0; i < h->n; i++) {
        if (group == HU_SAMPLE_FAST)
            sample_fast(&h->at[i], out);
        else if (group == HU_SAMPLE_MEDIUM)
            sample_medium(h, &h->at[i], out);
        else
            sample_slow(&h->at[i], out);
    }
    if (group == HU_SAMPLE_FAST)
        write_board(h);
    return true;
}

const hu_source hu_source_intel = {"intel", HU_SAMPLER_GPU, intel_open, intel_sample, intel_close};
