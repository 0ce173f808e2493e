/* SPDX-License-Identifier: Apache-2.0
 * metrics_live.h - rows of metrics.h: how running jobs do, as their processes tell it. */
#ifndef HU_MONITOR_METRICS_LIVE_H
#define HU_MONITOR_METRICS_LIVE_H

/* Of a job, and of one of its processes; `pid` has a value only where several processes have the same rank. */
#define HU_LABELS_OF_JOB     "scheduler,job_id,step_id,user"
#define HU_LABELS_OF_PROCESS HU_LABELS_OF_JOB ",rank,pid"

/* clang-format off */
/* M(id, name, type, unit, labels, help) */
#define HU_METRICS_LIVE(M)                                                                                                  \
    M(LIVE_STEPS, "holdup_job_step_duration_seconds", HISTOGRAM, "seconds", HU_LABELS_OF_PROCESS,                           \
      "Time that the steps of a process took.")                                                                             \
    M(LIVE_CAUSE, "holdup_job_cause_seconds_total", COUNTER, "seconds", HU_LABELS_OF_PROCESS ",cause",                      \
      "Time of steps that their thread spent so, the innermost cause counting; absent where that is not recorded.")         \
    M(LIVE_HOLDUP, "holdup_job_holdup", GAUGE, "", HU_LABELS_OF_JOB ",cause",                                               \
      "Share of the step time of the job's processes on this node that went so lately: at least one step, else 5 s.")       \
    M(LIVE_INFO, "holdup_job_process_info", INFO, "", HU_LABELS_OF_PROCESS ",world,name,source",                            \
      "A process that tells of its steps, and who sends for it: holdup run, or its own package.")                           \
    M(LIVE_SAMPLES, "holdup_job_samples_total", COUNTER, "", HU_LABELS_OF_PROCESS, "Samples that the program counted.")     \
    M(LIVE_TOKENS, "holdup_job_tokens_total", COUNTER, "", HU_LABELS_OF_PROCESS, "Tokens that the program counted.")        \
    M(LIVE_CHECKPOINTS, "holdup_job_checkpoints_total", COUNTER, "", HU_LABELS_OF_PROCESS,                                  \
      "Checkpoints that were written.")                                                                                     \
    M(LIVE_STEP_NUMBER, "holdup_job_step_number", GAUGE, "", HU_LABELS_OF_PROCESS,                                          \
      "Number of the step that runs, else of the last one that ran.")                                                       \
    M(LIVE_LAST_STEP, "holdup_job_last_step_timestamp_seconds", GAUGE, "seconds", HU_LABELS_OF_PROCESS,                     \
      "Unix time when the last step ended.")                                                                                \
    M(LIVE_RANK_UP, "holdup_job_rank_up", GAUGE, "", HU_LABELS_OF_PROCESS,                                                  \
      "1: it tells of itself; 0: it died without a goodbye, or is stopped; absent after a normal end.")                     \
    M(LIVE_RANKS, "holdup_job_ranks", GAUGE, "", HU_LABELS_OF_JOB,                                                          \
      "Processes of the job on this node that tell of themselves.")                                                         \
    M(LIVE_LOST, "holdup_job_ranks_lost_total", COUNTER, "", HU_LABELS_OF_JOB,                                              \
      "Processes of the job that died without a goodbye.")                                                                  \
    M(LIVE_DATAGRAMS, "holdup_monitor_live_datagrams_total", COUNTER, "", "result,reason",                                  \
      "What processes of jobs sent: taken, dropped (older than the last) or refused, and why.")

#endif
