/* SPDX-License-Identifier: Apache-2.0
 * pytorch.c - the door of `holdup run --pytorch`: operators, and the steps that its hook in Python finds.
 *
 * The hook switches libtorch's own observer on, which writes each operator as an NVTX range.  Its text holds numbers that
 * never come twice, so it is taken apart here: else a table of 65,535 texts would be full after a few steps.
 */
#include <string.h>

#include "inject/pytorch.h"

#include "inject/live.h"
#include "inject/process.h"
#include "inject/sys.h"
#include "base/banned.h"

/* The hook stands around batches of data loaders, optimizers and torch.save. */
enum { OF_HOOK = 1 << HU_LIVE_DATA | 1 << HU_LIVE_CHECKPOINT | 1 << HU_LIVE_OPTIMIZER };

static uint32_t is_observed;      /* libtorch's observer is on, by the hook */
static uint32_t line;             /* of the program's code, as the hook says: a text's id; 0: none */
static uint32_t line_key;         /* what its argument is called */
static bool     is_in_step;       /* that is recorded */
static uint64_t operators_before; /* the open step */

static hu_torch_facts *facts(void)
{
    return hu_process_attach() ? &hu_the_process.head->torch : NULL;
}

/* texts */

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* What a key of getNvtxStr is. */
typedef enum { KEY_NONE, KEY_SEQUENCE, KEY_ID, KEY_SIZES, KEY_INPUTS } key;

static key key_at(const char *p, size_t *bytes)
{
    static const struct {
        const char *text;
        size_t      bytes;
    } keys[] = {
        [KEY_SEQUENCE] = {", seq = ", 8},
        [KEY_ID] = {", op_id = ", 10},
        [KEY_SIZES] = {", sizes = ", 10},
        [KEY_INPUTS] = {", input_op_ids = ", 17},
    };

    for (unsigned k = KEY_SEQUENCE; k <= KEY_INPUTS; k++)
        if (strncmp(p, keys[k].text, keys[k].bytes) == 0) {
            *bytes = keys[k].bytes;
            return (key)k;
        }
    return KEY_NONE;
}

static const char *first_key(const char *text)
{
    size_t bytes;

    for (const char *p = strchr(text, ','); p; p = strchr(p + 1, ','))
        if (key_at(p, &bytes) != KEY_NONE)
            return p;
    return NULL;
}

static const char *behind_number(const char *p, int64_t *out)
{
    const char *begin = p;
    int64_t     n = 0;

    for (; *p >= '0' && *p <= '9' && p - begin < 18; p++)
        n = 10 * n + (*p - '0');
    *out = n;
    return p > begin ? p : NULL;
}

static const char *behind_list(const char *p)
{
    unsigned depth = 0;

    if (*p != '[')
        return NULL;
    do {
        depth += *p == '[';
        depth -= *p == ']';
        p++;
    } while (depth && *p);
    return depth ? NULL : p;
}

/* The names of operators are qualified, but for few (VariableTypeManual.cpp, ParamCommsUtils.hpp). */
static bool is_called_like_one(const char *text)
{
    static const char *const plain[] = {"detach", "detach_", "record_param_comms"};

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(text, plain[i]) == 0)
            return true;
    return strstr(text, "::") && (!strchr(text, ' ') || starts(text, "autograd::engine::evaluate_function: "));
}

bool hu_pytorch_read(const char *text, hu_pytorch_operator *out)
{
    const char *p = text ? first_key(text) : NULL, *shapes = NULL, *behind = NULL;
    const char *name_end = p;
    size_t      bytes = 0;
    int64_t     ignored;

    *out = (hu_pytorch_operator){.sequence = -1};
    if (!text || (!p && (!__atomic_load_n(&is_observed, __ATOMIC_RELAXED) || !is_called_like_one(text))))
        return false;
    if (!p) {
        out->name = hu_string_of(text);
        return true;
    }
    while (*p) {
        const key k = key_at(p, &bytes);

        p += bytes;
        if (k == KEY_NONE)
            return false;
        if (k == KEY_SEQUENCE)
            p = behind_number(p, &out->sequence);
        else if (k == KEY_ID)
            p = behind_number(p, &ignored);
        else if (k == KEY_INPUTS)
            break; /* who made the inputs: nobody asks */
        else
            p = behind = behind_list(shapes = p);
        if (!p)
            return false;
    }
    out->name = hu_string(text, (size_t)(name_end - text));
    out->shapes = shapes ? hu_string(shapes, (size_t)(behind - shapes)) : 0;
    return true;
}

