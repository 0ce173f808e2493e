/* SPDX-License-Identifier: Apache-2.0
 * test_cupti.c - what CUPTI's records become: by the version of the library that wrote them, and nothing lost unsaid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/cuda.h"
#include "inject/cupti_fields.h"
#include "inject/sys.h"

static void check_equal(uint64_t a, uint64_t b, const char *what, int line)
{
    if (a != b) {
        fprintf(stderr, "test_cupti.c:%d: %s: %llu, not %llu\n", line, what, (unsigned long long)a, (unsigned long long)b);
        _exit(1);
    }
}

#define CHECK_EQUAL(a, b) check_equal((uint64_t)(a), (uint64_t)(b), #a, __LINE__)
#define CHECK(a)          check_equal((a) ? 1 : 0, 1, #a, __LINE__)

static char session[] = "/tmp/holdup-cupti-XXXXXX";

static void join(void)
{
    hu_control control = {.magic = HU_CONTROL_MAGIC,
                          .version = HU_FORMAT_VERSION,
                          .bytes = sizeof control,
                          .mask = HU_DOOR_CUDA,
                          .wanted = HU_DOOR_CUDA,
                          .clock = HU_CLOCK_MONOTONIC,
                          .max_blocks = 64,
                          .ticks_per_second = 1e9};
    char       path[64];
    int        fd;

    snprintf(path, sizeof path, "%s/control", session);
    fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
    CHECK_EQUAL(write(fd, &control, sizeof control), sizeof control);
    CHECK_EQUAL(ftruncate(fd, 4096), 0);
    close(fd);
    setenv("HOLDUP_SESSION", session, 1);
    CHECK(hu_process_join());
    hu_ring_init();
    hu_gate_page();
    CHECK(hu_process_attach());
    hu_gate_init();
}

/* a library of our own: records of one length each, and names of a few functions */

enum { ROOM = 256, MOST = 16 };

static uint8_t made[MOST][ROOM] __attribute__((aligned(8)));
static size_t  n_made;

static int next_record(uint8_t *buffer, size_t valid, uint8_t **record)
{
    uint8_t *next = *record ? *record + ROOM : buffer;

    if (next < buffer + valid && *next == 0) /* of no kind: not complete */
        return HU_CUPTI_INVALID_KIND;

    if (next >= buffer + valid)
        return HU_CUPTI_MAX_LIMIT;
    *record = next;
    return HU_CUPTI_OK;
}

static int callback_name(uint32_t domain, uint32_t cbid, const char **name)
{
    static const char *const names[2][4] = {
        {"cuInit", "cuLaunchKernel_ptsz", "cuMemcpyHtoDAsync_v2", "cuCtxGetDevice"},
        {"cudaGetDevice_v3020", "cudaLaunchKernel_v7000", "cudaMemcpyAsync_ptsz_v7000", "cudaStreamSynchronize_v3020"}};

    if (cbid >= 4)
        return 1;
    *name = names[domain == HU_CUPTI_OF_RUNTIME][cbid];
    return HU_CUPTI_OK;
}

static uint8_t *add(uint32_t kind, uint8_t fill)
{
    uint8_t *r = made[n_made++];

    memset(r, fill, ROOM);
    memcpy(r, &kind, sizeof kind);
    return r;
}

static void put(uint8_t *record, size_t offset, size_t bytes, uint64_t value)
{
    memcpy(record + offset, &value, bytes);
}

static void decode(uint32_t version, bool is_spare)
{
    hu_buffer buffer = {.at = made[0], .bytes = sizeof made, .valid = n_made * ROOM, .is_spare = is_spare};

    hu_the_cupti = (hu_cupti){.version = version, .next_record = next_record, .callback_name = callback_name};
    hu_cupti_use_version(version);
    hu_cupti_decode(&buffer);
    n_made = 0;
}

/* The records of this process's ring so far. */
static const hu_record *all(size_t *n)
{
    for (uint32_t i = 1; i < hu_the_process.head->n_blocks; i++) {
        const hu_block *b = hu_block_at(hu_the_process.head, i);

        if (b->head.state == HU_BLOCK_OPEN && b->head.kind == HU_BLOCK_OF_RECORDS) {
            *n = b->head.taken;
            return b->records;
        }
    }
    *n = 0;
    return NULL;
}

