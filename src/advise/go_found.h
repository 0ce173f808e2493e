/* SPDX-License-Identifier: Apache-2.0
 * go_found.h - the findings "go-waits" and "kernel-calls": what is known of a Go program from its threads and samples. */
#ifndef HU_ADVISE_GO_FOUND_H
#define HU_ADVISE_GO_FOUND_H

#include "advise/findings.h"

/* Adds both where they hold.  Neither has a gain: goroutines are not recorded, so what would be saved is only bounded. */
void hu_go_found_add(const hu_digest *d, hu_findings *f);

#endif
