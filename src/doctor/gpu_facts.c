/* SPDX-License-Identifier: Apache-2.0
 * gpu_facts.c - a child asks NVML and writes lines; it does not matter whether a child or a file wrote them. */
#include "doctor/gpu_facts.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "doctor/looker.h"
#include "doctor/pci.h"
#include "gpu/nvml_fields.h"
#include "gpu/nvml_setup.h"
#include "gpu/nvml_values.h"

enum { TEXT_MOST = 1 << 20, PEERS_MOST = 16 };
enum { ANSWERS = 3 }; /* in place of the socket to whoever asked for this look, which must not wait for a child that hangs */

/* ---- the child --------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void put(FILE *out, int gpu, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    fprintf(out, "gpu.%d.", gpu);
    vfprintf(out, format, list);
    putc('\n', out);
    va_end(list);
}

/* A name of the driver's in one line. */
static void put_text(FILE *out, int gpu, const char *key, const char *text)
{
    fprintf(out, "gpu.%d.%s ", gpu, key);
    for (; *text; text++)
        putc((unsigned char)*text < ' ' ? '?' : *text, out);
    putc('\n', out);
}

/* The answers of one question under these names; NULL: not wanted. */
static void put_answers(FILE *out, int gpu, hu_nvml *n, hu_nvml_device *d, hu_nvml_question q,
                        const char *const names[HU_NVML_ANSWERS])
{
    int64_t a[HU_NVML_ANSWERS];
    int     code = 0;

    if (hu_nvml_ask(n, d, q, a, &code) != HU_NVML_OK)
        return;
    for (int i = 0; i < HU_NVML_ANSWERS; i++)
        if (names[i])
            put(out, gpu, "%s %" PRId64, names[i], a[i]);
}

static const struct {
    hu_nvml_question which;
    const char      *names[HU_NVML_ANSWERS];
} questions[] = {
    {HU_NVML_ASK_USE, {"use"}},
    {HU_NVML_ASK_ECC, {"corrected", "uncorrected"}},
    {HU_NVML_ASK_ROWS, {NULL, NULL, "rows_pending", "rows_failed"}},
    {HU_NVML_ASK_PAGES_PENDING, {"pages_pending"}},
    {HU_NVML_ASK_REASONS, {"reasons"}},
    {HU_NVML_ASK_TEMPERATURE, {"celsius"}},
    {HU_NVML_ASK_MARGIN, {"margin"}},
    {HU_NVML_ASK_POWER_LIMIT, {"power_limit"}},
    {HU_NVML_ASK_POWER_DEFAULT, {"power_default"}},
    {HU_NVML_ASK_SM_CLOCK, {"clock"}},
    {HU_NVML_ASK_MOST_CLOCKS, {"clock_most"}},
    {HU_NVML_ASK_PERSISTENCE, {"persistence"}},
    {HU_NVML_ASK_PCIE_GENERATION, {"generation"}},
    {HU_NVML_ASK_PCIE_GENERATION_MOST, {"generation_most"}},
    {HU_NVML_ASK_PCIE_WIDTH, {"width"}},
    {HU_NVML_ASK_PCIE_WIDTH_MOST, {"width_most"}},
    {HU_NVML_ASK_PCIE_REPLAYS, {"replays"}},
    {HU_NVML_ASK_FABRIC, {"fabric", "fabric_code", "fabric_health"}},
};

/* R575 has some of them under other numbers (nvml_fields.h). */
static const struct {
    hu_nvml_field which;
    const char   *name;
} fields[] = {
    {HU_FIELD_RECOVERY_ACTION, "recovery"},
    {HU_FIELD_LIMITED_POWER, "limited_power"},
    {HU_FIELD_LIMITED_THERMAL, "limited_thermal"},
    {HU_FIELD_LIMITED_SOFTWARE_THERMAL_575, "limited_software"},
    {HU_FIELD_LIMITED_HARDWARE_THERMAL_575, "limited_hardware"},
    {HU_FIELD_LIMITED_POWER_BRAKE_575, "limited_brake"},
    {HU_FIELD_LIMITED_SOFTWARE_THERMAL, "limited_software"},
    {HU_FIELD_LIMITED_HARDWARE_THERMAL, "limited_hardware"},
    {HU_FIELD_LIMITED_POWER_BRAKE, "limited_brake"},
    {HU_FIELD_NVLINK_FLIT_ERRORS, "link_flit"},
    {HU_FIELD_NVLINK_DATA_ERRORS, "link_data"},
    {HU_FIELD_NVLINK_REPLAYS, "link_replays"},
    {HU_FIELD_NVLINK_RECOVERIES, "link_recoveries"},
};

