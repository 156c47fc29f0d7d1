#include <algorithm>
#include <map>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/explain/codegen/step_lines.hpp"
#include "attn/ground/tensor/xtensor.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/change.hpp"

namespace attn {
namespace {

/// The ids when the sorted words are numbered without dropping repeated ones: each
/// word keeps the number of its last repetition.
std::map<std::int64_t, std::int64_t> ids_with_repeats(const Tokens& tokens) {
    std::vector<std::int64_t> sorted;
    for (const auto& sequence : tokens.sequences) {
        for (const std::int64_t id : sequence) {
            if (!tokens.pad_id || id != *tokens.pad_id) sorted.push_back(id);
        }
    }
    std::sort(sorted.begin(), sorted.end());
    std::map<std::int64_t, std::int64_t> numbered;
    if (tokens.pad_id) numbered[*tokens.pad_id] = *tokens.pad_id;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        numbered[sorted[i]] = sorted.front() + static_cast<std::int64_t>(i);
    }
    return numbered;
}

std::string no_room_for_repeats(const Plan& plan) {
    const auto* tokens = std::get_if<Tokens>(&plan.config.input);
    if (tokens == nullptr || !plan.has_x()) return "the input has no token ids";
    bool repeats = false;
    for (const auto& [id, other] : ids_with_repeats(*tokens)) {
        repeats = repeats || id != other;
        if (other >= tokens->vocab_size.value_or(0)) {
            return "the embedding table has no row for id " + std::to_string(other) +
                   ": a larger $vocab-size would hide the mistake"_told;
        }
    }
    return repeats ? "" : "no token repeats";
}

Tensor renumbered(const Plan& plan, const Tensor& ids) {
    const auto numbers = ids_with_repeats(std::get<Tokens>(plan.config.input));
    Array<std::int64_t> result = ids.as<std::int64_t>();
    for (std::int64_t& id : result) id = numbers.contains(id) ? numbers.at(id) : id;
    return {ids.axes(), result};
}

std::string renumbered_lines(const StepLines& of, const std::string&) {
    const DrawList list = draw_list(of.plan);
    const Tensor ids = taken_tensor(*find_drawn(list, "ids"), of.plan.dtype);
    return "ids = " + tensor_literal(renumbered(of.plan, ids), of.plan.dtype, of.language);
}

StepTable count_repeats(StepTable table, const Plan& plan) {
    for (Step& step : table) step.replaces_given = step.replaces_given || step.name == "ids";
    return follows({.step = "ids",
                    .compute = [](const Plan& of, const Ledger& ledger,
                                  const Compute&) { return renumbered(of, ledger["ids"]); },
                    .formula = "the number of each token, repeated ones counted twice",
                    .lines = renumbered_lines})(std::move(table), plan);
}

/// `tensor` with the axes `a` and `b` exchanged; the names stay in their places.
Tensor exchanged(const Tensor& tensor, std::size_t a, std::size_t b) {
    std::vector<std::size_t> order(tensor.dimension());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::swap(order.at(a), order.at(b));
    return std::visit(
        [&](const auto& array) -> Tensor {
            using T = typename std::decay_t<decltype(array)>::value_type;
            return {tensor.axes(), evaluated<T>(xt::transpose(as_xtensor(array), order))};
        },
        tensor.values());
}

/// x, and memory, with batch and tokens exchanged; the last tensor exchanged back.
StepTable exchange_axes(StepTable table, const Plan& plan) {
    std::string last;
    for (const Step& step : table) {
        if (step.chain == Chain::contexts && step.applies(plan)) last = step.name;
    }
    const auto exchange_sources = [](const Plan& of, const Ledger& ledger, const Compute& before) {
        Ledger other = ledger;
        for (const std::string& name : {of.projected_x(), std::string("memory")}) {
            if (const Tensor* source = ledger.find(name)) {
                other.record(name, exchanged(*source, 0, 1));
            }
        }
        return before(of, other);
    };
    const auto exchanged_lines = [](const StepLines& of, const std::string& right) {
        const auto first = std::ranges::find_if(of.table, [&](const Step& step) {
            return step.applies(of.plan) && std::ranges::count(projecting_steps, step.name) > 0;
        });
        if (first->name != of.step.name) return right;
        const std::string x = of.plan.projected_x();
        std::string code = x + " = " + of.swapped(x, "0, 1") + "\n";
        if (of.plan.has_memory) code += "memory = " + of.swapped("memory", "0, 1") + "\n";
        return code + right;
    };
    const auto swap_lengths = [](Plan& other) {
        std::swap(other.batch, other.query_len);
        other.key_len = other.query_len;
    };
    // Positions were added to x before.
    std::vector<std::string> from_projections;
    for (const Step& step : table) {
        const bool projects = std::ranges::count(projecting_steps, step.name) > 0;
        if (projects || !from_projections.empty()) from_projections.push_back(step.name);
    }
    std::vector<TableEdit> edits{
        with_plan(from_projections, swap_lengths),
        follows({.step = last,
                 .outline = find_step(table, last).outline,
                 .compute =
                     [](const Plan& of, const Ledger& ledger, const Compute& before) {
                         const Tensor made = before(of, ledger);
                         return exchanged(made, 0, made.dimension() - 2);
                     },
                 .lines =
                     [last](const StepLines& of, const std::string& right) {
                         return right + "\n" + last + " = " + of.swapped(last, "0, -2");
                     }})};
    for (const std::string& step : projecting_steps) {
        edits.push_back(
            follows({.step = step, .compute = exchange_sources, .lines = exchanged_lines}));
    }
    return all_of(edits)(std::move(table), plan);
}

bool has_table(const Plan& plan) {
    return plan.config.position_embedding == PositionEmbedding::learned;
}

bool pads_in_front(const Plan& plan) {
    return !plan.has_memory && plan.key_padding.size() > 0 && plan.key_padding.data()[0];
}

/// 0, 1, 2, ...
void count_from_zero(Plan& plan) {
    std::int64_t position = 0;
    for (std::int64_t& each : plan.config.positions) each = position++;
}

/// Whether counting the padding gives other positions, which the table has rows for.
bool counts_otherwise(const Plan& plan) {
    Plan counted = plan;
    count_from_zero(counted);
    const bool has_row =
        !has_table(plan) || counted.config.positions.back() < *plan.config.position_rows;
    return counted.config.positions != plan.config.positions && has_row;
}

std::int64_t first_row(const Plan& plan) {
    return *std::ranges::min_element(plan.config.positions);
}

/// A wave of another order or with other exponents.
void other_waves(std::vector<Mistake>& list, const std::string& id, const char* title,
                 const char* effect, const Fix& fix, const char* lesson, const std::string& cell) {
    entry(list, id, "position_embedding", title, effect, fix, lesson,
          {{[](const Plan& plan) {
                return plan.config.position_embedding == PositionEmbedding::sinusoidal;
            },
            "there are no sinusoidal positions"},
           {[](const Plan& plan) { return plan.embed_dim > 3; }, "there is one wave"}},
          follows("position_embedding[t,c] = " + cell));
}

}  // namespace

