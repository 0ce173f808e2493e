/* SPDX-License-Identifier: Apache-2.0
 * readings.h - what a source measured at one look: rows of metric, value and label values.
 *
 * They go from the process that samples to the one that serves as they lie in memory: a head, then the rows.
 */
#ifndef HU_MONITOR_READINGS_H
#define HU_MONITOR_READINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "monitor/metrics.h"

/* How often something is sampled: what changes fast and costs little, counters, what costs most. */
typedef enum { HU_SAMPLE_FAST, HU_SAMPLE_MEDIUM, HU_SAMPLE_SLOW, HU_SAMPLE_GROUPS } hu_sample_group;

/* In front of the rows. */
typedef struct {
    uint32_t magic;
    uint32_t bytes; /* of the rows */
    uint16_t source, group;
    uint32_t n;       /* rows */
    uint32_t is_open; /* the source has something to sample; else the rows say why not */
    uint32_t unused;
    int64_t  at_ns;       /* CLOCK_REALTIME when the look began */
    int64_t  duration_ns; /* of the look */
    int64_t  cpu_ns;      /* of the process that sampled, since it started */
} hu_readings_head;

enum { HU_READINGS_MAGIC = 0x55485231, HU_READINGS_MOST = 8 << 20, HU_READING_VALUE_MOST = 256 };

typedef struct {
    hu_readings_head head;
    unsigned char   *rows;
    size_t           room;
    bool             is_full; /* rows were left out: HU_READINGS_MOST, or no memory */
} hu_readings;

/*
 * Adds a row.  `values` are those of the metric's labels, in their order, n of them; NULL and "" are left out of the text.
 * A value that is no number (NaN, infinite) is left out: absent is not zero.  A label value is cut at
 * HU_READING_VALUE_MOST bytes, between characters, and what is no UTF-8 becomes U+FFFD.
 */
void hu_readings_put(hu_readings *r, hu_metric m, double value, const char *const *values, size_t n);

/* hu_put(r, HU_METRIC_GPU_UP, 1, gpu, uuid): the values of all labels; hu_put_plain for a metric without labels. */
#define hu_put(r, m, value, ...)                                           \
    hu_readings_put((r), (m), (value), (const char *const[]){__VA_ARGS__}, \
                    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
#define hu_put_plain(r, m, value) hu_readings_put((r), (m), (value), NULL, 0)

/* The same for a histogram: the sum of what was observed, and how much fell into each bucket alone (hu_metric_limits, and
   one for what is above all of them). */
void hu_readings_put_histogram(hu_readings *r, hu_metric m, double sum, const uint64_t *counts, const char *const *values,
                               size_t n);

/* Why a source cannot sample something, as HU_METRIC_PROBLEM: `what` is wrong; `fix`: what to do. */
void hu_put_problem(hu_readings *r, const char *source, const char *what, const char *fix);

/* Adds all rows of another one. */
void hu_readings_add(hu_readings *r, const hu_readings *from);

/* Empties it for another look; keeps its memory.  hu_readings_free gives that back. */
void hu_readings_clear(hu_readings *r);
void hu_readings_free(hu_readings *r);

typedef struct {
    hu_metric   metric;
    double      value; /* of a histogram: the sum */
    size_t      n;     /* label values */
    const char *label[HU_METRIC_LABELS_MOST];
    size_t      n_counts; /* buckets of a histogram, else 0 */
    const void *counts;   /* not aligned: hu_reading_count */
} hu_reading;

/* What fell into a bucket alone. */
uint64_t hu_reading_count(const hu_reading *r, size_t bucket);

/* The row at *at, which moves behind it; false at the end, and at a row that is none. */
bool hu_readings_next(const hu_readings *r, size_t *at, hu_reading *out);

#endif
