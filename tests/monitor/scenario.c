/* SPDX-License-Identifier: Apache-2.0
 * scenario.c - sorted lines, and who was called how often. */
#include "scenario.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CALLS_MOST = 512, RULES_MOST = 64 };

typedef struct {
    device             d;
    char              *key, *value;
    unsigned           order;
    unsigned long long asked;
} line;

typedef struct {
    char               call[96];
    int                code; /* -1: hangs */
    long               gpu;  /* EVERY_GPU: of any */
    unsigned long long from, to, every_ms, for_ms;
} rule;

static struct {
    struct timespec changed;
    ino_t           file;
    char           *text;
    line           *lines;
    size_t          n;
    rule            rules[RULES_MOST];
    size_t          n_rules;
    scenario_event *events;
    size_t          n_events;
} now;

static struct {
    const char        *call; /* a constant of the caller */
    unsigned long long n;
} calls[CALLS_MOST];

long long scenario_now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static void put_log(const char *what, const char *call, const char *why)
{
    const char *path = getenv("HOLDUP_TEST_NVML_LOG");
    char        text[256];
    const int   n = snprintf(text, sizeof text, "%s %s%s%s\n", what, call, *why ? ": " : "", why);
    const int   to = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;

    if (to >= 0) {
        if (write(to, text, (size_t)n) != n)
            _exit(99);
        close(to);
    }
}

