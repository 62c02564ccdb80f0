// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/target_kinds.hpp"

#include "core/base/near_name.hpp"
#include "core/plugins/manifest/reason.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace gantry {
namespace {

class KindReader {
 public:
  KindReader(const YamlDocument& document, const YamlRecord& record, const Manifest& manifest)
      : document_(document), record_(record), manifest_(manifest) {}

  Result<TargetKind> read() {
    kind_.name = record_.text("name");
    kind_.keys = record_.texts("keys");
    GANTRY_CHECK(read_device());
    GANTRY_CHECK(read_generator());
    for (const YamlEntry& entry : record_.entries("options")) GANTRY_CHECK(read_option(entry));
    for (const YamlEntry& entry : record_.entries("tags")) GANTRY_CHECK(read_tag(entry));
    return std::move(kind_);
  }

 private:
  template <class... Parts>
  Failure refuse(std::string_view key, const Parts&... parts) const {
    return record_.error(key, parts...).with_reason(reason::manifest_value.tag);
  }
  template <class... Parts>
  Failure refuse_at(const YamlLocation& at, const std::string& path, const Parts&... parts) const {
    return yaml_error(document_.file, at, path, parts...).with_reason(reason::manifest_value.tag);
  }

  Status read_device() {
    kind_.device = record_.text("device", "cpu");
    if (kind_.device == "cpu") return {};
    const auto device = std::ranges::find(manifest_.devices, kind_.device, &ManifestDevice::name);
    if (device != manifest_.devices.end()) {
      kind_.device_type = device->dlpack;
      return {};
    }
    return refuse("device", "device ", quoted(kind_.device), " is none of this manifest: ",
                  manifest_.devices.empty()
                      ? "none"
                      : join(manifest_.devices, ", ", &ManifestDevice::name, max_listed_names),
                  "; without a device the kind is for the CPU");
  }

  Status read_generator() {
    kind_.type_key = record_.text("type_key");
    kind_.languages = record_.texts("languages");
    if (!kind_.type_key.empty() && manifest_.key_for(kind_.type_key) == nullptr) {
      return refuse("type_key", "type key ", quoted(kind_.type_key), " is none of this manifest: ",
                    manifest_.keys.empty()
                        ? "none"
                        : join(manifest_.keys, ", ", &ManifestKey::key, max_listed_names));
    }
    if (!kind_.languages.empty() && kind_.type_key.empty()) {
      return refuse("languages", "languages require type_key, of the payloads that are built");
    }
    return {};
  }

  Status read_option(const YamlEntry& entry) {
    const std::string path = yaml_path(record_.path_of("options"), entry.key);
    const YamlRecord fields(document_, entry.value, path);
    constexpr std::string_view members[] = {"kind", "tag", "keys", "host"};
    if (std::ranges::find(members, entry.key) != std::end(members) ||
        TargetKind().find(entry.key) != nullptr) {
      return refuse_at(entry.location, path, "targets of every kind have ", quoted(entry.key));
    }
    if (!is_target_option_name(entry.key)) {
      return refuse_at(entry.location, path, quoted(entry.key),
                       " is no name of an option, [a-zA-Z][a-zA-Z0-9_.-]*");
    }
    TargetOption option;
    option.name = entry.key;
    option.type = type_of(fields.text("type"));
    option.doc = fields.text("doc");
    option.attribute = fields.text("attribute");
    option.spelling = fields.text("spelling");
    if (!option.attribute.empty() && kind_.device == "cpu") {
      return refuse_at(fields.find("attribute")->location, fields.path_of("attribute"),
                       "attribute requires a device, which the kind does not have");
    }
    if (!option.attribute.empty() && option.type == TargetType::list) {
      return refuse_at(fields.find("attribute")->location, fields.path_of("attribute"),
                       "an attribute is a bool, an int or a string, the option is a list");
    }
    if (!option.spelling.empty() && (option.type != TargetType::text || option.attribute.empty())) {
      return refuse_at(fields.find("spelling")->location, fields.path_of("spelling"),
                       "spelling requires an attribute and type string");
    }
    if (const YamlValue* fallback = fields.find("default")) {
      GANTRY_TRY(option.fallback, value_of(option.type, *fallback, fields.path_of("default")));
    }
    kind_.options.push_back(std::move(option));
    return {};
  }

  Status read_tag(const YamlEntry& entry) {
    const std::string path = yaml_path(record_.path_of("tags"), entry.key);
    if (entry.value.kind != YamlKind::map) {
      return refuse_at(entry.value.location, path, "expected a map of options to values");
    }
    TargetTag tag{entry.key, {}};
    for (const YamlEntry& given : entry.value.entries) {
      const std::string inner = yaml_path(path, given.key);
      const TargetOption* option = kind_.find(given.key);
      if (option == nullptr || option->name == "from_device") {
        std::vector<std::string_view> names;
        for (const TargetOption& known : kind_.options) names.push_back(known.name);
        return refuse_at(given.location, inner, "kind ", quoted(kind_.name), " has no such option",
                         did_you_mean(given.key, names));
      }
      GANTRY_TRY(TargetValue value, value_of(option->type, given.value, inner));
      tag.values.emplace_back(given.key, std::move(value));
    }
    kind_.tags.push_back(std::move(tag));
    return {};
  }

  static TargetType type_of(std::string_view name) {
    for (const TargetType type : {TargetType::boolean, TargetType::integer, TargetType::list}) {
      if (name_of(type) == name) return type;
    }
    return TargetType::text;
  }

  Result<TargetValue> value_of(TargetType type, const YamlValue& value,
                               const std::string& path) const {
    const auto wrong = [&] {
      return refuse_at(value.location, path, yaml_expected(name_of(type), value));
    };
    bool truth = false;
    std::int64_t number = 0;
    switch (type) {
      case TargetType::boolean:
        if (value.kind == YamlKind::scalar && yaml_boolean(value, truth)) return TargetValue(truth);
        return wrong();
      case TargetType::integer:
        if (value.kind == YamlKind::scalar && yaml_integer(value, number)) {
          return TargetValue(number);
        }
        return wrong();
      case TargetType::text:
        if (value.kind == YamlKind::scalar && yaml_text(value)) return TargetValue(value.text);
        return wrong();
      case TargetType::list:
        break;
    }
    if (value.kind != YamlKind::list) return wrong();
    std::vector<std::string> items;
    for (const YamlValue& item : value.items) {
      if (item.kind != YamlKind::scalar || !yaml_text(item) || item.text.empty()) {
        return refuse_at(item.location, yaml_path(path, items.size()),
                         yaml_expected("a text that is not empty", item));
      }
      items.push_back(item.text);
    }
    return TargetValue(std::move(items));
  }

  const YamlDocument& document_;
  const YamlRecord& record_;
  const Manifest& manifest_;
  TargetKind kind_;
};

}  // namespace

Result<std::vector<TargetKind>> read_target_kinds(const YamlDocument& document,
                                                  const YamlRecord& root,
                                                  const Manifest& manifest) {
  std::vector<TargetKind> kinds;
  std::set<std::string> names;
  for (const YamlRecord& record : root.records("target_kinds")) {
    GANTRY_TRY(TargetKind kind, KindReader(document, record, manifest).read());
    if (!names.insert(kind.name).second) {
      return record.error("name", "target kind ", quoted(kind.name), " is declared twice")
          .with_reason(reason::manifest_value.tag);
    }
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

}  // namespace gantry
