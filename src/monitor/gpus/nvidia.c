/* SPDX-License-Identifier: Apache-2.0
 * nvidia.c - a source: NVIDIA's GPUs, through NVML, and the PCI bus, which has them even where no driver does.
 *
 * NVML is started only where a driver is loaded: on a bare machine, as root, it makes device nodes.  When the driver goes,
 * it is closed and opened again, later and later; so is a GPU that is lost, while the others go on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "monitor/gpus/nvidia.h"

/* In units of unit_ns(): the longest pause before a lost GPU or driver is asked again; when all is opened anew for a GPU. */
enum { MOST_BACKOFF = 60, REOPEN_UNITS = 600, SECOND_NS = 1000000000 };
enum {
    NO_LIBRARY = -1,
    TOO_OLD = -2,
    NO_PERMISSION = 4,
    DRIVER_NOT_LOADED = 9,
    OPERATING_SYSTEM = 17,
    VERSION_MISMATCH = 18
};

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* What pauses are counted in: fast periods, but no more than seconds. */
static int64_t unit_ns(const hu_nvidia *s)
{
    return s->options->period_ns < SECOND_NS ? s->options->period_ns : SECOND_NS;
}

/* The time after a pause that grows from one call to the next. */
static int64_t later(const hu_nvidia *s, int *backoff)
{
    const int units = *backoff ? *backoff : 1;

    *backoff = 2 * units < MOST_BACKOFF ? 2 * units : MOST_BACKOFF;
    return now_ns(CLOCK_MONOTONIC) + units * unit_ns(s);
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static void empty(hu_nv_gpu *g)
{
    hu_readings_free(&g->fast);
    hu_readings_free(&g->medium);
    hu_readings_free(&g->slow);
    *g = (hu_nv_gpu){0};
}

static void close_nvml(hu_nvidia *s)
{
    while (s->n_parts > 0)
        hu_nv_parts_drop(s, &s->gpu[s->part[s->n_parts - 1].gpu]);
    for (size_t i = 0; i < s->n; i++)
        if (s->nvml)
            hu_nvml_gpm_close(s->nvml, &s->gpu[i].gpm);
    hu_nvml_close(s->nvml);
    s->nvml = NULL;
}

/* Who a GPU was before the library was opened anew: one that is lost cannot say. */
typedef struct {
    char uuid[HU_NVML_TEXT], bus[HU_NV_BUS_TEXT], name[HU_NVML_TEXT];
    int  number, backoff;
} known;

static void recall(hu_nv_gpu *g, const known *k)
{
    memcpy(g->d.uuid, k->uuid, sizeof g->d.uuid);
    memcpy(g->d.name, k->name, sizeof g->d.name);
    memcpy(g->bus, k->bus, sizeof g->bus);
    g->backoff = k->backoff;
}

static void number_gpu(hu_nv_gpu *g, int number)
{
    g->number = number;
    snprintf(g->number_text, sizeof g->number_text, "%d", number);
}

static void lose(hu_nvidia *s, hu_nv_gpu *g, int code)
{
    g->is_up = g->is_silent = false;
    g->code = code;
    g->retry_ns = later(s, &g->backoff);
    hu_nv_parts_drop(s, g);
    if (s->nvml)
        hu_nvml_gpm_close(s->nvml, &g->gpm);
    g->has_medium = g->has_slow = false;
    g->users = (hu_nv_users){0};
    g->links = (hu_nvml_links){0};
    g->busy = -1;
    g->joules = 0;
}

/* One that cannot be described keeps the name that it had. */
static void find_gpu(hu_nvidia *s, hu_nv_gpu *g, int number)
{
    hu_nvml_device d;
    int            code;

    number_gpu(g, number);
    g->silences = 0;
    g->is_up = hu_nvml_describe(s->nvml, (unsigned)number, &d, &code);
    if (!g->is_up) {
        lose(s, g, code);
        return;
    }
    g->d = d;
    hu_nv_bus_address(g->d.bus, g->bus);
    if (!g->bus[0] && s->bus.n == (size_t)s->n_driver) /* the driver's order is that of the bus */
        snprintf(g->bus, sizeof g->bus, "%s", s->bus.at[number]);
    if (!g->d.uuid[0])
        snprintf(g->d.uuid, sizeof g->d.uuid, "%s", g->bus);
    if (g->heard != g->d.handle) /* told twice to tell, a driver might tell twice */
        hu_nvml_listen(s->nvml, &g->d);
    g->heard = g->d.handle;
}

static bool is_listed(const hu_nvidia *s, const char *uuid)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->gpu[i].d.uuid, uuid) == 0)
            return true;
    return false;
}

