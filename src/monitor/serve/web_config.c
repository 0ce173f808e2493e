/* SPDX-License-Identifier: Apache-2.0
 * web_config.c - YAML by libyaml, as a tree; each section is a table of keys, and a key that is in none is an error.
 *
 * Keys, their values and what they exclude: exporter-toolkit, web/tls_config.go and web/handler.go.
 */
#include "monitor/serve/web_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/late/gnutls.h"
#include "base/late/yaml.h"
#include "base/number.h"
#include "monitor/serve/web_tls.h"

enum { FILE_MOST = 1 << 20, LIST_MOST = 64, PATH_MOST = 4096, HASH_BYTES = 60 };
enum { FILE_SELF, FILE_CERT, FILE_KEY, FILE_CA };

typedef struct {
    hu_web_config  *config;
    const char     *path;
    yaml_document_t document;
    hu_error       *err;

    /* as the file has them, before they are put together */
    const char  *cert, *key, *client_ca, *cert_file, *key_file, *client_ca_file, *client_auth;
    hu_tls_words tls;
    size_t       tls_line, client_auth_line, sans_line;
} reading;

/* ---- words ------------------------------------------------------------------------------------------------------- */

static size_t line_of(const yaml_node_t *n)
{
    return n->start_mark.line + 1;
}

__attribute__((format(printf, 3, 4))) static int fail_at(reading *r, size_t line, const char *format, ...)
{
    char    text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return hu_fail(r->err, HU_EUSAGE, r->path, HU_NO_OFFSET, "line %zu: %s", line, text);
}

/* The text of a scalar, in the arena; NULL and an error for anything else.  What it says is never a part of the error. */
static const char *text_of(reading *r, const yaml_node_t *n, const char *what)
{
    hu_str copy;

    if (n->type != YAML_SCALAR_NODE) {
        fail_at(r, line_of(n), "%s has to be a text", what);
        return NULL;
    }
    if (memchr(n->data.scalar.value, '\0', n->data.scalar.length)) {
        fail_at(r, line_of(n), "%s holds a NUL", what);
        return NULL;
    }
    copy = hu_arena_copy(r->config->arena, (hu_str){(const char *)n->data.scalar.value, n->data.scalar.length});
    if (!copy.p)
        hu_fail_memory(r->err);
    return copy.p;
}

static int take_text(reading *r, const yaml_node_t *n, const char *what, const char **out)
{
    *out = text_of(r, n, what);
    return *out ? 0 : r->err->code;
}

static int take_bool(reading *r, const yaml_node_t *n, const char *what, bool *out)
{
    static const char *const yes[] = {"true", "True", "TRUE", "yes", "on"}, *const no[] = {"false", "False", "FALSE", "no",
                                                                                           "off"};
    const char *text;
    int         rc = take_text(r, n, what, &text);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < HU_COUNT(yes); i++)
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
            *out = strcmp(text, yes[i]) == 0;
            return 0;
        }
    return fail_at(r, line_of(n), "%s has to be true or false", what);
}

static int take_list(reading *r, const yaml_node_t *n, const char *what, const char *const **out, size_t *count)
{
    const size_t items = n->type == YAML_SEQUENCE_NODE ? (size_t)(n->data.sequence.items.top - n->data.sequence.items.start)
                                                       : 0;
    const char **list = hu_arena_calloc(r->config->arena, items + 1, sizeof *list);

    if (n->type != YAML_SEQUENCE_NODE || items > LIST_MOST)
        return fail_at(r, line_of(n), "%s has to be a list of at most %d texts", what, LIST_MOST);
    if (!list)
        return hu_fail_memory(r->err);
    for (size_t i = 0; i < items; i++) {
        const int rc = take_text(r, yaml_document_get_node(&r->document, n->data.sequence.items.start[i]), what, &list[i]);

        if (rc < 0)
            return rc;
    }
    *out = list;
    *count = items;
    return 0;
}

