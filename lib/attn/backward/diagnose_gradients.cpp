#include <algorithm>
#include <cmath>

#include "attn/backward/backward.hpp"
#include "attn/diagnose/their_tensors.hpp"
#include "attn/text/strings.hpp"
#include "attn/walk/walk.hpp"

namespace attn {
namespace {

/// Prefixes and suffixes of others for the gradient of a name.
constexpr const char* before[] = {"d_", "grad_", "dL_d", "dl_d", "d"};
constexpr const char* behind[] = {".grad", "_grad", "_gradient"};

bool is_near(const std::string& name, const Tensor& theirs, const Tensor& ours) {
    for (const Reading& reading : readings(theirs, ours)) {
        // A weight lies as it is stored: its mirror image is a mistake.
        if (name.starts_with("d_w_") && !reading.layout.empty()) continue;
        double size = 0;
        for (const double number : ours.numbers()) {
            if (std::isfinite(number)) size = std::max(size, std::abs(number));
        }
        const bool coarse = theirs.dtype() != DType::float64 || ours.dtype() != DType::float64;
        const double tolerance = (coarse ? 1e-4 : 1e-9) * std::max(size, 1e-6);
        bool near = true;
        for (std::size_t i = 0; near && i < ours.size(); ++i) {
            const double a = reading.tensor.at(i);
            const double b = ours.at(i);
            near = std::isnan(a) || std::isnan(b) ? std::isnan(a) == std::isnan(b)
                                                  : a == b || std::abs(a - b) <= tolerance;
        }
        if (near) return true;
    }
    return false;
}

}  // namespace

std::vector<std::string> gradient_called(const std::string& name) {
    for (const std::string end : behind) {
        if (name.size() > end.size() && name.ends_with(end)) {
            return known_steps(name.substr(0, name.size() - end.size()));
        }
    }
    if (!known_steps(name).empty()) return {};
    for (const std::string begin : before) {
        if (name.size() <= begin.size() || !name.starts_with(begin)) continue;
        std::vector<std::string> found = known_steps(name.substr(begin.size()));
        if (!found.empty()) return found;
    }
    return {};
}

GradientDiagnosis diagnose_gradients(const Plan& plan, const Ledger& given, const StepTable& table,
                                     const Ledger& theirs) {
    std::vector<std::pair<std::string, const Tensor*>> gradients;
    for (const auto& [name, tensor] : theirs.entries()) {
        for (const std::string& step : gradient_called(name)) {
            if (!has_step(table, plan, "d_" + step)) continue;
            gradients.emplace_back("d_" + step, &tensor);
            break;
        }
    }
    GradientDiagnosis diagnosis;
    if (gradients.empty()) return diagnosis;
    const Ledger ours = walk(plan, given, table);
    for (const auto& [name, tensor] : gradients) {
        diagnosis.compared.push_back(name);
        if (!is_near(name, *tensor, ours[name])) diagnosis.wrong.push_back(name);
    }
    if (diagnosis.wrong.empty()) return diagnosis;
    for (const Mistake& mistake : gradient_mistakes()) {
        const Ledger wrong = walk(plan, given, mistake.apply(table, plan));
        if (std::ranges::all_of(gradients, [&](const auto& each) {
                return is_near(each.first, *each.second, wrong[each.first]);
            })) {
            diagnosis.fits.push_back(&mistake);
        }
    }
    return diagnosis;
}

}  // namespace attn
