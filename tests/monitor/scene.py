# SPDX-License-Identifier: Apache-2.0
"""Three GPUs of which no two numbers are equal, and what holdup's metrics must say of them: by the words of the vendor's header, not by holdup's source."""
from __future__ import annotations

import math
import pathlib
from collections.abc import Callable
from typing import NamedTuple

from tests.monitor.standin import DRIVERS, Header, Scenario

ALL_LINKS = 0xffffffff
MIB, KIB = 1 << 20, 1 << 10
# nvmlClocksEventReason..., or ...ThrottleReason... in older headers, and its label
REASONS = {"GpuIdle": "idle", "ApplicationsClocksSetting": "application clocks setting", "SwPowerCap": "software power cap", "HwSlowdown": "hardware slowdown",
           "SyncBoost": "sync boost with another GPU", "SwThermalSlowdown": "software thermal slowdown", "HwThermalSlowdown": "hardware thermal slowdown",
           "HwPowerBrakeSlowdown": "hardware power brake", "DisplayClockSetting": "display clock setting", "BoardLimit": "board limit",
           "Reliability": "reliability limit"}
GPM = {"GRAPHICS_UTIL": "graphics_active_ratio", "SM_UTIL": "sm_active_ratio", "SM_OCCUPANCY": "sm_occupancy_ratio", "ANY_TENSOR_UTIL": "tensor_active_ratio",
       "DRAM_BW_UTIL": "dram_active_ratio", "FP64_UTIL": "fp64_active_ratio", "FP32_UTIL": "fp32_active_ratio", "FP16_UTIL": "fp16_active_ratio",
       "PCIE_TX_PER_SEC": "pcie_transmit_bytes_per_second", "PCIE_RX_PER_SEC": "pcie_receive_bytes_per_second",
       "NVLINK_TOTAL_TX_PER_SEC": "nvlink_transmit_bytes_per_second", "NVLINK_TOTAL_RX_PER_SEC": "nvlink_receive_bytes_per_second"}
POLICIES = ("POWER", "THERMAL", "SYNC_BOOST", "BOARD_LIMIT", "LOW_UTILIZATION", "RELIABILITY", "TOTAL_APP_CLOCKS", "TOTAL_BASE_CLOCKS")


def uuid(gpu: int) -> str:
    return f"GPU-{gpu:08x}-1111-2222-3333-44444444444{gpu % 10}"


