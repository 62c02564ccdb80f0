// SPDX-License-Identifier: Apache-2.0
//
// One call of a kernel: sets its arguments and enqueues it without waiting.
#include "plugin.hpp"

#include <gantry/quoted.hpp>

#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace gantry::opencl {
namespace {

// Returns a sub-buffer from an offset to the end of a buffer.
//
// returns  INVALID      offset is not below the buffer's size (ARGUMENT_RANGE)
//          UNSUPPORTED  the offset does not have the device's alignment (BUFFER_OFFSET)
Result<OwnedBuffer> part_of(const Buffer& buffer, std::uint64_t offset, const Device& device,
                            const KernelCall& call, std::size_t argument) {
  if (offset >= buffer.size) {
    return invalid("kernel ", quoted(call.name()), ": argument ", argument, " begins at byte ",
                   offset, ", buffer has ", buffer.size)
        .with_reason("ARGUMENT_RANGE");
  }
  if (offset % device.alignment_bytes != 0) {
    return unsupported("kernel ", quoted(call.name()), ": argument ", argument, " begins at byte ",
                       offset, " of its buffer; on ", device.described(),
                       " a part begins at a multiple of ", device.alignment_bytes,
                       ": copy it into a tensor of its own")
        .with_reason("BUFFER_OFFSET");
  }
  const cl_buffer_region region{offset, buffer.size - offset};
  cl_int error = CL_SUCCESS;
  OwnedBuffer part(clCreateSubBuffer(buffer.memory.get(), CL_MEM_READ_WRITE,
                                     CL_BUFFER_CREATE_TYPE_REGION, &region, &error));
  if (error != CL_SUCCESS) {
    return driver_error(error, concat("clCreateSubBuffer for argument ", argument, " of kernel ",
                                      quoted(call.name())));
  }
  return part;
}

Error argument_error(cl_int error, const KernelCall& call, std::size_t i) {
  if (error == CL_INVALID_ARG_SIZE) {
    return malformed(no_offset, "kernel ", quoted(call.name()), ": parameter ", i,
                     " has another size in the code than in the payload's list")
        .with_reason("KERNEL_CODE")
        .native("OPENCL", error);
  }
  return driver_error(error,
                      concat("clSetKernelArg of argument ", i, " of kernel ", quoted(call.name())));
}

// True if the kernel object already holds this value from the last launch.
bool is_held(const Slot::Held& held, const gantry_value& value) {
  if (value.kind != held.value.kind || std::memcmp(&value.i, &held.value.i, sizeof value.i) != 0)
    return false;
  if (value.kind != GANTRY_POINTER)
    return value.kind == GANTRY_INT || value.kind == GANTRY_FLOAT || value.kind == GANTRY_BOOL;
  const Result<Buffer*> buffer = buffer_of(value.p);
  return buffer.ok() && (*buffer)->number == held.buffer;
}

// parts    [out]  sub-buffers that must live until the launch is enqueued
Status set_argument(Slot& slot, const KernelCall& call, std::size_t i, const gantry_value& value,
                    const gantry_env& env, const Device& device, std::vector<OwnedBuffer>& parts) {
  Slot::Held& held = slot.held[i];
  held = {};
  GANTRY_TRY(const KernelArgument argument, call.argument(i, value, env.device));
  const cl_kernel kernel = slot.kernel.get();
  const auto at = static_cast<cl_uint>(i);
  cl_int error = CL_SUCCESS;
  std::uint64_t number = 0;
  if (argument.is_scalar()) {
    error = clSetKernelArg(kernel, at, argument.size, argument.bytes.data());
  } else if (argument.data == nullptr) {
    error = clSetKernelArg(kernel, at, sizeof(cl_mem), nullptr);
  } else {
    Result<Buffer*> buffer = buffer_of(argument.data);
    if (!buffer.ok())
      return buffer.error().at("in argument ", i, " of kernel ", quoted(call.name()));
    if ((*buffer)->platform != device.platform) {
      return invalid("kernel ", quoted(call.name()), ": argument ", i, " is on ",
                     (*buffer)->device->described(), ", the call runs on ", device.described())
          .with_reason("ARGUMENT_DEVICE");
    }
    cl_mem memory = (*buffer)->memory.get();
    if (argument.byte_offset != 0) {
      GANTRY_TRY(OwnedBuffer part, part_of(**buffer, argument.byte_offset, device, call, i));
      memory = part.get();
      parts.push_back(std::move(part));
    }
    number = (*buffer)->number;
    error = clSetKernelArg(kernel, at, sizeof memory, &memory);
  }
  if (error != CL_SUCCESS) return argument_error(error, call, i);
  if (value.kind != GANTRY_POINTER || number != 0) held = {value, number};
  return {};
}

Status set_extents(Slot& slot, const KernelCall& call, std::span<const gantry_value> args) {
  const std::size_t first = call.parameter_count();
  std::size_t same = first;
  while (same < args.size() && is_held(slot.held[same], args[same])) ++same;
  if (same == args.size() && slot.local[0] != 0) return {};
  GANTRY_TRY(const LaunchExtents extents, call.extents(args));
  // An empty launch has no work-items.
  for (std::size_t i = 0; i < 3; ++i) {
    slot.local[i] = extents.block[i];
    slot.global[i] = extents.is_empty ? 0 : std::size_t{extents.grid[i]} * extents.block[i];
  }
  for (std::size_t i = first; i < args.size(); ++i) slot.held[i] = {args[i], 0};
  return {};
}

Error launch_error(cl_int error, const KernelCall& call, const Slot& slot, const Device& device) {
  const auto& block = slot.local;
  if (error == CL_INVALID_WORK_GROUP_SIZE || error == CL_INVALID_WORK_ITEM_SIZE) {
    return unsupported("kernel ", quoted(call.name()), " requires work-groups of ", block[0], " x ",
                       block[1], " x ", block[2], ", ", device.described(), " allows at most ",
                       device.max_threads, " work-items in one: export it for this device")
        .with_reason("LAUNCH_EXTENT")
        .native("OPENCL", error);
  }
  return driver_error(
      error, concat("clEnqueueNDRangeKernel of ", quoted(call.name()), " on ", device.described()));
}

}  // namespace

