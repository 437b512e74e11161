// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/comm_support.hpp"

#include <portops/comm/nccl.hpp>

#include <gmock/gmock.h>

#include <cstdlib>

namespace portops::test {
namespace {

using testing::HasSubstr;

TEST(NcclParamsTest, FromTheEnvironment) {
  for (const char* each : {"PORTOPS_RANK", "PORTOPS_SIZE", "PORTOPS_RENDEZVOUS", "PORTOPS_TIMEOUT"}) unsetenv(each);
  EXPECT_THAT(message_of([] { comm::nccl_params(); }), HasSubstr("PORTOPS_RANK is not set"));
  setenv("PORTOPS_RANK", "1", 1);
  setenv("PORTOPS_SIZE", "2x", 1);
  EXPECT_THAT(message_of([] { comm::nccl_params(); }), HasSubstr("PORTOPS_SIZE is '2x', expected a number"));
  setenv("PORTOPS_SIZE", "2", 1);
  setenv("PORTOPS_RENDEZVOUS", "/somewhere", 1);
  setenv("PORTOPS_TIMEOUT", "2.5", 1);
  const comm::NcclParams params = comm::nccl_params();
  EXPECT_EQ(params.rank, 1);
  EXPECT_EQ(params.size, 2);
  EXPECT_EQ(params.rendezvous, "/somewhere");
  EXPECT_EQ(params.timeout, 2.5);
  for (const char* each : {"PORTOPS_RANK", "PORTOPS_SIZE", "PORTOPS_RENDEZVOUS", "PORTOPS_TIMEOUT"}) unsetenv(each);
}

TEST(NcclParamsTest, RefusesRanksThatDoNotFit) {
  EXPECT_THAT(message_of([] { comm::nccl_communicator({.rank = 2, .size = 2, .rendezvous = "x"}); }),
              HasSubstr("rank is 2 and size 2, expected 0 <= rank < size"));
}

}  // namespace
}  // namespace portops::test
