// SPDX-License-Identifier: Apache-2.0
//
// Cases 117 to 120 and 122: modules that are models (gantry/model.h), and their executors. 121 is in
// cancel_cases.cpp.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/failing_calls.hpp"
#include "tools/conformance/forwarding_host.hpp"
#include "tools/conformance/model_run.hpp"

#include "core/plugins/library/table_copy.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/embed/task.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/utf8.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <set>
#include <thread>

namespace gantry::kit {
namespace {

// Unknown in every version so far.
constexpr std::uint32_t kUnknownExecutorFlag = 1u << 30;
constexpr int kSignatureThreads = 8;
// Runs and creations fail after 0, 1, ... successful calls of the host, at most so many.
constexpr int kMaxHostCalls = 64;

struct ModelScene {
  Stage& stage;
  const Payload& payload;
  const TestedModel& model;
};

// For each payload that is a model.
Status for_each_model(Subject& subject, const std::function<Status(ModelScene& scene)>& check) {
  return for_each_payload(subject, [&](Stage& stage, const Payload& payload) -> Status {
    GANTRY_TRY(const auto device, stage.device_for(payload));
    const PinnedBytes given = pinned(payload.bytes);
    GANTRY_TRY(const LoadedModule module,
               stage.load(payload, given.bytes->bytes(), given.pin.get()));
    GANTRY_TRY(const TestedModel model,
               TestedModel::of(stage.state(), module.pair, {device->type, 0}));
    ModelScene scene{stage, payload, model};
    return check(scene);
  });
}

// The same with golden runs that give their results under ordinary conditions, which case 118
// reports.
Status for_each_running_model(Subject& subject,
                              const std::function<Status(ModelScene& scene)>& check) {
  return for_each_model(subject, [&](ModelScene& scene) -> Status {
    if (scene.payload.runs.empty()) return skipped("the payload has no runs");
    const auto executor = scene.model.executor();
    if (!executor.ok() || !check_runs(**executor, scene.payload).ok() ||
        !check_runs(**executor, scene.payload, {.fills = true}).ok())
      return not_run("the golden runs fail, see case 118");
    return check(scene);
  });
}

// ---- 117 ----------------------------------------------------------------------------------------

Status check_names(const std::vector<std::string_view>& names, std::string_view of) {
  std::set<std::string_view> known;
  for (const std::string_view name : names) {
    if (name.empty()) return bug("a name of ", of, " is empty");
    if (!is_utf8(name)) return bug("a name of ", of, " is not UTF-8");
    if (!known.insert(name).second) return bug(of, " have ", quoted(name), " twice");
  }
  return {};
}

Status check_info(const gantry_model_info& info, const std::vector<std::string_view>& names) {
  if ((info.flags & ~std::uint32_t{GANTRY_MODEL_ALTERNATIVES}) != 0)
    return bug("info has flags ", Hex{info.flags}, ", known are ",
               Hex{std::uint32_t{GANTRY_MODEL_ALTERNATIVES}});
  if (info.function_count == 0) return bug("the model has no function");
  GANTRY_CHECK(check_names(names, "the functions"));
  if (info.default_function == GANTRY_NO_FUNCTION || info.default_function < info.function_count)
    return {};
  return bug("the default function is ", info.default_function, ", function count is ",
             info.function_count);
}

Status check_parameter(const gantry_parameter& each, bool is_input) {
  constexpr std::int32_t kinds[] = {GANTRY_NONE,  GANTRY_TENSOR, GANTRY_ARRAY,
                                    GANTRY_SHAPE, GANTRY_INT,    GANTRY_FLOAT,
                                    GANTRY_BOOL,  GANTRY_STRING, GANTRY_OBJECT};
  constexpr std::uint32_t flags =
      GANTRY_PARAMETER_WEIGHT | GANTRY_PARAMETER_OPTIONAL | GANTRY_PARAMETER_WRITTEN;
  if (std::ranges::find(kinds, each.kind) == std::end(kinds))
    return bug("its kind is ", each.kind, ", which no parameter has");
  if ((each.flags & ~flags) != 0 || (!is_input && each.flags != 0))
    return bug("its flags are ", Hex{each.flags}, ", known are ", Hex{is_input ? flags : 0u});
  if (!is_utf8(view_of(each.type))) return bug("its type is not UTF-8");
  if (each.ndim < -1) return bug("its ndim is ", each.ndim, ", minimum is -1");
  for (std::int32_t i = 0; i < each.ndim; ++i) {
    if (each.shape == nullptr) return bug("its ndim is ", each.ndim, " and its shape is NULL");
    if (each.shape[i] < -1) return bug("extent ", i, " is ", each.shape[i], ", minimum is -1");
  }
  return {};
}

Status check_signature(const gantry_signature& signature) {
  if ((signature.flags & ~std::uint32_t{GANTRY_SIGNATURE_OUTPUTS}) != 0)
    return bug("its flags are ", Hex{signature.flags});
  if ((signature.flags & GANTRY_SIGNATURE_OUTPUTS) == 0 && signature.output_count != 0)
    return bug("it has ", signature.output_count, " outputs without GANTRY_SIGNATURE_OUTPUTS");
  for (const bool is_input : {true, false}) {
    const gantry_parameter* const* const list = is_input ? signature.inputs : signature.outputs;
    const std::uint32_t count = is_input ? signature.input_count : signature.output_count;
    std::vector<std::string_view> names;
    for (std::uint32_t i = 0; i < count; ++i) {
      names.push_back(view_of(list[i]->name));
      Status checked = check_parameter(*list[i], is_input);
      if (!checked.ok())
        return std::move(checked).failure().at("in ", is_input ? "input " : "output ", i);
    }
    GANTRY_CHECK(check_names(names, is_input ? "the inputs" : "the outputs"));
  }
  return {};
}

// A golden run fits a signature.
Status check_golden_types(const gantry_signature& signature, const GoldenRun& run) {
  for (std::uint32_t i = 0; i < signature.input_count; ++i) {
    const gantry_parameter& input = *signature.inputs[i];
    const auto given = std::ranges::find(run.inputs, view_of(input.name),
                                         [](const auto& each) { return each.first; });
    if (given == run.inputs.end() || given->second.kind != GoldenValue::Kind::tensor) continue;
    const GoldenTensor& tensor = given->second.tensor;
    const bool has_dtype = input.dtype.bits == 0 || same_dtype(input.dtype, tensor.dtype);
    bool has_shape = input.ndim < 0 || static_cast<std::size_t>(input.ndim) == tensor.shape.size();
    for (std::size_t k = 0; has_shape && input.ndim >= 0 && k < tensor.shape.size(); ++k)
      has_shape = input.shape[k] == -1 || input.shape[k] == tensor.shape[k];
    if (has_dtype && has_shape) continue;
    return bug("input ", quoted(view_of(input.name)), " is stated as ", view_of(input.type),
               ", a golden run passes ", type_text(tensor.dtype, tensor.shape));
  }
  if ((signature.flags & GANTRY_SIGNATURE_OUTPUTS) == 0 ||
      signature.output_count == run.outputs.size())
    return {};
  return bug("the signature has ", signature.output_count, " outputs, a golden run has ",
             run.outputs.size());
}

Status check_functions(const ModelScene& scene) {
  const TestedModel& model = scene.model;
  const std::vector<std::string_view> names = model.functions();
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    const auto check = [&]() -> Status {
      const auto first = model.signature(i);
      // Without the modules that it imports.
      if (!first.ok() && scene.payload.runs.empty() && first.error().code != Code::bug) return {};
      if (!first.ok()) return first.error();
      GANTRY_CHECK(check_signature(**first));
      GANTRY_TRY(const gantry_signature* const second, model.signature(i));
      if (second != *first) return bug("a second call returns another signature than the first");
      return {};
    };
    Status checked = check();
    if (!checked.ok())
      return std::move(checked).failure().at("in the signature of ", quoted(names[i]));
  }
  for (const GoldenRun& run : scene.payload.runs) {
    GANTRY_TRY(const std::uint32_t function, model.function(run.function));
    GANTRY_TRY(const gantry_signature* const signature, model.signature(function));
    GANTRY_CHECK(check_golden_types(*signature, run));
  }
  return {};
}

Status describes_its_model(Subject& subject) {
  return for_each_payload(subject, [](Stage& stage, const Payload& payload) -> Status {
    const PinnedBytes given = pinned(payload.bytes);
    GANTRY_TRY(const LoadedModule module,
               stage.load(payload, given.bytes->bytes(), given.pin.get()));
    const gantry_module_table* const table = module.pair.table;
    const bool has_extensions = GANTRY_HAS(table, get_extension) && table->get_extension != nullptr;
    for (const char* id : {"", "gantry.model", "gantry.model/0", "gantry.model/10"}) {
      if (has_extensions && table->get_extension(module.pair.self, id) != nullptr)
        return bug("get_extension(", quoted(id), ") of the module returns a table, expected NULL");
    }
    auto device = stage.device_for(payload);
    const gantry_device_id other{device.ok() ? (*device)->type : kCpu, 0};
    GANTRY_TRY(const TestedModel model, TestedModel::of(stage.state(), module.pair, other));
    GANTRY_CHECK(check_info(model.info(), model.functions()));
    gantry_model_info again{};
    again.struct_size = sizeof again;
    model.table().info(model.self(), &again, nullptr);
    if (again.functions != model.info().functions ||
        again.default_function != model.info().default_function ||
        again.device_types != model.info().device_types)
      return bug("a second call of info returns other lists than the first");
    ModelScene scene{stage, payload, model};
    GANTRY_CHECK(check_functions(scene));
    std::vector<std::string> wrong(kSignatureThreads);
    {
      std::vector<std::jthread> threads;
      for (std::string& text : wrong) {
        threads.emplace_back([&] {
          const Status checked = check_functions(scene);
          if (!checked.ok()) text = checked.error().message.text();
        });
      }
    }
    for (const std::string& text : wrong) {
      if (!text.empty())
        return bug("signatures on ", kSignatureThreads, " threads: ", Message::lines(text));
    }
    return {};
  });
}

// ---- 118 ----------------------------------------------------------------------------------------

Status runs_by_name(Subject& subject) {
  return for_each_model(subject, [](ModelScene& scene) -> Status {
    if (scene.payload.runs.empty()) return skipped("the payload has no runs");
    for (const std::uint32_t flags : {0u, std::uint32_t{GANTRY_EXECUTOR_PREPARE}}) {
      GANTRY_TRY(const auto executor, scene.model.executor(flags));
      GANTRY_CHECK(check_runs(*executor, scene.payload));
      Status fills = check_runs(*executor, scene.payload, {.fills = true});
      if (!fills.ok()) return std::move(fills).failure().at("with tensors to fill");
    }
    const auto unknown = scene.model.executor(kUnknownExecutorFlag);
    if (!unknown.ok() && unknown.error().code == Code::unsupported) return {};
    return bug(
        "executor_new with an unknown flag ",
        unknown.ok() ? std::string("succeeds") : concat("fails as ", name_of(unknown.error().code)),
        ", expected unsupported");
  });
}

// ---- 119 ----------------------------------------------------------------------------------------

Status check_placement(const gantry_placement& at, const gantry_parameter& stated, bool is_input) {
  constexpr std::uint32_t of_inputs = GANTRY_PLACEMENT_OWN_ONLY | GANTRY_PLACEMENT_KEPT;
  const std::uint32_t known = is_input ? of_inputs : std::uint32_t{GANTRY_PLACEMENT_REUSED};
  if (at.alignment == 0 || (at.alignment & (at.alignment - 1)) != 0)
    return bug("its alignment is ", at.alignment, ", expected a power of two");
  if ((at.flags & ~known) != 0)
    return bug("its flags are ", Hex{at.flags}, ", known are ", Hex{known});
  if (at.own == nullptr) {
    if ((at.flags & GANTRY_PLACEMENT_OWN_ONLY) == 0) return {};
    return bug("it has OWN_ONLY and no own memory");
  }
  if (!is_input) return bug("an output has own memory");
  const gantry_tensor& own = *at.own;
  if (own.device.type != at.device.type || own.device.index != at.device.index)
    return bug("its own memory is on device ", own.device.type, ":", own.device.index,
               ", it states ", at.device.type, ":", at.device.index);
  if (stated.dtype.bits != 0 && !same_dtype(own.dtype, stated.dtype))
    return bug("its own memory is ", tensor_text(own), ", the signature states ",
               view_of(stated.type));
  if (!is_compact(own)) return bug("its own memory is not compact");
  return {};
}

// Copies of the placements of a function, after a check of each.
struct CheckedPlacements {
  const gantry_placement* inputs = nullptr;
  const gantry_placement* outputs = nullptr;
  std::vector<gantry_placement> all;
};

Result<CheckedPlacements> checked_placements(const TestedExecutor& executor,
                                             std::uint32_t function) {
  GANTRY_TRY(const gantry_signature* const signature, executor.model().signature(function));
  GANTRY_TRY(const TestedExecutor::Placed placed, executor.placements(function));
  CheckedPlacements checked{placed.inputs.data(), placed.outputs.data(), {}};
  for (const bool is_input : {true, false}) {
    const auto side = is_input ? placed.inputs : placed.outputs;
    for (std::size_t i = 0; i < side.size(); ++i) {
      const gantry_parameter& stated = *(is_input ? signature->inputs : signature->outputs)[i];
      Status done = check_placement(side[i], stated, is_input);
      if (!done.ok())
        return std::move(done).failure().at("in the placement of ", is_input ? "input " : "output ",
                                            quoted(view_of(stated.name)));
      checked.all.push_back(side[i]);
    }
  }
  return checked;
}

bool are_equal(const CheckedPlacements& a, const CheckedPlacements& b) {
  const auto is_same = [](const gantry_placement& x, const gantry_placement& y) {
    return x.device.type == y.device.type && x.device.index == y.device.index &&
           x.alignment == y.alignment && x.flags == y.flags && x.own == y.own;
  };
  return a.inputs == b.inputs && a.outputs == b.outputs &&
         std::ranges::equal(a.all, b.all, is_same);
}

// Each output is where its placement states.
Status check_returned(const ModelRun& run) {
  const auto placements = run.output_placements();
  GANTRY_TRY(const std::vector<gantry_value> outputs, run.outputs());
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const gantry_tensor* const tensor = gantry_value_tensor(&outputs[i]);
    if (tensor == nullptr) continue;
    const gantry_placement& at = placements[i];
    if (tensor->device.type != at.device.type || tensor->device.index != at.device.index)
      return bug("output ", i, " is on device ", tensor->device.type, ":", tensor->device.index,
                 ", its placement states ", at.device.type, ":", at.device.index);
    const auto address = reinterpret_cast<std::uintptr_t>(tensor->data) + tensor->byte_offset;
    if (at.device.type == kCpu && address % at.alignment != 0)
      return bug("output ", i, " is not aligned to ", at.alignment, ", as its placement states");
  }
  return {};
}

