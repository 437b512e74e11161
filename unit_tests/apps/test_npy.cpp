// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/npy.hpp"

#include "common/element_cast.hpp"

#include <portops/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace portops;
using namespace portops::apps;
namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

/// A folder of this test's own, removed with it.
class NpyTest : public testing::Test {
 protected:
  NpyTest() : folder_(fs::temp_directory_path() / ("portops_test_npy_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~NpyTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string store(const std::string& bytes) const {
    const std::string name = path("x.npy");
    std::ofstream(name, std::ios::binary) << bytes;
    return name;
  }

  /// What reading a file of these bytes throws.
  std::string error_of(const std::string& bytes) const {
    const std::string name = store(bytes);
    try {
      NpyFile file(name);
      file.read(file.type());
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::StartsWith(name + ": "));
      return error.what();
    }
    return "no error";
  }

  fs::path folder_;
};

/// Magic, version and length before the header's text, as NumPy's format has them.
std::string preamble(int version, const std::string& text) {
  std::string bytes = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  const int width = version == 1 ? 2 : 4;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return bytes + text;
}

std::string header(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape +
         ", }      \n";
}

template <class T>
std::string bytes_of(const std::vector<T>& values, bool swapped = false) {
  std::string bytes;
  for (const T& value : values) {
    std::string element(sizeof(T), '\0');
    std::memcpy(element.data(), &value, sizeof(T));
    if (swapped) std::reverse(element.begin(), element.end());
    bytes += element;
  }
  return bytes;
}

template <class T>
std::vector<T> elements_of(const NpyTensor& tensor) {
  const T* data = static_cast<const T*>(tensor.ref.data());
  return {data, data + tensor.ref.size()};
}

const std::string little = std::endian::native == std::endian::little ? "<" : ">";
const std::string big = std::endian::native == std::endian::little ? ">" : "<";

template <class T>
class NpyTypeTest : public NpyTest {};
using Types = testing::Types<double, float, f16, std::int64_t>;

/// What precedes the size in the name of NumPy's type.
template <class T>
const std::string kind_of = std::is_same_v<T, std::int64_t> ? "i" : "f";
TYPED_TEST_SUITE(NpyTypeTest, Types);

TYPED_TEST(NpyTypeTest, ReadsAllVersionsAndBothByteOrders) {
  std::vector<TypeParam> values;
  for (const double value : {0.0, -0.0, 1.5, -2.25, 6.0e-8, 65504.0, std::numeric_limits<double>::infinity()}) {
    values.push_back(element_cast<TypeParam>(value));
  }
  const std::string kind = kind_of<TypeParam> + std::to_string(sizeof(TypeParam));
  for (const int version : {1, 2, 3}) {
    for (const bool swapped : {false, true}) {
      SCOPED_TRACE(testing::Message() << "version " << version << ", swapped " << swapped);
      NpyFile file(
          this->store(preamble(version, header((swapped ? big : little) + kind, "(7,)")) + bytes_of(values, swapped)));
      EXPECT_EQ(file.type(), ElementTypeOf<TypeParam>::value);
      EXPECT_EQ(file.extents(), Extents{7});
      const auto read = elements_of<TypeParam>(file.read(file.type()));
      EXPECT_EQ(bytes_of(read), bytes_of(values));
    }
  }
}

