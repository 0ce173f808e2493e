/* SPDX-License-Identifier: Apache-2.0
 * opencl_queues.c - queues, which get CL_QUEUE_PROFILING_ENABLE from us and do not show it, their devices, and their clocks.
 *
 * A device's clock is read without a command of our own: by the standard, the time at which a command was queued is the
 * device's time while the program's call runs that enqueues it.  So each call bounds the distance of the two clocks, and the
 * shortest one bounds it best.  Where clGetDeviceAndHostTimer works (OpenCL 2.1; PoCL 3.1 has none), it is called between
 * two reads of ours, too.  The best bound of each period is a knot in the ring's head; periods grow, so that knots last.
 */
#include "inject/opencl.h"

#include <string.h>

#include "base/str.h"
#include "inject/sys.h"
#include "base/banned.h"

enum {
    ROWS = 256,
    WAYS = 4,
    GROWS = 4,  /* knots after which periods are twice as long */
    SPARE = 40, /* knots behind which no period has more than one */
    HALF = 2,   /* a bound so many times better than the period's best is worth a knot */
    READS = 8,  /* of a timer, of which the fastest counts */
};

static hu_cl_queue_facts queues[ROWS * WAYS];
static uint32_t          n_queues, lock;
static hu_cl_device      devices[HU_OPENCL_DEVICES];
static uint32_t          clocks; /* the lock of the knots */

static struct {
    uint64_t since; /* ticks: when the period began; 0: there is none */
    uint32_t best;  /* error of its best knot */
    uint32_t n;     /* knots of the device */
} period[HU_OPENCL_DEVICES];

/* clocks */

void hu_cl_clock_take(uint32_t device, uint64_t before, uint64_t device_ns, uint64_t after)
{
    hu_opencl_facts *facts = hu_cl_facts();
    const uint64_t   error = (after - before) / 2 + 1;
    const uint32_t   error32 = error < UINT32_MAX ? (uint32_t)error : UINT32_MAX;
    uint64_t         length;
    bool             is_new;

    if (!facts || device >= HU_OPENCL_DEVICES || after < before || !hu_lock(&clocks))
        return;
    length = (uint64_t)hu_the_control->ticks_per_second << (period[device].n / GROWS < 20 ? period[device].n / GROWS : 20);
    is_new = period[device].since == 0 || before - period[device].since > length;
    if (facts->n_knots < HU_OPENCL_KNOTS && before >= period[device].since &&
        (is_new || (facts->n_knots < SPARE && error32 < period[device].best / HALF))) {
        facts->knots[facts->n_knots] = (hu_opencl_knot){before + (after - before) / 2, device_ns, error32, device};
        __atomic_store_n(&facts->n_knots, facts->n_knots + 1, __ATOMIC_RELEASE);
        period[device].n++;
        period[device].best = error32;
        if (is_new)
            period[device].since = before;
    }
    hu_unlock(&clocks);
}

static void read_timer(uint32_t device, hu_cl_device handle)
{
    int32_t (*below)(hu_cl_device, uint64_t *, uint64_t *);
    uint64_t         best[3] = {0, 0, UINT64_MAX}, device_ns, host_ns;
    hu_opencl_facts *facts = hu_cl_facts();

    memcpy(&below, &hu_cl_next[HU_CL_AT_GetDeviceAndHostTimer], sizeof below);
    for (int i = 0; below && i < READS; i++) {
        const uint64_t before = hu_ticks();
        const int32_t  code = below(handle, &device_ns, &host_ns);
        const uint64_t after = hu_ticks();

        if (code != HU_CL_SUCCESS)
            return;
        if (after - before < best[2] - best[0]) {
            best[0] = before;
            best[1] = device_ns;
            best[2] = after;
        }
    }
    if (best[2] == UINT64_MAX)
        return;
    if (facts && device < HU_OPENCL_DEVICES)
        facts->has_timer |= 1u << device;
    hu_cl_clock_take(device, best[0], best[1], best[2]);
}

