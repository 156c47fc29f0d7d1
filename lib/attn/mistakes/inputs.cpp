#include <algorithm>
#include <map>

#include "attn/cards/step_table.hpp"
#include "attn/codegen/literal.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"
#include "attn/plan/draw_list.hpp"

namespace attn {
namespace {

/// What the ids become when the sorted words are numbered without dropping repeated ones: each
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
    if (sorted.empty()) return numbered;
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

void exchange_batch_and_tokens(Ledger& ledger, const Plan& plan) {
    for (const std::string& name : {plan.projected_x(), std::string("memory")}) {
        if (const Tensor* source = ledger.find(name)) {
            ledger.record(name, exchanged(*source, 0, 1));
        }
    }
}

/// The last tensor of the walk.
std::string last_step(const Plan& plan) {
    std::string last;
    for (const Step& step : step_table()) {
        if (step.chain == Chain::contexts && step.applies(plan)) last = step.name;
    }
    return last;
}

/// x, and memory, with batch and tokens exchanged; the last tensor exchanged back.
StepTable exchange_axes(StepTable table, const Plan& plan) {
    const std::string last = last_step(plan);
    for (Step& step : table) {
        const bool projects = std::ranges::count(projecting_steps(), step.name) > 0;
        if (!projects && step.name != last) continue;
        step.compute = [=, before = step.compute](const Plan& of, const Ledger& ledger) {
            Ledger other = ledger;
            if (projects) exchange_batch_and_tokens(other, of);
            const Tensor made = before(of, other);
            return projects ? made : exchanged(made, 0, made.dimension() - 2);
        };
        step.rule = nullptr;
    }
    const auto lines = [last](const StepLines& of, const std::string& right) {
        if (of.step.name == last) return right + "\n" + last + " = " + of.swapped(last, "0, -2");
        if (!multiplies_first(of)) return right;
        const std::string x = of.plan.projected_x();
        std::string code = x + " = " + of.swapped(x, "0, 1") + "\n";
        if (of.plan.has_memory) code += "memory = " + of.swapped("memory", "0, 1") + "\n";
        return code + right;
    };
    std::vector<std::string> steps = projecting_steps();
    steps.push_back(last);
    return all_of({written_with_plan([](Plan& other) {
                       std::swap(other.batch, other.query_len);
                       other.key_len = other.query_len;
                   }),
                   written(steps, lines)})(std::move(table), plan);
}

}  // namespace

void add_input_mistakes(std::vector<Mistake>& list) {
    const NotApplicable swappable = first_of(
        {unless([](const Plan& plan) { return plan.has_batch && plan.has_x(); },
                "there is no batch axis to confuse with the tokens"),
         unless([](const Plan& plan) { return !walk_has(plan, "latent"); },
                "keys and values are made of a latent"),
         unless([](const Plan& plan) { return !plan.masks(); },
                "the mask would not fit the scores, and the program would stop"),
         unless([](const Plan& plan) { return plan.query_len == plan.key_len; },
                "x and memory differ in length, so the program would stop"),
         unless([](const Plan& plan) { return !plan.rotates() || plan.batch == plan.query_len; },
                "there is one angle for each token, so the program would stop"),
         unless([](const Plan& plan) { return plan.batch > 1 || plan.query_len > 1; },
                "batch and tokens both have length 1")});
    entry(list, "vocab-duplicates", "ids", "Words were numbered without dropping repeated ones",
          "repeated words leave holes in the ids, so other rows of the table are looked up",
          "vocabulary = {word: i for i, word in enumerate(sorted(set(words)))}",
          "vocabulary = {word: i for i, word in enumerate(sorted(set(words)))}",
          "Number the distinct words, or every repetition uses up an id that no word will "
          "have.",
          "", no_room_for_repeats, [](StepTable table, const Plan& plan) {
              for (Step& step : table) {
                  if (step.name == "ids") step.replaces_given = true;
              }
              return computed(
                  "ids", "the number of each token, repeated ones counted twice",
                  [](const Plan& of, const Ledger& ledger, const Compute&) {
                      return renumbered(of, ledger["ids"]);
                  },
                  renumbered_lines)(std::move(table), plan);
          });
    entry(list, "batch-seq-swapped", "projected_query", "Batch and token axes were exchanged",
          "every token is compared with the same position of the other samples",
          "nn.MultiheadAttention(..., batch_first=True)", "x = x  # keep (batch, tokens, features)",
          "Check which axis a layer takes for the batch: the wrong one gives no error, "
          "only a "
          "comparison between strangers.",
          "", swappable, exchange_axes);
}

}  // namespace attn
