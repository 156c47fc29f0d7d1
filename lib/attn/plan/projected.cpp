#include "attn/plan/projected.hpp"

namespace attn {

const std::array<Projected, 3>& query_key_value() {
    static const std::array<Projected, 3> all{
        {{0, "query", "query"}, {1, "key", "key"}, {2, "value", "key"}}};
    return all;
}

const Projected& projected_of(char letter) {
    return query_key_value()[letter == 'q' ? 0 : letter == 'k' ? 1 : 2];
}

}  // namespace attn
