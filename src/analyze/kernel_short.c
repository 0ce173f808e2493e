/* SPDX-License-Identifier: Apache-2.0
 * kernel_short.c - short names of kernels, made of words that the long ones hold and of nothing else.
 *
 * Libraries write down what a kernel does in one of three ways: words between underscores (cuBLAS, cuDNN, Tensile, NCCL,
 * Triton), template arguments (PyTorch's elementwise and reduce kernels, CUTLASS), and the name of the function itself.
 * Types get one spelling (f32 for float, FP32 and f32).  What a library encodes in letters that it does not explain stays as
 * it is: "tst" of nvjet is no type here.  Mangled names are said as the names that they stand for.
 */
#include "analyze/kernel_short.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/demangle.h"
#include "base/short_name.h"
#include "base/units.h"
#include "base/utf8.h"

typedef struct {
    char  *p;
    size_t n;
} line;

typedef struct {
    const char *word, *say;
} pair;

/* clang-format off */
static const pair types[] = {
    {"BFloat16", "bf16"}, {"bfloat16_t", "bf16"}, {"__nv_bfloat16", "bf16"}, {"nv_bfloat16", "bf16"}, {"bfloat16", "bf16"},
    {"__hip_bfloat16", "bf16"}, {"hip_bfloat16", "bf16"}, {"bf16", "bf16"}, {"Bfloat16", "bf16"},
    {"Half", "f16"}, {"__half", "f16"}, {"half_t", "f16"}, {"half", "f16"}, {"fp16", "f16"}, {"f16", "f16"},
    {"tf32", "tf32"}, {"tfloat32_t", "tf32"},
    {"float", "f32"}, {"fp32", "f32"}, {"f32", "f32"}, {"double", "f64"}, {"fp64", "f64"}, {"f64", "f64"},
    {"Float8_e4m3fn", "e4m3"}, {"Float8_e4m3fnuz", "e4m3"}, {"__nv_fp8_e4m3", "e4m3"}, {"float_e4m3_t", "e4m3"},
    {"e4m3", "e4m3"}, {"Float8_e5m2", "e5m2"}, {"__nv_fp8_e5m2", "e5m2"}, {"float_e5m2_t", "e5m2"}, {"e5m2", "e5m2"},
    {"complex", "complex"}, {"bool", "bool"}, {"long", "i64"}, {"int64_t", "i64"}, {"int", "i32"}, {"int32_t", "i32"},
    {"short", "i16"}, {"int16_t", "i16"}, {"char", "i8"}, {"int8_t", "i8"}, {"int8", "i8"}, {"i8", "i8"}, {"uint8_t", "u8"},
};
enum { FLOATS = 34 }; /* of them, from the beginning */

/* Types of products are written twice, for both factors: "bf16bf16". */
static const pair twice[] = {
    {"bf16bf16", "bf16"}, {"f16f16", "f16"}, {"tf32f32", "tf32"}, {"tf32tf32", "tf32"}, {"f32f32", "f32"}, {"f64f64", "f64"},
    {"i8i8", "i8"}, {"e4m3e4m3", "e4m3"}, {"e5m2e5m2", "e5m2"},
};

static const pair products[] = {
    {"sgemm", "f32"}, {"dgemm", "f64"}, {"hgemm", "f16"}, {"cgemm", "complex f32"}, {"gcgemm", "complex f32"},
    {"zgemm", "complex f64"}, {"h884gemm", "f16"}, {"h1688gemm", "f16"}, {"h16816gemm", "f16"}, {"i8816gemm", "i8"},
    {"scudnn", "f32"}, {"hcudnn", "f16"},
};

static const pair collectives[] = {
    {"AllReduce", "all-reduce"}, {"AllGather", "all-gather"}, {"ReduceScatter", "reduce-scatter"},
    {"Broadcast", "broadcast"}, {"Reduce", "reduce"}, {"SendRecv", "send/receive"}, {"AllToAll", "all-to-all"},
    {"AllToAllPivot", "all-to-all pivot"},
    {"RING", "ring"}, {"TREE", "tree"}, {"COLLNET", "collnet"}, {"DIRECT", "direct"}, {"CHAIN", "chain"}, {"NVLS", "nvls"},
    {"PAT", "pat"}, {"SIMPLE", "simple"}, {"LL", "LL"}, {"LL128", "LL128"}, {"Generic", "NCCL generic"}, {"Prod", "prod"},
    {"Max", "max"}, {"Min", "min"}, {"MinMax", "minmax"}, {"PreMulSum", "premulsum"}, {"SumPostDiv", "sumpostdiv"},
};

