// SPDX-License-Identifier: Apache-2.0
#include "tests/layers/layers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/files.hpp"

namespace gantry::layers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// The purpose of this program: checks the tree itself.
TEST(Layers, HoldInThisTree) {
  const std::vector<std::string> found = breaches(GANTRY_SOURCE_DIR);

  std::string all;
  for (const std::string& breach : found) all += breach + "\n";
  EXPECT_THAT(found, IsEmpty()) << all;
}

struct PageWithTests {
  std::string page;
  int min_count;
};
void PrintTo(const PageWithTests& page, std::ostream* out) { *out << page.page; }

class PageThatNamesTests : public ::testing::TestWithParam<PageWithTests> {};

TEST_P(PageThatNamesTests, NamesTestsThatExist) {
  const std::filesystem::path root = GANTRY_SOURCE_DIR;
  std::string sources, situations;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "tests")) {
    if (entry.path().extension() == ".cpp") sources += test::file_text(entry.path());
  }
  for (const auto& entry :
       std::filesystem::directory_iterator(root / "tests/unit/choice/situations"))
    situations += test::file_text(entry.path());
  const std::string page = test::file_text(root / GetParam().page);
  static const std::regex name(R"(`([A-Z]\w+)\.([A-Z]\w+)`)");

  int count = 0;
  for (auto it = std::sregex_iterator(page.begin(), page.end(), name); it != std::sregex_iterator();
       ++it) {
    const std::string suite = (*it)[1].str(), name_of_test = (*it)[2].str();
    const bool is_row = suite == "Situation";
    const std::string test =
        is_row ? "\n" + name_of_test + ":\n" : "(" + suite + ", " + name_of_test + ")";
    EXPECT_NE((is_row ? situations : sources).find(test), std::string::npos) << "no TEST" << test;
    ++count;
  }
  EXPECT_GT(count, GetParam().min_count);
}

INSTANTIATE_TEST_SUITE_P(All, PageThatNamesTests,
                         ::testing::Values(PageWithTests{"sdk/ABI.md", 30},
                                           PageWithTests{"tests/FAILURES.md", 120}));

TEST(ChangesPage, NamesFilesThatExist) {
  const std::filesystem::path root = GANTRY_SOURCE_DIR;
  const std::string page = test::file_text(root / "tests/README.md");
  const std::size_t begin = page.find("\n## Where to make a change\n");
  ASSERT_NE(begin, std::string::npos);
  const std::string section = page.substr(begin, page.find("\n## ", begin + 1) - begin);
  static const std::regex file(R"(`([\w.-]+/[\w./-]+)`)");

  int count = 0;
  for (auto it = std::sregex_iterator(section.begin(), section.end(), file);
       it != std::sregex_iterator(); ++it) {
    EXPECT_TRUE(std::filesystem::exists(root / (*it)[1].str())) << (*it)[1].str();
    ++count;
  }
  EXPECT_GT(count, 30);
}

// Code in the SDK's pages is quoted from sources of the SDK, so it compiles.
TEST(SdkPages, QuoteCodeOfTheSdk) {
  const std::filesystem::path sdk = std::filesystem::path(GANTRY_SOURCE_DIR) / "sdk";
  std::string sources, pages;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(sdk)) {
    const std::string extension = entry.path().extension();
    if (extension == ".cpp" || extension == ".hpp" || extension == ".c") {
      sources += test::file_text(entry.path());
    }
    if (extension == ".md") pages += test::file_text(entry.path());
  }

  int count = 0;
  std::string opening;
  for (std::istringstream in(pages); std::getline(in, opening);) {
    const std::size_t depth = opening.find("```cpp");
    if (depth == std::string::npos) continue;
    std::string code;
    for (std::string line; std::getline(in, line) && line.find("```") == std::string::npos;) {
      code += (line.size() > depth ? line.substr(depth) : "") + "\n";
    }
    EXPECT_NE(sources.find(code), std::string::npos) << "no source under sdk/ has\n" << code;
    ++count;
  }
  EXPECT_GE(count, 3);
}

