// SPDX-License-Identifier: Apache-2.0
//
// Runtimes that find plugins of this build and no others, so that a test has the same plugins on
// every machine.
#pragma once

#include <gantry/runtime.hpp>

#include "tests/support/built_plugins.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

namespace gantry::test {

// Returns `options` with the directory of one plugin, or of all of them.
inline RuntimeOptions built_plugins_only(std::string_view plugin = {},
                                         RuntimeOptions options = {}) {
  options.plugin_dirs = {built_plugins(plugin)};
  options.only_these_plugins = true;
  return options;
}

inline Runtime new_runtime(RuntimeOptions options = built_plugins_only()) {
  auto runtime = Runtime::create(std::move(options));
  if (!runtime.ok()) ADD_FAILURE() << runtime.error().message;
  return std::move(runtime).value();
}

}  // namespace gantry::test
