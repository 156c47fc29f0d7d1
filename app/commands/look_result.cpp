#include "app/commands/look_result.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "app/commands/diagnose_setup.hpp"
#include "app/commands/printed_cells.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/pasted_tensors.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/plan/beginnings.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/steps/scores.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace app {
namespace {

std::string names_in(const attn::Ledger& file) {
    std::vector<std::string> names;
    for (const auto& entry : file.entries()) names.push_back(attn::visible(entry.name));
    return attn::some_of(names);
}

/// Removes the tensors that are not steps of this walk, by their names or by `names`.
std::vector<attn::Skipped> leave_out(const attn::Plan& plan, const std::vector<std::string>& names,
                                     attn::Ledger& actual) {
    std::vector<attn::Skipped> left_out;
    attn::Ledger kept;
    for (const auto& [name, tensor] : actual.entries()) {
        const std::vector<std::string> steps = attn::known_steps(name);
        const bool is_step = steps.empty() || !attn::steps_called(name, plan).empty();
        if (!is_step) {
            left_out.push_back({name, attn::no_such_step(steps.front())});
        } else if (std::ranges::find(names, name) != names.end()) {
            left_out.push_back({name, "no step has that name"});
        } else {
            kept.record(name, tensor);
        }
    }
    actual = std::move(kept);
    return left_out;
}

/// Returns the unknown names whose numbers match no step.
std::vector<std::string> unknown_names(const attn::Diagnosis& diagnosis) {
    std::vector<std::string> names;
    for (const attn::StepVerdict& row : diagnosis.steps) {
        const bool is_wrong = row.local != attn::Verdict::right && !row.harmless;
        if (is_wrong && attn::known_steps(row.name_in_file).empty())
            names.push_back(row.name_in_file);
    }
    return names;
}

/// True if x is query, key and value, as most scores are the products of its rows.
bool is_all_three(const attn::Tensor& x, const attn::Ledger& steps) {
    const attn::Tensor* const scores = steps.find("scores");
    if (x.dimension() != 2 || scores == nullptr || steps.has("query") || steps.has("key") ||
        scores->shape() != attn::Shape{x.shape()[0], x.shape()[0]}) {
        return false;
    }
    const auto rows = attn::cast(x, attn::DType::float64).as<double>();
    const attn::Array<double> products = attn::loop::scores(rows, rows);
    std::size_t same = 0;
    attn::each_number(*scores, [&](std::size_t i, double actual) {
        const double product = products.data()[i];
        same += std::abs(product - actual) <= 0.01 * std::abs(product) ? 1U : 0U;
    });
    return 2 * same > products.size();
}

/// Leaves x, and the matrix of the values, out if no matrix computes query and key from x and the
/// walk can begin later, or makes x all three. Returns what is not judged for that reason.
std::vector<attn::Skipped> drop_idle_x(attn::Ledger& file) {
    std::string x, matrix, value;
    bool has_matrices = false;
    attn::Ledger steps;
    for (const auto& [name, tensor] : file.entries()) {
        const std::string step = given_as(name, tensor);
        if (step == "x") x = name;
        if (step == "w_value") matrix = name;
        if (step == "value") value = name;
        has_matrices = has_matrices || (step.starts_with("w_") && step != "w_value");
        if (!step.empty()) steps.record(step, tensor);
    }
    const bool has_later = !attn::given_beginning(steps).empty() ||
                           (steps.has("query") && steps.has("key") && steps.has("value"));
    const bool makes_value = !matrix.empty() && value.empty();
    if (x.empty() || has_matrices || makes_value || !has_later) return {};
    const attn::Tensor given = file[x];
    file = file.without(x);
    if (matrix.empty() && is_all_three(given, steps)) {
        for (const char* step : {"query", "key", "value"}) file.record(step, given);
        return {};
    }
    const std::string reason = "no matrix computes query and key from x";
    if (matrix.empty()) return {{x, reason}};
    file = file.without(matrix);
    return {{x, reason}, {value, reason + ", so the walk begins after " + attn::visible(value)}};
}

/// Counts the cells that are wrong, or not judged, if the tensors are read in that way.
std::size_t cells_off(const attn::Diagnosis& diagnosis) {
    std::size_t off = 0;
    const auto add = [&](const std::string& name) {
        const attn::Tensor* const tensor = diagnosis.read.find(name);
        off += tensor == nullptr ? 1 : tensor->size();
    };
    for (const attn::Skipped& each : diagnosis.skipped) add(each.name);
    for (const attn::StepVerdict& row : diagnosis.steps) {
        const attn::KeptStep* const form = attn::kept_step(row.name);
        if (form != nullptr && form->is_mistake) add(row.name);
        off += row.layout.empty() ? 0 : 1;
    }
    if (diagnosis.is_right()) return off;
    const Proof proof = proof_of("", diagnosis.read, diagnosis, {});
    for (const std::string& name : proof.unjudged) add(name);
    return off + proof.wrong.size();
}

/// Takes another reading of the tensors if fewer cells are wrong in it.
bool take_if_better(attn::Diagnosis other, attn::Diagnosis& best) {
    const bool is_better = cells_off(other) < cells_off(best);
    if (is_better) best = std::move(other);
    return is_better;
}

/// Diagnoses the tensors that are steps of this walk; those with unknown names only if their
/// numbers match a step.
attn::Diagnosis diagnosis_of(DiagnosedWalk requested, const attn::DiagnoseOptions& options) {
    const attn::Plan plan = attn::resolve(requested.config);
    std::vector<attn::Skipped> skipped;
    attn::Diagnosis diagnosis;
    std::vector<std::string> names;
    do {
        std::ranges::copy(leave_out(plan, names, requested.user_tensors),
                          std::back_inserter(skipped));
        if (requested.user_tensors.entries().empty()) {
            diagnosis = {};
            diagnosis.plan = plan;
            diagnosis.given = attn::draw(plan);
            break;
        }
        diagnosis = attn::diagnose_as_it_fits(requested, plan, options).diagnosis;
        // Misprints may look like another setting.
        if (!diagnosis.is_right()) {
            take_if_better(attn::diagnose(plan, attn::draw(plan), requested.user_tensors, options),
                           diagnosis);
        }
        names = unknown_names(diagnosis);
        std::erase_if(names, [&](const auto& name) { return options.steps.contains(name); });
    } while (!names.empty());
    std::ranges::copy(skipped, std::back_inserter(diagnosis.skipped));
    return diagnosis;
}

/// True if matrices are named like those of modules or of this program, which are read as x @ W^T.
bool are_of_modules(const attn::Ledger& file) {
    return std::ranges::any_of(file.entries(), [](const auto& entry) {
        return entry.name.find('.') != std::string::npos || entry.name == "w_query";
    });
}

/// Papers write x @ W, PyTorch computes x @ W^T: for square matrices the numbers decide, and if
/// they cannot, the names.
attn::Diagnosis diagnosis_in_either_layout(const Arguments& arguments, DiagnosedWalk requested,
                                           const attn::DiagnoseOptions& options, bool of_modules) {
    if (arguments.has(flags::weight_layout) || !attn::has_square_matrix(requested.config)) {
        return diagnosis_of(requested, options);
    }
    std::optional<attn::Diagnosis> best;
    for (const attn::WeightLayout layout :
         {of_modules ? attn::WeightLayout::out_in : attn::WeightLayout::in_out,
          of_modules ? attn::WeightLayout::in_out : attn::WeightLayout::out_in}) {
        requested.config.weight_layout = layout;
        try {
            attn::Diagnosis found = diagnosis_of(requested, options);
            if (layout == attn::WeightLayout::in_out) {
                found.remarks.emplace_back("--weight-layout in-out, for x @ W");
            }
            if (best) {
                take_if_better(std::move(found), *best);
            } else {
                best = std::move(found);
            }
        } catch (const attn::ShapeError&) {
            continue;  // the matrices fit in one layout only
        }
        const bool is_right = std::ranges::all_of(best->steps, [](const attn::StepVerdict& row) {
            return row.local == attn::Verdict::right && row.layout.empty();
        });
        if (is_right) break;
    }
    return best ? *std::move(best) : diagnosis_of(requested, options);  // reports the reason
}

/// True if some tensor follows from the others, or does not.
bool judges(const attn::Diagnosis& diagnosis) {
    return std::ranges::any_of(diagnosis.steps, [](const attn::StepVerdict& row) {
        return row.local == attn::Verdict::right || row.local == attn::Verdict::wrong;
    });
}

/// Returns the tensors without x and its matrices: those after them may be of one query.
attn::Ledger without_projections(const attn::Ledger& file) {
    attn::Ledger later;
    for (const auto& [name, tensor] : file.entries()) {
        const std::string step = given_as(name, tensor);
        if (step != "x" && !step.starts_with("w_") && !step.starts_with("b_")) {
            later.record(name, tensor);
        }
    }
    return later;
}

/// True if x has several rows, and the scores or weights made of it one.
bool is_of_one_query(const attn::Ledger& file) {
    std::size_t tokens = 0;
    bool has_one_row = false;
    for (const auto& [name, tensor] : file.entries()) {
        const std::string step = given_as(name, tensor);
        if (step == "x" && tensor.dimension() == 2) tokens = tensor.shape()[0];
        has_one_row = has_one_row || (attn::is_beginning(step) && tensor.dimension() == 2 &&
                                      tensor.shape()[0] == 1);
    }
    return tokens > 1 && has_one_row;
}

}  // namespace

