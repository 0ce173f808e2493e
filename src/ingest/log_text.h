/* SPDX-License-Identifier: Apache-2.0
 * log_text.h - lines of a log without what terminals and JSON add to them. */
#ifndef HU_INGEST_LOG_TEXT_H
#define HU_INGEST_LOG_TEXT_H

#include "base/str.h"

/* Each may use `room`, which has one byte more than the line: what they return lies in it, or in the line. */

/* Without colours and without the blanks at its end. */
hu_str hu_log_cleaned(hu_str line, char *room);

/* {"step": 5, "step_time_ms": 512.5}: without the quotes it is a line as others are. */
hu_str hu_log_unquoted(hu_str line, char *room);

/* As regexec wants it: not every C library takes a length. */
hu_str hu_log_ended(hu_str line, char *room);

#endif
