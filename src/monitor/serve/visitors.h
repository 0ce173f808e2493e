/* SPDX-License-Identifier: Apache-2.0
 * visitors.h - connections: how many, for how long, and who goes when there are too many.
 *
 * Whoever connects takes a place, and may say nothing, or a byte now and then, or read a byte now and then.  A place is lent
 * for a time that nothing but a whole request renews, and when all are taken the one that is idle longest goes: a scrape
 * always finds one.
 */
#ifndef HU_MONITOR_SERVE_VISITORS_H
#define HU_MONITOR_SERVE_VISITORS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { HU_VISITORS_ROOM = 256, HU_VISITORS_MOST = 128 }; /* places; more than MOST at a time are sent away */

typedef enum {
    HU_VISITOR_NONE,
    HU_VISITOR_NEW,       /* has not said a whole request yet */
    HU_VISITOR_ASKS,      /* is being answered */
    HU_VISITOR_IDLE,      /* was answered, and may ask again */
    HU_VISITOR_SENT_AWAY, /* its socket is shut down, which its owner notices and closes */
} hu_visitor_state;

typedef struct {
    hu_visitor_state state;
    int              socket;
    const void      *house;              /* whose it is: the server that has the connection */
    int64_t          since_ns, until_ns; /* of any monotonic clock */
    bool             is_housed;          /* the server has taken it, and will say when it goes */
} hu_visitor;

/* From several threads at once. */
typedef struct {
    pthread_mutex_t lock;
    hu_visitor      at[HU_VISITORS_ROOM];
} hu_visitors;

void hu_visitors_init(hu_visitors *v);
void hu_visitors_free(hu_visitors *v);

/* Is there a place for one more? */
bool hu_visitors_have_room(hu_visitors *v);

/* A connection came.  NULL: there is no room. */
hu_visitor *hu_visitors_enter(hu_visitors *v, int socket, const void *house, int64_t now_ns);

/* The server has taken it: the place of that socket; NULL: there is none. */
hu_visitor *hu_visitors_house(hu_visitors *v, int socket);

/* It asks: it has `patience_ns` to take the answer.  NULL is fine, here and below. */
void hu_visitors_ask(hu_visitors *v, hu_visitor *who, int64_t now_ns, int64_t patience_ns);
void hu_visitors_answered(hu_visitors *v, hu_visitor *who, int64_t now_ns);

/* Before its socket is closed, or when nobody took it. */
void hu_visitors_leave(hu_visitors *v, hu_visitor *who);

/*
 * Sends away who has used up its time, and the idlest while there are over HU_VISITORS_MOST.  Returns when to come again
 * (INT64_MAX: there is nobody).
 */
int64_t hu_visitors_sweep(hu_visitors *v, int64_t now_ns);

/* Sends away the one that has been taking its answer for longest, if that is a second or more.  False: there is none. */
bool hu_visitors_cut_slowest(hu_visitors *v, int64_t now_ns);

/* How many are being answered by a house; and sends all others of it away. */
unsigned hu_visitors_clear(hu_visitors *v, const void *house);

#endif
