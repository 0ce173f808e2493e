/* SPDX-License-Identifier: Apache-2.0
 * server.c - libmicrohttpd reads the requests; who is let in, door.c says.
 *
 * The socket is made here and not by the library, so that a port that is taken can be told from other troubles, and the
 * next one tried.  A few threads share it: one slow answer must not hold up the page.  What a stranger could cost is
 * bounded: connections (guests.h), bytes and seconds of a request's head, seconds of silence; and bodies of requests are
 * never read.
 */
#include "cli/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/late/microhttpd.h"
#include "cli/guests.h"

enum { MOST_TRIED = 50, MOST_CONNECTIONS = 64, HEAD_BYTES = 16 << 10, SILENCE_S = 30, STATUS_TEXT = 1024 };
enum { BLOCK_BYTES = 64 << 10, LAST_WAIT_MS = 200 };

#define HEAD_NS 5000000000 /* for a whole request's head: programs send it at once */

struct hu_server {
    int                socket;
    struct MHD_Daemon *daemon;
    hu_door            door;
    hu_server_options  options;
    hu_guests          guests;
    hu_streams         streams;
};

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct hu_asked {
    struct MHD_Connection *connection;
};

const char *hu_asked_get(const hu_asked *asked, const char *name)
{
    return MHD_lookup_connection_value(asked->connection, MHD_GET_ARGUMENT_KIND, name);
}

static void give_back(void *lent)
{
    hu_lent_return(lent);
    free(lent);
}

/* What every answer says, so that no page from elsewhere shows, reads or keeps it. */
static void add_headers(struct MHD_Response *r)
{
    static const char *const headers[][2] = {
        {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"X-Frame-Options", "DENY"},
        {"Content-Security-Policy", "frame-ancestors 'none'"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
    };

    for (size_t i = 0; i < HU_COUNT(headers); i++)
        MHD_add_response_header(r, headers[i][0], headers[i][1]);
}

/* Page of ui.perfetto.dev: may read this one, and may ask a private network for it. */
static void add_permission(struct MHD_Response *r)
{
    MHD_add_response_header(r, "Access-Control-Allow-Origin", HU_DOOR_PERFETTO);
    MHD_add_response_header(r, "Access-Control-Allow-Methods", "GET, HEAD");
    MHD_add_response_header(r, "Access-Control-Allow-Private-Network", "true");
    MHD_add_response_header(r, "Vary", "Origin");
}

static enum MHD_Result say(struct MHD_Connection *c, unsigned status, const char *text)
{
    char                 line[STATUS_TEXT];
    const int            n = snprintf(line, sizeof line, "%s\n", text);
    struct MHD_Response *r = MHD_create_response_from_buffer(n < STATUS_TEXT ? (size_t)n : STATUS_TEXT - 1, line,
                                                             MHD_RESPMEM_MUST_COPY);
    enum MHD_Result      rc;

    if (!r)
        return MHD_NO;
    add_headers(r);
    MHD_add_response_header(r, "Content-Type", "text/plain; charset=utf-8");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(r, "Allow", "GET, HEAD");
    rc = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return rc;
}

static enum MHD_Result permit(struct MHD_Connection *c)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    enum MHD_Result      rc;

    if (!r)
        return MHD_NO;
    add_headers(r);
    add_permission(r);
    rc = MHD_queue_response(c, MHD_HTTP_NO_CONTENT, r);
    MHD_destroy_response(r);
    return rc;
}

static ssize_t read_stream(void *stream, uint64_t at, char *bytes, size_t most)
{
    const ssize_t n = hu_stream_read(stream, bytes, most);

    (void)at;
    return n > 0 ? n : n == 0 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void end_stream(void *stream)
{
    hu_stream_end(stream);
}

static struct MHD_Response *wrap_stream(hu_server *s, const hu_answer *a, const hu_lent *lent)
{
    hu_stream           *stream = hu_stream_new(&s->streams, a->write, a->context, lent);
    struct MHD_Response *r = stream ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, stream,
                                                                        end_stream)
                                    : NULL;

    if (!r && stream)
        hu_stream_end(stream);
    return r;
}

