// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/bench_report.hpp"

#include "core/base/json_document.hpp"
#include "tools/gantry/common/chart.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/human.hpp"
#include "tools/gantry/common/machine_load.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/common/text_table.hpp"

#include "core/base/text.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace gantry::cli {
namespace {

// stored in a document for each series, for the interval of a comparison
constexpr std::size_t max_samples = 500;

std::string number(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string percent(double share) { return number("%.1f %%", 100 * share); }

// Items of a number of runs in a second.
double items_per_second(const BenchReport& report, double runs, double ns) {
  return ns > 0 ? static_cast<double>(report.items) * runs * 1e9 / ns : 0;
}

double throughput(const BenchReport& report) {
  return items_per_second(report, 1, report.run_ns.mean());
}

double throughput(const BenchReport& report, const ConcurrencyLevel& level) {
  return items_per_second(report, static_cast<double>(level.run_ns.count()), level.all_ns);
}

double total_of(const std::vector<OperatorTime>& operators) {
  double total = 0;
  for (const OperatorTime& one : operators) total += one.ns;
  return total;
}

double share_of(const OperatorTime& one, double total) { return total > 0 ? one.ns / total : 0; }

class TextReport {
 public:
  explicit TextReport(const BenchReport& report) : report_(report) {}

  std::string text() {
    text_ = terminal_.paint(escaped(report_.file), Tone::heading) + "\n";
    add_times();
    add_memory();
    add_concurrency();
    if (report_.comparison) add_comparison(*report_.comparison);
    add_operators();
    return std::move(text_);
  }

 private:
  void field(std::string_view name, std::string_view value) {
    text_ += text_line("  ", name, std::string(16 - name.size(), ' '), value);
  }
  void heading(const Message& title) {
    text_ += "\n" + terminal_.paint(title, Tone::heading) + "\n";
  }
  void table(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows) {
    write_table(
        columns, rows.size(), [&](std::size_t index) { return rows[index]; }, terminal_,
        [&](std::string_view piece) { text_ += piece; });
  }

  void add_times() {
    const Statistics steady = report_.run_ns.statistics();
    field("threads", threads_text(report_.threads, report_.cpus, report_.other_cpus));
    field("load", human_time(report_.load_ns));
    field("executor", human_time(report_.create_ns));
    field("first run", human_time(report_.first_ns));
    if (report_.warmup > 1) field("warm-up", concat(report_.warmup, " runs, with the first"));
    field(report_.capture ? "replays" : "steady runs",
          concat("median ", human_time(steady.median), ", p90 ", human_time(steady.p90), ", p95 ",
                 human_time(steady.p95), ", p99 ", human_time(steady.p99), " of ",
                 report_.run_ns.count()));
    add_histogram(steady);
    field("throughput",
          concat(human_number(throughput(report_)), " items/s, ", report_.items, " in a run"));
    for (const auto& [name, copies] : {std::pair(to_device_series, &report_.to_device),
                                       std::pair(from_device_series, &report_.from_device)}) {
      if (copies->ns.count() == 0) continue;
      const Statistics times = copies->ns.statistics();
      field(name, concat("median ", human_time(times.median), ", p99 ", human_time(times.p99),
                         " for ", human_size(copies->bytes)));
    }
    for (const NamedTime& device : report_.device_times)
      field("device time", concat("median ", human_time(device.ns), " on ", device.name));
  }
  void add_histogram(const Statistics& steady) {
    constexpr std::size_t intervals = 32;
    if (report_.run_ns.stored_count() < min_compared) return;
    const std::vector<double> times = report_.run_ns.sample(RunTimes::max_stored);
    const Histogram histogram = histogram_of(times, intervals);
    // Not a field: blanks within the line are intervals without a run.
    field("distribution",
          concat(human_time(histogram.low), " |", levels_text(histogram.counts, terminal_), "| ",
                 human_time(histogram.high), "; spread ", percent(steady.spread()), ", max ",
                 human_time(steady.max)));
  }
  void add_memory() {
    field("mapped", concat(human_size(report_.file_bytes), " artifact"));
    for (const DeviceBytes& device : report_.device_bytes)
      field("allocated", concat(human_size(device.bytes), " on ", device.name));
    field("resident", concat(human_size(report_.after.resident), ", of it ",
                             human_size(report_.after.resident_anonymous), " private; peak ",
                             human_size(report_.after.peak), "; before loading ",
                             human_size(report_.before.resident)));
  }

  void add_concurrency() {
    if (report_.concurrency.empty()) return;
    heading("runs at once");
    std::vector<TableRow> rows;
    for (const ConcurrencyLevel& level : report_.concurrency) {
      const Statistics times = level.run_ns.statistics();
      rows.push_back({concat(level.at_once), human_number(throughput(report_, level)),
                      human_time(times.median), human_time(times.p90), human_time(times.p99),
                      concat(level.run_ns.count()),
                      join(level.device_bytes, ", ", [](const DeviceBytes& device) {
                        return concat(human_size(device.bytes), " on ", device.name);
                      })});
    }
    table({{"threads", Align::right},
           {"items/s", Align::right},
           {"median", Align::right},
           {"p90", Align::right},
           {"p99", Align::right},
           {"runs", Align::right},
           {"allocated"}},
          rows);
  }

  void add_comparison(const Comparison& comparison) {
    heading("compared with the baseline");
    std::vector<TableRow> rows;
    for (const ComparedSeries& one : comparison.series) {
      const Change change = one.change();
      const Tone tone = change == Change::more   ? Tone::bad
                        : change == Change::less ? Tone::good
                                                 : Tone::plain;
      rows.push_back({human_time(one.before_ns), human_time(one.now_ns),
                      one.ratio ? number("%.3f", one.ratio->value) : std::string(),
                      one.ratio ? concat(number("%.3f", one.ratio->low), " to ",
                                         number("%.3f", one.ratio->high))
                                : std::string(),
                      TableCell(change_text(one), tone), one.name});
    }
    table({{"before", Align::right},
           {"now", Align::right},
           {"ratio", Align::right},
           {"95 %"},
           {""},
           {"what"}},
          rows);
    for (const std::string& condition : comparison.other_conditions)
      text_ += text_line("  ", condition);
  }

  void add_operators() {
    constexpr std::size_t max_operators = 20;
    constexpr int bar_width = 16;
    const double total = total_of(report_.operators);
    heading({"operators (", report_.operators.size(), ")"});
    const std::size_t shown = std::min(max_operators, report_.operators.size());
    std::vector<TableRow> rows;
    for (const OperatorTime& one : std::span(report_.operators).first(shown)) {
      const double share = share_of(one, total);
      rows.push_back({human_time(one.ns), percent(share), bar_text(share, bar_width, terminal_),
                      number("%.15g", one.calls), escaped(one.name)});
    }
    table({{"time", Align::right},
           {"share", Align::right},
           {""},
           {"calls", Align::right},
           {"operator"}},
          rows);
    if (shown < report_.operators.size()) {
      text_ += text_line("  and ", report_.operators.size() - shown, " more (--json has all)");
    }
    if (report_.has_hidden_operators)
      text_ += text_line(
          "  the model's function calls no operator through a jump slot of its library: their "
          "times are those of the function");
  }

  const BenchReport& report_;
  const Terminal terminal_ = terminal_of(STDOUT_FILENO);
  std::string text_;
};

void write_input(const BenchInput& input, JsonWriter& json) {
  json.field("name", json_text(input.name));
  json.field("dtype", dtype_text(input.dtype));
  json.field("shape", input.shape);
  json.field("digest", input.digest);
}

// Whole nanoseconds, because the clock has no parts of them.
void write_samples(const RunTimes& times, JsonWriter& json) {
  json.begin_list("samples_ns");
  for (const double time : times.sample(max_samples)) json.value(std::llround(time));
  json.end();
}

void write_statistics(const RunTimes& times, JsonWriter& json) {
  const Statistics found = times.statistics();
  json.field("median_ns", found.median);
  json.field("p90_ns", found.p90);
  json.field("p95_ns", found.p95);
  json.field("p99_ns", found.p99);
  json.field("min_ns", found.min);
  json.field("max_ns", found.max);
  json.field("mean_ns", times.mean());
  json.field("spread", found.spread());
}

void write_copies(std::string_view key, const CopyTimes& copies, JsonWriter& json) {
  if (copies.ns.count() == 0) return json.field(key, nullptr);
  json.begin_object(key);
  json.field("bytes", copies.bytes);
  write_statistics(copies.ns, json);
  write_samples(copies.ns, json);
  json.end();
}

void write_bytes(const std::vector<DeviceBytes>& devices, JsonWriter& json) {
  json.begin_object("allocated");
  for (const DeviceBytes& device : devices) json.field(device.name, device.bytes);
  json.end();
}

void write_level(const BenchReport& report, const ConcurrencyLevel& level, JsonWriter& json) {
  json.field("at_once", level.at_once);
  json.field("runs", level.run_ns.count());
  json.field("items_per_second", throughput(report, level));
  write_statistics(level.run_ns, json);
  write_bytes(level.device_bytes, json);
  write_samples(level.run_ns, json);
}

void write_compared(const ComparedSeries& one, JsonWriter& json) {
  json.field("name", one.name);
  json.field("before_ns", one.before_ns);
  json.field("now_ns", one.now_ns);
  if (one.ratio) {
    json.field("ratio", one.ratio->value);
    json.field("low", one.ratio->low);
    json.field("high", one.ratio->high);
  }
  json.field("change", change_text(one));
}

void write_report(const BenchReport& report, JsonWriter& json) {
  json.field("file", json_text(report.file));
  json.field("function", text_or_null(report.function));
  json.field("weights", text_or_null(report.weights));
  json.field("devices", report.devices);
  write_objects("inputs", report.inputs, json, write_input);
  json.field("capture", report.capture);
  json.field("plugins", report.plugins);
  json.field("threads", report.threads);
  json.field("cpus", report.cpus);
  json.field("other_cpus", report.other_cpus);
  json.field("items", report.items);
  json.field("items_per_second", throughput(report));
  json.begin_object("times");
  json.field("load_ns", report.load_ns);
  json.field("create_ns", report.create_ns);
  json.field("first_ns", report.first_ns);
  json.field("warmup_runs", report.warmup);
  json.field("runs", report.runs);
  json.field("timed_runs", report.run_ns.count());
  write_statistics(report.run_ns, json);
  json.begin_object("device_median_ns");
  for (const NamedTime& device : report.device_times) json.field(device.name, device.ns);
  json.end();
  write_samples(report.run_ns, json);
  json.end();
  write_copies("to_device", report.to_device, json);
  write_copies("from_device", report.from_device, json);
  json.begin_object("memory");
  json.field("mapped", report.file_bytes);
  write_bytes(report.device_bytes, json);
  write_memory("before", report.before, json);
  write_memory("after", report.after, json);
  json.end();
  const double total = total_of(report.operators);
  json.field("operator_runs", report.operator_runs);
  write_objects("operators", report.operators, json, [&](const OperatorTime& one, JsonWriter& to) {
    to.field("name", json_text(one.name));
    to.field("calls", one.calls);
    to.field("mean_ns", one.ns);
    to.field("share", share_of(one, total));
  });
  if (!report.concurrency.empty()) {
    write_objects(
        "concurrency", report.concurrency, json,
        [&](const ConcurrencyLevel& level, JsonWriter& to) { write_level(report, level, to); });
  }
  if (report.comparison) {
    json.begin_object("comparison");
    write_objects("series", report.comparison->series, json, write_compared);
    write_texts("other_conditions", report.comparison->other_conditions, json);
    json.end();
  }
}

// A field of RFC 4180.
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) field.append(c == '"' ? 2 : 1, c);
  return field + "\"";
}

