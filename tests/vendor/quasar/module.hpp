// SPDX-License-Identifier: Apache-2.0
//
// A payload of type key "acme_quasar", and its kernels as functions.
//
//     str  format, "qx"
//     kernel table (gantry/kernel_table.hpp), as `gantry pack` writes it
//     str  image: u32 architecture, 1; u32 count; for each kernel str name, u32 operation,
//          f32 immediate
#pragma once

#include "device.hpp"

#include <gantry/kernel_args.hpp>
#include <gantry/loader.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quasar {

class Plugin;

enum class Operation : std::uint32_t { add = 1, mul, relu, scale, matvec, halt };

// As it is in memory of the device.
struct Instruction {
  Operation operation;
  float immediate;
};

// The instructions of a module on the devices that have run it.
class Code {
 public:
  Code(const Plugin& plugin, std::vector<Instruction> instructions)
      : plugin_(plugin), instructions_(std::move(instructions)) {}

  // Returns the instructions on a device; the first call loads them there.
  //
  // thread   any
  gantry::Result<BlockPtr> on(Device& device, std::int32_t index);
  const Instruction& operator[](std::size_t kernel) const { return instructions_[kernel]; }

 private:
  const Plugin& plugin_;
  const std::vector<Instruction> instructions_;
  std::mutex mutex_;
  std::map<std::int32_t, BlockPtr> loaded_;
};

struct Kernel {
  // Enqueues the kernel and returns.
  //
  // returns  INVALID  see gantry::KernelCall; memory that is not the device's, or has no padding
  gantry::Status call(const gantry::Call& call) const;

  const Plugin* plugin;
  gantry::KernelCall signature;
  // of the instruction
  std::size_t index;
  Code* code;
};

class Module {
 public:
  static constexpr gantry::LoaderIdentity identity{
      .type_key = "acme_quasar", .device = Device::identity.name, .is_parallel = true};
  static gantry::Result<std::unique_ptr<Module>> load(Plugin& plugin, gantry::Blob& blob);
  static gantry::Result<std::int32_t> check(Plugin& plugin, gantry::Blob& blob,
                                            std::int32_t device_index);

  Module(const Plugin& plugin, std::vector<Instruction> instructions)
      : plugin_(plugin), code_(plugin, std::move(instructions)) {}

  std::map<std::string, Kernel, std::less<>>& named_functions() { return kernels_; }
  gantry::Status save(const gantry::Sink& sink) const { return sink.write(kept_.bytes); }
  // Loads the instructions.
  gantry::Status prepare(const gantry_env& env, std::span<const gantry_device_id> devices);

 private:
  const Plugin& plugin_;
  gantry::PayloadBytes kept_;
  Code code_;
  std::map<std::string, Kernel, std::less<>> kernels_;
};

}  // namespace quasar
