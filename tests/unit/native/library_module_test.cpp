// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/library_module.hpp"

#include "core/engine/module/unbound.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/unit/module/fake_module.hpp"
#include "tests/unit/native/host_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <thread>

namespace gantry {
namespace {

using test::call_named;
using test::fake_node;
using test::fixture;
using test::function_of;
using test::golden;
using test::HostWorld;
using test::Journal;
using test::text_value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A float32 tensor over aligned memory.
struct Floats {
  explicit Floats(std::vector<std::int64_t> dims) : shape(std::move(dims)) {
    const auto count = static_cast<std::size_t>(
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
    data.reset(
        static_cast<float*>(std::aligned_alloc(256, (count * sizeof(float) + 255) / 256 * 256)));
    tensor.data = data.get();
    tensor.device = {kCpu, 0};
    tensor.ndim = static_cast<std::int32_t>(shape.size());
    tensor.dtype = {2, 32, 1};
    tensor.shape = shape.data();
  }
  gantry_value value() { return tensor_ref_value(&tensor); }

  std::vector<std::int64_t> shape;
  std::unique_ptr<float, decltype(&std::free)> data{nullptr, std::free};
  gantry_tensor tensor{};
};

class Axpy : public ::testing::TestWithParam<const char*> {
 protected:
  HostWorld world{2};
  Ref<ModuleNode> node = world.load_whole(golden(GetParam()));
};

TEST_P(Axpy, RunsByNameAndByItsEntry) {
  for (const char* name : {"axpy2", "__tvm_main__"}) {
    Floats a({5}), b({5}), c({5});
    for (int i = 0; i < 5; ++i) {
      a.data.get()[i] = static_cast<float>(i);
      b.data.get()[i] = 10.0f;
      c.data.get()[i] = 0.0f;
    }

    const auto result = call_named(node, name, {a.value(), b.value(), c.value()});

    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result->get().kind, GANTRY_NONE);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(c.data.get()[i], static_cast<float>(i) + 20.0f);
  }
}

TEST_P(Axpy, ListsItsOneFunction) { EXPECT_THAT(*list_functions(*node), ElementsAre("axpy2")); }

TEST_P(Axpy, RunsOnEightThreads) {
  const auto axpy = function_of(node, "axpy2");
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      Floats a({64}), b({64}), c({64});
      for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 64; ++i)
          a.data.get()[i] = b.data.get()[i] = static_cast<float>(t + round);
        const gantry_value args[] = {a.value(), b.value(), c.value()};
        if (!call(*axpy, nullptr, args).ok() ||
            c.data.get()[63] != 3.0f * static_cast<float>(t + round))
          ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Golden, Axpy,
                         ::testing::Values("tvm-0.12/axpy2_llvm.so", "tvm-0.12/axpy2_c.so"),
                         [](const auto& test) {
                           return std::string(test.param).find("llvm") != std::string::npos ? "llvm"
                                                                                            : "c";
                         });

TEST(LibraryModule, ReportsTheArtifactsErrorForWrongDimensions) {
  HostWorld world(2);
  const auto node = world.load_whole(golden("tvm-0.12/axpy2_llvm.so"));
  Floats a({2, 3}), b({6}), c({6});

  const auto result = call_named(node, "axpy2", {a.value(), b.value(), c.value()});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::invalid);
  EXPECT_EQ(result.error().reason, "HOST_CODE");
  EXPECT_THAT(result.error().message, HasSubstr("ndim"));
  EXPECT_THAT(result.error().message,
              HasSubstr("\n  in host function \"axpy2\" of entry 0 \"_lib\" of axpy2_llvm.so"));
}

TEST(LibraryModule, AcceptsEntriesOfBothKinds) {
  HostWorld world(2);

  EXPECT_EQ(
      call_named(world.load_whole(fixture("packed.so")), "__tvm_main__", {int_value(4)})->get().i,
      4);
  EXPECT_EQ(call_named(world.load_whole(fixture("imports_tvm.so")), "__tvm_main__", {int_value(4)})
                ->get()
                .i,
            1001);
}

