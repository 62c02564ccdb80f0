// SPDX-License-Identifier: Apache-2.0
//
// gantry/subgraph_module.hpp - a module whose code is a sub-graph in JSON. A vendor writes the class
// that runs it:
//
//     class Program {
//      public:
//       // Called once. A constant is read here or kept with its Value.
//       static Result<std::unique_ptr<Program>> build(Plugin&, const SubgraphCode&,
//                                                     std::span<const Value> constants);
//       // The inputs, then the outputs: of the types of the graph, and in host memory, unless the
//       // plugin runs them on a device (subgraph_device, below).
//       Status run(const gantry_env*, std::span<const gantry_tensor* const> arguments) const;
//     };
//     using Loaders = Types<SubgraphModule<Plugin, Program>>;      // of the plugin
//
// A module of constants (const_loader) calls __init_<symbol> with an array of the constants, then
// the CPU code of the artifact calls <symbol>:
//
//     get_const_vars() -> names     __init_<symbol>(constants) -> 0     <symbol>(inputs..., outputs...)
//
// source   apache/tvm src/runtime/contrib/json/json_runtime.h (v0.8 to v0.19)
#pragma once

#include <gantry/handle.hpp>
#include <gantry/json_subgraph.hpp>
#include <gantry/loader.hpp>
#include <gantry/module.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

// The content of one payload.
struct SubgraphCode {
  // as in the container: "tensorrt"
  std::string type_key;
  // views into `kept`
  SubgraphPayload payload;
  Subgraph graph;
  PayloadBytes kept;
};

// Plugin has a member `host`, and a member `subgraph_key`: the type key that its manifest names. It
// may have a function that refuses a tensor on a device where it does not run, with a text of its own:
//
//     Status check_device(std::string_view type_key, std::size_t argument, const gantry_tensor&) const;
//
// and a member `subgraph_device`, the kind of device on which it runs: "cuda". Arguments may then be on
// any device that check_device() does not refuse; constants are in host memory as before.
template <class Plugin, class Program>
class SubgraphModule {
  static constexpr const char* device = [] {
    if constexpr (requires { Plugin::subgraph_device; }) {
      return Plugin::subgraph_device;
    } else {
      return static_cast<const char*>(nullptr);
    }
  }();

 public:
  static constexpr LoaderIdentity identity{
      .type_key = Plugin::subgraph_key, .device = device, .is_parallel = true};

  enum class Role : std::uint8_t { run, init, get_symbol, get_const_vars };
  // One function of the module, which owns it.
  struct Function {
    Result<Value> call(const Call& call) const { return module->call(role, call); }
    SubgraphModule* module;
    Role role;
  };

  static Result<std::unique_ptr<SubgraphModule>> load(Plugin& plugin, Blob& blob) {
    SubgraphCode code{std::string(blob.type_key()), {}, {}, {}};
    GANTRY_TRY(code.payload, read_subgraph_payload(blob.reader()));
    GANTRY_TRY(code.graph, read_json_subgraph(code.payload));
    code.kept = blob.keep();
    return std::make_unique<SubgraphModule>(plugin, std::move(code));
  }

