// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/hidden_devices.hpp"

#include "tools/conformance/case.hpp"

#include <gantry/descriptor.hpp>

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

namespace gantry::kit {
namespace {

// Without them, libraries of the system fail in ways that no host shows.
constexpr const char* kOrdinaryNodes[] = {"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"};

void write_text(const char* path, const std::string& text) {
  const Descriptor file(::open(path, O_WRONLY | O_CLOEXEC));
  (void)!::write(file.get(), text.data(), text.size());
}

// Enters a mount namespace, as an ordinary user in a user namespace.
bool enter_namespace() {
  if (::unshare(CLONE_NEWNS) == 0) return true;
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  // Only users that the namespace has may create files.
  write_text("/proc/self/setgroups", "deny");
  write_text("/proc/self/uid_map", concat(user, " ", user, " 1"));
  write_text("/proc/self/gid_map", concat(group, " ", group, " 1"));
  return true;
}

}  // namespace

bool hide_devices() {
  if (!enter_namespace()) return false;
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

Status create_forbidden_node(const std::string& path) {
  if (!path.starts_with("/dev/")) return not_run("device node ", path, " is not below /dev");
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  const Descriptor file(::open(path.c_str(), O_CREAT | O_RDONLY | O_CLOEXEC, 0000));
  if (file) return {};
  return not_run("cannot create ", path, ": ", std::strerror(errno));
}

Status drop_privileges() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  if (::syscall(SYS_capset, &header, none) == 0) return {};
  return not_run("cannot drop capabilities: ", std::strerror(errno));
}

}  // namespace gantry::kit
