// SPDX-License-Identifier: Apache-2.0
#include "core/base/toolchain/link.hpp"
#include "core/base/process.hpp"
#include "core/base/temp_directory.hpp"
#include "core/formats/elf/elf_machine.hpp"
#include "tests/support/files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace gantry {
namespace {

using test::TempDir;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A shell script replaces a program.
std::vector<std::string> shell(std::string script) { return {"sh", "-c", std::move(script)}; }

TEST(Program, RunsInItsDirectoryWithEmptyInput) {
  const TempDir directory;
  const Result<ProgramEnd> end =
      run_program(shell("pwd; cat; echo said >&2"), directory.path(), 1000);

  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end->exit_status, 0);
  EXPECT_EQ(end->output, std::filesystem::canonical(directory.path()).native() + "\nsaid\n");
}

TEST(Program, PassesWordsWithoutAShell) {
  const TempDir directory;
  // of an earlier call
  errno = EINTR;
  const Result<ProgramEnd> end =
      run_program({"/bin/echo", "$HOME", "a b; c"}, directory.path(), 1000);

  EXPECT_EQ(end.value().output, "$HOME a b; c\n");
}

TEST(Program, KeepsTheBeginningOfALongOutputAndDoesNotHang) {
  const TempDir directory;
  const Result<ProgramEnd> end =
      run_program(shell("i=0; while [ $i -lt 3000 ]; do echo "
                        "0123456789012345678901234567890123456789; i=$((i+1)); done"),
                  directory.path(), 100);

  EXPECT_EQ(end.value().output.size(), 100u);
  EXPECT_EQ(end.value().dropped_bytes, 3000u * 41 - 100);
}

TEST(Program, IsStartedByItsPath) {
  const Result<ProgramEnd> end = run_program(shell("echo $0"), ".", 1000);

  EXPECT_THAT(end.value().output, StartsWith("/"));
  EXPECT_THAT(end.value().output, ::testing::EndsWith("/sh\n"));
}

TEST(Program, DoesNotDelaySignalsOfItsCaller) {
  static TempDir directory;
  const auto before = std::signal(SIGUSR1, [](int) {
    ::close(::open((directory / "handled").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  });

  const Result<ProgramEnd> end =
      run_program(shell("kill -USR1 $PPID; i=0; while [ ! -e handled ]; do i=$((i+1)); "
                        "[ $i = 200 ] && exit 1; sleep 0.01; done"),
                  directory.path(), 1000);

  std::signal(SIGUSR1, before);
  EXPECT_EQ(end.value().exit_status, 0);
}

TEST(Program, InheritsTheSignalMaskOfItsCaller) {
  sigset_t one, before;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR2);
  pthread_sigmask(SIG_SETMASK, &one, &before);

  const Result<ProgramEnd> end = run_program({"grep", "SigBlk", "/proc/self/status"}, ".", 100);

  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(end.value().output, "SigBlk:\t0000000000000800\n");
}

// For example a server of a compiler cache.
TEST(Program, MayLeaveAnotherProgramBehind) {
  const TempDir directory;

  const Result<ProgramEnd> end =
      run_program(shell("(sleep 0.02; touch done) > /dev/null 2>&1 &"), directory.path(), 100);

  ASSERT_TRUE(end.ok());
  for (int i = 0; i < 500 && !std::filesystem::exists(directory / "done"); ++i) ::usleep(10'000);
  EXPECT_TRUE(std::filesystem::exists(directory / "done"));
}

TEST(Program, MustHaveAFormatOfTheSystem) {
  const TempDir directory;
  const std::filesystem::path text = directory / "text";
  test::write_file(text, "no program");
  std::filesystem::permissions(text, std::filesystem::perms::owner_all);

  const Result<ProgramEnd> end = run_program({text.native()}, ".", 100);

  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().native_code, ENOEXEC);
  EXPECT_EQ(end.error().message,
            concat("program \"", text.native(), "\" cannot be started: Exec format error"));
}

TEST(Program, DistinguishesStatusAndSignal) {
  const TempDir directory;
  EXPECT_EQ(run_program(shell("exit 3"), directory.path(), 10).value().exit_status, 3);
  EXPECT_EQ(run_program(shell("kill -9 $$"), directory.path(), 10).value().signal, 9);
}

TEST(Program, ReportsAMissingProgram) {
  const TempDir directory;
  const Result<ProgramEnd> end = run_program({"no-such-compiler"}, directory.path(), 10);

  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().code, Code::unavailable);
  EXPECT_EQ(end.error().native_code, ENOENT);
  EXPECT_EQ(end.error().message,
            "program \"no-such-compiler\" cannot be started: No such file or directory");
}

