// SPDX-License-Identifier: Apache-2.0
//
// A directory of this process, removed with the scope.
#pragma once

#include <gantry/result.hpp>

#include <filesystem>
#include <utility>

namespace gantry::kit {

class Scratch {
 public:
  static Result<Scratch> create();
  Scratch(Scratch&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch();

  const std::filesystem::path& path() const { return path_; }
  // Copies the content of a directory.
  //
  // returns  not_run() if it cannot be copied
  Status copy_from(const std::filesystem::path& directory) const;

 private:
  explicit Scratch(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace gantry::kit
