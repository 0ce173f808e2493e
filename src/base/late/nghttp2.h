/* SPDX-License-Identifier: Apache-2.0
 * nghttp2.h - libnghttp2: the kubelet's gRPC service. */
#ifndef HU_BASE_LATE_NGHTTP2_H
#define HU_BASE_LATE_NGHTTP2_H

#include <nghttp2/nghttp2.h>

#include "base/late.h"

/* clang-format off */
#define HU_NGHTTP2_FUNCTIONS(F) \
    F(nghttp2_session_callbacks_del) F(nghttp2_session_callbacks_new) \
    F(nghttp2_session_callbacks_set_on_data_chunk_recv_callback) \
    F(nghttp2_session_callbacks_set_on_header_callback) \
    F(nghttp2_session_callbacks_set_on_stream_close_callback) F(nghttp2_session_client_new) \
    F(nghttp2_session_del) F(nghttp2_session_mem_recv) F(nghttp2_session_mem_send) \
    F(nghttp2_session_set_local_window_size) F(nghttp2_session_want_write) F(nghttp2_strerror) \
    F(nghttp2_submit_request) F(nghttp2_submit_settings)

HU_LATE_DECLARE(hu_nghttp2, HU_NGHTTP2_FUNCTIONS)

#define nghttp2_session_callbacks_del (*hu_nghttp2.nghttp2_session_callbacks_del)
#define nghttp2_session_callbacks_new (*hu_nghttp2.nghttp2_session_callbacks_new)
#define nghttp2_session_callbacks_set_on_data_chunk_recv_callback \
    (*hu_nghttp2.nghttp2_session_callbacks_set_on_data_chunk_recv_callback)
#define nghttp2_session_callbacks_set_on_header_callback (*hu_nghttp2.nghttp2_session_callbacks_set_on_header_callback)
#define nghttp2_session_callbacks_set_on_stream_close_callback \
    (*hu_nghttp2.nghttp2_session_callbacks_set_on_stream_close_callback)
#define nghttp2_session_client_new (*hu_nghttp2.nghttp2_session_client_new)
#define nghttp2_session_del (*hu_nghttp2.nghttp2_session_del)
#define nghttp2_session_mem_recv (*hu_nghttp2.nghttp2_session_mem_recv)
#define nghttp2_session_mem_send (*hu_nghttp2.nghttp2_session_mem_send)
#define nghttp2_session_set_local_window_size (*hu_nghttp2.nghttp2_session_set_local_window_size)
#define nghttp2_session_want_write (*hu_nghttp2.nghttp2_session_want_write)
#define nghttp2_strerror (*hu_nghttp2.nghttp2_strerror)
#define nghttp2_submit_request (*hu_nghttp2.nghttp2_submit_request)
#define nghttp2_submit_settings (*hu_nghttp2.nghttp2_submit_settings)
/* clang-format on */

#endif
