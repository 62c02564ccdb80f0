// SPDX-License-Identifier: Apache-2.0
//
// Plays the call scripts of artifacts that TVM exported, and compares with what TVM returned.
#include "core/base/text_file.hpp"
#include "tests/golden/played_script.hpp"
#include "tests/support/files.hpp"
#include "tools/gantry/script/script_values.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>
#include <gantry/value.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

namespace gantry::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr Tolerance tolerance{1e-5, 1e-6};
// of a library's own sums
constexpr Tolerance library_tolerance{1e-4, 1e-5};
const std::vector<std::string> cpu = {"cpu"};

// The functions that TVM's process had, see tests/golden/data/relax/README.md.
class HostFunctions {
 public:
  void add_to(const Runtime& runtime) {
    const Host host = runtime.host();
    const auto add = [&](const char* name, AddedFunction function) {
      const Status added = runtime.add_function(name, std::move(function));
      ASSERT_TRUE(added.ok()) << added.error().message;
    };
    add("test.fmt", [host](std::span<const gantry_value> args) { return fmt(host, args); });
    add("test.side", [](auto) -> Result<Any> { return Any(); });
    add("test.boom",
        [host](auto) -> Result<Any> { return raised_error(host, "ValueError", "boom from host"); });
    add("test.host_fn", [this](std::span<const gantry_value> args) -> Result<Any> {
      const gantry_tensor& tensor = *gantry_value_tensor(&args[0]);
      const auto* first = reinterpret_cast<const float*>(static_cast<const char*>(tensor.data) +
                                                         tensor.byte_offset);
      calls.push_back(concat("[", join(std::span(first, tensor.shape[0])), "] ", args[1].i, " ",
                             *value_text(args[2]), " ", args[3].f));
      return Any();
    });
  }

  // the arguments of test.host_fn
  std::vector<std::string> calls;
  // what the model prints
  std::string output;

 private:
  // "{s}|{i}|{f}|{dtype}|{shape}|{x.shape[0]}"
  static Result<Any> fmt(const Host& host, std::span<const gantry_value> args) {
    if (args.size() != 6) return invalid("test.fmt has ", args.size(), " arguments, expected 6");
    const auto dtype = args[4].kind == GANTRY_DTYPE ? dtype_text(args[4].dtype)
                                                    : std::string(value_text(args[4]).value_or(""));
    GANTRY_TRY(Value text,
               host.text(concat(value_text(args[1]).value_or("no text"), "|", args[2].i, "|",
                                args[3].f, "|", dtype, "|(", join(value_shape(args[5]).value()),
                                ")|", gantry_value_tensor(&args[0])->shape[0])));
    return Any(std::move(text));
  }
};

// Plays a script on its artifact on the CPU; returns a line for each difference.
std::vector<std::string> play(const CallScript& script, HostFunctions& functions,
                              const std::string& directory = "relax",
                              Tolerance allowed = tolerance) {
  RuntimeOptions options = test::built_plugins_only();
  options.output_sink = [&](std::string_view text) { functions.output += text; };
  Runtime runtime = test::new_runtime(options);
  functions.add_to(runtime);
  return test::play(std::move(runtime), script, cpu, allowed, directory);
}

// name     [in]   "relax/cnn_llvm"
std::vector<std::string> play_golden(const std::string& name, HostFunctions& functions) {
  const auto script = read_call_script(test::golden(name + ".json"));
  if (!script.ok()) return {script.error().message.text()};
  const bool is_library = name.starts_with("relax/byoc_");
  return play(*script, functions, name.substr(0, name.find('/')),
              is_library ? library_tolerance : tolerance);
}