// A line of code without comment, indentation and repeated blanks.
std::string bare(std::string line) {
  line = line.substr(0, line.find(" // "));
  line = std::regex_replace(line, std::regex(R"(^\s+|\s+$)"), "");
  return std::regex_replace(line, std::regex(R"(\s+)"), " ");
}

// Statements in the first comment of an SDK header are in a file that tests/abi compiles.
TEST(HeaderExamples, AreCompiled) {
  const std::filesystem::path root = GANTRY_SOURCE_DIR;
  std::set<std::string> compiled;
  for (const char* file : {"header_examples.c", "header_examples.cpp"}) {
    std::istringstream in(test::file_text(root / "tests/abi" / file));
    for (std::string line; std::getline(in, line);) compiled.insert(bare(line));
  }

  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "sdk")) {
    if (entry.path().extension() != ".h" && entry.path().extension() != ".hpp") continue;
    std::istringstream in(test::file_text(entry.path()));
    for (std::string line; std::getline(in, line) && line.starts_with("//");) {
      if (!line.starts_with("//     ")) continue;
      const std::string code = bare(line.substr(2));
      if (!code.ends_with(';') && !code.ends_with('{')) continue;
      EXPECT_TRUE(compiled.contains(code)) << entry.path() << ": " << code;
      ++count;
    }
  }
  EXPECT_GT(count, 80);
}

// All matches of a pattern's first group.
std::set<std::string> matches_of(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), regex);
       it != std::sregex_iterator(); ++it) {
    found.insert((*it)[1].str());
  }
  return found;
}

TEST(FailuresPage, NamesReasonsThatExist) {
  const std::filesystem::path root = GANTRY_SOURCE_DIR;
  const std::string page = test::file_text(root / "tests/FAILURES.md"),
                    reasons = test::file_text(root / "sdk/REASONS.md");
  const std::regex numbered(R"re(D(\d+) `([A-Z0-9_]+)`)re");

  int count = 0;
  for (auto it = std::sregex_iterator(page.begin(), page.end(), numbered);
       it != std::sregex_iterator(); ++it) {
    const std::string row = "| D" + (*it)[1].str() + " | `" + (*it)[2].str() + "` |";
    EXPECT_NE(reasons.find(row), std::string::npos) << row;
    ++count;
  }
  EXPECT_GT(count, 50);
  for (const std::string& tag : matches_of(page, R"re((?:\||,) `([A-Z]+_[A-Z]+)`[ ,])re")) {
    EXPECT_NE(reasons.find("\n| `" + tag + "` |"), std::string::npos) << tag;
  }
}

// The rows of a page may be in another order than their numbers.
TEST(FailuresPage, HasEveryRowOnceOrAmongThoseThatAreNotCovered) {
  const std::string page =
      test::file_text(std::filesystem::path(GANTRY_SOURCE_DIR) / "tests/FAILURES.md");
  const std::size_t end = page.find("## Not covered");
  const std::regex row(R"re(\n\| (\d+) \|)re");
  const auto rows_of = [&](const std::string& text) {
    std::vector<int> rows;
    for (auto it = std::sregex_iterator(text.begin(), text.end(), row);
         it != std::sregex_iterator(); ++it) {
      rows.push_back(std::stoi((*it)[1].str()));
    }
    return rows;
  };

  const std::vector<int> covered = rows_of(page.substr(0, end)), others = rows_of(page.substr(end));

  const std::set<int> distinct(covered.begin(), covered.end());
  EXPECT_EQ(distinct.size(), covered.size()) << "a row is there twice";
  std::set<int> all = distinct;
  all.insert(others.begin(), others.end());
  EXPECT_EQ(*all.begin(), 1);
  EXPECT_EQ(*all.rbegin(), 63);
}

// It changes which library a symbol of a plugin is bound to, also those of sanitizers.
TEST(Sources, DoNotBindDeeply) {
  const std::filesystem::path root = GANTRY_SOURCE_DIR;
  int count = 0;
  for (const char* directory : {"core", "plugins", "sdk", "tools"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / directory)) {
      const std::string extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".hpp" && extension != ".c" && extension != ".h")
        continue;
      const std::string text = test::file_text(entry.path());
      EXPECT_EQ(text.find("RTLD_DEEPBIND"), std::string::npos) << entry.path();
      count += text.find("RTLD_LOCAL") != std::string::npos ? 1 : 0;
    }
  }
  EXPECT_GE(count, 2) << "no source opens a library";
}

