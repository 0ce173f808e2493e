/* SPDX-License-Identifier: Apache-2.0
 * kernel_name.c - rules over the part of a kernel's name that people would read.
 *
 * A name such as "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, …>(int, …)"
 * hides two words in 300 characters; the label is those two.  Rules are tried in order on the label, so a specific
 * word must come before a general one ("softmax" before "reduce").
 *
 * Tensor cores: the words of the TensorBoard profiler plugin (s884, s1688, 16816, hmma, xmma …) and those of libraries
 * that came after it (nvjet, gmma, tensorop; MFMA of AMD as _MI16x16 in Tensile, xdl in Composable Kernel, gtcx in
 * MIOpen).
 * A product without such a word is not one without tensor cores: Triton, CK and hand-written kernels use them and do not
 * say so.  "No" needs a word of its own, of libraries whose fp32 kernels run on the vector units: sgemm of cuBLAS
 * (ampere_sgemm_…, implicit_convolve_sgemm), scudnn, the *_engine kernels and Winograd of cuDNN, simt of CUTLASS, and
 * Tensile's types without an MI ("Cijk_Ailk_Bljk_SB_MT…": S is fp32; "Kernel names" in the Tensile documentation).
 */
#include "analyze/kernel_name.h"

#include <ctype.h>

enum { LABEL_BYTES = 160 };

/* word, family: tried in this order on the label in lower case */
/* clang-format off */
#define FAMILY_RULES(R) \
    R("multimem_", COMMUNICATION) R("one_shot_all_reduce", COMMUNICATION) R("two_shot_all_reduce", COMMUNICATION)       \
    R("fmha", ATTENTION) R("flash", ATTENTION) R("attention", ATTENTION) R("attn", ATTENTION)                    \
    R("unified_mla", ATTENTION) R("mla_", ATTENTION) R("softmax", SOFTMAX) R("soft_max", SOFTMAX)                \
    R("nll_loss", SOFTMAX) R("cross_entropy", SOFTMAX) R("mse_loss", SOFTMAX) R("layer_norm", NORMALIZATION)     \
    R("layernorm", NORMALIZATION) R("batch_norm", NORMALIZATION) R("batchnorm", NORMALIZATION)                   \
    R("rms_norm", NORMALIZATION) R("rmsnorm", NORMALIZATION) R("groupnorm", NORMALIZATION)                       \
    R("group_norm", NORMALIZATION) R("bn_fw", NORMALIZATION) R("bn_bw", NORMALIZATION)                           \
    R("rowwisemoments", NORMALIZATION) R("gammabeta", NORMALIZATION) R("welford", NORMALIZATION)                 \
    R("bnfwd", NORMALIZATION) R("bnbwd", NORMALIZATION) R("adam", OPTIMIZER) R("sgd", OPTIMIZER)                 \
    R("lamb_", OPTIMIZER) R("adagrad", OPTIMIZER) R("multi_tensor_apply", OPTIMIZER) R("lpnorm", REDUCTION)      \
    R("fft", FFT) R("fprop", CONVOLUTION) R("dgrad", CONVOLUTION) R("wgrad", CONVOLUTION)                        \
    R("winograd", CONVOLUTION) R("conv", CONVOLUTION) R("cudnn_", CONVOLUTION) R("scudnn", CONVOLUTION) \
    R("im2col", CONVOLUTION) \
    R("col2im", CONVOLUTION) R("igemm_fwd", CONVOLUTION) R("igemm_bwd", CONVOLUTION)                             \
    R("igemm_wrw", CONVOLUTION) R("implicitgemm", CONVOLUTION) R("computeoffsets", CONVOLUTION)                  \
    R("flip_filter", CONVOLUTION) R("gemm", GEMM) R("gemv", GEMM) R("nvjet", GEMM) R("cijk_", GEMM)              \
    R("matmul", GEMM) R("splitkreduce", GEMM) R("bmm_", GEMM) R("_mm_", GEMM) R("cublas", GEMM)                  \
    R("wvsplitk", GEMM) R("dot_kernel", GEMM) R("triton_tem", GEMM) R("dropout", RANDOM)                         \
    R("distribution", RANDOM) R("philox", RANDOM) R("curand", RANDOM) R("bernoulli", RANDOM)                     \
    R("pool", POOLING) R("upsample", POOLING) R("grid_sampl", POOLING) R("interp", POOLING) R("sort", SORT)      \
    R("scan", SORT) R("topk", SORT) R("scatter", INDEX) R("gather", INDEX) R("index", INDEX)                     \
    R("embedding", INDEX) R("embag", INDEX) R("bucketize", INDEX) R("lookup", INDEX) R("triton", FUSED)          \
    R("nchwtonhwc", COPY) R("nhwctonchw", COPY) R("transpose", COPY) R("permute", COPY) R("catarray", COPY)      \
    R("copy", COPY) R("cast", COPY) R("fillbuffer", COPY) R("fillfunctor", COPY) R("reduce", REDUCTION)          \
    R("reduction", REDUCTION) R("norm_kernel", REDUCTION) R("elementwise", ELEMENTWISE)                          \
    R("pointwise", ELEMENTWISE) R("functor", ELEMENTWISE) R("act_and_mul", ELEMENTWISE)                          \
    R("tensorop", ELEMENTWISE) R("rotary", ELEMENTWISE) R("gelu", ELEMENTWISE) R("silu", ELEMENTWISE)            \
    R("relu", ELEMENTWISE)

