/* SPDX-License-Identifier: Apache-2.0
 * confidence.h - how far an answer can be trusted. */
#ifndef HU_ADVISE_CONFIDENCE_H
#define HU_ADVISE_CONFIDENCE_H

typedef enum { HU_CONFIDENCE_LOW, HU_CONFIDENCE_MEDIUM, HU_CONFIDENCE_HIGH } hu_confidence;

static inline const char *hu_confidence_name(hu_confidence c)
{
    static const char *const names[] = {"low", "medium", "high"};

    return names[c];
}

#endif
