// SPDX-License-Identifier: Apache-2.0
#include "core/engine/module/module.hpp"

#include "core/engine/module/unbound.hpp"
#include "tests/support/artifact.hpp"
#include "tests/unit/module/fake_module.hpp"

#include <gantry/dmlc_stream.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

namespace gantry {
namespace {

using test::fake_node;
using test::Journal;
using ::testing::ElementsAre;

Pin journal_pin(Journal& journal, std::string text) {
  return Pin(static_cast<const void*>(&journal),
             [&journal, text](const void*) { journal.push_back(text); });
}

TEST(Module, DestroysItsPairThenItsParentThenTheRuntimeThenItsImports) {
  Journal journal;
  {
    Ref<ModuleNode> root = fake_node("root", {}, &journal);
    test::artifact_of(*root).runtime = journal_pin(journal, "runtime gone");
    root->parent = fake_node("parent", {}, &journal);
    root->imports.push_back(fake_node("import", {}, &journal));
  }

  EXPECT_THAT(journal, ElementsAre("root destroyed", "parent destroyed", "runtime gone",
                                   "import destroyed"));
}

TEST(Module, KeepsAnImportThatHasAnotherReference) {
  Journal journal;
  Ref<ModuleNode> import = fake_node("import", {}, &journal);
  {
    Ref<ModuleNode> root = fake_node("root", {}, &journal);
    root->imports.push_back(import);
  }

  EXPECT_THAT(journal, ElementsAre("root destroyed"));
}

TEST(Module, ReleasesAChainOfAHundredThousandNodesWithoutRecursion) {
  Journal journal;
  {
    Ref<ModuleNode> top = fake_node("last", {}, &journal);
    for (int i = 1; i < 100'000; ++i) {
      Ref<ModuleNode> node = fake_node("node", {}, &journal);
      node->imports.push_back(std::move(top));
      top = std::move(node);
    }
  }

  ASSERT_EQ(journal.size(), 100'000u);
  EXPECT_EQ(journal.back(), "last destroyed");
}

TEST(Module, ReleasesEachNodeOfLayeredDiamondsOnce) {
  Journal journal;
  {
    std::vector<Ref<ModuleNode>> layer{fake_node("bottom", {}, &journal)};
    for (int depth = 0; depth < 200; ++depth) {
      std::vector<Ref<ModuleNode>> above;
      for (int i = 0; i < 3; ++i) {
        Ref<ModuleNode> node = fake_node("node", {}, &journal);
        node->imports.assign(layer.begin(), layer.end());
        above.push_back(std::move(node));
      }
      layer = std::move(above);
    }
  }

  EXPECT_EQ(journal.size(), 601u);
}

TEST(Module, FunctionKeepsItsModule) {
  Journal journal;
  Ref<FunctionObject> function;
  {
    Ref<ModuleNode> root = fake_node("root", {{"f", 7}}, &journal);
    function = std::move(find_function(*root, GANTRY_FIND_SELF, "f")).value();
  }

  EXPECT_EQ(call(*function, nullptr, {})->get().i, 7);
  EXPECT_THAT(journal, ElementsAre("root asked f"));

  function = {};
  EXPECT_THAT(journal, ElementsAre("root asked f", "root.f destroyed", "root destroyed"));
}

TEST(Module, GlobalFunctionKeepsItsPin) {
  Journal journal;
  Ref<FunctionObject> function = std::move(new_function({new test::FakeFunction{1, "g", &journal},
                                                         test::fake_function_table()},
                                                        {}, 0, journal_pin(journal, "pin gone")))
                                     .value();

  function = {};

  EXPECT_THAT(journal, ElementsAre("g destroyed", "pin gone"));
}

TEST(Module, IsBoundOnce) {
  Ref<ModuleNode> node = fake_node("root");
  test::FakeModule other;

  const Status again = bind(*node, {&other, test::fake_module_table()});

  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::invalid);
  EXPECT_EQ(again.error().message, "module \"root\" is bound already");
}

TEST(Module, RefusesAFunctionWithoutCall) {
  const gantry_function_table empty{sizeof empty, 0, nullptr, nullptr};

  const auto function = new_function({nullptr, &empty}, fake_node("root"), 0);

  ASSERT_FALSE(function.ok());
  EXPECT_EQ(function.error().code, Code::bug);
  EXPECT_EQ(function.error().message, "module \"root\" returns a function without `call`");
}

// If several threads bind a node, one succeeds, and concurrent look-ups find the node either
// unbound or completely bound.
TEST(Module, BindsOnceUnderThreads) {
  for (int round = 0; round < 50; ++round) {
    Ref<ModuleNode> node = test::unbound_node("late", "not yet");
    std::atomic<int> bound{0}, wrong{0};
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        while (!go) std::this_thread::yield();
        if (i % 2 == 0) {
          auto* self = new test::FakeModule{"late", {{"f", 5}}};
          if (bind(*node, {self, test::fake_module_table()}).ok()) {
            ++bound;
          } else {
            delete self;
          }
        }
        const auto found = find_function(*node, GANTRY_FIND_SELF, "f");
        if (found.ok() ? call(**found, nullptr, {})->get().i != 5
                       : found.error().code != Code::not_found) {
          ++wrong;
        }
      });
    }
    go = true;
    for (std::thread& thread : threads) thread.join();

