/* SPDX-License-Identifier: Apache-2.0
 * words.c - at each byte only the words that begin with it and the byte behind it are compared, and none where no set of
 * words has these three bytes. */
#include "base/words.h"

#include <assert.h>

/* Behind the end of a word any byte may stand. */
static void allow(uint32_t *may, const char *byte, size_t word)
{
    const uint32_t set = UINT32_C(1) << word % 32;

    if (byte)
        may[(unsigned char)*byte] |= set;
    for (size_t c = 0; !byte && c < 256; c++)
        may[c] |= set;
}

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
        for (size_t k = 0; k < HU_COUNT(out->may); k++)
            allow(out->may[k], k < out->length[i] ? words[i] + k : NULL, i);
    }
    for (size_t c = 0; c < 256; c++) {
        out->first[c + 1] = (uint16_t)(out->first[c + 1] + out->first[c]);
        at[c] = out->first[c];
    }
    for (size_t i = 0; i < n; i++)
        out->by_first[at[(unsigned char)words[i][0]]++] = (uint8_t)i;
}

/* The smallest number of a word that begins at byte `i`, where it is smaller than `best`. */
static int find_at(const hu_words *w, hu_str text, size_t i, int best)
{
    const unsigned char c = (unsigned char)text.p[i];

    for (uint16_t k = w->first[c]; k < w->first[c + 1]; k++) {
        const int word = w->by_first[k];

        if (best >= 0 && word >= best)
            break; /* words of one byte are in order */
        if (w->length[word] <= text.n - i && text.p[i + (w->length[word] > 1)] == w->second[word] &&
            memcmp(text.p + i, w->words[word], w->length[word]) == 0)
            best = word;
    }
    return best;
}

int hu_words_find(const hu_words *w, hu_str text)
{
    const unsigned char *p = (const unsigned char *)text.p;
    size_t               i = 0;
    int                  best = -1;

    for (; i + 2 < text.n; i++)
        if (w->may[0][p[i]] & w->may[1][p[i + 1]] & w->may[2][p[i + 2]])
            best = find_at(w, text, i, best);
    for (; i < text.n; i++)
        best = find_at(w, text, i, best);
    return best;
}
