// SPDX-License-Identifier: Apache-2.0
//
// Reads the arguments of the functions of gantry/embed.h.
#pragma once

#include "core/engine/embed/objects.hpp"
#include "core/engine/embed/pool.hpp"
#include "core/engine/embed/stream.hpp"
#include "core/engine/embed/task.hpp"
#include "core/engine/module/module.hpp"
#include "core/engine/runtime/checked.hpp"
#include "core/engine/tensor/tensor.hpp"

#include <gantry/embed.h>
#include <gantry/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace gantry {

// Each returns what an object is, and checks that this process has created it. The object is
// borrowed.
//
// function [in]   name of the called function, for messages
// returns  invalid, reason ARGUMENT_KIND; unavailable, reason PROCESS_FORKED
Result<RuntimeObject*> runtime_argument(gantry_object* object, std::string_view function);
Result<ModelObject*> model_argument(gantry_object* object, std::string_view function);
Result<ModuleNode*> module_argument(gantry_object* object, std::string_view function);
Result<TensorObject*> tensor_argument(gantry_object* object, std::string_view function);
Result<PoolObject*> pool_argument(gantry_object* object, std::string_view function);
Result<TaskObject*> task_argument(gantry_object* object, std::string_view function);
// runtime  [in]   also checks that the stream is of this runtime
// returns  also invalid, reason STREAM
Result<StreamObject*> stream_argument(gantry_object* object, const RuntimeState& runtime,
                                      std::string_view function);

// Checks the flags of a call or a struct.
//
// subject  [in]   for messages: "gantry_load_options"
// known    [in]   flags of this version, or-ed
// returns  unsupported, reason FLAGS
Status check_flags(std::uint32_t flags, std::uint32_t known, std::string_view subject);

// Copies a path.
//
// returns  invalid, reason ARGUMENT: the path contains a NUL
Result<std::string> path_argument(gantry_bytes path, std::string_view function);

// Checks the size of a struct, and that the members which this version does not know are 0.
//
// given    [in]   begins with its struct_size
// known    [in]   sizeof in this version
// returns  invalid or unsupported, reason STRUCT_SIZE
Status check_struct(const void* given, std::size_t known, std::string_view name);

// Returns the members of a struct that this version and the caller's have; the others are 0.
//
// given    [in]   NULL: all members are 0
template <class T>
T known_members(const T* given) {
  T known{};
  if (given != nullptr)
    std::memcpy(&known, given, std::min<std::size_t>(given->struct_size, sizeof known));
  known.struct_size = sizeof known;
  return known;
}

// The same for a struct of options, after check_struct() and check_flags().
template <class T>
Result<T> read_options(const T* given, std::uint32_t known_flags, std::string_view name) {
  if (given != nullptr) GANTRY_CHECK(check_struct(given, sizeof *given, name));
  const T known = known_members(given);
  GANTRY_CHECK(check_flags(known.flags, known_flags, name));
  return known;
}

}  // namespace gantry
