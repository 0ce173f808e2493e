/* SPDX-License-Identifier: Apache-2.0
 * links.c - a table of links.
 *
 * Makers give the sum of both directions; here is one.  Behind a switch a device reaches any other at its full rate; where
 * devices are joined one by one it reaches each at the rate of their common links, and a group of n uses n - 1 of these.
 */
#include "analyze/links.h"

static const struct {
    const char *words[2]; /* that the device's name holds */
    double      gbps;     /* in all */
    double      pair;     /* to one other */
    const char *what;
    const char *source;
    /* clang-format off */
} links[] = {
    {{"B200", ""}, 900, 900, "NVLink 5", "NVIDIA Blackwell datasheet: 1.8 TB/s in both directions"},
    {{"B300", ""}, 900, 900, "NVLink 5", "NVIDIA Blackwell Ultra datasheet: 1.8 TB/s in both directions"},
    {{"H200", ""}, 450, 150, "NVLink 4", "NVIDIA H200 datasheet: 900 GB/s both ways; 4-GPU boards: 6 of 18 links each"},
    {{"H100", "HBM3"}, 450, 150, "NVLink 4", "NVIDIA H100 datasheet: 900 GB/s both ways; 4-GPU boards: 6 of 18 links each"},
    {{"H800", ""}, 200, 66, "NVLink 4", "NVIDIA H800: 400 GB/s in both directions"},
    {{"A100", "SXM4"}, 300, 100, "NVLink 3", "NVIDIA A100 datasheet: 600 GB/s both ways; 4-GPU boards: 4 of 12 links each"},
    {{"A800", "SXM4"}, 200, 66, "NVLink 3", "NVIDIA A800: 400 GB/s in both directions"},
    {{"V100", "SXM"}, 25, 25, "NVLink 2, one link", "NVIDIA V100 datasheet: 300 GB/s over 6 links; pairs share 0 to 2"},
    {{"MI300X", ""}, 448, 64, "xGMI", "AMD MI300X data sheet: 7 links of 128 GB/s in both directions"},
    {{"MI325X", ""}, 448, 64, "xGMI", "AMD MI325X data sheet: 7 links of 128 GB/s in both directions"},
    {{"MI350X", ""}, 537.6, 76.8, "xGMI", "AMD MI350X brochure: 7 links of 153.6 GB/s in both directions"},
    {{"MI355X", ""}, 537.6, 76.8, "xGMI", "AMD MI355X brochure: 7 links of 153.6 GB/s in both directions"},
};
/* clang-format on */

double hu_links_gbps(hu_str device, int64_t group_size, const char **what)
{
    for (size_t i = 0; i < HU_COUNT(links) && group_size > 1; i++) {
        const double all = links[i].pair * (double)(group_size - 1);

        if (!hu_str_has(device, hu_str_of(links[i].words[0])) || !hu_str_has(device, hu_str_of(links[i].words[1])))
            continue;
        *what = links[i].what;
        return all < links[i].gbps ? all : links[i].gbps;
    }
    return 0;
}
