/* SPDX-License-Identifier: Apache-2.0
 * metrics_gpu_other.h - rows of metrics.h: what is sampled of GPUs of AMD and Intel beyond the rows of metrics_gpu.h. */
#ifndef HU_MONITOR_METRICS_GPU_OTHER_H
#define HU_MONITOR_METRICS_GPU_OTHER_H

/* clang-format off */
/* M(id, name, type, unit, labels, help) */
#define HU_METRICS_GPU_OTHER(M)                                                                                             \
    M(GPU_HOTSPOT, "holdup_gpu_hotspot_temperature_celsius", GAUGE, "celsius", "gpu,uuid",                                  \
      "Temperature of the hottest place of the chip, by which it slows down.")                                              \
    M(GPU_BLOCK_ERRORS, "holdup_gpu_block_errors_total", COUNTER, "", "gpu,uuid,block,type",                                \
      "Errors of a part of the chip since the driver was loaded: corrected, uncorrected.")

#endif
