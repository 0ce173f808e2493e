/* SPDX-License-Identifier: Apache-2.0
 * web_tls.h - what a web configuration says of TLS, in the words of GnuTLS. */
#ifndef HU_MONITOR_SERVE_WEB_TLS_H
#define HU_MONITOR_SERVE_WEB_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

/* As the file has them, in Go's words; NULL and 0: not said. */
typedef struct {
    const char        *min_version, *max_version; /* "TLS10" to "TLS13" */
    const char *const *ciphers, *const *curves;
    size_t n_ciphers, n_curves;
    bool   server_chooses;
} hu_tls_words;

/* The priority string of them, in the arena.  NULL: a word is not known, or cannot be had alone; err says which. */
const char *hu_tls_priorities(hu_arena *arena, const hu_tls_words *words, hu_error *err);

/* Do certificate and key belong together, and is the authority one (ca.p NULL: there is none)?  Returns 0 or an error. */
int hu_tls_check(hu_str cert, hu_str key, hu_str ca, hu_error *err);

#endif
