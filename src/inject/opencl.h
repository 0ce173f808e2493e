/* SPDX-License-Identifier: Apache-2.0
 * opencl.h - what the files of the OpenCL door share.
 *
 * The loader of OpenCL (Khronos' or ocl-icd) loads the libraries that OPENCL_LAYERS names, calls clGetLayerInfo and
 * clInitLayer (opencl.c), and from then on each call of the program goes through our table, which leads on to the next
 * one's.  Calls are recorded where they are made (opencl_calls.c); commands once their event is complete, by a thread of
 * ours (opencl_commands.c, opencl_thread.c); clocks and queues: opencl_queues.c.
 *
 * Nothing of Khronos' is needed to build it: these are our own declarations, of the C interface of OpenCL 1.0 to 3.0.
 * tests/opencl/check_abi.c compares them with the real headers.
 */
#ifndef HU_INJECT_OPENCL_H
#define HU_INJECT_OPENCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/process.h"
#include "protocol/opencl.h"

typedef struct _cl_context       *hu_cl_context;
typedef struct _cl_device_id     *hu_cl_device;
typedef struct _cl_command_queue *hu_cl_queue;
typedef struct _cl_event         *hu_cl_event;
typedef struct _cl_kernel        *hu_cl_kernel;
typedef struct _cl_mem           *hu_cl_memory;
typedef struct _cl_program       *hu_cl_program;

/* clang-format off */
/* C(name, value) behind "CL_" and "HU_CL_". */
#define HU_CL_CONSTANTS(C)                                                                                        \
    C(SUCCESS, 0) C(PROFILING_INFO_NOT_AVAILABLE, -7) C(INVALID_VALUE, -30) C(COMPLETE, 0)                        \
    C(DEVICE_TYPE, 0x1000) C(DEVICE_MAX_COMPUTE_UNITS, 0x1002) C(DEVICE_GLOBAL_MEM_SIZE, 0x101f)                  \
    C(DEVICE_PROFILING_TIMER_RESOLUTION, 0x1025) C(DEVICE_NAME, 0x102b) C(DEVICE_PARENT_DEVICE, 0x1042)           \
    C(QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 1) C(QUEUE_PROFILING_ENABLE, 2) C(QUEUE_ON_DEVICE, 4)                  \
    C(QUEUE_PROPERTIES, 0x1093) C(QUEUE_PROPERTIES_ARRAY, 0x1098) C(KERNEL_FUNCTION_NAME, 0x1190)                 \
    C(EVENT_COMMAND_QUEUE, 0x11d0) C(EVENT_REFERENCE_COUNT, 0x11d2) C(EVENT_COMMAND_EXECUTION_STATUS, 0x11d3)     \
    C(PROFILING_COMMAND_QUEUED, 0x1280) C(IMAGE_ELEMENT_SIZE, 0x1111) C(LAYER_API_VERSION, 0x4240)                \
    C(LAYER_NAME, 0x4241) C(LAYER_API_VERSION_100, 100)

enum {
#define C(name, value) HU_CL_##name = (value),
    HU_CL_CONSTANTS(C)
#undef C
};

/* F(function behind "cl", its place in the table of a layer): those that we replace or call. */
#define HU_CL_FUNCTIONS(F)                                                                                        \
    F(GetDeviceInfo, 3) F(CreateContext, 4) F(CreateContextFromType, 5) F(ReleaseContext, 7)                      \
    F(CreateCommandQueue, 9) F(ReleaseCommandQueue, 11) F(GetCommandQueueInfo, 12)                                \
    F(SetCommandQueueProperty, 13) F(CreateBuffer, 14) F(CreateProgramWithSource, 26)                             \
    F(CreateProgramWithBinary, 27) F(BuildProgram, 30) F(CreateKernel, 34) F(GetKernelInfo, 39)                   \
    F(GetImageInfo, 21) F(WaitForEvents, 41) F(GetEventInfo, 42) F(RetainEvent, 43) F(ReleaseEvent, 44)           \
    F(GetEventProfilingInfo, 45) F(Flush, 46) F(Finish, 47) F(EnqueueReadBuffer, 48) F(EnqueueWriteBuffer, 49)    \
    F(EnqueueCopyBuffer, 50) F(EnqueueReadImage, 51) F(EnqueueWriteImage, 52) F(EnqueueCopyImage, 53)             \
    F(EnqueueCopyImageToBuffer, 54) F(EnqueueCopyBufferToImage, 55) F(EnqueueMapBuffer, 56)                       \
    F(EnqueueMapImage, 57) F(EnqueueUnmapMemObject, 58) F(EnqueueNDRangeKernel, 59) F(EnqueueTask, 60)            \
    F(EnqueueNativeKernel, 61) F(EnqueueMarker, 62) F(EnqueueWaitForEvents, 63) F(EnqueueBarrier, 64)             \
    F(CreateUserEvent, 84) F(SetUserEventStatus, 85) F(EnqueueReadBufferRect, 86) F(EnqueueWriteBufferRect, 87)   \
    F(EnqueueCopyBufferRect, 88) F(CompileProgram, 98) F(LinkProgram, 99) F(EnqueueFillBuffer, 102)               \
    F(EnqueueFillImage, 103) F(EnqueueMigrateMemObjects, 104) F(EnqueueMarkerWithWaitList, 105)                   \
    F(EnqueueBarrierWithWaitList, 106) F(CreateCommandQueueWithProperties, 123) F(SVMAlloc, 126) F(SVMFree, 127)  \
    F(EnqueueSVMFree, 128) F(EnqueueSVMMemcpy, 129) F(EnqueueSVMMemFill, 130) F(EnqueueSVMMap, 131)               \
    F(EnqueueSVMUnmap, 132) F(CreateProgramWithIL, 138) F(EnqueueSVMMigrateMem, 139)                              \
    F(GetDeviceAndHostTimer, 140)
