/* SPDX-License-Identifier: Apache-2.0
 * cmd_view.c - `holdup view`: the page, served with as much of its timelines as it looks at.
 *
 * A page in a file holds all that it can ever show.  A served one asks for the piece of time that is in sight, in the detail
 * that its pixels have room for, so that a trace of any size opens at once.  Traces stay in memory as they were read, and
 * frozen traces may be read by any number of threads; a request works in arenas of its own.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/number.h"
#include "base/thread.h"
#include "cli/browser.h"
#include "cli/command.h"
#include "cli/server.h"
#include "cli/editions.h"
#include "render/export/export.h"

enum { MOST_PIXELS = 1 << 15, MOST_THREADS = 8, ANY_PORT = -1 };

typedef struct {
    hu_shared shared;
    int       port;
    bool      open;
} options;

static int parse_port(void *field, const char *text, hu_error *err)
{
    int64_t port;

    if (!hu_parse_i64(hu_str_of(text), &port) || (port != 0 && port < 1024) || port > UINT16_MAX)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--port needs 1024 to 65535, or 0 for any free port, not \"%s\"",
                       text);
    *(int *)field = (int)port;
    return 0;
}

static const hu_option rows[] = {
    {"port", 0, HU_OPTION_SPECIAL, "N",
     "listen on port N of 127.0.0.1 (default: 9001 or the next free one); 0: any free port", offsetof(options, port),
     .parse = parse_port, .lost_letter = 'p'},
    {"open", 0, HU_OPTION_FLAG, NULL, "open the page in a browser", offsetof(options, open)},
};

/* answers */

/* A whole number of the address in [0, most]; `missing` where it is not there. */
static int get_number(const hu_asked *asked, const char *name, int64_t most, int64_t missing, int64_t *out, hu_error *err)
{
    const char *text = hu_asked_get(asked, name);

    *out = missing;
    if (text && (!hu_parse_i64(hu_str_of(text), out) || *out < 0 || *out > most))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "%s needs a whole number from 0 to %lld", name, (long long)most);
    return 0;
}

static int get_rank(const hu_edition *v, const hu_asked *asked, size_t *rank, hu_error *err)
{
    int64_t   i;
    const int rc = get_number(asked, "rank", (int64_t)v->job.n - 1, (int64_t)v->job.verdict.rank, &i, err);

    *rank = (size_t)i;
    return rc;
}

static int answer_page(void *context, const hu_asked *asked, hu_answer *a, hu_error *err)
{
    const hu_edition *s = context;

    (void)asked;
    (void)err;
    a->type = "text/html; charset=utf-8";
    a->body = s->page;
    return 0;
}

/* /edition: the number of the one that is served now; a page of an earlier one asks for itself again. */
static int answer_edition(void *context, const hu_asked *asked, hu_answer *a, hu_error *err)
{
    const hu_edition *s = context;
    char              text[HU_NUMBER_BYTES];

    (void)asked;
    snprintf(text, sizeof text, "%u\n", s->number);
    a->type = "text/plain";
    a->arena = hu_arena_new();
    a->body = a->arena ? hu_arena_copy(a->arena, hu_str_of(text)) : (hu_str){0};
    if (a->body.p)
        return 0;
    hu_arena_free(a->arena);
    return hu_fail_memory(err);
}

/* All of the capture was encoded when the trace was read, with the simulated steps. */
static int answer_whole(const hu_timeline *t, hu_answer *a, hu_error *err)
{
    if (t->bytes.n == 0)
        return hu_fail_memory(err);
    a->body = t->bytes;
    a->unpacked_bytes = t->raw_bytes;
    return 0;
}

static int answer_part(const hu_edition *v, size_t rank, const hu_timeline_options *how, hu_answer *a, hu_error *err)
{
    hu_arena   *arena = hu_arena_new(), *scratch = hu_arena_new();
    hu_timeline t;
    int         rc;

    rc = arena && scratch ? hu_timeline_encode(v->job.ranks[rank].trace, v->job.digests[rank], how, arena, scratch, &t, err)
                          : hu_fail_memory(err);
    hu_arena_free(scratch);
    if (rc < 0) {
        hu_arena_free(arena);
        return rc;
    }
    a->body = t.bytes;
    a->arena = arena;
    a->unpacked_bytes = t.raw_bytes;
    return 0;
}

/*
 * /timeline?rank=I&from=NS&to=NS&px=N: a piece of time, in ns since the first slice, as so many pixels show it.
 * /timeline?rank=I&all=1: every slice that a page in a file would hold, for who adds them up.
 */
