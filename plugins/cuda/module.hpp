// SPDX-License-Identifier: Apache-2.0
//
// A loaded payload: its kernels as functions. The first call on a device loads the code there.
#pragma once

#include "device.hpp"
#include "payload.hpp"

#include <gantry/loader.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cuda {

class Module;
struct Plugin;

// A kernel on one device.
struct LoadedKernel {
  CUfunction function = nullptr;
  // Current limit of dynamic shared memory, in bytes.
  std::atomic<int> dynamic_shared_limit{0};
  std::mutex raising;
};

// A kernel as a function of the ABI; the module owns it.
struct Kernel {
  // Defined in launch.cpp.
  Status call(const Call& call) const;

  Module* module;
  // Entry of the payload's table.
  std::size_t index;
  const KernelCall* signature;
};

class Module {
 public:
  static constexpr LoaderIdentity identity{
      .type_key = "cuda", .device = "cuda", .is_parallel = true};
  static Result<std::unique_ptr<Module>> load(Plugin& plugin, Blob& blob);
  static Result<std::int32_t> check(Plugin& plugin, Blob& blob, std::int32_t device_index);

  Module(Plugin& plugin, Payload payload);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  Plugin& plugin() const { return plugin_; }
  // Returns a kernel; NULL: no kernel has this name.
  //
  // returns  UNSUPPORTED  the kernel has an unsupported launch tag (LAUNCH_TAG)
  Result<Kernel*> find(std::string_view name);
  std::vector<std::string_view> names() const { return payload_.kernels.names(); }
  Status save(const Sink& sink) const { return write_payload(payload_, sink); }
  // Loads the code, compiling it where that is required, and finds the kernels in it.
  //
  // returns  the first error of a kernel; all others are ready
  Status prepare(const gantry_env& env, std::span<const gantry_device_id> devices);

  // Returns a kernel on a device; the first call on a device loads the code there.
  //
  // returns  UNAVAILABLE  the code is for other architectures (BLOB_ARCH), or its PTX version is
  //                       later than the driver's (PTX_VERSION); the code is source, and NVRTC or a
  //                       header is missing (CUDA_SOURCE, HEADER_MISSING)
  //          UNSUPPORTED  NVRTC rejects the source; the text contains its log (KERNEL_BUILD)
  //          MALFORMED    the driver's compiler rejects the code; the text contains its log
  //                       (BLOB_CODE)
  //          NOT_FOUND    the code does not contain the kernel (KERNEL)
  //          others       errors of the driver
  // thread   any; the first call loads, others wait
  // costs    the first call on a device may compile, up to seconds; then one atomic load
  Result<LoadedKernel*> loaded(const Kernel& kernel, Device& device);

 private:
  struct OnDevice;

  Result<OnDevice*> load(Device& device);
  Result<CUmodule> load_code(Device& device);
  Result<CUmodule> load_image(Device& device, const Image& image);
  // What the payload contains, if it is loaded as `image`.
  std::string text_of(const Image& image) const;
  // "compiling kernels ... for device 0 (...)"
  std::string work_text(const Device& device) const;
  Error explain(const Device& device, const Image& image, CUresult result,
                const std::string& log) const;
  Error wrong_architecture(const Device& device, const Image& image) const;

  Plugin& plugin_;
  Payload payload_;
  std::vector<Kernel> kernels_;
  std::mutex mutex_;
  std::array<std::unique_ptr<OnDevice>, Devices::max> devices_;
  std::array<std::atomic<OnDevice*>, Devices::max> loaded_{};
};

}  // namespace gantry::cuda
