/* SPDX-License-Identifier: Apache-2.0
 * tables.c - every column once: name, type, unit, one sentence, value.  Unknown values are NULL, never 0 or -1.
 *
 * A value is read when SQLite asks for it, straight from the columns of the frozen trace.
 */
#include <math.h>

#include "analyze/comm.h"
#include "analyze/thread_states.h"
#include "query/schema.h"

static void text(const hu_sql_source *s, uint32_t id, sqlite3_context *out)
{
    hu_sql_text(out, hu_trace_text(s->trace, id));
}

static void unless(sqlite3_context *out, int64_t value, int64_t unknown)
{
    if (value != unknown)
        sqlite3_result_int64(out, value);
}

static void slice(sqlite3_context *out, uint32_t id)
{
    unless(out, id, HU_NONE);
}

static void real(sqlite3_context *out, double value)
{
    if (!isnan(value))
        sqlite3_result_double(out, value);
}

static void words(sqlite3_context *out, hu_str s)
{
    sqlite3_result_text64(out, s.p, s.n, SQLITE_STATIC, SQLITE_UTF8);
}

static void constant(sqlite3_context *out, const char *value)
{
    sqlite3_result_text(out, value, -1, SQLITE_STATIC);
}

static const hu_track *track_of(const hu_sql_source *s, size_t i)
{
    return &s->ask.tracks[s->ask.s.track[i]];
}

/* The step that this slice began in, or was launched in. */
static void step(const hu_sql_source *s, size_t i, sqlite3_context *out)
{
    const size_t at = hu_select_find(&s->step_windows, hu_select_time(s->trace, &s->ask.s, (uint32_t)i));

    if (s->steps.source != HU_STEPS_NONE && at < s->step_windows.n)
        sqlite3_result_int64(out, s->steps.at[at].number);
}

static const hu_kernel_detail *kernel_of(const hu_sql_source *s, size_t i)
{
    static const hu_kernel_detail none = {.blocks_per_sm = NAN, .warps_per_sm = NAN, .occupancy_pct = NAN};
    const uint32_t                row = s->ask.s.detail[i];

    if (row == HU_NONE || !hu_kind_in(s->ask.s.kind[i], HU_KINDS_COMPUTE | HU_KINDS_COMM))
        return &none;
    return hu_trace_kernel_detail(s->trace, row);
}

static const hu_copy_detail *copy_of(const hu_sql_source *s, size_t i)
{
    static const hu_copy_detail none = {.bytes = -1, .gbps = NAN, .from_device = -1, .to_device = -1};
    const uint32_t              row = s->ask.s.detail[i];

    return row != HU_NONE && hu_kind_in(s->ask.s.kind[i], HU_KINDS_COPY) ? hu_trace_copy_detail(s->trace, row) : &none;
}

static const hu_op_detail *op_of(const hu_sql_source *s, size_t i)
{
    static const hu_op_detail none = {.sequence = -1};
    const uint32_t            row = s->ask.s.detail[i];

    if (row == HU_NONE || !hu_kind_in(s->ask.s.kind[i], HU_BIT(CPU_OP) | HU_BIT(USER)))
        return &none;
    return hu_trace_op_detail(s->trace, row);
}

static const hu_os_detail *os_call_of(const hu_sql_source *s, size_t i)
{
    static const hu_os_detail none = {.bytes = -1, .class = HU_HOST_OTHER};
    const uint32_t            row = s->ask.s.detail[i];

    return row != HU_NONE && s->ask.s.kind[i] == HU_KIND_OS_CALL ? hu_trace_os_detail(s->trace, row) : &none;
}

static const hu_wait_detail *wait_of(const hu_sql_source *s, size_t i)
{
    static const hu_wait_detail none;
    const uint32_t              row = os_call_of(s, i)->wait;

    return row ? hu_trace_wait_detail(s->trace, row) : &none;
}

static const hu_mpi_detail *mpi_call_of(const hu_sql_source *s, size_t i)
{
    static const hu_mpi_detail none = {.bytes = -1, .peer = -1, .root = -1, .tag = INT32_MIN};
    const uint32_t             row = s->ask.s.detail[i];

    return row != HU_NONE && s->ask.s.kind[i] == HU_KIND_MPI ? hu_trace_mpi_detail(s->trace, row) : &none;
}

static const hu_op_extra *extra_of(const hu_sql_source *s, size_t i)
{
    static const hu_op_extra none = {.stream = -1};
    const uint32_t           row = op_of(s, i)->extra;

    return row ? hu_trace_op_extra(s->trace, row) : &none;
}

static const hu_collective_detail *collective_of(const hu_sql_source *s, size_t i)
{
    static const hu_collective_detail none = {
        .in_elements = -1, .out_elements = -1, .group_size = -1, .source_rank = -1, .target_rank = -1, .sequence = -1};
    const hu_collective_detail *found = hu_comm_detail(&s->ask, (uint32_t)i);

    return found ? found : &none;
}

static uint32_t op_around(const hu_sql_source *s, size_t i)
{
    return hu_trace_op_of(s->trace, (uint32_t)i);
}

static int64_t work_count(const hu_sql_source *s, size_t i)
{
    size_t n;

    hu_trace_work_of(s->trace, (uint32_t)i, &n);
    return (int64_t)n;
}

#define START  s->ask.s.start_ns[i]
#define DUR    s->ask.s.dur_ns[i]
#define INT(x) sqlite3_result_int64(out, (int64_t)(x))

#define RANK(C, T) \
    C(T, rank, "INTEGER", "", "Rank of the trace, or number of the file when the trace does not say.", INT(s->rank))

/* What every table of slices begins with. */
#define COMMON(C, T)                                                                                           \
    C(T, id, "INTEGER", "", "Number of the slice, unique in its rank.", INT(i))                                \
    RANK(C, T)                                                                                                 \
    C(T, name, "TEXT", "", "Name, as recorded.", text(s, s->ask.s.name[i], out))                               \
    C(T, start_ns, "INTEGER", "ns", "Start, on the clock of the trace.", INT(START))                           \
    C(T, dur_ns, "INTEGER", "ns", "Duration.", INT(DUR))                                                       \
    C(T, end_ns, "INTEGER", "ns", "start_ns + dur_ns.", INT(START + DUR))                                      \
    C(T, step, "INTEGER", "", "Number of the step that it started or was launched in; NULL outside of steps.", \
      step(s, i, out))

