#pragma once
#include <set>
#include <string>
#include <vector>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/plan.hpp"

namespace attn {

/// How the derived form passes over the tokens.
struct DerivedForm {
    std::string name = "recurrent";
    std::size_t chunk = 0;     ///< tokens of a chunk; 0: one token after another
    std::string letter = "n";  ///< of the chunks
};
/// Reads `recurrent` or `chunked:8`.  Errors  ConfigError for other words.
DerivedForm derived_form(const std::string& word);

/// The rules of a derived form: its states, and last the context that reads them.
struct DerivedRules {
    std::vector<Rule> rules;
    std::set<std::string> replaced{};  ///< steps that it does not need
};
/// Sums over keys whose terms are a factor of the query times a factor of the key, times a product
/// over the tokens between, become states: memories that decay at each token and are then added to.
///
/// Errors  ConfigError naming the factor that depends on query and key together.
DerivedRules derived_rules(const Plan& plan, const DerivedForm& form);

/// Writes an attention file with that form in addition.
std::string with_derived_form(const AttentionFile& file, const Plan& plan, const DerivedForm& form);

}  // namespace attn
