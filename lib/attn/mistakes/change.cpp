#include "attn/mistakes/change.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "attn/cards/step_table.hpp"
#include "attn/plan/projected.hpp"
#include "attn/plan/visibility.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/xtensor.hpp"
#include "attn/why/why.hpp"

namespace attn {

std::string needs_mask(const Plan& plan) { return plan.masks() ? "" : "nothing is masked"; }

std::string needs_padding(const Plan& plan) {
    return plan.config.mask.padding ? "" : "there is no padding mask";
}

std::string needs_scale(const Plan& plan) { return plan.scales() ? "" : "nothing is scaled"; }

std::string needs_square(const Plan& plan) {
    return plan.query_len == plan.key_len ? "" : "there are not as many keys as queries";
}

NotApplicable needs_rope() {
    return unless([](const Plan& plan) { return plan.rotates(); },
                  "nothing rotates: there is no $rope"_told);
}

NotApplicable rope_and(std::function<bool(const Plan&)> possible, std::string reason) {
    return first_of({needs_rope(), unless(std::move(possible), std::move(reason))});
}

TableEdit replace_step(std::vector<std::string> steps, StepEdit how) {
    return [steps = std::move(steps), how = std::move(how)](StepTable table, const Plan&) {
        for (Step& step : table) {
            if (std::find(steps.begin(), steps.end(), step.name) == steps.end()) continue;
            step.compute = [before = step.compute, how](const Plan& plan, const Ledger& ledger) {
                return how(plan, ledger, before);
            };
            step.rule = nullptr;
        }
        return table;
    };
}

TableEdit with_ledger(std::vector<std::string> steps, LedgerEdit alter) {
    return replace_step(
        std::move(steps),
        [alter = std::move(alter)](const Plan& plan, const Ledger& ledger, const Compute& before) {
            Ledger other = ledger;
            alter(other, plan);
            return before(plan, other);
        });
}

TableEdit with_plan(std::vector<std::string> steps, PlanEdit alter) {
    return [steps = std::move(steps), alter = std::move(alter)](StepTable table, const Plan& plan) {
        const StepTable right = table;
        const auto altered = [alter](const Plan& of) {
            Plan other = of;
            alter(other);
            return other;
        };
        table = replace_step(
            steps, [altered](const Plan& of, const Ledger& ledger, const Compute& before) {
                return before(altered(of), ledger);
            })(std::move(table), plan);
        for (std::size_t i = 0; i < table.size(); ++i) {
            if (std::find(steps.begin(), steps.end(), table[i].name) == steps.end()) continue;
            if (right[i].rule) {
                table[i].rule = [rule = right[i].rule, altered](const PlannedStep& of) {
                    const Plan other = altered(of.plan);
                    return rule({other, of.table, of.step});
                };
            }
        }
        return written_with_plan(steps, alter)(std::move(table), plan);
    };
}

TableEdit all_of(std::vector<TableEdit> edits) {
    return [edits = std::move(edits)](StepTable table, const Plan& plan) {
        for (const TableEdit& edit : edits) table = edit(std::move(table), plan);
        return table;
    };
}

TableEdit for_each_step(const std::vector<std::string>& steps,
                        const std::function<TableEdit(const std::string& step)>& edit) {
    std::vector<TableEdit> edits;
    for (const std::string& step : steps) edits.push_back(edit(step));
    return all_of(std::move(edits));
}

Chain chain_of(const std::string& step) { return find_step(step_table(), step).chain; }

TableEdit left_out(const std::vector<std::string>& steps) {
    return for_each_step(steps, [](const std::string& step) -> TableEdit {
        const TableEdit edit =
            replace_step({step}, [step](const Plan&, const Ledger& ledger, const Compute&) {
                return ledger.latest(chain_of(step), step);
            });
        return [edit, step](StepTable table, const Plan& plan) {
            table = edit(std::move(table), plan);
            const auto left = std::ranges::find(table, step, &Step::name);
            if (left == table.end()) return table;
            left->rule = [](const PlannedStep& of) {
                std::string at;
                for (const std::string& axis : of.step.outline(of.plan).axes) {
                    at += (at.empty() ? "[" : ",") + axis.substr(0, 1);
                }
                return of.step.name + at + "] = " + of.latest(of.step.chain) + at + "]";
            };
            return table;
        };
    });
}

std::vector<WrongLines> left_out_lines(const std::vector<std::string>& steps) {
    static const std::map<Chain, const char*> before{{Chain::queries, "{queries}"},
                                                     {Chain::keys, "{keys}"},
                                                     {Chain::scores, "{scores}"},
                                                     {Chain::contexts, "{contexts}"}};
    std::vector<WrongLines> lines;
    for (const std::string& step : steps) {
        lines.push_back({step, say(step + " = " + before.at(chain_of(step)))});
    }
    return lines;
}

bool projects_x(const Plan& plan) { return walk_has(plan, "w_key") || walk_has(plan, "w_qkv"); }

std::size_t stored_width(const Plan& plan, std::size_t part) {
    const Projected& projected = query_key_value()[part];
    return plan.head_axis_on_weight() ? projected.width(plan) : projected.all_features(plan);
}

const std::vector<std::string>& projecting_steps() {
    static const std::vector<std::string> names{
        "projected_query", "projected_key", "projected_value", "qkv", "query", "key", "value"};
    return names;
}

const std::vector<std::string>& head_steps() {
    static const std::vector<std::string> names{"query", "key", "value"};
    return names;
}

Grid::Grid(std::size_t batch_size, std::size_t head_count, std::size_t row_count,
           std::size_t column_count)
    : batch(batch_size),
      heads(head_count),
      rows(row_count),
      columns(column_count),
      cells(batch_size * head_count * row_count * column_count) {}

Grid grid_of(const Tensor& tensor) {
    const Shape shape = tensor.shape();
    const std::size_t axes = shape.size();
    if (axes < 2 || axes > 4) {
        throw ShapeError("a tensor of shape " + shape_text(shape) +
                         " is no matrix for each batch and head: it needs two to four axes");
    }
    const bool by_head = axes == 3 && tensor.axes()[0] == "head";
    Grid grid(axes == 4 || (axes == 3 && !by_head) ? shape[0] : 1,
              axes == 4 ? shape[1] : (by_head ? shape[0] : 1), shape[axes - 2], shape[axes - 1]);
    grid.cells = tensor.numbers();
    return grid;
}

Tensor tensor_of(const Grid& grid, Axes axes, DType dtype) {
    Shape shape;
    for (std::size_t i = 0; i + 2 < axes.size(); ++i) {
        shape.push_back(axes[i] == "head" ? grid.heads : grid.batch);
    }
    shape.push_back(grid.rows);
    shape.push_back(grid.columns);
    if (element_count(shape) != grid.cells.size()) {
        throw ShapeError("there is no axis for every one of " + std::to_string(grid.batch) + " x " +
                         std::to_string(grid.heads) + " matrices: name a batch or head axis");
    }
    return with_floating(dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        Array<T> array = empty_array<T>(shape);
        std::transform(grid.cells.begin(), grid.cells.end(), array.data(),
                       [](double cell) { return static_cast<T>(cell); });
        return {std::move(axes), std::move(array)};
    });
}

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

