/* SPDX-License-Identifier: Apache-2.0
 * smi_table.c - the table of calls without names that nvidia-smi asks libnvidia-ml for: here each answers "not supported". */
#include <stddef.h>

enum { NOT_SUPPORTED = 3, SLOTS = 512 };

static int no(void)
{
    return NOT_SUPPORTED;
}

int nvmlInternalGetExportTable(const void **table, const void *id);

int nvmlInternalGetExportTable(const void **table, const void *id)
{
    static int (*slots[SLOTS])(void);

    (void)id;
    for (size_t i = 0; i < SLOTS; i++)
        slots[i] = no;
    *table = (const void *)slots;
    return 0;
}
