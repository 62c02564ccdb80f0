// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

#include "api.hpp"

namespace gantry::python {

// Returns the characters of a str.
//
// lifetime that of the object
// throws   TypeError; UnicodeEncodeError: it has surrogates
std::string_view text_in(nanobind::handle str);

// Returns the bytes of a path. A surrogate escape is a byte that is not UTF-8.
//
// throws   TypeError; ValueError: it has a null character; UnicodeEncodeError: it has other surrogates
std::string path_in(nanobind::handle str);

inline nanobind::str str_of(std::string_view text) {
  return nanobind::str(text.data(), text.size());
}

// A list of texts as the C API reads it.
class Texts {
 public:
  // texts    [in]   a sequence of str, or None
  explicit Texts(const nanobind::object& texts);
  // paths    [in]   the same, of paths
  static Texts of_paths(const nanobind::object& paths);

  const gantry_bytes* data() const { return bytes_.empty() ? nullptr : bytes_.data(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(bytes_.size()); }

 private:
  Texts() = default;
  void add_bytes();

  std::vector<std::string> texts_;
  std::vector<gantry_bytes> bytes_;
};

}  // namespace gantry::python
