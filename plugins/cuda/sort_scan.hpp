// SPDX-License-Identifier: Apache-2.0
//
// The kernels of kernels/sort_scan.cu as a module of this plugin: sorting and prefix sums.
#pragma once

#include <gantry/result.hpp>

#include <memory>
#include <mutex>

namespace gantry::cuda {

class Module;
struct Plugin;

class SortScan {
 public:
  SortScan();
  ~SortScan();

  // Returns the module; the first call makes it: of source where there is NVRTC, of PTX for sm_75 and later
  // devices where there is none.
  //
  // thread   any
  Result<Module*> module(Plugin& plugin);

 private:
  std::mutex mutex_;
  std::unique_ptr<Module> module_;
};

}  // namespace gantry::cuda
