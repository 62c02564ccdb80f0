// SPDX-License-Identifier: Apache-2.0
//
// A file of late-bound constants: a list of parameters (gantry/param_names.hpp).
#pragma once

#include "core/base/mapped_file.hpp"

#include <gantry/tensor.h>
#include <gantry/array_record.hpp>
#include <gantry/result.hpp>

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

struct LateBoundFile {
  // has the names and the data of the arrays
  std::shared_ptr<const MappedFile> file;
  // each with all bytes of its type and shape
  std::vector<std::pair<std::string_view, ArrayRecord>> arrays;
};

// returns  as MappedFile::open(); malformed: not a list of parameters, or an array with fewer bytes
//          than its type requires
Result<LateBoundFile> read_late_bound_file(const std::filesystem::path& path);

// Writes dense tensors in host memory. The file is replaced completely or not at all.
//
// returns  as AtomicFile
Status write_late_bound_file(
    const std::filesystem::path& path,
    std::span<const std::pair<std::string_view, const gantry_tensor*>> tensors);

}  // namespace gantry
