// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/library/inspect.hpp"

#include "core/formats/elf/elf_file.hpp"
#include "core/formats/elf/elf_types.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/note_bytes.hpp"
#include "tests/unit/library/world.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <random>

namespace gantry {
namespace {

using test::ElfBuilder;
using test::fake_manifest;
using test::ManifestBuilder;
using test::plugin_elf;
using test::World;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr gantry_abi_range kCore{1, 0, 0, 0};

Error refusal(const World& world, Depth depth = Depth::library) {
  const auto inspection = inspect_plugin(world.manifest("x"), kCore, depth);
  return inspection.ok() ? Error{} : inspection.error();
}

Error refusal_of(const ElfBuilder& elf, const ManifestBuilder& manifest = fake_manifest(),
                 Depth depth = Depth::library) {
  World world;
  world.add("x", "", manifest);
  test::write_file(world.library("x"), elf.build());
  return refusal(world, depth);
}

TEST(InspectPlugin, AcceptsAGoodPlugin) {
  World world;
  world.add("x", "good");

  const auto inspection = inspect_plugin(world.manifest("x"), kCore, Depth::dependencies);

  ASSERT_TRUE(inspection.ok()) << inspection.error().message;
  EXPECT_TRUE(inspection->warnings.empty());
  EXPECT_EQ(refusal_of(plugin_elf()).message, "");
}

TEST(InspectPlugin, ChecksTheManifestsRangeBeforeTheFile) {
  World world;
  world.add("x", "", fake_manifest().abi("{major: 1, min_minor: 7, max_minor: 9}"));

  EXPECT_EQ(refusal(world).reason, "ABI_RANGE");
}

TEST(InspectPlugin, NamesTheMissingPartOfAPath) {
  World world;
  world.add("x", "", fake_manifest().library("sub/libfake.so"));

  const Error error = refusal(world);

  const std::string directory = (world.path() / "x").string();
  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_EQ(error.reason, "LIBRARY_MISSING");
  EXPECT_THAT(
      error.message,
      StartsWith(directory + "/sub/libfake.so does not exist: the path exists up to " + directory));
  EXPECT_THAT(error.message, HasSubstr("\n  library \"sub/libfake.so\" of " + directory +
                                       "/x.yaml, resolved to " + directory + "/sub/libfake.so"));
}

// A library with the name is in the working directory, and one directory above the manifest.
TEST(InspectPlugin, DoesNotUseTheWorkingDirectory) {
  World world;
  world.add("x", "");
  std::filesystem::copy_file(test::fake_library("good"), world.path() / "libfake.so");
  const std::filesystem::path before = std::filesystem::current_path();

  std::filesystem::current_path(world.path());
  const Error plain = refusal(world);
  fake_manifest().library("./libfake.so").write_to(world.path() / "x/x.yaml");
  const Error dotted = refusal(world);
  std::filesystem::current_path(before);

  EXPECT_EQ(plain.reason, "LIBRARY_MISSING");
  EXPECT_EQ(dotted.reason, "LIBRARY_MISSING");
  EXPECT_THAT(dotted.message, HasSubstr("library \"./libfake.so\" of "));
}

TEST(InspectPlugin, ReportsADanglingLink) {
  World world;
  world.add("x", "");
  std::filesystem::create_symlink("/nowhere/lib.so", world.library("x"));

  EXPECT_EQ(refusal(world).reason, "LIBRARY_MISSING");
  EXPECT_THAT(refusal(world).message, HasSubstr("is a dangling symbolic link"));
}

TEST(InspectPlugin, RejectsOtherKindsOfFilesWithoutOpeningThem) {
  const auto expect = [](const World& world, std::string_view kind) {
    const Error error = refusal(world);
    EXPECT_EQ(error.code, Code::malformed);
    EXPECT_EQ(error.reason, "NOT_A_FILE");
    EXPECT_THAT(error.message, HasSubstr(concat("is a ", kind, ", not a regular file")));
  };
  World fifo;
  fifo.add("x", "");
  ASSERT_EQ(mkfifo(fifo.library("x").c_str(), 0600), 0);
  expect(fifo, "FIFO");

  World directory;
  directory.add("x", "");
  std::filesystem::create_directory(directory.library("x"));
  expect(directory, "directory");

  World device;
  device.add("x", "");
  std::filesystem::create_symlink("/dev/zero", device.library("x"));
  expect(device, "character device");

  World socket_file;
  socket_file.add("x", "");
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_file.library("x").string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  expect(socket_file, "socket");
  ::close(listener);
}

TEST(InspectPlugin, RejectsTextAndEmptyFilesWithTheirFirstBytes) {
  std::string random;
  std::mt19937 generator(1);
  while (random.size() < 8192) random += static_cast<char>(generator());
  random.replace(0, 4, "\x01\xfe\x80Z");
  const std::pair<std::string, std::string> files[] = {
      {"", "is empty"},
      {"hello", "not an ELF file: first bytes are 68 65 6c 6c"},
      {"#!/bin/sh\nexit 0\n", "not an ELF file: first bytes are 23 21 2f 62"},
      {random, "not an ELF file: first bytes are 01 fe 80 5a"}};
  for (const auto& [content, text] : files) {
    World world;
    world.add("x", "");
    test::write_file(world.library("x"), content);
    const Error error = refusal(world);
    EXPECT_EQ(error.code, Code::malformed) << text;
    EXPECT_EQ(error.reason, "NOT_ELF") << text;
    EXPECT_THAT(error.message, HasSubstr(text));
  }
}

// The system's linker maps a truncated file, and the first access to a missing page raises SIGBUS.
TEST(InspectPlugin, RejectsEveryTruncation) {
  const std::vector<std::uint8_t> whole = test::read_file(test::fake_library("good"));
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t size = whole.size() * i / 64;
    World world;
    world.add("x", "");
    test::write_file(world.library("x"), std::span(whole).first(size));
    const Error error = refusal(world);
    EXPECT_EQ(error.code, Code::malformed) << size;
    EXPECT_EQ(error.reason, size == 0 ? "NOT_ELF" : "TRUNCATED") << size << " " << error.message;
    if (size == 0) continue;
    EXPECT_THAT(error.message.text(),
                ContainsRegex("(segment [0-9]+|(section|program) header table) ends at "
                              "0x[0-9a-f]+, file ends at 0x"))
        << size;
    EXPECT_THAT(error.message, HasSubstr(concat("file ends at ", Hex{size}))) << size;
  }
  World world;
  world.add("x", "");
  test::write_file(world.library("x"), std::span(whole).first(whole.size() - 1));
  EXPECT_EQ(refusal(world).reason, "TRUNCATED");
}

TEST(InspectPlugin, NamesTheMachineOfALibrary) {
  const bool here_is_arm = host_machine() == ElfMachine::aarch64;
  const Error error = refusal_of(plugin_elf().machine(here_is_arm ? 62 : 183));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "WRONG_MACHINE");
  EXPECT_THAT(error.message,
              HasSubstr(here_is_arm ? "libfake.so is built for x86-64, this host is aarch64"
                                    : "libfake.so is built for aarch64, this host is x86-64"));
  EXPECT_THAT(error.message, Not(HasSubstr("No such file")));
}

