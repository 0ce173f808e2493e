/* SPDX-License-Identifier: Apache-2.0
 * check_network.c - checks of the topic "network". */
#include "doctor/doctor.h"

const hu_check hu_checks_network[] = {
    {.id = NULL},
};