void hu_pytorch_write(const hu_pytorch_operator *o)
{
    const uint32_t at = __atomic_load_n(&line, __ATOMIC_RELAXED);
    hu_record     *r;

    if (!hu_gate_open(HU_DOOR_PYTORCH))
        return;
    r = hu_ring_take(at ? 2 : 1);
    if (!r)
        return; /* counted */
    if (at)
        r[1] = (hu_record){.id = line_key, .type = HU_RECORD_MORE, .aux = HU_MORE_TEXT, .a = at};
    r->time = hu_ticks();
    r->id = o->name;
    r->aux = 0;
    r->a = (uint64_t)o->sequence;
    r->b = o->shapes;
    hu_ring_publish(r, HU_RECORD_TORCH);
    __atomic_fetch_add(&hu_the_process.head->torch.operators, 1, __ATOMIC_RELAXED);
}

/* steps */

void hu_pytorch_give_way(void)
{
    if (hu_the_control->wanted & HU_DOOR_PYTORCH && hu_the_process.head)
        hu_the_process.head->torch.has_own_steps = 1;
}

static bool has_own_steps(void)
{
    return hu_the_process.head && hu_the_process.head->torch.has_own_steps;
}

static void write_step(hu_record_type type, uint64_t a)
{
    hu_record *r = hu_gate_open(HU_DOOR_USER | HU_DOOR_PYTORCH) ? hu_ring_take(1) : NULL;

    if (!r)
        return;
    r->time = hu_ticks();
    r->id = 0;
    r->aux = 0;
    r->a = a;
    r->b = HU_STEP_OF_HOOK;
    hu_ring_publish(r, type);
}

/* The step that ends here. */
static void count_open(bool is_none)
{
    hu_torch_facts *f = is_in_step && !is_none && hu_the_process.head ? &hu_the_process.head->torch : NULL;

    is_in_step = false;
    if (!f)
        return;
    f->steps++;
    f->step_operators += __atomic_load_n(&f->operators, __ATOMIC_RELAXED) - operators_before;
}

static void step(int64_t number)
{
    if (has_own_steps() || !hu_gate_open(HU_DOOR_USER | HU_DOOR_PYTORCH | HU_DOOR_WATCH | HU_DOOR_LIVE))
        return;
    count_open(false);
    hu_process_entered(HU_DOOR_USER);
    if (hu_live_on()) {
        hu_live_step(number);
        hu_live_measures(OF_HOOK);
    }
    hu_gate_step(number);
    write_step(HU_RECORD_STEP, (uint64_t)number);
    is_in_step = hu_gate_open(HU_DOOR_PYTORCH);
    operators_before = hu_the_process.head ? __atomic_load_n(&hu_the_process.head->torch.operators, __ATOMIC_RELAXED) : 0;
}

static void step_end(uint32_t is_none)
{
    if (has_own_steps() || !hu_gate_open(HU_DOOR_USER | HU_DOOR_PYTORCH | HU_DOOR_WATCH | HU_DOOR_LIVE))
        return;
    count_open(is_none != 0);
    if (hu_live_on())
        hu_live_step_end(is_none != 0);
    write_step(HU_RECORD_STEP_END, is_none != 0);
}

/* what the hook says of itself */

static uint32_t is_open(void)
{
    return hu_gate_open(HU_DOOR_PYTORCH);
}

static void observe(uint32_t on)
{
    hu_torch_facts *f = on ? facts() : NULL;

    __atomic_store_n(&is_observed, on, __ATOMIC_RELAXED);
    if (f)
        f->tid = hu_sys_tid();
}

static void copy(char *to, size_t room, const char *from)
{
    size_t n = 0;

    for (; from && from[n] && n + 1 < room; n++)
        to[n] = from[n];
    to[n] = '\0';
}

static void say(uint32_t state, const char *version, const char *why)
{
    hu_torch_facts *f = facts();

    if (!f || state >= HU_TORCH_STATES)
        return;
    copy(f->version, sizeof f->version, version);
    copy(f->why, sizeof f->why, why);
    f->state = state;
    hu_process_entered(HU_DOOR_PYTORCH);
}

static void made_way(void)
{
    hu_torch_facts *f = facts();

    if (f)
        f->made_way++;
}

__attribute__((visibility("default"))) const hu_pytorch_api *holdup_pytorch_v1(void);

/* NULL: nobody asked for PyTorch. */
const hu_pytorch_api *holdup_pytorch_v1(void)
{
    static hu_pytorch_api api = {.size = sizeof api,
                                 .version = HU_PYTORCH_VERSION,
                                 .is_open = is_open,
                                 .observe = observe,
                                 .step = step,
                                 .step_end = step_end,
                                 .say = say,
                                 .made_way = made_way};

    if (!hu_the_process.session[0] || !(hu_the_control->wanted & HU_DOOR_PYTORCH))
        return NULL;
    api.marks = hu_annotate_table();
    if (hu_the_control->torch & HU_TORCH_WANTS_STACKS) {
        line_key = hu_string_of("Call stack"); /* as torch.profiler called it (trace/details.h) */
        api.line = line_key ? &line : NULL;
    }
    api.wants = hu_the_control->torch;
    if (hu_the_control->capture_range[0] || hu_the_control->cuda & HU_CUDA_ONLY_RANGE)
        api.wants |= HU_TORCH_WANTS_ALWAYS;
    return &api;
}
