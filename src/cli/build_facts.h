/* SPDX-License-Identifier: Apache-2.0
 * build_facts.h - what the build wrote down of itself, for `holdup --version`. */
#ifndef HU_CLI_BUILD_FACTS_H
#define HU_CLI_BUILD_FACTS_H

#define HU_BUILD_NO_COMMIT "unknown" /* as meson.build says */

extern const char hu_build_commit[]; /* and " with changes"; HU_BUILD_NO_COMMIT: sources in no repository */
extern const char hu_build_compiler[], hu_build_options[], hu_build_machine[];

#endif
