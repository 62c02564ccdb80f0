// SPDX-License-Identifier: Apache-2.0
//
// The functions that an artifact looks up by name when it runs, and which of them it has itself.
//
//     code of virtual machines   names in the payload
//     CPU code from LLVM         .tvm_func.<name>, local symbols of the cells that keep what was found
//     CPU code from C            leaves no names
#pragma once

#include "core/base/warning_list.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/inspect/report.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct RequiredFunction {
  // Unmodified bytes from the file: escape them.
  std::string name;
  // What has it: "artifact", for CPU code, kernels and sub-graphs of the file; else as
  // InspectOptions::offered_by; empty: nothing
  std::string served_by;
};

// Returns the names that CPU code states, in views of the file; sorted bytewise and unique.
//
// costs    O(symbols)
std::vector<std::string_view> functions_of_cells(const ElfFile& elf);

// Returns the functions that virtual machines and the CPU code of a file name: those that nothing has,
// then the others, sorted bytewise and unique. Functions that a program adds are not known.
//
// costs    parses code of virtual machines, and the tables of kernels
std::vector<RequiredFunction> required_functions(const InspectReport& report,
                                                 const ServedBy& offered_by);

// Writes the members of a function: name, served_by or null, and advice where it is null.
void write_required_function(const RequiredFunction& function, JsonWriter& json);

// True if CPU code of the file may look up functions whose names are not known.
bool has_unknown_look_ups(const InspectReport& report);

}  // namespace gantry
