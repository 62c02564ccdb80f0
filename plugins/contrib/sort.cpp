// SPDX-License-Identifier: Apache-2.0
//
// Sorting along one axis, `tvm.contrib.sort.*`: compilers call it instead of a kernel. Equal elements
// keep their order; NaN is larger than every number.
//
// source   apache/tvm src/runtime/contrib/sort/sort.cc
#include "arguments.hpp"
#include "sort_keys.hpp"
#include "sort_records.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace gantry::contrib {
namespace {

// What is sorted, and where the result goes.
struct SortJob {
  const gantry_tensor* input;
  Axis axis;
  bool is_ascending;
  // elements that are written for each list
  std::int64_t count;
  // extent of the axis in the outputs; the elements after `count` stay as they are
  std::int64_t out_size;
  // either may be NULL
  const gantry_tensor* values = nullptr;
  const gantry_tensor* indices = nullptr;
  // for each list: only so many of its first elements are sorted; NULL: all
  const std::int32_t* lengths = nullptr;
};

// Memory that is not initialised.
template <class Record>
class Records {
 public:
  Records(HostMemory& memory, std::size_t count)
      : memory_(memory),
        bytes_(count * sizeof(Record)),
        data_(static_cast<Record*>(memory.allocate(bytes_, alignof(Record)))) {}
  ~Records() { memory_.deallocate(data_, bytes_, alignof(Record)); }
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  Record* data() const { return data_; }

 private:
  HostMemory& memory_;
  std::size_t bytes_;
  Record* data_;
};

// Writes the numbers of the elements of a sorted list.
template <class Record>
Status write_indices(const Work& work, const SortJob& job, std::span<const Record> order,
                     std::int64_t first) {
  Status written;
  visit_element(job.indices->dtype, [&]<class Index>(Index) {
    // Not types of indices, which check_indices() refuses.
    if constexpr (!std::is_arithmetic_v<Index>)
      return;
    else {
      Index* const to = data_of<Index>(*job.indices) + first;
      written =
          work.in_pieces(static_cast<std::int64_t>(order.size()), [&](Piece piece, std::int64_t) {
            return work.for_each(piece, [&](std::int64_t i) {
              to[i * job.axis.inner] =
                  static_cast<Index>(order[static_cast<std::size_t>(i)].index());
            });
          });
    }
  });
  return written;
}

// Copies the elements of a sorted list to the output.
//
// Unit     as large as an element
// spare    [in]   memory for as many elements
template <class Unit, class Record>
Status write_units(const Work& work, const SortJob& job, std::span<const Record> order, void* spare,
                   std::int64_t in_first, std::int64_t out_first) {
  const std::int64_t step = job.axis.inner;
  const Unit* const from = data_of<const Unit>(*job.input) + in_first;
  Unit* const to = data_of<Unit>(*job.values) + out_first;
  const bool is_in_place = to == from;
  Unit* const target = is_in_place ? static_cast<Unit*>(spare) : to;
  const std::int64_t target_step = is_in_place ? 1 : step;
  const auto size = static_cast<std::int64_t>(order.size());
  GANTRY_CHECK(work.in_pieces(size, [&](Piece piece, std::int64_t) {
    return work.for_each(piece, [&](std::int64_t i) {
      target[i * target_step] = from[order[static_cast<std::size_t>(i)].index() * step];
    });
  }));
  for (std::int64_t i = 0; is_in_place && i < size; ++i) to[i * step] = target[i];
  return {};
}

template <class Record>
Status write_values(const Work& work, const SortJob& job, std::span<const Record> order,
                    void* spare, std::int64_t in_first, std::int64_t out_first) {
  switch (job.input->dtype.bits) {
    case 8:
      return write_units<std::uint8_t>(work, job, order, spare, in_first, out_first);
    case 16:
      return write_units<std::uint16_t>(work, job, order, spare, in_first, out_first);
    case 32:
      return write_units<std::uint32_t>(work, job, order, spare, in_first, out_first);
    default:
      return write_units<std::uint64_t>(work, job, order, spare, in_first, out_first);
  }
}

// The keys of one list.
template <class T>
struct ListKeys {
  const T* from;
  std::int64_t step;
  // bits that are inverted, for a descending order
  std::uint64_t flip;

