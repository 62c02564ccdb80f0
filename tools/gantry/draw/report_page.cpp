// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/draw/report_page.hpp"

#include "core/base/escape.hpp"
#include "tools/gantry/common/human.hpp"
#include "tools/gantry/draw/page.hpp"

#include <gantry/concat.hpp>
#include <gantry/json_tree.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace gantry {
extern const std::string_view drawing_report_css;
}

namespace gantry::cli {
namespace {

std::optional<double> number_of(const std::optional<JsonValue>& value) {
  if (!value) return std::nullopt;
  if (value->is(JsonKind::count)) return static_cast<double>(value->count());
  if (value->is(JsonKind::fraction) && std::isfinite(value->fraction()) && value->fraction() >= 0)
    return value->fraction();
  return std::nullopt;
}

std::vector<std::string> texts_of(const std::optional<JsonValue>& list) {
  std::vector<std::string> texts;
  if (!list || !list->is(JsonKind::array)) return texts;
  for (const JsonValue each : *list) {
    if (each.is(JsonKind::text)) texts.push_back(shown_text(each.text()));
  }
  return texts;
}

// A member of the document, and what it is called here.
struct Field {
  std::string_view key, title;
};
constexpr Field time_fields[] = {
    {"load_ns", "load"}, {"create_ns", "executor"}, {"first_ns", "first run"},
    {"min_ns", "min"},   {"median_ns", "median"},   {"p90_ns", "p90"},
    {"p95_ns", "p95"},   {"p99_ns", "p99"},         {"max_ns", "max"}};

void add_fields(const std::optional<JsonValue>& object, std::span<const Field> fields,
                std::vector<BenchFacts::Bar>& bars) {
  if (!object) return;
  for (const Field& field : fields) {
    if (const auto number = number_of(object->find(field.key)))
      bars.push_back({std::string(field.title), *number});
  }
}

// Adds the members of an object of numbers.
void add_members(const std::optional<JsonValue>& object, std::string_view title,
                 std::vector<BenchFacts::Bar>& bars) {
  if (!object || !object->is(JsonKind::object)) return;
  for (const JsonValue each : *object) {
    if (const auto number = number_of(each))
      bars.push_back({concat(title, shown_text(each.key(), 40)), *number});
  }
}

void write_bars(std::string_view title, const std::vector<BenchFacts::Bar>& bars,
                std::string (*text_of)(double), const TextSink& sink) {
  if (bars.empty()) return;
  double max = 0;
  for (const BenchFacts::Bar& bar : bars) max = std::max(max, bar.value);
  sink(concat("<section>\n<h2>", title, "</h2>\n<table class=\"bars\">\n"));
  for (const BenchFacts::Bar& bar : bars) {
    sink(concat("<tr><th scope=\"row\">", markup_text(bar.name), "</th><td>", text_of(bar.value),
                "</td><td><span class=\"bar-of\" style=\"--share:",
                std::to_string(max > 0 ? bar.value / max : 0), "\"></span></td></tr>\n"));
  }
  sink("</table>\n</section>\n");
}

std::string time_text(double ns) { return human_time(ns); }
std::string size_text(double bytes) { return human_size(static_cast<std::uint64_t>(bytes)); }

void write_row(std::string_view title, std::string_view text, const TextSink& sink) {
  if (!text.empty()) {
    sink(concat("<tr><th scope=\"row\">", title, "</th><td>", markup_text(text), "</td></tr>\n"));
  }
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& each : texts) append(all, {all.empty() ? "" : ", ", each});
  return all;
}

void write_tensors(std::string_view title,
                   const std::vector<std::pair<std::string, std::string>>& tensors,
                   const TextSink& sink) {
  constexpr std::size_t max = 32;
  for (std::size_t i = 0; i < std::min(tensors.size(), max); ++i) {
    write_row(i == 0 ? title : std::string_view(),
              concat(tensors[i].first, "  ", tensors[i].second), sink);
  }
  if (tensors.size() > max) write_row("", concat("and ", tensors.size() - max, " more"), sink);
}

void write_head(const ReportPage& page, const TextSink& sink) {
  sink("<table class=\"facts\">\n");
  write_tensors("input", page.inputs, sink);
  write_tensors("output", page.outputs, sink);
  if (page.bench) {
    write_row("devices", joined(page.bench->devices), sink);
    write_row("plugins", joined(page.bench->plugins), sink);
    for (const BenchFacts::Bar& bar : page.bench->times) {
      if (bar.name == "median") {
        write_row(
            "run",
            concat("median ", human_time(bar.value),
                   page.bench->runs
                       ? concat(" of ", static_cast<std::uint64_t>(*page.bench->runs), " runs")
                       : std::string()),
            sink);
      }
    }
    if (page.bench->items_per_second) {
      write_row(
          "throughput",
          concat(static_cast<std::uint64_t>(*page.bench->items_per_second), " items a second"),
          sink);
    }
  }
  write_row("gantry", page.version, sink);
  write_row("host", page.host, sink);
  sink("</table>\n");
  if (page.missing.empty()) return;
  sink("<ul class=\"missing\">\n");
  for (const std::string& each : page.missing) sink(concat("<li>", markup_text(each), "</li>\n"));
  sink("</ul>\n");
}

void write_text(const ReportText& text, const TextSink& sink) {
  sink(concat("<section>\n<h2>", markup_text(text.title), "</h2>\n<p><code>",
              markup_text(text.command), "</code></p>\n"));
  if (!text.failure.empty())
    sink(concat("<p class=\"missing\">", markup_text(text.failure), "</p>\n"));
  if (!text.text.empty()) sink(concat("<pre>", markup_text(text.text), "</pre>\n"));
  sink("</section>\n");
}

}  // namespace

