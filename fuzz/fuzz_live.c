/* SPDX-License-Identifier: Apache-2.0
 * fuzz_live.c - any datagrams of any processes: the table stays small, counts never fall and shares are shares.
 *
 * The input is datagrams one after the other, each behind four bytes: its length (2), who sends it, and how long after the
 * last one (in quarters of a second).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/live/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static hu_live_state ask(void *context, uint32_t pid, uint64_t began)
{
    (void)context;
    return (pid + began) % 5 == 0 ? HU_LIVE_GONE : (pid + began) % 7 == 0 ? HU_LIVE_STOPPED : HU_LIVE_RUNS;
}

static void check(hu_live_table *t, int64_t now_ns)
{
    static hu_job_waits waits;
    hu_readings         r = {0};
    hu_reading          row;
    double              sum = 0;
    uint32_t            rows = 0;

    hu_live_table_look(t, now_ns);
    hu_live_table_put(t, now_ns, INT64_C(1795473876000000000) + now_ns, &waits, &r);
    for (size_t at = 0; hu_readings_next(&r, &at, &row); rows++) {
        if (row.value < 0 && row.metric != HU_METRIC_LIVE_STEP_NUMBER)
            abort();
        if (row.metric != HU_METRIC_LIVE_HOLDUP) {
            if (sum > 0 && (sum < .999999 || sum > 1.000001)) /* of the job before it */
                abort();
            sum = 0;
        } else {
            if (row.value > 1.000001)
                abort();
            sum += row.value;
        }
    }
    if (rows != r.head.n || r.is_full)
        abort();
    hu_readings_free(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    hu_live_table *t = hu_live_table_new(n % 2, ask, NULL);
    int64_t        now_ns = 0;

    while (t && n >= 4) {
        const size_t     bytes = (size_t)data[0] | (size_t)data[1] << 8, length = bytes < n - 4 ? bytes : n - 4;
        hu_live_sender   sender = {.pid = 1u + data[2] % 8, .uid = data[2] / 8 % 4};
        hu_live_who      who = {.uid = sender.uid, .group = 3, .owner = {.scheduler = "none", .user = "u"}};
        hu_live_datagram d;
        hu_live_verdict  verdict;

        now_ns += data[3] * INT64_C(250000000);
        verdict = hu_live_message_read(data + 4, length, &d);
        if (verdict == HU_LIVE_TAKEN) {
            who.pid = d.pid;
            memcpy(who.owner.job_id, d.job_id, sizeof d.job_id);
            if (!hu_live_table_take(t, &sender, &d, now_ns, &verdict))
                verdict = hu_live_table_add(t, &sender, &who, &d, now_ns);
        }
        hu_live_table_count(t, verdict);
        check(t, now_ns);
        data += 4 + length;
        n -= 4 + length;
    }
    hu_live_table_free(t);
    return 0;
}
