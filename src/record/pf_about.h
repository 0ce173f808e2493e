/* SPDX-License-Identifier: Apache-2.0
 * pf_about.h - what a recorded file says of itself: who ran what where, on which GPUs, and what was lost. */
#ifndef HU_RECORD_PF_ABOUT_H
#define HU_RECORD_PF_ABOUT_H

#include "record/pftrace_work.h"

/* What is known before its processes are read. */
void hu_pf_about_write_head(hu_pftrace_work *w, const hu_pftrace_file *file);

/* The devices of all its processes. */
void hu_pf_about_write_devices(hu_pftrace_work *w);

/* What is known only when all was read. */
void hu_pf_about_write_tail(hu_pftrace_work *w);

/* The process that speaks for the file. */
const hu_process_image *hu_pf_about_first(const hu_pftrace_work *w);

/* The arguments of a process, their secrets left out; `take` is called with each. */
void hu_pf_about_each_argument(hu_pftrace_work *w, const hu_process_image *image,
                               void (*take)(hu_pftrace_work *w, hu_str argument));

#endif
