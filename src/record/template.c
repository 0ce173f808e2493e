/* SPDX-License-Identifier: Apache-2.0
 * template.c - one walk over a template, which puts each value where its letter stands. */
#include "record/template.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/str.h"
#include "protocol/rank_id.h"

#define RANKS_NAME "holdup-%j.%s-%c/rank%r.pftrace"
#define PLAIN_NAME "holdup-%c-%p.pftrace"
#define RANK_FILE  "rank%r.pftrace"

enum { VALUE_BYTES = 200 };

typedef struct {
    char  *at;
    size_t n, segment;             /* bytes; where the last folder's name begins */
    bool   is_full, has_collapsed; /* something of this segment was not known */
} path;

static void put(path *p, char c)
{
    if (p->n + 1 < HU_TEMPLATE_BYTES)
        p->at[p->n++] = c;
    else
        p->is_full = true;
}

static void put_text(path *p, const char *text)
{
    while (*text)
        put(p, *text++);
}

static bool is_separator(char c)
{
    return c == '-' || c == '_' || c == '.';
}

/* A value as a part of a name: it can neither leave the folder nor hide the file. */
static void put_value(path *p, const char *value)
{
    for (size_t i = 0; value[i] && i < VALUE_BYTES; i++) {
        const char c = value[i];
        const bool is_plain = isascii(c) && (isalnum((unsigned char)c) || is_separator(c));

        put(p, is_plain && !(c == '.' && p->n == p->segment) ? c : '_');
    }
}

static void put_number(path *p, int64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%lld", (long long)value);
    put_text(p, text);
}

/* Takes a separator along: the one before, or the one behind when nothing is before. */
static const char *collapse(path *p, const char *next)
{
    p->has_collapsed = true;
    if (p->n > p->segment && is_separator(p->at[p->n - 1]) && *next != '\0' && !isalnum((unsigned char)*next))
        p->n--;
    else if (p->n == p->segment && is_separator(*next) && *next != '.')
        next++;
    return next;
}

/* "20261121T170516" */
static void put_time(path *p, int64_t seconds)
{
    const time_t t = (time_t)seconds;
    struct tm    utc;
    char         text[32];

    if (gmtime_r(&t, &utc) && strftime(text, sizeof text, "%Y%m%dT%H%M%S", &utc))
        put_text(p, text);
}

static int fail(hu_error *err, const char *text, const char *what)
{
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "the name \"%.200s\" %s", text, what);
}

/* What is behind "%q": {NAME} or {NAME:-x}.  *next is behind it; *value may be NULL: not set, and nothing instead. */
static int variable(const char *text, const char *at, char *const *environment, char *value, const char **next,
                    hu_error *err)
{
    const char  *end = *at == '{' ? strchr(at, '}') : NULL, *other;
    char         name[VALUE_BYTES], why[VALUE_BYTES + 80];
    const char  *found;
    const size_t n = end ? (size_t)(end - at) - 1 : 0;

    if (n == 0 || n >= sizeof name)
        return fail(err, text, "needs %q{NAME} or %q{NAME:-default}");
    memcpy(name, at + 1, n);
    name[n] = '\0';
    other = strstr(name, ":-");
    if (other) {
        name[other - name] = '\0';
        other += 2;
    }
    *next = end + 1;
    found = environment ? hu_rank_id_variable(environment, name) : NULL;
    if (!found && !other && environment) {
        snprintf(why, sizeof why, "needs %.100s, which is not set; write %%q{%.60s:-default}", name, name);
        return fail(err, text, why);
    }
    if (found && (strchr(found, '/') || found[0] == '.')) {
        snprintf(why, sizeof why, "uses %.100s, whose value would lead to another directory", name);
        return fail(err, text, why);
    }
    snprintf(value, VALUE_BYTES, "%s", found ? found : other ? other : "");
    return 0;
}

/* The value of a letter; false: not known.  Numbers below 0 are not known. */
static bool put_letter(path *p, char letter, const hu_template_facts *f)
{
    const int64_t number = letter == 'p'   ? f->pid
                           : letter == 'r' ? f->rank
                           : letter == 'l' ? f->local_rank
                           : letter == 'w' ? f->world_size
                           : letter == 'N' ? f->node
                           : letter == 'n' ? f->number
                                           : -1;
    const char   *text = letter == 'h'   ? f->host
                         : letter == 'c' ? f->command
                         : letter == 'j' ? f->job_id
                         : letter == 's' ? f->step_id
                                         : NULL;

    if (f->is_pattern && strchr("hprlNnt", letter))
        put(p, '*');
    else if (letter == 't')
        put_time(p, f->started_s);
    else if (text && text[0])
        put_value(p, text);
    else if (!text && number >= 0)
        put_number(p, number);
    else
        return false;
    return true;
}

/* Ends a folder's name; a name of which nothing was known is no folder. */
static void end_segment(path *p)
{
    if (p->n > p->segment || !p->has_collapsed)
        put(p, '/');
    p->segment = p->n;
    p->has_collapsed = false;
}

