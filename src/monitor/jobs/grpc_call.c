/* SPDX-License-Identifier: Apache-2.0
 * grpc_call.c - a client of HTTP/2 (libnghttp2) with a connection for each call: a local one costs little, and one that
 * is kept has to be mended whenever the server starts again or says that it is old. */
#include "monitor/jobs/grpc_call.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/late/nghttp2.h"
#include "base/number.h"

/* The kubelet sends up to 16 MiB; what is kept between calls is less. */
enum {
    ANSWER_MOST = 16 << 20,
    PREFIX = 5,
    KEPT = 256 << 10,
    FIRST_ROOM = 16 << 10,
    STATUS_NONE = -1,
    WHY = 160,
    MS = 1000000
};

struct hu_grpc {
    const char      *path, *method;
    int              fd;
    nghttp2_session *session;
    int32_t          stream;
    int64_t          deadline_ns;
    hu_grpc_state    state;
    int              http_status, grpc_status;
    bool             is_closed; /* the stream */
    unsigned char   *body;
    size_t           n, room;
    char             why[WHY], message[WHY / 2];
};

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void hang_up(hu_grpc *g)
{
    if (g->session)
        nghttp2_session_del(g->session);
    g->session = NULL;
    if (g->fd >= 0)
        close(g->fd);
    g->fd = -1;
}

static hu_grpc_state fail(hu_grpc *g, const char *why)
{
    hang_up(g);
    snprintf(g->why, sizeof g->why, "%s", why);
    return g->state = HU_GRPC_FAILED;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t n, void *to)
{
    hu_grpc *g = to;

    (void)session;
    (void)flags;
    if (stream != g->stream)
        return 0;
    if (n > ANSWER_MOST + PREFIX - g->n)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (g->n + n > g->room) {
        size_t         room = g->room ? g->room : FIRST_ROOM;
        unsigned char *body;

        while (room < g->n + n)
            room *= 2;
        body = realloc(g->body, room);
        if (!body)
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        g->body = body;
        g->room = room;
    }
    memcpy(g->body + g->n, data, n);
    g->n += n;
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t n,
                     const uint8_t *value, size_t value_n, uint8_t flags, void *to)
{
    const hu_str key = {(const char *)name, n}, text = {(const char *)value, value_n};
    hu_grpc     *g = to;
    uint64_t     number;

    (void)session;
    (void)flags;
    if (frame->hd.stream_id != g->stream)
        return 0;
    if (hu_str_equal(key, HU_STR(":status")) && hu_parse_u64(text, &number) && number < 1000)
        g->http_status = (int)number;
    else if (hu_str_equal(key, HU_STR("grpc-status")) && hu_parse_u64(text, &number) && number < 1000)
        g->grpc_status = (int)number;
    else if (hu_str_equal(key, HU_STR("grpc-message")))
        snprintf(g->message, sizeof g->message, "%.*s", HU_FMT(text));
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t code, void *to)
{
    hu_grpc *g = to;

    (void)session;
    if (stream == g->stream)
        g->is_closed = true;
    if (stream == g->stream && code && g->grpc_status == STATUS_NONE)
        snprintf(g->message, sizeof g->message, "HTTP/2 error %u", code);
    return 0;
}

static bool open_session(hu_grpc *g)
{
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20},
                                               {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                               {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1}};
    nghttp2_session_callbacks   *calls;
    bool                         is_made;

    if (nghttp2_session_callbacks_new(&calls) != 0)
        return false;
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, on_data);
    nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
    nghttp2_session_callbacks_set_on_stream_close_callback(calls, on_stream_close);
    is_made = nghttp2_session_client_new(&g->session, calls, g) == 0;
    nghttp2_session_callbacks_del(calls);
    return is_made && nghttp2_submit_settings(g->session, NGHTTP2_FLAG_NONE, settings, HU_COUNT(settings)) == 0 &&
           nghttp2_session_set_local_window_size(g->session, NGHTTP2_FLAG_NONE, 0, 1 << 20) == 0;
}

/* A socket whose queue is full says so at once (EAGAIN), and is asked again with the next call. */
static bool connect_to(hu_grpc *g)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    hu_error           err;

    if (strlen(g->path) >= sizeof to.sun_path) {
        fail(g, "the path of the socket is too long (107 bytes at most)");
        return false;
    }
    if (hu_late_open(&hu_nghttp2_library, &err) < 0) {
        fail(g, err.text);
        return false;
    }
    memcpy(to.sun_path, g->path, strlen(g->path));
    g->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (g->fd < 0 || connect(g->fd, (const struct sockaddr *)&to, sizeof to) < 0) {
        const int why = errno;

        fail(g, strerror(why));
        if (why == ENOENT)
            g->state = HU_GRPC_ABSENT;
        return false;
    }
    if (!open_session(g)) {
        fail(g, "no memory");
        return false;
    }
    return true;
}

/* The body: a message without fields. */
static ssize_t read_body(nghttp2_session *session, int32_t stream, uint8_t *out, size_t room, uint32_t *flags,
                         nghttp2_data_source *source, void *to)
{
    (void)session;
    (void)stream;
    (void)source;
    (void)to;
    if (room < PREFIX)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    memset(out, 0, PREFIX);
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    return PREFIX;
}

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value),
                        NGHTTP2_NV_FLAG_NONE};
}

