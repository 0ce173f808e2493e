/* SPDX-License-Identifier: Apache-2.0
 * demo.c - the table of scenarios.
 *
 * Jobs, users and pods are invented.  A job that is larger than the node has its first rank elsewhere, as most have.
 */
#include "monitor/demo/demo.h"

#include <stdio.h>
#include <string.h>

#define GIB (1024.0 * 1024 * 1024)

#define EACH(...)                                                                                              \
    {                                                                                                          \
        __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__ \
    }
#define TRAINING                           \
    {                                      \
        HU_DEMO_TRAINING, HU_DEMO_SOUND, 1 \
    }

/* clang-format off */
#define LLAMA                                                                                                               \
    {.scheduler = "slurm", .job_id = "48213", .step_id = "0", .user = "ada", .account = "nlp", .partition = "h100",         \
     .job_name = "llama-8b-pretrain", .rank = 8, .world = 32}
#define LLAMA_HERE(id)                                                                                                      \
    {.scheduler = "slurm", .job_id = id, .step_id = "0", .user = "ada", .account = "nlp", .partition = "h100",              \
     .job_name = "llama-8b-tune", .rank = 0, .world = 8}
#define SMALL_JOB(id, who, what)                                                                                            \
    {.scheduler = "slurm", .job_id = id, .step_id = "0", .user = who, .account = "teach", .partition = "mig",               \
     .job_name = what}
#define POD(uid, space, name, what, first, all)                                                                             \
    {.scheduler = "kubernetes", .pod_uid = uid, .k8s_namespace = space, .k8s_pod = name, .k8s_container = what,             \
     .rank = first, .world = all}
/* clang-format on */

