// SPDX-License-Identifier: Apache-2.0
//
// What `gantry inspect` prints about executables of virtual machines.
#include "tests/golden/cli_command.hpp"
#include "tests/support/aligned_bytes.hpp"
#include "tests/support/files.hpp"
#include "tests/support/relax_assembler.hpp"
#include "tests/unit/runtime/linked_release.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>

namespace gantry::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Outcome with_relax(std::vector<std::string> args) {
  args.insert(args.begin(), {"--plugins", built_plugins("relax")});
  return run_gantry(args);
}

// The lines of a text from one that begins with `first` on, up to an empty one.
std::vector<std::string> lines_from(const std::string& text, std::string_view first) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!lines.empty() && line.empty()) break;
    if (!lines.empty() || line.starts_with(first)) lines.push_back(line);
  }
  return lines;
}

TEST(InspectVm, ListsFunctionsWithAnnotationsAndThenWhatTheyCall) {
  const Outcome inspect = with_relax({"inspect", "relax/cnn_dyn_llvm.so"});

  EXPECT_EQ(inspect.status, 0) << inspect.err;
  EXPECT_THAT(
      lines_from(inspect.out, "[0] relax.VMExecutable"),
      ElementsAre(
          "[0] relax.VMExecutable", "  version  0.14", "  functions (1)",
          "    main(x)  79 instructions",
          "      x        R.Tensor((n, 1, 8, 8), dtype=\"float32\")",
          "      returns  R.Tensor((n, 10), dtype=\"float32\")", "  calls (20)",
          "    vm.builtin.alloc_shape_heap, vm.builtin.check_tensor_info, vm.builtin.match_shape, "
          "shape_func,",
          "    vm.builtin.make_shape, vm.builtin.alloc_storage, vm.builtin.alloc_tensor, conv2d,",
          "    vm.builtin.null_value, add, relu, max_pool2d, conv2d1, add1, relu1, max_pool2d1,",
          "    vm.builtin.reshape, matmul, add2, softmax",
          "  constants  11, with 6 arrays of 7.4 KiB"));
}

// Extents that are known at run time are texts.
TEST(InspectVm, BeginsWithInputsAndOutputsOfRelax) {
  const Outcome text = with_relax({"inspect", "relax/cnn_dyn_llvm.so"});
  const Outcome parsed = with_relax({"inspect", "relax/cnn_dyn_llvm.so", "--json"});

  EXPECT_THAT(text.out, StartsWith("relax/cnn_dyn_llvm.so\n"
                                   "  input       x  float32[n, 1, 8, 8]  of main\n"
                                   "  output      output  float32[n, 10]  of main\n"
                                   "  format"));
  EXPECT_THAT(parsed.out,
              ::testing::MatchesRegex("\\{\n *\"file\": [^\n]*\n *\"inputs\": (.|\n)*"));
  const json document = json::parse(parsed.out);
  EXPECT_EQ(document["inputs"], json::parse(R"([{"module": 0, "function": "main", "name": "x",
      "dtype": "float32", "shape": ["n", 1, 8, 8], "type": "float32[n, 1, 8, 8]",
      "device": null}])"));
  EXPECT_EQ(document["outputs"], json::parse(R"([{"module": 0, "function": "main", "name": "output",
      "dtype": "float32", "shape": ["n", 10], "type": "float32[n, 10]", "device": null}])"));
}

// Two constants, one of them with a filler.
TEST(InspectVm, CountsConstantsWithoutFillers) {
  const LinkedRelease& release = linked_releases[6];
  RelaxAssembler code(release.relax);
  const auto copy = code.packed("vm.builtin.copy");
  code.function("main", {}, 1);
  code.text("odd");
  code.call(0, copy, {code.floats({2}, {1, 2})});
  code.ret(0);
  RelaxPayload payload = code.payload();
  const auto bytes = aligned("relax.VMExecutable", payload.bytes.bytes(), Numbering::ffi);
  ASSERT_TRUE(bytes.ok());
  payload.bytes = Words().bytes(*bytes);
  const std::string file =
      link_release(release, "relax.c", relax_container(release, payload).bytes());

  const Outcome brief = with_relax({"inspect", file});
  const Outcome listed = with_relax({"inspect", file, "--code"});
  const Outcome parsed = with_relax({"inspect", file, "--json"});

  EXPECT_THAT(brief.out, HasSubstr("\n  constants  2, with 1 array of 8 B\n")) << brief.err;
  EXPECT_THAT(brief.out, Not(HasSubstr("filler")));
  EXPECT_THAT(lines_from(listed.out, "  constants (3)"),
              ::testing::Contains(
                  ::testing::MatchesRegex("    c\\[1\\]  uint8\\[[0-9]+\\], [0-9]+ B, filler")));
  EXPECT_THAT(listed.out, HasSubstr("    c[2]  float32[2], 8 B\n"));
  EXPECT_EQ(json::parse(parsed.out)["modules"][0]["details"]["fillers"], json({1}));
}

