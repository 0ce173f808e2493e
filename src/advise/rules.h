/* SPDX-License-Identifier: Apache-2.0
 * rules.h - every diagnosis once, in the order of docs/whatif.md: id, title, fix, how to verify the fix.
 */
#ifndef HU_ADVISE_RULES_H
#define HU_ADVISE_RULES_H

#include "advise/amount.h"
#include "analyze/digest.h"
#include "graph/simulation.h"

/* id, gate (gates.h), key in JSON, title, edit that prices it (HU_EDIT_KINDS: none), fix, how to verify */
/* clang-format off */
#define HU_RULES(R) \
    R(COMPUTE_BOUND, hu_gate_never, "compute-bound", "kernels keep the GPU busy", HU_EDIT_KINDS, \
      "faster kernels: lower precision (bf16), torch.compile, fused attention; or a faster GPU", \
      "the step gets shorter by what the kernels get faster") \
    R(BANDWIDTH_BOUND, hu_gate_fuse, "bandwidth-bound", "unfused elementwise kernels", \
      HU_EDIT_FUSE, "model = torch.compile(model); fused optimizers: torch.optim.AdamW(..., fused=True)", \
      "--view kernels: fewer elementwise kernels, and less time in them") \
    R(LOW_EFFICIENCY, hu_gate_odd, "low-efficiency-kernels", "matmul sizes not aligned to tensor cores", \
      HU_EDIT_KINDS, "pad odd dimensions to a multiple of 8 (bf16, fp16) or 16 (fp8): vocabulary, hidden size, batch", \
      "--view roofline: matmuls reach a larger share of the peak") \
    R(TENSOR_CORES, hu_gate_tensor, "tensor-cores-unused", "matmuls that do not use tensor cores", HU_EDIT_TENSOR, \
      "torch.set_float32_matmul_precision(\"high\"), or torch.autocast(\"cuda\", dtype=torch.bfloat16)", \
      "--view kernels: the matmul kernels say tensor cores: yes") \
    R(LAUNCH_BOUND, hu_gate_launch, "launch-bound", "late launches: the GPU waits for the host", HU_EDIT_LAUNCH, \
      "torch.compile(model, mode=\"reduce-overhead\") or torch.cuda.graph; larger batches; foreach or fused optimizers", \
      "--view idle: less idle time in operators and Python; --view launch: a longer queue") \
    R(HOST_WORK, hu_gate_work, "host-work", "host work on the critical path", HU_EDIT_WORK, \
      "move it out of the step, into a thread or a loader's worker that runs ahead, or compute it on the GPU", \
      "--view idle, --view ops: it is gone from the steps") \
    R(UNRECORDED, hu_gate_unrecorded, "unrecorded", "host time of which nothing was recorded", HU_EDIT_UNRECORDED, \
      "record with profile(with_stack=True), and experimental_config=_ExperimentalConfig(record_python_gc_info=True); or " \
      "holdup run: files, locks, sleep, CPU samples", "--view host, --view idle: the time has a name") \
    R(SMALL_OPERATORS, hu_gate_small_operators, "many-small-operators", "many small operators on the CPU", HU_EDIT_LAUNCH, \
      "one operator on whole tensors instead of a loop over parts; torch.compile; optimizers with foreach=True or " \
      "fused=True", \
      "--view ops: fewer calls") \
    R(CASTS, hu_gate_casts, "copies-and-casts", "copying and converting tensors on the CPU", HU_EDIT_CASTS, \
      "keep one dtype and memory format from the loader on; no .contiguous() or .to() in loops; views and in-place " \
      "operators instead of clones", "--view ops: less time in aten::copy_") \
    R(OPTIMIZER_LOOP, hu_gate_optimizer_loop, "optimizer-loop", "an optimizer that visits parameters one by one", \
      HU_EDIT_OPTIMIZER, "torch.optim.AdamW(..., fused=True); foreach=True saves less on a CPU, where it still " \
      "computes tensor by tensor; an optimizer of your own: over one flat tensor", \
      "--view ops: few calls in Optimizer.step") \
    R(VALIDATION, hu_gate_validation, "validation", "forward passes without a backward pass in the steps", \
      HU_EDIT_VALIDATION, \
      "validate after an epoch or every few hundred steps, on fewer batches, under torch.inference_mode(); metrics " \
      "from the outputs of the training step", "--view steps: no forward pass behind the optimizer") \
    R(BLOCKING, hu_gate_blocking, "synchronous-launches", "each launch waits for its kernel", HU_EDIT_BLOCKING, \
      "unset CUDA_LAUNCH_BLOCKING (AMD: AMD_SERIALIZE_KERNEL, HIP_LAUNCH_BLOCKING); it is for debugging", \
      "--view launch: calls return before their kernel begins") \
    R(CAPTURE, hu_gate_capture, "graph-capture", "CUDA graphs being captured", HU_EDIT_CAPTURE, \
      "nothing to fix: profile after the graphs are captured, schedule(wait=..., warmup=...)", \
      "--view calls: no cudaStreamBeginCapture") \
    R(HOST_SYNC, hu_gate_sync, "host-sync", "host syncs that leave the GPU idle", \
      HU_EDIT_SYNC, "log every n steps, not every step: keep loss.detach() on the GPU; torch.where instead of nonzero", \
      "--view calls: fewer sync calls; --view launch: the queue no longer drains") \
    R(COPY_BOUND, hu_gate_copy, "copy-bound", "exposed host-to-device copies", HU_EDIT_COPY, \
      "DataLoader(..., pin_memory=True) and tensor.to(device, non_blocking=True)", \
      "--view copies: no pageable copies, and less exposed time") \
    R(DATA_LOADING, hu_gate_data, "data-loading", "data loading on the critical path", HU_EDIT_DATA, \
      "DataLoader(..., num_workers=4, prefetch_factor=4, persistent_workers=True, pin_memory=True); else decode faster", \
      "--view steps: less time in DataLoader") \
    R(IO_STALL, hu_gate_io, "io-stall", "blocking file or network I/O", HU_EDIT_IO, \
      "read ahead and write behind in a separate thread; checkpoints: torch.distributed.checkpoint.async_save(...), or " \
      "fewer of them; logs: every n steps, through a logging.handlers.QueueHandler; write to a local disk first", \
      "--view steps: no slow steps; --view host: less time in these calls") \
    R(SMALL_CALLS, hu_gate_small_calls, "many-small-calls", "many small reads or writes", HU_EDIT_SMALL_CALLS, \
      "a buffer, so that one call moves 64 KiB: fread and fwrite with setvbuf, BufReader and BufWriter, bufio, " \
      "open(..., buffering=65536), BufferedOutputStream; or collect lines and write them together", \
      "--view host: fewer calls, more bytes in each") \
    R(KERNEL_CALLS, hu_gate_never, "kernel-calls", "system calls take the CPU time", HU_EDIT_KINDS, \
      "fewer and larger calls: bufio.NewWriter, bufio.NewReader or one large []byte; strace -c -f counts the calls and " \
      "what they move", "--view hot: fewer samples in [kernel], and a shorter run") \
    R(PAGE_FAULTS, hu_gate_page_faults, "page-faults", "memory given back and touched anew", HU_EDIT_PAGE_FAULTS, \
      "keep the memory and use it again: allocate outside of the loop, or from a pool; glibc: " \
      "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=1073741824 (mallopt); fresh " \
      "memory in larger pieces: MAP_POPULATE, madvise(MADV_HUGEPAGE)", \
      "fewer page faults (/usr/bin/time -v: minor), no munmap in --view host") \
    R(PROCESSES, hu_gate_processes, "many-processes", "many short child processes", HU_EDIT_PROCESSES, \
      "do it without a process for each item: in the program, or with the shell's own means (${name%.txt}); or one " \
      "process for all items (one sed or awk over a list, xargs), or one that stays", \
      "fewer processes, less time in fork, waitpid and reads of pipes in --view host") \
    R(LOCK, hu_gate_lock, "lock-contention", "lock contention", HU_EDIT_LOCK, \
      "hold the lock for less time: no work or I/O under it; split it into one lock per part; give each thread its own " \
      "copy and merge at the end", "--view host: less time in lock calls") \
    R(GIL, hu_gate_gil, "gil", "Python threads that wait for the interpreter lock", HU_EDIT_LOCK, \
      "processes in place of threads: multiprocessing, concurrent.futures.ProcessPoolExecutor; a free-threaded build " \
      "(python3.13t); or code that releases the lock: NumPy, Cython with nogil", \
      "--view host: less time in take_gil; more CPU time per second") \
    R(SLEEP, hu_gate_sleep, "sleep", "sleeping on the critical path", HU_EDIT_SLEEP, \
      "wait for the event, not for a time: a condition variable, an event, a descriptor; shorter pauses between retries", \
      "--view host: less time in sleep calls") \
    R(POLLED_CHILD, hu_gate_polled_child, "polled-child", "sleeping on when a child process has ended", HU_EDIT_LOOKS, \
      "wait for the child instead of looking: waitpid without WNOHANG, Popen.wait() or communicate(), wait in a shell; " \
      "for several things poll or epoll with a pidfd; or shorter sleeps", \
      "--view host: less time in sleep calls, more in waits for child processes") \
    R(WAITED_THREAD, hu_gate_waited_thread, "waited-thread", "the main thread waits for one thread that computes", \
      HU_EDIT_THREADS, \
      "make its code faster, or divide its work: more and smaller pieces that idle threads take (a queue, OpenMP " \
      "schedule(dynamic)), as many threads as CPUs; let the main thread do a part of it", \
      "--view host: less time in pthread_join, and the CPUs evenly used") \
    R(SMALL_POOL, hu_gate_never, "small-pool", "threads of a pool that all wait for the network", HU_EDIT_KINDS, \
      "more requests at a time: a larger pool (max_workers), asynchronous or pipelined requests; or fewer: many items in " \
      "one request, a cache", "--view host: as many network calls in a shorter run") \
    R(SLOW_READER, hu_gate_never, "slow-reader", "a pipe that its reader does not empty", HU_EDIT_KINDS, \
      "let the reader do less for each piece, or read ahead of its work; write less; a file in place of the pipe where " \
      "nobody needs it at once (a larger buffer only shifts the wait)", \
      "--view host: less time in writes to pipes") \
    R(GO_WAITS, hu_gate_never, "go-waits", "all goroutines wait", HU_EDIT_KINDS, \
      "ask Go what for: go tool trace (runtime/trace), or block and mutex profiles (runtime.SetBlockProfileRate, " \
      "SetMutexProfileFraction; go tool pprof)", "a shorter run; go tool trace: goroutines run, or fewer wait") \
    R(WAITED_CHILD, hu_gate_waited_child, "waited-child", "the command waits for a child process that computes", \
      HU_EDIT_CHILDREN, \
      "several children: start the longest first, as many at a time as CPUs (make -j, xargs -P, a pool); one alone: " \
      "divide its work, let it do less (options, a faster tool), or start it earlier and do other work meanwhile", \
      "--view host: the child takes less, and the CPUs are evenly used") \
    R(IMBALANCE, hu_gate_never, "load-imbalance", "OpenMP threads with unequal work wait for the one with most", \
      HU_EDIT_KINDS, "schedule(dynamic) or schedule(guided) on the loop, with a chunk that is small beside the whole; " \
      "tasks; loops over pieces of equal cost", "--view host: threads run equally long") \
    R(HOT_CODE, hu_gate_never, "hot-code", "hot code: one function takes the CPU time", HU_EDIT_KINDS, \
      "a better algorithm or data structure, fewer calls of it, compiler flags (-O3 -march=native), or several threads; " \
      "perf annotate shows its lines when it is built with -g", "--view hot: fewer samples in it, and a shorter run") \
    R(CPU_QUOTA, hu_gate_quota, "cpu-quota", "CPU quota: the limit of the job's control group stops it", HU_EDIT_CPU, \
      "a higher limit (Kubernetes: resources.limits.cpu, docker run --cpus, systemd: CPUQuota=), or as many threads and " \
      "workers as the limit has CPUs (OMP_NUM_THREADS, num_workers)", \
      "nr_throttled in cpu.stat of the control group stays as it is while the job runs") \
    R(STARVED, hu_gate_starved, "cpu-starved", "CPU starvation: main thread runnable, waiting for a CPU", HU_EDIT_CPU, \
      "fewer threads and workers than CPUs (OMP_NUM_THREADS, num_workers), more CPUs for the job (--cpus-per-task, " \
      "cgroup limits), no other jobs on them", "--view host: less time waiting for a CPU") \
    R(EXPOSED_COMM, hu_gate_exposed_comm, "exposed-communication", "exposed communication", HU_EDIT_COMM, \
      "overlap it with compute (DDP does so by default; FSDP: backward_prefetch, forward_prefetch; MPI: MPI_Isend and " \
      "MPI_Irecv before the work, MPI_Wait after it), or send less: bf16 gradients", "--view comm: less exposed time") \
    R(STRAGGLER, hu_gate_never, "straggler", "waiting for the slowest rank", HU_EDIT_KINDS, \
      "look at that rank: its own report shows what takes longer; then its node: clocks, other jobs, cables", \
      "communication takes the same time on all ranks") \
    R(COMM_LATENCY, hu_gate_latency, "comm-latency", "too many small messages", HU_EDIT_BUCKET, \
      "larger buckets: DDP(bucket_cap_mb=100), fewer FSDP units, torch.distributed._coalescing_manager for your own calls", \
      "--view comm: fewer calls, more bytes in each") \
    R(ACCUMULATION, hu_gate_accumulation, "repeated-reduction", "gradients reduced after each micro-batch", \
      HU_EDIT_ACCUMULATE, "accumulate under model.no_sync() for all micro-batches but the last of each optimizer step; " \
      "Accelerate: accelerator.accumulate(model)", "--view comm: each bucket is reduced once per optimizer step") \
    R(COMM_BANDWIDTH, hu_gate_never, "comm-bandwidth", "collective bandwidth below the link's", HU_EDIT_KINDS, \
      "check with nccl-tests; NCCL_DEBUG=INFO shows the path taken: NVLink, NCCL_IB_HCA, NCCL_NET_GDR_LEVEL", \
      "--view comm: bus bandwidth near the link's") \
    R(POOR_OVERLAP, hu_gate_poor_overlap, "poor-overlap", "poor overlap of communication and compute", HU_EDIT_COMM, \
      "start communication earlier: DDP(gradient_as_bucket_view=True, static_graph=True), smaller buckets; DeepSpeed " \
      "overlap_comm", \
      "--view comm: a larger share overlaps") \
    R(CONTENTION, hu_gate_contention, "overlap-contention", "kernels slowed down by concurrent communication", \
      HU_EDIT_CONTENTION, \
      "give NCCL fewer SMs (NCCL_MAX_CTAS), or use SHARP or copy engines", \
      "the same kernels take the same time with and without communication") \
    R(BUBBLE, hu_gate_never, "pipeline-bubble", "pipeline bubble", HU_EDIT_KINDS, \
      "more micro-batches, an interleaved schedule, balanced stages", \
      "less time in send and receive") \
    R(ALLOCATOR, hu_gate_alloc, "allocator", "device memory allocation in the steps", HU_EDIT_ALLOC, \
      "no torch.cuda.empty_cache() in the loop; PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; fixed shapes", \
      "--view calls: no cudaMalloc or cudaFree in the steps") \
    R(PIN, hu_gate_pin, "pinned-allocation", "allocation of pinned host memory in the steps", HU_EDIT_PIN, \
      "allocate pinned buffers once and reuse them; DataLoader(pin_memory=True) does so; no " \
      "tensor.pin_memory() in the step", \
      "--view calls: no cudaHostAlloc or cudaFreeHost in the steps") \
    R(PYTHON_GC, hu_gate_gc, "python-gc", "Python garbage collection in the steps", HU_EDIT_GC, \
      "gc.disable() after warm-up and gc.collect() every few hundred steps; gc.freeze() after loading", \
      "--view overheads: no collections in the steps") \
    R(THROTTLING, hu_gate_throttling, "throttling", "throttled GPU: a lower clock, or slower kernels from step to step", \
      HU_EDIT_CLOCK, \
      "nvidia-smi -q -d PERFORMANCE,CLOCK while it runs: power cap, temperature; cooling, nvidia-smi -lgc", \
      "kernels take the same time in all steps; --view gpus: the clock is lowered for less time") \
    R(WARM_UP, hu_gate_compile, "warm-up", "loading or compiling GPU code in the steps", HU_EDIT_COMPILE, \
      "profile later (schedule(wait=..., warmup=...)); fixed shapes or torch._dynamo.mark_dynamic; keep " \
      "TORCHINDUCTOR_CACHE_DIR", "no cuModuleLoad, clBuildProgram or compilation in the steps") \
    R(COLD, hu_gate_cold, "cold-start", "the capture begins before the job is warm", HU_EDIT_COMPILE, \
      "profile later: schedule(wait=..., warmup=...) with a few steps before the first that is recorded; to start faster: " \
      "CUDA_MODULE_LOADING=EAGER, and keep TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR", \
      "the first recorded step takes as long as the others") \
    R(RECOMPUTE, hu_gate_recompute, "recompute", "activation recomputation in backward", HU_EDIT_RECOMPUTE, \
      "if memory allows: checkpoint fewer layers, or selective checkpointing (torch.utils.checkpoint with a policy)", \
      "--view overheads: less recomputation") \
    R(PROFILER, hu_gate_profiler, "profiler-artefact", "profiler overhead in the measured steps", HU_EDIT_PROFILER, \
      "record less: with_stack=False, profile_memory=False, fewer steps; compare with the step time without a profiler", \
      "--view overheads: less profiler time")
