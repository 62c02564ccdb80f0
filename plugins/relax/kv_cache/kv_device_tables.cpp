// SPDX-License-Identifier: Apache-2.0
#include "kv_device_tables.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>

#include <algorithm>
#include <cstdint>
#include <span>

namespace gantry::relax {

Status KvDeviceTables::reserve(std::size_t size) {
  if (device_.type == cpu_device_type) return {};
  const auto held = static_cast<std::size_t>(buffer_.tensor() ? buffer_.tensor()->shape[0] : 0);
  if (size <= held) return {};
  const std::int64_t shape[] = {static_cast<std::int64_t>(std::max(size, 2 * held))};
  GANTRY_TRY(buffer_, host_.tensor_new(compact_tensor(dtypes::int32, shape, device_)));
  return {};
}

Status KvDeviceTables::upload(const gantry_env* env) {
  if (device_.type == cpu_device_type) return {};
  const std::span<const std::int32_t> contents = pass_.contents();
  auto count = static_cast<std::int64_t>(contents.size());
  gantry_tensor to = *buffer_.tensor();
  to.shape = &count;
  const gantry_tensor from =
      compact_tensor(dtypes::int32, {&count, 1}, {cpu_device_type, 0}, contents.data());
  return host_.tensor_copy(from, to, env);
}

TensorArgument KvDeviceTables::operator[](const KvTable& table) const {
  const void* const data = buffer_.tensor() ? buffer_.tensor()->data : pass_.contents().data();
  return {compact_tensor(dtypes::int32, {}, device_, data),
          dtypes::int32,
          sizeof(std::int32_t) * static_cast<std::uint64_t>(table.offset),
          {table.size}};
}

}  // namespace gantry::relax
