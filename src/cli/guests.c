/* SPDX-License-Identifier: Apache-2.0
 * guests.c - whoever connects takes a place, and says nothing, or a byte now and then: places are taken back. */
#include "cli/guests.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

enum { LEAST_NS = 250000000 }; /* that everybody gets, however many there are */

void hu_guests_init(hu_guests *g)
{
    memset(g->at, 0, sizeof g->at);
    pthread_mutex_init(&g->lock, NULL);
}

void hu_guests_free(hu_guests *g)
{
    pthread_mutex_destroy(&g->lock);
}

/* Its socket is closed by its owner, and not before hu_guests_leave, so the number is still its own here. */
static void send_away(hu_guest *guest)
{
    guest->state = HU_GUEST_SENT_AWAY;
    shutdown(guest->socket, SHUT_RDWR);
}

hu_guest *hu_guests_enter(hu_guests *g, int socket, int64_t now_ns)
{
    hu_guest *place = NULL;

    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; i < HU_GUESTS_ROOM && !place; i++)
        if (g->at[i].state == HU_GUEST_NONE)
            place = &g->at[i];
    if (place)
        *place = (hu_guest){HU_GUEST_STRANGER, socket, now_ns};
    else
        shutdown(socket, SHUT_RDWR);
    pthread_mutex_unlock(&g->lock);
    return place;
}

void hu_guests_know(hu_guests *g, hu_guest *guest)
{
    pthread_mutex_lock(&g->lock);
    if (guest && guest->state == HU_GUEST_STRANGER)
        guest->state = HU_GUEST_KNOWN;
    pthread_mutex_unlock(&g->lock);
}

void hu_guests_leave(hu_guests *g, hu_guest *guest)
{
    pthread_mutex_lock(&g->lock);
    if (guest)
        guest->state = HU_GUEST_NONE;
    pthread_mutex_unlock(&g->lock);
}

/* Has it said what nobody has read yet?  Then we are slow, not it. */
static bool waits_for_us(const hu_guest *guest)
{
    char byte;

    return recv(guest->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* The oldest stranger that had the time to say something and did not; *n is how many strangers there are. */
static hu_guest *find_silent(hu_guests *g, int64_t now_ns, size_t *n)
{
    hu_guest *oldest = NULL;

    *n = 0;
    for (size_t i = 0; i < HU_GUESTS_ROOM; i++) {
        hu_guest *guest = &g->at[i];

        if (guest->state != HU_GUEST_STRANGER)
            continue;
        ++*n;
        if (now_ns - guest->since_ns > LEAST_NS && (!oldest || guest->since_ns < oldest->since_ns) && !waits_for_us(guest))
            oldest = guest;
    }
    return oldest;
}

void hu_guests_sweep(hu_guests *g, int64_t now_ns, int64_t patience_ns)
{
    hu_guest *silent;
    size_t    n;

    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; i < HU_GUESTS_ROOM; i++) {
        const int64_t age_ns = now_ns - g->at[i].since_ns;

        if (g->at[i].state == HU_GUEST_STRANGER && age_ns > patience_ns &&
            (age_ns > 4 * patience_ns || !waits_for_us(&g->at[i])))
            send_away(&g->at[i]);
    }
    while ((silent = find_silent(g, now_ns, &n)) && n > HU_GUESTS_STRANGERS)
        send_away(silent);
    pthread_mutex_unlock(&g->lock);
}
