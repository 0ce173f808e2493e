/* SPDX-License-Identifier: Apache-2.0
 * check_environment.c - variables that somebody set once to look into a problem, and that slow or stop jobs since.
 *
 * NVIDIA's word on NCCL's (user guide, "Environment Variables"): those that switch something off are for debugging, should
 * not stay in scripts, and can cause slow jobs, crashes and hangs.
 */
#include <stdlib.h>
#include <string.h>

#include "doctor/gpu_facts.h"
#include "doctor/pci.h"
#include "protocol/redact.h"

enum { SHOWN_MOST = 120, SETTINGS_MOST = 128 };

/* The value for people: short, and without a secret. */
static const char *shown(hu_doctor *d, const char *name, const char *value)
{
    const char  *whole = hu_doctor_format(d, "%s=%s", name, value);
    hu_redactor  r = {0};
    char         out[SHOWN_MOST];
    const size_t n = hu_redact_argument(&r, hu_str_of(whole), out, sizeof out - 1);

    out[n] = '\0';
    return hu_doctor_format(d, "%s%s", out, n == sizeof out - 1 ? "..." : "");
}

/* False after it said that a captured tree has no variables. */
static bool has_variables(hu_doctor *d, const hu_check *check)
{
    if (!hu_doctor_is_capture(d) || hu_doctor_exists(d, "/holdup/environment"))
        return true;
    hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "the captured tree has no variables");
    return false;
}

/* -- settings of NCCL: the environment, then the user's file, then the machine's ------------------------------------ */

typedef struct {
    const char *name, *value, *where;
} setting;

typedef struct {
    setting at[SETTINGS_MOST];
    size_t  n;
} settings;

/* What came first holds. */
static void add(settings *s, const char *name, const char *value, const char *where)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->at[i].name, name) == 0)
            return;
    if (s->n < SETTINGS_MOST)
        s->at[s->n++] = (setting){name, value, where};
}

static void add_file(hu_doctor *d, settings *s, const char *path)
{
    const char *text;

    hu_doctor_read(d, path, &text);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t       n = strcspn(line, "\n#");
        const char  *begin = line + strspn(line, " \t");
        const size_t name = strcspn(begin, "=\n# ");

        while (n && (line[n - 1] == ' ' || line[n - 1] == '\t' || line[n - 1] == '\r'))
            n--;
        if (strncmp(begin, "NCCL_", 5) == 0 && begin[name] == '=' && begin + name < line + n)
            add(s, hu_doctor_format(d, "%.*s", (int)name, begin),
                hu_doctor_format(d, "%.*s", (int)(line + n - (begin + name + 1)), begin + name + 1), path);
    }
}

static const settings *nccl_settings(hu_doctor *d)
{
    settings          *s = hu_arena_calloc(hu_doctor_arena(d), 1, sizeof *s);
    const char *const *environment = hu_doctor_environment(d);
    const char        *home = hu_doctor_variable(d, "HOME"), *file = hu_doctor_variable(d, "NCCL_CONF_FILE");

    for (; s && environment && *environment; environment++) {
        const size_t name = strcspn(*environment, "=");

        if (strncmp(*environment, "NCCL_", 5) == 0 && (*environment)[name] == '=')
            add(s, hu_doctor_format(d, "%.*s", (int)name, *environment), *environment + name + 1, "the environment");
    }
    if (s && file && *file)
        add_file(d, s, file);
    else if (s && home && *home)
        add_file(d, s, hu_doctor_format(d, "%s/.nccl.conf", home));
    if (s)
        add_file(d, s, "/etc/nccl.conf");
    return s;
}

static bool is_on(const char *value)
{
    return *value && strcmp(value, "0") != 0;
}

/* Of "eth", "=eth0", "^docker", lists of them: does it let this name in?  InfiniBand's may have a port behind a colon. */
static bool lets_in(const char *filter, const char *name)
{
    const bool is_out = *filter == '^', is_exact = filter[is_out] == '=';
    bool       matches = false;

    for (const char *p = filter + is_out + is_exact; *p && !matches; p += strcspn(p, ","), p += *p == ',') {
        const size_t n = strcspn(p, ",:");

        matches = n && strncmp(name, p, n) == 0 && (!is_exact || name[n] == '\0');
    }
    return matches != is_out;
}

