// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/library.hpp"

#include "core/base/log.hpp"
#include "core/base/mapping.hpp"
#include "core/engine/native/library_imports.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/own_mounts.hpp"
#include "tests/unit/native/host_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include <atomic>
#include <cstdlib>
#include <thread>

namespace gantry {
namespace {

using test::call_named;
using test::fixture;
using test::golden;
using test::HostWorld;
using test::TempDir;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class HostLibraryTest : public ::testing::Test {
 protected:
  HostWorld world{2};
  TempDir directory;

  Error error_of(const std::filesystem::path& path) {
    auto library = world.open(path);
    EXPECT_FALSE(library.ok()) << path;
    return library.ok() ? Error{} : library.error();
  }
  // Returns the path of a copy of axpy2_llvm.so with some bytes replaced.
  std::filesystem::path patched(std::size_t at, std::vector<std::uint8_t> bytes) {
    auto whole = test::read_file(golden("tvm-0.12/axpy2_llvm.so"));
    std::copy(bytes.begin(), bytes.end(), whole.begin() + static_cast<std::ptrdiff_t>(at));
    test::write_file(directory / "patched.so", whole);
    return directory / "patched.so";
  }
};

TEST_F(HostLibraryTest, RejectsAnotherCpuWithBothNames) {
  // e_machine
  const Error error = error_of(patched(18, {243, 0}));

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "BLOB_ARCH");
  EXPECT_EQ(error.message, concat((directory / "patched.so").native(), " is riscv, this host is ",
                                  name_of(host_machine())));
}

// The system's linker refuses the level, too. No CPU has this one.
TEST_F(HostLibraryTest, RejectsALevelOfItsCpuThatThisOneLacks) {
  const std::uint32_t property[] = {0xc0008002, 4, 0b10001, 0};
  const auto bytes = std::as_bytes(std::span(property));
  const auto library =
      test::ElfBuilder()
          .note("GNU", 5, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()})
          .build();

  const auto checked = check_cpu_code(ElfFile::parse(library).value(), {}, "file");

  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, Code::unavailable);
  EXPECT_EQ(checked.error().reason, "BLOB_ARCH");
  EXPECT_THAT(
      checked.error().message.text(),
      ::testing::StartsWith("file requires x86-64-v5 (its note of GNU properties), this CPU has "
                            "x86-64-v1"));
}

// As one for pages of 4 KiB on a host with larger pages, which the linker refuses.
TEST_F(HostLibraryTest, RejectsSmallerPagesThanThoseOfTheHostWithTheRemedy) {
  auto library = test::ElfBuilder().build();
  const ElfSegment load = ElfFile::parse(library)->image().segments()[0];
  ASSERT_EQ(load.type, segment_type::load);
  // p_align: 1024
  library[load.at + 49] = 4;

  const auto checked = check_cpu_code(ElfFile::parse(library).value(), {}, "model.so");

  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, Code::unavailable);
  EXPECT_EQ(checked.error().reason, "PAGE_SIZE");
  EXPECT_EQ(checked.error().message,
            concat("model.so is aligned to 1024 bytes, pages of this host have ",
                   ::sysconf(_SC_PAGESIZE), "; link it with -Wl,-z,max-page-size=65536"));
}

TEST_F(HostLibraryTest, RejectsAProgram) {
  // e_type
  const Error error = error_of(patched(16, {2, 0}));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.message,
            (directory / "patched.so").native() + " is a program, expected a shared library");
}

// The system's loader maps a truncated file, and the first access beyond its end raises SIGBUS.
TEST_F(HostLibraryTest, RejectsEveryTruncationBeforeItIsOpened) {
  const auto whole = test::read_file(golden("tvm-0.12/axpy2_llvm.so"));
  for (std::size_t size = 1; size < whole.size(); size += 997) {
    test::write_file(directory / "cut.so", std::span(whole).first(size));
    EXPECT_EQ(error_of(directory / "cut.so").code, Code::malformed) << size;
  }
  test::write_file(directory / "cut.so", std::span(whole).first(whole.size() - 1));
  EXPECT_EQ(error_of(directory / "cut.so").code, Code::malformed);
}

