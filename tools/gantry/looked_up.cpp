// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/looked_up.hpp"

#include "tools/gantry/common/detail_text.hpp"
#include "tools/gantry/common/escape.hpp"

#include "core/base/text.hpp"

#include <gantry/function_advice.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gantry::cli {

void write_unavailable(std::span<const RequiredFunction> functions, const Terminal& terminal,
                       const TextSink& sink) {
  std::map<std::pair<std::string_view, std::string_view>, std::vector<std::string>> by_advice;
  for (const RequiredFunction& function : functions) {
    if (!function.served_by.empty()) continue;
    const FunctionAdvice advice = advice_for_function(function.name);
    by_advice[{advice.what, advice.remedy}].push_back(escaped(function.name));
  }
  for (const auto& [advice, names] : by_advice) {
    sink(concat("  ", terminal.paint("NOT AVAILABLE", Tone::bad), " (", names.size(), ")\n"));
    write_list(names, 4, 4, sink);
    sink(text_line("    each is ", advice.first));
    sink(text_line("    advice: ", advice.second));
  }
}

void write_available(std::span<const RequiredFunction> functions, const TextSink& sink) {
  std::map<std::string_view, std::vector<std::string>> by_server;
  for (const RequiredFunction& function : functions) {
    if (!function.served_by.empty())
      by_server[function.served_by].push_back(escaped(function.name));
  }
  for (const auto& [server, names] : by_server) {
    sink(text_line("  of ", server == "artifact" ? "the file itself" : escaped(server), " (",
                   names.size(), ")"));
    write_list(names, 4, 4, sink);
  }
}

}  // namespace gantry::cli