constexpr std::string_view csv_columns[] = {
    "file",      "function", "device",    "at_once",  "runs",         "items_per_second",
    "median_ns", "p90_ns",   "p95_ns",    "p99_ns",   "min_ns",       "max_ns",
    "spread",    "load_ns",  "create_ns", "first_ns", "to_device_ns", "from_device_ns",
    "missing"};

std::string csv_line(const std::vector<std::string>& fields) {
  return join(fields, ",", csv_field) + "\n";
}

// The shortest text of the number.
std::string csv_number(double value) { return number("%.15g", value); }

std::string csv_median(const CopyTimes& copies) {
  return copies.ns.count() == 0 ? std::string() : csv_number(copies.ns.statistics().median);
}

std::string csv_run(const BenchReport& report, const RunTimes& times, int at_once,
                    double throughput) {
  const Statistics found = times.statistics();
  std::vector<std::string> fields{report.file, report.function, join(report.devices, " "),
                                  concat(at_once), concat(times.count())};
  for (const double value :
       {throughput, found.median, found.p90, found.p95, found.p99, found.min, found.max,
        found.spread(), report.load_ns, report.create_ns, report.first_ns})
    fields.push_back(csv_number(value));
  fields.push_back(csv_median(report.to_device));
  fields.push_back(csv_median(report.from_device));
  fields.emplace_back();
  return csv_line(fields);
}

