/* SPDX-License-Identifier: Apache-2.0
 * node_order.h - what monitors sampled, put in order when all files were read. */
#ifndef HU_INGEST_NODE_ORDER_H
#define HU_INGEST_NODE_ORDER_H

#include "ingest/node_log.h"

/* Sorts samples and counts, and finds their time and their period.  False: no memory. */
bool hu_node_order(hu_node_log *log);

#endif
