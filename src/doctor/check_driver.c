/* SPDX-License-Identifier: Apache-2.0
 * check_driver.c - is a driver loaded, whole, and new enough for the CUDA of the job, and may this user open its devices?
 *
 * What runs with what: NVIDIA, "CUDA Compatibility": a runtime runs on a driver that is as new, on an older one of the same
 * major version (kernels that are compiled when they run excepted), and beyond that with the libcuda of a newer driver in
 * front (forward compatibility), which works on data-center GPUs only.
 */
#include <stdlib.h>
#include <string.h>

#include "doctor/cuda.h"
#include "doctor/facts.h"
#include "doctor/gpu_facts.h"
#include "doctor/pci.h"

enum { MISMATCH = 18, NO_LIBRARY = -1 };

static bool is_container(hu_doctor *d)
{
    return hu_doctor_exists(d, "/.dockerenv") || hu_doctor_exists(d, "/run/.containerenv") ||
           hu_doctor_variable(d, "KUBERNETES_SERVICE_HOST") || hu_doctor_variable(d, "container");
}

static bool has_driver(hu_doctor *d)
{
    return hu_doctor_exists(d, "/proc/driver/nvidia/version") || hu_doctor_exists(d, "/sys/module/nvidia") ||
           hu_gpu_facts_of(d)->is_known;
}

/* -- is it loaded? ------------------------------------------------------------------------------------------------------ */

static bool is_secure_boot(hu_doctor *d)
{
    hu_str bytes; /* four of attributes, then the value */

    return hu_doctor_read_bytes(d, "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", &bytes) ==
               HU_LOOK_OK &&
           bytes.n == 5 && bytes.p[4] == 1;
}

/* The file of the module for the kernel that runs; NULL: none in the usual places. */
static const char *module_file(hu_doctor *d)
{
    static const char *const folders[] = {"updates/dkms",         "updates",      "extra",         "extra/nvidia",
                                          "kernel/drivers/video", "weak-updates", "kernel/nvidia", "misc"};
    static const char *const ends[] = {"", ".xz", ".zst", ".gz"};
    const char              *release;

    hu_doctor_read(d, "/proc/sys/kernel/osrelease", &release);
    for (size_t i = 0; *release && i < HU_COUNT(folders); i++)
        for (size_t k = 0; k < HU_COUNT(ends); k++) {
            const char *path = hu_doctor_format(d, "/lib/modules/%s/%s/nvidia.ko%s", release, folders[i], ends[k]);

            if (hu_doctor_exists(d, path))
                return path;
        }
    return NULL;
}

static void say_no_driver(hu_doctor *d, const hu_check *check, const hu_bus_gpu *g)
{
    const hu_verdict_of_check verdict = g->class == HU_PCI_VGA ? HU_VERDICT_WARNING : HU_VERDICT_FAILURE;
    const char               *file = module_file(d), *fix = NULL;

    if (strcmp(g->driver, "nouveau") == 0)
        fix = "install NVIDIA's driver, which keeps nouveau out, and reboot";
    else if (file && is_secure_boot(d))
        fix = hu_doctor_format(d,
                               "secure boot takes signed modules only: sign %s and enroll its key (mokutil --import), or "
                               "switch secure boot off; dmesg | grep -i nvidia says which it is",
                               file);
    else if (file)
        fix = "modprobe nvidia; dmesg | grep -iE 'nvidia|nvrm' says why it does not load";
    if (*g->driver)
        hu_doctor_say(d, check, verdict, g->address, fix, "%s/driver is %s, not nvidia", g->folder, g->driver);
    else
        hu_doctor_say(d, check, verdict, g->address, fix, "%s has no driver; %s%s", g->folder,
                      file ? file : "no nvidia.ko for this kernel in /lib/modules", file ? " is not loaded" : "");
}

