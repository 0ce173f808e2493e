/* SPDX-License-Identifier: Apache-2.0
 * check_gpu.c - is each GPU there, well, and as fast as it was sold?  NVIDIA's, as their driver says.
 *
 * Counters are since the driver was loaded: what a limit means was fixed with that in mind.  A clock below its maximum is no
 * finding where nothing runs: only reasons that heat or power give are.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/facts.h"
#include "doctor/gpu_facts.h"
#include "doctor/pci.h"
#include "gpu/nvml.h"
#include "gpu/nvml_setup.h"
#include "gpu/xid.h"

enum { MISMATCH = 18 }; /* of library and driver: driver-libraries says so */
enum { MARGIN_CELSIUS = 5, DAY_S = 86400, GPUS_OF_LOG = 64, RECENT_DAYS = 1 };
static const double HELD_SHARE = 0.05, HELD_NOTED = 0.001;

static bool has(int64_t fact)
{
    return fact != HU_GPU_NO_FACT;
}

/* "GPU 3" */
static const char *subject(hu_doctor *d, size_t gpu)
{
    return hu_doctor_format(d, "GPU %zu", gpu);
}

/* What most checks end with: nothing was wrong with those that could be asked. */
static void say_rest(hu_doctor *d, const hu_check *check, size_t n_said, size_t n_known, const char *well)
{
    if (n_said)
        return;
    if (n_known)
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "%s (%zu GPU%s)", well, n_known, n_known == 1 ? "" : "s");
    else
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "these GPUs or their driver do not say");
}

/* Each GPU that can be asked. */
#define EACH(f, i, g)                                          \
    for (size_t i = 0; i < (f)->n; i++)                        \
        for (const hu_gpu_fact *g = &(f)->gpu[i]; g; g = NULL) \
            if (g->is_there && g->error <= 0)

/* -- are they all there? -------------------------------------------------------------------------------------------- */

static const hu_gpu_fact *by_bus(const hu_gpu_facts *f, const char *address)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->gpu[i].is_there && strcmp(f->gpu[i].bus, address) == 0)
            return &f->gpu[i];
    return NULL;
}

/* One that the driver has and NVML does not show: its device file is kept from this process, or it is lost. */
static bool is_kept_from_us(hu_doctor *d, const char *address)
{
    const char *text, *minor, *fact;

    hu_doctor_read(d, hu_doctor_format(d, "/proc/driver/nvidia/gpus/%s/information", address), &text);
    minor = strstr(text, "Device Minor:");
    if (!minor)
        return hu_doctor_variable(d, "NVIDIA_VISIBLE_DEVICES") || hu_doctor_exists(d, "/.dockerenv") ||
               hu_doctor_exists(d, "/run/.containerenv") || hu_doctor_variable(d, "KUBERNETES_SERVICE_HOST");
    minor += sizeof "Device Minor:" - 1;
    fact = hu_fact(d, hu_doctor_format(d, "device:/dev/nvidia%d", (int)strtol(minor, NULL, 10)));
    return fact && (strcmp(fact, "absent") == 0 || !strstr(fact, " rw"));
}

/* What should be the same on nodes of the same kind. */
static void tell_values(hu_doctor *d, size_t i, const hu_gpu_fact *g)
{
    hu_doctor_value(d, hu_doctor_format(d, "gpu.%zu.name", i), g->name);
    if (g->clock_most > 0)
        hu_doctor_value(d, hu_doctor_format(d, "gpu.%zu.max_mhz", i), hu_doctor_format(d, "%" PRId64, g->clock_most));
}

/* Then a control group may hide GPUs.  SLURM's prolog has its job's number, and sees them all. */
static bool is_in_job(hu_doctor *d)
{
    const char *group;

    hu_doctor_read(d, "/proc/self/cgroup", &group);
    return hu_doctor_variable(d, "SLURM_PROCID") || strstr(group, "/job_") || strstr(group, "kubepods") ||
           strstr(group, "docker");
}