#define HOST(C, T)                                                                            \
    C(T, tid, "INTEGER", "", "Thread id.", INT(track_of(s, i)->tid))                          \
    C(T, parent, "INTEGER", "", "Id of the slice around it.", slice(out, s->ask.s.parent[i])) \
    C(T, depth, "INTEGER", "", "Number of slices around it.", INT(depth_of(s, i)))

#define DEVICE(C, T)                                                                              \
    C(T, device, "INTEGER", "", "Number of the device.", unless(out, track_of(s, i)->device, -1)) \
    C(T, stream, "INTEGER", "", "Number of the stream.", unless(out, track_of(s, i)->stream, -1)) \
    C(T, launch, "INTEGER", "", "Id of the call that launched it; NULL when the trace has none.", \
      slice(out, hu_trace_launch_of(s->trace, (uint32_t)i)))                                      \
    C(T, op, "INTEGER", "", "Id of the innermost operator or annotation around its launch.", slice(out, op_around(s, i)))

/* clang-format off */
#define SLICE_COLUMNS(C, T) COMMON(C, T)                                                                        \
    C(T, kind, "TEXT", "", "cpu_op, python_function, user_annotation, runtime, driver, os_call, mpi, kernel …", \
      constant(out, hu_kind_name(s->ask.s.kind[i])))                                                            \
    C(T, track, "INTEGER", "", "Id of its track.", INT(s->ask.s.track[i]))                                      \
    C(T, parent, "INTEGER", "", "On the host the slice around it, on a device the call that launched it.",      \
      slice(out, s->ask.s.parent[i]))                                                                           \
    C(T, correlation, "INTEGER", "", "Correlation id that a launch shares with its GPU operation.",             \
      unless(out, s->ask.s.correlation[i], 0))                                                                  \
    C(T, external_id, "INTEGER", "", "Id of the operator that it belongs to, as recorded.",                     \
      unless(out, s->ask.s.external[i], 0))

#define KERNEL_COLUMNS(C, T) COMMON(C, T) DEVICE(C, T)                                                                   \
    C(T, is_comm, "INTEGER", "", "1 for communication, 0 for computation.", INT(s->ask.s.kind[i] == HU_KIND_COLLECTIVE)) \
    C(T, grid_x, "INTEGER", "", "Grid in x, in blocks.", unless(out, kernel_of(s, i)->grid[0], 0))                       \
    C(T, grid_y, "INTEGER", "", "Grid in y, in blocks.", unless(out, kernel_of(s, i)->grid[1], 0))                       \
    C(T, grid_z, "INTEGER", "", "Grid in z, in blocks.", unless(out, kernel_of(s, i)->grid[2], 0))                       \
    C(T, block_x, "INTEGER", "", "Block in x, in threads.", unless(out, kernel_of(s, i)->block[0], 0))                   \
    C(T, block_y, "INTEGER", "", "Block in y, in threads.", unless(out, kernel_of(s, i)->block[1], 0))                   \
    C(T, block_z, "INTEGER", "", "Block in z, in threads.", unless(out, kernel_of(s, i)->block[2], 0))                   \
    C(T, registers, "INTEGER", "", "Registers per thread.", unless(out, kernel_of(s, i)->registers, 0))                  \
    C(T, shared_bytes, "INTEGER", "bytes", "Shared memory per block.", unless(out, shared_bytes(s, i), -1))              \
    C(T, occupancy_pct, "REAL", "%", "Estimated achieved occupancy, as recorded.",                                       \
      real(out, (double)kernel_of(s, i)->occupancy_pct))                                                                 \
    C(T, graph, "INTEGER", "", "Id of the CUDA graph that launched it.", unless(out, kernel_of(s, i)->graph, 0))         \
    C(T, graph_node, "INTEGER", "", "Node of that graph.", unless(out, kernel_of(s, i)->graph_node, 0))

#define COPY_COLUMNS(C, T) COMMON(C, T) DEVICE(C, T)                                                               \
    C(T, is_set, "INTEGER", "", "1 for a memset, 0 for a copy.", INT(s->ask.s.kind[i] == HU_KIND_MEMSET))      \
    C(T, bytes, "INTEGER", "bytes", "Bytes copied or set.", unless(out, copy_of(s, i)->bytes, -1))                 \
    C(T, gbps, "REAL", "GB/s", "Bandwidth, as recorded.", real(out, copy_of(s, i)->gbps))                          \
    C(T, from_device, "INTEGER", "", "Source device of a peer copy.", unless(out, copy_of(s, i)->from_device, -1)) \
    C(T, to_device, "INTEGER", "", "Destination device of a peer copy.", unless(out, copy_of(s, i)->to_device, -1))

#define OP_COLUMNS(C, T) COMMON(C, T) HOST(C, T)                                                                         \
    C(T, self_ns, "INTEGER", "ns", "Host time without the operators, annotations and calls inside.", INT(self_ns(s, i))) \
    C(T, is_annotation, "INTEGER", "", "1 for an annotation of the user, 0 for an operator.",                            \
      INT(s->ask.s.kind[i] == HU_KIND_USER))                                                                             \
    C(T, shapes, "TEXT", "", "Input Dims, as recorded.", text(s, op_of(s, i)->dims, out))                                \
    C(T, types, "TEXT", "", "Input type, as recorded.", text(s, op_of(s, i)->types, out))                                \
    C(T, strides, "TEXT", "", "Input Strides, as recorded.", text(s, op_of(s, i)->strides, out))                         \
    C(T, inputs, "TEXT", "", "Concrete Inputs, as recorded.", text(s, op_of(s, i)->concrete, out))                       \
    C(T, sequence, "INTEGER", "", "Autograd sequence number.", unless(out, op_of(s, i)->sequence, -1))                   \
    C(T, forward, "INTEGER", "", "Id of the forward operator that a backward operator belongs to.",                      \
      slice(out, forward_of(s, i)))                                                                                      \
    C(T, stack, "TEXT", "", "Call stack, or the line of code, as recorded with the operator.",                           \
      text(s, extra_of(s, i)->stack, out))                                                                              \
    C(T, module, "TEXT", "", "Module Hierarchy, in older traces.", text(s, extra_of(s, i)->module, out))

