// SPDX-License-Identifier: Apache-2.0
//
// The digit classifier that TVM 0.12 exported, its inputs, and the outputs that TVM computed.
#pragma once

#include "tests/support/built_runtime.hpp"

#include <gantry/embed/executor.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace gantry::test {

// Returns options for a runtime that finds the graph executor of this build and, by default, no
// other plugin, so that the same plugins are missing in every build and on every machine.
inline Runtime make_runtime(RuntimeOptions options = {}) {
  if (options.plugin_paths.empty() && options.config_file.empty())
    options = built_plugins_only("graph", std::move(options));
  return new_runtime(options);
}

inline std::string digits_file(const char* target = "llvm") {
  return golden(std::string("tvm-0.12/digits_mlp_") + target + ".so").string();
}

struct Digits {
  // float32[360, 1, 64]
  Tensor inputs;
  // float32[360, 1, 10]
  Tensor expected;

  explicit Digits(const Runtime& runtime, const char* target = "llvm") {
    inputs = read(runtime, golden("tvm-0.12/digits_mlp.input.npz").string());
    expected = read(
        runtime, golden(std::string("tvm-0.12/digits_mlp_") + target + ".expected.npz").string());
  }
  static Tensor read(const Runtime& runtime, const std::string& path) {
    auto all = runtime.read_tensors(path);
    if (!all.ok()) ADD_FAILURE() << all.error().message;
    return all->front().second;
  }

  // Runs digit `i` and compares the scores with TVM's, up to the precision of `expf`.
  testing::AssertionResult run(Executor& executor, std::int64_t i) const {
    if (const auto set = executor.set_input("x", inputs.row(i).value()); !set.ok()) {
      return testing::AssertionFailure() << set.error().message;
    }
    if (const auto ran = executor.run(); !ran.ok())
      return testing::AssertionFailure() << ran.error().message;
    const auto output = executor.output(0);
    if (!output.ok()) return testing::AssertionFailure() << output.error().message;
    const auto found = output->elements<float>();
    const auto wanted = expected.row(i)->elements<float>();
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      if (std::abs(found[k] - wanted[k]) > 1e-6f * std::abs(wanted[k])) {
        return testing::AssertionFailure() << "score " << k << " of digit " << i << " is "
                                           << found[k] << ", TVM's is " << wanted[k];
      }
    }
    return testing::AssertionSuccess();
  }
};

}  // namespace gantry::test
