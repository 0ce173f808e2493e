/* SPDX-License-Identifier: Apache-2.0
 * wire.h - plain structs as bytes and back, so that another process can go on with them.
 *
 * Each struct has a table that names every field in the order of the struct; whoever adds a field and forgets its row
 * is stopped by the compiler, for the struct is also initialised from the table, by position.  Numbers take as many
 * bytes as they need, equal texts are written once, and nothing in the bytes is an address.  Whoever reads trusts
 * nothing: counts are held against the bytes that are left, enums against their end, used parts of arrays against the
 * array.
 *
 * The bytes are for the same program on machines of the same kind: a fingerprint of the tables comes first, and what
 * was written by another holdup, or with bytes in the other order, is refused.  They are no file format.
 */
#ifndef HU_BASE_WIRE_H
#define HU_BASE_WIRE_H

#include "base/arena.h"
#include "base/error.h"

typedef struct hu_wire_table hu_wire_table;

/* clang-format off */
typedef enum {
    HU_WIRE_SIZE,               /* size_t: lengths of lists and used parts of arrays are such                       */
    HU_WIRE_I64, HU_WIRE_I32, HU_WIRE_I16, HU_WIRE_U32, HU_WIRE_U16, HU_WIRE_U8, HU_WIRE_F64,
    HU_WIRE_BOOL,
    HU_WIRE_ENUM,               /* below `end`                                                                      */
    HU_WIRE_INDEX,              /* uint32_t: a row of the list that holds it, before this one; UINT32_MAX none      */
    HU_WIRE_STR,                /* hu_str                                                                           */
    HU_WIRE_WORD,               /* const char *, or NULL                                                            */
    HU_WIRE_TEXT,               /* char[]: ends in a NUL                                                            */
    HU_WIRE_PART,               /* a struct inside                                                                  */
    HU_WIRE_LIST,               /* a pointer to `used` structs                                                      */
    HU_WIRE_STRS,               /* a pointer to `used` texts                                                        */
    HU_WIRE_MAYBE,              /* a pointer to one struct, or NULL                                                 */
    HU_WIRE_LEFT,               /* stays behind: zeros where it is read                                             */
} hu_wire_kind;
/* clang-format on */

typedef struct {
    const char          *name;
    hu_wire_kind         kind;
    size_t               at, bytes; /* where in the struct; of one element */
    size_t               n;         /* elements of an array; 1 */
    size_t               used;      /* where in the struct a size_t says how many count; HU_WIRE_ALL */
    uint64_t             end;       /* of values, exclusive; 0: any */
    const hu_wire_table *of;        /* what PART, LIST and MAYBE hold */
} hu_wire_field;

struct hu_wire_table {
    const char          *name;
    size_t               bytes;
    const hu_wire_field *fields;
    size_t               n;
};

#define HU_WIRE_ALL SIZE_MAX

/* *out lives in `arena`, working memory in `scratch`.  Returns 0 or HU_ENOMEM. */
int hu_wire_pack(const hu_wire_table *table, const void *from, hu_arena *arena, hu_arena *scratch, hu_str *out,
                 hu_error *err);

/*
 * Fills *into, which must be zero; what it points to lives in `arena`.  Returns 0, HU_ENOMEM, or HU_EFORMAT for bytes that
 * are not of this table, with the offset.
 */
int hu_wire_unpack(const hu_wire_table *table, hu_str bytes, hu_arena *arena, void *into, hu_error *err);

/* Of the table and all that it reaches: what both sides must have in common. */
uint64_t hu_wire_fingerprint(const hu_wire_table *table);

/*
 * Defines the static TYPE##_wire from a list of rows F(T, KIND, member, ...), where an S behind KIND means an array:
 *
 *     #define FIELDS(F, T) F(T, STR, name) F(T, I64S, by_kind) F(T, LIST, at, n, hu_row) F(T, SIZE, n)
 *     HU_WIRE_TABLE(hu_rows, FIELDS);
 */
/* clang-format off */
#define HU_WIRE_TABLE(type, FIELDS)                                                                                   \
    _Pragma("GCC diagnostic push")                                                                                    \
    _Pragma("GCC diagnostic error \"-Wmissing-field-initializers\"")                                                  \
    static const type type##_whole __attribute__((unused)) = {FIELDS(HU_WIRE_NOTHING, type)};                         \
    _Pragma("GCC diagnostic pop")                                                                                     \
    static const hu_wire_field type##_fields[] = {FIELDS(HU_WIRE_ROW, type)};                                         \
    static const hu_wire_table type##_wire = {#type, sizeof(type), type##_fields, HU_COUNT(type##_fields)}
