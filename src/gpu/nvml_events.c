/* SPDX-License-Identifier: Apache-2.0
 * nvml_events.c - errors (XID) that the driver tells of, one set for all GPUs. */
#include "gpu/nvml.h"
#include "gpu/nvml_calls.h"

void hu_nvml_listen(hu_nvml *n, const hu_nvml_device *d)
{
    if (!n->wait || !n->tell || !n->new_set || (!n->set && n->new_set(&n->set) != SUCCESS))
        return;
    n->tell(d->handle, EVENT_XID, n->set); /* who may not be told, is not */
}

bool hu_nvml_heard(hu_nvml *n, void **handle, uint64_t *xid)
{
    event_2 e = {0};

    if (!n->set || n->wait(n->set, &e, 0) != SUCCESS || e.type != EVENT_XID)
        return false;
    *handle = e.device;
    *xid = e.data;
    return true;
}
