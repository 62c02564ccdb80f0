// SPDX-License-Identifier: Apache-2.0
#include "core/engine/module/module_graph.hpp"

#include "core/base/trace/span.hpp"
#include "core/engine/module/unbound.hpp"
#include "tests/unit/module/fake_module.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry {
namespace {

using test::fake_node;
using test::fake_of;
using test::Journal;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint32_t kAll = GANTRY_FIND_SELF | GANTRY_FIND_IMPORTS | GANTRY_FIND_GLOBALS;

std::int64_t answer_of(const Result<Ref<FunctionObject>>& found) {
  EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
  return found.ok() ? call(**found, nullptr, {})->get().i : -1;
}

Ref<ModuleNode> unbound(std::string name) {
  return test::unbound_node(std::move(name), "no plugin serves \"cuda\"");
}

//        root
//       /    \      .
//   left      right
//       \    /
//       bottom
struct Diamond {
  Journal journal;
  Ref<ModuleNode> bottom = fake_node("bottom", {{"deep", 3}}, &journal);
  Ref<ModuleNode> left = fake_node("left", {}, &journal);
  Ref<ModuleNode> right = fake_node("right", {{"deep", 2}, {"side", 4}}, &journal);
  Ref<ModuleNode> root = fake_node("root", {{"own", 1}}, &journal);

  Diamond() {
    left->imports = {bottom};
    right->imports = {bottom};
    root->imports = {left, right};
  }
};

TEST(ModuleGraph, ReachesEachNodeOnceRootFirstDepthFirst) {
  Diamond graph;

  EXPECT_THAT(reachable(*graph.root), ElementsAre(graph.root.get(), graph.left.get(),
                                                  graph.bottom.get(), graph.right.get()));
}

TEST(ModuleGraph, WalksAChainOfTenThousandNodes) {
  Ref<ModuleNode> top = fake_node("last", {{"f", 9}});
  for (int i = 1; i < 10'000; ++i) {
    Ref<ModuleNode> node = fake_node("node");
    node->imports.push_back(std::move(top));
    top = std::move(node);
  }

  EXPECT_EQ(reachable(*top).size(), 10'000u);
  EXPECT_EQ(answer_of(find_function(*top, GANTRY_FIND_IMPORTS, "f")), 9);
}

TEST(ModuleGraph, SearchesEveryNodeOfLayeredDiamondsOnce) {
  Journal journal;
  std::vector<Ref<ModuleNode>> layer{fake_node("bottom", {}, &journal)};
  for (int depth = 0; depth < 40; ++depth) {
    std::vector<Ref<ModuleNode>> above;
    for (int i = 0; i < 2; ++i) {
      above.push_back(fake_node("node", {}, &journal));
      above.back()->imports.assign(layer.begin(), layer.end());
    }
    layer = std::move(above);
  }

  EXPECT_FALSE(find_function(*layer[0], kAll, "f").ok());

  EXPECT_EQ(journal.size(), 80u);
}

TEST(FindFunction, SearchesSelfThenImportsDepthFirst) {
  Diamond graph;

  EXPECT_EQ(answer_of(find_function(*graph.root, kAll, "own")), 1);
  EXPECT_EQ(answer_of(find_function(*graph.root, kAll, "deep")), 3);
  EXPECT_EQ(answer_of(find_function(*graph.root, kAll, "side")), 4);
}

// The import has no function, and binds the root, which has it and has been searched before.
TEST(FindFunction, SearchesAgainAModuleThatIsBoundMeanwhile) {
  static ModuleNode* late;
  static const gantry_module_table binds = [] {
    gantry_module_table table = *test::fake_module_table();
    table.destroy = [](void*) {};
    table.get_function = [](void*, gantry_bytes, gantry_function*, gantry_status*) -> gantry_code {
      if (late->table.load() == nullptr) {
        const gantry_module bound{new test::FakeModule{"late", {{"f", 6}}},
                                  test::fake_module_table()};
        EXPECT_TRUE(bind(*late, bound).ok());
      }
      return GANTRY_NOT_FOUND;
    };
    return table;
  }();
  const Ref<ModuleNode> root = unbound("late");
  const Ref<ModuleNode> import = test::named_node("binder");
  ASSERT_TRUE(bind(*import, {nullptr, &binds}).ok());
  root->imports = {import};
  late = root.get();

  EXPECT_EQ(answer_of(find_function(*root, kAll, "f")), 6);
}

// A module whose get_function returns an object that exists: `self` of the pair.
gantry_module_table existing_table() {
  gantry_module_table table = *test::fake_module_table();
  table.destroy = [](void*) {};
  table.get_function = [](void* self, gantry_bytes, gantry_function* out,
                          gantry_status*) -> gantry_code {
    gantry_retain(static_cast<gantry_object*>(self));
    *out = {self, nullptr};
    return GANTRY_OK;
  };
  return table;
}

TEST(FindFunction, ReturnsAnExistingFunctionObject) {
  const auto source = fake_node("source", {{"f", 9}});
  const Ref<FunctionObject> existing = find_function(*source, GANTRY_FIND_SELF, "f").value();
  const gantry_module_table table = existing_table();
  const auto node = test::named_node("saved");
  ASSERT_TRUE(bind(*node, {existing.get(), &table}).ok());

  const auto found = find_function(*node, GANTRY_FIND_SELF, "f");

  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->get(), existing.get());
  EXPECT_EQ(existing->header.counts & UINT32_MAX, 2u);
}

TEST(FindFunction, RejectsAnExistingObjectThatIsNotAFunction) {
  const ObjectPtr pin = new_pin({}).value();
  const gantry_module_table table = existing_table();
  const auto node = test::named_node("saved");
  ASSERT_TRUE(bind(*node, {pin.get(), &table}, "acme.npu").ok());

  const auto found = find_function(*node, GANTRY_FIND_SELF, "f");

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::bug);
  EXPECT_EQ(found.error().reason, "RESULT_KIND");
  EXPECT_EQ(
      found.error().message,
      "get_function of module \"saved\" made by acme.npu returns an object of kind 64, expected a "
      "function (kind 68)");
  EXPECT_EQ(pin.get()->counts & UINT32_MAX, 1u) << "its reference is released";
}

