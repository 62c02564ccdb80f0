// SPDX-License-Identifier: Apache-2.0
//
// For models in C that a test compiles as ahead-of-time models: the structs that describe one
// (core/formats/aot_metadata.hpp), and the container of an exported library.
#ifndef GANTRY_TESTS_AOT_MODEL_H
#define GANTRY_TESTS_AOT_MODEL_H

#include <stdint.h>

typedef struct {
  const char* name;
  const int64_t* shape;
  int64_t rank;
  uint8_t code, bits;
  uint16_t lanes;
} TensorInfo;

typedef struct {
  const char* name;
  int64_t offset, bytes;
  const void* record;
} ConstantInfo;

typedef struct {
  int64_t version;
  const TensorInfo* inputs;
  int64_t input_count;
  const TensorInfo* outputs;
  int64_t output_count;
  const TensorInfo* workspaces;
  int64_t workspace_count;
  const ConstantInfo* constants;
  int64_t constant_count;
  const char* module_name;
} Metadata;

// Of TVM's values: 8 bytes, and their types: 3 an address, 7 a tensor.
typedef union {
  int64_t number;
  void* address;
} Value;

#define PACKED __attribute__((packed))

// Four entries: three modules and the tree.
const struct PACKED {
  uint64_t bytes, count;
  uint64_t factory_size;
  char factory[18];
  uint64_t parameters, names, name_size;
  char name[7];
  uint64_t module_size;
  char module[15];
  uint64_t library_size;
  char library[4];
  uint64_t tree_size;
  char tree[12];
  uint64_t row_count, rows[4], child_count, children[2];
} __tvm_dev_mblob = {
    sizeof __tvm_dev_mblob - 8,
    4,
    18,
    {'A', 'o', 't', 'E', 'x', 'e', 'c', 'u', 't', 'o', 'r', 'F', 'a', 'c', 't', 'o', 'r', 'y'},
    0,
    0,
    7,
    {'d', 'e', 'f', 'a', 'u', 'l', 't'},
    15,
    {'m', 'e', 't', 'a', 'd', 'a', 't', 'a', '_', 'm', 'o', 'd', 'u', 'l', 'e'},
    4,
    {'_', 'l', 'i', 'b'},
    12,
    {'_', 'i', 'm', 'p', 'o', 'r', 't', '_', 't', 'r', 'e', 'e'},
    4,
    {0, 1, 2, 2},
    2,
    {1, 2}};

#endif
