
#include "attn/judge/mistakes/mistake.hpp"
#include "tests/support/program.hpp"

using program::run;

TEST_SUITE("app: bugs") {
    TEST_CASE("the list names every catalogued mistake once") {
        const std::string list = run("bugs").out;
        for (const attn::Mistake& mistake : attn::mistakes()) {
            INFO(mistake.id);
            const std::size_t place = list.find("  " + mistake.id + " ");
            CHECK(place != std::string::npos);
            CHECK(list.find("  " + mistake.id + " ", place + 1) == std::string::npos);
        }
    }
    TEST_CASE("a walk with a mistake prints its numbers and names the mistake in the margin") {
        const std::string weights = "--variant loop --ids 1,2 --only weights ";
        // With a softmax over queries it is the column that sums to 1.
        CHECK(run(weights + "--bug softmax-axis=query -q").out ==
              run(weights + "--softmax-axis query -q").out);
    }
}
