#include "app/commands/look_result.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>

#include "app/commands/diagnose_setup.hpp"
#include "app/commands/idle_x.hpp"
#include "app/commands/printed_cells.hpp"
#include "app/flags/pasted_tensors.hpp"
#include "app/flags/walk_flags.hpp"
#include "attn/core/plan/beginnings.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace app {
namespace {

std::string names_in(const attn::Ledger& file) {
    return attn::some_of(
        collected(file.entries(), [](const auto& entry) { return attn::visible(entry.name); }));
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
    // A mistake may be too small for the printed decimals of a cell.
    return off + std::max<std::size_t>(proof.wrong.size(), diagnosis.has_mistake() ? 1 : 0);
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
        attn::FittingDiagnosis fitting = attn::diagnose_as_it_fits(requested, plan, options);
        diagnosis = std::move(fitting.diagnosis);
        // Misprints may look like another setting.
        if (!diagnosis.is_right()) {
            if (!fitting.as_requested) {
                fitting.as_requested =
                    attn::diagnose(plan, attn::draw(plan), requested.user_tensors, options);
            }
            take_if_better(*std::move(fitting.as_requested), diagnosis);
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

/// Returns the number of rows of x if the query, or the scores or weights made of it, have one;
/// else 0.
std::size_t rows_beside_one_query(const attn::Ledger& file) {
    std::size_t tokens = 0;
    bool has_one_row = false;
    for (const auto& [name, tensor] : file.entries()) {
        const std::string step = given_as(name, tensor);
        if (tensor.dimension() != 2) continue;
        if (step == "x") tokens = tensor.shape()[0];
        has_one_row = has_one_row ||
                      ((attn::is_beginning(step) || step == "query") && tensor.shape()[0] == 1);
    }
    return tokens > 1 && has_one_row ? tokens : 0;
}

/// Returns the tensors as those of one query: that row of x, which looks at all rows.
attn::Ledger of_one_query(const attn::Ledger& file, std::size_t row) {
    attn::Ledger one;
    for (const auto& [name, tensor] : file.entries()) {
        const bool is_x = given_as(name, tensor) == "x";
        one.record(name, is_x ? attn::slice_of_axis(tensor, 0, row, 1) : tensor);
        if (is_x) one.record("memory", tensor);
    }
    return one;
}

/// Returns the names of all scores if there are several; else nothing.
std::vector<std::string> second_scores(const attn::Ledger& file) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : file.entries()) {
        const bool is_called = attn::likeliest_step(name) == "scores";
        if (is_called && given_as(name, tensor) == "scores") names.push_back(name);
    }
    return names.size() > 1 ? names : std::vector<std::string>();
}

LookResult look_at_tensors(const Arguments& arguments, const std::string& label, attn::Ledger file,
                           const std::vector<std::string>& tokens);

/// Reads tensors as those of the row of x that explains most of them; nullopt if none does.
std::optional<LookResult> look_at_one_query(const Arguments& arguments, const std::string& label,
                                            const attn::Ledger& file, std::size_t rows) {
    constexpr std::size_t most = 16;
    std::optional<LookResult> best;
    for (std::size_t row = 0; row < std::min(rows, most); ++row) {
        LookResult looked = look_at_tensors(arguments, label, of_one_query(file, row), {});
        if (!looked.reason.empty() || !judges(looked.diagnosis)) return std::nullopt;
        const bool is_right = looked.diagnosis.is_right();
        looked.assumed.push_back("the query is that of row " + std::to_string(row) + " of x");
        if (!best || is_right || cells_off(looked.diagnosis) < cells_off(best->diagnosis)) {
            best = std::move(looked);
        }
        if (is_right) break;
    }
    return best;
}

LookResult look_at_tensors(const Arguments& arguments, const std::string& label, attn::Ledger file,
                           const std::vector<std::string>& tokens) {
    if (const std::size_t rows = rows_beside_one_query(file); rows > 0) {
        auto one = look_at_one_query(arguments, label, file, rows);
        if (one) return *std::move(one);
        file = without_projections(file);
    }
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
        attn::Ledger later = without_projections(file);
        if (later.entries().size() < file.entries().size() && !later.entries().empty()) {
            return look_at_tensors(arguments, label, std::move(later), tokens);
        }
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
    // One of two tensors called scores may be something else: the vector s of an older model.
    for (const std::string& name :
         looked.diagnosis.is_right() ? std::vector<std::string>() : second_scores(file)) {
        LookResult other = look_at_tensors(arguments, label, file.without(name), tokens);
        if (!other.reason.empty() || !other.diagnosis.is_right() || !judges(other.diagnosis))
            continue;
        other.diagnosis.skipped.push_back({name, "other tensors follow from other scores"});
        return other;
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

LookResult read_as(
    const Arguments& arguments, const std::string& spec, std::vector<attn::NamedTensor> tensors,
    const std::function<std::vector<attn::Skipped>(std::vector<attn::NamedTensor>&)>& prepare) {
    std::vector<attn::Skipped> left_out;
    if (prepare) left_out = prepare(tensors);
    std::vector<std::string> tokens;
    attn::Ledger file = recognised(std::move(tensors), spec, tokens);
    LookResult looked = look_at_tensors(arguments, attn::file_label(spec), file, tokens);
    looked.file = std::move(file);
    looked.tokens = std::move(tokens);
    std::ranges::move(left_out, std::back_inserter(looked.diagnosis.skipped));
    return looked;
}

}  // namespace

attn::Shape LookResult::as_given(attn::Shape cell) const {
    if (has_columns && cell.size() > 1) std::swap(cell[cell.size() - 1], cell[cell.size() - 2]);
    return cell;
}

std::string LookResult::off_row() const {
    if (attn::beginning_of(diagnosis.plan->config) != "weights" || diagnosis.plan->config.sigmoid) {
        return "";
    }
    const attn::Tensor& weights = diagnosis.given["weights"];
    const std::optional<OffRow> off = row_off_one(weights, 0.011);
    if (!off) return "";
    attn::Shape row = attn::indices_of(off->first, weights.shape());
    row.pop_back();
    return (has_columns ? "column " + std::to_string(row.back()) + " of weights"
                        : "weights" + attn::index_text(row)) +
           " sums to " + attn::brief(off->sum) + ", but each " + (has_columns ? "column" : "row") +
           " should sum to 1";
}

LookResult look_at(
    const Arguments& arguments, const std::string& spec,
    const std::vector<attn::NamedTensor>& tensors,
    const std::function<std::vector<attn::Skipped>(std::vector<attn::NamedTensor>&)>& prepare) {
    std::optional<LookResult> rows, columns;
    std::exception_ptr fault;
    try {
        rows = read_as(arguments, spec, tensors, prepare);
        const attn::Diagnosis& found = rows->diagnosis;
        const bool is_explained =
            found.has_mistake() && !found.has_unknown();  // softmax over queries
        if (found.plan && (found.is_right() || is_explained) && judges(found)) return *rows;
    } catch (const attn::Error&) {
        fault = std::current_exception();
    }
    try {
        columns = read_as(arguments, spec, with_tokens_as_rows(tensors), prepare);
    } catch (const attn::Error&) {
        columns.reset();
    }
    if (columns && columns->reason.empty() && judges(columns->diagnosis)) {
        std::size_t cells = 0;
        for (const auto& entry : columns->file.entries()) cells += entry.tensor.size();
        const std::size_t off = cells_off(columns->diagnosis);
        const bool are_read = rows && rows->reason.empty() && judges(rows->diagnosis);
        if (are_read ? off < cells_off(rows->diagnosis) : 2 * off < cells) {
            columns->has_columns = true;
            columns->assumed.insert(columns->assumed.begin(),
                                    "each token is a column, so your matrices are transposed");
            return *std::move(columns);
        }
    }
    if (fault) std::rethrow_exception(fault);
    return *std::move(rows);
}

}  // namespace app
