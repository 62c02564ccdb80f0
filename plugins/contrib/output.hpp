// SPDX-License-Identifier: Apache-2.0
//
// What functions print, through the host.
#pragma once

#include <gantry/output.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/handle.hpp>

#include <string>

namespace gantry::contrib {

class Output {
 public:
  explicit Output(Host host)
      : host_(host), table_(host.extension<gantry_output>(GANTRY_OUTPUT_1)) {}

  // Prints a line, which may contain line breaks. A host without the extension gantry.output/1 has it in
  // its log.
  Status line(std::string text) const {
    if (table_ == nullptr) {
      host_.log(GANTRY_LOG_INFO, Message::lines(text));
      return {};
    }
    text += '\n';
    StatusBuffer status;
    const gantry_code code = table_->write(host_.table(), bytes_of(text), status.get());
    if (code == GANTRY_OK) return {};
    return status.error(code, "host function write");
  }

 private:
  Host host_;
  const gantry_output* table_;
};

}  // namespace gantry::contrib
