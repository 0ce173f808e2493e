/* SPDX-License-Identifier: Apache-2.0
 * trace_watch.c - one loop: questions are answered at once (the client waits 90 ms), then files are looked at; a thread
 * reads and moves them.
 *
 * A question proves nothing of its sender.  The kernel says which process and user sent it; the number that the process
 * gives itself must be the one that the kernel knows it by in its own namespace, or it gets no request.
 */
#include "cli/trace_watch.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/wall_time.h"

enum { ROUND_MS = 100, DATAGRAMS_A_ROUND = 256 };

static const char *stranger_words(hu_trace_stranger kind)
{
#define S(id, words) words,
    static const char *const words_of[] = {HU_TRACE_STRANGERS(S)};
#undef S

    return words_of[kind];
}

/* said as it changes */

static void say_target(const hu_trace_watch *w, const hu_trace_target *t)
{
    char        size[HU_UNIT_BYTES];
    const char *word = hu_trace_state_word(t->state);
    char        who[40];

    snprintf(who, sizeof who, "%d%s%s", (int)t->about.pid, t->about.name[0] ? " " : "", t->about.name);
    if (w->is_quiet && t->state != HU_TRACE_FAILED)
        return;
    switch (t->state) {
    case HU_TRACE_WRITTEN:
        hu_units_bytes(size, (double)t->bytes);
        hu_command_say("%s: written %s (%s)", who, t->path, size);
        if (t->lacks_steps)
            hu_command_say("%s: its optimizer never stepped and no step is marked: it recorded %.1f s instead of steps", who,
                           (double)w->plan->request.duration_ms / 1000);
        break;
    case HU_TRACE_ARMED:
        hu_command_say("%s: armed, records in about %.0f s", who, (double)(t->begin_ms - t->sent_ms) / 1000);
        break;
    case HU_TRACE_BUSY:
    case HU_TRACE_EMPTY:
    case HU_TRACE_FAILED:
        hu_command_say("%s: %s: %s", who, word, t->why);
        break;
    default:
        hu_command_say("%s: %s", who, word);
    }
}

static void say_session(const hu_trace_watch *w, const hu_trace_session *s)
{
    if (s->state == HU_TRACE_FAILED)
        hu_command_say("run %s: failed: %s", s->entry.name, s->why);
    else if (w->is_quiet)
        return;
    else if (s->state == HU_TRACE_WRITTEN && s->n_files > 1)
        hu_command_say("run %s: written %zu files: %s …", s->entry.name, s->n_files, s->paths[0]);
    else if (s->state == HU_TRACE_WRITTEN)
        hu_command_say("run %s: written %s", s->entry.name, s->paths[0]);
    else
        hu_command_say("run %s: %s%s", s->entry.name, hu_trace_state_word(s->state),
                       s->records_anyhow && s->state == HU_TRACE_ARMED ? " (it records already, and goes on)" : "");
}

/* who is meant */

static hu_trace_target *find(hu_trace_watch *w, const hu_torch_process *p)
{
    for (size_t i = 0; i < w->targets.n; i++)
        if (w->targets.at[i].about.pid == p->pid && w->targets.at[i].about.started == p->started)
            return &w->targets.at[i];
    return NULL;
}

/* Marks the words that mean it, too. */
static bool is_meant(hu_trace_watch *w, const hu_torch_process *p, const hu_kineto_ask *ask)
{
    int64_t job;
    bool    is = w->choice.all || (w->choice.job && hu_parse_i64(hu_str_of(w->choice.job), &job) && job && job == ask->job);

    for (size_t i = 0; w->choice.job && !is && i < w->sessions.n; i++)
        is = w->sessions.at[i].entry.control.supervisor &&
             hu_torch_process_is_below(p->pid, (pid_t)w->sessions.at[i].entry.control.supervisor);
    for (size_t i = 0; i < w->words.n; i++)
        if (hu_torch_process_is_below(p->pid, w->words.at[i].pid)) {
            w->words.at[i].n_heard++;
            is = true;
        }
    return is;
}

static void count_stranger(hu_trace_watch *w, hu_trace_stranger kind, const hu_kineto_message *m)
{
    if (w->strangers[kind]++ == 0 && !w->is_quiet)
        hu_command_say("not answered: process %d (user %d): processes like it %s", (int)m->pid, (int)m->uid,
                       stranger_words(kind));
}

