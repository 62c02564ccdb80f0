// SPDX-License-Identifier: Apache-2.0
#include "plugins/relax/plugin.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/weights.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>

#include <gmock/gmock.h>

#include <cstring>
#include <memory>

namespace gantry::relax::test {
namespace {

using gantry::test::FakeHost;
using gantry::test::handles;
using gantry::test::replaced;
using gantry::test::small_index;
using gantry::test::TempDir;
using gantry::test::write_file;
using gantry::test::write_weights;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr gantry_device_id host_memory = gantry::test::cpu;

// A record of `size` bytes, and the comma behind it.
std::string record(std::string_view name, int size, int offset) {
  return concat(R"({"name": ")", name, R"(", "shape": [)", size,
                R"(], "dtype": "uint8", "format": "raw", "nbytes": )", size, R"(, "byteOffset": )",
                offset, "},\n");
}
// small_index with records in front of record `next`.
std::string index_with(std::string_view records, std::string_view next) {
  const std::string begin = concat(R"({"name": ")", next, '"');
  return replaced(small_index, begin, concat(records, begin));
}

class TensorCacheTest : public ::testing::Test {
 protected:
  Value text(std::string_view text) { return host.text(text).value(); }

  Result<Value> call(std::string_view name, const std::vector<Value>& args) {
    auto* const function = plugin->find(concat("vm.builtin.", name)).value();
    if (function == nullptr) return not_found("no function ", name);
    std::vector<gantry_value> raw;
    for (const Value& arg : args) raw.push_back(arg.get());
    return function->call({{}, &env, raw});
  }
  Result<Value> load(gantry_device_id device = host_memory) {
    return call("tensor_cache.load",
                {text(directory.path().string()), Value::adopt(int_value(device.type)),
                 Value::adopt(int_value(device.index))});
  }
  void load_index(std::string_view index, gantry_device_id device = host_memory) {
    write_weights(directory.path(), index);
    const auto loaded = load(device);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  }
  Value get(std::string_view name) {
    auto found = call("tensor_cache.get", {text(name)});
    if (!found.ok()) ADD_FAILURE() << found.error().message;
    return found.ok() ? *found : Value();
  }
  bool has(std::string_view name) { return get(name).tensor() != nullptr; }
  std::vector<std::uint8_t> bytes(const Value& value) {
    const gantry_tensor& tensor = *value.tensor();
    const std::uint64_t size = tensor_bytes(shape_of(tensor), tensor.dtype).value();
    const std::uint8_t* at = fake.memory_of(tensor);
    return {at, at + size};
  }
  Value tensor(std::int64_t extent) {
    return host.tensor_new({nullptr, host_memory, 1, dtypes::uint8, &extent, nullptr, 0}).value();
  }
  void add(std::string_view name) {
    ASSERT_TRUE(call("tensor_cache.update", {text(name), tensor(1)}).ok());
  }
  Value names(std::initializer_list<std::string_view> all) {
    std::vector<Value> items;
    for (const std::string_view name : all) items.push_back(text(name));
    return host.array(items).value();
  }

  // Checks an error and the kind of its object.
  void expect_error(const Result<Value>& result, std::string_view kind, Code code,
                    const std::string& message) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, code);
    EXPECT_EQ(result.error().message, message);
    ASSERT_TRUE(result.error().raised);
    EXPECT_EQ(fake.error_kinds.back(), kind);
  }

  TempDir directory;
  FakeHost fake;
  const Host host{fake.table()};
  const gantry_env env{};
  std::unique_ptr<Plugin> plugin = std::make_unique<Plugin>(host, 0);
};