/* The text of an id: they lie one behind the other in blocks of their own. */
static bool is_text(uint32_t id, const char *text)
{
    return id == hu_string_as_is(text, strlen(text));
}

static uint8_t *add_kernel(const char *name, uint64_t start, uint64_t end, uint8_t fill)
{
    uint8_t *k = add(10, fill);

    put(k, 6, 2, 40);
    put(k, 16, 8, start);
    put(k, 24, 8, end);
    put(k, 40, 4, 1);
    put(k, 44, 4, 2);
    put(k, 48, 4, 7);
    put(k, 52, 4, 100000);
    put(k, 56, 4, 2);
    put(k, 60, 4, 3);
    put(k, 64, 4, 1024);
    put(k, 68, 4, 1);
    put(k, 72, 4, 1);
    put(k, 76, 4, 1000);
    put(k, 80, 4, 24);
    put(k, 92, 4, 99);
    put(k, 104, 8, (uint64_t)(uintptr_t)name);
    put(k, 120, 8, 0);
    put(k, 144, 8, UINT64_C(5) << 32 | 6);
    put(k, 156, 4, 5);
    return k;
}

/* What comes of add_kernel. */
static void check_kernel(const hu_record *r, uint32_t priority)
{
    CHECK_EQUAL(r[0].type, HU_RECORD_GPU);
    CHECK_EQUAL(r[0].aux, HU_GPU_KERNEL);
    CHECK(is_text(r[0].id, "_Z3addv"));
    CHECK_EQUAL(r[0].time, 1000);
    CHECK_EQUAL(r[0].a, 2500);
    CHECK_EQUAL(r[0].b, 99 | UINT64_C(1) << 32);
    CHECK_EQUAL(r[1].type, HU_RECORD_MORE);
    CHECK_EQUAL(r[1].aux, HU_MORE_GPU_PLACE);
    CHECK_EQUAL(r[1].id, 7);
    CHECK_EQUAL(r[1].a, 2 | UINT64_C(5) << 32);
    CHECK_EQUAL((uint32_t)r[1].b, 6);
    CHECK_EQUAL(r[2].aux, HU_MORE_GPU_LAUNCH);
    CHECK_EQUAL(r[2].a, 100000 | UINT64_C(2) << 32);
    CHECK_EQUAL(r[2].b, 3 | UINT64_C(1024) << 32);
    CHECK_EQUAL(r[2].time, 1024 | UINT64_C(1) << 16 | UINT64_C(1) << 32 | UINT64_C(40) << 48);
    CHECK_EQUAL(r[2].id, priority);
}

static void kernels_have_all_fields(void)
{
    const hu_record *r;
    size_t           n;

    join();
    add_kernel("_Z3addv", 1000, 3500, 0);
    decode(26, false);
    r = all(&n);
    CHECK_EQUAL(n, 3);
    check_kernel(r, HU_GPU_NO_PRIORITY);
}

/* the second interface: CUPTI says where each field lies */

static int next_of_subscriber(void *subscriber, uint8_t *buffer, size_t valid, uint8_t **record)
{
    CHECK(subscriber == &n_made);
    return next_record(buffer, valid, record);
}

