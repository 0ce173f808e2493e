/* SPDX-License-Identifier: Apache-2.0
 * test_payload.c - payloads by their schema: every type by hand, and schemas that lie. */
#include "protocol/format_payload.h"
#include "record/payload.h"
#include "testing.h"

#define BYTES(text) ((hu_str){(text), sizeof(text) - 1})

typedef struct {
    const char *texts[16];  /* strings 1, 2, ... */
    char        out[16384]; /* "name=value;" */
    size_t      n;
    uint32_t    values;
} session;

static bool get(void *context, uint32_t id, hu_str *text)
{
    session *s = context;

    if (id == 0 || id > HU_COUNT(s->texts) || !s->texts[id - 1])
        return false;
    *text = hu_str_of(s->texts[id - 1]);
    return true;
}

static void take(void *context, const hu_payload_value *v)
{
    session *s = context;
    char    *to = s->out + s->n;
    size_t   room = sizeof s->out - s->n;
    int      n = 0;

    s->values++;
    switch (v->kind) {
    case HU_VALUE_INT:
        n = snprintf(to, room, "%.*s=i%lld;", HU_FMT(v->name), (long long)v->i);
        break;
    case HU_VALUE_UINT:
        n = snprintf(to, room, "%.*s=u%llu;", HU_FMT(v->name), (unsigned long long)v->u);
        break;
    case HU_VALUE_DOUBLE:
        n = snprintf(to, room, "%.*s=d%g;", HU_FMT(v->name), v->d);
        break;
    case HU_VALUE_ADDRESS:
        n = snprintf(to, room, "%.*s=0x%llx;", HU_FMT(v->name), (unsigned long long)v->u);
        break;
    case HU_VALUE_TEXT:
        n = snprintf(to, room, "%.*s='%.*s';", HU_FMT(v->name), HU_FMT(v->text));
        break;
    }
    s->n += (size_t)n < room ? (size_t)n : 0;
}

static const char *decoded(session *s, uint32_t schema, hu_str bytes)
{
    const hu_payload_strings strings = {get, s};
    uint32_t                 said;

    s->n = s->values = 0;
    s->out[0] = '\0';
    said = hu_payload_decode(&strings, schema, bytes, take, s);
    assert_int_equal(said, s->values);
    return s->out;
}

static void fields_lie_where_c_puts_them(void **state)
{
    /* {int8 -1; (3 bytes of room) int32 7; double 0.5; uint16 9} without offsets */
    session s = {.texts = {"holdup-schema\t1\t24\t0\tx\n11\t0\t0\t0\ta\n15\t0\t0\t0\tb\n20\t0\t0\t0\tc\n14\t0\t0\t0\td\n",
                           "holdup-schema\t1\t24\t1\tx\n11\t0\t0\t0\ta\n15\t0\t0\t0\tb\n"}};

    (void)state;
    assert_string_equal(decoded(&s, 1, BYTES("\xff\0\0\0\x07\0\0\0\0\0\0\0\0\0\xe0\x3f\x09\0\0\0\0\0\0\0")),
                        "a=i-1;b=i7;c=d0.5;d=u9;");
    assert_string_equal(decoded(&s, 1, BYTES("\xff\0\0\0\x07\0\0\0")), "a=i-1;b=i7;");
    assert_string_equal(decoded(&s, 2, BYTES("\xff\x07\0\0\0")), "a=i-1;b=i7;"); /* packed */
    assert_string_equal(decoded(&s, 1, BYTES("")), "");
}

static void texts_enums_arrays_and_what_is_hidden(void **state)
{
    session s = {.texts = {"holdup-schema\t1\t0\t0\t\n80\t0\t0\t0\tname\n@2\t0\t0\t8\top\n@3\t0\t0\t12\tbits\n"
                           "75\t0\t4\t16\tfixed\n20\t16\t2\t24\tpair\n15\t512\t0\t40\thidden\n23\t0\t0\t48\tpointer\n",
                           "holdup-enum\t4\t\n0\t0\tsum\n7\t0\tmax\n", "holdup-enum\t4\t\n1\t1\tread\n2\t1\twrite\n",
                           "the text"}};

    (void)state;
    assert_string_equal(decoded(&s, 1,
                                BYTES("\x04\0\0\0\0\0\0\0\x07\0\0\0\x03\0\0\0ab\0c\0\0\0\0"
                                      "\0\0\0\0\0\0\xe0\x3f\0\0\0\0\0\0\xf0\xbf\x01\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0")),
                        "name='the text';op='max';bits='read|write';fixed='ab';pair='0.5, -1';pointer=0x10;");
    assert_string_equal(decoded(&s, 2, BYTES("\x05\0\0\0")), "payload=u5;");
    assert_string_equal(decoded(&s, 3, BYTES("\x04\0\0\0")), "payload=u4;");
}

static void nested_and_of_variable_length(void **state)
{
    session s = {.texts = {"holdup-schema\t1\t16\t0\t\n@2\t0\t0\t0\tfrom\n@2\t0\t0\t8\tto\n",
                           "holdup-schema\t1\t8\t0\t\n15\t0\t0\t0\trank\n15\t0\t0\t0\tnode\n",
                           "holdup-schema\t2\t0\t0\t\n16\t0\t0\t0\tn\n16\t48\t0\t0\titems\n11\t32\t0\t0\tend\n"}};

    (void)state;
    assert_string_equal(decoded(&s, 1, BYTES("\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0")),
                        "from.rank=i1;from.node=i2;to.rank=i3;to.node=i4;");
    assert_string_equal(decoded(&s, 3, BYTES("\x02\0\0\0\x05\0\0\0\x06\0\0\0\x01\x02\0")),
                        "n=u2;items='5, 6';end='1, 2, 0';");
    assert_string_equal(decoded(&s, 3, BYTES("\xff\xff\xff\xff\x05\0\0\0")), "n=u4294967295;");
}