static void look_at_driver(hu_doctor *d, const hu_check *check)
{
    size_t            n, n_said = 0;
    const hu_bus_gpu *gpus = hu_bus_gpus(d, &n);
    const char       *version = hu_cuda_driver_version(d), *text;
    const bool        has_nvidia = has_driver(d);

    hu_doctor_read(d, "/proc/driver/nvidia/version", &text);
    if (!*version)
        version = hu_gpu_facts_of(d)->driver;
    if (has_nvidia) {
        n_said++;
        hu_doctor_say(d, check, HU_VERDICT_OK, "NVIDIA", NULL, "%s%s%s", *version ? version : "loaded",
                      strstr(text, "Open Kernel Module") ? ", open kernel module" : "",
                      *text ? " (/proc/driver/nvidia/version)" : "");
        if (*version)
            hu_doctor_value(d, "driver.version", version);
    }
    for (size_t i = 0; i < n; i++) {
        const hu_bus_gpu *g = &gpus[i];
        const bool        computes = g->class == HU_PCI_ACCELERATOR || g->class == HU_PCI_DISPLAY;

        if (g->is_given_away)
            continue;
        if (g->vendor == HU_PCI_NVIDIA && strcmp(g->driver, "nvidia") != 0) {
            n_said++;
            say_no_driver(d, check, g);
        } else if (g->vendor == HU_PCI_AMD && computes) {
            n_said++;
            hu_doctor_say(d, check, strcmp(g->driver, "amdgpu") == 0 ? HU_VERDICT_OK : HU_VERDICT_FAILURE, g->address,
                          "install AMD's driver (amdgpu-dkms), or modprobe amdgpu; dmesg | grep amdgpu says why not",
                          "%s/driver is %s", g->folder, *g->driver ? g->driver : "missing");
        } else if (g->vendor == HU_PCI_INTEL && computes && !*g->driver) {
            n_said++;
            hu_doctor_say(d, check, HU_VERDICT_NOTE, g->address, "modprobe xe, or i915 for older ones", "%s has no driver",
                          g->folder);
        }
    }
    if (n_said == 0)
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL,
                      n ? "no GPU for computing on the PCI bus" : "no GPU on the PCI bus");
}

/* -- are its parts of one version? -------------------------------------------------------------------------------------- */

static void look_at_library(hu_doctor *d, const hu_check *check)
{
    static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                                          "/usr/lib"};
    static const char *const names[] = {"libcuda.so.1", "libnvidia-ml.so.1"};
    const hu_gpu_facts      *f = hu_gpu_facts_of(d);
    const char              *module = hu_cuda_driver_version(d);
    size_t                   n_same = 0, n_other = 0;

    if (!has_driver(d)) {
        hu_gpu_facts_or_say(d, check);
        return;
    }
    if (f->is_known && f->code == NO_LIBRARY) {
        hu_doctor_say(d, check, is_container(d) ? HU_VERDICT_NOTE : HU_VERDICT_WARNING, NULL,
                      is_container(d)
                          ? "give the container the driver's libraries: docker --gpus, or the NVIDIA device plugin"
                          : "install the driver's libraries of the same version",
                      "the driver is loaded, and libnvidia-ml.so.1 cannot be");
        return;
    }
    for (size_t i = 0; *module && i < HU_COUNT(folders); i++)
        for (size_t k = 0; k < HU_COUNT(names); k++) {
            const char *path = hu_doctor_format(d, "%s/%s", folders[i], names[k]);
            const char *version = hu_cuda_library_version(d, path);

            n_same += *version && strcmp(version, module) == 0;
            if (*version && strcmp(version, module) != 0 && n_other++ == 0)
                hu_doctor_say(d, check, !f->is_known || f->code == MISMATCH ? HU_VERDICT_FAILURE : HU_VERDICT_WARNING, NULL,
                              NULL, "the kernel's module is %s (/proc/driver/nvidia/version), %s is %s", module, path,
                              version);
        }
    if (n_other)
        return;
    if (f->is_known && f->code == MISMATCH)
        hu_doctor_say(d, check, HU_VERDICT_FAILURE, NULL, NULL,
                      "NVML does not start: the library is not of the module's version%s%s", *module ? ", " : "", module);
    else if (n_same || (f->is_known && f->code == 0))
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "module and libraries are %s", *module ? module : f->driver);
    else if (f->is_known)
        hu_gpu_facts_or_say(d, check);
    else
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "no library of the driver in the usual places");
}

/* -- is it new enough? -------------------------------------------------------------------------------------------------- */

typedef struct {
    int         version; /* -1 none */
    const char *what, *where;
    bool        is_the_jobs; /* what Python imports, and not a toolkit that may be there for other programs */
} runtime;

