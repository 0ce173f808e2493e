/* SPDX-License-Identifier: Apache-2.0
 * torch_process.h - what /proc says of a process that is to be traced from outside: who it is, whether it can be asked. */
#ifndef HU_RECORD_TORCH_PROCESS_H
#define HU_RECORD_TORCH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { HU_TORCH_FOLDER_BYTES = 512 };

typedef struct {
    pid_t    pid;
    uid_t    uid;
    int32_t  own_pid; /* its number in its own namespace */
    uint64_t started; /* clock ticks since the machine booted: a number that is used again has another */
    char     name[16];
    bool     has_environment;                                               /* it could be read: the next three hold */
    bool     has_switch;                                                    /* started with KINETO_USE_DAEMON */
    char     sockets[HU_TORCH_FOLDER_BYTES], folder[HU_TORCH_FOLDER_BYTES]; /* KINETO_IPC_SOCKET_DIR, ..._TRACE_DIR; "" */
    bool     has_other_sockets; /* that folder is not the one of this name here, or is not there */
    bool     has_maps;          /* they could be read: the next one holds */
    bool     has_torch;         /* libtorch is loaded */
    bool     has_own_network;   /* not ours: abstract socket names do not reach it */
} hu_torch_process;

/* False: there is none of this number, or it has ended and nobody has waited for it. */
bool hu_torch_process_read(pid_t pid, hu_torch_process *out);

/* Is it still that process, and has it not ended? */
bool hu_torch_process_runs(const hu_torch_process *p);

/* Is `pid` this process, or one that descends from it? */
bool hu_torch_process_is_below(pid_t pid, pid_t ancestor);

/* Has it a child? */
bool hu_torch_process_has_children(pid_t pid);

/* Its root directory, as an open descriptor (O_PATH); -1 with errno. */
int hu_torch_process_root(pid_t pid);

#endif
