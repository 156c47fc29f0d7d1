#include "attn/explain/document/document.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "attn/core/cards/starts.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/bounds/bounds.hpp"
#include "attn/explain/notes/findings.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/explain/notes/notes.hpp"

namespace attn {
namespace {

/// Returns the entries of the ledger that a step was computed from.
std::vector<std::string> read_by(const Step& step, const Plan& plan, const Ledger& ledger) {
    std::vector<std::string> names;
    for (const Input& input : step.reads(plan)) {
        if (input.chain == Chain::none) {
            if (ledger.has(input.step)) names.push_back(input.step);
        } else if (const auto* entry = ledger.find_latest(input.chain, step.name)) {
            names.push_back(entry->name);
        }
    }
    return names;
}

/// Returns the walks of a prefill's chunks up to the context, for the note that compares them with
/// the whole; empty if there is no such note.
std::vector<Ledger> noted_chunks(const Plan& plan, const Ledger& ledger, const StepTable& table) {
    const Ledger::Entry* context = ledger.find_latest(Chain::contexts);
    if (!plan.config.prefill || context == nullptr || context->tensor.size() > notes::most_cells) {
        return {};
    }
    const auto step = std::ranges::find(table, context->name, &Step::name);
    if (!has_note({plan, table, *step})) return {};
    return walk_chunks(plan, ledger, StepTable(table.begin(), step + 1));
}

}  // namespace

std::size_t Section::whole_index(std::size_t axis, std::size_t i) const {
    for (const AxisPart& each : part) {
        if (each.drops_axis) continue;
        if (axis-- > 0) continue;
        return static_cast<std::size_t>(each.first + static_cast<std::ptrdiff_t>(i) * each.step);
    }
    return i;
}

const std::vector<std::string>* Document::words_on(const Section& section, const std::string& axis,
                                                   std::size_t sequence, std::size_t head) const {
    const auto named = section.features.find(axis);
    if (named != section.features.end()) return &in_head(named->second, head);
    if (axis == "vocab" && !section.row_words.empty()) return &section.row_words;
    const auto* sequences = tokens_on(section, axis);
    return sequences != nullptr && sequence < sequences->size() ? &(*sequences)[sequence] : nullptr;
}

std::optional<std::size_t> Document::picked_sequence(const Section& section) const {
    const auto* tensor = std::get_if<Tensor>(&section.content);
    const bool first_is_batch = query_tokens.size() > 1 && !section.part.empty() &&
                                section.part.front().drops_axis && tensor != nullptr &&
                                !tensor->has_axis("batch");
    if (!first_is_batch) return std::nullopt;
    return static_cast<std::size_t>(section.part.front().first);
}

Document document_of(const Plan& plan, const Ledger& ledger, const StepTable& table,
                     bool has_notes) {
    const std::vector<Ledger> chunks =
        has_notes ? noted_chunks(plan, ledger, table) : std::vector<Ledger>();
    Document document;
    document.query_tokens = plan.query_tokens;
    document.key_tokens = plan.key_tokens;
    const Tensor* scores = nullptr;
    for (const Step& step : table) {
        const Tensor* tensor = ledger.find(step.name);
        if (tensor == nullptr) continue;
        Section section;
        if (step.chain == Chain::scores) scores = tensor;
        const bool is_of_scores =
            tensor == scores || step.name == "weights" || step.name == "exponentials";
        if (is_of_scores && scores != nullptr && scores->shape() == tensor->shape()) {
            section.scores = *scores;
        }
        section.name = step.name;
        section.title = displayed_title({plan, table, step});
        section.formula = formula_of(step, plan, table);
        section.margin = step.mistake;
        if (has_notes) {
            section.note = step_note({plan, table, step}, ledger, Excerpt(), chunks);
            notes::append_sentence(section.note, overflow_note({plan, table, step}, ledger));
        }
        section.content = *tensor;
        for (std::size_t axis = 0; axis < tensor->dimension(); ++axis) {
            FeatureNames names = feature_names({plan, table, step}, *tensor, axis);
            if (!names.empty()) section.features[tensor->axes()[axis]] = std::move(names);
        }
        section.row_words = words_of_rows(plan, step);
        section.shown = step.shown;
        section.detail = step.kind == Step::Kind::detail;
        section.tokens = step.tokens;
        section.reads = read_by(step, plan, ledger);
        document.sections.push_back(std::move(section));
    }
    return document;
}

namespace {

/// Returns the note on each matrix of a step's tensor if there are several.
std::vector<Prose> notes_of_matrices(const PlannedStep& of, const Ledger& ledger,
                                     const Prose& whole) {
    constexpr std::size_t most_matrices = 64;
    const Tensor& tensor = ledger[of.step.name];
    const Shape& shape = tensor.shape();
    if (shape.size() < 3 || tensor.size() == 0) return {};
    const std::size_t outer = shape.size() - 2;
    std::size_t count = 1;
    for (std::size_t axis = 0; axis < outer; ++axis) count *= shape[axis];
    if (count < 2 || count > most_matrices) return {};
    std::vector<Prose> notes;
    for (std::size_t number = 0; number < count; ++number) {
        std::string indices;
        for (std::size_t axis = outer, left = number; axis-- > 0; left /= shape[axis]) {
            indices = std::to_string(left % shape[axis]) + "," + indices;
        }
        const Prose note = step_note(of, ledger, slice_parts(tensor, indices + "..."));
        notes.push_back(note == whole ? Prose() : note);
    }
    const bool all_alike = std::ranges::all_of(notes, &Prose::empty);
    return all_alike ? std::vector<Prose>() : notes;
}

}  // namespace

void add_rules(Document& document, const Plan& plan, const StepTable& table) {
    constexpr std::array kinds{"input", "parameter", "computed", "detail"};
    for (Section& section : document.sections) {
        const PlannedStep of{plan, table, find_step(table, section.name)};
        const std::optional<Rule> rule = rule_of(of);
        if (rule) {
            section.rule = rule_text(*rule);
            section.completed = std::make_shared<const Rule>(*rule);
        }
        // A given or drawn tensor in place of a computed step has no rule.
        const bool is_input = !rule && of.step.kind != Step::Kind::parameter;
        section.kind = is_input ? "input" : kinds.at(static_cast<std::size_t>(of.step.kind));
        const RoundedAt rounds =
            is_16_bit(plan.compute_dtype) ? rounded_at(of) : RoundedAt::nothing;
        if (rounds != RoundedAt::nothing) {
            section.rounded = rounds == RoundedAt::result ? "once" : "operation";
        }
    }
}

namespace {

/// Returns the largest difference between correct code and the walk's numbers, which are rounded,
/// too: the radius is relative to the exact ones.
Tensor bound_of(const Tensor& tensor, const Ball& ball) {
    if (tensor.shape() != ball.middle.shape()) return ball.radius;
    Array<double> cells = ball.radius.as<double>();
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const double off = std::abs(tensor.at(i) - ball.middle.at(i));
        if (off > 0) cells.data()[i] += off;
    }
    return {ball.radius.axes(), std::move(cells)};
}

}  // namespace

void add_bounds(Document& document, const Plan& plan, const StepTable& table,
                const Ledger& ledger) {
    Bounds bounds(plan, table, ledger, rounding_of(plan.compute_dtype));
    for (Section& section : document.sections) {
        if (!ledger[section.name].is_floating()) continue;
        const std::optional<Ball> ball = bounds.of(section.name);
        if (ball) section.bound = bound_of(ledger[section.name], *ball);
    }
}

void add_derivations(Document& document, const Plan& plan, const StepTable& table,
                     const Ledger& ledger, const std::vector<std::string>& left_out) {
    for (Section& section : document.sections) {
        const Step& step = find_step(table, section.name);
        const bool is_elsewhere = std::ranges::any_of(left_out, [&](const std::string& name) {
            return PlannedStep{plan, table, step}.reads(name);
        });
        if (!is_elsewhere) {
            section.derivations = derivation_patterns(plan, table, ledger, section.name);
        }
        if (section.note.empty()) continue;
        section.notes = notes_of_matrices({plan, table, step}, ledger, section.note);
    }
}

}  // namespace attn
