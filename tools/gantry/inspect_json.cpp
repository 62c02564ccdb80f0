// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/inspect_json.hpp"

#include "tools/gantry/common/escape.hpp"

#include <charconv>
#include <set>

namespace gantry::cli {
namespace {

Json text_or_null(std::string_view text) { return text.empty() ? Json() : Json(json_text(text)); }

Json texts(const std::vector<std::string>& all) {
  Json list = Json::array();
  for (const std::string& text : all) list.push_back(json_text(text));
  return list;
}

Json number(std::string_view text) {
  std::int64_t value = 0;
  std::uint64_t large = 0;
  const char* end = text.data() + text.size();
  if (const auto [at, error] = std::from_chars(text.data(), end, value);
      error == std::errc{} && at == end) {
    return value;
  }
  if (const auto [at, error] = std::from_chars(text.data(), end, large);
      error == std::errc{} && at == end) {
    return large;
  }
  return json_text(text);
}

// A name may come from the file, so it may stand there twice: the second one is told apart.
class ObjectWriter {
 public:
  void set(std::string_view name, Json value) {
    std::string key = json_text(name);
    for (int i = 2; !taken_.insert(key).second; ++i) key = concat(json_text(name), "#", i);
    // The vector beneath: operator[] would search all keys for each one.
    object_.get_ref<Json::object_t&>().push_back({std::move(key), std::move(value)});
  }
  Json take() { return std::move(object_); }

 private:
  Json object_ = Json::object();
  std::set<std::string> taken_;
};

// Recursion ends with the nesting of payload layouts (blob/limits.hpp), which no file decides.
Json detail_json(const Detail& detail) {
  switch (detail.kind) {
    case Detail::Kind::text:
      return json_text(detail.value);
    case Detail::Kind::number:
      return number(detail.value);
    case Detail::Kind::size:
      return number(detail.value);
    case Detail::Kind::list:
    case Detail::Kind::record:
      break;
  }
  const bool named = detail.kind == Detail::Kind::record ||
                     (!detail.children.empty() && !detail.children.front().name.empty());
  if (!named) {
    Json list = Json::array();
    for (const Detail& child : detail.children) list.push_back(detail_json(child));
    return list;
  }
  ObjectWriter object;
  for (const Detail& child : detail.children) object.set(child.name, detail_json(child));
  return object.take();
}

Json module_json(const InspectReport& report, std::size_t index) {
  const ModuleReport& module = report.modules[index];
  const bool library = module.entry.is_library();
  Json json;
  json["index"] = index;
  json["type_key"] = text_or_null(module.entry.type_key);
  json["offset"] = library ? Json() : Json(module.entry.at);
  json["file_offset"] = library ? Json() : Json(report.container.file_offset + module.entry.at);
  json["size"] = module.entry.payload.size();
  json["sha256"] = text_or_null(module.sha256);
  json["imports"] = module.imports;
  json["served_by"] = module.served_by ? Json(json_text(*module.served_by)) : Json();
  json["details"] = module.details.children.empty() ? Json::object() : detail_json(module.details);
  return json;
}

Json array_json(const ArrayReport& array) {
  Json json;
  json["name"] = json_text(array.name);
  json["dtype"] = array.dtype;
  json["shape"] = array.shape;
  json["size"] = array.size;
  return json;
}

}  // namespace

Json inspect_json(const InspectReport& report) {
  const Container& container = report.container;
  Json json;
  json["file"] = json_text(report.file);
  json["size"] = report.size;
  json["format"] = name_of(report.kind);
  json["generation"] = name_of(container.generation);
  json["dialect"] = name_of(container.dialect);
  json["machine"] = text_or_null(report.machine);
  json["soname"] = text_or_null(report.soname);
  json["needed"] = texts(report.needed);
  json["symbols"]["blob"] = text_or_null(container.blob_symbol);
  json["symbols"]["context"] = text_or_null(container.context_symbol);
  json["symbols"]["prefix"] = text_or_null(container.prefix);
  json["entry"] = report.entry ? Json(json_text(*report.entry)) : Json();
  json["container"] = Json();
  if (!container.bytes.empty()) {
    json["container"] = Json::object();
    json["container"]["file_offset"] = container.file_offset;
    json["container"]["size"] = container.bytes.size();
  }
  json["modules"] = Json::array();
  for (std::size_t i = 0; i < report.modules.size(); ++i) {
    json["modules"].push_back(module_json(report, i));
  }
  json["functions"] = texts(report.functions);
  if (report.kind == FileKind::archive || report.kind == FileKind::tar ||
      report.kind == FileKind::model_library) {
    json["members"] = Json::array();
    for (const ArchiveMember& member : report.members) {
      Json one;
      one["name"] = json_text(member.name);
      one["size"] = member.size;
      json["members"].push_back(std::move(one));
    }
  }
  if (report.kind == FileKind::parameters || report.kind == FileKind::npy ||
      report.kind == FileKind::npz) {
    json["arrays"] = Json::array();
    for (const ArrayReport& array : report.arrays) json["arrays"].push_back(array_json(array));
  }
  json["warnings"] = texts(report.warnings);
  return json;
}

}  // namespace gantry::cli