Status uses_placed_memory(Subject& subject) {
  return for_each_running_model(subject, [](ModelScene& scene) -> Status {
    GANTRY_TRY(const auto executor, scene.model.executor());
    const std::vector<std::string_view> names = scene.model.functions();
    std::vector<CheckedPlacements> before;
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      GANTRY_TRY(CheckedPlacements placed, checked_placements(*executor, i));
      before.push_back(std::move(placed));
    }
    // With memory that faults, at addresses that no later run has.
    std::vector<std::unique_ptr<ModelRun>> earlier;
    for (const RunSetup& setup :
         {RunSetup{.is_guarded = true}, RunSetup{.fills = true, .is_guarded = true},
          RunSetup{.is_guarded = true, .uses_own = true}, RunSetup{.is_guarded = true}}) {
      for (const GoldenRun& golden : scene.payload.runs) {
        GANTRY_TRY(auto run, ModelRun::make(*executor, golden, setup));
        GANTRY_CHECK(run->run());
        Status compared = run->check(scene.payload.tolerance);
        if (!compared.ok()) {
          return std::move(compared).failure().at(
              "with memory as placements state it, that of earlier runs freed");
        }
        if (!setup.fills) GANTRY_CHECK(check_returned(*run));
        run->revoke();
        earlier.push_back(std::move(run));
      }
    }
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      GANTRY_TRY(const CheckedPlacements after, checked_placements(*executor, i));
      if (!are_equal(before[i], after))
        return bug("the placements of function ", quoted(names[i]), " differ after runs");
    }
    return {};
  });
}

