/* SPDX-License-Identifier: Apache-2.0
 * host.c - where the main thread's time goes, the calls that it waits in, and the other processes. */
#include "render/table/cells.h"

/* A fact for each state of the main thread. */
#define STATE(name, state) HU_FACT(name, d->host_time.is_recorded ? d->host_time.state_ns[state] : HU_ABSENT)

STATE(runs, HU_STATE_RUNS)
STATE(reads, HU_HOST_FILE_READ)
STATE(writes, HU_HOST_FILE_WRITE)
STATE(looks_up, HU_HOST_FILE_META)
STATE(syncs, HU_HOST_FSYNC)
STATE(network, HU_HOST_NETWORK)
STATE(pipe_wait, HU_HOST_PIPE)
STATE(lock, HU_HOST_LOCK)
STATE(sleeps, HU_HOST_SLEEP)
STATE(polls, HU_HOST_POLL)
STATE(waits, HU_HOST_WAIT)
STATE(child, HU_HOST_CHILD)
STATE(other, HU_HOST_OTHER)
STATE(comm, HU_STATE_COMM)
STATE(starved, HU_STATE_STARVED)
HU_FACT(recorded, d->host_time.is_recorded)
HU_FACT(pid, d->host_time.is_recorded ? (double)d->host_time.pid : HU_ABSENT)
HU_FACT(tid, d->host_time.is_recorded ? (double)d->host_time.tid : HU_ABSENT)
HU_FACT(step, d->host_time.is_recorded ? d->host_time.step_ns : HU_ABSENT)

static void process(const hu_rank *rank, size_t row, hu_cell *out)
{
    const hu_digest *d = rank->digest;

    (void)row;
    out->text = d->host_time.process.n ? d->host_time.process : d->host_time.thread;
}

static const hu_column facts[] = {
    {"is_recorded", NULL, HU_CELL_BOOL, 0, NULL, recorded},
    {"process", "the main process", HU_CELL_TEXT, 0, NULL, process},
    {"pid", "its number", HU_CELL_COUNT, 0, NULL, pid},
    {"tid", NULL, HU_CELL_COUNT, 0, NULL, tid},
    {"step_ns", "a step of its main thread, or the whole run", HU_CELL_NS, 0, NULL, step},
    {"running_ns", "it runs, or waits unrecorded", HU_CELL_NS, 0, NULL, runs},
    {"cpu_wait_ns", "it is runnable, waiting for a CPU", HU_CELL_NS, 0, NULL, starved},
    {"communication_ns", "MPI and collectives", HU_CELL_NS, 0, NULL, comm},
    {"file_read_ns", "it reads files", HU_CELL_NS, 0, NULL, reads},
    {"file_write_ns", "it writes files", HU_CELL_NS, 0, NULL, writes},
    {"file_meta_ns", "it opens, closes or looks up files", HU_CELL_NS, 0, NULL, looks_up},
    {"fsync_ns", "it waits for data to reach the disk", HU_CELL_NS, 0, NULL, syncs},
    {"network_ns", "it waits for the network", HU_CELL_NS, 0, NULL, network},
    {"pipe_ns", "it waits for the other end of a pipe", HU_CELL_NS, 0, NULL, pipe_wait},
    {"lock_ns", "it waits for locks", HU_CELL_NS, 0, NULL, lock},
    {"sleep_ns", "it sleeps", HU_CELL_NS, 0, NULL, sleeps},
    {"poll_ns", "it waits for events on file descriptors", HU_CELL_NS, 0, NULL, polls},
    {"wait_ns", "it waits for another thread", HU_CELL_NS, 0, NULL, waits},
    {"child_ns", "it waits for child processes", HU_CELL_NS, 0, NULL, child},
    {"other_ns", "in other system calls", HU_CELL_NS, 0, NULL, other},
};

#define PLACES d->host_calls.places

static size_t place_rows(const hu_rank *rank)
{
    return rank->digest->host_calls.n_places;
}

HU_NUMBER_OF(place_main, PLACES, r->sum.main_ns)
HU_NUMBER_OF(place_total, PLACES, r->sum.total_ns)
HU_NUMBER_OF(place_longest, PLACES, r->sum.longest_ns)
HU_NUMBER_OF(place_calls, PLACES, r->sum.calls)
HU_NUMBER_OF(place_bytes, PLACES, r->sum.bytes)
HU_TEXT_OF(place_call, PLACES, r->call)
HU_TEXT_OF(place_class, PLACES, hu_str_of(hu_host_class_key(r->class)))
HU_TEXT_OF(place_within, PLACES, r->within)
HU_PLAIN_TEXT_OF(place_path, PLACES, r->path)

