/* SPDX-License-Identifier: Apache-2.0
 * check_libraries.c - checks of the topic "libraries". */
#include "doctor/doctor.h"

const hu_check hu_checks_libraries[] = {
    {.id = NULL},
};
