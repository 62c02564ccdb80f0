// SPDX-License-Identifier: Apache-2.0
//
// gantry/fill.hpp - fills tensors on any device with zeros.
//
//     GANTRY_TRY(const Value cache, host.tensor_new(like));
//     GANTRY_CHECK(fill_zeros(host, *cache.tensor(), env));
#pragma once

#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/handle.hpp>
#include <gantry/result.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace gantry {
namespace detail {

// Copies zeros of the host to a device, in parts.
inline Status copy_zeros(const Host& host, const gantry_tensor& tensor, std::uint64_t bytes,
                         const gantry_env* env) {
  constexpr std::uint64_t max_part = std::uint64_t{1} << 20;
  const std::vector<std::uint8_t> zeros(std::min(bytes, max_part));
  for (std::uint64_t done = 0; done < bytes; done += max_part) {
    const auto count = static_cast<std::int64_t>(std::min(max_part, bytes - done));
    const gantry_tensor from =
        compact_tensor({1, 8, 1}, {&count, 1}, {cpu_device_type, 0}, zeros.data());
    gantry_tensor to = from;
    to.data = tensor.data;
    to.device = tensor.device;
    to.byte_offset = tensor.byte_offset + done;
    GANTRY_CHECK(host.tensor_copy(from, to, env));
  }
  return {};
}

}  // namespace detail

// Fills a tensor with zeros. On a device that has `fill`, this is work in the tensor's stream; to
// others, zeros are copied.
//
// tensor   [in]   compact
// env      [in]   its stream for the tensor's device; NULL: the default stream
// returns  INVALID  the shape has no size; codes of `fill` and of tensor_copy
inline Status fill_zeros(const Host& host, const gantry_tensor& tensor, const gantry_env* env) {
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape_of(tensor), tensor.dtype));
  if (bytes == 0) return {};
  if (tensor.device.type == cpu_device_type) {
    std::memset(static_cast<char*>(tensor.data) + tensor.byte_offset, 0, bytes);
    return {};
  }
  GANTRY_TRY(const gantry_device device, host.device(tensor.device));
  if (device.table->fill == nullptr) return detail::copy_zeros(host, tensor, bytes, env);
  void* const stream = env == nullptr ? nullptr : gantry_env_stream(env, tensor.device);
  constexpr std::uint8_t zero = 0;
  StatusBuffer status;
  const gantry_code code = status.call([&](gantry_status* out) {
    return device.table->fill(device.self, tensor.device.index, tensor.data, tensor.byte_offset,
                              bytes, &zero, 1, stream, out);
  });
  if (code == GANTRY_OK) return {};
  if (code == GANTRY_UNSUPPORTED) return detail::copy_zeros(host, tensor, bytes, env);
  return status.error(code, concat("fill of ", device_text_of(device)));
}

}  // namespace gantry
