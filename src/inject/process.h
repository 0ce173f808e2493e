/* SPDX-License-Identifier: Apache-2.0
 * process.h - this process as the session knows it: its ring file, and what fork, exec and exit mean for it. */
#ifndef HU_INJECT_PROCESS_H
#define HU_INJECT_PROCESS_H

#include "inject/ring.h"

typedef struct {
    char          session[HU_SESSION_PATH_MAX];   /* absolute; "": none */
    char          path[HU_SESSION_PATH_MAX + 64]; /* of the ring file */
    hu_ring_head *head;                           /* NULL: no ring file (yet) */
    uint32_t      generation;                     /* how often this memory was forked and attached */
    bool          is_forked, has_failed;
    bool          is_guest;       /* the control page is not ours to write: it is from the broker */
    size_t        reserved_bytes; /* of address space behind head */
    uint32_t      mapped_blocks;  /* of it; a forked child's own, while the parent's file grows on */
} hu_process;

extern hu_process hu_the_process;

/* Finds the session by HOLDUP_SESSION; false: none, or not to be used.  Once, from the constructor. */
bool hu_process_join(void);

/* Makes the ring file when there is none; false: cannot (said in a note), or another thread is at it. */
bool hu_process_attach(void);

/* A descriptor of a session's file from the supervisor, where the file itself cannot be opened (broker.c); hu_broker_what.
 * `name` of HU_BROKER_NAME_BYTES says which, and comes back; NULL: there is but one.  Or -errno. */
int hu_broker_open(const char *session, int what, char *name);
int hu_broker_reopen(const char *path, int what); /* of this process's session */

/* A free block of records of this process's file, zeroed and OPEN for this thread, or NULL and why. */
hu_block *hu_blocks_get(hu_block_kind kind, hu_loss *why);

/* Around what a signal handler of the same thread must not leave by longjmp, nor enter: no handler runs meanwhile. */
uint64_t hu_signals_block(void);
void     hu_signals_restore(uint64_t before);

/* Waits some 100 ms at most; false: not locked.  Not from a signal handler that may have interrupted the owner.  What a
 * thread of the parent held when this process was forked is free: nobody here would unlock it. */
bool hu_lock(uint32_t *lock);
void hu_unlock(uint32_t *lock);
void hu_locks_forked(void); /* in the child */

/* The text table of this process's new file.  In a forked child: the ids that its parent gave, from the first `n_blocks`
 * of its parent's file (NULL: not forked).  False: of some there is no text. */
bool hu_strings_inherit(const char *parents_path, uint32_t n_blocks);

/* Room in the file that is really there: 0 or -errno. */
long hu_file_allocate(int fd, int64_t offset, int64_t bytes);

void hu_process_read_rank(void); /* from the environment as it is now */
void hu_process_read_place(hu_live_tally *tally);
void hu_gate_page(void);
void hu_process_forked(void);                  /* in the child */
void hu_process_replaced(const char *program); /* before an exec */
void hu_process_exits(void);
void hu_process_not_replaced(void); /* the exec failed */
void hu_gate_init(void);
void hu_gate_forked(void);      /* in the child */
void hu_gate_thread_ends(void); /* whatever range it is in */
void hu_ring_init(void);
void hu_cuda_forked(void);        /* in the child */
void hu_cuda_exits(bool is_late); /* is_late: when exit() has called all of its handlers */
void hu_cuda_look(bool opens);    /* the gate of this process has changed */
void hu_opencl_forked(void);      /* in the child */
void hu_opencl_exits(void);       /* by _exit, which calls no handlers */

static inline hu_block *hu_block_at(const hu_ring_head *head, uint32_t index)
{
    return (hu_block *)((char *)(uintptr_t)head + (size_t)index * HU_BLOCK_BYTES);
}

static inline uint32_t hu_block_index(const hu_ring_head *head, const hu_block *block)
{
    return (uint32_t)(((uintptr_t)block - (uintptr_t)head) / HU_BLOCK_BYTES);
}

#endif
