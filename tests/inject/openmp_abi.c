/* SPDX-License-Identifier: Apache-2.0
 * openmp_abi.c - our own declarations of OMPT against LLVM's header: it compiles, or they differ. */
#include <stddef.h>

#include <omp-tools.h>

#include "inject/ompt_abi.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME(HU_OMPT_THREAD_END, ompt_callback_thread_end);
SAME(HU_OMPT_PARALLEL_BEGIN, ompt_callback_parallel_begin);
SAME(HU_OMPT_PARALLEL_END, ompt_callback_parallel_end);
SAME(HU_OMPT_TASK_CREATE, ompt_callback_task_create);
SAME(HU_OMPT_TASK_SCHEDULE, ompt_callback_task_schedule);
SAME(HU_OMPT_IMPLICIT_TASK, ompt_callback_implicit_task);
SAME(HU_OMPT_SYNC_REGION_WAIT, ompt_callback_sync_region_wait);
SAME(HU_OMPT_WORK, ompt_callback_work);
SAME(HU_OMPT_MUTEX_ACQUIRE, ompt_callback_mutex_acquire);
SAME(HU_OMPT_MUTEX_ACQUIRED, ompt_callback_mutex_acquired);
SAME(HU_OMPT_BEGIN, ompt_scope_begin);
SAME(HU_OMPT_END, ompt_scope_end);
SAME(HU_OMPT_TASK_INITIAL, ompt_task_initial);
SAME(HU_OMPT_TASK_EXPLICIT, ompt_task_explicit);
SAME(HU_OMPT_MUTEX_TEST_LOCK, ompt_mutex_test_lock);
SAME(HU_OMPT_MUTEX_TEST_NEST, ompt_mutex_test_nest_lock);
SAME(HU_OMPT_SYNC_BARRIER, ompt_sync_region_barrier);
SAME(HU_OMPT_SYNC_BARRIER_IMPLICIT, ompt_sync_region_barrier_implicit);
SAME(HU_OMPT_SYNC_BARRIER_EXPLICIT, ompt_sync_region_barrier_explicit);
SAME(HU_OMPT_SYNC_BARRIER_IMPLEMENTATION, ompt_sync_region_barrier_implementation);
SAME(HU_OMPT_SYNC_TASKWAIT, ompt_sync_region_taskwait);
SAME(HU_OMPT_SYNC_TASKGROUP, ompt_sync_region_taskgroup);
SAME(HU_OMPT_SYNC_BARRIER_WORKSHARE, ompt_sync_region_barrier_implicit_workshare);
SAME(HU_OMPT_SYNC_BARRIER_PARALLEL, ompt_sync_region_barrier_implicit_parallel);
SAME(HU_OMPT_SYNC_BARRIER_TEAMS, ompt_sync_region_barrier_teams);
SAME(HU_OMPT_TASK_COMPLETE, ompt_task_complete);
SAME(HU_OMPT_TASK_YIELD, ompt_task_yield);
SAME(HU_OMPT_TASK_CANCEL, ompt_task_cancel);
SAME(HU_OMPT_TASK_DETACH, ompt_task_detach);
SAME(HU_OMPT_TASK_SWITCH, ompt_task_switch);

_Static_assert(sizeof(hu_ompt_data) == sizeof(ompt_data_t), "a word");
_Static_assert(sizeof(hu_ompt_tool) == sizeof(ompt_start_tool_result_t), "what is returned");
_Static_assert(offsetof(hu_ompt_tool, initialize) == offsetof(ompt_start_tool_result_t, initialize), "initialize");
_Static_assert(offsetof(hu_ompt_tool, finalize) == offsetof(ompt_start_tool_result_t, finalize), "finalize");
_Static_assert(offsetof(hu_ompt_tool, tool) == offsetof(ompt_start_tool_result_t, tool_data), "tool_data");
_Static_assert(sizeof(ompt_wait_id_t) == sizeof(uint64_t), "what a lock is called");

int main(void)
{
    return 0;
}