static runtime find_runtime(hu_doctor *d)
{
    const hu_job_torch *torch = hu_job_torch_of(d);
    const char         *where = "", *version;
    size_t              n;
    const char *const  *folders = hu_job_folders(d, "CUDA_HOME", &n);

    if (torch->where && torch->cuda > 0)
        return (runtime){torch->cuda, hu_doctor_format(d, "PyTorch %s", torch->version), torch->where, true};
    if ((version = hu_job_package(d, "nvidia_cuda_runtime", &where)))
        return (runtime){hu_cuda_of_text(version), "the CUDA runtime of Python's packages", where, true};
    for (int i = 0; i < 2; i++) {
        const char *folder = i == 0 ? (n ? folders[0] : "/usr/local/cuda") : "/usr/local/cuda", *text, *name;

        where = hu_doctor_format(d, "%s/version.json", folder);
        if (hu_doctor_read(d, where, &text) == HU_LOOK_OK && (name = strstr(text, "\"cuda\"")) &&
            (name = strstr(name, "\"version\"")) && (name = strchr(name + 9, ':')) && (name = strchr(name, '"')))
            return (runtime){hu_cuda_of_text(name + 1), "the CUDA toolkit", where, false};
    }
    return (runtime){.version = -1};
}

/* A libcuda that LD_LIBRARY_PATH puts in front of the driver's: its version, or "". */
static const char *other_libcuda(hu_doctor *d, const char *driver, const char **folder)
{
    size_t             n;
    const char *const *folders = hu_job_folders(d, "LD_LIBRARY_PATH", &n);

    for (size_t i = 0; i < n; i++) {
        const char *version = hu_cuda_library_version(d, hu_doctor_format(d, "%s/libcuda.so.1", folders[i]));

        if (*version) {
            *folder = folders[i];
            return strcmp(version, driver) == 0 ? "" : version;
        }
    }
    return "";
}

/* One that could be put there. */
static const char *spare_libcuda(hu_doctor *d, int least)
{
    static const char *const folders[] = {"/usr/local/cuda/compat", "/usr/local/cuda/lib64/compat"};
    bool                     is_least;

    for (size_t i = 0; i < HU_COUNT(folders); i++) {
        const char *version = hu_cuda_library_version(d, hu_doctor_format(d, "%s/libcuda.so.1", folders[i]));

        if (*version && hu_cuda_of_driver(version, &is_least) >= least)
            return folders[i];
    }
    return NULL;
}

/* GeForce: forward compatibility is refused there, with error 804. */
static bool has_consumer_gpu(const hu_gpu_facts *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (strstr(f->gpu[i].name, "GeForce"))
            return true;
    return false;
}

static void look_at_cuda(hu_doctor *d, const hu_check *check)
{
    const hu_gpu_facts *f = hu_gpu_facts_of(d);
    const char         *driver = hu_cuda_driver_version(d), *folder = "", *other, *spare;
    char                r_text[HU_CUDA_TEXT], d_text[HU_CUDA_TEXT];
    bool                is_least = false;
    int                 cuda;
    runtime             r;

    if (!*driver)
        driver = f->driver;
    if (!*driver) {
        hu_gpu_facts_or_say(d, check);
        return;
    }
    other = other_libcuda(d, driver, &folder);
    cuda = hu_cuda_of_driver(*other ? other : driver, &is_least);
    if (!*other && f->cuda > 0) {
        cuda = f->cuda;
        is_least = false;
    }
    r = find_runtime(d);
    if (cuda > 0) {
        hu_cuda_text(cuda, d_text);
        hu_doctor_value(d, "driver.cuda", d_text);
    }
    if (r.version < 0 || cuda < 0) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL,
                      cuda < 0 ? "which CUDA the driver supports is not known" : "no CUDA runtime found");
        return;
    }
    hu_cuda_text(r.version, r_text);
    hu_doctor_value(d, "cuda.runtime", r_text);
    if (*other && (int)strtol(other, NULL, 10) < (int)strtol(driver, NULL, 10))
        hu_doctor_say(d, check, HU_VERDICT_WARNING, NULL, hu_doctor_format(d, "take %s out of LD_LIBRARY_PATH", folder),
                      "LD_LIBRARY_PATH has %s with libcuda of %s, older than driver %s: CUDA ends with error 803", folder,
                      other, driver);
    else if (*other && (int)strtol(other, NULL, 10) > (int)strtol(driver, NULL, 10) && has_consumer_gpu(f))
        hu_doctor_say(d, check, HU_VERDICT_FAILURE, NULL,
                      hu_doctor_format(d, "take %s out of LD_LIBRARY_PATH; update the driver for CUDA %s", folder, r_text),
                      "LD_LIBRARY_PATH has %s with libcuda of %s on driver %s: GeForce GPUs refuse that (error 804)", folder,
                      other, driver);
    else if (r.version <= cuda)
        hu_doctor_say(d, check, *other ? HU_VERDICT_NOTE : HU_VERDICT_OK, NULL, *other ? "nothing, if that is wanted" : NULL,
                      "%s needs CUDA %s (%s); driver %s supports %s%s%s%s", r.what, r_text, r.where, driver, d_text,
                      is_least ? " at least" : "", *other ? " by libcuda of " : "", other);
    else if (r.version / 1000 == cuda / 1000)
        hu_doctor_say(d, check, HU_VERDICT_NOTE, NULL,
                      hu_doctor_format(d, "nothing as long as it works; a driver for CUDA %s lifts the limit", r_text),
                      "%s needs CUDA %s (%s), driver %s came with %s: it runs, but PTX that is compiled at run time may not "
                      "(minor-version compatibility)",
                      r.what, r_text, r.where, driver, d_text);
    else if (is_least)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL,
                      "which CUDA driver %s supports is not known: %s at least, %s needs %s", driver, d_text, r.what,
                      r_text);
    else {
        const int branch = hu_cuda_least_branch(r.version);

        spare = has_consumer_gpu(f) ? NULL : spare_libcuda(d, r.version);
        hu_doctor_say(d, check, r.is_the_jobs ? HU_VERDICT_FAILURE : HU_VERDICT_WARNING, NULL,
                      spare    ? hu_doctor_format(d, "put %s in front of LD_LIBRARY_PATH, or update the driver", spare)
                      : branch ? hu_doctor_format(d, "update the driver to %d or later, or install a build for CUDA %d.x",
                                                  branch, cuda / 1000)
                               : NULL,
                      "%s needs CUDA %s (%s), driver %s supports %s: no GPU work can start (error 35 or 803)", r.what,
                      r_text, r.where, driver, d_text);
    }
}