/* clang-format on */

typedef enum {
#define R(id, gate, key, title, edit, fix, verify) HU_RULE_##id,
    HU_RULES(R)
#undef R
        HU_RULE_COUNT
} hu_rule;

enum { HU_EVIDENCE = 4, HU_EVIDENCE_BYTES = 200, HU_STATEMENT_BYTES = 512, HU_FIX_BYTES = 320 };

/* What a rule finds before it is priced. */
typedef struct {
    hu_rule     rule;
    char        statement[HU_STATEMENT_BYTES];
    char        evidence[HU_EVIDENCE][HU_EVIDENCE_BYTES];
    size_t      n_evidence;
    double      factor;           /* for rules that price themselves: kernels this much faster; else 0 */
    hu_str      glob;             /* of which kernels; borrowed */
    bool        may_gain_nothing; /* the fix needs what the trace does not show to be there */
    bool        is_lone;          /* of one that computes alone (lone_work.h) */
    bool        is_partial;       /* the price leaves out a part of it: of low confidence */
    bool        may_gain_half;    /* the same, but some of it is there */
    bool        is_likely;        /* never of high confidence: seen by its form, or worth what no replay knows */
    bool        is_suspected;     /* the trace shows its effect, not the thing itself */
    bool        comes_back;       /* in several steps alike: which of them were captured is no reason to doubt it */
    const char *fix;              /* instead of the rule's own; NULL: that one */
} hu_hint;

typedef struct {
    const hu_digest *d;
    hu_simulation   *s;
    hu_ns_per_step   step; /* of the window, as measured */
    int64_t          n_steps;
    bool             has_steps; /* false: the window is the capture, which counts as one step */
} hu_scene;

/* Does the scene nominate the rule?  Fills statement and evidence when it does. */
bool hu_rule_gate(hu_rule rule, const hu_scene *scene, hu_hint *out);

const char  *hu_rule_key(hu_rule rule);
const char  *hu_rule_title(hu_rule rule);
const char  *hu_rule_fix(hu_rule rule);
const char  *hu_rule_verify(hu_rule rule);
hu_edit_kind hu_rule_edit(hu_rule rule);

#endif
