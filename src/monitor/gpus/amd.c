/* SPDX-License-Identifier: Apache-2.0
 * amd.c - a source: AMD's GPUs, by the files of the amdgpu driver (Documentation/gpu/amdgpu of Linux).
 *
 * No library of AMD's is needed.  A GPU that sleeps is not woken up: its sensors would say what waking it costs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/number.h"
#include "monitor/gpus/amd_metrics.h"
#include "monitor/gpus/drm.h"
#include "monitor/gpus/drm_clients.h"
#include "monitor/files.h"
#include "monitor/source.h"

enum { VENDOR = 0x1002, TEXT_ROOM = 96, NUMBER_ROOM = 16, BLOCKS_MOST = 64, KFD_MOST = 256 };

static const char *const drivers[] = {"amdgpu", NULL};

/* What is known of one GPU. */
typedef struct {
    hu_drm_card   *card;
    char           number[NUMBER_ROOM], uuid[TEXT_ROOM], model[TEXT_ROOM], driver[TEXT_ROOM];
    int            edge, junction, memory, sclk, mclk; /* numbers of sensors; 0: not there */
    uint64_t       kfd;                                /* its number in KFD; 0: not known */
    bool           is_lost;
    hu_amd_metrics last; /* table of the last look, for what was counted since */
    int64_t        last_ns;
    double         throttled[HU_AMD_RESIDENCIES]; /* seconds since the first look */
    hu_board_gpu   row;
} gpu;

typedef struct {
    int             root;
    hu_gpu_board   *board;
    hu_drm_clients *clients;
    size_t          n, expected;
    hu_drm_card     cards[HU_DRM_CARDS_MOST];
    gpu             at[HU_DRM_CARDS_MOST];
    hu_board_gpu    rows[HU_DRM_CARDS_MOST];
} amd;

/* KFD numbers GPUs in its own way: a node says where on the PCI bus it is. */
static uint64_t kfd_number(int root, const char *bus)
{
    unsigned    domain, number, device, function;
    uint64_t    out = 0;
    hu_names    names;
    const char *name;

    if (sscanf(bus, "%x:%x:%x.%x", &domain, &number, &device, &function) != 4 ||
        !hu_names_open(&names, root, "sys/class/kfd/kfd/topology/nodes"))
        return 0;
    while (!out && (name = hu_names_next(&names)) != NULL) {
        char     path[320];
        uint64_t id, location = UINT64_MAX, its_domain = 0;
        hu_lines lines;
        hu_str   line;

        snprintf(path, sizeof path, "%s/gpu_id", name);
        if (!hu_files_number(names.fd, path, &id) || id == 0)
            continue; /* a processor */
        snprintf(path, sizeof path, "%s/properties", name);
        if (!hu_lines_open(&lines, names.fd, path))
            continue;
        while (hu_lines_next(&lines, &line)) {
            const hu_str key = hu_cut_word(&line);

            if (hu_str_equal(key, HU_STR("location_id")))
                hu_parse_u64(hu_cut_word(&line), &location);
            else if (hu_str_equal(key, HU_STR("domain")))
                hu_parse_u64(hu_cut_word(&line), &its_domain);
        }
        if (location == (number << 8 | device << 3 | function) && its_domain == domain)
            out = id;
    }
    hu_names_close(&names);
    return out;
}

