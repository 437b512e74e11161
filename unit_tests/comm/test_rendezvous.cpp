// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/comm_support.hpp"
#include "comm/engine.hpp"
#include "comm/rendezvous.hpp"

#include <portops/comm/nccl.hpp>

#include <unistd.h>

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

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

std::string path_for(pid_t process) { return testing::TempDir() + "portops_rendezvous." + std::to_string(process); }

TEST(RendezvousTest, AllProcessesHaveTheBytesOfTheFirst) {
  const comm::Communicator& all = processes();
  pid_t first = ::getpid();
  all.engine().broadcast_bytes(std::span(reinterpret_cast<char*>(&first), sizeof first), 0);
  const std::string path = path_for(first), expected("a number\n\0of NCCL", 17);
  std::string bytes = all.rank() == 0 ? expected : std::string(expected.size(), ' ');
  impl::share_by_file(path, all.rank(), 60, bytes);
  EXPECT_EQ(bytes, expected);
  all.barrier();
  impl::end_rendezvous(path, all.rank());
  all.barrier();
  EXPECT_FALSE(std::filesystem::exists(path));
}

/// A job that was killed, and is started again under its number, finds the file that it left.
TEST(RendezvousTest, WaitsForAFileOfItsOwnJob) {
  const std::string path = path_for(::getpid()) + ".own";
  std::string left = "left", found = "none", now = "now!", longer = "longer";
  unsetenv("SLURM_RESTART_COUNT");
  impl::share_by_file(path, 0, 0, left);
  impl::share_by_file(path, 1, 0, found);
  EXPECT_EQ(found, left);
  setenv("SLURM_RESTART_COUNT", "1", 1);
  EXPECT_THAT(message_of([&] { impl::share_by_file(path, 0, 0, now); }), HasSubstr("is there already"));
  EXPECT_THAT(message_of([&] { impl::share_by_file(path, 1, 0, found); }),
              HasSubstr("has not come in 0 seconds (there is one that another job has left)"));
  impl::end_rendezvous(path, 0);
  EXPECT_THAT(message_of([&] { impl::share_by_file(path, 1, 0, found); }), HasSubstr("has not come in 0 seconds"));
  impl::share_by_file(path, 0, 0, now);
  impl::share_by_file(path, 1, 0, found);
  EXPECT_EQ(found, now);
  EXPECT_THAT(message_of([&] { impl::share_by_file(path, 1, 0, longer); }), HasSubstr("is none of ours"));
  impl::end_rendezvous(path, 0);
  unsetenv("SLURM_RESTART_COUNT");
}

}  // namespace
}  // namespace portops::test
