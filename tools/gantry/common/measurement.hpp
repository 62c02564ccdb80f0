// SPDX-License-Identifier: Apache-2.0
//
// What `gantry bench --json` has measured, as a later run reads it, and the comparison of the two.
#pragma once

#include "tools/gantry/common/statistics.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

// Measurements are compared if these are equal.
struct MeasuredSubject {
  // without its directory
  std::string file;
  // empty: the default one
  std::string function;
  // numbered_device()
  std::vector<std::string> devices;
  // "x float32[1, 64] 9f86d081884c7d65": name, type, and the beginning of a digest of the elements
  std::vector<std::string> inputs;
};

// Conditions under which it was measured; a comparison mentions those that differ.
struct MeasuredConditions {
  std::int64_t threads = 0;
  bool capture = false;
  std::int64_t file_bytes = 0;
};

// Times of one kind: "run", "host to device", "run, 4 at a time".
struct MeasuredSeries {
  std::string name;
  std::vector<double> samples_ns;
};

struct Measurement {
  MeasuredSubject subject;
  MeasuredConditions conditions;
  std::vector<MeasuredSeries> series;
};

// "cpu:0" for "cpu".
std::string numbered_device(std::string_view name);

// Names of series.
inline constexpr std::string_view run_series = "run", to_device_series = "host to device",
                                  from_device_series = "device to host";
std::string concurrent_series(std::int64_t at_once);

// Reads the document of `gantry bench --json`, untrusted; with --device all it has one measurement
// for each device.
//
// returns  malformed, reason BENCH_DOCUMENT: naming the value, and what is expected
Result<std::vector<Measurement>> parse_measurements(std::string_view json);
// Reads a file of at most 64 MiB.
Result<std::vector<Measurement>> read_measurements(const std::string& path);

// Returns the measurement of the same file, function, devices and inputs.
//
// before   [in]   of one file, not empty
// path     [in]   of the file, for messages
// returns  invalid, reason BENCH_SUBJECT: what differs
Result<const Measurement*> comparable(const MeasuredSubject& now,
                                      std::span<const Measurement> before, std::string_view path);

struct ComparedSeries {
  std::string name;
  // medians
  double before_ns = 0, now_ns = 0;
  // nullopt: one of them has fewer than min_compared values
  std::optional<Ratio> ratio;

  Change change() const { return ratio ? change_of(*ratio) : Change::none; }
};

struct Comparison {
  // "1 thread before, 2 now"
  std::vector<std::string> other_conditions;
  // those that both have
  std::vector<ComparedSeries> series;
};

Comparison compare(const Measurement& now, const Measurement& before);

// "slower", "faster", "same"; "fewer than 6 runs" without a ratio.
std::string change_text(const ComparedSeries& series);

}  // namespace gantry::cli