TEST_F(TensorCacheTest, ContainsTheTensorsOfADirectory) {
  load_index(small_index);

  EXPECT_THAT(bytes(get("a")), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  EXPECT_THAT(bytes(get("b")), ElementsAre(0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0, 7, 8));
  EXPECT_EQ(tensor_text(*get("b").tensor()), "float32[4]");
  EXPECT_FALSE(has("c"));
}

TEST_F(TensorCacheTest, UsesAlignedDataInPlaceAndCopiesOthers) {
  load_index(index_with(record("unaligned", 3, 1), "a"));

  EXPECT_THAT(bytes(get("unaligned")), ElementsAre(2, 3, 4));
  for (const char* const name : {"a", "b", "unaligned"})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(get(name).tensor()->data) % 64, 0u) << name;
  // A mapping begins at a page.
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(get("a").tensor()->data) % 4096, 0u);
  EXPECT_EQ(get("a").tensor()->data, get("a").tensor()->data);
}

// Code of v0.10 and later loads 64 bytes at once; a shard begins at a page.
TEST_F(TensorCacheTest, UsesDataInPlaceAtMultiplesOf64BytesOnly) {
  const int offsets[] = {0, 4, 16, 32, 64, 96, 128};
  std::string records;
  for (const int offset : offsets) records += record(concat("at ", offset), 1, offset);
  const std::string index = replaced(index_with(records, "a"), R"("nbytes": 12, "records")",
                                     R"("nbytes": 256, "records")");
  write_weights(directory.path(), index);
  std::vector<std::uint8_t> shard(256);
  for (std::size_t i = 0; i < shard.size(); ++i) shard[i] = static_cast<std::uint8_t>(i);
  write_file(directory.path() / "s0.bin", std::span<const std::uint8_t>(shard));
  ASSERT_TRUE(load().ok());
  const Value first = get("at 0");
  const auto* const begin = static_cast<const char*>(first.tensor()->data);

  for (const int offset : offsets) {
    const Value found = get(concat("at ", offset));
    EXPECT_THAT(bytes(found), ElementsAre(offset));
    EXPECT_EQ(static_cast<const char*>(found.tensor()->data) == begin + offset, offset % 64 == 0)
        << offset;
  }
}

TEST_F(TensorCacheTest, KeepsAMappedShardAsLongAsItsTensors) {
  load_index(small_index);
  const Value a = get("a");
  const std::uint8_t* const data = fake.memory_of(*a.tensor());

  ASSERT_TRUE(call("tensor_cache.clear", {}).ok());
  plugin.reset();

  EXPECT_EQ(data[11], 12);
  // the tensor and its share of the shard
  EXPECT_EQ(fake.live_objects(), 2);
}

// Objects of the host keep their runtime alive, and the runtime its plugins.
TEST_F(TensorCacheTest, HoldsNoObjectOfTheHostForTensorsOnTheCpu) {
  load_index(small_index);

  // the errors of the fixture and texts are released
  EXPECT_EQ(fake.live_objects(), 0);
  EXPECT_TRUE(has("b"));
  EXPECT_EQ(fake.live_objects(), 0);
}

