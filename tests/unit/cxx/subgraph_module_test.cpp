// SPDX-License-Identifier: Apache-2.0
#include <gantry/compact_tensor.hpp>
#include <gantry/subgraph_module.hpp>

#include "tests/support/fake_host.hpp"
#include "tests/support/payload_blob.hpp"
#include "tests/support/words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view adder_graph = R"({
  "nodes": [{"op": "input", "name": "x", "attrs": {"dtype": [["float32"]], "shape": [[[2]]]}},
            {"op": "const", "name": "c0", "attrs": {"dtype": [["float32"]], "shape": [[[2]]]}},
            {"op": "kernel", "name": "add", "inputs": [[0, 0, 0], [1, 0, 0]],
             "attrs": {"dtype": [["float32"]], "shape": [[[2]]]}}],
  "arg_nodes": [0, 1], "heads": [[2, 0, 0]], "node_row_ptr": [0, 1, 2, 3]})";
constexpr std::string_view copier_graph = R"({
  "nodes": [{"op": "input", "name": "x", "attrs": {"dtype": [["float32"]], "shape": [[[2]]]}},
            {"op": "kernel", "name": "copy", "inputs": [[0, 0, 0]],
             "attrs": {"dtype": [["float32"]], "shape": [[[2]]]}}],
  "arg_nodes": [0], "heads": [[1, 0, 0]], "node_row_ptr": [0, 1, 2]})";

struct AdderPlugin {
  static constexpr const char* subgraph_key = "adder";
  Host host;
  std::atomic<int> builds{0};
  bool refuses = false;
};

// Adds the constant, if there is one.
class Adder {
 public:
  static Result<std::unique_ptr<Adder>> build(AdderPlugin& plugin, const SubgraphCode& code,
                                              std::span<const Value> constants) {
    ++plugin.builds;
    if (plugin.refuses) return unsupported("operator ", quoted(code.graph.nodes.back().name));
    auto adder = std::make_unique<Adder>();
    if (!constants.empty()) adder->constant = constants[0];
    return adder;
  }
  Status run(const gantry_env*, std::span<const gantry_tensor* const> arguments) const {
    const auto* const x = static_cast<const float*>(arguments[0]->data);
    auto* const y = reinterpret_cast<float*>(static_cast<char*>(arguments[1]->data) +
                                             arguments[1]->byte_offset);
    for (int i = 0; i < 2; ++i) {
      y[i] = x[i] + (constant.tensor() == nullptr
                         ? 0
                         : static_cast<const float*>(constant.tensor()->data)[i]);
    }
    return {};
  }
  Value constant;
};
using AdderModule = SubgraphModule<AdderPlugin, Adder>;

class SubgraphModuleCalls : public ::testing::Test {
 protected:
  void load(std::string_view graph, std::vector<std::string_view> constants) {
    payload_.str("main_0").str(graph).strs(constants);
    pin_ = ObjectRef::adopt(fake_.new_pin());
    raw_ = test::payload_blob(payload_.bytes(), 3, true, pin_.get());
    const std::string_view key = "adder";
    raw_.type_key = bytes_of(key);
    Blob blob(raw_);
    auto loaded = AdderModule::load(plugin_, blob);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    module_ = std::move(*loaded);
  }
  Result<Value> call(std::string_view name, std::vector<gantry_value> args) {
    AdderModule::Function* const function = module_->find(name);
    if (function == nullptr) return not_found(name);
    return function->call(Call{{}, &env_, args});
  }
  Value floats(std::vector<float> numbers) {
    const std::int64_t shape[] = {static_cast<std::int64_t>(numbers.size())};
    Value made = plugin_.host.tensor_new(compact_tensor(dtypes::float32, shape)).value();
    std::copy(numbers.begin(), numbers.end(), static_cast<float*>(made.tensor()->data));
    return made;
  }
  Result<Value> init(std::vector<Value> constants) {
    const Value list = plugin_.host.array(constants).value();
    return call("__init_main_0", {list.get()});
  }
  Result<Value> run(float* x, float* y, std::int64_t size = 2) {
    const std::int64_t shape[] = {size};
    gantry_tensor in = compact_tensor(dtypes::float32, shape, {1, 0}, x);
    gantry_tensor out = compact_tensor(dtypes::float32, shape, {1, 0}, y);
    return call("main_0", {tensor_ref_value(&in), tensor_ref_value(&out)});
  }

  test::FakeHost fake_;
  AdderPlugin plugin_{Host(fake_.table())};
  Words payload_;
  ObjectRef pin_;
  gantry_blob raw_{};
  gantry_env env_{{1, 0}, nullptr, nullptr, nullptr};
  std::unique_ptr<AdderModule> module_;
};

