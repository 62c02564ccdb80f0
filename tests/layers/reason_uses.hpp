// SPDX-License-Identifier: Apache-2.0
//
// Finds the reasons of errors that a source in C or C++ names:
//
//     malformed(at, "no size").with_reason(is_short ? "BLOB_TRUNCATED" : "BLOB_SIZE")
//     gantry_fail(status, GANTRY_INVALID, "DEVICE", text)   functions with a parameter `reason`
//     error.reason != "ZERO_COPY", {.reason = "GRAPH"}
//     constexpr std::string_view reasons[] = {"SHAPE"}      lists with `reason` in their names
//     reason::abi_range                                     constants
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::layers {

// A reason that is a literal.
struct ReasonUse {
  std::string tag;
  // "MALFORMED": the code of the error, if a function of gantry/failure.hpp, gantry_fail() or a
  // Code:: states it; empty otherwise
  std::string code;
  // counts from 1
  int line;

  bool operator==(const ReasonUse&) const = default;
};

class SourceReasons {
 public:
  explicit SourceReasons(std::string_view source);

  // Returns the names of the functions and lambdas that it declares with a parameter `reason`.
  std::set<std::string> functions() const;
  // Returns the names of the constants: "abi_range" for reason::abi_range.
  std::set<std::string> constants() const;
  // Returns the literals in the order of the source.
  //
  // functions  [in]   of headers; those of the source itself are added
  std::vector<ReasonUse> uses(const std::set<std::string>& functions = {}) const;

 private:
  static constexpr std::size_t none = std::string_view::npos;

  // A literal of capitals, digits and underscores.
  struct Tag {
    std::size_t at;
    std::string text;
  };

  std::size_t blank(std::size_t from, std::size_t end);
  int line(std::size_t at) const;
  std::string_view before(std::size_t at) const;
  std::string_view word_before(std::size_t at) const;
  std::string_view owner(std::size_t bracket) const;
  std::vector<std::size_t> reason_words() const;
  bool is_compared_or_assigned(std::size_t at) const;
  std::string code_among_arguments(std::size_t bracket) const;
  std::string code_of_chain(std::size_t method) const;

  // with blanks for comments and for literals
  std::string text_;
  // of each character the innermost bracket that is open before it; of a closing bracket its own
  std::vector<std::size_t> openers_;
  std::vector<Tag> tags_;
};

}  // namespace gantry::layers
