// SPDX-License-Identifier: Apache-2.0
//
// From a kernel's code to a program that a device runs: the binary of an earlier process if the disk
// cache has it, else what the driver's compiler makes.
//
//     build()   cache -> binary, or source / SPIR-V -> compiler
//     launch    the first one of a kernel; some drivers finish compiling only now, for the work-group
//               size of the launch
//     settle()  after a wait: stores the binaries of programs that have run
#pragma once

#include "driver.hpp"
#include "payload.hpp"

#include <gantry/disk_cache.hpp>
#include <gantry/handle.hpp>

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::opencl {

// A program, ready for clCreateKernel.
struct Built {
  OwnedProgram program;
  // Of the cache, for its binary; empty: it is stored already, or none is kept.
  std::string key;
};

class Programs {
 public:
  // options  [in]   for the compiler, as clBuildProgram takes them
  Programs(Host host, Driver& driver, DiskCache::Options cache, std::string options);
  ~Programs() { settle(true); }

  // kernel   [in]   for messages
  // returns  UNSUPPORTED  the compiler refuses it, with the compiler's log (KERNEL_BUILD); the device
  //                       takes no SPIR-V
  // thread   any
  // costs    up to seconds
  Result<Built> build(Device& device, const Program& program, std::string_view kernel);

  // Stores a program's binary once its first launch is done.
  void keep_after(const Built& built, const Device& device, OwnedEvent launch);

  // Stores the binaries of programs whose first launch is done.
  //
  // wait     [in]   true: waits for those that are still running
  // costs    one load while there are none, else a file for each
  void settle(bool wait);

 private:
  struct Waiting {
    OwnedProgram program;
    cl_device_id device;
    std::string key;
    OwnedEvent launch;
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
