/* SPDX-License-Identifier: Apache-2.0
 * check_storage.c - checks of the topic "storage". */
#include "doctor/doctor.h"

const hu_check hu_checks_storage[] = {
    {.id = NULL},
};
