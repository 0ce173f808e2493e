/* SPDX-License-Identifier: Apache-2.0
 * holdup_annotate.h - marks in a program what `holdup run` cannot see from outside: ranges, steps, phases, counters.
 *
 *     #include <holdup_annotate.h>                    C99 and later, C++11 and later; nothing to link (glibc before 2.34: -ldl)
 *
 *     for (int64_t i = 0; i < n; i++) {
 *         holdup_step_number(i);                      ends the step before, begins this one
 *         holdup_phase_push(HOLDUP_PHASE_FORWARD);
 *         loss = forward(batch);
 *         holdup_phase_pop();
 *         holdup_counter("loss", loss);
 *     }
 *     holdup_step_end();
 *
 * Cost: a call costs two loads and a predicted branch, less than a nanosecond, while nobody listens; `bench/annotate` measures it.
 * The first call in each shared object asks the dynamic linker, once, for the recorder, libholdup-inject.so, which
 * `holdup run` puts into the process.  With -DHOLDUP_DISABLE every call compiles to nothing, as it does where there is no
 * ELF and no GNU C.
 *
 * All functions may be called from any thread at any time, from static constructors and with any text (UTF-8, not NULL; it
 * is copied before the call returns).  Ranges nest within a thread: what was pushed last is popped first.  errno is left as it was.
 */
#ifndef HOLDUP_ANNOTATE_H
#define HOLDUP_ANNOTATE_H

#include <stddef.h>
#include <stdint.h>

#if !defined(HOLDUP_DISABLE) && (!defined(__GNUC__) || !defined(__ELF__))
#define HOLDUP_DISABLE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What part of a step runs now.  The report names time by these, and looks for the cause of a wait in them. */
typedef enum {
    HOLDUP_PHASE_DATA = 1,          /* the next batch is read */
    HOLDUP_PHASE_PREPROCESSING = 2, /* it is decoded, augmented, collated */
    HOLDUP_PHASE_TRANSFER = 3,      /* it goes to the device */
    HOLDUP_PHASE_FORWARD = 4,
    HOLDUP_PHASE_BACKWARD = 5,
    HOLDUP_PHASE_OPTIMIZER = 6,
    HOLDUP_PHASE_CHECKPOINT = 7 /* the state is written */
} holdup_phase;

/* What a program gets through: its throughput is known from it, also to a monitor of the node. */
typedef enum { HOLDUP_SAMPLES = 1, HOLDUP_TOKENS = 2 } holdup_countable;

/* A text that is registered once and then costs a number.  Of static lifetime; the same one may be used by many threads:
 *     static holdup_name encode = HOLDUP_NAME("encode");  */
typedef struct {
    const char *text;
    uint32_t    id; /* 0 until a recorder has given it one */
} holdup_name;

/* clang-format off */
#define HOLDUP_NAME(text) {(text), 0}
/* clang-format on */

/* A range that may end on another thread than it began on; 0 is none, and may be ended. */
typedef uint64_t holdup_range_id;

/* What the recorder offers, found by name: `const holdup_annotate_api *holdup_annotate_v1(void)`.  Members are only ever
 * appended; `size` tells how many there are.  Whoever includes this header has no need to look at it. */
typedef struct {
    uint32_t        size;               /* bytes of this struct, as the recorder knows it */
    uint32_t        version;            /* 1 */
    const uint32_t *listening;          /* non-zero while markers are wanted; read with relaxed order; never NULL */
    uint32_t (*name)(const char *text); /* registers a text; 0: no room, or none */
    void (*push)(uint32_t name);
    void (*push_text)(const char *text);
    void (*pop)(void);
    void (*mark)(uint32_t name);
    void (*step)(int64_t number); /* -1: one more than the last */
    void (*step_end)(void);
    void (*counter)(uint32_t name, double value);
    uint64_t (*start)(uint32_t name); /* 0: not recorded */
    void (*end)(uint64_t range);
    void (*phase_push)(uint32_t phase);       /* a holdup_phase; ends with pop */
    void (*count)(uint32_t what, uint64_t n); /* a holdup_countable; not in the oldest recorders: see `size` */
} holdup_annotate_api;

