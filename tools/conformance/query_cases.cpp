// SPDX-License-Identifier: Apache-2.0
//
// Cases 21 to 29: the state of the process after opening, and the query.
#include "tools/conformance/case_process.hpp"
#include "tools/conformance/cases.hpp"
#include "tools/conformance/guarded_bytes.hpp"
#include "tools/conformance/place_report.hpp"
#include "tools/conformance/plugin_call.hpp"
#include "tools/conformance/process_counts.hpp"
#include "tools/conformance/subject.hpp"

#include "core/base/process_state.hpp"
#include "core/base/sanitizer.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/utf8.hpp>

#include <dlfcn.h>

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

namespace gantry::kit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kQueries = 1000;
constexpr int kThreads = 16;
constexpr double kQueryMs = 10;
constexpr double kLoadMs = 250;
constexpr int kTrials = 3;

double ms_since(Clock::time_point begun) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
}

// Calls the query; a plugin that throws is reported.
struct Answer {
  const gantry_plugin_table* table = nullptr;
  Error error;
};
Answer ask(const PluginEntry& entry, const gantry_host_info* info) {
  Answer answer;
  StatusBuffer status;
  const PluginCall record("the query");
  const gantry_code code = status.call([&](gantry_status* failure) {
    answer.table = entry.query(info, failure);
    return answer.table != nullptr ? GANTRY_OK : failure->code;
  });
  if (answer.table == nullptr && code != GANTRY_OK) answer.error = status.error(code, "the query");
  return answer;
}

