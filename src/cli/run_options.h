/* SPDX-License-Identifier: Apache-2.0
 * run_options.h - the command line of `holdup run` and of what is armed like it; nsys' spellings are taken too. */
#ifndef HU_CLI_RUN_OPTIONS_H
#define HU_CLI_RUN_OPTIONS_H

#include "cli/shared_options.h"
#include "protocol/format.h"
#include "record/supervise.h"

enum { HU_RUN_ASSIGNMENTS = 64, HU_RUN_NOTES = 12, HU_RUN_FOREIGN = 40, HU_RUN_ROWS = 33 };

typedef struct {
    hu_shared shared; /* output is a template of names (record/template.h) */
    bool      print_command, force, starts_later, keeps_rings, stats, no_report, paths, redact_ranges, stops_on_exit,
        shows_output;
    uint32_t    doors, required; /* HU_DOOR_* */
    bool        has_trace, has_sample;
    unsigned    sample_hz; /* 0: no samples */
    bool        no_switches;
    unsigned    gpu_hz;       /* 0: no counters of GPUs */
    unsigned    energy_hz;    /* 0: no counters of processors and memory */
    bool        wants_energy; /* --energy-sample was given: say why there are none */
    int64_t     delay_ns, duration_ns;
    bool        wants_steps;
    int64_t     first_step, last_step;
    bool        wants_range; /* --capture-range=nvtx: -p names it */
    char        range[sizeof((hu_control *)0)->capture_range], domain[sizeof((hu_control *)0)->capture_domain];
    int64_t     threshold_ns;
    uint32_t    cuda;                 /* HU_CUDA_WANTS_MEMORY and so on */
    uint32_t    torch;                /* HU_TORCH_WANTS_SHAPES and so on */
    uint32_t    nccl_events;          /* bits of hu_nccl_kind; 0: the usual ones */
    int         mode, kill, wait;     /* hu_mode, hu_kill; wait: 0 primary, 1 all */
    uint64_t    max_memory, max_size; /* bytes; 0: the defaults */
    const char *session_name, *scratch;
    char       *assignments[HU_RUN_ASSIGNMENTS];
    size_t      n_assignments;
    const char *foreign[HU_RUN_FOREIGN]; /* values of options of nsys that are not ours, by their row */
    char        notes[HU_RUN_NOTES][240];
    size_t      n_notes;
} hu_run_options;

extern const hu_option      hu_run_rows[HU_RUN_ROWS];
extern const hu_run_options hu_run_defaults;

enum { HU_RUN_SHARED = HU_SHARED_OUTPUT | HU_SHARED_QUIET | HU_SHARED_STRICT };

/* Their words here, as hu_command.closer. */
#define HU_RUN_CLOSER                                                                          \
    {"output", "write to FILE: %h host, %p pid, %c command, %t time, %j job, %s job step, "    \
               "%r rank, %l local rank, %w world size, %N node, %n number, %q{VAR} variable"}, \
        {"strict", "exit with status 124 if records were lost or could not be written"},       \
        {"quiet", "print only failures on stderr"},                                            \
    {                                                                                          \
        NULL, NULL                                                                             \
    }

/* Other spellings, and options of nsys that have no meaning here: rows for hu_command.hidden. */
size_t hu_run_hidden_rows(hu_option *out);

/*
 * What the parser leaves: VAR=value words in front of the command are assignments, and are taken off argv; options that
 * contradict each other are refused.  What was read differently than nsys would is in the notes.  Returns 0 or HU_EUSAGE.
 */
int hu_run_options_finish(hu_run_options *o, int *argc, char ***argv, hu_error *err);

const char *hu_run_door_name(uint32_t door); /* of one bit */

#endif
