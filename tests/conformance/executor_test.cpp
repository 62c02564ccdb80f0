// SPDX-License-Identifier: Apache-2.0
//
// A vendor's executor as a model: sdk/example_executor, through the C++ API.
#include "core/writing/pack.hpp"
#include "tests/support/files.hpp"
#include "under_test.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

namespace gantry::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EnsembleModel : public ::testing::Test {
 protected:
  EnsembleModel() {
    std::filesystem::copy(GANTRY_EXECUTOR_MODEL, directory.path(),
                          std::filesystem::copy_options::recursive);
  }

  // Packs a text in place of model.yaml, with these members.
  Result<Module> load(std::string_view recipe, const std::vector<std::string>& members) {
    std::string payload;
    const auto add = [&](std::uint64_t number) {
      payload.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    add(members.size());
    for (const std::string& member : members) {
      add(member.size());
      payload += member;
    }
    test::write_file(directory / "members.bin", payload);
    GANTRY_TRY(const Recipe read, parse_recipe(recipe, "r.yaml", directory.path()));
    GANTRY_CHECK(pack(read, directory / "made.so"));
    return runtime.load((directory / "made.so").string());
  }
  Tensor vector(float first) const {
    Tensor made = runtime.tensor({4}, dtypes::float32).value();
    for (float& element : made.elements<float>()) element = first++;
    return made;
  }
  static std::vector<float> elements(const Any& value) {
    const Tensor tensor = value.tensor().value();
    const auto all = tensor.elements<float>();
    return {all.begin(), all.end()};
  }
  // The reason why a model of an artifact does not run.
  Error error_of(const Module& module, const ModelOptions& options = {}) const {
    const auto run = [&]() -> Status {
      GANTRY_TRY(const Model model, runtime.model(module, {}, options));
      GANTRY_TRY(const ModelFunction function, model.function());
      GANTRY_CHECK(function.run({{"x", vector(1)}}));
      return {};
    };
    Status done = run();
    EXPECT_FALSE(done.ok());
    return done.ok() ? Error(bug("runs")) : std::move(done).error();
  }

  const Runtime runtime = make_runtime().value();
  const test::TempDir directory;
  const Module module =
      runtime.load((test::build_tree() / "tests/conformance/ensemble.so").string()).value();
};

TEST_F(EnsembleModel, HasOneFunctionWithTheSignatureOfItsMembers) {
  const Model model = runtime.model(module).value();
  EXPECT_THAT(model.functions().value(), ElementsAre("predict"));

  const ModelFunction function = model.function().value();
  const auto inputs = function.inputs().value();
  const auto outputs = function.outputs().value();

  EXPECT_EQ(function.name(), "predict");
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].name, "x");
  EXPECT_EQ(inputs[0].type_text, "float32[4]");
  ASSERT_TRUE(outputs && outputs->size() == 1);
  EXPECT_EQ((*outputs)[0].name, "out");
  EXPECT_EQ((*outputs)[0].type_text, "float32[4]");
}

TEST_F(EnsembleModel, ReturnsTheMeanOfItsMembers) {
  const Model model = runtime.model(module).value();
  for (const char* name : {"", "predict"}) {
    const auto outputs = model.function(name)->run({{"x", vector(1)}});

    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    ASSERT_EQ(outputs->size(), 1u);
    EXPECT_THAT(elements((*outputs)[0].value), ElementsAre(1.5f, 4, 7.5f, 12));
  }
}

// What the host does for every executor: an input at another address is copied.
TEST_F(EnsembleModel, TakesInputsAtAnyAddress) {
  const ModelFunction function = runtime.model(module)->function().value();
  const Tensor matrix = runtime.tensor({3, 4}, dtypes::float32).value();
  for (float& element : matrix.elements<float>()) element = 2;
  std::uint64_t copied = 0;

  const auto placed = function.run({{"x", vector(1)}}, {.copied_bytes = &copied});
  EXPECT_EQ(copied, 0u);
  const auto other = function.run({{"x", matrix.row(1).value()}}, {.copied_bytes = &copied});

  ASSERT_TRUE(placed.ok() && other.ok());
  EXPECT_EQ(copied, 16u);
  EXPECT_THAT(elements((*other)[0].value), ElementsAre(4, 4, 4, 4));
  const auto wrong = function.run({{"x", matrix}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().reason, "ARGUMENT_SHAPE");
}

TEST_F(EnsembleModel, FillsATensorOfTheCaller) {
  const ModelFunction function = runtime.model(module)->function().value();
  const Tensor x = vector(1), y = vector(0);
  const gantry_value input = tensor_ref_value(x.dlpack());
  gantry_value output = tensor_ref_value(y.dlpack());

  ASSERT_TRUE(function.run_into({&input, 1}, {&output, 1}).ok());

  EXPECT_EQ(y.elements<float>()[3], 12);
}

TEST_F(EnsembleModel, WritesNoResultOfAnEarlierRun) {
  const ModelFunction function = runtime.model(module)->function().value();
  const auto first = function.run({{"x", vector(1)}}).value();

  for (int i = 0; i < 10; ++i) ASSERT_TRUE(function.run({{"x", vector(5)}}).ok());

  EXPECT_THAT(elements(first[0].value), ElementsAre(1.5f, 4, 7.5f, 12));
}

TEST_F(EnsembleModel, RunsOnSeveralThreads) {
  const ModelFunction function = runtime.model(module, {}, {.executors = 2})->function().value();
  std::vector<std::string> wrong(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t) {
      threads.emplace_back([&, t] {
        const auto first = static_cast<float>(t);
        for (int i = 0; i < 100; ++i) {
          const auto outputs = function.run({{"x", vector(first)}});
          if (!outputs.ok())
            wrong[t] = outputs.error().message.text();
          else if (elements((*outputs)[0].value)[0] != (2 * first + first * first) / 2)
            wrong[t] = "another result";
        }
      });
    }
  }
  EXPECT_THAT(wrong, ::testing::Each(""));
}

