// SPDX-License-Identifier: Apache-2.0
//
// What a file says about itself as an artifact, read from its bytes: nothing of it is executed.
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
  // what views in the others point into
  std::shared_ptr<const MappedFile> file;
  ElfFile elf;
  Container container;
};

// returns  what opening the file says; malformed, unsupported as its readers find
Result<Artifact> read_artifact(const std::string& path, const PayloadLayouts& layouts);

// The names of the models in it, each once, in the order of its modules: a model's module calls the function that makes
// an executor of it by this name.
std::vector<std::string> model_names(const Artifact& artifact, const PayloadLayouts& layouts);

}  // namespace gantry::cli
