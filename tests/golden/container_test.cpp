// SPDX-License-Identifier: Apache-2.0
//
// Reads every golden artifact to its last byte, and damaged copies of their containers.
#include "core/formats/container.hpp"
#include "core/formats/details.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

namespace gantry {
namespace {

using ::testing::IsEmpty;

struct Module {
  std::string type_key;
  std::uint64_t at;
  std::uint64_t size;
};

struct Artifact {
  // below tests/golden/data
  std::string file;
  Generation generation;
  Dialect dialect;
  // without its leading "__tvm_"
  std::string context_symbol;
  std::uint64_t container_bytes;
  std::vector<Module> modules;
  // of each module
  std::vector<std::vector<std::uint64_t>> imports;
};

void PrintTo(const Artifact& artifact, std::ostream* out) { *out << artifact.file; }

constexpr auto G3 = Generation::g3;
constexpr auto G5 = Generation::g5;
constexpr auto none = Generation::none;
constexpr auto packed = Dialect::packed;
constexpr auto ffi = Dialect::ffi;

const std::vector<Artifact>& artifacts() {
  static const std::vector<Artifact> all{
      {"tvm-0.12/axpy2_c.so", none, packed, "", 0, {{"_lib", 0, 0}}, {{}}},
      {"tvm-0.12/axpy2_cuda_cubin90.so",
       G3,
       packed,
       "module_ctx",
       4439,
       {{"_lib", 28, 0}, {"cuda", 40, 4331}},
       {{1}, {}}},
      {"tvm-0.12/axpy2_cuda_ptx75.so",
       G3,
       packed,
       "module_ctx",
       2116,
       {{"_lib", 28, 0}, {"cuda", 40, 2008}},
       {{1}, {}}},
      {"tvm-0.12/axpy2_llvm.so", none, packed, "", 0, {{"_lib", 0, 0}}, {{}}},
      {"tvm-0.12/axpy2_opencl.so",
       G3,
       packed,
       "module_ctx",
       1067,
       {{"_lib", 28, 0}, {"opencl", 42, 957}},
       {{1}, {}}},
      {"tvm-0.12/axpy2_vulkan.so",
       G3,
       packed,
       "module_ctx",
       2431,
       {{"_lib", 28, 0}, {"vulkan", 42, 2321}},
       {{1}, {}}},
      {"tvm-0.12/chain10.so",
       G3,
       packed,
       "",
       5108,
       {{"GraphExecutorFactory", 44, 4984}, {"_lib", 5040, 0}},
       {{1}, {}}},
      {"tvm-0.12/chain1000.so",
       G3,
       packed,
       "",
       448254,
       {{"GraphExecutorFactory", 44, 448130}, {"_lib", 448186, 0}},
       {{1}, {}}},
      {"tvm-0.12/digits_mlp_aot_llvm.so",
       G3,
       packed,
       "",
       192,
       {{"AotExecutorFactory", 42, 31}, {"metadata_module", 96, 0}, {"_lib", 108, 0}},
       {{1}, {2}, {}}},
      {"tvm-0.12/digits_mlp_c.so",
       G3,
       packed,
       "",
       30689,
       {{"GraphExecutorFactory", 44, 30565}, {"_lib", 30621, 0}},
       {{1}, {}}},
      {"tvm-0.12/digits_mlp_cuda_cubin90.so",
       G3,
       packed,
       "module_ctx",
       48598,
       {{"GraphExecutorFactory", 44, 30355}, {"_lib", 30411, 0}, {"cuda", 30423, 18091}},
       {{1}, {2}, {}}},
      {"tvm-0.12/digits_mlp_cuda_ptx75.so",
       G3,
       packed,
       "module_ctx",
       44825,
       {{"GraphExecutorFactory", 44, 30355}, {"_lib", 30411, 0}, {"cuda", 30423, 14318}},
       {{1}, {2}, {}}},
      {"tvm-0.12/digits_mlp_dnnl.so",
       G3,
       packed,
       "",
       38168,
       {{"GraphExecutorFactory", 44, 5200},
        {"const_loader", 5264, 27104},
        {"dnnl_json", 32385, 1322},
        {"dnnl_json", 33724, 1683},
        {"dnnl_json", 35424, 1683},
        {"dnnl_json", 37124, 884},
        {"_lib", 38020, 0}},
       {{1}, {2, 3, 4, 5, 6}, {}, {}, {}, {}, {}}},
      {"tvm-0.12/digits_mlp_llvm.so",
       G3,
       packed,
       "",
       30689,
       {{"GraphExecutorFactory", 44, 30565}, {"_lib", 30621, 0}},
       {{1}, {}}},
      {"tvm-0.12/digits_mlp_opencl.so",
       G3,
       packed,
       "module_ctx",
       42495,
       {{"GraphExecutorFactory", 44, 30355}, {"_lib", 30411, 0}, {"opencl", 30425, 11986}},
       {{1}, {2}, {}}},
      {"tvm-0.12/digits_mlp_tensorrt.so",
       G3,
       packed,
       "",
       39118,
       {{"GraphExecutorFactory", 44, 911},
        {"const_loader", 975, 27222},
        {"tensorrt", 28213, 10793},
        {"_lib", 39018, 0}},
       {{1}, {2, 3}, {}, {}}},
      {"tvm-0.12/digits_mlp_vm_llvm.so",
       G3,
       packed,
       "",
       29841,
       {{"VMExecutable", 36, 29725}, {"_lib", 29773, 0}},
       {{1}, {}}},
      {"tvm-0.12/digits_mlp_vulkan.so",
       G3,
       packed,
       "module_ctx",
       50788,
       {{"GraphExecutorFactory", 44, 30355}, {"_lib", 30411, 0}, {"vulkan", 30425, 20279}},
       {{1}, {2}, {}}},
      {"tvm-0.12/resnet20_c.so",
       G3,
       packed,
       "",
       1122356,
       {{"GraphExecutorFactory", 44, 1122232}, {"_lib", 1122288, 0}},
       {{1}, {}}},
      {"tvm-0.12/resnet20_llvm.so",
       G3,
       packed,
       "",
       1122356,
       {{"GraphExecutorFactory", 44, 1122232}, {"_lib", 1122288, 0}},
       {{1}, {}}},
      {"tvm-0.12/resnet20_opencl.so",
       G3,
       packed,
       "module_ctx",
       1157809,
       {{"GraphExecutorFactory", 44, 1120295}, {"_lib", 1120351, 0}, {"opencl", 1120365, 37360}},
       {{1}, {2}, {}}},
      {"tvm-0.12/resnet20_vulkan.so",
       G3,
       packed,
       "module_ctx",
       1204891,
       {{"GraphExecutorFactory", 44, 1120295}, {"_lib", 1120351, 0}, {"vulkan", 1120365, 84442}},
       {{1}, {2}, {}}},
      {"tvm-0.25/axpy2_c.so", none, ffi, "ffi__library_ctx", 0, {{"_lib", 0, 0}}, {{}}},
      {"tvm-0.25/axpy2_cuda_ptx75.so",
       G5,
       ffi,
       "ffi__library_ctx",
       1443,
       {{"_lib", 68, 0}, {"cuda", 88, 1355}},
       {{1}, {}}},
      {"tvm-0.25/axpy2_llvm.so", none, ffi, "", 0, {{"_lib", 0, 0}}, {{}}},
      {"tvm-0.25/axpy2_opencl.so",
       G5,
       ffi,
       "ffi__library_ctx",
       958,
       {{"_lib", 68, 0}, {"opencl", 90, 868}},
       {{1}, {}}},
      {"tvm-0.25/axpy2_vulkan.so",
       G5,
       ffi,
       "ffi__library_ctx",
       1721,
       {{"_lib", 68, 0}, {"vulkan", 90, 1631}},
       {{1}, {}}},
      {"tvm-0.25/digits_mlp_relax_llvm.so",
       G5,
       ffi,
       "",
       29021,
       {{"relax.VMExecutable", 90, 28919}, {"_lib", 29021, 0}},
       {{1}, {}}},
      {"tvm-0.25/digits_mlp_relax_opencl.so",
       G5,
       ffi,
       "ffi__library_ctx",
       47802,
       {{"relax.VMExecutable", 106, 28919}, {"_lib", 29037, 0}, {"opencl", 29059, 18743}},
       {{1}, {2}, {}}},
  };
  return all;
}

const PayloadLayouts& layouts() {
  static const PayloadLayouts all = PayloadLayouts::built_in();
  return all;
}

class Golden : public ::testing::TestWithParam<Artifact> {
 protected:
  void SetUp() override {
    auto mapped = MappedFile::open(test::golden(GetParam().file));
    ASSERT_TRUE(mapped.ok()) << mapped.error().message;
    auto file = ElfFile::parse(*mapped);
    ASSERT_TRUE(file.ok()) << file.error().message;
    file_.emplace(std::move(file).value());
    auto container = read_container(*file_, layouts());
    ASSERT_TRUE(container.ok()) << container.error().message;
    container_ = std::move(container).value();
  }

