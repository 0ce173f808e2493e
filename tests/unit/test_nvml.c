/* SPDX-License-Identifier: Apache-2.0
 * test_nvml.c - the binding of NVML against a library that plays: values, missing functions, each code of each call. */
#include "gpu/nvml.h"
#include "testing.h"

enum { NOT_SUPPORTED = 3, NO_PERMISSION = 4, LOST = 15, UNKNOWN = 999 };

static const char *library, *old_library;

static const int64_t expected[HU_GPU_QUANTITY_COUNT] = {
    [HU_GAUGE_BUSY] = 97,           [HU_GAUGE_MEMORY_BUSY] = 41, [HU_GAUGE_SM_CLOCK] = 1980,
    [HU_GAUGE_MEMORY_CLOCK] = 2619, [HU_GAUGE_POWER] = 512250,   [HU_GAUGE_ENERGY] = 123456849000,
    [HU_GAUGE_MEMORY] = 4321000000, [HU_GAUGE_TEMPERATURE] = 64, [HU_GAUGE_REASONS] = 0};

#define ALL_BUT_XID ((1u << HU_GAUGE_XID) - 1)

static hu_nvml *play(const char *path, const char *scene, hu_nvml_device *d)
{
    int      code = 77;
    hu_nvml *n = (setenv("NVML_PLAY", scene, 1), hu_nvml_open(path, &code));

    assert_non_null(n);
    assert_int_equal(code, 0);
    assert_true(hu_nvml_describe(n, 0, d, &code));
    return n;
}

static void check_values(const hu_nvml_values *v, uint32_t has)
{
    assert_int_equal(v->has, has);
    for (unsigned q = 0; q < HU_GPU_QUANTITY_COUNT; q++)
        if (has >> q & 1)
            assert_int_equal(v->value[q], expected[q]);
        else
            assert_int_equal(v->value[q], 0);
}

static void test_values(void **state)
{
    hu_nvml_device d;
    hu_nvml_values v;
    char           driver[HU_NVML_TEXT];
    uint32_t       pids[HU_NVML_PIDS];
    uint64_t       xid;
    void          *handle;
    int            code;
    hu_nvml       *n = play(library, "pid=4711,xid=1", &d);

    (void)state;
    assert_int_equal(hu_nvml_count(n, &code), 2);
    assert_string_equal(d.name, "NVIDIA H100 80GB HBM3");
    assert_string_equal(d.uuid, "GPU-0000abc0-1111-2222-3333-444444444444");
    assert_string_equal(d.bus, "00000000:1B:00.0");
    assert_int_equal(d.most_sm_mhz, 1980);
    assert_int_equal(d.most_memory_mhz, 2619);
    assert_int_equal(d.power_limit_mw, 700000);
    assert_int_equal(d.memory_bytes, 85899345920);
    assert_false(d.is_mig);
    hu_nvml_driver(n, driver);
    assert_string_equal(driver, "580.95.05");
    assert_int_equal(hu_nvml_look(n, &d, &v, &code), HU_NVML_OK);
    check_values(&v, ALL_BUT_XID);
    assert_int_equal(hu_nvml_processes(n, &d, pids), 2);
    assert_int_equal(pids[0], 4711);
    assert_false(hu_nvml_heard(n, &handle, &xid)); /* nobody asked for it */
    hu_nvml_listen(n, &d);
    assert_true(hu_nvml_heard(n, &handle, &xid));
    assert_int_equal(xid, 79);
    assert_ptr_equal(handle, d.handle);
    assert_false(hu_nvml_heard(n, &handle, &xid));
    assert_false(hu_nvml_describe(n, 2, &d, &code));
    hu_nvml_close(n);
}

/* Older names and structures, and no second version of memory: then what the driver reserves is in it. */
static void test_old(void **state)
{
    hu_nvml_device d;
    hu_nvml_values v;
    uint32_t       pids[HU_NVML_PIDS];
    int            code;
    hu_nvml       *n = play(old_library, "pid=4711,calm=0", &d);

    (void)state;
    assert_int_equal(hu_nvml_look(n, &d, &v, &code), HU_NVML_OK);
    assert_int_equal(v.has, ALL_BUT_XID);
    assert_int_equal(v.value[HU_GAUGE_REASONS], 4);
    assert_int_equal(v.value[HU_GAUGE_SM_CLOCK], 1320);
    assert_int_equal(v.value[HU_GAUGE_MEMORY], 4921000000);
    assert_int_equal(hu_nvml_processes(n, &d, pids), 2);
    assert_int_equal(pids[0], 4711);
    assert_int_equal(pids[1], 4000000);
    hu_nvml_close(n);
}