const hu_demo_scenario hu_demo_scenarios[] = {
    {.name = "training", .words = "one job trains on all GPUs; nothing is wrong", .gpu = EACH(TRAINING), .owner = {LLAMA}},
    {.name = "idle-allocation",
     .words = "six GPUs train; two belong to a shell that runs nothing",
     .gpu = {TRAINING,
             TRAINING,
             TRAINING,
             TRAINING,
             TRAINING,
             TRAINING,
             {HU_DEMO_IDLE, HU_DEMO_SOUND, 2},
             {HU_DEMO_IDLE, HU_DEMO_SOUND, 2}},
     .owner = {LLAMA,
               {.scheduler = "slurm",
                .job_id = "48219",
                .step_id = "interactive",
                .user = "grace",
                .account = "vision",
                .partition = "h100",
                .job_name = "bash",
                .idle_s = 7320}}},
    {.name = "throttled",
     .words = "GPU 2 slows down for its heat, GPU 6 for the rack's power",
     .gpu = {TRAINING,
             TRAINING,
             {HU_DEMO_TRAINING, HU_DEMO_HOT, 1},
             TRAINING,
             TRAINING,
             TRAINING,
             {HU_DEMO_TRAINING, HU_DEMO_BRAKED, 1},
             TRAINING},
     .owner = {LLAMA}},
    {.name = "xid",
     .words = "GPU 5 fell off the bus (XID 79); the others wait for it",
     .gpu = {{HU_DEMO_HANGING, HU_DEMO_SOUND, 1},
             {HU_DEMO_HANGING, HU_DEMO_SOUND, 1},
             {HU_DEMO_HANGING, HU_DEMO_SOUND, 1},
             {HU_DEMO_HANGING, HU_DEMO_SOUND, 1},
             {HU_DEMO_HANGING, HU_DEMO_SOUND, 1},
             {HU_DEMO_HANGING, HU_DEMO_LOST, 1},
             {HU_DEMO_HANGING, HU_DEMO_SOUND, 1},
             {HU_DEMO_HANGING, HU_DEMO_SOUND, 1}},
     .owner = {LLAMA},
     .xid = {{5, 79, 20}}},
    {.name = "straggler",
     .words = "a limit was left on the clock of GPU 3; the others wait for it",
     .gpu = {TRAINING, TRAINING, TRAINING, {HU_DEMO_TRAINING, HU_DEMO_CAPPED, 1}, TRAINING, TRAINING, TRAINING, TRAINING},
     .owner = {LLAMA_HERE("48240")}},
    {.name = "input-bound",
     .words = "all GPUs look busy; small kernels leave most of each unused",
     .gpu = EACH({HU_DEMO_INPUT_BOUND, HU_DEMO_SOUND, 1}),
     .owner = {{.scheduler = "slurm",
                .job_id = "48230",
                .step_id = "0",
                .user = "edsger",
                .account = "vision",
                .partition = "h100",
                .job_name = "vit-finetune",
                .world = 8}}},
    {.name = "mig",
     .words = "GPU 0 is seven MIG devices, GPU 1 is two; the others are whole",
     .gpu = {{HU_DEMO_FREE, HU_DEMO_SOUND, 0},
             {HU_DEMO_FREE, HU_DEMO_SOUND, 0},
             TRAINING,
             TRAINING,
             TRAINING,
             TRAINING,
             {HU_DEMO_SERVING, HU_DEMO_SOUND, 2},
             {HU_DEMO_FREE, HU_DEMO_SOUND, 0}},
     .owner = {{.scheduler = "slurm",
                .job_id = "48301",
                .step_id = "0",
                .user = "ada",
                .account = "nlp",
                .partition = "h100",
                .job_name = "bert-large",
                .world = 4},
               SMALL_JOB("48302", "barbara", "reranker"),
               SMALL_JOB("48310", "alan", "lab-3"),
               SMALL_JOB("48311", "tim", "lab-3"),
               SMALL_JOB("48312", "radia", "lab-3"),
               SMALL_JOB("48313", "john", "notebook"),
               SMALL_JOB("48320", "katherine", "vit-small"),
               SMALL_JOB("48321", "dorothy", "embeddings")},
     .slice = {{0, 7, "1g.10gb", 1.0 / 7, 9.75 * GIB, HU_DEMO_TRAINING, 3},
               {0, 8, "1g.10gb", 1.0 / 7, 9.75 * GIB, HU_DEMO_TRAINING, 4},
               {0, 9, "1g.10gb", 1.0 / 7, 9.75 * GIB, HU_DEMO_INPUT_BOUND, 5},
               {0, 10, "1g.10gb", 1.0 / 7, 9.75 * GIB, HU_DEMO_IDLE, 6},
               {0, 11, "1g.10gb", 1.0 / 7, 9.75 * GIB, HU_DEMO_FREE, 0},
               {0, 12, "1g.10gb", 1.0 / 7, 9.75 * GIB, HU_DEMO_FREE, 0},
               {0, 13, "1g.10gb", 1.0 / 7, 9.75 * GIB, HU_DEMO_FREE, 0},
               {1, 1, "3g.40gb", 3.0 / 7, 39.5 * GIB, HU_DEMO_TRAINING, 7},
               {1, 2, "3g.40gb", 3.0 / 7, 39.5 * GIB, HU_DEMO_SERVING, 8}}},
    {.name = "kubernetes",
     .words = "pods: four GPUs train, two serve, one is idle, one is free",
     .gpu = {TRAINING,
             TRAINING,
             TRAINING,
             TRAINING,
             {HU_DEMO_SERVING, HU_DEMO_SOUND, 2},
             {HU_DEMO_SERVING, HU_DEMO_SOUND, 3},
             {HU_DEMO_IDLE, HU_DEMO_SOUND, 4},
             {HU_DEMO_FREE, HU_DEMO_SOUND, 0}},
     .owner = {POD("0b7c2a4e-52d1-4c8f-9a3e-6f1d20b94c11", "research", "gpt-train-worker-1", "pytorch", 4, 8),
               POD("6d0f9b35-8e27-47a6-b1c4-03e9a57d8f22", "inference", "chat-7f9c6d5b8-x2kqv", "vllm", 0, 0),
               POD("91e4c7d8-1f6a-4b20-8d55-ca72e3096b33", "inference", "chat-7f9c6d5b8-mn4tz", "vllm", 0, 0),
               {.scheduler = "kubernetes",
                .pod_uid = "c35a8e60-794d-4f1b-a2e8-5d90b1c64f44",
                .k8s_namespace = "notebooks",
                .k8s_pod = "jupyter-margaret",
                .k8s_container = "notebook",
                .idle_s = 15840}}},
    {.name = "ecc",
     .words = "GPU 4 met an uncorrectable ECC error; GPU 6 has no spare row",
     .gpu = {TRAINING,
             TRAINING,
             TRAINING,
             TRAINING,
             {HU_DEMO_TRAINING, HU_DEMO_ECC, 1},
             TRAINING,
             {HU_DEMO_TRAINING, HU_DEMO_ROW_FAILED, 1},
             TRAINING},
     .owner = {LLAMA},
     .xid = {{4, 94, 45}, {4, 63, 44}, {6, 64, 5400}}},
    {.name = "lost-rank",
     .words = "the process of GPU 5 was killed; the other ranks wait for it",
     .gpu = {{HU_DEMO_HANGING, HU_DEMO_SOUND, 1},
             {HU_DEMO_HANGING, HU_DEMO_SOUND, 1},
             {HU_DEMO_HANGING, HU_DEMO_SOUND, 1},
             {HU_DEMO_HANGING, HU_DEMO_SOUND, 1},
             {HU_DEMO_HANGING, HU_DEMO_SOUND, 1},
             {HU_DEMO_IDLE, HU_DEMO_DIED, 1},
             {HU_DEMO_HANGING, HU_DEMO_SOUND, 1},
             {HU_DEMO_HANGING, HU_DEMO_SOUND, 1}},
     .owner = {LLAMA_HERE("48241")}},
    {.name = "checkpoint-stall",
     .words = "all ranks write a checkpoint to a storage that hangs",
     .gpu = EACH({HU_DEMO_SAVING, HU_DEMO_SOUND, 1}),
     .owner = {LLAMA_HERE("48242")}},
    {.name = "regressed",
     .words = "after a minute each step takes 28 % longer, for its data",
     .gpu = EACH({HU_DEMO_SLOWED, HU_DEMO_SOUND, 1}),
     .owner = {LLAMA_HERE("48243")}},
};