/* One that computes and has a driver: not the graphics of a CPU. */
static bool is_for_work(const hu_bus_gpu *g, int64_t vendor)
{
    return g->vendor == vendor && *g->driver && !g->is_given_away &&
           (g->class == HU_PCI_ACCELERATOR || g->class == HU_PCI_DISPLAY);
}

/* -- may this user open its devices? ------------------------------------------------------------------------------------ */

/* "c 195:255 666 0:0 rw": the end says what this process may. */
static bool is_open_to_us(const char *fact)
{
    const size_t n = strlen(fact);

    return n > 3 && strcmp(fact + n - 3, " rw") == 0;
}

/* One node; returns how many findings. */
static int look_at_node(hu_doctor *d, const hu_check *check, const char *path, hu_verdict_of_check if_absent,
                        const char *absent_fix, const char *closed_fix)
{
    const char *fact = hu_fact(d, hu_doctor_format(d, "device:%s", path));

    if (!fact)
        return 0;
    if (strcmp(fact, "absent") == 0) {
        if (if_absent != HU_VERDICT_NONE)
            hu_doctor_say(d, check, if_absent, path, absent_fix, "is not there");
        return if_absent != HU_VERDICT_NONE;
    }
    if (is_open_to_us(fact))
        return 0;
    hu_doctor_say(d, check, HU_VERDICT_FAILURE, path, closed_fix, "this user may not read and write it: %s", fact);
    return 1;
}

/* NVIDIA's; returns how many findings. */
static int look_at_nvidia_nodes(hu_doctor *d, const hu_check *check, const char *give)
{
    const hu_gpu_facts *f = hu_gpu_facts_of(d); /* NVML makes some of them, as root */
    const bool          is_ours = is_container(d), is_well = f->is_known && f->code == 0;
    const char         *control = hu_fact(d, "device:/dev/nvidiactl");
    const size_t        n = f->n ? f->n : hu_bus_count(d, HU_PCI_NVIDIA);
    int                 n_found = 0;

    if (is_ours && control && strcmp(control, "absent") == 0 && !hu_doctor_variable(d, "NVIDIA_VISIBLE_DEVICES")) {
        hu_doctor_say(d, check, HU_VERDICT_NOTE, NULL, give, "the container was given no GPU: there is no /dev/nvidiactl");
        return 1;
    }
    n_found += look_at_node(d, check, "/dev/nvidiactl", is_well ? HU_VERDICT_NOTE : HU_VERDICT_FAILURE,
                            is_ours ? give : "nvidia-modprobe makes it; it must be installed with the driver",
                            "chmod 666, as the driver's NVreg_DeviceFileMode says by default");
    n_found += look_at_node(d, check, "/dev/nvidia-uvm", is_ours ? HU_VERDICT_FAILURE : HU_VERDICT_NOTE,
                            is_ours ? give : "nothing where nvidia-modprobe is installed: the first CUDA program makes it",
                            "chmod 666, as the driver makes it by default");
    for (size_t i = 0; i < n; i++) {
        const int64_t minor = f->n ? f->gpu[i].minor : (int64_t)i;

        if (minor >= 0)
            n_found += look_at_node(d, check, hu_doctor_format(d, "/dev/nvidia%d", (int)minor), HU_VERDICT_NONE, NULL,
                                    "chmod 666, or give it to the container or job");
    }
    return n_found;
}