TEST(LibraryModule, RejectsAnUnterminatedEntry) {
  HostWorld world(2);
  const auto node = world.load_whole(fixture("main_unterminated.so"));

  const auto found = find_function(*node, GANTRY_FIND_SELF, "__tvm_main__");

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::malformed);
  EXPECT_THAT(found.error().message,
              HasSubstr("__tvm_main__ has no terminator in its 3 bytes\n  while looking for "
                        "the entry of entry 0 \"_lib\" of main_unterminated.so"));
}

TEST(LibraryModule, RejectsAnEntryThatNamesNoFunction) {
  HostWorld world(2);
  const auto node = world.load_whole(fixture("main_dangling.so"));

  const auto found = find_function(*node, GANTRY_FIND_SELF, "__tvm_main__");

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::malformed);
  EXPECT_THAT(found.error().message,
              HasSubstr("__tvm_main__ names \"nowhere\", which is not a function of the file"));
}

TEST(LibraryModule, FindsOnlyItsOwnFunctions) {
  HostWorld world(2);
  const auto node = world.load_whole(golden("tvm-0.12/resnet20_llvm.so"));

  for (const char* name : {"__tvm_main__", "memcpy", "expf", "_init", "_fini", "__truncsfhf2",
                           "__tvm_dev_mblob", ""}) {
    const auto found = find_function(*node, GANTRY_FIND_SELF, name);
    ASSERT_FALSE(found.ok()) << name;
    EXPECT_EQ(found.error().code, Code::not_found) << name;
  }
}

TEST(LibraryModule, ListsExportedFunctionsWithoutCompilerHelpers) {
  HostWorld world(2);

  const auto names = list_functions(*world.load_whole(golden("tvm-0.12/resnet20_c.so")));

  ASSERT_TRUE(names.ok());
  EXPECT_EQ(names->size(), 23u);
  EXPECT_THAT(*names, ::testing::Each(::testing::StartsWith("tvmgen_default_")));
}

TEST(LibraryModule, HasNoPayload) {
  HostWorld world(2);
  const auto node = world.load_whole(fixture("packed.so"));

  EXPECT_EQ(node->table.load()->save_binary(node->self, nullptr, nullptr), GANTRY_UNSUPPORTED);
}

TEST(LibraryModule, StaysOpenForAFunctionThatOutlivesItsModule) {
  HostWorld world(2);
  Ref<FunctionObject> sum = function_of(world.load_whole(fixture("packed.so")), "sum");

  EXPECT_EQ(call(*sum, nullptr, std::vector<gantry_value>{int_value(3)})->get().i, 3);
  EXPECT_TRUE((*world.open(fixture("packed.so")))->is_private_copy());
  sum = {};
  EXPECT_FALSE((*world.open(fixture("packed.so")))->is_private_copy());
}

// --- look-ups of CPU code ---

TEST(ModuleContext, FindsImportsBeforeGlobalsAndNeverItself) {
  HostWorld world(2);
  const auto node = world.load(fixture("packed.so"));
  node->imports = {fake_node("device", {{"kernel", 11}, {"both", 12}})};
  ASSERT_TRUE(set_module_context(*node, nullptr).ok());
  ASSERT_TRUE(world.globals
                  ->add("both", std::move(new_function({new test::FakeFunction{13, "g", nullptr},
                                                        test::fake_function_table()},
                                                       {}, 0))
                                    .value())
                  .ok());

  EXPECT_EQ(call_named(node, "call_by_name", {text_value("kernel")})->get().i, 11);
  EXPECT_EQ(call_named(node, "call_by_name", {text_value("both")})->get().i, 12);
  const auto own = call_named(node, "call_by_name", {text_value("sum")});
  ASSERT_FALSE(own.ok());
  EXPECT_EQ(own.error().code, Code::not_found);
  EXPECT_THAT(own.error().message,
              HasSubstr("function \"sum\" not found; looked in module \"device\"\n  while CPU "
                        "code looks up \"sum\"\n  in host function \"call_by_name\""));
}

TEST(ModuleContext, SearchesAnImportOnceForEachName) {
  HostWorld world(2);
  Journal journal;
  const auto node = world.load(fixture("packed.so"));
  node->imports = {fake_node("device", {{"kernel", 11}}, &journal)};
  ASSERT_TRUE(set_module_context(*node, nullptr).ok());

  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(call_named(node, "call_by_name", {text_value("kernel")}).ok());

  EXPECT_THAT(journal, ElementsAre("device asked kernel"));
}