/* How many names of a folder it lets in. */
static size_t count_let_in(hu_doctor *d, const char *folder, const char *filter, size_t *n_all, bool *has_only_local)
{
    const char *const *names;
    size_t             n_in = 0;

    *n_all = 0;
    *has_only_local = true;
    hu_doctor_list(d, folder, &names, n_all);
    for (size_t i = 0; i < *n_all; i++)
        if (lets_in(filter, names[i])) {
            n_in++;
            *has_only_local &= strcmp(names[i], "lo") == 0 || strncmp(names[i], "docker", 6) == 0 ||
                               strncmp(names[i], "virbr", 5) == 0;
        }
    return n_in;
}

static const struct {
    const char         *name, *words;
    hu_verdict_of_check verdict;
} switched_off[] = {
    {"NCCL_P2P_DISABLE", "GPUs do not read each other's memory", HU_VERDICT_WARNING},
    {"NCCL_SHM_DISABLE", "processes of a node talk over the network", HU_VERDICT_WARNING},
    {"NCCL_NVLS_ENABLE=0", "no reduction in NVSwitches", HU_VERDICT_NOTE},
    {"NCCL_CUMEM_ENABLE=0", "buffers are not shared by CUDA's newer calls", HU_VERDICT_NOTE},
    {"NCCL_P2P_LEVEL", "how far GPUs may be apart to read each other's memory is fixed", HU_VERDICT_NOTE},
    {"NCCL_NET_GDR_LEVEL", "how far a card may be apart for GPUDirect RDMA is fixed", HU_VERDICT_NOTE},
    {"NCCL_ALGO", "the algorithm is fixed", HU_VERDICT_NOTE},
    {"NCCL_PROTO", "the protocol is fixed", HU_VERDICT_NOTE},
    {"NCCL_MAX_NCHANNELS", "the number of channels is limited", HU_VERDICT_NOTE},
    {"NCCL_MAX_CTAS", "the number of channels is limited", HU_VERDICT_NOTE},
    {"NCCL_BUFFSIZE", "the size of buffers is fixed", HU_VERDICT_NOTE},
    {"NCCL_IB_GID_INDEX", "the GID is fixed, which newer NCCL finds itself", HU_VERDICT_NOTE},
    {"NCCL_BLOCKING_WAIT", "the host waits for each collective", HU_VERDICT_WARNING},
};

/* "NAME" is on, or "NAME=VALUE" is so. */
static bool is_so(const setting *s, const char *rule)
{
    const size_t n = strcspn(rule, "=");

    if (strlen(s->name) != n || strncmp(s->name, rule, n) != 0)
        return false;
    if (rule[n])
        return strcmp(s->value, rule + n + 1) == 0;
    return strstr(rule, "DISABLE") || strstr(rule, "BLOCKING") ? is_on(s->value) : *s->value != '\0';
}

static size_t look_at_interfaces(hu_doctor *d, const hu_check *check, const setting *s)
{
    const bool  is_infiniband = strcmp(s->name, "NCCL_IB_HCA") == 0;
    const char *folder = is_infiniband ? "/sys/class/infiniband" : "/sys/class/net";
    size_t      n_all, n_in;
    bool        is_local;

    if (!is_infiniband && strcmp(s->name, "NCCL_SOCKET_IFNAME") != 0)
        return 0;
    n_in = count_let_in(d, folder, s->value, &n_all, &is_local);
    if (n_all == 0)
        return 0; /* NCCL does without InfiniBand; or nothing is known of interfaces */
    if (n_in == 0)
        hu_doctor_say(d, check, is_infiniband ? HU_VERDICT_WARNING : HU_VERDICT_FAILURE, s->name,
                      hu_doctor_format(d, "unset it, or name what %s has", folder), "%s (%s) names nothing that is in %s",
                      shown(d, s->name, s->value), s->where, folder);
    else if (!is_infiniband && is_local)
        hu_doctor_say(d, check, HU_VERDICT_WARNING, s->name, NULL, "%s (%s) leaves only interfaces that reach no other node",
                      shown(d, s->name, s->value), s->where);
    return n_in == 0 || (!is_infiniband && is_local);
}

