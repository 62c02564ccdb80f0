// SPDX-License-Identifier: Apache-2.0
#include "tests/support/placed_bytes.hpp"
#include "tests/unit/graph/model.hpp"

#include <gmock/gmock.h>

namespace gantry::graph::test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class Parameters : public Model {
 protected:
  void set_x(const Value& executor) {
    Floats x({2, 2}, {1, 2, 3, 4});
    EXPECT_TRUE(call(executor, "set_input", {text_value("x"), x.value()}).ok());
  }
  std::vector<std::string> listed_inputs(const Value& executor) {
    const Value info = call(executor, "get_input_info").value();
    const auto top = host.items(info.object()).value();
    std::vector<std::string> names;
    const auto shapes = host.items(top[1].object).value();
    for (std::size_t i = 0; i < shapes.size(); i += 2) names.emplace_back(*value_text(shapes[i]));
    return names;
  }
};

TEST_F(Parameters, WithoutAlignmentAreCopiedOnce) {
  const Value executor = this->executor(small_graph, {small_p0});
  set_x(executor);

  EXPECT_THAT(fake.allocations, ElementsAre(16, 16, 16));
  EXPECT_THAT(fake.copies, SizeIs(2));
  EXPECT_THAT(run(executor), ElementsAre(11, 22, 33, 44));
}

TEST_F(Parameters, WithAlignmentAreUsedInPlace) {
  const Value executor = aligned_executor();
  set_x(executor);

  // No allocation for p0's slot.
  EXPECT_THAT(fake.allocations, ElementsAre(16, 16));
  // x
  EXPECT_THAT(fake.copies, SizeIs(1));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor_of(executor, "get_input", 1).data) % 128, 0u);
  EXPECT_THAT(run(executor), ElementsAre(11, 22, 33, 44));
}

TEST_F(Parameters, InPlaceRetainTheFile) {
  Value parameter;
  {
    const Value executor = aligned_executor();
    parameter = *call(executor, "get_input", {text_value("p0")});
  }
  // Two pins of the test, one of the parameter.
  EXPECT_EQ(fake.live_objects(), 3);
  EXPECT_THAT(floats_of(*parameter.tensor()), ElementsAre(10, 20, 30, 40));
}

