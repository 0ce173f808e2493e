/* SPDX-License-Identifier: Apache-2.0
 * node.h - what samples of a monitor say without a trace: as text and as JSON. */
#ifndef HU_RENDER_NODE_H
#define HU_RENDER_NODE_H

#include "base/out.h"
#include "job/node.h"

typedef struct {
    const hu_node_answer *answer;
    const char *(*xid_words)(int64_t xid); /* what an error is called; NULL where it has no name */
    hu_arena *scratch;
    size_t    top;   /* GPUs of the text; 0: 16 */
    size_t    width; /* of the text, in columns */
} hu_node_report;

/* What holds the GPUs up, or that this cannot be told, and why; in r->scratch; "" when there is no memory. */
hu_str hu_node_sentence(const hu_node_report *r);

/* Then a GPU without a host is told by its file, too. */
bool hu_node_is_of_several_files(const hu_node_answer *a);

/* The same of trouble `i`, from 0 on, the gravest first; beyond the last one it is what hu_node_sentence says without. */
hu_str hu_node_trouble_sentence(const hu_node_report *r, size_t i);

/* "throttled" …, for programs: that of the sentence is "none" or "cannot_tell" where there is no trouble. */
const char *hu_node_trouble_word(hu_node_says kind);
const char *hu_node_verdict_word(const hu_node_answer *a);

/* One trouble, as a sentence. */
void hu_node_say_trouble(const hu_node_report *r, const hu_node_trouble *t, hu_out *out);

/* How the GPUs of a topology are linked, and how far network cards are. */
void hu_node_say_topology(const hu_node_topology *t, hu_out *out);

void hu_node_text(const hu_node_report *r, hu_out *out);
void hu_node_json(const hu_node_report *r, hu_out *out);

#endif
