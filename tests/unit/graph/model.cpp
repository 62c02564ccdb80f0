// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/graph/model.hpp"

#include "tests/support/memory_sink.hpp"

#include <gantry/dtype_text.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace gantry::graph::test {

using gantry::test::FakeHost;
using gantry::test::Words;

const FloatParameter small_p0{"p0", {2, 2}, {10, 20, 30, 40}};

void add_record(Words& words, const FloatParameter& parameter) {
  words.u64(array_record_magic)
      .u64(0)
      .i32(1)
      .i32(0)
      .i32(static_cast<std::int32_t>(parameter.shape.size()));
  words.u8(2).u8(32).u16(1);
  for (const std::int64_t extent : parameter.shape) words.i64(extent);
  const std::size_t bytes = parameter.values.size() * sizeof(float);
  words.u64(bytes).raw(parameter.values.data(), bytes);
}

std::vector<std::uint8_t> payload_bytes(const std::string& graph,
                                        const std::vector<FloatParameter>& parameters,
                                        std::string_view module_name) {
  Words words;
  words.str(graph).u64(parameters.size()).u64(parameters.size());
  for (const FloatParameter& parameter : parameters) words.str(parameter.name);
  for (const FloatParameter& parameter : parameters) add_record(words, parameter);
  words.str(module_name);
  return {words.bytes().begin(), words.bytes().end()};
}

std::string parameter_list(const std::vector<FloatParameter>& parameters) {
  Words words;
  words.u64(0xF7E58D4F05049CB7).u64(0).u64(parameters.size());
  for (const FloatParameter& parameter : parameters) words.str(parameter.name);
  words.u64(parameters.size());
  for (const FloatParameter& parameter : parameters) add_record(words, parameter);
  return std::string(words.bytes().begin(), words.bytes().end());
}

Floats::Floats(std::vector<std::int64_t> shape, std::vector<float> values, std::size_t past)
    : shape_(std::move(shape)) {
  std::size_t count = 1;
  for (const std::int64_t extent : shape_) count *= static_cast<std::size_t>(extent);
  memory_.resize(count * sizeof(float) + 256);
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(memory_.data()) % 128;
  tensor.data = memory_.data() + (128 - misaligned) + past;
  tensor.device = gantry::test::cpu;
  tensor.ndim = static_cast<std::int32_t>(shape_.size());
  tensor.dtype = {2, 32, 1};
  tensor.shape = shape_.data();
  std::copy(values.begin(), values.end(), static_cast<float*>(tensor.data));
}

std::vector<float> Floats::values() const { return floats_of(tensor); }

std::vector<float> floats_of(const gantry_tensor& tensor) {
  std::size_t count = 1;
  for (std::int32_t i = 0; i < tensor.ndim; ++i) count *= static_cast<std::size_t>(tensor.shape[i]);
  std::vector<float> values(count);
  std::memcpy(values.data(), static_cast<const char*>(tensor.data) + tensor.byte_offset,
              count * sizeof(float));
  return values;
}

struct Model::Kept {
  std::vector<std::uint8_t> memory;
  gantry_object* pin = nullptr;
};

Model::Model() : host(fake.table()) {
  // Graphs that a test has damaged call with any shapes: an argument that is no float32 of the
  // output's count is left.
  const auto count_of = [](const gantry_tensor& tensor) -> std::int64_t {
    std::int64_t count =
        tensor.dtype.code == 2 && tensor.dtype.bits == 32 && tensor.dtype.lanes == 1;
    for (std::int32_t i = 0; i < tensor.ndim; ++i) count *= tensor.shape[i];
    return count;
  };
  const auto elementwise = [this, count_of](auto&& function) -> FakeHost::Body {
    return [this, count_of, function](const gantry_env* env, std::span<const gantry_value> args,
                                      gantry_value*, gantry_status*) {
      calls.push_back(*env);
      if (args.empty()) return gantry_code{GANTRY_OK};
      const gantry_tensor& out = *args.back().tensor;
      const std::int64_t count = count_of(out);
      for (std::int64_t i = 0; i < count; ++i) {
        float value[2] = {};
        for (std::size_t a = 0; a < 2 && a + 1 < args.size(); ++a) {
          if (count_of(*args[a].tensor) != count) continue;
          value[a] = reinterpret_cast<const float*>(fake.memory_of(*args[a].tensor))[i];
        }
        reinterpret_cast<float*>(fake.memory_of(out))[i] = function(value[0], value[1]);
      }
      return gantry_code{GANTRY_OK};
    };
  };
  fake.add_function("add", elementwise([](float a, float b) { return a + b; }));
  fake.add_function("negate", elementwise([](float a, float) { return -a; }));
}

