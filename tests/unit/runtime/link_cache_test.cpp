// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/link_cache.hpp"

#include "core/base/noexec.hpp"
#include "core/base/signal_cleanup.hpp"
#include "core/base/toolchain/link.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/own_mounts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

namespace gantry {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

LinkInput input_of(std::string name, std::string_view text) {
  return {std::move(name), {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}};
}

std::vector<fs::path> files_in(const fs::path& directory) {
  std::vector<fs::path> all;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(directory, missing)) all.push_back(entry.path());
  return all;
}

class LinkedLibrary : public ::testing::Test {
 protected:
  LinkedLibrary() {
    fs::create_directory(temporary());
    test::write_file(temp_ / "cc", "#!/bin/sh\necho run >> '" + (temp_ / "runs").native() +
                                       "'\nexec /usr/bin/cc \"$@\"\n");
    fs::permissions(temp_ / "cc", fs::perms::owner_all);
  }
  LinkCacheOptions options() {
    LinkCacheOptions options;
    options.directory = (temp_ / "cache").native();
    options.temporary = temporary();
    options.compiler = {(temp_ / "cc").native()};
    options.log = [this](const Message& text) { log_.push_back(text.text()); };
    return options;
  }
  fs::path temporary() const { return temp_ / "temporary"; }
  fs::path linked() const { return temp_ / "cache/linked"; }
  // How often the compiler ran.
  std::size_t runs() const {
    std::ifstream in(temp_ / "runs");
    return static_cast<std::size_t>(
        std::count(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>(), '\n'));
  }
  Result<std::shared_ptr<const MappedFile>> link(std::string_view text,
                                                 const std::string& name = "lib0.c") {
    const LinkInput file = input_of(name, text);
    return LinkCache(options()).link("model.tar", {&file, 1});
  }

  test::TempDir temp_;
  std::vector<std::string> log_;
};

bool defines(const MappedFile& library, std::string_view name) {
  const ElfFile elf = ElfFile::parse(library.bytes()).value();
  const ElfSymbol* const symbol = elf.find(name);
  return symbol != nullptr && symbol->defined();
}

