// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/bench_report.hpp"

#include "core/base/json_document.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/human.hpp"
#include "tools/gantry/common/machine_load.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/common/text_table.hpp"

#include "core/base/text.hpp"

#include <unistd.h>

#include <algorithm>

namespace gantry::cli {

namespace {

void write_operator(const NamedTime& one, JsonWriter& json) {
  json.field("name", json_text(one.name));
  json.field("mean_ns", one.ns);
}

}  // namespace

std::string bench_text(const BenchReport& report) {
  constexpr std::size_t max_operators = 20;
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  const Statistics steady = report.steady_ns.statistics();
  std::string text = terminal.paint(escaped(report.file), Tone::heading) + "\n";
  const auto field = [&](std::string_view name, std::string_view value) {
    text += text_line("  ", name, std::string(14 - name.size(), ' '), value);
  };
  field("threads", threads_text(report.threads, report.cpus, report.other_cpus));
  field("load", human_time(report.load_ns));
  field("executor", human_time(report.create_ns));
  field("first run", human_time(report.first_ns));
  field(report.capture ? "replays" : "steady runs",
        concat("median ", human_time(steady.median), ", p99 ", human_time(steady.p99), ", min ",
               human_time(steady.min), " of ", report.steady_ns.count()));
  for (const NamedTime& device : report.device_times)
    field("device time", concat("median ", human_time(device.ns), " on ", device.name));
  field("mapped", concat(human_size(report.file_bytes), " artifact"));
  for (const DeviceBytes& device : report.device_bytes) {
    field("allocated", concat(human_size(device.bytes), " on ", device.name));
  }
  field("resident", concat(human_size(report.after.resident), ", of it ",
                           human_size(report.after.resident_anonymous), " private; peak ",
                           human_size(report.after.peak), "; before loading ",
                           human_size(report.before.resident)));

  double total = 0;
  for (const NamedTime& one : report.operators) total += one.ns;
  text +=
      "\n" + terminal.paint({"operators (", report.operators.size(), ")"}, Tone::heading) + "\n";
  const std::size_t shown = std::min(max_operators, report.operators.size());
  const auto row_of = [&](std::size_t index) -> TableRow {
    const NamedTime& one = report.operators[index];
    char share[16];
    std::snprintf(share, sizeof share, "%.1f %%", total == 0 ? 0 : 100 * one.ns / total);
    return {human_time(one.ns), share, escaped(one.name)};
  };
  write_table({{"time", Align::right}, {"share", Align::right}, {"operator"}}, shown, row_of,
              terminal, [&](std::string_view piece) { text += piece; });
  if (shown < report.operators.size()) {
    text += text_line("  and ", report.operators.size() - shown, " more (--json has all)");
  }
  if (report.has_hidden_operators)
    text += text_line(
        "  the model's function calls no operator through a jump slot of its library: their times "
        "are those of the function");
  return text;
}

std::string bench_json(const BenchReport& report) {
  const Statistics steady = report.steady_ns.statistics();
  return json_document([&](JsonWriter& json) {
    json.field("file", json_text(report.file));
    json.field("function", text_or_null(report.function));
    json.field("weights", text_or_null(report.weights));
    json.field("devices", report.devices);
    json.field("capture", report.capture);
    json.field("plugins", report.plugins);
    json.field("threads", report.threads);
    json.field("cpus", report.cpus);
    json.field("other_cpus", report.other_cpus);
    json.begin_object("times");
    json.field("load_ns", report.load_ns);
    json.field("create_ns", report.create_ns);
    json.field("first_ns", report.first_ns);
    json.field("runs", report.steady_ns.count());
    json.field("median_ns", steady.median);
    json.field("p99_ns", steady.p99);
    json.field("min_ns", steady.min);
    json.begin_object("device_median_ns");
    for (const NamedTime& device : report.device_times) json.field(device.name, device.ns);
    json.end();
    json.end();
    json.begin_object("memory");
    json.field("mapped", report.file_bytes);
    json.begin_object("allocated");
    for (const DeviceBytes& device : report.device_bytes) json.field(device.name, device.bytes);
    json.end();
    write_memory("before", report.before, json);
    write_memory("after", report.after, json);
    json.end();
    write_objects("operators", report.operators, json, write_operator);
  });
}

}  // namespace gantry::cli
