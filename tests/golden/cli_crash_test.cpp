// SPDX-License-Identifier: Apache-2.0
//
// Crashes and calls that do not return: one line names the plugin or artifact and the call.
#include "tests/golden/cli_command.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/manifest_builder.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/words.hpp"

#include <gantry/note.h>
#include <gantry/concat.hpp>

#include <sys/resource.h>

#include <gmock/gmock.h>

#include <csignal>

namespace gantry::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

// Code that does harm: a plugin, a library of C code, and graphs that call both.
class HarmfulCode : public ::testing::Test {
 protected:
  HarmfulCode() {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    add_plugin("harmful");
  }

  void SetUp() override {
    if constexpr (GANTRY_SANITIZER != GANTRY_SANITIZER_NONE)
      GTEST_SKIP() << "a sanitizer handles these signals itself";
  }

  // variant  [in]   of tests/fake_plugins; it is not probed
  void add_plugin(const std::string& variant) {
    const auto directory = temp / "plugins";
    std::filesystem::create_directories(directory);
    std::filesystem::copy_file(
        build_tree() / "tests/fake_plugins" / concat("libfake_", variant, ".so"),
        directory / "libfake.so", std::filesystem::copy_options::overwrite_existing);
    ManifestBuilder()
        .set("keys", R"([{key: fake, payload: ["text:str"]}])")
        .device("fake_device")
        .line("probe: never")
        .write_to(directory / "fake.yaml");
  }
  std::string write_container(const std::string& name, std::uint64_t count, const Words& entries) {
    const Words body = Words().u64(count).bytes(entries.bytes());
    const Words container = Words().u64(body.size()).bytes(body.bytes());
    write_file(temp / name, ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());
    return (temp / name).string();
  }
  // A file with a module of the plugin.
  std::string module() {
    return write_container("module.so", 2,
                           Words().str("fake").str("").str("_import_tree").u64s({0, 0}).u64s({}));
  }
  // A graph whose operator is a function of such a module.
  std::string graph(std::string_view function) {
    const std::string text =
        replaced(small_graph, R"("func_name":"add")", concat(R"("func_name":")", function, "\""));
    return write_container("graph.so", 3,
                           Words()
                               .str("GraphExecutorFactory")
                               .str(text)
                               .u64(0)
                               .u64(0)
                               .str("default")
                               .str("fake")
                               .str("")
                               .str("_import_tree")
                               .u64s({0, 1, 1})
                               .u64s({1}));
  }
  // A library of packed functions.
  std::string library(std::string_view source) {
    write_file(temp / "f.c", source);
    write_file(temp / "f.yaml", std::string_view("schema: \"1.0\"\nsources: [f.c]\n"));
    const std::string file = (temp / "code.so").string();
    const Outcome packed = run_gantry({"pack", (temp / "f.yaml").string(), "-o", file});
    EXPECT_EQ(packed.status, 0) << packed.err;
    return file;
  }
  Outcome gantry(std::vector<std::string> args) {
    args.insert(args.begin(), {"-q", "--plugins", (temp / "plugins").string(), "--plugins",
                               built_plugins("graph")});
    return run_gantry(args);
  }
  Outcome call(const std::string& file, const std::string& function,
               const std::vector<std::string>& more = {}) {
    std::vector<std::string> args{"run", file, "--function", function, "--force"};
    args.insert(args.end(), more.begin(), more.end());
    return gantry(args);
  }

  const TempDir temp;
};

struct Crash {
  const char* function;
  int signal;
  // a regular expression, after the colon
  const char* text;
  friend void PrintTo(const Crash& crash, std::ostream* out) { *out << crash.function; }
};

class HarmfulFunction : public HarmfulCode, public ::testing::WithParamInterface<Crash> {};

TEST_P(HarmfulFunction, IsNamedAndEndsTheProcessByItsSignal) {
  const Outcome run = call(module(), GetParam().function);

  EXPECT_EQ(run.status, 128 + GetParam().signal);
  EXPECT_THAT(run.err, MatchesRegex(concat("gantry: plugin test.fake 1.0.0 crashes in function \"",
                                           GetParam().function, "\": ", GetParam().text, "\n")));
}

