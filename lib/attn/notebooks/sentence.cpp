#include <algorithm>

#include "attn/cards/step_table.hpp"
#include "attn/notebooks/builder.hpp"
#include "attn/render/torch_text.hpp"
#include "attn/tensor/slice.hpp"

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

/// The row of the first word, as a vector.
Tensor vector_of(const Tensor& matrix) { return slice(matrix, "0"); }

/// Matrices with rows and columns exchanged: shapes are all that is shown of them.
Shape transposed(Shape shape) {
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return shape;
}

/// The sum as `.sum().item()` gives it: rounded to float32.
std::string sum_text(const Tensor& tensor) {
    return python_float_text(static_cast<double>(static_cast<float>(sum_of(tensor))));
}

/// What the sum of a step's numbers prints as.
Section::Remake sum_of_step(const char* step, const char* part) {
    return
        [step, part](const Plan&, const Ledger& walk) { return sum_text(slice(walk[step], part)); };
}

}  // namespace

std::vector<NotebookWalk> sentence_walks(const ReplayOptions& replay) {
    return {three_heads(replay), all_words(replay), first_word(replay)};
}

Document sentence(const ReplayOptions& replay) {
    NotebookBuilder notebook(CodeLanguage::torch, replay);
    notebook.within("all-words");
    const bool corrected = replay.corrected;
    const Walked whole = performed(all_words(replay));
    const Plan& plan = whole.plan;
    const Ledger& all = whole.ledger;
    const Ledger word = performed(first_word(replay)).ledger;

    // Words and their numbers.
    const auto code = [&](const char* step) {
        return step_code(step, plan, step_table(), CodeLanguage::torch);
    };
    notebook.text("vocabulary", "the number of each word", numbered().dictionary)
        .from("ids")
        .remade([](const Plan&, const Ledger&) { return numbered().dictionary; })
        .made("the words of the sentence in lower case, sorted and numbered")
        .code(setup_code(plan, CodeLanguage::torch) +
              "\n\nwords = \"Life is short, eat dessert first is life\".lower().replace(\",\", "
              "\"\").split()\nvocabulary = dict(zip(sorted(words), range(len(words))))")
        .note(corrected
                  ? "The numbers are left with their holes: they do no harm while the table has "
                    "8 rows, and with others every number below would be another one, with "
                    "no mistake to see in the difference."
                  : "");
    if (!corrected) {
        notebook.mistake("vocab-duplicates",
                         "Repeated words are numbered twice and keep the last number: 3 and 5 are "
                         "never used, and six words need a table of eight rows. Number "
                         "sorted(set(words)).");
    }
    notebook.tensor("ids", "the sentence in numbers", all["ids"])
        .made("vocabulary[word] for each word")
        .code("ids = torch.tensor([vocabulary[word] for word in words])");
    notebook.shape("x_shape", "the shape of the embedded sentence", all["x"].shape())
        .made("x(t) = embedding(ids(t)): 8 words, 16 features")
        .code(code("embedding") + "\n" + code("x"))
        .note(
            "Nothing tells where a word stands: 'is' and 'life' come twice and have the same "
            "row each time, here and everywhere below.");

    // The first two words.
    for (const std::size_t t : {0, 1}) {
        const std::string at = "[" + std::to_string(t) + "]";
        const std::string nth = t == 0 ? "first_" : "second_";
        for (const char* name : {"query", "key", "value"}) {
            const std::string part(name);
            std::string lines;
            if (t == 0 && part == "query") lines = code("w_query") + "\n";
            notebook
                .shape(nth + part + "_shape",
                       "the size of the " + part + " of word " + std::to_string(t),
                       slice(all[part], std::to_string(t)).shape())
                .from(part + at)
                .made("w_" + part + " @ x" + at)
                .code(lines + nth + part + " = w_" + part + " @ x" + at);
        }
    }

    // All words.
    for (const char* name : {"query", "key", "value"}) {
        const std::string part(name);
        notebook.shape(part + "_shape", "the shape of " + part + " of all words", all[part].shape())
            .made(part + " = (w_" + part + " @ x^T)^T = x @ w_" + part + "^T")
            .code(code(name));
    }
    const Tensor word_scores = vector_of(word["scores"]);
    notebook.within("first-word");
    notebook
        .text("first_score_of_fifth", "the score of the first word with the fifth",
              python_float_text(word_scores.at(4)))
        .from("scores[0,4]")
        .remade([](const Plan&, const Ledger& walk) {
            return python_float_text(slice(walk["scores"], "0,4").at(0));
        })
        .made("query[0] @ key[4], one dot product of 24 products")
        .code("first_score_of_fifth = query[0] @ key[4]")
        .printed_by("first_score_of_fifth.item()")
        .note(
            "Printed with all its digits: the last ones depend on the order in which the products "
            "are summed.");
    notebook.tensor("first_scores", "the scores of the first word with all", word_scores)
        .from("scores[0]")
        .made("query[0] @ key^T")
        .code("first_scores = query[0] @ key.T");
    notebook.within("all-words");
    notebook.tensor("scores", "the scores of all words with all", all["scores"])
        .made("query @ key^T")
        .code("scores = query @ key.T")
        .note(
            "Weights that are never negative make large scores of one pattern. The first row "
            "differs from the vector above by roundings: a matrix product sums in another "
            "order.");
    notebook.shape("scores_shape", "their shape", all["scores"].shape()).made("8 queries, 8 keys");
    const Tensor word_weights = vector_of(word["weights"]);
    notebook.within("first-word");
    notebook.tensor("first_weights", "how much attention the first word pays to each", word_weights)
        .from("weights[0]")
        .made("softmax(first_scores / sqrt(24)) over axis 0, the only one")
        .code("first_weights = F.softmax(first_scores / math.sqrt(24), dim=0)");
    notebook.text("first_weights_sum", "their sum", sum_text(word_weights))
        .from("weights[0]")
        .remade(sum_of_step("weights", "0"))
        .made("the weights of one query sum to 1")
        .printed_by("first_weights.sum().item()");
    notebook.within("all-words");
    notebook.tensor("weights", "how much attention each word pays to each", all["weights"])
        .made(corrected ? "softmax(scores / sqrt(24)) over the key axis"
                        : "softmax(scores / sqrt(24)) over axis 0")
        .code(std::string("weights = F.softmax(scores / math.sqrt(24), dim=") +
              (corrected ? "-1)" : "0)"))
        .note(corrected ? "Each row sums to 1, and the first is the vector above." : "")
        .mistake("softmax-axis=query",
                 "Axis 0 was right for the vector; in the matrix it is the query axis. The columns "
                 "sum to 1 and the rows to " +
                     row_sums(all["weights"]) +
                     ". The first row should be the vector above and is nothing like it.");
    notebook.text("weights_sum", "their sum", sum_text(all["weights"]))
        .from("weights")
        .remade(sum_of_step("weights", "..."))
        .made("one for each query, or, over the wrong axis, one for each key: 8 either way")
        .printed_by("weights.sum().item()");
    notebook.within("first-word");
    notebook
        .shape("first_context_shape", "the shape of the first word's result",
               vector_of(word["context"]).shape())
        .from("context[0]")
        .made("first_weights @ value")
        .code("first_context = first_weights @ value");
    notebook
        .tensor("first_context", "the values, mixed by the first word's attention",
                vector_of(word["context"]))
        .from("context[0]")
        .made("first_weights @ value");
    notebook.within("all-words");
    notebook.shape("context_shape", "the shape of all words' results", all["context"].shape())
        .made("weights @ value")
        .code("context = weights @ value");
    notebook.tensor("context", "the values, mixed by each word's attention", all["context"])
        .made("weights @ value")
        .mistake("softmax-axis=query",
                 "Each row should be a mixture of the values. Rows whose weights add up to nearly "
                 "0 are nearly 0, and one is the sum of about six value rows.");

    // Three heads.
    const Walked stacked = performed(three_heads(replay));
    const Plan& heads = stacked.plan;
    const Ledger& multi = stacked.ledger;
    notebook.within("three-heads");
    std::string draws =
        "w_query = torch.rand(3, 24, 16)\nw_key = torch.rand(3, 24, 16)\n"
        "w_value = torch.rand(3, 28, 16)\n";
    for (const char* name : {"query", "key", "value"}) {
        const std::string part(name);
        notebook
            .shape("head_first_" + part + "_shape",
                   "the shape of the first word's " + part + " in three heads",
                   slice(multi[part], ":,0").shape())
            .from(part + "[:,0]")
            .made("w_" + part + " @ x[0], with a matrix for each head")
            .code(std::exchange(draws, {}) + "head_first_" + part + " = w_" + part + " @ x[0]");
    }
    notebook
        .shape("repeated_x_shape", "the shape of the sentence, laid out for three heads",
               {heads.heads, heads.embed_dim, heads.query_len})
        .from("x")
        .remade([](const Plan& of, const Ledger&) {
            return torch_size_text({of.heads, of.embed_dim, of.query_len});
        })
        .made("x^T three times")
        .code("repeated_x = x.T.repeat(3, 1, 1)");
    for (const char* name : {"query", "key", "value"}) {
        const std::string part(name);
        notebook
            .shape("head_" + part + "_by_feature_shape",
                   "the shape of " + part + " in three heads, words last",
                   transposed(multi[part].shape()))
            .from(part)
            .remade([part](const Plan&, const Ledger& walk) {
                return torch_size_text(transposed(walk[part].shape()));
            })
            .made("bmm of w_" + part + " and x^T, head by head")
            .code("head_" + part + " = torch.bmm(w_" + part + ", repeated_x)")
            .printed_by("head_" + part + ".shape");
    }
    for (const char* name : {"query", "key", "value"}) {
        const std::string part(name);
        notebook
            .shape("head_" + part + "_shape", "the same, words before features",
                   multi[part].shape())
            .from(part)
            .made("the last two axes exchanged")
            .code("head_" + part + " = head_" + part + ".permute(0, 2, 1)")
            .printed_by("head_" + part + ".shape");
    }
    notebook.tensor("head_scores", "the scores in each head", multi["scores"])
        .from("scores")
        .made("query @ key^T in each head")
        .code("head_scores = torch.bmm(head_query, head_key.transpose(1, 2))");
    notebook.shape("head_scores_shape", "their shape", multi["scores"].shape())
        .from("scores")
        .made("3 heads, 8 queries, 8 keys");
    notebook
        .tensor("head_weights", "how much attention each word pays to each, in each head",
                multi["weights"])
        .from("weights")
        .made(corrected ? "softmax(scores / sqrt(24)) over the key axis"
                        : "softmax(scores / sqrt(24)) over axis 0")
        .code(std::string("head_weights = F.softmax(head_scores / math.sqrt(24), dim=") +
              (corrected ? "-1)" : "0)"))
        .mistake("softmax-axis=head",
                 "Axis 0 is now the head axis: at each cell the weights of the heads sum to 1. In "
                 "the first cell " +
                     four(slice(multi["weights"], "0,0,0").at(0)) + " + " +
                     four(slice(multi["weights"], "1,0,0").at(0)) + " + " +
                     four(slice(multi["weights"], "2,0,0").at(0)) + " = " +
                     four(sum_of(slice(multi["weights"], ":,0,0"))) +
                     ". Write -1, the key axis at any rank.");
    notebook.text("head_weights_sum", "their sum", sum_text(multi["weights"]))
        .from("weights")
        .remade(sum_of_step("weights", "..."))
        .made("one for each group that softmax made")
        .printed_by("head_weights.sum().item()")
        .mistake("softmax-axis=head",
                 "64 = 8 queries times 8 keys: one group for each cell. 3 heads with 8 queries "
                 "each should give 24.");
    notebook
        .shape("head_context_shape", "the shape of the heads' results", multi["context"].shape())
        .from("context")
        .made("weights @ value in each head")
        .code("head_context = head_weights @ head_value");
    notebook.tensor("head_context", "the values, mixed by attention in each head", multi["context"])
        .from("context")
        .made("weights @ value in each head")
        .mistake("softmax-axis=head",
                 "No row is a mixture of values: its weights add up to anything between 0 and 8.")
        .mistake(
            "no-output-projection",
            "The heads stay stacked, (3, 8, 28): they are neither put side by side nor mixed.");
    if (corrected) {
        notebook.tensor("output", "added, the heads side by side, mixed", multi["output"])
            .made("merged @ w_output^T")
            .code(step_code("w_output", heads, step_table(), CodeLanguage::torch) +
                  "\nmerged = head_context.transpose(0, 1).reshape(8, 84)\n"
                  "output = merged @ w_output.T");
    }
    return notebook.finish("sentence", plan);
}

}  // namespace attn