/* "1s", "1m30s", "250ms" as Go writes times. */
static bool parse_duration(const char *text, int64_t *out_ns)
{
    static const struct {
        const char *unit;
        int64_t     ns;
    } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};
    double total = 0;

    if (strcmp(text, "0") == 0) {
        *out_ns = 0;
        return true;
    }
    while (*text) {
        const size_t digits = strspn(text, "0123456789."), letters = strspn(text + digits, "nusmh");
        double       number;
        size_t       i = 0;

        while (i < HU_COUNT(units) &&
               (strlen(units[i].unit) != letters || memcmp(units[i].unit, text + digits, letters) != 0))
            i++;
        if (i == HU_COUNT(units) || !hu_parse_f64((hu_str){text, digits}, &number))
            return false;
        total += number * (double)units[i].ns;
        text += digits + letters;
    }
    *out_ns = total < 1e18 ? (int64_t)total : 0;
    return total > 0 && total < 1e18;
}

/* ---- sections ---------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *key;
    int (*take)(reading *r, const yaml_node_t *value, const char *key);
} entry;

static int fail_unknown(reading *r, const yaml_node_t *key, const char *name, const char *section, const entry *table)
{
    char   known[384] = "";
    size_t n = 0;

    for (; table->key; table++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", table->key);
    return fail_at(r, line_of(key), "unknown key \"%.60s\"%s%s; there are %s", name, section[0] ? " in " : "", section,
                   known);
}

/* Calls take(r, key, value) for each pair.  Of two keys that are the same, the second is an error. */
static int each_pair(reading *r, const yaml_node_t *n, const char *section, void *context,
                     int (*take)(reading *r, void *context, const yaml_node_t *key, const char *name,
                                 const yaml_node_t *value))
{
    if (n->type == YAML_SCALAR_NODE && n->data.scalar.length == 0)
        return 0; /* "section:" with nothing in it */
    if (n->type != YAML_MAPPING_NODE)
        return fail_at(r, line_of(n), "%s has to hold keys and values", section[0] ? section : "the file");
    for (const yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = yaml_document_get_node(&r->document, p->key);
        const char        *name = text_of(r, key, "a key");
        int                rc;

        if (!name)
            return r->err->code;
        for (const yaml_node_pair_t *q = n->data.mapping.pairs.start; q < p; q++) {
            const yaml_node_t *other = yaml_document_get_node(&r->document, q->key);

            if (other->type == YAML_SCALAR_NODE && other->data.scalar.length == strlen(name) &&
                memcmp(other->data.scalar.value, name, strlen(name)) == 0)
                return fail_at(r, line_of(key), "\"%.60s\" is there twice, first in line %zu", name, line_of(other));
        }
        rc = take(r, context, key, name, yaml_document_get_node(&r->document, p->value));
        if (rc < 0)
            return rc;
    }
    return 0;
}

typedef struct {
    const char  *section;
    const entry *table;
} section;

static int take_entry(reading *r, void *context, const yaml_node_t *key, const char *name, const yaml_node_t *value)
{
    const section *s = context;

    for (const entry *e = s->table; e->key; e++)
        if (strcmp(e->key, name) == 0)
            return e->take(r, value, e->key);
    return fail_unknown(r, key, name, s->section, s->table);
}

static int take_section(reading *r, const yaml_node_t *n, const char *name, const entry *table)
{
    section s = {name, table};

    return each_pair(r, n, name, &s, take_entry);
}

/* tls_server_config: */

#define TAKE_TEXT(name, field)                                             \
    static int name(reading *r, const yaml_node_t *value, const char *key) \
    {                                                                      \
        return take_text(r, value, key, &r->field);                        \
    }

TAKE_TEXT(take_cert, cert)
TAKE_TEXT(take_key, key)
TAKE_TEXT(take_client_ca, client_ca)
TAKE_TEXT(take_cert_file, cert_file)
TAKE_TEXT(take_key_file, key_file)
TAKE_TEXT(take_client_ca_file, client_ca_file)

