/* SPDX-License-Identifier: Apache-2.0
 * tar.h - POSIX archives of small files (ustar, with pax records for long names), written as they come and looked into
 * where they lie in memory. */
#ifndef HU_DOCTOR_TAR_H
#define HU_DOCTOR_TAR_H

#include "base/gzip_out.h"

typedef enum { HU_TAR_FILE = '0', HU_TAR_LINK = '2', HU_TAR_FOLDER = '5' } hu_tar_type;

/* Writes one member: a file's content, or a link's target as `content`.  Owner 0, time 0: it says nothing of who wrote
   it. */
void hu_tar_add(hu_gzip_out *z, hu_tar_type type, hu_str name, hu_str content);

/* What ends an archive. */
void hu_tar_end(hu_gzip_out *z);

/* Does it begin like an archive? */
bool hu_tar_probe(hu_str archive);

/* The content of the first file whose name is `name`, or ends in it behind a slash; false: there is none, or it is cut.
   Names of over 100 bytes are not looked at. */
bool hu_tar_find(hu_str archive, hu_str name, hu_str *content);

#endif
