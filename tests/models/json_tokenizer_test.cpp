#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "attn/ground/tensor/error.hpp"
#include "attn/models/open_model.hpp"
#include "attn/models/text_cuts.hpp"
#include "attn/models/tokenizer.hpp"
#include "tests/files/io/scratch.hpp"
#include "tests/support/refusal.hpp"

namespace {

using namespace attn;
using namespace attn::models;
using Ids = std::vector<std::int64_t>;

using Words = std::vector<std::string>;

const std::string split_of = R"({"type": "Sequence", "pretokenizers": [{"type": "Split",
    "behavior": "Isolated", "invert": false, "pattern": {"Regex": ")";
const std::string bytes_suffix = R"("}}, {"type": "ByteLevel", "add_prefix_space": false,
    "use_regex": false}]})";
const std::string llama3 =
    split_of + R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|)" +
    R"( ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)" + bytes_suffix;
const std::string qwen2 =
    split_of + R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|)" +
    R"( ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)" + bytes_suffix;
const std::string o200k =
    split_of +
    R"([^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+)" +
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+)" +
    R"([\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}|)" +
    R"( ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)" + bytes_suffix;

/// The words that a pre_tokenizer splits a text into; spaces and line breaks as themselves.
Words cut_by_words(const std::string& pre_tokenizer, const std::string& text) {
    Words all =
        text_cuts_in(nlohmann::json::parse("{\"pre_tokenizer\": " + pre_tokenizer + "}"), "t.json")
            .words(text, true);
    for (std::string& word : all) {
        for (const auto& [letter, byte] : {std::pair{"\u0120", " "}, {"\u010a", "\n"}}) {
            for (std::size_t at = word.find(letter); at != word.npos; at = word.find(letter)) {
                word.replace(at, 2, byte);
            }
        }
    }
    return all;
}

std::string json_with(const std::string& pre_tokenizer, const std::string& vocab,
                      const std::string& model, const std::string& more) {
    const std::string cut =
        pre_tokenizer.empty() ? "" : "\"pre_tokenizer\": " + pre_tokenizer + ", ";
    return "{" + cut + more + "\"model\": {" + model + ", \"vocab\": {" + vocab + "}}}";
}

std::string refusal_of(const std::string& text) {
    return refusal([&] { read_json_tokenizer(text, "t.json", 12); });
}

}  // namespace