TEST(InspectPlugin, RejectsThirtyTwoBitsAndBigEndian) {
  for (const auto& [at, value, text] :
       {std::tuple(4, 1, "is 32-bit"), std::tuple(5, 2, "is big-endian")}) {
    std::vector<std::uint8_t> bytes = plugin_elf().build();
    bytes[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(value);
    World world;
    world.add("x", "");
    test::write_file(world.library("x"), bytes);
    const Error error = refusal(world);
    EXPECT_EQ(error.code, Code::unsupported);
    EXPECT_EQ(error.reason, "WRONG_MACHINE");
    EXPECT_THAT(error.message, HasSubstr(text));
  }
}

TEST(InspectPlugin, RejectsProgramsAndTheProgramItself) {
  for (const char* program : {"fake_program", "fake_fixed_program"}) {
    World world;
    world.add("x", "");
    std::filesystem::copy_file(test::build_tree() / "tests/fake_plugins" / program,
                               world.library("x"));
    const Error error = refusal(world);
    EXPECT_EQ(error.code, Code::malformed) << program;
    EXPECT_EQ(error.reason, "EXECUTABLE") << program;
    EXPECT_THAT(error.message, HasSubstr("is a program, expected a shared library"));
  }
  World world;
  world.add("x", "");
  std::filesystem::create_symlink("/proc/self/exe", world.library("x"));
  EXPECT_EQ(refusal(world).reason, "EXECUTABLE");
  EXPECT_THAT(refusal(world).message, HasSubstr("is this program itself"));
}

TEST(InspectPlugin, RejectsAnObjectFile) {
  World world;
  world.add("x", "");
  const std::vector<std::uint8_t> content = {1, 2, 3};
  test::write_file(world.library("x"), test::relocatable_object("gantry_plugin_query_v1", content));

  const Error error = refusal(world);

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.reason, "ELF_BROKEN");
  EXPECT_EQ(error.message,
            world.library("x").string() + " is an object file, expected a shared library");
}

