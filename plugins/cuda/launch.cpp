// SPDX-License-Identifier: Apache-2.0
//
// One call of a kernel: converts its arguments for cuLaunchKernel.
#include "plugin.hpp"

#include <gantry/quoted.hpp>

#include <array>

namespace gantry::cuda {
namespace {

// The parameters of one launch: the driver takes the address of each. Only kernels with many
// parameters allocate.
class Parameters {
 public:
  explicit Parameters(std::size_t count) {
    if (count <= near_slots_.size()) return;
    far_slots_.resize(count);
    far_addresses_.resize(count);
    slots_ = far_slots_.data();
    addresses_ = far_addresses_.data();
  }

  void set(std::size_t i, const KernelArgument& argument) {
    addresses_[i] = &slots_[i];
    if (argument.kind == ParameterKind::tensor_map) {
      // The parameter is the tensor map's 128 bytes.
      addresses_[i] = argument.data;
    } else if (argument.is_pointer()) {
      slots_[i] = reinterpret_cast<std::uint64_t>(argument.data) + argument.byte_offset;
    } else {
      std::memcpy(&slots_[i], argument.bytes.data(), sizeof slots_[i]);
    }
  }
  void** addresses() { return addresses_; }

 private:
  std::array<std::uint64_t, 32> near_slots_;
  std::array<void*, 32> near_addresses_;
  std::vector<std::uint64_t> far_slots_;
  std::vector<void*> far_addresses_;
  std::uint64_t* slots_ = near_slots_.data();
  void** addresses_ = near_addresses_.data();
};

// Raises the kernel's limit if a launch exceeds it. The driver's default is about 48 KiB minus the
// kernel's static shared memory.
Status allow_shared_memory(const Kernel& kernel, LoadedKernel& loaded, const Device& device,
                           std::uint64_t bytes) {
  const auto is_allowed = [&] {
    return bytes <=
           static_cast<std::uint64_t>(loaded.dynamic_shared_limit.load(std::memory_order_acquire));
  };
  if (is_allowed()) return {};
  // The limit never decreases, even if several threads raise it concurrently.
  const std::lock_guard lock(loaded.raising);
  if (is_allowed()) return {};
  const Driver& driver = device.driver;
  const auto wanted = static_cast<int>(bytes);
  Status allowed = driver.call(driver.function_set_attribute, loaded.function,
                               CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, wanted);
  if (!allowed.ok()) {
    return std::move(allowed).failure().at(
        "kernel ", quoted(kernel.signature->name()), " requires ", bytes,
        " bytes of dynamic shared memory for each block of ", device.text());
  }
  loaded.dynamic_shared_limit.store(wanted, std::memory_order_release);
  return {};
}

std::string text_of(const LaunchExtents& extents) {
  const auto& grid = extents.grid;
  const auto& block = extents.block;
  return concat("grid ", grid[0], 'x', grid[1], 'x', grid[2], ", block ", block[0], 'x', block[1],
                'x', block[2], ", ", extents.dynamic_shared_bytes,
                " bytes of dynamic shared memory");
}

}  // namespace

Status Kernel::call(const Call& given) const {
  const gantry_env& env = *given.env;
  const std::span<const gantry_value> args = given.args;
  const KernelCall& call = *signature;
  GANTRY_CHECK(call.check_count(args.size()));
  Parameters values(call.parameter_count());
  for (std::size_t i = 0; i < call.parameter_count(); ++i) {
    GANTRY_TRY(const KernelArgument argument, call.argument(i, args[i], env.device));
    if (argument.kind == ParameterKind::tensor_map && argument.data == nullptr) {
      return invalid("kernel ", quoted(call.name()), ": argument ", i,
                     " is a null pointer, expected that of a tensor map")
          .with_reason("ARGUMENT_KIND");
    }
    values.set(i, argument);
  }
  GANTRY_TRY(const LaunchExtents extents, call.extents(args));
  if (extents.dynamic_shared_bytes > INT32_MAX) {
    return invalid("kernel ", quoted(call.name()), ": dynamic shared memory is ",
                   extents.dynamic_shared_bytes, " bytes, maximum is ", INT32_MAX)
        .with_reason("LAUNCH_EXTENT");
  }
  if (extents.is_empty) return {};

  GANTRY_TRY(Device* const device, module->plugin().gpus.at(env.device.index));
  GANTRY_TRY(const ContextScope scope, device->enter());
  GANTRY_TRY(LoadedKernel* const loaded, module->loaded(*this, *device));
  GANTRY_CHECK(allow_shared_memory(*this, *loaded, *device, extents.dynamic_shared_bytes));
  const Driver& driver = device->driver;
  Status launched = device->traced(env.stream, call.name(), extents, [&] {
    return driver.call(driver.launch_kernel, loaded->function, extents.grid[0], extents.grid[1],
                       extents.grid[2], extents.block[0], extents.block[1], extents.block[2],
                       static_cast<unsigned>(extents.dynamic_shared_bytes),
                       device->stream_of(env.stream), values.addresses(),
                       static_cast<void**>(nullptr));
  });
  if (!launched.ok()) {
    return std::move(launched).failure().at("in a launch of kernel ", quoted(call.name()), " on ",
                                            device->text(), ": ", text_of(extents));
  }
  return launched;
}

}  // namespace gantry::cuda
