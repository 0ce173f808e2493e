/* SPDX-License-Identifier: Apache-2.0
 * nvtx.c - the NVTX door: ranges, marks and names of whoever uses nvtx3/nvToolsExt.h become records.
 *
 * NVTX loads the library that NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2 once for each shared object
 * that uses it, so nothing in here belongs to one of them: all of them get the same handlers.  Only what was asked for
 * is entered: when neither NVTX nor a range that opens the gate is wanted, init says no, and every NVTX call of the
 * program becomes the nothing that it is without a tool.
 *
 * Push and pop return "no tracking" (-2): levels would cost more than the record.  The handle of a started range is
 * text << 48 | domain << 32 | number, so that its end can tell the gate which range it was.
 */
#include <string.h>

#include "base/banned.h"
#include "inject/nvtx.h"
#include "inject/process.h"
#include "inject/pytorch.h"
#include "inject/sys.h"

#define EXPORT __attribute__((visibility("default")))

static uint32_t last_range; /* of this process; handles never repeat within 2^32 ranges of one text */

static bool somebody_cares(void)
{
    return hu_gate_open(HU_DOOR_NVTX | HU_DOOR_WATCH);
}

static bool is_watched(void)
{
    return __builtin_expect((hu_the_control->mask & HU_DOOR_WATCH) != 0, 0);
}

/* An event without more: what nearly all are. */
static inline void write_plain(hu_record_type type, uint32_t text, uint32_t domain, uint64_t a, uint64_t b)
{
    hu_record *r;

    if (!hu_gate_open(HU_DOOR_NVTX))
        return;
    r = hu_ring_take(1);
    if (!r)
        return;
    r->time = hu_ticks();
    r->id = text;
    r->aux = (uint16_t)domain;
    r->a = a;
    r->b = b;
    hu_ring_publish(r, type);
}

static uint32_t id_once(uint32_t *cached, const char *text)
{
    uint32_t id = __atomic_load_n(cached, __ATOMIC_RELAXED);

    if (id == 0) {
        id = hu_string_of(text);
        __atomic_store_n(cached, id, __ATOMIC_RELAXED);
    }
    return id;
}

/* The attributes that the caller knows; those of a later or earlier NVTX are left alone or absent. */
static void read_event(const hu_nvtx_event *from, hu_nvtx_event *e)
{
    size_t n;

    memset(e, 0, sizeof *e);
    if (!from)
        return;
    n = from->size;
    memcpy(e, from, n < sizeof *e ? n : sizeof *e);
    if (n < sizeof *e && n > offsetof(hu_nvtx_event, message))
        e->message_type = 0; /* half a pointer */
}

static uint32_t is_classic(int32_t payload_type)
{
    return payload_type >= HU_NVTX_UINT64 && payload_type <= HU_NVTX_FLOAT;
}

static void write_classic(hu_record *r, const hu_nvtx_event *e)
{
    static uint32_t name;
    const uint32_t  id = id_once(&name, "payload");
    const uint32_t  low = (uint32_t)e->payload;
    float           single;
    double          wide;
    uint64_t        bits;

    switch (e->payload_type) {
    case HU_NVTX_INT64:
        hu_ring_more(r, id, HU_MORE_INT, e->payload);
        break;
    case HU_NVTX_INT32:
        hu_ring_more(r, id, HU_MORE_INT, (uint64_t)(int64_t)(int32_t)low);
        break;
    case HU_NVTX_UINT32:
        hu_ring_more(r, id, HU_MORE_UINT, low);
        break;
    case HU_NVTX_DOUBLE:
        hu_ring_more(r, id, HU_MORE_DOUBLE, e->payload);
        break;
    case HU_NVTX_FLOAT:
        memcpy(&single, &low, sizeof single);
        wide = (double)single;
        memcpy(&bits, &wide, sizeof bits);
        hu_ring_more(r, id, HU_MORE_DOUBLE, bits);
        break;
    default:
        hu_ring_more(r, id, HU_MORE_UINT, e->payload);
    }
}

