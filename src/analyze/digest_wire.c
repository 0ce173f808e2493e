/* SPDX-License-Identifier: Apache-2.0
 * digest_wire.c - the fields of a digest and of all that it reaches, in the order of their structs.
 *
 * A new field needs a row here, or this file does not compile (base/wire.h).
 */
#include "analyze/digest_wire.h"

#include "base/wire.h"

/* clang-format off */
#define STATS(F, T) \
    F(T, SIZE, n) F(T, I64, sum) F(T, I64, min) F(T, I64, max) F(T, F64, mean) F(T, F64, stddev) F(T, F64, median) \
    F(T, F64, p10) F(T, F64, p90)
/* clang-format on */
HU_WIRE_TABLE(hu_stats, STATS);

#define POINT(F, T) F(T, F64, most) F(T, F64, area)
HU_WIRE_TABLE(hu_point, POINT);

#define SERIES(F, T) F(T, I64, start_ns) F(T, I64, piece_ns) F(T, PARTS, at, hu_point)
HU_WIRE_TABLE(hu_series, SERIES);

/* clang-format off */
#define INFO(F, T) \
    F(T, STR, file) F(T, STR, format) F(T, STR, tool) F(T, STR, compression) F(T, STR, host) F(T, STR, backend) \
    F(T, STR, outsiders) F(T, STR, gpus) F(T, STR, rapl) \
    F(T, I64, bytes) F(T, I64, base_ns) F(T, I64, rank) F(T, I64, world_size) F(T, I64, schema_version) \
    F(T, I64, cpu_sample_ns) F(T, I64, cpus) F(T, I64, cpu_limit_milli) F(T, I64, cpu_periods) \
    F(T, I64, cpu_throttled) F(T, I64, cpu_throttled_ns) F(T, I64, out_of_memory) F(T, I64, failed_bytes) \
    F(T, I64, command_cpu_ns) F(T, I64, command_pid) F(T, I64, command_signal) F(T, I64, nccl_rank) \
    F(T, I64, main_running_ns) F(T, I64, main_runnable_ns) \
    F(T, I64, state_source) F(T, I64, unseen_ppm) F(T, I64, opencl) F(T, I64, opencl_error_ns) \
    F(T, I64, opencl_users) F(T, STR, alloc_conf) F(T, BOOL, has_alloc_conf) \
    F(T, BOOL, has_shapes) F(T, BOOL, has_stacks) \
    F(T, BOOL, has_memory) \
    F(T, BOOL, has_flops) F(T, BOOL, has_modules)
HU_WIRE_TABLE(hu_trace_info, INFO);

#define DEVICE(F, T) \
    F(T, I64, id) F(T, U32, name) F(T, I64, memory_bytes) F(T, I32, sm_count) F(T, I32, major) F(T, I32, minor) \
    F(T, I32, warp_size) F(T, I32, max_threads_per_sm)
HU_WIRE_TABLE(hu_device, DEVICE);

#define GPU_TIME(F, T) \
    F(T, I64, n_slices) F(T, I64, n_kernels) F(T, I64, n_comm) F(T, I64, n_memcpy) F(T, I64, n_memset) \
    F(T, I64, span_ns) F(T, I64, busy_ns) F(T, I64, compute_ns) F(T, I64, comm_ns) F(T, I64, memcpy_ns) \
    F(T, I64, memset_ns) F(T, I64, overlapped_comm_ns) F(T, I64, exposed_memcpy_ns) F(T, I64, kernel_sum_ns) \
    F(T, I64, comm_sum_ns) F(T, I64S, split_ns)
HU_WIRE_TABLE(hu_gpu_time, GPU_TIME);

#define INTERVAL(F, T) F(T, I64, start_ns) F(T, I64, end_ns)
HU_WIRE_TABLE(hu_interval, INTERVAL);

#define STEP(F, T) \
    F(T, U32, name) F(T, I64, number) F(T, I64, start_ns) F(T, I64, end_ns) F(T, I64, host_start_ns) \
    F(T, I64, host_end_ns) F(T, I64, n_device) F(T, PART, marks, hu_interval) F(T, PART, ends, hu_interval) \
    F(T, PART, period, hu_interval) F(T, PART, work, hu_interval) F(T, BOOL, is_warm_up) F(T, BOOL, is_incomplete) \
    F(T, BOOL, is_open) F(T, BOOL, is_first) F(T, BOOL, is_resumed) F(T, U8, phase, HU_ENGINE_PHASES)
HU_WIRE_TABLE(hu_step, STEP);

#define STEADY(F, T) \
    F(T, F64, by_marks_ns) F(T, F64, by_ends_ns) F(T, I64, backlog_ns) F(T, BOOL, is_by_marks)
HU_WIRE_TABLE(hu_steady, STEADY);

#define STEPS(F, T) \
    F(T, ENUM, source, HU_STEPS_NONE + 1) F(T, F64, confidence) F(T, STR, what) F(T, LIST, at, n, hu_step) \
    F(T, SIZE, n) F(T, SIZE, n_counted) F(T, BOOL, is_cut) F(T, BOOL, is_selected) F(T, BOOL, is_engine) \
    F(T, BOOL, is_outlived) F(T, BOOL, is_backlog) F(T, BOOL, is_unlinked) F(T, SIZE, n_pauses) F(T, I64, pauses_ns) \
    F(T, STR, pause) F(T, I64S, phase_n) F(T, F64S, phase_ns) F(T, PART, steady, hu_steady) F(T, PART, duration, hu_stats)
HU_WIRE_TABLE(hu_steps, STEPS);

#define STEP_TIME(F, T) \
    F(T, F64, step_ns) F(T, F64, compute_ns) F(T, F64, comm_ns) F(T, F64, exposed_comm_ns) \
    F(T, F64, exposed_copy_ns) F(T, F64, idle_ns) F(T, F64, wait_ns) F(T, F64, unknown_ns) F(T, F64S, role_ns)
HU_WIRE_TABLE(hu_step_time, STEP_TIME);

