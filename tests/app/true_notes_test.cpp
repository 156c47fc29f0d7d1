// The claims of notes hold for the numbers beside them; tests/check_notes.py checks many more walks
// and sentences.
#include <array>
#include <limits>

#include "tests/support/steps.hpp"

using program::has;
using program::run;
using steps::Json;

namespace {

Json step_of(const Json& all, const std::string& name) {
    for (const Json& step : all) {
        if (step["name"] == name) return step;
    }
    return {};
}

double number_of(const std::string& text) {
    if (text == "\"-inf\"") return -std::numeric_limits<double>::infinity();
    return text == "\"nan\"" ? std::numeric_limits<double>::quiet_NaN() : std::stod(text);
}

/// The numbers of a tensor, cut into rows of its last axis.
std::vector<std::vector<double>> rows_of(const Json& step) {
    std::vector<std::vector<double>> rows;
    const std::size_t width = step["shape"].back();
    for (const std::string& text : steps::numbers_of(step)) {
        if (rows.empty() || rows.back().size() == width) rows.emplace_back();
        rows.back().push_back(number_of(text));
    }
    return rows;
}

std::size_t visible(const std::vector<double>& scores) {
    return static_cast<std::size_t>(
        std::count_if(scores.begin(), scores.end(), [](double s) { return !std::isinf(s); }));
}

std::string note_of(const Json& all, const std::string& name) {
    const Json note = step_of(all, name)["note"];
    return note.is_null() ? "" : note;
}

const std::vector<std::string> walks{"--seq-len 7 --mask chunk:3",
                                     "--seq-len 6 --mask window:2,causal --heads 2",
                                     "--seq-len 4 --mask causal --sink zero",
                                     "--batch 2 --seq-len 4 --lengths 3,0 --mask padding",
                                     "--batch 2 --seq-len 4 --lengths 0,2 --mask padding",
                                     "--batch 2 --seq-len 3 --lengths 2,0 --mask padding "
                                     "--empty-row zero --heads 2",
                                     "--ids 0,3,0 --pad-id 0 --mask padding,causal --sink randn",
                                     "--text 'u v w x' --memory-text 'y z' --mask causal "
                                     "--causal-align end",
                                     "--seq-len 3",
                                     "--seq-len 5 --mask documents:2+3"};

}  // namespace

