// SPDX-License-Identifier: Apache-2.0
//
// A loaded payload: its kernels as functions, and their pipelines, built when first called on a
// device.
#pragma once

#include "pipeline.hpp"

#include <gantry/loader.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace gantry::vulkan {

class Module;
class Plugin;

constexpr std::int32_t max_devices = 16;

// A kernel as a function of the ABI; the module owns it.
struct LoadedKernel {
  explicit LoadedKernel(Result<Kernel> made) : kernel(std::move(made)) {}
  // Defined in launch.cpp.
  Status call(const Call& call);

  // An error: the payload contains the kernel, but it cannot run.
  Result<Kernel> kernel;
  Module* module = nullptr;
  std::mutex building;
  std::array<std::unique_ptr<Pipeline>, max_devices> owned;
  std::array<std::atomic<const Pipeline*>, max_devices> pipelines{};
};

class Module {
 public:
  static constexpr LoaderIdentity identity{
      .type_key = "vulkan", .device = "vulkan", .is_parallel = true};
  // returns  MALFORMED  the payload or a shader, see read_payload() and make_kernel()
  static Result<std::unique_ptr<Module>> load(Plugin& plugin, Blob& blob);
  static Result<std::int32_t> check(Plugin& plugin, Blob& blob, std::int32_t device_index);

  // Kernels may still be running: the devices destroy their pipelines later.
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  Plugin& plugin() const { return plugin_; }
  // Returns a kernel; NULL: no kernel has this name.
  //
  // returns  UNSUPPORTED  the kernel cannot run, see make_kernel()
  Result<LoadedKernel*> find(std::string_view name) const;
  std::vector<std::string_view> names() const { return payload_.table.names(); }
  Status save(const Sink& sink) const { return write_payload(payload_, sink); }
  // Compiles all kernels.
  //
  // returns  the first error of a kernel; all others are ready
  Status prepare(const gantry_env& env, std::span<const gantry_device_id> devices);

  // Returns the kernel's pipeline on a device; the first call compiles it.
  //
  // thread   any; concurrent calls for one kernel wait for the first, different kernels compile in
  //          parallel
  Result<const Pipeline*> pipeline(LoadedKernel& kernel, Device& device);

 private:
  Module(Plugin& plugin, Payload payload) : plugin_(plugin), payload_(std::move(payload)) {}
  PipelineCache& cache(const Device& device);

  Plugin& plugin_;
  Payload payload_;
  // Parallel to payload_.table.kernels().
  std::vector<std::unique_ptr<LoadedKernel>> kernels_;
  std::mutex mutex_;
  std::array<std::unique_ptr<PipelineCache>, max_devices> caches_;
};

}  // namespace gantry::vulkan
