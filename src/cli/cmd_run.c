/* SPDX-License-Identifier: Apache-2.0
 * cmd_run.c - `holdup run`: starts a command with the recorder in it, writes what it did, and says what held it up. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/arm.h"
#include "cli/command.h"
#include "cli/gpu_door.h"
#include "cli/library.h"
#include "cli/opencl_door.h"
#include "cli/outputs.h"
#include "cli/outside.h"
#include "cli/paste.h"
#include "cli/report.h"
#include "cli/torch_door.h"
#include "record/broker.h"
#include "record/cost.h"
#include "record/energy_sampler.h"
#include "record/gpu_read.h"
#include "record/gpu_sampler.h"
#include "record/naming.h"
#include "record/registry.h"
#include "record/tally.h"
#include "record/torch_hook.h"
#include "base/units.h"
#include "record/static_program.h"

enum { PATH_BYTES = 4096, NOTES_BYTES = 16384, NOTES_SHOWN = 12 };
enum { LEAST_JOB_NS = 100000000 }; /* a share of less CPU time says nothing */

extern char **environ;

typedef struct {
    const hu_run_options *o;
    char                **argv; /* the command */
    hu_arena             *arena;
    hu_session            session;
    hu_facts              facts;
    hu_collector         *collector;
    hu_perf              *perf;
    hu_wait_samples      *waits;
    hu_wait_totals        looks; /* at what threads wait for */
    hu_gpu_sampler        gpus;
    hu_gpus_seen          gpus_seen;
    hu_energy_sampler    *energy;
    hu_rapl_state         rapl;
    hu_broker            *broker;    /* for processes that cannot open the session; NULL: none */
    hu_live              *live;      /* monitors that are told; NULL: none */
    hu_outsiders         *outsiders; /* the search for them; NULL: none */
    hu_supervision        result;
    hu_tally              tally;
    hu_cost               cost;
    hu_cpu_quota          quota;   /* before the command was started, then during it */
    hu_perf_totals        samples; /* what perf_event_open gave */
    hu_outsider          *outside; /* processes that the recorder was not in */
    size_t                n_outside;
    hu_naming             naming;
    hu_pftrace_result     files;
    double                ns_per_record;
    char                  library[PATH_BYTES], python[PATH_BYTES];
    bool                  gpus_hang;  /* their driver did not answer when all was over */
    bool                  has_failed; /* not all that was recorded could be kept */
} run_state;

/* printing the command */

static bool is_new(const char *pair)
{
    for (char **at = environ; *at; at++)
        if (strcmp(*at, pair) == 0)
            return false;
    return true;
}

static int print_word(hu_out *out, const char *word, hu_arena *arena, hu_error *err)
{
    const char *text = hu_paste_word(word, arena);

    if (!text)
        return hu_fail_memory(err);
    hu_out_text(out, " ");
    hu_out_text(out, text);
    return 0;
}

static int print_command(char *const *argv, char *const *environment, hu_arena *arena)
{
    hu_error err = {0};
    hu_out  *out = hu_output_open(NULL, &err);

    if (!out)
        return hu_command_fail(&err);
    hu_out_text(out, "env");
    for (; !err.code && *environment; environment++)
        if (is_new(*environment))
            print_word(out, *environment, arena, &err);
    for (; !err.code && *argv; argv++)
        print_word(out, *argv, arena, &err);
    hu_out_text(out, "\n");
    if (err.code) {
        hu_out_abandon(out);
        return hu_command_fail(&err);
    }
    return hu_out_close(out, &err) < 0 ? hu_command_fail(&err) : 0;
}

/* starting */

/* The file that exec takes, of PATH. */
static bool find_program(const char *name, char *out, size_t room)
{
    const char *path = getenv("PATH");

    if (strchr(name, '/')) {
        snprintf(out, room, "%s", name);
        return true;
    }
    for (; path && *path; path += strcspn(path, ":"), path += *path == ':') {
        snprintf(out, room, "%.*s/%s", (int)strcspn(path, ":"), path, name);
        if (access(out, X_OK) == 0)
            return true;
    }
    return false;
}

static char **make_environment(run_state *r, const char *session, hu_launch_notes *notes)
{
    char                 path[PATH_BYTES];
    const hu_launch_plan plan = {.session = session,
                                 .library = r->library[0] ? r->library : NULL,
                                 .python = r->python[0] ? r->python : NULL,
                                 .has_hook = r->o->doors & HU_DOOR_PYTORCH && r->library[0],
                                 .assignments = r->o->assignments,
                                 .n_assignments = r->o->n_assignments,
                                 .program = find_program(r->argv[0], path, sizeof path) ? path : NULL,
                                 .wants_nvtx = r->o->doors & HU_DOOR_NVTX,
                                 .wants_cuda = r->o->doors & HU_DOOR_CUDA,
                                 .wants_nccl = r->o->doors & HU_DOOR_NCCL,
                                 .wants_opencl = r->o->doors & HU_DOOR_OPENCL,
                                 .wants_openmp = r->o->doors & HU_DOOR_OPENMP};

    return hu_launch_environment(environ, &plan, r->arena, notes);
}

