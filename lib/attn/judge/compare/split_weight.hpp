#pragma once
#include <string>
#include <vector>

#include "attn/core/rules/rule.hpp"

namespace attn {

/// A sum over features inside a weight: `sum f: query[q,f] * key[k,f]`.
struct FeatureSum {
    std::string index;
    RuleTree first, end;
};

/// One product of a sum over keys: factors of the query, factors of the key, and a decay for each
/// token between them, in the letter `t`.
struct SplitWeight {
    std::vector<RuleTree> of_query{}, under_query{}, of_key{}, fades{};
    std::vector<FeatureSum> features{};
    bool is_causal = false;
};

/// Splits the body of a sum over keys `key` for a query `query` into products that are added.
///
/// Errors  ConfigError naming a factor that depends on query and key together.
std::vector<SplitWeight> split_weights(const RuleTree& body, const std::string& query,
                                       const std::string& key);

/// Renames a feature of a weight, wherever the weight reads it.
void rename_feature(SplitWeight& weight, FeatureSum& feature, const std::string& name);

/// Returns the expression with another one in place of an index.
RuleTree with_index(const RuleTree& tree, const std::string& index, const RuleTree& instead);

}  // namespace attn
