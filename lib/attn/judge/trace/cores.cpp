#include "attn/judge/trace/cores.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace attn {
namespace {

/// True if no number is infinite, except for hidden scores, and not all are nan: the softmax of a
/// row that hides every key is nan.
bool is_usable(const Traced& tensor) {
    return std::ranges::none_of(
               tensor.all,
               [](double number) { return std::isinf(number) && !is_hidden_score(number); }) &&
           !std::ranges::all_of(tensor.all, [](double number) { return std::isnan(number); });
}

bool is_called(const Traced& tensor, const char* role) { return called(tensor).ends_with(role); }

/// True if an expression is the result of a softmax, not a product with it.
bool is_softmax_call(const std::string& text) {
    const std::size_t at = text.rfind("softmax");
    if (at == std::string::npos) return false;
    const auto beyond_brackets = [&](std::size_t place, int step) {
        for (int depth = 0; place < text.size(); place += static_cast<std::size_t>(step)) {
            depth += text[place] == '(' ? 1 : text[place] == ')' ? -1 : 0;
            if (depth == 0) break;
        }
        return std::min(place, text.size());
    };
    // `(q @ k.T).softmax(-1)`: the tensor of a method belongs to the call.
    const bool is_method = at > 1 && text.compare(at - 2, 2, ").") == 0;
    const std::size_t begin = is_method ? beyond_brackets(at - 2, -1) : at;
    const std::size_t end = beyond_brackets(std::min(text.find('(', at), text.size()), 1);
    const std::string around = text.substr(0, begin) + text.substr(end);
    return !is_product(around);
}

/// Finds cores, each starting from its softmax.
class Finder {
public:
    Finder(const Trace& trace) : trace_(trace) {
        for (std::size_t i = 0; i < trace.size(); ++i) {
            const bool is_float =
                trace[i].dtype != DType::int64 && trace[i].dtype != DType::boolean;
            usable_.push_back(is_float && trace[i].rank() >= 2 && is_usable(trace[i]) &&
                              !has_two_values(trace[i]));
        }
    }

    std::vector<Core> run() {
        std::vector<Core> found;
        std::set<std::size_t> used;
        for (std::size_t w = 0; w < trace_.size() && found.size() < most_cores; ++w) {
            if (used.contains(w) || !may_be_weights(w)) continue;
            if (std::optional<Core> core = from(w)) {
                // A later copy of these weights, or the joined passes of a loop, are the same core.
                const bool is_known = std::ranges::any_of(found, [&](const Core& each) {
                    return each.scores == core->scores || each.weights == core->weights ||
                           (core->context && each.context == core->context);
                });
                for (std::size_t i = w; i <= core->weights; ++i) {
                    if (trace_[i].shape == trace_[w].shape) used.insert(i);
                }
                if (!is_known) found.push_back(*std::move(core));
            }
        }
        return without_parts(std::move(found));
    }

private:
    static constexpr std::size_t most_cores = 64;
    static constexpr std::size_t far_on = 60;  ///< tensors between weights and context

    /// True if the numbers, the name or the statement suggest weights.
    bool may_be_weights(std::size_t w) const {
        const Traced& tensor = trace_[w];
        const bool is_float = tensor.dtype != DType::int64 && tensor.dtype != DType::boolean;
        if (tensor.rank() < 2 || !is_float) return false;
        int points = 0;
        if (std::ranges::any_of(tensor.all, is_hidden_score)) return false;
        const std::string statement = lower(trimmed(trace_[w].statement));
        const bool is_stated =
            is_softmax_call(lower(tensor.name)) ||
            (tensor.is_variable() && !statement.starts_with("def ") && is_softmax_call(statement));
        // Softmax over an axis of one number gives ones.
        const bool is_one = std::ranges::count(tensor.all, 1) == std::ssize(tensor.all) ||
                            sums_to_one(tensor, tensor.rank() - 1);
        if (has_two_values(tensor) && !(is_stated && is_one)) return false;
        if (softmax_with_sink(trace_, w)) points += 3;
        if (is_stated || is_divided_exponential(w)) points += 2;
        if (tensor.name.size() > 1 && called(tensor) == "weights") points += 2;
        if (sums_to_one(tensor, tensor.rank() - 1)) {
            points += 3;
        } else {
            for (std::size_t axis = 0; axis + 1 < tensor.rank(); ++axis) {
                if (sums_to_one(tensor, axis)) points = std::max(points + 2, 3);
            }
        }
        return points >= 2;
    }

