#include "attn/explain/codegen/field_lines.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "attn/core/cards/card_text.hpp"
#include "attn/core/cards/cards.hpp"
#include "attn/core/cards/starts.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// The names of the same thing in PyTorch and NumPy.
struct Called {
    std::string_view word, torch, numpy;
};
constexpr std::array<Called, 3> library_words{{{"np", "torch", "np"},
                                               {"array", "torch.tensor", "np.array"},
                                               {"keepdim", "keepdim", "keepdims"}}};

std::string python_meaning(const std::string& word, const StepLines& of) {
    for (const Called& each : library_words) {
        if (each.word == word) return std::string(of.torch() ? each.torch : each.numpy);
    }
    if (const Chain chain = chain_called(word); chain != Chain::none) return of.latest(chain);
    if (word == "before") return of.before();
    if (word == "step") return of.name();
    if (word == "shape") return size_list(of.step.outline(of.plan).shape);
    const auto to = [&](DType type) {
        return (of.torch() ? ".to(" : ".astype(") + dtype_code(type, of.language) + ")";
    };
    const DType within = type_within(of), stored = of.plan.compute_dtype;
    if (word == "type") return dtype_code(within, of.language);
    if (word == "stored_type") return dtype_code(stored, of.language);
    if (word == "as_type") return to(within);
    if (word == "wide") return within == stored ? "" : to(within);
    if (word == "narrow") return within == stored ? "" : to(stored);
    return meaning_of(word, of);
}

// Words of single steps.

std::optional<std::string> start_word(std::string_view word, const StepLines& of) {
    const Start& start = starts[of.step.tokens == "key" ? 1 : 0];
    if (word == "ids") return start.ids;
    return word == "embedding" ? std::optional(start.embedding) : std::nullopt;
}

/// True if positions are 0, 1, 2, ...
bool counts_from_zero(const std::vector<std::int64_t>& positions) {
    for (std::size_t t = 0; t < positions.size(); ++t) {
        if (positions[t] != static_cast<std::int64_t>(t)) return false;
    }
    return true;
}

std::optional<std::string> position_word(std::string_view word, const StepLines& of) {
    const Standing standing{of.step.tokens == "key"};
    if (word == "positions") return standing.name("positions");
    if (word != "places") return std::nullopt;
    const std::vector<std::int64_t>& positions = standing.positions(of.plan);
    if (counts_from_zero(positions)) {
        return of.module() + ".arange(" + std::to_string(positions.size()) + ")";
    }
    return fmt::format("{}([{}])", of.torch() ? "torch.tensor" : "np.array",
                       fmt::join(positions, ", "));
}

std::optional<std::string> frequencies_word(std::string_view word, const StepLines& of) {
    return frequency_word(word, of);
}

std::optional<std::string> norm_word(std::string_view word, const StepLines& of) {
    if (word == "eps") return json_number(of.plan.config.x_norm_eps);
    if (word != "bias") return std::nullopt;
    return of.plan.config.parameters.has("b_x") ? "b_x" : "None";
}

/// Returns a slice of the features that are rotated together: `4:8:2`.
std::optional<std::string> rotated_word(std::string_view word, const StepLines& of) {
    const bool is_key = of.step.chain == Chain::keys;
    const std::size_t all = projected_of(is_key ? 'k' : 'q').width(of.plan);
    const std::size_t first = of.plan.first_rotated(all);
    const std::size_t end = first + 2 * of.plan.rotary_pairs();
    const Standing standing{is_key && of.plan.has_memory};
    if (word == "cos" || word == "sin") return standing.name(std::string(word));
    if (word == "width") return std::to_string(end - first);
    if (word == "firsts") return fmt::format("{}:{}:2", first, end);
    if (word == "seconds") return fmt::format("{}:{}:2", first + 1, end);
    if (word == "still") return first > 0 ? fmt::format("{}[..., :{}], ", of.before(), first) : "";
    if (word == "rest") return end < all ? fmt::format(", {}[..., {}:]", of.before(), end) : "";
    return std::nullopt;
}

/// The weights with a sink, as an additional column during softmax.
constexpr const char* torch_sink =
    "with_sink = torch.cat([{scores}, {sinks}.expand(*{scores}.shape[:-1], 1)], dim=-1)\n"
    "weights = F.softmax(with_sink, dim=-1)[..., :-1]";
