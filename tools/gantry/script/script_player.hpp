// SPDX-License-Identifier: Apache-2.0
//
// Plays a call script: makes its calls in order, on one virtual machine or on the library, and
// compares what they return.
//
//     GANTRY_TRY(ScriptPlayer player, ScriptPlayer::create(runtime, model, script, {"cpu"}));
//     for (std::size_t i = 0; i < script.calls.size(); ++i) {
//       GANTRY_TRY(const PlayedCall* call, player.play(i));
//       for (const std::string& line : call->differences) puts(line.c_str());
//     }
#pragma once

#include "tools/gantry/common/call_script.hpp"
#include "tools/gantry/common/compare.hpp"

#include <gantry/embed.hpp>
#include <gantry/result.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry::cli {

struct PlayedCall {
  // its arguments; empty if the call was not made
  std::vector<Any> args;
  // one of them; none: the call was not made
  std::optional<Any> result;
  std::optional<Error> error;
  // from the recorded result
  std::vector<std::string> differences;
};

// The kind of an error, as Python names it: that of a raised error, otherwise "RuntimeError".
std::string kind_of(const Error& error);
// The text of an error: that of a raised error without lines of context, otherwise the message.
std::string text_of(const Error& error);

class ScriptPlayer {
 public:
  // devices  [in]   of the virtual machine, at least one; tensors are created on the first one
  // returns  unsupported  reason CALL_SCRIPT: a script of kind relax, and the model has no virtual
  //                       machine; the error of the function that creates it
  // lifetime the script must outlive the player
  static Result<ScriptPlayer> create(Runtime runtime, const Module& model, const CallScript& script,
                                     std::span<const std::string> devices);

  // Sets the task of all further calls.
  void set_task(Task task) { task_ = std::move(task); }

  // Makes a call. Call each once, in order.
  //
  // returns  the error of creating an argument or of reading a result; an error of the call itself
  //          is in PlayedCall
  // lifetime of the result: that of the player
  Result<const PlayedCall*> play(std::size_t index, Tolerance tolerance = {});

 private:
  ScriptPlayer(Runtime runtime, Module callee, const CallScript& script, std::string device)
      : runtime_(std::move(runtime)),
        callee_(std::move(callee)),
        script_(script),
        device_(std::move(device)) {}

  struct MakeArgument;
  Result<Function> function_of(const ScriptCall& call) const;
  Result<Any> params();
  Status call(const ScriptCall& call, PlayedCall& played);
  Status compare(const ScriptCall& call, Tolerance tolerance, PlayedCall& played) const;

  Runtime runtime_;
  // the virtual machine, or the library
  Module callee_;
  const CallScript& script_;
  std::string device_;
  // empty: none
  Task task_;
  // made once
  std::optional<Any> params_;
  std::vector<PlayedCall> played_;
};

}  // namespace gantry::cli