static void scalars_without_a_schema(void **state)
{
    session s = {.texts = {"a registered text"}};

    (void)state;
    assert_string_equal(decoded(&s, HU_SCHEMA_SCALAR + HU_PAYLOAD_INT32, BYTES("\xfe\xff\xff\xff")), "payload=i-2;");
    assert_string_equal(decoded(&s, HU_SCHEMA_SCALAR + HU_PAYLOAD_FLOAT, BYTES("\0\0\xc0\x3f")), "payload=d1.5;");
    assert_string_equal(decoded(&s, HU_SCHEMA_SCALAR + HU_PAYLOAD_FLOAT16, BYTES("\0\xc1")), "payload=d-2.5;");
    assert_string_equal(decoded(&s, HU_SCHEMA_SCALAR + HU_PAYLOAD_BF16, BYTES("\xc0\x3f")), "payload=d1.5;");
    assert_string_equal(decoded(&s, HU_SCHEMA_SCALAR + HU_PAYLOAD_STRING_ID, BYTES("\x01\0\0\0\0\0\0\0")),
                        "payload='a registered text';");
    assert_string_equal(decoded(&s, HU_SCHEMA_SCALAR + HU_PAYLOAD_RAW, BYTES("\x01\xab")), "payload='01ab';");
    assert_string_equal(decoded(&s, HU_SCHEMA_SCALAR + HU_PAYLOAD_UINT16, BYTES("\x01\0\x02\0")), "payload='1, 2';");
    assert_string_equal(decoded(&s, HU_SCHEMA_SCALAR + 999, BYTES("\x01\0\x02\0")), "");
    assert_string_equal(decoded(&s, 99, BYTES("\x01\0\x02\0")), "");
    assert_string_equal(decoded(&s, 1, BYTES("\x01\0\x02\0")), "");
}

static void a_schema_spread_over_strings(void **state)
{
    session s = {
        .texts = {"holdup-schema\t1\t0\t0\t\n11\t0\t0\t0\ta\n@2\n", "11\t0\t0\t0\tb\n@3\n", "11\t0\t0\t0\tc\n@1\n"}};

    (void)state;
    assert_string_equal(decoded(&s, 1, BYTES("\x01\x02\x03")), "a=i1;b=i2;c=i3;"); /* its circle ends too */
}

static void schemas_that_never_end_are_cut(void **state)
{
    session s = {.texts = {"holdup-schema\t1\t8\t0\t\n@1\t0\t0\t0\tself\n@1\t0\t0\t0\tself\n",
                           "holdup-schema\t1\t1\t0\t\n@3\t16\t18446744073709551615\t0\ta\n@3\t16\t4000000000\t0\tb\n",
                           "holdup-schema\t1\t0\t0\t\n11\t16\t0\t0\tnothing\n",
                           "holdup-schema\t1\t0\t0\t\n20\t16\t18446744073709551615\t0\thuge\n",
                           "holdup-schema\t1\t0\t0\t\n20\t0\t0\t18446744073709551615\tfar\n",
                           "holdup-schema\t4\t8\t0\t\n20\t0\t0\t0\tmember\n"}};

    (void)state;
    assert_string_equal(decoded(&s, 1, BYTES("\x01\0\0\0\0\0\0\0")), "");
    (void)decoded(&s, 2, BYTES("\x01\0\0\0\0\0\0\0"));
    assert_true(s.values <= 256);
    assert_string_equal(decoded(&s, 4, BYTES("\x01\0\0\0\0\0\0\0")), "");
    assert_string_equal(decoded(&s, 5, BYTES("\x01\0\0\0\0\0\0\0")), "");
    assert_string_equal(decoded(&s, 6, BYTES("\x01\0\0\0\0\0\0\0")), "");
}

/* Bytes of good schemas, changed at random with a fixed seed: no crash, no value beyond the limit (sanitizers look on). */
static void damaged_schemas_are_bounded(void **state)
{
    static const char good[] =
        "holdup-schema\t1\t24\t0\tx\n@2\t16\t2\t0\ta\n15\t48\t0\t0\tb\n75\t32\t0\t0\tc\n@1\t0\t0\t8\td\n@3\n";
    static const char data[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    char              text[3][sizeof good];
    session           s = {0};
    uint32_t          seed = 12345;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        for (int i = 0; i < 3; i++) {
            memcpy(text[i], good, sizeof good);
            for (int k = 0; k < 4; k++) {
                seed = seed * 1664525u + 1013904223u;
                text[i][(seed >> 8) % (sizeof good - 1)] = "\t\n@0123456789"[(seed >> 20) % 13];
            }
            s.texts[i] = text[i];
        }
        (void)decoded(&s, 1, (hu_str){data, seed % sizeof data});
        assert_true(s.values <= 256);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_lie_where_c_puts_them),  cmocka_unit_test(texts_enums_arrays_and_what_is_hidden),
        cmocka_unit_test(nested_and_of_variable_length), cmocka_unit_test(scalars_without_a_schema),
        cmocka_unit_test(a_schema_spread_over_strings),  cmocka_unit_test(schemas_that_never_end_are_cut),
        cmocka_unit_test(damaged_schemas_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