/* As ROCm's programs write it ("GPU-" and 16 digits), so that ROCR_VISIBLE_DEVICES and a series name the same GPU. */
static void describe(const amd *a, gpu *g, size_t i)
{
    char         text[64];
    const hu_str id = hu_files_text(g->card->device, "unique_id", text, sizeof text);

    hu_format_u64(g->number, i);
    if (id.n)
        snprintf(g->uuid, sizeof g->uuid, "GPU-%.*s", HU_FMT(id));
    else
        snprintf(g->uuid, sizeof g->uuid, "%s", g->card->bus);
    hu_str_copy(g->model, sizeof g->model, hu_files_text(g->card->device, "product_name", text, sizeof text));
    if (!g->model[0])
        snprintf(g->model, sizeof g->model, "AMD GPU 0x%04x", g->card->id);
    snprintf(g->driver, sizeof g->driver, "amdgpu");
    const hu_str version = hu_files_text(a->root, "sys/module/amdgpu/version", text, sizeof text);

    if (version.n) /* only AMD's own build of the driver has one */
        snprintf(g->driver, sizeof g->driver, "amdgpu %.*s", HU_FMT(version));
    g->edge = hu_drm_sensor(g->card, "temp", "edge");
    g->junction = hu_drm_sensor(g->card, "temp", "junction");
    g->memory = hu_drm_sensor(g->card, "temp", "mem");
    g->sclk = hu_drm_sensor(g->card, "freq", "sclk");
    g->mclk = hu_drm_sensor(g->card, "freq", "mclk");
    g->kfd = kfd_number(a->root, g->card->bus);
    g->row = (hu_board_gpu){
        .index = (int32_t)i, .minor = g->card->number, .gi = -1, .ci = -1, .vendor = HU_VENDOR_AMD, .busy = -1};
    snprintf(g->row.uuid, sizeof g->row.uuid, "%s", g->uuid);
    snprintf(g->row.bus, sizeof g->row.bus, "%s", g->card->bus);
}

static void amd_close(void *state)
{
    amd *a = state;

    for (size_t i = 0; i < a->n; i++)
        hu_drm_card_close(&a->cards[i]);
    if (a->board)
        hu_gpu_board_write_vendor(a->board, HU_VENDOR_AMD, NULL, 0, hu_gpu_board_now());
    hu_drm_clients_free(a->clients);
    close(a->root);
    free(a);
}

static bool amd_open(const hu_source_options *options, void **state, hu_readings *out)
{
    const int root = hu_files_root(options->root);
    amd      *a = root >= 0 ? calloc(1, sizeof *a) : NULL;

    if (!a) {
        if (root >= 0)
            close(root);
        return false;
    }
    a->root = root;
    a->board = options->board;
    a->expected = hu_pci_gpus(root, VENDOR);
    a->n = hu_drm_cards(root, VENDOR, drivers, a->cards, HU_DRM_CARDS_MOST);
    a->clients = a->n ? hu_drm_clients_new(root, drivers) : NULL;
    for (size_t i = 0; i < a->n; i++)
        a->at[i].card = &a->cards[i];
    if (!a->clients) {
        if (a->expected) {
            hu_put(out, HU_METRIC_GPUS_EXPECTED, (double)a->expected, "amd");
            hu_put_problem(out, "amd", "there are AMD GPUs on the PCI bus, and no driver shows them",
                           "load the driver: modprobe amdgpu");
        }
        amd_close(a);
        return false;
    }
    for (size_t i = 0; i < a->n; i++)
        describe(a, &a->at[i], i);
    hu_drm_clients_find(a->clients);
    *state = a;
    return true;
}

static bool percent(const gpu *g, const char *name, double *out)
{
    uint64_t value;

    if (!hu_files_number(g->card->device, name, &value) || value > 100)
        return false;
    *out = (double)value / 100;
    return true;
}

/* Power as an average where the firmware makes one, else of the moment. */
static bool read_power(const gpu *g, double *microwatts)
{
    return hu_drm_sensor_read(g->card, "power", 1, "average", microwatts) ||
           hu_drm_sensor_read(g->card, "power", 1, "input", microwatts);
}

/* Levels are lines such as "1: 1200Mhz *": the one with the star for chips without a sensor, the last is the highest. */
static bool read_level(const gpu *g, const char *name, bool is_last, double *hertz)
{
    char   text[2048];
    hu_str rest = hu_files_text(g->card->device, name, text, sizeof text);
    bool   found = false;

    while (rest.n) {
        hu_str     line = hu_cut(&rest, '\n'), word;
        const bool is_wanted = is_last || hu_str_ends(line, HU_STR("*"));
        uint64_t   mhz;

        hu_cut_word(&line);
        word = hu_cut_word(&line);
        if (is_wanted && word.n > 3 && hu_str_has_lower(word, HU_STR("mhz")) &&
            hu_parse_u64((hu_str){word.p, word.n - 3}, &mhz)) {
            *hertz = (double)mhz * 1e6;
            found = true;
        }
    }
    return found;
}

