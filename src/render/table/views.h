/* SPDX-License-Identifier: Apache-2.0
 * views.h - every question once: its word for --view and JSON, one line about it, its facts and its tables. */
#ifndef HU_RENDER_TABLE_VIEWS_H
#define HU_RENDER_TABLE_VIEWS_H

#include "render/table/columns.h"

typedef struct {
    const char            *word;  /* --view */
    const char            *key;   /* member of ranks[] in JSON */
    const char            *about; /* one line of --view list */
    const hu_column       *facts; /* single values; row is not looked at; `width` and `is_wide` neither */
    size_t                 n_facts;
    const hu_table *const *tables; /* the first is what --csv prints */
    size_t                 n_tables;
    bool                   is_list;   /* the member is the rows of the only table, without an object around them */
    bool                   is_alone;  /* each rank's own: ranks that are merged have none */
    bool (*has)(const hu_rank *rank); /* is there anything to say; NULL: ask the tables */
    const char *nothing;              /* what to say when there is not */
} hu_view;

extern const hu_view *const hu_views[]; /* ends with NULL */

/* Is it about a job and not about each of its ranks?  Its member of JSON stands beside ranks[] then. */
static inline bool hu_view_is_job(const hu_view *view)
{
    return view->n_tables && view->tables[0]->is_job;
}

extern const hu_view        hu_view_hta, hu_view_tracelens; /* other tools' numbers: only where asked for */
extern const hu_view *const hu_compat_views[];              /* those, in the order of hu_compat; ends with NULL */

/* What the user asked for: one view, of it one table or the facts. */
typedef struct {
    const hu_view  *view;
    const hu_table *table; /* NULL: all */
    bool            facts; /* nothing but the facts */
} hu_part;

/* "launch", "launch.streams", "launch.facts".  False when there is no such view. */
bool hu_views_find(hu_str word, hu_part *out);

/* Does any column of the part, or of any view where `part` has none, bear this name? */
bool hu_views_have_column(const hu_part *part, hu_str key);

/* Up to `most` names of such columns; returns how many. */
size_t hu_views_columns(const hu_part *part, const char **out, size_t most);

extern const hu_table hu_table_operators, hu_table_kernels, hu_table_copies, hu_table_steps, hu_table_host,
    hu_table_processes, hu_table_hot, hu_table_ranks, hu_table_serving;

#endif
