/* SPDX-License-Identifier: Apache-2.0
 * amd_smi.c - one table of names for both tools, JSON and CSV.
 *
 * rocm-smi writes {"card0": {"GPU use (%)": "12", …}, …}; amd-smi {"gpu_data": [{"gpu": 0, "usage": {"gfx_activity":
 * {"value": 12, "unit": "%"}}, "clock": {"gfx_0": {"clk": {…}}}}, …]}, or that list alone.  In CSV the second is a column
 * gfx_0_clk; so are its members named here.  A file of `-w` or of a loop holds one answer behind another.
 */
#include "ingest/amd_smi.h"

#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "base/number.h"
#include "ingest/node_time.h"

enum { MIB = 1 << 20, PROBED = 4096, NAME_BYTES = 96 };

typedef enum { NUMBER, UUID, NAME, BUS, FACT, COUNT, QUANTITY } meaning;

static const struct {
    const char *name;
    meaning     is;
    uint32_t    which;
    double      factor;
} known[] = {
    {"device", NUMBER, 0, 0},
    {"Unique ID", UUID, 0, 0},
    {"Card series", NAME, 0, 0},
    {"Card Series", NAME, 0, 0},
    {"PCI Bus", BUS, 0, 0},
    {"GPU use (%)", QUANTITY, HU_GAUGE_BUSY, 1},
    {"GPU memory use (%)", QUANTITY, HU_GAUGE_MEMORY_BUSY, 1},
    {"GPU Memory Read/Write Activity (%)", QUANTITY, HU_GAUGE_MEMORY_BUSY, 1},
    {"Average Graphics Package Power (W)", QUANTITY, HU_GAUGE_POWER, 1},
    {"Current Socket Graphics Package Power (W)", QUANTITY, HU_GAUGE_POWER, 1},
    {"Max Graphics Package Power (W)", FACT, HU_NODE_LIMIT_WATTS, 1},
    {"Temperature (Sensor edge) (C)", QUANTITY, HU_GAUGE_TEMPERATURE, 1},
    {"Temperature (Sensor junction) (C)", QUANTITY, HU_GAUGE_TEMPERATURE, 1},
    {"sclk clock speed:", QUANTITY, HU_GAUGE_SM_CLOCK, 1},
    {"mclk clock speed:", QUANTITY, HU_GAUGE_MEMORY_CLOCK, 1},
    {"VRAM Total Used Memory (B)", QUANTITY, HU_GAUGE_MEMORY, 1},
    {"VRAM Total Memory (B)", FACT, HU_NODE_MEMORY_BYTES, 1},
    {"PCIe Replay Count", COUNT, HU_NODE_PCIE_REPLAYS, 1},
    {"gfx_activity", QUANTITY, HU_GAUGE_BUSY, 1},
    {"umc_activity", QUANTITY, HU_GAUGE_MEMORY_BUSY, 1},
    {"socket_power", QUANTITY, HU_GAUGE_POWER, 1},
    {"average_socket_power", QUANTITY, HU_GAUGE_POWER, 1},
    {"current_socket_power", QUANTITY, HU_GAUGE_POWER, 1},
    {"gfx_0_clk", QUANTITY, HU_GAUGE_SM_CLOCK, 1},
    {"gfx_0_max_clk", FACT, HU_NODE_MOST_SM_MHZ, 1},
    {"mem_0_clk", QUANTITY, HU_GAUGE_MEMORY_CLOCK, 1},
    {"mem_0_max_clk", FACT, HU_NODE_MOST_MEMORY_MHZ, 1},
    {"edge", QUANTITY, HU_GAUGE_TEMPERATURE, 1},
    {"hotspot", QUANTITY, HU_GAUGE_TEMPERATURE, 1},
    {"used_vram", QUANTITY, HU_GAUGE_MEMORY, MIB},
    {"total_vram", FACT, HU_NODE_MEMORY_BYTES, MIB},
    {"replay_count", COUNT, HU_NODE_PCIE_REPLAYS, 1},
    {"total_correctable_count", COUNT, HU_NODE_ECC_CORRECTED, 1},
    {"total_uncorrectable_count", COUNT, HU_NODE_ECC_UNCORRECTED, 1},
};
_Static_assert(HU_COUNT(known) < HU_AMD_NAMES, "a number that is no name");

size_t hu_amd_name_find(hu_str name)
{
    for (size_t i = 0; i < HU_COUNT(known); i++)
        if (hu_str_equal(name, hu_str_of(known[i].name)))
            return i;
    return HU_AMD_NAMES;
}

bool hu_amd_name_is_place(size_t name)
{
    return known[name].is == NUMBER || known[name].is == UUID;
}

bool hu_amd_name_is_quantity(size_t name)
{
    return known[name].is == QUANTITY && !hu_str_equal(hu_str_of(known[name].name), HU_STR("edge")) &&
           !hu_str_equal(hu_str_of(known[name].name), HU_STR("hotspot"));
}

/* "card3" is 3. */
static int64_t card_number(hu_str text)
{
    int64_t number;

    return hu_str_starts(text, HU_STR("card")) && hu_parse_i64((hu_str){text.p + 4, text.n - 4}, &number) ? number : -1;
}