TEST(FindFunction, DoesNotSearchSelfForImports) {
  Diamond graph;

  EXPECT_FALSE(find_function(*graph.root, GANTRY_FIND_IMPORTS, "own").ok());

  EXPECT_THAT(graph.journal, ElementsAre("left asked own", "bottom asked own", "right asked own"));
}

TEST(FindFunction, DoesNotSearchImportsForSelf) {
  Diamond graph;

  EXPECT_FALSE(find_function(*graph.root, GANTRY_FIND_SELF, "side").ok());

  EXPECT_THAT(graph.journal, ElementsAre("root asked side"));
}

// Adds a function that answers 50.
void add_global(GlobalFunctions& globals, const char* name) {
  const gantry_function target{new test::FakeFunction{50, "g", nullptr},
                               test::fake_function_table()};
  ASSERT_TRUE(globals.add(name, new_function(target, {}, 0).value()).ok());
}

TEST(FindFunction, SearchesTheGlobalsLast) {
  Diamond graph;
  const auto globals = std::make_shared<GlobalFunctions>();
  add_global(*globals, "side");
  add_global(*globals, "only");
  test::artifact_of(*graph.root).globals = globals;

  EXPECT_EQ(answer_of(find_function(*graph.root, kAll, "side")), 4);
  EXPECT_EQ(answer_of(find_function(*graph.root, kAll, "only")), 50);
  EXPECT_EQ(answer_of(find_function(*graph.root, GANTRY_FIND_GLOBALS, "side")), 50);
}

