// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/arg_spec.hpp"
#include "tools/gantry/common/progress.hpp"
#include "tools/gantry/common/stopwatch.hpp"
#include "tools/gantry/json_value.hpp"
#include "tools/gantry/run_options.hpp"
#include "tools/gantry/session.hpp"

#include "core/base/running_code.hpp"
#include "core/engine/embed/objects.hpp"
#include "core/engine/runtime/artifact_file.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/writing/pack.hpp"

#include <gantry/quoted.hpp>
#include <gantry/value.hpp>

#include <algorithm>

namespace gantry::cli {
namespace {

// The arguments of one call, and the objects that they refer to.
struct Arguments {
  std::vector<gantry_value> values;
  // array arguments by position
  std::vector<std::pair<std::size_t, Tensor>> arrays;
  // own the strings
  std::vector<ArgSpec> specs;
  std::vector<Any> objects;
};

// Creates the value of one argument; arrays are created on `device`.
struct MakeValue {
  const Runtime& runtime;
  const std::string& device;
  // [out]  set for array arguments only
  Tensor& array;
  // [out]  one more for a shape or JSON
  std::vector<Any>& objects;

  // made     [in]   on the CPU
  Result<gantry_value> of_array(Result<Tensor> made) const {
    GANTRY_TRY(array, std::move(made));
    if (device != "cpu") {
      GANTRY_TRY(array, copied_to(runtime, array, device));
    }
    return of_tensor();
  }
  gantry_value of_tensor() const {
    gantry_value value{};
    value.kind = GANTRY_TENSOR;
    value.object = array.get();
    return value;
  }

  Result<gantry_value> operator()(NoneArg) const { return gantry_value{}; }
  Result<gantry_value> operator()(std::int64_t number) const { return int_value(number); }
  Result<gantry_value> operator()(double number) const { return float_value(number); }
  Result<gantry_value> operator()(const std::string& text) const {
    gantry_value value{};
    value.kind = GANTRY_CSTRING;
    value.cstring = text.c_str();
    return value;
  }
  Result<gantry_value> operator()(const FileArg& file) const {
    GANTRY_TRY(auto members, runtime.read_tensors(file.path));
    if (members.size() != 1 || !members.front().first.empty()) {
      return invalid("argument ", quoted(file.path), " is not a single array");
    }
    return of_array(std::move(members.front().second));
  }
  Result<gantry_value> operator()(const ShapeArg& arg) const {
    GANTRY_TRY(Any shape, runtime.shape(arg.extents));
    return objects.emplace_back(std::move(shape)).value();
  }
  Result<gantry_value> operator()(const JsonArg& arg) const {
    GANTRY_TRY(Any value, value_of_json(runtime, arg));
    return objects.emplace_back(std::move(value)).value();
  }
  Result<gantry_value> operator()(const ZerosArg& arg) const {
    GANTRY_TRY(array, zeros(runtime, arg.shape, arg.dtype, device));
    return of_tensor();
  }
};

Result<Arguments> make_arguments(const Runtime& runtime, const RunOptions& options) {
  Arguments arguments;
  for (const std::string& text : options.args) {
    GANTRY_TRY(ArgSpec spec, parse_arg(text));
    arguments.specs.push_back(std::move(spec));
  }
  for (std::size_t i = 0; i < arguments.specs.size(); ++i) {
    Tensor array;
    GANTRY_TRY(const gantry_value value,
               std::visit(MakeValue{runtime, options.devices.front(), array, arguments.objects},
                          arguments.specs[i]));
    arguments.values.push_back(value);
    if (array) arguments.arrays.emplace_back(i, std::move(array));
  }
  return arguments;
}

}  // namespace

Status check_called_library(const Runtime& runtime, const std::string& file,
                            std::string_view function) {
  const auto artifact = read_artifact(*state_of(runtime.get()), file);
  if (!artifact.ok() || (*artifact)->elf == nullptr) return {};
  const auto is_mark = [](const ElfSymbol& symbol) {
    return symbol.name.starts_with("__tvm") || symbol.name.starts_with("__TVM") ||
           symbol.name.starts_with("TVM") || symbol.name == packed_mark;
  };
  if (std::ranges::any_of((*artifact)->elf->symbols(), is_mark)) return {};
  return unsupported(quoted((*artifact)->name),
                     " has no symbol of TVM, so its functions probably have other arguments; "
                     "--force calls ",
                     quoted(function), " anyway")
      .with_reason("NOT_TVM");
}

Result<RunOutcome> run_function(const Runtime& runtime, const Module& module,
                                const RunOptions& options, const TimeLimit& limit, bool quiet) {
  GANTRY_TRY(const Function function, module.function(options.function));
  GANTRY_TRY(const Arguments arguments, make_arguments(runtime, options));
  GANTRY_TRY(const gantry_device_id device, runtime.device(options.devices.front()));
  const gantry_env env = limit.env(device);
  RunOutcome outcome;
  outcome.has_arguments = true;
  const std::string title = concat("function ", quoted(options.function));
  const CallRecord record(title);
  Any result;
  Progress progress("run", static_cast<std::uint64_t>(options.repeat), quiet);
  for (int repetition = 0; repetition < options.repeat; ++repetition) {
    const Stopwatch run;
    auto called = function.call(arguments.values, &env);
    if (!called.ok()) return std::move(called).error().at("in function ", quoted(options.function));
    GANTRY_CHECK(synchronize(runtime, std::span(&device, 1)));
    outcome.run_ns.add(run.nanoseconds());
    progress.advance();
    result = std::move(called).value();
  }
  for (const auto& [position, array] : arguments.arrays) {
    GANTRY_TRY(Tensor copy, copied_to(runtime, array, "cpu"));
    outcome.arrays.push_back({concat("arg", position), std::move(copy)});
  }
  if (result.is_none()) return outcome;
  Outputs outputs(runtime);
  GANTRY_TRY(const std::vector<NamedValue> results, named_items(result, "result"));
  GANTRY_CHECK(outputs.add(0, results));
  for (CpuArray& array : outputs.take_arrays()) outcome.arrays.push_back(std::move(array));
  outcome.texts = outputs.take_texts();
  return outcome;
}

}  // namespace gantry::cli
