// SPDX-License-Identifier: Apache-2.0
//
// A page about one file that somebody attaches to an issue: what it is, what was measured, the graph coloured by
// time, the time line of a run, memory, devices, and which plugins were chosen and why.
//
// Its plots are HTML and SVG of our own, because bars and rectangles are all that it has: libraries of charts
// draw on a canvas, which neither prints sharply nor can be searched, and each page would contain all of one.
#pragma once

#include "tools/gantry/common/text_sink.hpp"
#include "tools/gantry/draw/svg.hpp"
#include "tools/gantry/draw/time_line.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::cli {

// What `gantry bench --json` has printed; members that it lacks are empty.
struct BenchFacts {
  struct Bar {
    std::string name;
    double value = 0;
  };
  std::vector<std::string> devices, plugins;
  // "median", nanoseconds, in the order of a run
  std::vector<Bar> times;
  // "mapped", bytes
  std::vector<Bar> memory;
  std::optional<double> runs, items_per_second;
};

// returns  malformed  no JSON, or no object
Result<BenchFacts> read_bench_facts(std::string_view json);

// What a command has printed.
struct ReportText {
  std::string title;
  // "gantry plugins doctor --artifact model.so"
  std::string command;
  std::string text;
  // why it has failed; empty: it has not
  std::string failure;
};

struct ReportPage {
  std::string title;
  // of gantry and of the kernel; empty: unknown
  std::string version, host;
  // "x", "float32[1, 64]"
  std::vector<std::pair<std::string, std::string>> inputs, outputs;
  std::optional<BenchFacts> bench;
  std::optional<PlacedDrawing> drawing;
  std::optional<TimeLine> line;
  // shown as they are, in their order
  std::vector<ReportText> texts;
  // what the page lacks, and why
  std::vector<std::string> missing;
};

void write_report(const ReportPage& page, const TextSink& sink);

}  // namespace gantry::cli
