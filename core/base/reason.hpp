// SPDX-License-Identifier: Apache-2.0
//
// The reasons why a plugin is not used, each with a stable number and tag: GANTRY-D210 ABI_RANGE.
//
//   D10x found   D11x D12x merged   D13x upgraded while in use   D15x D16x manifest
//   D21x D22x D23x versions and identity   D25x D26x trust   D30x D31x D32x D33x ELF and linking
//   D35x this host   D41x filters   D51x D52x D53x D54x probe   D60x create   D70x selection
//
// Each is a row of the table "Discovery of plugins" in sdk/REASONS.md, from which the build writes
// reason_table.inc (tools/cmake/GantryReasons.cmake):
//
//   GANTRY_REASON(abi_range, 210, "ABI_RANGE", <meaning>, <what to do>, <page>)
//
// Numbers and tags are never reused. A tag fits into gantry_status::reason. Reserved for later
// versions: D430 conflicts, D64x removal, D8xx payloads.
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

struct Reason {
  // 0: none
  std::uint16_t number = 0;
  std::string_view tag;

  explicit operator bool() const { return number != 0; }
  bool operator==(const Reason&) const = default;
};

namespace reason {
// One constant for each row, its name that of the tag in lower case: reason::abi_range.
#define GANTRY_REASON(name, number, tag, ...) constexpr Reason name{number, tag};
#include <reason_table.inc>
#undef GANTRY_REASON

// True for those of the probe, from probe_crashed to probe_failed.
constexpr bool is_of_probe(std::uint16_t number) {
  return number >= probe_crashed.number && number <= probe_failed.number;
}
}  // namespace reason

// A reason with the texts of its row.
struct CataloguedReason {
  Reason reason;
  // "a needed library is not found", "install the package that contains the library"
  std::string_view meaning, remedy;
  // "sdk/MANIFEST.md#probes", below share/gantry and in the sources; empty: no page has more
  std::string_view page;
};

// All reasons, by number. Two may share a number.
std::span<const CataloguedReason> all_reasons();

// Returns the reason with that tag; its number is 0 for other tags.
Reason reason_of(std::string_view tag);
inline Reason reason_of(const Error& error) { return reason_of(error.reason); }

// "GANTRY-D210 ABI_RANGE"
std::string name_of(const Reason& reason);

}  // namespace gantry
