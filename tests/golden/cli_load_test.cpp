// SPDX-License-Identifier: Apache-2.0
//
// `gantry run` of files that are not shared libraries.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"
#include "tests/support/three_files.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace gantry::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class RunKind : public ::testing::Test {
 protected:
  std::string path(std::string_view name) const { return (temp_ / name).native(); }
  Outcome run(const std::vector<std::string>& args,
              const std::vector<std::string>& more = {}) const {
    // The first of several values counts.
    std::vector<std::string> environment = more;
    environment.push_back("XDG_CACHE_HOME=" + path("cache"));
    return run_gantry(args, environment);
  }
  static void shell(const std::string& command) {
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  // Unpacks a model library archive.
  void unpack(std::string_view archive) const {
    shell("tar -xf '" + golden(archive).native() + "' -C '" + path(".") + "'");
  }
  std::size_t linked() const {
    std::error_code none;
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(path("cache/gantry/linked"), none), {}));
  }

  TempDir temp_;
};

TEST_F(RunKind, PlaysTheCallsOfASystemLibrarysObject) {
  const std::vector<std::string> play = {"run", "relax/tir_syslib_llvm.o", "--script",
                                         "relax/tir_multi_llvm.json"};

  for (const char* const attempt : {"linked", "from the cache"}) {
    const Outcome played = run(play);
    EXPECT_EQ(played.status, 0) << attempt << played.err;
    EXPECT_EQ(played.out, "28 calls, 0 differences\n") << attempt;
    EXPECT_EQ(linked(), 1u);
  }
}

TEST_F(RunKind, PlaysTheCallsOfAnArArchive) {
  shell("ar rc '" + path("lib.a") + "' '" + golden("relax/tir_syslib_llvm.o").native() + "'");

  const Outcome played = run({"run", path("lib.a"), "--script", "relax/tir_multi_llvm.json"});

  EXPECT_EQ(played.out, "28 calls, 0 differences\n") << played.err;
}

TEST_F(RunKind, PlaysTheCallsOfATarOfObjects) {
  shell("tar -cf '" + path("lib.tar") + "' -C '" + golden("relax").native() +
        "' tir_syslib_llvm.o");

  const Outcome played = run({"run", path("lib.tar"), "--script", "relax/tir_multi_llvm.json"});

  EXPECT_EQ(played.out, "28 calls, 0 differences\n") << played.err;
}

// export_library("lib.tar") compresses it, tar -tf lists it nevertheless.
TEST_F(RunKind, PlaysTheCallsOfATarThatGzipHasCompressed) {
  shell("tar -czf '" + path("lib.tar") + "' -C '" + golden("relax").native() +
        "' tir_syslib_llvm.o");

  const Outcome played = run({"run", path("lib.tar"), "--script", "relax/tir_multi_llvm.json"});
  const Outcome inspected = run({"inspect", "--json", path("lib.tar")});

  EXPECT_EQ(played.out, "28 calls, 0 differences\n") << played.err;
  EXPECT_THAT(inspected.out, HasSubstr("\"format\": \"tar\""));
  EXPECT_THAT(inspected.out, HasSubstr("\"name\": \"tir_syslib_llvm.o\""));
}

TEST_F(RunKind, NamesOtherCompressionsOfATar) {
  write_file(temp_ / "lib.tar", std::string("\x28\xb5\x2f\xfd") + std::string(600, 'x'));

  const Outcome called = run({"run", path("lib.tar"), "--function", "axpy"});

  EXPECT_EQ(called.status, 1);
  EXPECT_THAT(called.err,
              HasSubstr("is a zstd file (decompress it (unzstd) and use the file in it)"));
}

// As TVM's export_library() writes it: lib0.c and the container in devc.c.
TEST_F(RunKind, CallsATarOfSources) {
  write_file(temp_ / "lib0.c",
             "// tvm target: c -keys=cpu\n#define TVM_EXPORTS\n"
             "#include \"tvm/runtime/c_runtime_api.h\"\n#include \"tvm/runtime/c_backend_api.h\"\n"
             "#include <math.h>\n#include <stdbool.h>\nvoid* __tvm_module_ctx = NULL;\n"
             "#ifdef __cplusplus\nextern \"C\"\n#endif\n"
             "TVM_DLL int32_t twice(void* args, int32_t* arg_type_ids, int32_t num_args, void* "
             "out_ret_value, int32_t* out_ret_tcode, void* resource_handle) {\n"
             "  float* x = (float*)(((DLTensor*)(((TVMValue*)args)[0].v_handle))[0].data);\n"
             "  void* scratch = TVMBackendAllocWorkspace(1, 0, 16, 2, 32);\n"
             "  if (scratch == NULL) return -1;\n"
             "  ((float*)scratch)[0] = fabsf(x[0]) * 2;\n  x[0] = ((float*)scratch)[0] + 1;\n"
             "  return TVMBackendFreeWorkspace(1, 0, scratch);\n}\n");
  shell("tar -cf '" + path("model.tar") + "' -C '" + path(".") + "' lib0.c");

  const Outcome called = run({"run", path("model.tar"), "--function", "twice", "--arg",
                              "zeros:float32[1]", "--output", path("out.npz")});

  EXPECT_EQ(called.status, 0) << called.err;
  const auto bytes = read_file(temp_ / "out.npz");
  const float one = 1;
  const auto* const raw = reinterpret_cast<const std::uint8_t*>(&one);
  EXPECT_NE(std::search(bytes.begin(), bytes.end(), raw, raw + sizeof one), bytes.end());
}

