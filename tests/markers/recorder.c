/* SPDX-License-Identifier: Apache-2.0
 * recorder.c - stands in for libholdup-inject.so: writes each call of a marker to the file that MARKERS_LOG names, a line each.
 * MARKERS_DEAF: listens to nobody.  MARKERS_VERSION, MARKERS_SIZE: pretends to be another one.  MARKERS_FULL: has no room for names. */
#define HOLDUP_DISABLE
#include "holdup_annotate.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES = 70000 };

static uint32_t listening = 1;
static char    *names[NAMES];
static uint32_t n_names;
static uint32_t lock;
static uint64_t handles;
static int      fd = -1;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char    line[400];
    va_list list;
    int     n;

    va_start(list, format);
    n = vsnprintf(line, sizeof line - 1, format, list);
    va_end(list);
    n = n < (int)sizeof line - 2 ? n : (int)sizeof line - 2;
    line[n] = '\n';
    if (fd >= 0 && write(fd, line, (size_t)n + 1) < 0)
        abort();
}

static uint32_t name(const char *text)
{
    uint32_t id = 0;

    if (getenv("MARKERS_FULL"))
        return 0;
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
        ;
    for (uint32_t i = 0; i < n_names && !id; i++)
        if (!strcmp(names[i], text))
            id = i + 1;
    if (!id) {
        names[n_names++] = strdup(text);
        id = n_names;
        say("name %u %s", id, text);
    }
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    return id;
}

static const char *text_of(uint32_t id)
{
    return id ? names[id - 1] : "(none)";
}
static void push(uint32_t id)
{
    say("push %s", text_of(id));
}
static void push_text(const char *text)
{
    say("push_text %s", text);
}
static void pop(void)
{
    say("pop");
}
static void mark(uint32_t id)
{
    say("mark %s", text_of(id));
}
static void step(int64_t number)
{
    say("step %lld", (long long)number);
}
static void step_end(void)
{
    say("step_end");
}
static void counter(uint32_t id, double value)
{
    say("counter %s %.17g", text_of(id), value);
}
static void end(uint64_t range)
{
    say("end %llu", (unsigned long long)range);
}
static void phase_push(uint32_t phase)
{
    say("phase %u", phase);
}

static void count(uint32_t what, uint64_t n)
{
    say("count %u %llu", what, (unsigned long long)n);
}

static uint64_t start(uint32_t id)
{
    const uint64_t handle = __atomic_add_fetch(&handles, 1, __ATOMIC_RELAXED);

    say("start %s %llu", text_of(id), (unsigned long long)handle);
    return handle;
}

/* clang-format off */
static holdup_annotate_api api = {
    .size = sizeof api, .version = HOLDUP_ANNOTATE_VERSION, .listening = &listening, .name = name, .push = push, .push_text = push_text,
    .pop = pop, .mark = mark, .step = step, .step_end = step_end, .counter = counter, .start = start, .end = end,
    .phase_push = phase_push, .count = count,
};
/* clang-format on */

__attribute__((constructor)) static void load(void)
{
    if (getenv("MARKERS_LOG"))
        fd = open(getenv("MARKERS_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (getenv("MARKERS_VERSION"))
        api.version = (uint32_t)strtoul(getenv("MARKERS_VERSION"), NULL, 10);
    if (getenv("MARKERS_SIZE"))
        api.size = (uint32_t)strtoul(getenv("MARKERS_SIZE"), NULL, 10);
    if (getenv("MARKERS_DEAF"))
        listening = 0;
}

void                       markers_listen(uint32_t wanted);
const holdup_annotate_api *holdup_annotate_v1(void);

void markers_listen(uint32_t wanted)
{
    __atomic_store_n(&listening, wanted, __ATOMIC_RELAXED);
}

const holdup_annotate_api *holdup_annotate_v1(void)
{
    say("asked");
    return &api;
}