static const pair operations[] = {
    {"plus", "add"}, {"minus", "sub"}, {"multiplies", "mul"}, {"divides", "div"}, {"FusedAdamMathFunctor", "Adam"},
    {"AdamFunctor", "Adam"}, {"AdamFunctorMaster", "Adam"}, {"AdamCapturableFunctor", "Adam"},
    {"FusedSgdMathFunctor", "SGD"}, {"SGDFunctor", "SGD"},
    {"FusedAdagradMathFunctor", "Adagrad"}, {"LAMBStage1Functor", "LAMB stage 1"},
    {"LAMBStage2Functor", "LAMB stage 2"}, {"copy_device_to_device", "copy"}, {"LpNormFunctor", "norm"},
    {"L2NormFunctor", "l2 norm"}, {"GeluCUDAKernelImpl", "gelu"}, {"GeluBackwardCUDAKernelImpl", "gelu bwd"},
    {"NormTwoOps", "l2 norm"}, {"NormOneOps", "l1 norm"}, {"WelfordOps", "variance"}, {"direct_copy_kernel_cuda", "copy"},
    {"launch_clamp_scalar", "clamp"}, {"batch_norm_update_stats_and_invert", "batch norm update stats and invert"},
    {"batch_norm_update_stats", "batch norm update stats"}, {"Copy", "copy"},
};

/* Words of arguments that only carry what others name. */
static const char *const hollow[] = {
    "gpu_kernel_impl", "gpu_kernel_impl_nocast", "AUnaryFunctor", "BUnaryFunctor", "BinaryFunctor", "gpu_index_kernel",
    "opmath_gpu_kernel_with_scalars", "gpu_kernel_with_index", "BinaryOpListAlphaFunctor", "BinaryOpScalarFunctor",
    "BinaryOpScalarTensorFunctor", "BinaryOpScalarFunctor_", "PointwiseOpScalarFunctor", "PointwiseOpScalarFunctor_",
    "PointwiseOpScalarListFunctor", "PointwiseOpListFunctor", "UnaryOpFunctor", "UnaryOpFunctor_", "TernaryOpListFunctor",
    "TernaryOpScalarFunctor", "BinaryOpScalarListFunctor", "jitted_gpu_kernel_impl", "CompareFunctor_dummy",
};

/* Endings of words that name an operation, and words of identifiers that say nothing. */
static const char *const endings[] = {
    "_kernel_cuda_impl", "_cuda_kernel_impl", "_kernel_cuda", "_cuda_kernel", "_kernel_impl", "_internal_kernel",
    "_cuda_out", "_kernel", "CUDAKernelImpl", "KernelImpl", "Functor", "_functor", "Functor_", "Ops", "Op",
};
static const char *const empty_words[] = {"kernel", "cuda", "impl", "cunn", "native", "gpu", "void", "kernels",
                                          "cukernel", "bn"};
/* clang-format on */

/* Of ASCII, whatever the locale: isalnum() asks it anew for each character. */
static inline bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static bool is_word(char c)
{
    return is_alnum(c) || c == '_';
}

/* The next word from byte `*at` on, which is left behind it; empty at the end. */
static hu_str next_word(hu_str s, size_t *at)
{
    size_t from;

    while (*at < s.n && !is_word(s.p[*at]))
        ++*at;
    for (from = *at; *at < s.n && is_word(s.p[*at]);)
        ++*at;
    return (hu_str){s.p + from, *at - from};
}

/* The next one between underscores; empty at the end. */
static hu_str next_part(hu_str s, size_t *at)
{
    size_t from;

    while (*at < s.n && s.p[*at] == '_')
        ++*at;
    for (from = *at; *at < s.n && s.p[*at] != '_';)
        ++*at;
    return (hu_str){s.p + from, *at - from};
}

static const char *look_up(const pair *list, size_t n, hu_str word)
{
    for (size_t i = 0; i < n; i++)
        if (hu_str_equal(word, hu_str_of(list[i].word)))
            return list[i].say;
    return NULL;
}

#define LOOK_UP(list, word) look_up(list, HU_COUNT(list), word)

static bool is_one_of(const char *const *list, size_t n, hu_str word)
{
    for (size_t i = 0; i < n; i++)
        if (hu_str_equal(word, hu_str_of(list[i])))
            return true;
    return false;
}

static void put(line *l, hu_str s)
{
    const size_t room = HU_KERNEL_SHORT_BYTES - l->n, n = s.n < room ? s.n : room;

    memcpy(l->p + l->n, s.p, n);
    l->n += n;
}

static void say_str(line *l, hu_str s)
{
    if (!s.n)
        return;
    if (l->n)
        put(l, HU_STR(" "));
    put(l, s);
}

static void say(line *l, const char *text)
{
    if (text)
        say_str(l, hu_str_of(text));
}

/* PyTorch copies elements of one size with one kernel: "OpaqueType<2u>", "OpaqueType<(int)4>". */
static const char *size_of_opaque(hu_str s)
{
    static const char *const sizes[] = {NULL, "1-byte", "2-byte", NULL, "4-byte", NULL, NULL, NULL, "8-byte"};
    size_t                   at = 0;
    hu_str                   word = next_word(s, &at);

    while (word.n && !isdigit((unsigned char)word.p[0]))
        word = next_word(s, &at);
    if (hu_str_starts(word, HU_STR("16")))
        return "16-byte";
    return word.n && word.p[0] <= '8' && (word.n == 1 || !isdigit((unsigned char)word.p[1])) ? sizes[word.p[0] - '0'] : NULL;
}

