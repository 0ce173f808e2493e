/* SPDX-License-Identifier: Apache-2.0
 * nccl_lines.c - "host:pid:tid [device] NCCL INFO Channel 00 : 11[8a000] -> 10[8a000] [send] via NET/IB/3/GDRDMA". */
#include "ingest/nccl_lines.h"

#include <ctype.h>

#include "base/number.h"

enum { MOST_WORDS = 64 }; /* different hosts, settings, warnings */
enum { MOST_TEXT = 160 };

/* What stands behind a text in the line; n is 0 where it is not there. */
static hu_str behind(hu_str line, const char *text)
{
    const size_t n = strlen(text);
    const char  *at = line.n >= n ? memmem(line.p, line.n, text, n) : NULL;

    return at ? (hu_str){at + n, (size_t)(line.p + line.n - at) - n} : (hu_str){line.p, 0};
}

static bool has(hu_str line, const char *text)
{
    return hu_str_has(line, hu_str_of(text));
}

/* One more of that text. */
static bool count(hu_str text, uint64_t number, hu_arena *arena, hu_log_list *w)
{
    text.n = text.n > MOST_TEXT ? MOST_TEXT : text.n;
    for (size_t i = 0; i < w->n; i++)
        if (hu_str_equal(w->at[i].text, text)) {
            w->at[i].n++;
            return true;
        }
    if (w->n == MOST_WORDS)
        return true;
    text = hu_arena_copy(arena, text);
    return text.p && hu_vec_push(arena, w, ((hu_log_words){text, 1, number}));
}

/* Digits and dots from *at on, moved behind them. */
static bool is_number_at(hu_str text, size_t *at)
{
    const size_t from = *at;

    while (*at < text.n && (isdigit((unsigned char)text.p[*at]) || text.p[*at] == '.'))
        ++*at;
    return *at > from;
}

/* Numbers of a row of a test that stand before a line, "-1node7:" and "40.24node7:": there is no telling where it begins. */
static bool is_glued(hu_str before, hu_str word)
{
    size_t n = 0;

    for (size_t i = 0; i < before.n; i++)
        if ((i == 0 || isspace((unsigned char)before.p[i - 1])) && is_number_at(before, &i) && i < before.n &&
            isspace((unsigned char)before.p[i]))
            return true;
    return word.n == 0 || word.p[0] == '-' ||
           (is_number_at(word, &n) && memchr(word.p, '.', n) && n < word.n && isalpha((unsigned char)word.p[n]));
}

/* "r6i4n5" of "r6i4n5:41698:41698 [3] NCCL INFO". */
static hu_str host_of(hu_str line, hu_str rest)
{
    const size_t n = (size_t)(rest.p - line.p);
    size_t       from, end;
    const char  *bracket = n ? memrchr(line.p, '[', n) : NULL;

    if (!bracket)
        return (hu_str){0};
    end = (size_t)(bracket - line.p);
    while (end && line.p[end - 1] == ' ')
        end--;
    for (from = end; from && !isspace((unsigned char)line.p[from - 1]); from--)
        continue;
    for (size_t i = from; i < end; i++)
        if (line.p[i] == ':') {
            const hu_str host = {line.p + from, i - from};

            return is_glued((hu_str){line.p, from}, host) ? (hu_str){0} : host;
        }
    return (hu_str){0};
}

static bool count_transport(hu_str rest, hu_str host, uint64_t number, hu_arena *arena, hu_log_nccl *out)
{
    const hu_str via = behind(rest, " via ");
    const bool   is_direct = has(via, "GDRDMA");

    if (!via.n)
        return true;
    if (hu_str_starts_with(via, "P2P"))
        out->n_p2p++;
    else if (hu_str_starts_with(via, "SHM") || hu_str_starts_with(via, "direct shared memory"))
        out->n_shm++;
    else if (hu_str_starts_with(via, "NET/Socket"))
        out->n_socket++;
    else if (hu_str_starts_with(via, "NET/IB"))
        *(is_direct ? &out->n_ib_direct : &out->n_ib) += 1;
    else
        out->n_other++;
    if (!host.n || !hu_str_starts_with(via, "NET/IB"))
        return true;
    return count(host, number, arena, is_direct ? &out->direct_hosts : &out->indirect_hosts);
}

