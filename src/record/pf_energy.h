/* SPDX-License-Identifier: Apache-2.0
 * pf_energy.h - counter tracks of the energy of processors and memory, from the file `energy` of a session. */
#ifndef HU_RECORD_PF_ENERGY_H
#define HU_RECORD_PF_ENERGY_H

#include "record/pf.h"

/*
 * A track for each zone, "RAPL package-0 (J)", counted from the first sample of the trace.  first_ns, end_ns: what is
 * written, CLOCK_MONOTONIC; end 0: all.  *lines, in the arena of `p`, is the attribute holdup.rapl, as
 * analyze/host_energy.c reads it: a line with the state and the period, then the names of the zones; "" where nobody looked.
 * False: no memory.
 */
bool hu_pf_energy_write(hu_pf *p, hu_pf_sequence *s, const char *session, int64_t first_ns, int64_t end_ns, hu_str *lines);

#endif
