// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/progress.hpp"
#include "tools/gantry/common/stopwatch.hpp"
#include "tools/gantry/model_factory.hpp"
#include "tools/gantry/model_input.hpp"
#include "tools/gantry/run_options.hpp"
#include "tools/gantry/session.hpp"

#include "core/format/model_signature.hpp"

#include <string>
#include <utility>
#include <vector>

namespace gantry::cli {
namespace {

// Collects the outputs of `count` runs. With --each, row i of an array is an output of run i;
// without it, the array is the output.
class Outputs {
 public:
  Outputs(Runtime& runtime, const Executor& executor, std::vector<std::string> names, bool each,
          std::int64_t count)
      : runtime_(runtime),
        executor_(executor),
        names_(std::move(names)),
        each_(each),
        count_(count) {}

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
    const auto index = static_cast<std::size_t>(k);
    const auto size = static_cast<std::size_t>(outputs);
    arrays_.push_back(
        {names_.size() == size ? names_[index] : output_name(index, size), std::move(array)});
    return {};
  }

  Runtime& runtime_;
  const Executor& executor_;
  std::vector<std::string> names_;
  bool each_;
  std::int64_t count_;
  std::vector<HostArray> arrays_;
};

}  // namespace

Result<RunOutcome> run_graph(Runtime& runtime, const Module& model, const RunOptions& options,
                             bool quiet) {
  RunOutcome outcome;
  GANTRY_TRY(const std::string factory, factory_name(runtime, model));
  const Stopwatch create;
  GANTRY_TRY(Executor executor,
             make_executor(runtime, model, options.devices, factory, options.capture));
  outcome.create_ns = create.nanoseconds();
  GANTRY_TRY(const std::vector<ModelInput> inputs,
             read_inputs(runtime, executor, options.inputs, options.each));
  GANTRY_TRY(const auto devices, device_ids(runtime, options.devices));

  const std::int64_t count = options.each ? inputs.front().tensor.shape()[0] : 1;
  Outputs outputs(runtime, executor, output_names(runtime, model, factory), options.each, count);
  Progress progress("run", static_cast<std::uint64_t>(count * options.repeat), quiet);
  for (std::int64_t i = 0; i < count; ++i) {
    GANTRY_CHECK(set_inputs(executor, inputs, options.each ? std::optional(i) : std::nullopt));
    GANTRY_CHECK(synchronize(runtime, devices));
    for (int repetition = 0; repetition < options.repeat; ++repetition) {
      const Stopwatch run;
      GANTRY_CHECK(executor.run());
      GANTRY_CHECK(synchronize(runtime, devices));
      outcome.run_ns.add(run.nanoseconds());
      progress.advance();
    }
    GANTRY_CHECK(outputs.fetch(i));
  }
  outcome.arrays = outputs.take();
  return outcome;
}

}  // namespace gantry::cli
