/* SPDX-License-Identifier: Apache-2.0
 * check_memory.c - checks of the topic "memory". */
#include "doctor/doctor.h"

const hu_check hu_checks_memory[] = {
    {.id = NULL},
};
