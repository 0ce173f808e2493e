/* SPDX-License-Identifier: Apache-2.0
 * trace_sessions.c - tells runs to start and stop, and writes traces of rings that go on. */
#include "cli/trace_sessions.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/tell.h"
#include "record/facts.h"
#include "record/to_pftrace.h"

static bool is_of_job(const hu_registry_entry *e, const char *job)
{
    hu_facts facts;

    return strcmp(e->name, job) == 0 ||
           (hu_facts_read(e->path, &facts, NULL) == 0 && facts.rank.job_id[0] && strcmp(facts.rank.job_id, job) == 0);
}

static bool is_of_processes(const hu_registry_entry *e, const pid_t *pids, size_t n)
{
    const pid_t supervisor = (pid_t)e->control.supervisor;

    for (size_t i = 0; i < n && supervisor > 0; i++)
        if (hu_torch_process_is_below(pids[i], supervisor) || hu_torch_process_is_below(supervisor, pids[i]))
            return true;
    return false;
}

static bool is_meant(const hu_registry_entry *e, const hu_trace_choice *choice)
{
    return e->is_alive && e->path[0] && e->control.state < HU_SESSION_WRITING &&
           (choice->all || (choice->job && is_of_job(e, choice->job)) || is_of_processes(e, choice->pids, choice->n_pids));
}

int hu_trace_sessions_find(const hu_trace_choice *choice, hu_arena *arena, hu_trace_sessions *out, hu_error *err)
{
    hu_registry_entry *list = NULL;
    size_t             n = 0;

    *out = (hu_trace_sessions){0};
    if (hu_registry_list(arena, &list, &n, err) < 0 && err->code == HU_ENOMEM)
        return HU_ENOMEM;
    out->at = n ? hu_arena_calloc(arena, n, sizeof *out->at) : NULL;
    if (n && !out->at)
        return hu_fail_memory(err);
    for (size_t i = 0; i < n; i++)
        if (is_meant(&list[i], choice))
            out->at[out->n++] = (hu_trace_session){
                .entry = list[i], .state = HU_TRACE_ARMED, .records_anyhow = list[i].control.state == HU_SESSION_RECORDING};
    return 0;
}

static void tell(hu_trace_session *s, hu_told command, hu_trace_state next)
{
    hu_error err = {0};

    if (!s->records_anyhow && hu_tell_session(&s->entry, command, &err) < 0) {
        snprintf(s->why, sizeof s->why, "%s", err.text);
        s->state = HU_TRACE_FAILED;
        return;
    }
    s->state = next;
}

void hu_trace_session_start(hu_trace_session *s)
{
    if (s->state == HU_TRACE_ARMED)
        tell(s, HU_TOLD_START, HU_TRACE_RECORDING);
}

void hu_trace_session_stop(hu_trace_session *s)
{
    if (s->state == HU_TRACE_RECORDING)
        tell(s, HU_TOLD_STOP, HU_TRACE_WRITING);
}

typedef struct {
    const hu_trace_session *session;
    const char             *folder, *host;
} place;

static int name_file(void *context, const hu_pftrace_file *file, char *out, size_t room, hu_error *err)
{
    const place *p = context;
    char         rank[32] = "", number[16] = "";
    int          n = 0;

    if (file->rank >= 0)
        snprintf(rank, sizeof rank, "-rank%d", file->rank);
    else if (file->is_launcher)
        snprintf(rank, sizeof rank, "-launcher");
    for (int i = 2; i < 1000; i++) {
        n = snprintf(out, room, "%s/%.64s-%s%s%s.pftrace", p->folder, p->host, p->session->entry.name, rank, number);
        if (access(out, F_OK) < 0)
            break;
        snprintf(number, sizeof number, "-%d", i);
    }
    return n > 0 && (size_t)n < room ? 0 : hu_fail(err, HU_EUSAGE, p->folder, HU_NO_OFFSET, "name too long");
}

void hu_trace_session_save(hu_trace_session *s, const char *folder, const char *host, hu_arena *arena)
{
    hu_facts          *facts = hu_arena_calloc(arena, 1, sizeof *facts);
    place              where = {s, folder, host};
    hu_pftrace_options how = {.session = s->entry.path, .status = -1, .name = name_file, .context = &where};
    hu_pftrace_result  done;
    hu_error           err = {0};

    if (s->state != HU_TRACE_WRITING)
        return;
    if (facts && hu_facts_read(s->entry.path, facts, NULL) == 0 && facts->host[0])
        how.host = facts->host;
    if (hu_pftrace_write(&how, arena, &done, &err) < 0) {
        snprintf(s->why, sizeof s->why, "%s",
                 access(s->entry.path, F_OK) < 0 ? "it ended meanwhile; what it recorded is in its own trace"
                 : err.code == HU_EEMPTY         ? "nothing was recorded: its programs ended, or have no recorder in them"
                                                 : err.text);
        s->state = HU_TRACE_FAILED;
        return;
    }
    s->n_files = done.files.n;
    for (size_t i = 0; i < done.files.n; i++) {
        s->bytes += (int64_t)done.files.at[i].bytes;
        if (s->n_paths < HU_TRACE_SESSION_FILES)
            snprintf(s->paths[s->n_paths++], HU_KINETO_PATH_BYTES, "%s", done.files.at[i].path.p);
    }
    s->state = HU_TRACE_WRITTEN;
}
