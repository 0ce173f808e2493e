/* SPDX-License-Identifier: Apache-2.0
 * check_libraries.c - does the PyTorch that a job would import have code for the GPUs, and which of several libraries is
 * loaded?
 *
 * A CUDA toolkit makes code for the architectures that it knows: the newest are in the release notes of 11.0 (8.0), 11.1
 * (8.6), 11.8 (8.9, 9.0), 12.8 (10.0, 12.0) and 12.9 (10.3, 12.1); 12.0 gave up 3.x, 13.0 all before 7.5.  Code for x.y runs
 * on x.z with z >= y, so what decides is the major number.
 */
#include <stdlib.h>
#include <string.h>

#include "doctor/cuda.h"
#include "doctor/gpu_facts.h"
#include "doctor/pci.h"

/* The first toolkit that makes code for a GPU of this major number, and the first that does not any more. */
static const struct {
    int major, first, gone;
} architectures[] = {{3, 0, 12000}, {5, 0, 13000},  {6, 0, 13000},  {7, 9000, 0},  {8, 11000, 0},
                     {9, 11080, 0}, {10, 12080, 0}, {11, 13000, 0}, {12, 12080, 0}};

/* 7.0 and 7.2 (Volta) went with 13.0, 7.5 stayed. */
static bool is_gone(int capability, int cuda, int gone)
{
    return (gone && cuda >= gone) || (capability >= 70 && capability < 75 && cuda >= 13000);
}

/* Wheels of pytorch.org and PyPI have none that newer GPUs could compile; other builds may. */
static bool has_no_ptx(const hu_job_torch *torch)
{
    return strstr(torch->version, "+cu") != NULL;
}

static size_t look_at_architectures(hu_doctor *d, const hu_check *check, const hu_gpu_facts *f, const hu_job_torch *torch)
{
    char   text[HU_CUDA_TEXT], first[HU_CUDA_TEXT];
    size_t n_said = 0;

    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < HU_COUNT(architectures); k++) {
            const int capability = f->gpu[i].is_there ? (int)f->gpu[i].capability : 0;

            if (capability / 10 != architectures[k].major)
                continue;
            if (torch->cuda < architectures[k].first) {
                n_said++;
                hu_doctor_say(
                    d, check, has_no_ptx(torch) ? HU_VERDICT_FAILURE : HU_VERDICT_WARNING, hu_doctor_format(d, "GPU %zu", i),
                    hu_doctor_format(d, "install a build for CUDA %s or later", hu_cuda_text(architectures[k].first, first)),
                    "PyTorch %s was built with CUDA %s, which makes no code for compute capability %d.%d", torch->version,
                    hu_cuda_text(torch->cuda, text), capability / 10, capability % 10);
            } else if (is_gone(capability, torch->cuda, architectures[k].gone)) {
                n_said++;
                hu_doctor_say(d, check, HU_VERDICT_FAILURE, hu_doctor_format(d, "GPU %zu", i),
                              hu_doctor_format(d, "install a build for CUDA %d.x", architectures[k].major < 5 ? 11 : 12),
                              "PyTorch %s was built with CUDA %s, which makes no code any more for compute capability %d.%d",
                              torch->version, hu_cuda_text(torch->cuda, text), capability / 10, capability % 10);
            }
        }
    return n_said;
}

static void look_at_torch(hu_doctor *d, const hu_check *check)
{
    const hu_gpu_facts *f = hu_gpu_facts_of(d);
    const hu_job_torch *torch = hu_job_torch_of(d);
    const size_t        n_nvidia = hu_bus_count(d, HU_PCI_NVIDIA) + (f->is_known && f->code == 0 ? f->n : 0);
    size_t              n_known = 0;
    char                text[HU_CUDA_TEXT];

    if (!torch->where) {
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "no PyTorch in PATH's Python");
        return;
    }
    hu_doctor_value(d, "torch.version", torch->version);
    if (torch->cuda < 0 && !torch->hip && n_nvidia) {
        hu_doctor_say(d, check, HU_VERDICT_WARNING, NULL, NULL, "PyTorch %s was built without CUDA (%s)", torch->version,
                      torch->where);
        return;
    }
    if (torch->hip && n_nvidia && hu_bus_count(d, HU_PCI_AMD) == 0) {
        hu_doctor_say(d, check, HU_VERDICT_WARNING, NULL, NULL,
                      "PyTorch %s was built for AMD's GPUs (%s), and the node has "
                      "NVIDIA's",
                      torch->version, torch->where);
        return;
    }
    if (torch->cuda > 0 && f->is_known && f->code == 0) {
        for (size_t i = 0; i < f->n; i++)
            n_known += f->gpu[i].capability > 0;
        if (look_at_architectures(d, check, f, torch))
            return;
    }
    if (n_known)
        hu_doctor_say(d, check, HU_VERDICT_OK, NULL, NULL, "PyTorch %s, CUDA %s: a toolkit that makes code for these GPUs",
                      torch->version, hu_cuda_text(torch->cuda, text));
    else if (n_nvidia)
        hu_doctor_say(d, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, "the compute capability of the GPUs is not known");
    else
        hu_doctor_say(d, check, HU_VERDICT_NONE, NULL, NULL, "PyTorch %s; no NVIDIA GPU", torch->version);
}

