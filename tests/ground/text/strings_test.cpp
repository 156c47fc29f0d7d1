#include "attn/ground/text/strings.hpp"

#include <doctest/doctest.h>

using namespace attn;

TEST_SUITE("strings") {
    TEST_CASE("numbers are read to the last bit") {
        CHECK(parse_number("0.1") == 0.1);
        CHECK(parse_number("1.7976931348623157e308") == 1.7976931348623157e308);
        CHECK(parse_number("5e-324") == 5e-324);
        for (const char* text :
             {"", " 1", "1 ", "1,5", "1e999", "0x10", "+-1", "++1", "1.5f", "one"}) {
            CAPTURE(text);
            CHECK_FALSE(parse_number(text).has_value());
        }
    }

    TEST_CASE("control, bidi and invalid bytes are escaped, all others stay") {
        CHECK(visible("two words, \u00e9 \u05D0 \U0001F600") ==
              "two words, \u00e9 \u05D0 \U0001F600");
        CHECK(visible("a\x1b[2J\n\r\t\x7f") == "a\\x1b[2J\\n\\r\\t\\x7f");
        CHECK(visible("\u009b1m\u202eabc\u2066\u200f\u2028") ==
              "\\x9b1m\\u202eabc\\u2066\\u200f\\u2028");
        CHECK(visible("a\u200bb\u00ad\u2060\ufeff\U000e0041") ==
              "a\\u200bb\\xad\\u2060\\ufeff\\ue0041");
        CHECK(visible("\u0915\u094d\u200d\u0937") == "\u0915\u094d\u200d\u0937");
        CHECK(visible("a\xff\xc3") == "a\\xff\\xc3");
        CHECK(visible(std::string_view("\0", 1)) == "\\x00");
    }

    TEST_CASE("text for a message is quoted and cut to 40 characters, not bytes") {
        CHECK(quoted_text("w_query") == "'w_query'");
        std::string word;
        for (int i = 0; i < 40; ++i) word += "\u00e9";
        CHECK(quoted_text(word) == "'" + word + "'");
        CHECK(quoted_text(word + "!") == "'" + word + "...'");
        CHECK(quoted_text(std::string(1000, 'x')) == "'" + std::string(40, 'x') + "...'");
    }
}
