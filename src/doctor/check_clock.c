/* SPDX-License-Identifier: Apache-2.0
 * check_clock.c - does reading the time cost a system call, and does this node's time agree with that of others? */
#include <string.h>

#include "doctor/facts.h"

#define SOURCES "/sys/devices/system/clocksource/clocksource0/"

/* Those that the vDSO reads without a call into the kernel (arch/x86/include/asm/vdso/clocksource.h; arm64 has one alone). */
static const char *const fast[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"};

static void look_at_source(hu_doctor *d, const hu_check *check)
{
    const char   *now, *others;
    const hu_look how = hu_doctor_read(d, SOURCES "current_clocksource", &now);

    if (how != HU_LOOK_OK) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "cannot read %s", SOURCES "current_clocksource");
        return;
    }
    for (size_t i = 0; i < HU_COUNT(fast); i++)
        if (strcmp(now, fast[i]) == 0) {
            hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "%s is %s", SOURCES "current_clocksource", now);
            return;
        }
    hu_doctor_read(d, SOURCES "available_clocksource", &others);
    hu_doctor_say(d, check, strcmp(now, "hpet") == 0 || strcmp(now, "acpi_pm") == 0 ? HU_VERDICT_WARNING : HU_VERDICT_NOTE,
                  NULL, NULL, "%s is %s (available: %s)", SOURCES "current_clocksource", now, others);
}

const hu_check hu_checks_clock[] = {
    {.id = "clocksource",
     .title = "Clock source of the kernel",
     .when = HU_CHECK_OF_NODE,
     .why =
         "Without a clock that programs can read themselves, each look at the time is a system call, hundreds of times as "
         "slow; profilers, schedulers and PyTorch look often.",
     .fix = "look in dmesg for why the kernel gave up the TSC (\"clocksource: Marking ... unstable\"): a BIOS update, or a "
            "boot parameter clocksource=hpet to remove",
     .look = look_at_source},
    {.id = NULL},
};