TEST(PythonPackage, HasNoTwoFilesThatImportEachOther) {
  const std::filesystem::path package =
      std::filesystem::path(GANTRY_SOURCE_DIR) / "sdk/python/gantry";
  static const std::regex import(R"(from gantry(?:\.(_\w+) import| import (_\w+)))");
  std::set<std::pair<std::string, std::string>> imports;
  for (const auto& entry : std::filesystem::directory_iterator(package)) {
    if (entry.path().extension() != ".py") continue;
    const std::string text = test::file_text(entry.path());
    for (auto it = std::sregex_iterator(text.begin(), text.end(), import);
         it != std::sregex_iterator(); ++it) {
      imports.emplace(entry.path().stem().string(), (*it)[1].str() + (*it)[2].str());
    }
  }

  EXPECT_GT(imports.size(), 15u);
  for (const auto& [from, to] : imports)
    EXPECT_FALSE(imports.contains({to, from})) << from << " and " << to;
}

// If the table could not be parsed, every include would pass.
TEST(Layers, ReadTheTableOfThisTree) {
  const PartTable parts =
      read_parts(test::file_text(std::filesystem::path(GANTRY_SOURCE_DIR) / "core/CMakeLists.txt"));

  EXPECT_GE(parts.size(), 24u);
  EXPECT_THAT(parts.at("base/trace"), IsEmpty());
  EXPECT_TRUE(parts.at("plugins/manifest").contains("base/yaml"));
  EXPECT_FALSE(parts.at("formats/elf").contains("engine/runtime"));
}

// base < formats < plugins < engine, and formats < writing.
TEST(Components, NameNoneAboveThem) {
  const std::map<std::string, std::set<std::string>> below{
      {"base", {"base"}},
      {"formats", {"base", "formats"}},
      {"plugins", {"base", "formats", "plugins"}},
      {"engine", {"base", "formats", "plugins", "engine"}},
      {"writing", {"base", "formats", "writing"}}};
  const auto component_of = [](const std::string& part) { return part.substr(0, part.find('/')); };

  for (const auto& [part, others] : read_parts(
           test::file_text(std::filesystem::path(GANTRY_SOURCE_DIR) / "core/CMakeLists.txt"))) {
    ASSERT_TRUE(below.contains(component_of(part))) << part;
    for (const std::string& other : others)
      EXPECT_TRUE(below.at(component_of(part)).contains(component_of(other)))
          << part << " names " << other;
  }
}

TEST(PartTable, IsReadFromCalls) {
  const PartTable parts = read_parts(
      "# gantry_part(none PARTS x)\n"
      "gantry_part(base)\n"
      "gantry_part(engine/native PARTS engine/tensor engine/module  # a comment\n"
      "            LIBRARIES Threads::Threads)\n"
      "my_gantry_parts(no PARTS x)\n");

  EXPECT_THAT(parts, ElementsAre(Pair("base", IsEmpty()),
                                 Pair("engine/native",
                                      UnorderedElementsAre("engine/tensor", "engine/module"))));
}

TEST(Includes, AreReadOutsideOfComments) {
  const std::vector<Include> includes = read_includes(
      "// #include <a>\n"
      "/* text\n"
      "#include <b>\n"
      "*/\n"
      "#include <c>  // why\n"
      "const char* url = \"https://x\";\n"
      "  #  include \"d/e.hpp\"\n");

  ASSERT_EQ(includes.size(), 2u);
  EXPECT_EQ(includes[0].line, 5);
  EXPECT_EQ(includes[0].path, "c");
  EXPECT_FALSE(includes[0].is_quoted);
  EXPECT_EQ(includes[1].line, 7);
  EXPECT_EQ(includes[1].path, "d/e.hpp");
  EXPECT_TRUE(includes[1].is_quoted);
}