static void look_at_nccl(hu_doctor *d, const hu_check *check)
{
    const settings *all = nccl_settings(d);
    const char     *gloo = hu_doctor_variable(d, "GLOO_SOCKET_IFNAME"), *const * names;
    size_t          n_said = 0, n_names = 0;

    if (!has_variables(d, check))
        return;
    for (size_t i = 0; all && i < all->n; i++) {
        const setting *s = &all->at[i];

        n_said += look_at_interfaces(d, check, s);
        if (strcmp(s->name, "NCCL_DEBUG") == 0 &&
            (strcasecmp(s->value, "INFO") == 0 || strcasecmp(s->value, "TRACE") == 0)) {
            n_said++;
            hu_doctor_say(d, check, HU_VERDICT_NOTE, s->name, "NCCL_DEBUG=WARN", "%s (%s): each rank writes much to its log",
                          shown(d, s->name, s->value), s->where);
        }
        hu_doctor_list(d, "/sys/class/infiniband", &names, &n_names);
        if (strcmp(s->name, "NCCL_IB_DISABLE") == 0 && is_on(s->value) && n_names) {
            n_said++;
            hu_doctor_say(d, check, HU_VERDICT_WARNING, s->name, NULL, "%s (%s), and /sys/class/infiniband has %s",
                          shown(d, s->name, s->value), s->where, names[0]);
        }
        for (size_t k = 0; k < HU_COUNT(switched_off); k++)
            if (is_so(s, switched_off[k].name)) {
                n_said++;
                hu_doctor_say(d, check, switched_off[k].verdict, s->name, NULL, "%s (%s): %s", shown(d, s->name, s->value),
                              s->where, switched_off[k].words);
            }
    }
    n_names = 0;
    if (gloo && *gloo && hu_doctor_list(d, "/sys/class/net", &names, &n_names) == HU_LOOK_OK && n_names) {
        bool is_there = false;

        for (size_t i = 0; i < n_names; i++)
            is_there |= strncmp(gloo, names[i], strlen(names[i])) == 0 && strchr(",", gloo[strlen(names[i])]);
        if (!is_there) {
            n_said++;
            hu_doctor_say(d, check, HU_VERDICT_FAILURE, "GLOO_SOCKET_IFNAME", NULL,
                          "%s names nothing that is in /sys/class/net", shown(d, "GLOO_SOCKET_IFNAME", gloo));
        }
    }
    if (n_said == 0)
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL,
                      "no setting in the environment, NCCL's files of user and machine that slows or stops it");
}

/* -- of CUDA, PyTorch and Python ------------------------------------------------------------------------------------ */

