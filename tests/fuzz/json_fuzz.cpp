// SPDX-License-Identifier: Apache-2.0
//
// A JSON text: compares the SDK's reader with nlohmann-json. Both refuse it, or both read the same
// values.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <gantry/json_tree.hpp>

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// SAX handler of nlohmann-json that records each value as text.
class Events {
 public:
  std::string text;

  bool null() { return add("null"); }
  bool boolean(bool value) { return add(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { return add("negative ", value); }
  bool number_unsigned(std::uint64_t value) { return add("count ", value); }
  // Turns -0 into 0: a number that is too small for a double may become either.
  bool number_float(double value, const std::string&) { return add("fraction ", value + 0.0); }
  bool string(const std::string& value) { return add("text ", value.size(), ":", value); }
  bool key(const std::string& value) { return add("key ", value.size(), ":", value); }
  bool start_object(std::size_t) { return add("{"); }
  bool end_object() { return add("}"); }
  bool start_array(std::size_t) { return add("["); }
  bool end_array() { return add("]"); }
  bool binary(const std::vector<std::uint8_t>&) { return false; }
  template <class Exception>
  bool parse_error(std::size_t, const std::string&, const Exception&) {
    return false;
  }

 private:
  template <class... Parts>
  bool add(const Parts&... parts) {
    text += concat(parts..., "\n");
    return true;
  }
};

std::optional<std::string> read_by_nlohmann(const std::string& text) {
  Events events;
  if (!nlohmann::json::sax_parse(text, &events)) return std::nullopt;
  return std::move(events.text);
}

void add_scalar(JsonValue value, Events& events) {
  switch (value.kind()) {
    case JsonKind::null:
      events.null();
      break;
    case JsonKind::boolean:
      events.boolean(value.truth());
      break;
    case JsonKind::negative:
      events.number_integer(value.integer());
      break;
    case JsonKind::count:
      events.number_unsigned(value.count());
      break;
    case JsonKind::fraction:
      events.number_float(value.fraction(), "");
      break;
    case JsonKind::text:
      events.string(std::string(value.text()));
      break;
    default:
      break;
  }
}

// Values in the order of the text, without recursion.
std::string read_by_tree(const JsonTree& tree, std::uint64_t size) {
  struct Level {
    JsonValue container;
    JsonValue::Iterator next;
    std::size_t count;
  };
  Events events;
  std::vector<Level> levels;
  const auto enter = [&](JsonValue value) {
    expect(value.offset() < size, "a value begins in the text");
    if (value.is(JsonKind::object)) {
      events.start_object(0);
    } else if (value.is(JsonKind::array)) {
      events.start_array(0);
    } else {
      expect(value.size() == 0 && value.begin() == value.end(), "a scalar has no items");
      return add_scalar(value, events);
    }
    levels.push_back({value, value.begin(), 0});
  };
  enter(tree.root());
  while (!levels.empty()) {
    Level& level = levels.back();
    const bool is_object = level.container.is(JsonKind::object);
    if (level.next == level.container.end()) {
      expect(level.count == level.container.size(),
             "a container's size is the number of its items");
      is_object ? events.end_object() : events.end_array();
      levels.pop_back();
      continue;
    }
    const JsonValue value = *level.next;
    ++level.next;
    ++level.count;
    if (is_object) events.key(std::string(value.key()));
    enter(value);
  }
  return std::move(events.text);
}

// The text before the reported offset is either complete or refused only because it ends.
void check_fault(const std::string& text, const Error& error) {
  expect(error.offset <= text.size(), "the offset of an error is inside the text");
  // A part of a byte order mark is an error at its start.
  if (error.offset <= 3) return;
  const auto before = JsonTree::parse(std::string_view(text).substr(0, error.offset - 1),
                                      {.max_depth = text.size()});
  // The error of an incomplete character is at its first byte.
  constexpr std::uint64_t cut = 2;
  expect(before.ok() || before.error().offset + cut >= error.offset - 1,
         "the first fault is reported");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(text_of(data, size));
  const auto parse = [&] {
    // 16 bytes for each value of at least 2 bytes, twice while the list grows
    const Budget budget(size, {.bytes_per_input_byte = 32});
    return JsonTree::parse(text, {.max_depth = size});
  };
  const auto tree = parse();
  const std::optional<std::string> expected = read_by_nlohmann(text);
  expect(tree.ok() == expected.has_value(), "both readers accept the text, or neither does");
  if (tree.ok()) {
    expect(read_by_tree(*tree, size) == *expected, "both readers read the same values");
  } else {
    check_fault(text, tree.error());
    expect_refusal(tree.error(), size);
  }
  return 0;
}