TEST_F(LinkedLibrary, IsCompiledOnceForTheSameInput) {
  const auto first = link("int one(void) { return 1; }").value();
  const auto again = link("int one(void) { return 1; }").value();

  EXPECT_TRUE(defines(*first, "one"));
  EXPECT_EQ(again->identity(), first->identity());
  EXPECT_EQ(runs(), 1u);
  ASSERT_THAT(files_in(linked()), ElementsAre(first->path()));
  struct stat info {};
  ASSERT_EQ(::stat(first->path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(LinkedLibrary, DependsOnContentNameMachineCompilerAndItsArguments) {
  ASSERT_TRUE(link("int a(void) { return 1; }").ok());
  ASSERT_TRUE(link("int a(void) { return 2; }").ok());
  ASSERT_TRUE(link("int a(void) { return 1; }", "lib0.cc").ok());
  LinkCacheOptions other = options();
  other.compiler.push_back("-g");
  const LinkInput file = input_of("lib0.c", "int a(void) { return 1; }");
  ASSERT_TRUE(LinkCache(other).link("model.tar", {&file, 1}).ok());
  // another machine that has the same home and the same wrapper of a compiler
  other = options();
  other.machine = ElfMachine::riscv;
  ASSERT_TRUE(LinkCache(other).link("model.tar", {&file, 1}).ok());
  // an upgrade of the compiler
  fs::last_write_time(temp_ / "cc", fs::file_time_type::clock::now() + std::chrono::hours(1));
  ASSERT_TRUE(link("int a(void) { return 1; }").ok());

  EXPECT_EQ(runs(), 6u);
  EXPECT_THAT(files_in(linked()), SizeIs(6));
}

TEST_F(LinkedLibrary, IsInMemoryIfItsFileSystemIsMountedNoexec) {
  fs::create_directory(temp_ / "mounted");
  test::expect_with_mount((temp_ / "mounted").string(), MS_NOEXEC, [&]() -> std::string {
    LinkCacheOptions there = options();
    there.directory = (temp_ / "mounted/cache").native();
    const LinkInput file = input_of("lib0.c", "int one(void) { return 1; }");
    for (int i = 0; i < 2; ++i) {
      const auto library = LinkCache(there).link("model.tar", {&file, 1});
      if (!library.ok()) return library.error().message;
      if (is_on_noexec((*library)->descriptor()) || !(*library)->is_copy()) return "it is no copy";
    }
    return runs() == 1 ? "" : "it is not in the cache";
  });
}

TEST_F(LinkedLibrary, LeavesNoFileWithoutACache) {
  LinkCacheOptions none = options();
  none.directory.clear();
  const LinkInput file = input_of("lib0.c", "int one(void) { return 1; }");

  const auto library = LinkCache(none).link("model.tar", {&file, 1}).value();

  EXPECT_TRUE(defines(*library, "one"));
  EXPECT_EQ(library->path(), "model.tar");
  EXPECT_THAT(files_in(temporary()), IsEmpty());
  EXPECT_FALSE(fs::exists(temp_ / "cache"));
}

TEST_F(LinkedLibrary, NeedsNoCacheThatCanBeWritten) {
  test::write_file(temp_ / "cache", "a file, not a directory");

  const auto library = link("int one(void) { return 1; }");

  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_TRUE(defines(**library, "one"));
  EXPECT_THAT(files_in(temporary()), IsEmpty());
}

TEST_F(LinkedLibrary, LeavesNothingIfTheCompilerFails) {
  const auto library = link("int one(void) { return missing; }");

  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, Code::invalid);
  EXPECT_EQ(library.error().reason, "COMPILE_FAILED");
  EXPECT_THAT(library.error().message,
              AllOf(StartsWith("C compiler "), HasSubstr("exits with status 1"),
                    HasSubstr("0_lib0.c:1:"), HasSubstr("missing")));
  EXPECT_THAT(files_in(linked()), IsEmpty());
}

// As a full disk: the linker can write nothing.
TEST_F(LinkedLibrary, LeavesNothingIfTheLibraryCannotBeWritten) {
  LinkCacheOptions full = options();
  full.compiler = {"/bin/sh", "-c", "exec /usr/bin/cc -o /dev/full \"$0\""};
  const LinkInput file = input_of("lib0.c", "int one(void) { return 1; }");

  const auto library = LinkCache(full).link("model.tar", {&file, 1});

  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().reason, "COMPILE_FAILED");
  EXPECT_THAT(files_in(linked()), IsEmpty());
}

TEST_F(LinkedLibrary, IsLinkedAgainIfTheCachedFileIsDamaged) {
  const auto first = link("int one(void) { return 1; }").value();
  const fs::path path = first->path();
  fs::copy_file(path, temp_ / "copy");
  fs::resize_file(temp_ / "copy", 5000);
  fs::rename(temp_ / "copy", path);

  const auto again = link("int one(void) { return 1; }");

  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ((*again)->bytes().size(), first->bytes().size());
  EXPECT_EQ(runs(), 2u);
  ASSERT_THAT(log_, SizeIs(1));
  EXPECT_EQ(log_.front(), "cache file " + path.native() + " is ignored: magic is not GTRYCCH2");
}

// Flips a bit; the file has a new inode, as one that a rename has replaced.
void flip_bit(const fs::path& path, std::size_t at) {
  std::vector<std::uint8_t> bytes = test::read_file(path);
  bytes.at(at) ^= 1;
  fs::remove(path);
  test::write_file(path, bytes);
  fs::permissions(path, fs::perms::owner_all);
}

TEST_F(LinkedLibrary, IsLinkedAgainIfAByteOfItsCodeKeyOrChecksumDiffers) {
  const auto first = link("int one(void) { return 1; }").value();
  const ElfFile elf = ElfFile::parse(first->bytes()).value();
  const auto code = elf.bytes_of(*elf.find("one")).value();
  const std::size_t size = first->bytes().size();

  for (const std::size_t at : {std::size_t{elf.offset_in_file(code)}, size - 33, size - 1}) {
    flip_bit(first->path(), at);
    log_.clear();

    const auto again = link("int one(void) { return 1; }");

    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE(std::ranges::equal((*again)->bytes(), first->bytes())) << at;
    EXPECT_THAT(log_, ElementsAre("cache file " + first->path().native() +
                                  " is ignored: checksum does not match"));
  }
  EXPECT_EQ(runs(), 4u);
}

TEST_F(LinkedLibrary, IsLinkedAgainIfTheFileIsOfOtherInput) {
  const fs::path one = link("int one(void) { return 1; }").value()->path();
  fs::rename(link("int two(void) { return 2; }").value()->path(), one);

  const auto again = link("int one(void) { return 1; }").value();

  EXPECT_TRUE(defines(*again, "one"));
  EXPECT_THAT(log_,
              ElementsAre("cache file " + one.native() + " is ignored: it contains another key"));
}

TEST_F(LinkedLibrary, IsNotOneThatOthersCanWrite) {
  const fs::path path = link("int one(void) { return 1; }").value()->path();
  fs::permissions(path, fs::perms::group_write, fs::perm_options::add);

  ASSERT_TRUE(link("int one(void) { return 1; }").ok());

  EXPECT_EQ(runs(), 2u);
  EXPECT_THAT(
      log_, ElementsAre("cache file " + path.native() + " is ignored: another user can write it"));
}

TEST_F(LinkedLibrary, IsNotKeptWhereOthersCanReplaceIt) {
  ASSERT_TRUE(link("int one(void) { return 1; }").ok());
  fs::permissions(linked(), fs::perms::all);

  const auto library = link("int one(void) { return 1; }");

  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_EQ((*library)->path(), "model.tar");
  EXPECT_EQ(runs(), 2u);
  EXPECT_THAT(
      log_, ElementsAre(AllOf(StartsWith("cache directory " + linked().native() + " is not used: "),
                              HasSubstr(" has mode 0777 "))));
  EXPECT_THAT(files_in(linked()), SizeIs(1));
}

TEST_F(LinkedLibrary, IsNotLinkedWhereOthersCanReplaceIt) {
  fs::permissions(temporary(), fs::perms::all);
  LinkCacheOptions none = options();
  none.directory.clear();
  const LinkInput file = input_of("lib0.c", "int one(void) { return 1; }");

  const auto library = LinkCache(none).link("model.tar", {&file, 1});

  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().reason, "PERMISSIONS");
  EXPECT_THAT(library.error().message, HasSubstr("set the variable TMPDIR"));
  EXPECT_EQ(runs(), 0u);
}

