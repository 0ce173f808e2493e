/* SPDX-License-Identifier: Apache-2.0
 * nvtx_chain.c - a second NVTX tool behind us: HOLDUP_NVTX_CHAIN=/path/to/its/library.so.
 *
 * NVTX knows one tool, the one of NVTX_INJECTION64_PATH; `holdup run` puts us there.  So we load the other, let it fill
 * a table of ours, and give NVTX functions that call both: handles that the program holds are then pairs of ours and
 * theirs (nvtx_names.c), ids of ranges and schemas are theirs.  Without that variable none of this is entered.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "inject/nvtx.h"
#include "inject/process.h"
#include "inject/sys.h"

enum { IDS = 32 };

typedef int (*init_core)(hu_nvtx_get_table get_table);
typedef int (*init_extension)(hu_nvtx_extension *module);

int InitializeInjectionNvtx2(hu_nvtx_get_table get_table);

static hu_nvtx_function  theirs[HU_NVTX_MODULES][IDS], ours[HU_NVTX_MODULES][IDS];
static hu_nvtx_function *slots[HU_NVTX_MODULES][IDS]; /* what the other tool sees: pointers into `theirs` */
static intptr_t          their_slots[IDS];
static hu_nvtx_function  our_slots[IDS];
static hu_nvtx_get_table real_table; /* of the instance that is being filled */
static uint32_t          lock;
static init_core         their_core;
static init_extension    their_extension;
static bool              was_opened;

/* Called with the lock. */
static void open_once(void)
{
    const char *path = getenv("HOLDUP_NVTX_CHAIN");
    void       *library;

    if (was_opened)
        return;
    was_opened = true;
    if (!path || !*path)
        return;
    library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        hu_note("HOLDUP_NVTX_CHAIN: %s cannot be loaded; NVTX is recorded without it", path);
        return;
    }
    their_core = (init_core)dlsym(library, "InitializeInjectionNvtx2");
    their_extension = (init_extension)dlsym(library, "InitializeInjectionNvtxExtension");
    if (their_core == InitializeInjectionNvtx2) /* that is us */
        their_core = NULL, their_extension = NULL;
    else if (!their_core)
        hu_note("HOLDUP_NVTX_CHAIN: %s is not an NVTX tool; NVTX is recorded without it", path);
}

static bool is_there(void)
{
    bool has_core;

    if (!hu_lock(&lock))
        return false;
    open_once();
    has_core = their_core != NULL;
    hu_unlock(&lock);
    return has_core;
}

static int fake_module(int module, hu_nvtx_function ***table, unsigned *size)
{
    static const unsigned SIZES[HU_NVTX_MODULES] = {
        [HU_NVTX_CORE] = HU_CORE_IDS,
        [HU_NVTX_CUDA] = HU_CUDA_IDS,
        [HU_NVTX_CUDART] = HU_CUDART_IDS,
        [HU_NVTX_CORE2] = HU_CORE2_IDS,
    };

    if (module <= 0 || module >= HU_NVTX_MODULES)
        return 0;
    if (SIZES[module] == 0) /* not one of ours: the real one */
        return ((const hu_nvtx_callbacks *)real_table(HU_NVTX_TABLE_CALLBACKS))->get_module(module, table, size);
    for (unsigned i = 0; i < IDS; i++)
        slots[module][i] = &theirs[module][i];
    *table = slots[module];
    if (size)
        *size = SIZES[module];
    return 1;
}

static const void *fake_table(uint32_t id)
{
    static const hu_nvtx_callbacks CALLBACKS = {.bytes = sizeof CALLBACKS, .get_module = fake_module};

    return id == HU_NVTX_TABLE_CALLBACKS ? &CALLBACKS : real_table(id);
}

/* An event with their handle in the place of ours. */
static const hu_nvtx_event *event_for_them(const hu_nvtx_event *e, hu_nvtx_event *copy)
{
    if (!e || e->size < sizeof *e || e->message_type != HU_NVTX_REGISTERED)
        return e;
    memcpy(copy, e, sizeof *copy);
    copy->size = sizeof *copy;
    copy->message.registered = hu_nvtx_theirs(e->message.registered);
    return copy;
}

