// SPDX-License-Identifier: Apache-2.0
//
// The description of a model that is compiled ahead of time, found in its library without running
// it.
#pragma once

#include "core/formats/aot_metadata.hpp"
#include "core/formats/container.hpp"
#include "core/formats/detail.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/elf/elf_loaded_memory.hpp"

#include <memory>
#include <optional>
#include <string_view>

namespace gantry {

struct AotReport {
  // Owns what the metadata view.
  LoadedMemory memory;
  // Absent: it is known when the library is loaded.
  std::optional<AotMetadata> metadata;
};

// returns  NULL if the container has no such model, or the library no description
// lifetime views the file
// costs    a copy of the library's writable segments
std::shared_ptr<const AotReport> inspect_aot(const ElfFile& elf, const Container& container);

// Appends inputs, outputs, pools and constants to the details of the factory.
void add_aot_details(const AotReport& report, Detail& details);

}  // namespace gantry
