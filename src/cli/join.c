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
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/library.h"
#include "job/mpi_module.h"

enum { PATH_BYTES = 4096, MOST_ENVIRONMENT = 4 << 20 };

/* Variables of those who launch, and the module whose MPI can join there; Hydra, MPICH's, says how many are local. */
static const struct {
    const char *rank, *size, *also, *module, *name;
    /* clang-format off */
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL, HU_MPI_MODULE_FILE, "Open MPI"}, /* mpirun of Open MPI          */
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", NULL, HU_MPI_MODULE_FILE, "Open MPI"},            /* srun --mpi=pmix             */
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", HU_MPI_MODULE_FILE_MPICH, "MPICH"},         /* mpirun of MPICH and its kin */
    {"PMI_RANK", "PMI_SIZE", NULL, NULL, NULL},                                             /* srun --mpi=pmi2             */
};
/* clang-format on */

enum { WHY_BYTES = 160 };

typedef struct {
    int64_t     rank, size;
    const char *module, *name; /* NULL: none can join */
    bool        is_child;      /* of the launcher itself */
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

/* Were we started by a launcher, and which? */
static bool find_launch(launch *out)
{
    for (size_t i = 0; i < HU_COUNT(launchers); i++) {
        const char *rank = getenv(launchers[i].rank), *size = getenv(launchers[i].size);

        if (!rank || !size || !hu_parse_i64(hu_str_of(rank), &out->rank) || !hu_parse_i64(hu_str_of(size), &out->size) ||
            (launchers[i].also && !getenv(launchers[i].also)))
            continue;
        out->module = launchers[i].module;
        out->name = launchers[i].name;
        out->is_child = !parent_has(launchers[i].rank);
        return true;
    }
    return false;
}

/* HOLDUP_MPI=0 joins never, =1 also below a script. */
static bool find_crew(launch *out)
{
    const char *wish = getenv("HOLDUP_MPI");

    return !(wish && strcmp(wish, "0") == 0) && find_launch(out) && out->size > 1 &&
           (out->is_child || (wish && strcmp(wish, "1") == 0));
}

/* The module of a build for any Linux does not say which library it needs: what has MPICH's ABI has different names. */
static void open_mpi(const char *module)
{
    static const char *const open_mpi_files[] = {"libmpi.so.40", NULL};
    static const char *const mpich_files[] = {"libmpich.so.12", "libmpi.so.12", NULL};
    const char *const       *files = strcmp(module, HU_MPI_MODULE_FILE) == 0 ? open_mpi_files : mpich_files;

    while (*files && !dlopen(*files, RTLD_LAZY | RTLD_GLOBAL)) /* global: Open MPI loads parts of itself */
        files++;
}

static const hu_mpi_module *load(const char *file)
{
    char                 path[PATH_BYTES];
    void                *handle;
    const hu_mpi_module *m;

    if (!hu_library_mpi(file, path, sizeof path))
        return NULL;
    open_mpi(file);
    handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    m = handle ? dlsym(handle, HU_MPI_MODULE_SYMBOL) : NULL;
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

/* Joins the others with the launcher's MPI; false with the reason. */
static bool start(const launch *l, hu_crew *t, char *why)
{
    if (!l->module) {
        snprintf(why, WHY_BYTES, "not by the mpirun of Open MPI or MPICH, or by srun --mpi=pmix");
        return false;
    }
    if (!(t->mpi = load(l->module))) {
        snprintf(why, WHY_BYTES, "%s is not installed", l->module);
        return false;
    }
    hu_command_outlive_reader(); /* MPI's own sockets */
    if (t->mpi->start(&t->rank, &t->size, &t->threads) != 0) {
        snprintf(why, WHY_BYTES, "MPI cannot be started");
        return false;
    }
    if (t->size == 1) {
        t->mpi->finish();
        snprintf(why, WHY_BYTES, "%s sees only one process", l->name);
        return false;
    }
    return true;
}

bool hu_crew_join(int argc, char **argv, hu_arena *arena, hu_crew **out)
{
    char     why[WHY_BYTES];
    launch   l;
    hu_crew *t;

    *out = NULL;
    if (!find_crew(&l))
        return true;
    if (!(t = hu_arena_calloc(arena, 1, sizeof *t)))
        return go_on_alone(&l, "there is no memory");
    t->give_up = give_up;
    if (!start(&l, t, why))
        return go_on_alone(&l, why);
    if (have_same_arguments(t, argc, argv)) {
        *out = t;
        return true;
    }
    if (t->rank == 0)
        hu_command_say("the %d processes have different arguments: each writes its own report", t->size);
    t->mpi->finish();
    return true;
}

int hu_crew_need(const char *what, hu_arena *arena, hu_crew **out, hu_error *err)
{
    char     why[WHY_BYTES] = "no launcher started it";
    launch   l = {0};
    hu_crew *t = hu_arena_calloc(arena, 1, sizeof *t);

    *out = NULL;
    if (!t)
        return hu_fail_memory(err);
    t->give_up = give_up;
    if (!find_launch(&l))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "%s needs several processes: mpirun -n 4 holdup doctor --collectives", what);
    if (l.size == 1)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "%s needs at least 2 processes; the launcher started 1", what);
    if (!start(&l, t, why))
        return hu_fail(
            err, HU_EUSAGE, NULL, HU_NO_OFFSET,
            "%s cannot join its %lld processes: %s; use the mpirun of the MPI that holdup was built with, or torchrun "
            "-m holdup.collectives",
            what, (long long)l.size, why);
    *out = t;
    return 0;
}

int hu_crew_fail_once(const hu_error *err)
{
    launch l;

    return !find_launch(&l) || l.rank == 0 ? hu_command_fail(err) : hu_error_exit_status(err->code);
}

int hu_crew_fail(hu_crew *crew, const hu_error *err)
{
    return hu_crew_is_first(crew) ? hu_command_fail(err) : hu_error_exit_status(err->code);
}
