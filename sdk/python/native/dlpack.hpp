// SPDX-License-Identifier: Apache-2.0
//
// The records of DLPack that own a tensor, around gantry_tensor, which has the layout of DLTensor.
//
// source   dmlc/dlpack include/dlpack/dlpack.h, version 1.0
#pragma once

#include <gantry/tensor.h>

#include <cstddef>

namespace gantry::python::dlpack {

// Before version 1.0.
struct ManagedTensor {
  gantry_tensor tensor;
  void* context;
  // May be NULL.
  void (*deleter)(ManagedTensor* self);
};

struct VersionedTensor {
  std::uint32_t major;
  std::uint32_t minor;
  void* context;
  // May be NULL.
  void (*deleter)(VersionedTensor* self);
  std::uint64_t flags;
  gantry_tensor tensor;
};
static_assert(sizeof(ManagedTensor) == 64 && offsetof(ManagedTensor, context) == 48);
static_assert(sizeof(VersionedTensor) == 80 && offsetof(VersionedTensor, tensor) == 32);

// VersionedTensor::flags
constexpr std::uint64_t is_read_only = 1;

// Names of capsules. A consumer renames a capsule that it has taken over.
constexpr const char* managed_name = "dltensor";
constexpr const char* used_managed_name = "used_dltensor";
constexpr const char* versioned_name = "dltensor_versioned";
constexpr const char* used_versioned_name = "used_dltensor_versioned";

}  // namespace gantry::python::dlpack