static uint64_t color_and_category(const hu_nvtx_event *e)
{
    return (e->color_type == HU_NVTX_COLOR_ARGB ? e->color : 0) | (uint64_t)e->category << 32;
}

/* An event with a named category or payloads: one group of records. */
static void write_full(hu_record_type type, uint32_t text, const hu_nvtx_event *e, const hu_nvtx_payloads *payloads,
                       uint64_t handle)
{
    static uint32_t category_name;
    const uint32_t  domain = payloads->domain;
    const uint32_t  category = e->category ? hu_nvtx_category(domain, e->category) : 0;
    const uint32_t  n = 1u + (category != 0) + is_classic(e->payload_type) + hu_nvtx_payload_records(payloads);
    const uint32_t  name = category ? id_once(&category_name, "category") : 0;
    hu_record      *r, *at;

    if (!hu_gate_open(HU_DOOR_NVTX))
        return;
    r = hu_ring_take(n);
    if (!r)
        return;
    at = r + 1;
    if (category)
        hu_ring_more(at++, name, HU_MORE_TEXT, category);
    if (is_classic(e->payload_type))
        write_classic(at++, e);
    at = hu_nvtx_payload_write(payloads, at, r + n);
    for (; at < r + n; at++)
        hu_ring_more(at, 0, HU_MORE_BYTES, 0);
    r->time = hu_ticks();
    r->id = text;
    r->aux = (uint16_t)domain;
    r->a = color_and_category(e);
    r->b = handle;
    hu_ring_publish(r, type);
}

static uint64_t handle_of(uint32_t text, uint32_t domain)
{
    const uint32_t n = __atomic_add_fetch(&last_range, 1, __ATOMIC_RELAXED);

    return (uint64_t)text << 48 | (uint64_t)(domain & 0xffff) << 32 | (n ? n : 1);
}

static void tell_gate(hu_record_type type, uint32_t text, uint32_t domain)
{
    if (type == HU_RECORD_BEGIN)
        hu_gate_push(text, domain);
    else if (type == HU_RECORD_START)
        hu_gate_start(text, domain);
}

/* Begins, starts or marks with attributes; `handle` is set for a start. */
static void begin_event(hu_record_type type, uint32_t domain, const hu_nvtx_event *from, uint64_t *handle)
{
    hu_nvtx_payloads payloads = {.domain = domain};
    hu_nvtx_event    e;
    uint32_t         text;

    read_event(from, &e);
    if (e.payload_type == HU_NVTX_PAYLOAD_EXTENDED && e.payload && e.n_payloads > 0) {
        payloads.list = (const hu_nvtx_payload *)(uintptr_t)e.payload;
        payloads.n = (size_t)e.n_payloads;
    }
    text = hu_nvtx_text(e.message_type, e.message);
    if (!text && payloads.n)
        text = hu_nvtx_payload_message(&payloads);
    if (handle)
        *handle = handle_of(text, domain);
    if (is_watched())
        tell_gate(type, text, domain);
    if (e.payload_type == 0 && e.category == 0)
        write_plain(type, text, domain, color_and_category(&e), handle ? *handle : 0);
    else
        write_full(type, text, &e, &payloads, handle ? *handle : 0);
}

static void push_text(uint32_t text)
{
    if (is_watched())
        hu_gate_push(text, 0);
    write_plain(HU_RECORD_BEGIN, text, 0, 0, 0);
}

/* Apart, so that a paused pop saves no registers. */
static __attribute__((noinline)) int pop_now(uint32_t domain)
{
    write_plain(HU_RECORD_END, 0, domain, 0, 0);
    if (is_watched())
        hu_gate_pop(domain);
    return HU_NVTX_NO_TRACKING;
}