// Creates an executable script that prints a word.
void put_script(const std::filesystem::path& path, const std::string& word) {
  std::filesystem::create_directories(path.parent_path());
  test::write_file(path, "#!/bin/sh\necho " + word + "\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

// The program's directory is that of a recipe, which may contain any program.
class ProgramOfTheCaller : public ::testing::Test {
 protected:
  ProgramOfTheCaller() {
    put_script(directory / "caller/tools/mycc", "caller");
    put_script(directory / "recipe/tools/mycc", "recipe");
    std::filesystem::current_path(directory / "caller");
  }
  ~ProgramOfTheCaller() override { std::filesystem::current_path(before); }

  Result<std::string> output_of(const std::string& program, const ProgramSearch& search) {
    GANTRY_TRY(const ProgramEnd end, run_program({program}, directory / "recipe", 100, search));
    return end.output;
  }

  const TempDir directory;
  const std::filesystem::path before = std::filesystem::current_path();
};

TEST_F(ProgramOfTheCaller, IsFoundByARelativePath) {
  EXPECT_EQ(output_of("tools/mycc", {}).value(), "caller\n");
}

TEST_F(ProgramOfTheCaller, IsFoundInARelativeDirectoryOfPath) {
  EXPECT_EQ(output_of("mycc", {"/nowhere:tools:/bin", true}).value(), "caller\n");
}

TEST_F(ProgramOfTheCaller, IsFoundInAnEmptyDirectoryOfPath) {
  std::filesystem::current_path(directory / "caller/tools");

  for (const char* path : {"", ":/bin", "/bin:", "/bin::/usr/bin"}) {
    EXPECT_EQ(output_of("mycc", {path, true}).value(), "caller\n") << path;
  }
}

TEST_F(ProgramOfTheCaller, IsNotADirectoryOrAFileThatCannotBeExecuted) {
  std::filesystem::create_directories(directory / "caller/first/mycc");
  std::filesystem::create_directories(directory / "caller/second");
  test::write_file(directory / "caller/second/mycc", "no program");

  EXPECT_EQ(output_of("mycc", {"first:second:tools", true}).value(), "caller\n");
}

// A compiler starts its parts in the same way.
TEST_F(ProgramOfTheCaller, StartsOtherProgramsOfTheCaller) {
  const ProgramSearch search{"tools:/bin:", true};
  const auto output = [&](const ProgramSearch& how) {
    return run_program(shell("mycc; echo $PATH"), directory / "recipe", 1000, how)->output;
  };
  const std::string caller = std::filesystem::current_path().native();

  EXPECT_EQ(output(search), concat("caller\n", caller, "/tools:/bin:", caller, "/.\n"));
  EXPECT_THAT(output({"tools:/bin:", false}), HasSubstr("\n/bin\n"));
}

TEST_F(ProgramOfTheCaller, IsRefusedInARelativeDirectoryOfASecureProcess) {
  const Result<std::string> output = output_of("mycc", {"/nowhere:tools", false});

  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().code, Code::unavailable);
  EXPECT_EQ(output.error().reason, "SECURE");
  EXPECT_EQ(output.error().message,
            "program \"mycc\" is in the relative directory \"tools\" of PATH, which this secure "
            "process does not use; make it absolute");
  EXPECT_EQ(output_of("mycc", {(directory / "caller/tools").native() + ":tools", false}).value(),
            "caller\n");
}

TEST(Program, NeedsAName) {
  EXPECT_EQ(run_program({}, ".", 10).error().message, "program name is empty");
  EXPECT_EQ(run_program({"", "a"}, ".", 10).error().message, "program name is empty");
}

TEST(Link, ReportsTheDiagnosticsOfTheCompiler) {
  const TempDir directory;
  test::write_file(directory / "bad.c", "int f(void) { return missing; }\n");
  LinkJob job;
  job.directory = directory.path();
  job.scratch = directory.path();
  job.sources = {"bad.c"};
  job.output = directory / "out.so";

  const Status linked = link_library(job);

  ASSERT_FALSE(linked.ok());
  EXPECT_EQ(linked.error().code, Code::invalid);
  EXPECT_EQ(linked.error().reason, "COMPILE_FAILED");
  EXPECT_THAT(linked.error().message,
              StartsWith("C compiler \"cc\" exits with status 1, expected 0\n"));
  EXPECT_THAT(linked.error().message, HasSubstr("\n  bad.c:1:22: error: "));
  EXPECT_FALSE(std::filesystem::exists(job.output));
}

// Debug information contains paths, which the compiler replaces.
TEST(Link, WritesTheSameBytesInEveryDirectory) {
  std::vector<std::vector<std::uint8_t>> outputs;
  for (int i = 0; i < 2; ++i) {
    const TempDir directory, scratch;
    test::write_file(directory / "a.c", "int a(void) { return 1; }\n");
    test::write_file(scratch / "b.c", "int b(void) { return 2; }\n");
    LinkJob job;
    job.directory = directory.path();
    job.scratch = scratch.path();
    job.sources = {(directory / "a.c").native(), (scratch / "b.c").native()};
    job.flags = {"-g"};
    job.output = scratch / "out.so";
    ASSERT_TRUE(link_library(job).ok());
    outputs.push_back(test::read_file(job.output));
  }

  EXPECT_TRUE(outputs[0] == outputs[1]);
}

// Without the option, the linker takes it from the objects, and assembled ones need not state it.
TEST(Link, MakesNoStackExecutable) {
  const TempDir directory;
  test::write_file(directory / "a.s", ".globl a\na: ret\n");
  LinkJob job;
  job.directory = directory.path();
  job.scratch = directory.path();
  job.sources = {"a.s"};
  job.output = directory / "out.so";

  ASSERT_TRUE(link_library(job).ok());

  const auto library = test::read_file(job.output);
  EXPECT_EQ(executable_stack_cause(ElfFile::parse(library).value()), "");
}

TEST(Link, EscapesControlCharacters) {
  const std::pair<const char*, const char*> outputs[] = {
      {"a\\033[2Jb\\n\\nc", "a\\x1b[2Jb\n  c"},
      // the first one, the last one and the one after printable characters
      {"a\\001b\\037c\\177d e~", "a\\x01b\\x1fc\\x7fd e~"},
  };
  for (const auto& [printed, shown] : outputs) {
    const TempDir directory;
    LinkJob job;
    job.compiler = shell(concat("printf '", printed, "'; exit 4"));
    job.directory = directory.path();

    const Status linked = link_library(job);

    ASSERT_FALSE(linked.ok());
    EXPECT_EQ(linked.error().message,
              concat("C compiler \"sh\" exits with status 4, expected 0\n  ", shown));
  }
}

TEST(Link, ReportsAtMost16KibibytesOfDiagnostics) {
  const TempDir directory;
  LinkJob job;
  job.directory = directory.path();
  const std::string first = "C compiler \"sh\" exits with status 4, expected 0\n  ";

  job.compiler = shell("printf %16384d 1; exit 4");
  const Status all = link_library(job);
  job.compiler = shell("printf %16385d 1; exit 4");
  const Status cut = link_library(job);

  ASSERT_FALSE(all.ok() || cut.ok());
  EXPECT_EQ(all.error().message, first + std::string(16383, ' ') + "1");
  EXPECT_EQ(cut.error().message,
            first + std::string(16384, ' ') + "\n  (1 more bytes of diagnostics)");
}

TEST(Link, ReportsTheSignalThatTerminatedTheCompiler) {
  const TempDir directory;
  LinkJob job;
  job.compiler = shell("kill -11 $$");
  job.directory = directory.path();

  const Status linked = link_library(job);

  ASSERT_FALSE(linked.ok());
  EXPECT_EQ(linked.error().code, Code::unavailable);
  EXPECT_EQ(linked.error().message, "C compiler \"sh\" is terminated by signal 11");
}

TEST(TempDirectory, IsCreatedBesideTheTargetAndRemovedWithItsContent) {
  const TempDir directory;
  std::filesystem::path path;
  {
    const Result<TempDirectory> made = TempDirectory::beside(directory / "model.so");
    ASSERT_TRUE(made.ok()) << made.error().message;
    path = made->path();
    EXPECT_EQ(path.parent_path(), directory.path());
    EXPECT_THAT(path.filename().native(), StartsWith(".model.so."));
    test::write_file(*made / "inside", "x");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TempDirectory, IsRemovedWithMoreFilesThanOneReadLists) {
  const test::TempDir directory;
  {
    const Result<TempDirectory> made = TempDirectory::beside(directory / "model.so");
    ASSERT_TRUE(made.ok());
    for (int i = 0; i < 500; ++i) {
      test::write_file(*made / concat("file", i), "text");
    }
  }

  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(TempDirectory, IsRemovedWithDirectoriesInIt) {
  const TempDir directory;
  {
    const Result<TempDirectory> made = TempDirectory::beside(directory / "model.so");
    ASSERT_TRUE(made.ok());
    std::filesystem::create_directories(*made / "include/tvm/runtime");
    test::write_file(*made / "include/tvm/runtime/a.h", "text");
    std::filesystem::create_directory_symlink(directory.path(), *made / "link");
    test::write_file(directory / "beside", "text");
  }

  EXPECT_TRUE(std::filesystem::exists(directory / "beside"));
  std::filesystem::remove(directory / "beside");
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

// Lets the process open no file.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(TempDirectory, GoesAwayWhereNoDescriptorIsLeft) {
  const TempDir directory;
  Result<TempDirectory> made = TempDirectory::beside(directory / "model.so");
  ASSERT_TRUE(made.ok());
  test::write_file(*made / "inside", "x");

  {
    const NoDescriptors none;
    const TempDirectory removed = std::move(*made);
  }

  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(TempDirectory, IsRefusedAndGoesAwayWithoutADescriptor) {
  const TempDir directory;
  const auto made = [&] {
    const NoDescriptors none;
    return TempDirectory::beside(directory / "model.so");
  }();

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::unavailable);
  EXPECT_THAT(made.error().message, HasSubstr(": Too many open files"));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(TempDirectory, SaysWhichDirectoryIsMissing) {
  const TempDir directory;
  const Result<TempDirectory> made = TempDirectory::beside(directory / "none" / "model.so");

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::not_found);
  EXPECT_THAT(made.error().message, StartsWith("cannot write \"" + (directory / "none").native()));
  EXPECT_THAT(made.error().message, HasSubstr(": No such file or directory"));
}

}  // namespace
}  // namespace gantry
