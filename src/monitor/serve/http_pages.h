/* SPDX-License-Identifier: Apache-2.0
 * http_pages.h - what lies behind each path, without the protocol that carries it. */
#ifndef HU_MONITOR_SERVE_HTTP_PAGES_H
#define HU_MONITOR_SERVE_HTTP_PAGES_H

#include "monitor/serve/exposition.h"

typedef struct hu_pages hu_pages;

typedef struct {
    unsigned    status;
    const char *type;
    const char *body;
    size_t      n;
    bool        is_packed; /* by gzip */
    bool        is_text;   /* of several kinds: which one depends on the request's headers */
    hu_text    *holds;     /* the body, until it is dropped; NULL: the body stays */
} hu_page;

/* NULL: no memory. */
hu_pages *hu_pages_new(hu_keeper *k, hu_text_names names);
void      hu_pages_free(hu_pages *p); /* NULL is fine */

bool hu_pages_is_metrics(const char *path);

/* One thread at a time.  A page is made once for all that ask within a second while nothing changes. */
hu_page hu_pages_get(hu_pages *p, const char *path, const char *accept, const char *accept_encoding);

#endif
