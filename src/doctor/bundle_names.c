/* SPDX-License-Identifier: Apache-2.0
 * bundle_names.c - redaction of a bundle: secrets by protocol/redact.h, names by words that this machine and its user go by.
 *
 * A variable is in a bundle only if it is on the list: most others are nobody's business, and any may hold a secret
 * that does not look like one.  Of a mount the options stay and its server goes, of the kernel's log the lines of GPUs
 * and their links stay, of another process's command line the program stays.
 */
#include "doctor/bundle_names.h"

#include "base/glob.h"
#include "protocol/redact.h"

/* Variables whose values a check reads. */
static const char *const kept[] = {
    "NCCL_*",
    "CUDA_*",
    "NVIDIA_*",
    "NVTE_*",
    "OMP_*",
    "GOMP_*",
    "KMP_*",
    "MKL_*",
    "OPENBLAS_*",
    "NUMEXPR_*",
    "TORCH_*",
    "TORCHELASTIC_*",
    "PYTORCH_*",
    "GLOO_*",
    "UCX_*",
    "FI_*",
    "XLA_*",
    "JAX_*",
    "TF_*",
    "HSA_*",
    "HIP_*",
    "ROCR_*",
    "ROCM_*",
    "GPU_*",
    "ZE_*",
    "OMPI_COMM_WORLD_*",
    "PMI_RANK",
    "PMI_SIZE",
    "SLURM_NTASKS*",
    "SLURM_CPU*",
    "SLURM_LOCALID",
    "SLURM_PROCID",
    "SLURM_NNODES",
    "SLURM_JOB_ID",
    "SLURM_JOB_NUM_NODES",
    "SLURM_GPUS*",
    "SLURM_JOB_GPUS",
    "SLURM_TASKS_PER_NODE",
    "SLURM_MEM*",
    "SLURM_STEP_ID",
    "WORLD_SIZE",
    "RANK",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "NODE_RANK",
    "GROUP_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONMALLOC",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "HOME",
    "TMPDIR",
    "MALLOC_*",
    "TOKENIZERS_PARALLELISM",
    "ASAN_OPTIONS",
    "TSAN_OPTIONS",
    "ACCELERATE_*",
    "DS_*",
    "KUBERNETES_SERVICE_HOST",
    "container",
};

/* Variables that name a proxy: that there is one matters, not which. */
static const char *const proxies[] = {"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"};

/* Lines of the kernel's log that a check looks for. */
static const char *const logged[] = {"nvrm", "xid", "nvidia", "amdgpu", "xe 0000", "i915", "mlx", "pcieport", "aer", "mce:"};

/* What is no name of a person or a machine, and words of the kernel's that someone may be called. */
static const char *const common[] = {
    "root", "user", "users", "host", "node", "localhost", "admin",   "nobody", "home",
    "core", "cpu",  "gpu",   "data", "job",  "test",      "dev",     "sys",    "proc",
    "none", "on",   "off",   "all",  "nvme", "ubuntu",    "default", "local",  "vm",
};

static bool is_common(hu_str name)
{
    bool has_letter = false;

    for (size_t i = 0; i < HU_COUNT(common); i++)
        if (hu_str_equal(name, hu_str_of(common[i])))
            return true;
    for (size_t i = 0; i < name.n; i++)
        has_letter |= hu_char_is_letter(name.p[i]);
    return name.n < 2 || !has_letter;
}

/* 10.9.8.7; of the node itself (127.0.0.1) and of everybody (0.0.0.0) it says nothing. */
static bool is_address(hu_str name)
{
    size_t dots = 0;

    for (size_t i = 0; i < name.n; i++)
        dots += name.p[i] == '.';
    return dots == 3 && name.p[0] != '0' && !hu_str_starts(name, HU_STR("127."));
}

static bool is_word(char c)
{
    return hu_char_is_letter(c) || (c >= '0' && c <= '9');
}

