#include "attn/judge/diagnose/backward_pass.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "attn/core/plan/draw_list.hpp"
#include "attn/ground/tensor/cells.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace attn {
namespace {

/// Returns the tensor with each number randomly a little larger or smaller.
Tensor perturbed(const Tensor& tensor, double by, std::uint64_t& state) {
    if (tensor.dtype() != DType::float64) return tensor;
    return mapped(tensor, [&](double cell) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return cell * ((state >> 63U) == 0 ? 1 + by : 1 - by);
    });
}

}  // namespace

BackwardPass::BackwardPass(Plan of, const Ledger& given, StepTable forward, const Loss& loss)
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
    forward_tensors_ = Ledger(chains_of(table));
    perform(std::span(table).first(first_), table, plan, known, Details::kept, forward_tensors_);
}

template <class After>
Ledger BackwardPass::backpropagate(const StepTable& new_table, const Ledger& user_gradients,
                                   Ledger ledger, After&& after) const {
    for (std::size_t i = first_; i < new_table.size(); ++i) {
        perform(std::span(new_table).subspan(i, 1), new_table, plan, user_gradients, Details::kept,
                ledger);
        if (ledger.has(new_table[i].name)) after(new_table[i].name, ledger);
    }
    return ledger;
}

Ledger BackwardPass::gradients(const StepTable& new_table, const Ledger& user_gradients) const {
    return backpropagate(new_table, user_gradients, forward_tensors_,
                         [](const std::string&, Ledger&) {});
}

void BackwardPass::perturb(const Ledger& user_gradients) {
    constexpr double by = 1e-7;
    std::uint64_t state = 1;
    noise_.clear();
    const Ledger still = gradients(table, user_gradients);
    for (int time = 0; time < 2; ++time) {
        Ledger moved = forward_tensors_;
        for (const auto& [name, tensor] : forward_tensors_.entries()) {
            moved.record(name, perturbed(tensor, by, state));
        }
        backpropagate(table, user_gradients, std::move(moved),
                      [&](const std::string& name, Ledger& ledger) {
                          ledger.record(name, perturbed(ledger[name], by, state));
                          double& most = noise_[name];
                          for (std::size_t i = 0; i < ledger[name].size(); ++i) {
                              const double right = still[name].at(i);
                              const double distance = std::abs(ledger[name].at(i) - right) / by;
                              if (std::isfinite(distance))
                                  most = std::max({most, distance, std::abs(right)});
                          }
                      });
    }
}

double BackwardPass::noise(const std::string& step) const {
    const auto found = noise_.find(step);
    const auto terms = static_cast<double>(std::max(plan.key_len, plan.embed_dim));
    return found == noise_.end() ? 0 : (32 + terms) * found->second;
}

}  // namespace attn
