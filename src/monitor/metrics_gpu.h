/* SPDX-License-Identifier: Apache-2.0
 * metrics_gpu.h - rows of metrics.h: what is sampled of GPUs, of any vendor.
 *
 * `gpu` is the number of the driver's tools (nvidia-smi), `gi` the GPU instance of a MIG device and empty for a whole GPU.
 */
#ifndef HU_MONITOR_METRICS_GPU_H
#define HU_MONITOR_METRICS_GPU_H

/* clang-format off */
/* M(id, name, type, unit, labels, help) */
#define HU_METRICS_GPU(M)                                                                                                    \
    M(GPU_INFO, "holdup_gpu_info", INFO, "", "gpu,uuid,gi,ci,parent,vendor,model,pci_bus_id,minor,driver,profile",           \
      "Identity of a GPU or MIG device; parent: the uuid of the GPU that a MIG device is a part of.")                        \
    M(GPU_UP, "holdup_gpu_up", GAUGE, "", "gpu,uuid",                                                                        \
      "1 if the GPU answers, 0 if it or its driver is lost.")                                                                \
    M(GPUS_EXPECTED, "holdup_gpus_expected", GAUGE, "", "vendor",                                                            \
      "GPUs on the PCI bus; more than holdup_gpu_up shows means that the driver does not see one.")                          \
    M(GPU_BUSY, "holdup_gpu_utilization_ratio", GAUGE, "ratio", "gpu,uuid,gi",                                               \
      "Share of the last sample period in which at least one kernel ran.")                                                   \
    M(GPU_MEMORY_BUSY, "holdup_gpu_memory_busy_ratio", GAUGE, "ratio", "gpu,uuid,gi",                                        \
      "Share of the last sample period in which device memory was read or written.")                                         \
    M(GPU_MEMORY_USED, "holdup_gpu_memory_used_bytes", GAUGE, "bytes", "gpu,uuid,gi", "Device memory in use.")               \
    M(GPU_MEMORY_TOTAL, "holdup_gpu_memory_total_bytes", GAUGE, "bytes", "gpu,uuid,gi", "Device memory.")                    \
    M(GPU_POWER, "holdup_gpu_power_watts", GAUGE, "watts", "gpu,uuid",                                                       \
      "Power of the board; an average over 1 s on Ampere and later, but for GA100.")                                         \
    M(GPU_ENERGY, "holdup_gpu_energy_joules_total", COUNTER, "joules", "gpu,uuid",                                           \
      "Energy of the board since the driver was loaded.")                                                                    \
    M(GPU_TEMPERATURE, "holdup_gpu_temperature_celsius", GAUGE, "celsius", "gpu,uuid", "Temperature of the GPU's core.")     \
    M(GPU_SM_CLOCK, "holdup_gpu_sm_clock_hertz", GAUGE, "hertz", "gpu,uuid", "Clock of the shader cores.")                   \
    M(GPU_XID, "holdup_gpu_xid_errors_total", COUNTER, "", "gpu,uuid,xid",                                                   \
      "Errors that the driver reported (XID), since the monitor started.")

#endif
