// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/autograd/operators.hpp>
#include <portops/autograd/scopes.hpp>
#include <portops/core/backend.hpp>
#include <portops/core/runtime.hpp>
#include <portops/graph/execution.hpp>
#include <portops/graph/record.hpp>
#include <portops/nn/generator.hpp>
#include <portops/nn/linear.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

namespace ag = portops::autograd;
namespace graph = portops::graph;
namespace nn = portops::nn;
using portops::Context;

struct Request {
  std::array<float, 16> x;
  std::array<float, 3> scores;
};

// [example]
struct Network : nn::Module {
  Network(const Context& ctx, nn::Generator& random) : inner(ctx, random, 16, 32), head(ctx, random, 32, 3) {}
  nn::Variable operator()(const Context& ctx, const nn::Variable& x) {
    return ag::softmax(ctx, head(ctx, ag::gelu(ctx, inner(ctx, x))));
  }
  void describe(nn::Members& members) override { members.module("inner", inner).module("head", head); }
  nn::Linear inner, head;
};

graph::CompiledProgram compile(const Context& ctx, Network& network) {
  const ag::NoGradients scope;
  const nn::Variable x(ctx, portops::ElementType::f32, {1, 16});  // its extents count, not its elements
  graph::Recorder recorder(ctx);
  recorder.input("x", x);
  recorder.output("scores", network(ctx, x));
  return {ctx, recorder.finish()};
}

void serve(const Context& ctx, const graph::CompiledProgram& program, std::vector<Request>& requests,
           std::atomic<std::size_t>& next) {
  graph::Execution execution(ctx, program);  // this thread's own arena
  for (std::size_t number = next++; number < requests.size(); number = next++) {
    Request& request = requests[number];
    copy(ctx, portops::TensorRef(request.x.data(), {1, 16}), execution.input("x"));
    execution.run();
    copy(ctx, execution.output("scores"), portops::TensorRef(request.scores.data(), {1, 3}));
    ctx.fence();
  }
}
// [example]

int main() {
  const portops::Runtime runtime;
  const Context ctx(portops::devices().back().backend);  // Context(Backend::cuda, stream) for a thread's own stream
  nn::Generator random(1);
  Network network(ctx, random);
  const graph::CompiledProgram program = compile(ctx, network);
  std::vector<Request> requests(100);
  for (Request& request : requests) request.x.fill(0.5f);
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> others;  // an instance of Serial takes the calls of one thread at a time
  if (ctx.backend() != portops::Backend::serial) others.emplace_back([&] { serve(ctx, program, requests, next); });
  serve(ctx, program, requests, next);
  for (std::thread& other : others) other.join();
  float sum = 0.0f;
  for (const Request& request : requests) sum += request.scores[0] + request.scores[1] + request.scores[2];
  std::printf("%d calls, %zu requests, scores sum to %.3f\n", program.calls(), requests.size(), sum);
}