// The system's loader would call the address.
TEST_F(HostLibraryTest, RejectsDamagedTablesBeforeItIsOpened) {
  const auto elf = ElfFile::parse(*MappedFile::open(golden("tvm-0.12/axpy2_llvm.so"))).value();
  const std::uint64_t at = elf.dynamic().find(dynamic_tag::init)->at;

  const Error error = error_of(patched(at + 7, {0x40}));

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.reason, "ELF_DYNAMIC");
  EXPECT_EQ(error.offset, at);
  EXPECT_THAT(error.message, StartsWith("DT_INIT is 0x4000000000001000, which is not inside an "
                                        "executable segment\n  while opening /"));
}

TEST_F(HostLibraryTest, ListsAllUnsupportedTvmSymbols) {
  const Error error = error_of(fixture("imports_unknown_tvm.so"));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "TVM_SYMBOLS");
  EXPECT_THAT(error.message, HasSubstr("\"TVMArrayFree\""));
  EXPECT_THAT(error.message, HasSubstr("\"TVMBackendRegisterEnvCAPI\""));
  EXPECT_THAT(error.message, ::testing::Not(HasSubstr("TVMSomethingOptional")));
  EXPECT_THAT(error.message, HasSubstr(" from its runtime, which gantry does not provide"));
}

TEST_F(HostLibraryTest, RejectsImportsOfTheTvmCppRuntime) {
  const Error error = error_of(fixture("imports_tvm_cpp.so"));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "TVM_CPP");
  EXPECT_EQ(error.message, fixture("imports_tvm_cpp.so").native() +
                               " imports \"_ZN3tvm7runtime6Object3GetEv\" of TVM's C++ runtime: "
                               "only the libtvm that it was "
                               "built with can run it");
}

TEST_F(HostLibraryTest, NamesAnUndefinedSymbol) {
  const Error error = error_of(fixture("imports_nothing_known.so"));

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "LIBRARY_SYMBOLS");
  EXPECT_EQ(
      error.message,
      fixture("imports_nothing_known.so").native() +
          " imports \"a_function_that_nothing_gives\", which no library on this host provides");
}

TEST_F(HostLibraryTest, NamesAMissingNeededLibrary) {
  const Error error = error_of(fixture("needs_absent.so"));

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "LIBRARY_NEEDED");
  EXPECT_EQ(error.message, fixture("needs_absent.so").native() +
                               " needs \"libgantry_absent.so\", which this host does not have");
}

TEST_F(HostLibraryTest, FindsOnlyItsOwnFunctions) {
  const auto library = *world.open(golden("tvm-0.12/resnet20_llvm.so"));

  EXPECT_NE(library->function("tvmgen_default_fused_nn_softmax"), nullptr);
  EXPECT_EQ(library->function("memcpy"), nullptr);
  EXPECT_EQ(library->function("expf"), nullptr);
  EXPECT_EQ(library->function("printf"), nullptr);
  EXPECT_EQ(library->function("__tvm_dev_mblob"), nullptr);
  EXPECT_EQ(library->function(""), nullptr);
  EXPECT_EQ(library->function(std::string_view("tvmgen_default_fused_nn_softmax\0x", 33)), nullptr);
}

TEST_F(HostLibraryTest, FindsOnlyWritablePointerVariables) {
  const auto packed = *world.open(fixture("packed.so"));
  const auto constant = *world.open(fixture("main_dangling.so"));

  EXPECT_NE(packed->pointer_variable("__TVMFuncCall"), nullptr);
  EXPECT_NE(packed->pointer_variable("__tvm_module_ctx"), nullptr);
  EXPECT_EQ(packed->pointer_variable("__TVMBackendRunOnce"), nullptr);
  EXPECT_EQ(packed->pointer_variable("__tvm_main__"), nullptr);
  EXPECT_EQ(packed->pointer_variable("__TVMFFIFunctionCall"), nullptr);
  EXPECT_EQ(constant->pointer_variable("__TVMFuncCall"), nullptr);
}

TEST_F(HostLibraryTest, FindsNoSymbolOfAnotherShapeAsPointerVariable) {
  const auto opened = world.open(fixture("odd_variables.so"));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const auto& library = *opened;

  for (const char* name :
       {"__TVMFuncCall", "__TVMBackendGetFuncFromEnv", "__TVMBackendAllocWorkspace"}) {
    ASSERT_NE(library->elf().find(name), nullptr) << name;
    EXPECT_EQ(library->pointer_variable(name), nullptr) << name;
  }
}

