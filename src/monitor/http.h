/* SPDX-License-Identifier: Apache-2.0
 * http.h - /metrics and the health of the monitor, over HTTP. */
#ifndef HU_MONITOR_HTTP_H
#define HU_MONITOR_HTTP_H

#include "base/error.h"
#include "monitor/keeper.h"

typedef struct hu_http hu_http;

typedef struct {
    const char *const *listen; /* "HOST:PORT", each */
    size_t             n_listen;
} hu_http_options;

enum { HU_HTTP_PORT = 9878 };

/* Serves from threads of its own.  NULL on failure, with the address and what to do in err. */
hu_http *hu_http_start(const hu_http_options *options, hu_keeper *k, hu_error *err);

/* The port of the n-th address. */
unsigned hu_http_port(const hu_http *h, size_t n);

void hu_http_stop(hu_http *h); /* NULL is fine */

#endif