// ---- 120 ----------------------------------------------------------------------------------------

// Runs with other inputs. A failure does not matter here.
void run_with_zeros(const TestedExecutor& executor, const GoldenRun& golden) {
  const auto run = ModelRun::make(executor, golden, {.zeros = true});
  if (run.ok()) (void)(*run)->run();
}

// True if a later run may write an output: its placement states it, or its object has further
// references. The host copies those.
bool is_reused(const ModelRun& run) {
  const auto outputs = run.outputs();
  const bool is_shared =
      outputs.ok() && std::ranges::any_of(*outputs, [](const gantry_value& each) {
        if (each.kind != GANTRY_TENSOR) return false;
        return (std::atomic_ref(each.object->counts).load() & UINT32_MAX) != 1;
      });
  return is_shared || std::ranges::any_of(run.output_placements(), [](const gantry_placement& at) {
           return (at.flags & GANTRY_PLACEMENT_REUSED) != 0;
         });
}

Status keeps_results(Subject& subject) {
  return for_each_running_model(subject, [](ModelScene& scene) -> Status {
    const double tolerance = scene.payload.tolerance;
    for (const GoldenRun& golden : scene.payload.runs) {
      GANTRY_TRY(auto executor, scene.model.executor());
      GANTRY_TRY(const auto other, scene.model.executor());
      GANTRY_TRY(auto run, ModelRun::make(*executor, golden));
      GANTRY_CHECK(run->run());
      run_with_zeros(*other, golden);
      Status kept = run->check(tolerance);
      if (!kept.ok()) return std::move(kept).failure().at("after a run of another executor");
      run_with_zeros(*executor, golden);
      if (!is_reused(*run)) {
        kept = run->check(tolerance);
        if (!kept.ok()) return std::move(kept).failure().at("after a later run of its executor");
      }
      // A run depends on its inputs alone.
      Status again = check_run(*executor, scene.payload, golden);
      if (!again.ok()) return std::move(again).failure().at("after runs with other inputs");
      again = check_run(*other, scene.payload, golden);
      if (!again.ok()) return std::move(again).failure().at("in another executor");
    }
    return {};
  });
}

