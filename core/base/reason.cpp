// SPDX-License-Identifier: Apache-2.0
#include "core/base/reason.hpp"

namespace gantry {
namespace {
constexpr CataloguedReason kAllReasons[] = {
#define GANTRY_REASON(name, number, tag, meaning, remedy, page) \
  {reason::name, meaning, remedy, page},
#include <reason_table.inc>
#undef GANTRY_REASON
};
}  // namespace

std::span<const CataloguedReason> all_reasons() { return kAllReasons; }

Reason reason_of(std::string_view tag) {
  for (const CataloguedReason& one : kAllReasons) {
    if (one.reason.tag == tag) return one.reason;
  }
  return {0, tag};
}

std::string name_of(const Reason& reason) {
  return concat("GANTRY-D", reason.number, " ", reason.tag);
}

}  // namespace gantry