const Crash crashes[] = {
    {"crash", SIGSEGV, "segmentation fault \\(SIGSEGV\\) at address 0x10"},
    {"overflow", SIGSEGV, "segmentation fault \\(SIGSEGV\\) at address 0x[0-9a-f]+"},
    {"unknown", SIGILL, "illegal instruction \\(SIGILL\\) at address 0x[0-9a-f]+"},
    {"divide", SIGFPE, "arithmetic error \\(SIGFPE\\).*"},
    {"lost_page", SIGBUS, "bus error \\(SIGBUS\\) at address 0x[0-9a-f]+"},
#if defined(__x86_64__)
    {"beyond", SIGBUS, "bus error \\(SIGBUS\\) at an address that the system does not report"},
#endif
    {"nothing", SIGSEGV, "segmentation fault \\(SIGSEGV\\) at address 0x0"},
    {"raise", SIGSEGV, "segmentation fault \\(SIGSEGV\\), sent by process [0-9]+"},
};

INSTANTIATE_TEST_SUITE_P(All, HarmfulFunction, ::testing::ValuesIn(crashes),
                         [](const auto& test) { return test.param.function; });

// The stack cannot be read.
TEST_F(HarmfulCode, IsReportedIfItSpoilsTheStack) {
  const Outcome run = call(module(), "spoil");

  EXPECT_EQ(run.status, 128 + SIGSEGV);
  EXPECT_THAT(run.err, MatchesRegex("gantry: plugin test.fake 1.0.0 crashes.*: segmentation fault "
                                    "\\(SIGSEGV\\) at address 0x10\n"));
}

TEST_F(HarmfulCode, IsNamedIfAGraphCallsIt) {
  const Outcome bench = gantry({"bench", graph("crash"), "--repeat", "1"});

  EXPECT_EQ(bench.status, 128 + SIGSEGV);
  EXPECT_EQ(
      bench.err,
      "gantry: plugin test.fake 1.0.0 crashes in run of plugin gantry.graph: segmentation fault "
      "(SIGSEGV) at address 0x10\n");
}

TEST_F(HarmfulCode, IsNamedWithTheFunctionOfThePlugin) {
  add_plugin("create_crashes");

  const Outcome run = call(module(), "crash");

  EXPECT_EQ(run.status, 128 + SIGSEGV);
  EXPECT_EQ(run.err,
            "gantry: plugin test.fake 1.0.0 crashes in create: segmentation fault (SIGSEGV) at "
            "address 0x10\n");
}

TEST_F(HarmfulCode, IsNamedByItsIdInAConstructor) {
  add_plugin("constructor_crashes");

  const Outcome run = call(module(), "crash");

  EXPECT_EQ(run.status, 128 + SIGSEGV);
  EXPECT_EQ(run.err,
            "gantry: plugin test.fake crashes in a constructor: segmentation fault (SIGSEGV) at "
            "address 0x10\n");
}

TEST_F(HarmfulCode, OfAnArtifactIsNamed) {
  const std::string file = library(
      "int crash(void** args, int* codes, int count) {\n"
      "  *(volatile int*)0x20 = 1;\n"
      "  return 0;\n"
      "}\n");

  const Outcome run = call(file, "crash");

  EXPECT_EQ(run.status, 128 + SIGSEGV);
  EXPECT_EQ(run.err,
            "gantry: the code of \"code.so\" crashes in function \"crash\": segmentation fault "
            "(SIGSEGV) at address 0x20\n");
}

TEST_F(HarmfulCode, OfAnArtifactIsNamedOnAThreadOfThePool) {
  const std::string file = library(
      "int TVMBackendParallelLaunch(int (*)(int, void*, void*), void*, int);\n"
      "static int task(int index, void* env, void* data) {\n"
      "  if (index != 0) *(volatile int*)0x20 = 1;\n"
      "  return 0;\n"
      "}\n"
      "int crash(void** args, int* codes, int count) {\n"
      "  return TVMBackendParallelLaunch(task, 0, 2);\n"
      "}\n");

  const Outcome run = call(file, "crash", {"--threads", "2"});

  EXPECT_EQ(run.status, 128 + SIGSEGV);
  EXPECT_EQ(run.err,
            "gantry: the code of \"code.so\" crashes in function \"crash\": segmentation fault "
            "(SIGSEGV) at address 0x20\n");
}

