#include "tests/support/program.hpp"

using namespace program;

TEST_SUITE("app: positions") {
    TEST_CASE("a flag that does not fit is refused in one line with the change to make") {
        const std::pair<const char*, const char*> refused[]{
            {"--rope both", "use half or interleaved"},
            {"--rope half --head-dim 3", "pass another --head-dim, or --rotary-dim 2"},
            {"--rope half --head-dim 1", "pass another --head-dim\n"},
            {"--rope half --rotary-dim 3", "--rotary-dim 3 is not a positive even number"},
            {"--rope half --rotary-dim 8", "pass at most 4"},
            {"--rope half --positions 1,2", "2 for the 6 tokens of x: give one for each"},
            {"--rope half --positions 0,1,2,3,4,-5", "--positions must be at least 0"},
            {"--rope half --positions '0,1,2,3,4,5;1'", "there is none: leave it out"},
            {"--rope half --positions '1;2;3'", "one list, and a second one"},
            {"--rope half --rope-scaling ntk:4", "linear, dynamic, llama3, yarn or longrope"},
            {"--rope half --rope-scaling linear", "write it like linear:4"},
            {"--rope half --rope-scaling linear:4:8", "write it like linear:4"},
            {"--rope half --rope-scaling linear:x", "'x' is not a number"},
            {"--rope half --rope-scaling linear:0", "the factor must be a number above 0"},
            {"--rope half --rope-scaling dynamic:4", "write it like dynamic:4:8192"},
            {"--rope half --rotary-dim 2 --rope-scaling dynamic:4:8", "two pairs of features"},
            {"--rope half --rope-scaling llama3:8:4:1:8192", "must be below the high one"},
            {"--rope half --rope-scaling llama3:8:8192", "write it like llama3:8:1:4:8192"},
            {"--rope half --rope-scaling longrope:4:8", "write it like longrope:32:4096"},
            {"--rope half --rope-scaling longrope:4:8:1,1", "write it like longrope:32:4096"},
            {"--rope half --head-dim 4 --rope-scaling longrope:4:8:1,1:2",
             "the long list has 1 factors for the 2 pairs"},
            {"--rope half --head-dim 4 --rope-scaling longrope:4:8:1,0:2,2", "factor of each pair"},
            {"--rope half --head-dim 4 --rope-scaling longrope:4:1:1,1:2,2", "must be above 1"},
            {"--rope half --head-dim 4 --rope-scaling longrope:4:8:1,1:2,2:mscale=1",
             "attention_factor=X"},
            {"--rope half --rope-scaling yarn:4:0", "length of the training inputs"},
            {"--rope half --rope-scaling yarn:4:8:truncate=no", "truncate=false"},
            {"--rope half --rope-scaling yarn:4:8:trunc=1", "truncate=false"},
            {"--rope half --rope-scaling yarn:4:8:1:32", "the fast limit comes first"},
            {"--rope half --rope-theta 0", "--rope-theta must be a number above 0"},
        };
        for (const auto& [flags, message] : refused) {
            INFO(flags);
            const Result result = run(std::string(flags) + " --only x");
            CHECK(result.exit_code == 2);
            CHECK(result.out.empty());
            CHECK(result.err.starts_with("attn-explain: error: --"));
            CHECK(result.err.find(message) != std::string::npos);
            CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
        }
    }

    TEST_CASE("a rotated feature is derived from both features of its pair") {
        const Result result = run("why 'rotated_query[1,2]' --rope half");
        CHECK(result.out.find("query[1,2] * cos[1,0] + query[1,0] * sin[1,0]") !=
              std::string::npos);
        const Result still = run("why 'rotated_key[1,3]' --rope interleaved --rotary-dim 2");
        CHECK(still.out.find("= if f >= 2 then key[t,f] else ") != std::string::npos);
    }
}