// 21
Status changes_no_state(Subject& subject) {
  // The core's own first use.
  GANTRY_TRY(const Inspection inspection,
             inspect_plugin(subject.manifest(), core_info().abi, Depth::library));
  const gantry_host_info info = host_info();
  ProcessState state(ProcessState::Scope::signals);
  const ProcessCounts before = process_counts();
  // Not subject.entry(), which opens the library through its directory and keeps that open.
  const PluginCall record("a constructor");
  void* const library = ::dlopen(subject.manifest().library_path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return not_run("the library cannot be opened, see case 16");
  const PluginEntry entry{
      reinterpret_cast<decltype(PluginEntry::query)>(::dlsym(library, "gantry_plugin_query_v1"))};
  if (entry.query == nullptr) return not_run("the library has no query, see case 16");
  ask(entry, &info);
  const ProcessCounts after = process_counts();

  std::vector<std::string_view> changed = state.restore();
  if (after.threads != before.threads) changed.push_back("the number of threads");
  if (after.descriptors != before.descriptors) changed.push_back("the open descriptors");
  if (after.environment != before.environment) changed.push_back("the environment");
  if (changed.empty()) return {};
  return bug("opening the library and calling the query changes ", join(changed));
}

// 22, in another process. Returns milliseconds of opening and of the query; empty: it cannot be
// opened.
std::string time_opening(Subject& subject, const std::string&) {
  const gantry_host_info info = host_info();
  const Clock::time_point begun = Clock::now();
  const auto entry = subject.entry();
  if (!entry.ok()) return {};
  const double opened = ms_since(begun);
  const Clock::time_point asked = Clock::now();
  ask(*entry, &info);
  return concat(static_cast<int>(opened), " ", static_cast<int>(ms_since(asked)));
}

// 22
Status is_fast(Subject& subject) {
  double load = 1e9, query = 1e9;
  // Each trial in a process of its own, because a library is opened once.
  for (int trial = 0; trial < kTrials && (load > kLoadMs || query > kQueryMs); ++trial) {
    GANTRY_TRY(const PartEnd end, run_part(subject, 22, "time"));
    if (!end.process.exited_with(0))
      return with_output(bug("opening the library ", end.text()), end.process);
    const std::size_t blank = end.report.find(' ');
    if (blank == std::string::npos) return bug("the library cannot be opened");
    load = std::min(load, std::stod(end.report.substr(0, blank)));
    query = std::min(query, std::stod(end.report.substr(blank + 1)));
  }
  if (load > kLoadMs)
    return bug("opening the library takes ", static_cast<int>(load), " ms, limit is ",
               static_cast<int>(kLoadMs), " ms");
  if (query > kQueryMs)
    return bug("the query takes ", static_cast<int>(query), " ms, limit is ",
               static_cast<int>(kQueryMs), " ms");
  return {};
}

std::vector<std::uint8_t> bytes_of_table(const gantry_plugin_table* table) {
  const auto* from = reinterpret_cast<const std::uint8_t*>(table);
  return {from, from + std::min<std::size_t>(table->struct_size, kMaxTableSize)};
}

// 23
Status is_repeatable(Subject& subject) {
  GANTRY_TRY(const PluginEntry entry, subject.entry());
  const gantry_host_info info = host_info();
  const Answer first = ask(entry, &info);
  if (first.table == nullptr) return bug("the query fails: ", first_line(first.error));
  const std::vector<std::uint8_t> content = bytes_of_table(first.table);
  const std::uint64_t heap = process_counts().heap_bytes;
  for (int i = 1; i < kQueries; ++i) {
    const Answer again = ask(entry, &info);
    if (again.table != first.table || bytes_of_table(again.table) != content)
      return bug("query ", i + 1, " returns another table than the first one");
  }
  const std::uint64_t grown = process_counts().heap_bytes;
  if (grown > heap + 8 * kQueries)
    return bug(kQueries, " queries leave ", grown - heap, " bytes allocated");

  std::vector<const gantry_plugin_table*> answers(kThreads);
  {
    std::vector<std::jthread> threads;
    for (auto& answer : answers)
      threads.emplace_back([&] { answer = entry.query(&info, nullptr); });
  }
  for (const gantry_plugin_table* answer : answers) {
    if (answer != first.table || bytes_of_table(answer) != content)
      return bug("a query on another thread returns another table");
  }
  return {};
}

// 24
Status refuses_other_hosts(Subject& subject) {
  GANTRY_TRY(const PluginEntry entry, subject.entry());
  gantry_host_info info = host_info();
  const Answer own = ask(entry, &info);
  if (own.table == nullptr) return bug("the query fails: ", first_line(own.error));
  const gantry_abi_range range = own.table->abi;

  std::vector<gantry_abi_range> others{{range.major + 1, 0, 3, 0}};
  if (range.min_minor > 0) others.push_back({range.major, 0, range.min_minor - 1, 0});
  for (const gantry_abi_range& other : others) {
    info.abi = other;
    const Answer answer = ask(entry, &info);
    // The core compares the ranges, if the plugin does not.
    if (answer.table != nullptr && answer.table->abi.major == range.major &&
        answer.table->abi.min_minor == range.min_minor)
      continue;
    const std::string host =
        concat("a host of ABI ", other.major, ".0-", other.major, ".", other.max_minor);
    if (answer.table != nullptr)
      return bug("the table for ", host, " has another ABI range than the one for this core");
    if (answer.error.message.empty()) return bug("the query refuses ", host, " without a text");
  }
  return {};
}

// 25
Status accepts_future_hosts(Subject& subject) {
  GANTRY_TRY(const PluginEntry entry, subject.entry());
  gantry_host_info info = host_info();
  const Answer own = ask(entry, &info);
  if (own.table == nullptr) return bug("the query fails: ", first_line(own.error));

  info.abi.max_minor += 5;
  info.struct_size = sizeof info + 64;
  std::vector<std::uint8_t> image(info.struct_size, 0x5a);
  std::memcpy(image.data(), &info, sizeof info);
  const GuardedBytes bytes(image);
  const Answer answer = ask(entry, reinterpret_cast<const gantry_host_info*>(bytes.bytes().data()));
  if (answer.table == nullptr) {
    return bug("the query refuses a host of ABI ", info.abi.major, ".", info.abi.min_minor, "-",
               info.abi.major, ".", info.abi.max_minor, ": ",
               answer.error.message.empty() ? "no text" : first_line(answer.error));
  }
  if (answer.table->abi.max_minor != own.table->abi.max_minor)
    return bug("the maximum minor of the table is ", answer.table->abi.max_minor,
               " for a newer host and ", own.table->abi.max_minor, " for this one");
  return {};
}

// 26
Status reads_the_prefix(Subject& subject) {
  GANTRY_TRY(const PluginEntry entry, subject.entry());
  gantry_host_info info = host_info();
  // The size in ABI 1.0.
  info.struct_size = 32;
  std::vector<std::uint8_t> image(info.struct_size);
  std::memcpy(image.data(), &info, image.size());
  const GuardedBytes bytes(image);
  const Answer answer = ask(entry, reinterpret_cast<const gantry_host_info*>(bytes.bytes().data()));
  if (answer.table == nullptr && answer.error.message.empty())
    return bug("the query refuses a host description of 32 bytes without a text");
  return {};
}

// 28, in another process
std::string query_without_system_calls(Subject& subject, const std::string&) {
  const auto entry = subject.entry();
  if (!entry.ok()) return {};
  const gantry_host_info info = host_info();
  // In the mode below only the calling thread can end.
  if (process_counts().threads != 1) ::_exit(4);
  environ = reinterpret_cast<char**>(8);
  report_no_places();
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) ::_exit(3);
  entry->query(&info, nullptr);
  ::syscall(SYS_exit, 0);
  __builtin_unreachable();
}

