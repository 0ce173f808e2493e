/* SPDX-License-Identifier: Apache-2.0
 * check_clock.c - does reading the time cost a system call, and does this node's time agree with that of others? */
#include <string.h>

#include "doctor/facts.h"
#include "doctor/host.h"

#define SOURCES "/sys/devices/system/clocksource/clocksource0/"

enum { UNSYNCHRONISED = 64 /* STA_UNSYNC of adjtimex(2) */, MOST_ERROR_US = 1000000 };

/* Those that the vDSO reads without a call into the kernel (VDSO_CLOCKMODE_* of arch/x86; arm64 has one alone). */
static const char *const fast[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "timebase"};

static void look_at_source(hu_doctor *d, const hu_check *check)
{
    static const char path[] = SOURCES "current_clocksource";
    const char       *now, *others;
    const hu_look     how = hu_doctor_read(d, path, &now);

    if (how != HU_LOOK_OK) {
        hu_host_say_unread(d, check, how, path);
        return;
    }
    for (size_t i = 0; i < HU_COUNT(fast); i++)
        if (strcmp(now, fast[i]) == 0) {
            hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "%s is %s", path, now);
            return;
        }
    hu_doctor_read(d, SOURCES "available_clocksource", &others);
    hu_doctor_say(d, check, strcmp(now, "hpet") == 0 || strcmp(now, "acpi_pm") == 0 ? HU_VERDICT_WARNING : HU_VERDICT_NOTE,
                  NULL, NULL, "%s is %s (available: %s)", path, now, others);
}

/* chronyd keeps what it knows from the kernel unless its configuration has rtcsync (set_sync_status in its sys_timex.c). */
static bool has_chronyd(hu_doctor *d)
{
    return hu_doctor_exists(d, "/run/chrony/chronyd.pid") || hu_doctor_exists(d, "/run/chronyd.pid");
}

/*
 * The kernel's own opinion, which chrony, ntpd, systemd-timesyncd and phc2sys give it.  Traces of a single node need no
 * other clock, so that only a node of a cluster is worse off.
 */
static void look_at_sync(hu_doctor *d, const hu_check *check)
{
    const hu_ib_port *ports;
    int64_t           status, state, error_us = 0;
    const bool        is_cluster = hu_host_ib_ports(d, &ports) > 0 || hu_host_has_many_nodes(d);

    if (!hu_fact_number(d, "clock.status", &status) || !hu_fact_number(d, "clock.state", &state)) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "the state of the clock is not known");
        return;
    }
    hu_fact_number(d, "clock.max_error_us", &error_us);
    if ((status & UNSYNCHRONISED) && has_chronyd(d))
        hu_doctor_say(d, check, HU_VERDICT_NOTE, NULL, "see chronyc tracking; rtcsync in chrony.conf tells the kernel, too",
                      "adjtimex: status %lld, not synchronised, but chronyd runs", (long long)status);
    else if (status & UNSYNCHRONISED)
        hu_doctor_say(d, check, is_cluster ? HU_VERDICT_WARNING : HU_VERDICT_NOTE, NULL, NULL,
                      "adjtimex: status %lld, the clock is not synchronised", (long long)status);
    else
        hu_doctor_say(d, check, is_cluster && error_us > MOST_ERROR_US ? HU_VERDICT_NOTE : HU_VERDICT_OK, NULL, NULL,
                      "adjtimex: synchronised, wrong by at most %.1f ms", (double)error_us / 1000);
}

const hu_check hu_checks_clock[] = {
    {.id = "clocksource",
     .title = "Clock source of the kernel",
     .when = HU_CHECK_OF_NODE,
     .why = "Each look at the time is a system call, many times as slow as without; profilers and PyTorch look often.",
     .fix = "look in dmesg for why the kernel gave up the TSC (\"clocksource: ... unstable\"), and for clocksource= in "
            "/proc/cmdline",
     .look = look_at_source},
    {.id = "clock-sync",
     .title = "Synchronised clock",
     .when = HU_CHECK_OF_NODE,
     .why = "Logs and traces of several nodes do not fit together; Kerberos and certificates fail when it is far off.",
     .fix = "start chronyd, ntpd or systemd-timesyncd, and see chronyc tracking or timedatectl",
     .look = look_at_sync},
    {.id = NULL},
};
