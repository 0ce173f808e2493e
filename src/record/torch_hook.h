/* SPDX-License-Identifier: Apache-2.0
 * torch_hook.h - the hook of --pytorch, as files of a session that Python finds by PYTHONPATH (python/hook/). */
#ifndef HU_RECORD_TORCH_HOOK_H
#define HU_RECORD_TORCH_HOOK_H

#include "base/error.h"

#define HU_TORCH_HOOK_FOLDER "python" /* of the session */

/* Writes them; hu_session_remove removes them.  0 or HU_EIO. */
int hu_torch_hook_write(const char *session, hu_error *err);

#endif
