// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/call_script.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gantry::cli {
namespace {

// A value of the document, and where it is: "calls[3].args[0].shape". It refers to the value around it, which outlives it: the text
// is made for errors alone.
class Field {
 public:
  explicit Field(JsonValue document) : value_(document) {}
  // A member of an object.
  Field(JsonValue value, const Field& around, std::string_view key)
      : value_(value), around_(&around), key_(key) {}
  // An item of a list.
  Field(JsonValue value, const Field& around, std::size_t index)
      : value_(value), around_(&around), index_(index) {}

  const JsonValue& value() const { return value_; }

  Failure wrong(std::string_view expected) const {
    return refuse(path(), " is ", found(), ", expected ", expected);
  }
  template <class... Parts>
  Failure refuse(const Parts&... parts) const {
    return malformed(value_.offset(), "call script: ", parts...).with_reason("CALL_SCRIPT");
  }
  // A long key is shortened.
  std::string path() const {
    constexpr std::size_t max_key = 64;
    std::vector<std::string> parts;
    for (const Field* field = this; field->around_ != nullptr; field = field->around_) {
      if (field->key_.data() == nullptr) {
        parts.push_back(concat("[", field->index_, "]"));
      } else {
        const bool is_first = field->around_->around_ == nullptr;
        parts.push_back(concat(is_first ? "" : ".", field->key_.substr(0, max_key),
                               field->key_.size() > max_key ? "..." : ""));
      }
    }
    std::string text;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) text += *part;
    return text;
  }

  std::optional<Field> find(std::string_view key) const {
    const auto member = value_.find(key);
    if (!member) return std::nullopt;
    return Field(*member, *this, key);
  }
  Result<Field> at(std::string_view key) const {
    if (auto member = find(key)) return std::move(*member);
    return refuse(around_ == nullptr ? "the document" : path(), " has no ", quoted(key));
  }
  Field item(JsonValue value, std::size_t index) const { return {value, *this, index}; }

  Status is_object() const {
    if (!value_.is(JsonKind::object)) return wrong("an object");
    return {};
  }
  Status is_list() const {
    if (!value_.is(JsonKind::array)) return wrong("a list");
    return {};
  }
  Result<std::string> text() const {
    if (!value_.is(JsonKind::text)) return wrong("a string");
    return std::string(value_.text());
  }
  Result<std::string> name() const {
    GANTRY_TRY(std::string text, text());
    if (text.empty() || text.find('\0') != std::string::npos) return wrong("a name");
    return text;
  }
  Result<bool> truth() const {
    if (!value_.is(JsonKind::boolean)) return wrong("true or false");
    return value_.truth();
  }
  Result<std::int64_t> integer(std::int64_t min = INT64_MIN, std::int64_t max = INT64_MAX) const {
    const bool fits = value_.is(JsonKind::negative) ||
                      (value_.is(JsonKind::count) && value_.count() <= INT64_MAX);
    if (!fits || value_.integer() < min || value_.integer() > max)
      return min == INT64_MIN ? wrong("a 64-bit integer")
                              : wrong(concat("an integer from ", min, " to ", max));
    return value_.integer();
  }
  // JSON has no number for infinity and NaN.
  Result<double> real() const {
    if (value_.is(JsonKind::fraction)) return value_.fraction();
    if (value_.is(JsonKind::negative)) return static_cast<double>(value_.integer());
    if (value_.is(JsonKind::count)) return static_cast<double>(value_.count());
    if (value_.is(JsonKind::text)) {
      if (value_.text() == "nan") return std::numeric_limits<double>::quiet_NaN();
      if (value_.text() == "inf") return std::numeric_limits<double>::infinity();
      if (value_.text() == "-inf") return -std::numeric_limits<double>::infinity();
    }
    return wrong("a number, \"nan\", \"inf\" or \"-inf\"");
  }
  // Reads a list with a function that takes the Field of an item.
  template <class T, class Read>
  Result<std::vector<T>> list(Read&& read) const {
    GANTRY_CHECK(is_list());
    std::vector<T> all;
    for (const JsonValue value : value_) {
      GANTRY_TRY(T one, read(item(value, all.size())));
      all.push_back(std::move(one));
    }
    return all;
  }
  Result<std::vector<std::int64_t>> integers(std::int64_t min) const {
    return list<std::int64_t>([min](const Field& one) { return one.integer(min); });
  }

