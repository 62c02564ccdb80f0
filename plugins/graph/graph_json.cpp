// SPDX-License-Identifier: Apache-2.0
#include "graph_json.hpp"

#include "json_frames.hpp"

#include <gantry/quoted.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace gantry::graph {
namespace {

constexpr std::size_t deepest = 32;

// The parser's events carry no place, so it reads through an iterator that tells where it stands.
struct Cursor {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* here = nullptr;
  const char** seen = nullptr;  // one past the last character taken

  reference operator*() const { return *here; }
  Cursor& operator++() {
    *seen = ++here;
    return *this;
  }
  Cursor operator++(int) {
    const Cursor before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.here == b.here; }
  friend bool operator!=(const Cursor& a, const Cursor& b) { return a.here != b.here; }
};

class Reader {
 public:
  Reader(std::string_view text, std::uint64_t at)
      : begin_(text.data()), seen_(text.data()), base_(at) {}

  const char** seen() { return &seen_; }
  std::optional<Error> error;
  JsonGraph graph;

  // What the parser calls; false ends the parse.
  bool null() { return scalar("null"); }
  bool boolean(bool) { return scalar("a boolean"); }
  bool number_integer(std::int64_t number) { return integer(number); }
  bool number_unsigned(std::uint64_t number) {
    return number > INT64_MAX ? scalar("a number past 2^63")
                              : integer(static_cast<std::int64_t>(number));
  }
  bool number_float(double, const std::string&) { return scalar("a fraction"); }
  bool binary(std::vector<std::uint8_t>&) { return scalar("binary"); }
  bool string(std::string& text);
  bool start_object(std::size_t);
  bool end_object() { return close(); }
  bool start_array(std::size_t);
  bool end_array() { return close(); }
  bool key(std::string& name);
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) {
    const std::string_view read(begin_, static_cast<std::size_t>(seen_ - begin_));
    const std::string_view last = read.substr(read.size() - std::min<std::size_t>(read.size(), 16));
    error =
        malformed(base_ + read.size(), "graph is no JSON behind ", quoted(last)).because("GRAPH");
    return false;
  }

 private:
  Frame& top() { return frames_.back(); }
  std::uint64_t bracket() const { return base_ + std::uint64_t(seen_ - begin_) - 1; }
  template <class... Parts>
  bool refuse(const Parts&... parts) {
    error = malformed(frames_.empty() ? base_ : top().at, parts...).because("GRAPH");
    return false;
  }
  // The way from the graph to what is being read: nodes[3].inputs[0][1]; to the list around it: nodes[3].inputs[0].
  std::string place() const { return path_of(frames_); }
  std::string list_place() const { return path_of(std::span(frames_).first(frames_.size() - 1)); }
  bool wrong(std::string_view found, std::string_view expected) {
    return refuse(place(), " is ", found, ", expected ", expected);
  }
  bool open(In in) {
    const std::uint64_t at = bracket();
    if (frames_.size() == deepest) return refuse("graph is nested deeper than ", deepest);
    frames_.push_back({in, at, 0, {}});
    return true;
  }
  template <class T>
  bool open_list(In in, JsonList<T>& list) {
    list.at = bracket();
    return open(in);
  }
  bool open_entries(JsonList<JsonEntry>& list) {
    entries_ = &list;
    return open_list(In::entries, list);
  }
  bool open_numbers(JsonList<std::uint64_t>& list) {
    numbers_ = &list;
    return open_list(In::numbers, list);
  }
  bool open_payload(In in, std::string_view tag);
  bool close();
  bool close_node();
  bool close_graph();
  bool integer(std::int64_t number);
  bool other(std::string_view found);
  bool scalar(std::string_view found) {
    if (!frames_.empty() && !is_object(top().in)) ++top().count;
    return other(found);
  }
  JsonNode& node() { return graph.nodes.items.back(); }

  const char* begin_;
  const char* seen_;
  std::uint64_t base_;
  std::vector<Frame> frames_;
  JsonList<JsonEntry>* entries_ = nullptr;      // being filled; ends with its node
  JsonList<std::uint64_t>* numbers_ = nullptr;  // likewise
  std::uint32_t graph_keys_ = 0, node_keys_ = 0, node_attr_keys_ = 0, graph_attr_keys_ = 0;  // seen
  std::string tag_;  // of the graph attribute being read
};

