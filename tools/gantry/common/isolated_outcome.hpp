// SPDX-License-Identifier: Apache-2.0
//
// The outcome of work in a child process as a text, for call_isolated().
#pragma once

#include <gantry/message.hpp>
#include <gantry/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

struct IsolatedOutcome {
  Status status;
  std::vector<Message> warnings;
  // of work that returns texts, none of which has a NUL byte
  std::vector<std::string> results;
};

// The text has all of an error but the object that was raised.
std::string text_of(const IsolatedOutcome& outcome);
// returns  an outcome that is UNAVAILABLE if the text is not one of text_of(): the code that ran in
//          the child has changed it
IsolatedOutcome read_outcome(std::string_view text);

}  // namespace gantry::cli
