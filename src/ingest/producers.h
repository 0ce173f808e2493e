/* SPDX-License-Identifier: Apache-2.0
 * producers.h - what the writers of traces call things, as tables. */
#ifndef HU_INGEST_PRODUCERS_H
#define HU_INGEST_PRODUCERS_H

#include "base/str.h"
#include "trace/builder.h"

/* The kind behind a category ("cpu_op", "Kernel", …); HU_KIND_OTHER for one that is not known. */
hu_kind hu_producers_kind(hu_str category);

/* The same for other writers' categories; `thread` is the event's tid where that is a text. */
hu_kind hu_producers_foreign_kind(hu_str category, hu_str thread);

/* What a call of the system is for, by what the recorder says of it; a wait for child processes by the call's name. */
hu_host_class hu_producers_host_class(hu_str class, hu_str call);

/* What a slice of OpenMP is, by the name that `holdup run` gives it. */
hu_omp_what hu_producers_omp(hu_str name);

/* Is this the name of a kernel that moves data between devices?  Case is ignored. */
/* A call that maps or releases memory; of a file only where its path says so. */
/* Does a function that waits in a futex belong to a lock: std::sync::Mutex of Rust, absl::Mutex, parking_lot? */
bool hu_producers_is_lock(hu_str function);

/* Is a call a wait for the global interpreter lock of Python, by its function, caller and object? */
bool hu_producers_is_gil(hu_str call, hu_str caller, hu_str object);

bool hu_producers_is_memory(hu_str call);

bool hu_producers_is_comm(hu_str kernel);

/* Rows of devices by the names of their processes, in traces without categories. */
extern const hu_row_reader hu_producers_rows;

#endif
