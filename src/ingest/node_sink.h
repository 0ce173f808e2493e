/* SPDX-License-Identifier: Apache-2.0
 * node_sink.h - where the readers of all formats of monitors put what they found: which GPU it is of, and when. */
#ifndef HU_INGEST_NODE_SINK_H
#define HU_INGEST_NODE_SINK_H

#include "ingest/node_log.h"
#include "trace/builder.h"

enum { HU_NODE_TEXT = 128, HU_NODE_MOST_GPUS = 4096 };

/* Of one file. */
typedef struct {
    hu_node_log *log;
    hu_str       file;
    int64_t      most;   /* samples */
    int64_t      moment; /* the look that samples without a time belong to; 0: there was none */
    bool         has_memory, is_full, has_lost;
} hu_node_sink;

/* A GPU as a file names it: by its UUID, else by its number (-1: not known) among those of the file, else by its bus. */
typedef struct {
    hu_str  uuid, host, name, bus, driver;
    int64_t number;
} hu_node_who;

/* What one line or block says of one GPU; NaN is not said. */
typedef struct {
    hu_node_who who;
    int64_t     ns; /* Unix time; 0: not said */
    double      values[HU_GPU_QUANTITY_COUNT], facts[HU_NODE_FACTS], counts[HU_NODE_COUNT_KINDS];
    bool        is_mig, is_amd;
    double      held[2]; /* share of the look in which power, and heat, lowered the clocks */
    hu_str      lost;    /* what the driver says instead of values; "" nothing */
} hu_node_row;

hu_node_sink hu_node_sink_of(hu_node_log *log, hu_input *in);

/* A copy that lives as long as the log. */
hu_str hu_node_keep(hu_node_sink *s, hu_str text);

/* It is added where it is new.  HU_NONE: nothing names it. */
uint32_t hu_node_gpu_of(hu_node_sink *s, const hu_node_who *who);

void hu_node_put_sample(hu_node_sink *s, uint32_t gpu, hu_gpu_quantity quantity, int64_t ns, double value);
void hu_node_put_count(hu_node_sink *s, uint32_t gpu, hu_node_count_kind kind, int64_t ns, double value);

/* Is it a number that anything can be measured to have?  Others would not fit into whole numbers. */
static inline bool hu_node_is_value(double value)
{
    return value > -1e15 && value < 1e15;
}

/* The driver gives no values of it any more, but these words. */
void hu_node_put_lost(hu_node_sink *s, uint32_t gpu, int64_t ns, hu_str words);

/* A new look begins at samples that have no time. */
void hu_node_next_moment(hu_node_sink *s);

hu_node_row hu_node_row_new(void);

/* Adds all of it.  Without a time a row is of the present look, or of the next where its GPU was seen in it.  False: it
   names no GPU, or says nothing. */
bool hu_node_put_row(hu_node_sink *s, const hu_node_row *row);

/* Adds to what may be NaN. */
static inline void hu_node_add(double *sum, double value)
{
    *sum = *sum == *sum ? *sum + value : value;
}

/* Sets bits of reasons, of which there may be none so far (NaN). */
static inline void hu_node_add_reason(hu_node_row *row, uint32_t bit)
{
    double *bits = &row->values[HU_GAUGE_REASONS];

    *bits = (double)((*bits == *bits ? (uint64_t)*bits : 0) | bit);
}

/* "74.01 W", "12 %", "16x", "0x0000000000000004": the number that a text begins with.  False: "[N/A]" and its like. */
bool hu_node_number(hu_str s, double *out);

#endif
