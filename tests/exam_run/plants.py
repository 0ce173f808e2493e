# SPDX-License-Identifier: Apache-2.0
"""What is planted: a program, what holds it up, and what an answer must say for a reader to mend that."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Plant:
    """A cause, or a null: something that looks like a cause and costs nothing.

    ids are the rules that would make a reader mend it (of io-stall: if the first of place is there); says is another way to recognise
    them, in title and statement. place are words that the finding needs besides, or a reader does not know where to go. expect is what
    a user would want to read. also are multiples of the true gain that are as right for a sensible reader: half of a hot function, all of
    a thread whose work was divided. share: a finding may tell the share of the run instead of a gain. neighbours: other processes that
    compute meanwhile.
    """

    name: str
    program: str
    ids: tuple[str, ...] = ()
    says: str = ""
    place: tuple[str, ...] = ()
    expect: str = ""
    also: tuple[float, ...] = ()
    share: bool = False
    neighbours: int = 0
    null: bool = False

    def key(self) -> str:
        """The program's short name."""
        return self.program.rsplit(".", 1)[0]


SMALL = ("many-small-calls", "small-calls", "small-writes", "small-reads", "unbuffered-io", "io-stall")
SMALL_SAYS = r"many (small|short|tiny|fast) |unbuffered|without a buffer|byte by byte|bytes? (each|per call|a call|at a time)|calls? of \d+ bytes?"
LOCK = ("lock-contention", "lock-held", "lock-holder", "lock-convoy")
LOCK_SAYS = r"\block(ed|s)?\b.*\b(held|holds?|holder)\b|\bheld\b.*\block"
HOT = ("hot-function", "cpu-hot", "cpu-bound", "hot-code")
HOT_SAYS = r"computes\b.* in \S+|\b(cpu|processor) (time|samples?)\b|samples\b.* in \S+|\bruns .*\bin (the )?function"
THREAD = ("critical-thread", "hot-thread", "single-thread", "serial-thread", "thread-join", "imbalance", "thread-imbalance",
          "unequal-threads", "busy-thread")
THREAD_SAYS = (r"(one|a single|1) (\w+ )?(thread|worker|consumer|producer)\b.*(work|comput|run|busy)|"
               r"waits? for (the )?(one )?thread .*(comput|runs|busy|work)|unequal|uneven|imbalance")
CHILD = ("child-process", "hot-child", "child-work", "child-wait", "waits-for-child", "slow-child")
CHILD_SAYS = r"child(ren)?( process(es)?)?\b.*(comput|runs?|work|takes?|cpu)|waits? for (the )?(child|process)"
MANY_CHILDREN = ("many-processes", "process-starts", "fork-exec", "many-children", "short-processes")
SLEEP = ("sleep", "sleeping", "polling", "sleep-poll")
SLEEP_SAYS = r"\bsleep"

