/* SPDX-License-Identifier: Apache-2.0
 * cost.c - a record is stored many times into memory of our own, as a door would.
 *
 * That is the price of the ring.  What a door does around it (a call through the PLT, a check of a descriptor, a hash of
 * a name) is not in it: some 5 to 30 ns more, docs/run.md says which.
 */
#include "record/cost.h"

#include <math.h>
#include <time.h>

#include "record/clocks.h"

enum { TRIES = 7, SECOND_NS = 1000000000 };

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

double hu_cost_of_record(hu_clock clock)
{
    hu_block block;
    int64_t  best = INT64_MAX;

    for (int k = 0; k < TRIES; k++) {
        const int64_t before = now_ns();
        int64_t       took;

        for (uint32_t i = 0; i < HU_BLOCK_RECORDS; i++) {
            hu_record *r = &block.records[i];

            r->time = hu_clocks_ticks(clock);
            r->id = i;
            r->aux = 0;
            r->b = 0;
            r->a = hu_clocks_ticks(clock) - r->time;
            __atomic_store_n(&r->type, (uint16_t)HU_RECORD_OS_CALL, __ATOMIC_RELEASE);
        }
        took = now_ns() - before;
        best = took < best ? took : best;
    }
    return (double)best / HU_BLOCK_RECORDS;
}

hu_cost hu_cost_measure(uint64_t records, double ns_per_record, int64_t threads_ns, int64_t supervisor_ns, int64_t job_ns)
{
    hu_cost      cost = {.records_ns = (int64_t)((double)records * ns_per_record) + threads_ns,
                         .supervisor_ns = supervisor_ns,
                         .job_ns = job_ns};
    const double job = (double)(job_ns - cost.records_ns);

    cost.share = job > 0 ? (double)(cost.records_ns + cost.supervisor_ns) / job : (double)NAN;
    return cost;
}
