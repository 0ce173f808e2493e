/* SPDX-License-Identifier: Apache-2.0
 * ring.h - how doors write records: ask the gate, take slots of this thread's block, fill them, publish.
 *
 *     if (hu_gate_open(HU_DOOR_NVTX)) {
 *         hu_record *r = hu_ring_take(1);
 *         if (r) {
 *             r->time = hu_ticks();  r->id = name;  r->aux = domain;  r->a = r->b = 0;
 *             hu_ring_publish(r, HU_RECORD_BEGIN);
 *         }
 *     }
 *
 * Safe in signal handlers and in any thread, before main and after exit; takes no lock but when a thread needs a new
 * block.  What cannot be recorded is counted, by reason and time.  errno is untouched.
 */
#ifndef HU_INJECT_RING_H
#define HU_INJECT_RING_H

#include <stdbool.h>
#include <time.h>

#include "protocol/format.h"

/* What the hot path reads is one half of the word that gate.c changes, so that the doors are open exactly while there is
 * a reason for it. */
typedef union {
    uint32_t mask;             /* HU_DOOR_*: open in this process; wiped by any fork */
    uint64_t mask_and_reasons; /* reasons << 32 | mask */
} hu_gate;

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "hu_gate.mask is the low half");

typedef struct {
    hu_block *block; /* where it writes; NULL: none yet */
    uint32_t  tid, thread;
    uint64_t  sequence;    /* of its next block */
    uint32_t  generation;  /* of the process's ring that `block` is in */
    uint32_t  is_choosing; /* between reading `block` and taking a slot: a handler must not change it */
    uint32_t  is_taking;   /* in the slow path: a signal handler of this thread must not enter it */
    uint32_t  inside;      /* depth of doors that call into others: the inner ones stay silent */
    uint32_t  oldest;      /* flight recorder: own blocks, oldest first; 0: none */
    uint32_t  newest;
    uint32_t  is_named;
    uint32_t  tells_signals;    /* of the condition behind `queue`, also where nobody waits (osrt_wakes.c) */
    uint32_t  batched;          /* 1: calls are added up, and to be written before anything else (osrt_batch.c) */
    uintptr_t frame;            /* of the wrapper that the thread is inside of (osrt.h); 0: none */
    uintptr_t queue;            /* the condition that it last waited for without a limit of time; 0: none */
    uintptr_t waits_for;        /* the object that it is counted for (waiters.h); 0: none */
    uint64_t  lost, first_lost; /* since its last block */
    uint32_t  lost_reason;
} hu_thread_state;

extern hu_gate                 *hu_the_gate;    /* never NULL */
extern hu_control              *hu_the_control; /* never NULL */
extern __thread hu_thread_state hu_thread __attribute__((tls_model("initial-exec")));

/* All that records; what is only counted or watched is none of it. */
#define HU_DOORS_OF_RECORDS (~(uint32_t)HU_DOOR_LIVE)

/* Is any of these doors recorded now, in this process? */
static inline bool hu_gate_open(uint32_t doors)
{
    return __builtin_expect((__atomic_load_n(&hu_the_gate->mask, __ATOMIC_RELAXED) &
                             __atomic_load_n(&hu_the_control->mask, __ATOMIC_RELAXED) & doors) != 0,
                            0);
}

