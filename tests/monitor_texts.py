# SPDX-License-Identifier: Apache-2.0
"""What monitors write of GPUs, as their documentation and real files have it: one text for each format, of the same facts.

GPU 0 draws 700 W at 1,110 of 1,980 MHz in the first two of five looks, for its power limit; GPU 1 is well.
"""
import json

LOOKS = 5
START = 1_795_000_000   # Unix time of the first look, a second between two
MHZ = [1110, 1200, 1980, 1980, 1980], [1980] * 5
WATTS = [700, 698, 650, 651, 652], [500, 501, 502, 503, 504]
BUSY = [99, 98, 97, 96, 95], [90, 91, 92, 93, 94]
BITS = [4, 4, 0, 0, 0], [0] * 5
REPLAYS = [1, 1, 3, 3, 4], [0] * 5


def uuid(gpu: int) -> str:
    return f"GPU-{gpu:08x}-0000-4000-8000-00000000abcd"


def looks() -> list[tuple[int, int]]:
    return [(look, gpu) for look in range(LOOKS) for gpu in range(2)]


def dmon(dates: bool = False, comma: str = "") -> str:
    """All groups of -s; a heading comes again now and then."""
    names = "gpu   pwr gtemp mtemp    sm   mem   enc   dec  mclk  pclk pviol tviol    fb  bar1 sbecc dbecc   pci rxpci txpci".split()
    units = "Idx     W     C     C     %     %     %     %   MHz   MHz     %  bool    MB    MB  errs  errs  errs  MB/s  MB/s".split()
    joint = f"{comma}  "
    heading = ("#Date       Time        " if dates else "# ") + joint.join(names) + " \n" + ("#YYYYMMDD   HH:MM:SS    " if dates else "# ") + joint.join(units) + " \n"
    if comma:
        heading = heading.replace("#Date       Time ", "#Date, Time, ").replace("# gpu", "#gpu")
    out = ""
    for look, gpu in looks():
        if (look, gpu) in ((0, 0), (3, 0)):
            out += heading
        cells: list[object] = [gpu, WATTS[gpu][look], 60 + gpu, "-", BUSY[gpu][look], 40, 0, 0, 2619, MHZ[gpu][look], 30 if BITS[gpu][look] else 0, 0, 70000, 2, 0, 0, REPLAYS[gpu][look], 4, 5]
        stamp = [f"2026{1118:04}", f"18:26:{40 + look:02}"] if dates else []
        out += " " + joint.join(map(str, stamp + cells)) + "\n"
    return out


