#include "attn/lint/lint.hpp"

#include "attn/lint/lint_checks.hpp"
#include "attn/text/strings.hpp"

namespace attn {

const std::vector<LintRule>& lint_rules() {
    static const std::vector<LintRule> rules{
        {"softmax-axis", Severity::error, lint_checks::softmax_axis,
         "Softmax belongs on the key axis: the weights of each query sum to 1 over the keys it "
         "sees. An "
         "axis number that is right for one rank is wrong for another, so count from the end: "
         "-1."},
        {"scale-dmodel", Severity::error, lint_checks::scale_dmodel,
         "A score is a sum of head_dim products, so its spread grows with the root of head_dim. "
         "Dividing by the root of the whole embedding makes the weights too flat."},
        {"hidden-rows", Severity::error, lint_checks::hidden_rows,
         "Where every key is hidden, softmax divides 0 by 0. Leave such a query one key, or set "
         "its row to zero after softmax."},
        {"unmasked-padding", Severity::error, lint_checks::unmasked_padding,
         "Padding only fills up a batch. Without a mask its keys take a share of every row, and "
         "the result depends on how long the other sequences are."},
        {"not-finite", Severity::error, lint_checks::not_finite,
         "A nan or inf passes into every sum that reads it, and softmax spreads it over its row."},
        {"huge-numbers", Severity::warning, lint_checks::huge_numbers,
         "Scores multiply two numbers: huge ones overflow, or leave softmax a single 1."},
        {"scale-missing", Severity::warning, lint_checks::scale_missing,
         "Unscaled scores spread with the root of head_dim; the larger they are, the nearer "
         "each row comes to a single 1, where gradients vanish."},
        {"scale-number", Severity::warning, lint_checks::scale_number,
         "The usual factor is 1/sqrt(head_dim). Another one is a choice of sharpness: make it "
         "on purpose."},
        {"saturated-softmax", Severity::warning, lint_checks::saturated,
         "A row with one weight near 1 is a look-up, not an average: small changes of the "
         "scores change nothing, so nothing is learned from them."},
        {"no-gradient", Severity::warning, lint_checks::no_gradient,
         "Softmax passes on weight * (gradient - mean of the row): next to nothing where one "
         "weight is near 1. Dividing the scores by sqrt(head_dim) keeps them apart."},
        {"exp-overflow", Severity::warning, lint_checks::exp_overflow,
         "exp() of a large score is infinite and infinity divided by itself is nan. Subtracting "
         "the row's maximum first changes no weight and keeps every exponential at 1 or below."},
        {"rank-one-scores", Severity::warning, lint_checks::rank_one,
         "When the scores are one pattern times a number for each query, queries do not differ "
         "in what they look for, only in how strongly."},
        {"init-positive", Severity::warning, lint_checks::positive_init,
         "Weights drawn from 0 to 1 have a mean; every projection then adds up all features. "
         "Draw them around zero, with a spread of about 1/sqrt(inputs)."},
        {"no-position", Severity::warning, lint_checks::no_position,
         "Attention sees a bag of tokens: the same token twice gives the same row twice. Add "
         "positions to the embedding, or rotate query and key."},
        {"beyond-training", Severity::warning, lint_checks::beyond_training,
         "Angles that a model never met in training give scores that it never learned. Scale the "
         "frequencies (linear, dynamic, yarn), or take the base that the model was trained with."},
        {"equal-positions", Severity::warning, lint_checks::equal_positions,
         "Tokens at one position cannot be told apart by their order. Positions of packed "
         "documents may start again, but then a mask must keep the documents apart."},
        {"unseen-scaling", Severity::warning, lint_checks::unseen_scaling,
         "llama3 and yarn scale the slow pairs of wide heads alone. Try them with more pairs, or a "
         "smaller length of training."},
        {"vocabulary-gaps", Severity::warning, lint_checks::vocabulary_gaps,
         "Number the distinct words, not the words as they come: otherwise ids have holes and "
         "the table has rows that nothing uses."},
        {"coincident-sizes", Severity::warning, lint_checks::coincident_sizes,
         "Two axes of the same length can be exchanged without an error. While trying things "
         "out, give every axis a length of its own."},
        {"blind-padding", Severity::warning, lint_checks::blind_padding,
         "Keys that are all zero have score 0 before any mask, so this input cannot tell a mask "
         "that works from one that multiplies by zero. Use a bias, or a padding row that is "
         "not zero."},
        {"past-positions", Severity::error, lint_checks::past_positions,
         "New tokens go on where the cache ends: a token at position 0 behind a past is rotated as "
         "if it were the first. Leave $positions out, or count from the length of the past."_told},
        {"sink-share", Severity::warning, lint_checks::sink_share,
         "A sink without a value takes attention away from all keys. Where it takes most, contexts "
         "are short: compare the logit with the scores it meets."},
        {"shared-heads", Severity::info, lint_checks::equal_groups,
         "Head h reads key head h / (heads / kv_heads). With one key head, or as many as heads "
         "share it, the usual mistakes (h % kv_heads, h / kv_heads) give the same: try others."},
        {"window-not-causal", Severity::warning, lint_checks::window_not_causal,
         "A window says how far back a query sees, causal that it sees nothing ahead: models that "
         "write text need both."},
        {"t5-scale", Severity::warning, lint_checks::t5_scale,
         "T5 does not divide by the root of head_dim: its initialisation makes up for that. With "
         "trained weights pass $scale none."_told},
        {"t5-cross", Severity::warning, lint_checks::t5_cross,
         "T5 adds its bias in self-attention only: a token of the decoder has no distance to one "
         "of the encoder."},
        {"window-holds-all", Severity::info, lint_checks::window_holds_all,
         "An input that fits into the window hides every mistake of it: test with more tokens "
         "than the window has."},
        {"cap-without-effect", Severity::info, lint_checks::cap_without_effect,
         "tanh(x) is nearly x for small x: whether a cap is applied shows only in scores near "
         "it."},
        {"causal-lengths", Severity::info, lint_checks::causal_lengths,
         "With a cache of earlier keys the last query should meet the last key (align end); "
         "PyTorch's tril meets them at the start."},
        {"no-output-projection", Severity::info, lint_checks::no_output_projection,
         "Putting heads side by side does not let them speak to each other; the output "
         "projection does."},
        {"rotary-width", Severity::info, lint_checks::rotary_width,
         "Engines have limits of their own: a width that one of them refuses cannot be compared "
         "with it."},
        {"fused-by-head", Severity::info, lint_checks::fused_by_head,
         "Both orders of a fused weight are right, but not exchangeable: a checkpoint must be "
         "cut the way it was made."},
        {"three-heads", Severity::info, lint_checks::three_heads,
         "Three heads and the three parts query, key, value can be confused without any shape "
         "complaining. Test with another number of heads."},
        {"no-power", Severity::info, lint_checks::no_power,
         "An input with one token, or one head, hides most mistakes. Use several of both, in other "
         "numbers than features."},
    };
    return rules;
}

std::vector<LintFinding> lint(const Plan& plan, const Ledger& ledger) {
    std::vector<LintFinding> findings;
    for (const LintRule& rule : lint_rules()) {
        if (std::optional<std::string> line = rule.check(plan, ledger)) {
            findings.push_back({&rule, std::move(*line)});
        }
    }
    return findings;
}

}  // namespace attn
