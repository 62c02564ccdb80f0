// SPDX-License-Identifier: Apache-2.0
//
// ONNX Runtime's library, opened when it is first needed.
#pragma once

#include "api.hpp"

#include <gantry/handle.hpp>
#include <gantry/result.hpp>

#include <memory>
#include <mutex>
#include <string_view>

namespace ort {

// An object of the library, released by the function of its table.
template <class T>
struct Release {
  void (*release)(T*) = nullptr;
  void operator()(T* object) const { release(object); }
};
template <class T>
using Owned = std::unique_ptr<T, Release<T>>;

class Runtime {
 public:
  // returns  UNAVAILABLE  no library (DRIVER_MISSING), or not one of ONNX Runtime
  static gantry::Result<std::unique_ptr<Runtime>> open(gantry::Host host);

  const Api& api() const { return *api_; }
  const OrtEnv* environment() const { return environment_.get(); }
  const OrtSessionOptions* options() const { return options_.get(); }
  const OrtMemoryInfo* host_memory() const { return memory_.get(); }
  // Of the library's texts. It is not released.
  OrtAllocator* allocator() const { return allocator_; }

  // returns  INVALID, or UNSUPPORTED for an operator that the library lacks
  gantry::Status check(OrtStatus* status) const;

 private:
  explicit Runtime(const Api* api) : api_(api) {}
  gantry::Status create(gantry::Host host);

  const Api* api_;
  Owned<OrtEnv> environment_;
  Owned<OrtSessionOptions> options_;
  Owned<OrtMemoryInfo> memory_;
  OrtAllocator* allocator_ = nullptr;
};

}  // namespace ort
