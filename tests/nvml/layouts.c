/* SPDX-License-Identifier: Apache-2.0
 * layouts.c - our own declarations of NVML beside those of an nvml.h that a test fetches: it compiles where they agree.
 *
 * -DAPI=1205 for API 12.5 leaves out what came later; what a header lacks is not compared.
 */
#include <stddef.h>

#include <nvml.h>

#include "gpu/nvml_calls.h"
#include "gpu/nvml_fields.h"
#include "gpu/nvml_gpm.h"
#include "gpu/nvml_setup.h"
#include "gpu/nvml_values.h"

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #ours " is " #theirs)
#define SIZE(ours, theirs) SAME(sizeof(ours), sizeof(theirs))
#define FIELD(ours, mine, theirs, yours)                 \
    SAME(offsetof(ours, mine), offsetof(theirs, yours)); \
    SAME(sizeof(((ours *)0)->mine), sizeof(((theirs *)0)->yours))

SIZE(rates, nvmlUtilization_t);
FIELD(rates, gpu, nvmlUtilization_t, gpu);
FIELD(rates, memory, nvmlUtilization_t, memory);
SIZE(memory_1, nvmlMemory_t);
FIELD(memory_1, total, nvmlMemory_t, total);
FIELD(memory_1, free, nvmlMemory_t, free);
FIELD(memory_1, used, nvmlMemory_t, used);
SIZE(memory_2, nvmlMemory_v2_t);
SAME(VERSION_OF(memory_2, 2), nvmlMemory_v2);
FIELD(memory_2, total, nvmlMemory_v2_t, total);
FIELD(memory_2, reserved, nvmlMemory_v2_t, reserved);
FIELD(memory_2, free, nvmlMemory_v2_t, free);
FIELD(memory_2, used, nvmlMemory_v2_t, used);
SIZE(pci_3, nvmlPciInfo_t);
FIELD(pci_3, text, nvmlPciInfo_t, busId);
SIZE(process_1, nvmlProcessInfo_v1_t);
SIZE(process_2, nvmlProcessInfo_t);
FIELD(process_2, pid, nvmlProcessInfo_t, pid);
FIELD(process_2, gpu_instance, nvmlProcessInfo_t, gpuInstanceId);
SIZE(process_use_0, nvmlProcessUtilizationSample_t);
FIELD(process_use_0, pid, nvmlProcessUtilizationSample_t, pid);
FIELD(process_use_0, at_us, nvmlProcessUtilizationSample_t, timeStamp);
FIELD(process_use_0, sm, nvmlProcessUtilizationSample_t, smUtil);
SIZE(event_2, nvmlEventData_t);
FIELD(event_2, device, nvmlEventData_t, device);
FIELD(event_2, type, nvmlEventData_t, eventType);
FIELD(event_2, data, nvmlEventData_t, eventData);
SAME(EVENT_XID, nvmlEventTypeXidCriticalError);
SIZE(field_value, nvmlFieldValue_t);
FIELD(field_value, id, nvmlFieldValue_t, fieldId);
FIELD(field_value, scope, nvmlFieldValue_t, scopeId);
FIELD(field_value, type, nvmlFieldValue_t, valueType);
FIELD(field_value, code, nvmlFieldValue_t, nvmlReturn);
FIELD(field_value, value, nvmlFieldValue_t, value);
SIZE(performance_value, nvmlGpmMetric_t);
FIELD(performance_value, id, nvmlGpmMetric_t, metricId);
FIELD(performance_value, code, nvmlGpmMetric_t, nvmlReturn);
FIELD(performance_value, value, nvmlGpmMetric_t, value);
FIELD(performance_values, n, nvmlGpmMetricsGet_t, numMetrics);
FIELD(performance_values, before, nvmlGpmMetricsGet_t, sample1);
FIELD(performance_values, after, nvmlGpmMetricsGet_t, sample2);
SAME(offsetof(performance_values, row), offsetof(nvmlGpmMetricsGet_t, metrics));
SIZE(performance_support, nvmlGpmSupport_t);
FIELD(performance_support, is_supported, nvmlGpmSupport_t, isSupportedDevice);
SAME(NVML_GPM_METRICS_GET_VERSION, 1);
SAME(NVML_GPM_SUPPORT_VERSION, 1);