// 28
Status makes_no_system_call(Subject& subject) {
  if (sanitizer_of_process() != GANTRY_SANITIZER_NONE)
    return not_run("a sanitizer is in this process, which makes system calls");
  GANTRY_TRY(const PartEnd end, run_part(subject, 28, "query"));
  const ProgramEnd& process = end.process;
  if (process.exited_with(0)) return {};
  if (process.exited_with(3)) return not_run("this system has no seccomp");
  if (process.exited_with(4)) return not_run("the library starts threads, see case 21");
  if (process.signal == SIGKILL) return bug("the query makes a system call");
  if (process.signal == SIGSEGV) return bug("the query reads the environment");
  return with_output(bug("a process that calls the query ", end.text()), process);
}

// 29
Status has_valid_tables(Subject& subject) {
  // The core checks counts, sizes, duplicates and names.
  GANTRY_TRY(const auto plugin, subject.plugin());
  const auto check = [](std::string_view what, std::string_view text) -> Status {
    if (is_utf8(text)) return {};
    return bug(what, " of the table is not UTF-8");
  };
  for (const gantry_loader_table& loader : plugin->loaders) {
    GANTRY_CHECK(check("a type key", loader.type_key));
    if (loader.device == nullptr || *loader.device == 0) continue;
    const bool known =
        plugin->device(loader.device) != nullptr || std::string_view(loader.device) == "cpu";
    if (!known) {
      return bug("loader ", loader.type_key, " runs on device ", quoted(loader.device),
                 ", the plugin has no such device");
    }
  }
  GANTRY_CHECK(check("vendor", plugin->table.vendor));
  GANTRY_CHECK(check("display_name", plugin->table.display_name));
  GANTRY_CHECK(check("license", plugin->table.license));
  if (plugin->loaders.empty() && plugin->devices.empty() && subject.manifest().globals.empty())
    return bug("the plugin has no loader, no device and no global");
  for (const gantry_loader_table& loader : plugin->loaders) {
    if (subject.manifest().key_for(loader.type_key) == nullptr)
      return bug("loader ", quoted(loader.type_key), " is not in the manifest");
  }
  for (const gantry_device_table& device : plugin->devices) {
    if (!subject.manifest().offers_device(device.name))
      return bug("device ", quoted(device.name), " is not in the manifest");
  }
  return {};
}

constexpr Case kQueryCases[] = {
    {21, Level::L, Weight::must, "changes-no-state",
     "constructors and query start no thread, leave no descriptor, and change no signal handler, "
     "locale, directory, umask, floating-point mode or environment",
     "do it in create() or later, without changing state of the process", changes_no_state},
    {22, Level::L, Weight::should, "opens-fast",
     "opening takes less than 250 ms and the query less than 10 ms",
     "move work from constructors of static objects to create() or to the first use", is_fast, "",
     time_opening},
    {23, Level::L, Weight::must, "query-is-repeatable",
     "1,000 queries and queries on 16 threads return the same table and keep no memory",
     "return the address of a constant table", is_repeatable},
    {24, Level::L, Weight::must, "query-refuses-with-text",
     "a query by a host of another major returns the same table, or NULL with a text",
     "fill the status with gantry_fail() before returning NULL", refuses_other_hosts},
    {25, Level::L, Weight::must, "query-accepts-newer-hosts",
     "a query by a host with a later minor and a larger struct returns the same table",
     "compare versions and sizes with < and >=, never with ==", accepts_future_hosts},
    {26, Level::L, Weight::must, "query-reads-its-prefix",
     "a query with the host description of ABI 1.0 reads nothing behind it",
     "read members that are newer than 1.0 only if GANTRY_HAS() is true", reads_the_prefix,
     "the query"},
    {28, Level::L, Weight::must, "query-is-pure",
     "the query makes no system call and reads no environment",
     "return a constant table; open devices when count() is called", makes_no_system_call, "",
     query_without_system_calls},
    {29, Level::L, Weight::must, "tables-are-valid",
     "keys and devices are unique, valid and the manifest's; texts are UTF-8",
     "list in the manifest what the tables have", has_valid_tables},
};

}  // namespace

std::span<const Case> query_cases() { return kQueryCases; }

}  // namespace gantry::kit
