// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/manifest.hpp"

#include "core/base/near_name.hpp"
#include "core/base/reason.hpp"
#include "core/base/text_file.hpp"
#include "core/base/yaml/yaml_record.hpp"
#include "core/plugins/manifest/drop_in.hpp"
#include "core/plugins/manifest/global_names.hpp"
#include "core/plugins/manifest/manifest_fields.hpp"
#include "core/plugins/manifest/real_directory.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

namespace gantry {
namespace {

struct Schema {
  std::uint32_t major = 0, minor = 0;
};

bool parse_schema(std::string_view text, Schema& schema) {
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, schema.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return false;
  const auto minor = std::from_chars(major.ptr + 1, end, schema.minor);
  return minor.ec == std::errc() && minor.ptr == end;
}

// Checks the schema version. This precedes all other checks: keys of a newer schema must not be
// reported as unknown.
//
// returns  true if the file has a newer schema and its schema_min allows this reader: unknown keys
//          are warnings
Result<bool> is_of_newer_schema(const YamlDocument& document) {
  constexpr Schema ours{kSchemaMajor, kSchemaMinor};
  const YamlValue* const written = document.root.find("schema");
  const YamlValue* const min_written = document.root.find("schema_min");
  for (const YamlValue* value : {written, min_written}) {
    const bool is_text = !value || (value->kind == YamlKind::scalar && value->quoted);
    // read_record() reports the wrong type
    if (!is_text) return false;
  }
  const auto read = [&](std::string_view key, const YamlValue* value,
                        const Schema& absent) -> Result<Schema> {
    Schema schema;
    if (!value) return absent;
    if (parse_schema(value->text, schema)) return schema;
    return yaml_error(document.file, value->location, key,
                      yaml_expected("major.minor as in \"1.0\"", *value))
        .with_reason(reason::yaml_type.tag);
  };
  const auto refusal = [&](std::string_view key, const YamlValue& value, const Schema& required) {
    return yaml_error(document.file, value.location, key, "manifest requires schema ",
                      required.major, ".", required.minor, ", this core reads ", ours.major, ".",
                      ours.minor, ": ",
                      required.major < ours.major ? "update the plugin" : "update the core")
        .with_reason(reason::schema_version.tag);
  };
  GANTRY_TRY(const Schema schema, read("schema", written, ours));
  // `schema_min` does not allow another major version.
  if (schema.major != ours.major) return refusal("schema", *written, schema);
  GANTRY_TRY(const Schema min, read("schema_min", min_written, schema));
  if (min.major != ours.major || min.minor > ours.minor) {
    return min_written ? refusal("schema_min", *min_written, min)
                       : refusal("schema", *written, schema);
  }
  return schema.minor > ours.minor;
}

Failure value_error(const YamlRecord& record, std::string_view key, std::string_view what) {
  return record.error(key, what).with_reason(reason::manifest_value.tag);
}

Failure item_error(const YamlRecord& record, std::string_view key, std::size_t index,
                   std::string_view what) {
  return record.item_error(key, index, what).with_reason(reason::manifest_value.tag);
}

Status read_abi(const YamlRecord& root, Manifest& manifest) {
  const YamlRecord abi = root.record("abi");
  manifest.abi = {static_cast<std::uint32_t>(abi.integer("major")),
                  static_cast<std::uint32_t>(abi.integer("min_minor")),
                  static_cast<std::uint32_t>(abi.integer("max_minor"))};
  if (manifest.abi.min_minor <= manifest.abi.max_minor) return {};
  return value_error(
      abi, "max_minor",
      concat("max_minor is ", manifest.abi.max_minor, ", min_minor is ", manifest.abi.min_minor));
}

// Parses the layout and locates an error: the wrong field is the last one of the shortest prefix
// that does not parse.
Result<PayloadLayout> read_layout(const YamlRecord& record) {
  const std::vector<std::string> fields = record.texts("payload");
  Result<PayloadLayout> layout = parse_payload_layout(fields);
  if (layout.ok()) return layout;
  std::size_t at = 0;
  while (parse_payload_layout(std::span(fields).first(at + 1)).ok()) ++at;
  return item_error(record, "payload", at, layout.error().message);
}

Status read_keys(const YamlRecord& root, Manifest& manifest) {
  std::set<std::string> seen;
  for (const YamlRecord& record : root.records("keys")) {
    ManifestKey key{record.text("key"), record.texts("aliases"), {}};
    if (!seen.insert(key.key).second) {
      return value_error(record, "key", concat("type key \"", key.key, "\" is declared twice"));
    }
    for (std::size_t i = 0; i < key.aliases.size(); ++i) {
      if (!seen.insert(key.aliases[i]).second) {
        return item_error(record, "aliases", i,
                          concat("type key \"", key.aliases[i], "\" is declared twice"));
      }
    }
    if (record.has("payload")) {
      GANTRY_TRY(key.payload, read_layout(record));
    }
    manifest.keys.push_back(std::move(key));
  }
  return {};
}

Status read_globals(const YamlRecord& root, Manifest& manifest) {
  constexpr std::size_t max = 1024;
  for (const std::string& entry : root.texts("globals")) {
    read_global(entry, &manifest.globals);
    if (manifest.globals.size() > max) {
      return value_error(root, "globals",
                         concat("more than ", max, " names; a beginning and * stands for many"));
    }
  }
  return {};
}

Status read_devices(const YamlRecord& root, Manifest& manifest) {
  std::set<std::string> seen;
  for (const YamlRecord& record : root.records("devices")) {
    ManifestDevice device;
    device.name = record.text("name");
    device.kind = record.text("kind");
    if (record.text("dlpack", "ext") != "ext")
      device.dlpack = static_cast<std::int32_t>(record.integer("dlpack"));
    if (!seen.insert(device.name).second) {
      return value_error(record, "name", concat("device \"", device.name, "\" is declared twice"));
    }
    manifest.devices.push_back(std::move(device));
  }
  return {};
}

void read_requires(const YamlRecord& root, Manifest& manifest) {
  const YamlRecord needs = root.record("requires");
  manifest.needs.files = needs.texts("files");
  manifest.needs.device_nodes = needs.texts("device_nodes");
  for (const YamlRecord& record : needs.records("libraries")) {
    manifest.needs.libraries.push_back(
        {record.text("soname"), record.text("min_version"), record.texts("symbols")});
  }
}

OptionType option_type(std::string_view name) {
  constexpr std::pair<std::string_view, OptionType> types[] = {
      {"bool", OptionType::boolean}, {"int", OptionType::integer}, {"float", OptionType::number},
      {"string", OptionType::text},  {"path", OptionType::path},   {"enum", OptionType::choice}};
  for (const auto& [text, type] : types) {
    if (text == name) return type;
  }
  return OptionType::text;
}

Result<ConfigOption> read_option(const YamlDocument& document, const YamlEntry& entry) {
  const YamlRecord record(document, entry.value, yaml_path("config_schema", entry.key));
  ConfigOption option;
  option.name = entry.key;
  option.type = option_type(record.text("type"));
  if (record.has("min")) option.min = record.number("min");
  if (record.has("max")) option.max = record.number("max");
  option.choices = record.texts("enum");
  option.doc = record.text("doc");
  option.secret = record.boolean("secret");
  const bool numeric = option.type == OptionType::integer || option.type == OptionType::number;
  if ((option.min || option.max) && !numeric) {
    return value_error(record, option.min ? "min" : "max", "only int and float may have a range");
  }
  if (option.min && option.max && *option.min > *option.max) {
    return value_error(record, "max", "max is less than min");
  }
  if ((option.type == OptionType::choice) == option.choices.empty()) {
    return value_error(record, "enum",
                       option.choices.empty() ? "type enum requires a list of values"
                                              : "only type enum may have a list of values");
  }
  if (const YamlValue* fallback = record.find("default")) {
    const ConfigText text = to_config_text(entry.key, *fallback);
    Result<ConfigScalar> value = to_scalar(option, text);
    if (!value.ok()) return value_error(record, "default", value.error().message);
    option.fallback = std::move(*value);
  }
  return option;
}

Status read_config(const YamlDocument& document, const YamlRecord& root, Manifest& manifest) {
  for (const YamlEntry& entry : root.entries("config_schema")) {
    GANTRY_TRY(ConfigOption option, read_option(document, entry));
    manifest.config_schema.push_back(std::move(option));
  }
  apply_config(root, document.file, manifest);
  return {};
}

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

// Reads the kinds that a manifest declares.
//
// root     [in]   the manifest, checked against manifest_fields()
// manifest [in]   its keys and devices are read already
// returns  malformed, reason MANIFEST_VALUE, at the first value that does not fit the others
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

// True for one part of a path, but not for "." and "..".
bool is_name(std::string_view part) {
  return !part.empty() && part != "." && part != ".." && part.find('/') == std::string_view::npos;
}

// True for an absolute path of names, except the root.
bool is_normal(std::string_view path) {
  if (!path.starts_with('/')) return false;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view part = path.substr(0, path.find('/'));
    if (!is_name(part)) return false;
    path.remove_prefix(part.size());
  }
  return true;
}

}  // namespace

