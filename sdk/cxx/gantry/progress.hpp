// SPDX-License-Identifier: Apache-2.0
//
// gantry/progress.hpp - announces work that can take seconds, until the end of the scope.
//
//     const gantry::AnnouncedWork work(host, concat("compiling kernel ", quoted(name)));
//     driver.build(program);
#pragma once

#include <gantry/progress.h>
#include <gantry/handle.hpp>

#include <cstdint>
#include <string_view>

namespace gantry {

// Does nothing in a host without the extension gantry.progress/1.
class AnnouncedWork {
 public:
  // text     [in]   the work and its object, without control characters
  AnnouncedWork(Host host, std::string_view text)
      : host_(host), progress_(host.extension<gantry_progress>(GANTRY_PROGRESS_1)) {
    if (progress_ != nullptr) work_ = progress_->work_begin(host_.table(), bytes_of(text));
  }
  ~AnnouncedWork() {
    if (progress_ != nullptr) progress_->work_end(host_.table(), work_);
  }
  AnnouncedWork(const AnnouncedWork&) = delete;
  AnnouncedWork& operator=(const AnnouncedWork&) = delete;

 private:
  Host host_;
  const gantry_progress* progress_;
  std::uint64_t work_ = 0;
};

}  // namespace gantry
