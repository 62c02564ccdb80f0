// SPDX-License-Identifier: Apache-2.0
#include "kv_device_tables.hpp"

#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>

#include <algorithm>
#include <cstdint>
#include <span>

namespace gantry::relax {
namespace {

gantry_tensor list_of_int32(gantry_device_id device, const void* data, std::int64_t* count) {
  return {const_cast<void*>(data), device, 1, dtypes::int32, count, nullptr, 0};
}

}  // namespace

Status KvDeviceTables::reserve(std::size_t size) {
  if (device_.type == cpu_device_type) return {};
  const auto held = static_cast<std::size_t>(buffer_.tensor() ? buffer_.tensor()->shape[0] : 0);
  if (size <= held) return {};
  auto count = static_cast<std::int64_t>(std::max(size, 2 * held));
  GANTRY_TRY(buffer_, host_.tensor_new(list_of_int32(device_, nullptr, &count)));
  return {};
}

Status KvDeviceTables::upload(const gantry_env* env) {
  if (device_.type == cpu_device_type) return {};
  const std::span<const std::int32_t> contents = pass_.contents();
  auto count = static_cast<std::int64_t>(contents.size());
  gantry_tensor to = *buffer_.tensor();
  to.shape = &count;
  return host_.tensor_copy(list_of_int32({cpu_device_type, 0}, contents.data(), &count), to, env);
}

TensorArgument KvDeviceTables::operator[](const KvTable& table) const {
  const void* const data = buffer_.tensor() ? buffer_.tensor()->data : pass_.contents().data();
  return {list_of_int32(device_, data, nullptr),
          dtypes::int32,
          sizeof(std::int32_t) * static_cast<std::uint64_t>(table.offset),
          {table.size}};
}

}  // namespace gantry::relax
