// SPDX-License-Identifier: Apache-2.0
//
// The module that a payload becomes: its kernels as functions, built for a device when they are first called there.
#pragma once

#include "device.hpp"
#include "payload.hpp"

#include <gantry/loader.h>

#include <array>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace gantry::opencl {

// One kernel on one device. A driver's kernel object holds the arguments of the next launch, so it is used by one
// thread at a time.
struct Slot {
  // What a place of the last launch was given. Most calls bring the same, and reading and setting it again costs more than
  // comparing. NONE: what is there is not known.
  struct Held {
    gantry_value value{};
    // Buffer::number: a new buffer may have an old one's address
    std::uint64_t buffer = 0;
  };

  std::mutex mutex;
  OwnedKernel kernel;
  bool launched = false;
  // parameters, then extents
  std::vector<Held> held;
  std::array<std::size_t, 3> global{};
  std::array<std::size_t, 3> local{};
};

struct Module;

// What a function of the module is; the module owns it.
struct Kernel {
  Module* module = nullptr;
  std::size_t index = 0;
};

struct Module {
  Plugin* plugin = nullptr;
  // keeps the payload's bytes
  ObjectRef pin;
  Payload payload;
  std::vector<Kernel> kernels;

  // Where kernel `index` is kept on a device.
  Slot& slot(std::size_t index, const Device& device);
  // Makes the slot's kernel; its mutex is held.
  //
  // returns  MALFORMED  the code has no such kernel, or it takes another number of arguments than the payload says
  //          what Programs::build says
  Status make(Slot& slot, std::size_t index, Device& device);
  // What is to be kept of the program of `index`, once its first launch is done.
  void launched(std::size_t index, const Device& device, OwnedEvent launch);

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

  std::once_flag sized_;
  std::size_t device_count_ = 0;
  // kernel by kernel, device by device
  std::unique_ptr<Slot[]> slots_;
  // likewise
  std::unique_ptr<ProgramSlot[]> programs_;
};

extern const gantry_loader_table loader_table;

}  // namespace gantry::opencl
