// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.hpp"

#include "common/element_cast.hpp"

#include <portops/core/error.hpp>
#include <portops/core/kokkos.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

namespace portops::apps {

namespace {

// A team takes a row, and its threads take columns in turn: neighbouring columns by neighbouring threads. On hosts it
// is one thread, and a constant: the loops over columns are plain ones.
template <class Space>
inline constexpr int team_threads =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::accessible ? 1 : 32;

template <class Space>
using Team = typename Kokkos::TeamPolicy<Space>::member_type;

template <class Space, class T>
struct SoftmaxLoss {
  using A = std::conditional_t<std::is_same_v<T, double>, double, float>;

  const T* scores;
  const std::int64_t* labels;
  A* measures;
  T* scores_grad;  // none where it is null
  std::int64_t classes;
  A scale;

  KOKKOS_FUNCTION void operator()(const Team<Space>& team) const {
    const std::int64_t i = team.league_rank();
    const T* const score = scores + i * classes;
    const std::int64_t label = labels[i];
    const A of_label = static_cast<A>(score[label]);
    A largest = of_label;
    int rivals = 0;  // classes that score as much as the label's
    for (std::int64_t c = team.team_rank(); c < classes; c += team_threads<Space>) {
      const A value = static_cast<A>(score[c]);
      largest = value > largest ? value : largest;
      rivals += c != label && !(value < of_label) ? 1 : 0;
    }
    team.team_reduce(Kokkos::Max<A>(largest));
    team.team_reduce(Kokkos::Sum<int>(rivals));
    A sum = A(0);
    for (std::int64_t c = team.team_rank(); c < classes; c += team_threads<Space>) {
      sum += Kokkos::exp(static_cast<A>(score[c]) - largest);
    }
    team.team_reduce(Kokkos::Sum<A>(sum));
    if (team.team_rank() == 0) {
      measures[2 * i] = Kokkos::log(sum) + (largest - of_label);
      measures[2 * i + 1] = rivals == 0 ? A(1) : A(0);
    }
    if (scores_grad == nullptr) return;
    for (std::int64_t c = team.team_rank(); c < classes; c += team_threads<Space>) {
      const A probability = Kokkos::exp(static_cast<A>(score[c]) - largest) / sum;
      scores_grad[i * classes + c] = static_cast<T>(scale * (probability - (c == label ? A(1) : A(0))));
    }
  }
};

/// Calls function(the context's instance).
template <class Function>
void on_instance(const Context& ctx, const Function& function) {
  switch (ctx.backend()) {
#if defined(KOKKOS_ENABLE_CUDA)
    case Backend::cuda: return function(*static_cast<const Kokkos::Cuda*>(ctx.instance()));
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
    case Backend::openmp: return function(*static_cast<const Kokkos::OpenMP*>(ctx.instance()));
#endif
#if defined(KOKKOS_ENABLE_SERIAL)
    case Backend::serial: return function(*static_cast<const Kokkos::Serial*>(ctx.instance()));
#endif
    default: break;
  }
  throw Error("the backend " + std::string(name_of(ctx.backend())) + " is not compiled in");
}

/// A team for each row.
template <class Space, class Functor>
void launch(const char* label, const Space& space, std::int64_t rows, const Functor& functor) {
  if (rows == 0) return;
  Kokkos::parallel_for(label, Kokkos::TeamPolicy<Space>(space, static_cast<int>(rows), team_threads<Space>), functor);
}

template <class T>
T* elements(const TensorRef& tensor) {
  return static_cast<T*>(tensor.data());
}

}  // namespace

void softmax_loss(const Context& ctx, const TensorRef& scores, const TensorRef& labels, const TensorRef& measures,
                  const TensorRef& scores_grad, double scale) {
  with_type(scores.type(), [&]<class T>(std::type_identity<T>) {
    on_instance(ctx, [&]<class Space>(const Space& space) {
      using Functor = SoftmaxLoss<Space, T>;
      using A = typename Functor::A;
      const Functor functor{elements<T>(scores),   elements<std::int64_t>(labels),
                            elements<A>(measures), elements<T>(scores_grad),
                            scores.extent(1),      static_cast<A>(scale)};
      launch("portops_classify::softmax_loss", space, scores.extent(0), functor);
    });
  });
}

}  // namespace portops::apps
