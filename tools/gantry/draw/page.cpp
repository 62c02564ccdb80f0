// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/draw/page.hpp"

#include "core/base/escape.hpp"
#include "tools/gantry/common/human.hpp"

#include <gantry/concat.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gantry {
extern const std::string_view drawing_page_css;
extern const std::string_view drawing_page_js;
}  // namespace gantry

namespace gantry::cli {
namespace {

// A name that is timed, with its nodes.
struct TimedName {
  std::string name;
  double share = 0;
  double ns = 0;
  std::size_t places = 0;
  // id of its first node
  std::string first;
};

std::vector<TimedName> timed_names(const PlacedDrawing& drawing) {
  std::map<std::string_view, TimedName> names;
  for (std::size_t s = 0; s < drawing.sheets.size(); ++s) {
    const std::vector<FlowNode>& nodes = drawing.sheets[s].nodes;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const FlowNode& node = nodes[n];
      if (node.share < 0 || node.timed.empty()) continue;
      TimedName& one = names[node.timed];
      one.name = node.timed;
      one.share += node.share;
      one.ns += node.ns;
      if (one.places++ == 0) one.first = concat("s", s, "n", n);
    }
  }
  std::vector<TimedName> sorted;
  for (auto& [name, one] : names) sorted.push_back(std::move(one));
  std::ranges::stable_sort(sorted, std::greater(), &TimedName::share);
  return sorted;
}

void write_times(const PlacedDrawing& drawing, const TextSink& sink) {
  sink(
      "<section class=\"times\">\n<h2>Operators by time</h2>\n<table>\n<thead><tr><th>share</th>"
      "<th>time of a run</th><th>places</th><th>operator</th></tr></thead>\n<tbody>\n");
  for (const TimedName& one : timed_names(drawing)) {
    sink(concat("<tr><td><span class=\"share\" style=\"--share:",
                std::to_string(std::clamp(one.share, 0.0, 1.0)), "\">", share_text(one.share),
                "</span></td><td>", human_time(one.ns), "</td><td>", one.places,
                "</td><td><a href=\"#", one.first, "\">", markup_text(one.name),
                "</a></td></tr>\n"));
  }
  for (const Flow& flow : drawing.drawing.flows) {
    if (flow.share < 0) continue;
    sink(concat("<tr><td>", share_text(flow.share), "</td><td>", human_time(flow.ns),
                "</td><td></td><td>", markup_text(flow.title),
                ", the function itself</td></tr>\n"));
  }
  sink(concat(
      "</tbody>\n</table>\n<p>", share_text(drawing.drawing.other_share),
      " of the time is of what is not drawn. An operator that is called in several places has one "
      "time, which its nodes share evenly.</p>\n</section>\n"));
}

void write_notes(const std::vector<std::string>& notes, const TextSink& sink) {
  if (notes.empty()) return;
  sink("<ul class=\"notes\">");
  for (const std::string& note : notes) sink(concat("<li>", markup_text(note), "</li>"));
  sink("</ul>\n");
}

}  // namespace

void write_page_head(std::string_view title, std::string_view style, const TextSink& sink) {
  sink(
      concat("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
             "'unsafe-inline'; script-src 'unsafe-inline'\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
             markup_text(title), "</title>\n<style>", drawing_style(), drawing_page_css, style,
             "</style>\n</head>\n<body>\n<main>\n"));
}

void write_page_end(bool has_drawing, const TextSink& sink) {
  sink("</main>\n");
  if (has_drawing) sink(concat("<script>", drawing_page_js, "</script>\n"));
  sink("</body>\n</html>\n");
}

void write_page_body(const PlacedDrawing& drawing, const TextSink& sink) {
  sink(
      "<section class=\"drawing\">\n<div class=\"bar\" hidden>\n"
      "<label>function <select class=\"functions\">");
  for (std::size_t i = 0; i < drawing.drawing.flows.size(); ++i) {
    sink(concat("<option value=\"s", i, "\">", markup_text(drawing.drawing.flows[i].title),
                "</option>"));
  }
  sink(
      "</select></label>\n"
      "<label>search <input type=\"search\" placeholder=\"/\" autocomplete=\"off\"></label>\n"
      "<output class=\"found\"></output>\n"
      "<span class=\"zoom\"><button type=\"button\" data-zoom=\"out\" title=\"smaller "
      "(-)\">-</button>"
      "<button type=\"button\" data-zoom=\"in\" title=\"larger (+)\">+</button>"
      "<button type=\"button\" data-zoom=\"fit\" title=\"the whole sheet "
      "(0)\">fit</button></span>\n"
      "<details><summary>keys</summary><p><kbd>/</kbd> search, <kbd>Enter</kbd> next result or "
      "open a fold, "
      "<kbd>Esc</kbd> back to the sheet above, arrows from node to node along the edges, "
      "<kbd>+</kbd> <kbd>-</kbd> <kbd>0</kbd> size</p></details>\n"
      "<nav class=\"path\"></nav>\n</div>\n");
  if (drawing.max_share >= 0) write_legend(drawing, sink);
  for (std::size_t s = 0; s < drawing.sheets.size(); ++s) {
    const Sheet& sheet = drawing.sheets[s];
    const std::string parent =
        sheet.parent == SIZE_MAX ? std::string() : concat(" data-above=\"s", sheet.parent, "\"");
    sink(concat("<article class=\"sheet\" id=\"s", s, "\" data-flow=\"s", sheet.flow, "\"", parent,
                ">\n<h2>", markup_text(sheet.title), "</h2>\n"));
    if (sheet.parent == SIZE_MAX) write_notes(drawing.drawing.flows[sheet.flow].notes, sink);
    sink("<div class=\"view\">");
    write_sheet(drawing, s, sink);
    sink("</div>\n</article>\n");
  }
  sink("</section>\n");
  if (drawing.max_share >= 0) write_times(drawing, sink);
}

void write_page(const PlacedDrawing& drawing, const TextSink& sink) {
  write_page_head(drawing.drawing.title, {}, sink);
  sink(concat("<h1>", markup_text(drawing.drawing.title), "</h1>\n"));
  write_notes(drawing.drawing.notes, sink);
  write_page_body(drawing, sink);
  write_page_end(true, sink);
}

}  // namespace gantry::cli