LookResult look_at_tensors(const Arguments& arguments, const std::string& label, attn::Ledger file,
                           const std::vector<std::string>& tokens) {
    if (is_of_one_query(file)) file = without_projections(file);
    std::vector<attn::Skipped> idle;
    if (!arguments.has(flags::map)) idle = drop_idle_x(file);
    attn::DiagnoseOptions options;
    options.has_all_inputs = options.may_be_empty = true;
    options.steps = mapped_names(arguments, file);
    DiagnosedWalk requested = requested_walk(arguments, file, options.steps, true);
    if (name_rows_of(file, tokens) && !arguments.has(flags::tokens)) {
        requested.config.names = {tokens};
    }
    options.takes_projections = requested.takes_projections;
    LookResult looked{{}, requested.assumed, why_not_judged(requested)};
    if (!looked.reason.empty()) {
        looked.reason = label + ": " + looked.reason;
        return looked;
    }
    const bool begins = requested.takes_projections || arguments.has(sets_x) ||
                        std::holds_alternative<attn::Tensor>(requested.config.input) ||
                        !attn::beginning_of(requested.config).empty();
    if (!begins) {
        looked.reason = label + ": no walk begins with " + names_in(file) +
                        ": give x and its matrices, query, key and value, scores, or weights";
        return looked;
    }
    const bool of_modules = are_of_modules(file);
    looked.diagnosis = diagnosis_in_either_layout(arguments, requested, options, of_modules);
    const bool shows_scores = std::ranges::any_of(file.entries(), [](const auto& entry) {
        return given_as(entry.name, entry.tensor) == "scores";
    });
    if (shows_scores && !looked.diagnosis.is_right() && !arguments.has(flags::scale)) {
        // Small examples leave the scale out, and show the weights of these scores.
        requested.config.scale = {attn::ScaleChoice::By::none, 1};
        if (take_if_better(diagnosis_in_either_layout(arguments, requested, options, of_modules),
                           looked.diagnosis)) {
            looked.assumed.emplace_back("--scale none, as the scores are not divided");
        }
    }
    if (!judges(looked.diagnosis)) {
        attn::Ledger later = without_projections(file);
        const bool is_less = later.entries().size() < file.entries().size();
        if (is_less && !later.entries().empty()) {
            LookResult other = look_at_tensors(arguments, label, std::move(later), tokens);
            if (other.reason.empty() && judges(other.diagnosis)) return other;
        }
    }
    std::ranges::move(idle, std::back_inserter(looked.diagnosis.skipped));
    return looked;
}

}  // namespace app
