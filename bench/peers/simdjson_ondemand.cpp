// SPDX-License-Identifier: Apache-2.0
// Measures simdjson On-Demand taking ph, cat, name, ts, dur, pid, tid, args.correlation and args.stream of every event
// into columns, strings interned and times as exact int64 ns.  Does not measure any analysis; the file is held whole.
#include <simdjson.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#define SIMDJSON_NAME_OF(x) #x
#define SIMDJSON_NAME(x) SIMDJSON_NAME_OF(x)

namespace od = simdjson::ondemand;

namespace {

constexpr int64_t absent = INT64_MIN;

// A string to a small number; open addressing, 64-bit hash kept beside the id.  Id 0 is the empty string.
class Interner {
public:
    Interner() : slots_(1 << 12)
    {
        id("");
    }

    uint32_t id(std::string_view text)
    {
        const uint64_t h = hash(text);
        size_t i = h & (slots_.size() - 1);

        for (; slots_[i].id; i = (i + 1) & (slots_.size() - 1))
            if (slots_[i].hash == h && texts_[slots_[i].id - 1] == text)
                return slots_[i].id - 1;
        texts_.emplace_back(text);
        slots_[i] = {h, uint32_t(texts_.size())};
        if (texts_.size() * 2 > slots_.size())
            grow();
        return uint32_t(texts_.size() - 1);
    }

    const std::deque<std::string> &texts() const { return texts_; }

private:
    struct Slot {
        uint64_t hash = 0;
        uint32_t id = 0; // one more than the number, 0 is free
    };

    static uint64_t hash(std::string_view text)
    {
        constexpr uint64_t k = 0x9e3779b97f4a7c15u;
        uint64_t h = text.size() * k, v;
        const char *p = text.data();
        size_t n = text.size();

        for (; n >= 8; n -= 8, p += 8) {
            std::memcpy(&v, p, 8);
            h = (h ^ v) * k;
            h ^= h >> 32;
        }
        v = 0;
        std::memcpy(&v, p, n);
        h = (h ^ v) * k;
        return h ^ (h >> 29);
    }

    void grow()
    {
        std::vector<Slot> wider(slots_.size() * 2);

        for (const Slot &s : slots_) {
            size_t i = s.hash & (wider.size() - 1);

            if (!s.id)
                continue;
            while (wider[i].id)
                i = (i + 1) & (wider.size() - 1);
            wider[i] = s;
        }
        slots_.swap(wider);
    }