static int pop(uint32_t domain)
{
    return somebody_cares() ? pop_now(domain) : HU_NVTX_NO_TRACKING;
}

static uint64_t start_text(uint32_t text)
{
    const uint64_t handle = handle_of(text, 0);

    if (is_watched())
        hu_gate_start(text, 0);
    write_plain(HU_RECORD_START, text, 0, 0, handle);
    return handle;
}

static void end_range(uint64_t handle)
{
    if (handle == 0 || !somebody_cares())
        return;
    write_plain(HU_RECORD_STOP, 0, (uint32_t)(handle >> 32) & 0xffff, 0, handle);
    if (is_watched() && handle >> 48)
        hu_gate_stop((uint32_t)(handle >> 48), (uint32_t)(handle >> 32) & 0xffff);
}

/* Names are rare and given early: they are written whether or not the gate is open. */
static void write_name(const char *of, uint64_t handle, uint32_t name)
{
    const uint32_t names = hu_string_of("names"), what = hu_string_of(of), identifier = hu_string_of("handle");
    hu_record     *r;

    if (!name || !hu_process_attach() || !(r = hu_ring_take(3)))
        return;
    hu_ring_more(r + 1, names, HU_MORE_TEXT, what);
    hu_ring_more(r + 2, identifier, HU_MORE_ADDRESS, handle);
    r->time = hu_ticks();
    r->id = name;
    r->aux = 0;
    r->a = r->b = 0;
    hu_ring_publish(r, HU_RECORD_MARK);
}

static void name_thread(uint32_t tid, uint32_t name)
{
    hu_record *r;

    if (tid != hu_sys_tid()) {
        write_name("thread", tid, name);
        return;
    }
    if (!name || !hu_process_attach() || !(r = hu_ring_take(1)))
        return;
    r->time = hu_ticks();
    r->id = name;
    r->aux = 0;
    r->a = r->b = 0;
    hu_ring_publish(r, HU_RECORD_THREAD);
}

/* The handlers.  CORE: the default domain. */
/* clang-format off */
#define IF_CARED(...) do { if (somebody_cares()) { __VA_ARGS__; } } while (0)
/* clang-format on */

static void core_mark_ex(const hu_nvtx_event *e)
{
    IF_CARED(begin_event(HU_RECORD_MARK, 0, e, NULL));
}
static void core_mark_a(const char *s)
{
    IF_CARED(write_plain(HU_RECORD_MARK, hu_string_of(s), 0, 0, 0));
}
static void core_mark_w(const wchar_t *s)
{
    IF_CARED(write_plain(HU_RECORD_MARK, hu_nvtx_wide(s), 0, 0, 0));
}

static uint64_t core_start_ex(const hu_nvtx_event *e)
{
    uint64_t handle = 0;

    IF_CARED(begin_event(HU_RECORD_START, 0, e, &handle));
    return handle;
}

static uint64_t core_start_a(const char *s)
{
    return somebody_cares() ? start_text(hu_string_of(s)) : 0;
}
static uint64_t core_start_w(const wchar_t *s)
{
    return somebody_cares() ? start_text(hu_nvtx_wide(s)) : 0;
}
static void core_end(uint64_t handle)
{
    end_range(handle);
}

static int core_push_ex(const hu_nvtx_event *e)
{
    IF_CARED(begin_event(HU_RECORD_BEGIN, 0, e, NULL));
    return HU_NVTX_NO_TRACKING;
}

/* Of PyTorch's operators each text is another one: they are taken apart.  False: it is none. */
static bool push_operator(const char *s)
{
    hu_pytorch_operator o;

    if (!hu_pytorch_read(s, &o))
        return false;
    if (is_watched())
        hu_gate_push(o.name, 0);
    hu_pytorch_write(&o);
    return true;
}

