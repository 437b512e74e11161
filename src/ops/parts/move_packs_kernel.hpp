// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/column_access.hpp"
#include "core/lanes/divisor_of.hpp"
#include "core/lanes/pack.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/types/macros.hpp"
#include "ops/parts/parts_table.hpp"

namespace portops::impl {

/// Copies the parts of a group into the whole or out of it, on a GPU, where runs allow no wide words but what is
/// written is dense: a thread writes packs of 16 bytes, and reads their words one by one, wherever they lie. So a place
/// is looked up once a pack, not once a word. Packs are numbered through what is written: the whole, or part after
/// part. Any execution space can run it.
template <class Word, PartsForm form, int table_words>
class MovePacks {
 public:
  static constexpr int blocks = 4;

  static bool suits(const PartsPlan& plan, const PartsGroup& group) {
    if (!plan.contiguous || plan.outer_axes > 1 || !group.is_narrow(plan)) return false;
    const bool has_rows = plan.outer_axes == 1, to_whole = plan.direction == PartsDirection::to_whole;
    const auto is_aligned = [](std::intptr_t address) { return address % gpu_pack_bytes == 0; };
    if (to_whole) {
      if (has_rows && plan.stride[0] != group.length) return false;
      if (!is_aligned(reinterpret_cast<std::intptr_t>(plan.whole) + group.before * plan.word)) return false;
    }
    for (std::int64_t part = group.first; part < group.first + group.count; ++part) {
      const std::int64_t* const entry = plan.entry(part);
      const bool wanted = entry[0] != 0, dense = is_aligned(entry[0]) && (!has_rows || entry[2] == entry[1]);
      if (to_whole ? !wanted : wanted && !dense) return false;
    }
    return true;
  }

  MovePacks(const PartsPlan& plan, const PartsGroup& group)
      : to_whole_(plan.direction == PartsDirection::to_whole),
        parts_(static_cast<int>(group.count)),
        rows_(static_cast<int>(plan.rows())),
        entry_words_(group.entry_words(plan)),
        length_(static_cast<int>(group.length)),
        run_(static_cast<int>(group.first_length)),
        size_(static_cast<int>(group.words(plan))),
        packs_(size_ / pack + (to_whole_ ? 1 : parts_)),
        part_packs_(rows_ * run_ / pack + 1),
        whole_(reinterpret_cast<Word*>(plan.whole) + group.before),
        whole_stride_(plan.outer_axes == 1 ? plan.stride[0] : 0),
        equal_stride_(plan.outer_axes == 1 ? plan.entry(group.first)[2] : 0),
        by_length_(make_divisor(length_)),
        by_run_(make_divisor(run_)),
        by_part_packs_(make_divisor(part_packs_)),
        table_(group) {}

  std::int64_t items() const { return ceil_div(packs_, threads * in_flight) * threads; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    auto number = static_cast<int>(item / threads * (threads * in_flight) + item % threads);
    Pack<Word, pack> words[in_flight];
    Word* to[in_flight];
    PORTOPS_UNROLL
    for (int k = 0; k < in_flight; ++k) {
      to[k] = number < packs_ ? read(number, words[k]) : nullptr;
      number += threads;
    }
    PORTOPS_UNROLL
    for (int k = 0; k < in_flight; ++k) {
      if (to[k] != nullptr) *reinterpret_cast<Pack<Word, pack>*>(in_device_memory(to[k])) = words[k];
    }
  }

 private:
  static constexpr int pack = gpu_pack_bytes / static_cast<int>(sizeof(Word));
  /// Neighbouring threads, which take neighbouring packs, and the packs of a thread, all read before one is written.
  static constexpr int threads = 32;
  static constexpr int in_flight = 2;

  using Table = typename PartsTable<Backend::cuda, form, table_words>::Entries;

  /// Where a pack's words lie.
  struct Place {
    Word* to = nullptr;          ///< null: nowhere
    int words = 0;               ///< that there are to write
    const Word* from = nullptr;  ///< word i of the pack is from[i] while i < end
    int end = 0;
    int part = 0;
    int row = 0;
    int run = 0;  ///< of the part
  };

  KOKKOS_FORCEINLINE_FUNCTION int end_of(Table table, int part) const {
    return form == PartsForm::equal_runs ? (part + 1) * run_ : static_cast<int>(table[part * entry_words_ + 1]);
  }
  KOKKOS_FORCEINLINE_FUNCTION int begin_of(Table table, int part) const {
    return part == 0 ? 0 : end_of(table, part - 1);
  }
  KOKKOS_FORCEINLINE_FUNCTION Word* row_of(Table table, int part, int row) const {
    const std::int64_t* const entry = table + part * entry_words_;
    const std::int64_t stride = form == PartsForm::equal_runs ? equal_stride_ : rows_ > 1 ? entry[2] : 0;
    return Kokkos::bit_cast<Word*>(entry[0]) + row * stride;
  }