/* The response gives back what is lent.  NULL, and it is back, when there is no memory. */
static struct MHD_Response *wrap(hu_server *s, const hu_answer *a, const hu_lent *lent)
{
    struct MHD_Response *r;
    hu_lent             *own;

    if (a->write)
        return wrap_stream(s, a, lent);
    own = malloc(sizeof *own);
    if (!own) {
        hu_lent_return(lent);
        return NULL;
    }
    *own = *lent;
    r = MHD_create_response_from_buffer_with_free_callback_cls(a->body.n, (void *)(uintptr_t)a->body.p, give_back, own);
    if (!r)
        give_back(own);
    return r;
}

static void describe(struct MHD_Response *r, const hu_answer *a)
{
    char text[256];

    add_headers(r);
    MHD_add_response_header(r, "Content-Type", a->type);
    if (a->file) {
        snprintf(text, sizeof text, "attachment; filename=\"%s\"", a->file);
        MHD_add_response_header(r, "Content-Disposition", text);
    }
    if (a->unpacked_bytes) {
        snprintf(text, sizeof text, "%zu", a->unpacked_bytes);
        MHD_add_response_header(r, "X-Unpacked-Bytes", text);
    }
}

static unsigned status_of(int code)
{
    return code == HU_EUSAGE   ? MHD_HTTP_BAD_REQUEST
           : code == HU_ENOMEM ? MHD_HTTP_SERVICE_UNAVAILABLE
                               : MHD_HTTP_INTERNAL_SERVER_ERROR;
}

static enum MHD_Result answer(hu_server *s, const hu_route *route, struct MHD_Connection *c, const hu_visitor *v)
{
    const hu_asked       asked = {c};
    hu_answer            a = {.type = "application/octet-stream"};
    hu_lent              lent = {.let_go = s->options.let_go, .held = s->options.hold(s->options.context)};
    hu_error             err = {0};
    struct MHD_Response *r;
    enum MHD_Result      rc;

    if (route->answer(lent.held, &asked, &a, &err) < 0) {
        lent.let_go(lent.held);
        return say(c, status_of(err.code), err.text);
    }
    lent.arena = a.arena;
    r = wrap(s, &a, &lent);
    if (!r)
        return MHD_NO;
    describe(r, &a);
    if (hu_door_is_perfetto(v))
        add_permission(r);
    if (v->token && strcmp(route->path, "/") == 0) {
        char cookie[sizeof s->door.cookie + HU_TOKEN_BYTES + 64];

        snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict", s->door.cookie, s->door.token);
        MHD_add_response_header(r, "Set-Cookie", cookie);
    }
    rc = MHD_queue_response(c, MHD_HTTP_OK, r);
    MHD_destroy_response(r);
    return rc;
}

static const hu_route *find(const hu_server *s, const char *path)
{
    for (size_t i = 0; i < s->options.n_routes; i++)
        if (strcmp(s->options.routes[i].path, path) == 0)
            return &s->options.routes[i];
    return NULL;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *c, const char *path, const char *method,
                                  const char *version, const char *body, size_t *body_bytes, void **state)
{
    hu_server       *s = context;
    const hu_route  *route = find(s, path);
    const hu_visitor v = {
        .method = method,
        .host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host"),
        .origin = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin"),
        .token = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token"),
        .cookie = MHD_lookup_connection_value(c, MHD_COOKIE_KIND, s->door.cookie),
        .is_for_perfetto = route && route->is_for_perfetto,
    };
    const char    *why;
    const unsigned refused = hu_door_judge(&s->door, &v, &why);

    (void)version;
    (void)body;
    (void)body_bytes;
    (void)state;
    if (refused)
        return say(c, refused, why);
    hu_guests_know(&s->guests, MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
    if (strcmp(method, "OPTIONS") == 0)
        return permit(c);
    return route ? answer(s, route, c, &v) : say(c, MHD_HTTP_NOT_FOUND, "there is nothing at this address");
}

/* Connections come and go; a socket is closed after its word of going. */
static void on_connection(void *context, struct MHD_Connection *c, void **guest, enum MHD_ConnectionNotificationCode what)
{
    hu_server *s = context;

    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        *guest = hu_guests_enter(&s->guests, MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
                                 now());
    else
        hu_guests_leave(&s->guests, *guest);
}

void hu_server_sweep(hu_server *s)
{
    hu_guests_sweep(&s->guests, now(), HEAD_NS);
}

/* What the library says about requests that it refuses is of no use to the user. */
static void be_silent(void *context, const char *format, va_list args)
{
    (void)context;
    (void)format;
    (void)args;
}

static int bind_to(int fd, unsigned port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    return bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 && listen(fd, SOMAXCONN) == 0 ? 0 : errno;
}

static int fail_bind(int port, int reason, hu_error *err)
{
    if (reason == EADDRINUSE && port > 0)
        return hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "port %d is in use; --port 0 takes any free one", port);
    return hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "cannot listen on port %d of 127.0.0.1: %s; try --port 0",
                   port > 0 ? port : HU_SERVER_PORT, strerror(reason));
}