/* A driver that has lost its GPU, and still shows its folder, answers nothing. */
static bool answers(const gpu *g)
{
    uint64_t number;
    char     text[32];

    if (hu_drm_card_gone(g->card))
        return false;
    return hu_files_number(g->card->device, "mem_info_vram_total", &number) ||
           hu_files_number(g->card->device, "gpu_busy_percent", &number) ||
           hu_files_text(g->card->device, "vbios_version", text, sizeof text).n > 0;
}

static void sample_fast(gpu *g, hu_readings *out)
{
    double value;

    g->row.busy = -1;
    g->is_lost = !answers(g);
    hu_put(out, HU_METRIC_GPU_UP, !g->is_lost, g->number, g->uuid);
    if (g->is_lost || hu_drm_card_sleeps(g->card))
        return;
    if (percent(g, "gpu_busy_percent", &value)) {
        hu_put(out, HU_METRIC_GPU_BUSY, value, g->number, g->uuid, "");
        g->row.busy = value;
    }
    if (percent(g, "mem_busy_percent", &value))
        hu_put(out, HU_METRIC_GPU_MEMORY_BUSY, value, g->number, g->uuid, "");
    if (read_power(g, &value))
        hu_put(out, HU_METRIC_GPU_POWER, value / 1e6, g->number, g->uuid);
    if (hu_drm_sensor_read(g->card, "freq", g->sclk, "input", &value) || read_level(g, "pp_dpm_sclk", false, &value))
        hu_put(out, HU_METRIC_GPU_SM_CLOCK, value, g->number, g->uuid);
    if (hu_drm_sensor_read(g->card, "freq", g->mclk, "input", &value) || read_level(g, "pp_dpm_mclk", false, &value))
        hu_put(out, HU_METRIC_GPU_MEMORY_CLOCK, value, g->number, g->uuid);
}

/* Transfers per second of a lane, by generation. */
static double generation(double transfers)
{
    static const double rates[] = {2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};

    for (size_t i = 0; i < HU_COUNT(rates); i++)
        if (transfers == rates[i])
            return (double)i + 1;
    return NAN;
}

/*
 * Of the ticks that passed between two tables, the share in which a limit held the clocks down: as amd-smi reckons it.
 * What NVIDIA's driver tells, too, has its words (base/gpu_counters.h); "software" is firmware here.
 */
static void put_residencies(gpu *g, const hu_amd_metrics *m, int64_t at_ns, hu_readings *out)
{
    static const char *const reasons[] = {"hardware thermal slowdown", "software power cap", "software thermal slowdown",
                                          "voltage regulator thermal slowdown", "memory thermal slowdown"};

    _Static_assert(HU_COUNT(reasons) == HU_AMD_RESIDENCIES, "a name for each");
    if (!m->has_residency)
        return;
    for (size_t i = 0; i < HU_AMD_RESIDENCIES; i++) {
        if (g->last.has_residency && m->ticks != g->last.ticks) {
            const double passed = (uint32_t)(m->ticks - g->last.ticks),
                         held = (uint32_t)(m->residency[i] - g->last.residency[i]);

            if (held <= passed) /* more is a table that was begun anew */
                g->throttled[i] += held / passed * (double)(at_ns - g->last_ns) / 1e9;
        }
        hu_put(out, HU_METRIC_GPU_THROTTLE, g->throttled[i], g->number, g->uuid, reasons[i]);
    }
}

static void put_table(gpu *g, hu_readings *out)
{
    static const char *const groups[] = {"software power cap", "current limit", "software thermal slowdown", "other limit"};
    char                     table[HU_AMD_METRICS_MOST];
    hu_amd_metrics           m;
    const int64_t            at_ns = hu_gpu_board_now();
    const size_t             n = hu_files_bytes(g->card->device, "gpu_metrics", table, sizeof table);

    if (!hu_amd_metrics_decode((const unsigned char *)table, n, &m))
        return;
    hu_put(out, HU_METRIC_GPU_ENERGY, m.joules, g->number, g->uuid);
    g->row.joules = m.joules > 0 ? m.joules : 0;
    hu_put(out, HU_METRIC_GPU_PCIE_WIDTH, m.pcie_lanes, g->number, g->uuid);
    hu_put(out, HU_METRIC_GPU_PCIE_GENERATION, generation(m.pcie_transfers), g->number, g->uuid);
    for (unsigned i = 0; m.has_throttled && i < HU_COUNT(groups); i++)
        hu_put(out, HU_METRIC_GPU_CLOCK_REASON, m.throttled >> i & 1, g->number, g->uuid, groups[i]);
    put_residencies(g, &m, at_ns, out);
    g->last = m;
    g->last_ns = at_ns;
}