TEST_SUITE("models: tokenizer.json") {
    TEST_CASE("byte-level pieces: the earliest merge wins, and spaces belong to words") {
        // In GPT-2's vocabulary U+0120 is a space.
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
        // The last one of several spaces joins the word.
        CHECK(tokenizer->encode("b   a") == Ids{1, 3, 3, 6});
        CHECK(tokenizer->encode("a\n") == Ids{0, 10});
        CHECK(text_of(*tokenizer, tokenizer->encode("b   a's\nabc")) == "b   a's\nabc");
        CHECK_THROWS_AS(tokenizer->encode("x"), InputError);
        CHECK_THROWS_AS(tokenizer->encode("\xff"), InputError);
    }
    TEST_CASE("a tokenizer with another algorithm has labels, and asks for ids") {
        const auto refused = [](const std::string& parts, const char* named) {
            const auto tokenizer = read_json_tokenizer(
                "{" + parts + R"("vocab": {"the": 0, "##s": 1}}})", "t.json", 12);
            CHECK(tokenizer->label(1) == "##s");
            CHECK_THROWS_WITH_AS(tokenizer->encode("the"), doctest::Contains(named), InputError);
            CHECK_THROWS_WITH_AS(tokenizer->encode("the"), doctest::Contains("pass ids"),
                                 InputError);
        };
        refused(R"("model": {"type": "WordLevel", )", "the model WordLevel");
        refused(R"("pre_tokenizer": {"type": "CharDelimiterSplit"}, "model": {"merges": [], )",
                "the pre_tokenizer CharDelimiterSplit");
        refused(R"("normalizer": {"type": "Precompiled"}, "model": {"merges": [], )",
                "the normalizer Precompiled");
        refused(R"("model": {"merges": [], "end_of_word_suffix": "</w>", )",
                "marked ends of words");
    }
    TEST_CASE(
        "Llama 3: contractions in any case, digits in threes, a whole word as a piece first") {
        CHECK(cut_by_words(llama3, "It's 12345 O'CLOCK,\n\n  WE'LL go!") ==
              Words{"It", "'s", " ", "123", "45", " O", "'CLOCK", ",\n\n", " ", " WE", "'LL", " go",
                    "!"});
        const auto tokenizer = read_json_tokenizer(
            json_with(llama3, R"("a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4, "<s>": 5)",
                      R"("ignore_merges": true, "merges": ["a b"])",
                      R"("added_tokens": [{"id": 5, "content": "<s>", "special": true}],
                         "post_processor": {"type": "Sequence", "processors": [
                         {"type": "ByteLevel"}, {"type": "TemplateProcessing", "single":
                         [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]}]}, )"),
            "t.json", 12);
        CHECK(tokenizer->encode("abc") == Ids{5, 4});
        CHECK(tokenizer->encode("abcb") == Ids{5, 3, 2, 1});
        CHECK(tokenizer->encode("ab<s>c") == Ids{5, 3, 5, 2});
    }
    TEST_CASE("Qwen 2: single digits, and letters that were composed") {
        CHECK(cut_by_words(qwen2, "x 12a") == Words{"x", " ", "1", "2", "a"});
        const auto tokenizer = read_json_tokenizer(
            json_with(qwen2, R"("\u00c3": 0, "\u00a9": 1, "\u00c3\u00a9": 2)",
                      R"("merges": ["\u00c3 \u00a9"])", R"("normalizer": {"type": "NFC"}, )"),
            "t.json", 12);
        CHECK(tokenizer->encode("\u00e9") == Ids{2});
        CHECK(tokenizer->encode("e\u0301") == Ids{2});
    }
    TEST_CASE("gpt-oss: capitals begin a word, and endings belong to it") {
        CHECK(cut_by_words(o200k, "HelloWorld it's 1234 a/b//\n") ==
              Words{"Hello", "World", " it's", " ", "123", "4", " a", "/b", "//\n"});
    }
    TEST_CASE("BERT: lower case without accents, the longest pieces, unknown words as a whole") {
        const auto tokenizer = read_json_tokenizer(
            R"({"normalizer": {"type": "BertNormalizer", "clean_text": true,
                "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
                "pre_tokenizer": {"type": "BertPreTokenizer"},
                "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken":
                {"id": "[CLS]"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "[SEP]"}}]},
                "added_tokens": [{"id": 1, "content": "[CLS]"}, {"id": 2, "content": "[SEP]"}],
                "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0,
                "[CLS]": 1, "[SEP]": 2, "cafe": 3, "##s": 4, ",": 5, "the": 6, "##fe": 7, "ca": 8,
                "\u65e5": 9}}})",
            "t.json", 12);
        CHECK(tokenizer->encode("The Caf\u00e9s, the") == Ids{1, 6, 3, 4, 5, 6, 2});
        // Controls, format characters and private-use letters are removed; unassigned ones stay.
        CHECK(tokenizer->encode("th\u0001\u00ADe\ue000 \U000F1234the\ufffd") == Ids{1, 6, 6, 2});
        CHECK(tokenizer->encode("the\u0378 \U0010FFFF") == Ids{1, 0, 0, 2});
        CHECK(tokenizer->encode("caffe \u65e5\u65e5") == Ids{1, 0, 9, 9, 2});
        CHECK(tokenizer->encode("[CLS] the") == Ids{1, 1, 6, 2});
        CHECK(tokenizer->encode(std::string(101, 'a')) == Ids{1, 0, 2});
        CHECK(text_of(*tokenizer, Ids{1, 6, 3, 4, 2}) == "the cafes");
    }
    TEST_CASE("Gemma and Llama 2: spaces are marks, with one in front if the file says so") {
        const std::string pieces =
            R"("<unk>": 0, "a": 1, "\u2581": 2, "\u2581a": 3, "<0xC3>": 4, "<0xA9>": 5)";
        const std::string merges = R"("byte_fallback": true, "unk_token": "<unk>",
                                      "merges": ["\u2581 a"])";
        const auto ids = [&](const std::string& parts, const std::string& text,
                             const std::string& joins = {}) {
            return read_json_tokenizer(json_with("", pieces, joins.empty() ? merges : joins, parts),
                                       "t.json", 12)
                ->encode(text);
        };
        const std::string gemma =
            R"("normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
               "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior":
               "MergedWithPrevious", "invert": false}, )";
        CHECK(ids(gemma, "a a\u00e9") == Ids{1, 3, 4, 5});
        CHECK(ids(gemma, "a\u00fc") == Ids{1, 0});
        // Bytes are used only if the file enables them, and unknown pieces are joined the same way.
        const std::string alone = R"("unk_token": "<unk>", "merges": ["\u2581 a"])";
        const std::string no_bytes = R"("byte_fallback": false, )" + alone;
        CHECK(ids(gemma, "a a\u00e9", alone) == Ids{1, 3, 0});
        CHECK(ids(gemma, "a a\u00e9", no_bytes) == Ids{1, 3, 0});
        CHECK(ids(gemma, "a\u00e9\u00fca\u00e9", no_bytes) == Ids{1, 0, 0, 1, 0});
        CHECK(ids(gemma, "a\u00e9\u00fca\u00e9", R"("fuse_unk": true, )" + no_bytes) ==
              Ids{1, 0, 1, 0});
        CHECK(ids(gemma, "\u00e9\u00fc\u00fc\u00e9", R"("fuse_unk": true, )" + merges) ==
              Ids{4, 5, 0, 4, 5});
        const std::string llama =
            R"("pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme":
               "first", "split": false}, )";
        CHECK(ids(llama, "a a") == Ids{3, 3});
        CHECK(ids(llama, " a") == Ids{3});
    }
    TEST_CASE("parts that split join, drop or keep the text that they match") {
        const auto split = [](const std::string& behavior, const std::string& invert = "false") {
            const std::string part =
                R"({"type": "Split", "pattern": {"String": "-"}, "behavior": ")" + behavior +
                R"(", "invert": )" + invert + "}";
            return text_cuts_in(nlohmann::json::parse("{\"pre_tokenizer\": " + part + "}"),
                                "t.json")
                .words("a--b-", true);
        };
        CHECK(split("Isolated") == Words{"a", "-", "-", "b", "-"});
        CHECK(split("Removed") == Words{"a", "b"});
        CHECK(split("Removed", "true") == Words{"-", "-", "-"});
        CHECK(split("MergedWithPrevious") == Words{"a-", "-", "b-"});
        CHECK(split("MergedWithNext") == Words{"a", "-", "-b", "-"});
        CHECK(split("Contiguous") == Words{"a", "--", "b", "-"});
        CHECK(cut_by_words(R"({"type": "Digits", "individual_digits": false})", "a12b") ==
              Words{"a", "12", "b"});
        CHECK(cut_by_words(R"({"type": "Whitespace"})", "it's 1!? x") ==
              Words{"it", "'", "s", "1", "!?", "x"});
        // Letters, marks, digits, connectors and joiners belong to words; a superscript 2 does not.
        CHECK(cut_by_words(R"({"type": "Whitespace"})",
                           "a\u200Cb x\u200D e\u0301f \u203Fg m\u00B2") ==
              Words{"a\u200Cb", "x\u200D", "e\u0301f", "\u203Fg", "m", "\u00B2"});
        CHECK(cut_by_words(R"({"type": "WhitespaceSplit"})", " it's  1 ") == Words{"it's", "1"});
        CHECK(cut_by_words(R"({"type": "Punctuation"})", "a,,b") == Words{"a", ",", ",", "b"});
    }
    TEST_CASE("a file that is not a tokenizer is an error of one line") {
        CHECK(refusal_of("[]").find("t.json: has no 'model'") == 0);
        CHECK(refusal_of("{\"model\": {}}").find("t.json: 'model' has no 'vocab'") == 0);
        CHECK(refusal_of("{\"model\": {\"vocab\": {\"a\": 12}}}")
                  .find("t.json: the id of 'a' is not one") == 0);
        CHECK(refusal_of("{\"model\": {\"vocab\": {\"a\": -1}}}").find("t.json: the id of 'a'") ==
              0);
        CHECK(
            refusal_of("{\"model\": {\"vocab\": {}, \"merges\": [3]}}").find("t.json: 'merges'") ==
            0);
        CHECK(refusal_of("{\"model\": {\"vocab\": {}}, \"added_tokens\": [{\"id\": 0}]}")
                  .find("t.json: 'added_tokens'") == 0);
        CHECK(refusal_of("{").find("t.json") == 0);
        CHECK(refusal_of(json_with("{\"type\": \"Split\", \"pattern\": {\"Regex\": \"(\"}}", "",
                                   "\"merges\": []", ""))
                  .find("t.json: the pattern '('") == 0);
        CHECK(refusal_of(json_with("{\"type\": \"Split\"}", "", "\"merges\": []", ""))
                  .find("t.json: has a part without a pattern") == 0);
    }
    TEST_CASE("added tokens absorb spaces, stand alone, or wait for the normalizer") {
        const std::string cut = R"({"type": "WhitespaceSplit"})";
        const std::string merges = R"("type": "BPE", "unk_token": "?", "merges": [])";
        const auto encode = [&](const std::string& flags, const std::string& text) {
            return read_json_tokenizer(
                       json_with(cut, R"("a": 0, "b": 1, "?": 2, "h": 3)", merges,
                                 R"("normalizer": {"type": "Lowercase"}, "added_tokens": [)"
                                 R"({"id": 5, "content": "<X>", "special": true)" +
                                     flags + "}], "),
                       "t.json", 12)
                ->encode(text);
        };
        const std::string metaspace = R"(, "normalized": false)";
        CHECK(encode(metaspace, "a <X> b") == Ids{0, 5, 1});
        CHECK(encode(metaspace, "a <x> b") == Ids{0, 2, 2, 2, 1});
        CHECK(encode(R"(, "normalized": true)", "a <X> b <x>a") == Ids{0, 5, 1, 5, 0});
        CHECK(encode(R"(, "single_word": true)", "a<X> <X>b <X>") ==
              Ids{0, 2, 2, 2, 2, 2, 2, 1, 5});
    }
    TEST_CASE("lstrip and rstrip: the spaces next to an added token belong to it") {
        const std::string cut = R"({"type": "ByteLevel", "add_prefix_space": false})";
        const auto encode = [&](const std::string& flags, const std::string& text) {
            return read_json_tokenizer(
                       json_with(
                           cut, "\"a\": 0, \"Ġ\": 1, \"Ċ\": 2", R"("type": "BPE", "merges": [])",
                           R"("added_tokens": [{"id": 5, "content": "<|s|>", "special": true)" +
                               flags + "}], "),
                       "t.json", 12)
                ->encode(text);
        };
        CHECK(encode("", "a <|s|> a") == Ids{0, 1, 5, 1, 0});
        CHECK(encode(R"(, "rstrip": true)", "a <|s|> \n a <|s|>") == Ids{0, 1, 5, 0, 1, 5});
        CHECK(encode(R"(, "lstrip": true)", "a <|s|> a") == Ids{0, 5, 1, 0});
        CHECK(encode(R"(, "lstrip": true, "rstrip": true)", " <|s|>  <|s|> ") == Ids{5, 5});
    }
    TEST_CASE("an added token beyond the model's vocabulary refuses only texts that contain it") {
        const auto tokenizer = read_json_tokenizer(
            json_with("", R"("a": 0)", R"("type": "BPE", "merges": [])",
                      R"("added_tokens": [{"id": 12, "content": "<image>", "special": true}], )"),
            "t.json", 12);
        CHECK(tokenizer->encode("aa") == Ids{0, 0});
        CHECK(refusal<InputError>([&] {
                  tokenizer->encode("a<image>");
              }).find("contains token 12") != std::string::npos);
    }
    TEST_CASE("a WordPiece word has an end, whatever the file says") {
        const auto tokenizer = read_json_tokenizer(
            R"({"pre_tokenizer": {"type": "Whitespace"}, "model": {"type": "WordPiece",
                "unk_token": "?", "max_input_chars_per_word": 1000000000000000000,
                "vocab": {"?": 0, "a": 1, "##a": 2}}})",
            "f", 3);
        CHECK(tokenizer->encode(std::string(1000, 'a')).size() == 1000);
        CHECK(tokenizer->encode(std::string(70'000, 'a')) == Ids{0});
    }
    TEST_CASE("an old WordPiece file has no type") {
        const auto tokenizer = read_json_tokenizer(
            json_with(R"({"type": "BertPreTokenizer"})", R"("[UNK]": 0, "eat": 1, "##ing": 2)",
                      R"("unk_token": "[UNK]", "continuing_subword_prefix": "##",
                         "max_input_chars_per_word": 100)",
                      ""),
            "t.json", 12);
        CHECK(tokenizer->encode("eating eat ing") == Ids{1, 2, 1, 0});
    }
    TEST_CASE("rules that make a text grow without end are refused") {
        const auto grown = [](const std::string& normalizer, int times) {
            std::string all;
            for (int i = 0; i < times; ++i) all += (i > 0 ? ", " : "") + normalizer;
            return refusal([&] {
                read_json_tokenizer(
                    json_with(
                        "", R"("a": 0)", R"("type": "BPE", "merges": [])",
                        R"("normalizer": {"type": "Sequence", "normalizers": [)" + all + "]}, "),
                    "t.json", 12)
                    ->encode("a");
            });
        };
        const std::string tens =
            R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaaaa"})";
        CHECK(grown(tens, 3).find("no token for") == std::string::npos);
        CHECK(grown(tens, 40).find("more than 4 MB") != std::string::npos);
        CHECK(grown(R"({"type": "Prepend", "prepend": ")" + std::string(1000000, 'a') + "\"}", 9)
                  .find("more than 4 MB") != std::string::npos);
    }
    TEST_CASE("the lower case of a capital with a dot has two letters") {
        const auto cuts = text_cuts_in(
            nlohmann::json::parse(R"({"normalizer": {"type": "Lowercase"}})"), "t.json");
        CHECK(cuts.normalized("İX") == "i̇x");
    }
    TEST_CASE("GPT-2's tokenizer is two files, in its older form") {
        namespace fs = std::filesystem;
        const fs::path checkpoints = ATTN_SOURCE_DIR "/tests/models/fixtures";
        const ScratchFolder scratch;
        const fs::path folder = scratch / "older";
        fs::copy(checkpoints / "gpt2", folder);
        std::ofstream(folder / "vocab.json")
            << R"({"t": 0, "h": 1, "e": 2, "th": 3, "\u0120": 4, "the": 5, "\u0120the": 6, "#": 7,
                   "\u00c3": 8, "\u00a9": 9, "\u00c3\u00a9": 10, "<|endoftext|>": 12})";
        const auto trouble = [&folder] { return open_model(folder).tokenizer_trouble; };
        CHECK(trouble().find("vocab.json and no merges.txt") != std::string::npos);
        std::ofstream(folder / "merges.txt")
            << "#version: 0.2\nt h\nth e\r\n\xc4\xa0 the\n\xc3\x83 \xc2\xa9\n\n";
        const Model model = open_model(folder);
        REQUIRE(model.tokenizer != nullptr);
        CHECK(model.tokenizer->encode("the the") == Ids{5, 6});
        CHECK(model.tokenizer->encode("# he  the") == Ids{7, 4, 1, 2, 4, 6});
        CHECK(model.tokenizer->encode("th\u00e9<|endoftext|>the") == Ids{3, 10, 12, 5});
        CHECK(text_of(*model.tokenizer, {3, 10, 6}) == "th\u00e9 the");
        // Both file names work; a first line that is not a version is a merge.
        std::ofstream(folder / "merges.txt") << "h e\nt he\n";
        CHECK(open_model(folder, folder / "merges.txt").tokenizer->encode("the") == Ids{5});
        CHECK(open_model(folder, folder / "vocab.json").tokenizer->encode("h")[0] == 1);
        std::ofstream(folder / "merges.txt") << "t h e\n";
        CHECK(trouble().find("merges.txt: line 1") != std::string::npos);
        // Other families split words by other patterns, which the two files do not contain.
        fs::copy(checkpoints / "qwen2", scratch / "qwen2");
        fs::copy(folder / "vocab.json", scratch / "qwen2" / "vocab.json");
        fs::copy(folder / "merges.txt", scratch / "qwen2" / "merges.txt");
        CHECK(open_model(scratch / "qwen2").tokenizer_trouble.find("no tokenizer.json") !=
              std::string::npos);
    }
}