TEST_F(RunKind, LinksTheSourceOfAModelLibraryArchive) {
  unpack("tvm-0.12/digits_cpp_graph_c.tar");
  shell("tar -cf '" + path("model.tar") + "' -C '" + path("codegen/host/src") + "' .");

  const Outcome called = run({"run", path("model.tar"), "--function", "absent"});

  EXPECT_EQ(called.status, 1);
  EXPECT_THAT(called.err, HasSubstr("entry 0 \"_lib\" of model.tar has "
                                    "\"tvmgen_digits_fused_nn_contrib_dense_pack_add"));
}

TEST_F(RunKind, ShowsWhatTheCompilerReports) {
  write_file(temp_ / "lib0.c", "#include \"absent.h\"\n");
  shell("tar -cf '" + path("model.tar") + "' -C '" + path(".") + "' lib0.c");

  const Outcome called = run({"run", path("model.tar"), "--function", "f"});

  EXPECT_EQ(called.status, 1);
  EXPECT_THAT(called.err, HasSubstr("exits with status 1, expected 0\n"
                                    "  0_lib0.c:1:10: fatal error: absent.h"));
  EXPECT_EQ(linked(), 0u);
}

TEST_F(RunKind, NeedsACompilerInPath) {
  const Outcome called =
      run({"run", "relax/tir_syslib_llvm.o", "--function", "axpy"}, {"PATH=/nowhere"});

  EXPECT_EQ(called.status, 1);
  EXPECT_EQ(called.out, "");
  EXPECT_THAT(
      called.err,
      ::testing::StartsWith(
          "gantry: \"tir_syslib_llvm.o\" must be linked, and there is no compiler \"cc\" in "
          "\"/nowhere\" (PATH); install one (apt install gcc), name one in the variable CC, "
          "or link it where there is one, cc -shared -o model.so tir_syslib_llvm.o, and load "
          "the library\n"));
}

TEST_F(RunKind, StartsNoCompilerInASecureProcess) {
  const Outcome called =
      run({"run", "relax/tir_syslib_llvm.o", "--function", "axpy"}, {"GANTRY_SECURE=1"});

  EXPECT_EQ(called.status, 1);
  EXPECT_THAT(called.err, HasSubstr("this secure process starts no compiler"));
}

TEST_F(RunKind, LinksWithoutACache) {
  write_file(temp_ / "runtime.yaml", "cache: none\n");

  const Outcome played = run({"--config", path("runtime.yaml"), "run", "relax/tir_syslib_llvm.o",
                              "--script", "relax/tir_multi_llvm.json"},
                             {"TMPDIR=" + path(".")});

  EXPECT_EQ(played.out, "28 calls, 0 differences\n") << played.err;
  EXPECT_FALSE(fs::exists(path("cache")));
  for (const auto& entry : fs::directory_iterator(path(".")))
    EXPECT_EQ(entry.path().filename(), "runtime.yaml");
}

class RunGraph : public RunKind {
 protected:
  RunGraph() { write_three_files(temp_.path()); }
  // Runs the digits and compares them with TVM's results.
  Outcome run_digits(std::vector<std::string> model) const {
    for (const char* word : {"--each", "--input", "tvm-0.12/digits_mlp.input.npz", "--expect",
                             "tvm-0.12/digits_mlp_llvm.expected.npz", "--rtol", "1e-6"})
      model.emplace_back(word);
    model.insert(model.begin(), {"--plugins", built_plugins("graph"), "run"});
    return run(model);
  }
};

TEST_F(RunGraph, HasThePartsOfThreeFiles) {
  const Outcome ran = run_digits(
      {path("deploy.so"), "--graph", path("deploy.json"), "--params", path("deploy.params")});

  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("within tolerance of"));
}

TEST_F(RunGraph, IsFoundByItsParameters) {
  const Outcome ran = run_digits({path("deploy.params")});

  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("within tolerance of"));
}

TEST_F(RunGraph, IsNeededByItsParameters) {
  const Outcome ran = run({"run", path("deploy.so"), "--params", path("deploy.params")});

  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("--params requires --graph"));
}

TEST_F(RunGraph, IsNoOutput) {
  const Outcome ran = run(
      {"run", path("deploy.so"), "--graph", path("deploy.json"), "--output", path("deploy.json")});

  EXPECT_NE(ran.status, 0);
  EXPECT_TRUE(fs::file_size(path("deploy.json")) > 1000);
}

}  // namespace
}  // namespace gantry::test
