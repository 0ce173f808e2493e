/* SPDX-License-Identifier: Apache-2.0
 * job_owner.c - what is known of one job, put together from several who know a part. */
#include "monitor/jobs/job_owner.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

enum { SEVERAL = 0x01 }; /* first byte of a text on which processes disagree: no text that is taken has it */

void hu_owner_text(char *to, size_t room, hu_str from)
{
    to[0] = '\0';
    if (from.n == 0 || from.n >= room)
        return;
    for (size_t i = 0; i < from.n; i++)
        if ((unsigned char)from.p[i] < ' ' || from.p[i] == 0x7f)
            return;
    memcpy(to, from.p, from.n);
    to[from.n] = '\0';
}

bool hu_owner_has_job(const hu_owner *o)
{
    return o->job_id[0] != '\0';
}

uint64_t hu_owner_hash(const hu_owner *o)
{
    char      text[sizeof o->scheduler + sizeof o->job_id + sizeof o->user];
    const int n = snprintf(text, sizeof text, "%s %s %s", o->scheduler, o->job_id, hu_owner_has_job(o) ? "" : o->user);

    return hu_hash_bytes(text, (size_t)n);
}

bool hu_owner_same(const hu_owner *a, const hu_owner *b)
{
    if (strcmp(a->job_id, b->job_id) != 0)
        return false;
    if (hu_owner_has_job(a))
        return !a->scheduler[0] || !b->scheduler[0] || strcmp(a->scheduler, b->scheduler) == 0;
    return strcmp(a->scheduler, b->scheduler) == 0 && strcmp(a->user, b->user) == 0;
}

static void fill(char *to, const char *from, size_t room)
{
    if (!to[0] && from[0])
        memcpy(to, from, room);
}

/* What describes a process and not its job. */
static void agree(char *to, const char *from, size_t room)
{
    if (to[0] && from[0] && strcmp(to, from) != 0) {
        to[0] = SEVERAL;
        to[1] = '\0';
    } else {
        fill(to, from, room);
    }
}

void hu_owner_add(hu_owner *to, const hu_owner *from)
{
#define FILL(field)  fill(to->field, from->field, sizeof to->field)
#define AGREE(field) agree(to->field, from->field, sizeof to->field)
    FILL(scheduler);
    FILL(user);
    FILL(account);
    FILL(partition);
    FILL(job_name);
    FILL(world);
    FILL(pod_uid);
    FILL(k8s_namespace);
    FILL(k8s_pod);
    AGREE(step_id);
    AGREE(rank);
    AGREE(k8s_container);
    AGREE(container_id);
#undef FILL
#undef AGREE
}

void hu_owner_hide(hu_owner *o)
{
    o->user[0] = o->account[0] = o->job_name[0] = '\0';
}
