/* SPDX-License-Identifier: Apache-2.0
 * client_cert.c - as Go's crypto/tls has it: a certificate that does not verify ends the handshake. */
#include "monitor/serve/client_cert.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/late/gnutls.h"

/* A chain to one of the authorities, now, for a client.  No certificate is one that verifies: who needs one asked for it. */
static int verify(gnutls_session_t session)
{
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (void *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT};
    unsigned              n = 0, status = 0;

    if (!gnutls_certificate_get_peers(session, &n) || n == 0)
        return 0;
    return gnutls_certificate_verify_peers(session, &purpose, 1, &status) == 0 && status == 0 ? 0
                                                                                              : GNUTLS_E_CERTIFICATE_ERROR;
}

void hu_client_cert_ask(void *session, hu_client_auth auth)
{
    if (auth == HU_CLIENT_NONE)
        return;
    gnutls_certificate_server_set_request(session, auth == HU_CLIENT_VERIFY || auth == HU_CLIENT_ANY ? GNUTLS_CERT_REQUIRE
                                                                                                     : GNUTLS_CERT_REQUEST);
    if (auth == HU_CLIENT_VERIFY || auth == HU_CLIENT_IF_GIVEN)
        gnutls_session_set_verify_function(session, verify);
}

static bool is_listed(const hu_web_config *c, const char *name, size_t n)
{
    for (size_t i = 0; i < c->n_client_sans; i++)
        if (strlen(c->client_sans[i]) == n && memcmp(c->client_sans[i], name, n) == 0)
            return true;
    return false;
}

static bool has_listed(const hu_web_config *c, gnutls_x509_crt_t cert)
{
    for (unsigned i = 0;; i++) {
        char      name[1024], address[INET6_ADDRSTRLEN];
        size_t    n = sizeof name;
        const int kind = gnutls_x509_crt_get_subject_alt_name(cert, i, name, &n, NULL);

        if (kind == GNUTLS_E_SHORT_MEMORY_BUFFER)
            continue; /* longer than any in the list is likely to be */
        if (kind < 0)
            return false;
        if (kind == GNUTLS_SAN_IPADDRESS) {
            if (inet_ntop(n == 16 ? AF_INET6 : AF_INET, name, address, sizeof address) &&
                is_listed(c, address, strlen(address)))
                return true;
        } else if (kind == GNUTLS_SAN_DNSNAME || kind == GNUTLS_SAN_RFC822NAME || kind == GNUTLS_SAN_URI) {
            if (is_listed(c, name, strnlen(name, n)))
                return true;
        }
    }
}

bool hu_client_cert_is_allowed(void *session, const hu_web_config *c)
{
    unsigned              n = 0;
    const gnutls_datum_t *shown = c->n_client_sans ? gnutls_certificate_get_peers(session, &n) : NULL;
    gnutls_x509_crt_t     cert;
    bool                  is_allowed;

    if (c->n_client_sans == 0)
        return true;
    if (!shown || n == 0 || gnutls_x509_crt_init(&cert) != 0)
        return false;
    is_allowed = gnutls_x509_crt_import(cert, &shown[0], GNUTLS_X509_FMT_DER) == 0 && has_listed(c, cert);
    gnutls_x509_crt_deinit(cert);
    return is_allowed;
}
