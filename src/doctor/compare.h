/* SPDX-License-Identifier: Apache-2.0
 * compare.h - `holdup doctor --compare`: which nodes of many are not like the others.
 *
 * A value that more than half of the nodes have, of three or more that know it, is what the others should have: those are
 * the odd ones.  Without such a majority the values differ and no node is to blame.  A node that does not know a value has
 * no vote.
 */
#ifndef HU_DOCTOR_COMPARE_H
#define HU_DOCTOR_COMPARE_H

#include "base/limits.h"
#include "base/out.h"
#include "base/unread.h"

enum { HU_COMPARE_VALUES = 4096 }; /* of one node; some 150 are usual */

typedef struct {
    hu_str key, value;
} hu_compared_value;

/* A node, as a report of it says.  A value that it does not have was not looked at; "none" was, and is not there. */
typedef struct {
    hu_str name;
    HU_VEC(hu_compared_value) values;
} hu_compared_node;

/* Nodes that have one value. */
typedef struct {
    hu_str        value;
    const size_t *nodes; /* numbers in hu_comparison.names, ascending */
    size_t        n;
    bool          is_odd; /* another value has the majority */
} hu_value_group;

typedef struct {
    hu_str                key;
    const hu_value_group *groups; /* two or more, the largest first */
    size_t                n;
    bool                  has_majority;
    size_t                unknown; /* nodes that do not know it */
} hu_difference;

typedef struct {
    hu_arena *arena;                /* of whoever compares */
    HU_VEC(hu_compared_node) nodes; /* by name */
    hu_unread_list unread;

    HU_VEC(hu_difference) differences; /* in the order of the topics */
    size_t  compared;                  /* keys that two or more nodes know */
    size_t *odd;                       /* by node: in how many values it is an odd one */
} hu_comparison;

/*
 * Reads what was named: reports of `doctor --json`, bundles (.tar.gz, or unpacked), and folders of those, whose other files
 * are left alone.  What cannot be read goes to `unread`.  Returns 0, HU_ENOMEM, or HU_EEMPTY where there is less than two.
 */
int hu_compare_read(hu_comparison *c, char *const *paths, int n, const hu_limits *limits, hu_error *err);

/* Finds the differences.  Returns 0 or HU_ENOMEM. */
int hu_compare_measure(hu_comparison *c, hu_error *err);

/* What a value is called, and how far apart two of it may be and still be equal: as a share of numbers that they begin
   with. */
typedef struct {
    const char *key, *title;
    double      tolerance;
} hu_compared_topic;

/*
 * The topic of a key, or NULL.  Keys are "topic" or "class.thing"; *thing is what is behind the topic's key.  A node
 * that has the key "class" alone has looked at all things of that class: one that it does not say it does not have.
 */
const hu_compared_topic *hu_compared_topic_of(hu_str key, hu_str *thing);

/* `all`: every node of every group, however many.  Width in columns. */
void hu_compare_text(const hu_comparison *c, bool all, size_t width, hu_out *out);
void hu_compare_json(const hu_comparison *c, hu_out *out);

#endif
