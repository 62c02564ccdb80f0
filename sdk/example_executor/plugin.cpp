// SPDX-License-Identifier: Apache-2.0
//
// example.ensemble - an executor that runs the imported graphs of an artifact.
#include "plugin.hpp"

namespace ensemble {

gantry::Status Plugin::mean(const gantry::Call& call) const {
  GANTRY_CHECK(call.count_is(3));
  const gantry::Extent n[] = {'n'};
  const gantry::TensorSpec vector{
      .dtype = gantry::dtypes::float32, .shape = n, .alignment = 4, .has_offset = true};
  gantry::Extents extents;
  GANTRY_TRY(const gantry_tensor* const a, call.tensor(0, vector, extents));
  GANTRY_TRY(const gantry_tensor* const b, call.tensor(1, vector, extents));
  GANTRY_TRY(gantry_tensor* const out, call.tensor(2, vector, extents));
  for (std::int64_t i = 0; i < extents['n']; ++i)
    floats_of(*out)[i] = (floats_of(*a)[i] + floats_of(*b)[i]) / 2;
  return {};
}

}  // namespace ensemble

GANTRY_PLUGIN(ensemble::Plugin);
