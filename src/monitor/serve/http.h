/* SPDX-License-Identifier: Apache-2.0
 * http.h - /metrics and the health of the monitor, over HTTP or HTTPS. */
#ifndef HU_MONITOR_SERVE_HTTP_H
#define HU_MONITOR_SERVE_HTTP_H

#include "base/error.h"
#include "monitor/serve/exposition.h"
#include "monitor/serve/listen.h"

typedef struct hu_http hu_http;

enum { HU_HTTP_LISTEN_MOST = 16 };

typedef struct {
    const char *const *listen; /* addresses of hu_listen_open; none: 127.0.0.1:9878, unless systemd hands sockets over */
    size_t             n_listen;
    bool               has_other; /* there is another way out, so that no address is none */
    const char        *config;    /* of the web (web_config.h); NULL: plain, for everybody */
    hu_text_names      names;
} hu_http_options;

/*
 * Opens sockets and reads the configuration: what can be wrong is said before anything runs, and children that are started
 * between this and hu_http_start know no threads.  NULL on failure, with what to do in err.
 */
hu_http *hu_http_open(const hu_http_options *options, hu_error *err);

/* The n-th socket that it listens on; NULL: there are no more. */
const hu_listener *hu_http_listener(const hu_http *h, size_t n);
bool               hu_http_has_tls(const hu_http *h);

/* Serves from threads of its own.  Returns 0 or an error. */
int hu_http_start(hu_http *h, hu_keeper *k, hu_error *err);

/*
 * Takes what changed in the configuration and the files that it names; call it once a second.  `is_forced`: look at them
 * even if they seem the same.  Returns 0, or an error, and goes on with what it had.
 */
int hu_http_reload(hu_http *h, bool is_forced, hu_error *err);

/* Ends in less than a second, whatever is going on.  NULL is fine. */
void hu_http_stop(hu_http *h);

#endif