#define HOLDUP_ANNOTATE_VERSION 1u
#define HOLDUP_ANNOTATE_LEAST   offsetof(holdup_annotate_api, count) /* of `size` */
#define HOLDUP_ANNOTATE_SYMBOL  "holdup_annotate_v1"

#ifdef __cplusplus
}
#endif

#ifndef HOLDUP_DISABLE

#include <dlfcn.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- how the recorder is found; private -------------------------------------------------------------------------- */

/* One of each per shared object.  `listening` points at 1 until somebody has looked for the recorder, then at the
 * recorder's word, or at 0 where there is none: so the fast path has one test for "not yet known" and "on". */
#define HOLDUP_ONE_PER_OBJECT_ __attribute__((weak, visibility("hidden")))
#define HOLDUP_COLD_           __attribute__((noinline, cold, unused)) static
#define HOLDUP_INLINE_         __attribute__((always_inline, unused)) static inline

extern HOLDUP_ONE_PER_OBJECT_ const uint32_t             holdup_private_words[2];
extern HOLDUP_ONE_PER_OBJECT_ const uint32_t            *holdup_private_listening;
extern HOLDUP_ONE_PER_OBJECT_ const holdup_annotate_api *holdup_private_api;

const uint32_t             holdup_private_words[2] = {0, 1};
const uint32_t            *holdup_private_listening = &holdup_private_words[1];
const holdup_annotate_api *holdup_private_api = NULL;

/* Whether somebody may listen. */
HOLDUP_INLINE_ int holdup_private_on(void)
{
    const uint32_t *const listening = __atomic_load_n(&holdup_private_listening, __ATOMIC_RELAXED);

    return __builtin_expect(__atomic_load_n(listening, __ATOMIC_RELAXED) != 0, 0) != 0;
}

/* The recorder, if it listens; looks for it on the first call.  Threads that look at the same time find the same. */
HOLDUP_COLD_ const holdup_annotate_api *holdup_private_get(void)
{
    const holdup_annotate_api *api;
    const holdup_annotate_api *(*find)(void) = NULL;
#ifdef RTLD_DEFAULT
    void *const everywhere = RTLD_DEFAULT;
#else
    void *const everywhere = NULL; /* its value in glibc and musl, which hide the name without _GNU_SOURCE */
#endif
    void *symbol;

    /* `listening` is stored last: whoever sees it sees the table */
    if (__atomic_load_n(&holdup_private_listening, __ATOMIC_ACQUIRE) != &holdup_private_words[1])
        return __atomic_load_n(&holdup_private_api, __ATOMIC_ACQUIRE);
    symbol = dlsym(everywhere, HOLDUP_ANNOTATE_SYMBOL);
    if (symbol == NULL)
        (void)dlerror(); /* that there is no recorder is nobody's error */
    else
        memcpy(&find, &symbol, sizeof find);
    api = find != NULL ? find() : NULL;
    if (api != NULL && (api->version != HOLDUP_ANNOTATE_VERSION || api->size < HOLDUP_ANNOTATE_LEAST))
        api = NULL;
    __atomic_store_n(&holdup_private_api, api, __ATOMIC_RELEASE);
    __atomic_store_n(&holdup_private_listening, api != NULL ? api->listening : &holdup_private_words[0], __ATOMIC_RELEASE);
    return api != NULL && __atomic_load_n(api->listening, __ATOMIC_RELAXED) != 0 ? api : NULL;
}

HOLDUP_COLD_ uint32_t holdup_private_id(const holdup_annotate_api *api, holdup_name *name)
{
    uint32_t id = __atomic_load_n(&name->id, __ATOMIC_ACQUIRE);

    if (id == 0) {
        id = api->name(name->text);
        __atomic_store_n(&name->id, id, __ATOMIC_RELEASE);
    }
    return id;
}

HOLDUP_COLD_ void holdup_private_push(const char *text)
{
    const holdup_annotate_api *const api = holdup_private_get();

    if (api != NULL)
        api->push_text(text);
}

HOLDUP_COLD_ void holdup_private_push_name(holdup_name *name)
{
    const holdup_annotate_api *const api = holdup_private_get();
    uint32_t                         id;

    if (api == NULL)
        return;
    id = holdup_private_id(api, name);
    if (id != 0)
        api->push(id);
    else
        api->push_text(name->text);
}

