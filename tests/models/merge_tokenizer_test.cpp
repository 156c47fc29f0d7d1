#include <doctest/doctest.h>

#include "attn/models/tokenizer.hpp"
#include "attn/tensor/error.hpp"

namespace {

using namespace attn;
using namespace attn::models;
using Ids = std::vector<std::int64_t>;

std::string refusal(const std::string& text) {
    try {
        read_json_tokenizer(text, "t.json", 12);
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_SUITE("models: tokenizer.json") {
    TEST_CASE("pieces of bytes: the merge that stands first wins, and blanks belong to words") {
        // In GPT-2's vocabulary U+0120 is a blank.
        const auto tokenizer = read_json_tokenizer(
            "{\"pre_tokenizer\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": \"BPE\", "
            "\"vocab\": "
            "{\"a\": 0, \"b\": 1, \"c\": 2, \"\u0120\": 3, \"ab\": 4, \"bc\": 5, \"\u0120a\": 6, "
            "\"'\": 7, \"s\": 8, \"'s\": 9, \"\u010a\": 10}, \"merges\": [\"b c\", \"a b\", "
            "\"\u0120 a\", [\"'\", \"s\"]]}}",
            "t.json", 12);
        CHECK(tokenizer->encode("abc") == Ids{0, 5});
        CHECK(tokenizer->encode("ab c") == Ids{4, 3, 2});
        CHECK(tokenizer->encode("b a's") == Ids{1, 6, 9});
        // Of several blanks the last one goes with the word.
        CHECK(tokenizer->encode("b   a") == Ids{1, 3, 3, 6});
        CHECK(tokenizer->encode("a\n") == Ids{0, 10});
        CHECK(text_of(*tokenizer, tokenizer->encode("b   a's\nabc")) == "b   a's\nabc");
        CHECK_THROWS_AS(tokenizer->encode("x"), InputError);
        CHECK_THROWS_AS(tokenizer->encode("\xff"), InputError);
    }
    TEST_CASE("a tokenizer that cuts otherwise has labels, and asks for ids") {
        const auto tokenizer = read_json_tokenizer(
            "{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"the\": 0, \"##s\": 1}}}", "t.json",
            12);
        CHECK(tokenizer->label(1) == "##s");
        CHECK_THROWS_WITH_AS(tokenizer->encode("the"), doctest::Contains("pass --ids"), InputError);
    }
    TEST_CASE("what is no tokenizer is one line") {
        CHECK(refusal("[]").find("t.json: has no 'model'") == 0);
        CHECK(refusal("{\"model\": {}}").find("t.json: 'model' has no 'vocab'") == 0);
        CHECK(refusal("{\"model\": {\"vocab\": {\"a\": 12}}}")
                  .find("t.json: the id of 'a' is none") == 0);
        CHECK(refusal("{\"model\": {\"vocab\": {\"a\": -1}}}").find("t.json: the id of 'a'") == 0);
        CHECK(refusal("{\"model\": {\"vocab\": {}, \"merges\": [3]}}").find("t.json: 'merges'") ==
              0);
        CHECK(refusal("{\"model\": {\"vocab\": {}}, \"added_tokens\": [{\"id\": 0}]}")
                  .find("t.json: 'added_tokens'") == 0);
        CHECK(refusal("{").find("t.json") == 0);
    }
}
