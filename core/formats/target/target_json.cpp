// SPDX-License-Identifier: Apache-2.0
#include "core/formats/target/given_target.hpp"

#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>

#include <set>
#include <utility>

namespace gantry {
namespace {

class JsonReader {
 public:
  JsonReader(JsonValue object, bool is_host, const TargetKinds& kinds)
      : object_(object), is_host_(is_host), kinds_(kinds) {}

  Result<GivenTarget> read() {
    std::set<std::string_view> names;
    for (const JsonValue member : object_) {
      if (!names.insert(member.key()).second) {
        return malformed(member.offset(), "member ", quoted(member.key()),
                         " of the target is given twice, expected once");
      }
    }
    GANTRY_CHECK(read_kind());
    for (const JsonValue member : object_) {
      const std::string_view name = member.key();
      if (name == "kind" || name == "tag") continue;
      GANTRY_CHECK(name == "keys"   ? read_keys(member)
                   : name == "host" ? read_host(member)
                                    : read_option(name, member));
    }
    return std::move(given_);
  }

 private:
  Status read_kind() {
    const auto kind = object_.find("kind");
    const auto tag = object_.find("tag");
    for (const auto& [name, value] : {std::pair("kind", kind), std::pair("tag", tag)}) {
      if (value && !value->is(JsonKind::text)) return wrong_type(name, "a string", *value);
    }
    // TVM writes an empty tag if there is none.
    const bool has_tag = tag && !tag->text().empty();
    if (!kind && !has_tag) {
      return malformed(object_.offset(), "target has no member \"kind\" and no \"tag\"");
    }
    if (has_tag) given_.tag = {std::string(tag->text()), tag->offset()};
    if (kind) return set_target_kind(kind->text(), kind->offset(), kinds_, given_);
    return set_target_kind(tag->text(), tag->offset(), kinds_, given_);
  }

  Result<std::vector<std::string>> texts(std::string_view name, JsonValue value) const {
    if (!value.is(JsonKind::array)) return wrong_type(name, "a list of strings", value);
    std::vector<std::string> items;
    for (const JsonValue item : value) {
      if (!item.is(JsonKind::text)) return wrong_type(name, "a list of strings", item);
      if (item.text().empty()) {
        return malformed(item.offset(), "list ", quoted(name), " of the target has an empty item");
      }
      items.emplace_back(item.text());
    }
    return items;
  }

  Status read_keys(JsonValue value) {
    GANTRY_TRY(std::vector<std::string> keys, texts("keys", value));
    given_.keys = {std::move(keys), value.offset()};
    return {};
  }

  Status read_host(JsonValue value) {
    if (value.is(JsonKind::null)) return {};
    if (is_host_) return malformed(value.offset(), "target of a host has a host, expected none");
    if (value.is(JsonKind::text)) {
      GANTRY_TRY(GivenTarget host, read_target_text(value.text(), value.offset(), true, kinds_));
      given_.host.push_back(std::move(host));
      return {};
    }
    if (!value.is(JsonKind::object)) return wrong_type("host", "an object or a string", value);
    GANTRY_TRY(GivenTarget host, JsonReader(value, true, kinds_).read());
    given_.host.push_back(std::move(host));
    return {};
  }

  Status read_option(std::string_view name, JsonValue value) {
    GANTRY_TRY(const TargetOption* const option,
               find_target_option(*given_.kind, name, value.offset()));
    GANTRY_TRY(TargetValue converted, convert(*option, value));
    given_.options.push_back({option, std::move(converted), value.offset()});
    return {};
  }

  Result<TargetValue> convert(const TargetOption& option, JsonValue value) const {
    const bool is_small = value.is(JsonKind::count) && value.count() <= 1;
    const bool is_integer =
        value.is(JsonKind::negative) || (value.is(JsonKind::count) && value.count() <= INT64_MAX);
    switch (option.type) {
      case TargetType::boolean:
        // TVM writes 0 and 1 where it stores a bool as an integer.
        if (value.is(JsonKind::boolean)) return TargetValue(value.truth());
        if (is_small) return TargetValue(value.count() == 1);
        return wrong_type(option.name, "true or false", value);
      case TargetType::integer:
        if (is_integer) return TargetValue(value.integer());
        return wrong_type(option.name, "an integer", value);
      case TargetType::text:
        if (value.is(JsonKind::text)) return TargetValue(std::string(value.text()));
        return wrong_type(option.name, "a string", value);
      case TargetType::list:
        break;
    }
    GANTRY_TRY(std::vector<std::string> items, texts(option.name, value));
    return TargetValue(std::move(items));
  }

  static Failure wrong_type(std::string_view name, std::string_view expected, JsonValue found) {
    return malformed(found.offset(), "member ", quoted(name), " of the target is ",
                     name_of(found.kind()), ", expected ", expected);
  }

  JsonValue object_;
  bool is_host_;
  const TargetKinds& kinds_;
  GivenTarget given_;
};

}  // namespace

Result<GivenTarget> read_target_json(std::string_view text, const TargetKinds& kinds) {
  GANTRY_TRY(const JsonTree tree, JsonTree::parse(text, {.name = "target"}));
  if (!tree.root().is(JsonKind::object)) {
    return malformed(tree.root().offset(), "target is ", name_of(tree.root().kind()),
                     ", expected an object");
  }
  return JsonReader(tree.root(), false, kinds).read();
}

}  // namespace gantry
