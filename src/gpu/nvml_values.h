/* SPDX-License-Identifier: Apache-2.0
 * nvml_values.h - single values of a GPU: one question, up to four answers, in the driver's own units. */
#ifndef HU_GPU_NVML_VALUES_H
#define HU_GPU_NVML_VALUES_H

#include "gpu/nvml.h"

enum { HU_NVML_ANSWERS = 4 };

/* Q(id, answers): what the answers are. */
/* clang-format off */
#define HU_NVML_QUESTIONS(Q)                                                   \
    Q(USE)             /* percent of time: a kernel ran, memory was accessed */ \
    Q(ENCODER)         /* percent */                                           \
    Q(DECODER)         /* percent */                                           \
    Q(SM_CLOCK)        /* MHz */                                               \
    Q(MEMORY_CLOCK)    /* MHz */                                               \
    Q(POWER)           /* mW */                                                \
    Q(REASONS)         /* bits of gpu_counters.h */                            \
    Q(MEMORY)          /* bytes: used, total, free, reserved (-1 not known) */ \
    Q(TEMPERATURE)     /* degrees C */                                         \
    Q(MARGIN)          /* degrees C until it slows down */                     \
    Q(ENERGY)          /* mJ since the driver was loaded */                    \
    Q(MOST_CLOCKS)     /* MHz: SM, memory */                                   \
    Q(POWER_LIMIT)     /* mW, enforced */                                      \
    Q(POWER_DEFAULT)   /* mW */                                                \
    Q(POWER_RANGE)     /* mW: least, most */                                   \
    Q(ECC)             /* errors since the driver was loaded: corrected, uncorrected */ \
    Q(ECC_LIFE)        /* errors of its life: corrected, uncorrected */        \
    Q(ROWS)            /* remapped rows: corrected, uncorrected; pending, failed (0, 1) */ \
    Q(PAGES)           /* retired pages: of single-bit errors, of double-bit errors */ \
    Q(PAGES_PENDING)   /* 0, 1 */                                              \
    Q(PERSISTENCE)     /* 0, 1 */                                              \
    Q(PCIE_GENERATION)                                                         \
    Q(PCIE_GENERATION_MOST)                                                    \
    Q(PCIE_WIDTH)      /* lanes */                                             \
    Q(PCIE_WIDTH_MOST)                                                         \
    Q(PCIE_REPLAYS)    /* count */                                             \
    Q(MIG)             /* is it divided: 0, 1 */                               \
    Q(FABRIC)          /* state (HU_FABRIC_...), NVML's code, summary of its health (0 not known) */
/* clang-format on */

typedef enum {
#define Q(id) HU_NVML_ASK_##id,
    HU_NVML_QUESTIONS(Q)
#undef Q
        HU_NVML_QUESTION_COUNT
} hu_nvml_question;

enum { HU_FABRIC_NOT_SUPPORTED, HU_FABRIC_NOT_STARTED, HU_FABRIC_IN_PROGRESS, HU_FABRIC_COMPLETED };
enum { HU_FABRIC_HEALTHY = 1, HU_FABRIC_UNHEALTHY, HU_FABRIC_LIMITED };

/* NEVER: also without asking, when it was the answer before.  What is out of a sensible range is LATER. */
hu_nvml_class hu_nvml_ask(hu_nvml *n, hu_nvml_device *d, hu_nvml_question which, int64_t answer[HU_NVML_ANSWERS], int *code);

#endif
