/* SPDX-License-Identifier: Apache-2.0
 * gnutls.h - GnuTLS: `holdup monitor --web-config`. */
#ifndef HU_BASE_LATE_GNUTLS_H
#define HU_BASE_LATE_GNUTLS_H

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "base/late.h"

/* clang-format off */
#define HU_GNUTLS_FUNCTIONS(F) \
    F(gnutls_base64_decode2) F(gnutls_certificate_allocate_credentials) \
    F(gnutls_certificate_free_credentials) F(gnutls_certificate_get_peers) \
    F(gnutls_certificate_server_set_request) F(gnutls_certificate_set_x509_key_mem) \
    F(gnutls_certificate_set_x509_trust_mem) F(gnutls_certificate_verify_peers) F(gnutls_free) F(gnutls_hash) \
    F(gnutls_hash_deinit) F(gnutls_hash_init) F(gnutls_memcmp) F(gnutls_memset) F(gnutls_priority_deinit) \
    F(gnutls_priority_init) F(gnutls_rnd) F(gnutls_session_set_verify_function) F(gnutls_strerror) \
    F(gnutls_x509_crt_deinit) F(gnutls_x509_crt_get_subject_alt_name) F(gnutls_x509_crt_import) \
    F(gnutls_x509_crt_init)

HU_LATE_DECLARE(hu_gnutls, HU_GNUTLS_FUNCTIONS)

#define gnutls_base64_decode2 (*hu_gnutls.gnutls_base64_decode2)
#define gnutls_certificate_allocate_credentials (*hu_gnutls.gnutls_certificate_allocate_credentials)
#define gnutls_certificate_free_credentials (*hu_gnutls.gnutls_certificate_free_credentials)
#define gnutls_certificate_get_peers (*hu_gnutls.gnutls_certificate_get_peers)
#define gnutls_certificate_server_set_request (*hu_gnutls.gnutls_certificate_server_set_request)
#define gnutls_certificate_set_x509_key_mem (*hu_gnutls.gnutls_certificate_set_x509_key_mem)
#define gnutls_certificate_set_x509_trust_mem (*hu_gnutls.gnutls_certificate_set_x509_trust_mem)
#define gnutls_certificate_verify_peers (*hu_gnutls.gnutls_certificate_verify_peers)
#define gnutls_free (*hu_gnutls.gnutls_free)
#define gnutls_hash (*hu_gnutls.gnutls_hash)
#define gnutls_hash_deinit (*hu_gnutls.gnutls_hash_deinit)
#define gnutls_hash_init (*hu_gnutls.gnutls_hash_init)
#define gnutls_memcmp (*hu_gnutls.gnutls_memcmp)
#define gnutls_memset (*hu_gnutls.gnutls_memset)
#define gnutls_priority_deinit (*hu_gnutls.gnutls_priority_deinit)
#define gnutls_priority_init (*hu_gnutls.gnutls_priority_init)
#define gnutls_rnd (*hu_gnutls.gnutls_rnd)
#define gnutls_session_set_verify_function (*hu_gnutls.gnutls_session_set_verify_function)
#define gnutls_strerror (*hu_gnutls.gnutls_strerror)
#define gnutls_x509_crt_deinit (*hu_gnutls.gnutls_x509_crt_deinit)
#define gnutls_x509_crt_get_subject_alt_name (*hu_gnutls.gnutls_x509_crt_get_subject_alt_name)
#define gnutls_x509_crt_import (*hu_gnutls.gnutls_x509_crt_import)
#define gnutls_x509_crt_init (*hu_gnutls.gnutls_x509_crt_init)
/* clang-format on */

#endif
