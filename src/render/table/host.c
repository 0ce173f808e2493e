/* SPDX-License-Identifier: Apache-2.0
 * host.c - where the main thread's time goes, the calls that it waits in, and the other processes. */
#include "render/table/cells.h"
#include "render/table/terms.h"

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
STATE(team, HU_STATE_TEAM)
STATE(starved, HU_STATE_STARVED)
STATE(blocked, HU_STATE_BLOCKED)
STATE(lost, HU_STATE_UNKNOWN)

/* The scheduler's view, where a scheduler was asked. */
#define TASK(name, state) \
    HU_FACT(name,         \
            d->host_time.is_recorded && d->host_time.source != HU_STATES_NONE ? d->host_time.task_ns[state] : HU_ABSENT)

TASK(task_running, HU_THREAD_RUNNING)
TASK(task_runnable, HU_THREAD_RUNNABLE)
TASK(task_waiting, HU_THREAD_WAITING)
TASK(task_unknown, HU_THREAD_UNKNOWN)
HU_FACT(wall, d->host_time.is_recorded ? d->host_time.wall_ns : HU_ABSENT)
HU_FACT(cpu, d->host_time.is_recorded ? d->host_time.cpu_ns : HU_ABSENT)
HU_FACT(job_cpu, d->host_time.is_recorded ? d->host_time.job_cpu_ns : HU_ABSENT)
HU_FACT(recorded, d->host_time.is_recorded)
HU_FACT(pid, d->host_time.is_recorded ? (double)d->host_time.pid : HU_ABSENT)
HU_FACT(tid, d->host_time.is_recorded ? (double)d->host_time.tid : HU_ABSENT)
HU_FACT(died_of, d->info.command_signal ? (double)d->info.command_signal : HU_ABSENT)
HU_FACT(step, d->host_time.is_recorded ? d->host_time.step_ns : HU_ABSENT)

static void process(const hu_rank *rank, size_t row, hu_cell *out)
{
    const hu_digest *d = rank->digest;

    (void)row;
    out->text = d->host_time.process.n ? d->host_time.process : d->host_time.thread;
}

static void source(const hu_rank *rank, size_t row, hu_cell *out)
{
    (void)row;
    out->text = hu_str_of(hu_state_source_key(rank->digest->host_time.source));
}

