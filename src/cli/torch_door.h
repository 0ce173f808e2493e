/* SPDX-License-Identifier: Apache-2.0
 * torch_door.h - what the hook of --pytorch did, or why it did nothing, as sentences at the end of `holdup run`. */
#ifndef HU_CLI_TORCH_DOOR_H
#define HU_CLI_TORCH_DOOR_H

#include "record/tally.h"

void hu_torch_door_say(const hu_tally *tally);

#endif
