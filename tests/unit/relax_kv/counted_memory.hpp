// SPDX-License-Identifier: Apache-2.0
//
// Counts bytes in use.
#pragma once

#include <cstddef>
#include <memory_resource>

namespace gantry::relax::test {

class CountedMemory : public std::pmr::memory_resource {
 public:
  std::size_t bytes() const { return bytes_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    bytes_ += bytes;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override {
    bytes_ -= bytes;
    std::pmr::new_delete_resource()->deallocate(data, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::size_t bytes_ = 0;
};

}  // namespace gantry::relax::test
