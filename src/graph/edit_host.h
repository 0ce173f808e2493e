/* SPDX-License-Identifier: Apache-2.0
 * edit_host.h - edits of what host threads do between launches and in calls, private to this folder. */
#ifndef HU_GRAPH_EDIT_HOST_H
#define HU_GRAPH_EDIT_HOST_H

#include "graph/edit_facts.h"

enum {
    HU_EDIT_LAUNCH_CLASSES = HU_CLASS_BIT(OPERATOR) | HU_CLASS_BIT(PYTHON) | HU_CLASS_BIT(UNRECORDED) |
                             HU_CLASS_BIT(LAUNCH_CALL) | HU_CLASS_BIT(OTHER_CALL),
};

/* A cost so many times smaller, not below a floor; INFINITY: nothing is left. */
int64_t hu_edit_divide(int64_t cost_ns, double factor, int64_t floor_ns);

/* As hu_edit_apply, one kind each. */
size_t hu_edit_launch(const hu_edit_facts *f, const hu_edit *e, hu_costs *c);
size_t hu_edit_work(const hu_edit_facts *f, const hu_edit *e, hu_costs *c);
size_t hu_edit_unrecorded(const hu_edit_facts *f, const hu_edit *e, hu_costs *c);
size_t hu_edit_capture(const hu_edit_facts *f, const hu_edit *e, hu_costs *c);
size_t hu_edit_blocking(const hu_edit_facts *f, const hu_edit *e, hu_costs *c);
size_t hu_edit_alloc(const hu_edit_facts *f, const hu_edit *e, hu_costs *c);
size_t hu_edit_small_calls(const hu_edit_facts *f, const hu_edit *e, hu_costs *c);

/* Takes away what may be done only for the sake of calls that go: many small ones, or other reads and writes of files. */
void   hu_edit_around(const hu_edit_facts *f, bool is_small, hu_costs *c);
size_t hu_edit_page_faults_away(const hu_edit_facts *f, const hu_edit *e, hu_costs *c);
size_t hu_edit_processes(const hu_edit_facts *f, const hu_edit *e, hu_costs *c);
size_t hu_edit_pin(const hu_edit_facts *f, const hu_edit *e, hu_costs *c);

/* Work of threads that the main thread joins. */
size_t hu_edit_threads(const hu_edit_facts *f, const hu_edit *e, hu_costs *c);

/* Work of threads of OpenMP. */
size_t hu_edit_teams(const hu_edit_facts *f, const hu_edit *e, hu_costs *c);

/* Work of child processes: faster, or shared. */
size_t hu_edit_child(const hu_edit_facts *f, const hu_edit *e, hu_costs *c);
size_t hu_edit_looks(const hu_edit_facts *f, const hu_edit *e, hu_costs *c);
size_t hu_edit_children_share(const hu_edit_facts *f, const hu_edit *e, hu_costs *c);

/* Waits of a class that end because another thread woke theirs are over at once; where the edit takes them away
   altogether. */
size_t hu_edit_wakes(const hu_edit_facts *f, hu_class class, const hu_edit *e, hu_costs *c);

#endif
