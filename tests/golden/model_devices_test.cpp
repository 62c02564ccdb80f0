// SPDX-License-Identifier: Apache-2.0
//
// The devices of a model, which the command, the C API and the C++ API choose alike. The rows of
// model_devices.json state what each returns; tests/python/test_devices.py plays them, too.
#include "tests/golden/cli_command.hpp"
#include "tests/support/npz_file.hpp"
#include "tests/support/replaced_all.hpp"
#include "tests/unit/embed/embedded.hpp"

#include <gantry/embed.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace gantry::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const json& table() {
  static const json all = [] {
    const auto bytes = read_file(GANTRY_MODEL_DEVICES);
    return json::parse(bytes.begin(), bytes.end());
  }();
  return all;
}

// A row of the table.
struct Row {
  std::string model;
  bool has_plugin = false, has_driver = false, allow_missing = false;
  // the device that the caller names for the load and the model; empty: none
  std::string named;
  // the kind of device of the output, or the name of an error
  std::string result;
  bool strict = false;
};

std::vector<Row> rows() {
  std::vector<Row> all;
  for (const json& row : table().at("rows")) {
    all.push_back({row.at("model"), row.at("plugin"), row.at("driver"), row.at("allow_missing"),
                   row.at("device").is_null() ? "" : row.at("device"), row.at("result")});
  }
  return all;
}

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.model << (row.has_plugin ? "_Plugin" : "_NoPlugin")
             << (row.has_driver ? "_Driver" : "_NoDriver") << (row.allow_missing ? "_Missing" : "")
             << (row.named.empty() ? "" : "_On_") << row.named;
}

// What a run of a model returned: the kind of device of its output, or an error.
struct Answer {
  std::string kind;
  // "load", "model" or "run"; empty: not known
  std::string failed_at;
  std::string reason, message;
};

Answer failure(std::string at, const Error& error) {
  return {"", std::move(at), error.reason, error.message.text()};
}

// The files of a row.
class Place {
 public:
  // value    [in]   of all elements of the input
  explicit Place(const Row& row, float value = 0)
      : row(row),
        config((temp_ / "runtime.yaml").string()),
        named(row.named.empty() ? std::vector<std::string>() : std::vector{row.named}),
        input((temp_ / "x.npz").string()),
        shape(table().at("models").at(row.model).at("shape")) {
    std::string text = concat("cache: ", (temp_ / "cache").native(), "\n");
    if (row.has_plugin) {
      text += concat("backends: {gantry.cuda: {config: {library: ",
                     row.has_driver ? GANTRY_FAKE_CUDA : "/nonexistent/libcuda.so.1", "}}}\n");
    }
    write_file(config, text);
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    elements.assign(count, value);
    const NpzItem x{"x", dtypes::float32, shape, bytes()};
    EXPECT_TRUE(write_npz(input, std::span(&x, 1)).ok());
    plugins = {built_plugins("graph"), built_plugins("relax")};
    if (row.has_plugin) plugins.push_back(built_plugins("cuda"));
  }

  std::string file() const {
    return replaced_all(table().at("models").at(row.model).at("file"), "{built}",
                        GANTRY_BUILT_MODELS);
  }
  // in texts of errors
  std::string name() const { return std::filesystem::path(file()).filename().string(); }

  const Row row;

 private:
  std::span<const std::uint8_t> bytes() const {
    return {reinterpret_cast<const std::uint8_t*>(elements.data()), elements.size() * 4};
  }
  const TempDir temp_;

 public:
  const std::string config;
  const std::vector<std::string> named;
  const std::string input;
  std::vector<std::string> plugins;
  // of the runtime
  std::string warnings;
  const std::vector<std::int64_t> shape;
  // of the input
  std::vector<float> elements;
};

Answer command(Place& place) {
  std::vector<std::string> args{"--config", place.config};
  for (const std::string& directory : place.plugins) {
    args.push_back("--plugins");
    args.push_back(directory);
  }
  args.insert(args.end(), {"run", place.file(), "--input", place.input, "--json"});
  if (place.row.allow_missing) args.push_back("--allow-missing");
  if (place.row.strict) args.push_back("--strict");
  if (!place.row.named.empty()) args.insert(args.end(), {"--device", place.row.named});
  const Outcome run = run_gantry(args);
  // the warnings of the load, each of which is a line
  std::string message = run.err;
  while (message.starts_with("gantry: warning: ")) {
    const std::size_t end = message.find('\n') + 1;
    place.warnings += message.substr(0, end);
    message.erase(0, end);
  }
  if (run.status == 0) return {json::parse(run.out).at("devices").at(0), "", "", ""};
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_THAT(message, ::testing::StartsWith("gantry: "));
  return {"", "", "", message.substr(std::string_view("gantry: ").size())};
}

