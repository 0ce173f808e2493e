/* SPDX-License-Identifier: Apache-2.0
 * pickle.c - the stack machine of Python's pickle module, without its imports and calls.
 *
 * Opcodes are those of CPython's Lib/pickletools.py.  Marks are kept as places of the value stack, the memo is a map, for a
 * program may name any number.  All sizes are checked against what is left of the input before anything is allocated, so
 * memory grows with the file and not with what it claims.
 */
#include "base/pickle.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/number.h"

typedef struct {
    const char      *file;
    const uint8_t   *start, *p, *end;
    const hu_limits *limits;
    hu_arena        *arena;
    hu_error        *err;
    HU_VEC(hu_value *) stack;
    HU_VEC(uint32_t) marks;
    HU_VEC(hu_value *) memo_values;
    hu_map   memo;     /* number -> place in memo_values */
    uint32_t memoized; /* what MEMOIZE counts */
    int64_t  n_values;
} machine;

static bool fail(machine *m, int code, const char *text)
{
    if (!m->err->code)
        hu_fail(m->err, code, m->file, (int64_t)(m->p - m->start), "%s", text);
    return false;
}

static bool no_memory(machine *m)
{
    if (!m->err->code)
        hu_fail_memory(m->err);
    return false;
}

static size_t left(const machine *m)
{
    return (size_t)(m->end - m->p);
}

/* Takes n bytes; NULL: the file ends before. */
static const uint8_t *take(machine *m, uint64_t n)
{
    const uint8_t *at = m->p;

    if (n > left(m)) {
        fail(m, HU_EFORMAT, "the pickle ends in the middle; copy the file again");
        return NULL;
    }
    m->p += n;
    return at;
}

/* A little-endian number of 1 to 8 bytes. */
static bool take_number(machine *m, int bytes, uint64_t *out)
{
    const uint8_t *p = take(m, (uint64_t)bytes);

    *out = 0;
    for (int i = 0; p && i < bytes; i++)
        *out |= (uint64_t)p[i] << (8 * i);
    return p != NULL;
}

/* The rest of the line, as protocol 0 writes values. */
static bool take_line(machine *m, hu_str *out)
{
    const uint8_t *newline = memchr(m->p, '\n', left(m));

    if (!newline)
        return take(m, left(m) + 1) != NULL;
    *out = (hu_str){(const char *)m->p, (size_t)(newline - m->p)};
    m->p = newline + 1;
    return true;
}

static bool push(machine *m, hu_value *v)
{
    return (v && hu_vec_push(m->arena, &m->stack, v)) || no_memory(m);
}

static hu_value *new_value(machine *m, hu_value_type type)
{
    hu_value *v;

    if (m->n_values++ >= m->limits->events) {
        fail(m, HU_ELIMIT, "more values than the limit; raise --limit events=N");
        return NULL;
    }
    if (m->n_values % 4096 == 0 && hu_arena_bytes(m->arena) > (size_t)m->limits->string_bytes) {
        fail(m, HU_ELIMIT, "the pickle takes more memory than the limit; raise --limit string_bytes=N");
        return NULL;
    }
    v = hu_arena_calloc(m->arena, 1, sizeof *v);
    if (v)
        v->type = type;
    else
        no_memory(m);
    return v;
}

static bool push_int(machine *m, hu_value_type type, int64_t integer)
{
    hu_value *v = new_value(m, type);

    if (v)
        v->integer = integer;
    return v && push(m, v);
}

static bool push_real(machine *m, double real)
{
    hu_value *v = new_value(m, HU_VALUE_REAL);

    if (v)
        v->real = real;
    return v && push(m, v);
}

static bool push_text(machine *m, hu_value_type type, int bytes_of_length)
{
    uint64_t       n;
    const uint8_t *p = take_number(m, bytes_of_length, &n) ? take(m, n) : NULL;
    hu_value      *v = p ? new_value(m, type) : NULL;

    if (v)
        v->text = (hu_str){(const char *)p, (size_t)n};
    return v && push(m, v);
}

static bool push_line(machine *m)
{
    hu_str    line;
    hu_value *v = take_line(m, &line) ? new_value(m, HU_VALUE_TEXT) : NULL;

    if (v && line.n >= 2 && (line.p[0] == '\'' || line.p[0] == '"'))
        line = (hu_str){line.p + 1, line.n - 2};
    if (v)
        v->text = line;
    return v && push(m, v);
}

/* INT and LONG of protocol 0: "I01\n" is True. */
static bool push_digits(machine *m)
{
    hu_str  line;
    int64_t integer;

    if (!take_line(m, &line))
        return false;
    if (line.n == 2 && line.p[0] == '0')
        return push_int(m, HU_VALUE_BOOL, line.p[1] == '1');
    if (line.n && line.p[line.n - 1] == 'L')
        line.n--;
    return hu_parse_i64(line, &integer) ? push_int(m, HU_VALUE_INT, integer)
                                        : fail(m, HU_EFORMAT, "the pickle has a number that is none");
}

