/* SPDX-License-Identifier: Apache-2.0
 * shared.h - causes that several ranks of a job may have at once, and what each rank keeps of them for a replay of all. */
#ifndef HU_ADVISE_SHARED_H
#define HU_ADVISE_SHARED_H

#include "advise/rules.h"

/* Can its price be taken of all ranks together?  That of communication cannot: only they know what of it is waiting. */
bool hu_is_shared(hu_rule rule);

/* One number for a rule, and what it is about by name ("" without): the same on all ranks.  Never 0. */
uint64_t hu_cause_of(hu_rule rule, hu_str name);

/* Makes an edit once more and keeps in the graph of `s` what it does there.  False: no memory. */
bool hu_effect_keep(hu_simulation *s, hu_rule rule, const hu_edit *edit, double scatter_pct, bool is_told);

/* Of host work each rank tells only the piece that is worth most to it; here are the others, which may be so elsewhere. */
bool hu_effects_keep_work(const hu_scene *c);

#endif
