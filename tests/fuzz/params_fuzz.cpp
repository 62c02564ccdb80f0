// SPDX-License-Identifier: Apache-2.0
//
// A parameter file: reads it, writes it and reads it again.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/params_file.hpp"

#include "core/formats/arrays/params.hpp"

using namespace gantry;
using namespace gantry::fuzz;

namespace {

bool same(const Param& a, const Param& b) {
  return a.name == b.name && a.array.dtype.code == b.array.dtype.code &&
         a.array.dtype.bits == b.array.dtype.bits && a.array.dtype.lanes == b.array.dtype.lanes &&
         a.array.shape == b.array.shape &&
         text_of(a.array.data.data(), a.array.data.size()) ==
             text_of(b.array.data.data(), b.array.data.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size);
  const auto params = read_params({data, size});
  if (!params.ok()) return expect_refusal(params.error(), size);

  const std::string written = test::params_bytes(*params);
  const auto again =
      read_params({reinterpret_cast<const std::uint8_t*>(written.data()), written.size()});
  expect(again.ok() && again->size() == params->size(), "what was written can be read");
  for (std::size_t i = 0; i < params->size(); ++i) {
    expect(same((*params)[i], (*again)[i]), "a parameter is read back unchanged");
  }
  return 0;
}
