/* SPDX-License-Identifier: Apache-2.0
 * negotiate.h - what a client asks for in Accept and Accept-Encoding (RFC 9110, 12.5). */
#ifndef HU_MONITOR_SERVE_NEGOTIATE_H
#define HU_MONITOR_SERVE_NEGOTIATE_H

#include <stdbool.h>

#include "monitor/serve/exposition.h"

/*
 * The format with the greatest weight; OpenMetrics of version 1.0.0 or of none named, since 0.0.1 differs.  NULL, and what
 * fits nothing, is the text format, as Prometheus' own libraries have it.
 */
hu_text_format hu_negotiate_format(const char *accept);

/* May the answer be packed by gzip?  Only when it is named with a weight that is not 0. */
bool hu_negotiate_gzip(const char *accept_encoding);

#endif