  SubgraphModule(Plugin& plugin, SubgraphCode code) : plugin_(plugin), code_(std::move(code)) {
    const std::string_view symbol = code_.payload.symbol;
    init_name_ = concat("__init_", symbol);
    usage_ = concat(symbol, "(");
    const Subgraph& graph = code_.graph;
    for (std::size_t i = 0; i < graph.inputs.size() + graph.outputs.size(); ++i) {
      const bool is_input = i < graph.inputs.size();
      const std::uint32_t entry =
          is_input ? graph.inputs[i] : graph.outputs[i - graph.inputs.size()];
      std::vector<Extent>& shape = shapes_.emplace_back();
      for (const std::int64_t extent : graph.entries[entry].shape)
        shape.push_back(extent < 0 ? Extent('*') : Extent(extent));
      append(usage_, {TextPiece(i == 0 ? "" : ", "), TextPiece(is_input ? "input " : "output "),
                      TextPiece(is_input ? i : i - graph.inputs.size())});
    }
    usage_ += ")";
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      const std::uint32_t entry =
          i < graph.inputs.size() ? graph.inputs[i] : graph.outputs[i - graph.inputs.size()];
      specs_.push_back({.dtype = graph.entries[entry].dtype,
                        .shape = std::span<const Extent>(shapes_[i]),
                        .place = device == nullptr ? TensorPlace::host : TensorPlace::any,
                        .has_offset = true});
    }
  }

  // In the order of upstream's look-up.
  Function* find(std::string_view name) {
    const auto names = this->names();
    const auto found = std::ranges::find(names, name);
    return found == names.end() ? nullptr
                                : &functions_[static_cast<std::size_t>(found - names.begin())];
  }
  std::array<std::string_view, 4> names() const {
    return {"get_symbol", "get_const_vars", code_.payload.symbol, init_name_};
  }
  Status save(const Sink& sink) const { return sink.write(code_.kept.bytes); }

 private:
  Result<Value> call(Role role, const Call& call) {
    switch (role) {
      case Role::run:
        return run({usage_, call.env, call.args});
      case Role::init:
        return initialize({init_name_ + "(constants)", call.env, call.args});
      case Role::get_symbol:
        return plugin_.host.text(code_.payload.symbol);
      case Role::get_const_vars:
        break;
    }
    std::vector<Value> names;
    for (const std::string_view name : code_.payload.constants) {
      GANTRY_TRY(Value text, plugin_.host.text(name));
      names.push_back(std::move(text));
    }
    return plugin_.host.array(names);
  }

  // The first call builds the program; the others wait for it and have no effect.
  Result<Value> initialize(const Call& call) {
    GANTRY_CHECK(call.count_is(1));
    GANTRY_TRY(gantry_object* const list, call.object(0, GANTRY_ARRAY));
    GANTRY_TRY(const auto items, plugin_.host.items(list));
    const std::vector<std::uint32_t>& constants = code_.graph.constants;
    if (items.size() != constants.size()) {
      return call.refuse("argument 0 has ", items.size(), " constants, the sub-graph has ",
                         constants.size());
    }
    std::vector<Value> values;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const gantry_tensor* const tensor = gantry_value_tensor(&items[i]);
      const TensorType& type = code_.graph.entries[constants[i]];
      const bool is_read = tensor != nullptr && tensor->device.type == cpu_device_type &&
                           has_type(tensor->dtype, shape_of(*tensor), type) && is_compact(*tensor);
      if (!is_read) {
        return call.refuse("constant ", i, " ", quoted(code_.payload.constants[i]), " is ",
                           tensor == nullptr ? kind_text(items[i].kind) : tensor_text(*tensor),
                           ", expected ", type_text(type.dtype, type.shape), " on cpu, compact");
      }
      GANTRY_TRY(Value value, plugin_.host.keep(items[i]));
      values.push_back(std::move(value));
    }
    GANTRY_CHECK(build(values));
    return Value::adopt(int_value(0));
  }

  Status build(std::span<const Value> constants) {
    const std::lock_guard lock(mutex_);
    if (program_ != nullptr) return {};
    auto built = Program::build(plugin_, code_, constants);
    if (!built.ok()) {
      return std::move(built).failure().at("while preparing sub-graph ",
                                           quoted(code_.payload.symbol), " of ", code_.type_key);
    }
    program_ = std::move(*built);
    ready_.store(program_.get(), std::memory_order_release);
    return {};
  }

  static constexpr bool checks_devices =
      requires(const Plugin& plugin, const gantry_tensor& tensor) {
    plugin.check_device(std::string_view(), std::size_t{}, tensor);
  };
  Status check_device(std::size_t i, const gantry_value& argument) const {
    const gantry_tensor* const tensor = gantry_value_tensor(&argument);
    return tensor == nullptr ? Status() : plugin_.check_device(code_.type_key, i, *tensor);
  }

  Result<Value> run(const Call& call) {
    const Program* program = ready_.load(std::memory_order_acquire);
    if (program == nullptr) {
      if (!code_.graph.constants.empty()) {
        return call.refuse("the ", code_.graph.constants.size(),
                           " constants of the sub-graph are not set: call ", init_name_, " first");
      }
      GANTRY_CHECK(build({}));
      program = ready_.load(std::memory_order_acquire);
    }
    GANTRY_CHECK(call.count_is(specs_.size()));
    constexpr std::size_t max_on_stack = 32;
    std::array<const gantry_tensor*, max_on_stack> few;
    std::vector<const gantry_tensor*> many;
    if (specs_.size() > max_on_stack) many.resize(specs_.size());
    const std::span<const gantry_tensor*> arguments(
        specs_.size() > max_on_stack ? many.data() : few.data(), specs_.size());
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if constexpr (checks_devices) GANTRY_CHECK(check_device(i, call.args[i]));
      GANTRY_TRY(arguments[i], call.tensor(i, specs_[i]));
    }
    GANTRY_CHECK(program->run(call.env, arguments));
    return Value();
  }

  Plugin& plugin_;
  const SubgraphCode code_;
  std::string init_name_;
  std::string usage_;
  // Extents of the arguments, and their specs, which refer to them.
  std::vector<std::vector<Extent>> shapes_;
  std::vector<TensorSpec> specs_;
  std::array<Function, 4> functions_{Function{this, Role::get_symbol},
                                     Function{this, Role::get_const_vars},
                                     Function{this, Role::run}, Function{this, Role::init}};
  std::mutex mutex_;
  std::unique_ptr<const Program> program_;
  // program_ after it is complete.
  std::atomic<const Program*> ready_{nullptr};
};

}  // namespace gantry
