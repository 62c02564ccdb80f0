// SPDX-License-Identifier: Apache-2.0
//
// A model whose description is in this program, and its factory in the fake host.
//
//     y[i] = x[i] * scale + c[i]      the constant c is in the pool of constants at offset 128
//     w[0] += 1                       in the workspace, as uint32
#pragma once

#include "plugins/aot/plugin.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/payload_blob.hpp"
#include "tests/support/words.hpp"

#include <gantry/handle.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace gantry::aot::test {

// The C structs, as compilers lay them out.
struct TensorInfo {
  const char* name;
  const std::int64_t* shape;
  std::int64_t rank;
  gantry_dtype dtype;
};
struct ConstantInfo {
  const char* name;
  std::int64_t offset;
  std::int64_t bytes;
  const void* record;
};
struct Metadata {
  std::int64_t version;
  const TensorInfo* inputs;
  std::int64_t input_count;
  const TensorInfo* outputs;
  std::int64_t output_count;
  const TensorInfo* workspaces;
  std::int64_t workspace_count;
  const ConstantInfo* constants;
  std::int64_t constant_count;
  const char* module_name;
};

// float32[4] on the CPU, `past` bytes above a multiple of 128.
class Floats {
 public:
  explicit Floats(std::vector<float> values, std::size_t past = 0);
  gantry_tensor tensor{};
  std::vector<float> values() const;
  gantry_value value() { return tensor_ref_value(&tensor); }

 private:
  std::int64_t extent_;
  std::vector<std::uint8_t> memory_;
};
std::vector<float> floats_of(const gantry_tensor& tensor);

gantry_value name_value(const char* text);

class AotModel : public ::testing::Test {
 protected:
  AotModel();
  ~AotModel() override;

  struct FloatParameter {
    std::string_view name;
    std::vector<float> values;
  };
  static std::vector<std::uint8_t> payload(const std::vector<FloatParameter>& parameters,
                                           std::string_view name = "default");
  // past     [in]   bytes between a multiple of 128 and the payload
  Result<Value> load(const std::vector<std::uint8_t>& bytes, std::size_t past = 0);
  Result<Value> load_metadata_module();
  std::vector<std::uint8_t> saved(const Value& module, std::uint32_t alignment = 0);
  Result<Value> call(const Value& module, std::string_view function,
                     const std::vector<gantry_value>& args = {});
  // Fails the test if the factory or the executor fails.
  Value executor(const std::vector<FloatParameter>& parameters = {});
  // Sets scale to 2 and x to the values, and runs.
  std::vector<float> run(const Value& executor, const std::vector<float>& x);
  std::vector<float> output(const Value& executor);

  gantry::test::FakeHost fake;
  Host host{fake.table()};
  // A copy of the description in this program, which tests change.
  static Metadata metadata;
  // Returned by get_c_metadata.
  gantry_value address{};
  // Of the last run of the model's function.
  std::vector<gantry_tensor> arguments;
  std::vector<gantry_env> envs;
  // Of device 4:1 in each.
  std::vector<void*> device_streams;
  // The model's function fails.
  bool fails = false;

 private:
  struct Kept;
  Result<Value> loaded(const gantry_loader_table& loader, const gantry_blob& blob);
  Plugin plugin_{host};
  std::vector<std::unique_ptr<Kept>> kept_;
};

}  // namespace gantry::aot::test
