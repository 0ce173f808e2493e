/* SPDX-License-Identifier: Apache-2.0
 * environment.c - a program that learns its rank late says so by setenv: torch.multiprocessing.spawn, Ray, a script of
 * one's own.  Then the file of this process says it too.  A profiler takes NVTX in the same way. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/live.h"
#include "inject/osrt.h"
#include "inject/process.h"
#include "protocol/rank_id.h"
#include "base/banned.h"

extern char **environ;

/* Is it a variable by which launchers tell ranks? */
static bool tells_rank(const char *text)
{
    const size_t n = strcspn(text, "=");

    return (n >= 4 && memcmp(text + n - 4, "RANK", 4) == 0) || (n >= 4 && memcmp(text + n - 4, "SIZE", 4) == 0) ||
           (n >= 6 && memcmp(text + n - 6, "PROCID", 6) == 0);
}

void hu_process_read_place(hu_live_tally *tally)
{
    hu_rank_id rank;

    hu_rank_id_detect(environ, &rank);
    tally->local_size = rank.local_size;
    snprintf(tally->step_id, sizeof tally->step_id, "%s", rank.step_id);
}

void hu_process_read_rank(void)
{
    hu_ring_head *head = hu_the_process.head;
    hu_rank_id    rank;

    if (head && hu_live_tells())
        hu_process_read_place(&head->live);
    if (!head || strncmp(head->rank_source, "MPI", 3) == 0) /* the communicator knows better */
        return;
    hu_rank_id_detect(environ, &rank);
    if (rank.rank < 0 && strncmp(head->rank_source, "NCCL", 4) == 0)
        return;
    head->rank = rank.rank;
    head->local_rank = rank.local_rank;
    head->world_size = rank.world_size;
    head->node = rank.node;
    snprintf(head->rank_source, sizeof head->rank_source, "%s", rank.source);
    snprintf(head->job_id, sizeof head->job_id, "%s", rank.job_id);
}

__attribute__((visibility("default"))) int setenv(const char *name, const char *value, int overwrite);
__attribute__((visibility("default"))) int putenv(char *text);

int setenv(const char *name, const char *value, int overwrite)
{
    static int (*next)(const char *, const char *, int);
    int rc;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "setenv");
    if (!next)
        return -1;
    rc = next(name, value, overwrite);
    if (rc == 0 && tells_rank(name))
        hu_process_read_rank();
    if (rc == 0 && strcmp(name, "NVTX_INJECTION64_PATH") == 0)
        hu_environment_chain_nvtx();
    return rc;
}

int putenv(char *text)
{
    static int (*next)(char *);
    int rc;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "putenv");
    if (!next)
        return -1;
    rc = next(text);
    if (rc == 0 && tells_rank(text))
        hu_process_read_rank();
    return rc;
}
