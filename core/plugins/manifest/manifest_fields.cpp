// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/manifest_fields.hpp"

#include "core/plugins/manifest/global_names.hpp"
#include "core/plugins/manifest/manifest.hpp"

#include <algorithm>

namespace gantry {
namespace {

constexpr std::size_t kMaxLengthText = 256;
constexpr std::size_t kMaxLengthPath = 4096;
constexpr std::size_t kMaxLengthKey = 256;
constexpr std::size_t kMaxItems = 256;
// An entry has many names; the number of entries is limited by that of the names.
constexpr std::size_t kMaxLengthGlobals = 16 * 1024;

std::string check_id(const YamlValue& value) { return check_plugin_id(value.text); }

std::string check_version(const YamlValue& value) {
  return Version::parse(value.text).ok() ? ""
                                         : "major.minor.patch as in \"1.4.0\" or \"2.0.0-rc.1\"";
}

std::string check_sha256(const YamlValue& value) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return value.text.size() == 64 && std::all_of(value.text.begin(), value.text.end(), is_hex)
             ? ""
             : "64 lower-case hexadecimal digits";
}

std::string check_type_key(const YamlValue& value) {
  return value.text.empty() ? "a type key" : "";
}

std::string check_device_name(const YamlValue& value) {
  return is_device_name(value.text) ? "" : "a device name, [a-z][a-z0-9_]*";
}

std::string check_dlpack(const YamlValue& value) {
  std::int64_t number = 0;
  const bool fine =
      value.text == "ext" || (yaml_integer(value, number) && number >= 1 && number <= 63);
  return fine ? "" : "DLPack's device number, 1 to 63, or ext";
}

std::string check_absolute(const YamlValue& value) {
  return value.text.starts_with('/') ? "" : "an absolute path";
}

std::string check_soname(const YamlValue& value) {
  const bool fine = !value.text.empty() && value.text.find('/') == std::string::npos;
  return fine ? "" : "a soname without a directory";
}

std::string check_environment_name(const YamlValue& value) {
  const auto allowed = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const std::string& name = value.text;
  const bool fine = !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
                    std::all_of(name.begin(), name.end(), allowed);
  return fine ? "" : "the name of an environment variable";
}

std::string check_global(const YamlValue& value) {
  return read_global(value.text, nullptr)
             ? ""
             : "the name of a function, its beginning and *, or {names, that, begin, alike}";
}

std::string check_symbol(const YamlValue& value) {
  const std::string& name = value.text;
  const bool fine = !name.empty() && name.size() <= kMaxLengthKey &&
                    std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f; });
  return fine ? "" : "the name of a function or of a version, as GLIBC_2.34";
}

// Of a library: as many numbers as its file name has.
std::string check_numbers(const YamlValue& value) {
  const std::string& text = value.text;
  bool is_after_digit = false;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (c != '.' || !is_after_digit)) return "numbers and dots, as 535.104";
    is_after_digit = is_digit;
  }
  return is_after_digit ? "" : "numbers and dots, as 535.104";
}

constexpr std::string_view kProbe[] = {"auto", "always", "never"};
constexpr std::string_view kIsa[] = {"x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4", "armv8-a"};
std::string check_target_kind(const YamlValue& value) {
  return is_target_kind_name(value.text) ? "" : "the name of a target kind, [a-z][a-z0-9_-]*";
}

std::string check_spelling(const YamlValue& value) {
  return std::ranges::count(value.text, '*') == 1 ? "" : "a text with one *";
}

constexpr std::string_view kTargetTypes[] = {"bool", "int", "string", "list"};
constexpr std::string_view kOptionTypes[] = {"bool", "int", "float", "string", "path", "enum"};

