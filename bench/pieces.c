/* SPDX-License-Identifier: Apache-2.0
 * pieces.c - what scanning one trace with many threads consists of: pieces, which any thread scans, and joins, which come
 * one after the other.
 *
 * usage: pieces FILE     one line: pieces; CPU time in ns of the longest one, of all of them, of all joins
 *
 * Two threads read the file as always, and the calls that matter are timed by the clock of the thread that makes them.  Of
 * all pieces is all but the joins: reading from the disk's cache or unpacking, too.  The first chunk is no piece, and in
 * the time of all of them all the same.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "ingest/open.h"
#include "trace/builder.h"

static hu_input_looker *look;
static atomic_llong     longest_ns, n_pieces;
static int64_t          joins_ns;

void __real_hu_input_look_ahead(hu_input *in, hu_input_looker *looker, void *context);
void __wrap_hu_input_look_ahead(hu_input *in, hu_input_looker *looker, void *context);
void __real_hu_builder_join(hu_builder *whole, hu_builder *piece);
void __wrap_hu_builder_join(hu_builder *whole, hu_builder *piece);

static int64_t cpu_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void timed_look(void *context, const hu_span *chunk)
{
    const int64_t began = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    long long     took, before = atomic_load(&longest_ns);

    look(context, chunk);
    took = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - began;
    while (took > before && !atomic_compare_exchange_weak(&longest_ns, &before, took))
        ;
    atomic_fetch_add(&n_pieces, 1);
}

void __wrap_hu_input_look_ahead(hu_input *in, hu_input_looker *looker, void *context)
{
    look = looker;
    __real_hu_input_look_ahead(in, timed_look, context);
}

void __wrap_hu_builder_join(hu_builder *whole, hu_builder *piece)
{
    const int64_t began = cpu_ns(CLOCK_THREAD_CPUTIME_ID);

    __real_hu_builder_join(whole, piece);
    joins_ns += cpu_ns(CLOCK_THREAD_CPUTIME_ID) - began;
}

int main(int argc, char **argv)
{
    const hu_input_options options = {.limits = hu_limits_default(), .threads = 2};
    hu_error               err = {0};
    hu_builder            *b;
    int64_t                all_ns;

    if (argc != 2) {
        fprintf(stderr, "usage: pieces FILE\n");
        return 2;
    }
    all_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    b = hu_open_builder(argv[1], &options, &err);
    all_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - all_ns - joins_ns;
    if (!b) {
        fprintf(stderr, "pieces: %s\n", err.text);
        return 1;
    }
    hu_builder_free(b);
    printf("%lld %lld %lld %lld\n", (long long)n_pieces, (long long)longest_ns, (long long)all_ns, (long long)joins_ns);
    return 0;
}