static inline uint64_t hu_ticks(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(hu_the_control->clock == HU_CLOCK_TSC, 1))
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    if (__builtin_expect(hu_the_control->clock == HU_CLOCK_TSC, 1)) {
        uint64_t ticks;

        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* One instruction, so that a signal handler of the same thread is never given the same slots; other threads never
 * write here, so the bus need not be locked. */
static inline uint32_t hu_take_slots(uint32_t *taken, uint32_t n)
{
#if defined(__x86_64__)
    __asm__ volatile("xaddl %0, %1" : "+r"(n), "+m"(*taken) : : "memory", "cc");
    return n;
#else
    return __atomic_fetch_add(taken, n, __ATOMIC_RELAXED);
#endif
}

hu_record *hu_ring_take_slow(uint32_t n);

/* What the library does at the end of a thread is done for this one, though it may never record. */
void hu_ring_hear_end(void);

/* Counts what never got so far as a record, because a door had no room for it. */
void hu_ring_lose(uint32_t n);

/* Writes what the thread has added up of fast calls. */
void hu_ring_flush(void);

/* As hu_ring_take, of a record that may come before those of earlier calls: it is no slice. */
static inline hu_record *hu_ring_take_now(uint32_t n)
{
    const uint32_t was_choosing = hu_thread.is_choosing;
    hu_block      *block;

    hu_thread.is_choosing = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    block = hu_thread.block;
    if (__builtin_expect(block != NULL, 1)) {
        const uint32_t at = hu_take_slots(&block->head.taken, n);

        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        hu_thread.is_choosing = was_choosing;
        if (__builtin_expect(at + n <= HU_BLOCK_RECORDS, 1))
            return &block->records[at];
        if (at <= HU_BLOCK_RECORDS)
            block->head.used = at; /* nobody else finds the end of this block */
    }
    hu_thread.is_choosing = was_choosing;
    return hu_ring_take_slow(n);
}

/* `n` neighbouring records, all of type 0, or NULL: lost, and counted.  The first is the event, the others its MOREs. */
static inline hu_record *hu_ring_take(uint32_t n)
{
    if (__builtin_expect(hu_thread.batched != 0, 0))
        hu_ring_flush();
    return hu_ring_take_now(n);
}

/* The record is complete, and so are its MOREs. */
static inline void hu_ring_publish(hu_record *r, hu_record_type type)
{
    __atomic_store_n(&r->type, (uint16_t)type, __ATOMIC_RELEASE);
}

/* Fills a MORE; before its event is published. */
static inline void hu_ring_more(hu_record *r, uint32_t name, hu_more kind, uint64_t value)
{
    r->time = 0;
    r->id = name;
    r->aux = (uint16_t)kind;
    r->a = value;
    r->b = 0;
    r->type = HU_RECORD_MORE;
}

/* The thread is inside of a call (hu_block_head.call) since `ticks`: what a killed program was waiting for.  0 leaves. */
static inline void hu_ring_inside(uint32_t call_plus_one, uint64_t ticks, uintptr_t object, uintptr_t caller)
{
    hu_block *block = hu_thread.block;

    if (block) {
        block->head.call_since = ticks;
        block->head.place = (uint64_t)object | (uint64_t)caller << 48;
        block->head.place_high = (uint32_t)((uint64_t)caller >> 16);
        __atomic_store_n(&block->head.call, call_plus_one, __ATOMIC_RELEASE);
    }
}

/*
 * The id of a text, for ever the same in this process and its forks; 0: "" or no room (counted).  strings.c.
 * Secrets are left out (protocol/redact.h) of what calls were given, always; of what the program says itself (ranges,
 * marks) when the user asked for it; of what we say ourselves, never.
 */
uint32_t hu_string(const char *text, size_t bytes); /* the program's own */
uint32_t hu_string_of(const char *text);            /* NULL is "" */
uint32_t hu_string_given(const char *text, size_t bytes);
uint32_t hu_string_as_is(const char *text, size_t bytes);

/* The gate of this process (gate.c).  Steps and ranges open and close it where the user asked for some of them only. */
void hu_gate_step(int64_t number);                  /* a step begins; call it before its record is written */
void hu_gate_push(uint32_t text, uint32_t domain);  /* a user range begins */
void hu_gate_pop(uint32_t domain);                  /* ... and ends: the innermost of this thread and domain */
void hu_gate_start(uint32_t text, uint32_t domain); /* the same for one that any thread may end */
void hu_gate_stop(uint32_t text, uint32_t domain);
void hu_gate_range(bool begins); /* between cudaProfilerStart and Stop, where that was asked for */

/* That a door was really entered, for the report on what was and was not seen. */
void hu_process_entered(uint32_t door);

/* One line for the user, about what is missing and how to get it; said once per process and text.  Not in signal
 * handlers.  The supervisor prints it. */
__attribute__((format(printf, 1, 2))) void hu_note(const char *format, ...);

#endif
