/* SPDX-License-Identifier: Apache-2.0
 * cuda.c - tables of versions; and the places where Python looks for packages, without running it. */
#include "doctor/cuda.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDERS_MOST = 256, SITES_MOST = 64 };

/* -- versions ---------------------------------------------------------------------------------------------------------- */

const char *hu_cuda_text(int version, char out[HU_CUDA_TEXT])
{
    snprintf(out, HU_CUDA_TEXT, "%d.%d", version / 1000, version % 1000 / 10);
    return out;
}

int hu_cuda_of_text(const char *text)
{
    char      *end;
    const long major = strtol(text, &end, 10), minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;

    return end > text && major > 0 && major < 100 && minor >= 0 && minor < 100 ? (int)(major * 1000 + minor * 10) : -1;
}

/* Branch of the driver that came with this version first. */
static const struct {
    int branch, cuda;
} branches[] = {
    {450, 11000}, {455, 11010}, {460, 11020}, {465, 11030}, {470, 11040}, {495, 11050}, {510, 11060}, {515, 11070},
    {520, 11080}, {525, 12000}, {530, 12010}, {535, 12020}, {545, 12030}, {550, 12040}, {555, 12050}, {560, 12060},
    {565, 12070}, {570, 12080}, {575, 12090}, {580, 13000}, {590, 13010}, {595, 13020}, {610, 13030},
};

int hu_cuda_of_driver(const char *driver, bool *is_least)
{
    const int branch = (int)strtol(driver, NULL, 10);
    int       cuda = -1;

    for (size_t i = 0; i < HU_COUNT(branches) && branches[i].branch <= branch; i++)
        cuda = branches[i].cuda;
    *is_least = branch > branches[HU_COUNT(branches) - 1].branch;
    return cuda;
}

int hu_cuda_least_branch(int version)
{
    return version >= 14000 ? 0 : version >= 13000 ? 580 : version >= 12000 ? 525 : version >= 11000 ? 450 : 0;
}

/* The first word like "550.54.15". */
static const char *version_in(hu_doctor *d, const char *text)
{
    for (const char *p = text; *p;) {
        size_t n, points = 0;

        p += strspn(p, " \t\n");
        n = strcspn(p, " \t\n");
        for (size_t i = 0; i < n; i++)
            points += p[i] == '.';
        if (isdigit((unsigned char)*p) && points >= 1 && strspn(p, "0123456789.") >= n)
            return hu_doctor_format(d, "%.*s", (int)(n < 64 ? n : 64), p);
        p += n;
    }
    return "";
}

const char *hu_cuda_driver_version(hu_doctor *d)
{
    const char *text;

    hu_doctor_read(d, "/proc/driver/nvidia/version", &text);
    return version_in(d, text);
}

const char *hu_cuda_library_version(hu_doctor *d, const char *path)
{
    const char *target, *so;

    if (hu_doctor_link(d, path, &target) != HU_LOOK_OK || !(so = strstr(target, ".so.")))
        return "";
    return strchr(so + 4, '.') ? version_in(d, so + 4) : "";
}

/* -- what a job would load --------------------------------------------------------------------------------------------- */

const char *const *hu_job_folders(hu_doctor *d, const char *variable, size_t *n)
{
    const char  *text = hu_doctor_variable(d, variable);
    const char **out = hu_arena_calloc(hu_doctor_arena(d), FOLDERS_MOST, sizeof *out);

    *n = 0;
    while (out && text && *text && *n < FOLDERS_MOST) {
        size_t      length = strcspn(text, ":");
        const char *next = text + length + (text[length] == ':');

        while (length > 1 && text[length - 1] == '/')
            length--;
        if (length)
            out[(*n)++] = hu_doctor_format(d, "%.*s", (int)length, text);
        text = next;
    }
    return out;
}

typedef struct {
    const char *at[SITES_MOST];
    size_t      n;
} sites;

static void add(hu_doctor *d, sites *s, const char *folder)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->at[i], folder) == 0)
            return;
    if (s->n < SITES_MOST && hu_doctor_exists(d, folder))
        s->at[s->n++] = folder;
}

/* Those of an installation, a virtual environment or a user: PREFIX/lib/python3.12/site-packages and Debian's names. */
static void add_prefix(hu_doctor *d, sites *s, const char *prefix)
{
    static const char *const libraries[] = {"lib", "lib64", "local/lib"};

    for (size_t i = 0; i < HU_COUNT(libraries); i++) {
        const char        *folder = hu_doctor_format(d, "%s/%s", prefix, libraries[i]);
        const char *const *names;
        size_t             n = 0;

        hu_doctor_list(d, folder, &names, &n);
        for (size_t k = n; k-- > 0;) /* the newest first */
            if (strncmp(names[k], "python3", 7) == 0) {
                add(d, s, hu_doctor_format(d, "%s/%s/site-packages", folder, names[k]));
                add(d, s, hu_doctor_format(d, "%s/%s/dist-packages", folder, names[k]));
            }
    }
}

