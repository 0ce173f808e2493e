/* SPDX-License-Identifier: Apache-2.0
 * check_processor.c - checks of the topic "processor". */
#include "doctor/doctor.h"

const hu_check hu_checks_processor[] = {
    {.id = NULL},
};
