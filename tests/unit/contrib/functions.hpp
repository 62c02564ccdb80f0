// SPDX-License-Identifier: Apache-2.0
//
// Calls the functions of gantry.contrib on a fake host.
#pragma once

#include "plugins/contrib/plugin.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/number_tensor.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/raised_error.hpp>

#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::contrib::test {

using gantry::test::FakeHost;

using gantry::test::Floats;
using gantry::test::floats;
using gantry::test::integers;
using gantry::test::Numbers;

// A text of at most 7 bytes.
inline gantry_value text(const char* content) {
  gantry_value value{};
  gantry_value_small(GANTRY_SMALL_STRING, gantry_text(content), &value);
  return value;
}

class Functions : public ::testing::Test {
 protected:
  Result<Value> call(std::string_view name, std::vector<gantry_value> args) {
    const auto found = plugin.named_functions().find(name);
    if (found == plugin.named_functions().end()) return not_found("no function ", name);
    return found->second.call({{}, &env, args});
  }
  void done(std::string_view name, std::vector<gantry_value> args) {
    const auto result = call(name, std::move(args));
    EXPECT_TRUE(result.ok()) << result.error().message;
  }
  Error error_of(std::string_view name, std::vector<gantry_value> args) {
    auto result = call(name, std::move(args));
    EXPECT_FALSE(result.ok());
    return result.ok() ? Error() : std::move(result).error();
  }

  FakeHost fake;
  gantry_env env{gantry::test::cpu, nullptr, nullptr, nullptr};
  Plugin plugin{Host(fake.table()), 0};
};

}  // namespace gantry::contrib::test
