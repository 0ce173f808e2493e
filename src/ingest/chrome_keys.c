/* SPDX-License-Identifier: Apache-2.0
 * chrome_keys.c - the table of spellings, its hash, and the choice of the scanner for this machine. */
#include "ingest/chrome_keys.h"

#include "ingest/chrome_event.h"

const chrome_key chrome_keys[] = {
#define K(place, text) {text "\"", sizeof(text), CHROME_##place, 0},
    CHROME_EVENT_KEYS(K)
#undef K
#define K(place, text) {text "\"", sizeof(text), CHROME_##place, 1},
        CHROME_ARG_KEYS(K)
#undef K
};

const size_t chrome_key_count = HU_COUNT(chrome_keys);

_Static_assert(HU_COUNT(chrome_keys) <= CHROME_MOST_KEYS, "raise CHROME_MOST_KEYS");
_Static_assert(CHROME_MOST_KEYS < CHROME_NO_KEY, "keys are numbered in one byte");

/* Must agree with key_hash in chrome_scan.h; a test looks every key up in every variant. */
static size_t slot_of(const chrome_key *k)
{
    const size_t n = k->n - 1u;
    uint64_t     v = 0;

    for (size_t i = 0; i < n && i < 8; i++)
        v |= (uint64_t)(unsigned char)k->text[i] << (8 * i);
    return (size_t)((v ^ n * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd) >> 55);
}

void chrome_scanner_init(chrome_scanner *scanner, int64_t nesting)
{
    memset(scanner->slots, CHROME_NO_KEY, sizeof scanner->slots);
    memset(scanner->next, 0, sizeof scanner->next); /* any key is a guess as good as another */
    scanner->nesting = nesting;
    scanner->stop = NULL;
    for (size_t i = 0; i < HU_COUNT(chrome_keys); i++) {
        uint8_t *slots = scanner->slots[chrome_keys[i].is_arg];
        size_t   at = slot_of(&chrome_keys[i]);

        while (slots[at] != CHROME_NO_KEY)
            at = (at + 1) % CHROME_KEY_SLOTS;
        slots[at] = (uint8_t)i;
    }
}

bool chrome_is_event_start(const char *p)
{
    do
        p++;
    while (*p && (unsigned char)*p <= 0x20);
    if (*p != '"')
        return false;
    for (size_t i = 0; i < chrome_key_count && !chrome_keys[i].is_arg; i++) {
        if (memcmp(p + 1, chrome_keys[i].text, chrome_keys[i].n) == 0)
            return true;
    }
    return false;
}

chrome_scan_event *chrome_scan_for(hu_cpu cpu)
{
    switch (cpu) {
#if defined(__x86_64__)
    case HU_CPU_AVX512:
        return chrome_scan_event_avx512;
    case HU_CPU_AVX2:
        return chrome_scan_event_avx2;
#elif defined(__aarch64__)
    case HU_CPU_NEON:
        return chrome_scan_event_neon;
#endif
    default:
        return chrome_scan_event_scalar;
    }
}
