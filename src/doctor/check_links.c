/* SPDX-License-Identifier: Apache-2.0
 * check_links.c - checks of the topic "links". */
#include "doctor/doctor.h"

const hu_check hu_checks_links[] = {
    {.id = NULL},
};