    /// True if the tensor is exp of a tensor shortly before it, divided by positive numbers.
    bool is_divided_exponential(std::size_t w) const {
        constexpr std::size_t near = 8;
        const Traced& to = trace_[w];
        for (std::size_t e = w - std::min(w, near); e < w; ++e) {
            const Traced& from = trace_[e];
            if (from.shape != to.shape || from.all == to.all) continue;
            const auto is_alike = [](double a, double b) {
                return a > 0 ? b > 0 : a == 0 && b == 0;
            };
            if (!std::ranges::equal(from.all, to.all, is_alike)) continue;
            for (std::size_t s = e - std::min(e, near); s < e; ++s) {
                if (usable_[s] && is_exponential(trace_[s], from, from.rank() - 1)) return true;
            }
        }
        return false;
    }

    /// Returns the places of operands before a time, variables first, the latest first.
    std::vector<std::size_t> operands(std::size_t before) const {
        std::vector<std::size_t> places, others;
        for (std::size_t i = before; i-- > 0;) {
            if (!usable_[i]) continue;
            (trace_[i].is_variable() ? places : others).push_back(i);
        }
        places.insert(places.end(), others.begin(), others.end());
        return places;
    }

    struct Product {
        std::size_t a, b;
        Contraction axes;
    };

    std::optional<Product> product_at(std::size_t p) const {
        const std::vector<std::size_t> from = operands(p);
        for (const std::size_t a : from) {
            for (const std::size_t b : from) {
                if (!may_make(trace_[p], trace_[a], trace_[b])) continue;
                const auto axes = contraction_of(trace_[p], trace_[a], trace_[b], nullptr, true);
                if (!axes || axes->axes_of_a(false).empty() || axes->axes_of_b(false).empty()) {
                    continue;
                }
                Product found{a, b, *axes};
                take_upright(p, found);
                return found;
            }
        }
        return std::nullopt;
    }

    /// Prefers operands whose features are the last axis: `k`, not `k.T`.
    void take_upright(std::size_t p, Product& product) const {
        for (const bool first : {true, false}) {
            std::size_t& place = first ? product.a : product.b;
            const std::vector<int>& axes = first ? product.axes.a : product.axes.b;
            if (axes.back() < 0) continue;
            const Traced& turned = trace_[place];
            for (const std::size_t other : operands(p)) {
                const Traced& upright = trace_[other];
                if (upright.all.size() != turned.all.size() || other == place) continue;
                const auto found =
                    first ? contraction_of(trace_[p], upright, trace_[product.b], nullptr, true)
                          : contraction_of(trace_[p], trace_[product.a], upright, nullptr, true);
                if (!found || (first ? found->a : found->b).back() >= 0) continue;
                place = other;
                product.axes = *found;
                break;
            }
        }
    }

    /// A cheap test of sizes: a sum of products has fewer numbers than all the products.
    static bool may_make(const Traced& result, const Traced& a, const Traced& b) {
        const std::size_t all = a.all.size() * b.all.size();
        return all >= result.all.size() && all % result.all.size() == 0;
    }

    /// Finds context = weights . value, the first one after the weights.
    bool find_context(Core& core, std::size_t last) const {
        for (std::size_t w = core.softmaxed; w < last; ++w) {
            if (trace_[w].shape != trace_[core.softmaxed].shape) continue;
            if (!usable_[w] && w != core.softmaxed) continue;
            if (!are_kept_cells(core.softmaxed, w) && called(trace_[w]) != "weights") continue;
            // Try values of the weights' shape last: any tensor in between may have it.
            for (const bool is_alike : {false, true}) {
                for (std::size_t c = w + 1; c < std::min(trace_.size(), w + far_on); ++c) {
                    if (!usable_[c]) continue;
                    for (const std::size_t v : operands(c)) {
                        if (v == w || (trace_[v].shape == trace_[w].shape) != is_alike) continue;
                        if (may_make(trace_[c], trace_[w], trace_[v]) &&
                            take_context(core, w, v, c)) {
                            return true;
                        }
                    }
                }
            }
        }
        return false;
    }