/* Each function calls ours, when NVTX is recorded, and theirs, when it has one.  `value` is what an absent one says. */
#define THEIRS(module, id) theirs[HU_NVTX_##module][HU_##module##_##id]
#define OURS(module, id)   ours[HU_NVTX_##module][HU_##module##_##id]
/* clang-format off */
#define BOTH(result, name, module, id, value, parameters, our_arguments, their_arguments)                             \
    static result name parameters                                                                                     \
    {                                                                                                                 \
        result (*const first) parameters = (result (*) parameters)OURS(module, id);                                   \
        result (*const second) parameters = (result (*) parameters)THEIRS(module, id);                                \
        result rc = first ? first our_arguments : (value);                                                            \
        return second ? second their_arguments : rc;                                                                  \
    }
#define BOTH_VOID(name, module, id, parameters, our_arguments, their_arguments)                                       \
    static void name parameters                                                                                       \
    {                                                                                                                 \
        void (*const first) parameters = (void (*) parameters)OURS(module, id);                                       \
        void (*const second) parameters = (void (*) parameters)THEIRS(module, id);                                    \
        if (first)                                                                                                    \
            first our_arguments;                                                                                      \
        if (second)                                                                                                   \
            second their_arguments;                                                                                   \
    }
/* clang-format on */
#define EVENT  event_for_them(e, &(hu_nvtx_event){0})
#define DOMAIN hu_nvtx_theirs(d)

BOTH_VOID(mark_ex, CORE, MARK_EX, (const hu_nvtx_event *e), (e), (EVENT))
BOTH_VOID(mark_a, CORE, MARK_A, (const char *s), (s), (s))
BOTH_VOID(mark_w, CORE, MARK_W, (const wchar_t *s), (s), (s))
BOTH(int, push_ex, CORE, PUSH_EX, HU_NVTX_NO_TRACKING, (const hu_nvtx_event *e), (e), (EVENT))
BOTH(int, push_a, CORE, PUSH_A, HU_NVTX_NO_TRACKING, (const char *s), (s), (s))
BOTH(int, push_w, CORE, PUSH_W, HU_NVTX_NO_TRACKING, (const wchar_t *s), (s), (s))
BOTH(int, pop, CORE, POP, HU_NVTX_NO_TRACKING, (void), (), ())
BOTH_VOID(category_a, CORE, CATEGORY_A, (uint32_t n, const char *s), (n, s), (n, s))
BOTH_VOID(category_w, CORE, CATEGORY_W, (uint32_t n, const wchar_t *s), (n, s), (n, s))
BOTH_VOID(thread_a, CORE, THREAD_A, (uint32_t n, const char *s), (n, s), (n, s))
BOTH_VOID(thread_w, CORE, THREAD_W, (uint32_t n, const wchar_t *s), (n, s), (n, s))
BOTH_VOID(domain_mark, CORE2, MARK_EX, (const void *d, const hu_nvtx_event *e), (d, e), (DOMAIN, EVENT))
BOTH(int, domain_push, CORE2, PUSH_EX, HU_NVTX_NO_TRACKING, (const void *d, const hu_nvtx_event *e), (d, e), (DOMAIN, EVENT))
BOTH(int, domain_pop, CORE2, POP, HU_NVTX_NO_TRACKING, (const void *d), (d), (DOMAIN))
BOTH_VOID(domain_category_a, CORE2, CATEGORY_A, (const void *d, uint32_t n, const char *s), (d, n, s), (DOMAIN, n, s))
BOTH_VOID(domain_category_w, CORE2, CATEGORY_W, (const void *d, uint32_t n, const wchar_t *s), (d, n, s), (DOMAIN, n, s))
BOTH_VOID(domain_destroy, CORE2, DOMAIN_DESTROY, (const void *d), (d), (DOMAIN))
BOTH_VOID(initialize, CORE2, INITIALIZE, (const void *p), (p), (p))
BOTH_VOID(cu_device_a, CUDA, DEVICE_A, (int32_t n, const char *s), (n, s), (n, s))
BOTH_VOID(cu_device_w, CUDA, DEVICE_W, (int32_t n, const wchar_t *s), (n, s), (n, s))
BOTH_VOID(cu_context_a, CUDA, CONTEXT_A, (void *p, const char *s), (p, s), (p, s))
BOTH_VOID(cu_context_w, CUDA, CONTEXT_W, (void *p, const wchar_t *s), (p, s), (p, s))
BOTH_VOID(cu_stream_a, CUDA, STREAM_A, (void *p, const char *s), (p, s), (p, s))
BOTH_VOID(cu_stream_w, CUDA, STREAM_W, (void *p, const wchar_t *s), (p, s), (p, s))
BOTH_VOID(cu_event_a, CUDA, EVENT_A, (void *p, const char *s), (p, s), (p, s))
BOTH_VOID(cu_event_w, CUDA, EVENT_W, (void *p, const wchar_t *s), (p, s), (p, s))
BOTH_VOID(cudart_device_a, CUDART, DEVICE_A, (int32_t n, const char *s), (n, s), (n, s))
BOTH_VOID(cudart_device_w, CUDART, DEVICE_W, (int32_t n, const wchar_t *s), (n, s), (n, s))
BOTH_VOID(cudart_stream_a, CUDART, STREAM_A, (void *p, const char *s), (p, s), (p, s))
BOTH_VOID(cudart_stream_w, CUDART, STREAM_W, (void *p, const wchar_t *s), (p, s), (p, s))
BOTH_VOID(cudart_event_a, CUDART, EVENT_A, (void *p, const char *s), (p, s), (p, s))
BOTH_VOID(cudart_event_w, CUDART, EVENT_W, (void *p, const wchar_t *s), (p, s), (p, s))

