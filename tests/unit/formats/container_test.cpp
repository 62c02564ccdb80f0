// SPDX-License-Identifier: Apache-2.0
//
// Containers of every generation, read by their symbols.
#include "core/formats/container.hpp"

#include "tests/unit/formats/fixtures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Symbols with content, without a file.
class FakeFile {
 public:
  struct Symbol {
    std::string name;
    std::vector<std::uint8_t> content;
    std::uint64_t size = 0;
    bool is_defined = true;
    bool defined() const { return is_defined; }
  };

  FakeFile& add(std::string name, std::span<const std::uint8_t> content,
                std::optional<std::uint64_t> size = {}) {
    symbols_.push_back(
        {std::move(name), {content.begin(), content.end()}, size.value_or(content.size())});
    return *this;
  }
  FakeFile& add(std::string name, const Words& words, std::optional<std::uint64_t> size = {}) {
    return add(std::move(name), words.bytes(), size);
  }
  const std::vector<Symbol>& symbols() const { return symbols_; }
  Result<std::span<const std::uint8_t>> bytes_from(const Symbol& symbol) const {
    return std::span<const std::uint8_t>(symbol.content);
  }
  std::uint64_t offset_in_file(std::span<const std::uint8_t>) const { return 0x1000; }

 private:
  std::vector<Symbol> symbols_;
};

// Containers point into the file that they were read from, which is therefore never freed.
Result<Container> read(const FakeFile& file) {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  static std::deque<FakeFile> kept;
  return read_container(kept.emplace_back(file), layouts);
}

std::vector<std::string_view> keys_of(const Container& container) {
  std::vector<std::string_view> keys;
  for (const Entry& entry : container.entries) keys.push_back(entry.type_key);
  return keys;
}

Words kernel() { return test::device_code("ptx", "//ptx"); }
Words tagged_kernel() { return test::device_code("ptx", "//ptx", true); }
Words host_and_kernel(const Words& payload) {
  return test::layout_one(2, Words().str("_lib").str("cuda").bytes(payload.bytes()), {0, 1, 1},
                          {1});
}

// One row for each variant of each generation.
struct Exported {
  std::string name;
  FakeFile file;
  Generation generation;
  Dialect dialect;
  std::vector<std::string_view> keys;
  std::vector<Message> warnings;
};

void PrintTo(const Exported& exported, std::ostream* out) { *out << exported.name; }

class EveryGeneration : public ::testing::TestWithParam<Exported> {};

TEST_P(EveryGeneration, IsRead) {
  const auto container = read(GetParam().file);

  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_EQ(container->facts.generation, GetParam().generation);
  EXPECT_EQ(container->facts.dialect, GetParam().dialect);
  EXPECT_EQ(keys_of(*container), GetParam().keys);
  EXPECT_EQ(container->warnings, GetParam().warnings);
  EXPECT_EQ(container->tree.module_count(), container->entries.size());
}

// The blob symbol; NULL for a file without a container.
const FakeFile::Symbol* blob_of(const FakeFile& file) {
  for (const FakeFile::Symbol& symbol : file.symbols()) {
    const std::string_view name = symbol.name;
    if (name.ends_with("__tvm_dev_mblob") || name.ends_with("library_bin")) return &symbol;
  }
  return nullptr;
}

// The same file with other content of the blob symbol.
FakeFile with_blob(const FakeFile& file, std::span<const std::uint8_t> content) {
  FakeFile changed;
  for (const FakeFile::Symbol& symbol : file.symbols()) {
    changed.add(symbol.name, &symbol == blob_of(file) ? content : std::span(symbol.content));
  }
  return changed;
}

TEST_P(EveryGeneration, IsRejectedIfTruncated) {
  const FakeFile::Symbol* const blob = blob_of(GetParam().file);
  if (blob == nullptr) return;
  for (std::size_t size = 0; size < blob->content.size(); ++size) {
    const auto cut = std::span<const std::uint8_t>(blob->content).first(size);
    EXPECT_FALSE(read(with_blob(GetParam().file, cut)).ok())
        << "accepted the first " << size << " bytes";
  }
}