static int answer_timeline(void *context, const hu_asked *asked, hu_answer *a, hu_error *err)
{
    const hu_edition   *v = context;
    hu_timeline_options how = {0};
    size_t              rank;
    int64_t             all;
    int                 rc;

    if ((rc = get_rank(v, asked, &rank, err)) < 0 || (rc = get_number(asked, "all", 1, 0, &all, err)) < 0 ||
        (rc = get_number(asked, "from", INT64_MAX / 4, 0, &how.from_ns, err)) < 0 ||
        (rc = get_number(asked, "to", INT64_MAX / 4, 0, &how.to_ns, err)) < 0 ||
        (rc = get_number(asked, "px", MOST_PIXELS, 0, &how.pixels, err)) < 0)
        return rc;
    if (all)
        return answer_part(v, rank, &(hu_timeline_options){.most = HU_TIMELINE_SLICES}, a, err);
    if (how.from_ns == 0 && how.to_ns == 0)
        return answer_whole(&v->job.ranks[rank].timeline, a, err);
    if (how.to_ns <= how.from_ns)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "to needs a time later than from; 0 for both selects the whole capture");
    how.pixels = how.pixels ? how.pixels : HU_EDITION_PIXELS;
    how.index = v->indexes[rank];
    return answer_part(v, rank, &how, a, err);
}

/* What a writer of a whole trace is given. */
typedef struct {
    const hu_export_format *format;
    hu_export_part          part;
} whole_trace;

static int write_trace(void *context, hu_out *out, hu_error *err)
{
    const whole_trace *t = context;

    return t->format->write(&(hu_export){.parts = &t->part, .n = 1}, out, err);
}

/* All of a rank for another viewer.  Written while it is sent, for it may be larger than what memory or disk is left. */
static int answer_trace(const hu_edition *v, const hu_asked *asked, const hu_export_format *format, hu_answer *a,
                        hu_error *err)
{
    size_t       rank;
    const int    rc = get_rank(v, asked, &rank, err);
    whole_trace *t;

    if (rc < 0)
        return rc;
    a->arena = hu_arena_new();
    t = a->arena ? hu_arena_alloc(a->arena, sizeof *t) : NULL;
    if (!t) {
        hu_arena_free(a->arena);
        return hu_fail_memory(err);
    }
    *t = (whole_trace){format, hu_export_all(v->job.ranks[rank].trace)};
    a->write = write_trace;
    a->context = t;
    return 0;
}

static int answer_pftrace(void *context, const hu_asked *asked, hu_answer *a, hu_error *err)
{
    a->file = "trace.pftrace";
    return answer_trace(context, asked, &hu_export_perfetto, a, err);
}

static int answer_json(void *context, const hu_asked *asked, hu_answer *a, hu_error *err)
{
    a->file = "trace.json";
    a->type = "application/json";
    return answer_trace(context, asked, &hu_export_chrome, a, err);
}

/* /query?sql=SELECT... */
static int answer_query(void *context, const hu_asked *asked, hu_answer *a, hu_error *err)
{
    hu_edition *s = context;

    return hu_view_query_answer(&s->query, hu_asked_get(asked, "sql"), a, err);
}

static const hu_route routes[] = {
    {"/", false, answer_page},       {"/edition", false, answer_edition},      {"/timeline", false, answer_timeline},
    {"/query", false, answer_query}, {"/trace.pftrace", true, answer_pftrace}, {"/trace.json", true, answer_json},
};

/* the command */

/* The browser on this screen; where there is none, the way through ssh from the machine that has one. */
static void show(const options *o, const hu_door *door, const char *address, hu_browser_page *page)
{
    const char *user = getenv("USER"), *ssh = getenv("SSH_CONNECTION"), *own = getenv("BROWSER");
    const bool  is_remote = ssh && ssh[0] && !hu_browser_has_display() && !(o->open && own && own[0]);
    char        host[256] = "";

    if (is_remote && !o->shared.quiet) {
        gethostname(host, sizeof host - 1);
        hu_command_say("from your machine: ssh -N -L %u:127.0.0.1:%u %s%s%s", door->port, door->port, user ? user : "",
                       user ? "@" : "", host);
    }
    if (o->open && !is_remote) {
        const bool is_open = hu_browser_visit(address, page);

        if (!o->shared.quiet)
            hu_command_say(
                is_open ? "if the browser shows no page (a sandboxed one cannot read the file), open the address above"
                        : "cannot start a browser here; open the address above");
    }
}