/* The numbers and widths are those of the headers of 13.3 to 13.5; the places are of our choice, backwards and wider. */
static void fields_lie_where_cupti_says(void)
{
    static const struct {
        int      number;
        uint64_t value;
    } kernel[] = {{4, 40},      {7, 1000}, {8, 3500},
                  {10, 1},      {11, 2},   {12, 7},
                  {13, 100000}, {14, 2},   {15, 3},
                  {16, 1024},   {17, 1},   {18, 1},
                  {19, 1000},   {20, 24},  {22, UINT64_C(1) << 40 | 99},
                  {24, 0},      {25, 0},   {31, UINT64_C(5) << 32 | 6},
                  {33, 5},      {45, 11}};
    enum { FIELDS_OF_KERNEL = sizeof kernel / sizeof *kernel, RECORD = 8 * (FIELDS_OF_KERNEL + 1) };
    static const char name[] = "_Z3addv";
    hu_cupti_entry    entries[FIELDS_OF_KERNEL];
    hu_cupti_layout   layout = {sizeof layout, entries, FIELDS_OF_KERNEL, RECORD};
    hu_buffer         buffer = {.at = made[0], .bytes = sizeof made, .valid = ROOM};
    int               numbers[64];
    const hu_record  *r;
    size_t            n = hu_cupti_choose(10, numbers, 64);
    uint8_t          *k;

    CHECK_EQUAL(n, FIELDS_OF_KERNEL + 1);
    CHECK_EQUAL(numbers[0], 0);
    for (size_t i = 0; i < FIELDS_OF_KERNEL; i++)
        CHECK_EQUAL(numbers[i + 1], kernel[i].number);
    join();
    k = add(10, 0xff);
    for (size_t i = 0; i < FIELDS_OF_KERNEL; i++) {
        entries[i] = (hu_cupti_entry){sizeof *entries, kernel[i].number, RECORD - 8 * (i + 1), 8, 8};
        put(k, entries[i].offset, 8, kernel[i].number == 24 ? (uint64_t)(uintptr_t)name : kernel[i].value);
    }
    hu_the_cupti = (hu_cupti){.version = 130300, .subscriber = &n_made, .next_record_2 = next_of_subscriber};
    hu_cupti_use_version(0);
    hu_cupti_use_layout(10, &layout);
    hu_cupti_decode(&buffer);
    r = all(&n);
    CHECK_EQUAL(n, 3);
    check_kernel(r, 11);
}

/* A field that is said to lie outside of its record, or to be wider than any number, is not read. */
static void places_are_checked(void)
{
    hu_cupti_entry  entries[] = {{sizeof *entries, 1, 60, 8, 8},
                                 {sizeof *entries, 2, 8, 16, 8},
                                 {sizeof *entries, 3, (size_t)-4, 8, 8},
                                 {sizeof *entries, 6, 56, 8, 8}};
    hu_cupti_layout layout = {sizeof layout, entries, 4, 64};

    hu_cupti_entry  uuid = {sizeof uuid, 28, 16, 8, 8}; /* not 16 bytes */
    hu_cupti_layout device = {sizeof device, &uuid, 1, 64};

    hu_cupti_use_version(130500);
    hu_cupti_use_layout(8, &device);
    CHECK(!hu_cupti_has(DEVICE_UUID));
    uuid.bytes = 16;
    hu_cupti_use_layout(8, &device);
    CHECK(hu_cupti_has(DEVICE_UUID));
    CHECK(hu_cupti_has(CALL_CBID) && hu_cupti_has(CALL_START) && hu_cupti_has(CALL_END));
    hu_cupti_use_layout(4, &layout); /* calls of the driver are laid out as the runtime's */
    CHECK(!hu_cupti_has(CALL_CBID) && !hu_cupti_has(CALL_START) && !hu_cupti_has(CALL_END));
    CHECK(!hu_cupti_has(CALL_THREAD)); /* not said */
    CHECK_EQUAL(hu_cupti_places[CALL_CORRELATION].offset, 56);
    CHECK(hu_cupti_has(KERNEL_NAME)); /* another kind */
}

/* What an older library has behind its records is anything. */
static void fields_that_a_version_lacks_are_not_read(void)
{
    static const struct {
        uint32_t version, priority;
        uint64_t sync;
    } rows[] = {{18, HU_GPU_NO_PRIORITY, 0},          {20, HU_GPU_NO_PRIORITY, 0},
                {26, HU_GPU_NO_PRIORITY, UINT64_MAX}, {130000, HU_GPU_NO_PRIORITY, UINT64_MAX},
                {130101, UINT32_MAX, UINT64_MAX},     {130500, UINT32_MAX, UINT64_MAX}};

    join();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const hu_record *r;
        size_t           n;
        uint8_t         *w;

        add_kernel("k", 1, 2, 0xff);
        w = add(38, 0xff);
        put(w, 4, 4, 2);
        put(w, 8, 8, 10);
        put(w, 16, 8, 20);
        decode(rows[i].version, false);
        r = all(&n);
        CHECK_EQUAL(n, 6 * (i + 1));
        CHECK_EQUAL(r[6 * i + 2].id, rows[i].priority);
        CHECK_EQUAL(r[6 * i + 3].aux, HU_GPU_WAIT);
        CHECK(is_text(r[6 * i + 3].id, "Stream Wait Event"));
        CHECK_EQUAL(r[6 * i + 5].aux, HU_MORE_GPU_EVENT);
        CHECK_EQUAL(r[6 * i + 5].a, UINT32_MAX);
        CHECK_EQUAL(r[6 * i + 5].b, rows[i].sync);
    }
}

