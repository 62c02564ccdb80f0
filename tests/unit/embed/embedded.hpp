// SPDX-License-Identifier: Apache-2.0
//
// A runtime of the C API that finds the plugins of this build, and calls of its table.
#pragma once

#include <gantry/embed.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/object_ref.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/value.hpp>

#include "tests/support/built_plugins.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

inline const gantry_embed& embed() { return *gantry_embed_query_v1(); }

// Calls a function of the table.
//
// call     [in]   gantry_code(gantry_status*)
// returns  OK, or the error that it reports
template <class Call>
Status done(Call call) {
  StatusBuffer status;
  const gantry_code code = status.call(call);
  if (code == GANTRY_OK) return {};
  return status.error(code, "the table");
}

inline void expect_ok(const Status& status) {
  if (!status.ok()) ADD_FAILURE() << status.error().message;
}
inline void expect_error(const Status& status, Code code, std::string_view reason,
                         std::string_view text) {
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, code);
  EXPECT_EQ(status.error().reason, reason);
  EXPECT_EQ(status.error().message, text);
}

// Options for a runtime that has the plugins of this build and no others.
struct BuiltPlugins {
  explicit BuiltPlugins(std::string_view plugin = {}) : directory(built_plugins(plugin)) {
    path = bytes_of(directory);
    options.struct_size = sizeof options;
    options.flags = GANTRY_RUNTIME_ONLY_THESE_PLUGINS;
    options.config_file = gantry_text("/dev/null");
    options.plugin_paths = &path;
    options.plugin_path_count = 1;
    options.threads = 2;
  }
  BuiltPlugins(const BuiltPlugins&) = delete;
  BuiltPlugins& operator=(const BuiltPlugins&) = delete;

  std::string directory;
  gantry_bytes path;
  gantry_runtime_options options{};
};

inline Result<ObjectRef> new_runtime(const gantry_runtime_options* options) {
  gantry_object* made = nullptr;
  GANTRY_CHECK(
      done([&](gantry_status* status) { return embed().runtime_new(options, &made, status); }));
  return ObjectRef::adopt(made);
}
inline Result<ObjectRef> load(const ObjectRef& runtime, std::string_view path,
                              const gantry_load_options* options = nullptr) {
  gantry_object* made = nullptr;
  GANTRY_CHECK(done([&](gantry_status* status) {
    return embed().load_file(runtime.get(), bytes_of(path), options, &made, status);
  }));
  return ObjectRef::adopt(made);
}
inline Result<ObjectRef> new_model(const ObjectRef& module,
                                   const gantry_model_options* options = nullptr) {
  gantry_object* made = nullptr;
  GANTRY_CHECK(done([&](gantry_status* status) {
    return embed().model_new(module.get(), options, &made, status);
  }));
  return ObjectRef::adopt(made);
}
inline Status run(const ObjectRef& model, gantry_run& run) {
  return done([&](gantry_status* status) { return embed().run(model.get(), &run, status); });
}

// Returns a tensor over memory of the test, which outlives it.
template <class T>
gantry_tensor tensor_of(std::vector<T>& elements, std::span<const std::int64_t> shape,
                        gantry_dtype dtype = dtypes::float32) {
  return compact_tensor(dtype, shape, {cpu_device_type, 0}, elements.data());
}

class Embedded : public ::testing::Test {
 protected:
  explicit Embedded(std::string_view plugin = {}) {
    const BuiltPlugins built(plugin);
    auto made = new_runtime(&built.options);
    if (!made.ok()) {
      ADD_FAILURE() << made.error().message;
      return;
    }
    runtime = std::move(*made);
    host = embed().host(runtime.get());
  }
  // Returns the model of a golden file.
  ObjectRef model_of(std::string_view file, const gantry_model_options* options = nullptr) const {
    auto module = load(runtime, golden(file).string());
    if (!module.ok()) ADD_FAILURE() << module.error().message;
    auto model = new_model(*module, options);
    if (!model.ok()) ADD_FAILURE() << model.error().message;
    return std::move(*model);
  }
  // Returns the items of an array or a map.
  std::span<const gantry_value> items_of(const gantry_value& list) const {
    const gantry_value* items = nullptr;
    std::uint64_t count = 0;
    EXPECT_EQ(host->items_get(host, list.object, &items, &count, nullptr), GANTRY_OK);
    return {items, count};
  }
  // Returns the tensor of a name in a golden .npz file; the only one if the name is empty.
  Value golden_tensor(std::string_view file, std::string_view name = {}) const {
    gantry_value all{};
    const std::string path = golden(file).string();
    expect_ok(done([&](gantry_status* status) {
      return embed().tensors_read(runtime.get(), bytes_of(path), &all, status);
    }));
    const Value owned = Value::adopt(all);
    const auto items = items_of(all);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      if (!name.empty() && value_text(items[i]) != name) continue;
      gantry_retain(items[i + 1].object);
      return Value::adopt(items[i + 1]);
    }
    ADD_FAILURE() << "no tensor " << name << " in " << file;
    return {};
  }

  ObjectRef runtime;
  const gantry_host* host = nullptr;
};

}  // namespace gantry::test
