// SPDX-License-Identifier: Apache-2.0
//
// Where the process of a case is when it crashes or hangs: lines that it writes to report_descriptor.
//
//     SIGSEGV, SIGABRT, ...   "@plugin acme.npu 1.0.0 crashes in load_binary at 0x1f40 of its library"
//     place_signal()          "@plugin acme.npu 1.0.0 has not returned from load_binary at 0x1f40 of
//                             its library, call 17"
//
// A thread in which the kit and the core call no function of the plugin reports nothing. Under a
// sanitizer, crashes are the sanitizer's.
#pragma once

namespace gantry::kit {

// The first character of such a line; no other report begins with it.
constexpr char place_mark = '@';

// The signal after which threads report. Neither users nor drivers send it.
int place_signal();

// Installs the handlers.
//
// thread   the main thread, before others are created
void report_places();

// Restores the default actions, for code that must make no system call.
void report_no_places();

}  // namespace gantry::kit