static void look_at_count(hu_doctor *d, const hu_check *check)
{
    const hu_gpu_facts *f = hu_gpu_facts_of(d);
    size_t              n, n_bus = 0, n_ok = 0, n_kept = 0, n_error = 0, n_missing = 0;
    const hu_bus_gpu   *gpus = hu_bus_gpus(d, &n);
    const bool          is_limited = is_in_job(d);

    if (f->is_known && f->code > 0 && f->code != MISMATCH && hu_doctor_exists(d, "/proc/driver/nvidia/version")) {
        hu_doctor_say(
            d, check, HU_VERDICT_FAILURE, NULL,
            "in a container, start it anew: its control group lost the devices, as after systemctl daemon-reload; on a "
            "node, dmesg | grep NVRM says why",
            "the driver is loaded, and NVML does not start: %s", hu_nvml_words(f->code));
        return;
    }
    if (!f->is_known || f->code != 0) {
        hu_gpu_facts_or_say(d, check);
        return;
    }
    for (size_t i = 0; i < f->n; i++) {
        const hu_gpu_fact *g = &f->gpu[i];

        if (g->is_there && g->error > 0) {
            n_error++;
            hu_doctor_say(d, check, HU_VERDICT_FAILURE, subject(d, i), NULL, "NVML cannot ask it: %s",
                          hu_nvml_words((int)g->error));
        } else if (g->is_there) {
            n_ok++;
            tell_values(d, i, g);
        }
    }
    for (size_t i = 0; i < n; i++) {
        const hu_bus_gpu *g = &gpus[i];

        if (g->vendor != HU_PCI_NVIDIA || g->is_given_away || strcmp(g->driver, "nvidia") != 0)
            continue;
        n_bus++;
        if (by_bus(f, g->address) || n_error)
            continue;
        if (is_limited || is_kept_from_us(d, g->address)) {
            n_kept++;
            continue;
        }
        n_missing++;
        hu_doctor_say(d, check, HU_VERDICT_FAILURE, g->address, NULL, "NVML does not show %s, which has NVIDIA's driver",
                      g->folder);
    }
    hu_doctor_value(d, "gpus", hu_doctor_format(d, "%zu", n_ok));
    if (n_error + n_missing)
        return;
    if (n_ok)
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "%zu GPU%s: %s%s", n_ok, n_ok == 1 ? "" : "s", f->gpu[0].name,
                      n_kept ? hu_doctor_format(d, " (%zu on the bus; the others are not given to this process)", n_bus)
                             : "");
    else
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "no GPU is given to this process; %zu on the PCI bus", n_kept);
}

/* -- are they well? ------------------------------------------------------------------------------------------------- */

static void look_at_recovery(hu_doctor *d, const hu_check *check)
{
    static const char *const actions[] = {"none", "reset the GPU", "reboot the node",
                                          "drain: end the jobs on it and on GPUs that it peers with",
                                          "drain, then reset the GPU"};
    const hu_gpu_facts      *f = hu_gpu_facts_or_say(d, check);
    size_t                   n_said = 0, n_known = 0;

    if (!f)
        return;
    EACH(f, i, g)
    {
        n_known += has(g->recovery);
        if (g->recovery <= 0)
            continue;
        n_said++;
        hu_doctor_say(d, check, HU_VERDICT_FAILURE, subject(d, i),
                      (size_t)g->recovery < HU_COUNT(actions) ? actions[g->recovery] : NULL,
                      "the driver asks for recovery action %d", (int)g->recovery);
    }
    say_rest(d, check, n_said, n_known, "the driver asks for no recovery");
}

static void look_at_ecc(hu_doctor *d, const hu_check *check)
{
    const hu_gpu_facts *f = hu_gpu_facts_or_say(d, check);
    size_t              n_said = 0, n_known = 0;

    if (!f)
        return;
    EACH(f, i, g)
    {
        n_known += has(g->ecc);
        if (has(g->ecc))
            hu_doctor_value(d, hu_doctor_format(d, "gpu.%zu.ecc", i), g->ecc ? "on" : "off");
        if (g->ecc == 1 && g->uncorrected > 0)
            hu_doctor_say(d, check, g->recovery == 0 ? HU_VERDICT_WARNING : HU_VERDICT_FAILURE, subject(d, i), NULL,
                          "%" PRId64 " uncorrectable ECC errors since the driver was loaded%s", g->uncorrected,
                          g->recovery == 0 ? "; it asks for no recovery" : "");
        else if (g->ecc == 0)
            hu_doctor_say(d, check, HU_VERDICT_NOTE, subject(d, i),
                          g->ecc_next == 1 ? "reset the GPU or reboot: ECC is on then"
                                           : "nvidia-smi -e 1 and a reset, if that is wanted",
                          "ECC is off: errors in memory change results and nobody knows");
        else
            continue;
        n_said++;
    }
    say_rest(d, check, n_said, n_known, "ECC is on, no uncorrectable error since the driver was loaded");
}