/* devices */

static uint64_t device_info(hu_cl_device device, uint32_t what, size_t bytes)
{
    int32_t (*below)(hu_cl_device, uint32_t, size_t, void *, size_t *);
    uint64_t value = 0;

    memcpy(&below, &hu_cl_next[HU_CL_AT_GetDeviceInfo], sizeof below);
    return below(device, what, bytes, &value, NULL) == HU_CL_SUCCESS ? value : 0;
}

static void describe(hu_cl_device handle, hu_opencl_device *out)
{
    int32_t (*below)(hu_cl_device, uint32_t, size_t, void *, size_t *);
    char name[512] = "";

    memcpy(&below, &hu_cl_next[HU_CL_AT_GetDeviceInfo], sizeof below);
    out->type = (uint32_t)device_info(handle, HU_CL_DEVICE_TYPE, 8);
    out->units = (uint32_t)device_info(handle, HU_CL_DEVICE_MAX_COMPUTE_UNITS, 4);
    out->memory_bytes = device_info(handle, HU_CL_DEVICE_GLOBAL_MEM_SIZE, 8);
    out->profiles = (uint32_t)device_info(handle, HU_CL_DEVICE_PROFILING_TIMER_RESOLUTION, sizeof(size_t));
    out->is_part = device_info(handle, HU_CL_DEVICE_PARENT_DEVICE, sizeof(void *)) != 0;
    if (below(handle, HU_CL_DEVICE_NAME, sizeof name, name, NULL) == HU_CL_SUCCESS) {
        name[sizeof name - 1] = '\0';
        memcpy(out->name, name, strnlen(name, sizeof out->name - 1));
    }
}

/* Its place; under `lock`. */
static uint32_t device_of(hu_cl_device handle)
{
    hu_opencl_facts *facts = hu_cl_facts();
    uint32_t         n = facts ? facts->n_devices : 0;

    for (uint32_t i = 0; i < n && i < HU_OPENCL_DEVICES; i++)
        if (devices[i] == handle)
            return i;
    if (!facts || n >= HU_OPENCL_DEVICES)
        return HU_OPENCL_DEVICES - 1;
    devices[n] = handle;
    describe(handle, &facts->devices[n]);
    __atomic_store_n(&facts->n_devices, n + 1, __ATOMIC_RELEASE);
    return n;
}

/* queues */

static hu_cl_queue_facts *row_of(hu_cl_queue queue)
{
    return &queues[((uint64_t)(uintptr_t)queue * 0x9e3779b97f4a7c15u >> 56) * WAYS];
}

static hu_cl_queue_facts *find(hu_cl_queue queue)
{
    hu_cl_queue_facts *row = row_of(queue);

    for (int i = 0; queue && i < WAYS; i++)
        if (__atomic_load_n(&row[i].handle, __ATOMIC_ACQUIRE) == queue)
            return &row[i];
    return NULL;
}

static void know(hu_cl_queue handle, hu_cl_queue_facts f)
{
    hu_cl_queue_facts *row = row_of(handle), *at = find(handle);

    for (int i = 0; !at && i < WAYS; i++)
        at = row[i].handle ? NULL : &row[i];
    for (int i = 0; i < WAYS && !find(handle); i++)
        at = !at || (at->handle && row[i].number < at->number) ? &row[i] : at;
    f.number = __atomic_add_fetch(&n_queues, 1, __ATOMIC_RELAXED);
    f.handle = NULL;
    __atomic_store_n(&at->handle, NULL, __ATOMIC_RELEASE);
    *at = f;
    __atomic_store_n(&at->handle, handle, __ATOMIC_RELEASE);
}

bool hu_cl_queue_find(hu_cl_queue queue, hu_cl_queue_facts *out)
{
    const hu_cl_queue_facts *at = find(queue);

    if (at)
        *out = *at;
    return at != NULL;
}