TEST_F(EnsembleModel, ListsItsMembers) {
  const auto members = module.function("members").value()();

  ASSERT_TRUE(members.ok()) << members.error().message;
  const auto items = members->items().value();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[1].text().value(), "square");
}

TEST_F(EnsembleModel, GivesCompiledCodeAFunction) {
  const Tensor out = vector(0);

  const auto called = module.function("mean_of").value()(vector(1), vector(4), out);

  ASSERT_TRUE(called.ok()) << called.error().message;
  EXPECT_THAT(out.elements<float>(), ElementsAre(2.5f, 3.5f, 4.5f, 5.5f));
}

TEST_F(EnsembleModel, CannotBeRecorded) {
  const Error error = error_of(module, {.capture = true});

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "CAPTURE");
}

constexpr std::string_view two_graphs = R"(schema: "1.0"
sources: [host.c]
root: {type_key: example.ensemble, data: members.bin}
graphs:
  a:
    inputs: {x: "float32[4]"}
    operators: [{function: times_two, inputs: [x], outputs: {out: "float32[4]"}}]
    outputs: [out]
  b:
    inputs: {z: "float32[4]"}
    operators: [{function: times_two, inputs: [z], outputs: {out: "float32[4]"}}]
    outputs: [out]
)";

TEST_F(EnsembleModel, RequiresItsMembers) {
  const Error error = error_of(load(two_graphs, {"a", "c"}).value());

  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_THAT(error.message, HasSubstr("\"c\""));
  EXPECT_THAT(error.message, HasSubstr("in member \"c\""));
}

TEST_F(EnsembleModel, RequiresMembersOfOneSignature) {
  const Error error = error_of(load(two_graphs, {"a", "b"}).value());

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "GRAPH");
  EXPECT_THAT(error.message,
              HasSubstr("member \"b\" is z float32[4] -> float32[4], expected x float32[4] -> "
                        "float32[4] as of the first"));
}

TEST_F(EnsembleModel, RequiresAMember) {
  const auto empty = load(two_graphs, {});

  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().code, Code::malformed);
  EXPECT_THAT(empty.error().message, HasSubstr("ensemble has 0 members, minimum is 1"));
}

// One graph, whose function takes 50 ms, or fails if the first element is negative.
constexpr std::string_view slow_source = R"(
#define _POSIX_C_SOURCE 200809L
#include <time.h>
typedef struct { float* data; int device_type, device_id, ndim; unsigned dtype; long *shape, *strides; unsigned long at; } T;
void (*__TVMAPISetLastError)(const char*);
int slow(void** args, int* codes, int count) {
  const T *x = args[0], *y = args[1];
  const struct timespec span = {0, 50000000};
  (void)codes, (void)count;
  if (x->data[0] < 0) {
    __TVMAPISetLastError("slow: x is negative");
    return -1;
  }
  nanosleep(&span, 0);
  for (long i = 0; i < x->shape[0]; ++i) y->data[i] = x->data[i];
  return 0;
}
)";
constexpr std::string_view slow_graph = R"(schema: "1.0"
sources: [slow.c]
root: {type_key: example.ensemble, data: members.bin}
graphs:
  a:
    inputs: {x: "float32[4]"}
    operators: [{function: slow, inputs: [x], outputs: {out: "float32[4]"}}]
    outputs: [out]
)";

TEST_F(EnsembleModel, StopsBetweenMembersAndRunsAgain) {
  test::write_file(directory / "slow.c", slow_source);
  const ModelFunction function =
      runtime
          .model(load(slow_graph, std::vector<std::string>(40, "a")).value(), {}, {.executors = 1})
          ->function()
          .value();
  const Task task = Task::create(std::chrono::milliseconds(80)).value();
  const auto begun = std::chrono::steady_clock::now();

  const auto cancelled = function.run({{"x", vector(1)}}, {.task = task});

  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, Code::cancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(1500));
  const auto outputs = function.run({{"x", vector(1)}});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_THAT(elements((*outputs)[0].value), ElementsAre(1, 2, 3, 4));
}

TEST_F(EnsembleModel, LeavesTheOutputIfAMemberFails) {
  test::write_file(directory / "slow.c", slow_source);
  const ModelFunction function = runtime.model(load(slow_graph, {"a"}).value())->function().value();
  const Tensor x = vector(-1), y = vector(7);
  const gantry_value input = tensor_ref_value(x.dlpack());
  gantry_value output = tensor_ref_value(y.dlpack());

  const auto failed = function.run_into({&input, 1}, {&output, 1});

  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, HasSubstr("slow: x is negative"));
  EXPECT_THAT(failed.error().message, HasSubstr("in member \"a\""));
  EXPECT_THAT(y.elements<float>(), ElementsAre(7, 8, 9, 10));
}

}  // namespace
}  // namespace gantry::conformance
