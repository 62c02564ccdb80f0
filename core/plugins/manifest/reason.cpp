// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/reason.hpp"

namespace gantry {
namespace {
constexpr CataloguedReason kAll[] = {
// One line for each row of the table in sdk/REASONS.md.
#include <reason_table.inc>
};
}  // namespace

std::span<const CataloguedReason> all_reasons() { return kAll; }

Reason reason_of(std::string_view tag) {
  for (const CataloguedReason& one : kAll) {
    if (one.reason.tag == tag) return one.reason;
  }
  return {0, tag};
}

std::string name_of(const Reason& reason) {
  return concat("GANTRY-D", reason.number, " ", reason.tag);
}

}  // namespace gantry
