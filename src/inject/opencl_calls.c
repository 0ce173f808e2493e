/* SPDX-License-Identifier: Apache-2.0
 * opencl_calls.c - the program's calls: each leads on to the next layer, and is recorded when it has returned.
 *
 * A call that enqueues gets an event where the program asks for none.  Errors, events and results are those of the next
 * layer; what it refused has no command.  The wait list is read before the call: the program may have its event written into
 * that very list.
 */
#include "inject/opencl.h"

#include <string.h>

#include "inject/sys.h"
#include "base/banned.h"

enum { MOST_WAITS = 180, EACH_WAIT = 3 };

/* A call on its way. */
typedef struct {
    uint64_t          began;
    uint32_t          number, flags;
    uint32_t          n_waits;
    uint64_t          waits[MOST_WAITS];
    hu_cl_queue_facts queue; /* .number 0: none, or not known */
    hu_cl_event       own;   /* where the program wants no event */
    bool              is_on, is_programs;
} call;

/* A name of ours, which keeps its number in this process and its forks. */
static uint32_t name_of(uint32_t *id, const char *text)
{
    uint32_t there = __atomic_load_n(id, __ATOMIC_RELAXED);

    if (!there) {
        there = hu_string_as_is(text, strlen(text));
        __atomic_store_n(id, there, __ATOMIC_RELAXED);
    }
    return there;
}

static void add_waits(call *c, uint32_t n, const hu_cl_event *events)
{
    hu_opencl_facts *facts = hu_cl_facts();

    for (uint32_t i = 0; events && i < n && c->n_waits < MOST_WAITS; i++) {
        const uint64_t number = hu_cl_commands_find(events[i]);

        if (number && number != (uint32_t)HU_CL_USER)
            c->waits[c->n_waits++] = number;
        else if (facts)
            __atomic_fetch_add(number ? &facts->users : &facts->strange, 1, __ATOMIC_RELAXED);
    }
}

static bool begin(call *c, hu_cl_queue queue, uint32_t n, const hu_cl_event *events, uint32_t flags)
{
    c->is_on = hu_cl_is_recorded();
    if (!c->is_on)
        return false;
    c->n_waits = 0;
    c->queue.number = 0;
    c->queue.is_profiled = c->queue.is_unordered = false;
    c->number = hu_cl_number();
    c->flags = flags;
    c->own = NULL;
    if (queue && !hu_cl_queue_find(queue, &c->queue))
        c->queue.number = 0;
    if (c->queue.is_unordered)
        c->flags |= HU_OPENCL_UNORDERED;
    if (!queue || c->queue.number) /* of what is no queue, nothing was checked */
        add_waits(c, n, events);
    c->began = hu_ticks();
    return true;
}

/* The event that a call that enqueues is to give. */
static hu_cl_event *event_for(call *c, hu_cl_event *programs)
{
    c->is_programs = programs != NULL;
    return programs || !c->is_on ? programs : &c->own;
}

static void put_call(const call *c, uint32_t name, int32_t code, uint64_t now, uint64_t bytes)
{
    const uint32_t n_more = (c->n_waits + EACH_WAIT - 1) / EACH_WAIT + (c->queue.number != 0);
    hu_record     *r = hu_ring_take(1 + n_more), *m = r;

    if (!r)
        return;
    if (c->queue.number)
        hu_ring_more(++m, c->queue.number, HU_MORE_OPENCL_QUEUE, bytes == UINT64_MAX ? 0 : bytes);
    for (uint32_t i = 0; i < c->n_waits; i += EACH_WAIT) {
        const uint32_t n = c->n_waits - i < EACH_WAIT ? c->n_waits - i : EACH_WAIT;

        hu_ring_more(++m, n, HU_MORE_OPENCL_WAIT, n > 1 ? c->waits[i + 1] : 0);
        m->time = c->waits[i];
        m->b = n > 2 ? c->waits[i + 2] : 0;
    }
    r->time = c->began;
    r->id = name;
    r->aux = (uint16_t)(HU_OPENCL_CALL | c->flags);
    r->a = now - c->began;
    r->b = c->number | (uint64_t)(uint32_t)code << 32;
    hu_ring_publish(r, HU_RECORD_OPENCL);
}

