/* SPDX-License-Identifier: Apache-2.0
 * cuda.c - the CUDA door: libcuda calls us while it is initialised, and we ask CUPTI for what the GPU does.
 *
 * Whatever goes wrong is a state in the ring's head (protocol/gpu.h) that `holdup run` turns into a sentence, and the
 * program goes on as without us: nothing here ends it, and no error of CUPTI's reaches it.
 *
 * The end.  A handler of exit() has our thread ask CUPTI for all that it has, and waits until that is decoded.  It is
 * registered while CUDA is initialised, so behind the handlers of libcuda and libcupti, and therefore runs before them.
 * _exit() does the same.
 * A program that is killed loses what CUPTI had not given yet: a fifth of a second.  A forked child never touches CUPTI,
 * which does not survive a fork; if it initialises CUDA itself, libcuda calls us there for the first time.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/cuda.h"
#include "inject/sys.h"
#include "base/banned.h"

#define EXPORT __attribute__((visibility("default")))

enum { MOST_REFUSED = 40, PATIENCE_SECONDS = 2 };

static const hu_cupti_back_end *attached; /* NULL: not, or no more */

static uint32_t called_in;   /* pid: libcuda has called us there */
static uint32_t attached_in; /* pid */
static uint32_t switching;   /* the lock */
static uint32_t n_refused;   /* times that kinds could not be enabled: CUDA may not be ready while it is initialised */
static bool     is_recording;
static bool     is_inside_range; /* of cudaProfilerStart and Stop */
static uint64_t yields_since;    /* ticks; 0: not now */
static uint64_t closed_at;       /* ticks: when the last step or range ended; 0: it did not */

hu_cuda_facts *hu_cuda_get_facts(void)
{
    return hu_the_process.head ? &hu_the_process.head->cuda : NULL;
}

void hu_cuda_fail(hu_cuda_state state, int code, const char *what)
{
    hu_cuda_facts *facts = hu_cuda_get_facts();

    if (!facts)
        return;
    facts->code = code;
    snprintf(facts->what, sizeof facts->what, "%s", what);
    __atomic_store_n(&facts->state, state, __ATOMIC_RELEASE);
}

const hu_cupti_back_end *hu_cuda_back_end(void)
{
    return attached_in && attached_in == hu_sys_pid() ? __atomic_load_n(&attached, __ATOMIC_ACQUIRE) : NULL;
}

static void use(const hu_cupti_back_end *back_end)
{
    __atomic_store_n(&attached, back_end, __ATOMIC_RELEASE);
}

static void fail_by_code(int code)
{
    const hu_cuda_facts *facts = hu_cuda_get_facts();
    const char          *what = facts ? facts->what : "";
    char                 copy[sizeof facts->what];

    snprintf(copy, sizeof copy, "%s", what);
    hu_cuda_fail(code == HU_CUPTI_OTHER_SUBSCRIBER                                          ? HU_CUDA_TAKEN
                 : code == HU_CUPTI_NO_PRIVILEGES || code == HU_CUPTI_NO_PRIVILEGES_VIRTUAL ? HU_CUDA_REFUSED
                 : code == HU_CUPTI_NOT_INITIALIZED || code == HU_CUPTI_UNKNOWN             ? HU_CUDA_NO_DEVICE
                                                                                            : HU_CUDA_FAILED,
                 code, copy);
}

/* recording */

/* What a step or range has launched may still be in flight when it ends, and CUPTI gives no record of work that ends while
 * its kind is disabled.  So it stays on until work has come that was launched later, and no longer than PATIENCE; what is
 * too much is cut off when the trace is written (record/pf_gpu_borders.c). */
static bool lingers(void)
{
    const uint64_t closed = __atomic_load_n(&closed_at, __ATOMIC_RELAXED);

    return closed && is_recording && (hu_the_control->mask & HU_DOOR_CUDA) && !hu_cupti_is_past(closed) &&
           (double)(hu_ticks() - closed) < PATIENCE_SECONDS * hu_the_control->ticks_per_second;
}

