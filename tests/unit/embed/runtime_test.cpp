// SPDX-License-Identifier: Apache-2.0
//
// Runtimes of the C API: host functions, devices, loading, fork().
#include "tests/support/changed_elf.hpp"
#include "tests/unit/embed/embedded.hpp"

#include <gmock/gmock.h>

#include <sys/wait.h>
#include <unistd.h>

namespace gantry {
namespace {

using test::BuiltPlugins;
using test::done;
using test::embed;
using test::expect_error;
using test::expect_ok;
using ::testing::HasSubstr;

TEST(EmbedTable, HasItsSizeAndTheVersionOfTheCore) {
  EXPECT_EQ(embed().struct_size, sizeof(gantry_embed));
  EXPECT_EQ(embed().zero, 0u);
  EXPECT_THAT(embed().version, HasSubstr("."));
}

TEST(EmbedTable, IsTheSameEachTime) { EXPECT_EQ(&embed(), gantry_embed_query_v1()); }

TEST(EmbedTable, DoesNothingWithNull) {
  embed().retain(nullptr);
  embed().release(nullptr);
  EXPECT_EQ(embed().host(nullptr), nullptr);
}

class EmbedRuntime : public test::Embedded {};

TEST_F(EmbedRuntime, CountsReferences) {
  embed().retain(runtime.get());
  embed().release(runtime.get());

  EXPECT_EQ(runtime.get()->kind, GANTRY_RUNTIME);
  EXPECT_EQ(runtime.get()->counts & UINT32_MAX, 1u);
}

TEST_F(EmbedRuntime, LendsHostFunctions) {
  ASSERT_NE(host, nullptr);
  EXPECT_EQ(host->struct_size, sizeof(gantry_host));
  gantry_value threads{};
  expect_ok(done([&](gantry_status* status) {
    return host->config_get(host, gantry_text("threads"), &threads, status);
  }));
  EXPECT_EQ(threads.kind, GANTRY_INT);
  EXPECT_EQ(threads.i, 2);
}

TEST_F(EmbedRuntime, IsTheProgramInErrorsOfHostFunctions) {
  gantry_value found{};
  expect_error(done([&](gantry_status* status) {
                 return host->config_get(host, gantry_text("absent"), &found, status);
               }),
               Code::not_found, "CONFIG_KEY",
               "option \"absent\" of the program not found; options: threads, cache_directory");
  expect_error(done([&](gantry_status* status) {
                 return host->text_new(host, GANTRY_STRING, {"\xff", 1}, &found, status);
               }),
               Code::invalid, "TEXT_UTF8",
               "text_new: the program passes a string that is not UTF-8, \"\\xff\"; bytes are of "
               "kind 66");
}

TEST_F(EmbedRuntime, FindsDevices) {
  gantry_device_id device{};
  const auto find = [&](const char* name) {
    return done([&](gantry_status* status) {
      return embed().device_find(runtime.get(), gantry_text(name), &device, status);
    });
  };
  expect_ok(find("cpu:0"));
  EXPECT_EQ(device.type, 1);
  device = {7, 7};

  const Status absent = find("cpu:9");

  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, Code::not_found);
  EXPECT_EQ(device.type, 7);
}

TEST_F(EmbedRuntime, ReportsAFileThatIsNotThere) {
  const auto module = test::load(runtime, "/nonexistent/model.so");

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().native_domain, "errno");
  EXPECT_THAT(module.error().message.text(), HasSubstr("/nonexistent/model.so"));
}

TEST_F(EmbedRuntime, LoadsAFileAgainAsTheSameModule) {
  const std::string path = test::golden("tvm-0.12/axpy2_llvm.so").string();

  const auto first = test::load(runtime, path), second = test::load(runtime, path);

  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first->get(), second->get());
  EXPECT_EQ(first->get()->kind, GANTRY_MODULE);
}

TEST(EmbedLoad, AllowsThatAPluginIsMissing) {
  BuiltPlugins built("relax");
  const ObjectRef runtime = test::new_runtime(&built.options).value();
  const std::string path = test::golden("tvm-0.12/digits_mlp_llvm.so").string();
  const auto strict = test::load(runtime, path);
  ASSERT_FALSE(strict.ok());
  EXPECT_EQ(strict.error().reason, "NO_PLUGIN");

  const gantry_load_options options{sizeof options, GANTRY_LOAD_ALLOW_MISSING, nullptr, 0, 0};
  const auto module = test::load(runtime, path, &options);

  EXPECT_TRUE(module.ok()) << module.error().message;
}