/* Does anything of it have to be recorded from inside?  Where nothing has, nothing is preloaded. */
static bool is_inside(const run_state *r)
{
    return (r->o->doors & ~(uint32_t)HU_DOOR_CPU) != 0;
}

static void find_files(run_state *r)
{
    if (!is_inside(r))
        return;
    if (!hu_library_find(r->library, sizeof r->library))
        r->library[0] = '\0';
    if (!(r->o->doors & HU_DOOR_USER) || !hu_library_python(r->python, sizeof r->python))
        r->python[0] = '\0';
}

/* Inside of another `holdup run`, that one records. */
static bool is_recorded_already(void)
{
    const char *outer = getenv("HOLDUP_SESSION");
    hu_session  session;
    bool        is_alive;

    if (!outer || !outer[0] || hu_session_open(outer, &session, NULL) < 0)
        return false;
    is_alive = session.control->state < HU_SESSION_WRITING &&
               (kill((pid_t)session.control->supervisor, 0) == 0 || errno == EPERM);
    hu_session_close(&session);
    return is_alive;
}

static int say_no_start(const char *program, int why)
{
    hu_command_say("%s cannot be started: %s%s", program, strerror(why),
                   why == ENOENT   ? "; check its spelling, its folder and PATH"
                   : why == EACCES ? "; pass a program, or a script that is executable (chmod +x)"
                                   : "");
    return why == ENOENT ? HU_EXIT_NOT_FOUND : HU_EXIT_CANNOT_EXEC;
}

static int become_command(run_state *r)
{
    if (!r->o->shared.quiet)
        hu_command_say("another holdup run already records this job; starting %s without a second recorder", r->argv[0]);
    for (size_t i = 0; i < r->o->n_assignments; i++)
        putenv(r->o->assignments[i]);
    sigaction(SIGPIPE, &hu_command_sigpipe, NULL);
    execvp(r->argv[0], r->argv);
    return say_no_start(r->argv[0], errno);
}

/* The value that the command gets: an assignment in front of it counts more than our own environment. */
static const char *variable_of_command(const run_state *r, const char *name)
{
    const size_t n = strlen(name);
    const char  *value = getenv(name);

    for (size_t i = 0; i < r->o->n_assignments; i++)
        if (strncmp(r->o->assignments[i], name, n) == 0 && r->o->assignments[i][n] == '=')
            value = r->o->assignments[i] + n + 1;
    return value;
}

/* Counters of the GPUs, where there is a driver.  HOLDUP_NVML names another library: for tests. */
static void start_gpus(run_state *r)
{
    const char                  *library = secure_getenv("HOLDUP_NVML");
    const hu_gpu_sampler_options how = {.library = library && library[0] ? library : NULL,
                                        .visible = variable_of_command(r, "CUDA_VISIBLE_DEVICES"),
                                        .order = variable_of_command(r, "CUDA_DEVICE_ORDER"),
                                        .hz = r->o->gpu_hz,
                                        .max_bytes = r->o->max_size};

    hu_gpu_sampler_start(&how, r->session.path, &r->gpus);
}

/* Of processors and memory, where they may be read.  HOLDUP_RAPL names another folder of zones: for tests. */
static void start_energy(run_state *r)
{
    const char             *folder = secure_getenv("HOLDUP_RAPL");
    const hu_energy_options how = {
        .folder = folder && folder[0] ? folder : NULL, .hz = r->o->energy_hz, .max_bytes = r->o->max_size};

    r->energy = hu_energy_start(&how, r->session.path);
}

static void stop_energy(run_state *r)
{
    r->rapl = r->energy ? hu_energy_stop(r->energy) : HU_RAPL_READ; /* nobody looked: it is not the machine's fault */
    r->energy = NULL;
}

/* Monitors of this node are told how the job does. */
static void start_live(run_state *r)
{
    hu_error err = {0};

    if (!is_inside(r))
        return;
    r->live = hu_live_start(&r->session, &r->facts, variable_of_command(r, HU_LIVE_VARIABLE), getenv("XDG_RUNTIME_DIR"),
                            &err);
    if (err.code)
        hu_command_say(HU_LIVE_VARIABLE ": %s; no monitor is told about this job", err.text);
}

