// SPDX-License-Identifier: Apache-2.0
//
// Aligns every payload of the golden artifacts, and finds the same arrays in the result.
#include "core/formats/aligned_payload.hpp"

#include "core/formats/container.hpp"
#include "core/formats/details.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/relay_code.hpp"
#include "tests/support/aligned_bytes.hpp"
#include "tests/support/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace gantry {
namespace {

using test::aligned;
using ::testing::IsEmpty;

using PayloadSpan = std::span<const std::uint8_t>;

// An array record and the offset of its data.
struct RecordIn {
  PayloadSpan bytes;
  std::uint64_t data_at;
  bool is_filler;
};

// Finds array records by their magic number, wherever they are.
std::vector<RecordIn> records_in(PayloadSpan payload) {
  std::vector<RecordIn> found;
  std::uint8_t magic[8];
  std::memcpy(magic, &array_record_magic, sizeof magic);
  for (std::size_t at = 0;;) {
    const auto next = std::search(payload.begin() + static_cast<std::ptrdiff_t>(at), payload.end(),
                                  std::begin(magic), std::end(magic));
    if (next == payload.end()) return found;
    at = static_cast<std::size_t>(next - payload.begin());
    ByteReader in(payload.subspan(at));
    const ArrayRecord array = read_array_record(in, "array").value();
    const bool is_filler =
        array.dtype.code == 1 && array.dtype.bits == 8 && array.shape.size() == 1 &&
        std::ranges::all_of(array.data, [](std::uint8_t byte) { return byte == 0; });
    found.push_back({payload.subspan(at, in.offset()), at + array.data_at, is_filler});
    at += in.offset();
  }
}

// The details that no filler changes, as text.
std::string fixed_text(const Detail& detail) {
  for (const char* const changed : {"constants", "fillers", "params", "constant"}) {
    if (detail.name == changed) return "";
  }
  std::string text = detail.name + "=" + detail.value + "{";
  for (const Detail& child : detail.children) text += fixed_text(child);
  return text + "},";
}

bool has_compiled_function(const PayloadDetails& details) {
  const Detail* const functions = details.root.find("functions");
  return functions != nullptr &&
         std::ranges::any_of(functions->children, [](const Detail& function) {
           const Detail* const kind = function.find("kind");
           return kind != nullptr && kind->value == "2";
         });
}

struct Counts {
  int aligned = 0, refused = 0, arrays = 0;
};

void align_entry(const Entry& entry, const ExporterFacts& facts, const PayloadLayouts& layouts,
                 Counts& counts) {
  const PayloadDetails before = describe_payload(entry, facts, layouts);
  const std::vector<RecordIn> old = records_in(entry.payload);

  const auto bytes = aligned(entry.type_key, entry.payload, facts.numbering, entry.at);

  if (!bytes.ok()) {
    EXPECT_EQ(bytes.error().code, Code::unsupported) << bytes.error().message;
    EXPECT_TRUE(has_compiled_function(before) && !old.empty());
    ++counts.refused;
    return;
  }
  ++counts.aligned;
  std::vector<RecordIn> made = records_in(*bytes);
  ASSERT_EQ(made.size(), 2 * old.size());
  for (std::size_t i = 0; i < old.size(); ++i) {
    const RecordIn& array = made[2 * i + 1];
    EXPECT_TRUE(made[2 * i].is_filler);
    EXPECT_TRUE(std::ranges::equal(array.bytes, old[i].bytes)) << "array " << i;
    EXPECT_EQ((entry.at + array.data_at) % (array.bytes.size() >= 70000 ? 4096 : 128), 0u);
  }
  counts.arrays += static_cast<int>(old.size());

  Entry written = entry;
  written.payload = *bytes;
  const PayloadDetails after = describe_payload(written, facts, layouts);
  EXPECT_THAT(after.warnings, IsEmpty());
  EXPECT_EQ(fixed_text(after.root), fixed_text(before.root));
  if (after.root.find("functions") != nullptr && !old.empty()) {
    const Detail* const fillers = after.root.find("fillers");
    ASSERT_NE(fillers, nullptr);
    EXPECT_EQ(fillers->children.size(), old.size());
  }
  EXPECT_EQ(aligned(entry.type_key, *bytes, facts.numbering, entry.at).value(), *bytes);
}

TEST(AlignedGolden, PayloadsHaveTheSameArraysAndTheSameCode) {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  Counts counts;
  for (const char* const directory : {"tvm-0.12", "tvm-0.25", "relax"}) {
    for (const auto& file : std::filesystem::directory_iterator(test::golden(directory))) {
      if (file.path().extension() != ".so") continue;
      SCOPED_TRACE(file.path().filename().native());
      const ElfFile elf = ElfFile::parse(MappedFile::open(file.path()).value()).value();
      const Container container = read_container(elf, layouts).value();
      for (const Entry& entry : container.entries) {
        if (!entry.payload.empty()) align_entry(entry, container.facts, layouts, counts);
      }
    }
  }
  EXPECT_GT(counts.aligned, 60);
  EXPECT_GT(counts.arrays, 300);
  // Relax models in compiled mode with arrays among their constants.
  EXPECT_GE(counts.refused, 3);
}

// The reader of the code compares the hash of each instruction.
TEST(AlignedGolden, RelayCodeHasTheHashesOfTvm) {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  const auto file = test::golden("tvm-0.12/digits_mlp_vm_llvm.so");
  const ElfFile elf = ElfFile::parse(MappedFile::open(file).value()).value();
  const Container container = read_container(elf, layouts).value();
  const Entry& entry = container.entries.at(0);
  ASSERT_EQ(entry.type_key, "VMExecutable");
  const RelayCode before = read_relay_payload(entry.payload).value();

  const auto bytes = aligned(entry.type_key, entry.payload, container.facts.numbering, entry.at);

  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  const auto after = read_relay_payload(*bytes);
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(before.constants.size(), 14u);
  EXPECT_EQ(after->constants.size(), 28u);
  EXPECT_EQ(after->devices.size(), 28u);
  EXPECT_EQ(after->loads.size(), before.loads.size());
}

}  // namespace
}  // namespace gantry
