// SPDX-License-Identifier: Apache-2.0
#include "core/writing/recipe.hpp"

#include "core/base/absolute_path.hpp"
#include "core/base/file_mark.hpp"
#include "core/base/mapped_file.hpp"
#include "core/base/near_name.hpp"
#include "core/base/text.hpp"
#include "core/base/yaml/yaml_record.hpp"
#include "core/formats/limits.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/launch_tags.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace gantry {
namespace {

namespace fs = std::filesystem;

// Fields with a tensor type, "float32[1, 64]", are texts here; tensor_type() below parses them and
// reports their location.
constexpr YamlField operator_fields[] = {
    {.name = "function", .type = YamlType::text, .required = true},
    {.name = "inputs", .type = YamlType::list, .required = true, .items = YamlType::text},
    {.name = "outputs", .type = YamlType::map, .required = true, .items = YamlType::text},
};
constexpr YamlField parameter_fields[] = {
    {.name = "file", .type = YamlType::text, .required = true},
    {.name = "member", .type = YamlType::text},
    {.name = "transpose", .type = YamlType::boolean},
    {.name = "type", .type = YamlType::text},
};
// The last two are fields of the recipe for its only graph.
constexpr YamlField graph_fields[] = {
    {.name = "file", .type = YamlType::text},
    {.name = "inputs", .type = YamlType::map, .items = YamlType::text},
    {.name = "operators",
     .type = YamlType::list,
     .items = YamlType::record,
     .fields = operator_fields},
    {.name = "outputs", .type = YamlType::list, .items = YamlType::text},
    {.name = "devices", .type = YamlType::list, .items = YamlType::text},
    {.name = "parameters",
     .type = YamlType::map,
     .items = YamlType::record,
     .fields = parameter_fields},
    {.name = "parameter_files", .type = YamlType::list, .items = YamlType::text},
};
constexpr std::span only_graph_fields = std::span(graph_fields).first<5>();
constexpr YamlField root_fields[] = {
    {.name = "type_key", .type = YamlType::text, .required = true},
    {.name = "data", .type = YamlType::text, .required = true},
};
constexpr YamlField kernel_fields[] = {
    {.name = "source", .type = YamlType::text},
    {.name = "arguments", .type = YamlType::list, .required = true, .items = YamlType::text},
    {.name = "launch", .type = YamlType::list, .required = true, .items = YamlType::text},
};
// In the order of KernelCode.
constexpr std::string_view code_choices[] = {"auto", "source", "compiled"};
constexpr YamlField device_module_fields[] = {
    {.name = "type_key", .type = YamlType::text, .required = true},
    {.name = "format", .type = YamlType::text},
    {.name = "data", .type = YamlType::text},
    {.name = "target", .type = YamlType::text},
    {.name = "code", .type = YamlType::choice, .choices = code_choices},
    {.name = "kernels", .type = YamlType::map, .items = YamlType::record, .fields = kernel_fields},
};
constexpr YamlField all_fields[] = {
    {.name = "schema", .type = YamlType::quoted_text, .required = true},
    {.name = "name", .type = YamlType::text},
    {.name = "sources", .type = YamlType::list, .items = YamlType::text},
    {.name = "flags", .type = YamlType::list, .items = YamlType::text},
    {.name = "libraries", .type = YamlType::list, .items = YamlType::text},
    {.name = "graph", .type = YamlType::record, .fields = only_graph_fields},
    {.name = "parameters",
     .type = YamlType::map,
     .items = YamlType::record,
     .fields = parameter_fields},
    {.name = "parameter_files", .type = YamlType::list, .items = YamlType::text},
    {.name = "root", .type = YamlType::record, .fields = root_fields},
    {.name = "graphs", .type = YamlType::map, .items = YamlType::record, .fields = graph_fields},
    {.name = "device_modules",
     .type = YamlType::list,
     .items = YamlType::record,
     .fields = device_module_fields},
};

// A recipe may contain the graph of a large model.
constexpr YamlLimits recipe_limits{.bytes = std::size_t{16} << 20, .depth = 16};

// Suggested for unknown element types and launch tags; others are accepted, too.
constexpr std::string_view known_dtypes[] = {"bool",   "bfloat16", "float16", "float32", "float64",
                                             "handle", "int8",     "int16",   "int32",   "int64",
                                             "uint8",  "uint16",   "uint32",  "uint64"};
constexpr std::string_view known_tags[] = {"blockIdx.x",
                                           "blockIdx.y",
                                           "blockIdx.z",
                                           "threadIdx.x",
                                           "threadIdx.y",
                                           "threadIdx.z",
                                           "tir.use_dyn_shared_memory"};

std::string near_dtype(std::string_view wrong) {
  return did_you_mean(wrong, {std::begin(known_dtypes), std::end(known_dtypes)});
}

std::string near_tag(std::string_view wrong) {
  return did_you_mean(wrong, {std::begin(known_tags), std::end(known_tags)});
}

std::string near_device(std::string_view wrong) {
  std::vector<std::string_view> names;
  for (const auto& known : detail::dlpack_devices) names.push_back(known.name);
  return did_you_mean(wrong, names);
}

// True for the type keys whose loaders accept only the launch tags of parse_launch_tags(). A
// loader of a vendor may have others.
bool has_known_tags(std::string_view type_key) {
  const TypeKey* const key = find_type_key(type_key);
  return key != nullptr && key->content == PayloadContent::kernels && !key->plugin.empty();
}

// Returns "digits.yaml:20:3: parameters.w0" for a YamlEntry or a YamlValue.
template <class Item>
std::string recipe_location(const YamlDocument& document, const Item& item,
                            const std::string& path) {
  const YamlLocation& at = item.location;
  return concat(document.file, ":", at.line, ":", at.column, ": ", path);
}

// The field "type_key" of a module.
Status check_type_key(const YamlRecord& module) {
  const std::string key = module.text("type_key");
  if (key == library_key || key == tree_key) {
    return module.error("type_key", quoted(key), " is reserved by the container");
  }
  if (is_type_key(key)) return {};
  return module.error("type_key", quoted(key), " is not printable ASCII of 1 to ",
                      limits::type_key_bytes, " bytes");
}

// Reads the device modules.
class DeviceReader {
 public:
  DeviceReader(const YamlDocument& document, fs::path directory)
      : document_(document), directory_(std::move(directory)) {}

