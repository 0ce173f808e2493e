/* SPDX-License-Identifier: Apache-2.0
 * door.c - a server on the own machine is open to more than its user: to other users, and to every page in the browser.
 *
 * Other users do not know the token, which is in the address that only this user is told.  A page from elsewhere does not
 * know it either, and its browser does not send the cookie along (SameSite).  A page whose own name was made to mean
 * 127.0.0.1 (DNS rebinding) still says that name in Host.  Without the token all answers are the same.
 */
#include "cli/door.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

int hu_door_init(hu_door *door, uint16_t port, hu_error *err)
{
    unsigned char random[(HU_TOKEN_BYTES - 1) / 2];

    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "cannot create a token: no random numbers available");
    door->port = port;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(door->token + 2 * i, 3, "%02x", random[i]);
    snprintf(door->cookie, sizeof door->cookie, "holdup_%u", port);
    return 0;
}

/* Takes as long for a guess that is nearly right as for any other. */
static bool is_token(const hu_door *door, const char *guess)
{
    unsigned char difference = 0;

    if (!guess || strlen(guess) != HU_TOKEN_BYTES - 1)
        return false;
    for (size_t i = 0; i + 1 < HU_TOKEN_BYTES; i++)
        difference |= (unsigned char)(guess[i] ^ door->token[i]);
    return difference == 0;
}

/* "127.0.0.1:9001" or "localhost:9001", behind `before`. */
static bool is_here(const hu_door *door, const char *text, const char *before)
{
    static const char *const names[] = {"127.0.0.1", "localhost"};
    char                     own[64];

    for (size_t i = 0; text && i < 2; i++) {
        snprintf(own, sizeof own, "%s%s:%u", before, names[i], door->port);
        if (strcmp(text, own) == 0)
            return true;
    }
    return false;
}

bool hu_door_is_perfetto(const hu_visitor *v)
{
    return v->is_for_perfetto && v->origin && strcmp(v->origin, HU_DOOR_PERFETTO) == 0;
}

unsigned hu_door_judge(const hu_door *door, const hu_visitor *v, const char **why)
{
    const bool is_question = strcmp(v->method, "OPTIONS") == 0;

    *why = "this address is not the one that holdup view printed: host or port differ";
    if (!is_here(door, v->host, ""))
        return 403;
    *why = "the token is missing or wrong: open the address that holdup view printed";
    if (!is_token(door, v->token) && !is_token(door, v->cookie))
        return 403;
    *why = "request from another page; only the page of holdup view may send requests";
    if (v->origin && !is_here(door, v->origin, "http://") && !hu_door_is_perfetto(v))
        return 403;
    *why = "only GET and HEAD are supported";
    if (strcmp(v->method, "GET") != 0 && strcmp(v->method, "HEAD") != 0 && !(is_question && hu_door_is_perfetto(v)))
        return 405;
    *why = NULL;
    return 0;
}