/* Is it who it says it is, and one that we may ask?  Fills *p. */
static bool is_known(hu_trace_watch *w, const hu_kineto_door *door, const hu_kineto_message *m, hu_torch_process *p)
{
    if (m->ask.kind == HU_KINETO_NOTHING)
        count_stranger(w, HU_TRACE_STRANGER_DAMAGED, m);
    else if (m->pid <= 0)
        count_stranger(w, HU_TRACE_STRANGER_OUTSIDE, m);
    else if (geteuid() != 0 && m->uid != geteuid())
        count_stranger(w, HU_TRACE_STRANGER_OTHER_USER, m);
    else if (!hu_kineto_can_answer(door, m))
        count_stranger(w, HU_TRACE_STRANGER_OTHER_NAME, m);
    else if (!hu_torch_process_read(m->pid, p))
        return false; /* it has ended */
    else if (p->own_pid != m->ask.pids[0])
        count_stranger(w, HU_TRACE_STRANGER_FALSE_PID, m);
    else
        return true;
    return false;
}

static int take_question(hu_trace_watch *w, const hu_kineto_door *door, const hu_kineto_message *m, hu_error *err)
{
    const int64_t    now_ms = hu_wall_time_now();
    char             text[HU_KINETO_TEXT_BYTES] = "";
    hu_torch_process p;
    hu_trace_target *t = NULL;
    hu_trace_state   before = HU_TRACE_WAITING;

    if (!is_known(w, door, m, &p))
        return 0;
    if (m->ask.kind == HU_KINETO_ASKS) {
        t = find(w, &p);
        if (!t && is_meant(w, &p, &m->ask)) {
            if (!hu_vec_reserve(w->arena, &w->targets, 1))
                return hu_fail_memory(err);
            t = &w->targets.at[w->targets.n++];
            hu_trace_target_begin(t, &p, now_ms);
        }
        w->others += t == NULL;
    }
    if (t) {
        before = t->state;
        hu_trace_target_asked(t, w->plan, m->ask.is_idle, now_ms, text);
    }
    if (!hu_kineto_answer(door, m, text) && text[0])
        hu_trace_target_fail(t, now_ms, "its socket did not take the request: it ended, or its queue is full");
    if (t && t->state != before)
        say_target(w, t);
    return 0;
}

/* the sockets */

static bool is_same(const char *one, const char *other)
{
    struct stat a, b;

    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool has_door(const hu_trace_watch *w, const char *folder)
{
    char path[HU_TORCH_FOLDER_BYTES + 16];

    snprintf(path, sizeof path, "%s/dynolog", folder);
    for (size_t i = 0; i < w->n_doors; i++)
        if (w->doors[i].path[0] && is_same(w->doors[i].path, path))
            return true;
    return false;
}

/* One that cannot be had is remembered: others may do. */
static void open_door(hu_trace_watch *w, const char *folder)
{
    hu_error err = {0};
    pid_t    owner;
    char     name[16] = "", number[24] = "";

    if (w->n_doors == HU_TRACE_DOORS || (folder && has_door(w, folder)))
        return;
    if (hu_kineto_open(folder, &w->doors[w->n_doors], &owner, &err) == 0) {
        w->n_doors++;
        return;
    }
    if (err.code == HU_EUSAGE) {
        hu_torch_process about;

        if (owner && hu_torch_process_read(owner, &about))
            snprintf(name, sizeof name, "%s", about.name);
        if (owner)
            snprintf(number, sizeof number, " (process %d)", (int)owner);
        snprintf(w->closed, sizeof w->closed, "the name that processes ask, \"dynolog\"%s%.200s, is held by %s%s; %s",
                 folder ? " in " : "", folder ? folder : "", name[0] ? name : "another process", number,
                 strcmp(name, "holdup") == 0 ? "wait for that holdup trace, or end it"
                                             : "ask it instead (dyno gputrace), or stop it while holdup traces");
    } else {
        snprintf(w->closed, sizeof w->closed, "%s%s%s", err.file, err.file[0] ? ": " : "", err.text);
    }
}

/* Folders of sockets that processes were started with, where they are the same ones here. */
static void open_doors_of(hu_trace_watch *w)
{
    DIR           *d = opendir("/proc");
    struct dirent *e;

    while (d && (e = readdir(d))) {
        hu_torch_process p;
        const pid_t      pid = (pid_t)strtol(e->d_name, NULL, 10);
        bool             is = w->choice.all || w->choice.job;

        for (size_t i = 0; i < w->words.n; i++)
            is |= pid > 0 && hu_torch_process_is_below(pid, w->words.at[i].pid);
        if (pid > 0 && is && hu_torch_process_read(pid, &p) && p.sockets[0] == '/' && !p.has_other_sockets &&
            (geteuid() == 0 || p.uid == geteuid()))
            open_door(w, p.sockets);
    }
    if (d)
        closedir(d);
}

int hu_trace_watch_open(hu_trace_watch *w, const char *folder, hu_error *err)
{
    w->closed[0] = '\0';
    open_door(w, NULL);
    if (folder)
        open_door(w, folder);
    open_doors_of(w);
    if (w->n_doors)
        return 0;
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "%s", w->closed);
}

