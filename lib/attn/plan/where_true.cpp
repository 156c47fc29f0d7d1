#include "attn/plan/where_true.hpp"

#include <algorithm>
#include <functional>
#include <span>

namespace attn {
namespace {

/// `cells` are those of the axes from `axis` on.
std::string where_true(std::span<const bool> cells, const Shape& shape, std::size_t axis,
                       const std::string& letters) {
    const std::size_t length = shape[axis];
    const std::size_t each = cells.size() / std::max<std::size_t>(length, 1);
    const std::string index(1, letters[axis]);
    const auto part = [&](std::size_t i) { return cells.subspan(i * each, each); };
    std::string all;
    for (std::size_t first = 0, end = 0; first < length; first = end) {
        while (end < length && std::ranges::equal(part(first), part(end))) ++end;
        if (std::ranges::none_of(part(first), std::identity())) continue;
        std::string where;
        if (end == first + 1 && length > 1) {
            where = index + " == " + std::to_string(first);
        } else {
            if (first > 0) where = index + " >= " + std::to_string(first);
            if (end < length)
                where += (where.empty() ? "" : " and ") + index + " < " + std::to_string(end);
        }
        if (std::ranges::find(part(first), false) != part(first).end()) {
            const std::string within = where_true(part(first), shape, axis + 1, letters);
            const bool several = !where.empty() && within.find(" or ") != std::string::npos;
            where += (where.empty() ? "" : " and ") + (several ? "(" + within + ")" : within);
        }
        if (where.empty()) where = index + " >= 0";
        all += (all.empty() ? "" : " or ") + where;
    }
    return all.empty() ? std::string(1, letters.back()) + " < 0" : all;
}

}  // namespace

std::string where_true(const Array<bool>& cells, const std::string& letters) {
    return where_true({cells.data(), cells.size()}, cells.shape(), 0, letters);
}

}  // namespace attn
