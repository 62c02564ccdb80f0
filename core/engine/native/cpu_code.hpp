// SPDX-License-Identifier: Apache-2.0
//
// The CPU code of an artifact: the functions and variables that it gives its runtime, by name.
//
//     CpuLibrary   a shared library that the runtime has opened
//     LinkedCode    code of the program, which has registered its symbols
#pragma once

#include "core/base/trace/span.hpp"
#include "core/formats/exporter_facts.hpp"

#include <gantry/result.hpp>

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

class CpuCode {
 public:
  explicit CpuCode(const ExporterFacts& facts) : facts_(facts) {}
  virtual ~CpuCode() = default;
  CpuCode(const CpuCode&) = delete;
  CpuCode& operator=(const CpuCode&) = delete;

  const ExporterFacts& facts() const { return facts_; }
  // For messages: the path of a library.
  virtual std::string name() const = 0;

  // Returns the address of a function by its symbol, or NULL.
  virtual void* function(std::string_view symbol) const = 0;
  // Returns the writable pointer variable of that name, or NULL.
  virtual void** pointer_variable(std::string_view name) const = 0;
  // Returns the names under which functions can be called.
  virtual std::vector<std::string> function_names() const = 0;
  // Returns the symbol of the function that `__tvm_main__` denotes; empty: there is no entry.
  virtual Result<std::string_view> entry_name() const = 0;

  // Records the calls that the code makes itself and not through the host, as far as they can be
  // redirected.
  //
  // thread   before the code runs
  virtual Status record_calls(TraceRecorder&) { return {}; }
  // True if the code stays when its module ends, with the functions that its static variables hold.
  virtual bool outlives_module() const { return false; }
  // True for code with tvm-ffi's C++ headers.
  virtual bool is_of_headers() const { return false; }
  // The code is used until the process ends: by objects that it has created, or functions that it has
  // registered.
  void stay() { stays_.store(true, std::memory_order_relaxed); }

  // Returns true for the first caller only, because the code has variables for one module.
  bool claim() { return !claimed_.exchange(true); }

 protected:
  bool stays() const { return stays_.load(std::memory_order_relaxed); }

 private:
  ExporterFacts facts_;
  std::atomic<bool> stays_{false};
  std::atomic<bool> claimed_{false};
};

// The name under which the entry of a file of the packed dialect is looked up.
inline constexpr std::string_view main_symbol = "__tvm_main__";

}  // namespace gantry
