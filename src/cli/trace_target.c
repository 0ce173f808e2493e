/* SPDX-License-Identifier: Apache-2.0
 * trace_target.c - what is known of a process that records itself: it says whether it is busy, and announces no file.
 *
 *     waiting -> armed -> recording -> writing -> written, or empty, or failed
 *
 * By time, recording begins and ends when it was asked to.  By steps, nobody outside knows when; a busy profiler that is
 * idle again has finished.  A process that is idle in two questions after the end, and has no file, will never have one.
 */
#include "cli/trace_target.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

enum {
    ACCEPT_MS = 2000, /* from the answer until a process of PyTorch 2.15 begins to warm up, at most */
    IDLE_MS = 1000,   /* after the end, before an idle profiler says something */
    IDLE_POLLS = 2,
};

const char *hu_trace_state_word(hu_trace_state state)
{
#define S(id, word, is_over) word,
    static const char *const words[] = {HU_TRACE_STATES(S)};
#undef S

    return words[state];
}

bool hu_trace_state_is_over(hu_trace_state state)
{
#define S(id, word, is_over) is_over,
    static const bool over[] = {HU_TRACE_STATES(S)};
#undef S

    return over[state];
}

static void enter(hu_trace_target *t, hu_trace_state state, int64_t now_ms)
{
    t->state = state;
    if (!t->entered_ms[state])
        t->entered_ms[state] = now_ms;
    if (hu_trace_state_is_over(state))
        hu_trace_file_close(&t->file);
}

void hu_trace_target_fail(hu_trace_target *t, int64_t now_ms, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(t->why, sizeof t->why, format, args);
    va_end(args);
    enter(t, HU_TRACE_FAILED, now_ms);
}

void hu_trace_target_begin(hu_trace_target *t, const hu_torch_process *p, int64_t now_ms)
{
    *t = (hu_trace_target){.about = *p, .file = {.root = -1}};
    enter(t, HU_TRACE_WAITING, now_ms);
}

static void arm(hu_trace_target *t, const hu_trace_plan *plan, int64_t now_ms, char *text)
{
    hu_kineto_request request = plan->request;
    hu_error          err = {0};

    if (hu_trace_file_plan(&t->about, plan->folder, &t->file, &err) < 0) {
        hu_trace_target_fail(t, now_ms, "%s", err.text);
        return;
    }
    snprintf(request.file, sizeof request.file, "%s", t->file.asked);
    if (!hu_kineto_write(&request, text, HU_KINETO_TEXT_BYTES)) {
        text[0] = '\0';
        hu_trace_target_fail(t, now_ms, "the name of its folder does not fit into a request: %.200s", t->file.asked);
        return;
    }
    t->sent_ms = now_ms;
    t->begin_ms = request.start_ms && !request.steps ? request.start_ms : now_ms + ACCEPT_MS + request.warm_up_s * 1000;
    t->end_ms = t->begin_ms + (request.steps ? 0 : request.duration_ms);
    t->deadline_ms = t->begin_ms + request.duration_ms + plan->timeout_ms;
    enter(t, HU_TRACE_ARMED, now_ms);
}

/* The profiler is free, the time is over, and no file is there: it has given up. */
static void say_given_up(hu_trace_target *t, int64_t now_ms)
{
    char elsewhere[128];

    if (hu_trace_file_was_refused(&t->file, &t->about, t->sent_ms, elsewhere, sizeof elsewhere))
        hu_trace_target_fail(
            t, now_ms, "it refused to write in the folder of %.200s and wrote %s; start it with " HU_KINETO_FOLDER "=FOLDER",
            t->file.made, elsewhere);
    else
        hu_trace_target_fail(t, now_ms,
                             "its profiler is idle again and wrote no file: it could not start in time, or not write "
                             "%.300s; its own messages say which (KINETO_LOG_LEVEL=0)",
                             t->file.made);
}

void hu_trace_target_asked(hu_trace_target *t, const hu_trace_plan *plan, bool is_idle, int64_t now_ms, char *text)
{
    text[0] = '\0';
    if (hu_trace_state_is_over(t->state))
        return;
    if (t->sent_ms) {
        t->was_busy |= !is_idle;
        if (is_idle && now_ms > t->end_ms + IDLE_MS && (t->was_busy || !plan->request.steps))
            t->idle_polls++;
        return;
    }
    if (plan->last_ms && now_ms > plan->last_ms) {
        hu_trace_target_fail(t, now_ms,
                             "it asked %.1f s too late to start with the others; pass a later --at, such as --at +20s",
                             (double)(now_ms - plan->last_ms) / 1000);
    } else if (!is_idle) {
        snprintf(t->why, sizeof t->why, "its profiler is on: torch.profiler in the program, or another trace");
        enter(t, HU_TRACE_BUSY, now_ms);
    } else {
        arm(t, plan, now_ms, text);
    }
}

/* What became of the file that was read. */
static void take(hu_trace_target *t, const hu_trace_plan *plan, int64_t now_ms)
{
    hu_trace_result r;

    hu_trace_work_end(t->work, &r);
    t->work = NULL;
    if (r.state == HU_TRACE_FILE_EMPTY) {
        hu_trace_file_remove(&t->file);
        snprintf(t->why, sizeof t->why, "nothing of PyTorch ran in it meanwhile: a launcher, or it waited");
        enter(t, HU_TRACE_EMPTY, now_ms);
    } else if (r.state == HU_TRACE_FILE_WHOLE && r.err.code) {
        hu_trace_target_fail(t, now_ms, "%s: %s", r.path, r.err.text);
    } else if (r.state == HU_TRACE_FILE_WHOLE) {
        t->lacks_steps = plan->request.steps && !r.has_steps;
        memcpy(t->path, r.path, sizeof t->path);
        t->bytes = t->file.bytes;
        enter(t, HU_TRACE_WRITTEN, now_ms);
    }
}

