// SPDX-License-Identifier: Apache-2.0
#include "core/yaml/yaml_words.hpp"

#include "core/yaml/yaml_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace gantry {
namespace {

void add_words(const YamlValue& value, std::vector<std::string>& words) {
  if (value.kind == YamlKind::scalar) words.push_back(value.text);
  for (const YamlValue& item : value.items) add_words(item, words);
  for (const YamlEntry& entry : value.entries) {
    words.push_back(entry.key);
    add_words(entry.value, words);
  }
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  const auto document = parse_yaml(text, "a.yaml");
  if (document.ok()) add_words(document->root, words);
  return words;
}

TEST(YamlWords, FindsAWordInEverySpelling) {
  struct Case {
    std::string_view text, word;
  };
  constexpr Case cases[] = {
      {"cuda: 1", "cuda"},
      {"a: cuda", "cuda"},
      {"a: [x, {b: cuda}]", "cuda"},
      {"a: 'cuda'", "cuda"},
      {"a: \"cuda\"", "cuda"},
      {"a: \"cu\\x64a\"", "cuda"},
      {"a: \"cu\\\n   da\"", "cuda"},
      {"a: \"\\u0063uda\"", "cuda"},
      {"a: |-\n  cuda", "cuda"},
      {"a: >-\n  cuda\n  two", "cuda two"},
      {"a: cuda\n  two", "cuda two"},
      {"a: 'cuda\n  two'", "cuda two"},
      {"a: 'cuda\n\n  two'", "cuda\ntwo"},
      {"a: 'it''s'", "it's"},
      {"a: ''''", "'"},
      {"a: ''", ""},
      {"a: na\xc3\xafve", "na\xc3\xafve"},
      {"a: \"na\\xefve\"", "na\xc3\xafve"},
      {"? cuda\n: 1", "cuda"},
      {"a: c\\d", "c\\d"},
  };
  for (const Case& one : cases) {
    const std::vector<std::string> words = words_of(one.text);

    EXPECT_NE(std::find(words.begin(), words.end(), one.word), words.end()) << one.text;
    EXPECT_TRUE(yaml_can_say(one.text, one.word)) << one.text;
  }
}

TEST(YamlWords, IsSureOfATextWithoutTheWord) {
  constexpr std::string_view text = "id: vendor.npu\nkeys: [{key: 'two\n words'}]\n";

  EXPECT_FALSE(yaml_can_say(text, "cuda"));
  EXPECT_FALSE(yaml_can_say(text, "vendor.npu1"));
  EXPECT_FALSE(yaml_can_say(text, "three words"));
  EXPECT_FALSE(yaml_can_say("", "cuda"));
}

// Texts made of the characters by which YAML writes words in other ways than they read.
TEST(YamlWords, FindsWhateverTheParserFinds) {
  constexpr std::string_view pieces[] = {
      "a", "b", "ab", " ", "\n", "\n ", "\n  ", "'", "''", "\"", "\\", "\\n", "x",  ":",       ": ",
      "-", "|", ">",  "#", " #", "[",   "]",    ",", "?",  "%",  "&",  "*",   "!!", "\xc3\xaf"};
  std::mt19937 random(1);
  int words = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = i % 2 == 0 ? "k: " : "k: '";
    for (unsigned n = random() % 12; n != 0; --n) text += pieces[random() % std::size(pieces)];
    if (i % 2 != 0) text += "'";
    for (const std::string& word : words_of(text)) {
      ++words;
      ASSERT_TRUE(yaml_can_say(text, word)) << "\"" << word << "\" of\n" << text;
    }
  }
  // or the texts are no YAML
  EXPECT_GT(words, 5000);
}

}  // namespace
}  // namespace gantry