/* `holdup start`, steps and ranges are the gate's; CUPTI's only user we may not be. */
static bool is_to_be_on(void)
{
    return (hu_gate_open(HU_DOOR_CUDA) || lingers()) && !hu_cuda_is_other_recording();
}

static void note_yield(bool yields)
{
    hu_cuda_facts *facts = hu_cuda_get_facts();

    if (yields && !yields_since)
        yields_since = hu_ticks();
    if (!yields && yields_since && facts)
        facts->yielded += hu_ticks() - yields_since;
    yields_since = yields ? yields_since : 0;
}

void hu_cuda_switch(void)
{
    const hu_cupti_back_end *back_end;
    int                      code;
    bool                     is_on;

    if (!hu_cuda_back_end() || !hu_lock(&switching))
        return;
    back_end = hu_cuda_back_end(); /* whom we waited for may have been refused, and left */
    is_on = is_to_be_on();
    if (back_end && is_on != is_recording) {
        if (is_on && yields_since)
            back_end->flush(true); /* what is in CUPTI's open buffers is not ours, and goes to whoever gave them */
        code = back_end->record(is_on);
        if (code == HU_CUPTI_OK) {
            is_recording = is_on;
            if (is_on)
                hu_cuda_fail(HU_CUDA_RECORDED, 0, "");
        } else if (is_on) {
            fail_by_code(code);
            if (code != HU_CUPTI_NOT_INITIALIZED || ++n_refused == MOST_REFUSED)
                use(NULL); /* it would say no again */
        }
    }
    note_yield(hu_gate_open(HU_DOOR_CUDA) && hu_cuda_is_other_recording());
    hu_unlock(&switching);
}

void hu_cuda_yield(void)
{
    const bool was_recording = is_recording;

    hu_thread.inside++;
    hu_cuda_switch();
    if (was_recording && !is_recording)
        hu_cuda_flush(true); /* or the other one's records would come into our open buffers */
    hu_thread.inside--;
}

void hu_cuda_leave(const char *why)
{
    bool has_lock;

    if (!hu_cuda_back_end())
        return;
    hu_thread.inside++;
    hu_cuda_flush(true);
    hu_cuda_thread_end();           /* what it has is decoded by CUPTI's functions */
    has_lock = hu_lock(&switching); /* a thread of the program may be switching; one that hangs is not waited for */
    use(NULL);
    is_recording = false;
    if (has_lock)
        hu_unlock(&switching);
    hu_cuda_fail(HU_CUDA_TAKEN, 0, why);
    hu_thread.inside--;
}

/* What the step or range launches first is to be seen, so it waits until CUPTI is on; off may come a little later. */
void hu_cuda_look(bool opens)
{
    if (!hu_cuda_back_end())
        return;
    __atomic_store_n(&closed_at, opens ? 0 : hu_ticks(), __ATOMIC_RELAXED);
    if (opens && !hu_thread.is_taking && !hu_thread.is_choosing) {
        hu_thread.inside++;
        hu_cuda_switch();
        hu_thread.inside--;
    } else {
        hu_cuda_thread_look();
    }
}

void hu_cuda_flush(bool is_whole)
{
    const hu_cupti_back_end *back_end = hu_cuda_back_end();

    if (back_end)
        back_end->flush(is_whole);
}

void hu_cuda_profiler(bool starts)
{
    const bool is_range = (hu_the_control->cuda & HU_CUDA_ONLY_RANGE) != 0;

    /* the runtime's function calls the driver's */
    if (is_range && __atomic_exchange_n(&is_inside_range, starts, __ATOMIC_RELAXED) != starts) {
        hu_gate_range(starts);
        hu_cuda_switch();
    }
    if (!starts)
        hu_cuda_thread_flush(false); /* not all: what is in flight would lose its times */
}

/* the end */

/* The thread asks CUPTI, not this one: _exit may be called in a signal handler, inside of CUPTI. */
static void end(void)
{
    if (!hu_cuda_back_end())
        return;
    note_yield(false);
    hu_cuda_thread_end();
}

