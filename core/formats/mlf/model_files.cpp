// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mlf/model_files.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <map>
#include <span>

namespace gantry {
namespace {

constexpr std::string_view object_directory = "codegen/host/lib/";
constexpr std::string_view source_directory = "codegen/host/src/";
constexpr std::string_view object_suffixes[] = {"o"};
constexpr std::string_view source_suffixes[] = {"c", "cc", "cpp"};

// Returns the members <directory><prefix><n>.<suffix> by ascending n, of each n the first.
std::vector<std::string> numbered(const TarFiles& files, std::string_view directory,
                                  const std::string& prefix,
                                  std::span<const std::string_view> suffixes,
                                  std::vector<MlfRepeatedNumber>& repeated) {
  std::map<std::uint64_t, std::string> found;
  const std::string start = concat(directory, prefix);
  for (const std::string_view name : files.names_below(start)) {
    const std::string_view rest = name.substr(start.size());
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const auto number = parse_number<std::uint64_t>(rest.substr(0, dot));
    const bool is_known =
        dot < rest.size() && std::ranges::find(suffixes, rest.substr(dot + 1)) != suffixes.end();
    if (!number || !is_known) continue;
    const auto [first, is_new] = found.emplace(*number, name);
    if (!is_new) repeated.push_back({std::string(name), first->second});
  }
  std::vector<std::string> names;
  for (auto& [number, name] : found) names.push_back(std::move(name));
  return names;
}

}  // namespace

std::string graph_member(std::string_view model, std::uint64_t version) {
  if (version <= 4) return "runtime-config/graph/graph.json";
  if (version <= 6) return "executor-config/graph/graph.json";
  return concat("executor-config/graph/", model, ".graph");
}

std::string parameters_member(std::string_view model) {
  return concat("parameters/", model, ".params");
}

std::string relay_member(std::string_view model, std::uint64_t version) {
  if (version <= 3) return "relay.txt";
  if (version <= 6) return "src/relay.txt";
  return concat("src/", model, ".relay");
}

std::string code_member(std::string_view member, std::string_view model) {
  const std::size_t slash = member.rfind('/') + 1;
  // The last "lib": a model's name may contain another, what follows it is a number and a suffix.
  return concat(member.substr(0, slash), model, "_", member.substr(member.rfind("lib")));
}

MlfModelFiles files_of(const MlfModel& model, std::uint64_t version, const TarFiles& files) {
  MlfModelFiles found;
  const bool has_plain_names = version <= 2 || model.is_operator();
  const std::string prefix = has_plain_names ? "lib" : concat(model.name, "_lib");
  found.objects = numbered(files, object_directory, prefix, object_suffixes, found.repeated);
  found.sources = numbered(files, source_directory, prefix, source_suffixes, found.repeated);
  if (model.is_operator()) return found;
  if (model.has_executor("graph")) found.graph = graph_member(model.name, version);
  found.parameters = parameters_member(model.name);
  found.relay = relay_member(model.name, version);
  return found;
}

bool is_model_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, [](char c) {
    return is_identifier_character(c) || c == '-' || c == '.';
  });
}

}  // namespace gantry