TEST_F(TensorCacheTest, CopiesToADevice) {
  load_index(small_index, handles);

  EXPECT_EQ(get("a").tensor()->device.type, handles.type);
  EXPECT_THAT(bytes(get("a")), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  EXPECT_THAT(bytes(get("b")), ElementsAre(0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0, 7, 8));
  EXPECT_THAT(fake.copies, ElementsAre(12, 16));
}

TEST_F(TensorCacheTest, HasTheLastTensorOfAName) {
  load_index(replaced(index_with(record("x", 1, 0) + record("x", 2, 3), "a"), R"("name": "b")",
                      R"("name": "a")"));

  EXPECT_THAT(bytes(get("x")), ElementsAre(4, 5));
  EXPECT_EQ(bytes(get("a")).size(), 16u);
}

TEST_F(TensorCacheTest, KeepsOtherNamesWhenADirectoryIsLoaded) {
  add("a");
  add("z");

  load_index(small_index);

  EXPECT_EQ(bytes(get("a")).size(), 12u);
  EXPECT_TRUE(has("z"));
}

TEST_F(TensorCacheTest, IsOneForEachRuntime) {
  Plugin other(host, 0);
  load_index(small_index);
  const Value name = text("a");

  const auto found =
      other.find("vm.builtin.tensor_cache.get").value()->call({{}, &env, {&name.get(), 1}});

  EXPECT_EQ(found.value().kind(), GANTRY_NONE);
}

TEST_F(TensorCacheTest, HasTheFunctionsOfOldReleases) {
  write_weights(directory.path(), small_index, "ndarray-cache.json");

  ASSERT_TRUE(call("ndarray_cache.load", {text(directory.path().string()),
                                          Value::adopt(int_value(1)), Value::adopt(int_value(0))})
                  .ok());
  EXPECT_NE(call("ndarray_cache.get", {text("a")}).value().tensor(), nullptr);
  EXPECT_TRUE(call("ndarray_cache.remove", {text("a")}).ok());
  EXPECT_FALSE(has("a"));
  EXPECT_TRUE(call("ndarray_cache.update", {text("a"), tensor(2)}).ok());
  EXPECT_TRUE(has("a"));
  EXPECT_TRUE(call("ndarray_cache.clear", {}).ok());
  EXPECT_FALSE(has("a"));
}

// The shards before the first one that is refused stay; of that shard nothing does.
TEST_F(TensorCacheTest, KeepsTheShardsBeforeOneThatIsRefused) {
  write_weights(directory.path(), index_with(record("b0", 1, 0), "b"));
  write_file(directory / "s1.bin", "1234567");

  const auto loaded = load();

  expect_error(loaded, "ValueError", Code::malformed,
               (directory / "s1.bin").string() +
                   " has 7 bytes, its index states 8: copy or download it again");
  EXPECT_TRUE(has("a"));
  EXPECT_FALSE(has("b0"));
}

TEST_F(TensorCacheTest, AddsNothingOfAShardWithoutMemoryForIt) {
  write_weights(directory.path(), index_with(record("b0", 1, 0), "b"));
  fake.max_allocations = 2;

  const auto loaded = load(handles);

  expect_error(loaded, "InternalError", Code::exhausted,
               "fake host: memory is exhausted\n  in record 1 \"b\" of shard \"s1.bin\"");
  EXPECT_TRUE(has("a"));
  EXPECT_FALSE(has("b0"));
}

TEST_F(TensorCacheTest, StopsWhenItsTaskIsCancelled) {
  write_weights(directory.path(), small_index);
  fake.cancelled = true;

  expect_error(load(), "InternalError", Code::cancelled, "loading weights is cancelled");
}

TEST_F(TensorCacheTest, HasTheKindsOfTvmForErrorsOfADirectory) {
  const std::string path = directory.path().string();
  expect_error(load(), "InternalError", Code::not_found,
               quoted(path, 1000) +
                   " has no index of weights, expected a directory with "
                   "tensor-cache.json or ndarray-cache.json");
  write_weights(path, replaced(small_index, R"("nbytes": 12, "byteOffset": 0)", R"("nbytes": 12)"));
  expect_error(load(), "KeyError", Code::malformed,
               "record 0 has no \"byteOffset\"\n  in shard 0 \"s0.bin\"\n  in " + path +
                   "/tensor-cache.json");
  write_weights(path, replaced(small_index, "raw-shard", "npz-shard"));
  expect_error(load(), "ValueError", Code::unsupported,
               "format is \"npz-shard\", expected \"raw-shard\"\n  in shard \"s0.bin\" of " + path +
                   "/tensor-cache.json");
  write_weights(path, replaced(small_index, R"("format": "raw",)", R"("format": "q4",)"));
  expect_error(load(), "InternalError", Code::unsupported,
               "format is \"q4\", expected \"raw\" or \"f32-to-bf16\"\n  in record 0 \"a\"\n  in "
               "shard \"s0.bin\" of " +
                   path + "/tensor-cache.json");
}

TEST_F(TensorCacheTest, RefusesADeviceThatIsAbsent) {
  write_weights(directory.path(), small_index);

  const auto loaded = load({2, 0});

  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Code::not_found);
  EXPECT_EQ(fake.error_kinds.back(), "InternalError");
  expect_error(
      call("tensor_cache.load",
           {text("x"), Value::adopt(int_value(std::int64_t{1} << 32)), Value::adopt(int_value(0))}),
      "InternalError", Code::invalid,
      "load(directory, device_type, device_index): argument 1 (device_type) is 4294967296, "
      "expected a number of 32 bits");
}