static int core_push_a(const char *s)
{
    if (hu_the_control->wanted & HU_DOOR_PYTORCH && hu_gate_open(HU_DOOR_PYTORCH | HU_DOOR_WATCH) && push_operator(s))
        return HU_NVTX_NO_TRACKING;
    IF_CARED(push_text(hu_string_of(s)));
    return HU_NVTX_NO_TRACKING;
}

static int core_push_w(const wchar_t *s)
{
    IF_CARED(push_text(hu_nvtx_wide(s)));
    return HU_NVTX_NO_TRACKING;
}

static int core_pop(void)
{
    return pop(0);
}
static void core_category_a(uint32_t n, const char *s)
{
    hu_nvtx_name_category(0, n, hu_string_of(s));
}
static void core_category_w(uint32_t n, const wchar_t *s)
{
    hu_nvtx_name_category(0, n, hu_nvtx_wide(s));
}

/* Names of threads hold no secret, whoever gives them: osrt_process.c has the other calls. */
static uint32_t thread_name(const char *s)
{
    return s ? hu_string_given(s, strnlen(s, HU_STRING_BYTES_MAX)) : 0;
}

static void core_thread_a(uint32_t tid, const char *s)
{
    name_thread(tid, thread_name(s));
}
static void core_thread_w(uint32_t tid, const wchar_t *s)
{
    name_thread(tid, hu_nvtx_wide_given(s));
}

/* CORE2: of any domain. */
static void domain_mark_ex(const void *d, const hu_nvtx_event *e)
{
    IF_CARED(begin_event(HU_RECORD_MARK, hu_nvtx_id(d), e, NULL));
}

static uint64_t domain_start_ex(const void *d, const hu_nvtx_event *e)
{
    uint64_t handle = 0;

    IF_CARED(begin_event(HU_RECORD_START, hu_nvtx_id(d), e, &handle));
    return handle;
}

static void domain_end(const void *d, uint64_t handle)
{
    (void)d; /* as NVTX says: the handle knows it */
    end_range(handle);
}

static int domain_push_ex(const void *d, const hu_nvtx_event *e)
{
    if (!somebody_cares())
        return HU_NVTX_NO_TRACKING;
    /* the path that libraries take, and that is to be fast */
    if (e && e->size >= sizeof *e && e->message_type == HU_NVTX_REGISTERED && e->payload_type == 0 && e->category == 0 &&
        !is_watched())
        write_plain(HU_RECORD_BEGIN, hu_nvtx_id(e->message.registered), hu_nvtx_id(d), color_and_category(e), 0);
    else
        begin_event(HU_RECORD_BEGIN, hu_nvtx_id(d), e, NULL);
    return HU_NVTX_NO_TRACKING;
}

static int domain_pop(const void *d)
{
    return pop(hu_nvtx_id(d));
}

static const void *domain_resource_create(const void *d, const hu_nvtx_resource *from)
{
    hu_nvtx_resource r = {0};
    bool             is_thread;
    uint32_t         name;

    (void)d;
    if (!from)
        return NULL;
    memcpy(&r, from, from->size < sizeof r ? from->size : sizeof r);
    if (from->size < sizeof r)
        r.message_type = 0;
    is_thread = r.type == HU_NVTX_THREAD_NATIVE || r.type == HU_NVTX_THREAD_POSIX;
    if (is_thread && r.message_type == HU_NVTX_ASCII)
        name = thread_name(r.message.ascii);
    else if (is_thread && r.message_type == HU_NVTX_UNICODE)
        name = hu_nvtx_wide_given(r.message.unicode);
    else
        name = hu_nvtx_text(r.message_type, r.message);
    if (r.type == HU_NVTX_THREAD_NATIVE)
        name_thread((uint32_t)r.identifier, name);
    else
        write_name(r.type == HU_NVTX_THREAD_POSIX ? "pthread" : "resource", r.identifier, name);
    return (const void *)(uintptr_t)name;
}