/* The first type that a text names; of floating point alone, or of any kind.  "(int)128" is a number. */
static const char *find_type(hu_str s, bool is_float)
{
    bool is_unsigned = false;

    for (size_t at = 0; at < s.n;) {
        const hu_str word = next_word(s, &at);
        const size_t from = word.n ? (size_t)(word.p - s.p) : 0;
        const char  *type = look_up(types, is_float ? FLOATS : HU_COUNT(types), word);
        const bool   is_cast = from && s.p[from - 1] == '(' && at < s.n && s.p[at] == ')' &&
                             (from < 2 || !is_word(s.p[from - 2]));

        if (!word.n)
            break;
        if (hu_str_equal(word, HU_STR("OpaqueType")) && !is_float)
            return size_of_opaque((hu_str){s.p + at, s.n - at});
        if (hu_str_equal(word, HU_STR("unsigned"))) {
            is_unsigned = true;
            continue;
        }
        if (type && !is_cast && is_unsigned)
            return hu_str_equal(word, HU_STR("char")) ? "u8" : hu_str_equal(word, HU_STR("long")) ? "u64" : "u32";
        if (type && !is_cast)
            return type;
        is_unsigned = false;
    }
    return NULL;
}

/* "128x64", with what may stand before it: "tilesize128x64x32", "MT128x64x32", "bt128x64". */
static bool say_tile(line *l, hu_str name)
{
    static const char *const before[] = {"tilesize", "MT", "bt"};

    for (size_t at = 0; at < name.n;) {
        hu_str   part = next_part(name, &at);
        char     text[32];
        unsigned a[2] = {0};
        size_t   i = 0;

        for (size_t k = 0; k < HU_COUNT(before); k++)
            if (hu_str_starts(part, hu_str_of(before[k])))
                part = (hu_str){part.p + strlen(before[k]), part.n - strlen(before[k])};
        for (int k = 0; k < 2; k++, i++) {
            const size_t from = i;

            for (; i < part.n && i < from + 5 && isdigit((unsigned char)part.p[i]); i++)
                a[k] = a[k] * 10 + (unsigned)(part.p[i] - '0');
            if (i == from || (k == 0 && (i == part.n || part.p[i] != 'x')))
                a[k] = 0;
            if (!a[k])
                break;
        }
        if (!a[0] || !a[1] || a[0] * a[1] < 64)
            continue;
        say_str(l, (hu_str){text, (size_t)snprintf(text, sizeof text, "%u×%u", a[0], a[1])});
        return true;
    }
    return false;
}

static const char *type_of_parts(hu_str name)
{
    const char *type = NULL;

    for (size_t at = 0; at < name.n && !type;) {
        const hu_str part = next_part(name, &at);

        type = look_up(types, FLOATS, part);
        type = type ? type : LOOK_UP(twice, part);
        type = type || !(hu_str_equal(part, HU_STR("i8")) || hu_str_equal(part, HU_STR("int8"))) ? type : "i8";
    }
    for (size_t at = 0; at < name.n && !type;)
        type = LOOK_UP(products, next_part(name, &at));
    return type;
}

static const char *convolution_of(hu_str name)
{
    return hu_str_has(name, HU_STR("dgrad")) || hu_str_has(name, HU_STR("igemm_bwd"))   ? "conv bwd data"
           : hu_str_has(name, HU_STR("wgrad")) || hu_str_has(name, HU_STR("igemm_wrw")) ? "conv bwd weights"
           : hu_str_has(name, HU_STR("fprop")) || hu_str_has(name, HU_STR("igemm_fwd")) ? "conv fwd"
           : hu_str_has(name, HU_STR("scudnn")) || hu_str_has(name, HU_STR("convolve")) ? "conv"
                                                                                        : NULL;
}

/* A product or convolution of a library that writes words between underscores; false: it is none. */
static bool say_product(line *l, hu_str name)
{
    const char *operation = convolution_of(name);

    if (hu_str_has(name, HU_STR("gemm")) || operation || hu_str_starts(name, HU_STR("nvjet_"))) {
        if (hu_str_has(name, HU_STR("flash")) || hu_str_has(name, HU_STR("fmha")) || hu_str_has(name, HU_STR("sdpa")))
            return false;
        say(l, operation ? operation : "gemm");
        if (hu_str_has(name, HU_STR("winograd")))
            say(l, "winograd");
        if (hu_str_starts(name, HU_STR("nvjet_"))) { /* its letters are not explained */
            size_t at = 6;

            say(l, "nvjet");
            say_str(l, next_part(name, &at));
        }
        say(l, type_of_parts(name));
        say_tile(l, name);
        return true;
    }
    return false;
}

