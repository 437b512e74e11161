// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/autograd_support.hpp"
#include "nn/safetensors_header.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/nn/safetensors.hpp>
#include <portops/ops/multiply.hpp>

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace portops::test {
namespace {

using nn::State;
using nn::Variable;

class SafetensorsTest : public OnEveryBackend {
 protected:
  void SetUp() override {
    need_type<double>();
    folder_ = std::filesystem::temp_directory_path() / ("portops_safetensors_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    path = folder_ / "a.safetensors";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Why the file is refused, without its name.
  std::string refusal(const State& state, const nn::LoadParams& params = {}) {
    const std::string where = "portops::nn::load: " + path.string() + ": ";
    const std::string text = message_of([&] { nn::load(ctx, path, state, params); });
    return text.starts_with(where) ? text.substr(where.size()) : text.empty() ? "" : "no name of the file: " + text;
  }
  std::string refusal(const std::string& header, std::size_t data_bytes) {
    write(file_of(header, std::string(data_bytes, 'x')));
    return refusal(State{});
  }
  static std::string file_of(const std::string& header, const std::string& data) {
    std::string text(8, '\0');
    const std::uint64_t bytes = header.size();
    std::memcpy(text.data(), &bytes, 8);
    return text + header + data;
  }
  void write(const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  std::string read() {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  std::size_t files() {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  template <class T>
  Variable of(const Extents& extents, const std::vector<T>& elements) {
    return tensor_of(ctx, extents, elements);
  }
  /// What `python_file` holds.
  State state() {
    return {{"h", of<f16>({3}, {f16(0.0F), f16(0.0F), f16(0.0F)})},
            {"n", of<std::int64_t>({}, {0})},
            {"w", of<float>({2, 2}, {0, 0, 0, 0})}};
  }

  std::filesystem::path path;

 private:
  std::filesystem::path folder_;
};

// safetensors.numpy.save({"w": [[1, 2], [3, 4]] as float32, "n": 7 as int64, "h": [0.5, -2, 1] as float16},
// metadata = {"epoch": "3"}), version 0.8.0.
const std::string& python_file() {
  static const std::string text = [] {
    std::string header = R"({"__metadata__":{"epoch":"3"},"n":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)";
    header += R"("w":{"dtype":"F32","shape":[2,2],"data_offsets":[8,24]},)";
    header += R"("h":{"dtype":"F16","shape":[3],"data_offsets":[24,30]}})";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    std::string bytes(8, '\0');
    bytes[0] = static_cast<char>(header.size());
    bytes += header;
    bytes += std::string("\x07\0\0\0\0\0\0\0", 8);
    bytes += std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40", 16);
    bytes += std::string("\0\x38\0\xc0\0\x3c", 6);
    return bytes;
  }();
  return text;
}

TEST_P(SafetensorsTest, FilesOfPython) {
  write(python_file());
  const State found = state();
  EXPECT_EQ(nn::load(ctx, path, found), (nn::Metadata{{"epoch", "3"}}));
  const std::vector<f16> h = elements_of<f16>(ctx, found[0].variable);
  EXPECT_EQ((std::vector<float>{h[0], h[1], h[2]}), (std::vector<float>{0.5, -2, 1}));
  EXPECT_EQ(elements_of<std::int64_t>(ctx, found[1].variable), std::vector<std::int64_t>{7});
  EXPECT_EQ(elements_of<float>(ctx, found[2].variable), (std::vector<float>{1, 2, 3, 4}));
  // Saved, it is the same file.
  nn::save(ctx, path, found, {{"epoch", "3"}});
  EXPECT_EQ(read(), python_file());
  EXPECT_EQ(files(), 1U);
}

TEST_P(SafetensorsTest, RoundTrip) {
  const Variable bits = of<bf16>({2}, {bf16(1.5F), bf16(-3.0F)}), empty = of<float>({0, 3}, {}),
                 wide = of<double>({1}, {0.1});
  const std::string name = "a \"quoted\" näme\n";
  nn::save(ctx, path, {{"model." + name, bits}, {"model.empty", empty}, {"rest.wide", wide}},
           {{"k\\", "v\t"}, {"", ""}});
  const Variable bits_again = of<bf16>({2}, {bf16(0.0F), bf16(0.0F)}), wide_again = of<double>({1}, {0});
  EXPECT_EQ(nn::load(ctx, path, {{"model.empty", empty}, {"rest.wide", wide_again}, {"model." + name, bits_again}}),
            (nn::Metadata{{"k\\", "v\t"}, {"", ""}}));
  EXPECT_EQ(elements_of<double>(ctx, wide_again), std::vector<double>{0.1});
  const std::vector<bf16> found = elements_of<bf16>(ctx, bits_again);
  EXPECT_EQ((std::vector<float>{found[0], found[1]}), (std::vector<float>{1.5, -3}));
  // A part of a file.
  const Variable part = of<double>({1}, {0});
  nn::load(ctx, path, {{"wide", part}}, {.prefix = "rest."});
  EXPECT_EQ(elements_of<double>(ctx, part), std::vector<double>{0.1});
  nn::save(ctx, path, {});
  EXPECT_EQ(refusal(State{}), "");
}

TEST_P(SafetensorsTest, LoadingIsAChange) {
  const Variable x(tensor_of<double>(ctx, {1}, {1}), ag::Gradient::wanted);
  nn::save(ctx, path, {{"x", x}});
  const Variable out = ag::multiply(ctx, x, x);
  nn::load(ctx, path, {{"x", x}});
  EXPECT_NE(message_of([&] { ag::backward(ctx, out); }).find("portops::nn::load"), std::string::npos);
}

TEST_P(SafetensorsTest, AnotherNetwork) {
  write(python_file());
  State its = state();
  its[1].name = "m";
  its.push_back({"l", its[0].variable});
  const Variable h = its[0].variable;
  EXPECT_EQ(refusal(its), "it is not of this network: it lacks 2: m, l; nothing here has the names of 1: n");
  its.pop_back(), its.erase(its.begin() + 1);
  EXPECT_EQ(refusal(its), "it is not of this network: nothing here has the names of 1: n");
  EXPECT_EQ(refusal(its, {.unused = {"n", "other"}}), "");
  EXPECT_EQ(refusal({{"w", h}}, {.prefix = "model."}), "it is not of this network: it lacks 1: model.w");
  its = state();
  its[0].variable = of<bf16>({3}, std::vector<bf16>(3, bf16(0.0F)));
  EXPECT_EQ(refusal(its), "tensor 'h' is F16 [3], expected BF16 [3]");
  its = state();
  its[2].variable = of<float>({4}, {5, 5, 5, 5});
  EXPECT_EQ(refusal(its), "tensor 'w' is F32 [2, 2], expected F32 [4]");
  EXPECT_EQ(elements_of<float>(ctx, its[2].variable), std::vector<float>(4, 5));
  EXPECT_EQ(elements_of<std::int64_t>(ctx, its[1].variable), std::vector<std::int64_t>{0});  // nothing was changed
  State many;
  for (int i = 0; i < 20; ++i) many.push_back({"p" + std::to_string(i), h});
  EXPECT_EQ(refusal(many),
            "it is not of this network: it lacks 20: p0, p1, p2, p3, p4, p5, p6, p7, …; nothing here has the "
            "names of 3: h, n, w");
}

TEST_P(SafetensorsTest, Malformed) {
  const std::string& whole = python_file();
  write("");
  EXPECT_EQ(refusal(State{}), "it has 0 bytes: it is no safetensors");
  write(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10));
  EXPECT_EQ(refusal(State{}),
            "its header has 18446744073709551615 bytes, expected at most 2: it is no safetensors, or was "
            "cut off");
  const State its = state();
  for (std::size_t bytes = 8; bytes < whole.size(); ++bytes) {
    write(whole.substr(0, bytes));
    const std::string text = refusal(its);
    EXPECT_NE(text.find("cut off"), std::string::npos) << bytes << ": " << text;
  }
  write(whole + "x");
  EXPECT_EQ(refusal(state()), "the tensors end at 30, but the file has 31 bytes behind its header");

  EXPECT_EQ(refusal("nonsense", 0), "the header is no JSON at byte 2");
  EXPECT_EQ(refusal("{} {}", 0), "the header is no JSON at byte 4");
  EXPECT_EQ(refusal("[]", 0), "the header is a list, expected an object");
  EXPECT_EQ(refusal("null", 0), "the header is null, expected an object");
  EXPECT_EQ(refusal(std::string(100'000, '['), 0), "the header is a list, expected an object");
  EXPECT_EQ(refusal(R"({"a":[]})", 0), "the header has a list at 'a'");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"F32","shape":[{}]}})", 0), "the header has an object at 'shape' of tensor 'a'");
  EXPECT_EQ(refusal("{\"a\xff\":1}", 0), "the header is no JSON at byte 4");
  EXPECT_EQ(refusal(R"({"__metadata__":{"a":1}})", 0), "the header has a number at 'a'");
  EXPECT_EQ(refusal(R"({"__metadata__":{"a":"1","a":"2"}})", 0), "the name 'a' occurs twice in __metadata__");
  EXPECT_EQ(refusal(R"({"__metadata__":{},"__metadata__":{}})", 0), "the name '__metadata__' occurs twice");

  const auto tensor = [](const std::string& name, const std::string& type, const std::string& shape,
                         const std::string& offsets) {
    return "\"" + name + R"(":{"dtype":")" + type + R"(","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + "]}";
  };
  const auto one = [&](const std::string& type, const std::string& shape, const std::string& offsets) {
    return refusal("{" + tensor("a", type, shape, offsets) + "}", 8);
  };
  EXPECT_EQ(one("F33", "2", "0,8"), "tensor 'a' is of the unknown type 'F33'");
  EXPECT_EQ(one("F32", "3", "0,8"), "tensor 'a' of F32 [3] takes 12 bytes, but lies from 0 to 8");
  EXPECT_EQ(one("F32", "2", "8,0"), "tensor 'a' of F32 [2] takes 8 bytes, but lies from 8 to 0");
  EXPECT_EQ(one("F32", "4", "0,16"),
            "tensor 'a' ends at 16, but the file has 8 bytes behind its header: it was cut off");
  EXPECT_EQ(one("F32", "1", "4,8"), "tensor 'a' begins at 4, after a gap: the one before it ends at 0");
  EXPECT_EQ(one("F32", "1", "0,4"), "the tensors end at 4, but the file has 8 bytes behind its header");
  EXPECT_EQ(one("F32", "4611686018427387905", "0,4"),
            "tensor 'a' has extents [4611686018427387905], more than memory can hold");
  EXPECT_EQ(one("F32", "0,4294967296,4294967296", "0,0"),
            "tensor 'a' has extents [0, 4294967296, 4294967296], more than memory can hold");
  EXPECT_EQ(one("F32", "9223372036854775808", "0,8"), "tensor 'a' has an extent of 9223372036854775808");
  EXPECT_EQ(one("F32", "-1", "0,8"), "the header has a negative number at 'shape' of tensor 'a'");
  EXPECT_EQ(one("F32", "2.0", "0,8"), "the header has a number that is not whole at 'shape' of tensor 'a'");
  EXPECT_EQ(one("F32", "2", "0,8,8"), "tensor 'a' has more than two data_offsets");
  EXPECT_EQ(one("F32", "2", "0"), "tensor 'a' lacks dtype, shape or one of two data_offsets");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"F32","shape":[]}})", 0),
            "tensor 'a' lacks dtype, shape or one of two data_offsets");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"F32","dtype":"F32"}})", 0), "tensor 'a' has two dtype");
  EXPECT_EQ(refusal(R"({"a":{"type":"F32"}})", 0), "tensor 'a' has the unknown key 'type'");
  const std::string a = tensor("a", "F32", "2", "0,8");
  EXPECT_EQ(refusal("{" + a + "," + a + "}", 8), "the name 'a' occurs twice");
  EXPECT_EQ(refusal("{" + a + "," + tensor("b", "F32", "2", "4,12") + "}", 12),
            "tensor 'b' begins at 4, within another one, which ends at 8");
  EXPECT_EQ(refusal("{" + a + "," + tensor("b", "F32", "2", "0,8") + "}", 8),
            "tensor 'b' begins at 0, within another one, which ends at 8");
  EXPECT_EQ(refusal("{" + tensor(std::string(500, 'n') + "\\u0001", "X", "", "0,0") + "}", 0),
            "tensor '" + std::string(120, 'n') + "…' is of the unknown type 'X'");
}

