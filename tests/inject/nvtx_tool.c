/* SPDX-License-Identifier: Apache-2.0
 * nvtx_tool.c - another NVTX tool, which checks that it is given its own handles back, and says what it saw. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef void (*function)(void);
typedef struct {
    size_t size;
    int (*get_module)(int module, function ***table, unsigned *n);
} callbacks;

typedef struct {
    uint16_t    version, size;
    uint32_t    category;
    int32_t     color_type;
    uint32_t    color;
    int32_t     payload_type, reserved;
    uint64_t    payload;
    int32_t     message_type;
    const void *message;
} attributes;

static char domains[8][64], strings[8][64];
static int  n_domains, n_strings;

static int push_a(const char *text)
{
    printf("tool: push %s\n", text);
    return 0;
}

static int pop(void)
{
    puts("tool: pop");
    return 0;
}

static uint64_t start_a(const char *text)
{
    printf("tool: start %s\n", text);
    return 77;
}

static void end(uint64_t id)
{
    printf("tool: end %llu\n", (unsigned long long)id);
}

static void *domain_create(const char *name)
{
    snprintf(domains[n_domains], sizeof *domains, "%s", name);
    return domains[n_domains++];
}

static void *string_add(void *domain, const char *text)
{
    snprintf(strings[n_strings], sizeof *strings, "%s of %s", text, (const char *)domain);
    return strings[n_strings++];
}

static int domain_push(void *domain, const attributes *e)
{
    printf("tool: domain push %s: %s\n", (const char *)domain, e->message_type == 3 ? (const char *)e->message : "?");
    return 0;
}

static int domain_pop(void *domain)
{
    printf("tool: domain pop %s\n", (const char *)domain);
    return 0;
}

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id));

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id))
{
    const callbacks *c = get_table(1);
    function       **table;
    unsigned         n;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!c->get_module(1, &table, &n) || n < 16)
        return 0;
    *table[9] = (function)push_a;
    *table[11] = (function)pop;
    *table[5] = (function)start_a;
    *table[7] = (function)end;
    if (!c->get_module(5, &table, &n) || n < 16)
        return 0;
    *table[12] = (function)domain_create;
    *table[10] = (function)string_add;
    *table[4] = (function)domain_push;
    *table[5] = (function)domain_pop;
    return 1;
}
