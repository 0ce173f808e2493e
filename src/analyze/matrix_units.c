/* SPDX-License-Identifier: Apache-2.0
 * matrix_units.c - by compute capability on NVIDIA, by name on AMD.
 *
 * NVIDIA: the table "Supported Tensor Core data types by compute capability" of the CUDA C++ Programming Guide: none below
 * 7.0, fp16 from 7.0 on, bf16 and TF32 from 8.0 on.  The GTX 16 cards say 7.5 and have no tensor cores (NVIDIA Turing
 * architecture in depth: TU116 and TU117 carry fp16 units in their place).
 * AMD: MFMA since CDNA (MI100), so not on Vega, MI50 and MI60, which have the same 64 threads in a wave; fp32 products run
 * on it without being asked, and TF32 is only emulated or hidden behind a setting (ROCm documentation, "Data types and
 * precision support").  Radeon cards differ by generation, and their libraries by version: unknown.
 */
#include "analyze/matrix_units.h"

#include "analyze/peaks.h"

static bool has(hu_str name, const char *word)
{
    return hu_str_has(name, hu_str_of(word));
}

static hu_matrix_units of_amd(hu_str name)
{
    static const char *const with[] = {"MI100", "MI210", "MI250", "MI3", "MI4"}, *const without[] = {"Vega", "MI25", "MI50",
                                                                                                     "MI60"};

    for (size_t i = 0; i < HU_COUNT(with); i++)
        if (has(name, with[i]))
            return HU_MATRIX_BF16;
    for (size_t i = 0; i < HU_COUNT(without); i++)
        if (has(name, without[i]))
            return HU_MATRIX_NONE;
    return HU_MATRIX_UNKNOWN;
}

/* Without a compute capability. */
static hu_matrix_units of_name(hu_str name)
{
    static const struct {
        const char     *word;
        hu_matrix_units units;
    } words[] = {
        {"P100", HU_MATRIX_NONE},   {"P40", HU_MATRIX_NONE},    {"K80", HU_MATRIX_NONE},    {"M60", HU_MATRIX_NONE},
        {"V100", HU_MATRIX_FP16},   {"T4", HU_MATRIX_FP16},     {"RTX 20", HU_MATRIX_FP16}, {"TITAN V", HU_MATRIX_FP16},
        {"RTX 30", HU_MATRIX_TF32}, {"RTX 40", HU_MATRIX_TF32}, {"RTX 50", HU_MATRIX_TF32}, {"RTX A", HU_MATRIX_TF32},
    };
    const hu_peaks *p = hu_peaks_find(name, 0, 0);

    if (p)
        return p->tf32 > 0 ? HU_MATRIX_TF32 : p->fp16 > 0 && p->bf16 <= 0 ? HU_MATRIX_FP16 : HU_MATRIX_UNKNOWN;
    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (has(name, words[i].word))
            return words[i].units;
    return HU_MATRIX_UNKNOWN;
}

/* `device` may be NULL; `name` is its name, "" unknown. */
static hu_matrix_units units_of(const hu_device *device, hu_str name)
{
    const int major = device ? device->major : 0;

    if (has(name, "AMD") || has(name, "Instinct") || has(name, "Radeon") || (device && device->warp_size == 64))
        return of_amd(name);
    if (has(name, "GTX 16") || has(name, "GTX 10"))
        return HU_MATRIX_NONE;
    if (major >= 8 && device->warp_size == 0 && !name.n)
        return HU_MATRIX_UNKNOWN; /* AMD counts so too */
    if (major > 0)
        return major < 7 ? HU_MATRIX_NONE : major == 7 ? HU_MATRIX_FP16 : HU_MATRIX_TF32;
    return of_name(name);
}

hu_matrix_units hu_matrix_units_of_trace(const hu_trace *trace)
{
    static const char *const modern[] = {"ampere_", "sm80_", "sm86_", "sm89_", "sm90_", "sm100_", "nvjet_"};
    const hu_device         *d = hu_trace_main_device(trace);
    const hu_matrix_units    units = units_of(d, d ? hu_trace_text(trace, d->name) : HU_STR(""));
    const hu_slices          s = hu_trace_slices(trace);

    for (uint32_t i = 0; units == HU_MATRIX_UNKNOWN && i < s.n; i++)
        for (size_t k = 0; s.kind[i] == HU_KIND_KERNEL && k < HU_COUNT(modern); k++)
            if (has(hu_trace_text(trace, s.name[i]), modern[k]))
                return HU_MATRIX_TF32;
    return units;
}
