#include <algorithm>

#include "attn/core/cards/step_table.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/learn/notebooks/builder.hpp"
#include "attn/show/render/torch_text.hpp"

// Notebook 003: one sentence; attention of its first word, of all its words, and with three heads.

namespace attn {
namespace {

const std::vector<std::string> sentence_words{"life",    "is",    "short", "eat",
                                              "dessert", "first", "is",    "life"};

/// The ids that the notebook gives its words, and their dictionary as Python prints it: the words
/// are sorted and numbered without dropping repeated ones, so that the last number of a word stays.
struct Numbered {
    Tokens tokens;
    std::string dictionary;
};

Numbered numbered() {
    std::vector<std::string> sorted = sentence_words;
    std::sort(sorted.begin(), sorted.end());
    Numbered result;
    result.tokens.vocab_size = static_cast<std::int64_t>(sorted.size());
    result.tokens.vocabulary = sorted;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        if (i + 1 < sorted.size() && sorted[i + 1] == sorted[i]) continue;
        result.dictionary +=
            (result.dictionary.empty() ? "'" : ", '") + sorted[i] + "': " + std::to_string(i);
    }
    result.dictionary = "{" + result.dictionary + "}";
    auto& ids = result.tokens.sequences.emplace_back();
    for (const std::string& word : sentence_words) {
        ids.push_back(std::upper_bound(sorted.begin(), sorted.end(), word) - sorted.begin() - 1);
    }
    return result;
}

WalkConfig single_head() {
    WalkConfig config;
    config.input = numbered().tokens;
    config.embed_dim = 16;
    config.head_dim = 24;
    config.value_dim = 28;
    config.projection = Projection::matrix;
    config.init = std::array{Init::uniform, Init::uniform, Init::uniform};
    config.seed = 42;
    config.variant = Variant::loop;
    return config;
}

/// All words with one head: the softmax axis of a vector, in a matrix.
NotebookWalk all_words(const ReplayOptions& replay) {
    WalkConfig config = single_head();
    if (!replay.corrected) config.softmax_axis = SoftmaxAxis::query;
    return walk_of(replay, "all-words", config);
}

/// The first word alone, a vector: of all words with their products in one chain it is the first.
NotebookWalk first_word(const ReplayOptions& replay) {
    WalkConfig config = single_head();
    config.single_chain = true;
    return walk_of(replay, "first-word", config);
}

/// Three heads, drawn after the matrices of the single one.
NotebookWalk three_heads(const ReplayOptions& replay) {
    WalkConfig config = single_head();
    if (!replay.corrected) config.softmax_axis = SoftmaxAxis::head;
    config.projection = Projection::stacked;
    config.heads = 3;
    for (const std::size_t rows : {24, 24, 28}) {
        config.burn.push_back({Distribution::uniform, rows * 16});
    }
    config.output_projection = replay.corrected;
    return walk_of(replay, "three-heads", config);
}

/// Matrices with rows and columns exchanged: shapes are all that is shown of them.
Shape transposed(Shape shape) {
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return shape;
}

/// The sum as `.sum().item()` gives it: rounded to float32.
std::string sum_text(const Tensor& tensor) {
    return scalar_text(static_cast<double>(static_cast<float>(sum_of(tensor))));
}

/// The sum of a step's numbers as it is printed.
Section::Remake sum_of_step(const char* step, const char* part) {
    return
        [step, part](const Plan&, const Ledger& walk) { return sum_text(slice(walk[step], part)); };
}

}  // namespace

std::vector<NotebookWalk> sentence_walks(const ReplayOptions& replay) {
    return {three_heads(replay), all_words(replay), first_word(replay)};
}

Document sentence(const ReplayOptions& replay) {
    NotebookBuilder page(CodeLanguage::torch, replay, attn_notebook_sentence,
                         sentence_walks(replay));
    const Walked& whole = page.walked("all-words");
    page.codes(whole.plan);
    page.remade("vocabulary", [](const Plan&, const Ledger&) { return numbered().dictionary; });
    page.remade("first_score_of_fifth", [](const Plan&, const Ledger& walk) {
        return scalar_text(slice(walk["scores"], "0,4").at(0));
    });
    page.remade("first_weights_sum", sum_of_step("weights", "0"));
    page.fill("weights", "rows", sums_along(whole.ledger["weights"], 1));
    page.remade("weights_sum", sum_of_step("weights", "..."));

    // Three heads.
    const Walked& three = page.walked("three-heads");
    page.remade("repeated_x_shape", [](const Plan& of, const Ledger&) {
        return torch_size_text({of.heads, of.embed_dim, of.query_len});
    });
    for (const std::string part : {"query", "key", "value"}) {
        page.remade("head_" + part + "_by_feature_shape", [part](const Plan&, const Ledger& walk) {
            return torch_size_text(transposed(walk[part].shape()));
        });
    }
    const Tensor& weights = three.ledger["weights"];
    std::string terms;
    for (const char* first : {"0,0,0", "1,0,0", "2,0,0"}) {
        terms += (terms.empty() ? "" : " + ") + four(slice(weights, first).at(0));
    }
    page.fill("head_weights", "sum", terms + " = " + four(sum_of(slice(weights, ":,0,0"))));
    page.remade("head_weights_sum", sum_of_step("weights", "..."));
    page.codes(three.plan, Gradients::off, "output");
    return page.finish("sentence", whole.plan);
}

}  // namespace attn