CAUSES = (
    Plant("C: unbuffered small writes", "samples.c", SMALL, SMALL_SAYS, (r"\bwrites?\b|\bwrite_all\b", r"samples\.csv|export_line"),
          "600,000 writes of 15 bytes to samples.csv, from export_line: collect them in a buffer (fwrite, setvbuf)"),
    Plant("C++: reads byte by byte", "words.cpp", SMALL, SMALL_SAYS, (r"\breads?\b", r"corpus\.txt|Text::fill"),
          "reads of 1 byte from corpus.txt in Text::fill: read larger pieces"),
    Plant("Python: file without a buffer", "access_log.py", SMALL, SMALL_SAYS, (r"\bwrites?\b|\bwrite_all\b", r"access\.log|\blog\b"),
          "450,000 writes of 45 bytes to access.log: open it with a buffer"),
    Plant("Rust: writeln! without BufWriter", "dump.rs", SMALL, SMALL_SAYS, (r"\bwrites?\b|\bwrite_all\b", r"table\.csv|dump_row"),
          "small writes to table.csv from dump_row: BufWriter"),
    Plant("Go: file without bufio", "events.go", (*SMALL, "kernel-calls"), SMALL_SAYS, (r"\bwrites?\b|\bwrite_all\b", r"events\.log|writeEvent"),
          "small writes from main.writeEvent, most of it in the kernel: bufio.NewWriter"),
    Plant("Java: FileOutputStream without buffer", "Export.java", SMALL, SMALL_SAYS, (r"\bwrites?\b|writeBytes",
          r"export\.bin|exportByte|FileOutputStream|writeBytes"),
          "writes of 1 byte to export.bin by the thread main: BufferedOutputStream"),
    Plant("C: fsync per record", "journal.c", ("io-stall", "fsync", "sync-writes"), r"fsync", (r"fsync", r"orders\.journal|\bkeep\b"),
          "fsync of orders.journal after each record, 600 times: sync once for a group of records"),
    Plant("Python: SQLite commit per row", "orders.py", ("io-stall", "fsync", "sync-writes"), r"fsync|fdatasync", (r"fsync|fdatasync",
          r"orders\.db"),
          "fsync/fdatasync of orders.db and its journal, once a row: one transaction"),
    Plant("Python: large checkpoint", "train.py", ("io-stall", "fsync", "checkpoint"), r"fsync|writ", (r"fsync|write", r"checkpoint"),
          "write and fsync of checkpoint-N.pt stop the main thread 4 times: save in the background, or less often"),
    Plant("C: lock held over a sleep", "quotes.c", LOCK, LOCK_SAYS, (r"lock", r"refresh_price|sleep|prices_lock|ask_exchange"),
          "the lock is held while its holder sleeps (nanosleep, in refresh_price): wait outside of the lock"),
    Plant("C++: mutex held over a round trip", "fetch.cpp", LOCK, LOCK_SAYS, (r"lock|mutex", r"\bread\b|load|\bask\b|socket"),
          "the mutex is held while its holder waits in read of a socket (Cache::load): ask outside of the lock"),
    Plant("C: short hot lock, 4 threads", "tally.c", (*LOCK, "hot-lock"), LOCK_SAYS + r"|\block", (r"lock", r"count_event|tally"),
          "one lock taken 2.8 million times by 4 threads in count_event: count per thread, add at the end"),
    Plant("Rust: Mutex held over a sleep", "sessions.rs", LOCK, LOCK_SAYS, (r"lock|mutex", r"renew_session|ask_server|sleep"),
          "std::sync::Mutex (a futex) held by a thread that sleeps, in renew_session"),
    Plant("Go: Mutex held over a sleep", "stock.go", LOCK, LOCK_SAYS + r"|goroutine.*wait|\block", (r"lock|mutex", r"refreshStock|Sleep"),
          "sync.Mutex held over time.Sleep in main.refreshStock; or: all threads idle for 70 %, Go's waits are not recorded, use go tool trace"),
    Plant("C: rwlock writer", "config.c", LOCK, LOCK_SAYS + r"|rwlock|write lock", (r"rwlock|write lock|wrlock|rdlock",
          r"reload_routes|reloader|sleep|build_routes"),
          "readers wait in pthread_rwlock_rdlock for the thread reloader, which sleeps under the write lock"),
    Plant("C: spin lock held long", "spin.c", (*LOCK, "spin-lock"), r"spin", (r"spin", r"book_seat|price_seat"),
          "pthread_spin_lock in book_seat spins for half of the CPU time, while its holder computes price_seat", also=(1.0,), share=True),
    Plant("C: producer computes, consumers wait", "frames.c", (*THREAD, *HOT, "slow-producer"), THREAD_SAYS + "|" + HOT_SAYS,
          (r"decoder|decode_frame",),
          "the thread decoder computes all the time (decode_frame) and the threads filter wait for it", also=(0.5, 0.75, 1.3), share=True),
    Plant("Python: pool too small", "pool.py", ("pool-too-small", "small-pool", "too-few-workers", "network-wait"),
          r"pool|few(er)? (threads|workers)|more (threads|workers)",
          (r"fetcher|recv|127\.0\.0\.1|pool", r"thread|worker|pool"),
          "2 threads fetcher wait for the network for 95 % of the run; more at the same time would shorten it"),
    Plant("C++: single consumer", "ingest.cpp", (*THREAD, "single-consumer", "queue-full", *SLEEP), THREAD_SAYS + r"|consumer",
          (r"indexer|store_batch",),
          "main waits for room in the queue; the one thread indexer sleeps 3 ms for each batch in store_batch: more of them", also=(1.4,)),
    Plant("C++: unequal halves", "halves.cpp", THREAD, THREAD_SAYS, (r"reduce_rows|thread \S+",),
          "one of two threads computes 5 times as long in reduce_rows, and main waits for it: divide evenly", also=(2.0,)),
    Plant("C: main joins one hot worker", "render.c", (*THREAD, *HOT), THREAD_SAYS + "|" + HOT_SAYS, (r"renderer|render_rows",),
          "main waits in pthread_join for renderer, which computes in render_rows while the other CPU is idle", also=(2.0,), share=True),
    Plant("C: threads meet at a barrier", "barrier.c", (*THREAD, "barrier"), THREAD_SAYS + r"|barrier", (r"ocean|advance",),
          "air waits at pthread_barrier_wait for ocean, which computes 3 times as long in advance: balance them", also=(2.0,)),
    Plant("C: OpenMP, unequal rows", "triangle.c", (*THREAD, "openmp-imbalance", "barrier"), THREAD_SAYS + r"|openmp",
          (r"pair_distances|omp|openmp",),
          "of 2 OpenMP threads one computes 3 times as long in pair_distances: schedule(dynamic)", also=(2.0,)),
    Plant("C: retry sleeps, helper on an eventfd", "retry.c", SLEEP, SLEEP_SAYS, (r"sleep", r"try_again|main"),
          "main sleeps 16 x 25 ms (usleep, in try_again); the thread event-loop only waits"),
    Plant("C++: sleeps, helper on a condition", "reload.cpp", SLEEP, SLEEP_SAYS, (r"sleep", r"load_part|main"),
          "main sleeps 14 x 30 ms (load_part); the helper only waits"),
    Plant("Rust: sleeps, helper parked", "mirror.rs", SLEEP, SLEEP_SAYS, (r"sleep", r"mirror_page|main"),
          "main sleeps 16 x 25 ms (mirror_page); the helper is parked"),
    Plant("Python: polls a child with sleep", "poll_child.py", SLEEP, SLEEP_SAYS, (r"sleep",),
          "sleeps 100 ms between two looks at a child that takes 25 ms: wait for it"),
    Plant("Java: main thread sleeps", "Rates.java", SLEEP, SLEEP_SAYS, (r"sleep|timedwait", r"thread main\b|Rates|\bjava\b"),
          "the thread main of the JVM sleeps 18 x 25 ms; the process's first thread only joins it"),
    Plant("C static: sleeps", "backoff.c", (*SLEEP, "off-cpu", "blocked", "not-recorded"),
          SLEEP_SAYS + r"|blocked|off.?CPU|not on (a|the) (CPU|processor)", (r"static|sleep|backoff|blocked|off.?CPU",),
          "the program is not on a CPU for 60 % of the run; it is static, so what it waits for is not recorded (how to record it)"),
    Plant("shell: a process for each item", "rename.sh", (*MANY_CHILDREN, *CHILD),
          r"(start|fork|process|child).*\bsed\b|\bsed\b.*(process|child|times|start)", (r"\bsed\b",),
          "150 times sed (and a subshell): 2-3 ms each to start; do it in the shell or with one sed"),
    Plant("C: system() does the work", "squeeze.c", (*CHILD, *HOT), CHILD_SAYS + r"|system\b", (r"gzip",),
          "system(gzip -9): the child gzip computes for 60 % of the run while main waits"),
    Plant("Python: subprocess does the work", "sort_log.py", (*CHILD, *HOT), CHILD_SAYS, (r"\bsort\b",),
          "the child sort computes while main waits"),
    Plant("make -j2: one slow compile", "build.sh", (*CHILD, *HOT, "imbalance", "critical-process"), CHILD_SAYS + r"|compil",
          (r"cc1|gcc|\bcc\b|big\.c",),
          "cc1 of big.c computes alone at the end: split it, or start it first", also=(0.5,), share=True),
    Plant("C: fork children, unequal", "forks.c", (*CHILD, *THREAD, *HOT, "process-imbalance"), CHILD_SAYS + "|" + THREAD_SAYS,
          (r"convert|pid \d|uneven|unequal|imbalance|times as long",),
          "of 2 children one computes 4 times as long (convert): divide evenly", also=(1.5, 2.0)),
    Plant("C: fresh memory each time", "tiles.c", ("page-faults", "mmap-churn", "memory-churn"), r"page faults?|fresh memory|munmap",
          (r"fault|mmap", r"filter_tile|munmap|mmap"),
          "246,000 page faults in filter_tile: mmap and munmap of 16 MB for each tile; keep the memory"),
    Plant("C++: fresh vector each pass", "vectors.cpp", ("page-faults", "mmap-churn", "memory-churn", "allocation"),
          r"page faults?|fresh memory", (r"fault|mmap|vector|alloc",),
          "page faults of fresh 40 MB blocks (std::vector in main): allocate once; or M_MMAP_THRESHOLD"),
    Plant("Python: GIL", "primes.py", ("gil", "python-gil", "interpreter-lock"), r"\bGIL\b|interpreter lock", (r"GIL|interpreter",),
          "two Python threads compute in turns (the GIL): processes instead of threads", also=(0.9,)),
    Plant("C: one hot function", "checksum.c", HOT, HOT_SAYS, (r"seal_block",),
          "computes all the time: 69 % of the CPU samples are in seal_block", also=(0.5,), share=True),
    Plant("C++: strlen in the loop", "upper.cpp", HOT, HOT_SAYS, (r"strlen",),
          "strlen, called by capitals, has 60 % of the CPU samples", also=(0.5,), share=True),
    Plant("C static: one hot function", "blend.c", HOT, HOT_SAYS, (r"blend_layers",),
          "blend_layers has 67 % of the CPU samples", also=(0.5,), share=True),
    Plant("Go: string += in a loop", "report.go", HOT, HOT_SAYS, (r"joinLines|concatstring|memmove|gcBgMark",),
          "main.joinLines (runtime.concatstrings, memmove, GC) has 60 % of the CPU samples", also=(0.5,), share=True),
    Plant("Java: hot method in the thread main", "Orbit.java", (*HOT, *THREAD), HOT_SAYS + "|" + THREAD_SAYS,
          (r"energy|Orbit|\bJIT\b|compiled|thread main\b",),
          "the JVM's thread main computes all the time, in compiled code (perf map for names): energy", also=(0.5, 1.5), share=True),
    Plant("MPI: late sender", "late.c", ("straggler", "late-sender", "mpi-late-sender", "imbalance"),
          r"late|rank 1\b.*(comput|slow|longer)", (r"rank 1\b|from 1\b",),
          "rank 0 waits in MPI_Recv for rank 1, which computes twice as long (compute_cells)"),
    Plant("C: log to a slow pipe", "ship.c", ("io-stall", "pipe", "slow-pipe", "slow-reader"), r"pipe", (r"pipe",
          r"ship|popen|log_line|fprintf|fwrite|reader"),
          "fprintf waits for the pipe's reader (ship slow), which sleeps: a larger buffer does not help; a quicker reader, or fewer lines"),
    Plant("C: a connection per name", "client.c", ("network-wait", "round-trips", "io-stall", "network", "connection-churn"),
          r"network|round trip|connection", (r"recv|connect", r"look_up|127\.0\.0\.1"),
          "160 round trips of 3 ms to 127.0.0.1:PORT (recv, in look_up), each on its own connection: ask for all at once"),
    Plant("C: false sharing", "counters.c", (*HOT, "false-sharing"), HOT_SAYS + r"|false sharing|cache line", (r"count_packets",),
          "two threads compute in count_packets only; that a cache line is shared needs perf c2c, say so", share=True, also=(1.2, 1.5)),
    Plant("C: neighbours take the CPU", "crunch.c", ("cpu-starved",), r"runnable|wait(s|ing)? for a CPU|no CPU", (r"CPU|processor",),
          "runnable for 60 % of the run: other processes take the CPUs", neighbours=4),
)

NULLS = (
    Plant("C: two equal threads", "null_twins.c", null=True),
    Plant("C++: an idle pool", "null_idle_pool.cpp", null=True),
    Plant("C: saves in the background", "null_background.c", null=True),
    Plant("C: a lock that nobody else takes", "null_free_lock.c", null=True),
    Plant("C: a child beside", "null_hidden_child.c", null=True),
    Plant("Python: heartbeat", "null_heartbeat.py", null=True),
    Plant("Go: two equal goroutines", "null_workers.go", null=True),
    Plant("Java: an idle timer", "NullTimer.java", null=True),
    Plant("MPI: two equal ranks", "null_ranks.c", null=True),
)

# what may be said of a program that only computes: it is true, and accuses nothing
HARMLESS = frozenset({*HOT, "compute-bound"})