constexpr const char* numpy_sink =
    "column = np.broadcast_to({sinks}, {scores}.shape[:-1] + (1,))\n"
    "with_sink = np.concatenate([{scores}, column], axis=-1)\n"
    "shares = np.exp(with_sink{wide} - with_sink.max(axis=-1, keepdims=True))\n"
    "shares = {open}shares / shares.sum(axis=-1, keepdims=True){close}\n"
    "weights = shares[..., :-1]";

/// Returns the axis of softmax, the sink's logits along it, or NumPy's softmax, which has no
/// function.
std::optional<std::string> softmax_lines_word(std::string_view word, const StepLines& of) {
    if (word == "sinks") return of.plan.has_head ? "sink[:, None, None]" : "sink";
    if (word == "axis") {
        const SoftmaxAxis axis = of.plan.config.softmax_axis;
        return axis == SoftmaxAxis::key     ? "-1"
               : axis == SoftmaxAxis::query ? "-2"
               : axis == SoftmaxAxis::head  ? "-3"
                                            : "0";
    }
    const bool rounds = type_within(of) != of.plan.compute_dtype;
    if (word == "open") return rounds ? "(" : "";
    if (word == "close") return rounds ? written("){narrow}", of) : "";
    if (word == "with_sink")
        return written(of.torch() ? torch_sink : numpy_sink, of, softmax_lines_word);
    if (word != "softmax") return std::nullopt;
    return written(
        "exponentials = np.exp({scores}{wide} - {scores}.max(axis={axis}, keepdims=True))\n"
        "weights = {open}exponentials / exponentials.sum(axis={axis}, keepdims=True){close}",
        of, softmax_lines_word);
}

std::optional<std::string> depth_word(std::string_view word, const StepLines& of) {
    if (word != "depth") return std::nullopt;
    return std::to_string(*of.plan.config.differential.depth);
}

// Conditions.

bool sums_positions(const PlannedStep& of) {
    return of.step.name == "x" && of.plan.adds_positions();
}
template <RopeScaling::Kind kind>
bool stretches_as(const Plan& plan) {
    const std::optional<RopeScaling>& scaling = plan.config.rotary.scaling;
    return scaling && scaling->kind == kind;
}
bool is_rms(const Plan& plan) { return *plan.config.x_norm == NormKind::rms; }
bool rotates_neighbours(const Plan& plan) {
    return plan.config.rotary.pairing == Pairing::interleaved;
}
bool rotates_some(const Plan& plan) {
    return rotates_neighbours(plan) && 2 * plan.rotary_pairs() < plan.head_dim;
}

/// One line for both languages, or one each. A language without a line uses that of the rule.
struct FieldLine {
    FieldLine(const char* both) : torch(both), numpy(both) {}
    FieldLine(const char* of_torch, const char* of_numpy) : torch(of_torch), numpy(of_numpy) {}
    FieldLine(When meant, const char* both) : when(meant), torch(both), numpy(both) {}
    FieldLine(When meant, const char* of_torch, const char* of_numpy)
        : when(meant), torch(of_torch), numpy(of_numpy) {}

    When when = unconditional;
    const char *torch, *numpy;
};

/// The lines for some steps: the first with a true condition.
struct FieldLines {
    std::vector<std::string_view> steps;
    std::vector<FieldLine> lines;
    PythonWords words = nullptr;
};

using Stretch = RopeScaling::Kind;

