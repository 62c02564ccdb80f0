// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/const_loader/constants.hpp"

#include <gantry/array_record.hpp>

#include <algorithm>
#include <cstring>

namespace gantry::const_loader::test {

void add_floats(Words& words, const std::vector<float>& values) {
  words.u64(array_record_magic).u64(0).i32(1).i32(0).i32(1).u8(2).u8(32).u16(1);
  const std::size_t bytes = values.size() * sizeof(float);
  words.i64(static_cast<std::int64_t>(values.size())).u64(bytes).raw(values.data(), bytes);
}

std::vector<std::uint8_t> small_payload() {
  Words words;
  words.strs({"a", "b"}).u64(2);
  add_floats(words, {1, 2});
  add_floats(words, {3});
  words.strs({"main_0", "main_1", "main_2"}).u64(3);
  words.strs({"b", "a"}).strs({"a"}).strs({});
  return {words.bytes().begin(), words.bytes().end()};
}

struct ConstantModules::Kept {
  std::vector<std::uint8_t> memory;
  gantry_object* pin = nullptr;
};

ConstantModules::ConstantModules() {
  const gantry::test::FakeHost::Body initialize =
      [this](const gantry_env*, std::span<const gantry_value> args, gantry_value* result,
             gantry_status*) -> gantry_code {
    EXPECT_EQ(args.size(), 1u);
    std::vector<std::vector<float>> constants;
    addresses.clear();
    const auto items = host.items(args[0].object).value();
    for (const gantry_value& item : items) {
      const gantry_tensor& tensor = *gantry_value_tensor(&item);
      const auto* const first = static_cast<const float*>(tensor.data);
      constants.emplace_back(first, first + tensor.shape[0]);
      addresses.push_back(tensor.data);
    }
    initialized.push_back(std::move(constants));
    *result = int_value(0);
    if (!results.empty()) {
      *result = results.front().take();
      results.erase(results.begin());
    }
    return GANTRY_OK;
  };
  fake.add_function("__init_main_0", initialize);
  fake.add_function("__init_main_1", initialize);
  for (const char* const name : {"main_0", "main_1", "main_2", "other"}) {
    fake.add_function(name,
                      [](const gantry_env*, std::span<const gantry_value>, gantry_value* result,
                         gantry_status*) -> gantry_code {
                        *result = int_value(7);
                        return GANTRY_OK;
                      });
  }
}

ConstantModules::~ConstantModules() {
  for (const auto& kept : kept_) fake.release(kept->pin);
}

Result<Value> ConstantModules::load(const std::vector<std::uint8_t>& bytes, std::size_t past) {
  auto kept = std::make_unique<Kept>();
  kept->memory.resize(bytes.size() + 256);
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(kept->memory.data()) % 128;
  std::uint8_t* const at = kept->memory.data() + (128 - misaligned) + past;
  std::copy(bytes.begin(), bytes.end(), at);
  kept->pin = fake.new_pin();
  const gantry_blob blob = gantry::test::payload_blob({at, bytes.size()}, 3, true, kept->pin);
  kept_.push_back(std::move(kept));

  StatusBuffer status;
  gantry_module module{};
  std::uint64_t consumed = 0;
  const gantry_code code = loader_table<Plugin, Module>.load_binary(
      &plugin_, &blob, fake.node(), &module, &consumed, status.get());
  if (code != GANTRY_OK) return status.error(code, "load_binary");
  EXPECT_EQ(consumed, blob.size);
  return host.module_new(nullptr, module);
}

Result<ObjectRef> ConstantModules::find(const Value& module, std::string_view name) {
  return host.find(module.object(), GANTRY_FIND_SELF, name);
}

Result<Value> ConstantModules::call(const Value& module, std::string_view function,
                                    const std::vector<gantry_value>& args) {
  GANTRY_TRY(const ObjectRef found, find(module, function));
  const gantry_env env{gantry::test::cpu, nullptr, nullptr, nullptr};
  return host.call(found.get(), &env, args);
}

std::vector<std::uint8_t> ConstantModules::saved(const Value& module, std::uint32_t alignment) {
  const auto& pair = *reinterpret_cast<const gantry_module*>(module.object() + 1);
  std::vector<std::uint8_t> bytes;
  const gantry_sink sink{
      sizeof sink, alignment, &bytes, 0,
      [](void* self, const void* data, std::uint64_t size, gantry_status*) -> gantry_code {
        const auto* const from = static_cast<const std::uint8_t*>(data);
        static_cast<std::vector<std::uint8_t>*>(self)->insert(
            static_cast<std::vector<std::uint8_t>*>(self)->end(), from, from + size);
        return GANTRY_OK;
      }};
  EXPECT_EQ(pair.table->save_binary(pair.self, &sink, nullptr), GANTRY_OK);
  return bytes;
}

}  // namespace gantry::const_loader::test
