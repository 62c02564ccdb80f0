// SPDX-License-Identifier: Apache-2.0
#include "core/pack/pack.hpp"

#include "core/base/near_name.hpp"
#include "core/base/output_file.hpp"
#include "core/base/replace_file.hpp"
#include "core/base/temp_directory.hpp"
#include "core/elf/elf_file.hpp"
#include "core/pack/container.hpp"
#include "core/pack/container_names.hpp"
#include "core/pack/device_payload.hpp"
#include "core/pack/elf_object.hpp"
#include "core/pack/graph_payload.hpp"
#include "core/pack/graph_requirements.hpp"
#include "core/pack/parameter_file.hpp"
#include "core/toolchain/link.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/byte_count.hpp>
#include <gantry/join.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

namespace gantry {
namespace {

namespace fs = std::filesystem;

Result<std::string> graph_json(const Recipe& recipe, const std::vector<GraphTensor>& parameters) {
  if (const auto* written = std::get_if<GraphDescription>(&recipe.graph)) {
    return write_graph_json(*written, parameters);
  }
  auto file = MappedFile::open(std::get<fs::path>(recipe.graph));
  if (!file.ok()) return std::move(file).failure().at("for ", recipe.graph_location);
  const std::span<const std::uint8_t> bytes = (*file)->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

InputFiles input_files(const Recipe& recipe, const InputFiles& more) {
  InputFiles files = more;
  files.add(recipe.file);
  for (const auto* names : {&recipe.sources, &recipe.libraries}) {
    for (const std::string& name : *names) files.add(recipe.directory / name);
  }
  if (const auto* graph = std::get_if<fs::path>(&recipe.graph)) files.add(*graph);
  for (const ParameterSource& source : recipe.parameters) files.add(source.file);
  for (const DeviceModuleSource& module : recipe.device_modules) {
    files.add(module.data);
    for (const KernelSource& kernel : module.kernels) files.add(recipe.directory / kernel.source);
  }
  return files;
}

// Checks that an existing output is an ELF file. Others are more likely files that the recipe does
// not name, for example headers, than artifacts to replace.
Status check_overwritten(const fs::path& output) {
  const auto file = MappedFile::open(output);
  if (!file.ok() || has_elf_magic((*file)->bytes())) return {};
  return invalid("cannot write ", quoted(output.native()),
                 ": it exists and is not an ELF file; remove it or choose another output");
}

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

// The payload of the graph and the functions that it calls.
struct GraphPart {
  GraphPayload payload;
  std::vector<std::string> functions;
};

Result<GraphPart> build_graph(const Recipe& recipe) {
  GraphPart part;
  ParameterFiles files;
  std::vector<GraphTensor> parameters;
  for (const ParameterSource& source : recipe.parameters) {
    GANTRY_TRY(Parameter parameter, files.find(source));
    parameters.push_back({parameter.name, {parameter.dtype, parameter.shape}});
    part.payload.parameters.push_back(std::move(parameter));
  }
  GANTRY_TRY(part.payload.graph_json, graph_json(recipe, parameters));
  Result<Graph> graph = read_graph_json(part.payload.graph_json, 0);
  if (!graph.ok()) {
    if (const auto* file = std::get_if<fs::path>(&recipe.graph)) {
      graph.error().at("in ", file->native()).at("for ", recipe.graph_location);
    }
    return std::move(graph).failure();
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Status checked = check_parameter(*graph, parameters[i]);
    if (!checked.ok()) {
      return std::move(checked).error().at("for ", recipe.parameters[i].location);
    }
  }
  part.payload.module_name = recipe.module_name;
  part.functions = called_functions(*graph);
  return part;
}

// Returns the module graph: the graph, if there is one, imports the host code, which imports the
// device modules. A container lists the imports of a module from the last to the first, so they are
// reversed here to get the order of the recipe.
std::vector<ContainerModule> module_graph(const Recipe& recipe, const GraphPart* graph,
                                          const ShaderTools& tools) {
  std::vector<ContainerModule> modules;
  if (graph != nullptr) {
    modules.push_back({std::string(graph_factory_key), {1}, [graph](Pieces& out) {
                         return write_graph_payload(graph->payload, out);
                       }});
  }
  const std::size_t host_code = modules.size();
  modules.push_back({});
  for (const DeviceModuleSource& source : recipe.device_modules) {
    modules[host_code].imports.push_back(modules.size());
    modules.push_back({source.type_key, {}, [&source, &tools](Pieces& out) {
                         return write_device_payload(source, tools, out);
                       }});
  }
  std::reverse(modules[host_code].imports.begin(), modules[host_code].imports.end());
  return modules;
}

Status write_file(const fs::path& path, const Pieces& pieces) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    return unavailable(path.native(), ": ", std::strerror(errno), " while creating it")
        .native("errno", errno);
  }
  DescriptorStream stream(descriptor, path.native());
  Status written = pieces.write_to(stream);
  ::close(descriptor);
  if (!written.ok()) return written;
  return stream.status();
}

// Writes the container as an object file and adds it to the sources.
Status write_container_object(Pieces container, const TempDirectory& directory, LinkJob& job) {
  const fs::path file = directory / "container.o";
  ElfObject object;
  object.symbol = container_symbol;
  GANTRY_TRY(const Pieces bytes, write_elf_object(object, std::move(container)));
  GANTRY_CHECK(write_file(file, bytes));
  job.sources.push_back(file.native());
  return {};
}

// Checks that the library has every function that the graph calls, because the linker does not see
// these calls.
Status check_functions(const ElfFile& library, const std::vector<std::string>& functions,
                       const Recipe& recipe) {
  for (const std::string& function : functions) {
    const ElfSymbol* symbol = library.find(function);
    if (symbol != nullptr && symbol->defined()) continue;
    std::vector<std::string_view> defined;
    for (const ElfSymbol& other : library.symbols()) {
      if (other.defined() && !other.name.starts_with('_')) defined.push_back(other.name);
    }
    Error error = not_found(
        "graph calls function ", quoted(function), did_you_mean(function, defined),
        ", the host code has ",
        defined.empty() ? "none" : join(defined, ", ", std::identity(), max_listed_names));
    const auto* graph = std::get_if<GraphDescription>(&recipe.graph);
    if (graph == nullptr) return std::move(error).at("for ", recipe.graph_location);
    const auto call = std::ranges::find(graph->operators, function, &GraphOperator::function);
    if (call->location.empty()) return error;
    return std::move(error).at("for ", call->location);
  }
  return {};
}

Status check_library(const fs::path& file, std::uint64_t container_bytes, const GraphPart* graph,
                     const Recipe& recipe) {
  GANTRY_TRY(const auto mapped, MappedFile::open(file));
  GANTRY_TRY(const ElfFile library, ElfFile::parse(mapped));
  if (library.type() != ElfType::shared) {
    return invalid("C compiler produces no shared library; remove flags such as -c from the recipe")
        .with_reason("FILE_KIND");
  }
  const ElfSymbol* container = library.find(container_symbol);
  if (container_bytes != 0 && (container == nullptr || container->size != container_bytes)) {
    return unavailable("C compiler produces a library with a container of ",
                       ByteCount(container == nullptr ? 0 : container->size), ", expected ",
                       ByteCount(container_bytes));
  }
  if (graph == nullptr) return {};
  // A payload without a format may define functions that only its plugin can list.
  for (const DeviceModuleSource& module : recipe.device_modules) {
    if (module.format.empty()) return {};
  }
  return check_functions(library, graph->functions, recipe);
}

}  // namespace

