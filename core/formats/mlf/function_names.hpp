// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/mlf/model_library.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Defined symbols of files; views of the archive's bytes.
struct MlfSymbols {
  std::set<std::string_view> names;
  // false: one of the files cannot be read
  bool is_readable = true;
};

// The functions of a model's code.
struct MlfFunctionNames {
  // NULL: the model has no such file. Models with the same files have the same symbols.
  const MlfSymbols *objects = nullptr, *library = nullptr;
  // false: the code is source text, or has device modules, which may define others
  bool is_complete = true;

  bool contains(std::string_view name) const;
  std::vector<std::string_view> all() const;
};

// Reads the symbols of each file of an archive once, although several models can name one file.
class MlfFunctions {
 public:
  // Both must outlive this object. Findings are objects and libraries that cannot be read.
  MlfFunctions(const ModelLibrary& archive, Findings& findings)
      : archive_(archive), findings_(findings) {}

  // The result views this object.
  MlfFunctionNames of(std::size_t model);

 private:
  void read(const ArchiveMember& member, bool is_library, MlfSymbols& symbols);

  const ModelLibrary& archive_;
  Findings& findings_;
  // By the first object: a model has all objects of a prefix, so the first one determines the others.
  std::map<std::string_view, MlfSymbols> objects_;
  // by name of the member
  std::map<std::string_view, MlfSymbols> libraries_;
};

}  // namespace gantry
