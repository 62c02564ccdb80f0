// SPDX-License-Identifier: Apache-2.0
//
// A loaded payload: its kernels by name, and its code on each device where one of them was called.
#pragma once

#include "payload.hpp"
#include "plugin.hpp"

#include <atomic>
#include <memory>
#include <mutex>

namespace gantry::cuda {

class Module;

// A kernel on one device.
struct LoadedKernel {
  CUfunction function = nullptr;
  // bytes that a launch may ask for as things stand
  std::atomic<int> dynamic_shared_limit{0};
  std::mutex raising;
};

// A function of a module. Lives in it.
struct Kernel {
  Module* module;
  // in the payload's table
  std::size_t index;
  const KernelCall* call;
};

class Module {
 public:
  Module(Plugin& plugin, Payload payload);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const Payload& payload() const { return payload_; }
  Plugin& plugin() const { return plugin_; }
  // NULL where there is none of that name.
  Kernel* find(std::string_view name);

  // A kernel on a device, its module loaded there when the first one is asked for.
  //
  // returns  UNAVAILABLE  the code is for other architectures (BLOB_ARCH), or its PTX is of a later version than the
  //                       driver knows (PTX_VERSION)
  //          MALFORMED    the driver's compiler does not accept it (BLOB_CODE); its log is in the text
  //          NOT_FOUND    the code has no such kernel (KERNEL)
  //          others       of the driver
  // thread   any; the first loads, others wait
  // costs    the first on a device may compile, up to seconds; later ones a load
  Result<LoadedKernel*> loaded(const Kernel& kernel, Device& device);

 private:
  struct OnDevice;

  Result<OnDevice*> load(Device& device);
  Result<CUmodule> load_image(Device& device);
  Error explain(const Device& device, CUresult result, const std::string& log) const;
  Error wrong_architecture(const Device& device) const;

  Plugin& plugin_;
  Payload payload_;
  std::vector<Kernel> kernels_;
  std::mutex mutex_;
  std::array<std::unique_ptr<OnDevice>, Devices::max> devices_;
  std::array<std::atomic<OnDevice*>, Devices::max> loaded_{};
};

extern const gantry_module_table module_table;
// launch.cpp; self is a Kernel
extern const gantry_function_table launch_table;

}  // namespace gantry::cuda
