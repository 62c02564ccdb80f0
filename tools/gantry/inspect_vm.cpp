// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/inspect_vm.hpp"

#include "tools/gantry/common/detail_text.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/human.hpp"

#include "core/base/text.hpp"
#include "core/formats/type_key.hpp"
#include "core/formats/vm_details.hpp"

#include <gantry/join.hpp>
#include <gantry/utf8.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gantry::cli {
namespace {

std::int64_t number_in(const Detail& function, std::string_view field) {
  const Detail* const found = function.find(field);
  return found != nullptr ? parse_number<std::int64_t>(found->value).value_or(0) : 0;
}

// Functions of other modules or of the host, which the code of Relax lists among its own.
bool is_packed(const Detail& function) {
  return function.find("kind") != nullptr && number_in(function, "kind") == 0;
}
bool is_compiled(const Detail& function) { return number_in(function, "kind") == 2; }

// Writes a text that has parts between commas.
void write_divided(std::string_view text, std::size_t indent, std::size_t further,
                   const TextSink& sink) {
  std::vector<std::string> parts;
  for (std::size_t comma = text.find(", "); comma != std::string_view::npos;
       comma = text.find(", ")) {
    parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(comma + 2);
  }
  parts.emplace_back(text);
  write_list(parts, indent, further, sink);
}

void write_annotation(std::string_view name, std::size_t width, std::string_view type,
                      const TextSink& sink) {
  const std::string line = concat("      ", pad(std::string(name), width), "  ", escaped(type));
  const bool fits = count_characters(line) <= max_columns;
  sink(text_line(fits ? std::string_view(line) : first_characters(line, max_columns - 3),
                 fits ? "" : "..."));
}

// "main(x)  47 instructions", and a line for each annotation that the compiler left.
void write_function(const Detail& function, const TextSink& sink) {
  const Detail* const params = function.find("params");
  const Detail* const annotations = function.find("annotations");
  const Detail* const returns = function.find("returns");
  const std::int64_t count = number_in(function, "arguments");
  std::string list;
  if (params != nullptr && !params->children.empty()) {
    list = join(params->children, ", ", [](const Detail& each) { return escaped(each.value); });
  } else if (count != 0) {
    list = concat(count, count == 1 ? " parameter" : " parameters");
  }
  const std::int64_t size = number_in(function, "instructions") + number_in(function, "end") -
                            number_in(function, "start");
  write_divided(
      concat(escaped(function.name), "(", list, ")  ",
             is_compiled(function) ? std::string("compiled")
                                   : concat(size, size == 1 ? " instruction" : " instructions")),
      4, 8, sink);
  std::size_t width = returns != nullptr ? std::string_view("returns").size() : 0;
  if (annotations != nullptr) {
    for (const Detail& each : annotations->children)
      width = std::max(width, escaped(each.name).size());
    for (const Detail& each : annotations->children)
      write_annotation(escaped(each.name), width, each.value, sink);
  }
  if (returns != nullptr) write_annotation("returns", width, returns->value, sink);
}

// The functions that the code calls by name.
void write_calls(const std::vector<std::string>& names, const TextSink& sink) {
  if (names.empty()) return;
  sink(text_line("  calls (", names.size(), ")"));
  write_list(names, 4, 4, sink);
}

void write_functions(const Detail& functions, const TextSink& sink) {
  const auto own = std::ranges::count_if(functions.children, std::not_fn(is_packed));
  sink(text_line("  functions (", own, ")"));
  for (const Detail& function : functions.children) {
    if (!is_packed(function)) write_function(function, sink);
  }
  std::vector<std::string> packed;
  for (const Detail& function : functions.children) {
    if (is_packed(function)) packed.push_back(escaped(function.name));
  }
  write_calls(packed, sink);
}

// "constants  18, with 6 arrays of 8.1 KiB", without fillers
void write_count(const Detail& constants, const std::vector<bool>& is_filler,
                 const TextSink& sink) {
  std::size_t arrays = 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < constants.children.size(); ++i) {
    const Detail* const size = constants.children[i].find("size");
    if (size == nullptr || is_filler[i]) continue;
    ++arrays;
    bytes += parse_number<std::uint64_t>(size->value).value_or(0);
  }
  sink(text_line("  constants  ", std::ranges::count(is_filler, false),
                 arrays == 0 ? std::string()
                             : concat(", with ", arrays, arrays == 1 ? " array of " : " arrays of ",
                                      human_size(bytes))));
}

// Instructions name constants by their position.
std::string constant_name(std::string_view position) { return concat("c[", position, "]"); }

void write_constants(const Detail& constants, const std::vector<bool>& is_filler,
                     const TextSink& sink) {
  sink(text_line("  constants (", constants.children.size(), ")"));
  for (std::size_t i = 0; i < constants.children.size(); ++i) {
    write_divided(concat(constant_name(concat(i)), "  ", inline_text(constants.children[i]),
                         is_filler[i] ? ", filler" : ""),
                  4, 8, sink);
  }
}

void write_scopes(const Detail& scopes, const TextSink& sink) {
  sink(text_line("  scopes (", scopes.children.size(), ")"));
  for (const Detail& each : scopes.children) {
    const Detail* const constant = each.find("constant");
    const Detail* const scope = each.find("scope");
    if (constant == nullptr || scope == nullptr) continue;
    sink(text_line("    ", constant_name(constant->value), "  ", escaped(scope->value)));
  }
}

// Functions without code, "@f packed_func;", are left out.
void write_code(std::span<const std::string> lines, const TextSink& sink) {
  sink(text_line("  code"));
  for (const std::string& line : lines) {
    if (!line.ends_with(" packed_func;")) write_divided(line, 4, 12, sink);
  }
}

}  // namespace

std::vector<bool> fillers_of(const Detail& details) {
  std::vector<bool> is_filler;
  const Detail* const constants = details.find("constants");
  const Detail* const fillers = details.find("fillers");
  if (constants != nullptr) is_filler.resize(constants->children.size());
  if (fillers == nullptr) return is_filler;
  for (const Detail& each : fillers->children) {
    const auto index = parse_number<std::size_t>(each.value);
    if (index && *index < is_filler.size()) is_filler[*index] = true;
  }
  return is_filler;
}

bool is_executable(std::string_view type_key, const Detail& details) {
  const Detail* const functions = details.find("functions");
  return is_virtual_machine(type_key) && functions != nullptr &&
         std::ranges::all_of(functions->children, [](const Detail& function) {
           return function.find("kind") != nullptr || function.find("instructions") != nullptr;
         });
}

void write_executable(const Detail& details, const std::vector<std::string>* code,
                      const TextSink& sink) {
  const std::vector<bool> is_filler = fillers_of(details);
  for (const Detail& child : details.children) {
    if (child.name == "functions") {
      write_functions(child, sink);
    } else if (child.name == "constants") {
      code != nullptr ? write_constants(child, is_filler, sink)
                      : write_count(child, is_filler, sink);
    } else if (child.name == "fillers") {
      // shown with the constants
    } else if (child.name == "primitives") {
      std::vector<std::string> names;
      for (const Detail& each : child.children) names.push_back(escaped(each.value));
      write_calls(names, sink);
    } else if (child.name == "scopes") {
      if (!child.children.empty()) write_scopes(child, sink);
    } else {
      write_detail_text(child, 2, sink);
    }
  }
  if (code != nullptr) write_code(*code, sink);
}

}  // namespace gantry::cli