 private:
  std::string found() const {
    switch (value_.kind()) {
      case JsonKind::text:
        return quoted(value_.text());
      case JsonKind::negative:
        return concat(value_.integer());
      case JsonKind::count:
        return concat(value_.count());
      case JsonKind::fraction:
        return concat(value_.fraction());
      case JsonKind::boolean:
        return value_.truth() ? "true" : "false";
      default:
        return std::string(name_of(value_.kind()));
    }
  }

  JsonValue value_;
  // NULL: the document
  const Field* around_ = nullptr;
  // Without an address: an item.
  std::string_view key_;
  std::size_t index_ = 0;
};

// What a value may be: an argument, or a result.
struct Role {
  bool is_argument;
  // index of the call
  std::size_t call;
  bool has_params;
};

Result<gantry_dtype> read_dtype(const Field& field) {
  GANTRY_TRY(const std::string text, field.text());
  if (text == "bool") return gantry_dtype{static_cast<std::uint8_t>(TypeCode::bool_), 8, 1};
  const auto dtype = parse_dtype(text);
  if (!dtype.ok()) return field.wrong("a type, for example \"float32\"");
  const std::uint64_t bits = std::uint64_t{dtype->bits} * dtype->lanes;
  if (bits == 0 || bits % 8 != 0 || dtype->lanes != 1)
    return field.wrong("a type of whole bytes and one lane");
  return *dtype;
}

Result<ScriptValue> read_tensor(const Field& field) {
  TensorScriptValue tensor;
  GANTRY_TRY(const Field key, field.at("key"));
  GANTRY_TRY(tensor.key, key.name());
  GANTRY_TRY(const Field dtype, field.at("dtype"));
  GANTRY_TRY(tensor.dtype, read_dtype(dtype));
  GANTRY_TRY(const Field shape, field.at("shape"));
  GANTRY_TRY(tensor.shape, shape.integers(0));
  return ScriptValue{std::move(tensor)};
}

Result<ScriptValue> read_ref(const Field& field, const Role& role) {
  RefScriptValue ref;
  GANTRY_TRY(const Field call, field.at("call"));
  if (role.call == 0) return field.refuse(field.path(), " refers to a call before the first");
  GANTRY_TRY(const std::int64_t index, call.integer(0, static_cast<std::int64_t>(role.call) - 1));
  ref.call = static_cast<std::size_t>(index);
  if (const auto path = field.find("path")) {
    GANTRY_TRY(const std::vector<std::int64_t> indices, path->integers(0));
    ref.path.assign(indices.begin(), indices.end());
  }
  return ScriptValue{std::move(ref)};
}

// Recurses as deep as the document, whose depth JsonTree limits.
Result<ScriptValue> read_value(const Field& field, const Role& role) {
  GANTRY_CHECK(field.is_object());
  GANTRY_TRY(const Field type, field.at("t"));
  GANTRY_TRY(const std::string t, type.text());
  if (t == "none") return ScriptValue{NoneScriptValue{}};
  if (t == "tensor") return read_tensor(field);
  if (t == "str" && role.is_argument) {
    if (const auto directory = field.find("dir")) {
      GANTRY_TRY(std::string name, directory->name());
      return ScriptValue{DirectoryScriptValue{std::move(name)}};
    }
  }
  if (role.is_argument) {
    if (t == "ref") return read_ref(field, role);
    if (t == "params" && role.has_params) return ScriptValue{ParamsScriptValue{}};
    if (t == "params")
      return field.refuse(field.path(), " is \"params\", and the document names no \"params\"");
  } else {
    if (t == "any") return ScriptValue{AnyScriptValue{}};
    if (t == "object") {
      ObjectScriptValue object;
      if (const auto name = field.find("type")) {
        GANTRY_TRY(object.type, name->text());
      }
      return ScriptValue{std::move(object)};
    }
  }
  const auto is_plain = [&] {
    for (const char* plain : {"int", "float", "bool", "str", "shape", "tuple"}) {
      if (t == plain) return true;
    }
    return false;
  };
  if (!is_plain()) {
    return type.wrong(role.is_argument
                          ? "none, int, float, bool, str, shape, tensor, tuple, ref or "
                            "params"
                          : "none, int, float, bool, str, shape, tensor, tuple, object "
                            "or any");
  }
  GANTRY_TRY(const Field v, field.at("v"));
  ScriptValue made;
  if (t == "int") {
    GANTRY_TRY(made.content, v.integer());
  } else if (t == "float") {
    GANTRY_TRY(made.content, v.real());
  } else if (t == "bool") {
    GANTRY_TRY(made.content, v.truth());
  } else if (t == "str") {
    GANTRY_TRY(made.content, v.text());
  } else if (t == "shape") {
    ShapeScriptValue shape;
    GANTRY_TRY(shape.extents, v.integers(INT64_MIN));
    made.content = std::move(shape);
  } else {
    TupleScriptValue tuple;
    GANTRY_TRY(tuple.items,
               v.list<ScriptValue>([&](const Field& item) { return read_value(item, role); }));
    made.content = std::move(tuple);
  }
  return made;
}

