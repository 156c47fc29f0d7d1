// What a file implies about its walk: heads, shared keys, caches, slopes.
#include <cmath>

#include "tests/app/their_file.hpp"

using program::has;
using program::run;

TEST_SUITE("app: diagnose takes the walk from a file") {
    TEST_CASE("the number of keys is that of key and weights themselves") {
        const std::string flags = "--heads 4 --projection none --head-dim 6 --batch 2 --seq-len 3 ";
        for (const std::string more : {"--memory-len 7", "--memory-len 2 --value-dim 5"}) {
            TheirFile actual(flags + more);
            for (const char* step : {"query", "key", "value"}) actual.save(step, step);
            actual.save("z", "context");
            CHECK_MESSAGE(actual.diagnose().exit_code == 0, more);
            actual.save("attn", "weights");
            CHECK_MESSAGE(actual.diagnose().exit_code == 0, more);
            actual.file.back().second = full_of(actual.walk.at("weights").shape(), 0.5F);
            CHECK_MESSAGE(actual.diagnose().exit_code != 0, more);
        }
    }

    TEST_CASE("heads in groups that share a key, and heads counted by a bias, are heads") {
        for (const std::string bug : {"", " --bug scale-missing"}) {
            TheirFile grouped(
                "--heads 6 --kv-heads 2 --projection none --batch 2 --seq-len 5 --head-dim 4" +
                bug);
            const attn::Tensor& query = grouped.walk.at("query");
            const attn::Shape split{2, 2, 3, 5, 4};
            grouped.file.emplace_back("q", attn::strided(query, split, {120, 60, 20, 4, 1}));
            for (const char* step : {"key", "value", "weights"}) grouped.save(step, step);
            const int code = bug.empty() ? 0 : 1;
            CHECK(grouped.diagnose().exit_code == code);
            // The same mistake with tokens first, as in einsum("btgrd,bsgd->bgrts").
            grouped.file.clear();
            const auto& key = grouped.walk.at("key");
            grouped.file.emplace_back("q",
                                      attn::strided(query, {2, 5, 2, 3, 4}, {120, 4, 60, 20, 1}));
            grouped.file.emplace_back("k", attn::strided(key, {2, 5, 2, 4}, {40, 4, 20, 1}));
            grouped.file.emplace_back(
                "v", attn::strided(grouped.walk.at("value"), {2, 5, 2, 4}, {40, 4, 20, 1}));
            grouped.file.emplace_back("attn", attn::strided(grouped.walk.at("weights"),
                                                            {2, 2, 3, 5, 5}, {150, 75, 25, 5, 1}));
            const program::Result tokens_first = grouped.diagnose();
            CHECK_MESSAGE(tokens_first.exit_code == code, tokens_first.out);

            TheirFile biased(
                "--heads 3 --projection none --seq-len 5 --position-bias alibi --mask causal" +
                bug);
            for (const char* step : {"query", "key", "value", "position_bias", "weights"}) {
                biased.save(step, step);
            }
            const program::Result by_bias = biased.diagnose("--position-bias alibi --mask causal");
            CHECK_MESSAGE(by_bias.exit_code == code, by_bias.out);
            CHECK(has(by_bias.out, "scale-missing") == !bug.empty());
        }
    }

    TEST_CASE("nothing is called right without a comparison: walks in 16 bits with a file in 32") {
        const program::Folder folder;
        const std::string mine = folder / "mine.npz";
        for (const std::string type : {"bfloat16", "float16"}) {
            const std::string flags = " --heads 2 --mask causal --dtype " + type;
            const std::string save = " --only query,key,value,scaled_scores,weights,context -o ";
            REQUIRE(run(flags + save + mine).exit_code == 0);
            CHECK(run("diagnose " + mine + flags).exit_code == 0);
            for (const std::string id : {"softmax-axis=query", "scale-missing", "key-lost=1",
                                         "weights-factor=0.9", "softmax-base-two"}) {
                REQUIRE(run(flags + save + mine + " --bug " + id).exit_code == 0);
                const program::Result found = run("diagnose " + mine + flags);
                CAPTURE(type);
                CHECK(found.exit_code == 1);
                CHECK_MESSAGE(has(found.out, ": " + id), found.out);
            }
        }
    }

    TEST_CASE("the key shared by all heads may be saved rotated, by right or wrong code") {
        for (const std::string bug : {"", " --bug scale-missing"}) {
            TheirFile actual("--preset deepseek" + bug);
            const attn::Tensor& turned = actual.walk.at("rotated_key");
            const attn::Tensor& shared = actual.walk.at("rotary_key");
            const std::size_t width = shared.shape().back();
            attn::Array<float> cells = shared.as<float>();
            for (std::size_t i = 0; i < cells.size(); ++i) {
                const std::size_t row = (i / width + 1) * turned.shape().back();
                cells.data()[i] = static_cast<float>(turned.at(row - width + i % width));
            }
            actual.file.emplace_back("k_pe", attn::Tensor(shared.axes(), cells));
            actual.save("probs", "weights");
            const program::Result result =
                actual.diagnose("--preset deepseek --given " + (actual.folder / "walk.npz"));
            CHECK_MESSAGE(has(result.out, "already rotated by its positions"), result.out);
            CHECK(result.exit_code == (bug.empty() ? 0 : 1));
            CHECK(has(result.out, "weights: scale-missing") == !bug.empty());
        }
    }

    TEST_CASE("a cache that started empty is the key and the value") {
        TheirFile actual("--heads 2 --projection none --batch 2 --seq-len 5 --head-dim 4");
        actual.save("q", "query");
        actual.save("k_cache", "key");
        actual.save("v_cache", "value");
        actual.save("attn", "weights");
        const program::Result result = actual.diagnose();
        CHECK_MESSAGE(result.exit_code == 0, result.out);
        CHECK(has(result.out, "k_cache, q, v_cache are taken as given"));
    }

    TEST_CASE("a mistake of the recurrent form is named even if the walk runs the parallel form") {
        TheirFile actual("--attention gated-linear --form recurrent --bug gate-on-values");
        actual.save("out", "context");
        const std::string given = " --given " + (actual.folder / "walk.npz");
        const program::Result result = actual.diagnose("--attention gated-linear" + given);
        CHECK_MESSAGE(result.exit_code == 1, result.out);
        CHECK(has(result.out, "context: gate-on-values"));
        CHECK(has(result.out, "recognised as form recurrent: --form recurrent"));
    }

    TEST_CASE("slopes that were not given are tried, and raise a question") {
        TheirFile actual(
            "--heads 2 --projection none --seq-len 5 --head-dim 4 --mask causal --position-bias "
            "alibi");
        for (const char* step : {"query", "key", "value", "weights"}) actual.save(step, step);
        const program::Result result = actual.diagnose("--heads 2 --mask causal");
        CHECK_MESSAGE(result.exit_code == 3, result.out);
        CHECK_MESSAGE(has(result.out, "with --position-bias alibi: right; without: unknown"),
                      result.out);
        const program::Result outcome =
            actual.diagnose("--heads 2 --mask causal --position-bias alibi");
        CHECK_MESSAGE(outcome.exit_code == 0, outcome.out);
    }

    TEST_CASE("scores that include their bias are biased scores") {
        for (const std::string bug : {"", " --bug scale-t5"}) {
            TheirFile actual("--preset t5" + bug);
            actual.save("scores", "biased_scores");
            actual.save("attn_weights", "weights");
            const program::Result result =
                actual.diagnose("--preset t5 --given " + (actual.folder / "walk.npz"));
            CHECK_MESSAGE(result.exit_code == (bug.empty() ? 0 : 1), result.out);
            CHECK(has(result.out, "biased_scores: scale-t5") == !bug.empty());
        }
    }

    TEST_CASE("a tensor rotated in an unknown way is not called unrotated") {
        const std::string flags = "--heads 3 --head-dim 4 --mask causal --rope half ";
        TheirFile actual(flags + "--rope-theta 7");
        actual.save("q", "rotated_query");
        actual.save("k", "rotated_key");
        actual.save("attn", "weights");
        const program::Result result =
            actual.diagnose(flags + "--given " + (actual.folder / "walk.npz"));
        CHECK_MESSAGE(has(result.out, "rotated_query: rope-theta=7"), result.out);
        CHECK_FALSE(has(result.out, "rope-missing"));
    }
}