// directory  [in]  "relax"
std::vector<std::string> golden_scripts(const std::string& directory, CallScript::Kind kind) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(test::golden(directory))) {
    if (entry.path().extension() != ".json") continue;
    const auto script =
        parse_call_script(read_text_file(entry.path().string(), std::size_t{1} << 24).value());
    // Those with `expected_from` are for devices.
    if (script.ok() && script->kind == kind && script->expected_from.empty())
      names.push_back(directory + "/" + entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

// "cnn_llvm" of "relax/cnn_llvm"
constexpr auto last_part = [](const auto& test) {
  return std::filesystem::path(test.param).filename().string();
};

TEST(GoldenCallScripts, AreAllRead) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::golden("relax"))) {
    if (entry.path().extension() != ".json") continue;
    const auto script = read_call_script(entry.path());
    EXPECT_TRUE(script.ok()) << script.error().message;
    ++count;
  }
  EXPECT_EQ(count, 63);
}

// Compiled code compares each stride with the product of the extents after it.
TEST(ScriptTensor, HasTheStridesThatCompiledCodeRequires) {
  Runtime runtime = test::new_runtime();
  const auto strides_of = [&](const std::vector<std::int64_t>& shape) {
    const ScriptArray array{dtypes::float32, shape, {}};
    const Tensor tensor = tensor_of(runtime, array, dtypes::float32, "cpu").value();
    const std::int64_t* const strides = tensor.dlpack()->strides;
    return std::vector(strides, strides + shape.size());
  };

  EXPECT_THAT(strides_of({0, 2, 3}), ElementsAre(6, 3, 1));
  EXPECT_THAT(strides_of({2, 0, 3}), ElementsAre(0, 3, 1));
  EXPECT_THAT(strides_of({2, 3, 0}), ElementsAre(0, 0, 1));
}

// name     [in]   of a script; what TVM printed while it was played is beside it, if it is anything
void expect_printed(const std::string& name, const std::string& output) {
  // A compiled model prints the same.
  const std::string base = name.ends_with("_compiled") ? name.substr(0, name.rfind('_')) : name;
  const std::filesystem::path file = test::golden(base + ".stdout");
  EXPECT_EQ(output, std::filesystem::exists(file) ? *read_text_file(file.string(), 1 << 16)
                                                  : std::string());
}

class TirScript : public ::testing::TestWithParam<std::string> {};

TEST_P(TirScript, PlaysWithoutADifference) {
  HostFunctions functions;
  EXPECT_THAT(play_golden(GetParam(), functions), IsEmpty());
  expect_printed(GetParam(), functions.output);
}

INSTANTIATE_TEST_SUITE_P(Golden, TirScript,
                         ::testing::ValuesIn(golden_scripts("relax", CallScript::Kind::tir)),
                         last_part);
INSTANTIATE_TEST_SUITE_P(Functions, TirScript,
                         ::testing::ValuesIn(golden_scripts("functions", CallScript::Kind::tir)),
                         last_part);

TEST(CpuFunction, ReceivesTheRecordedArguments) {
  HostFunctions functions;

  EXPECT_THAT(play_golden("relax/tir_call_packed_llvm", functions), IsEmpty());

  EXPECT_THAT(functions.calls,
              ElementsAre("[-0.7987351, 1.7774512, -0.35040987, -1.1836251] 9 a tag string 1.5"));
}

class RelaxScript : public ::testing::TestWithParam<std::string> {};

// TVM takes a record of an unknown format as raw data, which gantry refuses.
const std::map<std::string, std::vector<std::string>> intended_differences = {
    {"relax/weights_errors",
     {"call 13 vm.builtin.tensor_cache.load: fails with InternalError: format is \"q4-secret\", "
      "expected \"raw\" or \"f32-to-bf16\"",
      "call 14 vm.builtin.tensor_cache.get: \"result\" is none, expected float32[3]",
      "call 15 vm.builtin.tensor_cache.get: \"result\" is none, expected float32[4]"}}};

TEST_P(RelaxScript, PlaysWithoutADifference) {
  HostFunctions functions;
  const auto intended = intended_differences.find(GetParam());

  std::vector<std::string> found = play_golden(GetParam(), functions);

  // Without the lines of context, which contain paths.
  for (std::string& line : found) line.resize(std::min(line.find('\n'), line.size()));
  EXPECT_EQ(found,
            intended != intended_differences.end() ? intended->second : std::vector<std::string>());
  expect_printed(GetParam(), functions.output);
}