TEST_F(EmbedRuntime, RefusesAnExecutableStackUnlessItIsAllowed) {
  const test::TempDir temp;
  const std::string path = (temp / "stack.so").string();
  auto library = test::read_file(test::golden("tvm-0.12/axpy2_llvm.so"));
  test::make_stack_executable(library);
  test::write_file(path, library);

  const auto refused = test::load(runtime, path);

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unsupported);
  EXPECT_EQ(refused.error().reason, "EXEC_STACK");
  EXPECT_EQ(refused.error().message,
            path +
                " requires an executable stack: the linker would make the stacks of the whole "
                "process executable, newer systems refuse it; link it with -Wl,-z,noexecstack, "
                "or load it with allow_executable_stack (gantry run --allow-executable-stack)\n"
                "  while loading " +
                path);
  const gantry_load_options options{sizeof options, GANTRY_LOAD_ALLOW_EXECUTABLE_STACK, nullptr, 0,
                                    0};
  const auto allowed = test::load(runtime, path, &options);
  // glibc 2.41 refuses it.
  EXPECT_TRUE(allowed.ok() || allowed.error().reason == "LIBRARY_OPEN") << allowed.error().message;
}

TEST_F(EmbedRuntime, RefusesUnknownFlagsOfALoad) {
  const gantry_load_options options{sizeof options, 8, nullptr, 0, 0};

  const auto module = test::load(runtime, "model.so", &options);

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().reason, "FLAGS");
  EXPECT_EQ(module.error().message, "gantry_load_options: flags are 0x8, this version has 0x7");
}

TEST_F(EmbedRuntime, ReadsTensorsByName) {
  const Value images = golden_tensor("tvm-0.12/digits_mlp.input.npz", "x");

  ASSERT_NE(images.tensor(), nullptr);
  EXPECT_EQ(tensor_text(*images.tensor()), "float32[360, 1, 64]");
}

// Calls each function of the table with an object of another kind, or with a pointer that is NULL.
TEST_F(EmbedRuntime, RefusesOtherObjectsAndNull) {
  const gantry_embed& table = embed();
  gantry_object* const self = runtime.get();
  gantry_object* object = nullptr;
  gantry_value value{};
  gantry_device_id device{};
  const gantry_signature* signature = nullptr;
  gantry_run run{};
  const gantry_bytes none{};
  gantry_tensor tensor{};
  const auto refused = [&](auto call, std::string_view text) {
    expect_error(done(call), Code::invalid, "ARGUMENT_KIND", text);
  };
  using S = gantry_status*;

  refused([&](S s) { return table.runtime_new(nullptr, nullptr, s); },
          "runtime_new: runtime is NULL");
  refused([&](S s) { return table.device_find(nullptr, none, &device, s); },
          "device_find: the object is NULL, expected a runtime");
  refused([&](S s) { return table.device_find(self, none, nullptr, s); },
          "device_find: device is NULL");
  refused([&](S s) { return table.load_file(nullptr, none, nullptr, &object, s); },
          "load_file: the object is NULL, expected a runtime");
  refused([&](S s) { return table.load_file(self, none, nullptr, nullptr, s); },
          "load_file: module is NULL");
  refused([&](S s) { return table.tensors_read(nullptr, none, &value, s); },
          "tensors_read: the object is NULL, expected a runtime");
  refused([&](S s) { return table.tensors_read(self, none, nullptr, s); },
          "tensors_read: tensors is NULL");
  refused(
      [&](S s) {
        return table.tensor_foreign(nullptr, &tensor, 0, 0, nullptr, nullptr, &value, s);
      },
      "tensor_foreign: the object is NULL, expected a runtime");
  refused(
      [&](S s) { return table.tensor_foreign(self, nullptr, 0, 0, nullptr, nullptr, &value, s); },
      "tensor_foreign: what is NULL");
  refused(
      [&](S s) { return table.tensor_foreign(self, &tensor, 0, 0, nullptr, nullptr, nullptr, s); },
      "tensor_foreign: tensor is NULL");
  refused([&](S s) { return table.model_new(self, nullptr, &object, s); },
          "model_new: the object is of kind 96, expected a module");
  refused([&](S s) { return table.model_functions(self, &value, s); },
          "model_functions: the object is of kind 96, expected a model");
  refused([&](S s) { return table.model_signature(self, none, &signature, s); },
          "model_signature: the object is of kind 96, expected a model");
  refused([&](S s) { return table.run(self, &run, s); },
          "run: the object is of kind 96, expected a model");
  const ObjectRef model = model_of("tvm-0.12/digits_mlp_llvm.so");
  refused([&](S s) { return table.model_functions(model.get(), nullptr, s); },
          "model_functions: names is NULL");
  refused([&](S s) { return table.model_signature(model.get(), none, nullptr, s); },
          "model_signature: signature is NULL");
  refused([&](S s) { return table.run(model.get(), nullptr, s); }, "run: run is NULL");
  const auto module = test::load(runtime, test::golden("tvm-0.12/axpy2_llvm.so").string());
  refused([&](S s) { return table.model_new(module->get(), nullptr, nullptr, s); },
          "model_new: model is NULL");
  EXPECT_EQ(table.host(model.get()), nullptr);
}

