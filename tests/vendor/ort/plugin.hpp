// SPDX-License-Identifier: Apache-2.0
//
// The plugin in one runtime, with ONNX Runtime's library.
#pragma once

#include "module.hpp"
#include "runtime.hpp"

#include <gantry/plugin.hpp>

#include <memory>
#include <mutex>

namespace ort {

class Plugin {
 public:
  using Loaders = gantry::Types<Module>;

  explicit Plugin(gantry::Host host) : host_(host) {}

  gantry::Host host() const { return host_; }
  // Returns the library; the first call opens it.
  //
  // thread   any
  gantry::Result<const Runtime*> runtime() {
    const std::lock_guard once(mutex_);
    if (runtime_ == nullptr) {
      GANTRY_TRY(runtime_, Runtime::open(host_));
    }
    return runtime_.get();
  }

 private:
  gantry::Host host_;
  std::mutex mutex_;
  std::unique_ptr<const Runtime> runtime_;
};

}  // namespace ort
