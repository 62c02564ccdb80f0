// SPDX-License-Identifier: Apache-2.0
//
// The model of a module: the functions of those modules that are models (gantry/model.h), by name.
//
//     the module itself, or else the models among its imports, depth first, none below another
//     an archive of several models: each one's default function, by the archive's name of the model
#pragma once

#include "core/engine/module/module.hpp"
#include "core/engine/tensor/object.hpp"

#include <gantry/model.h>
#include <gantry/result.hpp>
#include <gantry/signature.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct RuntimeState;

// What a model is made of.
struct ModelSource {
  std::shared_ptr<RuntimeState> runtime;
  // is the model, or imports it
  Ref<ModuleNode> module;
  // "cpu", "opencl:1"; empty: the defaults, see default_devices.hpp
  std::vector<std::string> devices;
  // the device records the second run and replays it in later runs
  bool capture = false;
  // executors do what the first run would do once
  bool prepare = false;
};

// The signature of a function as the plugin states it, checked and completed.
struct FunctionSignature {
  FunctionSignature(std::string function, std::string title, std::vector<ParameterInfo> inputs,
                    std::optional<std::vector<ParameterInfo>> outputs, gantry_device_id device);

  const std::string name, subject;
  const Signature own;
  // of `own`, with the members that the host sets
  gantry_signature table;
};

// An executor of a model. Destroyed before its module.
//
// thread   one at a time
class ModelExecutor {
 public:
  // model    [in]   kept alive
  // table    [in]   complete
  ModelExecutor(Ref<ModuleNode> model, void* self, const gantry_executor_table* table)
      : node_(std::move(model)), self_(self), table_(table) {}
  ~ModelExecutor();
  ModelExecutor(const ModelExecutor&) = delete;
  ModelExecutor& operator=(const ModelExecutor&) = delete;

  // Where a function takes its inputs and leaves its outputs.
  struct Placed {
    std::span<const gantry_placement> inputs;
    std::span<const gantry_placement> outputs;
  };
  // returns  the error of the plugin; bug, reason PLACEMENT
  // lifetime as long as this object
  Result<Placed> placements(std::uint32_t function, const gantry_signature& signature);
  Status run(const gantry_env& env, gantry_executor_run& run);

 private:
  std::string title() const;

  const Ref<ModuleNode> node_;
  void* const self_;
  const gantry_executor_table* const table_;
};

// thread   any, in parallel
class ModelState {
 public:
  // One module that is a model.
  struct Member {
    Ref<ModuleNode> node;
    // complete
    const gantry_model* table = nullptr;
    gantry_model_info info{};
  };
  struct Function {
    std::string name;
    // index in `members`
    std::size_t member = 0;
    // in the member's list
    std::uint32_t index = 0;
  };

  // Finds the model of a module.
  //
  // returns  not_found: the module has none; the errors of the plugin
  static Result<std::shared_ptr<ModelState>> find(ModelSource source);

  // Returns a function.
  //
  // name     [in]   empty: the default function
  // returns  not_found, reason FUNCTION, listing the functions, or ARCHIVE_MODEL, listing the models
  Result<const Function*> function(std::string_view name);
  // Returns the signature of a function. The first time, the plugin reads it.
  //
  // lifetime as long as this object
  Result<const FunctionSignature*> signature(const Function& function);
  // Returns the devices of a member, all of which exist.
  //
  // returns  see model_devices() of default_devices.hpp
  // costs    the first time, opens the plugins of the devices
  Result<std::span<const gantry_device_id>> devices(std::size_t member);
  // Prepares all modules for the devices of the model.
  //
  // returns  see prepare_modules()
  Status prepare();
  // Creates an executor of a member on its devices.
  //
  // env      [in]   never NULL
  Result<std::unique_ptr<ModelExecutor>> new_executor(std::size_t member, const gantry_env& env);

  // True if each member has devices of its own: those of an archive.
  bool is_archive() const { return is_archive_; }
  const ModelSource& source() const { return source_; }
  const std::vector<Member>& members() const { return members_; }
  // sorted by name
  const std::vector<Function>& functions() const { return functions_; }

 private:
  explicit ModelState(ModelSource source) : source_(std::move(source)) {}
  Status add(ModuleNode& node, const gantry_model& table);
  Status add_members();
  Status add_archive(std::vector<std::string> names);
  // Its name; with its inputs if it is not a model of an archive.
  std::string listed(const Function& function);
  Error no_function(std::string_view name);
  std::string subject_of(const Function& function) const;

  const ModelSource source_;
  bool is_archive_ = false;
  std::vector<Member> members_;
  std::vector<Function> functions_;
  // the function that an empty name means, if there is one of this name
  std::string default_function_;

  std::mutex mutex_;
  // by function
  std::vector<std::unique_ptr<const FunctionSignature>> signatures_;
  // by member; empty: not chosen yet
  std::vector<std::vector<gantry_device_id>> devices_;
};

// Returns the models of a module: itself, or else those among its imports, none below another.
//
// returns  the errors of a table
Result<std::vector<ModelState::Member>> models_of(RuntimeState& runtime, ModuleNode& module);

// Returns the index of the input with a name, or at the position that is its name.
//
// subject  [in]   of the function
// returns  invalid, reason INPUT; suggests near names
Result<std::size_t> input_index(std::string_view subject, std::span<const ParameterInfo> inputs,
                                std::string_view name);

// Returns the inputs for messages: "x float32[1, 64], y int32[4]", or "none".
std::string inputs_text(std::span<const ParameterInfo> inputs);

}  // namespace gantry
