/* SPDX-License-Identifier: Apache-2.0
 * processes.c - reads who was there, and tells ranks from launchers.
 *
 * A process says its rank when its environment had one.  Others belong to the rank of their nearest ancestor that has
 * one (a data loader), else to the rank of their descendants when that is one (a shell around a rank); what stands above
 * several ranks launched them, and belongs to none.
 */
#include "record/processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "record/ring_read.h"

enum { MOST_SNAPSHOTS = 1 << 20, MOST_RANKS = 1 << 24, NOBODY = -1, SEVERAL = -2 };

/* files */

static hu_str copy_text(hu_arena *arena, const char *text)
{
    return hu_arena_copy(arena, hu_str_of(text));
}

/* Does a process of this number run this program?  A number may have been given to another since. */
static bool runs(const hu_ring_head *h)
{
    char    link[64], program[sizeof h->program + 1];
    ssize_t n;

    if (h->state != HU_PROCESS_RUNS || h->pid == 0 || h->pid > INT32_MAX || (kill((pid_t)h->pid, 0) < 0 && errno != EPERM))
        return false;
    snprintf(link, sizeof link, "/proc/%u/exe", h->pid);
    n = readlink(link, program, sizeof program - 1);
    if (n < 0)
        return errno == EACCES; /* somebody's: better not believed to be dead */
    program[n] = '\0';
    return strncmp(program, h->program, sizeof h->program - 1) == 0;
}

/* The texts end, whatever the file says. */
static hu_opencl_facts *copy_opencl(const hu_opencl_facts *from, hu_arena *arena)
{
    hu_opencl_facts *to = hu_arena_calloc(arena, 1, sizeof *to);

    if (!to)
        return NULL;
    *to = *from;
    to->n_devices = to->n_devices < HU_OPENCL_DEVICES ? to->n_devices : HU_OPENCL_DEVICES;
    for (uint32_t i = 0; i < to->n_devices; i++)
        to->devices[i].name[sizeof to->devices[i].name - 1] = '\0';
    return to;
}

static hu_cuda_facts *copy_cuda(const hu_cuda_facts *from, hu_arena *arena)
{
    hu_cuda_facts *to = hu_arena_calloc(arena, 1, sizeof *to);

    if (!to)
        return NULL;
    *to = *from;
    to->n_devices = to->n_devices < HU_GPU_DEVICES_MAX ? to->n_devices : HU_GPU_DEVICES_MAX;
    to->what[sizeof to->what - 1] = to->library[sizeof to->library - 1] = to->other[sizeof to->other - 1] = '\0';
    for (uint32_t i = 0; i < to->n_devices; i++)
        to->devices[i].name[sizeof to->devices[i].name - 1] = '\0';
    return to;
}

static bool add_process(const char *path, const hu_ring_head *h, hu_arena *arena, hu_process_image *out)
{
    *out = (hu_process_image){.path = copy_text(arena, path),
                              .pid = h->pid,
                              .ppid = h->ppid,
                              .doors = h->doors,
                              .clock = h->clock,
                              .started = h->started,
                              .exited = h->exited,
                              .state = h->state,
                              .rank = h->rank,
                              .local_rank = h->local_rank,
                              .world_size = h->world_size,
                              .node = h->node,
                              .is_forked = h->forked != 0,
                              .is_alive = runs(h),
                              .first_lost = h->first_lost,
                              .last_lost = h->last_lost,
                              .begin = h->begin,
                              .end = h->end,
                              .name = copy_text(arena, h->name),
                              .program = copy_text(arena, h->program),
                              .job_id = copy_text(arena, h->job_id),
                              .rank_source = copy_text(arena, h->rank_source),
                              .parent = UINT32_MAX,
                              .owner = NOBODY,
                              .command = hu_arena_copy(arena, (hu_str){h->command, h->command_bytes})};
    memcpy(out->lost, h->lost, sizeof out->lost);
    if (h->cuda.state != HU_CUDA_UNTOUCHED && h->cuda.state < HU_CUDA_STATES) {
        out->cuda = copy_cuda(&h->cuda, arena);
        if (!out->cuda)
            return false;
    }
    if (h->doors & HU_DOOR_OPENCL) {
        out->opencl = copy_opencl(&h->opencl, arena);
        if (!out->opencl)
            return false;
    }
    if (out->rank < 0 || out->rank >= MOST_RANKS || (out->world_size > 0 && out->rank >= out->world_size))
        out->rank = NOBODY;
    return out->path.p && out->name.p && out->program.p && out->job_id.p && out->rank_source.p && out->command.p;
}