static void look_at_rows(hu_doctor *d, const hu_check *check)
{
    const hu_gpu_facts *f = hu_gpu_facts_or_say(d, check);
    size_t              n_said = 0, n_known = 0;

    if (!f)
        return;
    EACH(f, i, g)
    {
        n_known += has(g->rows_failed) || has(g->pages_pending);
        if (g->rows_failed > 0)
            hu_doctor_say(d, check, HU_VERDICT_FAILURE, subject(d, i),
                          "have the GPU replaced: it has no spare row left for one",
                          "a row of its memory could not be replaced (nvidia-smi -q -d ROW_REMAPPER)");
        else if (g->rows_pending > 0 || g->pages_pending > 0)
            hu_doctor_say(d, check, HU_VERDICT_WARNING, subject(d, i), NULL, "a %s of its memory waits to be replaced",
                          g->rows_pending > 0 ? "row" : "page");
        else
            continue;
        n_said++;
    }
    say_rest(d, check, n_said, n_known, "no row or page of memory waits to be replaced");
}

/* -- errors of the kernel's log ------------------------------------------------------------------------------------- */

typedef struct {
    char          bus[HU_XID_BUS];
    unsigned long code;
    size_t        count;
    double        last_s; /* since the kernel started */
} seen_xid;

/* Records of /dev/kmsg: "6,1234,5678901,-;text"; the third number is microseconds since the kernel started. */
static size_t find_xids(const char *log, seen_xid out[GPUS_OF_LOG])
{
    size_t n = 0;

    for (const char *line = log; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const size_t  length = strcspn(line, "\n");
        const char   *text = memchr(line, ';', length), *comma = line;
        char          bus[HU_XID_BUS];
        unsigned long code;
        size_t        i = 0;

        if (!text || !hu_xid_of_text(text + 1, bus, &code))
            continue;
        for (int k = 0; k < 2 && comma; k++)
            comma = memchr(comma + 1, ',', (size_t)(text - comma) - 1);
        while (i < n && (out[i].code != code || strcmp(out[i].bus, bus) != 0))
            i++;
        if (i == GPUS_OF_LOG)
            continue;
        if (i == n) {
            out[n] = (seen_xid){.code = code};
            memcpy(out[n++].bus, bus, sizeof bus);
        }
        out[i].count++;
        out[i].last_s = comma ? (double)strtoll(comma + 1, NULL, 10) * 1e-6 : 0;
    }
    return n;
}

/* Of one that needs somebody to act: a GPU that the driver shows and asks nothing for has been seen to since. */
static hu_verdict_of_check verdict_of(const hu_gpu_facts *f, const seen_xid *x, const hu_xid *known, double ago_s)
{
    const bool is_recent = ago_s < DAY_S * RECENT_DAYS;

    if (!known || known->severity < HU_XID_WARNING)
        return HU_VERDICT_NOTE;
    if (known->severity == HU_XID_WARNING)
        return is_recent ? HU_VERDICT_WARNING : HU_VERDICT_NOTE;
    for (size_t i = 0; f->is_known && f->code == 0 && i < f->n; i++) {
        const hu_gpu_fact *g = &f->gpu[i];

        if (g->is_there && g->error <= 0 && strncmp(g->bus, x->bus, strlen(x->bus)) == 0 && g->recovery == 0)
            return is_recent ? HU_VERDICT_WARNING : HU_VERDICT_NOTE;
    }
    return is_recent ? HU_VERDICT_FAILURE : HU_VERDICT_WARNING;
}

/* "3.5 h" */
static const char *ago(hu_doctor *d, double s)
{
    return s < 120         ? hu_doctor_format(d, "%.0f s", s)
           : s < 7200      ? hu_doctor_format(d, "%.0f min", s / 60)
           : s < 2 * DAY_S ? hu_doctor_format(d, "%.1f h", s / 3600)
                           : hu_doctor_format(d, "%.0f days", s / DAY_S);
}