Result<BenchFacts> read_bench_facts(std::string_view json) {
  GANTRY_TRY(const JsonTree tree, JsonTree::parse(json, {.name = "measurements"}));
  const JsonValue root = tree.root();
  if (!root.is(JsonKind::object))
    return malformed(root.offset(), "measurements are ", name_of(root.kind()), ", not an object");
  BenchFacts facts;
  facts.devices = texts_of(root.find("devices"));
  facts.plugins = texts_of(root.find("plugins"));
  facts.items_per_second = number_of(root.find("items_per_second"));
  const std::optional<JsonValue> times = root.find("times");
  add_fields(times, time_fields, facts.times);
  if (times) {
    facts.runs = number_of(times->find("runs"));
    add_members(times->find("device_median_ns"), "median on ", facts.times);
  }
  const std::optional<JsonValue> memory = root.find("memory");
  if (memory) {
    add_fields(memory, std::array{Field{"mapped", "mapped file"}}, facts.memory);
    add_members(memory->find("allocated"), "allocated on ", facts.memory);
    add_fields(memory->find("before"), std::array{Field{"resident", "resident before loading"}},
               facts.memory);
    add_fields(memory->find("after"),
               std::array{Field{"resident", "resident"}, Field{"resident_anonymous", "private"},
                          Field{"peak", "peak"}},
               facts.memory);
  }
  return facts;
}

void write_report(const ReportPage& page, const TextSink& sink) {
  const std::string title = markup_text(page.title);
  write_page_head(page.title, drawing_report_css, sink);
  sink(concat("<h1>", title, "</h1>\n"));
  write_head(page, sink);
  if (page.bench) write_bars("Times", page.bench->times, time_text, sink);
  if (page.drawing) {
    sink("<h2>Operators</h2>\n");
    write_page_body(*page.drawing, sink);
  }
  if (page.line) {
    sink(concat("<section>\n<h2>Time line of the last run of ", markup_text(page.line->title), ", ",
                human_time(page.line->duration_us * 1000), "</h2>\n"));
    if (page.line->left_out != 0)
      sink(concat("<p>", page.line->left_out, " further spans are left out.</p>\n"));
    sink("<div class=\"view\">");
    write_time_line(*page.line, sink);
    sink("</div>\n</section>\n");
  }
  if (page.bench) write_bars("Memory", page.bench->memory, size_text, sink);
  for (const ReportText& text : page.texts) write_text(text, sink);
  write_page_end(page.drawing.has_value(), sink);
}

}  // namespace gantry::cli