    /// True if some cells of a softmax were dropped or hidden, and the others of a row multiplied
    /// by one number.
    bool are_kept_cells(std::size_t softmaxed, std::size_t w) const {
        const Traced &from = trace_[softmaxed], &to = trace_[w];
        const std::size_t keys = from.shape.back();
        for (std::size_t row = 0; row < from.all.size(); row += keys) {
            double factor = 0;
            for (std::size_t i = row; i < row + keys; ++i) {
                if (to.all[i] == 0 || std::isnan(from.all[i])) continue;
                const double ratio = to.all[i] / from.all[i];
                if (!(ratio > 0)) return false;
                if (factor == 0) factor = ratio;
                if (std::abs(ratio - factor) > 0.02 * factor) return false;
            }
        }
        return true;
    }

    bool take_context(Core& core, std::size_t w, std::size_t v, std::size_t c) const {
        const auto sum = contraction_of(trace_[c], trace_[w], trace_[v], nullptr, false);
        if (!sum || sum->axes_of_b(false).empty() || sum->axes_of_a(false).empty()) return false;
        if (std::ranges::count_if(sum->a, [](int axis) { return axis < 0; }) != 1) return false;
        core.weights = w;
        core.value = v;
        core.context = c;
        core.sum = sum;
        return true;
    }

    std::optional<Core> from(std::size_t w) const {
        Core core{};
        core.softmaxed = core.weights = w;
        std::optional<Product> product;
        for (std::size_t p = w; p-- > 0 && !product;) {
            if (trace_[p].shape == trace_[w].shape && usable_[p]) product = product_at(p);
            if (product) core.scores = p;
        }
        if (!product) return std::nullopt;
        take_first_form(core, *product);
        const bool has_context = find_context(core, std::min(trace_.size(), w + 40));
        const bool is_sure = is_softmaxed(w, w) || softmax_with_sink(trace_, w);
        // Programs also use softmax elsewhere: for logits, distances, routers.
        const bool is_named =
            is_called(trace_[product->a], "query") || is_called(trace_[product->b], "query") ||
            is_called(trace_[product->a], "key") || is_called(trace_[product->b], "key");
        if (!has_context && !(is_sure && is_named)) return std::nullopt;
        const bool is_named_at_all = is_named || !called(trace_[core.scores]).empty() ||
                                     called(trace_[w]) == "weights" ||
                                     is_softmax_call(lower(trace_[w].name)) ||
                                     is_softmax_call(lower(trimmed(trace_[w].statement)));
        if (!is_named_at_all && !is_softmax_of_scores(core, false)) return std::nullopt;
        // A value of the weights' shape that is computed after the scores may be any tensor.
        const bool is_sure_value = !core.value || *core.value < core.scores ||
                                   trace_[*core.value].shape != trace_[w].shape ||
                                   is_softmax_of_scores(core, true);
        if (!is_sure_value) return std::nullopt;
        // A name may mean scores as well: the tensor whose rows sum to 1 comes later.
        if (has_context && !is_softmaxed(w, w)) {
            while (core.softmaxed < core.weights) {
                if (is_softmaxed(++core.softmaxed, w)) return std::nullopt;
            }
        }
        if (!take_roles(core, *product)) return std::nullopt;
        return core;
    }

