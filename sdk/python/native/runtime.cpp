// SPDX-License-Identifier: Apache-2.0
#include "runtime.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>

#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "call_status.hpp"
#include "log_sink.hpp"
#include "model.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace gantry::python {
namespace {

struct Runtime {
  RuntimeRef handle;
};

Runtime new_runtime(int threads, std::string_view config, const nb::object& plugins,
                    std::string_view log_level, nb::object log, bool only_these_plugins,
                    bool probes) {
  const Texts paths(plugins);
  gantry_runtime_options options{};
  options.struct_size = sizeof options;
  options.flags = (only_these_plugins ? GANTRY_RUNTIME_ONLY_THESE_PLUGINS : 0) |
                  (probes ? 0 : GANTRY_RUNTIME_NO_PROBE);
  options.config_file = bytes_of(config);
  options.plugin_paths = paths.data();
  options.plugin_path_count = paths.size();
  options.threads = threads;
  options.log_level = bytes_of(log_level);
  options.log = log_sink(std::move(log));
  gantry_object* made = nullptr;
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const nb::gil_scoped_release released;
    code = embed().runtime_new(&options, &made, status.out());
  }
  status.check(code);
  OwnedObject runtime = OwnedObject::adopt(made);
  const gantry_host* const host = embed().host(made);
  return {std::make_shared<const RuntimeHandle>(RuntimeHandle{std::move(runtime), host})};
}

Module load(const Runtime& runtime, std::string_view path, bool allow_missing) {
  gantry_load_options options{};
  options.struct_size = sizeof options;
  options.flags = allow_missing ? GANTRY_LOAD_ALLOW_MISSING : 0;
  gantry_object* module = nullptr;
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const nb::gil_scoped_release released;
    code = embed().load_file(runtime.handle->runtime.get(), bytes_of(path), &options, &module,
                             status.out());
  }
  status.check(code);
  return {runtime.handle, OwnedObject::adopt(module)};
}

nb::object read_tensors(const Runtime& runtime, std::string_view path) {
  gantry_value tensors{};
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const nb::gil_scoped_release released;
    code =
        embed().tensors_read(runtime.handle->runtime.get(), bytes_of(path), &tensors, status.out());
  }
  status.check(code);
  return object_of(runtime.handle, OwnedValue::adopt(tensors), ResultForm::arrays);
}

gantry_device_id find_device(const Runtime& runtime, std::string_view name) {
  gantry_device_id device{};
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const nb::gil_scoped_release released;
    code =
        embed().device_find(runtime.handle->runtime.get(), bytes_of(name), &device, status.out());
  }
  status.check(code);
  return device;
}

nb::object empty(const Runtime& runtime, const std::vector<std::int64_t>& shape,
                 std::string_view dtype, std::string_view device) {
  const auto parsed = parse_dtype(dtype);
  if (!parsed.ok()) refuse("DTYPE", parsed.error().message);
  const gantry_device_id id = find_device(runtime, device);
  const gantry_tensor like = compact_tensor(*parsed, shape, id);
  const gantry_host* const host = runtime.handle->host;
  gantry_value tensor{};
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const nb::gil_scoped_release released;
    code = host->tensor_new(host, &like, {}, 0, &tensor, status.out());
  }
  status.check(code);
  const bool is_on_cpu = id.type == cpu_device_type;
  return object_of(runtime.handle, OwnedValue::adopt(tensor),
                   is_on_cpu ? ResultForm::arrays : ResultForm::tensors);
}

}  // namespace

void bind_runtime(nb::module_& module) {
  nb::class_<Runtime>(module, "Runtime")
      .def("load", load)
      .def("read_tensors", read_tensors)
      .def("find_device",
           [](const Runtime& runtime, std::string_view name) {
             const gantry_device_id device = find_device(runtime, name);
             return nb::make_tuple(device.type, device.index);
           })
      .def("empty", empty);
  module.def("new_runtime", new_runtime, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg().none(), nb::arg(), nb::arg());
}

}  // namespace gantry::python
