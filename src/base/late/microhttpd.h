/* SPDX-License-Identifier: Apache-2.0
 * microhttpd.h - libmicrohttpd: `holdup view` and `holdup monitor`. */
#ifndef HU_BASE_LATE_MICROHTTPD_H
#define HU_BASE_LATE_MICROHTTPD_H

#include <microhttpd.h>

#include "base/late.h"

/* clang-format off */
#define HU_MICROHTTPD_FUNCTIONS(F) \
    F(MHD_add_connection) F(MHD_add_response_header) F(MHD_create_response_from_buffer) \
    F(MHD_create_response_from_buffer_with_free_callback_cls) F(MHD_create_response_from_callback) \
    F(MHD_destroy_response) F(MHD_get_connection_info) F(MHD_lookup_connection_value) F(MHD_queue_response) \
    F(MHD_resume_connection) F(MHD_start_daemon) F(MHD_stop_daemon) F(MHD_suspend_connection)

HU_LATE_DECLARE(hu_microhttpd, HU_MICROHTTPD_FUNCTIONS)

#define MHD_add_connection (*hu_microhttpd.MHD_add_connection)
#define MHD_add_response_header (*hu_microhttpd.MHD_add_response_header)
#define MHD_create_response_from_buffer (*hu_microhttpd.MHD_create_response_from_buffer)
#define MHD_create_response_from_buffer_with_free_callback_cls \
    (*hu_microhttpd.MHD_create_response_from_buffer_with_free_callback_cls)
#define MHD_create_response_from_callback (*hu_microhttpd.MHD_create_response_from_callback)
#define MHD_destroy_response (*hu_microhttpd.MHD_destroy_response)
#define MHD_get_connection_info (*hu_microhttpd.MHD_get_connection_info)
#define MHD_lookup_connection_value (*hu_microhttpd.MHD_lookup_connection_value)
#define MHD_queue_response (*hu_microhttpd.MHD_queue_response)
#define MHD_resume_connection (*hu_microhttpd.MHD_resume_connection)
#define MHD_start_daemon (*hu_microhttpd.MHD_start_daemon)
#define MHD_stop_daemon (*hu_microhttpd.MHD_stop_daemon)
#define MHD_suspend_connection (*hu_microhttpd.MHD_suspend_connection)
/* clang-format on */

#endif
