#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/steps/projection.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/learn/notebooks/builder.hpp"
#include "attn/show/render/torch_text.hpp"

// Notebook 001: attention of one word, of all words in loops, of all words in whole arrays, and
// with eight heads. The notebook was run without a seed, so its draws cannot be had again.

namespace attn {
namespace {

WalkConfig base(const ReplayOptions& replay, Projection projection, std::int64_t embed_dim) {
    WalkConfig config;
    config.rng = Rng::numpy;
    config.projection = projection;
    config.query_len = 4;
    config.embed_dim = embed_dim;
    config.init = std::array{Init::uniform, Init::uniform, Init::normal};
    config.variant = Variant::loop;
    if (!replay.corrected) config.scale.by = ScaleChoice::By::none;
    return config;
}

/// All words in loops, after the draws of the one word.
NotebookWalk in_loops(const ReplayOptions& replay) {
    WalkConfig config = base(replay, Projection::matrix, 20);
    config.burn_before = {{Distribution::normal, 20 + 400 + 80 + 80}};
    return walk_of(replay, "loops", config,
                   {"key-index-i", "softmax-overflow", "softmax-axis=one"});
}

/// All words in whole arrays, with draws of their own.
NotebookWalk in_arrays(const ReplayOptions& replay) {
    WalkConfig config = base(replay, Projection::matrix, 20);
    config.input = RandomInput{Distribution::uniform};
    config.variant = Variant::vectorized;
    config.burn_before = in_loops(replay).config.burn_before;
    config.burn_before.push_back({Distribution::normal, 4 * 20});
    config.burn_before.push_back({Distribution::uniform, 2 * 400});
    config.burn_before.push_back({Distribution::normal, 400});
    return walk_of(replay, "arrays", config, {"softmax-overflow"});
}

/// Eight heads, one after the other.
NotebookWalk eight_heads(const ReplayOptions& replay) {
    WalkConfig config = base(replay, Projection::per_head, 24);
    config.input = RandomInput{Distribution::uniform};
    config.heads = 8;
    config.burn_before = in_arrays(replay).config.burn_before;
    config.burn_before.push_back({Distribution::uniform, 4 * 20 + 2 * 400});
    config.burn_before.push_back({Distribution::normal, 400});
    return walk_of(replay, "eight-heads", config, {"softmax-overflow"});
}

/// The values in order under other axes.
Tensor as_column(const Tensor& row) {
    Array<double> column = row.as<double>();
    column.reshape({row.size(), 1});
    return {{"key", "query"}, std::move(column)};
}

/// Normals that belong to no walk, for one of its tensors.
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

/// The output projection that a corrected replay adds, drawn after all else.
Ledger projected_heads(const NotebookWalk& heads) {
    WalkConfig config = heads.config;
    const Plan apart = resolve(config);
    const auto generator = generator_of(apart);
    Ledger given = draw(apart, *generator);
    const DrawnTensor w_output = normals("w_output", 24, 24);
    given.record("w_output", draw({w_output}, apart.dtype, *generator)["w_output"]);
    config.output_projection = true;
    return walk(resolve(config), given);
}

}  // namespace

std::vector<NotebookWalk> numpy_loops_walks(const ReplayOptions& replay) {
    return {in_loops(replay), in_arrays(replay), eight_heads(replay)};
}

Document numpy_loops(const ReplayOptions& replay) {
    NotebookBuilder page(CodeLanguage::numpy, replay, attn_notebook_numpy_loops,
                         numpy_loops_walks(replay));

    // One word: the query is made from x3, key and value are plain draws.
    WalkConfig config = base(replay, Projection::none, 20);
    config.query_len = 1;
    config.memory = RandomInput{};
    config.key_len = 4;
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
    if (replay.corrected) page.own("output", projected_heads(eight_heads(replay))["output"]);
    Document document = page.finish("numpy-loops", one);
    if (replay.seed) document.sections.front().note.clear();  // it tells of the page's own draws
    return document;
}

}  // namespace attn