def whole(s: Scenario, gpu: int, h: Header) -> None:
    """All that a healthy GPU answers."""
    n = 0

    def put(key: str, value: object = None, step: int = 0) -> None:
        nonlocal n
        n += 1
        s.set(gpu, key, value if value is not None else step + 97 * gpu + n)

    s.set(gpu, "nvmlDeviceGetName", f"NVIDIA H{gpu}00 80GB HBM3")
    s.set(gpu, "nvmlDeviceGetUUID", uuid(gpu))
    s.set(gpu, "nvmlDeviceGetSerial", f"13201234567{gpu}")
    s.set(gpu, "nvmlDeviceGetPciInfo.busId", f"000000{gpu}0:{0x1b + 16 * gpu:02X}:00.0")
    s.set(gpu, "nvmlDeviceGetPciInfo.pciDeviceId", 0x233010de)
    s.set(gpu, "nvmlDeviceGetPciInfo.pciSubSystemId", 0x16c110de)
    s.set(gpu, "nvmlDeviceGetMinorNumber", 5 - gpu)
    s.set(gpu, "nvmlDeviceGetIndex", gpu)
    s.set(gpu, "nvmlDeviceGetArchitecture", h.constants.get("NVML_DEVICE_ARCH_HOPPER", 9))
    s.set(gpu, "nvmlDeviceGetCudaComputeCapability.major", 9)
    s.set(gpu, "nvmlDeviceGetCudaComputeCapability.minor", 0)
    s.set(gpu, "nvmlDeviceGetMigMode.currentMode", 0)
    s.set(gpu, "nvmlDeviceGetMigMode.pendingMode", 0)
    s.set(gpu, "nvmlDeviceGetPersistenceMode", 1)
    s.set(gpu, "nvmlDeviceGetEccMode.current", 1)
    s.set(gpu, "nvmlDeviceGetEccMode.pending", 1)
    s.set(gpu, "nvmlDeviceGetPerformanceState", gpu)
    s.set(gpu, "nvmlDeviceGetSupportedEventTypes", 0x19f)
    for key in ("nvmlDeviceGetUtilizationRates.gpu", "nvmlDeviceGetUtilizationRates.memory", "nvmlDeviceGetEncoderUtilization.utilization",
                "nvmlDeviceGetDecoderUtilization.utilization"):
        n += 1
        s.set(gpu, key, 20 * gpu + 3 * n)
    for key in ("nvmlDeviceGetEncoderUtilization.samplingPeriodUs", "nvmlDeviceGetDecoderUtilization.samplingPeriodUs"):
        put(key, step=160000)
    for which in ("NVML_CLOCK_GRAPHICS", "NVML_CLOCK_SM", "NVML_CLOCK_MEM", "NVML_CLOCK_VIDEO"):
        put(f"nvmlDeviceGetClockInfo.{which}", step=1200)
        put(f"nvmlDeviceGetMaxClockInfo.{which}", step=1900)
        put(f"nvmlDeviceGetApplicationsClock.{which}", step=1600)
    s.set(gpu, "nvmlDeviceGetCurrentClocksEventReasons", 0)
    s.set(gpu, "nvmlDeviceGetSupportedClocksEventReasons", 0x1ff)
    for i, policy in enumerate(POLICIES):
        ns = (1000 * gpu + 100 + i) * 1_000_000_000 + 500_000_000
        s.set(gpu, f"nvmlDeviceGetViolationStatus.NVML_PERF_POLICY_{policy}", ns)
        s.set(gpu, f"field.NVML_FI_DEV_PERF_POLICY_{policy}", ns)
    for i, reason in enumerate(("SW_THERM_SLOWDOWN", "HW_THERM_SLOWDOWN", "HW_POWER_BRAKE_SLOWDOWN")):
        s.set(gpu, f"field.NVML_FI_DEV_CLOCKS_EVENT_REASON_{reason}", (1000 * gpu + 300 + i) * 1_000_000_000)
    put("nvmlDeviceGetPowerUsage", step=312_250)
    put("nvmlDeviceGetEnforcedPowerLimit", step=650_000)
    s.set(gpu, "nvmlDeviceGetPowerManagementLimit", s.lines[str(gpu), "nvmlDeviceGetEnforcedPowerLimit"])
    put("nvmlDeviceGetPowerManagementDefaultLimit", step=700_000)
    s.set(gpu, "nvmlDeviceGetPowerManagementMode", 1)
    put("nvmlDeviceGetPowerManagementLimitConstraints.minLimit", step=200_000)
    put("nvmlDeviceGetPowerManagementLimitConstraints.maxLimit", step=720_000)
    put("nvmlDeviceGetTotalEnergyConsumption", step=5_000_000_000_000)
    s.set(gpu, "field.NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION", s.lines[str(gpu), "nvmlDeviceGetTotalEnergyConsumption"])
    put("field.NVML_FI_DEV_POWER_INSTANT", step=333_000)
    s.set(gpu, "type.NVML_FI_DEV_POWER_INSTANT", 1)
    s.set(gpu, "nvmlDeviceGetTemperature", 41 + 5 * gpu)
    s.set(gpu, "nvmlDeviceGetMarginTemperature", 31 + 5 * gpu)
    s.set(gpu, "field.NVML_FI_DEV_MEMORY_TEMP", 52 + 5 * gpu)
    s.set(gpu, "type.NVML_FI_DEV_MEMORY_TEMP", 1)
    for which, celsius in (("SHUTDOWN", 95), ("SLOWDOWN", 92), ("GPU_MAX", 87), ("MEM_MAX", 97)):
        s.set(gpu, f"nvmlDeviceGetTemperatureThreshold.NVML_TEMPERATURE_THRESHOLD_{which}", celsius)
    s.set(gpu, "nvmlDeviceGetMemoryInfo.total", 80_000_000_000 + gpu)
    s.set(gpu, "nvmlDeviceGetMemoryInfo.reserved", 500_000_000 + gpu)
    s.set(gpu, "nvmlDeviceGetMemoryInfo.used", 30_000_000_000 + gpu)
    s.set(gpu, "nvmlDeviceGetMemoryInfo.free", 49_500_000_000 - gpu)
    for i, size in enumerate(("bar1Total", "bar1Free", "bar1Used")):
        s.set(gpu, f"nvmlDeviceGetBAR1MemoryInfo.{size}", (128 << 30) + i)
    for kind in ("CORRECTED", "UNCORRECTED"):
        for counter in ("VOLATILE", "AGGREGATE"):
            put(f"nvmlDeviceGetTotalEccErrors.{kind}.{counter}", step=1000)
    put("nvmlDeviceGetRemappedRows.corrRows")
    put("nvmlDeviceGetRemappedRows.uncRows")
    s.set(gpu, "nvmlDeviceGetRemappedRows.isPending", gpu % 2)
    s.set(gpu, "nvmlDeviceGetRemappedRows.failureOccurred", (gpu + 1) % 2)
    for field, key in (("COR", "corrRows"), ("UNC", "uncRows"), ("PENDING", "isPending"), ("FAILURE", "failureOccurred")):
        s.set(gpu, f"field.NVML_FI_DEV_REMAPPED_{field}", s.lines[str(gpu), f"nvmlDeviceGetRemappedRows.{key}"])
    s.set(gpu, "nvmlDeviceGetRetiredPages.DOUBLE_BIT", 2 + gpu)
    s.set(gpu, "nvmlDeviceGetRetiredPages.MULTIPLE_SINGLE_BIT", 7 + gpu)
    s.set(gpu, "nvmlDeviceGetRetiredPagesPendingStatus", (gpu + 1) % 2)
    s.set(gpu, "field.NVML_FI_DEV_RETIRED_DBE", 2 + gpu)
    s.set(gpu, "field.NVML_FI_DEV_RETIRED_SBE", 7 + gpu)
    s.set(gpu, "field.NVML_FI_DEV_RETIRED_PENDING", (gpu + 1) % 2)
    s.set(gpu, "nvmlDeviceGetMaxPcieLinkGeneration", 5)
    s.set(gpu, "nvmlDeviceGetCurrPcieLinkGeneration", 1 + gpu)
    s.set(gpu, "nvmlDeviceGetMaxPcieLinkWidth", 16)
    s.set(gpu, "nvmlDeviceGetCurrPcieLinkWidth", 2 << gpu)
    put("nvmlDeviceGetPcieReplayCounter", step=70)
    s.set(gpu, "field.NVML_FI_DEV_PCIE_REPLAY_COUNTER", s.lines[str(gpu), "nvmlDeviceGetPcieReplayCounter"])
    put("field.NVML_FI_DEV_PCIE_COUNT_TX_BYTES", step=3_000_000_000)
    put("field.NVML_FI_DEV_PCIE_COUNT_RX_BYTES", step=2_000_000_000)
    put("nvmlDeviceGetPcieThroughput.NVML_PCIE_UTIL_TX_BYTES", step=20)
    put("nvmlDeviceGetPcieThroughput.NVML_PCIE_UTIL_RX_BYTES", step=30)
    for link in range(18):
        s.set(gpu, f"nvmlDeviceGetNvLinkState.{link}", 1)
    for direction in ("TX", "RX"):
        put(f"field.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_{direction}/{ALL_LINKS}", step=9_000_000)
        put(f"field.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_{direction}", step=50)      # of one link
        put(f"field.NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_{direction}/{ALL_LINKS}", step=12_000_000)
    for kind in ("CRC_FLIT", "CRC_DATA", "REPLAY", "RECOVERY"):
        put(f"field.NVML_FI_DEV_NVLINK_{kind}_ERROR_COUNT_TOTAL", step=300)
    s.set(gpu, "nvmlDeviceGetGpuFabricInfo.state", 3)
    s.set(gpu, "nvmlDeviceGetGpuFabricInfo.status", 0)
    s.set(gpu, "nvmlDeviceGetGpuFabricInfo.cliqueId", 0)
    s.set(gpu, "nvmlDeviceGetGpuFabricInfo.healthMask", 2)
    s.set(gpu, "nvmlDeviceGetGpuFabricInfo.healthSummary", 1)
    s.set(gpu, "field.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION", gpu)
    s.set(gpu, "type.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION", 1)
    s.set(gpu, "nvmlGpmQueryDeviceSupport.isSupportedDevice", 1)
    for i, metric in enumerate(GPM):
        s.set(gpu, f"gpm.NVML_GPM_METRIC_{metric}", 2.5 + 4 * i + gpu)
    for i in range(gpu + 1):
        s.set(gpu, f"compute.{i}", f"{4_000_000 + 10 * gpu + i} {(7 + i) << 30}")
    # what nobody may take for something else: each field that this header has, and its neighbours, answer
    for i, name in enumerate(sorted(h.fields)):
        if "NVLINK_COUNT_" not in name and not any(d == str(gpu) and key.split("/")[0] == f"field.{name}" for d, key in s.lines):
            s.set(gpu, f"field.{name}", 600_000_000_000 + 1_000_003 * i + gpu)