/* word, library: tried in this order on the whole name in lower case, because libraries hide in namespaces and suffixes */
#define LIBRARY_RULES(R) \
    R("nccl", "NCCL") R("rccl", "RCCL") R("nvshmem", "NVSHMEM") R("dpsk::ep", "DeepEP") \
    R("ep::int", "DeepEP") \
    R("deep_ep", "DeepEP") R("triton", "Triton") R("flash", "FlashAttention") R("fmha_cutlass", "PyTorch")       \
    R("pytorch_flash", "PyTorch") R("ck_tile", "CK") R("_zn2ck", "CK") R("ck::", "CK") R("cijk_", "Tensile")     \
    R("_gtcx", "MIOpen") R("miopen", "MIOpen") R("cudnn", "cuDNN") R("cask_", "cuDNN")                           \
    R("xmma_fprop", "cuDNN") R("xmma_dgrad", "cuDNN") R("xmma_wgrad", "cuDNN") R("implicit_gemm", "cuDNN")       \
    R("nvjet", "cuBLAS") R("cublas", "cuBLAS") R("xmma_gemm", "cuBLAS") R("volta_", "cuBLAS")                    \
    R("turing_", "cuBLAS") R("ampere_", "cuBLAS") R("maxwell_", "cuBLAS") R("cutlass", "CUTLASS")                \
    R("splitkreduce", "cuBLAS") R("gemmsn_", "cuBLAS") R("gemvx", "cuBLAS") R("gemv2", "cuBLAS")                 \
    R("cub::", "CUB") R("thrust::", "Thrust") R("fbgemm", "FBGEMM")                                              \
    R("transformer_engine", "Transformer Engine") R("deepspeed", "DeepSpeed") R("apex", "Apex")                  \
    R("cuapplylayernorm", "Apex") R("vllm", "vLLM") R("sglang", "SGLang") R("flashinfer", "FlashInfer")          \
    R("rocprim", "rocPRIM") R("hipcub", "rocPRIM") R("at::native", "PyTorch") R("at::cuda", "PyTorch")           \
    R("at_cuda_detail", "CUB") R("c10::", "PyTorch") R("__amd_rocclr", "ROCclr")                                 \
    R("tensorrt_llm", "TensorRT-LLM")
/* clang-format on */

static const char *const family_words[] = {
#define R(word, family) word,
    FAMILY_RULES(R)
#undef R
};

static const hu_kernel_family family_of_word[] = {
#define R(word, family) HU_FAMILY_##family,
    FAMILY_RULES(R)
#undef R
};

static const char *const library_words[] = {
#define R(word, library) word,
    LIBRARY_RULES(R)
#undef R
};

static const char *const library_of_word[] = {
#define R(word, library) library,
    LIBRARY_RULES(R)
#undef R
};

/* clang-format off */
static const char *const tensor_words[] = {
    "h884", "s884", "h1688", "s1688", "hmma", "i8816", "16816", "16832", "c1688", "_tensor16x8", "_tensor8x8",
    "tensorop", "xmma_gemm", "xmma_fprop", "xmma_dgrad", "xmma_wgrad", "xmma_implicit", "xmma_sparse",
    "xmma_warp_specialized", "first_layer_wgrad_kernel", "dgrad_1x1_stride_2x2", "conv2d_c1_k1", "nvjet", "gmma",
    "tcgen05", "tensor_op", "flash_fwd", "flash_bwd", "fmha_cutlassf", "fmha_cutlassb", "_mi16x16", "_mi32x32",
    "_mi4x4", "mfma", "_xdl", "_gtcx",
};
/* clang-format on */