// Also if TMPDIR of the process is one that others can write to.
TEST_F(LinkedLibrary, HasTheCompilersTemporaryFilesInItsDirectory) {
  test::write_file(temp_ / "cc", "#!/bin/sh\necho $TMPDIR > '" + (temp_ / "tmpdir").native() +
                                     "'\nexec /usr/bin/cc \"$@\"\n");

  ASSERT_TRUE(link("int one(void) { return 1; }").ok());

  EXPECT_THAT(test::file_text(temp_ / "tmpdir"), StartsWith((linked() / ".link.").native()));
}

TEST_F(LinkedLibrary, RemovesTheOldestAboveTheLimit) {
  const auto oldest = link("int one(void) { return 1; }").value();
  fs::last_write_time(oldest->path(), fs::file_time_type::clock::now() - std::chrono::hours(2));
  LinkCacheOptions small = options();
  small.max_bytes = oldest->bytes().size() * 3 / 2;
  const LinkInput file = input_of("lib0.c", "int two(void) { return 2; }");

  const auto newest = LinkCache(small).link("model.tar", {&file, 1}).value();

  EXPECT_THAT(files_in(linked()), ElementsAre(newest->path()));
  // It is open.
  EXPECT_TRUE(defines(*oldest, "one"));
}

TEST_F(LinkedLibrary, RemovesDirectoriesOfLinksThatWereKilled) {
  fs::create_directories(linked() / ".link.killed/include");
  test::write_file(linked() / ".link.killed/0_lib0.c", "text");
  fs::create_directories(linked() / ".link.running");
  fs::last_write_time(linked() / ".link.killed",
                      fs::file_time_type::clock::now() - std::chrono::hours(2));

  const auto library = link("int one(void) { return 1; }").value();

  EXPECT_THAT(files_in(linked()),
              ::testing::UnorderedElementsAre(linked() / ".link.running", library->path()));
}

TEST_F(LinkedLibrary, MayBeLinkedBySeveralThreads) {
  std::vector<std::shared_ptr<const MappedFile>> libraries(4);
  std::vector<std::thread> threads;
  for (auto& library : libraries) {
    threads.emplace_back([this, &library] {
      LinkCacheOptions silent = options();
      silent.log = {};
      const LinkInput file = input_of("lib0.c", "int one(void) { return 1; }");
      library = LinkCache(silent).link("model.tar", {&file, 1}).value();
    });
  }
  for (std::thread& thread : threads) thread.join();

  for (const auto& library : libraries) EXPECT_TRUE(defines(*library, "one"));
  EXPECT_THAT(files_in(linked()), SizeIs(1));
}