static void look_at_xids(hu_doctor *d, const hu_check *check)
{
    const hu_gpu_facts *f = hu_gpu_facts_of(d);
    const char         *log, *up;
    seen_xid            seen[GPUS_OF_LOG];
    size_t              n;
    hu_look             how;

    if (!f->is_known && hu_bus_count(d, HU_PCI_NVIDIA) == 0) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "no NVIDIA driver");
        return;
    }
    how = hu_doctor_read(d, "/dev/kmsg", &log);
    if (how != HU_LOOK_OK) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "%s /dev/kmsg",
                      how == HU_LOOK_DENIED ? "needs root or CAP_SYSLOG:" : "cannot read");
        return;
    }
    n = find_xids(log, seen);
    hu_doctor_read(d, "/proc/uptime", &up);
    for (size_t i = 0; i < n; i++) {
        const seen_xid *x = &seen[i];
        const hu_xid   *known = hu_xid_find(x->code);
        const double    now_s = (double)strtoll(up, NULL, 10), ago_s = now_s > x->last_s ? now_s - x->last_s : 0;

        hu_doctor_say(d, check, verdict_of(f, x, known, ago_s), hu_doctor_format(d, "GPU at %s", x->bus),
                      known ? known->action : NULL, "XID %lu%s%s, %zu time%s since boot, last %s ago (/dev/kmsg)", x->code,
                      known ? ": " : "", known ? known->name : "", x->count, x->count == 1 ? "" : "s", ago(d, ago_s));
    }
    if (n == 0)
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "no XID in /dev/kmsg");
}

/* -- are they as fast as they were sold? ---------------------------------------------------------------------------- */

static void look_at_throttle(hu_doctor *d, const hu_check *check)
{
    static const struct {
        uint64_t    bit;
        const char *words;
    } heat_or_power[] = {{0x8, "hardware slowdown"},
                         {0x20, "software thermal slowdown"},
                         {0x40, "hardware thermal slowdown"},
                         {0x80, "power brake"}};
    const hu_gpu_facts *f = hu_gpu_facts_or_say(d, check);
    const char         *up;
    size_t              n_said = 0, n_known = 0;
    double              up_ns;

    if (!f)
        return;
    hu_doctor_read(d, "/proc/uptime", &up);
    up_ns = (double)strtoll(up, NULL, 10) * 1e9;
    EACH(f, i, g)
    {
        const struct {
            int64_t     ns;
            const char *by;
        } held[] = {{g->limited_hardware, "heat (hardware)"},
                    {g->limited_software, "heat (software)"},
                    {g->limited_thermal, "heat"},
                    {g->limited_brake, "the power brake of the board"}};
        bool is_said = false;

        n_known += has(g->reasons);
        for (size_t k = 0; has(g->reasons) && k < HU_COUNT(heat_or_power); k++)
            if (heat_or_power[k].bit & (uint64_t)g->reasons) {
                is_said = true;
                hu_doctor_say(d, check, HU_VERDICT_WARNING, subject(d, i), NULL, "its clock is held back now: %s",
                              heat_or_power[k].words);
            }
        for (size_t k = 0; k < HU_COUNT(held) && up_ns > 0 && !is_said; k++)
            if (has(held[k].ns) && (double)held[k].ns > HELD_NOTED * up_ns) {
                const double share = (double)held[k].ns / up_ns;

                is_said = true;
                hu_doctor_say(d, check, share > HELD_SHARE ? HU_VERDICT_WARNING : HU_VERDICT_NOTE, subject(d, i), NULL,
                              "%s held its clock back for %s since the driver was loaded, %.1f %% of the node's uptime",
                              held[k].by, ago(d, (double)held[k].ns * 1e-9), 100 * share);
            }
        n_said += is_said;
    }
    say_rest(d, check, n_said, n_known, "neither heat nor the power supply holds a clock back");
}

static void look_at_temperature(hu_doctor *d, const hu_check *check)
{
    const hu_gpu_facts *f = hu_gpu_facts_or_say(d, check);
    size_t              n_said = 0, n_known = 0;

    if (!f)
        return;
    EACH(f, i, g)
    {
        n_known += has(g->margin);
        if (!has(g->margin) || g->margin >= MARGIN_CELSIUS)
            continue;
        n_said++;
        hu_doctor_say(d, check, HU_VERDICT_WARNING, subject(d, i), NULL,
                      "%d C below the temperature at which it slows down%s", (int)g->margin,
                      has(g->celsius) ? hu_doctor_format(d, ", at %d C", (int)g->celsius) : "");
    }
    say_rest(d, check, n_said, n_known, "at least 5 C below the temperature at which they slow down");
}