/* A socket of its own for each try: one that failed to listen may already be bound.  Returns it, or an error. */
static int listen_on(int port, hu_error *err)
{
    const unsigned first = port < 0 ? HU_SERVER_PORT : (unsigned)port, n = port < 0 ? MOST_TRIED : 1;
    const int      yes = 1;
    int            reason = 0;

    for (unsigned i = 0; i < n; i++) {
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0)
            return fail_bind(port, errno, err);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes); /* connections that just ended */
        reason = bind_to(fd, first + i);
        if (reason == 0)
            return fd;
        close(fd);
        if (reason != EADDRINUSE)
            break;
    }
    return fail_bind(port, reason, err);
}

hu_server *hu_server_open(int port, hu_error *err)
{
    hu_server         *s = calloc(1, sizeof *s);
    struct sockaddr_in address;
    socklen_t          size = sizeof address;

    if (!s) {
        hu_fail_memory(err);
        return NULL;
    }
    hu_guests_init(&s->guests);
    s->streams.stop = eventfd(0, EFD_CLOEXEC);
    if (s->streams.stop < 0) {
        hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "cannot open another file: %s", strerror(errno));
        s->socket = -1;
    } else {
        s->socket = listen_on(port, err);
    }
    if (s->socket < 0) {
        hu_server_close(s);
        return NULL;
    }
    if (getsockname(s->socket, (struct sockaddr *)&address, &size) != 0)
        hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "cannot determine the port: %s", strerror(errno));
    else if (hu_door_init(&s->door, ntohs(address.sin_port), err) == 0)
        return s;
    hu_server_close(s);
    return NULL;
}

const hu_door *hu_server_door(const hu_server *server)
{
    return &server->door;
}

int hu_server_start(hu_server *s, const hu_server_options *options, hu_error *err)
{
    s->options = *options;
    if (hu_late_open(&hu_microhttpd_library, err) < 0)
        return err->code;
    s->daemon = MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, s,
                                 MHD_OPTION_EXTERNAL_LOGGER, be_silent, NULL, MHD_OPTION_LISTEN_SOCKET, s->socket,
                                 MHD_OPTION_THREAD_POOL_SIZE, (unsigned)options->threads, MHD_OPTION_CONNECTION_LIMIT,
                                 (unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_BYTES,
                                 MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_S, MHD_OPTION_STRICT_FOR_CLIENT, 1,
                                 MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_END);
    if (!s->daemon)
        return hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "cannot start the server: %s", strerror(errno));
    s->socket = -1; /* the daemon closes it */
    return 0;
}

/* Writers end at their next word; one that is still preparing its first is not waited for. */
static bool stop_writers(hu_server *s)
{
    for (int i = 0; i < LAST_WAIT_MS && atomic_load(&s->streams.writers) > 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return atomic_load(&s->streams.writers) == 0;
}

bool hu_server_close(hu_server *s)
{
    if (!s)
        return true;
    if (s->streams.stop >= 0)
        eventfd_write(s->streams.stop, 1); /* who waits for a writer waits no more */
    if (s->daemon)
        MHD_stop_daemon(s->daemon);
    if (s->socket >= 0)
        close(s->socket);
    if (!stop_writers(s))
        return false;
    if (s->streams.stop >= 0)
        close(s->streams.stop);
    hu_guests_free(&s->guests);
    free(s);
    return true;
}
