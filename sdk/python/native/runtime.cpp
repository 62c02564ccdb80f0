// SPDX-License-Identifier: Apache-2.0
#include "runtime.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>

#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "call_status.hpp"
#include "callbacks.hpp"
#include "function.hpp"
#include "gil.hpp"
#include "interpreter.hpp"
#include "model.hpp"
#include "report.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace gantry::python {
namespace {

// The runtime of an object of Python, and the functions of Python that the runtime calls.
struct Runtime {
  explicit Runtime(RuntimeHandle made) : handle(std::move(made)) {}
  Runtime(Runtime&&) = default;
  ~Runtime() { empty_callbacks(); }

  gantry_object* object() const { return handle.runtime.get(); }
  RuntimeRef ref() const { return {nb::find(*this), &handle}; }
  void empty_callbacks() {
    for (const auto& callback : callbacks) callback->empty();
    callbacks.clear();
  }

  RuntimeHandle handle;
  std::vector<std::shared_ptr<KeptFunction>> callbacks;
};

int traverse(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  for (const auto& callback : nb::inst_ptr<Runtime>(self)->callbacks) Py_VISIT(callback->get());
  return 0;
}

int clear(PyObject* self) noexcept {
  if (nb::inst_ready(self)) nb::inst_ptr<Runtime>(self)->empty_callbacks();
  return 0;
}

PyType_Slot runtime_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                               {Py_tp_clear, reinterpret_cast<void*>(clear)},
                               {0, nullptr}};

// Calls a function of Python with a text. An exception is printed, because nothing receives it.
//
// call     [in]   PyObject*(PyObject* text)
// thread   holds the GIL; an exception may pass through it
template <class Call>
void pass_text(PyObject* function, gantry_bytes text, Call&& call) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* const decoded =
      PyUnicode_DecodeUTF8(text.data, static_cast<Py_ssize_t>(text.size), "backslashreplace");
  PyObject* const done = decoded != nullptr ? call(decoded) : nullptr;
  if (done == nullptr) PyErr_WriteUnraisable(function);
  Py_XDECREF(done);
  Py_XDECREF(decoded);
  PyErr_Restore(type, value, traceback);
}

void write_line(void* self, std::int32_t level, gantry_bytes line) {
  if (!interpreter_runs()) {
    std::fprintf(stderr, "gantry: %.*s\n", static_cast<int>(line.size), line.data);
    return;
  }
  const GilAcquired acquired;
  const auto function = static_cast<PyObject*>(self);
  pass_text(function, line,
            [&](PyObject* text) { return PyObject_CallFunction(function, "iO", level, text); });
}

void destroy_sink(void* self) {
  if (!interpreter_runs()) return;
  const GilAcquired acquired;
  Py_DECREF(static_cast<PyObject*>(self));
}

// Returns a sink that calls `write(level, line)` with the GIL, on the thread that writes the line.
// Lines go to stderr once the interpreter has begun to end.
//
// write    [in]   None: the sink is empty, and the log goes to stderr
gantry_log_sink log_sink(nb::object write) {
  if (write.is_none()) return {};
  return {write.release().ptr(), write_line, destroy_sink};
}

void write_output(void* self, gantry_bytes text) {
  if (!interpreter_runs()) return;
  const GilAcquired acquired;
  const KeptFunction& write = **static_cast<std::shared_ptr<KeptFunction>*>(self);
  if (write.get() == nullptr) return;
  // It may be emptied during its call.
  const nb::object function = nb::borrow(write.get());
  pass_text(function.ptr(), text, [&](PyObject* decoded) {
    return PyObject_CallFunctionObjArgs(function.ptr(), decoded, nullptr);
  });
}

// Returns a sink that calls `write(text)` with the GIL, on the thread that prints.
//
// write    [in]   NULL: the sink is empty, and texts go to the standard output
gantry_output_sink output_sink(const std::shared_ptr<KeptFunction>& write) {
  if (!write) return {};
  return {new std::shared_ptr<KeptFunction>(write), write_output,
          [](void* self) { delete static_cast<std::shared_ptr<KeptFunction>*>(self); }};
}

