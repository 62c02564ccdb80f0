// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/scratch.hpp"

#include "tools/conformance/case.hpp"

#include "core/base/temp_directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

namespace gantry::kit {

namespace fs = std::filesystem;

Result<Scratch> Scratch::create() {
  std::string name = (fs::temp_directory_path() / "gantry-conformance.XXXXXX").string();
  if (!TempDirectory::is_safe_beside(name)) {
    return unavailable("another user can change the path of ", name,
                       "; set the variable TMPDIR to a directory that no other user can change");
  }
  if (::mkdtemp(name.data()) == nullptr)
    return unavailable("cannot create ", name, ": ", std::strerror(errno));
  return Scratch(std::move(name));
}

Scratch::~Scratch() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Status Scratch::copy_from(const fs::path& directory) const {
  std::error_code failed;
  fs::copy(directory, path_, fs::copy_options::recursive | fs::copy_options::copy_symlinks, failed);
  if (failed) return not_run("cannot copy ", directory.string(), ": ", failed.message());
  return {};
}

}  // namespace gantry::kit
