/* SPDX-License-Identifier: Apache-2.0
 * metrics_gpu.h - rows of metrics.h: what is sampled of GPUs, of any vendor.
 *
 * `gpu` is the number of the driver's tools (nvidia-smi), `gi` the GPU instance of a MIG device and empty for a whole GPU.
 * Values of a whole GPU (power, clocks, errors) are exported once, never once more for each of its parts.
 */
#ifndef HU_MONITOR_METRICS_GPU_H
#define HU_MONITOR_METRICS_GPU_H

/* clang-format off */
/* M(id, name, type, unit, labels, help) */
#define HU_METRICS_GPU(M)                                                                                                   \
    M(GPU_INFO, "holdup_gpu_info", INFO, "", "gpu,uuid,gi,ci,parent,vendor,model,pci_bus_id,minor,driver,profile",          \
      "Identity of a GPU or MIG device; parent: the uuid of the GPU that a MIG device is a part of.")                       \
    M(GPU_UP, "holdup_gpu_up", GAUGE, "", "gpu,uuid",                                                                       \
      "1 if the GPU answers, 0 if it or its driver is lost.")                                                               \
    M(GPUS_EXPECTED, "holdup_gpus_expected", GAUGE, "", "vendor",                                                           \
      "GPUs on the PCI bus; more than holdup_gpu_up shows means that the driver does not see one.")                         \
    M(GPU_BUSY, "holdup_gpu_utilization_ratio", GAUGE, "ratio", "gpu,uuid,gi",                                              \
      "Share of the last sample period in which at least one kernel ran.")                                                  \
    M(GPU_MEMORY_BUSY, "holdup_gpu_memory_busy_ratio", GAUGE, "ratio", "gpu,uuid,gi",                                       \
      "Share of the last sample period in which device memory was read or written.")                                        \
    M(GPU_ENCODER, "holdup_gpu_encoder_utilization_ratio", GAUGE, "ratio", "gpu,uuid", "Utilization of the video encoder.") \
    M(GPU_DECODER, "holdup_gpu_decoder_utilization_ratio", GAUGE, "ratio", "gpu,uuid", "Utilization of the video decoder.") \
    M(GPU_GRAPHICS_ACTIVE, "holdup_gpu_graphics_active_ratio", GAUGE, "ratio", "gpu,uuid,gi",                               \
      "Share of time in which the compute or graphics engine was active.")                                                  \
    M(GPU_SM_ACTIVE, "holdup_gpu_sm_active_ratio", GAUGE, "ratio", "gpu,uuid,gi",                                           \
      "Share of SMs with at least one warp, on average: low beside a high utilization means small kernels.")                \
    M(GPU_SM_OCCUPANCY, "holdup_gpu_sm_occupancy_ratio", GAUGE, "ratio", "gpu,uuid,gi",                                     \
      "Resident warps as a share of the most that fit.")                                                                    \
    M(GPU_TENSOR_ACTIVE, "holdup_gpu_tensor_active_ratio", GAUGE, "ratio", "gpu,uuid,gi",                                   \
      "Share of time in which the tensor cores worked.")                                                                    \
    M(GPU_DRAM_ACTIVE, "holdup_gpu_dram_active_ratio", GAUGE, "ratio", "gpu,uuid,gi",                                       \
      "Used share of the bandwidth of device memory.")                                                                      \
    M(GPU_FP64_ACTIVE, "holdup_gpu_fp64_active_ratio", GAUGE, "ratio", "gpu,uuid,gi",                                       \
      "Share of time in which the FP64 units worked.")                                                                      \
    M(GPU_FP32_ACTIVE, "holdup_gpu_fp32_active_ratio", GAUGE, "ratio", "gpu,uuid,gi",                                       \
      "Share of time in which the FP32 units worked.")                                                                      \
    M(GPU_FP16_ACTIVE, "holdup_gpu_fp16_active_ratio", GAUGE, "ratio", "gpu,uuid,gi",                                       \
      "Share of time in which the FP16 units worked, tensor cores aside.")                                                  \
    M(GPU_PCIE_TX_RATE, "holdup_gpu_pcie_transmit_bytes_per_second", GAUGE, "", "gpu,uuid,gi",                              \
      "What the GPU sent over PCIe.")                                                                                       \
    M(GPU_PCIE_RX_RATE, "holdup_gpu_pcie_receive_bytes_per_second", GAUGE, "", "gpu,uuid,gi",                               \
      "What the GPU received over PCIe.")                                                                                   \
    M(GPU_NVLINK_TX_RATE, "holdup_gpu_nvlink_transmit_bytes_per_second", GAUGE, "", "gpu,uuid,gi",                          \
      "What the GPU sent over all of its NVLinks.")                                                                         \
    M(GPU_NVLINK_RX_RATE, "holdup_gpu_nvlink_receive_bytes_per_second", GAUGE, "", "gpu,uuid,gi",                           \
      "What the GPU received over all of its NVLinks.")                                                                     \
    M(GPU_MEMORY_USED, "holdup_gpu_memory_used_bytes", GAUGE, "bytes", "gpu,uuid,gi", "Device memory in use.")              \
    M(GPU_MEMORY_TOTAL, "holdup_gpu_memory_total_bytes", GAUGE, "bytes", "gpu,uuid,gi", "Device memory.")                   \
    M(GPU_MEMORY_FREE, "holdup_gpu_memory_free_bytes", GAUGE, "bytes", "gpu,uuid,gi", "Device memory that is free.")        \
    M(GPU_MEMORY_RESERVED, "holdup_gpu_memory_reserved_bytes", GAUGE, "bytes", "gpu,uuid,gi",                               \
      "Device memory that the driver keeps for itself; where it is absent, used memory includes it.")                       \
    M(GPU_POWER, "holdup_gpu_power_watts", GAUGE, "watts", "gpu,uuid",                                                      \
      "Power of the board; an average over 1 s on Ampere and later, but for GA100.")                                        \
    M(GPU_POWER_INSTANT, "holdup_gpu_power_instant_watts", GAUGE, "watts", "gpu,uuid", "Power of the board at this moment.")\
    M(GPU_POWER_LIMIT, "holdup_gpu_power_limit_watts", GAUGE, "watts", "gpu,uuid", "The power limit that is in force.")     \
    M(GPU_POWER_DEFAULT, "holdup_gpu_power_limit_default_watts", GAUGE, "watts", "gpu,uuid",                                \
      "The power limit of the product.")                                                                                    \
    M(GPU_POWER_MIN, "holdup_gpu_power_limit_min_watts", GAUGE, "watts", "gpu,uuid",                                        \
      "The least power limit that can be set.")                                                                             \
    M(GPU_POWER_MAX, "holdup_gpu_power_limit_max_watts", GAUGE, "watts", "gpu,uuid",                                        \
      "The greatest power limit that can be set.")                                                                          \
    M(GPU_ENERGY, "holdup_gpu_energy_joules_total", COUNTER, "joules", "gpu,uuid",                                          \
      "Energy of the board since the driver was loaded.")                                                                   \
    M(GPU_TEMPERATURE, "holdup_gpu_temperature_celsius", GAUGE, "celsius", "gpu,uuid", "Temperature of the GPU's core.")    \
    M(GPU_MEMORY_TEMPERATURE, "holdup_gpu_memory_temperature_celsius", GAUGE, "celsius", "gpu,uuid",                        \
      "Temperature of device memory.")                                                                                      \
    M(GPU_TEMPERATURE_MARGIN, "holdup_gpu_temperature_margin_celsius", GAUGE, "celsius", "gpu,uuid",                        \
      "How much warmer the GPU may become before it slows down.")                                                           \
    M(GPU_SM_CLOCK, "holdup_gpu_sm_clock_hertz", GAUGE, "hertz", "gpu,uuid", "Clock of the shader cores.")                  \
    M(GPU_SM_CLOCK_MAX, "holdup_gpu_sm_clock_max_hertz", GAUGE, "hertz", "gpu,uuid", "Greatest clock of the shader cores.") \
    M(GPU_MEMORY_CLOCK, "holdup_gpu_memory_clock_hertz", GAUGE, "hertz", "gpu,uuid", "Clock of device memory.")             \
    M(GPU_MEMORY_CLOCK_MAX, "holdup_gpu_memory_clock_max_hertz", GAUGE, "hertz", "gpu,uuid",                                \
      "Greatest clock of device memory.")                                                                                   \
    M(GPU_CLOCK_REASON, "holdup_gpu_clock_event_reason", GAUGE, "", "gpu,uuid,reason",                                      \
      "1 if this holds the clocks where they are.")                                                                         \
    M(GPU_THROTTLE, "holdup_gpu_throttle_seconds_total", COUNTER, "seconds", "gpu,uuid,reason",                             \
      "Time in which this held the clocks down.")                                                                           \
    M(GPU_PROCESSES, "holdup_gpu_processes", GAUGE, "", "gpu,uuid,gi",                                                      \
      "Processes that compute on the GPU, as far as the monitor's PID namespace shows them.")                               \
    M(GPU_PCIE_TX, "holdup_gpu_pcie_transmit_bytes_total", COUNTER, "bytes", "gpu,uuid", "What the GPU sent over PCIe.")    \
    M(GPU_PCIE_RX, "holdup_gpu_pcie_receive_bytes_total", COUNTER, "bytes", "gpu,uuid", "What the GPU received over PCIe.") \
    M(GPU_PCIE_REPLAYS, "holdup_gpu_pcie_replays_total", COUNTER, "", "gpu,uuid",                                           \
      "Packets that PCIe had to send again.")                                                                               \
    M(GPU_PCIE_GENERATION, "holdup_gpu_pcie_link_generation", GAUGE, "", "gpu,uuid",                                        \
      "Generation of the PCIe link now; lower while the GPU idles.")                                                        \
    M(GPU_PCIE_GENERATION_MAX, "holdup_gpu_pcie_link_generation_max", GAUGE, "", "gpu,uuid",                                \
      "Greatest generation that GPU and slot can have.")                                                                    \
    M(GPU_PCIE_WIDTH, "holdup_gpu_pcie_link_width", GAUGE, "", "gpu,uuid", "Lanes of the PCIe link now.")                   \
    M(GPU_PCIE_WIDTH_MAX, "holdup_gpu_pcie_link_width_max", GAUGE, "", "gpu,uuid",                                          \
      "Most lanes that GPU and slot can have.")                                                                             \
    M(GPU_NVLINK_TX, "holdup_gpu_nvlink_transmit_bytes_total", COUNTER, "bytes", "gpu,uuid",                                \
      "What the GPU sent over all of its NVLinks.")                                                                         \
    M(GPU_NVLINK_RX, "holdup_gpu_nvlink_receive_bytes_total", COUNTER, "bytes", "gpu,uuid",                                 \
      "What the GPU received over all of its NVLinks.")                                                                     \
    M(GPU_NVLINK_ERRORS, "holdup_gpu_nvlink_errors_total", COUNTER, "", "gpu,uuid,type",                                    \
      "Errors of all NVLinks: crc_flit, crc_data, replay, recovery.")                                                       \
    M(GPU_FABRIC_STATE, "holdup_gpu_fabric_state", GAUGE, "", "gpu,uuid",                                                   \
      "Where the GPU is in joining the NVSwitch fabric: 1 not started, 2 in progress, 3 completed.")                        \
    M(GPU_FABRIC_HEALTHY, "holdup_gpu_fabric_healthy", GAUGE, "", "gpu,uuid",                                               \
      "1 if the GPU joined the fabric in full health, 0 if with an error or degraded.")                                     \
    M(GPU_ECC, "holdup_gpu_ecc_errors_total", COUNTER, "", "gpu,uuid,type",                                                 \
      "Memory errors since the driver was loaded: corrected, uncorrected.")                                                 \
    M(GPU_ECC_LIFE, "holdup_gpu_ecc_errors_lifetime_total", COUNTER, "", "gpu,uuid,type",                                   \
      "Memory errors in the life of the board: corrected, uncorrected.")                                                    \
    M(GPU_REMAPPED_ROWS, "holdup_gpu_remapped_rows_total", COUNTER, "", "gpu,uuid,cause",                                   \
      "Rows of device memory that were replaced, after corrected or uncorrected errors.")                                   \
    M(GPU_ROW_PENDING, "holdup_gpu_row_remap_pending", GAUGE, "", "gpu,uuid",                                               \
      "1 if a row waits for a reset of the GPU to be replaced.")                                                            \
    M(GPU_ROW_FAILED, "holdup_gpu_row_remap_failed", GAUGE, "", "gpu,uuid",                                                 \
      "1 if a row could not be replaced: the board has to be.")                                                             \
    M(GPU_RETIRED_PAGES, "holdup_gpu_retired_pages_total", COUNTER, "", "gpu,uuid,cause",                                   \
      "Pages of device memory that are no longer used, after single-bit or double-bit errors.")                             \
    M(GPU_PAGES_PENDING, "holdup_gpu_retired_pages_pending", GAUGE, "", "gpu,uuid",                                         \
      "1 if a page waits for a reboot to be retired.")                                                                      \
    M(GPU_RECOVERY, "holdup_gpu_recovery_action", GAUGE, "", "gpu,uuid",                                                    \
      "What the driver asks for: 0 nothing, 1 reset the GPU, 2 reboot the node, 3 drain, 4 drain and reset; "               \
      "more: see the driver's manual.")                                                                                     \
    M(GPU_PERSISTENCE, "holdup_gpu_persistence_mode", GAUGE, "", "gpu,uuid",                                                \
      "1 if the driver stays ready while nobody uses the GPU.")                                                             \
    M(GPU_MIG_MODE, "holdup_gpu_mig_mode", GAUGE, "", "gpu,uuid", "1 if the GPU is divided (MIG).")                         \
    M(GPU_XID, "holdup_gpu_xid_errors_total", COUNTER, "", "gpu,uuid,xid",                                                  \
      "Errors that the driver reported (XID), since the monitor started.")                                                  \
    M(GPU_XID_LAST, "holdup_gpu_xid_last_timestamp_seconds", GAUGE, "seconds", "gpu,uuid,xid",                              \
      "Unix time of the last error of this number.")

#endif
