// SPDX-License-Identifier: Apache-2.0
//
// Records what the calls of a script return, as a new script.
#pragma once

#include "tools/gantry/common/call_script.hpp"
#include "tools/gantry/script/script_player.hpp"

#include "core/base/output_file.hpp"

#include <gantry/embed.hpp>
#include <gantry/result.hpp>

namespace gantry::cli {

class ScriptRecorder {
 public:
  // Copies the arguments of all calls.
  ScriptRecorder(Runtime runtime, const CallScript& from);

  // Adds the next call. Call it before the following call is played, which may change the tensors
  // of this one.
  Status add(const PlayedCall& played);

  const CallScript& script() const { return script_; }

 private:
  Runtime runtime_;
  const CallScript& from_;
  CallScript script_;
};

// Writes a script and its arrays, and commits both files. The .npz file is not written if there are
// no arrays.
Status write_call_script(const CallScript& script, OutputFile& json, OutputFile& npz);

}  // namespace gantry::cli
