#include <sstream>

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
    TEST_CASE("one mistake is explained, an unknown one is refused") {
        CHECK(run("bugs einsum-diagonal").out.find("fix, PyTorch: ") != std::string::npos);
        const program::Result unknown = run("bugs softmx-axis");
        CHECK(unknown.exit_code == 2);
        CHECK(unknown.err.find("softmax-axis") != std::string::npos);
    }
    TEST_CASE("a walk with a mistake prints its numbers and names the mistake in the margin") {
        const std::string weights = "--variant loop --ids 1,2 --only weights ";
        const program::Result wrong = run(weights + "--bug softmax-axis=query");
        CHECK(wrong.out.find("# ! [softmax-axis=query]") != std::string::npos);
        CHECK(wrong.out.find("Each row sums to 1") == std::string::npos);
        // With a softmax over queries it is the column that sums to 1.
        CHECK(run(weights + "--bug softmax-axis=query -q").out ==
              run(weights + "--softmax-axis query -q").out);
        CHECK(run("--bug no-projection --only query").out.find("[no-projection]") !=
              std::string::npos);
    }
    TEST_CASE("a mistake that has no effect in this walk is refused") {
        const program::Result result = run("--bug mask-inverted");
        CHECK(result.exit_code == 2);
        CHECK(result.err.find("nothing is masked") != std::string::npos);
    }
}
