// SPDX-License-Identifier: Apache-2.0
//
// The files on which the verdict of a probe depends, identified without reading them.
#pragma once

#include "core/plugins/manifest/candidate.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gantry {

struct ProbedFile {
  // or the name of a library that is not found
  std::string path;
  // all 0 if there is no such file
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t modified_ns = 0;

  bool operator==(const ProbedFile&) const = default;
};

// costs    one system call
ProbedFile probed_file(std::string path);

// Returns the files of a plugin: manifest and drop-ins; its library and the libraries that it
// needs, directly or not; the driver libraries and files that it requires; the linker's cache.
//
// costs    one mapping of each library
std::vector<ProbedFile> probed_files(const Candidate& plugin);

// True if each file is as it was.
//
// costs    one system call for each
bool are_unchanged(const std::vector<ProbedFile>& files);

}  // namespace gantry
