/* SPDX-License-Identifier: Apache-2.0
 * fuzz_redact.c - a text of any kind without its secrets: one is planted at the byte 0x01, or behind all, and must not come
 * out, whatever stands around it. */
#undef NDEBUG /* its assertions are what it is for */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(hu_str text, char *out, size_t room, hu_str secret)
{
    hu_redactor r = {0};

    for (int how = 0; how < 3; how++) {
        const size_t n = how == 0   ? hu_redact_text(text, out, room)
                         : how == 1 ? hu_redact_argument(&r, text, out, room)
                                    : hu_redact_arguments(text, out, room);

        assert(n <= room);
        assert(!memmem(out, n, secret.p, secret.n));
        assert(hu_redact_text((hu_str){out, n}, out + room, 2 * room) <= 2 * room);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char planted[] = "\nHF_TOKEN=PlantedSecret\n";
    const hu_str      secret = HU_STR("PlantedSecret"), plant = HU_STR(planted);
    const uint8_t    *split = size ? memchr(data, 1, size) : NULL;
    const size_t      before = split ? (size_t)(split - data) : size, n = size + plant.n;
    char             *text, *out;

    if (size > 1 << 16 || (size && memmem(data, size, "Plant", 5)))
        return 0;
    text = malloc(n);
    out = malloc(9 * n + 8);
    if (text && out) {
        if (before)
            memcpy(text, data, before);
        memcpy(text + before, plant.p, plant.n);
        if (size > before)
            memcpy(text + before + plant.n, data + before, size - before);
        check((hu_str){text, n}, out, 3 * n, secret);
        check((hu_str){text, n}, out, n / 2, secret);
    }
    free(text);
    free(out);
    return 0;
}