/* Those that the driver could not describe are, by their number, who they were before; at first, who is at their place. */
static void name_lost(hu_nvidia *s, const known *before, size_t n_before)
{
    for (size_t i = 0; i < s->n; i++) {
        hu_nv_gpu *g = &s->gpu[i];

        for (size_t k = 0; k < n_before && !g->d.uuid[0]; k++)
            if (before[k].number == g->number && !is_listed(s, before[k].uuid))
                recall(g, &before[k]);
        if (g->d.uuid[0])
            continue;
        if (s->bus.n == (size_t)s->n_driver)
            snprintf(g->bus, sizeof g->bus, "%s", s->bus.at[i]);
        snprintf(g->d.uuid, sizeof g->d.uuid, "%s", g->bus);
    }
}

/* GPUs of before that the driver lists no more, though they are on the bus: they stay, as lost ones. */
static void keep_missing(hu_nvidia *s, const known *before, size_t n_before)
{
    for (size_t k = 0; k < n_before && s->n < HU_GPU_MOST; k++) {
        hu_nv_gpu *g = &s->gpu[s->n];

        if (is_listed(s, before[k].uuid) || !hu_nv_bus_has(&s->bus, before[k].bus))
            continue;
        recall(g, &before[k]);
        number_gpu(g, before[k].number);
        g->d.minor = -1;
        g->busy = -1;
        g->is_missing = true;
        s->n++;
    }
}

static void list_gpus(hu_nvidia *s)
{
    known        before[HU_GPU_MOST];
    const size_t n_before = s->n;

    for (size_t i = 0; i < n_before; i++) {
        const hu_nv_gpu *g = &s->gpu[i];

        before[i] = (known){.number = g->number, .backoff = g->backoff};
        memcpy(before[i].uuid, g->d.uuid, sizeof before[i].uuid);
        memcpy(before[i].name, g->d.name, sizeof before[i].name);
        memcpy(before[i].bus, g->bus, sizeof before[i].bus);
        empty(&s->gpu[i]);
    }
    s->n = (size_t)s->n_driver;
    for (size_t i = 0; i < s->n; i++)
        find_gpu(s, &s->gpu[i], (int)i);
    name_lost(s, before, n_before);
    keep_missing(s, before, n_before);
}

static void try_nvml(hu_nvidia *s)
{
    int count;

    s->is_driver_gone = s->is_stale = false;
    hu_nv_bus_scan(&s->bus);
    s->code = DRIVER_NOT_LOADED;
    if (!s->options->library && !hu_nvml_has_driver(s->options->root))
        return;
    s->nvml = hu_nvml_open(s->options->library, &s->code);
    if (!s->nvml)
        return;
    count = hu_nvml_count(s->nvml, &s->code);
    if (count < 0) {
        close_nvml(s);
        return;
    }
    s->n_driver = count;
    hu_nvml_driver(s->nvml, s->driver);
    list_gpus(s);
    s->reopen_ns = now_ns(CLOCK_MONOTONIC) + REOPEN_UNITS * unit_ns(s);
}

static void open_nvml(hu_nvidia *s)
{
    try_nvml(s);
    if (!s->nvml)
        s->open_ns = later(s, &s->backoff);
}

