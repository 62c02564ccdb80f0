// SPDX-License-Identifier: Apache-2.0
//
// Takes the events of a JSON parser and makes a graph's lists of them: graph_json.hpp says which.
//
//     json_values.cpp     keys, texts, numbers
//     json_brackets.cpp   what an object or a list is, and what it must have held when it ends
#pragma once

#include "graph_json.hpp"
#include "json_frames.hpp"

#include <gantry/quoted.hpp>

#include <span>

namespace gantry::graph {

class JsonReader {
 public:
  JsonReader(std::string_view text, std::uint64_t at)
      : begin_(text.data()), seen_(text.data()), base_(at) {}

  // Where the parser's iterator says how far it has read, one past the last character.
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
  template <class Exception>
  bool parse_error(std::size_t, const std::string&, const Exception&) {
    return no_json();
  }

 private:
  Frame& top() { return frames_.back(); }
  std::uint64_t bracket() const { return base_ + std::uint64_t(seen_ - begin_) - 1; }
  template <class... Parts>
  bool refuse(const Parts&... parts) {
    error = malformed(frames_.empty() ? base_ : top().at, parts...).with_reason("GRAPH");
    return false;
  }
  // The way from the graph to what is being read: nodes[3].inputs[0][1]; to the list around it: nodes[3].inputs[0].
  std::string location() const { return path_of(frames_); }
  std::string list_location() const {
    return path_of(std::span(frames_).first(frames_.size() - 1));
  }
  bool wrong(std::string_view found, std::string_view expected) {
    return refuse(location(), " is ", found, ", expected ", expected);
  }
  bool open(In in);
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
  bool no_json();
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
  // being filled; ends with its node
  JsonList<JsonEntry>* entries_ = nullptr;
  // likewise
  JsonList<std::uint64_t>* numbers_ = nullptr;
  // seen
  std::uint32_t graph_keys_ = 0, node_keys_ = 0, node_attr_keys_ = 0, graph_attr_keys_ = 0;
  // of the graph attribute being read
  std::string tag_;
};

}  // namespace gantry::graph