#define SLOW_STEPS(F, T) \
    F(T, SIZE, n) F(T, F64, limit_ns) F(T, I64, every) F(T, I64, longest) F(T, F64, slow_ns) F(T, F64, typical_ns) \
    F(T, F64, share) \
    F(T, ENUM, excess, HU_EXCESS_COUNT) F(T, STR, what) F(T, F64, what_ns)
HU_WIRE_TABLE(hu_slow_steps, SLOW_STEPS);

#define BREAKDOWN(F, T) \
    F(T, BOOL, has_device) F(T, I64, capture_ns) F(T, I64, rest_ns) F(T, I64, rest_busy_ns) \
    F(T, LIST, at, n, hu_step_time) F(T, SIZE, n) F(T, PART, mean, hu_step_time) \
    F(T, PART, spread, hu_step_time)
HU_WIRE_TABLE(hu_breakdown, BREAKDOWN);

#define OPERATOR(F, T) \
    F(T, STR, name) F(T, STR, group) F(T, U8, kind, HU_KIND_COUNT) F(T, I64, calls) F(T, I64, host_total_ns) \
    F(T, I64, host_self_ns) F(T, I64, device_total_ns) F(T, I64, device_self_ns) F(T, I64, host_bytes) \
    F(T, I64, device_bytes) F(T, I64, calls_in_steps)
HU_WIRE_TABLE(hu_operator, OPERATOR);

#define OPERATORS(F, T) \
    F(T, LIST, at, n, hu_operator) F(T, SIZE, n) F(T, I64, host_self_sum_ns) F(T, I64, device_self_sum_ns) \
    F(T, BOOL, has_memory) F(T, ENUM, grouping, HU_GROUP_MODULE + 1)
HU_WIRE_TABLE(hu_operators, OPERATORS);

#define KERNEL_NAME(F, T) \
    F(T, STR, label) F(T, ENUM, family, HU_FAMILY_COUNT) F(T, STR, library) \
    F(T, ENUM, tensor, HU_TENSOR_UNKNOWN + 1) F(T, BOOL, is_plain_fp32)
HU_WIRE_TABLE(hu_kernel_name, KERNEL_NAME);

#define KERNEL(F, T) \
    F(T, STR, name) F(T, STR, short_name) \
    F(T, PART, read, hu_kernel_name) F(T, BOOL, is_comm) F(T, I64, calls) F(T, I64, calls_in_steps) \
    F(T, I64, total_ns) F(T, I64, min_ns) F(T, I64, max_ns) F(T, F64, mean_ns) F(T, F64, squares) F(T, U32S, grid) \
    F(T, U16S, block) F(T, BOOL, geometry_varies) F(T, U16, registers) F(T, U32, shared_bytes) \
    F(T, I64, eligible_ns) F(T, I64, plain_ns) F(T, F64, occupancy_sum) F(T, F64, occupancy_ns) F(T, F64, waves_sum) \
    F(T, F64, tail_sum) \
    F(T, F64, waves_ns) F(T, F64, sm_sum) F(T, F64, sm_ns)
HU_WIRE_TABLE(hu_kernel, KERNEL);

#define KERNEL_SHAPE(F, T) \
    F(T, STR, name) F(T, U32S, grid) F(T, U16S, block) F(T, I64, calls) F(T, I64, total_ns) F(T, I64, calls_in_steps) \
    F(T, I64, steps_ns)
HU_WIRE_TABLE(hu_kernel_shape, KERNEL_SHAPE);

#define KERNEL_LAUNCH(F, T) F(T, U32, shape) F(T, U32, step) F(T, I64, dur_ns)
HU_WIRE_TABLE(hu_kernel_launch, KERNEL_LAUNCH);

#define KERNEL_SHAPES(F, T) \
    F(T, LIST, at, n, hu_kernel_shape) F(T, SIZE, n) F(T, LIST, launches, n_launches, hu_kernel_launch) \
    F(T, SIZE, n_launches) F(T, WORD, why_unordered)
HU_WIRE_TABLE(hu_kernel_shapes, KERNEL_SHAPES);

#define SAID_SUM(F, T) F(T, I64, sum) F(T, I64, passes)
HU_WIRE_TABLE(hu_said_sum, SAID_SUM);

#define SERVING_CLASS(F, T) \
    F(T, U8, phase, HU_ENGINE_PHASES) F(T, I64, passes) F(T, F64, period_ns) F(T, PART, prompts, hu_said_sum) \
    F(T, PART, prompt_tokens, hu_said_sum) F(T, PART, sequences, hu_said_sum) F(T, PART, tokens, hu_said_sum) \
    F(T, PART, context_tokens, hu_said_sum) F(T, I64, gaps) F(T, I64, gap_ns) F(T, F64, gap_period_ns) \
    F(T, I64, host_gap_ns) F(T, I64, pauses) \
    F(T, I64, kernels) F(T, I64, kernel_ns) F(T, I64, graph_kernels) F(T, I64, graph_kernel_ns) \
    F(T, I64, graph_passes) F(T, I64, launches)
HU_WIRE_TABLE(hu_serving_class, SERVING_CLASS);

#define SERVING(F, T) F(T, LIST, at, n, hu_serving_class) F(T, SIZE, n)
HU_WIRE_TABLE(hu_serving, SERVING);

#define FAMILY_TIME(F, T) \
    F(T, ENUM, family, HU_FAMILY_COUNT) F(T, I64, kernels) F(T, I64, calls) F(T, I64, total_ns) F(T, I64, tensor_ns) \
    F(T, I64, unknown_ns) F(T, I64, eligible_ns)
HU_WIRE_TABLE(hu_kernel_family_time, FAMILY_TIME);

#define KERNELS(F, T) \
    F(T, LIST, at, n, hu_kernel) F(T, SIZE, n) F(T, I64, total_ns) F(T, PARTS, family, hu_kernel_family_time) \
    F(T, F64, sm_busy_ns) F(T, F64, sm_known_ns)
HU_WIRE_TABLE(hu_kernels, KERNELS);