/* clang-format off */
static const hu_column facts[] = {
    {"is_recorded", NULL, HU_CELL_BOOL, 0, NULL, recorded,
     .help = "Whether the trace holds system calls, MPI calls or states of threads."},
    {"states_from", "states of threads from", HU_CELL_TEXT, 0, NULL, source, .values = "|switches|schedstat|sums|none",
     .help = "Source of the states of threads: switches (every context switch), schedstat (sums read from /proc; places are "
             "estimates), sums (of the command's main thread in all its life) or none."},
    {"process", "main process", HU_CELL_TEXT, 0, NULL, process,
     .help = "Name of the main process, or of its main thread when the process has none."},
    {"pid", "its number", HU_CELL_ID, 0, NULL, pid,
     .help = "Process id of the main process."},
    {"tid", NULL, HU_CELL_ID, 0, NULL, tid,
     .help = "Thread id of the main thread."},
    {"step_ns", "step of the main thread, or the whole run", HU_CELL_NS, 0, NULL, step,
     .help = "Mean step as the host marked it, or the main thread's lifetime without steps; the times below add up to "
             "it."},
    {"running_ns", "running", HU_CELL_NS, 0, NULL, runs,
     .help = "Time in which the main thread runs, files and communication left out; without states of threads, waits "
             "that were not recorded are in it."},
    {"unrecorded_wait_ns", "waiting in no recorded call", HU_CELL_NS, 0, NULL, blocked,
     .help = "Time in which the thread waits, but in no call that was recorded."},
    {"unknown_ns", "not known", HU_CELL_NS, 0, NULL, lost,
     .help = "Time of which the recorder lost the thread's state."},
    {"cpu_wait_ns", "runnable, waiting for a CPU", HU_CELL_NS, 0, NULL, starved,
     .help = "Time in which the thread is runnable and waits for a CPU."},
    {"communication_ns", "MPI and collectives", HU_CELL_NS, 0, NULL, comm,
     .help = "Time in MPI calls and in ranges of collectives."},
    {"openmp_wait_ns", "waiting at barriers of OpenMP", HU_CELL_NS, 0, NULL, team,
     .help = "Time at barriers of OpenMP, spinning or asleep, without the explicit tasks that the thread ran there."},
    {"file_read_ns", "reading files", HU_CELL_NS, 0, NULL, reads,
     .help = "Time in calls that read files."},
    {"file_write_ns", "writing files", HU_CELL_NS, 0, NULL, writes,
     .help = "Time in calls that write files."},
    {"file_meta_ns", "opening, closing, looking up files", HU_CELL_NS, 0, NULL, looks_up,
     .help = "Time in calls that open, close and look up files."},
    {"fsync_ns", "waiting for data to reach the disk", HU_CELL_NS, 0, NULL, syncs,
     .help = "Time in calls that wait for data to reach the disk."},
    {"network_ns", "waiting for the network", HU_CELL_NS, 0, NULL, network,
     .help = "Time in calls that wait for the network."},
    {"pipe_ns", "waiting for the other end of a pipe", HU_CELL_NS, 0, NULL, pipe_wait,
     .help = "Time in calls that wait for the other end of a pipe."},
    {"lock_ns", "waiting for locks", HU_CELL_NS, 0, NULL, lock,
     .help = "Time in calls that wait for locks."},
    {"sleep_ns", "sleeping", HU_CELL_NS, 0, NULL, sleeps,
     .help = "Time in calls that sleep."},
    {"poll_ns", "waiting for events on file descriptors", HU_CELL_NS, 0, NULL, polls,
     .help = "Time in calls that wait for file descriptors (poll, select, epoll)."},
    {"wait_ns", "waiting for another thread", HU_CELL_NS, 0, NULL, waits,
     .help = "Time in calls that wait for another thread."},
    {"child_ns", "waiting for child processes", HU_CELL_NS, 0, NULL, child,
     .help = "Time in calls that wait for child processes."},
    {"other_ns", "in other system calls", HU_CELL_NS, 0, NULL, other,
     .help = "Time in all other system calls."},
    {"task_running_ns", "on a CPU", HU_CELL_NS, 0, NULL, task_running,
     .help = "CPU time of the main thread in the same time, in recorded calls too; adds up to step_ns with the next three, "
             "null without states of threads."},
    {"task_runnable_ns", NULL, HU_CELL_NS, 0, NULL, task_runnable,
     .help = "Time in which the scheduler has it on a run queue, in recorded calls too."},
    {"task_waiting_ns", NULL, HU_CELL_NS, 0, NULL, task_waiting,
     .help = "Time in which the scheduler has it asleep."},
    {"task_unknown_ns", NULL, HU_CELL_NS, 0, NULL, task_unknown,
     .help = "Time of which its state is not known."},
    {"process_wall_ns", "life of the process", HU_CELL_NS, 0, NULL, wall,
     .help = "Time from the start of the main process to its end."},
    {"process_cpu_ns", "its CPU time", HU_CELL_NS, 0, NULL, cpu,
     .help = "CPU time of all its threads; null without states of threads."},
    {"job_cpu_ns", "CPU time of all processes", HU_CELL_NS, 0, NULL, job_cpu,
     .help = "CPU time of all threads of the recording; null without states of threads."},
    {"command_signal", "signal that the command died of", HU_CELL_COUNT, 0, NULL, died_of,
     .help = "Number of the signal that the recorded command died of; null where it died of none, or that is not known."},
};
/* clang-format on */

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
HU_NUMBER_OF(place_outside, PLACES, r->sum.outside_ns)
HU_TEXT_OF(place_call, PLACES, r->call)
HU_TEXT_OF(place_class, PLACES, hu_str_of(hu_host_class_key(r->class)))
HU_TEXT_OF(place_within, PLACES, r->within)
HU_PLAIN_TEXT_OF(place_path, PLACES, r->path)

