// SPDX-License-Identifier: Apache-2.0
//
// Completions of the built gantry, and the scripts that pass them to bash, zsh and fish.
#include "tests/golden/cli_command.hpp"
#include "tests/golden/shell_program.hpp"
#include "tests/support/manifest_builder.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <set>
#include <sstream>

namespace gantry::test {
namespace {

using Words = std::vector<std::string>;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Without descriptions.
Words completions(const Words& words) {
  Words args{"__complete", "--"};
  args.insert(args.end(), words.begin(), words.end());
  const Outcome outcome = run_gantry(args);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  Words found;
  for (const std::string& line : lines_of(outcome.out))
    found.push_back(line.substr(0, line.find('\t')));
  return found;
}

struct Help {
  // "-q", "--quiet", "run"
  Words options, commands;
};

// The first words of the lines below "Options:", "Global options:" and "Subcommands:".
Help help_of(Words command) {
  command.push_back("--help");
  Help help;
  Words* section = nullptr;
  for (const std::string& line : lines_of(run_gantry(command).out)) {
    if (!line.starts_with("  ")) section = nullptr;
    if (line == "Options:" || line == "Global options:") section = &help.options;
    if (line == "Subcommands:") section = &help.commands;
    if (section == nullptr || !line.starts_with("  ") || line.starts_with("   ")) continue;
    std::istringstream names(line.substr(2, line.find(' ', 2) - 2));
    for (std::string name; std::getline(names, name, ',');) section->push_back(name);
  }
  return help;
}

void for_each_command(const Words& command,
                      const std::function<void(const Words&, const Help&)>& check) {
  const Help help = help_of(command);
  check(command, help);
  for (const std::string& name : help.commands) {
    Words below = command;
    below.push_back(name);
    for_each_command(below, check);
  }
}

// Every command, also those below others.
TEST(Help, HasAtMost100ColumnsAndNoTrailingBlanks) {
  for_each_command({}, [&](Words command, const Help&) {
    command.emplace_back("--help");
    for (const std::string& line : lines_of(run_gantry(command).out)) {
      EXPECT_LE(line.size(), 100) << line;
      EXPECT_FALSE(line.ends_with(" ")) << line;
    }
  });
}

// Both ways: nothing is missing, and nothing is offered that help does not list.
TEST(Completions, AreTheCommandsAndOptionsOfHelp) {
  int commands = 0;
  for_each_command({}, [&](const Words& command, const Help& help) {
    Words words = command;
    words.emplace_back("-");
    EXPECT_THAT(completions(words), UnorderedElementsAreArray(help.options));
    EXPECT_FALSE(help.options.empty());
    words.back() = "";
    if (!help.commands.empty()) {
      EXPECT_EQ(completions(words), help.commands);
    }
    ++commands;
  });
  EXPECT_GE(commands, 12);
}

TEST(Completions, ContainTheFixedValuesOfOptions) {
  EXPECT_THAT(completions({"--log", ""}), ElementsAre("error", "warning", "info", "debug"));
  EXPECT_THAT(completions({"inspect", "--tree=m"}), ElementsAre("--tree=mermaid"));
  EXPECT_THAT(completions({"plugins", "reasons", "LIBRARY_M"}), ElementsAre("LIBRARY_MISSING"));
}

TEST(Completions, DescribeAWordInOneLine) {
  const Outcome outcome = run_gantry({"__complete", "--", "pack", "--form"});

  EXPECT_EQ(outcome.out,
            "--form\twrite a library, or the container alone: library, object, source (C) "
            "or container\n");
}

TEST(Completions, FollowAnotherNameOfACommand) {
  EXPECT_EQ(completions({"plugins", "ls", "-"}), completions({"plugins", "list", "-"}));
}

TEST(Completions, ContainTheNamesOfPluginsThatOptionsAdd) {
  const TempDir temp;
  ManifestBuilder().id("acme.npu").key("acme_key").device("acme").write_to(temp / "a/a.yaml");
  const std::string plugins = temp.path().string();

  EXPECT_THAT(completions({"--plugins", plugins, "run", "--device", ""}),
              ElementsAre("cpu", "acme"));
  EXPECT_THAT(completions({"--plugins=" + plugins, "plugins", "doctor", "--key", "ac"}),
              ElementsAre("acme_key"));
}

TEST(Completions, AreEmptyIfTheConfigurationCannotBeRead) {
  const Outcome outcome = run_gantry(
      {"__complete", "--", "--config", "no/such.yaml", "plugins", "doctor", "--key", ""});

  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, IsEmpty());
}

TEST(HiddenCommand, IsNotListed) {
  EXPECT_EQ(run_gantry({"--help"}).out.find("__"), std::string::npos);
  EXPECT_EQ(run_gantry({"__no"}).status, 2);
}

std::string script(const std::string& name) {
  return golden("../../../tools/gantry/shell/" + name).string();
}

// The words are divided as bash divides them, at = and : as well. The last one is completed.
Words bash(const Words& words, const std::filesystem::path& directory = golden("")) {
  const std::string run =
      "source \"$1\"; shift; COMP_WORDS=(gantry \"$@\"); COMP_CWORD=$#; _gantry gantry; "
      "((${#COMPREPLY[@]})) && printf '%s\\n' \"${COMPREPLY[@]}\"";
  Words command{"bash", "-c", run, "bash", script("gantry.bash")};
  command.insert(command.end(), words.begin(), words.end());
  return lines_of(output_of(command, directory));
}

TEST(CompletionCommand, PrintsTheScriptThatIsInstalled) {
  for (const auto& [shell, file] :
       {std::pair{"bash", "gantry.bash"}, {"zsh", "_gantry"}, {"fish", "gantry.fish"}}) {
    const auto installed = read_file(script(file));

    EXPECT_EQ(run_gantry({"completion", shell}).out,
              std::string(installed.begin(), installed.end()))
        << shell;
  }
}

TEST(BashScript, RegistersItsFunction) {
  const Words run{"bash", "-c", "source \"$1\"; complete -p gantry", "bash", script("gantry.bash")};

  EXPECT_EQ(output_of(run, golden("")), "complete -F _gantry gantry\n");
}

TEST(BashScript, CompletesCommandsAndOptions) {
  EXPECT_THAT(bash({"pl"}), ElementsAre("plugins"));
  EXPECT_THAT(bash({"plugins", "d"}), ElementsAre("doctor"));
  EXPECT_THAT(bash({"run", "--rep"}), ElementsAre("--repeat"));
}

// bash replaces only the part behind "=".
TEST(BashScript, CompletesTheValueBehindAnEqualsSign) {
  EXPECT_THAT(bash({"--log", "=", "de"}), ElementsAre("debug"));
  EXPECT_THAT(bash({"--log", "="}), ElementsAre("error", "warning", "info", "debug"));
}

TEST(BashScript, CompletesFilesWithBlanksInTheirNamesAndDirectories) {
  const TempDir temp;
  write_file(temp / "my model.so", std::string_view("x"));
  std::filesystem::create_directory(temp / "my plugins");

  EXPECT_THAT(bash({"run", "my m"}, temp.path()), ElementsAre("my model.so"));
  EXPECT_THAT(bash({"run", "--input", "x", "=", "my m"}, temp.path()), ElementsAre("my model.so"));
  EXPECT_THAT(bash({"--plugins", "m"}, temp.path()), ElementsAre("my plugins"));
}

TEST(BashScript, CompletesAPluginAsFileOrDirectory) {
  const TempDir temp;
  write_file(temp / "npu.tar.gz", std::string_view("x"));
  std::filesystem::create_directory(temp / "npu-directory");
  for (const char* command : {"install", "check"}) {
    EXPECT_THAT(completions({"plugins", command, ""}), ElementsAre(":files"));
    EXPECT_THAT(bash({"plugins", command, "np"}, temp.path()),
                UnorderedElementsAre("npu.tar.gz", "npu-directory"));
  }
}

TEST(BashScript, ReturnsNothingForAProgramThatCannotRun) {
  const Words run{"bash", "-c",
                  "source \"$1\"; COMP_WORDS=(no/such r); COMP_CWORD=1; _gantry no/such; echo "
                  "${#COMPREPLY[@]}",
                  "bash", script("gantry.bash")};

  EXPECT_EQ(output_of(run, golden("")), "0\n");
}

// The functions of zsh's completion system print their arguments here.
Words zsh(const Words& words) {
  const std::string run =
      "_describe() { print -rl -- \"$2=${(@P)2}\" }; compadd() { shift; print -rl -- \"$@\" }\n"
      "compset() { print -r -- compset $2 }; _files() { print -r -- files $@ }\n"
      "file=$1; shift; words=(gantry \"$@\"); CURRENT=$#words; PREFIX=$words[-1]\n"
      "source $file";
  Words command{"zsh", "-f", "-c", run, "zsh", script("_gantry")};
  command.insert(command.end(), words.begin(), words.end());
  return lines_of(output_of(command, golden("")));
}

TEST(ZshScript, CompletesCommandsValuesAndFiles) {
  if (!has_program("zsh")) GTEST_SKIP() << "zsh is not installed";

  EXPECT_THAT(zsh({"plugins", "d"}),
              ElementsAre("described=doctor:explain which plugin serves each type key and device"));
  EXPECT_THAT(zsh({"--log=de"}), ElementsAre("--log=debug"));
  EXPECT_THAT(zsh({"run", "x"}), ElementsAre("compset *=", "files"));
  EXPECT_THAT(zsh({"--plugins", ""}), ElementsAre("compset *=", "files -/"));
}

Words fish(const std::string& line, const std::filesystem::path& directory = golden("")) {
  return lines_of(output_of({"fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
                             script("gantry.fish"), line},
                            directory));
}

TEST(FishScript, CompletesCommandsValuesAndFiles) {
  if (!has_program("fish")) GTEST_SKIP() << "fish is not installed";
  const TempDir temp;
  write_file(temp / "my model.so", std::string_view("x"));

  EXPECT_THAT(fish("gantry plugins d"),
              ElementsAre("doctor\texplain which plugin serves each type key and device"));
  EXPECT_THAT(fish("gantry --log de"), ElementsAre("debug"));
  EXPECT_THAT(fish("gantry --log=de"), ElementsAre("--log=debug"));
  EXPECT_THAT(fish("gantry run my", temp.path()), ElementsAre(StartsWith("my model.so")));
}

}  // namespace
}  // namespace gantry::test