#define COPY(F, T) \
    F(T, STR, name) F(T, STR, direction) F(T, STR, from) F(T, STR, to) F(T, I64, calls) F(T, I64, total_ns) \
    F(T, I64, min_ns) F(T, I64, max_ns) F(T, I64, bytes) F(T, I64, timed_bytes_ns) F(T, BOOL, has_bytes) \
    F(T, BOOL, is_pageable) F(T, I64, running_ns) F(T, I64, exposed_ns) F(T, I64, blocking)
HU_WIRE_TABLE(hu_copy, COPY);

#define COPIES(F, T) \
    F(T, LIST, at, n, hu_copy) F(T, SIZE, n) F(T, I64, total_ns) F(T, I64, exposed_ns) F(T, I64, htod_ns) \
    F(T, I64, htod_exposed_ns) F(T, PARTS, gbps, hu_series)
/* clang-format on */
HU_WIRE_TABLE(hu_copies, COPIES);

#define OP_KERNEL(F, T) F(T, STR, op) F(T, STR, kernel) F(T, STR, source) F(T, I64, calls) F(T, I64, total_ns)
HU_WIRE_TABLE(hu_op_kernel, OP_KERNEL);

#define OP_KERNELS(F, T) F(T, LIST, at, n, hu_op_kernel) F(T, SIZE, n)
HU_WIRE_TABLE(hu_op_kernels, OP_KERNELS);

/* clang-format off */
#define IDLE_STREAM(F, T) \
    F(T, I64, device) F(T, I64, stream) F(T, I64, work) F(T, I64, gaps) F(T, I64, busy_ns) F(T, I64, idle_ns) \
    F(T, I64, host_wait_ns) F(T, I64, kernel_wait_ns) F(T, I64, other_ns) F(T, I64, host_waits) \
    F(T, I64, kernel_waits) F(T, I64, others)
HU_WIRE_TABLE(hu_idle_stream, IDLE_STREAM);

#define IDLE_GAP(F, T) \
    F(T, I64, start_ns) F(T, I64, dur_ns) F(T, I64, step) F(T, ENUM, cause, HU_IDLE_CAUSE_COUNT) F(T, F64, cause_ns) \
    F(T, STR, host) F(T, I64, host_ns) F(T, STR, before) F(T, STR, after)
/* clang-format on */
HU_WIRE_TABLE(hu_idle_gap, IDLE_GAP);

#define IDLE_WINDOW(F, T) F(T, I64, start_ns) F(T, I64, dur_ns) F(T, I64, busy_ns)
HU_WIRE_TABLE(hu_idle_window, IDLE_WINDOW);

/* clang-format off */
#define IDLE(F, T) \
    F(T, LIST, streams, n_streams, hu_idle_stream) F(T, SIZE, n_streams) F(T, I64, idle_ns) F(T, I64, gaps) \
    F(T, I64, lead_ns) F(T, I64S, by_cause) F(T, LIST, longest, n_longest, hu_idle_gap) F(T, SIZE, n_longest) \
    F(T, LIST, windows, n_windows, hu_idle_window) F(T, SIZE, n_windows) F(T, I64, first_ns) F(T, I64, window_ns)
HU_WIRE_TABLE(hu_idle, IDLE);

#define LAUNCH(F, T) \
    F(T, STR, name) F(T, I64, launches) F(T, I64, call_ns) F(T, I64, delay_ns) F(T, I64, most_delay_ns) \
    F(T, I64, work_ns) F(T, I64, shorter)
/* clang-format on */
HU_WIRE_TABLE(hu_launch, LAUNCH);

#define LAUNCH_QUEUE(F, T) \
    F(T, I64, device) F(T, I64, stream) F(T, I64, launches) F(T, I64, most) F(T, F64, mean) F(T, I64, full_ns)
HU_WIRE_TABLE(hu_launch_queue, LAUNCH_QUEUE);

/* clang-format off */
#define LAUNCH_OUTLIER(F, T) \
    F(T, STR, call) F(T, STR, work) F(T, STR, op) F(T, I64, start_ns) F(T, I64, call_ns) F(T, I64, delay_ns) \
    F(T, I64, work_ns)
HU_WIRE_TABLE(hu_launch_outlier, LAUNCH_OUTLIER);

#define LAUNCHES(F, T) \
    F(T, I64, launches) F(T, I64, graph_launches) F(T, I64, graph_work) F(T, I64, graph_work_ns) F(T, I64, shorter) \
    F(T, I64, shorter_ns) F(T, I64, long_calls) F(T, I64, long_delays) F(T, PART, call, hu_stats) \
    F(T, PART, delay, hu_stats) F(T, LIST, at, n, hu_launch) F(T, SIZE, n) \
    F(T, LIST, queues, n_queues, hu_launch_queue) F(T, SIZE, n_queues) F(T, PART, queue, hu_series) \
    F(T, LIST, outliers, n_outliers, hu_launch_outlier) F(T, SIZE, n_outliers)
/* clang-format on */
HU_WIRE_TABLE(hu_launches, LAUNCHES);

#define CALL(F, T) F(T, STR, name) F(T, PART, duration, hu_stats) F(T, BOOL, is_sync) F(T, BOOL, is_alloc)
HU_WIRE_TABLE(hu_call, CALL);

/* clang-format off */
#define WAIT(F, T) \
    F(T, STR, call) F(T, STR, op) F(T, STR, stack) F(T, I64, calls) F(T, I64, total_ns) F(T, I64, max_ns) \
    F(T, I64, final_calls) F(T, I64, final_ns)
HU_WIRE_TABLE(hu_wait, WAIT);

#define CALLS(F, T) \
    F(T, LIST, at, n, hu_call) F(T, SIZE, n) F(T, I64, total_ns) F(T, LIST, waits, n_waits, hu_wait) \
    F(T, SIZE, n_waits) F(T, I64, wait_ns) F(T, I64, wait_calls) F(T, I64, final_ns) F(T, I64, final_calls) \
    F(T, I64, alloc_ns) F(T, I64, alloc_calls) \
    F(T, I64, alloc_calls_in_steps)
HU_WIRE_TABLE(hu_calls, CALLS);