    ASSERT_EQ(bound, 1);
    ASSERT_EQ(wrong, 0);
  }
}

TEST(GlobalFunctions, RefusesATakenName) {
  GlobalFunctions globals;
  const auto function = [] {
    return std::move(
               new_function({new test::FakeFunction{1, "g", nullptr}, test::fake_function_table()},
                            {}, 0))
        .value();
  };
  ASSERT_TRUE(globals.add("g", function()).ok());

  const Status again = globals.add("g", function());

  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::invalid);
  EXPECT_EQ(again.error().message, "global function \"g\" exists already");
  EXPECT_TRUE(globals.find("g"));
  EXPECT_TRUE(globals.find("g"));
  EXPECT_FALSE(globals.find("h"));
}

TEST(Module, RefusesATableThatIsTooShortForCall) {
  gantry_function_table table = *test::fake_function_table();
  table.struct_size = offsetof(gantry_function_table, call);

  const auto function = new_function({nullptr, &table}, fake_node("root"), 0);

  ASSERT_FALSE(function.ok());
  EXPECT_EQ(function.error().code, Code::bug);
  EXPECT_EQ(function.error().reason, "TABLE_INCOMPLETE");
}

// Programs read the phase through this member, see gantry/call.h.
TEST(Module, FunctionRefersToThePhaseOfTheProcess) {
  const auto function =
      new_function({new test::FakeFunction{1, "g", nullptr}, test::fake_function_table()}, {}, 0);

  ASSERT_TRUE(function.ok());
  EXPECT_EQ((*function)->process_phase, &detail::process_phase);
}

TEST(Module, KeepsTheMemoryOfAnImportThatHasAWeakReference) {
  WeakRef<ModuleNode> weak;
  {
    const Ref<ModuleNode> root = fake_node("root");
    root->imports.push_back(fake_node("import"));
    weak = WeakRef<ModuleNode>(root->imports[0]);
  }

  EXPECT_FALSE(weak.lock());
}

TEST(Module, IsDescribedWithoutAPluginIfItHasNone) {
  const auto artifact = test::artifact_of({"_lib", "cuda"});
  const Ref<ModuleNode> node = test::node_of(artifact, 1);

  EXPECT_EQ(described(*node), "entry 1 \"cuda\" of model.so");
  ASSERT_TRUE(bind(*node, {new test::FakeModule, test::fake_module_table()}, "acme.npu").ok());
  EXPECT_EQ(described(*node), "entry 1 \"cuda\" of model.so (plugin acme.npu)");
}

class MemoryStream : public OutputStream {
 public:
  std::string text;

 protected:
  void put(std::span<const std::uint8_t> bytes) override {
    text.append(bytes.begin(), bytes.end());
  }
};

// Writes two pieces; returns the sink's code after a failure.
gantry_code save_two(void* self, const gantry_sink* sink, gantry_status* status) {
  if (self == nullptr) return gantry_fail(status, GANTRY_EXHAUSTED, "MEMORY", "out of memory");
  for (const char* piece : {"pay", "load"}) {
    const gantry_code code = sink->write(sink->self, piece, std::strlen(piece), status);
    if (code != GANTRY_OK) return code;
  }
  return GANTRY_OK;
}

void destroy_nothing(void*) {}

// A module of "model.so" whose table has save_binary.
Ref<ModuleNode> saved_module(void* self) {
  static const gantry_module_table table = [] {
    gantry_module_table made{};
    made.struct_size = sizeof made;
    made.destroy = destroy_nothing;
    made.save_binary = save_two;
    return made;
  }();
  Ref<ModuleNode> node = test::node_of(test::artifact_of({"acme.npu"}), 0);
  EXPECT_TRUE(bind(*node, {self, &table}, "acme.plugin").ok());
  return node;
}

TEST(SavedPayload, IsWhatTheModuleWrites) {
  int self = 0;
  const Ref<ModuleNode> module = saved_module(&self);
  MemoryStream out;

  const Status saved = save_payload(*module, out);

  ASSERT_TRUE(saved.ok()) << saved.error().message;
  EXPECT_EQ(out.text, "payload");
}

TEST(SavedPayload, ThatCannotBeWrittenNamesModuleAndPlugin) {
  const Ref<ModuleNode> module = saved_module(nullptr);
  MemoryStream out;

  const Status saved = save_payload(*module, out);

  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().code, Code::exhausted);
  EXPECT_EQ(saved.error().message,
            "out of memory\n  while saving entry 0 \"acme.npu\" of model.so (plugin acme.plugin)");
}

TEST(SavedPayload, NeedsAPlugin) {
  const Ref<ModuleNode> module = test::node_of(test::artifact_of({"acme.npu"}), 0);
  MemoryStream out;

  const Status saved = save_payload(*module, out);

  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().code, Code::unsupported);
  EXPECT_EQ(saved.error().message,
            "entry 0 \"acme.npu\" of model.so has no plugin that could save it");
}

}  // namespace
}  // namespace gantry
