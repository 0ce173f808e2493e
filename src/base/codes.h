/* SPDX-License-Identifier: Apache-2.0
 * codes.h - every exit status once, with the words of `holdup help`; every error code: its exit status and words. */
#ifndef HU_BASE_CODES_H
#define HU_BASE_CODES_H

/* Those of `run` are as env(1) and timeout(1) have them, where they have such a one. */
#define HU_EXIT_STATUSES(E)                                                                  \
    E(HU_EXIT_OK, 0, "0", "success")                                                         \
    E(HU_EXIT_BREACHED, 1, "1", "check: a limit is breached; doctor: a check failed")        \
    E(HU_EXIT_USAGE, 2, "2", "wrong usage")                                                  \
    E(HU_EXIT_UNREADABLE, 3, "3", "an input cannot be read, or an output cannot be written") \
    E(HU_EXIT_PARTIAL, 4, "4", "--strict: data is incomplete")                               \
    E(HU_EXIT_RUN_MISSING, 123, "123", "run: --require: a source recorded nothing")          \
    E(HU_EXIT_RUN_LOST, 124, "124", "run: --strict: records were lost or not written")       \
    E(HU_EXIT_RUN_FAILED, 125, "125", "run: failed before the command started")              \
    E(HU_EXIT_CANNOT_EXEC, 126, "126", "run: the command cannot be started")                 \
    E(HU_EXIT_NOT_FOUND, 127, "127", "run: the command was not found")                       \
    E(HU_EXIT_SIGNAL, 128, "128+N", "killed by signal N; for run, the command was killed")

enum {
#define E(name, status, label, text) name = (status),
    HU_EXIT_STATUSES(E)
#undef E
};

#define HU_ERROR_CODES(E)                                                   \
    E(HU_ENOMEM, -1, HU_EXIT_UNREADABLE, "out of memory")                   \
    E(HU_EIO, -2, HU_EXIT_UNREADABLE, "input or output failed")             \
    E(HU_EFORMAT, -3, HU_EXIT_UNREADABLE, "not a format that holdup reads") \
    E(HU_ELIMIT, -4, HU_EXIT_UNREADABLE, "limit reached")                   \
    E(HU_EUSAGE, -5, HU_EXIT_USAGE, "wrong usage")                          \
    E(HU_EEMPTY, -6, HU_EXIT_UNREADABLE, "nothing to analyse")              \
    E(HU_EPARTIAL, -7, HU_EXIT_PARTIAL, "only part of the data could be read")

enum {
#define E(name, code, exit_status, text) name = (code),
    HU_ERROR_CODES(E)
#undef E
};

#endif
