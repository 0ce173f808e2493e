/* SPDX-License-Identifier: Apache-2.0
 * ompt.c - what a parallel region, a barrier and a lock cost a thread, called as an OpenMP runtime calls its tool.
 *
 * Promises, of each call: <= 100 ns, recorded or added up; <= 6 ns when paused, the call itself included.
 */
#include "bench/recorder.h"
#include "inject/ompt_abi.h"

hu_ompt_tool *ompt_start_tool(unsigned version, const char *runtime);

enum { EVENTS = 64 };

typedef void (*parallel_begin)(hu_ompt_data *, const void *, hu_ompt_data *, uint32_t, int, const void *);
typedef void (*parallel_end)(hu_ompt_data *, hu_ompt_data *, int, const void *);
typedef void (*implicit_task)(int, hu_ompt_data *, hu_ompt_data *, uint32_t, uint32_t, int);
typedef void (*sync_region)(int, int, hu_ompt_data *, hu_ompt_data *, const void *);
typedef void (*task_schedule)(hu_ompt_data *, int, hu_ompt_data *);
typedef void (*task_create)(hu_ompt_data *, const void *, hu_ompt_data *, int, int, const void *);
typedef void (*mutex_acquire)(int, uint32_t, uint32_t, uint64_t, const void *);
typedef void (*mutex_acquired)(int, uint64_t, const void *);

static hu_ompt_function calls[EVENTS];
static hu_ompt_data     region, task, other;
static const uintptr_t  code = 0x1000;

static int set_callback(int event, hu_ompt_function call)
{
    if (event >= 0 && event < EVENTS)
        calls[event] = call;
    return 5;
}

static hu_ompt_function look_up(const char *name)
{
    return strcmp(name, "ompt_set_callback") == 0 ? (hu_ompt_function)set_callback : NULL;
}

/* Of one thread: the region begins and ends, its task begins and ends, a barrier is waited for. */
static void regions(int n)
{
    for (int i = 0; i < n; i++) {
        const void *place = (const void *)code;

        ((parallel_begin)calls[HU_OMPT_PARALLEL_BEGIN])(&task, NULL, &region, 1, 0, place);
        ((implicit_task)calls[HU_OMPT_IMPLICIT_TASK])(HU_OMPT_BEGIN, &region, &task, 1, 0, 2);
        ((sync_region)calls[HU_OMPT_SYNC_REGION_WAIT])(HU_OMPT_SYNC_BARRIER_PARALLEL, HU_OMPT_BEGIN, &region, &task, place);
        ((sync_region)calls[HU_OMPT_SYNC_REGION_WAIT])(HU_OMPT_SYNC_BARRIER_PARALLEL, HU_OMPT_END, NULL, &task, place);
        ((implicit_task)calls[HU_OMPT_IMPLICIT_TASK])(HU_OMPT_END, NULL, &task, 1, 0, 2);
        ((parallel_end)calls[HU_OMPT_PARALLEL_END])(&region, &task, 0, place);
    }
}

/* Inside of a region. */
static void tasks(int n)
{
    for (int i = 0; i < n; i++) {
        ((task_create)calls[HU_OMPT_TASK_CREATE])(&task, NULL, &other, HU_OMPT_TASK_EXPLICIT, 0, NULL);
        ((task_schedule)calls[HU_OMPT_TASK_SCHEDULE])(&task, HU_OMPT_TASK_SWITCH, &other);
        ((task_schedule)calls[HU_OMPT_TASK_SCHEDULE])(&other, HU_OMPT_TASK_COMPLETE, &task);
    }
}

static void locks(int n)
{
    for (int i = 0; i < n; i++) {
        ((mutex_acquire)calls[HU_OMPT_MUTEX_ACQUIRE])(5, 0, 0, 64, (const void *)code);
        ((mutex_acquired)calls[HU_OMPT_MUTEX_ACQUIRED])(5, 64, (const void *)code);
    }
}

int main(void)
{
    enum { CALLS_OF_REGION = 6, CALLS_OF_TASK = 3, CALLS_OF_LOCK = 2 };
    hu_control   *control = bench_join();
    hu_ompt_tool *tool;
    double        rdtsc;

    control->wanted = control->mask = HU_DOOR_OPENMP;
    control->os_threshold = 2500;
    tool = ompt_start_tool(201811, "bench");
    if (!tool || !tool->initialize(look_up, 0, &tool->tool)) {
        fputs("the door stays shut\n", stderr);
        return 1;
    }
    rdtsc = bench_ns(bench_rdtsc);
    bench_row("time stamp alone", rdtsc, rdtsc, 0);
    ((parallel_begin)calls[HU_OMPT_PARALLEL_BEGIN])(&task, NULL, &region, 1, 0, (const void *)code);
    ((implicit_task)calls[HU_OMPT_IMPLICIT_TASK])(HU_OMPT_BEGIN, &region, &task, 1, 0, 2);
    bench_row("a task, of each of its 3 calls", bench_ns(tasks) / CALLS_OF_TASK, rdtsc, 100);
    bench_row("a lock that is free, of each of its 2 calls", bench_ns(locks) / CALLS_OF_LOCK, rdtsc, 100);
    ((implicit_task)calls[HU_OMPT_IMPLICIT_TASK])(HU_OMPT_END, NULL, &task, 1, 0, 2);
    ((parallel_end)calls[HU_OMPT_PARALLEL_END])(&region, &task, 0, (const void *)code);
    bench_row("a short region, of each of its 6 calls", bench_ns(regions) / CALLS_OF_REGION, rdtsc, 100);
    control->ticks_per_second = 0; /* no region is short */
    tool->initialize(look_up, 0, &tool->tool);
    bench_row("a region that is recorded, the same", bench_ns(regions) / CALLS_OF_REGION, rdtsc, 100);
    control->mask = 0;
    bench_row("a region, paused, the same", bench_ns(regions) / CALLS_OF_REGION, rdtsc, 4 + 2);
    bench_leave();
    return 0;
}
