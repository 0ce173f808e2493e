/* SPDX-License-Identifier: Apache-2.0
 * dcgm.c - libdcgm, loaded at run time, as a client of an engine that runs already.
 *
 * Layouts and numbers are those of DCGM's public headers (version 3 and 4).  The engine forgets what it was asked for when
 * the connection ends, however this process does.
 */
#include "gpu/dcgm.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, FIELD_UUID = 54, ENTITY_GPU = 1, ALL_GPUS = 0x7fffffff, CONNECT_MS = 500, LEAST_PERIOD_US = 100000 };
enum {
    TYPE_DOUBLE = 'd',
    TYPE_INTEGER = 'i',
    TYPE_TEXT = 's',
    TEXT_BYTES = 256,
    VALUE_BYTES = 4096,
    ASKED = HU_DCGM_COUNT + 1
};

/* From these on, a number says why there is none. */
static const int64_t blank_integer = INT64_C(0x7ffffffffffffff0);
static const double  blank_double = 140737488355328.0;

typedef struct {
    uint32_t version, stays, timeout_ms, is_socket;
} connect_how;

typedef struct {
    uint32_t version;
    uint16_t field, type;
    int32_t  code;
    int64_t  at_us;
    union {
        int64_t integer;
        double  number;
        char    text[TEXT_BYTES];
        char    bytes[VALUE_BYTES];
    } is;
} field_value;

_Static_assert(sizeof(connect_how) == 16, "DCGM's parameters of a connection, version 2");
_Static_assert(sizeof(field_value) == 4120, "DCGM's value of a field, version 1");

typedef int taker(int entity_kind, unsigned entity, field_value *values, int n, void *to);

struct hu_dcgm {
    void     *library;
    uintptr_t engine, fields;
    int (*init)(void);
    int (*end)(void);
    int (*connect)(const char *address, connect_how *how, uintptr_t *engine);
    int (*disconnect)(uintptr_t engine);
    int (*group)(uintptr_t engine, int n, uint16_t *fields, const char *name, uintptr_t *out);
    int (*watch)(uintptr_t engine, uintptr_t gpus, uintptr_t fields, long long period_us, double keep_s, int keep);
    int (*latest)(uintptr_t engine, uintptr_t gpus, uintptr_t fields, taker *take, void *to);
    const char *(*words)(int code);
};

static const struct {
    uint16_t number;
    double   most;
} known[HU_DCGM_COUNT] = {
#define D(id, number, most) {number, most},
    HU_DCGM_VALUES(D)
#undef D
};