INSTANTIATE_TEST_SUITE_P(Golden, RelaxScript,
                         ::testing::ValuesIn(golden_scripts("relax", CallScript::Kind::relax)),
                         last_part);
INSTANTIATE_TEST_SUITE_P(Functions, RelaxScript,
                         ::testing::ValuesIn(golden_scripts("functions", CallScript::Kind::relax)),
                         last_part);

// Calls that tvm-ffi recorded of libraries with its C++ headers, and what is not as recorded.
class LibraryScript : public ::testing::TestWithParam<std::string> {
 protected:
  // headers  [in]   of the release with which the library was compiled
  std::vector<std::string> differences_of(const std::string& headers) {
    const auto script = read_call_script(test::golden("tvm-ffi/" + GetParam() + ".json"));
    if (!script.ok()) return {script.error().message.text()};
    return test::play(test::new_runtime(), *script, cpu, tolerance, "tvm-ffi/" + headers);
  }
};

TEST_P(LibraryScript, PlaysWithoutADifference) { EXPECT_THAT(differences_of("0.1.15"), IsEmpty()); }

// Those have a method of types that the others do not have.
TEST_P(LibraryScript, PlaysWithEarlierHeaders) {
  std::vector<std::string> found = differences_of("0.1.10");

  std::erase_if(found, [](const std::string& line) {
    return line.find("is \"ffi.Object/example.") != std::string::npos &&
           line.find("methods: __ffi_shall") != std::string::npos;
  });
  EXPECT_THAT(found, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(TvmFfi, LibraryScript,
                         ::testing::Values("typed_function", "type_and_method", "raise_error",
                                           "containers", "env_tensor"),
                         [](const auto& test) { return test.param; });

// Functions that artifacts of TVM 0.16 to 0.27 look up, and that run on any CPU.
TEST(FunctionsOfTvm, AreProvidedByAPlugin) {
  // Latent attention.
  const std::vector<std::string> missing = {"vm.builtin.attention_kv_cache_append_mla_kv",
                                            "vm.builtin.attention_kv_cache_debug_get_kv_mla"};
  const Runtime runtime = test::new_runtime();
  // name, tab, group
  const std::string rows =
      read_text_file(test::golden("../../unit/cxx/function_names.tsv").string(), 1 << 16).value();
  std::vector<std::string> absent;
  std::size_t count = 0;
  for (std::size_t at = 0; at < rows.size();) {
    const std::size_t end = std::min(rows.find('\n', at), rows.size());
    const std::string_view row = std::string_view(rows).substr(at, end - at);
    at = end + 1;
    if (!row.ends_with("\tA")) continue;
    const std::string name(row.substr(0, row.find('\t')));
    ++count;
    if (!runtime.function(name).ok()) absent.push_back(name);
  }

  EXPECT_EQ(absent, missing);
  EXPECT_EQ(count, 135u);
}

// Weights are not computed, so no bit of them may differ.
class WeightScript : public ::testing::TestWithParam<std::string> {
 protected:
  // Compares the bytes of tensors; `compared` counts them.
  void expect_equal_bits(const Any& found, const ScriptValue& expected) {
    if (const auto* tuple = std::get_if<TupleScriptValue>(&expected.content)) {
      const std::vector<Any> items = found.items().value();
      ASSERT_EQ(items.size(), tuple->items.size());
      for (std::size_t i = 0; i < items.size(); ++i) expect_equal_bits(items[i], tuple->items[i]);
    }
    const auto* tensor = std::get_if<TensorScriptValue>(&expected.content);
    if (tensor == nullptr) return;
    const Tensor is = found.tensor().value();
    const auto* bytes = static_cast<const std::uint8_t*>(is.data());
    EXPECT_EQ(std::vector<std::uint8_t>(bytes, bytes + is.byte_size()),
              script.arrays.at(tensor->key).bytes)
        << tensor->key;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % 64, 0u) << tensor->key;
    ++compared;
  }

  CallScript script = read_call_script(test::golden("relax/" + GetParam() + ".json")).value();
  std::size_t compared = 0;
};

TEST_P(WeightScript, HasTensorsThatAreEqualBitForBitAndAligned) {
  Runtime runtime = test::new_runtime();
  const Module model = runtime.load(test::golden("relax/" + script.file).string()).value();
  ScriptPlayer player = ScriptPlayer::create(runtime, model, script, cpu).value();

  for (std::size_t i = 0; i < script.calls.size(); ++i) {
    SCOPED_TRACE(i);
    const PlayedCall* const played = player.play(i, tolerance).value();
    const ScriptCall& call = script.calls[i];
    if (call.is_global && call.result && played->result)
      expect_equal_bits(*played->result, *call.result);
  }

  EXPECT_GE(compared, 6u);
}

INSTANTIATE_TEST_SUITE_P(Golden, WeightScript,
                         ::testing::Values("weights_edge", "weights_mix_llvm", "weights_old"),
                         [](const auto& test) { return test.param; });

// A golden script whose expected values a test changes, and the lines that are then reported.
class Difference : public ::testing::Test {
 protected:
  explicit Difference(const char* name = "tir_ret_llvm")
      : script(read_call_script(test::golden("relax/" + std::string(name) + ".json")).value()) {}
  // Leaves one call of the script.
  ScriptCall& only(std::size_t index) {
    ScriptCall call = script.calls.at(index);
    script.calls = {std::move(call)};
    return script.calls.front();
  }
  std::vector<std::string> lines() {
    HostFunctions functions;
    return play(script, functions);
  }

  CallScript script;
};

TEST_F(Difference, OfAResultIsReportedWithBothValues) {
  // addi returns 43
  const std::pair<ScriptValue, const char*> wrong[] = {
      {{std::int64_t{44}}, "44"},
      {{true}, "true"},
      {{2.5}, "float 2.5"},
      {{NoneScriptValue{}}, "none"},
      {{std::string("43")}, "\"43\""},
      {{ShapeScriptValue{{1, 2}}}, "shape [1, 2]"},
      {{TupleScriptValue{{{NoneScriptValue{}}}}}, "a tuple of 1"},
      {{TensorScriptValue{"k", {2, 32, 1}, {2}}}, "float32[2]"},
      {{ObjectScriptValue{"Cache"}}, "an object \"Cache\""}};
  ScriptCall& call = only(0);
  for (const auto& [expected, text] : wrong) {
    call.result = expected;
    EXPECT_THAT(lines(), ElementsAre(concat("call 0 addi: \"result\" is 43, expected ", text)));
  }
}

TEST_F(Difference, OfAnArgumentAfterTheCallIsReportedByElement) {
  ScriptCall& call = only(1);
  const auto& after = std::get<TensorScriptValue>(call.after.at(0).content);
  auto* floats = reinterpret_cast<float*>(script.arrays.at(after.key).bytes.data());
  floats[1] = 1000;

  const std::vector<std::string> found = lines();

  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], StartsWith("call 0 chk: \"argument 0\" differs at [1]: found "));
  EXPECT_THAT(found[0], HasSubstr(", expected 1000; 1 of 3 elements differ, by at most "));
  EXPECT_THAT(found[0], EndsWith(" relative (rtol 1e-05, atol 1e-06)"));
}

