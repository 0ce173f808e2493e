/* SPDX-License-Identifier: Apache-2.0
 * web_tls.c - Go names cipher suites whole (crypto/tls), GnuTLS has their parts: a list is refused when its parts would make
 * suites that it does not name. */
#include "monitor/serve/web_tls.h"

#include <stdio.h>
#include <string.h>

#include "base/late/gnutls.h"
#include "base/str.h"

enum { PRIORITIES_MOST = 1024 };

/* Those of TLS 1.3 have a cipher alone, which GnuTLS then has for 1.2 as well; the ciphers of a list hold for both. */
static const struct {
    const char *name, *exchange, *cipher, *mac;
} suites[] = {
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA", "AES-128-GCM", "AEAD"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA", "AES-256-GCM", "AEAD"},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA", "AES-128-GCM", "AEAD"},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA", "AES-256-GCM", "AEAD"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA", "CHACHA20-POLY1305", "AEAD"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA", "CHACHA20-POLY1305", "AEAD"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA", "AES-128-CBC", "SHA1"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA", "AES-256-CBC", "SHA1"},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA", "AES-128-CBC", "SHA1"},
    {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA", "AES-256-CBC", "SHA1"},
    {"TLS_AES_128_GCM_SHA256", NULL, "AES-128-GCM", "AEAD"},
    {"TLS_AES_256_GCM_SHA384", NULL, "AES-256-GCM", "AEAD"},
    {"TLS_CHACHA20_POLY1305_SHA256", NULL, "CHACHA20-POLY1305", "AEAD"},
};

static const struct {
    const char *name, *group;
} curves[] = {{"CurveP256", "SECP256R1"}, {"CurveP384", "SECP384R1"}, {"CurveP521", "SECP521R1"}, {"X25519", "X25519"}};

static const struct {
    const char *name, *version;
} versions[] = {{"TLS10", "TLS1.0"}, {"TLS11", "TLS1.1"}, {"TLS12", "TLS1.2"}, {"TLS13", "TLS1.3"}};

typedef struct {
    char   text[PRIORITIES_MOST];
    size_t n;
} priorities;

static void add(priorities *p, const char *sign, const char *word)
{
    const char *at = strstr(p->text, word);

    /* once */
    if (at && at > p->text && at[-1] == '+' && (at[strlen(word)] == ':' || at[strlen(word)] == '\0'))
        return;
    if (p->n < sizeof p->text)
        p->n += (size_t)snprintf(p->text + p->n, sizeof p->text - p->n, ":%s%s", sign, word);
}

static int version_of(const char *name, int usual, hu_error *err)
{
    if (!name)
        return usual;
    for (size_t i = 0; i < HU_COUNT(versions); i++)
        if (strcmp(versions[i].name, name) == 0)
            return (int)i;
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "unknown version of TLS; there are TLS10, TLS11, TLS12 and TLS13");
}

static size_t suite_of(const char *name)
{
    size_t i = 0;

    while (i < HU_COUNT(suites) && strcmp(suites[i].name, name) != 0)
        i++;
    return i;
}

/* Has the list a suite with this exchange, or (the other one NULL) with this cipher? */
static bool has_part(const hu_tls_words *w, const char *exchange, const char *cipher)
{
    for (size_t i = 0; i < w->n_ciphers; i++) {
        const size_t at = suite_of(w->ciphers[i]);

        if (exchange ? suites[at].exchange && strcmp(suites[at].exchange, exchange) == 0
                     : strcmp(suites[at].cipher, cipher) == 0)
            return true;
    }
    return false;
}

static bool has_suite(const hu_tls_words *w, const char *name)
{
    for (size_t i = 0; i < w->n_ciphers; i++)
        if (strcmp(w->ciphers[i], name) == 0)
            return true;
    return false;
}