/* "Cijk_Ailk_Bljk_BBS_BH_…_MT128x64x32_…": the types of Tensile begin with that of A, with or without underscores. */
static bool say_tensile(line *l, hu_str name)
{
    size_t at = 0;
    hu_str type;

    if (!hu_str_starts(name, HU_STR("Cijk_")))
        return false;
    for (int i = 0; i < 3; i++)
        next_part(name, &at);
    type = next_part(name, &at);
    say(l, "gemm");
    if (type.n)
        switch (type.p[0]) {
        case 'B':
            say(l, hu_str_starts(type, HU_STR("B8")) ? "e5m2" : "bf16");
            break;
        case 'H':
            say(l, "f16");
            break;
        case 'S':
            say(l, "f32");
            break;
        case 'D':
            say(l, "f64");
            break;
        case 'C':
            say(l, "complex f32");
            break;
        case 'Z':
            say(l, "complex f64");
            break;
        case 'I':
            say(l, "i8");
            break;
        case 'F':
            say(l, "e4m3");
            break;
        default:
            break;
        }
    say_tile(l, name);
    return true;
}

/* In names of collectives that only move bytes, "Sum" and "int8_t" stand for nothing. */
static bool say_collective(line *l, hu_str name)
{
    static const char *const starts[] = {"ncclDevKernel_", "ncclKernel_", "ncclSymDevKernel_", "ncclSymkDevKernel_"};
    bool                     reduces = hu_str_has(name, HU_STR("Reduce"));
    const char              *type = NULL;

    for (size_t k = 0; k < HU_COUNT(starts); k++) {
        if (!hu_str_starts(name, hu_str_of(starts[k])))
            continue;
        for (size_t at = strlen(starts[k]), i = 0; at < name.n; i++) {
            const hu_str part = next_part(name, &at);
            const char  *word = LOOK_UP(collectives, part);

            type = type ? type : LOOK_UP(types, part);
            if (word) {
                say(l, word);
            } else if (i == 0) { /* a word that alone would say nothing */
                say(l, "NCCL");
                say_str(l, part);
            }
        }
        if (reduces)
            say(l, type);
        return l->n > 0;
    }
    return false;
}

static bool say_triton(line *l, hu_str name)
{
    static const pair kinds[] = {{"poi", "pointwise"},
                                 {"red", "reduction"},
                                 {"per", "reduction, persistent"},
                                 {"tem", "template"},
                                 {"for", "foreach"}};
    size_t            at = 7, from;
    const char       *kind;

    if (!hu_str_starts(name, HU_STR("triton_")) || !(kind = LOOK_UP(kinds, next_part(name, &at))))
        return false;
    say(l, "triton");
    say(l, kind);
    from = at;
    if (!hu_str_equal(next_part(name, &at), HU_STR("fused")))
        at = from;
    while (at < name.n) {
        const hu_str part = next_part(name, &at);

        if (at < name.n || !part.n || !isdigit((unsigned char)part.p[0]))
            say_str(l, part);
    }
    return true;
}

/* "indexSelectLargeIndex_kernel" -> "index select large index", without words that say nothing. */
static void say_identifier(line *l, hu_str id)
{
    for (size_t at = 0; at < id.n;) {
        const hu_str part = next_part(id, &at);

        for (size_t from = 0, i = 1; from < part.n; i++) {
            const bool is_end = i == part.n, before = i < part.n && islower((unsigned char)part.p[i - 1]);
            const bool is_turn = i + 1 < part.n && isupper((unsigned char)part.p[i]) &&
                                 islower((unsigned char)part.p[i + 1]);
            char   word[64];
            size_t n = 0;

            if (!is_end && !((before && isupper((unsigned char)part.p[i])) || is_turn))
                continue;
            for (; from < i && n < sizeof word; from++)
                word[n++] = hu_char_lower(part.p[from]);
            from = i;
            if (is_one_of(empty_words, HU_COUNT(empty_words), (hu_str){word, n}))
                continue;
            if (n == 7 && memcmp(word, "forward", 7) == 0)
                say(l, "fwd");
            else if (n == 8 && memcmp(word, "backward", 8) == 0)
                say(l, "bwd");
            else if (n == 3 && memcmp(word, "max", 3) == 0 && hu_str_ends((hu_str){l->p, l->n}, HU_STR("soft")))
                put(l, (hu_str){word, n});
            else if (n == 3 && memcmp(word, "nan", 3) == 0) /* alone it would read as a number */
                put(l, (hu_str){word, n});
            else if (n == 3 && memcmp(word, "inf", 3) == 0) /* bn_fw_inf */
                say(l, "inference");
            else
                say_str(l, (hu_str){word, n});
        }
    }
}