TEST_SUITE("app: true notes") {
    TEST_CASE("the range of a row's sum is what its cells allow") {
        for (const std::string& walk : walks) {
            INFO(walk);
            const Json all = steps::of(walk);
            const Json* scores = nullptr;
            for (const Json& step : all) {
                const std::string name = step["name"];
                if (name == "scaled_scores" || name == "masked_scores") scores = &step;
            }
            std::size_t most = 0;
            for (const auto& row : rows_of(*scores)) most = std::max(most, visible(row));
            const std::string note = note_of(all, "row_sum");
            const std::string range = has(walk, "mask") ? "the number of cells that are not hidden"
                                                        : std::to_string(most);
            CHECK_MESSAGE(has(note, "dominates, to " + range + ", if all are equal"), note);
            const bool sink = has(walk, "sink");
            CHECK(has(note, "its own exponential, 1 at most") == sink);
            for (const std::string& text : steps::numbers_of(step_of(all, "row_sum"))) {
                const double sum = number_of(text);
                if (!std::isnan(sum)) CHECK(sum < double(most) + (sink ? 1 : 0) + 1e-4);
            }
        }
    }

    TEST_CASE("a note names the rows that sum to 1 if not all do") {
        for (const std::string& walk : walks) {
            INFO(walk);
            const Json all = steps::of(walk);
            const std::string note = note_of(all, "weights");
            bool each = true;
            for (const auto& row : rows_of(step_of(all, "weights"))) {
                double sum = 0;
                for (const double weight : row) sum += weight;
                each = each && std::abs(sum - 1) < 1e-5;
            }
            CHECK_MESSAGE(has(note, "Each row sums to 1:") == each, note);
            CHECK_MESSAGE(has(note_of(all, "context"), "Each row is an average") == each, note);
            const bool some = !each && !has(walk, "sink");
            CHECK_MESSAGE(has(note, "Each row that sees a key sums to 1:") == some, note);
            CHECK(!has(run(walk).out, "may all see"));
        }
        const std::string sink = "--ids 0,0,5 --pad-id 0 --mask padding,causal --sink zero";
        const Json all = steps::of(sink);
        CHECK(has(note_of(all, "masked_scores"), "see no key: the sink will take all the weight."));
        CHECK(has(note_of(all, "weights"), "see no key: the sink takes all the weight."));
    }

    TEST_CASE("a mask names the kinds that hide a cell") {
        const std::vector<std::array<std::string, 3>> cases{
            {"--seq-len 4 --mask window:4,causal", "after the query", "window"},
            {"--seq-len 4 --mask chunk:7,causal", "after the query", "chunk"},
            {"--seq-len 4 --mask documents:4,causal", "after the query", "document"},
            {"--ids '3,1;2,2' --pad-id 0 --mask padding,causal", "after the query", "padding"},
            {"--ids '3,1;2,0' --pad-id 0 --mask causal,padding", "and keys that are padding",
             "window"},
            {"--seq-len 4 --mask window:3,causal", "and keys more than 2 tokens back", "chunk"}};
        for (const auto& [walk, named, silent] : cases) {
            const std::string note = note_of(steps::of(walk), "mask");
            const std::string reasons = note.substr(0, note.find('.'));
            CHECK_MESSAGE(has(reasons, named), walk << ": " << note);
            CHECK_MESSAGE(!has(reasons, silent), walk << ": " << note);
        }
    }

    TEST_CASE("why names the source of an input in the words of its step") {
        const std::vector<std::array<std::string, 3>> cases{
            {"x[0,1]", "--model-file stories --layer 3 --text Lily", "what layers 0 to 2 made"},
            {"ids[1]", "--text 'b a'", "each token's number in the vocabulary"},
            {"ids[1]", "--model-file stories --text Lily", "each token's number in the tokenizer"},
            {"ids[1]", "--ids 8,9", "ids as given"},
            {"g_key[1]", "--qk-norm head", "learned in training, 1 here"},
            {"g_query_latent[0]", "--mla 6 --mla-query-rank 4 --heads 2", "training, 1 here"},
            {"w_key[1,0]", "", "a parameter: learned in training, drawn here"},
            {"memory[0,1]", "--memory-len 2", "memory ~ N(0, 1)"},
            {"x[1,1]", "--x data/six-by-three.csv", "= x as given"}};
        for (const auto& [cell, walk, words] : cases) {
            const std::string text = run("why '" + cell + "' " + walk).out;
            CHECK_MESSAGE(has(text, words), walk << ": " << text);
            CHECK_MESSAGE(!has(text, "drawn or given"), text);
        }
    }

    TEST_CASE("nan has no sign") {
        const std::string walk = " --ids '7,8;1,2' --lengths 2,0 --mask padding";
        for (const std::string cell : {"weights[1,1,0]", "context[1,0,2]", "row_sum[1,1]"}) {
            const std::string text = run("why '" + cell + "' --depth 4" + walk).out;
            CHECK_MESSAGE(has(text, "= nan"), text);
            CHECK_MESSAGE(!has(text, "-nan"), text);
        }
    }

    TEST_CASE("a slice names its source, as in PyTorch") {
        const auto computed_by = [](const std::string& part, const std::string& name) {
            const std::string text = run("notebook 000 -q --only '" + part + "'").out;
            CHECK_MESSAGE(has(text, "grad_fn=<" + name + "Backward0>"), part << ": " << text);
        };
        computed_by("weights", "Softmax");
        computed_by("weights[1,0]", "Select");
        computed_by("weights[0,:,1:3]", "Slice");
        computed_by("weights[0,1:,0]", "Select");
        computed_by("weights[...]", "Alias");
        computed_by("weights[...,1]", "Select");
    }

    TEST_CASE("a sentence of an attention file is true of the printed walk, or is left out") {
        const auto note = [](const std::string& walk, const std::string& step) {
            return note_of(steps::of("--attention " + walk + " --only " + step), step);
        };
        // 31/32 to the 22nd power is 0.497; 63/64 to the 44th 0.500; 255/256 to the 177th 0.500.
        const std::string two = note("retention", "decay");
        CHECK_MESSAGE(has(two, "Head 0 forgets half of a token after about 22 more."), two);
        CHECK_MESSAGE(has(two, "Head 1 forgets slowest: half is gone after about 44."), two);
        const std::string four = note("retention --heads 4", "decay");
        CHECK_MESSAGE(has(four, "Head 3 forgets slowest: half is gone after about 177."), four);
        CHECK(!has(note("retention --heads 1", "decay"), "slowest"));
        CHECK(note_of(steps::of("--attention retention --heads 4 --only 'decay[2:]'"), "decay") ==
              "");
        for (const std::string flags : {"", " --seq-len 1"}) {
            const std::string exclusive = note("exclusive" + flags, "exclusive_context");
            CHECK_MESSAGE(has(exclusive, "The first token sees only itself"), exclusive);
        }
        CHECK(!has(note("exclusive --mask none", "exclusive_context"), "first token"));
        CHECK(!has(note("exclusive --mask none --batch 2", "exclusive_context"), "first token"));
        CHECK(has(note("fire", "share"), "However long the text"));
        CHECK(!has(note("fire --mask none", "share"), "However long the text"));
    }

    TEST_CASE("compare names its tolerance and what is within it, and reads tables of figures") {
        const program::Folder folder;
        const auto heads = [&](const std::string& text) {
            const std::string file = folder / (text + ".json");
            REQUIRE(
                run("heads --model-file stories --ids " + text + " --json -o " + file).exit_code ==
                0);
            return file;
        };
        const std::string first = heads("1,403,407,261");
        const program::Result same = run("compare " + first + " " + first);
        CHECK(same.exit_code == 0);
        CHECK_MESSAGE(has(same.out, "heads.entropy"), same.out);
        const program::Result other =
            run("compare " + first + " " + heads("1,403,261,407") + " --rtol 1e-3");
        CHECK(other.exit_code == 1);
        CHECK_MESSAGE(has(other.out, "DIFFERS in "), other.out);

        const program::Result near = run("compare loop vectorized --seq-len 9 --embed-dim 32");
        CHECK_MESSAGE(has(near.out, " decimals"), near.out);
        CHECK_MESSAGE(has(near.out, "rounding explains every difference"), near.out);
        CHECK(!has(near.out, " \n"));
    }
}
