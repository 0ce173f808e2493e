/* SPDX-License-Identifier: Apache-2.0
 * main.c - libholdup-inject.so is loaded: by LD_PRELOAD, by NVTX, by CUDA, or by all of them; once.
 *
 * Outside of a session it stays asleep: every door is a load and a branch.  A second copy of the library (another path)
 * stays asleep too, and its doors lead on to the first.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "inject/osrt.h"
#include "inject/process.h"
#include "inject/timer.h"
#include "inject/waiters.h"
#include "base/banned.h"

/* The first copy's is what a second one finds by name; its own it knows by the name that nobody else sees. */
static int                                                          present = HU_FORMAT_VERSION;
extern __attribute__((visibility("default"), alias("present"))) int holdup_inject_present;

/* What pthread_atfork is inside in glibc; musl has the one by its own name.  A program of the other C library must start
 * with us, too, and so neither may be missing. */
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));

static void at_fork(void (*in_child)(void))
{
    int (*plain)(void (*)(void), void (*)(void), void (*)(void));

    if (__register_atfork) {
        __register_atfork(NULL, NULL, in_child, NULL);
        return;
    }
    *(void **)&plain = dlsym(RTLD_DEFAULT, "pthread_atfork");
    if (plain)
        plain(NULL, NULL, in_child);
}

/* Other libraries may record before our constructor has run, or after our destructor: both are safe. */
__attribute__((constructor(101))) static void load(void)
{
    hu_osrt_load();
    if (dlsym(RTLD_DEFAULT, "holdup_inject_present") != (void *)&present || !hu_process_join())
        return;
    hu_environment_load();
    hu_ring_init();
    hu_gate_page();
    hu_waiters_init();
    at_fork(hu_process_forked);
    if (hu_process_attach())
        hu_gate_init();
    hu_timer_begin();
    if (hu_the_control->wanted & HU_DOOR_OSRT)
        hu_process_entered(HU_DOOR_OSRT);
}

__attribute__((destructor(101))) static void unload(void)
{
    hu_timer_end();
    hu_cuda_exits(true);
    hu_process_exits();
}