// ---- 122 ----------------------------------------------------------------------------------------

// The plugin with a host whose functions fail on request, and its devices in use.
class FailingScene {
 public:
  static Result<std::unique_ptr<FailingScene>> open(const Subject& subject) {
    std::unique_ptr<FailingScene> made(new FailingScene);
    GANTRY_TRY(made->bench_, Bench::open(subject));
    const LoadedPlugin& plugin = made->bench_->plugin();
    made->host_ = std::make_unique<ForwardingHost>(
        made->bench_->host(), ForwardingSettings{.abi_minor = plugin.abi_minor, .slack_bytes = 64});
    GANTRY_TRY(Instance instance, created(plugin, made->host_->table()));
    made->instance_.emplace(std::move(instance));
    for (const gantry_device_table& device : plugin.devices) {
      GANTRY_TRY(const std::int32_t type, made->devices().number_of(device.name));
      made->devices().serve(type, made->instance_->self());
      made->served_.push_back(type);
    }
    return made;
  }
  ~FailingScene() {
    for (const std::int32_t type : served_) devices().retire(type);
  }

  ForwardingHost& host() { return *host_; }
  RuntimeState& state() { return bench_->state(); }

  Result<LoadedModule> load(const Payload& payload, const PinnedBytes& given) {
    LoadedModule loaded;
    GANTRY_TRY(loaded.node,
               new_module_node(std::make_shared<const Artifact>(state().new_artifact()),
                               payload.key, ModuleNode::kNoIndex));
    gantry_blob blob = blob_of(payload.key, given.bytes->bytes(), given.pin.get());
    blob.argument_tags = payload.argument_tags;
    blob.numbering = payload.numbering;
    const auto& loaders = bench_->plugin().loaders;
    const auto loader = std::ranges::find_if(loaders, [&](const gantry_loader_table& each) {
      return loaders.size() == 1 || payload.key == each.type_key;
    });
    if (loader == loaders.end()) return not_run("the payload's key is an alias");
    GANTRY_TRY(loaded.node->imports, imports_of(state(), payload));
    StatusBuffer status;
    const gantry_code code = status.call([&](gantry_status* failure) {
      return loader->load_binary(instance_->self(), &blob, &loaded.node->header, &loaded.pair,
                                 &loaded.consumed, failure);
    });
    if (code == GANTRY_OK) return loaded;
    return status.error(code, "load_binary");
  }

