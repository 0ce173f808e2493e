/* SPDX-License-Identifier: Apache-2.0
 * nvml_fields.h - values that the driver gives by number, many in one call.
 *
 * A number whose meaning differs between branches of the driver is asked for only in those where it is known: what it would
 * be elsewhere is a value of something else.
 */
#ifndef HU_GPU_NVML_FIELDS_H
#define HU_GPU_NVML_FIELDS_H

#include "gpu/nvml.h"

enum { HU_NEWEST_BRANCH = 615 }; /* of the driver of API 13.5: what a later one means by moved numbers is not known */

/*
 * F(id, number, first branch, last branch; 0: any).  Numbers of the vendor's headers of API 12.0 (R525) to 13.5.  That of
 * time in which thermal limits held the clocks back is 251 to 253 in R575, 269 to 271 from R580 on, and these are values of
 * power smoothing in the other one.
 */
/* clang-format off */
#define HU_NVML_FIELDS(F)                                                                      \
    F(MEMORY_TEMPERATURE, 82, 0, 0)              /* degrees C; above 200 is none */            \
    F(POWER_INSTANT, 186, 535, 0)                /* mW */                                      \
    F(NVLINK_SENT, 138, 0, 0)                    /* KiB, all links */                          \
    F(NVLINK_RECEIVED, 139, 0, 0)                                                              \
    F(PCIE_SENT, 197, 555, 0)                    /* bytes */                                   \
    F(PCIE_RECEIVED, 198, 555, 0)                                                              \
    F(NVLINK_FLIT_ERRORS, 38, 0, 0)              /* counts, all links */                       \
    F(NVLINK_DATA_ERRORS, 45, 0, 0)                                                            \
    F(NVLINK_REPLAYS, 52, 0, 0)                                                                \
    F(NVLINK_RECOVERIES, 59, 0, 0)                                                             \
    F(LIMITED_POWER, 74, 0, 0)                   /* ns */                                      \
    F(LIMITED_THERMAL, 75, 0, 0)                                                               \
    F(LIMITED_SYNC_BOOST, 76, 0, 0)                                                            \
    F(LIMITED_BOARD, 77, 0, 0)                                                                 \
    F(LIMITED_RELIABILITY, 79, 0, 0)                                                           \
    F(LIMITED_SOFTWARE_THERMAL_575, 251, 575, 579)                                             \
    F(LIMITED_HARDWARE_THERMAL_575, 252, 575, 579)                                             \
    F(LIMITED_POWER_BRAKE_575, 253, 575, 579)                                                  \
    F(LIMITED_SOFTWARE_THERMAL, 269, 580, HU_NEWEST_BRANCH)                                    \
    F(LIMITED_HARDWARE_THERMAL, 270, 580, HU_NEWEST_BRANCH)                                    \
    F(LIMITED_POWER_BRAKE, 271, 580, HU_NEWEST_BRANCH)                                         \
    F(RECOVERY_ACTION, 230, 570, 0)              /* 0 none, 1 reset, 2 reboot, 3 drain, 4 drain and reset, ... */
/* clang-format on */

typedef enum {
#define F(id, number, first, last) HU_FIELD_##id,
    HU_NVML_FIELDS(F)
#undef F
        HU_NVML_FIELD_COUNT
} hu_nvml_field;

typedef struct {
    double value;
    bool   has;
    bool   is_wide; /* 64 bits: a counter that does not wrap */
} hu_nvml_field_value;

/* `count` of them into `out`.  LOST when the GPU has gone; else OK, with what there is. */
hu_nvml_class hu_nvml_get_fields(hu_nvml *n, hu_nvml_device *d, const hu_nvml_field *which, size_t count,
                                 hu_nvml_field_value *out, int *code);

/*
 * Bytes over NVLink 5, which has counters for each link (fields 202 and 204, from R560 on); sums of what each link had
 * counted last, so that one that goes down takes nothing away.  Begin with zeros.
 */
enum { HU_NVML_LINKS = 36 };
typedef struct {
    uint64_t sent[HU_NVML_LINKS], received[HU_NVML_LINKS];
    bool     is_denied;
} hu_nvml_links;

hu_nvml_class hu_nvml_get_links(hu_nvml *n, const hu_nvml_device *d, hu_nvml_links *links, double *sent, double *received,
                                int *code);

#endif