// The memory of an object with the buffer protocol, in dense rows.
class Content {
 public:
  // throws   TypeError, BufferError: it has no such memory
  explicit Content(const nb::object& object) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  ~Content() { PyBuffer_Release(&buffer_); }

  const void* data() const { return buffer_.buf; }
  std::uint64_t size() const { return static_cast<std::uint64_t>(buffer_.len); }

 private:
  Py_buffer buffer_{};
};

// throws   TypeError
void check_callable(const nb::object& function) {
  if (PyCallable_Check(function.ptr()) != 0) return;
  PyErr_Format(PyExc_TypeError, "%R is not callable", function.ptr());
  throw nb::python_error();
}

Runtime new_runtime(int threads, const nb::str& config, const nb::object& plugins,
                    std::string_view log_level, nb::object log, nb::object output,
                    bool only_these_plugins, bool probes, bool traces) {
  const Texts paths = Texts::of_paths(plugins);
  const std::string config_file = path_in(config);
  gantry_runtime_options options{};
  options.struct_size = sizeof options;
  options.flags = (only_these_plugins ? GANTRY_RUNTIME_ONLY_THESE_PLUGINS : 0) |
                  (probes ? 0 : GANTRY_RUNTIME_NO_PROBE) | (traces ? GANTRY_RUNTIME_TRACE : 0);
  options.config_file = bytes_of(config_file);
  options.plugin_paths = paths.data();
  options.plugin_path_count = paths.size();
  options.threads = threads;
  options.log_level = bytes_of(log_level);
  std::shared_ptr<KeptFunction> write;
  if (!output.is_none()) {
    check_callable(output);
    write = std::make_shared<KeptFunction>(std::move(output));
  }
  options.output = output_sink(write);
  options.log = log_sink(std::move(log));
  gantry_object* made = nullptr;
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const GilReleased released;
    code = embed().runtime_new(&options, &made, status.out());
  }
  if (code != GANTRY_OK && write) write->empty();
  status.check(code);
  OwnedObject runtime = OwnedObject::adopt(made);
  const gantry_host* const host = embed().host(made);
  Runtime with_callbacks({std::move(runtime), host});
  if (write) with_callbacks.callbacks.push_back(std::move(write));
  return with_callbacks;
}

struct LoadOptions {
  bool allow_missing, allow_executable_stack, strict;
  // a sequence of str, or None
  const nb::object& devices;
};

// load     [in]   gantry_code(const gantry_load_options*, gantry_object** module, gantry_status*)
template <class Load>
Module loaded(const Runtime& runtime, const LoadOptions& given, Load&& load) {
  const Texts devices(given.devices);
  gantry_load_options options{};
  options.struct_size = sizeof options;
  if (given.allow_missing) options.flags |= GANTRY_LOAD_ALLOW_MISSING;
  if (given.allow_executable_stack) options.flags |= GANTRY_LOAD_ALLOW_EXECUTABLE_STACK;
  if (given.strict) options.flags |= GANTRY_LOAD_STRICT;
  options.devices = devices.data();
  options.device_count = devices.size();
  gantry_object* module = nullptr;
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const GilReleased released;
    code = load(&options, &module, status.out());
  }
  status.check(code);
  return {runtime.ref(), OwnedObject::adopt(module)};
}

Module load(const Runtime& runtime, const nb::str& path, bool allow_missing,
            bool allow_executable_stack, bool strict, const nb::object& devices) {
  const std::string file = path_in(path);
  return loaded(runtime, {allow_missing, allow_executable_stack, strict, devices},
                [&](const auto* options, gantry_object** module, gantry_status* status) {
                  return embed().load_file(runtime.object(), bytes_of(file), options, module,
                                           status);
                });
}