TEST_F(HostLibraryTest, BelongsToOneModule) {
  const auto library = *world.open(fixture("packed.so"));
  const auto node = test::node_of(test::artifact_of({"_lib"}), 0);
  const auto first = new_library_module(library, &world.services, *node);
  ASSERT_TRUE(first.ok() && bind(*node, *first).ok());

  const auto second = new_library_module(library, &world.services, *node);

  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::invalid);
  EXPECT_EQ(second.error().message,
            "entry 0 \"_lib\" of model.so: " + fixture("packed.so").native() +
                " already belongs to another module");
}

TEST_F(HostLibraryTest, HasItsOwnVariablesIfTheFileIsAlreadyOpen) {
  auto first = world.load_whole(fixture("packed.so"));
  const auto second = world.load_whole(fixture("packed.so"));

  EXPECT_EQ(call_named(first, "count_calls")->get().i, 1);
  EXPECT_EQ(call_named(first, "count_calls")->get().i, 2);
  EXPECT_EQ(call_named(second, "count_calls")->get().i, 1);
}

TEST_F(HostLibraryTest, OfASecondRuntimeWorksAfterTheFirstIsDestroyed) {
  auto first = std::make_unique<HostWorld>(2);
  HostWorld second(3);
  auto in_first = first->load_whole(fixture("packed.so"));
  const auto in_second = second.load_whole(fixture("packed.so"));
  ASSERT_EQ(call_named(in_first, "meet_often", {int_value(0), int_value(2)})->get().i, 2);

  in_first = {};
  first.reset();

  EXPECT_EQ(call_named(in_second, "meet_often", {int_value(0), int_value(2)})->get().i, 3);
  EXPECT_TRUE(call_named(in_second, "use_workspace", {int_value(1), int_value(64)}).ok());
}

TEST_F(HostLibraryTest, IsOpenedFromItsFileAgainAfterItWasClosed) {
  for (int i = 0; i < 3; ++i) {
    const auto first = *world.open(fixture("packed.so"));
    const auto second = *world.open(fixture("packed.so"));
    const auto third = *world.open(fixture("packed.so"));
    EXPECT_FALSE(first->is_private_copy());
    EXPECT_TRUE(second->is_private_copy());
    EXPECT_TRUE(third->is_private_copy());
  }
}

TEST_F(HostLibraryTest, LogsAPrivateCopy) {
  std::vector<std::string> lines;
  const Log log(LogLevel::debug,
                [&](LogLevel, std::string_view text) { lines.emplace_back(text); });
  world.services.log = &log;
  const auto first = *world.open(fixture("packed.so"));
  EXPECT_TRUE(lines.empty());

  const auto second = *world.open(fixture("packed.so"));

  EXPECT_THAT(lines, ::testing::ElementsAre(HasSubstr("is already open in this process")));
}

