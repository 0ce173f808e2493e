/* SPDX-License-Identifier: Apache-2.0
 * peaks.c - one row per device.  A number that no document or no two independent quotations agree on is left out.
 *
 * Makers print peaks for matrix units with 2:4 sparsity first: those are twice the dense ones here.  GeForce cards halve
 * the rate of fp16 products that accumulate in fp32, which is what frameworks ask for; the halved number is here.
 * AMD's dual devices (MI250, MI250X) are reported as one device per die; so are the rows.
 */
#include "analyze/peaks.h"

#define NV     "https://www.nvidia.com/"
#define HOPPER "NVIDIA H100 datasheet and Hopper whitepaper; 132 SMs x 4096 FLOP x 1.83 GHz"
#define AMPERE NV "content/dam/en-zz/Solutions/Data-Center/a100/pdf/nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf"
#define VOLTA  "https://images.nvidia.com/content/technologies/volta/pdf/volta-v100-datasheet-update-us-1165301-r5.pdf"
#define AMD    "https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/"
#define GA102  "NVIDIA Ampere GA102 whitepaper V2"

static const hu_peaks list[] = {
    /* sysrqmts.com and hmc-tech.com quote the same fp32, tensor and memory numbers */
    {"V100 SXM2", "V100 SXM2", 0, 80, 7.8, 15.7, 0, 0, 0, 125, 0, 0, 900, VOLTA},
    {"V100 PCIe", "V100 PCIE", 0, 80, 7, 14, 0, 0, 0, 112, 0, 0, 900, VOLTA},
    {"T4", "T4", 0, 40, 0.254, 8.1, 0, 0, 0, 65, 0, 0, 320,
     NV "content/dam/en-zz/Solutions/Data-Center/tesla-t4/t4-tensor-core-datasheet-951643.pdf"},
    /* the datasheet, checked against torch's and Lightning's tables */
    {"A100 SXM4 40GB", "A100 SXM4", 40, 108, 9.7, 19.5, 19.5, 0, 156, 312, 312, 0, 1555, AMPERE},
    {"A100 SXM4 80GB", "A100 SXM4", 80, 108, 9.7, 19.5, 19.5, 0, 156, 312, 312, 0, 2039, AMPERE},
    {"A100 PCIe 40GB", "A100 PCIE", 40, 108, 9.7, 19.5, 19.5, 0, 156, 312, 312, 0, 1555, AMPERE},
    {"A100 PCIe 80GB", "A100 PCIE", 80, 108, 9.7, 19.5, 19.5, 0, 156, 312, 312, 0, 1935, AMPERE},
    {"A10", "A10", 0, 72, 0.976, 31.2, 0, 0, 62.5, 125, 125, 0, 600,
     NV "content/dam/en-zz/Solutions/Data-Center/a10/pdf/a10-datasheet.pdf"},
    /* its tensor rates are quoted as 70 and as 125: left out */
    {"A10G", "A10G", 0, 0, 0, 35, 0, 0, 0, 0, 0, 0, 600, "NVIDIA A10G datasheet, as quoted by cloud providers"},
    /* a quoted datasheet: 37.4, 74.8 and 149.7 dense with fp32 accumulation */
    {"A40", "A40", 0, 84, 0, 37.4, 0, 0, 74.8, 149.7, 149.7, 0, 696,
     "https://images.nvidia.cn/content/Solutions/data-center/a40/nvidia-a40-datasheet.pdf"},
    /* fp32 and memory by two databases; tensor rates are 2 and 4 times fp32, as on the A40 with the same die */
    {"RTX A6000", "RTX A6000", 0, 84, 0, 38.7, 0, 0, 77.4, 154.8, 154.8, 0, 768, GA102 ", appendix C"},
    /* fp32 and memory by two databases; 68 units x 1024 FLOP x 1.545 GHz are 107.6 with fp16 accumulation, half with fp32 */
    {"RTX 2080 Ti", "RTX 2080 Ti", 0, 68, 0, 13.45, 0, 0, 0, 53.8, 0, 0, 616,
     "NVIDIA Turing architecture whitepaper, WP-09183-001, appendix A"},
    /* fp32 and memory by two databases; 142 with fp16 accumulation, half of it with fp32 */
    {"RTX 3090", "RTX 3090", 0, 82, 0.556, 35.6, 0, 0, 35.6, 71, 71, 0, 936, GA102 ", appendix A"},
    {"RTX 4090", "RTX 4090", 0, 128, 1.29, 82.6, 0, 0, 82.6, 165.2, 165.2, 330.3, 1008,
     "NVIDIA Ada whitepaper; hmc-tech.com agrees"},
    /* 838 sparse with fp16 accumulation by two quotations: a quarter of it dense with fp32 accumulation */
    {"RTX 5090", "RTX 5090", 0, 170, 0, 104.8, 0, 0, 104.8, 209.5, 209.5, 419, 1792,
     "NVIDIA RTX Blackwell whitepaper, as quoted"},
    {"L4", "L4", 0, 58, 0, 30.3, 0, 0, 60, 121, 121, 242, 300,
     "https://resources.nvidia.com/en-us-gpu-resources/l4-tensor-datasheet"},
    {"L40S", "L40S", 0, 142, 1.43, 91.6, 0, 0, 183, 362, 362, 733, 864,
     "NVIDIA L40S datasheet; two resellers quote the same"},
    {"H100 SXM", "H100 HBM3", 80, 132, 33.5, 66.9, 66.9, 0, 494.7, 989.4, 989.4, 1978.9, 3350, HOPPER},
    {"H100 PCIe", "H100 PCIE", 80, 114, 25.6, 51.2, 51.2, 0, 378, 756, 756, 1513, 2000,
     "NVIDIA H100 datasheet; product brief PB-11133"},
    /* 835 is what torchtitan reads from the data sheet; the other rates found no second quotation */
    {"H100 NVL", "H100 NVL", 94, 132, 0, 0, 0, 0, 0, 835, 835, 0, 3900, "NVIDIA H100 datasheet, NVL column"},
    {"H200 SXM", "H200", 141, 132, 33.5, 66.9, 66.9, 0, 494.7, 989.4, 989.4, 1978.9, 4800,
     NV "en-us/data-center/h200/; compute as H100 SXM"},
    {"GH200 HBM3", "GH200", 96, 132, 33.5, 66.9, 66.9, 0, 494.7, 989.4, 989.4, 1978.9, 4000,
     "NVIDIA GH200 datasheet, as quoted; compute as H100 SXM"},
    {"GH200 HBM3e", "GH200", 144, 132, 33.5, 66.9, 66.9, 0, 494.7, 989.4, 989.4, 1978.9, 4900,
     "NVIDIA GH200 datasheet, as quoted; compute as H100 SXM"},
    /* TF32 is quoted rounded, as 1100 and as 1130: half of bf16 fits both.  Memory: 7.7 TB/s with 180 GB */
    {"B200", "B200", 180, 148, 37, 75, 0, 0, 1125, 2250, 2250, 4500, 7700,
     "https://nvdam.widen.net/s/wwnsxrhm2w/blackwell-datasheet-3384703"},
    {"GB200", "GB200", 0, 0, 40, 80, 0, 0, 1250, 2500, 2500, 5000, 8000, "NVIDIA GB200 NVL72 datasheet, a 72nd of the rack"},
    {"B300", "B300", 0, 0, 1.25, 75, 0, 0, 1125, 2250, 2250, 4500, 8000,
     "NVIDIA Blackwell technical brief, table 3, by two quotations"},
    /* two quotations of the brochures; memory is 4096 bits at 3.2 Gbit/s for each die */
    {"MI210", "MI210", 0, 104, 22.6, 22.6, 45.3, 45.3, 0, 181, 181, 0, 1638,
     "https://www.amd.com/content/dam/amd/en/documents/instinct-business-docs/product-briefs/instinct-mi210-brochure.pdf"},
    {"MI250X, one die", "MI250X", 0, 110, 23.9, 23.9, 47.9, 47.9, 0, 191.5, 191.5, 0, 1638,
     "https://www.amd.com/en/products/accelerators/instinct/mi200/mi250x.html, halved"},
    {"MI250, one die", "MI250", 0, 104, 22.6, 22.6, 45.3, 45.3, 0, 181, 181, 0, 1638,
     "AMD Instinct MI250 product page, halved"},
    {"MI300A", "MI300A", 0, 228, 61.3, 122.6, 122.6, 122.6, 490.3, 980.6, 980.6, 1961.2, 5300,
     AMD "data-sheets/amd-instinct-mi300a-data-sheet.pdf"},
    {"MI300X", "MI300X", 0, 304, 81.7, 163.4, 163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 5300,
     AMD "data-sheets/amd-instinct-mi300x-data-sheet.pdf"},
    {"MI325X", "MI325X", 0, 304, 81.7, 163.4, 163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 6000,
     "https://www.amd.com/en/products/accelerators/instinct/mi300/mi325x.html; compute as MI300X"},
    /* 256 units x 8192 FLOP (fp8) x 2.2 and 2.4 GHz; fp16 is half of it (the brochure's 2309.6 is no half of its 4614) */
    {"MI350X", "MI350X", 0, 256, 72.1, 144.2, 72.1, 144.2, 0, 2306.9, 2306.9, 4613.7, 8000,
     AMD "product-briefs/amd-instinct-mi350x-gpu-brochure.pdf"},
    {"MI355X", "MI355X", 0, 256, 78.6, 157.3, 78.6, 157.3, 0, 2516.6, 2516.6, 5033.2, 8000,
     "AMD at Hot Chips 2025 and ISSCC 2026: 2.4 GHz, 8192 FLOP of fp8 per unit and clock"},
};