/* The driver is gone, or (s->code is 0) each GPU for a reason of its own: then others may reset them meanwhile. */
static void close_driver(hu_nvidia *s)
{
    for (size_t i = 0; i < s->n; i++)
        lose(s, &s->gpu[i], s->code ? s->code : s->gpu[i].code);
    close_nvml(s);
    s->open_ns = later(s, &s->backoff);
}

/* ---- what the user should know ----------------------------------------------------------------------------------- */

static const char *fix_of(int code)
{
    switch (code) {
    case NO_LIBRARY:
        return "install the driver's libraries; in a container, ask for them: NVIDIA_DRIVER_CAPABILITIES=utility";
    case TOO_OLD:
        return "install a driver of branch 450 or later";
    case NO_PERMISSION:
    case OPERATING_SYSTEM:
        return "run as a user who may open /dev/nvidia*; in a container, pass the GPUs to it (--gpus all)";
    case DRIVER_NOT_LOADED:
        return "load the driver: modprobe nvidia; `dmesg | grep NVRM` says why it does not load";
    case VERSION_MISMATCH:
        return "the driver was upgraded while it was in use: reload its modules or reboot";
    default:
        return "see `dmesg | grep NVRM`; in a container that had GPUs, start the container again";
    }
}

static void put_no_driver(const hu_nvidia *s, hu_readings *out)
{
    char what[160];

    if (s->code != DRIVER_NOT_LOADED)
        snprintf(what, sizeof what, "the NVIDIA driver cannot be asked: %s", hu_nvml_words(s->code));
    else if (s->bus.n > 0)
        snprintf(what, sizeof what, "%zu NVIDIA GPU%s on the bus, no driver loaded", s->bus.n, s->bus.n == 1 ? "" : "s");
    else
        snprintf(what, sizeof what, "no NVIDIA driver is loaded, and no NVIDIA GPU is on the bus");
    hu_put_problem(out, "nvidia", what,
                   s->code == DRIVER_NOT_LOADED && s->bus.n == 0 ? "nothing, where there are no NVIDIA GPUs"
                                                                 : fix_of(s->code));
}

static void put_expected(const hu_nvidia *s, hu_readings *out)
{
    if (s->bus.n > 0)
        hu_put(out, HU_METRIC_GPUS_EXPECTED, (double)s->bus.n, "nvidia");
}

static void put_problems(const hu_nvidia *s, hu_readings *out)
{
    char what[200], fix[200];

    for (size_t i = 0; i < s->n; i++) {
        const hu_nv_gpu *g = &s->gpu[i];

        if (g->is_up && !g->is_silent)
            continue;
        snprintf(what, sizeof what, "GPU %s%s%s%s does not answer: %s", g->number_text, g->bus[0] ? " (" : "", g->bus,
                 g->bus[0] ? ")" : "", g->is_missing ? "the driver does not list it any more" : hu_nvml_words(g->code));
        if (g->code == NO_PERMISSION || g->code == OPERATING_SYSTEM)
            snprintf(fix, sizeof fix, "%s", fix_of(g->code));
        else
            snprintf(
                fix, sizeof fix,
                "look for its XIDs: dmesg | grep Xid; stop the monitor and reset the GPU: nvidia-smi -r -i %s; or reboot",
                g->number_text);
        hu_put_problem(out, "nvidia", what, fix);
    }
    if (s->bus.n > (size_t)s->n_driver) {
        snprintf(what, sizeof what, "the driver shows %d of %zu NVIDIA GPUs on the bus", s->n_driver, s->bus.n);
        hu_put_problem(out, "nvidia", what, "in a container that got only some of them, nothing; else look into dmesg");
    } else if (s->n_driver == 0) {
        hu_put_problem(out, "nvidia", "the NVIDIA driver shows no GPU", "in a container, pass the GPUs to it (--gpus all)");
    }
}

/* ---- what other samplers need ------------------------------------------------------------------------------------ */

