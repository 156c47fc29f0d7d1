#include <cmath>

#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/files/io/read_tensor.hpp"

namespace app {
namespace {

/// True if a mask has only 0 and -inf.
bool holds_infinity(const attn::Tensor& mask) {
    bool holds = true;
    attn::each_number(
        mask, [&](std::size_t, double cell) { holds = holds && (cell == 0 || cell == -HUGE_VAL); });
    return holds;
}

/// Makes a mask of the cells for which `hides` is true.
template <class Hides>
void set_mask(const attn::Tensor& read, Hides hides, attn::WalkConfig& config) {
    attn::Array<bool> hidden = attn::empty_array<bool>(read.shape());
    for (std::size_t i = 0; i < read.size(); ++i) hidden.data()[i] = hides(read.at(i));
    config.mask.given = attn::Tensor(read.axes(), std::move(hidden));
}

}  // namespace

bool take_added_mask(const attn::Tensor& mask, bool is_for_gradients, attn::WalkConfig& config) {
    bool is_added = false;
    attn::each_number(mask, [&](std::size_t, double cell) { is_added |= cell != 0 && cell != 1; });
    if (!is_added) return false;
    if (holds_infinity(mask) && !is_for_gradients) {
        set_mask(
            mask, [](double cell) { return cell != 0; }, config);
        return true;
    }
    if (config.position_bias) {
        throw attn::ConfigError(
            "--mask-file and --position-bias are both added to the scores: "
            "add them up in one file");
    }
    config.position_bias = attn::PositionBias{attn::PositionBias::Kind::file, 32, 128, mask};
    return true;
}

void set_mask_file(const Arguments& arguments, attn::WalkConfig& config) {
    const std::string spec = arguments[flags::mask_file];
    const std::string mask_true = arguments[flags::mask_true];
    if (spec.empty() && !mask_true.empty()) {
        throw attn::ConfigError("--mask-true sets how --mask-file is read: add --mask-file FILE");
    }
    if (spec.empty()) return;
    const attn::Tensor read = attn::read_tensor(spec, report_note);
    if (take_added_mask(read, arguments.has(flags::backward), config)) {
        if (!mask_true.empty()) {
            report_note("--mask-true has no effect: " + spec + " is added to the scores");
        }
        return;
    }
    if (mask_true.empty()) {
        throw attn::ConfigError(
            "--mask-file needs --mask-true keep or --mask-true drop: libraries differ in what true "
            "means, so there is no default");
    }
    const bool drops = mask_true == "drop";
    set_mask(
        read, [drops](double cell) { return (cell == 1) == drops; }, config);
}

}  // namespace app
