// SPDX-License-Identifier: Apache-2.0
//
// Plugins and code that are part of the program, and models in several files, through the C API.
#include "tests/support/artifact.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/three_files.hpp"
#include "tests/unit/embed/embedded.hpp"
#include "tests/unit/formats/fixtures.hpp"
#include "tests/unit/runtime/program_plugin.hpp"

#include <gantry/linked_symbols.h>

#include <dlfcn.h>
#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::done;
using test::embed;
using test::expect_error;
using test::expect_ok;
using test::Words;
using ::testing::HasSubstr;

class EmbedProgramParts : public test::Embedded {
 protected:
  EmbedProgramParts() { test::program_plugin() = {}; }
  // One module of the program's plugin, without CPU code.
  std::string file() {
    const Words container = test::layout_one(1, Words().str("test.block").str("hello"), {0, 0}, {});
    const auto path = directory / "block.so";
    test::write_file(path, test::ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());
    return path.string();
  }
  Status add_plugin() const {
    return done([&](gantry_status* status) {
      return embed().plugin_add(runtime.get(), test::query_program_plugin, status);
    });
  }
  Status bind(const ObjectRef& module) const {
    return done(
        [&](gantry_status* status) { return embed().module_bind_missing(module.get(), status); });
  }
  Result<ObjectRef> load_graph(std::string_view params) const {
    const std::string library = (directory / "deploy.so").string(),
                      graph = (directory / "deploy.json").string();
    gantry_object* made = nullptr;
    GANTRY_CHECK(done([&](gantry_status* status) {
      return embed().load_graph(runtime.get(), bytes_of(library), bytes_of(graph), bytes_of(params),
                                nullptr, &made, status);
    }));
    return ObjectRef::adopt(made);
  }

  test::TempDir directory;
};

TEST_F(EmbedProgramParts, HaveAPluginThatBindsMissingModules) {
  const gantry_load_options partial{sizeof partial, GANTRY_LOAD_ALLOW_MISSING, nullptr, 0, 0};
  const ObjectRef module = test::load(runtime, file(), &partial).value();
  EXPECT_EQ(bind(module).error().reason, "NO_PLUGIN");
  expect_ok(add_plugin());

  expect_ok(bind(module));

  EXPECT_EQ(test::program_plugin().loads, 1);
  EXPECT_EQ(test::program_plugin().last_key, "test.block");
}

TEST_F(EmbedProgramParts, AreAddedOnce) {
  expect_ok(add_plugin());

  const Status again = add_plugin();

  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::invalid);
  EXPECT_THAT(again.error().message, HasSubstr("test.program"));
}

TEST_F(EmbedProgramParts, AreRequired) {
  expect_error(done([&](gantry_status* status) {
                 return embed().plugin_add(runtime.get(), nullptr, status);
               }),
               Code::invalid, "ARGUMENT_KIND", "plugin_add: query is NULL");
  expect_error(bind(runtime), Code::invalid, "ARGUMENT_KIND",
               "module_bind_missing: the object is of kind 96, expected a module");
  expect_error(done([&](gantry_status* status) {
                 gantry_object* made = nullptr;
                 return embed().load_linked(runtime.get(), nullptr, {}, nullptr, &made, status);
               }),
               Code::invalid, "ARGUMENT_KIND", "load_linked: symbols is NULL");
  const gantry_linked_symbols none{};
  expect_error(done([&](gantry_status* status) {
                 return embed().load_linked(runtime.get(), &none, {}, nullptr, nullptr, status);
               }),
               Code::invalid, "ARGUMENT_KIND", "load_linked: module is NULL");
  expect_error(done([&](gantry_status* status) {
                 return embed().load_graph(runtime.get(), {}, {}, {}, nullptr, nullptr, status);
               }),
               Code::invalid, "ARGUMENT_KIND", "load_graph: module is NULL");
}

TEST_F(EmbedProgramParts, AreLinkedSymbols) {
  std::filesystem::copy_file(test::golden("tvm-0.12/digits_mlp_llvm.so"), directory / "linked.so");
  void* const library = dlopen((directory / "linked.so").c_str(), RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  std::vector<gantry_linked_symbol> table;
  for (const char* name : {"__tvm_module_ctx", "__tvm_dev_mblob"}) {
    if (void* const address = dlsym(library, name))
      table.push_back({name, address, GANTRY_DIALECT_PACKED});
  }
  gantry_object* made = nullptr;
  const gantry_linked_symbols empty{nullptr, 0, &made};

  const Status none = done([&](gantry_status* status) {
    return embed().load_linked(runtime.get(), &empty, {}, nullptr, &made, status);
  });
  const Status loaded = done([&](gantry_status* status) {
    const gantry_linked_symbols all{table.data(), table.size(), table.data()};
    return embed().load_linked(runtime.get(), &all, {}, nullptr, &made, status);
  });

  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::not_found);
  expect_ok(loaded);
  { const ObjectRef module = ObjectRef::adopt(made); }
  runtime = ObjectRef();
  dlclose(library);
}

TEST_F(EmbedProgramParts, AreAGraphAndItsParameters) {
  test::write_three_files(directory.path());
  const std::string params = (directory / "deploy.params").string();

  const auto module = load_graph(params);

  ASSERT_TRUE(module.ok()) << module.error().message;
  const ObjectRef model = test::new_model(*module).value();
  const gantry_signature* signature = nullptr;
  expect_ok(done([&](gantry_status* status) {
    return embed().model_signature(model.get(), {}, &signature, status);
  }));
  ASSERT_EQ(signature->input_count, 1u);
  EXPECT_EQ(view_of(signature->inputs[0]->name), "x");
}

TEST_F(EmbedProgramParts, ReportAGraphThatIsNotThere) {
  const auto module = load_graph("absent.params");

  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.error().message, HasSubstr("deploy"));
}

}  // namespace
}  // namespace gantry