/* clang-format on */

enum {
#define F(name, place) HU_CL_AT_##name = (place),
    HU_CL_FUNCTIONS(F)
#undef F
        HU_CL_TABLE = 149, /* functions of OpenCL 3.0; a newer loader's others are led on as they are */
    HU_CL_MOST = 512,
};

typedef void hu_cl_function(void);

extern hu_cl_function *hu_cl_next[HU_CL_MOST]; /* the table below ours */

/* What is below us, by its name and its type, which is that of our own function. */
#define HU_CL_BELOW(name, type) ((__typeof__(type) *)hu_cl_next[HU_CL_AT_##name])

/* opencl_queues.c */
typedef struct {
    hu_cl_queue handle;         /* NULL: free */
    uint32_t    number, device; /* from 1; place in hu_opencl_facts.devices */
    bool        is_unordered, is_profiled /* so that there are times */, is_ours /* we asked for them, not the program */;
    uint32_t    n_properties;
    uint64_t    properties[17]; /* as the program gave them, with the 0 behind them; n_properties 0: a plain number */
} hu_cl_queue_facts;

bool hu_cl_queue_find(hu_cl_queue queue, hu_cl_queue_facts *out);
void hu_cl_clock_take(uint32_t device, uint64_t before, uint64_t device_ns, uint64_t after);
void hu_cl_queues_forked(void);
void hu_cl_queues_fill(hu_cl_function **table);

/* opencl_commands.c: what is enqueued, until its event is complete. */
typedef struct {
    uint64_t    began, returned; /* ticks, of the call */
    uint64_t    bytes;           /* UINT64_MAX: not known */
    hu_cl_event event;
    uint32_t    number, name; /* of the command; a string */
    uint32_t    flags, kind;  /* HU_OPENCL_*, hu_opencl_kind */
    uint32_t    queue, device;
    uint32_t    dimensions, global[3], local[3];
    bool        is_profiled, is_programs; /* there are times; the program has the event, too */
} hu_cl_command;

enum { HU_CL_USER = -1 }; /* instead of a number: an event that the program itself sets */

uint32_t hu_cl_number(void);                                /* of the next call */
void     hu_cl_commands_add(const hu_cl_command *command);  /* its event is ours from now on, or is retained */
void     hu_cl_commands_know(hu_cl_event, uint32_t number); /* whose command that event is */
uint64_t hu_cl_commands_find(hu_cl_event);                  /* its number | its queue << 32; 0: not known */
bool     hu_cl_commands_hold(hu_cl_event);                  /* is one of its references ours? */
void     hu_cl_commands_read(bool is_last); /* records those that are complete; is_last: and counts the others */
void     hu_cl_commands_forked(void);

/* opencl_calls.c */
void hu_cl_calls_fill(hu_cl_function **table);

/* opencl_thread.c */
void hu_cl_thread_need(void); /* there is a command: starts it where there is none */
void hu_cl_thread_wake(void);
void hu_cl_thread_end(void); /* what is complete is recorded, then it ends; waits for that, but not for ever */
void hu_cl_thread_forked(void);

/* opencl.c */
hu_opencl_facts *hu_cl_facts(void); /* NULL: this process has no ring */
bool             hu_cl_is_recorded(void);

#endif