#define COLLECTIVE(F, T) \
    F(T, STR, name) F(T, STR, group) F(T, STR, dtype) F(T, I64, group_size) F(T, I64, bytes) F(T, BOOL, on_host) \
    F(T, BOOL, is_posted) F(T, PART, duration, hu_stats) F(T, I64, exposed_ns) F(T, F64, factor) \
    F(T, ENUM, kind, HU_COMM_KIND_COUNT) F(T, ENUM, bound, HU_COMM_BY_COUNT)
HU_WIRE_TABLE(hu_collective, COLLECTIVE);

#define FIT_PIECE(F, T) \
    F(T, F64, from_bytes) F(T, F64, to_bytes) F(T, F64, alpha_ns) F(T, F64, ns_per_byte) F(T, SIZE, n)
/* clang-format on */
HU_WIRE_TABLE(hu_fit_piece, FIT_PIECE);

#define FIT(F, T) F(T, FIRST, at, n, hu_fit_piece) F(T, SIZE, n) F(T, F64, error)
HU_WIRE_TABLE(hu_fit, FIT);

#define COMM_FIT(F, T) \
    F(T, ENUM, kind, HU_COMM_KIND_COUNT) F(T, I64, group_size) F(T, ENUM, link, HU_LINK_COUNT) F(T, PART, fit, hu_fit)
HU_WIRE_TABLE(hu_comm_fit, COMM_FIT);

/* clang-format off */
#define COMM_CALL(F, T) \
    F(T, U64, group) F(T, U64, what) F(T, I64, start_ns) F(T, I64, dur_ns) F(T, I64, sequence) \
    F(T, U32, row) F(T, I32, peer) F(T, U32, order) F(T, U8, kind, HU_COMM_KIND_COUNT) F(T, BOOL, synchronises) \
    F(T, BOOL, is_posted) F(T, BOOL, is_anonymous) \
    F(T, U32, slice)
HU_WIRE_TABLE(hu_comm_call, COMM_CALL);

#define COMM(F, T) \
    F(T, LIST, at, n, hu_collective) F(T, SIZE, n) F(T, I64, calls) F(T, I64, total_ns) F(T, I64, overlapped_ns) \
    F(T, I64, exposed_ns) F(T, I64, bytes) F(T, BOOL, on_host) F(T, LIST, calls_at, n_calls_at, hu_comm_call) \
    F(T, SIZE, n_calls_at) F(T, LIST, fits, n_fits, hu_comm_fit) F(T, SIZE, n_fits)
HU_WIRE_TABLE(hu_comm, COMM);

#define MEMORY_HOLDER(F, T) \
    F(T, STR, device) F(T, STR, op) F(T, STR, module) F(T, ENUM, category, HU_MEMORY_CATEGORY_COUNT) \
    F(T, I64, bytes) F(T, I64, allocations)
HU_WIRE_TABLE(hu_memory_holder, MEMORY_HOLDER);

#define MEMORY_PIECES(F, T) \
    F(T, I64, reserved_bytes) F(T, I64, held_bytes) F(T, I64, free_bytes) F(T, I64, free_blocks) \
    F(T, I64, largest_free_bytes) F(T, I64, empty_bytes) F(T, I64, page_bytes) F(T, BOOL, is_known)
HU_WIRE_TABLE(hu_memory_pieces, MEMORY_PIECES);

#define MEMORY_STACK(F, T) \
    F(T, STR, device) F(T, STR, stack) F(T, ENUM, category, HU_MEMORY_CATEGORY_COUNT) F(T, I64, bytes) F(T, I64, allocations)
HU_WIRE_TABLE(hu_memory_stack, MEMORY_STACK);

#define MEMORY_CODE(F, T) \
    F(T, STR, device) F(T, STR, op) F(T, STR, stack) F(T, I64, bytes) F(T, I64, allocations) F(T, I64, grown_bytes) \
    F(T, I64, grown_allocations)
HU_WIRE_TABLE(hu_memory_code, MEMORY_CODE);

#define MEMORY_CHANGE(F, T) \
    F(T, STR, device) F(T, STR, op) F(T, STR, stack) F(T, I64, before_bytes) F(T, I64, before_allocations) \
    F(T, I64, bytes) F(T, I64, allocations)
HU_WIRE_TABLE(hu_memory_change, MEMORY_CHANGE);

#define MEMORY_STEP(F, T) F(T, I64, end_ns) F(T, I64, bytes)
HU_WIRE_TABLE(hu_memory_step, MEMORY_STEP);

#define MEMORY_PIECE(F, T) \
    F(T, STR, device) F(T, I64, bytes) F(T, I64, held_bytes) F(T, I64, largest_free_bytes) F(T, I64, stream) \
    F(T, BOOL, is_small) F(T, BOOL, is_expandable)
HU_WIRE_TABLE(hu_memory_piece, MEMORY_PIECE);

#define MEMORY_RUN(F, T) \
    F(T, I64, segment) F(T, I64, offset_bytes) F(T, I64, bytes) F(T, I64, blocks) F(T, BOOL, is_held)
HU_WIRE_TABLE(hu_memory_run, MEMORY_RUN);

#define MEMORY_FAILURE(F, T) \
    F(T, STR, device) F(T, STR, op) F(T, I64, time_ns) F(T, I64, bytes) F(T, I64, driver_free_bytes) \
    F(T, PART, pieces, hu_memory_pieces) F(T, ENUM, why, HU_MEMORY_WHY_COUNT)
HU_WIRE_TABLE(hu_memory_failure, MEMORY_FAILURE);

#define MEMORY_POOL(F, T) \
    F(T, STR, name) F(T, I32, device_type) F(T, I32, device) F(T, I64, allocations) F(T, I64, frees) \
    F(T, I64, allocated_bytes) F(T, I64, peak_bytes) F(T, I64, peak_ns) F(T, I64, first_bytes) F(T, I64, last_bytes) \
    F(T, I64, reserved_bytes) F(T, I64, capacity_bytes) F(T, I64, segments) F(T, I64, free_bytes) F(T, I64, free_blocks) \
    F(T, I64, largest_free_bytes) F(T, BOOL, is_expandable) F(T, I64, requested_bytes) F(T, I64, graph_free_bytes) \
    F(T, PART, at_peak, hu_memory_pieces) F(T, PART, at_end, hu_memory_pieces) F(T, BOOL, is_relative) \
    F(T, I64S, peak_by) F(T, I64, steps) F(T, F64, slope_bytes) F(T, F64, growth_p) F(T, ENUM, leak, HU_LEAK_YES + 1) \
    F(T, PART, allocated, hu_series) F(T, PART, reserved, hu_series)