TYPED_TEST(NpyTypeTest, WritesWhatItReadsForEveryRank) {
  for (int rank = 0; rank <= max_rank; ++rank) {
    SCOPED_TRACE(rank);
    Extents extents = Extents::of_rank(rank);
    for (int axis = 0; axis < rank; ++axis) extents[axis] = 1 + axis % 3;
    const Tensor x(ElementTypeOf<TypeParam>::value, extents);
    for (std::int64_t i = 0; i < extents.product(); ++i) {
      x.data<TypeParam>()[i] = element_cast<TypeParam>(static_cast<double>(i) + 0.5);
    }
    const std::string name = this->path("out.npy");
    std::deque<OutputFile> files;
    write_npy(files.emplace_back(name), x);
    OutputFile::commit(files);

    NpyFile file(name);
    EXPECT_EQ(file.extents(), extents);
    ASSERT_EQ(file.type(), x.ref().type());
    const NpyTensor read = file.read(file.type());
    EXPECT_EQ(0, std::memcmp(read.ref.data(), x.ref().data(),
                             static_cast<std::size_t>(extents.product()) * sizeof(TypeParam)));
    EXPECT_EQ(std::distance(fs::directory_iterator(this->folder_), {}), 1) << "a temporary file is left";
  }
}

TEST_F(NpyTest, WritesTheBytesOfTheFormat) {
  const Tensor x(ElementType::f32, {1, 2});
  x.data<float>()[0] = 1.0f;
  x.data<float>()[1] = -2.0f;
  std::deque<OutputFile> files;
  write_npy(files.emplace_back(path("out.npy")), x);
  OutputFile::commit(files);
  std::ifstream stream(path("out.npy"), std::ios::binary);
  const std::string found((std::istreambuf_iterator<char>(stream)), {});
  std::string text = "{'descr': '" + little + "f4', 'fortran_order': False, 'shape': (1, 2), }";
  text.append(128 - 10 - 1 - text.size(), ' ');
  EXPECT_EQ(found, preamble(1, text + "\n") + bytes_of(std::vector{1.0f, -2.0f}));
}

TEST_F(NpyTest, WritesBf16AsFloat32) {
  const Tensor x(ElementType::bf16, {3});
  const std::vector<float> values{1.0f, -3.140625f, 0x1p-130f};  // all of them bf16 numbers, the last a subnormal
  for (std::size_t i = 0; i < values.size(); ++i) x.data<bf16>()[i] = bf16(values[i]);
  std::deque<OutputFile> files;
  write_npy(files.emplace_back(path("out.npy")), x);
  OutputFile::commit(files);
  NpyFile file(path("out.npy"));
  ASSERT_EQ(file.type(), ElementType::f32);
  EXPECT_EQ(elements_of<float>(file.read(ElementType::f32)), values);
}

TEST_F(NpyTest, ReadsFortranOrderWhereItLies) {
  const std::vector<float> stored{0, 3, 1, 4, 2, 5};  // of [[0, 1, 2], [3, 4, 5]], the first axis fastest
  NpyFile file(store(preamble(1, header(little + "f4", "(2, 3)", true)) + bytes_of(stored)));
  const NpyTensor tensor = file.read(ElementType::f32);
  EXPECT_EQ(tensor.ref.extents(), (Extents{2, 3}));
  EXPECT_EQ(tensor.ref.strides(), (Extents{1, 2}));
  EXPECT_EQ(elements_of<float>(tensor), stored);

  NpyFile converted(store(preamble(1, header(big + "f4", "(1, 2, 3)", true)) + bytes_of(stored, true)));
  const NpyTensor wide = converted.read(ElementType::f64);
  EXPECT_EQ(wide.ref.strides(), (Extents{1, 1, 2}));
  EXPECT_EQ(elements_of<double>(wide), (std::vector<double>{0, 3, 1, 4, 2, 5}));
}

TEST_F(NpyTest, ReadsArraysWithoutElements) {
  for (const char* shape : {"(0,)", "(3, 0)", "(0, 5, 2)"}) {
    for (const bool fortran : {false, true}) {
      NpyFile file(store(preamble(1, header("<f8", shape, fortran))));
      const NpyTensor tensor = file.read(ElementType::f16);
      EXPECT_EQ(tensor.ref.size(), 0);
      EXPECT_TRUE(tensor.ref);
    }
  }
}

