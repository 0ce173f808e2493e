/* SPDX-License-Identifier: Apache-2.0
 * shapes.c - one pass over each text; what is too deep, too long or no number makes an argument unknown, never wrong.
 *
 * An unknown count is -1 and stays -1 through hu_times and hu_plus, so models need no test of their own.
 */
#include "analyze/shapes.h"

#include "base/json.h"
#include "base/number.h"

static const struct {
    const char *name;
    int         bytes;
    bool        is_float;
} dtypes[] = {
#define D(id, name, bytes, is_float) {name, bytes, is_float},
    HU_DTYPES(D)
#undef D
};

/* Names as C++ spells them (caffe2::TypeMeta) and as newer writers do. */
static const struct {
    hu_str   name;
    hu_dtype dtype;
} names[] = {
    {HU_STR("float"), HU_DTYPE_FP32},
    {HU_STR("c10::BFloat16"), HU_DTYPE_BF16},
    {HU_STR("c10::Half"), HU_DTYPE_FP16},
    {HU_STR("long int"), HU_DTYPE_INT64},
    {HU_STR("long"), HU_DTYPE_INT64},
    {HU_STR("int"), HU_DTYPE_INT32},
    {HU_STR("bool"), HU_DTYPE_BOOL},
    {HU_STR("double"), HU_DTYPE_FP64},
    {HU_STR("unsigned char"), HU_DTYPE_INT8},
    {HU_STR("signed char"), HU_DTYPE_INT8},
    {HU_STR("char"), HU_DTYPE_INT8},
    {HU_STR("short"), HU_DTYPE_INT16},
    {HU_STR("short int"), HU_DTYPE_INT16},
    {HU_STR("unsigned short"), HU_DTYPE_INT16},
    {HU_STR("unsigned int"), HU_DTYPE_INT32},
    {HU_STR("unsigned long"), HU_DTYPE_INT64},
    {HU_STR("c10::Float8_e4m3fn"), HU_DTYPE_FP8},
    {HU_STR("c10::Float8_e5m2"), HU_DTYPE_FP8},
    {HU_STR("c10::Float8_e4m3fnuz"), HU_DTYPE_FP8},
    {HU_STR("c10::Float8_e5m2fnuz"), HU_DTYPE_FP8},
    {HU_STR("c10::complex<float>"), HU_DTYPE_C64},
    {HU_STR("c10::complex<double>"), HU_DTYPE_C128},
};

/* The element type of "c10::BFloat16" and the like; UNKNOWN for "Scalar", "" and what nobody knows. */
static hu_dtype dtype_of(hu_str type)
{
    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (hu_str_equal(names[i].name, type))
            return names[i].dtype;
    return HU_DTYPE_UNKNOWN;
}

const char *hu_dtype_name(hu_dtype dtype)
{
    return dtypes[dtype].name;
}

int hu_dtype_bytes(hu_dtype dtype)
{
    return dtypes[dtype].bytes;
}

bool hu_dtype_is_float(hu_dtype dtype)
{
    return dtypes[dtype].is_float;
}

/* One dimension of a tensor whose product so far is *elements. */
static void add_dim(hu_arg *a, bool is_member, int64_t *elements, hu_str text)
{
    int64_t dim = -1;

    if (!hu_parse_i64(text, &dim))
        dim = -1;
    *elements = hu_times(*elements, dim);
    if (is_member)
        return;
    if (a->rank < HU_DIM_MAX)
        a->dim[a->rank] = dim;
    if (a->rank <= HU_DIM_MAX)
        a->rank++;
}

