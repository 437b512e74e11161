// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/kokkos_events.hpp"

#include "graph/graph_support.hpp"

#include <portops/autograd/operators.hpp>
#include <portops/graph/record.hpp>
#include <portops/ops/add.hpp>

// What a recorder waits for.

namespace portops::test {
namespace {

class GraphRecordFenceTest : public OnEveryBackend {};

TEST_P(GraphRecordFenceTest, ConstantsAreCopiedWhenARecordingHasEnded) {
  need_type<float>();
  const ag::Variable x(tensor_of<float>(ctx, {2}, {1, 2})), constant(tensor_of<float>(ctx, {2}, {3, 4}));
  for (const bool has_constant : {false, true}) {
    graph::Recorder recorder(ctx);
    recorder.input("x", x);
    recorder.output("y", ag::add(ctx, x, has_constant ? constant : x));
    EXPECT_EQ(of_kind(events_of([&] { recorder.finish(); }), Kind::fence).empty(), !has_constant);
  }
}

PORTOPS_ON_EVERY_BACKEND(GraphRecordFenceTest);

}  // namespace
}  // namespace portops::test
