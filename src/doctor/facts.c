/* SPDX-License-Identifier: Apache-2.0
 * facts.c - asks the system for what no file says. */
#include "doctor/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <netdb.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "doctor/looker.h"

enum { MOST_CPUS = 8192, MOST_ADDRESSES = 16, MOST_BLOCK = 1 << 30 };

#define MOST_BYTES (INT64_MAX / 2)

typedef struct {
    char  *p;
    size_t room, n;
} text;

__attribute__((format(printf, 2, 3))) static void put(text *t, const char *format, ...)
{
    va_list list;
    int     n;

    va_start(list, format);
    n = vsnprintf(t->p + t->n, t->room - t->n, format, list);
    va_end(list);
    t->n = n < 0 ? t->n : t->n + (size_t)n < t->room ? t->n + (size_t)n : t->room - 1;
}

/* -- one function for each kind of fact: false where it is not known -------------------------------------------------- */

static bool ask_host(text *t, const char *rest)
{
    char name[256] = "";

    (void)rest;
    if (gethostname(name, sizeof name - 1) < 0)
        return false;
    put(t, "%s", name);
    return true;
}

static bool ask_time(text *t, const char *rest)
{
    const time_t now = time(NULL);
    struct tm    tm;

    (void)rest;
    if (!gmtime_r(&now, &tm))
        return false;
    t->n = strftime(t->p, t->room, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return t->n > 0;
}

static bool ask_uname(text *t, const char *rest)
{
    struct utsname u;

    if (uname(&u) < 0)
        return false;
    put(t, "%s", strcmp(rest, "release") == 0 ? u.release : strcmp(rest, "machine") == 0 ? u.machine : "");
    return t->n > 0;
}

static bool ask_user(text *t, const char *rest)
{
    (void)rest;
    put(t, "%u", (unsigned)geteuid());
    return true;
}

static bool ask_cwd(text *t, const char *rest)
{
    char path[PATH_MAX];

    (void)rest;
    if (!getcwd(path, sizeof path))
        return false;
    put(t, "%s", path);
    return true;
}

static bool ask_cpus(text *t, const char *rest)
{
    cpu_set_t   *set = CPU_ALLOC(MOST_CPUS);
    const size_t size = CPU_ALLOC_SIZE(MOST_CPUS);
    bool         is_known;

    (void)rest;
    if (!set)
        return false;
    CPU_ZERO_S(size, set);
    is_known = sched_getaffinity(0, size, set) == 0;
    for (size_t i = 0; is_known && i < MOST_CPUS; i++) {
        size_t last = i;

        if (!CPU_ISSET_S(i, size, set))
            continue;
        while (last + 1 < MOST_CPUS && CPU_ISSET_S(last + 1, size, set))
            last++;
        put(t, last > i ? "%s%zu-%zu" : "%s%zu", t->n ? "," : "", i, last);
        i = last;
    }
    CPU_FREE(set);
    return is_known;
}

#ifdef __GLIBC__
typedef __rlimit_resource_t limit_id;
#else
typedef int limit_id;
#endif

static bool ask_limit(text *t, const char *rest)
{
    static const struct {
        const char *name;
        int         id;
    } limits[] = {{"memlock", RLIMIT_MEMLOCK}, {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC},
                  {"core", RLIMIT_CORE},       {"stack", RLIMIT_STACK},   {"as", RLIMIT_AS}};
    struct rlimit limit;

    for (size_t i = 0; i < HU_COUNT(limits); i++) {
        if (strcmp(rest, limits[i].name) != 0 || getrlimit((limit_id)limits[i].id, &limit) < 0)
            continue;
        for (int k = 0; k < 2; k++) {
            const rlim_t value = k ? limit.rlim_max : limit.rlim_cur;

            if (value == RLIM_INFINITY)
                put(t, "%sunlimited", k ? " " : "");
            else
                put(t, "%s%" PRIu64, k ? " " : "", (uint64_t)value);
        }
        return true;
    }
    return false;
}

static bool ask_clock(text *t, const char *rest)
{
    struct timex x = {0};
    const int    state = adjtimex(&x); /* reads, as modes is 0 */

    if (state < 0)
        return false;
    if (strcmp(rest, "state") == 0)
        put(t, "%d", state);
    else if (strcmp(rest, "status") == 0)
        put(t, "%d", x.status);
    else if (strcmp(rest, "max_error_us") == 0)
        put(t, "%ld", (long)x.maxerror);
    return t->n > 0;
}

static bool ask_filesystem(text *t, const char *path)
{
    struct statfs s;

    if (statfs(path, &s) < 0)
        put(t, "error: %s", strerror(errno));
    else
        put(t, "%" PRIx64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
            (uint64_t)s.f_type & UINT32_MAX, (int64_t)s.f_bsize, (uint64_t)s.f_blocks, (uint64_t)s.f_bfree,
            (uint64_t)s.f_bavail, (uint64_t)s.f_files, (uint64_t)s.f_ffree, (uint64_t)s.f_flags);
    return true;
}

static char kind_of(mode_t mode)
{
    return S_ISCHR(mode)    ? 'c'
           : S_ISBLK(mode)  ? 'b'
           : S_ISREG(mode)  ? 'f'
           : S_ISDIR(mode)  ? 'd'
           : S_ISSOCK(mode) ? 's'
           : S_ISFIFO(mode) ? 'p'
                            : 'l';
}

static bool ask_device(text *t, const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            put(t, "absent");
        return errno == ENOENT || errno == ENOTDIR;
    }
    put(t, "%c %u:%u %o %u:%u %c%c", kind_of(st.st_mode), major(st.st_rdev), minor(st.st_rdev),
        (unsigned)(st.st_mode & 07777), (unsigned)st.st_uid, (unsigned)st.st_gid,
        faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 ? 'r' : '-',
        faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ? 'w' : '-');
    return true;
}

