/* SPDX-License-Identifier: Apache-2.0
 * node_difference.h - the answer of `holdup diff` for what monitors sampled of two runs, as text and as JSON. */
#ifndef HU_RENDER_NODE_DIFFERENCE_H
#define HU_RENDER_NODE_DIFFERENCE_H

#include "job/node_difference.h"
#include "render/node.h"

enum { HU_NODE_DIFFERENCE_LINE = 1024, HU_NODE_DIFFERENCE_NOTES = 8, HU_NODE_DIFFERENCE_NOTE = 240 };

/* What changed over all GPUs, or why that cannot be told. */
void hu_node_difference_words(const hu_node_difference *x, char line[HU_NODE_DIFFERENCE_LINE]);

/* What is to be borne in mind.  Returns how many there are. */
size_t hu_node_difference_notes(const hu_node_difference *x, char notes[HU_NODE_DIFFERENCE_NOTES][HU_NODE_DIFFERENCE_NOTE]);

/* "gone", "new" or "both": where a kind of trouble is; NULL: in neither.  It is number *i of run *of. */
const char *hu_node_difference_trouble(const hu_node_report run[2], hu_node_says kind, size_t *of, size_t *i);

/* `run`: both as reports, for their troubles. */
void hu_node_difference_text(const hu_node_difference *x, const hu_node_report run[2], const hu_str name[2], hu_out *out);
void hu_node_difference_json(const hu_node_difference *x, const hu_node_report run[2], const hu_str name[2], hu_out *out);

#endif
