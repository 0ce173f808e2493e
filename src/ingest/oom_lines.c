/* SPDX-License-Identifier: Apache-2.0
 * oom_lines.c - by the words of PyTorch's exception. */
#include "ingest/oom_lines.h"

enum { MOST_OOM = 160 };

/* Those that `room` bytes hold, without the last full stop; of one that is longer what they hold. */
static hu_str first_sentences(hu_str text, size_t room)
{
    size_t end = text.n < room ? text.n : room;

    for (size_t i = end; end == room && i > 1; i--)
        if (text.p[i - 2] == '.' && text.p[i - 1] == ' ') {
            end = i - 1;
            break;
        }
    while (end && text.p[end - 1] == '.')
        end--;
    return (hu_str){text.p, end};
}

/* "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. …"; a mere mention of the words is none. */
bool hu_oom_line(hu_str line, uint64_t number, hu_arena *arena, hu_log_words *oom)
{
    static const char *const words[] = {"OutOfMemoryError: ", "CUDA out of memory. Tried to allocate",
                                        "HIP out of memory. Tried to allocate", "RuntimeError: CUDA out of memory",
                                        "RuntimeError: HIP out of memory"};
    const char              *at = NULL;

    if (!hu_str_has(line, HU_STR("OutOfMemoryError")) && !hu_str_has(line, HU_STR("out of memory"))) /* most lines */
        return true;
    for (size_t i = 0; i < HU_COUNT(words) && !at; i++)
        at = memmem(line.p, line.n, words[i], strlen(words[i]));
    if (!at)
        return true;
    if (oom->n++ == 0) {
        oom->text = hu_arena_copy(arena, first_sentences((hu_str){at, (size_t)(line.p + line.n - at)}, MOST_OOM));
        oom->line = number;
    }
    return oom->text.p != NULL;
}
