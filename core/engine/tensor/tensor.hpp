// SPDX-License-Identifier: Apache-2.0
//
// Tensor objects: DLPack's struct with an owner.
//
//     TensorObject = gantry_object | gantry_tensor | owner or device memory | shape
#pragma once

#include "core/engine/tensor/device_set.hpp"
#include "core/engine/tensor/object.hpp"

#include <gantry/function.h>
#include <gantry/tensor.h>
#include <gantry/tensor_text.hpp>

namespace gantry {

// GANTRY_TENSOR
struct TensorObject {
  gantry_object header;
  // must follow the header directly: gantry_value_tensor() depends on it
  gantry_tensor tensor;
  // view: the object that owns the memory, may be empty
  ObjectPtr owner;
  // allocation: the device that frees the memory; view: empty
  std::shared_ptr<const Device> device;
  // size of the data: number of elements times element size
  std::uint64_t bytes;
  // allocation: index of the device, of which memory of scope "host" is, too
  std::int32_t device_index;
};

// Size in bytes of the data that `tensor` describes.
//
// returns  invalid for a negative rank, a negative extent, a missing shape, or an overflow
Result<std::uint64_t> data_bytes(const gantry_tensor& tensor);

// Strides count elements, which are no addresses where elements begin within bytes.
//
// returns  unsupported  a tensor with such elements that is not compact (DTYPE_PACKED)
Status check_packed(const gantry_tensor& tensor);

// "float32[1, 64] on cpu:0", for errors.
std::string describe(const gantry_tensor& tensor, const DeviceSet& devices);

// Creates a compact tensor with new memory, whose content is undefined. With the scope "host" it is on
// the CPU, in memory that the device copies without waiting; where the device has no such scope, in
// plain memory.
//
// like     [in]   device, dtype and shape; data, strides and byte_offset are ignored
// scope    [in]   memory scope; empty: "global"
// returns  invalid     see data_bytes()
//          not_found   no such device
//          exhausted   host or device memory
Result<Ref<TensorObject>> tensor_new(const DeviceSet& devices, const gantry_tensor& like,
                                     std::string_view scope = {});

// Creates a tensor over existing memory. Shape and strides are copied.
//
// owner    [in]   retained; NULL: the caller guarantees that the memory outlives the view
// returns  invalid, see data_bytes(), or if the data is at address 0 and not empty; exhausted
Result<Ref<TensorObject>> tensor_view(const gantry_tensor& what, gantry_object* owner);

// True for a tensor of tensor_new() or tensor_view().
bool is_own_tensor(const gantry_object& object);
// Makes the strides of a compact tensor explicit, as code with tvm-ffi's C++ headers requires.
//
// thread   any
void set_strides(TensorObject& object);

// When a copy from or to host memory is complete.
enum class HostSide : std::uint8_t {
  // on return
  waits,
  // in the order of the stream, until which the memory stays valid
  in_stream,
};

// Copies all elements between compact tensors of the same dtype and element count. Between devices,
// it is ordered on the stream of `from` and before later work on the stream of `to`.
//
// host_side [in]  applies if one side is in host memory
// env      [in]   each side uses the stream of its device in it; NULL: default
//                 streams
// returns  invalid for tensors that differ, are not compact or are at address 0; not_found for an
//          unknown device; a device's own error
Status tensor_copy(const DeviceSet& devices, const gantry_tensor& from, const gantry_tensor& to,
                   const gantry_env* env, HostSide host_side = HostSide::waits);

}  // namespace gantry