// Forks children that all begin when the parent closes a pipe.
//
// returns  how many of them succeeded
int succeeded_at_once(int children, const std::function<bool()>& work) {
  int gate[2];
  EXPECT_EQ(::pipe(gate), 0);
  std::vector<pid_t> started;
  for (int i = 0; i < children; ++i) {
    const pid_t child = ::fork();
    if (child != 0) {
      started.push_back(child);
      continue;
    }
    ::close(gate[1]);
    char none;
    (void)::read(gate[0], &none, 1);
    ::_exit(work() ? 0 : 1);
  }
  ::close(gate[1]);
  int good = 0;
  for (const pid_t child : started) {
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    good += WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  ::close(gate[0]);
  return good;
}

TEST_F(LinkedLibrary, MayBeLinkedBySeveralProcesses) {
  const int good = succeeded_at_once(4, [this] {
    const auto library = link("int one(void) { return 1; }");
    return library.ok() && defines(**library, "one") && log_.empty();
  });

  EXPECT_EQ(good, 4);
  const auto library = link("int one(void) { return 1; }").value();
  EXPECT_THAT(files_in(linked()), ElementsAre(library->path()));
  EXPECT_THAT(files_in(temporary()), IsEmpty());
  EXPECT_LE(runs(), 4u);
}

TEST_F(LinkedLibrary, GivesObjectsTheirRegistration) {
  const auto bytes = test::read_file(test::golden("relax/tir_syslib_llvm.o"));
  const LinkInput file{"object without a suffix", bytes};
  ASSERT_TRUE(is_link_input(file));

  const auto library = LinkCache(options()).link("tir_syslib_llvm.o", {&file, 1}).value();

  EXPECT_TRUE(defines(*library, "__tvm_ffi_axpy"));
  const ElfFile elf = ElfFile::parse(library->bytes()).value();
  EXPECT_EQ(elf.find("TVMFFIEnvModRegisterSystemLibSymbol"), nullptr);
  EXPECT_THAT(elf.needed(), ::testing::Contains("libm.so.6"));
  EXPECT_THAT(elf.needed(), Not(::testing::Contains(HasSubstr("stdc++"))));
}

// A compiler without the C++ library, as Debian's package gcc alone is.
TEST_F(LinkedLibrary, NeedsTheCppLibraryOnlyForCpp) {
  test::write_file(
      temp_ / "cc",
      "#!/bin/sh\nfor word; do case $word in -lstdc++) echo 'cannot find -lstdc++' >&2;"
      " exit 1;; esac; done\nexec /usr/bin/cc \"$@\"\n");
  const auto object = test::read_file(test::golden("relax/tir_syslib_llvm.o"));
  const LinkInput c[] = {input_of("lib0.c", "int one(void) { return 1; }"), {"lib1.o", object}};

  const auto library = LinkCache(options()).link("model.tar", c);
  const auto cpp = link("int one() { return 1; }", "lib0.cc");

  EXPECT_TRUE(library.ok()) << library.error().message;
  ASSERT_FALSE(cpp.ok());
  EXPECT_THAT(cpp.error().message, HasSubstr("cannot find -lstdc++"));
}

TEST_F(LinkedLibrary, HasTheCppLibraryIfAnObjectImportsIt) {
  test::write_file(temp_ / "lib0.cc", "int* one() { return new int(1); }\n");
  const Status compiled =
      run_compiler("C++ compiler", {"/usr/bin/cc", "-c", "-fPIC", "-o", "lib0.o", "lib0.cc"},
                   {temp_.path(), temporary(), {}});
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  const auto object = test::read_file(temp_ / "lib0.o");
  const LinkInput file{"lib0.o", object};

  const auto library = LinkCache(options()).link("lib0.o", {&file, 1});

  ASSERT_TRUE(library.ok()) << library.error().message;
  const ElfFile elf = ElfFile::parse((*library)->bytes()).value();
  EXPECT_THAT(elf.needed(), ::testing::Contains(StartsWith("libstdc++.so")));
}

TEST_F(LinkedLibrary, IsNotMadeOfAnObjectForAnotherMachine) {
  auto bytes = test::read_file(test::golden("relax/tir_syslib_llvm.o"));
  constexpr std::size_t machine_at = 18;
  bytes[machine_at] = static_cast<std::uint8_t>(ElfMachine::riscv);
  const LinkInput file{"lib0.o", bytes};

  const auto library = LinkCache(options()).link("model.tar", {&file, 1});

  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, Code::unavailable);
  EXPECT_EQ(library.error().reason, "BLOB_ARCH");
  EXPECT_EQ(library.error().message,
            concat("object \"lib0.o\" is riscv, this host is ", name_of(host_machine())));
  EXPECT_EQ(runs(), 0u);
}