/* A call without a command. */
static void end(const call *c, uint32_t *id, const char *name, int32_t code)
{
    if (c->is_on)
        put_call(c, name_of(id, name), code, hu_ticks(), UINT64_MAX);
}

/* What a command is; its name where it has no other. */
typedef struct {
    hu_opencl_kind kind;
    uint32_t       name;
    uint64_t       bytes;
    uint32_t       dimensions, global[3], local[3];
} work;

static void enqueued(call *c, uint32_t *id, const char *name, int32_t code, hu_cl_event *event, const work *w)
{
    const uint64_t now = c->is_on ? hu_ticks() : 0;
    hu_cl_command  command;

    if (!c->is_on)
        return;
    c->flags |= code == HU_CL_SUCCESS ? (uint32_t)HU_OPENCL_ENQUEUES : 0;
    put_call(c, name_of(id, name), code, now, w->bytes);
    if (code != HU_CL_SUCCESS || !event || !*event)
        return;
    command = (hu_cl_command){.began = c->began,
                              .returned = now,
                              .bytes = w->bytes,
                              .event = *event,
                              .number = c->number,
                              .name = w->name,
                              .flags = c->flags & (HU_OPENCL_UNORDERED | HU_OPENCL_ORDERS | HU_OPENCL_BLOCKS),
                              .kind = w->kind,
                              .queue = c->queue.number,
                              .device = c->queue.device,
                              .dimensions = w->dimensions,
                              .is_profiled = c->queue.number && c->queue.is_profiled,
                              .is_programs = c->is_programs};
    memcpy(command.global, w->global, sizeof command.global);
    memcpy(command.local, w->local, sizeof command.local);
    hu_cl_commands_add(&command);
}

/* kernels */

static uint32_t kernel_name(hu_cl_kernel kernel)
{
    int32_t (*below)(hu_cl_kernel, uint32_t, size_t, void *, size_t *);
    char   name[512];
    size_t n = 0;

    memcpy(&below, &hu_cl_next[HU_CL_AT_GetKernelInfo], sizeof below);
    if (below(kernel, HU_CL_KERNEL_FUNCTION_NAME, sizeof name, name, &n) != HU_CL_SUCCESS)
        return hu_string_as_is("kernel", 6);
    return hu_string_as_is(name, strnlen(name, sizeof name));
}