TEST(InspectPlugin, RejectsSmallerPagesThanThoseOfTheHost) {
  std::vector<std::uint8_t> bytes = plugin_elf().build();
  const ElfFile elf = ElfFile::parse(bytes).value();
  for (const ElfSegment& segment : elf.image().segments()) {
    // p_align: 1024
    if (segment.type == segment_type::load) bytes[segment.at + 49] = 4;
  }
  World world;
  world.add("x", "");
  test::write_file(world.library("x"), bytes);

  const Error error = refusal(world);

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "PAGE_SIZE");
  EXPECT_THAT(error.message, HasSubstr(" is aligned to 1024 bytes, pages of this host have "));
  EXPECT_THAT(error.message, HasSubstr("; link it with -Wl,-z,max-page-size=65536"));
}

TEST(InspectPlugin, RejectsAnExecutableStackOnEveryHost) {
  World world;
  world.add("x", "");
  test::write_file(world.library("x"), plugin_elf().executable_stack().build());

  const Error error = refusal(world);

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "EXEC_STACK");
  EXPECT_EQ(error.message, world.library("x").string() +
                               " requires an executable stack, which newer systems reject; link it "
                               "with -Wl,-z,noexecstack");
}

// Old assemblers omit the header, and the kernel's default is executable on x86-64.
TEST(InspectPlugin, RejectsALibraryWithoutAStackHeader) {
  if (host_machine() != ElfMachine::x86_64) GTEST_SKIP() << "the default differs on this machine";
  std::vector<std::uint8_t> bytes = plugin_elf().build();
  // PT_GNU_STACK
  const std::uint8_t type[] = {0x51, 0xe5, 0x74, 0x64};
  const auto at = std::search(bytes.begin(), bytes.end(), std::begin(type), std::end(type));
  ASSERT_NE(at, bytes.end());
  // PT_NULL
  std::fill_n(at, sizeof type, std::uint8_t{0});
  World world;
  world.add("x", "");
  test::write_file(world.library("x"), bytes);

  const Error error = refusal(world);

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "EXEC_STACK");
  EXPECT_EQ(error.message, world.library("x").string() +
                               " has no PT_GNU_STACK header, which implies an executable stack, "
                               "which newer systems reject; link it with -Wl,-z,noexecstack");
}

