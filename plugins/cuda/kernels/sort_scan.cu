// SPDX-License-Identifier: Apache-2.0
//
// Stable sorting and prefix sums of the rows of a matrix: tvm.contrib.thrust.*.
//
// A row is sorted by the digits of its keys, 4 bits at a time from the lowest: blocks count the digits of
// their tile of the row (count), one block for each row adds the counts up to positions (scan), and blocks
// move their elements there (move). A thread has consecutive elements, so that equal digits keep their
// order. A sum is that of a row's tiles (sums, scan) and then of their elements (write).
//
// A step of a block ends with a barrier: threads exchange data in shared memory only, from one step to the
// next. So the kernels are also tested on the host, where a step is a loop over the threads. No header is
// included: NVRTC compiles this file alone.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#ifndef GANTRY_KERNELS_ON_HOST
struct Block {
  __device__ u32 index() const { return blockIdx.x; }
  template <class Step>
  __device__ void each(const Step& step) const {
    step(threadIdx.x);
    __syncthreads();
  }
};
#endif

enum : u32 {
  threads = 256,
  // consecutive elements of a thread
  items = 8,
  tile = threads * items,
  digits = 16
};

// Adds up the numbers of the threads. Returns the array of `a` and `b` with the sums, own number included.
template <class T>
__device__ T* add_up(const Block& block, T* a, T* b) {
  for (u32 step = 1; step < threads; step *= 2) {
    block.each([&](u32 t) { b[t] = t < step ? a[t] : a[t - step] + a[t]; });
    T* const sums = b;
    b = a;
    a = sums;
  }
  return a;
}

// Replaces the numbers of a row by the sum of those before them.
template <class T>
__device__ void scan_row(const Block& block, T* row, u64 length) {
  __shared__ T a[threads], b[threads], before;
  block.each([&](u32 t) {
    if (t == 0) before = 0;
  });
  for (u64 first = 0; first < length; first += threads) {
    block.each([&](u32 t) { a[t] = first + t < length ? row[first + t] : T(0); });
    const T* const sums = add_up(block, a, b);
    block.each([&](u32 t) {
      if (first + t < length) row[first + t] = before + (t == 0 ? T(0) : sums[t - 1]);
    });
    block.each([&](u32 t) {
      if (t == 0) before += sums[threads - 1];
    });
  }
}

// ---- keys: unsigned numbers of the same order. NaN is larger than every number, and -0 equals 0.

template <class Key>
__device__ Key float_key(Key bits, Key infinity) {
  const Key sign = Key(Key(1) << (8 * sizeof(Key) - 1));
  if (Key(bits & ~sign) > infinity) return Key(~Key(0));
  if (bits == sign) bits = 0;
  return Key((bits & sign) != 0 ? ~bits : bits | sign);
}

// 1: from the largest to the smallest; 2: negative keys count from the end of the row
enum : int { descending = 1, wrapped = 2 };

template <class Key>
__device__ Key integer_key(Key bits, u64 length, int flags) {
  const Key sign = Key(Key(1) << (8 * sizeof(Key) - 1));
  if ((flags & wrapped) != 0 && (bits & sign) != 0) bits += Key(length);
  return bits ^ sign;
}

// The key of element i, and its number in its row.
template <class Key>
__device__ void put_key(Key key, Key mask, u64 i, u64 length, int flags, Key* keys, u32* order) {
  keys[i] = (flags & descending) != 0 ? key ^ mask : key;
  order[i] = u32(i % length);
}

#define GANTRY_KEYS(name, Bits, Key, key, mask)                                               \
  extern "C" __global__ void __launch_bounds__(threads) name(const Bits* x, Key* keys, u32* order, i64 count,      \
                                  i64 row_length, int flags) {                          \
    const Block block;                                                                        \
    const u64 length = u64(row_length);                                                       \
    block.each([&](u32 t) {                                                                   \
      const u64 i = u64(block.index()) * threads + t;                                         \
      if (i < u64(count)) put_key<Key>(key, mask, i, length, flags, keys, order);             \
    });                                                                                       \
  }
GANTRY_KEYS(gantry_keys_f16, u16, u32, float_key<u16>(x[i], 0x7c00), 0xffff)
GANTRY_KEYS(gantry_keys_f32, u32, u32, float_key<u32>(x[i], 0x7f800000), ~u32(0))
GANTRY_KEYS(gantry_keys_f64, u64, u64, float_key<u64>(x[i], 0x7ff0000000000000), ~u64(0))
GANTRY_KEYS(gantry_keys_i32, u32, u32, integer_key<u32>(x[i], length, flags), ~u32(0))
GANTRY_KEYS(gantry_keys_i64, u64, u64, integer_key<u64>(x[i], length, flags), ~u64(0))

// ---- one digit

