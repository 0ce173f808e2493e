/* SPDX-License-Identifier: Apache-2.0
 * xid_text.h - `holdup doctor --xid`: what an error of NVIDIA's driver means. */
#ifndef HU_DOCTOR_XID_TEXT_H
#define HU_DOCTOR_XID_TEXT_H

#include "base/error.h"
#include "base/out.h"

/* `which`: a number, or "list" for all of them.  HU_EUSAGE: it is neither. */
int hu_xid_parse(const char *which, unsigned long *code, bool *is_all, hu_error *err);

void hu_xid_write_text(unsigned long code, bool is_all, size_t width, hu_out *out);
void hu_xid_write_json(unsigned long code, bool is_all, hu_out *out);

#endif
