// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/aot/aot_model.hpp"

#include <gantry/array_record.hpp>
#include <gantry/dtype_text.hpp>

#include <algorithm>
#include <cstring>

namespace gantry::aot::test {
namespace {

constexpr std::int64_t four[] = {4}, bytes_256[] = {256};
constexpr TensorInfo inputs[] = {{"x", four, 1, dtypes::float32},
                                 {"scale", nullptr, 0, dtypes::float32}};
constexpr TensorInfo outputs[] = {{"y_0", four, 1, dtypes::float32}};
constexpr TensorInfo workspaces[] = {{"w", bytes_256, 1, dtypes::uint8}};

struct [[gnu::packed]] Record {
  std::uint64_t magic = array_record_magic, reserved = 0;
  std::int32_t device = 1, index = 0, ndim = 1;
  gantry_dtype dtype = dtypes::float32;
  std::int64_t extent = 4, nbytes = 16;
  float values[4] = {10, 20, 30, 40};
};
constexpr Record record;
constexpr ConstantInfo constants[] = {{"c", 128, sizeof record, &record}};

constexpr Metadata good{1, inputs, 2, outputs, 1, workspaces, 1, constants, 1, "model"};

}  // namespace

Metadata AotModel::metadata = good;

Floats::Floats(std::vector<float> values, std::size_t past)
    : extent_(static_cast<std::int64_t>(values.size())),
      memory_(values.size() * sizeof(float) + 256) {
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(memory_.data()) % 128;
  tensor.data = memory_.data() + (128 - misaligned) + past;
  tensor.device = gantry::test::cpu;
  tensor.ndim = 1;
  tensor.dtype = dtypes::float32;
  tensor.shape = &extent_;
  std::memcpy(tensor.data, values.data(), values.size() * sizeof(float));
}

std::vector<float> Floats::values() const { return floats_of(tensor); }

std::vector<float> floats_of(const gantry_tensor& tensor) {
  std::size_t count = 1;
  for (std::int32_t i = 0; i < tensor.ndim; ++i) count *= static_cast<std::size_t>(tensor.shape[i]);
  std::vector<float> values(count);
  std::memcpy(values.data(), tensor.data, count * sizeof(float));
  return values;
}

gantry_value name_value(const char* text) {
  gantry_value value{};
  value.kind = GANTRY_CSTRING;
  value.cstring = text;
  return value;
}

struct AotModel::Kept {
  std::vector<std::uint8_t> memory;
  gantry_object* pin = nullptr;
};

AotModel::AotModel() {
  metadata = good;
  address.kind = GANTRY_POINTER;
  address.p = &metadata;
  fake.add_function("get_c_metadata",
                    [this](const gantry_env*, std::span<const gantry_value>, gantry_value* result,
                           gantry_status*) -> gantry_code {
                      *result = address;
                      return GANTRY_OK;
                    });
  fake.add_function(
      "model___tvm_main__",
      [this](const gantry_env* env, std::span<const gantry_value> args, gantry_value*,
             gantry_status* status) -> gantry_code {
        if (fails) return gantry_fail(status, GANTRY_INVALID, "RAISED", "x is odd");
        envs.push_back(*env);
        device_streams.push_back(gantry_env_stream(env, {4, 1}));
        arguments.clear();
        for (const gantry_value& arg : args) arguments.push_back(*arg.tensor);
        const auto floats = [&](std::size_t i, std::size_t offset = 0) {
          return reinterpret_cast<float*>(static_cast<std::uint8_t*>(arguments[i].data) + offset);
        };
        const float* const c = args.size() > 3 ? floats(3, 128) : nullptr;
        for (int i = 0; i < 4; ++i)
          floats(2)[i] = floats(0)[i] * floats(1)[0] + (c != nullptr ? c[i] : 0);
        if (args.size() > 4) ++*static_cast<std::uint32_t*>(arguments[4].data);
        return GANTRY_OK;
      });
}

AotModel::~AotModel() {
  for (const auto& kept : kept_) fake.release(kept->pin);
}

std::vector<std::uint8_t> AotModel::payload(const std::vector<FloatParameter>& parameters,
                                            std::string_view name) {
  gantry::test::Words words;
  words.u64(parameters.size()).u64(parameters.size());
  for (const FloatParameter& parameter : parameters) words.str(parameter.name);
  for (const FloatParameter& parameter : parameters) {
    const std::size_t bytes = parameter.values.size() * sizeof(float);
    words.u64(array_record_magic).u64(0).i32(1).i32(0).i32(1).u8(2).u8(32).u16(1);
    words.u64(parameter.values.size()).u64(bytes).raw(parameter.values.data(), bytes);
  }
  words.str(name);
  return {words.bytes().begin(), words.bytes().end()};
}

Result<Value> AotModel::loaded(const gantry_loader_table& loader, const gantry_blob& blob) {
  StatusBuffer status;
  gantry_module module{};
  std::uint64_t consumed = UINT64_MAX;
  const gantry_code code =
      loader.load_binary(&plugin_, &blob, fake.node(), &module, &consumed, status.get());
  if (code != GANTRY_OK) return status.error(code, "load_binary");
  EXPECT_EQ(consumed, blob.size);
  return host.module_new(nullptr, module);
}

Result<Value> AotModel::load(const std::vector<std::uint8_t>& bytes, std::size_t past) {
  auto kept = std::make_unique<Kept>();
  kept->memory.resize(bytes.size() + 256);
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(kept->memory.data()) % 128;
  std::uint8_t* const at = kept->memory.data() + (128 - misaligned) + past;
  std::copy(bytes.begin(), bytes.end(), at);
  kept->pin = fake.new_pin();
  gantry_object* const pin = kept->pin;
  kept_.push_back(std::move(kept));
  return loaded(loader_table<Plugin, Factory>,
                gantry::test::payload_blob({at, bytes.size()}, 3, true, pin));
}

Result<Value> AotModel::load_metadata_module() {
  return loaded(loader_table<Plugin, MetadataModule>, gantry::test::payload_blob({}, 3));
}

std::vector<std::uint8_t> AotModel::saved(const Value& module, std::uint32_t alignment) {
  const auto& pair = *reinterpret_cast<const gantry_module*>(module.object() + 1);
  std::vector<std::uint8_t> bytes;
  const gantry_sink sink{
      sizeof sink, alignment, &bytes, 0,
      [](void* self, const void* data, std::uint64_t size, gantry_status*) -> gantry_code {
        auto& to = *static_cast<std::vector<std::uint8_t>*>(self);
        const auto* const from = static_cast<const std::uint8_t*>(data);
        to.insert(to.end(), from, from + size);
        return GANTRY_OK;
      }};
  EXPECT_EQ(pair.table->save_binary(pair.self, &sink, nullptr), GANTRY_OK);
  return bytes;
}

Result<Value> AotModel::call(const Value& module, std::string_view function,
                             const std::vector<gantry_value>& args) {
  GANTRY_TRY(const ObjectRef found, host.find(module.object(), GANTRY_FIND_SELF, function));
  const gantry_env env{gantry::test::cpu, nullptr, nullptr, nullptr};
  return host.call(found.get(), &env, args);
}

Value AotModel::executor(const std::vector<FloatParameter>& parameters) {
  const Result<Value> factory = load(payload(parameters), 1);
  EXPECT_TRUE(factory.ok()) << factory.error().message;
  const Result<Value> made = call(*factory, "default", {device_value(gantry::test::cpu)});
  EXPECT_TRUE(made.ok()) << made.error().message;
  return made.ok() ? *made : Value();
}

std::vector<float> AotModel::run(const Value& executor, const std::vector<float>& x) {
  Floats given(x), scale({2});
  scale.tensor.ndim = 0;
  for (const auto& [name, tensor] : {std::pair("x", &given), std::pair("scale", &scale)}) {
    const Result<Value> set = call(executor, "set_input", {name_value(name), tensor->value()});
    EXPECT_TRUE(set.ok()) << set.error().message;
  }
  const Result<Value> ran = call(executor, "run");
  EXPECT_TRUE(ran.ok()) << ran.error().message;
  return output(executor);
}

std::vector<float> AotModel::output(const Value& executor) {
  const Result<Value> tensor = call(executor, "get_output", {int_value(0)});
  EXPECT_TRUE(tensor.ok()) << tensor.error().message;
  return floats_of(*tensor->tensor());
}

}  // namespace gantry::aot::test
