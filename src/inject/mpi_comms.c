/* SPDX-License-Identifier: Apache-2.0
 * mpi_comms.c - communicators by a name that all their members give them.
 *
 * "MPI_COMM_WORLD[0,2,4]#1": its members as ranks of the world, in the order of its own ranks, and which of that group it
 * is.  MPI demands that members make communicators of one group in the same order, so that they count alike; it is
 * counted where the call that makes it returns.  Two groups (an intercommunicator): the one with the lower first rank
 * comes first.  All of it is asked once for each, by local calls of the library.
 */
#include <stdio.h>
#include <string.h>

#include "base/banned.h"
#include "inject/mpi.h"
#include "inject/process.h"
#include "inject/sys.h"

/* clang-format off */
enum {
    THINGS = 1 << 11, THINGS_MAX = THINGS - THINGS / 4, GROUPS = 1 << 11, TEXT_BYTES = HU_STRING_BYTES_MAX,
    GONE = 1,                           /* a key that no handle has */
};
/* clang-format on */

typedef struct {
    hu_word     key; /* handle << 2 | thing, + 2; 0: free, GONE: was given back */
    hu_mpi_comm comm;
    int32_t    *world_ranks; /* `size` of them, or NULL; of a communicator alone */
    size_t      mapped;
} row;

typedef struct {
    uint32_t text, count; /* how many communicators of this group there were */
} group_row;

static row       rows[THINGS];
static group_row groups[GROUPS];
static uint32_t  n_rows, n_groups, lock;
static hu_word   world_group;
static uint32_t  world_text, self_text;

static hu_word key_of(hu_mpi_thing thing, hu_word handle)
{
    return (handle << 2 | (hu_word)thing) + 2;
}

static row *find(hu_word key, row **free_one)
{
    uint64_t i = key * 0x9e3779b97f4a7c15u >> 53;

    if (free_one)
        *free_one = NULL;
    for (uint32_t probes = 0; probes < THINGS; probes++, i++) {
        row *r = &rows[i & (THINGS - 1)];

        if (r->key == key)
            return r;
        if (r->key <= GONE && free_one && !*free_one)
            *free_one = r;
        if (r->key == 0)
            return NULL;
    }
    return NULL;
}

static void forget(row *r)
{
    if (r->world_ranks)
        hu_sys_unmap(r->world_ranks, r->mapped);
    *r = (row){.key = GONE};
    n_rows--;
}

void hu_mpi_comms_start(void)
{
    char text[64];

    (void)hu_the_mpi.comm_group(hu_the_mpi.world, &world_group);
    world_text = hu_string_of("MPI_COMM_WORLD");
    snprintf(text, sizeof text, "MPI_COMM_SELF[%d]", hu_the_mpi.rank);
    self_text = hu_string_of(text);
}

/* Members of a group as ranks of the world, in fresh memory: 2 n ints, of which the first n are the answer. */
static int *members_of(hu_word group, int *n, size_t *mapped)
{
    int *ranks;

    if (hu_the_mpi.group_size(group, n) != 0 || *n <= 0)
        return NULL;
    *mapped = ((size_t)*n * 2 * sizeof *ranks + 4095) & ~(size_t)4095;
    ranks = hu_sys_map(NULL, *mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!ranks)
        return NULL;
    for (int i = 0; i < *n; i++)
        ranks[*n + i] = i;
    if (hu_the_mpi.group_translate(group, *n, ranks + *n, world_group, ranks) != 0) {
        hu_sys_unmap(ranks, *mapped);
        return NULL;
    }
    return ranks;
}

static size_t put_members(char *to, size_t room, const int *ranks, int n)
{
    enum { LONGEST = 12, TAIL = 40 };
    uint64_t hash = 1469598103934665603u;
    size_t   at = 0;
    int      i = 0;

    to[at++] = '[';
    for (; i < n && at + LONGEST + TAIL < room; i++)
        at += (size_t)snprintf(to + at, room - at, ranks[i] == hu_the_mpi.undefined ? "%s?" : "%s%d", i ? "," : "",
                               ranks[i]);
    if (i < n) { /* too many to write down: the rest as a number */
        for (; i < n; i++)
            hash = (hash ^ (uint32_t)ranks[i]) * 1099511628211u;
        at += (size_t)snprintf(to + at, room - at, ",...%016llx", (unsigned long long)hash);
    }
    to[at++] = ']';
    return at;
}

/* Which one of its group, counted from 1. */
static uint32_t count_in_group(uint32_t text)
{
    for (uint32_t i = text * 2654435761u >> 21;; i++) {
        group_row *g = &groups[i & (GROUPS - 1)];

        if (g->text == text)
            return ++g->count;
        if (g->text == 0) {
            if (n_groups >= GROUPS - GROUPS / 4)
                return 0;
            n_groups++;
            *g = (group_row){.text = text, .count = 1};
            return 1;
        }
    }
}