static void what_is_left_out_is_counted(void)
{
    const hu_cuda_facts *f;
    size_t               n;

    join();
    f = hu_cuda_get_facts();
    add_kernel("k", 0, 0, 0);
    add(40, 0);
    add(999, 0);
    decode(26, false);
    (void)all(&n);
    CHECK_EQUAL(n, 0);
    CHECK_EQUAL(f->records, 3);
    CHECK_EQUAL(f->no_time, 1);
    CHECK_EQUAL(f->unknown, 2);
    add_kernel("k", 1, 2, 0);
    decode(26, true);
    CHECK_EQUAL(f->thrown, 1);
    CHECK_EQUAL(f->records, 4);
    add(0, 0);
    decode(26, false);
    CHECK_EQUAL(f->no_time, 2);
    CHECK_EQUAL(f->records, 4);
}

static void add_call(uint32_t kind, uint32_t cbid)
{
    uint8_t *c = add(kind, 0);

    put(c, 4, 4, cbid);
    put(c, 8, 8, 100);
    put(c, 16, 8, 150);
    put(c, 28, 4, 4194303);
    put(c, 32, 4, 7);
    put(c, 36, 4, 700);
}

static void calls_have_their_names_and_threads(void)
{
    static const char *const names[] = {"cudaLaunchKernel",    "cudaMemcpyAsync", "cudaStreamSynchronize",
                                        "CUDA runtime call 4", "cuLaunchKernel",  "cuMemcpyHtoDAsync_v2"};
    const hu_record         *r;
    size_t                   n;

    join();
    for (uint32_t cbid = 0; cbid < 5; cbid++)
        add_call(5, cbid);
    for (uint32_t cbid = 0; cbid < 4; cbid++)
        add_call(4, cbid);
    decode(18, false);
    r = all(&n);
    CHECK_EQUAL(n, 6); /* cudaGetDevice, cuInit and cuCtxGetDevice say nothing */
    for (size_t i = 0; i < n; i++) {
        CHECK(is_text(r[i].id, names[i]));
        CHECK_EQUAL(r[i].aux & 31, i < 4 ? HU_GPU_RUNTIME : HU_GPU_DRIVER);
        CHECK_EQUAL(r[i].b, 7 | UINT64_C(4194303) << 32 | UINT64_C(700) << 54);
    }
    CHECK_EQUAL(r[0].aux >> HU_GPU_KIND_BITS, 1);
}

