/* SPDX-License-Identifier: Apache-2.0
 * columns_processes.c - a row for each process of this node. */
#include <stdio.h>

#include "top/columns.h"

#define ROW     ((const hu_top_process_row *)row)
#define PROCESS (ROW->process)

#define BUSY_FROM .5

static double pid_number(const void *row)
{
    return PROCESS->pid;
}

static void pid(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%u", PROCESS->pid);
}

static void user(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s", PROCESS->user[0] ? PROCESS->user : "–");
}

static void state(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%c", PROCESS->state);
}

/* D: it cannot even be killed now; T: somebody stopped it; Z: its parent forgot it. */
static hu_top_tone state_tone(const void *row)
{
    return PROCESS->state == 'R'                            ? HU_TONE_GOOD
           : PROCESS->state == 'S' || PROCESS->state == 'I' ? HU_TONE_DIM
                                                            : HU_TONE_WARN;
}

static double cpu_number(const void *row)
{
    return PROCESS->cpu;
}

static void cpu(const void *row, char out[HU_TOP_CELL])
{
    hu_top_percent(out, PROCESS->cpu, 1);
}

static hu_top_tone cpu_tone(const void *row)
{
    return PROCESS->cpu >= BUSY_FROM ? HU_TONE_BOLD : PROCESS->cpu > 0 ? HU_TONE_NORMAL : HU_TONE_DIM;
}

static double memory_number(const void *row)
{
    return PROCESS->memory;
}

static void memory(const void *row, char out[HU_TOP_CELL])
{
    hu_top_bytes(out, PROCESS->memory);
}

static double threads_number(const void *row)
{
    return PROCESS->threads;
}

static void threads(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%u", PROCESS->threads);
}

static double time_number(const void *row)
{
    return PROCESS->cpu_s;
}

static void time_text(const void *row, char out[HU_TOP_CELL])
{
    hu_top_duration(out, PROCESS->cpu_s);
}

static void gpus(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s", PROCESS->gpus);
}

static double gpu_number(const void *row)
{
    return PROCESS->gpu_busy;
}

/* Empty for a process that uses no GPU: there is nothing to know. */
static void gpu(const void *row, char out[HU_TOP_CELL])
{
    if (PROCESS->gpus[0])
        hu_top_percent(out, PROCESS->gpu_busy, 0);
    else
        out[0] = '\0';
}

static double gpu_memory_number(const void *row)
{
    return PROCESS->gpu_memory;
}

static void gpu_memory(const void *row, char out[HU_TOP_CELL])
{
    if (PROCESS->gpus[0])
        hu_top_bytes(out, PROCESS->gpu_memory);
    else
        out[0] = '\0';
}

static void command(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s", PROCESS->command);
}

/* clang-format off */
const hu_top_column hu_top_columns_processes[] = {
    {"pid", "PID", 7, false, HU_SHOWN, 0, 0, pid, pid_number, NULL, "its number"},
    {"user", "USER", 9, true, HU_SHOWN, 0, 2, user, NULL, NULL, "whose it is"},
    {"state", "S", 1, true, HU_SHOWN, 0, 3, state, NULL, state_tone,
     "R runs, S sleeps, D waits for I/O, T is stopped, Z has ended"},
    {"cpu", "CPU%", 6, false, HU_SHOWN, 'P', 0, cpu, cpu_number, cpu_tone,
     "processors that it used since the last look; 100 is one"},
    {"memory", "MEM", 5, false, HU_SHOWN, 'M', 1, memory, memory_number, NULL, "resident memory (K, M, G of 1024)"},
    {"threads", "THR", 4, false, HU_SHOWN, 0, 6, threads, threads_number, NULL, "its threads"},
    {"time", "TIME", 7, false, HU_SHOWN, 'T', 4, time_text, time_number, NULL, "CPU time since it began"},
    {"gpus", "GPU", 6, true, HU_SHOWN_FOR_GPUS, 0, 3, gpus, NULL, NULL, "GPUs that it uses"},
    {"gpu", "GPU%", 4, false, HU_SHOWN_FOR_GPUS, 0, 4, gpu, gpu_number, NULL,
     "share of time in which its kernels ran, summed over these"},
    {"gpumem", "GPUMEM", 6, false, HU_SHOWN_FOR_GPUS, 'G', 4, gpu_memory, gpu_memory_number, NULL,
     "device memory that it holds on these"},
    {"command", "COMMAND", 20, true, HU_SHOWN, 0, 0, command, NULL, NULL, "its command line; in brackets: its name alone"},
    {NULL},
};
