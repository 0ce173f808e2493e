/* SPDX-License-Identifier: Apache-2.0
 * kernel_name.c - rules over the part of a kernel's name that people would read.
 *
 * A name such as "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, …>(int, …)" hides
 * two words in 300 characters; the label is those two.  Rules are tried in order on the label, so a specific word must
 * come before a general one ("softmax" before "reduce").
 *
 * Tensor cores: the words of the TensorBoard profiler plugin (s884, s1688, 16816, hmma, xmma …) and those of libraries that
 * came after it (nvjet, gmma, tensorop; MFMA of AMD as _MI16x16 in Tensile, xdl in Composable Kernel, gtcx in MIOpen).
 * Generated kernels (Triton) may use them without saying so: unknown.
 */
#include "analyze/kernel_name.h"

#include <ctype.h>

enum { LABEL_BYTES = 160 };

typedef struct {
    const char      *part;
    hu_kernel_family family;
} family_rule;

static const family_rule family_rules[] = {
    {"fmha", HU_FAMILY_ATTENTION},            {"flash", HU_FAMILY_ATTENTION},           {"attention", HU_FAMILY_ATTENTION},
    {"attn", HU_FAMILY_ATTENTION},            {"unified_mla", HU_FAMILY_ATTENTION},     {"mla_", HU_FAMILY_ATTENTION},
    {"softmax", HU_FAMILY_SOFTMAX},           {"soft_max", HU_FAMILY_SOFTMAX},          {"nll_loss", HU_FAMILY_SOFTMAX},
    {"cross_entropy", HU_FAMILY_SOFTMAX},     {"mse_loss", HU_FAMILY_SOFTMAX},          {"layer_norm", HU_FAMILY_NORMALIZATION},
    {"layernorm", HU_FAMILY_NORMALIZATION},   {"batch_norm", HU_FAMILY_NORMALIZATION},  {"batchnorm", HU_FAMILY_NORMALIZATION},
    {"rms_norm", HU_FAMILY_NORMALIZATION},    {"rmsnorm", HU_FAMILY_NORMALIZATION},     {"groupnorm", HU_FAMILY_NORMALIZATION},
    {"group_norm", HU_FAMILY_NORMALIZATION},  {"bn_fw", HU_FAMILY_NORMALIZATION},       {"bn_bw", HU_FAMILY_NORMALIZATION},
    {"rowwisemoments", HU_FAMILY_NORMALIZATION}, {"gammabeta", HU_FAMILY_NORMALIZATION}, {"welford", HU_FAMILY_NORMALIZATION},
    {"bnfwd", HU_FAMILY_NORMALIZATION},       {"bnbwd", HU_FAMILY_NORMALIZATION},
    {"adam", HU_FAMILY_OPTIMIZER},            {"sgd", HU_FAMILY_OPTIMIZER},             {"lamb_", HU_FAMILY_OPTIMIZER},
    {"adagrad", HU_FAMILY_OPTIMIZER},         {"multi_tensor_apply", HU_FAMILY_OPTIMIZER}, {"lpnorm", HU_FAMILY_REDUCTION},
    {"fft", HU_FAMILY_FFT},                   {"fprop", HU_FAMILY_CONVOLUTION},         {"dgrad", HU_FAMILY_CONVOLUTION},
    {"wgrad", HU_FAMILY_CONVOLUTION},         {"winograd", HU_FAMILY_CONVOLUTION},      {"conv", HU_FAMILY_CONVOLUTION},
    {"scudnn", HU_FAMILY_CONVOLUTION},        {"im2col", HU_FAMILY_CONVOLUTION},        {"col2im", HU_FAMILY_CONVOLUTION},
    {"igemm_fwd", HU_FAMILY_CONVOLUTION},     {"igemm_bwd", HU_FAMILY_CONVOLUTION},     {"igemm_wrw", HU_FAMILY_CONVOLUTION},
    {"implicitgemm", HU_FAMILY_CONVOLUTION},  {"computeoffsets", HU_FAMILY_CONVOLUTION}, {"flip_filter", HU_FAMILY_CONVOLUTION},
    {"gemm", HU_FAMILY_GEMM},                 {"gemv", HU_FAMILY_GEMM},                 {"nvjet", HU_FAMILY_GEMM},
    {"cijk_", HU_FAMILY_GEMM},                {"matmul", HU_FAMILY_GEMM},               {"splitkreduce", HU_FAMILY_GEMM},
    {"bmm_", HU_FAMILY_GEMM},                 {"_mm_", HU_FAMILY_GEMM},                 {"cublas", HU_FAMILY_GEMM},
    {"wvsplitk", HU_FAMILY_GEMM},             {"dot_kernel", HU_FAMILY_GEMM},           {"triton_tem", HU_FAMILY_GEMM},
    {"dropout", HU_FAMILY_RANDOM},            {"distribution", HU_FAMILY_RANDOM},       {"philox", HU_FAMILY_RANDOM},
    {"curand", HU_FAMILY_RANDOM},             {"bernoulli", HU_FAMILY_RANDOM},          {"pool", HU_FAMILY_POOLING},
    {"upsample", HU_FAMILY_POOLING},          {"grid_sampl", HU_FAMILY_POOLING},        {"interp", HU_FAMILY_POOLING},
    {"sort", HU_FAMILY_SORT},                 {"scan", HU_FAMILY_SORT},                 {"topk", HU_FAMILY_SORT},
    {"scatter", HU_FAMILY_INDEX},             {"gather", HU_FAMILY_INDEX},              {"index", HU_FAMILY_INDEX},
    {"embedding", HU_FAMILY_INDEX},           {"embag", HU_FAMILY_INDEX},               {"bucketize", HU_FAMILY_INDEX},
    {"lookup", HU_FAMILY_INDEX},              {"triton", HU_FAMILY_FUSED},              {"nchwtonhwc", HU_FAMILY_COPY},
    {"nhwctonchw", HU_FAMILY_COPY},           {"transpose", HU_FAMILY_COPY},            {"permute", HU_FAMILY_COPY},
    {"catarray", HU_FAMILY_COPY},             {"copy", HU_FAMILY_COPY},                 {"cast", HU_FAMILY_COPY},
    {"fillbuffer", HU_FAMILY_COPY},           {"fillfunctor", HU_FAMILY_COPY},          {"reduce", HU_FAMILY_REDUCTION},
    {"reduction", HU_FAMILY_REDUCTION},       {"norm_kernel", HU_FAMILY_REDUCTION},     {"elementwise", HU_FAMILY_ELEMENTWISE},
    {"pointwise", HU_FAMILY_ELEMENTWISE},     {"functor", HU_FAMILY_ELEMENTWISE},       {"act_and_mul", HU_FAMILY_ELEMENTWISE},
    {"tensorop", HU_FAMILY_ELEMENTWISE},      {"rotary", HU_FAMILY_ELEMENTWISE},        {"gelu", HU_FAMILY_ELEMENTWISE},
    {"silu", HU_FAMILY_ELEMENTWISE},          {"relu", HU_FAMILY_ELEMENTWISE},
};

