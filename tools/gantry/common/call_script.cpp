// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/call_script.hpp"

#include "tools/gantry/common/json_field.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gantry::cli {
namespace {

using Field = JsonField;

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
  const Field document(tree.root(), "call script", "CALL_SCRIPT");
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