/* The operation that a word names: "MulFunctor" -> "mul".  False: it names none. */
static bool say_operation(line *l, hu_str word)
{
    const char *known = LOOK_UP(operations, word);

    if (known) {
        say(l, known);
        return true;
    }
    if (is_one_of(hollow, HU_COUNT(hollow), word))
        return false;
    if (hu_str_starts(word, HU_STR("CUDAFunctor"))) {
        for (size_t i = word.n; i-- > 0;)
            if (word.p[i] == '_') {
                say_identifier(l, (hu_str){word.p + i, word.n - i});
                return true;
            }
        return false;
    }
    for (size_t k = 0; k < HU_COUNT(endings); k++) {
        const hu_str end = hu_str_of(endings[k]);

        if (word.n <= end.n || !hu_str_ends(word, end))
            continue;
        say_identifier(l, (hu_str){word.p, word.n - end.n});
        return true;
    }
    return false;
}

/* Where the operation of a kernel that is but a frame is named; the place behind it, or 0. */
static size_t say_inner(line *l, hu_str arguments)
{
    for (size_t at = 0; at < arguments.n;) {
        const hu_str word = next_word(arguments, &at);

        if (word.n && say_operation(l, word))
            return at;
    }
    return 0;
}

/* Of the first "lambda(float)" with a type: what the operation takes. */
static const char *type_of_lambda(hu_str s)
{
    const hu_str key = HU_STR("lambda(");

    for (size_t i = 0; i + key.n < s.n; i++) {
        const hu_str inner = {s.p + i + key.n, s.n - i - key.n};
        const char  *end = memchr(inner.p, ')', inner.n), *found = NULL;
        const hu_str all = {inner.p, end ? (size_t)(end - inner.p) : 0};

        if (memcmp(s.p + i, key.p, key.n) != 0 || !all.n || hu_str_has(all, HU_STR("*")))
            continue;
        for (size_t at = 0; at < all.n; at++) { /* "where" and masks take a bool before or behind what they select */
            const char  *comma = memchr(all.p + at, ',', all.n - at);
            const size_t to = comma ? (size_t)(comma - all.p) : all.n;
            const char  *type = find_type((hu_str){all.p + at, to - at}, false);

            if (type && (!found || strcmp(found, "bool") == 0))
                found = type;
            at = to;
        }
        if (found)
            return found;
    }
    return NULL;
}

/* "bfloat16tofloat32_copy_kernel_cuda", "float16_copy_kernel_cuda". */
static bool say_cast(line *l, hu_str arguments)
{
    const struct {
        const char *word, *say;
    } casts[] = {{"bfloat16tofloat32_copy", "bf16→f32"}, {"float16tofloat32_copy", "f16→f32"}, {" bfloat16_copy", NULL}};

    for (size_t i = 0; i < HU_COUNT(casts); i++)
        if (casts[i].say && hu_str_has(arguments, hu_str_of(casts[i].word))) {
            say(l, "copy");
            say(l, casts[i].say);
            return true;
        }
    if (hu_str_has(arguments, HU_STR("float16_copy_kernel_cuda"))) {
        const char *from = type_of_lambda(arguments);
        char        text[32];

        say(l, "copy");
        snprintf(text, sizeof text, "%s→%s", from ? from : "",
                 hu_str_has(arguments, HU_STR("bfloat16_copy")) ? "bf16" : "f16");
        say(l, text);
        return true;
    }
    return false;
}

static void say_elementwise(line *l, hu_str arguments)
{
    size_t      behind;
    const char *type;

    say(l, "elementwise");
    if (say_cast(l, arguments))
        return;
    behind = say_inner(l, arguments);
    if (!behind)
        return;
    if (hu_str_has(arguments, HU_STR("LoadWithCast")))
        say(l, "cast");
    type = behind < arguments.n && arguments.p[behind] == '<'
               ? find_type((hu_str){arguments.p + behind, arguments.n - behind}, false)
               : type_of_lambda(arguments);
    say(l, type);
}

static void say_reduce(line *l, hu_str arguments)
{
    const hu_str key = HU_STR("ReduceOp<");
    size_t       at = 0;

    say(l, "reduce");
    while (at + key.n < arguments.n && memcmp(arguments.p + at, key.p, key.n) != 0)
        at++;
    arguments = (hu_str){arguments.p + at, arguments.n - at};
    if (hu_str_starts(arguments, key)) {
        const hu_str inner = {arguments.p + key.n, arguments.n - key.n};

        say_inner(l, inner);
        say(l, find_type(inner, false));
    }
}

static void say_multi_tensor(line *l, hu_str arguments)
{
    static const char *const std_words[] = {"plus", "minus", "multiplies", "divides"};

    say(l, "multi-tensor");
    for (size_t at = 0; at < arguments.n;) {
        const hu_str word = next_word(arguments, &at);

        if (!is_one_of(std_words, HU_COUNT(std_words), word) &&
            (hu_str_starts(word, HU_STR("TensorList")) || !hu_str_has(arguments, HU_STR("std::"))))
            continue;
        if (is_one_of(std_words, HU_COUNT(std_words), word)) {
            say(l, LOOK_UP(operations, word));
            say(l, find_type(arguments, true));
            return;
        }
    }
    say_inner(l, arguments);
    say(l, find_type(arguments, true) ? find_type(arguments, true) : find_type(arguments, false));
}

