// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "levels.hpp"

#include <portops/core/levels.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace portops::python {

void bind_levels(nb::module_& m) {
  const auto level_of = [](const Levels& levels, int level) {
    if (level < -levels.depth() || level >= levels.depth()) throw nb::index_error("portops.Levels: no such level");
    return level < 0 ? level + levels.depth() : level;
  };
  nb::class_<Levels>(m, "Levels")
      .def(nb::init<std::vector<std::vector<std::int64_t>>>(), nb::arg("offsets"))
      .def_static("from_lengths", &Levels::from_lengths, nb::arg("lengths"))
      .def_prop_ro("depth", &Levels::depth)
      .def_prop_ro("rows", &Levels::rows)
      .def(
          "offsets", [level_of](const Levels& self, int level) { return self.offsets(level_of(self, level)); },
          nb::arg("level") = -1)
      .def(
          "lengths",
          [level_of](const Levels& self, int level) {
            const std::vector<std::int64_t>& offsets = self.offsets(level_of(self, level));
            std::vector<std::int64_t> lengths;
            for (std::size_t i = 1; i < offsets.size(); ++i) lengths.push_back(offsets[i] - offsets[i - 1]);
            return lengths;
          },
          nb::arg("level") = -1)
      .def("upper",
           [](const Levels& self) {
             const Levels upper = self.upper();
             return upper ? nb::cast(upper) : nb::none();
           })
      .def("__getstate__",
           [](const Levels& self) {
             std::vector<std::vector<std::int64_t>> offsets;
             for (int level = 0; level < self.depth(); ++level) offsets.push_back(self.offsets(level));
             return offsets;
           })
      .def("__setstate__",
           [](Levels& self, std::vector<std::vector<std::int64_t>> offsets) { new (&self) Levels(std::move(offsets)); })
      .def(
          "__eq__", [](const Levels& self, const Levels& other) { return self == other; }, nb::is_operator())
      .def("__hash__", [](const Levels& self) { return self.rows() * 31 + self.items(); })
      .def("__repr__", [](const Levels& self) { return "portops.Levels(" + self.to_string() + ")"; });
}

}  // namespace portops::python