void hu_cuda_exits(bool is_late)
{
    if (!(hu_the_control->wanted & HU_DOOR_CUDA) || !hu_the_process.head || hu_the_process.head->pid != hu_sys_pid())
        return;
    if (is_late && called_in != hu_sys_pid())
        hu_cuda_judge_absence();
    else if (!is_late)
        end();
}

void hu_cuda_forked(void)
{
    hu_cuda_thread_forked();
    switching = 0;
    is_recording = is_inside_range = false;
    use(NULL);
    yields_since = closed_at = 0;
}

/* the beginning */

/* Where the second interface fails, the first one is tried, unless somebody else has CUPTI.  If both fail, the second one's
 * words stay. */
static int attach_to(const hu_cupti_back_end **back_end, hu_cuda_facts *facts)
{
    const int code = (*back_end)->attach();
    char      what[sizeof facts->what];

    if (code == HU_CUPTI_OK || code == HU_CUPTI_OTHER_SUBSCRIBER || *back_end == &hu_cupti_v1)
        return code;
    snprintf(what, sizeof what, "%s", facts->what);
    if (hu_cupti_v1.attach() == HU_CUPTI_OK) {
        *back_end = &hu_cupti_v1;
        return HU_CUPTI_OK;
    }
    snprintf(facts->what, sizeof facts->what, "%s", what);
    return code;
}

void hu_cuda_attach(void)
{
    const hu_cupti_back_end *back_end;
    hu_cuda_facts           *facts = hu_cuda_get_facts();
    int                      code;

    if (!facts || !hu_cuda_find())
        return;
    code = hu_cupti_said("cuptiGetVersion", hu_the_cupti.get_version(&hu_the_cupti.version));
    if (code == HU_CUPTI_OK && hu_the_cupti.version == 0)
        code = hu_cupti_said("cuptiGetVersion", HU_CUPTI_UNKNOWN);
    back_end = hu_cupti_v2_fits() ? &hu_cupti_v2 : &hu_cupti_v1;
    code = code == HU_CUPTI_OK ? attach_to(&back_end, facts) : code;
    if (code != HU_CUPTI_OK) {
        fail_by_code(code);
        return;
    }
    facts->version = hu_the_cupti.version;
    hu_process_entered(HU_DOOR_CUDA);
    hu_cuda_fail(HU_CUDA_READY, 0, "");
    attached_in = hu_sys_pid();
    use(back_end);
    if (!hu_cuda_thread_start()) {
        use(NULL);
        hu_cuda_fail(HU_CUDA_FAILED, 0, "pthread_create");
        return;
    }
    (void)atexit(end);
    hu_cuda_switch();
}

EXPORT int InitializeInjection(void);

/* The tool that was named before us: it comes first, and what it takes of CUPTI is its. */
static void call_chained(void)
{
    const char *path = getenv("HOLDUP_CUDA_CHAIN");
    void       *library = path && *path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    int (*theirs)(void) = NULL;

    if (!path || !*path)
        return;
    if (library)
        *(void **)&theirs = dlsym(library, "InitializeInjection");
    if (theirs == InitializeInjection)
        return;
    if (!theirs) {
        hu_note("CUDA_INJECTION64_PATH: %s %s; GPU work is recorded without it", path,
                library ? "is no tool for CUDA" : "cannot be loaded");
        return;
    }
    (void)theirs();
    if (hu_cuda_get_facts())
        snprintf(hu_cuda_get_facts()->other, HU_CUDA_TEXT, "%s", path);
}

int InitializeInjection(void)
{
    const uint32_t pid = hu_sys_pid();

    if (__atomic_exchange_n(&called_in, pid, __ATOMIC_RELAXED) == pid)
        return 1;
    hu_thread.inside++;
    if (hu_process_attach() || getenv("HOLDUP_CUDA_CHAIN"))
        call_chained();
    if ((hu_the_control->wanted & HU_DOOR_CUDA) && hu_process_attach())
        hu_cuda_attach();
    hu_thread.inside--;
    return 1;
}
