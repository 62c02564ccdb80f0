// SPDX-License-Identifier: Apache-2.0
//
// Signals that end the program: no process and no temporary file remains.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"

#include <gantry/concat.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>

namespace gantry::test {
namespace {

using ::testing::IsEmpty;

std::vector<std::string> files_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

struct Ending {
  int number;
  std::string error;
  friend void PrintTo(const Ending& ending, std::ostream* out) { *out << ending.number; }
};

// A compiler that sends a signal to gantry, its parent, starts another program, and never ends.
class EndedPack : public ::testing::TestWithParam<Ending> {
 protected:
  EndedPack() {
    std::filesystem::create_directory(temp / "out");
    write_file(temp / "f.c", "int f(void) { return 0; }\n");
    write_file(temp / "f.yaml", "schema: \"1.0\"\nsources: [f.c]\n");
    write_file(temp / "cc",
               concat("#!/bin/sh\ntouch ", (temp / "out").native(),
                      "/.f.so.*/unfinished\nsleep 300 & echo $! $$ > ", (temp / "pids").native(),
                      "\nkill -", GetParam().number, " $PPID\nwait\n"));
    std::filesystem::permissions(temp / "cc", std::filesystem::perms::owner_all);
  }
  Outcome pack() {
    return run_gantry({"pack", (temp / "f.yaml").native(), "-o", (temp / "out/f.so").native()},
                      {"CC=" + (temp / "cc").native()});
  }

  const TempDir temp;
};

TEST_P(EndedPack, EndsTheCompilerAndRemovesItsFiles) {
  const Outcome outcome = pack();

  EXPECT_EQ(outcome.status, 128 + GetParam().number);
  EXPECT_EQ(outcome.err, GetParam().error);
  EXPECT_THAT(files_in(temp / "out"), IsEmpty());
  std::ifstream pids(temp / "pids");
  pid_t child = 0, compiler = 0;
  pids >> child >> compiler;
  ASSERT_GT(child, 0);
  // The child of the compiler is a zombie until the system's first process waits for it.
  for (int i = 0; i < 100 && kill(child, 0) == 0; ++i) usleep(10'000);
  std::ifstream stat(concat("/proc/", child, "/stat"));
  const std::string line(std::istreambuf_iterator<char>(stat), {});
  EXPECT_TRUE(line.empty() || line.find(") Z ") != std::string::npos) << line;
  EXPECT_NE(kill(compiler, 0), 0);
}

// The same while an object is linked.
class EndedLink : public EndedPack {};

TEST_P(EndedLink, LeavesNothingInTheCache) {
  // in the directory of the link
  write_file(temp / "cc",
             concat("#!/bin/sh\nmkdir -p include/unfinished && touch library.so\nkill -",
                    GetParam().number, " $PPID\nsleep 300\n"));

  const Outcome outcome =
      run_gantry({"run", "relax/tir_syslib_llvm.o", "--function", "axpy"},
                 {"CC=" + (temp / "cc").native(), "XDG_CACHE_HOME=" + (temp / "cache").native()});

  EXPECT_EQ(outcome.status, 128 + GetParam().number);
  EXPECT_EQ(outcome.err, GetParam().error);
  ASSERT_TRUE(std::filesystem::exists(temp / "cache/gantry/linked"));
  EXPECT_THAT(files_in(temp / "cache/gantry/linked"), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Signals, EndedLink,
                         ::testing::Values(Ending{SIGINT, "gantry: interrupted (SIGINT)\n"},
                                           Ending{SIGTERM, "gantry: terminated (SIGTERM)\n"}),
                         [](const auto& test) { return concat("Number", test.param.number); });

INSTANTIATE_TEST_SUITE_P(
    Signals, EndedPack,
    ::testing::Values(Ending{SIGINT, "gantry: interrupted (SIGINT)\n"},
                      Ending{SIGTERM, "gantry: terminated (SIGTERM)\n"},
                      Ending{SIGHUP, "gantry: terminal closed (SIGHUP)\n"},
                      Ending{SIGALRM, "gantry: alarm clock (SIGALRM)\n"}, Ending{SIGPIPE, ""},
                      Ending{SIGXCPU,
                             "gantry: the CPU time exceeds the limit of this process (SIGXCPU); "
                             "see ulimit -t\n"},
                      Ending{SIGXFSZ,
                             "gantry: a file exceeds the limit of this process (SIGXFSZ); "
                             "see ulimit -f\n"}),
    [](const auto& test) { return concat("Signal", test.param.number); });

// nohup, and background commands of a shell, start programs with ignored signals.
TEST(IgnoredSignal, DoesNotEndTheProgram) {
  const TempDir temp;
  write_file(temp / "f.c", "int f(void) { return 0; }\n");
  write_file(temp / "f.yaml", "schema: \"1.0\"\nsources: [f.c]\n");
  write_file(temp / "cc", "#!/bin/sh\nkill -HUP $PPID\nexec /usr/bin/cc \"$@\"\n");
  std::filesystem::permissions(temp / "cc", std::filesystem::perms::owner_all);
  const auto before = std::signal(SIGHUP, SIG_IGN);

  const Outcome outcome =
      run_gantry({"pack", (temp / "f.yaml").native(), "-o", (temp / "f.so").native()},
                 {"CC=" + (temp / "cc").native()});

  std::signal(SIGHUP, before);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST(FileSizeLimit, RemovesAnUnfinishedOutput) {
  const TempDir temp;
  std::filesystem::create_directory(temp / "out");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  // More than the error text, less than the output.
  const rlimit small{200, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);

  const Outcome outcome =
      run_gantry({"run", "tvm-0.12/axpy2_llvm.so", "--function", "axpy2", "--arg",
                  "zeros:float32[37]", "--arg", "zeros:float32[37]", "--arg", "zeros:float32[37]",
                  "--output", (temp / "out/y.npz").native(), "--quiet"});

  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(outcome.status, 128 + SIGXFSZ);
  EXPECT_EQ(outcome.err,
            "gantry: a file exceeds the limit of this process (SIGXFSZ); see ulimit -f\n");
  EXPECT_THAT(files_in(temp / "out"), IsEmpty());
}

}  // namespace
}  // namespace gantry::test
