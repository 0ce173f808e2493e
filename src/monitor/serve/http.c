/* SPDX-License-Identifier: Apache-2.0
 * http.c - libmicrohttpd reads requests and sends answers; who connects, for how long, and with which certificates is ours.
 *
 * One thread accepts, and hands connections to a "house": a server of the library with one set of certificates.  When those
 * change, new connections go to a new house, and the old one closes when its answers are sent.  What a stranger could cost
 * is bounded: connections and their time (visitors.h), bytes of a request, scrapes at a time, hashes of passwords
 * (web_auth.h).
 */
#include "monitor/serve/http.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/late/microhttpd.h"
#include "base/number.h"
#include "monitor/serve/client_cert.h"
#include "monitor/serve/http_pages.h"
#include "monitor/serve/visitors.h"
#include "monitor/serve/web_auth.h"

enum { SCRAPES_MOST = 40, HEAD_BYTES = 8 << 10, BODY_MOST = 64 << 10, AT_ONCE = 32, OPTIONS = 16 };
enum { LEAST_WAIT_MS = 10, MOST_WAIT_MS = 2000 };

#define SECOND      INT64_C(1000000000)
#define PATIENCE_NS (30 * SECOND) /* to take an answer, unless the scrape itself says less */
#define FAREWELL_NS (2 * SECOND)  /* for the answers of a house that closes */

typedef struct {
    hu_http           *http;
    struct MHD_Daemon *daemon;
    hu_client_auth     client_auth;
    bool               is_closing; /* of http.lock */
} house;

struct hu_http {
    hu_listener     listener[HU_HTTP_LISTEN_MOST];
    size_t          n_listeners;
    const char     *config_path;
    hu_text_names   names;
    hu_pages       *pages;
    hu_web_auth    *auth;
    hu_visitors     visitors;
    pthread_mutex_t lock;
    hu_web_config  *config; /* of lock, as what follows */
    house          *house, *leaving;
    int64_t         leaves_ns;
    double          tokens; /* of the rate limit */
    int64_t         tokens_ns;
    pthread_mutex_t pages_lock;
    _Atomic int     scrapes;
    pthread_t       thread;
    bool            has_thread;
    int             wake; /* eventfd */
};

/* What belongs to a request, until it is answered. */
typedef struct {
    house                 *house;
    struct MHD_Connection *connection;
    hu_web_config         *config;
    size_t                 body;
    bool                   is_scrape, is_counted;
    hu_auth_question       question;
} request;

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static enum MHD_Result send_response(request *r, unsigned status, struct MHD_Response *response)
{
    enum MHD_Result rc;

    for (size_t i = 0; i < r->config->n_headers; i++)
        MHD_add_response_header(response, r->config->headers[i].name, r->config->headers[i].value);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, "Allow", "GET, HEAD");
    if (status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(response, "WWW-Authenticate", "Basic realm=\"holdup monitor\", charset=\"UTF-8\"");
    rc = MHD_queue_response(r->connection, status, response);
    MHD_destroy_response(response);
    return rc;
}

static enum MHD_Result say(request *r, unsigned status, const char *text)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
                                                                    MHD_RESPMEM_PERSISTENT);

    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", "text/plain; charset=utf-8");
    return send_response(r, status, response);
}

static void drop_text(void *text)
{
    hu_text_drop(text);
}

static enum MHD_Result send_page(request *r, const char *path)
{
    hu_http             *h = r->house->http;
    const char          *accept = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Accept");
    const char          *packing = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Accept-Encoding");
    struct MHD_Response *response;
    hu_page              page;

