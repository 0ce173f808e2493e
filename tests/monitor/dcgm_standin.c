/* SPDX-License-Identifier: Apache-2.0
 * dcgm_standin.c - a libdcgm that does what the file DCGM_SCENARIO says, read anew at each call.  Own declarations, after
 * DCGM's public headers.
 *
 *   gpu N UUID                       an entity of the engine
 *   value N FIELD TYPE VALUE MS CODE of entity N, measured MS ago; TYPE is d or i
 *   other N FIELD VALUE              the same of an entity that is no GPU
 *   code CALL CODE                   this call fails
 *   hang CALL                        this call does not return
 * DCGM_LOG gets a line for each connection, watch and end, with its arguments.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, BAD_ARGUMENT = -1, UUID = 54, A_GPU = 1, A_SWITCH = 3, FIELDS_MOST = 32, LINES = 256, ALL_GPUS = 0x7fffffff };

struct connection {
    uint32_t version, stays, timeout_ms, is_socket;
};

struct value {
    uint32_t version;
    uint16_t field, type;
    int32_t  code;
    int64_t  at_us;
    union {
        int64_t integer;
        double  number;
        char    text[256], bytes[4096];
    } is;
};

typedef int taker(int kind, unsigned entity, struct value *values, int n, void *to);

static char     lines[LINES][200];
static int      n_lines, n_fields, is_watched;
static uint16_t fields[FIELDS_MOST];

static void note(const char *what, const char *text, long long a, long long b)
{
    const char *path = getenv("DCGM_LOG");
    FILE       *f = path ? fopen(path, "a") : NULL;

    if (!f)
        return;
    fprintf(f, "%s %s %lld %lld\n", what, text, a, b);
    fclose(f);
}

/* What happens to this call. */
static int begin(const char *call)
{
    const char *path = getenv("DCGM_SCENARIO");
    FILE       *f = path ? fopen(path, "r") : NULL;
    char        name[64];
    int         code;

    n_lines = 0;
    while (f && n_lines < LINES && fgets(lines[n_lines], sizeof *lines, f))
        n_lines++;
    if (f)
        fclose(f);
    for (int i = 0; i < n_lines; i++) {
        if (sscanf(lines[i], "code %63s %d", name, &code) == 2 && strcmp(name, call) == 0)
            return code;
        if (sscanf(lines[i], "hang %63s", name) == 1 && strcmp(name, call) == 0)
            for (;;)
                pause();
    }
    return OK;
}

const char *errorString(int code)
{
    return code == -21 ? "The connection to the host engine is not valid any longer" : NULL;
}

int dcgmInit(void)
{
    return begin(__func__);
}

int dcgmShutdown(void)
{
    note("shutdown", "-", 0, 0);
    return OK;
}

int dcgmConnect_v2(const char *address, struct connection *how, uintptr_t *engine)
{
    const int code = begin(__func__);

    if (how->version != 0x02000010 || how->stays)
        return BAD_ARGUMENT;
    note("connect", address, how->is_socket, how->timeout_ms);
    *engine = 77;
    return code;
}

int dcgmDisconnect(uintptr_t engine)
{
    note("disconnect", "-", (long long)engine, 0);
    is_watched = 0;
    return OK;
}

int dcgmFieldGroupCreate(uintptr_t engine, int n, uint16_t *ids, const char *name, uintptr_t *out)
{
    if (engine != 77 || n > FIELDS_MOST || !name[0])
        return BAD_ARGUMENT;
    memcpy(fields, ids, (size_t)n * sizeof *ids);
    n_fields = n;
    *out = 5;
    return begin(__func__);
}

int dcgmWatchFields(uintptr_t engine, uintptr_t gpus, uintptr_t group, long long period_us, double keep_s, int keep)
{
    if (engine != 77 || gpus != ALL_GPUS || group != 5 || keep_s < 0 || keep < 1)
        return BAD_ARGUMENT;
    note("watch", "-", period_us, n_fields);
    is_watched = 1;
    return begin(__func__);
}

static int is_asked(int field)
{
    for (int i = 0; i < n_fields; i++)
        if (fields[i] == field)
            return 1;
    return 0;
}

static void tell(const char *line, int64_t now_us, taker *take, void *to)
{
    struct value v = {.version = 0x01001018};
    char         text[100], type;
    double       number;
    int          entity, field, ms, code;

    if (sscanf(line, "gpu %d %99s", &entity, text) == 2) {
        v.field = UUID;
        v.type = 's';
        snprintf(v.is.text, sizeof v.is.text, "%s", text);
        take(A_GPU, (unsigned)entity, &v, 1, to);
    } else if (sscanf(line, "value %d %d %c %99s %d %d", &entity, &field, &type, text, &ms, &code) == 6 && is_asked(field)) {
        v.field = (uint16_t)field;
        v.type = (uint16_t)type;
        v.code = code;
        v.at_us = now_us - ms * INT64_C(1000);
        if (type == 'd')
            v.is.number = atof(text);
        else
            v.is.integer = strtoll(text, NULL, 0);
        take(A_GPU, (unsigned)entity, &v, 1, to);
    } else if (sscanf(line, "other %d %d %lf", &entity, &field, &number) == 3) {
        v.field = (uint16_t)field;
        v.type = 'd';
        v.at_us = now_us;
        v.is.number = number;
        take(A_SWITCH, (unsigned)entity, &v, 1, to);
    }
}

int dcgmGetLatestValues_v2(uintptr_t engine, uintptr_t gpus, uintptr_t group, taker *take, void *to)
{
    const int       code = begin(__func__);
    struct timespec now;

    if (engine != 77 || gpus != ALL_GPUS || group != 5 || !is_watched)
        return BAD_ARGUMENT;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; code == OK && i < n_lines; i++)
        tell(lines[i], now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000, take, to);
    return code;
}
