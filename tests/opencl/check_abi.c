/* SPDX-License-Identifier: Apache-2.0
 * check_abi.c - our declarations of OpenCL (src/inject/opencl.h) against the real headers: it compiles, or it does not. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include "inject/opencl.h"

#define C(name, value) _Static_assert(CL_##name == (value) && HU_CL_##name == CL_##name, #name);
HU_CL_CONSTANTS(C)
#undef C

#define F(name, place) _Static_assert(offsetof(cl_icd_dispatch, cl##name) == (place) * sizeof(void *), #name);
HU_CL_FUNCTIONS(F)
#undef F

_Static_assert(sizeof(cl_icd_dispatch) == HU_CL_TABLE * sizeof(void *), "the table ends where we think");
_Static_assert(HU_CL_TABLE <= HU_CL_MOST, "there is room for it");
_Static_assert(sizeof(cl_int) == 4 && sizeof(cl_uint) == 4 && sizeof(cl_bool) == 4 && sizeof(cl_ulong) == 8, "numbers");
_Static_assert(sizeof(cl_command_queue_properties) == 8 && sizeof(cl_queue_properties) == 8 && sizeof(cl_mem_flags) == 8 &&
                   sizeof(cl_map_flags) == 8 && sizeof(cl_device_type) == 8 && sizeof(cl_svm_mem_flags) == 8,
               "bits");
_Static_assert(sizeof(cl_context_properties) == sizeof(intptr_t), "properties of a context");
_Static_assert(CL_PROFILING_COMMAND_END == CL_PROFILING_COMMAND_QUEUED + 3, "the four times follow each other");

/* Each function of ours has the type of the one in whose place it stands. */
#include "inject/opencl_calls.c"

#define P(name, function) _Static_assert(__builtin_types_compatible_p(__typeof__(&(function)), cl_api_cl##name), #name);
OUR_CALLS(P)
#undef P
#undef OUR_CALLS

#define find   find_queue
#define put    put_too
#define row_of row_of_queue
#define know   know_queue
#include "inject/opencl_queues.c"

#define P(name, function) _Static_assert(__builtin_types_compatible_p(__typeof__(&(function)), cl_api_cl##name), #name);
OUR_CALLS(P)
#undef P

int main(void)
{
    return 0;
}