static void put_fields(FILE *out, int gpu, hu_nvml *n, hu_nvml_device *d)
{
    hu_nvml_field       which[HU_COUNT(fields)];
    hu_nvml_field_value value[HU_COUNT(fields)];
    int                 code = 0;

    for (size_t i = 0; i < HU_COUNT(fields); i++)
        which[i] = fields[i].which;
    if (hu_nvml_get_fields(n, d, which, HU_COUNT(fields), value, &code) != HU_NVML_OK)
        return;
    for (size_t i = 0; i < HU_COUNT(fields); i++)
        if (value[i].has && value[i].value >= 0 && value[i].value < 9e18)
            put(out, gpu, "%s %" PRId64, fields[i].name, (int64_t)value[i].value);
}

static void put_setup(FILE *out, int gpu, hu_nvml *n, hu_nvml_device *d)
{
    hu_nvml_setup  s;
    hu_nvml_device part;
    unsigned       gi, ci;
    int            parts = 0, code;

    hu_nvml_get_setup(n, d, &s);
    if (s.capability >= 0)
        put(out, gpu, "capability %d", s.capability);
    if (s.ecc_now >= 0) {
        put(out, gpu, "ecc %d", s.ecc_now);
        put(out, gpu, "ecc_next %d", s.ecc_next);
    }
    if (s.compute_mode >= 0)
        put(out, gpu, "compute_mode %d", s.compute_mode);
    if (s.chosen_mhz >= 0)
        put(out, gpu, "chosen_clock %d", s.chosen_mhz);
    if (s.default_mhz >= 0)
        put(out, gpu, "default_clock %d", s.default_mhz);
    if (s.bar_bytes >= 0)
        put(out, gpu, "bar %" PRId64, s.bar_bytes);
    if (s.links > 0) {
        put(out, gpu, "links %d", s.links);
        put(out, gpu, "links_active %d", s.links_active);
        put(out, gpu, "link_down %d", s.i_down);
    }
    put(out, gpu, "mig %d", d->is_mig);
    if (d->is_mig) {
        for (unsigned i = 0; i < hu_nvml_parts_most(n, d); i++)
            parts += hu_nvml_part(n, d, i, &part, &gi, &ci, &code);
        put(out, gpu, "parts %d", parts);
    }
}

static void put_gpu(FILE *out, int gpu, hu_nvml *n, hu_nvml_device *d)
{
    uint32_t pids[HU_NVML_PIDS];
    char     bus[HU_PCI_ADDRESS];
    size_t   n_pids;

    hu_bus_address(d->bus, bus);
    put_text(out, gpu, "bus", bus);
    put_text(out, gpu, "name", d->name);
    if (d->minor >= 0)
        put(out, gpu, "minor %d", d->minor);
    if (d->memory_bytes > 0 && d->memory_bytes < INT64_MAX)
        put(out, gpu, "memory %" PRIu64, d->memory_bytes);
    put_setup(out, gpu, n, d);
    for (size_t i = 0; i < HU_COUNT(questions); i++)
        put_answers(out, gpu, n, d, questions[i].which, questions[i].names);
    put_fields(out, gpu, n, d);
    n_pids = hu_nvml_processes(n, d, pids);
    for (size_t i = 0; i < n_pids && i < HU_GPU_FACT_PIDS; i++)
        put(out, gpu, "pid %" PRIu32, pids[i]);
}