bool Manifest::offers_global(std::string_view name) const {
  return std::any_of(globals.begin(), globals.end(), [&](std::string_view offered) {
    if (!offered.ends_with('*')) return offered == name;
    return name.starts_with(offered.substr(0, offered.size() - 1));
  });
}

bool Manifest::offers_device(std::string_view name) const {
  return std::ranges::find(devices, name, &ManifestDevice::name) != devices.end();
}

const ManifestKey* Manifest::key_for(std::string_view type_key) const {
  for (const ManifestKey& key : keys) {
    if (key.key == type_key ||
        std::find(key.aliases.begin(), key.aliases.end(), type_key) != key.aliases.end()) {
      return &key;
    }
  }
  return nullptr;
}

std::string Manifest::title() const {
  const std::string name = concat(id, " ", version.text);
  return display_name.empty() ? name : concat(display_name, " (", name, ")");
}

std::string check_plugin_id(std::string_view id) {
  const std::string_view expected =
      "vendor.name in lower-case letters, digits, '.' and '-', at most 64 bytes";
  const auto is_word = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); };
  if (id.empty() || id.size() > 64 || !is_word(id.front()) || !is_word(id.back()))
    return std::string(expected);
  bool several = false;
  for (std::size_t i = 1; i < id.size(); ++i) {
    const bool joint = id[i] == '.' || id[i] == '-';
    if (!joint && !is_word(id[i])) return std::string(expected);
    if (joint && !is_word(id[i - 1])) return std::string(expected);
    several = several || joint;
  }
  return several ? "" : std::string(expected);
}