static void domain_resource_destroy(const void *handle)
{
    (void)handle;
}
static void domain_category_a(const void *d, uint32_t n, const char *s)
{
    hu_nvtx_name_category(hu_nvtx_id(d), n, hu_string_of(s));
}
static void domain_category_w(const void *d, uint32_t n, const wchar_t *s)
{
    hu_nvtx_name_category(hu_nvtx_id(d), n, hu_nvtx_wide(s));
}
static const void *domain_string_a(const void *d, const char *s)
{
    (void)d;
    return hu_nvtx_handle(hu_string_of(s), NULL);
}
static const void *domain_string_w(const void *d, const wchar_t *s)
{
    (void)d;
    return hu_nvtx_handle(hu_nvtx_wide(s), NULL);
}
static const void *domain_create_a(const char *s)
{
    return hu_nvtx_handle(hu_string_of(s), NULL);
}
static const void *domain_create_w(const wchar_t *s)
{
    return hu_nvtx_handle(hu_nvtx_wide(s), NULL);
}
static void domain_destroy(const void *d)
{
    (void)d;
}

/* Names of the GPU's things, for the door that will know them. */
static void cuda_device_a(int32_t n, const char *s)
{
    write_name("CUDA device", (uint64_t)n, hu_string_of(s));
}
static void cuda_device_w(int32_t n, const wchar_t *s)
{
    write_name("CUDA device", (uint64_t)n, hu_nvtx_wide(s));
}
static void cuda_context_a(void *p, const char *s)
{
    write_name("CUDA context", (uintptr_t)p, hu_string_of(s));
}
static void cuda_context_w(void *p, const wchar_t *s)
{
    write_name("CUDA context", (uintptr_t)p, hu_nvtx_wide(s));
}
static void cuda_stream_a(void *p, const char *s)
{
    write_name("CUDA stream", (uintptr_t)p, hu_string_of(s));
}
static void cuda_stream_w(void *p, const wchar_t *s)
{
    write_name("CUDA stream", (uintptr_t)p, hu_nvtx_wide(s));
}
static void cuda_event_a(void *p, const char *s)
{
    write_name("CUDA event", (uintptr_t)p, hu_string_of(s));
}
static void cuda_event_w(void *p, const wchar_t *s)
{
    write_name("CUDA event", (uintptr_t)p, hu_nvtx_wide(s));
}

/* The payload extension. */
static uint64_t ext_schema(const void *d, const hu_nvtx_schema *s)
{
    return hu_nvtx_schema_add(hu_nvtx_id(d), s, 0);
}
static uint64_t ext_enum(const void *d, const hu_nvtx_enum *s)
{
    return hu_nvtx_enum_add(hu_nvtx_id(d), s, 0);
}

static void payload_event(hu_record_type type, const void *d, const hu_nvtx_payload *list, size_t n, uint64_t *handle)
{
    const hu_nvtx_payloads payloads = {.list = list, .n = list ? n : 0, .domain = hu_nvtx_id(d)};
    const hu_nvtx_event    none = {0};
    const bool             begins = type == HU_RECORD_BEGIN || type == HU_RECORD_START;
    const uint32_t         text = begins || type == HU_RECORD_MARK ? hu_nvtx_payload_message(&payloads) : 0;

    if (type == HU_RECORD_START)
        *handle = handle_of(text, payloads.domain);
    if (is_watched())
        tell_gate(type, text, payloads.domain);
    write_full(type, text, &none, &payloads, handle ? *handle : 0);
}

static void ext_mark(const void *d, const hu_nvtx_payload *list, size_t n)
{
    IF_CARED(payload_event(HU_RECORD_MARK, d, list, n, NULL));
}

static int ext_push(const void *d, const hu_nvtx_payload *list, size_t n)
{
    IF_CARED(payload_event(HU_RECORD_BEGIN, d, list, n, NULL));
    return HU_NVTX_NO_TRACKING;
}