TEST(InspectPlugin, ListsExportedSymbolsIfTheQueryIsMissing) {
  ElfBuilder elf = ElfBuilder().at_least(4096);
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) elf.function(name);

  EXPECT_THAT(refusal_of(elf).message,
              HasSubstr("does not export gantry_plugin_query_v1, found a, b, c, d, e and 2 more"));
  EXPECT_EQ(refusal_of(elf).reason, "QUERY_MISSING");
  EXPECT_THAT(refusal_of(ElfBuilder().at_least(4096)).message, HasSubstr("found no symbol"));
}

TEST(InspectPlugin, LimitsTheSizeOfALibrary) {
  for (const std::uint64_t size : {std::uint64_t{4095}, (std::uint64_t{1} << 32) + 1}) {
    World world;
    world.add("x", "");
    test::write_file(world.library("x"), plugin_elf().at_least(0).build());
    std::filesystem::resize_file(world.library("x"), size);

    const Error error = refusal(world);

    EXPECT_EQ(error.code, Code::malformed);
    EXPECT_EQ(error.reason, "LIBRARY_SIZE");
    EXPECT_THAT(error.message, StartsWith(world.library("x").string() + " has "));
    EXPECT_THAT(error.message, HasSubstr(", expected 4096 to 4294967296"));
  }
}

TEST(InspectPlugin, RequiresANote) {
  World world;
  world.add("x", "no_note");

  EXPECT_EQ(refusal(world).code, Code::malformed);
  EXPECT_EQ(refusal(world).reason, "NOTE_MISSING");
}

TEST(InspectPlugin, ReturnsTheNote) {
  World world;
  world.add("x", "good");

  const auto inspection = inspect_plugin(world.manifest("x"), kCore, Depth::library);

  ASSERT_TRUE(inspection.ok()) << inspection.error().message;
  EXPECT_EQ(inspection->note.id, "test.fake");
  EXPECT_EQ(inspection->note.version, "1.0.0");
  EXPECT_EQ(inspection->note.sdk_version, GANTRY_SDK_VERSION);
  EXPECT_EQ(inspection->note.sanitizer, GANTRY_SANITIZER);
}

TEST(InspectPlugin, RejectsImportsOfTheCoreBeforeOpening) {
  const std::pair<std::string, std::string> symbols[] = {
      {"gantry_runtime_create", ""},
      {"_ZN6gantry7Runtime6createEv", " (gantry::Runtime::create())"},
      {"_ZNK6gantry6Tensor5dtypeEv", " (gantry::Tensor::dtype() const)"}};
  for (const auto& [symbol, name] : symbols) {
    const Error error = refusal_of(plugin_elf().undefined(symbol));
    EXPECT_EQ(error.reason, "SYMBOL_MISSING");
    EXPECT_THAT(error.message, HasSubstr(concat("imports ", symbol, name,
                                                ": plugins must not import core symbols")));
  }
  EXPECT_EQ(refusal_of(plugin_elf().undefined("malloc")).message, "");
}

TEST(InspectPlugin, ChecksTheRequirementsOfTheManifest) {
  const auto needs = [](std::string_view what) { return fake_manifest().set("requires", what); };

  EXPECT_EQ(refusal_of(plugin_elf(),
                       needs("{device_nodes: [/dev/null], files: [/etc], libraries: [{soname: "
                             "libc.so.6}]}"))
                .message,
            "");
  const Error node = refusal_of(plugin_elf(), needs("{device_nodes: [/dev/acme0]}"));
  EXPECT_EQ(node.code, Code::unavailable);
  EXPECT_EQ(node.reason, "NO_DEVICE_NODE");
  EXPECT_THAT(node.message, StartsWith("device node /dev/acme0 does not exist"));
  EXPECT_THAT(node.message, HasSubstr("; in a container it must be passed in"));
  const Error file = refusal_of(plugin_elf(), needs("{files: [/opt/acme/firmware]}"));
  EXPECT_EQ(file.reason, "FILE_MISSING");
  EXPECT_THAT(file.message, StartsWith("required file /opt/acme/firmware does not exist"));
  const Error driver =
      refusal_of(plugin_elf(), needs("{libraries: [{soname: libacme_driver.so.1}]}"));
  EXPECT_EQ(driver.reason, "DRIVER_MISSING");
  EXPECT_THAT(driver.message,
              StartsWith("driver library libacme_driver.so.1 is not found; searched "));
}

