// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/declarations.hpp"

#include "tools/gantry/common/isolated_calls.hpp"
#include "tools/gantry/common/isolated_outcome.hpp"

#include "core/base/text.hpp"
#include "core/engine/embed/objects.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/formats/function_symbol.hpp"
#include "core/formats/inspect/report.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/concat.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <utility>

namespace gantry::cli {
namespace {

constexpr std::chrono::minutes max_declaration_time{2};
// Of a function in the results: name, signature, doc string, problem.
constexpr std::size_t declaration_fields = 4;

// Returns what a function without parameters returns: a text. Its NUL bytes, which end a result, become
// U+FFFD.
Result<std::string> returned_text(const Module& module, const std::string& name) {
  GANTRY_TRY(const Function function, module.function(name));
  GANTRY_TRY(const Any value, function());
  GANTRY_TRY(std::string text, value.text());
  if (text.size() > max_declaration_bytes)
    return malformed(max_declaration_bytes, "text has ", text.size(), " bytes, maximum is ",
                     max_declaration_bytes);
  constexpr std::string_view replacement = "\xef\xbf\xbd";
  for (std::size_t at = text.find('\0'); at != text.npos; at = text.find('\0', at))
    text.replace(at, 1, replacement);
  return text;
}

FunctionDeclaration declaration_of(const Module& module, const DeclaredFunction& function) {
  FunctionDeclaration declaration{.name = std::string(function.name)};
  const auto read_into = [&](std::string& to, std::string_view what, auto read) {
    Result<std::string> text = read();
    if (text.ok()) {
      to = *std::move(text);
      return;
    }
    if (!declaration.problem.empty()) declaration.problem += "; ";
    declaration.problem += concat(what, " not known: ", first_line(text.error().message.text()));
  };
  if (function.has_metadata) {
    read_into(declaration.signature, "signature", [&]() -> Result<std::string> {
      GANTRY_TRY(const std::string metadata,
                 returned_text(module, concat(metadata_prefix, function.name)));
      return signature_text(function.name, metadata);
    });
  }
  if (function.has_doc) {
    read_into(declaration.doc, "doc string",
              [&] { return returned_text(module, concat(doc_prefix, function.name)); });
  }
  return declaration;
}

Status declare_all(const Runtime& runtime, const std::string& file,
                   std::vector<std::string>& results) {
  const auto find_layouts = [&]() -> Result<const PayloadLayouts*> {
    return &state_of(runtime.get())->layouts;
  };
  GANTRY_TRY(const InspectReport report, inspect_file(file, {.find_layouts = find_layouts}));
  GANTRY_TRY(const Module module, runtime.load(file, {.allow_missing = true}));
  std::size_t bytes = 0;
  for (const DeclaredFunction& function : report.declared) {
    const FunctionDeclaration each = declaration_of(module, function);
    const std::string fields[declaration_fields] = {each.name, each.signature, each.doc,
                                                    each.problem};
    std::size_t more = 0;
    for (const std::string& field : fields) more += field.size() + 1;
    if (more > max_declarations_bytes - bytes) continue;
    bytes += more;
    results.insert(results.end(), std::begin(fields), std::end(fields));
  }
  return {};
}

}  // namespace

Result<IsolatedCall> declare_isolated(const IsolatedCommand& command, const Runtime& runtime) {
  return [&command, runtime](std::size_t) {
    IsolatedOutcome outcome;
    outcome.status = guard([&] { return declare_all(runtime, command.file, outcome.results); });
    return text_of(outcome);
  };
}

Result<std::vector<FunctionDeclaration>> read_declarations(const std::string& file,
                                                           const Globals& globals) {
  const auto failed = [](Error error) {
    return error.at("required by --signatures, which runs code of the file");
  };
  const IsolatedCommand command{.work = "declarations", .globals = globals, .file = file};
  GANTRY_TRY(const ProgramStart program, start_of(command));
  GANTRY_TRY(const IsolatedAnswer answer,
             call_isolated(program, max_declaration_time, "the code of the file"));
  // Standard output has the report.
  std::fwrite(answer.printed.data(), 1, answer.printed.size(), stderr);
  if (answer.failure) return failed(Error(Code::unavailable, answer.failure->text));
  IsolatedOutcome outcome = read_outcome(answer.answer);
  if (!outcome.status.ok()) return failed(outcome.status.error());
  std::vector<std::string>& fields = outcome.results;
  std::vector<FunctionDeclaration> all;
  for (std::size_t at = 0; at + declaration_fields <= fields.size(); at += declaration_fields) {
    all.push_back({.name = std::move(fields[at]),
                   .signature = std::move(fields[at + 1]),
                   .doc = std::move(fields[at + 2]),
                   .problem = std::move(fields[at + 3])});
  }
  return all;
}

}  // namespace gantry::cli
