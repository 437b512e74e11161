// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/program.hpp"
#include "common/values.hpp"

#include <portops/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace portops;
using namespace portops::apps;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double inf = std::numeric_limits<double>::infinity();

AttributeInfo attribute(AttributeType type) { return {"a", "", type, std::nullopt, {}}; }

TEST(Values, NumbersAreReadWholeOrNotAtAll) {
  EXPECT_EQ(parse_number("0.3"), 0.3);
  EXPECT_EQ(parse_number("-1e-3"), -0.001);
  EXPECT_EQ(parse_number("+2"), 2.0);
  EXPECT_EQ(parse_number("inf"), inf);
  EXPECT_EQ(parse_number("+inf"), inf);
  EXPECT_EQ(parse_number("-inf"), -inf);
  EXPECT_TRUE(std::isnan(parse_number("nan").value()));
  for (const char* text : {"", "w.npy", "0.3.npy", "0.3 ", " 0.3", "1,2", "0x1p3", "++1", "+-1", "+", "-", "./0.3"}) {
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
  }
  EXPECT_THAT([] { parse_number("1e999"); }, ThrowsMessage<Error>(HasSubstr("'1e999' is out of range")));
}

TEST(Values, AttributesFollowTheirTypes) {
  EXPECT_EQ(parse_attribute(attribute(AttributeType::boolean), "true"), Attribute(true));
  EXPECT_EQ(parse_attribute(attribute(AttributeType::boolean), "false"), Attribute(false));
  EXPECT_EQ(parse_attribute(attribute(AttributeType::integer), "-3"), Attribute(std::int64_t{-3}));
  EXPECT_EQ(parse_attribute(attribute(AttributeType::number), "inf"), Attribute(inf));
  EXPECT_EQ(parse_attribute(attribute(AttributeType::number), "2"), Attribute(2.0));
  EXPECT_EQ(parse_attribute(attribute(AttributeType::integers), "1,-2"), Attribute(std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(parse_attribute(attribute(AttributeType::integers), "7"), Attribute(std::vector<std::int64_t>{7}));
  EXPECT_EQ(parse_attribute(attribute(AttributeType::integers), "[1,-2]"), Attribute(std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(parse_attribute(attribute(AttributeType::integers), "[]"), Attribute(std::vector<std::int64_t>{}));
  EXPECT_EQ(parse_attribute(attribute(AttributeType::text), "a=b"), Attribute(std::string("a=b")));
}

TEST(Values, WrongAttributesSayWhatIsExpected) {
  const auto parsing = [](AttributeType type, const char* text) {
    return [=] { parse_attribute(attribute(type), text); };
  };
  EXPECT_THAT(parsing(AttributeType::boolean, "yes"), ThrowsMessage<Error>("a is 'yes', expected true or false"));
  EXPECT_THAT(parsing(AttributeType::integer, "1.5"), ThrowsMessage<Error>("a is '1.5', expected an integer"));
  EXPECT_THAT(parsing(AttributeType::integer, "99999999999999999999"), ThrowsMessage<Error>(HasSubstr("out of range")));
  EXPECT_THAT(parsing(AttributeType::number, "two"), ThrowsMessage<Error>(HasSubstr("a is 'two', expected a number")));
  for (const char* text : {"", ",", "1,", ",1", "1,,2", "1, 2", "1,x", "[1,2", "1,2]", "[", "[,]", "[[]]"}) {
    EXPECT_THAT(parsing(AttributeType::integers, text), ThrowsMessage<Error>(HasSubstr("separated by commas"))) << text;
  }
}

TEST(Values, NumbersHaveTheNamesThatTheSchemaGivesThem) {
  const AttributeInfo porder{"porder", "", AttributeType::number, std::nullopt, {{"fro", 2.0}, {"cube", 3.0}}};
  EXPECT_EQ(parse_attribute(porder, "fro"), Attribute(2.0));
  EXPECT_EQ(parse_attribute(porder, "cube"), Attribute(3.0));
  EXPECT_EQ(parse_attribute(porder, "0.5"), Attribute(0.5));
  EXPECT_EQ(parse_attribute(porder, "-inf"), Attribute(-inf));
  for (const char* text : {"Fro", "fro ", "fr", ""}) {
    EXPECT_THAT([&] { parse_attribute(porder, text); },
                ThrowsMessage<Error>("porder is '" + std::string(text) +
                                     "', expected a number, such as 0.5 or inf, or fro or cube"));
  }
  EXPECT_THAT([] { parse_attribute(attribute(AttributeType::number), "fro"); },
              ThrowsMessage<Error>("a is 'fro', expected a number, such as 0.5 or inf"));
  EXPECT_EQ(or_names(porder), " or fro or cube");
  EXPECT_EQ(or_names(attribute(AttributeType::number)), "");
}

TEST(Values, OptionsNameTheirAlternatives) {
  EXPECT_EQ(parse_element_type("bf16"), ElementType::bf16);
  EXPECT_THAT([] { parse_element_type("int8"); },
              ThrowsMessage<Error>("--dtype is 'int8', expected f64, f32, f16 or bf16"));
  EXPECT_EQ(parse_math("tf32"), Math::tf32);
  EXPECT_THAT([] { parse_math("fp8"); }, ThrowsMessage<Error>("--math is 'fp8', expected ieee or tf32"));
  for (const Products products : {Products::automatic, Products::own, Products::kokkos_kernels}) {
    EXPECT_EQ(parse_products(name_of(products)), products);
  }
  EXPECT_THAT([] { parse_products("blas"); },
              ThrowsMessage<Error>("--products is 'blas', expected automatic, own or kokkos_kernels"));
  for (const Backend backend : enabled_backends()) EXPECT_EQ(parse_backend(name_of(backend)), backend);
  EXPECT_THAT([] { parse_backend("tpu"); }, ThrowsMessage<Error>(HasSubstr("--backend is 'tpu', expected ")));
}

TEST(Values, AreShownAsTheyAreWritten) {
  EXPECT_EQ(to_string(Attribute(1e-12)), "1e-12");
  EXPECT_EQ(to_string(Attribute(inf)), "inf");
  EXPECT_EQ(to_string(Attribute(true)), "true");
  EXPECT_EQ(to_string(Attribute(std::vector<std::int64_t>{1, 2})), "1,2");
  EXPECT_EQ(to_string(Attribute(std::vector<std::int64_t>{})), "[]");
}

TEST(Values, ErrorsAreOneLine) {
  EXPECT_EQ(error_line("portops", "portops::lerp: x\nis wrong"), "portops: lerp: x is wrong\n");
}

}  // namespace