Tensor reshaped(const Tensor& tensor, Axes axes, const Shape& shape) {
    return std::visit(
        [&](auto array) -> Tensor {
            array.reshape(shape);
            return {std::move(axes), std::move(array)};
        },
        tensor.values());
}

Grid score_grid(const Plan& plan) {
    return {plan.has_batch ? plan.batch : 1, plan.has_head ? plan.heads : 1, plan.query_len,
            plan.key_len};
}

Grid hidden_cells(const Plan& plan, const Tensor& mask) {
    Shape shape = mask.shape();
    shape.insert(shape.begin(), 4 - shape.size(), 1);
    // A lone leading axis of three belongs to the head unless only the batch exists.
    if (mask.dimension() == 3 && plan.has_batch && !plan.has_head) std::swap(shape[0], shape[1]);
    Grid hidden = score_grid(plan);
    // Another mistake may have made more keys than the plan has.
    if (shape[3] != 1) hidden = {hidden.batch, hidden.heads, hidden.rows, shape[3]};
    const auto at = [](std::size_t index, std::size_t length) { return length == 1 ? 0 : index; };
    hidden.fill([&](std::size_t b, std::size_t h, std::size_t q, std::size_t k) {
        return mask.at(
            ((at(b, shape[0]) * shape[1] + at(h, shape[1])) * shape[2] + at(q, shape[2])) *
                shape[3] +
            at(k, shape[3]));
    });
    return hidden;
}

Grid hidden_cells(const Plan& plan, const Ledger& ledger) {
    const Tensor* mask = ledger.find("mask");
    return mask == nullptr ? hidden_cells(plan) : hidden_cells(plan, *mask);
}

Grid hidden_cells(const Plan& plan) { return hidden_cells(plan, Visibility(plan).mask()); }

Grid hidden_cells(const Plan& plan, const Mistake& mistake) {
    const StepTable table = mistake.apply(step_table(plan), plan);
    return hidden_cells(plan, find_step(table, "mask").compute(plan, Ledger(chains_of(table))));
}

void replace_latest(Ledger& ledger, Chain chain, Tensor tensor) {
    const std::string name = ledger.find_latest(chain)->name;
    ledger.record(name, std::move(tensor));
}

Tensor mask_of(const Grid& hidden, const Plan& plan) {
    const Tensor numbers = tensor_of(hidden, plan.per_head_axes("query", "key"), DType::float64);
    Array<bool> mask = empty_array<bool>(numbers.shape());
    for (std::size_t i = 0; i < mask.size(); ++i) mask.data()[i] = numbers.at(i) != 0;
    return {numbers.axes(), mask};
}

double in_float16(double number) {
    if (number == 0 || !std::isfinite(number)) return number;
    const int exponent = std::max(std::ilogb(number), -14);
    const double step = std::ldexp(1.0, exponent - 10);
    const double rounded = std::nearbyint(number / step) * step;
    return std::abs(rounded) > 65504 ? std::copysign(infinity, number) : rounded;
}

const Tensor& unmasked(const Ledger& ledger) {
    return ledger.latest(Chain::scores, "masked_scores");
}

double effect_of(const ScaleFactor& factor) {
    return factor.operation == ScaleFactor::Operation::divide ? 1 / factor.number : factor.number;
}

bool walk_has(const Plan& plan, std::string_view step) {
    return has_step(step_table(), plan, step);
}

NotApplicable needs_step(std::string step, std::string reason) {
    return unless([step = std::move(step)](const Plan& plan) { return walk_has(plan, step); },
                  std::move(reason));
}

NotApplicable unless(std::function<bool(const Plan&)> possible, std::string reason) {
    return [possible = std::move(possible), reason = std::move(reason)](const Plan& plan) {
        return possible(plan) ? std::string() : reason;
    };
}

NotApplicable first_of(std::vector<NotApplicable> reasons) {
    return [reasons = std::move(reasons)](const Plan& plan) {
        for (const NotApplicable& not_applicable : reasons) {
            if (std::string reason = not_applicable(plan); !reason.empty()) return reason;
        }
        return std::string();
    };
}

}  // namespace attn
