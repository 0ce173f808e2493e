/* SPDX-License-Identifier: Apache-2.0
 * mpi_large.c - MPI 4's calls with counts of 64 bits (MPI_Send_c), recorded under the names of those with ints.
 *
 * mpi4py asks by weak references which of them its library has, and would find ours in front of a library that has none.
 * So where the library has none they do what mpi4py itself does then: the call with an int, and MPI_ERR_ARG for a count
 * that is no int.  Those with arrays of counts are left out, because their arrays would have to be copied for that.
 */
#include <limits.h>

#include "base/banned.h"
#include "inject/mpi.h"
#include "inject/mpi_words.h"

#define EXPORT __attribute__((visibility("default")))

/* clang-format off */
#define HU_MPI_LARGE(L)                                                                                               \
    L(Send, 6, "bltdgc") L(Ssend, 6, "bltdgc") L(Bsend, 6, "bltdgc") L(Rsend, 6, "bltdgc") L(Recv, 7, "BeTsgcS")      \
    L(Sendrecv, 12, "bltdgBeTsGcS") L(Sendrecv_replace, 9, "bltdgsGcS") L(Mrecv, 5, "BeTmS") L(Isend, 7, "bltdgcq")   \
    L(Issend, 7, "bltdgcq") L(Ibsend, 7, "bltdgcq") L(Irsend, 7, "bltdgcq") L(Irecv, 7, "BeTsgcq")                    \
    L(Imrecv, 5, "BeTmq") L(Send_init, 7, "bltdgcq") L(Ssend_init, 7, "bltdgcq") L(Bsend_init, 7, "bltdgcq")          \
    L(Rsend_init, 7, "bltdgcq") L(Recv_init, 7, "BeTsgcq") L(Bcast, 5, "Bltrc") L(Reduce, 7, "bBltxrc")               \
    L(Allreduce, 6, "bBltxc") L(Reduce_scatter_block, 6, "bBltxc") L(Scan, 6, "bBltxc") L(Exscan, 6, "bBltxc")        \
    L(Gather, 8, "bltBeTrc") L(Scatter, 8, "bltBeTrc") L(Allgather, 7, "bltBeTc") L(Alltoall, 7, "bltBeTc")           \
    L(Ibcast, 6, "Bltrcq") L(Ireduce, 8, "bBltxrcq") L(Iallreduce, 7, "bBltxcq")                                      \
    L(Ireduce_scatter_block, 7, "bBltxcq") L(Iscan, 7, "bBltxcq") L(Iexscan, 7, "bBltxcq")                            \
    L(Igather, 9, "bltBeTrcq") L(Iscatter, 9, "bltBeTrcq") L(Iallgather, 8, "bltBeTcq") L(Ialltoall, 8, "bltBeTcq")   \
    L(File_read, 5, "fBeTS") L(File_read_all, 5, "fBeTS") L(File_read_at, 6, "fxBeTS")                                \
    L(File_read_at_all, 6, "fxBeTS") L(File_write, 5, "fbltS") L(File_write_all, 5, "fbltS")                          \
    L(File_write_at, 6, "fxbltS") L(File_write_at_all, 6, "fxbltS")
/* clang-format on */

enum { NO_MPI = 16, ERR_ARG_OPEN = 13, ERR_ARG_CH = 12 };

typedef struct {
    void *function; /* of the library, or that with ints */
    bool  is_known, has_large;
} choice;

static void *choose(choice *c, const char *name, uint16_t call)
{
    if (!__atomic_load_n(&c->is_known, __ATOMIC_ACQUIRE)) {
        void *large;

        hu_thread.inside++;
        large = hu_mpi_next(name);
        hu_thread.inside--;
        c->has_large = large != NULL;
        c->function = large ? large : hu_mpi_function(call);
        if (c->function)
            __atomic_store_n(&c->is_known, true, __ATOMIC_RELEASE);
    }
    return c->function;
}

static bool fits(const char *letters, const hu_word *a)
{
    for (int i = 0; letters[i]; i++)
        if ((letters[i] == 'l' || letters[i] == 'e') && ((int64_t)a[i] > INT_MAX || (int64_t)a[i] < INT_MIN))
            return false;
    return true;
}

/* clang-format off */
#define L(name, arity, letters)                                                                                       \
    EXPORT int MPI_##name##_c(P##arity);                                                                              \
    int MPI_##name##_c(P##arity)                                                                                      \
    {                                                                                                                 \
        static choice cached;                                                                                         \
        int (*const next)(P##arity) = (int (*)(P##arity))choose(&cached, "MPI_" #name "_c", HU_MPI_##name);           \
        hu_word      a[] = {A##arity};                                                                                \
        hu_mpi_frame f = {.call = HU_MPI_##name, .arguments = letters, .a = a};                                       \
        hu_mpi_room  room;                                                                                            \
        int          rc;                                                                                              \
                                                                                                                      \
        if (!next)                                                                                                    \
            return NO_MPI;                                                                                            \
        if (!cached.has_large && !fits(letters, a))                                                                   \
            return hu_the_mpi.abi == HU_MPI_CH ? ERR_ARG_CH : ERR_ARG_OPEN;                                           \
        if (hu_mpi_is_quiet(HU_MPI_##name))                                                                           \
            return next(A##arity);                                                                                    \
        hu_mpi_before(&f, &room);                                                                                     \
        rc = next(C##arity);                                                                                          \
        hu_mpi_after(&f, rc);                                                                                         \
        return rc;                                                                                                    \
    }
/* clang-format on */

HU_MPI_LARGE(L)
