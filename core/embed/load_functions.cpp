// SPDX-License-Identifier: Apache-2.0
#include "core/embed/load_functions.hpp"

#include "core/embed/arguments.hpp"
#include "core/embed/give.hpp"
#include "core/embed/inspection.hpp"
#include "core/embed/loads.hpp"
#include "core/embed/objects.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/value.hpp>

#include <string>
#include <vector>

namespace gantry::load_functions {

gantry_code load_file(gantry_object* object, gantry_bytes path, const gantry_load_options* options,
                      gantry_object** module, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "load_file"));
    GANTRY_TRY(const LoadOptions how, load_options(options));
    GANTRY_TRY(const std::string file, path_argument(path, "load_file"));
    return give(runtime->runtime.load(file, how), module);
  });
}

gantry_code tensors_read(gantry_object* object, gantry_bytes path, gantry_value* tensors,
                         gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "tensors_read"));
    GANTRY_TRY(const std::string file, path_argument(path, "tensors_read"));
    GANTRY_TRY(const auto named, runtime->runtime.read_tensors(file));
    std::vector<OwnedValue> names;
    std::vector<gantry_value> items;
    for (const auto& [name, tensor] : named) {
      GANTRY_TRY(OwnedValue text, new_text(GANTRY_STRING, name));
      items.push_back(text.get());
      items.push_back(value_of(tensor.get()));
      names.push_back(std::move(text));
    }
    return give(new_items(GANTRY_MAP, items), tensors);
  });
}

gantry_code load_memory(gantry_object* object, const void* data, std::uint64_t size,
                        gantry_bytes name, const gantry_load_options* options,
                        gantry_object** module, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "load_memory"));
    GANTRY_TRY(const LoadOptions how, load_options(options));
    GANTRY_TRY(const std::string title, path_argument(name, "load_memory"));
    return give(
        load_bytes(runtime->runtime, {static_cast<const std::uint8_t*>(data), size}, title, how),
        module);
  });
}

gantry_code load_reader(gantry_object* object, const gantry_reader* reader, gantry_bytes name,
                        const gantry_load_options* options, gantry_object** module,
                        gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "load_reader"));
    GANTRY_TRY(const gantry_reader known, read_options(reader, 0, "gantry_reader"));
    GANTRY_CHECK(check_pointer(reinterpret_cast<const void*>(known.read), "load_reader", "read"));
    GANTRY_TRY(const LoadOptions how, load_options(options));
    GANTRY_TRY(const std::string title, path_argument(name, "load_reader"));
    return give(load_read(runtime->runtime, known, title, how), module);
  });
}

gantry_code plugin_add(gantry_object* object,
                       const gantry_plugin_table* (*query)(const gantry_host_info*, gantry_status*),
                       gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "plugin_add"));
    return runtime->runtime.add_plugin(query);
  });
}

gantry_code module_bind_missing(gantry_object* module, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(ModuleNode * node, module_argument(module, "module_bind_missing"));
    return gantry::bind_missing(*node);
  });
}

gantry_code load_graph(gantry_object* object, gantry_bytes library, gantry_bytes graph,
                       gantry_bytes params, const gantry_load_options* options,
                       gantry_object** module, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "load_graph"));
    GANTRY_TRY(const LoadOptions how, load_options(options));
    GraphFiles files;
    GANTRY_TRY(files.library, path_argument(library, "load_graph"));
    GANTRY_TRY(files.graph, path_argument(graph, "load_graph"));
    GANTRY_TRY(files.params, path_argument(params, "load_graph"));
    return give(runtime->runtime.load_graph(files, how), module);
  });
}

gantry_code load_linked(gantry_object* object, const gantry_linked_symbols* symbols,
                        gantry_bytes prefix, const gantry_load_options* options,
                        gantry_object** module, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "load_linked"));
    GANTRY_TRY(const LoadOptions how, load_options(options));
    return give(runtime->runtime.load_linked(*symbols, view_of(prefix), how), module);
  });
}

gantry_code inspect(gantry_object* object, gantry_bytes path, gantry_value* tree,
                    gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(const RuntimeObject* runtime, runtime_argument(object, "inspect"));
    GANTRY_TRY(const std::string file, path_argument(path, "inspect"));
    GANTRY_TRY(OwnedValue made, inspection(runtime->runtime, file));
    *tree = made.take();
    return {};
  });
}

}  // namespace gantry::load_functions
