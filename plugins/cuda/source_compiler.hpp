// SPDX-License-Identifier: Apache-2.0
//
// Compiles CUDA C++ source of a payload for the architecture of a device, once: the code is kept in
// the disk cache.
#pragma once

#include "nvrtc.hpp"

#include <gantry/disk_cache.hpp>
#include <gantry/handle.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cuda {

class SourceCompiler {
 public:
  // Reads the options nvrtc, include, compile_options and cache. Opens nothing.
  explicit SourceCompiler(Host host);

  // Returns NVRTC; the first call opens it. A failure is not kept: the next call tries again.
  //
  // returns  as Nvrtc::open()
  // thread   any
  Result<const Nvrtc*> nvrtc();

  // Returns a cubin or PTX for a device: from the cache, or compiled.
  //
  // source   [in]   without a NUL
  // work     [in]   announced while NVRTC compiles: "compiling kernels ..."
  // returns  as nvrtc(), Nvrtc::architecture_for() and Nvrtc::compile()
  // thread   any
  // costs    up to seconds; from the cache: one read of a file
  Result<std::string> compile(std::string_view source, Architecture device, std::string_view work);

  // Compiles to PTX for an architecture: "sm_90a". Not cached.
  //
  // name     [in]   the file's name in diagnostics
  // returns  as nvrtc() and Nvrtc::compile()
  Result<std::string> compile_ptx(std::string_view source, std::string_view name,
                                  std::string_view architecture);

 private:
  std::vector<std::string> include_directories(const Nvrtc& nvrtc) const;
  CompileJob job(const Nvrtc& nvrtc, std::string_view source, std::string architecture) const;

  Host host_;
  std::string library_;
  std::string include_;
  std::vector<std::string> options_;
  DiskCache cache_;
  std::mutex mutex_;
  std::unique_ptr<const Nvrtc> nvrtc_;
  std::atomic<const Nvrtc*> opened_{nullptr};
};

}  // namespace gantry::cuda
