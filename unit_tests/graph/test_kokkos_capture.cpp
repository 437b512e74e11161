// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/kokkos_cuda_support.hpp"

#include "graph/graph_support.hpp"
#include "graph/random_program.hpp"

// Runs that are captured in CUDA graphs, of one instance and of several.

#if defined(KOKKOS_ENABLE_CUDA)

namespace portops::test {
namespace {

class GraphCaptureTest : public testing::Test {
 protected:
  GraphCaptureTest() : ctx_(Backend::cuda, static_cast<cudaStream_t>(stream_)) {
    need_type<float>();
    ctx_.deterministic(true);
  }

  Stream stream_;
  Context ctx_;
};

TEST_F(GraphCaptureTest, ALaunchHasTheBitsOfPlainCalls) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const RandomProgram random(seed, 24);
    const graph::Program& program = random.program();
    graph::CompileParams params = graph::CompileParams::same_bits();
    params.instances = 1 + static_cast<std::int32_t>(seed % 4);
    graph::Execution execution(ctx_, graph::CompiledProgram(ctx_, program, params));
    const std::map<std::string, Tensor> first = random_inputs(ctx_, program, 1);
    ASSERT_EQ(run_results(ctx_, execution, program, first), plain_results(ctx_, program, first)) << "seed " << seed;
    execution.capture();
    EXPECT_TRUE(execution.is_captured());
    for (unsigned round = 2; round < 5; ++round) {
      const std::map<std::string, Tensor> inputs = random_inputs(ctx_, program, 100 * round);
      ASSERT_EQ(run_results(ctx_, execution, program, inputs), plain_results(ctx_, program, inputs))
          << "seed " << seed << ", round " << round << "\n"
          << program.to_string();
    }
  }
}

TEST_F(GraphCaptureTest, AnotherTensorDropsWhatWasCaptured) {
  graph::Program program;
  const graph::ValueId x = program.add_input("x", ElementType::f32, {256});
  program.add_output("y", program.call("gelu", {{"x", program.call("add", {{"x", x}, {"y", 1.0}})}}));
  graph::Execution execution(ctx_, graph::CompiledProgram(ctx_, program));
  execution.run();
  execution.capture();
  const Tensor mine = random_tensor<float>(ctx_, {256}, 5);
  execution.bind_input("x", mine);
  EXPECT_FALSE(execution.is_captured());
  execution.run();
  EXPECT_EQ(bytes_of(ctx_, execution.output("y")), plain_results(ctx_, program, {{"x", mine}}).at("y"));
}

TEST_F(GraphCaptureTest, AStateGoesFromLaunchToLaunch) {
  graph::Program program;
  const graph::ValueId state = program.add_input("state", ElementType::f32, {3});
  program.add_output("state", program.call("add", {{"x", state}, {"y", 1.0}}), state);
  graph::Execution execution(ctx_, graph::CompiledProgram(ctx_, program));
  execution.run();  // the first call loads the kernels
  execution.capture();
  copy(ctx_, tensor_of<float>(ctx_, {3}, {1, 2, 3}), execution.input("state"));
  for (int i = 0; i < 5; ++i) execution.run();
  EXPECT_EQ(elements_of<float>(ctx_, execution.output("state")), (std::vector<float>{6, 7, 8}));
}

}  // namespace
}  // namespace portops::test

#endif
