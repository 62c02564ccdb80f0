// SPDX-License-Identifier: Apache-2.0
//
// The target kinds of a program: those of the host, then those of plugins.
#pragma once

#include "core/formats/target/target_kind.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct KnownTargetKind {
  TargetKind kind;
  // id of the plugin whose manifest declares it; empty: built in
  std::string plugin;
};

class TargetKinds {
 public:
  // Has the kinds of the host.
  TargetKinds();

  // Adds a kind of a plugin. A kind of that name that is known already remains.
  void add(TargetKind kind, std::string plugin);

  // Sorted by name.
  const std::vector<KnownTargetKind>& all() const { return kinds_; }
  // NULL: unknown.
  const KnownTargetKind* find(std::string_view name) const;
  // The kind that has a tag; NULL: unknown.
  const KnownTargetKind* find_with_tag(std::string_view tag) const;
  // The kinds whose generators write payloads of a type key, in order.
  std::vector<const KnownTargetKind*> for_type_key(std::string_view type_key) const;
  std::vector<std::string_view> names() const;
  std::vector<std::string_view> tags() const;

 private:
  std::vector<KnownTargetKind> kinds_;
};

}  // namespace gantry