void hu_trace_target_settle(hu_trace_target *t, const hu_trace_plan *plan, int64_t now_ms)
{
    if (t->work)
        take(t, plan, now_ms);
}

static void say_timeout(hu_trace_target *t, const hu_trace_plan *plan, int64_t now_ms)
{
    if (t->file.bytes)
        hu_trace_target_fail(t, now_ms,
                             "%.300s is not whole after %" PRId64 " s (%" PRId64 " bytes); pass a longer --timeout",
                             t->file.made, plan->timeout_ms / 1000, t->file.bytes);
    else
        hu_trace_target_fail(
            t, now_ms, "no file %" PRId64 " s after the recording (%s); it may still write %.300s: pass a longer --timeout",
            plan->timeout_ms / 1000,
            t->was_busy           ? "its profiler is on"
            : plan->request.steps ? "its steps never began, or it hangs"
                                  : "it hangs, or asks no more",
            t->file.made);
}

static void say_end(hu_trace_target *t, int64_t now_ms)
{
    static const char *const until[] = {[HU_TRACE_ARMED] = "before it began to record",
                                        [HU_TRACE_RECORDING] = "while it recorded",
                                        [HU_TRACE_WRITING] = "before its trace was whole"};

    hu_trace_file_remove(&t->file);
    hu_trace_target_fail(t, now_ms, "the process ended %s",
                         t->state < HU_COUNT(until) && until[t->state] ? until[t->state] : "before it asked");
}

void hu_trace_target_look(hu_trace_target *t, const hu_trace_plan *plan, bool may_read, int64_t now_ms)
{
    const bool runs = hu_trace_state_is_over(t->state) ||
                      hu_torch_process_runs(&t->about); /* before the file: it may end next */

    if (hu_trace_state_is_over(t->state))
        return;
    if (!t->sent_ms) {
        if (!runs)
            say_end(t, now_ms);
        return;
    }
    if (t->state == HU_TRACE_ARMED && now_ms >= t->begin_ms)
        enter(t, HU_TRACE_RECORDING, now_ms);
    if (t->state == HU_TRACE_RECORDING && !plan->request.steps && now_ms >= t->end_ms)
        enter(t, HU_TRACE_WRITING, now_ms);
    if (t->work) {
        if (!hu_trace_work_is_done(t->work))
            return;
        take(t, plan, now_ms);
    } else if (hu_trace_file_look(&t->file, now_ms) == HU_TRACE_FILE_STILL) {
        t->work = may_read ? hu_trace_work_start(&t->file, plan->folder, plan->host, t->about.pid) : NULL;
        t->file.looked_at = t->work ? t->file.bytes : t->file.looked_at; /* the same bytes are not read twice */
        return;
    }
    if (hu_trace_state_is_over(t->state))
        return;
    if (!runs && now_ms - t->file.changed_ms > IDLE_MS)
        say_end(t, now_ms);
    else if (t->idle_polls >= IDLE_POLLS && !t->file.bytes)
        say_given_up(t, now_ms);
    else if (now_ms > t->deadline_ms)
        say_timeout(t, plan, now_ms);
}

static const char *user_name(uid_t uid, char *out, size_t room)
{
    const struct passwd *entry = getpwuid(uid);

    if (entry)
        snprintf(out, room, "%s", entry->pw_name);
    else
        snprintf(out, room, "user %u", (unsigned)uid);
    return out;
}

void hu_trace_say_silence(const hu_torch_process *p, pid_t pid, char *out, size_t room)
{
    char user[64];

    if (!p)
        snprintf(out, room, "there is no process %d on this machine (holdup trace runs on the node of the job)", (int)pid);
    else if (geteuid() != 0 && p->uid != geteuid())
        snprintf(out, room, "it is a process of %s: run holdup trace as that user, or as root",
                 user_name(p->uid, user, sizeof user));
    else if (p->has_environment && !p->has_switch && p->has_maps && !p->has_torch)
        snprintf(out, room, "it has not loaded PyTorch, and was started without " HU_KINETO_SWITCH "=1");
    else if (p->has_environment && !p->has_switch)
        snprintf(out, room,
                 "it was started without " HU_KINETO_SWITCH "=1, so nobody can ask it from outside; start the job with it");
    else if (p->has_maps && !p->has_torch)
        snprintf(out, room, "it has not loaded PyTorch: name the process that trains, or wait until it has");
    else if (!p->has_environment || !p->has_maps)
        snprintf(out, room,
                 "it asks for nothing, and /proc/%d cannot be read (ptrace rights): was it started with " HU_KINETO_SWITCH
                 "=1?",
                 (int)pid);
    else if (p->sockets[0] && (p->has_other_sockets || p->sockets[0] != '/'))
        snprintf(out, room,
                 "it asks in " HU_KINETO_SOCKETS
                 "=%.200s, which is another folder here: share it under the same name, or run holdup trace in its container",
                 p->sockets);
    else if (p->has_own_network && !p->sockets[0])
        snprintf(
            out, room,
            "its network namespace is another one; abstract socket names do not cross it. Start it with " HU_KINETO_SOCKETS
            "=FOLDER on a folder that both see");
    else
        snprintf(out, room,
                 "it has PyTorch and " HU_KINETO_SWITCH
                 ", but asked for nothing: is it stopped, or its PyTorch built without Kineto?");
}