static const struct {
    const char         *name, *value; /* value NULL: anything but 0 and nothing */
    hu_verdict_of_check verdict;
    const char         *words;
} traps[] = {
    {"CUDA_LAUNCH_BLOCKING", NULL, HU_VERDICT_WARNING, "the CPU waits for each kernel"},
    {"HIP_LAUNCH_BLOCKING", NULL, HU_VERDICT_WARNING, "the CPU waits for each kernel"},
    {"AMD_SERIALIZE_KERNEL", NULL, HU_VERDICT_WARNING, "the CPU waits for each kernel"},
    {"TORCH_DISTRIBUTED_DEBUG", "DETAIL", HU_VERDICT_WARNING, "each collective is compared between ranks first"},
    {"TORCH_NCCL_BLOCKING_WAIT", NULL, HU_VERDICT_WARNING, "the CPU waits for each collective"},
    {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", HU_VERDICT_NOTE, "a rank that fails leaves the others waiting for ever"},
    {"PYTORCH_NO_CUDA_MEMORY_CACHING", NULL, HU_VERDICT_WARNING, "each tensor is a call to cudaMalloc and cudaFree"},
    {"PYTORCH_NO_HIP_MEMORY_CACHING", NULL, HU_VERDICT_WARNING, "each tensor is a call to hipMalloc and hipFree"},
    {"TORCHDYNAMO_DISABLE", NULL, HU_VERDICT_NOTE, "torch.compile does nothing"},
    {"TORCHINDUCTOR_FORCE_DISABLE_CACHES", NULL, HU_VERDICT_NOTE, "each start compiles anew"},
    {"CUDA_CACHE_DISABLE", NULL, HU_VERDICT_NOTE, "PTX is compiled anew at each start"},
    {"CUDA_MODULE_LOADING", "EAGER", HU_VERDICT_NOTE,
     "all kernels are loaded at the start, which takes time and GPU memory"},
    {"CUDA_DEVICE_MAX_CONNECTIONS", "1", HU_VERDICT_NOTE,
     "kernels of all streams share one queue: right for Megatron-LM's tensor parallelism, slow elsewhere"},
    {"NVIDIA_TF32_OVERRIDE", "0", HU_VERDICT_NOTE, "TF32 is off whatever the program asks for"},
    {"XLA_PYTHON_CLIENT_ALLOCATOR", "platform", HU_VERDICT_WARNING, "JAX calls the driver for each array"},
    {"PYTHONMALLOC", "debug", HU_VERDICT_WARNING, "Python checks each allocation"},
    {"PYTHONMALLOC", "malloc_debug", HU_VERDICT_WARNING, "Python checks each allocation"},
    {"PYTHONDEVMODE", NULL, HU_VERDICT_WARNING, "Python checks each allocation"},
};

static const char *const sanitizers[] = {"libasan", "libtsan", "libubsan", "liblsan", "vgpreload"};

/* CUDA_VISIBLE_DEVICES: a list of numbers or UUIDs; the first one that is none ends it. */
static size_t look_at_visible(hu_doctor *d, const hu_check *check)
{
    const char         *value = hu_doctor_variable(d, "CUDA_VISIBLE_DEVICES");
    const hu_gpu_facts *f = hu_gpu_facts_of(d);
    char               *end;
    size_t              n_said = 0;

    if (!value || !f->is_known || f->code != 0 || f->n == 0)
        return 0;
    if (!*value || *value == '-' || strcmp(value, "NoDevFiles") == 0) {
        hu_doctor_say(d, check, HU_VERDICT_WARNING, "CUDA_VISIBLE_DEVICES", NULL, "%s hides all GPUs",
                      shown(d, "CUDA_VISIBLE_DEVICES", value));
        return 1;
    }
    for (const char *p = value; *p; p = end + (*end == ',')) {
        const unsigned long number = strtoul(p, &end, 10);

        if (end == p || (*end && *end != ','))
            return n_said; /* a UUID */
        if (number >= f->n && n_said++ == 0)
            hu_doctor_say(d, check, HU_VERDICT_WARNING, "CUDA_VISIBLE_DEVICES", NULL,
                          "%s: there is no GPU %lu, and CUDA takes nothing from there on (%zu GPUs)",
                          shown(d, "CUDA_VISIBLE_DEVICES", value), number, f->n);
    }
    return n_said;
}

static void look_at_traps(hu_doctor *d, const hu_check *check)
{
    const char *preload = hu_doctor_variable(d, "LD_PRELOAD");
    size_t      n_said;

    if (!has_variables(d, check))
        return;
    n_said = look_at_visible(d, check);

    for (size_t i = 0; i < HU_COUNT(traps); i++) {
        const char *value = hu_doctor_variable(d, traps[i].name);

        if (!value || (traps[i].value ? strcmp(value, traps[i].value) != 0 : !is_on(value)))
            continue;
        n_said++;
        hu_doctor_say(d, check, traps[i].verdict, traps[i].name, NULL, "%s: %s", shown(d, traps[i].name, value),
                      traps[i].words);
    }
    for (size_t i = 0; preload && i < HU_COUNT(sanitizers); i++)
        if (strstr(preload, sanitizers[i])) {
            n_said++;
            hu_doctor_say(d, check, HU_VERDICT_WARNING, "LD_PRELOAD", NULL,
                          "%s: a checker of memory or threads, many times slower", shown(d, "LD_PRELOAD", preload));
        }
    if (n_said == 0)
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "no variable for debugging is set");
}