/* Two's complement of any length; what does not fit is cut to the largest. */
static bool push_long(machine *m, int bytes_of_length)
{
    uint64_t       n, value = 0;
    const uint8_t *p = take_number(m, bytes_of_length, &n) ? take(m, n) : NULL;
    bool           negative;

    if (!p)
        return false;
    negative = n && p[n - 1] >> 7;
    for (uint64_t i = 8; i < n; i++)
        if (p[i] != (negative ? 0xff : 0))
            return push_int(m, HU_VALUE_INT, negative ? INT64_MIN : INT64_MAX);
    for (uint64_t i = 0; i < 8; i++)
        value |= (uint64_t)(i < n ? p[i] : negative ? 0xff : 0) << (8 * i);
    return push_int(m, HU_VALUE_INT, n > 8 && (int64_t)value < 0 && !negative ? INT64_MAX : (int64_t)value);
}

static bool push_double(machine *m)
{
    const uint8_t *p = take(m, 8);
    uint64_t       bits = 0;
    double         real;

    for (int i = 0; p && i < 8; i++)
        bits = bits << 8 | p[i];
    memcpy(&real, &bits, sizeof real);
    return p && push_real(m, real);
}

static bool push_real_line(machine *m)
{
    hu_str line;
    double real;

    if (!take_line(m, &line))
        return false;
    return hu_parse_f64(line, &real) ? push_real(m, real) : fail(m, HU_EFORMAT, "the pickle has a number that is none");
}

static hu_value *top(machine *m, size_t below)
{
    if (m->stack.n <= below || (m->marks.n && m->stack.n - below <= m->marks.at[m->marks.n - 1])) {
        fail(m, HU_EFORMAT, "the pickle takes more values than it made");
        return NULL;
    }
    return m->stack.at[m->stack.n - 1 - below];
}

static bool pop_mark(machine *m, uint32_t *place)
{
    if (m->marks.n == 0)
        return fail(m, HU_EFORMAT, "the pickle ends a group that it did not begin");
    *place = m->marks.at[--m->marks.n];
    return true;
}

/* Moves what stands from a place of the stack on to the end of a container.  Room doubles, so that adding is linear. */
static bool append_from(machine *m, hu_value *to, uint32_t place)
{
    const size_t add = m->stack.n - place, n = to->n + add;
    size_t       room = to->n ? 4 : 0;

    if (n > UINT32_MAX / 4)
        return fail(m, HU_ELIMIT, "the pickle has a list that is too long");
    while (room && room < to->n)
        room *= 2;
    if (n > room) {
        size_t           wanted = 4;
        const hu_value **items;

        while (wanted < n)
            wanted *= 2;
        items = hu_arena_grow(m->arena, to->n ? (void *)to->items : NULL, wanted * sizeof *items);
        if (!items)
            return no_memory(m);
        to->items = items;
    }
    for (size_t i = 0; i < add; i++)
        to->items[to->n + i] = m->stack.at[place + i];
    to->n = (uint32_t)n;
    m->stack.n = place;
    return true;
}

/* APPENDS, SETITEMS, ADDITEMS and their single forms: the container is the value below what is added. */
static bool add_items(machine *m, uint32_t place, hu_value_type type)
{
    hu_value *to = place && place <= m->stack.n ? m->stack.at[place - 1] : NULL;

    if (!to || to->type != type || (type == HU_VALUE_DICT && (m->stack.n - place) % 2))
        return fail(m, HU_EFORMAT, "the pickle adds to something that takes no such items");
    return append_from(m, to, place);
}

static bool make_container(machine *m, hu_value_type type, uint32_t place)
{
    hu_value *v = new_value(m, type);

    if (!v || place > m->stack.n)
        return v && fail(m, HU_EFORMAT, "the pickle takes more values than it made");
    if (type == HU_VALUE_DICT && (m->stack.n - place) % 2)
        return fail(m, HU_EFORMAT, "the pickle has a key without a value");
    return append_from(m, v, place) && push(m, v);
}

/* The last n values as a tuple. */
static bool make_tuple(machine *m, uint32_t n)
{
    return top(m, n - 1) && make_container(m, HU_VALUE_LIST, (uint32_t)m->stack.n - n);
}

static bool remember(machine *m, uint64_t number)
{
    hu_value *v = top(m, 0);
    uint32_t *place = v ? hu_map_put(&m->memo, number) : NULL;

    if (!v)
        return false;
    if (!place || !hu_vec_push(m->arena, &m->memo_values, v))
        return no_memory(m);
    *place = (uint32_t)m->memo_values.n - 1;
    m->memoized++;
    return true;
}