static const hu_column place_columns[] = {
    {"main_ns", "main", HU_CELL_NS, 9, NULL, place_main},
    {"total_ns", "total", HU_CELL_NS, 9, NULL, place_total},
    {"longest_ns", "longest", HU_CELL_NS, 9, NULL, place_longest, true},
    {"calls", "calls", HU_CELL_COUNT, 7, NULL, place_calls},
    {"bytes", "bytes", HU_CELL_BYTES, 9, NULL, place_bytes, true},
    {"class", "class", HU_CELL_TEXT, 10, NULL, place_class},
    {"call", "call", HU_CELL_TEXT, 14, NULL, place_call},
    {"within", "in", HU_CELL_TEXT, 14, NULL, place_within, true},
    {"path", "what", HU_CELL_TEXT, 0, NULL, place_path},
};

const hu_table hu_table_host = {"places",      "Waits in system calls, by place", "none was recorded",
                                place_columns, HU_COUNT(place_columns),           place_rows};

HU_NUMBER(call_main, host_calls, r->sum.main_ns)
HU_NUMBER(call_total, host_calls, r->sum.total_ns)
HU_NUMBER(call_longest, host_calls, r->sum.longest_ns)
HU_NUMBER(call_calls, host_calls, r->sum.calls)
HU_NUMBER(call_bytes, host_calls, r->sum.bytes)
HU_TEXT(call_class, host_calls, hu_str_of(hu_host_class_key(r->class)))
HU_TEXT(call_name, host_calls, r->name)
HU_ROWS(call_rows, host_calls)

static const hu_column call_columns[] = {
    {"main_ns", "main", HU_CELL_NS, 9, NULL, call_main},          {"total_ns", "total", HU_CELL_NS, 9, NULL, call_total},
    {"longest_ns", "longest", HU_CELL_NS, 9, NULL, call_longest}, {"calls", "calls", HU_CELL_COUNT, 7, NULL, call_calls},
    {"bytes", "bytes", HU_CELL_BYTES, 9, NULL, call_bytes},       {"class", "class", HU_CELL_TEXT, 10, NULL, call_class},
    {"name", "call", HU_CELL_TEXT, 0, NULL, call_name},
};

static const hu_table calls = {
    "functions", "Waits in system calls, by function", "none was recorded", call_columns, HU_COUNT(call_columns), call_rows};

HU_NUMBER(process_wall, host_time, r->wall_ns)
HU_NUMBER(process_runs, host_time, r->state_ns[HU_STATE_RUNS])
HU_NUMBER(process_starved, host_time, r->state_ns[HU_STATE_STARVED])
HU_NUMBER(process_pipe, host_time, r->state_ns[HU_HOST_PIPE])
HU_NUMBER(process_child, host_time, r->state_ns[HU_HOST_CHILD])
HU_NUMBER(process_files, host_time,
          r->state_ns[HU_HOST_FILE_READ] + r->state_ns[HU_HOST_FILE_WRITE] + r->state_ns[HU_HOST_FILE_META] +
              r->state_ns[HU_HOST_FSYNC])
HU_NUMBER(process_others, host_time,
          r->wall_ns - r->state_ns[HU_STATE_RUNS] - r->state_ns[HU_STATE_STARVED] - r->state_ns[HU_HOST_PIPE] -
              r->state_ns[HU_HOST_CHILD] - r->state_ns[HU_HOST_FILE_READ] - r->state_ns[HU_HOST_FILE_WRITE] -
              r->state_ns[HU_HOST_FILE_META] - r->state_ns[HU_HOST_FSYNC])
HU_NUMBER(process_pid, host_time, r->pid)
HU_NUMBER(process_threads, host_time, r->threads)
HU_NUMBER(process_main, host_time, r->is_main)
HU_TEXT(process_name, host_time, r->name)
HU_ROWS(process_rows, host_time)