TEST_F(EmbedRuntime, RefusesTextsAndListsWithoutAnAddress) {
  const gantry_embed& table = embed();
  const gantry_host* const host = table.host(runtime.get());
  gantry_object* const self = runtime.get();
  const auto module = test::load(runtime, test::golden("tvm-0.12/axpy2_llvm.so").string());
  const ObjectRef model = model_of("tvm-0.12/digits_mlp_llvm.so");
  gantry_object* object = nullptr;
  gantry_value value{};
  gantry_device_id device{};
  const gantry_signature* signature = nullptr;
  const gantry_value item{};
  const std::int64_t extent = 1;
  const gantry_bytes text{nullptr, 5};
  const gantry_bytes endless{"x", UINT64_MAX};
  const gantry_error error{text, {}, {}, nullptr, nullptr, nullptr};
  const auto refused = [&](auto call, std::string_view expected) {
    expect_error(done(call), Code::invalid, "ARGUMENT_KIND", expected);
  };
  using S = gantry_status*;

  refused([&](S s) { return table.device_find(self, text, &device, s); },
          "device_find: name has 5 bytes at address 0");
  refused([&](S s) { return table.load_file(self, text, nullptr, &object, s); },
          "load_file: path has 5 bytes at address 0");
  refused([&](S s) { return table.tensors_read(self, text, &value, s); },
          "tensors_read: path has 5 bytes at address 0");
  refused([&](S s) { return table.model_signature(model.get(), text, &signature, s); },
          "model_signature: function has 5 bytes at address 0");
  refused([&](S s) { return table.load_memory(self, "", 1, text, nullptr, &object, s); },
          "load_memory: name has 5 bytes at address 0");
  refused([&](S s) { return table.function_find(self, text, &object, s); },
          "function_find: name has 5 bytes at address 0");
  refused([&](S s) { return table.function_add(self, text, {}, s); },
          "function_add: name has 5 bytes at address 0");
  refused([&](S s) { return table.report(self, text, &value, s); },
          "report: what has 5 bytes at address 0");
  refused([&](S s) { return table.inspect(self, text, &value, s); },
          "inspect: path has 5 bytes at address 0");
  refused([&](S s) { return table.find(module->get(), 7, text, &object, s); },
          "find: name has 5 bytes at address 0");
  refused([&](S s) { return table.find(module->get(), 7, gantry_text("f"), nullptr, s); },
          "find: function is NULL");
  const ObjectRef function = ObjectRef::adopt([&] {
    gantry_object* found = nullptr;
    EXPECT_EQ(table.function_find(self, gantry_text("vm.builtin.make_tuple"), &found, nullptr), 0);
    return found;
  }());
  refused([&](S s) { return table.call(function.get(), nullptr, nullptr, 3, &value, s); },
          "call: args is NULL");
  refused([&](S s) { return table.call(function.get(), nullptr, &item, -1, &value, s); },
          "call: args has -1 elements, range is 0 to 576460752303423487");
  refused([&](S s) { return table.call(function.get(), nullptr, &item, 1, nullptr, s); },
          "call: result is NULL");
  refused([&](S s) { return host->text_new(host, GANTRY_BYTES, text, &value, s); },
          "text_new: text has 5 bytes at address 0");
  refused([&](S s) { return host->text_new(host, GANTRY_BYTES, endless, &value, s); },
          "text_new: text has 18446744073709551615 bytes, maximum is 9223372036854775807");
  refused([&](S s) { return host->shape_new(host, nullptr, 3, &value, s); },
          "shape_new: dims is NULL");
  refused([&](S s) { return host->shape_new(host, &extent, UINT64_MAX / 8 + 1, &value, s); },
          "shape_new: dims has 2305843009213693952 elements, range is 0 to 1152921504606846975");
  refused([&](S s) { return host->items_new(host, GANTRY_ARRAY, nullptr, 3, &value, s); },
          "items_new: items is NULL");
  refused([&](S s) { return host->items_new(host, GANTRY_ARRAY, &item, 1, nullptr, s); },
          "items_new: value is NULL");
  refused([&](S s) { return host->tensor_new(host, nullptr, {}, 0, &value, s); },
          "tensor_new: like is NULL");
  refused([&](S s) { return host->tensor_copy(host, nullptr, nullptr, nullptr, s); },
          "tensor_copy: from is NULL");
  refused([&](S s) { return host->tensor_view(host, nullptr, nullptr, 0, &value, s); },
          "tensor_view: what is NULL");
  refused([&](S s) { return host->error_new(host, nullptr, &value, s); },
          "error_new: error is NULL");
  refused([&](S s) { return host->error_new(host, &error, &value, s); },
          "error_new: kind has 5 bytes at address 0");
  refused([&](S s) { return host->module_info(host, module->get(), nullptr, s); },
          "module_info: info is NULL");
  refused([&](S s) { return host->text_new(nullptr, GANTRY_BYTES, {}, &value, s); },
          "text_new: host is NULL");
}

