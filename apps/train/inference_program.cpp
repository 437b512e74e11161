// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "inference_program.hpp"

#include "common/transfer.hpp"

#include <portops/autograd/operators.hpp>
#include <portops/autograd/scopes.hpp>
#include <portops/core/backend.hpp>
#include <portops/core/runtime.hpp>
#include <portops/graph/record.hpp>
#include <portops/ops/softmax.hpp>

#include <algorithm>

namespace portops::apps {

namespace ag = autograd;

namespace {

/// A GPU's program has its constants where no file can be written from.
Context on_host() {
  const auto all = enabled_backends();
  return Context(*std::find_if(all.begin(), all.end(), [](Backend backend) { return backend != Backend::cuda; }));
}

}  // namespace

graph::Program inference_program(const Context& ctx, nn::Module& trained, const NetworkOptions& options,
                                 const Extents& images) {
  const Context host = on_host();
  nn::Generator random(0);
  Network network(host, random, options);
  const nn::State from = trained.state(), to = network.state();
  for (std::size_t i = 0; i < from.size(); ++i) copy(ctx, from[i].variable.tensor(), to[i].variable.tensor());
  ctx.fence();
  network.train(false);

  const ag::NoGradients scope;
  const nn::Variable x(zeros(host, options.type, images));
  graph::Recorder recorder(host);
  recorder.input("images", x);
  recorder.output("scores", ag::softmax(host, network(host, x)));
  graph::Program program = recorder.finish();
  host.fence();
  return program;
}

}  // namespace portops::apps
