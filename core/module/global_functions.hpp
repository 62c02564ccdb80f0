// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/module/function.hpp"

#include <gantry/result.hpp>

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

// The functions of a runtime that belong to no module: __tvm_set_device, those that the embedder
// adds, and those that plugins offer.
// thread   any
class GlobalFunctions {
 public:
  // Looks a function up among those that plugins offer; NULL with OK: there is none.
  using Offered = std::function<Result<Ref<FunctionObject>>(std::string_view name)>;

  GlobalFunctions() = default;
  explicit GlobalFunctions(Offered offered) : offered_(std::move(offered)) {}

  // returns  invalid where the name is taken
  Status add(std::string name, Ref<FunctionObject> function);
  // returns  NULL where none was added
  Ref<FunctionObject> find(std::string_view name) const;
  // A function of a plugin, a new object for each look-up: it keeps the runtime, which therefore
  // does not keep it.
  //
  // returns  NULL where no plugin offers it; the error of a plugin that offers it and fails
  // costs    may open plugins
  Result<Ref<FunctionObject>> find_offered(std::string_view name) const;

 private:
  const Offered offered_;
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, Ref<FunctionObject>>> functions_;
};

}  // namespace gantry