static uint32_t size32(size_t n)
{
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static int32_t enqueue_kernel(hu_cl_queue queue, hu_cl_kernel kernel, uint32_t dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, uint32_t n, const hu_cl_event *list,
                              hu_cl_event *event)
{
    __typeof__(enqueue_kernel) *const below = HU_CL_BELOW(EnqueueNDRangeKernel, enqueue_kernel);
    static uint32_t                   id;
    call                              c;
    int32_t                           code;
    work                              w;

    if (!begin(&c, queue, n, list, 0))
        return below(queue, kernel, dimensions, offset, global, local, n, list, event);
    event = event_for(&c, event);
    code = below(queue, kernel, dimensions, offset, global, local, n, list, event);
    w = (work){.kind = HU_OPENCL_KERNEL, .bytes = UINT64_MAX, .dimensions = dimensions};
    for (uint32_t i = 0; i < 3 && code == HU_CL_SUCCESS; i++) {
        w.global[i] = i < dimensions && global ? size32(global[i]) : 1;
        w.local[i] = local ? i < dimensions ? size32(local[i]) : 1 : 0;
    }
    w.name = code == HU_CL_SUCCESS ? kernel_name(kernel) : 0;
    enqueued(&c, &id, "clEnqueueNDRangeKernel", code, event, &w);
    return code;
}

static int32_t enqueue_task(hu_cl_queue queue, hu_cl_kernel kernel, uint32_t n, const hu_cl_event *list, hu_cl_event *event)
{
    __typeof__(enqueue_task) *const below = HU_CL_BELOW(EnqueueTask, enqueue_task);
    static uint32_t                 id;
    call                            c;
    int32_t                         code;
    work                            w;

    if (!begin(&c, queue, n, list, 0))
        return below(queue, kernel, n, list, event);
    event = event_for(&c, event);
    code = below(queue, kernel, n, list, event);
    w = (work){.kind = HU_OPENCL_KERNEL, .bytes = UINT64_MAX, .dimensions = 1, .global = {1, 1, 1}, .local = {1, 1, 1}};
    w.name = code == HU_CL_SUCCESS ? kernel_name(kernel) : 0;
    enqueued(&c, &id, "clEnqueueTask", code, event, &w);
    return code;
}

/*
 * The others have one form: ENQUEUE(our function, its name, kind, words of its command, is it blocking, bytes, parameters
 * between the queue and the wait list, the same as arguments).  Directions are written as all profilers write them.
 */
#define ENQUEUE(function, called, kind_, words, blocks, bytes_, parameters, arguments)                                    \
    static int32_t function(hu_cl_queue queue, PARAMETERS parameters, uint32_t n, const hu_cl_event *list,                \
                            hu_cl_event *event)                                                                           \
    {                                                                                                                     \
        __typeof__(function) *const below = HU_CL_BELOW(called, function);                                                \
        static uint32_t             id, command, blocking;                                                                \
        const bool                  is_blocking = (blocks);                                                               \
        call                        c;                                                                                    \
        int32_t                     code;                                                                                 \
                                                                                                                          \
        if (!begin(&c, queue, n, list, is_blocking ? HU_OPENCL_BLOCKS : 0))                                               \
            return below(queue, PARAMETERS arguments, n, list, event);                                                    \
        event = event_for(&c, event);                                                                                     \
        code = below(queue, PARAMETERS arguments, n, list, event);                                                        \
        enqueued(&c, is_blocking ? &blocking : &id, is_blocking ? "cl" #called " (blocking)" : "cl" #called, code, event, \
                 &(work){.kind = (kind_),                                                                                 \
                         .bytes = code == HU_CL_SUCCESS ? (bytes_) : UINT64_MAX,                                          \
                         .name = name_of(&command, words)});                                                              \
        return code;                                                                                                      \
    }

#define PARAMETERS(...) __VA_ARGS__

static uint64_t volume(const size_t *region)
{
    return region ? (uint64_t)region[0] * region[1] * region[2] : UINT64_MAX;
}

/* Bytes of a part of an image. */
static uint64_t image_bytes(hu_cl_memory image, const size_t *region)
{
    int32_t (*below)(hu_cl_memory, uint32_t, size_t, void *, size_t *);
    size_t element = 0;

    memcpy(&below, &hu_cl_next[HU_CL_AT_GetImageInfo], sizeof below);
    if (!region || !image || below(image, HU_CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL) != HU_CL_SUCCESS)
        return UINT64_MAX;
    return volume(region) * element;
}

#define RECT(host_pointer)                                                                                               \
    (hu_cl_memory buffer, uint32_t blocking_, const size_t *at, const size_t *host_at, const size_t *region, size_t row, \
     size_t slice, size_t host_row, size_t host_slice, host_pointer host)
#define RECT_ARGUMENTS (buffer, blocking_, at, host_at, region, row, slice, host_row, host_slice, host)

ENQUEUE(read_buffer, EnqueueReadBuffer, HU_OPENCL_COPY, "Memcpy DtoH (read buffer)", blocking_, bytes,
        (hu_cl_memory buffer, uint32_t blocking_, size_t at, size_t bytes, void *to), (buffer, blocking_, at, bytes, to))
ENQUEUE(write_buffer, EnqueueWriteBuffer, HU_OPENCL_COPY, "Memcpy HtoD (write buffer)", blocking_, bytes,
        (hu_cl_memory buffer, uint32_t blocking_, size_t at, size_t bytes, const void *from),
        (buffer, blocking_, at, bytes, from))
ENQUEUE(copy_buffer, EnqueueCopyBuffer, HU_OPENCL_COPY, "Memcpy DtoD (copy buffer)", false, bytes,
        (hu_cl_memory from, hu_cl_memory to, size_t from_at, size_t to_at, size_t bytes), (from, to, from_at, to_at, bytes))
ENQUEUE(read_image, EnqueueReadImage, HU_OPENCL_COPY, "Memcpy DtoH (read image)", blocking_, image_bytes(image, region),
        (hu_cl_memory image, uint32_t blocking_, const size_t *at, const size_t *region, size_t row, size_t slice, void *to),
        (image, blocking_, at, region, row, slice, to))
ENQUEUE(write_image, EnqueueWriteImage, HU_OPENCL_COPY, "Memcpy HtoD (write image)", blocking_, image_bytes(image, region),
        (hu_cl_memory image, uint32_t blocking_, const size_t *at, const size_t *region, size_t row, size_t slice,
         const void *from),
        (image, blocking_, at, region, row, slice, from))
ENQUEUE(copy_image, EnqueueCopyImage, HU_OPENCL_COPY, "Memcpy DtoD (copy image)", false, image_bytes(from, region),
        (hu_cl_memory from, hu_cl_memory to, const size_t *from_at, const size_t *to_at, const size_t *region),
        (from, to, from_at, to_at, region))
ENQUEUE(image_to_buffer, EnqueueCopyImageToBuffer, HU_OPENCL_COPY, "Memcpy DtoD (image to buffer)", false,
        image_bytes(from, region),
        (hu_cl_memory from, hu_cl_memory to, const size_t *from_at, const size_t *region, size_t to_at),
        (from, to, from_at, region, to_at))
ENQUEUE(buffer_to_image, EnqueueCopyBufferToImage, HU_OPENCL_COPY, "Memcpy DtoD (buffer to image)", false,
        image_bytes(to, region),
        (hu_cl_memory from, hu_cl_memory to, size_t from_at, const size_t *to_at, const size_t *region),
        (from, to, from_at, to_at, region))
ENQUEUE(read_rect, EnqueueReadBufferRect, HU_OPENCL_COPY, "Memcpy DtoH (read buffer)", blocking_, volume(region),
        RECT(void *), RECT_ARGUMENTS)
ENQUEUE(write_rect, EnqueueWriteBufferRect, HU_OPENCL_COPY, "Memcpy HtoD (write buffer)", blocking_, volume(region),
        RECT(const void *), RECT_ARGUMENTS)
ENQUEUE(copy_rect, EnqueueCopyBufferRect, HU_OPENCL_COPY, "Memcpy DtoD (copy buffer)", false, volume(region),
        (hu_cl_memory from, hu_cl_memory to, const size_t *from_at, const size_t *to_at, const size_t *region,
         size_t from_row, size_t from_slice, size_t to_row, size_t to_slice),
        (from, to, from_at, to_at, region, from_row, from_slice, to_row, to_slice))
ENQUEUE(fill_buffer, EnqueueFillBuffer, HU_OPENCL_FILL, "Memset (fill buffer)", false, bytes,
        (hu_cl_memory buffer, const void *pattern, size_t pattern_bytes, size_t at, size_t bytes),
        (buffer, pattern, pattern_bytes, at, bytes))
ENQUEUE(fill_image, EnqueueFillImage, HU_OPENCL_FILL, "Memset (fill image)", false, image_bytes(image, region),
        (hu_cl_memory image, const void *color, const size_t *at, const size_t *region), (image, color, at, region))
ENQUEUE(unmap, EnqueueUnmapMemObject, HU_OPENCL_MAP, "Memcpy HtoD (unmap)", false, UINT64_MAX,
        (hu_cl_memory memory, void *mapped), (memory, mapped))
ENQUEUE(migrate, EnqueueMigrateMemObjects, HU_OPENCL_MAP, "Memcpy HtoD (migrate)", false, UINT64_MAX,
        (uint32_t n_objects, const hu_cl_memory *objects, uint64_t flags), (n_objects, objects, flags))
ENQUEUE(native_kernel, EnqueueNativeKernel, HU_OPENCL_KERNEL, "native kernel", false, UINT64_MAX,
        (void (*function)(void *), void *args, size_t args_bytes, uint32_t n_objects, const hu_cl_memory *objects,
         const void **places),
        (function, args, args_bytes, n_objects, objects, places))
ENQUEUE(svm_free_later, EnqueueSVMFree, HU_OPENCL_MARKER, "SVM free", false, UINT64_MAX,
        (uint32_t n_pointers, void **pointers, void (*function)(hu_cl_queue, uint32_t, void **, void *), void *user),
        (n_pointers, pointers, function, user))
ENQUEUE(svm_map, EnqueueSVMMap, HU_OPENCL_MAP, "Memcpy DtoH (map SVM)", blocking_, bytes,
        (uint32_t blocking_, uint64_t flags, void *memory, size_t bytes), (blocking_, flags, memory, bytes))
ENQUEUE(svm_unmap, EnqueueSVMUnmap, HU_OPENCL_MAP, "Memcpy HtoD (unmap SVM)", false, UINT64_MAX, (void *memory), (memory))
ENQUEUE(svm_copy, EnqueueSVMMemcpy, HU_OPENCL_COPY, "Memcpy DtoD (SVM)", blocking_, bytes,
        (uint32_t blocking_, void *to, const void *from, size_t bytes), (blocking_, to, from, bytes))
ENQUEUE(svm_fill, EnqueueSVMMemFill, HU_OPENCL_FILL, "Memset (SVM)", false, bytes,
        (void *memory, const void *pattern, size_t pattern_bytes, size_t bytes), (memory, pattern, pattern_bytes, bytes))
ENQUEUE(svm_migrate, EnqueueSVMMigrateMem, HU_OPENCL_MAP, "Memcpy HtoD (migrate SVM)", false, UINT64_MAX,
        (uint32_t n_pointers, const void **pointers, const size_t *sizes, uint64_t flags),
        (n_pointers, pointers, sizes, flags))

/* Maps return what they map; the code comes through a pointer. */
static void *map_buffer(hu_cl_queue queue, hu_cl_memory buffer, uint32_t blocks, uint64_t flags, size_t at, size_t bytes,
                        uint32_t n, const hu_cl_event *list, hu_cl_event *event, int32_t *code)
{
    __typeof__(map_buffer) *const below = HU_CL_BELOW(EnqueueMapBuffer, map_buffer);
    static uint32_t               id, blocking, command;
    int32_t                       own = HU_CL_SUCCESS;
    call                          c;
    void                         *mapped;

    if (!begin(&c, queue, n, list, blocks ? HU_OPENCL_BLOCKS : 0))
        return below(queue, buffer, blocks, flags, at, bytes, n, list, event, code);
    event = event_for(&c, event);
    mapped = below(queue, buffer, blocks, flags, at, bytes, n, list, event, &own);
    enqueued(&c, blocks ? &blocking : &id, blocks ? "clEnqueueMapBuffer (blocking)" : "clEnqueueMapBuffer", own, event,
             &(work){.kind = HU_OPENCL_MAP, .bytes = bytes, .name = name_of(&command, "Memcpy DtoH (map buffer)")});
    if (code)
        *code = own;
    return mapped;
}

static void *map_image(hu_cl_queue queue, hu_cl_memory image, uint32_t blocks, uint64_t flags, const size_t *at,
                       const size_t *region, size_t *row, size_t *slice, uint32_t n, const hu_cl_event *list,
                       hu_cl_event *event, int32_t *code)
{
    __typeof__(map_image) *const below = HU_CL_BELOW(EnqueueMapImage, map_image);
    static uint32_t              id, blocking, command;
    int32_t                      own = HU_CL_SUCCESS;
    call                         c;
    void                        *mapped;

    if (!begin(&c, queue, n, list, blocks ? HU_OPENCL_BLOCKS : 0))
        return below(queue, image, blocks, flags, at, region, row, slice, n, list, event, code);
    event = event_for(&c, event);
    mapped = below(queue, image, blocks, flags, at, region, row, slice, n, list, event, &own);
    enqueued(&c, blocks ? &blocking : &id, blocks ? "clEnqueueMapImage (blocking)" : "clEnqueueMapImage", own, event,
             &(work){.kind = HU_OPENCL_MAP,
                     .bytes = own == HU_CL_SUCCESS ? image_bytes(image, region) : UINT64_MAX,
                     .name = name_of(&command, "Memcpy DtoH (map image)")});
    if (code)
        *code = own;
    return mapped;
}

/* markers and barriers: no work, but an order */

static int32_t marker_with(hu_cl_queue queue, uint32_t n, const hu_cl_event *list, hu_cl_event *event)
{
    __typeof__(marker_with) *const below = HU_CL_BELOW(EnqueueMarkerWithWaitList, marker_with);
    static uint32_t                id, command;
    call                           c;
    int32_t                        code;

    if (!begin(&c, queue, n, list, 0))
        return below(queue, n, list, event);
    c.is_programs = event != NULL;
    code = below(queue, n, list, event);
    enqueued(&c, &id, "clEnqueueMarkerWithWaitList", code, event,
             &(work){.kind = HU_OPENCL_MARKER, .bytes = UINT64_MAX, .name = name_of(&command, "marker")});
    return code;
}

static int32_t barrier_with(hu_cl_queue queue, uint32_t n, const hu_cl_event *list, hu_cl_event *event)
{
    __typeof__(barrier_with) *const below = HU_CL_BELOW(EnqueueBarrierWithWaitList, barrier_with);
    static uint32_t                 id, command;
    call                            c;
    int32_t                         code;

    if (!begin(&c, queue, n, list, HU_OPENCL_ORDERS))
        return below(queue, n, list, event);
    c.is_programs = event != NULL;
    code = below(queue, n, list, event);
    enqueued(&c, &id, "clEnqueueBarrierWithWaitList", code, event,
             &(work){.kind = HU_OPENCL_MARKER, .bytes = UINT64_MAX, .name = name_of(&command, "barrier")});
    return code;
}

static int32_t marker(hu_cl_queue queue, hu_cl_event *event)
{
    __typeof__(marker) *const below = HU_CL_BELOW(EnqueueMarker, marker);
    static uint32_t           id, command;
    call                      c;
    int32_t                   code;

    if (!begin(&c, queue, 0, NULL, 0))
        return below(queue, event);
    c.is_programs = event != NULL;
    code = below(queue, event);
    enqueued(&c, &id, "clEnqueueMarker", code, event,
             &(work){.kind = HU_OPENCL_MARKER, .bytes = UINT64_MAX, .name = name_of(&command, "marker")});
    return code;
}

static int32_t barrier(hu_cl_queue queue)
{
    __typeof__(barrier) *const below = HU_CL_BELOW(EnqueueBarrier, barrier);
    static uint32_t            id;
    call                       c;
    const bool                 is_on = begin(&c, queue, 0, NULL, HU_OPENCL_ORDERS);
    const int32_t              code = below(queue);

    if (is_on)
        enqueued(&c, &id, "clEnqueueBarrier", code, NULL, &(work){.kind = HU_OPENCL_MARKER, .bytes = UINT64_MAX});
    return code;
}

static int32_t enqueue_waits(hu_cl_queue queue, uint32_t n, const hu_cl_event *list)
{
    __typeof__(enqueue_waits) *const below = HU_CL_BELOW(EnqueueWaitForEvents, enqueue_waits);
    static uint32_t                  id;
    call                             c;
    const bool                       is_on = begin(&c, queue, n, list, HU_OPENCL_ORDERS);
    const int32_t                    code = below(queue, n, list);

    if (is_on)
        enqueued(&c, &id, "clEnqueueWaitForEvents", code, NULL, &(work){.kind = HU_OPENCL_MARKER, .bytes = UINT64_MAX});
    return code;
}

/* calls that wait, and others that take their time */

static int32_t finish(hu_cl_queue queue)
{
    __typeof__(finish) *const below = HU_CL_BELOW(Finish, finish);
    static uint32_t           id;
    call                      c;
    const bool                is_on = begin(&c, queue, 0, NULL, HU_OPENCL_WAITS_QUEUE);
    const int32_t             code = below(queue);

    if (is_on)
        end(&c, &id, "clFinish", code);
    return code;
}

static int32_t wait_for_events(uint32_t n, const hu_cl_event *list)
{
    __typeof__(wait_for_events) *const below = HU_CL_BELOW(WaitForEvents, wait_for_events);
    static uint32_t                    id;
    call                               c;
    const bool                         is_on = begin(&c, NULL, n, list, HU_OPENCL_WAITS_EVENTS);
    const int32_t                      code = below(n, list);

    if (is_on)
        end(&c, &id, "clWaitForEvents", code);
    return code;
}

static int32_t flush(hu_cl_queue queue)
{
    __typeof__(flush) *const below = HU_CL_BELOW(Flush, flush);
    static uint32_t          id;
    call                     c;
    const bool               is_on = begin(&c, queue, 0, NULL, 0);
    const int32_t            code = below(queue);

    if (is_on)
        end(&c, &id, "clFlush", code);
    return code;
}

static int32_t release_queue(hu_cl_queue queue)
{
    __typeof__(release_queue) *const below = HU_CL_BELOW(ReleaseCommandQueue, release_queue);
    static uint32_t                  id;
    call                             c;
    const bool                       is_on = begin(&c, queue, 0, NULL, 0);
    const int32_t                    code = below(queue);

    if (is_on)
        end(&c, &id, "clReleaseCommandQueue", code);
    return code;
}

static hu_cl_event create_user_event(hu_cl_context context, int32_t *code)
{
    __typeof__(create_user_event) *const below = HU_CL_BELOW(CreateUserEvent, create_user_event);
    const hu_cl_event                    event = below(context, code);

    if (event && hu_cl_is_recorded())
        hu_cl_commands_know(event, (uint32_t)HU_CL_USER);
    return event;
}

static int32_t set_user_event(hu_cl_event event, int32_t status)
{
    __typeof__(set_user_event) *const below = HU_CL_BELOW(SetUserEventStatus, set_user_event);
    static uint32_t                   id;
    call                              c;
    const bool                        is_on = begin(&c, NULL, 0, NULL, 0);
    const int32_t                     code = below(event, status);

    if (is_on)
        end(&c, &id, "clSetUserEventStatus", code);
    return code;
}

/* PLAIN(our function, its name, what it returns, is that a code, flags, parameters, arguments) */
#define PLAIN(function, name, type, code_of, flags_, parameters, arguments)   \
    static type function(PARAMETERS parameters)                               \
    {                                                                         \
        __typeof__(function) *const below = HU_CL_BELOW(name, function);      \
        static uint32_t             id;                                       \
        call                        c;                                        \
        const bool                  is_on = begin(&c, NULL, 0, NULL, flags_); \
        type                        result = below(PARAMETERS arguments);     \
                                                                              \
        if (is_on)                                                            \
            end(&c, &id, "cl" #name, code_of);                                \
        return result;                                                        \
    }

typedef void on_error(const char *, const void *, size_t, void *);
typedef void on_built(hu_cl_program, void *);

PLAIN(create_context, CreateContext, hu_cl_context, result ? 0 : -1, 0,
      (const intptr_t *properties, uint32_t n, const hu_cl_device *devices, on_error *tell, void *user, int32_t *code),
      (properties, n, devices, tell, user, code))
PLAIN(create_context_of_type, CreateContextFromType, hu_cl_context, result ? 0 : -1, 0,
      (const intptr_t *properties, uint64_t type, on_error *tell, void *user, int32_t *code),
      (properties, type, tell, user, code))
PLAIN(release_context, ReleaseContext, int32_t, result, 0, (hu_cl_context context), (context))
PLAIN(create_buffer, CreateBuffer, hu_cl_memory, result ? 0 : -1, 0,
      (hu_cl_context context, uint64_t flags, size_t bytes, void *host, int32_t *code), (context, flags, bytes, host, code))
PLAIN(program_with_source, CreateProgramWithSource, hu_cl_program, result ? 0 : -1, 0,
      (hu_cl_context context, uint32_t n, const char **texts, const size_t *lengths, int32_t *code),
      (context, n, texts, lengths, code))
PLAIN(program_with_binary, CreateProgramWithBinary, hu_cl_program, result ? 0 : -1, 0,
      (hu_cl_context context, uint32_t n, const hu_cl_device *devices, const size_t *lengths, const unsigned char **binaries,
       int32_t *status, int32_t *code),
      (context, n, devices, lengths, binaries, status, code))
PLAIN(program_with_il, CreateProgramWithIL, hu_cl_program, result ? 0 : -1, 0,
      (hu_cl_context context, const void *il, size_t bytes, int32_t *code), (context, il, bytes, code))
PLAIN(build, BuildProgram, int32_t, result, HU_OPENCL_COMPILES,
      (hu_cl_program program, uint32_t n, const hu_cl_device *devices, const char *options, on_built *tell, void *user),
      (program, n, devices, options, tell, user))
PLAIN(compile, CompileProgram, int32_t, result, HU_OPENCL_COMPILES,
      (hu_cl_program program, uint32_t n, const hu_cl_device *devices, const char *options, uint32_t n_headers,
       const hu_cl_program *headers, const char **names, on_built *tell, void *user),
      (program, n, devices, options, n_headers, headers, names, tell, user))
PLAIN(link_programs, LinkProgram, hu_cl_program, result ? 0 : -1, HU_OPENCL_COMPILES,
      (hu_cl_context context, uint32_t n, const hu_cl_device *devices, const char *options, uint32_t n_programs,
       const hu_cl_program *programs, on_built *tell, void *user, int32_t *code),
      (context, n, devices, options, n_programs, programs, tell, user, code))
PLAIN(create_kernel, CreateKernel, hu_cl_kernel, result ? 0 : -1, 0,
      (hu_cl_program program, const char *name, int32_t *code), (program, name, code))
PLAIN(svm_alloc, SVMAlloc, void *, result ? 0 : -1, 0,
      (hu_cl_context context, uint64_t flags, size_t bytes, uint32_t alignment), (context, flags, bytes, alignment))

static void svm_free(hu_cl_context context, void *memory)
{
    __typeof__(svm_free) *const below = HU_CL_BELOW(SVMFree, svm_free);
    static uint32_t             id;
    call                        c;
    const bool                  is_on = begin(&c, NULL, 0, NULL, 0);

    below(context, memory);
    if (is_on)
        end(&c, &id, "clSVMFree", HU_CL_SUCCESS);
}

/* Which of ours stands in the table for which; tests/opencl/check_abi.c compares their types. */
/* clang-format off */
#define OUR_CALLS(P) \
    P(EnqueueNDRangeKernel, enqueue_kernel) P(EnqueueTask, enqueue_task) P(EnqueueReadBuffer, read_buffer) \
    P(EnqueueWriteBuffer, write_buffer) P(EnqueueCopyBuffer, copy_buffer) P(EnqueueReadImage, read_image) \
    P(EnqueueWriteImage, write_image) P(EnqueueCopyImage, copy_image) P(EnqueueCopyImageToBuffer, image_to_buffer) \
    P(EnqueueCopyBufferToImage, buffer_to_image) P(EnqueueReadBufferRect, read_rect) \
    P(EnqueueWriteBufferRect, write_rect) P(EnqueueCopyBufferRect, copy_rect) P(EnqueueFillBuffer, fill_buffer) \
    P(EnqueueFillImage, fill_image) P(EnqueueMapBuffer, map_buffer) P(EnqueueMapImage, map_image) \
    P(EnqueueUnmapMemObject, unmap) P(EnqueueMigrateMemObjects, migrate) P(EnqueueNativeKernel, native_kernel) \
    P(EnqueueSVMFree, svm_free_later) P(EnqueueSVMMap, svm_map) P(EnqueueSVMUnmap, svm_unmap) \
    P(EnqueueSVMMemcpy, svm_copy) P(EnqueueSVMMemFill, svm_fill) P(EnqueueSVMMigrateMem, svm_migrate) \
    P(EnqueueMarkerWithWaitList, marker_with) P(EnqueueBarrierWithWaitList, barrier_with) P(EnqueueMarker, marker) \
    P(EnqueueBarrier, barrier) P(EnqueueWaitForEvents, enqueue_waits) P(Finish, finish) \
    P(WaitForEvents, wait_for_events) P(Flush, flush) P(ReleaseCommandQueue, release_queue) \
    P(CreateUserEvent, create_user_event) P(SetUserEventStatus, set_user_event) P(CreateContext, create_context) \
    P(CreateContextFromType, create_context_of_type) P(ReleaseContext, release_context) \
    P(CreateBuffer, create_buffer) P(CreateProgramWithSource, program_with_source) \
    P(CreateProgramWithBinary, program_with_binary) P(CreateProgramWithIL, program_with_il) P(BuildProgram, build) \
    P(CompileProgram, compile) P(LinkProgram, link_programs) P(CreateKernel, create_kernel) P(SVMAlloc, svm_alloc) \
    P(SVMFree, svm_free)
/* clang-format on */

static void put(hu_cl_function **table, int at, const void *function)
{
    if (table[at])
        memcpy(&table[at], function, sizeof *table);
}

void hu_cl_calls_fill(hu_cl_function **table)
{
#define P(name, function) put(table, HU_CL_AT_##name, &(__typeof__(function) *){function});
    OUR_CALLS(P)
#undef P
}
