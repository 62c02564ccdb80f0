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
  // the device that the caller names; empty: none
  std::string named;
  // the kind of device of the output, or the name of an error
  std::string result;
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
  explicit Place(const Row& row)
      : row(row),
        config((temp_ / "runtime.yaml").string()),
        input((temp_ / "x.npz").string()),
        shape(table().at("models").at(row.model).at("shape")) {
    write_file(config,
               concat("cache: ", (temp_ / "cache").native(),
                      "\nbackends: {gantry.cuda: {config: {library: ",
                      row.has_driver ? GANTRY_FAKE_CUDA : "/nonexistent/libcuda.so.1", "}}}\n"));
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    elements.resize(count);
    const NpzItem x{"x", dtypes::float32, shape, bytes()};
    EXPECT_TRUE(write_npz(input, std::span(&x, 1)).ok());
    plugins = {built_plugins("graph"), built_plugins("relax")};
    if (row.has_plugin) plugins.push_back(built_plugins("cuda"));
  }

  std::string file() const { return table().at("models").at(row.model).at("file"); }

  const Row& row;

 private:
  std::span<const std::uint8_t> bytes() const {
    return {reinterpret_cast<const std::uint8_t*>(elements.data()), elements.size() * 4};
  }
  const TempDir temp_;

 public:
  const std::string config, input;
  std::vector<std::string> plugins;
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
  if (!place.row.named.empty()) args.insert(args.end(), {"--device", place.row.named});
  const Outcome run = run_gantry(args);
  if (run.status == 0) return {json::parse(run.out).at("devices").at(0), "", "", ""};
  EXPECT_EQ(run.status, 1) << run.err;
  // without the warnings of the load, each of which is a line
  std::string message = run.err;
  while (message.starts_with("gantry: warning: ")) message.erase(0, message.find('\n') + 1);
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
  const ObjectRef runtime = new_runtime(&options).value();

  gantry_load_options how{};
  how.struct_size = sizeof how;
  if (place.row.allow_missing) how.flags = GANTRY_LOAD_ALLOW_MISSING;
  const auto module = load(runtime, golden(place.file()).string(), &how);
  if (!module.ok()) return failure("load", module.error());

  const gantry_bytes device = bytes_of(place.row.named);
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
  const Runtime runtime = Runtime::create(options).value();

  const auto module =
      runtime.load(golden(place.file()).string(), {.allow_missing = place.row.allow_missing});
  if (!module.ok()) return failure("load", module.error());
  std::vector<std::string> devices;
  if (!place.row.named.empty()) devices.push_back(place.row.named);
  const auto model = runtime.model(*module, devices);
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
  const std::string name = std::filesystem::path(place.file()).filename().string();
  const auto filled = [&](std::string_view key) {
    return replaced_all(replaced_all(error.at(key), "{file}", name), "{source}", face.source);
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
  for (const std::string model : {"stated", "implied"}) {
    for (const int bits : {0, 1, 2, 3, 4, 5, 6, 7}) {
      for (const std::string named : {"", "cpu", "cuda"}) {
        const Row row{model, (bits & 4) != 0, (bits & 2) != 0, (bits & 1) != 0, named, ""};
        expected.push_back(::testing::PrintToString(row));
      }
    }
  }
  EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(expected));
}

}  // namespace
}  // namespace gantry::test