static void look_at_power(hu_doctor *d, const hu_check *check)
{
    const hu_gpu_facts *f = hu_gpu_facts_or_say(d, check);
    size_t              n_said = 0, n_known = 0;

    if (!f)
        return;
    EACH(f, i, g)
    {
        if (g->power_limit <= 0 || g->power_default <= 0)
            continue;
        n_known++;
        hu_doctor_value(d, hu_doctor_format(d, "gpu.%zu.power_limit_w", i),
                        hu_doctor_format(d, "%.0f", (double)g->power_limit * 1e-3));
        if (g->power_limit >= g->power_default)
            continue;
        n_said++;
        hu_doctor_say(d, check, HU_VERDICT_WARNING, subject(d, i),
                      hu_doctor_format(d, "nothing if it was set on purpose; else nvidia-smi -i %zu -pl %.0f as root", i,
                                       (double)g->power_default * 1e-3),
                      "its power limit is %.0f W, by default %.0f W", (double)g->power_limit * 1e-3,
                      (double)g->power_default * 1e-3);
    }
    say_rest(d, check, n_said, n_known, "power limits are not below the default");
}

static void look_at_clocks(hu_doctor *d, const hu_check *check)
{
    const hu_gpu_facts *f = hu_gpu_facts_or_say(d, check);
    size_t              n_said = 0, n_known = 0;

    if (!f)
        return;
    EACH(f, i, g)
    {
        n_known += g->chosen_clock > 0 && g->default_clock > 0;
        if (g->chosen_clock <= 0 || g->chosen_clock >= g->default_clock)
            continue;
        n_said++;
        hu_doctor_say(d, check, HU_VERDICT_WARNING, subject(d, i), NULL,
                      "its application clock is %d MHz, by default %d MHz", (int)g->chosen_clock, (int)g->default_clock);
    }
    say_rest(d, check, n_said, n_known, "application clocks are not below the default");
}

static void look_at_persistence(hu_doctor *d, const hu_check *check)
{
    const hu_gpu_facts *f = hu_gpu_facts_or_say(d, check);
    size_t              n_off = 0, n_known = 0;

    if (!f)
        return;
    EACH(f, i, g)
    {
        n_known += has(g->persistence);
        n_off += g->persistence == 0;
    }
    if (n_off)
        hu_doctor_say(d, check, HU_VERDICT_WARNING, NULL, NULL, "persistence mode is off on %zu of %zu GPUs%s", n_off,
                      n_known,
                      hu_doctor_exists(d, "/run/nvidia-persistenced/socket") ? ", though nvidia-persistenced runs" : "");
    else
        say_rest(d, check, 0, n_known, "persistence mode is on");
}

static void look_at_bar(hu_doctor *d, const hu_check *check)
{
    const hu_gpu_facts *f = hu_gpu_facts_or_say(d, check);
    size_t              n_said = 0, n_known = 0;

    if (!f)
        return;
    EACH(f, i, g)
    {
        n_known += g->bar > 0 && g->memory > 0;
        if (g->bar <= 0 || g->memory <= 0 || g->bar >= g->memory / 2 || g->mig == 1)
            continue;
        n_said++;
        hu_doctor_say(d, check, HU_VERDICT_NOTE, subject(d, i), NULL,
                      "the host can map %.0f MiB of its %.0f MiB of memory at once (BAR1)", (double)g->bar / 1048576,
                      (double)g->memory / 1048576);
    }
    say_rest(d, check, n_said, n_known, "the host can map all of their memory (BAR1)");
}

/* -- who may use them, and who does --------------------------------------------------------------------------------- */

