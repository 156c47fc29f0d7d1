// Claims that diagnose must not make from too little evidence.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/app/their_file.hpp"

using program::has;
using program::run;

namespace {

const std::string left_out_words = ": there is no w_output to compute it with";

}  // namespace

TEST_SUITE("app: diagnose does not guess") {
    TEST_CASE("names that compete for one step are not an error: the surplus one is left out") {
        for (const char* mask : {"", " --mask causal"}) {
            TheirFile actual("--heads 3 --batch 2 --seq-len 5 --head-dim 4" + std::string(mask));
            for (const auto& [name, step] :
                 {std::pair("Q", "query"), {"K", "key"}, {"V", "value"}, {"ctx", "context"}}) {
                actual.save(name, step);
            }
            actual.save("y", "merged");
            actual.file.emplace_back("result", full_of({2, 5, 12}, 7));
            const program::Result result = actual.diagnose(mask);
            CHECK_MESSAGE(result.exit_code == 3, result.out << result.err);
            CHECK(has(result.out, "not compared  result" + left_out_words));
            CHECK(has(result.out, "right: context, merged"));
            for (const char* name : {"sim", "logits", "dots", "energy", "e", "w", "p", "alpha"}) {
                actual.save(name, "weights");
            }
            const program::Result many = actual.diagnose(mask);
            CHECK_MESSAGE((many.exit_code == 1 || many.exit_code == 3), many.out << many.err);
        }
    }

    TEST_CASE("a result after a projection without parameters accuses no step before it") {
        TheirFile actual(
            "--heads 3 --batch 2 --seq-len 5 --head-dim 4 --mask causal "
            "--output-projection --embed-dim 12");
        actual.save("q_heads", "query");
        actual.save("k_heads", "key");
        actual.save("v_heads", "value");
        actual.save("energy", "masked_scores");
        actual.save("probs", "weights");
        actual.save("concat", "merged");
        actual.save("output", "output");
        const program::Result result = actual.diagnose();
        CHECK_MESSAGE(result.exit_code == 3, result.out << result.err);
        CHECK(has(result.out, "assumed: --mask causal, by energy"));
        CHECK(has(result.out, "not compared  output" + left_out_words));
        CHECK_FALSE(has(result.out, "DIFF"));
        actual.save("W_o", "w_output");
        const program::Result known = actual.diagnose("--mask causal");
        CHECK_MESSAGE(known.exit_code == 0, known.out << known.err);
        CHECK(has(known.out, "merged, output"));
    }

    TEST_CASE("a tensor made from any drawn parameter is left out") {
        TheirFile alone("--heads 2 --batch 2 --seq-len 4 --output-projection --seed 7");
        for (const char* step : {"query", "key", "value", "weights", "merged"}) {
            alone.save(step, step);
        }
        alone.save("out", "output");
        const program::Result result = alone.diagnose("--output-projection");
        CHECK_MESSAGE(result.exit_code == 3, result.out);
        CHECK_MESSAGE(has(result.out, "out" + left_out_words), result.out);
        CHECK_FALSE(has(result.out, "DIFF"));

        TheirFile some("--heads 2 --batch 2 --seq-len 4 --seed 7");
        for (const char* step : {"x", "w_query", "w_key", "weights", "context"}) {
            some.save(step, step);
        }
        const program::Result without = some.diagnose("--heads 2");
        CHECK_MESSAGE(has(without.out, "context: there is no w_value to compute it with"),
                      without.out);
        CHECK(has(without.out, "right: weights"));
        // If it was drawn as the flags specify, it is compared.
        CHECK(has(some.diagnose("--heads 2 --batch 2 --seq-len 4 --seed 7").out,
                  "right: x, weights, context"));
    }
    TEST_CASE("a query from which nothing follows is not called right, whatever comes after it") {
        TheirFile actual("--heads 2 --batch 3 --seq-len 5 --head-dim 4 --mask causal");
        actual.save("attn", "weights");
        for (const char* name : {"q", "k"}) {
            for (const attn::Shape& shape :
                 {attn::Shape{7}, {2, 3, 5}, {1, 1}, {5, 4, 3, 2}, {3, 2, 5, 4}}) {
                actual.file.emplace_back(name, full_of(shape, 9e9F));
                const program::Result result = actual.diagnose(
                    "--given " + (actual.folder / "walk.npz") + " --heads 2 --mask causal");
                actual.file.pop_back();
                CHECK_MESSAGE(result.exit_code == 3, result.out << result.err);
                CHECK_FALSE(has(result.out, "right: "));
            }
        }
        // Both negated and scaled: their product is that of the walk.
        for (const auto& [name, step, factor] :
             {std::tuple("q", "query", -2.0F), {"k", "key", -0.5F}}) {
            attn::Array<float> cells = actual.walk.at(step).as<float>();
            for (float& cell : cells) cell *= factor;
            actual.file.emplace_back(name, attn::Tensor(actual.walk.at(step).axes(), cells));
        }
        CHECK(
            actual.diagnose("--given " + (actual.folder / "walk.npz") + " --heads 2 --mask causal")
                .exit_code == 0);
    }

    TEST_CASE("inputs alone do not pass") {
        TheirFile actual("--heads 2 --seq-len 5 --head-dim 4");
        actual.save("x", "x");
        const program::Result result = actual.diagnose("--given " + (actual.folder / "walk.npz"));
        CHECK(result.exit_code == 3);
        CHECK_MESSAGE(has(result.out, "no computed step was compared"), result.out);
    }

    TEST_CASE("settings that a probe contains are not guessed") {
        const std::string flags =
            "--random randn --batch 3 --seq-len 7 --heads 2 --embed-dim 8 --output-projection ";
        for (const std::string other : {"--mask causal", "--weight-layout in-out"}) {
            TheirFile actual(flags + other);
            const std::string probe = actual.folder / "probe.npz";
            REQUIRE(
                run("probe --heads 2 --embed-dim 8 --output-projection -o " + probe).exit_code ==
                0);
            actual.save("y", "output");
            if (other == "--mask causal") actual.save("causal_mask", "mask");
            const program::Result result = actual.diagnose("--given " + probe);
            CHECK_MESSAGE(result.exit_code != 0, result.out << result.err);
            CHECK(
                has(result.out, "yours matches with " + other + ", which the probe does not have"));
            CHECK_FALSE(has(result.out, "right: "));
        }
        TheirFile actual(flags + "--weight-layout in-out");
        for (const char* name : {"x", "w_query", "w_key", "w_value", "w_output"}) {
            actual.save(name, name);
        }
        actual.save("y", "output");
        const program::Result requested = actual.diagnose("--heads 2");
        CHECK_MESSAGE(requested.exit_code == 3, requested.out << requested.err);
        CHECK_MESSAGE(has(requested.out, "with --weight-layout in-out: right; without: "),
                      requested.out);
        CHECK(has(requested.out, "Which did you intend?"));
    }

    TEST_CASE("a file with x and every parameter needs no other file") {
        TheirFile actual(
            "--heads 3 --head-dim 4 --projection fused --bias --output-projection "
            "--output-bias --mask causal --batch 2 --seq-len 5 --random randn");
        actual.save("x", "x");
        actual.save("attn.c_attn.weight", "w_qkv");
        actual.save("attn.c_attn.bias", "b_qkv");
        actual.save("attn.c_proj.weight", "w_output");
        actual.save("attn.c_proj.bias", "b_output");
        actual.save("a", "output");
        actual.save("att", "weights");
        const program::Result result = actual.diagnose("--mask causal");
        CHECK_MESSAGE(result.exit_code == 0, result.out << result.err);
        CHECK(has(result.out, "right: weights, output"));
    }

    TEST_CASE("with one head, the context before and after merging is right twice") {
        TheirFile actual("--heads 1 --output-projection --mask causal --batch 2 --random randn");
        for (const char* name : {"x", "w_query", "w_key", "w_value", "w_output"}) {
            actual.save(name, name);
        }
        actual.save("z", "context");
        actual.save("concat", "context");
        const program::Result result = actual.diagnose("--mask causal");
        CHECK_MESSAGE(result.exit_code == 0, result.out << result.err);

        TheirFile wide("--heads 2 --head-dim 4 --embed-dim 6 --output-projection --random randn");
        for (const char* name : {"x", "w_query", "w_key", "w_value", "w_output", "merged"}) {
            wide.save(name, name);
        }
        wide.save("output", "merged");
        CHECK(wide.diagnose("--heads 2 --head-dim 4").exit_code != 0);
    }

    TEST_CASE("no mistake is named after a step that cannot be replayed") {
        TheirFile actual(
            "--heads 6 --kv-heads 2 --embed-dim 24 --mask causal --batch 2 --random randn "
            "--bug softmax-axis=query");
        actual.file.emplace_back("k", full_of({2, 2, 9}, 1));
        actual.save("att", "weights");
        const program::Result result =
            actual.diagnose("--given " + (actual.folder / "walk.npz") +
                            " --heads 6 --kv-heads 2 --embed-dim 24 --mask causal");
        CHECK_MESSAGE(result.exit_code == 3, result.out << result.err);
        CHECK_FALSE(has(result.out, "softmax-axis"));
    }

    TEST_CASE("every step that is present helps to break ties") {
        TheirFile actual("--rope half --heads 2 --head-dim 4 --mask causal --bug rope-q-only");
        actual.save("q", "rotated_query");
        actual.save("att", "weights");
        const program::Result result =
            actual.diagnose("--rope half --heads 2 --head-dim 4 --mask causal");
        CHECK_MESSAGE(has(result.out, "rope-q-only"), result.out);
        CHECK_FALSE(has(result.out, "rope-missing"));
    }

    TEST_CASE("for rounded numbers the evidence is that they are rounded, not that they moved") {
        TheirFile actual("--heads 2 --mask causal --batch 3 --random randn --embed-dim 8");
        attn::Array<float> cells = actual.walk.at("weights").as<float>();
        for (float& cell : cells) cell = std::round(cell * 1e3F) / 1e3F;
        actual.file.emplace_back("weights", attn::Tensor(actual.walk.at("weights").axes(), cells));
        const std::string given =
            "--given " + (actual.folder / "walk.npz") + " --heads 2 --mask causal";
        const program::Result result = actual.diagnose(given);
        CHECK(has(result.out, "your numbers have 3 decimals and are compared at that precision"));
        CHECK(result.exit_code == 0);
        CHECK_FALSE(has(result.out, "in the wrong places"));
        actual.file = {{"att", full_of({1, 2, 4, 4}, 0.25F)}};
        CHECK_FALSE(has(actual.diagnose(given).out, "pass --heads"));
    }

    TEST_CASE("a result that may have been saved before its projection raises a question") {
        const std::string flags = "--heads 3 --output-projection --mask causal --embed-dim 12";
        const std::string requested = "if you saved attn_out before w_output was applied";
        TheirFile actual(flags + " --batch 2");
        actual.save("attn_out", "merged");
        const std::string given = flags + " --given " + (actual.folder / "walk.npz");
        const program::Result alone = actual.diagnose(given);
        CHECK(alone.exit_code == 3);
        CHECK_MESSAGE(has(alone.out, "The output projection was not applied"), alone.out);
        CHECK_MESSAGE(has(alone.out, requested), alone.out);
        actual.save("concat", "merged");
        const program::Result twice = actual.diagnose(given);
        CHECK(twice.exit_code == 1);
        CHECK_FALSE(has(twice.out, requested));
        // Heads first and no batch: the shape of the output gives their number.
        TheirFile lone(flags);
        for (const char* step : {"query", "key", "value", "w_output"}) lone.save(step, step);
        lone.save("y", "merged");
        const program::Result result = lone.diagnose("--mask causal");
        CHECK_MESSAGE(has(result.out, "if you saved y before w_output"), result.out << result.err);
        lone.file.back().second = lone.walk.at("output");
        CHECK(lone.diagnose("--mask causal").exit_code == 0);
    }

    TEST_CASE("pasted numbers are diagnosed under their names") {
        TheirFile actual("--heads 2");
        std::string text = "attn = tensor([";
        for (std::size_t h = 0; h < 2; ++h) {
            text += h == 0 ? "[" : ",\n        [";
            for (std::size_t q = 0; q < 6; ++q) {
                text += q == 0 ? "[" : ",\n         [";
                for (std::size_t k = 0; k < 6; ++k) {
                    const double cell = actual.walk.at("weights").at((h * 6 + q) * 6 + k);
                    text += (k == 0 ? "" : ", ") + std::to_string(cell);
                }
                text += "]";
            }
            text += "]";
        }
        const std::string pasted = actual.folder / "pasted.txt";
        std::ofstream(pasted) << text << "], grad_fn=<SoftmaxBackward0>)\nloss = tensor(2.5)\n";
        const program::Result result =
            run("diagnose " + pasted + " --heads 2 --decimals 6 --partial");
        CHECK_MESSAGE(result.exit_code == 0, result.out << result.err);
        CHECK(has(result.out, "right: weights"));
    }

    TEST_CASE("one array without a name gets the name of its file, and is the result otherwise") {
        const program::Folder folder;
        const std::string flags = "--heads 2 --batch 3 --mask causal --bug scale-missing ";
        for (const char* file : {"attn.npy", "run_7.npy"}) {
            const std::string path = folder / file;
            const std::string only = file == std::string("attn.npy") ? "weights" : "context";
            REQUIRE(run(flags + "--only " + only + " -o " + path).exit_code == 0);
            const program::Result result =
                run("diagnose " + path + " --heads 2 --batch 3 --mask causal");
            CHECK_MESSAGE(has(result.out, only + ": scale-missing"), result.out << result.err);
        }
    }

    TEST_CASE("printed bfloat16 is read as bfloat16, and one sample needs no name") {
        const program::Folder folder;
        const std::string printed = folder / "mine.txt";
        std::ofstream(printed) << "tensor([[0.3340, 0.6680],\n        [0.1001, 0.9023]], "
                                  "dtype=torch.bfloat16, grad_fn=<SoftmaxBackward0>)";
        const attn::Tensor tensor = attn::read_tensor(printed);
        CHECK(tensor.at(0) == 0.333984375);
        CHECK(tensor.at(2) == 0.10009765625);
        TheirFile actual("--heads 2 --batch 3 --seq-len 4");
        const attn::Tensor& all = actual.walk.at("merged");
        attn::Array<float> first = attn::empty_array<float>({4, 8});
        for (std::size_t i = 0; i < 32; ++i) first.data()[i] = static_cast<float>(all.at(i));
        actual.file.emplace_back("mine", attn::Tensor({"t", "c"}, first));
        const program::Result result = actual.diagnose("--heads 2 --batch 3 --seq-len 4");
        CHECK_MESSAGE(has(result.out, "right: merged"), result.out << result.err);
    }

    TEST_CASE("a mistake is reported before a different way to write the step") {
        const std::string flags = "--heads 2 --mask causal --seq-len 5 --head-dim 3 --batch 3";
        TheirFile actual(flags + " --bug added-fill=-1e9 --bug einsum-diagonal");
        actual.save("masked", "masked_scores");
        actual.save("att", "weights");
        actual.save("ctx", "context");
        const std::string text = actual.diagnose(flags).out;
        INFO(text);
        CHECK(text.find("context: einsum-diagonal") < text.find("harmless: the results"));
        CHECK(has(text, "harmless: the results"));
    }

    TEST_CASE("keys saved unchanged cannot have been scaled before: two mistakes stay two") {
        const std::string flags = "--heads 6 --kv-heads 3 --embed-dim 12 --seq-len 7 --batch 3 ";
        TheirFile actual(flags + "--bug gqa-tile --bug scale-missing");
        for (const auto& [name, step] : {std::pair{"q", "query"},
                                         {"k", "repeated_key"},
                                         {"v", "repeated_value"},
                                         {"attn", "weights"},
                                         {"out", "merged"}}) {
            actual.save(name, step);
        }
        const std::string text = actual.diagnose(flags).out;
        CHECK_MESSAGE(has(text, "repeated_key: gqa-tile"), text);
        CHECK_MESSAGE(has(text, "weights: scale-missing"), text);
        CHECK_FALSE(has(text, "key-scaled-first"));
    }

    TEST_CASE("no mistake is named that would have made a right tensor wrong") {
        // Self-attention instead of cross-attention; the query is right.
        const std::string flags = "--heads 2 --head-dim 3 --embed-dim 8 --seq-len 4 --batch 2 ";
        TheirFile actual(flags);
        for (const char* step : {"query", "key", "weights", "merged"}) actual.save(step, step);
        const program::Result result =
            actual.diagnose(flags + "--memory-len 7 --given " + (actual.folder / "walk.npz"));
        CHECK_MESSAGE(has(result.out, "key: no known mistake matches"), result.out << result.err);
        CHECK_FALSE(has(result.out, "cross-qk-swapped"));
    }

    TEST_CASE(
        "either padding or later keys may be left visible, or all keys except those that are "
        "both") {
        const std::string walk = "--ids '4,7,2,9,5;3,8,1,0,0' --pad-id 0 --heads 2 --embed-dim 6 ";
        const std::string both = walk + "--mask padding,causal ";
        for (const auto& [actual_flags, id] :
             {std::pair{walk + "--mask padding", "weights: causal-dropped\n"},
              {walk + "--mask causal", "weights: padding-dropped, harmless"},
              {both + "--rule 'mask[b,h,q,k] = k > q and b == 1 and k >= 3'",
               "weights: masks-joined-by-and\n"}}) {
            TheirFile actual(actual_flags);
            actual.save("att", "weights");
            const std::string text = actual.diagnose(both).out;
            CHECK_MESSAGE(has(text, id), text);
        }
        // Padding in front is seen by the words after it.
        const std::string left = "--ids '0,0,4,7,2;9,5,3,8,1' --pad-id 0 --heads 2 --embed-dim 6 ";
        TheirFile actual(left + "--mask causal");
        actual.save("att", "weights");
        CHECK(
            has(actual.diagnose(left + "--mask padding,causal").out, "weights: padding-dropped\n"));
    }

    TEST_CASE("a probe cannot specify where output goes or what may differ") {
        TheirFile actual("--heads 2");
        actual.save("x", "x");
        for (const std::string setting : {"output", "atol", "rtol", "save_config"}) {
            const std::string stolen = actual.folder / "stolen";
            actual.diagnose("", "attn-explain settings\n{\"heads\": \"2\", \"" + setting +
                                    "\": \"" + stolen + "\"}");
            const program::Result result =
                run("diagnose " + (actual.folder / "walk.npz") + " --given " + actual.mine);
            CHECK(result.exit_code == 2);
            CHECK_MESSAGE(has(result.err, "a settings file cannot set '" + setting + "'"),
                          result.err);
            CHECK_FALSE(std::filesystem::exists(stolen));
        }
    }
}