// Calls visit(i) with the numbers of a thread's elements in their row.
template <class Visit>
__device__ void visit_items(u64 first, u32 t, u64 length, const Visit& visit) {
  for (u32 j = 0; j < items; ++j) {
    const u64 i = first + u64(t) * items + j;
    if (i < length) visit(i);
  }
}

template <class Key>
__device__ u32 digit_of(Key key, int shift) {
  return u32(key >> shift) % digits;
}

// Counts the digits of a thread's elements in its column of `counters`.
template <class Key>
__device__ void count_own(const Key* keys, u64 first, u32 t, u64 length, int shift, u32* counters) {
  for (u32 digit = 0; digit < digits; ++digit) counters[digit * threads + t] = 0;
  visit_items(first, t, length, [&](u64 i) { ++counters[digit_of(keys[i], shift) * threads + t]; });
}

// counts   [rows, digits, tiles]
template <class Key>
__device__ void count_digits(const Block& block, const Key* keys, u32* counts, u64 length, u64 tiles,
                             int shift) {
  __shared__ u32 counters[digits * threads], parts[threads];
  const u64 row = block.index() / tiles, number = block.index() % tiles;
  block.each([&](u32 t) {
    count_own(keys + row * length, number * tile, t, length, shift, counters);
  });
  // Of each digit there are 16 parts of 16 threads.
  block.each([&](u32 t) {
    u32 sum = 0;
    for (u32 j = 0; j < threads / digits; ++j) sum += counters[t * (threads / digits) + j];
    parts[t] = sum;
  });
  block.each([&](u32 t) {
    if (t >= digits) return;
    u32 sum = 0;
    for (u32 j = 0; j < threads / digits; ++j) sum += parts[t * (threads / digits) + j];
    counts[(row * digits + t) * tiles + number] = sum;
  });
}

// counts   [in]   positions: of each digit and tile the number of elements before it in the row
template <class Key>
__device__ void move_digits(const Block& block, const Key* keys, const u32* order, Key* keys_to,
                            u32* order_to, const u32* counts, u64 length, u64 tiles, int shift) {
  __shared__ u32 counters[digits * threads], a[threads], b[threads], starts[digits];
  const u64 row = block.index() / tiles, number = block.index() % tiles;
  const u64 first = row * length;
  block.each(
      [&](u32 t) { count_own(keys + first, number * tile, t, length, shift, counters); });
  // Positions in the tile, by digit and then by thread.
  block.each([&](u32 t) {
    a[t] = 0;
    for (u32 j = 0; j < digits; ++j) a[t] += counters[t * digits + j];
  });
  const u32* const sums = add_up(block, a, b);
  block.each([&](u32 t) {
    u32 position = t == 0 ? 0 : sums[t - 1];
    for (u32 j = 0; j < digits; ++j) {
      const u32 count = counters[t * digits + j];
      counters[t * digits + j] = position;
      position += count;
    }
  });
  block.each([&](u32 t) {
    if (t < digits) starts[t] = counters[t * threads];
  });
  block.each([&](u32 t) {
    visit_items(number * tile, t, length, [&](u64 i) {
      const Key key = keys[first + i];
      const u32 digit = digit_of(key, shift);
      const u64 to = first + counts[(row * digits + digit) * tiles + number] +
                     counters[digit * threads + t]++ - starts[digit];
      keys_to[to] = key;
      order_to[to] = order[first + i];
    });
  });
}

#define GANTRY_DIGITS(count, move, Key)                                                           \
  extern "C" __global__ void __launch_bounds__(threads) count(const Key* keys, u32* counts, i64 length,                \
                                   i64 tiles, int shift) {                                  \
    count_digits<Key>(Block(), keys, counts, u64(length), u64(tiles), shift);                     \
  }                                                                                               \
  extern "C" __global__ void __launch_bounds__(threads) move(const Key* keys, const u32* order, Key* keys_to, u32* order_to, \
                                  const u32* counts, i64 length, i64 tiles,           \
                                  int shift) {                                                    \
    move_digits<Key>(Block(), keys, order, keys_to, order_to, counts, u64(length), u64(tiles),    \
                     shift);                                                                      \
  }
GANTRY_DIGITS(gantry_count_32, gantry_move_32, u32)
GANTRY_DIGITS(gantry_count_64, gantry_move_64, u64)

// ---- results

// out[i] = x[order[i]] in each row
#define GANTRY_ORDERED(name, Bits, value)                                                     \
  extern "C" __global__ void __launch_bounds__(threads) name(const Bits* x, const u32* order, Bits* out, i64 count, \
                                  i64 row_length) {                                     \
    const Block block;                                                                        \
    const u64 length = u64(row_length);                                                       \
    block.each([&](u32 t) {                                                                   \
      const u64 i = u64(block.index()) * threads + t;                                         \
      if (i >= u64(count)) return;                                                            \
      const Bits from = x[i / length * length + order[i]];                                    \
      out[i] = value;                                                                         \
    });                                                                                       \
  }
