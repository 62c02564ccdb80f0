// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/progress.hpp"
#include "tools/gantry/common/stopwatch.hpp"
#include "tools/gantry/model_factory.hpp"
#include "tools/gantry/model_input.hpp"
#include "tools/gantry/run_options.hpp"
#include "tools/gantry/session.hpp"

#include <algorithm>

namespace gantry::cli {
namespace {

// Collects the outputs of `count` runs. With --each, row i of an array is an output of run i;
// without it, the array is the output.
class Outputs {
 public:
  Outputs(Runtime& runtime, const Executor& executor, const RunOptions& options, std::int64_t count)
      : runtime_(runtime), executor_(executor), each_(options.each), count_(count) {}

  Status fetch(std::int64_t i) {
    GANTRY_TRY(const std::int64_t outputs, executor_.output_count());
    for (std::int64_t k = 0; k < outputs; ++k) {
      GANTRY_TRY(const Tensor output, executor_.output(k));
      if (i == 0) GANTRY_CHECK(add_array(output, k, outputs));
      const Tensor& array = arrays_[static_cast<std::size_t>(k)].tensor;
      if (each_) {
        GANTRY_TRY(const Tensor row, array.row(i));
        GANTRY_CHECK(runtime_.copy(output, row));
      } else {
        GANTRY_CHECK(runtime_.copy(output, array));
      }
    }
    return {};
  }
  std::vector<HostArray> take() { return std::move(arrays_); }

 private:
  Status add_array(const Tensor& output, std::int64_t k, std::int64_t outputs) {
    std::vector<std::int64_t> shape(output.shape().begin(), output.shape().end());
    if (each_) shape.insert(shape.begin(), count_);
    GANTRY_TRY(Tensor array, runtime_.tensor(shape, output.dtype()));
    arrays_.push_back({outputs == 1 ? "output" : concat("output", k), std::move(array)});
    return {};
  }

  Runtime& runtime_;
  const Executor& executor_;
  bool each_;
  std::int64_t count_;
  std::vector<HostArray> arrays_;
};

Status set_inputs(Executor& executor, const std::vector<ModelInput>& inputs, bool each,
                  std::int64_t i) {
  for (const ModelInput& input : inputs) {
    if (!each) {
      GANTRY_CHECK(executor.set_input(input.name, input.tensor));
      continue;
    }
    GANTRY_TRY(const Tensor row, input.tensor.row(i));
    GANTRY_CHECK(executor.set_input(input.name, row));
  }
  return {};
}

Result<std::vector<NamedFile>> parse_files(const std::vector<std::string>& texts) {
  std::vector<NamedFile> files;
  for (const std::string& text : texts) {
    GANTRY_TRY(NamedFile file, parse_named_file(text));
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace

Result<RunOutcome> run_graph(Runtime& runtime, const Module& model, const RunOptions& options,
                             bool quiet) {
  GANTRY_TRY(const std::vector<NamedFile> files, parse_files(options.inputs));
  RunOutcome outcome;
  GANTRY_TRY(const std::string factory, factory_name(runtime, model));
  const Stopwatch create;
  GANTRY_TRY(Executor executor,
             make_executor(runtime, model, options.devices, factory, options.capture));
  outcome.create_ns = create.nanoseconds();
  GANTRY_TRY(const std::vector<InputInfo> wanted, inputs_of(executor));
  GANTRY_TRY(const std::vector<ModelInput> inputs,
             read_inputs(runtime, files, wanted, options.each));
  std::vector<gantry_device_id> devices;
  for (const std::string& name : options.devices) {
    GANTRY_TRY(const gantry_device_id id, runtime.device(name));
    devices.push_back(id);
  }

  const std::int64_t count = options.each ? inputs.front().tensor.shape()[0] : 1;
  Outputs outputs(runtime, executor, options, count);
  Progress progress("run", static_cast<std::uint64_t>(count * options.repeat), quiet);
  for (std::int64_t i = 0; i < count; ++i) {
    GANTRY_CHECK(set_inputs(executor, inputs, options.each, i));
    GANTRY_CHECK(synchronize(runtime, devices));
    for (int repetition = 0; repetition < options.repeat; ++repetition) {
      const Stopwatch run;
      GANTRY_CHECK(executor.run());
      GANTRY_CHECK(synchronize(runtime, devices));
      outcome.run_ns.push_back(run.nanoseconds());
      progress.advance();
    }
    GANTRY_CHECK(outputs.fetch(i));
  }
  outcome.arrays = outputs.take();
  return outcome;
}

}  // namespace gantry::cli
