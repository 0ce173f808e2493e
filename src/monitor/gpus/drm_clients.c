/* SPDX-License-Identifier: Apache-2.0
 * drm_clients.c - a table of clients, found by walking /proc/PID/fd, then read by their fdinfo alone.
 *
 * A file may be open in several places and processes: a client counts once, by the GPU's address and its id.
 */
#include "monitor/gpus/drm_clients.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/number.h"
#include "monitor/files.h"

enum { CLIENTS_MOST = 128, FILES_PER_LOOK = 16384, TEXT_ROOM = 8192, FD_ROOM = 16 };

typedef struct {
    uint32_t      pid;
    char          fd[FD_ROOM];
    int64_t       at_ns; /* of `now`; 0: not read yet */
    hu_drm_fdinfo now;
    double        share[HU_DRM_ENGINES_MOST]; /* between the last two readings; NaN: not known */
} client;

struct hu_drm_clients {
    int                root;
    const char *const *drivers;
    uint32_t           next_pid; /* where the walk goes on; 0: from the start */
    bool               was_complete, is_denied, is_elsewhere, is_full;
    size_t             n;
    client             at[CLIENTS_MOST];
};

/* "346249 ns", "23992 KiB", "0": a number and perhaps a unit of bytes. */
static bool parse_value(hu_str value, uint64_t *out)
{
    uint64_t number;
    uint64_t factor = 1;
    hu_str   unit;

    if (!hu_parse_u64(hu_cut_word(&value), &number))
        return false;
    unit = hu_cut_word(&value);
    if (hu_str_equal(unit, HU_STR("KiB")))
        factor = UINT64_C(1) << 10;
    else if (hu_str_equal(unit, HU_STR("MiB")))
        factor = UINT64_C(1) << 20;
    return !__builtin_mul_overflow(number, factor, out);
}

static hu_drm_engine *engine_of(hu_drm_fdinfo *f, hu_str name)
{
    for (size_t i = 0; i < f->n; i++)
        if (hu_str_equal(name, hu_str_of(f->engine[i].name)))
            return &f->engine[i];
    if (f->n == HU_DRM_ENGINES_MOST || name.n == 0 || name.n >= HU_DRM_NAME_ROOM || memchr(name.p, '\0', name.n))
        return NULL;
    hu_str_copy(f->engine[f->n].name, HU_DRM_NAME_ROOM, name);
    return &f->engine[f->n++];
}

/* Takes the prefix off the key. */
static bool cut_prefix(hu_str *key, hu_str prefix)
{
    if (!hu_str_starts(*key, prefix))
        return false;
    *key = (hu_str){key->p + prefix.n, key->n - prefix.n};
    return true;
}

static void take_engine(hu_drm_fdinfo *f, hu_str key, uint64_t value)
{
    hu_drm_engine *e;

    if (hu_str_starts(key, HU_STR("drm-engine-capacity-")))
        return;
    if (cut_prefix(&key, HU_STR("drm-engine-")) && (e = engine_of(f, key)) != NULL) {
        e->ns = value;
        e->has_ns = true;
    } else if (cut_prefix(&key, HU_STR("drm-total-cycles-")) && (e = engine_of(f, key)) != NULL) {
        e->total_cycles = value;
        e->has_total = true;
    } else if (cut_prefix(&key, HU_STR("drm-cycles-")) && (e = engine_of(f, key)) != NULL) {
        e->cycles = value;
        e->has_cycles = true;
    }
}

/* Device memory is "vram" (amdgpu), "vram0" (xe) or "local0" (i915); a driver that has both keys means the same by both. */
static void take_memory(hu_drm_fdinfo *f, hu_str key, uint64_t value, uint64_t *old)
{
    if (hu_str_starts(key, HU_STR("drm-resident-vram")) || hu_str_starts(key, HU_STR("drm-resident-local"))) {
        if (__builtin_add_overflow(f->vram, value, &f->vram))
            f->vram = UINT64_MAX;
        f->has_vram = true;
    } else if (hu_str_equal(key, HU_STR("drm-memory-vram"))) {
        *old = value;
    }
}

