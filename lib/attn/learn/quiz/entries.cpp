#include <algorithm>
#include <cmath>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/learn/quiz/question.hpp"

namespace attn {
namespace {

/// A setting of walks, and its description, with `#` for its number.
struct DescribedSetting {
    std::string_view line, description;
};

constexpr std::string_view backward = "backward";

constexpr DescribedSetting described_settings[]{
    {"random randn", ""},
    {"projection none", ""},
    {"dtype float64", ""},
    {"batch", "The batch size is #."},
    {"seq-len", "The sequence length is #."},
    {"heads", "There are # heads."},
    {"kv-heads", "There are # key and value heads."},
    {"head-dim", "Each head has # features."},
    {"past", "The cache contains # earlier tokens."},
    {"output-projection", "The output is as wide as all heads side by side."},
    {"scale none", "The scores are not scaled."},
    {"rope half", "RoPE rotates each pair of features by its angle; positions begin at 0."},
    {"rope-theta", "Its base is #."},
    {"mask causal", "The mask is causal."},
    {"mask causal,window:",
     "The mask is causal, with a sliding window of # keys, including the query's own."},
    {"mask causal,chunk:", "The mask is causal, and separates chunks of # tokens."},
    {"mask prefix:",
     "A prefix of # tokens is visible to every query; later tokens have a causal mask."},
    {backward, "The loss is the sum of all numbers of context."},
};

/// A setting of a walk with a random number in a range.
struct Drawn {
    std::string_view line;
    std::int64_t least = 0, most = least;
};
using With = std::vector<Drawn>;

void put(QuizWalk& walk, Dice& dice, const With& with) {
    for (const Drawn& each : with) {
        const std::int64_t number = dice.between(each.least, each.most);
        const std::string text = number == 0 ? "" : std::to_string(number);
        const bool joins = text.empty() || each.line.ends_with(':');
        const std::string line = std::string(each.line) + (joins ? "" : " ") + text;
        if (each.line == backward) {
            walk.has_backward = true;
        } else {
            configure(walk.config, line);
        }
        walk.flags += (walk.flags.empty() ? "$"_message : " $"_message) + line;
        std::string description(
            std::ranges::find(described_settings, each.line, &DescribedSetting::line)->description);
        if (description.empty()) continue;
        if (description.find('#') != description.npos)
            description.replace(description.find('#'), 1, text);
        walk.description += (walk.description.empty() ? "" : " ") + description;
    }
}

/// Returns a walk with random tensors.
QuizWalk drawn(Dice& dice, const With& with) {
    QuizWalk walk;
    put(walk, dice, {{"random randn"}, {"dtype float64"}});
    put(walk, dice, with);
    return walk;
}

auto drawn(const With& with) {
    return [with](Dice& dice) { return drawn(dice, with); };
}

/// The sizes of query and key matrices with chosen numbers.
struct Sizes {
    std::size_t queries, keys, features = 1, heads = 0;  ///< without heads, no axis of heads
};

/// Returns a walk from chosen query, key and value.
QuizWalk written(Dice& dice, const Sizes& sizes, const With& with,
                 const std::function<double()>& in_query, const std::function<double()>& in_key,
                 const std::function<double()>& in_value) {
    QuizWalk walk;
    put(walk, dice, {{"projection none"}, {"dtype float64"}});
    const auto tensor = [&](const char* rows, std::size_t length, std::size_t features,
                            const std::function<double()>& number) {
        const bool has_head = sizes.heads > 0;
        auto numbers = Array<double>::from_shape(has_head ? Shape{sizes.heads, length, features}
                                                          : Shape{length, features});
        for (double& each : numbers) each = number();
        return Tensor(has_head ? Axes{"head", rows, "feature"} : Axes{rows, "feature"},
                      std::move(numbers));
    };
    Ledger& given = walk.config.parameters;
    given.record("query", tensor("query", sizes.queries, sizes.features, in_query));
    given.record("key", tensor("key", sizes.keys, sizes.features, in_key));
    given.record("value", tensor("key", sizes.keys, 2, in_value));
    if (sizes.heads > 0) put(walk, dice, {{"heads", static_cast<std::int64_t>(sizes.heads)}});
    put(walk, dice, with);
    return walk;
}

/// Returns a walk with small integers.
QuizWalk whole(Dice& dice, const Sizes& sizes, const With& with = {}) {
    const auto number = [&] { return dice.pick({-1.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0}); };
    return written(dice, sizes, with, number, number, number);
}

/// Returns a walk whose scores are logarithms of integers, so that its weights are fractions.
auto logarithms(const Sizes& sizes, const With& with = {}) {
    return [sizes, with](Dice& dice) {
        QuizWalk walk = written(
            dice, sizes, {{"scale none"}},
            [&] {
                return dice.pick({1.0, 1.0, 2.0});
            },
            [&] { return std::log(dice.between(1, 5)); },
            [&] { return static_cast<double>(dice.between(0, 4)); });
        put(walk, dice, with);
        return walk;
    };
}

QuizWalk scaled(Dice& dice) {
    const std::size_t features = dice.pick<std::size_t>({2, 4, 4, 9, 16});
    QuizWalk walk = whole(dice, {2, 3, features});
    walk.description = "Each head has " + std::to_string(features) + " features.";
    return walk;
}

QuizWalk three_tokens(Dice& dice) {
    QuizWalk walk = whole(dice, {3, 3, 2});
    walk.description = "There is 1 head with 2 features.";
    put(walk, dice, dice.below(2) == 0 ? With{{"mask causal"}} : With{});
    return walk;
}

QuizWalk of_angles(Dice& dice) {
    const auto theta = dice.pick<std::int64_t>({16, 100, 10000});
    return drawn(dice, {{"seq-len", 6}, {"head-dim", 4}, {"rope half"}, {"rope-theta", theta}});
}

QuizWalk shared(Dice& dice) {
    const std::int64_t groups = dice.between(2, 3), heads = groups * dice.between(2, 3);
    return drawn(dice, {{"seq-len", 2}, {"head-dim", 2}, {"heads", heads}, {"kv-heads", groups}});
}

/// Returns a walk of words with one of the masks that models use.
QuizWalk masked_words(Dice& dice) {
    const std::string text =
        dice.pick({"life is short eat dessert first", "time flies like an old arrow",
                   "birds sing when warm spring comes", "she found him under seven blankets"});
    QuizWalk walk;
    configure(walk.config, "text " + text);
    walk.flags = "$text '"_message + text + "'";
    const std::string_view mask = dice.pick<std::string_view>(
        {"mask causal", "mask causal,window:", "mask causal,chunk:", "mask prefix:"});
    put(walk, dice, {mask.ends_with(':') ? Drawn{mask, 2, 3} : Drawn{mask}});
    return walk;
}

/// Selects a shipped attention.
const AttentionFile& put_attention(QuizWalk& walk, const std::string& name) {
    configure(walk.config, "attention " + name);
    walk.flags += " $attention "_message + name;
    return *walk.config.attentions.front();
}

void put_form(QuizWalk& walk, const std::string& form) {
    configure(walk.config, "form " + form);
    walk.flags += " $form "_message + form;
}

/// Returns a walk of three tokens with integers and a state that decays like the first head's.
QuizWalk remembered(Dice& dice) {
    QuizWalk walk = whole(dice, {3, 3, 2, 1});
    put_attention(walk, "retention");
    put_form(walk, "recurrent");
    walk.description =
        "There is 1 head. Its state starts at 0; at each token it is multiplied by 31/32, then "
        "key[0,t,f] * value[0,t,g] is added to state[0,t,f,g].";
    return walk;
}

/// Returns one of the forms of an attention with a state.
QuizWalk one_form(Dice& dice) {
    const std::string name = dice.pick({"retention", "linear", "deltanet", "gated-deltanet",
                                        "gated-linear", "kimi-delta", "mamba2", "rwkv6"});
    QuizWalk walk = drawn(dice, {{"seq-len", 4}, {"heads", 2}, {"mask causal"}});
    const std::vector<std::string>& forms = put_attention(walk, name).forms;
    put_form(walk, forms[dice.below(forms.size())]);
    walk.description = "The attention is " + name + ". " + walk.description;
    return walk;
}

}  // namespace

const std::vector<QuizEntry>& quiz_entries() {
    static const auto fractions = logarithms({2, 3});
    static const auto backward_walks = logarithms({2, 2}, {{"backward"}});
    static const auto cached =
        drawn({{"seq-len", 1, 3}, {"heads", 2}, {"head-dim", 4}, {"past", 2, 5}, {"mask causal"}});
    static const auto batched = drawn({{"batch", 2, 3},
                                       {"seq-len", 3, 6},
                                       {"heads", 2, 4},
                                       {"head-dim", 2, 5},
                                       {"output-projection"}});
    static const std::vector<QuizEntry> all{
        {"scores",
         [](Dice& dice) {
             return whole(dice, {2, 3, 2 + dice.below(2)});
         },
         ask_cell("scores", {"query", "key"})},
        {"scale", scaled, ask_cell("scaled_scores", {"scores"})},
        {"softmax", fractions, ask_cell("weights", {"scores"})},
        {"softmax", fractions, ask_cell("context", {"weights", "value"})},
        {"mask", masked_words, ask_keys},
        {"mask", logarithms({3, 3}, {{"mask causal"}}), ask_cell("weights", {"scores"})},
        {"heads", drawn({{"seq-len", 3}, {"heads", 2, 3}, {"head-dim", 2, 4}}),
         ask_origin("merged", "context")},
        {"heads", logarithms({2, 2, 1, 2}), ask_cell("context", {"weights", "value"})},
        {"heads", shared, ask_origin("repeated_key", "key")},
        {"shape", batched,
         ask_shape({"query", "key", "scores", "weights", "context", "merged", "output"})},
        {"shape", shared, ask_shape({"query", "key", "scores", "context"})},
        {"rope", of_angles, ask_cell("angles", {})},
        {"rope",
         [](Dice& dice) {
             return whole(dice, {3, 3, 2}, {{"rope half"}});
         },
         ask_cell("rotated_query", {"query"})},
        {"cache", cached, ask_shape({"query", "key", "present_key", "scores", "context"})},
        {"cache", cached, ask_keys},
        {"cache", cached, ask_origin("present_value", "value")},
        {"gradient", backward_walks, ask_cell("d_value", {"weights", "value"})},
        {"gradient", backward_walks, ask_cell("d_weights", {"weights", "value"})},
        {"gradient", backward_walks, ask_cell("d_scores", {"weights", "d_weights"})},
        {"mistake", three_tokens, ask_mistake},
        {"rule", three_tokens, ask_line},
        {"rule", three_tokens, ask_rule},
        {"recurrence", remembered, ask_cell("state", {"key", "value"}, 3)},
        {"recurrence", one_form, ask_form}};
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
