/* SPDX-License-Identifier: Apache-2.0
 * mpi_abi.c - which MPI this is, and what differs: handles, constants, the layout of a status.
 *
 * Two ABIs are known.  Open MPI: handles are pointers to exported objects, MPI_Status is {source, tag, error, int, size_t
 * bytes}.  MPICH and all that keep its ABI (Intel MPI, MVAPICH, Cray MPICH): handles are ints, MPI_Status is {bytes, low
 * and high, source, tag, error}.  Facts from the mpi.h of Open MPI 4.1.4 and of MPICH 4.0.2.  Of a third one the calls
 * are recorded, with their times and nothing else.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "base/banned.h"
#include "inject/mpi.h"
#include "inject/process.h"

enum { VERSION_BYTES = 8192 + 1 }; /* MPI_MAX_LIBRARY_VERSION_STRING is 256 in Open MPI, 8192 in MPICH */

hu_mpi hu_the_mpi = {.rank = -1, .size = -1};

static void    *library; /* where RTLD_NEXT does not find it */
static bool     has_ended;
static uint32_t lock, looking;

static int find_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
    void       *handle;

    (void)size;
    (void)unused;
    if (strncmp(name, "libmpi", 6) != 0 && strncmp(name, "libmpich", 8) != 0)
        return 0;
    handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (handle && dlsym(handle, "PMPI_Init")) {
        library = handle;
        return 1;
    }
    if (handle)
        dlclose(handle);
    return 0;
}

/* RTLD_NEXT sees what was linked or loaded for everybody, and so another tool that stands between us and MPI; an MPI
 * that was loaded for one library alone (a Python extension) is found by its name. */
void *hu_mpi_next(const char *name)
{
    char  profiled[64] = "P";
    void *function = dlsym(RTLD_NEXT, name);

    if (function)
        return function;
    if (!library && hu_lock(&looking)) { /* not `lock`, which hu_mpi_starts holds while it asks for names */
        if (!library)
            dl_iterate_phdr(find_library, NULL);
        hu_unlock(&looking);
    }
    if (!library)
        return NULL;
    strncat(profiled, name, sizeof profiled - 2);
    function = dlsym(library, profiled);
    return function ? function : dlsym(library, name);
}

static void *pmpi(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);

    return function ? function : hu_mpi_next(name + 1);
}

/* The first one: a program that is linked in the old way has a copy of the library's objects, and all use that. */
hu_word hu_mpi_object(const char *name)
{
    void *there = dlsym(RTLD_DEFAULT, name);

    return (hu_word)(uintptr_t)(there || !library ? there : dlsym(library, name));
}

static void is_open_mpi(hu_mpi *m)
{
    int (*const request_c2f)(hu_word) = (int (*)(hu_word))pmpi("PMPI_Request_c2f");

    m->abi = HU_MPI_OPEN;
    m->proc_null = -2;
    m->any_source = -1;
    m->root = -4;
    m->source_at = 0;
    m->tag_at = 4;
    m->status_bytes = 24;
    m->world = hu_mpi_object("ompi_mpi_comm_world");
    m->self = hu_mpi_object("ompi_mpi_comm_self");
    m->comm_null = hu_mpi_object("ompi_mpi_comm_null");
    m->type_null = hu_mpi_object("ompi_mpi_datatype_null");
    m->empty_request = hu_mpi_object("ompi_request_empty");
    if (m->empty_request && request_c2f)
        m->fortran_empty_request = (uint32_t)request_c2f(m->empty_request);
}

static void is_mpich(hu_mpi *m)
{
    m->abi = HU_MPI_CH;
    m->proc_null = -1;
    m->any_source = -2;
    m->root = -3;
    m->source_at = 8;
    m->tag_at = 12;
    m->status_bytes = 20;
    m->world = 0x44000000;
    m->self = 0x44000001;
    m->comm_null = 0x04000000;
    m->type_null = 0x0c000000;
}

static void learn_abi(hu_mpi *m)
{
    static char version[VERSION_BYTES]; /* under the lock */
    int (*const get_version)(char *, int *) = (int (*)(char *, int *))pmpi("PMPI_Get_library_version");
    int n = 0;

    m->any_tag = -1;
    m->undefined = -32766;
    if (hu_mpi_object("ompi_mpi_comm_world")) {
        is_open_mpi(m);
        return;
    }
    if (get_version && get_version(version, &n) == 0 &&
        (strstr(version, "MPICH") || strstr(version, "Intel(R) MPI") || strstr(version, "MVAPICH")))
        is_mpich(m);
    else
        hu_note("this MPI has neither the Open MPI nor the MPICH ABI: its calls are recorded without peers and bytes");
}

#define LEARN(member, name) *(void **)&m->member = pmpi("PMPI_" name)

