/* SPDX-License-Identifier: Apache-2.0
 * jobs_look.c - the source `jobs` alone, with GPUs as its caller likes: what a test needs where there is none.
 *
 *   jobs_look [--root DIR] [--kubelet SOCKET] [--job-dir DIR] [--no-users]
 *
 * Reads commands, one a line, and answers each look with its readings as NAME{LABELS} VALUE and a line "." :
 *   gpu UUID INDEX MINOR BUSY [PID:BUSY]...       a GPU of the board; one of that uuid is replaced
 *   mig UUID PARENT GI BUSY [PID:BUSY]...         a device of GPU PARENT, which is divided from now on
 *   energy UUID JOULES                            what its energy counter says; 0: nothing
 *   waits SCHEDULER JOB SHARE                     what the live sampler tells of the job from now on; less than 0: nothing
 *   look SECONDS                                  a look, that long after the last one by the board's clock
 *   stale                                         the board is not written from now on
 *   restart                                       the source is closed and opened, as when its sampler was killed
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "monitor/jobs/job_owner.h"
#include "monitor/source.h"

extern const hu_source hu_source_jobs;

static hu_board_state board;

static hu_board_gpu *find(const char *uuid)
{
    for (uint32_t i = 0; i < board.n; i++)
        if (strcmp(board.gpu[i].uuid, uuid) == 0)
            return &board.gpu[i];
    return board.n < HU_BOARD_GPUS ? &board.gpu[board.n++] : NULL;
}

static double number(const char *text)
{
    double value = 0;

    if (!text || !hu_parse_f64(hu_str_of(text), &value)) {
        fprintf(stderr, "jobs_look: not a number: %s\n", text ? text : "(nothing)");
        exit(2);
    }
    return value;
}

/* UUID INDEX MINOR BUSY or UUID PARENT GI BUSY, then processes. */
static void set_gpu(char **word, bool is_mig)
{
    hu_board_gpu *g = find(word[1]), *parent = is_mig ? find(word[2]) : NULL;

    if (!g)
        exit(2);
    memset(g, 0, sizeof *g);
    snprintf(g->uuid, sizeof g->uuid, "%s", word[1]);
    g->gi = g->ci = -1;
    g->minor = -1;
    if (parent) {
        snprintf(g->parent, sizeof g->parent, "%s", word[2]);
        g->gi = (int32_t)number(word[3]);
        g->index = parent->index;
        parent->is_divided = true;
    } else {
        g->index = (int32_t)number(word[2]);
        g->minor = (int32_t)number(word[3]);
        snprintf(g->bus, sizeof g->bus, "0000:%02x:00.0", (unsigned)g->index + 1);
    }
    g->busy = number(word[4]);
    for (word += 5; *word && g->n_pids < HU_BOARD_PIDS; word++) {
        char *colon = strchr(*word, ':');

        if (!colon)
            exit(2);
        *colon = '\0';
        g->pid[g->n_pids] = (uint32_t)number(*word);
        g->pid_busy[g->n_pids++] = number(colon + 1);
    }
}

static void print(const hu_readings *r)
{
    hu_reading one;

    for (size_t at = 0; hu_readings_next(r, &at, &one);) {
        printf("%s{", hu_metric_rows[one.metric].name);
        for (size_t i = 0; i < one.n; i++) {
            size_t      n;
            const char *key = hu_metric_label(one.metric, i, &n);

            printf("%s%.*s=\"%s\"", i ? "," : "", (int)n, key, one.label[i]);
        }
        printf("} %.9g\n", one.value);
    }
    puts(".");
    fflush(stdout);
}

static int64_t boot_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int main(int argc, char **argv)
{
    hu_source_options how = {.root = "", .period_ns = 1000000000, .board = hu_gpu_board_new()};
    hu_readings       readings = {0};
    hu_owner          waiter = {0};
    double            waits = -1;
    bool              is_stale = false;
    char              line[4096];
    void             *state;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--no-users") == 0)
            how.no_users = true;
        else if (i + 1 < argc && strcmp(argv[i], "--root") == 0)
            how.root = argv[++i];
        else if (i + 1 < argc && strcmp(argv[i], "--kubelet") == 0)
            how.kubelet = argv[++i];
        else if (i + 1 < argc && strcmp(argv[i], "--job-dir") == 0)
            how.job_dir = argv[++i];
        else
            return 2;
    }
    if (!how.board || !hu_source_jobs.open(&how, &state, &readings))
        return 1;
    while (fgets(line, sizeof line, stdin)) {
        char  *word[HU_BOARD_PIDS + 8] = {NULL}, *rest = line;
        size_t n = 0;

        while (n < HU_COUNT(word) - 1 && (word[n] = strtok_r(rest, " \n", &rest)))
            n++;
        if (n >= 5 && (strcmp(word[0], "gpu") == 0 || strcmp(word[0], "mig") == 0)) {
            set_gpu(word, word[0][0] == 'm');
        } else if (n == 3 && strcmp(word[0], "energy") == 0) {
            find(word[1])->joules = number(word[2]);
        } else if (n == 4 && strcmp(word[0], "waits") == 0) {
            snprintf(waiter.scheduler, sizeof waiter.scheduler, "%s", word[1]);
            snprintf(waiter.job_id, sizeof waiter.job_id, "%s", word[2]);
            waits = number(word[3]);
        } else if (n == 1 && strcmp(word[0], "stale") == 0) {
            is_stale = true;
        } else if (n == 1 && strcmp(word[0], "restart") == 0) {
            hu_source_jobs.close(state);
            if (!hu_source_jobs.open(&how, &state, &readings))
                return 1;
        } else if (n == 2 && strcmp(word[0], "look") == 0) {
            /* the board's clock runs as the test says, and never behind the real one: that would be an old board */
            board.at_ns = board.at_ns ? board.at_ns + (int64_t)(number(word[1]) * 1e9)
                                      : boot_ns() + INT64_C(3600) * 1000000000;
            if (is_stale)
                board.at_ns = boot_ns() - INT64_C(60) * 1000000000;
            hu_gpu_board_write(how.board, &board);
            hu_job_waits_begin(&how.board->waits, hu_gpu_board_now());
            if (waits >= 0)
                hu_job_waits_put(&how.board->waits, hu_owner_hash(&waiter), waits);
            hu_job_waits_end(&how.board->waits);
            hu_readings_clear(&readings);
            if (!hu_source_jobs.sample(state, HU_SAMPLE_FAST, &readings))
                return 1;
            print(&readings);
        } else {
            fprintf(stderr, "jobs_look: what is %s?\n", word[0] ? word[0] : "an empty line");
            return 2;
        }
    }
    hu_source_jobs.close(state);
    hu_readings_free(&readings);
    hu_gpu_board_free(how.board);
    return 0;
}
