#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/steps/projection.hpp"
#include "attn/learn/notebooks/builder.hpp"

// Notebook 001: attention of one word, of all words in loops, of all words in whole arrays, and
// with eight heads. The notebook was run without a seed, so its random numbers cannot be
// reproduced.

namespace attn {
namespace {

/// Returns the values in order with other axes.
Tensor as_column(const Tensor& row) {
    Array<double> column = row.as<double>();
    column.reshape({row.size(), 1});
    return {{"key", "query"}, std::move(column)};
}

/// Describes normal numbers that are not part of a walk, for one of its tensors.
DrawnTensor normals(const char* name, std::size_t rows, std::size_t columns) {
    return {name, name, {{"in", rows}, {"out", columns}}};
}

std::string largest_score(const Ledger& ledger) {
    double largest = -HUGE_VAL;
    for (std::size_t i = 0; i < ledger["scores"].size(); ++i) {
        largest = std::max(largest, ledger["scores"].at(i));
    }
    return fmt::format("{:.1f}", largest);
}

/// Returns the output projection that a corrected replay adds, drawn last.
Ledger projected_heads(const NotebookWalk& heads) {
    WalkConfig config = heads.config;
    const Plan separate_plan = resolve(config);
    const auto generator = generator_of(separate_plan);
    Ledger given = draw(separate_plan, *generator);
    const DrawnTensor w_output = normals("w_output", 24, 24);
    given.record("w_output", draw({w_output}, separate_plan.dtype, *generator)["w_output"]);
    config.output_projection = true;
    return walk(resolve(config), given);
}

}  // namespace

Document numpy_loops(const ReplayOptions& replay) {
    const std::vector<NotebookWalk> walks = walks_in(attn_notebook_numpy_loops, replay);
    NotebookBuilder page(CodeLanguage::numpy, replay, attn_notebook_numpy_loops, walks);

    // One word: the query is computed from x3; key and value are drawn directly.
    WalkConfig config = configured(
        "rng numpy, seq-len 1, memory-len 4, embed-dim 20, projection none, variant loop");
    if (!replay.corrected) configure(config, "scale none");
    settle(config, replay);
    const Plan one = resolve(config);
    page.codes(one);
    const auto generator = generator_of(one);
    Ledger given = draw({normals("x3", 1, 20), normals("w_query", 20, 20), normals("key", 4, 20),
                         normals("value", 4, 20)},
                        one.dtype, *generator);
    given.record("query",
                 Tensor({"query", "feature"},
                        loop::project(given["x3"].as<double>(), given["w_query"].as<double>(),
                                      empty_array<double>({0}), WeightLayout::in_out)));
    const Ledger word = walk_with(one, given, replay, {"softmax-overflow", "softmax-axis=one"});
    const Tensor scores = as_column(word["scores"]);
    const Tensor weights = as_column(word["weights"]);
    page.own("scores_shape", shape_text(scores.shape()));
    page.own("scores", scores);
    page.own("weights", weights);
    page.fill("weights", "sum", four(sum_of(weights)));
    page.own("one_weight", scalar_text(weights.at(1)));
    page.own("context_shape", shape_text(word["context"].shape()));
    page.own("context", word["context"]);

    for (const auto& [section, walk] : {std::pair{"loop_context_shape", "loops"},
                                        {"array_context_shape", "arrays"},
                                        {"head_context_shape", "eight-heads"}}) {
        page.fill(section, "largest", largest_score(page.walked(walk).ledger));
    }
    if (replay.corrected)
        page.own("output", projected_heads(find_walk(walks, "eight-heads"))["output"]);
    Document document = page.finish("numpy-loops", one);
    if (replay.seed) document.sections.front().note = {};  // it describes the page's own draws
    return document;
}

}  // namespace attn