TEST_F(SubgraphModuleCalls, AnswerSymbolAndNamesOfConstants) {
  load(adder_graph, {"c0"});

  const auto symbol = call("get_symbol", {});
  const auto names = call("get_const_vars", {});

  ASSERT_TRUE(symbol.ok());
  EXPECT_EQ(value_text(symbol->get()), "main_0");
  ASSERT_TRUE(names.ok());
  const auto items = plugin_.host.items(names->object()).value();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(value_text(items[0]), "c0");
  EXPECT_THAT(module_->names(),
              ElementsAre("get_symbol", "get_const_vars", "main_0", "__init_main_0"));
  EXPECT_EQ(module_->find("main"), nullptr);
}

TEST_F(SubgraphModuleCalls, RunWithTheConstantsOfTheFirstInitialization) {
  load(adder_graph, {"c0"});

  const auto first = init({floats({10, 20})});
  const auto second = init({floats({7, 7})});
  float x[] = {1, 2}, y[] = {0, 0};
  const auto done = run(x, y);

  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(value_int(first->get()), 0);
  ASSERT_TRUE(second.ok());
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_THAT(y, ElementsAre(11, 22));
  EXPECT_EQ(plugin_.builds, 1);
}

TEST_F(SubgraphModuleCalls, AreInvalidBeforeTheConstantsAreSet) {
  load(adder_graph, {"c0"});
  float x[] = {1, 2}, y[] = {0, 0};

  const auto done = run(x, y);

  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::invalid);
  EXPECT_EQ(done.error().message,
            "main_0(input 0, output 0): the 1 constants of the sub-graph are not set: call "
            "__init_main_0 first");
}

TEST_F(SubgraphModuleCalls, NeedNoInitializationWithoutConstants) {
  load(copier_graph, {});
  float x[] = {1, 2}, y[] = {0, 0};

  ASSERT_TRUE(run(x, y).ok());

  EXPECT_THAT(y, ElementsAre(1, 2));
}

TEST_F(SubgraphModuleCalls, BuildOnceWhateverThreadsCallFirst) {
  load(copier_graph, {});
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      float x[] = {1, 2}, y[] = {0, 0};
      if (!run(x, y).ok() || y[1] != 2) ++failures;
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(failures, 0);
  EXPECT_EQ(plugin_.builds, 1);
}

TEST_F(SubgraphModuleCalls, RefuseConstantsOfAnotherNumberOrType) {
  load(adder_graph, {"c0"});

  const auto none = init({});
  const auto longer = init({floats({1, 2, 3})});
  const auto text = init({plugin_.host.text("c0").value()});

  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::invalid);
  EXPECT_EQ(none.error().message,
            "__init_main_0(constants): argument 0 has 0 constants, the sub-graph has 1");
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().message,
            "__init_main_0(constants): constant 0 \"c0\" is float32[3], expected float32[2] on "
            "cpu, compact");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().message,
            "__init_main_0(constants): constant 0 \"c0\" is a string, expected float32[2] on cpu, "
            "compact");
  EXPECT_EQ(plugin_.builds, 0);
}

TEST_F(SubgraphModuleCalls, RefuseTensorsOfAnotherShapeOrNumber) {
  load(copier_graph, {});
  float x[] = {1, 2, 3}, y[] = {0, 0, 0};

  const auto longer = run(x, y, 3);
  const auto none = call("main_0", {});

  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().code, Code::invalid);
  EXPECT_EQ(longer.error().message,
            "main_0(input 0, output 0): argument 0 (input 0) is float32[3] on cpu:0, expected "
            "float32[2] on cpu");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "main_0(input 0, output 0): argument count is 0, expected 2");
}

TEST_F(SubgraphModuleCalls, NameTheSubgraphThatCannotBePrepared) {
  load(copier_graph, {});
  plugin_.refuses = true;
  float x[] = {1, 2}, y[] = {0, 0};

  const auto done = run(x, y);

  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::unsupported);
  EXPECT_THAT(done.error().message,
              HasSubstr("operator \"copy\"\n  while preparing sub-graph \"main_0\" of adder"));
}

TEST_F(SubgraphModuleCalls, SaveTheBytesOfThePayload) {
  load(adder_graph, {"c0"});
  std::vector<std::uint8_t> saved;
  gantry_sink sink{};
  sink.self = &saved;
  sink.write = [](void* self, const void* data, std::uint64_t size, gantry_status*) -> gantry_code {
    auto& bytes = *static_cast<std::vector<std::uint8_t>*>(self);
    const auto* const first = static_cast<const std::uint8_t*>(data);
    bytes.insert(bytes.end(), first, first + size);
    return GANTRY_OK;
  };

  ASSERT_TRUE(module_->save(Sink(sink)).ok());

  EXPECT_TRUE(std::ranges::equal(saved, payload_.bytes()));
}

}  // namespace
}  // namespace gantry