    if (hu_pages_is_metrics(path)) {
        if (atomic_load(&h->scrapes) >= SCRAPES_MOST && !hu_visitors_cut_slowest(&h->visitors, now_ns()))
            return say(r, MHD_HTTP_SERVICE_UNAVAILABLE, "40 scrapes are being answered already; come again\n");
        atomic_fetch_add(&h->scrapes, 1);
        r->is_scrape = true;
    }
    pthread_mutex_lock(&h->pages_lock); /* of two houses at a time */
    page = hu_pages_get(h->pages, path, accept, packing);
    pthread_mutex_unlock(&h->pages_lock);
    response = page.holds ? MHD_create_response_from_buffer_with_free_callback_cls(page.n, (void *)(uintptr_t)page.body,
                                                                                   drop_text, page.holds)
                          : MHD_create_response_from_buffer(page.n, (void *)(uintptr_t)page.body, MHD_RESPMEM_PERSISTENT);
    if (!response) {
        hu_text_drop(page.holds);
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", page.type);
    if (page.is_packed)
        MHD_add_response_header(response, "Content-Encoding", "gzip");
    if (page.is_text)
        MHD_add_response_header(response, "Vary", "Accept, Accept-Encoding");
    return send_response(r, page.status, response);
}

/* ---- who may ask ------------------------------------------------------------------------------------------------- */

/* A bucket of `burst` tokens that gets one each interval. */
static bool may_pass(hu_http *h, const hu_web_config *c)
{
    const int64_t now = now_ns();
    bool          may = true;

    if (c->interval_ns == 0)
        return true;
    pthread_mutex_lock(&h->lock);
    h->tokens += (double)(now - h->tokens_ns) / (double)c->interval_ns;
    h->tokens_ns = now;
    if (h->tokens > (double)c->burst)
        h->tokens = (double)c->burst;
    may = h->tokens >= 1;
    h->tokens -= may;
    pthread_mutex_unlock(&h->lock);
    return may;
}

static void on_verdict(void *connection)
{
    MHD_resume_connection(connection);
}

/* The connection waits, out of the way of others, while the password is looked at. */
static hu_auth_verdict ask(request *r, const char *header)
{
    hu_http *h = r->house->http;
    bool     is_asked;

    pthread_mutex_lock(&h->lock); /* a house that closes has nobody waiting */
    if (r->house->is_closing) {
        pthread_mutex_unlock(&h->lock);
        return HU_AUTH_BUSY;
    }
    r->question = (hu_auth_question){.answered = on_verdict, .context = r->connection};
    MHD_suspend_connection(r->connection);
    is_asked = hu_web_auth_ask(h->auth, r->config, header, &r->question);
    if (!is_asked) {
        atomic_store(&r->question.verdict, HU_AUTH_BUSY);
        MHD_resume_connection(r->connection);
    }
    pthread_mutex_unlock(&h->lock);
    return HU_AUTH_UNKNOWN; /* this function's caller is called again */
}

static hu_auth_verdict judge(request *r)
{
    hu_auth_verdict verdict = (hu_auth_verdict)atomic_load(&r->question.verdict);
    const char     *header;

    if (verdict != HU_AUTH_UNKNOWN)
        return verdict;
    header = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Authorization");
    verdict = hu_web_auth_try(r->house->http->auth, r->config, header);
    return verdict == HU_AUTH_UNKNOWN ? ask(r, header) : verdict;
}

static bool has_allowed_name(const request *r)
{
    const union MHD_ConnectionInfo *tls;

    if (r->config->n_client_sans == 0)
        return true;
    tls = MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return tls && tls->tls_session && hu_client_cert_is_allowed(tls->tls_session, r->config);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static hu_visitor *visitor_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

/* Prometheus says how long it waits for this scrape. */
static int64_t patience_of(struct MHD_Connection *c)
{
    const char *text = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "X-Prometheus-Scrape-Timeout-Seconds");
    double      seconds;

    if (!text || !hu_parse_f64(hu_str_of(text), &seconds) || !(seconds > 0) ||
        seconds * (double)SECOND > (double)PATIENCE_NS)
        return PATIENCE_NS;
    return (int64_t)(seconds * (double)SECOND);
}

static enum MHD_Result begin(house *at, struct MHD_Connection *c, void **state)
{
    request *r = calloc(1, sizeof *r);
    hu_http *h = at->http;