std::string csv_rows(const BenchReport& report) {
  std::string text = csv_run(report, report.run_ns, 1, throughput(report));
  for (const ConcurrencyLevel& level : report.concurrency)
    text += csv_run(report, level.run_ns, level.at_once, throughput(report, level));
  return text;
}

// What the rows have in common.
std::string all_header(std::span<const DeviceRow> rows, const Terminal& terminal) {
  if (rows.empty()) return {};
  const BenchReport& first = rows.front().report;
  std::optional<double> other_cpus;
  for (const DeviceRow& row : rows) {
    if (row.report.other_cpus)
      other_cpus = std::max(other_cpus.value_or(0), *row.report.other_cpus);
  }
  return terminal.paint(escaped(first.file), Tone::heading) + "\n" +
         text_line("  threads  ", threads_text(first.threads, first.cpus, other_cpus)) +
         text_line("  load     ", human_time(first.load_ns)) + "\n";
}

std::string csv_header() { return csv_line({std::begin(csv_columns), std::end(csv_columns)}); }

}  // namespace

Measurement measurement_of(const BenchReport& report) {
  Measurement measurement;
  MeasuredSubject& subject = measurement.subject;
  subject.file = report.file.substr(report.file.find_last_of('/') + 1);
  subject.function = report.function;
  for (const std::string& device : report.devices)
    subject.devices.push_back(numbered_device(device));
  for (const BenchInput& input : report.inputs) {
    subject.inputs.push_back(
        concat(input.name, " ", type_text(input.dtype, input.shape), " ", input.digest));
  }
  measurement.conditions = {report.threads, report.capture,
                            static_cast<std::int64_t>(report.file_bytes)};
  const auto add = [&](std::string name, const RunTimes& times) {
    if (times.count() != 0)
      measurement.series.push_back({std::move(name), times.sample(max_samples)});
  };
  add(std::string(run_series), report.run_ns);
  add(std::string(to_device_series), report.to_device.ns);
  add(std::string(from_device_series), report.from_device.ns);
  for (const ConcurrencyLevel& level : report.concurrency)
    add(concurrent_series(level.at_once), level.run_ns);
  return measurement;
}

