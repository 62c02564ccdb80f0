// SPDX-License-Identifier: Apache-2.0
#include "core/base/system_limit.hpp"

#include <cerrno>
#include <system_error>

namespace gantry {
namespace {

bool is_of_open_files(int number) { return number == EMFILE || number == ENFILE; }

std::string system_text(int number) { return std::generic_category().message(number); }

}  // namespace

Code code_of_errno(int number) {
  const bool full = is_of_open_files(number) || number == ENOMEM || number == ENOSPC;
  return full ? Code::exhausted : Code::unavailable;
}

std::string text_of_errno(int number) {
  std::string text = system_text(number);
  if (is_of_open_files(number)) text += open_files_remedy;
  return text;
}

bool states_open_files(std::string_view message) {
  return message.find(system_text(EMFILE)) != std::string_view::npos ||
         message.find(system_text(ENFILE)) != std::string_view::npos;
}

}  // namespace gantry
