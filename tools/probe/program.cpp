// SPDX-License-Identifier: Apache-2.0
#include "tools/probe/program.hpp"

#include "core/base/fault_signals.hpp"
#include "core/base/thread_end.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/plugin_instance.hpp"
#include "core/engine/runtime/plugin_options.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/plugins/choice/steps.hpp"
#include "core/plugins/probe/probe_record.hpp"
#include "core/plugins/probe/run_probe.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace gantry::probe {
namespace {

constexpr int kUsage = 2;

void send(const std::string& record) {
  // A parent that has gone ends this process by SIGPIPE.
  [[maybe_unused]] const ssize_t written = ::write(kProbeDescriptor, record.data(), record.size());
}

void begin(ProbeStage stage) { send(stage_record(stage)); }

// The process then ends by the signal.
void report_fault(const Fault& fault) {
  // A signal that a process has sent has no address.
  if (fault.info->si_code > 0)
    write_fault_record(kProbeDescriptor, fault.signal, fault.info->si_addr);
}

// Private writable memory of this process in bytes, as RLIMIT_DATA counts it.
std::uint64_t data_bytes() {
  std::uint64_t pages = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
    // size resident shared text lib data
    if (std::fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void limit(int resource, std::uint64_t value) {
  rlimit both{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &both) != 0) return;
  both.rlim_cur = std::min<rlim_t>(value, both.rlim_max);
  both.rlim_max = both.rlim_cur;
  ::setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

void confine(std::uint64_t memory_bytes) {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // Descriptors of the embedder without close-on-exec.
  ::syscall(SYS_close_range, kProbeDescriptor + 1, ~0U, 0);
  ::fcntl(kProbeDescriptor, F_SETFD, FD_CLOEXEC);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_DATA, data_bytes() + memory_bytes);
}

// Takes the plugin through the steps that the parent has taken it: a file may have been replaced since.
Result<Candidate> candidate_of(const ProbeCommand& command, const ChoiceOptions& options) {
  SearchResult found;
  Candidate& candidate = found.candidates.emplace_back();
  candidate.file = command.manifest;
  candidate.tier = command.tier;
  candidate.location_name = command.location;
  for (const std::string& file : command.drop_ins)
    found.drop_ins.push_back({file, candidate.name, candidate.location});
  // Warnings of a policy that only warns; the parent has logged them.
  Discovery discovery = discover(found, options);
  if (discovery.candidates.empty())
    return unavailable(command.manifest, " is empty now").with_reason(reason::masked.tag);
  Candidate& plugin = discovery.candidates.front();
  if (plugin.stopped()) return unavailable(plugin.text).with_reason(plugin.reason.tag);
  return std::move(plugin);
}

Status run(const ProbeCommand& command) {
  EngineOptions engine;
  engine.config_file = command.config_file;
  engine.only_these_plugins = true;
  engine.threads = 1;
  GANTRY_TRY(const auto state, RuntimeState::create(std::move(engine)));
  ChoiceOptions options;
  options.core = core_info();
  options.trust = state->plugins->options().trust;
  GANTRY_TRY(Candidate candidate, candidate_of(command, options));
  Passage at{.options = options, .candidate = candidate};
  GANTRY_CHECK(take(Step::resolved, at));
  const Manifest& manifest = *candidate.manifest;
  send(options_record(plugin_options_digest(*state, manifest)));
  // From here on the process may be ended by what the plugin does.
  confine(command.memory_bytes);
  handle_faults(fault_signals, report_fault);
  begin(ProbeStage::open);
  GANTRY_TRY(const auto plugin, open_plugin(manifest, *at.inspection, core_info(), nullptr,
                                            [] { begin(ProbeStage::query); }));
  begin(ProbeStage::create);
  GANTRY_TRY(const auto instance, PluginInstance::create(*state, plugin, manifest));
  begin(ProbeStage::enumerate);
  for (const gantry_device_table& device : plugin->devices) {
    const auto* const added = state->devices.find(device.name);
    // An error of `count` is an answer: no device is there.
    if (added != nullptr) (void)device_count(**added);
  }
  // Kept until the process ends.
  new auto(state);
  new auto(instance);
  return {};
}

}  // namespace

int run_program(int argc, char** argv) {
  const auto command = read_probe_arguments({argv + 1, argv + std::max(argc, 1)});
  if (!command.ok() || ::fcntl(kProbeDescriptor, F_GETFD) < 0) {
    std::fputs("gantry-probe is started by gantry, which reads from its descriptor 3\n", stderr);
    return kUsage;
  }
  keep_this_thread();
  const Status passed = run(*command);
  std::fflush(nullptr);
  send(passed.ok() ? passed_record() : refused_record(passed.error()));
  ::_exit(0);
}

}  // namespace gantry::probe