// The header has the length of the truncated content, so that only the content shows the
// truncation.
TEST_P(EveryGeneration, IsRejectedOrShorterIfTruncatedWithAMatchingHeader) {
  const FakeFile::Symbol* const blob = blob_of(GetParam().file);
  if (blob == nullptr || GetParam().generation == Generation::g0) return;
  for (std::size_t size = 16; size < blob->content.size(); ++size) {
    const auto content = std::span<const std::uint8_t>(blob->content).subspan(8, size - 8);

    const auto container =
        read(with_blob(GetParam().file, test::contained(Words().bytes(content)).bytes()));

    if (container.ok()) {
      EXPECT_EQ(container->bytes.size(), size);
      EXPECT_NE(container->warnings, GetParam().warnings) << "the first " << size << " bytes";
    } else {
      EXPECT_EQ(container.error().code, Code::malformed);
    }
  }
}

std::vector<Exported> every_generation() {
  const auto example_g3 = test::example_g3();
  const auto example_g5 = test::example_g5();
  const Words g1 = test::container_g1();
  const auto headless = g1.bytes().subspan(8);
  return {
      {"None",
       FakeFile().add("__TVMFuncCall", Words().u64(0)),
       Generation::none,
       Dialect::packed,
       {"_lib"},
       {}},
      {"G0",
       FakeFile()
           .add("__tvm_dev_mblob", headless)
           .add("__tvm_dev_mblob_nbytes", Words().u64(headless.size())),
       Generation::g0,
       Dialect::packed,
       {"_lib", "cuda", "opencl"},
       {}},
      {"G1",
       FakeFile().add("__tvm_dev_mblob", g1),
       Generation::g1,
       Dialect::packed,
       {"_lib", "cuda", "opencl"},
       {}},
      {"G1WithoutModules",
       FakeFile().add("__tvm_dev_mblob", test::contained(Words().u64(0))),
       Generation::g1,
       Dialect::packed,
       {"_lib"},
       {}},
      {"G1WithBodilessC",
       FakeFile().add("__tvm_dev_mblob",
                      test::contained(Words().u64(2).str("c").str("cuda").bytes(kernel().bytes()))),
       Generation::g1,
       Dialect::packed,
       {"_lib", "c", "cuda"},
       {}},
      {"G2",
       FakeFile().add("__tvm_dev_mblob", test::container_g2()),
       Generation::g2,
       Dialect::packed,
       {"_lib", "cuda", "_lib"},
       {"container has 2 _lib entries"}},
      {"G2InTheOrderOfImports",
       FakeFile().add(
           "__tvm_dev_mblob",
           test::layout_one(3, Words().str("_lib").str("_lib").str("cuda").bytes(kernel().bytes()),
                            {0, 3, 3, 3}, {2, 1, 2})),
       Generation::g2,
       Dialect::packed,
       {"_lib", "_lib", "cuda"},
       {"container has 2 _lib entries"}},
      {"G3OutOfOrder",
       FakeFile().add(
           "__tvm_dev_mblob",
           test::layout_one(
               3, Words().str("_lib").str("metadata_module").str("cuda").bytes(kernel().bytes()),
               {0, 3, 3, 3}, {2, 1, 2})),
       Generation::g3,
       Dialect::packed,
       {"_lib", "metadata_module", "cuda"},
       {"children of module 0 are not in ascending order", "module 0 imports a module twice"}},
      {"G2ByOrder",
       FakeFile().add("__tvm_dev_mblob", test::layout_one(3,
                                                          Words()
                                                              .str("GraphRuntimeFactory")
                                                              .bytes(test::graph_executor().bytes())
                                                              .str("cuda")
                                                              .bytes(kernel().bytes())
                                                              .str("_lib"),
                                                          {0, 1, 1, 2}, {2, 1})),
       Generation::g2,
       Dialect::packed,
       {"GraphRuntimeFactory", "cuda", "_lib"},
       {"module 2 imports a module of lower index"}},
      {"G3",
       FakeFile().add("__tvm_dev_mblob", example_g3).add("__tvm_module_ctx", Words().u64(0)),
       Generation::g3,
       Dialect::packed,
       {"_lib", "cuda"},
       {}},
      {"G3x",
       FakeFile().add("__tvm_dev_mblob", example_g3).add("__TVMFFIFunctionCall", Words()),
       Generation::g3x,
       Dialect::ffi_0_21,
       {"_lib", "cuda"},
       {}},
      {"G4",
       FakeFile().add("__tvm_ffi_library_bin", host_and_kernel(tagged_kernel())),
       Generation::g4,
       Dialect::ffi_0_21,
       {"_lib", "cuda"},
       {}},
      {"G4OfJune2025",
       FakeFile().add("__tvm_ffi_library_bin", host_and_kernel(kernel())),
       Generation::g4,
       Dialect::ffi_0_21,
       {"_lib", "cuda"},
       {}},
      {"G4x",
       FakeFile().add("__tvm_ffi_library_bin", example_g5),
       Generation::g4x,
       Dialect::ffi_0_21,
       {"_lib", "cuda"},
       {}},
      {"G5",
       FakeFile().add("__tvm_ffi__library_bin", example_g5),
       Generation::g5,
       Dialect::ffi,
       {"_lib", "cuda"},
       {}},
      {"G5OfTwoLibraries",
       FakeFile().add("__tvm_ffi__library_bin",
                      test::contained(Words().u64s({0, 1, 1}).u64s({1}).str("_lib").str("_lib"))),
       Generation::g5,
       Dialect::ffi,
       {"_lib", "_lib"},
       {"container has 2 _lib entries"}},
      {"G5WithoutLibrary",
       FakeFile().add("__tvm_ffi__library_bin",
                      test::contained(Words().u64s({0, 0}).u64s({}).str("cuda").str("any"))),
       Generation::g5,
       Dialect::ffi,
       {"cuda"},
       {"container has no _lib entry, so it has no CPU code"}},
      {"Prefixed",
       FakeFile().add("my___tvm_dev_mblob", example_g3).add("my___tvm_module_ctx", Words()),
       Generation::g3,
       Dialect::packed,
       {"_lib", "cuda"},
       {}},
  };
}