TEST_F(TensorCacheTest, KeepsAnUpdateByReference) {
  const Value given = tensor(3);

  ASSERT_TRUE(call("tensor_cache.update", {text("a"), given}).ok());

  EXPECT_EQ(get("a").object(), given.object());
}

TEST_F(TensorCacheTest, CopiesAnUpdateThatIsABorrowedTensor) {
  const Value given = tensor(2);
  std::memcpy(given.tensor()->data, "xy", 2);

  ASSERT_TRUE(
      call("tensor_cache.update", {text("a"), Value::adopt(tensor_ref_value(given.tensor()))})
          .ok());

  EXPECT_NE(get("a").object(), given.object());
  EXPECT_THAT(bytes(get("a")), ElementsAre('x', 'y'));
}

TEST_F(TensorCacheTest, ReplacesATensorOnRequestOnly) {
  add("a");
  const Value yes = Value::adopt(bool_value(true)), no = Value::adopt(bool_value(false));
  const std::string refused =
      "update(name, tensor[, override]): \"a\" is in the cache already; pass override = true to "
      "replace it";

  expect_error(call("tensor_cache.update", {text("a"), tensor(2)}), "InternalError", Code::invalid,
               refused);
  expect_error(call("tensor_cache.update", {text("a"), tensor(2), no}), "InternalError",
               Code::invalid, refused);
  EXPECT_EQ(bytes(get("a")).size(), 1u);
  EXPECT_TRUE(call("tensor_cache.update", {text("a"), tensor(2), yes}).ok());
  EXPECT_EQ(bytes(get("a")).size(), 2u);
}

TEST_F(TensorCacheTest, RemovesANameThatIsAbsent) {
  EXPECT_TRUE(call("tensor_cache.remove", {text("a")}).ok());
}

TEST_F(TensorCacheTest, RefusesArgumentsWithAKind) {
  const std::string load_usage = "load(directory, device_type, device_index): ";
  expect_error(call("tensor_cache.load", {text("x"), Value::adopt(int_value(1))}), "TypeError",
               Code::invalid, load_usage + "argument count is 2, expected 3");
  expect_error(call("tensor_cache.get", {}), "TypeError", Code::invalid,
               "get(name): argument count is 0, expected 1");
  expect_error(call("tensor_cache.get", {Value::adopt(int_value(1))}), "TypeError", Code::invalid,
               "get(name): argument 0 (name) is an integer, expected a string or bytes");
  expect_error(call("tensor_cache.update", {text("x"), text("y")}), "TypeError", Code::invalid,
               "update(name, tensor[, override]): argument 1 (tensor) is a string, expected a "
               "tensor");
  expect_error(call("tensor_cache.remove", {}), "TypeError", Code::invalid,
               "remove(name): argument count is 0, expected 1");
  expect_error(call("tensor_cache.clear", {text("x")}), "TypeError", Code::invalid,
               "clear(): argument count is 1, expected 0");
  expect_error(call("param_array_from_cache_by_name", {text("x")}), "TypeError", Code::invalid,
               "param_array_from_cache_by_name(names): argument 0 (names) is a string, expected an "
               "array");
}

class ParamArray : public TensorCacheTest {
 protected:
  ParamArray() {
    for (const char* const name : {"p_0", "p_1", "p_3"}) add(name);
  }
  // Compares the items of an array with tensors of the cache.
  void expect_tensors(const Result<Value>& array, std::initializer_list<std::string_view> all) {
    ASSERT_TRUE(array.ok()) << array.error().message;
    const auto items = host.items(array->object()).value();
    ASSERT_EQ(items.size(), all.size());
    for (std::size_t i = 0; i < items.size(); ++i)
      EXPECT_EQ(items[i].object, get(all.begin()[i]).object()) << i;
  }
  Result<Value> numbered(std::string_view prefix, std::int64_t count) {
    return call("param_array_from_cache", {text(prefix), Value::adopt(int_value(count))});
  }
};

