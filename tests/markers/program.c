/* SPDX-License-Identifier: Apache-2.0
 * program.c - C and C++: calls every marker once, in a known order; the same lines come out of a recorder for both. */
#include "holdup_annotate.h"

#include <errno.h>
#include <stdio.h>

static holdup_name encode = HOLDUP_NAME("encode");

int main(void)
{
    holdup_range_id range;

    errno = 77;
    holdup_step();
    holdup_phase_push(HOLDUP_PHASE_FORWARD);
    holdup_range_push("attention");
    holdup_range_pop();
    holdup_range_push_name(&encode);
    holdup_range_push_name(&encode);
    holdup_range_pop();
    holdup_range_pop();
    holdup_phase_pop();
    holdup_mark("saved");
    holdup_mark_name(&encode);
    holdup_counter("loss", 0.25);
    holdup_counter_name(&encode, -1.5);
    holdup_count(HOLDUP_SAMPLES, 32);
    holdup_count(HOLDUP_TOKENS, 5000000000);
    range = holdup_range_start("copy");
    holdup_range_end(range);
    holdup_range_end(holdup_range_start_name(&encode));
    holdup_step_number(41);
    holdup_step_end();
#ifdef __cplusplus
    {
        holdup::step  step(42);
        holdup::range outer("outer");
        holdup::range inner(encode);
        holdup::range phase(HOLDUP_PHASE_DATA);
    }
#endif
    printf("errno %d dlerror %s listening %d range %d\n", errno,
#ifdef HOLDUP_DISABLE
           "(null)",
#else
           dlerror() ? "set" : "(null)",
#endif
           holdup_listening(), range != 0);
    return 0;
}
