// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/relax_kv/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gantry::relax::test {
namespace {

const gantry_tensor& tensor_of(const gantry_value& value) { return *gantry_value_tensor(&value); }

Vector vector_at(const float* data, std::int64_t index) {
  return {data[index * dimension], data[index * dimension + 1]};
}

}  // namespace

Vector rotated(const Vector& vector, std::int64_t position) {
  const double angle = 0.1 * static_cast<double>(position);
  return {vector[0] * std::cos(angle) - vector[1] * std::sin(angle),
          vector[0] * std::sin(angle) + vector[1] * std::cos(angle)};
}

Attended attend(const Vector& q, const std::vector<Key>& keys, double sm_scale) {
  Attended result;
  double sum = 0;
  for (const Key& key : keys) {
    const double weight = std::exp(sm_scale * (q[0] * key.k[0] + q[1] * key.k[1]));
    sum += weight;
    for (std::size_t i = 0; i < dimension; ++i) result.out[i] += weight * key.v[i];
  }
  if (sum > 0) {
    for (double& element : result.out) element /= sum;
  }
  result.lse = std::log(sum);
  return result;
}

Kernels::Kernels(gantry::test::FakeHost& fake) : fake_(fake) {
  add("split", &Kernels::split);
  add("append", &Kernels::append);
  add("ragged", &Kernels::ragged);
  add("prefill", &Kernels::prefill);
  add("decode", &Kernels::decode);
  add("sliding_prefill", &Kernels::prefill);
  add("sliding_decode", &Kernels::decode);
  add("merge", &Kernels::merge);
  add("copy_page", &Kernels::copy_page);
  add("get_kv", &Kernels::get_kv);
  add("unused", nullptr);
}

void Kernels::add(const std::string& name, void (Kernels::*kernel)(Args)) {
  fake_.add_function(name,
                     [this, name, kernel](const gantry_env*, Args args, gantry_value*,
                                          gantry_status* status) -> gantry_code {
                       calls.push_back(name);
                       if (name == failing)
                         return gantry_fail(status, GANTRY_INVALID, "TEST", "the kernel fails");
                       (this->*kernel)(args);
                       return GANTRY_OK;
                     });
}

gantry_value Kernels::function(const std::string& name) {
  functions_.push_back(host_.find(fake_.node(), GANTRY_FIND_IMPORTS, name).value());
  gantry_value value{};
  value.kind = GANTRY_FUNCTION;
  value.object = functions_.back().get();
  return value;
}

template <class T>
T* Kernels::data(const gantry_value& value) const {
  return reinterpret_cast<T*>(fake_.memory_of(tensor_of(value)));
}

// which    [in]   0: keys, 1: values
const float* Kernels::key_of(const gantry_value& pages, std::int64_t slot, int which) const {
  const std::int64_t page_size = tensor_of(pages).shape[3];
  return data(pages) +
         (((slot / page_size) * 2 + which) * page_size + slot % page_size) * dimension;
}

// (qkv, positions, q, k, v, applies rope)
void Kernels::split(Args args) {
  ASSERT_EQ(args.size(), 6U);
  ASSERT_EQ(tensor_of(args[1]).byte_offset, 0U);
  for (std::int64_t row = 0; row < tensor_of(args[0]).shape[0]; ++row) {
    const std::int64_t position = data<std::int32_t>(args[1])[row];
    for (std::int64_t head = 0; head < query_heads + 2; ++head) {
      Vector vector = vector_at(data(args[0]), row * (query_heads + 2) + head);
      if (args[5].i != 0 && head <= query_heads) vector = rotated(vector, position);
      float* to = head < query_heads    ? data(args[2]) + (row * query_heads + head) * dimension
                  : head == query_heads ? data(args[3]) + row * dimension
                                        : data(args[4]) + row * dimension;
      to[0] = static_cast<float>(vector[0]);
      to[1] = static_cast<float>(vector[1]);
    }
  }
}

// (pages, k, v, positions)
void Kernels::append(Args args) {
  ASSERT_EQ(args.size(), 4U);
  for (std::int64_t row = 0; row < tensor_of(args[1]).shape[0]; ++row) {
    const std::int32_t slot = data<std::int32_t>(args[3])[row];
    if (slot < 0) continue;
    for (int which = 0; which < 2; ++which) {
      std::copy_n(data(args[static_cast<std::size_t>(1 + which)]) + row * dimension, dimension,
                  const_cast<float*>(key_of(args[0], slot, which)));
    }
  }
}

// tail     [in]   (out, lse, ...)
void Kernels::write(Args tail, std::int64_t row, std::int64_t head, const Attended& result) {
  float* out = data(tail[0]) + (row * query_heads + head) * dimension;
  for (std::size_t i = 0; i < dimension; ++i) out[i] = static_cast<float>(result.out[i]);
  data(tail[1])[row * query_heads + head] = static_cast<float>(result.lse);
}

// (q, qo_indptr, k, v, kv_indptr, q_position, k_offset, out, lse, causal, rotary, scale, theta,
// sm_scale)
void Kernels::ragged(Args args) {
  ASSERT_EQ(args.size(), 14U);
  ASSERT_EQ(args[9].i, 1);
  ASSERT_EQ(args[11].f, 1.0);
  ASSERT_EQ(args[12].f, 10000.0);
  const bool rotary = args[10].i != 0;
  const std::int64_t batch = tensor_of(args[1]).shape[0] - 1;
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int32_t first = data<std::int32_t>(args[1])[b];
    const std::int32_t past = data<std::int32_t>(args[1])[b + 1];
    const std::int32_t offset = data<std::int32_t>(args[6])[b];
    std::vector<Key> keys;
    for (std::int64_t row = first; row < past; ++row) {
      const Vector k = vector_at(data(args[2]), row);
      keys.push_back(
          {rotary ? rotated(k, offset + row - first) : k, vector_at(data(args[3]), row)});
      for (std::int64_t head = 0; head < query_heads; ++head) {
        const Vector q = vector_at(data(args[0]), row * query_heads + head);
        const std::int32_t position = data<std::int32_t>(args[5])[row];
        write(args.subspan(7), row, head,
              attend(rotary ? rotated(q, position) : q, keys, args[13].f));
      }
    }
  }
}

