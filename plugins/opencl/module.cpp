// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "launch.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>

#include <utility>

namespace gantry::opencl {
namespace {

void destroy(void* self) { delete static_cast<Module*>(self); }

constexpr gantry_function_table function_table = {
    .struct_size = sizeof(gantry_function_table),
    .flags = 0,
    // a kernel belongs to its module
    .destroy = nullptr,
    .call = call,
};

gantry_code get_function(void* self, gantry_bytes name, gantry_function* out, gantry_status*) {
  auto& module = *static_cast<Module*>(self);
  const auto index = module.payload.find(view_of(name));
  if (!index) return GANTRY_NOT_FOUND;
  *out = {&module.kernels[*index], &function_table};
  return GANTRY_OK;
}

gantry_code list_functions(void* self, const gantry_visitor* visitor, gantry_status* status) {
  for (const KernelInfo& kernel : static_cast<Module*>(self)->payload.table.kernels()) {
    const gantry_function_info info{sizeof info, 0, bytes_of(kernel.name), {}};
    if (const gantry_code code = visitor->visit(visitor->self, &info, status)) return code;
  }
  return GANTRY_OK;
}

gantry_code save_binary(void* self, const gantry_sink* sink, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    write_payload(static_cast<Module*>(self)->payload, *sink);
    return {};
  });
}

constexpr gantry_module_table module_table = {
    .struct_size = sizeof(gantry_module_table),
    .flags = 0,
    .type_name = "opencl",
    .destroy = destroy,
    .get_function = get_function,
    .list_functions = list_functions,
    .save_binary = save_binary,
};

Result<Payload> read(const gantry_blob& blob, std::uint64_t& consumed) {
  return read_payload({blob.data, blob.size}, argument_tags_of(blob),
                      (blob.flags & GANTRY_BLOB_EXACT) != 0, consumed);
}

gantry_code load_binary(void* plugin, const gantry_blob* blob, gantry_object*, gantry_module* out,
                        std::uint64_t* consumed, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    auto module = std::make_unique<Module>();
    std::uint64_t read_bytes = 0;
    GANTRY_TRY(module->payload, read(*blob, read_bytes));
    module->plugin = &plugin_of(plugin);
    module->pin = ObjectRef::share(blob->pin);
    for (std::size_t i = 0; i < module->payload.calls.size(); ++i)
      module->kernels.push_back({module.get(), i});
    *consumed = read_bytes;
    *out = {module.release(), &module_table};
    return {};
  });
}

// Text is compiled anywhere, SPIR-V where the driver takes it; whether a binary fits, only loading it tells.
gantry_code check_binary(void* plugin, const gantry_blob* blob, std::int32_t device_index,
                         std::int32_t* verdict, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    std::uint64_t consumed = 0;
    GANTRY_TRY(const Payload payload, read(*blob, consumed));
    GANTRY_TRY(const Device* device, plugin_of(plugin).driver.device(device_index));
    std::int32_t found = GANTRY_VERDICT_USABLE;
    for (const Program& program : payload.programs) {
      if (program.form == CodeForm::source) found = GANTRY_VERDICT_RECOMPILE;
      if (program.form == CodeForm::spirv) {
        found = device->spirv().empty() ? GANTRY_VERDICT_NO : GANTRY_VERDICT_RECOMPILE;
      }
    }
    *verdict = found;
    return {};
  });
}

}  // namespace

constinit const gantry_loader_table loader_table = {
    .struct_size = sizeof(gantry_loader_table),
    .flags = GANTRY_LOADER_PARALLEL,
    .type_key = "opencl",
    .device = "opencl",
    .load_binary = load_binary,
    .check_binary = check_binary,
};

Slot& Module::slot(std::size_t index, const Device& device) {
  std::call_once(sized_, [&] {
    // there is one
    const auto devices = static_cast<std::size_t>(*plugin->driver.count());
    slots_ = std::make_unique<Slot[]>(payload.calls.size() * devices);
    programs_ = std::make_unique<ProgramSlot[]>(payload.programs.size() * devices);
    device_count_ = devices;
  });
  return slots_[index * device_count_ + static_cast<std::size_t>(device.index)];
}

Status Module::make(Slot& slot, std::size_t index, Device& device) {
  const KernelCall& call = payload.calls[index];
  ProgramSlot& program = program_slot(index, device);
  const std::lock_guard lock(program.mutex);
  if (!program.built.program) {
    GANTRY_TRY(
        program.built,
        plugin->programs.build(device, payload.programs[payload.program_of[index]], call.name()));
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
    return malformed(no_offset, "kernel ", quoted(call.name()), " takes ", count,
                     " arguments, the payload's list says ", call.parameter_count())
        .with_reason("KERNEL_CODE");
  }
  slot.kernel = std::move(kernel);
  return {};
}

void Module::launched(std::size_t index, const Device& device, OwnedEvent launch) {
  ProgramSlot& program = program_slot(index, device);
  const std::lock_guard lock(program.mutex);
  plugin->programs.keep_after(program.built, device, std::move(launch));
}

}  // namespace gantry::opencl
