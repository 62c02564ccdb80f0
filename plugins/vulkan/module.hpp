// SPDX-License-Identifier: Apache-2.0
//
// A loaded payload: its kernels as functions, and their pipelines on the devices that have run them.
#pragma once

#include "pipeline.hpp"

#include <gantry/loader.hpp>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace gantry::vulkan {

class Module;
class Plugin;

constexpr std::int32_t max_devices = 16;

// A kernel as a function of the ABI; the module owns it.
struct LoadedKernel {
  explicit LoadedKernel(Result<Kernel> made) : kernel(std::move(made)) {}
  // launch.cpp
  Status call(const Call& call);

  // An error: it is in the payload and cannot be used.
  Result<Kernel> kernel;
  Module* module = nullptr;
  std::string_view name;
  std::mutex building;
  std::array<std::unique_ptr<Pipeline>, max_devices> owned;
  std::array<std::atomic<const Pipeline*>, max_devices> pipelines{};
};

class Module {
 public:
  static constexpr LoaderIdentity identity{
      .type_key = "vulkan", .device = "vulkan", .is_parallel = true};
  // returns  MALFORMED  the payload, or a shader; see read_payload() and make_kernel()
  static Result<std::unique_ptr<Module>> load(Plugin& plugin, Blob& blob);
  static Result<std::int32_t> check(Plugin& plugin, Blob& blob, std::int32_t device_index);

  // Kernels may still run: the devices keep what they use.
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  Plugin& plugin() const { return plugin_; }
  // NULL where there is none.
  //
  // returns  UNSUPPORTED  the kernel cannot be used, see make_kernel()
  Result<LoadedKernel*> find(std::string_view name) const;
  std::vector<std::string_view> names() const;
  Status save(const Sink& sink) const { return sink.write(kept_.bytes); }

  // Returns the kernel's pipeline on a device; the first call compiles it.
  //
  // thread   any; the first call compiles, others wait; different kernels at once
  Result<const Pipeline*> pipeline(LoadedKernel& kernel, Device& device);

 private:
  explicit Module(Plugin& plugin) : plugin_(plugin) {}
  PipelineCache& cache(const Device& device);

  Plugin& plugin_;
  PayloadBytes kept_;
  // In the order of the payload.
  std::vector<std::unique_ptr<LoadedKernel>> kernels_;
  std::map<std::string_view, LoadedKernel*> by_name_;
  std::mutex mutex_;
  std::array<std::unique_ptr<PipelineCache>, max_devices> caches_;
};

}  // namespace gantry::vulkan