// tables   [in]   (pages, page_indptr, page_indices, length_info, k_offset, q_position)
// tail     [in]   (out, lse[, causal], rotary, scale, theta, sm_scale)
void Kernels::attend_pages(Args tables, Args tail, std::int64_t entry, std::int64_t row,
                           const gantry_value& q_rows) {
  const Args numbers = tail.last(4);
  ASSERT_EQ(numbers[1].f, 1.0);
  ASSERT_EQ(numbers[2].f, 10000.0);
  const bool rotary = numbers[0].i != 0;
  const std::int64_t page_size = tensor_of(tables[0]).shape[3];
  const auto* indptr = data<std::int32_t>(tables[1]);
  const auto* indices = data<std::int32_t>(tables[2]);
  const gantry_tensor& info = tensor_of(tables[3]);
  const std::int64_t entries = info.shape[info.ndim - 1];
  const auto* lengths = data<std::int32_t>(tables[3]);
  const std::int64_t pages = indptr[entry + 1] - indptr[entry];
  std::int64_t slots = pages == 0 ? 0 : (pages - 1) * page_size + lengths[entry];
  std::int64_t window_at = 0, sink = 0;
  if (info.ndim == 2) {
    window_at = lengths[entries + entry];
    sink = lengths[2 * entries + entry];
  }
  std::vector<Key> keys;
  for (std::int64_t token = 0; token < slots - window_at + sink; ++token) {
    const std::int64_t at = token < sink ? token : token - sink + window_at;
    const std::int64_t slot = indices[indptr[entry] + at / page_size] * page_size + at % page_size;
    const Vector k = vector_at(key_of(tables[0], slot, 0), 0);
    const std::int64_t position = data<std::int32_t>(tables[4])[entry] + token;
    keys.push_back({rotary ? rotated(k, position) : k, vector_at(key_of(tables[0], slot, 1), 0)});
  }
  for (std::int64_t head = 0; head < query_heads; ++head) {
    const Vector q = vector_at(data(q_rows), row * query_heads + head);
    const std::int32_t position = data<std::int32_t>(tables[5])[row];
    write(tail, row, head, attend(rotary ? rotated(q, position) : q, keys, numbers[3].f));
  }
}

// (q, qo_indptr, tables, out, lse, causal, rotary, scale, theta, sm_scale)
void Kernels::prefill(Args args) {
  ASSERT_EQ(args.size(), 15U);
  ASSERT_EQ(args[10].i, 0);
  for (std::int64_t entry = 0; entry + 1 < tensor_of(args[1]).shape[0]; ++entry) {
    for (std::int64_t row = data<std::int32_t>(args[1])[entry];
         row < data<std::int32_t>(args[1])[entry + 1]; ++row)
      attend_pages(args.subspan(2, 6), args.subspan(8), entry, row, args[0]);
  }
}

// (q, tables, out, lse, rotary, scale, theta, sm_scale)
void Kernels::decode(Args args) {
  ASSERT_EQ(args.size(), 13U);
  for (std::int64_t row = 0; row < tensor_of(args[0]).shape[0]; ++row)
    attend_pages(args.subspan(1, 6), args.subspan(7), row, row, args[0]);
}

// (out, lse, other out, other lse)
void Kernels::merge(Args args) {
  ASSERT_EQ(args.size(), 4U);
  for (std::int64_t i = 0; i < tensor_of(args[0]).shape[0] * query_heads; ++i) {
    const double a = std::exp(data(args[1])[i]), b = std::exp(data(args[3])[i]);
    for (std::int64_t j = i * dimension; j < (i + 1) * dimension; ++j) {
      data(args[0])[j] =
          static_cast<float>((a * data(args[0])[j] + b * data(args[2])[j]) / (a + b));
    }
    data(args[1])[i] = static_cast<float>(std::log(a + b));
  }
}

// (pages, source, target, tokens)
void Kernels::copy_page(Args args) {
  ASSERT_EQ(args.size(), 4U);
  const std::int64_t page_size = tensor_of(args[0]).shape[3];
  for (std::int64_t token = 0; token < args[3].i; ++token) {
    for (int which = 0; which < 2; ++which) {
      std::copy_n(key_of(args[0], args[1].i * page_size + token, which), dimension,
                  const_cast<float*>(key_of(args[0], args[2].i * page_size + token, which)));
    }
  }
}

// (pages, positions, keys, values, layer)
void Kernels::get_kv(Args args) {
  ASSERT_EQ(args.size(), 5U);
  const std::int64_t count = tensor_of(args[1]).shape[0];
  for (std::int64_t i = 0; i < count; ++i) {
    for (int which = 0; which < 2; ++which) {
      std::copy_n(
          key_of(args[0], data<std::int32_t>(args[1])[i], which), dimension,
          data(args[static_cast<std::size_t>(2 + which)]) + (args[4].i * count + i) * dimension);
    }
  }
}

}  // namespace gantry::relax::test