static void put_users(hu_board_gpu *row, const hu_nv_users *u)
{
    row->n_pids = u->n;
    for (uint32_t i = 0; i < u->n; i++) {
        row->pid[i] = u->pid[i];
        row->pid_memory[i] = u->memory[i] == HU_NVML_NO_BYTES ? -1 : (double)u->memory[i];
        row->pid_busy[i] = u->has_uses ? 0 : -1;
        for (uint32_t k = 0; u->has_uses && k < u->n_uses; k++)
            if (u->use[k].pid == u->pid[i])
                row->pid_busy[i] = u->use[k].busy;
    }
}

static hu_board_gpu *new_row(hu_board_state *b, const hu_nv_gpu *g)
{
    hu_board_gpu *row = &b->gpu[b->n++];

    row->parent[0] = '\0';
    snprintf(row->bus, sizeof row->bus, "%s", g->bus);
    row->index = g->number;
    row->minor = g->d.minor;
    row->gi = row->ci = -1;
    row->vendor = HU_VENDOR_NVIDIA;
    row->is_divided = row->needs_units = false;
    row->busy = -1;
    row->joules = 0;
    row->n_pids = 0;
    return row;
}

static void write_board(hu_nvidia *s)
{
    hu_board_state *b = s->board;

    b->n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const hu_nv_gpu *g = &s->gpu[i];
        hu_board_gpu    *row = new_row(b, g);

        snprintf(row->uuid, sizeof row->uuid, "%s", g->d.uuid);
        row->is_divided = g->d.is_mig;
        if (!g->is_up || g->is_silent)
            continue;
        row->needs_units = g->gpm.is_denied;
        row->busy = g->busy;
        row->joules = g->joules;
        put_users(row, &g->users);
    }
    for (size_t i = 0; i < s->n_parts && b->n < HU_BOARD_GPUS; i++) {
        const hu_nv_part *p = &s->part[i];
        const hu_nv_gpu  *g = &s->gpu[p->gpu];
        hu_board_gpu     *row;

        if (!g->is_up || g->is_silent)
            continue;
        row = new_row(b, g);
        snprintf(row->uuid, sizeof row->uuid, "%s", p->d.uuid);
        snprintf(row->parent, sizeof row->parent, "%s", g->d.uuid);
        row->gi = (int32_t)p->gi;
        row->ci = (int32_t)p->ci;
        row->busy = p->busy;
        put_users(row, &p->users);
    }
    hu_gpu_board_write_vendor(s->options->board, HU_VENDOR_NVIDIA, b->gpu, b->n, hu_gpu_board_now());
}

/* ---- looks ------------------------------------------------------------------------------------------------------- */

/* A GPU that a look found to be lost is closed; where it is the driver, so are all. */
static void after(hu_nvidia *s, hu_nv_gpu *g, bool was_up)
{
    if (was_up && !g->is_up)
        lose(s, g, g->code);
}

static void look_fast(hu_nvidia *s, hu_nv_gpu *g, int64_t now)
{
    bool was_up;

    if (!g->is_up && !g->is_missing && now >= g->retry_ns)
        find_gpu(s, g, g->number);
    was_up = g->is_up;
    if (g->is_up)
        hu_nv_look_fast(s, g, now);
    if (g->is_up && !g->is_silent && !g->has_slow)
        hu_nv_look_slow(s, g);
    if (g->is_up && !g->is_silent && !g->has_medium)
        hu_nv_look_medium(s, g);
    after(s, g, was_up);
    if (g->is_up && !g->is_silent)
        g->backoff = 0;
}

static size_t count_lost(const hu_nvidia *s)
{
    size_t lost = 0;

    for (size_t i = 0; i < s->n; i++)
        lost += !s->gpu[i].is_up;
    return lost;
}

static bool is_nothing_here(const hu_nvidia *s)
{
    return !s->nvml && s->code == DRIVER_NOT_LOADED && s->bus.n == 0 && s->n == 0;
}

