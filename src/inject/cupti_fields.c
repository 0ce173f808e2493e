/* SPDX-License-Identifier: Apache-2.0
 * cupti_fields.c - fills the places of fields: from versions, or from what CUPTI says.
 */
#include "inject/cupti_fields.h"
#include "base/banned.h"

hu_cupti_place hu_cupti_places[HU_CUPTI_FIELDS];

enum { MOST_RECORD_BYTES = 1024 }; /* no more of a record is believed */

static const struct {
    uint8_t  kind, bytes;
    uint16_t offset;
    uint32_t since;
    int16_t  number;
} fields[] = {
#define F(name, kind, offset, bytes, since, number) {kind, bytes, offset, since, number},
    FIELDS(F)
#undef F
};

void hu_cupti_use_version(uint32_t version)
{
    for (size_t i = 0; i < HU_CUPTI_FIELDS; i++)
        hu_cupti_places[i] = version >= fields[i].since ? (hu_cupti_place){fields[i].offset, fields[i].bytes}
                                                        : (hu_cupti_place){0, 0};
}

/* Calls of the driver look as those of the runtime. */
static int same_fields_as(int kind)
{
    return kind == OF_DRIVER_CALL ? OF_RUNTIME_CALL : kind;
}

size_t hu_cupti_choose(int kind, int *numbers, size_t room)
{
    size_t n = 0;

    if (room)
        numbers[n++] = 0; /* the kind */
    for (size_t i = 0; i < HU_CUPTI_FIELDS && n < room; i++)
        if (fields[i].kind == same_fields_as(kind) && fields[i].number >= 0)
            numbers[n++] = fields[i].number;
    return n;
}

/* `bytes` of a field that is no number: it must be as long as we know it. */
static hu_cupti_place find(const hu_cupti_layout *layout, int number, size_t bytes)
{
    for (size_t i = 0; i < layout->n_entries; i++) {
        const hu_cupti_entry *e = &layout->entries[i];
        const bool            fits = bytes > sizeof(uint64_t) ? e->bytes == bytes : e->bytes <= sizeof(uint64_t);

        if (e->field == number && fits && e->offset <= MOST_RECORD_BYTES && e->offset + e->bytes <= layout->record_bytes)
            return (hu_cupti_place){(uint16_t)e->offset, (uint8_t)e->bytes};
    }
    return (hu_cupti_place){0, 0};
}

void hu_cupti_use_layout(uint32_t kind, const hu_cupti_layout *layout)
{
    for (size_t i = 0; i < HU_CUPTI_FIELDS; i++)
        if (fields[i].kind == same_fields_as((int)kind) && fields[i].number >= 0)
            hu_cupti_places[i] = find(layout, fields[i].number, fields[i].bytes);
}