const size_t hu_demo_scenarios_count = sizeof hu_demo_scenarios / sizeof *hu_demo_scenarios;

const hu_demo_scenario *hu_demo_find(const char *name)
{
    for (size_t i = 0; i < hu_demo_scenarios_count; i++)
        if (strcmp(hu_demo_scenarios[i].name, name) == 0)
            return &hu_demo_scenarios[i];
    return NULL;
}

bool hu_demo_is_divided(const hu_demo_scenario *s, int gpu)
{
    for (size_t i = 0; i < HU_DEMO_SLICES && s->slice[i].profile; i++)
        if (s->slice[i].gpu == gpu)
            return true;
    return false;
}

void hu_demo_uuid(int gpu, int slice, char out[HU_DEMO_TEXT])
{
    snprintf(out, HU_DEMO_TEXT, "%s-de300000-0000-4000-8000-%06d%06d", slice < 0 ? "GPU" : "MIG", slice < 0 ? 0 : slice + 1,
             gpu);
}

void hu_demo_put(hu_readings *out, hu_metric m, double value, const hu_demo_label *labels, size_t n)
{
    const char  *values[HU_METRIC_LABELS_MOST] = {0};
    const size_t all = hu_metric_labels(m);

    for (size_t i = 0; i < all; i++) {
        size_t      length;
        const char *key = hu_metric_label(m, i, &length);

        for (size_t k = 0; k < n; k++)
            if (strlen(labels[k].key) == length && memcmp(labels[k].key, key, length) == 0)
                values[i] = labels[k].value;
    }
    hu_readings_put(out, m, value, values, all);
}