  Result<std::vector<DeviceModuleSource>> read(const YamlRecord& root) const {
    std::vector<DeviceModuleSource> modules;
    std::set<std::string_view> names;
    for (const YamlRecord& fields : root.records("device_modules")) {
      DeviceModuleSource module;
      module.type_key = fields.text("type_key");
      module.location =
          recipe_location(document_, *fields.find("type_key"), fields.path_of("type_key"));
      GANTRY_CHECK(check_type_key(fields));
      module.format = fields.text("format");
      const bool has_data = fields.has("data");
      if (has_data) {
        module.data = directory_ / fields.text("data");
        if (module.format.empty() != !fields.has("kernels")) {
          return fields.error(
              "kernels",
              "kernels and format require each other; without both, data is the whole payload");
        }
      } else {
        if (!module.format.empty() || fields.entries("kernels").empty()) {
          return fields.error(
              "data", "without data, each kernel requires a source and format must be absent");
        }
        module.format = module.type_key == "opencl" ? "cl" : module.type_key;
      }
      GANTRY_CHECK(read_build(fields, module));
      for (const YamlEntry& entry : fields.entries("kernels")) {
        const std::string path = yaml_path(fields.path_of("kernels"), entry.key);
        const YamlRecord kernel(document_, entry.value, path);
        KernelSource source{entry.key,
                            {},
                            kernel.texts("launch"),
                            kernel.text("source"),
                            recipe_location(document_, entry, path)};
        if (source.source.empty() != has_data) {
          return kernel.error("source",
                              "a kernel requires a source exactly if its module has no data");
        }
        if (!has_data && !is_c_identifier(entry.key)) {
          return kernel.error("source",
                              "the name of a kernel with a source must be a C identifier");
        }
        GANTRY_TRY(source.arguments, read_arguments(kernel));
        if (has_known_tags(module.type_key)) GANTRY_CHECK(check_launch(kernel, entry.key));
        // CPU code searches all modules for a kernel and uses the first one found.
        if (!names.insert(entry.key).second) {
          return yaml_error(document_.file, entry.location, path, "another module has this kernel");
        }
        module.kernels.push_back(std::move(source));
      }
      modules.push_back(std::move(module));
    }
    return modules;
  }

 private:
  // Reads how the sources of a module are compiled.
  Status read_build(const YamlRecord& fields, DeviceModuleSource& module) const {
    for (const std::string_view key : {"target", "code"}) {
      if (fields.has(key) && fields.has("data")) {
        return fields.error(key, key, " requires kernels with sources, and the module has data");
      }
    }
    module.target = fields.text("target");
    if (const YamlValue* target = fields.find("target")) {
      module.target_location = recipe_location(document_, *target, fields.path_of("target"));
    }
    const auto* const code = std::ranges::find(code_choices, fields.text("code", code_choices[0]));
    module.code = static_cast<KernelCode>(code - code_choices);
    return {};
  }