/* The first one of PATH; "" there is none. */
static const char *python_prefix(hu_doctor *d)
{
    size_t             n;
    const char *const *folders = hu_job_folders(d, "PATH", &n);

    for (size_t i = 0; i < n; i++) {
        const size_t length = strlen(folders[i]);

        if (length > 4 && strcmp(folders[i] + length - 4, "/bin") == 0 &&
            (hu_doctor_exists(d, hu_doctor_format(d, "%s/python", folders[i])) ||
             hu_doctor_exists(d, hu_doctor_format(d, "%s/python3", folders[i]))))
            return hu_doctor_format(d, "%.*s", (int)length - 4, folders[i]);
    }
    return "";
}

/* Folders that the Python of PATH (then VIRTUAL_ENV, CONDA_PREFIX) imports packages from, in order; PYTHONPATH's first. */
static const char *const *job_sites(hu_doctor *d, size_t *n)
{
    static sites s;
    static bool  is_done;

    if (!is_done) {
        size_t             n_given;
        const char *const *given = hu_job_folders(d, "PYTHONPATH", &n_given);
        const char        *prefix = python_prefix(d), *home = hu_doctor_variable(d, "HOME");

        is_done = true;
        for (size_t i = 0; i < n_given; i++)
            add(d, &s, given[i]);
        if (home && *prefix && !hu_doctor_exists(d, hu_doctor_format(d, "%s/pyvenv.cfg", prefix)) &&
            !hu_doctor_variable(d, "PYTHONNOUSERSITE"))
            add_prefix(d, &s, hu_doctor_format(d, "%s/.local", home));
        if (*prefix)
            add_prefix(d, &s, prefix);
        for (int i = 0; i < 2; i++) {
            const char *other = hu_doctor_variable(d, i == 0 ? "VIRTUAL_ENV" : "CONDA_PREFIX");

            if (other && *other)
                add_prefix(d, &s, other);
        }
    }
    *n = s.n;
    return s.at;
}

/* The text in quotes of "NAME = 'x'" or "NAME: Optional[str] = 'x'"; NULL: None, or it has no such line. */
static const char *python_text(hu_doctor *d, const char *file, const char *name)
{
    const size_t n = strlen(name);

    for (const char *line = file; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const size_t length = strcspn(line, "\n");
        const char  *sign, *quote;

        if (strncmp(line, name, n) != 0 || (line[n] != ' ' && line[n] != ':' && line[n] != '=') ||
            !(sign = memchr(line, '=', length)))
            continue;
        quote = sign + 1 + strspn(sign + 1, " ");
        if (*quote != '\'' && *quote != '"')
            return NULL;
        return hu_doctor_format(d, "%.*s", (int)strcspn(quote + 1, "'\"\n"), quote + 1);
    }
    return NULL;
}

const hu_job_torch *hu_job_torch_of(hu_doctor *d)
{
    static hu_job_torch found;
    static bool         is_done;
    size_t              n;
    const char *const  *folders = job_sites(d, &n);
    const char         *file, *cuda;

    for (size_t i = 0; !is_done && i < n; i++) {
        const char *path = hu_doctor_format(d, "%s/torch/version.py", folders[i]);

        if (hu_doctor_read(d, path, &file) != HU_LOOK_OK)
            continue;
        cuda = python_text(d, file, "cuda");
        found = (hu_job_torch){
            .where = path, .version = python_text(d, file, "__version__"), .hip = python_text(d, file, "hip")};
        found.cuda = cuda ? hu_cuda_of_text(cuda) : -1;
        if (!found.version)
            found.version = "";
        is_done = true;
    }
    is_done = true;
    return &found;
}

/* "13.2.86" of "nvidia_cuda_runtime_cu13-13.2.86.dist-info" and its name; NULL: of another package. */
static const char *version_of_folder(hu_doctor *d, const char *folder, const char *name)
{
    const size_t n = strlen(name);
    const char  *p = folder + n, *end;

    if (strncmp(folder, name, n) != 0)
        return NULL;
    if (strncmp(p, "_cu", 3) == 0)
        p += 3 + strspn(p + 3, "0123456789");
    end = strstr(p, ".dist-info");
    return *p == '-' && end && end[10] == '\0' ? hu_doctor_format(d, "%.*s", (int)(end - p - 1), p + 1) : NULL;
}

const char *hu_job_package(hu_doctor *d, const char *name, const char **where)
{
    size_t             n, n_names;
    const char *const *folders = job_sites(d, &n), *const * names;

    for (size_t i = 0; i < n; i++) {
        n_names = 0;
        hu_doctor_list(d, folders[i], &names, &n_names);
        for (size_t k = 0; k < n_names; k++) {
            const char *version = version_of_folder(d, names[k], name);

            if (version) {
                if (where)
                    *where = hu_doctor_format(d, "%s/%s", folders[i], names[k]);
                return version;
            }
        }
    }
    return NULL;
}
