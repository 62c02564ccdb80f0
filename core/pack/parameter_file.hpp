// SPDX-License-Identifier: Apache-2.0
//
// The arrays that a recipe names, found in their files and described; their data stay there.
#pragma once

#include "core/pack/graph_payload.hpp"
#include "core/pack/recipe.hpp"

#include <map>

namespace gantry {

// Opens each file once, however many parameters come from it.
class ParameterFiles {
 public:
  // returns  not_found    no such file, or no such member: then with those that there are
  //          malformed    the file's format is broken, or is none of .npy, .npz, .params
  //          invalid      the array is not of the type that the recipe wants, or is no matrix to be transposed
  // costs    reads headers; a compressed member is inflated once to be described and again to be written
  Result<Parameter> find(const ParameterSource& source);

 private:
  struct File;
  Result<const File*> open(const std::filesystem::path& path);

  std::map<std::filesystem::path, std::shared_ptr<const File>> files_;
};

}  // namespace gantry