/* The first class of arguments: "kentry<1, ck_tile::Rmsnorm2dFwd<…> >". */
static bool say_class(line *l, hu_str arguments)
{
    for (size_t at = 0; at < arguments.n;) {
        const hu_str word = next_word(arguments, &at);

        if (word.n > 6 && isupper((unsigned char)word.p[0])) {
            say_identifier(l, word);
            return true;
        }
    }
    return false;
}

/* What a frame of CUTLASS, CK or Thrust is around. */
static bool say_framed(line *l, hu_str base, hu_str arguments)
{
    static const char *const frames[] = {"Kernel", "Kernel2", "device_kernel", "kentry", "_kernel_agent", "kernel"};
    static const char *const around_class[] = {"Kernel", "Kernel2", "kentry"};
    size_t                   at = 0;

    if (!is_one_of(frames, HU_COUNT(frames), base))
        return false;
    while (at < arguments.n) {
        const hu_str word = next_word(arguments, &at);

        if (hu_str_starts(word, HU_STR("cutlass_")) && say_product(l, word))
            return true;
        if (hu_str_starts(word, HU_STR("fmha_")) || hu_str_starts(word, HU_STR("FlashAttn")) ||
            (hu_str_ends(word, HU_STR("Agent")) && word.n > 5) || hu_str_starts(word, HU_STR("Gemm")) ||
            hu_str_starts(word, HU_STR("ReduceSplitK"))) {
            say_identifier(l, word);
            say(l, find_type((hu_str){arguments.p + at, arguments.n - at}, true));
            return true;
        }
    }
    return is_one_of(around_class, HU_COUNT(around_class), base) && say_class(l, arguments);
}

/* The identifier before the "::" in front of `base`; empty: there is none. */
static hu_str component_before(hu_str name, hu_str base)
{
    size_t end = (size_t)(base.p - name.p), from;

    if (end < 2 || name.p[end - 1] != ':')
        return (hu_str){name.p, 0};
    end -= 2;
    for (from = end; from > 0 && is_word(name.p[from - 1]);)
        from--;
    return (hu_str){name.p + from, end - from};
}

static void say_attention(line *l, hu_str name, hu_str base)
{
    say(l, hu_str_has_lower(name, HU_STR("flash")) ? "flash attention" : "attention");
    say(l,
        hu_str_has_lower(base, HU_STR("bwd")) || hu_str_has(base, HU_STR("cutlassB")) || hu_str_has(base, HU_STR("bprop"))
            ? "bwd"
        : hu_str_has_lower(base, HU_STR("fwd")) || hu_str_has(base, HU_STR("cutlassF")) || hu_str_has(base, HU_STR("fprop"))
            ? "fwd"
            : NULL);
    say(l, hu_str_has_lower(base, HU_STR("combine"))   ? "combine"
           : hu_str_has_lower(base, HU_STR("splitkv")) ? "split-kv"
                                                       : NULL);
    say(l, hu_str_has_lower(base, HU_STR("convert")) ? "convert"
           : hu_str_has(base, HU_STR("dot_do_o"))    ? "dot(do, o)"
                                                     : NULL);
}

/* A function of C++ by its own name and arguments. */
static void say_function(line *l, hu_str name, hu_str base, hu_str arguments)
{
    if (hu_str_has(base, HU_STR("elementwise_kernel")) && !hu_str_starts(base, HU_STR("distribution"))) {
        say_elementwise(l, arguments);
    } else if (hu_str_equal(base, HU_STR("reduce_kernel"))) {
        say_reduce(l, arguments);
    } else if (hu_str_has(base, HU_STR("multi_tensor_apply"))) {
        say_multi_tensor(l, arguments);
    } else if (hu_str_starts(base, HU_STR("flash_")) || hu_str_starts(base, HU_STR("fmha_"))) {
        say_attention(l, base, base);
        say(l, type_of_parts(base) ? type_of_parts(base) : find_type(arguments, true));
        say_tile(l, base);
    } else if (hu_str_has(base, HU_STR("gemm")) && say_product(l, base)) {
        if (!type_of_parts(base))
            say(l, find_type(arguments, true));
    } else if (!say_framed(l, base, arguments)) {
        const hu_str above = component_before(name, base);
        const bool   is_hollow = is_one_of(empty_words, HU_COUNT(empty_words), base);

        if (hu_str_starts(base, HU_STR("bn_fw")) || hu_str_starts(base, HU_STR("bn_bw")))
            say(l, "batch norm");
        if (hu_str_starts(base, HU_STR("dgrad")) || hu_str_starts(base, HU_STR("wgrad")))
            say(l, "conv");
        say_identifier(l, is_hollow && above.n ? above : base);
        if (l->n && arguments.n && arguments.p[0] == '<')
            say(l,
                find_type(arguments, is_hollow || hu_str_has(base, HU_STR("gemv")) || hu_str_has(base, HU_STR("splitK"))));
    }
}