// An object of the right kind that another library has made is no runtime.
TEST(EmbedTable, RefusesAnObjectThatIsMadeElsewhere) {
  gantry_object object{std::uint64_t{1} << 32 | 1, GANTRY_RUNTIME, 0, nullptr};
  gantry_device_id device{};

  EXPECT_EQ(embed().host(&object), nullptr);
  EXPECT_EQ(embed().device_find(&object, gantry_text("cpu"), &device, nullptr), GANTRY_INVALID);
}

// Runs a body in a forked child.
//
// returns  what the body returns
template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int state = -1;
  waitpid(child, &state, 0);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

TEST_F(EmbedRuntime, IsNotUsedInAForkedChild) {
  const ObjectRef model = model_of("tvm-0.12/digits_mlp_llvm.so");
  const auto module = test::load(runtime, test::golden("tvm-0.12/axpy2_llvm.so").string());
  ASSERT_TRUE(module.ok());
  const auto is_forked = [](const Error& error) {
    return error.code == Code::unavailable && error.reason == "PROCESS_FORKED";
  };

  const int failed = in_child([&] {
    const auto loaded = test::load(runtime, "/dev/null");
    const auto made = test::new_model(*module);
    gantry_run run{};
    run.struct_size = sizeof run;
    const Status ran = test::run(model, run);
    if (loaded.ok() || made.ok() || ran.ok()) return 1;
    if (!is_forked(loaded.error()) || !is_forked(made.error()) || !is_forked(ran.error())) return 2;
    // Another runtime has the same plugins, which the child may not call.
    const BuiltPlugins built;
    const auto another = test::new_runtime(&built.options);
    if (!another.ok()) return 5;
    const auto file = test::load(*another, test::golden("tvm-0.12/digits_mlp_llvm.so").string());
    if (file.ok() || !is_forked(file.error())) return 3;
    if (std::string_view(file.error().message).find("gunicorn's post_fork") == std::string::npos)
      return 4;
    // The child releases what it has inherited.
    embed().release(ObjectRef(model).take());
    embed().release(model.get());
    embed().release(module->get());
    embed().release(runtime.get());
    return 0;
  });

  EXPECT_EQ(failed, 0);
}

TEST(EmbedForked, ChildHasARuntimeOfItsOwnIfNoPluginWasOpened) {
  const BuiltPlugins built;
  // In a process that has opened no plugin.
  const int failed = in_child([&] {
    const ObjectRef inherited = test::new_runtime(&built.options).value();
    return in_child([&] {
      const auto own = test::new_runtime(&built.options);
      if (!own.ok()) return 1;
      return test::load(*own, test::golden("tvm-0.12/axpy2_llvm.so").string()).ok() ? 0 : 2;
    });
  });

  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace gantry
