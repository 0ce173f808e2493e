/* SPDX-License-Identifier: Apache-2.0
 * banned.h - what we never call, and why; the compiler says no, so no reviewer has to. */
#ifndef HU_BASE_BANNED_H
#define HU_BASE_BANNED_H

#ifdef __GNUC__
/* Depend on the locale: a comma in a number would be a bug that only some users see.  Use base/number.h. */
#pragma GCC poison strtod strtof atof atoi atol atoll
/* No length.  Use snprintf or hu_out. */
#pragma GCC poison strcpy strcat sprintf vsprintf gets
/* Hidden state.  Use hu_str. */
#pragma GCC poison strtok
/* Would change numbers under a host program's feet. */
#pragma GCC poison setlocale
#endif

#endif