HOLDUP_COLD_ void holdup_private_pop(void)
{
    const holdup_annotate_api *const api = holdup_private_get();

    if (api != NULL)
        api->pop();
}

HOLDUP_COLD_ void holdup_private_phase(uint32_t phase)
{
    const holdup_annotate_api *const api = holdup_private_get();

    if (api != NULL)
        api->phase_push(phase);
}

HOLDUP_COLD_ void holdup_private_mark(holdup_name *name)
{
    const holdup_annotate_api *const api = holdup_private_get();

    if (api != NULL)
        api->mark(holdup_private_id(api, name));
}

HOLDUP_COLD_ void holdup_private_counter(holdup_name *name, double value)
{
    const holdup_annotate_api *const api = holdup_private_get();

    if (api != NULL)
        api->counter(holdup_private_id(api, name), value);
}

HOLDUP_COLD_ void holdup_private_count(uint32_t what, uint64_t n)
{
    const holdup_annotate_api *const api = holdup_private_get();

    if (api != NULL && api->size > HOLDUP_ANNOTATE_LEAST)
        api->count(what, n);
}

HOLDUP_COLD_ uint64_t holdup_private_start(holdup_name *name)
{
    const holdup_annotate_api *const api = holdup_private_get();

    return api != NULL ? api->start(holdup_private_id(api, name)) : 0;
}

HOLDUP_COLD_ void holdup_private_end(uint64_t range)
{
    const holdup_annotate_api *const api = holdup_private_get();

    if (api != NULL)
        api->end(range);
}

HOLDUP_COLD_ void holdup_private_step(int64_t number)
{
    const holdup_annotate_api *const api = holdup_private_get();

    if (api != NULL)
        api->step(number);
}

HOLDUP_COLD_ void holdup_private_step_end(void)
{
    const holdup_annotate_api *const api = holdup_private_get();

    if (api != NULL)
        api->step_end();
}

/* -- what a program calls ----------------------------------------------------------------------------------------- */

/* Whether a recorder listens now, or a monitor through it: for work that only markers need, such as making up a text. */
HOLDUP_INLINE_ int holdup_listening(void)
{
    return holdup_private_on() && holdup_private_get() != NULL;
}

/* A range on this thread, from here to its pop.  With a registered name the recorder is spared a look-up. */
HOLDUP_INLINE_ void holdup_range_push(const char *text)
{
    if (holdup_private_on())
        holdup_private_push(text);
}

HOLDUP_INLINE_ void holdup_range_push_name(holdup_name *name)
{
    if (holdup_private_on())
        holdup_private_push_name(name);
}

HOLDUP_INLINE_ void holdup_range_pop(void)
{
    if (holdup_private_on())
        holdup_private_pop();
}

/* A phase is a range that the report knows. */
HOLDUP_INLINE_ void holdup_phase_push(holdup_phase phase)
{
    if (holdup_private_on())
        holdup_private_phase(phase);
}

HOLDUP_INLINE_ void holdup_phase_pop(void)
{
    holdup_range_pop();
}

/* A range that overlaps others, or that ends elsewhere.  Returns 0 while nobody listens. */
HOLDUP_INLINE_ holdup_range_id holdup_range_start_name(holdup_name *name)
{
    return holdup_private_on() ? holdup_private_start(name) : 0;
}

HOLDUP_INLINE_ holdup_range_id holdup_range_start(const char *text)
{
    if (holdup_private_on()) {
        holdup_name name = HOLDUP_NAME(text);

        return holdup_private_start(&name);
    }
    return 0;
}

HOLDUP_INLINE_ void holdup_range_end(holdup_range_id range)
{
    if (range != 0 && holdup_private_on())
        holdup_private_end(range);
}

/* A moment. */
HOLDUP_INLINE_ void holdup_mark_name(holdup_name *name)
{
    if (holdup_private_on())
        holdup_private_mark(name);
}

HOLDUP_INLINE_ void holdup_mark(const char *text)
{
    if (holdup_private_on()) {
        holdup_name name = HOLDUP_NAME(text);

        holdup_private_mark(&name);
    }
}

/* A value from here on, until the next one of the same name. */
HOLDUP_INLINE_ void holdup_counter_name(holdup_name *name, double value)
{
    if (holdup_private_on())
        holdup_private_counter(name, value);
}

