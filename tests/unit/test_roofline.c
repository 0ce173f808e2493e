/* SPDX-License-Identifier: Apache-2.0
 * test_roofline.c - shapes, FLOPs and bytes with the numbers worked out beside them, peaks, and a roofline by hand. */
#include <math.h>

#include "analyze/digest.h"
#include "testing.h"

static const struct {
    const char *op, *dims, *types, *concrete;
    double      flops, bytes; /* NaN: no model, or not determined */
} works[] = {
    /* 2 * 8944 * 2816 * 1024; (8944 * 1024 + 1024 * 2816 + 8944 * 2816) * 2 */
    {"aten::mm", "[[8944, 1024], [1024, 2816]]", "[\"c10::BFloat16\", \"c10::BFloat16\"]", "[\"\", \"\"]", 51581550592.0,
     74457088},
    /* the addend is read: 1024 elements more; its addition does not count (torch.utils.flop_counter) */
    {"aten::addmm", "[[1024], [5185, 1024], [1024, 1024], [], []]",
     "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\", \"Scalar\"]", "[\"\", \"\", \"\", \"1\", \"1\"]",
     10873733120.0, 23336960},
    /* 2 * 16 * 5185 * 64 * 5185; 16 * (2 * 5185 * 64 + 5185 * 5185) * 2 */
    {"aten::bmm", "[[16, 5185, 64], [16, 64, 5185]]", "[\"c10::BFloat16\", \"c10::BFloat16\"]", "[\"\", \"\"]",
     55058892800.0, 881532960},
    /* 72 * 72 outputs of 1024 channels, each 2 * 3 * 14 * 14 */
    {"aten::cudnn_convolution", "[[1, 3, 1008, 1008], [1024, 3, 14, 14], [], [], [], [], [], [], []]",
     "[\"c10::BFloat16\", \"c10::BFloat16\", \"ScalarList\", \"ScalarList\", \"ScalarList\", \"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\"]",
     "[\"\", \"\", \"[0, 0]\", \"[14, 14]\", \"[1, 1]\", \"1\", \"False\", \"False\", \"True\"]", 6242697216.0, 17917440},
    /* 8 heads * 141 * 141 * 2 * (64 + 64); four tensors of 8 * 141 * 64 */
    {"aten::_scaled_dot_product_flash_attention", "[[1, 8, 141, 64], [1, 8, 141, 64], [1, 8, 141, 64], [], [], [], []]",
     "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\"]",
     "[\"\", \"\", \"\", \"0.\", \"False\", \"False\", \"0.125\"]", 40716288.0, 577536},
    /* half of the square under a causal mask */
    {"aten::_scaled_dot_product_flash_attention", "[[1, 8, 141, 64], [1, 8, 141, 64], [1, 8, 141, 64], [], [], [], []]",
     "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\"]",
     "[\"\", \"\", \"\", \"0.\", \"True\", \"False\", \"0.125\"]", 20358144.0, 577536},
    /* a row is broadcast: 6 results, 6 + 3 read */
    {"aten::add", "[[2, 3], [3], []]", "[\"float\", \"float\", \"Scalar\"]", "[\"\", \"\", \"1\"]", 6, (6 + 3 + 6) * 4},
    {"aten::add_", "[[2, 3], [3], []]", "[\"float\", \"float\", \"Scalar\"]", "[\"\", \"\", \"1\"]", 6, (6 + 3 + 6) * 4},
    {"aten::relu", "[[10]]", "[\"c10::Half\"]", "[\"\"]", 10, 40},
    /* a copy that casts: 8 read as fp32 (the second), written as bf16 (the first) */
    {"aten::copy_", "[[8], [8], []]", "[\"c10::BFloat16\", \"float\", \"Scalar\"]", "[\"\", \"\", \"False\"]", 0,
     8 * 2 + 8 * 4},
    {"aten::_softmax", "[[4, 5], [], []]", "[\"float\", \"Scalar\", \"Scalar\"]", "[\"\", \"-1\", \"False\"]", 100, 160},
    /* 3 rows of 4 out of a table of 100, with int64 indices */
    {"aten::embedding", "[[100, 4], [3], [], [], []]", "[\"float\", \"long int\", \"Scalar\", \"Scalar\", \"Scalar\"]",
     "[\"\", \"\", \"-1\", \"False\", \"False\"]", 0, 3 * 4 * 4 * 2 + 3 * 8},
    {"aten::mm", "[[2, 3], [4, 5]]", "[\"float\", \"float\"]", "[\"\", \"\"]", NAN, NAN}, /* do not fit */
    {"aten::mm", "[[4611686018427387904, 4], [4, 4]]", "[\"float\", \"float\"]", "[\"\", \"\"]", NAN,
     NAN}, /* beyond int64 */
    {"aten::mm", "[[-2, 3], [3, 5]]", "[\"float\", \"float\"]", "[\"\", \"\"]", NAN, NAN},
    {"aten::mm", "[[[[[", "", "", NAN, NAN},
    {"aten::mm", "[[2, 3], [3, 5]]", "[\"mystery\", \"mystery\"]", "[\"\", \"\"]", NAN, NAN},
    {"my::op", "[[2, 3]]", "[\"float\"]", "[\"\"]", NAN, NAN},
};

