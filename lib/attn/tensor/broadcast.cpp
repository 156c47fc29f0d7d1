#include "attn/tensor/broadcast.hpp"

#include <algorithm>

#include "attn/tensor/error.hpp"

namespace attn {

std::vector<std::size_t> broadcast_strides(const std::string& name, const Shape& from,
                                           const std::string& name_of_to, const Shape& to) {
    std::vector<std::size_t> strides(to.size());
    std::size_t stride = 1;
    bool fits = from.size() <= to.size();
    for (std::size_t i = 1; fits && i <= from.size(); ++i) {
        const std::size_t length = from[from.size() - i];
        fits = length == 1 || length == to[to.size() - i];
        if (length != 1) strides[to.size() - i] = stride;
        stride *= length;
    }
    if (!fits) {
        throw ShapeError(name + " " + shape_text(from) + " does not broadcast to " + name_of_to +
                         " " + shape_text(to) + ": from the right, each length must be equal or 1");
    }
    return strides;
}

Shape broadcast_shape(Shape a, Shape b) {
    if (a.size() < b.size()) a.swap(b);
    for (std::size_t i = 1; i <= b.size(); ++i) {
        a[a.size() - i] = std::max(a[a.size() - i], b[b.size() - i]);
    }
    return a;
}

}  // namespace attn
