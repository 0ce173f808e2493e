/* SPDX-License-Identifier: Apache-2.0
 * words.c - at each byte only the words that begin with it and the byte behind it are compared. */
#include "base/words.h"

#include <assert.h>

void hu_words_init(hu_words *out, const char *const *words, size_t n)
{
    uint16_t at[256];

    assert(n <= HU_WORDS_MOST);
    memset(out, 0, sizeof *out);
    out->words = words;
    for (size_t i = 0; i < n; i++) {
        out->length[i] = (uint8_t)strlen(words[i]);
        out->second[i] = words[i][out->length[i] > 1];
        out->first[(unsigned char)words[i][0] + 1]++;
    }
    for (size_t c = 0; c < 256; c++) {
        out->first[c + 1] = (uint16_t)(out->first[c + 1] + out->first[c]);
        at[c] = out->first[c];
    }
    for (size_t i = 0; i < n; i++)
        out->by_first[at[(unsigned char)words[i][0]]++] = (uint8_t)i;
}

int hu_words_find(const hu_words *w, hu_str text)
{
    int best = -1;

    for (size_t i = 0; i < text.n; i++) {
        const unsigned char c = (unsigned char)text.p[i];

        for (uint16_t k = w->first[c]; k < w->first[c + 1]; k++) {
            const int word = w->by_first[k];

            if (best >= 0 && word >= best)
                break; /* words of one byte are in order */
            if (w->length[word] <= text.n - i && text.p[i + (w->length[word] > 1)] == w->second[word] &&
                memcmp(text.p + i, w->words[word], w->length[word]) == 0)
                best = word;
        }
    }
    return best;
}