static void work_is_known_from_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < HU_COUNT(works); i++) {
        const hu_op_model *model = hu_flops_find(hu_str_of(works[i].op));
        const hu_work_hint hint = {.is_in_place = works[i].op[strlen(works[i].op) - 1] == '_'};
        hu_args            args;
        hu_work            k = {.flops = NAN, .bytes = NAN};
        const bool         known = model &&
                           hu_args_parse(hu_str_of(works[i].dims), hu_str_of(works[i].types), hu_str_of(works[i].concrete),
                                         &args) &&
                           hu_flops_measure(model, &args, hint, &k);

        if (known == isnan(works[i].flops))
            fail_msg("%s %s: known %d", works[i].op, works[i].dims, known);
        if (known && (k.flops != works[i].flops || k.bytes != works[i].bytes))
            fail_msg("%s %s: %.0f FLOP and %.0f bytes, not %.0f and %.0f", works[i].op, works[i].dims, k.flops, k.bytes,
                     works[i].flops, works[i].bytes);
    }
}

/* Lists do not say their type; a kernel's name may.  18 elements of 2 bytes read and written; Adam moves 28 bytes of fp32. */
static void lists_need_a_hint(void **state)
{
    static const struct {
        const char  *op, *dims, *types;
        hu_work_hint hint;
        double       flops, bytes;
        /* clang-format off */
    } lists[] = {
        {"aten::cat", "[[[2, 3], [4, 3]], []]", "[\"TensorList\", \"Scalar\"]", {.list_bytes = 2}, 0, 72},
        {"aten::_fused_adam_", "[[[10]], [[10]], [[10]], [[10]]]", "[\"TensorList\", \"TensorList\", \"TensorList\", \"TensorList\"]",
         {.is_in_place = true, .list_dtype = HU_DTYPE_FP32, .list_bytes = 4}, 120, 280},
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < HU_COUNT(lists); i++) {
        hu_args args;
        hu_work k;

        assert_true(hu_args_parse(hu_str_of(lists[i].dims), hu_str_of(lists[i].types), HU_STR(""), &args));
        assert_true(hu_flops_measure(hu_flops_find(hu_str_of(lists[i].op)), &args, lists[i].hint, &k));
        assert_true(k.flops == lists[i].flops && k.bytes == lists[i].bytes);
        assert_false(hu_flops_measure(hu_flops_find(hu_str_of(lists[i].op)), &args, (hu_work_hint){0}, &k));
    }
}

static const struct {
    const char *device;
    int         sm_count;
    int64_t     memory;
    const char *row; /* NULL: not in the table */
} devices[] = {
    {"NVIDIA H100 80GB HBM3", 132, 84978434048, "H100 SXM"},
    {"NVIDIA H100 PCIe", 114, 85028372480, "H100 PCIe"},
    {"NVIDIA H200", 132, 150754820096, "H200 SXM"},
    {"NVIDIA A100-SXM4-40GB", 108, 42298834944, "A100 SXM4 40GB"},
    {"NVIDIA A100-SXM4-80GB", 108, 85899345920, "A100 SXM4 80GB"},
    {"NVIDIA A100 80GB PCIe", 108, 85899345920, "A100 PCIe 80GB"},
    {"Tesla V100-SXM2-32GB", 80, 34089730048, "V100 SXM2"},
    {"Tesla T4", 40, 15843721216, "T4"},
    {"NVIDIA GeForce RTX 4090", 128, 25386352640, "RTX 4090"},
    {"AMD Instinct MI300X", 304, 206141652992, "MI300X"},
    {"NVIDIA B200", 148, 191510216704, "B200"},
    {"NVIDIA GeForce RTX 4090 D", 114, 25386352640, NULL},
    {"NVIDIA GeForce RTX 4090 Laptop GPU", 76, 17000000000, NULL},
    {"NVIDIA H100 80GB HBM3 MIG 1g.10gb", 16, 10000000000, NULL},
    {"NVIDIA A100-SXM4-40GB", 42, 21000000000, NULL}, /* a part of one */
    {"NVIDIA A1000", 0, 0, NULL},
    {"", 0, 0, NULL},
};

