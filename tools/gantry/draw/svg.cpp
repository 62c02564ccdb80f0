// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/draw/svg.hpp"

#include "core/base/escape.hpp"
#include "tools/gantry/common/human.hpp"

#include <gantry/concat.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace gantry {
extern const std::string_view drawing_css;
}

namespace gantry::cli {
namespace {

constexpr int heat_levels = 9;

std::string_view class_of(FlowNode::Kind kind) {
  constexpr std::string_view names[] = {"input",  "output", "call", "light",
                                        "choice", "block",  "fold", "port"};
  return names[static_cast<std::size_t>(kind)];
}

// " h3" of a node with a time.
std::string heat_class(double share, double max_share) {
  if (share < 0 || max_share <= 0) return {};
  const int level = static_cast<int>(std::lround(share / max_share * (heat_levels - 1)));
  return concat(" h", std::clamp(level, 0, heat_levels - 1));
}

std::string time_line(const FlowNode& node) {
  if (node.places > 1) {
    return concat(share_text(node.share), " of ",
                  share_text(node.share * static_cast<double>(node.places)), " in ", node.places,
                  " places");
  }
  return concat(share_text(node.share), ", ", human_time(node.ns));
}

class SheetWriter {
 public:
  SheetWriter(const PlacedDrawing& drawing, std::size_t index, bool is_interactive,
              const TextSink& sink)
      : drawing_(drawing),
        sheet_(drawing.sheets[index]),
        placement_(drawing.placements[index]),
        index_(index),
        is_interactive_(is_interactive),
        sink_(sink) {}

  void run() {
    for (std::size_t e = 0; e < sheet_.edges.size(); ++e) write_edge(e);
    for (std::size_t n = 0; n < sheet_.nodes.size(); ++n) write_node(n);
  }

 private:
  void write_edge(std::size_t e) {
    const FlowEdge& edge = sheet_.edges[e];
    const std::vector<Point>& points = placement_.edges[e];
    if (points.size() < 4) return;
    const bool is_loop = edge.from > edge.to;
    std::string path = concat("M", px(points[0].x), ",", px(points[0].y), "C");
    for (std::size_t i = 1; i < points.size(); ++i)
      append(path, {i == 1 ? "" : " ", px(points[i].x), ",", px(points[i].y)});
    std::string data;
    if (is_interactive_) data = concat(" data-from=\"", edge.from, "\" data-to=\"", edge.to, "\"");
    sink_(concat("<g class=\"e", edge.is_control ? " control" : "", is_loop ? " loop" : "", "\"",
                 data, "><path d=\"", path, "\"/>", arrow(points), "</g>\n"));
    if (!edge.label.empty()) {
      const Point& at = points[std::min<std::size_t>(2, points.size() - 1)];
      sink_(concat("<text class=\"l\" x=\"", px((points[0].x + at.x) / 2 + 4), "\" y=\"",
                   px((points[0].y + at.y) / 2 + 4), "\">", markup_text(edge.label), "</text>\n"));
    }
  }

  static std::string arrow(const std::vector<Point>& points) {
    const Point tip = points.back();
    // Control points may equal the end.
    Point from = tip;
    for (std::size_t i = points.size() - 1; i-- > 0 && from.x == tip.x && from.y == tip.y;)
      from = points[i];
    const double dx = tip.x - from.x, dy = tip.y - from.y, length = std::hypot(dx, dy);
    if (length == 0) return {};
    constexpr double size = 7, half = 3;
    const double ux = dx / length, uy = dy / length;
    const Point back{tip.x - ux * size, tip.y - uy * size};
    return concat("<path class=\"a\" d=\"M", px(tip.x), ",", px(tip.y), "L", px(back.x - uy * half),
                  ",", px(back.y + ux * half), " ", px(back.x + uy * half), ",",
                  px(back.y - ux * half), "Z\"/>");
  }