TEST_F(NpyTest, AcceptsWhatPythonCallsTheSame) {
  const std::string element = bytes_of(std::vector{1.0f});
  for (const std::string& text : std::vector<std::string>{
           "{'shape': (1,), 'fortran_order': False, 'descr': '" + little + "f4'}",
           "{\"descr\": \"" + little + "f4\", \"fortran_order\": False, \"shape\": (1,)}\n",
           "  { 'descr' : '" + little + "f4' , 'fortran_order' : True , 'shape' : ( 1 , 1 , ) , }  ",
           "{'descr': '" + little + "f4', 'fortran_order': False, 'shape': (1L,), }",  // Python 2
           "{'descr': '" + little + "f4', 'fortran_order': False, 'shape': (), }",
       }) {
    EXPECT_EQ(error_of(preamble(1, text) + element), "no error") << text;
  }
}

TEST_F(NpyTest, RoundsEachElementOnce) {
  // 1 + 2^-11 is half-way between two f16 numbers. A little more must be rounded up, and is not by way of f32.
  const std::vector<double> values{1.0 + 0x1p-11 + 0x1p-40, 1.0 + 0x1p-11, 65520.0 - 0x1p-20, 0x1p-25 + 0x1p-60};
  NpyFile file(store(preamble(1, header(little + "f8", "(4,)")) + bytes_of(values)));
  const auto halves = elements_of<f16>(file.read(ElementType::f16));
  EXPECT_EQ(halves[0].bits, 0x3c01);
  EXPECT_EQ(halves[1].bits, 0x3c00);
  EXPECT_EQ(halves[2].bits, 0x7bff);
  EXPECT_EQ(halves[3].bits, 0x0001);

  const std::vector<double> ties{1.0 + 0x1p-8 + 0x1p-40, 1.0 + 0x1p-8};
  NpyFile brain(store(preamble(1, header(little + "f8", "(2,)")) + bytes_of(ties)));
  const auto brains = elements_of<bf16>(brain.read(ElementType::bf16));
  EXPECT_EQ(brains[0].bits, 0x3f81);
  EXPECT_EQ(brains[1].bits, 0x3f80);
}

TEST_F(NpyTest, ConvertsMoreThanOneChunk) {
  const std::int64_t count = (1 << 20) / 8 * 2 + 3;
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i));
  NpyFile file(store(preamble(1, header(little + "f8", "(" + std::to_string(count) + ",)")) + bytes_of(values)));
  EXPECT_EQ(elements_of<float>(file.read(ElementType::f32)), std::vector<float>(values.begin(), values.end()));
}

TEST_F(NpyTest, RefusesWhatIsNoFile) {
  EXPECT_THAT([&] { NpyFile(path("none.npy")); },
              testing::ThrowsMessage<Error>(AllOf(HasSubstr("none.npy"), HasSubstr("No such file"))));
  EXPECT_THAT([&] { NpyFile(folder_.string()); }, testing::ThrowsMessage<Error>(HasSubstr("is a folder")));
}

TEST_F(NpyTest, RefusesWhatIsNotNpy) {
  EXPECT_THAT(error_of(""), HasSubstr("is not a .npy file"));
  EXPECT_THAT(error_of("\x93NUM"), HasSubstr("is not a .npy file"));
  EXPECT_THAT(error_of("PK\x03\x04 a zip archive"), HasSubstr("is not a .npy file"));
  EXPECT_THAT(error_of(preamble(4, header("<f4", "()"))), HasSubstr("version 4.0, expected 1.0, 2.0 or 3.0"));
  EXPECT_THAT(error_of(preamble(0, header("<f4", "()"))), HasSubstr("version 0.0"));
}

TEST_F(NpyTest, RefusesEveryTruncation) {
  for (const int version : {1, 2}) {
    const std::string whole = preamble(version, header(little + "f4", "(2,)")) + bytes_of(std::vector{1.0f, 2.0f});
    for (std::size_t length = 6; length < whole.size(); ++length) {
      EXPECT_THAT(error_of(whole.substr(0, length)), HasSubstr("truncated")) << length;
    }
    EXPECT_EQ(error_of(whole), "no error");
    EXPECT_THAT(error_of(whole + "x"),
                AllOf(HasSubstr("longer than its header says"), HasSubstr("8 bytes"), HasSubstr("found 9")));
  }
}