Status pack(const Recipe& recipe, const fs::path& output, const PackOptions& options) {
  return guard([&]() -> Status {
    const auto report = [&](const auto&... words) {
      if (options.progress) options.progress(concat(words...));
    };
    const InputFiles inputs = input_files(recipe, options.inputs);
    GANTRY_TRY(OutputFile file, OutputFile::open(output, inputs));
    if (file.is_terminal()) {
      return invalid("cannot write ", quoted(output.native()),
                     ": it is a terminal; redirect it, or name a file");
    }
    if (!file.is_stream()) GANTRY_CHECK(check_overwritten(output));
    GANTRY_CHECK(check_sources(recipe));
    std::optional<GraphPart> graph;
    if (!std::holds_alternative<std::monostate>(recipe.graph)) {
      report("reading the graph and ", recipe.parameters.size(), " parameters");
      GANTRY_TRY(graph, build_graph(recipe));
    }
    const GraphPart* const graph_part = graph ? &*graph : nullptr;

    const fs::path target = file.is_stream() ? options.temporary / "gantry-pack.so" : output;
    GANTRY_TRY(TempDirectory directory, TempDirectory::beside(target));
    const ShaderTools tools{options.glslang, recipe.directory, directory.path(), options.search};
    const std::vector<ContainerModule> modules = module_graph(recipe, graph_part, tools);
    const fs::path library = directory / "library.so";
    LinkJob job{options.compiler, recipe.directory, directory.path(), recipe.sources,
                recipe.flags,     recipe.libraries, library.native(), options.search};
    std::uint64_t container_bytes = 0;
    // Host code alone needs no container.
    if (modules.size() > 1) {
      GANTRY_TRY(Pieces container, write_container(modules));
      container_bytes = container.size();
      report("writing a container of ", human_size(container_bytes), ", ", modules.size(),
             " modules");
      GANTRY_CHECK(write_container_object(std::move(container), directory, job));
    } else {
      job.flags.push_back(concat("-Wl,--defsym=", packed_mark, "=0"));
    }
    report("compiling ", recipe.sources.size(), " sources");
    GANTRY_CHECK(link_library(job));
    GANTRY_CHECK(check_library(library, container_bytes, graph_part, recipe));
    if (!file.is_stream()) return move_into_place(library, output, inputs);
    GANTRY_TRY(const auto mapped, MappedFile::open(library));
    // Before the first byte is written, because SIGPIPE may end the process then.
    { const TempDirectory removed = std::move(directory); }
    const std::span<const std::uint8_t> bytes = mapped->bytes();
    return file.finish({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  });
}

}  // namespace gantry
