/* SPDX-License-Identifier: Apache-2.0
 * wall_time.h - a time of day that several machines agree on. */
#ifndef HU_CLI_WALL_TIME_H
#define HU_CLI_WALL_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* CLOCK_REALTIME, in ms since 1970. */
int64_t hu_wall_time_now(void);

/*
 * RFC 3339 ("2026-11-23T20:15:00Z", "2026-11-23T21:15:00.5+01:00"), or a time from now: "+10s", "+2m", "+10".  False where
 * it is neither; a time without a zone is none, since nodes may have different ones.
 */
bool hu_wall_time_parse(const char *text, int64_t now_ms, int64_t *out_ms);

#endif