/* Tried on the whole name in lower case, because libraries hide in namespaces and suffixes. */
static const struct {
    const char *part, *library;
} library_rules[] = {
    {"nccl", "NCCL"},          {"rccl", "RCCL"},           {"nvshmem", "NVSHMEM"},    {"dpsk::ep", "DeepEP"},
    {"deep_ep", "DeepEP"},     {"triton", "Triton"},       {"flash", "FlashAttention"}, {"fmha_cutlass", "PyTorch"},
    {"pytorch_flash", "PyTorch"}, {"ck_tile", "CK"},       {"_zn2ck", "CK"},          {"ck::", "CK"},
    {"cijk_", "Tensile"},      {"_gtcx", "MIOpen"},        {"miopen", "MIOpen"},      {"cudnn", "cuDNN"},
    {"cask_", "cuDNN"},        {"xmma_fprop", "cuDNN"},    {"xmma_dgrad", "cuDNN"},   {"xmma_wgrad", "cuDNN"},
    {"implicit_gemm", "cuDNN"}, {"nvjet", "cuBLAS"},       {"cublas", "cuBLAS"},      {"xmma_gemm", "cuBLAS"},
    {"volta_", "cuBLAS"},      {"turing_", "cuBLAS"},      {"ampere_", "cuBLAS"},     {"maxwell_", "cuBLAS"},
    {"cutlass", "CUTLASS"},    {"splitkreduce", "cuBLAS"}, {"gemmsn_", "cuBLAS"},     {"gemvx", "cuBLAS"},
    {"gemv2", "cuBLAS"},       {"cub::", "CUB"},           {"thrust::", "Thrust"},    {"fbgemm", "FBGEMM"},
    {"transformer_engine", "Transformer Engine"},          {"deepspeed", "DeepSpeed"}, {"apex", "Apex"},
    {"cuapplylayernorm", "Apex"}, {"vllm", "vLLM"},        {"sglang", "SGLang"},      {"flashinfer", "FlashInfer"},
    {"rocprim", "rocPRIM"},    {"hipcub", "rocPRIM"},      {"at::native", "PyTorch"}, {"at::cuda", "PyTorch"},
    {"at_cuda_detail", "CUB"}, {"c10::", "PyTorch"},       {"__amd_rocclr", "ROCclr"}, {"tensorrt_llm", "TensorRT-LLM"},
};

