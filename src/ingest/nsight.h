/* SPDX-License-Identifier: Apache-2.0
 * nsight.h - private to the readers of Nsight Systems' SQLite exports (docs/formats/nsight.md).
 *
 * The schema changes from version to version: tables exist only where they have rows, columns come and go.  So a reader
 * names the columns that it wants, and one that is missing reads as NULL in every row.
 */
#ifndef HU_INGEST_NSIGHT_H
#define HU_INGEST_NSIGHT_H

#include "base/late/sqlite.h"

#include "base/arena.h"
#include "base/input.h"
#include "base/map.h"
#include "trace/builder.h"

enum { NSIGHT_MOST_COLUMNS = 32 };

typedef struct {
    sqlite3    *db;
    hu_builder *b;
    hu_arena   *arena;
    const char *file;
    int64_t     most_calls; /* of the C library, that are read one by one */
    int64_t     pid;        /* of several processes with GPU work only this one; 0: all */
    int64_t     gpu_pid;    /* the process with GPU work, where rows of the device do not say it; 0 unknown */
    hu_map      strings;    /* StringIds.id -> string id */
    hu_map      waits;      /* pid and correlation of a call that waits -> what it waits for (nsight_gpu.c) */
    hu_map      parts;      /* pids with recorded calls or ranges: they take part in the run */
    hu_error    error;      /* the first failure of the database */
} nsight_reader;

/* A table being read. */
typedef struct {
    nsight_reader *r;
    sqlite3_stmt  *statement;
    uint32_t       present; /* columns of the table, one bit each */
} nsight_rows;

/* Is there a table of this name? */
bool nsight_has(nsight_reader *r, const char *table);

/*
 * Starts reading a table; `columns` are its columns' names, NULL ends the list.  False: there is no such table, or r->error
 * says what went wrong.  `order`: columns to sort by, as in SQL, or NULL.
 */
bool nsight_begin(nsight_reader *r, nsight_rows *rows, const char *table, const char *const *columns, const char *order);

/* The number of the last row of a table, which is about how many there are; 0 where that is not known. */
int64_t nsight_last_row(nsight_reader *r, const char *table);

/* The next row; false at the end, or after a failure, which r->error keeps.  Closes the table then. */
bool nsight_next(nsight_rows *rows);

/* Values of the current row, by the place of their column in the list; NULL gives `absent`. */
int64_t nsight_int(const nsight_rows *rows, int column, int64_t absent);
int32_t nsight_int32(const nsight_rows *rows, int column, int32_t absent);
double  nsight_real(const nsight_rows *rows, int column, double absent);
/* Valid until the next row. */
hu_str nsight_text(const nsight_rows *rows, int column);
/* The string id of a column that refers to StringIds; 0 absent. */
uint32_t nsight_string(const nsight_rows *rows, int column);

/* One text of one row, by another column's text; "" where there is none.  Lives in r->arena. */
hu_str nsight_find(nsight_reader *r, const char *table, const char *key, const char *value, const char *wanted);

/* Opens a database that nobody writes to; the caller closes it.  NULL on failure. */
sqlite3 *nsight_open(const char *path, hu_str bytes, hu_error *err);

/* The import of a format that is a database: opened where it lies, or in memory where it came by a pipe or compressed. */
typedef int nsight_read_all(sqlite3 *db, hu_input *in, hu_builder *b, hu_error *err);
int         nsight_import(hu_input *in, hu_builder *b, nsight_read_all *read_all, hu_error *err);

/* Global ids of threads and processes: hardware, virtual machine, process, thread. */
static inline int64_t nsight_pid(int64_t global)
{
    return (int64_t)((uint64_t)global >> 24 & 0xffffff);
}

static inline int64_t nsight_tid(int64_t global)
{
    return (int64_t)((uint64_t)global & 0xffffff);
}

/* Does a process's data belong to the trace? */
static inline bool nsight_wants(const nsight_reader *r, int64_t pid)
{
    return r->pid == 0 || pid == r->pid;
}

/* Checks the times of a row, and remembers how far the capture reaches.  False: counted, and not to be used. */
bool nsight_times(nsight_reader *r, const nsight_rows *rows, int start, int end, hu_builder_slice *out);

/* Remembers that a process takes part in the run. */
void nsight_take_part(nsight_reader *r, int64_t pid);

/* What NCCL says of its calls (nsight_nccl.c).  NULL: no memory. */
typedef struct nsight_nccl nsight_nccl;
nsight_nccl               *nsight_nccl_new(nsight_reader *r);
/* Of a range of a thread, in the order of time: its row of hu_op_detail, or HU_NONE.  Payload as bytes or as JSON. */
uint32_t nsight_nccl_take(nsight_nccl *c, int64_t thread, uint32_t name, hu_str bytes, hu_str json);

/* Storms of fast calls (nsight_storms.c).  NULL: the file has no more calls than `most`, or there is no memory, which the
   builder knows. */
typedef struct nsight_storms nsight_storms;
nsight_storms               *nsight_storms_new(nsight_reader *r, int64_t most);
/* A call that is one slice, or joins others.  Its detail is a row of hu_os_detail. */
void nsight_storms_add(nsight_storms *s, const hu_builder_slice *call);
void nsight_storms_end(nsight_storms *s);

/* One part of the schema each; failures stay in r->error and in the builder. */
void nsight_read_about(nsight_reader *r);      /* nsight_about.c */
void nsight_read_names(nsight_reader *r);      /* the same; of processes that take part, so at the end */
void nsight_read_gpu(nsight_reader *r);        /* nsight_gpu.c */
void nsight_read_ranges(nsight_reader *r);     /* nsight_ranges.c */
void nsight_read_host(nsight_reader *r);       /* nsight_host.c */
void nsight_read_threads(nsight_reader *r);    /* nsight_threads.c */
void nsight_read_directives(nsight_reader *r); /* nsight_directives.c */

#endif