    if (!r)
        return MHD_NO;
    r->house = at;
    r->connection = c;
    pthread_mutex_lock(&h->lock);
    r->config = h->config;
    hu_web_config_hold(r->config);
    pthread_mutex_unlock(&h->lock);
    hu_visitors_ask(&h->visitors, visitor_of(c), now_ns(), patience_of(c));
    *state = r;
    return MHD_YES;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *c, const char *path, const char *method,
                                  const char *version, const char *body, size_t *n, void **state)
{
    request *r = *state;

    (void)version;
    (void)body;
    if (!r)
        return begin(context, c, state);
    if (*n) { /* of no use to anybody */
        r->body += *n;
        *n = 0;
        return r->body <= BODY_MOST ? MHD_YES : MHD_NO;
    }
    if (!r->is_counted && !may_pass(r->house->http, r->config))
        return say(r, MHD_HTTP_TOO_MANY_REQUESTS, "more requests than rate_limit lets in\n");
    r->is_counted = true;
    if (!has_allowed_name(r))
        return say(r, MHD_HTTP_FORBIDDEN, "no name of the certificate is in client_allowed_sans\n");
    switch (judge(r)) {
    case HU_AUTH_UNKNOWN:
        return MHD_YES;
    case HU_AUTH_NO:
        return say(r, MHD_HTTP_UNAUTHORIZED, "user and password are needed\n");
    case HU_AUTH_BUSY:
        return say(r, MHD_HTTP_SERVICE_UNAVAILABLE, "too many passwords are being looked at; come again\n");
    case HU_AUTH_YES:
        break;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return say(r, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    return send_page(r, path);
}

static void on_end(void *context, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
    request *r = *state;
    house   *at = context;

    (void)why;
    if (!r)
        return;
    if (r->is_scrape)
        atomic_fetch_sub(&at->http->scrapes, 1);
    hu_visitors_answered(&at->http->visitors, visitor_of(c), now_ns());
    hu_web_config_drop(r->config);
    free(r);
    *state = NULL;
}

static void on_connection(void *context, struct MHD_Connection *c, void **place, enum MHD_ConnectionNotificationCode what)
{
    house                          *at = context;
    const union MHD_ConnectionInfo *info;

    if (what != MHD_CONNECTION_NOTIFY_STARTED) {
        hu_visitors_leave(&at->http->visitors, *place);
        return;
    }
    info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    *place = info ? hu_visitors_house(&at->http->visitors, info->connect_fd) : NULL;
    info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info && info->tls_session)
        hu_client_cert_ask(info->tls_session, at->client_auth);
}

/* ---- houses ------------------------------------------------------------------------------------------------------ */

/* What the library says about requests that it refuses is of no use to the user. */
static void be_silent(void *context, const char *format, va_list args)
{
    (void)context;
    (void)format;
    (void)args;
}

static house *open_house(hu_http *h, const hu_web_config *c)
{
    house                *at = calloc(1, sizeof *at);
    struct MHD_OptionItem o[OPTIONS] = {{MHD_OPTION_END, 0, NULL}};
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    sigset_t all, before;
    size_t   n = 0;

    if (!at)
        return NULL;
    at->http = h;
    at->client_auth = c->client_auth;
    o[n++] = (struct MHD_OptionItem){MHD_OPTION_CONNECTION_LIMIT, 2 * HU_VISITORS_ROOM, NULL};
    o[n++] = (struct MHD_OptionItem){MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEAD_BYTES, NULL};
    o[n++] = (struct MHD_OptionItem){MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL};
    o[n++] = (struct MHD_OptionItem){MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_end, at};
    o[n++] = (struct MHD_OptionItem){MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, at};
    if (c->has_tls) {
        flags |= MHD_USE_TLS;
        o[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)c->cert.p};
        o[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)c->key.p};
        o[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)c->priorities};
        if (c->client_ca.p)
            o[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0, (void *)(uintptr_t)c->client_ca.p};
    }
    o[n] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the main thread's */
    at->daemon = MHD_start_daemon(flags, 0, NULL, NULL, on_request, at, MHD_OPTION_EXTERNAL_LOGGER, be_silent, NULL,
                                  MHD_OPTION_ARRAY, o, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (at->daemon)
        return at;
    free(at);
    return NULL;
}

