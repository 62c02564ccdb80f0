// SPDX-License-Identifier: Apache-2.0
//
// The table of situations: a tree of files, and which plugins are chosen in it, in which order, and
// why not the others. The rows are the tests `Situation.<row>`, in situations/*.yaml.
#include "core/plugins/choice/explain.hpp"
#include "core/plugins/choice/plugin_set.hpp"

#include "core/base/replace_text.hpp"
#include "core/base/text.hpp"
#include "tests/unit/choice/situation.hpp"

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <sstream>

namespace gantry::situations {
namespace {

using ::testing::ElementsAreArray;

// One candidate: "usr/fake/fake.yaml", "parsed FILTERED", "disabled by GANTRY_DISABLE".
struct Line {
  std::string file, head, text;
  // of the manifest, or what would make it the chosen one
  std::vector<std::string> more;
};

struct Key {
  std::vector<Line> candidates;
  std::string tie, advice;
  std::vector<std::string> near, unsearched;
};

// What the core reports, with paths relative to the directory of the situation.
struct Report {
  std::vector<Line> list;
  std::vector<std::string> warnings, served, served_devices;
  // the error of a required plugin
  std::string required, required_code;
  // "key fake", "device fake_device"
  std::map<std::string, Key> keys;
  // "global fake.run": files in the order of choice
  std::map<std::string, std::vector<std::string>> globals;
  std::string doctor, error, error_code;
};

// What the drop-ins and the manifest set beside their defaults.
std::vector<std::string> settings_of(const Candidate& candidate) {
  std::vector<std::string> all;
  for (const std::string& drop_in : candidate.drop_ins) all.push_back("drop-in " + drop_in);
  if (!candidate.manifest) return all;
  const Manifest& manifest = *candidate.manifest;
  if (manifest.priority != 0) all.push_back(concat("priority ", manifest.priority));
  if (manifest.required) all.emplace_back("required");
  if (manifest.probe != Probe::automatic)
    all.emplace_back(manifest.probe == Probe::always ? "probe always" : "probe never");
  if (!manifest.env_allow.empty()) all.push_back("env_allow " + join(manifest.env_allow));
  for (const ConfigLayer& layer : manifest.config) {
    const auto value_text = [](const ConfigText& value) {
      return concat(value.key, "=", value.text);
    };
    all.push_back(concat("config ", join(layer.values, " ", value_text), " of ", layer.source));
  }
  return all;
}

// The only function that calls the code under test.
Report report_of(const Situation& situation, const std::vector<Requirement>& requirements,
                 const std::vector<std::string>& globals) {
  PluginLocations locations;
  for (const std::string& directory : situation.program) {
    if (directory != "program" || fs::exists(situation.path(directory)))
      locations.directories.push_back(situation.path(directory));
  }
  if (fs::exists(situation.path("config")))
    locations.config_directories = {situation.path("config")};
  if (!situation.plugin_files.empty()) locations.plugin_files = situation.plugin_files;
  locations.host = {{Tier::admin, situation.path("etc")},
                    {Tier::boot, situation.path("run")},
                    {Tier::system, situation.path("local")},
                    {Tier::system, situation.path("usr")}};
  locations.core_directory = situation.path("own/lib");
  locations.user_directory = situation.path("user");
  if (situation.excludes_user) locations.user_excluded_by = situation.path("runtime.yaml");

  OpenedPlugins opened;
  ChoiceOptions options;
  options.core = test::core_info();
  options.overrides = situation.overrides;
  options.fallback = situation.fallback;
  options.fallback_source = situation.path("runtime.yaml");
  options.opened = &opened;
  options.trust = std::make_shared<const Trust>(
      Trust::open({situation.path("trust.yaml"), situation.path("plugins.lock"), "", false, 0})
          .value());
  for (const std::string& manifest : situation.opened) {
    PluginLocations one;
    one.manifests = {manifest};
    one.exclusive = true;
    one.host.clear();
    PluginSet other(search_plugins(one), options);
    const auto plugin = other.open(other.candidates()[0].manifest->id);
    EXPECT_TRUE(plugin.ok()) << plugin.error().message;
  }

  options.filters = situation.filters;
  PluginSet plugins(search_plugins(locations), options);
  Report report;
  for (const Candidate& one : plugins.candidates()) {
    const std::string state(name_of(one.passed));
    report.list.push_back({one.file, one.stopped() ? concat(state, " ", one.reason.tag) : state,
                           one.text, settings_of(one)});
  }
  report.warnings.assign(plugins.warnings().begin(), plugins.warnings().end());
  report.served = plugins.served_keys();
  report.served_devices = plugins.served_devices();
  for (const std::string& name : globals) {
    for (const std::size_t choice : plugins.choices_for_global(name))
      report.globals["global " + name].push_back(plugins.candidate(choice).file);
  }
  const Status required = plugins.check_required();
  if (!required.ok()) {
    report.required = required.error().message;
    report.required_code = concat(name_of(required.error().code), " ", required.error().reason);
  }

  plugins.inspect_all();
  Explanation explanation = explain(plugins, requirements);
  add_changes(plugins, explanation);
  for (const ExplainedRequirement& entry : explanation.requirements) {
    Key key{{}, entry.tie, entry.advice, entry.near, entry.unsearched};
    for (const ExplainedCandidate& one : entry.candidates) {
      const std::string verdict = upper(name_of(one.verdict));
      key.candidates.push_back({one.file,
                                one.reason ? concat(verdict, " ", one.reason.tag) : verdict,
                                one.text,
                                {one.changes.begin(), one.changes.end()}});
    }
    const std::string kind = entry.requirement.device ? "device " : "key ";
    report.keys.emplace(kind + entry.requirement.what, std::move(key));
  }
  report.doctor = to_text(explanation);
  const Error error = unserved_error(explanation, "model.so");
  report.error = error.message;
  report.error_code = concat(name_of(error.code), " ", error.reason);
  return report;
}

// Compares what the row expects with a report.
class Comparison {
 public:
  Comparison(const Situation& situation, const Report& report)
      : root_(situation.root().string()), report_(report) {}

