// SPDX-License-Identifier: Apache-2.0
//
// A document of `gantry bench --json`, as --baseline reads it.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "tools/gantry/common/measurement.hpp"

#include <cmath>

using namespace gantry;
using namespace gantry::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // An empty name of an input, four bytes of a list, is a text of 32.
  const Budget budget(size, {.bytes_per_input_byte = 256});
  const auto all = cli::parse_measurements(text_of(data, size));
  if (!all.ok()) return expect_refusal(all.error(), size);

  expect(!all->empty(), "a document has a measurement");
  for (const cli::Measurement& one : *all) {
    expect(one.subject.file.find('/') == std::string::npos, "a file has no directory");
    for (const cli::MeasuredSeries& series : one.series) {
      expect(!series.samples_ns.empty(), "a series has times");
      for (const double time : series.samples_ns)
        expect(std::isfinite(time) && time >= 0, "a time is a number that is not negative");
    }
  }
  expect(cli::comparable(all->front().subject, *all, "x").ok(), "a measurement is comparable");
  return 0;
}
