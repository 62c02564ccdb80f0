// SPDX-License-Identifier: Apache-2.0
//
// Another runtime in the process: a library that is opened globally, as the Python package of tvm-ffi
// opens its own, and defines the functions that artifacts import. Each counts its calls and fails.
#pragma once

#include "core/base/toolchain/link.hpp"
#include "core/engine/native/runtime_functions.hpp"
#include "tests/support/files.hpp"

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <algorithm>
#include <string>
#include <vector>

namespace gantry::test {

class StandIn {
 public:
  StandIn() : handle_(dlopen(library().c_str(), RTLD_NOW | RTLD_GLOBAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
    calls_ = static_cast<int*>(dlsym(handle_, "stand_in_calls"));
    last_ = static_cast<const char**>(dlsym(handle_, "stand_in_last"));
    call_itself_ = reinterpret_cast<void (*)()>(dlsym(handle_, "stand_in_call_itself"));
  }
  ~StandIn() { dlclose(handle_); }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  // Functions that were called from outside, the last one's name, and whether its own calls reach
  // them all.
  int calls() const { return *calls_; }
  const char* last() const { return *last_; }
  bool reaches_itself() const {
    const int before = *calls_;
    call_itself_();
    const int reached = *calls_ - before;
    *calls_ = before;
    return reached == static_cast<int>(names().size());
  }
  // What the process finds under a name. With RTLD_DEFAULT, the test would stay bound to it.
  static void* global(const char* name) {
    static void* const program = dlopen(nullptr, RTLD_LAZY);
    return dlsym(program, name);
  }
  void* own(const char* name) const { return dlsym(handle_, name); }

  static const std::vector<std::string>& names() {
    static const std::vector<std::string> all = [] {
      std::vector<std::string> found;
      for (const RuntimeFunction& function : runtime_functions()) {
        // Functions of both dialects may have one name.
        if (function.name.starts_with("TVM") &&
            std::ranges::find(found, function.name) == found.end())
          found.emplace_back(function.name);
      }
      return found;
    }();
    return all;
  }

 private:
  static const std::string& library() {
    static const TempDir directory;
    static const std::string path = [] {
      std::string text = "int stand_in_calls;\nconst char* stand_in_last = \"\";\n", calls;
      for (const std::string& name : names()) {
        text += concat("int ", name, "(void) { ++stand_in_calls; stand_in_last = \"", name,
                       "\"; return -1; }\n");
        calls += concat("  ", name, "();\n");
      }
      text += concat("void stand_in_call_itself(void) {\n", calls, "}\n");
      write_file(directory / "stand_in.c", text);
      LinkJob job;
      job.directory = job.scratch = directory.path();
      job.sources = {"stand_in.c"};
      job.output = directory / "libstand_in.so";
      const Status done = link_library(job);
      EXPECT_TRUE(done.ok()) << done.error().message;
      return job.output.native();
    }();
    return path;
  }

  void* handle_;
  int* calls_ = nullptr;
  const char** last_ = nullptr;
  void (*call_itself_)() = nullptr;
};

}  // namespace gantry::test
