/* SPDX-License-Identifier: Apache-2.0
 * annotate.c - the door behind holdup_annotate.h and the Python package: markers become records, and counts for a monitor.
 *
 * A program finds it by the name `holdup_annotate_v1`, once, and calls through the table from then on.  Ranges and
 * steps also go to the gate, which may be closed until one of them opens it (--steps, --capture-range): so a marker
 * first asks whether anybody records or watches, then tells the gate, then asks whether to record.
 */
#define HOLDUP_DISABLE /* the table alone: nothing in here marks itself */
#include "holdup_annotate.h"

#include "inject/live.h"
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

/* What a phase is to a monitor. */
static const uint8_t CAUSES[N_PHASES] = {
    [HOLDUP_PHASE_DATA] = HU_LIVE_DATA + 1,
    [HOLDUP_PHASE_PREPROCESSING] = HU_LIVE_DATA + 1,
    [HOLDUP_PHASE_TRANSFER] = HU_LIVE_TRANSFER + 1,
    [HOLDUP_PHASE_FORWARD] = HU_LIVE_FORWARD + 1,
    [HOLDUP_PHASE_BACKWARD] = HU_LIVE_BACKWARD + 1,
    [HOLDUP_PHASE_OPTIMIZER] = HU_LIVE_OPTIMIZER + 1,
    [HOLDUP_PHASE_CHECKPOINT] = HU_LIVE_CHECKPOINT + 1,
};

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
    return hu_gate_open(HU_DOOR_USER | HU_DOOR_WATCH | HU_DOOR_LIVE);
}

/* Does anybody want more than the causes of steps? */
static bool somebody_records(void)
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
    const uint32_t id = hu_string_of(text);

    hu_live_name(text, id);
    return id;
}

static void record_push(uint32_t id)
{
    if (!somebody_records())
        return;
    hu_gate_push(id, NO_DOMAIN);
    write_record(HU_RECORD_BEGIN, id, 0, 0);
}

static void push(uint32_t id)
{
    if (hu_live_on())
        hu_live_push(hu_live_named(id));
    record_push(id);
}

static void push_text(const char *text)
{
    if (hu_live_on())
        hu_live_push(HU_LIVE_NOTHING);
    if (somebody_records())
        record_push(hu_string_of(text));
}

static void pop(void)
{
    if (hu_live_on())
        hu_live_pop();
    if (!somebody_records())
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
    if (hu_live_on())
        hu_live_step(number);
    hu_gate_step(number);
    write_record(HU_RECORD_STEP, 0, (uint64_t)number, HU_STEP_OF_PROGRAM);
}

static void step_end(void)
{
    if (hu_live_on())
        hu_live_step_end(false);
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
    const bool is_known_one = phase > 0 && phase < N_PHASES; /* else of a later header; its pop will come */
    uint32_t   id;

    if (hu_live_on())
        hu_live_push(is_known_one ? CAUSES[phase] : HU_LIVE_NOTHING);
    if (!somebody_records())
        return;
    if (!is_known_one) {
        record_push(0);
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

/* A sum is a counter, too: what was counted up to here. */
static void count(uint32_t what, uint64_t n)
{
    static const char *const TEXTS[] = {[HOLDUP_SAMPLES] = "samples", [HOLDUP_TOKENS] = "tokens"};
    static uint32_t          ids[sizeof TEXTS / sizeof *TEXTS];
    uint64_t                 sum;

    if (what == 0 || what >= sizeof TEXTS / sizeof *TEXTS || !somebody_cares())
        return;
    sum = hu_live_count(what, n);
    if (!hu_gate_open(HU_DOOR_USER))
        return;
    if (!__atomic_load_n(&ids[what], __ATOMIC_RELAXED))
        __atomic_store_n(&ids[what], hu_string_of(TEXTS[what]), __ATOMIC_RELAXED);
    counter(ids[what], (double)sum);
}

__attribute__((constructor(102))) static void load(void)
{
    is_known = true;
}

#define TABLE(word)                                                                                                 \
    {                                                                                                               \
        .size = sizeof(holdup_annotate_api), .version = HOLDUP_ANNOTATE_VERSION, .listening = (word), .name = name, \
        .push = push, .push_text = push_text, .pop = pop, .mark = mark, .step = step, .step_end = step_end,         \
        .counter = counter, .start = start, .end = end, .phase_push = phase_push, .count = count,                   \
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