static int ext_pop(const void *d, const hu_nvtx_payload *list, size_t n)
{
    IF_CARED(payload_event(HU_RECORD_END, d, list, n, NULL); if (is_watched()) hu_gate_pop(hu_nvtx_id(d)));
    return HU_NVTX_NO_TRACKING;
}

static uint64_t ext_start(const void *d, const hu_nvtx_payload *list, size_t n)
{
    uint64_t handle = 0;

    IF_CARED(payload_event(HU_RECORD_START, d, list, n, &handle));
    return handle;
}

static void ext_end(const void *d, uint64_t handle, const hu_nvtx_payload *list, size_t n)
{
    if (handle == 0 || !somebody_cares())
        return;
    payload_event(HU_RECORD_STOP, d, list, n, &handle);
    if (is_watched() && handle >> 48)
        hu_gate_stop((uint32_t)(handle >> 48), (uint32_t)(handle >> 32) & 0xffff);
}

static uint8_t ext_is_enabled(const void *d)
{
    (void)d;
    return hu_gate_open(HU_DOOR_NVTX);
}

static uint64_t ext_scope(const void *d, const hu_nvtx_scope *s)
{
    enum { DYNAMIC = 32 };

    (void)d;
    if (!s || s->bytes < sizeof *s)
        return 0;
    return s->id ? s->id : (uint64_t)1 << DYNAMIC | hu_string_of(s->path);
}

/* clang-format off */
#define ROW(module, id, function) {HU_NVTX_##module, HU_##module##_##id, (hu_nvtx_function)(function)}

const hu_nvtx_row hu_nvtx_handlers[] = {
    ROW(CORE, MARK_EX, core_mark_ex), ROW(CORE, MARK_A, core_mark_a), ROW(CORE, MARK_W, core_mark_w),
    ROW(CORE, START_EX, core_start_ex), ROW(CORE, START_A, core_start_a), ROW(CORE, START_W, core_start_w),
    ROW(CORE, END, core_end), ROW(CORE, PUSH_EX, core_push_ex), ROW(CORE, PUSH_A, core_push_a),
    ROW(CORE, PUSH_W, core_push_w), ROW(CORE, POP, core_pop), ROW(CORE, CATEGORY_A, core_category_a),
    ROW(CORE, CATEGORY_W, core_category_w), ROW(CORE, THREAD_A, core_thread_a), ROW(CORE, THREAD_W, core_thread_w),
    ROW(CORE2, MARK_EX, domain_mark_ex), ROW(CORE2, START_EX, domain_start_ex), ROW(CORE2, END, domain_end),
    ROW(CORE2, PUSH_EX, domain_push_ex), ROW(CORE2, POP, domain_pop),
    ROW(CORE2, RESOURCE_CREATE, domain_resource_create), ROW(CORE2, RESOURCE_DESTROY, domain_resource_destroy),
    ROW(CORE2, CATEGORY_A, domain_category_a), ROW(CORE2, CATEGORY_W, domain_category_w),
    ROW(CORE2, STRING_A, domain_string_a), ROW(CORE2, STRING_W, domain_string_w),
    ROW(CORE2, DOMAIN_A, domain_create_a), ROW(CORE2, DOMAIN_W, domain_create_w),
    ROW(CORE2, DOMAIN_DESTROY, domain_destroy),
    ROW(CUDA, DEVICE_A, cuda_device_a), ROW(CUDA, DEVICE_W, cuda_device_w), ROW(CUDA, CONTEXT_A, cuda_context_a),
    ROW(CUDA, CONTEXT_W, cuda_context_w), ROW(CUDA, STREAM_A, cuda_stream_a), ROW(CUDA, STREAM_W, cuda_stream_w),
    ROW(CUDA, EVENT_A, cuda_event_a), ROW(CUDA, EVENT_W, cuda_event_w),
    ROW(CUDART, DEVICE_A, cuda_device_a), ROW(CUDART, DEVICE_W, cuda_device_w), ROW(CUDART, STREAM_A, cuda_stream_a),
    ROW(CUDART, STREAM_W, cuda_stream_w), ROW(CUDART, EVENT_A, cuda_event_a), ROW(CUDART, EVENT_W, cuda_event_w),
};
const unsigned hu_nvtx_n_handlers = sizeof hu_nvtx_handlers / sizeof *hu_nvtx_handlers;