bool is_device_name(std::string_view name) {
  const auto allowed = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
  };
  return !name.empty() && name[0] >= 'a' && std::all_of(name.begin(), name.end(), allowed);
}

Result<std::string> resolve_library(std::string_view written, const std::string& directory) {
  namespace fs = std::filesystem;
  // Most are a name in a directory without links.
  if (is_name(written) && is_normal(directory)) return concat(directory, "/", written);
  const fs::path path =
      (written.starts_with('/') ? fs::path(written) : fs::path(directory) / written)
          .lexically_normal();
  const auto wrong = [&](std::string_view why) {
    return malformed(no_offset, "library \"", written, "\" ", why, ", resolves to ", path.native(),
                     ", expected an absolute path or one relative to the manifest's directory ",
                     directory,
                     ", without \"..\"; the working directory and search paths are not used")
        .with_reason(reason::library_path.tag);
  };
  if (written.empty()) return wrong("is empty");
  if (written.ends_with('/')) return wrong("is a directory");
  for (const fs::path& part : fs::path(written)) {
    if (part == "..") return wrong("contains \"..\"");
  }
  return path.string();
}

Result<Manifest> read_manifest(const YamlDocument& document, const std::string& directory) {
  Result<Manifest> read = Manifest();
  Manifest& manifest = *read;
  manifest.file = document.file;
  GANTRY_TRY(const bool unknown_is_warning, is_of_newer_schema(document));
  const YamlUnknown unknown{.skip_x_keys = true,
                            .warnings = unknown_is_warning ? &manifest.warnings : nullptr};
  GANTRY_TRY(const YamlRecord root, read_record(document, manifest_fields(), unknown));

  manifest.id = root.text("id");
  GANTRY_TRY(manifest.version, Version::parse(root.text("version")));
  manifest.display_name = root.text("display_name");
  manifest.vendor = root.text("vendor");
  manifest.license = root.text("license");
  manifest.homepage = root.text("homepage");
  manifest.support = root.text("support");
  manifest.library = root.text("library");
  manifest.sha256 = root.text("sha256");
  manifest.self_contained = root.boolean("self_contained");
  GANTRY_CHECK(read_abi(root, manifest));
  GANTRY_CHECK(read_keys(root, manifest));
  GANTRY_CHECK(read_devices(root, manifest));
  GANTRY_CHECK(read_globals(root, manifest));
  if (manifest.keys.empty() && manifest.devices.empty() && manifest.globals.empty()) {
    return value_error(root, "keys", "plugin offers no type key, device or global");
  }
  const YamlRecord targets = root.record("targets");
  manifest.targets = {targets.texts("arch"), targets.texts("os"), targets.texts("libc"),
                      targets.text("isa")};
  GANTRY_TRY(manifest.target_kinds, read_target_kinds(document, root, manifest));
  read_requires(root, manifest);
  // GPU drivers take seconds to start.
  const auto is_gpu = [](const ManifestDevice& device) { return device.kind == "gpu"; };
  const bool gpu = std::any_of(manifest.devices.begin(), manifest.devices.end(), is_gpu);
  manifest.probe_timeout_ms =
      static_cast<std::int32_t>(root.integer("probe_timeout_ms", gpu ? 30000 : 5000));
  GANTRY_CHECK(read_config(document, root, manifest));
  apply_switches(root, manifest);

  Result<std::string> library = resolve_library(manifest.library, directory);
  if (!library.ok())
    return root.error("library", library.error().message).with_reason(library.error().reason);
  manifest.library_path = std::move(*library);
  return read;
}

Result<Manifest> read_manifest(std::string_view text, const std::string& file) {
  GANTRY_TRY(const YamlDocument document, parse_yaml(text, file));
  return read_manifest(document, real_directory_of(file));
}

Result<Manifest> open_manifest(const std::string& file) {
  GANTRY_TRY(const std::string text, read_text_file(file));
  return read_manifest(text, file);
}

}  // namespace gantry
