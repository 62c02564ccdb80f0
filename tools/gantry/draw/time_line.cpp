// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/draw/time_line.hpp"

#include "core/base/escape.hpp"
#include "tools/gantry/common/human.hpp"
#include "tools/gantry/draw/flow.hpp"
#include "tools/gantry/draw/svg.hpp"

#include <gantry/concat.hpp>
#include <gantry/json_tree.hpp>
#include <gantry/utf8.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace gantry::cli {
namespace {

constexpr std::size_t max_arguments = 8, max_argument_characters = 80;

// An event of the document. Views of its texts.
struct Event {
  JsonValue value;
  double begin = 0, duration = 0;
  // process, thread
  std::pair<double, double> track;
  std::string_view category;

  double end() const { return begin + duration; }
};

double number_in(const JsonValue& object, std::string_view key) {
  const std::optional<JsonValue> value = object.find(key);
  if (!value) return 0;
  if (value->is(JsonKind::count)) return static_cast<double>(value->count());
  if (value->is(JsonKind::fraction) && std::isfinite(value->fraction())) return value->fraction();
  return 0;
}

std::string_view text_in(const JsonValue& object, std::string_view key) {
  const std::optional<JsonValue> value = object.find(key);
  return value && value->is(JsonKind::text) ? value->text() : std::string_view();
}

std::string argument_text(const JsonValue& value) {
  std::string text(shown_text(value.key(), max_argument_characters));
  text += "  ";
  switch (value.kind()) {
    case JsonKind::text:
      return text + shown_text(value.text(), max_argument_characters);
    case JsonKind::count:
      return concat(text, value.count());
    case JsonKind::negative:
      return concat(text, value.integer());
    case JsonKind::boolean:
      return concat(text, value.truth() ? "true" : "false");
    case JsonKind::fraction:
      return text + std::to_string(value.fraction());
    default:
      return text;
  }
}

class LineReader {
 public:
  explicit LineReader(const TimeLineLimits& limits) : limits_(limits) {}

  Result<TimeLine> read(const JsonValue& events) {
    for (const JsonValue event : events) add(event);
    // Spans that contain others precede them.
    std::ranges::stable_sort(events_, [](const Event& a, const Event& b) {
      return std::pair(a.begin, b.duration) < std::pair(b.begin, a.duration);
    });
    const Event* const run = last_run();
    if (run == nullptr) return not_found("trace has no call of category \"call\"");
    TimeLine line;
    line.title = shown_text(text_in(run->value, "name"));
    // Work of a device may end after the call that has enqueued it.
    double end = run->end();
    for (const Event& event : events_) {
      if (event.begin >= run->begin && is_work(event)) end = std::max(end, event.end());
    }
    line.duration_us = end - run->begin;
    fill(line, run->begin, end);
    return line;
  }

 private:
  void add(const JsonValue& value) {
    const std::string_view phase = text_in(value, "ph");
    const std::pair track(number_in(value, "pid"), number_in(value, "tid"));
    if (phase == "M") {
      const std::optional<JsonValue> arguments = value.find("args");
      if (!arguments) return;
      const std::string_view name = text_in(*arguments, "name");
      if (text_in(value, "name") == "process_name") processes_[track.first] = name;
      if (text_in(value, "name") == "thread_name") threads_[track] = name;
    } else if (phase == "X") {
      events_.push_back({value, number_in(value, "ts"), std::max(number_in(value, "dur"), 0.0),
                         track, text_in(value, "cat")});
    }
  }

  static bool is_work(const Event& event) {
    return event.category == "kernel" || event.category == "copy";
  }

  // The last call that no other one contains.
  const Event* last_run() const {
    const Event* run = nullptr;
    std::map<std::pair<double, double>, double> ends;
    for (const Event& event : events_) {
      if (event.category != "call") continue;
      double& end = ends[event.track];
      if (event.begin < end) continue;
      end = event.end();
      run = &event;
    }
    return run;
  }

  void fill(TimeLine& line, double begin, double end) const {
    std::map<std::pair<double, double>, std::size_t> places;
    // by track: ends of the spans around the next one
    std::vector<std::vector<double>> around;
    std::size_t count = 0;
    for (const Event& event : events_) {
      if (event.begin < begin || event.begin > end || event.category == "load") continue;
      auto place = places.find(event.track);
      if (place == places.end()) {
        if (places.size() == limits_.tracks) {
          ++line.left_out;
          continue;
        }
        place = places.emplace(event.track, line.tracks.size()).first;
        line.tracks.push_back({title_of(event.track), {}});
        around.emplace_back();
      }
      std::vector<double>& ends = around[place->second];
      while (!ends.empty() && ends.back() <= event.begin) ends.pop_back();
      const std::size_t depth = ends.size();
      ends.push_back(event.end());
      if (count == limits_.spans || depth >= limits_.depth) {
        ++line.left_out;
        continue;
      }
      ++count;
      line.tracks[place->second].spans.push_back(made(event, begin, depth));
    }
  }