#define CALL_COLUMNS(C, T) COMMON(C, T) HOST(C, T)                                                                        \
    C(T, is_driver, "INTEGER", "", "1 for a driver call, 0 for a runtime call.", INT(s->ask.s.kind[i] == HU_KIND_DRIVER)) \
    C(T, correlation, "INTEGER", "", "Correlation id that it shares with its GPU operation.",                             \
      unless(out, s->ask.s.correlation[i], 0))                                                                            \
    C(T, work, "INTEGER", "", "Number of GPU operations that it launched.", INT(work_count(s, i)))                        \
    C(T, waits, "INTEGER", "", "1 when the call returns only after the device has finished something.",                   \
      INT((s->ask.names[s->ask.s.name[i]] & HU_NAME_SYNC) != 0))

#define OS_CALL_COLUMNS(C, T) COMMON(C, T) HOST(C, T)                                                                   \
    C(T, pid, "INTEGER", "", "Process id.", process_id(s, s->ask.s.track[i], out))                                      \
    C(T, class, "TEXT", "", "file_read, file_write, file_meta, fsync, network, pipe, lock, sleep, poll, wait, child …", \
      constant(out, hu_host_class_key(os_call_of(s, i)->class)))                                                        \
    C(T, bytes, "INTEGER", "bytes", "Bytes moved.", unless(out, os_call_of(s, i)->bytes, -1))                           \
    C(T, path, "TEXT", "", "File or peer of the call.", text(s, os_call_of(s, i)->path, out))                           \
    C(T, calls, "INTEGER", "", "Calls of this kind that the row stands for: fast ones are recorded together.",          \
      INT(os_call_of(s, i)->calls ? os_call_of(s, i)->calls : 1))                                                       \
    C(T, is_outside, "INTEGER", "", "1 where a waiting thread was seen in it from outside; 0: recorded in the program.",    \
      INT(os_call_of(s, i)->is_outside))                                                                                   \
    C(T, object, "TEXT", "", "Object that it waited for: its address in the process.", text(s, wait_of(s, i)->object, out)) \
    C(T, object_name, "TEXT", "", "Name of that, where it is a global or static one.", text(s, wait_of(s, i)->name, out)) \
    C(T, mutex, "TEXT", "", "Mutex of a condition.", text(s, wait_of(s, i)->mutex, out))                                \
    C(T, caller, "TEXT", "", "Function that called.", text(s, wait_of(s, i)->caller, out))                              \
    C(T, holder, "INTEGER", "", "Thread id of who had the lock last.", unless(out, wait_of(s, i)->holder, 0))

#define MPI_CALL_COLUMNS(C, T) COMMON(C, T) HOST(C, T)                                                             \
    C(T, comm, "TEXT", "", "Communicator.", text(s, mpi_call_of(s, i)->comm, out))                                 \
    C(T, bytes, "INTEGER", "bytes", "Bytes sent or received.", unless(out, mpi_call_of(s, i)->bytes, -1))          \
    C(T, peer, "INTEGER", "", "The other rank, by its number in the communicator.",                                \
      unless(out, mpi_call_of(s, i)->peer, -1))                                                                    \
    C(T, root, "INTEGER", "", "Root rank of a collective that has one.", unless(out, mpi_call_of(s, i)->root, -1)) \
    C(T, tag, "INTEGER", "", "Tag of a message.", unless(out, mpi_call_of(s, i)->tag, INT32_MIN))

#define PYTHON_COLUMNS(C, T) COMMON(C, T) HOST(C, T) \
    C(T, is_module, "INTEGER", "", "1 for an nn.Module.", INT((s->ask.names[s->ask.s.name[i]] & HU_NAME_MODULE) != 0))

#define COLLECTIVE_COLUMNS(C, T) COMMON(C, T) DEVICE(C, T)                                                           \
    C(T, collective, "TEXT", "", "Collective, as recorded: allreduce, _allgather_base …",                            \
      text(s, collective_of(s, i)->name, out))                                                                       \
    C(T, dtype, "TEXT", "", "Type of the elements.", text(s, collective_of(s, i)->dtype, out))                       \
    C(T, in_elements, "INTEGER", "", "Elements of the input.", unless(out, collective_of(s, i)->in_elements, -1))    \
    C(T, out_elements, "INTEGER", "", "Elements of the output.", unless(out, collective_of(s, i)->out_elements, -1)) \
    C(T, bytes, "INTEGER", "bytes", "Bytes of the call, counted as nccl-tests counts them.",                         \
      unless(out, hu_comm_bytes(&s->ask, (uint32_t)i), -1))                                                          \
    C(T, process_group, "TEXT", "", "Name of the process group.", text(s, collective_of(s, i)->group, out))          \
    C(T, group_ranks, "TEXT", "", "Ranks of the process group, as recorded.",                                        \
      text(s, collective_of(s, i)->group_ranks, out))                                                                \
    C(T, group_size, "INTEGER", "", "Ranks in the process group.", unless(out, collective_of(s, i)->group_size, -1)) \
    C(T, sequence, "INTEGER", "", "Sequence number in the process group.",                                           \
      unless(out, collective_of(s, i)->sequence, -1))
/* clang-format on */

