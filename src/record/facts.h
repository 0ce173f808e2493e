/* SPDX-License-Identifier: Apache-2.0
 * facts.h - what a session's directory says about the run as a whole: enough to name and write its files later. */
#ifndef HU_RECORD_FACTS_H
#define HU_RECORD_FACTS_H

#include "base/error.h"
#include "protocol/rank_id.h"
#include "record/session.h"

/* The file `facts`, as it lies on the disk. */
typedef struct {
    uint64_t   magic;
    uint32_t   version, bytes;
    int32_t    pid;        /* of the command; 0: not started, or not by us */
    int32_t    status;     /* as wait(2) gives it; -1: not known (yet) */
    int64_t    started_ns; /* CLOCK_REALTIME */
    hu_rank_id rank;       /* of the environment that `holdup run` itself was started in */
    char       host[64], user[64];
    char       name[64];      /* of the command, without its folder: what %c is */
    char       folder[1024];  /* that relative names of outputs begin in */
    char       output[1024];  /* template, as given; "": the default */
    char       command[4096]; /* arguments without secrets, each ended by '\0' */
    uint32_t   command_bytes;
    uint32_t   forces; /* 1: --force */
} hu_facts;

/* Of this machine, this process's environment and the command that is to be started; argv may be empty. */
void hu_facts_gather(char *const *environment, char *const *argv, hu_facts *out);

/* "train.py" of `python -u train.py`: an interpreter's name would be the same for every job.  `command` is arguments, each
 * ended by '\0'; what is returned is a part of it. */
const char *hu_facts_program(const char *command, size_t bytes);

/* Writes `facts` (again) and, the first time, `environment`: NAME=VALUE lines without secrets.  0 or HU_EIO. */
int hu_facts_write(const hu_session *session, const hu_facts *facts, hu_error *err);
int hu_facts_write_environment(const hu_session *session, char *const *environment, hu_error *err);

/* HU_EIO, HU_EFORMAT.  Texts end in NUL whatever the file says. */
int hu_facts_read(const char *session, hu_facts *out, hu_error *err);

#endif
