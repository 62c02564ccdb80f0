// SPDX-License-Identifier: Apache-2.0
//
// Deciding about a word's candidates alone gives what deciding about all gives.
#include "core/manifest/merge.hpp"
#include "tests/support/manifest_sets.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace gantry {
namespace {

using test::ManifestBuilder;
using test::ManifestSet;
using test::TempDir;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr unsigned kSets = 60;

// Everything that has a part in what comes after.
std::string told(const Candidate& one) {
  std::string text =
      concat(one.file, " tier ", one.tier, " place ", one.location, " ", name_of(one.state), " D",
             one.reason.number, " ", one.was_eligible ? "eligible" : "out", " ", one.text);
  for (const std::string& drop_in : one.drop_ins) text += concat("\n  + ", drop_in);
  if (!one.manifest) return text;
  const Manifest& manifest = *one.manifest;
  text += concat("\n  ", manifest.title(), " ", manifest.library_path, " ", manifest.priority,
                 manifest.enabled ? " enabled" : "", manifest.required ? " required" : "");
  for (const ManifestKey& key : manifest.keys) {
    text += concat("\n  key ", key.key, " ", key.aliases.size());
  }
  return text;
}

bool names(const Candidate& one, std::string_view word) {
  if (!one.manifest) return false;
  const Manifest& manifest = *one.manifest;
  return manifest.id == word || manifest.key_for(word) != nullptr ||
         (word == "required" && manifest.required) ||
         std::any_of(manifest.devices.begin(), manifest.devices.end(),
                     [&](const ManifestDevice& device) { return device.name == word; });
}

// Those that are decided stand as in `all`, those that are not have nothing to do with the words.
void expect_enough(Merge& merge, const std::vector<Candidate>& all,
                   const std::vector<std::string>& words, const std::vector<bool>& decided) {
  ASSERT_EQ(merge.candidates().size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Candidate& one = merge.candidates()[i];
    // the latter without its manifest: replaced, not readable
    if (decided[i] || one.stopped()) {
      EXPECT_EQ(told(one), told(all[i]));
      continue;
    }
    EXPECT_FALSE(one.manifest) << one.file;
    for (const std::string& word : words) {
      EXPECT_FALSE(names(all[i], word)) << all[i].file << " names " << word;
    }
  }
}

TEST(MergeOnDemand, DecidesAboutAWordAsIfEverythingWereParsed) {
  std::size_t left = 0;
  for (unsigned seed = 0; seed < kSets; ++seed) {
    const ManifestSet set(seed);
    const SearchResult found = search_plugins(set.locations());
    const std::vector<Candidate> all = merge_plugins(found, {}).candidates;
    for (const std::string& word : ManifestSet::words()) {
      SCOPED_TRACE(concat("set ", seed, " word ", word));
      Merge merge(found, {});
      std::vector<bool> decided(all.size());
      for (const std::size_t i : merge.decide(word)) decided[i] = true;

      expect_enough(merge, all, {word}, decided);
      left += static_cast<std::size_t>(std::count(decided.begin(), decided.end(), false));
    }
  }
  // or everything was parsed each time
  EXPECT_GT(left, kSets);
}

TEST(MergeOnDemand, DecidesInAnyOrderAndAtLastAsIfAtOnce) {
  for (unsigned seed = 0; seed < kSets; ++seed) {
    SCOPED_TRACE(concat("set ", seed));
    const ManifestSet set(seed);
    const SearchResult found = search_plugins(set.locations());
    const MergeResult all = merge_plugins(found, {});
    std::vector<std::string> words = ManifestSet::words(), asked;
    std::shuffle(words.begin(), words.end(), std::mt19937(seed));
    Merge merge(found, {});
    std::vector<bool> decided(all.candidates.size());
    for (const std::string& word : words) {
      for (const std::size_t i : merge.decide(word)) {
        EXPECT_FALSE(decided[i]) << "decided twice";
        decided[i] = true;
      }
      asked.push_back(word);
      expect_enough(merge, all.candidates, asked, decided);
    }

    merge.decide_all();

    EXPECT_TRUE(merge.all_decided());
    for (std::size_t i = 0; i < all.candidates.size(); ++i) {
      EXPECT_EQ(told(merge.candidates()[i]), told(all.candidates[i]));
    }
    EXPECT_EQ(merge.warnings(), all.warnings);
  }
}

TEST(MergeOnDemand, ParsesNothingThatCannotSayTheWord) {
  const TempDir dir;
  ManifestBuilder().id("test.a").key("cuda").write_to(dir / "a.yaml");
  test::write_file(dir / "b.yaml", std::string_view("[ broken"));
  ManifestBuilder().id("test.c").key("opencl").write_to(dir / "c.yaml");
  PluginLocations locations;
  locations.directories = {dir.path().string()};
  locations.exclusive = true;
  Merge merge(search_plugins(locations), {});

  EXPECT_THAT(merge.decide("cuda"), ElementsAre(0u));
  EXPECT_EQ(merge.candidates()[0].state, CandidateState::eligible);
  EXPECT_EQ(merge.candidates()[1].state, CandidateState::found);
  EXPECT_FALSE(merge.candidates()[1].stopped());
  EXPECT_THAT(merge.decide("cuda"), IsEmpty());
  EXPECT_FALSE(merge.all_decided());

  EXPECT_THAT(merge.decide_all(), ElementsAre(1u, 2u));
  EXPECT_TRUE(merge.candidates()[1].stopped());
}

// A manifest of the same id that does not offer the key can still stand before one that does.
TEST(MergeOnDemand, ParsesWhatCanShadowACandidate) {
  const TempDir dir;
  ManifestBuilder().id("test.a").version("2.0.0").key("opencl").write_to(dir / "new.yaml");
  ManifestBuilder().id("test.a").version("1.0.0").key("cuda").write_to(dir / "old.yaml");
  PluginLocations locations;
  locations.directories = {dir.path().string()};
  locations.exclusive = true;
  Merge merge(search_plugins(locations), {});

  EXPECT_THAT(merge.decide("cuda"), ElementsAre(0u, 1u));
  EXPECT_EQ(merge.candidates()[1].reason, reason::shadowed_by);
}

TEST(MergeOnDemand, DecidesEverythingAtOnceWhereThereAreFilters) {
  const TempDir dir;
  ManifestBuilder().id("test.a").key("cuda").write_to(dir / "a.yaml");
  PluginLocations locations;
  locations.directories = {dir.path().string()};
  locations.exclusive = true;

  const Merge merge(search_plugins(locations), {{"b.*", false, "GANTRY_DISABLE"}});

  EXPECT_TRUE(merge.all_decided());
  EXPECT_THAT(merge.warnings(), ElementsAre("GANTRY_DISABLE: \"b.*\" matches no plugin"));
}

}  // namespace
}  // namespace gantry
