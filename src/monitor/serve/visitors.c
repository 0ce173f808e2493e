/* SPDX-License-Identifier: Apache-2.0
 * visitors.c - a table of places. */
#include "monitor/serve/visitors.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#define SECOND   INT64_C(1000000000)
#define NEW_NS   (10 * SECOND)  /* for a handshake and a whole head: programs send them at once */
#define IDLE_NS  (150 * SECOND) /* the longest interval between scrapes that people use is two minutes */
#define SLOW_NS  (1 * SECOND)   /* to take an answer, where others wait for theirs */
#define LEAST_NS (SECOND / 20)  /* that everybody gets, however many there are */

void hu_visitors_init(hu_visitors *v)
{
    memset(v->at, 0, sizeof v->at);
    pthread_mutex_init(&v->lock, NULL);
}

void hu_visitors_free(hu_visitors *v)
{
    pthread_mutex_destroy(&v->lock);
}

/* Its socket is closed by its owner, and not before hu_visitors_leave, so the number is still its own here. */
static void send_away(hu_visitor *who)
{
    who->state = who->is_housed ? HU_VISITOR_SENT_AWAY : HU_VISITOR_NONE;
    shutdown(who->socket, SHUT_RDWR);
}

bool hu_visitors_have_room(hu_visitors *v)
{
    bool has = false;

    pthread_mutex_lock(&v->lock);
    for (size_t i = 0; i < HU_VISITORS_ROOM; i++)
        has |= v->at[i].state == HU_VISITOR_NONE;
    pthread_mutex_unlock(&v->lock);
    return has;
}

hu_visitor *hu_visitors_enter(hu_visitors *v, int socket, const void *house, int64_t now_ns)
{
    hu_visitor *place = NULL;

    pthread_mutex_lock(&v->lock);
    for (size_t i = 0; i < HU_VISITORS_ROOM && !place; i++)
        if (v->at[i].state == HU_VISITOR_NONE)
            place = &v->at[i];
    if (place)
        *place = (hu_visitor){HU_VISITOR_NEW, socket, house, now_ns, now_ns + NEW_NS, false};
    pthread_mutex_unlock(&v->lock);
    return place;
}

hu_visitor *hu_visitors_house(hu_visitors *v, int socket)
{
    hu_visitor *place = NULL;

    pthread_mutex_lock(&v->lock);
    for (size_t i = 0; i < HU_VISITORS_ROOM && !place; i++)
        if (v->at[i].state != HU_VISITOR_NONE && v->at[i].socket == socket && !v->at[i].is_housed)
            place = &v->at[i];
    if (place)
        place->is_housed = true;
    pthread_mutex_unlock(&v->lock);
    return place;
}

static void change(hu_visitors *v, hu_visitor *who, hu_visitor_state state, int64_t now_ns, int64_t until_ns)
{
    pthread_mutex_lock(&v->lock);
    if (who && who->state != HU_VISITOR_SENT_AWAY) {
        who->state = state;
        who->since_ns = now_ns;
        who->until_ns = until_ns;
    }
    pthread_mutex_unlock(&v->lock);
}

void hu_visitors_ask(hu_visitors *v, hu_visitor *who, int64_t now_ns, int64_t patience_ns)
{
    change(v, who, HU_VISITOR_ASKS, now_ns, now_ns + patience_ns);
}

void hu_visitors_answered(hu_visitors *v, hu_visitor *who, int64_t now_ns)
{
    change(v, who, HU_VISITOR_IDLE, now_ns, now_ns + IDLE_NS);
}

void hu_visitors_leave(hu_visitors *v, hu_visitor *who)
{
    pthread_mutex_lock(&v->lock);
    if (who)
        who->state = HU_VISITOR_NONE;
    pthread_mutex_unlock(&v->lock);
}

/* Has it said what nobody has read yet?  Then we are slow, not it. */
static bool waits_for_us(const hu_visitor *who)
{
    char byte;

    return recv(who->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Who neither asks nor just came, and has been so for longest; *n is how many there are in all. */
static hu_visitor *find_idlest(hu_visitors *v, int64_t now_ns, size_t *n)
{
    hu_visitor *idlest = NULL;

    *n = 0;
    for (size_t i = 0; i < HU_VISITORS_ROOM; i++) {
        hu_visitor *who = &v->at[i];

        if (who->state == HU_VISITOR_NONE || who->state == HU_VISITOR_SENT_AWAY)
            continue;
        ++*n;
        if (who->state != HU_VISITOR_ASKS && now_ns - who->since_ns > LEAST_NS &&
            (!idlest || who->since_ns < idlest->since_ns) && !waits_for_us(who))
            idlest = who;
    }
    return idlest;
}

int64_t hu_visitors_sweep(hu_visitors *v, int64_t now_ns)
{
    int64_t     next_ns = INT64_MAX;
    hu_visitor *idlest;
    size_t      n;

    pthread_mutex_lock(&v->lock);
    for (size_t i = 0; i < HU_VISITORS_ROOM; i++) {
        hu_visitor *who = &v->at[i];

        if (who->state == HU_VISITOR_NONE || who->state == HU_VISITOR_SENT_AWAY)
            continue;
        if (now_ns >= who->until_ns)
            send_away(who);
        else if (who->until_ns < next_ns)
            next_ns = who->until_ns;
    }
    while ((idlest = find_idlest(v, now_ns, &n)) && n > HU_VISITORS_MOST)
        send_away(idlest);
    if (n > HU_VISITORS_MOST)
        next_ns = now_ns + LEAST_NS;
    pthread_mutex_unlock(&v->lock);
    return next_ns;
}

bool hu_visitors_cut_slowest(hu_visitors *v, int64_t now_ns)
{
    hu_visitor *slowest = NULL;

    pthread_mutex_lock(&v->lock);
    for (size_t i = 0; i < HU_VISITORS_ROOM; i++)
        if (v->at[i].state == HU_VISITOR_ASKS && now_ns - v->at[i].since_ns >= SLOW_NS &&
            (!slowest || v->at[i].since_ns < slowest->since_ns))
            slowest = &v->at[i];
    if (slowest)
        send_away(slowest);
    pthread_mutex_unlock(&v->lock);
    return slowest != NULL;
}

unsigned hu_visitors_clear(hu_visitors *v, const void *house)
{
    unsigned n = 0;

    pthread_mutex_lock(&v->lock);
    for (size_t i = 0; i < HU_VISITORS_ROOM; i++)
        if (v->at[i].house == house && v->at[i].state == HU_VISITOR_ASKS)
            n++;
        else if (v->at[i].house == house && (v->at[i].state == HU_VISITOR_NEW || v->at[i].state == HU_VISITOR_IDLE))
            send_away(&v->at[i]);
    pthread_mutex_unlock(&v->lock);
    return n;
}