/* The trace in Perfetto, which reads it from the browser that shows both. */
static void say_perfetto(const hu_door *door)
{
    if (door->port == HU_SERVER_PORT)
        hu_command_say("open in Perfetto: " HU_DOOR_PERFETTO "/#!/?url=http://127.0.0.1:%u/trace.pftrace%%3Ftoken%%3D%s",
                       door->port, door->token);
    else
        hu_command_say("no link for Perfetto: it reads only from port %d, and this is port %u", HU_SERVER_PORT, door->port);
}

static int say_where(const options *o, const hu_door *door, hu_browser_page *page, hu_error *err)
{
    char    address[128];
    hu_out *out = hu_out_open_fd(STDOUT_FILENO);
    int     rc;

    if (!out)
        return hu_fail_memory(err);
    snprintf(address, sizeof address, "http://127.0.0.1:%u/?token=%s", door->port, door->token);
    hu_out_printf(out, "%s\n", address);
    if ((rc = hu_out_close(out, err)) < 0)
        return rc;
    show(o, door, address, page);
    if (!o->shared.quiet) {
        say_perfetto(door);
        hu_command_say("press Ctrl-C to stop");
    }
    return 0;
}

/* Until the user has seen enough. */
static int serve(const options *o, hu_editions *editions, hu_edition *first, const hu_inputs *inputs, hu_server *server,
                 hu_error *err)
{
    const int               threads = hu_thread_count();
    const hu_server_options how = {.routes = routes,
                                   .n_routes = HU_COUNT(routes),
                                   .context = editions,
                                   .hold = hu_editions_hold,
                                   .let_go = hu_editions_let_go,
                                   .threads = threads < 2              ? 2
                                              : threads > MOST_THREADS ? MOST_THREADS
                                                                       : threads};
    const struct timespec   pause = {.tv_nsec = 200000000};
    hu_browser_page         page = {0};
    sigset_t                ends;
    int                     rc;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);                /* the terminal is closed */
    pthread_sigmask(SIG_BLOCK, &ends, NULL); /* in all other threads too: the wait below takes them */
    hu_editions_begin(editions, first, inputs);
    if ((rc = hu_server_start(server, &how, err)) < 0 || (rc = say_where(o, hu_server_door(server), &page, err)) < 0)
        return rc;
    while (sigtimedwait(&ends, NULL, &pause) < 0)
        hu_server_sweep(server);
    hu_browser_forget(&page);
    return 0;
}

static int run(hu_cli_call *call)
{
    const options          *o = call->options;
    const hu_edition_source source = {
        .shared = &o->shared, .paths = call->argv, .n = (size_t)call->n, .source = call->source};
    hu_error    err = {0};
    hu_server  *server = hu_server_open(o->port, &err); /* a port that is taken shows before the reading */
    hu_editions editions;
    hu_edition *first;
    int         status, rc;

    if (!server)
        return hu_command_fail(&err);
    hu_editions_init(&editions, &source, &call->inputs);
    first = hu_edition_read(&source, &call->inputs, 1, &status);
    if (!first) {
        hu_server_close(server);
        return status;
    }
    rc = serve(o, &editions, first, &call->inputs, server, &err);
    hu_server_close(server);
    if (!hu_editions_end(&editions))
        _exit(rc < 0 ? hu_command_fail(&err) : 0); /* with the reading that nobody waits for */
    return rc < 0 ? hu_command_fail(&err) : 0;
}

const hu_command hu_command_view = {
    .name = "view",
    .group = HU_GROUP_EXPLAIN,
    .summary = "serve the page of report --html, for traces of any size",
    .usage = "[options] FILE|DIRECTORY|- ...",
    .about = "Reads traces and serves the page of `report --html` on this machine until Ctrl-C.\n"
             "The page loads only the visible part of the timeline, so even the largest trace\n"
             "opens at once and shows every slice of every rank.  When a file changes, it is read\n"
             "again, and open pages follow.  Of several runs, any two traces are compared.  The\n"
             "server answers only requests from this machine that hold the token of the printed\n"
             "address.",
    .examples = "  holdup view trace.json.gz --open\n"
                "  holdup view run/ --port 0\n"
                "  holdup view before/ after/",
    .wants = "a trace",
    .example = "holdup view trace.json.gz",
    .least = 1,
    .words = HU_WORDS_PATHS,
    .needs = HU_NEEDS_INPUTS | HU_NEEDS_LONGER_LIFE,
    .shared = HU_SHARED_STEPS | HU_SHARED_QUIET | HU_SHARED_STRICT | HU_SHARED_READING | HU_SHARED_CPUS,
    .closer = (const hu_option_help[]){{"steps", "analyse only steps A to B; the timeline shows all"},
                                       {"quiet", "print only the address"},
                                       {NULL, NULL}},
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .defaults = &(const options){.port = ANY_PORT},
    .run = run,
};
