/* SPDX-License-Identifier: Apache-2.0
 * server.h - HTTP on 127.0.0.1 for one user: a table of paths, and functions that answer them. */
#ifndef HU_CLI_SERVER_H
#define HU_CLI_SERVER_H

#include "cli/door.h"
#include "cli/stream.h"

typedef struct hu_server hu_server;
typedef struct hu_asked  hu_asked; /* a request that was let in */

/* What goes back: `body`, or else what `write` writes while it is sent. */
typedef struct {
    const char      *type; /* of the content */
    const char      *file; /* the name under which a browser stores it; NULL: it is shown */
    hu_str           body;
    hu_arena        *arena;          /* holds the body, or the writer's context, and goes with it; NULL: it is part of what
                                        is held (hu_server_options) */
    size_t           unpacked_bytes; /* of a packed body, said in X-Unpacked-Bytes; 0: it is not packed */
    hu_stream_write *write;          /* NULL: there is a body */
    void            *context;        /* of write */
} hu_answer;

typedef struct {
    const char *path;
    bool        is_for_perfetto; /* ui.perfetto.dev may read it, for a user who gives it the token */
    /*
     * From several threads at once.  A failure becomes a status and err's text: HU_EUSAGE 400, HU_ENOMEM 503, others 500.
     */
    int (*answer)(void *held, const hu_asked *asked, hu_answer *answer, hu_error *err);
} hu_route;

typedef struct {
    const hu_route *routes;
    size_t          n_routes;
    void           *context;
    int             threads; /* that answer */
    /* What is answered from: held before an answer is asked, as its context, and let go when it was sent.  From several
       threads at once. */
    void *(*hold)(void *context);
    void (*let_go)(void *held);
} hu_server_options;

enum { HU_SERVER_PORT = 9001 }; /* the only one on this machine that ui.perfetto.dev may read from */

/* Of the address; NULL when it is not there. */
const char *hu_asked_get(const hu_asked *asked, const char *name);

/*
 * Binds 127.0.0.1 and draws a token.  `port` 0: any free one; -1: HU_SERVER_PORT, or the next free one.  Who connects waits
 * until hu_server_start.  NULL on failure, with the port and what to do in err.
 */
hu_server *hu_server_open(int port, hu_error *err);

const hu_door *hu_server_door(const hu_server *server);

/* Answers from now on, in threads of its own, which have the caller's mask of signals.  Returns 0 or HU_EIO. */
int hu_server_start(hu_server *server, const hu_server_options *options, hu_error *err);

/* A few times a second: sends those away who take places and longer for a request than programs do (guests.h). */
void hu_server_sweep(hu_server *server);

/*
 * Ends what is under way, and frees.  NULL is fine.  False: a writer that could not be stopped at once still reads what it
 * was given, which must stay until the process ends.
 */
bool hu_server_close(hu_server *server);

#endif
