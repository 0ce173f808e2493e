/* SPDX-License-Identifier: Apache-2.0
 * web_config.h - TLS, users, headers and a rate limit, from the file that exporters of Prometheus share.
 *
 * Format: prometheus/exporter-toolkit, docs/web-configuration.md.  Relative paths are relative to the file.  Secrets (keys,
 * hashes) never get into an error.
 */
#ifndef HU_MONITOR_SERVE_WEB_CONFIG_H
#define HU_MONITOR_SERVE_WEB_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

typedef enum {
    HU_CLIENT_NONE,     /* NoClientCert */
    HU_CLIENT_REQUEST,  /* RequestClientCert: asked for, and never looked at */
    HU_CLIENT_ANY,      /* RequireAnyClientCert: any certificate at all */
    HU_CLIENT_IF_GIVEN, /* VerifyClientCertIfGiven */
    HU_CLIENT_VERIFY,   /* RequireAndVerifyClientCert */
} hu_client_auth;

typedef struct {
    const char *name, *hash;
} hu_web_user;

typedef struct {
    const char *name, *value;
} hu_web_header;

enum { HU_WEB_FILES = 4 }; /* itself, certificate, key, authority */

/* A file as it was when it was read; any change of these is a change. */
typedef struct {
    const char *path; /* NULL: there is none */
    int64_t     modified_ns, bytes, inode;
} hu_web_file;

/* Nothing in it changes. */
typedef struct {
    _Atomic unsigned holders;
    hu_arena        *arena;
    hu_web_file      file[HU_WEB_FILES];

    bool               has_tls;
    hu_str             cert, key, client_ca; /* PEM, each with a NUL behind it; client_ca.p NULL: none */
    hu_client_auth     client_auth;
    const char *const *client_sans; /* any of these must be in the client's certificate; n 0: not looked at */
    size_t             n_client_sans;
    const char        *priorities; /* versions, ciphers and curves in GnuTLS' words */

    const hu_web_header *headers;
    size_t               n_headers;
    const hu_web_user   *users;
    size_t               n_users;
    int64_t              interval_ns; /* between two requests; 0: no limit */
    int64_t              burst;
} hu_web_config;

/* Reads and checks it and the files that it names.  NULL on failure, with file, line, reason and what to do. */
hu_web_config *hu_web_config_read(const char *path, hu_error *err);

/* One that asks for nothing: plain HTTP, for everybody.  NULL: no memory. */
hu_web_config *hu_web_config_open(void);

void hu_web_config_hold(hu_web_config *c);
void hu_web_config_drop(hu_web_config *c); /* the last holder frees it; NULL is fine */

/* Is one of its files another one than it was? */
bool hu_web_config_has_changed(const hu_web_config *c);

/* Do both make the same TLS of a connection? */
bool hu_web_config_is_same_tls(const hu_web_config *a, const hu_web_config *b);

#endif