Module load_bytes(const Runtime& runtime, const nb::object& object, std::string_view name,
                  bool allow_missing, bool allow_executable_stack, bool strict,
                  const nb::object& devices) {
  const Content content(object);
  return loaded(runtime, {allow_missing, allow_executable_stack, strict, devices},
                [&](const auto* options, gantry_object** module, gantry_status* status) {
                  return embed().load_memory(runtime.object(), content.data(), content.size(),
                                             bytes_of(name), options, module, status);
                });
}

nb::object read_tensors(const Runtime& runtime, const nb::str& path) {
  const std::string file = path_in(path);
  return tree_of(runtime.ref(), [&](gantry_value* tree, gantry_status* status) {
    return embed().tensors_read(runtime.object(), bytes_of(file), tree, status);
  });
}

gantry_device_id find_device(const Runtime& runtime, std::string_view name) {
  gantry_device_id device{};
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const GilReleased released;
    code = embed().device_find(runtime.object(), bytes_of(name), &device, status.out());
  }
  status.check(code);
  return device;
}

nb::object empty(const Runtime& runtime, const std::vector<std::int64_t>& shape,
                 std::string_view dtype, std::string_view device, std::string_view scope) {
  const auto parsed = parse_dtype(dtype);
  if (!parsed.ok()) refuse("DTYPE", parsed.error().message);
  const gantry_device_id id = find_device(runtime, device);
  const gantry_tensor like = compact_tensor(*parsed, shape, id);
  const gantry_host* const host = runtime.handle.host;
  gantry_value tensor{};
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const GilReleased released;
    code = host->tensor_new(host, &like, bytes_of(scope), 0, &tensor, status.out());
  }
  status.check(code);
  OwnedValue made = OwnedValue::adopt(tensor);
  // Memory of scope "host" is, too.
  const bool is_on_cpu = gantry_value_tensor(&made.get())->device.type == cpu_device_type;
  return object_of(runtime.ref(), std::move(made),
                   is_on_cpu ? ResultForm::arrays : ResultForm::tensors);
}

void add_function(Runtime& runtime, std::string_view name, nb::object function) {
  check_callable(function);
  auto callback = std::make_shared<Callback>(runtime.ref(), std::move(function));
  runtime.callbacks.push_back(callback);
  const gantry_function made = function_of(callback);
  CallStatus status;
  const gantry_code code =
      embed().function_add(runtime.object(), bytes_of(name), made, status.out());
  if (code != GANTRY_OK) {
    callback->empty();
    runtime.callbacks.pop_back();
  }
  status.check(code);
}

nb::object find_global(const Runtime& runtime, std::string_view name) {
  gantry_object* function = nullptr;
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const GilReleased released;
    code = embed().function_find(runtime.object(), bytes_of(name), &function, status.out());
  }
  status.check(code);
  return new_function(runtime.ref(), OwnedObject::adopt(function), name);
}

nb::object inspect(const Runtime& runtime, const nb::str& path) {
  const std::string file = path_in(path);
  return tree_of(runtime.ref(), [&](gantry_value* tree, gantry_status* status) {
    return embed().inspect(runtime.object(), bytes_of(file), tree, status);
  });
}

}  // namespace

void bind_runtime(nb::module_& module) {
  nb::class_<Runtime>(module, "Runtime", nb::type_slots(runtime_slots))
      .def("load", load, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def("load_bytes", load_bytes, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
           nb::arg().none())
      .def("read_tensors", read_tensors)
      .def("find_device",
           [](const Runtime& runtime, std::string_view name) {
             const gantry_device_id device = find_device(runtime, name);
             return nb::make_tuple(device.type, device.index);
           })
      .def("empty", empty)
      .def("add_function", add_function)
      .def("function", find_global)
      .def("inspect", inspect)
      .def("report", [](const Runtime& runtime, std::string_view what) {
        return report_of(runtime.ref(), runtime.object(), what);
      });
  module.def("new_runtime", new_runtime, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
}

}  // namespace gantry::python