constexpr YamlField kAbi[] = {
    {.name = "major", .type = YamlType::integer, .required = true, .min = 1, .max = 1000},
    {.name = "min_minor", .type = YamlType::integer, .required = true, .min = 0, .max = 1000000},
    {.name = "max_minor", .type = YamlType::integer, .required = true, .min = 0, .max = 1000000},
};
constexpr YamlField kKey[] = {
    {.name = "key", .required = true, .longest = kMaxLengthKey, .check = check_type_key},
    {.name = "aliases", .type = YamlType::list, .longest = kMaxItems, .check_item = check_type_key},
    {.name = "payload", .type = YamlType::list, .longest = kMaxItems},
};
constexpr YamlField kDevice[] = {
    {.name = "name", .required = true, .longest = 64, .check = check_device_name},
    {.name = "kind", .longest = kMaxLengthText},
    {.name = "dlpack", .type = YamlType::scalar, .check = check_dlpack},
};
constexpr YamlField kTargets[] = {
    {.name = "arch", .type = YamlType::list, .longest = kMaxItems},
    {.name = "os", .type = YamlType::list, .longest = kMaxItems},
    {.name = "libc", .type = YamlType::list, .longest = kMaxItems},
    {.name = "isa", .type = YamlType::choice, .choices = kIsa},
};
constexpr YamlField kLibrary[] = {
    {.name = "soname", .required = true, .longest = kMaxLengthText, .check = check_soname},
    {.name = "min_version",
     .type = YamlType::quoted_text,
     .longest = kMaxLengthText,
     .check = check_numbers},
    {.name = "symbols", .type = YamlType::list, .longest = kMaxItems, .check_item = check_symbol},
};
constexpr YamlField kRequires[] = {
    {.name = "files", .type = YamlType::list, .longest = kMaxItems, .check_item = check_absolute},
    {.name = "device_nodes",
     .type = YamlType::list,
     .longest = kMaxItems,
     .check_item = check_absolute},
    {.name = "libraries",
     .type = YamlType::list,
     .items = YamlType::record,
     .longest = kMaxItems,
     .fields = kLibrary},
};
constexpr YamlField kOption[] = {
    {.name = "type", .type = YamlType::choice, .required = true, .choices = kOptionTypes},
    {.name = "default", .type = YamlType::scalar},
    {.name = "min", .type = YamlType::number},
    {.name = "max", .type = YamlType::number},
    {.name = "enum", .type = YamlType::list, .longest = kMaxItems},
    {.name = "doc", .longest = kMaxLengthPath},
    {.name = "secret", .type = YamlType::boolean},
};
constexpr YamlField kTargetOption[] = {
    {.name = "type", .type = YamlType::choice, .required = true, .choices = kTargetTypes},
    {.name = "default", .type = YamlType::any},
    {.name = "doc", .required = true, .longest = kMaxLengthText},
    {.name = "attribute", .longest = 64, .check = check_device_name},
    {.name = "spelling", .longest = 64, .check = check_spelling},
};
constexpr YamlField kTargetKind[] = {
    {.name = "name", .required = true, .longest = 64, .check = check_target_kind},
    {.name = "device", .longest = 64, .check = check_device_name},
    {.name = "keys", .type = YamlType::list, .longest = kMaxItems, .check_item = check_type_key},
    {.name = "type_key", .longest = kMaxLengthKey, .check = check_type_key},
    {.name = "languages",
     .type = YamlType::list,
     .longest = kMaxItems,
     .check_item = check_type_key},
    {.name = "options",
     .type = YamlType::map,
     .items = YamlType::record,
     .longest = kMaxItems,
     .fields = kTargetOption},
    {.name = "tags", .type = YamlType::map, .items = YamlType::any, .longest = kMaxItems},
};

// A drop-in may set the last six.
constexpr YamlField kFields[] = {
    {.name = "schema", .type = YamlType::quoted_text, .required = true, .longest = 16},
    {.name = "schema_min", .type = YamlType::quoted_text, .longest = 16},
    {.name = "id", .required = true, .check = check_id},
    {.name = "version",
     .type = YamlType::quoted_text,
     .required = true,
     .longest = 128,
     .check = check_version},
    {.name = "display_name", .longest = kMaxLengthText},
    {.name = "vendor", .longest = kMaxLengthText},
    {.name = "license", .longest = kMaxLengthText},
    {.name = "homepage", .longest = kMaxLengthPath},
    {.name = "support", .longest = kMaxLengthPath},
    {.name = "library", .required = true, .longest = kMaxLengthPath},
    {.name = "sha256", .check = check_sha256},
    {.name = "self_contained", .type = YamlType::boolean},
    {.name = "abi", .type = YamlType::record, .required = true, .fields = kAbi},
    {.name = "keys",
     .type = YamlType::list,
     .items = YamlType::record,
     .longest = kMaxItems,
     .fields = kKey},
    {.name = "targets", .type = YamlType::record, .fields = kTargets},
    {.name = "devices",
     .type = YamlType::list,
     .items = YamlType::record,
     .longest = kMaxItems,
     .fields = kDevice},
    {.name = "globals",
     .type = YamlType::list,
     .longest = kMaxLengthGlobals,
     .check_item = check_global},
    {.name = "requires", .type = YamlType::record, .fields = kRequires},
    {.name = "probe_timeout_ms", .type = YamlType::integer, .min = 100, .max = 120000},
    {.name = "config_schema",
     .type = YamlType::map,
     .items = YamlType::record,
     .longest = kMaxItems,
     .fields = kOption},
    {.name = "target_kinds",
     .type = YamlType::list,
     .items = YamlType::record,
     .longest = 16,
     .fields = kTargetKind},
    {.name = "annotations", .type = YamlType::any},
    {.name = "enabled", .type = YamlType::boolean},
    {.name = "required", .type = YamlType::boolean},
    {.name = "priority", .type = YamlType::integer, .min = -1000, .max = 1000},
    {.name = "probe", .type = YamlType::choice, .choices = kProbe},
    {.name = "env_allow",
     .type = YamlType::list,
     .longest = kMaxItems,
     .check_item = check_environment_name},
    {.name = "config", .type = YamlType::map, .items = YamlType::scalar, .longest = kMaxItems},
};

}  // namespace

std::span<const YamlField> manifest_fields() { return kFields; }
std::span<const YamlField> drop_in_fields() { return std::span(kFields).last(6); }

}  // namespace gantry