TEST_F(HostLibraryTest, OpensOneFileOnManyThreads) {
  std::atomic<int> originals{0}, failed{0};
  std::vector<std::shared_ptr<CpuLibrary>> libraries(6);
  std::vector<std::thread> threads;
  for (auto& library : libraries) {
    threads.emplace_back([&] {
      auto opened = world.open(fixture("packed.so"));
      if (!opened.ok()) {
        ++failed;
        return;
      }
      library = *opened;
      if (!library->is_private_copy()) ++originals;
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(failed, 0);
  EXPECT_EQ(originals, 1);
}

class ReplacedHostLibrary : public HostLibraryTest {
 protected:
  ~ReplacedHostLibrary() override {
    unsetenv("GANTRY_TEST_RENAME");
    unsetenv("GANTRY_TEST_RENAME_TO");
  }
  // Copies `name` to model.so and reads it; copies `next` to next.so.
  void read(const char* name, const char* next) {
    std::filesystem::copy_file(fixture(name), path);
    std::filesystem::copy_file(fixture(next), other);
    file = *MappedFile::open(path);
    elf = std::make_shared<const ElfFile>(*ElfFile::parse(file));
  }
  // Makes renames_when_opened.so rename `from` to `to` when it is opened.
  void let_it_rename(const std::filesystem::path& from, const std::filesystem::path& to) {
    setenv("GANTRY_TEST_RENAME", from.c_str(), 1);
    setenv("GANTRY_TEST_RENAME_TO", to.c_str(), 1);
  }
  Result<std::shared_ptr<CpuLibrary>> open_read_file() {
    return CpuLibrary::open(file, elf, test::facts_by_symbols(*elf), world.services);
  }

  const std::filesystem::path path = directory / "model.so", other = directory / "next.so";
  std::shared_ptr<const MappedFile> file;
  std::shared_ptr<const ElfFile> elf;
};

TEST_F(ReplacedHostLibrary, RunsTheFileThatWasRead) {
  read("packed.so", "renames_when_opened.so");
  test::write_file(directory / "untouched", "");
  let_it_rename(directory / "untouched", directory / "it has run");
  std::filesystem::rename(other, path);

  const auto library = open_read_file();

  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_NE((*library)->function("count_calls"), nullptr);
  EXPECT_TRUE(std::filesystem::exists(directory / "untouched"));
}

TEST_F(ReplacedHostLibrary, RunsAFileThatIsReplacedDuringTheOpening) {
  read("renames_when_opened.so", "packed.so");
  let_it_rename(other, path);

  const auto library = open_read_file();

  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_NE((*library)->function("answer"), nullptr);
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST_F(ReplacedHostLibrary, RunsAFileThatIsRemoved) {
  read("packed.so", "packed.so");
  std::filesystem::remove(path);

  const auto library = open_read_file();

  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_FALSE((*library)->is_private_copy());
}

// The linker derives $ORIGIN from the path, which must name the file.
TEST_F(ReplacedHostLibrary, IsRejectedIfItSearchesItsDirectory) {
  read("searches_origin.so", "packed.so");
  std::filesystem::rename(other, path);

  const auto library = open_read_file();

  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, Code::unavailable);
  EXPECT_EQ(library.error().reason, "REPLACED_DURING_LOAD");
  EXPECT_EQ(library.error().message,
            path.native() +
                " is another file than the one that was read: it was replaced during the load; "
                "load it again");
}

// The file that was read runs, as a private copy of its bytes.
TEST_F(ReplacedHostLibrary, RunsAsACopyIfItIsAlreadyOpen) {
  read("packed.so", "system_library.so");
  const auto first = world.load_whole(path);
  std::filesystem::rename(other, path);

  const auto library = open_read_file();

  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_TRUE((*library)->is_private_copy());
  EXPECT_NE((*library)->function("count_calls"), nullptr);
}

class LiteralPath : public HostLibraryTest {
 protected:
  // Copies a fixture to a new directory.
  std::filesystem::path put(const std::string& name, const std::string& into) {
    std::filesystem::create_directories(directory / into);
    std::filesystem::copy_file(fixture(name), directory / into / name);
    return directory / into / name;
  }
};

// The linker replaces these words in the path of dlopen() and in search paths.
TEST_F(LiteralPath, ContainsNoVariablesOfTheLinker) {
  for (const std::string name : {"$LIB", "${LIB}", "$ORIGIN", "${PLATFORM}", "a$LIBb"}) {
    const auto library = world.open(put("packed.so", name));

    ASSERT_TRUE(library.ok()) << library.error().message;
    EXPECT_NE((*library)->function("count_calls"), nullptr);
  }
}

TEST_F(LiteralPath, IsNotOpenedWithAnOriginThatContainsAVariable) {
  put("libgantry_origin.so", "$LIB");
  const Error error = error_of(put("searches_origin.so", "$LIB"));

  EXPECT_EQ(error.reason, "LIBRARY_OPEN");
  EXPECT_THAT(error.message, HasSubstr("without its path, which contains $, where $ORIGIN in its "
                                       "search path does not lead to its directory"));
}

TEST_F(LiteralPath, IsTheOriginOfTheSearchPath) {
  for (const std::string name : {"", "_by_rpath", "_in_braces"}) {
    const std::string into = "models" + name;
    put("libgantry_origin.so", into);
    const Ref<ModuleNode> node = world.load_whole(put("searches_origin" + name + ".so", into));

    EXPECT_EQ(call_named(node, "call_dependency")->get().i, 7) << name;
  }
}

TEST_F(LiteralPath, IsNotOpenedAgainForAPrivateCopy) {
  put("libgantry_origin.so", "models");
  const std::filesystem::path path = put("searches_origin.so", "models");
  const auto first = *world.open(path);

  const auto second = *world.open(path);

  EXPECT_TRUE(second->is_private_copy());
  EXPECT_NE(second->function("call_dependency"), first->function("call_dependency"));
}

TEST_F(LiteralPath, IsNotShownForAPrivateCopy) {
  const std::filesystem::path path = put("packed.so", "models");
  const auto first = *world.open(path);
  const auto second = *world.open(path);

  Dl_info info{};
  ASSERT_NE(dladdr(second->function("count_calls"), &info), 0);
  EXPECT_THAT(info.dli_fname, StartsWith("/proc/self/fd/"));
}

TEST_F(LiteralPath, IsInTheMessageOfTheLinker) {
  const std::filesystem::path path = put("imports_nothing_known.so", "models");
  // Opening it by hand shows the linker's own message.
  EXPECT_EQ(dlopen(path.c_str(), RTLD_NOW), nullptr);
  EXPECT_THAT(dlerror(), StartsWith(path.native()));

  EXPECT_THAT(error_of(path).message, ::testing::Not(HasSubstr("/proc/")));
}

// The version is of a library that is linked, and no library of the system has it.
TEST_F(LiteralPath, IsThatOfALibraryThatRequiresANewerVersion) {
  const Error error = error_of(put("needs_newer_libm.so", "models"));

  EXPECT_EQ(error.reason, "LIBRARY_SYMBOLS");
  EXPECT_THAT(error.message, HasSubstr("needs_newer_libm.so needs GANTRY_2.99 of "));
  EXPECT_THAT(error.message, ::testing::Not(HasSubstr("/proc/")));
}

TEST_F(LiteralPath, ReplacesTheOneThatTheLinkerReports) {
  const std::filesystem::path path = put("large_static_tls.so", "models");

  const Error error = error_of(path);

  EXPECT_EQ(error.reason, "LIBRARY_OPEN");
  EXPECT_EQ(error.message, concat(path.native(), " cannot be opened: ", path.native(),
                                  ": cannot allocate memory in static TLS block"));
}

TEST_F(LiteralPath, LacksALibraryOfItsSearchPath) {
  const Error error = error_of(put("searches_origin.so", "alone"));

  EXPECT_EQ(error.reason, "LIBRARY_OPEN");
  EXPECT_THAT(error.message, HasSubstr(" cannot be opened: libgantry_origin.so: cannot open"));
}

// Debuggers read it from the linker's list, and dladdr() returns it.
TEST_F(LiteralPath, IsShownToDebuggers) {
  const std::filesystem::path path = put("packed.so", "models");
  const auto library = *world.open(path);

  Dl_info info{};
  ASSERT_NE(dladdr(library->function("count_calls"), &info), 0);
  EXPECT_STREQ(info.dli_fname, path.c_str());
}

TEST_F(HostLibraryTest, RejectsAProgramThatIsMarkedAsOne) {
  constexpr std::uint64_t flags_1 = 0x6ffffffb, pie = 0x08000000;
  const auto library = test::ElfBuilder().build();
  const auto program = test::ElfBuilder().dynamic(flags_1, pie).build();

  EXPECT_TRUE(check_cpu_code(ElfFile::parse(library).value(), {}, "file").ok());
  const auto checked = check_cpu_code(ElfFile::parse(program).value(), {}, "file");
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().reason, "FILE_KIND");
  EXPECT_EQ(checked.error().message, "file is a program, expected a shared library");
}

TEST_F(HostLibraryTest, ReportsThatNoDescriptorIsLeft) {
  const auto file = *MappedFile::open(fixture("packed.so"));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit standard_only{3, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &standard_only), 0);

  const Result<LinkerFile> opened = LinkerFile::of(*file);
  const Result<LinkerFile> copied = LinkerFile::copy("copy", file->bytes());

  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_FALSE(opened.ok() || copied.ok());
  EXPECT_EQ(opened.error().code, Code::exhausted);
  EXPECT_EQ(opened.error().message,
            "its descriptor cannot be duplicated: Too many open files; "
            "raise the limit of open files (ulimit -n)");
  EXPECT_EQ(copied.error().message,
            "a private copy cannot be made: Too many open files; raise the "
            "limit of open files (ulimit -n)");
}

TEST_F(HostLibraryTest, IsOpenedByItsPathWithoutProc) {
  test::expect_with_mount("/proc", 0, [&]() -> std::string {
    const auto library = world.open(fixture("packed.so"));
    if (!library.ok()) return library.error().message;
    if ((*library)->function("count_calls") == nullptr) return "function is missing";
    const auto again = world.open(fixture("packed.so"));
    if (again.ok()) return "two graphs share the library's variables";
    const bool is_right = again.error().message.text().ends_with(
        "packed.so is already open in this process, and a copy of it requires /proc, which is not "
        "mounted; mount /proc");
    return is_right ? "" : again.error().message;
  });
}

TEST_F(HostLibraryTest, InMemoryRequiresProc) {
  test::expect_with_mount("/proc", 0, [&]() -> std::string {
    const auto file = *MappedFile::copy("packed.so", test::read_file(fixture("packed.so")));
    const auto elf = std::make_shared<const ElfFile>(ElfFile::parse(file).value());
    const auto library = CpuLibrary::open(file, elf, test::facts_by_symbols(*elf), world.services);
    if (library.ok()) return "it is opened";
    return library.error().message.text().ends_with(" does not exist; mount /proc")
               ? ""
               : library.error().message;
  });
}

TEST_F(ReplacedHostLibrary, IsRejectedWithoutProc) {
  read("packed.so", "main_dangling.so");
  std::filesystem::rename(other, path);
  test::expect_with_mount("/proc", 0, [&]() -> std::string {
    const auto library = open_read_file();
    if (library.ok()) return "it is opened";
    return library.error().reason == "REPLACED_DURING_LOAD" ? "" : library.error().message;
  });
}

// As after an exchange of the file during the opening only.
TEST_F(ReplacedHostLibrary, DiffersWithoutProcByAByteOfItsCode) {
  read("packed.so", "packed.so");
  auto changed = test::read_file(path);
  changed[elf->offset_in_file(elf->bytes_of(*elf->find("count_calls")).value())] ^= 1;
  test::write_file(other, changed);
  test::expect_with_mount("/proc", 0, [&]() -> std::string {
    const std::string same = difference_of(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), *file);
    if (!same.empty()) return same;
    return difference_of(dlopen(other.c_str(), RTLD_NOW | RTLD_LOCAL), *file) == "its bytes differ"
               ? ""
               : "the changed library is taken for the file";
  });
}