TEST_F(Parameters, InPlaceAreReplacedByOwnMemoryWhenSet) {
  const Value executor = aligned_executor();
  set_x(executor);
  const Value before = *call(executor, "get_input", {int_value(1)});
  Floats other({2, 2}, {0, 0, 0, 1});

  ASSERT_TRUE(call(executor, "set_input", {text_value("p0"), other.value()}).ok());

  // the file's
  EXPECT_THAT(floats_of(*before.tensor()), ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(run(executor), ElementsAre(1, 2, 3, 5));
}

TEST_F(Parameters, InPlaceAreKeptIfSettingThemFails) {
  const Value executor = aligned_executor();
  set_x(executor);
  Floats wrong({5});

  ASSERT_FALSE(call(executor, "set_input", {text_value("p0"), wrong.value()}).ok());

  EXPECT_THAT(run(executor), ElementsAre(11, 22, 33, 44));
}

// Code of v0.7 to v0.9 loads 128 bytes at once.
TEST_F(Parameters, AreUsedInPlaceAtMultiplesOf128BytesOnly) {
  const std::vector<std::uint8_t> bytes = payload_bytes(small_graph, {small_p0});
  const std::uint64_t data_at = gantry::test::offset_of(bytes, small_p0.values);

  for (const std::size_t past : {0, 1, 4, 16, 32, 64, 96, 128}) {
    const Value factory = load(bytes, "GraphExecutorFactory", (past + 256 - data_at) % 128).value();
    fake.copies.clear();
    const Value executor = created(factory);

    EXPECT_EQ(fake.copies.size(), past % 128 == 0 ? 0u : 1u) << past;
    set_x(executor);
    EXPECT_THAT(run(executor), ElementsAre(11, 22, 33, 44));
  }
}

// p0's storage is also that of the result.
TEST_F(Parameters, WhoseStorageIsWrittenAreCopied) {
  const std::string graph = replaced(small_graph, "[0,1,2,2]", "[0,1,1,1]");
  const Value unaligned = load(payload_bytes(graph, {small_p0})).value();
  const Value factory = load(saved(unaligned, 0, 128)).value();
  const std::vector<std::uint64_t> none = fake.copies;

  const Value executor = created(factory);

  EXPECT_THAT(fake.copies, SizeIs(none.size() + 1));
  set_x(executor);
  EXPECT_THAT(run(executor), ElementsAre(11, 22, 33, 44));
}

TEST_F(Parameters, OffTheCpuAreCopied) {
  const std::string graph = replaced(small_graph, "[1,1,1,1]", "[4,4,4,4]");
  const Value unaligned = load(payload_bytes(graph, {small_p0})).value();
  const Value factory = load(saved(unaligned, 0, 128)).value();

  const Value executor = call(factory, "default", {device_value(gantry::test::handles)}).value();

  EXPECT_THAT(fake.copies, ElementsAre(16));
}

// A reshape of a parameter is the parameter.
TEST_F(Parameters, InPlaceIncludeTheirReshapes) {
  const std::string graph =
      replaced(replaced(small_graph, "[[2,0,0]]", "[[1,0,0]]"), "[0,1,2,2]", "[0,1,2,1]");
  const Value unaligned = load(payload_bytes(graph, {small_p0})).value();

  const Value executor = created(load(saved(unaligned, 0, 128)).value());

  EXPECT_THAT(output(executor), ElementsAre(10, 20, 30, 40));
  EXPECT_EQ(tensor_of(executor, "get_output", 0).data, tensor_of(executor, "get_input", 1).data);
}

TEST_F(Parameters, ThatAreNotInputsAreSkipped) {
  const Value executor = this->executor(small_graph, {{"spare", {1}, {1}}, small_p0});
  set_x(executor);

  EXPECT_THAT(run(executor), ElementsAre(11, 22, 33, 44));
}

TEST_F(Parameters, AreLoadedFromAList) {
  const Value executor = this->executor(small_graph, {});
  set_x(executor);
  const std::string list = parameter_list({{"spare", {1}, {1}}, {"p0", {2, 2}, {1, 1, 1, 1}}});
  const gantry_bytes bytes = bytes_of(list);

  const Result<Value> loaded = call(executor, "load_params", {bytes_ref_value(&bytes)});

  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_THAT(run(executor), ElementsAre(2, 3, 4, 5));
}

TEST_F(Parameters, OfATruncatedListChangeNothing) {
  const Value executor = this->executor(small_graph, {small_p0});
  set_x(executor);
  const std::string list = parameter_list({{"p0", {2, 2}, {1, 1, 1, 1}}});
  for (std::size_t size = 0; size < list.size(); ++size) {
    const gantry_bytes bytes{list.data(), size};
    const Result<Value> loaded = call(executor, "load_params", {bytes_ref_value(&bytes)});
    ASSERT_FALSE(loaded.ok()) << size;
    EXPECT_EQ(loaded.error().code, Code::malformed) << size;
  }
  EXPECT_THAT(run(executor), ElementsAre(11, 22, 33, 44));
}

TEST_F(Parameters, OfAListMustMatchTheirInputs) {
  const Value executor = this->executor(small_graph, {small_p0});
  const std::string list = parameter_list({{"p0", {5}, {1, 1, 1, 1, 1}}});
  const gantry_bytes bytes = bytes_of(list);

  const Result<Value> loaded = call(executor, "load_params", {bytes_ref_value(&bytes)});

  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Code::malformed);
  EXPECT_EQ(loaded.error().message,
            "parameter \"p0\" is float32[5] in 20 bytes, its input is float32[2, 2] in 16");
}

TEST_F(Parameters, RequireTheListsMagic) {
  const Value executor = this->executor(small_graph, {});
  std::string list = parameter_list({small_p0});
  list[0] = 0;
  const gantry_bytes bytes = bytes_of(list);

  const Result<Value> loaded = call(executor, "load_params", {bytes_ref_value(&bytes)});

  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().offset, 0u);
  EXPECT_EQ(loaded.error().message,
            "params magic is 0xf7e58d4f05049c00, expected 0xf7e58d4f05049cb7");
}

TEST_F(Parameters, AreSharedWithoutACopy) {
  const Value first = this->executor(small_graph, {small_p0});
  const Value second = this->executor(small_graph, {});
  const std::string list = parameter_list({small_p0});
  const gantry_bytes bytes = bytes_of(list);
  const int objects = fake.live_objects();

  const Result<Value> shared = call(second, "share_params", {first.get(), bytes_ref_value(&bytes)});

  ASSERT_TRUE(shared.ok()) << shared.error().message;
  EXPECT_EQ(tensor_of(second, "get_input", 1).data, tensor_of(first, "get_input", 1).data);
  // The second executor's slot is freed.
  EXPECT_EQ(fake.live_objects(), objects - 1);
  set_x(second);
  EXPECT_THAT(run(second), ElementsAre(11, 22, 33, 44));
}

