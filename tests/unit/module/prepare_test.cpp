// SPDX-License-Identifier: Apache-2.0
#include "core/engine/module/prepare.hpp"

#include "core/base/trace/span.hpp"
#include "core/engine/tensor/device_set.hpp"
#include "tests/unit/module/fake_module.hpp"

#include <gantry/abi_boundary.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry {
namespace {

using test::Journal;
using ::testing::ElementsAre;

constexpr std::int32_t kNpu = 70;

struct Prepared {
  std::string name;
  Journal* journal;
  gantry_code result = GANTRY_OK;
};

const gantry_module_table& prepared_table() {
  static const gantry_module_table table = [] {
    gantry_module_table made = *test::fake_module_table();
    made.destroy = [](void*) {};
    made.prepare = [](void* self, const gantry_env*, const gantry_prepare* what,
                      gantry_status* status) -> gantry_code {
      const Prepared& module = *static_cast<Prepared*>(self);
      std::string line = module.name;
      for (std::uint32_t i = 0; i < what->device_count; ++i)
        line += concat(" ", what->devices[i].type, ":", what->devices[i].index);
      module.journal->push_back(line);
      if (module.result == GANTRY_OK) return GANTRY_OK;
      return gantry_fail(status, module.result, "FAKE", "the compiler is gone");
    };
    return made;
  }();
  return table;
}

//        root (CPU)
//       /     \       .
//   npu        npu, which the other imports, too
class Preparation : public ::testing::Test {
 protected:
  Preparation() {
    add(root, kernels, 0);
    add(first, first_kernels, kNpu);
    add(second, second_kernels, kNpu);
    root->imports = {first, second};
    first->imports = {second};
  }
  static void add(const Ref<ModuleNode>& node, Prepared& module, std::int32_t device_type) {
    ASSERT_TRUE(bind(*node, {&module, &prepared_table()}, "", device_type).ok());
  }
  Status prepare(std::vector<gantry_device_id> devices) {
    return prepare_modules(*root, devices, gantry_env{}, [this] { return is_cancelled; });
  }

  Journal journal;
  bool is_cancelled = false;
  Prepared kernels{"root", &journal};
  Prepared first_kernels{"first", &journal};
  Prepared second_kernels{"second", &journal};
  Ref<ModuleNode> root = test::named_node("root");
  Ref<ModuleNode> first = test::named_node("first");
  Ref<ModuleNode> second = test::named_node("second");
};

TEST_F(Preparation, IsOfEachModuleOnceForTheDevicesOfItsKind) {
  ASSERT_TRUE(prepare({{kCpu, 0}, {kNpu, 1}, {71, 0}, {kNpu, 3}}).ok());

  EXPECT_THAT(journal, ElementsAre("root 1:0", "first 70:1 70:3", "second 70:1 70:3"));
}

TEST_F(Preparation, LeavesModulesOfOtherDevicesAsTheyAre) {
  ASSERT_TRUE(prepare({{kCpu, 0}}).ok());

  EXPECT_THAT(journal, ElementsAre("root 1:0"));
}

TEST_F(Preparation, PreparesTheOthersAfterAFailure) {
  first_kernels.result = GANTRY_UNSUPPORTED;
  second_kernels.result = GANTRY_MALFORMED;

  const Status prepared = prepare({{kNpu, 0}});

  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().code, Code::unsupported);
  EXPECT_EQ(prepared.error().message, "the compiler is gone\n  while preparing module \"first\"");
  EXPECT_THAT(journal, ElementsAre("root 1:0", "first 70:0", "second 70:0"));
}

TEST_F(Preparation, EndsWithACancelledTask) {
  first_kernels.result = GANTRY_CANCELLED;
  EXPECT_EQ(prepare({{kNpu, 0}}).error().code, Code::cancelled);
  EXPECT_THAT(journal, ElementsAre("root 1:0", "first 70:0"));

  journal.clear();
  is_cancelled = true;
  EXPECT_EQ(prepare({{kNpu, 0}}).error().message, "preparation is cancelled");
  EXPECT_TRUE(journal.empty());
}

TEST_F(Preparation, IsInTheTrace) {
  TraceRecorder trace;
  test::artifact_of(*root).trace = &trace;

  ASSERT_TRUE(prepare({{kCpu, 0}}).ok());

  ASSERT_EQ(trace.events().size(), 1u);
  EXPECT_EQ(trace.events()[0].name, "prepare");
}

TEST(UnboundModule, IsNotPrepared) {
  const Ref<ModuleNode> root = test::unbound_node("root", "no plugin");

  EXPECT_TRUE(prepare_modules(*root, {}, gantry_env{}, [] { return false; }).ok());
}

}  // namespace
}  // namespace gantry