/* Of AMD and Intel: the files through which programs without a screen compute. */
static int look_at_render_nodes(hu_doctor *d, const hu_check *check, const hu_bus_gpu *g, const char *fix)
{
    const char *const *names;
    size_t             n = 0;
    int                n_found = 0;

    hu_doctor_list(d, hu_doctor_format(d, "%s/drm", g->folder), &names, &n);
    for (size_t i = 0; i < n; i++)
        if (strncmp(names[i], "renderD", 7) == 0)
            n_found += look_at_node(d, check, hu_doctor_format(d, "/dev/dri/%s", names[i]), HU_VERDICT_NOTE, NULL, fix);
    return n_found;
}

static void look_at_nodes(hu_doctor *d, const hu_check *check)
{
    static const char *const give = "give the container the GPU: docker --gpus, or --device, or the device plugin";
    static const char *const group = "add the user to its group: usermod -aG render USER, then log in again";
    size_t                   n, n_amd = 0, n_intel = 0;
    const hu_bus_gpu        *gpus = hu_bus_gpus(d, &n);
    int                      n_found = 0;

    for (size_t i = 0; i < n; i++) {
        n_amd += is_for_work(&gpus[i], HU_PCI_AMD) && strcmp(gpus[i].driver, "amdgpu") == 0;
        n_intel += is_for_work(&gpus[i], HU_PCI_INTEL);
    }
    if (!has_driver(d) && n_amd + n_intel == 0) {
        hu_gpu_facts_or_say(d, check);
        return;
    }
    if (hu_doctor_is_capture(d) && !hu_fact(d, "device:/dev/nvidiactl") && !hu_fact(d, "device:/dev/kfd") && n_intel == 0) {
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "the captured tree has no facts of devices");
        return;
    }
    if (has_driver(d))
        n_found += look_at_nvidia_nodes(d, check, give);
    if (n_amd)
        n_found += look_at_node(d, check, "/dev/kfd", HU_VERDICT_FAILURE, is_container(d) ? give : "modprobe amdgpu", group);
    for (size_t i = 0; i < n && n_amd + n_intel; i++)
        if (is_for_work(&gpus[i], HU_PCI_AMD) || is_for_work(&gpus[i], HU_PCI_INTEL))
            n_found += look_at_render_nodes(d, check, &gpus[i], group);
    if (n_found == 0)
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "this user may open the driver's devices");
}

const hu_check hu_checks_driver[] = {
    {.id = "gpu-driver",
     .title = "Driver of the GPUs",
     .when = HU_CHECK_OF_NODE | HU_CHECK_IN_PROLOG,
     .why = "Without its driver a GPU is not there for any program.",
     .fix = "install the driver for this kernel; after an update of the kernel, dkms autoinstall and reboot",
     .look = look_at_driver,
     .limit_ms = HU_GPU_LOOK_MS},
    {.id = "driver-libraries",
     .title = "Driver and its libraries",
     .when = HU_CHECK_OF_NODE | HU_CHECK_IN_PROLOG,
     .why =
         "A kernel module and libraries of different versions, as after an update without a reboot, refuse each other: no "
         "CUDA program starts.",
     .fix = "reboot, or end all programs on the GPUs and reload the module (rmmod nvidia_uvm nvidia; modprobe nvidia)",
     .look = look_at_library,
     .limit_ms = HU_GPU_LOOK_MS},
    {.id = "cuda-driver",
     .title = "CUDA runtime and driver",
     .when = HU_CHECK_OF_NODE | HU_CHECK_OF_JOB,
     .why =
         "A CUDA runtime of a newer major version than the driver supports finds no GPU: PyTorch then fails, or runs on the "
         "CPU without a word.",
     .fix = "update the driver, or install a build for the CUDA that it supports",
     .look = look_at_cuda,
     .limit_ms = HU_GPU_LOOK_MS},
    {.id = "gpu-devices",
     .title = "Device files of the GPUs",
     .when = HU_CHECK_OF_NODE | HU_CHECK_OF_JOB,
     .why = "A program that cannot open them finds no GPU.",
     .fix = "give this user or container the devices",
     .look = look_at_nodes,
     .limit_ms = HU_GPU_LOOK_MS},
    {.id = NULL},
};
