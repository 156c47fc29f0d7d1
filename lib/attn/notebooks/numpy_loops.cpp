#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/cards/step_table.hpp"
#include "attn/notebooks/builder.hpp"
#include "attn/render/torch_text.hpp"
#include "attn/steps/projection.hpp"
#include "attn/tensor/slice.hpp"
#include "attn/text/told.hpp"

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

/// The lines of softmax without its safety, along one axis.
std::string naive_softmax(const std::string& scores, const std::string& axis) {
    return "exponentials = np.exp(" + scores +
           ")\nweights = exponentials / exponentials.sum(axis=" + axis + ", keepdims=True)";
}

std::string safe_softmax(const std::string& scores, const std::string& axis) {
    return naive_softmax(scores + " - " + scores + ".max(axis=" + axis + ", keepdims=True)", axis);
}

constexpr const char* overflow_note =
    "exp() meets the bare scores: from 710 on it overflows, and the row turns to nan. Only a shape "
    "is printed here, so nobody would see it; the largest score in this replay is {:.1f}.";

std::string overflow_words(const Ledger& ledger) {
    double largest = -HUGE_VAL;
    for (std::size_t i = 0; i < ledger["scores"].size(); ++i) {
        largest = std::max(largest, ledger["scores"].at(i));
    }
    return fmt::format(fmt::runtime(overflow_note), largest);
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
    NotebookBuilder notebook(CodeLanguage::numpy, replay);
    const bool corrected = replay.corrected;

    // One word: the query is made from x3, key and value are plain draws.
    WalkConfig config = base(replay, Projection::none, 20);
    config.query_len = 1;
    config.memory = RandomInput{};
    config.key_len = 4;
    settle(config, replay);
    const Plan one = resolve(config);
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

    notebook.shape("scores_shape", "cell 4, the shape of one word's scores", scores.shape())
        .made("query = x3 @ w_query; one dot product with each of the four keys, stacked")
        .code(setup_code(one, CodeLanguage::numpy) +
              "\n\nx3 = np.random.randn(1, 20)\n"
              "w_query = np.random.randn(20, 20)\n"
              "key = np.random.randn(4, 20)\n"
              "value = np.random.randn(4, 20)\n"
              "query = x3 @ w_query\n"
              "scores = np.stack([query @ key[j] for j in range(4)])")
        .note(replay.seed ? ""
                          : "The notebook sets no seed, so its numbers cannot be drawn again: this "
                            "replay uses seed 42. $seed N tells the same story with others."_told);
    notebook.tensor("scores", "cell 5, how well the word matches each key", scores)
        .made("scores(j) = query . key(j)")
        .note("Key and value are drawn by themselves here, not made from the words.");
    notebook.tensor("weights", "cell 7, the scores after softmax", weights)
        .made(corrected ? "exp(scores / sqrt(20)), divided by their sum over the four keys"
                        : "exp(scores), divided by their sum over axis 1")
        .code(corrected
                  ? "scaled_scores = scores / math.sqrt(20)\n" + safe_softmax("scaled_scores", "0")
                  : naive_softmax("scores", "1"))
        .mistake("softmax-axis=one",
                 "The scores are a column, (4, 1): axis 1 has one element, and any number divided "
                 "by itself is 1. The weights sum to " +
                     four(sum_of(weights)) + " instead of 1. The keys are on axis 0.")
        .mistake("scale-missing",
                 "Nothing is divided by sqrt(20): softmax normalises, it does not scale.");
    notebook
        .text("one_weight", "cell 8, the weight of the second word",
              python_float_text(weights.at(1)))
        .made("weights[1] as a plain number")
        .printed_by("weights[1].item()")
        .note("Counted from 0: the word itself is number 2.");
    notebook
        .shape("context_shape", "cell 9, the shape of the word's result", word["context"].shape())
        .made("context = sum over j of weights(j) * value(j)")
        .code("context = sum(weights[j] * value[j : j + 1] for j in range(4))");
    notebook.tensor("context", "cell 9, the values, mixed by attention", word["context"])
        .made("context = sum over j of weights(j) * value(j)")
        .mistake("softmax-axis=one",
                 "With every weight 1 this is the plain sum of the four values, which may lie far "
                 "outside all of them; a weighted sum whose weights sum to 1 cannot.");

    // All words, in loops.
    const Ledger by_loops = performed(in_loops(replay)).ledger;
    notebook.within("loops");
    notebook
        .shape("loop_context_shape", "cell 11, the shape of all words' results, by loops",
               by_loops["context"].shape())
        .from("context")
        .made(
            "for each word: its query, a dot product with each key, softmax, the sum of the "
            "weighted values")
        .code(
            "x = np.random.randn(4, 20)\n"
            "w_query = np.random.rand(20, 20)\n"
            "w_key = np.random.rand(20, 20)\n"
            "w_value = np.random.randn(20, 20)\n"
            "query, key, value = x @ w_query, x @ w_key, x @ w_value\n"
            "rows = []\n"
            "for i in range(4):\n" +
            std::string(corrected ? "    s = np.array([[query[i] @ key[j]] for j in range(4)]) / "
                                    "math.sqrt(20)\n"
                                    "    e = np.exp(s - s.max())\n"
                                    "    w = e / e.sum(axis=0, keepdims=True)\n"
                                  : "    s = np.array([[query[i] @ key[i]] for j in range(4)])\n"
                                    "    w = np.exp(s) / np.exp(s).sum(axis=1, keepdims=True)\n") +
            "    rows.append((w * value).sum(axis=0))\n"
            "loop_context = np.stack(rows)")
        .mistake("key-index-i",
                 "The inner loop takes the key of the outer index, so every score of a row is the "
                 "same number.")
        .mistake("softmax-axis=one",
                 "The axis of length 1 again. The two hide each other: mending the key alone "
                 "changes nothing, mending the axis alone gives every word the mean of the "
                 "values.")
        .mistake("scale-missing", "No division by sqrt(20).")
        .mistake("softmax-overflow", overflow_words(by_loops));
    notebook.tensor("loop_context", "the result itself", by_loops["context"])
        .from("context")
        .made("one row for each word")
        .note(corrected ? "" : "All rows are equal: each is the plain sum of the values.")
        .kept();

    // All words, in whole arrays.
    const Ledger by_arrays = performed(in_arrays(replay)).ledger;
    notebook.within("arrays");
    notebook
        .shape("array_context_shape", "cell 12, the shape of all words' results, in whole arrays",
               by_arrays["context"].shape())
        .from("context")
        .made("query @ key^T, softmax along each row, @ value, with new draws")
        .code(
            "x = np.random.rand(4, 20)\n"
            "w_query = np.random.rand(20, 20)\n"
            "w_key = np.random.rand(20, 20)\n"
            "w_value = np.random.randn(20, 20)\n"
            "query, key, value = x @ w_query, x @ w_key, x @ w_value\n"
            "scores = query @ key.T\n" +
            std::string(corrected ? "scaled_scores = scores / math.sqrt(20)\n" +
                                        safe_softmax("scaled_scores", "-1")
                                  : naive_softmax("scores", "1")) +
            "\narray_context = weights @ value")
        .note(
            "Axis 1 is right here, where the scores are (4, 4). x and the weights are new, so "
            "that this form is never compared with the loops.")
        .mistake("scale-missing", "No division by sqrt(20).")
        .mistake("softmax-overflow", overflow_words(by_arrays));
    notebook
        .tensor("array_weights", "how much attention each word pays to each", by_arrays["weights"])
        .from("weights")
        .made("softmax over the key axis")
        .printed_by("weights")
        .note(
            "Query and key weights are all positive, so the scores are large and alike, and "
            "softmax gives nearly everything to one key.")
        .kept();
    notebook.tensor("array_context", "the result itself", by_arrays["context"])
        .from("context")
        .made("weights @ value")
        .kept();

    // Eight heads, one after the other.
    const Walked eight = performed(eight_heads(replay));
    const Ledger& multi = eight.ledger;
    notebook.within("eight-heads");
    notebook
        .shape("head_context_shape", "cell 16, the shape of eight heads' results",
               multi["context"].shape())
        .from("context")
        .made("for each head: three matrices of its own, attention; the results stacked")
        .code(
            "x = np.random.rand(4, 24)\n"
            "heads = []\n"
            "for head in range(8):\n"
            "    w_query = np.random.rand(24, 3)\n"
            "    w_key = np.random.rand(24, 3)\n"
            "    w_value = np.random.randn(24, 3)\n" +
            std::string(corrected ? "    scores = (x @ w_query) @ (x @ w_key).T / math.sqrt(3)\n"
                                    "    exponentials = np.exp(scores - scores.max(axis=-1, "
                                    "keepdims=True))\n"
                                  : "    scores = (x @ w_query) @ (x @ w_key).T\n"
                                    "    exponentials = np.exp(scores)\n") +
            "    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)\n"
            "    heads.append(weights @ (x @ w_value))\n"
            "head_context = np.stack(heads)")
        .mistake("scale-missing", "No division by sqrt(3).")
        .mistake("softmax-overflow", overflow_words(multi))
        .mistake("no-output-projection",
                 "The heads stay stacked. To put them side by side move the head axis behind the "
                 "words first; a bare reshape to (4, 24) would glue words together.");
    notebook.tensor("head_context", "the result itself", multi["context"])
        .from("context")
        .made("weights @ value in each head")
        .kept();
    if (corrected) {
        notebook
            .tensor("output", "added, the heads side by side, mixed",
                    projected_heads(eight_heads(replay))["output"])
            .from("")
            .made("merged @ w_output, drawn like the value weights")
            .code(
                "w_output = np.random.randn(24, 24)\n"
                "output = head_context.swapaxes(0, 1).reshape(4, 24) @ w_output");
    }
    return notebook.finish("numpy-loops", one);
}

}  // namespace attn
