// SPDX-License-Identifier: Apache-2.0
//
// Devices without a DLPack number: two vendors in one process whose compilers both use ext_dev.
#include "core/engine/embed/objects.hpp"
#include "core/engine/native/device_numbers.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/writing/pack.hpp"
#include "tests/support/built_plugins.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"
#include "tests/unit/formats/fixtures.hpp"
#include "under_test.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace gantry::conformance {
namespace {

using ::testing::HasSubstr;

class TwoVendors : public ::testing::Test {
 protected:
  TwoVendors() : runtime(make_runtime().value()) {}

  Tensor vector(const std::string& device, float value) {
    const std::int64_t shape[] = {100};
    Tensor host = runtime.tensor(shape, {2, 32, 1}).value();
    for (float& element : host.elements<float>()) element = value;
    Tensor there = runtime.tensor(shape, {2, 32, 1}, device).value();
    EXPECT_TRUE(runtime.copy(host, there).ok());
    return there;
  }
  float first_of(const Tensor& tensor) {
    Tensor host = runtime.tensor(tensor.shape(), tensor.dtype()).value();
    EXPECT_TRUE(runtime.copy(tensor, host).ok());
    return host.elements<float>()[0];
  }
  Module load(const UnderTest& device) { return runtime.load(path_of(device)).value(); }

  Runtime runtime;
};

const UnderTest& abacus = devices[1];
const UnderTest& soroban = devices[2];

TEST_F(TwoVendors, HaveDifferentNumbers) {
  const gantry_device_id first = runtime.device("abacus:1").value();
  const gantry_device_id second = runtime.device("soroban:1").value();

  EXPECT_NE(first.type, second.type);
  for (const gantry_device_id id : {first, second}) {
    EXPECT_GE(id.type, 64);
    EXPECT_LE(id.type, 127);
    EXPECT_EQ(id.index, 1);
  }
}

// The code of both artifacts contains device type 12, and receives no other number.
TEST_F(TwoVendors, RunTheirOwnArtifactsInOneProcess) {
  const Module first = load(abacus), second = load(soroban);
  const Function on_abacus = first.function("axpy2").value();
  const Function on_soroban = second.function("axpy2").value();

  for (int k = 0; k < 3; ++k) {
    const Tensor a = vector("abacus:1", 1), b = vector("abacus:1", 2), c = vector("abacus:1", 0);
    const Tensor x = vector("soroban:0", 10), y = vector("soroban:0", 20),
                 z = vector("soroban:0", 0);
    const auto here = on_abacus(a, b, c), there = on_soroban(x, y, z);
    ASSERT_TRUE(here.ok()) << here.error().message;
    ASSERT_TRUE(there.ok()) << there.error().message;
    EXPECT_EQ(first_of(c), 5);
    EXPECT_EQ(first_of(z), 50);
  }
}

TEST_F(TwoVendors, RefuseEachOthersTensors) {
  const Module first = load(abacus), second = load(soroban);
  const Tensor a = vector("abacus:0", 1), x = vector("soroban:0", 1);

  const auto refused = second.function("axpy2").value()(x, a, x);

  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("an argument is not on device type 12, ext_dev"));
}

TEST_F(TwoVendors, CopyToEachOtherThroughTheHost) {
  const Tensor a = vector("abacus:1", 42), x = vector("soroban:1", 0);

  const Status copied = runtime.copy(a, x);

  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_EQ(first_of(x), 42);
}

// Files with modules of both vendors.
class FilesOfBoth : public TwoVendors {
 protected:
  // An artifact whose CPU code calls kernels of both.
  std::string packed() {
    std::filesystem::copy(GANTRY_EXAMPLE_MODEL, directory.path(),
                          std::filesystem::copy_options::recursive);
    const auto kernels = test::read_file(directory / "kernels.beads");
    const std::string_view text(reinterpret_cast<const char*>(kernels.data()), kernels.size());
    const std::size_t second = text.find("kernel relu_kernel");
    test::write_file(directory / "axpy2.beads", text.substr(0, second));
    test::write_file(directory / "relu.beads", text.substr(second));
    test::write_file(directory / "both.yaml", std::string_view(R"(schema: "1.0"
sources: [host.c]
device_modules:
  - type_key: example.abacus
    format: beads
    data: axpy2.beads
    kernels:
      axpy2_kernel: {arguments: [handle, handle, handle, int32], launch: [blockIdx.x, threadIdx.x]}
  - type_key: example.soroban
    format: beads
    data: relu.beads
    kernels:
      relu_kernel: {arguments: [handle, handle, int32], launch: [blockIdx.x, threadIdx.x]}
      lose_kernel: {arguments: [int32], launch: [blockIdx.x, threadIdx.x]}
)"));
    const auto recipe = read_recipe(directory / "both.yaml");
    EXPECT_TRUE(recipe.ok()) << recipe.error().message;
    const auto done = pack(*recipe, directory / "both.so");
    EXPECT_TRUE(done.ok()) << done.error().message;
    return (directory / "both.so").string();
  }
  // The payload of abacus.so; the other accelerator's modules have the same format.
  std::vector<std::uint8_t> payload() {
    const auto elf = ElfFile::parse(MappedFile::open(path_of(abacus)).value()).value();
    const Container container = read_container(elf, state_of(runtime.get())->layouts).value();
    for (const Entry& entry : container.entries) {
      if (entry.type_key == abacus.type_key) return {entry.payload.begin(), entry.payload.end()};
    }
    return {};
  }
  // A directory of plugins in which the second vendor's has a manifest but no library.
  Runtime without_library() {
    const auto built = test::build_tree() / "tests/conformance/plugins.d";
    for (const char* name : {"abacus", "soroban"})
      std::filesystem::copy(built / name, directory / "plugins" / name,
                            std::filesystem::copy_options::recursive);
    std::filesystem::rename(library(), directory / "away.so");
    RuntimeOptions options;
    options.plugin_paths = {(directory / "plugins").string(), test::built_plugins("graph")};
    options.only_these_plugins = true;
    return Runtime::create(options).value();
  }
  void bring_library() { std::filesystem::rename(directory / "away.so", library()); }
  std::filesystem::path library() { return directory / "plugins/soroban/libgantry_soroban.so"; }

  FilesOfBoth() { std::filesystem::create_directories(directory / "plugins"); }
  test::TempDir directory;
};

constexpr char both[] =
    " reaches modules of device abacus (plugin example.abacus) and device soroban (plugin "
    "example.soroban): device type 12, ext_dev, in its code is ambiguous";

TEST_F(FilesOfBoth, AreRefusedIfTheirCpuCodeHasOneNumberForBoth) {
  const auto model = runtime.load(packed());

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, Code::unsupported);
  EXPECT_EQ(model.error().reason, "EXT_DEV");
  EXPECT_THAT(model.error().message, HasSubstr(std::string("\"_lib\" of both.so") + both));
}

