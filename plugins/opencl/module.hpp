// SPDX-License-Identifier: Apache-2.0
//
// A loaded payload: its kernels as functions. The first call on a device builds a kernel for it.
#pragma once

#include "device.hpp"
#include "payload.hpp"

#include <gantry/loader.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace gantry::opencl {

// One kernel on one device. The driver's kernel object stores the arguments of the next launch, so
// only one thread at a time may use it.
struct Slot {
  // An argument of the last launch. Most calls repeat it, and a comparison costs less than setting
  // it again. Kind NONE: not set.
  struct Held {
    gantry_value value{};
    // Buffer::number: a new buffer may have the address of an old one.
    std::uint64_t buffer = 0;
  };

  std::mutex mutex;
  OwnedKernel kernel;
  bool launched = false;
  // Values of the parameters, then of the launch extents.
  std::vector<Held> held;
  std::array<std::size_t, 3> global{};
  std::array<std::size_t, 3> local{};
};

class Module;

// A kernel as a function of the ABI; the module owns it.
struct Kernel {
  Status call(const Call& call) const;

  Module* module = nullptr;
  std::size_t index = 0;
};

class Module {
 public:
  static constexpr LoaderIdentity identity{
      .type_key = "opencl", .device = "opencl", .is_parallel = true};
  static Result<std::unique_ptr<Module>> load(Plugin& plugin, Blob& blob);
  // Source compiles on every device, SPIR-V on devices that accept it. Whether a binary matches the
  // device is determined only when it is loaded.
  static Result<std::int32_t> check(Plugin& plugin, Blob& blob, std::int32_t device_index);

  Module(Plugin& plugin, Payload payload);

  // NULL: no kernel has this name.
  Kernel* find(std::string_view name);
  std::vector<std::string_view> names() const { return payload.table.names(); }
  Status save(const Sink& sink) const { return write_payload(payload, sink); }
  // Builds all programs, and creates the kernels. Drivers that finish compiling with the first launch
  // do so then.
  //
  // returns  the first error of make(); all other kernels are ready
  Status prepare(const gantry_env& env, std::span<const gantry_device_id> devices);

  // Returns the slot of kernel `index` on a device.
  Slot& slot(std::size_t index, const Device& device);
  // Creates the slot's kernel. The caller holds the slot's mutex.
  //
  // returns  MALFORMED  the code lacks the kernel, or its number of arguments differs from the
  //                     payload's (KERNEL_CODE)
  //          others     see Programs::build
  Status make(Slot& slot, std::size_t index, Device& device);
  // Schedules the program of kernel `index` for the disk cache, after its first launch has
  // finished.
  void launched(std::size_t index, const Device& device, OwnedEvent launch);

  Plugin& plugin;
  const Payload payload;

 private:
  void size_slots();
  // A program on one device; all kernels of an old payload share one.
  struct ProgramSlot {
    std::mutex mutex;
    Built built;
  };
  ProgramSlot& program_slot(std::size_t index, const Device& device) {
    return programs_[payload.program_of[index] * device_count_ +
                     static_cast<std::size_t>(device.index)];
  }

  // Indexed by kernel.
  std::vector<Kernel> kernels_;
  // Slots are allocated by the first call: `sized_` is set when they are.
  std::mutex sizing_;
  std::atomic<bool> sized_ = false;
  std::size_t device_count_ = 0;
  // Indexed by kernel and device.
  std::unique_ptr<Slot[]> slots_;
  // Indexed by program and device.
  std::unique_ptr<ProgramSlot[]> programs_;
};

}  // namespace gantry::opencl