static void look_at_mode(hu_doctor *d, const hu_check *check)
{
    const hu_gpu_facts *f = hu_gpu_facts_or_say(d, check);
    const char         *pipe_folder;
    size_t              n_said = 0, n_known = 0;
    bool                has_mps;

    if (!f)
        return;
    pipe_folder = hu_doctor_variable(d, "CUDA_MPS_PIPE_DIRECTORY");
    has_mps = hu_doctor_exists(d, hu_doctor_format(d, "%s/control", pipe_folder ? pipe_folder : "/tmp/nvidia-mps"));
    EACH(f, i, g)
    {
        n_known += has(g->compute_mode) || has(g->mig);
        if (g->compute_mode == HU_COMPUTE_PROHIBITED)
            hu_doctor_say(d, check, HU_VERDICT_FAILURE, subject(d, i),
                          hu_doctor_format(d, "nvidia-smi -i %zu -c 0 as root", i),
                          "its compute mode is PROHIBITED: no CUDA program can use it");
        else if (g->mig == 1 && g->parts == 0)
            hu_doctor_say(d, check, HU_VERDICT_FAILURE, subject(d, i),
                          "make instances (nvidia-smi mig -cgi ... -C), or switch MIG off (nvidia-smi -mig 0)",
                          "MIG is on, and it has no instance that this process may use: CUDA has no device");
        else if (g->mig == 1)
            hu_doctor_say(d, check, HU_VERDICT_NOTE, subject(d, i), "nothing, if parts of a GPU are wanted",
                          "MIG is on: %d instance%s", (int)g->parts, g->parts == 1 ? "" : "s");
        else if (g->compute_mode == HU_COMPUTE_EXCLUSIVE && !has_mps)
            hu_doctor_say(d, check, HU_VERDICT_NOTE, subject(d, i), "nothing, if one process for each GPU is wanted",
                          "its compute mode is EXCLUSIVE_PROCESS: a second process gets an error");
        else
            continue;
        n_said++;
    }
    if (has_mps) {
        n_said++;
        hu_doctor_say(d, check, HU_VERDICT_NOTE, NULL, "nothing, if programs are to share GPUs",
                      "MPS is there (%s/control): programs share a GPU and its faults",
                      pipe_folder ? pipe_folder : "/tmp/nvidia-mps");
    }
    say_rest(d, check, n_said, n_known, "any number of processes may use each of them");
}

static void look_at_processes(hu_doctor *d, const hu_check *check)
{
    const hu_gpu_facts *f = hu_gpu_facts_or_say(d, check);
    size_t              n_said = 0, n_known = 0;

    if (!f)
        return;
    EACH(f, i, g)
    {
        const char *names = "";

        n_known++;
        for (int k = 0; k < g->n_pids && k < 4; k++) {
            const char *name;

            hu_doctor_read(d, hu_doctor_format(d, "/proc/%" PRId64 "/comm", g->pid[k]), &name);
            names = hu_doctor_format(d, "%s%s%" PRId64 "%s%s%s", names, k ? ", " : "", g->pid[k], *name ? " (" : "", name,
                                     *name ? ")" : "");
        }
        if (g->n_pids == 0)
            continue;
        n_said++;
        hu_doctor_say(d, check, HU_VERDICT_NOTE, subject(d, i), NULL, "%d process%s: %s%s", g->n_pids,
                      g->n_pids == 1 ? "" : "es", names, g->n_pids > 4 ? ", ..." : "");
    }
    say_rest(d, check, n_said, n_known, "no process uses them");
}

static void look_at_profilers(hu_doctor *d, const hu_check *check)
{
    static const struct {
        const char *comm, *words;
    } holders[] = {{"nv-hostengine", "DCGM: it holds the counters while somebody watches profiling metrics"},
                   {"dcgm-exporter", "DCGM: it holds the counters while it exports profiling metrics"},
                   {"nsys", "Nsight Systems"},
                   {"ncu", "Nsight Compute"}};
    const char *const *names;
    size_t             n, n_said = 0;

    if (!hu_gpu_facts_or_say(d, check))
        return;
    if (hu_doctor_list(d, "/proc", &names, &n) != HU_LOOK_OK) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "cannot read /proc");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const char *comm;

        if (names[i][0] < '0' || names[i][0] > '9' ||
            hu_doctor_read(d, hu_doctor_format(d, "/proc/%s/comm", names[i]), &comm) != HU_LOOK_OK)
            continue;
        for (size_t k = 0; k < HU_COUNT(holders); k++)
            if (strcmp(comm, holders[k].comm) == 0) {
                n_said++;
                hu_doctor_say(d, check, HU_VERDICT_NOTE, NULL,
                              k < 2 ? "dcgmi profile --pause while another profiler runs" : NULL, "process %s is %s (%s)",
                              names[i], comm, holders[k].words);
            }
    }
    if (n_said == 0)
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "no process that is known to hold the GPUs' counters");
}