static bool bind_symbol(hu_dcgm *d, void *to, const char *name)
{
    void *symbol = dlsym(d->library, name);

    memcpy(to, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool bind_all(hu_dcgm *d)
{
    bind_symbol(d, &d->words, "errorString");
    return bind_symbol(d, &d->init, "dcgmInit") && bind_symbol(d, &d->end, "dcgmShutdown") &&
           bind_symbol(d, &d->connect, "dcgmConnect_v2") && bind_symbol(d, &d->disconnect, "dcgmDisconnect") &&
           bind_symbol(d, &d->group, "dcgmFieldGroupCreate") && bind_symbol(d, &d->watch, "dcgmWatchFields") &&
           bind_symbol(d, &d->latest, "dcgmGetLatestValues_v2");
}

static void say(const hu_dcgm *d, const char *what, int code, char *why, size_t room)
{
    const char *words = d->words ? d->words(code) : NULL;

    snprintf(why, room, "%s: %s (%d)", what, words ? words : "error", code);
}

static int ask_to_measure(hu_dcgm *d, int64_t period_ns)
{
    const int64_t period_us = period_ns / 1000;
    uint16_t      fields[ASKED] = {FIELD_UUID};
    char          name[32];
    int           code;

    for (int i = 0; i < HU_DCGM_COUNT; i++)
        fields[i + 1] = known[i].number;
    snprintf(name, sizeof name, "holdup-%d", (int)getpid());
    code = d->group(d->engine, ASKED, fields, name, &d->fields);
    if (code != OK)
        return code;
    return d->watch(d->engine, ALL_GPUS, d->fields, period_us < LEAST_PERIOD_US ? LEAST_PERIOD_US : period_us, 0, 1);
}

static bool begin(hu_dcgm *d, const char *address, int64_t period_ns, char *why, size_t room)
{
    connect_how how = {.version = sizeof how | 2u << 24, .timeout_ms = CONNECT_MS, .is_socket = address[0] == '/'};
    int         code = d->init();

    if (code != OK) {
        say(d, "libdcgm does not start", code, why, room);
        return false;
    }
    code = d->connect(address, &how, &d->engine);
    if (code != OK) {
        say(d, "DCGM's host engine does not answer", code, why, room);
        d->end();
        return false;
    }
    code = ask_to_measure(d, period_ns);
    if (code != OK) {
        say(d, "DCGM's host engine does not measure what units do", code, why, room);
        d->disconnect(d->engine);
        d->end();
        return false;
    }
    return true;
}

hu_dcgm *hu_dcgm_open(const char *address, int64_t period_ns, char *why, size_t room)
{
    hu_dcgm *d = calloc(1, sizeof *d);

    snprintf(why, room, "%s", d ? "" : "no memory");
    if (!d)
        return NULL;
    d->library = dlopen("libdcgm.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!d->library)
        snprintf(why, room, "%s", dlerror());
    if (!d->library)
        d->library = dlopen("libdcgm.so.3", RTLD_NOW | RTLD_LOCAL);
    if (d->library && !bind_all(d))
        snprintf(why, room, "libdcgm lacks a function that is needed: it is of neither version 3 nor 4");
    else if (d->library && begin(d, address, period_ns, why, room))
        return d;
    if (d->library)
        dlclose(d->library);
    free(d);
    return NULL;
}

typedef struct {
    int64_t      oldest_us;
    hu_dcgm_gpu *gpu;
} look;

static double number_of(const field_value *v)
{
    if (v->type == TYPE_DOUBLE)
        return v->is.number < blank_double ? v->is.number : NAN;
    return v->type == TYPE_INTEGER && v->is.integer < blank_integer ? (double)v->is.integer : NAN;
}

static void take_one(const look *l, hu_dcgm_gpu *g, const field_value *v)
{
    double value;

    if (v->code != OK)
        return;
    if (v->field == FIELD_UUID && v->type == TYPE_TEXT && strncmp(v->is.text, "GPU-", 4) == 0)
        snprintf(g->uuid, sizeof g->uuid, "%.*s", TEXT_BYTES - 1, v->is.text);
    value = number_of(v);
    for (int i = 0; i < HU_DCGM_COUNT && v->at_us >= l->oldest_us; i++) {
        if (known[i].number != v->field || !isfinite(value) || value < 0 || (known[i].most > 0 && value > known[i].most))
            continue;
        g->has |= 1u << i;
        g->value[i] = value;
    }
}

static int take(int entity_kind, unsigned entity, field_value *values, int n, void *to)
{
    const look *l = to;

    for (int i = 0; entity_kind == ENTITY_GPU && entity < HU_DCGM_GPUS && i < n; i++)
        take_one(l, &l->gpu[entity], &values[i]);
    return 0;
}

bool hu_dcgm_look(hu_dcgm *d, int64_t oldest_us, hu_dcgm_gpu gpu[HU_DCGM_GPUS], char *why, size_t room)
{
    look l = {.oldest_us = oldest_us, .gpu = gpu};
    int  code;

    memset(gpu, 0, HU_DCGM_GPUS * sizeof *gpu);
    code = d->latest(d->engine, ALL_GPUS, d->fields, take, &l);
    if (code != OK)
        say(d, "DCGM's host engine does not answer any more", code, why, room);
    return code == OK;
}

/* The library stays loaded: it may have threads that end later. */
void hu_dcgm_close(hu_dcgm *d)
{
    d->disconnect(d->engine);
    d->end();
    free(d);
}
