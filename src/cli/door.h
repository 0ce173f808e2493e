/* SPDX-License-Identifier: Apache-2.0
 * door.h - who may ask the server something: rules about requests, and nothing of sockets. */
#ifndef HU_CLI_DOOR_H
#define HU_CLI_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { HU_TOKEN_BYTES = 33 }; /* 128 bits as hexadecimal digits, and a NUL */

#define HU_DOOR_PERFETTO "https://ui.perfetto.dev"

typedef struct {
    uint16_t port;
    char     token[HU_TOKEN_BYTES]; /* whoever knows it was told by the user */
    char     cookie[16];            /* its name: cookies belong to a host, not to a port, so it says which */
} hu_door;

/* What a request says of itself; NULL: nothing. */
typedef struct {
    const char *method, *host, *origin;
    const char *token, *cookie;  /* of the address, and the cookie of that name */
    bool        is_for_perfetto; /* what is asked for may be read by ui.perfetto.dev too */
} hu_visitor;

/* Draws the token.  Returns 0 or HU_EIO. */
int hu_door_init(hu_door *door, uint16_t port, hu_error *err);

/* 0 to let in, or the HTTP status that says no: 403 or 405, and in *why a sentence. */
unsigned hu_door_judge(const hu_door *door, const hu_visitor *visitor, const char **why);

/* Is it a page of ui.perfetto.dev that asks? */
bool hu_door_is_perfetto(const hu_visitor *visitor);

#endif
