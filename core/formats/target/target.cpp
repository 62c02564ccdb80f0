// SPDX-License-Identifier: Apache-2.0
#include "core/formats/target/target.hpp"

#include "core/base/near_name.hpp"
#include "core/formats/target/given_target.hpp"
#include "core/formats/target/target_words.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <functional>
#include <utility>

namespace gantry {
namespace {

// Removes repeated keys; the first of each remains.
std::vector<std::string> unique_keys(const std::vector<std::string>& keys) {
  std::vector<std::string> unique;
  for (const std::string& key : keys) {
    if (std::ranges::find(unique, key) == unique.end()) unique.push_back(key);
  }
  return unique;
}

// Completes one target.
class Completion {
 public:
  Completion(const GivenTarget& given, const DeviceAttributes& attributes)
      : given_(given), kind_(*given.kind), attributes_(attributes) {}

  Result<CompileTarget> run() {
    target_.kind = kind_.name;
    GANTRY_CHECK(add_tag());
    for (const GivenOption& given : given_.options) {
      target_.values.insert_or_assign(given.option->name, given.value);
    }
    GANTRY_CHECK(add_attributes());
    for (const TargetOption& option : kind_.options) {
      if (option.fallback) target_.values.emplace(option.name, *option.fallback);
    }
    add_keys();
    GANTRY_CHECK(set_device_type());
    for (const GivenTarget& host : given_.host) {
      GANTRY_TRY(CompileTarget completed, Completion(host, attributes_).run());
      target_.host.push_back(std::move(completed));
    }
    return std::move(target_);
  }

 private:
  Status add_tag() {
    if (!given_.tag) return {};
    target_.tag = given_.tag->value;
    const auto tag = std::ranges::find(kind_.tags, target_.tag, &TargetTag::name);
    if (tag != kind_.tags.end()) {
      for (const auto& [name, value] : tag->values) target_.values.emplace(name, value);
      return {};
    }
    std::vector<std::string_view> names;
    for (const TargetTag& known : kind_.tags) names.push_back(known.name);
    return malformed(given_.tag->at, "kind ", quoted(kind_.name), " has no tag ",
                     quoted(target_.tag), did_you_mean(target_.tag, names), "; tags: ",
                     names.empty() ? "none" : join(names, ", ", std::identity(), max_listed_names));
  }

  Status add_attributes() {
    const auto given = std::ranges::find(
        given_.options, "from_device", [](const GivenOption& other) { return other.option->name; });
    if (given == given_.options.end()) return {};
    target_.values.erase("from_device");
    if (!attributes_) {
      return malformed(given->at, "from_device is given where no device can be read");
    }
    const std::int64_t index = std::get<std::int64_t>(given->value);
    for (const TargetOption& option : kind_.options) {
      if (option.attribute.empty() || target_.values.contains(option.name)) continue;
      GANTRY_TRY(std::optional<std::string> text,
                 attributes_(kind_.device, index, option.attribute));
      if (!text) continue;
      if (!option.spelling.empty()) {
        std::erase(*text, '.');
        const std::size_t star = option.spelling.find('*');
        text = concat(option.spelling.substr(0, star), *text, option.spelling.substr(star + 1));
      }
      Result<TargetValue> value = target_value(option.type, *text);
      if (!value.ok()) {
        return malformed(given->at, "attribute ", option.attribute, " of ", kind_.device, ':',
                         index, " for option ", quoted(option.name), ": ", value.error().message);
      }
      target_.values.emplace(option.name, std::move(*value));
    }
    return {};
  }

  void add_keys() {
    std::vector<std::string> keys;
    if (given_.keys) keys = given_.keys->value;
    if (const std::string device = target_.text("device"); !device.empty()) keys.push_back(device);
    if (!given_.keys) keys.insert(keys.end(), kind_.keys.begin(), kind_.keys.end());
    target_.keys = unique_keys(keys);
  }

