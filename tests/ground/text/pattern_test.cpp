#include "attn/ground/text/pattern.hpp"

#include <doctest/doctest.h>

#include <string>

#include "attn/ground/tensor/error.hpp"
#include "tests/support/refusal.hpp"

using namespace attn;

namespace {

using Parts = std::vector<std::string>;

Parts parts(const std::string& pattern, const std::string& text) {
    Parts found;
    for (const auto& [begin, end] : Pattern(pattern).matches(text)) {
        found.push_back(text.substr(begin, end - begin));
    }
    return found;
}

std::string refusal_of(const std::string& pattern) {
    return refusal([&] { const Pattern unused(pattern); });
}

}  // namespace

TEST_SUITE("pattern") {
    TEST_CASE("the first alternative that fits wins, and quantifiers are greedy") {
        CHECK(parts("a|ab|b+", "abbb") == Parts{"a", "bbb"});
        CHECK(parts("a{2}", "aaaaa") == Parts{"aa", "aa"});
        CHECK(parts("\\p{N}{1,3}", "1234567") == Parts{"123", "456", "7"});
        CHECK(parts("a+?b?", "aab") == Parts{"a", "ab"});
        CHECK(parts("(?:ab)+c", "ababab abc") == Parts{"abc"});
        CHECK(parts("x*", "yyxy") == Parts{"x"});
    }
    TEST_CASE("matched text is given back until the rest fits, but not by possessive quantifiers") {
        CHECK(parts("\\s+(?!\\S)|\\s+", "a   b ") == Parts{"  ", " ", " "});
        CHECK(parts("a+ab", "aaab") == Parts{"aaab"});
        CHECK(parts("a++ab", "aaab").empty());
        CHECK(parts("(a|ab)(?=c)", "abc") == Parts{"ab"});
    }
    TEST_CASE("classes follow Unicode") {
        CHECK(parts("\\p{L}+", "caf\u00e9 \u65e5\u672c, \u00df1") ==
              Parts{"caf\u00e9", "\u65e5\u672c", "\u00df"});
        CHECK(parts("\\p{N}+", "1\u00bd\u0664 x") == Parts{"1\u00bd\u0664"});
        CHECK(parts("[^\\s\\p{L}\\p{N}]+", "a!? \u20ac\u3000b") == Parts{"!?", "\u20ac"});
        CHECK(parts("\\s+", "a\u00a0\u3000\u2028b\u200bc") == Parts{"\u00a0\u3000\u2028"});
        CHECK(parts("[\\p{Lu}\\p{Lt}][\\p{Ll}\\p{M}]*", "HelloWorld") == Parts{"Hello", "World"});
        CHECK(parts("[\u4e00-\u9fa5]+", "ab\u65e5\u672cc") == Parts{"\u65e5\u672c"});
        CHECK(parts("[!-/\\]\\-a]+", "x#]-a:") == Parts{"#]-a"});
    }
    TEST_CASE("(?i: matches letters of either case") {
        CHECK(parts("(?i:'s|'LL)", "a's A'S I'll I'Ll") == Parts{"'s", "'S", "'ll", "'Ll"});
        CHECK(parts("(?i:k)k", "Kk kk kK").size() == 2);
    }
    TEST_CASE("an unsupported construct is quoted from its start") {
        CHECK(refusal_of("a(?<b)c").starts_with("the pattern 'a(?<b)c' cannot be parsed from '"));
        for (const char* bad :
             {"(", ")", "[a", "a{3,2}", "*a", "[z-a]", "\\", "\\k", "a**b", "\\p{", "a{99999}"}) {
            INFO(bad);
            CHECK(refusal_of(bad).find("cannot be parsed") != std::string::npos);
        }
    }
    TEST_CASE("a hostile pattern ends in one line") {
        const std::string text(3000, 'a');
        CHECK_THROWS_WITH_AS(parts("(?:a*a*)*[bc]", text), doctest::Contains("takes too long"),
                             InputError);
        CHECK(parts("(?:a)+", text) == Parts{text});
        CHECK(parts("a+", text) == Parts{text});
        CHECK_THROWS_AS(Pattern{std::string(1000, '(')}, InputError);
        CHECK_THROWS_AS(Pattern("a").matches("\xff"), InputError);
    }
    TEST_CASE("an empty match does not count, and the search continues") {
        CHECK(parts("(?=b)|b+", "abba") == Parts{"bb"});
        CHECK(parts("(?=\u00e9)|x", "\u00e9x") == Parts{"x"});
        CHECK(parts("$|^", "ab").empty());
    }
}