void hu_trace_watch_close(hu_trace_watch *w)
{
    for (size_t i = 0; i < w->n_doors; i++)
        hu_kineto_close(&w->doors[i]);
    w->n_doors = 0;
    for (size_t i = 0; i < w->targets.n; i++) {
        hu_trace_target_settle(&w->targets.at[i], w->plan, hu_wall_time_now());
        hu_trace_file_close(&w->targets.at[i].file);
    }
}

/* the loop */

static int take_questions(hu_trace_watch *w, hu_error *err)
{
    struct pollfd fds[HU_TRACE_DOORS];

    for (size_t i = 0; i < w->n_doors; i++)
        fds[i] = (struct pollfd){.fd = w->doors[i].fd, .events = POLLIN};
    if (poll(fds, w->n_doors, ROUND_MS) <= 0)
        return 0;
    for (size_t i = 0; i < w->n_doors; i++) {
        hu_kineto_message m;

        /* bounded: whoever floods one name does not stop the clock of the others */
        for (int k = 0; k < DATAGRAMS_A_ROUND && hu_kineto_receive(&w->doors[i], &m) > 0; k++)
            if (take_question(w, &w->doors[i], &m, err) < 0)
                return err->code;
    }
    return 0;
}

static bool is_any_open(const hu_trace_watch *w)
{
    for (size_t i = 0; i < w->targets.n; i++)
        if (!hu_trace_state_is_over(w->targets.at[i].state))
            return true;
    return false;
}

/*
 * Where their traces go.  A directory is read as the ranks of one job, and a process that PyTorch has traced must not be
 * two of them: beside such traces, those of runs have a folder of their own.
 */
static void save_session(hu_trace_watch *w, hu_trace_session *s)
{
    char folder[HU_KINETO_PATH_BYTES];
    bool has_traces = false;

    for (size_t i = 0; i < w->targets.n; i++)
        has_traces |= w->targets.at[i].state == HU_TRACE_WRITTEN;
    snprintf(folder, sizeof folder, "%.900s%s", w->plan->folder, has_traces ? "/" HU_TRACE_RUNS : "");
    if (has_traces && mkdir(folder, 0777) < 0 && errno != EEXIST) {
        snprintf(s->why, sizeof s->why, "%.900s cannot be created: %s", folder, strerror(errno));
        s->state = HU_TRACE_FAILED;
        return;
    }
    hu_trace_session_save(s, folder, w->plan->host, w->arena);
}

static void look_at_sessions(hu_trace_watch *w, int64_t begin_ms, int64_t end_ms, bool has_ended)
{
    const int64_t now_ms = hu_wall_time_now();

    for (size_t i = 0; i < w->sessions.n; i++) {
        hu_trace_session    *s = &w->sessions.at[i];
        const hu_trace_state before = s->state;

        if (s->state == HU_TRACE_WRITING && !is_any_open(w)) /* it takes seconds, in which nobody would be answered */
            save_session(w, s);
        if (has_ended && s->state == HU_TRACE_ARMED) {
            snprintf(s->why, sizeof s->why, "not waited for any longer; it was not started");
            s->state = HU_TRACE_FAILED;
        } else if (now_ms >= begin_ms) {
            hu_trace_session_start(s);
        }
        if (now_ms >= end_ms || has_ended)
            hu_trace_session_stop(s);
        if (s->state != before)
            say_session(w, s);
    }
}

/* One at a time: the processes that are traced need the processors, too. */
static bool is_any_read(const hu_trace_watch *w)
{
    for (size_t i = 0; i < w->targets.n; i++)
        if (w->targets.at[i].work)
            return true;
    return false;
}

static void look_at_targets(hu_trace_watch *w)
{
    for (size_t i = 0; i < w->targets.n; i++) {
        hu_trace_target     *t = &w->targets.at[i];
        const hu_trace_state before = t->state;

        hu_trace_target_look(t, w->plan, !is_any_read(w), hu_wall_time_now());
        if (t->state != before)
            say_target(w, t);
    }
}

/* Everything that was named has been heard; nobody else can follow. */
static bool has_all(const hu_trace_watch *w)
{
    if (w->choice.all || w->choice.job || w->plan->request.start_ms)
        return false;
    for (size_t i = 0; i < w->words.n; i++)
        if (!w->words.at[i].n_heard || hu_torch_process_has_children(w->words.at[i].pid))
            return false;
    return true;
}

