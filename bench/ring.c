/* SPDX-License-Identifier: Apache-2.0
 * ring.c - what one record costs: gate, time stamp, 32 bytes, publish.  Promise: <= 12 ns, paused <= 2 ns. */
#include "bench/recorder.h"

static void record(int n)
{
    for (int i = 0; i < n; i++)
        if (hu_gate_open(HU_DOOR_NVTX)) {
            hu_record *r = hu_ring_take(1);

            if (r) {
                r->time = hu_ticks();
                r->id = 1;
                r->aux = 0;
                r->a = (uint64_t)i;
                r->b = 0;
                hu_ring_publish(r, HU_RECORD_MARK);
            }
        }
}

static void with_more(int n)
{
    for (int i = 0; i < n; i++) {
        hu_record *r = hu_ring_take(2);

        if (r) {
            hu_ring_more(r + 1, 1, HU_MORE_UINT, (uint64_t)i);
            r->time = hu_ticks();
            r->id = 1;
            r->a = r->b = 0;
            hu_ring_publish(r, HU_RECORD_MARK);
        }
    }
}

int main(void)
{
    hu_control *control = bench_join();
    double      rdtsc;

    rdtsc = bench_ns(bench_rdtsc);
    bench_row("time stamp alone", rdtsc, rdtsc, 0);
    bench_row("record", bench_ns(record), rdtsc, 12);
    bench_row("record with a value", bench_ns(with_more), rdtsc, 0);
    control->mask = 0;
    bench_row("paused", bench_ns(record), rdtsc, 2);
    bench_leave();
    return 0;
}
