// SPDX-License-Identifier: Apache-2.0
//
// Finds the arrays that a recipe names and describes them. Their data stay in the files.
#pragma once

#include "core/pack/graph_payload.hpp"
#include "core/pack/recipe.hpp"

#include <map>

namespace gantry {

// Opens each file once, for any number of parameters.
class ParameterFiles {
 public:
  // returns  not_found    no such file, or no such member; the text lists the members
  //          malformed    as ArrayFile
  //          invalid      the array has another type than the recipe requires, or is to be
  //                       transposed and is no matrix
  // costs    reads headers, and stored members of .npz files for their checksum. Compressed members
  //          are unpacked when they are written
  Result<Parameter> find(const ParameterSource& source);

 private:
  struct File;
  Result<std::shared_ptr<const File>> open(const std::filesystem::path& path);
  static Result<Parameter> find_member(const std::shared_ptr<const File>& file,
                                       const std::string& member);

  std::map<std::filesystem::path, std::shared_ptr<const File>> files_;
};

}  // namespace gantry