/* Products on the vector units; the last ones only read a matrix or move it, so that no unit makes them faster. */
static const char *const vector_words[] = {
    "sgemm",          "scudnn",       "dgrad_engine", "wgrad_alg",
    "dgrad_alg",      "dgrad2d_alg",  "wgrad2d_alg",  "convolve_common_engine",
    "winograd",       "simt",         "_sb_",         "dgemm",
    "zgemm",          "cgemm",        "gemv",         "gemmk1",
    "dot_kernel",     "splitkreduce", "im2col",       "col2im",
    "computeoffsets", "flip_filter",
};

/* What says that a product is not one of fp32, with or without tensor cores. */
static const char *const other_words[] = {
    "bf16",       "bfloat16",     "fp16",   "f16",    "half",           "hgemm",       "fp8",  "e4m3",
    "e5m2",       "e8m0",         "mxfp",   "fp4",    "e2m1",           "int8",        "_i8",  "igemm",
    "imma",       "int4",         "_hhs",   "_bbs",   "_hss",           "_bss",        "_hb_", "_bb_",
    "_f8",        "_b8",          "dgemm",  "zgemm",  "cgemm",          "double",      "gemv", "gemmk1",
    "dot_kernel", "splitkreduce", "im2col", "col2im", "computeoffsets", "flip_filter",
};

static bool has_word(hu_str s, const char *part)
{
    return hu_str_has(s, hu_str_of(part));
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The last identifier of a mangled nested name: "_ZN2ck6device11kernel_gemmI…" -> "kernel_gemm". */
static hu_str mangled_base(hu_str name)
{
    const char *p = name.p + 2, *end = name.p + name.n;
    hu_str      best = {0};

    if (p < end && *p == 'N')
        p++;
    while (p < end && isdigit((unsigned char)*p)) {
        size_t n = 0;

        while (p < end && isdigit((unsigned char)*p) && n < name.n)
            n = n * 10 + (size_t)(*p++ - '0');
        if (n == 0 || n > (size_t)(end - p))
            break;
        best = (hu_str){p, n};
        p += n;
    }
    return best.n ? best : name;
}

/* Where a qualified name ends: at its template arguments or parameters. */
static size_t head_length(hu_str s)
{
    const hu_str anonymous = HU_STR("(anonymous namespace)");

    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '<')
            return i;
        if (s.p[i] == '(') {
            if (!hu_str_starts((hu_str){s.p + i, s.n - i}, anonymous))
                return i;
            i += anonymous.n - 1;
        }
    }
    return s.n;
}

static hu_str last_component(hu_str s)
{
    for (size_t i = s.n; i-- > 1;)
        if (s.p[i] == ':' && s.p[i - 1] == ':')
            return (hu_str){s.p + i + 1, s.n - i - 1};
    return s;
}

/* Kernels that are only a frame around what is named in their arguments. */
static const char *const frame_words[] = {"elementwise",  "reduce_kernel", "multi_tensor_apply", "Kernel",
                                          "index_kernel", "apply_kernel",  "distribution_"};

/* Words of arguments that name what is done, and those that only seem to. */
static const char *const telling_words[] = {"Functor", "functor",  "_kernel_cuda", "_kernel_impl", "KernelImpl",
                                            "Ops<",    "gemm",     "fprop",        "dgrad",        "wgrad",
                                            "fmha",    "_foreach", "Policy"};
static const char *const hollow_words[] = {"gpu_kernel_impl", "BinaryFunctor", "AUnaryFunctor", "BUnaryFunctor",
                                           "CompareFunctor_dummy"};

/* The first word of the arguments that names what is done. */
static hu_str find_detail(const hu_kernel_reader *reader, hu_str arguments)
{
    for (size_t i = 0; i < arguments.n;) {
        size_t n = 0;
        hu_str word;

        while (i + n < arguments.n && is_word(arguments.p[i + n]))
            n++;
        if (n == 0) {
            i++;
            continue;
        }
        word = (hu_str){arguments.p + i, n};
        if (hu_words_find(&reader->hollow, word) < 0 && hu_words_find(&reader->telling, word) >= 0)
            return word;
        i += n;
    }
    return (hu_str){0};
}

static hu_str make_label(const hu_kernel_reader *reader, hu_str name, char *out)
{
    hu_str s = name, base, detail = {0};
    size_t head, n;

    if (hu_str_starts(s, HU_STR("_Z")))
        return mangled_base(s);
    if (hu_str_starts(s, HU_STR("void ")))
        s = (hu_str){s.p + 5, s.n - 5};
    head = head_length(s);
    base = last_component((hu_str){s.p, head});
    if (base.n == 0)
        return name;
    if (head < s.n && hu_words_find(&reader->frames, base) >= 0)
        detail = find_detail(reader, (hu_str){s.p + head, s.n - head});
    if (!detail.n || base.n + detail.n + 2 > LABEL_BYTES)
        return base;
    memcpy(out, base.p, base.n);
    memcpy(out + base.n, ": ", 2);
    n = base.n + 2;
    memcpy(out + n, detail.p, detail.n);
    return (hu_str){out, n + detail.n};
}

