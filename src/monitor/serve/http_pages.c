/* SPDX-License-Identifier: Apache-2.0
 * http_pages.c - /metrics, two words for those who look after the monitor, and a page with links for who opens it in a
 * browser. */
#include "monitor/serve/http_pages.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "monitor/serve/negotiate.h"

enum { OLD_NS = 1000000000 }; /* ages, and what the monitor itself costs, change by themselves */
enum { LEAST_TO_PACK = 512 }; /* bytes: below that, the packed text is about as long */

static const char PLAIN[] = "text/plain; charset=utf-8";

struct hu_pages {
    hu_keeper    *keeper;
    hu_text_names names;
    hu_text      *text[HU_TEXT_FORMATS];
    int64_t       made_ns[HU_TEXT_FORMATS];
};

hu_pages *hu_pages_new(hu_keeper *k, hu_text_names names)
{
    hu_pages *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->keeper = k;
    p->names = names;
    return p;
}

void hu_pages_free(hu_pages *p)
{
    if (!p)
        return;
    for (int f = 0; f < HU_TEXT_FORMATS; f++)
        hu_text_drop(p->text[f]);
    free(p);
}

static hu_page say(unsigned status, const char *text)
{
    return (hu_page){.status = status, .type = PLAIN, .body = text, .n = strlen(text)};
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static hu_page metrics(hu_pages *p, const char *accept, const char *accept_encoding)
{
    const hu_text_how how = {.format = hu_negotiate_format(accept), .names = p->names};
    const int64_t     now = now_ns();
    hu_text         **t = &p->text[how.format];
    hu_page           page;

    if (!*t || (*t)->version != hu_keeper_version(p->keeper) || now - p->made_ns[how.format] > OLD_NS) {
        hu_text_drop(*t);
        *t = hu_text_new(p->keeper, &how);
        p->made_ns[how.format] = now;
    }
    if (!*t)
        return say(503, "out of memory\n");
    page = (hu_page){
        .status = 200, .type = hu_text_type(how.format), .body = (*t)->text, .n = (*t)->n, .is_text = true, .holds = *t};
    if (page.n >= LEAST_TO_PACK && hu_negotiate_gzip(accept_encoding) && hu_text_pack(*t)) {
        page.body = (*t)->packed;
        page.n = (*t)->packed_n;
        page.is_packed = true;
    }
    hu_text_hold(*t);
    return page;
}

bool hu_pages_is_metrics(const char *path)
{
    return strcmp(path, "/metrics") == 0;
}

hu_page hu_pages_get(hu_pages *p, const char *path, const char *accept, const char *accept_encoding)
{
    static const char index[] =
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>holdup monitor</title>\n"
        "<h1>holdup monitor</h1>\n<p>Version " HU_VERSION ": what the GPUs of this node do, for whom, and what is wasted.\n"
        "<ul>\n<li><a href=\"/metrics\">/metrics</a> for Prometheus\n"
        "<li><a href=\"/-/healthy\">/-/healthy</a>: it runs\n"
        "<li><a href=\"/-/ready\">/-/ready</a>: everything was measured at least once\n</ul>\n</html>\n";

    if (hu_pages_is_metrics(path))
        return metrics(p, accept, accept_encoding);
    if (strcmp(path, "/-/healthy") == 0)
        return say(200, "OK\n");
    if (strcmp(path, "/-/ready") == 0)
        return hu_keeper_has_looked(p->keeper, 1) ? say(200, "OK\n") : say(503, "not everything was measured yet\n");
    if (strcmp(path, "/") == 0)
        return (hu_page){.status = 200, .type = "text/html; charset=utf-8", .body = index, .n = sizeof index - 1};
    return say(404, "there is nothing here; try /metrics\n");
}