/* The core's is at its edge; chips without that sensor have only the hottest place. */
static void sample_medium(gpu *g, hu_readings *out)
{
    uint64_t number;
    double   value;

    if (hu_files_number(g->card->device, "mem_info_vram_used", &number))
        hu_put(out, HU_METRIC_GPU_MEMORY_USED, (double)number, g->number, g->uuid, "");
    if (hu_files_number(g->card->device, "mem_info_vram_total", &number))
        hu_put(out, HU_METRIC_GPU_MEMORY_TOTAL, (double)number, g->number, g->uuid, "");
    if (hu_drm_sensor_read(g->card, "temp", g->edge, "input", &value))
        hu_put(out, HU_METRIC_GPU_TEMPERATURE, value / 1e3, g->number, g->uuid);
    if (hu_drm_sensor_read(g->card, "temp", g->junction, "input", &value))
        hu_put(out, HU_METRIC_GPU_HOTSPOT, value / 1e3, g->number, g->uuid);
    if (hu_drm_sensor_read(g->card, "temp", g->memory, "input", &value))
        hu_put(out, HU_METRIC_GPU_MEMORY_TEMPERATURE, value / 1e3, g->number, g->uuid);
    put_table(g, out);
}

/* A file of ras/ is "ue: 0" and "ce: 0": errors that were not corrected, and that were. */
static void put_errors(const gpu *g, hu_readings *out)
{
    static const char suffix[] = "_err_count";
    hu_names          names;
    const char       *name;
    int               blocks = 0;

    if (!hu_names_open(&names, g->card->device, "ras"))
        return;
    while (blocks < BLOCKS_MOST && (name = hu_names_next(&names)) != NULL) {
        const hu_str file = hu_str_of(name);
        char         text[256], block[64];
        hu_str       rest;

        if (!hu_str_ends(file, HU_STR(suffix)))
            continue;
        blocks++;
        hu_str_copy(block, sizeof block, (hu_str){name, file.n - (sizeof suffix - 1)});
        rest = hu_files_text(names.fd, name, text, sizeof text);
        while (rest.n) {
            hu_str       line = hu_cut(&rest, '\n');
            const hu_str key = hu_cut(&line, ':');
            uint64_t     count;

            if (!hu_parse_u64(hu_cut_word(&line), &count))
                continue;
            if (hu_str_equal(key, HU_STR("ue")))
                hu_put(out, HU_METRIC_GPU_BLOCK_ERRORS, (double)count, g->number, g->uuid, block, "uncorrected");
            else if (hu_str_equal(key, HU_STR("ce")))
                hu_put(out, HU_METRIC_GPU_BLOCK_ERRORS, (double)count, g->number, g->uuid, block, "corrected");
        }
    }
    hu_names_close(&names);
}

static void sample_slow(const gpu *g, hu_readings *out)
{
    char     minor[HU_NUMBER_BYTES];
    uint64_t count;
    double   value;

    hu_format_i64(minor, g->card->number);
    hu_put(out, HU_METRIC_GPU_INFO, 1, g->number, g->uuid, "", "", "", "amd", g->model, g->card->bus, minor, g->driver, "");
    if (g->is_lost || hu_drm_card_sleeps(g->card))
        return;
    if (hu_drm_sensor_read(g->card, "power", 1, "cap", &value) && value > 0)
        hu_put(out, HU_METRIC_GPU_POWER_LIMIT, value / 1e6, g->number, g->uuid);
    if (hu_drm_sensor_read(g->card, "power", 1, "cap_default", &value) && value > 0)
        hu_put(out, HU_METRIC_GPU_POWER_DEFAULT, value / 1e6, g->number, g->uuid);
    if (read_level(g, "pp_dpm_sclk", true, &value))
        hu_put(out, HU_METRIC_GPU_SM_CLOCK_MAX, value, g->number, g->uuid);
    if (read_level(g, "pp_dpm_mclk", true, &value))
        hu_put(out, HU_METRIC_GPU_MEMORY_CLOCK_MAX, value, g->number, g->uuid);
    if (hu_files_number(g->card->device, "pcie_replay_count", &count))
        hu_put(out, HU_METRIC_GPU_PCIE_REPLAYS, (double)count, g->number, g->uuid);
    put_errors(g, out);
}

