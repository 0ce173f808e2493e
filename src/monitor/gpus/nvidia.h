/* SPDX-License-Identifier: Apache-2.0
 * nvidia.h - for the nvidia_*.c alone: the state of the source of NVIDIA's GPUs.
 *
 * Only the fast look hands out rows.  The others fill buffers of each GPU, and the fast one adds those of the GPUs that
 * answered it: so nothing that was measured of a GPU is shown a look longer than the GPU is there.
 */
#ifndef HU_MONITOR_GPUS_NVIDIA_H
#define HU_MONITOR_GPUS_NVIDIA_H

#include "gpu/nvml_fields.h"
#include "gpu/nvml_gpm.h"
#include "gpu/nvml_processes.h"
#include "gpu/nvml_values.h"
#include "monitor/source.h"

enum {
    HU_NV_PCI_MOST = HU_GPU_MOST,
    HU_NV_BUS_TEXT = 32,
    HU_NV_NUMBER_TEXT = 16,
    HU_NV_PARTS_MOST = HU_BOARD_GPUS - HU_GPU_MOST
};

/* NVIDIA GPUs on the PCI bus, whether a driver has them or not. */
typedef struct {
    char     root[512];
    char     at[HU_NV_PCI_MOST][HU_NV_BUS_TEXT]; /* "0000:3b:00.0", sorted */
    size_t   n;
    uint64_t names; /* hash of the names of all devices: they are looked into only when it changes, or seldom */
    unsigned scans;
} hu_nv_bus;

void hu_nv_bus_scan(hu_nv_bus *b);
bool hu_nv_bus_has(const hu_nv_bus *b, const char *address);

/* "00000000:3B:00.0" of NVML as sysfs writes it. */
void hu_nv_bus_address(const char *nvml, char out[HU_NV_BUS_TEXT]);

/* Processes of a GPU or a part of one. */
typedef struct {
    uint32_t            n, pid[HU_BOARD_PIDS];
    uint64_t            memory[HU_BOARD_PIDS]; /* of each, when the list was asked for last; HU_NVML_NO_BYTES: not known */
    uint32_t            n_uses;
    bool                has_uses; /* who is not among them used nothing */
    hu_nvml_process_use use[HU_BOARD_PIDS];
    uint64_t            uses_since_us;
} hu_nv_users;

typedef struct {
    hu_nvml_device d;
    int            number; /* of the driver's tools */
    char           number_text[HU_NV_NUMBER_TEXT], bus[HU_NV_BUS_TEXT];
    bool           is_up;      /* it has a handle and is not lost */
    bool           is_silent;  /* the last look got nothing but unknown errors */
    bool           is_missing; /* the driver does not list it any more, the bus does */
    bool           has_medium, has_slow;
    unsigned       silences; /* such looks in a row */
    int            code;     /* why it is lost */
    int            backoff;  /* of the next pause before it is asked again */
    int64_t        retry_ns;
    void          *heard;  /* the handle whose errors the driver was asked for */
    double         busy;   /* less than 0: not known */
    double         joules; /* of its energy counter; 0: not known */
    hu_nvml_gpm    gpm;
    hu_nvml_links  links;
    hu_nv_users    users;
    hu_readings    fast, medium, slow; /* rows of the last looks */
} hu_nv_gpu;

/* A MIG device.  Memory and work are known of GPU instances: the first of each instance's devices has them. */
typedef struct {
    hu_nvml_device d;
    size_t         gpu; /* index in hu_nvidia.gpu */
    unsigned       gi, ci;
    bool           is_first;
    char           gi_text[HU_NV_NUMBER_TEXT], ci_text[HU_NV_NUMBER_TEXT];
    double         busy;
    hu_nvml_gpm    gpm;
    hu_nv_users    users;
} hu_nv_part;

typedef struct {
    const hu_source_options *options;
    hu_nvml                 *nvml; /* NULL: there is no driver just now */
    int                      code; /* why; 0: it is there, or was closed because no GPU answers */
    char                     driver[HU_NVML_TEXT];
    hu_nv_bus                bus;
    hu_nv_gpu                gpu[HU_GPU_MOST];
    size_t                   n;
    int                      n_driver; /* GPUs that the driver lists */
    hu_nv_part              *part;     /* HU_NV_PARTS_MOST of them */
    size_t                   n_parts;
    hu_nvml_buffer           buffer;
    int                      backoff; /* of the next pause before NVML is opened again */
    int64_t                  open_ns, reopen_ns;
    int                      log; /* the kernel's; -1: it cannot be read */
    int                      log_errno;
    bool                     is_driver_gone;
    bool                     is_stale; /* the driver has other GPUs than we know, or may have */
    bool                     is_xid_table_full;
    hu_board_state          *board;
} hu_nvidia;

/* Looks: rows go to the GPU's buffers.  A GPU that turns out to be lost is marked. */
void hu_nv_look_fast(hu_nvidia *s, hu_nv_gpu *g, int64_t now_ns);
void hu_nv_look_medium(hu_nvidia *s, hu_nv_gpu *g);
void hu_nv_look_slow(hu_nvidia *s, hu_nv_gpu *g);

/* The same of the MIG devices of a GPU, into the GPU's buffers. */
void hu_nv_parts_fast(hu_nvidia *s, hu_nv_gpu *g, int64_t now_ns);
void hu_nv_parts_medium(hu_nvidia *s, hu_nv_gpu *g);
void hu_nv_parts_slow(hu_nvidia *s, hu_nv_gpu *g); /* also finds which there are */
void hu_nv_parts_drop(hu_nvidia *s, const hu_nv_gpu *g);

/* Values that GPUs and GPU instances have alike. */
void hu_nv_put_gpm(hu_readings *out, const hu_nvml_gpm *m, const char *number, const char *uuid, const char *gi);
void hu_nv_put_memory(hu_readings *out, const int64_t a[HU_NVML_ANSWERS], const char *number, const char *uuid,
                      const char *gi);

/* True: the code is of one that has to be given up; the GPU, or the driver with all of them, is marked as lost. */
bool hu_nv_is_lost(hu_nvidia *s, hu_nv_gpu *g, hu_nvml_class class, int code);

/* Errors (XID): what the driver tells, and what it writes to the kernel's log. */
void hu_nv_log_open(hu_nvidia *s);
void hu_nv_log_close(hu_nvidia *s);
void hu_nv_xid_hear(hu_nvidia *s);
void hu_nv_xid_put(const hu_nvidia *s, hu_readings *out);

#endif