TEST_F(Parameters, SharedAreNotChangedInTheOtherExecutor) {
  const Value first = this->executor(small_graph, {small_p0});
  const Value second = this->executor(small_graph, {});
  const std::string list = parameter_list({small_p0});
  const gantry_bytes bytes = bytes_of(list);
  ASSERT_TRUE(call(second, "share_params", {first.get(), bytes_ref_value(&bytes)}).ok());
  Floats zero({2, 2}, {0, 0, 0, 0});

  ASSERT_TRUE(call(second, "set_input", {text_value("p0"), zero.value()}).ok());

  EXPECT_THAT(floats_of(tensor_of(first, "get_input", 1)), ElementsAre(10, 20, 30, 40));
}

TEST_F(Parameters, AreNotListedAsInputsOnceTheyAreSet) {
  const auto input_count = [&](const Value& executor) {
    const Value info = call(executor, "get_input_info").value();
    const gantry_value shapes = host.items(info.object()).value()[1];
    return host.items(shapes.object).value().size() / 2;
  };
  const Value first = this->executor(small_graph, {});
  const Value second = this->executor(small_graph, {});
  EXPECT_EQ(input_count(first), 2u);
  const std::string list = parameter_list({small_p0});
  const gantry_bytes bytes = bytes_of(list);

  ASSERT_TRUE(call(first, "load_params", {bytes_ref_value(&bytes)}).ok());
  ASSERT_TRUE(call(second, "share_params", {first.get(), bytes_ref_value(&bytes)}).ok());

  EXPECT_EQ(input_count(first), 1u);
  EXPECT_EQ(input_count(second), 1u);
}

TEST_F(Parameters, AreSharedByExecutorsOnly) {
  const Value executor = this->executor(small_graph, {});
  const Value factory = load(payload_bytes(small_graph, {})).value();
  const std::string list = parameter_list({small_p0});
  const gantry_bytes bytes = bytes_of(list);

  const Result<Value> with_factory =
      call(executor, "share_params", {factory.get(), bytes_ref_value(&bytes)});
  const Result<Value> with_int =
      call(executor, "share_params", {int_value(1), bytes_ref_value(&bytes)});

  ASSERT_FALSE(with_factory.ok());
  EXPECT_EQ(with_factory.error().message,
            "share_params(executor, bytes): argument 0 is a module without get_input, expected an "
            "executor");
  ASSERT_FALSE(with_int.ok());
  EXPECT_EQ(
      with_int.error().message,
      "share_params(executor, bytes): argument 0 (executor) is an integer, expected a module");
}

TEST_F(Parameters, OfAnotherShapeAreNotShared) {
  const Value first = this->executor(replaced(small_graph, "[[2,2],[2,2]", "[[2,2],[4]"), {});
  const Value second = this->executor(small_graph, {small_p0});
  const std::string list = parameter_list({small_p0});
  const gantry_bytes bytes = bytes_of(list);

  const Result<Value> shared = call(second, "share_params", {first.get(), bytes_ref_value(&bytes)});

  ASSERT_FALSE(shared.ok());
  EXPECT_EQ(shared.error().code, Code::invalid);
  EXPECT_EQ(shared.error().message,
            "tensor is float32[4], expected float32[2, 2]\n  while sharing parameter \"p0\"");
}

TEST_F(Parameters, AreNotListedByInputInfo) {
  EXPECT_THAT(listed_inputs(executor(small_graph, {small_p0})), ElementsAre("x"));
  EXPECT_THAT(listed_inputs(executor(small_graph, {})), ElementsAre("x", "p0"));
}

// The output p0 is bound to the caller's memory, which must keep receiving it.
TEST_F(Parameters, BoundAsAnOutputAreNotShared) {
  const Value first = this->executor(small_graph, {small_p0});
  const Value second = this->executor(replaced(small_graph, "[[3,0,0]]", "[[1,0,0]]"), {small_p0});
  Floats out({2, 2});
  ASSERT_TRUE(call(second, "set_output_zero_copy", {int_value(0), out.value()}).ok());
  const std::string list = parameter_list({small_p0});
  const gantry_bytes bytes = bytes_of(list);

  const Result<Value> shared = call(second, "share_params", {first.get(), bytes_ref_value(&bytes)});

  ASSERT_FALSE(shared.ok());
  EXPECT_EQ(shared.error().reason, "ZERO_COPY");
  EXPECT_EQ(shared.error().message,
            "output \"p0\" float32[2, 2] is the same value and is bound already, a value has "
            "one memory\n  while sharing parameter \"p0\"");
}