static int read_rings(const char *session, hu_arena *arena, hu_process_list *out, hu_error *err)
{
    HU_VEC(hu_process_image) list = {0};
    DIR           *d = opendir(session);
    struct dirent *e;
    int            rc = 0;

    if (!d)
        return hu_fail(err, HU_EIO, session, HU_NO_OFFSET, "cannot be read: %s", strerror(errno));
    while (rc == 0 && (e = readdir(d))) {
        char         path[4096];
        hu_ring_head head;
        hu_error     why = {0};

        if (!hu_str_ends(hu_str_of(e->d_name), HU_STR(".ring")) ||
            snprintf(path, sizeof path, "%s/%s", session, e->d_name) >= (int)sizeof path)
            continue;
        if (hu_ring_read_head(path, &head, &why) < 0) {
            if (out->unreadable++ == 0)
                snprintf(out->first_unreadable, sizeof out->first_unreadable, "%.200s: %.300s", path, why.text);
        } else if (!hu_vec_reserve(arena, &list, 1) || !add_process(path, &head, arena, &list.at[list.n])) {
            rc = hu_fail_memory(err);
        } else {
            list.n++;
        }
    }
    closedir(d);
    out->at = list.at;
    out->n = list.n;
    return rc;
}

/* What of a file of equal items is there; *n items, in the arena, with room for `more`.  False: no memory. */
static bool read_items(const char *session, const char *name, size_t item, size_t most, hu_arena *arena, void **out,
                       size_t *n, size_t more)
{
    char        path[4096];
    struct stat st;
    const int   fd = snprintf(path, sizeof path, "%s/%s", session, name) < (int)sizeof path
                         ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
                         : -1;
    size_t      bytes = 0, want = 0;

    *n = 0;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        want = (uint64_t)st.st_size / item < most ? (size_t)st.st_size / item * item : most * item;
    *out = hu_arena_calloc(arena, want / item + more + 1, item);
    while (*out && bytes < want) {
        const ssize_t got = pread(fd, (char *)*out + bytes, want - bytes, (off_t)bytes);

        if (got <= 0 && !(got < 0 && errno == EINTR))
            break;
        bytes += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    *n = bytes / item;
    return *out != NULL;
}

static bool is_time(int64_t ns)
{
    return ns >= 0 && ns <= HU_TIME_MAX_NS;
}

static bool read_control(const char *session, hu_arena *arena, hu_process_list *out)
{
    void  *page;
    size_t n;

    if (!read_items(session, "control", sizeof(hu_control), 1, arena, &page, &n, 0))
        return false;
    if (n == 1)
        out->control = *(const hu_control *)page;
    out->has_control = n == 1 && out->control.magic == HU_CONTROL_MAGIC && out->control.version == HU_FORMAT_VERSION;
    if (!out->has_control)
        memset(&out->control, 0, sizeof out->control);
    if (!(out->control.ticks_per_second >= 1e3 && out->control.ticks_per_second <= 1e12))
        out->control.ticks_per_second = 0;
    if (!is_time(out->control.began_ns) || !is_time(out->control.stopped_ns))
        out->control.began_ns = out->control.stopped_ns = 0;
    out->control.name[sizeof out->control.name - 1] = out->control.output[sizeof out->control.output - 1] = '\0';
    return true;
}

static bool read_clocks(const char *session, hu_arena *arena, hu_process_list *out)
{
    void  *items;
    size_t n;

    if (!read_items(session, "clocks", sizeof(hu_clock_snapshot), MOST_SNAPSHOTS, arena, &items, &n, 2 * out->n))
        return false;
    out->snapshots = items;
    for (size_t i = 0; i < out->n; i++) {
        const hu_process_image *p = &out->at[i];

        if (p->begin.ticks)
            out->snapshots[n++] = p->begin;
        if (p->end.ticks)
            out->snapshots[n++] = p->end;
    }
    out->n_snapshots = n;
    hu_clock_map_build(out->snapshots, n, out->control.ticks_per_second, arena, &out->clock);
    return out->clock.knots != NULL;
}

int64_t hu_processes_ns(const hu_process_list *list, uint64_t ticks)
{
    const double rate = list->control.ticks_per_second;
    const double ns = rate > 0 ? (double)ticks / rate * 1e9 + 0.5 : 0;

    return ns < (double)HU_TIME_MAX_NS ? (int64_t)ns : HU_TIME_MAX_NS;
}

/* those without a ring */

/* By the last snapshot: ticks and CLOCK_MONOTONIC keep their distance but for what the machine slept. */
static uint64_t ticks_of(const hu_process_list *l, int64_t monotonic_ns)
{
    const hu_clock_snapshot *s = &l->snapshots[l->n_snapshots - 1];
    const double             distance = (double)monotonic_ns - (double)s->monotonic_ns;
    const double             ticks = (double)s->ticks + distance * l->control.ticks_per_second / 1e9;

    return ticks > 1 ? ticks < (double)INT64_MAX ? (uint64_t)ticks : INT64_MAX : 1;
}

static bool add_outsiders(hu_process_list *l, hu_arena *arena)
{
    HU_VEC(hu_process_image) list = {.at = l->at, .n = l->n, .cap = l->n};

    l->n_outsiders = hu_outsiders_read(l->path.p, arena, &l->outsiders);
    if (l->n_snapshots == 0 || !(l->control.ticks_per_second > 0) || l->n_outsiders == 0)
        return true;
    if (!hu_vec_reserve(arena, &list, l->n_outsiders))
        return false;
    for (size_t i = 0; i < l->n_outsiders; i++) {
        const hu_outsider *o = &l->outsiders[i];
        hu_process_image  *p = &list.at[list.n++];

        *p = (hu_process_image){.pid = o->pid,
                                .ppid = o->ppid,
                                .started = ticks_of(l, o->first_ns),
                                .exited = ticks_of(l, o->last_ns),
                                .state = HU_PROCESS_EXITED,
                                .rank = -1,
                                .local_rank = -1,
                                .world_size = -1,
                                .node = -1,
                                .is_outsider = true,
                                .name = copy_text(arena, o->name),
                                .parent = UINT32_MAX,
                                .owner = NOBODY};
        if (!p->name.p)
            return false;
    }
    l->at = list.at;
    l->n = list.n;
    return true;
}

/*
 * Ranks that NCCL told are those of each process's largest communicator.  Where all of those are of a part of the job, two
 * processes have one number: then none of them says which rank of the job anybody is.
 */
static bool compare_nccl_ranks(hu_process_list *l, hu_arena *arena)
{
    const hu_str whose = HU_STR("NCCL communicator");
    int32_t      world_size = NOBODY;
    bool         is_one = true;
    hu_map       process_of; /* by rank */

    if (!hu_map_init(&process_of, arena, 16))
        return false;
    for (uint32_t i = 0; i < l->n; i++) {
        const hu_process_image *p = &l->at[i];
        uint32_t               *place;

        if (!hu_str_equal(p->rank_source, whose))
            continue;
        place = hu_map_put(&process_of, (uint64_t)(int64_t)p->rank);
        if (!place)
            return false;
        if (*place == HU_MAP_NONE)
            *place = i;
        is_one &= l->at[*place].pid == p->pid && (world_size == NOBODY || world_size == p->world_size);
        world_size = p->world_size;
    }
    for (size_t i = 0; i < l->n && !is_one; i++)
        if (hu_str_equal(l->at[i].rank_source, whose)) {
            l->at[i].rank = l->at[i].world_size = NOBODY;
            l->at[i].rank_source = HU_STR("");
        }
    return true;
}

/* kinship */

static int by_beginning(const void *a, const void *b)
{
    const hu_process_image *x = a, *y = b;

    if (x->started != y->started)
        return x->started < y->started ? -1 : 1;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Of each number the last image so far: the parent of what comes now. */
static bool link_parents(hu_process_list *l, hu_arena *arena)
{
    hu_map last;

    if (!hu_map_init(&last, arena, l->n))
        return false;
    for (uint32_t i = 0; i < l->n; i++) {
        hu_process_image *p = &l->at[i];
        const uint32_t    same = hu_map_get(&last, p->pid), above = hu_map_get(&last, p->ppid);
        uint32_t         *place;

        /* an image of the same number went before: by exec, unless this is a child that got the number anew */
        if (same != HU_MAP_NONE && !p->is_forked && l->at[same].state != HU_PROCESS_EXITED)
            p->parent = same;
        else if (above != HU_MAP_NONE)
            p->parent = above;
        place = hu_map_put(&last, p->pid);
        if (!place)
            return false;
        *place = i;
    }
    return true;
}

/* Parents stand before their children, so one pass down and one pass up are enough. */
static bool find_owners(hu_process_list *l, hu_arena *arena)
{
    int32_t *below = hu_arena_calloc(arena, l->n + 1, sizeof *below);

    if (!below)
        return false;
    for (size_t i = 0; i < l->n; i++)
        below[i] = NOBODY;
    for (size_t i = l->n; i-- > 0;) {
        const uint32_t parent = l->at[i].parent;
        const int32_t  mine = l->at[i].rank >= 0 ? l->at[i].rank : below[i];

        if (parent != UINT32_MAX && mine != NOBODY)
            below[parent] = below[parent] == NOBODY || below[parent] == mine ? mine : SEVERAL;
    }
    for (size_t i = 0; i < l->n; i++) {
        hu_process_image *p = &l->at[i];

        if (p->rank >= 0)
            p->owner = p->rank;
        else if (p->parent != UINT32_MAX && l->at[p->parent].owner >= 0)
            p->owner = l->at[p->parent].owner;
        else
            p->owner = below[i] >= 0 ? below[i] : NOBODY;
        l->has_ranks |= p->rank >= 0;
        l->world_size = p->world_size > l->world_size ? p->world_size : l->world_size;
    }
    return true;
}

int hu_processes_read(const char *session, hu_arena *arena, hu_process_list *out, hu_error *err)
{
    int rc;

    *out = (hu_process_list){.path = copy_text(arena, session), .world_size = -1};
    if (!out->path.p || !read_control(session, arena, out))
        return hu_fail_memory(err);
    rc = read_rings(session, arena, out, err);
    if (rc < 0)
        return rc;
    if (!read_clocks(session, arena, out) || !add_outsiders(out, arena))
        return hu_fail_memory(err);
    if (out->n)
        qsort(out->at, out->n, sizeof *out->at, by_beginning);
    return compare_nccl_ranks(out, arena) && link_parents(out, arena) && find_owners(out, arena) ? 0 : hu_fail_memory(err);
}

uint32_t hu_processes_child(const hu_process_list *l, uint32_t pid, uint64_t ticks, bool is_fork, uint32_t parent_pid)
{
    size_t low = 0, high = l->n;

    while (low < high) { /* the first that began at this time or later */
        const size_t mid = low + (high - low) / 2;

        if (l->at[mid].started < ticks)
            low = mid + 1;
        else
            high = mid;
    }
    for (size_t i = low; i < l->n && i < low + 4096; i++) /* what a fork makes may be far behind, or never there */
        if (l->at[i].pid == pid && (is_fork ? l->at[i].ppid == parent_pid : !l->at[i].is_forked))
            return (uint32_t)i;
    return UINT32_MAX;
}
