// SPDX-License-Identifier: Apache-2.0
//
// Layouts found for one key are those that all manifests together declare.
#include "core/runtime/declared_layouts.hpp"

#include "tests/support/manifest_sets.hpp"
#include "tests/unit/plugin/world.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace gantry {
namespace {

using test::ManifestSet;

constexpr unsigned kSets = 40;

// The rule, over everything there is: usable plugins first; what is declared first counts.
PayloadLayouts all_layouts(const PluginSet& plugins) {
  PayloadLayouts layouts = PayloadLayouts::built_in();
  std::vector<Candidate> candidates = plugins.candidates();
  std::stable_partition(candidates.begin(), candidates.end(),
                        [](const Candidate& one) { return !one.stopped(); });
  for (const Candidate& candidate : candidates) {
    if (!candidate.manifest) continue;
    for (const ManifestKey& key : candidate.manifest->keys) {
      if (candidate.stopped() && !plugins.choices_for_key(key.key).empty()) continue;
      if (key.payload && !layouts.knows(key.key)) layouts.add(key.key, *key.payload);
      if (!layouts.knows(key.key)) continue;
      for (const std::string& alias : key.aliases) {
        if (layouts.knows(alias)) continue;
        EXPECT_TRUE(layouts.alias(alias, key.key).ok());
      }
    }
  }
  return layouts;
}

std::string text_of(std::span<const PayloadLayout> layouts) {
  std::string text = concat(layouts.size(), ":");
  for (const PayloadLayout& layout : layouts) text += concat(" ", layout.text(), ";");
  return text;
}

PluginSetOptions options(unsigned seed) {
  PluginSetOptions all;
  all.core = test::core_info();
  if (seed % 2 == 0) all.overrides = {{"cu", "a.b"}, {"x.y", "x.y"}, {"two words", "nobody.here"}};
  return all;
}

TEST(DeclaredLayoutsOnDemand, AreThoseOfAllManifests) {
  std::size_t declared = 0;
  for (unsigned seed = 0; seed < kSets; ++seed) {
    const ManifestSet set(seed);
    const SearchResult found = search_plugins(set.locations());
    PluginSet everything(found, {}, options(seed)), asked(found, {}, options(seed));
    const PayloadLayouts expected = all_layouts(everything);
    DeclaredLayouts one_by_one(asked, PayloadLayouts::built_in());
    for (const std::string& key : ManifestSet::words()) {
      SCOPED_TRACE(concat("set ", seed, " key ", key));
      PluginSet plugins(found, {}, options(seed));
      DeclaredLayouts fresh(plugins, PayloadLayouts::built_in());

      EXPECT_EQ(text_of(fresh.of(key)), text_of(expected.alternatives(key)));
      EXPECT_EQ(text_of(one_by_one.of(key)), text_of(expected.alternatives(key)));
      declared += expected.knows(key) ? 1 : 0;
    }
  }
  EXPECT_GT(declared, 2 * kSets);
}

// A container can ask for any number of keys; then the whole table is made, and what was handed out stays.
TEST(DeclaredLayoutsOnDemand, StayWhereManyKeysAreAskedFor) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const ManifestSet set(seed);
    const SearchResult found = search_plugins(set.locations());
    PluginSet everything(found, {}, options(seed)), plugins(found, {}, options(seed));
    const PayloadLayouts expected = all_layouts(everything);
    DeclaredLayouts declared(plugins, PayloadLayouts::built_in());
    const auto before = declared.of("cuda");

    for (int i = 0; i < 100; ++i) EXPECT_TRUE(declared.of(concat("unknown", i)).empty());

    EXPECT_EQ(declared.of("cuda").data(), before.data());
    for (const std::string& key : ManifestSet::words()) {
      EXPECT_EQ(text_of(declared.of(key)), text_of(expected.alternatives(key))) << key;
    }
  }
}

}  // namespace
}  // namespace gantry