 private:
  FailingScene() = default;
  DeviceSet& devices() { return bench_->state().devices; }

  std::unique_ptr<Bench> bench_;
  std::unique_ptr<ForwardingHost> host_;
  std::optional<Instance> instance_;
  std::vector<std::int32_t> served_;
};

// What a failure of the host makes of a call: an error with a text, no defect of the plugin.
Status check_host_failure(const Error& error, std::string_view call) {
  if (error.reason == "EXCEPTION" || error.code == Code::bug)
    return bug(call, " fails as ", name_of(error.code),
               " if a function of the host fails: ", first_line(error));
  return {};
}

// Makes a run fail in each of its calls of the host, then without one.
//
// returns  the number of runs that failed
Result<int> fail_runs(ForwardingHost& host, const TestedExecutor& executor, const Payload& payload,
                      const GoldenRun& golden) {
  int failures = 0;
  for (int allowed = 0; allowed < kMaxHostCalls; ++allowed) {
    GANTRY_TRY(const auto run, ModelRun::make(executor, golden));
    const std::int64_t before = host.creating_calls();
    host.fail_after(allowed);
    Status ran = run->run();
    host.fail_never();
    if (ran.ok()) {
      if (host.creating_calls() - before <= allowed) break;
      continue;
    }
    ++failures;
    GANTRY_CHECK(check_host_failure(ran.error(), "run"));
    GANTRY_CHECK(run->check_untouched());
    Status after = check_run(executor, payload, golden);
    if (!after.ok()) return std::move(after).failure().at("after a run that failed");
  }
  return failures;
}

