// SPDX-License-Identifier: Apache-2.0
#include "core/writing/pack.hpp"

#include "core/base/near_name.hpp"
#include "core/base/output_file.hpp"
#include "core/base/temp_directory.hpp"
#include "core/base/text.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/type_key.hpp"
#include "core/writing/appended_container.hpp"
#include "core/writing/container.hpp"
#include "core/writing/container_source.hpp"
#include "core/writing/converted_payload.hpp"
#include "core/writing/cpu_code.hpp"
#include "core/writing/device_payload.hpp"
#include "core/writing/elf_object.hpp"
#include "core/writing/graph_payload.hpp"
#include "core/writing/graph_requirements.hpp"
#include "core/writing/parameter_file.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/byte_count.hpp>
#include <gantry/join.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <system_error>

namespace gantry {
namespace {

namespace fs = std::filesystem;

Result<std::string> graph_json(const RecipeGraph& graph,
                               const std::vector<GraphTensor>& parameters) {
  if (const auto* written = std::get_if<GraphDescription>(&graph.source)) {
    return write_graph_json(*written, parameters);
  }
  auto file = MappedFile::open(std::get<fs::path>(graph.source));
  if (!file.ok()) return std::move(file).failure().at("for ", graph.location);
  return std::string(as_text((*file)->bytes()));
}

InputFiles input_files(const Recipe& recipe, const InputFiles& more) {
  InputFiles files = more;
  files.add(recipe.file);
  for (const auto* names : {&recipe.sources, &recipe.libraries}) {
    for (const std::string& name : *names) files.add(recipe.directory / name);
  }
  for (const RecipeGraph& graph : recipe.graphs) {
    if (const auto* file = std::get_if<fs::path>(&graph.source)) files.add(*file);
    for (const auto* sources : {&graph.parameters, &graph.parameter_files}) {
      for (const ParameterSource& source : *sources) files.add(source.file);
    }
  }
  if (recipe.root) files.add(recipe.root->data);
  for (const DeviceModuleSource& module : recipe.device_modules) {
    files.add(module.data);
    for (const KernelSource& kernel : module.kernels) files.add(recipe.directory / kernel.source);
  }
  return files;
}

// The files that a form may replace. Others are more likely files that the recipe does not name,
// for example headers, than artifacts to replace.
struct Replaceable {
  PackForm form;
  bool (*accepts)(std::span<const std::uint8_t> bytes);
  std::string_view kind;
};
constexpr Replaceable replaceable[] = {
    {PackForm::library, has_elf_magic, "an ELF file"},
    {PackForm::object, has_elf_magic, "an ELF file"},
    {PackForm::source,
     [](std::span<const std::uint8_t> bytes) {
       return as_text(bytes).starts_with(container_source_mark);
     },
     "the source of a container"},
    {PackForm::container, looks_like_container, "a container"},
};

Status check_sources(const Recipe& recipe) {
  for (const std::string& name : recipe.sources) {
    const fs::path source = recipe.directory / name;
    std::error_code error;
    if (fs::exists(source, error)) continue;
    Error missing = not_found("source ", quoted(source.native()), " does not exist");
    if (!recipe.sources_location.empty()) missing.at("for ", recipe.sources_location);
    return missing;
  }
  return {};
}

// The payload of a graph and the functions that it calls.
struct GraphPart {
  const RecipeGraph* source = nullptr;
  GraphPayload payload;
  std::vector<std::string> functions;
};

Result<GraphPart> build_graph(const RecipeGraph& recipe, ParameterFiles& files) {
  GraphPart part;
  part.source = &recipe;
  std::vector<GraphTensor> parameters;
  std::vector<ParameterSource> sources = recipe.parameters;
  for (const ParameterSource& file : recipe.parameter_files) {
    GANTRY_TRY(const std::vector<ParameterSource> more, files.all_of(file));
    sources.insert(sources.end(), more.begin(), more.end());
  }
  std::set<std::string_view> names;
  for (const ParameterSource& source : sources) {
    if (!names.insert(source.name).second) {
      return invalid("parameter ", quoted(source.name), " is given twice, expected once")
          .at("for ", source.location);
    }
    GANTRY_TRY(Parameter parameter, files.find(source));
    parameters.push_back({parameter.name, {parameter.dtype, parameter.shape}});
    part.payload.parameters.push_back(std::move(parameter));
  }
  GANTRY_TRY(part.payload.graph_json, graph_json(recipe, parameters));
  Result<Graph> graph = read_graph_json(part.payload.graph_json, 0);
  if (!graph.ok()) {
    if (const auto* file = std::get_if<fs::path>(&recipe.source)) {
      graph.error().at("in ", file->native()).at("for ", recipe.location);
    }
    return std::move(graph).failure();
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Status checked = check_parameter(*graph, parameters[i]);
    if (!checked.ok()) {
      return std::move(checked).error().at("for ", sources[i].location);
    }
  }
  part.payload.module_name = recipe.name;
  part.functions = called_functions(*graph);
  return part;
}

// Returns the module graph: the root, if there is one, imports the graphs, each of which imports the
// CPU code, which imports the device modules. A container lists the imports of a module from the
// last to the first, so they are reversed here to get the order of the recipe.
std::vector<ContainerModule> module_graph(const Recipe& recipe, std::span<const GraphPart> graphs,
                                          const Generators& generators, Generation generation) {
  std::vector<ContainerModule> modules;
  if (recipe.root) {
    modules.push_back({recipe.root->type_key, {}, [&recipe, &generators, generation](Pieces& out) {
                         return write_device_payload(*recipe.root, generators, out, generation);
                       }});
    for (std::size_t i = graphs.size(); i > 0; --i) modules[0].imports.push_back(i);
  }
  const std::size_t cpu_code = modules.size() + graphs.size();
  for (const GraphPart& graph : graphs) {
    modules.push_back({std::string(graph_factory_key), {cpu_code}, [&graph](Pieces& out) {
                         return write_graph_payload(graph.payload, out);
                       }});
  }
  modules.push_back({});
  for (const DeviceModuleSource& source : recipe.device_modules) {
    modules[cpu_code].imports.push_back(modules.size());
    modules.push_back({source.type_key, {}, [&source, &generators, generation](Pieces& out) {
                         return write_device_payload(source, generators, out, generation);
                       }});
  }
  std::reverse(modules[cpu_code].imports.begin(), modules[cpu_code].imports.end());
  return modules;
}

// Has each payload added to a report when it is written, which is in the order of the entries.
void record_payloads(std::vector<ContainerModule>& modules, PackReport& report) {
  for (ContainerModule& module : modules) {
    if (module.type_key.empty()) continue;
    module.write_payload = [write = std::move(module.write_payload), type_key = module.type_key,
                            &report](Pieces& out) -> Status {
      const std::uint64_t begin = out.offset();
      GANTRY_CHECK(write(out));
      report.modules.push_back({type_key, out.offset() - begin});
      return {};
    };
  }
}

// Checks that releases of the generation know the modules, as repack does.
Status check_type_keys(const Recipe& recipe, Generation generation) {
  const auto check = [&](std::string_view type_key, const std::string& location) -> Status {
    const Result<std::string> converted = converted_type_key(type_key, generation);
    return converted.ok() ? Status() : Status(Error(converted.error()).at("for ", location));
  };
  if (recipe.root) GANTRY_CHECK(check(recipe.root->type_key, recipe.root->location));
  for (const RecipeGraph& graph : recipe.graphs) {
    GANTRY_CHECK(check(graph_factory_key, graph.location));
  }
  for (const DeviceModuleSource& module : recipe.device_modules) {
    GANTRY_CHECK(check(module.type_key, module.location));
  }
  return {};
}

// Checks that the library has every function that a graph calls, because the linker does not see
// these calls.
Status check_functions(const ElfFile& library, const GraphPart& part) {
  for (const std::string& function : part.functions) {
    const ElfSymbol* symbol = library.find(function);
    if (symbol != nullptr && symbol->defined()) continue;
    std::vector<std::string_view> defined;
    for (const ElfSymbol& other : library.symbols()) {
      const bool is_function = other.exported() && other.type == SymbolType::function;
      if (is_function && !other.name.starts_with('_')) defined.push_back(other.name);
    }
    Error error = not_found(
        "graph calls function ", quoted(function), did_you_mean(function, defined),
        ", the CPU code has ",
        defined.empty() ? "none" : join(defined, ", ", std::identity(), max_listed_names));
    const auto* graph = std::get_if<GraphDescription>(&part.source->source);
    if (graph == nullptr) return std::move(error).at("for ", part.source->location);
    const auto call = std::ranges::find(graph->operators, function, &GraphOperator::function);
    if (call->location.empty()) return error;
    return std::move(error).at("for ", call->location);
  }
  return {};
}

// Checks that no function has the name of a graph below a root. A module finds functions in its
// imports depth first, so it would find that of the CPU code, which the first graph imports.
Status check_graph_names(const ElfFile& library, const Recipe& recipe) {
  if (!recipe.root) return {};
  for (const RecipeGraph& graph : recipe.graphs) {
    const ElfSymbol* const symbol = library.find(graph.name);
    if (symbol == nullptr || !symbol->defined()) continue;
    return invalid("graph ", quoted(graph.name),
                   " has the name of a function of the CPU code; expected another name")
        .at("for ", graph.location);
  }
  return {};
}

// A payload without a format may define functions that only its plugin can list.
bool has_unknown_functions(const Recipe& recipe) {
  return std::ranges::any_of(recipe.device_modules, [](const DeviceModuleSource& module) {
    return module.format.empty();
  });
}

// Writes the result. Nothing is written before everything but the data of the container is known.
class Writer {
 public:
  Writer(OutputFile& file, const PackOptions& options) : file_(file), options_(options) {}