std::string bench_text(const BenchReport& report) { return TextReport(report).text(); }

std::string bench_json(const BenchReport& report) {
  return json_document([&](JsonWriter& json) { write_report(report, json); });
}

std::string bench_csv(const BenchReport& report) { return csv_header() + csv_rows(report); }

std::string bench_text(std::span<const DeviceRow> rows) {
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  std::vector<TableRow> cells;
  std::string missing, compared;
  for (const DeviceRow& row : rows) {
    const BenchReport& report = row.report;
    if (!row.missing.empty()) {
      missing += text_line("  ", row.name, "  not available: ", row.missing);
      continue;
    }
    const Statistics times = report.run_ns.statistics();
    const auto copies = [](const CopyTimes& given) {
      return given.ns.count() == 0 ? std::string("-") : human_time(given.ns.statistics().median);
    };
    cells.push_back({row.name, row.difference ? number("%.0e", *row.difference) : std::string("-"),
                     human_time(report.create_ns), human_time(report.first_ns),
                     copies(report.to_device), human_time(times.median), human_time(times.p99),
                     copies(report.from_device), human_number(throughput(report)),
                     escaped(row.product)});
    if (!report.comparison) continue;
    for (const ComparedSeries& one : report.comparison->series) {
      compared += text_line("  ", row.name, "  ", one.name, "  ", human_time(one.before_ns),
                            " before, ", human_time(one.now_ns), " now: ", change_text(one),
                            one.ratio ? concat(" (ratio ", number("%.3f", one.ratio->low), " to ",
                                               number("%.3f", one.ratio->high), ")")
                                      : std::string());
    }
  }
  std::string text = all_header(rows, terminal);
  if (!cells.empty()) {
    write_table(
        {{"device"},
         {"error", Align::right},
         {"executor", Align::right},
         {"first", Align::right},
         {"to device", Align::right},
         {"median", Align::right},
         {"p99", Align::right},
         {"from device", Align::right},
         {"items/s", Align::right},
         {"name"}},
        cells.size(), [&](std::size_t index) { return cells[index]; }, terminal,
        [&](std::string_view piece) { text += piece; });
  }
  text += missing;
  if (!compared.empty())
    text += "\n" + terminal.paint("compared with the baseline", Tone::heading) + "\n" + compared;
  return text;
}

std::string bench_json(std::span<const DeviceRow> rows) {
  return json_document([&](JsonWriter& json) {
    json.begin_list("reports");
    for (const DeviceRow& row : rows) {
      if (!row.missing.empty()) continue;
      json.begin_object();
      json.field("product", text_or_null(row.product));
      json.field("largest_difference", row.difference);
      write_report(row.report, json);
      json.end();
    }
    json.end();
    json.begin_list("missing");
    for (const DeviceRow& row : rows) {
      if (row.missing.empty()) continue;
      json.begin_object();
      json.field("device", row.name);
      json.field("reason", json_text(row.missing));
      json.end();
    }
    json.end();
  });
}

std::string bench_csv(std::span<const DeviceRow> rows) {
  std::string text = csv_header();
  for (const DeviceRow& row : rows) {
    if (row.missing.empty()) {
      text += csv_rows(row.report);
      continue;
    }
    std::vector<std::string> fields(std::size(csv_columns));
    fields[0] = row.report.file;
    fields[1] = row.report.function;
    fields[2] = row.name;
    fields.back() = row.missing;
    text += csv_line(fields);
  }
  return text;
}

}  // namespace gantry::cli
