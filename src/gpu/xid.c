/* SPDX-License-Identifier: Apache-2.0
 * xid.c - the table, and the driver's lines in the kernel's log. */
#include "gpu/xid.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define P HU_XID_FAULT_PROGRAM
#define D HU_XID_FAULT_DRIVER
#define H HU_XID_FAULT_HARDWARE

#define DEBUG_PROGRAM \
    "run the program under compute-sanitizer or cuda-gdb; suspect hardware if it follows the GPU, not the program"
#define RESTART         "start the job again; what comes again on the same GPU goes to the vendor's support"
#define RESET           "drain the GPU and reset it (nvidia-smi -r) or reboot; what comes again goes to the vendor's support"
#define NVLINK_5        "read the line: it says whether the link failed; where it did, drain the GPU and reset it"
#define AGAIN           "nothing; send it to the vendor's support if it comes again"
#define NO_ACTION_KNOWN "NVIDIA's catalog names no action: send nvidia-bug-report.sh's file to the vendor's support"

/* One that NVIDIA gives to each unit of a kind. */
#define ENGINE(code, name)                             \
    {                                                  \
        code, name, HU_XID_WARNING, P | D | H, RESTART \
    }
#define LINK(code, part)                                                   \
    {                                                                      \
        code, "NVLink 5 error (" part ")", HU_XID_WARNING, D | H, NVLINK_5 \
    }

