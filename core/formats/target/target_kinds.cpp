// SPDX-License-Identifier: Apache-2.0
#include "core/formats/target/target_kinds.hpp"

#include <algorithm>
#include <utility>

namespace gantry {
namespace {

constexpr auto kind_name = [](const KnownTargetKind& known) -> const std::string& {
  return known.kind.name;
};

}  // namespace

TargetKinds::TargetKinds() {
  for (TargetKind& kind : host_target_kinds()) add(std::move(kind), "");
}

void TargetKinds::add(TargetKind kind, std::string plugin) {
  const auto at = std::ranges::lower_bound(kinds_, kind.name, {}, kind_name);
  if (at != kinds_.end() && at->kind.name == kind.name) return;
  kinds_.insert(at, {std::move(kind), std::move(plugin)});
}

const KnownTargetKind* TargetKinds::find(std::string_view name) const {
  const auto at = std::ranges::find(kinds_, name, kind_name);
  return at == kinds_.end() ? nullptr : &*at;
}

const KnownTargetKind* TargetKinds::find_with_tag(std::string_view tag) const {
  const auto at = std::ranges::find_if(kinds_, [&](const KnownTargetKind& known) {
    return std::ranges::find(known.kind.tags, tag, &TargetTag::name) != known.kind.tags.end();
  });
  return at == kinds_.end() ? nullptr : &*at;
}

std::vector<const KnownTargetKind*> TargetKinds::for_type_key(std::string_view type_key) const {
  std::vector<const KnownTargetKind*> found;
  for (const KnownTargetKind& known : kinds_) {
    if (!type_key.empty() && known.kind.type_key == type_key) found.push_back(&known);
  }
  return found;
}

std::vector<std::string_view> TargetKinds::names() const {
  std::vector<std::string_view> names;
  for (const KnownTargetKind& known : kinds_) names.push_back(known.kind.name);
  return names;
}

std::vector<std::string_view> TargetKinds::tags() const {
  std::vector<std::string_view> tags;
  for (const KnownTargetKind& known : kinds_) {
    for (const TargetTag& tag : known.kind.tags) tags.push_back(tag.name);
  }
  return tags;
}

}  // namespace gantry
