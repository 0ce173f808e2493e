/* SPDX-License-Identifier: Apache-2.0
 * test_run.c - what `holdup run` decides before and after it records: ranks, names, secrets. */
#include "base/arena.h"
#include "protocol/rank_id.h"
#include "protocol/redact.h"
#include "record/variables.h"
#include "record/template.h"
#include "testing.h"

typedef struct {
    const char *environment[12];
    int32_t     rank, local_rank, world_size, local_size, node, nodes;
    const char *source, *job, *step;
} rank_row;

enum { NO = HU_RANK_ID_UNKNOWN };

/* One row for each launcher of the table, then the rules between them. */
/* clang-format off */
static const rank_row rank_rows[] = {
    {{NULL}, NO, NO, NO, NO, NO, NO, "", "", ""},
    {{"HOLDUP_RANK=3", "HOLDUP_LOCAL_RANK=1", "HOLDUP_WORLD_SIZE=4", "HOLDUP_JOB_ID=mine", "RANK=9", "LOCAL_RANK=9",
      "WORLD_SIZE=10", "LOCAL_WORLD_SIZE=10"}, 3, 1, 4, NO, NO, NO, "explicit: HOLDUP_RANK", "mine", ""},
    {{"RANK=5", "LOCAL_RANK=1", "WORLD_SIZE=8", "LOCAL_WORLD_SIZE=4", "GROUP_RANK=1", "GROUP_WORLD_SIZE=2",
      "TORCHELASTIC_RUN_ID=abc"}, 5, 1, 8, 4, 1, 2, "torchrun: RANK", "abc", ""},
    {{"RANK=5", "LOCAL_RANK=1", "WORLD_SIZE=8", "LOCAL_WORLD_SIZE=4", "TORCHELASTIC_RUN_ID=none"}, 5, 1, 8, 4, NO, NO,
     "torchrun: RANK", "", ""},
    {{"RANK=2", "LOCAL_RANK=0", "WORLD_SIZE=4", "CROSS_RANK=1", "CROSS_SIZE=2", "LOCAL_SIZE=2"}, 2, 0, 4, 2, 1, 2,
     "DeepSpeed: RANK", "", ""},
    {{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2",
      "OMPI_COMM_WORLD_NODE_RANK=1", "PMIX_RANK=1", "PMIX_NAMESPACE=prte-1@1"}, 1, 1, 2, 2, NO, NO,
     "Open MPI: OMPI_COMM_WORLD_RANK", "prte-1@1", ""},
    {{"PMIX_RANK=4", "PMIX_NAMESPACE=n"}, 4, NO, NO, NO, NO, NO, "PMIx: PMIX_RANK", "n", ""},
    {{"PMI_RANK=3", "PMI_SIZE=6", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2"}, 3, 1, 6, 2, NO, NO, "MPICH: PMI_RANK", "", ""},
    {{"MV2_COMM_WORLD_RANK=3", "MV2_COMM_WORLD_SIZE=4", "MV2_COMM_WORLD_LOCAL_RANK=1", "MV2_COMM_WORLD_LOCAL_SIZE=2"}, 3, 1,
     4, 2, NO, NO, "MVAPICH2: MV2_COMM_WORLD_RANK", "", ""},
    {{"PALS_RANKID=7", "PALS_LOCAL_RANKID=3", "PALS_NODEID=1"}, 7, 3, NO, NO, 1, NO, "PALS: PALS_RANKID", "", ""},
    {{"SLURM_PROCID=9", "SLURM_LOCALID=1", "SLURM_STEP_NUM_TASKS=12", "SLURM_STEP_ID=2", "SLURM_JOB_ID=77", "SLURM_NODEID=2",
      "SLURM_STEP_NUM_NODES=3", "SLURM_STEP_TASKS_PER_NODE=4(x2),3", "SLURM_RESTART_COUNT=1"}, 9, 1, 12, 3, 2, 3,
     "SLURM: SLURM_PROCID", "77", "2"},
    {{"SLURM_PROCID=1", "SLURM_STEP_ID=0", "SLURM_NTASKS=2", "SLURM_JOB_ID=80", "SLURM_ARRAY_JOB_ID=78",
      "SLURM_ARRAY_TASK_ID=4", "SLURM_NODEID=0", "SLURM_TASKS_PER_NODE=2"}, 1, NO, 2, 2, 0, NO, "SLURM: SLURM_PROCID", "78_4",
     "0"},
    {{"JSM_NAMESPACE_RANK=2", "JSM_NAMESPACE_LOCAL_RANK=0", "JSM_NAMESPACE_SIZE=6", "LSB_JOBID=5"}, 2, 0, 6, NO, NO, NO,
     "JSM: JSM_NAMESPACE_RANK", "5", ""},
    {{"FLUX_TASK_RANK=1", "FLUX_TASK_LOCAL_ID=1", "FLUX_JOB_SIZE=2", "FLUX_JOB_ID=f23"}, 1, 1, 2, NO, NO, NO,
     "Flux: FLUX_TASK_RANK", "f23", ""},
    {{"RANK=1", "LOCAL_RANK=1", "WORLD_SIZE=2"}, 1, 1, 2, NO, NO, NO, "environment: RANK", "", ""},
    {{"JOB_COMPLETION_INDEX=6"}, 6, NO, NO, NO, NO, NO, "Kubernetes: JOB_COMPLETION_INDEX", "", ""},

    /* torchrun inside of srun: SLURM's numbers count its agents */
    {{"RANK=3", "LOCAL_RANK=1", "WORLD_SIZE=4", "LOCAL_WORLD_SIZE=2", "SLURM_PROCID=1", "SLURM_STEP_ID=0", "SLURM_NTASKS=2",
      "SLURM_NODEID=1", "SLURM_JOB_NUM_NODES=2", "SLURM_JOB_ID=5"}, 3, 1, 4, 2, 1, 2, "torchrun: RANK", "5", "0"},
    /* a script that exported the same numbers for all tasks of srun */
    {{"RANK=0", "LOCAL_RANK=0", "WORLD_SIZE=2", "SLURM_PROCID=1", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=2"}, 1, NO, 2, NO,
     NO, NO, "SLURM: SLURM_PROCID", "", ""},
    /* a batch script is no task */
    {{"SLURM_PROCID=0", "SLURM_LOCALID=0", "SLURM_NTASKS=8", "SLURM_NODEID=0", "SLURM_JOB_NUM_NODES=2", "SLURM_JOB_ID=6"}, NO,
     NO, NO, NO, 0, 2, "", "6", ""},
    /* what a PyTorchJob gives to a pod numbers machines */
    {{"RANK=1", "WORLD_SIZE=2"}, NO, NO, NO, NO, 1, 2, "", "", ""},
    {{"PET_NODE_RANK=1", "PET_NNODES=4", "RANK=1", "WORLD_SIZE=4"}, NO, NO, NO, NO, 1, 4, "", "", ""},
    /* numbers that are none; a rank outside of the world */
    {{"RANK=-1", "LOCAL_RANK=0", "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=2"}, NO, NO, NO, NO, NO, NO, "", "", ""},
    {{"RANK=1x", "LOCAL_RANK=0", "WORLD_SIZE=2"}, NO, NO, NO, NO, NO, NO, "", "", ""},
    {{"RANK=99999999999", "LOCAL_RANK=0", "WORLD_SIZE=2"}, NO, NO, NO, NO, NO, NO, "", "", ""},
    {{"RANK=7", "LOCAL_RANK=0", "WORLD_SIZE=2"}, 7, 0, NO, NO, NO, NO, "environment: RANK", "", ""},
    {{"HOLDUP_RANK=", "PMI_RANK=1", "PMI_SIZE=2"}, 1, NO, 2, NO, NO, NO, "MPICH: PMI_RANK", "", ""},
    {{"SLURM_PROCID=1", "SLURM_STEP_ID=0", "SLURM_NTASKS=2", "SLURM_NODEID=5", "SLURM_TASKS_PER_NODE=2(x"}, 1, NO, 2, NO, 5, NO,
     "SLURM: SLURM_PROCID", "", ""},
};
/* clang-format on */

static void ranks_are_told_by_launchers(void **state)
{
    (void)state;
    for (size_t i = 0; i < HU_COUNT(rank_rows); i++) {
        const rank_row *w = &rank_rows[i];
        hu_rank_id      r;

        hu_rank_id_detect((char *const *)(uintptr_t)w->environment, &r);
        if (r.rank != w->rank || r.local_rank != w->local_rank || r.world_size != w->world_size ||
            r.local_size != w->local_size || r.node != w->node || r.nodes != w->nodes || strcmp(r.source, w->source) != 0 ||
            strcmp(r.job_id, w->job) != 0 || strcmp(r.step_id, w->step) != 0)
            fail_msg("row %zu (%s): rank %d local %d of %d/%d node %d/%d, \"%s\", job \"%s\" step \"%s\"", i,
                     w->environment[0] ? w->environment[0] : "nothing", r.rank, r.local_rank, r.world_size, r.local_size,
                     r.node, r.nodes, r.source, r.job_id, r.step_id);
    }
    hu_rank_id_detect(NULL, &(hu_rank_id){0});
}

static void long_values_are_cut(void **state)
{
    char       job[400] = "PBS_JOBID=";
    char      *environment[] = {job, NULL};
    hu_rank_id r;

    (void)state;
    memset(job + 10, 'x', 300);
    hu_rank_id_detect(environment, &r);
    assert_int_equal(strlen(r.job_id), HU_RANK_ID_JOB_BYTES - 1);
}

typedef struct {
    const char *text, *path; /* path NULL: refused */
    int32_t     rank, number;
    const char *job;
    bool        numbers_folder;
} name_row;

static const name_row name_rows[] = {
    {"holdup-%j.%s-%c/rank%r.pftrace", "holdup-12.0-train/rank3.pftrace", 3, 1, "12", false},
    {"holdup-%j-%c/rank%r.pftrace", "holdup-train/rank3.pftrace", 3, 1, "", false},
    {"holdup-%c-%p.pftrace", "holdup-train-4711.pftrace", NO, 1, "", false},
    {"%j/r%r", "r0", 0, 1, "", false}, /* never "/r0" */
    {"%j/%r/x", "x", NO, 1, "", false},
    {"/%j/x", "/x", NO, 1, "", false},
    {"a-%j", "a-", NO, 1, "", false}, /* nothing stands behind: the name keeps its end */
    {"%j-a", "a", NO, 1, "", false},
    {"%j", NULL, NO, 1, "", false},
    {"a/%j", NULL, NO, 1, "", false},
    {"%h_%N_%w_%l", "node1_2_8_1", 0, 1, "", false},
    {"%t", "19700101T000140", NO, 1, "", false},
    {"100%%", "100%", NO, 1, "", false},
    {"%q{VAR}", "a_b", NO, 1, "", false}, /* "a b" */
    {"%q{NONE:-x}", "x", NO, 1, "", false},
    {"%q{NONE:-}y", "y", NO, 1, "", false},
    {"%q{NONE}", NULL, NO, 1, "", false},
    {"%q{BAD}", NULL, NO, 1, "", false}, /* "../x" */
    {"%q{DOT}", NULL, NO, 1, "", false}, /* ".x" */
    {"%q{}", NULL, NO, 1, "", false},
    {"%q", NULL, NO, 1, "", false},
    {"%q{VAR", NULL, NO, 1, "", false},
    {"%z", NULL, NO, 1, "", false},
    {"a%", "a%", NO, 1, "", false},
    {"%j", "_a_b_.._.._c", NO, 1, "/a b/../../c", false},
    {"%j", "_.x", NO, 1, "..x", false}, /* not hidden, and no folder above */
    {"a.pftrace", "a-2.pftrace", NO, 2, "", false},
    {"a", "a-3", NO, 3, "", false},
    {"d.x/a", "d.x/a-2", NO, 2, "", false},
    {"d/rank%r.pftrace", "d-2/rank1.pftrace", 1, 2, "", true},
    {"d/rank%r.pftrace", "d/rank1-2.pftrace", 1, 2, "", false},
    {"rank%r.pftrace", "rank1-2.pftrace", 1, 2, "", true},
    {"/rank%r.pftrace", "/rank1-2.pftrace", 1, 2, "", true},
    {"a%n.pftrace", "a7.pftrace", NO, 7, "", false},
    {"a%n", "a1", NO, 1, "", false},
};

static void a_pattern_stands_for_all_ranks(void **state)
{
    static const struct {
        const char *text, *pattern;
        bool        is_one_name;
    } rows[] = {{"a.pftrace", "a.pftrace", true},
                {"a-rank%r", "a-rank*", false},
                {"%j/rank%r.%p", "77/rank*.*", false},
                {"100%%", "100%", true},
                {"run%n/%c-%l", "run*/train-*", false}};

    (void)state;
    for (size_t i = 0; i < HU_COUNT(rows); i++) {
        const hu_template_facts f = {
            .host = "h", .command = "train", .job_id = "77", .step_id = "", .number = 1, .is_pattern = true};
        char     out[HU_TEMPLATE_BYTES];
        hu_error err = {0};

        assert_int_equal(hu_template_expand(rows[i].text, &f, out, &err), 0);
        assert_string_equal(out, rows[i].pattern);
        assert_int_equal(hu_template_is_one_name(rows[i].text), rows[i].is_one_name);
    }
    assert_false(hu_template_is_one_name("folder/"));
    assert_false(hu_template_is_one_name("/tmp"));
    assert_false(hu_template_is_one_name(NULL));
}

static void names_follow_their_template(void **state)
{
    /* clang-format off */
    static char *const environment[] = {(char *)(uintptr_t)"VAR=a b", (char *)(uintptr_t)"BAD=../x",
                                        (char *)(uintptr_t)"DOT=.x", NULL};
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < HU_COUNT(name_rows); i++) {
        const name_row         *w = &name_rows[i];
        const hu_template_facts f = {.host = "node1",
                                     .command = "train",
                                     .job_id = w->job,
                                     .step_id = w->job[0] ? "0" : "",
                                     .pid = 4711,
                                     .rank = w->rank,
                                     .local_rank = 1,
                                     .world_size = 8,
                                     .node = 2,
                                     .started_s = 100,
                                     .number = w->number,
                                     .numbers_folder = w->numbers_folder,
                                     .environment = environment};
        char                    out[HU_TEMPLATE_BYTES] = "";
        hu_error                err = {0};
        const int               rc = hu_template_expand(w->text, &f, out, &err);

        if (w->path ? rc != 0 || strcmp(out, w->path) != 0 : rc != HU_EUSAGE || !err.text[0])
            fail_msg("row %zu: %s gave %d %s %s", i, w->text, rc, out, err.text);
    }
}

static void templates_are_completed(void **state)
{
    static const struct {
        const char *given, *ranks, *plain;
    } rows[] = {
        {NULL, "holdup-%j.%s-%c/rank%r.pftrace", "holdup-%c-%p.pftrace"},
        {"", "holdup-%j.%s-%c/rank%r.pftrace", "holdup-%c-%p.pftrace"},
        {"run", "run-rank%r.pftrace", "run.pftrace"},
        {"run.pftrace", "run-rank%r.pftrace", "run.pftrace"},
        {"%j/r%r", "%j/r%r.pftrace", "%j/r%r.pftrace"},
        {"run.perfetto-trace", "run-rank%r.perfetto-trace", "run.perfetto-trace"},
        {"runs/", "runs/rank%r.pftrace", "runs/holdup-%c-%p.pftrace"},
        {"/tmp", "/tmp/rank%r.pftrace", "/tmp/holdup-%c-%p.pftrace"},
        {"100%%r", "100%%r-rank%r.pftrace", "100%%r.pftrace"},
    };
    char out[HU_TEMPLATE_BYTES], long_name[HU_TEMPLATE_BYTES + 8];

    (void)state;
    for (size_t i = 0; i < HU_COUNT(rows); i++) {
        assert_int_equal(hu_template_complete(rows[i].given, true, out, NULL), 0);
        assert_string_equal(out, rows[i].ranks);
        assert_int_equal(hu_template_complete(rows[i].given, false, out, NULL), 0);
        assert_string_equal(out, rows[i].plain);
    }
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(hu_template_complete(long_name, false, out, NULL), HU_EUSAGE);
    hu_template_folder("runs/a-%j/b", out);
    assert_string_equal(out, "runs");
    hu_template_folder("a%j/b", out);
    assert_string_equal(out, ".");
    hu_template_folder("/a", out);
    assert_string_equal(out, "/");
}

static void secrets_are_known_by_name(void **state)
{
    static const char *const secret[] = {"TOKEN",
                                         "HF_TOKEN",
                                         "hftoken",
                                         "WANDB_API_KEY",
                                         "AWS_SECRET_ACCESS_KEY",
                                         "--password",
                                         "DB_PASS",
                                         "PGPASSWORD",
                                         "apiKey",
                                         "client_secret",
                                         "GOOGLE_APPLICATION_CREDENTIALS",
                                         "SSH_AUTH_SOCK",
                                         "accesskey",
                                         "SSHPASS",
                                         "DB_PW",
                                         "HF_TOKENS",
                                         "MY_CREDS",
                                         "NCCL_TOKEN",
                                         "SENTRY_DSN",
                                         "SLACK_WEBHOOK"};
    static const char *const plain[] = {"MONKEY",
                                        "keyboard",
                                        "PASSES",
                                        "TOKENIZERS_PARALLELISM",
                                        "--max-tokens",
                                        "--tokenizer",
                                        "passthrough",
                                        "compass",
                                        "AUTHOR",
                                        "BYPASS",
                                        "max_new_tokens",
                                        "VLLM_NUM_BATCHED_TOKENS",
                                        "RANK",
                                        "lr",
                                        ""};

    (void)state;
    for (size_t i = 0; i < HU_COUNT(secret); i++)
        if (!hu_redact_is_secret(hu_str_of(secret[i])))
            fail_msg("%s is a secret", secret[i]);
    for (size_t i = 0; i < HU_COUNT(plain); i++)
        if (hu_redact_is_secret(hu_str_of(plain[i])))
            fail_msg("%s is no secret", plain[i]);
    assert_true(hu_variables_keep(HU_STR("NCCL_DEBUG")));
    assert_true(hu_variables_keep(HU_STR("RANK")));
    assert_true(hu_variables_keep(HU_STR("SLURM_JOB_ID")));
    assert_false(hu_variables_keep(HU_STR("NCCL_TOKEN")));
    assert_false(hu_variables_keep(HU_STR("HOME")));
    assert_false(hu_variables_keep(HU_STR("RANKING")));
    assert_false(hu_variables_keep(HU_STR("HF_TOKEN")));
}

/* Arguments are separated by '\n'. */
static const struct {
    const char *command, *shown;
} commands[] = {
    {"--token=abc", "--token=***"},
    {"API_KEY=abc=d", "API_KEY=***"},
    {"API_KEY=abc d", "API_KEY=***"},
    {"--password\nabc def\nx", "--password\n***\nx"},
    {"--hf-token\nabc", "--hf-token\n***"},
    {"--password\n--next", "--password\n--next"},
    {"--password=x\nabc", "--password=***\nabc"},
    {"token\nabc", "token\nabc"},
    {"--lr=0.1", "--lr=0.1"},
    {"--use-auth-token\ntrue\nx", "--use-auth-token\ntrue\nx"},
    {"https://me:abc@host/x?y=1", "https://***@host/x?y=1"},
    {"https://host/a@b", "https://host/a@b"},
    {"https://host:8080/a@b", "https://host:8080/a@b"},
    {"postgres://me:a/bc@host/db", "postgres://***@host/db"},
    {"https://h/?a=1&token=abc&b=2", "https://h/?a=1&token=***&b=2"},
    {"python\ntrain.py", "python\ntrain.py"},
    {"bash\n-c\nWORLD=1 HF_TOKEN=abc true", "bash\n-c\nWORLD=1 HF_TOKEN=*** true"},
    {"bash\n-c\nx --password 'a b' --lr 3", "bash\n-c\nx --password '***' --lr 3"},
    {"bash\n-c\nx --password a\\ b --lr 3", "bash\n-c\nx --password *** --lr 3"},
    {"bash\n-c\ncurl -H \"Authorization: Bearer abc\" h", "bash\n-c\ncurl -H \"Authorization: Bearer ***\" h"},
    {"-H\nX-Api-Key: a b", "-H\nX-Api-Key: ***"},
    {"-d\n{\"token\": \"a b\", \"lr\": 1}", "-d\n{\"token\": \"***\", \"lr\": 1}"},
    {"-c\nd['password'] = \"a\\\"b\"; f()", "-c\nd['password'] = \"***\"; f()"},
    {"mysql\n-pabc", "mysql\n-p***"},
    {"x\n-pa3bc", "x\n-p***"},
    {"sshpass\n-p\nabc\nssh", "sshpass\n-p\n***\nssh"},
    {"docker\nlogin\n-u\nme\n-p\nabc", "docker\nlogin\n-u\nme\n-p\n***"},
    {"curl\n-u\nme:abc", "curl\n-u\nme:***"},
    {"curl\n-ume:abc", "curl\n-ume:***"},
    {"run\n-u\n1000:1000\n-p\n8080:80", "run\n-u\n1000:1000\n-p\n8080:80"},
    {"me:abc@host:/x", "me:***@host:/x"},
    {"name:tag@sha256:00", "name:tag@sha256:00"},
    {"x hf_abcDEF0123456 y", "x *** y"},
    {"hf_transfer", "hf_transfer"},
    {"-----BEGIN RSA PRIVATE KEY-----\tabc\t-----END RSA PRIVATE KEY----- x", "*** x"},
    {"PWD=/home/x", "PWD=/home/x"},
    {"-pthread\n-p8080:80\n-preset=p7\n-pix_fmt", "-pthread\n-p8080:80\n-preset=p7\n-pix_fmt"},
    {"/opt/token:/usr/lib", "/opt/token:/usr/lib"},
    {"std::token", "std::token"},
    {"curl\n-sSu\nme:abc\nx", "curl\n-sSu\nme:***\nx"},
    {"curl\n-sSfu\nme:abc", "curl\n-sSfu\nme:***"},
    {"curl -Lu me:abc x", "curl -Lu me:*** x"},
    {"curl -sSu \"me:abc\" x", "curl -sSu \"me:***\" x"},
    {"curl -sSume:abc x", "curl -sSume:*** x"},
    {"-cpu\nhost:x", "-cpu\nhost:x"},
    {"run\n-itu\n1000:1000", "run\n-itu\n1000:1000"},
    {"http\n-a\nme:abc\nh", "http\n-a\nme:***\nh"},
    {"https -a me:abc h", "https -a me:*** h"},
    {"get http://h -a b:c", "get http://h -a b:c"},
    {"lftp\n-u\nme,abc\nh", "lftp\n-u\nme,***\nh"},
    {"lftp -u me,abc h; curl -u me:abc", "lftp -u me,*** h; curl -u me:***"},
    {"lftp -ume,abc h", "lftp -ume,*** h"},
    {"tar\n-u\na,b", "tar\n-u\na,b"},
    {"smbclient\n-U\nme%abc\n//h", "smbclient\n-U\nme%***\n//h"},
    {"smbclient -Ume%abc //h", "smbclient -Ume%*** //h"},
    {"SSHPASS=abc\nDBPASS=abc\nDB_PW=abc", "SSHPASS=***\nDBPASS=***\nDB_PW=***"},
    {"--dbpass\nabc\n--pw\nabc", "--dbpass\n***\n--pw\n***"},
    {"h?pw=abc&a=1", "h?pw=***&a=1"},
    {"--creds=abc\nMY_CRED=abc", "--creds=***\nMY_CRED=***"},
    {"--bypass\nx\nCOMPASS=x\n--lowpass=x\n--trespass=x", "--bypass\nx\nCOMPASS=x\n--lowpass=x\n--trespass=x"},
    {"--tokens=abc\n--hf-tokens\nabc", "--tokens=***\n--hf-tokens\n***"},
    {"--tokens=12ab34\n--tokens=a12", "--tokens=***\n--tokens=***"},
    {"--max-new-tokens\n128\n--num-tokens\n8\ntokens=512", "--max-new-tokens\n128\n--num-tokens\n8\ntokens=512"},
    {"--tokens\n512\n--tokens\n8k\ntokens=1.5e6", "--tokens\n512\n--tokens\n8k\ntokens=1.5e6"},
    {"{\"tokens\": [1, 2], \"lr\": 1}", "{\"tokens\": [1, 2], \"lr\": 1}"},
    {"wandb\nlogin\n--host\nhttps://w.corp\n0123456789abcdef0123456789abcdef01234567",
     "wandb\nlogin\n--host\nhttps://w.corp\n***"},
    {"wandb login --host=https://w.corp --relogin 0123456789abcdef0123456789abcdef01234567 x",
     "wandb login --host=https://w.corp --relogin *** x"},
    {"wandb login '0123456789abcdef0123456789abcdef01234567'", "wandb login '***'"},
    {"login x 0123456789abcdef0123456789abcdef01234567", "login x 0123456789abcdef0123456789abcdef01234567"},
    {"login --a && x --rev 0123456789abcdef0123456789abcdef01234567",
     "login --a && x --rev 0123456789abcdef0123456789abcdef01234567"},
    {"https://hooks.slack.com/services/T012345/B012345/abcdefABCDEF0123 x", "https://hooks.slack.com/services/*** x"},
    {"https://discord.com/api/webhooks/0123456789/ab-cd_efABCDEF0123", "https://discord.com/api/webhooks/***"},
    {"https://api.telegram.org/bot123456:abcdefABCDEF-0123/send", "https://api.telegram.org/bot***/send"},
    {"dapi0123456789abcdef0123456789abcdef x", "*** x"},
    {"dapi_version", "dapi_version"},
    {"mpiexec\n-genv\nWANDB_API_KEY\nabc\nx", "mpiexec\n-genv\nWANDB_API_KEY\n***\nx"},
    {"mpiexec -n 2 -env HF_TOKEN abc x", "mpiexec -n 2 -env HF_TOKEN *** x"},
    {"-genv\nOMP_NUM_THREADS\n4", "-genv\nOMP_NUM_THREADS\n4"},
    {"csh -c 'setenv HF_TOKEN abc ; x'", "csh -c 'setenv HF_TOKEN *** ; x'"},
    {"aws\nconfigure\nset\naws_secret_access_key\nabc", "aws\nconfigure\nset\naws_secret_access_key\n***"},
    {"set -gx HF_TOKEN abc", "set -gx HF_TOKEN ***"},
    {"set -e; key x", "set -e; key x"},
    {"ngrok\nauthtoken\nabc", "ngrok\nauthtoken\n***"},
    {"ngrok config add-authtoken abc", "ngrok config add-authtoken ***"},
    {"-c\nos.environ.setdefault('WANDB_API_KEY', 'abc'); f(1)", "-c\nos.environ.setdefault('WANDB_API_KEY', '***'); f(1)"},
    {"python -c \"os.environ.setdefault('WANDB_API_KEY','abc');f(1)\" x",
     "python -c \"os.environ.setdefault('WANDB_API_KEY','***');f(1)\" x"},
    {"-c\nos.environ.setdefault('OMP_NUM_THREADS', '4')", "-c\nos.environ.setdefault('OMP_NUM_THREADS', '4')"},
    {"['TOKEN', 'x']", "['TOKEN', 'x']"},
    {"", ""},
};

/* Each line becomes an argument, and back. */
static void redact_lines(const char *lines, char out[256])
{
    const size_t bytes = strlen(lines);
    char         text[256];
    size_t       n;

    for (size_t i = 0; i < bytes; i++)
        text[i] = lines[i] == '\n' ? '\0' : lines[i];
    n = hu_redact_arguments((hu_str){text, bytes}, out, 256);
    for (size_t i = 0; i + 1 < n; i++)
        out[i] = out[i] ? out[i] : '\n';
    out[n] = '\0';
}

static void arguments_lose_their_secrets(void **state)
{
    char once[256], twice[256];

    (void)state;
    for (size_t i = 0; i < HU_COUNT(commands); i++) {
        redact_lines(commands[i].command, once);
        assert_string_equal(once, commands[i].shown);
        redact_lines(once, twice);
        assert_string_equal(twice, once);
    }
}

/* Nothing behind `room` is touched, and what is cut shows no more than what is not. */
static void redacted_texts_keep_to_their_room(void **state)
{
    const hu_str text = HU_STR("a --token abc https://me:abc@h/ b");
    char         whole[64], out[64];
    const size_t n = hu_redact_text(text, whole, sizeof whole);

    (void)state;
    assert_true(n == 33 - 3 + 3 - 6 + 3);
    for (size_t room = 0; room <= n; room++) {
        memset(out, '#', sizeof out);
        assert_true(hu_redact_text(text, out, room) == room);
        assert_memory_equal(out, whole, room);
        assert_true(out[room] == '#');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_told_by_launchers),  cmocka_unit_test(long_values_are_cut),
        cmocka_unit_test(names_follow_their_template),  cmocka_unit_test(a_pattern_stands_for_all_ranks),
        cmocka_unit_test(templates_are_completed),      cmocka_unit_test(secrets_are_known_by_name),
        cmocka_unit_test(arguments_lose_their_secrets), cmocka_unit_test(redacted_texts_keep_to_their_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