TEST(ModuleContext, ExplainsModulesThatAreNotBound) {
  HostWorld world(2);
  const auto node = world.load(fixture("packed.so"));
  node->imports = {
      new_unbound_node(node->artifact, "cuda", 1, "no plugin serves \"cuda\"").value()};
  ASSERT_TRUE(set_module_context(*node, nullptr).ok());

  const auto result = call_named(node, "call_by_name", {text_value("kernel")});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::not_found);
  EXPECT_EQ(result.error().reason, "MODULE_UNBOUND");
  EXPECT_THAT(
      result.error().message,
      HasSubstr(
          "not looked in: entry 1 \"cuda\" of packed.so is not bound: no plugin serves \"cuda\""));

  ASSERT_TRUE(bind(*node->imports[0],
                   {new test::FakeModule{"late", {{"kernel", 5}}}, test::fake_module_table()})
                  .ok());
  EXPECT_EQ(call_named(node, "call_by_name", {text_value("kernel")})->get().i, 5);
}

TEST(ModuleContext, ReleasesEverythingWithTheModule) {
  HostWorld world(2);
  Journal journal;
  auto node = world.load(fixture("packed.so"));
  node->imports = {fake_node("device", {{"kernel", 11}}, &journal)};
  ASSERT_TRUE(set_module_context(*node, nullptr).ok());
  ASSERT_TRUE(call_named(node, "call_by_name", {text_value("kernel")}).ok());

  node = {};

  EXPECT_THAT(journal,
              ElementsAre("device asked kernel", "device.kernel destroyed", "device destroyed"));
}

// A global that is a function of the library itself must not keep the library alive.
TEST(ModuleContext, DoesNotRetainGlobals) {
  Journal journal;
  {
    HostWorld world(2);
    auto node = world.load(fixture("packed.so"));
    node->imports = {fake_node("device", {}, &journal)};
    ASSERT_TRUE(set_module_context(*node, nullptr).ok());
    ASSERT_TRUE(world.globals->add("sum", function_of(node, "sum")).ok());
    ASSERT_EQ(call_named(node, "call_by_name", {text_value("sum"), int_value(2)})->get().i, 2);
    test::artifact_of(*node).globals = {};
  }

  EXPECT_EQ(journal.back(), "device destroyed");
}

//      root (own function "above")
//      /        \                       .
//   library    sibling -> deep
//      |
//   device
TEST(ModuleContext, SearchesEverythingBelowTheRootExceptAncestorsInOldGenerations) {
  HostWorld world(2);
  Journal journal;
  {
    const auto node = world.load(fixture("packed.so"));
    const auto root = fake_node("root", {{"above", 1}}, &journal);
    const auto sibling = fake_node("sibling", {{"beside", 2}}, &journal);
    sibling->imports = {fake_node("deep", {{"far", 3}}, &journal)};
    node->imports = {fake_node("device", {{"beside", 4}, {"near", 5}}, &journal)};
    root->imports = {node, sibling};
    ASSERT_TRUE(set_module_context(*node, root.get()).ok());

    EXPECT_EQ(call_named(node, "call_by_name", {text_value("near")})->get().i, 5);
    EXPECT_EQ(call_named(node, "call_by_name", {text_value("beside")})->get().i, 4);
    EXPECT_EQ(call_named(node, "call_by_name", {text_value("far")})->get().i, 3);
    EXPECT_FALSE(call_named(node, "call_by_name", {text_value("above")}).ok());
    EXPECT_TRUE(call_named(node, "call_by_name",
                           {text_value("__tvm_set_device"), int_value(1), int_value(0)})
                    .ok());
  }

  // There is no reference cycle.
  for (const char* gone :
       {"root destroyed", "sibling destroyed", "deep destroyed", "device destroyed"}) {
    EXPECT_THAT(journal, ::testing::Contains(gone));
  }
}

TEST(ModuleContext, SearchesEachModuleOnceInOldGenerations) {
  HostWorld world(2);
  Journal journal;
  const auto node = world.load(fixture("packed.so"));
  const auto root = fake_node("root", {}, &journal);
  node->imports = {fake_node("device", {}, &journal)};
  root->imports = {node, fake_node("sibling", {}, &journal)};
  ASSERT_TRUE(set_module_context(*node, root.get()).ok());

  EXPECT_FALSE(call_named(node, "call_by_name", {text_value("absent")}).ok());

  EXPECT_THAT(journal, ElementsAre("device asked absent", "sibling asked absent"));
}

