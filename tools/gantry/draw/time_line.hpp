// SPDX-License-Identifier: Apache-2.0
//
// The last run of a recorded trace as SVG: a row for each thread and queue, with spans within spans below them.
// Perfetto shows all of a trace; a report has room for one run.
#pragma once

#include "tools/gantry/common/text_sink.hpp"

#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

struct TimeLineSpan {
  std::string name;
  // "call", "op", "kernel", "copy"
  std::string category;
  // since the beginning of the run
  double begin_us = 0;
  double duration_us = 0;
  // number of spans of the track that contain it
  std::size_t depth = 0;
  // "arg0  float32[1, 64] on cpu:0"
  std::vector<std::string> arguments;
};

struct TimeLineTrack {
  // "gantry: main"
  std::string title;
  std::vector<TimeLineSpan> spans;
};

struct TimeLine {
  // of the call that it shows
  std::string title;
  double duration_us = 0;
  std::vector<TimeLineTrack> tracks;
  // of this run, that are not drawn
  std::size_t left_out = 0;
};

struct TimeLineLimits {
  std::size_t spans = 2000;
  std::size_t tracks = 64;
  std::size_t depth = 8;
};

// Reads a trace in Chrome's format, as gantry writes it.
//
// returns  malformed   no JSON, or no list of events
//          not_found   no call is recorded
Result<TimeLine> read_time_line(std::string_view json, const TimeLineLimits& limits = {});

void write_time_line(const TimeLine& line, const TextSink& sink);

}  // namespace gantry::cli