TEST(FindFunction, ReturnsTheDeviceTypeOfTheModule) {
  const Ref<ModuleNode> node = test::named_node("device");
  const gantry_module pair{new test::FakeModule{"device", {{"kernel", 1}}},
                           test::fake_module_table()};
  ASSERT_TRUE(bind(*node, pair, "acme.npu", 4).ok());

  const auto found = find_function(*node, GANTRY_FIND_SELF, "kernel");

  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)->device_type, 4);
}

TEST(FindFunction, PassesThroughUnboundNodesToTheirImports) {
  Ref<ModuleNode> root = fake_node("root");
  Ref<ModuleNode> gap = unbound("gap");
  gap->imports = {fake_node("below", {{"f", 8}})};
  root->imports = {gap};

  EXPECT_EQ(answer_of(find_function(*root, kAll, "f")), 8);
}

TEST(FindFunction, ReportsTheUnboundNodesThatMightHaveIt) {
  Ref<ModuleNode> root = fake_node("root", {{"a", 1}, {"b", 2}});
  root->imports = {unbound("gap")};

  const auto found = find_function(*root, kAll, "f");

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::not_found);
  EXPECT_EQ(found.error().reason, "MODULE_UNBOUND");
  EXPECT_EQ(found.error().message,
            "function \"f\" not found; looked in module \"root\"; module \"root\" has \"a\", "
            "\"b\"; not "
            "looked in: module \"gap\" is not bound: no plugin serves \"cuda\"");
}

TEST(FindFunction, LimitsTheModulesThatAnErrorLists) {
  Ref<ModuleNode> root = fake_node("root");
  for (int i = 0; i < 20; ++i) {
    root->imports.push_back(fake_node("m" + std::to_string(i)));
    root->imports.push_back(unbound("u" + std::to_string(i)));
  }

  const auto found = find_function(*root, kAll, "f");

  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().message, HasSubstr("module \"m6\" and 13 more"));
  EXPECT_THAT(found.error().message, HasSubstr("module \"u7\" is not bound"));
  EXPECT_THAT(found.error().message, HasSubstr("; 12 more modules are not bound"));
}

TEST(FindFunction, ListsEightUnboundModules) {
  for (const int count : {8, 9}) {
    Ref<ModuleNode> root = fake_node("root");
    for (int i = 0; i < count; ++i) root->imports.push_back(unbound("u" + std::to_string(i)));

    const std::string message = find_function(*root, kAll, "f").error().message;

    EXPECT_THAT(message, HasSubstr("module \"u7\" is not bound"));
    EXPECT_EQ(message.ends_with("; 1 more modules are not bound"), count == 9);
    EXPECT_EQ(message.ends_with(" more modules are not bound"), count == 9);
  }
}

TEST(FindFunction, StopsAtAModuleWhoseLookUpFails) {
  Diamond graph;
  fake_of(*graph.bottom).look_up_fails_with = GANTRY_UNAVAILABLE;

  const auto found = find_function(*graph.root, kAll, "side");

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::unavailable);
  EXPECT_EQ(found.error().reason, "FAKE");
  EXPECT_EQ(found.error().message,
            "the driver is gone\n  while looking up \"side\" in module \"bottom\"");
}

TEST(ListFunctions, ReturnsTheNamesOfTheNodeItself) {
  Diamond graph;

  EXPECT_THAT(*list_functions(*graph.right), ElementsAre("deep", "side"));
  EXPECT_THAT(*list_functions(*unbound("gap")), IsEmpty());
}