#define TRACK_COLUMNS(C, T)                                                                                \
    C(T, id, "INTEGER", "", "Number of the track.", INT(i))                                                \
    RANK(C, T)                                                                                             \
    C(T, name, "TEXT", "", "Name of the thread, stream or counter.", text(s, s->ask.tracks[i].name, out))  \
    C(T, process, "TEXT", "", "Name of the process.", text(s, s->ask.tracks[i].process, out))              \
    C(T, type, "TEXT", "", "host, stream, counter or note.", constant(out, track_type(&s->ask.tracks[i]))) \
    C(T, pid, "INTEGER", "", "Process id, as recorded.", process_id(s, i, out))                            \
    C(T, tid, "INTEGER", "", "Thread id, as recorded.", thread_id(s, i, out))                              \
    C(T, device, "INTEGER", "", "Device of a stream.", unless(out, s->ask.tracks[i].device, -1))           \
    C(T, stream, "INTEGER", "", "Number of the stream.", unless(out, s->ask.tracks[i].stream, -1))         \
    C(T, slices, "INTEGER", "", "Number of slices on it.", INT(s->ask.tracks[i].count))

#define STEP_COLUMNS(C, T)                                                                                       \
    C(T, number, "INTEGER", "", "N of ProfilerStep#N or of another numbered mark, else counted from 0.",         \
      INT(s->steps.at[i].number))                                                                                \
    RANK(C, T)                                                                                                   \
    C(T, start_ns, "INTEGER", "ns", "Start; GPU operations belong to the step that launched them.",              \
      INT(s->steps.at[i].start_ns))                                                                              \
    C(T, dur_ns, "INTEGER", "ns", "Duration.", INT(s->steps.at[i].end_ns - s->steps.at[i].start_ns))             \
    C(T, end_ns, "INTEGER", "ns", "End.", INT(s->steps.at[i].end_ns))                                            \
    C(T, host_start_ns, "INTEGER", "ns", "Start, as the host marked it.", INT(s->steps.at[i].host_start_ns))     \
    C(T, host_end_ns, "INTEGER", "ns", "End, as the host marked it.", INT(s->steps.at[i].host_end_ns))           \
    C(T, device_slices, "INTEGER", "", "Number of GPU operations launched in it.", INT(s->steps.at[i].n_device)) \
    C(T, is_counted, "INTEGER", "", "0 for a warm-up step and for a step that the capture cut.",                 \
      INT(hu_step_counts(&s->steps.at[i])))

#define COUNTER_COLUMNS(C, T)                                                                             \
    RANK(C, T)                                                                                            \
    C(T, name, "TEXT", "", "Name of the counter.", text(s, s->ask.tracks[sample(s, i)->track].name, out)) \
    C(T, time_ns, "INTEGER", "ns", "Time of the sample.", INT(sample(s, i)->time_ns))                     \
    C(T, value, "REAL", "", "Value from then on.", real(out, sample(s, i)->value))

#define CPU_SAMPLE_COLUMNS(C, T)                                                                            \
    RANK(C, T)                                                                                              \
    C(T, time_ns, "INTEGER", "ns", "Time of the sample.", INT(cpu_sample(s, i)->time_ns))                   \
    C(T, track, "INTEGER", "", "Id of the thread's track.", INT(cpu_sample(s, i)->track))                   \
    C(T, tid, "INTEGER", "", "Thread id.", INT(s->ask.tracks[cpu_sample(s, i)->track].tid))                 \
    C(T, function, "TEXT", "", "Innermost function.", text(s, cpu_stack(s, i)->function, out))              \
    C(T, module, "TEXT", "", "Program or library of that function.", text(s, cpu_stack(s, i)->module, out)) \
    C(T, stack, "TEXT", "", "Functions from the outermost on, separated by semicolons.", chain(s, i, out))  \
    C(T, is_kernel, "INTEGER", "", "1 inside the operating system's kernel.", INT(cpu_sample(s, i)->is_kernel))

#define THREAD_STATE_COLUMNS(C, T)                                                                              \
    RANK(C, T)                                                                                                  \
    C(T, track, "INTEGER", "", "Id of the thread's track.", INT(stretch(s, i)->track))                          \
    C(T, pid, "INTEGER", "", "Process id.", INT(s->ask.tracks[stretch(s, i)->track].pid))                       \
    C(T, tid, "INTEGER", "", "Thread id.", INT(s->ask.tracks[stretch(s, i)->track].tid))                        \
    C(T, start_ns, "INTEGER", "ns", "When the state began.", INT(stretch(s, i)->start_ns))                      \
    C(T, dur_ns, "INTEGER", "ns", "How long it lasted.", INT(stretch(s, i)->end_ns - stretch(s, i)->start_ns))  \
    C(T, end_ns, "INTEGER", "ns", "When it ended.", INT(stretch(s, i)->end_ns))                                 \
    C(T, state, "TEXT", "", "running, runnable (it waits for a CPU), waiting (for anything else) or unknown.",  \
      constant(out, hu_thread_state_key(stretch(s, i)->state)))                                                 \
    C(T, is_estimate, "INTEGER", "", "1 where sums over time are right and places are estimates (from /proc).", \
      INT(hu_trace_get_info(s->trace)->state_source != HU_STATES_SWITCHES))

#define WAKE_COLUMNS(C, T)                                                                                 \
    RANK(C, T)                                                                                             \
    C(T, time_ns, "INTEGER", "ns", "When.", INT(wake(s, i)->time_ns))                                      \
    C(T, track, "INTEGER", "", "Id of the track of the thread that wakes.", INT(wake(s, i)->track))        \
    C(T, pid, "INTEGER", "", "Process id.", process_id(s, wake(s, i)->track, out))                         \
    C(T, tid, "INTEGER", "", "Thread id of who wakes.", thread_id(s, wake(s, i)->track, out))              \
    C(T, object, "TEXT", "", "What the others wait for, as in os_call.", text(s, wake(s, i)->object, out)) \
    C(T, object_name, "TEXT", "", "Name of a global or static object.", text(s, wake(s, i)->name, out))    \
    C(T, how, "TEXT", "", "unlock, signal, broadcast, post, futex or eventfd.",                            \
      constant(out, hu_wakeup_key(wake(s, i)->how)))                                                       \
    C(T, caller, "TEXT", "", "Function that called.", text(s, wake(s, i)->caller, out))