/* Fills a row by asking the library. */
static void describe(row *r, hu_word comm)
{
    const hu_mpi *m = &hu_the_mpi;
    char          text[TEXT_BYTES];
    hu_word       local = 0, remote = 0;
    int           is_inter = 0, n = 0, n_remote = 0;
    size_t        length = 0, mapped = 0, mapped_remote = 0;
    int          *ranks = NULL, *others = NULL;
    uint32_t      number;

    (void)m->comm_test_inter(comm, &is_inter);
    if (m->comm_group(comm, &local) == 0) {
        ranks = members_of(local, &n, &mapped);
        (void)m->group_free(&local);
    }
    if (is_inter && m->comm_remote_group(comm, &remote) == 0) {
        others = members_of(remote, &n_remote, &mapped_remote);
        (void)m->group_free(&remote);
    }
    if (ranks) {
        const bool others_first = others && others[0] < ranks[0];

        length = (size_t)snprintf(text, sizeof text, "MPI_COMM_WORLD");
        length += put_members(text + length, (sizeof text - length) / (others ? 2 : 1), others_first ? others : ranks,
                              others_first ? n_remote : n);
        if (others) {
            text[length++] = '|';
            length += put_members(text + length, sizeof text - length - 16, others_first ? ranks : others,
                                  others_first ? n : n_remote);
        }
        number = count_in_group(hu_string(text, length));
        length = length < sizeof text - 16 ? length : sizeof text - 16;
        length += (size_t)snprintf(text + length, sizeof text - length, "#%u", number);
        r->comm.text = hu_string(text, length);
    }
    if (is_inter) { /* ranks that a call names are those of the others */
        if (ranks)
            hu_sys_unmap(ranks, mapped);
        ranks = others;
        n = n_remote;
        mapped = mapped_remote;
    }
    r->comm.size = ranks ? n : 0;
    r->world_ranks = ranks;
    r->mapped = mapped;
}

/* Under the lock; NULL: no room. */
static row *get(hu_word comm)
{
    const hu_word key = key_of(HU_MPI_A_COMM, comm);
    row          *place, *r = find(key, &place);

    if (r || !place || n_rows >= THINGS_MAX)
        return r;
    n_rows++;
    *place = (row){.key = key};
    describe(place, comm);
    return place;
}

static bool is_to_ask(hu_word comm)
{
    return hu_the_mpi.is_ready && hu_the_mpi.abi != HU_MPI_UNKNOWN && comm && comm != hu_the_mpi.comm_null;
}

hu_mpi_comm hu_mpi_comm_get(hu_mpi_thing thing, hu_word handle)
{
    hu_mpi_comm none = {0};
    const row  *r;

    if (!is_to_ask(handle))
        return none;
    if (thing == HU_MPI_A_COMM && handle == hu_the_mpi.world)
        return (hu_mpi_comm){.text = world_text, .size = hu_the_mpi.size, .is_world = true};
    if (thing == HU_MPI_A_COMM && handle == hu_the_mpi.self)
        return (hu_mpi_comm){.text = self_text, .size = 1};
    if (!hu_lock(&lock))
        return none;
    r = thing == HU_MPI_A_COMM ? get(handle) : find(key_of(thing, handle), NULL);
    if (r)
        none = r->comm;
    hu_unlock(&lock);
    return none;
}

int32_t hu_mpi_comm_world_rank(hu_word comm, int32_t rank)
{
    int32_t    world = -1;
    const row *r;

    if (rank < 0 || !is_to_ask(comm))
        return -1;
    if (comm == hu_the_mpi.world)
        return rank;
    if (comm == hu_the_mpi.self)
        return hu_the_mpi.rank;
    if (!hu_lock(&lock))
        return -1;
    r = get(comm);
    if (r && r->world_ranks && rank < r->comm.size && r->world_ranks[rank] >= 0)
        world = r->world_ranks[rank];
    hu_unlock(&lock);
    return world;
}

void hu_mpi_comm_made(hu_word comm)
{
    row *old;

    if (!is_to_ask(comm) || !hu_lock(&lock))
        return;
    old = find(key_of(HU_MPI_A_COMM, comm), NULL);
    if (old) /* given back by a way that we do not see */
        forget(old);
    (void)get(comm);
    hu_unlock(&lock);
}

void hu_mpi_comm_lend(hu_mpi_thing thing, hu_word handle, hu_word comm)
{
    const hu_mpi_comm of = hu_mpi_comm_get(HU_MPI_A_COMM, comm);
    row              *place, *r;

    if (!handle || !hu_lock(&lock))
        return;
    r = find(key_of(thing, handle), &place);
    if (!r && place && n_rows < THINGS_MAX) {
        n_rows++;
        *place = (row){.key = key_of(thing, handle)};
        r = place;
    }
    if (r)
        r->comm = of;
    hu_unlock(&lock);
}

void hu_mpi_comm_drop(hu_mpi_thing thing, hu_word handle)
{
    row *r;

    if (!hu_lock(&lock))
        return;
    r = find(key_of(thing, handle), NULL);
    if (r)
        forget(r);
    hu_unlock(&lock);
}