INSTANTIATE_TEST_SUITE_P(Each, EveryGeneration, ::testing::ValuesIn(every_generation()),
                         [](const auto& test) { return test.param.name; });

TEST(Container, HasTheNamesOfItsSymbolsAndItsOffset) {
  const auto example = test::example_g3();
  const FakeFile file =
      FakeFile().add("my___tvm_dev_mblob", example).add("my___tvm_module_ctx", Words().u64(0));

  const auto container = read(file);

  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_EQ(container->blob_symbol, "my___tvm_dev_mblob");
  EXPECT_EQ(container->context_symbol, "my___tvm_module_ctx");
  EXPECT_EQ(container->prefix, "my_");
  EXPECT_EQ(container->file_offset, 0x1000u);
  EXPECT_EQ(container->bytes.size(), example.size());
}

TEST(Container, CountsOffsetsFromItsFirstByte) {
  const auto container = read(FakeFile().add("__tvm_dev_mblob", test::example_g3()));

  ASSERT_TRUE(container.ok()) << container.error().message;
  const Entry& cuda = container->entries[1];
  EXPECT_EQ(cuda.payload.data(), container->bytes.data() + cuda.at);
}

TEST(Container, HasAStarUnderTheLibraryWithoutATree) {
  const auto container = read(FakeFile().add("__tvm_dev_mblob", test::container_g1()));

  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_THAT(container->tree.children_of(0), ElementsAre(1, 2));
  EXPECT_THAT(container->tree.children_of(1), IsEmpty());
}

TEST(Container, CountsOffsetsFromItsEntryCountWithoutAHeader) {
  const Words g1 = test::container_g1();
  const auto headless = g1.bytes().subspan(8);

  const auto container = read(FakeFile()
                                  .add("__tvm_dev_mblob", headless)
                                  .add("__tvm_dev_mblob_nbytes", Words().u64(headless.size())));

  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_EQ(container->entries[1].at, 8u + 8 + 4);
  EXPECT_EQ(container->bytes.size(), headless.size());
}

