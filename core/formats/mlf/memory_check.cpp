// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mlf/memory_check.hpp"

#include "core/base/near_name.hpp"
#include "core/base/text.hpp"
#include "core/formats/mlf/memory_map.hpp"
#include "core/formats/mlf/metadata_fields.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {
namespace {

using Tensors = std::optional<std::vector<MlfTensor>>;

bool is_input_entry(const Graph& graph, std::uint32_t entry) {
  return std::ranges::any_of(
      graph.inputs, [&](std::uint32_t node) { return graph.nodes[node].first_entry == entry; });
}

// "float32 of 256 bytes", with the name of an input before it. A tensor's name is no part of the
// text of an output: TVM can name outputs in metadata.json only.
std::vector<std::string> texts_of(const Tensors& tensors, bool has_names) {
  std::vector<std::string> texts;
  for (const MlfTensor& tensor : tensors.value_or(std::vector<MlfTensor>())) {
    texts.push_back(concat(has_names ? concat(quoted(tensor.name), " ") : "", tensor.dtype, " of ",
                           tensor.size, " bytes"));
  }
  std::ranges::sort(texts);
  return texts;
}

// Compares one record with what the graph requires on its device.
class MainCheck {
 public:
  MainCheck(const MlfMain& listed, const MlfMain& required, std::string path, Findings& findings)
      : listed_(listed), required_(required), path_(std::move(path)), findings_(findings) {}

  void constants() const {
    compare("constants_size_bytes", listed_.constants_size_bytes, required_.constants_size_bytes);
  }
  void io() const { compare("io_size_bytes", listed_.io_size_bytes, required_.io_size_bytes); }
  // bytes    [in]   without what functions allocate
  void workspace(std::uint64_t bytes) const {
    if (listed_.workspace_size_bytes >= bytes) return;
    findings_.warning(metadata_path(path_, "workspace_size_bytes"), "is ",
                      listed_.workspace_size_bytes, ", the graph requires at least ", bytes);
  }
  void inputs() const { compare("inputs", listed_.inputs, required_.inputs, true); }
  void outputs() const { compare("outputs", listed_.outputs, required_.outputs, false); }

 private:
  void compare(std::string_view key, std::uint64_t listed, std::uint64_t required) const {
    if (listed == required) return;
    findings_.warning(metadata_path(path_, key), "is ", listed, ", the graph requires ", required);
  }
  void compare(std::string_view key, const Tensors& listed, const Tensors& required,
               bool has_names) const {
    if (!listed) return;
    const std::vector<std::string> found = texts_of(listed, has_names);
    const std::vector<std::string> expected = texts_of(required, has_names);
    if (found == expected) return;
    findings_.warning(metadata_path(path_, key), "has ", words(found), ", the graph requires ",
                      words(expected));
  }
  static std::string words(const std::vector<std::string>& texts) {
    return texts.empty() ? "none" : join(texts, ", ", std::identity(), max_listed_names);
  }

  const MlfMain& listed_;
  const MlfMain& required_;
  std::string path_;
  Findings& findings_;
};

}  // namespace

void check_main_memory(const MlfModel& model, const Graph& graph,
                       const std::set<std::string>& parameters, const std::string& path,
                       Findings& findings) {
  const std::vector<MlfMain> required = main_memory_of(graph, parameters);
  std::map<std::int64_t, std::size_t> listed;
  for (std::size_t i = 0; i < model.main.size(); ++i) {
    if (listed.try_emplace(model.main[i].device, i).second) continue;
    findings.warning(path, "has device ", model.main[i].device, " twice");
  }
  // A graph without devices can be for any one.
  const bool has_devices = std::ranges::any_of(
      graph.entries, [](const GraphEntry& entry) { return entry.device_number >= 0; });
  const bool has_one_device = required.size() == 1;
  const bool has_one_output =
      graph.heads.size() == 1 && !is_input_entry(graph, graph.heads.front().entry);
  const std::map<std::int64_t, std::uint64_t> workspaces = inner_memory_of(graph);
  for (const MlfMain& main : required) {
    auto found = listed.find(main.device);
    if (found == listed.end() && !has_devices && listed.size() == 1) found = listed.begin();
    if (found == listed.end()) {
      findings.warning(path, "has no device ", main.device, ", which the graph uses");
      continue;
    }
    const MlfMain& record = model.main[found->second];
    const MainCheck check(record, main, concat(path, "[", found->second, "]"), findings);
    const auto workspace = workspaces.find(main.device);
    check.workspace(workspace == workspaces.end() ? 0 : workspace->second);
    if (has_one_device) check.outputs();
    // Code that contains its parameters has inputs of which the archive does not show that they are
    // parameters.
    if (parameters.empty() && record.constants_size_bytes > 0) continue;
    // absent, which version 2 permits
    if (record.constants_size_bytes > 0) check.constants();
    if (has_one_output) check.io();
    if (has_one_device) check.inputs();
  }
}

}  // namespace gantry
