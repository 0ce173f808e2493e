/* SPDX-License-Identifier: Apache-2.0
 * annotate.c - the door behind holdup_annotate.h and the Python package: markers become records.
 *
 * A program finds it by the name `holdup_annotate_v1`, once, and calls through the table from then on.  Ranges and
 * steps also go to the gate, which may be closed until one of them opens it (--steps, --capture-range): so a marker
 * first asks whether anybody records or watches, then tells the gate, then asks whether to record.
 */
#define HOLDUP_DISABLE /* the table alone: nothing in here marks itself */
#include "holdup_annotate.h"

#include "inject/pytorch.h"
#include "inject/ring.h"

enum { NO_DOMAIN = 0 };

/* clang-format off */
static const char *const PHASES[] = {
    [HOLDUP_PHASE_DATA] = "data",         [HOLDUP_PHASE_PREPROCESSING] = "preprocessing",
    [HOLDUP_PHASE_TRANSFER] = "transfer", [HOLDUP_PHASE_FORWARD] = "forward",
    [HOLDUP_PHASE_BACKWARD] = "backward", [HOLDUP_PHASE_OPTIMIZER] = "optimizer",
    [HOLDUP_PHASE_CHECKPOINT] = "checkpoint",
};
/* clang-format on */

enum { N_PHASES = sizeof PHASES / sizeof *PHASES };

/* A static constructor that runs before ours asks before it is known whether there is a session: it gets "call", and each
 * function checks the gate again.  Without a session nobody needs to call. */
static const uint32_t always = 1, never = 0;
static bool           is_known; /* main.c's constructor has run */

static uint32_t       phase_ids[N_PHASES]; /* of PHASES; 0: not registered yet */
static int64_t        last_step = -1;
static uint64_t       last_range;                   /* 1, 2, ... in this process */
static const uint64_t OURS = ~(uint64_t)UINT32_MAX; /* of handles; those of NVTX have a text and a domain there */

static bool somebody_cares(void)
{
    return hu_gate_open(HU_DOOR_USER | HU_DOOR_WATCH);
}

static void write_record(hu_record_type type, uint32_t id, uint64_t a, uint64_t b)
{
    hu_record *r;

    if (!hu_gate_open(HU_DOOR_USER))
        return;
    r = hu_ring_take(1);
    if (r == NULL)
        return; /* counted */
    r->time = hu_ticks();
    r->id = id;
    r->aux = NO_DOMAIN;
    r->a = a;
    r->b = b;
    hu_ring_publish(r, type);
}

static uint32_t name(const char *text)
{
    return hu_string_of(text);
}

static void push(uint32_t id)
{
    if (!somebody_cares())
        return;
    hu_gate_push(id, NO_DOMAIN);
    write_record(HU_RECORD_BEGIN, id, 0, 0);
}

static void push_text(const char *text)
{
    if (somebody_cares())
        push(hu_string_of(text));
}

static void pop(void)
{
    if (!somebody_cares())
        return;
    write_record(HU_RECORD_END, 0, 0, 0);
    hu_gate_pop(NO_DOMAIN);
}

static void mark(uint32_t id)
{
    write_record(HU_RECORD_MARK, id, 0, 0);
}

static void step(int64_t number)
{
    if (!somebody_cares())
        return;
    if (number < 0)
        number = __atomic_add_fetch(&last_step, 1, __ATOMIC_RELAXED);
    else
        __atomic_store_n(&last_step, number, __ATOMIC_RELAXED);
    hu_pytorch_give_way();
    hu_gate_step(number);
    write_record(HU_RECORD_STEP, 0, (uint64_t)number, HU_STEP_OF_PROGRAM);
}

static void step_end(void)
{
    if (!somebody_cares())
        return;
    write_record(HU_RECORD_STEP_END, 0, 0, HU_STEP_OF_PROGRAM);
}

static void counter(uint32_t id, double value)
{
    uint64_t bits;

    __builtin_memcpy(&bits, &value, sizeof bits);
    write_record(HU_RECORD_COUNTER, id, bits, 0);
}

static uint64_t start(uint32_t id)
{
    uint64_t handle;

    if (!hu_gate_open(HU_DOOR_USER))
        return 0;
    handle = OURS | (__atomic_add_fetch(&last_range, 1, __ATOMIC_RELAXED) & UINT32_MAX);
    write_record(HU_RECORD_START, id, 0, handle);
    return handle;
}

static void end(uint64_t handle)
{
    if (handle != 0)
        write_record(HU_RECORD_STOP, 0, 0, handle);
}

static void phase_push(uint32_t phase)
{
    uint32_t id;

    if (!somebody_cares())
        return;
    if (phase == 0 || phase >= N_PHASES) { /* of a later header; its pop will come */
        push(0);
        return;
    }
    id = __atomic_load_n(&phase_ids[phase], __ATOMIC_RELAXED);
    if (id == 0) {
        id = hu_string_of(PHASES[phase]);
        __atomic_store_n(&phase_ids[phase], id, __ATOMIC_RELAXED);
    }
    hu_gate_push(id, NO_DOMAIN);
    write_record(HU_RECORD_PHASE, id, 0, 0);
}

__attribute__((constructor(102))) static void load(void)
{
    is_known = true;
}

#define TABLE(word)                                                                                                 \
    {                                                                                                               \
        .size = sizeof(holdup_annotate_api), .version = HOLDUP_ANNOTATE_VERSION, .listening = (word), .name = name, \
        .push = push, .push_text = push_text, .pop = pop, .mark = mark, .step = step, .step_end = step_end,         \
        .counter = counter, .start = start, .end = end, .phase_push = phase_push,                                   \
    }

__attribute__((visibility("default"))) const holdup_annotate_api *holdup_annotate_v1(void);

/* Once a session was joined its control page does not move: then the caller looks at that itself, and is as fast in a
 * paused run as in one without a recorder. */
const holdup_annotate_api *hu_annotate_table(void)
{
    static const holdup_annotate_api early = TABLE(&always), asleep = TABLE(&never);
    static holdup_annotate_api       joined = TABLE(&always);

    if (hu_the_control->magic != HU_CONTROL_MAGIC)
        return is_known ? &asleep : &early;
    __atomic_store_n(&joined.listening, (const uint32_t *)&hu_the_control->mask, __ATOMIC_RELAXED);
    return &joined;
}

const holdup_annotate_api *holdup_annotate_v1(void)
{
    if (hu_the_control->magic == HU_CONTROL_MAGIC)
        hu_process_entered(HU_DOOR_USER);
    return hu_annotate_table();
}
