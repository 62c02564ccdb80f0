// SPDX-License-Identifier: Apache-2.0
//
// Appends containers to artifacts that TVM exported.
#include "core/writing/appended_container.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/elf/elf_link.hpp"
#include "core/formats/elf/elf_sections.hpp"
#include "core/writing/container.hpp"
#include "tests/golden/cli_command.hpp"
#include "tests/golden/shell_program.hpp"
#include "tests/support/files.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace gantry::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The artifacts with a container.
std::vector<std::string> artifacts() {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(golden(""))) {
    if (entry.path().extension() != ".so") continue;
    const std::vector<std::uint8_t> bytes = read_file(entry.path());
    const auto elf = ElfFile::parse(bytes);
    if (!elf.ok() || !locate_container(*elf)->room) continue;
    names.push_back(fs::relative(entry.path(), golden("")).string());
  }
  std::ranges::sort(names);
  return names;
}

void append_to(const fs::path& library, std::string_view symbol, const Pieces& container,
               const fs::path& result) {
  const int file = ::open(result.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  DescriptorStream out(file, result.native());
  const Status appended =
      append_container(MappedFile::open(library).value(), symbol, container, out);
  ::close(file);
  ASSERT_TRUE(appended.ok()) << library << ": " << appended.error().message;
  ASSERT_TRUE(out.status().ok());
}

// A file and its container.
struct ReadFile {
  explicit ReadFile(const fs::path& path)
      : mapped(MappedFile::open(path).value()), elf(ElfFile::parse(mapped).value()) {
    container = read_container(elf, PayloadLayouts::built_in()).value();
  }
  // The range of the file's container.
  Pieces container_pieces() const {
    Pieces pieces;
    pieces.append(FileRange{mapped, container.file_offset, container.bytes.size()});
    return pieces;
  }

  std::shared_ptr<const MappedFile> mapped;
  ElfFile elf;
  Container container;
};

void expect_equal_content(const Container& found, const Container& expected) {
  EXPECT_THAT(found.bytes, ElementsAreArray(expected.bytes));
  ASSERT_EQ(found.entries.size(), expected.entries.size());
  for (std::size_t e = 0; e < found.entries.size(); ++e) {
    EXPECT_EQ(found.entries[e].type_key, expected.entries[e].type_key);
    EXPECT_EQ(found.entries[e].at, expected.entries[e].at);
  }
  EXPECT_THAT(found.tree.rows(), ElementsAreArray(expected.tree.rows()));
  EXPECT_THAT(found.tree.edges(), ElementsAreArray(expected.tree.edges()));
  EXPECT_EQ(found.facts.generation, expected.facts.generation);
  EXPECT_EQ(found.facts.dialect, expected.facts.dialect);
}

// Opens the library in a child process and compares the bytes at the symbol.
bool opens_with(const fs::path& path, const Container& expected) {
  const std::string symbol(expected.blob_symbol);
  const ::pid_t child = ::fork();
  if (child == 0) {
    void* const handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    const void* const found = handle != nullptr ? ::dlsym(handle, symbol.c_str()) : nullptr;
    const bool is_equal = found != nullptr && reinterpret_cast<std::uintptr_t>(found) % 4096 == 0 &&
                          std::memcmp(found, expected.bytes.data(), expected.bytes.size()) == 0;
    ::_exit(is_equal ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

// Each golden artifact gets its own container as a segment, then a larger one, then its own again.
TEST(AppendedContainer, ReplacesThatOfEveryArtifact) {
  const TempDir temp;
  const std::vector<std::string> names = artifacts();
  ASSERT_GT(names.size(), 60u);
  std::vector<std::string> readelf = {"readelf", "-lW", "--dyn-syms", "-s"};
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const ReadFile original(golden(name));
    const std::string symbol(original.container.blob_symbol);
    const std::string file = std::to_string(readelf.size()) + ".so";
    readelf.push_back(file);

    append_to(golden(name), symbol, original.container_pieces(), temp / file);

    const ReadFile appended(temp / file);
    expect_equal_content(appended.container, original.container);
    EXPECT_EQ(appended.container.file_offset % 4096, 0u);
    EXPECT_EQ(appended.elf.find(symbol)->size, original.container.bytes.size());
    EXPECT_TRUE(appended.elf.check_complete().ok());
    const Status links = check_link(appended.elf);
    EXPECT_TRUE(links.ok()) << links.error().message;
    EXPECT_TRUE(opens_with(temp / file, original.container));

    Pieces larger = original.container_pieces();
    const std::string more(100'000, 'm');
    larger.Write(more.data(), more.size());
    append_to(temp / file, symbol, larger, temp / "larger.so");
    // The section headers are aligned.
    EXPECT_NEAR(static_cast<double>(fs::file_size(temp / "larger.so")),
                static_cast<double>(fs::file_size(temp / file) + more.size()), 16);
    append_to(temp / "larger.so", symbol, original.container_pieces(), temp / "again.so");
    EXPECT_EQ(read_file(temp / "again.so"), read_file(temp / file));
  }
  const std::string text = output_of(readelf, temp.path());
  EXPECT_THAT(text, HasSubstr("__tvm_dev_mblob"));
  EXPECT_THAT(text, Not(HasSubstr("readelf:")));
}

// strip and objcopy lay the file out again; what they write can get another container.
TEST(AppendedContainer, SurvivesStripAndObjcopy) {
  const TempDir temp;
  const std::vector<std::vector<std::string>> commands = {
      {"strip", "-o", "copy.so"},
      {"strip", "--strip-unneeded", "-o", "copy.so"},
      {"objcopy"},
      {"objcopy", "--strip-debug"}};
  for (const std::string name :
       {"relax/cnn_llvm.so", "tvm-0.12/axpy2_vulkan.so", "tvm-0.12/digits_mlp_c.so",
        "tvm-0.12/resnet20_llvm.so", "tvm-0.25/axpy2_opencl.so"}) {
    const ReadFile original(golden(name));
    const std::string symbol(original.container.blob_symbol);
    append_to(golden(name), symbol, original.container_pieces(), temp / "a.so");
    for (std::vector<std::string> command : commands) {
      SCOPED_TRACE(name + " " + command[0] + " " + command.back());
      command.push_back("a.so");
      if (command[0] == "objcopy") command.emplace_back("copy.so");

      EXPECT_EQ(output_of(command, temp.path()), "");

      const ReadFile copy(temp / "copy.so");
      expect_equal_content(copy.container, original.container);
      EXPECT_EQ(copy.container.file_offset % 4096, 0u);
      const Status links = check_link(copy.elf);
      EXPECT_TRUE(links.ok()) << links.error().message;
      EXPECT_TRUE(opens_with(temp / "copy.so", original.container));
      const std::string text = output_of({"readelf", "-aW", "copy.so"}, temp.path());
      EXPECT_THAT(text, HasSubstr(".gantry.container PROGBITS"));
      EXPECT_THAT(text, Not(HasSubstr("arning")));

      append_to(temp / "copy.so", symbol, original.container_pieces(), temp / "again.so");
      EXPECT_EQ(read_file(temp / "again.so"), read_file(temp / "copy.so"));
    }
  }
}

// The headers, the addresses of the container's symbol and the section numbers of others change;
// everything else stays where it is, and the file is longer.
TEST(AppendedContainer, LeavesTheOtherBytesOfTheLibrary) {
  const TempDir temp;
  const std::string name = "tvm-0.12/resnet20_llvm.so";
  const ReadFile original(golden(name));

  append_to(golden(name), "__tvm_dev_mblob", original.container_pieces(), temp / "a.so");

  const std::vector<std::uint8_t> before = read_file(golden(name)),
                                  after = read_file(temp / "a.so");
  std::vector<std::pair<std::size_t, std::size_t>> changing = {{0x28, 0x30}, {0x3c, 0x40}};
  const auto& segments = original.elf.image().segments();
  changing.emplace_back(segments.front().at, segments.back().at + program_header_bytes);
  const auto& sections = original.elf.image().sections();
  const auto table = std::ranges::find(sections, section_type::symbols, &ElfSection::type);
  ASSERT_NE(table, sections.end());
  const auto symbols =
      section_symbols(original.elf.image(), static_cast<std::size_t>(table - sections.begin()));
  std::vector<ElfSymbol> all = symbols.value();
  all.push_back(*original.elf.find("__tvm_dev_mblob"));
  for (const ElfSymbol& symbol : all) {
    constexpr std::size_t section_at = 6, size_at = 16;
    const bool is_container = symbol.name == "__tvm_dev_mblob";
    if (!is_container && symbol.type != SymbolType::section) continue;
    changing.emplace_back(symbol.at + section_at, symbol.at + (is_container ? size_at : 8));
  }
  for (std::size_t at = 0; at < before.size(); ++at) {
    if (before[at] == after[at]) continue;
    EXPECT_TRUE(std::ranges::any_of(
        changing, [&](const auto& range) { return at >= range.first && at < range.second; }))
        << "byte " << at;
  }
  const std::size_t container_end =
      (before.size() + 4095) / 4096 * 4096 + original.container.bytes.size();
  EXPECT_LT(after.size(), container_end + (sections.size() + 1) * 64 + 512);
}

TEST(AppendedContainer, RunsWithTheSameOutputsEvenStripped) {
  const TempDir temp;
  const std::string base = "tvm-0.12/resnet20_llvm";
  const ReadFile original(golden(base + ".so"));
  append_to(golden(base + ".so"), "__tvm_dev_mblob", original.container_pieces(), temp / "a.so");
  ASSERT_EQ(output_of({"strip", "a.so"}, temp.path()), "");

  const Outcome run = run_gantry(
      {"--plugins", built_plugins("graph"), "run", (temp / "a.so").string(), "--input",
       "data=tvm-0.12/resnet20.input.npz", "--each", "--expect", base + ".expected.npz"});

  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, IsEmpty());
  EXPECT_THAT(run.out, HasSubstr("\nequal to " + base + ".expected.npz\n"));
}

}  // namespace
}  // namespace gantry::test