#define SLOT(id, function) {0, HU_EXT_##id, (hu_nvtx_function)(function)}
/* clang-format on */

const hu_nvtx_row hu_nvtx_ext_handlers[] = {
    SLOT(SCHEMA, ext_schema), SLOT(ENUM, ext_enum),   SLOT(MARK, ext_mark), SLOT(PUSH, ext_push),
    SLOT(POP, ext_pop),       SLOT(START, ext_start), SLOT(END, ext_end),   SLOT(IS_ENABLED, ext_is_enabled),
    SLOT(SCOPE, ext_scope),
};
const unsigned hu_nvtx_n_ext_handlers = sizeof hu_nvtx_ext_handlers / sizeof *hu_nvtx_ext_handlers;

/* A range may be what opens the gate, though NVTX itself is not to be recorded. */
static bool is_wanted(void)
{
    return hu_the_process.session[0] && (hu_the_control->wanted & HU_DOOR_NVTX || hu_the_control->capture_range[0]);
}

static bool fill_module(const hu_nvtx_callbacks *callbacks, int module)
{
    hu_nvtx_function **table = NULL;
    unsigned           n = 0;

    if (!callbacks->get_module(module, &table, &n) || !table)
        return false;
    for (unsigned i = 0; i < hu_nvtx_n_handlers; i++) {
        const hu_nvtx_row *row = &hu_nvtx_handlers[i];

        if (row->module == module && row->id < n && table[row->id])
            *table[row->id] = row->function;
    }
    return true;
}

EXPORT int InitializeInjectionNvtx2(hu_nvtx_get_table get_table);
EXPORT int InitializeInjectionNvtxExtension(hu_nvtx_extension *module);

int InitializeInjectionNvtx2(hu_nvtx_get_table get_table)
{
    const hu_nvtx_callbacks *callbacks = get_table ? get_table(HU_NVTX_TABLE_CALLBACKS) : NULL;
    const bool               ours = is_wanted();
    int                      result = 0;
    bool                     is_filled = false;

    if (!callbacks || callbacks->bytes < sizeof *callbacks || !callbacks->get_module)
        return 0;
    if (hu_nvtx_chain_core(get_table, ours, &result)) {
        if (ours)
            hu_process_entered(HU_DOOR_NVTX);
        return result;
    }
    if (!ours)
        return 0;
    for (int module = HU_NVTX_CORE; module < HU_NVTX_MODULES; module++)
        is_filled |= fill_module(callbacks, module);
    if (is_filled)
        hu_process_entered(HU_DOOR_NVTX);
    return is_filled;
}

int InitializeInjectionNvtxExtension(hu_nvtx_extension *module)
{
    const bool ours = is_wanted() && module && module->module == HU_NVTX_MODULE_PAYLOAD;
    int        result = 0;

    if (!module || module->bytes < offsetof(hu_nvtx_extension, get_export) || (module->n_segments && !module->segments))
        return 0;
    if (hu_nvtx_chain_extension(module, ours, &result))
        return result;
    if (!is_wanted())
        return 0;
    for (size_t s = 0; ours && s < module->n_segments; s++)
        for (unsigned i = 0; i < hu_nvtx_n_ext_handlers; i++)
            if (hu_nvtx_ext_handlers[i].id < module->segments[s].n_slots)
                module->segments[s].slots[hu_nvtx_ext_handlers[i].id] = (intptr_t)hu_nvtx_ext_handlers[i].function;
    return 1; /* the slots of other extensions stay empty: NVTX makes them do nothing */
}