static void stop_gpus(run_state *r)
{
    r->gpus_hang = r->gpus.pid > 0 && !hu_gpu_sampler_stop(&r->gpus);
}

/* Removes what was made for a command that never ran. */
static int give_up(run_state *r, int status)
{
    stop_gpus(r);
    stop_energy(r);
    if (r->perf)
        hu_perf_stop(r->perf);
    hu_wait_samples_stop(r->waits);
    hu_broker_stop(r->broker);
    hu_outsiders_stop(r->outsiders);
    if (r->collector)
        hu_collect_close(r->collector, NULL);
    hu_live_stop(r->live);
    r->session.control->state = HU_SESSION_FAILED;
    snprintf(r->session.control->failure, sizeof r->session.control->failure, "the command was not started");
    hu_registry_end(r->session.control->name, r->session.path, r->session.control);
    hu_session_close(&r->session);
    hu_session_remove(r->session.path, NULL);
    return status;
}

static void start_perf(run_state *r, pid_t child)
{
    const hu_perf_options how = {.hz = r->o->sample_hz, .memory = r->o->max_memory, .max_bytes = r->o->max_size};
    hu_error              why = {0};

    if (!(r->o->doors & HU_DOOR_CPU) || (r->o->no_switches && !r->o->sample_hz))
        return;
    r->perf = hu_perf_start(&how, child, r->session.path, &why);
    if (why.code == 0)
        return;
    r->session.control->sample_hz = r->o->sample_hz; /* timers inside of the programs, instead */
    if (!r->o->shared.quiet)
        hu_command_say("%s", why.text);
    if (!r->o->shared.quiet && !is_inside(r) && r->o->sample_hz)
        hu_command_say("timers inside the programs can sample instead: pass --trace cpu,user");
}

/* What threads wait for where no recorder inside says so. */
static void start_waits(run_state *r, pid_t child)
{
    hu_error why = {0};

    if (!(r->o->doors & HU_DOOR_OSRT) || r->o->wants_steps || r->o->wants_range ||
        r->o->cuda & HU_CUDA_ONLY_RANGE) /* steps are known inside alone */
        return;
    r->waits = hu_wait_samples_start(child, r->session.path, r->session.control->wants_paths, r->o->max_size, &why);
    if (!r->waits && !r->o->shared.quiet)
        hu_command_say("%s", why.text);
}

/* Only where it matters: somewhere, no recorder inside tells the calls. */
static void say_waits_denied(const run_state *r)
{
    static const char lead[] = "what threads wait for outside of recorded calls is not known";

    if (r->looks.problem == ENOENT && r->tally.processes == 0)
        hu_command_say("%s: this kernel has no /proc/PID/syscall", lead);
    else if (r->looks.denied > r->tally.processes)
        hu_command_say("%s: /proc/PID/syscall cannot be read (%s); that needs the rights of a debugger: "
                       "kernel.yama.ptrace_scope 0 or 1, and a program of the same user",
                       lead, r->looks.problem == EPERM ? "EPERM" : "EACCES");
}

/* the end */

/* The arguments as one line, without secrets. */
static const char *command_line(const run_state *r)
{
    char *text = hu_arena_calloc(r->arena, 1, sizeof r->facts.command + 1);

    if (!text)
        return NULL;
    memcpy(text, r->facts.command, r->facts.command_bytes);
    for (uint32_t i = 0; i + 1 < r->facts.command_bytes; i++)
        text[i] = text[i] ? text[i] : ' ';
    return text;
}

static int write_traces(run_state *r, bool is_partial, hu_error *err)
{
    const hu_pftrace_options how = {.session = r->session.path,
                                    .host = r->facts.host,
                                    .command = command_line(r),
                                    .status = is_partial || !r->result.has_ended ? -1 : r->result.status,
                                    .cost = is_partial ? NULL : &r->cost,
                                    .quota = is_partial ? NULL : &r->quota,
                                    .name = hu_naming_file,
                                    .context = &r->naming};

    r->naming = (hu_naming){
        .facts = &r->facts, .environment = environ, .forces = r->o->force, .is_partial = is_partial, .arena = r->arena};
    return hu_pftrace_write(&how, r->arena, &r->files, err);
}

/* In another process, while this one goes on recording: on SIGUSR1, and when the end may come before the command's. */
static void save_now(void *context)
{
    run_state *r = context;
    hu_error   err = {0};

    if (write_traces(r, true, &err) < 0)
        hu_command_say("cannot save the recording so far: %s%s%s", err.file, err.file[0] ? ": " : "", err.text);
    else if (!r->o->shared.quiet)
        hu_command_say("saved the recording so far: %s", r->files.files.at[0].path.p);
}

