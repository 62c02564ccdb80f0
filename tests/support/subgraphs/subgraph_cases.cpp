// SPDX-License-Identifier: Apache-2.0
#include "tests/support/subgraphs/subgraph_cases.hpp"

#include "core/formats/arrays/npz.hpp"
#include "tests/support/files.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace gantry::test {
namespace {

template <class T>
T required(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "operators.npz: %s\n", result.error().message.c_str());
  std::abort();
}

// "dnnl_json.conv2d.in0": key, case, array.
void add_member(SubgraphCase& to, std::string_view array, CaseArray value) {
  if (array == "json") {
    to.json.assign(value.bytes.begin(), value.bytes.end());
  } else if (array.starts_with("in")) {
    to.inputs.push_back(std::move(value));
  } else if (array.starts_with("const")) {
    to.constants.push_back(std::move(value));
  } else {
    to.outputs.push_back(std::move(value));
  }
}

std::vector<SubgraphCase> read_cases() {
  const auto bytes = read_file(golden("subgraphs/operators.npz"));
  const NpzReader reader = required(NpzReader::over(bytes));
  std::map<std::string, SubgraphCase> cases;
  for (const ZipMember& member : reader.members()) {
    const ArrayHeader header = required(reader.header(member));
    CaseArray value{header.dtype, header.shape, std::vector<std::uint8_t>(header.data_bytes)};
    if (!reader.read_data(member, header, value.bytes).ok()) std::abort();
    std::string_view name = member.name;
    name.remove_suffix(npz_suffix.size());
    const std::size_t dot = name.rfind('.');
    SubgraphCase& to = cases[std::string(name.substr(0, dot))];
    to.key = name.substr(0, name.find('.'));
    to.name = name.substr(to.key.size() + 1, dot - to.key.size() - 1);
    add_member(to, name.substr(dot + 1), std::move(value));
  }
  std::vector<SubgraphCase> all;
  for (auto& [name, each] : cases) all.push_back(std::move(each));
  return all;
}

}  // namespace

const std::vector<SubgraphCase>& subgraph_cases() {
  static const std::vector<SubgraphCase> cases = read_cases();
  return cases;
}

const SubgraphCase& subgraph_case(std::string_view key, std::string_view name) {
  const auto found = std::ranges::find_if(subgraph_cases(), [&](const SubgraphCase& each) {
    return each.key == key && each.name == name;
  });
  if (found == subgraph_cases().end()) std::abort();
  return *found;
}

}  // namespace gantry::test