  // A library with this container; NULL: with its own, or none.
  Status write_library(const CpuCodeLibrary& library, const Pieces* container) {
    if (container == nullptr) {
      Pieces bytes;
      bytes.append(FileRange{library.file, 0, library.file->bytes().size()});
      return write([&](dmlc::Stream& out) { return bytes.write_to(out); });
    }
    const std::string_view symbol = generation_facts(options_.generation).symbol;
    return write(
        [&](dmlc::Stream& out) { return append_container(library.file, symbol, *container, out); });
  }

  // The container alone.
  Status write_container_alone(Pieces container, ElfMachine machine) {
    const GenerationFacts& facts = generation_facts(options_.generation);
    const std::string symbol = concat(options_.system_library.value_or(""), facts.symbol);
    const std::string_view register_function =
        options_.system_library ? facts.register_function : std::string_view();
    if (options_.form == PackForm::source) {
      return write([&](dmlc::Stream& out) {
        return write_container_source({symbol, register_function}, container, out);
      });
    }
    if (options_.form == PackForm::object) {
      ElfObject object;
      object.machine = machine;
      object.symbol = symbol;
      object.register_function = register_function;
      GANTRY_TRY(container, write_elf_object(object, std::move(container)));
    }
    return write([&](dmlc::Stream& out) { return container.write_to(out); });
  }

