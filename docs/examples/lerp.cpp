// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/core/kokkos.hpp>
#include <portops/ops/lerp.hpp>

#include <cstdio>

int main() {
  const Kokkos::ScopeGuard kokkos;
  // [example]
  const Kokkos::DefaultExecutionSpace space;
  Kokkos::View<float**> x("x", 3, 4), y("y", 3, 4), out("out", 3, 4), out_grad("out_grad", 3, 4);
  Kokkos::View<float*> weight("weight", 4), weight_grad("weight_grad", 4);  // one for each column
  Kokkos::deep_copy(y, 8.0f);
  Kokkos::deep_copy(weight, 0.25f);
  Kokkos::deep_copy(out_grad, 1.0f);

  portops::lerp(space, x, y, weight, out);                                 // out = x + weight · (y − x)
  portops::lerp_grad(space, x, y, weight, out_grad, {}, {}, weight_grad);  // {}: a gradient that is not wanted
  space.fence();
  // [example]
  const auto out_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), out);
  const auto weight_grad_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), weight_grad);
  std::printf("out[0][0] = %g, weight_grad[0] = %g\n", out_host(0, 0), weight_grad_host(0));
}