HU_WIRE_TABLE(hu_memory_pool, MEMORY_POOL);

#define MEMORY(F, T) \
    F(T, LIST, at, n, hu_memory_pool) F(T, SIZE, n) F(T, LIST, holders, n_holders, hu_memory_holder) \
    F(T, SIZE, n_holders) F(T, I64, ooms) F(T, I64, failed_bytes) F(T, LIST, stacks, n_stacks, hu_memory_stack) \
    F(T, SIZE, n_stacks) F(T, LIST, code, n_code, hu_memory_code) F(T, SIZE, n_code) \
    F(T, LIST, failures, n_failures, hu_memory_failure) F(T, SIZE, n_failures) F(T, PARTS, by, hu_series) \
    F(T, LIST, steps, n_steps, hu_memory_step) F(T, SIZE, n_steps) F(T, LIST, segments, n_segments, hu_memory_piece) \
    F(T, SIZE, n_segments) F(T, LIST, runs, n_runs, hu_memory_run) F(T, SIZE, n_runs) \
    F(T, STR, since) F(T, LIST, change, n_change, hu_memory_change) F(T, SIZE, n_change)
/* clang-format on */
HU_WIRE_TABLE(hu_memory, MEMORY);

#define RECOMPUTE(F, T) F(T, STR, name) F(T, I64, calls) F(T, I64, device_ns) F(T, I64, host_ns)
HU_WIRE_TABLE(hu_recompute, RECOMPUTE);

#define OVERHEAD(F, T) F(T, STR, name) F(T, I64, calls) F(T, I64, total_ns)
HU_WIRE_TABLE(hu_overhead, OVERHEAD);

#define HOT_FUNCTION(F, T) \
    F(T, STR, name) F(T, STR, module) F(T, I64, self) F(T, I64, total) F(T, I64, main_self) F(T, I64, kernel)
HU_WIRE_TABLE(hu_hot_function, HOT_FUNCTION);

/* clang-format off */
#define HOT(F, T) \
    F(T, I64, samples) F(T, I64, main_samples) F(T, I64, kernel_samples) F(T, I64, processes) F(T, I64, sample_ns) \
    F(T, LIST, at, n, hu_hot_function) F(T, SIZE, n)
HU_WIRE_TABLE(hu_hot, HOT);

#define OVERHEADS(F, T) \
    F(T, I64, span_ns) F(T, I64, recompute_calls) F(T, I64, recompute_host_ns) F(T, I64, recompute_device_ns) \
    F(T, I64, device_ns) F(T, LIST, recomputed, n_recomputed, hu_recompute) F(T, SIZE, n_recomputed) \
    F(T, I64, gc_calls) F(T, I64, gc_ns) F(T, I64, gc_most_ns) F(T, BOOL, gc_recorded) F(T, I64, profiler_ns) \
    F(T, I64, profiler_in_steps_ns) F(T, LIST, at, n, hu_overhead) F(T, SIZE, n)
HU_WIRE_TABLE(hu_overheads, OVERHEADS);

#define TREE_NODE(F, T) \
    F(T, STR, name) F(T, I32, depth) F(T, INDEX, parent) F(T, I64, calls) F(T, I64, host_total_ns) \
    F(T, I64, host_self_ns) F(T, I64, device_total_ns)
HU_WIRE_TABLE(hu_tree_node, TREE_NODE);

#define TREE(F, T) \
    F(T, LIST, at, n, hu_tree_node) F(T, SIZE, n) F(T, I64, hidden) F(T, I64, host_ns) F(T, I64, device_ns)
/* clang-format on */
HU_WIRE_TABLE(hu_tree, TREE);

#define SEQUENCE(F, T) \
    F(T, STR, op) F(T, STR, kernels) F(T, I64, length) F(T, I64, count) F(T, I64, device_ns) F(T, I64, host_ns)
HU_WIRE_TABLE(hu_sequence, SEQUENCE);

#define SEQUENCES(F, T) F(T, LIST, at, n, hu_sequence) F(T, SIZE, n)
HU_WIRE_TABLE(hu_sequences, SEQUENCES);

/* clang-format off */
#define ROOFLINE_OP(F, T) \
    F(T, STR, op) F(T, STR, shapes) F(T, STR, types) F(T, STR, signature) F(T, ENUM, kind, HU_WORK_COUNT) \
    F(T, ENUM, dtype, HU_DTYPE_COUNT) F(T, I64, calls) F(T, I64, kernels) F(T, I64, kernel_ns) F(T, F64, flops) \
    F(T, F64, bytes) F(T, F64, roofline_ns) F(T, ENUM, bound, HU_BOUND_BANDWIDTH + 1) F(T, STR, peak) \
    F(T, F64, peak_tflops)
/* clang-format on */
HU_WIRE_TABLE(hu_roofline_op, ROOFLINE_OP);

#define ROOFLINE_UNKNOWN(F, T) F(T, STR, name) F(T, BOOL, is_kernel) F(T, I64, kernels) F(T, I64, kernel_ns)
HU_WIRE_TABLE(hu_roofline_unknown, ROOFLINE_UNKNOWN);

/* clang-format off */
#define ROOFLINE(F, T) \
    F(T, STR, device) F(T, STR, source) F(T, F64, gbps) F(T, LIST, at, n, hu_roofline_op) F(T, SIZE, n) \
    F(T, LIST, unknown, n_unknown, hu_roofline_unknown) F(T, SIZE, n_unknown) F(T, I64, kernel_ns) \
    F(T, I64, modelled_ns) F(T, I64, bytes_only_ns) F(T, I64, matrix_ns) F(T, F64, flops) F(T, F64, matrix_flops) \
    F(T, F64, roofline_ns) F(T, I64, roofline_kernel_ns) F(T, F64, window_ns) F(T, F64, model_peak_ns) \
    F(T, F64, executed_peak_ns) F(T, F64, window_model_flops)