Answer c_api(Place& place) {
  std::vector<gantry_bytes> paths;
  for (const std::string& directory : place.plugins) paths.push_back(bytes_of(directory));
  gantry_runtime_options options{};
  options.struct_size = sizeof options;
  options.flags = GANTRY_RUNTIME_ONLY_THESE_PLUGINS;
  options.config_file = bytes_of(place.config);
  options.plugin_paths = paths.data();
  options.plugin_path_count = static_cast<std::uint32_t>(paths.size());
  options.log = {.self = &place,
                 .write =
                     [](void* self, std::int32_t, gantry_bytes text) {
                       static_cast<Place*>(self)->warnings += concat(view_of(text), "\n");
                     },
                 .destroy = nullptr};
  const ObjectRef runtime = new_runtime(&options).value();

  const gantry_bytes device = bytes_of(place.row.named);
  gantry_load_options how{};
  how.struct_size = sizeof how;
  if (place.row.allow_missing) how.flags |= GANTRY_LOAD_ALLOW_MISSING;
  if (place.row.strict) how.flags |= GANTRY_LOAD_STRICT;
  if (!place.row.named.empty()) {
    how.devices = &device;
    how.device_count = 1;
  }
  const auto module = load(runtime, golden(place.file()).string(), &how);
  if (!module.ok()) return failure("load", module.error());

  gantry_model_options model_options{};
  model_options.struct_size = sizeof model_options;
  if (!place.row.named.empty()) {
    model_options.devices = &device;
    model_options.device_count = 1;
  }
  const auto model = new_model(*module, &model_options);
  if (!model.ok()) return failure("model", model.error());

  gantry_tensor tensor = tensor_of(place.elements, place.shape);
  const gantry_value input = tensor_ref_value(&tensor);
  gantry_run run{};
  run.struct_size = sizeof run;
  run.inputs = &input;
  run.input_count = 1;
  const Status done = test::run(*model, run);
  if (!done.ok()) return failure("run", done.error());
  const Value result = Value::adopt(run.result);
  const gantry_value* items = nullptr;
  std::uint64_t count = 0;
  EXPECT_EQ(embed().items_get(result.object(), &items, &count, nullptr), GANTRY_OK);
  const gantry_tensor* const output = count == 1 ? gantry_value_tensor(items) : nullptr;
  if (output == nullptr) return {};
  return {std::string(dlpack_name(output->device.type)), "", "", ""};
}

Answer cxx_api(Place& place) {
  RuntimeOptions options;
  options.config_file = place.config;
  options.plugin_paths = place.plugins;
  options.only_these_plugins = true;
  options.log_sink = [&](std::int32_t, std::string_view text) {
    place.warnings += concat(text, "\n");
  };
  const Runtime runtime = Runtime::create(options).value();

  const auto module =
      runtime.load(golden(place.file()).string(), {.allow_missing = place.row.allow_missing,
                                                   .strict = place.row.strict,
                                                   .devices = place.named});
  if (!module.ok()) return failure("load", module.error());
  const auto model = runtime.model(*module, place.named);
  if (!model.ok()) return failure("model", model.error());

  const auto function = model->function();
  if (!function.ok()) return failure("run", function.error());
  const auto x = runtime.read_tensors(place.input);
  const auto outputs = function->run({{"x", x.value().front().second}});
  if (!outputs.ok()) return failure("run", outputs.error());
  return {std::string(dlpack_name(outputs->front().value.tensor()->device().type)), "", "", ""};
}

struct Face {
  std::string name;
  Answer (*play)(Place& place);
  // what names the devices of the caller
  std::string source;
};
std::ostream& operator<<(std::ostream& out, const Face& face) { return out << face.name; }

const Face faces[] = {
    {"Command", command, "--device"}, {"C", c_api, "model_new"}, {"Cxx", cxx_api, "model_new"}};

class ModelDevices : public ::testing::TestWithParam<std::tuple<Face, Row>> {};

