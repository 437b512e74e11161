// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/exec/workspace.hpp"
#include "support/support.hpp"

#include <portops/core/memory_use.hpp>
#include <portops/core/runtime.hpp>

#include <optional>
#include <thread>
#include <vector>

namespace portops::test {
namespace {

class MemoryUseTest : public OnEveryBackend {
 protected:
  std::size_t bytes() const { return memory_use(space).bytes; }
  std::size_t peak() const { return memory_use(space).peak_bytes; }

  MemorySpace space = default_memory_space(GetParam());
};

TEST_P(MemoryUseTest, tensors_count_until_the_last_of_them_is_gone) {
  const std::size_t before = bytes();
  std::optional<Tensor> tensor(std::in_place, ElementType::f64, Extents{4, 5}, space);
  EXPECT_EQ(bytes(), before + 160);
  std::optional<Tensor> copied = tensor;
  tensor.reset();
  EXPECT_EQ(bytes(), before + 160);
  copied.reset();
  EXPECT_EQ(bytes(), before);
}

TEST_P(MemoryUseTest, temporaries_count_but_not_those_in_lent_memory) {
  const std::size_t before = bytes();
  {
    const impl::Temporary temporary(ctx, "portops::test", 1000);
    EXPECT_EQ(bytes(), before + 1000);
    const impl::Temporary lent(ctx, "portops::test", 1600);
    const Context lends = Context(ctx).workspace({lent.data(), 1600});
    const impl::Temporary other(lends, "portops::test", 1000);
    EXPECT_EQ(bytes(), before + 2600);
  }
  ctx.fence();
  EXPECT_EQ(bytes(), before);
}

TEST_P(MemoryUseTest, the_peak_stays_until_it_is_reset) {
  const std::size_t before = bytes();
  reset_memory_peak(space);
  EXPECT_EQ(peak(), before);
  for (const std::int64_t size : {10, 30, 20}) Tensor(ElementType::f64, {size}, space);
  EXPECT_EQ(peak(), before + 240);
  EXPECT_EQ(bytes(), before);
  reset_memory_peak(space);
  EXPECT_EQ(peak(), before);
}

TEST(MemoryUseThreadsTest, threads_count_together) {
  const std::size_t before = memory_use(MemorySpace::host).bytes;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int j = 0; j < 1000; ++j) Tensor(ElementType::f64, {j + 1});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory_use(MemorySpace::host).bytes, before);
}

PORTOPS_ON_EVERY_BACKEND(MemoryUseTest);

}  // namespace
}  // namespace portops::test