struct BadFile {
  std::string name;
  FakeFile file;
  std::uint64_t offset;
  std::string message;
  std::string reason;
};

void PrintTo(const BadFile& file, std::ostream* out) { *out << file.name; }

class InvalidContainer : public ::testing::TestWithParam<BadFile> {};

TEST_P(InvalidContainer, IsRejected) {
  const auto container = read(GetParam().file);

  ASSERT_FALSE(container.ok());
  EXPECT_EQ(container.error().code, Code::malformed);
  EXPECT_EQ(container.error().offset, GetParam().offset);
  EXPECT_EQ(container.error().message, GetParam().message);
  EXPECT_EQ(container.error().reason, GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(
    Each, InvalidContainer,
    ::testing::Values(
        BadFile{"NoHeader", FakeFile().add("__tvm_dev_mblob", Words().u32(0)), 0,
                "container header: needs 8 bytes, 4 bytes left\n"
                "  in the container at symbol __tvm_dev_mblob",
                "BLOB_TRUNCATED"},
        BadFile{"HeaderTooSmall", FakeFile().add("__tvm_dev_mblob", Words().u64(7).u64(0)), 0,
                "container has 7 bytes of content, minimum is 8\n"
                "  in the container at symbol __tvm_dev_mblob",
                "BLOB_SIZE"},
        BadFile{"HeaderPastSegment", FakeFile().add("__tvm_dev_mblob", Words().u64(9).u64(0)), 0,
                "container has 9 bytes of content, its segment has room for 8 bytes\n"
                "  in the container at symbol __tvm_dev_mblob",
                "BLOB_SIZE"},
        BadFile{"HeaderHuge", FakeFile().add("__tvm_dev_mblob", Words().u64(~0ull).u64(0)), 0,
                "container has 16.0 EiB (18446744073709551615 bytes) of content, its segment has "
                "room for 8 bytes\n"
                "  in the container at symbol __tvm_dev_mblob",
                "BLOB_SIZE"},
        BadFile{"SymbolTooSmall", FakeFile().add("__tvm_dev_mblob", Words().u64(8).u64(0), 15), 0,
                "container takes 16 bytes, its symbol has 15 bytes\n"
                "  in the container at symbol __tvm_dev_mblob",
                "BLOB_SIZE"},
        BadFile{"HeadlessPastSegment",
                FakeFile()
                    .add("__tvm_dev_mblob", Words().u64(0))
                    .add("__tvm_dev_mblob_nbytes", Words().u64(16)),
                0,
                "container has 16 bytes of content, its segment has room for 8 bytes\n"
                "  in the container at symbol __tvm_dev_mblob",
                "BLOB_SIZE"},
        BadFile{"HeadlessSizeCut",
                FakeFile()
                    .add("__tvm_dev_mblob", Words().u64(0))
                    .add("__tvm_dev_mblob_nbytes", Words().u32(16)),
                0x1000, "__tvm_dev_mblob_nbytes: needs 8 bytes, 4 bytes left", "BLOB_TRUNCATED"},
        BadFile{"NeitherLayout",
                FakeFile().add("__tvm_ffi_library_bin",
                               test::contained(Words().u64(2).u64(1000).u64(0))),
                8,
                "container begins with 2, 1000, expected an entry count and a type key, or row "
                "pointers from 0\n"
                "  in the container at symbol __tvm_ffi_library_bin",
                "BLOB_LAYOUT"},
        BadFile{"NeitherLayoutInOneWord",
                FakeFile().add("__tvm_ffi_library_bin", test::contained(Words().u64(2))), 8,
                "container begins with 2, expected an entry count and a type key, or row pointers "
                "from 0\n"
                "  in the container at symbol __tvm_ffi_library_bin",
                "BLOB_LAYOUT"},
        BadFile{
            "NeitherLayoutForItsKey",
            FakeFile().add("__tvm_ffi_library_bin",
                           test::contained(Words().u64(2).str("\x01\x02"))),
            8,
            "container begins with 2, 2, \"\\x01\\x02\", expected an entry count and a type key, "
            "or row pointers from 0\n"
            "  in the container at symbol __tvm_ffi_library_bin",
            "BLOB_LAYOUT"},
        BadFile{"TwoLibrariesInG4", FakeFile().add("__tvm_ffi_library_bin", test::container_g2()),
                0,
                "container has 2 _lib entries, G4 has one\n"
                "  in the container at symbol __tvm_ffi_library_bin",
                "BLOB_LIBRARY"}),
    [](const auto& test) { return test.param.name; });

// A file that returns an error for some symbols.
struct FailingFile {
  struct Symbol {
    std::string_view name;
    std::uint64_t size = 0;
    bool has_bytes = true;
    bool defined() const { return true; }
  };
  std::vector<Symbol> all;

  const std::vector<Symbol>& symbols() const { return all; }
  Result<std::span<const std::uint8_t>> bytes_from(const Symbol& symbol) const {
    if (!symbol.has_bytes) return malformed(0x58, "symbol has no bytes");
    return std::span<const std::uint8_t>();
  }
  std::uint64_t offset_in_file(std::span<const std::uint8_t>) const { return 0; }
};

TEST(Container, AddsTheSymbolToTheErrorOfTheFile) {
  const FailingFile blob{{{"__tvm_dev_mblob", 0, false}}};
  const FailingFile size{{{"__tvm_dev_mblob", 0, true}, {"__tvm_dev_mblob_nbytes", 8, false}}};

  const auto without_blob = read_container(blob, PayloadLayouts::built_in());
  const auto without_size = read_container(size, PayloadLayouts::built_in());

  ASSERT_FALSE(without_blob.ok());
  EXPECT_EQ(without_blob.error().offset, 0x58u);
  EXPECT_EQ(without_blob.error().message,
            "symbol has no bytes\n  while reading symbol __tvm_dev_mblob");
  ASSERT_FALSE(without_size.ok());
  EXPECT_EQ(without_size.error().message,
            "symbol has no bytes\n  while reading symbol __tvm_dev_mblob_nbytes");
}

TEST(Container, WarnsAboutASymbolThatIsTooLarge) {
  const auto example = test::example_g3();

  const auto container = read(FakeFile().add("__tvm_dev_mblob", example, example.size() + 8));

  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_THAT(container->warnings,
              ElementsAre("container takes 232 bytes, its symbol has 240 bytes"));
}

TEST(Container, IsReadWithoutASymbolSize) {
  const auto container = read(FakeFile().add("__tvm_dev_mblob", test::example_g3(), 0));

  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_THAT(container->warnings, IsEmpty());
}

TEST(Container, DoesNotIncludeBytesAfterIt) {
  Words words = Words().bytes(test::example_g3());
  words.text("something else");

  const auto container = read(FakeFile().add("__tvm_dev_mblob", words, 0));

  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_EQ(container->bytes.size(), test::example_g3().size());
}

TEST(Container, IsReadFromBareBytes) {
  const PayloadLayouts layouts = PayloadLayouts::built_in();
  const auto older = test::example_g3();
  const auto newer = test::example_g5();

  EXPECT_EQ(read_container_bytes(older, layouts)->facts.generation, Generation::g3);
  EXPECT_EQ(read_container_bytes(older, layouts)->facts.dialect, Dialect::unknown);
  EXPECT_EQ(read_container_bytes(newer, layouts)->facts.generation, Generation::g5);
  EXPECT_EQ(read_container_bytes(newer, layouts)->facts.dialect, Dialect::ffi);
}

TEST(Container, WarnsAboutBytesAfterABareContainer) {
  auto bytes = test::example_g5();
  bytes.push_back(0);

  const auto container = read_container_bytes(bytes, PayloadLayouts::built_in());

  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_THAT(container->warnings, ElementsAre("1 bytes follow the container"));
}

TEST(Container, IsRecognizedByItsBytes) {
  EXPECT_TRUE(looks_like_container(test::example_g3()));
  EXPECT_TRUE(looks_like_container(test::example_g5()));
  EXPECT_FALSE(looks_like_container({}));
  EXPECT_FALSE(looks_like_container(Words().str("hello, world").bytes()));
  EXPECT_FALSE(looks_like_container(Words().u64(1000).u64(2).str("_lib").bytes()));
}

// ---- hostile containers ------------------------------------------------------------------------

TEST(Container, SurvivesAChainOfTenThousandModules) {
  constexpr std::uint64_t modules = 10000;
  Words entries;
  std::vector<std::uint64_t> rows{0}, children;
  for (std::uint64_t i = 0; i < modules; ++i) {
    entries.str(i == 0 ? "_lib" : "metadata_module");
    if (i + 1 < modules) children.push_back(i + 1);
    rows.push_back(children.size());
  }

  const auto container =
      read(FakeFile().add("__tvm_dev_mblob", test::layout_one(modules, entries, rows, children)));

  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_EQ(container->entries.size(), modules);
  EXPECT_EQ(container->tree.reachable_from(0).size(), modules);
  EXPECT_THAT(container->warnings, IsEmpty());
}

TEST(Container, SurvivesLayeredDiamonds) {
  constexpr std::uint64_t layers = 40, width = 20;
  Words entries = Words().u64s({});
  std::vector<std::uint64_t> rows{0}, children;
  Words keys;
  const auto finish_row = [&] { rows.push_back(children.size()); };
  keys.str("_lib");
  for (std::uint64_t i = 0; i < width; ++i) children.push_back(1 + i);
  finish_row();
  for (std::uint64_t layer = 0; layer < layers; ++layer) {
    for (std::uint64_t i = 0; i < width; ++i) {
      keys.str("metadata_module").str("x");
      for (std::uint64_t to = 0; to < width && layer + 1 < layers; ++to) {
        children.push_back(1 + (layer + 1) * width + to);
      }
      finish_row();
    }
  }

  const auto container =
      read(FakeFile().add("__tvm_ffi__library_bin",
                          test::contained(Words().u64s(rows).u64s(children).bytes(keys.bytes()))));

  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_EQ(container->tree.reachable_from(0).size(), 1 + layers * width);
}

TEST_P(EveryGeneration, SurvivesEveryValueOfEveryByte) {
  const FakeFile::Symbol* const blob = blob_of(GetParam().file);
  if (blob == nullptr) return;
  std::vector<std::uint8_t> bytes = blob->content;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint8_t was = bytes[i];
    for (const int value : {0, 1, 2, 0x20, 0x7f, 0x80, 0xff, was ^ 1, was ^ 0x10}) {
      bytes[i] = static_cast<std::uint8_t>(value);
      const auto container = read(with_blob(GetParam().file, bytes));
      if (!container.ok()) {
        EXPECT_EQ(container.error().code, Code::malformed);
      }
    }
    bytes[i] = was;
  }
}

TEST(Container, NamesNoSymbolInTheErrorOfABareContainer) {
  const auto container =
      read_container_bytes(Words().u64(8).u64(2).bytes(), PayloadLayouts::built_in());

  ASSERT_FALSE(container.ok());
  EXPECT_EQ(container.error().reason, "BLOB_LAYOUT");
  EXPECT_EQ(container.error().message.text().find("symbol"), std::string::npos);
}

TEST(Container, HasTheWarningsOfItsSymbolsAndOfItsEntries) {
  const Words content = Words().u64(1).str("cuda").bytes(kernel().bytes()).text("more");

  const auto container = read(FakeFile()
                                  .add("a___tvm_dev_mblob", test::contained(content))
                                  .add("b___tvm_dev_mblob", test::contained(content)));

  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_THAT(container->warnings,
              ElementsAre("file contains another container at symbol b___tvm_dev_mblob",
                          "4 bytes follow the last entry"));
}

}  // namespace
}  // namespace gantry