HOLDUP_INLINE_ void holdup_counter(const char *text, double value)
{
    if (holdup_private_on()) {
        holdup_name name = HOLDUP_NAME(text);

        holdup_private_counter(&name, value);
    }
}

/* So many more are done: holdup_count(HOLDUP_SAMPLES, batch_size), once in each step. */
HOLDUP_INLINE_ void holdup_count(holdup_countable what, uint64_t n)
{
    if (holdup_private_on())
        holdup_private_count(what, n);
}

/* A step of the job begins, and the one before ends.  Numbers count up; without one it is one more than the last, from 0.
 * One thread should mark the steps. */
HOLDUP_INLINE_ void holdup_step_number(int64_t number)
{
    if (holdup_private_on())
        holdup_private_step(number);
}

HOLDUP_INLINE_ void holdup_step(void)
{
    holdup_step_number(-1);
}

/* The step ends and no other begins: after the last one, or before work that belongs to none. */
HOLDUP_INLINE_ void holdup_step_end(void)
{
    if (holdup_private_on())
        holdup_private_step_end();
}

#ifdef __cplusplus
}
#endif

#undef HOLDUP_ONE_PER_OBJECT_
#undef HOLDUP_COLD_
#undef HOLDUP_INLINE_

#else /* HOLDUP_DISABLE */

#ifdef __GNUC__
#define HOLDUP_INLINE_ __attribute__((unused)) static inline
#else
#define HOLDUP_INLINE_ static inline
#endif

HOLDUP_INLINE_ int holdup_listening(void)
{
    return 0;
}
HOLDUP_INLINE_ void holdup_range_push(const char *text)
{
    (void)text;
}
HOLDUP_INLINE_ void holdup_range_push_name(holdup_name *name)
{
    (void)name;
}
HOLDUP_INLINE_ void holdup_range_pop(void) {}
HOLDUP_INLINE_ void holdup_phase_push(holdup_phase phase)
{
    (void)phase;
}
HOLDUP_INLINE_ void            holdup_phase_pop(void) {}
HOLDUP_INLINE_ holdup_range_id holdup_range_start_name(holdup_name *name)
{
    (void)name;
    return 0;
}
HOLDUP_INLINE_ holdup_range_id holdup_range_start(const char *text)
{
    (void)text;
    return 0;
}
HOLDUP_INLINE_ void holdup_range_end(holdup_range_id range)
{
    (void)range;
}
HOLDUP_INLINE_ void holdup_mark_name(holdup_name *name)
{
    (void)name;
}
HOLDUP_INLINE_ void holdup_mark(const char *text)
{
    (void)text;
}
HOLDUP_INLINE_ void holdup_counter_name(holdup_name *name, double value)
{
    (void)name;
    (void)value;
}
HOLDUP_INLINE_ void holdup_counter(const char *text, double value)
{
    (void)text;
    (void)value;
}
HOLDUP_INLINE_ void holdup_count(holdup_countable what, uint64_t n)
{
    (void)what;
    (void)n;
}
HOLDUP_INLINE_ void holdup_step_number(int64_t number)
{
    (void)number;
}
HOLDUP_INLINE_ void holdup_step(void) {}
HOLDUP_INLINE_ void holdup_step_end(void) {}

#undef HOLDUP_INLINE_

#endif /* HOLDUP_DISABLE */

#ifdef __cplusplus
namespace holdup
{

/* A range for as long as the object lives: holdup::range encode("encode"); */
class range
{
  public:
    explicit range(const char *text) { holdup_range_push(text); }
    explicit range(holdup_name &name) { holdup_range_push_name(&name); }
    explicit range(holdup_phase phase) { holdup_phase_push(phase); }
    ~range() { holdup_range_pop(); }

    range(const range &) = delete;
    range &operator=(const range &) = delete;
};

/* A step for as long as the object lives. */
class step
{
  public:
    step() { holdup_step(); }
    explicit step(int64_t number) { holdup_step_number(number); }
    ~step() { holdup_step_end(); }

    step(const step &) = delete;
    step &operator=(const step &) = delete;
};

} /* namespace holdup */
#endif

#endif