TEST_P(ModelDevices, AreThoseOfTheTable) {
  const auto& [face, row] = GetParam();
  Place place(row);

  const Answer answer = face.play(place);

  const json& errors = table().at("errors");
  if (!errors.contains(row.result)) {
    EXPECT_EQ(answer.kind, row.result) << answer.message;
    return;
  }
  const json& error = errors.at(row.result);
  const auto filled = [&](std::string_view key) {
    return replaced_all(replaced_all(error.at(key), "{file}", place.name()), "{source}",
                        face.source);
  };
  EXPECT_EQ(answer.message.substr(0, answer.message.find('\n')), filled("text")) << answer.message;
  EXPECT_THAT(answer.message, HasSubstr(filled("cause")));
  if (face.name == "Command") return;
  EXPECT_EQ(answer.failed_at, error.at("at"));
  EXPECT_EQ(answer.reason, error.at("reason"));
}

INSTANTIATE_TEST_SUITE_P(All, ModelDevices,
                         ::testing::Combine(::testing::ValuesIn(faces),
                                            ::testing::ValuesIn(rows())),
                         [](const auto& test) {
                           return concat(std::get<0>(test.param).name, "_",
                                         ::testing::PrintToString(std::get<1>(test.param)));
                         });

// The table has each combination once.
TEST(ModelDevicesTable, IsComplete) {
  std::vector<std::string> found, expected;
  for (const Row& row : rows()) found.push_back(::testing::PrintToString(row));
  for (const std::string model : {"stated", "implied", "alternatives"}) {
    for (const int bits : {0, 1, 2, 3, 4, 5, 6, 7}) {
      for (const std::string named : {"", "cpu", "cuda"}) {
        const Row row{model, (bits & 4) != 0, (bits & 2) != 0, (bits & 1) != 0, named, ""};
        expected.push_back(::testing::PrintToString(row));
      }
    }
  }
  EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(expected));
}

// Models without the plugin of their kernels or sub-graph.
TEST(ModelDevicesTable, StatesWhichModelsRunWithoutAPlugin) {
  for (const json& entry : table().at("loads without their plugins")) {
    for (const Face& face : faces) {
      SCOPED_TRACE(concat(face.name, " ", entry.dump()));
      Row row{.model = entry.at("model"), .result = entry.at("result")};
      if (!entry.at("device").is_null()) row.named = entry.at("device");
      row.strict = entry.value("strict", false);
      Place place(row);
      const auto filled = [&](const std::string& text) {
        return replaced_all(replaced_all(text, "{file}", place.name()), "{source}", face.source);
      };

      const Answer answer = face.play(place);

      EXPECT_EQ(
          answer.kind.empty() ? answer.message.substr(0, answer.message.find('\n')) : answer.kind,
          filled(row.result));
      const std::string warning = filled(entry.value("warning", ""));
      EXPECT_EQ(place.warnings.empty(), warning.empty()) << place.warnings;
      EXPECT_THAT(place.warnings, HasSubstr(warning));
      // The command's own plugins are those of the build, which --plugins excludes.
      if (!warning.empty() && face.name != "Command") {
        EXPECT_THAT(place.warnings, HasSubstr("no plugin offers it; install plugin gantry."));
      }
    }
  }
}

// Doctor states what a load would do.
TEST(ModelDevicesTable, IsWhatDoctorReports) {
  const Place place({.model = "alternatives"});
  const std::vector<std::string> args{"--plugins", place.plugins[0], "plugins",
                                      "doctor",    "--artifact",     place.file()};

  const Outcome loose = run_gantry(args);
  std::ofstream(place.config, std::ios::app) << "strict: true\n";
  std::vector<std::string> strict_args{"--config", place.config};
  strict_args.insert(strict_args.end(), args.begin(), args.end());
  const Outcome strict = run_gantry(strict_args);

  EXPECT_EQ(loose.status, 0) << loose.out << loose.err;
  EXPECT_THAT(loose.out,
              HasSubstr("  => a load leaves the modules out, because the model runs on cpu\n"));
  EXPECT_EQ(strict.status, 1);
  EXPECT_THAT(strict.out, HasSubstr("  => loading would FAIL\n"));
}