static void ask(FILE *out)
{
    static hu_nvml_device device[HU_GPU_MOST];
    char                  driver[HU_NVML_TEXT];
    int                   code = 0, count, is_fine[HU_GPU_MOST] = {0};
    hu_nvml              *n = hu_nvml_open(secure_getenv("HOLDUP_NVML"), &code);

    if (n && (count = hu_nvml_count(n, &code)) >= 0) {
        hu_nvml_driver(n, driver);
        fprintf(out, "nvml.driver %s\nnvml.cuda %d\n", driver, hu_nvml_cuda(n));
        for (int i = 0; i < count; i++) {
            is_fine[i] = hu_nvml_describe(n, (unsigned)i, &device[i], &code);
            put(out, i, "error %d", is_fine[i] ? 0 : code);
            if (is_fine[i])
                put_gpu(out, i, n, &device[i]);
        }
        for (int i = 0; i < count && count <= PEERS_MOST; i++)
            for (int k = 0; k < count; k++)
                if (i != k && is_fine[i] && is_fine[k])
                    put(out, i, "peer %d %d", k, hu_nvml_peer(n, &device[i], &device[k]));
        code = 0;
    }
    fprintf(out, "nvml %d\n", code);
    fclose(out);
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* What the child writes, to its end; false: it did not end in time.  `text` is the caller's. */
static bool listen_to(int from, char **text)
{
    const int64_t until = now_ms() + HU_GPU_ASK_MS;
    size_t        n = 0;
    char         *t = malloc(TEXT_MOST + 1);
    ssize_t       got = -1;

    *text = t;
    while (t && n < TEXT_MOST && got != 0) {
        struct pollfd p = {.fd = from, .events = POLLIN};
        const int64_t left = until - now_ms();

        if (left <= 0 || poll(&p, 1, (int)left) == 0)
            break;
        got = read(from, t + n, TEXT_MOST - n);
        if (got < 0 && errno != EINTR)
            break;
        n += got > 0 ? (size_t)got : 0;
    }
    if (t)
        t[n] = '\0';
    return got == 0;
}

/* A driver that hangs: the child is killed, and whether it goes or not, nobody waits for it. */
static char *ask_child(void)
{
    static char silent[] = "nvml -3\n", ended[] = "nvml 999\n";
    int         ends[2];
    pid_t       child;
    char       *text = NULL;
    bool        is_whole;

    if (pipe(ends) < 0)
        return silent;
    child = fork();
    if (child == 0) {
        FILE *out;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (dup2(ends[1], ANSWERS) == ANSWERS && (out = fdopen(ANSWERS, "w")))
            ask(out);
        _exit(0);
    }
    close(ends[1]);
    is_whole = child > 0 && listen_to(ends[0], &text);
    close(ends[0]);
    if (child > 0) {
        if (!is_whole)
            kill(child, SIGKILL);
        waitpid(child, NULL, WNOHANG);
    }
    if (!is_whole)
        return silent;
    return strstr(text, "nvml ") ? text : ended; /* it crashed in the library */
}

/* ---- the lines --------------------------------------------------------------------------------------------------- */

static void take_text(char *out, size_t room, hu_str value)
{
    const size_t n = value.n < room - 1 ? value.n : room - 1;

    memcpy(out, value.p, n);
    out[n] = '\0';
}

static hu_str word(hu_str *line)
{
    size_t n = 0;
    hu_str first;

    while (n < line->n && line->p[n] != ' ')
        n++;
    first = (hu_str){line->p, n};
    *line = (hu_str){line->p + n + (n < line->n), line->n - n - (n < line->n)};
    return first;
}

static void take_gpu(hu_gpu_facts *f, hu_str key, hu_str value)
{
    static const struct {
        const char *name;
        size_t      at;
    } numbers[] = {
#define N(name) {#name, offsetof(hu_gpu_fact, name)},
        HU_GPU_NUMBERS(N)
#undef N
    };
    const char  *dot = memchr(key.p, '.', key.n);
    hu_gpu_fact *g;
    int64_t      index, number;
    hu_str       name;

    if (!dot || !hu_parse_i64((hu_str){key.p, (size_t)(dot - key.p)}, &index) || index < 0 || index >= HU_GPU_MOST)
        return;
    name = (hu_str){dot + 1, (size_t)(key.p + key.n - dot) - 1};
    g = &f->gpu[index];
    g->is_there = true;
    if ((size_t)index >= f->n)
        f->n = (size_t)index + 1;
    if (hu_str_equal(name, HU_STR("name")))
        take_text(g->name, sizeof g->name, value);
    else if (hu_str_equal(name, HU_STR("bus")))
        take_text(g->bus, sizeof g->bus, value);
    else if (hu_str_equal(name, HU_STR("peer"))) {
        if (hu_parse_i64(word(&value), &index) && index >= 0 && index < HU_GPU_MOST && hu_parse_i64(value, &number) &&
            number >= 0 && number <= HU_PEER_NOT_SUPPORTED)
            g->peer[index] = (int8_t)number;
    } else if (hu_str_equal(name, HU_STR("pid"))) {
        if (g->n_pids < HU_GPU_FACT_PIDS && hu_parse_i64(value, &number))
            g->pid[g->n_pids++] = number;
    } else
        for (size_t i = 0; i < HU_COUNT(numbers); i++)
            if (hu_str_equal(name, hu_str_of(numbers[i].name)) && hu_parse_i64(value, &number))
                memcpy((char *)g + numbers[i].at, &number, sizeof number);
}

static void take_lines(hu_gpu_facts *f, const char *text)
{
    while (*text) {
        const size_t n = strcspn(text, "\n");
        hu_str       line = {text, n};
        const hu_str key = word(&line);
        int64_t      number;

        if (hu_str_equal(key, HU_STR("nvml")) && hu_parse_i64(line, &number) && number >= INT16_MIN && number <= INT16_MAX) {
            f->is_known = true;
            f->code = (int)number;
        } else if (hu_str_equal(key, HU_STR("nvml.driver")))
            take_text(f->driver, sizeof f->driver, line);
        else if (hu_str_equal(key, HU_STR("nvml.cuda")) && hu_parse_i64(line, &number) && number > 0 && number < INT32_MAX)
            f->cuda = (int)number;
        else if (hu_str_starts(key, HU_STR("gpu.")))
            take_gpu(f, (hu_str){key.p + 4, key.n - 4}, line);
        text += n + (text[n] == '\n');
    }
}

static void begin(hu_gpu_facts *f)
{
    memset(f, 0, sizeof *f);
    f->cuda = -1;
    for (size_t i = 0; i < HU_GPU_MOST; i++) {
        hu_gpu_fact *g = &f->gpu[i];
#define N(name) g->name = HU_GPU_NO_FACT;
        HU_GPU_NUMBERS(N)
#undef N
        memset(g->peer, -1, sizeof g->peer);
    }
}

/* For a bundle.  A key that has several values comes once with each. */
static void tell_witness(hu_doctor *d, const char *text)
{
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        hu_str       line = {text, strcspn(text, "\n")};
        const hu_str key = word(&line);

        if (hu_str_starts(key, HU_STR("nvml")) || hu_str_starts(key, HU_STR("gpu.")))
            hu_doctor_saw(d, HU_SEEN_FACT, hu_doctor_format(d, "%.*s", (int)key.n, key.p), HU_LOOK_OK, line);
    }
}

