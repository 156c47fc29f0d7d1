#include <doctest/doctest.h>

#include <map>

#include "attn/files/io/array_files.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"
#include "tests/support/program.hpp"

using program::run;

namespace {

using NewNames = std::map<std::string, std::string>;

/// Writes some tensors of a walk under a user's own names.
void save_as(const std::string& walk, const NewNames& names, const std::string& path) {
    std::vector<attn::TensorRef> arrays;
    const std::vector<attn::NamedTensor> all = attn::read_tensors(walk);
    for (const attn::NamedTensor& each : all) {
        const auto found = names.find(each.name);
        if (found != names.end()) arrays.push_back({found->second, each.tensor});
    }
    REQUIRE(arrays.size() == names.size());
    attn::OutputFile file(path);
    attn::write_npz(file, arrays);
    file.commit();
}

struct Files {
    program::Folder folder;
    std::string walk = folder / "walk.npz", given = folder / "given.npz",
                mine = folder / "mine.npz";

    program::Result diagnose(const std::string& flags, const NewNames& inputs,
                             const NewNames& results) {
        REQUIRE(run(flags + " -o " + walk).exit_code == 0);
        save_as(walk, inputs, given);
        save_as(walk, results, mine);
        return run("diagnose " + mine + " --given " + given);
    }
};

const NewNames module_names{{"x", "X"},
                            {"w_query", "attn.q_proj.weight"},
                            {"w_key", "attn.k_proj.weight"},
                            {"w_value", "attn.v_proj.weight"}};

}  // namespace

TEST_SUITE("app: diagnose sets itself up") {
    TEST_CASE("names of parameters in common use are recognised") {
        const auto first = [](const char* name) {
            const std::vector<std::string> steps = attn::known_steps(name);
            return steps.empty() ? std::string() : steps.front();
        };
        for (const char* name : {"W_q", "wq", "query.weight", "self.q_proj.weight", "to_q.weight",
                                 "w_query", "Wq", "q_weight", "linear_q.weight"}) {
            CHECK_MESSAGE(first(name) == "w_query", name);
        }
        CHECK(first("in_proj_weight") == "w_qkv");
        CHECK(first("h.0.attn.c_attn.bias") == "b_qkv");
        CHECK(first("out_proj.bias") == "b_output");
        CHECK(first("self_attn.linears.0.weight") == "w_query");
        CHECK(first("layers.1.self_attn.linears.3.bias") == "b_output");
        CHECK(first("Wo") == "w_output");
        CHECK(first("bv") == "b_value");
        CHECK(first("wei") == "weights");
        CHECK(first("weights") == "weights");
        CHECK(first("attn.out_proj") == "output");
        CHECK(first("ln.weight") == "");
    }

    TEST_CASE("heads, head width and layout are read from the shapes and reported") {
        Files files;
        const program::Result heads =
            files.diagnose("--batch 2 --seq-len 5 --heads 3 --embed-dim 12", module_names,
                           {{"weights", "att"}, {"merged", "y"}});
        CHECK_MESSAGE(heads.exit_code == 0, heads.out << heads.err);
        CHECK(heads.out.find("assumed: --heads 3, by the shape of the weights") !=
              std::string::npos);
        const program::Result narrow =
            files.diagnose("--seq-len 6 --embed-dim 10 --head-dim 4 --weight-layout in-out",
                           {{"x", "x"}, {"w_query", "Wq"}, {"w_key", "Wk"}, {"w_value", "Wv"}},
                           {{"context", "out"}});
        CHECK_MESSAGE(narrow.exit_code == 0, narrow.out << narrow.err);
        CHECK(narrow.out.find("--weight-layout in-out") != std::string::npos);
        CHECK(narrow.out.find("--head-dim 4") != std::string::npos);
    }

    TEST_CASE("shared keys, weights with an axis of heads and a lone bias need no flag") {
        Files files;
        const NewNames lone_bias{
            {"x", "x"}, {"w_query", "Wq"}, {"w_key", "Wk"}, {"w_value", "Wv"}, {"b_output", "bo"}};
        const NewNames axis{{"x", "x"}, {"w_query", "W_Q"}, {"w_key", "W_K"}, {"w_value", "W_V"}};
        const auto assumes = [&](const std::string& flags, const NewNames& inputs,
                                 const std::string& what) {
            const program::Result result =
                files.diagnose(flags, inputs, {{"weights", "att"}, {"context", "ctx"}});
            CHECK_MESSAGE(result.exit_code == 0, flags << result.out << result.err);
            CHECK_MESSAGE(result.out.find(what) != std::string::npos, flags << result.out);
        };
        const std::string shared = "assumed: --kv-heads 2, by the shape of w_key";
        assumes("--batch 2 --seq-len 5 --heads 4 --kv-heads 2 --embed-dim 16", module_names,
                shared);
        assumes(
            "--seq-len 5 --heads 6 --kv-heads 2 --head-dim 3 --embed-dim 10 --value-dim 4 "
            "--weight-layout in-out",
            module_names, shared);
        assumes("--seq-len 6 --heads 2 --output-projection --output-bias", lone_bias, "right");
        assumes("--projection stacked --heads 3 --head-dim 2 --batch 2 --embed-dim 5", axis,
                "right");
        assumes("--projection stacked --heads 4 --kv-heads 2 --head-dim 3 --weight-layout in-out",
                axis, shared);
    }

    TEST_CASE("unstated settings are tried before giving up: causal, and a number of heads") {
        Files files;
        const program::Result causal =
            files.diagnose("--batch 2 --seq-len 5 --heads 3 --embed-dim 12 --mask causal",
                           module_names, {{"merged", "y"}});
        CHECK_MESSAGE(causal.exit_code == 3, causal.out << causal.err);
        CHECK(causal.out.find("with --heads 3 --mask causal: right; without: unknown") !=
              std::string::npos);
        const program::Result mistaken = files.diagnose(
            "--batch 2 --seq-len 5 --heads 3 --embed-dim 12 --mask causal --bug scale-missing",
            module_names, {{"merged", "y"}});
        CHECK_MESSAGE(mistaken.exit_code == 3, mistaken.out << mistaken.err);
        CHECK(mistaken.out.find("scale-missing") != std::string::npos);
    }

    TEST_CASE("a mistake that another setting would explain too raises a question") {
        Files files;
        const program::Result result = files.diagnose(
            "--seq-len 5 --heads 2 --embed-dim 8 --projection fused --bug fused-layout",
            {{"x", "x"}, {"w_qkv", "c_attn.weight"}}, {{"weights", "att"}, {"context", "ctx"}});
        CHECK_MESSAGE(result.exit_code == 3, result.out << result.err);
        CHECK(result.out.find("with --projection fused-by-head: right; without: fused-layout") !=
              std::string::npos);
    }

    TEST_CASE("an array of --given that is not an input is named in the error") {
        Files files;
        const program::Result result = files.diagnose("--seq-len 5 --embed-dim 8",
                                                      {{"x", "x"},
                                                       {"w_query", "Wq"},
                                                       {"w_key", "Wk"},
                                                       {"w_value", "Wv"},
                                                       {"scores", "something"}},
                                                      {{"context", "ctx"}});
        CHECK(result.err.find("--given: not used: something") != std::string::npos);
    }
}