def scrape(look: int, old: bool = False, stamp: str = "", help_lines: bool = True) -> str:
    """dcgm-exporter's, in its new or its old names; XID 31 comes with the third look."""
    names = [("dcgm_gpu_utilization", BUSY), ("dcgm_power_usage", WATTS), ("dcgm_sm_clock", MHZ), ("dcgm_pcie_replay_counter", REPLAYS)] if old else \
            [("DCGM_FI_DEV_GPU_UTIL", BUSY), ("DCGM_FI_DEV_POWER_USAGE", WATTS), ("DCGM_FI_DEV_SM_CLOCK", MHZ), ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", REPLAYS),
             ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", BITS), ("DCGM_FI_DEV_XID_ERRORS", ([0, 0, 31, 31, 31], [0] * 5))]
    out = ""
    for name, values in names:
        out += f"# HELP {name} What it is (in units).\n# TYPE {name} gauge\n" if help_lines else ""
        for gpu in range(2):
            labels = f'gpu="{gpu}",uuid="{uuid(gpu)}"' if old else \
                f'gpu="{gpu}",UUID="{uuid(gpu)}",device="nvidia{gpu}",modelName="NVIDIA H100 80GB HBM3",Hostname="n1",container="a \\"b\\", c}}",pod=""'
            out += f"{name}{{{labels}}} {values[gpu][look]}{stamp}\n"
    return out


def dcgmi() -> str:
    out = "#Entity   GPUTL  MCUTL  POWER  SMCLK  TMPTR  FBUSD\nID                      W      MHz    C      MB\n"
    for look, gpu in looks():
        out += f"GPU {gpu}     {BUSY[gpu][look]}     N/A    {WATTS[gpu][look]}.25   {MHZ[gpu][look]}   60     70000\nGPU-I {gpu}   N/A   N/A   N/A   N/A   N/A   N/A\n"
    return out


def amd_gpu(look: int, gpu: int) -> dict[str, object]:
    return {"gpu": gpu, "usage": {"gfx_activity": {"value": BUSY[gpu][look], "unit": "%"}, "umc_activity": {"value": 3, "unit": "%"}, "vcn_activity": ["N/A", {"value": 1}]},
            "power": {"socket_power": {"value": WATTS[gpu][look], "unit": "W"}, "throttle_status": "N/A"},
            "clock": {"gfx_0": {"clk": {"value": MHZ[gpu][look], "unit": "MHz"}, "max_clk": {"value": 2100, "unit": "MHz"}}},
            "temperature": {"edge": "N/A", "hotspot": {"value": 60 + gpu, "unit": "C"}},
            "pcie": {"replay_count": REPLAYS[gpu][look]}, "ecc": {"total_correctable_count": 0, "total_uncorrectable_count": 0},
            "mem_usage": {"total_vram": {"value": 196592, "unit": "MB"}, "used_vram": {"value": 1024, "unit": "MB"}}}


def amd_json(wrapped: bool = True) -> str:
    return "\n".join(json.dumps({"gpu_data": row} if wrapped else row, indent=4) for row in
                     ([amd_gpu(look, gpu) for gpu in range(2)] for look in range(LOOKS)))


def amd_csv() -> str:
    out = "timestamp,gpu,gfx_activity,umc_activity,vcn_activity,socket_power,gfx_0_clk,gfx_0_max_clk,edge,hotspot,used_vram,total_vram\n"
    for look, gpu in looks():
        out += f"{START + look},{gpu},{BUSY[gpu][look]},3,\"['N/A', 'N/A']\",{WATTS[gpu][look]},{MHZ[gpu][look]},2100,N/A,{60 + gpu},1024,196592\n"
    return out


def rocm_csv() -> str:
    out = ""
    for look, gpu in looks():
        out += "device,GPU use (%),Average Graphics Package Power (W),Temperature (Sensor edge) (C),sclk clock speed:\n" if gpu == 0 else ""
        out += f"card{gpu},{BUSY[gpu][look]},{WATTS[gpu][look]}.0,{60 + gpu}.0,({MHZ[gpu][look]}Mhz)\n"
    return out


def rocm_look(title: str, body: str, warning: bool = False) -> str:
    border = "=" * 40
    return ("\n\nWARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status\n" if warning else "\n\n") + \
        f"{border} ROCm System Management Interface {border}\n{border} {title} {border}\n{body}{border}\n{border} End of ROCm SMI Log {border}\n"


def rocm_table(new: bool = False) -> str:
    """rocm-smi without options: of ROCm up to 5, and later."""
    out = ""
    for look in range(LOOKS):
        if new:
            body = ("Device  Node  IDs              Temp    Power     Partitions          SCLK    MCLK    Fan     Perf  PwrCap  VRAM%  GPU%\n"
                    "\x1b[3m              (DID,     GUID)  (Edge)  (Socket)  (Mem, Compute, ID)                                                     \x1b[0m\n" + "=" * 100 + "\n")
            body += "".join(f"{gpu}       {gpu + 2}     0x66a1,   29{gpu}31  {60 + gpu}.0°C  {WATTS[gpu][look]}.0W     N/A, N/A, 0         "
                            f"{MHZ[gpu][look]}Mhz  350Mhz  14.51%  auto  750.0W  4%     {BUSY[gpu][look]}%\n" for gpu in range(2))
        else:
            body = "GPU  Temp (DieEdge)  AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%\n"
            body += "".join(f"{gpu}    {60 + gpu}.0c           {WATTS[gpu][look]}.0W   {MHZ[gpu][look]}Mhz  350Mhz  0%   auto  750.0W  64%    {BUSY[gpu][look]}%\n" for gpu in range(2))
        out += rocm_look("Concise Info", body, warning=new)
    return out


def rocm_lines() -> str:
    """rocm-smi --showtemp --showclocks --showpower --showuse …: a section for each."""
    out = ""
    for look in range(LOOKS):
        part = lambda title, line: f"{'=' * 30} {title} {'=' * 30}\n" + "".join(f"GPU[{gpu}]\t\t: {line(gpu)}\n" for gpu in range(2))
        out += rocm_look("ID", part("PCI Bus ID", lambda g: f"PCI Bus: 0000:4{g}:00.0") + part("Temperature", lambda g: f"Temperature (Sensor edge) (C): {60 + g}.0") +
                         part("Current clock frequencies", lambda g: f"mclk clock level: 3: (1200Mhz)\nGPU[{g}]\t\t: sclk clock level: 1: ({MHZ[g][look]}Mhz)") +
                         part("Power Consumption", lambda g: f"Average Graphics Package Power (W): {WATTS[g][look]}.0") + part("% time GPU is busy", lambda g: f"GPU use (%): {BUSY[g][look]}") +
                         part("Memory Info (VRAM)", lambda g: f"VRAM Total Memory (B): 34342961152\nGPU[{g}]\t\t: VRAM Total Used Memory (B): {1 << 30}"))
    return out


def amd_text() -> str:
    """amd-smi metric, as a person sees it."""
    return "\n".join(f"""GPU: {gpu}
    USAGE:
        GFX_ACTIVITY: {BUSY[gpu][look]} %
        UMC_ACTIVITY: 3 %
        MM_ACTIVITY: N/A
        VCN_ACTIVITY: [N/A, 0 %]
    POWER:
        SOCKET_POWER: {WATTS[gpu][look]} W
        THROTTLE_STATUS: N/A
    CLOCK:
        GFX_0:
            CLK: {MHZ[gpu][look]} MHz
            MIN_CLK: 500 MHz
            MAX_CLK: 2100 MHz
            CLK_LOCKED: DISABLED
        MEM_0:
            CLK: 900 MHz
            MAX_CLK: 1300 MHz
        VCLK_0:
            CLK: 29 MHz
    TEMPERATURE:
        EDGE: N/A
        HOTSPOT: {60 + gpu} °C
        MEM: 50 °C
    PCIE:
        WIDTH: 16
        REPLAY_COUNT: {REPLAYS[gpu][look]}
    ECC:
        TOTAL_CORRECTABLE_COUNT: 0
        TOTAL_UNCORRECTABLE_COUNT: 0
    MEM_USAGE:
        TOTAL_VRAM: 196592 MB
        USED_VRAM: 1024 MB
""" for look, gpu in looks())


TOPOLOGY = """\
\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV4\tSYS\tSYS\tSYS\t0-31\t0\t\tN/A
GPU1\tNV4\t X \tSYS\tSYS\tSYS\t0-31\t0\t\tN/A
GPU2\tSYS\tSYS\t X \tNV4\tPIX\t32-63\t1\t\tN/A
GPU3\tSYS\tSYS\tNV4\t X \tNODE\t32-63\t1\t\tN/A
NIC0\tSYS\tSYS\tPIX\tNODE\t X \t\t\t\t

Legend:

  X    = Self

NIC Legend:

  NIC0: mlx5_0
"""

QUERY = """
==============NVSMI LOG==============

Timestamp                                 : Fri Jul  3 22:11:{second:02} 2026
Driver Version                            : 535.54.03

Attached GPUs                             : 1
GPU 00000000:01:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    GPU UUID                              : GPU-00000000-0000-4000-8000-00000000abcd
    PCI
        Bus Id                            : 00000000:01:00.0
        GPU Link Info
            Link Width
                Max                       : 16x
                Current                   : 8x
        Replays Since Reset               : {second}
    Clocks Throttle Reasons
        Idle                              : Not Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
            HW Power Brake Slowdown       : Not Active
        SW Thermal Slowdown               : Not Active
    FB Memory Usage
        Total                             : 81920 MiB
        Used                              : 1024 MiB
    Utilization
        Gpu                               : 90 %
        Memory                            : 7 %
    ECC Errors
        Volatile
            SRAM Uncorrectable            : 0
            DRAM Uncorrectable            : 2
    Remapped Rows
        Pending                           : Yes
    Temperature
        GPU Current Temp                  : 92 C
        GPU Slowdown Temp                 : 89 C
    Power Readings
        Power Draw                        : 67.03 W
        Enforced Power Limit              : 500.00 W
    Clocks
        SM                                : 705 MHz
    Max Clocks
        SM                                : 1410 MHz
"""


def query() -> str:
    return "".join(QUERY.format(second=s) for s in (9, 10, 11))


XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<!-- <gpu> in a comment -->
<nvidia_smi_log>
  <timestamp>Fri Jul  3 22:11:{second:02} 2026</timestamp>
  <driver_version>535.54.03</driver_version>
  <gpu id="00000000:01:00.0">
    <product_name>NVIDIA A100-SXM4-80GB</product_name>
    <mig_mode><current_mig>Disabled</current_mig></mig_mode>
    <mig_devices><mig_device><fb_memory_usage><used>5 MiB</used></fb_memory_usage></mig_device></mig_devices>
    <uuid>GPU-00000000-0000-4000-8000-00000000abcd</uuid>
    <clocks_throttle_reasons><clocks_throttle_reason_hw_thermal_slowdown>Active</clocks_throttle_reason_hw_thermal_slowdown></clocks_throttle_reasons>
    <utilization>
      <gpu_util>
        90 %
      </gpu_util>
    </utilization>
    <clocks><sm_clock>705 MHz</sm_clock></clocks><max_clocks><sm_clock>1410 MHz</sm_clock></max_clocks>
    <processes><process_info><process_name>a &amp; b</process_name></process_info></processes>
    <empty/>
  </gpu>
</nvidia_smi_log>
"""


def xml() -> str:
    return "".join(XML.format(second=s) for s in (9, 10, 11))


def csv(timed: bool = True) -> str:
    out = ("timestamp, " if timed else "") + ("index, utilization.gpu [%], clocks.current.sm [MHz], clocks.max.sm [MHz], power.draw [W], power.limit [W], "
                                               "clocks_event_reasons.active, clocks_event_reasons_counters.sw_power_cap [us], ecc.errors.uncorrected.volatile.total\n")
    for look, gpu in looks():
        stamp = f"2026/11/18 18:26:{40 + look:02}.250, " if timed else ""
        out += f"{stamp}{gpu}, {BUSY[gpu][look]} %, {MHZ[gpu][look]} MHz, 1980 MHz, {WATTS[gpu][look]}.00 W, 700.00 W, 0x{BITS[gpu][look]:016X}, {look * 500000 * (1 - gpu)} us, [N/A]\n"
    return out


ALL = {"dmon": dmon(), "dmon-dates": dmon(True), "dmon-csv": dmon(True, ","), "scrape": scrape(0), "scrapes": "".join(map(scrape, range(LOOKS))),
       "scrapes-old": "".join(scrape(look, old=True) for look in range(LOOKS)), "dcgmi": dcgmi(), "amd-json": amd_json(), "amd-csv": amd_csv(), "rocm-csv": rocm_csv(),
       "rocm-table": rocm_table(), "rocm-table-6": rocm_table(True), "rocm-lines": rocm_lines(), "amd-text": amd_text(),
       "topology": TOPOLOGY, "query": query(), "xml": xml(), "csv": csv(), "csv-plain": csv(False)}