/* Handles of both. */
/* clang-format off */
#define PAIR(name, id, parameters, our_arguments, their_arguments)                                                    \
    static const void *name parameters                                                                                \
    {                                                                                                                 \
        const void *(*const first) parameters = (const void *(*) parameters)OURS(CORE2, id);                          \
        const void *(*const second) parameters = (const void *(*) parameters)THEIRS(CORE2, id);                       \
        const void *const a = first ? first our_arguments : NULL;                                                     \
        return hu_nvtx_handle(hu_nvtx_id(a), second ? second their_arguments : NULL);                                 \
    }
/* clang-format on */

PAIR(string_a, STRING_A, (const void *d, const char *s), (d, s), (DOMAIN, s))
PAIR(string_w, STRING_W, (const void *d, const wchar_t *s), (d, s), (DOMAIN, s))
PAIR(domain_a, DOMAIN_A, (const char *s), (s), (s))
PAIR(domain_w, DOMAIN_W, (const wchar_t *s), (s), (s))

static const void *resource_create(const void *d, const hu_nvtx_resource *r)
{
    const void *(*const first)(
        const void *,
        const hu_nvtx_resource *) = (const void *(*)(const void *, const hu_nvtx_resource *))OURS(CORE2, RESOURCE_CREATE);
    const void *(*const second)(
        const void *,
        const hu_nvtx_resource *) = (const void *(*)(const void *, const hu_nvtx_resource *))THEIRS(CORE2, RESOURCE_CREATE);
    const void *const a = first ? first(d, r) : NULL;
    hu_nvtx_resource  copy;

    if (second && r && r->size >= sizeof copy && r->message_type == HU_NVTX_REGISTERED) {
        memcpy(&copy, r, sizeof copy);
        copy.size = sizeof copy;
        copy.message.registered = hu_nvtx_theirs(r->message.registered);
        r = &copy;
    }
    return hu_nvtx_handle(hu_nvtx_id(a), second ? second(DOMAIN, r) : NULL);
}

static void resource_destroy(const void *handle)
{
    void (*const second)(const void *) = (void (*)(const void *))THEIRS(CORE2, RESOURCE_DESTROY);

    if (second)
        second(hu_nvtx_theirs(handle));
}

/* Ranges: the program holds their id when they gave one; ours is kept in a small table of our own. */
enum { RANGES = 1 << 12, PROBES = 64 };

static struct {
    uint64_t theirs, ours;
} ranges[RANGES];