// library -> device, root -> {library, sibling}
class LookUpThatFails : public ::testing::Test {
 protected:
  LookUpThatFails() {
    node->imports = {device};
    root->imports = {node, sibling};
  }
  Error error_of_look_up() {
    EXPECT_TRUE(set_module_context(*node, root.get()).ok());
    const auto result = call_named(node, "call_by_name", {text_value("kernel")});
    EXPECT_FALSE(result.ok());
    return result.error();
  }

  HostWorld world{2};
  Ref<ModuleNode> node = world.load(fixture("packed.so"));
  const Ref<ModuleNode> root = fake_node("root"), device = fake_node("device");
  Ref<ModuleNode> sibling = fake_node("sibling", {{"kernel", 2}});
};

TEST_F(LookUpThatFails, InAnImportIsReported) {
  test::fake_of(*device).look_up_fails_with = GANTRY_EXHAUSTED;

  EXPECT_EQ(error_of_look_up().code, Code::exhausted);
}

TEST_F(LookUpThatFails, InASiblingIsReported) {
  test::fake_of(*sibling).look_up_fails_with = GANTRY_EXHAUSTED;
  // does not take the place of the sibling's function
  auto global =
      new_function({new test::FakeFunction{13, "g", nullptr}, test::fake_function_table()}, {}, 0);
  ASSERT_TRUE(world.globals->add("kernel", std::move(global).value()).ok());

  EXPECT_EQ(error_of_look_up().code, Code::exhausted);
}

TEST_F(LookUpThatFails, ReportsASiblingThatIsNotBound) {
  root->imports[1] =
      new_unbound_node(node->artifact, "cuda", 1, "no plugin serves \"cuda\"").value();

  const Error error = error_of_look_up();

  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_EQ(error.reason, "MODULE_UNBOUND");
}

TEST(ModuleContext, FindsFunctionsThatPluginsOffer) {
  HostWorld world(2);
  const auto kernel =
      std::move(new_function(
                    {new test::FakeFunction{13, "g", nullptr}, test::fake_function_table()}, {}, 0))
          .value();
  world.globals =
      std::make_shared<GlobalFunctions>([&](std::string_view name) -> Result<Ref<FunctionObject>> {
        return name == "offered" ? kernel : Ref<FunctionObject>();
      });
  world.services.globals = world.globals;
  const auto node = world.load_whole(fixture("packed.so"));

  EXPECT_EQ(call_named(node, "call_by_name", {text_value("offered")})->get().i, 13);
  EXPECT_EQ(call_named(node, "call_by_name", {text_value("other")}).error().code, Code::not_found);
}

TEST(LibraryModule, FindsFunctionsAndItsContextByItsPrefix) {
  HostWorld world(2);
  const auto node = test::node_of(test::artifact_of({"_lib"}), 0);
  const auto pair =
      new_library_module(*world.open(fixture("system_library.so")), &world.services, *node, "a_");
  ASSERT_TRUE(pair.ok() && bind(*node, *pair).ok());
  ASSERT_TRUE(set_module_context(*node, nullptr).ok());

  EXPECT_EQ(call_named(node, "run")->get().i, 1) << "the context is set";
}

TEST(ModuleContext, RequiresALibraryModule) {
  const auto node = fake_node("other");

  const Status status = set_module_context(*node, nullptr);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::invalid);
  EXPECT_EQ(status.error().message, "module \"other\" is not a library module");
}

// --- CPU code that imports its runtime by name ---

TEST(ImportedSymbols, HaveTheEffectOfTheContextPointers) {
  HostWorld world(3);
  const auto node = world.load(fixture("imports_tvm.so"));
  node->imports = {fake_node("device", {{"kernel", 11}})};
  ASSERT_TRUE(set_module_context(*node, nullptr).ok());

  EXPECT_EQ(call_named(node, "use_workspace", {int_value(5000)})->get().i % 128, 0);
  EXPECT_EQ(call_named(node, "parallel", {int_value(0)})->get().i, 1 + 2 + 3);
  EXPECT_EQ(call_named(node, "call_by_name", {text_value("kernel")})->get().i, 11);
  EXPECT_EQ(call_named(node, "run_once")->get().i, 1);
  EXPECT_EQ(call_named(node, "run_once")->get().i, 1);
  const auto refused = call_named(node, "parallel", {int_value(-1)});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("a parallel launch requires -1 concurrent tasks"));
}

