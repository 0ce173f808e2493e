/* SPDX-License-Identifier: Apache-2.0
 * client_cert.h - certificates that clients show. */
#ifndef HU_MONITOR_SERVE_CLIENT_CERT_H
#define HU_MONITOR_SERVE_CLIENT_CERT_H

#include <stdbool.h>

#include "monitor/serve/web_config.h"

/* Before the handshake of a session (gnutls_session_t): who has to show a certificate, and what is looked at. */
void hu_client_cert_ask(void *session, hu_client_auth auth);

/* After it: is one of the names (SAN) of the client's certificate in the list?  True where there is no list. */
bool hu_client_cert_is_allowed(void *session, const hu_web_config *c);

#endif
