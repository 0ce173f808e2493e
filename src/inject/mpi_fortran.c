/* SPDX-License-Identifier: Apache-2.0
 * mpi_fortran.c - the MPI door for Fortran, where the library's Fortran does not pass through its C names.
 *
 * Found with Debian's Open MPI 4.1.4 and MPICH 4.0.2, gfortran 12: Open MPI's mpi_send_ (mpif.h, use mpi) and
 * mpi_send_f08_ (use mpi_f08) call PMPI_Send, which nobody can stand in front of, so they are taken here.  MPICH's
 * mpi_send_ calls MPI_Send, which mpi.c sees; its mpi_f08 calls MPI_Send for calls with a buffer and PMPI_Wait,
 * PMPI_Barrier ... for the others, so those are taken here as well.
 *
 * Every argument is an address, handles are INTEGERs, the error code comes last (and may be absent in mpi_f08).  Lengths
 * of texts follow behind it, so that calls which take a text are passed two words more than MPI says.
 */
#include <dlfcn.h>
#include <string.h>

#include "base/banned.h"
#include "inject/mpi.h"
#include "inject/mpi_words.h"
#include "inject/process.h"

#define EXPORT __attribute__((visibility("default")))

enum { NO_MPI = 16 };

/* Open MPI only: its objects are exported, MPICH has none. */
static bool is_open_mpi(void)
{
    static int8_t known; /* 0: not asked yet, 1: no, 2: yes */

    if (!known)
        known = hu_mpi_object("ompi_mpi_comm_world") ? 2 : 1;
    return known == 2;
}

static void *next_of(void **cached, const char *name)
{
    void *function = __atomic_load_n(cached, __ATOMIC_RELAXED);

    if (function)
        return function;
    hu_thread.inside++;
    function = dlsym(RTLD_NEXT, name);
    hu_thread.inside--;
    __atomic_store_n(cached, function, __ATOMIC_RELAXED);
    if (!function)
        hu_note("the program called %s, but no MPI library with Fortran bindings is loaded: the call returned an error",
                name);
    return function;
}

/* Not the address that stands for "I do not want to know". */
static bool has_status(const hu_mpi_frame *f)
{
    static const char *const NAMES[] = {"mpi_fortran_status_ignore_", "mpi_fortran_status_ignore",
                                        "MPI_FORTRAN_STATUS_IGNORE", "mpi_fortran_status_ignore__",
                                        "MPIR_F08_MPI_STATUS_IGNORE_OBJ"};
    const char *const        at = strchr(f->arguments, 'S');
    const hu_word            address = at ? f->a[at - f->arguments] : 0;

    for (unsigned i = 0; i < sizeof NAMES / sizeof *NAMES && address; i++)
        if (hu_mpi_object(NAMES[i]) == address)
            return false;
    return address != 0;
}

static void set_error(hu_word address, int rc)
{
    if (address)
        *(int32_t *)(uintptr_t)address = rc;
}

/* The words that each kind of call has behind those of C: the error code, and lengths of texts. */
#define PLUS1_0     1
#define PLUS1_1     2
#define PLUS1_2     3
#define PLUS1_3     4
#define PLUS1_4     5
#define PLUS1_5     6
#define PLUS1_6     7
#define PLUS1_7     8
#define PLUS1_8     9
#define PLUS1_9     10
#define PLUS1_10    11
#define PLUS1_11    12
#define PLUS1_12    13
#define PLUS3_1     4
#define PLUS3_2     5
#define PLUS3_3     6
#define PLUS3_4     7
#define PLUS3_5     8
#define PLUS3_6     9
#define PLUS3_7     10
#define PLUS3_8     11
#define PLUS3_9     12
#define PLUS3_10    13
#define JOIN(a, b)  a##b
#define PASTE(a, b) JOIN(a, b)
#define ERROR_AT_0  a0
#define ERROR_AT_1  a1
#define ERROR_AT_2  a2
#define ERROR_AT_3  a3
#define ERROR_AT_4  a4
#define ERROR_AT_5  a5
#define ERROR_AT_6  a6
#define ERROR_AT_7  a7
#define ERROR_AT_8  a8
#define ERROR_AT_9  a9
#define ERROR_AT_10 a10
#define ERROR_AT_11 a11
#define ERROR_AT_12 a12

/* `words` are all that are passed on, `arity` those that mean something, `passes` says when C's door sees the call. */
/* clang-format off */
#define WRAPPER(symbol, id, words, arity, letters, passes)                                                            \
    EXPORT void symbol(PASTE(P, words));                                                                              \
    void symbol(PASTE(P, words))                                                                                      \
    {                                                                                                                 \
        static void *cached;                                                                                          \
        void (*const next)(PASTE(P, words)) = (void (*)(PASTE(P, words)))next_of(&cached, #symbol);                   \
        hu_word      a[] = {PASTE(A, words)};                                                                         \
        hu_mpi_frame f = {.call = HU_MPI_##id, .arguments = letters, .a = a, .is_fortran = true};                     \
        hu_mpi_room  room;                                                                                            \
        int32_t      rc = 0;                                                                                          \
                                                                                                                      \
        if (!next) {                                                                                                  \
            set_error(ERROR_AT_##arity, NO_MPI);                                                                      \
            return;                                                                                                   \
        }                                                                                                             \
        if (hu_mpi_is_quiet(HU_MPI_##id) || (passes)) {                                                               \
            next(PASTE(A, words));                                                                                    \
            return;                                                                                                   \
        }                                                                                                             \
        f.has_fortran_status = has_status(&f);                                                                        \
        hu_mpi_before(&f, &room);                                                                                     \
        next(PASTE(C, words));                                                                                        \
        if (ERROR_AT_##arity)                                                                                         \
            rc = *(const int32_t *)(uintptr_t)ERROR_AT_##arity;                                                       \
        hu_mpi_after(&f, rc);                                                                                         \
    }
/* clang-format on */

#define PLAIN(name, fortran, arity, letters)                                       \
    WRAPPER(mpi_##fortran##_, name, PLUS1_##arity, arity, letters, !is_open_mpi()) \
    WRAPPER(mpi_##fortran##_f08_, name, PLUS1_##arity, arity, letters, false)
#define WITH_TEXTS(name, fortran, arity, letters)                                  \
    WRAPPER(mpi_##fortran##_, name, PLUS3_##arity, arity, letters, !is_open_mpi()) \
    WRAPPER(mpi_##fortran##_f08_, name, PLUS3_##arity, arity, letters, false)

#define OF_P2P                                  PLAIN
#define OF_POST                                 PLAIN
#define OF_INIT                                 PLAIN
#define OF_WAIT                                 PLAIN
#define OF_TEST                                 PLAIN
#define OF_COLLECTIVE                           PLAIN
#define OF_COMM                                 WITH_TEXTS
#define OF_RMA                                  PLAIN
#define OF_FILE                                 WITH_TEXTS
#define OF_START(name, fortran, arity, letters) /* below */
#define OF_END                                  PLAIN
#define OF_ABORT                                PLAIN
#define OF_OTHER                                PLAIN

#define M(name, fortran, arity, class, letters) OF_##class(name, fortran, arity, letters)
HU_MPI_CALLS(M)

WRAPPER(mpi_init_, Init, 1, 0, "", !is_open_mpi())
WRAPPER(mpi_init_f08_, Init, 1, 0, "", false)
WRAPPER(mpi_init_thread_, Init_thread, 3, 2, "xx", !is_open_mpi())
WRAPPER(mpi_init_thread_f08_, Init_thread, 3, 2, "xx", false)