/// The text with a few random changes.
std::string changed(std::string text, Random& random) {
  static const std::string pieces[] = {"{", "}", "[",  "]",    ",",    ":",    "\"",
                                       "-", "9", "\\", "null", "\xff", "1e99", "\"dtype\""};
  for (std::uint64_t changes = random.bits() % 4 + 1; changes > 0; --changes) {
    const std::size_t place = random.bits() % text.size();
    switch (random.bits() % 4) {
      case 0: text[place] = static_cast<char>(random.bits()); break;
      case 1: text.erase(place, random.bits() % 9); break;
      case 2: text.insert(place, pieces[random.bits() % std::size(pieces)]); break;
      default: text.insert(place, text.substr(random.bits() % text.size(), random.bits() % 60));
    }
  }
  return text;
}

// Whatever is written over a file, it is read or refused.
TEST_P(SafetensorsTest, RandomFiles) {
  Random random(1);
  const State its = state();
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    write(changed(python_file(), random));
    const std::string why = refusal(its);
    EXPECT_NE(why.find("no name"), 0U) << why;
    refused += why.empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 150);
}

TEST(SafetensorsHeaderTest, RandomHeaders) {
  Random random(2);
  const std::string header = python_file().substr(8, 200);
  ASSERT_EQ(impl::read_header("", header, 30).tensors.size(), 3U);
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    try {
      const impl::FileHeader read = impl::read_header("where: ", changed(header, random), 30);
      // What is read can be written, and read again.
      const impl::FileHeader again = impl::read_header("", impl::write_header("", read), 30);
      ASSERT_EQ(again.tensors.size(), read.tensors.size());
      ASSERT_EQ(again.metadata, read.metadata);
    } catch (const Error& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("where: ")) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 10'000);
  EXPECT_LT(refused, 20'000);
}

TEST_P(SafetensorsTest, FullDisk) {
  const State its = state();
  write(python_file());
  nn::load(ctx, path, its);
  State large = its;
  large.push_back({"large", of<double>({100'000}, std::vector<double>(100'000, 1))});
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  for (const rlim_t most : {0UL, 100UL, 500'000UL}) {
    rlimit limit = before;
    limit.rlim_cur = most;
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string text = message_of([&] { nn::save(ctx, path, large); });
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(text, "portops::nn::save: " + path.string() + ": it cannot be written: File too large");
    EXPECT_EQ(read(), python_file());
    EXPECT_EQ(files(), 1U);
  }
  std::signal(SIGXFSZ, SIG_DFL);
  nn::save(ctx, path, large);
  EXPECT_GT(read().size(), 800'000U);
}

TEST_P(SafetensorsTest, LinksAndModesStay) {
  namespace fs = std::filesystem;
  const fs::path folder = path.parent_path(), target = folder / "target", later = folder / "later";
  const fs::perms mode = fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read;
  nn::save(ctx, target, {});
  fs::permissions(target, mode);
  fs::create_symlink("target", path);
  nn::save(ctx, path, state(), {{"epoch", "1"}});
  EXPECT_TRUE(fs::is_symlink(path));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(target)));
  EXPECT_EQ(fs::status(target).permissions(), mode);
  EXPECT_EQ(nn::load(ctx, target, state()), (nn::Metadata{{"epoch", "1"}}));
  // A link to a link to what is not there yet.
  fs::create_directory(folder / "inner");
  fs::create_symlink("../later", folder / "inner" / "link");
  fs::create_symlink("inner/link", folder / "dangling");
  nn::save(ctx, folder / "dangling", state());
  EXPECT_TRUE(fs::is_symlink(folder / "dangling") && fs::is_symlink(folder / "inner" / "link"));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(later)));
  nn::load(ctx, later, state());

  const auto why = [&](const fs::path& its) {
    const std::string where = "portops::nn::save: " + its.string() + ": ";
    const std::string text = message_of([&] { nn::save(ctx, its, state()); });
    return text.starts_with(where) ? text.substr(where.size()) : text;
  };
  fs::create_symlink("loop", folder / "loop");
  EXPECT_EQ(why(folder / "loop"), "it cannot be replaced: Too many levels of symbolic links");
  EXPECT_EQ(why(folder / "inner"), "it is no regular file");
  EXPECT_EQ(why("/dev/null"), "it is no regular file");
  EXPECT_EQ(files(), 6U);
}

