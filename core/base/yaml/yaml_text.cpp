// SPDX-License-Identifier: Apache-2.0
#include "core/base/yaml/yaml_text.hpp"

#include "core/base/reason.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/utf8.hpp>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

namespace gantry {
namespace {

// Converts offsets to lines and columns; each costs O(log lines).
class Lines {
 public:
  explicit Lines(std::string_view text)
      : text_(text),
        is_single_bytes_(count_characters(text) == text.size()),
        starts_{0},
        characters_{0} {
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string_view::npos;) {
      starts_.push_back(++at);
    }
    for (std::size_t i = stride; !is_single_bytes_ && i <= text.size(); i += stride) {
      characters_.push_back(characters_.back() + count(i - stride, i));
    }
  }
  YamlLocation location(std::size_t offset) const {
    offset = std::min(offset, text_.size());
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
    const std::size_t start = *(after - 1);
    const std::uint32_t before = is_single_bytes_
                                     ? static_cast<std::uint32_t>(offset - start)
                                     : characters_before(offset) - characters_before(start);
    return {static_cast<std::uint32_t>(after - starts_.begin()), before + 1, offset};
  }

 private:
  static constexpr std::size_t stride = 64;

  // Returns how many characters begin at `from` or later and before `to`.
  std::uint32_t count(std::size_t from, std::size_t to) const {
    return static_cast<std::uint32_t>(count_characters(text_.substr(from, to - from)));
  }
  std::uint32_t characters_before(std::size_t offset) const {
    return characters_[offset / stride] + count(offset / stride * stride, offset);
  }

  std::string_view text_;
  // each character is one byte
  bool is_single_bytes_;
  std::vector<std::size_t> starts_;
  // characters_before() of each multiple of the stride; the first one only if is_single_bytes_
  std::vector<std::uint32_t> characters_;
};

// Checks that must precede yaml-cpp, which accepts invalid UTF-8, detects UTF-16 by NUL bytes, and
// stops without an error at 0x04.
Status check_characters(std::string_view text, std::string_view file, const Lines& lines) {
  bool in_indentation = true;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c >= 0x20 && c < 0x7f) {
      in_indentation = in_indentation && c == ' ';
      ++at;
      continue;
    }
    const std::size_t size = decode_utf8(text, at).size;
    if (size == 0) {
      return yaml_error(file, lines.location(at), "", "byte ", Hex{c}, " is not UTF-8")
          .with_reason(reason::yaml_not_utf8.tag);
    }
    if (text.substr(at, 3) == "\xef\xbb\xbf") {
      return yaml_error(file, lines.location(at), "", "byte order mark, expected plain UTF-8")
          .with_reason(reason::yaml_not_utf8.tag);
    }
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f) {
      return yaml_error(file, lines.location(at), "", "control character ", Hex{c})
          .with_reason(reason::yaml_control_character.tag);
    }
    if (c == '\t' && in_indentation) {
      return yaml_error(file, lines.location(at), "", "tab in the indentation, expected spaces")
          .with_reason(reason::yaml_tab.tag);
    }
    in_indentation = c == '\n';
    at += size;
  }
  return {};
}

// Thrown by event functions, which return nothing, to pass an error through yaml-cpp. Caught in
// parse_yaml().
struct ParseError {
  Error error;
};

class Builder final : public YAML::EventHandler {
 public:
  Builder(std::string_view text, const std::string& file, const Lines& lines,
          const YamlLimits& limits)
      : text_(text), file_(file), lines_(lines), limits_(limits) {}

