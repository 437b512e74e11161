// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/comm_support.hpp"
#include "comm/mpi_engine.hpp"

#include <portops/autograd/operators.hpp>
#include <portops/comm/gradient_sum.hpp>
#include <portops/comm/mpi.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/sum.hpp>

#include <gmock/gmock.h>

namespace portops::test {
namespace {

using testing::HasSubstr;

bool has_mpi() {
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  return is_initialized != 0;
}

class MpiMemoryTest : public OnEveryBackend {
 protected:
  void SetUp() override {
    if (!has_mpi()) GTEST_SKIP() << "no launcher has started MPI";
  }
};

/// Every way that tensors go, in both modes.
void send_tensors(const Context& ctx, const comm::Communicator& all) {
  EXPECT_EQ(all.engine_name(ctx), "MPI");
  const int size = all.size();
  for (const bool tree : {true, false}) {
    const Context on = Context(ctx).deterministic(tree);
    for (const std::size_t count : {5, 100, 3}) {
      const Tensor x = tensor_of(on, {static_cast<std::int64_t>(count)}, std::vector<double>(count, all.rank() + 1));
      comm::all_reduce(on, all, x);
      EXPECT_EQ(elements_of<double>(on, x.ref()), std::vector<double>(count, size * (size + 1) / 2));
      comm::broadcast(on, all, x, size - 1);
      const Tensor out(ElementType::f64, {size * static_cast<std::int64_t>(count)},
                       default_memory_space(ctx.backend()));
      comm::all_gather(on, all, x, out);
      EXPECT_EQ(elements_of<double>(on, out.ref()),
                std::vector<double>(count * static_cast<std::size_t>(size), size * (size + 1) / 2));
    }
    // Several nodes a process, several buckets at once.
    const nn::State parameters{{"a", variable_of(on, {7}, std::vector<double>(7, 1))},
                               {"b", variable_of(on, {9}, std::vector<double>(9, 1))}};
    comm::GradientSum sum(on, all, parameters, {.micro_batches = 7, .mean = false, .bucket_bytes = 8});
    const comm::Range mine = sum.micro_batches();
    for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
      const ag::Variable a = ag::sum(on, ag::multiply(on, parameters[0].variable, static_cast<double>(i)));
      const ag::Variable b = ag::sum(on, ag::multiply(on, parameters[1].variable, 1.0));
      sum.backward(on, ag::add(on, a, b));
    }
    sum.finish(on);
    EXPECT_EQ(elements_of(on, parameters[0].variable.grad()), std::vector<double>(7, 21));
    EXPECT_EQ(elements_of(on, parameters[1].variable.grad()), std::vector<double>(9, 7));
  }
}

/// The way that a GPU's tensors go where MPI does not reach them, with memory that is used again.
TEST_P(MpiMemoryTest, CopiedTensors) {
  send_tensors(ctx, comm::mpi_communicator(MPI_COMM_WORLD, {.memory = comm::MpiMemory::copied}));
}

/// The way that they go where it reaches them, which is tried first.
TEST_P(MpiMemoryTest, TensorsWhereTheyLie) {
  send_tensors(ctx, comm::mpi_communicator(MPI_COMM_WORLD, {.memory = comm::MpiMemory::gpu_aware}));
}

/// As where there is more than MPI can count: in parts.
TEST_P(MpiMemoryTest, MoreThanMpiCounts) {
  for (const comm::MpiMemory memory : {comm::MpiMemory::automatic, comm::MpiMemory::copied}) {
    const auto engine = std::make_shared<impl::MpiEngine>(MPI_COMM_WORLD, memory, 4);
    send_tensors(ctx, {engine, engine});
    // Process p has p + 1 rows; rows are longer than the parts, too.
    std::vector<std::int64_t> counts;
    std::vector<double> own, expected;
    for (int process = 0; process < engine->size; ++process) {
      counts.push_back(process + 1);
      for (int i = 0; i < 5 * (process + 1); ++i) {
        expected.push_back(100 * process + i);
        own.push_back(process == engine->rank ? expected.back() : -1);
      }
    }
    const Tensor all = tensor_of(ctx, {static_cast<std::int64_t>(own.size()) / 5, 5}, own);
    engine->all_gather(ctx, all, counts)->wait();
    EXPECT_EQ(elements_of<double>(ctx, all.ref()), expected);
  }
}

/// A part of all processes, beside the others.
TEST_P(MpiMemoryTest, PartsOfTheWorld) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  const comm::Communicator all = comm::mpi_communicator(half);
  const Tensor x = tensor_of<std::int64_t>(ctx, {1}, {rank});
  comm::all_reduce(ctx, all, x);
  std::int64_t expected = 0;
  for (int other = rank % 2; other < processes().size(); other += 2) expected += other;
  EXPECT_EQ(elements_of<std::int64_t>(ctx, x.ref())[0], expected);
  MPI_Comm_free(&half);
}

TEST_P(MpiMemoryTest, RefusesNcclWhereThereIsNone) {
  const std::string message =
      message_of([] { comm::mpi_communicator(MPI_COMM_WORLD, {.gpu_engine = comm::GpuEngine::nccl}); });
  if (!message.empty()) {
    EXPECT_THAT(message, HasSubstr("this build has no NCCL"));
  }
}

std::vector<Backend> host_backends() {
  std::vector<Backend> backends = enabled_backends();
  std::erase(backends, Backend::cuda);
  return backends;
}

INSTANTIATE_TEST_SUITE_P(, MpiMemoryTest, testing::ValuesIn(host_backends()), backend_test_name);

}  // namespace
}  // namespace portops::test