#define MEMORY_COLUMNS(C, T)                                                                                               \
    RANK(C, T)                                                                                                             \
    C(T, time_ns, "INTEGER", "ns", "Time of the record.", INT(memory(s, i)->time_ns))                                      \
    C(T, bytes, "INTEGER", "bytes", "Bytes allocated; negative when freed.", INT(memory(s, i)->bytes))                     \
    C(T, address, "INTEGER", "", "Address of the block, as a signed number.", INT(memory(s, i)->address))                  \
    C(T, device_type, "INTEGER", "", "0 for the CPU, 1 for CUDA, 6 for HIP …", INT(memory(s, i)->device_type))             \
    C(T, device, "INTEGER", "", "Number of the device.", unless(out, memory(s, i)->device, -1))                            \
    C(T, total_allocated, "INTEGER", "bytes", "Bytes allocated afterwards, by the allocator's count.",                     \
      unless(out, memory(s, i)->total_allocated, -1))                                                                      \
    C(T, total_reserved, "INTEGER", "bytes", "Bytes reserved afterwards.", unless(out, memory(s, i)->total_reserved, -1))  \
    C(T, until_ns, "INTEGER", "ns", "Time of the free that ends an allocation; NULL: held at the end, or this is a free.", \
      until(s, i, out))                                                                                                    \
    C(T, category, "TEXT", "", "What it is for, where the recorder says so: parameter, activation …", use(s, i, out))      \
    C(T, code, "TEXT", "", "Place in the code that asked for it, where the recorder says so.",                             \
      text(s, memory(s, i)->site, out))                                                                                    \
    C(T, stack, "TEXT", "", "The user's frames, outermost first, then the operator, separated by semicolons.",             \
      stack_text(s, memory(s, i)->stack, out))                                                                             \
    C(T, op, "INTEGER", "", "Id of the innermost operator of its thread.",                                                 \
      slice(out, hu_ask_slice_at(&s->ask, memory(s, i)->track, memory(s, i)->time_ns, HU_BIT(CPU_OP) | HU_BIT(USER))))

#define SEGMENT_COLUMNS(C, T)                                                                                           \
    C(T, id, "INTEGER", "", "Number of the segment, unique in its rank.", INT(i))                                       \
    RANK(C, T)                                                                                                          \
    C(T, device, "INTEGER", "", "Number of the device.", INT(segment(s, i)->device))                                    \
    C(T, address, "INTEGER", "", "Address, as a signed number.", INT(segment(s, i)->address))                           \
    C(T, bytes, "INTEGER", "bytes", "Size: what the allocator reserves.", INT(segment(s, i)->total_bytes))              \
    C(T, held_bytes, "INTEGER", "bytes", "Bytes of it that somebody holds.", INT(segment(s, i)->allocated_bytes))       \
    C(T, largest_free, "INTEGER", "bytes", "Largest block of it that is free.", INT(segment(s, i)->largest_free_bytes)) \
    C(T, blocks, "INTEGER", "", "Number of its blocks.", INT(segment(s, i)->n_blocks))                                  \
    C(T, free_blocks, "INTEGER", "", "Number of those that are free.", INT(segment(s, i)->n_free))                      \
    C(T, stream, "INTEGER", "", "Stream whose allocations it serves.", INT(segment(s, i)->stream))                      \
    C(T, pool, "INTEGER", "", "Private pool of a CUDA graph; 0 for the common one.", INT(segment(s, i)->pool))          \
    C(T, is_small, "INTEGER", "", "1 for the pool of allocations up to 1 MiB.", INT(segment(s, i)->is_small))           \
    C(T, is_expandable, "INTEGER", "", "1 when it can grow.", INT(segment(s, i)->is_expandable))

#define BLOCK_COLUMNS(C, T)                                                                                    \
    C(T, id, "INTEGER", "", "Number of the block, unique in its rank.", INT(i))                                \
    RANK(C, T)                                                                                                 \
    C(T, segment, "INTEGER", "", "Id of its segment.", INT(block(s, i)->segment))                              \
    C(T, address, "INTEGER", "", "Address, as a signed number.", INT(block(s, i)->address))                    \
    C(T, bytes, "INTEGER", "bytes", "Size.", INT(block(s, i)->bytes))                                          \
    C(T, requested, "INTEGER", "bytes", "Bytes asked for, before the allocator rounded up.",                   \
      unless(out, block(s, i)->requested_bytes, 0))                                                            \
    C(T, state, "TEXT", "", "held, free, or going: given back and still in use by a stream.",                  \
      constant(out, block_state(block(s, i)->state)))                                                          \
    C(T, code, "TEXT", "", "Place in the code that holds it.", text(s, block(s, i)->site, out))                \
    C(T, stack, "TEXT", "", "The user's frames, outermost first, then the operator, separated by semicolons.", \
      stack_text(s, block(s, i)->stack, out))

#define MEMORY_ACTION_COLUMNS(C, T)                                                                                     \
    RANK(C, T)                                                                                                          \
    C(T, time_ns, "INTEGER", "ns", "Time of the record.", INT(action(s, i)->time_ns))                                   \
    C(T, action, "TEXT", "", "segment_alloc, segment_free, segment_map, segment_unmap, free_requested, oom, snapshot.", \
      constant(out, action_word(action(s, i)->deed)))                                                                   \
    C(T, device, "INTEGER", "", "Number of the device.", INT(action(s, i)->device))                                     \
    C(T, address, "INTEGER", "", "Address, as a signed number.", unless(out, (int64_t)action(s, i)->address, 0))        \
    C(T, bytes, "INTEGER", "bytes", "Size; of an oom, what it asked for.", INT(action(s, i)->bytes))                    \
    C(T, device_free, "INTEGER", "bytes", "With an oom, what the driver had left.",                                     \
      unless(out, action(s, i)->device_free, -1))                                                                       \
    C(T, code, "TEXT", "", "Place in the code.", text(s, action(s, i)->site, out))                                      \
    C(T, stack, "TEXT", "", "The user's frames, outermost first, then the operator, separated by semicolons.",          \
      stack_text(s, action(s, i)->stack, out))