TEST(InspectVm, ListsCompiledFunctions) {
  const Outcome inspect = with_relax({"inspect", "relax/control_flow_compiled_llvm.so"});

  const auto lines = lines_from(inspect.out, "  functions (6)");
  ASSERT_GE(lines.size(), 4u);
  EXPECT_EQ(lines[1], "    branch(c, x)  compiled");
  EXPECT_EQ(lines[2], "      c  R.Tensor((), dtype=\"bool\")");
  EXPECT_EQ(lines[3], "      x  R.Tensor((4,), dtype=\"float32\")");
}

TEST(InspectVm, PrintsConstantsAndOneLineForEachInstruction) {
  const Outcome inspect = with_relax({"inspect", "relax/tuples_llvm.so", "--code"});

  EXPECT_EQ(inspect.status, 0) << inspect.err;
  const auto lines = lines_from(inspect.out, "  constants (");
  ASSERT_GT(lines.size(), 3u);
  EXPECT_EQ(lines[1], "    c[0]  float32");
  EXPECT_EQ(lines[2],
            "    c[1]  ErrorContext(fn=const_ret, loc=param[0], param=x, "
            "annotation=R.Tensor((1,),");
  EXPECT_EQ(lines[3], "        dtype=\"float32\")) ");
  const auto code = lines_from(inspect.out, "    @dup:");
  ASSERT_GT(code.size(), 4u);
  EXPECT_THAT(code[1], StartsWith("      call  vm.builtin.check_tensor_info in: %0, i1, c[0], "));
  EXPECT_THAT(inspect.out, Not(HasSubstr("packed_func")));
}

TEST(InspectVm, PrintsTheCodeOfABareContainer) {
  const TempDir directory;
  RelaxAssembler code;
  const auto tuple = code.packed("vm.builtin.make_tuple");
  code.function("main", {"x"}, 2);
  code.call(1, tuple, {relax_register(0)});
  code.ret(1);
  write_file(directory / "model.bin", bare_executable(code).bytes());

  const Outcome inspect = with_relax({"inspect", (directory / "model.bin").string(), "--code"});

  EXPECT_EQ(inspect.status, 0) << inspect.err;
  EXPECT_THAT(
      inspect.out,
      HasSubstr("    @main:\n      call  vm.builtin.make_tuple in: %0           dst: %1\n"));
}

TEST(InspectVm, HasTheCodeInJson) {
  const Outcome inspect = with_relax({"inspect", "relax/cnn_dyn_llvm.so", "--code", "--json"});
  const Outcome without = with_relax({"inspect", "relax/cnn_dyn_llvm.so", "--json"});

  ASSERT_EQ(inspect.status, 0) << inspect.err;
  const json module = json::parse(inspect.out)["modules"][0];
  const json main = module["details"]["functions"]["main"];
  EXPECT_EQ(main["annotations"], json({{"x", "R.Tensor((n, 1, 8, 8), dtype=\"float32\")"}}));
  EXPECT_EQ(main["returns"], "R.Tensor((n, 10), dtype=\"float32\")");
  ASSERT_EQ(module["code"].size(), 1 + main["end"].get<std::size_t>() + 20);
  EXPECT_EQ(module["code"][0], "@main:");
  EXPECT_EQ(module["code"][79], "  ret   %43");
  EXPECT_FALSE(json::parse(without.out)["modules"][0].contains("code"));
}

TEST(InspectVm, PrintsAtMost100Columns) {
  for (const auto& entry : std::filesystem::directory_iterator(golden("relax"))) {
    if (entry.path().extension() != ".so") continue;
    const std::string file = "relax/" + entry.path().filename().string();
    for (const std::vector<std::string>& args :
         {std::vector<std::string>{"inspect", file}, {"inspect", file, "--code"}}) {
      std::istringstream lines(with_relax(args).out);
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 100u) << file << ' ' << line;
      }
    }
  }
}

