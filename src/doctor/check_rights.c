/* SPDX-License-Identifier: Apache-2.0
 * check_rights.c - checks of the topic "rights". */
#include "doctor/doctor.h"

const hu_check hu_checks_rights[] = {
    {.id = NULL},
};
