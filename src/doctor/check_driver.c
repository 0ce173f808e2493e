/* SPDX-License-Identifier: Apache-2.0
 * check_driver.c - checks of the topic "driver". */
#include "doctor/doctor.h"

const hu_check hu_checks_driver[] = {
    {.id = NULL},
};
