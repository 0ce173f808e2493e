/* SPDX-License-Identifier: Apache-2.0
 * sqlite.h - SQLite: `holdup query` and exports of nsys. */
#ifndef HU_BASE_LATE_SQLITE_H
#define HU_BASE_LATE_SQLITE_H

#include <sqlite3.h>

#include "base/late.h"

/* clang-format off */
#if SQLITE_VERSION_NUMBER >= 3038000
#define HU_SQLITE_SINCE_3_38(F) F(sqlite3_vtab_distinct)
#else
#define HU_SQLITE_SINCE_3_38(F)
#endif

#define HU_SQLITE_FUNCTIONS(F) \
    F(sqlite3_aggregate_context) F(sqlite3_bind_text) F(sqlite3_close) F(sqlite3_column_bytes) \
    F(sqlite3_column_count) F(sqlite3_column_double) F(sqlite3_column_int64) F(sqlite3_column_name) \
    F(sqlite3_column_text) F(sqlite3_column_type) F(sqlite3_create_function) F(sqlite3_create_module) \
    F(sqlite3_db_config) F(sqlite3_declare_vtab) F(sqlite3_deserialize) F(sqlite3_errcode) F(sqlite3_errmsg) \
    F(sqlite3_exec) F(sqlite3_finalize) F(sqlite3_free) F(sqlite3_limit) F(sqlite3_malloc) F(sqlite3_mprintf) \
    F(sqlite3_open_v2) F(sqlite3_prepare_v2) F(sqlite3_progress_handler) F(sqlite3_result_double) F(sqlite3_result_error) \
    F(sqlite3_result_error_nomem) F(sqlite3_result_int64) F(sqlite3_result_text) F(sqlite3_result_text64) \
    F(sqlite3_set_authorizer) F(sqlite3_step) F(sqlite3_str_appendall) F(sqlite3_str_appendf) \
    F(sqlite3_str_finish) F(sqlite3_str_new) F(sqlite3_value_bytes) F(sqlite3_value_double) \
    F(sqlite3_value_int64) F(sqlite3_value_numeric_type) F(sqlite3_value_text) F(sqlite3_value_type) \
    HU_SQLITE_SINCE_3_38(F)

HU_LATE_DECLARE(hu_sqlite, HU_SQLITE_FUNCTIONS)

#define sqlite3_aggregate_context (*hu_sqlite.sqlite3_aggregate_context)
#define sqlite3_bind_text (*hu_sqlite.sqlite3_bind_text)
#define sqlite3_close (*hu_sqlite.sqlite3_close)
#define sqlite3_column_bytes (*hu_sqlite.sqlite3_column_bytes)
#define sqlite3_column_count (*hu_sqlite.sqlite3_column_count)
#define sqlite3_column_double (*hu_sqlite.sqlite3_column_double)
#define sqlite3_column_int64 (*hu_sqlite.sqlite3_column_int64)
#define sqlite3_column_name (*hu_sqlite.sqlite3_column_name)
#define sqlite3_column_text (*hu_sqlite.sqlite3_column_text)
#define sqlite3_column_type (*hu_sqlite.sqlite3_column_type)
#define sqlite3_create_function (*hu_sqlite.sqlite3_create_function)
#define sqlite3_create_module (*hu_sqlite.sqlite3_create_module)
#define sqlite3_db_config (*hu_sqlite.sqlite3_db_config)
#define sqlite3_declare_vtab (*hu_sqlite.sqlite3_declare_vtab)
#define sqlite3_deserialize (*hu_sqlite.sqlite3_deserialize)
#define sqlite3_errcode (*hu_sqlite.sqlite3_errcode)
#define sqlite3_errmsg (*hu_sqlite.sqlite3_errmsg)
#define sqlite3_exec (*hu_sqlite.sqlite3_exec)
#define sqlite3_finalize (*hu_sqlite.sqlite3_finalize)
#define sqlite3_free (*hu_sqlite.sqlite3_free)
#define sqlite3_limit (*hu_sqlite.sqlite3_limit)
#define sqlite3_malloc (*hu_sqlite.sqlite3_malloc)
#define sqlite3_mprintf (*hu_sqlite.sqlite3_mprintf)
#define sqlite3_open_v2 (*hu_sqlite.sqlite3_open_v2)
#define sqlite3_prepare_v2 (*hu_sqlite.sqlite3_prepare_v2)
#define sqlite3_progress_handler (*hu_sqlite.sqlite3_progress_handler)
#define sqlite3_result_double (*hu_sqlite.sqlite3_result_double)
#define sqlite3_result_error (*hu_sqlite.sqlite3_result_error)
#define sqlite3_result_error_nomem (*hu_sqlite.sqlite3_result_error_nomem)
#define sqlite3_result_int64 (*hu_sqlite.sqlite3_result_int64)
#define sqlite3_result_text (*hu_sqlite.sqlite3_result_text)
#define sqlite3_result_text64 (*hu_sqlite.sqlite3_result_text64)
#define sqlite3_set_authorizer (*hu_sqlite.sqlite3_set_authorizer)
#define sqlite3_step (*hu_sqlite.sqlite3_step)
#define sqlite3_str_appendall (*hu_sqlite.sqlite3_str_appendall)
#define sqlite3_str_appendf (*hu_sqlite.sqlite3_str_appendf)
#define sqlite3_str_finish (*hu_sqlite.sqlite3_str_finish)
#define sqlite3_str_new (*hu_sqlite.sqlite3_str_new)
#define sqlite3_value_bytes (*hu_sqlite.sqlite3_value_bytes)
#define sqlite3_value_double (*hu_sqlite.sqlite3_value_double)
#define sqlite3_value_int64 (*hu_sqlite.sqlite3_value_int64)
#define sqlite3_value_numeric_type (*hu_sqlite.sqlite3_value_numeric_type)
#define sqlite3_value_text (*hu_sqlite.sqlite3_value_text)
#define sqlite3_value_type (*hu_sqlite.sqlite3_value_type)
#define sqlite3_vtab_distinct (*hu_sqlite.sqlite3_vtab_distinct)
/* clang-format on */

#endif
