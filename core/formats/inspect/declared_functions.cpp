// SPDX-License-Identifier: Apache-2.0
#include "core/formats/inspect/declared_functions.hpp"

#include "core/formats/function_symbol.hpp"

#include <gantry/concat.hpp>
#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace gantry {
namespace {

struct SchemaName {
  std::string_view key, name;
};

// Those of tvm-ffi's Python package. Other keys are shown as they are.
constexpr SchemaName schema_names[] = {
    {"DLTensor*", "Tensor"},     {"DataType", "dtype"},         {"ObjectRValueRef", "Object"},
    {"Tuple", "tuple"},          {"TVMFFIByteArray*", "bytes"}, {"Variant", "Union"},
    {"const char*", "str"},      {"ffi.Array", "Array"},        {"ffi.BigInt", "int"},
    {"ffi.Bytes", "bytes"},      {"ffi.Dict", "Dict"},          {"ffi.List", "List"},
    {"ffi.Map", "Map"},          {"ffi.Object", "Object"},      {"ffi.OpaquePyObject", "Any"},
    {"ffi.SmallBytes", "bytes"}, {"ffi.SmallStr", "str"},       {"ffi.String", "str"},
    {"ffi.Tensor", "Tensor"},    {"std::map", "Map"},           {"std::optional", "Optional"},
    {"std::string", "str"},      {"std::tuple", "tuple"},       {"std::unordered_map", "Map"},
    {"std::variant", "Union"},   {"std::vector", "Array"},      {"void*", "ctypes.c_void_p"}};

std::string_view schema_name(std::string_view key) {
  const auto* const known = std::ranges::find(schema_names, key, &SchemaName::key);
  return known != std::end(schema_names) ? known->name : key;
}

bool is_function_key(std::string_view key) {
  return key == "ffi.Function" || key == "std::function";
}

template <class... Parts>
Failure refuse_schema(JsonValue value, const Parts&... parts) {
  return malformed(value.offset(), "type schema: ", parts...).with_reason("JSON");
}

// The member of an object, which is a list.
Result<std::optional<JsonValue>> list_in(JsonValue object, std::string_view key) {
  const std::optional<JsonValue> list = object.find(key);
  if (list && !list->is(JsonKind::array))
    return refuse_schema(*list, quoted(key), " is ", name_of(list->kind()), ", expected a list");
  return list;
}

// The types of a function; nullopt: not stated.
struct SchemaCall {
  std::optional<JsonValue> result;
  std::optional<std::vector<JsonValue>> parameters;
};

std::vector<JsonValue> schema_items(JsonValue list) {
  std::vector<JsonValue> items;
  for (const JsonValue item : list) items.push_back(item);
  return items;
}

Result<SchemaCall> schema_call(JsonValue schema) {
  SchemaCall call;
  if (const auto named = schema.find("named_args")) {
    if (!named->is(JsonKind::object))
      return refuse_schema(*named, "\"named_args\" is ", name_of(named->kind()),
                           ", expected an object");
    GANTRY_TRY(const auto result, list_in(*named, "return"));
    GANTRY_TRY(const auto parameters, list_in(*named, "params"));
    if (result && result->size() != 1)
      return refuse_schema(*result, "\"return\" has ", result->size(), " types, expected 1");
    if (result) call.result = *result->begin();
    if (parameters) call.parameters = schema_items(*parameters);
    return call;
  }
  GANTRY_TRY(const auto list, list_in(schema, "args"));
  if (!list || list->size() == 0) return call;
  std::vector<JsonValue> types = schema_items(*list);
  call.result = types.front();
  types.erase(types.begin());
  // Of early releases: its parameters are a list.
  const bool is_std = schema.find("type")->text() == "std::function";
  if (is_std && types.size() == 1 && types.front().is(JsonKind::array))
    types = schema_items(types.front());
  call.parameters = std::move(types);
  return call;
}

// The recursion is bounded by the parser's maximum depth.
class SchemaText {
 public:
  // "add(int, int) -> int"
  Status write_function(std::string_view name, JsonValue schema) {
    GANTRY_TRY(const std::string_view key, key_of(schema));
    if (!is_function_key(key))
      return refuse_schema(schema, "type is ", quoted(key), ", expected a function");
    GANTRY_TRY(const SchemaCall call, schema_call(schema));
    text_ += name;
    text_ += '(';
    GANTRY_CHECK(write_parameters(call));
    text_ += ')';
    if (!call.result) return {};
    text_ += " -> ";
    return write_type(*call.result);
  }

