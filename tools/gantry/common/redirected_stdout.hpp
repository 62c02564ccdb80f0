// SPDX-License-Identifier: Apache-2.0
//
// Keeps standard output free of what loaded code prints: a document or an artifact is written to it.
#pragma once

#include <gantry/descriptor.hpp>
#include <gantry/result.hpp>

#include <utility>

namespace gantry::cli {

// Standard output is standard error in the scope of this object, for the whole process; nothing is
// printed if standard error is closed.
//
// thread   one at a time; no other thread may write to standard output
class RedirectedStdout {
 public:
  // returns  unavailable if there is no free descriptor
  static Result<RedirectedStdout> start();
  RedirectedStdout(RedirectedStdout&&) = default;
  RedirectedStdout& operator=(RedirectedStdout&&) = delete;
  // Writes what is buffered to standard error first.
  ~RedirectedStdout();

 private:
  explicit RedirectedStdout(Descriptor saved) : saved_(std::move(saved)) {}

  // none: standard output was closed, or the object was moved
  Descriptor saved_;
};

}  // namespace gantry::cli