/* Of two temperatures, and of two kinds of power, the first that is there counts. */
void hu_amd_name_take(hu_node_row *w, size_t name, hu_str value)
{
    const uint32_t which = known[name].which;
    double         number;

    w->is_amd = true;
    switch (known[name].is) {
    case NUMBER:
        w->who.number = card_number(value);
        return;
    case UUID:
        w->who.uuid = value;
        return;
    case NAME:
        w->who.name = value;
        return;
    case BUS:
        w->who.bus = value;
        return;
    case FACT:
    case COUNT:
    case QUANTITY:
        break;
    }
    if (value.n && value.p[0] == '(') /* "(300Mhz)" */
        value = (hu_str){value.p + 1, value.n - 1};
    if (!hu_node_number(value, &number))
        return;
    if (known[name].is == FACT)
        w->facts[which] = number * known[name].factor;
    else if (known[name].is == COUNT)
        w->counts[which] = number * known[name].factor;
    else if (isnan(w->values[which]))
        w->values[which] = number * known[name].factor;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

bool hu_amd_smi_probe(hu_str head)
{
    head.n = head.n < PROBED ? head.n : PROBED;
    while (head.n && strchr(" \t\r\n", head.p[0]))
        head = (hu_str){head.p + 1, head.n - 1};
    if (head.n == 0 || (head.p[0] != '{' && head.p[0] != '['))
        return false;
    if (hu_str_has(head, HU_STR("\"gfx_activity\"")) || hu_str_has(head, HU_STR("\"socket_power\"")))
        return hu_str_has(head, HU_STR("\"gpu\""));
    return head.p[0] == '{' && hu_str_has(head, HU_STR("\"card")) &&
           (hu_str_has(head, HU_STR("(Sensor ")) || hu_str_has(head, HU_STR("\"GPU use (%)\"")) ||
            hu_str_has(head, HU_STR("Package Power (W)\"")) || hu_str_has(head, HU_STR("\"VRAM Total ")));
}

/* A number, a text, or {"value": …, "unit": …}. */
static hu_str text_of(hu_node_sink *s, hu_str value)
{
    const hu_str inner = value.n && value.p[0] == '{' ? hu_json_get(value, HU_STR("value")) : value;

    return inner.n && inner.p[0] != '{' && inner.p[0] != '[' ? hu_json_text(s->log->arena, inner) : HU_STR("");
}

static void take_member(hu_node_sink *s, hu_node_row *row, hu_str name, hu_str value)
{
    const size_t at = hu_amd_name_find(name);

    if (at != HU_AMD_NAMES)
        hu_amd_name_take(row, at, text_of(s, value));
}

/* "gfx_0": {"clk": …} is gfx_0_clk. */
static void take_inner(hu_node_sink *s, hu_node_row *row, hu_str outer, hu_str object)
{
    hu_json j = hu_json_enter(object);
    hu_str  key, value;

    while (hu_json_member(&j, &key, &value)) {
        char      name[NAME_BYTES];
        const int n = snprintf(name, sizeof name, "%.*s_%.*s", HU_FMT(outer), HU_FMT(key));

        if (n > 0 && (size_t)n < sizeof name)
            take_member(s, row, (hu_str){name, (size_t)n}, value);
    }
}

/* A GPU of amd-smi: parts, each with members. */
static bool read_gpu(hu_node_sink *s, hu_str object)
{
    hu_node_row row = hu_node_row_new();
    hu_json     j = hu_json_enter(object), inner;
    hu_str      key, value, name, member;

    while (hu_json_member(&j, &key, &value)) {
        if (hu_str_equal(key, HU_STR("gpu")))
            (void)hu_parse_i64(value, &row.who.number);
        else if (hu_str_equal(key, HU_STR("timestamp")))
            row.ns = hu_node_time(text_of(s, value));
        if (value.n == 0 || value.p[0] != '{')
            continue;
        inner = hu_json_enter(value);
        while (hu_json_member(&inner, &name, &member)) {
            take_member(s, &row, name, member);
            if (member.n && member.p[0] == '{')
                take_inner(s, &row, name, member);
        }
    }
    return hu_node_put_row(s, &row);
}

static bool read_card(hu_node_sink *s, hu_str card, hu_str object)
{
    hu_node_row row = hu_node_row_new();
    hu_json     j = hu_json_enter(object);
    hu_str      key, value;

    while (hu_json_member(&j, &key, &value))
        take_member(s, &row, key, value);
    row.who.number = card_number(card);
    return row.who.number >= 0 && hu_node_put_row(s, &row);
}

/* One answer of either tool. */
static void read_answer(hu_node_sink *s, hu_str all)
{
    hu_str  list = all.p[0] == '[' ? all : hu_json_get(all, HU_STR("gpu_data")), key, value;
    hu_json j;

    hu_node_next_moment(s);
    if (list.p) {
        j = hu_json_enter(list);
        while (hu_json_element(&j, &value))
            (void)read_gpu(s, value);
        return;
    }
    j = hu_json_enter(all);
    while (hu_json_member(&j, &key, &value))
        (void)read_card(s, key, value);
}

/* Where the value that begins with a bracket ends; 0: it does not. */
static size_t length_of(hu_str text)
{
    size_t depth = 0;
    bool   is_text = false;

    for (size_t i = 0; i < text.n; i++) {
        const char c = text.p[i];

        if (is_text) {
            i += c == '\\';
            is_text = c != '"';
        } else if (c == '"') {
            is_text = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

int hu_amd_smi_read(hu_node_sink *s, hu_input *in, hu_error *err)
{
    hu_str    text;
    hu_arena *whole = hu_arena_new();
    int       rc = whole ? hu_input_read_whole(in, whole, &text, err) : hu_fail_memory(err);
    size_t    at = 0;

    while (rc == 0 && at < text.n) {
        size_t n;

        if (text.p[at] != '{' && text.p[at] != '[') { /* between two answers */
            at++;
            continue;
        }
        n = length_of((hu_str){text.p + at, text.n - at});
        if (n == 0)
            rc = hu_fail(err, HU_EFORMAT, hu_input_name(in), (int64_t)at,
                         "this answer of amd-smi or rocm-smi ends early; ask for it again");
        else
            read_answer(s, (hu_str){text.p + at, n});
        at += n;
    }
    hu_arena_free(whole);
    return rc;
}
