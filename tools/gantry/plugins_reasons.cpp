// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_document.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/terminal.hpp"

#include "core/base/near_name.hpp"
#include "core/base/reason.hpp"
#include "core/base/text.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry::cli {
namespace {

struct ReasonsOptions {
  // all, if empty
  std::vector<std::string> codes;
  bool json = false;
};

constexpr std::string_view code_prefix = "GANTRY-";

std::string code_of(const Reason& reason) { return concat("D", reason.number); }

// True if `code` is D330, GANTRY-D330 or LIB_NEEDED_MISSING, in any case.
bool is_called(const Reason& reason, std::string_view code) {
  const std::string name = upper(code);
  return name == reason.tag || name == code_of(reason) ||
         name == concat(code_prefix, code_of(reason));
}

// Suggests codes for a word that looks like one, else tags.
Error unknown_reason(std::string_view word) {
  std::string name = upper(word);
  if (name.starts_with(code_prefix)) name.erase(0, code_prefix.size());
  const bool is_code = name.starts_with("D") && name.find_first_of("0123456789") == 1;
  std::vector<std::string> names;
  for (const CataloguedReason& one : all_reasons()) {
    names.push_back(is_code ? code_of(one.reason) : std::string(one.reason.tag));
  }
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const std::string near = did_you_mean(name, {names.begin(), names.end()});
  return not_found("reason ", quoted(word), " not found", near,
                   near.empty() ? "; gantry plugins reasons lists all" : "");
}

// The reasons of all codes, by number.
Result<std::vector<CataloguedReason>> chosen(const std::vector<std::string>& codes) {
  for (const std::string& code : codes) {
    const auto has_code = [&](const CataloguedReason& one) { return is_called(one.reason, code); };
    if (std::ranges::none_of(all_reasons(), has_code)) return unknown_reason(code);
  }
  std::vector<CataloguedReason> found;
  for (const CataloguedReason& one : all_reasons()) {
    const auto has_code = [&](std::string_view code) { return is_called(one.reason, code); };
    if (codes.empty() || std::ranges::any_of(codes, has_code)) found.push_back(one);
  }
  return found;
}

std::string reason_text(const CataloguedReason& one) {
  return text_line(name_of(one.reason)) + text_line("  ", one.meaning) +
         text_line("  what to do: ", one.remedy) +
         (one.page.empty() ? "" : text_line("  page: ", one.page));
}

void write_reason(const CataloguedReason& one, JsonWriter& json) {
  json.field("code", concat(code_prefix, code_of(one.reason)));
  json.field("number", one.reason.number);
  json.field("tag", one.reason.tag);
  json.field("meaning", one.meaning);
  json.field("what_to_do", one.remedy);
  if (!one.page.empty()) json.field("page", one.page);
}

Result<ExitStatus> print_reasons(const ReasonsOptions& options, const Globals&) {
  GANTRY_TRY(const std::vector<CataloguedReason> reasons, chosen(options.codes));
  if (options.json) {
    print(json_document(
        [&](JsonWriter& json) { write_objects("reasons", reasons, json, write_reason); }));
  } else {
    print(join(reasons, "\n", reason_text));
  }
  return kDone;
}

}  // namespace

void add_plugins_reasons(CLI::App& plugins, Invocation& invocation) {
  auto options = std::make_shared<ReasonsOptions>();
  CLI::App* command =
      plugins.add_subcommand("reasons", "explain the reasons why plugins are not used");
  command->add_option("CODE", options->codes,
                      "a reason: D330, GANTRY-D330 or LIB_NEEDED_MISSING; default: all");
  command->add_flag("--json", options->json, "print one JSON document");
  command->footer("Example:\n  gantry plugins reasons D330");
  set_action(*command, invocation, options, print_reasons);
}

}  // namespace gantry::cli
