/* SPDX-License-Identifier: Apache-2.0
 * listen.h - sockets that wait for clients: of an address, of a path, or handed over by systemd. */
#ifndef HU_MONITOR_SERVE_LISTEN_H
#define HU_MONITOR_SERVE_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { HU_LISTEN_PORT = 9878, HU_LISTEN_NAME = 320 };

typedef struct {
    int  fd;
    bool is_unix;
    bool is_ours;              /* of a unix socket: the file goes when it is closed */
    char name[HU_LISTEN_NAME]; /* "127.0.0.1:9878", "[::]:9878" with the real port, or the path of a unix socket */
} hu_listener;

/*
 * Opens "HOST:PORT", "[HOST]:PORT", ":PORT" (all addresses), "PORT" (127.0.0.1) or "unix:PATH".  Port 0 is any free one.  A
 * socket that a dead process left at PATH is replaced.  Returns 0, or an error that says what to do.
 */
int hu_listen_open(const char *address, hu_listener *out, hu_error *err);

/* Sockets that systemd hands over (sd_listen_fds(3)), at most `room`; returns how many.  The variables that say so are gone
   then. */
size_t hu_listen_inherited(hu_listener *out, size_t room);

void hu_listen_close(hu_listener *l);

#endif