def scenario(path: pathlib.Path, cuda: str, h: Header, gpus: int = 3) -> Scenario:
    s = Scenario(path)
    s.set("-", "gpus", gpus)
    s.set("-", "nvmlSystemGetDriverVersion", DRIVERS[cuda])
    s.set("-", "nvmlSystemGetNVMLVersion", f"{cuda.partition('.')[0]}.{DRIVERS[cuda]}")
    major, minor = map(int, cuda.split("."))
    s.set("-", "nvmlSystemGetCudaDriverVersion", 1000 * major + 10 * minor)
    for gpu in range(gpus):
        whole(s, gpu, h)
    s.write()
    return s


class Metric(NamedTuple):
    """A series of a GPU: its labels beyond gpu and uuid, and its value by the scenario; needs a function or field of the header (any of them)."""
    name: str
    labels: dict[str, str]
    value: Callable[[Scenario, int], float]
    needs: tuple[str, ...]


def of(key: str, factor: float = 1) -> Callable[[Scenario, int], float]:
    return lambda s, gpu: s.number(gpu, key) * factor


def _metrics() -> list[Metric]:
    rows: list[Metric] = []

    def add(name: str, value: Callable[[Scenario, int], float], *needs: str, **labels: str) -> None:
        rows.append(Metric("holdup_gpu_" + name, labels, value, needs))

    add("utilization_ratio", of("nvmlDeviceGetUtilizationRates.gpu", 0.01), "nvmlDeviceGetUtilizationRates")
    add("memory_busy_ratio", of("nvmlDeviceGetUtilizationRates.memory", 0.01), "nvmlDeviceGetUtilizationRates")
    add("encoder_utilization_ratio", of("nvmlDeviceGetEncoderUtilization.utilization", 0.01), "nvmlDeviceGetEncoderUtilization")
    add("decoder_utilization_ratio", of("nvmlDeviceGetDecoderUtilization.utilization", 0.01), "nvmlDeviceGetDecoderUtilization")
    for metric, name in GPM.items():
        add(name, of(f"gpm.NVML_GPM_METRIC_{metric}", MIB if "PER_SEC" in metric else 0.01), "nvmlGpmMetricsGet")
    for part in ("used", "total", "free", "reserved"):
        # version 1 counts what is reserved as used
        add(f"memory_{part}_bytes", of(f"nvmlDeviceGetMemoryInfo.{part}"), "nvmlDeviceGetMemoryInfo_v2",
            *(["nvmlDeviceGetMemoryInfo"] if part != "reserved" else []))
    add("power_watts", of("nvmlDeviceGetPowerUsage", 1e-3), "nvmlDeviceGetPowerUsage")
    add("power_instant_watts", of("field.NVML_FI_DEV_POWER_INSTANT", 1e-3), "NVML_FI_DEV_POWER_INSTANT")
    add("power_limit_watts", of("nvmlDeviceGetEnforcedPowerLimit", 1e-3), "nvmlDeviceGetEnforcedPowerLimit")
    add("power_limit_default_watts", of("nvmlDeviceGetPowerManagementDefaultLimit", 1e-3), "nvmlDeviceGetPowerManagementDefaultLimit")
    for end in ("min", "max"):
        add(f"power_limit_{end}_watts", of(f"nvmlDeviceGetPowerManagementLimitConstraints.{end}Limit", 1e-3),
            "nvmlDeviceGetPowerManagementLimitConstraints")
    add("energy_joules_total", of("nvmlDeviceGetTotalEnergyConsumption", 1e-3), "nvmlDeviceGetTotalEnergyConsumption")
    add("temperature_celsius", of("nvmlDeviceGetTemperature"), "nvmlDeviceGetTemperature")
    add("memory_temperature_celsius", of("field.NVML_FI_DEV_MEMORY_TEMP"), "NVML_FI_DEV_MEMORY_TEMP")
    add("temperature_margin_celsius", of("nvmlDeviceGetMarginTemperature"), "nvmlDeviceGetMarginTemperature")
    for name, which in (("sm", "SM"), ("memory", "MEM")):
        add(f"{name}_clock_hertz", of(f"nvmlDeviceGetClockInfo.NVML_CLOCK_{which}", 1e6), "nvmlDeviceGetClockInfo")
        add(f"{name}_clock_max_hertz", of(f"nvmlDeviceGetMaxClockInfo.NVML_CLOCK_{which}", 1e6), "nvmlDeviceGetMaxClockInfo")
    for direction, way in (("transmit", "TX"), ("receive", "RX")):
        add(f"pcie_{direction}_bytes_total", of(f"field.NVML_FI_DEV_PCIE_COUNT_{way}_BYTES"), f"NVML_FI_DEV_PCIE_COUNT_{way}_BYTES")
        add(f"nvlink_{direction}_bytes_total", of(f"field.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_{way}/{ALL_LINKS}", KIB),
            f"NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_{way}")
    for kind in ("crc_flit", "crc_data", "replay", "recovery"):
        add("nvlink_errors_total", of(f"field.NVML_FI_DEV_NVLINK_{kind.upper()}_ERROR_COUNT_TOTAL"),
            f"NVML_FI_DEV_NVLINK_{kind.upper()}_ERROR_COUNT_TOTAL", type=kind)
    add("pcie_replays_total", of("nvmlDeviceGetPcieReplayCounter"), "nvmlDeviceGetPcieReplayCounter")
    add("pcie_link_generation", of("nvmlDeviceGetCurrPcieLinkGeneration"), "nvmlDeviceGetCurrPcieLinkGeneration")
    add("pcie_link_generation_max", of("nvmlDeviceGetMaxPcieLinkGeneration"), "nvmlDeviceGetMaxPcieLinkGeneration")
    add("pcie_link_width", of("nvmlDeviceGetCurrPcieLinkWidth"), "nvmlDeviceGetCurrPcieLinkWidth")
    add("pcie_link_width_max", of("nvmlDeviceGetMaxPcieLinkWidth"), "nvmlDeviceGetMaxPcieLinkWidth")
    add("fabric_state", of("nvmlDeviceGetGpuFabricInfo.state"), "nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetGpuFabricInfo")
    for kind in ("corrected", "uncorrected"):
        add("ecc_errors_total", of(f"nvmlDeviceGetTotalEccErrors.{kind.upper()}.VOLATILE"), "nvmlDeviceGetTotalEccErrors", type=kind)
        add("ecc_errors_lifetime_total", of(f"nvmlDeviceGetTotalEccErrors.{kind.upper()}.AGGREGATE"), "nvmlDeviceGetTotalEccErrors", type=kind)
    add("remapped_rows_total", of("nvmlDeviceGetRemappedRows.corrRows"), "nvmlDeviceGetRemappedRows", cause="corrected")
    add("remapped_rows_total", of("nvmlDeviceGetRemappedRows.uncRows"), "nvmlDeviceGetRemappedRows", cause="uncorrected")
    add("row_remap_pending", of("nvmlDeviceGetRemappedRows.isPending"), "nvmlDeviceGetRemappedRows")
    add("row_remap_failed", of("nvmlDeviceGetRemappedRows.failureOccurred"), "nvmlDeviceGetRemappedRows")
    add("retired_pages_total", of("nvmlDeviceGetRetiredPages.DOUBLE_BIT"), "nvmlDeviceGetRetiredPages", cause="double_bit")
    add("retired_pages_total", of("nvmlDeviceGetRetiredPages.MULTIPLE_SINGLE_BIT"), "nvmlDeviceGetRetiredPages", cause="single_bit")
    add("retired_pages_pending", of("nvmlDeviceGetRetiredPagesPendingStatus"), "nvmlDeviceGetRetiredPagesPendingStatus")
    add("recovery_action", of("field.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION"), "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION")
    add("persistence_mode", of("nvmlDeviceGetPersistenceMode"), "nvmlDeviceGetPersistenceMode")
    add("mig_mode", of("nvmlDeviceGetMigMode.currentMode"), "nvmlDeviceGetMigMode")
    add("processes", lambda s, gpu: sum(s.has(gpu, f"compute.{i}") for i in range(100)), "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetComputeRunningProcesses")
    # the same nanoseconds by both of the calls that tell them
    for policy, reason in (("POWER", "SwPowerCap"), ("SYNC_BOOST", "SyncBoost"), ("BOARD_LIMIT", "BoardLimit"), ("RELIABILITY", "Reliability")):
        add("throttle_seconds_total", of(f"field.NVML_FI_DEV_PERF_POLICY_{policy}", 1e-9), f"NVML_FI_DEV_PERF_POLICY_{policy}", reason=REASONS[reason])
    add("throttle_seconds_total", of("field.NVML_FI_DEV_PERF_POLICY_THERMAL", 1e-9), "NVML_FI_DEV_PERF_POLICY_THERMAL", reason="thermal limit")
    for field, reason in (("SW_THERM", "SwThermalSlowdown"), ("HW_THERM", "HwThermalSlowdown"), ("HW_POWER_BRAKE", "HwPowerBrakeSlowdown")):
        add("throttle_seconds_total", of(f"field.NVML_FI_DEV_CLOCKS_EVENT_REASON_{field}_SLOWDOWN", 1e-9),
            f"NVML_FI_DEV_CLOCKS_EVENT_REASON_{field}_SLOWDOWN", reason=REASONS[reason])
    return rows


METRICS = _metrics()


def close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