/* clang-format off */
const hu_xid hu_xids[] = {
    {8, "GPU stopped processing", HU_XID_WARNING, P | D | H, RESTART},
    {11, "invalid command stream", HU_XID_APPLICATION, P | D,
     "start the job again; check the program and its CUDA version"},
    {13, "exception in a compute or graphics engine", HU_XID_APPLICATION, P, DEBUG_PROGRAM},
    {14, "injected error", HU_XID_NOTE, P, "nothing: somebody made it on purpose"},
    {25, "illegal command stream", HU_XID_APPLICATION, P | D,
     "start the job again; check the program and its CUDA version"},
    {31, "GPU memory page fault", HU_XID_APPLICATION, P, DEBUG_PROGRAM},
    {32, "corrupted command stream", HU_XID_WARNING, H | D,
     "start the job again; look for PCIe errors of this GPU: most often the quality of the bus"},
    {37, "driver's firmware error", HU_XID_NOTE, P | D, "nothing; check the program and its CUDA version if it comes again"},
    {38, "driver's firmware error", HU_XID_NOTE, D, AGAIN},
    ENGINE(39, "copy engine 0 error"),
    ENGINE(40, "copy engine 1 error"),
    ENGINE(41, "copy engine 2 error"),
    {43, "a program's channel was stopped", HU_XID_APPLICATION, P, "look at the program: it failed, and the GPU is well"},
    {44, "fault during a context switch", HU_XID_NOTE, D, AGAIN},
    {45, "a program was removed from the GPU", HU_XID_APPLICATION, P,
     "nothing after Ctrl-C, a kill or a reset; otherwise go by the error beside it"},
    {46, "GPU stopped processing", HU_XID_CRITICAL, D | H, RESET},
    {48, "uncorrectable ECC error", HU_XID_CRITICAL, H,
     "drain the GPU and reset it; see nvidia-smi -q -d ECC,ROW_REMAPPER for whether it must be replaced"},
    {54, "auxiliary power is not connected", HU_XID_CRITICAL, H, "check the power cables of the board"},
    ENGINE(60, "video processor exception"),
    {62, "GPU's own controller halted", HU_XID_CRITICAL, H | D, RESET},
    {63, "a row or page of memory is to be replaced", HU_XID_WARNING, H,
     "reset the GPU once its jobs have ended: the spare takes effect then"},
    {64, "a row or page of memory could not be replaced", HU_XID_CRITICAL, H, RESET},
    {66, "illegal access by the driver", HU_XID_NOTE, D, "nothing; update the driver if it comes again"},
    {67, "illegal access by the driver", HU_XID_NOTE, D, AGAIN},
    ENGINE(68, "video decoder 0 error"),
    {69, "graphics engine class error", HU_XID_APPLICATION, P | D,
     "start the job again; check the program and its CUDA version"},
    ENGINE(70, "copy engine 3 error"),
    ENGINE(71, "copy engine 4 error"),
    ENGINE(72, "copy engine 5 error"),
    {74, "NVLink error", HU_XID_CRITICAL, H,
     "drain the GPU and reset it with its peers; nvidia-smi nvlink -e names the link, whose other end may have failed"},
    ENGINE(75, "copy engine 6 error"),
    ENGINE(76, "copy engine 7 error"),
    ENGINE(77, "copy engine 8 error"),
    {78, "virtual GPU cannot start", HU_XID_WARNING, D, "update the drivers of host and guest to versions that go together"},
    {79, "GPU has fallen off the bus", HU_XID_CRITICAL, H,
     "drain the node and restart it, from power off where a reboot does not help; look at seat, power and PCIe errors"},
    {80, "corrupted data sent to the GPU", HU_XID_WARNING, H | D | P,
     "start the job again; look for PCIe errors of this GPU"},
    ENGINE(82, "JPEG unit 0 error"),
    ENGINE(83, "video decoder 1 error"),
    ENGINE(84, "video decoder 2 error"),
    ENGINE(85, "copy engine 9 error"),
    ENGINE(86, "optical flow unit error"),
    ENGINE(88, "video decoder 3 error"),
    ENGINE(89, "video decoder 4 error"),
    {92, "many corrected ECC errors", HU_XID_WARNING, H, "nothing now; have the GPU tested if it comes again"},
    {93, "InfoROM may not be written: its wear limit is set", HU_XID_NOTE, P,
     "nothing; clear the limit if nobody set it on purpose"},
    {94, "memory error, contained to one program", HU_XID_WARNING, H,
     "start the job again; reset the GPU once its jobs have ended"},
    {95, "memory error, not contained", HU_XID_CRITICAL, H,
     "drain the GPU and reset it before any job starts on it; results of its jobs are in doubt"},
    ENGINE(96, "video decoder 5 error"),
    ENGINE(97, "video decoder 6 error"),
    ENGINE(98, "video decoder 7 error"),
    ENGINE(99, "JPEG unit 1 error"),
    ENGINE(100, "JPEG unit 2 error"),
    ENGINE(101, "JPEG unit 3 error"),
    ENGINE(102, "JPEG unit 4 error"),
    ENGINE(103, "JPEG unit 5 error"),
    ENGINE(104, "JPEG unit 6 error"),
    ENGINE(105, "JPEG unit 7 error"),
    {106, "test message", HU_XID_NOTE, D, "nothing"},
    {107, "test message", HU_XID_NOTE, D, "nothing"},
    {109, "context switch took too long", HU_XID_CRITICAL, P | D | H, RESET},
    {110, "security fault", HU_XID_CRITICAL, H,
     "restart the node from power off, without hardware that was added last; else the vendor's support"},
    {119, "GPU's own processor (GSP) does not answer", HU_XID_CRITICAL, D | H,
     "drain the GPU and reset it, or restart the node from power off; update the driver if it comes again"},
    {120, "error of the GPU's own processor (GSP)", HU_XID_CRITICAL, D | H,
     "drain the GPU and reset it, or restart the node from power off; update the driver if it comes again"},
    {121, "corrected errors between CPU and GPU (C2C)", HU_XID_NOTE, H,
     "nothing: they were corrected; a reset at leisure trains the link anew"},
    ENGINE(126, "copy engine 10 error"),
    ENGINE(127, "copy engine 11 error"),
    ENGINE(128, "copy engine 12 error"),
    ENGINE(129, "copy engine 13 error"),
    ENGINE(130, "copy engine 14 error"),
    ENGINE(131, "copy engine 15 error"),
    ENGINE(132, "copy engine 16 error"),
    ENGINE(133, "copy engine 17 error"),
    ENGINE(134, "copy engine 18 error"),
    ENGINE(135, "copy engine 19 error"),
    {136, "NVLink cannot be trained", HU_XID_CRITICAL, H,
     "drain the GPU and reset it; check the link's signal if it comes again"},
    {137, "illegal access over NVLink", HU_XID_APPLICATION, P, DEBUG_PROGRAM},
    ENGINE(139, "optical flow unit 1 error"),
    {140, "uncorrectable ECC error that nothing replaced", HU_XID_CRITICAL, H, RESET},
    {141, "CUDA fast path error", HU_XID_NOTE, P | D, AGAIN},
    {142, "video encoder 3 error", HU_XID_WARNING, P | D | H, "send it to the vendor's support"},
    {143, "GPU cannot be initialized", HU_XID_CRITICAL, H | D, RESET},
    LINK(144, "SAW"),
    LINK(145, "RLW"),
    LINK(146, "TLW"),
    LINK(147, "TREX"),
    LINK(148, "NVLPW_CTRL"),
    LINK(149, "NETIR"),
    LINK(150, "MSE"),
    {151, "key rotation error (confidential computing)", HU_XID_WARNING, D | H, "restart the virtual machine"},
    {152, "deep-learning accelerator: memory error", HU_XID_NOTE, P | D, AGAIN},
    {153, "deep-learning accelerator: timeout", HU_XID_NOTE, P | D, AGAIN},
    {154, "recovery action changed", HU_XID_NOTE, D | H,
     "do what its line says (none, GPU reset, node reboot, drain): it sums up the errors beside it"},
    {155, "NVLink went down, as told by software", HU_XID_WARNING, P | D,
     "nothing if somebody took the link down; otherwise reset the GPU"},
    {156, "a part of the GPU was retired", HU_XID_WARNING, H, "reset the GPU once its jobs have ended"},
    {157, "a part of the GPU could not be retired", HU_XID_WARNING, H,
     "jobs can run, and the error may come again: have the GPU tested"},
    {158, "a fatal timeout in the GPU", HU_XID_CRITICAL, H | D, RESET},
    {159, "error on a coherent link (CHI)", HU_XID_WARNING, D | H,
     "go by the errors beside it; alone, the vendor's support"},
    {160, "a channel was retired", HU_XID_NOTE, D | H, AGAIN},
    {161, "a channel could not be retired", HU_XID_NOTE, D | H, AGAIN},
    {162, "power smoothing is on again", HU_XID_NOTE, H, "nothing"},
    {163, "power smoothing is off", HU_XID_NOTE, H,
     "cool the GPU where power smoothing is wanted; a reset puts it on again"},
    {164, "power smoothing wears out", HU_XID_NOTE, H, "plan to replace the GPU where power smoothing is wanted"},
    {165, "power smoothing is worn out", HU_XID_NOTE, H, "replace the GPU where power smoothing is wanted"},
    {166, "NVLink traffic before encryption (confidential computing)", HU_XID_WARNING, D, NO_ACTION_KNOWN},
    {167, "fatal timeout on PCIe", HU_XID_WARNING, H, NO_ACTION_KNOWN},
    {168, "less GPU memory than it has: errors in a protected region", HU_XID_WARNING, H,
     "switch ECC on (nvidia-smi -e 1) and reset the GPU: rows are replaced then"},
    {169, "GPU's own controller halted", HU_XID_WARNING, H | D, NO_ACTION_KNOWN},
    {170, "NVLink interrupt (confidential computing)", HU_XID_WARNING, D | H, NO_ACTION_KNOWN},
    {171, "uncorrectable error in DRAM", HU_XID_WARNING, H, "go by XID 48, which comes with it"},
    {172, "uncorrectable error in SRAM", HU_XID_WARNING, H, "go by XID 48, which comes with it"},
};
/* clang-format on */
const size_t hu_xids_n = sizeof hu_xids / sizeof *hu_xids;