  static Result<std::vector<gantry_dtype>> read_arguments(const YamlRecord& kernel) {
    std::vector<gantry_dtype> arguments;
    for (const std::string& text : kernel.texts("arguments")) {
      const Result<gantry_dtype> dtype = parse_dtype(text);
      if (!dtype.ok()) {
        return kernel.item_error("arguments", arguments.size(), dtype.error().message,
                                 near_dtype(text));
      }
      arguments.push_back(*dtype);
    }
    return arguments;
  }

  // Checks each tag on its own; the loader checks their order.
  static Status check_launch(const YamlRecord& kernel, std::string_view name) {
    const std::vector<std::string> tags = kernel.texts("launch");
    for (std::size_t i = 0; i < tags.size(); ++i) {
      const Result<LaunchTags> tag = parse_launch_tags(std::span(&tags[i], 1), name);
      if (tag.ok()) continue;
      return kernel.item_error("launch", i, tag.error().message, near_tag(tags[i]));
    }
    return {};
  }

  const YamlDocument& document_;
  fs::path directory_;
};

class RecipeReader {
 public:
  RecipeReader(const YamlDocument& document, fs::path directory)
      : document_(document), directory_(std::move(directory)) {}

  Result<Recipe> read() {
    GANTRY_TRY(const YamlRecord root, read_record(document_, all_fields));
    if (!root.text("schema").starts_with("1.")) {
      return unsupported(recipe_location(document_, *root.find("schema"), "schema"), ": is ",
                         quoted(root.text("schema")), ", this version reads 1.x");
    }
    Recipe recipe;
    recipe.directory = directory_;
    recipe.sources = root.texts("sources");
    if (const YamlValue* sources = root.find("sources")) {
      recipe.sources_location = recipe_location(document_, *sources, "sources");
    }
    recipe.flags = root.texts("flags");
    recipe.libraries = root.texts("libraries");
    GANTRY_CHECK(read_only_graph(root, recipe));
    GANTRY_CHECK(read_root(root, recipe));
    GANTRY_TRY(recipe.device_modules, DeviceReader(document_, directory_).read(root));
    if (recipe.sources.empty() && recipe.device_modules.empty() && recipe.graphs.empty()) {
      return root.error("sources",
                        "there is nothing to pack: no sources, no graph, no device modules");
    }
    return recipe;
  }

 private:
  Result<TensorType> tensor_type(const YamlValue& value, const std::string& path) const {
    Result<TensorType> type = parse_type(value.text);
    if (type.ok()) return type;
    const std::string_view dtype = std::string_view(value.text).substr(0, value.text.find('['));
    return yaml_error(document_.file, value.location, path, type.error().message,
                      parse_dtype(dtype).ok() ? "" : near_dtype(dtype));
  }

  // Reads a map of names to types.
  Result<std::vector<GraphTensor>> tensors(const YamlRecord& record, std::string_view key) const {
    std::vector<GraphTensor> all;
    for (const YamlEntry& entry : record.entries(key)) {
      GANTRY_TRY(TensorType type,
                 tensor_type(entry.value, yaml_path(record.path_of(key), entry.key)));
      all.push_back({entry.key, std::move(type)});
    }
    return all;
  }

  // The keys `name`, `graph`, `parameters` and `parameter_files`.
  Status read_only_graph(const YamlRecord& root, Recipe& recipe) const {
    const YamlRecord graph = root.record("graph");
    if (!graph) {
      const std::string_view key =
          root.entries("parameters").empty() ? "parameter_files" : "parameters";
      if (root.entries("parameters").empty() && root.texts("parameter_files").empty()) return {};
      return root.error(key, "parameters require a graph, and there is no graph");
    }
    RecipeGraph& made = recipe.graphs.emplace_back();
    made.name = root.text("name", made.name);
    GANTRY_CHECK(read_graph(*root.find("graph"), graph, "graph", made));
    return read_parameters(root, made);
  }

  // The keys `root` and `graphs`.
  Status read_root(const YamlRecord& root, Recipe& recipe) const {
    const YamlRecord fields = root.record("root");
    if (!fields && !root.has("graphs")) return {};
    if (!fields || root.entries("graphs").empty()) {
      return root.error(fields ? "graphs" : "root",
                        "root and graphs require each other, and at least one graph");
    }
    for (const std::string_view key : {"graph", "name"}) {
      if (root.has(key)) {
        return root.error(key, key, " excludes graphs, each of which has its name as its key");
      }
    }
    GANTRY_CHECK(check_type_key(fields));
    DeviceModuleSource& module = recipe.root.emplace();
    module.type_key = fields.text("type_key");
    module.data = directory_ / fields.text("data");
    module.location = recipe_location(document_, *fields.find("type_key"), "root.type_key");
    for (const YamlEntry& entry : root.entries("graphs")) {
      const std::string path = yaml_path("graphs", entry.key);
      const YamlRecord graph(document_, entry.value, path);
      RecipeGraph& made = recipe.graphs.emplace_back();
      made.name = entry.key;
      GANTRY_CHECK(read_graph(entry.value, graph, path, made));
      GANTRY_CHECK(read_parameters(graph, made));
    }
    return {};
  }

