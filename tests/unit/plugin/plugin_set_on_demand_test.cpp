// SPDX-License-Identifier: Apache-2.0
//
// A set that parses what it is asked for chooses as one that has parsed everything.
#include "core/plugin/plugin_set.hpp"
#include "tests/support/manifest_sets.hpp"
#include "tests/unit/plugin/world.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace gantry {
namespace {

using test::core_info;
using test::ManifestBuilder;
using test::ManifestSet;
using test::World;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr unsigned kSets = 30;

PluginSetOptions options(std::vector<std::pair<std::string, std::string>> overrides = {},
                         const Log* log = nullptr) {
  PluginSetOptions all;
  all.overrides = std::move(overrides);
  all.core = core_info();
  all.log = log;
  return all;
}

std::string message_of(const auto& result) { return result.ok() ? "" : result.error().message; }

// What it answers about one word, but for what opening a library would say: there is none.
std::vector<std::string> answers(PluginSet& plugins, const std::string& word) {
  std::vector<std::string> all;
  for (const auto& choices : {plugins.choices_for_key(word), plugins.choices_for_device(word)}) {
    for (const Choice& choice : choices) {
      all.push_back(concat(choice.candidate, " ", plugins.candidate(choice.candidate).file,
                           choice.is_override ? " override" : ""));
    }
    all.push_back("tie " + plugins.tie_for(choices));
  }
  all.push_back("required " + message_of(plugins.check_required()));
  all.push_back("key " + message_of(plugins.for_key(word)));
  all.push_back("device " + message_of(plugins.for_device(word)));
  all.push_back("id " + message_of(plugins.open(word)));
  return all;
}

TEST(PluginSetOnDemand, ChoosesAsIfEverythingWereParsed) {
  std::size_t choices = 0;
  for (unsigned seed = 0; seed < kSets; ++seed) {
    const ManifestSet set(seed);
    const SearchResult found = search_plugins(set.locations());
    std::vector<std::pair<std::string, std::string>> overrides;
    if (seed % 3 == 0) overrides = {{"cuda", "a.b"}, {"x.y", "other.one"}, {"dev", "nobody.here"}};
    PluginSet one_by_one(found, {}, options(overrides));
    for (const std::string& word : ManifestSet::words()) {
      SCOPED_TRACE(concat("set ", seed, " word ", word));
      PluginSet all(found, {}, options(overrides)), fresh(found, {}, options(overrides));
      // parses them
      (void)all.candidates();
      const std::vector<std::string> expected = answers(all, word);
      choices += all.choices_for_key(word).size();

      EXPECT_EQ(answers(fresh, word), expected);
    }
    std::vector<std::string> words = ManifestSet::words();
    for (const std::string& word : words) (void)one_by_one.choices_for_key(word);
    PluginSet all(found, {}, options(overrides));
    EXPECT_EQ(one_by_one.served_keys(), all.served_keys());
    EXPECT_EQ(one_by_one.served_devices(), all.served_devices());
    EXPECT_EQ(one_by_one.warnings(), all.warnings());
  }
  EXPECT_GT(choices, kSets);
}

// Manifests that tell the log when they are parsed.
ManifestBuilder newer(std::string_view id, std::string_view key) {
  return ManifestBuilder().id(id).key(key).schema("1.1").line("schema_min: \"1.0\"\nnew_thing: 1");
}

struct Told {
  std::vector<std::string> lines;
  Log log{LogLevel::warning, [this](LogLevel, std::string_view line) { lines.emplace_back(line); }};
};

TEST(PluginSetOnDemand, TellsWhatIsOddInAManifestOnceWhenItIsParsed) {
  World world;
  world.add("one", "", newer("test.one", "first"));
  world.add("two", "", newer("test.two", "second"));
  Told told;
  PluginSet plugins(world.search(), {}, options({}, &told.log));
  EXPECT_THAT(told.lines, IsEmpty());

  EXPECT_EQ(plugins.choices_for_key("first").size(), 1u);
  EXPECT_EQ(plugins.choices_for_key("first").size(), 1u);
  EXPECT_THAT(told.lines, ElementsAre(HasSubstr("one.yaml")));

  (void)plugins.candidates();
  EXPECT_THAT(told.lines, ElementsAre(HasSubstr("one.yaml"), HasSubstr("two.yaml")));
  EXPECT_EQ(plugins.warnings().size(), 2u);
}

// An artifact can ask for any number of keys: neither are all of them kept, nor all texts searched for each.
TEST(PluginSetOnDemand, ParsesEverythingWhereManyWordsAreAskedFor) {
  World world;
  world.add("one", "", newer("test.one", "first"));
  Told told;
  PluginSet plugins(world.search(), {}, options({}, &told.log));

  for (int i = 0; i < 64; ++i) (void)plugins.choices_for_key(concat("unknown", i));
  EXPECT_THAT(told.lines, IsEmpty());
  for (int i = 64; i < 66; ++i) (void)plugins.choices_for_key(concat("unknown", i));
  EXPECT_THAT(told.lines, ElementsAre(HasSubstr("one.yaml")));
}

TEST(PluginSetOnDemand, ParsesWhatMayBeRequired) {
  for (const bool by_drop_in : {false, true}) {
    World world;
    world.add("good", "good");
    ManifestBuilder one = newer("test.one", "first");
    if (by_drop_in) {
      std::filesystem::create_directories(world.path() / "one.yaml.d");
      test::write_file(world.path() / "one.yaml.d/a.yaml", std::string_view("required: true\n"));
    } else {
      one.line("required: true");
    }
    world.add("one", "", one);
    Told told;
    PluginSet plugins(world.search(), {}, options({}, &told.log));

    EXPECT_THAT(message_of(plugins.check_required()),
                HasSubstr("plugin test.one 1.0.0 is required"));
    EXPECT_THAT(told.lines, ElementsAre(HasSubstr("one.yaml")));
  }
}

}  // namespace
}  // namespace gantry