    /// True if the weights are the softmax of a tensor between the product and them, along the
    /// keys or any axis, or exponentials of one divided by some sum.
    bool is_softmax_of_scores(const Core& core, bool along_any) const {
        const Traced& weights = trace_[core.softmaxed];
        if (softmax_with_sink(trace_, core.softmaxed)) return true;
        const bool is_divided = is_softmaxed(core.softmaxed, core.softmaxed);
        for (std::size_t i = core.scores; i < core.softmaxed; ++i) {
            if (trace_[i].shape != weights.shape) continue;
            for (std::size_t axis = 0; axis < weights.rank(); ++axis) {
                const bool is_summed = along_any || !core.sum || core.sum->a[axis] < 0;
                if (is_summed && is_softmax(trace_[i], weights, axis)) return true;
                for (std::size_t e = i + 1; e < core.softmaxed && is_summed; ++e) {
                    if ((is_divided || is_divided_by_other_sums(trace_[e], weights)) &&
                        is_exponential(trace_[i], trace_[e], axis)) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    /// Goes back to the first form of the product, before it was scaled or masked.
    void take_first_form(Core& core, Product& product) const {
        for (std::size_t p = std::max(product.a, product.b) + 1; p < core.scores; ++p) {
            if (trace_[p].shape != trace_[core.scores].shape || !usable_[p]) continue;
            const auto first =
                contraction_of(trace_[p], trace_[product.a], trace_[product.b], nullptr, true);
            if (!first) continue;
            product.axes = *first;
            core.scores = p;
            return;
        }
    }

    bool is_softmaxed(std::size_t place, std::size_t like) const {
        const Traced& tensor = trace_[place];
        bool sums = false;
        for (std::size_t axis = 0; axis < tensor.rank() && !sums; ++axis) {
            sums = sums_to_one(tensor, axis);
        }
        return sums && tensor.shape == trace_[like].shape;
    }

    /// Decides which axis of the scores and which operand is the key's. There are three
    /// indications: the axis of the softmax, the axis that is summed with the values, and the names
    /// of the operands. If one of them contradicts the others, that is a mistake to report.
    bool take_roles(Core& core, Product product) const {
        const std::vector<std::size_t> of_a = product.axes.axes_of_a(false);
        const std::vector<std::size_t> of_b = product.axes.axes_of_b(false);
        if (of_a.empty() || of_b.empty()) return false;
        const std::size_t first = of_a.back(), second = of_b.back();
        const Traced &a = trace_[product.a], &b = trace_[product.b];
        const bool is_named = is_called(a, "query") && is_called(b, "key");
        const bool is_named_crossed = is_called(a, "key") && is_called(b, "query");
        int votes = is_named ? 1 : is_named_crossed ? -1 : 0;  // positive for the second
        const Traced& softmaxed = trace_[core.softmaxed];
        const bool sums_first = sums_to_one(softmaxed, first);
        const bool sums_second = sums_to_one(softmaxed, second);
        if (sums_first != sums_second) votes += sums_second ? 1 : -1;
        if (core.sum) {
            const bool by_first = core.sum->a[first] < 0, by_second = core.sum->a[second] < 0;
            if (by_first != by_second) votes += by_second ? 1 : -1;
        }
        // A mistake in softmax is more common than one in the sum with the values.
        const bool by_first = core.sum ? core.sum->a[first] < 0 : sums_first;
        if (votes == 0) votes = is_named ? 1 : is_named_crossed || by_first ? -1 : 1;
        core.key_axis = votes > 0 ? second : first;
        core.query_axis = votes > 0 ? first : second;
        // If the names are exchanged, the operand called query is the query.
        const bool is_crossed = votes > 0 ? is_named_crossed : is_named;
        if ((votes > 0) == is_crossed) {
            std::swap(product.a, product.b);
            std::swap(product.axes.a, product.axes.b);
        }
        core.query = product.a;
        core.key = product.b;
        core.query_token = is_crossed ? core.key_axis : core.query_axis;
        core.key_token = is_crossed ? core.query_axis : core.key_axis;
        core.product = product.axes;
        for (std::size_t axis = 0; axis < trace_[core.scores].rank(); ++axis) {
            if (axis != core.query_axis && axis != core.key_axis) core.rest.push_back(axis);
        }
        return true;
    }

    /// Prefers separate passes to joined ones, but joined rows of a loop to separate rows.
    std::vector<Core> without_parts(std::vector<Core> found) const {
        std::vector<Core> kept;
        for (const Core& each : found) {
            const Traced& weights = trace_[each.weights];
            const bool is_again = std::ranges::any_of(found, [&](const Core& other) {
                const Traced& actual = trace_[other.weights];
                const bool is_there = actual.line == weights.line && actual.file == weights.file;
                return is_there && (weights.is_joined ? !actual.is_joined && !actual.is_row
                                                      : weights.is_row && actual.is_joined);
            });
            if (!is_again) kept.push_back(each);
        }
        return kept;
    }

    const Trace& trace_;
    std::vector<bool> usable_;
};

}  // namespace

bool is_product(const std::string& text) {
    return std::ranges::any_of(std::array{"@", "matmul", "einsum", "bmm", "dot"},
                               [&](const char* word) { return text.find(word) != text.npos; });
}

std::string called(const Traced& tensor) {
    std::vector<std::string> names = tensor.other_names;
    if (tensor.is_variable()) names.insert(names.begin(), tensor.name);
    for (const std::string& name : names) {
        if (std::string step = likeliest_step(name); !step.empty()) return step;
    }
    return {};
}

std::vector<Core> cores_in(const Trace& trace) { return Finder(trace).run(); }

}  // namespace attn