  /// The first part of which after(part) > at.
  template <class After>
  KOKKOS_FORCEINLINE_FUNCTION int find(int at, const After& after) const {
    int low = 0, high = parts_ - 1;
    PORTOPS_NO_UNROLL
    while (low < high) {
      const int middle = (low + high) / 2;
      if (after(middle) > at) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  KOKKOS_FORCEINLINE_FUNCTION Place place_in_whole(Table table, int number) const {
    Place place;
    const int word = number * pack;
    place.to = whole_ + word;
    place.words = size_ - word;
    if (place.words <= 0) return place;
    place.row = rows_ == 1 ? 0 : static_cast<int>(by_length_.quotient(word));
    const int position = word - place.row * length_;
    if constexpr (form == PartsForm::equal_runs) {
      place.part = static_cast<int>(by_run_.quotient(position));
    } else {
      place.part = find(position, [&](int part) { return end_of(table, part); });
    }
    place.from = row_of(table, place.part, place.row) + (position - begin_of(table, place.part));
    place.end = end_of(table, place.part) - position;
    return place;
  }

  /// Packs of parts: before part p there are rows · begin / pack + p, which are enough for those before it.
  KOKKOS_FORCEINLINE_FUNCTION Place place_in_part(Table table, int number) const {
    Place place;
    if constexpr (form == PartsForm::equal_runs) {
      place.part = static_cast<int>(by_part_packs_.quotient(number));
      if (place.part >= parts_) return place;
    } else {
      place.part = find(number, [&](int part) { return packs_before(end_of(table, part), part + 1); });
    }
    const int begin = begin_of(table, place.part);
    place.run = end_of(table, place.part) - begin;
    const int before = form == PartsForm::equal_runs ? place.part * part_packs_ : packs_before(begin, place.part);
    const int word = (number - before) * pack;
    place.to = Kokkos::bit_cast<Word*>(table[place.part * entry_words_]);
    if (place.to == nullptr) return place;
    place.to += word;
    place.words = rows_ * place.run - word;
    if (place.words <= 0) return place;
    if (rows_ > 1)
      place.row = form == PartsForm::equal_runs ? static_cast<int>(by_run_.quotient(word)) : word / place.run;
    const int in_run = word - place.row * place.run;
    place.from = whole_ + place.row * whole_stride_ + (begin + in_run);
    place.end = place.run - in_run;
    return place;
  }
  KOKKOS_FORCEINLINE_FUNCTION int packs_before(int position, int part) const { return rows_ * position / pack + part; }

  /// Moves on to the run that begins with word place.end of the pack.
  KOKKOS_FORCEINLINE_FUNCTION void next_run(Table table, Place& place) const {
    if (to_whole_) {
      if (++place.part == parts_) {
        place.part = 0;
        ++place.row;
      }
      place.from = row_of(table, place.part, place.row) - place.end;
      place.end += end_of(table, place.part) - begin_of(table, place.part);
    } else {
      place.from += whole_stride_ - place.run;
      place.end += place.run;
    }
  }

  /// Reads a pack and returns where it goes; null where nothing is left to be written.
  KOKKOS_FORCEINLINE_FUNCTION Word* read(int number, Pack<Word, pack>& words) const {
    const Table table = table_.entries();
    Place place = to_whole_ ? place_in_whole(table, number) : place_in_part(table, number);
    if (place.to == nullptr || place.words <= 0) return nullptr;
    if (place.words < pack) {
      PORTOPS_NO_UNROLL
      for (int i = 0; i < place.words; ++i) {
        if (i == place.end) next_run(table, place);
        place.to[i] = place.from[i];
      }
      return nullptr;
    }
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) {
      if (i == place.end) next_run(table, place);
      words.element[i] = *in_device_memory(place.from + i);
    }
    return place.to;
  }

  bool to_whole_;
  int parts_;
  int rows_;
  int entry_words_;
  int length_;  ///< of all parts along the axis
  int run_;     ///< the parts' length, where they have the same
  int size_;
  int packs_;
  int part_packs_;  ///< of each part, where they have the same length
  Word* whole_;     ///< where the group's first part begins
  std::int64_t whole_stride_;
  std::int64_t equal_stride_;  ///< of every part, where they have the same
  Divisor by_length_, by_run_, by_part_packs_;
  PartsTable<Backend::cuda, form, table_words> table_;
};

}  // namespace portops::impl