  std::uint64_t operator()(std::int64_t i) const { return key_of(from[i * step]) ^ flip; }

  // Also true where an element is NaN.
  bool may_have(std::int64_t i, std::uint64_t bound) const {
    const Key last =
        static_cast<Key>(std::min<std::uint64_t>(bound, std::numeric_limits<Key>::max()) ^ flip);
    if constexpr (std::is_arithmetic_v<T>) {
      // The elements themselves: their keys take longer.
      const T number = number_of<T>(last);
      if (flip != 0) return has_one(i, [number](T x) { return !(x < number); });
      return has_one(i, [number](T x) { return !(x > number); });
    } else {
      if (flip != 0) return has_one(i, [last](T x) { return key_of(x) >= last; });
      return has_one(i, [last](T x) { return key_of(x) <= last; });
    }
  }

 private:
  using Key = decltype(key_of(T{}));

  // Without branches: a loop that compilers vectorise. Unrolled, because gcc does not do it at -O2.
  template <class Matches>
  bool has_one(std::int64_t begin, const Matches& matches) const {
    const auto in = [&](const T* first, std::int64_t distance) {
      Key found = 0;
#pragma GCC unroll 8
      for (std::int64_t i = 0; i < key_block; ++i)
        found = static_cast<Key>(found | Key{matches(first[i * distance])});
      return found != 0;
    };
    return step == 1 ? in(from + begin, 1) : in(from + begin * step, step);
  }
};
// The same for lists with more elements than memory usually has, compiled once for all types.
struct HugeListKeys {
  std::uint64_t (*key)(const void* elements, std::int64_t i);
  const void* elements;
  std::int64_t step;
  std::uint64_t flip;
  std::int64_t first = 0;

  std::uint64_t operator()(std::int64_t i) const { return key(elements, first + i * step) ^ flip; }

  bool may_have(std::int64_t i, std::uint64_t bound) const {
    for (const std::int64_t end = i + key_block; i < end; ++i) {
      if ((*this)(i) <= bound) return true;
    }
    return false;
  }
};

template <class Record>
class ListSorter {
 public:
  ListSorter(const Services& services, const gantry_env* env, const SortJob& job)
      : services_(services), env_(env), job_(job) {}

  // keys_of  [in]   keys_of(i): the keys of the list whose first element is element i
  template <class KeysOf>
  Status run(const KeysOf& keys_of) {
    const Axis& axis = job_.axis;
    const std::int64_t lists = axis.lists();
    const std::int64_t threads = services_.threads.pieces_of(lists * axis.size);
    const bool has_many_lists = lists >= threads;
    const std::int64_t workers = has_many_lists ? threads : 1;
    selects_ = job_.lengths == nullptr && job_.count <= axis.size / 8;
    room_ = static_cast<std::size_t>(selects_ ? 2 * job_.count + 256 : axis.size);

    HostMemory memory(services_.host, services_.memory, "records of a sort", UINT64_MAX);
    const Records<Record> records(memory, 2 * room_ * static_cast<std::size_t>(workers));
    const Work work{services_.host, env_, services_.threads, has_many_lists ? 1 : threads};
    return services_.threads.run(workers, [&](std::int64_t worker) -> Status {
      Record* const own = records.data() + 2 * room_ * static_cast<std::size_t>(worker);
      const Piece piece = piece_of(lists, worker, workers);
      for (std::int64_t list = piece.begin; list < piece.end; ++list) {
        GANTRY_CHECK(services_.host.check_task(env_));
        GANTRY_CHECK(sort_list(work, keys_of, list, {own, room_}, {own + room_, room_}));
      }
      return {};
    });
  }