static int64_t number_of(hu_str text)
{
    int64_t value = 0;
    size_t  n = 0;

    while (n < text.n && n < 18 && isdigit((unsigned char)text.p[n]))
        value = 10 * value + (text.p[n++] - '0');
    return value;
}

static hu_str first_word(hu_str text)
{
    size_t n = 0;

    while (n < text.n && !isspace((unsigned char)text.p[n]))
        n++;
    return (hu_str){text.p, n};
}

/* "=== System : maxBw 240.0 totalBw 240.0 ===": of the links of one GPU to the others of its node, 1e9 bytes per second. */
static void read_system(hu_str rest, hu_log_nccl *out)
{
    hu_str number = behind(rest, "=== System : maxBw ");
    double gbps;

    number = number.n ? first_word(behind(number, "totalBw ")) : number;
    if (number.n && hu_parse_f64(number, &gbps) && gbps > 0 && gbps < 1e5 &&
        (out->local_gbps <= 0 || gbps < out->local_gbps))
        out->local_gbps = gbps;
}

/* "NET/IB: [1] mlx5_1:uverbs1:1/RoCE provider=Mlx5 speed=100000 context=…": megabits per second of a port. */
static void read_port(hu_str rest, hu_log_nccl *out)
{
    const hu_str number = behind(rest, "NET/IB: ["), speed = first_word(behind(number, " speed="));
    int64_t      port;
    double       mbps;

    if (!number.n || !speed.n || !isdigit((unsigned char)number.p[0]))
        return;
    port = number_of(number);
    if (port < HU_LOG_NICS && hu_parse_f64(speed, &mbps) && mbps > 0 && mbps < 1e8)
        out->nic_mbps[port] = mbps;
}

static bool read_info(hu_str rest, hu_str host, uint64_t number, hu_arena *arena, hu_log_nccl *out)
{
    const hu_str devices = behind(rest, "NET/IB : Using "), ranks = behind(rest, " nranks ");

    if (!count_transport(rest, host, number, arena, out))
        return false;
    if (ranks.n && number_of(ranks) > out->ranks)
        out->ranks = number_of(ranks);
    out->n_no_ib += has(rest, "NET/IB : No device found");
    read_system(rest, out);
    read_port(rest, out);
    if (devices.n && !out->ib_devices.n) {
        const char  *oob = memmem(devices.p, devices.n, "; OOB", 5);
        const hu_str list = {devices.p, oob ? (size_t)(oob - devices.p) : devices.n};

        out->ib_devices = hu_arena_copy(arena, hu_str_trim(list));
        if (!out->ib_devices.p)
            return false;
    }
    if (has(rest, " set by environment to ") || has(rest, " set to "))
        return count(rest, number, arena, &out->settings);
    return true;
}

bool hu_nccl_line(hu_str line, uint64_t number, hu_arena *arena, hu_log_nccl *out)
{
    hu_str version, rest, host;

    if (line.n < 9 || !hu_str_has(line, HU_STR("NCCL ")))
        return true;
    version = behind(line, "NCCL version ");
    if (version.n && !out->version.n && isdigit((unsigned char)version.p[0])) {
        out->version = hu_arena_copy(arena, first_word(version));
        out->n_lines++;
        return out->version.p != NULL;
    }
    rest = behind(line, "NCCL INFO ");
    if (!rest.n && (rest = behind(line, "NCCL WARN ")).n) {
        out->n_lines++;
        return count(rest, number, arena, &out->warnings);
    }
    if (!rest.n)
        return true;
    out->n_lines++;
    host = host_of(line, rest);
    return (!host.n || count(host, number, arena, &out->hosts)) && read_info(rest, host, number, arena, out);
}
