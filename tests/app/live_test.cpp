#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "attn/show/render/render.hpp"
#include "tests/support/program.hpp"

using program::has;
using program::shell;

TEST_SUITE("app: live pages") {
    TEST_CASE("a live page contains the core, its controls and a policy that lets it run") {
        const auto live = shell("attn-explain --text 'two owls' --bias --live --format html");
        REQUIRE(live.exit_code == 0);
        CHECK(has(live.out, "script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src"));
        CHECK(has(live.out, "<script type=\"application/json\" id=\"core\">"));
        CHECK(has(live.out, "\"words\":[\"--format=html\",\"--bias\"]"));
        CHECK(has(live.out, "\"value\":\"two owls\"}"));
        CHECK(has(live.out, "\"variant\":\"loop\""));
        CHECK_FALSE(has(live.out, "connect-src"));
        CHECK(live.out.size() < 1'200'000);
    }

    TEST_CASE("without the flag a page has none of it, and is the same by loops") {
        const auto page = shell("attn-explain --text 'two owls' --format html");
        CHECK_FALSE(has(page.out, "wasm"));
        CHECK_FALSE(has(page.out, "data-knob"));
    }

    TEST_CASE("the input that was given has a field") {
        const auto ids = shell("attn-explain --ids 3,1 --live --format html").out;
        CHECK(has(ids, "{\"name\":\"--ids\""));
        CHECK_FALSE(has(ids, "{\"name\":\"--text\""));
        const auto drawn = shell("attn-explain --batch 2 --seq-len 3 --live --format html").out;
        CHECK(has(drawn, "{\"name\":\"--seq-len\""));
        CHECK(has(drawn, "\"words\":[\"--format=html\",\"--batch=2\"]"));
        CHECK_FALSE(has(drawn, "{\"name\":\"--text\""));
    }

    TEST_CASE("a model's page shows the next words, and omits flags that do not apply to a model") {
        const auto live = shell(
            "attn-explain --model-file stories --text 'A bird' --layer 4 --live --format html");
        REQUIRE(live.exit_code == 0);
        CHECK(live.out.size() < 2'600'000);
        CHECK(has(live.out, "\"words\":[\"--format=html\",\"--live\",\"--model-file=stories\"]"));
        CHECK(has(live.out, "{\"name\":\"--layer\""));
        CHECK_FALSE(has(live.out, "{\"name\":\"--heads\""));
        CHECK_FALSE(has(live.out, "{\"name\":\"--seed\""));
        const std::string begin = "<script type=\"application/json\" id=\"next\">[";
        const std::size_t at = live.out.find(begin);
        REQUIRE(at != std::string::npos);
        const nlohmann::json next = nlohmann::json::parse(live.out.substr(
            at + begin.size() - 1, live.out.find("</script>", at) - at - begin.size() + 1));
        REQUIRE(next.size() == 6);
        for (const auto& token : next) {
            const auto why = shell("attn-explain why 'next[" + token["id"].dump() +
                                   "]' --model-file stories --text 'A bird' --json");
            const auto printed = nlohmann::json::parse(why.out);
            CHECK(printed["probability"] == token["probability"]);
            CHECK(printed["parts"].size() == token["parts"].size());
            for (const auto& part : printed["parts"]) {
                CHECK(token["parts"][part["part"].get<std::string>()] == part["logit"]);
            }
        }
    }

    TEST_CASE("strings hold any bytes, but none that ends a script") {
        CHECK(attn::as_letters("").empty());
        CHECK(attn::as_letters(std::string_view("\0", 1)) == "!!");
        CHECK(attn::as_letters("\xff\xff\xff\xff") == "#~#~c");
        std::string bytes;
        for (int i = 0; i < 5000; ++i) bytes += static_cast<char>(i * i % 251);
        CHECK(attn::as_letters(bytes).find_first_of("<&\"\n ") == bytes.npos);
    }

    TEST_CASE("a walk that a page cannot compute is refused before the page is made") {
        const auto refused = [](const std::string& flags, const std::string& remainder) {
            const auto result = shell("attn-explain --live --format html " + flags);
            CHECK(result.exit_code == 2);
            CHECK(result.out.empty());
            CHECK_MESSAGE(has(result.err, remainder), result.err);
        };
        refused("--x data/six-by-three.csv", "leave --x out");
        refused("--model-file tests/models/fixtures/gpt2 --ids 1,0", "pass --model-file stories");
        refused("--model-file stories --text 'Once upon' --tokenizer mine.bin", "--tokenizer out");
        refused("--bug scale-missing --hide-mistake", "leave --hide-mistake out");
        refused("--notebook 001", "--as-flags");
        refused("--html-compare '--mask none'", "leave --html-compare out");
        CHECK(has(shell("attn-explain --live --only ids").err, "--live has no effect here"));
    }
}
