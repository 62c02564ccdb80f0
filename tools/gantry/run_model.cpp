// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/progress.hpp"
#include "tools/gantry/common/stopwatch.hpp"
#include "tools/gantry/model.hpp"
#include "tools/gantry/model_input.hpp"
#include "tools/gantry/model_weights.hpp"
#include "tools/gantry/run_options.hpp"
#include "tools/gantry/session.hpp"

#include "core/base/running_code.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace gantry::cli {

Result<RunOutcome> run_model(const Runtime& runtime, Session& model, double create_ns,
                             const RunOptions& options, const ModelWeights* weights,
                             const TimeLimit& limit, bool quiet) {
  RunOutcome outcome;
  outcome.create_ns = create_ns;
  InputValues weight_values;
  if (weights != nullptr) {
    GANTRY_TRY(weight_values, weights->load(runtime, model, options.devices.front()));
    GANTRY_CHECK(set_values(model, weight_values));
  }
  GANTRY_TRY(const std::vector<ModelInput> inputs,
             read_inputs(runtime, model, options.inputs, options.each, MissingInput::error,
                         weight_values));
  GANTRY_TRY(const auto devices, device_ids(runtime, options.devices));

  const auto rows = std::ranges::find_if(inputs, &ModelInput::has_rows);
  const std::int64_t count = rows != inputs.end() ? rows->tensor.shape()[0] : 1;
  Outputs outputs(runtime, options.each, count);
  const std::string title = run_title(model);
  const CallRecord record(title);
  Progress progress("run", static_cast<std::uint64_t>(count * options.repeat), quiet);
  for (std::int64_t i = 0; i < count; ++i) {
    GANTRY_CHECK(set_inputs(model, inputs, options.each ? std::optional(i) : std::nullopt));
    GANTRY_CHECK(synchronize(runtime, devices));
    for (int repetition = 0; repetition < options.repeat; ++repetition) {
      const Stopwatch run;
      GANTRY_CHECK(model.run({.task = limit.task()}));
      GANTRY_CHECK(synchronize(runtime, devices));
      outcome.run_ns.add(run.nanoseconds());
      progress.advance();
    }
    GANTRY_TRY(const std::vector<NamedValue> values, model.outputs());
    GANTRY_CHECK(outputs.add(i, values));
  }
  outcome.arrays = outputs.take_arrays();
  outcome.texts = outputs.take_texts();
  return outcome;
}

}  // namespace gantry::cli
