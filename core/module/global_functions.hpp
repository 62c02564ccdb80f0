// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/module/function.hpp"

#include <gantry/result.hpp>

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

// The functions of a runtime that belong to no module: __tvm_set_device and those that the embedder
// adds.
// thread   any
class GlobalFunctions {
 public:
  // returns  invalid where the name is taken
  Status add(std::string name, Ref<FunctionObject> function);
  // returns  NULL where there is none
  Ref<FunctionObject> find(std::string_view name) const;
  std::vector<std::string> names() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, Ref<FunctionObject>>> functions_;
};

}  // namespace gantry