// Records are checked like tables: their size first. The visitor's error is returned even if the
// module ignores it.
TEST(ListFunctions, RefusesARecordThatCannotBeRead) {
  struct Bad {
    bool there;
    gantry_function_info info;
    std::string reason, message;
  };
  const gantry_bytes name = gantry_text("axpy");
  const Bad bad[] = {{false, {}, "FUNCTION_MISSING", "gantry_function_info is empty"},
                     {true,
                      {24, 0, name, {}},
                      "STRUCT_SIZE",
                      "gantry_function_info has struct_size 24, minimum is 40 (ABI 1.0)"},
                     {true,
                      {0, 0, name, {}},
                      "STRUCT_SIZE",
                      "gantry_function_info has struct_size 0, minimum is 40 (ABI 1.0)"},
                     {true,
                      {sizeof(gantry_function_info), 0, {nullptr, 4}, {}},
                      "FUNCTION_MISSING",
                      "gantry_function_info.name is empty, its size is 4"}};
  static const gantry_function_info* given;
  gantry_module_table table = *test::fake_module_table();
  table.list_functions = [](void*, const gantry_visitor* visitor, gantry_status* status) {
    visitor->visit(visitor->self, given, status);
    const gantry_function_info good{sizeof good, 0, gantry_text("good"), {}};
    visitor->visit(visitor->self, &good, status);
    return gantry_code{GANTRY_OK};
  };
  Ref<ModuleNode> node = test::named_node("odd");
  ASSERT_TRUE(bind(*node, {new test::FakeModule, &table}, "acme.npu").ok());
  for (const Bad& one : bad) {
    given = one.there ? &one.info : nullptr;

    const auto names = list_functions(*node);

    ASSERT_FALSE(names.ok()) << one.message;
    EXPECT_EQ(names.error().code, Code::malformed);
    EXPECT_EQ(names.error().reason, one.reason);
    EXPECT_EQ(names.error().message,
              concat("list_functions of ", described(*node), ": ", one.message,
                     "\n  while listing the functions of module \"odd\" made by acme.npu"));
  }
}

TEST(ListFunctions, AcceptsARecordOfALaterMinor) {
  struct Later {
    gantry_function_info info;
    std::uint64_t more;
  };
  gantry_module_table table = *test::fake_module_table();
  table.list_functions = [](void*, const gantry_visitor* visitor, gantry_status* status) {
    const Later later{{sizeof later, 0, gantry_text("axpy"), {}}, 7};
    return visitor->visit(visitor->self, &later.info, status);
  };
  Ref<ModuleNode> node = test::named_node("new");
  ASSERT_TRUE(bind(*node, {new test::FakeModule, &table}).ok());

  EXPECT_THAT(*list_functions(*node), ElementsAre("axpy"));
}

TEST(ListFunctions, IsEmptyForAModuleThatCannotList) {
  gantry_module_table table = *test::fake_module_table();
  table.list_functions = [](void*, const gantry_visitor*, gantry_status* status) {
    return gantry_fail(status, GANTRY_UNSUPPORTED, "", "list_functions is not there");
  };
  Ref<ModuleNode> node = test::named_node("quiet");
  ASSERT_TRUE(bind(*node, {new test::FakeModule, &table}).ok());

  EXPECT_THAT(*list_functions(*node), IsEmpty());
}

// The pair that get_function of the module below writes, and the code that it returns.
struct Answer {
  gantry_function function{};
  gantry_code code = GANTRY_OK;
};

// A module whose get_function returns `answer`.
Ref<ModuleNode> answers_with(Answer& answer) {
  static const gantry_module_table table = [] {
    gantry_module_table made = *test::fake_module_table();
    made.destroy = [](void*) {};
    made.get_function = [](void* self, gantry_bytes, gantry_function* out, gantry_status* status) {
      const Answer& given = *static_cast<Answer*>(self);
      *out = given.function;
      if (given.code != GANTRY_OK) gantry_fail(status, given.code, "FAKE", "no");
      return given.code;
    };
    return made;
  }();
  const Ref<ModuleNode> node = test::named_node("odd");
  EXPECT_TRUE(bind(*node, {&answer, &table}).ok());
  return node;
}

// A function that counts its destructions in `self`.
gantry_function_table counting_table() {
  return {sizeof(gantry_function_table), 0, [](void* self) { ++*static_cast<int*>(self); },
          [](void*, const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
             gantry_status*) -> gantry_code { return GANTRY_OK; }};
}

