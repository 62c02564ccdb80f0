// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "plugin.hpp"

#include <gantry/quoted.hpp>

#include <utility>

namespace gantry::opencl {

Result<std::unique_ptr<Module>> Module::load(Plugin& plugin, Blob& blob) {
  GANTRY_TRY(Payload payload, read_payload(blob));
  return std::make_unique<Module>(plugin, std::move(payload));
}

Result<std::int32_t> Module::check(Plugin& plugin, Blob& blob, std::int32_t device_index) {
  GANTRY_TRY(const Payload payload, read_payload(blob));
  GANTRY_TRY(const Device* const device, plugin.driver.device(device_index));
  std::int32_t verdict = GANTRY_VERDICT_USABLE;
  for (const Program& program : payload.programs) {
    if (program.form == CodeForm::source) verdict = GANTRY_VERDICT_RECOMPILE;
    if (program.form == CodeForm::spirv) {
      verdict = device->spirv().empty() ? GANTRY_VERDICT_NO : GANTRY_VERDICT_RECOMPILE;
    }
  }
  return verdict;
}

Module::Module(Plugin& owner, Payload read) : plugin(owner), payload(std::move(read)) {
  for (std::size_t i = 0; i < payload.calls.size(); ++i) kernels_.push_back({this, i});
}

Kernel* Module::find(std::string_view name) {
  const auto index = payload.table.index_of(name);
  return index ? &kernels_[*index] : nullptr;
}

// Not std::call_once(): an exception that passes its frame of libc opens libgcc_s.so.1, and ends the
// process where there is no memory for that.
void Module::size_slots() {
  const std::lock_guard lock(sizing_);
  if (sized_.load(std::memory_order_relaxed)) return;
  // The caller's device exists, so count() cannot fail.
  const auto devices = static_cast<std::size_t>(*plugin.driver.count());
  slots_ = std::make_unique<Slot[]>(payload.calls.size() * devices);
  programs_ = std::make_unique<ProgramSlot[]>(payload.programs.size() * devices);
  device_count_ = devices;
  sized_.store(true, std::memory_order_release);
}

Slot& Module::slot(std::size_t index, const Device& device) {
  if (!sized_.load(std::memory_order_acquire)) size_slots();
  return slots_[index * device_count_ + static_cast<std::size_t>(device.index)];
}

Status Module::make(Slot& slot, std::size_t index, Device& device) {
  const KernelCall& call = payload.calls[index];
  ProgramSlot& program = program_slot(index, device);
  const std::lock_guard lock(program.mutex);
  if (!program.built.program) {
    GANTRY_TRY(
        program.built,
        plugin.programs.build(device, payload.programs[payload.program_of[index]], call.name()));
  }
  cl_int error = CL_SUCCESS;
  OwnedKernel kernel(clCreateKernel(program.built.program.get(), call.name().c_str(), &error));
  if (error == CL_INVALID_KERNEL_NAME) {
    return malformed(no_offset, "kernel ", quoted(call.name()),
                     " is in the payload's list and not in its code")
        .with_reason("KERNEL_CODE")
        .native("OPENCL", error);
  }
  if (error != CL_SUCCESS)
    return driver_error(error, concat("clCreateKernel of ", quoted(call.name())));
  cl_uint count = 0;
  error = clGetKernelInfo(kernel.get(), CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr);
  if (error == CL_SUCCESS && count != call.parameter_count()) {
    return malformed(no_offset, "kernel ", quoted(call.name()), " has ", count,
                     " parameters, the payload's list has ", call.parameter_count())
        .with_reason("KERNEL_CODE");
  }
  slot.kernel = std::move(kernel);
  return {};
}

Status Module::prepare(const gantry_env& env, std::span<const gantry_device_id> devices) {
  Status first;
  for (const gantry_device_id id : devices) {
    GANTRY_TRY(Device* const device, plugin.driver.device(id.index));
    for (std::size_t i = 0; i < payload.calls.size(); ++i) {
      GANTRY_CHECK(plugin.host.check_task(&env));
      Slot& slot = this->slot(i, *device);
      const std::lock_guard lock(slot.mutex);
      if (slot.kernel) continue;
      Status made = make(slot, i, *device);
      if (!made.ok() && first.ok()) first = std::move(made);
    }
  }
  return first;
}

void Module::launched(std::size_t index, const Device& device, OwnedEvent launch) {
  ProgramSlot& program = program_slot(index, device);
  const std::lock_guard lock(program.mutex);
  plugin.programs.keep_after(program.built, device, payload.calls[index].name(), std::move(launch));
}

}  // namespace gantry::opencl
