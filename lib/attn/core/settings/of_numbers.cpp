#include "attn/core/settings/member.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

// Random numbers, dtypes, and the arithmetic of a machine.

namespace attn {
namespace {

template <std::vector<Burn> WalkConfig::*burns>
void set_burn(WalkConfig& config, std::string_view called, const std::string& text) {
    for (const std::string& part : split(text, ',')) {
        const std::size_t colon = part.find(':');
        if (colon == std::string::npos) {
            throw ConfigError(std::string(called) + ": '" + part + "' is not of the form rand:384");
        }
        const std::int64_t count = parse_integer(called, part.substr(colon + 1), 0);
        (config.*burns)
            .push_back({parse_word<Distribution>(called, part.substr(0, colon)),
                        static_cast<std::size_t>(count)});
    }
}

std::vector<std::string> burn_words(const std::vector<Burn>& burns) {
    std::vector<std::string> all;
    for (const Burn& burn : burns) {
        all.push_back(text_of(burn.distribution) + ":" + std::to_string(burn.count));
    }
    return all;
}

/// Returns the setting of discarded draws.
template <std::vector<Burn> WalkConfig::*burns>
Setting burn_setting(std::string_view name) {
    return own_setting(
        name, set_burn<burns>,
        [](const WalkConfig& config) { return joined(burn_words(config.*burns), ","); },
        [](const Plan& plan) { return json_list(burn_words(plan.config.*burns)); });
}

}  // namespace

std::vector<Setting> number_settings() {
    using enum Takes::Kind;
    return {
        member_setting<&WalkConfig::rng>("rng"),
        taking(member_setting<&WalkConfig::seed>("seed"), {}),
        member_setting<&WalkConfig::torch_build>("torch-build"),
        taking(member_setting<&WalkConfig::redraw>("redraw"), {integer, 0, 1000}),
        burn_setting<&WalkConfig::burn>("burn"),
        burn_setting<&WalkConfig::burn_before>("burn-before"),
        member_setting<&WalkConfig::dtype>("dtype", "float32; NumPy: float64"),
        member_setting<&WalkConfig::compute_dtype>("compute-dtype", "as $dtype"_message),
        member_setting<&WalkConfig::variant>("variant"),
        member_setting<&WalkConfig::single_chain>("single-chain"),
        taking(member_setting<&WalkConfig::threads>("threads"), {integer, 0, 4096}),
    };
}

}  // namespace attn
