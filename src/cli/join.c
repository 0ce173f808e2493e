/* SPDX-License-Identifier: Apache-2.0
 * join.c - finds out whether a launcher started several of us, and if so opens the module that knows MPI.
 *
 * Who started us is told by the environment, which children of a job inherit: a training script under mpirun that calls
 * holdup at its end must not wait for processes that never come.  So only a child of the launcher itself joins: one whose
 * parent was not given the variable that tells the rank.
 */
#include "cli/join.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/library.h"
#include "job/mpi_module.h"

enum { PATH_BYTES = 4096, MOST_ENVIRONMENT = 4 << 20 };

/* Variables of those who launch, and whether Open MPI can join there. */
static const struct {
    const char *rank, *size;
    bool        is_open_mpi;
    /* clang-format off */
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true},     /* mpirun of Open MPI                       */
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", true},                /* srun --mpi=pmix                          */
    {"PMI_RANK", "PMI_SIZE", false},                            /* mpirun of MPICH and its kin, srun --mpi=pmi2 */
};
/* clang-format on */

typedef struct {
    int64_t rank, size;
    bool    is_open_mpi;
} launch;

/* Was the variable among what the parent was started with?  Where that cannot be seen it is another user's: no. */
static bool parent_has(const char *name)
{
    char         path[64];
    const size_t n = strlen(name);
    char        *line = NULL;
    size_t       room = 0, seen = 0;
    ssize_t      got;
    bool         has = false;
    FILE        *file;

    snprintf(path, sizeof path, "/proc/%ld/environ", (long)getppid());
    file = fopen(path, "re");
    if (!file)
        return false;
    while (!has && seen < MOST_ENVIRONMENT && (got = getdelim(&line, &room, '\0', file)) > 0) {
        has = strncmp(line, name, n) == 0 && line[n] == '=';
        seen += (size_t)got;
    }
    free(line);
    fclose(file);
    return has;
}

static bool find_launch(launch *out)
{
    const char *wish = getenv("HOLDUP_MPI");

    if (wish && strcmp(wish, "0") == 0)
        return false;
    for (size_t i = 0; i < HU_COUNT(launchers); i++) {
        const char *rank = getenv(launchers[i].rank), *size = getenv(launchers[i].size);

        if (!rank || !size || !hu_parse_i64(hu_str_of(rank), &out->rank) || !hu_parse_i64(hu_str_of(size), &out->size))
            continue;
        out->is_open_mpi = launchers[i].is_open_mpi;
        return out->size > 1 && ((wish && strcmp(wish, "1") == 0) || !parent_has(launchers[i].rank));
    }
    return false;
}

static const hu_mpi_module *load(void)
{
    char                 path[PATH_BYTES];
    void                *handle = hu_library_mpi(path, sizeof path)
                                      ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) /* global: Open MPI loads parts of itself */
                                      : NULL;
    const hu_mpi_module *m = handle ? dlsym(handle, HU_MPI_MODULE_SYMBOL) : NULL;

    return m && m->version == HU_MPI_MODULE_VERSION ? m : NULL;
}

/* Processes that were given other files each want a report of their own. */
static uint64_t hash_arguments(int argc, char **argv)
{
    uint64_t h = hu_hash_bytes(HU_VERSION, sizeof HU_VERSION);

    for (int i = 0; i < argc; i++)
        h = hu_hash_mix(h ^ hu_hash_bytes(argv[i], strlen(argv[i])), 0x9e3779b97f4a7c15u);
    return h;
}

/* Everybody asks process 0, which tells all of them. */
static bool have_same_arguments(hu_crew *t, int argc, char **argv)
{
    const uint64_t mine = hash_arguments(argc, argv);
    char           same = 1;

    if (t->rank) {
        t->mpi->send(&mine, sizeof mine, 0);
        t->mpi->receive(&same, 1, 0);
        return same;
    }
    for (int p = 1; p < t->size; p++) {
        uint64_t other;

        t->mpi->receive(&other, sizeof other, p);
        same &= other == mine;
    }
    for (int p = 1; p < t->size; p++)
        t->mpi->send(&same, 1, p);
    return same;
}

/* Without the module the first of them does it all, which is slow and right. */
static bool go_on_alone(const launch *l, const char *why)
{
    if (l->rank == 0)
        hu_command_say("started %lld times, but %s: one process does all the work (docs/many-ranks.md)", (long long)l->size,
                       why);
    return l->rank == 0;
}

/* As hu_crew.give_up says; _Noreturn would be no part of its type. */
__attribute__((noreturn)) static void give_up(const hu_crew *crew, const hu_error *err)
{
    const int status = hu_command_fail(err);

    crew->mpi->stop_all(status);
    _exit(status);
}

bool hu_crew_join(int argc, char **argv, hu_arena *arena, hu_crew **out)
{
    launch   l;
    hu_crew *t;

    *out = NULL;
    if (!find_launch(&l))
        return true;
    t = hu_arena_calloc(arena, 1, sizeof *t);
    if (t)
        t->give_up = give_up;
    if (!l.is_open_mpi)
        return go_on_alone(&l, "not by Open MPI's mpirun or by srun --mpi=pmix");
    if (!t || !(t->mpi = load()))
        return go_on_alone(&l, HU_MPI_MODULE_FILE " is not installed");
    hu_command_outlive_reader(); /* MPI's own sockets */
    if (t->mpi->start(&t->rank, &t->size, &t->threads) != 0)
        return go_on_alone(&l, "MPI cannot be started");
    if (t->size == 1) {
        t->mpi->finish();
        return go_on_alone(&l, "Open MPI sees only one process");
    }
    if (have_same_arguments(t, argc, argv)) {
        *out = t;
        return true;
    }
    if (t->rank == 0)
        hu_command_say("the %d processes have different arguments: each writes its own report", t->size);
    t->mpi->finish();
    return true;
}

int hu_crew_fail(hu_crew *crew, const hu_error *err)
{
    return hu_crew_is_first(crew) ? hu_command_fail(err) : hu_error_exit_status(err->code);
}