  void of(const YamlEntry& expected) const {
    const YamlValue& value = expected.value;
    const std::string& key = expected.key;
    if (key == "list") return lines(value, report_.list);
    if (key == "warnings") return texts(value, report_.warnings);
    if (key == "served") return texts(value, report_.served);
    if (key == "served devices") return texts(value, report_.served_devices);
    if (key == "required") return texts(value, {report_.required});
    if (key == "required code") return texts(value, {report_.required_code});
    if (key == "doctor") return contained(value, report_.doctor);
    if (key == "error") return contained(value, report_.error);
    if (key == "not in doctor") return absent(value, report_.doctor);
    if (key == "not in error") return absent(value, report_.error);
    if (key == "error code") return texts(value, {report_.error_code});
    if (const auto global = report_.globals.find(key); global != report_.globals.end())
      return texts(value, global->second);
    const auto found = report_.keys.find(key);
    if (found == report_.keys.end()) FAIL() << key << " is no key of the table";
    of_key(value, found->second);
  }

  // A row without them expects none.
  void of_absent(const YamlValue& row) const {
    if (row.find("warnings") == nullptr) {
      EXPECT_THAT(shown(report_.warnings), testing::IsEmpty());
    }
    if (row.find("required") == nullptr) {
      EXPECT_EQ(shown(report_.required), "");
    }
  }

 private:
  // Without the directory of the situation.
  std::string shown(const std::string& text) const {
    return replace_text(replace_text(text, root_ + "/", ""), root_, ".");
  }
  std::vector<std::string> shown(const std::vector<std::string>& all) const {
    std::vector<std::string> texts;
    for (const std::string& text : all) texts.push_back(shown(text));
    return texts;
  }

  // Returns the expected text if it stands for the found one: "usr/x.yaml is removed", or its
  // beginning and " ...".
  static std::string fitted(const std::string& expected, const std::string& found) {
    constexpr std::string_view more = " ...";
    const bool is_beginning = expected.ends_with(more) &&
                              found.starts_with(expected.substr(0, expected.size() - more.size()));
    return is_beginning ? expected : found;
  }
  static std::vector<std::string> fitted(const std::vector<std::string>& expected,
                                         std::vector<std::string> found) {
    for (std::size_t i = 0; i < std::min(expected.size(), found.size()); ++i)
      found[i] = fitted(expected[i], found[i]);
    return found;
  }

  void texts(const YamlValue& expected, const std::vector<std::string>& found) const {
    const std::vector<std::string> all = texts_of(expected);
    EXPECT_THAT(fitted(all, shown(found)), ElementsAreArray(all));
  }

  // A list: lines of the text. A text: the whole one.
  void contained(const YamlValue& expected, const std::string& found) const {
    if (expected.kind == YamlKind::scalar) {
      EXPECT_EQ(shown(found) + "\n", expected.text);
      return;
    }
    std::vector<std::string> all;
    std::istringstream in(shown(found));
    for (std::string line; std::getline(in, line);) all.push_back(line);
    for (const std::string& line : texts_of(expected)) {
      const auto fits = [&](const std::string& one) { return fitted(line, one) == line; };
      EXPECT_TRUE(std::ranges::any_of(all, fits)) << line << "\nis not in\n" << shown(found);
    }
  }

  void absent(const YamlValue& unexpected, const std::string& found) const {
    for (const std::string& text : texts_of(unexpected))
      EXPECT_EQ(shown(found).find(text), std::string::npos) << text;
  }