TEST_F(NpyTest, RefusesLyingHeaders) {
  const std::string elements(64, '\0');
  const auto shaped = [&](const std::string& shape) { return error_of(preamble(1, header("<f4", shape)) + elements); };
  EXPECT_THAT(shaped("(17,)"), AllOf(HasSubstr("truncated"), HasSubstr("68 bytes"), HasSubstr("found 64")));
  EXPECT_THAT(shaped("(1000000000000,)"), HasSubstr("truncated"));  // and nothing of that size is allocated
  EXPECT_THAT(shaped("(15,)"), HasSubstr("longer than its header says"));
  EXPECT_THAT(shaped("(-4, -4)"), HasSubstr("negative"));
  EXPECT_THAT(shaped("(0, -1)"), HasSubstr("negative"));
  EXPECT_THAT(shaped("(4611686018427387904, 4)"), HasSubstr("more elements than 64 bits can count"));
  EXPECT_THAT(shaped("(4611686018427387904, 4, 0)"), HasSubstr("more elements than 64 bits can count"));
  EXPECT_THAT(shaped("(99999999999999999999,)"), HasSubstr("64 bits"));
  EXPECT_THAT(shaped("(1, 1, 1, 1, 1, 1, 1, 1, 16)"), HasSubstr("has 9 axes, expected at most 8"));
  EXPECT_THAT(error_of(std::string("\x93NUMPY\x02\0", 8) + "\xff\xff\xff\x7f"), HasSubstr("expected at most 1048576"));
}

TEST_F(NpyTest, RefusesOtherElementTypes) {
  const auto typed = [&](const std::string& descr) { return error_of(preamble(1, header(descr, "()")) + "12345678"); };
  const auto names = [](const std::string& found) {
    return AllOf(HasSubstr("holds " + found), HasSubstr("expected float16, float32, float64 or int64"));
  };
  EXPECT_THAT(typed("<i4"), names("int32 ('<i4')"));
  EXPECT_THAT(typed("|u1"), names("uint8 ('|u1')"));
  EXPECT_THAT(typed("|b1"), names("bool ('|b1')"));
  EXPECT_THAT(typed("<c8"), names("complex64 ('<c8')"));
  EXPECT_THAT(typed("<f16"), names("float128 ('<f16')"));
  EXPECT_THAT(typed("|O"), names("Python objects ('|O')"));
  EXPECT_THAT(typed("<U2"), names("text ('<U2')"));
  EXPECT_THAT(typed("<M8[s]"), names("datetime64"));
  EXPECT_THAT(typed("|V2"), names("raw bytes"));
  EXPECT_THAT(typed("|f4"), names("float32 ('|f4')"));
  EXPECT_THAT(typed("f4"), names("elements of unknown type"));
  EXPECT_THAT(typed(""), names("elements of unknown type"));
  EXPECT_THAT(error_of(preamble(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}") + "1234"),
              names("structured elements"));
}

TEST_F(NpyTest, IndicesAreNotConverted) {
  const auto expect_refused = [&](const std::string& descr, ElementType type, const std::string& message) {
    NpyFile file(store(preamble(1, header(descr, "(1,)")) + "12345678"));
    for (const auto& call : {std::function<void()>([&] { file.check_readable_as(type); }),
                             std::function<void()>([&] { file.read(type); })}) {
      EXPECT_THAT(call, testing::ThrowsMessage<Error>(path("x.npy") + ": " + message));
    }
  };
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    expect_refused("<i8", type, "holds i64, expected float16, float32 or float64");
  }
  expect_refused("<f8", ElementType::i64, "holds f64, expected i64, which is int64 in NumPy");
}

