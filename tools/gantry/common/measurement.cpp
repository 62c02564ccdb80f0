// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/measurement.hpp"

#include "tools/gantry/common/json_field.hpp"

#include "core/base/text_file.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>

#include <algorithm>
#include <cmath>

namespace gantry::cli {
namespace {

constexpr std::size_t max_file = std::size_t{64} << 20;

// A text, or nothing for null.
Result<std::string> text_or_none(const JsonField& field) {
  if (field.value().is(JsonKind::null)) return std::string();
  return field.text();
}

Result<double> read_time(const JsonField& field) {
  GANTRY_TRY(const double time, field.real());
  if (!std::isfinite(time) || time < 0) return field.wrong("a finite number that is not negative");
  return time;
}

// "x float32[1, 64] 9f86d081884c7d65"
Result<std::string> read_input(const JsonField& field) {
  GANTRY_CHECK(field.is_object());
  GANTRY_TRY(const JsonField name, field.at("name"));
  GANTRY_TRY(const std::string name_text, name.text());
  GANTRY_TRY(const JsonField dtype, field.at("dtype"));
  GANTRY_TRY(const std::string dtype_text, dtype.text());
  GANTRY_TRY(const JsonField shape, field.at("shape"));
  GANTRY_TRY(const std::vector<std::int64_t> extents, shape.integers(0));
  GANTRY_TRY(const JsonField digest, field.at("digest"));
  GANTRY_TRY(const std::string digest_text, digest.text());
  return concat(name_text, " ", dtype_text, numbers_text(extents), " ", digest_text);
}

// Adds the times of an object, if it has samples.
Status add_series(const JsonField& times, std::string name, Measurement& measurement) {
  GANTRY_CHECK(times.is_object());
  const auto samples = times.find("samples_ns");
  if (!samples) return {};
  GANTRY_TRY(std::vector<double> values, samples->list<double>(read_time));
  if (!values.empty()) measurement.series.push_back({std::move(name), std::move(values)});
  return {};
}

Status add_all_series(const JsonField& field, Measurement& measurement) {
  GANTRY_TRY(const JsonField times, field.at("times"));
  GANTRY_CHECK(add_series(times, std::string(run_series), measurement));
  for (const auto& [key, name] :
       {std::pair("to_device", to_device_series), std::pair("from_device", from_device_series)}) {
    const auto copies = field.find(key);
    if (copies && !copies->value().is(JsonKind::null))
      GANTRY_CHECK(add_series(*copies, std::string(name), measurement));
  }
  const auto levels = field.find("concurrency");
  if (!levels) return {};
  GANTRY_CHECK(levels->is_list());
  std::size_t index = 0;
  for (const JsonValue value : levels->value()) {
    const JsonField level = levels->item(value, index++);
    GANTRY_CHECK(level.is_object());
    GANTRY_TRY(const JsonField at_once, level.at("at_once"));
    GANTRY_TRY(const std::int64_t count, at_once.integer(1));
    GANTRY_CHECK(add_series(level, concurrent_series(count), measurement));
  }
  return {};
}

Result<Measurement> read_measurement(const JsonField& field) {
  GANTRY_CHECK(field.is_object());
  Measurement measurement;
  MeasuredSubject& subject = measurement.subject;
  GANTRY_TRY(const JsonField file, field.at("file"));
  GANTRY_TRY(const std::string path, file.text());
  subject.file = path.substr(path.find_last_of('/') + 1);
  GANTRY_TRY(const JsonField function, field.at("function"));
  GANTRY_TRY(subject.function, text_or_none(function));
  GANTRY_TRY(const JsonField devices, field.at("devices"));
  GANTRY_TRY(subject.devices,
             devices.list<std::string>([](const JsonField& device) -> Result<std::string> {
               GANTRY_TRY(const std::string device_text, device.text());
               return numbered_device(device_text);
             }));
  GANTRY_TRY(const JsonField inputs, field.at("inputs"));
  GANTRY_TRY(subject.inputs, inputs.list<std::string>(read_input));
  GANTRY_TRY(const JsonField threads, field.at("threads"));
  GANTRY_TRY(measurement.conditions.threads, threads.integer(0));
  GANTRY_TRY(const JsonField capture, field.at("capture"));
  GANTRY_TRY(measurement.conditions.capture, capture.truth());
  GANTRY_TRY(const JsonField memory, field.at("memory"));
  GANTRY_TRY(const JsonField bytes, memory.at("mapped"));
  GANTRY_TRY(measurement.conditions.file_bytes, bytes.integer(0));
  GANTRY_CHECK(add_all_series(field, measurement));
  return measurement;
}

std::string listed(const std::vector<std::string>& texts) {
  return texts.empty() ? "none" : join(texts, ", ");
}

// "device: opencl:0 before, cpu:0 now"
std::vector<std::string> differences(const MeasuredSubject& now, const MeasuredSubject& before) {
  std::vector<std::string> all;
  const auto differ = [&](std::string_view what, const std::string& then, const std::string& here) {
    if (then != here) all.push_back(concat(what, ": ", then, " before, ", here, " now"));
  };
  const auto function_of = [](const MeasuredSubject& subject) {
    return subject.function.empty() ? std::string("the default one") : subject.function;
  };
  differ("file", before.file, now.file);
  differ("function", function_of(before), function_of(now));
  differ("device", listed(before.devices), listed(now.devices));
  differ("inputs", listed(before.inputs), listed(now.inputs));
  return all;
}

}  // namespace

std::string numbered_device(std::string_view name) {
  return name.find(':') == name.npos ? concat(name, ":0") : std::string(name);
}

std::string concurrent_series(std::int64_t at_once) { return concat("run, ", at_once, " at once"); }

Result<std::vector<Measurement>> parse_measurements(std::string_view json) {
  constexpr std::string_view name = "document of gantry bench";
  GANTRY_TRY(const JsonTree tree,
             JsonTree::parse(json, {.name = name, .reason = "BENCH_DOCUMENT"}));
  const JsonField document(tree.root(), name, "BENCH_DOCUMENT");
  if (!tree.root().is(JsonKind::object)) {
    return document.refuse("it is ", name_of(tree.root().kind()), ", expected an object");
  }
  if (const auto reports = document.find("reports")) {
    GANTRY_TRY(std::vector<Measurement> all, reports->list<Measurement>(read_measurement));
    if (all.empty()) return document.refuse("it has no report of a device");
    return all;
  }
  GANTRY_TRY(Measurement only, read_measurement(document));
  return std::vector<Measurement>{std::move(only)};
}

Result<std::vector<Measurement>> read_measurements(const std::string& path) {
  GANTRY_TRY(const std::string json, read_text_file(path, max_file));
  auto all = parse_measurements(json);
  if (!all.ok()) return std::move(all).failure().at("while reading ", quoted(path));
  return all;
}

Result<const Measurement*> comparable(const MeasuredSubject& now,
                                      std::span<const Measurement> before, std::string_view path) {
  // the one with the fewest differences
  std::vector<std::string> found = differences(now, before.front().subject);
  for (const Measurement& each : before) {
    std::vector<std::string> other = differences(now, each.subject);
    if (other.empty()) return &each;
    if (other.size() < found.size()) found = std::move(other);
  }
  const std::string what = found.size() == 1 ? found.front() : "subject";
  Error error = invalid(quoted(path), " was measured with ",
                        what.starts_with("inputs") ? "other " : "another ", what)
                    .with_reason("BENCH_SUBJECT");
  if (found.size() > 1) {
    for (const std::string& each : found) error.at(each);
  }
  return error;
}

Comparison compare(const Measurement& now, const Measurement& before) {
  Comparison comparison;
  const auto differ = [&](std::string_view what, const auto& then, const auto& here) {
    if (then != here)
      comparison.other_conditions.push_back(concat(what, ": ", then, " before, ", here, " now"));
  };
  const auto word = [](bool capture) { return std::string(capture ? "yes" : "no"); };
  differ("threads", before.conditions.threads, now.conditions.threads);
  differ("replays of a recording", word(before.conditions.capture), word(now.conditions.capture));
  differ("bytes of the file", before.conditions.file_bytes, now.conditions.file_bytes);
  for (const MeasuredSeries& one : now.series) {
    const auto other = std::ranges::find(before.series, one.name, &MeasuredSeries::name);
    if (other == before.series.end()) continue;
    comparison.series.push_back({one.name, statistics_of(other->samples_ns).median,
                                 statistics_of(one.samples_ns).median,
                                 ratio_of_medians(one.samples_ns, other->samples_ns)});
  }
  return comparison;
}

std::string change_text(const ComparedSeries& series) {
  if (!series.ratio) return concat("fewer than ", min_compared, " runs");
  switch (series.change()) {
    case Change::more:
      return "slower";
    case Change::less:
      return "faster";
    case Change::none:
      break;
  }
  return "same";
}

}  // namespace gantry::cli