#define MEMORY_MARK_COLUMNS(C, T)                                                                                  \
    RANK(C, T)                                                                                                     \
    C(T, time_ns, "INTEGER", "ns", "Time of the mark.", INT(mark(s, i)->time_ns))                                  \
    C(T, device, "INTEGER", "", "Number of the device.", INT(mark(s, i)->device))                                  \
    C(T, name, "TEXT", "", "What begins or ends, such as a step of an optimizer.", text(s, mark(s, i)->name, out)) \
    C(T, is_end, "INTEGER", "", "1 for an end, 0 for a begin.", INT(mark(s, i)->is_end))

#define LINK_COLUMNS(C, T)                                                                                           \
    RANK(C, T)                                                                                                       \
    C(T, call, "INTEGER", "", "Id of the launching call; NULL when the trace has none.",                             \
      slice(out, hu_trace_launch_of(s->trace, s->ask.work[i])))                                                      \
    C(T, work, "INTEGER", "", "Id of the GPU operation.", INT(s->ask.work[i]))                                       \
    C(T, delay_ns, "INTEGER", "ns", "Time from the end of the call to the start of the operation; may be negative.", \
      delay(s, i, out))

#define DEVICE_COLUMNS(C, T)                                                                                    \
    C(T, id, "INTEGER", "", "Number of the device.", INT(device(s, i)->id))                                     \
    RANK(C, T)                                                                                                  \
    C(T, name, "TEXT", "", "Name, as reported.", text(s, device(s, i)->name, out))                              \
    C(T, memory_bytes, "INTEGER", "bytes", "Memory of the device.", unless(out, device(s, i)->memory_bytes, 0)) \
    C(T, sm_count, "INTEGER", "", "Number of SMs (multiprocessors).", unless(out, device(s, i)->sm_count, 0))   \
    C(T, major, "INTEGER", "", "Major version of the compute capability.", unless(out, device(s, i)->major, 0)) \
    C(T, minor, "INTEGER", "", "Minor version of the compute capability.",                                      \
      unless(out, device(s, i)->major ? device(s, i)->minor : -1, -1))

#define METADATA_COLUMNS(C, T)                                                      \
    RANK(C, T)                                                                      \
    C(T, key, "TEXT", "", "Member of the file.", text(s, metadata(s, i)->key, out)) \
    C(T, value, "TEXT", "", "Its value, as JSON.", text(s, metadata(s, i)->value, out))

#define STRING_COLUMNS(C, T)                               \
    C(T, id, "INTEGER", "", "Number of the text.", INT(i)) \
    RANK(C, T)                                             \
    C(T, text, "TEXT", "", "The text: a name or an argument.", text(s, (uint32_t)i, out))

#define QUALITY_COLUMNS(C, T)                                                                           \
    RANK(C, T)                                                                                          \
    C(T, reason, "TEXT", "", "Stable name of the reason.", constant(out, hu_reason_name((hu_reason)i))) \
    C(T, words, "TEXT", "", "The reason in words.", constant(out, hu_reason_words((hu_reason)i)))       \
    C(T, is_loss, "INTEGER", "", "1 when events were lost, 0 when they were changed.",                  \
      INT(hu_reason_is_loss((hu_reason)i)))                                                             \
    C(T, count, "INTEGER", "", "Number of events.", INT(hu_trace_get_quality(s->trace)->count[i]))      \
    C(T, dur_ns, "INTEGER", "ns", "Duration of these events.", INT(hu_trace_get_quality(s->trace)->dur_ns[i]))

#define UNREAD_COLUMNS(C, T)                                                            \
    C(T, file, "TEXT", "", "File, as it was named.", words(out, s->unread->at[i].file)) \
    C(T, error, "TEXT", "", "What is wrong with it.", words(out, s->unread->at[i].error))

static int64_t self_ns(const hu_sql_source *s, size_t i)
{
    return s->self_ns[i];
}

static int64_t depth_of(const hu_sql_source *s, size_t i)
{
    int64_t depth = 0;

    for (uint32_t at = s->ask.s.parent[i]; at != HU_NONE; at = s->ask.s.parent[at])
        depth++;
    return depth;
}

static uint32_t forward_of(const hu_sql_source *s, size_t i)
{
    return hu_trace_forward_of(s->trace, (uint32_t)i);
}

static void process_id(const hu_sql_source *s, size_t i, sqlite3_context *out)
{
    if (!s->ask.tracks[i].pid_is_text)
        INT(s->ask.tracks[i].pid);
}

static void thread_id(const hu_sql_source *s, size_t i, sqlite3_context *out)
{
    if (!s->ask.tracks[i].tid_is_text)
        INT(s->ask.tracks[i].tid);
}

static int64_t shared_bytes(const hu_sql_source *s, size_t i)
{
    return kernel_of(s, i)->grid[0] ? (int64_t)kernel_of(s, i)->shared_bytes : -1;
}

static const char *track_type(const hu_track *t)
{
    static const char *const names[] = {"host", "stream", "counter", "note"};

    return names[t->type];
}

static const hu_sample *sample(const hu_sql_source *s, size_t i)
{
    size_t n;

    return &hu_trace_samples(s->trace, &n)[i];
}

static const hu_cpu_sample *cpu_sample(const hu_sql_source *s, size_t i)
{
    size_t n;

    return &hu_trace_cpu_samples(s->trace, &n)[i];
}

static const hu_stretch *stretch(const hu_sql_source *s, size_t i)
{
    size_t n;

    return &hu_trace_stretches(s->trace, &n)[i];
}

static const hu_wakeup *wake(const hu_sql_source *s, size_t i)
{
    size_t n;

    return &hu_trace_wakes(s->trace, &n)[i];
}

static const hu_cpu_stack *cpu_stack(const hu_sql_source *s, size_t i)
{
    static const hu_cpu_stack none;
    const uint32_t            at = cpu_sample(s, i)->stack;

    return at ? hu_trace_cpu_stack(s->trace, at) : &none;
}