static hu_str lower(hu_str s, char *out, size_t size)
{
    const size_t n = s.n < size ? s.n : size;

    for (size_t i = 0; i < n; i++)
        out[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + ('a' - 'A')) : s.p[i];
    return (hu_str){out, n};
}

void hu_kernel_reader_init(hu_kernel_reader *reader)
{
    hu_words_init(&reader->frames, frame_words, HU_COUNT(frame_words));
    hu_words_init(&reader->telling, telling_words, HU_COUNT(telling_words));
    hu_words_init(&reader->hollow, hollow_words, HU_COUNT(hollow_words));
    hu_words_init(&reader->families, family_words, HU_COUNT(family_words));
    hu_words_init(&reader->libraries, library_words, HU_COUNT(library_words));
    hu_words_init(&reader->tensor, tensor_words, HU_COUNT(tensor_words));
    hu_words_init(&reader->vector, vector_words, HU_COUNT(vector_words));
    hu_words_init(&reader->other, other_words, HU_COUNT(other_words));
}

static bool is_product(hu_kernel_family f)
{
    return f == HU_FAMILY_GEMM || f == HU_FAMILY_CONVOLUTION || f == HU_FAMILY_ATTENTION;
}

static hu_tensor_use tensor_of(const hu_kernel_reader *reader, hu_str name, const hu_kernel_name *k)
{
    /* one generator makes kernels for both units, and ends their names in the instruction:
       "xmma_gemm_f32f32_f32f32_f32_…_ffma_…" */
    if (is_product(k->family) && has_word(name, "_ffma_"))
        return HU_TENSOR_NO;
    /* elementwise kernels of old libraries are called "…TensorOp…" */
    if (k->family != HU_FAMILY_ELEMENTWISE && hu_words_find(&reader->tensor, name) >= 0)
        return HU_TENSOR_YES;
    if (is_product(k->family))
        return hu_words_find(&reader->vector, name) >= 0 ? HU_TENSOR_NO : HU_TENSOR_UNKNOWN;
    return k->family == HU_FAMILY_OTHER || k->family == HU_FAMILY_FUSED || hu_str_equal(k->library, HU_STR("Triton"))
               ? HU_TENSOR_UNKNOWN
               : HU_TENSOR_NO;
}

bool hu_kernel_name_read(const hu_kernel_reader *reader, hu_str name, bool is_comm, hu_arena *arena, hu_kernel_name *out)
{
    char   text[LABEL_BYTES], small_label[LABEL_BYTES], small_name[512];
    hu_str label = make_label(reader, name, text), whole = lower(name, small_name, sizeof small_name);
    int    word = hu_words_find(&reader->families, lower(label, small_label, sizeof small_label));

    out->family = is_comm ? HU_FAMILY_COMMUNICATION : word >= 0 ? family_of_word[word] : HU_FAMILY_OTHER;
    word = hu_words_find(&reader->libraries, whole);
    out->library = word >= 0 ? hu_str_of(library_of_word[word]) : HU_STR("");
    out->tensor = tensor_of(reader, whole, out);
    out->is_plain_fp32 = is_product(out->family) && out->tensor == HU_TENSOR_NO && hu_words_find(&reader->other, whole) < 0;
    out->label = label.p == text ? hu_arena_copy(arena, label) : label;
    return out->label.p != NULL;
}

static const struct {
    const char *key, *words;
} families[] = {
#define F(id, key, words) [HU_FAMILY_##id] = {key, words},
    HU_KERNEL_FAMILIES(F)
#undef F
};

const char *hu_kernel_family_key(hu_kernel_family family)
{
    return families[family].key;
}

const char *hu_kernel_family_words(hu_kernel_family family)
{
    return families[family].words;
}

bool hu_kernel_name_is_eligible(hu_str op)
{
    static const char *const parts[] = {"matmul", "conv", "linear", "attention", "lstm", "gru_", "rnn_", "einsum"};
    static const char *const words[] = {"mm",    "bmm",  "addmm",      "baddbmm",      "addbmm", "mv",
                                        "addmv", "addr", "_scaled_mm", "chain_matmul", "gru",    "prelu"};
    char                     text[128];
    const hu_str             s = lower(op, text, sizeof text);
    const hu_str             name = last_component(s);

    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (hu_str_equal(name, hu_str_of(words[i])))
            return true;
    for (size_t i = 0; i < HU_COUNT(parts); i++)
        if (has_word(name, parts[i]))
            return true;
    return false;
}