static bool ask_address(text *t, const char *name)
{
    const struct addrinfo want = {.ai_socktype = SOCK_STREAM};
    struct addrinfo      *list = NULL;
    const int             why = getaddrinfo(name, NULL, &want, &list);
    int                   n = 0;

    if (why)
        put(t, "error: %s", gai_strerror(why));
    for (const struct addrinfo *a = list; !why && a && n < MOST_ADDRESSES; a = a->ai_next) {
        char address[64];

        if (getnameinfo(a->ai_addr, a->ai_addrlen, address, sizeof address, NULL, 0, NI_NUMERICHOST) == 0)
            put(t, "%s%s", n++ ? " " : "", address);
    }
    if (!why)
        freeaddrinfo(list);
    return t->n > 0;
}

/* A key, or where it ends in '.' or ':' how keys begin; those that may hang in a server are told before they are asked. */
static const struct {
    const char *key;
    bool (*ask)(text *t, const char *rest);
    const char *call;
} kinds[] = {
    {"hostname", ask_host, NULL},
    {"time", ask_time, NULL},
    {"uname.", ask_uname, NULL},
    {"user.id", ask_user, NULL},
    {"cwd", ask_cwd, NULL},
    {"cpus.allowed", ask_cpus, NULL},
    {"limit.", ask_limit, NULL},
    {"clock.", ask_clock, NULL},
    {"filesystem:", ask_filesystem, "statfs"},
    {"device:", ask_device, "stat"},
    {"address:", ask_address, "looking up"},
};

static bool ask_kind(hu_doctor *d, size_t kind, text *t, const char *rest)
{
    bool is_known;

    if (kinds[kind].call)
        hu_doctor_begin_call(d, hu_doctor_format(d, "%s %s", kinds[kind].call, rest));
    is_known = kinds[kind].ask(t, rest);
    if (kinds[kind].call)
        hu_doctor_begin_call(d, NULL);
    return is_known;
}

static const char *ask(hu_doctor *d, const char *key)
{
    char value[8192];
    text t = {value, sizeof value, 0};

    value[0] = '\0';
    for (size_t i = 0; i < HU_COUNT(kinds); i++) {
        const size_t n = strlen(kinds[i].key);
        const bool   is_family = strchr(".:", kinds[i].key[n - 1]) != NULL;

        if (is_family ? strncmp(key, kinds[i].key, n) == 0 : strcmp(key, kinds[i].key) == 0)
            return ask_kind(d, i, &t, key + n) ? hu_doctor_format(d, "%s", value) : NULL;
    }
    return NULL;
}