  std::string take() { return std::move(text_); }

 private:
  static Result<std::string_view> key_of(JsonValue schema) {
    if (!schema.is(JsonKind::object))
      return refuse_schema(schema, "type is ", name_of(schema.kind()), ", expected an object");
    const std::optional<JsonValue> key = schema.find("type");
    if (!key) return refuse_schema(schema, "object has no \"type\"");
    if (!key->is(JsonKind::text) || key->text().empty())
      return refuse_schema(*key, "\"type\" is ",
                           key->is(JsonKind::text) ? "empty" : name_of(key->kind()),
                           ", expected a name");
    return key->text();
  }

  Status write_parameters(const SchemaCall& call) {
    if (call.parameters) return write_types(*call.parameters);
    text_ += "...";
    return {};
  }

  Status write_types(const std::vector<JsonValue>& types) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (i != 0) text_ += ", ";
      GANTRY_CHECK(write_type(types[i]));
    }
    return {};
  }

  Status write_type(JsonValue schema) {
    GANTRY_TRY(const std::string_view key, key_of(schema));
    if (is_function_key(key)) return write_callable(schema);
    text_ += schema_name(key);
    GANTRY_TRY(const auto list, list_in(schema, "args"));
    if (!list || list->size() == 0) return {};
    std::vector<JsonValue> types = schema_items(*list);
    std::string extent;
    if (key == "std::array" && types.back().is(JsonKind::count)) {
      extent = concat(types.size() > 1 ? ", " : "", types.back().count());
      types.pop_back();
    }
    text_ += '[';
    GANTRY_CHECK(write_types(types));
    text_ += extent + ']';
    return {};
  }

  Status write_callable(JsonValue schema) {
    GANTRY_TRY(const SchemaCall call, schema_call(schema));
    text_ += "Callable";
    if (!call.result && !call.parameters) return {};
    text_ += call.parameters ? "[[" : "[";
    GANTRY_CHECK(write_parameters(call));
    text_ += call.parameters ? "], " : ", ";
    if (call.result) {
      GANTRY_CHECK(write_type(*call.result));
    } else {
      text_ += "Any";
    }
    text_ += ']';
    return {};
  }

  std::string text_;
};

}  // namespace

std::vector<DeclaredFunction> declared_functions(const ElfFile& elf, const ExporterFacts& facts,
                                                 const std::vector<std::string_view>& functions) {
  std::vector<DeclaredFunction> all;
  for (const std::string_view name : functions) all.push_back({.name = name});
  for (const ElfSymbol& symbol : elf.symbols()) {
    const auto declaration = declaration_of_symbol(symbol.name, facts);
    if (!declaration || !symbol.exported() || symbol.type != SymbolType::function) continue;
    const auto found =
        std::ranges::lower_bound(all, declaration->function, {}, &DeclaredFunction::name);
    if (found == all.end() || found->name != declaration->function) continue;
    (declaration->is_doc ? found->has_doc : found->has_metadata) = true;
  }
  std::erase_if(all,
                [](const DeclaredFunction& each) { return !each.has_metadata && !each.has_doc; });
  return all;
}

Result<std::string> signature_text(std::string_view function, std::string_view metadata) {
  GANTRY_TRY(const JsonTree tree, JsonTree::parse(metadata, {.name = "metadata"}));
  const std::optional<JsonValue> schema = tree.root().find("type_schema");
  if (!schema)
    return malformed(tree.root().offset(), "metadata has no \"type_schema\"").with_reason("JSON");
  SchemaText text;
  if (!schema->is(JsonKind::text)) {
    GANTRY_CHECK(text.write_function(function, *schema));
    return text.take();
  }
  GANTRY_TRY(const JsonTree inner, JsonTree::parse(schema->text(), {.name = "type schema"}));
  GANTRY_CHECK(text.write_function(function, inner.root()));
  return text.take();
}

}  // namespace gantry