/* Of "_ZN2ck6device11kernel_gemmI…" the identifiers of the function, or of the first class in its arguments. */
static void say_mangled(line *l, hu_str name)
{
    const char *types_of[][2] = {{"DF16b", "bf16"},
                                 {"DF16_", "f16"},
                                 {"f", "f32"},
                                 {"d", "f64"},
                                 {"6__half", "f16"},
                                 {"13__nv_bfloat16", "bf16"},
                                 {"14__hip_bfloat16", "bf16"}};
    hu_str      base = {name.p, 0};
    size_t      at = 2;

    while (at < name.n && (name.p[at] == 'N' || name.p[at] == 'L' || name.p[at] == 'K'))
        at++;
    while (at < name.n) {
        size_t n = 0, digits = at;
        bool   is_new;

        while (digits < name.n && digits < at + 4 && isdigit((unsigned char)name.p[digits]))
            n = n * 10 + (size_t)(name.p[digits++] - '0');
        if (digits == at || n == 0 || n > name.n - digits) {
            if (!base.n)
                return;
            if (is_one_of((const char *const[]){"Kernel", "kentry", "Kernel2", "kernel"}, 4, base)) {
                at++; /* a frame: on to a class in its arguments */
                continue;
            }
            break;
        }
        is_new = !is_one_of((const char *const[]){"Kernel", "kentry", "Kernel2", "kernel"}, 4, base) ||
                 (isupper((unsigned char)name.p[digits]) && n > 6);
        if (is_new)
            base = (hu_str){name.p + digits, n};
        at = digits + n;
        if (is_new && isupper((unsigned char)base.p[0]) && n > 6)
            break;
    }
    say_identifier(l, base);
    for (size_t i = 0; at + 1 < name.n && name.p[at] == 'I' && i < HU_COUNT(types_of); i++)
        if (hu_str_starts((hu_str){name.p + at + 1, name.n - at - 1}, hu_str_of(types_of[i][0]))) {
            say(l, types_of[i][1]);
            break;
        }
}

static bool is_symbol(hu_str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!is_word(name.p[i]) && name.p[i] != '.')
            return false;
    return name.n > 0;
}

/* Words between underscores, where the library is known; else a symbol stays as it is. */
static void say_symbol(line *l, hu_str name)
{
    if (hu_str_starts(name, HU_STR("_Z"))) { /* one that cannot be read in full */
        say_mangled(l, name);
    } else if (hu_str_has_lower(name, HU_STR("fmha_cutlass")) || hu_str_has(name, HU_STR("_flash_"))) {
        say_attention(l, name, name);
        say(l, type_of_parts(name));
        say_tile(l, name);
    } else if (!say_tensile(l, name) && !say_triton(l, name) &&
               (hu_str_has(name, HU_STR("matmul")) || !say_product(l, name))) {
        say_str(l, name);
    }
}

static hu_str fit(line *l)
{
    hu_str rest = {l->p, l->n};

    if (hu_units_width(rest) <= HU_KERNEL_SHORT_WIDTH)
        return rest;
    for (int i = 0; i < HU_KERNEL_SHORT_WIDTH - 1; i++)
        hu_utf8_next(&rest);
    l->n -= rest.n;
    while (l->n && l->p[l->n - 1] == ' ')
        l->n--;
    put(l, HU_STR("…"));
    return (hu_str){l->p, l->n};
}

static void say_name(line *l, hu_str name)
{
    const hu_str own = hu_short_name_own(name);

    if (hu_str_starts(name, HU_STR("Memcpy ")) || hu_str_starts(name, HU_STR("Memset ")))
        say_str(l, name);
    else if (!say_collective(l, own) && is_symbol(name))
        say_symbol(l, name);
    else if (!l->n && own.n)
        say_function(l, name, own, (hu_str){own.p + own.n, name.n - (size_t)(own.p - name.p) - own.n});
    if (!l->n)
        say_str(l, own.n ? own : name);
}

hu_str hu_kernel_short(hu_str name, char out[HU_KERNEL_SHORT_BYTES])
{
    line   l = {out, 0};
    char   text[HU_DEMANGLE_BYTES];
    hu_str plain = hu_str_starts(name, HU_STR("_Z")) ? hu_demangle(name, text) : (hu_str){name.p, 0};

    say_name(&l, plain.n ? plain : name);
    return fit(&l);
}

typedef struct {
    hu_str   name, text;
    uint32_t at;
} entry;

static int by_text(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    const int    c = hu_str_compare(a->text, b->text);

    return c ? c : hu_str_compare(a->name, b->name);
}

/* The next letters and digits, those of an underscore apart. */
static hu_str next_run(hu_str s, size_t *at)
{
    size_t from;

    while (*at < s.n && !is_alnum(s.p[*at]))
        ++*at;
    for (from = *at; *at < s.n && is_alnum(s.p[*at]);)
        ++*at;
    return (hu_str){s.p + from, *at - from};
}