  std::optional<ElfFile> file_;
  Container container_;
};

TEST_P(Golden, HasTheGenerationAndDialectOfItsExporter) {
  EXPECT_EQ(container_.facts.generation, GetParam().generation);
  EXPECT_EQ(container_.facts.dialect, GetParam().dialect);
  EXPECT_EQ(container_.context_symbol,
            GetParam().context_symbol.empty() ? "" : "__tvm_" + GetParam().context_symbol);
  EXPECT_EQ(container_.prefix, "");
}

TEST_P(Golden, IsReadToTheLastByteWithoutAWarning) {
  EXPECT_EQ(container_.bytes.size(), GetParam().container_bytes);
  EXPECT_THAT(container_.warnings, IsEmpty());
}

TEST_P(Golden, HasTheModulesOfTheTable) {
  ASSERT_EQ(container_.entries.size(), GetParam().modules.size());
  for (std::size_t i = 0; i < container_.entries.size(); ++i) {
    EXPECT_EQ(container_.entries[i].type_key, GetParam().modules[i].type_key);
    EXPECT_EQ(container_.entries[i].at, GetParam().modules[i].at);
    EXPECT_EQ(container_.entries[i].payload.size(), GetParam().modules[i].size);
  }
}

TEST_P(Golden, HasTheImportsOfTheTable) {
  ASSERT_EQ(container_.tree.module_count(), GetParam().imports.size());
  for (std::size_t i = 0; i < GetParam().imports.size(); ++i) {
    EXPECT_THAT(container_.tree.children_of(i), ::testing::ElementsAreArray(GetParam().imports[i]));
  }
}

TEST_P(Golden, HasPayloadsThatCanBeDescribed) {
  for (const Entry& entry : container_.entries) {
    const PayloadDetails details = describe_payload(entry, container_.facts, layouts());

    EXPECT_THAT(details.warnings, IsEmpty()) << entry.type_key;
    const bool has_no_details = entry.is_library() || entry.type_key == "metadata_module";
    EXPECT_EQ(details.root.children.empty(), has_no_details) << entry.type_key;
  }
}

TEST_P(Golden, IsACompleteLibraryForX86) {
  EXPECT_TRUE(file_->check_complete().ok());
  EXPECT_EQ(file_->machine(), ElfMachine::x86_64);
  EXPECT_EQ(file_->type(), ElfType::shared);
}

INSTANTIATE_TEST_SUITE_P(Each, Golden, ::testing::ValuesIn(artifacts()), [](const auto& test) {
  std::string name = test.param.file;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(GoldenTable, ListsEveryLibraryInTheDirectory) {
  std::set<std::string> present, listed;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::golden(""))) {
    if (entry.path().extension() != ".so") continue;
    const auto path = std::filesystem::relative(entry.path(), test::golden(""));
    // tests/unit/relax reads the first, and call_script_test.cpp plays all.
    const auto directory = entry.path().parent_path().filename();
    if (directory == "relax" || directory == "functions" || *path.begin() == "tvm-ffi") continue;
    present.insert(path.string());
  }
  for (const Artifact& artifact : artifacts()) listed.insert(artifact.file);

  EXPECT_EQ(present, listed);
}

// ---- details of single payloads
// ------------------------------------------------------------------

// The details of the module with this key in a golden file.
PayloadDetails details_of(std::string_view file_name, std::string_view key) {
  const auto mapped = MappedFile::open(test::golden(file_name));
  const auto file = ElfFile::parse(*mapped);
  const auto container = read_container(*file, layouts());
  for (const Entry& entry : container->entries) {
    if (entry.type_key == key) return describe_payload(entry, container->facts, layouts());
  }
  return {};
}

std::string value_at(const Detail& root, std::initializer_list<std::string_view> path) {
  const Detail* at = &root;
  for (const std::string_view name : path) {
    at = at->find(name);
    if (at == nullptr) return concat("no detail is named ", name);
  }
  return at->value;
}

TEST(GoldenDetails, HaveTheFormatOfTheDataBesideTheDeclaredFormat) {
  const auto details = details_of("tvm-0.12/axpy2_cuda_cubin90.so", "cuda");

  EXPECT_EQ(value_at(details.root, {"format"}), "cubin");
  EXPECT_EQ(value_at(details.root, {"data_format"}), "fatbin");
}

TEST(GoldenDetails, HaveTheReleaseOfAVirtualMachine) {
  const auto relay = details_of("tvm-0.12/digits_mlp_vm_llvm.so", "VMExecutable");
  const auto relax = details_of("tvm-0.25/digits_mlp_relax_llvm.so", "relax.VMExecutable");

  EXPECT_EQ(value_at(relay.root, {"version"}), "0.12.0");
  EXPECT_EQ(value_at(relax.root, {"version"}), "0.14");
  EXPECT_EQ(value_at(relax.root, {"functions", "main", "kind"}), "1");
}

TEST(GoldenDetails, HaveTheParametersOfAnExecutor) {
  const auto details = details_of("tvm-0.12/digits_mlp_llvm.so", "GraphExecutorFactory");

  EXPECT_EQ(value_at(details.root, {"module_name"}), "default");
  const Detail* const params = details.root.find("params");
  ASSERT_NE(params, nullptr);
  for (const Detail& param : params->children) EXPECT_NE(param.name, "");
}

// ---- other files with a container
// ----------------------------------------------------------------

std::vector<std::uint8_t> golden_container(std::string_view file_name) {
  const auto mapped = MappedFile::open(test::golden(file_name));
  const auto file = ElfFile::parse(*mapped);
  const auto container = read_container(*file, layouts());
  return {container->bytes.begin(), container->bytes.end()};
}

TEST(OtherFile, LibraryOfAnotherMachineIsRead) {
  const auto bytes = golden_container("tvm-0.25/axpy2_opencl.so");
  const auto library = test::ElfBuilder()
                           .machine(183)
                           .function("__tvm_ffi_axpy2")
                           .object("__tvm_ffi__library_bin", bytes)
                           .build();
  const auto file = ElfFile::parse(library);
  ASSERT_TRUE(file.ok()) << file.error().message;

  const auto container = read_container(*file, layouts());

  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_EQ(name_of(file->machine()), "aarch64");
  EXPECT_EQ(container->facts.generation, G5);
  EXPECT_EQ(container->entries.size(), 2u);
  EXPECT_EQ(std::memcmp(library.data() + container->file_offset, bytes.data(), bytes.size()), 0);
}

// An exporter passes the container to the linker as an object file.
TEST(OtherFile, ObjectFileIsRead) {
  const auto bytes = golden_container("tvm-0.12/axpy2_opencl.so");
  const auto object = test::relocatable_object("__tvm_dev_mblob", bytes);
  const auto file = ElfFile::parse(object);
  ASSERT_TRUE(file.ok()) << file.error().message;

  const auto container = read_container(*file, layouts());

  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_EQ(container->facts.generation, G3);
  EXPECT_EQ(container->entries[1].type_key, "opencl");
}

TEST(OtherFile, BareContainerIsRead) {
  const auto bytes = golden_container("tvm-0.12/axpy2_vulkan.so");

  const auto container = read_container_bytes(bytes, layouts());

  ASSERT_TRUE(looks_like_container(bytes));
  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_EQ(container->facts.generation, G3);
  EXPECT_EQ(container->entries[1].type_key, "vulkan");
}

// ---- damage
// --------------------------------------------------------------------------------------

// A copy of the container of a golden file, and the symbols of its library.
struct Damaged {
  std::vector<std::uint8_t> bytes;

