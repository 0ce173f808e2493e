/* SPDX-License-Identifier: Apache-2.0
 * processes.h - processes of this node, from /proc: CPU, memory, and who they are. */
#ifndef HU_TOP_PROCESSES_H
#define HU_TOP_PROCESSES_H

#include "monitor/gpu_board.h"
#include "top/look.h"

typedef struct hu_top_processes hu_top_processes;

/* `root` as hu_source_options has it; it must outlive the state.  NULL: no memory, or no /proc. */
hu_top_processes *hu_top_processes_open(const char *root);

/* Puts all processes into a look; `board` says which of them use GPUs (NULL: not known). */
void hu_top_processes_look(hu_top_processes *p, const hu_board_state *board, hu_top_look *l);

void hu_top_processes_close(hu_top_processes *p);

#endif
