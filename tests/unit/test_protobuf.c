/* SPDX-License-Identifier: Apache-2.0
 * test_protobuf.c - fields as they lie, and lengths that lie. */
#include "base/protobuf.h"
#include "base/unpack.h"
#include "testing.h"

#define BYTES(text) ((hu_str){(text), sizeof(text) - 1})

static void each_wire_type_is_read(void **state)
{
    hu_protobuf       m = hu_protobuf_of(BYTES("\x08\x96\x01"
                                                     "\x11\0\0\0\0\0\0\xf8\x3f"
                                                     "\x1a\x03"
                                                     "abc"
                                                     "\x25\x01\0\0\x80"
                                                     "\xc0\x3e\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    hu_protobuf_field f;

    (void)state;
    assert_true(hu_protobuf_next(&m, &f));
    assert_int_equal(f.number, 1);
    assert_int_equal(f.value, 150);
    assert_int_equal(f.bytes.n, 0);
    assert_true(hu_protobuf_next(&m, &f));
    assert_true(hu_protobuf_double(&f) == 1.5);
    assert_true(hu_protobuf_next(&m, &f));
    assert_true(hu_str_equal(f.bytes, HU_STR("abc")));
    assert_int_equal(f.value, 0);
    assert_true(hu_protobuf_next(&m, &f));
    assert_int_equal(f.value, 0x80000001u);
    assert_true(hu_protobuf_next(&m, &f));
    assert_int_equal(f.number, 1000);
    assert_true(f.value == UINT64_MAX);
    assert_false(hu_protobuf_next(&m, &f));
    assert_false(m.bad);
}

static void what_is_no_field_ends_the_message(void **state)
{
    /* clang-format off */
    static const hu_str rows[] = {
        BYTES("\x08"), BYTES("\x08\x80"), BYTES("\x0a\x02" "a"), BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f" "a"),
        BYTES("\x09\0\0\0\0\0\0\0"), BYTES("\x0d\0\0\0"), BYTES("\x0b\x0c"), BYTES("\x00\x00"), BYTES("\x06\x01"),
        BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01"), BYTES("\xf8\xff\xff\xff\xff\x01\x01"),
        BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < HU_COUNT(rows); i++) {
        char             *copy = malloc(rows[i].n); /* of exactly its length, for ASan */
        hu_protobuf       m;
        hu_protobuf_field f;

        assert_non_null(copy);
        memcpy(copy, rows[i].p, rows[i].n);
        m = hu_protobuf_of((hu_str){copy, rows[i].n});
        assert_false(hu_protobuf_next(&m, &f));
        assert_true(m.bad);
        assert_ptr_equal(m.p, copy);
        assert_false(hu_protobuf_next(&m, &f));
        free(copy);
    }
}

static void repeated_numbers_come_alone_or_packed(void **state)
{
    const hu_protobuf_field one = {.number = 1, .wire = HU_WIRE_FIXED64, .value = 7};
    const hu_protobuf_field packed = {.number = 1, .wire = HU_WIRE_BYTES, .bytes = BYTES("\x01\x96\x01\x03")};
    const hu_protobuf_field fixed = {.number = 1, .wire = HU_WIRE_BYTES, .bytes = BYTES("\x05\0\0\0\0\0\0\0\x06\0\0")};
    uint64_t                out[3] = {0};

    (void)state;
    assert_int_equal(hu_protobuf_numbers(&one, true, out, 3), 1);
    assert_int_equal(out[0], 7);
    assert_int_equal(hu_protobuf_numbers(&one, true, out, 0), 0);
    assert_int_equal(hu_protobuf_numbers(&packed, false, out, 3), 3);
    assert_int_equal(out[1], 150);
    assert_int_equal(hu_protobuf_numbers(&packed, false, out, 2), 2);
    assert_int_equal(hu_protobuf_numbers(&fixed, true, out, 3), 1); /* the second one is cut */
    assert_int_equal(out[0], 5);
}

/* zlib's own form of 300 times "a", by Python. */
static void a_piece_unpacks_up_to_its_limit(void **state)
{
    static const char packed[] = "\x78\x9c\x4b\x4c\x1c\x05\xc4\x02\x00\xd8\xa8\x71\xad";
    const hu_str      whole = {packed, sizeof packed - 1};
    hu_arena         *arena = hu_arena_new();
    hu_unpacked       out = {0};

    (void)state;
    assert_int_equal(hu_unpack(HU_UNPACK_ZLIB, whole, 1000, arena, &out, NULL), 0);
    assert_int_equal(out.n, 300);
    assert_int_equal(out.at[299], 'a');
    assert_int_equal(hu_unpack(HU_UNPACK_ZLIB, whole, 1000, arena, &out, NULL), 0);
    assert_int_equal(out.n, 300); /* not behind what was there */
    for (size_t n = 0; n < whole.n; n++)
        assert_int_equal(hu_unpack(HU_UNPACK_ZLIB, (hu_str){packed, n}, 1000, arena, &out, NULL), HU_EFORMAT);
    assert_int_equal(hu_unpack(HU_UNPACK_ZSTD, whole, 1000, arena, &out, NULL), HU_EFORMAT);
    assert_int_equal(hu_unpack(HU_UNPACK_ZSTD, HU_STR(""), 1000, arena, &out, NULL), HU_EFORMAT);
    hu_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_wire_type_is_read),
        cmocka_unit_test(what_is_no_field_ends_the_message),
        cmocka_unit_test(repeated_numbers_come_alone_or_packed),
        cmocka_unit_test(a_piece_unpacks_up_to_its_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
