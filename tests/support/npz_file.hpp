// SPDX-License-Identifier: Apache-2.0
//
// Writes an .npz file of a test.
#pragma once

#include "core/formats/arrays/npz_write.hpp"

namespace gantry::test {

inline Status write_npz(const std::filesystem::path& path, std::span<const NpzItem> items) {
  GANTRY_TRY(OutputFile file, OutputFile::open(path, {}));
  GANTRY_CHECK(gantry::write_npz(file, items));
  return file.commit();
}

}  // namespace gantry::test
