/* SPDX-License-Identifier: Apache-2.0
 * inventory.h - every file in a directory and below it, by what it is: read, or refused and why. */
#ifndef HU_CLI_INVENTORY_H
#define HU_CLI_INVENTORY_H

#include "base/json_out.h"
#include "base/out.h"
#include "job/below.h"
#include "job/glance.h"

/* Files that a report reads in one way. */
typedef struct {
    const char *word, *what; /* stable, for --json; for people */
    size_t      n;
    uint64_t    bytes;
    int64_t     first_rank, last_rank; /* by their names; -1 they tell none */
    size_t      n_ranks;               /* that tell one */
} hu_inventory_kind;

/* A file that nothing reads. */
typedef struct {
    const hu_file_below *file;
    const char          *why; /* with the way out, where there is one */
    bool                 has_way_out;
} hu_refused_file;

typedef struct {
    const char *folder;
    hu_below    below;
    uint64_t    bytes;
    HU_VEC(hu_inventory_kind) kinds; /* as their first files come */
    HU_VEC(hu_refused_file) refused; /* those with a way out first */
} hu_inventory;

/* By one look at each file.  Lists live in `arena`.  Returns 0 or HU_ENOMEM. */
int hu_inventory_take(const char *folder, hu_glances *glances, hu_arena *arena, hu_inventory *out, hu_error *err);

void hu_inventory_text(const hu_inventory *v, size_t width, hu_out *out);
void hu_inventory_json(const hu_inventory *v, hu_out *out);

#endif