static const char *variable(const char *const *environment, const char *name)
{
    const size_t n = strlen(name);

    for (const char *const *e = environment; *e; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
            return *e + n + 1;
    return "";
}

static bool learn_person(hu_names *names, hu_arena *arena, hu_str name)
{
    const hu_alias a = {hu_arena_copy(arena, name), HU_STR("user")};

    return is_common(name) || (a.from.p && hu_vec_push(arena, &names->people, a));
}

/* The whole name, and its first label: node17.corp.example and node17. */
static bool learn_machine(hu_names *names, hu_arena *arena, const char *host, const char *alias)
{
    const hu_str whole = hu_str_of(host), label = {host, strcspn(host, ".")};
    const hu_str both[] = {whole, label};

    for (size_t i = 0; i < HU_COUNT(both); i++) {
        const hu_alias a = {hu_arena_copy(arena, both[i]), hu_str_of(alias)};

        if (i && label.n == whole.n)
            continue;
        if ((!is_common(both[i]) || is_address(both[i])) && (!a.from.p || !hu_vec_push(arena, &names->machines, a)))
            return false;
    }
    return true;
}

/* The host of scheme://user:password@HOST:port/. */
static bool learn_proxies(hu_names *names, hu_arena *arena, const char *const *environment)
{
    for (size_t i = 0; i < HU_COUNT(proxies); i++) {
        const char *url = variable(environment, proxies[i]), *begin = strstr(url, "://"), *at;
        hu_str      host;

        begin = begin ? begin + 3 : url;
        at = memrchr(begin, '@', strcspn(begin, "/"));
        begin = at ? at + 1 : begin;
        host = hu_arena_copy(arena, (hu_str){begin, strcspn(begin, ":/")});
        if (!host.p || !learn_machine(names, arena, host.p, "proxy"))
            return false;
    }
    return true;
}

bool hu_names_learn(hu_names *names, hu_arena *arena, const char *host, const char *const *environment)
{
    static const char *const people[] = {"USER", "LOGNAME", "SUDO_USER", "SLURM_JOB_USER"};

    if (names->keeps_names)
        return true;
    for (size_t i = 0; i < HU_COUNT(people); i++)
        if (!learn_person(names, arena, hu_str_of(variable(environment, people[i]))))
            return false;
    return learn_person(names, arena, hu_str_base_name(hu_str_of(variable(environment, "HOME")))) &&
           learn_machine(names, arena, host, "node") &&
           learn_machine(names, arena, variable(environment, "SLURMD_NODENAME"), "node") &&
           learn_machine(names, arena, variable(environment, "MASTER_ADDR"), "master") &&
           learn_proxies(names, arena, environment);
}

typedef HU_VEC(char) buffer;

static bool add(hu_arena *arena, buffer *b, hu_str s)
{
    if (!hu_vec_reserve(arena, b, s.n + 1))
        return false;
    if (s.n)
        memcpy(b->at + b->n, s.p, s.n);
    b->n += s.n;
    return true;
}

/* The name that begins at text.p[i] as a whole word, or NULL. */
static const hu_alias *name_at(const hu_names *names, hu_str text, size_t i, bool with_people)
{
    const hu_alias *lists[] = {names->machines.at, names->people.at};
    const size_t    counts[] = {names->machines.n, with_people ? names->people.n : 0};

    if (i && is_word(text.p[i - 1]))
        return NULL;
    for (size_t l = 0; l < HU_COUNT(lists); l++)
        for (size_t k = 0; k < counts[l]; k++) {
            const hu_str from = lists[l][k].from;

            if (hu_str_starts((hu_str){text.p + i, text.n - i}, from) &&
                (i + from.n == text.n || !is_word(text.p[i + from.n])))
                return &lists[l][k];
        }
    return NULL;
}

static hu_str replace_names(const hu_names *names, hu_arena *arena, hu_str text, bool with_people)
{
    buffer b = {0};
    size_t from = 0;

    if (!names->people.n && !names->machines.n)
        return text;
    for (size_t i = 0; i < text.n; i++) {
        const hu_alias *a = name_at(names, text, i, with_people);

        if (!a)
            continue;
        if (!add(arena, &b, (hu_str){text.p + from, i - from}) || !add(arena, &b, a->to))
            return (hu_str){NULL, 0};
        from = i + a->from.n;
        i = from - 1;
    }
    if (from == 0)
        return text;
    return add(arena, &b, (hu_str){text.p + from, text.n - from}) ? (hu_str){b.at, b.n} : (hu_str){NULL, 0};
}

hu_str hu_names_redact(const hu_names *names, hu_arena *arena, hu_str text, bool is_kernel)
{
    const size_t room = text.n + text.n / 2 + 64; /* three stars may stand for less than three bytes */
    char        *clean = hu_arena_alloc(arena, room);

    if (!clean)
        return (hu_str){NULL, 0};
    if (is_kernel)
        return replace_names(names, arena, text, false);
    return replace_names(names, arena, (hu_str){clean, hu_redact_text(text, clean, room)}, true);
}

hu_str hu_names_redact_path(const hu_names *names, hu_arena *arena, hu_str path)
{
    static const char *const kernel[] = {"/sys/", "/proc/", "/dev/", "sys/", "proc/", "dev/"};

    for (size_t i = 0; i < HU_COUNT(kernel); i++)
        if (hu_str_starts(path, hu_str_of(kernel[i])))
            return path;
    return replace_names(names, arena, path, true);
}

/* Takes the first line off `text`, with its end. */
static hu_str next_line(hu_str *text)
{
    const char  *end = memchr(text->p, '\n', text->n);
    const size_t n = end ? (size_t)(end - text->p) + 1 : text->n;
    const hu_str line = {text->p, n};

    *text = (hu_str){text->p + n, text->n - n};
    return line;
}

/* server:/export and //server/share of a mount's source; addr=, clientaddr=, username= and the like of its options. */
static bool add_mount(hu_arena *arena, buffer *b, hu_str line)
{
    static const char *const who[] = {
        "addr=", "clientaddr=", "mountaddr=", "username=", "user=", "domain=", "mon_addr=", "password=", "secret="};
    bool is_fine = true;

    for (size_t i = 0; i < line.n && is_fine;) {
        const size_t word = i;
        hu_str       w;
        const char  *colon;

        while (i < line.n && !memchr(" ,\n", line.p[i], 3))
            i++;
        w = (hu_str){line.p + word, i - word};
        for (size_t k = 0; k < HU_COUNT(who); k++)
            if (hu_str_starts(w, hu_str_of(who[k]))) {
                is_fine = add(arena, b, hu_str_of(who[k])) && add(arena, b, HU_STR("***"));
                w = (hu_str){"", 0};
            }
        colon = w.n ? memmem(w.p, w.n, ":/", 2) : NULL;
        if (colon && w.p[0] != '/') {
            is_fine = is_fine && add(arena, b, HU_STR("server"));
            w = (hu_str){colon, w.n - (size_t)(colon - w.p)};
        } else if (hu_str_starts(w, HU_STR("//"))) {
            const char *share = memchr(w.p + 2, '/', w.n - 2);

            is_fine = is_fine && add(arena, b, HU_STR("//server"));
            w = share ? (hu_str){share, w.n - (size_t)(share - w.p)} : (hu_str){"", 0};
        }
        is_fine = is_fine && add(arena, b, w);
        if (i < line.n)
            is_fine = is_fine && add(arena, b, (hu_str){line.p + i++, 1});
    }
    return is_fine;
}

static bool is_logged(hu_str line)
{
    for (size_t i = 0; i < HU_COUNT(logged); i++)
        if (hu_str_has_lower(line, hu_str_of(logged[i])))
            return true;
    return false;
}

static hu_str by_lines(hu_arena *arena, hu_str text, bool is_mounts)
{
    buffer b = {0};
    bool   is_fine = add(arena, &b, HU_STR(""));

    while (text.n && is_fine) {
        const hu_str line = next_line(&text);

        if (is_mounts)
            is_fine = add_mount(arena, &b, line);
        else if (is_logged(line))
            is_fine = add(arena, &b, line);
    }
    return is_fine ? (hu_str){b.at, b.n} : (hu_str){NULL, 0};
}

hu_str hu_names_redact_file(const hu_names *names, hu_arena *arena, const char *path, hu_str content)
{
    const hu_str name = hu_str_of(path), base = hu_str_base_name(name);
    const bool   is_proc = hu_str_starts(name, HU_STR("/proc/"));

    if (is_proc && hu_str_equal(base, HU_STR("environ")))
        return HU_STR("");
    if (is_proc && hu_str_equal(base, HU_STR("cmdline")) && !hu_str_equal(name, HU_STR("/proc/cmdline")))
        content.n = content.n ? strnlen(content.p, content.n) : 0;
    else if (memchr(content.p, '\0', content.n))
        return content; /* bytes of a device */
    else if (hu_str_equal(name, HU_STR("/dev/kmsg")))
        content = by_lines(arena, content, false);
    else if (!names->keeps_names && is_proc &&
             (hu_str_equal(base, HU_STR("mountinfo")) || hu_str_equal(base, HU_STR("mounts"))))
        content = by_lines(arena, content, true);
    if (!content.p)
        return content;
    if (is_proc && hu_str_equal(base, HU_STR("status"))) /* signals, which look like signatures */
        return replace_names(names, arena, content, true);
    return hu_names_redact(names, arena, content, hu_str_starts(name, HU_STR("/sys/")));
}

static bool is_one_of(hu_str name, const char *const *patterns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hu_glob_match(hu_str_of(patterns[i]), name))
            return true;
    return false;
}

hu_str hu_names_redact_environment(const hu_names *names, hu_arena *arena, const char *const *environment)
{
    buffer b = {0};
    bool   is_fine = add(arena, &b, HU_STR(""));

    for (const char *const *e = environment; *e && is_fine; e++) {
        const hu_str all = hu_str_of(*e), name = {*e, strcspn(*e, "=")};
        hu_str       line = all;

        if (memchr(all.p, '\n', all.n))
            continue;
        if (is_one_of(name, proxies, HU_COUNT(proxies)))
            is_fine = add(arena, &b, name) && add(arena, &b, HU_STR("=http://proxy:3128\n"));
        if (!is_one_of(name, kept, HU_COUNT(kept)))
            continue;
        line = hu_redact_is_secret(name) ? HU_STR("***") : hu_names_redact(names, arena, all, false);
        if (hu_redact_is_secret(name))
            is_fine = add(arena, &b, name) && add(arena, &b, HU_STR("="));
        is_fine = is_fine && line.p && add(arena, &b, line) && add(arena, &b, HU_STR("\n"));
    }
    return is_fine ? (hu_str){b.at, b.n} : (hu_str){NULL, 0};
}