  YamlValue take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 0) return;
    refuse(reason::yaml_second_document, location(mark), "", "second document, expected one");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check_plain(mark, anchor);
    YamlValue value;
    // For an empty value yaml-cpp passes the location of the next token.
    value.location =
        !frames_.empty() && frames_.back().key ? frames_.back().key_location : location(mark);
    add(std::move(value));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(reason::yaml_alias, location(mark), here(), "alias is not supported, repeat the value");
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& text) override {
    check_plain(mark, anchor);
    YamlValue value;
    value.kind = YamlKind::scalar;
    value.location = location(mark);
    value.text = text;
    const char first = character(mark);
    value.quoted = first == '"' || first == '\'' || first == '|' || first == '>';
    add(std::move(value));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, YamlKind::list);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, YamlKind::map);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    YamlValue value;
    // map: the key whose value comes next
    std::optional<std::string> key;
    YamlLocation key_location;
    // A tree, because a file can choose keys that have the same hash.
    std::map<std::string, std::uint32_t> key_lines;
  };

  template <class... Parts>
  [[noreturn]] void refuse(const Reason& reason, const YamlLocation& at, std::string_view path,
                           const Parts&... parts) {
    throw ParseError{yaml_error(file_, at, path, parts...).with_reason(reason.tag)};
  }

  YamlLocation location(const YAML::Mark& mark) const {
    return lines_.location(mark.pos < 0 ? 0 : static_cast<std::size_t>(mark.pos));
  }
  char character(const YAML::Mark& mark) const {
    const auto at = static_cast<std::size_t>(mark.pos);
    return mark.pos >= 0 && at < text_.size() ? text_[at] : '\0';
  }
  // The path of the next value. Computed for errors only, because a file can have many values with
  // a long path.
  std::string here() const {
    std::string path;
    for (const Frame& frame : frames_) {
      if (frame.value.kind == YamlKind::list) {
        path = yaml_path(path, frame.value.items.size());
      } else if (frame.key) {
        path = yaml_path(path, *frame.key);
      }
    }
    return path;
  }

  // A node's mark is at its first token, which is its anchor or tag if it has one.
  void check_plain(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) {
      refuse(reason::yaml_alias, location(mark), here(),
             "anchor is not supported, repeat the value where it is needed");
    }
    if (character(mark) == '!')
      refuse(reason::yaml_tag, location(mark), here(),
             "tag is not supported, the key has a fixed type");
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, YamlKind kind) {
    check_plain(mark, anchor);
    if (frames_.size() >= limits_.depth) {
      refuse(reason::yaml_too_deep, location(mark), "", "nesting depth ", frames_.size() + 1,
             ", limit is ", limits_.depth);
    }
    if (awaits_key())
      refuse(reason::yaml_syntax, location(mark), here(), "key is a list or a map, expected text");
    Frame frame;
    frame.value.kind = kind;
    frame.value.location = location(mark);
    frames_.push_back(std::move(frame));
  }
  void close() {
    YamlValue value = std::move(frames_.back().value);
    frames_.pop_back();
    add(std::move(value));
  }
  bool awaits_key() const {
    return !frames_.empty() && frames_.back().value.kind == YamlKind::map && !frames_.back().key;
  }

  void add(YamlValue value) {
    if (frames_.empty()) {
      root_ = std::move(value);
      return;
    }
    Frame& top = frames_.back();
    if (top.value.kind == YamlKind::list) {
      top.value.items.push_back(std::move(value));
    } else if (!top.key) {
      add_key(top, std::move(value));
    } else {
      if (top.value.entries.empty()) top.value.entries.reserve(4);
      top.value.entries.push_back({std::move(*top.key), top.key_location, std::move(value)});
      top.key.reset();
    }
  }
  void add_key(Frame& top, YamlValue key) {
    if (key.kind != YamlKind::scalar)
      refuse(reason::yaml_syntax, key.location, here(), "key is empty");
    if (key.text == "<<" && !key.quoted) {
      refuse(reason::yaml_alias, key.location, here(),
             "merge key is not supported, repeat the keys");
    }
    const auto [at, added] = top.key_lines.emplace(key.text, key.location.line);
    if (!added) {
      refuse(reason::yaml_duplicate_key, key.location, yaml_path(here(), key.text), "key \"",
             key.text, "\" is repeated, first in line ", at->second);
    }
    top.key = std::move(key.text);
    top.key_location = key.location;
  }

  std::string_view text_;
  const std::string& file_;
  const Lines& lines_;
  const YamlLimits limits_;
  std::size_t documents_ = 0;
  std::vector<Frame> frames_;
  YamlValue root_;
};

// yaml-cpp throws for an alias without an anchor instead of calling OnAlias().
Failure syntax_error(const YAML::Exception& thrown, std::string_view text, const std::string& file,
                     const Lines& lines) {
  const std::size_t at = thrown.mark.pos < 0 ? 0 : static_cast<std::size_t>(thrown.mark.pos);
  if (at < text.size() && text[at] == '*') {
    return yaml_error(file, lines.location(at), "", "alias is not supported, repeat the value")
        .with_reason(reason::yaml_alias.tag);
  }
  return yaml_error(file, lines.location(at), "", "YAML syntax: ", thrown.msg)
      .with_reason(reason::yaml_syntax.tag);
}

}  // namespace

const YamlValue* YamlValue::find(std::string_view key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

std::string yaml_path(std::string_view parent, std::string_view key) {
  return parent.empty() ? std::string(key) : concat(parent, ".", key);
}
std::string yaml_path(std::string_view parent, std::size_t index) {
  return concat(parent, "[", index, "]");
}

Result<YamlDocument> parse_yaml(std::string_view text, std::string file, const YamlLimits& limits) {
  if (text.size() > limits.bytes) {
    return malformed(limits.bytes, file, ": ", ByteCount(text.size()), ", limit is ",
                     ByteCount(limits.bytes))
        .with_reason(reason::yaml_too_large.tag);
  }
  const Lines lines(text);
  GANTRY_CHECK(check_characters(text, file, lines));

  Builder builder(text, file, lines, limits);
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const ParseError& thrown) {
    return thrown.error;
  } catch (const YAML::Exception& thrown) {
    return syntax_error(thrown, text, file, lines);
  }
  return YamlDocument{std::move(file), builder.take_root()};
}

}  // namespace gantry