static bool recall(machine *m, uint64_t number)
{
    const uint32_t place = hu_map_get(&m->memo, number);

    if (place == HU_MAP_NONE)
        return fail(m, HU_EFORMAT, "the pickle recalls a value that it did not keep");
    return push(m, m->memo_values.at[place]);
}

static bool number_line(machine *m, uint64_t *out)
{
    hu_str line;

    return take_line(m, &line) && (hu_parse_u64(line, out) || fail(m, HU_EFORMAT, "the pickle has a number that is none"));
}

/* What is data in no pickle: it would run somebody's code. */
static bool refuse(machine *m, const char *what, hu_str module, hu_str name)
{
    m->p--;
    if (!m->err->code)
        hu_fail(m->err, HU_EFORMAT, m->file, (int64_t)(m->p - m->start),
                "the pickle asks to %s%s%.60s%s%.60s: it is more than data, and holdup runs nothing", what,
                module.n ? " " : "", module.n ? module.p : "", name.n ? "." : "", name.n ? name.p : "");
    return false;
}

static bool refuse_global(machine *m)
{
    hu_str module, name;
    char   a[61], b[61];

    if (!take_line(m, &module) || !take_line(m, &name))
        return false;
    snprintf(a, sizeof a, "%.*s", (int)(module.n < 60 ? module.n : 60), module.p);
    snprintf(b, sizeof b, "%.*s", (int)(name.n < 60 ? name.n : 60), name.p);
    return refuse(m, "import", hu_str_of(a), hu_str_of(b));
}

static bool refuse_stack_global(machine *m)
{
    const hu_str module = m->stack.n > 1 ? hu_value_text(m->stack.at[m->stack.n - 2]) : HU_STR("");
    const hu_str name = m->stack.n > 1 ? hu_value_text(m->stack.at[m->stack.n - 1]) : HU_STR("");
    char         a[61], b[61];

    snprintf(a, sizeof a, "%.*s", (int)(module.n < 60 ? module.n : 60), module.p ? module.p : "");
    snprintf(b, sizeof b, "%.*s", (int)(name.n < 60 ? name.n : 60), name.p ? name.p : "");
    return refuse(m, "import", hu_str_of(a), hu_str_of(b));
}