  static TimeLineSpan made(const Event& event, double begin, std::size_t depth) {
    TimeLineSpan span{shown_text(text_in(event.value, "name")),
                      shown_text(event.category, 20),
                      event.begin - begin,
                      event.duration,
                      depth,
                      {}};
    if (const std::optional<JsonValue> arguments = event.value.find("args")) {
      for (const JsonValue each : *arguments) {
        if (!arguments->is(JsonKind::object) || span.arguments.size() == max_arguments) break;
        span.arguments.push_back(argument_text(each));
      }
    }
    return span;
  }

  std::string title_of(const std::pair<double, double>& track) const {
    const auto process = processes_.find(track.first);
    const auto thread = threads_.find(track);
    return concat(process != processes_.end() ? shown_text(process->second, 40) : "?", ": ",
                  thread != threads_.end() ? shown_text(thread->second, 40) : "?");
  }

  const TimeLineLimits& limits_;
  std::vector<Event> events_;
  std::map<double, std::string_view> processes_;
  std::map<std::pair<double, double>, std::string_view> threads_;
};

constexpr double width = 1100, row_height = 18, gap = 8, title_row = 18, axis_height = 24;

double height_of(const TimeLineTrack& track) {
  std::size_t depth = 0;
  for (const TimeLineSpan& span : track.spans) depth = std::max(depth, span.depth + 1);
  return title_row + row_height * static_cast<double>(depth) + gap;
}

void write_span(const TimeLineSpan& span, double scale, double top, const TextSink& sink) {
  const double x = span.begin_us * scale, wide = std::max(span.duration_us * scale, 0.75);
  const double y = top + row_height * static_cast<double>(span.depth);
  const std::string time = human_time(span.duration_us * 1000);
  std::string tip = concat(span.name, "\n", time);
  for (const std::string& each : span.arguments) append(tip, {"\n", each});
  constexpr std::string_view categories[] = {"call", "op", "kernel", "copy", "task"};
  const bool is_known = std::ranges::find(categories, span.category) != std::end(categories);
  std::string text = concat("<g class=\"b ", is_known ? span.category : "other", "\"><title>",
                            markup_text(tip), "</title><rect x=\"", px(x), "\" y=\"", px(y),
                            "\" width=\"", px(wide), "\" height=\"", px(row_height - 2), "\"/>");
  const auto room = static_cast<std::size_t>(std::max(wide - 6, 0.0) / character_width);
  if (room >= 3) {
    const bool fits = count_characters(span.name) <= room;
    append(text,
           {"<text x=\"", px(x + 3), "\" y=\"", px(y + 12), "\">",
            markup_text(fits ? span.name : concat(first_characters(span.name, room - 1), "\u2026")),
            "</text>"});
  }
  sink(text + "</g>\n");
}

}  // namespace

Result<TimeLine> read_time_line(std::string_view json, const TimeLineLimits& limits) {
  GANTRY_TRY(const JsonTree tree, JsonTree::parse(json, {.name = "trace"}));
  const std::optional<JsonValue> events = tree.root().find("traceEvents");
  if (!events || !events->is(JsonKind::array))
    return malformed(tree.root().offset(), "trace has no list \"traceEvents\"");
  return LineReader(limits).read(*events);
}

void write_time_line(const TimeLine& line, const TextSink& sink) {
  double height = axis_height;
  for (const TimeLineTrack& track : line.tracks) height += height_of(track);
  sink(concat("<svg class=\"gantry line\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ",
              px(width), " ", px(height), "\" width=\"", px(width), "\" height=\"", px(height),
              "\">\n"));
  const double scale = line.duration_us > 0 ? width / line.duration_us : 0;
  constexpr int ticks = 4;
  for (int i = 0; i <= ticks; ++i) {
    const double x = width * i / ticks;
    const std::string_view anchor = i == 0 ? "start" : i == ticks ? "end" : "middle";
    sink(concat("<line x1=\"", px(x), "\" x2=\"", px(x), "\" y1=\"16\" y2=\"", px(height),
                "\"/><text class=\"note\" style=\"text-anchor:", anchor, "\" x=\"", px(x),
                "\" y=\"12\">", human_time(line.duration_us * 1000 * i / ticks), "</text>\n"));
  }
  double y = axis_height;
  for (const TimeLineTrack& track : line.tracks) {
    sink(concat("<text class=\"note\" x=\"0\" y=\"", px(y + 12), "\">", markup_text(track.title),
                "</text>\n"));
    for (const TimeLineSpan& span : track.spans) write_span(span, scale, y + title_row, sink);
    y += height_of(track);
  }
  sink("</svg>\n");
}

}  // namespace gantry::cli
