/* SPDX-License-Identifier: Apache-2.0
 * gates.h - what nominates each diagnosis.  A gate is cheap and generous: the replay decides what it is worth.
 *
 * Shares of time nominate, never rank: a long wait on a job that the device limits costs nothing, and its price says so.
 * What is said is per step or in the whole capture (amount.h), and says which.
 */
#ifndef HU_ADVISE_GATES_H
#define HU_ADVISE_GATES_H

#include "advise/rules.h"

#define HU_LEAST_SHARE 0.005 /* of the step; below, nothing could be worth a finding */

/* The statement of a finding, and one more sign of it; what exceeds HU_EVIDENCE is left out. */
__attribute__((format(printf, 2, 3))) void hu_hint_say(hu_hint *h, const char *format, ...);
__attribute__((format(printf, 2, 3))) void hu_hint_show(hu_hint *h, const char *format, ...);

typedef struct {
    char t[128];
} hu_said_frame;

/* "<built-in method flush of _io.TextIOWrapper>": a name without the address of its object. */
hu_said_frame hu_say_frame(hu_str name);

/*
 * Of a frame of Python, the outermost one that it nearly fills, and who calls that: what a reader looks for.  Nothing for
 * other slices, or HU_NONE.
 */
void hu_hint_show_frames(const hu_scene *c, hu_hint *h, uint32_t slice);

/*
 * Time of the window in which the host is in such nodes (any of HU_IN_*, or of the classes), per step: calls of all
 * threads, anything else of the main one.  What two threads do at once counts once, so it is never more than the step.
 */
hu_ns_per_step hu_scene_node_time(const hu_scene *c, uint8_t in, unsigned classes);

/* Of the critical path, per step: a class of calls counts where nothing else hides it. */
hu_ns_per_step hu_scene_path_time(const hu_scene *c, hu_class class);

/* Of the steps that count, what lies in them: their mean. */
hu_ns_per_step hu_scene_in_steps(const hu_scene *c, int64_t sum_ns);

/* "6.00 ms per step", and "6.00 ms per step (60 %)" */
hu_said_amount hu_scene_each(const hu_scene *c, hu_ns_per_step time);
hu_said_amount hu_scene_share(const hu_scene *c, hu_ns_per_step time);

/* In reads and writes of files that are fast, small and many (graph/edit.h). */
hu_ns_per_step hu_scene_small_calls(const hu_scene *c);

/* Are they half of all I/O, which takes so long, waits for a CPU left aside? */
bool hu_scene_is_small_calls(const hu_scene *c, hu_ns_per_step io);

/* The track of the main thread; HU_NONE. */
uint32_t hu_scene_main_track(const hu_scene *c);

typedef struct {
    char t[352];
} hu_said_holder;

/* Of the locks that threads wait for: "The thread a (1) holds …", where all other threads wait; else that another does. */
hu_said_holder hu_scene_lock_holder(const hu_scene *c, hu_hint *h);

/* Operators, but neither a backward pass nor an optimizer: nothing is trained, and no fix speaks of gradients. */
bool hu_scene_is_inference(const hu_scene *c);

enum { HU_WORK_ASKED = 8 }; /* of the longest pieces of host work by name, for the one that is worth most */

/* Those pieces, into out[0..HU_WORK_ASKED).  Returns how many. */
size_t hu_work_asked(const hu_scene *c, const hu_block **out);

/* A product in half precision, far below its roofline, with a size that is not a multiple of 8? */
bool hu_roofline_op_is_odd(const hu_roofline_op *op);

/* Is it HU_LEAST_SHARE of the step? */
bool hu_scene_is_much(const hu_scene *c, hu_ns_per_step time);

/*
 * The gates, one for each rule: does the scene nominate it?  They fill statement and evidence when it does.
 * hu_gate_never belongs to what no replay of one rank prices: compute-bound (verdict.c), bubble.c, joint_replay.c.
 */
#define R(id, gate, key, title, edit, fix, verify) bool gate(const hu_scene *c, hu_hint *h);
HU_RULES(R)
#undef R

#endif
