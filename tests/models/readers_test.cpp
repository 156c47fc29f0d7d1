#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "attn/ground/tensor/error.hpp"
#include "attn/models/open_model.hpp"
#include "tests/support/refusal.hpp"

namespace {

using namespace attn;
using namespace attn::models;
using Ids = std::vector<std::int64_t>;

std::string file_text(const std::string& name) {
    std::ifstream file(ATTN_SOURCE_DIR "/data/models/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The error from a llama2.c model with one of its seven sizes changed.
std::string refusal_with(std::size_t place, std::int32_t size) {
    std::string bytes = file_text("stories260K.bin");
    std::memcpy(bytes.data() + 4 * place, &size, 4);
    return refusal([&] { read_llama2c(std::make_shared<InputFile>(bytes, "m.bin")); });
}

}  // namespace

TEST_SUITE("models: readers") {
    TEST_CASE("a llama2.c model states its sizes, and its tensors are at the right offsets") {
        const Model model = open_model(ATTN_SOURCE_DIR "/data/models/stories260K.bin");
        const Architecture& a = model.architecture;
        CHECK(a.embed_dim == 64);
        CHECK(a.mlp_dim == 172);
        CHECK(a.layers.size() == 5);
        CHECK(a.heads == 8);
        CHECK(a.kv_heads == 4);
        CHECK(a.head_dim == 8);
        CHECK(a.vocab_size == 512);
        REQUIRE(model.tokenizer != nullptr);
        const std::string bytes = file_text("stories260K.bin");
        const auto number_at = [&](std::size_t offset) {
            float number = 0;
            std::memcpy(&number, bytes.data() + offset, 4);
            return number;
        };
        CHECK(model.read("embedding").at(0) == number_at(28));
        CHECK(model.read("0.w_key").at(1) == number_at(214300 + 4));
        CHECK(model.read("4.w_value").at(0) == number_at(255260 + 4 * 4 * 32 * 64));
        CHECK(model.read("0.w_down").at(0) == number_at(599580));
        CHECK(model.read("g_final").at(63) == number_at(1039900 + 4 * 63));
        CHECK_FALSE(model.has("w_vocab"));
    }
    TEST_CASE("wrong sizes are one line that names them") {
        CHECK(refusal_with(0, 0).find("m.bin: embed_dim cannot be 0") == 0);
        CHECK(refusal_with(1, -5).find("m.bin: mlp_dim cannot be -5") == 0);
        CHECK(refusal_with(2, 6).find("m.bin: has 1056540 bytes, but its sizes need") == 0);
        CHECK(refusal_with(2, 2'000'000).find("m.bin: is too short for the sizes") == 0);
        CHECK(refusal_with(3, 7).find("m.bin: 7 heads do not share 64 features") == 0);
        CHECK(refusal_with(4, 3).find("m.bin: 3 key/value heads do not divide 8 heads") == 0);
        CHECK(refusal_with(5, 511).find("m.bin: has 1056540 bytes") == 0);
        CHECK(refusal_with(6, 2147483647).find("m.bin: the longest sequence cannot be") == 0);
        CHECK(refusal_with(0, 0x616b3432).find("m.bin: is from a later version") == 0);
        const std::string bytes = file_text("stories260K.bin");
        for (const std::size_t size : {0UL, 27UL, 28UL, 1000UL, bytes.size() - 1}) {
            const std::string cut = bytes.substr(0, size);
            CHECK_THROWS_AS(read_llama2c(std::make_shared<InputFile>(cut, "m.bin")), InputError);
        }
    }
    TEST_CASE("a text becomes the tokens of llama2.c, and text again") {
        const auto tokenizer = open_model("stories").tokenizer;
        CHECK(tokenizer->encode("Once upon a time") == Ids{1, 403, 407, 261, 378});
        CHECK(tokenizer->encode("") == Ids{1});
        for (const std::string text : {"Lily's mom said, \"Yes!\"", "two\nlines",
                                       "caf\u00e9 \U0001F600", " a blank first", "x"}) {
            CHECK(text_of(*tokenizer, tokenizer->encode(text)) == text);
        }
        CHECK(tokenizer->encode("\n").back() == 13);
        CHECK_THROWS_AS(tokenizer->encode("\xff"), InputError);
        CHECK_THROWS_AS(tokenizer->encode("a\xe2\x82"), InputError);
    }
    TEST_CASE("a damaged tokenizer is an error of one line") {
        const std::string bytes = file_text("tok512.bin");
        const auto refusal = [](const std::string& damaged, std::size_t vocab) -> std::string {
            try {
                read_scored_tokenizer(InputFile(damaged, "t.bin"), vocab);
            } catch (const InputError& error) {
                return error.what();
            }
            return {};
        };
        CHECK(refusal(bytes, 512).empty());
        CHECK(refusal(bytes, 511).find("t.bin: goes on after token 511") == 0);
        CHECK(refusal(bytes, 513).find("t.bin: token 512 is beyond the end") == 0);
        CHECK(refusal(bytes.substr(0, 300), 512).find("t.bin: token ") == 0);
        std::string lying = bytes;
        lying[8] = lying[9] = lying[10] = '\x7f';
        CHECK(refusal(lying, 512).find("t.bin: token 0 has ") == 0);
    }
    TEST_CASE("JSON that is not a model is an error of one line") {
        const std::string path = ATTN_SOURCE_DIR "/tests/models/fixtures/gpt2/expected.json";
        CHECK_THROWS_WITH_AS(open_model(path),
                             (path + ": is JSON, not a model: give the folder of config.json and "
                                     "its .safetensors files")
                                 .c_str(),
                             InputError);
    }
}
