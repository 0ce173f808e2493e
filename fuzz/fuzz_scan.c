/* SPDX-License-Identifier: Apache-2.0
 * fuzz_scan.c - every variant of the event scanner must see the same event in the same bytes, and stay inside them. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/input.h"
#include "ingest/chrome_event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const chrome_event *a, const chrome_event *b)
{
    for (int place = 0; place < CHROME_IGNORED; place++) {
        const chrome_value *x = &a->at[place], *y = &b->at[place];

        if (chrome_has(a, place) != chrome_has(b, place))
            __builtin_trap();
        if (!chrome_has(a, place))
            continue;
        if (x->p != y->p || x->n != y->n || x->type != y->type || x->found != y->found ||
            (x->type == CHROME_INT && x->number != y->number))
            __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static chrome_scanner scanners[HU_CPU_COUNT];
    static chrome_event   events[HU_CPU_COUNT];
    const hu_cpu best = hu_cpu_detect();
    char        *text = malloc(size + HU_INPUT_PAD);
    const char  *after[HU_CPU_COUNT] = {0};

    if (!text)
        return 0;
    memcpy(text, data, size);
    memset(text + size, 0, HU_INPUT_PAD);
    for (hu_cpu cpu = HU_CPU_SCALAR; size && data[0] == '{' && cpu <= best; cpu++) {
        chrome_scanner_init(&scanners[cpu], 64);
        after[cpu] = chrome_scan_for(cpu)(&scanners[cpu], text, text + size, &events[cpu]);
        if (after[cpu] && (after[cpu] <= text || after[cpu] > text + size))
            __builtin_trap();
        if (!after[cpu] && (scanners[cpu].stop < text || scanners[cpu].stop > text + size))
            __builtin_trap();
        if (after[cpu] != after[HU_CPU_SCALAR] || (!after[cpu] && scanners[cpu].stop != scanners[HU_CPU_SCALAR].stop))
            __builtin_trap();
        if (after[cpu])
            compare(&events[HU_CPU_SCALAR], &events[cpu]);
    }
    free(text);
    return 0;
}