TEST(FindFunction, ReportsAFunctionThatAFailedLookUpWrites) {
  const gantry_function_table table = counting_table();
  int self = 0;
  for (const gantry_function& written :
       {gantry_function{&self, nullptr}, gantry_function{nullptr, &table}, gantry_function{}}) {
    Answer answer{written, GANTRY_UNAVAILABLE};
    const bool writes = written.self != nullptr || written.table != nullptr;

    const auto found = find_function(*answers_with(answer), GANTRY_FIND_SELF, "f");

    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, Code::unavailable);
    EXPECT_EQ(
        found.error().message,
        concat(
            "no",
            writes ? "\n  get_function of module \"odd\" writes a function although it fails" : "",
            "\n  while looking up \"f\" in module \"odd\""));
  }
}

TEST(FindFunction, RejectsAFunctionWithoutATable) {
  Answer answer;

  const auto found = find_function(*answers_with(answer), GANTRY_FIND_SELF, "f");

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::bug);
  EXPECT_EQ(found.error().reason, "TABLE_INCOMPLETE");
  EXPECT_EQ(found.error().message, "module \"odd\" returns a function without `call`");
}

TEST(FindFunction, DestroysAFunctionThatItRejects) {
  int ends = 0;
  gantry_function_table table = counting_table();
  table.call = nullptr;
  Answer answer{{&ends, &table}};

  EXPECT_FALSE(find_function(*answers_with(answer), GANTRY_FIND_SELF, "f").ok());

  EXPECT_EQ(ends, 1);
}

TEST(FindFunction, DestroysARejectedFunctionOnlyIfItsTableCan) {
  int ends = 0;
  gantry_function_table table = counting_table();
  Answer answer{{&ends, &table}};
  // too short for `destroy`
  table.struct_size = offsetof(gantry_function_table, destroy);
  EXPECT_FALSE(find_function(*answers_with(answer), GANTRY_FIND_SELF, "f").ok());
  EXPECT_EQ(ends, 0);

  table = {sizeof table, 0, nullptr, nullptr};
  EXPECT_FALSE(find_function(*answers_with(answer), GANTRY_FIND_SELF, "f").ok());
}

TEST(FindFunction, RejectsAFunctionWithoutCallIfItIsTraced) {
  TraceRecorder trace;
  int ends = 0;
  gantry_function_table table = counting_table();
  table.call = nullptr;
  Answer answer{{&ends, &table}};
  const Ref<ModuleNode> node = answers_with(answer);
  test::artifact_of(*node).trace = &trace;

  const auto found = find_function(*node, GANTRY_FIND_SELF, "f");

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::bug);
  EXPECT_EQ(found.error().reason, "TABLE_INCOMPLETE");
  EXPECT_EQ(ends, 1);
}

TEST(FindFunction, TracesCallsAndDestroysTheTracedFunction) {
  TraceRecorder trace;
  int ends = 0;
  gantry_function_table table = counting_table();
  Answer answer{{&ends, &table}};
  const Ref<ModuleNode> node = answers_with(answer);
  test::artifact_of(*node).trace = &trace;

  {
    const Ref<FunctionObject> function = find_function(*node, GANTRY_FIND_SELF, "f").value();
    EXPECT_TRUE(call(*function, nullptr, {}).ok());
    ASSERT_EQ(trace.events().size(), 1u);
    EXPECT_EQ(trace.events()[0].name, "f");
    EXPECT_EQ(ends, 0);
  }
  EXPECT_EQ(ends, 1);

  table.destroy = nullptr;
  EXPECT_TRUE(find_function(*node, GANTRY_FIND_SELF, "f").ok());
}

TEST(FindFunction, ReportsAModuleWithoutFunctions) {
  const Ref<ModuleNode> root = fake_node("root");

  EXPECT_EQ(find_function(*root, kAll, "f").error().message,
            "function \"f\" not found; looked in module \"root\"");
}

