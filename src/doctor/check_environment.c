/* SPDX-License-Identifier: Apache-2.0
 * check_environment.c - checks of the topic "environment". */
#include "doctor/doctor.h"

const hu_check hu_checks_environment[] = {
    {.id = NULL},
};