TEST(InspectPlugin, ReadsADriversVersionFromItsRealName) {
  World world;
  world.add("x", "",
            fake_manifest().set("requires",
                                "{libraries: [{soname: libdrv.so.1, min_version: \"7.1\"}]}"));
  test::write_file(world.library("x"), plugin_elf().runpath("$ORIGIN").build());
  test::write_file(world.path() / "x/libdrv.so.1.6.9", ElfBuilder().build());
  std::filesystem::create_symlink("libdrv.so.1.6.9", world.path() / "x/libdrv.so.1");

  const Error error = refusal(world);

  EXPECT_EQ(error.reason, "DRIVER_TOO_OLD");
  EXPECT_EQ(error.message,
            concat("driver library ", (world.path() / "x/libdrv.so.1").string(),
                   " is version 1.6.9 by the name of its file, minimum is 7.1: install a newer "
                   "driver"));
}

TEST(InspectPlugin, NamesAllThatTheManifestRequires) {
  const auto needs = [](std::string_view what) { return fake_manifest().set("requires", what); };
  const ManifestBuilder all = needs(
      "{device_nodes: [/dev/acme0, /dev/null, /dev/acme1], files: [/opt/acme/firmware], "
      "libraries: [{soname: libacme_driver.so.1}, {soname: libc.so.6, symbols: [acme_open]}]}");
  const ElfBuilder elf = plugin_elf().needed("libacme_rt.so.2");

  const Error early = refusal_of(elf, all), whole = refusal_of(elf, all, Depth::dependencies);

  EXPECT_EQ(early.code, Code::unavailable);
  EXPECT_EQ(early.reason, "NO_DEVICE_NODE");
  EXPECT_THAT(early.message.text(),
              testing::MatchesRegex(
                  "device node /dev/acme0 does not exist: [^\n]*\n"
                  "  also: device node /dev/acme1 does not exist: [^\n]*\n"
                  "  also: required file /opt/acme/firmware does not exist; [^\n]*\n"
                  "  also: driver library libacme_driver.so.1 is not found; [^\n]*\n"
                  "  also: driver library [^ ]*/libc.so.6 does not define acme_open, which the "
                  "plugin requires: install a newer driver"));
  EXPECT_THAT(whole.message,
              HasSubstr("\n  also: libacme_rt.so.2 is not found, needed by libfake.so; "));
}

// The file name has fewer numbers than the minimum: those that it lacks are not compared.
TEST(InspectPlugin, ComparesAsManyNumbersAsTheFileNameHas) {
  const auto is_refused = [](std::string_view file, std::string_view min) {
    World world;
    world.add("x", "",
              fake_manifest().set("requires", concat("{libraries: [{soname: ", file,
                                                     ", min_version: \"", min, "\"}]}")));
    test::write_file(world.library("x"), plugin_elf().runpath("$ORIGIN").build());
    test::write_file(world.path() / "x" / file, ElfBuilder().build());
    return refusal(world).reason == "DRIVER_TOO_OLD";
  };

  EXPECT_FALSE(is_refused("libort.so.1", "1.20"));
  EXPECT_FALSE(is_refused("libort.so.1", "1"));
  EXPECT_TRUE(is_refused("libort.so.1", "2.0"));
  EXPECT_FALSE(is_refused("libort.so.1.32", "1.20.5"));
  EXPECT_TRUE(is_refused("libort.so.1.19", "1.20.5"));
  EXPECT_TRUE(is_refused("libort.so.1.20.4", "1.20.5"));
  EXPECT_FALSE(is_refused("libort.so.1.20.5.1", "1.20.5"));
}

