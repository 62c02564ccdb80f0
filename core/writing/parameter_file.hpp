// SPDX-License-Identifier: Apache-2.0
//
// Finds the arrays of a recipe in their files and describes them. Their data stay in the files.
#pragma once

#include "core/writing/graph_payload.hpp"
#include "core/writing/recipe.hpp"

#include <map>

namespace gantry {

// Opens each file once, also for several parameters.
class ParameterFiles {
 public:
  // returns  not_found    no such file, or no such member: then with the names of the members
  //          malformed    the file is damaged, or is none of .npy, .npz, .params
  //          invalid      the array does not have the type that the recipe requires, or is to be
  //                       transposed and is not a matrix
  // costs    reads headers. A compressed member is inflated when it is written, 1 MiB at once; an
  //          array that is transposed is then in memory
  Result<Parameter> find(const ParameterSource& source);

  // Returns a source for each array of a file, by its name.
  //
  // returns  invalid  the file is an .npy file, whose array has no name
  //          others   as find()
  Result<std::vector<ParameterSource>> all_of(const ParameterSource& source);

 private:
  struct File;
  Result<std::shared_ptr<const File>> open(const std::filesystem::path& path);
  static Result<Parameter> find_member(const std::shared_ptr<const File>& file,
                                       const std::string& member);

  std::map<std::filesystem::path, std::shared_ptr<const File>> files_;
};

}  // namespace gantry