// Device type 12 is resolved for each module by the modules that it reaches: module 0 imports 1 and
// 2, which are unambiguous.
TEST_F(FilesOfBoth, AreResolvedModuleByModule) {
  const std::vector<std::uint8_t> beads = payload();
  ASSERT_FALSE(beads.empty());
  test::Words entries;
  for (const char* key : {"example.abacus", "example.abacus", "example.soroban"})
    entries.str(key).bytes(beads);
  const test::Words container = test::layout_one(3, entries, {0, 2, 2, 2}, {1, 2});
  test::write_file(directory / "three.so",
                   test::ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());

  const auto model = runtime.load((directory / "three.so").string());

  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto node_of = [](const Module& module) -> const ModuleNode& {
    return *reinterpret_cast<const ModuleNode*>(module.get());
  };
  const std::vector<Module> imports = model->imports().value();
  EXPECT_EQ(to_runtime(node_of(imports[0]), 12), runtime.device("abacus")->type);
  EXPECT_EQ(to_runtime(node_of(imports[1]), 12), runtime.device("soroban")->type);
  EXPECT_EQ(to_runtime(node_of(*model), 12), 12) << "device type 12 is ambiguous here";
}

// CPU code of v0.7 looks functions up from module 0, whatever it imports itself.
TEST_F(FilesOfBoth, AreRefusedIfCpuCodeOfV07ReachesBothFromTheRoot) {
  const std::vector<std::uint8_t> beads = payload();
  ASSERT_FALSE(beads.empty());
  test::Words entries;
  entries.str("example.abacus").bytes(beads).str("example.soroban").bytes(beads);
  entries.str("_lib").str("_lib");
  const test::Words container = test::layout_one(4, entries, {0, 3, 3, 3, 3}, {1, 2, 3});
  test::write_file(directory / "old.so",
                   test::ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());

  const auto model = runtime.load((directory / "old.so").string());

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().reason, "EXT_DEV");
  EXPECT_THAT(model.error().message, HasSubstr(std::string("\"_lib\" of old.so") + both));
}

// A model is loaded before the plugin is available. After the plugin is added it works like a model
// that is loaded later.
TEST_F(FilesOfBoth, AreTranslatedIfTheirPluginIsAddedLater) {
  runtime = without_library();
  const Module model = runtime.load(path_of(soroban), {.allow_missing = true}).value();
  const Function axpy2 = model.function("axpy2").value();
  ASSERT_EQ(model.missing()->size(), 1u);
  bring_library();

  const Status bound = model.bind_missing();

  ASSERT_TRUE(bound.ok()) << bound.error().message;
  const Tensor x = vector("soroban:1", 10), y = vector("soroban:1", 20), z = vector("soroban:1", 0);
  const auto called = axpy2(x, y, z);
  ASSERT_TRUE(called.ok()) << called.error().message;
  EXPECT_EQ(first_of(z), 50);
  const auto graph = Executor::create(runtime, model, {"soroban:0"});
  EXPECT_TRUE(graph.ok()) << graph.error().message;
}

TEST_F(FilesOfBoth, AreNotBoundToASecondDeviceWithTheSameNumberInCpuCode) {
  const std::string file = packed();
  runtime = without_library();
  const auto loaded = runtime.load(file, {.allow_missing = true});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Module& model = *loaded;
  bring_library();

  const Status bound = model.bind_missing();

  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.error().reason, "EXT_DEV");
  EXPECT_THAT(bound.error().message,
              testing::AllOf(HasSubstr(both), HasSubstr("while binding entry 2")));
  EXPECT_EQ(model.missing()->size(), 1u);
  const Tensor a = vector("abacus:0", 1), b = vector("abacus:0", 2), c = vector("abacus:0", 0);
  const auto called = model.function("axpy2").value()(a, b, c);
  ASSERT_TRUE(called.ok()) << called.error().message;
  EXPECT_EQ(first_of(c), 5) << "the first device still runs";
}

}  // namespace
}  // namespace gantry::conformance
