// SPDX-License-Identifier: Apache-2.0
//
// Checks the version tables of a shared library: DT_VERSYM, DT_VERNEED and DT_VERDEF. The system's
// linker follows their chains to the record without a successor, whatever their counts are.
#pragma once

#include "core/formats/elf/elf_file.hpp"

#include <gantry/result.hpp>

namespace gantry {

// Checks that
// - the chains go forward and their records are inside the file parts of segments
// - their names are in the string table, and each required file is among the needed libraries
// - DT_VERSYM has an index of a version for each symbol
//
// returns  malformed, at the record
// costs    O(size of the tables + needed libraries * log(needed libraries))
Status check_versions(const ElfFile& elf);

}  // namespace gantry
