// SPDX-License-Identifier: Apache-2.0
//
// A loaded payload: its kernels as functions.
#pragma once

#include "payload.hpp"

#include <gantry/loader.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

namespace abacus {

class Plugin;

// A kernel as a function of the ABI.
struct KernelFunction {
  // Enqueues the kernel and returns. Defined in launch.cpp.
  //
  // returns  INVALID  see gantry::KernelCall; memory that is not the device's
  gantry::Status call(const gantry::Call& call) const;

  // Returns the kernel's program on a device; the first call loads it there.
  //
  // thread   any
  std::shared_ptr<const std::vector<Step>> loaded(std::int32_t device) const;

  const Plugin* plugin;
  const Kernel* kernel;
  struct Programs {
    std::mutex mutex;
    std::map<std::int32_t, std::shared_ptr<const std::vector<Step>>> by_device;
  };
  std::shared_ptr<Programs> programs = std::make_shared<Programs>();
};

class Module {
 public:
  static constexpr gantry::LoaderIdentity identity{
      .type_key = "example.abacus", .device = "abacus", .is_parallel = true};
  static gantry::Result<std::unique_ptr<Module>> load(Plugin& plugin, gantry::Blob& blob);
  static gantry::Result<std::int32_t> check(Plugin& plugin, gantry::Blob& blob,
                                            std::int32_t device_index);

  Module(const Plugin& plugin, Payload payload);

  std::map<std::string_view, KernelFunction>& named_functions() { return functions_; }
  gantry::Status save(const gantry::Sink& sink) const { return sink.write(payload_.kept.bytes); }
  // Loads all programs.
  gantry::Status prepare(const gantry_env& env, std::span<const gantry_device_id> devices);

 private:
  const Plugin& plugin_;
  Payload payload_;
  std::map<std::string_view, KernelFunction> functions_;
};

}  // namespace abacus