TEST_F(LinkedLibrary, NeedsACompiler) {
  LinkCacheOptions none = options();
  none.compiler = {"no-such-cc"};
  none.search.path = "/nowhere";
  const LinkInput file = input_of("lib0.o", "");

  const auto library = LinkCache(none).link("directory/lib0.o", {&file, 1});

  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, Code::unavailable);
  EXPECT_EQ(library.error().reason, "COMPILER_MISSING");
  EXPECT_EQ(library.error().message,
            "\"lib0.o\" must be linked, and there is no compiler \"no-such-cc\" in \"/nowhere\" "
            "(PATH); install one (apt install gcc), name one in the variable CC, or link it where "
            "there is one, cc -shared -o model.so lib0.o, and load the library");
}

TEST_F(LinkedLibrary, IsNotCompiledInAnElevatedProcess) {
  LinkCacheOptions secure = options();
  secure.elevated = true;
  const LinkInput file = input_of("lib0.c", "int one(void) { return 1; }");

  const auto library = LinkCache(secure).link("model.tar", {&file, 1});

  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().reason, "SECURE");
  EXPECT_EQ(library.error().message,
            "\"model.tar\" must be linked, and this secure process starts no compiler; link it "
            "where there is one, cc -shared -o model.so <its members>, and load the library");
  EXPECT_EQ(runs(), 0u);
}

// The container as TVM v0.2 and v0.3 write it; later ones have unsigned char.
TEST_F(LinkedLibrary, HasTheBytesOfASignedArray) {
  constexpr std::string_view text =
      "#define TVM_EXPORT\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
      "TVM_EXPORT extern const char __tvm_dev_mblob[];\n"
      "const char __tvm_dev_mblob[3] = {0x1,0xff,0x80};\n#ifdef __cplusplus\n}\n#endif\n";
  for (const char* const name : {"devc.cc", "devc.c"}) {
    const auto library = link(text, name);

    ASSERT_TRUE(library.ok()) << library.error().message;
    const ElfFile elf = ElfFile::parse((*library)->bytes()).value();
    EXPECT_THAT(elf.bytes_of(*elf.find("__tvm_dev_mblob")).value(), ElementsAre(0x1, 0xff, 0x80));
  }
}

// Names of members are chosen by whoever wrote the archive.
TEST_F(LinkedLibrary, TakesNoFileNameFromAMember) {
  const LinkInput files[] = {input_of("../../outside.c", "int one(void) { return 1; }"),
                             input_of("-o /tmp/x.c", "int two(void) { return 2; }"),
                             input_of("../../outside.c", "int three(void) { return 3; }")};

  const auto library = LinkCache(options()).link("model.tar", files).value();

  for (const char* name : {"one", "two", "three"}) EXPECT_TRUE(defines(*library, name));
  EXPECT_FALSE(fs::exists(temp_ / "outside.c"));
}

TEST(LinkInputs, AreObjectsAndSources) {
  const auto object = test::read_file(test::golden("relax/tir_syslib_llvm.o"));
  const auto library = test::read_file(test::golden("tvm-0.12/axpy2_llvm.so"));

  EXPECT_TRUE(is_link_input({"a", object}));
  EXPECT_FALSE(is_link_input({"a.o", library}));
  EXPECT_FALSE(is_link_input(input_of("a.o", "no object")));
  EXPECT_TRUE(is_link_input(input_of("a.c", "")));
  EXPECT_TRUE(is_link_input(input_of("a.cc", "")));
  EXPECT_FALSE(is_link_input(input_of("a.h", "")));
}

