// SPDX-License-Identifier: Apache-2.0
#include "core/writing/recipe_devices.hpp"

#include "core/base/near_name.hpp"
#include "core/base/text.hpp"
#include "core/formats/limits.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/launch_tags.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace gantry {
namespace {

constexpr YamlField kernel_fields[] = {
    {.name = "source", .type = YamlType::text},
    {.name = "arguments", .type = YamlType::list, .required = true, .items = YamlType::text},
    {.name = "launch", .type = YamlType::list, .required = true, .items = YamlType::text},
};
// In the order of KernelCode.
constexpr std::string_view code_choices[] = {"auto", "source", "compiled"};

// Suggested for unknown element types and launch tags; others are accepted, too.
constexpr std::string_view usual_dtypes[] = {"bool",   "bfloat16", "float16", "float32", "float64",
                                             "handle", "int8",     "int16",   "int32",   "int64",
                                             "uint8",  "uint16",   "uint32",  "uint64"};
constexpr std::string_view usual_tags[] = {"blockIdx.x",
                                           "blockIdx.y",
                                           "blockIdx.z",
                                           "threadIdx.x",
                                           "threadIdx.y",
                                           "threadIdx.z",
                                           "tir.use_dyn_shared_memory"};

std::string near_tag(std::string_view wrong) {
  return did_you_mean(wrong, {std::begin(usual_tags), std::end(usual_tags)});
}

// True for the type keys whose loaders accept only the launch tags of parse_launch_tags(). A
// loader of a vendor may have others.
bool has_known_tags(std::string_view type_key) {
  const TypeKey* const key = find_type_key(type_key);
  return key != nullptr && key->content == PayloadContent::kernels && !key->plugin.empty();
}

class DeviceReader {
 public:
  DeviceReader(const YamlDocument& document, std::filesystem::path directory)
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
        // Host code searches all modules for a kernel and uses the first one found.
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

  static Status check_type_key(const YamlRecord& module) {
    const std::string key = module.text("type_key");
    if (key == library_key || key == tree_key) {
      return module.error("type_key", quoted(key), " is reserved by the container");
    }
    if (is_type_key(key)) return {};
    return module.error("type_key", quoted(key), " is not printable ASCII of 1 to ",
                        limits::type_key_bytes, " bytes");
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
  std::filesystem::path directory_;
};

}  // namespace

constinit const YamlField device_module_fields[6] = {
    {.name = "type_key", .type = YamlType::text, .required = true},
    {.name = "format", .type = YamlType::text},
    {.name = "data", .type = YamlType::text},
    {.name = "target", .type = YamlType::text},
    {.name = "code", .type = YamlType::choice, .choices = code_choices},
    {.name = "kernels", .type = YamlType::map, .items = YamlType::record, .fields = kernel_fields},
};

Result<std::vector<DeviceModuleSource>> read_device_modules(
    const YamlRecord& root, const YamlDocument& document, const std::filesystem::path& directory) {
  return DeviceReader(document, directory).read(root);
}

std::string near_dtype(std::string_view wrong) {
  return did_you_mean(wrong, {std::begin(usual_dtypes), std::end(usual_dtypes)});
}

std::string recipe_location(const YamlDocument& document, const YamlLocation& at,
                            const std::string& path) {
  return concat(document.file, ":", at.line, ":", at.column, ": ", path);
}

}  // namespace gantry