// A small tree that breaks no rule; each case adds one file that breaks one.
class FakeTree {
 public:
  FakeTree() {
    write("core/CMakeLists.txt",
          "gantry_part(base)\ngantry_part(formats/elf)\ngantry_part(base/yaml)\n"
          "gantry_part(plugins/manifest PARTS base/yaml)\ngantry_part(engine/runtime PARTS "
          "formats/elf plugins/manifest)\n");
    source("sdk/include/gantry/abi.h",
           "#ifndef A_H\n#define A_H\n#include <stddef.h>\n#include <stdint.h>\n#endif\n");
    source("sdk/include/gantry/host.h", "#ifndef H_H\n#define H_H\n#include \"abi.h\"\n#endif\n");
    source("sdk/cxx/gantry/result.hpp",
           "#pragma once\n#include <gantry/abi.h>\n#include <string>\n#include <dlfcn.h>\n");
    source("sdk/cxx/gantry/dmlc_stream.hpp", "#pragma once\n#include <dmlc/io.h>\n");
    source("sdk/template/null.c", "#include <gantry/host.h>\n#include <string.h>\n");
    source("core/base/log.hpp", "#pragma once\n");
    source("core/formats/elf/elf.hpp",
           "#pragma once\n#include \"core/base/log.hpp\"\n#include <gantry/result.hpp>\n");
    source("core/base/yaml/text.cpp", "#include <yaml-cpp/yaml.h>\n");
    source("core/plugins/manifest/m.cpp",
           "#include \"core/base/yaml/text.hpp\"\n// getenv(\"x\")\n");
    source("core/engine/runtime/environment.cpp",
           "#include <cstdlib>\nchar* e = getenv(\"HOME\");\n");
    source("plugins/cuda/payload.hpp",
           "#pragma once\n#include \"core/formats/graph_json.hpp\"\n"
           "#include <gantry/result.hpp>\n#include <vulkan/vulkan.h>\n");
    source("plugins/cuda/payload.cpp",
           "#include \"payload.hpp\"\n#include \"plugins/cuda/payload.hpp\"\n");
    source("tools/gantry/main.cpp",
           "#include \"core/engine/runtime/state.hpp\"\n#include <CLI/CLI.hpp>\n");
    source("tools/demo/demo.cpp", "#include <gantry/result.hpp>\n");
    source("tests/unit/elf/elf_test.cpp",
           "#include \"core/engine/runtime/state.hpp\"\n#include \"tests/x.hpp\"\n");
  }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((dir_ / path).parent_path());
    test::write_file(dir_ / path, std::string_view(text));
  }
  void source(const std::string& path, const std::string& text) {
    write(path, "// SPDX-License-Identifier: Apache-2.0\n" + text);
  }
  std::vector<std::string> breaches() const { return layers::breaches(dir_.path()); }

 private:
  test::TempDir dir_;
};

TEST(Layers, HoldInATreeThatBreaksNoRule) { EXPECT_THAT(FakeTree().breaches(), IsEmpty()); }

struct Breach {
  std::string name;
  std::string path;
  std::string text;
  std::string message;
};
void PrintTo(const Breach& breach, std::ostream* out) { *out << breach.name; }

class LayersRefuse : public ::testing::TestWithParam<Breach> {};

TEST_P(LayersRefuse, WithFileAndLine) {
  const Breach& breach = GetParam();
  FakeTree tree;
  tree.source(breach.path, breach.text);

  EXPECT_THAT(tree.breaches(), ElementsAre(breach.path + breach.message));
}

