/* SPDX-License-Identifier: Apache-2.0
 * links.c - a table of links.
 *
 * Makers give the sum of both directions; here is one.  Behind a switch a device reaches any other at its full rate; where
 * devices are joined one by one it reaches each at the rate of their common links, and a group of n uses n - 1 of these.
 * A name is of a class only where each of its words is: "H800 PCIe", "H200 NVL" and "GH200" have other links.
 */
#include "analyze/links.h"

#include <ctype.h>

enum { BOARD = 8 }; /* devices of a whole one, of all in the table but the V100 */

static const struct {
    const char *words[2]; /* that the device's name has, and none but these, its maker's and its memory */
    double      gbps;     /* in all */
    double      pair;     /* to one other */
    const char *what;
    bool        has_board; /* BOARD of them are joined in one way only */
    bool        is_mesh;   /* one by one */
    bool        reduces;   /* the switch does: NVLS */
    const char *source;
    /* clang-format off */
} links[] = {
    {{"B200"}, 900, 900, "NVLink 5", true, false, true, "NVIDIA Blackwell datasheet: 1.8 TB/s both ways"},
    {{"B300"}, 900, 900, "NVLink 5", true, false, true, "NVIDIA Blackwell Ultra datasheet: 1.8 TB/s both ways"},
    {{"H200"}, 450, 150, "NVLink 4", true, false, true, "NVIDIA H200: 900 GB/s both ways; boards of 4: 6 of 18 links"},
    {{"H100", "HBM3"}, 450, 150, "NVLink 4", true, false, true, "NVIDIA H100: 900 GB/s both ways; boards of 4: 6 of 18"},
    {{"H800"}, 200, 66, "NVLink 4", true, false, true, "NVIDIA H800: 400 GB/s in both directions"},
    {{"A100", "SXM4"}, 300, 100, "NVLink 3", true, false, false, "NVIDIA A100: 600 GB/s both ways; boards of 4: 4 of 12"},
    {{"A800", "SXM4"}, 200, 66, "NVLink 3", true, false, false, "NVIDIA A800: 400 GB/s in both directions"},
    {{"V100", "SXM2"}, 25, 25, "NVLink 2, one link", false, false, false, "NVIDIA V100: 6 links; pairs share 0 to 2"},
    {{"V100", "SXM3"}, 25, 25, "NVLink 2, one link", false, false, false, "NVIDIA V100: 6 links; pairs share 0 to 2"},
    {{"MI300X"}, 448, 64, "xGMI", true, true, false, "AMD MI300X data sheet: 7 links of 128 GB/s in both directions"},
    {{"MI325X"}, 448, 64, "xGMI", true, true, false, "AMD MI325X data sheet: 7 links of 128 GB/s in both directions"},
    {{"MI350X"}, 537.6, 76.8, "xGMI", true, true, false, "AMD MI350X brochure: 7 links of 153.6 GB/s in both directions"},
    {{"MI355X"}, 537.6, 76.8, "xGMI", true, true, false, "AMD MI355X brochure: 7 links of 153.6 GB/s in both directions"},
};
/* clang-format on */

/* "80GB", and who made it. */
static bool is_beside(hu_str word)
{
    static const char *const makers[] = {"NVIDIA", "Tesla", "AMD", "Instinct", "OAM"};
    size_t                   n = 0;

    for (size_t i = 0; i < HU_COUNT(makers); i++)
        if (hu_str_equal(word, hu_str_of(makers[i])))
            return true;
    while (n < word.n && isdigit((unsigned char)word.p[n]))
        n++;
    return n && n + 2 == word.n && word.p[n] == 'G' && word.p[n + 1] == 'B';
}

static bool is_of(hu_str device, const char *const words[2])
{
    bool has[2] = {false, !words[1]};

    for (size_t from = 0, end; from < device.n; from = end + 1) {
        hu_str word;
        bool   is_known;

        for (end = from; end < device.n && device.p[end] != ' ' && device.p[end] != '-'; end++)
            continue;
        word = (hu_str){device.p + from, end - from};
        is_known = word.n == 0 || is_beside(word);
        for (size_t k = 0; k < 2; k++)
            if (words[k] && hu_str_equal(word, hu_str_of(words[k])))
                is_known = has[k] = true;
        if (!is_known)
            return false;
    }
    return has[0] && has[1];
}

double hu_links_gbps(hu_str device, int64_t group_size, const char **what)
{
    for (size_t i = 0; i < HU_COUNT(links) && group_size > 1; i++) {
        const double all = links[i].pair * (double)(group_size - 1);

        if (!is_of(device, links[i].words))
            continue;
        *what = links[i].what;
        return all < links[i].gbps ? all : links[i].gbps;
    }
    return 0;
}

hu_links_board hu_links_whole(hu_str device, int64_t group_size)
{
    for (size_t i = 0; i < HU_COUNT(links); i++)
        if (links[i].has_board && is_of(device, links[i].words))
            return (hu_links_board){.gbps = group_size == BOARD ? links[i].gbps : 0,
                                    .what = links[i].what,
                                    .is_part = group_size < BOARD,
                                    .is_mesh = links[i].is_mesh,
                                    .reduces = links[i].reduces};
    return (hu_links_board){0};
}
