/* SPDX-License-Identifier: Apache-2.0
 * job_files.c - reads the folder of a prolog.
 *
 * A job with a file `job.ID` has exactly the GPUs that stand there; the files by GPU only say the same to other tools, by a
 * number that may mean another GPU (the scheduler counts device nodes, the driver PCI addresses).
 */
#include "monitor/jobs/job_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"

enum { FILES_MOST = 1024, FILE_MOST = 16 << 10, ID_MOST = 63, NS = 1000000000 };

typedef struct {
    hu_job_files          *f;
    const hu_slurm_groups *slurm;
    int                    folder;
    int64_t                boot_s;
} reading;

static hu_str next(hu_str *rest, char end)
{
    const char  *at = memchr(rest->p, end, rest->n);
    const hu_str one = at ? (hu_str){rest->p, (size_t)(at - rest->p)} : *rest;
    const size_t taken = one.n + (at != NULL);

    *rest = (hu_str){rest->p + taken, rest->n - taken};
    return one;
}

/* What a job's id may look like: "123", "123_4", "123.0", PBS's "123.server". */
static bool is_id(hu_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!hu_char_is_letter(s.p[i]) && !(s.p[i] >= '0' && s.p[i] <= '9') && !memchr("._-[]", s.p[i], 5))
            return false;
    return s.n > 0 && s.n <= ID_MOST;
}

/* A plain file that is not written to by everybody; *written_s is when it was. */
static hu_str read_file(const reading *r, const char *name, char *text, int64_t *written_s)
{
    const int   fd = openat(r->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    size_t      n = 0;
    ssize_t     got;

    if (fd < 0)
        return HU_STR("");
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !(st.st_mode & S_IWOTH))
        while (n < FILE_MOST && (got = read(fd, text + n, FILE_MOST - n)) > 0)
            n += (size_t)got;
    close(fd);
    *written_s = st.st_mtim.tv_sec;
    return (hu_str){text, n};
}

/* "3", "3.1" (instance 1 of GPU 3), "GPU-...", "MIG-...". */
static bool name_of(hu_str file, hu_gpu_name *out)
{
    const char  *point = memchr(file.p, '.', file.n);
    const hu_str front = point ? (hu_str){file.p, (size_t)(point - file.p)} : file;
    uint64_t     number, gi;

    *out = (hu_gpu_name){.by = HU_GPU_BY_INDEX, .gi = -1};
    if (hu_parse_u64(front, &number) && number < HU_BOARD_GPUS) {
        out->number = (int32_t)number;
        if (!point)
            return true;
        if (!hu_parse_u64((hu_str){point + 1, file.n - front.n - 1}, &gi) || gi >= HU_BOARD_GPUS)
            return false;
        out->gi = (int32_t)gi;
        return true;
    }
    out->by = HU_GPU_BY_UUID;
    hu_owner_text(out->text, sizeof out->text, file);
    return hu_str_starts(file, HU_STR("GPU-")) || hu_str_starts(file, HU_STR("MIG-"));
}

static bool has_ended(const reading *r, const hu_owner *o, int64_t written_s)
{
    hu_str id = hu_str_of(o->job_id);

    if (written_s < r->boot_s)
        return true;
    return strcmp(o->scheduler, "slurm") == 0 && hu_slurm_has_ended(r->slurm, next(&id, '.'), written_s);
}

/* Whose number it is stands in a file of our prolog; else it is SLURM's where SLURM is. */
static hu_owner owner_of(const reading *r, hu_str id)
{
    hu_owner o = {0};

    if (r->slurm->is_there)
        HU_OWNER_SET(o.scheduler, HU_STR("slurm"));
    HU_OWNER_SET(o.job_id, id);
    return o;
}

static void take_by_gpu(const reading *r, const char *file, hu_str text, int64_t written_s)
{
    hu_gpu_name gpu;

    if (!name_of(hu_str_of(file), &gpu))
        return;
    while (text.n) {
        const hu_str   id = hu_str_trim(next(&text, '\n'));
        const hu_owner o = owner_of(r, id);
        char           name[ID_MOST + 8];

        if (!is_id(id))
            continue;
        snprintf(name, sizeof name, "job.%.*s", HU_FMT(id));
        if (faccessat(r->folder, name, F_OK, 0) == 0)
            continue;
        if (has_ended(r, &o, written_s))
            r->f->stale++;
        else
            hu_allocations_add(&r->f->list, &gpu, &o);
    }
}

