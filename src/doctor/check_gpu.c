/* SPDX-License-Identifier: Apache-2.0
 * check_gpu.c - checks of the topic "gpu". */
#include "doctor/doctor.h"

const hu_check hu_checks_gpu[] = {
    {.id = NULL},
};