TEST_F(HostLibraryTest, OnAFileSystemWithoutExecutionIsRefusedByName) {
  test::expect_with_mount(directory.path().native(), MS_NOEXEC, [&]() -> std::string {
    std::filesystem::copy_file(fixture("packed.so"), directory / "model.so");
    const Error error = error_of(directory / "model.so");
    const std::string expected =
        concat((directory / "model.so").native(), " cannot be opened: ", directory.path().native(),
               " is on a file system that is mounted noexec; copy the file to another one, or load "
               "its bytes");
    return error.message == expected && error.reason == "LIBRARY_OPEN" ? "" : error.message;
  });
}

TEST_F(HostLibraryTest, ReportsThatTheLinkerHasNoDescriptor) {
  const auto file = *MappedFile::open(fixture("searches_origin.so"));
  const auto elf = std::make_shared<const ElfFile>(ElfFile::parse(file).value());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // LinkerFile gets the first free number, the linker none.
  const int next = dup(0);
  close(next);
  const rlimit one_more{static_cast<rlim_t>(next) + 1, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &one_more), 0);

  const auto library = CpuLibrary::open(file, elf, test::facts_by_symbols(*elf), world.services);

  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, Code::exhausted);
  EXPECT_THAT(library.error().message,
              HasSubstr("Too many open files; raise the limit of open files (ulimit -n)"));
}