  void write_node(std::size_t n) {
    const FlowNode& node = sheet_.nodes[n];
    const Size box = box_of(node);
    const Point& center = placement_.nodes[n];
    const double left = center.x - box.width / 2, top = center.y - box.height / 2;
    std::string attributes;
    if (is_interactive_) {
      attributes = concat(" id=\"s", index_, "n", n, "\" tabindex=\"0\" role=\"",
                          node.sheet != SIZE_MAX ? "link" : "img", "\" aria-label=\"",
                          markup_text(spoken(node)), "\"");
      if (node.sheet != SIZE_MAX) {
        append(attributes, {" data-opens=\"s", node.sheet});
        if (node.there != SIZE_MAX) append(attributes, {"n", node.there});
        attributes += "\"";
      }
    }
    sink_(concat("<g class=\"n ", class_of(node.kind), heat_class(node.share, drawing_.max_share),
                 "\"", attributes, "><title>", markup_text(tooltip(node)), "</title>",
                 shape(node, left, top, box)));
    double y = top + title_height;
    write_line("t", center.x, y, node.title);
    for (const std::string& line : node.lines) write_line({}, center.x, y += line_height, line);
    if (node.share >= 0) write_line("s", center.x, y += line_height, time_line(node));
    sink_("</g>\n");
  }

  void write_line(std::string_view kind, double x, double y, std::string_view text) {
    const std::string attribute = kind.empty() ? std::string() : concat(" class=\"", kind, "\"");
    sink_(concat("<text", attribute, " x=\"", px(x), "\" y=\"", px(y), "\">", markup_text(text),
                 "</text>"));
  }

  static std::string shape(const FlowNode& node, double left, double top, const Size& box) {
    const auto rect = [&](double dx, double dy, double radius) {
      return concat("<rect x=\"", px(left + dx), "\" y=\"", px(top + dy), "\" width=\"",
                    px(box.width), "\" height=\"", px(box.height), "\" rx=\"", px(radius), "\"/>");
    };
    switch (node.kind) {
      case FlowNode::Kind::input:
      case FlowNode::Kind::output:
      case FlowNode::Kind::block:
      case FlowNode::Kind::port:
        return rect(0, 0, box.height / 2);
      case FlowNode::Kind::fold:
        return rect(4, 4, 4) + rect(0, 0, 4);
      case FlowNode::Kind::choice: {
        const double right = left + box.width, middle = top + box.height / 2;
        return concat("<path d=\"M", px(left - 8), ",", px(middle), "L", px(left + 8), ",", px(top),
                      " ", px(right - 8), ",", px(top), " ", px(right + 8), ",", px(middle), " ",
                      px(right - 8), ",", px(top + box.height), " ", px(left + 8), ",",
                      px(top + box.height), "Z\"/>");
      }
      default:
        return rect(0, 0, 4);
    }
  }

  static std::string tooltip(const FlowNode& node) {
    std::string text = node.name.empty() ? node.title : node.name;
    if (!node.name.empty() && node.name != node.title) text = concat(node.title, "\n", node.name);
    for (const std::string& line : node.lines) append(text, {"\n", line});
    if (node.share >= 0) append(text, {"\n", time_line(node)});
    if (node.places > 1) append(text, {", ", human_time(node.ns)});
    return text;
  }

  static std::string spoken(const FlowNode& node) {
    std::string text = concat(class_of(node.kind), " ", node.title);
    for (const std::string& line : node.lines) append(text, {", ", line});
    if (node.share >= 0) append(text, {", ", time_line(node)});
    return text;
  }

