/* SPDX-License-Identifier: Apache-2.0
 * nvtx.c - what a range of NVTX costs, called through the table of functions as NVTX's headers do.
 *
 * Promises, push and pop together: <= 30 ns with a registered string, <= 70 ns with 37 characters of ASCII, <= 4 ns
 * (2 a call) more than calling something empty when paused.
 */
#include "bench/recorder.h"
#include "inject/nvtx_abi.h"

int InitializeInjectionNvtx2(hu_nvtx_get_table get_table);

enum { IDS = 16 };

static hu_nvtx_function  functions[HU_NVTX_MODULES][IDS];
static hu_nvtx_function *pointers[HU_NVTX_MODULES][IDS];

static int get_module(int module, hu_nvtx_function ***table, unsigned *n)
{
    for (int i = 0; i < IDS; i++)
        pointers[module][i] = &functions[module][i];
    *table = pointers[module];
    *n = IDS;
    return 1;
}

static const void *get_table(uint32_t id)
{
    static const hu_nvtx_callbacks callbacks = {sizeof callbacks, get_module};

    return id == HU_NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

typedef int (*push_a)(const char *text);
typedef int (*push_ex)(const void *domain, const hu_nvtx_event *event);
typedef int (*pop)(void);
typedef int (*domain_pop)(const void *domain);
typedef const void *(*add)(const char *text);
typedef const void *(*add_to)(const void *domain, const char *text);

static const void   *domain;
static hu_nvtx_event event = {.version = 3, .size = sizeof event, .message_type = HU_NVTX_REGISTERED};

static void registered(int n)
{
    for (int i = 0; i < n; i++) {
        ((push_ex)functions[HU_NVTX_CORE2][HU_CORE2_PUSH_EX])(domain, &event);
        ((domain_pop)functions[HU_NVTX_CORE2][HU_CORE2_POP])(domain);
    }
}

static void ascii(int n)
{
    for (int i = 0; i < n; i++) {
        ((push_a)functions[HU_NVTX_CORE][HU_CORE_PUSH_A])("a range of thirty-seven characters...");
        ((pop)functions[HU_NVTX_CORE][HU_CORE_POP])();
    }
}

static void with_payload(int n)
{
    hu_nvtx_event e = event;

    e.payload_type = HU_NVTX_UINT64;
    for (int i = 0; i < n; i++) {
        e.payload = (uint64_t)i;
        ((push_ex)functions[HU_NVTX_CORE2][HU_CORE2_PUSH_EX])(domain, &e);
        ((domain_pop)functions[HU_NVTX_CORE2][HU_CORE2_POP])(domain);
    }
}

static int nothing_a(const char *text)
{
    __asm__ volatile("" : : "r"(text));
    return 0;
}

static int nothing(void)
{
    __asm__ volatile("");
    return 0;
}

int main(void)
{
    hu_control *control = bench_join();
    double      rdtsc, calls, paused;

    if (!InitializeInjectionNvtx2(get_table)) {
        fputs("the door stays shut\n", stderr);
        return 1;
    }
    domain = ((add)functions[HU_NVTX_CORE2][HU_CORE2_DOMAIN_A])("bench");
    event.message.registered = ((add_to)functions[HU_NVTX_CORE2][HU_CORE2_STRING_A])(domain, "registered");
    rdtsc = bench_ns(bench_rdtsc);
    bench_row("time stamp alone", rdtsc, rdtsc, 0);
    bench_row("range, registered string", bench_ns(registered), rdtsc, 30);
    bench_row("range, 37 characters of ASCII", bench_ns(ascii), rdtsc, 70);
    bench_row("range, registered string and a payload", bench_ns(with_payload), rdtsc, 0);
    control->mask = 0;
    paused = bench_ns(ascii);
    functions[HU_NVTX_CORE][HU_CORE_PUSH_A] = (hu_nvtx_function)nothing_a;
    functions[HU_NVTX_CORE][HU_CORE_POP] = (hu_nvtx_function)nothing;
    calls = bench_ns(ascii);
    bench_row("two calls that do nothing", calls, rdtsc, 0);
    bench_row("range, paused, beyond those", paused > calls ? paused - calls : 0, rdtsc, 4);
    bench_leave();
    return 0;
}