/* One instruction; false: it failed, or was the last one, and then *done. */
static bool step(machine *m, bool *done)
{
    const uint8_t *op = take(m, 1);
    uint64_t       n;
    uint32_t       place;

    if (!op)
        return false;
    switch (*op) {
    case 0x80: /* PROTO */
        return take_number(m, 1, &n) && (n <= 5 || fail(m, HU_EFORMAT, "a pickle of a protocol that is not known"));
    case 0x95: /* FRAME: a hint of how much to read at once */
        return take_number(m, 8, &n);
    case '.':
        *done = true;
        return true;
    case 'N':
        return push_int(m, HU_VALUE_NONE, 0);
    case 0x88:
    case 0x89:
        return push_int(m, HU_VALUE_BOOL, *op == 0x88);
    case 'K':
        return take_number(m, 1, &n) && push_int(m, HU_VALUE_INT, (int64_t)n);
    case 'M':
        return take_number(m, 2, &n) && push_int(m, HU_VALUE_INT, (int64_t)n);
    case 'J':
        return take_number(m, 4, &n) && push_int(m, HU_VALUE_INT, (int32_t)(uint32_t)n);
    case 'I':
    case 'L':
        return push_digits(m);
    case 0x8a:
        return push_long(m, 1);
    case 0x8b:
        return push_long(m, 4);
    case 'G':
        return push_double(m);
    case 'F':
        return push_real_line(m);
    case 0x8c:
        return push_text(m, HU_VALUE_TEXT, 1);
    case 'X':
        return push_text(m, HU_VALUE_TEXT, 4);
    case 0x8d:
        return push_text(m, HU_VALUE_TEXT, 8);
    case 'U': /* SHORT_BINSTRING, BINSTRING: texts of Python 2 */
        return push_text(m, HU_VALUE_TEXT, 1);
    case 'T':
        return push_text(m, HU_VALUE_TEXT, 4);
    case 'S':
    case 'V':
        return push_line(m);
    case 'C':
        return push_text(m, HU_VALUE_BYTES, 1);
    case 'B':
        return push_text(m, HU_VALUE_BYTES, 4);
    case 0x8e:
    case 0x96:
        return push_text(m, HU_VALUE_BYTES, 8);
    case '(':
        return hu_vec_push(m->arena, &m->marks, (uint32_t)m->stack.n) || no_memory(m);
    case ']':
    case ')':
    case 0x8f:
        return make_container(m, HU_VALUE_LIST, (uint32_t)m->stack.n);
    case '}':
        return make_container(m, HU_VALUE_DICT, (uint32_t)m->stack.n);
    case 'l':
    case 't':
    case 0x91: /* FROZENSET */
        return pop_mark(m, &place) && make_container(m, HU_VALUE_LIST, place);
    case 'd':
        return pop_mark(m, &place) && make_container(m, HU_VALUE_DICT, place);
    case 0x85:
    case 0x86:
    case 0x87:
        return make_tuple(m, *op - 0x84u);
    case 'a':
        return top(m, 1) && add_items(m, (uint32_t)m->stack.n - 1, HU_VALUE_LIST);
    case 'e':
    case 0x90: /* ADDITEMS */
        return pop_mark(m, &place) && add_items(m, place, HU_VALUE_LIST);
    case 's':
        return top(m, 2) && add_items(m, (uint32_t)m->stack.n - 2, HU_VALUE_DICT);
    case 'u':
        return pop_mark(m, &place) && add_items(m, place, HU_VALUE_DICT);
    case '0':
        if (m->marks.n && m->marks.at[m->marks.n - 1] == m->stack.n)
            m->marks.n--;
        else if (top(m, 0))
            m->stack.n--;
        return !m->err->code;
    case '1':
        if (!pop_mark(m, &place))
            return false;
        m->stack.n = place;
        return true;
    case '2':
        return top(m, 0) && push(m, m->stack.at[m->stack.n - 1]);
    case 0x94:
        return remember(m, m->memoized);
    case 'q':
        return take_number(m, 1, &n) && remember(m, n);
    case 'r':
        return take_number(m, 4, &n) && remember(m, n);
    case 'p':
        return number_line(m, &n) && remember(m, n);
    case 'h':
        return take_number(m, 1, &n) && recall(m, n);
    case 'j':
        return take_number(m, 4, &n) && recall(m, n);
    case 'g':
        return number_line(m, &n) && recall(m, n);
    case 'c':
    case 'i':
        return refuse_global(m);
    case 0x93:
        return refuse_stack_global(m);
    case 'R':
    case 'o':
    case 0x81:
    case 0x92:
        return refuse(m, "call something", HU_STR(""), HU_STR(""));
    case 'b':
        return refuse(m, "set the state of an object", HU_STR(""), HU_STR(""));
    case 'P':
    case 'Q':
    case 0x82:
    case 0x83:
    case 0x84:
    case 0x97:
    case 0x98:
        return refuse(m, "load something from elsewhere", HU_STR(""), HU_STR(""));
    default:
        m->p--;
        return fail(m, HU_EFORMAT, "no pickle, or a damaged one: an instruction that does not exist");
    }
}

const hu_value *hu_pickle_read(hu_str bytes, const char *file, const hu_limits *limits, hu_arena *arena, hu_error *err)
{
    const uint8_t *p = (const uint8_t *)bytes.p;
    machine        m = {.file = file, .start = p, .p = p, .end = p + bytes.n, .limits = limits, .arena = arena, .err = err};
    bool           done = false;

    *err = (hu_error){0};
    if (!hu_map_init(&m.memo, arena, 1024)) {
        hu_fail_memory(err);
        return NULL;
    }
    while (!done)
        if (!step(&m, &done))
            return NULL;
    return top(&m, 0);
}

const hu_value *hu_value_get(const hu_value *dict, const char *key)
{
    const hu_str wanted = hu_str_of(key);

    if (!dict || dict->type != HU_VALUE_DICT)
        return NULL;
    for (uint32_t i = dict->n; i >= 2; i -= 2)
        if (dict->items[i - 2]->type == HU_VALUE_TEXT && hu_str_equal(dict->items[i - 2]->text, wanted))
            return dict->items[i - 1];
    return NULL;
}

const hu_value *hu_value_at(const hu_value *list, size_t i)
{
    return list && list->type == HU_VALUE_LIST && i < list->n ? list->items[i] : NULL;
}

size_t hu_value_count(const hu_value *list)
{
    return list && list->type == HU_VALUE_LIST ? list->n : 0;
}

int64_t hu_value_int(const hu_value *v, int64_t absent)
{
    if (v && (v->type == HU_VALUE_INT || v->type == HU_VALUE_BOOL))
        return v->integer;
    if (v && v->type == HU_VALUE_REAL && v->real > -9e18 && v->real < 9e18)
        return (int64_t)v->real;
    return absent;
}

hu_str hu_value_text(const hu_value *v)
{
    return v && v->type == HU_VALUE_TEXT ? v->text : HU_STR("");
}
