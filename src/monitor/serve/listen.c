/* SPDX-License-Identifier: Apache-2.0
 * listen.c - sockets are made here and not by the HTTP library, so that a port that is taken can be told from other ills,
 * and so that they outlive a change of certificates. */
#include "monitor/serve/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/number.h"

enum { HOST_MOST = 256, FIRST_INHERITED = 3 };

static int fail_address(const char *address, hu_error *err)
{
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                   "\"%.200s\" is no address; use HOST:PORT, :PORT (all addresses) or unix:PATH, such as 127.0.0.1:%d",
                   address, HU_LISTEN_PORT);
}

static int fail_bind(const char *address, int reason, hu_error *err)
{
    const char *what_to_do = reason == EADDRINUSE
                                 ? "another program listens there (ss -ltnp shows it); --listen takes another one"
                             : reason == EACCES
                                 ? "ports below 1024, and paths of others, need root; --listen takes another one"
                             : reason == EADDRNOTAVAIL ? "no interface of this machine has that address; ip addr lists them"
                                                       : "--listen takes another address";

    return hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "cannot listen on %.200s: %s; %s", address, strerror(reason),
                   what_to_do);
}

/* What the kernel says that it is. */
static void name_it(hu_listener *l)
{
    struct sockaddr_storage at;
    socklen_t               n = sizeof at;
    char                    host[HOST_MOST], port[16];

    memset(&at, 0, sizeof at);
    if (getsockname(l->fd, (struct sockaddr *)&at, &n) != 0)
        return;
    if (at.ss_family == AF_UNIX) {
        l->is_unix = true;
        snprintf(l->name, sizeof l->name, "%s", ((const struct sockaddr_un *)&at)->sun_path);
    } else if (getnameinfo((const struct sockaddr *)&at, n, host, sizeof host, port, sizeof port,
                           NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
        snprintf(l->name, sizeof l->name, at.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
    }
}

/* Returns 0 or errno. */
static int take(hu_listener *out, const struct sockaddr *at, socklen_t n)
{
    const int yes = 1, no = 0;
    const int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes); /* connections that just ended */
    if (at->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (bind(fd, at, n) != 0 || listen(fd, SOMAXCONN) != 0) {
        const int reason = errno;

        close(fd);
        return reason;
    }
    *out = (hu_listener){.fd = fd};
    name_it(out);
    return 0;
}

/* Is there somebody behind a unix socket? */
static bool is_answered(const struct sockaddr_un *at)
{
    const int  fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool yes = fd >= 0 && (connect(fd, (const struct sockaddr *)at, sizeof *at) == 0 || errno == EAGAIN);

    if (fd >= 0)
        close(fd);
    return yes;
}

static int open_unix(const char *path, hu_listener *out, hu_error *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct stat        is;
    int                reason;

    if (!path[0] || strlen(path) >= sizeof at.sun_path)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "\"%.200s\" cannot be the path of a socket; use 1 to %zu bytes",
                       path, sizeof at.sun_path - 1);
    memcpy(at.sun_path, path, strlen(path));
    reason = take(out, (const struct sockaddr *)&at, sizeof at);
    if (reason == EADDRINUSE && stat(path, &is) == 0 && S_ISSOCK(is.st_mode) && !is_answered(&at)) {
        unlink(path);
        reason = take(out, (const struct sockaddr *)&at, sizeof at);
    }
    if (reason)
        return fail_bind(path, reason, err);
    out->is_unix = out->is_ours = true;
    return 0;
}

/* "HOST:PORT" in two; false: it is no such thing. */
static bool split(const char *address, char host[HOST_MOST], const char **port)
{
    const char *colon = strrchr(address, ':');
    size_t      n = colon ? (size_t)(colon - address) : 0;
    int64_t     number;

    *port = colon ? colon + 1 : address;
    if (!hu_parse_i64(hu_str_of(*port), &number) || number < 0 || number > UINT16_MAX || n >= HOST_MOST)
        return false;
    if (!colon) {
        snprintf(host, HOST_MOST, "127.0.0.1");
        return true;
    }
    if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
        address++;
        n -= 2;
    } else if (memchr(address, ':', n)) { /* an address of IPv6 has so many colons that its port cannot be told */
        return false;
    }
    memcpy(host, address, n);
    host[n] = '\0';
    return true;
}

int hu_listen_open(const char *address, hu_listener *out, hu_error *err)
{
    struct addrinfo  wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found;
    const char      *port;
    char             host[HOST_MOST];
    int              reason = EADDRNOTAVAIL;

    if (strncmp(address, "unix:", 5) == 0)
        return open_unix(address + 5, out, err);
    if (!split(address, host, &port))
        return fail_address(address, err);
    for (int pass = 0; pass < 2; pass++) { /* all addresses: of both kinds by one socket of IPv6, or else of IPv4 */
        wanted.ai_family = host[0] ? AF_UNSPEC : pass == 0 ? AF_INET6 : AF_INET;
        if (getaddrinfo(host[0] ? host : NULL, port, &wanted, &found) != 0) {
            if (host[0])
                return fail_address(address, err);
            continue;
        }
        for (const struct addrinfo *a = found; a && reason != 0; a = a->ai_next) {
            reason = take(out, a->ai_addr, a->ai_addrlen);
            if (reason == EADDRINUSE)
                break;
        }
        freeaddrinfo(found);
        if (reason == 0)
            return 0;
        if (host[0] || reason == EADDRINUSE)
            break;
    }
    return fail_bind(address, reason, err);
}

size_t hu_listen_inherited(hu_listener *out, size_t room)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    int64_t     n, who;
    size_t      taken = 0;

    if (!pid || !count || !hu_parse_i64(hu_str_of(pid), &who) || who != getpid() || !hu_parse_i64(hu_str_of(count), &n))
        return 0;
    for (int fd = FIRST_INHERITED; fd < FIRST_INHERITED + (n < 64 ? n : 64) && taken < room; fd++) {
        int       listens = 0;
        socklen_t bytes = sizeof listens;

        fcntl(fd, F_SETFD, FD_CLOEXEC);
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0 || !listens)
            continue;
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        out[taken] = (hu_listener){.fd = fd};
        name_it(&out[taken++]);
    }
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return taken;
}

void hu_listen_close(hu_listener *l)
{
    if (l->is_ours)
        unlink(l->name);
    if (l->fd >= 0)
        close(l->fd);
    *l = (hu_listener){.fd = -1};
}
