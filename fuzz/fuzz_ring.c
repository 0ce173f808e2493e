/* SPDX-License-Identifier: Apache-2.0
 * fuzz_ring.c - any bytes in a session's files: no crash, no hang, no leak; and a trace of them that can be read.
 *
 * A ring file is mostly zeros, so the input is what is poked into one that is whole: {where, 16-byte units from the
 * beginning, length, bytes}.  `where` says which file: the ring, the drain file (there pieces are appended), or another one of
 * the session, which is there when it is poked at, and then with numbers that make sense.  Threads whose records are read
 * alone have to give the same as the whole does: nothing depends on what was read before.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "record/gpu_file.h"
#include "record/outsiders.h"
#include "record/ring_read.h"
#include "record/to_pftrace.h"
#include "record/wait_calls.h"
#include "record/wait_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { BLOCKS = 4, UNIT = 16, MOST_DRAIN = 1 << 16, FIRST_TID = 7, SECOND = 1000000000 };
enum { RING, DRAIN, CONTROL, CLOCKS, GPU, WAITS, OUTSIDERS, FILES }; /* where to poke */

static const char *const names[FILES] = {"1-01.ring", "1-01.drain", "control", "clocks", "gpu", "waits", "outsiders"};

/* The other files of a session as they might be. */
typedef struct {
    hu_gpu_file_head   head;
    hu_gpu_row_device  device;
    hu_gpu_row_process process;
    hu_gpu_row_sample  samples[2];
    hu_gpu_row_problem problem;
} gpu_file;

typedef struct {
    hu_wait_head head;
    hu_wait_row  rows[2];
} wait_file;

static const hu_control        control = {.magic = HU_CONTROL_MAGIC,
                                          .version = HU_FORMAT_VERSION,
                                          .bytes = sizeof control,
                                          .wanted = HU_DOOR_CUDA,
                                          .clock = HU_CLOCK_TSC,
                                          .ticks_per_second = 2e9,
                                          .os_threshold = 1000,
                                          .began_ns = SECOND,
                                          .stopped_ns = INT64_C(3) * SECOND};
static const hu_clock_snapshot clocks[] = {{2 * UINT64_C(1000000000), SECOND, SECOND, SECOND + 5},
                                           {4 * UINT64_C(1000000000), INT64_C(2) * SECOND, SECOND, INT64_C(2) * SECOND + 5}};
static const gpu_file          gpu = {{HU_GPU_FILE_MAGIC, 1, 0, SECOND / 10},
                                      {.row = {HU_GPU_ROW_DEVICE, sizeof(hu_gpu_row_device), 0}, .uuid = "GPU-1"},
                                      {{HU_GPU_ROW_PROCESS, sizeof(hu_gpu_row_process), 0}, 1, 0},
                                      {{{HU_GPU_ROW_SAMPLE, sizeof(hu_gpu_row_sample), 0}, SECOND, 0x1ff, 0, {5}},
                                       {{HU_GPU_ROW_SAMPLE, sizeof(hu_gpu_row_sample), 0}, INT64_C(2) * SECOND, 0x1ff, 0, {6}}},
                                      {{HU_GPU_ROW_PROBLEM, sizeof(hu_gpu_row_problem), 0}, SECOND, "lost"}};
static const wait_file         waits = {{HU_WAIT_MAGIC, 1, sizeof(hu_wait_row)},
                                        {{SECOND, SECOND, SECOND, SECOND, 0, 1, FIRST_TID, 0, 1, HU_WAIT_ROW_SEEN, 0, {0}},
                                         {SECOND, SECOND, SECOND, SECOND, 0, 1, FIRST_TID, 0, 1, HU_WAIT_ROW_SEEN, 0, {0}}}};
static const hu_outsider       outsiders[] = {
          {.pid = 2, .ppid = 1, .first_ns = SECOND, .last_ns = INT64_C(2) * SECOND, .name = "o"}};

static const struct {
    const void *bytes;
    size_t      n;
} whole[FILES] = {[CONTROL] = {&control, sizeof control},
                  [CLOCKS] = {clocks, sizeof clocks},
                  [GPU] = {&gpu, sizeof gpu},
                  [WAITS] = {&waits, sizeof waits},
                  [OUTSIDERS] = {outsiders, sizeof outsiders}};

static struct {
    char     folder[64], path[FILES][96], out[96];
    hu_block file[BLOCKS];
    char     pieces[MOST_DRAIN];
    size_t   n_pieces;
    char     others[FILES][4096];
    bool     is_there[FILES];
} made;

static void remove_all(void)
{
    for (int i = 0; i < FILES; i++)
        unlink(made.path[i]);
    unlink(made.out);
    rmdir(made.folder);
}