TEST_F(HarmfulCode, OfAnArtifactIsNamedInAConstructor) {
  const std::string file = library(
      "__attribute__((constructor)) static void begin(void) { *(volatile int*)0x20 = 1; }\n"
      "int f(void** args, int* codes, int count) { return 0; }\n");

  const Outcome run = call(file, "f");

  EXPECT_EQ(run.status, 128 + SIGSEGV);
  EXPECT_EQ(run.err,
            "gantry: the code of \"code.so\" crashes in a constructor: segmentation fault "
            "(SIGSEGV) at address 0x20\n");
}

TEST_F(HarmfulCode, ThatDoesNotReturnIsNamedAfterTheTimeLimit) {
  const Outcome run = call(module(), "hang", {"--timeout", "1"});

  EXPECT_EQ(run.status, 4);
  EXPECT_EQ(run.err,
            "gantry: plugin test.fake 1.0.0 has not returned from function \"hang\": --timeout 1 "
            "has passed 2 s ago\n");
}

TEST_F(HarmfulCode, ThatDoesNotReturnFromTheLoadIsNamedAfterTheTimeLimit) {
  add_plugin("create_hangs");

  const Outcome run = call(module(), "crash", {"--timeout", "1"});

  EXPECT_EQ(run.status, 4);
  EXPECT_EQ(run.err,
            "gantry: plugin test.fake 1.0.0 has not returned from create: --timeout 1 has passed "
            "2 s ago\n");
}

TEST_F(HarmfulCode, OfAnArtifactThatDoesNotReturnIsNamedAfterTheTimeLimit) {
  const std::string file = library(
      "int spin(void** args, int* codes, int count) {\n"
      "  for (volatile int i = 0;; ++i) {}\n"
      "}\n");

  const Outcome run = call(file, "spin", {"--timeout", "1"});

  EXPECT_EQ(run.status, 4);
  EXPECT_EQ(run.err,
            "gantry: the code of \"code.so\" has not returned from function \"spin\": --timeout 1 "
            "has passed 2 s ago\n");
}

TEST_F(HarmfulCode, ThatIsCancelledByTheTimeLimitReturnsItsError) {
  const Outcome run = call(module(), "wait", {"--timeout", "1"});

  EXPECT_EQ(run.status, 4);
  EXPECT_THAT(run.err, StartsWith("gantry: fake: cancelled\n"));
  EXPECT_THAT(run.err, HasSubstr("\n  --timeout 1 has passed\n"));
}

TEST_F(HarmfulCode, IsCancelledByTheTimeLimitInABenchmark) {
  const Outcome bench = gantry({"bench", graph("wait"), "--timeout", "1"});

  EXPECT_EQ(bench.status, 4);
  EXPECT_THAT(bench.err, HasSubstr("fake: cancelled\n"));
  EXPECT_THAT(bench.err, HasSubstr("\n  --timeout 1 has passed\n"));
}

TEST(TimeLimit, CancelsTheNextRunOfAModel) {
  const Outcome run = run_gantry(
      {"--plugins", built_plugins("graph"), "-q", "run", "tvm-0.12/digits_mlp_c.so", "--input",
       "tvm-0.12/digits_mlp.input.npz", "--each", "--repeat", "1000000000", "--timeout", "1"});

  EXPECT_EQ(run.status, 4);
  EXPECT_THAT(run.err, HasSubstr("the deadline of the task has passed\n"));
  EXPECT_THAT(run.err, EndsWith("  --timeout 1 has passed\n"
                                "  while running \"tvm-0.12/digits_mlp_c.so\"\n"));
}

TEST(TimeLimit, DoesNotChangeARunThatEndsInTime) {
  const Outcome run =
      run_gantry({"--plugins", built_plugins("graph"), "run", "tvm-0.12/digits_mlp_c.so", "--input",
                  "tvm-0.12/digits_mlp.input.npz", "--each", "--expect",
                  "tvm-0.12/digits_mlp_c.expected.npz", "--timeout", "100"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("equal to tvm-0.12/digits_mlp_c.expected.npz"));
}

}  // namespace
}  // namespace gantry::test