/* clang-format off */
static const hu_column place_columns[] = {
    {"main_ns", "main", HU_CELL_NS, 9, NULL, place_main, .values = "any",
     .help = "Time of the main thread in these calls, inside the counted steps."},
    {"total_ns", "total", HU_CELL_NS, 9, NULL, place_total, .values = "any",
     .help = "Time in these calls, summed over all threads and processes."},
    {"longest_ns", "longest", HU_CELL_NS, 9, NULL, place_longest, .is_wide = true, .values = "any",
     .help = "Longest of these calls."},
    {"calls", "calls", HU_CELL_COUNT, 7, NULL, place_calls, .values = "any",
     .help = "Number of calls."},
    {"bytes", "bytes", HU_CELL_BYTES, 9, NULL, place_bytes, .is_wide = true, .values = "any",
     .help = "Bytes that they moved, where recorded."},
    {"outside_ns", "outside", HU_CELL_NS, 9, NULL, place_outside, .is_wide = true, .values = "any",
     .help = "Part of the total that was seen from outside, by sampling waiting threads, and not recorded in the program."},
    {"class", "class", HU_CELL_TEXT, 10, NULL, place_class, .terms = hu_terms_host_classes,
     .help = "What the call is for: file_read, file_write, file_meta, fsync, network, pipe, lock, sleep, poll, wait, "
             "child or other."},
    {"call", "call", HU_CELL_TEXT, 14, NULL, place_call,
     .help = "Name of the function."},
    {"within", "in", HU_CELL_TEXT, 14, NULL, place_within, .is_wide = true,
     .help = "Innermost range, function or operator around the call; empty when there is none."},
    {"path", "file or peer", HU_CELL_TEXT, 0, NULL, place_path,
     .help = "File or peer of the call; empty when not recorded."},
};

const hu_table hu_table_host = {
    .key = "places", .title = "Waits in system calls, by place",
    .columns = place_columns, .n_columns = HU_COUNT(place_columns), .rows = place_rows,
    .empty = "none was recorded",
    .about = "System calls by function, file or peer, and place in the program; a call inside another one counts for "
             "the outer one.",
};
/* clang-format on */

HU_NUMBER(call_main, host_calls, r->sum.main_ns)
HU_NUMBER(call_total, host_calls, r->sum.total_ns)
HU_NUMBER(call_longest, host_calls, r->sum.longest_ns)
HU_NUMBER(call_calls, host_calls, r->sum.calls)
HU_NUMBER(call_bytes, host_calls, r->sum.bytes)
HU_NUMBER(call_outside, host_calls, r->sum.outside_ns)
HU_TEXT(call_class, host_calls, hu_str_of(hu_host_class_key(r->class)))
HU_TEXT(call_name, host_calls, r->name)
HU_ROWS(call_rows, host_calls)

/* clang-format off */
static const hu_column call_columns[] = {
    {"main_ns", "main", HU_CELL_NS, 9, NULL, call_main, .values = "any",
     .help = "Time of the main thread in this function, inside the counted steps."},
    {"total_ns", "total", HU_CELL_NS, 9, NULL, call_total, .values = "any",
     .help = "Time in this function, summed over all threads and processes."},
    {"longest_ns", "longest", HU_CELL_NS, 9, NULL, call_longest, .values = "any",
     .help = "Longest call."},
    {"calls", "calls", HU_CELL_COUNT, 7, NULL, call_calls, .values = "any",
     .help = "Number of calls."},
    {"bytes", "bytes", HU_CELL_BYTES, 9, NULL, call_bytes, .values = "any",
     .help = "Bytes that they moved, where recorded."},
    {"outside_ns", "outside", HU_CELL_NS, 9, NULL, call_outside, .is_wide = true, .values = "any",
     .help = "Part of the total that was seen from outside, by sampling waiting threads, and not recorded in the program."},
    {"class", "class", HU_CELL_TEXT, 10, NULL, call_class, .terms = hu_terms_host_classes,
     .help = "What the call is for: file_read, file_write, file_meta, fsync, network, pipe, lock, sleep, poll, wait, "
             "child or other."},
    {"name", "call", HU_CELL_TEXT, 0, NULL, call_name,
     .help = "Name of the function."},
};

static const hu_table calls = {
    .key = "functions", .title = "Waits in system calls, by function",
    .columns = call_columns, .n_columns = HU_COUNT(call_columns), .rows = call_rows,
    .empty = "none was recorded",
    .about = "The same calls, summed by function.",
};
/* clang-format on */

HU_NUMBER(process_wall, host_time, r->wall_ns)
HU_NUMBER(process_cpu, host_time, r->cpu_ns >= 0 ? (double)r->cpu_ns : HU_ABSENT)
/* Without states of threads, and of a process no call that was recorded either, it may as well have slept. */
#define PROCESS_STATE(expression) \
    d->host_time.source == HU_STATES_NONE && r->state_ns[HU_STATE_RUNS] == r->wall_ns ? HU_ABSENT : (double)(expression)
