/* SPDX-License-Identifier: Apache-2.0
 * cuda_find.c - which libcupti: the one that the program has mapped, else one that belongs to its CUDA runtime.
 *
 * A second copy beside the program's own would be a second user of the driver, so the mapped one comes first.  A CUPTI that
 * is newer than the driver cannot talk to it, so none of a higher major version is tried.  Not one of its functions is
 * called while libcuda.so.1 is not mapped: 13.2 runs into itself then until the stack is full.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject/cuda.h"
#include "inject/sys.h"
#include "base/banned.h"

enum { PATH_BYTES = 1024, NEWEST = 14, OLDEST = 11 };

hu_cupti hu_the_cupti;

typedef struct {
    const char *soname;
    char       *path;
    size_t      room;
    bool        is_found;
} search;

static int look_at(struct dl_phdr_info *info, size_t bytes, void *context)
{
    search     *s = context;
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

    (void)bytes;
    if (!name || strncmp(name + 1, s->soname, strlen(s->soname)) != 0)
        return 0;
    snprintf(s->path, s->room, "%s", info->dlpi_name);
    s->is_found = true;
    return 1;
}

void *hu_cuda_mapped(const char *soname, char *path, size_t room)
{
    search s = {soname, path, room, false};

    path[0] = '\0';
    dl_iterate_phdr(look_at, &s);
    return s.is_found ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

/* "libcudart.so.12" is 12, "libcuda.so.550.163.01" is 550; 0: no number. */
static unsigned number_behind(const char *path, const char *prefix)
{
    const char *at = strstr(path, prefix);

    return at ? (unsigned)strtoul(at + strlen(prefix), NULL, 10) : 0;
}

/* The major version that a driver of this branch was made for; of one that we cannot read, the newest. */
static unsigned newest_for_driver(void)
{
    char           path[PATH_BYTES], real[PATH_BYTES];
    void          *library = hu_cuda_mapped("libcuda.so.1", path, sizeof path);
    const long     n = library ? HU_SYS(SYS_readlinkat, AT_FDCWD, path, real, sizeof real - 1) : -1;
    const unsigned branch = n > 0 ? (real[n] = '\0', number_behind(real, "libcuda.so."))
                                  : number_behind(path, "libcuda.so.");

    if (library)
        dlclose(library);
    return branch < 100 ? NEWEST : branch < 525 ? 11 : branch < 580 ? 12 : NEWEST;
}

static void *open_in(const char *folder, const char *below, unsigned major)
{
    char  path[PATH_BYTES];
    void *library;

    if (snprintf(path, sizeof path, major == 11 ? "%s%s/libcupti.so.11.8" : "%s%s/libcupti.so.%u", folder, below, major) >=
        (int)sizeof path)
        return NULL;
    library = access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    return library;
}

/* Where wheels and toolkits put it, seen from the folder of libcudart. */
static void *open_beside(const char *runtime, unsigned major)
{
    static const char *const below[] = {"",
                                        "/../../cuda_cupti/lib",
                                        "/../../cu13/lib",
                                        "/../extras/CUPTI/lib64",
                                        "/../../../extras/CUPTI/lib64",
                                        "/../../nvidia/cu13/lib",
                                        "/../../nvidia/cuda_cupti/lib"};
    char                     folder[PATH_BYTES];
    char                    *slash;

    snprintf(folder, sizeof folder, "%s", runtime);
    slash = strrchr(folder, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        void *library = open_in(folder, below[i], major);

        if (library)
            return library;
    }
    return NULL;
}

static void *open_toolkit(unsigned major)
{
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    void                    *library = NULL;

    for (size_t i = 0; i < 2 && !library; i++) {
        const char *home = getenv(variables[i]);

        if (!home || !home[0])
            continue;
        library = open_in(home, "/extras/CUPTI/lib64", major);
        library = library ? library : open_in(home, "/lib64", major);
        library = library ? library : open_in(home, "/targets/x86_64-linux/lib", major);
    }
    return library ? library : open_in("/usr/local/cuda", "/extras/CUPTI/lib64", major);
}

static void *open_plain(unsigned major)
{
    char name[32];

    if (major == 11)
        return dlopen("libcupti.so.11.8", RTLD_NOW | RTLD_LOCAL);
    snprintf(name, sizeof name, "libcupti.so.%u", major);
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static void *open_version(const char *runtime, unsigned major)
{
    void *library = runtime[0] ? open_beside(runtime, major) : NULL;

    library = library ? library : open_toolkit(major);
    return library ? library : open_plain(major);
}

/* The program's runtime first, then downwards from what the driver can do. */
static void *open_any(void)
{
    const unsigned newest = newest_for_driver();
    char           runtime[PATH_BYTES];
    void          *handle = hu_cuda_mapped("libcudart.so", runtime, sizeof runtime), *library = NULL;
    unsigned       major = number_behind(runtime, "libcudart.so.");

    if (handle)
        dlclose(handle);
    if (major >= OLDEST && major <= newest)
        library = open_version(runtime, major);
    for (major = newest; major >= OLDEST && !library; major--)
        library = open_version(runtime, major);
    return library;
}

static void note_path(hu_cuda_facts *facts, void *function)
{
    Dl_info where;

    if (facts && dladdr(function, &where) && where.dli_fname)
        snprintf(facts->library, sizeof facts->library, "%s", where.dli_fname);
}

/* All functions by name; false: one that we need is missing. */
static bool fill(hu_cupti *c)
{
    static const struct {
        const char *name;
        bool        is_needed;
        size_t      offset;
    } functions[] = {
#define F(member, name, is_needed, parameters) {"cupti" name, is_needed, offsetof(hu_cupti, member)},
        HU_CUPTI_FUNCTIONS(F)
#undef F
    };

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(c->library, functions[i].name);

        memcpy((char *)c + functions[i].offset, &function, sizeof function);
        if (!function && functions[i].is_needed) {
            hu_cuda_fail(HU_CUDA_LACKS_FUNCTION, 0, functions[i].name);
            return false;
        }
        if (i == 0)
            note_path(hu_cuda_get_facts(), function);
    }
    return true;
}

