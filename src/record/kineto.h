/* SPDX-License-Identifier: Apache-2.0
 * kineto.h - the protocol in which a PyTorch process asks a daemon of its machine whether to record a trace of itself.
 *
 * A process that was started with KINETO_USE_DAEMON set sends a datagram every 5 s to the local socket "dynolog"; the
 * answer is the text of a request, or nothing.  All that holdup knows of it is here: names, layouts, words, times.
 * Source: libkineto's ipcfabric and IpcFabricConfigClient (pytorch/kineto), the daemon facebookincubator/dynolog, and
 * what the client in PyTorch 2.15 was seen to do under strace.
 */
#ifndef HU_RECORD_KINETO_H
#define HU_RECORD_KINETO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/error.h"

enum {
    HU_KINETO_HEADER_BYTES = 40, /* u64 bytes that follow, char type[32]; in the order of this machine */
    HU_KINETO_PIDS = 64,         /* the client sends 12 at most */
    HU_KINETO_TEXT_BYTES = 2048, /* of a request */
    HU_KINETO_PATH_BYTES = 1024, /* of a trace */
    HU_KINETO_POLL_MS = 5000,    /* between two questions of a process */
};

/* The variables that a process was started with decide what can be asked of it. */
#define HU_KINETO_SWITCH         "KINETO_USE_DAEMON"          /* any value, also "0" */
#define HU_KINETO_SOCKETS        "KINETO_IPC_SOCKET_DIR"      /* a folder of files instead of abstract names */
#define HU_KINETO_FOLDER         "KINETO_ONDEMAND_TRACE_DIR"  /* where traces may be written; else below /tmp/ alone */
#define HU_KINETO_FOLDER_DEFAULT "/tmp/"                      /* of the same */
#define HU_KINETO_UNFINISHED     ".tmp"                       /* behind the name of a trace until it is whole */
#define HU_KINETO_REFUSED_FILE   "/tmp/libkineto_activities_" /* PID.json: where it writes when the folder is refused */

typedef enum {
    HU_KINETO_NOTHING,   /* not of this protocol, or damaged */
    HU_KINETO_REGISTERS, /* "ctxt": wants to know how many there are; today's clients never ask */
    HU_KINETO_ASKS,      /* "req": is there a request for me? */
} hu_kineto_kind;

/* A datagram, as its sender would like to be seen: nothing of it is proven. */
typedef struct {
    hu_kineto_kind kind;
    bool           is_idle; /* its profiler can record; false while it does, for whomever */
    int64_t        job;     /* SLURM_JOB_ID; 0: none */
    size_t         n_pids;
    int32_t        pids[HU_KINETO_PIDS]; /* its own first, then its ancestors', by the numbers of its own namespace */
} hu_kineto_ask;

/* False: kind is HU_KINETO_NOTHING.  Any bytes are fine. */
bool hu_kineto_parse(const void *bytes, size_t n, hu_kineto_ask *out);

/* What a process is to record. */
typedef struct {
    char    file[HU_KINETO_PATH_BYTES]; /* as the process sees it, ".json" at its end: "_PID" is put before that */
    int64_t start_ms;                   /* since 1970; 0: as soon as it can */
    int64_t duration_ms;
    int64_t steps; /* 0: by time.  A process whose optimizer never stepped records for `duration_ms` instead */
    int64_t warm_up_s;
    bool    shapes, stack, memory, flops, modules;
} hu_kineto_request;

/* Writes the text that asks for it; returns its length, or 0 when it does not fit or `file` has a line break in it. */
size_t hu_kineto_write(const hu_kineto_request *request, char *out, size_t room);

/* The file that a process of this number (in its own namespace) makes of `file`. */
void hu_kineto_file_of(const char *file, int32_t pid, char *out, size_t room);

/* A socket that processes ask. */
typedef struct {
    int  fd;
    char path[sizeof((struct sockaddr_un *)0)->sun_path]; /* of its file, "" where the name is abstract */
} hu_kineto_door;

/* Who asked, as the kernel knows it, and where the answer goes. */
typedef struct {
    hu_kineto_ask      ask;
    pid_t              pid; /* 0: of a process number namespace that cannot be seen from here */
    uid_t              uid;
    struct sockaddr_un address;
    socklen_t          address_bytes;
} hu_kineto_message;

/*
 * Takes the name that processes ask: in the abstract namespace (folder NULL), or as a file in `folder`, which must be
 * spelled as the processes spell it.  A file that a killed daemon left there is replaced.  HU_EIO; HU_EUSAGE when another
 * process has the name: *owner is its number, or 0 when it cannot be told.
 */
int hu_kineto_open(const char *folder, hu_kineto_door *out, pid_t *owner, hu_error *err);

/* Takes one datagram: 1, or 0 when none is there.  Does not wait. */
int hu_kineto_receive(const hu_kineto_door *door, hu_kineto_message *out);

/* False: it has no name, or has another spelling of the folder's name than this socket.  An answer would abort it. */
bool hu_kineto_can_answer(const hu_kineto_door *door, const hu_kineto_message *to);

/* Answers at once, in whole or not at all: the client waits 90 ms.  "": nothing to record. */
bool hu_kineto_answer(const hu_kineto_door *door, const hu_kineto_message *to, const char *text);

void hu_kineto_close(hu_kineto_door *door);

#endif