/* Does "2.30.7" begin with "2.30", part for part? */
static bool is_same_version(const char *one, const char *other)
{
    const size_t n_one = strlen(one), n_other = strlen(other), n = n_one < n_other ? n_one : n_other;

    return strncmp(one, other, n) == 0 && strchr(".", one[n]) && strchr(".", other[n]);
}

static void look_at_copies(hu_doctor *d, const hu_check *check)
{
    static const struct {
        const char *package, *file, *name, *key;
    } libraries[] = {{"nvidia_nccl", "libnccl.so.2", "NCCL", "nccl.version"},
                     {"nvidia_cudnn", "libcudnn.so.9", "cuDNN", "cudnn.version"},
                     {"nvidia_cudnn", "libcudnn.so.8", "cuDNN", "cudnn.version"}};
    const char        *preload = hu_doctor_variable(d, "LD_PRELOAD");
    size_t             n, n_said = 0, n_known = 0;
    const char *const *folders = hu_job_folders(d, "LD_LIBRARY_PATH", &n);

    for (size_t i = 0; i < n; i++)
        if (strstr(folders[i], "/stubs") && hu_doctor_exists(d, hu_doctor_format(d, "%s/libcuda.so.1", folders[i]))) {
            n_said++;
            hu_doctor_say(d, check, HU_VERDICT_FAILURE, "libcuda.so.1",
                          hu_doctor_format(d, "take %s out of LD_LIBRARY_PATH: it is for linking", folders[i]),
                          "LD_LIBRARY_PATH has %s, whose libcuda.so.1 is a stub: CUDA ends with error 34", folders[i]);
        }
    for (size_t k = 0; k < HU_COUNT(libraries); k++) {
        const char *own = hu_job_package(d, libraries[k].package, NULL);

        if (own) {
            n_known++;
            hu_doctor_value(d, libraries[k].key, own);
        }
        for (size_t i = 0; own && i < n; i++) {
            const char *other = hu_cuda_library_version(d, hu_doctor_format(d, "%s/%s", folders[i], libraries[k].file));

            if (!*other || is_same_version(own, other))
                continue;
            n_said++;
            hu_doctor_say(d, check, HU_VERDICT_NOTE, libraries[k].name, NULL,
                          "Python's packages have %s %s, LD_LIBRARY_PATH has %s in %s: a program may load either",
                          libraries[k].name, own, other, folders[i]);
            break;
        }
    }
    if (preload && strstr(preload, "libnccl")) {
        n_said++;
        hu_doctor_say(d, check, HU_VERDICT_NOTE, "NCCL", NULL, "LD_PRELOAD has a libnccl, which all programs take");
    }
    if (n_said == 0)
        hu_doctor_say(d, check, n_known ? HU_VERDICT_OK : HU_VERDICT_NONE, NULL, NULL,
                      n_known ? "one version of NCCL and cuDNN" : "no NCCL or cuDNN in PATH's Python");
}

const hu_check hu_checks_libraries[] = {
    {.id = "torch-build",
     .title = "PyTorch and these GPUs",
     .when = HU_CHECK_OF_NODE | HU_CHECK_OF_JOB,
     .why = "A build without code for the GPU ends with \"no kernel image is available\", or runs on the CPU.",
     .fix = "install a build for the node's GPUs: https://pytorch.org/get-started/locally",
     .look = look_at_torch,
     .limit_ms = HU_GPU_LOOK_MS},
    {.id = "library-copies",
     .title = "Copies of GPU libraries",
     .when = HU_CHECK_OF_NODE | HU_CHECK_OF_JOB,
     .why = "Ranks that load different versions of NCCL fail or hang, and an old copy lacks what a new GPU needs.",
     .fix = "keep one: take the folder out of LD_LIBRARY_PATH; /proc/PID/maps of a running job says which it loaded",
     .look = look_at_copies},
    {.id = NULL},
};
