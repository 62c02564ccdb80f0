// SPDX-License-Identifier: Apache-2.0
//
// Small models, and functions that run them in the fake host.
#pragma once

#include "plugins/graph/plugin.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/payload_blob.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/words.hpp"

#include <gantry/handle.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gantry::graph::test {

using gantry::test::replaced;
using gantry::test::small_graph;

struct FloatParameter {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};
// p0 of the small graph: 10, 20, 30, 40.
extern const FloatParameter small_p0;

void add_record(gantry::test::Words& words, const FloatParameter& parameter);
std::vector<std::uint8_t> payload_bytes(const std::string& graph,
                                        const std::vector<FloatParameter>& parameters,
                                        std::string_view module_name = "default");
// A `.params` file.
std::string parameter_list(const std::vector<FloatParameter>& parameters);

// Dense float32 on the CPU whose address is `past` bytes above a multiple of 128.
class Floats {
 public:
  explicit Floats(std::vector<std::int64_t> shape, std::vector<float> values = {},
                  std::size_t past = 0);
  gantry_tensor tensor{};
  std::vector<float> values() const;
  gantry_value value() { return tensor_ref_value(&tensor); }

 private:
  std::vector<std::int64_t> shape_;
  std::vector<std::uint8_t> memory_;
};
std::vector<float> floats_of(const gantry_tensor& tensor);

// A factory and its executors in a fake host whose imports contain `add` and `negate`.
class Model : public ::testing::Test {
 protected:
  Model();
  ~Model() override;

  // Loads a factory from a copy of the bytes, `past` bytes above a multiple of 128, and returns its
  // module.
  Result<Value> load(std::vector<std::uint8_t> bytes,
                     std::string_view type_key = "GraphExecutorFactory", std::size_t past = 0);
  // The payload as the plugin writes it for a sink at this position.
  std::vector<std::uint8_t> saved(const Value& factory, std::uint64_t position = 0,
                                  std::uint32_t alignment = 0);

  Result<Value> call(const Value& module, std::string_view function,
                     std::vector<gantry_value> args = {}, const gantry_env* env = nullptr);
  // Loads a factory and creates an executor; fails the test if either fails.
  Value executor(const std::string& graph, const std::vector<FloatParameter>& parameters);
  // Of the small graph, with p0 in place.
  Value aligned_executor();
  Value created(const Value& factory);
  // Runs the executor and returns output 0.
  std::vector<float> run(const Value& executor);
  std::vector<float> output(const Value& executor, std::int64_t index = 0);
  gantry_tensor tensor_of(const Value& executor, const char* function, std::int64_t index);

  gantry::test::FakeHost fake;
  Host host;
  // Calls of add and negate.
  std::vector<gantry_env> calls;

 private:
  struct Kept;
  Plugin plugin_{Host(fake.table())};
  std::vector<std::unique_ptr<Kept>> kept_;
};

inline gantry_value text_value(const char* text) {
  gantry_value value{};
  value.kind = GANTRY_CSTRING;
  value.cstring = text;
  return value;
}

}  // namespace gantry::graph::test