Status runs_after_a_failure(Subject& subject) {
  // Whether the runs work at all.
  GANTRY_CHECK(for_each_running_model(subject, [](ModelScene&) { return Status(); }));
  bool any = false;
  for (const Payload& payload : subject.payloads()) {
    if (payload.runs.empty()) continue;
    GANTRY_TRY(const auto scene, FailingScene::open(subject));
    const PinnedBytes given = pinned(payload.bytes);
    GANTRY_TRY(const LoadedModule module, scene->load(payload, given));
    const auto model = TestedModel::of(scene->state(), module.pair, {kCpu, 0});
    if (!model.ok() && model.error().reason == skip_reason) continue;
    if (!model.ok()) return model.error();
    ForwardingHost& host = scene->host();
    for (int allowed = 0; allowed < kMaxHostCalls; ++allowed) {
      const std::int64_t before = host.creating_calls();
      host.fail_after(allowed);
      const auto executor = model->executor();
      host.fail_never();
      if (executor.ok() && host.creating_calls() - before <= allowed) break;
      if (executor.ok()) continue;
      any = true;
      GANTRY_CHECK(check_host_failure(executor.error(), "executor_new"));
    }
    GANTRY_TRY(const auto executor, model->executor());
    for (const GoldenRun& golden : payload.runs) {
      GANTRY_TRY(const int failures, fail_runs(host, *executor, payload, golden));
      any = any || failures != 0;
    }
  }
  return any ? Status() : skipped("no run fails if functions of the host fail");
}

constexpr Case kModelCases[] = {
    {117, Level::D, Weight::must, "describes-its-model",
     "info and signatures of a model are complete, constant, the same on 8 threads, and fit the "
     "golden runs",
     "make both lists once, and return them until the module is destroyed", describes_its_model},
    {118, Level::D, Weight::must, "runs-by-name",
     "golden runs of a model give the expected outputs, returned and in tensors to fill; an "
     "unknown "
     "flag of executor_new is UNSUPPORTED",
     "take inputs in the order of the signature; write to a tensor that is passed as an output",
     runs_by_name},
    {119, Level::D, Weight::must, "uses-placed-memory",
     "placements are valid and constant; inputs in read-only memory with exactly the stated "
     "alignment are enough, and are not used by a later run",
     "state the alignment and the flags that the code requires; store no address of an input",
     uses_placed_memory, "*"},
    {120, Level::D, Weight::must, "keeps-results",
     "outputs are unchanged after runs of another executor, and after later runs unless they are "
     "REUSED; a run gives the same outputs after runs with other inputs",
     "return new tensors, or state REUSED; give each executor memory of its own", keeps_results},
    {122, Level::D, Weight::must, "runs-after-a-failure",
     "a run that fails because a function of the host fails writes no output, and the executor "
     "gives "
     "the expected outputs afterwards",
     "write outputs last; restore what a run changes on every path", runs_after_a_failure},
};

}  // namespace

std::span<const Case> model_cases() { return kModelCases; }

}  // namespace gantry::kit