TEST_P(SafetensorsTest, WhatCannotBeSavedOrLoaded) {
  const Variable x = of<float>({1}, {1});
  const auto why = [&](const State& state, const nn::Metadata& metadata = {}) {
    return message_of([&] { nn::save(ctx, path, state, metadata); });
  };
  const std::string where = "portops::nn::save: " + path.string() + ": ";
  EXPECT_EQ(why({{"x", x}, {"x", x}}), where + "'x' cannot be the name of a tensor, or is that of two");
  EXPECT_EQ(why({{"", x}}), where + "'' cannot be the name of a tensor, or is that of two");
  EXPECT_EQ(why({{"__metadata__", x}}), where + "'__metadata__' cannot be the name of a tensor, or is that of two");
  EXPECT_EQ(why({{"x", Variable()}}), where + "tensor 'x' of the state is empty");
  EXPECT_EQ(why({{"x", TensorRef(x.tensor().data(), ElementType::f32, {2, 2}, {1, 2}, x.tensor().space())}}),
            where + "tensor 'x' of the state is not contiguous");
  EXPECT_EQ(why({{"\xff", x}}), where + "'\xff' is no UTF-8");
  EXPECT_EQ(why({}, {{"k", "\xc3"}}), where + "'\xc3' is no UTF-8");
  EXPECT_EQ(files(), 0U);
  path = path / "none" / "a";
  EXPECT_EQ(message_of([&] { nn::save(ctx, path, {}); }),
            "portops::nn::save: " + path.string() + ": a file beside it cannot be made: No such file or directory");
  EXPECT_EQ(refusal(State{}), "it cannot be opened: No such file or directory");
  path = "/dev/null";
  EXPECT_EQ(refusal(State{}), "it is no regular file");
}

PORTOPS_ON_EVERY_BACKEND(SafetensorsTest);

}  // namespace
}  // namespace portops::test
