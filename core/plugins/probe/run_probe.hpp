// SPDX-License-Identifier: Apache-2.0
//
// Runs gantry-probe for one plugin and observes how it ends.
#pragma once

#include "core/base/process.hpp"
#include "core/plugins/manifest/tier.hpp"
#include "core/plugins/probe/probe_end.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace gantry {

struct ProbeCommand {
  // absolute path of gantry-probe
  std::string helper;
  std::string manifest;
  // of the manifest: Candidate::tier and location_name
  Tier tier = Tier::program;
  std::string location;
  // in the order in which they are applied
  std::vector<std::string> drop_ins;
  // of the runtime; empty: the system's, or none
  std::string config_file;
  // digest_of() the options that the plugin has in this process
  std::uint64_t options = 0;
  // of memory that the plugin may allocate
  std::uint64_t memory_bytes = 0;
  std::uint32_t limit_ms = 0;
  // for the end of the program after it is killed
  std::uint32_t kill_ms = 2000;
  // the whole environment of the child, "NAME=value"
  std::vector<std::string> environment;
};

// The program runs in a process group of its own, which is killed when the program has ended or the
// time has passed.
//
// killed   [out]  gets the program if it does not end when it is killed. Those in the list that have
//                 ended are waited for
// returns  unavailable if the program cannot be started, ends before it begins with the plugin, or
//          resolves other options. Whatever the plugin does with the same options is a success
// thread   any; cancellation is deferred. The child ends with the calling thread
// costs    a process; blocks up to limit_ms and kill_ms
Result<ProbeEnd> run_probe(const ProbeCommand& command, KilledChildren& killed);

// The arguments of gantry-probe behind its name, and their parser.
std::vector<std::string> probe_arguments(const ProbeCommand& command);
// returns  invalid if they are no such arguments
Result<ProbeCommand> read_probe_arguments(const std::vector<std::string>& arguments);

}  // namespace gantry
