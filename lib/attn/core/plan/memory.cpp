#include "attn/core/plan/memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "attn/core/plan/draw_list.hpp"
#include "attn/core/plan/visibility.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

double machine_bytes() {
    return static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
           static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace

std::string memory_text(double bytes) {
    static constexpr std::array<const char*, 7> units{"bytes", "KB", "MB", "GB", "TB", "PB", "EB"};
    std::size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < units.size()) {
        bytes /= 1000;
        ++unit;
    }
    return fixed_text(bytes, unit == 0 ? 0 : 1) + " " + units[unit];
}

double token_bytes(const Plan& plan) {
    constexpr double each = sizeof(std::string) + sizeof(std::int64_t);
    constexpr double sequence = 120;  // three lists on the heap
    return static_cast<double>(plan.batch) *
           (sequence +
            each * (static_cast<double>(plan.query_len) + static_cast<double>(plan.key_len)));
}

bool fits_memory(double bytes) {
    // More output is unreadable, whatever the memory.
    constexpr double readable = 32e9;
    return bytes <= std::min(0.8 * machine_bytes(), readable);
}

void refuse_bytes(double needed, const std::string& most, const std::string& other_ways) {
    throw ConfigError("this walk would need " + memory_text(needed) + " for its tensors" + most +
                      ", and the machine has " + memory_text(machine_bytes()) + ": " + other_ways +
                      "make $seq-len, $batch, $heads or the dimensions smaller"_message);
}

void require_inputs(const Plan& plan) {
    double needed = token_bytes(plan);
    for (const DrawnTensor& row : draw_list(plan)) {
        if (row.name.empty()) continue;
        double bytes = plan.number_bytes();
        for (const Extent& extent : row.extents) {
            bytes *= static_cast<double>(extent.size) * static_cast<double>(extent.times);
        }
        needed += bytes;
    }
    // Rows of the embedding table become x, which is not drawn.
    if (std::holds_alternative<Tokens>(plan.config.input)) {
        needed += plan.number_bytes() * static_cast<double>(plan.batch) *
                  static_cast<double>(plan.query_len) * static_cast<double>(plan.embed_dim);
    }
    // Masks other than ranges of keys need one byte per cell.
    if (plan.masks()) needed += cell_count(mask_shape(plan, false));
    if (!fits_memory(needed)) refuse_bytes(needed);
}

}  // namespace attn