HU_WIRE_TABLE(hu_roofline, ROOFLINE);

#define QUALITY(F, T) \
    F(T, I64S, count) F(T, I64S, dur_ns) F(T, I64, events) F(T, I64S, by_phase) F(T, I64, duration_sum_ns) \
    F(T, I64, invalid_utf8) F(T, BOOL, is_truncated) F(T, I64, truncated_at) F(T, TEXT, truncated_why) F(T, TEXT, warned) \
    F(T, I64, trailing_bytes) F(T, I64, outsiders) F(T, BOOL, has_all_events)
HU_WIRE_TABLE(hu_quality, QUALITY);

#define HEALTH(F, T) \
    F(T, PART, quality, hu_quality) F(T, I64S, kinds) F(T, I64, unlinked_kernels) F(T, I64, unlinked_kernels_ns) \
    F(T, I64, unlinked_launches) F(T, I64, graph_kernels) F(T, I64, gpu_processes) F(T, U32, missing) F(T, TEXT, others) \
    F(T, BOOL, by_nsight) F(T, BOOL, by_rocm) F(T, BOOL, by_holdup) F(T, BOOL, by_xla) F(T, BOOL, has_early_marks)
HU_WIRE_TABLE(hu_health, HEALTH);

#define HTA_DESCRIBE(F, T) \
    F(T, I64, count) F(T, F64, mean) F(T, F64, std) F(T, F64, min) F(T, F64, q25) F(T, F64, q50) F(T, F64, q75) \
    F(T, F64, max)
/* clang-format on */
HU_WIRE_TABLE(hu_hta_describe, HTA_DESCRIBE);

#define HTA_IDLE(F, T) F(T, I64, stream) F(T, F64S, idle_us) F(T, I64S, gaps)
HU_WIRE_TABLE(hu_hta_idle, HTA_IDLE);

#define HTA_TYPE(F, T) F(T, WORD, type) F(T, F64, sum_us)
HU_WIRE_TABLE(hu_hta_type, HTA_TYPE);

/* clang-format off */
#define HTA_KERNEL(F, T) \
    F(T, STR, name) F(T, WORD, type) F(T, I64, count) F(T, F64, sum_us) F(T, F64, max_us) F(T, F64, min_us) \
    F(T, F64, mean_us) F(T, F64, std_us)
/* clang-format on */
HU_WIRE_TABLE(hu_hta_kernel, HTA_KERNEL);

#define HTA_QUEUE(F, T) F(T, I64, stream) F(T, PART, length, hu_hta_describe) F(T, F64, full_us)
HU_WIRE_TABLE(hu_hta_queue, HTA_QUEUE);

#define HTA_BANDWIDTH(F, T) F(T, WORD, name) F(T, PART, gbps, hu_hta_describe)
HU_WIRE_TABLE(hu_hta_bandwidth, HTA_BANDWIDTH);

/* clang-format off */
#define HTA(F, T) \
    F(T, I64, rows) F(T, I64, gpu_rows) F(T, F64, kernel_us) F(T, F64, idle_us) F(T, F64, compute_us) \
    F(T, F64, non_compute_us) F(T, F64, overlap_pct) F(T, FIRST, types, n_types, hu_hta_type) F(T, SIZE, n_types) \
    F(T, LIST, kernels, n_kernels, hu_hta_kernel) F(T, SIZE, n_kernels) F(T, LIST, idle, n_idle, hu_hta_idle) \
    F(T, SIZE, n_idle) F(T, LIST, queues, n_queues, hu_hta_queue) F(T, SIZE, n_queues) \
    F(T, FIRST, copies, n_copies, hu_hta_bandwidth) F(T, SIZE, n_copies) F(T, I64, launches) \
    F(T, I64, short_kernels) F(T, I64, runtime_outliers) F(T, I64, delay_outliers) F(T, F64, cpu_us) \
    F(T, F64, gpu_us) F(T, F64, delay_us) F(T, BOOL, is_rounded) F(T, I64, sync_rows) F(T, I64, operator_rows) \
    F(T, I64, dropped_rows) F(T, I64, negative_rows)
HU_WIRE_TABLE(hu_hta, HTA);

#define TRACELENS(F, T) \
    F(T, I64, total_ns) F(T, I64, busy_ns) F(T, I64, idle_ns) F(T, I64, computation_ns) F(T, I64, comm_ns) \
    F(T, I64, exposed_comm_ns) F(T, I64, memcpy_ns) F(T, I64, exposed_memcpy_ns) F(T, I64, left_out) \
    F(T, I64, left_out_ns)
HU_WIRE_TABLE(hu_tracelens, TRACELENS);

#define PHASE_ROW(F, T) \
    F(T, ENUM, phase, HU_PHASE_COUNT) F(T, I64, host_ns) F(T, I64, compute_ns) F(T, I64S, comm_ns) F(T, I64, exposed_ns) \
    F(T, I64, calls) F(T, I64, bytes)
/* clang-format on */
HU_WIRE_TABLE(hu_phase_row, PHASE_ROW);

#define PHASE_TABLE(F, T) F(T, LIST, at, n, hu_phase_row) F(T, SIZE, n) F(T, U32, sources) F(T, BOOL, on_host)
HU_WIRE_TABLE(hu_phase_table, PHASE_TABLE);

/* clang-format off */
#define PARALLEL_GROUP(F, T) \
    F(T, ENUM, kind, HU_PARALLEL_COUNT) F(T, ENUM, trust, HU_TRUST_HIGH + 1) F(T, STR, words) F(T, STR, group) \
    F(T, STR, ranks) F(T, I64, size) F(T, STR, pattern) F(T, I64, calls) F(T, I64, bytes) F(T, I64, ns) \
    F(T, BOOL, is_main) F(T, SIZE, source) F(T, SIZE, id)
