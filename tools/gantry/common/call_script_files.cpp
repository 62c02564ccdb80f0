// SPDX-License-Identifier: Apache-2.0
//
// Reads the files of a call script, and writes its text.
#include "tools/gantry/common/call_script.hpp"

#include "core/base/json_writer.hpp"
#include "core/base/mapped_file.hpp"
#include "core/base/text.hpp"
#include "core/formats/arrays/array_file.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <cmath>

namespace gantry::cli {
namespace {

std::filesystem::path with_suffix(std::filesystem::path path, const char* suffix) {
  return path.replace_extension(suffix);
}

Result<CallScript> read_json(const std::filesystem::path& path) {
  GANTRY_TRY(const auto file, MappedFile::open(path.string()));
  auto script = parse_call_script(as_text(file->bytes()));
  if (!script.ok()) return std::move(script).failure().at("while reading ", quoted(path.native()));
  return script;
}

// Calls `visit` with each tensor of a value.
template <class Visit>
Status for_each_tensor(const ScriptValue& value, const Visit& visit) {
  if (const auto* tensor = std::get_if<TensorScriptValue>(&value.content)) return visit(*tensor);
  if (const auto* tuple = std::get_if<TupleScriptValue>(&value.content)) {
    for (const ScriptValue& item : tuple->items) GANTRY_CHECK(for_each_tensor(item, visit));
  }
  return {};
}
template <class Visit>
Status for_each_tensor(const CallScript& script, const Visit& visit) {
  for (const ScriptCall& call : script.calls) {
    for (const ScriptValue& arg : call.args) GANTRY_CHECK(for_each_tensor(arg, visit));
    if (call.result) GANTRY_CHECK(for_each_tensor(*call.result, visit));
    for (const auto& [index, arg] : call.after) GANTRY_CHECK(for_each_tensor(arg, visit));
  }
  return {};
}

// The reader of .npz files returns NumPy's boolean as that of graphs, uint1.
gantry_dtype without_uint1(gantry_dtype dtype) {
  if (dtype.code != static_cast<std::uint8_t>(TypeCode::uint) || dtype.bits != 1) return dtype;
  return {static_cast<std::uint8_t>(TypeCode::bool_), 8, 1};
}

Failure missing_array(const std::string& key, const std::filesystem::path& path) {
  return malformed(no_offset, "call script: the array ", quoted(key), " is not in ",
                   quoted(path.native()))
      .with_reason("CALL_SCRIPT");
}

// Reads the arrays that the script uses.
class ArraysReader {
 public:
  static Result<ArraysReader> open(std::filesystem::path path) {
    GANTRY_TRY(auto mapped, MappedFile::open(path.string()));
    const auto bytes = mapped->bytes();
    // Deflate compresses a megabyte of zeros to a kilobyte.
    NpzLimits limits;
    limits.bytes = (std::uint64_t{64} << 20) + 64 * bytes.size();
    GANTRY_TRY(ArrayFile file, ArrayFile::parse(bytes, limits));
    return ArraysReader(std::move(path), std::move(mapped), std::move(file));
  }

  // Does nothing if the array was read before.
  Status read(const std::string& key, CallScript& script) const {
    if (script.arrays.contains(key)) return {};
    const auto index = file_.find(key);
    if (!index.ok()) return missing_array(key, path_);
    GANTRY_TRY(const ArrayHeader header, file_.header(*index));
    ScriptArray array{without_uint1(header.dtype), {header.shape.begin(), header.shape.end()}, {}};
    array.bytes.resize(header.data_bytes);
    GANTRY_CHECK(file_.read_data(*index, header, array.bytes));
    script.arrays.emplace(key, std::move(array));
    return {};
  }

 private:
  ArraysReader(std::filesystem::path path, std::shared_ptr<const MappedFile> mapped, ArrayFile file)
      : path_(std::move(path)), mapped_(std::move(mapped)), file_(std::move(file)) {}

  std::filesystem::path path_;
  std::shared_ptr<const MappedFile> mapped_;
  ArrayFile file_;
};

std::string script_type_text(gantry_dtype dtype, std::span<const std::int64_t> shape) {
  return concat(script_dtype_text(dtype), "[", join(shape), "]");
}

Status check_array(const TensorScriptValue& tensor, const ScriptArray& array) {
  if (tensor.shape == array.shape && same_dtype(stored_dtype(tensor.dtype), array.dtype)) return {};
  return malformed(no_offset, "call script: the array ", quoted(tensor.key), " is ",
                   script_type_text(array.dtype, array.shape), ", expected ",
                   script_type_text(stored_dtype(tensor.dtype), tensor.shape), " for a tensor of ",
                   script_dtype_text(tensor.dtype))
      .with_reason("CALL_SCRIPT");
}

Status read_arrays(const std::filesystem::path& path, CallScript& script) {
  bool uses_arrays = !script.params.empty();
  GANTRY_CHECK(for_each_tensor(script, [&](const TensorScriptValue&) -> Status {
    uses_arrays = true;
    return {};
  }));
  if (!uses_arrays) return {};
  GANTRY_TRY(const ArraysReader reader, ArraysReader::open(path));
  for (const std::string& name : script.params) GANTRY_CHECK(reader.read(param_key(name), script));
  return for_each_tensor(script, [&](const TensorScriptValue& tensor) -> Status {
    GANTRY_CHECK(reader.read(tensor.key, script));
    return check_array(tensor, script.arrays.at(tensor.key));
  });
}

std::filesystem::path calls_path(const CallScript& script) {
  if (script.expected_from.empty()) return script.path;
  return script.path.parent_path() / (script.expected_from + ".json");
}

void write(const ScriptValue& value, JsonWriter& json);

// Writes the members of a value.
struct WriteValue {
  JsonWriter& json;

