/* SPDX-License-Identifier: Apache-2.0
 * feed_http.c - another node's monitor: GET /metrics over TCP, one connection for each look.
 *
 * HTTP/1.0, so that the answer is not cut into chunks.  Whoever answers may be slow, endless or no monitor at all: a look
 * has a deadline, an answer has a greatest size, and what is no text of series is said and not shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "top/feed.h"
#include "top/text.h"

enum { ANSWER_MOST = 32 << 20, LOOK_MS = 5000, POLL_MS = 100, HOST_ROOM = 256, PORT_ROOM = 8, HEAD_MOST = 16384 };

#define SECOND_NS INT64_C(1000000000)

typedef struct {
    char    host[HOST_ROOM], port[PORT_ROOM], authority[HOST_ROOM + PORT_ROOM + 4];
    char   *answer;
    size_t  n, room;
    int64_t last_ns; /* of the last answer, or of the beginning */
} http;

/* ---- one request ------------------------------------------------------------------------------------------------- */

/* Until the socket can, or the time is up.  False: why is in errno. */
static bool can(const hu_top_feed *f, int fd, short event, int64_t end_ns)
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = event};
        const int     n = poll(&p, 1, POLL_MS);

        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
        errno = ETIMEDOUT;
        if (hu_top_feed_must_end(f) || hu_top_now_ns() > end_ns)
            return false;
    }
}

static int connect_one(const hu_top_feed *f, const struct addrinfo *a, int64_t end_ns)
{
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int       why = 0;
    socklen_t n = sizeof why;

    if (fd < 0)
        return -1;
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
        return fd;
    if (errno == EINPROGRESS && can(f, fd, POLLOUT, end_ns) && getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &n) == 0) {
        if (why == 0)
            return fd;
        errno = why;
    }
    why = errno;
    close(fd);
    errno = why;
    return -1;
}

static int connect_any(const hu_top_feed *f, int64_t end_ns, char state[HU_TOP_STATE])
{
    const http           *h = f->own;
    const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo      *found = NULL;
    const int             rc = getaddrinfo(h->host, h->port, &wanted, &found);
    int                   fd = -1;
    char                  word[64] = "";

    if (rc != 0) {
        snprintf(state, HU_TOP_STATE, "%.100s", gai_strerror(rc));
        return -1;
    }
    for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next)
        fd = connect_one(f, a, end_ns);
    if (fd < 0)
        snprintf(state, HU_TOP_STATE, "%.100s", strerror_r(errno, word, sizeof word));
    freeaddrinfo(found);
    return fd;
}

static bool send_request(const hu_top_feed *f, int fd, int64_t end_ns)
{
    const http *h = f->own;
    char        text[HOST_ROOM + 256];
    const int   n = snprintf(text, sizeof text,
                             "GET /metrics HTTP/1.0\r\nHost: %s\r\nUser-Agent: holdup/%s\r\n"
                               "Accept: text/plain;version=0.0.4\r\nConnection: close\r\n\r\n",
                             h->authority, HU_VERSION);

    for (int at = 0; at < n;) {
        const ssize_t done = send(fd, text + at, (size_t)(n - at), MSG_NOSIGNAL);

        if (done > 0)
            at += (int)done;
        else if (errno != EAGAIN && errno != EINTR)
            return false;
        else if (!can(f, fd, POLLOUT, end_ns))
            return false;
    }
    return true;
}

static bool read_answer(const hu_top_feed *f, int fd, int64_t end_ns)
{
    http *h = f->own;

    for (h->n = 0;;) {
        ssize_t got;

        if (h->room - h->n < 4096) {
            const size_t room = h->room ? 2 * h->room : 65536;
            char        *more = room > ANSWER_MOST ? NULL : realloc(h->answer, room);

            if (!more) {
                errno = EFBIG;
                return false;
            }
            h->answer = more;
            h->room = room;
        }
        got = recv(fd, h->answer + h->n, h->room - h->n, 0);
        if (got == 0)
            return true;
        if (got > 0)
            h->n += (size_t)got;
        else if (errno != EAGAIN && errno != EINTR)
            return false;
        if ((got > 0 && hu_top_now_ns() > end_ns) || (got < 0 && !can(f, fd, POLLIN, end_ns))) {
            errno = ETIMEDOUT;
            return false;
        }
    }
}

/* ---- what it means ----------------------------------------------------------------------------------------------- */

