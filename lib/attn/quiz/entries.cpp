#include <algorithm>
#include <cmath>

#include "attn/quiz/question.hpp"
#include "attn/text/strings.hpp"
#include "attn/text/told.hpp"

namespace attn {
namespace {

/// A setting of walks, and the flag that says it.
struct Setting {
    std::string_view flag;
    void (*set)(WalkConfig&, std::int64_t);
};

constexpr Setting settings[]{
    {"random randn", [](WalkConfig&, std::int64_t) {}},
    {"projection none", [](WalkConfig& c, std::int64_t) { c.projection = Projection::none; }},
    {"dtype float64", [](WalkConfig& c, std::int64_t) { c.dtype = DType::float64; }},
    {"batch", [](WalkConfig& c, std::int64_t n) { c.batch = n; }},
    {"seq-len", [](WalkConfig& c, std::int64_t n) { c.query_len = n; }},
    {"embed-dim", [](WalkConfig& c, std::int64_t n) { c.embed_dim = n; }},
    {"heads", [](WalkConfig& c, std::int64_t n) { c.heads = n; }},
    {"kv-heads", [](WalkConfig& c, std::int64_t n) { c.kv_heads = n; }},
    {"head-dim", [](WalkConfig& c, std::int64_t n) { c.head_dim = n; }},
    {"past", [](WalkConfig& c, std::int64_t n) { c.past = n; }},
    {"output-projection", [](WalkConfig& c, std::int64_t) { c.output_projection = true; }},
    {"scale none", [](WalkConfig& c, std::int64_t) { c.scale.by = ScaleChoice::By::none; }},
    {"rope half", [](WalkConfig& c, std::int64_t) { c.rotary.pairing = Pairing::half; }},
    {"rope-theta", [](WalkConfig& c, std::int64_t n) { c.rotary.theta = static_cast<double>(n); }},
    {"mask causal", [](WalkConfig& c, std::int64_t) { c.mask.causal = true; }},
    {"mask causal,window:",
     [](WalkConfig& c, std::int64_t n) { c.mask.causal = true, c.mask.window = n; }},
    {"mask causal,chunk:",
     [](WalkConfig& c, std::int64_t n) { c.mask.causal = true, c.mask.chunk = n; }},
    {"mask prefix:", [](WalkConfig& c, std::int64_t n) { c.mask.prefix = n; }},
};

void put(QuizWalk& walk, std::string_view flag, std::int64_t number = 0) {
    const auto setting = std::ranges::find(settings, flag, &Setting::flag);
    setting->set(walk.config, number);
    walk.flags += (walk.flags.empty() ? "$"_told : " $"_told) + std::string(flag);
    if (number != 0) walk.flags += (flag.ends_with(':') ? "" : " ") + std::to_string(number);
}

/// A walk from drawn numbers, with these settings.
QuizWalk drawn(const std::vector<std::pair<std::string_view, std::int64_t>>& with) {
    QuizWalk walk;
    put(walk, "random randn");
    for (const auto& [flag, number] : with) put(walk, flag, number);
    return walk;
}

using Numbers = std::function<double()>;

Tensor written(const char* rows, const Shape& shape, const Numbers& number) {
    Array<double> numbers = Array<double>::from_shape(shape);
    for (double& each : numbers) each = number();
    const Axes axes{rows, "feature"};
    return {shape.size() == 2 ? axes : Axes{"head", rows, "feature"}, std::move(numbers)};
}

/// A walk from query, key and value as written, which have these last two sizes.
QuizWalk written_walk(Shape query, Shape key, const Numbers& in_query, const Numbers& in_key,
                      const Numbers& in_value) {
    QuizWalk walk;
    put(walk, "projection none");
    put(walk, "dtype float64");
    Ledger& given = walk.config.parameters;
    given.record("query", written("query", query, in_query));
    given.record("key", written("key", key, in_key));
    key.back() = 2;
    given.record("value", written("key", key, in_value));
    return walk;
}

/// Whole numbers, as many queries as keys or one key more.
QuizWalk whole_numbers(Dice& dice, std::size_t head_dim, std::size_t queries, std::size_t keys) {
    const auto number = [&] { return dice.pick({-1.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0}); };
    return written_walk({queries, head_dim}, {keys, head_dim}, number, number, number);
}

/// Scores that are logarithms of whole numbers, which softmax makes fractions of.
QuizWalk logarithms(Dice& dice, std::size_t queries, std::size_t keys, std::size_t heads = 1) {
    const auto sizes = [&](std::size_t rows) {
        return heads > 1 ? Shape{heads, rows, 1} : Shape{rows, 1};
    };
    QuizWalk walk = written_walk(
        sizes(queries), sizes(keys),
        [&] {
            return dice.pick({1.0, 1.0, 2.0});
        },
        [&] { return std::log(dice.between(1, 5)); },
        [&] { return static_cast<double>(dice.between(0, 4)); });
    put(walk, "scale none");
    walk.told = "The scores are not scaled.";
    if (heads == 1) return walk;
    put(walk, "heads", static_cast<std::int64_t>(heads));
    walk.told = "There are " + std::to_string(heads) + " heads; their scores are not scaled.";
    return walk;
}

QuizWalk causal(QuizWalk walk) {
    put(walk, "mask causal");
    walk.told += (walk.told.empty() ? "" : " ") + std::string("The mask is causal.");
    return walk;
}

QuizWalk scaled(Dice& dice) {
    const std::size_t head_dim = dice.pick<std::size_t>({2, 4, 4, 9, 16});
    QuizWalk walk = whole_numbers(dice, head_dim, 2, 3);
    walk.told = "The head has " + std::to_string(head_dim) + " features.";
    return walk;
}

QuizWalk rotating(Dice& dice) {
    QuizWalk walk = whole_numbers(dice, 2, 3, 3);
    put(walk, "rope half");
    walk.told = "RoPE rotates the two features of each query by its position, in radians.";
    return walk;
}

QuizWalk of_angles(Dice& dice) {
    const std::int64_t base = dice.pick<std::int64_t>({16, 100, 10000});
    QuizWalk walk =
        drawn({{"seq-len", 6}, {"head-dim", 4}, {"rope half", 0}, {"rope-theta", base}});
    walk.told = "RoPE rotates the 4 features of a head in 2 pairs; theta, the base, is " +
                std::to_string(base) + ".";
    return walk;
}

QuizWalk going_back(Dice& dice) {
    QuizWalk walk = logarithms(dice, 2, 2);
    walk.flags += " $backward"_told;
    walk.goes_back = true;
    walk.told += " The loss is the sum of all numbers of context.";
    return walk;
}

/// Words with one of the masks that models use.
QuizWalk masked_words(Dice& dice) {
    const std::string text =
        dice.pick({"life is short eat dessert first", "time flies like an old arrow",
                   "birds sing when warm spring comes", "she found him under seven blankets"});
    QuizWalk walk = drawn({});
    walk.flags = "$text '"_told + text + "'";
    Tokens tokens;
    tokens.sequences.emplace_back();
    tokens.vocabulary = {"<pad>"};
    walk.told = "The tokens:";
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        const auto id = static_cast<std::int64_t>(tokens.vocabulary.size());
        tokens.vocabulary.push_back(text.substr(at, end - at));
        tokens.sequences.front().push_back(id);
        walk.told +=
            (id > 1 ? ", " : " ") + std::to_string(id - 1) + " " + tokens.vocabulary.back();
        at = end + 1;
    }
    walk.config.input = tokens;
    const std::int64_t number = dice.between(2, 3);
    const std::string keys = std::to_string(number);
    const std::pair<std::string_view, std::string> masks[]{
        {"mask causal", "The mask is causal."},
        {"mask causal,window:", "The mask is causal with a sliding window of " + keys +
                                    " keys, the query's own included."},
        {"mask causal,chunk:",
         "The mask is causal within chunks of " + keys + " tokens; no query sees another chunk."},
        {"mask prefix:",
         "The first " + keys + " tokens are a prefix that all see; behind it the mask is causal."}};
    const auto& [flag, told] = masks[dice.below(std::size(masks))];
    put(walk, flag, flag.ends_with(':') ? number : 0);
    walk.told += ". " + told;
    return walk;
}

QuizWalk sized(Dice& dice) {
    const std::int64_t batch = dice.between(1, 3), tokens = dice.between(3, 6);
    const std::int64_t heads = dice.between(2, 4), width = heads * dice.between(2, 5);
    QuizWalk walk = drawn({{"batch", batch}, {"seq-len", tokens}, {"embed-dim", width}});
    put(walk, "heads", heads);
    put(walk, "output-projection");
    walk.told = "x has shape " +
                shape_text({static_cast<std::size_t>(batch), static_cast<std::size_t>(tokens),
                            static_cast<std::size_t>(width)}) +
                ": sequences, tokens, features. There are " + std::to_string(heads) + " heads";
    const bool shares = heads == 4 && dice.below(2) == 0;
    if (shares) put(walk, "kv-heads", 2);
    walk.told += shares ? ", and 2 of keys and values." : ".";
    return walk;
}

QuizWalk merged(Dice& dice) {
    const std::int64_t heads = dice.between(2, 3);
    return drawn({{"seq-len", 3}, {"heads", heads}, {"head-dim", dice.between(2, 4)}});
}

QuizWalk shared(Dice& dice) {
    const std::int64_t groups = dice.between(2, 3), heads = groups * dice.between(2, 3);
    return drawn({{"seq-len", 2}, {"head-dim", 2}, {"heads", heads}, {"kv-heads", groups}});
}

QuizWalk cached(Dice& dice) {
    const std::int64_t past = dice.between(2, 5), tokens = dice.between(1, 3);
    QuizWalk walk = drawn({{"seq-len", tokens}, {"head-dim", 4}, {"heads", 2}, {"past", past}});
    walk.told = "There are 2 heads of 4 features. The cache holds " + std::to_string(past) +
                " earlier tokens, and " + std::to_string(tokens) +
                (tokens == 1 ? " new one comes." : " new ones come.");
    return causal(std::move(walk));
}

QuizWalk three_tokens(Dice& dice) {
    QuizWalk walk = whole_numbers(dice, 2, 3, 3);
    return dice.below(2) == 0 ? causal(std::move(walk)) : walk;
}

QuizWalk fractions(Dice& dice) { return logarithms(dice, 2, 3); }
QuizWalk causal_fractions(Dice& dice) { return causal(logarithms(dice, 3, 3)); }

}  // namespace

