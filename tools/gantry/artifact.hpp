// SPDX-License-Identifier: Apache-2.0
//
// An artifact as its bytes describe it; nothing in the file is executed.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/elf/elf_file.hpp"
#include "core/format/container.hpp"
#include "core/format/payload_layout.hpp"

#include <gantry/result.hpp>

#include <memory>
#include <string>
#include <vector>

namespace gantry::cli {

struct Artifact {
  // owns the bytes that `elf` and `container` refer to
  std::shared_ptr<const MappedFile> file;
  ElfFile elf;
  Container container;
};

// Reads a shared library and its container.
//
// returns  errors of opening the file; malformed or unsupported from the ELF and container readers
Result<Artifact> read_artifact(const std::string& path, const PayloadLayouts& layouts);

// The names of the models in the artifact, without duplicates, in module order. The name of a model
// is also the name of the function that creates its executors.
std::vector<std::string> model_names(const Artifact& artifact, const PayloadLayouts& layouts);

}  // namespace gantry::cli