bool hu_drm_fdinfo_parse(hu_str text, hu_drm_fdinfo *out)
{
    uint64_t old = UINT64_MAX;

    *out = (hu_drm_fdinfo){0};
    while (text.n) {
        hu_str       value = hu_cut(&text, '\n');
        const hu_str key = hu_cut(&value, ':');
        uint64_t     number;

        if (!hu_str_starts(key, HU_STR("drm-")))
            continue;
        if (hu_str_equal(key, HU_STR("drm-driver"))) {
            hu_str_copy(out->driver, sizeof out->driver, hu_cut_word(&value));
        } else if (hu_str_equal(key, HU_STR("drm-pdev"))) {
            hu_str_copy(out->bus, sizeof out->bus, hu_cut_word(&value));
            for (char *at = out->bus; *at; at++)
                *at = hu_char_lower(*at);
        } else if (parse_value(value, &number)) {
            if (hu_str_equal(key, HU_STR("drm-client-id"))) {
                out->id = number;
                out->has_id = true;
            }
            take_engine(out, key, number);
            take_memory(out, key, number, &old);
        }
    }
    if (!out->has_vram && old != UINT64_MAX) {
        out->vram = old;
        out->has_vram = true;
    }
    return out->driver[0] != '\0';
}

/* Does this process see those of the whole machine?  The first PID namespace has a number of its own. */
static bool sees_other_namespace(int root)
{
    char          target[64];
    const ssize_t n = readlinkat(root, "proc/self/ns/pid", target, sizeof target);

    return n > 0 && !hu_str_equal((hu_str){target, (size_t)n}, HU_STR("pid:[4026531836]"));
}

hu_drm_clients *hu_drm_clients_new(int root, const char *const *drivers)
{
    hu_drm_clients *c = calloc(1, sizeof *c);

    if (c) {
        c->root = root;
        c->drivers = drivers;
        c->is_elsewhere = sees_other_namespace(root);
    }
    return c;
}

void hu_drm_clients_free(hu_drm_clients *c)
{
    free(c);
}

bool hu_drm_clients_complete(const hu_drm_clients *c)
{
    return c->was_complete && !c->is_denied && !c->is_elsewhere && !c->is_full;
}

bool hu_drm_clients_see_node(const hu_drm_clients *c)
{
    return !c->is_elsewhere;
}

static bool is_ours(const hu_drm_clients *c, const hu_drm_fdinfo *f)
{
    for (const char *const *driver = c->drivers; *driver; driver++)
        if (strcmp(*driver, f->driver) == 0)
            return f->has_id && f->bus[0];
    return false;
}

static bool is_same(const hu_drm_fdinfo *a, const hu_drm_fdinfo *b)
{
    return a->id == b->id && strcmp(a->bus, b->bus) == 0;
}

static bool read_info(const hu_drm_clients *c, uint32_t pid, const char *fd, hu_drm_fdinfo *out)
{
    char path[64], text[TEXT_ROOM];

    snprintf(path, sizeof path, "proc/%u/fdinfo/%s", pid, fd);
    return hu_drm_fdinfo_parse(hu_files_text(c->root, path, text, sizeof text), out) && is_ours(c, out);
}

static void add(hu_drm_clients *c, uint32_t pid, const char *fd)
{
    hu_drm_fdinfo f;
    size_t        i = 0;

    if (strlen(fd) >= FD_ROOM || !read_info(c, pid, fd, &f))
        return;
    while (i < c->n && !is_same(&c->at[i].now, &f))
        i++;
    if (i < c->n)
        return;
    c->is_full |= c->n == CLIENTS_MOST;
    if (c->is_full)
        return;
    c->at[c->n] = (client){.pid = pid, .now = f};
    snprintf(c->at[c->n++].fd, FD_ROOM, "%s", fd);
}

/* Files of a process; how many were looked at. */
static int look_at(hu_drm_clients *c, int proc, const char *pid_name, uint32_t pid)
{
    char        path[64], target[64];
    hu_names    names;
    const char *name;
    int         n = 1;

    snprintf(path, sizeof path, "%s/fd", pid_name);
    if (!hu_names_open(&names, proc, path)) {
        c->is_denied |= errno == EACCES || errno == EPERM;
        return n;
    }
    for (; (name = hu_names_next(&names)) != NULL; n++) {
        const ssize_t length = readlinkat(names.fd, name, target, sizeof target);

        if (length > 0 && hu_str_starts((hu_str){target, (size_t)length}, HU_STR("/dev/dri/")))
            add(c, pid, name);
    }
    return n;
}

/* /proc lists processes by their number. */
void hu_drm_clients_find(hu_drm_clients *c)
{
    hu_names    names;
    const char *name;
    int         left = FILES_PER_LOOK;

    if (!hu_names_open(&names, c->root, "proc"))
        return;
    if (c->next_pid == 0)
        c->is_denied = c->is_full = false;
    while ((name = hu_names_next(&names)) != NULL) {
        uint64_t pid;

        if (!hu_parse_u64(hu_str_of(name), &pid) || pid > UINT32_MAX || pid < c->next_pid)
            continue;
        if (left <= 0) {
            c->next_pid = (uint32_t)pid;
            hu_names_close(&names);
            return;
        }
        left -= look_at(c, names.fd, name, (uint32_t)pid);
    }
    c->next_pid = 0;
    c->was_complete = true;
}

