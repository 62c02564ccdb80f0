// SPDX-License-Identifier: Apache-2.0
//
// Builds a kernel's code into a program for a device: from the binary in the disk cache if there is
// one, else with the driver's compiler.
//
//     build()   loads the binary from the cache, or compiles source or SPIR-V
//     launch    the kernel's first launch; some drivers finish compiling here, for the launch's
//               work-group size
//     settle()  called after a wait; stores the binaries of programs that have run
#pragma once

#include "driver.hpp"
#include "payload.hpp"

#include <gantry/disk_cache.hpp>
#include <gantry/handle.hpp>
#include <gantry/progress.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::opencl {

// A program, ready for clCreateKernel.
struct Built {
  OwnedProgram program;
  // Compiled in this process. Some drivers finish that with the first launch of each kernel.
  bool is_compiled = false;
  // Cache key of its binary; empty: the binary is already stored, or is not cached.
  std::string key;
};

// Returns a program's binary for one of its devices; empty: the driver has none.
std::vector<std::uint8_t> binary_of(cl_program program, cl_device_id device);
// Returns the compiler's log of a program for a device; empty: there is none.
std::string build_log(cl_program program, cl_device_id device);

class Programs {
 public:
  // options  [in]   compiler options in the syntax of clBuildProgram
  Programs(Host host, Driver& driver, DiskCache::Options cache, std::string options);
  ~Programs() { settle(true); }

  // Builds a program, or loads it from the cache.
  //
  // kernel   [in]   the kernel's name, for messages
  // returns  UNSUPPORTED  the compiler rejects the code; the text contains its log (KERNEL_BUILD);
  //                       the device does not accept SPIR-V, or not this version (SPIRV); the
  //                       binary is for another device (BLOB_ARCH)
  // thread   any
  // costs    up to seconds
  Result<Built> build(Device& device, const Program& program, std::string_view kernel);

  // The compiler options.
  const std::string& options() const { return options_; }

  // Announces the first launch of a kernel until settle(), and schedules its program's binary.
  //
  // kernel   [in]   the kernel's name, for messages
  void keep_after(const Built& built, const Device& device, std::string_view kernel,
                  OwnedEvent launch);

  // Stores the binaries of programs whose first launch has finished.
  //
  // wait     [in]   true: waits for launches that are still running
  // costs    one atomic load if none is scheduled, else one file for each
  void settle(bool wait);

 private:
  struct Waiting {
    OwnedProgram program;
    cl_device_id device;
    std::string key;
    OwnedEvent launch;
    std::unique_ptr<const AnnouncedWork> work;
  };

  std::string key_of(const Device& device, const Program& program) const;
  OwnedProgram from_cache(cl_context context, const Device& device, const std::string& key);
  Error build_error(cl_program program, const Device& device, std::string_view kernel,
                    cl_int error) const;

  Host host_;
  Driver& driver_;
  DiskCache cache_;
  std::string options_;
  std::mutex mutex_;
  std::atomic<bool> has_waiting_{false};
  std::vector<Waiting> waiting_;
};

}  // namespace gantry::opencl
