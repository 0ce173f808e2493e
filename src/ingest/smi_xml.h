/* SPDX-License-Identifier: Apache-2.0
 * smi_xml.h - `nvidia-smi -q -x`, once or in a loop. */
#ifndef HU_INGEST_SMI_XML_H
#define HU_INGEST_SMI_XML_H

#include "ingest/node_sink.h"

bool hu_smi_xml_probe(hu_str head);

/* Adds a file.  Returns 0, HU_ENOMEM, HU_ELIMIT, HU_EIO or HU_EFORMAT. */
int hu_smi_xml_read(hu_node_sink *sink, hu_input *in, hu_error *err);

#endif
