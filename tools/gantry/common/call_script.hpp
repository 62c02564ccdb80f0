// SPDX-License-Identifier: Apache-2.0
//
// Call scripts: calls in order, their arguments, and the results and errors that they must have.
// tools/gantry/SCRIPT.md defines the format.
//
//     X.json -> CallScript::calls   X.npz -> CallScript::arrays
#pragma once

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gantry::cli {

struct ScriptValue;

// A result that is not compared.
struct AnyScriptValue {};
struct NoneScriptValue {};
// An object that only the artifact's functions can read.
struct ObjectScriptValue {
  // may be empty; not compared
  std::string type;
};
struct ShapeScriptValue {
  std::vector<std::int64_t> extents;
};
struct TensorScriptValue {
  // name in CallScript::arrays
  std::string key;
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
};
struct TupleScriptValue {
  std::vector<ScriptValue> items;
};
// The result of an earlier call, or an item of it.
struct RefScriptValue {
  std::size_t call = 0;
  // indices of items, outermost first
  std::vector<std::size_t> path;
};
// The tuple of all tensors that CallScript::params names.
struct ParamsScriptValue {};
// A path relative to the directory of the script.
struct DirectoryScriptValue {
  std::string name;
};

struct ScriptValue {
  std::variant<NoneScriptValue, std::int64_t, double, bool, std::string, DirectoryScriptValue,
               ShapeScriptValue, TensorScriptValue, TupleScriptValue, RefScriptValue,
               ParamsScriptValue, ObjectScriptValue, AnyScriptValue>
      content;
};

struct ScriptError {
  // "ValueError"; empty: any
  std::string kind;
  std::string message;
};

struct ScriptCall {
  std::string function;
  // a function of the runtime; otherwise one of the model
  bool is_global = false;
  std::vector<ScriptValue> args;
  // at most one of them; none: the call is not recorded
  std::optional<ScriptValue> result;
  std::optional<ScriptError> error;
  // arguments after the call, by position
  std::map<std::size_t, ScriptValue> after;
  std::string note;

  bool is_recorded() const { return result.has_value() || error.has_value(); }
};

// An array of the .npz file, in the type that NumPy stores.
struct ScriptArray {
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;
};

struct CallScript {
  // The functions belong to a virtual machine, or to the library itself.
  enum class Kind { relax, tir };

  Kind kind = Kind::relax;
  // the artifact, relative to the directory of the script; may be empty
  std::string file;
  std::string note;
  // the script that has the calls; empty: this one
  std::string expected_from;
  // names of the tensors "param.<name>"
  std::vector<std::string> params;
  std::vector<ScriptCall> calls;
  std::map<std::string, ScriptArray> arrays;
  std::filesystem::path path;
};

// The name of a parameter in CallScript::arrays.
inline std::string param_key(std::string_view name) { return "param." + std::string(name); }

// The type in which an .npz file stores tensors of a type: unsigned integers for types that NumPy
// lacks.
gantry_dtype stored_dtype(gantry_dtype dtype);
// The name of a type in scripts, where a boolean is "bool".
std::string script_dtype_text(gantry_dtype dtype);

// Parses a script without its arrays.
//
// returns  malformed, reason CALL_SCRIPT: the field, what was found and what is expected
Result<CallScript> parse_call_script(std::string_view json);

// Reads a script, the calls of its `expected_from` and the arrays that they use, which are in the
// .npz file beside the .json file that has the calls.
//
// returns  as parse_call_script(); malformed, reason CALL_SCRIPT: an array is missing or differs in
//          shape or type; the error of a file
Result<CallScript> read_call_script(const std::filesystem::path& path);

// The files that read_call_script() reads, if they exist.
std::vector<std::filesystem::path> files_of(const CallScript& script);

// Returns the JSON text of a script, without its arrays and `expected_from`.
std::string call_script_text(const CallScript& script);

}  // namespace gantry::cli