// One source for each header that a code generator includes; each must compile alone.
class GeneratedCode : public LinkedLibrary, public ::testing::WithParamInterface<const char*> {};

TEST_P(GeneratedCode, FindsItsHeader) {
  const std::string text =
      concat("#include \"", GetParam(), "\"\n#include <stdbool.h>\n",
             "TVM_DLL int32_t rank(DLTensor* x) { return x->ndim + (x->ctx.device_id - "
             "x->device.device_id); }\n");

  const auto library = link(text);

  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_TRUE(defines(**library, "rank"));
}

INSTANTIATE_TEST_SUITE_P(Headers, GeneratedCode,
                         ::testing::Values("dlpack/dlpack.h", "tvm/ffi/c_api.h",
                                           "tvm/ffi/extra/c_env_api.h", "tvm/runtime/base.h",
                                           "tvm/runtime/c_runtime_api.h",
                                           "tvm/runtime/c_backend_api.h"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace_if(
                               name, [](char c) { return c == '/' || c == '.'; }, '_');
                           return name;
                         });

TEST_F(LinkedLibrary, CallsTheRuntimeInBothDialects) {
  const auto library = link(
      "#define TVM_EXPORTS\n"
      "#include \"tvm/runtime/c_runtime_api.h\"\n#include \"tvm/runtime/c_backend_api.h\"\n"
      "#include \"tvm/ffi/c_api.h\"\n#include <math.h>\n"
      "void* __tvm_module_ctx = NULL;\nstatic void* f_packed = NULL;\n"
      "TVM_DLL int32_t packed(void* args, int* codes, int n, void* out, int* code, void* r) {\n"
      "  TVMValue stack[2]; int tcode[2]; TVMValue ret; int ret_code;\n"
      "  if (f_packed == NULL && TVMBackendGetFuncFromEnv(__tvm_module_ctx, \"f\", &f_packed) != "
      "0)\n"
      "    return -1;\n"
      "  (((TVMValue*)stack)[0].v_handle) = (((TVMValue*)args)[0].v_handle); tcode[0] = 7;\n"
      "  return TVMFuncCall(f_packed, (TVMValue*)stack, (int*)tcode, 1, &ret, &ret_code);\n}\n"
      "TVM_DLL int32_t __tvm_ffi_f(void* self, void* args, int32_t n, void* result) {\n"
      "  TVMFFIAny any; any.type_index = kTVMFFINone; any.zero_padding = 0; any.v_int64 = 0;\n"
      "  const char* parts[1] = {\"text\"};\n"
      "  if (n != 1) { TVMFFIErrorSetRaisedFromCStrParts(\"TypeError\", parts, 1); return -1; }\n"
      "  return TVMFFIFunctionCall(f_packed, (TVMFFIAny*)args, n, &any);\n}\n");

  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_TRUE(defines(**library, "packed"));
  EXPECT_TRUE(defines(**library, "__tvm_ffi_f"));
}

// The signal is that of a file above the limit of the process, in the middle of the copy.
TEST_F(LinkedLibrary, LeavesNoFileIfASignalEndsTheProcess) {
  const auto library = test::read_file(test::golden("tvm-0.12/axpy2_c.so"));
  EXPECT_EXIT(
      {
        std::signal(SIGXFSZ, SIG_DFL);
        handle_ending_signals();
        rlimit limit;
        limit.rlim_cur = limit.rlim_max = 4096;
        ::setrlimit(RLIMIT_FSIZE, &limit);
        (void)DiskCache(linked_libraries(options())).store("key", library);
        _exit(0);
      },
      ::testing::ExitedWithCode(128 + SIGXFSZ), "SIGXFSZ");
  EXPECT_TRUE(fs::is_directory(linked()));
  EXPECT_THAT(files_in(linked()), IsEmpty());
}

TEST_F(LinkedLibrary, IsNotKeptWhereItCannotBeWritten) {
  const auto library = test::read_file(test::golden("tvm-0.12/axpy2_c.so"));
  LinkCacheOptions in_a_file = options();
  in_a_file.directory = (temp_ / "cc").native();

  EXPECT_FALSE(DiskCache(linked_libraries(in_a_file)).store("key", library));

  EXPECT_THAT(log_, ElementsAre(HasSubstr(" cannot be written: Not a directory")));
}

}  // namespace
}  // namespace gantry