bool hu_cuda_find(void)
{
    hu_cupti found = {0};
    char     path[PATH_BYTES];
    void    *driver = hu_cuda_mapped("libcuda.so.1", path, sizeof path);

    if (!driver) {
        hu_cuda_fail(HU_CUDA_NO_DRIVER, 0, "");
        return false;
    }
    dlclose(driver);
    found.library = hu_cuda_mapped("libcupti.so", path, sizeof path);
    if (!found.library)
        found.library = open_any();
    if (!found.library) {
        hu_cuda_fail(HU_CUDA_NO_CUPTI, 0, "");
        return false;
    }
    if (!fill(&found))
        return false;
    hu_the_cupti = found;
    return true;
}

static uint32_t ask_version(const char *soname, const char *function)
{
    char  path[PATH_BYTES];
    void *library = hu_cuda_mapped(soname, path, sizeof path);
    int (*get)(int *version) = NULL;
    int version = 0;

    if (!library)
        return 0;
    *(void **)&get = dlsym(library, function);
    if (get && get(&version) != 0)
        version = 0;
    dlclose(library);
    return version > 0 ? (uint32_t)version : 0;
}

void hu_cuda_read_versions(hu_cuda_facts *facts)
{
    facts->driver = ask_version("libcuda.so.1", "cuDriverGetVersion");
    facts->runtime = ask_version("libcudart.so", "cudaRuntimeGetVersion");
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.261.03  ..." is 535; 0: none is loaded, or not to be read. */
static unsigned kernel_branch(bool *is_loaded)
{
    char        text[256];
    const int   fd = hu_sys_open("/proc/driver/nvidia/version", O_RDONLY);
    const long  n = fd < 0 ? -1 : hu_sys_read(fd, text, sizeof text - 1);
    const char *at;

    if (fd >= 0)
        hu_sys_close(fd);
    *is_loaded = fd >= 0;
    text[n > 0 ? n : 0] = '\0';
    for (at = text; *at; at++)
        if (at[0] >= '1' && at[0] <= '9' && at[1] >= '0' && at[1] <= '9' && at[2] >= '0' && at[2] <= '9' && at[3] == '.' &&
            at > text && at[-1] == ' ')
            return (unsigned)strtoul(at, NULL, 10);
    return 0;
}

/* The CUDA version of a driver; 0: not known, or a newer one. */
static uint32_t version_of_branch(unsigned branch)
{
    static const struct {
        unsigned branch;
        uint32_t version;
    } branches[] = {{450, 11000}, {455, 11010}, {460, 11020}, {465, 11030}, {470, 11040}, {495, 11050}, {510, 11060},
                    {515, 11070}, {520, 11080}, {525, 12000}, {530, 12010}, {535, 12020}, {545, 12030}, {550, 12040},
                    {555, 12050}, {560, 12060}, {565, 12070}, {570, 12080}, {575, 12090}, {580, 13000}};

    for (size_t i = 0; i < sizeof branches / sizeof *branches; i++)
        if (branches[i].branch == branch)
            return branches[i].version;
    return 0;
}

/* Devices of WSL and of Tegra, whose drivers have no such file. */
static bool has_other_driver(void)
{
    return access("/dev/dxg", F_OK) == 0 || access("/dev/nvhost-ctrl", F_OK) == 0 || access("/dev/nvgpu", F_OK) == 0;
}

/* The driver is there and would have called somebody else, or nobody. */
static bool is_called_instead(hu_cuda_facts *facts)
{
    const char *tool = getenv("CUDA_INJECTION64_PATH");
    char        path[PATH_BYTES];
    void       *driver = hu_cuda_mapped("libcuda.so.1", path, sizeof path);
    Dl_info     us;

    if (driver)
        dlclose(driver);
    if (!driver || (tool && dladdr((void *)(uintptr_t)&hu_cuda_judge_absence, &us) && strcmp(tool, us.dli_fname) == 0))
        return false;
    snprintf(facts->other, sizeof facts->other, "%s", tool ? tool : "");
    return true;
}

/*
 * A runtime that is linked statically cannot be seen.  One that finds the driver older than itself closes it again, so
 * that the kernel has to say which it is.  Where the driver is new enough, the program just did not use CUDA.
 */
void hu_cuda_judge_absence(void)
{
    hu_cuda_facts *facts = hu_cuda_get_facts();
    char           path[PATH_BYTES];
    void          *runtime = hu_cuda_mapped("libcudart.so", path, sizeof path);
    bool           is_loaded;
    unsigned       branch;

    if (facts && is_called_instead(facts))
        hu_cuda_fail(HU_CUDA_DISABLED, 0, "");
    if (!runtime || !facts || facts->state == HU_CUDA_DISABLED)
        return;
    hu_cuda_read_versions(facts);
    branch = kernel_branch(&is_loaded);
    if (!facts->driver)
        facts->driver = version_of_branch(branch);
    if (facts->driver && facts->runtime / 1000 > facts->driver / 1000)
        hu_cuda_fail(HU_CUDA_OLD_DRIVER, 0, "");
    else if (!facts->driver && !is_loaded && !has_other_driver())
        hu_cuda_fail(HU_CUDA_NO_DRIVER, 0, "");
    dlclose(runtime);
}
