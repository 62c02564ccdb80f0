// SPDX-License-Identifier: Apache-2.0
//
// A loaded payload: its kernels, and their pipelines on the devices that have run them.
#pragma once

#include "pipeline.hpp"
#include "plugin.hpp"

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

// What a function of the module is.
struct LoadedKernel {
  explicit LoadedKernel(Result<Kernel> made) : kernel(std::move(made)) {}

  // an error: it is in the payload and cannot be had
  Result<Kernel> kernel;
  Module* module = nullptr;
  std::string_view name;
  std::mutex building;
  std::array<std::unique_ptr<Pipeline>, max_devices> owned;
  std::array<std::atomic<const Pipeline*>, max_devices> pipelines{};
};

class Module {
 public:
  // blob     [in]   its pin is retained
  // returns  MALFORMED  the payload, or a shader; see read_payload() and make_kernel()
  static Result<std::unique_ptr<Module>> load(Plugin& plugin, const gantry_blob& blob,
                                              std::uint64_t* consumed);
  // kernels may still run: the devices keep what these need
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  Plugin& plugin() const { return plugin_; }
  const std::vector<std::unique_ptr<LoadedKernel>>& kernels() const { return kernels_; }
  // NULL where there is none.
  LoadedKernel* find(std::string_view name) const;
  // The payload as it came.
  std::span<const std::uint8_t> bytes() const { return bytes_; }

  // Compiles the kernel for the device when it is first wanted there.
  //
  // thread   any; the first compiles, others wait; different kernels at once
  Result<const Pipeline*> pipeline(LoadedKernel& kernel, Device& device);

 private:
  explicit Module(Plugin& plugin) : plugin_(plugin) {}
  PipelineCache& cache(const Device& device);

  Plugin& plugin_;
  ObjectRef pin_;
  std::span<const std::uint8_t> bytes_;
  // in the order of the payload
  std::vector<std::unique_ptr<LoadedKernel>> kernels_;
  std::map<std::string_view, LoadedKernel*> by_name_;
  std::mutex mutex_;
  std::array<std::unique_ptr<PipelineCache>, max_devices> caches_;
};

}  // namespace gantry::vulkan
