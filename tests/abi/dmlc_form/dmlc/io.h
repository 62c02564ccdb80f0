// SPDX-License-Identifier: Apache-2.0
//
// The streams of dmlc-core as far as gantry/dmlc_stream.hpp depends on them. DMLC_WRITTEN is what Write() returns: void, or
// std::size_t since 2024.
#pragma once

#include <cstddef>

namespace dmlc {

class Stream {
 public:
  virtual std::size_t Read(void* to, std::size_t size) = 0;
  virtual DMLC_WRITTEN Write(const void* from, std::size_t size) = 0;
  virtual ~Stream() = default;
  template <class T>
  bool Read(T* out);
  template <class T>
  void Write(const T& value);
};

class SeekStream : public Stream {
 public:
  virtual void Seek(std::size_t at) = 0;
  virtual std::size_t Tell() = 0;
};

}  // namespace dmlc