static void created(hu_cl_queue handle, hu_cl_device device, hu_cl_queue_facts *f)
{
    hu_thread.inside++;
    if (hu_lock(&lock)) {
        f->device = device_of(device);
        know(handle, *f);
        hu_unlock(&lock);
        read_timer(f->device, device);
    }
    hu_thread.inside--;
}

void hu_cl_queues_forked(void)
{
    lock = clocks = 0;
    memset(period, 0, sizeof period);
    if (n_queues) /* else its pages were never touched; they know places of devices in the parent's ring */
        memset(queues, 0, sizeof queues);
    n_queues = 0;
}

/* what the program asks of queues */

static hu_cl_queue create_queue(hu_cl_context context, hu_cl_device device, uint64_t properties, int32_t *code)
{
    __typeof__(create_queue) *const below = HU_CL_BELOW(CreateCommandQueue, create_queue);
    hu_cl_queue_facts               f = {.is_unordered = properties & HU_CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
                                         .is_ours = !(properties & HU_CL_QUEUE_PROFILING_ENABLE),
                                         .is_profiled = true};
    int32_t                         own = HU_CL_SUCCESS;
    hu_cl_queue                     queue = below(context, device, properties | HU_CL_QUEUE_PROFILING_ENABLE, &own);

    if (!queue && f.is_ours) { /* as the program would have had it, errors too */
        f.is_ours = f.is_profiled = false;
        queue = below(context, device, properties, &own);
    }
    if (queue)
        created(queue, device, &f);
    if (code)
        *code = own;
    return queue;
}

static hu_cl_queue create_queue_with(hu_cl_context context, hu_cl_device device, const uint64_t *list, int32_t *code)
{
    __typeof__(create_queue_with) *const below = HU_CL_BELOW(CreateCommandQueueWithProperties, create_queue_with);
    hu_cl_queue_facts                    f = {.is_profiled = true, .is_ours = true};
    uint64_t                             with[HU_COUNT(f.properties) + 2], bits = 0;
    uint32_t                             n = 0, at = UINT32_MAX;
    int32_t                              own = HU_CL_SUCCESS;
    hu_cl_queue                          queue = NULL;

    for (; list && list[n] && n + 2 < HU_COUNT(f.properties); n += 2) {
        with[n] = f.properties[n] = list[n];
        with[n + 1] = f.properties[n + 1] = list[n + 1];
        at = list[n] == HU_CL_QUEUE_PROPERTIES ? n + 1 : at;
    }
    bits = at == UINT32_MAX ? 0 : with[at];
    f.is_unordered = bits & HU_CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    f.is_ours = !(bits & HU_CL_QUEUE_PROFILING_ENABLE);
    f.n_properties = list ? n + 1 : 0;
    if (at == UINT32_MAX) {
        with[n] = HU_CL_QUEUE_PROPERTIES;
        at = n + 1;
    }
    with[at] = bits | HU_CL_QUEUE_PROFILING_ENABLE;
    with[at >= n ? n + 2 : n] = 0;
    f.properties[n] = 0;
    if (f.is_ours && !(bits & HU_CL_QUEUE_ON_DEVICE) && (!list || !list[n])) /* a longer list stays as it is */
        queue = below(context, device, with, &own);
    if (!queue) {
        f.is_profiled = !f.is_ours;
        f.is_ours = false;
        queue = below(context, device, list, &own);
    }
    if (queue)
        created(queue, device, &f);
    if (code)
        *code = own;
    return queue;
}

