// SPDX-License-Identifier: Apache-2.0
//
// One instance of a model: its memory, and its function with its arguments.
//
// One call at a time for all functions of an executor, which the caller ensures
// (GANTRY_MODULE_SERIAL).
#pragma once

#include "memory.hpp"
#include "model.hpp"

#include <gantry/batch.h>
#include <gantry/method.hpp>
#include <gantry/trace.hpp>

#include <memory>
#include <span>

namespace gantry::aot {

// What an executor is made from.
struct Source {
  Host host;
  // Of the factory, borrowed: its imports have the library.
  gantry_object* node;
  std::shared_ptr<const Payload> payload;
  bool with_parameters = true;
};

class Executor {
 public:
  static constexpr const char* type_name = "AotExecutor";
  static constexpr bool is_serial = true;

  // returns  of find_model() and Memory::create()
  static Result<std::unique_ptr<Executor>> create(const Source& source, const gantry_env* env);

  // Defined in functions.cpp.
  std::span<const Method<Executor>> functions() const;

  const AotMetadata& metadata() const { return model_.metadata; }
  const Host& host() const { return host_; }
  Memory& memory() { return memory_; }
  const Memory& memory() const { return memory_; }

  // Calls the model's function.
  //
  // returns  OK; the function's code and text; CANCELLED
  // costs    one run of a batch of one call; no allocation
  gantry_code run(const gantry_env* env, gantry_status* status);

 private:
  Executor(const Source& source, Model model)
      : host_(source.host),
        model_(std::move(model)),
        memory_(source.host, model_.metadata),
        trace_(source.host) {}
  // Prepares the call, if the host has batches.
  Status prepare();

  Host host_;
  Model model_;
  Memory memory_;
  const Trace trace_;
  // NULL: the host has no batches; then `batch_` is empty.
  const gantry_batch* batches_ = nullptr;
  ObjectRef batch_;
};

}  // namespace gantry::aot