// Its number is the next one that a file gets.
TEST_F(HostLibraryTest, IsNotConfusedWithALibraryThatWasNotClosed) {
  std::string number;
  void* kept = nullptr;
  {
    const auto first = *MappedFile::open(fixture("main_dangling.so"));
    const auto opened = *LinkerFile::of(*first);
    number = opened.path();
    kept = dlopen(number.c_str(), RTLD_LAZY | RTLD_LOCAL);
    ASSERT_NE(kept, nullptr) << dlerror();
  }
  const auto file = *MappedFile::open(fixture("packed.so"));

  const Result<LinkerFile> next = LinkerFile::of(*file);

  ASSERT_TRUE(next.ok());
  EXPECT_FALSE(next->is_copy());
  EXPECT_NE(next->path(), number);
  dlclose(kept);
}

TEST_F(HostLibraryTest, OpensAPathWithoutADirectory) {
  std::filesystem::copy_file(fixture("packed.so"), directory / "here.so");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  const auto library = world.open("here.so");
  std::filesystem::current_path(before);

  EXPECT_TRUE(library.ok()) << library.error().message;
}

TEST(LinkerFile, HasAPathThatNoOpenLibraryHas) {
  const auto bytes = test::read_file(fixture("packed.so"));
  void* first = nullptr;
  std::string path;
  {
    auto copy = LinkerFile::copy("one", bytes);
    ASSERT_TRUE(copy.ok());
    path = copy->path();
    first = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(first, nullptr);
    // The descriptor is closed; the library is still open under its path.
  }

  const auto next = LinkerFile::copy("two", bytes);
  ASSERT_TRUE(next.ok());
  void* second = dlopen(next->path().c_str(), RTLD_NOW | RTLD_LOCAL);

  EXPECT_NE(next->path(), path);
  EXPECT_EQ(truncate(next->path().c_str(), 0), -1) << "it is sealed";
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(second, nullptr);
  EXPECT_NE(second, first);
  dlclose(second);
  dlclose(first);
}