static hu_top_look *take_answer(const http *h, char state[HU_TOP_STATE])
{
    const size_t most = h->n < HEAD_MOST ? h->n : HEAD_MOST;
    const char  *end = most ? memmem(h->answer, most, "\r\n\r\n", 4) : NULL;
    hu_str       status = {h->answer + 9, 3}, body;
    hu_top_look *l;
    size_t       line;

    if (!end || h->n < 16 || memcmp(h->answer, "HTTP/1.", 7) != 0) {
        snprintf(state, HU_TOP_STATE, "what answers does not speak HTTP: is it TLS? (top has none; use an ssh tunnel)");
        return NULL;
    }
    if (!hu_str_equal(status, HU_STR("200"))) {
        const bool is_closed = hu_str_equal(status, HU_STR("401")) || hu_str_equal(status, HU_STR("403"));

        snprintf(state, HU_TOP_STATE, is_closed ? "it wants a password (HTTP %.3s), and top sends none" : "HTTP status %.3s",
                 status.p);
        return NULL;
    }
    body = (hu_str){end + 4, h->n - (size_t)(end + 4 - h->answer)};
    l = hu_top_look_new();
    if (l && hu_top_text_take(l, body, &line))
        return l;
    if (l)
        snprintf(state, HU_TOP_STATE, "line %zu of its answer is no series: is it `holdup monitor`?", line);
    else
        snprintf(state, HU_TOP_STATE, "out of memory");
    hu_top_look_free(l);
    return NULL;
}

static hu_top_look *look_http(hu_top_feed *f, char state[HU_TOP_STATE])
{
    http         *h = f->own;
    const int64_t end_ns = hu_top_now_ns() + LOOK_MS * (SECOND_NS / 1000);
    char          why[HU_TOP_STATE] = "", word[64] = "";
    hu_top_look  *l = NULL;
    const int     fd = connect_any(f, end_ns, why);

    if (fd >= 0) {
        if (send_request(f, fd, end_ns) && read_answer(f, fd, end_ns))
            l = take_answer(h, why);
        else if (errno == EFBIG)
            snprintf(why, sizeof why, "its answer is larger than %d MiB", ANSWER_MOST >> 20);
        else
            snprintf(why, sizeof why, "%.100s", strerror_r(errno, word, sizeof word));
        close(fd);
    }
    if (l)
        h->last_ns = hu_top_now_ns();
    else
        snprintf(state, HU_TOP_STATE, "no answer for %lld s: %.120s",
                 (long long)((hu_top_now_ns() - h->last_ns) / SECOND_NS), why);
    return l;
}

static void wait_http(hu_top_feed *f, int ms)
{
    (void)f;
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

static void close_http(hu_top_feed *f)
{
    http *h = f->own;

    free(h->answer);
    free(h);
}

/* ---- the address ------------------------------------------------------------------------------------------------- */

static hu_str without(hu_str s, hu_str front)
{
    return hu_str_starts(s, front) ? (hu_str){s.p + front.n, s.n - front.n} : s;
}

/* HOST, HOST:PORT or [IPV6]:PORT, with or without http:// and /metrics. */
static bool parse_address(const char *address, http *h)
{
    hu_str      s = without(hu_str_of(address), HU_STR("http://")), host, port = HU_STR("9878");
    const char *slash = s.n ? memchr(s.p, '/', s.n) : NULL, *colon;
    uint64_t    number;

    if (slash && !hu_str_equal((hu_str){slash, s.n - (size_t)(slash - s.p)}, HU_STR("/metrics")) && slash + 1 != s.p + s.n)
        return false;
    s.n = slash ? (size_t)(slash - s.p) : s.n;
    if (s.n && s.p[0] == '[') {
        const char *end = memchr(s.p, ']', s.n);

        if (!end)
            return false;
        host = (hu_str){s.p + 1, (size_t)(end - s.p) - 1};
        colon = end + 1 < s.p + s.n ? end + 1 : NULL;
    } else {
        colon = s.n ? memchr(s.p, ':', s.n) : NULL;
        host = (hu_str){s.p, colon ? (size_t)(colon - s.p) : s.n};
    }
    if (colon)
        port = (hu_str){colon + 1, (size_t)(s.p + s.n - colon) - 1};
    if ((colon && *colon != ':') || host.n == 0 || host.n >= HOST_ROOM || !hu_parse_u64(port, &number) || number == 0 ||
        number > 65535)
        return false;
    for (size_t i = 0; i < host.n; i++)
        if ((unsigned char)host.p[i] <= ' ' || host.p[i] == 0x7f)
            return false;
    snprintf(h->host, sizeof h->host, "%.*s", HU_FMT(host));
    snprintf(h->port, sizeof h->port, "%u", (unsigned)number);
    snprintf(h->authority, sizeof h->authority, s.p[0] == '[' ? "[%s]:%s" : "%s:%s", h->host, h->port);
    return true;
}

hu_top_feed *hu_top_feed_http(const char *address, int64_t interval_ns, hu_error *err)
{
    static const hu_top_feed_kind kind = {look_http, wait_http, close_http};
    http                         *h = calloc(1, sizeof *h);
    hu_top_feed                  *f;

    if (!h) {
        hu_fail_memory(err);
        return NULL;
    }
    if (!parse_address(address, h)) {
        free(h);
        hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "\"%.100s\" is not HOST:PORT of a `holdup monitor`%s", address,
                strncmp(address, "https:", 6) == 0 ? "; TLS is not spoken, use an ssh tunnel" : "");
        return NULL;
    }
    h->last_ns = hu_top_now_ns();
    f = hu_top_feed_new(&kind, h->authority, interval_ns, h, err);
    if (!f)
        free(h);
    return f;
}
