// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/command.hpp"

namespace gantry::cli {

void add_mlf(CLI::App& app, Invocation& invocation) {
  CLI::App* mlf = app.add_subcommand("mlf", "write, check and show Model Library Format archives");
  mlf->require_subcommand(1);
  mlf->fallthrough();
  add_mlf_export(*mlf, invocation);
  add_mlf_show(*mlf, invocation);
  add_mlf_validate(*mlf, invocation);
  mlf->footer("Example:\n  gantry mlf validate digits.tar");
}

}  // namespace gantry::cli
