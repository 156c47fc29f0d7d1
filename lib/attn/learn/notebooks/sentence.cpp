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

/// The notebook's ids for its words, and its dictionary as printed by Python: the sorted words are
/// numbered without dropping repeated ones, so that a word keeps its last number.
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

/// Returns the shape of the transposed matrices, of which only shapes are shown.
Shape transposed(Shape shape) {
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return shape;
}

/// Returns the sum as `.sum().item()` prints it: rounded to float32.
std::string sum_text(const Tensor& tensor) {
    return scalar_text(static_cast<double>(static_cast<float>(sum_of(tensor))));
}

/// Returns the sum of a step's numbers as printed.
Section::Remake sum_of_step(const char* step, const char* part) {
    return
        [step, part](const Plan&, const Ledger& walk) { return sum_text(slice(walk[step], part)); };
}

}  // namespace

std::vector<NotebookWalk> sentence_walks(const ReplayOptions& replay) {
    std::vector<NotebookWalk> walks = walks_in(attn_notebook_sentence, replay);
    const Tokens tokens = numbered().tokens;
    for (NotebookWalk& walk : walks) {
        walk.config.input = tokens;
        walk.config.names = {sentence_words};
    }
    return walks;
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
