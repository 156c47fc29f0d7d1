#pragma once
#include <optional>
#include <vector>

#include "attn/judge/trace/align.hpp"
#include "attn/judge/trace/cores.hpp"
#include "attn/judge/trace/roles.hpp"
#include "attn/judge/trace/scores.hpp"

namespace attn {

/// One head, or all heads of an attention, in our order of axes (rest..., token, ...).
struct Heads {
    Core core{};
    Operand query{}, key{}, value{};
    std::optional<Operand> rotated_query{}, rotated_key{};
    std::optional<Operand> repeated_key{}, repeated_value{};  ///< for groups of queries
    std::optional<Pairing> pairing{};
    std::size_t rotated = 0;          ///< features
    std::vector<ScoreStep> scores{};  ///< the steps from scores to weights
    ScoreChanges changes{};
    std::optional<Arranged> context{};
    std::vector<LineQuestion> questions{};
};

/// Adds questions about keys of a cache: they come with other values than in an earlier call, or
/// are empty.
void take_questions_on_caches(const Trace& trace, std::vector<Heads>& all);

/// Builds an alignment from the heads of one attention, which have the same shapes.
Alignment alignment_of(const Trace& trace, const Origins& origins, const std::vector<Heads>& heads,
                       const RequestedWalk& base);

/// True if the program has a causal mask for that many tokens, before that place in its trace.
bool has_causal_tensor(const Trace& trace, std::size_t before, std::size_t tokens);

/// Keys hidden in addition to a causal mask: none, or keys that no query sees.
/// `hidden` holds square matrices: the cells above the diagonal (with or without it, or one row
/// lower) or all others, plus such keys. Returns nullopt for any other mask.
std::optional<std::vector<double>> next_to_causal(const std::vector<double>& hidden,
                                                  std::size_t keys);

/// The question about a causal mask that an attention does not use.
inline constexpr const char* no_mask_here =
    "the program has a causal mask, and this attention does not use it: is this intended?";

/// Adds a question about a mask, square matrices of hidden cells, that hides each token from itself
/// or from all later ones.
void ask_about_mask(const Trace& trace, const Heads& heads, const std::vector<double>& hidden,
                    std::size_t keys, Alignment& alignment);

/// Asks about a call of dropout that does not depend on the mode of the model.
void ask_about_dropout(const Traced& dropped, Alignment& alignment);

/// True if no score is hidden and no weight is changed after the softmax.
bool hides_nothing(const Heads& heads);

/// Returns a cap as a whole number if it is about one.
double rounded_cap(double cap);

/// The logit of each head, of logits by (batch, head, query, 1) that are the same for all queries.
Arranged sink_of_heads(const Arranged& logits);

/// The slope of each head if each number of a bias (head, query, key) is the slope of its head
/// times the distance between key and query, up to the query at least; otherwise empty.
std::vector<double> slopes_of(const std::vector<double>& bias, std::size_t heads,
                              std::size_t tokens);

/// True if these are the slopes of ALiBi, added or subtracted.
bool is_alibi(const std::vector<double>& slopes);

/// Asks about slopes that are not those of ALiBi.
void ask_about_slopes(const Trace& trace, const Heads& heads, const std::vector<double>& slopes,
                      Alignment& alignment);

/// True if the heads take the channels of a token in turn; the role has an origin.
bool is_dealt(const Operand& role);

/// A projection without a bias next to one that has it, such as Whisper's key, gets zeros.
void add_missing_biases(Ledger& given);

/// Adds the questions that an unusual use of projections leaves to the user. `output`
/// is the last projection, if there is one.
void ask_about_roles(const Trace& trace, const Origins& origins, const Heads& heads, bool has_input,
                     const std::optional<Origin>& output, Alignment& alignment);

/// Asks about a query, key or value that lines compute from a projection in a way that no step
/// explains.
void ask_about_sources(const Trace& trace, const Origins& origins, const Heads& heads,
                       Alignment& alignment);

/// Asks about a bias by buckets of distances whose direction is not that of T5, or that is
/// transposed.
void ask_about_buckets(const Trace& trace, const Heads& heads, Alignment& alignment);

/// Asks about scores that are changed in a way that no step explains, and about a mask that hides
/// nothing because its conditions are joined by `or`.
void ask_about_scores(const Trace& trace, const Heads& heads, Alignment& alignment);

/// Asks about a product of the weights that is not known as the context.
void ask_about_context(const Trace& trace, const Heads& heads, Alignment& alignment);

/// Asks about a mask that hides keys in an unusual way: the first ones, other ones in each head,
/// or a number that varies from query to query. Asks, too, if its conditions may be joined by the
/// wrong operator.
void ask_about_keys(const Trace& trace, const Heads& heads, const Arranged& hidden,
                    Alignment& alignment);

/// Asks about conditions that `|` joins to a mask of visible keys that hides none.
void ask_about_open_mask(const Trace& trace, const Heads& heads, Alignment& alignment);

/// Asks about a mask, by (..., query, key), that is shifted, hides all keys of a query, or shows
/// nothing but padding.
void ask_about_hidden(const Trace& trace, const Heads& heads, const Arranged& hidden,
                      Alignment& alignment);

/// Finds the attentions that PyTorch computes in a single call. A trace names the inputs and
/// outputs `step query`, `step output`, ..., and ends each call with `step heads`.
std::vector<Alignment> alignments_of_calls(const Trace& trace, const RequestedWalk& base);

}  // namespace attn