TEST_F(ParamArray, HasANumberOfTensors) {
  expect_tensors(numbered("p", 0), {});
  expect_tensors(numbered("p", 2), {"p_0", "p_1"});
  expect_tensors(numbered("p", -1), {"p_0", "p_1"});
  expect_tensors(numbered("q", -1), {});
}

TEST_F(ParamArray, NamesANumberThatIsAbsent) {
  expect_error(numbered("p", INT64_MAX), "InternalError", Code::invalid,
               "param_array_from_cache(prefix, count): \"p_2\" is not in the cache, which contains "
               "3 tensors: \"p_0\", \"p_1\", \"p_3\"");
  expect_error(numbered("p", -2), "InternalError", Code::invalid,
               "param_array_from_cache(prefix, count): count is -2, minimum is -1");
}

TEST_F(ParamArray, HasNamedTensors) {
  expect_tensors(call("param_array_from_cache_by_name", {names({"p_3", "p_0", "p_3"})}),
                 {"p_3", "p_0", "p_3"});
  expect_tensors(call("param_array_from_cache_by_name", {names({})}), {});
  expect_tensors(call("param_array_from_cache_by_name_unpacked", {text("p_1"), text("p_0")}),
                 {"p_1", "p_0"});
  expect_tensors(call("param_array_from_cache_by_name_unpacked", {}), {});
}

TEST_F(ParamArray, RefusesANameThatIsAbsent) {
  const std::string message =
      "\"no\" is not in the cache, which contains 3 tensors: \"p_0\", \"p_1\", \"p_3\"";
  expect_error(call("param_array_from_cache_by_name", {names({"p_0", "no"})}), "ValueError",
               Code::invalid, message);
  expect_error(call("param_array_from_cache_by_name_unpacked", {text("no")}), "ValueError",
               Code::invalid, message);
}

TEST_F(ParamArray, RefusesANameThatIsNoText) {
  expect_error(
      call("param_array_from_cache_by_name_unpacked", {text("p_0"), Value::adopt(int_value(3))}),
      "ValueError", Code::invalid, "name 1 is an integer, expected a string");
}

TEST_F(ParamArray, NamesAFewTensorsOfALargeCache) {
  for (int i = 10; i < 20; ++i) add(concat("q_", i));

  const auto found = call("param_array_from_cache_by_name_unpacked", {text("no")});

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().message,
            "\"no\" is not in the cache, which contains 13 tensors: \"p_0\", \"p_1\", \"p_3\", "
            "\"q_10\", \"q_11\", \"q_12\", \"q_13\", \"q_14\" and 5 more");
}

TEST_F(ParamArray, IsTheResultOfAModule) {
  const auto by_number =
      call("param_module_from_cache", {text("p"), Value::adopt(int_value(-1))}).value();
  const auto by_name = call("param_module_from_cache_by_name", {names({"p_3"})}).value();
  const auto params = [&](const Value& module) -> Result<Value> {
    GANTRY_TRY(const ObjectRef get_params,
               host.find(module.object(), GANTRY_FIND_SELF, "get_params"));
    return host.call(get_params.get(), &env, {});
  };

  ASSERT_EQ(by_number.kind(), GANTRY_MODULE);
  expect_tensors(params(by_number), {"p_0", "p_1"});
  expect_tensors(params(by_name), {"p_3"});
  expect_error(call("param_module_from_cache_by_name", {names({"no"})}), "ValueError",
               Code::invalid,
               "\"no\" is not in the cache, which contains 3 tensors: \"p_0\", \"p_1\", \"p_3\"");
}

}  // namespace
}  // namespace gantry::relax::test