/* The rest of the line that begins with the key and a blank. */
static const char *recall(hu_doctor *d, const char *key)
{
    const size_t n = strlen(key);
    const char  *all, *line;

    if (hu_doctor_read(d, "/holdup/facts", &all) != HU_LOOK_OK)
        return NULL;
    for (line = all; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) == 0 && line[n] == ' ')
            return hu_doctor_format(d, "%.*s", (int)strcspn(line + n + 1, "\n"), line + n + 1);
    }
    return NULL;
}

const char *hu_fact(hu_doctor *d, const char *key)
{
    const char *value = hu_doctor_is_capture(d) ? recall(d, key) : ask(d, key);

    hu_doctor_saw(d, HU_SEEN_FACT, key, value ? HU_LOOK_OK : HU_LOOK_ABSENT, hu_str_of(value ? value : ""));
    return value;
}

bool hu_fact_number(hu_doctor *d, const char *key, int64_t *number)
{
    const char *value = hu_fact(d, key);

    return value && hu_parse_i64(hu_str_of(value), number);
}

static const char *read_limit(const char *p, int64_t *out)
{
    const size_t n = strcspn(p, " ");

    if (hu_str_equal((hu_str){p, n}, HU_STR("unlimited")))
        *out = INT64_MAX;
    else if (!hu_parse_i64((hu_str){p, n}, out))
        return NULL;
    return p + n + (p[n] == ' ');
}

bool hu_fact_limit(hu_doctor *d, const char *name, int64_t *soft, int64_t *hard)
{
    const char *p = hu_fact(d, hu_doctor_format(d, "limit.%s", name));

    return p && (p = read_limit(p, soft)) && read_limit(p, hard);
}

static int64_t within(int64_t n, int64_t most)
{
    return n < 0 ? 0 : n > most ? most : n;
}

bool hu_fact_filesystem(hu_doctor *d, const char *path, hu_filesystem_fact *out)
{
    const char        *value = hu_fact(d, hu_doctor_format(d, "filesystem:%s", path));
    hu_filesystem_fact f;

    if (!value ||
        sscanf(value, "%" SCNx64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNu64,
               &f.magic, &f.block_bytes, &f.blocks, &f.free_blocks, &f.blocks_for_users, &f.inodes, &f.free_inodes,
               &f.flags) != 8)
        return false;
    if (f.block_bytes < 1 || f.block_bytes > MOST_BLOCK)
        return false;
    f.blocks = within(f.blocks, MOST_BYTES / f.block_bytes); /* file systems on an object store say 16 EiB and the like */
    f.blocks_for_users = within(f.blocks_for_users, MOST_BYTES / f.block_bytes);
    *out = f;
    return true;
}

/* -- lists of CPUs ---------------------------------------------------------------------------------------------------- */

/* The next part of a list, FIRST or FIRST-LAST; false at its end, or (*is_broken) where it is none. */
static bool next_part(const char **list, int64_t *first, int64_t *last, bool *is_broken)
{
    const char  *p = *list;
    const size_t n = strcspn(p, ",\n"), dash = strcspn(p, "-,\n");

    if (!*p || *p == '\n')
        return false;
    *is_broken = !hu_parse_i64((hu_str){p, dash}, first);
    *last = *first;
    if (!*is_broken && dash < n)
        *is_broken = !hu_parse_i64((hu_str){p + dash + 1, n - dash - 1}, last);
    *is_broken = *is_broken || *first < 0 || *last < *first || *last > INT32_MAX;
    *list = p + n + (p[n] == ',');
    return !*is_broken;
}

int64_t hu_cpu_list_count(const char *list)
{
    int64_t first, last, n = 0;
    bool    is_broken = false;

    while (next_part(&list, &first, &last, &is_broken))
        n += last - first + 1;
    return is_broken ? -1 : n;
}

bool hu_cpu_list_has(const char *list, int64_t cpu)
{
    int64_t first, last;
    bool    is_broken = false;

    while (next_part(&list, &first, &last, &is_broken))
        if (cpu >= first && cpu <= last)
            return true;
    return false;
}