/* clang-format on */

#define HU_WIRE_NOTHING(T, KIND, ...) HU_WIRE_NO_##KIND,
#define HU_WIRE_ROW(T, KIND, ...)     HU_WIRE_##KIND##_ROW(T, __VA_ARGS__),

/* A member and its type, which is checked; of an array the type of its elements. */
#define HU_WIRE_OF(T, m)         __typeof__(((T *)0)->m)
#define HU_WIRE_SAME(T, m, type) (0 * sizeof(char[__builtin_types_compatible_p(HU_WIRE_OF(T, m), type) ? 1 : -1]))
#define HU_WIRE_ONE(T, m, k, type)                                                                                   \
    .name = #m, .kind = HU_WIRE_##k, .at = offsetof(T, m) + HU_WIRE_SAME(T, m, type), .bytes = sizeof(type), .n = 1, \
    .used = HU_WIRE_ALL
#define HU_WIRE_MANY(T, m, k, type)                                                                             \
    .name = #m, .kind = HU_WIRE_##k, .at = offsetof(T, m) + HU_WIRE_SAME(T, m[0], type), .bytes = sizeof(type), \
    .n = sizeof(((T *)0)->m) / sizeof(type), .used = HU_WIRE_ALL
#define HU_WIRE_USED(T, count) offsetof(T, count) + HU_WIRE_SAME(T, count, size_t)

/* clang-format off */
#define HU_WIRE_SIZE_ROW(T, m) {HU_WIRE_ONE(T, m, SIZE, size_t)}
#define HU_WIRE_I64_ROW(T, m) {HU_WIRE_ONE(T, m, I64, int64_t)}
#define HU_WIRE_I64S_ROW(T, m) {HU_WIRE_MANY(T, m, I64, int64_t)}
#define HU_WIRE_I32_ROW(T, m) {HU_WIRE_ONE(T, m, I32, int32_t)}
#define HU_WIRE_I16_ROW(T, m) {HU_WIRE_ONE(T, m, I16, int16_t)}
#define HU_WIRE_U32_ROW(T, m) {HU_WIRE_ONE(T, m, U32, uint32_t)}
#define HU_WIRE_U32S_ROW(T, m) {HU_WIRE_MANY(T, m, U32, uint32_t)}
#define HU_WIRE_U16_ROW(T, m) {HU_WIRE_ONE(T, m, U16, uint16_t)}
#define HU_WIRE_U16S_ROW(T, m) {HU_WIRE_MANY(T, m, U16, uint16_t)}
#define HU_WIRE_U64_ROW(T, m) {HU_WIRE_ONE(T, m, I64, uint64_t)}
#define HU_WIRE_U8_ROW(T, m, limit) {HU_WIRE_ONE(T, m, U8, uint8_t), .end = (limit)}
#define HU_WIRE_F64_ROW(T, m) {HU_WIRE_ONE(T, m, F64, double)}
#define HU_WIRE_F64S_ROW(T, m) {HU_WIRE_MANY(T, m, F64, double)}
#define HU_WIRE_BOOL_ROW(T, m) {HU_WIRE_ONE(T, m, BOOL, bool), .end = 2}
#define HU_WIRE_ENUM_ROW(T, m, limit)                                                                                 \
    {.name = #m, .kind = HU_WIRE_ENUM, .at = offsetof(T, m), .n = 1, .used = HU_WIRE_ALL, .end = (limit),             \
     .bytes = sizeof(char[sizeof(((T *)0)->m) == 4 ? 4 : -1])}
#define HU_WIRE_FIRST_ENUMS_ROW(T, m, count, limit)                                                                   \
    {.name = #m, .kind = HU_WIRE_ENUM, .at = offsetof(T, m), .n = sizeof(((T *)0)->m) / 4, .end = (limit),            \
     .used = HU_WIRE_USED(T, count), .bytes = sizeof(char[sizeof(((T *)0)->m[0]) == 4 ? 4 : -1])}
#define HU_WIRE_ENUMS_ROW(T, m, limit)                                                                                \
    {.name = #m, .kind = HU_WIRE_ENUM, .at = offsetof(T, m), .n = sizeof(((T *)0)->m) / 4, .end = (limit),            \
     .used = HU_WIRE_ALL, .bytes = sizeof(char[sizeof(((T *)0)->m[0]) == 4 ? 4 : -1])}
