// SPDX-License-Identifier: Apache-2.0
//
// The members of an archive that belong to one model. Their names depend on the version (MLF.md).
#pragma once

#include "core/formats/archive/tar_files.hpp"
#include "core/formats/mlf/metadata.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// A member with code whose number an earlier one has: "lib0.cc" beside "lib0.c".
struct MlfRepeatedNumber {
  std::string member, first;
};

// Names of members. A name that the version prescribes is set whether the member exists or not;
// empty: the model has no such member.
struct MlfModelFiles {
  std::string graph;
  std::string parameters;
  // text of the model before compilation
  std::string relay;
  // by ascending number; those that exist
  std::vector<std::string> objects, sources;
  // neither among objects nor sources
  std::vector<MlfRepeatedNumber> repeated;
};

MlfModelFiles files_of(const MlfModel& model, std::uint64_t version, const TarFiles& files);

// Returns names for members of a model that is written.
std::string graph_member(std::string_view model, std::uint64_t version);
std::string parameters_member(std::string_view model);
std::string relay_member(std::string_view model, std::uint64_t version);
// Returns the name from version 3 on of a member among objects or sources:
// "codegen/host/lib/lib0.o" -> "codegen/host/lib/m_lib0.o".
std::string code_member(std::string_view member, std::string_view model);

// True if the name can be part of a file name: ASCII letters, digits, '_', '-', '.'; not first '.'.
bool is_model_name(std::string_view name);

}  // namespace gantry