static int take_client_auth(reading *r, const yaml_node_t *value, const char *key)
{
    static const struct {
        const char    *name;
        hu_client_auth auth;
    } rows[] = {
        {"NoClientCert", HU_CLIENT_NONE},
        {"RequestClientCert", HU_CLIENT_REQUEST},
        {"RequireAnyClientCert", HU_CLIENT_ANY},
        {"RequireClientCert", HU_CLIENT_ANY},
        {"VerifyClientCertIfGiven", HU_CLIENT_IF_GIVEN},
        {"RequireAndVerifyClientCert", HU_CLIENT_VERIFY},
    };
    const int rc = take_text(r, value, key, &r->client_auth);

    if (rc < 0)
        return rc;
    r->client_auth_line = line_of(value);
    for (size_t i = 0; i < HU_COUNT(rows); i++)
        if (strcmp(rows[i].name, r->client_auth) == 0) {
            r->config->client_auth = rows[i].auth;
            return 0;
        }
    return fail_at(r, line_of(value),
                   "unknown client_auth_type; use NoClientCert, RequestClientCert, RequireAnyClientCert, "
                   "VerifyClientCertIfGiven or RequireAndVerifyClientCert");
}

static int take_sans(reading *r, const yaml_node_t *value, const char *key)
{
    r->sans_line = line_of(value);
    return take_list(r, value, key, &r->config->client_sans, &r->config->n_client_sans);
}

static int take_min_version(reading *r, const yaml_node_t *value, const char *key)
{
    return take_text(r, value, key, &r->tls.min_version);
}

static int take_max_version(reading *r, const yaml_node_t *value, const char *key)
{
    return take_text(r, value, key, &r->tls.max_version);
}

static int take_ciphers(reading *r, const yaml_node_t *value, const char *key)
{
    return take_list(r, value, key, &r->tls.ciphers, &r->tls.n_ciphers);
}

static int take_curves(reading *r, const yaml_node_t *value, const char *key)
{
    return take_list(r, value, key, &r->tls.curves, &r->tls.n_curves);
}

static int take_prefer(reading *r, const yaml_node_t *value, const char *key)
{
    return take_bool(r, value, key, &r->tls.server_chooses);
}

static int take_tls(reading *r, const yaml_node_t *value, const char *key)
{
    static const entry table[] = {
        {"cert_file", take_cert_file},
        {"key_file", take_key_file},
        {"client_auth_type", take_client_auth},
        {"client_ca_file", take_client_ca_file},
        {"client_allowed_sans", take_sans},
        {"min_version", take_min_version},
        {"max_version", take_max_version},
        {"cipher_suites", take_ciphers},
        {"prefer_server_cipher_suites", take_prefer},
        {"curve_preferences", take_curves},
        {"cert", take_cert},
        {"key", take_key},
        {"client_ca", take_client_ca},
        {NULL},
    };

    r->tls_line = line_of(value);
    return take_section(r, value, key, table);
}

/* http_server_config: */

static int take_http2(reading *r, const yaml_node_t *value, const char *key)
{
    bool any; /* HTTP/1.1 is all that is spoken, which is what clients of HTTP/2 take then */

    return take_bool(r, value, key, &any);
}

static int take_header(reading *r, void *context, const yaml_node_t *key, const char *name, const yaml_node_t *value)
{
    static const struct {
        const char *name, *one, *other;
    } rows[] = {{"Content-Security-Policy", NULL, NULL},
                {"X-Frame-Options", "deny", "sameorigin"},
                {"X-Content-Type-Options", "nosniff", NULL},
                {"X-XSS-Protection", NULL, NULL},
                {"Strict-Transport-Security", NULL, NULL}};
    hu_web_header *headers = context;
    const char    *text = text_of(r, value, name);
    size_t         i = 0;

    if (!text)
        return r->err->code;
    while (i < HU_COUNT(rows) && strcmp(rows[i].name, name) != 0)
        i++;
    if (i == HU_COUNT(rows))
        return fail_at(r, line_of(key), "header \"%.60s\" cannot be set; there are %s, %s, %s, %s, %s", name, rows[0].name,
                       rows[1].name, rows[2].name, rows[3].name, rows[4].name);
    if (strpbrk(text, "\r\n"))
        return fail_at(r, line_of(value), "%s holds the end of a line", name);
    if (text[0] && rows[i].one && strcmp(text, rows[i].one) != 0 && (!rows[i].other || strcmp(text, rows[i].other) != 0))
        return fail_at(r, line_of(value), "%s has to be %s%s%s", name, rows[i].one, rows[i].other ? " or " : "",
                       rows[i].other ? rows[i].other : "");
    if (text[0])
        headers[r->config->n_headers++] = (hu_web_header){name, text};
    return 0;
}