Result<ScriptError> read_error(const Field& field) {
  GANTRY_CHECK(field.is_object());
  ScriptError error;
  if (const auto any = field.find("any")) {
    GANTRY_TRY(const bool is_any, any->truth());
    if (!is_any) return any->wrong("true");
    return error;
  }
  GANTRY_TRY(const Field kind, field.at("kind"));
  GANTRY_TRY(error.kind, kind.name());
  GANTRY_TRY(const Field message, field.at("message"));
  GANTRY_TRY(error.message, message.text());
  return error;
}

Status read_after(const Field& field, const Role& role, ScriptCall& call) {
  GANTRY_CHECK(field.is_object());
  for (const JsonValue value : field.value()) {
    const std::string_view key = value.key();
    std::size_t index = 0;
    const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (problem != std::errc() || end != key.data() + key.size() || index >= call.args.size()) {
      return field.refuse(field.path(), " has the key ", quoted(key),
                          ", expected the number of an argument, argument count is ",
                          call.args.size());
    }
    GANTRY_TRY(call.after[index], read_value(Field(value, field, key), role));
  }
  return {};
}

Result<ScriptCall> read_call(const Field& field, std::size_t index, bool has_params) {
  GANTRY_CHECK(field.is_object());
  const Role argument{true, index, has_params}, result{false, index, has_params};
  ScriptCall call;
  GANTRY_TRY(const Field function, field.at("func"));
  GANTRY_TRY(call.function, function.name());
  if (const auto global = field.find("global")) {
    GANTRY_TRY(call.is_global, global->truth());
  }
  GANTRY_TRY(const Field args, field.at("args"));
  GANTRY_TRY(call.args,
             args.list<ScriptValue>([&](const Field& item) { return read_value(item, argument); }));
  if (const auto ret = field.find("ret")) {
    GANTRY_TRY(call.result, read_value(*ret, result));
  }
  if (const auto error = field.find("error")) {
    if (call.result) return error->refuse(field.path(), " has both \"ret\" and \"error\"");
    GANTRY_TRY(call.error, read_error(*error));
  }
  if (const auto after = field.find("after")) GANTRY_CHECK(read_after(*after, result, call));
  if (const auto note = field.find("note")) {
    GANTRY_TRY(call.note, note->text());
  }
  return call;
}

}  // namespace

Result<CallScript> parse_call_script(std::string_view json) {
  GANTRY_TRY(const JsonTree tree,
             JsonTree::parse(json, {.name = "call script", .reason = "CALL_SCRIPT"}));
  const Field document(tree.root());
  if (!tree.root().is(JsonKind::object)) {
    return document.refuse("the document is ", name_of(tree.root().kind()), ", expected an object");
  }
  CallScript script;
  GANTRY_TRY(const Field kind, document.at("kind"));
  GANTRY_TRY(const std::string kind_name, kind.text());
  if (kind_name != "relax" && kind_name != "tir") return kind.wrong("\"relax\" or \"tir\"");
  script.kind = kind_name == "tir" ? CallScript::Kind::tir : CallScript::Kind::relax;
  const std::pair<const char*, std::string&> texts[] = {
      {"file", script.file}, {"note", script.note}, {"expected_from", script.expected_from}};
  for (const auto& [key, text] : texts) {
    if (const auto field = document.find(key)) {
      GANTRY_TRY(text, field->text());
    }
  }
  if (script.expected_from.find('/') != std::string::npos) {
    return document.find("expected_from")->wrong("the name of a script in the same directory");
  }
  if (const auto params = document.find("params")) {
    GANTRY_TRY(script.params,
               params->list<std::string>([](const Field& name) { return name.name(); }));
  }
  GANTRY_TRY(const Field calls, document.at("calls"));
  const bool has_params = !script.params.empty();
  std::size_t index = 0;
  GANTRY_TRY(script.calls, calls.list<ScriptCall>([&](const Field& call) {
    return read_call(call, index++, has_params);
  }));
  if (script.calls.empty() && script.expected_from.empty())
    return calls.refuse("calls is empty, and the document has no \"expected_from\"");
  return script;
}

}  // namespace gantry::cli
