// SPDX-License-Identifier: Apache-2.0
//
// What the text or JSON of a target states, before it is completed: parse_target() (target.hpp) does
// both.
#pragma once

#include "core/formats/target/target.hpp"

namespace gantry {

// A value and its offset in the target.
template <class T>
struct GivenPart {
  T value;
  std::uint64_t at = 0;
};

struct GivenOption {
  const TargetOption* option;
  TargetValue value;
  std::uint64_t at = 0;
};

struct GivenTarget {
  const TargetKind* kind = nullptr;
  std::optional<GivenPart<std::string>> tag;
  std::optional<GivenPart<std::vector<std::string>>> keys;
  // none or one, which has none
  std::vector<GivenTarget> host;
  std::vector<GivenOption> options;

  bool has(std::string_view option) const;
};

// at       [in]   offset of the text in the whole target, for errors
// is_host  [in]   it is the host of another target, so it must not have one
Result<GivenTarget> read_target_text(std::string_view text, std::uint64_t at, bool is_host,
                                     const TargetKinds& kinds);
Result<GivenTarget> read_target_json(std::string_view text, const TargetKinds& kinds);

// Finds the kind of a name or of a tag, which is then stored in `given`.
Status set_target_kind(std::string_view name, std::uint64_t at, const TargetKinds& kinds,
                       GivenTarget& given);

// Finds an option of the kind.
//
// returns  MALFORMED  unknown, with similar names and the list
Result<const TargetOption*> find_target_option(const TargetKind& kind, std::string_view name,
                                               std::uint64_t at);

}  // namespace gantry
