// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/mlf/model_library.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// The functions of a model's code.
struct MlfFunctionNames {
  // defined symbols of its objects and its library; views of the archive's bytes
  std::set<std::string_view> defined;
  // false: the code is source text, or has device modules, which may define others
  bool is_complete = true;
};

// Reads the symbols of each file of an archive once, although several models can name one file.
class MlfFunctions {
 public:
  // Both must outlive this object. Findings are objects and libraries that cannot be read.
  MlfFunctions(const ModelLibrary& archive, Findings& findings)
      : archive_(archive), findings_(findings) {}

  MlfFunctionNames of(std::size_t model);

 private:
  struct Symbols {
    std::vector<std::string_view> names;
    bool is_readable = true;
  };
  const Symbols& symbols_of(const ArchiveMember& member, bool is_library);

  const ModelLibrary& archive_;
  Findings& findings_;
  // by name of the member
  std::map<std::string_view, Symbols> symbols_;
};

}  // namespace gantry