Model::~Model() {
  for (const auto& kept : kept_) fake.release(kept->pin);
}

Result<Value> Model::load(std::vector<std::uint8_t> bytes, std::string_view type_key,
                          std::size_t past) {
  auto kept = std::make_unique<Kept>();
  kept->memory.resize(bytes.size() + 256);
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(kept->memory.data()) % 128;
  std::uint8_t* at = kept->memory.data() + (128 - misaligned) + past;
  std::copy(bytes.begin(), bytes.end(), at);
  kept->pin = fake.new_pin();
  gantry_blob blob = gantry::test::payload_blob({at, bytes.size()}, -1, true, kept->pin);
  blob.type_key = bytes_of(type_key);
  kept_.push_back(std::move(kept));

  StatusBuffer status;
  gantry_module module{};
  std::uint64_t consumed = 0;
  const gantry_code code = loader_table<Plugin, Factory>.load_binary(
      &plugin_, &blob, fake.node(), &module, &consumed, status.get());
  if (code != GANTRY_OK) return status.error(code, "load_binary");
  EXPECT_EQ(consumed, blob.size);
  gantry_value made{};
  fake.table()->module_new(fake.table(), fake.node(), module, 0, &made, nullptr);
  return Value::adopt(made);
}

// The fake host's module object begins as every module of it does: header, then the pair.
std::vector<std::uint8_t> Model::saved(const Value& factory, std::uint64_t position,
                                       std::uint32_t alignment) {
  const auto& pair = *reinterpret_cast<const gantry_module*>(factory.object() + 1);
  gantry::test::MemorySink sink(alignment, position);
  EXPECT_EQ(pair.table->save_binary(pair.self, sink.raw(), nullptr), GANTRY_OK);
  return std::move(sink.bytes);
}

Result<Value> Model::call(const Value& module, std::string_view function,
                          std::vector<gantry_value> args, const gantry_env* env) {
  GANTRY_TRY(const ObjectRef found, host.find(module.object(), GANTRY_FIND_SELF, function));
  const gantry_env cpu_env{gantry::test::cpu, nullptr, nullptr, nullptr};
  return host.call(found.get(), env != nullptr ? env : &cpu_env, args);
}

Value Model::created(const Value& factory) {
  Result<Value> made = call(factory, "default", {device_value(gantry::test::cpu)});
  EXPECT_TRUE(made.ok()) << made.error().message;
  return made.ok() ? *made : Value();
}

Value Model::executor(const std::string& graph, const std::vector<FloatParameter>& parameters) {
  const Result<Value> factory = load(payload_bytes(graph, parameters), "GraphExecutorFactory", 3);
  EXPECT_TRUE(factory.ok()) << factory.error().message;
  return factory.ok() ? created(*factory) : Value();
}

Value Model::aligned_executor() {
  const Result<Value> as_given = load(payload_bytes(small_graph, {small_p0}));
  const Result<Value> aligned = load(saved(*as_given, 0, 128));
  EXPECT_TRUE(aligned.ok()) << aligned.error().message;
  return created(*aligned);
}

std::vector<float> Model::run(const Value& executor) {
  const Result<Value> ran = call(executor, "run");
  EXPECT_TRUE(ran.ok()) << ran.error().message;
  return output(executor);
}

std::vector<float> Model::output(const Value& executor, std::int64_t index) {
  return floats_of(tensor_of(executor, "get_output", index));
}

gantry_tensor Model::tensor_of(const Value& executor, const char* function, std::int64_t index) {
  const Result<Value> tensor = call(executor, function, {int_value(index)});
  EXPECT_TRUE(tensor.ok()) << tensor.error().message;
  return *tensor->tensor();
}

}  // namespace gantry::graph::test