static void prepare(void)
{
    hu_ring_head *head = (hu_ring_head *)(void *)made.file;

    if (!made.folder[0]) {
        strcpy(made.folder, "/tmp/holdup-fuzz-XXXXXX");
        if (!mkdtemp(made.folder))
            abort();
        for (int i = 0; i < FILES; i++)
            snprintf(made.path[i], sizeof made.path[i], "%s/%s", made.folder, names[i]);
        snprintf(made.out, sizeof made.out, "%s/out.pftrace", made.folder);
        atexit(remove_all);
    }
    memset(made.file, 0, sizeof made.file);
    made.n_pieces = 0;
    memset(made.is_there, 0, sizeof made.is_there);
    for (int i = CONTROL; i < FILES; i++)
        memcpy(made.others[i], whole[i].bytes, whole[i].n);
    *head = (hu_ring_head){.magic = HU_RING_MAGIC,
                           .version = HU_FORMAT_VERSION,
                           .block_bytes = HU_BLOCK_BYTES,
                           .pid = 1,
                           .n_blocks = BLOCKS,
                           .state = HU_PROCESS_EXITED,
                           .doors = HU_DOOR_NCCL | HU_DOOR_OPENCL | HU_DOOR_OPENMP,
                           .exited = 1000000,
                           .rank = -1,
                           .world_size = -1,
                           .cuda = {.state = HU_CUDA_RECORDED,
                                    .tid = FIRST_TID, /* whose records are of CUPTI, if any are */
                                    .n_devices = 1,
                                    .devices = {{.sm_count = 132, .warp_size = 32}}},
                           .opencl = {.n_devices = 1,
                                      .n_knots = 2,
                                      .enqueued = 3,
                                      .knots = {{.ticks = 5, .device_ns = 105, .error_ticks = 2},
                                                {.ticks = 50, .device_ns = 151, .error_ticks = 1}}}};
    for (unsigned i = 1; i < BLOCKS; i++)
        made.file[i].head = (hu_block_head){.state = HU_BLOCK_FULL,
                                            .kind = i == 1,
                                            .tid = i == 1 ? 0 : FIRST_TID + i - 2,
                                            .thread = i == 1 ? 0 : i - 1,
                                            .sequence = i,
                                            .taken = i == 1 ? 64 : 8,
                                            .used = 8};
}

static void poke(const uint8_t *data, size_t n)
{
    for (size_t at = 0; at + 4 <= n;) {
        const size_t where = data[at] % FILES, offset = (data[at + 1] | (size_t)data[at + 2] << 8) * UNIT;
        const size_t length = data[at + 3] < n - at - 4 ? data[at + 3] : n - at - 4;

        if (where >= CONTROL) {
            made.is_there[where] = true;
            if (offset + length <= whole[where].n)
                memcpy(made.others[where] + offset, data + at + 4, length);
        } else if (where == DRAIN) {
            if (made.n_pieces + length <= MOST_DRAIN)
                memcpy(made.pieces + made.n_pieces, data + at + 4, length);
            made.n_pieces += made.n_pieces + length <= MOST_DRAIN ? length : 0;
        } else if (offset + length <= sizeof made.file) {
            memcpy((char *)made.file + offset, data + at + 4, length);
        }
        at += 4 + length;
    }
}

static void write_file(const char *path, const void *bytes, size_t n)
{
    const int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);

    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
        abort();
    close(fd);
}

/* A number for all that a thread's records say. */
static uint64_t digest(hu_ring_file *f, const hu_ring_thread *t, hu_ring_damage *damage)
{
    hu_ring_cursor c;
    hu_ring_event  e;
    uint64_t       sum = 0, n = 0;

    hu_ring_start(f, t, damage, &c);
    while (hu_ring_next(&c, &e)) {
        sum = sum * 31 + e.record->a + e.record->type + e.n_more;
        for (uint32_t i = 0; i < e.n_more; i++)
            sum += e.more[i].a + hu_ring_text(f, e.more[i].id).n;
        if (++n > t->n_slots)
            abort();
    }
    return sum;
}

static void read_rings(void)
{
    hu_ring_file         *f;
    const hu_ring_thread *threads;
    size_t                n;
    hu_ring_damage        first = {0}, again = {0};

    for (int is_live = 0; is_live < 2; is_live++) {
        if (hu_ring_open(made.path[RING], is_live, &f, NULL) < 0)
            continue;
        threads = hu_ring_threads(f, &n);
        for (size_t i = n; i-- > 0;)
            if (digest(f, &threads[i], &first) != digest(f, &threads[i], &again))
                abort();
        if (memcmp(&first, &again, sizeof first) != 0)
            abort();
        hu_ring_last_ticks(f);
        hu_ring_close(f);
    }
}

static int name(void *unused, const hu_pftrace_file *file, char *out, size_t room, hu_error *err)
{
    (void)unused;
    (void)file;
    (void)err;
    snprintf(out, room, "%s", made.out);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    hu_arena                *arena = hu_arena_new();
    const hu_pftrace_options how = {.session = made.folder, .host = "fuzz", .name = name};
    hu_pftrace_result        result;
    hu_error                 err = {0};

    prepare();
    poke(data, n);
    write_file(made.path[RING], made.file, sizeof made.file);
    write_file(made.path[DRAIN], made.pieces, made.n_pieces);
    for (int i = CONTROL; i < FILES; i++)
        if (made.is_there[i])
            write_file(made.path[i], made.others[i], whole[i].n);
        else
            unlink(made.path[i]);
    read_rings();
    hu_pftrace_write(&how, arena, &result, &err);
    hu_arena_free(arena);
    return 0;
}
