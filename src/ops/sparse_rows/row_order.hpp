// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/exec/memory_layout.hpp"
#include "ops/sparse_rows/sparse_rows.hpp"

#include <cstdint>
#include <string>

namespace portops::impl {

/// Sparse rows by their places in the table. Rows of the padding and of places that the table does not have are behind
/// all others: SparseRows says as which places.
template <class Index>
struct RowOrder {
  Index* places;          ///< in ascending order
  const Index* position;  ///< where each row lies; equal places in the order of the call. Null: as they come
  Index* numbers;         ///< room for n + 1, for number_places; or null
};

/// The labels of what orders an operator's rows, made once.
struct RowOrderLabels {
  explicit RowOrderLabels(const std::string& op)
      : places("portops::" + op + "::places[read]"),
        sort("portops::" + op + "::places[sort]"),
        count("portops::" + op + "::places[count]"),
        write("portops::" + op + "::places[write]") {}

  std::string places;
  std::string sort;
  std::string count;
  std::string write;
};

/// Memory for ordering rows. A GPU sorts only what is not few: few_rows_cuda.hpp.
struct RowOrderMemory {
  TemporaryArray places[2];
  TemporaryArray positions[2];
  TemporaryArray numbers;
  TemporaryArray sorter;
  std::size_t sorter_bytes = 0;

  /// `numbered` where number_places is to be called.
  RowOrderMemory(MemoryLayout& layout, const Context& ctx, const SparseRows& sparse, bool numbered);
};

/// Enqueues the sort: a stable one, whose result is one and the same however it is done. Merged rows are not sorted,
/// but those from their count on have no place. Nothing waits for the device.
template <class Index>
RowOrder<Index> order_rows(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse,
                           const RowOrderMemory& memory, void* data);

/// What number_places writes.
struct NumberedPlaces {
  std::int64_t* places = nullptr;  ///< those that occur, ascending, then the height
  std::int64_t places_stride = 0;
  std::int64_t* count = nullptr;  ///< how many occur; or −1 − the first position whose place the table does not have
};

/// Numbers the places that occur from 0 on: order.numbers becomes the number of each row's place, none_of<Index> where
/// the table does not have it.
template <class Index>
void number_places(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse,
                   const RowOrder<Index>& order, const RowOrderMemory& memory, void* data, const NumberedPlaces& out);

template <class Index>
inline constexpr Index none_of = static_cast<Index>(-1);

}  // namespace portops::impl
