// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/trust/signature_file.hpp"

#include "core/base/reason.hpp"
#include "core/base/text_file.hpp"

#include <filesystem>

namespace gantry {

std::string signature_path(const std::string& manifest_file) {
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(manifest_file, failed);
  return (failed ? manifest_file : real.string()) + ".minisig";
}

Result<std::optional<MinisignSignature>> read_signature_file(const std::string& file) {
  const auto written = read_text_file(file, kMaxMinisignFile);
  if (!written.ok()) {
    if (written.error().code == Code::not_found) return std::optional<MinisignSignature>();
    return Error(written.error()).with_reason(reason::signature_invalid.tag);
  }
  GANTRY_TRY(MinisignSignature signature, parse_minisign_signature(*written, file));
  return std::optional(std::move(signature));
}

}  // namespace gantry