const hu_xid *hu_xid_find(unsigned long code)
{
    for (size_t i = 0; i < hu_xids_n; i++)
        if (hu_xids[i].code == code)
            return &hu_xids[i];
    return NULL;
}

const char *hu_xid_severity_word(hu_xid_severity severity)
{
    static const char *const words[] = {[HU_XID_NOTE] = "note",
                                        [HU_XID_APPLICATION] = "application",
                                        [HU_XID_WARNING] = "warning",
                                        [HU_XID_CRITICAL] = "critical"};

    return words[severity];
}

const char *hu_xid_fault_words(unsigned fault)
{
    static const char *const words[] = {"not known",
                                        "program",
                                        "driver",
                                        "program or driver",
                                        "hardware",
                                        "hardware or program",
                                        "hardware or driver",
                                        "program, driver or hardware"};

    return words[fault & (P | D | H)];
}

bool hu_xid_of_text(const char *text, char bus[HU_XID_BUS], unsigned long *code)
{
    static const char mark[] = "NVRM: Xid (";
    size_t            n = 0;
    char             *end;

    bus[0] = '\0';
    if (strncmp(text, mark, sizeof mark - 1) != 0)
        return false;
    text += sizeof mark - 1;
    if (strncmp(text, "PCI:", 4) == 0)
        text += 4;
    for (; (isxdigit((unsigned char)text[n]) || text[n] == ':' || text[n] == '.') && n < HU_XID_BUS - 1; n++)
        bus[n] = (char)tolower((unsigned char)text[n]);
    bus[n] = '\0';
    if (n == 0 || strncmp(text + n, "): ", 3) != 0 || !isdigit((unsigned char)text[n + 3]))
        return false;
    *code = strtoul(text + n + 3, &end, 10);
    return *end == ',' || *end == '\0' || *end == ' ';
}