/* A driver may go back a little: then the larger value stays, as its documentation says. */
static uint64_t keep_larger(uint64_t before, uint64_t *now)
{
    if (*now < before)
        *now = before;
    return *now - before;
}

static double share_of(const hu_drm_engine *before, hu_drm_engine *now, int64_t elapsed_ns)
{
    if (now->has_ns && before->has_ns)
        return elapsed_ns > 0 ? (double)keep_larger(before->ns, &now->ns) / (double)elapsed_ns : NAN;
    if (now->has_cycles && before->has_cycles && now->has_total && before->has_total) {
        const uint64_t busy = keep_larger(before->cycles, &now->cycles);
        const uint64_t total = keep_larger(before->total_cycles, &now->total_cycles);

        return total > 0 ? (double)busy / (double)total : NAN;
    }
    return NAN;
}

/* False: it has gone. */
static bool read_client(const hu_drm_clients *c, client *k, int64_t now_ns)
{
    hu_drm_fdinfo f;

    if (!read_info(c, k->pid, k->fd, &f) || !is_same(&f, &k->now))
        return false;
    for (size_t i = 0; i < f.n; i++) {
        size_t j = 0;

        while (j < k->now.n && strcmp(f.engine[i].name, k->now.engine[j].name) != 0)
            j++;
        k->share[i] = k->at_ns && j < k->now.n ? share_of(&k->now.engine[j], &f.engine[i], now_ns - k->at_ns) : NAN;
    }
    k->now = f;
    k->at_ns = now_ns;
    return true;
}

void hu_drm_clients_read(hu_drm_clients *c, int64_t now_ns)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        if (read_client(c, &c->at[i], now_ns)) {
            if (n != i)
                c->at[n] = c->at[i];
            n++;
        }
    c->n = n;
}

void hu_board_add_pid(hu_board_gpu *gpu, uint32_t pid, double share)
{
    uint32_t i = 0;

    while (i < gpu->n_pids && gpu->pid[i] != pid)
        i++;
    if (i == HU_BOARD_PIDS)
        return;
    if (i == gpu->n_pids) {
        gpu->pid[gpu->n_pids++] = pid;
        gpu->pid_busy[i] = -1;
    }
    if (share >= 0)
        gpu->pid_busy[i] = fmin(1, fmax(0, gpu->pid_busy[i]) + share);
}

/* Engines that run kernels, by the names of i915, xe and amdgpu; the others copy, or code video. */
static bool computes(const char *engine)
{
    static const char *const names[] = {"render", "compute", "rcs", "ccs", "gfx"};

    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (strcmp(engine, names[i]) == 0)
            return true;
    return false;
}

/* The busiest kind of engine of one client, and each kind's sum over clients. */
static double add_shares(const client *k, double *sums, char names[][HU_DRM_NAME_ROOM], size_t *n)
{
    double most = NAN;

    for (size_t i = 0; i < k->now.n; i++) {
        size_t j = 0;

        if (!computes(k->now.engine[i].name) || isnan(k->share[i]))
            continue;
        most = fmax(most, fmin(1, k->share[i])); /* fmax ignores a NaN */
        while (j < *n && strcmp(names[j], k->now.engine[i].name) != 0)
            j++;
        if (j == *n && *n < HU_DRM_ENGINES_MOST) {
            snprintf(names[j], HU_DRM_NAME_ROOM, "%s", k->now.engine[i].name);
            sums[(*n)++] = 0;
        }
        if (j < *n)
            sums[j] += k->share[i];
    }
    return most;
}

double hu_drm_clients_sum(const hu_drm_clients *c, const char *bus, hu_board_gpu *gpu, double *vram)
{
    double sums[HU_DRM_ENGINES_MOST], busy = NAN;
    char   names[HU_DRM_ENGINES_MOST][HU_DRM_NAME_ROOM];
    size_t n = 0;

    *vram = NAN;
    for (size_t i = 0; i < c->n; i++) {
        const client *k = &c->at[i];
        double        share;

        if (strcmp(k->now.bus, bus) != 0)
            continue;
        share = add_shares(k, sums, names, &n);
        hu_board_add_pid(gpu, k->pid, isnan(share) ? -1 : share);
        if (k->now.has_vram)
            *vram = (isnan(*vram) ? 0 : *vram) + (double)k->now.vram;
    }
    for (size_t i = 0; i < n; i++)
        busy = fmax(busy, fmin(1, sums[i]));
    return busy;
}
