// SPDX-License-Identifier: Apache-2.0
#include "graph_json.hpp"

#include "json_reader.hpp"

#include <nlohmann/json.hpp>

#include <iterator>
#include <utility>

namespace gantry::graph {
namespace {

// The parser's events carry no place, so it reads through an iterator that tells where it stands.
struct Cursor {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* here = nullptr;
  // one past the last character taken
  const char** seen = nullptr;

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

}  // namespace

Result<JsonGraph> read_graph_json(std::string_view text, std::uint64_t at) {
  JsonReader reader(text, at);
  const Cursor first{text.data(), reader.seen()};
  const Cursor last{text.data() + text.size(), reader.seen()};
  if (!nlohmann::json::sax_parse(first, last, &reader) && !reader.error) {
    return malformed(at, "graph is no JSON").with_reason("GRAPH");
  }
  if (reader.error) return std::move(*reader.error);
  return std::move(reader.graph);
}

}  // namespace gantry::graph