/* Nobody else is waited for: what was named and not heard of has failed, and so has who is still busy. */
static int close_list(hu_trace_watch *w, hu_error *err)
{
    for (size_t i = 0; i < w->words.n; i++) {
        hu_torch_process about;
        hu_trace_target *t;
        char             why[sizeof t->why];
        bool             is_there, is_taken, is_run = false;

        for (size_t k = 0; k < w->sessions.n; k++)
            is_run |= hu_torch_process_is_below(w->words.at[i].pid, (pid_t)w->sessions.at[k].entry.control.supervisor) ||
                      hu_torch_process_is_below((pid_t)w->sessions.at[k].entry.control.supervisor, w->words.at[i].pid);
        if (w->words.at[i].n_heard)
            continue;
        is_there = hu_torch_process_read(w->words.at[i].pid, &about);
        if (is_run && !(is_there && about.has_switch && about.has_torch))
            continue; /* it takes part by its recorder */
        if (!hu_vec_reserve(w->arena, &w->targets, 1))
            return hu_fail_memory(err);
        t = &w->targets.at[w->targets.n++];
        hu_trace_target_begin(t, &about, hu_wall_time_now());
        hu_trace_say_silence(is_there ? &about : NULL, w->words.at[i].pid, why, sizeof why);
        is_taken = is_there && about.has_switch && w->closed[0] && !(about.sockets[0] && has_door(w, about.sockets));
        hu_trace_target_fail(t, hu_wall_time_now(), "%s", is_taken ? w->closed : why);
        say_target(w, t);
    }
    for (size_t i = 0; i < w->targets.n; i++)
        if (w->targets.at[i].state == HU_TRACE_BUSY) {
            char why[sizeof w->targets.at[i].why];

            memcpy(why, w->targets.at[i].why, sizeof why);
            hu_trace_target_fail(&w->targets.at[i], hu_wall_time_now(), "%.600s, all the time that it was waited for", why);
            say_target(w, &w->targets.at[i]);
        }
    return 0;
}

static bool is_any_session_open(const hu_trace_watch *w)
{
    for (size_t i = 0; i < w->sessions.n; i++)
        if (!hu_trace_state_is_over(w->sessions.at[i].state))
            return true;
    return false;
}

/* Where each starts as soon as it can, runs begin with the first process. */
static int64_t begin_of_all(const hu_trace_watch *w, int64_t otherwise_ms)
{
    int64_t first = INT64_MAX;

    if (w->plan->request.start_ms)
        return w->plan->request.start_ms;
    for (size_t i = 0; i < w->targets.n; i++)
        if (w->targets.at[i].begin_ms && w->targets.at[i].begin_ms < first)
            first = w->targets.at[i].begin_ms;
    return first < INT64_MAX ? first : otherwise_ms;
}

/* By steps, runs record until the last process has finished. */
static bool runs_with_processes(const hu_trace_watch *w)
{
    return w->plan->request.steps && is_any_open(w);
}

static void interrupt(hu_trace_watch *w)
{
    w->was_interrupted = true;
    for (size_t i = 0; i < w->targets.n; i++) {
        hu_trace_target *t = &w->targets.at[i];

        if (hu_trace_state_is_over(t->state))
            continue;
        hu_trace_target_settle(t, w->plan, hu_wall_time_now());
        if (hu_trace_state_is_over(t->state)) {
            say_target(w, t);
            continue;
        }
        if (t->sent_ms)
            hu_trace_target_fail(t, hu_wall_time_now(),
                                 "not waited for any longer; it has the request and will write %.300s", t->file.made);
        else
            hu_trace_target_fail(t, hu_wall_time_now(), "not waited for any longer; it was asked for nothing");
        say_target(w, t);
    }
}

int hu_trace_watch_run(hu_trace_watch *w, const volatile sig_atomic_t *stop, hu_error *err)
{
    bool is_closed = false;

    for (size_t i = 0; i < w->sessions.n; i++)
        say_session(w, &w->sessions.at[i]);
    for (;;) {
        int64_t begin_ms, end_ms;

        if (take_questions(w, err) < 0)
            return err->code;
        if (*stop)
            interrupt(w);
        look_at_targets(w);
        if (!is_closed && (has_all(w) || *stop || hu_wall_time_now() > w->plan->last_ms)) {
            is_closed = true;
            if (!*stop && close_list(w, err) < 0)
                return err->code;
        }
        begin_ms = begin_of_all(w, w->plan->last_ms);
        end_ms = runs_with_processes(w) ? INT64_MAX : begin_ms + w->plan->request.duration_ms;
        look_at_sessions(w, begin_ms, end_ms, *stop != 0);
        if (is_closed && !is_any_open(w) && !is_any_session_open(w))
            return 0;
    }
}