  const PlacedDrawing& drawing_;
  const Sheet& sheet_;
  const Placement& placement_;
  const std::size_t index_;
  const bool is_interactive_;
  const TextSink& sink_;
};

double max_share_of(const Drawing& drawing) {
  double max = -1;
  for (const Flow& flow : drawing.flows) {
    for (const FlowNode& node : flow.nodes) max = std::max(max, node.share);
  }
  return max;
}

std::string heading_of(const Flow& flow) {
  if (flow.share < 0) return flow.title;
  return concat(flow.title, "  (", share_text(flow.share), " in the function itself)");
}

constexpr double heading_height = 30, note_height = 18, legend_height = 40, legend_width = 700;

// Boxes from no time to the largest share.
std::string legend(const PlacedDrawing& drawing, double y) {
  constexpr double begin = layout_margin + 170, width = 22, height = 12;
  std::string text = concat("<g class=\"legend\"><text class=\"note\" x=\"", px(layout_margin),
                            "\" y=\"", px(y + 10), "\">share of the time: 0</text>");
  for (int i = 0; i < heat_levels; ++i) {
    append(text, {"<g class=\"n h", i, "\"><rect x=\"", px(begin + width * i), "\" y=\"", px(y),
                  "\" width=\"", px(width), "\" height=\"", px(height), "\"/></g>"});
  }
  append(text, {"<text class=\"note\" x=\"", px(begin + width * heat_levels + 8), "\" y=\"",
                px(y + 10), "\">", share_text(drawing.max_share),
                "; not drawn: ", share_text(drawing.drawing.other_share), "</text></g>\n"});
  return text;
}

}  // namespace

std::string px(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  std::string_view shown = text;
  if (shown.ends_with(".0")) shown.remove_suffix(2);
  return std::string(shown == "-0" ? "0" : shown);
}

std::string share_text(double share) {
  char text[32];
  const double percent = 100 * share;
  std::snprintf(text, sizeof text, percent >= 0.1 || percent < 0.005 ? "%.1f %%" : "%.2f %%",
                percent);
  return text;
}

std::string_view drawing_style() { return drawing_css; }

PlacedDrawing placed(Drawing drawing, const ProgramSearch& search,
                     const std::filesystem::path& temporary, std::string& warning) {
  PlacedDrawing out;
  out.max_share = max_share_of(drawing);
  out.sheets = sheets_of(drawing);
  out.drawing = std::move(drawing);
  if (find_program("dot", search).ok()) {
    auto made = place_with_graphviz(out.sheets, search, temporary);
    if (made.ok()) {
      out.placements = std::move(*made);
      return out;
    }
    warning = made.error().message.text();
  }
  for (const Sheet& sheet : out.sheets) out.placements.push_back(place_layered(sheet));
  return out;
}

void write_sheet(const PlacedDrawing& drawing, std::size_t index, const TextSink& sink) {
  const Size& size = drawing.placements[index].size;
  sink(concat("<svg class=\"gantry\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ",
              px(size.width), " ", px(size.height), "\" width=\"", px(size.width), "\" height=\"",
              px(size.height), "\" role=\"group\" aria-label=\"",
              markup_text(drawing.sheets[index].title), "\">\n"));
  SheetWriter(drawing, index, true, sink).run();
  sink("</svg>\n");
}

void write_legend(const PlacedDrawing& drawing, const TextSink& sink) {
  sink(concat("<svg class=\"gantry\" xmlns=\"http://www.w3.org/2000/svg\" width=\"",
              px(legend_width), "\" height=\"24\">", legend(drawing, 6), "</svg>\n"));
}

void write_svg(const PlacedDrawing& drawing, const TextSink& sink) {
  const std::size_t flows = drawing.drawing.flows.size();
  const bool has_times = drawing.max_share >= 0;
  std::vector<std::string> notes = drawing.drawing.notes;
  const auto height_of = [&](std::size_t i) {
    return heading_height +
           note_height * static_cast<double>(drawing.drawing.flows[i].notes.size()) +
           drawing.placements[i].size.height;
  };
  double width = has_times ? legend_width : 200, height = layout_margin;
  if (has_times) height += legend_height;
  height += note_height * static_cast<double>(notes.size());
  for (std::size_t i = 0; i < flows; ++i) {
    width = std::max(width, drawing.placements[i].size.width);
    height += height_of(i);
  }
  sink(concat("<svg class=\"gantry\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ",
              px(width), " ", px(height), "\" width=\"", px(width), "\" height=\"", px(height),
              "\">\n<title>", markup_text(drawing.drawing.title), "</title>\n<style>",
              drawing_style(),
              "</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n"));
  double y = layout_margin;
  if (has_times) {
    sink(legend(drawing, y));
    y += legend_height;
  }
  const auto note = [&](std::string_view text) {
    sink(concat("<text class=\"note\" x=\"", px(layout_margin), "\" y=\"", px(y + 12), "\">",
                markup_text(text), "</text>\n"));
    y += note_height;
  };
  for (const std::string& each : notes) note(each);
  for (std::size_t i = 0; i < flows; ++i) {
    const Flow& flow = drawing.drawing.flows[i];
    sink(concat("<text class=\"heading\" x=\"", px(layout_margin), "\" y=\"", px(y + 18), "\">",
                markup_text(heading_of(flow)), "</text>\n"));
    y += heading_height;
    for (const std::string& each : flow.notes) note(each);
    sink(concat("<g transform=\"translate(0 ", px(y), ")\">\n"));
    SheetWriter(drawing, i, false, sink).run();
    sink("</g>\n");
    y += drawing.placements[i].size.height;
  }
  sink("</svg>\n");
}

}  // namespace gantry::cli