// A library whose file name does not have its version.
TEST(InspectPlugin, RequiresSymbolsOfADriver) {
  const auto refused = [](std::string_view symbols, const ElfBuilder& driver) {
    World world;
    world.add(
        "x", "",
        fake_manifest().set(
            "requires", concat("{libraries: [{soname: libdrv.so.1, symbols: ", symbols, "}]}")));
    test::write_file(world.library("x"), plugin_elf().runpath("$ORIGIN").build());
    test::write_file(world.path() / "x/libdrv.so.1", driver.build());
    return refusal(world);
  };
  const ElfBuilder driver = ElfBuilder().function("drv_open").undefined("drv_later");

  EXPECT_EQ(refused("[drv_open]", driver).message, "");
  const Error error = refused("[drv_open, drv_later, DRV_2.0]", driver);
  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "DRIVER_TOO_OLD");
  EXPECT_THAT(error.message, HasSubstr("/libdrv.so.1 does not define drv_later, DRV_2.0, which the "
                                       "plugin requires: install a newer driver"));
  // A version of the C library.
  EXPECT_EQ(refusal_of(plugin_elf(),
                       fake_manifest().set(
                           "requires",
                           "{libraries: [{soname: libc.so.6, symbols: [GLIBC_2.34, dlopen]}]}"))
                .message,
            "");
}

TEST(InspectPlugin, ReportsADriverThatIsNoLibrary) {
  World world;
  world.add(
      "x", "",
      fake_manifest().set("requires", "{libraries: [{soname: libdrv.so.1, symbols: [drv_open]}]}"));
  test::write_file(world.library("x"), plugin_elf().runpath("$ORIGIN").build());
  std::vector<std::uint8_t> bytes = ElfBuilder().build();
  bytes.resize(100);
  test::write_file(world.path() / "x/libdrv.so.1", bytes);

  const Error error = refusal(world);

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "DRIVER_TOO_OLD");
  EXPECT_THAT(error.message,
              StartsWith(concat("driver library ", (world.path() / "x/libdrv.so.1").string(),
                                " cannot be read: ")));
  EXPECT_THAT(error.message, HasSubstr(": install a newer driver"));
}

// The plugin's library needs one that is there, which needs one that is not.
TEST(InspectPlugin, NamesTheChainDirectoriesAndNearNamesOfAMissingLibrary) {
  World world;
  world.add("x", "missing_dependency");
  const std::string directory = (world.path() / "x").string();
  test::write_file(
      world.path() / "x/libfake_dependency.so.4",
      ElfBuilder().runpath("$ORIGIN/lib:/opt/acme/lib").needed("libacme.so.2").build());
  std::filesystem::create_directory(world.path() / "x/lib");
  test::write_file(world.path() / "x/lib/libacme.so.1", std::string_view("older"));

  const Error error = refusal(world, Depth::dependencies);

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "LIB_NEEDED_MISSING");
  EXPECT_THAT(error.message,
              StartsWith(concat("libacme.so.2 is not found, needed by libfake.so -> "
                                "libfake_dependency.so.4; searched $ORIGIN/lib=",
                                directory, "/lib, /opt/acme/lib, the linker's cache, ")));
  EXPECT_THAT(error.message, HasSubstr("; found libacme.so.1 there"));
}

// dlopen() searches for them itself; they are inspected only if nothing is opened or dlopen() has
// failed.
TEST(InspectPlugin, SearchesForNeededLibrariesOnlyWithDependencies) {
  World world;
  world.add("x", "missing_dependency");

  EXPECT_EQ(refusal(world, Depth::library).message, "");
  const Error error = refusal(world, Depth::dependencies);
  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "LIB_NEEDED_MISSING");
  EXPECT_THAT(error.message,
              StartsWith("libfake_dependency.so.4 is not found, needed by libfake.so; searched "));
}

