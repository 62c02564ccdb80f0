// SPDX-License-Identifier: Apache-2.0
//
// A loaded payload: its kernels as functions, built for a device when they are first called there.
#pragma once

#include "device.hpp"
#include "payload.hpp"

#include <gantry/loader.hpp>

#include <array>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace gantry::opencl {

// One kernel on one device. A driver's kernel object holds the arguments of the next launch, so one
// thread at a time uses it.
struct Slot {
  // An argument of the last launch. Most calls pass the same, and reading and setting it again costs
  // more than comparing. NONE: not known.
  struct Held {
    gantry_value value{};
    // Buffer::number: a new buffer may have the address of an old one.
    std::uint64_t buffer = 0;
  };

  std::mutex mutex;
  OwnedKernel kernel;
  bool launched = false;
  // Parameters, then extents.
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
  // Text is compiled anywhere, SPIR-V where the driver takes it; whether a binary matches the device
  // is known only when it is loaded.
  static Result<std::int32_t> check(Plugin& plugin, Blob& blob, std::int32_t device_index);

  Module(Plugin& plugin, Payload payload);

  // NULL where there is none.
  Kernel* find(std::string_view name);
  std::vector<std::string_view> names() const { return payload.table.names(); }
  Status save(const Sink& sink) const { return sink.write(payload.kept.bytes); }

  // Returns where kernel `index` is kept on a device.
  Slot& slot(std::size_t index, const Device& device);
  // Makes the slot's kernel; its mutex is held.
  //
  // returns  MALFORMED  the code has no such kernel, or it takes another number of arguments than
  //                     the payload states (KERNEL_CODE)
  //          others     see Programs::build
  Status make(Slot& slot, std::size_t index, Device& device);
  // Keeps the program of `index` in the cache once its first launch is done.
  void launched(std::size_t index, const Device& device, OwnedEvent launch);

  Plugin& plugin;
  const Payload payload;

 private:
  // A program on one device: kernels of old payloads share one.
  struct ProgramSlot {
    std::mutex mutex;
    Built built;
  };
  ProgramSlot& program_slot(std::size_t index, const Device& device) {
    return programs_[payload.program_of[index] * device_count_ +
                     static_cast<std::size_t>(device.index)];
  }

  // By kernel.
  std::vector<Kernel> kernels_;
  std::once_flag sized_;
  std::size_t device_count_ = 0;
  // By kernel and device.
  std::unique_ptr<Slot[]> slots_;
  // By program and device.
  std::unique_ptr<ProgramSlot[]> programs_;
};

}  // namespace gantry::opencl