static uint64_t range_both(uint64_t our_id, uint64_t their_id)
{
    if (!our_id || !their_id)
        return our_id ? our_id : their_id;
    for (uint64_t i = 0; i < PROBES; i++) {
        const uint64_t k = (their_id * 0x9e3779b97f4a7c15u >> 52) + i;
        uint64_t       zero = 0;

        if (__atomic_compare_exchange_n(&ranges[k % RANGES].theirs, &zero, their_id, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            __atomic_store_n(&ranges[k % RANGES].ours, our_id, __ATOMIC_RELEASE);
            break;
        }
    }
    return their_id;
}

static uint64_t range_ours(uint64_t id)
{
    for (uint64_t i = 0; id && i < PROBES; i++) {
        const uint64_t k = (id * 0x9e3779b97f4a7c15u >> 52) + i;

        if (__atomic_load_n(&ranges[k % RANGES].theirs, __ATOMIC_ACQUIRE) == id) {
            const uint64_t our_id = __atomic_load_n(&ranges[k % RANGES].ours, __ATOMIC_ACQUIRE);

            __atomic_store_n(&ranges[k % RANGES].theirs, 0, __ATOMIC_RELEASE);
            return our_id;
        }
    }
    return id;
}

/* clang-format off */
#define START(name, module, id, parameters, our_arguments, their_arguments)                                           \
    static uint64_t name parameters                                                                                   \
    {                                                                                                                 \
        uint64_t (*const first) parameters = (uint64_t (*) parameters)OURS(module, id);                               \
        uint64_t (*const second) parameters = (uint64_t (*) parameters)THEIRS(module, id);                            \
        const uint64_t a = first ? first our_arguments : 0;                                                           \
        return range_both(a, second ? second their_arguments : 0);                                                    \
    }
/* clang-format on */

START(start_ex, CORE, START_EX, (const hu_nvtx_event *e), (e), (EVENT))
START(start_a, CORE, START_A, (const char *s), (s), (s))
START(start_w, CORE, START_W, (const wchar_t *s), (s), (s))
START(domain_start, CORE2, START_EX, (const void *d, const hu_nvtx_event *e), (d, e), (DOMAIN, EVENT))

static void end(uint64_t id)
{
    void (*const first)(uint64_t) = (void (*)(uint64_t))OURS(CORE, END);
    void (*const second)(uint64_t) = (void (*)(uint64_t))THEIRS(CORE, END);

    if (first)
        first(range_ours(id));
    if (second)
        second(id);
}

static void domain_end(const void *d, uint64_t id)
{
    void (*const first)(const void *, uint64_t) = (void (*)(const void *, uint64_t))OURS(CORE2, END);
    void (*const second)(const void *, uint64_t) = (void (*)(const void *, uint64_t))THEIRS(CORE2, END);

    if (first)
        first(d, range_ours(id));
    if (second)
        second(DOMAIN, id);
}

/* clang-format off */
#define ROW(module, id, function) {HU_NVTX_##module, HU_##module##_##id, (hu_nvtx_function)(function)}

static const hu_nvtx_row both[] = {
    ROW(CORE, MARK_EX, mark_ex), ROW(CORE, MARK_A, mark_a), ROW(CORE, MARK_W, mark_w), ROW(CORE, START_EX, start_ex),
    ROW(CORE, START_A, start_a), ROW(CORE, START_W, start_w), ROW(CORE, END, end), ROW(CORE, PUSH_EX, push_ex),
    ROW(CORE, PUSH_A, push_a), ROW(CORE, PUSH_W, push_w), ROW(CORE, POP, pop), ROW(CORE, CATEGORY_A, category_a),
    ROW(CORE, CATEGORY_W, category_w), ROW(CORE, THREAD_A, thread_a), ROW(CORE, THREAD_W, thread_w),
    ROW(CORE2, MARK_EX, domain_mark), ROW(CORE2, START_EX, domain_start), ROW(CORE2, END, domain_end),
    ROW(CORE2, PUSH_EX, domain_push), ROW(CORE2, POP, domain_pop), ROW(CORE2, RESOURCE_CREATE, resource_create),
    ROW(CORE2, RESOURCE_DESTROY, resource_destroy), ROW(CORE2, CATEGORY_A, domain_category_a),
    ROW(CORE2, CATEGORY_W, domain_category_w), ROW(CORE2, STRING_A, string_a), ROW(CORE2, STRING_W, string_w),
    ROW(CORE2, DOMAIN_A, domain_a), ROW(CORE2, DOMAIN_W, domain_w), ROW(CORE2, DOMAIN_DESTROY, domain_destroy),
    ROW(CORE2, INITIALIZE, initialize),
    ROW(CUDA, DEVICE_A, cu_device_a), ROW(CUDA, DEVICE_W, cu_device_w), ROW(CUDA, CONTEXT_A, cu_context_a),
    ROW(CUDA, CONTEXT_W, cu_context_w), ROW(CUDA, STREAM_A, cu_stream_a), ROW(CUDA, STREAM_W, cu_stream_w),
    ROW(CUDA, EVENT_A, cu_event_a), ROW(CUDA, EVENT_W, cu_event_w),
    ROW(CUDART, DEVICE_A, cudart_device_a), ROW(CUDART, DEVICE_W, cudart_device_w),
    ROW(CUDART, STREAM_A, cudart_stream_a), ROW(CUDART, STREAM_W, cudart_stream_w),
    ROW(CUDART, EVENT_A, cudart_event_a), ROW(CUDART, EVENT_W, cudart_event_w),
};
/* clang-format on */

static void fill(const hu_nvtx_callbacks *callbacks)
{
    for (unsigned i = 0; i < sizeof both / sizeof *both; i++) {
        hu_nvtx_function **table = NULL;
        unsigned           n = 0;

        if (callbacks->get_module(both[i].module, &table, &n) && table && both[i].id < n && table[both[i].id])
            *table[both[i].id] = both[i].function;
    }
}

bool hu_nvtx_chain_core(hu_nvtx_get_table get_table, bool with_ours, int *result)
{
    bool is_taken;

    if (!is_there())
        return false;
    if (!with_ours) {
        *result = their_core(get_table);
        return true;
    }
    if (!hu_lock(&lock))
        return false;
    real_table = get_table;
    is_taken = their_core(fake_table) != 0;
    if (!is_taken)
        memset(theirs, 0, sizeof theirs);
    for (unsigned i = 0; i < hu_nvtx_n_handlers; i++)
        ours[hu_nvtx_handlers[i].module][hu_nvtx_handlers[i].id] = hu_nvtx_handlers[i].function;
    fill(get_table(HU_NVTX_TABLE_CALLBACKS));
    hu_unlock(&lock);
    *result = 1;
    return true;
}

/* The payload extension.  Ids of schemas are theirs; ours are registered under them. */
#define SLOT(id, type)       ((type)our_slots[HU_EXT_##id])
#define THEIR_SLOT(id, type) (their_slots[HU_EXT_##id] ? (type)their_slots[HU_EXT_##id] : NULL)

typedef uint64_t (*add_schema)(const void *d, const hu_nvtx_schema *s);
typedef uint64_t (*add_enum)(const void *d, const hu_nvtx_enum *s);
typedef uint64_t (*add_scope)(const void *d, const hu_nvtx_scope *s);
typedef void (*mark_payload)(const void *d, const hu_nvtx_payload *list, size_t n);
typedef int (*push_payload)(const void *d, const hu_nvtx_payload *list, size_t n);
typedef uint64_t (*start_payload)(const void *d, const hu_nvtx_payload *list, size_t n);
typedef void (*end_payload)(const void *d, uint64_t id, const hu_nvtx_payload *list, size_t n);

static uint64_t both_schema(const void *d, const hu_nvtx_schema *s)
{
    const add_schema second = THEIR_SLOT(SCHEMA, add_schema);
    const uint64_t   id = second ? second(DOMAIN, s) : 0, mine = hu_nvtx_schema_add(hu_nvtx_id(d), s, id);

    return id ? id : mine;
}

static uint64_t both_enum(const void *d, const hu_nvtx_enum *s)
{
    const add_enum second = THEIR_SLOT(ENUM, add_enum);
    const uint64_t id = second ? second(DOMAIN, s) : 0, mine = hu_nvtx_enum_add(hu_nvtx_id(d), s, id);

    return id ? id : mine;
}

static uint64_t both_scope(const void *d, const hu_nvtx_scope *s)
{
    const add_scope second = THEIR_SLOT(SCOPE, add_scope);

    return second ? second(DOMAIN, s) : SLOT(SCOPE, add_scope)(d, s);
}

static void both_mark(const void *d, const hu_nvtx_payload *list, size_t n)
{
    const mark_payload second = THEIR_SLOT(MARK, mark_payload);

    SLOT(MARK, mark_payload)(d, list, n);
    if (second)
        second(DOMAIN, list, n);
}

static int both_push(const void *d, const hu_nvtx_payload *list, size_t n)
{
    const push_payload second = THEIR_SLOT(PUSH, push_payload);
    const int          rc = SLOT(PUSH, push_payload)(d, list, n);

    return second ? second(DOMAIN, list, n) : rc;
}

static int both_pop(const void *d, const hu_nvtx_payload *list, size_t n)
{
    const push_payload second = THEIR_SLOT(POP, push_payload);
    const int          rc = SLOT(POP, push_payload)(d, list, n);

    return second ? second(DOMAIN, list, n) : rc;
}

static uint64_t both_start(const void *d, const hu_nvtx_payload *list, size_t n)
{
    const start_payload second = THEIR_SLOT(START, start_payload);
    const uint64_t      id = SLOT(START, start_payload)(d, list, n);

    return range_both(id, second ? second(DOMAIN, list, n) : 0);
}

static void both_end(const void *d, uint64_t id, const hu_nvtx_payload *list, size_t n)
{
    const end_payload second = THEIR_SLOT(END, end_payload);

    SLOT(END, end_payload)(d, range_ours(id), list, n);
    if (second)
        second(DOMAIN, id, list, n);
}

static uint8_t both_enabled(const void *d)
{
    uint8_t (*const second)(const void *) = THEIR_SLOT(IS_ENABLED, uint8_t(*)(const void *));

    return SLOT(IS_ENABLED, uint8_t(*)(const void *))(d) || !second || second(DOMAIN);
}

static const struct {
    unsigned         id;
    hu_nvtx_function function;
} both_slots[] = {
    {HU_EXT_SCHEMA, (hu_nvtx_function)both_schema}, {HU_EXT_ENUM, (hu_nvtx_function)both_enum},
    {HU_EXT_MARK, (hu_nvtx_function)both_mark},     {HU_EXT_PUSH, (hu_nvtx_function)both_push},
    {HU_EXT_POP, (hu_nvtx_function)both_pop},       {HU_EXT_START, (hu_nvtx_function)both_start},
    {HU_EXT_END, (hu_nvtx_function)both_end},       {HU_EXT_IS_ENABLED, (hu_nvtx_function)both_enabled},
    {HU_EXT_SCOPE, (hu_nvtx_function)both_scope},
};

bool hu_nvtx_chain_extension(hu_nvtx_extension *module, bool with_ours, int *result)
{
    hu_nvtx_segment   copy = {.n_slots = IDS, .slots = their_slots};
    hu_nvtx_extension theirs_sees;

    if (!is_there())
        return false;
    if (!with_ours) {
        *result = their_extension ? their_extension(module) : 1;
        return true;
    }
    if (!hu_lock(&lock))
        return false;
    memcpy(&theirs_sees, module, sizeof theirs_sees < module->bytes ? sizeof theirs_sees : module->bytes);
    theirs_sees.bytes = sizeof theirs_sees < module->bytes ? sizeof theirs_sees : module->bytes;
    theirs_sees.segments = &copy;
    theirs_sees.n_segments = 1;
    if (their_extension)
        (void)their_extension(&theirs_sees);
    for (unsigned i = 0; i < hu_nvtx_n_ext_handlers; i++)
        our_slots[hu_nvtx_ext_handlers[i].id] = hu_nvtx_ext_handlers[i].function;
    for (size_t s = 0; s < module->n_segments; s++)
        for (unsigned i = 0; i < sizeof both_slots / sizeof *both_slots; i++)
            if (both_slots[i].id < module->segments[s].n_slots)
                module->segments[s].slots[both_slots[i].id] = (intptr_t)both_slots[i].function;
    hu_unlock(&lock);
    *result = 1;
    return true;
}
