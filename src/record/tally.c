/* SPDX-License-Identifier: Apache-2.0
 * tally.c - heads of rings and of their blocks; what was drained by the size of the drain files. */
#include "record/tally.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

static void add_cuda(const hu_cuda_facts *from, hu_tally *t)
{
    hu_cuda_facts *sum = &t->cuda_losses, *to;

    if (from->state == HU_CUDA_UNTOUCHED || from->state >= HU_CUDA_STATES)
        return;
    to = &t->cuda[from->state];
    if (t->cuda_processes[from->state]++ == 0) {
        *to = *from;
        to->what[sizeof to->what - 1] = to->library[sizeof to->library - 1] = to->other[sizeof to->other - 1] = '\0';
    }
    if (from->yielded && !sum->yielded)
        memcpy(sum->other, to->other, sizeof sum->other);
    sum->dropped += from->dropped;
    sum->thrown += from->thrown;
    sum->no_time += from->no_time;
    sum->unknown += from->unknown;
    sum->yielded += from->yielded;
    sum->hangs += from->hangs;
    sum->missed_kinds |= from->missed_kinds;
    t->decoding_ns += from->decoding_ns;
}

static void add_opencl(const hu_opencl_facts *from, hu_opencl_facts *sum)
{
    sum->enqueued += from->enqueued;
    sum->timed += from->timed;
    sum->failed += from->failed;
    sum->untimed += from->untimed;
    sum->crowded += from->crowded;
    sum->unfinished += from->unfinished;
    sum->strange += from->strange;
    sum->users += from->users;
}

static bool is_python(const hu_ring_head *head)
{
    const char *slash = memrchr(head->program, '/', strnlen(head->program, sizeof head->program));

    return slash && strncmp(slash + 1, "python", 6) == 0;
}

/* Options of Python in front of the script: -I, -E or -S, also among other letters.  "-c", "-m" and names end them. */
static bool is_isolated(const hu_ring_head *head)
{
    const char *p = head->command, *end = p + (head->command_bytes < sizeof head->command ? head->command_bytes : 0);
    size_t      n;

    for (p += strnlen(p, (size_t)(end - p)) + 1; p < end && *p == '-' && p[1] && p[1] != '-'; p += n + 1) {
        n = strnlen(p, (size_t)(end - p));
        for (const char *letter = p + 1; letter < p + n; letter++) {
            if (strchr("IES", *letter))
                return true;
            if (strchr("cmWX", *letter)) /* what follows is its value */
                return false;
        }
    }
    return false;
}

static void add_torch(const hu_ring_head *head, hu_tally *t)
{
    const hu_torch_facts *f = &head->torch;
    const bool            is_first = !t->torch_processes[HU_TORCH_ON] && !t->torch_processes[HU_TORCH_FAILED];

    t->pythons += is_python(head);
    t->isolated += is_python(head) && is_isolated(head);
    if (f->state >= HU_TORCH_STATES)
        return;
    t->torch_processes[f->state]++;
    if (f->state == HU_TORCH_NONE)
        return;
    if (is_first || f->steps > t->torch.steps || (f->steps == t->torch.steps && f->operators > t->torch.operators)) {
        t->torch = *f;
        t->torch.version[sizeof t->torch.version - 1] = t->torch.why[sizeof t->torch.why - 1] = '\0';
    }
}

static void add_ring(int fd, hu_tally *t)
{
    hu_ring_head  head;
    hu_block_head block;

    if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head || head.magic != HU_RING_MAGIC)
        return;
    t->processes += head.state != HU_PROCESS_REPLACED;
    t->running += head.state == HU_PROCESS_RUNS && (kill((pid_t)head.pid, 0) == 0 || errno == EPERM);
    t->doors |= head.doors;
    add_cuda(&head.cuda, t);
    add_opencl(&head.opencl, &t->opencl);
    t->decoding_ns += head.opencl.asking_ns;
    add_torch(&head, t);
    for (int i = 0; i < HU_LOSS_REASONS; i++) {
        t->lost[i] += head.lost[i];
        t->lost_in_all += i == HU_LOSS_OVERWRITTEN ? 0 : head.lost[i];
    }
    for (uint32_t i = 1; i < head.n_blocks; i++) {
        uint32_t n;

        if (pread(fd, &block, sizeof block, (off_t)i * HU_BLOCK_BYTES) != (ssize_t)sizeof block)
            return;
        n = block.taken < HU_BLOCK_RECORDS ? block.taken : HU_BLOCK_RECORDS;
        if (block.state != HU_BLOCK_FREE && block.kind == HU_BLOCK_OF_RECORDS && n > block.drained)
            t->records += n - block.drained;
    }
}

void hu_tally_session(const char *path, hu_tally *out)
{
    DIR           *d = opendir(path);
    struct dirent *e;

    memset(out, 0, sizeof *out);
    while (d && (e = readdir(d))) {
        const hu_str name = hu_str_of(e->d_name);
        const int    fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        struct stat  st;

        if (fd < 0)
            continue;
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
            out->bytes += (uint64_t)st.st_size;
            if (hu_str_ends(name, HU_STR(".drain")))
                out->records += (uint64_t)st.st_size / sizeof(hu_record);
            else if (hu_str_ends(name, HU_STR(".ring")))
                add_ring(fd, out);
        }
        close(fd);
    }
    if (d)
        closedir(d);
}
