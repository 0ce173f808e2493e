/* SPDX-License-Identifier: Apache-2.0
 * omp_events.h - what OpenMP told the recorder (OMPT), as records: a HU_RECORD_OMP and the HU_MORE_OMP behind it.
 *
 *     HU_RECORD_OMP   time: when it began   a: ticks it took   aux: hu_omp_record | what << HU_OMP_SHIFT
 *                     id: the region's number in its process, the same for all of its threads
 *     HU_MORE_OMP     a: the return address of the call into OpenMP, 0 unknown; the rest by the kind of record:
 *
 *                b                                MORE.time                  MORE.b                 MORE.id
 *     REGION     requested threads, 0 any         actual threads             regions around it      -
 *     PHASE      ticks at the barrier behind it,  ticks of waits in it       ticks of tasks run     tasks run in it and at
 *                0: not known                                                at that barrier        that barrier
 *     TASKS      ticks of tasks run               -                          -                      tasks run
 *     WAIT       -                                -                          -                      -
 *     MUTEX      what it waited for               -                          -                      -
 *     SHORT      ticks of the regions             ticks of the threads' work regions                phases
 *
 * A thread's implicit task is cut into phases by the barriers of its region.  `what` of a PHASE is the last worksharing
 * construct in it (OMPT's numbers, 0: none), of a WAIT the kind of synchronisation, of a MUTEX the kind of lock.
 * Regions that are over in no time are added up by the place that starts them: SHORT, from the first to the last of some
 * milliseconds; its id is nothing.
 */
#ifndef HU_PROTOCOL_OMP_EVENTS_H
#define HU_PROTOCOL_OMP_EVENTS_H

typedef enum {
    HU_OMP_REGION = 1,
    HU_OMP_PHASE,
    HU_OMP_TASKS,
    HU_OMP_WAIT,
    HU_OMP_MUTEX,
    HU_OMP_SHORT,
    HU_OMP_RECORDS,
} hu_omp_record;

enum { HU_OMP_SHIFT = 8 };

#endif