// The CPU code looks up a kernel whose module was left out.
TEST(ModelDevicesTable, CallsIntoAMissingModuleNameItAndItsPlugin) {
  const Row row{.model = "alternatives"};
  for (const Face& face : faces) {
    SCOPED_TRACE(face.name);
    Place place(row, 42);

    const Answer answer = face.play(place);

    EXPECT_THAT(answer.message,
                HasSubstr("entry 2 \"cuda\" of alternatives.so is not bound: left out, because the "
                          "model runs on cpu; no plugin offers it; "));
    if (face.name == "Command") continue;
    EXPECT_THAT(answer.message,
                HasSubstr("install plugin gantry.cuda (CUDA kernels): Debian package "
                          "gantry-plugin-cuda; in Python, pip install gantry-runtime-cuda"));
    EXPECT_EQ(answer.failed_at, "run");
    EXPECT_EQ(answer.reason, "MODULE_UNBOUND");
  }
}

// Of the load or of the configuration.
TEST(ModelDevicesTable, StrictLoadsAllowNothingMissing) {
  for (const bool configured : {false, true}) {
    for (const Face& face : faces) {
      // The command refuses its two options before a load.
      if (face.name == "Command" && !configured) continue;
      SCOPED_TRACE(concat(face.name, configured ? ", configured" : ""));
      Place place({.model = "alternatives", .allow_missing = true, .strict = !configured});
      if (configured) std::ofstream(place.config, std::ios::app) << "strict: true\n";

      const Answer answer = face.play(place);

      EXPECT_THAT(answer.message,
                  HasSubstr(concat("a load cannot allow missing modules (allow_missing) and refuse "
                                   "them (strict",
                                   configured ? concat(", of ", place.config) : "", ")")));
    }
  }
}

TEST(ModelDevicesTable, AStrictConfigurationRefusesKernelsOfAnUnusedDevice) {
  for (const Face& face : faces) {
    SCOPED_TRACE(face.name);
    Place place({.model = "alternatives"});
    std::ofstream(place.config, std::ios::app) << "strict: true\n";

    const Answer answer = face.play(place);

    EXPECT_THAT(answer.message, ::testing::AllOf(HasSubstr("needs \"cuda\", served by no plugin"),
                                                 ::testing::Not(HasSubstr("allow_missing"))));
  }
}

// A device that is named only after the load.
TEST(ModelDevices, RefuseADeviceWhoseKernelsWereLeftOut) {
  const Place place({.model = "alternatives"});
  RuntimeOptions options;
  options.config_file = place.config;
  options.plugin_paths = place.plugins;
  options.only_these_plugins = true;
  options.log_level = "error";
  const Runtime runtime = Runtime::create(options).value();
  const Module module = runtime.load(place.file()).value();

  const auto model = runtime.model(module, {"cuda"});

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, Code::unavailable);
  EXPECT_EQ(model.error().reason, "MODULE_UNBOUND");
  EXPECT_THAT(model.error().message,
              ::testing::AllOf(::testing::StartsWith("entry 2 \"cuda\" of alternatives.so is not "
                                                     "bound: left out, because the model runs on "
                                                     "cpu; no plugin offers it; install plugin "),
                               HasSubstr("\n  while choosing device cuda")));
}

// The module of a load is that of an earlier one, which was more permissive.
TEST(ModelDevices, DecideAboutMissingModulesInEachLoad) {
  const Place place({.model = "alternatives"});
  std::string warnings;
  RuntimeOptions options;
  options.config_file = place.config;
  options.plugin_paths = place.plugins;
  options.only_these_plugins = true;
  options.log_sink = [&](std::int32_t, std::string_view text) { warnings += text; };
  const Runtime runtime = Runtime::create(options).value();
  const Module first = runtime.load(place.file(), {.allow_missing = true}).value();

  EXPECT_EQ(warnings, "");
  EXPECT_TRUE(runtime.load(place.file()).ok());
  EXPECT_THAT(warnings, HasSubstr("entry 2 \"cuda\" of alternatives.so is left out, because "));
  warnings.clear();
  EXPECT_TRUE(runtime.load(place.file(), {.devices = {"cpu"}}).ok());
  EXPECT_EQ(warnings, "");
  for (const LoadOptions& refused :
       {LoadOptions{.strict = true}, LoadOptions{.devices = {"cuda"}}}) {
    const auto module = runtime.load(place.file(), refused);
    ASSERT_FALSE(module.ok());
    EXPECT_EQ(module.error().reason, "NO_PLUGIN");
    EXPECT_THAT(module.error().message,
                HasSubstr("\"cuda\", required by entry 2 \"cuda\" of alternatives.so: no plugin"));
  }
}

}  // namespace
}  // namespace gantry::test