const std::vector<QuizEntry>& quiz_entries() {
    static const std::vector<QuizEntry> all{
        {"scores", [](Dice& dice) { return whole_numbers(dice, 2 + dice.below(2), 2, 3); },
         ask_cell("scores", {"query", "key"})},
        {"scale", scaled, ask_cell("scaled_scores", {"scores"})},
        {"softmax", fractions, ask_cell("weights", {"scores"})},
        {"softmax", fractions, ask_cell("context", {"weights", "value"})},
        {"mask", masked_words, ask_keys},
        {"mask", causal_fractions, ask_cell("weights", {"scores"})},
        {"heads", merged, ask_origin("merged", "context")},
        {"heads", [](Dice& dice) { return logarithms(dice, 2, 2, 2); },
         ask_cell("context", {"weights", "value"})},
        {"heads", shared, ask_origin("repeated_key", "key")},
        {"shape", sized,
         ask_shape({"query", "key", "scores", "weights", "context", "merged", "output"})},
        {"rope", of_angles, ask_cell("angles", {})},
        {"rope", rotating, ask_cell("rotated_query", {"query"})},
        {"cache", cached, ask_shape({"query", "key", "present_key", "scores", "context"})},
        {"cache", cached, ask_keys},
        {"cache", cached, ask_origin("present_value", "value")},
        {"gradient", going_back, ask_cell("d_value", {"weights", "value"})},
        {"gradient", going_back, ask_cell("d_weights", {"weights", "value"})},
        {"gradient", going_back, ask_cell("d_scores", {"weights", "d_weights"})},
        {"mistake", three_tokens, ask_mistake},
        {"rule", three_tokens, ask_line},
        {"rule", three_tokens, ask_rule}};
    return all;
}

std::vector<std::string> quiz_topics() {
    std::vector<std::string> topics;
    for (const QuizEntry& entry : quiz_entries()) {
        if (topics.empty() || topics.back() != entry.topic) topics.push_back(entry.topic);
    }
    return topics;
}

}  // namespace attn