HU_NUMBER(process_blocked, host_time, PROCESS_STATE(r->state_ns[HU_STATE_BLOCKED]))
HU_NUMBER(process_runs, host_time, PROCESS_STATE(r->state_ns[HU_STATE_RUNS]))
HU_NUMBER(process_starved, host_time, PROCESS_STATE(r->state_ns[HU_STATE_STARVED]))
HU_NUMBER(process_pipe, host_time, PROCESS_STATE(r->state_ns[HU_HOST_PIPE]))
HU_NUMBER(process_child, host_time, PROCESS_STATE(r->state_ns[HU_HOST_CHILD]))
HU_NUMBER(process_files, host_time,
          PROCESS_STATE(r->state_ns[HU_HOST_FILE_READ] + r->state_ns[HU_HOST_FILE_WRITE] + r->state_ns[HU_HOST_FILE_META] +
                        r->state_ns[HU_HOST_FSYNC]))
HU_NUMBER(process_others, host_time,
          PROCESS_STATE(r->wall_ns - r->state_ns[HU_STATE_RUNS] - r->state_ns[HU_STATE_STARVED] - r->state_ns[HU_HOST_PIPE] -
                        r->state_ns[HU_HOST_CHILD] - r->state_ns[HU_HOST_FILE_READ] - r->state_ns[HU_HOST_FILE_WRITE] -
                        r->state_ns[HU_HOST_FILE_META] - r->state_ns[HU_HOST_FSYNC] - r->state_ns[HU_STATE_BLOCKED]))
HU_NUMBER(process_pid, host_time, r->pid)
HU_NUMBER(process_threads, host_time, r->threads)
HU_NUMBER(process_main, host_time, r->is_main)
HU_TEXT(process_name, host_time, r->name)
HU_ROWS(process_rows, host_time)

/* clang-format off */
static const hu_column process_columns[] = {
    {"pid", "pid", HU_CELL_ID, 7, NULL, process_pid, .values = "any",
     .help = "Process id."},
    {"wall_ns", "wall", HU_CELL_NS, 9, NULL, process_wall, .values = "any",
     .help = "Time from the start of the process to its end; from the first to the last thing that it did, where its life "
             "was not recorded."},
    {"cpu_ns", "cpu", HU_CELL_NS, 9, NULL, process_cpu,
     .help = "CPU time of all its threads; null without states of threads."},
    {"running_ns", "runs", HU_CELL_NS, 9, NULL, process_runs,
     .help = "Time in which its main thread runs; without states of threads, waits that were not recorded are in it, and "
             "null, as all other states, where nothing is known of the process."},
    {"cpu_wait_ns", "no cpu", HU_CELL_NS, 9, NULL, process_starved,
     .help = "Time in which its main thread is runnable and waits for a CPU."},
    {"pipe_ns", "pipe", HU_CELL_NS, 9, NULL, process_pipe,
     .help = "Time in which its main thread waits for the other end of a pipe."},
    {"child_ns", "children", HU_CELL_NS, 9, NULL, process_child,
     .help = "Time in which its main thread waits for child processes."},
    {"unrecorded_wait_ns", "unrec.", HU_CELL_NS, 9, NULL, process_blocked, .is_wide = true,
     .help = "Time in which its main thread waits in no recorded call."},
    {"file_ns", "files", HU_CELL_NS, 9, NULL, process_files, .is_wide = true,
     .help = "Time in which its main thread reads, writes, looks up or syncs files."},
    {"other_waits_ns", "others", HU_CELL_NS, 9, NULL, process_others, .is_wide = true,
     .help = "All other waits of its main thread: network, locks, sleep, poll, threads, communication and the rest."},
    {"threads", "threads", HU_CELL_COUNT, 7, NULL, process_threads, .is_wide = true, .values = "any",
     .help = "Threads of the process that did anything."},
    {"is_main", NULL, HU_CELL_BOOL, 0, NULL, process_main,
     .help = "Whether this is the main process, which the report explains."},
    {"name", "process", HU_CELL_TEXT, 0, NULL, process_name,
     .help = "Name of the process; empty when not recorded."},
};

const hu_table hu_table_processes = {
    .key = "processes", .title = "Processes, by state of their main thread",
    .columns = process_columns, .n_columns = HU_COUNT(process_columns), .rows = process_rows,
    .empty = "none was recorded",
    .about = "Processes of the recording, each from its start to its end, split by what its main thread does.",
};
/* clang-format on */