/* Has the process queues on the GPU or memory of it?  KFD knows those that compute, which files of /dev/dri do not tell. */
static bool uses(int proc, const char *pid, uint64_t kfd)
{
    char        path[320];
    uint64_t    value;
    hu_names    queues;
    const char *name;
    bool        found = false;

    snprintf(path, sizeof path, "%s/vram_%llu", pid, (unsigned long long)kfd);
    if (hu_files_number(proc, path, &value) && value > 0)
        return true;
    snprintf(path, sizeof path, "%s/queues", pid);
    if (!hu_names_open(&queues, proc, path))
        return false;
    while (!found && (name = hu_names_next(&queues)) != NULL) {
        snprintf(path, sizeof path, "%s/gpuid", name);
        found = hu_files_number(queues.fd, path, &value) && value == kfd;
    }
    hu_names_close(&queues);
    return found;
}

/* False: KFD does not say.  It numbers processes as the node does, so in a container its numbers are of no use. */
static bool find_kfd_processes(amd *a)
{
    hu_names    names;
    const char *name;
    int         left = KFD_MOST;

    if (!hu_drm_clients_see_node(a->clients) || !hu_names_open(&names, a->root, "sys/class/kfd/kfd/proc"))
        return false;
    while (left-- > 0 && (name = hu_names_next(&names)) != NULL) {
        uint64_t pid;

        if (!hu_parse_u64(hu_str_of(name), &pid) || pid > UINT32_MAX)
            continue;
        for (size_t i = 0; i < a->n; i++)
            if (a->at[i].kfd && uses(names.fd, name, a->at[i].kfd))
                hu_board_add_pid(&a->at[i].row, (uint32_t)pid, -1);
    }
    hu_names_close(&names);
    return true;
}

static void find_processes(amd *a, hu_readings *out)
{
    hu_drm_clients_read(a->clients, hu_gpu_board_now());
    for (size_t i = 0; i < a->n; i++) {
        double vram;

        a->at[i].row.n_pids = 0;
        hu_drm_clients_sum(a->clients, a->at[i].card->bus, &a->at[i].row, &vram);
    }
    if (!find_kfd_processes(a) && !hu_drm_clients_complete(a->clients))
        return;
    for (size_t i = 0; i < a->n; i++)
        if (!a->at[i].is_lost)
            hu_put(out, HU_METRIC_GPU_PROCESSES, a->at[i].row.n_pids, a->at[i].number, a->at[i].uuid, "");
}

static void write_board(amd *a)
{
    uint32_t n = 0;

    if (!a->board)
        return;
    for (size_t i = 0; i < a->n; i++)
        if (!a->at[i].is_lost)
            a->rows[n++] = a->at[i].row;
    hu_gpu_board_write_vendor(a->board, HU_VENDOR_AMD, a->rows, n, hu_gpu_board_now());
}

static bool amd_sample(void *state, hu_sample_group group, hu_readings *out)
{
    amd *a = state;

    if (group == HU_SAMPLE_SLOW) {
        if (hu_drm_cards_changed(a->root, VENDOR, drivers, a->cards, a->n))
            return false;
        hu_put(out, HU_METRIC_GPUS_EXPECTED, (double)a->expected, "amd");
        hu_drm_clients_find(a->clients);
    }
    for (size_t i = 0; i < a->n; i++) {
        gpu *g = &a->at[i];

        if (group == HU_SAMPLE_FAST)
            sample_fast(g, out);
        else if (group == HU_SAMPLE_SLOW)
            sample_slow(g, out);
        else if (!g->is_lost && !hu_drm_card_sleeps(g->card))
            sample_medium(g, out);
    }
    if (group == HU_SAMPLE_MEDIUM)
        find_processes(a, out);
    if (group == HU_SAMPLE_FAST)
        write_board(a);
    return true;
}

const hu_source hu_source_amd = {"amd", HU_SAMPLER_GPU, amd_open, amd_sample, amd_close};