  explicit Damaged(std::string_view file_name) {
    const auto mapped = MappedFile::open(test::golden(file_name));
    const auto file = ElfFile::parse(*mapped);
    for (const ElfSymbol& symbol : file->symbols()) names_.emplace_back(symbol.name);
    std::vector<CpuSymbol> symbols;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      symbols.push_back({names_[i], file->symbols()[i].size, file->symbols()[i].defined()});
    }
    location_.symbols = choose_symbols(symbols);
    location_.blob_symbol = symbols[*location_.symbols.blob].name;
    const auto container = read_container(*file, layouts());
    bytes.assign(container->bytes.begin(), container->bytes.end());
  }

  // Reads the first `size` bytes and checks that the result is consistent. Some of the calls
  // describe the payloads, too.
  Result<Container> read(std::size_t size) const {
    ContainerLocation location = location_;
    location.room = std::span(bytes).first(size);
    auto container = read_container(location, layouts());
    // Without EXPECT macros, because this runs half a million times, also under sanitizers.
    if (!container.ok()) {
      if (container.error().code != Code::malformed) ADD_FAILURE() << container.error().message;
      return container;
    }
    if (container->tree.module_count() != container->entries.size()) ADD_FAILURE();
    // Details take many times as long as reading. The intervals are primes, so that over all calls
    // every bit and value is covered.
    const std::uint64_t details_every = bytes.size() < 6000 ? 5 : 17;
    const bool with_details = reads_++ % details_every == 0;
    for (const Entry& entry : container->entries) {
      if (entry.at + entry.payload.size() > size) ADD_FAILURE() << entry.type_key;
      if (with_details) describe(entry, container->facts);
    }
    return container;
  }

