/* SPDX-License-Identifier: Apache-2.0
 * say_thread.c - a name is data: it may be long, and it may be cut only between characters. */
#include "advise/say_thread.h"

#include <stdio.h>

enum { NAME = 40 }; /* bytes of a thread's name that are said */

hu_str hu_str_cut(hu_str name, size_t most)
{
    size_t n = name.n > most ? most : name.n;

    while (n && n < name.n && ((unsigned char)name.p[n] & 0xc0) == 0x80)
        n--;
    return (hu_str){name.p, n};
}

hu_said_thread hu_say_thread(const hu_track *t, const hu_trace *trace)
{
    const hu_str   name = hu_trace_text(trace, t->name), shown = hu_str_cut(name, NAME);
    hu_said_thread said;

    if (!name.n || hu_str_equal(name, hu_trace_text(trace, t->process)) || t->tid_is_text)
        snprintf(said.t, sizeof said.t, "%lld", (long long)t->tid);
    else
        snprintf(said.t, sizeof said.t, "%.*s (%lld)", HU_FMT(shown), (long long)t->tid);
    return said;
}
