/* SPDX-License-Identifier: Apache-2.0
 * guests.h - connections of those who have not shown the token: few of them, and not for long. */
#ifndef HU_CLI_GUESTS_H
#define HU_CLI_GUESTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { HU_GUESTS_STRANGERS = 16, HU_GUESTS_ROOM = 256 };

typedef enum { HU_GUEST_NONE, HU_GUEST_STRANGER, HU_GUEST_SENT_AWAY, HU_GUEST_KNOWN } hu_guest_state;

typedef struct {
    hu_guest_state state;
    int            socket;
    int64_t        since_ns; /* of any monotonic clock */
} hu_guest;

/* From several threads at once. */
typedef struct {
    pthread_mutex_t lock;
    hu_guest        at[HU_GUESTS_ROOM];
} hu_guests;

void hu_guests_init(hu_guests *guests);
void hu_guests_free(hu_guests *guests);

/* A connection came, and is a stranger.  NULL: there is no room, and it was sent away. */
hu_guest *hu_guests_enter(hu_guests *guests, int socket, int64_t now_ns);

/* It has shown the token. */
void hu_guests_know(hu_guests *guests, hu_guest *guest);

/* Before its socket is closed.  NULL is fine. */
void hu_guests_leave(hu_guests *guests, hu_guest *guest);

/*
 * A few times a second: sends strangers away (their sockets are shut down, which their owner notices and closes) that have
 * said no whole request for `patience_ns`; and the oldest that are silent where there are more than HU_GUESTS_STRANGERS, so
 * that who knows the token gets in.  Who waits for us, with bytes that were not read yet, has four times the patience.
 */
void hu_guests_sweep(hu_guests *guests, int64_t now_ns, int64_t patience_ns);

#endif
