/* SPDX-License-Identifier: Apache-2.0
 * mpi_requests.c - what each open request is about, so that a wait can say for whom it waited.
 *
 * Short messages are often over at once, and then many calls are given one and the same request by the library: such a
 * row counts how many there are, and forgets what they do not have in common.
 * A table of fixed size; when more requests are open than it holds, the waits for the others are recorded without a peer.
 */
#include "base/banned.h"
#include "inject/mpi.h"
#include "inject/process.h"

enum { ROWS = 1 << 14, PROBES = 32, GONE = 1 };

typedef struct {
    hu_word        key;     /* handle + 2; 0: free, GONE: over */
    hu_mpi_request request; /* bytes: of all of them */
    uint32_t       n;
} row;

static row      rows[ROWS];
static uint32_t lock;

static row *find(hu_word key, row **free_one)
{
    uint64_t i = key * 0x9e3779b97f4a7c15u >> 50;

    if (free_one)
        *free_one = NULL;
    for (int probe = 0; probe < PROBES; probe++, i++) {
        row *r = &rows[i & (ROWS - 1)];

        if (r->key == key)
            return r;
        if (r->key <= GONE && free_one && !*free_one)
            *free_one = r;
        if (r->key == 0)
            return NULL;
    }
    return NULL;
}

static void join(row *r, const hu_mpi_request *other)
{
    hu_mpi_request *mine = &r->request;

    if (mine->peer != other->peer || mine->comm != other->comm)
        mine->peer = mine->world_peer = HU_MPI_NOBODY;
    if (mine->tag != other->tag)
        mine->tag = HU_MPI_NOBODY;
    if (mine->comm != other->comm)
        mine->comm = 0;
    mine->bytes += other->bytes;
    r->n++;
}

void hu_mpi_request_made(hu_word handle, const hu_mpi_request *request)
{
    row *r, *place;

    if (!handle || !hu_lock(&lock))
        return;
    r = find(handle + 2, &place);
    if (r && hu_mpi_is_shared_request(handle) && r->request.call == request->call) {
        join(r, request);
    } else if (r || place) {
        r = r ? r : place;
        *r = (row){.key = handle + 2, .request = *request, .n = 1};
    }
    hu_unlock(&lock);
}

bool hu_mpi_request_get(hu_word handle, hu_mpi_request *request)
{
    const row *r;

    if (!handle || !hu_lock(&lock))
        return false;
    r = find(handle + 2, NULL);
    if (r) {
        *request = r->request;
        request->bytes /= r->n;
    }
    hu_unlock(&lock);
    return r != NULL;
}

void hu_mpi_request_over(hu_word handle, bool is_given_back)
{
    row *r;

    if (!handle || !hu_lock(&lock))
        return;
    r = find(handle + 2, NULL);
    if (r && (is_given_back || !r->request.is_persistent)) {
        r->request.bytes -= r->request.bytes / r->n;
        if (--r->n == 0)
            r->key = GONE;
    }
    hu_unlock(&lock);
}
