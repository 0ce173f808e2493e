/* SPDX-License-Identifier: Apache-2.0
 * clocks.c - the time-stamp counter costs 8 ns to read where clock_gettime costs 20, but can be trusted only sometimes.
 *
 * CPUID 8000_0007h EDX bit 8 says that the counter runs at one rate in all states (Intel SDM vol. 3, 18.17.1); that the
 * kernel's clock source is "tsc" says that it also found the counters of all processors alike, and watches them.
 */
#include "record/clocks.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

enum { TRIES = 8, CALIBRATION_NS = 5000000, SECOND_NS = 1000000000 };

static int64_t now_ns(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

#if defined(__x86_64__)
static bool kernel_keeps_time_by_tsc(void)
{
    char      text[16] = "";
    const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    if (read(fd, text, sizeof text - 1) < 0)
        text[0] = '\0';
    close(fd);
    return strcmp(text, "tsc\n") == 0;
}
#endif

hu_clock hu_clocks_choose(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;

    if (__get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8)) && kernel_keeps_time_by_tsc())
        return HU_CLOCK_TSC;
#elif defined(__aarch64__)
    return HU_CLOCK_TSC; /* the generic timer is one counter for the whole system */
#endif
    return HU_CLOCK_MONOTONIC;
}

uint64_t hu_clocks_ticks(hu_clock clock)
{
#if defined(__x86_64__)
    if (clock == HU_CLOCK_TSC)
        return __rdtsc();
#elif defined(__aarch64__)
    if (clock == HU_CLOCK_TSC) {
        uint64_t ticks;

        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    return (uint64_t)now_ns(CLOCK_MONOTONIC);
}

hu_clock_snapshot hu_clocks_snapshot(hu_clock clock)
{
    hu_clock_snapshot best = {0};
    uint64_t          least = UINT64_MAX;

    for (int i = 0; i < TRIES; i++) {
        const uint64_t          before = hu_clocks_ticks(clock);
        const hu_clock_snapshot now = {.monotonic_ns = now_ns(CLOCK_MONOTONIC),
                                       .realtime_ns = now_ns(CLOCK_REALTIME),
                                       .boottime_ns = now_ns(CLOCK_BOOTTIME)};
        const uint64_t          after = hu_clocks_ticks(clock);

        if (after - before < least) {
            least = after - before;
            best = now;
            best.ticks = before + (after - before) / 2;
        }
    }
    if (clock == HU_CLOCK_MONOTONIC)
        best.ticks = (uint64_t)best.monotonic_ns;
    return best;
}

/* Ticks in a second from two snapshots that are apart; 0 when they are not. */
static double rate_between(const hu_clock_snapshot *a, const hu_clock_snapshot *b)
{
    const int64_t ns = b->monotonic_ns - a->monotonic_ns;

    return ns > 0 && b->ticks > a->ticks ? (double)(b->ticks - a->ticks) / (double)ns * 1e9 : 0;
}

double hu_clocks_calibrate(hu_clock clock)
{
    const hu_clock_snapshot first = hu_clocks_snapshot(clock);
    hu_clock_snapshot       last;

    if (clock == HU_CLOCK_MONOTONIC)
        return SECOND_NS;
    do
        last = hu_clocks_snapshot(clock);
    while (last.monotonic_ns - first.monotonic_ns < CALIBRATION_NS);
    return rate_between(&first, &last);
}