TEST_F(NpyTest, RefusesMalformedHeaders) {
  for (const std::string& text : std::vector<std::string>{
           "",
           "{",
           "{}",
           "[]",
           "{'descr': '<f4'}",
           "{'descr': '<f4', 'fortran_order': False}",
           "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': [1]}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1.5,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': ()} and more",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'shape': ()}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}",
           "{'descr': '<f4, 'fortran_order': False, 'shape': ()}",
           "{'descr: '<f4'",
           "{'descr' '<f4', 'fortran_order': False, 'shape': ()}",
           "{'descr': '<f4' 'fortran_order': False, 'shape': ()}",
       }) {
    EXPECT_THAT(error_of(preamble(1, text) + "1234"), HasSubstr("malformed header")) << text;
  }
}

TEST_F(NpyTest, LeavesNothingBehindWithoutCommit) {
  {
    OutputFile file(path("out.npy"));
    write_npy(file, Tensor(ElementType::f32, {2}));
    EXPECT_FALSE(fs::exists(path("out.npy")));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(NpyTest, ReplacesAFileAndKeepsItsMode) {
  std::ofstream(path("target")) << "old";
  fs::permissions(path("target"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("target", path("link"));
  std::deque<OutputFile> files;
  files.emplace_back(path("link")).write("new", 3);
  OutputFile::commit(files);
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(fs::file_size(path("target")), 3u);
  EXPECT_EQ(fs::status(path("target")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(NpyTest, GivesANewFileTheModeOfTheProcess) {
  const mode_t before = umask(0277);  // under which a file could not even be opened again
  std::deque<OutputFile> files;
  files.emplace_back(path("new")).write("new", 3);
  OutputFile::commit(files);
  umask(before);
  EXPECT_EQ(fs::status(path("new")).permissions(), fs::perms::owner_read);
}

TEST_F(NpyTest, SeesThatAFileWasChangedWhileItWasRead) {
  NpyFile file(store(preamble(1, header(little + "f4", "(2,)")) + bytes_of(std::vector{1.0f, 2.0f})));
  store(preamble(1, header(little + "f4", "(1,)")) + bytes_of(std::vector{3.0f}));
  EXPECT_THAT([&] { file.read(ElementType::f32); },
              testing::ThrowsMessage<Error>(HasSubstr("was changed while it was read")));
}

TEST_F(NpyTest, TellsWhyAFileCannotBeWritten) {
  const auto opens = [](const std::string& name) { return [name] { OutputFile{name}; }; };
  EXPECT_THAT(opens(path("none/out.npy")), testing::ThrowsMessage<Error>(HasSubstr("No such file")));
  EXPECT_THAT(opens(folder_.string()), testing::ThrowsMessage<Error>(HasSubstr("is a folder")));
  EXPECT_THAT(opens(""), testing::ThrowsMessage<Error>(HasSubstr("is not the name of a file")));
  EXPECT_THAT(
      [] {
        std::deque<OutputFile> files;
        write_npy(files.emplace_back("/dev/full"), Tensor(ElementType::f32, {2}));
        OutputFile::commit(files);
      },
      testing::ThrowsMessage<Error>(AllOf(HasSubstr("/dev/full"), HasSubstr("No space left"))));
}

TEST_F(NpyTest, KnowsWhenTwoNamesAreOneFile) {
  std::ofstream(path("a")) << "a";
  fs::create_symlink("a", path("b"));
  EXPECT_TRUE(is_same_file(path("a"), path("b")));
  EXPECT_TRUE(is_same_file(path("none"), path("./none")));
  EXPECT_FALSE(is_same_file(path("a"), path("none")));
  fs::create_symlink("none", path("dangling"));
  EXPECT_TRUE(is_same_file(path("dangling"), path("none")));
  EXPECT_TRUE(is_same_file(path("./none"), path("dangling")));
  EXPECT_FALSE(is_same_file(path("dangling"), path("a")));
}

}  // namespace
