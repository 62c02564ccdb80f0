// SPDX-License-Identifier: Apache-2.0
//
// Fixture: a runtime with the plugin of breaker.hpp, and files for it to load.
#pragma once

#include <gantry/embed.hpp>
#include "core/engine/module/module_graph.hpp"
#include "tests/faults/breaker.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/words.hpp"

#include <gtest/gtest.h>

#include <mutex>

namespace gantry::test {

class PluginAtWork : public testing::Test {
 protected:
  PluginAtWork() { breaker() = {}; }
  ~PluginAtWork() override { breaker() = {}; }

  // plugins  [in]   directories of further ones
  Runtime runtime(std::vector<std::string> plugins = {}) {
    RuntimeOptions options;
    options.plugin_paths = std::move(plugins);
    options.only_these_plugins = true;
    options.threads = 2;
    options.log_level = "debug";
    options.log_sink = [this](std::int32_t, std::string_view line) {
      const std::lock_guard lock(log_mutex_);
      log_.append(line).append("\n");
    };
    auto made = Runtime::create(options);
    EXPECT_TRUE(made.ok()) << made.error().message;
    const Status added = made->add_plugin(query_breaker);
    EXPECT_TRUE(added.ok()) << added.error().message;
    return std::move(*made);
  }

  // Writes a file with one module of the plugin's type key; its payload is a length-prefixed
  // string.
  std::string file() {
    Words body;
    body.u64(2).str("test.break").str("payload").str("_import_tree").u64s({0, 0}).u64s({});
    const Words container = Words().u64(body.size()).bytes(body.bytes());
    const auto path = dir_ / concat("model", ++files_, ".so");
    write_file(path, ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());
    return path.string();
  }

  // Writes a file with a graph whose operator is the function of such a module.
  std::string graph_file() {
    const std::string graph =
        replaced(small_graph, R"("func_name":"add")", R"("func_name":"call")");
    Words body;
    body.u64(3).str("GraphExecutorFactory").str(graph).u64(0).u64(0).str("default");
    body.str("test.break").str("payload").str("_import_tree").u64s({0, 1, 1}).u64s({1});
    const Words container = Words().u64(body.size()).bytes(body.bytes());
    const auto path = dir_ / concat("graph", ++files_, ".so");
    write_file(path, ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());
    return path.string();
  }

  // Writes a file with one module in the newest container layout, with an empty payload.
  std::string file_with_an_empty_payload() {
    Words body;
    body.u64s({0, 0}).u64s({}).str("test.break").u64(0);
    const Words container = Words().u64(body.size()).bytes(body.bytes());
    const auto path = dir_ / concat("empty", ++files_, ".so");
    write_file(path, ElfBuilder().object("__tvm_ffi__library_bin", container.bytes()).build());
    return path.string();
  }

  // Loads a file, lists and calls its function, copies from the device and lists the devices. The
  // core makes the call, which checks what the function returns; calls that are compiled into a
  // program do not (gantry/call.h).
  Status work() {
    Runtime made = runtime();
    GANTRY_TRY(const Module module, made.load(file()));
    GANTRY_CHECK(module.functions());
    GANTRY_TRY(const Function function, module.function("call"));
    GANTRY_TRY(Value returned,
               call(*reinterpret_cast<FunctionObject*>(function.get()), nullptr, {}));
    const Any result(std::move(returned));
    if (!breaker().text.empty()) GANTRY_CHECK(result.text());
    const std::int64_t shape[] = {4};
    GANTRY_TRY(const Tensor there, made.tensor(shape, {0, 32, 1}, "breaker"));
    GANTRY_TRY(const Tensor here, made.tensor(shape, {0, 32, 1}));
    GANTRY_CHECK(made.copy(there, here));
    GANTRY_TRY(const DeviceList devices, made.devices());
    if (!devices.problems.empty()) return bug(Message::lines(devices.problems.front()));
    return {};
  }

  std::string log_;

 private:
  std::mutex log_mutex_;
  TempDir dir_;
  int files_ = 0;
};

}  // namespace gantry::test