/* Lines that recorders inside of programs left for the user. */
static void say_notes(const run_state *r)
{
    char    path[HU_SESSION_PATH_MAX + 64], *text = hu_arena_alloc(r->arena, NOTES_BYTES), *line, *end;
    ssize_t n;
    int     fd, shown = 0;

    hu_session_file(&r->session, "notes", path, sizeof path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || !text)
        return;
    n = read(fd, text, NOTES_BYTES - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    for (line = text; (end = strchr(line, '\n')); line = end + 1) {
        bool is_said = false;

        *end = '\0';
        for (const char *before = text; before < line && !is_said; before += strlen(before) + 1)
            is_said = strcmp(before, line) == 0;
        if (!is_said && line[0] && shown++ < NOTES_SHOWN)
            hu_command_say("%s", line);
    }
}

static void say_nothing_seen(const run_state *r)
{
    char path[PATH_BYTES];

    if (!r->library[0])
        return;
    if (find_program(r->argv[0], path, sizeof path) && hu_is_static_program(path) && !r->perf)
        hu_command_say(
            "%s is statically linked: the recorder cannot be loaded into it; with `cpu` in --trace its scheduling "
            "and what it waits for are recorded",
            r->argv[0]);
    else if (find_program(r->argv[0], path, sizeof path) && hu_is_static_program(path))
        hu_command_say("%s is statically linked: the recorder cannot be loaded into it; only %s recorded", r->argv[0],
                       r->looks.looks ? "the kernel's scheduling data and what it was seen to wait for were"
                                      : "the kernel's scheduling data was");
    else
        hu_command_say("nothing was recorded inside %s: it exited at once, is privileged (setuid), or does not use this "
                       "machine's C library",
                       r->argv[0]);
}

/* Without a step or range that opens the gate, programs record nothing. */
static void say_gate_closed(const run_state *r)
{
    const hu_run_options *o = r->o;

    if (o->wants_steps)
        hu_command_say("no step of --steps %" PRId64 "..%" PRId64 " was marked: nothing was recorded inside %s",
                       o->first_step, o->last_step, r->argv[0]);
    else if (o->cuda & HU_CUDA_ONLY_RANGE)
        hu_command_say("cudaProfilerStart was never called, or GPU work cannot be recorded: nothing was recorded inside %s",
                       r->argv[0]);
    else if (o->wants_range)
        hu_command_say("the range of --capture-range was never entered: nothing was recorded inside %s", r->argv[0]);
}

static void say_recorded(const run_state *r)
{
    char         time[HU_UNIT_BYTES], records[HU_UNIT_BYTES];
    char         more[160] = "";
    const size_t processes = r->tally.processes + r->n_outside;

    hu_units_time(time, (double)r->result.wall_ns);
    hu_units_count(records, (int64_t)r->tally.records);
    if (r->tally.lost_in_all)
        snprintf(more, sizeof more, "; %" PRIu64 " MORE WERE LOST (the report shows when and why)", r->tally.lost_in_all);
    if (r->tally.lost[HU_LOSS_OVERWRITTEN])
        snprintf(more + strlen(more), sizeof more - strlen(more), "; %" PRIu64 " older ones were overwritten",
                 r->tally.lost[HU_LOSS_OVERWRITTEN]);
    hu_command_say("%s of %s: %s records of %zu process%s%s", time, r->facts.name, records, processes,
                   processes == 1 ? "" : "es", more);
    if (r->samples.lost)
        hu_command_say("%" PRIu64
                       " CPU records were lost: the kernel's buffers were full (%u pages for each CPU; --max-memory, "
                       "kernel.perf_event_mlock_kb); what threads did then is not known",
                       r->samples.lost, r->samples.pages);
    if (r->tally.running)
        hu_command_say("%u process%s still running, no longer recorded; pass --wait all to wait for them", r->tally.running,
                       r->tally.running == 1 ? "" : "es");
}

/* The cost of each record was measured when the run began, by hu_cost_of_record. */
static void say_cost(const run_state *r)
{
    const hu_cost c = r->cost;
    char          decoding[HU_UNIT_BYTES], of_it[HU_UNIT_BYTES + 40] = "";
    char share[HU_NUMBER_BYTES], each[HU_NUMBER_BYTES], records[HU_UNIT_BYTES], own[HU_UNIT_BYTES], job[HU_UNIT_BYTES];

    hu_format_fixed(share, 100 * c.share, 2);
    hu_format_fixed(each, r->ns_per_record, 1);
    hu_units_time(records, (double)c.records_ns);
    hu_units_time(own, (double)c.supervisor_ns);
    hu_units_time(job, (double)r->result.job_cpu_ns);
    if (r->tally.decoding_ns) {
        hu_units_time(decoding, (double)r->tally.decoding_ns);
        snprintf(of_it, sizeof of_it, "; %s of it for GPU records", decoding);
    }
    if (r->result.job_cpu_ns < LEAST_JOB_NS || isnan(c.share))
        hu_command_say("recording overhead: %s in the command (%s ns per record, measured here%s) and %s in the recorder",
                       records, each, of_it, own);
    else
        hu_command_say("recording overhead: %s %% of the command's %s of CPU time: %s in the command (%s ns per record, "
                       "measured here%s), %s in the recorder",
                       share, job, records, each, of_it, own);
}

/* What was recorded, into files.  Nothing to write is no failure: the command runs as it would without us. */
static void write_files(run_state *r)
{
    hu_error err = {0};

    if (write_traces(r, false, &err) == 0) {
        hu_naming_remove_partials(&r->naming);
        return;
    }
    if (err.code == HU_EEMPTY && r->tally.processes == 0)
        return;
    r->has_failed = true;
    r->session.control->state = HU_SESSION_FAILED;
    snprintf(r->session.control->failure, sizeof r->session.control->failure, "%.190s", err.text);
    hu_command_say("%s%s%s", err.file, err.file[0] ? ": " : "", err.text);
    hu_command_say("the recording is kept; `holdup finish %s -o NAME` writes it elsewhere", r->session.path);
}

/* A Ctrl-C while files are written: the recording is complete, and stays. */
static char interrupted_text[HU_SESSION_PATH_MAX + 128];

static void interrupted(int signal)
{
    if (write(STDERR_FILENO, interrupted_text, strlen(interrupted_text)) < 0)
        _exit(HU_EXIT_RUN_LOST);
    _exit(128 + signal);
}

static void listen_to_interrupts(const run_state *r)
{
    const struct sigaction act = {.sa_handler = interrupted};
    sigset_t               set;

    snprintf(interrupted_text, sizeof interrupted_text, "\nholdup: the recording is kept; `holdup finish %s` writes it\n",
             r->session.path);
    sigaction(SIGINT, &act, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void say_files(const run_state *r)
{
    const size_t n = r->files.files.n;
    char         size[HU_UNIT_BYTES];
    uint64_t     bytes = 0;

    for (size_t i = 0; i < n; i++)
        bytes += r->files.files.at[i].bytes;
    hu_units_bytes(size, (double)bytes);
    if (n == 1)
        hu_command_say("wrote %s (%s)", r->files.files.at[0].path.p, size);
    else if (n > 1)
        hu_command_say("wrote %zu files (%s): %s … %s", n, size, r->files.files.at[0].path.p,
                       r->files.files.at[n - 1].path.p);
}

/* What of --require was not there: a door is open when somebody went through it. */
static bool lacks_required(const run_state *r)
{
    const uint32_t open = r->tally.doors | (r->perf ? (uint32_t)HU_DOOR_CPU : 0);
    bool           lacks = false;

    for (uint32_t door = 1; door && door <= HU_DOOR_OPENMP; door <<= 1) {
        if (!(r->o->required & door & ~open))
            continue;
        hu_command_say("--require %s: nothing of this kind was recorded", hu_run_door_name(door));
        lacks = true;
    }
    return lacks;
}

static int exit_status(const run_state *r)
{
    const int  status = hu_supervise_exit_status(&r->result);
    const bool has_lost = r->tally.lost_in_all || r->files.torn || r->samples.lost || r->samples.cut || r->n_outside > 0;

    if (status == 0 && lacks_required(r))
        return HU_EXIT_RUN_MISSING;
    if (status == 0 && r->o->shared.strict && (r->has_failed || has_lost))
        return HU_EXIT_RUN_LOST;
    return status;
}

/* The directory goes when its files are safe and nobody uses it any more. */
static void leave_session(run_state *r)
{
    const bool stays = r->o->keeps_rings || r->has_failed;

    if (!r->has_failed)
        r->session.control->state = HU_SESSION_WRITTEN;
    if (r->files.files.n)
        snprintf(r->session.control->output, sizeof r->session.control->output, "%s", r->files.files.at[0].path.p);
    hu_registry_end(r->session.control->name, r->session.path, r->session.control);
    if (stays && !r->has_failed && !r->o->shared.quiet)
        hu_command_say("kept the rings in %s", r->session.path);
    hu_session_close(&r->session);
    if (!stays)
        hu_session_remove(r->session.path, NULL);
}

static void say_report(const run_state *r)
{
    const size_t n = r->files.files.n;
    char       **paths = hu_arena_calloc(r->arena, n + 1, sizeof *paths);

    for (size_t i = 0; paths && i < n; i++)
        paths[i] = (char *)(uintptr_t)r->files.files.at[i].path.p;
    if (n && paths)
        hu_report_paths(paths, n, r->o->stats);
}

/* One of several ranks, each with a `holdup run` of its own: the first of them speaks for all. */
static bool is_of_several(const run_state *r)
{
    return r->facts.rank.rank >= 0 && r->facts.rank.world_size > 1;
}

/* Rank 0 knows of the others what their files are called. */
static void say_all_ranks(const run_state *r)
{
    char all[PATH_BYTES];

    if (r->files.files.n == 1 && hu_naming_of_all(&r->naming, all, sizeof all))
        hu_command_say("for a report over all %d ranks, once they have ended: holdup report %s", r->facts.rank.world_size,
                       all);
}

/* What no exit status tells a reader at once. */
static void say_death(const run_state *r)
{
    if (r->result.has_ended && WIFSIGNALED(r->result.status))
        hu_command_say("the command died of signal %d (%s)", WTERMSIG(r->result.status),
                       strsignal(WTERMSIG(r->result.status)));
}

/* What there is no counter for, and why. */
static void say_gpus(const run_state *r)
{
    const hu_gpus_seen *g = &r->gpus_seen;

    if (r->gpus_hang)
        hu_command_say("the GPU driver did not answer within %d ms at the end of the run: counters of the GPUs end early "
                       "or are missing",
                       HU_GPU_PATIENCE_MS);
    if (g->problem[0])
        hu_command_say("counters of the GPUs are not known: %s", g->problem);
    for (size_t i = 0; i < g->n; i++)
        if (g->at[i].problem[0])
            hu_command_say("GPU %u stopped giving counters: %s", g->at[i].about.row.device, g->at[i].problem);
}

/* A run that waited to be told to record, and never was. */
static bool has_begun(const run_state *r)
{
    return r->session.control->began_ns != 0;
}

static void say_never_began(const run_state *r)
{
    if (r->o->delay_ns)
        hu_command_say("the command ended before --delay was over: nothing was recorded, and no file was written");
    else
        hu_command_say("recording was not started (`holdup start %s`): nothing was recorded, and no file was written",
                       r->session.control->name);
}

/* Only who asked for it wants to know why there is none. */
static void say_energy(const run_state *r)
{
    static const char *const why[] = {
        [HU_RAPL_NONE] = "this machine has no such counters (/sys/class/powercap)",
        [HU_RAPL_HIDDEN] = "this container hides the counters (/sys/devices/virtual/powercap); run outside, or unmask it",
        [HU_RAPL_DENIED] = "only root may read the counters (/sys/class/powercap/intel-rapl:0/energy_uj)",
        [HU_RAPL_FAILED] = "the counters give no number (/sys/class/powercap/intel-rapl:0/energy_uj)",
    };

    if (r->o->wants_energy && r->o->energy_hz && r->rapl != HU_RAPL_READ)
        hu_command_say("energy of processors and memory (RAPL) was not sampled: %s", why[r->rapl]);
}

static void say_end(run_state *r)
{
    const bool is_other = is_of_several(r) && r->facts.rank.rank > 0;

    say_death(r);
    if (!has_begun(r)) {
        if (!is_other)
            say_never_began(r);
        return;
    }
    if (!is_other)
        say_notes(r);
    if (!is_other || r->tally.lost_in_all || r->samples.lost || r->tally.running)
        say_recorded(r);
    if (r->files.tools.n)
        hu_command_say("%s ran %s: the trace and the report are about %s alone", r->files.tools.p, r->files.program.p,
                       r->files.program.p);
    if (r->n_outside && (!is_other || !r->tally.processes))
        hu_outside_say(r->outside, r->n_outside);
    if (r->tally.processes == 0)
        say_nothing_seen(r);
    if (r->tally.processes && r->tally.records == 0)
        say_gate_closed(r);
    say_waits_denied(r);
    if (r->o->doors & HU_DOOR_PYTORCH && !is_other)
        hu_torch_door_say(&r->tally);
    if (!is_other || !r->tally.cuda_processes[HU_CUDA_RECORDED])
        hu_gpu_door_say(&r->tally, r->session.control->ticks_per_second);
    hu_opencl_door_say(&r->tally);
    if (!is_other)
        say_gpus(r);
    if (!is_other)
        say_energy(r);
    if (!is_other)
        say_cost(r);
    say_files(r);
    if (is_of_several(r) && !is_other)
        say_all_ranks(r);
}

/* A shell leaves its loop only when what it waited for died of the Ctrl-C, too. */
static void die_as_command(const run_state *r)
{
    if (!r->result.has_ended || !WIFSIGNALED(r->result.status) || WTERMSIG(r->result.status) != SIGINT || fflush(NULL) != 0)
        return;
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);
}

static void close_quota(run_state *r)
{
    const hu_cpu_quota now = hu_cgroup_read("");

    r->quota = hu_cgroup_between(&r->quota, &now);
}

static int finish(run_state *r)
{
    hu_error err = {0};
    /* whoever asked to end has no time, but for a Ctrl-C: that is how a program without an end is ended */
    const bool is_asked = r->result.signal != 0 && (r->result.signal != SIGINT || !r->result.has_ended);
    const bool was_recording = r->session.control->state == HU_SESSION_RECORDING;
    const bool is_terse = is_asked || r->o->no_report || !has_begun(r);
    int        status;

    r->session.control->state = HU_SESSION_WRITING;
    listen_to_interrupts(r);
    stop_gpus(r);
    stop_energy(r);
    r->facts.status = r->result.status;
    hu_facts_write(&r->session, &r->facts, NULL);
    if (r->perf) {
        hu_perf_round(r->perf, was_recording);
        r->samples = hu_perf_so_far(r->perf);
        if (hu_perf_stop(r->perf) < 0)
            hu_command_say("%" PRIu64 " CPU records could not be written: the disk is full, or --max-size is reached",
                           r->samples.cut);
    }
    if (r->waits) {
        r->looks = hu_wait_samples_so_far(r->waits);
        if (hu_wait_samples_stop(r->waits) < 0)
            hu_command_say("what threads wait for could not all be written: the disk is full, or --max-size is reached");
    }
    if (r->collector && hu_collect_close(r->collector, &err) < 0) {
        r->has_failed = true;
        hu_command_say("%s: %s", err.file, err.text);
    }
    hu_live_stop(r->live); /* who has ended said so while the rings were closed */
    hu_broker_stop(r->broker);
    hu_outsiders_stop(r->outsiders);
    r->n_outside = hu_outsiders_read(r->session.path, r->arena, &r->outside);
    hu_tally_session(r->session.path, &r->tally);
    hu_gpus_read(r->session.path, r->arena, &r->gpus_seen);
    r->cost = hu_cost_measure(r->tally.records, r->ns_per_record, (int64_t)r->tally.decoding_ns,
                              r->result.own_cpu_ns + r->gpus_seen.cpu_ns, r->result.job_cpu_ns);
    close_quota(r);
    r->cost.pid = r->facts.pid;
    r->cost.main_run_ns = r->result.main_run_ns;
    r->cost.main_delay_ns = r->result.main_delay_ns;
    if (!r->result.was_cancelled && has_begun(r))
        write_files(r);
    if (!r->o->shared.quiet)
        say_end(r);
    status = exit_status(r);
    leave_session(r);
    signal(SIGINT, SIG_DFL); /* what was recorded is safe */
    if (!is_terse && !r->o->shared.quiet && !(is_of_several(r) && r->facts.rank.rank > 0))
        say_report(r);
    die_as_command(r);
    return status;
}

static int launch(run_state *r)
{
    hu_launch_notes      notes = {0};
    hu_launch_signals    signals;
    hu_launched          child;
    hu_collect_options   how = {.ended = hu_live_ended, .max_bytes = r->o->max_size};
    hu_supervise_options watch = {.session = &r->session,
                                  .delay_ns = r->o->delay_ns,
                                  .duration_ns = r->o->duration_ns,
                                  .waits_for_all = r->o->wait == 1,
                                  .kill = (hu_kill)r->o->kill,
                                  .save = save_now,
                                  .context = r};
    hu_error             err = {0};
    char               **environment;
    int                  why;

    r->session.control->supervisor = (uint32_t)getpid();
    if (r->o->doors & HU_DOOR_PYTORCH && hu_torch_hook_write(r->session.path, &err) < 0) {
        hu_command_say("--pytorch: the hook cannot be written: %s: %s", err.file, err.text);
        err = (hu_error){0};
    }
    environment = make_environment(r, r->session.path, &notes);
    if (!environment) {
        hu_fail_memory(&err);
        hu_command_fail(&err);
        return give_up(r, HU_EXIT_RUN_FAILED);
    }
    for (size_t i = 0; i < notes.n && !r->o->shared.quiet; i++)
        hu_command_say("%s", notes.at[i]);
    start_live(r);
    how.context = r->live;
    r->collector = hu_collect_open(r->session.path, &how, &err);
    if (!r->collector) {
        hu_command_fail(&err);
        return give_up(r, HU_EXIT_RUN_FAILED);
    }
    r->quota = hu_cgroup_read("");
    r->ns_per_record = hu_cost_of_record((hu_clock)r->session.control->clock);
    start_gpus(r);
    start_energy(r);
    hu_supervise_prepare(&signals, &hu_command_sigpipe, watch.waits_for_all);
    if (hu_launch_fork(r->argv, environment, &signals, &child, &err) < 0) {
        hu_command_fail(&err);
        return give_up(r, HU_EXIT_RUN_FAILED);
    }
    start_perf(r, child.pid);
    start_waits(r, child.pid);
    if (r->library[0]) {
        r->broker = hu_broker_start(r->session.path, child.pid);
        r->outsiders = hu_outsiders_start(r->session.path, r->library, child.pid);
    }
    r->facts.pid = child.pid;
    hu_facts_write(&r->session, &r->facts, NULL);
    why = hu_launch_go(&child);
    if (why)
        return give_up(r, say_no_start(r->argv[0], why));
    watch.collector = r->collector;
    watch.perf = r->perf;
    watch.waits = r->waits;
    watch.energy = r->energy;
    watch.outsiders = r->outsiders;
    watch.live = r->live;
    hu_supervise(&watch, child.pid, &r->result);
    return finish(r);
}

static int start(run_state *r)
{
    hu_error err = {0};

    find_files(r);
    if (r->o->print_command) {
        hu_launch_notes notes = {0};
        char          **environment = make_environment(r, "SESSION", &notes);

        return environment ? print_command(r->argv, environment, r->arena) : HU_EXIT_RUN_FAILED;
    }
    for (size_t i = 0; i < r->o->n_notes && !r->o->shared.quiet; i++)
        hu_command_say("%s", r->o->notes[i]);
    if (is_recorded_already())
        return become_command(r);
    if (is_inside(r) && !r->library[0] && !r->o->shared.quiet)
        hu_command_say("libholdup-inject.so is neither next to this program nor in ../lib/holdup: nothing is recorded "
                       "inside the command; install it, or set HOLDUP_LIBRARY=/path");
    if (hu_arm(r->o, r->argv, &r->session, &r->facts, &err) < 0) {
        hu_command_fail(&err);
        return err.code == HU_EUSAGE ? HU_EXIT_USAGE : HU_EXIT_RUN_FAILED;
    }
    return launch(r);
}

static int run(hu_cli_call *call)
{
    run_state *r = hu_arena_calloc(call->arena, 1, sizeof *r);
    hu_error   err = {0};

    if (!r) {
        hu_fail_memory(&err);
        hu_command_fail(&err);
        return HU_EXIT_RUN_FAILED;
    }
    r->arena = call->arena;
    r->o = call->options;
    r->argv = call->argv;
    return start(r);
}

static int check(hu_cli_call *call, hu_error *err)
{
    if (hu_run_options_finish(call->options, &call->n, &call->argv, err) < 0)
        return err->code;
    return call->n ? 0 : hu_command_fail_words(call, err);
}

const hu_command hu_command_run = {
    .name = "run",
    .group = HU_GROUP_RECORD,
    .summary = "start a command, record it, and print what holds it up",
    .usage = "[options] [--] [NAME=VALUE ...] COMMAND ...",
    .about = "Starts a command unchanged and records it, without root and without code changes:\n"
             "NVTX and holdup ranges, C library calls that wait, MPI calls, NVIDIA GPU work\n"
             "(CUPTI), CPU samples and CPU scheduling.  Then writes a trace (.pftrace, opens in\n"
             "ui.perfetto.dev) for each rank and prints the report.  If the job is killed,\n"
             "everything recorded until then is kept.  Exits with the command's own status, or\n"
             "128 + its signal.  See docs/run.md.",
    .examples = "  holdup run -- python train.py\n"
                "  holdup run -- torchrun --nproc-per-node 8 train.py\n"
                "  srun holdup run -o 'runs/%j/rank%r' -- python train.py\n"
                "  mpirun -n 4 holdup run -- ./a.out\n"
                "  holdup run --steps 20..25 --trace nvtx,osrt -- python train.py",
    .wants = "a command",
    .example = "holdup run -- python train.py",
    .words = HU_WORDS_COMMAND,
    .needs = HU_NEEDS_FRONT | HU_NEEDS_LONGER_LIFE,
    .shared = HU_RUN_SHARED,
    .closer = (const hu_option_help[]){HU_RUN_CLOSER},
    .options = hu_run_rows,
    .n_options = HU_RUN_ROWS,
    .options_size = sizeof(hu_run_options),
    .defaults = &hu_run_defaults,
    .excludes = (const hu_option_pair[]){{"start-later", "delay"}, {NULL, NULL}},
    .hidden = hu_run_hidden_rows,
    .check = check,
    .run = run,
};