void expect_softmax(const Ref<ModuleNode>& node, const char* name) {
  Floats in({1, 10}), out({1, 10});
  for (int i = 0; i < 10; ++i) in.data.get()[i] = static_cast<float>(i) / 3.0f;
  double sum = 0;
  for (int i = 0; i < 10; ++i) sum += std::exp(i / 3.0);

  const auto result = call_named(node, name, {in.value(), out.value()});

  ASSERT_TRUE(result.ok()) << result.error().message;
  for (int i = 0; i < 10; ++i) EXPECT_NEAR(out.data.get()[i], std::exp(i / 3.0) / sum, 1e-5);
}

TEST(ImportedSymbols, RunTheObjectsOfAModelLibraryArchive) {
  if (!std::filesystem::exists(fixture("digits_crt.so")))
    GTEST_SKIP() << "the objects of the archive are for x86-64";
  HostWorld world(3);
  const auto node = world.load_whole(fixture("digits_crt.so"));

  expect_softmax(node, "tvmgen_digits_fused_nn_softmax");
  Floats wrong({10}), out({1, 10});
  const auto refused =
      call_named(node, "tvmgen_digits_fused_nn_softmax", {wrong.value(), out.value()});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("ndim"));
}

TEST(ImportedSymbols, RunCodeCompiledFromC) {
  HostWorld world(3);
  expect_softmax(world.load_whole(golden("tvm-0.12/resnet20_c.so")),
                 "tvmgen_default_fused_nn_softmax");
}

// Code of TVM 0.21 passes values in another form, so it receives other functions.
TEST(HostVariables, HaveTheFunctionsOfTheRelease) {
  HostWorld world(1);
  const auto file = MappedFile::open(golden("tvm-0.25/axpy2_opencl.so")).value();
  const auto elf = std::make_shared<const ElfFile>(ElfFile::parse(file).value());
  for (const Dialect dialect : {Dialect::ffi, Dialect::ffi_0_21}) {
    ExporterFacts facts = test::facts_by_symbols(*elf);
    facts.dialect = dialect;
    const auto library = CpuLibrary::open(file, elf, facts, world.services).value();
    const Ref<ModuleNode> node = test::node_of(test::artifact_of({"_lib"}), 0);

    ASSERT_TRUE(bind(*node, new_library_module(library, &world.services, *node).value()).ok());

    const void* const expected = find_runtime_function("TVMFFIFunctionCall", facts)->address;
    void** const variable = library->pointer_variable("__TVMFFIFunctionCall");
    ASSERT_NE(variable, nullptr);
    EXPECT_EQ(*variable, expected) << static_cast<int>(dialect);
  }
}

TEST(ExportedFunctions, AreFunctionsOfTheModelOnly) {
  constexpr std::uint8_t content[] = {1};
  const auto bytes = test::ElfBuilder()
                         .function("run")
                         .function("__tvm_main__")
                         .function(".local")
                         .function("_init")
                         .function("_fini")
                         .object("data", content)
                         .undefined("puts")
                         .build();

  for (const Dialect dialect : {Dialect::packed, Dialect::ffi_0_21}) {
    ExporterFacts facts;
    facts.dialect = dialect;
    EXPECT_THAT(exported_functions(ElfFile::parse(bytes).value(), facts), ElementsAre("run"));
  }
}

TEST(ExportedFunctions, OfTheFfiDialectAreNamedWithoutThePrefix) {
  const auto bytes = test::ElfBuilder()
                         .function("__tvm_ffi_run")
                         .function("__tvm_ffi__metadata_run")
                         .function("__tvm_ffi__doc_run")
                         .function("helper")
                         .build();

  ExporterFacts facts;
  facts.dialect = Dialect::ffi;

  EXPECT_THAT(exported_functions(ElfFile::parse(bytes).value(), facts), ElementsAre("run"));
}

}  // namespace
}  // namespace gantry