  // value    [in]   of `graph`, at `path`
  Status read_graph(const YamlValue& value, const YamlRecord& graph, const std::string& path,
                    RecipeGraph& made) const {
    made.location = recipe_location(document_, value, path);
    const bool written = graph.has("inputs") || graph.has("operators") || graph.has("outputs");
    if (graph.has("file") == written) {
      return yaml_error(document_.file, value.location, path,
                        "a graph requires either file, or inputs, operators and outputs");
    }
    if (!written) {
      if (graph.has("devices")) {
        return graph.error("devices",
                           "devices are stated for a graph in the recipe; the file states its own");
      }
      made.source = directory_ / graph.text("file");
      return {};
    }
    GraphDescription description;
    description.location = made.location;
    GANTRY_TRY(description.inputs, tensors(graph, "inputs"));
    for (const YamlRecord& step : graph.records("operators")) {
      GANTRY_TRY(std::vector<GraphTensor> outputs, tensors(step, "outputs"));
      description.operators.push_back(
          {step.text("function"), step.texts("inputs"), std::move(outputs),
           recipe_location(document_, *step.find("function"), step.path_of("function"))});
    }
    description.outputs = graph.texts("outputs");
    GANTRY_TRY(description.devices, read_devices(graph));
    made.source = std::move(description);
    return {};
  }

  static Result<std::vector<std::int32_t>> read_devices(const YamlRecord& graph) {
    std::vector<std::int32_t> types;
    for (const std::string& name : graph.texts("devices")) {
      const std::int32_t type = dlpack_number(name);
      if (type == 0) {
        return graph.item_error("devices", types.size(),
                                concat("device ", quoted(name), " has no number in artifacts"),
                                near_device(name));
      }
      if (std::ranges::find(types, type) != types.end()) {
        return graph.item_error("devices", types.size(), concat(quoted(name), " is given twice"));
      }
      types.push_back(type);
    }
    return types;
  }

  // record   [in]   the recipe, or a graph of `graphs`
  Status read_parameters(const YamlRecord& record, RecipeGraph& graph) const {
    for (const YamlEntry& entry : record.entries("parameters")) {
      const std::string path = yaml_path(record.path_of("parameters"), entry.key);
      const YamlRecord fields(document_, entry.value, path);
      ParameterSource source;
      source.name = entry.key;
      source.file = directory_ / fields.text("file");
      source.member = fields.text("member");
      source.transpose = fields.boolean("transpose");
      source.location = recipe_location(document_, entry, path);
      if (const YamlValue* type = fields.find("type")) {
        GANTRY_TRY(source.type, tensor_type(*type, fields.path_of("type")));
      }
      graph.parameters.push_back(std::move(source));
    }
    const std::vector<std::string> files = record.texts("parameter_files");
    for (std::size_t i = 0; i < files.size(); ++i) {
      ParameterSource source;
      source.file = directory_ / files[i];
      const std::string path = yaml_path(record.path_of("parameter_files"), i);
      source.location = recipe_location(document_, record.find("parameter_files")->items[i], path);
      graph.parameter_files.push_back(std::move(source));
    }
    return {};
  }

  const YamlDocument& document_;
  fs::path directory_;
};

}  // namespace

Result<Recipe> parse_recipe(std::string_view text, std::string file_name,
                            const fs::path& directory) {
  GANTRY_TRY(const YamlDocument document, parse_yaml(text, std::move(file_name), recipe_limits));
  return RecipeReader(document, directory).read();
}

std::span<const YamlField> recipe_fields() { return all_fields; }

Result<Recipe> read_recipe(const fs::path& file) {
  GANTRY_TRY(const auto mapped, MappedFile::open(file));
  const auto mark = find_file_mark(mapped->bytes());
  if (mark && mark->what != text_file_words) {
    return malformed(0, file.native(), " is not a recipe", file_mark_text(mapped->bytes()));
  }
  GANTRY_TRY(Recipe recipe, parse_recipe(as_text(mapped->bytes()), file.native(),
                                         absolute_path(file).parent_path()));
  recipe.file = file;
  return recipe;
}

}  // namespace gantry
