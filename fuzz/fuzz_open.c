/* SPDX-License-Identifier: Apache-2.0
 * fuzz_open.c - any bytes through the front door: decoder, importer, index, every analysis. */
#include <stddef.h>
#include <stdint.h>

#include "analyze/digest.h"
#include "ingest/open.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const hu_input_options options = {.limits = {.events = 100000, .nesting = 64, .event_bytes = 1 << 20,
                                                 .string_bytes = 16 << 20, .inflate_ratio = 100}};
    hu_error    err = {0};
    hu_input   *in = hu_input_open_memory((hu_str){(const char *)data, size}, "fuzz", &options, &err);
    hu_builder *b = in ? hu_open_input(in, &options, &err) : NULL;
    hu_trace   *t = b ? hu_builder_freeze(b, &err) : NULL;

    if (t) {
        hu_digest_free(hu_digest_measure(t, &(hu_digest_options){.by_shape = size & 1}, &err));
        hu_trace_free(t);
    } else if (!err.code || !err.text[0]) {
        __builtin_trap();       /* a failure without a reason */
    }
    return 0;
}