static int add_ciphers(priorities *p, const hu_tls_words *w, hu_error *err)
{
    if (w->n_ciphers == 0)
        return 0;
    for (size_t i = 0; i < w->n_ciphers; i++)
        if (suite_of(w->ciphers[i]) == HU_COUNT(suites))
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                           "unknown cipher suite \"%.60s\"; they are called as in Go, such as %s", w->ciphers[i],
                           suites[0].name);
    for (size_t i = 0; i < HU_COUNT(suites); i++)
        if (suites[i].exchange && has_part(w, suites[i].exchange, NULL) && has_part(w, NULL, suites[i].cipher) &&
            !has_suite(w, suites[i].name))
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                           "GnuTLS cannot have these cipher_suites without %s: add it, or name fewer", suites[i].name);
    add(p, "-", "KX-ALL");
    add(p, "-", "CIPHER-ALL");
    add(p, "-", "MAC-ALL");
    for (size_t i = 0; i < w->n_ciphers; i++) {
        const size_t at = suite_of(w->ciphers[i]);

        if (suites[at].exchange)
            add(p, "+", suites[at].exchange);
        add(p, "+", suites[at].cipher);
        add(p, "+", suites[at].mac);
    }
    return 0;
}

static int add_curves(priorities *p, const hu_tls_words *w, hu_error *err)
{
    if (w->n_curves)
        add(p, "-", "GROUP-ALL");
    for (size_t i = 0; i < w->n_curves; i++) {
        char   group[32];
        size_t at = 0;

        while (at < HU_COUNT(curves) && strcmp(curves[at].name, w->curves[i]) != 0)
            at++;
        if (at == HU_COUNT(curves))
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                           "unknown curve \"%.60s\"; there are CurveP256, CurveP384, CurveP521 and X25519", w->curves[i]);
        snprintf(group, sizeof group, "GROUP-%s", curves[at].group);
        add(p, "+", group);
    }
    return 0;
}

const char *hu_tls_priorities(hu_arena *arena, const hu_tls_words *w, hu_error *err)
{
    const int  least = version_of(w->min_version, 2, err), most = least < 0 ? least : version_of(w->max_version, 3, err);
    priorities p = {.text = "NORMAL:-VERS-ALL", .n = strlen("NORMAL:-VERS-ALL")};
    gnutls_priority_t parsed;
    hu_str            copy;

    if (least < 0 || most < 0)
        return NULL;
    if (least > most) {
        hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "min_version is above max_version");
        return NULL;
    }
    for (int v = most; v >= least; v--) {
        char word[16];

        snprintf(word, sizeof word, "VERS-%s", versions[v].version);
        add(&p, "+", word);
    }
    if (add_ciphers(&p, w, err) < 0 || add_curves(&p, w, err) < 0)
        return NULL;
    if (w->server_chooses)
        add(&p, "", "%SERVER_PRECEDENCE");
    if (hu_late_open(&hu_gnutls_library, err) < 0)
        return NULL;
    if (gnutls_priority_init(&parsed, p.text, NULL) != 0) {
        hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "this GnuTLS does not have these versions, cipher_suites or curves");
        return NULL;
    }
    gnutls_priority_deinit(parsed);
    copy = hu_arena_copy(arena, hu_str_of(p.text));
    if (!copy.p)
        hu_fail_memory(err);
    return copy.p;
}

static gnutls_datum_t datum(hu_str s)
{
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)s.p, (unsigned)s.n};
}

int hu_tls_check(hu_str cert, hu_str key, hu_str ca, hu_error *err)
{
    gnutls_certificate_credentials_t c;
    const gnutls_datum_t             certificate = datum(cert), secret = datum(key), authority = datum(ca);
    int                              rc;

    if (hu_late_open(&hu_gnutls_library, err) < 0)
        return err->code;
    if (gnutls_certificate_allocate_credentials(&c) != 0)
        return hu_fail_memory(err);
    rc = gnutls_certificate_set_x509_key_mem(c, &certificate, &secret, GNUTLS_X509_FMT_PEM);
    if (rc < 0)
        rc = hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "certificate and key cannot be used: %s%s", gnutls_strerror(rc),
                     rc == GNUTLS_E_CERTIFICATE_KEY_MISMATCH ? "; the key belongs to another certificate"
                                                             : "; both have to be PEM");
    else if (ca.p && gnutls_certificate_set_x509_trust_mem(c, &authority, GNUTLS_X509_FMT_PEM) <= 0)
        rc = hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "client_ca holds no certificate in PEM");
    gnutls_certificate_free_credentials(c);
    return rc < 0 ? rc : 0;
}
