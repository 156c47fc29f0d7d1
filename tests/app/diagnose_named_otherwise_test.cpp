// Right files whose x, or whose parameters, have another name: none of them is accused, and a wrong
// result beside them is still named.

#include <map>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/files/io/array_files.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "tests/support/program.hpp"

namespace named_otherwise {
using program::Folder;
using program::has;
using program::run;
namespace {

using Names = std::map<std::string, std::string>;

/// Diagnoses tensors of a walk, those in `names` under their other names.
program::Result diagnosed(const attn::Ledger& walk, const std::vector<std::string>& steps,
                          const Names& names, const std::string& flags = {}) {
    const Folder folder;
    std::vector<attn::TensorRef> arrays;
    for (const std::string& step : steps) {
        const auto other = names.find(step);
        arrays.push_back({other == names.end() ? step : other->second, walk[step]});
    }
    attn::OutputFile file(folder / "mine.npz");
    attn::write_npz(file, arrays);
    file.commit();
    return run("diagnose " + (folder / "mine.npz") + " " + flags);
}

attn::Ledger walked(const char* settings) {
    const attn::Plan plan = attn::resolve(attn::configured(settings));
    return attn::walk(plan, attn::draw(plan), attn::step_table());
}

const std::vector<std::string> projected{"x",   "w_query", "w_key",   "w_value", "query",
                                         "key", "value",   "weights", "context"};
const std::vector<const char*> names_of_x{"embedding", "emb", "tok_emb", "token_embeddings",
                                          "embs",      "e",   "E",       "z",
                                          "y",         "pos", "residual"};

}  // namespace
}  // namespace named_otherwise

TEST_SUITE("app: diagnose named otherwise") {
    using namespace named_otherwise;

    TEST_CASE("x under any name is what the parameters multiply") {
        const attn::Ledger right = walked("seq-len 5, embed-dim 8, seed 9");
        const attn::Ledger wrong = walked("seq-len 5, embed-dim 8, seed 9, scale none");
        for (const char* name : names_of_x) {
            CAPTURE(name);
            const auto good = diagnosed(right, projected, {{"x", name}});
            CHECK_MESSAGE(good.exit_code == 0, good.out);
            CHECK(has(good.out, "right: query, key, value, weights, context"));
            const auto bad = diagnosed(wrong, projected, {{"x", name}});
            CHECK_MESSAGE(bad.exit_code == 1, bad.out);
            CHECK(has(bad.out, "weights: scale-missing"));
        }
    }

    TEST_CASE("x of the words is x under the name of an embedding, and no second query") {
        const std::vector<std::string> steps{"x", "query", "key", "weights"};
        const attn::Ledger right = walked("text 'the cat sat on'");
        const attn::Ledger other = walked("text 'the cat sat on', seed 9");
        attn::Ledger wrong = right;
        wrong.record("x", other["x"]);
        for (const char* name : {"embedding", "emb", "e"}) {
            CAPTURE(name);
            const std::string words = "--text 'the cat sat on'";
            const auto good = diagnosed(right, steps, {{"x", name}}, words);
            CHECK_MESSAGE(good.exit_code == 0, good.out);
            CHECK(has(good.out, "right: x, query, key, weights"));
            const auto bad = diagnosed(wrong, steps, {{"x", name}}, words);
            CHECK_MESSAGE(bad.exit_code == 3, bad.out);
            CHECK_FALSE(has(bad.out, "no-projection"));
        }
    }

    TEST_CASE("parameters under the names of what they make are known by their shapes") {
        const attn::Ledger right = walked("seq-len 3, embed-dim 8, seed 9");
        const std::vector<std::string> steps{"x", "w_query", "w_key", "w_value", "weights"};
        const auto good = diagnosed(
            right, steps,
            {{"w_query", "query_proj"}, {"w_key", "key_proj"}, {"w_value", "value_proj"}});
        CHECK_MESSAGE(good.exit_code == 0, good.out);
    }

    TEST_CASE("query and key alone are enough to judge what they make, beside an x") {
        const attn::Ledger right = walked("seq-len 3, embed-dim 8, seed 9");
        const std::vector<std::string> steps{"x", "query", "key", "scores"};
        const auto good = diagnosed(right, steps, {});
        CHECK_MESSAGE(good.exit_code == 0, good.out);
        attn::Ledger wrong = right;
        wrong.record("scores", walked("seq-len 3, embed-dim 8, seed 8")["scores"]);
        const auto bad = diagnosed(wrong, steps, {});
        CHECK_MESSAGE(bad.exit_code == 3, bad.out);
        CHECK(has(bad.out, "scores: no known mistake matches"));
    }

    TEST_CASE("page 000 by its own names") {
        const Folder folder;
        const std::string walk = "--notebook 000 --format npz -o " + (folder / "mine.npz");
        const std::string only = " --only x,query,key,value,masked_scores,weights,context,ids ";
        const Names of_page{{"x", "e"},
                            {"query", "q"},
                            {"key", "k"},
                            {"value", "v"},
                            {"ids", "s"},
                            {"masked_scores", "attn_logits"},
                            {"weights", "attention"},
                            {"context", "values"}};
        for (const bool is_right : {true, false}) {
            REQUIRE(run(walk + only + (is_right ? "--corrected" : "--bug mask-not-applied"))
                        .exit_code == 0);
            attn::Ledger saved;
            for (const attn::NamedTensor& each : attn::read_tensors(folder / "mine.npz")) {
                saved.record(each.name, each.tensor);
            }
            std::vector<std::string> steps;
            for (const auto& entry : saved.entries()) steps.push_back(entry.name);
            const auto answer = diagnosed(saved, steps, of_page, "--notebook 000");
            CAPTURE(answer.out);
            CHECK(has(answer.out, "e is x"));
            CHECK(answer.exit_code == (is_right ? 0 : 1));
            CHECK(has(answer.out, "mask-not-applied") == !is_right);
        }
    }
}