SAME(SUCCESS, NVML_SUCCESS);
SAME(UNINITIALIZED, NVML_ERROR_UNINITIALIZED);
SAME(BAD_ARGUMENT, NVML_ERROR_INVALID_ARGUMENT);
SAME(NOT_SUPPORTED, NVML_ERROR_NOT_SUPPORTED);
SAME(NO_PERMISSION, NVML_ERROR_NO_PERMISSION);
SAME(NOT_FOUND, NVML_ERROR_NOT_FOUND);
SAME(HU_NVML_NOT_FOUND, NVML_ERROR_NOT_FOUND);
SAME(TOO_SMALL, NVML_ERROR_INSUFFICIENT_SIZE);
SAME(DRIVER_NOT_LOADED, NVML_ERROR_DRIVER_NOT_LOADED);
SAME(IRQ_ISSUE, NVML_ERROR_IRQ_ISSUE);
SAME(FUNCTION_NOT_FOUND, NVML_ERROR_FUNCTION_NOT_FOUND);
SAME(GPU_IS_LOST, NVML_ERROR_GPU_IS_LOST);
SAME(RESET_REQUIRED, NVML_ERROR_RESET_REQUIRED);
SAME(OPERATING_SYSTEM, NVML_ERROR_OPERATING_SYSTEM);
SAME(VERSION_MISMATCH, NVML_ERROR_LIB_RM_VERSION_MISMATCH);
SAME(ARGUMENT_VERSION, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
SAME(UNKNOWN, NVML_ERROR_UNKNOWN);
SAME(NVML_MEMORY_ERROR_TYPE_CORRECTED, 0);
SAME(NVML_MEMORY_ERROR_TYPE_UNCORRECTED, 1);
SAME(NVML_VOLATILE_ECC, 0);
SAME(NVML_AGGREGATE_ECC, 1);
SAME(NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS, 0);
SAME(NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR, 1);
SAME(HU_FABRIC_NOT_SUPPORTED, NVML_GPU_FABRIC_STATE_NOT_SUPPORTED);
SAME(HU_FABRIC_NOT_STARTED, NVML_GPU_FABRIC_STATE_NOT_STARTED);
SAME(HU_FABRIC_IN_PROGRESS, NVML_GPU_FABRIC_STATE_IN_PROGRESS);
SAME(HU_FABRIC_COMPLETED, NVML_GPU_FABRIC_STATE_COMPLETED);

SIZE(bar_1, nvmlBAR1Memory_t);
FIELD(bar_1, total, nvmlBAR1Memory_t, bar1Total);
SAME(HU_COMPUTE_DEFAULT, NVML_COMPUTEMODE_DEFAULT);
SAME(HU_COMPUTE_PROHIBITED, NVML_COMPUTEMODE_PROHIBITED);
SAME(HU_COMPUTE_EXCLUSIVE, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS);
SAME(HU_PEER_OK, NVML_P2P_STATUS_OK);
SAME(HU_PEER_CHIPSET, NVML_P2P_STATUS_CHIPSET_NOT_SUPPORED);
SAME(HU_PEER_GPU, NVML_P2P_STATUS_GPU_NOT_SUPPORTED);
SAME(HU_PEER_TOPOLOGY, NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED);
SAME(HU_PEER_SWITCHED_OFF, NVML_P2P_STATUS_DISABLED_BY_REGKEY);
SAME(HU_PEER_NOT_SUPPORTED, NVML_P2P_STATUS_NOT_SUPPORTED);
SAME(NVML_P2P_CAPS_INDEX_READ, 0);
SAME(NVML_CLOCK_SM, 1);
_Static_assert(HU_NVML_LINKS >= NVML_NVLINK_MAX_LINKS, "all links");

SIZE(fabric_1, nvmlGpuFabricInfo_t);
FIELD(fabric_1, status, nvmlGpuFabricInfo_t, status);
FIELD(fabric_1, state, nvmlGpuFabricInfo_t, state);

/* Numbers of our tables by the vendor's names. */
enum {
#define F(id, number, first, last) FIELD_##id = (number),
    HU_NVML_FIELDS(F)
#undef F
#define G(id, number, unit) GPM_##id = (number),
        HU_NVML_GPM_VALUES(G)
#undef G
};

SAME(GPM_GRAPHICS, NVML_GPM_METRIC_GRAPHICS_UTIL);
SAME(GPM_SM, NVML_GPM_METRIC_SM_UTIL);
SAME(GPM_OCCUPANCY, NVML_GPM_METRIC_SM_OCCUPANCY);
SAME(GPM_TENSOR, NVML_GPM_METRIC_ANY_TENSOR_UTIL);
SAME(GPM_DRAM, NVML_GPM_METRIC_DRAM_BW_UTIL);
SAME(GPM_FP64, NVML_GPM_METRIC_FP64_UTIL);
SAME(GPM_FP32, NVML_GPM_METRIC_FP32_UTIL);
SAME(GPM_FP16, NVML_GPM_METRIC_FP16_UTIL);
SAME(GPM_PCIE_SENT, NVML_GPM_METRIC_PCIE_TX_PER_SEC);
SAME(GPM_PCIE_RECEIVED, NVML_GPM_METRIC_PCIE_RX_PER_SEC);
SAME(GPM_NVLINK_RECEIVED, NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC);
SAME(GPM_NVLINK_SENT, NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC);

SAME(FIELD_MEMORY_TEMPERATURE, NVML_FI_DEV_MEMORY_TEMP);
SAME(FIELD_NVLINK_SENT, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX);
SAME(FIELD_NVLINK_RECEIVED, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX);
SAME(FIELD_NVLINK_FLIT_ERRORS, NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL);
SAME(FIELD_NVLINK_DATA_ERRORS, NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL);
SAME(FIELD_NVLINK_REPLAYS, NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL);
SAME(FIELD_NVLINK_RECOVERIES, NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL);
SAME(FIELD_LIMITED_POWER, NVML_FI_DEV_PERF_POLICY_POWER);
SAME(FIELD_LIMITED_THERMAL, NVML_FI_DEV_PERF_POLICY_THERMAL);
SAME(FIELD_LIMITED_SYNC_BOOST, NVML_FI_DEV_PERF_POLICY_SYNC_BOOST);
SAME(FIELD_LIMITED_BOARD, NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT);
SAME(FIELD_LIMITED_RELIABILITY, NVML_FI_DEV_PERF_POLICY_RELIABILITY);

#if API >= 1209 /* R575 */
SAME(FIELD_POWER_INSTANT, NVML_FI_DEV_POWER_INSTANT);
SAME(FIELD_PCIE_SENT, NVML_FI_DEV_PCIE_COUNT_TX_BYTES);
SAME(FIELD_PCIE_RECEIVED, NVML_FI_DEV_PCIE_COUNT_RX_BYTES);
SAME(202, NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES);
SAME(204, NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES);
SAME(FIELD_RECOVERY_ACTION, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION);
SIZE(temperature_1, nvmlTemperature_v1_t);
SAME(VERSION_OF(temperature_1, 1), nvmlTemperature_v1);
FIELD(temperature_1, celsius, nvmlTemperature_v1_t, temperature);
SIZE(margin_1, nvmlMarginTemperature_v1_t);
SAME(VERSION_OF(margin_1, 1), nvmlMarginTemperature_v1);
FIELD(margin_1, celsius, nvmlMarginTemperature_v1_t, marginTemperature);
SIZE(process_use_1, nvmlProcessUtilizationInfo_v1_t);
FIELD(process_use_1, at_us, nvmlProcessUtilizationInfo_v1_t, timeStamp);
FIELD(process_use_1, pid, nvmlProcessUtilizationInfo_v1_t, pid);
FIELD(process_use_1, sm, nvmlProcessUtilizationInfo_v1_t, smUtil);
SIZE(process_uses_1, nvmlProcessesUtilizationInfo_v1_t);
SAME(VERSION_OF(process_uses_1, 1), nvmlProcessesUtilizationInfo_v1);
FIELD(process_uses_1, n, nvmlProcessesUtilizationInfo_v1_t, processSamplesCount);
FIELD(process_uses_1, since_us, nvmlProcessesUtilizationInfo_v1_t, lastSeenTimeStamp);
FIELD(process_uses_1, row, nvmlProcessesUtilizationInfo_v1_t, procUtilArray);
SIZE(fabric_2, nvmlGpuFabricInfo_v2_t);
SAME(VERSION_OF(fabric_2, 2), nvmlGpuFabricInfo_v2);
FIELD(fabric_2, status, nvmlGpuFabricInfo_v2_t, status);
FIELD(fabric_2, state, nvmlGpuFabricInfo_v2_t, state);
#if API < 1300
SAME(FIELD_LIMITED_SOFTWARE_THERMAL_575, NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN);
SAME(FIELD_LIMITED_HARDWARE_THERMAL_575, NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN);
SAME(FIELD_LIMITED_POWER_BRAKE_575, NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN);
#else
SAME(FIELD_LIMITED_SOFTWARE_THERMAL, NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN);
SAME(FIELD_LIMITED_HARDWARE_THERMAL, NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN);
SAME(FIELD_LIMITED_POWER_BRAKE, NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN);
SIZE(fabric_3, nvmlGpuFabricInfo_v3_t);
SAME(VERSION_OF(fabric_3, 3), nvmlGpuFabricInfo_v3);
FIELD(fabric_3, status, nvmlGpuFabricInfo_v3_t, status);
FIELD(fabric_3, state, nvmlGpuFabricInfo_v3_t, state);
FIELD(fabric_3, summary, nvmlGpuFabricInfo_v3_t, healthSummary);
SAME(HU_FABRIC_HEALTHY, NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY);
SAME(HU_FABRIC_UNHEALTHY, NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY);
SAME(HU_FABRIC_LIMITED, NVML_GPU_FABRIC_HEALTH_SUMMARY_LIMITED_CAPACITY);
SAME(GPU_NOT_FOUND, NVML_ERROR_GPU_NOT_FOUND);
#endif
#endif
