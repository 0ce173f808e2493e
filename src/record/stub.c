/* SPDX-License-Identifier: Apache-2.0
 * placeholder of this branch */
#include <stdbool.h>
#include <stddef.h>
#include "record/collect.h"
#include "record/perf.h"
__attribute__((weak)) hu_collector *hu_collect_open(const char *session, const hu_collect_options *options, hu_error *err) { (void)session; (void)options; (void)err; return (hu_collector *)1; }
__attribute__((weak)) int hu_collect_round(hu_collector *c) { (void)c; return 20; }
__attribute__((weak)) int hu_collect_close(hu_collector *c, hu_error *err) { (void)c; (void)err; return 0; }
__attribute__((weak)) void hu_collect_get(const hu_collector *c, hu_collect_state *out) { (void)c; *out = (hu_collect_state){0}; }
__attribute__((weak)) hu_perf *hu_perf_start(const hu_perf_options *options, pid_t child, const char *session, hu_error *why) { (void)options; (void)child; (void)session; hu_fail(why, HU_EIO, NULL, 0, "no perf in this branch"); return NULL; }
__attribute__((weak)) void hu_perf_round(hu_perf *p) { (void)p; }
__attribute__((weak)) int hu_perf_stop(hu_perf *p) { (void)p; return 0; }