/* Lines KEY=VALUE; `gpus` are uuids, `minors` numbers of device nodes where no uuid could be found. */
static void take_job(const reading *r, hu_str id, hu_str text, int64_t written_s)
{
    hu_owner o = owner_of(r, id);
    hu_str   gpus = HU_STR(""), minors = HU_STR("");

    while (text.n) {
        hu_str       line = next(&text, '\n');
        const hu_str key = next(&line, '=');

        if (hu_str_equal(key, HU_STR("scheduler")) && line.n)
            HU_OWNER_SET(o.scheduler, line);
        else if (hu_str_equal(key, HU_STR("user")))
            HU_OWNER_SET(o.user, line);
        else if (hu_str_equal(key, HU_STR("account")))
            HU_OWNER_SET(o.account, line);
        else if (hu_str_equal(key, HU_STR("partition")))
            HU_OWNER_SET(o.partition, line);
        else if (hu_str_equal(key, HU_STR("name")))
            HU_OWNER_SET(o.job_name, line);
        else if (hu_str_equal(key, HU_STR("gpus")))
            gpus = line;
        else if (hu_str_equal(key, HU_STR("minors")))
            minors = line;
    }
    if (has_ended(r, &o, written_s)) {
        r->f->stale++;
        return;
    }
    while (gpus.n) {
        hu_gpu_name gpu;

        if (name_of(hu_str_trim(next(&gpus, ',')), &gpu))
            hu_allocations_add(&r->f->list, &gpu, &o);
    }
    while (minors.n) {
        hu_gpu_name gpu = {.by = HU_GPU_BY_MINOR, .gi = -1};
        uint64_t    number;

        if (hu_parse_u64(hu_str_trim(next(&minors, ',')), &number) && number < HU_BOARD_GPUS) {
            gpu.number = (int32_t)number;
            hu_allocations_add(&r->f->list, &gpu, &o);
        }
    }
}

static void read_folder(reading *r, DIR *dir)
{
    char           text[FILE_MOST];
    struct dirent *e;
    size_t         n = 0;

    while ((e = readdir(dir)) && n < FILES_MOST) {
        const hu_str name = hu_str_of(e->d_name);
        int64_t      written_s = 0;
        hu_str       all, id = {name.p + 4, name.n - 4};

        if (name.p[0] == '.')
            continue;
        n++;
        all = read_file(r, e->d_name, text, &written_s);
        if (hu_str_starts(name, HU_STR("job.")) && is_id(id))
            take_job(r, id, all, written_s);
        else
            take_by_gpu(r, e->d_name, all, written_s);
    }
}

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * NS + t.tv_nsec;
}

static int64_t boot_time(void)
{
    struct timespec now, up;

    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &up);
    return (nanoseconds(now) - nanoseconds(up)) / NS;
}

hu_job_files_state hu_job_files_look(hu_job_files *f, const hu_slurm_groups *slurm, bool always)
{
    struct stat     st;
    struct timespec now;
    reading         r = {f, slurm, -1, boot_time()};
    DIR            *dir;

    r.folder = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r.folder < 0 || fstat(r.folder, &st) < 0 || (st.st_mode & S_IWOTH)) {
        const hu_job_files_state why = r.folder >= 0     ? HU_JOB_FILES_OPEN
                                       : errno == ENOENT ? HU_JOB_FILES_ABSENT
                                                         : HU_JOB_FILES_DENIED;

        if (r.folder >= 0)
            close(r.folder);
        f->list.n = f->stale = 0;
        f->changed_ns = 0;
        return why;
    }
    if (!always && f->changed_ns == nanoseconds(st.st_mtim)) {
        close(r.folder);
        return HU_JOB_FILES_READ;
    }
    dir = fdopendir(fcntl(r.folder, F_DUPFD_CLOEXEC, 0));
    f->list.n = f->stale = 0;
    f->list.is_cut = false;
    if (dir) {
        read_folder(&r, dir);
        closedir(dir);
    }
    close(r.folder);
    /* a folder that has just changed may change again within one tick of its clock */
    clock_gettime(CLOCK_REALTIME, &now);
    f->changed_ns = nanoseconds(now) - nanoseconds(st.st_mtim) > NS ? nanoseconds(st.st_mtim) : 0;
    return HU_JOB_FILES_READ;
}

void hu_job_files_free(hu_job_files *f)
{
    hu_allocations_free(&f->list);
}