/* Written from its end, because a stack knows its callers. */
static void stack_text(const hu_sql_source *s, uint32_t stack, sqlite3_context *out)
{
    enum { MOST = 1 << 16 };
    char  *all = stack ? sqlite3_malloc(MOST) : NULL;
    size_t from = MOST;

    for (uint32_t at = stack; all && at; at = hu_trace_cpu_stack(s->trace, at)->caller) {
        const hu_str name = hu_trace_text(s->trace, hu_trace_cpu_stack(s->trace, at)->function);

        if (name.n + 1 > from)
            break;
        if (from < MOST)
            all[--from] = ';';
        from -= name.n;
        memcpy(all + from, name.p, name.n);
    }
    if (all)
        sqlite3_result_text(out, all + from, (int)(MOST - from), SQLITE_TRANSIENT);
    sqlite3_free(all);
}

static void chain(const hu_sql_source *s, size_t i, sqlite3_context *out)
{
    stack_text(s, cpu_sample(s, i)->stack, out);
}

static const hu_memory_segment *segment(const hu_sql_source *s, size_t i)
{
    size_t n;

    return &hu_trace_segments(s->trace, &n)[i];
}

static const hu_memory_block *block(const hu_sql_source *s, size_t i)
{
    size_t n;

    return &hu_trace_blocks(s->trace, &n)[i];
}

static const hu_memory_action *action(const hu_sql_source *s, size_t i)
{
    size_t n;

    return &hu_trace_memory_actions(s->trace, &n)[i];
}

static const hu_memory_mark *mark(const hu_sql_source *s, size_t i)
{
    size_t n;

    return &hu_trace_memory_marks(s->trace, &n)[i];
}

static const char *block_state(uint8_t state)
{
    static const char *const words[] = {[HU_MEMORY_FREE] = "free", [HU_MEMORY_HELD] = "held", [HU_MEMORY_GOING] = "going"};

    return words[state];
}

static const char *action_word(uint8_t deed)
{
    static const char *const words[HU_MEMORY_ACTION_COUNT] = {
        [HU_MEMORY_SEGMENT_ALLOC] = "segment_alloc",
        [HU_MEMORY_SEGMENT_FREE] = "segment_free",
        [HU_MEMORY_SEGMENT_MAP] = "segment_map",
        [HU_MEMORY_SEGMENT_UNMAP] = "segment_unmap",
        [HU_MEMORY_FREE_REQUESTED] = "free_requested",
        [HU_MEMORY_OOM] = "oom",
        [HU_MEMORY_SNAPSHOT] = "snapshot",
    };

    return words[deed];
}

static const hu_memory_event *memory(const hu_sql_source *s, size_t i)
{
    size_t n;

    return &hu_trace_memory(s->trace, &n)[i];
}

static void use(const hu_sql_source *s, size_t i, sqlite3_context *out)
{
    static const char *const words[] = {NULL,         "parameter", "optimizer", "input",  "temporary",
                                        "activation", "gradient",  "autograd",  "unknown"};

    if (words[memory(s, i)->use])
        constant(out, words[memory(s, i)->use]);
}

/* Of an allocation that ends. */
static void until(const hu_sql_source *s, size_t i, sqlite3_context *out)
{
    const uint32_t partner = s->memory_partners[i];

    if (partner != HU_NONE && memory(s, i)->bytes > 0)
        INT(memory(s, partner)->time_ns);
}

static const hu_device *device(const hu_sql_source *s, size_t i)
{
    size_t n;

    return &hu_trace_devices(s->trace, &n)[i];
}

static const hu_metadata *metadata(const hu_sql_source *s, size_t i)
{
    size_t n;

    return &hu_trace_metadata(s->trace, &n)[i];
}

static void delay(const hu_sql_source *s, size_t i, sqlite3_context *out)
{
    const uint32_t work = s->ask.work[i], call = hu_trace_launch_of(s->trace, work);

    if (call != HU_NONE)
        INT(s->ask.s.start_ns[work] - hu_ask_end(&s->ask, call));
}

/* The columns of a table, and the function that reads them. */
#define COLUMN_NUMBER(table, name, type, unit, help, value) AT_##table##_##name,
#define COLUMN_ROW(table, name, type, unit, help, value)    {#name, type, unit, help},
#define COLUMN_CASE(table, name, type, unit, help, value) \
    case AT_##table##_##name:                             \
        value;                                            \
        break;

/* clang-format off */
#define DEFINE(table, LIST)                                                                       \
    enum {                                                                                        \
        LIST(COLUMN_NUMBER, table)                                                                \
    };                                                                                            \
    static const hu_sql_column table##_columns[] = {LIST(COLUMN_ROW, table)};                     \
    static void read_##table(const hu_sql_source *s, size_t i, int column, sqlite3_context *out)  \
    {                                                                                             \
        switch (column) {                                                                         \
            LIST(COLUMN_CASE, table)                                                              \
        }                                                                                         \
    }
/* clang-format on */

DEFINE(slice, SLICE_COLUMNS)
DEFINE(kernel, KERNEL_COLUMNS)
DEFINE(memcpy, COPY_COLUMNS)
DEFINE(op, OP_COLUMNS)
DEFINE(call, CALL_COLUMNS)
DEFINE(python, PYTHON_COLUMNS)
DEFINE(os_call, OS_CALL_COLUMNS)
DEFINE(mpi_call, MPI_CALL_COLUMNS)
DEFINE(collective, COLLECTIVE_COLUMNS)
DEFINE(track, TRACK_COLUMNS)
DEFINE(step, STEP_COLUMNS)
DEFINE(counter, COUNTER_COLUMNS)
DEFINE(cpu_sample, CPU_SAMPLE_COLUMNS)
DEFINE(thread_state, THREAD_STATE_COLUMNS)
DEFINE(wake, WAKE_COLUMNS)
DEFINE(memory, MEMORY_COLUMNS)
DEFINE(segment, SEGMENT_COLUMNS)
DEFINE(block, BLOCK_COLUMNS)
DEFINE(memory_action, MEMORY_ACTION_COLUMNS)
DEFINE(memory_mark, MEMORY_MARK_COLUMNS)
DEFINE(link, LINK_COLUMNS)
DEFINE(device, DEVICE_COLUMNS)
DEFINE(metadata, METADATA_COLUMNS)
DEFINE(string, STRING_COLUMNS)
DEFINE(quality, QUALITY_COLUMNS)
DEFINE(unread, UNREAD_COLUMNS)

