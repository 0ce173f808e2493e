/* SPDX-License-Identifier: Apache-2.0
 * grpc_call.h - one gRPC method without arguments, called again and again over a local socket, without ever waiting for it.
 *
 * gRPC is HTTP/2: a POST whose body is one message, with five bytes in front of it (a flag, a length), and a status in the
 * trailers (grpc.io, "gRPC over HTTP2").  A call goes on at each look; a server that is silent holds up nobody.
 */
#ifndef HU_MONITOR_JOBS_GRPC_CALL_H
#define HU_MONITOR_JOBS_GRPC_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

typedef struct hu_grpc hu_grpc;

typedef enum {
    HU_GRPC_IDLE,    /* no call is under way */
    HU_GRPC_WAITING, /* for the server */
    HU_GRPC_DONE,    /* there is an answer; hu_grpc_answer until the next call */
    HU_GRPC_ABSENT,  /* there is no such socket */
    HU_GRPC_FAILED,  /* hu_grpc_why */
} hu_grpc_state;

/* `method` is "/PACKAGE.SERVICE/METHOD"; both texts outlive it.  NULL: no memory. */
hu_grpc *hu_grpc_new(const char *path, const char *method);
void     hu_grpc_free(hu_grpc *g); /* NULL is fine */

/* Begins a call that has until `deadline_ns` of CLOCK_MONOTONIC; one that is under way is given up. */
void hu_grpc_begin(hu_grpc *g, int64_t deadline_ns);

/* Goes on with it, and waits for the server no longer than `wait_ms`. */
hu_grpc_state hu_grpc_go_on(hu_grpc *g, int wait_ms);

bool        hu_grpc_is_waiting(const hu_grpc *g);
hu_str      hu_grpc_answer(const hu_grpc *g);
const char *hu_grpc_why(const hu_grpc *g); /* one line */

#endif