/* clang-format on */
HU_WIRE_TABLE(hu_parallel_group, PARALLEL_GROUP);

#define PARALLEL_REASON(F, T) F(T, SIZE, group) F(T, STR, text)
HU_WIRE_TABLE(hu_parallel_reason, PARALLEL_REASON);

/* clang-format off */
#define PARALLELISM(F, T) \
    F(T, LIST, at, n, hu_parallel_group) F(T, SIZE, n) F(T, LIST, reasons, n_reasons, hu_parallel_reason) \
    F(T, SIZE, n_reasons) F(T, STR, summary) F(T, STR, why_not) F(T, ENUM, trust, HU_TRUST_HIGH + 1) \
    F(T, BOOL, is_training) F(T, I64, world_size) F(T, I64, product) F(T, F64, parameter_bytes) \
    F(T, F64, gradient_bytes) F(T, F64, buckets) F(T, F64, first_bucket) F(T, F64, largest_bucket) \
    F(T, F64, during_backward_pct) F(T, STR, gradient_dtype) F(T, STR, order) F(T, F64, units) \
    F(T, F64, prefetch_forward_pct) F(T, F64, prefetch_backward_pct) F(T, F64, layers) F(T, F64, expert_layers) \
    F(T, F64, passes) F(T, I64, stages) F(T, I64, microbatches) F(T, STR, stage) F(T, F64, bubble_pct) \
    F(T, F64, ideal_bubble_pct)
/* clang-format on */
HU_WIRE_TABLE(hu_parallelism, PARALLELISM);

/* clang-format off */
#define HOST_SUM(F, T) \
    F(T, I64, calls) F(T, I64, total_ns) F(T, I64, longest_ns) F(T, I64, bytes) F(T, I64, main_ns) F(T, I64, outside_ns)
/* clang-format on */
HU_WIRE_TABLE(hu_host_sum, HOST_SUM);

#define HOST_CALL(F, T) F(T, STR, name) F(T, ENUM, class, HU_HOST_CLASS_COUNT) F(T, PART, sum, hu_host_sum)
HU_WIRE_TABLE(hu_host_call, HOST_CALL);

#define HOST_PLACE(F, T) \
    F(T, STR, call) F(T, STR, path) F(T, STR, within) F(T, ENUM, class, HU_HOST_CLASS_COUNT) F(T, PART, sum, hu_host_sum)
HU_WIRE_TABLE(hu_host_place, HOST_PLACE);

/* clang-format off */
#define HOST_CALLS(F, T) \
    F(T, PARTS, by_class, hu_host_sum) F(T, LIST, at, n, hu_host_call) F(T, SIZE, n) \
    F(T, LIST, places, n_places, hu_host_place) F(T, SIZE, n_places)
HU_WIRE_TABLE(hu_host_calls, HOST_CALLS);

#define HOST_PROCESS(F, T) \
    F(T, STR, name) F(T, I64, pid) F(T, I64, threads) F(T, I64, start_ns) F(T, I64, wall_ns) F(T, I64S, state_ns) \
    F(T, I64, cpu_ns) F(T, BOOL, is_main) F(T, BOOL, is_go)
/* clang-format on */
HU_WIRE_TABLE(hu_host_process, HOST_PROCESS);

/* clang-format off */
#define HOST_THREAD(F, T) \
    F(T, STR, name) F(T, I64, tid) F(T, I64, start_ns) F(T, I64, wall_ns) F(T, I64S, state_ns) F(T, I64, cpu_ns)
/* clang-format on */
HU_WIRE_TABLE(hu_host_thread, HOST_THREAD);

/* clang-format off */
#define GO_PROGRAM(F, T) \
    F(T, BOOL, is_go) F(T, F64, nobody_ns) F(T, STR, caller) F(T, STR, call) F(T, I64, caller_samples) \
    F(T, I64, call_samples) F(T, I64, caller_all) \
    F(T, I64, kernel_samples) F(T, I64, samples)
/* clang-format on */
HU_WIRE_TABLE(hu_go_program, GO_PROGRAM);

/* clang-format off */
#define HOST_TIME(F, T) \
    F(T, BOOL, is_recorded) F(T, I64, source) F(T, STR, process) F(T, STR, thread) F(T, I64, pid) F(T, I64, tid) \
    F(T, F64, step_ns) F(T, F64S, state_ns) F(T, F64S, idle_ns) F(T, F64S, task_ns) F(T, F64, wall_ns) \
    F(T, F64, cpu_ns) F(T, F64, job_cpu_ns) F(T, I64, all_threads) F(T, I64, all_processes) \
    F(T, PART, go, hu_go_program) \
    F(T, LIST, at, n, hu_host_process) F(T, SIZE, n) \
    F(T, LIST, threads, n_threads, hu_host_thread) F(T, SIZE, n_threads) F(T, I64, other_threads)
HU_WIRE_TABLE(hu_host_time, HOST_TIME);

#define OUTSIDE_PROCESS(F, T) \
    F(T, I64, pid) F(T, I64, uid) F(T, I64, cpu_ns) F(T, I64, life_ns) F(T, STR, name) F(T, STR, why)
HU_WIRE_TABLE(hu_outside_process, OUTSIDE_PROCESS);

#define OUTSIDE(F, T) F(T, LIST, at, n, hu_outside_process) F(T, SIZE, n) F(T, I64, cpu_ns)
HU_WIRE_TABLE(hu_outside, OUTSIDE);

#define ENERGY_USE(F, T) \
    F(T, F64, ns) F(T, F64, joules) F(T, F64, idle_ns) F(T, F64, exposed_ns) F(T, F64, idle_low) F(T, F64, idle_high) \
    F(T, F64, exposed_low) F(T, F64, exposed_high) F(T, F64, idle_watts)
HU_WIRE_TABLE(hu_energy_use, ENERGY_USE);

