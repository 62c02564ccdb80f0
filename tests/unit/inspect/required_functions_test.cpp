// SPDX-License-Identifier: Apache-2.0
#include "core/formats/inspect/required_functions.hpp"

#include "tests/support/files.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

// The names that a golden file looks up, with what has them; "?" for others than its own.
std::vector<std::pair<std::string, std::string>> looked_up(std::string_view file,
                                                           const ServedBy& offered_by) {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  const auto report =
      inspect_file(test::golden(file).string(),
                   {.find_layouts = []() -> Result<const PayloadLayouts*> { return &layouts; },
                    .served_by = [](std::string_view) { return std::nullopt; },
                    .offered_by = offered_by});
  std::vector<std::pair<std::string, std::string>> all;
  for (const RequiredFunction& each : required_functions(report.value(), offered_by))
    all.emplace_back(each.name, each.served_by);
  return all;
}

std::optional<std::string> nothing(std::string_view) { return std::nullopt; }

TEST(RequiredFunctions, OfCpuCodeAreThoseOfItsCells) {
  EXPECT_THAT(looked_up("tvm-0.12/axpy2_opencl.so", nothing),
              ElementsAre(Pair("__tvm_set_device", ""), Pair("axpy2_kernel0", "artifact")));
}

TEST(RequiredFunctions, ThatNothingHasComeFirst) {
  const auto all = looked_up("relax/cnn_opencl.so", [](std::string_view name) {
    return name == "vm.builtin.reshape" ? std::nullopt : std::optional<std::string>("someone");
  });

  ASSERT_FALSE(all.empty());
  EXPECT_THAT(all.front(), Pair("vm.builtin.reshape", ""));
  EXPECT_THAT(all, Contains(Pair("vm.builtin.alloc_tensor", "someone")));
  EXPECT_THAT(all, Contains(Pair("fused_conv2d_add_relu", "artifact")));
  EXPECT_THAT(all, Contains(Pair("softmax_kernel", "artifact")));
}

TEST(RequiredFunctions, OfARelayExecutableAreItsPrimitives) {
  EXPECT_THAT(looked_up("tvm-0.12/digits_mlp_vm_llvm.so", nothing),
              Contains(Pair(::testing::StartsWith("vm_mod_fused_"), "artifact")));
}

TEST(RequiredFunctions, OfASubgraphAreInTheFile) {
  for (const auto& [name, server] : looked_up("tvm-0.12/digits_mlp_dnnl.so", nothing))
    EXPECT_NE(server, "") << name;
}

// C code keeps no names in its symbols.
TEST(RequiredFunctions, OfOtherCompilersAreNotKnown) {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  const InspectOptions options{
      .find_layouts = []() -> Result<const PayloadLayouts*> { return &layouts; },
      .served_by = nothing,
      .offered_by = nothing};
  const auto from_c = inspect_file(test::golden("tvm-0.12/axpy2_c.so").string(), options);
  const auto from_llvm = inspect_file(test::golden("tvm-0.12/axpy2_opencl.so").string(), options);

  EXPECT_TRUE(has_unknown_look_ups(from_c.value()));
  EXPECT_FALSE(has_unknown_look_ups(from_llvm.value()));
}

}  // namespace
}  // namespace gantry
