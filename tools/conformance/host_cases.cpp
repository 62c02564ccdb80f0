// SPDX-License-Identifier: Apache-2.0
//
// Cases 47 to 49: a host without devices, with an old driver, or without permission.
#include "tools/conformance/case_process.hpp"
#include "tools/conformance/cases.hpp"
#include "tools/conformance/hidden_devices.hpp"
#include "tools/conformance/stub_library.hpp"
#include "tools/conformance/subject.hpp"

#include "core/base/reason.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/join.hpp>

#include <algorithm>
#include <chrono>
#include <functional>

namespace gantry::kit {
namespace {

constexpr int kMaxSeconds = 2;

// Checks the failure of a plugin whose device cannot be used.
//
// names    [in]   of what is missing; the text contains one of them. Empty: any text
Status check_failure(const Error& error, std::string_view what,
                     const std::vector<std::string>& names) {
  const bool is_expected =
      error.code != Code::bug && error.code != Code::malformed && error.code != Code::invalid;
  if (!is_expected) {
    return bug(what, " fails as ", name_of(error.code),
               ", expected unavailable: ", first_line(error));
  }
  const std::string text = error.message.text();
  const bool is_named = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return text.find(name) != std::string::npos;
  });
  if (names.empty() || is_named) return {};
  return bug(what, " fails without the name of ", join(names, " or "), ": ", first_line(error));
}

// Creates the plugin and counts its devices. A failure is checked; with `names`, a count of 0 must
// be a failure.
Status create_and_count(const Bench& bench, const std::vector<std::string>& names) {
  const auto instance = Instance::create(bench.plugin(), bench.host());
  if (!instance.ok()) return check_failure(instance.error(), "create", names);
  bool counts = bench.plugin().devices.empty();
  for (const gantry_device_table& device : bench.plugin().devices) {
    std::int32_t count = 0;
    StatusBuffer status;
    const gantry_code code = status.call(
        [&](gantry_status* failure) { return device.count(instance->self(), &count, failure); });
    if (code != GANTRY_OK) {
      const std::string what = concat("count of device ", device.name);
      GANTRY_CHECK(check_failure(status.error(code, what), what, names));
    }
    counts = counts || code != GANTRY_OK || count != 0;
  }
  if (counts || names.empty()) return {};
  return bug("the plugin counts no device, expected an error with the name of ",
             join(names, " or "));
}

// Runs the part of a case in a process whose /dev has no devices.
Status without_devices(const Subject& subject, int number) {
  const auto answer = check_part(subject, number, "devices", "a process without devices");
  return answer.ok() ? Status() : answer.error();
}

// Hides the devices of this process and runs `body`.
std::string report_without_devices(const std::function<Status()>& body) {
  return status_report(guard([&]() -> Status {
    if (!hide_devices())
      return not_run(
          "this system does not permit a process without /dev, which requires user namespaces or "
          "CAP_SYS_ADMIN: docker run --privileged");
    return body();
  }));
}

// 47, in another process
std::string create_without_devices(Subject& subject, const std::string&) {
  return report_without_devices([&]() -> Status {
    const auto begun = std::chrono::steady_clock::now();
    // The core does not open a plugin whose device nodes do not exist.
    const auto opened = open_plugin(subject.manifest(), core_info());
    if (!opened.ok() && opened.error().reason == reason::no_device_node.tag) return {};
    GANTRY_TRY(const auto bench, Bench::open(subject));
    GANTRY_CHECK(create_and_count(*bench, {}));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
    if (seconds.count() > kMaxSeconds)
      return bug("create and count take more than ", kMaxSeconds, " s");
    return {};
  });
}

// 47
Status works_without_devices(Subject& subject) { return without_devices(subject, 47); }

// 48
Status names_the_old_driver(Subject& subject) {
  std::vector<std::string> names;
  for (const ManifestSoname& library : subject.manifest().needs.libraries)
    names.push_back(library.soname);
  if (names.empty()) return skipped("the manifest has no requires.libraries");
  for (const std::string& name : names) GANTRY_CHECK(open_stub_library(name));
  GANTRY_TRY(const auto bench, Bench::open(subject));
  return create_and_count(*bench, names);
}

// 49, in another process
std::string create_with_forbidden_nodes(Subject& subject, const std::string&) {
  const std::vector<std::string>& nodes = subject.manifest().needs.device_nodes;
  return report_without_devices([&]() -> Status {
    for (const std::string& node : nodes) GANTRY_CHECK(create_forbidden_node(node));
    GANTRY_TRY(const auto bench, Bench::open(subject));
    // Root may open every file.
    GANTRY_CHECK(drop_privileges());
    return create_and_count(*bench, nodes);
  });
}

// 49
Status names_the_forbidden_node(Subject& subject) {
  if (subject.manifest().needs.device_nodes.empty())
    return skipped("the manifest has no requires.device_nodes");
  return without_devices(subject, 49);
}

constexpr Case kHostCases[] = {
    {47, Level::L, Weight::must, "works-without-devices",
     "create and count on a host without device nodes succeed or fail with a text, in less than "
     "2 s",
     "open the driver when it is first needed, and return UNAVAILABLE with its name",
     works_without_devices, "", create_without_devices},
    {48, Level::L, Weight::must, "names-the-old-driver",
     "create or count fails with the name of the driver if the libraries of requires.libraries "
     "have no functions",
     "check the result of every dlsym(), and return UNAVAILABLE with the library and the function",
     names_the_old_driver, "*"},
    {49, Level::L, Weight::must, "names-the-forbidden-node",
     "create or count fails with the name of the node if the nodes of requires.device_nodes may "
     "not be opened",
     "return UNAVAILABLE with the path of the node", names_the_forbidden_node, "",
     create_with_forbidden_nodes},
};

}  // namespace

std::span<const Case> host_cases() { return kHostCases; }

}  // namespace gantry::kit