static const hu_column process_columns[] = {
    {"pid", "pid", HU_CELL_COUNT, 9, NULL, process_pid},
    {"wall_ns", "wall", HU_CELL_NS, 9, NULL, process_wall},
    {"running_ns", "runs", HU_CELL_NS, 9, NULL, process_runs},
    {"cpu_wait_ns", "no cpu", HU_CELL_NS, 9, NULL, process_starved},
    {"pipe_ns", "pipe", HU_CELL_NS, 9, NULL, process_pipe},
    {"child_ns", "children", HU_CELL_NS, 9, NULL, process_child},
    {"file_ns", "files", HU_CELL_NS, 9, NULL, process_files, true},
    {"other_waits_ns", "others", HU_CELL_NS, 9, NULL, process_others, true},
    {"threads", "threads", HU_CELL_COUNT, 7, NULL, process_threads, true},
    {"is_main", NULL, HU_CELL_BOOL, 0, NULL, process_main},
    {"name", "process", HU_CELL_TEXT, 0, NULL, process_name},
};

const hu_table hu_table_processes = {
    "processes", "Processes, by state of their main thread", "none was recorded", process_columns, HU_COUNT(process_columns),
    process_rows};

#define THREADS d->host_time.threads

static size_t thread_rows(const hu_rank *rank)
{
    return rank->digest->host_time.n_threads;
}

HU_NUMBER_OF(thread_tid, THREADS, r->tid)
HU_NUMBER_OF(thread_wall, THREADS, r->wall_ns)
HU_NUMBER_OF(thread_runs, THREADS, r->state_ns[HU_STATE_RUNS])
HU_NUMBER_OF(thread_starved, THREADS, r->state_ns[HU_STATE_STARVED])
HU_NUMBER_OF(thread_lock, THREADS, r->state_ns[HU_HOST_LOCK])
HU_NUMBER_OF(thread_waits, THREADS, r->state_ns[HU_HOST_WAIT])
HU_NUMBER_OF(thread_sleep, THREADS, r->state_ns[HU_HOST_SLEEP])
HU_NUMBER_OF(thread_others, THREADS,
             r->wall_ns - r->state_ns[HU_STATE_RUNS] - r->state_ns[HU_STATE_STARVED] - r->state_ns[HU_HOST_LOCK] -
                 r->state_ns[HU_HOST_WAIT] - r->state_ns[HU_HOST_SLEEP])
HU_TEXT_OF(thread_name, THREADS, r->name)

static const hu_column thread_columns[] = {
    {"tid", "tid", HU_CELL_COUNT, 9, NULL, thread_tid},
    {"wall_ns", "wall", HU_CELL_NS, 9, NULL, thread_wall},
    {"running_ns", "runs", HU_CELL_NS, 9, NULL, thread_runs},
    {"cpu_wait_ns", "no cpu", HU_CELL_NS, 9, NULL, thread_starved},
    {"lock_ns", "locks", HU_CELL_NS, 9, NULL, thread_lock},
    {"wait_ns", "waits", HU_CELL_NS, 9, NULL, thread_waits},
    {"sleep_ns", "sleeps", HU_CELL_NS, 9, NULL, thread_sleep, true},
    {"other_waits_ns", "others", HU_CELL_NS, 9, NULL, thread_others, true},
    {"name", "thread", HU_CELL_TEXT, 0, NULL, thread_name},
};

static const hu_table threads = {
    "threads", "Other threads of the main process", "there are none", thread_columns, HU_COUNT(thread_columns), thread_rows};

static const hu_table *const time_tables[] = {&hu_table_processes, &threads};
static const hu_table *const call_tables[] = {&hu_table_host, &calls};

static bool has(const hu_rank *rank)
{
    return rank->digest->host_time.is_recorded;
}

/* clang-format off */
const hu_view hu_view_host = {
    .word = "host", .key = "host_time", .facts = facts, .n_facts = HU_COUNT(facts),
    .tables = time_tables, .n_tables = HU_COUNT(time_tables), .has = has,
    .nothing = "no system calls recorded; holdup run records them",
    .about = "what the main thread and the other processes wait for",
};

const hu_view hu_view_os_calls = {
    .word = "oscalls", .key = "os_calls", .tables = call_tables, .n_tables = HU_COUNT(call_tables),
    .nothing = "no system calls recorded; holdup run records them",
    .about = "system calls by file and place, and by function",
};
/* clang-format on */