 private:
  template <class KeysOf>
  Status sort_list(const Work& work, const KeysOf& keys_of, std::int64_t list,
                   std::span<Record> records, std::span<Record> buffer) const {
    const Axis& axis = job_.axis;
    const std::int64_t outer = list / axis.inner, inner = list % axis.inner;
    const std::int64_t in_first = outer * axis.size * axis.inner + inner;
    const std::int64_t out_first = outer * job_.out_size * axis.inner + inner;
    const std::int64_t size = job_.lengths != nullptr ? job_.lengths[list] : axis.size;
    const auto keys = keys_of(in_first);

    KeySummary summary{false, false, UINT64_MAX, 0};
    if (selects_) {
      GANTRY_TRY(records, first_records(work, keys, size, job_.count, records));
    } else {
      records = records.first(static_cast<std::size_t>(size));
      GANTRY_TRY(summary, make_records(work, keys, records.data(), size));
    }
    buffer = buffer.first(records.size());
    GANTRY_TRY(std::span<const Record> order,
               sort_records(work, summary, selects_ ? size - 1 : 0, records, buffer));
    Record* const spare = order.data() == buffer.data() ? records.data() : buffer.data();
    if (job_.lengths == nullptr) order = order.first(static_cast<std::size_t>(job_.count));
    if (job_.values != nullptr)
      GANTRY_CHECK(write_values(work, job_, order, spare, in_first, out_first));
    if (job_.indices != nullptr) GANTRY_CHECK(write_indices(work, job_, order, out_first));
    for (std::int64_t i = size; i < axis.size; ++i)
      data_of<std::int32_t>(*job_.indices)[out_first + i * axis.inner] =
          static_cast<std::int32_t>(i);
    return {};
  }

