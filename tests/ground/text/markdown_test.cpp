#include "attn/ground/text/strings.hpp"

#include <doctest/doctest.h>

using namespace attn;

TEST_SUITE("markdown") {
    TEST_CASE("prose from any source starts no format, tag or script") {
        CHECK(markdown_prose("'<script>x</script>' & *a* `b`") ==
              "'&lt;script&gt;x&lt;/script&gt;' &amp; \\*a\\* \\`b\\`");
        CHECK(markdown_prose("two\nlines") == "two lines");
    }

    TEST_CASE("code contains backticks between longer runs of them") {
        CHECK(markdown_code("a") == "`a`");
        CHECK(markdown_code("a`<script>") == "`` a`<script> ``");
        CHECK(markdown_code("``") == "``` `` ```");
        CHECK(markdown_fence("a", 3) == "```");
        CHECK(markdown_fence("````", 3) == "`````");
    }
}