  void operator()(NoneScriptValue) const { json.field("t", "none"); }
  void operator()(AnyScriptValue) const { json.field("t", "any"); }
  void operator()(ParamsScriptValue) const { json.field("t", "params"); }
  void operator()(std::int64_t number) const {
    json.field("t", "int");
    json.field("v", number);
  }
  void operator()(double number) const {
    json.field("t", "float");
    if (std::isnan(number)) return json.field("v", "nan");
    if (std::isinf(number)) return json.field("v", number < 0 ? "-inf" : "inf");
    json.field("v", number);
  }
  void operator()(bool truth) const {
    json.field("t", "bool");
    json.field("v", truth);
  }
  void operator()(const std::string& text) const {
    json.field("t", "str");
    json.field("v", text);
  }
  void operator()(const DirectoryScriptValue& directory) const {
    json.field("t", "str");
    json.field("dir", directory.name);
  }
  void operator()(const ShapeScriptValue& shape) const {
    json.field("t", "shape");
    json.field("v", shape.extents);
  }
  void operator()(const TensorScriptValue& tensor) const {
    json.field("t", "tensor");
    json.field("key", tensor.key);
    json.field("dtype", script_dtype_text(tensor.dtype));
    json.field("shape", tensor.shape);
  }
  void operator()(const TupleScriptValue& tuple) const {
    json.field("t", "tuple");
    json.begin_list("v");
    for (const ScriptValue& item : tuple.items) write(item, json);
    json.end();
  }
  void operator()(const RefScriptValue& ref) const {
    json.field("t", "ref");
    json.field("call", ref.call);
    json.field("path", ref.path);
  }
  void operator()(const ObjectScriptValue& object) const {
    json.field("t", "object");
    if (!object.type.empty()) json.field("type", object.type);
  }
};

void write(const ScriptValue& value, JsonWriter& json) {
  json.begin_object();
  std::visit(WriteValue{json}, value.content);
  json.end();
}

void write(const ScriptCall& call, JsonWriter& json) {
  json.begin_object();
  json.field("func", call.function);
  if (call.is_global) json.field("global", true);
  json.begin_list("args");
  for (const ScriptValue& arg : call.args) write(arg, json);
  json.end();
  if (call.result) {
    json.key("ret");
    write(*call.result, json);
  }
  if (call.error) {
    json.begin_object("error");
    if (call.error->kind.empty()) {
      json.field("any", true);
    } else {
      json.field("kind", call.error->kind);
      json.field("message", call.error->message);
    }
    json.end();
  }
  if (!call.after.empty()) {
    json.begin_object("after");
    for (const auto& [index, arg] : call.after) {
      json.key(std::to_string(index));
      write(arg, json);
    }
    json.end();
  }
  if (!call.note.empty()) json.field("note", call.note);
  json.end();
}

}  // namespace

gantry_dtype stored_dtype(gantry_dtype dtype) {
  switch (static_cast<TypeCode>(dtype.code)) {
    case TypeCode::int_:
    case TypeCode::uint:
    case TypeCode::float_:
    case TypeCode::complex:
    case TypeCode::bool_:
      return dtype;
    default:
      return {static_cast<std::uint8_t>(TypeCode::uint), dtype.bits, 1};
  }
}

std::string script_dtype_text(gantry_dtype dtype) {
  const bool is_bool = dtype.code == static_cast<std::uint8_t>(TypeCode::bool_) && dtype.lanes == 1;
  return is_bool ? "bool" : dtype_text(dtype);
}

Result<CallScript> read_call_script(const std::filesystem::path& path) {
  GANTRY_TRY(CallScript script, read_json(path));
  script.path = path;
  const std::filesystem::path from = calls_path(script);
  if (script.calls.empty()) {
    GANTRY_TRY(CallScript expected, read_json(from));
    if (expected.calls.empty()) {
      return malformed(no_offset, "call script: ", quoted(from.native()), ", which ",
                       quoted(path.native()), " names as expected_from, has no calls")
          .with_reason("CALL_SCRIPT");
    }
    script.calls = std::move(expected.calls);
    script.params = std::move(expected.params);
  } else {
    script.expected_from.clear();
  }
  const std::filesystem::path arrays = with_suffix(calls_path(script), ".npz");
  if (Status read = read_arrays(arrays, script); !read.ok())
    return std::move(read).error().at("while reading ", quoted(arrays.native()));
  return script;
}

std::vector<std::filesystem::path> files_of(const CallScript& script) {
  const std::filesystem::path calls = calls_path(script);
  return {script.path, calls, with_suffix(calls, ".npz")};
}

std::string call_script_text(const CallScript& script) {
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; },
                  {.lines = true, .ends_line = true});
  json.begin_object();
  if (!script.file.empty()) json.field("file", script.file);
  json.field("kind", script.kind == CallScript::Kind::tir ? "tir" : "relax");
  if (!script.note.empty()) json.field("note", script.note);
  if (!script.params.empty()) json.field("params", script.params);
  json.begin_list("calls");
  for (const ScriptCall& call : script.calls) write(call, json);
  json.end();
  json.end();
  return text;
}

}  // namespace gantry::cli
