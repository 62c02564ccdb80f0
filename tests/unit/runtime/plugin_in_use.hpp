// SPDX-License-Identifier: Apache-2.0
//
// Fixture: runtimes with the plugin of program_plugin.hpp, and files for them to load.
#pragma once

#include "tests/support/elf_builder.hpp"
#include "tests/support/words.hpp"
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/program_plugin.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gantry::test {

class PluginInUse : public testing::Test {
 protected:
  PluginInUse() { program_plugin() = {}; }

  // A file without CPU code: modules with type key and text, which is the payload unless the key is
  // "_lib". Module 0 imports all others.
  std::string file_of(const std::vector<std::pair<std::string, std::string>>& modules) {
    Words body;
    body.u64(modules.size() + 1);
    for (const auto& [key, text] : modules) {
      body.str(key);
      if (key != "_lib") body.str(text);
    }
    std::vector<std::uint64_t> rows{0}, children;
    for (std::size_t i = 1; i < modules.size(); ++i) children.push_back(i);
    for (std::size_t i = 0; i < modules.size(); ++i) rows.push_back(children.size());
    body.str("_import_tree").u64s(rows).u64s(children);
    return file_with(body);
  }

  // A file without CPU code whose container has this content.
  std::string file_with(const Words& content) {
    const Words container = Words().u64(content.size()).bytes(content.bytes());
    const auto path = dir_ / concat("file", ++files_, ".so");
    write_file(path, ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());
    return path.string();
  }

  Runtime with_plugin(RuntimeOptions options = {}) {
    Runtime runtime = make_runtime(std::move(options));
    const Status added = runtime.add_plugin(query_program_plugin);
    EXPECT_TRUE(added.ok()) << added.error().message;
    return runtime;
  }

  // Calls the function "call" of a module of `runtime`, which runs `body`.
  Result<Any> run(Runtime& runtime, decltype(ProgramPlugin::call) body,
                  std::span<const gantry_value> args = {}, const gantry_env* env = nullptr) {
    program_plugin().call = std::move(body);
    GANTRY_TRY(const Module module, runtime.load(file_of({{"test.block", "x"}})));
    GANTRY_TRY(const Function function, module.function("call"));
    return function.call(args, env);
  }

 private:
  TempDir dir_;
  int files_ = 0;
};

}  // namespace gantry::test
