/* SPDX-License-Identifier: Apache-2.0
 * log_rates.h - throughput that a program prints instead of times of steps, of training or of an inference server. */
#ifndef HU_TRACE_LOG_RATES_H
#define HU_TRACE_LOG_RATES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

typedef enum { HU_LOG_RATE_TOKENS, HU_LOG_RATE_SAMPLES, HU_LOG_RATE_STEPS, HU_LOG_RATE_KINDS } hu_log_rate_kind;

typedef struct {
    int64_t  iteration;                    /* of a server, the line's number among those of its rates */
    double   per_s[HU_LOG_RATE_KINDS];     /* NaN: not told */
    bool     is_of_gpu[HU_LOG_RATE_KINDS]; /* and not of all */
    uint64_t line;                         /* from 1 on */
} hu_log_rate;

typedef struct {
    HU_VEC(hu_log_rate) at;
    bool   is_rolling;                 /* each is a mean over more steps than since the line before */
    bool   is_serving;                 /* an inference server's: tokens that it generated */
    double steps_per_s, samples_per_s; /* over the whole run, told at its end; 0 */
    /* Of servers, on each line. */
    HU_VEC(int64_t) running; /* requests */
    HU_VEC(int64_t) waiting;
    HU_VEC(int64_t) cache; /* the part of the KV cache that is used, in 1e-4 */
} hu_log_rates;

#endif