static void learn_functions(hu_mpi *m)
{
    LEARN(initialized, "Initialized");
    LEARN(type_size, "Type_size");
    LEARN(comm_rank, "Comm_rank");
    LEARN(comm_size, "Comm_size");
    LEARN(comm_group, "Comm_group");
    LEARN(comm_remote_group, "Comm_remote_group");
    LEARN(comm_test_inter, "Comm_test_inter");
    LEARN(group_size, "Group_size");
    LEARN(group_translate, "Group_translate_ranks");
    LEARN(group_free, "Group_free");
    LEARN(comm_f2c, "Comm_f2c");
    LEARN(type_f2c, "Type_f2c");
    LEARN(win_f2c, "Win_f2c");
    LEARN(file_f2c, "File_f2c");
    if (!m->type_size || !m->comm_rank || !m->comm_size || !m->comm_group || !m->comm_remote_group || !m->comm_test_inter ||
        !m->group_size || !m->group_translate || !m->group_free)
        m->abi = HU_MPI_UNKNOWN;
}

/* What the communicator says of this process is better than what its environment said. */
static void write_rank(const hu_mpi *m)
{
    hu_ring_head *head = hu_the_process.head;

    if (!hu_process_attach() || !(head = hu_the_process.head))
        return;
    head->rank = m->rank;
    head->world_size = m->size;
    strncpy(head->rank_source, "MPI_COMM_WORLD", sizeof head->rank_source - 1);
}

void hu_mpi_starts(void)
{
    hu_mpi *m = &hu_the_mpi;
    int     is_initialized = 0;

    if (__atomic_load_n(&m->is_ready, __ATOMIC_ACQUIRE) || !hu_lock(&lock))
        return;
    if (!m->is_ready && !has_ended) {
        learn_abi(m);
        learn_functions(m);
        /* a program of sessions alone (MPI 4) has no MPI_COMM_WORLD */
        if (m->abi != HU_MPI_UNKNOWN && m->initialized && m->initialized(&is_initialized) == 0 && is_initialized &&
            m->comm_rank(m->world, &m->rank) == 0 && m->comm_size(m->world, &m->size) == 0) {
            write_rank(m);
            hu_mpi_comms_start();
            __atomic_store_n(&m->is_ready, true, __ATOMIC_RELEASE);
        }
        hu_process_entered(HU_DOOR_MPI);
    }
    hu_unlock(&lock);
}

void hu_mpi_ends(void)
{
    has_ended = true;
    __atomic_store_n(&hu_the_mpi.is_ready, false, __ATOMIC_RELEASE);
}

hu_word hu_mpi_handle(hu_word word)
{
    return hu_the_mpi.abi == HU_MPI_CH ? (uint32_t)word : word;
}

hu_word hu_mpi_handle_at(hu_word address)
{
    if (!address)
        return 0;
    return hu_the_mpi.abi == HU_MPI_CH ? *(const uint32_t *)(uintptr_t)address : *(const hu_word *)(uintptr_t)address;
}

/* Of MPICH: one that is built in; no other object is shared by many requests. */
bool hu_mpi_is_shared_request(hu_word handle)
{
    enum { KIND_SHIFT = 30, KIND_BUILT_IN = 1 };
    const hu_mpi *m = &hu_the_mpi;

    if (m->abi == HU_MPI_CH)
        return (uint32_t)handle >> KIND_SHIFT == KIND_BUILT_IN;
    return handle == m->empty_request || (m->fortran_empty_request && handle == m->fortran_empty_request);
}

/* In C the addresses are 1 (Open MPI) and -1 (MPICH); in Fortran those of variables that the library exports. */
bool hu_mpi_is_own_address(hu_word buffer)
{
    static const char *const NAMES[] = {"mpi_fortran_in_place_", "mpi_fortran_in_place", "MPI_FORTRAN_IN_PLACE",
                                        "mpi_fortran_in_place__", "MPIR_F08_MPI_IN_PLACE"};
    enum { N = sizeof NAMES / sizeof *NAMES };
    static hu_word fortran[N];
    static bool    is_known;

    if (buffer == 1 || buffer == ~(hu_word)0)
        return true;
    if (!__atomic_load_n(&is_known, __ATOMIC_ACQUIRE)) {
        for (int i = 0; i < N; i++)
            fortran[i] = hu_mpi_object(NAMES[i]);
        __atomic_store_n(&is_known, true, __ATOMIC_RELEASE);
    }
    for (int i = 0; i < N; i++)
        if (buffer && buffer == fortran[i])
            return true;
    return false;
}

hu_mpi_status hu_mpi_status_read(const void *status)
{
    const char   *p = status;
    hu_mpi_status s = {.bytes = -1};
    uint32_t      low, high;
    uint64_t      bytes;

    memcpy(&s.source, p + hu_the_mpi.source_at, sizeof s.source);
    memcpy(&s.tag, p + hu_the_mpi.tag_at, sizeof s.tag);
    if (hu_the_mpi.abi == HU_MPI_OPEN) {
        memcpy(&bytes, p + 16, sizeof bytes);
    } else {
        memcpy(&low, p, sizeof low);
        memcpy(&high, p + 4, sizeof high);
        bytes = (uint64_t)(high >> 1) << 32 | low; /* its lowest bit: cancelled */
    }
    if (bytes <= INT64_MAX)
        s.bytes = (int64_t)bytes;
    return s;
}