TEST_F(Difference, WithinTheToleranceIsNone) {
  ScriptCall& call = only(1);
  const auto& after = std::get<TensorScriptValue>(call.after.at(0).content);
  auto* floats = reinterpret_cast<float*>(script.arrays.at(after.key).bytes.data());
  floats[1] += 0.5e-6f;

  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(Difference, OfAnErrorIsReported) {
  const std::string found =
      "call 0 chk: fails with RuntimeError: n must be larger than 3, expected ";
  ScriptCall& call = only(2);

  call.error->kind = "ValueError";
  EXPECT_THAT(lines(), ElementsAre(found + "ValueError: n must be larger than 3"));
  call.error = ScriptError{"RuntimeError", "n must be larger than 3."};
  EXPECT_THAT(lines(), ElementsAre(found + "RuntimeError: n must be larger than 3."));
  call.error->message = "n must be";
  EXPECT_THAT(lines(), IsEmpty());
  call.error = ScriptError{};
  EXPECT_THAT(lines(), IsEmpty());
  call.error.reset();
  call.result = ScriptValue{NoneScriptValue{}};
  EXPECT_THAT(lines(), ElementsAre(found + "a result"));
}

TEST_F(Difference, OfAMissingErrorIsReported) {
  ScriptCall& call = only(0);
  call.result.reset();
  call.error = ScriptError{"ValueError", "no"};

  EXPECT_THAT(lines(), ElementsAre("call 0 addi: returns, expected ValueError: no"));
}

TEST_F(Difference, OfAFunctionThatIsMissingIsReported) {
  only(0).function = "no_such";

  ASSERT_EQ(lines().size(), 1u);
  EXPECT_THAT(lines()[0], StartsWith("call 0 no_such: fails with RuntimeError: "));
}

TEST_F(Difference, OfAReferenceWithoutAValueIsReportedAndTheCallIsNotMade) {
  ScriptCall call = script.calls.at(0);
  call.args[0] = {RefScriptValue{2, {}}};
  script.calls.push_back(call);
  call.args[0] = {RefScriptValue{0, {3}}};
  script.calls.push_back(call);

  EXPECT_THAT(lines(),
              ElementsAre("call 4 addi: argument 0: the result of call 2 is not there; the "
                          "call is not made",
                          "call 5 addi: argument 0: the result of call 0 has no item 3; "
                          "the call is not made"));
}

TEST_F(Difference, OfTheVirtualMachineIsReportedIfTheLibraryHasNone) {
  script.kind = CallScript::Kind::relax;

  EXPECT_THAT(lines(), ElementsAre("call script: its kind is \"relax\", and _lib has no virtual "
                                   "machine"));
}

// The call (a, b) -> ((a, b), c) of tuples returns nested tuples.
class TupleDifference : public Difference {
 protected:
  TupleDifference() : Difference("tuples_llvm") {}
  // The first call whose result is a tuple.
  TupleScriptValue& result() {
    for (ScriptCall& call : script.calls) {
      if (call.result && std::holds_alternative<TupleScriptValue>(call.result->content))
        return std::get<TupleScriptValue>(call.result->content);
    }
    ADD_FAILURE() << "no call returns a tuple";
    std::abort();
  }
};

TEST_F(TupleDifference, IsReportedWithThePlaceInTheTuple) {
  result().items.at(0) = {std::int64_t{3}};

  const std::vector<std::string> found = lines();

  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], HasSubstr(": \"result[0]\" is "));
  EXPECT_THAT(found[0], EndsWith(", expected 3"));
}

TEST_F(TupleDifference, InTheNumberOfItemsIsReported) {
  const std::size_t size = result().items.size();
  result().items.push_back({AnyScriptValue{}});

  const std::vector<std::string> found = lines();

  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], EndsWith(concat("\"result\" is a tuple of ", size, ", expected a tuple of ",
                                        size + 1)));
}

// The texts of checks of the virtual machine are not those of TVM, so only the kind is compared.
class CheckDifference : public Difference {
 protected:
  CheckDifference() : Difference("cnn_dyn_llvm") {}
};

TEST_F(CheckDifference, IsInTheKindOnly) {
  const auto fails = std::ranges::find_if(
      script.calls, [](const ScriptCall& call) { return call.error.has_value(); });
  ASSERT_NE(fails, script.calls.end());
  fails->error->message = "another text";
  EXPECT_THAT(lines(), IsEmpty());

  fails->error->kind = "OtherError";
  EXPECT_EQ(lines().size(), 1u);
}

}  // namespace
}  // namespace gantry::cli
