// SPDX-License-Identifier: Apache-2.0
#include "core/formats/container.hpp"
#include "core/writing/container.hpp"
#include "core/writing/device_payload.hpp"
#include "tests/support/files.hpp"
#include "tests/support/words.hpp"
#include "tests/unit/writing/bytes_of.hpp"

#include <gmock/gmock.h>

#include <random>

namespace gantry {
namespace {

using test::bytes_of;
using test::TempDir;
using test::Words;
using ::testing::ElementsAreArray;

std::function<Status(Pieces&)> payload(std::string bytes) {
  return [bytes](Pieces& out) -> Status {
    out.Write(bytes.data(), bytes.size());
    return {};
  };
}

// Returns CPU code that imports a module with this type key.
std::vector<ContainerModule> importing(std::string key) {
  return {{"", {1}, nullptr}, {std::move(key), {}, payload("p")}};
}

// A container of CPU code and one cuda child with the kernel add_kernel0(handle, handle, int32).
constexpr std::string_view worked_example =
    "e0000000000000000300000000000000"
    "04000000000000005f6c696204000000"
    "00000000637564610300000000000000"
    "707478010000000000000"
    "00b00000000000000"
    "6164645f6b65726e656c30"
    "0000000000000000"
    "0300000000000000"
    "03400100"
    "03400100"
    "00200100"
    "0200000000000000"
    "0a00000000000000"
    "626c6f636b4964782e78"
    "0b00000000000000"
    "7468726561644964782e78"
    "0500000000000000"
    "2f2f707478"
    "0c00000000000000"
    "5f696d706f72745f74726565"
    "0300000000000000"
    "0000000000000000"
    "0100000000000000"
    "0100000000000000"
    "0100000000000000"
    "0100000000000000";

std::vector<std::uint8_t> from_hex(std::string_view hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(
        static_cast<std::uint8_t>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

TEST(Container, EqualsTheExampleByteForByte) {
  const TempDir directory;
  test::write_file(directory / "add.ptx", "//ptx");
  const gantry_dtype handle{3, 64, 1};
  const DeviceModuleSource cuda{
      "cuda",
      "ptx",
      directory / "add.ptx",
      {{"add_kernel0", {handle, handle, {0, 32, 1}}, {"blockIdx.x", "threadIdx.x"}, "", ""}}};
  const std::vector<ContainerModule> modules = {
      {"", {1}, nullptr},
      {"cuda", {}, [&](Pieces& out) { return write_device_payload(cuda, {}, out); }}};

  const Result<Pieces> container = write_container(modules);

  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_THAT(bytes_of(*container), ElementsAreArray(from_hex(worked_example)));
}

TEST(Container, OfCpuCodeAloneIsEmpty) {
  const std::vector<ContainerModule> modules = {{"", {}, nullptr}};

  const Result<Pieces> container = write_container(modules);

  ASSERT_TRUE(container.ok());
  EXPECT_THAT(bytes_of(*container), ElementsAreArray(Words().u64(8).u64(0).bytes()));
}

TEST(Container, GivesAPayloadItsOffset) {
  std::uint64_t at = 0;
  std::vector<ContainerModule> modules = importing("cuda");
  modules[1].write_payload = [&](Pieces& out) -> Status {
    at = out.offset();
    return {};
  };

  ASSERT_TRUE(write_container(modules).ok());

  // length, count, "_lib", "cuda"
  EXPECT_EQ(at, 8u + 8 + 12 + 12);
}

struct Form {
  std::string name;
  Generation form;
  // as the reader reports a bare container; G4 has the bytes of G3
  ContainerLayout layout;
};
class Generations : public ::testing::TestWithParam<Form> {};

// Random graphs are read back with equal entries, import trees and payloads.
TEST_P(Generations, AreReadBackEqual) {
  const PayloadLayouts layouts = PayloadLayouts::built_in();
  const bool is_separate = GetParam().form == Generation::g2;
  std::mt19937 random(7);
  int written = 0;
  for (int graph = 0; graph < 500; ++graph) {
    std::vector<ContainerModule> modules(2 + random() % 6);
    std::vector<IndexNode> nodes;
    for (std::size_t m = 0; m < modules.size(); ++m) {
      for (std::size_t child = m + 1; child < modules.size(); ++child) {
        if (random() % 2 == 0) modules[m].imports.push_back(child);
      }
      const bool cpu_code = random() % 3 == 0;
      // a type key whose payload is one text
      if (!cpu_code) modules[m].type_key = "VMExecutable";
      modules[m].write_payload = [m](Pieces& out) -> Status {
        out.write_text(std::string(m * m, static_cast<char>('a' + m)));
        return {};
      };
    }
    for (const ContainerModule& module : modules)
      nodes.push_back({module.type_key, module.imports});
    const Result<ModuleIndex> index = is_separate ? index_separate(nodes) : index_merged(nodes);
    if (!index.ok() || modules[0].imports.empty()) continue;
    ++written;

    const std::vector<std::uint8_t> bytes =
        bytes_of(write_container(modules, GetParam().form).value());
    const Result<Container> found = read_container_bytes(bytes, layouts);

    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(found->layout, GetParam().layout);
    ASSERT_EQ(found->entries.size(), index->entries.size());
    EXPECT_THAT(found->tree.rows(), ElementsAreArray(index->row_ptr));
    EXPECT_THAT(found->tree.edges(), ElementsAreArray(index->child));
    for (std::size_t e = 0; e < found->entries.size(); ++e) {
      const std::size_t m = index->entries[e].front();
      EXPECT_EQ(found->entries[e].is_library(), nodes[m].cpu_code());
      if (nodes[m].cpu_code()) continue;
      const Words payload = Words().str(std::string(m * m, static_cast<char>('a' + m)));
      EXPECT_EQ(found->entries[e].type_key, "VMExecutable");
      EXPECT_THAT(found->entries[e].payload, ElementsAreArray(payload.bytes()));
    }
  }
  EXPECT_GT(written, 100);
}

INSTANTIATE_TEST_SUITE_P(All, Generations,
                         ::testing::Values(Form{"G2", Generation::g2, ContainerLayout::one},
                                           Form{"G3", Generation::g3, ContainerLayout::one},
                                           Form{"G4", Generation::g4, ContainerLayout::one},
                                           Form{"G5", Generation::g5, ContainerLayout::two}),
                         [](const auto& test) { return test.param.name; });

// The same module as the example of layout one, with the record of v0.24 and later: a name and
// argument tags.
TEST(Container, OfLayoutTwoEqualsTheExampleByteForByte) {
  const Words kernel = Words()
                           .str("ptx")
                           .u64(1)
                           .str("add_kernel")
                           .str("add_kernel")
                           .u64(3)
                           .u32(0x00014003)
                           .u32(0x00014003)
                           .u32(0x00012000)
                           .u64(2)
                           .str("blockIdx.x")
                           .str("threadIdx.x")
                           .u64(3)
                           .u32(0)
                           .u32(0)
                           .u32(0)
                           .str("//ptx");
  const std::vector<ContainerModule> modules = {
      {"", {1}, nullptr},
      {"cuda", {}, payload(std::string(kernel.bytes().begin(), kernel.bytes().end()))}};

  const Result<Pieces> container = write_container(modules, Generation::g5);

  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_THAT(bytes_of(*container), ElementsAreArray(from_hex("e900000000000000"
                                                              "0300000000000000"
                                                              "0000000000000000"
                                                              "0100000000000000"
                                                              "0100000000000000"
                                                              "0100000000000000"
                                                              "0100000000000000"
                                                              "04000000000000005f6c6962"
                                                              "040000000000000063756461"
                                                              "9900000000000000"
                                                              "0300000000000000707478"
                                                              "0100000000000000"
                                                              "0a000000000000006164645f6b65726e656c"
                                                              "0a000000000000006164645f6b65726e656c"
                                                              "0300000000000000"
                                                              "034001000340010000200100"
                                                              "0200000000000000"
                                                              "0a00000000000000626c6f636b4964782e78"
                                                              "0b000000000000007468726561644964782e"
                                                              "78"
                                                              "0300000000000000"
                                                              "000000000000000000000000"
                                                              "05000000000000002f2f707478")));
}

TEST(Container, OfCpuCodeAloneHasATreeInLayoutTwo) {
  const std::vector<ContainerModule> modules = {{"", {}, nullptr}};

  const Result<Pieces> container = write_container(modules, Generation::g5);

  ASSERT_TRUE(container.ok());
  EXPECT_THAT(bytes_of(*container),
              ElementsAreArray(Words().u64(44).u64(2).u64(0).u64(0).u64(0).str("_lib").bytes()));
}

TEST(Container, GivesAPayloadBehindItsLengthItsOffset) {
  std::uint64_t at = 0;
  std::vector<ContainerModule> modules = importing("cuda");
  modules[1].write_payload = [&](Pieces& out) -> Status {
    at = out.offset();
    return {};
  };

  ASSERT_TRUE(write_container(modules, Generation::g5).ok());

  // length, rows, children, "_lib", "cuda", length of the payload
  EXPECT_EQ(at, 8u + 32 + 16 + 12 + 12 + 8);
}

// The entries of host modules repeat, and so do the imports.
TEST(Container, OfGenerationTwoHasOneEntryForEachHostModule) {
  const std::vector<ContainerModule> modules = {
      {"VMExecutable", {1, 2, 1}, payload(std::string(8, '\0'))},
      {"", {}, nullptr},
      {"", {}, nullptr}};

  const Result<Pieces> container = write_container(modules, Generation::g2);

  ASSERT_TRUE(container.ok()) << container.error().message;
  const std::vector<std::uint8_t> bytes = bytes_of(*container);
  const Result<Container> found = read_container_bytes(bytes, PayloadLayouts::built_in());
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->facts.generation, Generation::g2);
  ASSERT_EQ(found->entries.size(), 3u);
  EXPECT_TRUE(found->entries[1].is_library());
  EXPECT_TRUE(found->entries[2].is_library());
  EXPECT_THAT(found->tree.children_of(0), ::testing::ElementsAre(2, 1, 2));
}

struct BadKey {
  std::string name;
  std::string key;
  std::string message;
};
class ContainerRejects : public ::testing::TestWithParam<BadKey> {};

TEST_P(ContainerRejects, TheKey) {
  const Result<Pieces> container = write_container(importing(GetParam().key));

  ASSERT_FALSE(container.ok());
  EXPECT_EQ(container.error().code, Code::invalid);
  EXPECT_EQ(container.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Keys, ContainerRejects,
    ::testing::Values(
        BadKey{"Library", "_lib", "type key \"_lib\" is reserved by the container"},
        BadKey{"Tree", "_import_tree", "type key \"_import_tree\" is reserved by the container"},
        BadKey{"Long", std::string(257, 'k'), "type key has 257 bytes, maximum is 256"},
        BadKey{"LastControl", "\x1f", "type key has byte 0x1f, it must be printable ASCII"},
        BadKey{"Delete", "\x7f", "type key has byte 0x7f, it must be printable ASCII"},
        BadKey{"Control", "cu\nda", "type key has byte 0xa, it must be printable ASCII"}),
    [](const auto& test) { return test.param.name; });

TEST(Container, NamesTheEntryThatFailed) {
  std::vector<ContainerModule> modules = importing("cuda");
  modules[1].write_payload = [](Pieces&) -> Status { return invalid("no kernels"); };

  const Result<Pieces> container = write_container(modules);

  ASSERT_FALSE(container.ok());
  EXPECT_EQ(container.error().message, "no kernels\n  while writing entry 1 \"cuda\"");
}

TEST(Container, AcceptsTheLongestKeyAndEveryPrintableCharacter) {
  EXPECT_TRUE(write_container(importing(std::string(256, 'k'))).ok());
  EXPECT_TRUE(write_container(importing(" ~")).ok());
}

TEST(Container, OfOneDeviceModuleHasItsEntry) {
  const std::vector<ContainerModule> modules = {{"VMExecutable", {}, payload("p")}};

  const Result<Pieces> container = write_container(modules);

  ASSERT_TRUE(container.ok()) << container.error().message;
  // the size, two entries, the key
  const std::vector<std::uint8_t> bytes = bytes_of(*container);
  EXPECT_EQ(bytes[8], 2);
  EXPECT_EQ(bytes[16], 12);
}

TEST(Container, OfG1HasNoTreeAndNoRoot) {
  std::vector<ContainerModule> modules = importing("cuda");

  const Result<Pieces> container = write_container(modules, Generation::g1);

  ASSERT_TRUE(container.ok()) << container.error().message;
  EXPECT_THAT(bytes_of(*container),
              ElementsAreArray(Words().u64(8 + 12 + 1).u64(1).str("cuda").text("p").bytes()));
}

TEST(Container, OfG1RefusesModulesThatRequireATree) {
  std::vector<ContainerModule> deep = importing("cuda");
  deep.push_back({"opencl", {}, payload("p")});
  deep[1].imports = {2};
  std::vector<ContainerModule> two_libraries = importing("cuda");
  two_libraries[1].type_key.clear();
  std::vector<ContainerModule> reversed = importing("cuda");
  reversed.push_back({"opencl", {}, payload("p")});
  reversed[0].imports = {2, 1};
  const std::vector<ContainerModule> no_library = {{"VMExecutable", {}, payload("p")}};

  for (const auto& modules : {deep, two_libraries, reversed, no_library}) {
    const Result<Pieces> container = write_container(modules, Generation::g1);

    ASSERT_FALSE(container.ok());
    EXPECT_EQ(container.error().code, Code::invalid);
    EXPECT_EQ(container.error().message,
              "container of G1 has no import tree: its root must be CPU code that imports all "
              "other modules in order, and these may import nothing");
  }
}

TEST(Container, ListedKeepsTheOrderOfTheModulesAndOfTheirImports) {
  std::vector<ContainerModule> modules = importing("cuda");
  modules.push_back({"opencl", {}, payload("q")});
  modules[0].imports = {2, 1, 2};

  const Result<Pieces> container = write_listed_container(modules, Generation::g2);

  ASSERT_TRUE(container.ok()) << container.error().message;
  const Words expected = Words().u64(4).str("_lib").str("cuda").text("p").str("opencl").text("q");
  const Words tree = Words().str("_import_tree").u64s({0, 3, 3, 3}).u64s({2, 1, 2});
  EXPECT_THAT(bytes_of(*container), ElementsAreArray(Words()
                                                         .u64(expected.size() + tree.size())
                                                         .bytes(expected.bytes())
                                                         .bytes(tree.bytes())
                                                         .bytes()));
}

TEST(Container, ListedRefusesALoop) {
  std::vector<ContainerModule> modules = importing("cuda");
  modules[1].imports = {1};

  const Result<Pieces> container = write_listed_container(modules, Generation::g3);

  ASSERT_FALSE(container.ok());
  EXPECT_EQ(container.error().reason, "IMPORT_CYCLE");
  EXPECT_EQ(container.error().message, "module 1 \"cuda\" imports itself");
}

TEST(Container, ListedRefusesAnImportOutOfRange) {
  std::vector<ContainerModule> modules = importing("cuda");
  modules[0].imports = {2};

  const Result<Pieces> container = write_listed_container(modules, Generation::g3);

  ASSERT_FALSE(container.ok());
  EXPECT_EQ(container.error().message, "module 0 imports module 2, module count is 2");
}

}  // namespace
}  // namespace gantry