static size_t pairs_of(const yaml_node_t *n)
{
    return n->type == YAML_MAPPING_NODE ? (size_t)(n->data.mapping.pairs.top - n->data.mapping.pairs.start) : 0;
}

static int take_headers(reading *r, const yaml_node_t *value, const char *key)
{
    hu_web_header *headers = hu_arena_calloc(r->config->arena, pairs_of(value) + 1, sizeof *headers);

    if (!headers)
        return hu_fail_memory(r->err);
    r->config->headers = headers;
    return each_pair(r, value, key, headers, take_header);
}

static int take_http(reading *r, const yaml_node_t *value, const char *key)
{
    static const entry table[] = {{"http2", take_http2}, {"headers", take_headers}, {NULL}};

    return take_section(r, value, key, table);
}

/* basic_auth_users: */

/* "$2y$10$", then 53 characters. */
static bool is_bcrypt(const char *s)
{
    static const char alphabet[] = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const int         cost = strlen(s) == HASH_BYTES && s[4] >= '0' && s[4] <= '3' && s[5] >= '0' && s[5] <= '9'
                                 ? 10 * (s[4] - '0') + (s[5] - '0')
                                 : 0;

    return cost >= 4 && cost <= 31 && s[0] == '$' && s[1] == '2' && strchr("aby", s[2]) && s[3] == '$' && s[6] == '$' &&
           strspn(s + 7, alphabet) == HASH_BYTES - 7;
}

static int take_user(reading *r, void *context, const yaml_node_t *key, const char *name, const yaml_node_t *value)
{
    hu_web_user *users = context;
    const char  *hash = text_of(r, value, "a hash");

    (void)key;
    if (!hash)
        return r->err->code;
    if (!is_bcrypt(hash))
        return fail_at(r, line_of(value),
                       "what belongs to this user is no hash of bcrypt; make one with htpasswd -nBC 10 \"\" | tr -d ':\\n'");
    users[r->config->n_users++] = (hu_web_user){name, hash};
    return 0;
}

static int take_users(reading *r, const yaml_node_t *value, const char *key)
{
    hu_web_user *users = hu_arena_calloc(r->config->arena, pairs_of(value) + 1, sizeof *users);

    if (!users)
        return hu_fail_memory(r->err);
    r->config->users = users;
    return each_pair(r, value, key, users, take_user);
}

/* rate_limit: */

static int take_interval(reading *r, const yaml_node_t *value, const char *key)
{
    const char *text;
    const int   rc = take_text(r, value, key, &text);

    if (rc < 0)
        return rc;
    return parse_duration(text, &r->config->interval_ns) ? 0
                                                         : fail_at(r, line_of(value), "%s has to be a time such as 1s", key);
}

static int take_burst(reading *r, const yaml_node_t *value, const char *key)
{
    const char *text;
    const int   rc = take_text(r, value, key, &text);

    if (rc < 0)
        return rc;
    return hu_parse_i64(hu_str_of(text), &r->config->burst) && r->config->burst >= 0
               ? 0
               : fail_at(r, line_of(value), "%s has to be a whole number", key);
}