INSTANTIATE_TEST_SUITE_P(
    All, LayersRefuse,
    ::testing::Values(
        Breach{"ComponentAbove", "core/formats/elf/x.cpp",
               "#include \"core/engine/runtime/state.hpp\"\n",
               ":2: includes core/engine/runtime/state.hpp, but formats/elf may not include "
               "engine/runtime"},
        Breach{"TrailingComment", "core/formats/elf/x.cpp", "int a;  // what a is\n",
               ":2: has a trailing comment"},
        Breach{
            "ComponentNotTransitive", "core/engine/runtime/x.cpp",
            "\n#include \"core/base/yaml/text.hpp\"\n",
            ":3: includes core/base/yaml/text.hpp, but engine/runtime may not include base/yaml"},
        Breach{"ComponentWithoutALine", "core/secret/x.cpp",
               "#include \"core/formats/elf/elf.hpp\"\n",
               ":2: includes core/formats/elf/elf.hpp, from a directory that core/CMakeLists.txt "
               "does not "
               "list"},
        Breach{"ComponentInAngles", "core/formats/elf/x.cpp", "#include <core/base/log.hpp>\n",
               ":2: includes core/base/log.hpp, which must be written \"core/...\""},
        Breach{"ComponentByName", "core/formats/elf/x.cpp", "#include \"elf.hpp\"\n",
               ":2: includes elf.hpp, which is not a path from the root"},
        Breach{"ComponentUpwards", "core/formats/elf/x.cpp", "#include \"../trace/log.hpp\"\n",
               ":2: includes ../trace/log.hpp, which contains .."},
        Breach{"CoreIncludesAPlugin", "core/formats/elf/x.cpp",
               "#include \"plugins/cuda/payload.hpp\"\n",
               ":2: includes plugins/cuda/payload.hpp, which is not a path from the root"},
        Breach{"CoreIncludesTests", "core/formats/elf/x.cpp", "#include \"tests/x.hpp\"\n",
               ":2: includes tests/x.hpp, but only tests may include tests"},
        Breach{"CoreIncludesAHeaderThatIsNotOfTheSdk", "core/formats/elf/x.cpp",
               "#include <gantry/runtime.hpp>\n",
               ":2: includes gantry/runtime.hpp, which is not a header of the SDK"},
        Breach{"CoreQuotesTheSdk", "core/formats/elf/x.cpp", "#include \"gantry/result.hpp\"\n",
               ":2: includes gantry/result.hpp, which must be written <gantry/...>"},
        Breach{"YamlOutsideItsComponent", "core/plugins/manifest/x.cpp",
               "#include <yaml-cpp/yaml.h>\n",
               ":2: includes yaml-cpp/yaml.h, which only core/base/yaml/ may"},
        Breach{"ZlibOutsideItsComponent", "core/writing/x.cpp", "#include <zlib.h>\n",
               ":2: includes zlib.h, which only core/formats/arrays/ may"},
        Breach{"SodiumOutsideItsComponents", "core/writing/x.cpp", "#include <sodium.h>\n",
               ":2: includes sodium.h, which only core/base/digest/ or core/plugins/trust/ may"},
        Breach{"BoostDllOutsideItsComponent", "core/engine/runtime/x.cpp",
               "#include <boost/dll.hpp>\n",
               ":2: includes boost/dll.hpp, which only core/plugins/library/ may"},
        Breach{"GoogleTestInTheProduct", "tools/gantry/x.cpp", "#include <gtest/gtest.h>\n",
               ":2: includes gtest/gtest.h, which only tests/ may"},
        Breach{"PluginIncludesTheCore", "plugins/cuda/x.cpp",
               "#include \"core/engine/runtime/x.hpp\"\n",
               ":2: includes core/engine/runtime/x.hpp, but plugins/cuda/ may include only itself, "
               "the SDK, "
               "core/formats, core/base and libraries"},
        Breach{"PluginIncludesTheCoreInAngles", "plugins/cuda/x.cpp",
               "#include <core/formats/elf/elf.hpp>\n",
               ":2: includes core/formats/elf/elf.hpp, but plugins/cuda/ may include only itself, "
               "the SDK, "
               "core/formats, core/base and libraries"},
        Breach{
            "PluginIncludesTheFormatInAngles", "plugins/cuda/x.cpp",
            "#include <core/formats/graph_json.hpp>\n",
            ":2: includes core/formats/graph_json.hpp, but plugins/cuda/ may include only itself, "
            "the SDK, core/formats, core/base and libraries"},
        Breach{"PluginIncludesAnother", "plugins/opencl/x.cpp",
               "#include \"plugins/cuda/payload.hpp\"\n",
               ":2: includes plugins/cuda/payload.hpp, but plugins/opencl/ may include only "
               "itself, the SDK, core/formats, core/base and libraries"},
        Breach{"PluginIncludesAHeaderThatIsNotOfTheSdk", "plugins/cuda/x.cpp",
               "#include <gantry/runtime.hpp>\n",
               ":2: includes gantry/runtime.hpp, which is not a header of the SDK"},
        Breach{"TemplateIncludesTheCore", "sdk/template/x.c",
               "#include \"core/formats/elf/elf.hpp\"\n",
               ":2: includes core/formats/elf/elf.hpp, but sdk/template/ may include only itself, "
               "the SDK "
               "and libraries"},
        Breach{
            "TemplateIncludesTheFormat", "sdk/template/x.c",
            "#include \"core/formats/graph_json.hpp\"\n",
            ":2: includes core/formats/graph_json.hpp, but sdk/template/ may include only itself, "
            "the SDK and libraries"},
        Breach{"AbiIncludesMoreThanIntegers", "sdk/include/gantry/x.h",
               "#pragma once\n#include <stdbool.h>\n",
               ":3: includes stdbool.h, but the ABI may include only <stdint.h> and <stddef.h>"},
        Breach{
            "SdkIncludesTheCore", "sdk/cxx/gantry/x.hpp",
            "#pragma once\n#include \"core/formats/elf/elf.hpp\"\n",
            ":3: includes core/formats/elf/elf.hpp, but sdk/cxx may include only the ABI and the "
            "standard library"},
        Breach{"SdkIncludesDmlcElsewhere", "sdk/cxx/gantry/x.hpp",
               "#pragma once\n#include <dmlc/io.h>\n",
               ":3: includes dmlc/io.h, but sdk/cxx may include only the ABI and the standard "
               "library"},
        Breach{"ToolIncludesAPlugin", "tools/gantry/x.cpp",
               "#include \"plugins/cuda/payload.hpp\"\n",
               ":2: includes plugins/cuda/payload.hpp, but tools may not include plugins"},
        Breach{
            "DemoIncludesTheCore", "tools/demo/x.cpp",
            "#include \"core/engine/runtime/state.hpp\"\n",
            ":2: includes core/engine/runtime/state.hpp, but tools/demo/ may include only itself, "
            "the SDK and libraries"},
        Breach{"EngineReadsAModel", "core/engine/runtime/x.cpp",
               "#include \"core/formats/graph_json.hpp\"\n",
               ":2: includes core/formats/graph_json.hpp, which only plugins of executors may"},
        Breach{"EngineNamesAnExecutor", "core/engine/runtime/x.cpp",
               "constexpr auto key = graph_factory_key;\n",
               ":2: names an executor, graph_factory_key, which only its plugin may"},
        Breach{"IteratorOfDirectories", "plugins/acme/x.cpp",
               "for (const auto& at : std::filesystem::directory_iterator(path)) use(at);\n",
               ":2: uses directory_iterator, which ends the process if memory is exhausted: "
               "gantry/directory.hpp"},
        Breach{"HeaderWithoutAGuard", "core/formats/elf/x.hpp", "struct X {};\n",
               ":1: has neither #pragma once nor an include guard"},
        Breach{"HeaderWithAWrongGuard", "core/formats/elf/x.hpp",
               "#ifndef A_H\n#define B_H\n#endif\n",
               ":1: has neither #pragma once nor an include guard"},
        Breach{"SecondFileThatReadsTheEnvironment", "core/formats/elf/x.cpp",
               "\nchar* e = std::getenv(\"HOME\");\n",
               ":3: uses getenv, which only core/engine/runtime/environment.cpp may"}),
    [](const auto& test) { return test.param.name; });

TEST(Layers, RequireTheLicenceOnTheFirstLineOfEverySource) {
  FakeTree tree;
  tree.write("tests/unit/elf/x_test.cpp", "\n// SPDX-License-Identifier: Apache-2.0\n");
  tree.write("core/formats/elf/x.cpp", "// SPDX-License-Identifier: Apache-2.0 or so\n");

  EXPECT_THAT(tree.breaches(),
              ElementsAre("core/formats/elf/x.cpp:1: does not begin with the SPDX line",
                          "tests/unit/elf/x_test.cpp:1: does not begin with the SPDX line"));
}

}  // namespace
}  // namespace gantry::layers
