/* SPDX-License-Identifier: Apache-2.0
 * yaml.h - libyaml: the file of `holdup monitor --web-config`. */
#ifndef HU_BASE_LATE_YAML_H
#define HU_BASE_LATE_YAML_H

#include <yaml.h>

#include "base/late.h"

/* clang-format off */
#define HU_YAML_FUNCTIONS(F) \
    F(yaml_document_delete) F(yaml_document_get_node) F(yaml_document_get_root_node) F(yaml_parser_delete) \
    F(yaml_parser_initialize) F(yaml_parser_load) F(yaml_parser_set_input_string)

HU_LATE_DECLARE(hu_yaml, HU_YAML_FUNCTIONS)

#define yaml_document_delete (*hu_yaml.yaml_document_delete)
#define yaml_document_get_node (*hu_yaml.yaml_document_get_node)
#define yaml_document_get_root_node (*hu_yaml.yaml_document_get_root_node)
#define yaml_parser_delete (*hu_yaml.yaml_parser_delete)
#define yaml_parser_initialize (*hu_yaml.yaml_parser_initialize)
#define yaml_parser_load (*hu_yaml.yaml_parser_load)
#define yaml_parser_set_input_string (*hu_yaml.yaml_parser_set_input_string)
/* clang-format on */

#endif
