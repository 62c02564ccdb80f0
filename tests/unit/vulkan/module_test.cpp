// SPDX-License-Identifier: Apache-2.0
#include "tests/support/memory_sink.hpp"
#include "tests/unit/vulkan/world.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace gantry::vulkan::test {
namespace {

using ::testing::ElementsAre;

// Calls the loader and module tables like the host. No driver starts.
class Modules : public ::testing::Test {
 protected:
  ~Modules() override {
    for (const gantry_module& module : loaded_) module.table->destroy(module.self);
    EXPECT_EQ(host.references(pin_), 1) << "the payload is still held";
    host.release(pin_);
    EXPECT_EQ(host.live_objects(), 0);
  }
  // bytes    [in]   borrowed
  Result<gantry_module> load(std::span<const std::uint8_t> bytes, bool exact = true) {
    const gantry_blob blob = gantry::test::payload_blob(bytes, 3, exact, pin_);
    gantry_module module{};
    StatusBuffer status;
    const gantry_code code = loader_table<Plugin, Module>.load_binary(
        &plugin, &blob, nullptr, &module, &consumed, status.get());
    if (code != GANTRY_OK) return status.error(code, "load_binary");
    loaded_.push_back(module);
    return module;
  }
  static KernelSpec named(std::string name) {
    KernelSpec kernel = add_kernel();
    kernel.name = std::move(name);
    return kernel;
  }

  gantry::test::FakeHost host;
  Plugin plugin{Host(host.table()), {}, {}};
  std::uint64_t consumed = 0;

 private:
  gantry_object* pin_ = host.new_pin();
  std::vector<gantry_module> loaded_;
};

TEST_F(Modules, ReportAndRetainTheirBytes) {
  std::vector<std::uint8_t> bytes = payload_bytes({add_kernel()}, Form::bare);
  const std::size_t size = bytes.size();
  bytes.resize(size + 50);

  const auto module = load(bytes, false);

  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(consumed, size);
}

TEST_F(Modules, SaveTheBytesThatTheyRead) {
  const std::vector<std::uint8_t> bytes =
      payload_bytes({named("b"), named("a"), named("c")}, Form::bare);
  const gantry_module module = load(bytes).value();
  gantry::test::MemorySink sink;

  ASSERT_EQ(module.table->save_binary(module.self, sink.raw(), nullptr), GANTRY_OK);

  EXPECT_EQ(sink.bytes, bytes);
}

TEST_F(Modules, ListTheirKernelsInThePayloadsOrder) {
  const std::vector<std::uint8_t> bytes =
      payload_bytes({named("b"), named("a"), named("c")}, Form::bare);
  const gantry_module module = load(bytes).value();
  std::vector<std::string> names;
  const gantry_visitor visitor{
      sizeof visitor, 0, &names,
      [](void* self, const gantry_function_info* info, gantry_status*) -> gantry_code {
        static_cast<std::vector<std::string>*>(self)->emplace_back(view_of(info->name));
        return GANTRY_OK;
      }};

  ASSERT_EQ(module.table->list_functions(module.self, &visitor, nullptr), GANTRY_OK);

  EXPECT_THAT(names, ElementsAre("b", "a", "c"));
}

TEST_F(Modules, ReportWhyAKernelIsUnsupported) {
  KernelSpec cooperative = named("cooperative");
  cooperative.tags.push_back("tirx.use_cooperative_launch");
  const std::vector<std::uint8_t> bytes = payload_bytes({cooperative, named("add")}, Form::bare);
  const gantry_module module = load(bytes).value();
  gantry_function function{};
  StatusBuffer status;

  EXPECT_EQ(module.table->get_function(module.self, gantry_text("add"), &function, nullptr),
            GANTRY_OK);
  EXPECT_NE(function.self, nullptr);
  gantry_function none{};
  EXPECT_EQ(module.table->get_function(module.self, gantry_text("sub"), &none, nullptr),
            GANTRY_NOT_FOUND);
  const gantry_code code =
      module.table->get_function(module.self, gantry_text("cooperative"), &none, status.get());
  EXPECT_EQ(code, GANTRY_UNSUPPORTED);
  EXPECT_EQ(
      status.error(code, "").message,
      "kernel \"cooperative\" requires a cooperative launch, which vulkan devices do not have");
  EXPECT_EQ(none.self, nullptr);
}

TEST_F(Modules, RejectABrokenShaderOnLoad) {
  KernelSpec kernel = add_kernel();
  // Overwrites OpFunction.
  kernel.words[kernel.words.size() - 7] = 0xffff0011;
  const std::vector<std::uint8_t> bytes = payload_bytes({kernel}, Form::bare);

  const auto module = load(bytes);

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::malformed);
  EXPECT_EQ(module.error().reason, "SHADER");
  EXPECT_EQ(module.error().offset, bytes.size() - 28);
  EXPECT_EQ(module.error().message,
            "shader of kernel \"add\": instruction is 65535 words long, range is 1 to 7");
}

TEST_F(Modules, StartNoDriver) {
  const std::vector<std::uint8_t> bytes = payload_bytes({add_kernel()}, Form::bare);
  ASSERT_TRUE(load(bytes).ok());

  EXPECT_EQ(plugin.started(0), nullptr);
}

class Verdicts : public World {
 protected:
  std::int32_t verdict_on(const KernelSpec& kernel) {
    const std::vector<std::uint8_t> bytes = payload_bytes({kernel}, Form::bare);
    const gantry_blob blob = gantry::test::payload_blob(bytes);
    std::int32_t verdict = -1;
    StatusBuffer status;
    const gantry_code code = loader_.check_binary(plugin.get(), &blob, 0, &verdict, status.get());
    EXPECT_EQ(code, GANTRY_OK) << status.error(code, "check_binary").message;
    return verdict;
  }
};

TEST_F(Verdicts, DependOnTheDevice) {
  KernelSpec newer = add_kernel();
  newer.words[1] = 0x00010900;
  KernelSpec cooperative = add_kernel();
  cooperative.tags.push_back("tirx.use_cooperative_launch");

  EXPECT_EQ(verdict_on(add_kernel()), GANTRY_VERDICT_RECOMPILE);
  EXPECT_EQ(verdict_on(newer), GANTRY_VERDICT_NO);
  EXPECT_EQ(verdict_on(cooperative), GANTRY_VERDICT_NO);
}

}  // namespace
}  // namespace gantry::vulkan::test
