/* SPDX-License-Identifier: Apache-2.0
 * formats.c - all that can be read, in the order of probing: the most specific first. */
#include "ingest/format.h"

extern const hu_format hu_format_chrome_json;
extern const hu_format hu_format_perfetto;

const hu_format *const hu_formats[] = {
    &hu_format_perfetto,    /* a packet that is whole protobuf and no text */
    &hu_format_chrome_json, /* '{' or '[': torch.profiler (Kineto) and other Chrome traces */
    NULL,
};

const hu_format *hu_format_find(hu_str head)
{
    for (size_t i = 0; hu_formats[i]; i++)
        if (hu_formats[i]->probe(head))
            return hu_formats[i];
    return NULL;
}
