// SPDX-License-Identifier: Apache-2.0
//
// Tensors: DLPack's struct with an owner.
//
//     TensorObject = gantry_object | gantry_tensor | owner or device memory | shape
#pragma once

#include "core/tensor/device_set.hpp"
#include "core/tensor/object.hpp"

#include <gantry/function.h>
#include <gantry/tensor.h>

namespace gantry {

// GANTRY_TENSOR
struct TensorObject {
  gantry_object header;
  // directly behind the header, as gantry_value_tensor() expects
  gantry_tensor tensor;
  // a view: who keeps the memory
  ObjectPtr owner;
  // an allocation: who frees it; a view: empty
  std::shared_ptr<const Device> device;
  // of the data: product of the shape times the element
  std::uint64_t bytes;
};

// Bytes of the data that `tensor` describes; invalid for a negative extent, a negative rank, a missing shape, or a
// product past 2^63.
Result<std::uint64_t> data_bytes(const gantry_tensor& tensor);

// Is it dense and row-major? Strides NULL, or equal to the compact ones (extents of 1 aside).
bool is_compact(const gantry_tensor& tensor);

// "float32[1, 64] on cpu:0", for messages.
std::string describe(const gantry_tensor& tensor, const DeviceSet& devices);

// A new tensor with memory of its own.
//
// like     [in]   device, dtype and shape; data, strides and byte_offset are not looked at
// scope    [in]   memory scope, empty: "global"
// returns  not_found no such device; exhausted; content undefined
Result<Ref<TensorObject>> tensor_new(const DeviceSet& devices, const gantry_tensor& like,
                                     std::string_view scope = {});

// A tensor over memory that `owner` keeps; owner is retained. Shape and strides are copied.
//
// owner    [in]   NULL: the caller sees to it that the memory outlives the view
// returns  invalid see data_bytes(), or elements at address 0; exhausted
Result<Ref<TensorObject>> tensor_view(const gantry_tensor& what, gantry_object* owner);

// Copies all elements. Same dtype and element count; both compact, else invalid naming which is not.
//
// env      [in]   stream for the device side that is env->device; NULL: default streams
// costs    complete on return where a side is the host's; else ordered on from's stream, before later work on to's
Status tensor_copy(const DeviceSet& devices, const gantry_tensor& from, const gantry_tensor& to,
                   const gantry_env* env);

}  // namespace gantry