/* The library waits for no answer; suspended connections it cannot close, so that nobody is left waiting before. */
static void close_house(hu_http *h, house *at)
{
    if (!at)
        return;
    pthread_mutex_lock(&h->lock);
    at->is_closing = true;
    hu_web_auth_forget(h->auth);
    pthread_mutex_unlock(&h->lock);
    MHD_stop_daemon(at->daemon);
    free(at);
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

/* Returns whether there may be more. */
static bool accept_one(hu_http *h, int listener)
{
    struct sockaddr_storage from;
    socklen_t               n = sizeof from;
    const int               fd = accept4(listener, (struct sockaddr *)&from, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
    hu_visitor             *who;

    if (fd < 0)
        return errno == ECONNABORTED || errno == EINTR;
    pthread_mutex_lock(&h->lock); /* the house must not close meanwhile */
    who = hu_visitors_enter(&h->visitors, fd, h->house, now_ns());
    if (!who)
        close(fd);
    else if (MHD_add_connection(h->house->daemon, fd, (const struct sockaddr *)&from, n) != MHD_YES) /* closes it */
        hu_visitors_leave(&h->visitors, who);
    pthread_mutex_unlock(&h->lock);
    return true;
}

static int wait_ms(int64_t next_ns)
{
    const int64_t ms = (next_ns - now_ns()) / 1000000 + 1;

    return next_ns == INT64_MAX ? -1 : ms < LEAST_WAIT_MS ? LEAST_WAIT_MS : ms > MOST_WAIT_MS ? MOST_WAIT_MS : (int)ms;
}

static void *receive(void *context)
{
    hu_http      *h = context;
    struct pollfd p[HU_HTTP_LISTEN_MOST + 1] = {{.fd = h->wake, .events = POLLIN}};
    bool          has_failed = false; /* to accept: no more descriptors, for example */

    for (;;) {
        const int64_t next_ns = hu_visitors_sweep(&h->visitors, now_ns());
        const bool is_open = !has_failed && hu_visitors_have_room(&h->visitors); /* else they wait in the kernel's queue */
        const int  ms = is_open ? wait_ms(next_ns) : LEAST_WAIT_MS;

        for (size_t i = 0; i < h->n_listeners; i++)
            p[i + 1] = (struct pollfd){.fd = is_open ? h->listener[i].fd : -1, .events = POLLIN};
        poll(p, (nfds_t)h->n_listeners + 1, ms);
        if (p[0].revents)
            return NULL;
        has_failed = false;
        for (size_t i = 0; i < h->n_listeners; i++) {
            int n = 0;

            if (!(p[i + 1].revents & POLLIN))
                continue;
            while (n < AT_ONCE && hu_visitors_have_room(&h->visitors) && accept_one(h, h->listener[i].fd))
                n++;
            has_failed |= n == 0;
        }
    }
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static int listen_all(hu_http *h, const hu_http_options *o, hu_error *err)
{
    h->n_listeners = hu_listen_inherited(h->listener, HU_HTTP_LISTEN_MOST);
    for (size_t i = 0; i < o->n_listen && h->n_listeners < HU_HTTP_LISTEN_MOST; i++) {
        const int rc = hu_listen_open(o->listen[i], &h->listener[h->n_listeners], err);

        if (rc < 0)
            return rc;
        h->n_listeners++;
    }
    if (h->n_listeners || o->has_other)
        return 0;
    h->n_listeners = hu_listen_open("127.0.0.1:9878", &h->listener[0], err) == 0;
    return h->n_listeners ? 0 : err->code;
}

hu_http *hu_http_open(const hu_http_options *o, hu_error *err)
{
    hu_http *h = calloc(1, sizeof *h);

    if (!h) {
        hu_fail_memory(err);
        return NULL;
    }
    h->wake = -1;
    h->config_path = o->config;
    h->names = o->names;
    pthread_mutex_init(&h->lock, NULL);
    pthread_mutex_init(&h->pages_lock, NULL);
    hu_visitors_init(&h->visitors);
    h->config = o->config ? hu_web_config_read(o->config, err) : hu_web_config_open();
    if (!h->config && !o->config)
        hu_fail_memory(err);
    if (h->config && listen_all(h, o, err) == 0)
        return h;
    hu_http_stop(h);
    return NULL;
}

const hu_listener *hu_http_listener(const hu_http *h, size_t n)
{
    return n < h->n_listeners ? &h->listener[n] : NULL;
}

bool hu_http_has_tls(const hu_http *h)
{
    return h->config->has_tls;
}

int hu_http_start(hu_http *h, hu_keeper *k, hu_error *err)
{
    sigset_t all, before;

    if (h->n_listeners == 0)
        return 0;
    if (hu_late_open(&hu_microhttpd_library, err) < 0)
        return err->code;
    h->wake = eventfd(0, EFD_CLOEXEC);
    h->pages = hu_pages_new(k, h->names);
    h->auth = hu_web_auth_new(err);
    h->tokens = (double)h->config->burst;
    h->tokens_ns = now_ns();
    if (!h->auth)
        return err->code;
    if (!h->pages)
        return hu_fail_memory(err);
    h->house = open_house(h, h->config);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    h->has_thread = h->wake >= 0 && h->house && pthread_create(&h->thread, NULL, receive, h) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return h->has_thread ? 0 : hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "cannot start the server: %s", strerror(errno));
}

/* A house that has nobody left, or whose time is over, closes. */
static void say_farewell(hu_http *h)
{
    if (h->leaving && (hu_visitors_clear(&h->visitors, h->leaving) == 0 || now_ns() >= h->leaves_ns)) {
        close_house(h, h->leaving);
        h->leaving = NULL;
    }
}

static int move_house(hu_http *h, hu_web_config *c, hu_error *err)
{
    house *next = open_house(h, c);

    if (!next)
        return hu_fail(err, HU_EIO, h->config_path, HU_NO_OFFSET, "cannot start a server with these certificates");
    close_house(h, h->leaving); /* of the change before this one */
    pthread_mutex_lock(&h->lock);
    h->leaving = h->house;
    h->house = next;
    pthread_mutex_unlock(&h->lock);
    h->leaves_ns = now_ns() + FAREWELL_NS;
    return 0;
}

int hu_http_reload(hu_http *h, bool is_forced, hu_error *err)
{
    hu_web_config *c, *before;
    int            rc = 0;

    say_farewell(h);
    if (!h->config_path || (!is_forced && !hu_web_config_has_changed(h->config)))
        return 0;
    c = hu_web_config_read(h->config_path, err);
    if (!c)
        return err->code;
    if (h->house && !hu_web_config_is_same_tls(c, h->config))
        rc = move_house(h, c, err);
    if (rc < 0) {
        hu_web_config_drop(c);
        return rc;
    }
    pthread_mutex_lock(&h->lock);
    before = h->config;
    h->config = c;
    pthread_mutex_unlock(&h->lock);
    hu_web_config_drop(before);
    return 0;
}

void hu_http_stop(hu_http *h)
{
    if (!h)
        return;
    if (h->has_thread) {
        eventfd_write(h->wake, 1);
        pthread_join(h->thread, NULL);
    }
    close_house(h, h->leaving);
    close_house(h, h->house);
    for (size_t i = 0; i < h->n_listeners; i++)
        hu_listen_close(&h->listener[i]);
    if (h->wake >= 0)
        close(h->wake);
    hu_web_auth_free(h->auth);
    hu_pages_free(h->pages);
    hu_web_config_drop(h->config);
    hu_visitors_free(&h->visitors);
    pthread_mutex_destroy(&h->lock);
    pthread_mutex_destroy(&h->pages_lock);
    free(h);
}