static size_t track_rows(const hu_sql_source *s)
{
    return s->ask.n_tracks;
}

static size_t step_rows(const hu_sql_source *s)
{
    return s->steps.source == HU_STEPS_NONE ? 0 : s->steps.n;
}

static size_t counter_rows(const hu_sql_source *s)
{
    size_t n;

    hu_trace_samples(s->trace, &n);
    return n;
}

static size_t cpu_sample_rows(const hu_sql_source *s)
{
    size_t n;

    hu_trace_cpu_samples(s->trace, &n);
    return n;
}

static size_t thread_state_rows(const hu_sql_source *s)
{
    size_t n;

    hu_trace_stretches(s->trace, &n);
    return n;
}

static size_t wake_rows(const hu_sql_source *s)
{
    size_t n;

    hu_trace_wakes(s->trace, &n);
    return n;
}

static size_t memory_rows(const hu_sql_source *s)
{
    size_t n;

    hu_trace_memory(s->trace, &n);
    return n;
}

static size_t segment_rows(const hu_sql_source *s)
{
    size_t n;

    hu_trace_segments(s->trace, &n);
    return n;
}

static size_t block_rows(const hu_sql_source *s)
{
    size_t n;

    hu_trace_blocks(s->trace, &n);
    return n;
}

static size_t memory_action_rows(const hu_sql_source *s)
{
    size_t n;

    hu_trace_memory_actions(s->trace, &n);
    return n;
}

static size_t memory_mark_rows(const hu_sql_source *s)
{
    size_t n;

    hu_trace_memory_marks(s->trace, &n);
    return n;
}

static size_t link_rows(const hu_sql_source *s)
{
    return s->ask.n_work;
}

static size_t device_rows(const hu_sql_source *s)
{
    size_t n;

    hu_trace_devices(s->trace, &n);
    return n;
}

static size_t metadata_rows(const hu_sql_source *s)
{
    size_t n;

    hu_trace_metadata(s->trace, &n);
    return n;
}

static size_t string_rows(const hu_sql_source *s)
{
    return hu_trace_string_count(s->trace);
}

static size_t unread_rows(const hu_sql_source *s)
{
    return s->unread ? s->unread->n : 0;
}

static size_t quality_rows(const hu_sql_source *s)
{
    (void)s;
    return HU_REASON_COUNT;
}

/* clang-format off */
#define SLICES(table, about, kinds) \
    {#table, about, table##_columns, HU_COUNT(table##_columns), kinds, NULL, read_##table, AT_##table##_rank, \
     AT_##table##_id, AT_##table##_name}
#define ROWS(table, about, rank, id, name) \
    {#table, about, table##_columns, HU_COUNT(table##_columns), 0, table##_rows, read_##table, rank, id, name}
/* clang-format on */

enum { EVERY_KIND = (1 << HU_KIND_COUNT) - 1 };

const hu_sql_table hu_sql_tables[] = {
    SLICES(slice, "Everything that has a start and a duration.", EVERY_KIND),
    SLICES(op, "Operators of the framework and annotations of the user.", HU_BIT(CPU_OP) | HU_BIT(USER)),
    SLICES(call, "Runtime and driver calls.", HU_KINDS_CALL),
    SLICES(python, "Frames of the Python stack, nn.Modules among them.", HU_BIT(PYTHON)),
    SLICES(os_call, "Calls of the operating system.", HU_BIT(OS_CALL)),
    SLICES(mpi_call, "MPI calls.", HU_BIT(MPI)),
    SLICES(kernel, "Kernels, communication included.", HU_KINDS_COMPUTE | HU_KINDS_COMM),
    SLICES(memcpy, "Copies and memsets of device memory.", HU_KINDS_COPY),
    SLICES(collective, "Communication kernels with what they communicate.", HU_KINDS_COMM),
    ROWS(step, "Iterations of the job.", AT_step_rank, -1, -1),
    ROWS(track, "Threads, streams and counters.", AT_track_rank, AT_track_id, -1),
    ROWS(link, "GPU operations and the call that launched each.", AT_link_rank, -1, -1),
    ROWS(memory, "Allocations and frees of the framework.", AT_memory_rank, -1, -1),
    ROWS(segment, "What an allocator reserves of a device in one piece, at the end of a memory snapshot.", AT_segment_rank,
         AT_segment_id, -1),
    ROWS(block, "Pieces of segments, held or free, at the end of a memory snapshot.", AT_block_rank, AT_block_id, -1),
    ROWS(memory_action, "What an allocator did beside allocating and freeing: segments, failures.", AT_memory_action_rank,
         -1, -1),
    ROWS(memory_mark, "Steps of the optimizer, as a memory snapshot marks them.", AT_memory_mark_rank, -1, -1),
    ROWS(counter, "Samples of counters.", AT_counter_rank, -1, -1),
    ROWS(cpu_sample, "CPU samples with their call chains.", AT_cpu_sample_rank, -1, -1),
    ROWS(thread_state, "When each thread ran, waited for a CPU or for something else.", AT_thread_state_rank, -1, -1),
    ROWS(wake, "Who woke threads that waited for an object: locks, conditions, semaphores, futexes.", AT_wake_rank, -1, -1),
    ROWS(device, "Devices that the recorder saw.", AT_device_rank, -1, -1),
    ROWS(metadata, "What the file says about itself.", AT_metadata_rank, -1, -1),
    ROWS(string, "Every different text of the trace.", AT_string_rank, AT_string_id, -1),
    ROWS(quality, "What was lost or changed when the file was read.", AT_quality_rank, -1, -1),
    ROWS(unread, "Inputs that could not be read, and are in no other table.", -1, -1, -1),
};

const size_t hu_sql_n_tables = HU_COUNT(hu_sql_tables);