static bool has_letter(const char *text, const char *letters)
{
    for (const char *at = strchr(text, '%'); at && at[1]; at = strchr(at + 2, '%'))
        if (strchr(letters, at[1]))
            return true;
    return false;
}

/* "a/b" with number 2: "a-2/b" or "a/b-2" in front of the ending. */
static void put_suffix(path *p, const hu_template_facts *f)
{
    char         number[24];
    const char  *slash = memrchr(p->at, '/', p->n), *dot = memrchr(p->at, '.', p->n);
    size_t       at = f->numbers_folder && slash && slash > p->at ? (size_t)(slash - p->at)
                      : dot && (!slash || dot > slash)            ? (size_t)(dot - p->at)
                                                                  : p->n;
    const size_t n = (size_t)snprintf(number, sizeof number, "-%d", f->number);

    if (p->n + n >= HU_TEMPLATE_BYTES) {
        p->is_full = true;
        return;
    }
    memmove(p->at + at + n, p->at + at, p->n - at);
    memcpy(p->at + at, number, n);
    p->n += n;
}

int hu_template_expand(const char *text, const hu_template_facts *facts, char *out, hu_error *err)
{
    path p = {.at = out};

    for (const char *at = text; *at;) {
        const char letter = at[0] == '%' ? at[1] : '\0';

        if (letter == '\0' || letter == '%') {
            if (*at == '/')
                end_segment(&p);
            else
                put(&p, *at);
            at += letter == '%' ? 2 : 1;
        } else if (letter == 'q') {
            char      value[VALUE_BYTES];
            const int rc = variable(text, at + 2, facts->environment, value, &at, err);

            if (rc < 0)
                return rc;
            if (value[0])
                put_value(&p, value);
            else
                at = collapse(&p, at);
        } else if (!strchr("hpcnjsrlwNt", letter)) {
            return fail(err, text, "has a letter after % that is not one of h p c t j s r l w N n q");
        } else {
            at += 2;
            if (!put_letter(&p, letter, facts))
                at = collapse(&p, at);
        }
    }
    if (facts->number > 1 && !has_letter(text, "n"))
        put_suffix(&p, facts);
    if (p.is_full)
        return fail(err, text, "expands to too long a name");
    out[p.n] = '\0';
    return p.n > p.segment ? 0 : fail(err, text, "does not name a file");
}

bool hu_template_is_one_name(const char *given)
{
    const size_t n = given ? strlen(given) : 0;
    struct stat  st;

    return n && given[n - 1] != '/' && !has_letter(given, "hpctjsrlwNnq") && !(stat(given, &st) == 0 && S_ISDIR(st.st_mode));
}

int hu_template_check(const char *text, char *const *environment, hu_error *err)
{
    static char *const      nothing[] = {NULL};
    const hu_template_facts facts = {.host = "h",
                                     .command = "c",
                                     .job_id = "j",
                                     .step_id = "s",
                                     .pid = 1,
                                     .number = 1,
                                     .environment = environment ? environment : nothing};
    char                    out[HU_TEMPLATE_BYTES];

    return hu_template_expand(text, &facts, out, err);
}

int hu_template_complete(const char *given, bool has_ranks, char *out, hu_error *err)
{
    struct stat  st;
    const hu_str s = hu_str_of(given ? given : "");
    const bool   is_folder = s.n && (s.p[s.n - 1] == '/' || (stat(given, &st) == 0 && S_ISDIR(st.st_mode)));
    const char  *rank = has_ranks && !has_letter(s.p ? s.p : "", "rlpn") ? "-rank%r" : "";
    hu_str       ending = hu_str_ends(s, HU_STR(".perfetto-trace")) ? HU_STR(".perfetto-trace") : HU_STR(".pftrace");
    int          n;

    if (s.n == 0)
        n = snprintf(out, HU_TEMPLATE_BYTES, "%s", has_ranks ? RANKS_NAME : PLAIN_NAME);
    else if (is_folder)
        n = snprintf(out, HU_TEMPLATE_BYTES, "%.*s%s%s", (int)s.n, s.p, s.p[s.n - 1] == '/' ? "" : "/",
                     has_ranks ? RANK_FILE : PLAIN_NAME);
    else
        n = snprintf(out, HU_TEMPLATE_BYTES, "%.*s%s%.*s", (int)(s.n - (hu_str_ends(s, ending) ? ending.n : 0)), s.p, rank,
                     HU_FMT(ending));
    return n < HU_TEMPLATE_BYTES ? 0 : fail(err, given, "is too long");
}

void hu_template_folder(const char *text, char *out)
{
    const size_t n = strcspn(text, "%");
    const char  *slash = memrchr(text, '/', n);

    if (!slash)
        snprintf(out, HU_TEMPLATE_BYTES, ".");
    else
        snprintf(out, HU_TEMPLATE_BYTES, "%.*s", slash == text ? 1 : (int)(slash - text), text);
}