TEST(InspectVm, RequiresAPluginForTheCode) {
  const Outcome none = run_gantry({"inspect", "relax/cnn_llvm.so", "--code"});

  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.out, IsEmpty());
  EXPECT_THAT(none.err, HasSubstr("relax.VMExecutable"));
  EXPECT_THAT(none.err, HasSubstr("while reading the code of entry 0 \"relax.VMExecutable\" of "
                                  "cnn_llvm.so"));
}

TEST(InspectVm, RefusesCodeOfAFileWithoutOne) {
  const Outcome none = with_relax({"inspect", "tvm-0.12/digits_mlp_c.so", "--code"});

  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("is a shared library without code of a virtual machine, so that "
                                  "--code has no effect"));
}

// ---- Relay

Outcome with_relay(std::vector<std::string> args) {
  args.insert(args.begin(), {"--plugins", built_plugins("relay_vm")});
  return run_gantry(args);
}

// The code states no types, and no outputs.
TEST(InspectRelay, BeginsWithInputs) {
  const Outcome text = with_relay({"inspect", "tvm-0.12/digits_mlp_vm_llvm.so"});
  const Outcome parsed = with_relay({"inspect", "tvm-0.12/digits_mlp_vm_llvm.so", "--json"});

  EXPECT_THAT(text.out, StartsWith("tvm-0.12/digits_mlp_vm_llvm.so\n"
                                   "  input       x  of main\n"
                                   "  format"));
  const json document = json::parse(parsed.out);
  EXPECT_EQ(document["inputs"], json::parse(R"([{"module": 0, "function": "main", "name": "x",
      "dtype": null, "shape": null, "type": null, "device": null}])"));
  EXPECT_THAT(document["outputs"], IsEmpty());
}

TEST(InspectRelay, ListsFunctionsAndWhatTheyCall) {
  const Outcome inspect = with_relay({"inspect", "tvm-0.12/digits_mlp_vm_llvm.so"});

  EXPECT_EQ(inspect.status, 0) << inspect.err;
  EXPECT_THAT(inspect.out, HasSubstr("0  VMExecutable    0x24  29725  gantry.relay-vm"));
  EXPECT_THAT(
      lines_from(inspect.out, "[0] VMExecutable"),
      ElementsAre("[0] VMExecutable", "  version  0.12.0", "  devices  [1:0]", "  host_device  0",
                  "  globals  [main]", "  constants  14, with 14 arrays of 25.7 KiB", "  calls (4)",
                  "    vm_mod_fused_nn_contrib_dense_pack_add_nn_relu,",
                  "    vm_mod_fused_nn_contrib_dense_pack_add_nn_relu_1, "
                  "vm_mod_fused_nn_contrib_dense_pack_add,",
                  "    vm_mod_fused_nn_softmax", "  functions (1)",
                  "    main(x)  35 instructions"));
}

TEST(InspectRelay, PrintsConstantsAndOneLineForEachInstruction) {
  const Outcome inspect = with_relay({"inspect", "tvm-0.12/digits_mlp_vm_llvm.so", "--code"});
  const Outcome parsed =
      with_relay({"inspect", "tvm-0.12/digits_mlp_vm_llvm.so", "--code", "--json"});

  EXPECT_EQ(inspect.status, 0) << inspect.err;
  EXPECT_THAT(inspect.out, HasSubstr("\n    c[2]  float32[8, 64, 8], 16.0 KiB\n"));
  const auto code = lines_from(inspect.out, "    @main(x):  23 registers");
  ASSERT_GT(code.size(), 35u);
  EXPECT_EQ(code[1], "         0  load_const        $1 = c[0]");
  EXPECT_EQ(code[4], "         3  alloc_tensor      $4 = float32[1, 64] in $2 at $3");
  EXPECT_EQ(code.back(), "        34  ret               $22");
  const json module = json::parse(parsed.out)["modules"][0];
  ASSERT_EQ(module["code"].size(), 36u);
  EXPECT_EQ(module["code"][35], "    34  ret               $22");
  EXPECT_EQ(module["details"]["functions"]["main"]["instructions"], 35);
}

}  // namespace
}  // namespace gantry::test