/* -- proxies -------------------------------------------------------------------------------------------------------- */

static const char *first_set(hu_doctor *d, const char *const *names, const char **name)
{
    for (; *names; names++) {
        const char *value = hu_doctor_variable(d, *names);

        if (value && *value) {
            *name = *names;
            return value;
        }
    }
    return NULL;
}

/* Does a list such as "localhost,.cluster.local,10.0.0.5" have this host? */
static bool has_host(const char *list, const char *host)
{
    const size_t n_host = strlen(host);

    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
        const char *part = p + strspn(p, " *");
        size_t      n = strcspn(part, ", ");

        if (n == 0 && *p == '*')
            return true;
        if (n && n <= n_host && strncasecmp(host + n_host - n, part, n) == 0 &&
            (n == n_host || *part == '.' || host[n_host - n - 1] == '.'))
            return true;
    }
    return false;
}

static void look_at_proxy(hu_doctor *d, const hu_check *check)
{
    static const char *const proxies[] = {"grpc_proxy",  "https_proxy", "http_proxy", "all_proxy",
                                          "HTTPS_PROXY", "HTTP_PROXY",  "ALL_PROXY",  NULL};
    static const char *const exceptions[] = {"no_grpc_proxy", "no_proxy", "NO_PROXY", NULL};
    static const char *const hosts[] = {"MASTER_ADDR", "PET_RDZV_ENDPOINT", "RAY_ADDRESS", NULL};
    const char              *name = "", *with = "", *which = "";
    const char              *proxy = first_set(d, proxies, &name), *except = first_set(d, exceptions, &with);
    const char              *host = first_set(d, hosts, &which);

    if (!has_variables(d, check))
        return;
    if (!proxy || !host) {
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL,
                      proxy ? "no address of a job in the environment" : "no proxy is set");
        return;
    }
    host = hu_doctor_format(d, "%.*s", (int)strcspn(host, ":"), host);
    if (strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 || (except && has_host(except, host)))
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "%s has %s of %s", except ? with : "this node", host, which);
    else
        hu_doctor_say(d, check, HU_VERDICT_NOTE, NULL, NULL, "%s is set, and %s does not have %s of %s",
                      shown(d, name, proxy), except ? with : "no_proxy", host, which);
}

const hu_check hu_checks_environment[] = {
    {.id = "nccl-settings",
     .title = "Settings of NCCL",
     .when = HU_CHECK_OF_NODE | HU_CHECK_OF_JOB,
     .why = "What was set to work round a problem stays when the problem is gone; NCCL then takes a slower way, or none.",
     .fix = "unset it, and measure with nccl-tests or one step of the job",
     .look = look_at_nccl},
    {.id = "debug-variables",
     .title = "Variables that slow programs",
     .when = HU_CHECK_OF_NODE | HU_CHECK_OF_JOB,
     .why = "They are for finding faults, and make a job slower, often many times.",
     .fix = "unset it for jobs that should be fast",
     .look = look_at_traps,
     .limit_ms = HU_GPU_LOOK_MS},
    {.id = "proxy",
     .title = "Proxy and rendezvous",
     .when = HU_CHECK_OF_NODE | HU_CHECK_OF_JOB,
     .why = "Programs that meet over gRPC or HTTP (etcd, Ray, TensorFlow) ask the proxy for the other ranks, and time out; "
            "PyTorch's own store does not use it.",
     .fix = "put the job's addresses into no_proxy",
     .look = look_at_proxy},
    {.id = NULL},
};
