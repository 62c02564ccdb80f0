// SPDX-License-Identifier: Apache-2.0
#include "core/embed/run.hpp"

#include "core/embed/arguments.hpp"
#include "core/embed/run_inputs.hpp"
#include "core/embed/run_outputs.hpp"
#include "core/runtime/state.hpp"

#include <gantry/kind_text.hpp>
#include <gantry/value.hpp>

#include <vector>

namespace gantry {
namespace {

// Releases what a function keeps of a run, in every outcome.
class Forgetting {
 public:
  explicit Forgetting(FunctionState& function) : function_(function) {}
  ~Forgetting() { function_.forget(); }
  Forgetting(const Forgetting&) = delete;
  Forgetting& operator=(const Forgetting&) = delete;

 private:
  FunctionState& function_;
};

}  // namespace

Status run_model(ModelObject& model, gantry_run& run) {
  GANTRY_CHECK(check_flags(run.flags, 0, "gantry_run"));
  if (run.outputs == nullptr && run.result.kind != GANTRY_NONE) {
    return invalid("run: result is ", kind_text(run.result.kind), " on entry, expected none")
        .with_reason("ARGUMENT_KIND");
  }
  ModelInstances::Use use(model.instances);
  GANTRY_CHECK(use.begin());
  GANTRY_TRY(FunctionState* const function, use->function(view_of(run.function)));
  GANTRY_TRY(const std::vector<gantry_value> inputs, ordered_inputs(*function, run));
  std::uint64_t copied_bytes = 0;
  const Forgetting forgetting(*function);
  GANTRY_CHECK(function->call(inputs, copied_bytes));
  GANTRY_CHECK(pass_outputs(RuntimeAccess::state(model.runtime), *function, inputs, run));
  run.copied_bytes = copied_bytes;
  return {};
}

}  // namespace gantry