TEST(FindFunction, ListsTheFunctionsOfSelfOnlyIfItSearchesThem) {
  const Ref<ModuleNode> root = fake_node("root", {{"a", 1}});
  root->imports = {fake_node("import")};

  EXPECT_EQ(find_function(*root, GANTRY_FIND_IMPORTS, "f").error().message,
            "function \"f\" not found; looked in module \"import\"");
}

TEST(FindFunction, OmitsTheFunctionsOfAModuleThatFailsToListThem) {
  gantry_module_table table = *test::fake_module_table();
  table.list_functions = [](void*, const gantry_visitor*, gantry_status* status) {
    return gantry_fail(status, GANTRY_UNAVAILABLE, "", "the driver is gone");
  };
  const Ref<ModuleNode> node = test::named_node("quiet");
  ASSERT_TRUE(bind(*node, {new test::FakeModule, &table}).ok());

  EXPECT_EQ(find_function(*node, kAll, "f").error().message,
            "function \"f\" not found; looked in module \"quiet\"");
}

TEST(FindFunction, SearchesTheGlobalsOnlyOnRequest) {
  const Ref<ModuleNode> root = fake_node("root");
  const auto globals = std::make_shared<GlobalFunctions>();
  add_global(*globals, "g");
  test::artifact_of(*root).globals = globals;

  EXPECT_EQ(find_function(*root, GANTRY_FIND_SELF, "g").error().message,
            "function \"g\" not found; looked in module \"root\"");
  EXPECT_EQ(find_function(*root, GANTRY_FIND_GLOBALS, "f").error().message,
            "function \"f\" not found; looked in the global functions");
}

TEST(FindFunction, AdvisesAboutNamesThatCompilersWrite) {
  const Ref<ModuleNode> root = fake_node("root");
  test::artifact_of(*root).globals = std::make_shared<GlobalFunctions>();

  EXPECT_EQ(
      find_function(*root, GANTRY_FIND_GLOBALS, "runtime.disco.allreduce").error().message,
      "function \"runtime.disco.allreduce\" not found; looked in the global functions\n"
      "  \"runtime.disco.allreduce\" is communication of several workers, for which the model is "
      "compiled; compile it for one worker (without tensor or pipeline parallelism)");
}

TEST(FindFunction, ReturnsTheErrorOfAnOfferedGlobal) {
  const Ref<ModuleNode> root = fake_node("root");
  test::artifact_of(*root).globals = std::make_shared<GlobalFunctions>(
      [](std::string_view) -> Result<Ref<FunctionObject>> { return unavailable("no device"); });

  const auto found = find_function(*root, kAll, "g");

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::unavailable);
  EXPECT_EQ(found.error().message, "no device");
}

TEST(FindFunction, PrefersAGlobalToAnOfferedOne) {
  const Ref<ModuleNode> root = fake_node("root");
  const auto globals = std::make_shared<GlobalFunctions>(
      [](std::string_view) -> Result<Ref<FunctionObject>> { return unavailable("no device"); });
  add_global(*globals, "g");
  test::artifact_of(*root).globals = globals;

  EXPECT_EQ(answer_of(find_function(*root, kAll, "g")), 50);
}

TEST(ListFunctions, AcceptsAnEmptyName) {
  gantry_module_table table = *test::fake_module_table();
  table.list_functions = [](void*, const gantry_visitor* visitor, gantry_status* status) {
    const gantry_function_info info{sizeof info, 0, {nullptr, 0}, {}};
    return visitor->visit(visitor->self, &info, status);
  };
  const Ref<ModuleNode> node = test::named_node("odd");
  ASSERT_TRUE(bind(*node, {new test::FakeModule, &table}).ok());

  EXPECT_THAT(*list_functions(*node), ElementsAre(""));
}

}  // namespace
}  // namespace gantry