bool Reader::key(std::string& name) {
  Frame& frame = top();
  if (frame.in == In::skipped) return true;
  frame.key = std::move(name);
  ++frame.count;
  const int index = known_key(frame);
  if (index < 0) {
    if (frame.in == In::graph) {
      return refuse("graph has key ", quoted(frame.key),
                    ", known are nodes, arg_nodes, node_row_ptr, heads, attrs, metadata");
    }
    if (frame.in == In::node) {
      return refuse("node ", graph.nodes.items.size() - 1, " has key ", quoted(frame.key),
                    ", known are op, name, inputs, attrs, attr, control_deps");
    }
    return true;  // an attribute that is not ours to read
  }
  // "attr" is an old name of "attrs": the two are one key.
  const int slot = frame.in == In::node && index == 4 ? 3 : index;
  std::uint32_t& seen = frame.in == In::graph        ? graph_keys_
                        : frame.in == In::node       ? node_keys_
                        : frame.in == In::node_attrs ? node_attr_keys_
                                                     : graph_attr_keys_;
  if (seen & (1u << slot)) return refuse(place(), " is given twice");
  seen |= 1u << slot;
  return true;
}

bool Reader::string(std::string& text) {
  if (frames_.empty()) return wrong("a string", "an object");
  Frame& frame = top();
  if (!is_object(frame.in)) ++frame.count;
  switch (frame.in) {
    case In::node:
      if (frame.key != "op" && frame.key != "name") return other("a string");
      (frame.key == "op" ? node().op : node().name) = std::move(text);
      return true;
    case In::node_attrs:
      switch (known_key(frame)) {
        case 0:
          node().func_name = std::move(text);
          break;
        case 1:
          node().num_inputs = std::move(text);
          break;
        case 2:
          node().num_outputs = std::move(text);
          break;
        case 3:
          node().flatten_data = std::move(text);
          break;
        default:
          break;
      }
      return true;
    case In::texts:
      (frames_[frames_.size() - 2].at == graph.dltype.at ? graph.dltype : graph.storage_scope)
          .items.push_back(std::move(text));
      return true;
    case In::graph_attr:
      if (frame.count != 1) return other("a string");
      tag_ = std::move(text);
      return true;
    default:
      return other("a string");
  }
}

bool Reader::integer(std::int64_t number) {
  if (frames_.empty()) return wrong("a number", "an object");
  Frame& frame = top();
  if (!is_object(frame.in)) ++frame.count;
  const bool counts = frame.in == In::entry || frame.in == In::numbers;
  if (counts && number < 0) return wrong(concat(number), expected_in(frame.in));
  const auto count = static_cast<std::uint64_t>(number);
  switch (frame.in) {
    case In::entry: {
      JsonEntry& entry = entries_->items.back();
      if (frame.count == 1) entry.node = count;
      if (frame.count == 2) entry.index = count;
      if (frame.count > 3) return wrong("a fourth number", "node, output and version at most");
      return true;
    }
    case In::numbers:
      numbers_->items.push_back(count);
      return true;
    case In::integers:
      (frames_[frames_.size() - 2].at == graph.storage_id.at ? graph.storage_id
                                                             : graph.device_index)
          .items.push_back(number);
      return true;
    case In::shape:
      graph.shape.items.back().push_back(number);
      return true;
    default:
      return other("a number");
  }
}

// A value where its kind is not one that is read: fine only in what is stepped over.
bool Reader::other(std::string_view found) {
  if (frames_.empty()) return wrong(found, "an object");
  const Frame& frame = top();
  switch (frame.in) {
    case In::skipped:
      return true;
    case In::graph:
      if (frame.key == "metadata") return true;
      return wrong(found, frame.key == "attrs" ? "an object" : "a list");
    case In::node:
      if (frame.key == "control_deps") return true;
      if (frame.key == "op" || frame.key == "name") return wrong(found, "a string");
      return wrong(found, frame.key == "inputs" ? "a list" : "an object");
    case In::node_attrs:
    case In::graph_attrs:
      if (known_key(frame) < 0) return true;
      return wrong(found, frame.in == In::node_attrs ? "a string" : "a list of tag and values");
    case In::graph_attr:
      if (frame.count == 1) return wrong(found, "a tag");
      if (known_key(frames_[frames_.size() - 2]) < 0) return true;
      return wrong(found, "a list");
    default:
      return wrong(found, expected_in(frame.in));
  }
}