#define GPU_CHECK(id_, title_, when_, look_, why_, fix_)                                                               \
    {                                                                                                                  \
        .id = id_, .title = title_, .when = when_, .why = why_, .fix = fix_, .look = look_, .limit_ms = HU_GPU_LOOK_MS \
    }

const hu_check hu_checks_gpu[] = {
    GPU_CHECK("gpu-count", "GPUs that the driver shows", HU_CHECK_OF_NODE | HU_CHECK_IN_PROLOG, look_at_count,
              "A GPU that fell off the bus or that the driver cannot start is missing from the job, or the job hangs on it.",
              "look for its XID in dmesg; restart the node from power off; look at seat and power of the board"),
    GPU_CHECK("gpu-recovery", "Recovery that the driver asks for", HU_CHECK_OF_NODE | HU_CHECK_IN_PROLOG, look_at_recovery,
              "The driver knows that the GPU will not work, or not rightly, before that is done.",
              "drain the node, and do as nvidia-smi -q says under \"GPU Recovery Action\""),
    GPU_CHECK("gpu-xid", "Errors since the node started (XID)", HU_CHECK_OF_NODE, look_at_xids,
              "The driver told of an error; some of them mean that the GPU is of no use until somebody acts.",
              "see NVIDIA's catalog of XID errors; docs/xid.md has those that are known"),
    GPU_CHECK("gpu-ecc", "ECC", HU_CHECK_OF_NODE | HU_CHECK_IN_PROLOG, look_at_ecc,
              "After an uncorrectable error, results of jobs since then are in doubt.",
              "drain the GPU and reset it (nvidia-smi -r); have it tested if errors come again"),
    GPU_CHECK("gpu-rows", "Rows and pages of memory to be replaced", HU_CHECK_OF_NODE | HU_CHECK_IN_PROLOG, look_at_rows,
              "The bad row stays in use until the GPU is reset, and may fail again under a job.",
              "reset the GPU once its jobs have ended (nvidia-smi -r), or reboot"),
    GPU_CHECK("gpu-throttle", "Clocks held back by heat or power", HU_CHECK_OF_NODE, look_at_throttle,
              "One slow GPU slows all ranks of a job that wait for it.",
              "check fans, air flow, liquid cooling and power supplies of this node"),
    GPU_CHECK("gpu-temperature", "Temperature", HU_CHECK_OF_NODE, look_at_temperature,
              "It slows down with the next few degrees.", "check fans, air flow and liquid cooling of this node"),
    GPU_CHECK("gpu-power-limit", "Power limit", HU_CHECK_OF_NODE, look_at_power,
              "A lower limit lowers the clock under load, and all ranks wait for the slowest.", "nvidia-smi -pl as root"),
    GPU_CHECK("gpu-clocks", "Application clocks", HU_CHECK_OF_NODE, look_at_clocks,
              "Somebody set the clock lower than it could be.", "nvidia-smi -rac and -rgc as root give the default back"),
    GPU_CHECK(
        "gpu-persistence", "Persistence mode", HU_CHECK_OF_NODE, look_at_persistence,
        "Without it the driver lets go of a GPU that nobody uses: each job starts it anew, which takes seconds, and its "
        "settings and counters are lost.",
        "systemctl enable --now nvidia-persistenced, or nvidia-smi -pm 1 as root"),
    GPU_CHECK("gpu-bar", "GPU memory that the host can map", HU_CHECK_OF_NODE, look_at_bar,
              "Peers and network cards reach GPU memory through this window.",
              "switch \"Above 4G decoding\" and \"Resizable BAR\" on in the BIOS, where the GPU has it"),
    GPU_CHECK("gpu-mode", "Compute mode, MIG, MPS", HU_CHECK_OF_NODE, look_at_mode,
              "They decide how many processes can use a GPU, and how much of it.", "see nvidia-smi -q -d COMPUTE"),
    GPU_CHECK("gpu-processes", "Processes on the GPUs", HU_CHECK_OF_NODE, look_at_processes,
              "What shares a GPU with a job takes its memory and time; a process that a dead job left does, too.",
              "nothing if they belong to a job that should run; else end them"),
    GPU_CHECK("gpu-profilers", "Holders of the GPUs' counters", HU_CHECK_OF_NODE, look_at_profilers,
              "One process at a time can have them: another profiler gets an error or no numbers.",
              "end it before you profile"),
    {.id = NULL},
};