  const Services& services_;
  const gantry_env* env_;
  const SortJob& job_;
  // Fewer elements are written than the list has: not all are sorted.
  bool selects_ = false;
  // records of one list
  std::size_t room_ = 0;
};

Status sort_huge(const Services& services, const gantry_env* env, const SortJob& job,
                 const HugeListKeys& keys) {
  return ListSorter<WideRecord>(services, env, job).run([&](std::int64_t first) {
    HugeListKeys list = keys;
    list.first = first;
    return list;
  });
}

Result<Value> run_job(const Services& services, const Call& call, const SortJob& job) {
  Status done;
  const bool is_known = visit_element(job.input->dtype, [&]<class T>(T) {
    if (job.axis.outer == 0 || job.count == 0) return;
    using Key = decltype(key_of(T{}));
    const T* const elements = data_of<const T>(*job.input);
    const std::int64_t step = job.axis.inner;
    const std::uint64_t flip = job.is_ascending ? 0 : std::uint64_t{Key(~Key{0})};
    const auto keys_of = [=](std::int64_t first) {
      return ListKeys<T>{elements + first, step, flip};
    };
    if constexpr (sizeof(T) == 8) {
      done = ListSorter<WideRecord>(services, call.env, job).run(keys_of);
    } else if (job.axis.size <= NarrowRecord::max_size) {
      done = ListSorter<NarrowRecord>(services, call.env, job).run(keys_of);
    } else {
      const auto key = [](const void* of, std::int64_t i) {
        return std::uint64_t{key_of(static_cast<const T*>(of)[i])};
      };
      done = sort_huge(services, call.env, job, {key, elements, step, flip});
    }
  });
  if (!is_known) {
    return raise(services.host, "TypeError", "sorting of elements of type ",
                 dtype_text(job.input->dtype), " is not supported");
  }
  GANTRY_CHECK(std::move(done));
  return Value();
}

// Returns the extent of the axis in an output, whose other extents are those of the input.
//
// sizes    [in]   of the axis, any of which it may be
Result<std::int64_t> output_size(const Call& call, std::size_t i, const gantry_tensor& input,
                                 const Axis& axis, std::initializer_list<std::int64_t> sizes) {
  GANTRY_TRY(const gantry_tensor* const output, compact_at(call, i));
  std::vector<std::int64_t> expected(shape_of(input).begin(), shape_of(input).end());
  for (const std::int64_t size : sizes) {
    expected[axis.index] = size;
    if (std::ranges::equal(shape_of(*output), expected)) return size;
  }
  expected[axis.index] = *sizes.begin();
  return call.wrong(i, concat("a tensor of shape ", numbers_text(expected)));
}

// Elements are read as those of their own list are written: both must be at the same place, or apart.
Status check_apart(const Call& call, std::size_t i, const gantry_tensor& input,
                   const gantry_tensor& output) {
  const auto begin_of = [](const gantry_tensor& tensor) {
    return reinterpret_cast<std::uintptr_t>(data_of<const char>(tensor));
  };
  // Extents beside a 0 say nothing about the memory.
  if (is_empty(input) || is_empty(output)) return {};
  GANTRY_TRY(const std::uint64_t in_bytes, tensor_bytes(shape_of(input), input.dtype));
  GANTRY_TRY(const std::uint64_t out_bytes, tensor_bytes(shape_of(output), output.dtype));
  const std::uintptr_t in = begin_of(input), out = begin_of(output);
  if (in + in_bytes <= out || out + out_bytes <= in) return {};
  if (in == out && in_bytes == out_bytes && std::ranges::equal(shape_of(input), shape_of(output)))
    return {};
  return call.refuse(call.title(i), " overlaps the input");
}

// Returns a tensor for sorted elements.
Result<const gantry_tensor*> values_at(const Call& call, std::size_t i,
                                       const gantry_tensor& input) {
  GANTRY_TRY(const gantry_tensor* const values, call.tensor(i));
  GANTRY_CHECK(check_apart(call, i, input, *values));
  if (same_dtype(values->dtype, input.dtype)) return values;
  return call.wrong(i, concat("a tensor of ", dtype_text(input.dtype)));
}

// Returns a tensor for numbers of elements: of int32, int64, float32 and float64, and of the input's
// type if that is int8 or uint8.
Result<const gantry_tensor*> indices_at(const Call& call, std::size_t i,
                                        const gantry_tensor& input) {
  GANTRY_TRY(const gantry_tensor* const indices, call.tensor(i));
  GANTRY_CHECK(check_apart(call, i, input, *indices));
  for (const gantry_dtype type :
       {dtypes::int32, dtypes::int64, dtypes::float32, dtypes::float64, input.dtype}) {
    if (!same_dtype(type, indices->dtype)) continue;
    if (type.bits >= 32 || same_dtype(type, dtypes::int8) || same_dtype(type, dtypes::uint8))
      return indices;
  }
  return call.wrong(i, "a tensor of int32, int64, float32 or float64");
}

struct Sorted {
  const gantry_tensor* input;
  Axis axis;
  bool is_ascending;
};

// Reads the arguments that each function has.
//
// axis     [in]   number of the argument; the next one is `ascending`
Result<Sorted> sorted_of(const Services& services, const Call& call, std::size_t axis_at) {
  Sorted sorted{};
  GANTRY_TRY(sorted.input, compact_at(call, 0));
  GANTRY_TRY(const std::int64_t number, call.integer(axis_at));
  GANTRY_TRY(sorted.is_ascending, call.flag(call.args.size() - 1));
  GANTRY_TRY(sorted.axis, axis_of(services.host, *sorted.input, number));
  return sorted;
}

Result<SortJob> whole_job(const Services& services, const Call& call) {
  GANTRY_CHECK(call.count_is(4));
  GANTRY_TRY(const Sorted sorted, sorted_of(services, call, 2));
  GANTRY_CHECK(output_size(call, 1, *sorted.input, sorted.axis, {sorted.axis.size}));
  return SortJob{sorted.input, sorted.axis, sorted.is_ascending, sorted.axis.size,
                 sorted.axis.size};
}

Result<Value> sort(const Services& services, const Call& call) {
  GANTRY_TRY(SortJob job, whole_job(services, call));
  GANTRY_TRY(job.values, values_at(call, 1, *job.input));
  return run_job(services, call, job);
}

Result<Value> argsort(const Services& services, const Call& call) {
  GANTRY_TRY(SortJob job, whole_job(services, call));
  GANTRY_TRY(job.indices, indices_at(call, 1, *job.input));
  return run_job(services, call, job);
}

// topk(x, outputs..., k, axis, "both" | "values" | "indices", ascending); k < 1: all elements. If k
// is larger than the axis, the rest of the outputs stays as it is.
Result<Value> topk(const Services& services, const Call& call) {
  GANTRY_CHECK(call.count_is(6, 7));
  const std::size_t first = call.args.size() - 4;
  GANTRY_TRY(const Sorted sorted, sorted_of(services, call, first + 1));
  GANTRY_TRY(const std::int64_t k, call.integer(first));
  GANTRY_TRY(const std::string_view what, call.text(first + 2));
  const bool is_both = what == "both";
  if ((!is_both && what != "values" && what != "indices") || (is_both ? 3u : 2u) != first)
    return call.wrong(first + 2, "both, values or indices, with as many outputs");
  const std::int64_t count = k < 1 ? sorted.axis.size : std::min(k, sorted.axis.size);
  SortJob job{sorted.input, sorted.axis, sorted.is_ascending, count, count};
  for (std::size_t i = 1; i < first; ++i) {
    GANTRY_TRY(const std::int64_t size,
               output_size(call, i, *job.input, job.axis, {std::max(k, count), count}));
    if (i > 1 && size != job.out_size)
      return call.wrong(i, concat("a tensor with ", job.out_size, " elements along the axis"));
    job.out_size = size;
  }
  if (what != "indices") {
    GANTRY_TRY(job.values, values_at(call, 1, *job.input));
  }
  if (what != "values") {
    GANTRY_TRY(job.indices, indices_at(call, first - 1, *job.input));
  }
  return run_job(services, call, job);
}

// Sorts only the first elements of each list, which `count` has one number for.
Result<Value> argsort_nms(const Services& services, const Call& call) {
  GANTRY_CHECK(call.count_is(5));
  GANTRY_TRY(const Sorted sorted, sorted_of(services, call, 3));
  const Axis& axis = sorted.axis;
  if (!same_dtype(sorted.input->dtype, dtypes::float32))
    return call.wrong(0, "a tensor of float32");
  GANTRY_TRY(const gantry_tensor* const lengths, compact_at(call, 1));
  const std::int64_t lists = axis.outer == 0 ? 0 : axis.lists();
  std::uint64_t bytes = 0;
  if (lists != 0) {
    GANTRY_TRY(bytes, tensor_bytes(shape_of(*lengths), lengths->dtype));
  }
  if (!same_dtype(lengths->dtype, dtypes::int32) ||
      bytes / sizeof(std::int32_t) != static_cast<std::uint64_t>(lists))
    return call.wrong(1, concat("a tensor of ", lists, " elements of int32"));
  GANTRY_CHECK(output_size(call, 2, *sorted.input, axis, {axis.size}));
  SortJob job{sorted.input, axis, sorted.is_ascending, axis.size, axis.size};
  GANTRY_TRY(job.indices, call.tensor(2));
  GANTRY_CHECK(check_apart(call, 2, *sorted.input, *job.indices));
  GANTRY_CHECK(check_apart(call, 2, *lengths, *job.indices));
  if (!same_dtype(job.indices->dtype, dtypes::int32)) return call.wrong(2, "a tensor of int32");
  job.lengths = data_of<const std::int32_t>(*lengths);
  for (std::int64_t list = 0; list < lists; ++list) {
    if (job.lengths[list] < 0 || job.lengths[list] > axis.size) {
      return raise(services.host, "ValueError", call.usage, ": count of list ", list, " is ",
                   job.lengths[list], ", the list has ", axis.size, " elements");
    }
  }
  return run_job(services, call, job);
}

constexpr FunctionRow sort_rows[] = {
    {"tvm.contrib.sort.sort", "sort(x, out, axis, ascending)", sort},
    {"tvm.contrib.sort.argsort", "argsort(x, out, axis, ascending)", argsort},
    {"tvm.contrib.sort.topk", "topk(x, out, ..., k, axis, what, ascending)", topk},
    {"tvm.contrib.sort.argsort_nms", "argsort_nms(x, count, out, axis, ascending)", argsort_nms},
};

}  // namespace

std::span<const FunctionRow> sort_functions() { return sort_rows; }

}  // namespace gantry::contrib
