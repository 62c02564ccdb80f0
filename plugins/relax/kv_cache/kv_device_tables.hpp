// SPDX-License-Identifier: Apache-2.0
//
// The tables of a forward pass where kernels read them: on the CPU in place, else in one buffer of
// the device, which grows by doubling.
#pragma once

#include "kernel_arguments.hpp"
#include "kv_forward.hpp"

#include <gantry/handle.hpp>

#include <cstddef>

namespace gantry::relax {

class KvDeviceTables {
 public:
  // pass     [in]   computes the tables; borrowed for the lifetime of this object
  KvDeviceTables(const Host& host, gantry_device_id device, const KvForward& pass)
      : host_(host), device_(device), pass_(pass) {}

  // Makes room for `size` elements.
  Status reserve(std::size_t size);
  // Copies the tables of the pass, which reserve() has made room for.
  //
  // costs    nothing on the CPU
  Status upload(const gantry_env* env);

  // Returns a table for a kernel. Valid until the next pass.
  TensorArgument operator[](const KvTable& table) const;

 private:
  const Host host_;
  const gantry_device_id device_;
  const KvForward& pass_;
  // None on the CPU.
  Value buffer_;
};

}  // namespace gantry::relax