/* The lines of the file holdup/facts; "" where there is no driver. */
static const char *facts_text(hu_doctor *d)
{
    static const char *lines; /* of this machine, which stays the same */

    if (hu_doctor_is_capture(d)) {
        const char *text;

        hu_doctor_read(d, "/holdup/facts", &text);
        tell_witness(d, text);
        return text;
    }
    if (!lines) {
        lines = secure_getenv("HOLDUP_NVML") || hu_nvml_has_driver("") ? ask_child() : "";
        tell_witness(d, lines);
    }
    return lines;
}

const hu_gpu_facts *hu_gpu_facts_of(hu_doctor *d)
{
    static hu_gpu_facts facts;
    static bool         is_filled;

    if (!is_filled) {
        begin(&facts);
        take_lines(&facts, facts_text(d));
        is_filled = true;
    }
    return &facts;
}

const hu_gpu_facts *hu_gpu_facts_or_say(hu_doctor *d, const hu_check *check)
{
    const hu_gpu_facts *f = hu_gpu_facts_of(d);

    if (f->is_known && f->code == 0) {
        if (f->n)
            return f;
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "the driver shows no GPU");
        return NULL;
    }
    if (f->is_known && f->code == HU_GPU_NO_ANSWER)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "the NVIDIA driver does not answer");
    else if (f->is_known)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "NVML does not start: %s", hu_nvml_words(f->code));
    else if (hu_doctor_exists(d, "/proc/driver/nvidia/version"))
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "the captured tree has no facts of GPUs");
    else
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "no NVIDIA driver");
    return NULL;
}