#define HU_WIRE_INDEX_ROW(T, m) {HU_WIRE_ONE(T, m, INDEX, uint32_t)}
#define HU_WIRE_STR_ROW(T, m) {HU_WIRE_ONE(T, m, STR, hu_str)}
#define HU_WIRE_WORD_ROW(T, m) {HU_WIRE_ONE(T, m, WORD, const char *)}
#define HU_WIRE_TEXT_ROW(T, m)                                                                                        \
    {.name = #m, .kind = HU_WIRE_TEXT, .at = offsetof(T, m) + HU_WIRE_SAME(T, m[0], char), .n = 1,                    \
     .bytes = sizeof(((T *)0)->m), .used = HU_WIRE_ALL}
#define HU_WIRE_TEXTS_ROW(T, m, count)                                                                                \
    {.name = #m, .kind = HU_WIRE_TEXT, .at = offsetof(T, m) + HU_WIRE_SAME(T, m[0][0], char),                         \
     .n = HU_COUNT(((T *)0)->m), .bytes = sizeof(((T *)0)->m[0]), .used = HU_WIRE_USED(T, count)}
#define HU_WIRE_PART_ROW(T, m, type) {HU_WIRE_ONE(T, m, PART, type), .of = &type##_wire}
#define HU_WIRE_PARTS_ROW(T, m, type) {HU_WIRE_MANY(T, m, PART, type), .of = &type##_wire}
#define HU_WIRE_FIRST_ROW(T, m, count, type)                                                                          \
    {.name = #m, .kind = HU_WIRE_PART, .at = offsetof(T, m) + HU_WIRE_SAME(T, m[0], type), .bytes = sizeof(type),     \
     .n = HU_COUNT(((T *)0)->m), .used = HU_WIRE_USED(T, count), .of = &type##_wire}
#define HU_WIRE_LIST_ROW(T, m, count, type)                                                                           \
    {.name = #m, .kind = HU_WIRE_LIST, .at = offsetof(T, m) + HU_WIRE_SAME(T, m, type *), .bytes = sizeof(type),      \
     .n = 1, .used = HU_WIRE_USED(T, count), .of = &type##_wire}
#define HU_WIRE_STRS_ROW(T, m, count)                                                                                 \
    {.name = #m, .kind = HU_WIRE_STRS, .at = offsetof(T, m) + HU_WIRE_SAME(T, m, hu_str *), .bytes = sizeof(hu_str),  \
     .n = 1, .used = HU_WIRE_USED(T, count)}
#define HU_WIRE_MAYBE_ROW(T, m, type)                                                                                 \
    {.name = #m, .kind = HU_WIRE_MAYBE, .at = offsetof(T, m) + HU_WIRE_SAME(T, m, type *), .bytes = sizeof(type),     \
     .n = 1, .used = HU_WIRE_ALL, .of = &type##_wire}
#define HU_WIRE_LEFT_ROW(T, m) {.name = #m, .kind = HU_WIRE_LEFT, .at = offsetof(T, m), .used = HU_WIRE_ALL}
/* clang-format on */
#define HU_WIRE_LEFTS_ROW(T, m) HU_WIRE_LEFT_ROW(T, m)

/* The same rows as initialisers. */
#define HU_WIRE_NO_SIZE 0
/* clang-format off */
#define HU_WIRE_NO_I64 0
#define HU_WIRE_NO_I64S {}
#define HU_WIRE_NO_I32 0
#define HU_WIRE_NO_I16 0
#define HU_WIRE_NO_U32 0
#define HU_WIRE_NO_U32S {}
#define HU_WIRE_NO_U16 0
#define HU_WIRE_NO_U16S {}
#define HU_WIRE_NO_U64 0
#define HU_WIRE_NO_U8 0
#define HU_WIRE_NO_F64 0
#define HU_WIRE_NO_F64S {}
#define HU_WIRE_NO_BOOL 0
#define HU_WIRE_NO_ENUM 0
#define HU_WIRE_NO_ENUMS {}
#define HU_WIRE_NO_FIRST_ENUMS {}
#define HU_WIRE_NO_INDEX 0
#define HU_WIRE_NO_STR {}
#define HU_WIRE_NO_WORD 0
#define HU_WIRE_NO_TEXT {}
#define HU_WIRE_NO_TEXTS {}
#define HU_WIRE_NO_PART {}
#define HU_WIRE_NO_PARTS {}
#define HU_WIRE_NO_FIRST {}
#define HU_WIRE_NO_LIST 0
#define HU_WIRE_NO_STRS 0
#define HU_WIRE_NO_MAYBE 0
#define HU_WIRE_NO_LEFT 0
#define HU_WIRE_NO_LEFTS {}
/* clang-format on */

#endif