// Constants that v0.8 linked into the library, looked up by storage id.
class LinkedParameters : public Parameters {
 protected:
  LinkedParameters() : constant({2, 2}, {10, 20, 30, 40}) {
    fake.add_function("_lookup_linked_param",
                      [this](const gantry_env*, std::span<const gantry_value> args,
                             gantry_value* result, gantry_status*) {
                        asked.push_back(args[0].i);
                        if (args[0].i == 1) {
                          result->kind = GANTRY_POINTER;
                          result->p = at;
                        }
                        return gantry_code{GANTRY_OK};
                      });
  }
  Floats constant;
  void* at = constant.tensor.data;
  std::vector<std::int64_t> asked;
};

TEST_F(LinkedParameters, AreLookedUpOnceAndUsedInPlace) {
  const Value executor = this->executor(small_graph, {});
  set_x(executor);

  EXPECT_THAT(asked, ElementsAre(0, 1));
  EXPECT_EQ(tensor_of(executor, "get_input", 1).data, constant.tensor.data);
  EXPECT_THAT(fake.allocations, ElementsAre(16, 16));
  EXPECT_THAT(run(executor), ElementsAre(11, 22, 33, 44));
}

TEST_F(LinkedParameters, WithoutAlignmentAreCopied) {
  Floats off({2, 2}, {1, 1, 1, 1}, 64);
  at = off.tensor.data;

  const Value executor = this->executor(small_graph, {});
  set_x(executor);

  EXPECT_NE(tensor_of(executor, "get_input", 1).data, off.tensor.data);
  EXPECT_THAT(run(executor), ElementsAre(2, 3, 4, 5));
}

TEST_F(LinkedParameters, AreUsedInPlaceAtMultiplesOf128BytesOnly) {
  for (const std::size_t past : {0, 4, 16, 32, 64, 96, 128}) {
    Floats linked({2, 2}, {10, 20, 30, 40}, past);
    at = linked.tensor.data;

    const Value executor = this->executor(small_graph, {});

    EXPECT_EQ(tensor_of(executor, "get_input", 1).data == at, past % 128 == 0) << past;
  }
}

TEST_F(LinkedParameters, AreNotListedByInputInfo) {
  EXPECT_THAT(listed_inputs(executor(small_graph, {})), ElementsAre("x"));

  Floats off({2, 2}, {1, 1, 1, 1}, 64);
  at = off.tensor.data;
  EXPECT_THAT(listed_inputs(executor(small_graph, {})), ElementsAre("x"));
}

TEST_F(LinkedParameters, FailTheCreationIfTheirLookUpFails) {
  const Value factory = load(payload_bytes(small_graph, {})).value();
  const ObjectRef create = host.find(factory.object(), GANTRY_FIND_SELF, "default").value();
  // The error of a host that cannot search its imports.
  const_cast<gantry_host*>(fake.table())->find = [](const gantry_host*, gantry_object*,
                                                    std::uint32_t, gantry_bytes, gantry_object**,
                                                    gantry_status* status) {
    return gantry_fail(status, GANTRY_UNAVAILABLE, "UNBOUND", "the library is not bound");
  };

  const gantry_value device = device_value(gantry::test::cpu);
  const Result<Value> made = host.call(create.get(), nullptr, {&device, 1});

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::unavailable);
  EXPECT_EQ(made.error().message,
            "the library is not bound\n  while looking for constants linked into the library");
}

TEST_F(LinkedParameters, FailTheCreationIfTheirCallFails) {
  fake.add_function("_lookup_linked_param", [](const gantry_env*, std::span<const gantry_value>,
                                               gantry_value*, gantry_status* status) {
    return gantry_fail(status, GANTRY_UNAVAILABLE, "GONE", "no constants any more");
  });
  const Value factory = load(payload_bytes(small_graph, {})).value();

  const Result<Value> made = call(factory, "default", {device_value(gantry::test::cpu)});

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, "no constants any more");
}

}  // namespace
}  // namespace gantry::graph::test
