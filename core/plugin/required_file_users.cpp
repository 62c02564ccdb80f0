// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/required_file_users.hpp"

#include "core/base/file_users.hpp"

#include <gantry/join.hpp>

namespace gantry {

void add_required_file_users(const ManifestRequires& needs, Error& error) {
  constexpr std::size_t max = 5;
  const auto add = [&](std::string_view noun, const std::string& path) {
    const std::vector<FileUser> users = other_users_of(path, max);
    if (users.empty()) return;
    error.at(noun, path, " is open in process ", join(users, ", ", [](const FileUser& user) {
               return concat(user.process, " (", user.program, ")");
             }));
  };
  for (const std::string& node : needs.device_nodes) add("device node ", node);
  for (const std::string& file : needs.files) add("file ", file);
}

}  // namespace gantry
