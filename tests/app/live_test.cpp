#include <doctest/doctest.h>

#include "tests/support/program.hpp"

using program::has;
using program::shell;

TEST_SUITE("app: live pages") {
    TEST_CASE("a live page holds the core, its knobs and a policy that lets it run") {
        const auto live = shell("attn-explain --text 'two owls' --bias --live --format html");
        REQUIRE(live.exit_code == 0);
        CHECK(has(live.out, "script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src"));
        CHECK(has(live.out, "<script type=\"application/json\" id=\"core\">H4sI"));
        CHECK(has(live.out, "\"words\":[\"--format=html\",\"--bias\"]"));
        CHECK(has(live.out, "\"said\":\"two owls\"}"));
        CHECK(has(live.out, "\"variant\":\"loop\""));
        CHECK_FALSE(has(live.out, "connect-src"));
        CHECK(live.out.size() < 1'200'000);
    }

    TEST_CASE("without the flag a page has none of it, and is the same by loops") {
        const auto page = shell("attn-explain --text 'two owls' --format html");
        CHECK_FALSE(has(page.out, "wasm"));
        CHECK_FALSE(has(page.out, "data-knob"));
    }

    TEST_CASE("the input that is said is the one that has a field") {
        const auto ids = shell("attn-explain --ids 3,1 --live --format html").out;
        CHECK(has(ids, "{\"name\":\"--ids\""));
        CHECK_FALSE(has(ids, "{\"name\":\"--text\""));
        const auto drawn = shell("attn-explain --batch 2 --seq-len 3 --live --format html").out;
        CHECK(has(drawn, "{\"name\":\"--seq-len\""));
        CHECK(has(drawn, "\"words\":[\"--format=html\",\"--batch=2\"]"));
        CHECK_FALSE(has(drawn, "{\"name\":\"--text\""));
    }

    TEST_CASE("what a page cannot walk is refused before it is made") {
        const auto refused = [](const std::string& flags, const std::string& says) {
            const auto result = shell("attn-explain --live --format html " + flags);
            CHECK(result.exit_code == 2);
            CHECK(result.out.empty());
            CHECK_MESSAGE(has(result.err, says), result.err);
        };
        refused("--x data/six-by-three.csv", "leave --x out");
        refused("--model-file stories --text 'Once upon'", "leave --model-file out");
        refused("--bug scale-missing --hide-mistake", "leave --hide-mistake out");
        refused("--notebook 001", "--as-flags");
        refused("--html-compare '--mask none'", "leave --html-compare out");
        CHECK(has(shell("attn-explain --live --only ids").err, "--live has no effect here"));
    }
}
