// SPDX-License-Identifier: Apache-2.0
//
// What a validator reports about an archive: errors and warnings, each with a path.
//
//     error    metadata.json: modules.digits.target  is a string, expected a list
//     warning  parameters/digits.params              has 2 parameters that ...
#pragma once

#include <gantry/message.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

enum class FindingLevel : std::uint8_t { error, warning };

// "error", "warning".
constexpr std::string_view name_of(FindingLevel level) {
  return level == FindingLevel::error ? "error" : "warning";
}

struct Finding {
  FindingLevel level = FindingLevel::error;
  // a member of the archive, with the keys of a value in it
  std::string path;
  // one sentence without subject: the subject is the path
  Message text;
};

// Keeps the first 256 findings and the first error, and counts all: a hostile file can have a wrong key in each line.
class Findings {
 public:
  static constexpr std::size_t max_kept = 256;

  template <class... Parts>
  void error(std::string_view path, const Parts&... parts) {
    // the first error is always kept
    if (errors_++ == 0 || kept_.size() < max_kept) {
      add(FindingLevel::error, path, Message(parts...));
    }
  }
  template <class... Parts>
  void warning(std::string_view path, const Parts&... parts) {
    ++warnings_;
    if (kept_.size() < max_kept) add(FindingLevel::warning, path, Message(parts...));
  }

  // in the order of their detection
  const std::vector<Finding>& kept() const { return kept_; }
  std::size_t errors() const { return errors_; }
  std::size_t warnings() const { return warnings_; }
  // Returns the first error, or NULL.
  const Finding* first_error() const {
    for (const Finding& finding : kept_) {
      if (finding.level == FindingLevel::error) return &finding;
    }
    return nullptr;
  }

 private:
  void add(FindingLevel level, std::string_view path, Message text) {
    kept_.push_back({level, std::string(path), std::move(text)});
  }

  std::vector<Finding> kept_;
  std::size_t errors_ = 0, warnings_ = 0;
};

}  // namespace gantry
