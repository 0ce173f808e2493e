/* SPDX-License-Identifier: Apache-2.0
 * trace_work.c - one file, one thread.  Signals are for the loop, which they wake. */
#include "cli/trace_work.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NAMES = 1000 };

struct hu_trace_work {
    hu_trace_file   file;
    char            folder[HU_KINETO_PATH_BYTES];
    const char     *host;
    pid_t           pid;
    hu_trace_result result;
    pthread_t       thread;
    bool            is_thread;
    _Atomic bool    is_done;
};

/* A name that is free in the folder.  Digits at its end would be read as a rank. */
static void choose_path(const hu_trace_work *w, char out[HU_KINETO_PATH_BYTES])
{
    snprintf(out, HU_KINETO_PATH_BYTES, "%.800s/%.64s-%d-trace.json", w->folder, w->host, (int)w->pid);
    for (int i = 2; access(out, F_OK) == 0 && i < NAMES; i++)
        snprintf(out, HU_KINETO_PATH_BYTES, "%.800s/%.64s-%d-%d-trace.json", w->folder, w->host, (int)w->pid, i);
}

static void *work(void *context)
{
    hu_trace_work   *w = context;
    hu_trace_result *r = &w->result;

    r->state = hu_trace_file_read(&w->file);
    if (r->state == HU_TRACE_FILE_WHOLE) {
        r->has_steps = hu_trace_file_has_steps(&w->file);
        choose_path(w, r->path);
        hu_trace_file_take(&w->file, r->path, &r->err);
    }
    w->is_done = true;
    return NULL;
}

hu_trace_work *hu_trace_work_start(const hu_trace_file *f, const char *folder, const char *host, pid_t pid)
{
    hu_trace_work *w = calloc(1, sizeof *w);
    sigset_t       all, before;

    if (!w)
        return NULL;
    w->file = *f;
    w->host = host;
    w->pid = pid;
    snprintf(w->folder, sizeof w->folder, "%s", folder);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    w->is_thread = pthread_create(&w->thread, NULL, work, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!w->is_thread)
        work(w);
    return w;
}

bool hu_trace_work_is_done(const hu_trace_work *w)
{
    return w->is_done;
}

void hu_trace_work_end(hu_trace_work *w, hu_trace_result *out)
{
    if (w->is_thread)
        pthread_join(w->thread, NULL);
    *out = w->result;
    free(w);
}