const std::vector<FieldLines>& all_lines() {
    static const std::vector<FieldLines> all{
        {{"x", "token_embedding", "memory"},
         {{x_is_embedded, nullptr, nullptr},
          {sums_positions, nullptr, nullptr},
          {"{step} = F.embedding({ids}, {embedding})", nullptr}},
         start_word},
        {{"position_embedding"},
         {{learns_positions, nullptr, nullptr},
          {"angles_of_positions = positions{as_type}[:, None] * "
           "(1 / 10000 ** ({np}.arange(0, {C}, 2, dtype={type}) / {C}))\n"
           "position_embedding = {np}.empty(({shape}), dtype={stored_type})\n"
           "position_embedding[:, 0::2] = {np}.sin(angles_of_positions)\n"
           "position_embedding[:, 1::2] = {np}.cos(angles_of_positions[:, :{C} // 2])"}}},
        {{"normed_x"},
         {{is_rms, nullptr, nullptr},
          {"normed_x = F.layer_norm(x, g_x.shape, g_x, {bias}, {eps})", nullptr}},
         norm_word},
        {{"positions", "memory_positions"}, {"{step} = {places}"}, position_word},
        {{"inverse_frequencies"},
         {{stretches_as<Stretch::longrope>,
           "pair_factors = {array}([{factors}], dtype={type})\n"
           "{step} = 1 / {base} ** ({np}.arange(0, {width}, 2, dtype={type}) / {width})"
           " / pair_factors"},
          {stretches_as<Stretch::llama3>,
           "{step} = 1 / {base} ** ({np}.arange(0, {width}, 2, dtype={type}) / {width})\n"
           "share = 1 - (({length} / (2 * math.pi / {step}) - {low}) / {range}).clip(0, 1)\n"
           "{step} = {step} / {factor} * share + {step} * (1 - share)"},
          {stretches_as<Stretch::yarn>,
           "{step} = 1 / {base} ** ({np}.arange(0, {width}, 2, dtype={type}) / {width})\n"
           "share = (({np}.arange({width} // 2, dtype={type}) - {low}) / {range}).clip(0, 1)\n"
           "{step} = {step} / {factor} * share + {step} * (1 - share)"}},
         frequencies_word},
        {{"angles", "memory_angles"},
         {"{step} = {positions}{as_type}[:, None] * inverse_frequencies"},
         position_word},
        {{"rotated_query", "rotated_key"},
         {{rotates_some,
           "first, second = {before}[..., {firsts}], {before}[..., {seconds}]\n"
           "rotated = torch.stack((first * {cos} - second * {sin}, second * {cos} + first * "
           "{sin}), dim=-1).flatten(-2)\n"
           "{step} = torch.cat(({still}rotated{rest}), dim=-1)",
           "first, second = {before}[..., {firsts}], {before}[..., {seconds}]\n"
           "rotated = np.stack((first * {cos} - second * {sin}, second * {cos} + first * "
           "{sin}), axis=-1).reshape({before}.shape[:-1] + ({width},))\n"
           "{step} = np.concatenate(({still}rotated{rest}), axis=-1)"},
          {rotates_neighbours,
           "first, second = {before}[..., {firsts}], {before}[..., {seconds}]\n"
           "{step} = torch.stack((first * {cos} - second * {sin}, second * {cos} + first * "
           "{sin}), dim=-1).flatten(-2)",
           "first, second = {before}[..., {firsts}], {before}[..., {seconds}]\n"
           "{step} = np.stack((first * {cos} - second * {sin}, second * {cos} + first * "
           "{sin}), axis=-1).reshape({before}.shape)"}},
         rotated_word},
        {{"weights"}, {}, softmax_lines_word},
        {{"lambda_full"}, {}, depth_word},
    };
    return all;
}

}  // namespace

std::string written(std::string_view text, const StepLines& of, PythonWords own) {
    return filled(text, [&](std::string_view word) {
        std::optional<std::string> meant = own ? own(word, of) : std::nullopt;
        return meant ? std::move(meant) : python_meaning(std::string(word), of);
    });
}

std::string field_lines(const StepLines& of) {
    const std::string& step = of.step.name;
    if (step == "mask") return mask_code(of);
    if (step == "buckets") return buckets_code(of);
    if (step == "position_bias") return position_bias_code(of);
    const auto known = std::ranges::find_if(all_lines(), [&](const FieldLines& each) {
        return std::ranges::find(each.steps, step) != each.steps.end();
    });
    const PythonWords words = known == all_lines().end() ? nullptr : known->words;
    const Way* const way = of.step.text->way(of);
    const auto specified = [&](std::string_view language) {
        return way == nullptr ? std::string() : way->specified(language);
    };
    std::string lines = specified(of.torch() ? "torch" : "numpy");
    if (lines.empty()) lines = specified("python");
    if (!lines.empty()) {
        return filled(lines, [&](std::string_view word) {
            std::optional<std::string> meant = words ? words(word, of) : std::nullopt;
            if (!meant && way->words) meant = way->words(word, of);
            return meant ? std::move(meant) : python_meaning(std::string(word), of);
        });
    }
    if (known == all_lines().end()) return lines_by_rule(of);
    for (const FieldLine& line : known->lines) {
        if (!line.when.holds(of)) continue;
        const char* const text = of.torch() ? line.torch : line.numpy;
        return text == nullptr ? lines_by_rule(of) : written(text, of, words);
    }
    return lines_by_rule(of);
}

}  // namespace attn
