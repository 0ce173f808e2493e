/* SPDX-License-Identifier: Apache-2.0
 * device.h - the stand-in device, for the two libraries that programs call: libcuda (device.c) and libcudart (runtime.c).
 * Streams and events are small numbers; stream 0 is the default one.
 */
#ifndef STANDIN_DEVICE_H
#define STANDIN_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "standin.h"

/* What a program launches: the address of one of these stands for a function. */
typedef struct {
    const char *name;
    int64_t     length;      /* ns */
    bool        with_others; /* it ends when all ranks have come to it */
    uint16_t    registers;
    uint32_t    static_shared;
} standin_kernel;

#pragma GCC visibility  push(default)
int64_t                 standin_now(void);
void                    standin_say(const char *text);
void                    standin_sleep_until(int64_t at);
const standin_profiler *standin_profiler_now(void);
void                    standin_add(int s, const standin_op *op, int64_t length, bool with_others);
void                    standin_add_node(int s, const standin_op *op, int64_t length);
void                    standin_drain(int s);
bool                    standin_is_over(int s);
int                     standin_event_new(void);
void                    standin_event_record(int e, int s);
void                    standin_event_wait(int e, int s);
bool                    standin_event_is_over(int e);
void                    standin_event_drain(int e);
int                     standin_event_stream(int e);
uint64_t                standin_event_sync_id(int e);
uint32_t                standin_stream_id(int s);
int                     standin_stream_new(int priority);
int                     standin_streams(void);
int                     standin_rank(void);
int                     standin_device_set(int device); /* an error of CUDA, or 0 */
int                     standin_devices(void);
#pragma GCC visibility  pop

#endif