/* A call that gives one value or two; with what is missing then, and what is asked in its place. */
static const struct {
    const char *call;
    uint32_t    gives;
} calls[] = {
    {"nvmlDeviceGetUtilizationRates", 1u << HU_GAUGE_BUSY | 1u << HU_GAUGE_MEMORY_BUSY},
    {"nvmlDeviceGetClockInfo", 1u << HU_GAUGE_SM_CLOCK | 1u << HU_GAUGE_MEMORY_CLOCK},
    {"nvmlDeviceGetPowerUsage", 1u << HU_GAUGE_POWER},
    {"nvmlDeviceGetTotalEnergyConsumption", 1u << HU_GAUGE_ENERGY},
    {"nvmlDeviceGetTemperature", 1u << HU_GAUGE_TEMPERATURE},
    {"nvmlDeviceGetCurrentClocksEventReasons", 1u << HU_GAUGE_REASONS},
};

static void test_codes(void **state)
{
    static const int codes[] = {NOT_SUPPORTED, NO_PERMISSION, LOST, UNKNOWN};

    (void)state;
    for (size_t c = 0; c < HU_COUNT(calls); c++)
        for (size_t i = 0; i < HU_COUNT(codes); i++) {
            hu_nvml_device d;
            hu_nvml_values v;
            char           scene[128];
            int            code;
            hu_nvml       *n;

            snprintf(scene, sizeof scene, "fail=%s:%d", calls[c].call, codes[i]);
            n = play(library, scene, &d);
            if (codes[i] == LOST) {
                assert_int_equal(hu_nvml_look(n, &d, &v, &code), HU_NVML_LOST);
                assert_string_equal(hu_nvml_words(code), "GPU is lost");
            } else {
                assert_int_equal(hu_nvml_look(n, &d, &v, &code), HU_NVML_OK);
                check_values(&v, ALL_BUT_XID & ~calls[c].gives);
                /* what it never has is asked for once; an error may pass */
                setenv("NVML_PLAY", "calm=9", 1);
                assert_int_equal(hu_nvml_look(n, &d, &v, &code), HU_NVML_OK);
                if (codes[i] == UNKNOWN)
                    assert_int_equal(v.has, ALL_BUT_XID);
                else
                    assert_int_equal(v.has & calls[c].gives & ~(1u << HU_GAUGE_MEMORY_BUSY), 0);
            }
            hu_nvml_close(n);
        }
}

/* The first version of memory is asked where the second is refused. */
static void test_memory(void **state)
{
    hu_nvml_device d;
    hu_nvml_values v;
    int            code;
    hu_nvml       *n = play(library, "fail=nvmlDeviceGetMemoryInfo_v2:25", &d);

    (void)state;
    assert_int_equal(hu_nvml_look(n, &d, &v, &code), HU_NVML_OK);
    assert_int_equal(v.value[HU_GAUGE_MEMORY], 4921000000);
    hu_nvml_close(n);
    n = play(library, "fail=nvmlDeviceGetMemoryInfo_v2:999", &d);
    assert_int_equal(hu_nvml_look(n, &d, &v, &code), HU_NVML_OK);
    assert_false(v.has >> HU_GAUGE_MEMORY & 1);
    hu_nvml_close(n);
}

/* What only describes may be missing; what nothing goes without ends it. */
static void test_describe(void **state)
{
    hu_nvml_device d;
    int            code = 0;
    hu_nvml       *n = play(library,
                            "mig,fail=nvmlDeviceGetName:999,fail=nvmlDeviceGetUUID:4,fail=nvmlDeviceGetPciInfo_v3:3,"
                                  "fail=nvmlDeviceGetMaxClockInfo:3,fail=nvmlDeviceGetEnforcedPowerLimit:3",
                            &d);

    (void)state;
    assert_true(d.is_mig);
    assert_string_equal(d.name, "");
    assert_string_equal(d.uuid, "");
    assert_string_equal(d.bus, "");
    assert_int_equal(d.most_sm_mhz, 0);
    assert_int_equal(d.power_limit_mw, 0);
    hu_nvml_close(n);
    setenv("NVML_PLAY", "fail=nvmlInit_v2:18", 1);
    assert_null(hu_nvml_open(library, &code));
    assert_string_equal(hu_nvml_words(code), "library and driver are of different versions");
    assert_null(hu_nvml_open("/nowhere/libnvidia-ml.so.1", &code));
    assert_string_equal(hu_nvml_words(code), "libnvidia-ml.so.1 cannot be loaded");
    assert_null(hu_nvml_open("libm.so.6", &code));
    assert_string_equal(hu_nvml_words(code), "libnvidia-ml.so.1 is too old");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_old),
                                       cmocka_unit_test(test_codes), cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_describe)};

    if (argc != 3)
        return 2;
    library = argv[1];
    old_library = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