/* Words that make another device of the same number. */
static const hu_str others[] = {
    HU_STR("MIG"), HU_STR("Laptop"), HU_STR("Mobile"), HU_STR("Ti"),   HU_STR("SUPER"),
    HU_STR("D"),   HU_STR("NVL"),    HU_STR("Max"),    HU_STR("vGPU"),
};

static bool same_word(hu_str a, hu_str b)
{
    return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

/* The next word of letters and digits. */
static bool next_word(hu_str *rest, hu_str *word)
{
    size_t from = 0, to;

#define IS_WORD(c) (((c) >= '0' && (c) <= '9') || ((c) >= 'A' && (c) <= 'Z') || ((c) >= 'a' && (c) <= 'z'))
    while (from < rest->n && !IS_WORD(rest->p[from]))
        from++;
    for (to = from; to < rest->n && IS_WORD(rest->p[to]); to++)
        ;
#undef IS_WORD
    *word = (hu_str){rest->p + from, to - from};
    *rest = (hu_str){rest->p + to, rest->n - to};
    return word->n > 0;
}

static bool has_word(hu_str text, hu_str wanted)
{
    hu_str word;

    while (next_word(&text, &word))
        if (same_word(word, wanted))
            return true;
    return false;
}

static bool name_fits(const hu_peaks *p, hu_str name)
{
    hu_str tokens = hu_str_of(p->tokens), word;

    while (next_word(&tokens, &word))
        if (!has_word(name, word))
            return false;
    for (size_t i = 0; i < HU_COUNT(others); i++)
        if (has_word(name, others[i]) && !has_word(hu_str_of(p->tokens), others[i]))
            return false;
    return true;
}

static bool is_near(double a, double b, double share)
{
    return a >= b * (1 - share) && a <= b * (1 + share);
}

/* Memory as reported lacks what firmware keeps and may count 1024s: 80 GB is 84.98e9 on one device, 79.1e9 on another. */
static bool memory_fits(const hu_peaks *p, hu_str name, int64_t bytes)
{
    hu_str word;

    if (p->memory_gb <= 0)
        return true;
    if (bytes > 0)
        return is_near((double)bytes / 1e9, p->memory_gb, 0.1);
    while (next_word(&name, &word)) {
        if (word.n > 2 && same_word((hu_str){word.p + word.n - 2, 2}, HU_STR("GB"))) {
            double gb = 0;

            for (size_t i = 0; i + 2 < word.n; i++)
                gb = gb * 10 + (word.p[i] - '0');
            return is_near(gb, p->memory_gb, 0.01);
        }
    }
    return true;
}

const hu_peaks *hu_peaks_find(hu_str name, int sm_count, int64_t memory_bytes)
{
    for (size_t i = 0; i < HU_COUNT(list); i++) {
        const hu_peaks *p = &list[i];

        if (name_fits(p, name) && memory_fits(p, name, memory_bytes) &&
            (sm_count <= 0 || p->sm_count == 0 || is_near(sm_count, p->sm_count, 0.05)))
            return p;
    }
    return NULL;
}

double hu_peaks_tflops(const hu_peaks *p, bool on_matrix_unit, hu_dtype dtype, const char **what)
{
    const char *name = "";
    double      peak = 0;

#define PEAK(value, text) (name = (text), peak = (value))
    if (!on_matrix_unit) {
        if (dtype == HU_DTYPE_FP64)
            PEAK(p->vector_fp64, "fp64 vector");
        else if (hu_dtype_is_float(dtype) && dtype != HU_DTYPE_C128)
            PEAK(p->vector_fp32, "fp32 vector");
    } else {
        switch (dtype) {
        case HU_DTYPE_FP64:
            if (p->matrix_fp64 > 0)
                PEAK(p->matrix_fp64, "fp64 matrix");
            else
                PEAK(p->vector_fp64, "fp64 vector");
            break;
        case HU_DTYPE_FP32:
            if (p->matrix_fp32 > 0)
                PEAK(p->matrix_fp32, "fp32 matrix");
            else
                PEAK(p->vector_fp32, "fp32 vector");
            break;
        case HU_DTYPE_TF32:
            PEAK(p->tf32, "tf32 matrix");
            break;
        case HU_DTYPE_FP16:
            PEAK(p->fp16, "fp16 matrix");
            break;
        case HU_DTYPE_BF16:
            PEAK(p->bf16, "bf16 matrix");
            break;
        case HU_DTYPE_FP8:
            PEAK(p->fp8, "fp8 matrix");
            break;
        default:
            break;
        }
    }
#undef PEAK
    if (what)
        *what = peak > 0 ? name : "";
    return peak;
}

const hu_peaks *hu_peaks_list(size_t *n)
{
    *n = HU_COUNT(list);
    return list;
}
