/* SPDX-License-Identifier: Apache-2.0
 * say_deadlock.c - threads that wait for each other's locks, in a sentence. */
#include "advise/say_deadlock.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "advise/say.h"

enum { TOLD = 3, NAME = 48 };

__attribute__((format(printf, 3, 4))) static void append(char *out, size_t room, const char *format, ...)
{
    const size_t n = strlen(out);
    va_list      args;

    va_start(args, format);
    vsnprintf(out + n, room - n, format, args);
    va_end(args);
}

static int cut(hu_str s)
{
    return (int)(s.n > NAME ? NAME : s.n);
}

void hu_say_deadlock(const hu_deadlock *d, char *out, size_t room)
{
    snprintf(out, room, "Deadlock: %s waits for ever for %s.", d->n == 1 ? "a thread" : "each of these threads",
             d->n == 1 ? "a lock that it has itself" : "a lock that the next one has, and the last one for the first");
    for (size_t i = 0; i < d->n && i < TOLD; i++) {
        const hu_stuck *x = &d->at[i];

        append(out, room, " Thread %lld has been in %.*s%s%.*s for %s", (long long)x->tid, cut(x->call), x->call.p,
               x->caller.n ? ", called from " : "", cut(x->caller), x->caller.p, hu_say_time((double)x->waited_ns).t);
        if (x->lock.n)
            append(out, room, ", for the lock %.*s", cut(x->lock), x->lock.p);
        append(out, room, ", which thread %lld has.", (long long)d->at[(i + 1) % d->n].tid);
    }
    if (d->n > TOLD)
        append(out, room, " There are %zu threads in the circle.", d->n);
    append(out, room, " Take the locks in the same order in all threads.");
}