void hu_grpc_begin(hu_grpc *g, int64_t deadline_ns)
{
    const nghttp2_data_provider body = {.read_callback = read_body};
    const nghttp2_nv            headers[] = {header(":method", "POST"),
                                             header(":scheme", "http"),
                                             header(":path", g->method),
                                             header(":authority", "localhost"),
                                             header("te", "trailers"),
                                             header("content-type", "application/grpc"),
                                             header("user-agent", "holdup/" HU_VERSION)};

    hang_up(g);
    if (g->room > KEPT) {
        free(g->body);
        g->body = NULL;
        g->room = 0;
    }
    g->n = 0;
    g->http_status = g->grpc_status = STATUS_NONE;
    g->is_closed = false;
    g->why[0] = g->message[0] = '\0';
    g->deadline_ns = deadline_ns;
    g->state = HU_GRPC_WAITING;
    if (!connect_to(g))
        return;
    g->stream = nghttp2_submit_request(g->session, NULL, headers, HU_COUNT(headers), &body, NULL);
    if (g->stream < 0)
        fail(g, nghttp2_strerror(g->stream));
}

/* False: the connection is of no more use. */
static bool send_all(hu_grpc *g, bool *is_blocked)
{
    const uint8_t *bytes;
    ssize_t        n;

    *is_blocked = false;
    /* what a full socket does not take is lost, so it is asked for room first; frames of a client are small */
    while (nghttp2_session_want_write(g->session)) {
        struct pollfd p = {.fd = g->fd, .events = POLLOUT};

        if (poll(&p, 1, 0) != 1 || !(p.revents & POLLOUT)) {
            *is_blocked = true;
            return true;
        }
        n = nghttp2_session_mem_send(g->session, &bytes);
        if (n < 0)
            return false;
        if (n == 0)
            return true;
        if (send(g->fd, bytes, (size_t)n, MSG_NOSIGNAL) != n)
            return false;
    }
    return true;
}

/* 1: something came, 0: nothing yet, -1: the connection is of no more use. */
static int receive(hu_grpc *g)
{
    uint8_t       chunk[16 << 10];
    const ssize_t n = recv(g->fd, chunk, sizeof chunk, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0 || nghttp2_session_mem_recv(g->session, chunk, (size_t)n) != n)
        return -1;
    return 1;
}

static hu_grpc_state finish(hu_grpc *g)
{
    const size_t most = g->n >= PREFIX
                            ? (size_t)g->body[1] << 24 | (size_t)g->body[2] << 16 | (size_t)g->body[3] << 8 | g->body[4]
                            : 0;
    char         why[WHY];

    if (g->http_status == 200 && g->grpc_status == 0) {
        if (g->n < PREFIX || g->body[0] != 0 || most != g->n - PREFIX)
            return fail(g, "its answer is not one whole message");
        hang_up(g);
        return g->state = HU_GRPC_DONE;
    }
    if (g->http_status != 200)
        snprintf(why, sizeof why, "it answers with HTTP status %d", g->http_status);
    else if (g->grpc_status >= 0)
        snprintf(why, sizeof why, "it answers with gRPC status %d %s", g->grpc_status, g->message);
    else
        snprintf(why, sizeof why, "it answers without a gRPC status %s", g->message);
    return fail(g, why);
}

hu_grpc_state hu_grpc_go_on(hu_grpc *g, int wait_ms)
{
    const int64_t until = now_ns() + (int64_t)wait_ms * MS;

    while (g->state == HU_GRPC_WAITING) {
        struct pollfd p = {.fd = g->fd, .events = POLLIN};
        bool          is_blocked, is_sent;
        int64_t       left;
        int           got;

        is_sent = send_all(g, &is_blocked);
        got = receive(g); /* a server that has hung up may have answered before */
        if (got < 0 && !g->is_closed)
            return fail(g, g->n > ANSWER_MOST / 2 ? "its answer is longer than 16 MiB" : "it closed the connection");
        if (g->is_closed)
            return finish(g);
        if (got == 0 && !is_sent)
            return fail(g, "the connection broke");
        if (now_ns() > g->deadline_ns)
            return fail(g, "it does not answer");
        left = until - now_ns();
        if (left <= 0)
            break;
        if (got > 0)
            continue;
        p.events |= is_blocked ? POLLOUT : 0;
        poll(&p, 1, (int)(left / MS) + 1);
    }
    return g->state;
}

hu_grpc *hu_grpc_new(const char *path, const char *method)
{
    hu_grpc *g = calloc(1, sizeof *g);

    if (g) {
        g->path = path;
        g->method = method;
        g->fd = -1;
    }
    return g;
}

void hu_grpc_free(hu_grpc *g)
{
    if (!g)
        return;
    hang_up(g);
    free(g->body);
    free(g);
}

bool hu_grpc_is_waiting(const hu_grpc *g)
{
    return g->state == HU_GRPC_WAITING;
}

hu_str hu_grpc_answer(const hu_grpc *g)
{
    return g->state == HU_GRPC_DONE ? (hu_str){(const char *)g->body + PREFIX, g->n - PREFIX} : HU_STR("");
}

const char *hu_grpc_why(const hu_grpc *g)
{
    return g->why;
}
