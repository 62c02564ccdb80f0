// SPDX-License-Identifier: Apache-2.0
//
// Payloads of constants, and their modules in the fake host.
#pragma once

#include "plugins/const_loader/plugin.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/payload_blob.hpp"
#include "tests/support/words.hpp"

#include <gantry/handle.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace gantry::const_loader::test {

using gantry::test::Words;

struct Floats {
  std::string_view name;
  std::vector<float> values;
};

// A float32 vector as an array record.
void add_floats(Words& words, const std::vector<float>& values);

// Constants a = {1, 2}, b = {3}; main_0 uses b and a, main_1 uses a, main_2 none.
std::vector<std::uint8_t> small_payload();

// Loads modules from copies of bytes and calls their functions.
class ConstantModules : public ::testing::Test {
 protected:
  ConstantModules();
  ~ConstantModules() override;

  // past     [in]   bytes between a multiple of 128 and the payload
  Result<Value> load(const std::vector<std::uint8_t>& bytes, std::size_t past = 0);
  Result<ObjectRef> find(const Value& module, std::string_view name);
  Result<Value> call(const Value& module, std::string_view function,
                     const std::vector<gantry_value>& args = {});
  std::vector<std::uint8_t> saved(const Value& module, std::uint32_t alignment = 0);

  gantry::test::FakeHost fake;
  Host host{fake.table()};
  // Of each initialization: the values of each constant.
  std::vector<std::vector<std::vector<float>>> initialized;
  // Addresses of the constants of the last one.
  std::vector<const void*> addresses;
  // Results of the next initializations; then 0.
  std::vector<Value> results;

 private:
  struct Kept;
  Plugin plugin_{host};
  std::vector<std::unique_ptr<Kept>> kept_;
};

}  // namespace gantry::const_loader::test
