/* SPDX-License-Identifier: Apache-2.0
 * socket.h - where processes of jobs send their datagrams to. */
#ifndef HU_MONITOR_LIVE_SOCKET_H
#define HU_MONITOR_LIVE_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "monitor/live/identity.h"

enum { HU_LIVE_PATH = 108, HU_LIVE_DATAGRAM_MOST = 4096, HU_LIVE_WAIT_S = 1 };

/*
 * The usual place: of a service of systemd, its folder in /run; of root, HU_LIVE_SOCKET; of a user, below
 * $XDG_RUNTIME_DIR.  Its folder is made.  False: there is none.
 */
bool hu_live_socket_path(char out[HU_LIVE_PATH]);

/*
 * Opens it for all users to send to.  The socket of a monitor that is gone is replaced, one that lives is not.  -1: `why`
 * says what is wrong.
 */
int hu_live_socket_open(const char *path, char *why, size_t room);

/*
 * Waits for a datagram, HU_LIVE_WAIT_S at most.  The number of its bytes, which may be more than HU_LIVE_DATAGRAM_MOST, of
 * which the rest is lost; -1: none came.  A sender of whom the kernel says nothing has pid 0.
 */
long hu_live_socket_read(int fd, unsigned char bytes[HU_LIVE_DATAGRAM_MOST], hu_live_sender *sender);

#endif
