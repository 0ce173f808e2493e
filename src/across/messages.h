/* SPDX-License-Identifier: Apache-2.0
 * messages.h - sends laid beside their receives: who was late, and what a message needs. */
#ifndef HU_ACROSS_MESSAGES_H
#define HU_ACROSS_MESSAGES_H

#include "across/clocks.h"
#include "across/transfers.h"

/* Everything from one rank to another. */
typedef struct {
    int64_t source, target;   /* ranks */
    int64_t messages, bytes;  /* bytes: of those that say so */
    int64_t late_sender_ns;   /* receivers were there and waited */
    int64_t late_receiver_ns; /* senders were */
    int64_t transfer_ns;      /* the rest */
} hu_message_path;

/* Of one rank, in Scalasca's words. */
typedef struct {
    int64_t late_sender_ns;   /* it waited in receives for senders */
    int64_t late_receiver_ns; /* it waited in sends for receivers */
} hu_message_waits;

/* A message between two devices: where it is sent, and where it is received. */
typedef struct {
    uint32_t digest[2], call[2];
} hu_message_pair;

typedef struct {
    int64_t           matched, unmatched;  /* messages with both ends; ends without the other, whose trace is there */
    int64_t           peer_missing;        /* ends whose other end is in a trace that was not read */
    int64_t           sizes_differ;        /* matched, and yet the ends speak of different sizes */
    int64_t           checked, violations; /* ends of receives against starts of sends, as in hu_clocks */
    hu_message_path  *paths;               /* by waiting, the longest first, then ranks */
    size_t            n_paths;
    hu_message_waits *waits; /* by digest */
    hu_message_pair  *pairs; /* of devices alone: both ends stay until the data has moved */
    size_t            n_pairs;
    int64_t           late_sender_ns, late_receiver_ns;
} hu_messages;

/* The shortest times of messages are added to `samples`.  False when there is no memory. */
bool hu_messages_measure(hu_digest *const *digests, size_t n, const hu_clocks *clocks, hu_arena *arena, hu_arena *scratch,
                         hu_transfer_samples *samples, hu_messages *out);

#endif
