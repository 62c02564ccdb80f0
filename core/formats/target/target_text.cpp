// SPDX-License-Identifier: Apache-2.0
#include "core/formats/target/given_target.hpp"
#include "core/formats/target/target_words.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <utility>

namespace gantry {
namespace {

class TextReader {
 public:
  TextReader(const std::vector<TargetWord>& words, bool is_host, const TargetKinds& kinds)
      : words_(words), is_host_(is_host), kinds_(kinds) {}

  Result<GivenTarget> read() {
    GANTRY_CHECK(set_target_kind(words_[0].text, words_[0].at, kinds_, given_));
    for (next_ = 1; next_ < words_.size();) GANTRY_CHECK(read_option());
    return std::move(given_);
  }

 private:
  Status read_option() {
    const TargetWord& word = words_[next_++];
    GANTRY_TRY(TargetOptionWord parts, target_option_word(word));
    const std::string& name = parts.name;
    const bool has_value = parts.value.has_value();
    TargetWord value = has_value ? std::move(*parts.value) : TargetWord{{}, word.at, {}};
    const bool is_member = name == "keys" || name == "tag" || name == "host";
    const TargetOption* option = nullptr;
    if (!is_member) {
      GANTRY_TRY(option, find_target_option(*given_.kind, name, word.at));
    }
    if (!has_value) GANTRY_CHECK(take_value(name, option, word, value));
    if (name == "keys") return read_keys(value);
    if (name == "tag") return read_tag(value);
    if (name == "host") return read_host(value);
    return add(*option, value, word.at);
  }

  // The value of an option without '=' is the next word, unless the option is a bool and the word
  // is none.
  Status take_value(std::string_view name, const TargetOption* option, const TargetWord& word,
                    TargetWord& value) {
    const bool is_flag = option != nullptr && option->type == TargetType::boolean;
    const bool has_next = next_ < words_.size();
    if (is_flag) {
      const bool is_value = has_next && target_value(TargetType::boolean, words_[next_].text).ok();
      value = is_value ? words_[next_++] : TargetWord{"1", word.at, {}};
      return {};
    }
    if (!has_next || words_[next_].text.starts_with('-')) {
      return malformed(word.at, "option ", quoted(name), " has no value, expected -", name,
                       "=value");
    }
    value = words_[next_++];
    return {};
  }

  Status read_keys(const TargetWord& value) {
    if (given_.keys) return twice("keys", value.at);
    GANTRY_TRY(std::vector<std::string> keys, items("keys", value));
    given_.keys = {std::move(keys), value.at};
    return {};
  }

  Status read_tag(const TargetWord& value) {
    if (given_.tag) return twice("tag", value.at);
    given_.tag = {value.text, value.at};
    return {};
  }

  Status read_host(const TargetWord& value) {
    if (is_host_) return malformed(value.at, "target of a host has a host, expected none");
    if (!given_.host.empty()) return twice("host", value.at);
    GANTRY_TRY(GivenTarget host, read_target_text(value.text, value.at, true, kinds_));
    given_.host.push_back(std::move(host));
    return {};
  }

  Status add(const TargetOption& option, const TargetWord& value, std::uint64_t at) {
    if (given_.has(option.name)) return twice(option.name, at);
    if (option.type == TargetType::list) {
      GANTRY_TRY(std::vector<std::string> list, items(option.name, value));
      given_.options.push_back({&option, std::move(list), at});
      return {};
    }
    Result<TargetValue> converted = target_value(option.type, value.text);
    if (!converted.ok()) {
      return malformed(at, "option ", quoted(option.name), ": ", converted.error().message);
    }
    given_.options.push_back({&option, std::move(*converted), at});
    return {};
  }

  static Result<std::vector<std::string>> items(std::string_view name, const TargetWord& value) {
    std::vector<std::string> list = target_items(value);
    if (std::ranges::find(list, "") == list.end()) return list;
    return malformed(value.at, "list ", quoted(name), " of the target has an empty item");
  }

  static Status twice(std::string_view name, std::uint64_t at) {
    return malformed(at, "option ", quoted(name), " is given twice, expected once");
  }

  const std::vector<TargetWord>& words_;
  bool is_host_;
  const TargetKinds& kinds_;
  GivenTarget given_;
  std::size_t next_ = 0;
};

}  // namespace

Result<GivenTarget> read_target_text(std::string_view text, std::uint64_t at, bool is_host,
                                     const TargetKinds& kinds) {
  Result<std::vector<TargetWord>> words = target_words(text);
  if (!words.ok()) {
    words.error().offset += at;
    return std::move(words).failure();
  }
  if (words->empty()) return malformed(at, "target is empty, expected the name of a kind");
  for (TargetWord& word : *words) word.at += at;
  return TextReader(*words, is_host, kinds).read();
}

}  // namespace gantry