static const char *const tensor_parts[] = {
    "h884", "s884", "h1688", "s1688", "hmma", "i8816", "16816", "16832", "c1688", "_tensor16x8", "_tensor8x8", "tensorop",
    "xmma_gemm", "xmma_fprop", "xmma_dgrad", "xmma_wgrad", "xmma_implicit", "xmma_sparse", "xmma_warp_specialized",
    "first_layer_wgrad_kernel", "dgrad_1x1_stride_2x2", "conv2d_c1_k1", "nvjet", "gmma", "tcgen05", "tensor_op",
    "flash_fwd", "flash_bwd", "fmha_cutlassf", "fmha_cutlassb", "_mi16x16", "_mi32x32", "_mi4x4", "mfma", "_xdl", "_gtcx",
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
static bool is_frame(hu_str base)
{
    static const char *const frames[] = {"elementwise", "reduce_kernel", "multi_tensor_apply", "Kernel", "index_kernel",
                                         "apply_kernel", "distribution_"};

    for (size_t i = 0; i < HU_COUNT(frames); i++)
        if (has_word(base, frames[i]))
            return true;
    return false;
}

/* The first word of the arguments that names what is done. */
static hu_str find_detail(hu_str arguments)
{
    static const char *const telling[] = {"Functor", "functor", "_kernel_cuda", "_kernel_impl", "KernelImpl", "Ops<", "gemm",
                                          "fprop", "dgrad", "wgrad", "fmha", "_foreach", "Policy"};
    static const char *const hollow[] = {"gpu_kernel_impl", "BinaryFunctor", "AUnaryFunctor", "BUnaryFunctor",
                                         "CompareFunctor_dummy"};

    for (size_t i = 0; i < arguments.n;) {
        size_t n = 0;
        hu_str word;
        bool   is_hollow = false;

        while (i + n < arguments.n && is_word(arguments.p[i + n]))
            n++;
        if (n == 0) {
            i++;
            continue;
        }
        word = (hu_str){arguments.p + i, n};
        for (size_t k = 0; k < HU_COUNT(hollow); k++)
            is_hollow |= has_word(word, hollow[k]);
        for (size_t k = 0; !is_hollow && k < HU_COUNT(telling); k++)
            if (has_word(word, telling[k]))
                return word;
        i += n;
    }
    return (hu_str){0};
}

static hu_str make_label(hu_str name, char *out)
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
    if (head < s.n && is_frame(base))
        detail = find_detail((hu_str){s.p + head, s.n - head});
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
        out[i] = (char)tolower((unsigned char)s.p[i]);
    return (hu_str){out, n};
}

static hu_kernel_family family_of(hu_str label, bool is_comm)
{
    if (is_comm)
        return HU_FAMILY_COMMUNICATION;
    for (size_t i = 0; i < HU_COUNT(family_rules); i++)
        if (has_word(label, family_rules[i].part))
            return family_rules[i].family;
    return HU_FAMILY_OTHER;
}

static hu_str library_of(hu_str name)
{
    for (size_t i = 0; i < HU_COUNT(library_rules); i++)
        if (has_word(name, library_rules[i].part))
            return hu_str_of(library_rules[i].library);
    return HU_STR("");
}

static hu_tensor_use tensor_of(hu_str name, const hu_kernel_name *k)
{
    /* FP32 elementwise kernels of old libraries are called "…TensorOp…" */
    if (k->family != HU_FAMILY_ELEMENTWISE)
        for (size_t i = 0; i < HU_COUNT(tensor_parts); i++)
            if (has_word(name, tensor_parts[i]))
                return HU_TENSOR_YES;
    return k->family == HU_FAMILY_OTHER || k->family == HU_FAMILY_FUSED || hu_str_equal(k->library, HU_STR("Triton"))
               ? HU_TENSOR_UNKNOWN
               : HU_TENSOR_NO;
}

bool hu_kernel_name_read(hu_str name, bool is_comm, hu_arena *arena, hu_kernel_name *out)
{
    char   text[LABEL_BYTES], small_label[LABEL_BYTES], small_name[512];
    hu_str label = make_label(name, text), whole = lower(name, small_name, sizeof small_name);

    out->family = family_of(lower(label, small_label, sizeof small_label), is_comm);
    out->library = library_of(whole);
    out->tensor = tensor_of(whole, out);
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
    static const char *const words[] = {"mm", "bmm", "addmm", "baddbmm", "addbmm", "mv", "addmv", "addr", "_scaled_mm",
                                        "chain_matmul", "gru", "prelu"};
    char         text[128];
    const hu_str s = lower(op, text, sizeof text);
    const hu_str name = last_component(s);

    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (hu_str_equal(name, hu_str_of(words[i])))
            return true;
    for (size_t i = 0; i < HU_COUNT(parts); i++)
        if (has_word(name, parts[i]))
            return true;
    return false;
}