    std::vector<Slot> slots_;
    std::deque<std::string> texts_;
};

struct Columns {
    std::vector<uint8_t> ph;
    std::vector<uint32_t> cat, name;
    std::vector<int64_t> ts, dur, pid, tid, correlation, stream;
};

struct Event {
    uint8_t ph = 0;
    uint32_t cat = 0, name = 0;
    int64_t ts = absent, dur = absent, pid = absent, tid = absent, correlation = absent, stream = absent;
};

// Microseconds as text to nanoseconds, exactly; digits behind the third decimal round half away from zero.
int64_t nanoseconds(std::string_view text)
{
    const char *p = text.data(), *end = p + text.size();
    const bool negative = p < end && *p == '-';
    int64_t value = 0;

    for (p += negative; p < end && unsigned(*p - '0') < 10; p++)
        value = value * 10 + (*p - '0');
    value *= 1000;
    if (p < end && *p == '.') {
        int64_t unit = 100;

        for (p++; p < end && unsigned(*p - '0') < 10; p++, unit /= 10) {
            if (unit == 0) {
                value += *p >= '5';
                break;
            }
            value += unit * (*p - '0');
        }
    }
    if (p < end && (*p == 'e' || *p == 'E'))
        return int64_t(std::strtod(std::string(text).c_str(), nullptr) * 1000);
    return negative ? -value : value;
}

// A number as it is; a text as the negative of its id (Kineto writes "Spans" and "Traces" for pid).
int64_t number_or_text(od::value value, Interner &texts)
{
    int64_t number;
    std::string_view text;

    if (!value.get_int64().get(number))
        return number;
    if (!value.get_string().get(text))
        return -int64_t(texts.id(text)) - 1000000;
    return absent;
}

void read_args(od::value value, Event &e)
{
    od::object args;

    if (value.get_object().get(args))
        return;
    for (auto field : args) {
        const char *key = field.key().value_unsafe().raw();
        int64_t number;

        if (key[0] == 'c' && !std::memcmp(key, "correlation\"", 12)) {
            if (!field.value().get_int64().get(number))
                e.correlation = number;
        } else if (key[0] == 's' && !std::memcmp(key, "stream\"", 7)) {
            if (!field.value().get_int64().get(number))
                e.stream = number;
        }
    }
}

void read_field(const char *key, od::value value, Event &e, Interner &texts)
{
    std::string_view text;

    switch (key[0]) {
    case 'p':
        if (key[1] == 'h' && key[2] == '"') {
            if (!value.get_string().get(text) && !text.empty())
                e.ph = uint8_t(text[0]);
        } else if (!std::memcmp(key, "pid\"", 4)) {
            e.pid = number_or_text(value, texts);
        }
        break;
    case 'c':
        if (!std::memcmp(key, "cat\"", 4) && !value.get_string().get(text))
            e.cat = texts.id(text);
        break;
    case 'n':
        if (!std::memcmp(key, "name\"", 5) && !value.get_string().get(text))
            e.name = texts.id(text);
        break;
    case 't':
        if (key[1] == 's' && key[2] == '"')
            e.ts = nanoseconds(value.raw_json_token());
        else if (!std::memcmp(key, "tid\"", 4))
            e.tid = number_or_text(value, texts);
        break;
    case 'd':
        if (!std::memcmp(key, "dur\"", 4))
            e.dur = nanoseconds(value.raw_json_token());
        break;
    case 'a':
        if (!std::memcmp(key, "args\"", 5))
            read_args(value, e);
        break;
    default:
        break;
    }
}

void keep(const Event &e, Columns &c)
{
    c.ph.push_back(e.ph);
    c.cat.push_back(e.cat);
    c.name.push_back(e.name);
    c.ts.push_back(e.ts);
    c.dur.push_back(e.dur);
    c.pid.push_back(e.pid);
    c.tid.push_back(e.tid);
    c.correlation.push_back(e.correlation);
    c.stream.push_back(e.stream);
}

void read_events(od::array events, Columns &columns, Interner &texts)
{
    for (auto element : events) {
        Event e;

        for (auto field : element.get_object())
            read_field(field.key().value().raw(), field.value().value(), e, texts);
        keep(e, columns);
    }
}

void print(const Columns &c, const Interner &texts, double seconds)
{
    uint64_t phases[256] = {};
    std::vector<bool> seen(texts.texts().size());
    size_t names = 0, name_bytes = 0;
    int64_t sum = 0;
    const char *comma = "";

    for (size_t i = 0; i < c.ph.size(); i++) {
        phases[c.ph[i]]++;
        if (c.ph[i] == 'X' && c.dur[i] != absent)
            sum += c.dur[i];
        if (!seen[c.name[i]]) {
            seen[c.name[i]] = true;
            names++;
            name_bytes += texts.texts()[c.name[i]].size();
        }
    }
    std::printf("{\"events\": %zu, \"by_phase\": {", c.ph.size());
    for (int p = 0; p < 256; p++)
        if (phases[p]) {
            const std::string phase(p ? 1 : 0, char(p));

            std::printf("%s\"%s\": %llu", comma, phase.c_str(), (unsigned long long)phases[p]);
            comma = ", ";
        }
    std::printf("}, \"duration_sum_ns\": %lld, \"names\": %zu, \"name_bytes\": %zu, \"seconds\": %.6f, "
                "\"version\": \"%d.%d.%d\", \"kernel\": \"%s\", \"stage1_kernel\": \"%s\"}\n",
                (long long)sum, names, name_bytes, seconds, int(simdjson::SIMDJSON_VERSION_MAJOR),
                int(simdjson::SIMDJSON_VERSION_MINOR), int(simdjson::SIMDJSON_VERSION_REVISION),
                SIMDJSON_NAME(SIMDJSON_BUILTIN_IMPLEMENTATION), simdjson::get_active_implementation()->name().c_str());
}

// From the file to the columns: everything but loading, which the whole-process time has.
double extract(const simdjson::padded_string &json, Columns &columns, Interner &texts)
{
    const auto begin = std::chrono::steady_clock::now();
    od::parser parser;
    od::document document = parser.iterate(json);
    od::array events;

    if (document.type() == od::json_type::array)
        events = document.get_array();
    else
        events = document["traceEvents"].get_array();
    read_events(events, columns, texts);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2) {
        std::fprintf(stderr, "usage: simdjson_ondemand TRACE.json\n");
        return 2;
    }
    try {
        const simdjson::padded_string json = simdjson::padded_string::load(argv[1]);
        Columns columns;
        Interner texts;
        const double seconds = extract(json, columns, texts);

        print(columns, texts, seconds);
    } catch (const simdjson::simdjson_error &error) {
        std::fprintf(stderr, "simdjson_ondemand: %s: %s\n", argv[1], error.what());
        return 1;
    }
    return 0;
}