Error failure_of(const test::ElfBuilder& builder, std::string_view text) {
  const auto bytes = builder.build();
  return explain_open_failure(ElfFile::parse(bytes).value(), {}, "model.so", text).error();
}

TEST(OpenFailure, NamesAVersionAndItsLibraryAsTheLinkerDoes) {
  const Error error =
      failure_of(test::ElfBuilder().undefined("_ZSt3foov"),
                 "/lib/libstdc++.so.6: version `GLIBCXX_3.4.99' not found (required "
                 "by model.so)");

  EXPECT_EQ(error.reason, "LIBRARY_SYMBOLS");
  EXPECT_EQ(error.message,
            "model.so needs GLIBCXX_3.4.99 of /lib/libstdc++.so.6, which does not have it: install "
            "a newer one, or build the file for this system");
}

TEST(OpenFailure, ExplainsLibrariesOfTvmAndOfMusl) {
  EXPECT_EQ(failure_of(test::ElfBuilder().needed("libtvm_runtime.so"), "").message,
            "model.so needs \"libtvm_runtime.so\", which this host does not have; gantry provides "
            "the functions of TVM's runtime itself: link the file without the library, or install "
            "it if the code calls it directly");
  EXPECT_THAT(failure_of(test::ElfBuilder().needed("libc.so"), "").message,
              HasSubstr("; the file is built for musl, this host has glibc"));
  EXPECT_EQ(failure_of(test::ElfBuilder().needed("libc.musl-x86_64.so.1"), "").message,
            "model.so needs \"libc.musl-x86_64.so.1\", which this host does not have; the file is "
            "built for musl, this host has glibc: build it for glibc");
}

TEST(OpenFailure, IsThatOfTheSystemIfALibraryHasASearchPathOrNothingIsMissing) {
  const auto reason = [](const test::ElfBuilder& builder) {
    const auto bytes = builder.build();
    return explain_open_failure(ElfFile::parse(bytes).value(), {}, "model.so", "text")
        .error()
        .reason;
  };
  const test::ElfBuilder needs = test::ElfBuilder().needed("libgantry_absent.so.1");

  EXPECT_EQ(reason(needs), "LIBRARY_NEEDED");
  EXPECT_EQ(reason(test::ElfBuilder(needs).runpath("/x")), "LIBRARY_OPEN");
  EXPECT_EQ(reason(test::ElfBuilder(needs).rpath("/x").undefined("gantry_absent")), "LIBRARY_OPEN");
  EXPECT_EQ(reason(test::ElfBuilder()), "LIBRARY_OPEN");
  EXPECT_EQ(reason(test::ElfBuilder().undefined("gantry_absent")), "LIBRARY_SYMBOLS");
  EXPECT_EQ(reason(test::ElfBuilder().undefined("malloc")), "LIBRARY_OPEN");
  const test::ElfBuilder finds = test::ElfBuilder().needed(fixture("libgantry_origin.so").native());
  EXPECT_EQ(reason(test::ElfBuilder(finds).undefined("origin_function")), "LIBRARY_OPEN");
  EXPECT_EQ(reason(test::ElfBuilder(finds).undefined("gantry_absent")), "LIBRARY_SYMBOLS");
}

}  // namespace
}  // namespace gantry