  Status set_device_type() {
    target_.device_type = kind_.device_type;
    const auto stated = target_.values.find("target_device_type");
    if (stated == target_.values.end()) return {};
    const std::int64_t number = std::get<std::int64_t>(stated->second);
    if (number >= 1 && number <= 127) {
      target_.device_type = static_cast<std::int32_t>(number);
      return {};
    }
    return malformed(0, "target_device_type is ", number, ", expected 1 to 127");
  }

  const GivenTarget& given_;
  const TargetKind& kind_;
  const DeviceAttributes& attributes_;
  CompileTarget target_;
};

void write_target(const CompileTarget& target, JsonWriter& json) {
  json.field("kind", target.kind);
  json.field("tag", target.tag);
  json.field("keys", target.keys);
  for (const CompileTarget& host : target.host) {
    json.begin_object("host");
    write_target(host, json);
    json.end();
  }
  for (const auto& [name, value] : target.values) {
    json.key(name);
    std::visit([&](const auto& content) { json.value(content); }, value);
  }
}

std::string value_in_text(const TargetValue& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "1" : "0";
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* items = std::get_if<std::vector<std::string>>(&value)) {
    return quoted_target_items(*items);
  }
  return quoted_target_value(std::get<std::string>(value));
}

}  // namespace

std::string CompileTarget::text(std::string_view option) const {
  const auto found = values.find(option);
  if (found == values.end()) return {};
  const auto* text = std::get_if<std::string>(&found->second);
  return text == nullptr ? std::string() : *text;
}

bool GivenTarget::has(std::string_view name) const {
  return std::ranges::any_of(options,
                             [&](const GivenOption& given) { return given.option->name == name; });
}

Status set_target_kind(std::string_view name, std::uint64_t at, const TargetKinds& kinds,
                       GivenTarget& given) {
  if (const KnownTargetKind* known = kinds.find(name)) {
    given.kind = &known->kind;
    return {};
  }
  if (const KnownTargetKind* known = kinds.find_with_tag(name)) {
    given.kind = &known->kind;
    given.tag = {std::string(name), at};
    return {};
  }
  std::vector<std::string_view> names = kinds.names();
  const std::vector<std::string_view> tags = kinds.tags();
  names.insert(names.end(), tags.begin(), tags.end());
  return malformed(at, "target kind ", quoted(name), " not found", did_you_mean(name, names),
                   "; kinds: ", join(kinds.names(), ", ", std::identity(), max_listed_names));
}

Result<const TargetOption*> find_target_option(const TargetKind& kind, std::string_view name,
                                               std::uint64_t at) {
  if (const TargetOption* option = kind.find(name)) return option;
  std::vector<std::string_view> names;
  for (const TargetOption& option : kind.options) names.push_back(option.name);
  for (const TargetOption& option : common_target_options()) names.push_back(option.name);
  return malformed(at, "option ", quoted(name), " of target kind ", quoted(kind.name), " not found",
                   did_you_mean(name, names),
                   "; options: ", join(names, ", ", std::identity(), max_listed_names));
}

Result<CompileTarget> parse_target(std::string_view text, const TargetKinds& kinds,
                                   const DeviceAttributes& attributes) {
  if (text.size() > max_target_bytes) {
    return malformed(0, "target has ", text.size(), " bytes, maximum is ", max_target_bytes);
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != text.npos && text[first] == '{';
  GANTRY_TRY(const GivenTarget given,
             is_json ? read_target_json(text, kinds) : read_target_text(text, 0, false, kinds));
  return Completion(given, attributes).run();
}

std::string target_json(const CompileTarget& target, const JsonStyle& style) {
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; }, style);
  json.begin_object();
  write_target(target, json);
  json.end();
  return text;
}

std::string target_text(const CompileTarget& target) {
  std::string text = target.kind;
  if (!target.tag.empty()) text += concat(" -tag=", quoted_target_value(target.tag));
  text += concat(" -keys=", quoted_target_items(target.keys));
  for (const CompileTarget& host : target.host) {
    text += concat(" -host=", quoted_target_value(target_text(host)));
  }
  for (const auto& [name, value] : target.values) {
    text += concat(" -", name, "=", value_in_text(value));
  }
  return text;
}

}  // namespace gantry
