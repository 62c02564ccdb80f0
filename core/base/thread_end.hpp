// SPDX-License-Identifier: Apache-2.0
//
// What happens if a plugin ends the thread that calls it, by pthread_exit() or pthread_cancel().
//
//     a thread of the application         is unwound, as by its own pthread_cancel() (HOST-15)
//     a thread of the pool, the main      must last: a line names the plugin and the function, and
//     thread of a program of gantry       the process ends with status 70, as after exit()
#pragma once

#include "core/base/running_code.hpp"

#include <gantry/abi_boundary.hpp>

#include <cxxabi.h>
#include <pthread.h>

#include <string>
#include <string_view>
#include <utility>

namespace gantry {

// Declares that the calling thread must last: others wait for it, or the process is its program. It
// can be cancelled within call_plugin() only.
void keep_this_thread() noexcept;
bool is_thread_kept() noexcept;

// Prints that a thread that must last was ended, and ends the process with status 70, without
// temporary files.
//
// subject  [in]   "plugin acme.npu", or what else ran
// place    [in]   "a thread in load_binary"
[[noreturn]] void end_for_thread(std::string_view subject, std::string_view place) noexcept;

// Calls a function of a plugin by StatusBuffer::call(), and records the call for running_code.hpp.
//
// function  [in]   "load_binary"
// plugin    [in]   id; empty: the core
// subject   [in]   std::string(): "plugin acme.npu", or the plugin's module or device
// returns   as StatusBuffer::call(); not at all if the plugin ends a thread that must last
template <class Subject, class Make>
gantry_code call_plugin(StatusBuffer& status, std::string_view function, std::string_view plugin,
                        const Subject& subject, Make&& make) {
  const CallRecord record(function, plugin);
  if (!is_thread_kept()) return status.call(std::forward<Make>(make));
  struct Cancellable {
    Cancellable() { pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before); }
    ~Cancellable() { pthread_setcancelstate(before, nullptr); }
    int before = PTHREAD_CANCEL_DISABLE;
  };
  try {
    const Cancellable here;
    const gantry_code code = status.call(std::forward<Make>(make));
    // A cancellation that the plugin has left behind.
    pthread_testcancel();
    return code;
  } catch (abi::__forced_unwind&) {
    end_for_thread(subject(), concat("a thread in ", function));
  }
}

}  // namespace gantry
