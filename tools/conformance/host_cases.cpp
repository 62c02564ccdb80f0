// SPDX-License-Identifier: Apache-2.0
//
// Case 47: a host without devices.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/subject.hpp"
#include "tools/conformance/watched_process.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/descriptor.hpp>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
#include <optional>

namespace gantry::kit {
namespace {

constexpr int kMaxSeconds = 2;
// Without them, libraries of the system fail in ways that no host shows.
constexpr const char* kOrdinaryNodes[] = {"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"};

// Replaces /dev for this process by a directory without devices. False: not permitted.
bool hide_devices() {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  // In a chroot the root is usually no mount.
  const bool is_private = ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 ||
                          ::mount(nullptr, "/dev", nullptr, MS_PRIVATE, nullptr) == 0;
  if (!is_private) return false;
  std::vector<Descriptor> nodes;
  for (const char* node : kOrdinaryNodes) nodes.emplace_back(::open(node, O_PATH | O_CLOEXEC));
  if (::mount("none", "/dev", "tmpfs", 0, nullptr) != 0) return false;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Descriptor file(::open(kOrdinaryNodes[i], O_CREAT | O_RDONLY | O_CLOEXEC, 0600));
    const std::string node = concat("/proc/self/fd/", nodes[i].get());
    ::mount(node.c_str(), kOrdinaryNodes[i], nullptr, MS_BIND, nullptr);
  }
  return true;
}

// Creates the plugin and counts its devices. A failure must have a text.
Status create_and_count(const Subject& subject) {
  const auto check = [](const Error& error) -> Status {
    const bool is_expected =
        error.code != Code::bug && error.code != Code::malformed && error.code != Code::invalid;
    if (is_expected) return {};
    return bug("fails as ", name_of(error.code), ", expected unavailable: ", first_line(error));
  };
  GANTRY_TRY(const auto bench, Bench::open(subject));
  const auto instance = Instance::create(bench->plugin(), bench->host());
  if (!instance.ok()) {
    auto judged = check(instance.error());
    if (!judged.ok()) return std::move(judged).error().at("in create");
    return {};
  }
  for (const gantry_device_table& device : bench->plugin().devices) {
    std::int32_t count = 0;
    StatusBuffer status;
    const gantry_code code = status.call(
        [&](gantry_status* failure) { return device.count(instance->self(), &count, failure); });
    if (code != GANTRY_OK) {
      auto judged = check(status.error(code, "count"));
      if (!judged.ok()) return std::move(judged).error().at("in count of device ", device.name);
    }
  }
  return {};
}

// 47
Status works_without_devices(Subject& subject) {
  const auto end = in_child([&]() -> std::string {
    if (!hide_devices()) return "s";
    const auto begun = std::chrono::steady_clock::now();
    const Status done = guard([&] { return create_and_count(subject); });
    if (!done.ok()) {
      const Error& error = done.error();
      return (error.reason == not_run_reason ? "n" : "f") + error.message.text();
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
    if (seconds.count() > kMaxSeconds)
      return concat("fcreate and count take more than ", kMaxSeconds, " s");
    return "p";
  });
  if (!end.ok()) return end.error();
  if (!end->ended_with(0) || end->report.empty())
    return with_output(bug("a process without devices ", describe(*end)), *end);
  if (end->report[0] == 's') return not_run("this system does not permit a process without /dev");
  if (end->report[0] == 'n') return not_run(Message::lines(end->report.substr(1)));
  if (end->report[0] == 'f') return bug(Message::lines(end->report.substr(1)));
  return {};
}

constexpr Case kHostCases[] = {
    {47, Level::L, Weight::must, "works-without-devices",
     "create and count on a host without device nodes succeed or fail with a text, in less than "
     "2 s",
     "open the driver when it is first needed, and return UNAVAILABLE with its name",
     works_without_devices},
};

}  // namespace

std::span<const Case> host_cases() { return kHostCases; }

}  // namespace gantry::kit