 private:
  static void describe(const Entry& entry, const ExporterFacts& facts) {
    const PayloadDetails details = describe_payload(entry, facts, layouts());
    const bool described = !details.root.children.empty() || !details.warnings.empty();
    const bool describable = !entry.payload.empty() && entry.boundary != Boundary::unknown &&
                             layouts().contains(entry.type_key);
    if (described != describable) ADD_FAILURE() << entry.type_key << ": described is " << described;
  }

  std::vector<std::string> names_;
  ContainerLocation location_;
  // successful reads
  mutable std::uint64_t reads_ = 0;
};

// Artifacts that are small enough for exhaustive damage. The largest is a whole model, with a
// container of 30 KB or 245,512 bits.
class SmallGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(SmallGolden, IsRejectedWhenTruncated) {
  const Damaged damaged(GetParam());
  for (std::size_t size = 0; size < damaged.bytes.size(); ++size) {
    EXPECT_FALSE(damaged.read(size).ok()) << "accepted the first " << size << " bytes";
  }
}

// The header has the truncated size, so only the content is inconsistent.
TEST_P(SmallGolden, IsRejectedWhenTruncatedWithAMatchingHeader) {
  Damaged damaged(GetParam());
  const std::size_t whole = damaged.bytes.size();
  for (std::size_t size = 16; size < whole; ++size) {
    const std::uint64_t content = size - 8;
    std::memcpy(damaged.bytes.data(), &content, sizeof content);
    EXPECT_FALSE(damaged.read(size).ok()) << "accepted the first " << size << " bytes";
  }
}

TEST_P(SmallGolden, IsReadSafelyWithAnyFlippedBit) {
  Damaged damaged(GetParam());
  for (std::size_t i = 0; i < damaged.bytes.size() * 8; ++i) {
    damaged.bytes[i / 8] ^= static_cast<std::uint8_t>(1 << i % 8);
    (void)damaged.read(damaged.bytes.size());
    damaged.bytes[i / 8] ^= static_cast<std::uint8_t>(1 << i % 8);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, SmallGolden,
    ::testing::Values("tvm-0.12/axpy2_cuda_cubin90.so", "tvm-0.12/axpy2_cuda_ptx75.so",
                      "tvm-0.12/axpy2_opencl.so", "tvm-0.12/axpy2_vulkan.so", "tvm-0.12/chain10.so",
                      "tvm-0.12/digits_mlp_aot_llvm.so", "tvm-0.12/digits_mlp_llvm.so",
                      "tvm-0.25/axpy2_cuda_ptx75.so", "tvm-0.25/axpy2_opencl.so",
                      "tvm-0.25/axpy2_vulkan.so"),
    [](const auto& test) {
      std::string name = test.param;
      std::replace_if(
          name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
      return name;
    });

TEST(DamagedContainer, IsReadSafelyWithAnyValueOfAnyByte) {
  Damaged damaged("tvm-0.12/axpy2_opencl.so");
  for (std::size_t i = 0; i < damaged.bytes.size(); ++i) {
    const std::uint8_t original = damaged.bytes[i];
    for (int value = 0; value < 256; ++value) {
      damaged.bytes[i] = static_cast<std::uint8_t>(value);
      (void)damaged.read(damaged.bytes.size());
    }
    damaged.bytes[i] = original;
  }
}

}  // namespace
}  // namespace gantry
