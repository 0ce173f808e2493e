/* SPDX-License-Identifier: Apache-2.0
 * http.c - a page is made once for all that ask while nothing changes, and sent as it lies in memory. */
#include "monitor/http.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "monitor/exposition.h"

enum { LISTEN_MOST = 8, CONNECTIONS = 64, SECONDS_PER_CONNECTION = 10, HOST_MOST = 256 };

struct hu_http {
    struct MHD_Daemon *daemon[LISTEN_MOST];
    unsigned           port[LISTEN_MOST];
    size_t             n;
    hu_keeper         *keeper;
    pthread_mutex_t    lock;
    hu_text           *page[HU_TEXT_FORMATS];
};

/* The page as it is now; the caller drops it.  NULL: no memory. */
static hu_text *page_now(hu_http *h, hu_text_format format)
{
    hu_text *t;

    pthread_mutex_lock(&h->lock);
    t = h->page[format];
    if (!t || t->version != hu_keeper_version(h->keeper)) {
        hu_text_drop(t);
        t = h->page[format] = hu_text_new(h->keeper, format);
    }
    if (t)
        atomic_fetch_add(&t->holders, 1);
    pthread_mutex_unlock(&h->lock);
    return t;
}

static void drop_page(void *page)
{
    hu_text_drop(page);
}

static enum MHD_Result say(struct MHD_Connection *c, unsigned status, const char *text)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
    enum MHD_Result      rc;

    if (!r)
        return MHD_NO;
    MHD_add_response_header(r, "Content-Type", "text/plain; charset=utf-8");
    rc = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return rc;
}

static enum MHD_Result send_metrics(hu_http *h, struct MHD_Connection *c)
{
    const char          *accept = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept");
    const hu_text_format format =
        accept && strstr(accept, "application/openmetrics-text") ? HU_TEXT_OPENMETRICS : HU_TEXT_PROMETHEUS;
    hu_text             *t = page_now(h, format);
    struct MHD_Response *r;
    enum MHD_Result      rc;

    if (!t)
        return say(c, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
    r = MHD_create_response_from_buffer_with_free_callback_cls(t->n, t->text, drop_page, t);
    if (!r) {
        hu_text_drop(t);
        return MHD_NO;
    }
    MHD_add_response_header(r, "Content-Type", hu_text_type(format));
    rc = MHD_queue_response(c, MHD_HTTP_OK, r);
    MHD_destroy_response(r);
    return rc;
}

static enum MHD_Result answer(void *context, struct MHD_Connection *c, const char *path, const char *method,
                              const char *version, const char *body, size_t *n, void **state)
{
    (void)version, (void)body, (void)n, (void)state;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return say(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    if (strcmp(path, "/metrics") == 0)
        return send_metrics(context, c);
    if (strcmp(path, "/-/healthy") == 0 || strcmp(path, "/-/ready") == 0)
        return say(c, MHD_HTTP_OK, "OK\n");
    if (strcmp(path, "/") == 0)
        return say(c, MHD_HTTP_OK, "holdup monitor\n/metrics\n/-/healthy\n/-/ready\n");
    return say(c, MHD_HTTP_NOT_FOUND, "there is only /metrics, /-/healthy and /-/ready\n");
}

/* "HOST:PORT", "[HOST]:PORT", ":PORT" (all addresses), "PORT" (127.0.0.1) */
static int find(const char *listen_to, struct addrinfo **out, hu_error *err)
{
    const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    const char           *colon = strrchr(listen_to, ':'), *port = colon ? colon + 1 : listen_to;
    char                  host[HOST_MOST] = "127.0.0.1";
    int64_t               number;

    if (colon)
        snprintf(host, sizeof host, "%.*s", (int)(colon - listen_to), listen_to);
    if (host[0] == '[' && host[strlen(host) - 1] == ']') {
        memmove(host, host + 1, strlen(host));
        host[strlen(host) - 1] = '\0';
    }
    if (!hu_parse_i64(hu_str_of(port), &number) || number < 0 || number > UINT16_MAX ||
        getaddrinfo(host[0] ? host : NULL, port, &wanted, out) != 0)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "\"%.200s\" is no address; use HOST:PORT, such as 127.0.0.1:%d",
                       listen_to, HU_HTTP_PORT);
    return 0;
}

static int start_one(hu_http *h, const char *listen_to, hu_error *err)
{
    struct addrinfo            *found;
    const union MHD_DaemonInfo *info;
    int                         rc = find(listen_to, &found, err);

    if (rc < 0)
        return rc;
    h->daemon[h->n] = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | (found->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0), 0, NULL, NULL, answer, h,
        MHD_OPTION_SOCK_ADDR, found->ai_addr, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        SECONDS_PER_CONNECTION, MHD_OPTION_END);
    freeaddrinfo(found);
    if (!h->daemon[h->n])
        return hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "cannot listen on %.200s; is another exporter running there?",
                       listen_to);
    info = MHD_get_daemon_info(h->daemon[h->n], MHD_DAEMON_INFO_BIND_PORT);
    h->port[h->n++] = info ? info->port : 0;
    return 0;
}

hu_http *hu_http_start(const hu_http_options *options, hu_keeper *k, hu_error *err)
{
    hu_http *h = calloc(1, sizeof *h);

    if (!h) {
        hu_fail_memory(err);
        return NULL;
    }
    h->keeper = k;
    pthread_mutex_init(&h->lock, NULL);
    for (size_t i = 0; i < options->n_listen && i < LISTEN_MOST; i++)
        if (start_one(h, options->listen[i], err) < 0) {
            hu_http_stop(h);
            return NULL;
        }
    return h;
}

unsigned hu_http_port(const hu_http *h, size_t n)
{
    return h->port[n];
}

void hu_http_stop(hu_http *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < h->n; i++)
        MHD_stop_daemon(h->daemon[i]);
    for (int f = 0; f < HU_TEXT_FORMATS; f++)
        hu_text_drop(h->page[f]);
    pthread_mutex_destroy(&h->lock);
    free(h);
}