/* Opens what is closed and due, and closes what is gone. */
static void look_at_all(hu_nvidia *s)
{
    const int64_t now = now_ns(CLOCK_MONOTONIC);
    size_t        lost;

    if (s->nvml && s->is_stale)
        close_nvml(s);
    if (!s->nvml && (s->is_stale || now >= s->open_ns))
        open_nvml(s);
    hu_nv_xid_hear(s); /* before the looks: a GPU that is lost says why first */
    for (size_t i = 0; s->nvml && !s->is_driver_gone && i < s->n; i++)
        look_fast(s, &s->gpu[i], now);
    lost = count_lost(s);
    if (s->nvml && (s->is_driver_gone || (lost > 0 && lost == s->n)))
        close_driver(s);
    else if (lost < s->n)
        s->backoff = 0;
    if (s->nvml && (lost > 0 || s->n == 0) && now >= s->reopen_ns) /* for their sake, once in a while */
        s->is_stale = true;
}

static bool sample_fast(hu_nvidia *s, hu_readings *out)
{
    look_at_all(s);
    for (size_t i = 0; i < s->n; i++) {
        hu_nv_gpu *g = &s->gpu[i];
        const bool is_up = s->nvml && g->is_up && !g->is_silent;

        hu_put(out, HU_METRIC_GPU_UP, is_up, g->number_text, g->d.uuid);
        if (!is_up)
            continue;
        hu_readings_add(out, &g->slow);
        hu_readings_add(out, &g->medium);
        hu_readings_add(out, &g->fast);
    }
    put_expected(s, out);
    hu_nv_xid_put(s, out);
    if (s->nvml || s->code == 0)
        put_problems(s, out);
    else
        put_no_driver(s, out);
    write_board(s);
    return !is_nothing_here(s);
}

static bool nvidia_sample(void *state, hu_sample_group group, hu_readings *out)
{
    hu_nvidia *s = state;
    int        code;

    if (group == HU_SAMPLE_FAST)
        return sample_fast(s, out);
    if (group == HU_SAMPLE_SLOW)
        hu_nv_bus_scan(&s->bus);
    if (s->nvml && group == HU_SAMPLE_SLOW && hu_nvml_count(s->nvml, &code) != s->n_driver)
        s->is_stale = true; /* one more, or one less */
    for (size_t i = 0; s->nvml && !s->is_driver_gone && i < s->n; i++) {
        hu_nv_gpu *g = &s->gpu[i];
        const bool was_up = g->is_up;

        if (!g->is_up || g->is_silent)
            continue;
        if (group == HU_SAMPLE_SLOW)
            hu_nv_look_slow(s, g);
        else
            hu_nv_look_medium(s, g);
        after(s, g, was_up);
    }
    return true;
}

static void nvidia_close(void *state)
{
    hu_nvidia *s = state;

    close_nvml(s);
    hu_nv_log_close(s);
    if (s->n > 0)
        hu_gpu_board_write_vendor(s->options->board, HU_VENDOR_NVIDIA, NULL, 0, hu_gpu_board_now());
    for (size_t i = 0; i < s->n; i++)
        empty(&s->gpu[i]);
    free(s->buffer.rows);
    free(s->part);
    free(s->board);
    free(s);
}

static bool nvidia_open(const hu_source_options *options, void **state, hu_readings *out)
{
    hu_nvidia *s = calloc(1, sizeof *s);

    if (!s)
        return false;
    s->options = options;
    s->log = -1;
    s->part = calloc(HU_NV_PARTS_MOST, sizeof *s->part);
    s->board = calloc(1, sizeof *s->board);
    snprintf(s->bus.root, sizeof s->bus.root, "%s", options->root);
    if (!s->part || !s->board) {
        nvidia_close(s);
        return false;
    }
    open_nvml(s);
    if (is_nothing_here(s)) {
        put_no_driver(s, out);
        nvidia_close(s);
        return false;
    }
    hu_nv_log_open(s);
    *state = s;
    return true;
}

const hu_source hu_source_nvidia = {"nvidia", HU_SAMPLER_GPU, nvidia_open, nvidia_sample, nvidia_close};