static void devices_have_peaks(void **state)
{
    size_t          n;
    const hu_peaks *all = hu_peaks_list(&n);

    (void)state;
    for (size_t i = 0; i < HU_COUNT(devices); i++) {
        const hu_peaks *p = hu_peaks_find(hu_str_of(devices[i].device), devices[i].sm_count, devices[i].memory);

        if (!p != !devices[i].row || (p && strcmp(p->name, devices[i].row) != 0))
            fail_msg("%s: %s", devices[i].device, p ? p->name : "none");
    }
    for (size_t i = 0; i < n; i++)
        assert_true(all[i].source[0] && all[i].gbps > 0);
}

/*
 * An H100: 989.4 TFLOP/s in bf16, 3350 GB/s.  mm [1000,1000] x [1000,1000]: 2e9 FLOP, 6e6 bytes; at the peaks 2021.4 ns and
 * 1791.0 ns, so compute-bound; its kernel takes 4000 ns: 50.5 % of the roofline.  relu on 1e6 elements: 4e6 bytes, 1194 ns
 * of its 2000.  A kernel without an operator takes 2000: coverage 6000 of 8000.
 * Over the span of 100 µs: MFU = 2021.4 / 100000.
 */
static void the_roofline_by_hand(void **state)
{
    /* clang-format off */
    static const char json[] =
        "{\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H100 80GB HBM3\",\"numSms\":132,\"totalGlobalMem\":84978434048}],\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":9,\"args\":{"
        "\"Input Dims\":[[1000,1000],[1000,1000]],\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\"],\"Concrete Inputs\":[\"\",\"\"]}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::relu\",\"pid\":1,\"tid\":1,\"ts\":11,\"dur\":9,\"args\":{"
        "\"Input Dims\":[[1000000]],\"Input type\":[\"c10::BFloat16\"],\"Concrete Inputs\":[\"\"]}},"
        CALL("cudaLaunchKernel", "2", "1", "1") "," CALL("cudaLaunchKernel", "12", "1", "2") "," KERNEL("gemm", "7", "20", "4", "1") ","
        KERNEL("relu", "7", "30", "2", "2") "," KERNEL("mystery", "7", "118", "2", "0") "]}";
    /* clang-format on */
    hu_trace          *t = trace_of(json);
    hu_error           err = {0};
    hu_digest         *d = hu_digest_measure(t, &(hu_digest_options){0}, &err);
    const hu_roofline *r = &d->roofline;
    hu_roofline        both = {.device = HU_STR("")};

    (void)state;
    hu_trace_free(t);
    assert_true(hu_str_equal(r->device, HU_STR("H100 SXM")) && r->gbps == 3350);
    assert_true(r->n == 2 && r->kernel_ns == 8000 && r->modelled_ns == 6000 && r->matrix_ns == 4000);
    assert_true(hu_str_equal(r->at[0].op, HU_STR("aten::mm")) && r->at[0].bound == HU_BOUND_COMPUTE &&
                r->at[0].flops == 2e9);
    assert_true(fabs(r->at[0].roofline_ns - 2e9 / 989.4e3) < 1e-6 && r->at[0].peak_tflops == 989.4);
    assert_true(r->at[1].bound == HU_BOUND_BANDWIDTH && fabs(r->at[1].roofline_ns - 4e6 / 3350) < 1e-6);
    assert_true(r->n_unknown == 1 && r->unknown[0].is_kernel && r->unknown[0].kernel_ns == 2000);
    assert_true(fabs(hu_roofline_mfu_pct(r) - 100 * (2e9 / 989.4e3) / 100000) < 1e-9);
    assert_true(hu_roofline_hfu_pct(r) == hu_roofline_mfu_pct(r));
    for (int i = 0; i < 2; i++)
        assert_true(hu_roofline_merge(&both, r, d->arena));
    assert_true(both.n == 2 && both.at[0].flops == 4e9 && both.kernel_ns == 16000 && both.unknown[0].kernels == 2);
    assert_true(fabs(hu_roofline_mfu_pct(&both) - hu_roofline_mfu_pct(r)) < 1e-9);
    hu_digest_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_known_from_shapes),
        cmocka_unit_test(lists_need_a_hint),
        cmocka_unit_test(devices_have_peaks),
        cmocka_unit_test(the_roofline_by_hand),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