bool Reader::start_object(std::size_t) {
  if (frames_.empty()) {
    graph.at = bracket();
    return open(In::graph);
  }
  Frame& frame = top();
  if (!is_object(frame.in)) ++frame.count;
  if (frame.in == In::graph && frame.key == "attrs") return open(In::graph_attrs);
  if (frame.in == In::nodes) {
    graph.nodes.items.emplace_back().at = bracket();
    node_keys_ = node_attr_keys_ = 0;
    return open(In::node);
  }
  if (frame.in == In::node && (frame.key == "attrs" || frame.key == "attr"))
    return open(In::node_attrs);
  return other("an object") && open(In::skipped);
}

bool Reader::start_array(std::size_t) {
  if (frames_.empty()) return wrong("a list", "an object");
  Frame& frame = top();
  if (!is_object(frame.in)) ++frame.count;
  switch (frame.in) {
    case In::graph:
      if (frame.key == "nodes") return open_list(In::nodes, graph.nodes);
      if (frame.key == "heads") return open_entries(graph.heads);
      if (frame.key == "arg_nodes") return open_numbers(graph.arg_nodes);
      if (frame.key == "node_row_ptr") return open_numbers(graph.node_row_ptr);
      break;
    case In::node:
      if (frame.key == "inputs") return open_entries(node().inputs);
      break;
    case In::entries:
      entries_->items.emplace_back();
      return open(In::entry);
    case In::graph_attrs:
      tag_.clear();
      switch (known_key(frame)) {
        case 0:
          return open_list(In::graph_attr, graph.dltype);
        case 1:
          return open_list(In::graph_attr, graph.storage_id);
        case 2:
          return open_list(In::graph_attr, graph.shape);
        case 3:
          return open_list(In::graph_attr, graph.device_index);
        case 4:
          return open_list(In::graph_attr, graph.storage_scope);
        default:
          break;
      }
      break;
    case In::graph_attr:
      if (frame.count != 2) break;
      switch (known_key(frames_[frames_.size() - 2])) {
        case 0:
        case 4:
          return open_payload(In::texts, "list_str");
        case 1:
        case 3:
          return open_payload(In::integers, "list_int");
        case 2:
          return open_payload(In::shapes, "list_shape");
        default:
          break;
      }
      break;
    case In::shapes:
      graph.shape.items.emplace_back();
      return open(In::shape);
    default:
      break;
  }
  return other("a list") && open(In::skipped);
}

bool Reader::open_payload(In in, std::string_view tag) {
  if (tag_ == tag) return open(in);
  return refuse("attrs.", frames_[frames_.size() - 2].key, " has tag ", quoted(tag_), ", expected ",
                quoted(tag));
}

bool Reader::close() {
  const Frame& frame = top();
  if (frame.in == In::entry && frame.count < 2) {
    return refuse(list_place(), " ends after ", frame.count, " numbers, fewest is 2");
  }
  if (frame.in == In::graph_attr && frame.count != 2) {
    return refuse("attrs.", frames_[frames_.size() - 2].key, " has ", frame.count,
                  " items, expected a tag and a list");
  }
  if (frame.in == In::node && !close_node()) return false;
  if (frame.in == In::graph && !close_graph()) return false;
  frames_.pop_back();
  return true;
}

bool Reader::close_node() {
  for (const int key : {0, 1, 2}) {
    if (!(node_keys_ & (1u << key))) {
      return refuse("node ", graph.nodes.items.size() - 1, " has no ",
                    quoted(node_key_names[std::size_t(key)]));
    }
  }
  if (node().op == "null") return true;
  for (std::size_t key = 0; key < node_attr_names.size(); ++key) {
    if (!(node_attr_keys_ & (1u << key))) {
      return refuse("node ", graph.nodes.items.size() - 1, " ", quoted(node().name),
                    " has no attribute ", quoted(node_attr_names[key]));
    }
  }
  return true;
}

bool Reader::close_graph() {
  for (std::size_t key = 0; key < 5; ++key) {
    if (!(graph_keys_ & (1u << key))) return refuse("graph has no ", quoted(graph_key_names[key]));
  }
  for (std::size_t key = 0; key < 3; ++key) {
    if (!(graph_attr_keys_ & (1u << key)))
      return refuse("graph has no attribute ", quoted(graph_attr_names[key]));
  }
  return true;
}

}  // namespace

Result<JsonGraph> read_graph_json(std::string_view text, std::uint64_t at) {
  Reader reader(text, at);
  const Cursor first{text.data(), reader.seen()};
  const Cursor last{text.data() + text.size(), reader.seen()};
  if (!nlohmann::json::sax_parse(first, last, &reader) && !reader.error) {
    return malformed(at, "graph is no JSON").because("GRAPH");
  }
  if (reader.error) return std::move(*reader.error);
  return std::move(reader.graph);
}

}  // namespace gantry::graph
