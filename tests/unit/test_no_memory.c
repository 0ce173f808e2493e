/* SPDX-License-Identifier: Apache-2.0
 * test_no_memory.c - each allocation of a whole run fails once: an error code comes back, nothing leaks, nothing crashes. */
#include <stdbool.h>
#include <sys/mman.h>

#include "advise/verdict.h"
#include "testing.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__real_mremap(void *old, size_t old_size, size_t size, int flags, ...);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mremap(void *old, size_t old_size, size_t size, int flags, ...);

static long countdown = -1; /* the allocation that fails; negative: none */

static bool fails_now(void)
{
    return countdown >= 0 && countdown-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails_now() ? NULL : __real_realloc(old, size);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    return fails_now() ? MAP_FAILED : __real_mmap(at, size, protection, flags, fd, offset);
}

void *__wrap_mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
    return fails_now() ? MAP_FAILED : __real_mremap(old, old_size, size, flags);
}

enum { STEPS = 300 };

/* Large enough for columns to become page maps and to grow. */
static char *make_trace(void)
{
    const size_t room = 8u << 20;
    char        *text = __real_malloc(room);
    size_t       n = (size_t)snprintf(text, room, "{\"deviceProperties\":[{\"id\":0,\"name\":\"G\"}],\"traceEvents\":[");

    for (int i = 0; i < STEPS; i++) {
        const int t = i * 1000;

        n += (size_t)snprintf(text + n, room - n, "%s" USER("ProfilerStep#%d", "%d", "1000"), i ? "," : "", i, t);
        /* clang-format off */
        for (int k = 0; k < 40; k++)
            n += (size_t)snprintf(text + n, room - n,
                                  ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op%d\\n\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":9,"
                                  "\"args\":{\"External id\":%d,\"Input Dims\":[[%d]],\"Sequence number\":%d}}," CALL("cudaLaunchKernel", "%d", "2", "%d")
                                  "," KERNEL("k%d", "7", "%d", "3", "%d"),
                                  i * 40 + k, t + k * 10, i * 40 + k + 1, k, k, t + k * 10 + 2, i * 40 + k + 1, k, t + k * 10 + 5,
                                  i * 40 + k + 1);
        /* clang-format on */
    }
    snprintf(text + n, room - n, "]}");
    return text;
}

/* 0, or the code of the first failure. */
static int whole_run(const char *text)
{
    const hu_input_options options = plain_options();
    hu_error               err = {0};
    hu_input              *in = hu_input_open_memory(hu_str_of(text), "test", &options, &err);
    hu_builder            *b = in ? hu_open_input(in, &options, &err) : NULL;
    hu_trace              *t = b ? hu_builder_freeze(b, &err) : NULL;
    hu_digest *d = t ? hu_digest_measure(t, &(hu_digest_options){.grouping = HU_GROUP_STACK, .frames = 3}, &err) : NULL;
    hu_digest *merged = d ? hu_digest_merge((hu_digest *[]){d, d}, 2, &err) : NULL;

    hu_trace_free(t);
    if (!merged) {
        hu_digest_free(d);
        return err.code ? err.code : -1000;
    }
    hu_digest_free(merged);
    hu_digest_free(d);
    return 0;
}

static void every_allocation_may_fail(void **state)
{
    char *text = make_trace();
    long  k = 0, stride = 1;
    int   rc;

    (void)state;
    do {
        countdown = k;
        rc = whole_run(text);
        if (rc != 0)
            assert_int_equal(rc, HU_ENOMEM);
        stride = 1 + k / 60; /* each of the first, then fewer: the later ones are much alike */
        k += stride;
    } while (rc != 0);
    countdown = -1;
    assert_int_equal(whole_run(text), 0);
    assert_true(k > 100);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