/* Depth 1 is the list of arguments, 2 a tensor or a list of them, 3 a tensor of a list. */
static void parse_dims(hu_str text, hu_args *out)
{
    const char *p = text.p, *const end = text.p + text.n;
    int     depth = 0;
    int64_t member = 1;
    hu_arg  spare, *a = &spare;

    while (p < end) {
        const char c = *p;

        if (c == '[') {
            depth++;
            if (depth == 2) {
                if (out->n == HU_ARG_MAX)
                    out->is_cut = true;
                a = out->n < HU_ARG_MAX ? &out->at[out->n++] : &spare;
                *a = (hu_arg){.elements = 1, .tensors = 1};
            } else if (depth == 3) {
                if (!a->is_list)
                    *a = (hu_arg){.is_list = true};
                member = 1;
                a->tensors++;
            } else if (depth > 3) {
                a->elements = -1;
            }
            p++;
        } else if (c == ']') {
            if (depth == 3)
                a->elements = hu_plus(a->elements, member);
            if (--depth <= 0)
                break;
            p++;
        } else if (c == ',' || c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            p++;
        } else {
            const char *from = p;

            while (p < end && !memchr(",[] \n\t\r", *p, 7))
                p++;
            if (depth == 2)
                add_dim(a, false, &a->elements, (hu_str){from, (size_t)(p - from)});
            else if (depth == 3)
                add_dim(a, true, &member, (hu_str){from, (size_t)(p - from)});
            else
                out->is_cut = true; /* a number where an argument should be: positions are lost */
        }
    }
    if (depth != 0)
        out->is_cut = true;
}

static hu_str unquote(hu_str s)
{
    return s.n >= 2 && s.p[0] == '"' ? (hu_str){s.p + 1, s.n - 2} : s;
}

bool hu_args_parse(hu_str dims, hu_str types, hu_str concrete, hu_args *out)
{
    hu_json j;
    hu_str  value;

    out->n = 0;
    out->is_cut = false;
    if (dims.n < 2 || dims.p[0] != '[')
        return false;
    parse_dims(dims, out);
    j = hu_json_enter(types);
    for (size_t i = 0; i < out->n && hu_json_element(&j, &value); i++) {
        const hu_str type = unquote(value);
        hu_arg      *a = &out->at[i];

        if (a->is_list)
            continue;
        a->dtype = dtype_of(type);
        a->is_tensor = a->dtype != HU_DTYPE_UNKNOWN ||
                       (type.n && !hu_str_starts(type, HU_STR("Scalar")) && !hu_str_ends(type, HU_STR("List")));
    }
    j = hu_json_enter(concrete);
    for (size_t i = 0; i < out->n && hu_json_element(&j, &value); i++)
        out->at[i].concrete = unquote(value);
    return out->n > 0;
}

int64_t hu_arg_bytes(const hu_arg *a)
{
    const int size = hu_dtype_bytes(a->dtype);

    return size ? hu_times(a->elements, size) : -1;
}

bool hu_arg_is_true(const hu_args *a, size_t i)
{
    return i < a->n && (hu_str_equal(a->at[i].concrete, HU_STR("True")) || hu_str_equal(a->at[i].concrete, HU_STR("true")) ||
                        hu_str_equal(a->at[i].concrete, HU_STR("1")));
}

bool hu_arg_int(const hu_args *a, size_t i, int64_t *out)
{
    return i < a->n && hu_parse_i64(a->at[i].concrete, out);
}

int hu_arg_ints(const hu_args *a, size_t i, int64_t *out, int max)
{
    const hu_str s = i < a->n ? a->at[i].concrete : HU_STR("");
    const char *p = s.p, *const end = s.p + s.n;
    int n = 0;

    if (s.n < 2 || *p != '[' || end[-1] != ']')
        return -1;
    for (p++; p < end - 1;) {
        const char *from;

        if (*p == ' ' || *p == ',') {
            p++;
            continue;
        }
        for (from = p; p < end - 1 && *p != ',' && *p != ' '; p++)
            ;
        if (n == max)
            return -1;
        if (hu_str_equal((hu_str){from, (size_t)(p - from)}, HU_STR("True")))
            out[n++] = 1;
        else if (hu_str_equal((hu_str){from, (size_t)(p - from)}, HU_STR("False")))
            out[n++] = 0;
        else if (!hu_parse_i64((hu_str){from, (size_t)(p - from)}, &out[n++]))
            return -1;
    }
    return n;
}