static int32_t queue_info(hu_cl_queue queue, uint32_t what, size_t room, void *value, size_t *bytes)
{
    __typeof__(queue_info) *const below = HU_CL_BELOW(GetCommandQueueInfo, queue_info);
    const int32_t                 code = below(queue, what, room, value, bytes);
    const hu_cl_queue_facts      *f = find(queue);
    const size_t                  own = f ? f->n_properties * sizeof *f->properties : 0;

    if (!f || !f->is_ours || (what != HU_CL_QUEUE_PROPERTIES && what != HU_CL_QUEUE_PROPERTIES_ARRAY))
        return code;
    if (what == HU_CL_QUEUE_PROPERTIES) {
        if (code == HU_CL_SUCCESS && value && room >= sizeof(uint64_t))
            *(uint64_t *)value &= ~(uint64_t)HU_CL_QUEUE_PROFILING_ENABLE;
        return code;
    }
    /* the list: what is below may have found too little room for ours, where the program's fits */
    if (code != HU_CL_SUCCESS && code != HU_CL_INVALID_VALUE)
        return code;
    if (below(queue, what, 0, NULL, NULL) != HU_CL_SUCCESS || (value && room < own))
        return HU_CL_INVALID_VALUE;
    if (value && own)
        memcpy(value, f->properties, own);
    if (bytes)
        *bytes = own;
    return HU_CL_SUCCESS;
}

/* OpenCL 1.0 could switch profiling on and off; it stays on. */
static int32_t set_property(hu_cl_queue queue, uint64_t properties, uint32_t is_on, uint64_t *before)
{
    __typeof__(set_property) *const below = HU_CL_BELOW(SetCommandQueueProperty, set_property);
    hu_cl_queue_facts              *f = find(queue);
    const int32_t code = below(queue, f && !is_on ? properties & ~(uint64_t)HU_CL_QUEUE_PROFILING_ENABLE : properties, is_on,
                               before);

    if (code != HU_CL_SUCCESS || !f)
        return code;
    if (before && f->is_ours)
        *before &= ~(uint64_t)HU_CL_QUEUE_PROFILING_ENABLE;
    if (properties & HU_CL_QUEUE_PROFILING_ENABLE)
        f->is_ours = !is_on;
    if (properties & HU_CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        f->is_unordered = is_on != 0;
    return code;
}

/* what it asks of events */

static int32_t event_info(hu_cl_event event, uint32_t what, size_t room, void *value, size_t *bytes)
{
    __typeof__(event_info) *const below = HU_CL_BELOW(GetEventInfo, event_info);
    const bool                    is_held = what == HU_CL_EVENT_REFERENCE_COUNT && hu_cl_commands_hold(event);
    const int32_t                 code = below(event, what, room, value, bytes);

    if (code == HU_CL_SUCCESS && is_held && value && room >= sizeof(uint32_t) && *(uint32_t *)value > 1)
        --*(uint32_t *)value;
    return code;
}

/* Times that the program did not ask for are not there. */
static int32_t profiling_info(hu_cl_event event, uint32_t what, size_t room, void *value, size_t *bytes)
{
    __typeof__(profiling_info) *const below = HU_CL_BELOW(GetEventProfilingInfo, profiling_info);
    hu_cl_queue                       queue = NULL;
    const hu_cl_queue_facts          *f;
    int32_t                           code;

    code = HU_CL_BELOW(GetEventInfo, event_info)(event, HU_CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL);
    f = code == HU_CL_SUCCESS ? find(queue) : NULL;
    if (!f || !f->is_ours)
        return below(event, what, room, value, bytes);
    code = below(event, what, 0, NULL, NULL);
    return code == HU_CL_SUCCESS ? HU_CL_PROFILING_INFO_NOT_AVAILABLE : code;
}

/* As in opencl_calls.c. */
/* clang-format off */
#define OUR_CALLS(P) \
    P(CreateCommandQueue, create_queue) P(CreateCommandQueueWithProperties, create_queue_with) \
    P(GetCommandQueueInfo, queue_info) P(SetCommandQueueProperty, set_property) P(GetEventInfo, event_info) \
    P(GetEventProfilingInfo, profiling_info)
/* clang-format on */

static void put(hu_cl_function **table, int at, const void *function)
{
    if (table[at])
        memcpy(&table[at], function, sizeof *table);
}

void hu_cl_queues_fill(hu_cl_function **table)
{
#define P(name, function) put(table, HU_CL_AT_##name, &(__typeof__(function) *){function});
    OUR_CALLS(P)
#undef P
}
