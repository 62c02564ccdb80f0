// SPDX-License-Identifier: Apache-2.0
//
// Names from outside - of files, symbols, options, variables, manifests, arrays - in the output of
// every command and in the errors of the C++ interface. Each place passes a name that would forge a
// line, control the terminal or change the direction of the text.
#include "tests/golden/cli_command.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/manifest_builder.hpp"
#include "tests/support/npz_file.hpp"
#include "tests/support/params_file.hpp"

#include <gantry/embed.hpp>
#include <gantry/embed/executor.hpp>
#include <gantry/utf8.hpp>

#include <gmock/gmock.h>

#include <array>
#include <filesystem>
#include <functional>
#include <sstream>

namespace gantry::test {
namespace {

namespace fs = std::filesystem;
using Args = std::vector<std::string>;
using ::testing::HasSubstr;

// Without the characters at which lists and paths are divided.
const std::string name = "x\nforged\x1b[31m\xe2\x80\xae\xff";
const std::string utf8_name = name.substr(0, name.size() - 1);
// The same in YAML.
const std::string yaml_name = R"("x\nforged\e[31m\u202E")";
const std::string printable = "mod\xc3\xa8le_\xe6\x97\xa5\xe6\x9c\xac";

constexpr const char* model = "tvm-0.12/digits_mlp_c.so";
const std::string graph_plugin = built_plugins("graph");

// The name is part of the text, escaped.
void expect_escaped(const std::string& text) {
  EXPECT_THAT(text, HasSubstr("forged"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    EXPECT_FALSE(line.substr(begin).starts_with("forged")) << text;
    for (std::size_t at = 0; at < line.size();) {
      const Utf8Character character = decode_utf8(line, at);
      ASSERT_TRUE(character.size != 0 && !is_text_control(character.number))
          << "offset " << at << " of " << line;
      at += character.size;
    }
  }
}

struct Command {
  std::string title;
  Args args;
  Args environment = {};
};
void PrintTo(const Command& command, std::ostream* out) { *out << command.title; }

class NameInACommand : public ::testing::TestWithParam<Command> {};

TEST_P(NameInACommand, IsEscaped) {
  const Outcome done = run_gantry(GetParam().args, GetParam().environment);

  expect_escaped(done.out + done.err);
}

INSTANTIATE_TEST_SUITE_P(
    All, NameInACommand,
    ::testing::Values(
        Command{"Inspect", {"inspect", name}}, Command{"Run", {"run", name}},
        Command{"Bench", {"bench", name}}, Command{"Pack", {"pack", name, "-o", "/nowhere/x.so"}},
        Command{"Plugins", {"--plugins", name, "plugins", "list"}},
        Command{"Config", {"--config", name, "plugins", "list"}},
        Command{"Key", {"plugins", "doctor", "--key", name}},
        Command{"Explain", {"plugins", "explain", name}},
        Command{"Reasons", {"plugins", "reasons", name}},
        Command{"KeyInJson", {"plugins", "doctor", "--json", "--key", name}},
        Command{"Artifact", {"plugins", "doctor", "--artifact", name}},
        Command{"Function", {"--plugins", graph_plugin, "run", model, "--function", name}},
        Command{"Arg", {"--plugins", graph_plugin, "run", model, "--function", "f", "--arg", name}},
        Command{"Input", {"--plugins", graph_plugin, "run", model, "--input", name}},
        Command{"InputFile", {"--plugins", graph_plugin, "run", model, "--input", name + ".npz"}},
        Command{"Expect", {"--plugins", graph_plugin, "run", model, "--expect", name + ".npz"}},
        Command{"Output", {"--plugins", graph_plugin, "run", model, "--output", name}},
        Command{"Trace", {"--plugins", graph_plugin, "run", model, "--trace", name + "/x.json"}},
        Command{"Device", {"--plugins", graph_plugin, "run", model, "--device", name}},
        Command{"DeviceIndex",
                {"--plugins", graph_plugin, "run", model, "--device", "cpu:" + name}},
        Command{"Repeat", {"--plugins", graph_plugin, "run", model, "--repeat", name}},
        Command{"Tree", {"inspect", "--tree", name, model}},
        Command{"Extract", {"inspect", "--extract", name + "/x/y", model}},
        Command{"Timeout", {"devices", "--timeout", name}}, Command{"Option", {"--" + name}},
        Command{"OptionOfACommand", {"inspect", model, "--" + name}},
        Command{"Argument", {"version", name}}, Command{"Word", {name}},
        Command{"WordOfPlugins", {"plugins", name}}, Command{"Help", {"help", name}},
        Command{"Disable", {"plugins", "list"}, {"GANTRY_DISABLE=" + name}},
        Command{"Select", {"plugins", "list"}, {"GANTRY_SELECT=" + name}},
        Command{"PluginFiles", {"plugins", "doctor"}, {"GANTRY_PLUGIN_FILES=/" + name}}),
    [](const auto& test) { return test.param.title; });

// A file that contains the name, or is in a directory of that name, and what is done with it.
struct Place {
  std::string title;
  std::function<void(const fs::path& directory)> make;
  // {} is the directory
  Args args;
};
void PrintTo(const Place& place, std::ostream* out) { *out << place.title; }

class NameInAFile : public ::testing::TestWithParam<Place> {};

TEST_P(NameInAFile, IsEscaped) {
  const TempDir temp;
  GetParam().make(temp.path());
  Args args = GetParam().args;
  for (std::string& arg : args) {
    if (const std::size_t at = arg.find("{}"); at != arg.npos)
      arg.replace(at, 2, temp.path().string());
  }

  const Outcome done = run_gantry(args);

  expect_escaped(done.out + done.err);
}

void write_manifest(const fs::path& directory, ManifestBuilder manifest) {
  manifest.write_to(directory / "p/a/a.yaml");
}

// Files with two arrays, the first of the name.
void write_arrays(const fs::path& directory) {
  constexpr gantry_dtype float32{2, 32, 1};
  const std::array<std::int64_t, 1> shape{1};
  const std::array<std::uint8_t, 4> data{};
  const NpzItem items[] = {{utf8_name, float32, shape, data}, {"b", float32, shape, data}};
  ASSERT_TRUE(write_npz(directory / "a.npz", items).ok());
  const Param params[] = {{utf8_name, {float32, {1}, data}}, {"b", {float32, {1}, data}}};
  write_file(directory / "a.params", params_bytes(params));
}

// Functions, library names and the loader's path of a library.
void write_library(const fs::path& directory) {
  const auto bytes = ElfBuilder().function(name).undefined(name).needed(name).soname(name).build();
  write_file(directory / "a.so", bytes);
}

// A model whose graph calls a function of the name, which has as many bytes as the one before.
void write_graph(const fs::path& directory) {
  const auto bytes = read_file(golden(model));
  std::string file(bytes.begin(), bytes.end());
  constexpr std::string_view key = "\"func_name\": \"";
  const std::size_t at = file.find(key) + key.size();
  std::string forged = R"(x\nforged\u001b[31m)";
  forged.resize(file.find('"', at) - at, 'x');
  write_file(directory / "a.so", file.replace(at, forged.size(), forged));
}

void write_recipe(const fs::path& directory, const std::string& text) {
  write_file(directory / "a.yaml", "schema: \"1.0\"\n" + text);
}

void write_config(const fs::path& directory, const std::string& text) {
  write_file(directory / "a.yaml", text);
}

const Args list = {"--plugins", "{}/p", "plugins", "list"};
const Args doctor = {"--plugins", "{}/p", "plugins", "doctor"};
const Args explain = {"--plugins", "{}/p", "plugins", "explain", "test.fake"};
const Args pack = {"pack", "{}/a.yaml", "-o", "{}/a.so"};
const Args configured = {"--config", "{}/a.yaml", "plugins", "doctor"};

INSTANTIATE_TEST_SUITE_P(
    All, NameInAFile,
    ::testing::Values(
        Place{"Symbol", write_library, {"inspect", "{}/a.so"}},
        Place{"SymbolAtLoad", write_library, {"run", "{}/a.so", "--function", "f", "--force"}},
        Place{"GraphFunction", write_graph, {"--plugins", graph_plugin, "run", "{}/a.so"}},
        Place{"NpzMember", write_arrays, {"inspect", "{}/a.npz"}},
        Place{"NpzMemberAsInput",
              write_arrays,
              {"--plugins", graph_plugin, "run", model, "--input", "{}/a.npz"}},
        Place{"Input",
              write_arrays,
              {"--plugins", graph_plugin, "run", model, "--input", name + "={}/a.npz:b"}},
        Place{"NpzMemberAsExpected",
              write_arrays,
              {"--plugins", graph_plugin, "run", model, "--input",
               golden("tvm-0.12/digits_mlp.input.npz").string(), "--each", "--expect", "{}/a.npz"}},
        Place{"Param", write_arrays, {"inspect", "{}/a.params"}},
        Place{"ArMember",
              [](const fs::path& directory) {
                std::string header = utf8_name + "/";
                header.resize(48, ' ');
                write_file(directory / "a.a", "!<arch>\n" + header + "0         `\n");
              },
              {"inspect", "{}/a.a"}},
        Place{"ManifestFile",
              [](const fs::path& directory) {
                ManifestBuilder().write_to(directory / "p/a" / (name + ".yaml"));
              },
              list},
        Place{"ManifestFileInDoctor",
              [](const fs::path& directory) {
                ManifestBuilder().key("k").write_to(directory / "p/a" / (name + ".yaml"));
              },
              doctor},
        Place{"ManifestFileInExplain",
              [](const fs::path& directory) {
                ManifestBuilder().key("k").write_to(directory / "p/a" / (name + ".yaml"));
              },
              explain},
        Place{"VendorInExplain",
              [](const fs::path& directory) {
                write_manifest(directory, ManifestBuilder().key("k").set("vendor", yaml_name));
              },
              explain},
        Place{"OptionInExplain",
              [](const fs::path& directory) {
                write_manifest(directory, ManifestBuilder().key("k").set(
                                              "config", "{a: " + yaml_name + "}"));
              },
              explain},
        Place{"TwoManifests",
              [](const fs::path& directory) {
                ManifestBuilder().write_to(directory / "p" / name / "a.yaml");
                ManifestBuilder().write_to(directory / "p" / name / "b.yaml");
              },
              doctor},
        Place{"ManifestId",
              [](const fs::path& directory) {
                write_manifest(directory, ManifestBuilder().id(yaml_name));
              },
              doctor},
        Place{"ManifestVersion",
              [](const fs::path& directory) {
                write_manifest(directory, ManifestBuilder().set("version", yaml_name));
              },
              doctor},
        Place{"ManifestKey",
              [](const fs::path& directory) {
                write_manifest(directory, ManifestBuilder().key(yaml_name));
              },
              doctor},
        Place{"ManifestLibrary",
              [](const fs::path& directory) {
                write_manifest(directory, ManifestBuilder().key("k").library(yaml_name));
              },
              doctor},
        Place{"UnknownField",
              [](const fs::path& directory) {
                write_manifest(directory, ManifestBuilder().line(yaml_name + ": 1"));
              },
              doctor},
        Place{"DropIn",
              [](const fs::path& directory) {
                write_manifest(directory, ManifestBuilder().key("k"));
                fs::create_directories(directory / "p/a/a.yaml.d");
                write_file(directory / "p/a/a.yaml.d" / (name + ".yaml"), "no: 1\n");
              },
              doctor},
        Place{"YamlSyntax",
              [](const fs::path& directory) {
                fs::create_directories(directory / "p/a");
                write_file(directory / "p/a/a.yaml", "&" + yaml_name + " *" + utf8_name);
                write_file(directory / "p/a" / (name + ".yaml.d"), "");
                fs::rename(directory / "p/a/a.yaml", directory / "p/a" / (name + ".yaml"));
              },
              doctor},
        Place{"RecipeField",
              [](const fs::path& directory) { write_recipe(directory, yaml_name + ": 1\n"); },
              pack},
        Place{"RecipeInput",
              [](const fs::path& directory) {
                write_file(directory / "a.c", "int f(void) { return 0; }\n");
                write_recipe(directory, "name: a\nsources: [a.c]\ngraph:\n  inputs: {" + yaml_name +
                                            ": no_dtype}\n  outputs: [x]\n");
              },
              pack},
        Place{"CompilerLog",
              [](const fs::path& directory) {
                write_file(directory / "a.c", "#error x\\nforged\x1b[31m\xe2\x80\xae\n");
                write_recipe(directory, "name: a\nsources: [a.c]\n");
              },
              pack},
        Place{"ConfigField",
              [](const fs::path& directory) { write_config(directory, yaml_name + ": 1\n"); },
              configured},
        Place{
            "ConfigValue",
            [](const fs::path& directory) { write_config(directory, "log: " + yaml_name + "\n"); },
            configured},
        Place{"ConfigDirectory",
              [](const fs::path& directory) {
                write_config(directory, "plugins: {dirs: [" + yaml_name + "]}\n");
              },
              configured},
        Place{"ConfigBackend",
              [](const fs::path& directory) {
                write_config(directory, "backends: {" + yaml_name + ": {config: {a: 1}}}\n");
              },
              configured}),
    [](const auto& test) { return test.param.title; });

class NameInTheApi : public ::testing::Test {
 protected:
  NameInTheApi() : runtime_(Runtime::create(options())), model_(runtime_->load(path())) {}

  static RuntimeOptions options() {
    return {.plugin_paths = {graph_plugin}, .only_these_plugins = true};
  }
  static std::string path() { return golden(model).string(); }

  Result<Runtime> runtime_;
  Result<Module> model_;
};

TEST_F(NameInTheApi, IsEscapedInErrors) {
  ASSERT_TRUE(model_.ok()) << model_.error().message;
  Result<Executor> executor = Executor::create(*runtime_, *model_, {"cpu"});
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  const Result<Tensor> tensor = runtime_->tensor({1}, {2, 32, 1});

  expect_escaped(runtime_->load(name).error().message);
  expect_escaped(runtime_->read_tensors(name).error().message);
  expect_escaped(runtime_->device(name).error().message);
  expect_escaped(runtime_->device("cpu:" + name).error().message);
  expect_escaped(Executor::create(*runtime_, *model_, {name}).error().message);
  expect_escaped(Executor::create(*runtime_, *model_, {"cpu"}, name).error().message);
  expect_escaped(model_->function(name).error().message);
  expect_escaped(executor->set_input(name, *tensor).error().message);
  expect_escaped(Runtime::create({.config_file = name}).error().message);
  expect_escaped(Runtime::create({.log_level = name}).error().message);
}

TEST_F(NameInTheApi, IsEscapedInTheLog) {
  const TempDir temp;
  std::string log;
  RuntimeOptions with_log = options();
  with_log.log_level = "debug";
  with_log.log_sink = [&](std::int32_t, std::string_view text) { log.append(text).append("\n"); };
  fs::copy(path(), temp / (name + ".so"));

  const Result<Runtime> runtime = Runtime::create(with_log);
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  ASSERT_TRUE(runtime->load((temp / (name + ".so")).string()).ok());

  expect_escaped(log);
}

TEST(PrintableName, IsPrinted) {
  const TempDir temp;
  const std::string file = (temp / (printable + ".so")).string();
  fs::copy(golden(model), file);

  const Outcome inspect = run_gantry({"inspect", file});
  const Outcome missing = run_gantry({"inspect", file + "x"});

  EXPECT_THAT(inspect.out, HasSubstr(printable + ".so\n"));
  EXPECT_THAT(missing.err, HasSubstr(printable + ".sox"));
}

}  // namespace
}  // namespace gantry::test