GANTRY_ORDERED(gantry_ordered_16, u16, from)
GANTRY_ORDERED(gantry_ordered_32, u32, from)
GANTRY_ORDERED(gantry_ordered_64, u64, from)
GANTRY_ORDERED(gantry_wrapped_32, u32, from >> 31 != 0 ? from + u32(length) : from)
GANTRY_ORDERED(gantry_wrapped_64, u64, from >> 63 != 0 ? from + length : from)

#define GANTRY_NUMBERS(name, T)                                                          \
  extern "C" __global__ void __launch_bounds__(threads) name(const u32* order, T* out, i64 count) {           \
    const Block block;                                                                   \
    block.each([&](u32 t) {                                                              \
      const u64 i = u64(block.index()) * threads + t;                                    \
      if (i < u64(count)) out[i] = T(order[i]);                                          \
    });                                                                                  \
  }
GANTRY_NUMBERS(gantry_numbers_i32, int)
GANTRY_NUMBERS(gantry_numbers_i64, i64)
GANTRY_NUMBERS(gantry_numbers_f32, float)
GANTRY_NUMBERS(gantry_numbers_f64, double)

// ---- sums

// The types that are added. Integers wrap.
enum : int { from_u8, from_i32, from_i64, from_f32, from_f64 };

template <class T>
__device__ T load(const void* x, int type, u64 i) {
  switch (type) {
    case from_u8:
      return T(static_cast<const u8*>(x)[i]);
    case from_i32:
      return T(static_cast<const int*>(x)[i]);
    case from_i64:
      return T(static_cast<const i64*>(x)[i]);
    case from_f32:
      return T(static_cast<const float*>(x)[i]);
    default:
      return T(static_cast<const double*>(x)[i]);
  }
}

// Sums up the elements of each thread; returns the sums of the threads up to each one.
template <class T>
__device__ const T* sums_of_threads(const Block& block, const void* x, int type, u64 row, u64 first,
                                    u64 length, T* a, T* b) {
  block.each([&](u32 t) {
    T sum = 0;
    visit_items(first, t, length, [&](u64 i) { sum += load<T>(x, type, row * length + i); });
    a[t] = sum;
  });
  return add_up(block, a, b);
}

// sums     [rows, tiles]
template <class T>
__device__ void sum_tiles(const Block& block, const void* x, T* sums, u64 length, u64 tiles,
                          int type) {
  __shared__ T a[threads], b[threads];
  const u64 row = block.index() / tiles, number = block.index() % tiles;
  const T* const own = sums_of_threads(block, x, type, row, number * tile, length, a, b);
  block.each([&](u32 t) {
    if (t == 0) sums[row * tiles + number] = own[threads - 1];
  });
}

// sums     [in]   of the tiles before each one
template <class T>
__device__ void write_sums(const Block& block, const void* x, const T* sums, T* out, u64 length,
                           u64 tiles, int type, int is_exclusive) {
  __shared__ T a[threads], b[threads];
  const u64 row = block.index() / tiles, number = block.index() % tiles;
  const T* const own = sums_of_threads(block, x, type, row, number * tile, length, a, b);
  block.each([&](u32 t) {
    T sum = sums[row * tiles + number] + (t == 0 ? T(0) : own[t - 1]);
    visit_items(number * tile, t, length, [&](u64 i) {
      const T before = sum;
      sum += load<T>(x, type, row * length + i);
      out[row * length + i] = is_exclusive != 0 ? before : sum;
    });
  });
}

#define GANTRY_SUMS(sums_name, scan_name, write_name, T)                                          \
  extern "C" __global__ void __launch_bounds__(threads) sums_name(const void* x, T* sums, i64 length, i64 tiles, \
                                       int type) {                                                \
    sum_tiles<T>(Block(), x, sums, u64(length), u64(tiles), type);                                \
  }                                                                                               \
  extern "C" __global__ void __launch_bounds__(threads) scan_name(T* rows, i64 length) {                               \
    const Block block;                                                                            \
    scan_row<T>(block, rows + u64(block.index()) * u64(length), u64(length));                     \
  }                                                                                               \
  extern "C" __global__ void __launch_bounds__(threads) write_name(const void* x, const T* sums, T* out, i64 length,   \
                                        i64 tiles, int type, int is_exclusive) {            \
    write_sums<T>(Block(), x, sums, out, u64(length), u64(tiles), type, is_exclusive);            \
  }
GANTRY_SUMS(gantry_sums_i32, gantry_scan_i32, gantry_write_i32, u32)
GANTRY_SUMS(gantry_sums_i64, gantry_scan_i64, gantry_write_i64, u64)
GANTRY_SUMS(gantry_sums_f32, gantry_scan_f32, gantry_write_f32, float)
GANTRY_SUMS(gantry_sums_f64, gantry_scan_f64, gantry_write_f64, double)