static void copies_and_devices(void)
{
    static const char    name[] = "NVIDIA H100 80GB HBM3";
    const hu_record     *r;
    const hu_cuda_facts *f;
    size_t               n;
    uint8_t             *c;

    join();
    f = hu_cuda_get_facts();
    c = add(1, 0);
    c[4] = 2, c[5] = 3, c[6] = 2;
    put(c, 8, 8, 4096);
    put(c, 16, 8, 10);
    put(c, 24, 8, 30);
    c = add(22, 0);
    c[4] = 10, c[5] = 3, c[6] = 3;
    put(c, 16, 8, 10);
    put(c, 24, 8, 30);
    put(c, 44, 4, 2);
    put(c, 52, 4, 3);
    put(c, 60, 4, 77);
    for (int i = 0; i < 2; i++) { /* the second time it is known */
        c = add(8, 0);
        put(c, 16, 8, UINT64_C(80) << 30);
        put(c, 32, 4, 32);
        put(c, 44, 4, 132);
        put(c, 52, 4, 64);
        put(c, 112, 4, 3);
        memset(c + 120, 0x5a, 16);
        put(c, 136, 8, (uint64_t)(uintptr_t)name);
        c[144] = 1;
    }
    for (uint32_t number = 3; number < 5;
         number++) { /* boards that the program cannot see, the first by a number that it uses */
        c = add(8, 0);
        put(c, 44, 4, 108);
        put(c, 112, 4, number);
        memset(c + 120, 0x11, 16);
    }
    c = add(8, 0); /* ... and one that turns out to be another's number */
    put(c, 112, 4, 4);
    put(c, 44, 4, 99);
    memset(c + 120, 0x22, 16);
    c[144] = 1;
    decode(26, false);
    r = all(&n);
    CHECK_EQUAL(n, 6);
    CHECK(is_text(r[0].id, "Memcpy DtoH (Device -> Pinned)"));
    CHECK_EQUAL(r[2].a, 4096);
    CHECK_EQUAL(r[2].b, UINT64_MAX);
    CHECK(is_text(r[3].id, "Memcpy PtoP (Device -> Device)"));
    CHECK_EQUAL((uint32_t)r[3].b, 77);
    CHECK_EQUAL(r[5].b, 2 | UINT64_C(3) << 32);
    CHECK_EQUAL(f->n_devices, 2);
    CHECK_EQUAL(f->devices[0].id, 3);
    CHECK_EQUAL(f->devices[0].sm_count, 132);
    CHECK_EQUAL(f->devices[0].uuid[0] & f->devices[0].uuid[15], 0x5a);
    CHECK_EQUAL(f->devices[1].sm_count, 99);
    CHECK_EQUAL(f->devices[1].uuid[0] & f->devices[1].uuid[15], 0x22);
    CHECK_EQUAL(f->used, 1 << 0); /* the copies' device */
    CHECK_EQUAL(f->devices[0].max_threads_per_sm, 2048);
    CHECK_EQUAL(strcmp(f->devices[0].name, name), 0);
}

/* CUPTI before 12.9 crashes when it is given none. */
static void a_request_always_gets_zeros(void)
{
    enum { MANY = 400 };
    uint8_t *got[MANY], foreign[16];
    size_t   bytes, most;
    uint32_t n_spare = 0;

    join();
    for (int i = 0; i < MANY; i++) {
        hu_buffers_request(&got[i], &bytes, &most);
        CHECK(got[i] && bytes >= 4096 && (uintptr_t)got[i] % 8 == 0);
        CHECK_EQUAL(got[i][0] | got[i][bytes - 1], 0);
        for (int k = 0; k < i; k++)
            CHECK(got[k] != got[i]);
        got[i][0] = 1;
    }
    CHECK(!hu_buffers_complete(foreign, 16));
    for (int i = 0; i < MANY; i++)
        CHECK(hu_buffers_complete(got[i], 8));
    for (int i = 0; i < MANY; i++) {
        hu_buffer *b = hu_buffers_take();

        CHECK(b && b->at == got[i] && b->valid == 8);
        n_spare += b->is_spare;
        hu_buffers_give_back(b);
    }
    CHECK(!hu_buffers_take());
    CHECK(n_spare > 0 && n_spare < MANY);
    hu_buffers_request(&got[0], &bytes, &most);
    CHECK_EQUAL(got[0][0], 0);
}