 private:
  template <class Write>
  Status write(const Write& write_to) {
    GANTRY_CHECK(file_.start());
    DescriptorStream out(::fileno(file_.stream()), file_.path().native());
    GANTRY_CHECK(write_to(out));
    GANTRY_CHECK(out.status());
    return file_.commit();
  }

  OutputFile& file_;
  const PackOptions& options_;
};

}  // namespace

Status check_replaced(const OutputFile& output, PackForm form) {
  const Replaceable& expected = *std::ranges::find(replaceable, form, &Replaceable::form);
  return output.check_replaces(expected.kind, expected.accepts);
}

Status pack(const Recipe& recipe, const fs::path& output, const PackOptions& options) {
  return guard([&]() -> Status {
    const auto report = [&](const auto&... words) {
      if (options.progress) options.progress(concat(words...));
    };
    if (options.system_library && options.form != PackForm::object &&
        options.form != PackForm::source) {
      return invalid("a system library is linked into a program; expected form object or source");
    }
    GANTRY_TRY(OutputFile file, OutputFile::open(output, input_files(recipe, options.inputs)));
    if (options.uses_standard_output && file.is_standard_output())
      return invalid("standard output is used twice, by --output and --json");
    GANTRY_CHECK(check_replaced(file, options.form));
    GANTRY_CHECK(check_sources(recipe));
    GANTRY_CHECK(check_type_keys(recipe, options.generation));
    ParameterFiles parameter_files;
    std::vector<GraphPart> graphs;
    for (const RecipeGraph& graph : recipe.graphs) {
      report("reading the graph and ", graph.parameters.size(), " parameters");
      GANTRY_TRY(GraphPart part, build_graph(graph, parameter_files));
      graphs.push_back(std::move(part));
    }

    const bool is_beside = !file.is_stream() && TempDirectory::is_safe_beside(output);
    GANTRY_TRY(TempDirectory directory,
               is_beside ? TempDirectory::beside(output)
                         : TempDirectory::in(options.temporary, "gantry-pack.so"));
    const Generators generators{.tools = {.programs = options.programs,
                                          .directory = recipe.directory,
                                          .scratch = directory.path(),
                                          .flags = recipe.flags,
                                          .libraries = recipe.libraries},
                                .kinds = options.kinds,
                                .open_plugin = options.open_generator,
                                .warn = options.warn};
    std::vector<ContainerModule> modules =
        module_graph(recipe, graphs, generators, options.generation);
    PackReport written;
    // CPU code alone needs no container.
    std::optional<Pieces> container;
    if (modules.size() > 1) {
      record_payloads(modules, written);
      GANTRY_TRY(container, write_container(modules, options.generation));
      written.bytes = container->size();
      // CPU code has no payload. Its importers are before it, and its imports follow.
      const std::size_t above = graphs.size() + (recipe.root ? 1 : 0);
      written.modules.insert(written.modules.begin() + static_cast<std::ptrdiff_t>(above),
                             {std::string(library_key), 0});
    }
    if (options.report != nullptr) *options.report = written;
    const auto report_container = [&] {
      if (!container) return;
      report("writing a container of ", human_size(container->size()), ", ", modules.size(),
             " modules");
    };
    Writer writer(file, options);
    if (options.form != PackForm::library) {
      if (!container) {
        return invalid(
            "recipe has CPU code only, which needs no container; expected a graph or "
            "device_modules");
      }
      std::vector<std::string> words = options.programs.compiler;
      words.insert(words.end(), recipe.flags.begin(), recipe.flags.end());
      { const TempDirectory removed = std::move(directory); }
      report_container();
      return writer.write_container_alone(std::move(*container), target_machine(words));
    }

    report("compiling ", recipe.sources.size(), " sources");
    GANTRY_TRY(const CpuCodeLibrary library,
               container ? build_cpu_code(recipe.sources, generators, options.generation)
                         : build_plain_code(recipe.sources, generators));
    GANTRY_CHECK(check_graph_names(library.elf, recipe));
    for (const GraphPart& part : graphs) {
      if (!has_unknown_functions(recipe)) GANTRY_CHECK(check_functions(library.elf, part));
    }
    // Before the first byte is written, because SIGPIPE may end the process then.
    { const TempDirectory removed = std::move(directory); }
    report_container();
    return writer.write_library(library, container ? &*container : nullptr);
  });
}

}  // namespace gantry