static int take_rate(reading *r, const yaml_node_t *value, const char *key)
{
    static const entry table[] = {{"interval", take_interval}, {"burst", take_burst}, {NULL}};

    return take_section(r, value, key, table);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void note_file(hu_web_file *f)
{
    struct stat is;

    if (stat(f->path, &is) != 0) {
        f->modified_ns = f->bytes = f->inode = -1;
        return;
    }
    f->modified_ns = (int64_t)is.st_mtim.tv_sec * 1000000000 + is.st_mtim.tv_nsec;
    f->bytes = is.st_size;
    f->inode = (int64_t)is.st_ino;
}

/* All of it, in the arena, with a NUL behind it. */
static int read_file(reading *r, int which, const char *path, hu_str *out)
{
    hu_web_file *f = &r->config->file[which];
    const int    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char        *bytes = hu_arena_alloc(r->config->arena, FILE_MOST + 1);
    ssize_t      n = 0;
    size_t       have = 0;

    f->path = hu_arena_copy(r->config->arena, hu_str_of(path)).p;
    if (!bytes || !f->path) {
        if (fd >= 0)
            close(fd);
        return hu_fail_memory(r->err);
    }
    note_file(f);
    if (fd < 0)
        return hu_fail(r->err, HU_EIO, path, HU_NO_OFFSET, "cannot read: %s; check the path and who may read it",
                       strerror(errno));
    while (have < FILE_MOST && (n = read(fd, bytes + have, FILE_MOST - have)) > 0)
        have += (size_t)n;
    if (n < 0) {
        hu_fail(r->err, HU_EIO, path, HU_NO_OFFSET, "cannot read: %s", strerror(errno));
    } else if (have == FILE_MOST) {
        n = -1;
        hu_fail(r->err, HU_ELIMIT, path, HU_NO_OFFSET, "larger than %d KB: is it the right file?", FILE_MOST >> 10);
    }
    close(fd);
    bytes[have] = '\0';
    *out = (hu_str){bytes, have};
    return n < 0 ? r->err->code : 0;
}

/* Beside the configuration, unless it says where. */
static int read_named(reading *r, int which, const char *name, hu_str *out)
{
    const char *slash = strrchr(r->path, '/');
    char        path[PATH_MOST];
    const int   n = name[0] == '/' || !slash ? snprintf(path, sizeof path, "%s", name)
                                             : snprintf(path, sizeof path, "%.*s/%s", (int)(slash - r->path), r->path, name);

    if (n < 0 || n >= PATH_MOST)
        return hu_fail(r->err, HU_EUSAGE, r->path, HU_NO_OFFSET, "the path of a file in it is longer than %d bytes",
                       PATH_MOST);
    return read_file(r, which, path, out);
}

static int take_pem(reading *r, int which, const char *text, const char *file, const char *what, hu_str *out)
{
    if (text && file)
        return fail_at(r, r->tls_line, "both %s and %s_file are given; leave one out", what, what);
    if (file)
        return read_named(r, which, file, out);
    *out = hu_str_of(text);
    return 0;
}

/* What belongs together is together, and GnuTLS can work with it. */
static int finish_tls(reading *r)
{
    hu_web_config *c = r->config;
    int            rc;

    c->has_tls = r->cert || r->cert_file || r->key || r->key_file || r->client_ca || r->client_ca_file || r->client_auth;
    if (!c->has_tls)
        return r->tls_line && (r->sans_line || r->tls.min_version)
                   ? fail_at(r, r->tls_line, "tls_server_config names no certificate; add cert_file and key_file")
                   : 0;
    if (!r->cert && !r->cert_file)
        return fail_at(r, r->tls_line, "tls_server_config lacks cert_file (or cert)");
    if (!r->key && !r->key_file)
        return fail_at(r, r->tls_line, "tls_server_config lacks key_file (or key)");
    if ((rc = take_pem(r, FILE_CERT, r->cert, r->cert_file, "cert", &c->cert)) < 0 ||
        (rc = take_pem(r, FILE_KEY, r->key, r->key_file, "key", &c->key)) < 0 ||
        (rc = take_pem(r, FILE_CA, r->client_ca, r->client_ca_file, "client_ca", &c->client_ca)) < 0)
        return rc;
    if (c->client_ca.p && c->client_auth == HU_CLIENT_NONE)
        return fail_at(r, r->tls_line, "client_ca_file is of no use without client_auth_type: RequireAndVerifyClientCert");
    if (!c->client_ca.p && (c->client_auth == HU_CLIENT_VERIFY || c->client_auth == HU_CLIENT_IF_GIVEN))
        return fail_at(r, r->client_auth_line,
                       "client_auth_type needs client_ca_file: the authority that signed the clients");
    if (c->n_client_sans && c->client_auth != HU_CLIENT_VERIFY && c->client_auth != HU_CLIENT_ANY)
        return fail_at(r, r->sans_line,
                       "client_allowed_sans needs client_auth_type RequireAndVerifyClientCert or RequireAnyClientCert");
    c->priorities = hu_tls_priorities(c->arena, &r->tls, r->err);
    if (!c->priorities)
        return hu_because(r->err, "%s, tls_server_config", r->path);
    rc = hu_tls_check(c->cert, c->key, c->client_ca, r->err);
    return rc < 0 ? hu_because(r->err, "%s, tls_server_config", r->path) : 0;
}

static int finish(reading *r)
{
    if (r->config->interval_ns > 0 && r->config->burst == 0)
        return hu_fail(r->err, HU_EUSAGE, r->path, HU_NO_OFFSET, "rate_limit with burst 0 lets nobody in; give burst");
    return finish_tls(r);
}

static int parse(reading *r, hu_str text)
{
    static const entry table[] = {{"tls_server_config", take_tls},
                                  {"http_server_config", take_http},
                                  {"basic_auth_users", take_users},
                                  {"rate_limit", take_rate},
                                  {NULL}};
    const yaml_node_t *root;
    yaml_parser_t      parser;
    int                rc = 0;

    if (hu_late_open(&hu_yaml_library, r->err) < 0 || hu_late_open(&hu_gnutls_library, r->err) < 0)
        return r->err->code;
    if (!yaml_parser_initialize(&parser))
        return hu_fail_memory(r->err);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
    if (!yaml_parser_load(&parser, &r->document)) {
        rc = fail_at(r, parser.problem_mark.line + 1, "no YAML: %s", parser.problem ? parser.problem : "it cannot be read");
    } else {
        root = yaml_document_get_root_node(&r->document);
        if (root)
            rc = take_section(r, root, "", table);
        yaml_document_delete(&r->document);
    }
    yaml_parser_delete(&parser);
    return rc;
}

/* ---- one configuration ------------------------------------------------------------------------------------------- */

hu_web_config *hu_web_config_open(void)
{
    hu_web_config *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->holders = 1;
    c->arena = hu_arena_new();
    if (c->arena)
        return c;
    free(c);
    return NULL;
}

hu_web_config *hu_web_config_read(const char *path, hu_error *err)
{
    hu_error unused = {0};
    reading  r = {.config = hu_web_config_open(), .path = path, .err = err ? err : &unused, .tls = {.server_chooses = true}};
    hu_str   text;
    hu_web_config *c = r.config;

    if (!c) {
        hu_fail_memory(err);
        return NULL;
    }
    if (read_file(&r, FILE_SELF, path, &text) == 0 && parse(&r, text) == 0 && finish(&r) == 0)
        return c;
    hu_web_config_drop(c);
    return NULL;
}

void hu_web_config_hold(hu_web_config *c)
{
    atomic_fetch_add(&c->holders, 1);
}

void hu_web_config_drop(hu_web_config *c)
{
    if (!c || atomic_fetch_sub(&c->holders, 1) != 1)
        return;
    if (c->key.n) /* no copy of it stays in memory that is given back */
        gnutls_memset((void *)(uintptr_t)c->key.p, 0, c->key.n);
    hu_arena_free(c->arena);
    free(c);
}

bool hu_web_config_has_changed(const hu_web_config *c)
{
    for (int i = 0; i < HU_WEB_FILES; i++) {
        hu_web_file now = {.path = c->file[i].path};

        if (!now.path)
            continue;
        note_file(&now);
        if (now.modified_ns != c->file[i].modified_ns || now.bytes != c->file[i].bytes || now.inode != c->file[i].inode)
            return true;
    }
    return false;
}

bool hu_web_config_is_same_tls(const hu_web_config *a, const hu_web_config *b)
{
    if (a->has_tls != b->has_tls || a->client_auth != b->client_auth || a->n_client_sans != b->n_client_sans)
        return false;
    for (size_t i = 0; i < a->n_client_sans; i++)
        if (strcmp(a->client_sans[i], b->client_sans[i]) != 0)
            return false;
    return !a->has_tls || (hu_str_equal(a->cert, b->cert) && hu_str_equal(a->key, b->key) &&
                           hu_str_equal(a->client_ca, b->client_ca) && strcmp(a->priorities, b->priorities) == 0);
}
