#include "attn/judge/diagnose/way_back.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "attn/core/plan/draw_list.hpp"
#include "attn/ground/tensor/cells.hpp"
#include "attn/judge/diagnose/their_tensors.hpp"

namespace attn {
namespace {

/// Returns the tensor with each number randomly a little larger or smaller.
Tensor shaken(const Tensor& tensor, double by, std::uint64_t& state) {
    if (tensor.dtype() != DType::float64) return tensor;
    return mapped(tensor, [&](double cell) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return cell * ((state >> 63U) == 0 ? 1 + by : 1 - by);
    });
}

}  // namespace

WayBack::WayBack(Plan of, const Ledger& given, StepTable forward, const Loss& loss)
    : plan(std::move(of)) {
    plan.compute_dtype = DType::float64;
    table = with_gradients(std::move(forward), plan, loss);
    Ledger known = draw(plan);
    for (const auto& [name, tensor] : given.entries()) {
        // A number that differs only by rounding is replaced by the original.
        const Tensor* whole = known.find(name);
        if (whole != nullptr && same_numbers(cast(*whole, tensor.dtype()), tensor)) continue;
        known.record(name, cast(tensor, DType::float64));
    }
    first_ = place_of(table, "loss") + 1;
    forth_ = Ledger(chains_of(table));
    perform(std::span(table).first(first_), table, plan, known, Details::kept, forth_);
}

template <class After>
Ledger WayBack::go_back(const StepTable& made, const Ledger& taken, Ledger ledger,
                        After&& after) const {
    for (std::size_t i = first_; i < made.size(); ++i) {
        perform(std::span(made).subspan(i, 1), made, plan, taken, Details::kept, ledger);
        if (ledger.has(made[i].name)) after(made[i].name, ledger);
    }
    return ledger;
}

Ledger WayBack::gradients(const StepTable& made, const Ledger& taken) const {
    return go_back(made, taken, forth_, [](const std::string&, Ledger&) {});
}

void WayBack::shake(const Ledger& taken) {
    constexpr double by = 1e-7;
    std::uint64_t state = 1;
    noise_.clear();
    const Ledger still = gradients(table, taken);
    for (int time = 0; time < 2; ++time) {
        Ledger moved = forth_;
        for (const auto& [name, tensor] : forth_.entries()) {
            moved.record(name, shaken(tensor, by, state));
        }
        go_back(table, taken, std::move(moved), [&](const std::string& name, Ledger& ledger) {
            ledger.record(name, shaken(ledger[name], by, state));
            double& most = noise_[name];
            for (std::size_t i = 0; i < ledger[name].size(); ++i) {
                const double right = still[name].at(i);
                const double apart = std::abs(ledger[name].at(i) - right) / by;
                if (std::isfinite(apart)) most = std::max({most, apart, std::abs(right)});
            }
        });
    }
}

double WayBack::noise(const std::string& step) const {
    const auto found = noise_.find(step);
    const auto terms = static_cast<double>(std::max(plan.key_len, plan.embed_dim));
    return found == noise_.end() ? 0 : (32 + terms) * found->second;
}

}  // namespace attn