Status Kernel::call(const Call& given) const {
  const gantry_env& env = *given.env;
  const std::span<const gantry_value> args = given.args;
  const KernelCall& call = module->payload.calls[index];
  GANTRY_CHECK(call.check_count(args.size()));
  GANTRY_TRY(Device* const device, module->plugin.driver.device(env.device.index));
  GANTRY_CHECK(device->loss.check());
  GANTRY_TRY(const cl_command_queue queue, module->plugin.driver.queue(*device, env.stream));
  Slot& slot = module->slot(index, *device);

  const std::lock_guard lock(slot.mutex);
  if (slot.held.empty()) slot.held.resize(args.size());
  GANTRY_CHECK(set_extents(slot, call, args));
  if (slot.global[0] == 0) return {};
  if (!slot.kernel) GANTRY_CHECK(module->make(slot, index, *device));
  std::vector<OwnedBuffer> parts;
  for (std::size_t i = 0; i < call.parameter_count(); ++i) {
    if (is_held(slot.held[i], args[i])) continue;
    GANTRY_CHECK(set_argument(slot, call, i, args[i], env, *device, parts));
  }

  const std::int64_t begun = device->spans->launch_time();
  cl_event done = nullptr;
  const cl_int error = clEnqueueNDRangeKernel(
      queue, slot.kernel.get(), call.tags().work_dimensions(), nullptr, slot.global.data(),
      slot.local.data(), 0, nullptr, slot.launched && begun < 0 ? nullptr : &done);
  if (error != CL_SUCCESS)
    return device->loss.recorded(Status(launch_error(error, call, slot, *device)));
  OwnedEvent launch(done);
  if (begun >= 0 && clRetainEvent(done) == CL_SUCCESS) {
    const auto& block = slot.local;
    const auto& global = slot.global;
    device->spans->launched(env.stream,
                            {call.name(),
                             {global[0] / block[0], global[1] / block[1], global[2] / block[2]},
                             {block[0], block[1], block[2]}},
                            begun, OwnedEvent(done));
  }
  if (!slot.launched) {
    slot.launched = true;
    module->launched(index, *device, std::move(launch));
  }
  return {};
}

}  // namespace gantry::opencl
