// SPDX-License-Identifier: Apache-2.0
//
// Cases 63 to 68, 77, 114 and 116: functions of modules, and their calls.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/device_stream.hpp"
#include "tools/conformance/failing_calls.hpp"
#include "tools/conformance/golden_call.hpp"

#include "core/base/process_state.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <sched.h>

#include <algorithm>
#include <functional>
#include <thread>

namespace gantry::kit {
namespace {

constexpr int kCallThreads = 64;
constexpr int kCallsOfAThread = 16;

// A payload that is loaded and whose device is present.
struct Scene {
  Stage& stage;
  const Payload& payload;
  std::shared_ptr<const Device> device;
  PinnedBytes given;
  LoadedModule module;
};

Status for_each_module(Subject& subject, const std::function<Status(Scene& scene)>& check) {
  return for_each_payload(subject, [&](Stage& stage, const Payload& payload) -> Status {
    GANTRY_TRY(auto device, stage.device_for(payload));
    PinnedBytes given = pinned(payload.bytes);
    GANTRY_TRY(LoadedModule module, stage.load(payload, given.bytes->bytes(), given.pin.get()));
    Scene scene{stage, payload, std::move(device), std::move(given), std::move(module)};
    return check(scene);
  });
}

// 63
Status finds_no_other_names(Subject& subject) {
  return for_each_module(subject, [](Scene& scene) -> Status {
    std::vector<std::string> names{"", "no such function", std::string(1 << 20, 'k')};
    for (const GoldenCall& call : scene.payload.calls) {
      names.push_back(call.function + std::string("\0x", 2));
      names.push_back(call.function + "_");
      names.push_back(call.function.substr(0, call.function.size() - 1) + "\x7f");
    }
    for (const std::string& name : names) {
      const auto found = scene.stage.function(scene.module, name);
      if (found.ok()) return bug("get_function finds ", quoted(name, 40));
      if (found.error().code != Code::not_found)
        return bug("get_function(", quoted(name, 40), ") fails as ", name_of(found.error().code),
                   ", expected not found");
    }
    return {};
  });
}

// 64
Status lists_what_it_finds(Subject& subject) {
  return for_each_module(subject, [](Scene& scene) -> Status {
    const gantry_module_table* const table = scene.module.pair.table;
    if (!GANTRY_HAS(table, list_functions) || table->list_functions == nullptr)
      return skipped("the module has no list_functions");
    std::vector<std::string> names;
    const gantry_visitor visitor{sizeof visitor, 0, &names,
                                 [](void* self, const gantry_function_info* info, gantry_status*) {
                                   static_cast<std::vector<std::string>*>(self)->emplace_back(
                                       info->name.data, info->name.size);
                                   return gantry_code{GANTRY_OK};
                                 }};
    const PluginCall record("list_functions");
    const gantry_code code = table->list_functions(scene.module.pair.self, &visitor, nullptr);
    if (code != GANTRY_OK) return bug("list_functions fails with code ", code);
    for (const std::string& name : names) {
      const auto found = scene.stage.function(scene.module, name);
      if (!found.ok() && found.error().code == Code::not_found)
        return bug("list_functions lists ", quoted(name), ", get_function does not find it");
    }
    for (const GoldenCall& call : scene.payload.calls) {
      if (std::find(names.begin(), names.end(), call.function) == names.end())
        return bug("list_functions does not list ", quoted(call.function));
    }
    return {};
  });
}

// Changes the arguments of a call; false: the change does not apply to it.
struct Change {
  const char* name;
  bool (*apply)(CallArguments& arguments, std::size_t i);
};

gantry_tensor* tensor_at(CallArguments& arguments, std::size_t i) {
  return arguments.values[i].kind == GANTRY_TENSOR_REF ? arguments.tensors[i].get() : nullptr;
}

// Of argument i.
constexpr Change kChanges[] = {
    {"none instead of the argument",
     [](CallArguments& arguments, std::size_t i) {
       // None is a NULL pointer for a kernel.
       const bool applies =
           arguments.values[i].kind != GANTRY_NONE && arguments.values[i].kind != GANTRY_POINTER;
       arguments.values[i] = {};
       return applies;
     }},
    {"a text instead of the argument",
     [](CallArguments& arguments, std::size_t i) {
       arguments.values[i] = {};
       arguments.values[i].kind = GANTRY_CSTRING;
       arguments.values[i].cstring = "a text of the kit";
       return true;
     }},
    {"another element type",
     [](CallArguments& arguments, std::size_t i) {
       gantry_tensor* const tensor = tensor_at(arguments, i);
       if (tensor == nullptr) return false;
       tensor->dtype = {1, 8, 1};
       return true;
     }},
    {"no dimension",
     [](CallArguments& arguments, std::size_t i) {
       gantry_tensor* const tensor = tensor_at(arguments, i);
       if (tensor == nullptr || tensor->ndim == 0) return false;
       tensor->ndim = 0;
       return true;
     }},
    {"strides of 0",
     [](CallArguments& arguments, std::size_t i) {
       // The elements that they select are in the tensor.
       static std::int64_t strides[16]{};
       gantry_tensor* const tensor = tensor_at(arguments, i);
       if (tensor == nullptr || tensor->ndim == 0 || tensor->ndim > 16) return false;
       tensor->strides = strides;
       return true;
     }},
    {"another device",
     [](CallArguments& arguments, std::size_t i) {
       gantry_tensor* const tensor = tensor_at(arguments, i);
       if (tensor == nullptr) return false;
       // no device of any runtime
       tensor->device = {kDeviceTypeCount, 0};
       return true;
     }},
    {"an empty shape and NULL data",
     [](CallArguments& arguments, std::size_t i) {
       gantry_tensor* const tensor = tensor_at(arguments, i);
       if (tensor == nullptr || tensor->ndim == 0) return false;
       tensor->shape[0] = 0;
       tensor->data = nullptr;
       return true;
     }},
};

// The outcome of a call with changed arguments: it must not break the contract.
Status judge(const CallOutcome& outcome, std::string_view what) {
  if (outcome.code == GANTRY_OK) return {};
  if (outcome.error.reason == "EXCEPTION")
    return bug("a call with ", what, " throws: ", first_line(outcome.error));
  if (outcome.code == GANTRY_BUG)
    return bug("a call with ", what, " returns BUG: ", first_line(outcome.error));
  return {};
}

// True if a function takes so many arguments, some of which may be optional.
bool has_golden_call(const Payload& payload, const std::string& function, std::size_t count) {
  return std::ranges::any_of(payload.calls, [&](const GoldenCall& call) {
    return call.function == function && call.arguments.size() == count;
  });
}

// 65
Status checks_arguments(Subject& subject) {
  return for_each_module(subject, [](Scene& scene) -> Status {
    for (const GoldenCall& call : scene.payload.calls) {
      GANTRY_TRY(const LoadedFunction function, scene.stage.function(scene.module, call.function));
      const auto make = [&] { return CallArguments::make(*scene.device, call); };
      for (const int extra : {1, -1}) {
        if (extra < 0 && call.arguments.empty()) continue;
        GANTRY_TRY(const auto arguments, make());
        std::vector<gantry_value> values = arguments->values;
        extra > 0 ? values.push_back({}) : values.pop_back();
        if (has_golden_call(scene.payload, call.function, values.size())) continue;
        const CallOutcome outcome =
            call_function(*scene.device, function.pair, values, {.name = call.function});
        if (outcome.code == GANTRY_INVALID) continue;
        return bug("function ", quoted(call.function), " with ", values.size(),
                   " arguments instead of ", call.arguments.size(), " returns ",
                   name_of(static_cast<Code>(outcome.code)), ", expected invalid");
      }
      for (std::size_t i = 0; i < call.arguments.size(); ++i) {
        for (const Change& change : kChanges) {
          GANTRY_TRY(const auto arguments, make());
          if (!change.apply(*arguments, i)) continue;
          const CallOutcome outcome = call_function(*scene.device, function.pair, arguments->values,
                                                    {.name = call.function});
          const std::string what = concat(change.name, ", argument ", i);
          Status judged = judge(outcome, what);
          if (!judged.ok()) return std::move(judged).error().at("in ", quoted(call.function));
        }
      }
    }
    return {};
  });
}

// 66
Status accepts_or_refuses_unaligned_data(Subject& subject) {
  return for_each_module(subject, [](Scene& scene) -> Status {
    bool any = false;
    for (const GoldenCall& call : scene.payload.calls) {
      GANTRY_TRY(const LoadedFunction function, scene.stage.function(scene.module, call.function));
      for (const std::uint64_t offset : {1u, 2u, 4u}) {
        GANTRY_TRY(const auto arguments, CallArguments::make(*scene.device, call));
        bool shifts = false;
        for (std::size_t i = 0; i < arguments->values.size(); ++i) {
          if (gantry_tensor* const tensor = tensor_at(*arguments, i))
            tensor->byte_offset = offset, shifts = true;
        }
        if (!shifts) continue;
        any = true;
        const CallOutcome outcome =
            call_function(*scene.device, function.pair, arguments->values, {.name = call.function});
        GANTRY_CHECK(judge(outcome, concat("tensors at an offset of ", offset, " bytes")));
      }
    }
    return any ? Status() : skipped("no golden call has a tensor");
  });
}

// 67
Status leaves_results_alone(Subject& subject) {
  return for_each_module(subject, [](Scene& scene) -> Status {
    bool any = false;
    for (const GoldenCall& call : scene.payload.calls) {
      GANTRY_TRY(const LoadedFunction function, scene.stage.function(scene.module, call.function));
      GANTRY_TRY(const auto arguments, CallArguments::make(*scene.device, call));
      std::vector<gantry_value> values = arguments->values;
      values.push_back({});
      const CallOutcome outcome =
          call_function(*scene.device, function.pair, values, {.name = call.function});
      if (outcome.code == GANTRY_OK) continue;
      any = true;
      const gantry_value& result = outcome.result.get();
      if (result.kind != GANTRY_NONE || result.i != 0)
        return bug("function ", quoted(call.function), " fails and writes a result of kind ",
                   result.kind);
    }
    return any ? Status() : skipped("no call fails");
  });
}

// 68
Status runs_on_many_threads(Subject& subject) {
  return for_each_module(subject, [](Scene& scene) -> Status {
    if ((scene.module.pair.table->flags & GANTRY_MODULE_SERIAL) != 0)
      return skipped("the module is GANTRY_MODULE_SERIAL");
    if (scene.payload.calls.empty()) return skipped("the payload has no calls");
    const Device& device = *scene.device;
    GANTRY_CHECK(check_golden(scene.stage, device, scene.payload));
    std::vector<std::string> wrong(kCallThreads);
    {
      std::vector<std::jthread> threads;
      for (std::string& text : wrong) {
        threads.emplace_back([&] {
          const DeviceStream stream(device);
          for (int k = 0; k < kCallsOfAThread && text.empty(); ++k) {
            const Status done = check_calls(scene.stage, device, scene.module, scene.payload,
                                            {.stream = stream.get()});
            if (!done.ok()) text = done.error().message.text();
          }
        });
      }
    }
    for (const std::string& text : wrong) {
      if (!text.empty()) return bug("calls on ", kCallThreads, " threads: ", Message::lines(text));
    }
    return {};
  });
}

// 77
Status changes_no_thread_state(Subject& subject) {
  cpu_set_t before{}, after{};
  GANTRY_TRY(const auto stage, Stage::open(subject));
  ::sched_getaffinity(0, sizeof before, &before);
  ProcessState state(ProcessState::Scope::plugin);
  Status called;
  if (!subject.payloads().empty())
    called = for_each_payload(subject, [](Stage& used, const Payload& payload) -> Status {
      const auto device = used.device_for(payload);
      if (!device.ok()) return {};
      const PinnedBytes given = pinned(payload.bytes);
      GANTRY_TRY(const LoadedModule module,
                 used.load(payload, given.bytes->bytes(), given.pin.get()));
      return check_calls(used, **device, module, payload);
    });
  for (const gantry_device_table& device : stage->plugin().devices) {
    std::int32_t count = 0;
    const PluginCall record("count");
    device.count(stage->self(), &count, nullptr);
  }
  std::vector<std::string_view> changed = state.restore();
  ::sched_getaffinity(0, sizeof after, &after);
  if (!CPU_EQUAL(&before, &after)) changed.push_back("the CPUs of the thread");
  if (changed.empty()) return {};
  return bug("loading, calling and counting devices change ", join(changed));
}

// 114
//
// The list also names the device of the call, as that of a host does which makes calls on several
// devices. Reading any of its streams is a fault.
Status takes_two_streams(Subject& subject) {
  return for_each_module(subject, [](Scene& scene) -> Status {
    if (scene.payload.calls.empty()) return skipped("the payload has no calls");
    const Device& device = *scene.device;
    GANTRY_CHECK(check_golden(scene.stage, device, scene.payload));
    const GuardedBytes unreadable({});
    std::vector<gantry_device_stream> items{{{device.type, 0}, unreadable.data()},
                                            {{device.type, 1}, unreadable.data()},
                                            {{kDeviceTypeCount - 1, 0}, unreadable.data()}};
    const gantry_streams streams{items.data(), items.size()};
    const DeviceStream first(device), second(device);
    for (const DeviceStream* const stream : {&first, &second, &first}) {
      Status done = check_calls(scene.stage, device, scene.module, scene.payload,
                                {.stream = stream->get(), .streams = &streams});
      if (!done.ok()) return std::move(done).error().at("with streams of further devices");
    }
    return {};
  });
}

// 116
Status packs_elements(Subject& subject) {
  return for_each_module(subject, [](Scene& scene) -> Status {
    const auto is_packed_call = [](const GoldenCall& call) {
      return std::ranges::any_of(call.arguments, [](const GoldenValue& value) {
        return !value.tensor.bytes.empty() && is_packed(value.tensor.dtype);
      });
    };
    bool any = false;
    for (const GoldenCall& call : scene.payload.calls) {
      if (!is_packed_call(call)) continue;
      any = true;
      GANTRY_TRY(const LoadedFunction function, scene.stage.function(scene.module, call.function));
      GANTRY_TRY(const auto arguments,
                 CallArguments::make(*scene.device, call, CallArguments::Room::exact));
      const CallOutcome outcome =
          call_function(*scene.device, function.pair, arguments->values, {.name = call.function});
      Status done = outcome.code == GANTRY_OK ? Status() : Status(outcome.error);
      if (done.ok() && call.result) {
        done = compare_result(*scene.device, outcome.result.get(), *call.result,
                              scene.payload.tolerance);
      }
      if (done.ok()) done = arguments->check_after(scene.payload.tolerance);
      if (!done.ok()) return std::move(done).error().at("in function ", quoted(call.function));
    }
    return any ? Status() : skipped("no golden call has elements below a byte");
  });
}

constexpr Case kFunctionCases[] = {
    {63, Level::D, Weight::must, "finds-no-other-names",
     "get_function of unknown, empty, long and similar names is NOT_FOUND",
     "compare the whole name, with its size; it may contain NUL", finds_no_other_names},
    {64, Level::D, Weight::must, "lists-what-it-finds",
     "list_functions lists exactly names that get_function finds",
     "list the names from the same data that get_function searches", lists_what_it_finds},
    {65, Level::D, Weight::must, "checks-arguments",
     "a wrong number of arguments is INVALID; other kinds, element types, shapes, strides and "
     "devices are refused or work",
     "check the number, then the kind of each argument before reading it", checks_arguments, "*"},
    {66, Level::D, Weight::must, "accepts-or-refuses-unaligned-data",
     "tensors that begin within an element are refused or work",
     "check byte_offset and address, or use loads without an alignment",
     accepts_or_refuses_unaligned_data, "*"},
    {67, Level::D, Weight::must, "leaves-results-alone",
     "a call that fails leaves its result GANTRY_NONE", "write the result last",
     leaves_results_alone},
    {68, Level::D, Weight::must, "runs-on-many-threads",
     "golden calls on 64 threads, each with its stream, give the expected results",
     "guard data that calls share, or set GANTRY_MODULE_SERIAL", runs_on_many_threads},
    {77, Level::D, Weight::must, "changes-no-thread-state",
     "loads, calls and counts change no locale, rounding mode, signal mask, directory or CPU set",
     "restore what a driver changes before returning", changes_no_thread_state},
    {114, Level::D, Weight::must, "takes-two-streams",
     "golden calls in two streams, with streams of further devices in the env, give the expected "
     "results",
     "use env->stream, or gantry_env_stream() for another device than env->device",
     takes_two_streams, "*"},
    {116, Level::D, Weight::must, "packs-elements",
     "golden calls with elements below a byte read and write packed ones, and nothing behind them",
     "compute sizes with gantry_element_bytes()", packs_elements, "*"},
};

}  // namespace

std::span<const Case> function_cases() { return kFunctionCases; }

}  // namespace gantry::kit