#define GPU_CLOCK(F, T) \
    F(T, I64, number) F(T, I64, device) F(T, STR, name) F(T, STR, uuid) F(T, STR, bus) F(T, STR, driver) F(T, STR, limits) \
    F(T, STR, problem) F(T, BOOL, is_ours) F(T, BOOL, is_mig) F(T, I64, others) F(T, F64, most_sm_mhz) \
    F(T, F64, most_watts) F(T, F64, seen_ns) F(T, F64, busy_ns) F(T, BOOL, is_work) F(T, F64, sm_mhz) F(T, F64, watts) \
    F(T, F64, joules) F(T, F64, step_joules) F(T, F64, memory_bytes) F(T, F64, celsius) F(T, F64, limited_ns) \
    F(T, F64, limited_mhz) F(T, F64, limited_memory_mhz) F(T, F64, most_memory_mhz) F(T, PART, use, hu_energy_use) \
    F(T, F64S, reason_ns) \
    F(T, I64, xid_count) F(T, I64, last_xid)
HU_WIRE_TABLE(hu_gpu_clock, GPU_CLOCK);

#define GPU_CLOCKS(F, T) F(T, LIST, at, n, hu_gpu_clock) F(T, SIZE, n)
HU_WIRE_TABLE(hu_gpu_clocks, GPU_CLOCKS);

#define ENERGY_ZONE(F, T) \
    F(T, STR, name) F(T, STR, host) F(T, I64, kind) F(T, F64, joules) F(T, F64, watts) F(T, F64, step_joules)
HU_WIRE_TABLE(hu_energy_zone, ENERGY_ZONE);

#define HOST_ENERGY(F, T) F(T, LIST, at, n, hu_energy_zone) F(T, SIZE, n) F(T, I64, state)
HU_WIRE_TABLE(hu_host_energy, HOST_ENERGY);

#define STUCK(F, T) F(T, STR, name) F(T, STR, call) F(T, STR, lock) F(T, STR, caller) F(T, I64, tid) F(T, I64, waited_ns)
HU_WIRE_TABLE(hu_stuck, STUCK);

#define DEADLOCK(F, T) F(T, LIST, at, n, hu_stuck) F(T, SIZE, n)
HU_WIRE_TABLE(hu_deadlock, DEADLOCK);

#define OWN_CODE(F, T) F(T, STR, name) F(T, I64, own_ns) F(T, I64, all_ns) F(T, I64, calls)
HU_WIRE_TABLE(hu_own_code, OWN_CODE);

#define DIGEST(F, T) \
    F(T, LEFT, arena) F(T, LEFTS, arenas) F(T, PART, info, hu_trace_info) F(T, LIST, devices, n_devices, hu_device) \
    F(T, STRS, device_names, n_devices) F(T, SIZE, n_devices) F(T, STR, device) F(T, I64, device_id) \
    F(T, STRS, step_names, steps.n) \
    F(T, PART, gpu_time, hu_gpu_time) F(T, PART, steps, hu_steps) F(T, PART, breakdown, hu_breakdown) \
    F(T, PART, slow_steps, hu_slow_steps) \
    F(T, PART, operators, hu_operators) F(T, PART, kernels, hu_kernels) F(T, PART, copies, hu_copies) \
    F(T, PART, op_kernels, hu_op_kernels) F(T, PART, idle, hu_idle) F(T, PART, launches, hu_launches) \
    F(T, PART, calls, hu_calls) F(T, PART, comm, hu_comm) F(T, PART, memory, hu_memory) \
    F(T, PART, overheads, hu_overheads) F(T, PART, hot, hu_hot) F(T, PART, own_code, hu_own_code) \
    F(T, PART, tree, hu_tree) \
    F(T, PART, sequences, hu_sequences) \
    F(T, PART, roofline, hu_roofline) F(T, PART, host_calls, hu_host_calls) \
    F(T, PART, host_time, hu_host_time) F(T, PART, outside, hu_outside) F(T, PART, deadlock, hu_deadlock) \
    F(T, PART, gpu_clocks, hu_gpu_clocks) F(T, PART, host_energy, hu_host_energy) \
    F(T, PART, phases, hu_phase_table) F(T, PART, parallelism, hu_parallelism) \
    F(T, PART, health, hu_health) F(T, PART, serving, hu_serving) F(T, PART, kernel_shapes, hu_kernel_shapes) \
    F(T, MAYBE, hta, hu_hta) F(T, MAYBE, tracelens, hu_tracelens)
/* clang-format on */
HU_WIRE_TABLE(hu_digest, DIGEST);

int hu_digest_pack(const hu_digest *d, hu_arena *arena, hu_str *out, hu_error *err)
{
    hu_arena *scratch = hu_arena_new();
    const int rc = scratch ? hu_wire_pack(&hu_digest_wire, d, arena, scratch, out, err) : hu_fail_memory(err);

    hu_arena_free(scratch);
    return rc;
}

hu_digest *hu_digest_unpack(hu_str bytes, hu_error *err)
{
    hu_arena  *arena = hu_arena_new();
    hu_digest *d = arena ? hu_arena_calloc(arena, 1, sizeof *d) : NULL;
    int        rc = d ? hu_wire_unpack(&hu_digest_wire, bytes, arena, d, err) : hu_fail_memory(err);

    if (rc == 0 && d->breakdown.n != d->steps.n) /* rows of the one are asked for by the number of the other */
        rc = hu_fail(err, HU_EFORMAT, NULL, HU_NO_OFFSET, "packed results are corrupt at steps");
    for (size_t i = 0; rc == 0 && i < d->comm.n_calls_at; i++)
        if (d->comm.calls_at[i].row >= d->comm.n)
            rc = hu_fail(err, HU_EFORMAT, NULL, HU_NO_OFFSET, "packed results are corrupt at collectives");
    for (size_t i = 0; rc == 0 && i < d->parallelism.n_reasons; i++)
        if (d->parallelism.reasons[i].group >= d->parallelism.n)
            rc = hu_fail(err, HU_EFORMAT, NULL, HU_NO_OFFSET, "packed results are corrupt at process groups");
    if (rc == 0) {
        d->arena = arena;
        return d;
    }
    hu_arena_free(arena);
    return NULL;
}
