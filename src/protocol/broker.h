/* SPDX-License-Identifier: Apache-2.0
 * broker.h - how a process that may not, or cannot, open the session's directory gets its files all the same.
 *
 * A worker that became another user, or has another root directory, sees no session.  It asks the supervisor by a local
 * socket in the abstract namespace, which needs no file, and gets descriptors.  Neither side trusts the other:
 *
 *  - the directory stays closed (0700): nobody else can put a file into it, or read one;
 *  - the supervisor serves descendants of its command alone, by the number that the kernel gives with the connection;
 *    it chooses the names of new rings, opens for writing no ring but those of that number, for reading none but those
 *    of its parent, and the control page read-only;
 *  - a process takes files from a supervisor of root or of its own user alone: who waits at a dead one's address cannot
 *    make it map something else;
 *  - what is in a ring was never trusted; that one may be cut while it is mapped is seen to in record/drain.c.
 */
#ifndef HU_PROTOCOL_BROKER_H
#define HU_PROTOCOL_BROKER_H

#include <stdint.h>

typedef enum {
    HU_BROKER_CONTROL = 1, /* the control page, read-only */
    HU_BROKER_MAKE,        /* a new ring; its name comes back */
    HU_BROKER_GROW,        /* one of its own again, for writing */
    HU_BROKER_READ,        /* one of its parent's */
} hu_broker_what;

enum { HU_BROKER_VERSION = 1, HU_BROKER_NAME_BYTES = 48, HU_BROKER_ADDRESS_BYTES = 32 };

/* Both ways, one packet; the answer carries a descriptor where rc is 0.  Whatever the version, it begins with that: a
 * request of another one is answered -EPROTONOSUPPORT. */
typedef struct {
    uint32_t version; /* HU_BROKER_VERSION */
    uint32_t what;    /* hu_broker_what */
    int32_t  rc;      /* 0, or -errno */
    char     name[HU_BROKER_NAME_BYTES];
} hu_broker_packet;

/* The address of a session, behind a NUL: "holdup-" and 16 digits. */
static inline void hu_broker_address(const char *session, char out[HU_BROKER_ADDRESS_BYTES])
{
    static const char digits[] = "0123456789abcdef", prefix[] = "holdup-";
    uint64_t          hash = UINT64_C(0xcbf29ce484222325);
    int               n = 0;

    for (; *session; session++)
        hash = (hash ^ (unsigned char)*session) * UINT64_C(0x100000001b3);
    for (; prefix[n]; n++)
        out[n] = prefix[n];
    for (int shift = 60; shift >= 0; shift -= 4)
        out[n++] = digits[hash >> shift & 15];
    out[n] = '\0';
}

#endif