void add_input_mistakes(std::vector<Mistake>& list) {
    entry(list, "vocab-duplicates", "ids", "Words were numbered without dropping repeated ones",
          "repeated words leave holes in the ids, so other rows of the table are looked up",
          "vocabulary = {word: i for i, word in enumerate(sorted(set(words)))}",
          "Number the distinct words, or every repetition uses up an id that no word will have.",
          no_room_for_repeats, count_repeats);
    entry(list, "batch-seq-swapped", "projected_query", "Batch and token axes were exchanged",
          "every token is compared with the same position of the other samples",
          Fix("nn.MultiheadAttention(..., batch_first=True)",
              "x = x  # keep (batch, tokens, features)"),
          "Check which axis a layer takes for the batch: the wrong one gives no error, only a "
          "comparison between strangers.",
          {{[](const Plan& plan) { return plan.has_batch && plan.has_x(); },
            "there is no batch axis to confuse with the tokens"},
           without_step("latent", "keys and values are made of a latent"),
           needs_no_mask,
           {is_square, "x and memory differ in length, so the program would stop"},
           {[](const Plan& plan) { return !plan.rotates() || plan.batch == plan.query_len; },
            "there is one angle for each token, so the program would stop"},
           {[](const Plan& plan) { return plan.batch > 1 || plan.query_len > 1; },
            "batch and tokens both have length 1"}},
          exchange_axes);
    entry(list, "positions-count-padding", "positions", "Padding in front was counted",
          "the first word stands where as many words had stood before it",
          Fix("positions = (attention_mask.cumsum(-1) - 1).clamp(min=0)",
              "positions = np.maximum(attention_mask.cumsum(-1) - 1, 0)"),
          "Count words, not places: padding on the left moves every word to another row.",
          {{&Plan::adds_positions, "nothing is added for positions, and distances stay the same"},
           {pads_in_front, "no padding token stands in front"},
           {counts_otherwise, "padding is counted here too, or the table has no row for it"}},
          with_plan({"positions"}, count_from_zero));
    entry(list, "position-embedding-missing", "x", "No positions were added to the tokens",
          "equal tokens are equal rows: attention sees a bag of words",
          "x = token_embedding + position_embedding",
          "Scores and sums over keys know no order: it has to be in x.",
          {&Plan::adds_positions, "nothing is added for positions"},
          follows("x[t,c] = token_embedding[t,c]"));
    entry(list, "position-row-offset", "position_embedding",
          "The rows in front of the first position were not skipped",
          "each token has the position of another one, and every tensor after it differs",
          "x = x + position_table[positions + 2]  # OPT, BART; RoBERTa: padding_idx + 1",
          "Some tables begin with rows that no position has: look for the offset in the model.",
          {{has_table, "there is no table of positions"},
           {[](const Plan& plan) { return first_row(plan) > 0; }, "a token takes row 0"}},
          follows([](const Plan& plan) {
              return "position_embedding[t,c] = position_table[positions[t] - " +
                     std::to_string(first_row(plan)) + ", c]";
          }));
    other_waves(
        list, "sinusoid-order=halves", "All sines came first, then all cosines",
        "the numbers of each row are right, and in the wrong order",
        "pe[:, 0::2], pe[:, 1::2] = torch.sin(angles), torch.cos(angles)",
        "The paper alternates sine and cosine, tensor2tensor has two halves: one is a permutation "
        "of the other.",
        "position_embedding[t, if c < (C + 1) / 2 then 2 * c else 2 * (c - (C + 1) / 2) + 1]");
    other_waves(list, "sinusoid-order=divisor", "The exponents were divided by one step less",
                "the first wave is right, and the others grow too long",
                "angles = positions / 10000 ** (2 * i / C)  # i = 0, 1, ..., C / 2 - 1",
                "The paper divides 2i by the features, tensor2tensor i by half of them less one.",
                "if c % 2 == 0 then sin(positions[t] * (1 / 10000 ^ (c / (C - 2)))) else "
                "cos(positions[t] * (1 / 10000 ^ ((c - 1) / (C - 2))))");
    other_waves(list, "sinusoid-exponent", "The exponent was 2c / C for feature c, not for pair i",
                "feature 0 is right, all others turn too slowly",
                "angles = positions / 10000 ** (2 * (c // 2) / C)  # c = 0, 1, ..., C - 1",
                "The paper's i counts pairs: feature c belongs to pair c // 2.",
                "if c % 2 == 0 then sin(positions[t] * (1 / 10000 ^ (2 * c / C))) else "
                "cos(positions[t] * (1 / 10000 ^ (2 * c / C)))");
}

}  // namespace attn
