// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/embedding/gather_rows.hpp"

#include "core/copy/copy_run.hpp"
#include "core/copy/copy_words.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/launch.hpp"
#include "core/lanes/host_caches.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

namespace portops::impl {
namespace {

/// How the words of out are shared out on a GPU, as CopyWords does: a thread takes every 256th of its team's words; all
/// their places, then all words are under way together.
struct GatherTeams {
  static constexpr int thread_bits = 8;
  static constexpr int threads = 1 << thread_bits;
  static constexpr int batch = 4;
  static constexpr int words = batch * threads;  ///< of a team

  static std::int64_t items_of(std::int64_t size) { return ceil_div(size, words) << thread_bits; }
  /// The first word of a thread.
  KOKKOS_FUNCTION static std::int64_t first_of(std::int64_t item) {
    return (item >> thread_bits) * words + (item & (threads - 1));
  }
};

/// Places, and rows of out, with any strides.
template <class Word>
class GatherWords : public GatherTeams {
 public:
  static constexpr int blocks = 4;

  explicit GatherWords(const GatherPlan& plan)
      : table_(reinterpret_cast<const Word*>(plan.table)),
        out_(reinterpret_cast<Word*>(plan.out)),
        places_(plan.places),
        axes_(plan.axes),
        size_(plan.rows * plan.columns),
        columns_(plan.columns),
        by_columns_(plan.columns),
        height_(plan.height),
        table_row_stride_(plan.table_row_stride),
        table_column_stride_(plan.table_column_stride),
        out_column_stride_(plan.out_column_stride) {
    std::memcpy(&nan_, plan.nan.data(), sizeof(Word));
  }

  std::int64_t items() const { return items_of(size_); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t first = first_of(item);
    std::int64_t place[batch], from[batch], to[batch];
    PORTOPS_UNROLL
    for (int k = 0; k < batch; ++k) {
      const std::int64_t index = first + k * threads;
      place[k] = -1;
      if (index >= size_) continue;
      const std::int64_t row = by_columns_.quotient(index);
      const std::int64_t column = index - row * columns_;
      axes_.locate(row, from[k], to[k]);
      place[k] = places_[from[k]];
      from[k] = column * table_column_stride_;
      to[k] += column * out_column_stride_;
    }
    Word word[batch];
    PORTOPS_UNROLL
    for (int k = 0; k < batch; ++k) {
      word[k] = nan_;
      if (place[k] >= 0 && place[k] < height_) word[k] = table_[place[k] * table_row_stride_ + from[k]];
    }
    PORTOPS_UNROLL
    for (int k = 0; k < batch; ++k) {
      if (first + k * threads < size_) out_[to[k]] = word[k];
    }
  }

 private:
  const Word* table_;
  Word* out_;
  const std::int64_t* places_;
  RowAxes axes_;
  std::int64_t size_;
  std::int64_t columns_;
  IndexDivisor by_columns_;
  std::int64_t height_;
  std::int64_t table_row_stride_;
  std::int64_t table_column_stride_;
  std::int64_t out_column_stride_;
  Word nan_;
};

/// The same where places lie one behind the other, and so do rows of out, and 32 bits count the words of out and those
/// of the table: a word costs few instructions more than its load and store.
template <class Word>
class GatherWordsInOrder : public GatherTeams {
 public:
  static constexpr int blocks = 4;

  explicit GatherWordsInOrder(const GatherPlan& plan)
      : table_(reinterpret_cast<const Word*>(plan.table)),
        out_(reinterpret_cast<Word*>(plan.out)),
        places_(plan.places),
        by_columns_(static_cast<std::uint32_t>(plan.columns)),
        size_(static_cast<std::uint32_t>(plan.rows * plan.columns)),
        height_(plan.height),
        table_row_stride_(static_cast<std::uint32_t>(plan.table_row_stride)) {
    std::memcpy(&nan_, plan.nan.data(), sizeof(Word));
  }

  static bool suits(const GatherPlan& plan) {
    const RowAxes& axes = plan.axes;
    const bool has_order =
        axes.rank == 0 || (axes.rank == 1 && axes.place_stride[0] == 1 && axes.row_stride[0] == plan.columns);
    return has_order && plan.table_column_stride == 1 && plan.out_column_stride == 1 && plan.table_row_stride >= 0 &&
           plan.rows * plan.columns < most && plan.height * plan.table_row_stride + plan.columns < most;
  }

  std::int64_t items() const { return items_of(size_); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const auto first = static_cast<std::uint32_t>(first_of(item));
    std::uint32_t column[batch] = {};
    std::int64_t place[batch];
    PORTOPS_UNROLL
    for (int k = 0; k < batch; ++k) {
      const std::uint32_t index = first + k * threads;
      place[k] = -1;
      if (index >= size_) continue;
      const std::uint32_t row = by_columns_.quotient(index);
      column[k] = index - row * by_columns_.value();
      place[k] = places_[row];
    }
    Word word[batch];
    PORTOPS_UNROLL
    for (int k = 0; k < batch; ++k) {
      word[k] = nan_;
      if (place[k] >= 0 && place[k] < height_) {
        word[k] = table_[static_cast<std::uint32_t>(place[k]) * table_row_stride_ + column[k]];
      }
    }
    PORTOPS_UNROLL
    for (int k = 0; k < batch; ++k) {
      if (first + k * threads < size_) out_[first + k * threads] = word[k];
    }
  }

 private:
  static constexpr std::int64_t most = std::int64_t{1} << 31;