#define THREADS d->host_time.threads

static size_t thread_rows(const hu_rank *rank)
{
    return rank->digest->host_time.n_threads;
}

HU_NUMBER_OF(thread_tid, THREADS, r->tid)
HU_NUMBER_OF(thread_wall, THREADS, r->wall_ns)
HU_NUMBER_OF(thread_cpu, THREADS, r->cpu_ns >= 0 ? (double)r->cpu_ns : HU_ABSENT)
HU_NUMBER_OF(thread_blocked, THREADS, r->state_ns[HU_STATE_BLOCKED])
HU_NUMBER_OF(thread_runs, THREADS, r->state_ns[HU_STATE_RUNS])
HU_NUMBER_OF(thread_starved, THREADS, r->state_ns[HU_STATE_STARVED])
HU_NUMBER_OF(thread_lock, THREADS, r->state_ns[HU_HOST_LOCK])
HU_NUMBER_OF(thread_waits, THREADS, r->state_ns[HU_HOST_WAIT])
HU_NUMBER_OF(thread_sleep, THREADS, r->state_ns[HU_HOST_SLEEP])
HU_NUMBER_OF(thread_others, THREADS,
             r->wall_ns - r->state_ns[HU_STATE_RUNS] - r->state_ns[HU_STATE_STARVED] - r->state_ns[HU_HOST_LOCK] -
                 r->state_ns[HU_HOST_WAIT] - r->state_ns[HU_HOST_SLEEP] - r->state_ns[HU_STATE_BLOCKED])
HU_TEXT_OF(thread_name, THREADS, r->name)

/* clang-format off */
static const hu_column thread_columns[] = {
    {"tid", "tid", HU_CELL_ID, 7, NULL, thread_tid, .values = "any",
     .help = "Thread id."},
    {"wall_ns", "wall", HU_CELL_NS, 9, NULL, thread_wall, .values = "any",
     .help = "Time from the start of the thread to its end; from the first to the last thing that it did, where its life "
             "was not recorded."},
    {"cpu_ns", "cpu", HU_CELL_NS, 9, NULL, thread_cpu,
     .help = "CPU time of the thread; null without states of threads."},
    {"running_ns", "runs", HU_CELL_NS, 9, NULL, thread_runs, .is_wide = true, .values = "any",
     .help = "Time in which it runs; without states of threads, waits that were not recorded are in it."},
    {"cpu_wait_ns", "no cpu", HU_CELL_NS, 9, NULL, thread_starved, .values = "any",
     .help = "Time in which it is runnable and waits for a CPU."},
    {"lock_ns", "locks", HU_CELL_NS, 9, NULL, thread_lock, .values = "any",
     .help = "Time in which it waits for locks."},
    {"wait_ns", "waits", HU_CELL_NS, 9, NULL, thread_waits, .values = "any",
     .help = "Time in which it waits for another thread."},
    {"unrecorded_wait_ns", "unrec.", HU_CELL_NS, 9, NULL, thread_blocked, .values = "any",
     .help = "Time in which it waits in no recorded call."},
    {"sleep_ns", "sleeps", HU_CELL_NS, 9, NULL, thread_sleep, .is_wide = true, .values = "any",
     .help = "Time in which it sleeps."},
    {"other_waits_ns", "others", HU_CELL_NS, 9, NULL, thread_others, .is_wide = true, .values = "any",
     .help = "All other waits of the thread."},
    {"name", "thread", HU_CELL_TEXT, 0, NULL, thread_name,
     .help = "Name of the thread; empty when not recorded."},
};

static const hu_table threads = {
    .key = "threads", .title = "Other threads of the main process",
    .columns = thread_columns, .n_columns = HU_COUNT(thread_columns), .rows = thread_rows,
    .empty = "there are none",
    .about = "Threads of the main process besides its main thread, each from its start to its end.",
};
/* clang-format on */

static const hu_table *const time_tables[] = {&hu_table_processes, &threads};
static const hu_table *const call_tables[] = {&hu_table_host, &calls};

static bool has(const hu_rank *rank)
{
    return rank->digest->host_time.is_recorded;
}

/* clang-format off */
const hu_view hu_view_host = {
    .word = "host", .is_alone = true, .key = "host_time", .facts = facts, .n_facts = HU_COUNT(facts),
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