TEST(InspectPlugin, ComparesSymbolVersionsOnlyWithDependencies) {
  const ElfBuilder elf = plugin_elf().needed("libc.so.6").version_need("libc.so.6", {"GLIBC_2.99"});

  EXPECT_EQ(refusal_of(elf, fake_manifest(), Depth::library).message, "");
  const Error error = refusal_of(elf, fake_manifest(), Depth::dependencies);
  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "VERSION_NEEDED");
  EXPECT_THAT(error.message, StartsWith("libfake.so needs GLIBC_2.99 of libc.so.6, this host has"));
}

TEST(InspectPlugin, ChecksStaticTlsOnlyWithDependencies) {
  const std::uint64_t df_static_tls = 0x10, dt_flags = 30;
  const ElfBuilder elf = plugin_elf().tls(1 << 20).dynamic(dt_flags, df_static_tls);

  EXPECT_EQ(refusal_of(elf, fake_manifest(), Depth::library).message, "");
  const Error error = refusal_of(elf, fake_manifest(), Depth::dependencies);
  EXPECT_EQ(error.reason, "STATIC_TLS");
  EXPECT_THAT(error.message, HasSubstr("requires 1048576 bytes of static thread-local storage"));
  EXPECT_THAT(error.message, HasSubstr("build it with -ftls-model=global-dynamic"));
}

TEST(InspectPlugin, AcceptsStaticTlsUpToTheReserve) {
  const auto uses = [](std::uint64_t bytes) {
    return refusal_of(plugin_elf().tls(bytes).dynamic(30, 0x10), fake_manifest(),
                      Depth::dependencies)
        .reason;
  };
  EXPECT_EQ(uses(1664), "");
  EXPECT_EQ(uses(1665), "STATIC_TLS");
}

TEST(InspectPlugin, AcceptsTlsThatIsNotStatic) {
  EXPECT_EQ(refusal_of(plugin_elf().tls(1 << 20), fake_manifest(), Depth::dependencies).message,
            "");
}

TEST(InspectPlugin, AcceptsADriverThatIsNewEnoughOrHasNoVersion) {
  for (const std::string file : {"libdrv.so.1.7.2", "libdrv"}) {
    World world;
    const std::string soname = file == "libdrv" ? "libdrv.so" : "libdrv.so.1";
    world.add("x", "",
              fake_manifest().set("requires", concat("{libraries: [{soname: ", soname,
                                                     ", min_version: \"1.7\"}]}")));
    test::write_file(world.library("x"), plugin_elf().runpath("$ORIGIN").build());
    test::write_file(world.path() / "x" / file, ElfBuilder().build());
    std::filesystem::create_symlink(file, world.path() / "x" / soname);

    EXPECT_EQ(refusal(world).message, "") << file;
  }
}

TEST(InspectPlugin, AcceptsAWeakImportOfTheCore) {
  std::vector<std::uint8_t> bytes = plugin_elf().undefined("gantry_runtime_create").build();
  const std::uint64_t entry = ElfFile::parse(bytes)->find("gantry_runtime_create")->at;
  // STB_WEAK
  bytes[entry + 4] = 2 << 4;
  World world;
  world.add("x", "");
  test::write_file(world.library("x"), bytes);

  EXPECT_EQ(refusal(world).message, "");
}

TEST(InspectPlugin, MentionsContainersIfALibraryIsMissing) {
  World world;
  world.add("x", "");

  EXPECT_THAT(refusal(world).message, HasSubstr("in a container the library's directory may have"));
}

TEST(InspectPlugin, WarnsAboutTextRelocations) {
  World world;
  world.add("x", "");
  // DT_TEXTREL
  test::write_file(world.library("x"), plugin_elf().dynamic(22, 0).build());

  const auto inspection = inspect_plugin(world.manifest("x"), kCore, Depth::library);

  ASSERT_TRUE(inspection.ok()) << inspection.error().message;
  ASSERT_EQ(inspection->warnings.size(), 1u);
  EXPECT_THAT(inspection->warnings[0], HasSubstr("has text relocations"));
}

}  // namespace
}  // namespace gantry