  // The text is compared where the row has one.
  void lines(const YamlValue& expected, const std::vector<Line>& found) const {
    std::vector<std::string> wanted, is;
    for (const YamlEntry& entry : expected.entries) {
      const std::vector<std::string> own = texts_of(entry.value);
      const std::string expected_head = own.empty() ? "" : own.front();
      const std::string file = manifest_path(entry.key);
      wanted.push_back(concat(file, ": ", join(own, "\n  ")));
      if (is.size() == found.size()) continue;
      const Line& line = found[is.size()];
      std::string first = line.head;
      if (expected_head != line.head && !line.text.empty())
        first = fitted(expected_head, shown(concat(line.head, " ", line.text)));
      std::vector<std::string> all = {first};
      if (entry.value.kind == YamlKind::list) {
        const std::vector<std::string> more = shown(line.more);
        all.insert(all.end(), more.begin(), more.end());
        all = fitted(own, all);
      }
      is.push_back(concat(shown(line.file), ": ", join(all, "\n  ")));
    }
    for (std::size_t i = is.size(); i < found.size(); ++i)
      is.push_back(concat(shown(found[i].file), ": ", found[i].head, " ", shown(found[i].text)));
    EXPECT_THAT(is, ElementsAreArray(wanted));
  }

  void of_key(const YamlValue& expected, const Key& found) const {
    YamlValue candidates;
    std::map<std::string, std::vector<std::string>> others;
    for (const YamlEntry& entry : expected.entries) {
      if (entry.key.find('/') != std::string::npos) {
        candidates.entries.push_back(entry);
      } else {
        others[entry.key] = texts_of(entry.value);
      }
    }
    lines(candidates, found.candidates);
    const auto compare = [&](const std::string& name, std::vector<std::string> is) {
      if (is.size() == 1 && is.front().empty()) is.clear();
      EXPECT_EQ(fitted(others[name], shown(is)), others[name]) << name;
      others.erase(name);
    };
    compare("tie", {found.tie});
    compare("advice", {found.advice});
    compare("near", found.near);
    compare("unsearched", found.unsearched);
    EXPECT_TRUE(others.empty()) << others.begin()->first << " is no key of the table";
  }

  std::string root_;
  const Report& report_;
};

// Compares, makes the changes of `then`, and compares again.
void check(Situation& situation, const YamlValue& row) {
  situation.change(row);
  std::vector<Requirement> requirements;
  std::vector<std::string> globals;
  for (const YamlEntry& entry : row.entries) {
    const std::string name = entry.key.substr(entry.key.find(' ') + 1);
    if (entry.key.starts_with("key ")) requirements.push_back({name, false, {"model.so[1]"}});
    if (entry.key.starts_with("device ")) requirements.push_back({name, true, {"--device"}});
    if (entry.key.starts_with("global ")) globals.push_back(name);
  }
  const Report report = report_of(situation, requirements, globals);
  const Comparison comparison(situation, report);
  const YamlValue* then = nullptr;
  for (const YamlEntry& entry : row.entries) {
    SCOPED_TRACE(concat("line ", entry.location.line, ", ", entry.key));
    if (entry.key == "then") {
      then = &entry.value;
    } else if (!Situation::is_change(entry.key)) {
      comparison.of(entry);
    }
  }
  comparison.of_absent(row);
  if (then != nullptr) check(situation, *then);
}

class Row : public testing::Test {
 public:
  explicit Row(YamlValue row) : row_(std::move(row)) {}
  void TestBody() override {
    Situation situation;
    check(situation, row_);
  }

 private:
  YamlValue row_;
};

// A file that is no table.
class Unreadable : public testing::Test {
 public:
  explicit Unreadable(std::string why) : why_(std::move(why)) {}
  void TestBody() override { FAIL() << why_; }

 private:
  std::string why_;
};

void register_rows(const fs::path& file) {
  constexpr std::size_t max_bytes = 1 << 20;
  const auto table = parse_yaml(test::file_text(file), file.string(), {.bytes = max_bytes});
  const auto add = [&](const std::string& name, std::uint32_t line, auto make) {
    testing::RegisterTest("Situation", name.c_str(), nullptr, nullptr, file.c_str(),
                          static_cast<int>(line), std::move(make));
  };
  if (!table.ok()) {
    const std::string why = table.error().message;
    add(file.stem().string(), 1, [why]() -> testing::Test* { return new Unreadable(why); });
    return;
  }
  for (const YamlEntry& row : table->root.entries) {
    add(row.key, row.location.line,
        [value = row.value]() -> testing::Test* { return new Row(value); });
  }
}

// Before main(), as the macros of GoogleTest do.
[[maybe_unused]] const bool registered = [] {
  const fs::path directory = fs::path(GANTRY_SOURCE_DIR) / "tests/unit/choice/situations";
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::ranges::sort(files);
  for (const fs::path& file : files) register_rows(file);
  return true;
}();

}  // namespace
}  // namespace gantry::situations