/* Requests that no memory can be had for share one piece: what is written there is counted, and said to be lost. */
static void what_nobody_can_decode_is_counted(void)
{
    enum { KERNELS = 3 };
    const struct rlimit none = {0, 0};
    uint8_t            *got[2], *own, *k;
    size_t              bytes, most;

    join();
    hu_the_cupti = (hu_cupti){.version = 26, .next_record = next_record};
    hu_buffers_request(&own, &bytes, &most);
    CHECK_EQUAL(setrlimit(RLIMIT_AS, &none), 0);
    if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
        fputs("SKIPPED: nothing limits memory here, as in QEMU's user mode\n", stderr);
        return;
    }
    for (int i = 0; i < KERNELS; i++)
        add_kernel("k", 1, 2, 0);
    hu_buffers_request(&got[0], &bytes, &most);
    CHECK(got[0] != own && bytes >= sizeof made);
    memcpy(got[0], made, KERNELS * ROOM);
    CHECK(hu_buffers_complete(got[0], KERNELS * ROOM));
    CHECK_EQUAL(hu_buffers_lost(), KERNELS);
    CHECK_EQUAL(hu_buffers_lost(), 0);
    hu_buffers_request(&got[0], &bytes, &most);
    k = got[0];
    CHECK_EQUAL(k[0] | k[KERNELS * ROOM - 1], 0);
    hu_buffers_request(&got[1], &bytes, &most);
    CHECK(got[0] == got[1]); /* they write over each other: one record each is sure */
    memcpy(got[0], made, KERNELS * ROOM);
    CHECK(hu_buffers_complete(got[0], KERNELS * ROOM));
    CHECK(hu_buffers_complete(got[1], KERNELS * ROOM));
    CHECK_EQUAL(hu_buffers_lost(), 2);
    hu_buffers_request(&got[0], &bytes, &most);
    CHECK_EQUAL(got[0][0] | got[0][KERNELS * ROOM - 1], 0);
    CHECK(hu_buffers_complete(got[0], 0));
    CHECK_EQUAL(hu_buffers_lost(), 0);
    CHECK(!hu_buffers_take());
}

/* A buffer comes back while its lock is held, here by the call that is interrupted: its records are counted, and those of
 * somebody else's buffer go on to him. */
static uint8_t *to_complete;
static uint8_t  foreign_buffer[16];
static bool     is_completed, is_passed_on;

static void complete_inside(int signal, siginfo_t *info, void *context)
{
    ucontext_t *c = context;

    (void)signal;
    (void)info;
    if (!is_completed) {
        is_completed = hu_buffers_complete(to_complete, 2 * ROOM);
        is_passed_on = !hu_buffers_complete(foreign_buffer, 8);
    }
#ifdef __aarch64__
    c->uc_mcontext.regs[0] = (unsigned long long)-ENOMEM;
#else
    c->uc_mcontext.gregs[REG_RAX] = -ENOMEM;
#endif
}

static void what_comes_back_without_the_lock_is_counted(void)
{
    struct sock_filter      filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {4, filter};
    struct sigaction        action = {.sa_sigaction = complete_inside, .sa_flags = SA_SIGINFO};
    uint8_t                *next;
    size_t                  bytes, most;

    join();
    hu_the_cupti = (hu_cupti){.version = 26, .next_record = next_record};
    hu_buffers_request(&to_complete, &bytes, &most);
    add_kernel("k", 1, 2, 0);
    add_kernel("k", 1, 2, 0);
    memcpy(to_complete, made, sizeof made[0] * 2);
    CHECK_EQUAL(sigaction(SIGSYS, &action, NULL), 0);
    CHECK_EQUAL(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        CHECK_EQUAL(errno, EINVAL);
        fputs("SKIPPED: nothing filters system calls here, as in QEMU's user mode\n", stderr);
        return;
    }
    hu_buffers_request(&next, &bytes, &most); /* maps a new one, under the lock */
    CHECK(is_completed && is_passed_on);
    CHECK_EQUAL(hu_buffers_lost(), 2);
    CHECK(!hu_buffers_take());
}

static void in_child(void (*test)(void))
{
    int         status;
    const pid_t pid = fork();

    if (pid == 0) {
        test();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* clang-format off */
#define TEST(name) static void test_##name(void **state) { (void)state; in_child(name); }
#define TESTS(T) T(kernels_have_all_fields) T(fields_lie_where_cupti_says) T(places_are_checked) T(fields_that_a_version_lacks_are_not_read) T(what_is_left_out_is_counted) \
    T(calls_have_their_names_and_threads) T(copies_and_devices) T(a_request_always_gets_zeros) \
    T(what_nobody_can_decode_is_counted) T(what_comes_back_without_the_lock_is_counted)
/* clang-format on */
TESTS(TEST)

int main(void)
{
#define ROW(name) cmocka_unit_test(test_##name),
    const struct CMUnitTest tests[] = {TESTS(ROW)};
    char                    command[64];
    int                     rc;

    if (!mkdtemp(session))
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -r %s", session);
    return system(command) == 0 ? rc : 1;
}