  const Word* table_;
  Word* out_;
  const std::int64_t* places_;
  Divisor by_columns_;
  std::uint32_t size_;
  std::int64_t height_;
  std::uint32_t table_row_stride_;
  Word nan_;
};

/// On a host, which has checked the places: an item is some rows, copied one after the other.
template <class Word>
class GatherWordsHost {
 public:
  static constexpr int blocks = 0;  // a matter of GPUs

  explicit GatherWordsHost(const GatherPlan& plan)
      : plan_(plan),
        rows_(std::max<std::int64_t>(item_bytes / (plan.columns * std::int64_t{sizeof(Word)}), 1)),
        streaming_(exceeds_host_caches(plan.rows * plan.columns * std::int64_t{sizeof(Word)})) {}

  std::int64_t items() const { return ceil_div(plan_.rows, rows_); }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const {
    KOKKOS_IF_ON_HOST((gather(item * rows_, std::min(plan_.rows, (item + 1) * rows_));))
  }

 private:
  static constexpr std::int64_t item_bytes = 1 << 17;

  void gather(std::int64_t first, std::int64_t end) const {
    constexpr std::size_t worth_it = 256;
    for (std::int64_t row = first; row < end; ++row) {
      std::int64_t at = 0, to_row = 0;
      plan_.axes.locate(row, at, to_row);
      const Word* from = reinterpret_cast<const Word*>(plan_.table) + plan_.places[at] * plan_.table_row_stride;
      Word* to = reinterpret_cast<Word*>(plan_.out) + to_row;
      if (plan_.table_column_stride == 1 && plan_.out_column_stride == 1) {
        host::copy_run(to, from, plan_.columns, streaming_, worth_it);
      } else {
        for (std::int64_t c = 0; c < plan_.columns; ++c) {
          to[c * plan_.out_column_stride] = from[c * plan_.table_column_stride];
        }
      }
    }
    if (streaming_) host::end_of_streaming();
  }

  GatherPlan plan_;
  std::int64_t rows_;
  bool streaming_;
};

/// The widest words that rows consist of and that begin at multiples of their size; in bytes.
int word_bytes_of(const TensorRef& table, const TensorRef& out, const RowAxes& axes) {
  const auto element = static_cast<std::int64_t>(size_of(out.type()));
  const int last = out.rank() - 1;
  const std::int64_t columns = out.extent(last);
  if (columns > 1 && (table.stride(1) != 1 || out.stride(last) != 1)) return static_cast<int>(element);
  std::int64_t bytes = std::gcd(columns * element, table.stride(0) * element);
  for (int axis = 0; axis < axes.rank; ++axis) bytes = std::gcd(bytes, axes.row_stride[axis] * element);
  for (const TensorRef* tensor : {&table, &out}) {
    bytes = std::gcd(bytes, static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(tensor->data()) % 16));
  }
  return static_cast<int>(std::gcd(bytes, std::int64_t{16}));
}

std::array<std::byte, 16> nan_of(ElementType type) {
  std::array<std::byte, 16> bytes{};
  dispatch_type(type, [&]<class T>() {
    const auto nan = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) std::memcpy(bytes.data() + at, &nan, sizeof(T));
  });
  return bytes;
}

template <Backend B, class Word>
void gather_words(const Context& ctx, const GatherPlan& plan) {
  static const std::string label = "portops::embedding::gather[rows]";
  if constexpr (B != Backend::cuda) {
    launch_by_items<B>(ctx, label, GatherWordsHost<Word>(plan));
  } else if (GatherWordsInOrder<Word>::suits(plan)) {
    launch_by_items<B>(ctx, label, GatherWordsInOrder<Word>(plan));
  } else {
    launch_by_items<B>(ctx, label, GatherWords<Word>(plan));
  }
}

}  // namespace

GatherPlan make_gather_plan(const TensorRef& table, const TensorRef& places, const TensorRef& out) {
  GatherPlan plan;
  plan.table = static_cast<const std::byte*>(table.data());
  plan.out = static_cast<std::byte*>(out.data());
  plan.places = static_cast<const std::int64_t*>(places.data());
  plan.axes = make_row_axes(places, out);
  plan.rows = places.size();
  plan.columns = out.extent(out.rank() - 1);
  plan.height = table.extent(0);
  plan.word_bytes = word_bytes_of(table, out, plan.axes);
  plan.nan = nan_of(out.type());
  const std::int64_t elements = plan.word_bytes / static_cast<std::int64_t>(size_of(out.type()));  // of a word
  plan.columns /= elements;
  plan.table_row_stride = table.stride(0) / elements;
  plan.table_column_stride = elements > 1 ? 1 : table.stride(1);
  plan.out_column_stride = elements > 1 ? 1 : out.stride(out.rank() - 1);
  for (int axis = 0; axis < plan.axes.rank; ++axis) plan.axes.row_stride[axis] /= elements;
  return plan;
}

void gather_rows(const Context& ctx, const GatherPlan& plan) {
  dispatch_backend(ctx.backend(), [&]<Backend B>() {
    switch (plan.word_bytes) {
      case 2: return gather_words<B, std::uint16_t>(ctx, plan);
      case 4: return gather_words<B, std::uint32_t>(ctx, plan);
      case 8: return gather_words<B, std::uint64_t>(ctx, plan);
      default: return gather_words<B, WidestWord>(ctx, plan);
    }
  });
}

}  // namespace portops::impl
