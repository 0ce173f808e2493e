/* SPDX-License-Identifier: Apache-2.0
 * chrome_scan_avx512.c - the event scanner, compiled for this instruction set (see chrome_scan.h). */
#define CHROME_SCAN_NAME chrome_scan_event_avx512
#include "ingest/chrome_scan.h"