void scenario_complain(const char *call, const char *why)
{
    put_log("wrong", call, why);
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

/* In place. */
static void unescape(char *s)
{
    char *to = s;

    for (; *s; s++) {
        unsigned byte;

        if (s[0] == '\\' && s[1] == 'n') {
            *to++ = '\n';
            s++;
        } else if (s[0] == '\\' && s[1] == 'x' && sscanf(s + 2, "%2x", &byte) == 1) {
            *to++ = (char)byte;
            s += 3;
        } else if (s[0] == '\\' && s[1] == '\\') {
            *to++ = *s++;
        } else {
            *to++ = *s;
        }
    }
    *to = '\0';
}

static void read_rule(char *at, bool hangs)
{
    rule *r = &now.rules[now.n_rules];
    char *save = NULL, *word = strtok_r(at, " ", &save);

    if (!word || now.n_rules == RULES_MOST)
        return;
    *r = (rule){.code = hangs ? -1 : 0, .gpu = EVERY_GPU, .from = 1, .to = ~0ull};
    snprintf(r->call, sizeof r->call, "%s", word);
    while ((word = strtok_r(NULL, " ", &save)))
        if (sscanf(word, "gpu=%ld", &r->gpu) != 1 && sscanf(word, "from=%llu", &r->from) != 1 &&
            sscanf(word, "to=%llu", &r->to) != 1 && sscanf(word, "every=%llu", &r->every_ms) != 1 &&
            sscanf(word, "for=%llu", &r->for_ms) != 1)
            r->code = atoi(word);
    now.n_rules++;
}

static void read_event(const char *at)
{
    scenario_event *e = &now.events[now.n_events];

    if (sscanf(at, "%llu %ld %llu %llu", &e->number, &e->gpu, &e->type, &e->data) == 4)
        now.n_events++;
}

static int by_device(const line *a, const line *b)
{
    if (a->d.gpu != b->d.gpu)
        return a->d.gpu < b->d.gpu ? -1 : 1;
    if (a->d.mig != b->d.mig)
        return a->d.mig < b->d.mig ? -1 : 1;
    return strcmp(a->key, b->key);
}

static int by_line(const void *x, const void *y)
{
    const line *a = x, *b = y;
    const int   c = by_device(a, b);

    return c ? c : (a->order < b->order) - (a->order > b->order); /* the last one comes first */
}

static void read_line(char *at)
{
    line *l = &now.lines[now.n];
    char *end;

    if (strncmp(at, "fail ", 5) == 0 || strncmp(at, "hang ", 5) == 0) {
        read_rule(at + 5, *at == 'h');
        return;
    }
    if (strncmp(at, "event ", 6) == 0) {
        read_event(at + 6);
        return;
    }
    *l = (line){.d = {.gpu = SYSTEM, .mig = NO_MIG}, .order = (unsigned)now.n};
    if (*at == '*')
        l->d.gpu = EVERY_GPU;
    else if (*at != '-')
        l->d.gpu = strtol(at, &end, 10);
    end = strchr(at, ' ');
    if (!end || *at == '#')
        return;
    if (memchr(at, '/', (size_t)(end - at)))
        l->d.mig = atoi((char *)memchr(at, '/', (size_t)(end - at)) + 1);
    l->key = end + 1;
    end = strchr(l->key, ' ');
    if (!end)
        return;
    *end = '\0';
    l->value = end + 1;
    unescape(l->value);
    now.n++;
}

/* Also when the library is unloaded: what it leaves behind would look like a leak of its user. */
__attribute__((destructor)) static void forget(void)
{
    free(now.text);
    free(now.lines);
    free(now.events);
    now = (typeof(now)){0};
}

static void read_again(void)
{
    const char *path = getenv("HOLDUP_TEST_NVML");
    struct stat info;
    int         from;
    ssize_t     n = 0;
    size_t      count = 1;

    if (!path || stat(path, &info) != 0 ||
        (info.st_ino == now.file && info.st_mtim.tv_sec == now.changed.tv_sec &&
         info.st_mtim.tv_nsec == now.changed.tv_nsec))
        return;
    forget();
    now = (typeof(now)){.file = info.st_ino, .changed = info.st_mtim, .text = calloc(1, (size_t)info.st_size + 1)};
    from = open(path, O_RDONLY | O_CLOEXEC);
    if (from >= 0 && now.text)
        n = read(from, now.text, (size_t)info.st_size);
    close(from);
    for (ssize_t i = 0; i < n; i++)
        count += now.text[i] == '\n';
    now.lines = calloc(count, sizeof *now.lines);
    now.events = calloc(count, sizeof *now.events);
    for (char *at = now.text, *end; at && now.lines && now.events && *at; at = end + 1) {
        end = strchr(at, '\n');
        if (!end)
            break;
        *end = '\0';
        if (*at)
            read_line(at);
    }
    qsort(now.lines, now.n, sizeof *now.lines, by_line);
}

/* ---- answers ------------------------------------------------------------------------------------------------------ */

static line *find(device d, const char *key)
{
    const line want = {.d = d, .key = (char *)key};
    size_t     low = 0, high = now.n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (by_device(&now.lines[middle], &want) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < now.n && by_device(&now.lines[low], &want) == 0 ? &now.lines[low] : NULL;
}

static line *find_or_default(device d, const char *key)
{
    line *l = find(d, key);

    return l || d.gpu == SYSTEM ? l : find((device){EVERY_GPU, d.mig}, key);
}

bool scenario_has(device d, const char *key)
{
    return find_or_default(d, key) != NULL;
}

int scenario_number(device d, const char *key, long double *out)
{
    line       *l = find_or_default(d, key);
    long double sum = 0, term;

    if (!l)
        return ANSWER_NONE;
    l->asked++;
    if (l->value[0] == '!')
        return atoi(l->value + 1);
    for (char *at = l->value;; at++) {
        if (strncmp(at, "ms", 2) == 0) {
            term = scenario_now_us() / 1000;
            at += 2;
        } else if (strncmp(at, "calls", 5) == 0) {
            term = l->asked;
            at += 5;
        } else if (*at == 's') {
            term = scenario_now_us() / 1000000;
            at++;
        } else if (strncmp(at, "gpu", 3) == 0) {
            term = d.gpu;
            at += 3;
        } else {
            term = strtold(at, &at);
        }
        if (*at == '*')
            term *= strtold(at + 1, &at);
        sum += term;
        if (*at != '+')
            break;
    }
    *out = sum;
    return 0;
}

int scenario_text(device d, const char *key, char *out, size_t n)
{
    const line *l = find_or_default(d, key);
    const char *at = l ? strstr(l->value, "{gpu}") : NULL;
    char        text[4096];

    if (!l)
        return ANSWER_NONE;
    if (l->value[0] == '!')
        return atoi(l->value + 1);
    snprintf(text, sizeof text, "%s", l->value);
    if (at)
        snprintf(text, sizeof text, "%.*s%ld%s", (int)(at - l->value), l->value, d.gpu, at + 5);
    if (strlen(text) + 1 > n)
        return 7;
    memcpy(out, text, strlen(text) + 1);
    return 0;
}

bool scenario_next_event(unsigned long long after, scenario_event *out)
{
    bool any = false;

    read_again();
    for (size_t i = 0; i < now.n_events; i++)
        if (now.events[i].number > after && (!any || now.events[i].number < out->number)) {
            *out = now.events[i];
            any = true;
        }
    return any;
}

/* The version of a call does not matter to a scenario. */
static bool is_call(const char *name, const char *call)
{
    const size_t n = strlen(name);

    return strcmp(name, "*") == 0 || (strncmp(name, call, n) == 0 && (!call[n] || (call[n] == '_' && call[n + 1] == 'v') ||
                                                                      (call[n] == 'V' && !call[n + 1])));
}

static unsigned long long count(const char *call)
{
    for (size_t i = 0; i < CALLS_MOST; i++) {
        if (!calls[i].call) {
            calls[i].call = call;
            put_log("first", call, "");
        }
        if (strcmp(calls[i].call, call) == 0)
            return ++calls[i].n;
    }
    return 0;
}

int scenario_call(const char *call, long gpu)
{
    const unsigned long long n = count(call), ms = (unsigned long long)scenario_now_us() / 1000;

    read_again();
    for (size_t i = 0; i < now.n_rules; i++) {
        const rule *r = &now.rules[i];

        if (!is_call(r->call, call) || (r->gpu != EVERY_GPU && r->gpu != gpu) || n < r->from || n > r->to ||
            (r->every_ms && ms % r->every_ms >= r->for_ms) ||
            (strcmp(r->call, "*") == 0 && r->gpu != EVERY_GPU && gpu == SYSTEM))
            continue;
        while (r->code < 0)
            pause();
        return r->code;
    }
    return 0;
}