static bool has_run(hu_str s, hu_str run)
{
    const char *const end = s.p + s.n;

    for (const char *p = s.p; (p = memmem(p, (size_t)(end - p), run.p, run.n)); p++)
        if ((p == s.p || !is_alnum(p[-1])) && (p + run.n == end || !is_alnum(p[run.n])))
            return true;
    return false;
}

/* What is compared of a name. */
static hu_str beginning(hu_str name)
{
    enum { MOST_BYTES = 1024 };

    name.n = name.n < MOST_BYTES ? name.n : MOST_BYTES;
    return name;
}

/* Where the first run begins that does not lie in what both names begin with, and so in both. */
static size_t differs_at(hu_str a, hu_str b)
{
    size_t n = 0;

    while (n < a.n && n < b.n && a.p[n] == b.p[n])
        n++;
    while (n > 0 && is_alnum(a.p[n - 1]))
        n--;
    return n;
}

/* The first short run of an entry that no other of its group has. */
static hu_str own_run(const entry *group, size_t n, size_t of)
{
    enum { LONGEST = 14, MOST = 12 };
    const hu_str name = beginning(group[of].name);
    const size_t first = of > MOST / 2 ? of - MOST / 2 : 0, end = first + MOST < n ? first + MOST : n;
    size_t       at = 0;

    /* the list is sorted: a name begins as its neighbours do */
    for (size_t k = of > 0 ? of - 1 : 1; k <= of + 1 && k < n; k += 2) {
        const size_t from = differs_at(name, beginning(group[k].name));

        at = from > at ? from : at;
    }
    while (at < name.n) {
        const hu_str run = next_run(name, &at);
        bool         is_own = run.n > 0 && run.n <= LONGEST && !hu_str_equal(run, HU_STR("void"));

        for (size_t k = first; k < end && is_own; k++)
            is_own = k == of || !has_run(beginning(group[k].name), run);
        if (is_own)
            return run;
    }
    return (hu_str){name.p, 0};
}

/* Behind a text, which gives way to it. */
static hu_str add(hu_str text, const char *more, hu_arena *arena)
{
    const size_t width = hu_units_width(hu_str_of(more)), n = strlen(more);
    hu_str       rest = text;
    char        *p = hu_arena_alloc(arena, text.n + n + sizeof "…");
    size_t       kept = text.n;

    if (!p)
        return (hu_str){0};
    if (hu_units_width(text) + width > HU_KERNEL_SHORT_WIDTH) {
        for (size_t i = 0; i + width + 1 < HU_KERNEL_SHORT_WIDTH; i++)
            hu_utf8_next(&rest);
        kept = text.n - rest.n;
    }
    memcpy(p, text.p, kept);
    if (kept < text.n) {
        memcpy(p + kept, "…", sizeof "…" - 1);
        kept += sizeof "…" - 1;
    }
    memcpy(p + kept, more, n);
    return (hu_str){p, kept + n};
}

/* Tells those of a sorted list apart that have one text. */
static bool tell_apart(entry *e, size_t n, bool by_number, hu_arena *arena)
{
    bool ok = true;

    for (size_t from = 0, end; from < n; from = end) {
        const hu_str text = e[from].text;

        for (end = from + 1; end < n && hu_str_equal(e[end].text, text);)
            end++;
        for (size_t i = from, number = 1; i < end && end - from > 1; i++) {
            const hu_str word = by_number ? HU_STR("") : own_run(e + from, end - from, i - from);
            char         more[32] = "";

            if (by_number && i > from)
                number += !hu_str_equal(e[i].name, e[i - 1].name);
            if (by_number && number > 1)
                snprintf(more, sizeof more, " #%zu", number);
            else if (!by_number && word.n)
                snprintf(more, sizeof more, " (%.*s)", HU_FMT(word));
            if (more[0])
                e[i].text = add(text, more, arena);
            ok = ok && e[i].text.p;
        }
    }
    return ok;
}

hu_str *hu_kernel_shorts(const hu_str *names, size_t n, hu_arena *arena)
{
    hu_str *shorts = hu_arena_calloc(arena, n + 1, sizeof *shorts);
    entry  *list = hu_arena_calloc(arena, n + 1, sizeof *list);
    char    text[HU_KERNEL_SHORT_BYTES + 8];

    if (!shorts || !list)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        list[i] = (entry){names[i], hu_arena_copy(arena, hu_kernel_short(names[i], text)), (uint32_t)i};
        if (!list[i].text.p)
            return NULL;
    }
    for (int by_number = 0; n && by_number < 2; by_number++) {
        qsort(list, n, sizeof *list, by_text);
        if (!tell_apart(list, n, by_number, arena))
            return NULL;
    }
    for (size_t i = 0; i < n; i++)
        shorts[list[i].at] = list[i].text;
    return shorts;
}
