// SPDX-License-Identifier: Apache-2.0
//
// A call of a kernel: converts its arguments to bindings, scalars and a grid, and records a
// dispatch.
#include "plugin.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/quoted.hpp>

#include <array>
#include <cstring>
#include <vector>

namespace gantry::vulkan {
namespace {

// Kernels up to these sizes keep their arguments on the stack.
constexpr std::size_t inline_buffers = 16;
constexpr std::size_t inline_scalar_bytes = 256;

template <class T, std::size_t inline_count>
class Few {
 public:
  explicit Few(std::size_t count) : count_(count) {
    if (count > inline_count) many_.resize(count);
  }
  T* data() { return count_ > inline_count ? many_.data() : few_.data(); }
  std::span<T> all() { return {data(), count_}; }

 private:
  std::size_t count_;
  std::array<T, inline_count> few_{};
  std::vector<T> many_;
};

Status check_buffer(const Device& device, const Kernel& kernel, std::size_t argument,
                    const Bound& bound) {
  const VkPhysicalDeviceLimits& limits = device.gpu().properties.limits;
  const auto refuse = [&](std::string_view reason, const auto&... why) {
    return unsupported("kernel ", quoted(kernel.call.name()), ": argument ", argument, ' ', why...)
        .with_reason(reason);
  };
  if (bound.offset % limits.minStorageBufferOffsetAlignment != 0) {
    return refuse("BUFFER_OFFSET", "begins ", bound.offset,
                  " bytes into its memory, the device binds multiples of ",
                  limits.minStorageBufferOffsetAlignment);
  }
  if (bound.offset >= bound.buffer->size && bound.offset != 0) {
    return invalid("kernel ", quoted(kernel.call.name()), ": argument ", argument, " begins ",
                   bound.offset, " bytes into its memory of ", ByteCount(bound.buffer->size))
        .with_reason("ARGUMENT_RANGE");
  }
  if (bound.buffer->size - bound.offset > limits.maxStorageBufferRange) {
    return refuse("BUFFER_RANGE", "has ", ByteCount(bound.buffer->size - bound.offset),
                  ", the device binds at most ", ByteCount(limits.maxStorageBufferRange));
  }
  return {};
}

Status check_extents(const Device& device, const Kernel& kernel, const LaunchExtents& extents) {
  const VkPhysicalDeviceLimits& limits = device.gpu().properties.limits;
  const auto refuse = [&](const auto&... why) {
    return invalid("kernel ", quoted(kernel.call.name()), " is launched with ", why...)
        .with_reason("LAUNCH_EXTENT");
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::uint32_t threads = kernel.shader.local_size[axis];
    if (threads != 0 && extents.block[axis] != threads) {
      return refuse(extents.block[axis], " threads along ", "xyz"[axis], ", its shader has ",
                    threads);
    }
    if (extents.grid[axis] > limits.maxComputeWorkGroupCount[axis]) {
      return refuse(extents.grid[axis], " blocks along ", "xyz"[axis], ", the device runs ",
                    limits.maxComputeWorkGroupCount[axis]);
    }
  }
  return {};
}

}  // namespace

// Records one call without waiting.
//
// returns  INVALID      a wrong number, kind or range of arguments (ARGUMENT_*); memory of another
//                       device (DEVICE_DATA); block extents other than the shader's, or more blocks than
//                       the device's limit (LAUNCH_EXTENT)
//          UNSUPPORTED  a buffer is too large to bind (BUFFER_RANGE), or its offset is not aligned
//                       (BUFFER_OFFSET)
//          others       see Module::pipeline()
Status LoadedKernel::call(const Call& call) {
  const Kernel& self = kernel.value();
  const gantry_env& env = *call.env;
  const std::span<const gantry_value> args = call.args;
  GANTRY_CHECK(self.call.check_count(args.size()));
  GANTRY_TRY(Device* const device, module->plugin().device(env.device.index));
  GANTRY_CHECK(device->loss.check());

  Few<Bound, inline_buffers> buffers(self.buffer_count);
  Few<std::uint8_t, inline_scalar_bytes> scalars(self.scalar_bytes);
  std::size_t buffer_count = 0;
  std::size_t scalar_count = 0;
  for (std::size_t i = 0; i < self.call.parameter_count(); ++i) {
    GANTRY_TRY(const KernelArgument argument, self.call.argument(i, args[i], env.device));
    if (argument.is_pointer()) {
      Bound& bound = buffers.data()[buffer_count++];
      auto buffer = device->buffer_at(argument.data);
      if (!buffer.ok()) {
        return std::move(buffer).error().at("in argument ", i, " of kernel ",
                                            quoted(self.call.name()));
      }
      bound = {*buffer, argument.byte_offset};
      GANTRY_CHECK(check_buffer(*device, self, i, bound));
    } else {
      std::memcpy(scalars.data() + self.shader.scalar_offsets[scalar_count++],
                  argument.bytes.data(), argument.size);
    }
  }
  GANTRY_TRY(const LaunchExtents extents, self.call.extents(args));
  if (extents.is_empty) return {};
  GANTRY_CHECK(check_extents(*device, self, extents));
  GANTRY_TRY(const Pipeline* const pipeline, module->pipeline(*this, *device));
  return device->loss.recorded(device->dispatch(
      {pipeline, buffers.all(), scalars.all(), extents.grid, self.call.name(), extents.block}));
}

}  // namespace gantry::vulkan
