/* SPDX-License-Identifier: Apache-2.0
 * editions.h - the edition that is served now: when its files change, the next one is read and takes its place. */
#ifndef HU_CLI_EDITIONS_H
#define HU_CLI_EDITIONS_H

#include <pthread.h>

#include "cli/edition.h"

typedef struct {
    const hu_edition_source *source;
    hu_edition              *now;
    uint64_t                 look; /* at its files, before they were read */
    pthread_mutex_t          lock;
    pthread_t                thread;
    bool                     is_watched;
    atomic_bool              ends, is_reading;
} hu_editions;

/* Takes a look at `inputs`, before they are read. */
void hu_editions_init(hu_editions *editions, const hu_edition_source *source, const hu_inputs *inputs);

/*
 * Takes the first edition over from its holder, and watches its files in a thread, which has the caller's mask of signals.
 * What is no file (a pipe, standard input) can be read only once, and is not watched.
 */
void hu_editions_begin(hu_editions *editions, hu_edition *first, const hu_inputs *inputs);

/* The one that is served now, held for the caller: hold and let_go of a server.  From any thread. */
void *hu_editions_hold(void *editions);
void  hu_editions_let_go(void *edition);

/* Ends the watch and lets the last edition go.  False: files are being read, which only the end of the process stops. */
bool hu_editions_end(hu_editions *editions);

#endif
